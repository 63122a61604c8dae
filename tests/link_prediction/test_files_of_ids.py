"""Files of ids beside files of labels, and tables of predictions, as toolkits write them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal
from truerank.link_prediction import Task, read_triples

pytestmark = pytest.mark.python_only

NAMES = ["oslo", "1", "new york", "0"]  # Two are written like the ids of others.
RELATIONS = ["in", "near"]
TEST = [(0, 0, 1), (2, 1, 3), (0, 1, 3)]
TRAIN = [(0, 0, 2), (3, 1, 2)]
SCORES = np.random.default_rng(3).random((4, 2, 4))


def lines(rows: Any, between: str = "\t", end: str = "\n") -> str:
    return "".join(between.join(map(str, row)) + end for row in rows)


def moved(rows: Any) -> list[tuple[int, ...]]:
    """Return heads, tails and relations, in this order."""
    return [(h, t, r) for h, r, t in rows]


def counted(rows: Any, end: str = "\r\n") -> str:
    """Return a file of OpenKE, some of which have CRLF."""
    return f"{len(rows)}{end}" + lines(rows, "\t" if len(rows[0]) == 2 else " ", end)


def behind(names: list[str]) -> list[tuple[str, int]]:
    """Return labels with their ids behind them, the last one first."""
    return [(name, i) for i, name in reversed(list(enumerate(names)))]


def quoted(names: list[str]) -> str:
    return lines([(i, f'"{name}"') for i, name in enumerate(names)], ",")


# By toolkit: the names of the files of entities, relations, test and train; how they write labels,
# and triples; and what is said of them.
OPENKE = "entity2id.txt relation2id.txt test2id.txt train2id.txt"
FREEBASE = "entity2id.txt relation2id.txt test.txt train.txt"
PYKEEN = "entity_to_id.tsv.gz relation_to_id.tsv.gz test.tsv.gz numeric_triples.tsv.gz"
MOVED = {"columns": {"head": 0, "tail": 1, "relation": 2}}
ROLES = ("head", "relation", "tail")
TOOLKITS: dict[str, tuple[str, Any, Any, dict[str, Any]]] = {
    "LibKGE": ("e.del r.del test.del train.del", lambda names: lines(enumerate(names)), lines, {}),
    "OpenKE": (OPENKE, lambda names: counted(behind(names)), lambda rows: counted(moved(rows)), {}),
    "DGL-KE": ("e.csv r.csv test.csv train.csv", quoted, lambda rows: lines(rows, ","), {}),
    "DGL-KE, Freebase": (
        FREEBASE,
        lambda names: counted(behind(names)[::-1], "\n"),
        lambda rows: lines(moved(rows)),
        MOVED,
    ),
    "PyKEEN": (
        PYKEEN,
        lambda names: lines([("id", "label"), *enumerate(names)]),
        lambda rows: lines([ROLES, *rows]),
        {"header": True},
    ),
    "a line for each label": ("e.tsv r.tsv test.tsv train.tsv", "\n".join, lines, {}),
}


def write(path: Path, text: str) -> Path:
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def by_name(rows: Any) -> list[tuple[str, ...]]:
    return [(NAMES[h], RELATIONS[r], NAMES[t]) for h, r, t in rows]


def ranks_of(task: Task) -> tr.Ranks:
    return task.evaluate(
        lambda queries: SCORES[queries[:, 0], queries[:, 1]],
        head=lambda queries: SCORES[:, queries[:, 0], queries[:, 1]].T,
    ).ranks


VOCABULARIES: dict[str, Any] = {"entities": NAMES, "relations": RELATIONS}
BY_NAME = Task(by_name(TEST), {"train": by_name(TRAIN)}, entities=NAMES, relations=RELATIONS)


@pytest.mark.parametrize("toolkit", TOOLKITS)
def test_ids_of_files_are_those_of_the_files_of_labels(tmp_path: Path, toolkit: str) -> None:
    files, label_lines, triple_lines, options = TOOLKITS[toolkit]
    entities, relations, test, train = (tmp_path / name for name in files.split())
    write(entities, label_lines(NAMES))
    write(relations, label_lines(RELATIONS))
    write(test, triple_lines(TEST))
    write(train, triple_lines(TRAIN))
    vocabularies = {"entities": entities, "relations": relations}
    task = Task(test, {"train": train}, ids=True, **vocabularies, **options)
    assert ranks_of(task) == ranks_of(BY_NAME)
    assert task.test.tolist() == list(map(list, TEST))
    assert set(tr.report(ranks_of(task), by="relation").groups) == {"in", "near"}
    triples = read_triples(test, ids=True, **vocabularies, **options)
    assert (triples.ids.tolist(), triples.entities) == (task.test.tolist(), tuple(NAMES))


@pytest.mark.parametrize("options", [{}, {"ids": True}])
def test_arrays_of_ids_and_names_are_taken_as_well(tmp_path: Path, options: dict[str, Any]) -> None:
    """A str of Python is a label; ids need no labels."""
    other: Any = np.array(TEST)
    if not options:
        other = write(tmp_path / "names.txt", lines(by_name(TEST)))
    for test in (other, by_name(TEST)):
        task = Task(test, {"train": by_name(TRAIN)}, **VOCABULARIES, **options)
        assert ranks_of(task) == ranks_of(BY_NAME)
    path = write(tmp_path / "test.del", lines(TEST))
    task = Task(path, {"train": TRAIN}, entities=4, relations=2, **options)
    assert ranks_of(task).optimistic.tolist() == ranks_of(BY_NAME).optimistic.tolist()
    assert Task(path, {}, entities=NAMES, ids=True).relations is None


REFUSED = [
    (
        TEST,
        {"entities": NAMES[:3]},
        "ids of entities from 0 to 2, as text has ids here, got '3'",
    ),
    (
        TEST,
        {"relations": ["in"]},
        "ids of relations from 0 to 0, as text has ids here, got '1'",
    ),
    (by_name(TEST), {}, "as text has ids here, got 'oslo' in column 0 of line 1"),
    ([(0, 0, "01")], {}, "as text has ids here, got '01' in column 2 of line 1"),
    (TEST, {"ids": False}, "as 'oslo', got '2' in column 0 of line 2; ids=True says that"),
]


@pytest.mark.parametrize(("rows", "options", "words"), REFUSED)
def test_what_is_no_id_is_refused(
    tmp_path: Path, rows: Any, options: dict[str, Any], words: str
) -> None:
    path = write(tmp_path / "test.del", lines(rows))
    refusal(ValueError, words, Task, path, {}, **VOCABULARIES | {"ids": True} | options)


def predictions(side: str) -> list[tuple[Any, ...]]:
    """Return head, relation, tail and score of all candidates of each query of a side."""
    rows = []
    for h, r, t in TEST:
        for other in range(len(NAMES)):
            head, tail = (h, other) if side == "tail" else (other, t)
            rows.append((head, r, tail, SCORES[head, r, tail]))
    return sorted(dict.fromkeys(rows), key=lambda row: (row[:2], -row[3]))


def named(rows: Any) -> list[tuple[Any, ...]]:
    names = by_name(row[:3] for row in rows)
    return [(*labels, row[3]) for labels, row in zip(names, rows, strict=True)]


def task_of_ids(tmp_path: Path) -> Task:
    path = write(tmp_path / "test.del", lines(TEST))
    return Task(path, {"train": TRAIN}, ids=True, **VOCABULARIES)


@pytest.mark.parametrize("ids", [True, False])
def test_predictions_of_dgl_ke(tmp_path: Path, ids: bool) -> None:
    """The header of its `result.tsv` is head, rel, tail, score; of names with ``--raw_data``."""
    task = task_of_ids(tmp_path) if ids else BY_NAME
    files = {}
    for side in ("tail", "head"):
        rows = predictions(side) if ids else named(predictions(side))
        text = lines([("head", "rel", "tail", "score"), *rows])
        files[side] = write(tmp_path / f"{side}.tsv", text)
    report = task.evaluate_lists(**files)
    assert report["mrr"] == tr.report(ranks_of(BY_NAME))["mrr"]


@pytest.mark.parametrize("ending", ["label", "id"])
def test_predictions_of_pykeen(tmp_path: Path, ending: str) -> None:
    """The frame of `predict_all(...).process(factory=...)` has ids and labels of each role."""
    pd = pytest.importorskip("pandas")
    frames = {}
    for side in ("tail", "head"):
        ids = pd.DataFrame(predictions(side), columns=[*(f"{role}_id" for role in ROLES), "score"])
        labels = pd.DataFrame(named(predictions(side)), columns=[*ROLES, "score"])[[*ROLES]]
        frames[side] = ids.join(labels.add_suffix("_label"))
    columns = {role: f"{role}_{ending}" for role in ROLES} | {"score": "score"}
    report = task_of_ids(tmp_path).evaluate_lists(**frames, columns=columns)
    assert report.ranks.optimistic.tolist() == ranks_of(BY_NAME).optimistic.tolist()


def test_lists_of_ids_where_names_are_meant_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "tail.tsv", lines(predictions("tail")))
    words = r"no query in common: .* lists have .*; Task\(\.\.\., ids=True\) says that text has ids"
    refusal(ValueError, words, BY_NAME.evaluate_lists, path, head=path)
