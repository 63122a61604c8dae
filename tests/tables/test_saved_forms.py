"""Test that every result saves itself, whole or not at all, in the form that the path asks for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.example_ranks import query_report
from support.refusals import refusal, refused
from truerank import compat

RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(6, 9))


def ranks(seed: int = 0, **protocol: Any) -> tr.Ranks:
    above = np.random.default_rng(seed).integers(0, 9, 12)
    ids = {"queries": np.arange(12) // 2, "side": ["head", "tail"] * 6}
    return tr.Ranks(above, np.ones(12, int), 11, protocol=tr.Protocol(**protocol), **ids)


def models() -> dict[str, tr.Report]:
    return {"a": tr.report(ranks(0)), "b": tr.report(ranks(1))}


RESULTS: dict[str, Callable[[], Any]] = {
    "report": lambda: tr.report(ranks(), by="side"),
    "table": lambda: tr.table(models(), against="best"),
    "comparisons": lambda: tr.compare(models(), metric=["mr", "mrr"]),
    "retrieval": lambda: query_report(tr.Ranks([0, 3], [1, 1], 9, queries=[7, 7])),
    "toolkit": lambda: compat.report(SCORES, [0] * 6, preset="openke"),
    "toolkits": lambda: compat.table(SCORES, [0] * 6, presets=["openke", "ogb"]),
}


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_has_every_form(name: str, tmp_path: Path) -> None:
    result = RESULTS[name]()
    forms = {"txt": "text", "MD": "markdown", "tex": "latex", "csv": "csv", "json": "json"}
    forms["html"] = "html"
    for ending, form in forms.items():
        path = tmp_path / f"result.{ending}"
        result.save(path)
        text = path.read_text(encoding="utf-8")
        if ending != "html":  # a page of its own
            assert text.rstrip("\n") == getattr(result, f"to_{form}")().rstrip("\n")
        assert text.endswith("\n")
        assert not text.endswith("\n\n")
    assert [path.name for path in tmp_path.glob(".*")] == []
    json.loads((tmp_path / "result.json").read_text(), parse_constant=pytest.fail)
    page = (tmp_path / "result.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert '<meta charset="utf-8">' in page
    assert "<table>" in page
    assert str(result) == result.to_text()
    shown: list[str] = []
    result._repr_pretty_(SimpleNamespace(text=shown.append), False)
    assert shown == [str(result)]  # in IPython
    assert "_repr_pretty_" in vars(type(result))  # else it would write a list in its own way
    for write in (result.to_text, result.to_markdown, result.to_latex):
        assert write(notes=False).rstrip("\n") in write(notes=True)


def test_wrong_paths(tmp_path: Path) -> None:
    result = RESULTS["report"]()
    for wrong in ("report", "report.md.gz"):
        refused(ValueError, "path", result.save, tmp_path / wrong)
    refusal(
        ValueError, "one of .txt, .*, got '.*report.npz'$", result.save, tmp_path / "report.npz"
    )
    (tmp_path / "folder.md").mkdir()
    refused(ValueError, "path", result.save, tmp_path / "folder.md")
    refusal(FileNotFoundError, r"absent.*\.md", result.save, tmp_path / "absent" / "result.md")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.md"]
