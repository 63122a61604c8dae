"""Parts of a task: some of its units, whose ranks join to those of the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.arrays import index_array
from ..inputs.checks import check_shape, is_iterable
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.frames import Axis
from ..inputs.row_keys import codes_of
from ..inputs.selection import join_ranges

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from .side_tasks import SideTasks


def chosen_positions(number: int, index: Any) -> IntArray:
    """Return the positions of some of the units, in the order of an index, which names none twice.

    Parameters
    ----------
    number : int
        How many units there are.
    index : slice, or array_like of int, shape (k,)

    Raises
    ------
    TypeError
        For an index of another type, a mask of booleans included.
    ValueError
        For a unit that comes twice.
    IndexError
        For a position out of range.

    Examples
    --------
    >>> chosen_positions(4, slice(1, None, 2))
    array([1, 3])
    >>> chosen_positions(4, [2, -4])
    array([2, 0])
    """
    if isinstance(index, slice):
        return np.arange(number)[index]
    expected = "a slice or positions of units, as task[0::4] or task[[7, 3]]"
    is_one = isinstance(index, (str, bytes, int, np.integer)) or not is_iterable(index)
    if is_one or isinstance(index, Mapping) or np.asarray(index).dtype.kind == "b":
        raise InputTypeError("index", expected=expected, got=repr(index))
    given = index_array("index", index)
    check_shape("index", given.shape, 1, expected)
    is_wrong = (given < -number) | (given >= number)
    if is_wrong.any():
        first = given[is_wrong][0]
        raise IndexError(f"index: {first} is out of range for a task of {number:,} units")
    positions = np.where(given < 0, given + number, given)
    counts = np.bincount(positions, minlength=number)
    if len(positions) and counts.max() > 1:
        again = int(np.flatnonzero(positions == counts.argmax())[1])
        got = f"{given[again]} again at position {again}"
        raise InputValueError("index", expected="each unit at most once", got=got)
    return positions


def part_of_side(side: SideTasks, units: IntArray, tasks: int) -> SideTasks:
    """Return the tasks of some units of a side, unit after unit.

    Parameters
    ----------
    side : SideTasks
    units : ndarray of int64, shape (k,)
        The units, each once, in the order of the part.
    tasks : int
        How many tasks the side has; those after them (judged documents of retrieval, whose counts
        are read beside those of the right answers) come last in the part, too.

    Returns
    -------
    SideTasks
        With the queries of these tasks only. Rows that a user hands over (`test_rows`) are those of
        the part: one for each row that its units have in the whole, unit after unit.
    """
    unit = side.labels["unit"].codes
    right, right_place = _tasks_of_units(unit[:tasks], units)
    further, further_place = _tasks_of_units(unit[tasks:], units)
    chosen = np.concatenate([right, further + tasks])
    place = np.concatenate([right_place, further_place])
    given = codes_of(place, side.test_rows[chosen])
    asked = codes_of(side.rows[chosen])
    filter_lists, candidates = side.selections(chosen)
    rows_of_whole = side.test_rows[chosen[given.first()]]
    if side.row_axis.some is not None:
        rows_of_whole = side.row_axis.some[rows_of_whole]
    return replace(
        side,
        queries=side.queries[asked.distinct],
        rows=asked.codes,
        targets=side.targets[chosen],
        filter=filter_lists,
        candidates=candidates,
        labels={name: each[chosen] for name, each in side.labels.items()},
        arrays={name: each[chosen] for name, each in side.arrays.items()},
        test_rows=given.codes,
        height=len(given.distinct),
        row_axis=Axis(side.row_axis.whole, f"task.{side.side}.row_axis.labels", rows_of_whole),
        other_filters={n: side.filter_of(f, chosen) for n, f in side.other_filters.items()},
    )


def _tasks_of_units(unit: IntArray, units: IntArray) -> tuple[IntArray, IntArray]:
    """Return the tasks of some units, unit after unit, and the place of each one's unit."""
    order = np.argsort(unit, kind="stable")
    ordered = unit[order]
    starts = np.searchsorted(ordered, units, side="left")
    counts = np.searchsorted(ordered, units, side="right") - starts
    places = np.repeat(np.arange(len(units)), counts)
    return order[join_ranges(starts, counts)], places
