"""The fuzzers themselves: what they report, and that the faults to be planted fit the sources."""

from __future__ import annotations

import importlib
import io
import json
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
    names = fuzz("check").area_names()
    assert len(names) >= 12
    assert set(fuzz("areas").CORE) < set(names) == set(fuzz("faults").FAULTS)
    for name in names:
        assert fuzz("check").checks_of(name), name
        for fault in fuzz("faults").FAULTS[name]:
            source = (ROOT / fault.source).read_text(encoding="utf-8")
            assert source.count(fault.right) == 1, f"{name}: {fault.right}"
            assert fault.wrong != fault.right


@pytest.fixture
def numbers(fuzz: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An area of one check, which fails for integers from 1000 on."""

    def below_a_thousand(number: int) -> None:
        assert number < 1000

    made = fuzz("check").Check(below_a_thousand, {"number": st.integers(0, 10**6)})
    monkeypatch.setattr(fuzz("worker"), "checks_of", lambda _: {"numbers": made})


@pytest.mark.usefixtures("numbers")
def test_a_finding_has_the_smallest_input_and_the_seed(fuzz: Any) -> None:
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
