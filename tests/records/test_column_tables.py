"""Whatever has columns is read as columns, by its names."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from truerank.errors import InputTypeError, InputValueError
from truerank.records.column_tables import read_table, table_of_rows

pytestmark = pytest.mark.python_only
COLUMNS = {"tail": [5, 6], "head": ["a", "b"]}
FRAME = pd.DataFrame(COLUMNS)


def frame_of_polars():
    return pytest.importorskip("polars").DataFrame(COLUMNS)


def table_of_arrow():
    return pytest.importorskip("pyarrow").table(COLUMNS)


MAKERS = {
    "frame": lambda: FRAME,
    "frame with an index": lambda: FRAME.set_index(pd.Index([7, 3])),
    "polars": frame_of_polars,
    "arrow": table_of_arrow,
    "structured array": lambda: np.array([(5, "a"), (6, "b")], [("tail", int), ("head", "U1")]),
    "records": lambda: FRAME.to_records(index=False),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_tables_have_columns_with_names(kind):
    table = read_table("test", MAKERS[kind]())
    assert table is not None
    assert table.names == ["tail", "head"]
    assert [list(column) for column in table.columns] == [[5, 6], ["a", "b"]]


@pytest.mark.parametrize(
    "value",
    [
        ([5, 6], ["a", "b"]),
        (np.array([5, 6]), pd.Series(["a", "b"])),
        (range(5, 7), np.array(["a", "b"], object)),
        FRAME.set_axis([0, 1], axis=1),
    ],
)
def test_tuples_and_numbered_columns_have_no_names(value):
    table = read_table("test", value)
    assert table is not None
    assert table.names is None
    assert [list(column) for column in table.columns] == [[5, 6], ["a", "b"]]


def test_numbers_in_another_order_are_names():
    table = read_table("test", FRAME.set_axis([1, 0], axis=1))
    assert table is not None
    assert table.names == [1, 0]


@pytest.mark.parametrize("value", [[(5, "a")], [[5, "a"]], np.zeros((2, 2)), [], "path", {}, 3])
def test_rows_arrays_and_paths_are_no_tables(value):
    assert read_table("test", value) is None


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (([5, 6], [1]), InputValueError),
        (((5, 6), 1), InputTypeError),
        ((5, 6), InputTypeError),
        (("ab", "cd"), InputTypeError),
        ((np.zeros((2, 2)), [1, 2]), InputTypeError),
        ((), InputValueError),
    ],
)
def test_what_is_no_table_is_refused(value, error):
    with pytest.raises(error, match="test: expected"):
        read_table("test", value)


@pytest.mark.parametrize("value", [np.zeros((3, 0), int), np.zeros((0, 0), int), [(), ()]])
def test_rows_without_columns_are_refused(value):
    """They would be read as no rows at all."""
    with pytest.raises(InputTypeError, match="test: expected rows, got"):
        table_of_rows("test", value, "rows")
