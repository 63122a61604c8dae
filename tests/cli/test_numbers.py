"""`truerank compare`, `adjust` and `compat`: what they print is what Python returns."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.cli_files import INDICES, INDPTR, SCORES, TARGETS, Run, make_files
from support.html_reader import Page
from truerank import compat, retrieval


@pytest.fixture
def models() -> dict[str, tr.Ranks]:
    """Save the ranks of three models over the same tasks, and files of scores."""
    generator = np.random.default_rng(5)
    ranks = {}
    for i, name in enumerate(["one", "two", "three"]):
        above = generator.integers(0, 20 + 10 * i, 60)
        labels = {"queries": np.arange(60) // 3, "targets": np.arange(60)}
        ranks[name] = tr.Ranks(above, np.ones(60, dtype=int), 100, **labels)
        ranks[name].save(f"{name}.npz")
    ranks["one"].with_protocol(split="valid").save("unlike.npz")
    Path("folder").mkdir()
    ranks["two"].save("folder/one.npz")
    return ranks


@pytest.mark.parametrize(
    ("line", "keywords"),
    [
        ("one.npz two.npz", {}),
        ("one.npz two.npz three.npz --metric mrr,hits@10", {"metric": ["mrr", "hits@10"]}),
        (
            "one.npz two.npz --metrics random.amri --seed 4 --level 0.9",
            {"metric": "random.amri", "seed": 4, "level": 0.9},
        ),
    ],
)
def test_comparisons(
    run: Run, models: dict[str, tr.Ranks], line: str, keywords: dict[str, Any]
) -> None:
    names = [word[:-4] for word in line.split() if word.endswith(".npz")]
    expected = tr.compare({name: models[name] for name in names}, **keywords)
    assert run("compare", *line.split()) == (0, expected.to_text() + "\n", "")
    assert run("compare", *line.split(), "--json") == (0, expected.to_json() + "\n", "")


def test_unlike_models_and_equal_names(run: Run, models: dict[str, tr.Ranks]) -> None:
    assert run("compare", "one.npz", "unlike.npz").code == 1
    assert run("compare", "one.npz", "unlike.npz", "--allow-unlike").code == 0
    assert "folder/one.npz" in run("compare", "one.npz", "folder/one.npz").out


def test_runs_are_evaluated_and_compared(run: Run) -> None:
    Path("qrels.txt").write_text("q1 0 a 1\nq2 0 b 2\nq3 0 a 1\nq3 0 c 1\n")
    Path("x.run").write_text("q1 Q0 a 1 9 t\nq1 Q0 b 2 8 t\nq2 Q0 a 1 9 t\nq3 Q0 c 1 9 t\n")
    Path("y.run").write_text("q1 Q0 b 1 9 t\nq2 Q0 b 1 9 t\nq3 Q0 d 1 9 t\n")
    task = retrieval.Task("qrels.txt", entities=9)
    models = {name: task.evaluate_lists(f"{name}.run") for name in "xy"}
    expected = tr.compare(models, metric=["map", "ndcg@10"]).to_text() + "\n"
    line = "compare x.run y.run --metrics map,ndcg@10 --qrels qrels.txt --candidates 9"
    assert run(*line.split()) == (0, expected, "")


@pytest.mark.parametrize(
    ("line", "keywords"),
    [
        ("--candidates 40943 --tasks 6268", {"candidates": 40943, "tasks": 6268}),
        ("--candidates counts.npy", {"candidates": [9, 8]}),
    ],
)
def test_published_numbers(run: Run, line: str, keywords: dict[str, Any]) -> None:
    np.save("counts.npy", [9, 8])
    words = ["adjust", "mr", 3, *line.split()]
    expected = tr.adjust("mr", 3, **keywords)
    rows = {row[:30].strip(): row[30:].strip() for row in run(*words).out.splitlines()}
    assert rows["index (0 is chance, 1 perfect)"] == f"{expected.index:.6g}"
    content = json.loads(run(*words, "--json").out)
    assert (content["ratio"], content["index"]) == (expected.ratio, expected.index)


def test_conventions(run: Run) -> None:
    make_files(Path())
    np.save("side.npy", np.array(["head", "tail", "head", "tail"]))
    line = "compat scores.npy targets.npy --filter pair.npz --labels side=side.npy"
    line += " --order ascending --format markdown"
    facts: dict[str, Any] = {"filter": (INDPTR, INDICES), "order": "ascending"}
    facts["side"] = ["head", "tail", "head", "tail"]
    expected = compat.table(SCORES, TARGETS, **facts).to_markdown() + "\n"
    assert run(*line.split()) == (0, expected, "")
    expected = compat.report(SCORES, TARGETS, preset="openke", **facts).to_markdown() + "\n"
    assert run(*line.split(), "--preset", "openke") == (0, expected, "")


def test_pages(run: Run, models: dict[str, tr.Ranks], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="pages have plots")
    for line in (
        "evaluate one.npz --by query --metrics mrr,macro.mrr --interval",
        "compare one.npz two.npz three.npz --metrics mrr,hits@10",
    ):
        words = line.split()
        assert run(*words, "--html", "page.html") == run(*words)
        page = Page(Path("page.html").read_text(encoding="utf-8"))
        assert f"truerank {line}" in page.words
        assert page.count("svg") >= 2
        Path("page.html").unlink()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    outcome = run("evaluate", "one.npz", "--save", "x.npz", "--html", "page.html")
    way = "pip install '.[plot]' in the checkout"
    assert outcome.err == f"Error: an HTML page needs matplotlib: {way}\n"
    assert not Path("x.npz").exists()
