"""Truths: the true scores of all tasks, given before the scores of their candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import Scores
from ..inputs.errors import InputValueError, spelled
from ..inputs.scores import as_scores

if TYPE_CHECKING:
    import numpy.typing as npt

    Flags = npt.NDArray[np.bool_]


class Truths:
    """The true scores of all tasks: as they are, and as keys, integers in the order of the scores.

    Parameters
    ----------
    scores : ndarray, shape (tasks,)
        In native byte order, contiguous.
    dtype : str
        The name of their dtype.
    """

    def __init__(self, scores: npt.NDArray[Any], dtype: str) -> None:
        self.scores = scores
        self.keys, bottom, top, floating = Scores(scores, dtype, False).keys()
        self.nan: Flags = self.keys < bottom
        self.inf: Flags = floating & ((self.keys == bottom) | (self.keys == top))

    def first_nan(self, rule: str) -> int:
        """The first NaN, or -1 where there is none or the rule for NaN allows it."""
        return -1 if rule == "worst" or not self.nan.any() else int(self.nan.argmax())


def true_values(true_scores: Any, dtype: Any) -> Scores:
    """Check true scores: one for each task, copied, contiguous, in native byte order."""
    scores = as_scores(true_scores, dtype, "true_scores")
    if scores.array.ndim != 1:
        raise InputValueError(
            "true_scores", expected="one score for each task", got=f"shape {scores.array.shape}"
        )
    array = scores.array
    if scores.swapped:
        array = array.byteswap().view(array.dtype.newbyteorder())
    return Scores(np.array(array, order="C"), scores.dtype, False)


def refuse_nan_truth(truths: Truths, rule: str) -> None:
    """Raise for a true score that is NaN, unless the rule allows it."""
    wrong = truths.first_nan(rule)
    if wrong >= 0:
        raise InputValueError(
            "true_scores",
            f"the true score of task {wrong} is NaN, which {spelled('nan', rule)} does not allow",
        )
