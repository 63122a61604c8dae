"""The Python of the README runs as it stands, one block after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.environment import ROOT
from support.markdown_pages import run

pytestmark = pytest.mark.python_only


def test_python_blocks_run_and_say_what_is_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that is a value and is followed by figures has these figures."""
    monkeypatch.chdir(tmp_path)
    assert run(ROOT / "README.md") >= 20
