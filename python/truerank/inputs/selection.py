"""Selections of candidates: filters, which leave columns out, and candidates, which let them in.

The tasks of a count have both. Every form becomes lists that follow each other. Whether the indices
fit the columns is checked then, alike for all forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import Selection
from ..arrays.row_keys import are_among
from ..errors import InputTypeError, InputValueError
from .array_likes import (
    array_shape,
    as_array,
    by_position,
    check_range,
    check_shape,
    index_array,
    native_indices,
    refuse_mask,
    without_index,
)
from .checks import is_sparse

if TYPE_CHECKING:
    from typing import Self

    import numpy.typing as npt

    from ..arrays import IntArray

# A mask is read in blocks of rows of about so many cells, so that no copy of it is made.
_MASK_CELLS = 1 << 22
_FLAT = (int, np.integer, str)  # A list of columns has these, and no list of lists has.


@dataclass
class Tasks:
    """The tasks of a count, in a matrix that may be a part of a larger one.

    With true scores, in the form that the core takes, counts are partial. Without them the scores
    have all columns, and the counts are final.
    """

    rows: IntArray | None  # The row that each task reads; None: task i reads row i.
    targets: IntArray  # Columns as they are numbered in the larger matrix; -1: in none.
    filter: Selection | None = None  # Sorted, as `as_selection` gives them.
    candidates: Selection | None = None
    true_scores: npt.NDArray[Any] | None = None  # One for each task.
    first_column: int = 0  # The number of the matrix's first column in the larger one.

    @property
    def all_rows(self) -> IntArray:
        """The row of each task."""
        if self.rows is None:
            return np.arange(len(self.targets))
        return self.rows

    def part(self, tasks: slice | IntArray, rows: IntArray | None, left: int = 0) -> Self:
        """Return some of the tasks, which read these rows (None: task i reads row i).

        The matrix that they read begins at the column `left` of this one's.
        """
        true_scores = None if self.true_scores is None else self.true_scores[tasks]
        return replace(
            self,
            rows=rows,
            targets=np.ascontiguousarray(self.targets[tasks]),
            filter=selection_of_tasks(self.filter, tasks),
            candidates=selection_of_tasks(self.candidates, tasks),
            true_scores=true_scores,
            first_column=self.first_column + left,
        )


def selection_of_tasks(selection: Selection | None, tasks: slice | IntArray) -> Selection | None:
    """Return the selection of some of the tasks, without a copy if they are a slice."""
    if selection is None or selection.shared:
        return selection
    indptr = selection.indptr
    indices = selection.indices
    if selection.lists is not None:
        return Selection(indptr, indices, np.ascontiguousarray(selection.lists[tasks]))
    if not isinstance(tasks, slice):  # List i is that of task i.
        return Selection(indptr, indices, tasks)
    first, last, _ = tasks.indices(len(indptr) - 1)
    indptr = indptr[first : max(first, last) + 1]
    return Selection(indptr - indptr[0], indices[indptr[0] : indptr[-1]])


def list_numbers(selection: Selection, tasks: IntArray) -> IntArray:
    """Return the number of the list of each of some tasks."""
    if selection.shared:
        return np.zeros_like(tasks)
    if selection.lists is None:
        return tasks
    return selection.lists[tasks]


def selection_arrays(selection: Selection) -> tuple[IntArray, Any, IntArray | None, bool]:
    """Return the fields of a selection, as `Selection` takes them."""
    return selection.indptr, selection.indices, selection.lists, selection.shared


def as_selection(
    name: str, value: object, tasks: int, columns: int, threads: int
) -> Selection | None:
    """Check a filter or candidates in any form that `parsed_selection` takes; None stays.

    Of a Selection, which a task has made, only the columns are checked.
    """
    if value is None:
        return None
    if isinstance(value, Selection):
        selection = value
    else:
        selection = parsed_selection(name, value, tasks, columns)
        number_of_lists = 1 if selection.shared else tasks
        if selection.lists is not None:
            number_of_lists = len(selection.indptr) - 1
            each = f"{tasks} lists, one for each task"
            check_shape(f"{name}: lists", selection.lists.shape, (tasks,), each)
            check_range(f"{name}: lists", selection.lists, number_of_lists, "lists")
        check_indptr(name, selection.indptr, number_of_lists, len(selection.indices))
    outside, is_sorted = selection.check(columns, threads)  # the place of a wrong index, or -1
    if outside >= 0:
        number = int(np.searchsorted(selection.indptr, outside, side="right")) - 1
        got = f"{selection.indices[outside]}"
        if not selection.shared:
            got += f" in list {number}"
        raise InputValueError(name, expected=f"indices from 0 to {columns - 1}", got=got)
    if not is_sorted:
        return selection.sorted_copy(columns, threads)
    return selection


def check_indptr(
    name: str, indptr: IntArray, lists: int, entries: int, what: str = "indices"
) -> None:
    """Check the `indptr` of a number of lists that have a number of entries together."""
    check_shape(name, indptr.shape, (lists + 1,), f"an indptr of length {lists + 1} (tasks + 1)")
    if indptr[0] != 0 or indptr[-1] != entries or (np.diff(indptr) < 0).any():
        expected = f"an indptr that never falls, from 0 to {entries}, the number of {what}"
        got = f"{len(indptr)} numbers, the first {indptr[0]}, the last {indptr[-1]}"
        raise InputValueError(name, expected=expected, got=got)


def pair_indptr(
    name: str, pair: tuple[Any, ...], entries: int, lists: int = -1, what: str = "values"
) -> IntArray:
    """Check the `indptr` of a pair (indptr, values), of lists that follow each other.

    The pair, its values and how many lists there must be (-1: any number) are named for messages.

    >>> pair_indptr("ids", ([0, 2, 3], [7, 8, 9]), 3)
    array([0, 2, 3])
    """
    indptr = _read_indptr(name, pair[0])
    if lists < 0:
        lists = max(len(indptr) - 1, 0)
    check_indptr(name, indptr, lists, entries, what)
    return indptr


def _read_indptr(name: str, value: Any) -> IntArray:
    """Read an indptr; an empty one is that of no lists."""
    indptr = index_array(f"{name}: indptr", value)
    check_shape(f"{name}: indptr", indptr.shape, 1, "a 1-D array")
    return indptr if len(indptr) else lengths_to_indptr([])


def lengths_to_indptr(lengths: npt.ArrayLike) -> IntArray:
    """Return where each of some lists that follow each other begins, and where the last one ends.

    >>> lengths_to_indptr([2, 0, 3])
    array([0, 2, 2, 5])
    """
    counts = np.asarray(lengths, dtype=np.int64)
    indptr = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=indptr[1:])
    return indptr


def join_ranges(starts: IntArray, counts: IntArray) -> IntArray:
    """Concatenate a range [s, s + 1, ..., s + n - 1] for each start s and count n."""
    shifts = starts - np.cumsum(counts) + counts
    runs: IntArray = np.arange(int(counts.sum()), dtype=np.int64)
    runs += np.repeat(shifts, counts)
    return runs


def find_entries(indptr: IntArray, lists: IntArray) -> tuple[IntArray, IntArray]:
    """Return the lengths of some lists that follow each other, and the places of their entries."""
    starts = indptr[lists]
    lengths = indptr[lists + 1] - starts
    return lengths, join_ranges(starts, lengths)


def selection_keys(selection: Selection, size: int) -> IntArray:
    """Return a key for each entry, ascending: the number of its list times a size, plus its column.

    Examples
    --------
    >>> selection_keys(Selection(np.array([0, 1, 3]), np.array([5, 2, 5])), 10)
    array([ 5, 12, 15])
    """
    numbers = np.repeat(np.arange(len(selection.indptr) - 1), np.diff(selection.indptr))
    keys: IntArray = numbers * size + selection.indices
    if (keys[1:] < keys[:-1]).any():
        keys.sort()
    return keys


def is_in(selection: Selection, tasks: IntArray, ids: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return whether each id is in the list that a selection has for the task in its place."""
    size = 1 + max(int(ids.max(initial=0)), int(selection.indices.max(initial=0)))
    keys = list_numbers(selection, tasks) * size + ids
    return are_among(keys.ravel(), selection_keys(selection, size)).reshape(ids.shape)


def parsed_selection(name: str, value: Any, tasks: int, columns: int) -> Selection:
    """Read a filter or candidates in any form that `rank` takes.

    That is a tuple of arrays, ``(indptr, indices)`` or ``(indptr, indices, lists)``; a sparse
    matrix; a mask of shape (tasks, columns); a sequence or column of lists, arrays or sets. Only
    candidates may be one list or one row of a mask for all tasks.

    >>> parsed_selection("filter", [{1, 2}, set()], 2, 3).indptr
    array([0, 2, 2])
    """
    may_be_shared = name == "candidates"
    shape = tasks, columns
    value = by_position(name, value)
    refuse_mask(name, value)
    if is_sparse(value):
        check_shape(name, value.shape, shape, f"a sparse matrix of shape {shape}")
        csr = value.tocsr()
        value = csr.indptr, csr.indices
    if isinstance(value, tuple):
        return _parse_csr(name, value)
    if isinstance(value, AbstractSet) and may_be_shared:
        value = list(value)
    is_sequence = isinstance(value, Sequence) and not isinstance(value, str)
    is_one_list = is_sequence and may_be_shared and len(value) > 0 and isinstance(value[0], _FLAT)
    if is_sequence and not is_one_list:
        return _parse_lists(name, value, tasks, columns)
    array = as_array(value, name)
    if array.dtype.kind == "O" and array.ndim == 1:  # It is a column of lists.
        return _parse_lists(name, array, tasks, columns)
    if may_be_shared and array.dtype.kind == "b" and array.shape == (columns,):
        array = np.flatnonzero(array)
    if array.dtype.kind == "b":
        check_shape(name, array.shape, shape, f"a mask of shape (tasks, columns), here {shape}")
        return _parse_mask(name, array)
    if may_be_shared and array.ndim == 1 and array.dtype.kind != "f":
        indices = native_indices(name, array)
        refuse_mask_of_integers(name, indices, columns)
        return Selection(lengths_to_indptr([len(indices)]), indices, lists=None, shared=True)
    expected = "(indptr, indices), a sparse matrix, a mask of bool, or index lists without padding"
    got = f"{type(value).__name__} of dtype {array.dtype} and shape {array.shape}"
    raise InputTypeError(name, expected=expected, got=got)


def refuse_mask_of_integers(name: str, indices: npt.NDArray[Any], columns: int) -> None:
    """Refuse 0s and 1s for all columns, more than two: a mask that would be read as indices."""
    if 2 < len(indices) == columns and ((indices == 0) | (indices == 1)).all():
        expected = "indices, or a mask of bool"
        got = f"a mask of integers, 0 or 1 for each of {columns}"
        raise InputValueError(name, expected=expected, got=got)


def _parse_mask(name: str, mask: npt.NDArray[Any]) -> Selection:
    """Read a mask; a filter that leaves most candidates out is refused, as it may be inverted."""
    tasks, columns = mask.shape
    indptr = lengths_to_indptr(np.count_nonzero(mask, axis=1))
    leaves_most_out = 2 * int(indptr[-1]) > mask.size
    if name == "filter" and leaves_most_out:
        expected = "a mask that is True where a candidate is left out; lists may leave out most"
        got = f"True for {indptr[-1] / tasks:.4g} of {columns} candidates on average"
        raise InputValueError(name, expected=expected, got=got)
    indices = np.empty(indptr[-1], np.int32 if columns < 2**31 else np.int64)
    height = max(1, _MASK_CELLS // max(1, columns))
    for top in range(0, tasks, height):
        bounds = indptr[top : top + height + 1]
        indices[bounds[0] : bounds[-1]] = mask[top : top + height].nonzero()[1]
    return Selection(indptr, indices, None, False)


def _parse_csr(name: str, members: tuple[Any, ...]) -> Selection:
    """Read (indptr, indices) or (indptr, indices, lists); a tuple of lists could be either."""
    are_lists = all(isinstance(member, (list, tuple, range, AbstractSet)) for member in members)
    if are_lists or len(members) not in (2, 3):
        expected = "arrays as (indptr, indices) or (indptr, indices, lists), or a list of lists"
        raise InputTypeError(name, expected=expected, got=f"a tuple of {len(members)}")
    for part, member in zip(("indptr", "indices", "lists"), members, strict=False):
        expected = f"a 1-D {part}, as a tuple is (indptr, indices)"
        check_shape(name, array_shape(name, member), 1, expected)
    lists = index_array(f"{name}: lists", members[2]) if len(members) == 3 else None
    indices = native_indices(f"{name}: indices", members[1])
    return Selection(_read_indptr(name, members[0]), indices, lists, False)


def _parse_lists(name: str, value: Any, tasks: int, columns: int) -> Selection:
    if len(value) != tasks:
        expected = f"{tasks} index lists, one for each task"
        raise InputValueError(name, expected=expected, got=len(value))
    lists = [np.zeros(0, dtype=np.int64)]  # There must be one to concatenate.
    for i, item in enumerate(value):
        if isinstance(item, AbstractSet):
            item = list(item)
        part = f"{name}: list {i}"
        entries = index_array(part, without_index(item), copy=False)
        check_shape(name, entries.shape, 1, f"a list of indices for task {i}")
        refuse_mask_of_integers(part, entries, columns)
        lists.append(entries)
    indptr = lengths_to_indptr([len(entries) for entries in lists[1:]])
    return Selection(indptr, np.concatenate(lists), None, False)
