"""The parts of a matrix in chunks: which chunk holds a pair, and which entry of a selection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core import Selection
from ..arrays.row_keys import codes_of
from ..inputs.selection import indptr_of, selection_arrays

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray


class Entries(NamedTuple):
    """The entries of a selection in one chunk: the list and the column of each.

    Examples
    --------
    >>> Entries(np.array([0, 0, 2], np.int32), np.array([5, 7, 6]), np.arange(3)).all().indptr
    array([0, 2, 2, 3])
    """

    owners: npt.NDArray[np.int32]
    columns: npt.NDArray[Any]  # They are int32 or int64, and numbered in the whole matrix.
    list_of_tasks: IntArray

    def all(self) -> Selection:
        """Return them as the core takes them."""
        indptr = indptr_of(np.bincount(self.owners, minlength=self.list_of_tasks.max() + 1))
        return Selection(indptr, self.columns, self.list_of_tasks, False)


def cut_selection(selection: Selection | None, tasks: int, lefts: IntArray) -> dict[int, Entries]:
    """Cut the lists of tasks where chunks of columns begin: each entry is in one chunk."""
    if selection is None:
        return {}
    indptr, indices, lists, shared = selection_arrays(selection)
    if shared:
        lists = np.zeros(tasks, np.int64)
    elif lists is None:
        lists = np.arange(tasks)
    used, list_of_tasks = codes_of(lists)
    sizes = np.diff(indptr)[used]
    owners = np.repeat(np.arange(len(used), dtype=np.int32), sizes)
    firsts = (indptr[used] - indptr_of(sizes)[:-1])[owners]
    columns = indices[firsts + np.arange(len(firsts))]
    if lefts[-1] < 2**31:
        columns = columns.astype(np.int32, copy=False)
    else:
        columns = columns.astype(np.int64, copy=False)
    entries = {}
    for j, positions in group_by_chunk(columns, lefts):
        entries[j] = Entries(owners[positions], columns[positions], list_of_tasks)
    return entries


def group_by_chunk(numbers: IntArray, starts: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Yield each chunk that holds some rows or columns, with their positions in order."""
    # A chunk of length 0 begins where the next one does, and is skipped.
    chunks = np.searchsorted(starts, numbers, side="right") - 1
    order = np.argsort(chunks, kind="stable")
    for positions in np.split(order, np.flatnonzero(np.diff(chunks[order])) + 1):
        if len(positions):
            yield int(chunks[positions[0]]), positions
