"""Lists of candidates by their ids, with scores or in order alone: checked, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core import Scores
from .arrays import as_array, index_array, native_indices
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
    here. Scores are one-dimensional and contiguous; None: the order of the ids says all. Messages
    call the ids by `name`.
    """

    indptr: IntArray
    ids: npt.NDArray[Any]
    scores: Scores | None
    name: str = "ids"

    def place(self, position: int) -> tuple[int, int]:
        """Return the list that has a position of the ids, and the position within that list."""
        row = int(np.searchsorted(self.indptr, position, side="right")) - 1
        return row, position - int(self.indptr[row])


def as_lists(ids: Any, scores: Any, dtype: Any = None, name: str = "ids") -> CandidateLists:
    """Check the shapes of lists of ids and of their scores, in any of the accepted forms.

    Parameters
    ----------
    ids : array_like of int, shape (lists, width), (values, indptr), or list of lists
        A matrix has pads, -1, only at the end of a row. `CandidateLists` stay as they are.
    scores : array_like, (values, indptr), list of lists, or None
        Of the same form and shape; what is at a pad is ignored.
    dtype : str or dtype, optional
        What raw 16-bit scores are.
    name : str
        What messages call the ids.

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
    if isinstance(ids, CandidateLists):
        return ids
    if (joined := _joined(name, ids)) is None:
        return _padded(ids, scores, dtype, name)
    values, indptr = joined
    ids = native_indices(name, values if indptr[-1] else [])
    if scores is None:
        return CandidateLists(indptr, ids, None, name)
    if (of_scores := _joined("scores", scores)) is None:
        expected = f"{_RAGGED} or a list of lists, as ids are"
        raise InputValueError("scores", expected=expected, got=type(scores).__name__)
    if not np.array_equal(of_scores[1], indptr):
        expected = f"lists that end at {indptr[1:]}, as those of ids"
        raise InputValueError("scores", expected=expected, got=of_scores[1][1:])
    found = as_scores(of_scores[0], dtype)
    return CandidateLists(indptr, ids, _flat(found, found.array), name)


def _padded(value: Any, scores: Any, dtype: Any, name: str) -> CandidateLists:
    ids = native_indices(name, value)
    check_shape(name, ids.shape, 2, _FORMS)
    height, width = ids.shape
    checked = None if scores is None else as_scores(scores, dtype)
    if checked is not None:
        check_shape("scores", checked.array.shape, ids.shape, f"the shape of ids, {ids.shape}")
    values = None if checked is None else checked.array
    lengths = np.full(height, width, np.int64)
    # where pads are only at the end, there are none at all if the last column has none
    if width and (ids[:, -1] == PAD).any():
        is_id = ids != PAD
        wrong = is_id[:, 1:] & ~is_id[:, :-1]
        if wrong.any():
            row, column = divmod(int(wrong.argmax()), width - 1)
            problem = f"{ids[row, column + 1]} after a pad in list {row}, at position {column + 1}"
            raise InputValueError(name, expected=f"pads ({PAD}) only at the end", got=problem)
        lengths = is_id.sum(axis=1, dtype=np.int64)
        ids = ids[is_id]
        values = None if values is None else values[is_id]
    flat = None if checked is None else _flat(checked, values)
    return CandidateLists(indptr_of(lengths), ids.reshape(-1), flat, name)


def _joined(name: str, value: Any) -> tuple[Any, IntArray] | None:
    """Return the values and the indptr of lists of any lengths; None for a matrix."""
    if isinstance(value, tuple):
        if len(value) != 2:
            raise InputValueError(name, expected=_RAGGED, got=f"{len(value)} members")
        check_shape(name, np.shape(value[0]), 1, "1-D values")
        indptr = index_array(f"{name}: indptr", value[1])
        check_shape(f"{name}: indptr", indptr.shape, 1, "a 1-D array")
        check_indptr(name, indptr, len(indptr) - 1, len(value[0]), "values")
        return value[0], indptr
    if not isinstance(value, list) or (value and np.ndim(value[0]) == 0):
        return None
    for i, item in enumerate(value):
        if not isinstance(item, Sequence | np.ndarray) or isinstance(item, str | bytes):
            got = f"{type(item).__name__} for list {i}"
            raise InputValueError(name, expected=_FORMS, got=got)
    arrays = [item for item in value if isinstance(item, np.ndarray) and len(item)]
    indptr = indptr_of([len(item) for item in value])
    if arrays and sum(map(len, arrays)) == indptr[-1]:
        values = np.concatenate(arrays)
    else:
        values = as_array(list(chain.from_iterable(value)), name, _FORMS)
    check_shape(name, values.shape, 1, _FORMS)
    return values, indptr


def _flat(listed: Scores, values: Any) -> Scores:
    return Scores(np.ascontiguousarray(values).reshape(-1), listed.dtype, listed.swapped)
