"""The columns of a block, among all columns; and sets of columns that were counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from .._core import Selection
from ..inputs.arrays import index_array
from ..inputs.checks import check_shape, integer
from ..inputs.errors import InputValueError
from ..inputs.selection import selection_arrays

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray
    from .job import Job

NO_COLUMN = -1  # stands for the target's column if the candidates have no columns


class BlockColumns(NamedTuple):
    """The columns of a block of candidates, and the tasks with columns numbered as in the block."""

    columns: ColumnSet
    first: int
    targets: IntArray
    filter: Selection | None
    ids: IntArray | None

    def whole_column(self, block_column: int) -> int:
        """Return the number of a block's column among all columns."""
        return self.first + block_column if self.ids is None else int(self.ids[block_column])


def locate_block(
    job: Job, total: int | None, width: int, start: int | None, columns: Any
) -> BlockColumns:
    """Find the columns of a block of a given width; `total` is None if columns have no numbers."""
    if total is None:
        if start is not None or columns is not None:
            name = "columns" if start is None else "start"
            raise InputValueError(name, expected="none without targets")
        return BlockColumns(column_range(0, 0), 0, job.targets, None, None)
    if start is not None and columns is not None:
        raise InputValueError("columns", expected="none beside start")
    if columns is not None:
        ids = index_array("columns", columns)
        check_shape("columns", ids.shape, (width,), f"{width}, one for each column of the block")
        if width == 0 or (np.diff(ids) != 1).any():
            return _number_columns(job, total, ids)
        start = int(ids[0])
    elif start is None:
        if width != total:
            raise InputValueError(
                "start", expected=f"a column, or columns, for a block of {width} of {total} columns"
            )
        start = 0
    start = integer("start", start, expected="an integer, the column of the block's first one")
    if start < 0 or start + width > total:
        name = "columns" if columns is not None else "start"
        raise InputValueError(
            name, expected=f"columns from 0 to {total - 1}", got=f"{start} to {start + width - 1}"
        )
    return BlockColumns(column_range(start, start + width), start, job.targets, job.filter, None)


def _number_columns(job: Job, total: int, ids: IntArray) -> BlockColumns:
    """Number the columns of a block by their positions in it, also in targets and filter."""
    position = _core.first_outside(ids, total)
    if position >= 0:
        got = f"{ids[position]} at position {position}"
        raise InputValueError("columns", expected=f"columns from 0 to {total - 1}", got=got)
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    repeats = np.flatnonzero(ordered[1:] == ordered[:-1])
    if repeats.size:
        raise InputValueError("columns", f"column {ordered[repeats[0]]} is given twice")
    targets = np.full(len(job.targets), NO_COLUMN, np.int64)
    if ordered.size:
        found = np.minimum(np.searchsorted(ordered, job.targets), len(ordered) - 1)
        in_block = ordered[found] == job.targets
        targets[in_block] = order[found[in_block]]
    selection = job.filter
    if selection is not None:
        selection = selection_at_columns(selection, ordered, order, total, job.threads)
    return BlockColumns(columns_of(ordered), 0, targets, selection, ids)


class ColumnSet(NamedTuple):
    """A set of columns: disjoint runs in order, from `starts` up to, not including, `stops`.

    Runs that touch are merged, so that equal sets are equal arrays, and adjacent blocks need no
    memory, however many there are.

    Examples
    --------
    >>> seen = column_range(0, 4) | column_range(6, 8)
    >>> seen.starts, seen.stops, seen.size
    (array([0, 6]), array([4, 8]), 6)
    >>> seen.first_common(column_range(2, 5)), seen.missing(10)
    (2, ColumnSet(starts=array([4, 8]), stops=array([ 6, 10])))
    """

    starts: IntArray
    stops: IntArray

    @property
    def size(self) -> int:
        """The number of columns in the set."""
        return int((self.stops - self.starts).sum())

    def holds(self, columns: IntArray) -> npt.NDArray[np.bool_]:
        """Whether each of some columns is in the set.

        Examples
        --------
        >>> column_range(3, 5).holds(np.array([2, 3, 4, 5]))
        array([False,  True,  True, False])
        """
        before = np.searchsorted(self.starts, columns, side="right") - 1
        return np.append(self.stops, -1)[before] > columns

    def __or__(self, other: ColumnSet) -> ColumnSet:
        """Unite two sets that have no column in common."""
        if not self.starts.size:
            return other
        if len(other.starts) == 1 and self.stops[-1] == other.starts[0]:  # the usual next block
            return ColumnSet(self.starts, np.append(self.stops[:-1], other.stops))
        order = np.argsort(starts := np.concatenate([self.starts, other.starts]), kind="stable")
        stops = np.concatenate([self.stops, other.stops])[order]
        return _merge_runs(starts[order], stops)

    def __sub__(self, other: ColumnSet) -> ColumnSet:
        """Leave out the columns of another set, which must be a subset of this one."""
        if not other.starts.size:
            return self
        starts = np.sort(np.concatenate([self.starts, other.stops]))
        stops = np.sort(np.concatenate([self.stops, other.starts]))
        return _merge_runs(starts, stops)

    def first_common(self, other: ColumnSet) -> int:
        """Return the first column that both have, or -1."""
        if not self.starts.size or not other.starts.size:
            return -1
        if self.stops[-1] <= other.starts[0]:  # the usual next block
            return -1
        # for each run of the other set: the last run of this one that starts no later, and the next
        before = np.searchsorted(self.starts, other.starts, side="right") - 1
        inside = (before >= 0) & (self.stops[before] > other.starts)
        after = np.minimum(before + 1, len(self.starts) - 1)
        next_start = self.starts[after]
        reached = (before + 1 < len(self.starts)) & (next_start < other.stops)
        common = np.where(inside, other.starts, np.where(reached, next_start, np.iinfo(int).max))
        first = int(common.min())
        return -1 if first == np.iinfo(int).max else first

    def missing(self, columns: int) -> ColumnSet:
        """Return the columns from 0 to `columns` - 1 that are not in the set."""
        return column_range(0, columns) - self


def column_range(start: int, stop: int) -> ColumnSet:
    """Return the columns from `start` to `stop` - 1."""
    if stop <= start:
        return ColumnSet(np.zeros(0, np.int64), np.zeros(0, np.int64))
    return ColumnSet(np.array([start], np.int64), np.array([stop], np.int64))


def columns_of(ordered: IntArray) -> ColumnSet:
    """Return the set of columns that are given in ascending order, without repeats.

    Examples
    --------
    >>> columns_of(np.array([2, 3, 4, 9]))
    ColumnSet(starts=array([2, 9]), stops=array([ 5, 10]))
    """
    breaks = np.flatnonzero(np.diff(ordered) != 1)
    first = np.concatenate([np.zeros(1, np.int64), breaks + 1])[: ordered.size]
    last = np.append(breaks, ordered.size - 1)[: ordered.size]
    return ColumnSet(ordered[first], ordered[last] + 1)


def _merge_runs(starts: IntArray, stops: IntArray) -> ColumnSet:
    """Merge runs that touch, and drop empty ones."""
    nonempty = starts < stops
    starts, stops = starts[nonempty], stops[nonempty]
    if not starts.size:
        return ColumnSet(starts, stops)
    apart = starts[1:] != stops[:-1]
    return ColumnSet(starts[np.append(True, apart)], stops[np.append(apart, True)])


def selection_at_columns(
    selection: Selection, ordered: IntArray, order: IntArray, columns: int, threads: int
) -> Selection:
    """Restrict the lists to some columns, and renumber the columns by their positions.

    Parameters
    ----------
    selection : Selection
    ordered : ndarray of int64, shape (n,)
        The columns, in ascending order and distinct.
    order : ndarray of int64, shape (n,)
        The position of each of them.
    columns : int
        The number of columns in all.
    threads : int
        The most threads that the core may use; 0 for the default.
    """
    indptr, indices, lists, shared = selection_arrays(selection)
    if columns <= 8 * len(indices):  # a table is quicker than a search, and no larger
        is_selected = np.zeros(columns, dtype=bool)
        is_selected[ordered] = True
        hits = np.flatnonzero(is_selected[indices])
    else:
        hits = np.flatnonzero(np.isin(indices, ordered))
    indptr = np.searchsorted(hits, indptr).astype(np.int64)
    indices = order[np.searchsorted(ordered, indices[hits])]
    return Selection(indptr, indices, lists, shared).sorted_copy(len(ordered), threads)
