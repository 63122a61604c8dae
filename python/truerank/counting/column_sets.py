"""Sets of columns, as the runs that they form: which candidates a counter has seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray


class Columns(NamedTuple):
    """A set of columns: disjoint runs from `starts` up to, not including, `stops`, in order.

    Runs that touch are one, so that equal sets are equal arrays, and blocks that arrive one beside
    the other take no memory however many they are.

    Examples
    --------
    >>> seen = stretch(0, 4) | stretch(6, 8)
    >>> seen.starts, seen.stops, seen.size
    (array([0, 6]), array([4, 8]), 6)
    >>> seen.first_common(stretch(2, 5)), seen.missing(10)
    (2, Columns(starts=array([4, 8]), stops=array([ 6, 10])))
    """

    starts: IntArray
    stops: IntArray

    @property
    def size(self) -> int:
        """How many columns there are."""
        return int((self.stops - self.starts).sum())

    def __or__(self, other: Columns) -> Columns:
        """All columns of two sets that have none in common."""
        order = np.argsort(starts := np.concatenate([self.starts, other.starts]), kind="stable")
        stops = np.concatenate([self.stops, other.stops])[order]
        return _joined(starts[order], stops)

    def __sub__(self, other: Columns) -> Columns:
        """Leave out the columns of another set, all of which are in this one."""
        if not other.starts.size:
            return self
        starts = np.sort(np.concatenate([self.starts, other.stops]))
        stops = np.sort(np.concatenate([self.stops, other.starts]))
        return _joined(starts, stops)

    def first_common(self, other: Columns) -> int:
        """Give the first column that both have, or -1."""
        if not self.starts.size or not other.starts.size:
            return -1
        # the last run of this set that starts at or before each run of the other, and the next
        before = np.searchsorted(self.starts, other.starts, side="right") - 1
        inside = (before >= 0) & (self.stops[before] > other.starts)
        after = np.minimum(before + 1, len(self.starts) - 1)
        next_start = self.starts[after]
        reached = (before + 1 < len(self.starts)) & (next_start < other.stops)
        common = np.where(inside, other.starts, np.where(reached, next_start, np.iinfo(int).max))
        first = int(common.min())
        return -1 if first == np.iinfo(int).max else first

    def missing(self, columns: int) -> Columns:
        """Give the columns from 0 to `columns` - 1 that are not in the set."""
        return stretch(0, columns) - self


def stretch(start: int, stop: int) -> Columns:
    """Give the columns from `start` to `stop` - 1."""
    if stop <= start:
        return Columns(np.zeros(0, np.int64), np.zeros(0, np.int64))
    return Columns(np.array([start], np.int64), np.array([stop], np.int64))


def columns_of(ordered: IntArray) -> Columns:
    """Give the set of some columns, which are in ascending order and distinct.

    Examples
    --------
    >>> columns_of(np.array([2, 3, 4, 9]))
    Columns(starts=array([2, 9]), stops=array([ 5, 10]))
    """
    breaks = np.flatnonzero(np.diff(ordered) != 1)
    first = np.concatenate([np.zeros(1, np.int64), breaks + 1])[: ordered.size]
    last = np.append(breaks, ordered.size - 1)[: ordered.size]
    return Columns(ordered[first], ordered[last] + 1)


def _joined(starts: IntArray, stops: IntArray) -> Columns:
    """Make one run of runs that touch, and none of empty ones."""
    kept = starts < stops
    starts, stops = starts[kept], stops[kept]
    if not starts.size:
        return Columns(starts, stops)
    apart = starts[1:] != stops[:-1]
    return Columns(starts[np.append(True, apart)], stops[np.append(apart, True)])
