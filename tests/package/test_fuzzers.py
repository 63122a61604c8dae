"""The fuzzers themselves: what they report, and that the faults to be planted fit the sources."""

from __future__ import annotations

import importlib
import io
import json
from types import ModuleType
from typing import Any

import pytest
from hypothesis import strategies as st

from support.environment import ROOT

pytestmark = pytest.mark.skipif(
    not (ROOT / "fuzz").is_dir(), reason="no sources beside these tests"
)


@pytest.fixture
def fuzz(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a module of the fuzzers, which are not installed."""
    monkeypatch.syspath_prepend(ROOT)
    return lambda name: importlib.import_module(f"fuzz.{name}")


def test_every_area_has_checks_and_faults_that_can_be_planted(fuzz: Any) -> None:
    check = fuzz("check")
    names = check.area_names()
    assert len(names) >= 12
    for name in names:
        area = check.import_area(name)
        assert check.checks_of(area), name
        assert area.FAULTS, name
        for fault in area.FAULTS:
            source = (ROOT / fault.path).read_text(encoding="utf-8")
            assert source.count(fault.right) == 1, f"{name}: {fault.kind}"
            assert fault.wrong != fault.right


@pytest.fixture
def area(fuzz: Any, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """An area of one check, which fails for integers from 1000 on."""
    module = ModuleType("area")

    def below_a_thousand(number: int) -> None:
        assert number < 1000

    module.numbers = fuzz("check").check(st.integers(0))(below_a_thousand)  # type: ignore[attr-defined]
    monkeypatch.setattr(fuzz("worker"), "import_area", lambda _: module)
    return module


def test_a_finding_has_the_smallest_input_and_the_seed(fuzz: Any, area: ModuleType) -> None:
    output = io.StringIO()
    fuzz("worker").run("area", 7, 60, 2, False, output)
    lines = [json.loads(line) for line in output.getvalue().splitlines()]
    seeds = [line for line in lines if "finding" not in line]
    assert [line["seed"] for line in seeds] == [7, 8, 9]
    assert seeds[0]["inputs"] == 0 < seeds[1]["inputs"] < seeds[2]["inputs"]
    first, _ = (line for line in lines if "finding" in line)
    assert first["finding"].startswith("numbers: AssertionError at test_fuzzers.py:")
    assert "number=1000," in first["text"]
    assert "/hypothesis/" not in first["text"]
    assert first["seed"] == 7


def test_a_round_of_a_real_area_ends_without_findings(fuzz: Any) -> None:
    result = fuzz("__main__").run_area("rank", 1, 60, 1, False)
    assert result.rounds == 1
    assert result.inputs >= 100
    assert not result.findings
