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
from support.query_reports import query_report
from support.refusals import refusal
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
    found = RESULTS[name]()
    forms = {"txt": "text", "MD": "markdown", "tex": "latex", "csv": "csv", "json": "json"}
    forms["html"] = "html"
    for ending, form in forms.items():
        path = tmp_path / f"found.{ending}"
        found.save(path)
        text = path.read_text(encoding="utf-8")
        if ending != "html":  # a page of its own
            assert text.rstrip("\n") == getattr(found, f"to_{form}")().rstrip("\n")
        assert text.endswith("\n")
        assert not text.endswith("\n\n")
    assert [path.name for path in tmp_path.glob(".*")] == []
    json.loads((tmp_path / "found.json").read_text(), parse_constant=pytest.fail)
    page = (tmp_path / "found.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert '<meta charset="utf-8">' in page
    assert "<table>" in page
    assert str(found) == found.to_text()
    shown: list[str] = []
    found._repr_pretty_(SimpleNamespace(text=shown.append), False)
    assert shown == [str(found)]  # in IPython
    assert "_repr_pretty_" in vars(type(found))  # else it would write a list in its own way
    for write in (found.to_text, found.to_markdown, found.to_latex):
        assert write(notes=False).rstrip("\n") in write(notes=True)
        assert write(digits=2, notes=False) != "\n"
        refusal(ValueError, "digits: .*-1", write, digits=-1)
        refusal(TypeError, "notes: ", write, notes="none")


@pytest.mark.parametrize("name", ["report", "table"])
def test_wrong_paths(name: str, tmp_path: Path) -> None:
    found = RESULTS[name]()
    hint = "; to keep the ranks, call ranks.save of the report" if name == "report" else ""
    for wrong, more in {"report": "", "report.npz": hint, "report.md.gz": ""}.items():
        refusal(ValueError, f"path: .*{wrong}'{more}$", found.save, tmp_path / wrong)
    refusal(TypeError, "path: .*int", found.save, 3)
    (tmp_path / "folder.md").mkdir()
    refusal(ValueError, "path: ", found.save, tmp_path / "folder.md")
    refusal(FileNotFoundError, r"absent.*found\.md", found.save, tmp_path / "absent" / "found.md")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.md"]
