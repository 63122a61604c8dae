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

    def add(self, found: Mapping[str, IntArray], where: slice | IntArray = slice(None)) -> None:
        """Add what a part found for some tasks, each named once in `where`."""
        more = dict(found)
        if self.rules.audit:
            self._add_best(more.pop("best"), more.pop("at_best"), where)
        for name, counts in more.items():
            self.arrays[name][where] += counts

    def plus(self, found: Mapping[str, IntArray]) -> PartialCounts:
        """Give new tallies with what a part found for all tasks; these stay as they are."""
        more = PartialCounts(len(self.arrays["above"]), self.rules)
        more.arrays = {name: array.copy() for name, array in self.arrays.items()}
        more.add(found)
        return more

    def _add_best(self, best: IntArray, at_best: IntArray, where: slice | IntArray) -> None:
        mine, held = self.arrays["best"][where], self.arrays["at_best"][where]
        better = best < mine if self.rules.ascending else best > mine
        held = np.where(better, at_best, held + np.where(best == mine, at_best, 0))
        self.arrays["at_best"][where] = held
        self.arrays["best"][where] = np.where(better, best, mine)

    def final_counts(self, truths: TrueScores) -> dict[str, IntArray]:
        """Add the truths, and give the counts of all tasks, and those of an audit.

        A NaN truth is last of all, which only the rule "worst" allows.
        """
        above, tied, size, nan, differing = (self.arrays[name] for name in FIELDS)
        if self.rules.ascending:
            above = size - nan - above - tied
        above = np.where(truths.nan, size, above)
        tied = np.where(truths.nan, 1, tied + 1)
        candidates = size + 1 - (nan if self.rules.nan == "omit" else 0)
        final_counts = {"above": above, "tied": tied, "candidates": candidates}
        if not self.rules.audit:
            return final_counts
        alone = PartialCounts(len(size), self.rules)
        alone.add(self.arrays)
        nothing = np.zeros_like(size)
        no_best = np.where(truths.nan, alone.arrays["best"], truths.keys)
        own = {"nan": truths.nan, "inf": truths.inf, "best": no_best, "at_best": ~truths.nan}
        alone.add({name: own.get(name, nothing) + nothing for name in alone.arrays})
        seen = {name: alone.arrays[name] for name in ("nan", "inf", "at_best")}
        return final_counts | seen | {"differing": differing.copy()}


def checked_true_scores(true_scores: Any, dtype: Any) -> Scores:
    """Check true scores: one for each task, copied, contiguous, in native byte order."""
    scores = as_scores(true_scores, dtype, "true_scores")
    check_shape("true_scores", scores.array.shape, 1, "one score for each task")
    array = scores.array
    if scores.swapped:
        array = array.byteswap().view(array.dtype.newbyteorder())
    return Scores(np.array(array, order="C"), scores.dtype, False)


def refuse_nan_true_score(truths: TrueScores, rule: str) -> None:
    """Raise for a true score that is NaN, unless the rule allows it."""
    wrong = truths.first_nan(rule)
    if wrong >= 0:
        raise forbidden_nan("true_scores", f"the true score of task {wrong}", rule)
