"""Each cell of the table of shapes on the page "What goes in", as the doors of tasks take it."""

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

    cell: int  # of the page's table
    names: tuple[str, ...]
    rows: list[tuple[int, ...]]
    found: Callable[[Any], Any]

    @property
    def columns(self) -> list[list[int]]:
        """The rows as columns."""
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
OF_ITEMS = ("user", "item")
DOORS = {
    "facts": Door(0, ("head", "relation", "tail"), [(0, 0, 1), (1, 0, 2), (2, 0, 0)], facts),
    "pairs": Door(0, ("left", "right"), [(0, 1), (1, 2), (2, 0)], pairs),
    "qrels": Door(1, OF_ITEMS, ITEMS, qrels),
    "known": Door(1, OF_ITEMS, ITEMS, known),
    "lists": Door(2, OF_ITEMS, ITEMS, lists),
}
EXPECTED = {
    "facts": [[0, 0, 1], [1, 0, 2], [2, 0, 0]],
    "pairs": [[0, 1], [1, 2], [2, 0]],
    "qrels": [(0, 1), (0, 2), (1, 0)],
    "known": [1, 2, 2],
    "lists": [1, 0],
}


def as_rows(door: Door) -> list[list[int]]:
    """Return rows; of lists, a list for each query."""
    if door.cell == 2:
        return list(door.by_query.values())
    return [list(row) for row in door.rows]


def as_matrix(door: Door) -> Any:
    """Return an array of two dimensions; lists are padded."""
    if door.cell == 2:
        return np.array([[2, 1], [0, -1]])
    return np.array(door.rows)


def as_frame(door: Door) -> dict[str, Any]:
    """Return columns by name, the last one first."""
    columns = dict(zip(door.names, map(np.array, door.columns), strict=True))
    return dict(reversed(columns.items()))


def as_mapping(door: Door) -> Any:
    """Return columns by role, or entities by query."""
    return as_frame(door) if door.cell == 0 else door.by_query


def as_named_tuples(door: Door) -> Any:
    """Return rows whose fields have names, the last one first."""
    row = namedtuple("row", door.names[::-1])  # type: ignore[misc]
    return [row(*fields[::-1]) for fields in door.rows]


def as_records(door: Door) -> Any:
    """Return an array of entries with names."""
    fields = [(name, np.int64) for name in door.names[::-1]]
    return np.array([row[::-1] for row in door.rows], dtype=fields)


def as_sparse(door: Door) -> Any:
    """Return a sparse matrix with an entry for each row."""
    sparse = pytest.importorskip("scipy.sparse")
    rows = [row[0] for row in door.rows]
    places = [row[-1] for row in door.rows]
    return sparse.csr_array((np.ones(3), (rows, places)), shape=(3 - (door.cell > 0), 3))


def as_file(door: Door) -> str:
    """Return the path of a file of text."""
    rows = [list(map(str, row)) for row in door.rows]
    if door.cell == 1:
        rows = [[query, "0", item, "1"] for query, item in rows]
    if door.cell == 2:
        rows = [["0", "Q0", "2", "1", "9", "t"], ["0", "Q0", "1", "2", "8", "t"]]
        rows.append(["1", "Q0", "0", "1", "9", "t"])
    Path("rows.txt").write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")
    return "rows.txt"


FORMS: dict[str, dict[str, Callable[[Door], Any]]] = {
    "a tuple of columns of one length (lists, arrays, Series)": {
        "lists": lambda door: tuple(door.columns),
        "arrays": lambda door: tuple(map(np.array, door.columns)),
        "Series": lambda door: tuple(map(pytest.importorskip("pandas").Series, door.columns)),
        "tensors": lambda door: tuple(map(pytest.importorskip("torch").tensor, door.columns)),
    },
    "a list of tuples": {"": lambda door: list(door.rows)},
    "a list of lists": {"": as_rows},
    "an array of two dimensions": {
        "": as_matrix,
        "of objects": lambda door: as_matrix(door).astype(object),
        "a tensor": lambda door: pytest.importorskip("torch").tensor(as_matrix(door)),
    },
    "a list of arrays": {"": lambda door: list(map(np.array, as_rows(door)))},
    "frame, Arrow table, data set, structured array, named tuples, dicts as rows": {
        "pandas": lambda door: pytest.importorskip("pandas").DataFrame(as_frame(door)),
        "polars": lambda door: pytest.importorskip("polars").DataFrame(as_frame(door)),
        "arrow": lambda door: pytest.importorskip("pyarrow").table(as_frame(door)),
        "structured": as_records,
        "named tuples": as_named_tuples,
        "dicts": lambda door: [dict(zip(door.names, row, strict=True)) for row in door.rows],
    },
    "a mapping": {"": as_mapping},
    "a sparse matrix of scipy": {"": as_sparse},
    "a path": {"": as_file},
}


def page_table() -> dict[str, list[str]]:
    """Return the cells of the page's table of shapes, by the name of the shape."""
    section = PAGE.read_text("utf-8").partition("## Which shape is what")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines[2:]]
    return {row[0]: row[1:] for row in cells}


CELLS = [(shape, form, door) for shape, forms in FORMS.items() for form in forms for door in DOORS]


def test_the_page_has_these_shapes() -> None:
    assert list(page_table()) == list(FORMS)


@pytest.mark.parametrize(("shape", "form", "name"), CELLS)
def test_every_shape_is_taken_or_refused_as_the_page_says(
    shape: str, form: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    door = DOORS[name]
    value = FORMS[shape][form](door)
    if page_table()[shape][door.cell].startswith("refused"):
        refusal(tr.InputError, "expected", door.found, value)
    else:
        assert door.found(value) == EXPECTED[name]
