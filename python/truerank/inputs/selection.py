"""Selections of candidates: filters, which leave columns out, and candidates, which let them in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._core import Selection
from .arrays import index_array
from .checks import check_shape, integer
from .errors import InputValueError
from .naming import public
from .selection_forms import indptr_of, parsed_selection

if TYPE_CHECKING:
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
    name: str,
    value: object,
    tasks: int,
    columns: int,
    threads: int,
) -> Selection | None:
    """Check a filter or candidates in any of the accepted forms.

    Parameters
    ----------
    name : {"filter", "candidates"}
        The argument; only candidates may be one list shared by all tasks.
    value : object
        None, or any form that `parsed_selection` takes.
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
    selection = parsed_selection(name, value, tasks, columns)
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


@public("truerank.inputs.selection")
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
