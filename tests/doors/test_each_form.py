"""A call of each kind, with what each library makes, and each command.

They are few and quick: a session of CI runs them beside the lowest versions that are promised.
"""

from __future__ import annotations

import csv
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal
from truerank.__main__ import main

pytestmark = pytest.mark.python_only

FORMS = ("path", "pandas", "polars", "pyarrow")
SCORES = np.array([[0.5, 0.25, 1.0], [0.125, 0.75, 0.5], [1.0, 0.0, 0.25]])
TARGETS = np.array([0, 1, 2])  # Their ranks are 2, 1, 2.
FACTS = {"head": ["a", "b"], "relation": ["likes", "likes"], "tail": ["b", "c"]}
KNOWN = {"head": ["a"], "relation": ["likes"], "tail": ["c"]}
LISTS = {
    "head": ["a", "a", "b", "b"],
    "relation": ["likes"] * 4,
    "tail": ["c", "b", "a", "c"],
    "score": [0.9, 0.8, 0.7, 0.6],
}
PAIRS = {"left": ["a", "b"], "right": ["x", "y"]}
MATCHES = {"left": ["a", "b", "b"], "right": ["x", "x", "y"], "score": [0.9, 0.8, 0.7]}
QRELS = {"query": ["q", "r"], "document": ["a", "b"], "relevance": [1, 2]}
RUN = {"query": ["q", "r", "r"], "document": ["a", "c", "b"], "score": [0.9, 0.8, 0.7]}


def in_form(form: str, columns: dict[str, list[Any]], path: Path) -> Any:
    """Return a table as a path, a frame or a table of Arrow."""
    if form == "path":
        with open(path, "w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file)
            lines.writerow(columns)
            lines.writerows(zip(*columns.values(), strict=True))
        return path
    library = import_module(form)
    return library.table(columns) if form == "pyarrow" else library.DataFrame(columns)


@pytest.fixture(params=FORMS)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Return what makes a table in one of the forms, from its name and its columns."""
    if request.param != "path":
        pytest.importorskip(request.param)
    return lambda name, columns: in_form(request.param, columns, tmp_path / f"{name}.csv")


def header(table: Any) -> dict[str, bool]:
    """Return the option of a path that has names in its first line."""
    return {"header": True} if isinstance(table, Path) else {}


def test_link_prediction(table: Any) -> None:
    test, known = table("test", FACTS), table("known", KNOWN)
    task = tr.link_prediction.Task(
        test, {"train": known}, entities=["a", "b", "c"], sides=["tail"], **header(test)
    )
    assert task.evaluate_lists(tail=table("lists", LISTS))["mrr"] == 0.75


def test_alignment(table: Any) -> None:
    pairs = table("pairs", PAIRS)
    sides = {"sides": ["left_to_right"], **header(pairs)}
    task = tr.alignment.Task(pairs, left=["a", "b"], right=["x", "y"], **sides)
    assert task.evaluate_lists(left_to_right=table("lists", MATCHES))["mrr"] == 0.75


def test_retrieval(table: Any) -> None:
    task = tr.retrieval.Task(table("qrels", QRELS), entities=["a", "b", "c"])
    assert task.evaluate_lists(table("run", RUN))["mrr"] == 0.75


@pytest.mark.parametrize("form", FORMS)
def test_scores_vectors_and_targets(form: str, tmp_path: Path) -> None:
    if form != "path":
        library = pytest.importorskip(form)
    scores: Any = tmp_path / "scores.npy"
    targets: Any = TARGETS
    np.save(scores, SCORES)
    vectors: Any = SCORES
    if form in ("pandas", "polars"):
        scores = vectors = library.DataFrame(SCORES)
        targets = library.Series(TARGETS)
    if form == "pyarrow":
        scores, targets = list(map(library.array, SCORES)), library.array(TARGETS)
        lists = library.list_(library.float64(), 3)
        vectors = library.array(SCORES.tolist(), lists)
        missing = library.array([*SCORES.tolist(), None], lists)
        refusal(ValueError, "^entities: ", tr.rank_embeddings, SCORES, missing, TARGETS)
    assert tr.rank(scores, targets).optimistic.tolist() == [2, 1, 2]
    assert tr.evaluate(scores, targets)["mrr"] == pytest.approx(2 / 3)
    assert tr.rank_embeddings(np.eye(3), vectors, targets).candidates.tolist() == [3, 3, 3]


def test_results(tmp_path: Path) -> None:
    """Frames, figures and pages are made; progress is shown."""
    for library in ("pandas", "matplotlib", "tqdm"):
        pytest.importorskip(library)
    report = tr.evaluate(SCORES, TARGETS, by=["a", "b", "a"], progress=True)
    assert report["mrr"] in report.to_pandas().to_numpy()
    assert report["mrr"] in tr.table({"model": report}).to_pandas().to_numpy()
    for draw in (tr.plot.groups, tr.plot.hits_curve, tr.plot.rank_distribution):
        assert draw(report).figure is not None
    tr.page.save(tmp_path / "page.html", {"model": report})
    assert "<svg" in (tmp_path / "page.html").read_text()
    report.ranks.save(tmp_path / "ranks.npz")
    assert tr.load(tmp_path / "ranks.npz") == report.ranks
    interval = report.interval("mrr")
    assert interval.low <= report["mrr"] <= interval.high


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    pytest.importorskip("click")
    pytest.importorskip("tqdm")
    monkeypatch.chdir(tmp_path)
    np.save("scores.npy", SCORES)
    np.save("targets.npy", TARGETS)
    np.save("best.npy", SCORES.argmax(axis=1))
    np.save("pairs.npy", np.stack([TARGETS, TARGETS], axis=1))
    np.save("facts.npy", np.array([[0, 0, 1], [1, 0, 2], [2, 0, 0]]))
    in_form("path", QRELS, Path("qrels.csv"))
    in_form("path", RUN, Path("run.csv"))
    lines = """evaluate scores.npy targets.npy --save a.npz
    evaluate scores.npy best.npy --save b.npz --interval --format json
    compare a.npz b.npz --metric mrr
    link-prediction --test facts.npy --scores tail=scores.npy --sides tail
    alignment --scores scores.npy pairs.npy
    compat scores.npy targets.npy
    adjust mr 7000 --candidates 40943 --tasks 6268
    retrieval --qrels qrels.csv --lists run.csv --candidates listed
    info"""
    for line in lines.splitlines():
        monkeypatch.setattr("sys.argv", ["truerank", *line.split()])
        status = 0
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
        assert (status, capsys.readouterr().out != "") == (0, True), line
