"""Lists of candidates by their ids, with scores or in order alone: checked, one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core import Scores
from ..errors import InputTypeError, InputValueError
from .array_likes import array_shape, as_array, native_indices
from .checks import check_shape, without_index
from .scores import as_scores, refuse_rounded
from .selection import indptr_of, indptr_of_pair

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray

PAD = -1
_FORMS = f"a matrix (lists, width) padded with {PAD}, (indptr, values), or a list of lists"


class CandidateLists(NamedTuple):
    """Lists of ids: list i has ``ids[indptr[i]:indptr[i + 1]]``, and the scores of these positions.

    Ids are int32 or int64, contiguous; whether they are within range and distinct is not checked
    here. Scores are one-dimensional and contiguous; None: the order of the ids says all. Of lists
    by name, whose scores are in the same argument, `score_at` says whose score is at a position.
    """

    indptr: IntArray
    ids: npt.NDArray[Any]
    scores: Scores | None
    score_at: Callable[[int], str] | None = None

    def without_pads(self) -> CandidateLists:
        """Leave out the pads, -1, which stand at the ends of lists alone.

        Examples
        --------
        >>> lists = CandidateLists(np.array([0, 2, 3]), np.array([7, -1, 8]), None)
        >>> lists.without_pads().ids
        array([7, 8])
        """
        is_pad: npt.NDArray[np.bool_] = self.ids == PAD
        is_wrong = is_pad[:-1] & ~is_pad[1:]
        starts = self.indptr[(self.indptr > 0) & (self.indptr < len(self.ids))]
        is_wrong[starts - 1] = False  # The next id is of another list.
        if is_wrong.any():
            got = f"an id after a pad in list {self.place(int(is_wrong.argmax()))[0]}"
            raise InputValueError("ids", expected=f"pads ({PAD}) only at the end", got=got)
        pads = np.flatnonzero(is_pad)
        if not len(pads):
            return self
        indptr = self.indptr - np.searchsorted(pads, self.indptr)
        is_id = ~is_pad
        scores = None if self.scores is None else self.scores.with_array(self.scores.array[is_id])
        return CandidateLists(indptr, self.ids[is_id], scores)

    def place(self, position: int) -> tuple[int, int]:
        """Return the list that has a position of the ids, and the position within that list."""
        row = int(np.searchsorted(self.indptr, position, side="right")) - 1
        return row, position - int(self.indptr[row])


def as_lists(ids: Any, scores: Any, dtype: Any = None) -> CandidateLists:
    """Check the shapes of lists of ids and of their scores, in any of the accepted forms.

    Parameters
    ----------
    ids : array_like of int, shape (lists, width), (indptr, values), or list of lists
        A matrix has pads, -1, only at the end of a row.
    scores : array_like, (indptr, values), list of lists, or None
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
    values, indptr = _joined("ids", ids)
    if indptr[-1] == 0:
        values = []  # Without ids, their dtype says nothing.
    ids = native_indices("ids", values)
    entries = None
    if scores is not None:
        score_values, score_indptr = _joined("scores", scores)
        if not np.array_equal(score_indptr, indptr):
            expected = f"lists that end at {indptr[1:]}, as those of ids"
            raise InputValueError("scores", expected=expected, got=score_indptr[1:])
        entries = as_scores(score_values, dtype)
        entries = entries.with_array(np.ascontiguousarray(entries.array).reshape(-1))
    lists = CandidateLists(indptr, ids.reshape(-1), entries)
    # Pads stand at the ends, so that there are none if the last column has none.
    if ids.ndim < 2 or not (ids[:, -1] == PAD).any():
        return lists
    return lists.without_pads()


def _joined(name: str, value: Any) -> tuple[Any, IntArray]:
    """Return all lists as a matrix, or one after another, and where each of them begins."""
    if isinstance(value, tuple) and len(value) == 2:
        values = value[1]
        check_shape(name, array_shape(name, values), 1, "(indptr, values) with 1-D values")
        return values, indptr_of_pair(name, value, len(values))
    if isinstance(value, list):
        arrays = [as_array(without_index(item), name, _FORMS) for item in value]
        for array in arrays:
            check_shape(name, array.shape, 1, _FORMS)
        indptr = indptr_of([len(array) for array in arrays])
        joined = np.empty(0)
        # An empty array has a dtype of its own, which says nothing about the others.
        filled = [array for array in arrays if len(array)]
        try:
            if filled:
                joined = np.concatenate(filled)
        except TypeError:  # Dates beside names are an example.
            got = "lists of unlike dtypes"
            raise InputTypeError(name, expected=_FORMS, got=got) from None
        refuse_rounded(name, value, joined)
        return joined, indptr
    matrix = value
    if not isinstance(getattr(value, "shape", 0), tuple):
        matrix = as_array(value, name, _FORMS)
    check_shape(name, tuple(matrix.shape), 2, _FORMS)
    height, width = matrix.shape
    return matrix, indptr_of(np.full(height, width))
