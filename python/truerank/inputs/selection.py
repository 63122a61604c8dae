"""Selections of candidates: filters, which leave columns out, and candidates, which let them in.

A new form is one row of `_FORMS`: whether a value is of the form, and how it becomes lists that
follow each other. Whether the indices fit the columns is checked later, alike for all forms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from .._core import Selection
from .arrays import as_array, index_array
from .checks import check_shape, integer, is_integer
from .errors import InputTypeError, InputValueError
from .frames import is_frame, refuse_labels
from .naming import public

if TYPE_CHECKING:
    import numpy.typing as npt

    from .arrays import IntArray

# A mask is read in blocks of rows of about so many cells, so that no copy of it is made.
_MASK_CELLS = 1 << 22


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


def selection_arrays(selection: Selection) -> tuple[IntArray, Any, IntArray | None, bool]:
    """Return the fields of a selection, as `Selection` takes them."""
    return selection.indptr, selection.indices, selection.lists, selection.shared


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


class _Wanted(NamedTuple):
    """What a selection is for: the argument's name, and the shape that it has to fit."""

    name: str
    tasks: int
    columns: int

    @property
    def may_be_shared(self) -> bool:
        """Whether one list may stand for all tasks."""
        return self.name == "candidates"


def _is_column(value: object) -> bool:
    """Whether a value stands for one column, rather than for a list of them."""
    return isinstance(value, (int, np.integer, str))


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


def parsed_selection(name: str, value: Any, tasks: int, columns: int) -> Selection:
    """Read a filter or candidates in any form that `rank` takes.

    Parameters
    ----------
    name : {"filter", "candidates"}
        The argument; only candidates may be one list or one row of a mask for all tasks.
    value : object
        ``(indptr, indices)``, ``(indptr, indices, lists)``, a sparse matrix, a mask of shape
        (tasks, columns), a mapping from tasks to lists, or a sequence or column of lists or sets.
    tasks, columns : int
        The shape that the selection has to fit.

    Raises
    ------
    TypeError
        For an unknown form, or indices that are not integers.
    ValueError
        For shapes and lengths that do not fit, for keys that are no tasks, and for a tuple of two
        or three plain lists that may be read in two ways.

    Examples
    --------
    >>> mask = [[False, True, True], [False, False, False]]
    >>> for value in (np.array(mask), [{1, 2}, set()], {0: [1, 2]}):
    ...     found = parsed_selection("filter", value, 2, 3)
    ...     print(found.indptr, found.indices)
    [0 2 2] [1 2]
    [0 2 2] [1 2]
    [0 2 2] [1 2]
    """
    if is_frame(value):
        refuse_labels(name, value)
    wanted = _Wanted(name, tasks, columns)
    for is_of_form, parse in _FORMS:
        if is_of_form(value):
            return parse(wanted, value)
    return _parse_array(wanted, as_array(value, name))


def _parse_sparse(wanted: _Wanted, value: Any) -> Selection:
    shape = wanted.tasks, wanted.columns
    if value.shape != shape:
        raise InputValueError(
            wanted.name, expected=f"a sparse matrix of shape {shape}", got=value.shape
        )
    csr = value.tocsr()
    return _parse_csr(wanted, (csr.indptr, csr.indices))


def _parse_tuple(wanted: _Wanted, value: tuple[Any, ...]) -> Selection:
    if value and all(map(_is_column, value)) and wanted.may_be_shared:
        return _parse_shared(wanted, list(value))
    if len(value) not in (2, 3):
        expected = "(indptr, indices) or (indptr, indices, lists)"
        raise InputValueError(wanted.name, expected=expected, got=f"{len(value)} members")
    if all(isinstance(member, (list, tuple, range, AbstractSet)) for member in value):
        expected = "arrays for (indptr, indices), or a list of one list for each task"
        raise InputTypeError(wanted.name, expected=expected, got=f"a tuple of {len(value)} lists")
    return _parse_csr(wanted, value)


def _parse_csr(wanted: _Wanted, value: tuple[Any, ...]) -> Selection:
    name = wanted.name
    lists = index_array(f"{name}: lists", value[2]) if len(value) == 3 else None
    for member, array in zip(("indptr", "indices", "lists"), value, strict=False):
        check_shape(name, np.shape(array), 1, f"a 1-D {member}")
    indptr = index_array(f"{name}: indptr", value[0])
    return Selection(indptr, _parse_indices(f"{name}: indices", value[1]), lists, False)


def _parse_mapping(wanted: _Wanted, value: Mapping[Any, Any]) -> Selection:
    name, tasks = wanted.name, wanted.tasks
    for key in value:
        if not is_integer(key):
            got = f"the key {key!r} of type {type(key).__name__}"
            raise InputTypeError(name, expected="tasks as keys, which are integers", got=got)
        if not 0 <= key < tasks:
            expected = f"keys from 0 to {tasks - 1}, the tasks" if tasks else "no keys for no tasks"
            raise InputValueError(name, expected=expected, got=key)
    if wanted.may_be_shared and len(value) < tasks:
        missing = next(task for task in range(tasks) if task not in value)
        expected = f"a key for each of the {tasks} tasks"
        raise InputValueError(name, expected=expected, got=f"none for task {missing}")
    # no lookup by `[]`, which a defaultdict would answer with a new member
    return _parse_lists(wanted, [value.get(task, ()) for task in range(tasks)])


def _parse_sequence(wanted: _Wanted, value: Sequence[Any]) -> Selection:
    is_flat = all(map(_is_column, value))
    if wanted.may_be_shared and is_flat and (len(value) or wanted.tasks):
        return _parse_shared(wanted, value)
    return _parse_lists(wanted, value)


def _parse_set(wanted: _Wanted, value: AbstractSet[Any]) -> Selection:
    if not wanted.may_be_shared:
        expected = f"{wanted.tasks} sets, one for each task"
        raise InputValueError(wanted.name, expected=expected, got="one set")
    return _parse_shared(wanted, list(value))


def _parse_array(wanted: _Wanted, array: npt.NDArray[Any]) -> Selection:
    if array.dtype.kind == "b":
        return _parse_mask(wanted, array)
    if array.dtype.kind == "O" and array.ndim == 1:  # a column of lists
        return _parse_sequence(wanted, list(array))
    if array.ndim == 1 and wanted.may_be_shared:
        return _parse_shared(wanted, array)
    hint = ""
    if array.ndim == 2:  # padded lists and a mask of zeros and ones look the same
        hint = "; give csr_from_padded(x) for padded index lists, x.astype(bool) for a mask"
    got = f"an array of shape {array.shape}" if array.dtype.kind != "O" else "an object"
    raise InputTypeError(
        wanted.name,
        expected="(indptr, indices), a sparse matrix, a mask or index lists",
        got=f"{got}{hint}",
    )


def _parse_mask(wanted: _Wanted, mask: npt.NDArray[np.bool_]) -> Selection:
    name, shape = wanted.name, (wanted.tasks, wanted.columns)
    if wanted.may_be_shared and mask.shape == shape[1:]:
        return _parse_shared(wanted, np.flatnonzero(mask))
    if mask.shape != shape:
        either = f", or {shape[1:]} for all tasks" if wanted.may_be_shared else ""
        expected = f"a mask of shape (tasks, columns), here {shape}{either}"
        raise InputValueError(name, expected=expected, got=f"shape {mask.shape}")
    indptr = indptr_of(np.count_nonzero(mask, axis=1))
    is_small = wanted.columns <= np.iinfo(np.int32).max
    indices = np.empty(indptr[-1], dtype=np.int32 if is_small else np.int64)
    step = max(1, _MASK_CELLS // max(wanted.columns, 1))
    for top in range(0, wanted.tasks, step):
        bottom = min(top + step, wanted.tasks)
        indices[indptr[top] : indptr[bottom]] = mask[top:bottom].nonzero()[1]
    return Selection(indptr, indices, None, False)


def _parse_lists(wanted: _Wanted, value: Sequence[Any]) -> Selection:
    name = wanted.name
    if len(value) != wanted.tasks:
        raise InputValueError(
            name, expected=f"{wanted.tasks} index lists, one for each task", got=len(value)
        )
    lists = [_list_of_task(f"{name}: list {i}", item) for i, item in enumerate(value)]
    for i, item in enumerate(lists):
        if item.ndim != 1:
            got = f"an array of shape {item.shape}" if item.ndim else "an integer"
            raise InputValueError(name, expected=f"a list of indices for task {i}", got=got)
    indptr = indptr_of([len(item) for item in lists])
    indices = np.concatenate([np.zeros(0, dtype=np.int64), *lists])
    return Selection(indptr, indices, None, False)


def _parse_shared(wanted: _Wanted, value: object) -> Selection:
    indices = _parse_indices(wanted.name, value)
    return Selection(np.array([0, len(indices)], dtype=np.int64), indices, None, True)


def _list_of_task(name: str, value: Any) -> IntArray:
    items = list(value) if isinstance(value, AbstractSet) else value
    return index_array(name, items, copy=False)


def _parse_indices(name: str, value: object) -> npt.NDArray[Any]:
    """Return native, contiguous int32 or int64, without a copy if they are that already."""
    array = as_array(value, name)
    if array.dtype in (np.dtype(np.int32), np.dtype(np.int64)):
        return np.require(array, requirements=["C", "A"])
    return index_array(name, array if array.size else value)


# The first form that fits; anything else is read as an array: masks, and columns of lists.
_FORMS: tuple[tuple[Callable[[Any], bool], Callable[[_Wanted, Any], Selection]], ...] = (
    (lambda value: hasattr(value, "tocsr"), _parse_sparse),
    (lambda value: isinstance(value, tuple), _parse_tuple),
    (lambda value: isinstance(value, Mapping), _parse_mapping),
    (lambda value: isinstance(value, AbstractSet), _parse_set),
    (lambda value: isinstance(value, Sequence) and not isinstance(value, str), _parse_sequence),
)
