"""Selections on a device: the columns of each task's list, some entries at a time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..inputs.selection import selection_arrays

if TYPE_CHECKING:
    from .._core import Selection
    from ..inputs.arrays import IntArray
    from .source import ScoreSource, Tensor

MOST_ENTRIES = 1 << 18  # handled at once: each takes some 150 bytes meanwhile


class Entries(NamedTuple):
    """Entries of lists: the position of each one's task, and its column; int64 tensors."""

    tasks: Tensor
    columns: Tensor


class SelectedColumns:
    """The lists of a selection, each in ascending order, copied to a device.

    Parameters
    ----------
    selection : Selection
    source : ScoreSource
        On the device.
    """

    def __init__(self, selection: Selection, source: ScoreSource) -> None:
        indptr, indices, self._lists, self._shared = selection_arrays(selection)
        self._indices = indices
        self._starts, self._lengths = indptr[:-1], np.diff(indptr)
        self._source = source
        self.table = source.upload(indices)

    @property
    def shared(self) -> bool:
        """Whether all tasks have the same list, which then is the whole table."""
        return self._shared

    def columns_within(self, first: int, width: int) -> Tensor:
        """Return those columns of a shared list that are in a part, as numbered there."""
        start, stop = np.searchsorted(self._indices, [first, first + width])
        return self.table[int(start) : int(stop)].long() - first

    def _lists_of(self, tasks: IntArray) -> IntArray:
        if self._shared:
            return np.zeros(len(tasks), np.int64)
        return tasks if self._lists is None else self._lists[tasks]

    def entries(self, tasks: IntArray) -> Iterator[Entries]:
        """Yield the entries of some tasks, by their positions in `tasks`."""
        lists = self._lists_of(tasks)
        # a list may be longer than what is handled at once: then it comes in parts
        parts = -(-self._lengths[lists] // MOST_ENTRIES)
        part_tasks = np.repeat(np.arange(len(tasks)), parts)
        number = np.arange(len(part_tasks)) - np.repeat(np.cumsum(parts) - parts, parts)
        offsets = number * MOST_ENTRIES
        starts = self._starts[lists][part_tasks] + offsets
        lengths = np.minimum(self._lengths[lists][part_tasks] - offsets, MOST_ENTRIES)
        ends = np.append(0, np.cumsum(lengths))
        first = 0
        while first < len(lengths):
            last = int(np.searchsorted(ends, ends[first] + MOST_ENTRIES, side="right")) - 1
            some = slice(first, last)
            yield self._expanded(part_tasks[some], starts[some], lengths[some])
            first = last

    def _expanded(self, tasks: IntArray, starts: IntArray, lengths: IntArray) -> Entries:
        torch, source = sys.modules["torch"], self._source
        total = int(lengths.sum())
        part = torch.repeat_interleave(
            source.arange(0, len(lengths)), source.upload(lengths), output_size=total
        )
        before = np.cumsum(lengths) - lengths
        places = source.upload(starts - before)[part] + source.arange(0, total)
        return Entries(source.upload(tasks)[part], self.table[places].to(torch.int64))

    def holds(self, tasks: IntArray, entries: Entries) -> Tensor:
        """Whether the lists of some tasks have the entries of another selection of these tasks."""
        lists = self._lists_of(tasks)
        low = self._source.upload(self._starts[lists])[entries.tasks]
        end = low + self._source.upload(self._lengths[lists])[entries.tasks]
        if not len(self.table):
            return low < end
        high, last = end, len(self.table) - 1
        # Every step halves what may be the place of the first column that is not below the wanted.
        for _ in range(int(self._lengths[lists].max(initial=0)).bit_length()):
            middle = (low + high) // 2
            below = (self.table[middle.clamp(max=last)] < entries.columns) & (middle < high)
            low, high = low.where(~below, middle + 1), high.where(below, middle)
        return (low < end) & (self.table[low.clamp(max=last)] == entries.columns)
