"""Lists of columns that tasks share: the filter of each task, or its candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays.row_keys import codes_of
from ..inputs.selection import indptr_of, join_ranges

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray


class ListEntries(NamedTuple):
    """The entries of some lists, one list after another.

    Attributes
    ----------
    list_numbers : ndarray of int64, shape (n,)
        Of which list each entry is.
    columns : ndarray of int64, shape (n,)
    """

    list_numbers: IntArray
    columns: IntArray

    def keys(self, numbers: IntArray, size: int) -> IntArray:
        """Return a key for each entry: a number that its list has, times a size, plus its column.

        Examples
        --------
        >>> ListEntries(np.array([0, 0, 1]), np.array([2, 7, 2])).keys(np.array([4, 3]), 10)
        array([42, 47, 32])
        """
        keys: IntArray = numbers[self.list_numbers] * size + self.columns
        return keys

    def chosen(self, mask: npt.NDArray[np.bool_]) -> ListEntries:
        """Return some of the entries."""
        return ListEntries(self.list_numbers[mask], self.columns[mask])


class TaskLists(NamedTuple):
    """Lists of columns, and the list of each task, as `rank` takes a selection.

    Attributes
    ----------
    indptr, indices : ndarray of int
        List i is ``indices[indptr[i] : indptr[i + 1]]``.
    lists : ndarray of int64, shape (tasks,)
        The list of each task.
    """

    indptr: IntArray
    indices: IntArray
    lists: IntArray

    @classmethod
    def of(cls, selection: Any, tasks: int) -> TaskLists:
        """Return a selection as lists, also if it is one list for all tasks, or none.

        Examples
        --------
        >>> TaskLists.of(np.array([2, 5]), 3)
        TaskLists(indptr=array([0, 2]), indices=array([2, 5]), lists=array([0, 0, 0]))
        """
        if isinstance(selection, tuple):
            return cls(*selection)
        indices = np.zeros(0, dtype=np.int64) if selection is None else selection
        return cls(np.array([0, len(indices)]), indices, np.zeros(tasks, dtype=np.int64))

    def keys(self, size: int) -> IntArray:
        """Return a key for each entry: the number of its list, times a size, plus its column.

        The keys are ascending, in the order of the lists.

        Examples
        --------
        >>> TaskLists(np.array([0, 1, 3]), np.array([5, 2, 5]), np.array([0, 1])).keys(10)
        array([ 5, 12, 15])
        """
        list_numbers = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        keys = list_numbers * size + self.indices
        if (keys[1:] < keys[:-1]).any():
            keys.sort()
        return keys

    def entries(self, chosen: IntArray) -> ListEntries:
        """Return the entries of chosen lists, which are numbered in the order of the choice.

        Examples
        --------
        >>> lists = TaskLists(np.array([0, 1, 3]), np.array([5, 2, 7]), np.array([0, 1]))
        >>> lists.entries(np.array([1, 1]))
        ListEntries(list_numbers=array([0, 0, 1, 1]), columns=array([2, 7, 2, 7]))
        """
        lengths = np.diff(self.indptr)[chosen]
        columns = self.indices[join_ranges(self.indptr[chosen], lengths)].astype(np.int64)
        return ListEntries(np.repeat(np.arange(len(chosen)), lengths), columns)

    def of_tasks(self, tasks: IntArray) -> TaskLists:
        """Return the lists of some tasks alone.

        Without this, every batch of tasks would search the lists of all other tasks too.

        Examples
        --------
        >>> lists = TaskLists(np.array([0, 1, 3]), np.array([5, 2, 7]), np.array([0, 1, 1]))
        >>> lists.of_tasks(np.array([2, 1]))
        TaskLists(indptr=array([0, 2]), indices=array([2, 7]), lists=array([0, 0]))
        """
        used, lists = codes_of(self.lists[tasks])
        lengths = np.diff(self.indptr)[used]
        indices = self.indices[join_ranges(self.indptr[used], lengths)]
        return TaskLists(indptr_of(lengths), indices, lists)
