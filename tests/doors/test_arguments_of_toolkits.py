"""The same of values that other libraries make."""

from __future__ import annotations

from pathlib import Path

import pytest

from doors.asking import faults_of
from doors.calls import Call, expected_calls
from doors.odd_values import ODD_OF_TOOLKITS

pytestmark = pytest.mark.python_only
pytest.importorskip("torch", reason="values of torch")
pytest.importorskip("polars", reason="values of polars")
pytest.importorskip("pyarrow", reason="values of pyarrow")


@pytest.mark.parametrize("name", sorted(expected_calls()))
def test_odd_values_are_taken_or_refused(
    calls: dict[str, Call], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert faults_of(calls[name], ODD_OF_TOOLKITS) == {}
