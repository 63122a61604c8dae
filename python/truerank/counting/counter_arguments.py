"""Checks of what a RankCounter is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import Selection
from ..inputs.arrays import index_array
from ..inputs.checks import check_range, check_shape, integer
from ..inputs.errors import InputValueError
from ..inputs.selection import as_selection, selection_arrays
from .block_columns import NO_COLUMN

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray


def checked_columns(targets: Any, candidates: Any) -> int | None:
    """Check the number of columns; None without targets."""
    if targets is None:
        if candidates is not None:
            raise InputValueError("candidates", expected="none without targets")
        return None
    if candidates is None:
        raise InputValueError("candidates", expected="the number of columns in all, beside targets")
    number_of_columns = "the number of columns in all"
    most = int(np.iinfo(np.int64).max)
    expected = f"an integer, {number_of_columns}"
    return integer(
        "candidates", candidates, least=0, most=most, expected=expected, range=number_of_columns
    )


def checked_targets(targets: Any, tasks: int, columns: int | None) -> IntArray:
    """Check the targets of some tasks, and repeat a single one."""
    if columns is None:
        return np.full(tasks, NO_COLUMN, np.int64)
    array = index_array("targets", targets)
    if array.ndim == 0:
        array = np.full(tasks, array, np.int64)
    check_shape("targets", array.shape, (tasks,), f"{tasks} integers, one for each true score")
    check_range("targets", array, columns, "columns in all")
    return array


def checked_filter(filter: Any, tasks: int, columns: int | None, threads: int) -> Selection | None:
    """Check a filter, and copy it, because a counter lives longer than the call."""
    if columns is None:
        if filter is not None:
            raise InputValueError(
                "filter", expected="none without targets, as candidates then have no columns"
            )
        return None
    selection = as_selection("filter", filter, tasks, columns, threads)
    return selection and copy_selection(selection)


def checked_rows(rows: Any, tasks: int) -> IntArray | None:
    """Check the rows of some tasks; a block may turn out to have too few."""
    if rows is None:
        return None
    array = index_array("rows", rows)
    check_shape("rows", array.shape, (tasks,), f"{tasks} rows, one for each true score")
    below_zero = np.flatnonzero(array < 0)
    if below_zero.size:
        got = f"{array[below_zero[0]]} for task {below_zero[0]}"
        raise InputValueError("rows", expected="rows from 0 on", got=got)
    return array


def copy_selection(selection: Selection) -> Selection:
    """Return the selection with a copy of its indices, so that it shares no array with the user."""
    indptr, indices, lists, shared = selection_arrays(selection)
    return Selection(indptr, indices.copy(), lists, shared)
