"""Lists of candidates by their ids, with scores or in order alone: checked, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core import Scores
from .arrays import as_array, index_array
from .checks import check_shape
from .errors import InputValueError
from .scores import as_scores
from .selection import check_indptr, indptr_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from .arrays import IntArray

PAD = -1
_RAGGED = "(values, indptr)"
_FORMS = f"a matrix (lists, width) padded with {PAD}, {_RAGGED}, or a list of lists"


class CandidateLists(NamedTuple):
    """Lists of ids: list i has ``ids[indptr[i]:indptr[i + 1]]``, and the scores of these positions.

    Ids are int32 or int64, contiguous; whether they are within range and distinct is not checked
    here. Scores are one-dimensional and contiguous; None: the order of the ids says all.
    """

    indptr: IntArray
    ids: npt.NDArray[Any]
    scores: Scores | None

    def place(self, position: int) -> tuple[int, int]:
        """Return the list that has a position of the ids, and the position within that list."""
        found = int(np.searchsorted(self.indptr, position, side="right")) - 1
        return found, position - int(self.indptr[found])


def as_lists(ids: Any, scores: Any, dtype: Any = None) -> CandidateLists:
    """Check the shapes of lists of ids and of their scores, in any of the accepted forms.

    Parameters
    ----------
    ids : array_like of int, shape (lists, width), (values, indptr), or list of lists
        A matrix has pads, -1, only at the end of a row.
    scores : array_like, (values, indptr), list of lists, or None
        Of the same form and shape; what is at a pad is ignored.
    dtype : str or dtype, optional
        What raw 16-bit scores are.

    Raises
    ------
    TypeError
        For ids that are not integers, and for scores of a dtype that `rank` does not take.
    ValueError
        For another form, for a pad that is not at the end, and for unlike shapes.

    Examples
    --------
    >>> lists = as_lists([[3, 1], [2]], None)
    >>> lists.indptr, lists.ids
    (array([0, 2, 3]), array([3, 1, 2]))
    """
    if isinstance(ids, tuple):
        values, indptr = _ragged("ids", ids)
        return CandidateLists(
            indptr, _native(values, ids[0]), _ragged_scores(scores, indptr, dtype)
        )
    if _is_list_of_lists(ids):
        joined, indptr = _joined("ids", ids)
        values = _flat("ids", joined)
        return CandidateLists(indptr, _native(values, []), _listed_scores(scores, indptr, dtype))
    array = as_array(ids, "ids")
    check_shape("ids", array.shape, 2, _FORMS)
    return _padded(_native(array, ids), scores, dtype)


def _padded(ids: npt.NDArray[Any], scores: Any, dtype: Any) -> CandidateLists:
    height, width = ids.shape
    found = None if scores is None else as_scores(scores, dtype)
    if found is not None:
        expected = f"the shape of ids, {ids.shape}"
        check_shape("scores", found.array.shape, ids.shape, expected)
    values = None if found is None else found.array
    lengths = np.full(height, width, np.int64)
    # where pads are only at the end, there are none at all if the last column has none
    if width and (ids[:, -1] == PAD).any():
        is_id = ids != PAD
        wrong = is_id[:, 1:] & ~is_id[:, :-1]
        if wrong.any():
            row, column = divmod(int(wrong.argmax()), width - 1)
            problem = f"{ids[row, column + 1]} after a pad in list {row}, at position {column + 1}"
            raise InputValueError("ids", expected=f"pads ({PAD}) only at the end", got=problem)
        lengths = is_id.sum(axis=1, dtype=np.int64)
        ids = ids[is_id]
        values = None if values is None else values[is_id]
    indptr = indptr_of(lengths)
    return CandidateLists(indptr, ids.reshape(-1), _flat_scores(found, values))


def _ragged(name: str, value: tuple[Any, ...]) -> tuple[npt.NDArray[Any], IntArray]:
    if len(value) != 2:
        raise InputValueError(name, expected=_RAGGED, got=f"{len(value)} members")
    values = as_array(value[0], name)
    check_shape(name, values.shape, 1, "1-D values")
    indptr = index_array(f"{name}: indptr", value[1])
    check_shape(f"{name}: indptr", indptr.shape, 1, "a 1-D array")
    check_indptr(name, indptr, len(indptr) - 1, len(values), "values")
    return values, indptr


def _ragged_scores(scores: Any, indptr: IntArray, dtype: Any) -> Scores | None:
    if scores is None:
        return None
    if not isinstance(scores, tuple) or len(scores) != 2:
        got = f"{len(scores)} members" if isinstance(scores, tuple) else type(scores).__name__
        raise InputValueError("scores", expected=f"{_RAGGED}, as ids are", got=got)
    found = as_scores(scores[0], dtype)
    expected = f"{indptr[-1]} values, one for each id"
    check_shape("scores", found.array.shape, (int(indptr[-1]),), expected)
    own = index_array("scores: indptr", scores[1])
    if not np.array_equal(own, indptr):
        raise InputValueError("scores: indptr", expected="that of ids", got="another")
    return _flat_scores(found, found.array)


def _listed_scores(scores: Any, indptr: IntArray, dtype: Any) -> Scores | None:
    if scores is None:
        return None
    if not _is_list_of_lists(scores):
        got = type(scores).__name__
        raise InputValueError("scores", expected="a list of lists, as ids are", got=got)
    joined, own = _joined("scores", scores)
    if len(own) != len(indptr):
        expected = f"{len(indptr) - 1} lists, as ids have"
        raise InputValueError("scores", expected=expected, got=len(own) - 1)
    unlike = np.diff(own) != np.diff(indptr)
    if unlike.any():
        i = int(unlike.argmax())
        expected = f"{indptr[i + 1] - indptr[i]} scores in list {i}, one for each id"
        raise InputValueError("scores", expected=expected, got=own[i + 1] - own[i])
    found = as_scores(_flat("scores", joined), dtype)
    return _flat_scores(found, found.array)


def _joined(name: str, lists: list[Any]) -> tuple[Any, IntArray]:
    """Join lists of numbers, or arrays of them, of any lengths."""
    lengths = []
    for i, item in enumerate(lists):
        if not isinstance(item, Sequence | np.ndarray) or isinstance(item, str | bytes):
            got = f"{type(item).__name__} for list {i}"
            raise InputValueError(name, expected=_FORMS, got=got)
        lengths.append(len(item))
    if not all(isinstance(item, np.ndarray) for item in lists):
        joined: Any = list(chain.from_iterable(lists))
    else:
        full = [item for item in lists if len(item)] or [np.zeros(0, np.int64)]
        if any(item.ndim != 1 for item in full):
            raise InputValueError(name, expected=_FORMS, got="arrays of several dimensions")
        joined = np.concatenate(full)
    return joined, indptr_of(lengths)


def _flat(name: str, joined: Any) -> npt.NDArray[Any]:
    values = as_array(joined, name)
    check_shape(name, values.shape, 1, _FORMS)
    return values if values.size else values.astype(np.int64)


def _is_list_of_lists(value: Any) -> bool:
    return isinstance(value, list) and not (value and np.ndim(value[0]) == 0)


def _native(array: npt.NDArray[Any], value: Any) -> npt.NDArray[Any]:
    """Return contiguous ids of int32 or int64, without a copy if they are that already."""
    if array.dtype in (np.dtype(np.int32), np.dtype(np.int64)):
        return np.require(array, requirements=["C", "A"])
    return index_array("ids", array if array.size else value)


def _flat_scores(found: Scores | None, values: npt.NDArray[Any] | None) -> Scores | None:
    if found is None or values is None:
        return None
    flat = np.ascontiguousarray(values).reshape(-1)
    return Scores(flat, found.dtype, found.swapped)
