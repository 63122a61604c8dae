"""Partial counts: what parts of the candidates have shown of each task, beside its true score.

The truth itself is in none of them: it is counted once, at the end, whatever parts there were.
They add up in any order, and to the same integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import Scores
from ..inputs.checks import check_shape, forbidden_nan
from ..inputs.scores import as_scores

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._core import Rules
    from ..inputs.arrays import IntArray

    Flags = npt.NDArray[np.bool_]

FIELDS = ("above", "tied", "candidates", "nan", "differing")
AUDITED = ("inf", "at_best", "best")


class TrueScores:
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


class PartialCounts:
    """What has been found so far: int64 arrays with one count for each task.

    `above` and `tied` are counts of scores that are greater than the truth, in either order of the
    ranks, and equal to it. Scores that are NaN are among `candidates`, and counted in `nan`.

    Parameters
    ----------
    tasks : int
    rules : Rules

    Attributes
    ----------
    arrays : dict of str to ndarray of int64, shape (tasks,)
    rules : Rules
    """

    def __init__(self, tasks: int, rules: Rules) -> None:
        self.rules = rules
        names = FIELDS + AUDITED if rules.audit else FIELDS
        self.arrays: dict[str, IntArray] = {name: np.zeros(tasks, np.int64) for name in names}
        if rules.audit:
            limits = np.iinfo(np.int64)
            self.arrays["best"][:] = limits.max if rules.ascending else limits.min

    def add(self, counts: Mapping[str, IntArray], where: slice | IntArray = slice(None)) -> None:
        """Add what a part found for some tasks, each named once in `where`."""
        remaining = dict(counts)
        if self.rules.audit:
            self._add_best(remaining.pop("best"), remaining.pop("at_best"), where)
        for name, array in remaining.items():
            self.arrays[name][where] += array

    def plus(self, counts: Mapping[str, IntArray]) -> PartialCounts:
        """Return new tallies with what a part found for all tasks; these stay as they are."""
        total = PartialCounts(len(self.arrays["above"]), self.rules)
        total.arrays = {name: array.copy() for name, array in self.arrays.items()}
        total.add(counts)
        return total

    def _add_best(self, best: IntArray, at_best: IntArray, where: slice | IntArray) -> None:
        own_best, own_at_best = self.arrays["best"][where], self.arrays["at_best"][where]
        is_better = best < own_best if self.rules.ascending else best > own_best
        own_at_best = np.where(
            is_better, at_best, own_at_best + np.where(best == own_best, at_best, 0)
        )
        self.arrays["at_best"][where] = own_at_best
        self.arrays["best"][where] = np.where(is_better, best, own_best)

    def final_counts(self, true_scores: TrueScores) -> dict[str, IntArray]:
        """Add the truths, and give the counts of all tasks, and those of an audit.

        A NaN truth is last of all, which only the rule "worst" allows.
        """
        above, tied, size, nan, differing = (self.arrays[name] for name in FIELDS)
        if self.rules.ascending:
            above = size - nan - above - tied
        above = np.where(true_scores.nan, size, above)
        tied = np.where(true_scores.nan, 1, tied + 1)
        candidates = size + 1 - (nan if self.rules.nan == "omit" else 0)
        counts = {"above": above, "tied": tied, "candidates": candidates}
        if not self.rules.audit:
            return counts
        total = PartialCounts(len(size), self.rules)
        total.add(self.arrays)
        zeros = np.zeros_like(size)
        best = np.where(true_scores.nan, total.arrays["best"], true_scores.keys)
        true = {
            "nan": true_scores.nan,
            "inf": true_scores.inf,
            "best": best,
            "at_best": ~true_scores.nan,
        }
        total.add({name: true.get(name, zeros) + zeros for name in total.arrays})
        audit = {name: total.arrays[name] for name in ("nan", "inf", "at_best")}
        return counts | audit | {"differing": differing.copy()}


def checked_true_scores(true_scores: Any, dtype: Any) -> Scores:
    """Check true scores: one for each task, copied, contiguous, in native byte order."""
    scores = as_scores(true_scores, dtype, "true_scores")
    check_shape("true_scores", scores.array.shape, 1, "one score for each task")
    array = scores.array
    if scores.swapped:
        array = array.byteswap().view(array.dtype.newbyteorder())
    return Scores(np.array(array, order="C"), scores.dtype, False)


def refuse_nan_true_score(true_scores: TrueScores, rule: str) -> None:
    """Raise for a true score that is NaN, unless the rule allows it."""
    task = true_scores.first_nan(rule)
    if task >= 0:
        raise forbidden_nan("true_scores", f"the true score of task {task}", rule)
