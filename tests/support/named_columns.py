"""Columns with names in every container that has such, and columns and rows without names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

Columns = Sequence[Sequence[Any]]


def _frame(names: Sequence[str], columns: Columns) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(dict(zip(names, columns, strict=True)))


def _filtered_frame(names: Sequence[str], columns: Columns) -> Any:
    """Return a frame whose index is that of rows of a larger one."""
    frame = _frame(names, [[*column, column[0]] for column in columns])
    return frame.iloc[::-1].iloc[1:].iloc[::-1].set_axis(range(7, 7 + len(columns[0])))


def _frame_of_polars(names: Sequence[str], columns: Columns) -> Any:
    polars = pytest.importorskip("polars")
    return polars.DataFrame(dict(zip(names, columns, strict=True)))


def _table_of_arrow(names: Sequence[str], columns: Columns) -> Any:
    arrow = pytest.importorskip("pyarrow")
    return arrow.table(dict(zip(names, map(list, columns), strict=True)))


def _structured(names: Sequence[str], columns: Columns) -> Any:
    arrays = list(map(np.array, columns))
    kinds = [(name, array.dtype) for name, array in zip(names, arrays, strict=True)]
    return np.array(list(zip(*columns, strict=True)), kinds)


def _numbered(columns: Columns) -> list[str]:
    return [f"column {j}" for j in range(len(columns))]


NAMED: dict[str, Callable[[Sequence[str], Columns], Any]] = {
    "frame": _frame,
    "filtered frame": _filtered_frame,
    "frame of polars": _frame_of_polars,
    "table of arrow": _table_of_arrow,
    "structured array": _structured,
}
UNNAMED: dict[str, Callable[[Columns], Any]] = {
    "rows": lambda columns: list(zip(*columns, strict=True)),
    "columns": tuple,
    "columns of arrays": lambda columns: tuple(map(np.array, columns)),
    "columns of a frame": lambda columns: tuple(
        column for _, column in _filtered_frame(_numbered(columns), columns).items()
    ),
    "frame of numbers": lambda columns: _frame(_numbered(columns), columns).set_axis(
        range(len(columns)), axis=1
    ),
}
