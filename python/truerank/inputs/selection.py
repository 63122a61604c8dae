"""Selections of candidates: filters, which leave columns out, and candidates, which let them in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._core import Selection
from .arrays import as_array, index_array
from .checks import check_shape, integer
from .errors import InputTypeError, InputValueError
from .naming import public

if TYPE_CHECKING:
    import numpy.typing as npt

    from .arrays import IntArray


def selection_of_tasks(selection: Selection, where: slice | IntArray) -> Selection:
    """Return the selection of some of the tasks, without a copy if they are a slice."""
    indptr, indices, lists, shared = selection_arrays(selection)
    if shared:
        return selection
    if lists is not None:
        return Selection(indptr, indices, np.ascontiguousarray(lists[where]))
    if not isinstance(where, slice):
        return Selection(indptr, indices, where)
    first, last, _ = where.indices(len(indptr) - 1)
    indptr = indptr[first : max(first, last) + 1]
    return Selection(indptr - indptr[0], indices[indptr[0] : indptr[-1]])


def copy_selection(selection: Selection) -> Selection:
    """Return the selection with a copy of its indices, so that it shares no array with the user."""
    indptr, indices, lists, shared = selection_arrays(selection)
    return Selection(indptr, indices.copy(), lists, shared)


def selection_arrays(selection: Selection) -> tuple[IntArray, Any, IntArray | None, bool]:
    """Return the fields of a selection, as `Selection` takes them."""
    return selection.indptr, selection.indices, selection.lists, selection.shared


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


def as_selection(
    name: str, value: object, tasks: int, columns: int, threads: int
) -> Selection | None:
    """Check a filter or candidates in any of the accepted forms.

    Parameters
    ----------
    name : {"filter", "candidates"}
        The argument; only candidates may be one list shared by all tasks.
    value : None, (indptr, indices), (indptr, indices, lists), sparse matrix, or index lists
        As in `rank`.
    tasks, columns : int
        The number of lists, and the bound of their indices.
    threads : int
        The most threads that the core may use; 0 for the default.

    Returns
    -------
    Selection or None

    Raises
    ------
    TypeError
        For an unknown form, or indices that are not integers.
    ValueError
        For lengths that do not fit, and indices out of range.
    """
    if value is None:
        return None
    selection = _parse(name, value, tasks, columns)
    lists = 1 if selection.shared else tasks
    if selection.lists is not None:
        lists = len(selection.indptr) - 1
        if len(selection.lists) != tasks:
            expected = f"lists of length {tasks}, one for each task"
            raise InputValueError(name, expected=expected, got=len(selection.lists))
        position = _core.first_outside(selection.lists, lists)
        if position >= 0:
            got = f"{selection.lists[position]} for task {position}"
            raise InputValueError(name, expected=f"lists from 0 to {lists - 1}", got=got)
    check_indptr(name, selection.indptr, lists, len(selection.indices))
    position, is_sorted = selection.check(columns, threads)
    if position >= 0:
        list_number = int(np.searchsorted(selection.indptr, position, side="right")) - 1
        got = selection.indices[position]
        where = "" if selection.shared else f" in list {list_number}"
        raise InputValueError(
            name, expected=f"indices from 0 to {columns - 1}", got=f"{got}{where}"
        )
    return selection if is_sorted else selection.sorted_copy(columns, threads)


def indptr_of(lengths: npt.ArrayLike) -> IntArray:
    """Return where each of some lists that follow each other begins, and where the last one ends.

    Examples
    --------
    >>> indptr_of([2, 0, 3])
    array([0, 2, 2, 5])
    """
    counts = np.asarray(lengths, dtype=np.int64)
    indptr = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=indptr[1:])
    return indptr


def check_indptr(
    name: str, indptr: IntArray, lists: int, entries: int, what: str = "indices"
) -> None:
    """Check the `indptr` of a number of lists that have a number of entries together."""
    if indptr.shape != (lists + 1,) or lists < 0:
        got = len(indptr) if indptr.ndim == 1 else f"shape {indptr.shape}"
        expected = f"an indptr of length {lists + 1} (tasks + 1)"
        raise InputValueError(name, expected=expected, got=got)
    if indptr[0] != 0 or indptr[-1] != entries:
        expected = f"an indptr from 0 to {entries}, the number of {what}"
        raise InputValueError(name, expected=expected, got=f"{indptr[0]} to {indptr[-1]}")
    is_falling = np.diff(indptr) < 0
    if is_falling.any():
        got = f"one that falls after position {int(is_falling.argmax())}"
        raise InputValueError(name, expected="an indptr that never falls", got=got)


@public("truerank")
def csr_from_padded(x: object, pad: int = -1) -> tuple[IntArray, IntArray]:
    """Turn padded index lists into the (indptr, indices) pair that `rank` takes.

    Parameters
    ----------
    x : array_like of int, shape (tasks, width)
        One list of columns per row; entries equal to `pad` are left out.
    pad : int, default -1
        The value that fills short rows. It may stand anywhere in a row.

    Returns
    -------
    indptr : ndarray of int64, shape (tasks + 1,)
    indices : ndarray of int64, shape (entries,)
        The entries of row i are ``indices[indptr[i]:indptr[i + 1]]``, in their order.

    Raises
    ------
    TypeError
        If `x` or `pad` are not integers.
    ValueError
        If `x` is not two-dimensional.

    Examples
    --------
    >>> indptr, indices = csr_from_padded([[4, 2, -1], [-1, -1, -1], [7, -1, -1]])
    >>> indptr
    array([0, 2, 2, 3])
    >>> indices
    array([4, 2, 7])
    """
    array = index_array("x", x)
    keep = array != integer("pad", pad)
    check_shape("x", array.shape, 2, "a matrix (tasks, width)")
    indptr = indptr_of(keep.sum(axis=1))
    return indptr, array[keep]


def _parse(name: str, value: Any, tasks: int, columns: int) -> Selection:
    if hasattr(value, "tocsr"):
        if value.shape != (tasks, columns):
            raise InputValueError(
                name, expected=f"a sparse matrix of shape {(tasks, columns)}", got=value.shape
            )
        csr = value.tocsr()
        value = csr.indptr, csr.indices
    if isinstance(value, tuple):
        if len(value) not in (2, 3):
            expected = "(indptr, indices) or (indptr, indices, lists)"
            raise InputValueError(name, expected=expected, got=f"{len(value)} members")
        lists = index_array(f"{name}: lists", value[2]) if len(value) == 3 else None
        for member, array in zip(("indptr", "indices", "lists"), value, strict=False):
            check_shape(name, np.shape(array), 1, f"a 1-D {member}")
        indptr = index_array(f"{name}: indptr", value[0])
        return Selection(indptr, _parse_indices(f"{name}: indices", value[1]), lists, False)
    if isinstance(value, np.ndarray) or not isinstance(value, Sequence) or isinstance(value, str):
        return _parse_array(name, as_array(value, name))
    if name == "candidates" and _is_flat(value) and (value or tasks):
        return _parse_shared(name, value)
    return _parse_lists(name, value, tasks)


def _parse_array(name: str, array: npt.NDArray[Any]) -> Selection:
    if array.ndim == 1 and name == "candidates":
        return _parse_shared(name, array)
    hint = ""
    if array.ndim == 2:  # padded lists and a mask of zeros and ones look the same
        hint = (
            "; give csr_from_padded(x) for padded index lists, scipy.sparse.csr_array(x) for a mask"
        )
    got = f"an array of shape {array.shape}" if array.dtype.kind != "O" else "an object"
    raise InputTypeError(
        name, expected="(indptr, indices), a sparse matrix or index lists", got=f"{got}{hint}"
    )


def _parse_lists(name: str, value: Sequence[Any], tasks: int) -> Selection:
    if len(value) != tasks:
        raise InputValueError(
            name, expected=f"{tasks} index lists, one for each task", got=len(value)
        )
    lists = [index_array(f"{name}: list {i}", item, copy=False) for i, item in enumerate(value)]
    for i, item in enumerate(lists):
        if item.ndim != 1:
            got = f"an array of shape {item.shape}" if item.ndim else "an integer"
            raise InputValueError(name, expected=f"a list of indices for task {i}", got=got)
    indptr = indptr_of([len(item) for item in lists])
    indices = np.concatenate([np.zeros(0, dtype=np.int64), *lists])
    return Selection(indptr, indices, None, False)


def _parse_shared(name: str, value: object) -> Selection:
    indices = _parse_indices(name, value)
    return Selection(np.array([0, len(indices)], dtype=np.int64), indices, None, True)


def _is_flat(value: Sequence[Any]) -> bool:
    return all(isinstance(item, (int, np.integer)) for item in value)


def _parse_indices(name: str, value: object) -> npt.NDArray[Any]:
    """Return native, contiguous int32 or int64, without a copy if they are that already."""
    array = as_array(value, name)
    if array.dtype in (np.dtype(np.int32), np.dtype(np.int64)):
        return np.require(array, requirements=["C", "A"])
    return index_array(name, array if array.size else value)
