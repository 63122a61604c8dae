"""Each form of the table on the page "What goes in", as the doors of tasks take or refuse it."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "inputs.md"
THREE = [0, 1, 2]


class Door(NamedTuple):
    """What a door takes: rows, the names of their columns, and what comes of them."""

    row: str  # of the page's table
    names: tuple[str, ...]
    rows: list[tuple[int, ...]]
    read: Callable[[Any], Any]
    expected: Any

    @property
    def columns(self) -> list[list[int]]:
        return [list(column) for column in zip(*self.rows, strict=True)]

    @property
    def by_query(self) -> dict[int, list[int]]:
        """The rows as entities of each query."""
        return {q: [row[1] for row in self.rows if row[0] == q] for q in (0, 1)}


def facts(value: Any) -> Any:
    task = tr.link_prediction.Task(value, {}, entities=THREE, relations=[0])
    return task.test.tolist()


def pairs(value: Any) -> Any:
    return tr.alignment.Task(value, left=THREE, right=THREE).pairs.tolist()


def qrels(value: Any) -> Any:
    answers = tr.retrieval.Task(value, entities=THREE, queries=[0, 1]).answers
    return sorted(zip(answers.rows.tolist(), answers.targets.tolist(), strict=True))


def known(value: Any) -> Any:
    right = {0: [0], 1: [1, 2]}
    options: dict[str, Any] = {"entities": THREE, "queries": [0, 1], "known": {"train": value}}
    task = tr.retrieval.Task(right, **options)
    return task.evaluate_scores(np.eye(2, 3)).ranks.candidates.tolist()


def lists(value: Any) -> Any:
    task = tr.retrieval.Task({0: [1], 1: [0]}, entities=THREE, queries=[0, 1])
    return task.evaluate_lists(value).ranks.above.tolist()


ITEMS = [(0, 2), (0, 1), (1, 0)]
TRIPLES = [(0, 0, 1), (1, 0, 2), (2, 0, 0)]
OF_ITEMS = ("user", "item")
FACTS, QRELS, LISTS = "facts, pairs", "qrels, `known` of retrieval", "lists"
DOORS = {
    "facts": Door(FACTS, ("head", "relation", "tail"), TRIPLES, facts, list(map(list, TRIPLES))),
    "pairs": Door(FACTS, ("left", "right"), [(0, 1), (1, 2)], pairs, [[0, 1], [1, 2]]),
    "qrels": Door(QRELS, OF_ITEMS, ITEMS, qrels, sorted(ITEMS)),
    "known": Door(QRELS, OF_ITEMS, ITEMS, known, [1, 2, 2]),
    "lists": Door(LISTS, OF_ITEMS, ITEMS, lists, [1, 0]),
}


def as_frame(door: Door) -> dict[str, Any]:
    """Return columns by name, the last one first."""
    columns = dict(zip(door.names, map(np.array, door.columns), strict=True))
    return dict(reversed(columns.items()))


def as_numbers(door: Door) -> dict[int, dict[int, float]]:
    """Return grades or scores, which fall, of the entities of each query."""
    return {q: {e: 9.0 - i for i, e in enumerate(es)} for q, es in door.by_query.items()}


def as_named_tuples(door: Door) -> Any:
    row = namedtuple("row", door.names[::-1])  # type: ignore[misc]
    return [row(*fields[::-1]) for fields in door.rows]


def as_records(door: Door) -> Any:
    fields = [(name, np.int64) for name in door.names[::-1]]
    return np.array([row[::-1] for row in door.rows], dtype=fields)


def as_sparse(door: Door) -> Any:
    sparse = pytest.importorskip("scipy.sparse")
    rows = [row[0] for row in door.rows]
    places = [row[-1] for row in door.rows]
    return sparse.csr_array(
        (np.ones(len(rows)), (rows, places)), shape=(2 + (door.row == FACTS), 3)
    )


def as_file(door: Door) -> str:
    rows = [list(map(str, row)) for row in door.rows]
    if door.row == QRELS:
        rows = [[query, "0", item, "1"] for query, item in rows]
    if door.row == LISTS:
        rows = [["0", "Q0", "2", "1", "9", "t"], ["0", "Q0", "1", "2", "8", "t"]]
        rows.append(["1", "Q0", "0", "1", "9", "t"])
    Path("rows.txt").write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")
    return "rows.txt"


COLUMNS = "a tuple of columns"
TABLE = "a table with named columns"
# How to make each form, by the words of the page; what the page does not name is refused.
FORMS: dict[str, dict[str, Callable[[Door], Any]]] = {
    "a path": {"": as_file},
    TABLE: {
        "pandas": lambda door: pytest.importorskip("pandas").DataFrame(as_frame(door)),
        "polars": lambda door: pytest.importorskip("polars").DataFrame(as_frame(door)),
        "arrow": lambda door: pytest.importorskip("pyarrow").table(as_frame(door)),
        "structured": as_records,
    },
    "an array of ints or labels (n, 3)": {
        "": lambda door: np.array(door.rows),
        "objects": lambda door: np.array(door.rows).astype(object),
        "a tensor": lambda door: pytest.importorskip("torch").tensor(door.rows),
    },
    "an array of floats": {"": lambda door: np.array(door.rows).astype(float)},
    "a list of tuples": {"": lambda door: list(door.rows)},
    COLUMNS: {
        "lists": lambda door: tuple(door.columns),
        "arrays": lambda door: tuple(map(np.array, door.columns)),
        "Series": lambda door: tuple(map(pytest.importorskip("pandas").Series, door.columns)),
        "tensors": lambda door: tuple(map(pytest.importorskip("torch").tensor, door.columns)),
    },
    "`{query: {": {"": as_numbers},
    "`{query: [": {"": lambda door: door.by_query},
    "a sparse matrix": {"": as_sparse},
    "`TopK(ids, scores)`": {"": lambda door: tr.TopK(np.array([[2, 1], [0, -1]]), None)},
    "a list of lists": {"": lambda door: [list(row) for row in door.rows]},
    "a list of arrays": {"": lambda door: [np.array(row) for row in door.rows]},
    "named tuples": {"": as_named_tuples},
    "dicts": {"": lambda door: [dict(zip(door.names, row, strict=True)) for row in door.rows]},
}


def page_table() -> dict[str, str]:
    """Return the cells of the page's table of forms, by the name of the door."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines[:5]]
    return {row[0]: row[1] for row in cells[2:]}


CELLS = [(form, kind, door) for form, kinds in FORMS.items() for kind in kinds for door in DOORS]


def test_the_page_has_these_doors() -> None:
    assert list(page_table()) == [FACTS, QRELS, LISTS]


@pytest.mark.parametrize(("form", "kind", "name"), CELLS)
def test_every_form_is_taken_or_refused_as_the_page_says(
    form: str, kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    door = DOORS[name]
    value = FORMS[form][kind](door)
    if form in page_table()[door.row]:
        assert door.read(value) == door.expected
    else:
        refusal(tr.InputError, "expected", door.read, value)
