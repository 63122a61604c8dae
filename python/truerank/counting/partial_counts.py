"""Partial counts: for each task, some of the candidates compared with the true score.

The true candidate is in none of them: it is counted once, at the end. Partial counts can be added
in any order, with the same integers as result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import Scores
from ..inputs.checks import check_shape, forbidden_nan
from ..inputs.errors import InputValueError
from ..inputs.scores import DTYPES, as_scores

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._core import Rules
    from ..inputs.arrays import IntArray
    from ..ranks.storage import Members

    Flags = npt.NDArray[np.bool_]

FIELDS = ("above", "tied", "candidates", "nan", "differing")
AUDITED = ("inf", "at_best", "best")


class TrueScores:
    """The true scores of all tasks, also as keys: integers in the order of the scores.

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
        """Return the task of the first NaN; -1 if there is none or if the rule allows NaN."""
        return -1 if rule == "worst" or not self.nan.any() else int(self.nan.argmax())


class PartialCounts:
    """The counts so far: int64 arrays with one count for each task.

    `above` counts the scores that are greater than the true score, whether higher or lower scores
    are better; `tied` counts those that are equal to it. `candidates` includes the scores that are
    NaN, which `nan` counts.

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

    @classmethod
    def of(cls, counts: dict[str, IntArray], rules: Rules) -> PartialCounts:
        """Take over the arrays of counts."""
        partial = cls.__new__(cls)
        partial.arrays, partial.rules = counts, rules
        return partial

    def add(self, counts: Mapping[str, IntArray], where: slice | IntArray = slice(None)) -> None:
        """Add counts of other candidates for some tasks; `where` has each task once."""
        remaining = dict(counts)
        if self.rules.audit:
            self._add_best(remaining.pop("best"), remaining.pop("at_best"), where)
        for name, array in remaining.items():
            self.arrays[name][where] += array

    def plus(self, counts: dict[str, IntArray]) -> PartialCounts:
        """Return the sum with counts of other candidates for all tasks, as a new object.

        It takes over the arrays of `counts`: new ones cost more than a narrow block does.
        """
        total = PartialCounts.of(counts, self.rules)
        total.add(self.arrays)
        return total

    def _add_best(self, best: IntArray, at_best: IntArray, where: slice | IntArray) -> None:
        own_best, own_at_best = self.arrays["best"][where], self.arrays["at_best"][where]
        is_better = best < own_best if self.rules.ascending else best > own_best
        own_at_best = np.where(
            is_better, at_best, own_at_best + np.where(best == own_best, at_best, 0)
        )
        self.arrays["at_best"][where] = own_at_best
        self.arrays["best"][where] = np.where(is_better, best, own_best)

    def is_void(self, true_scores: TrueScores) -> Flags:
        """Whether each task has a NaN that the rule forbids, among scores or as the true one."""
        if self.rules.nan == "worst":
            return np.zeros_like(true_scores.nan)
        return true_scores.nan | ((self.arrays["nan"] > 0) & (self.rules.nan == "raise"))

    def final_counts(self, true_scores: TrueScores) -> dict[str, IntArray]:
        """Add the true candidates; return the counts of all tasks, with those of an audit.

        A true score that is NaN is the last of all; only the rule "worst" allows it.
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


def saved_counts(
    members: Members, like: Mapping[str, IntArray], most: int | IntArray, unlike: tuple[str, ...]
) -> dict[str, IntArray]:
    """Return copies of the members `count.NAME` of a file, whose counts must be possible.

    Parameters
    ----------
    members : dict of str to ndarray
    like : mapping of str to ndarray of int64
        The names of the counts, with arrays of their shapes.
    most : int or ndarray of int64, shape (tasks,)
        The number of candidates, at most 2**60, so that no sum overflows. No count is greater.
    unlike : tuple of str
        The counts that are of other candidates than `above`: with it, they are at most all.

    Raises
    ------
    ValueError
        If a member is missing or has another dtype or shape, and for an impossible count.
    """
    full = np.iinfo(np.int64)
    bound = int(np.max(most, initial=0))
    ranges = {name: (bound, 0) for name in like} | {"best": (int(full.max), int(full.min))}
    counts = {
        name: integer_member(members, f"count.{name}", array.shape, *ranges[name]).copy()
        for name, array in like.items()
    }
    others = sum(counts[name] for name in unlike)
    above, candidates = counts["above"], counts["candidates"]
    if (candidates > most).any() or (above > candidates - others).any():
        raise InputValueError("damaged", expected="no more scores than candidates", place="count")
    return counts


def integer_member(
    members: Members, name: str, shape: tuple[int, ...] | None, most: int, least: int = 0
) -> IntArray:
    """Return a member that must be int64, of a shape (None: of any length), within a range.

    Examples
    --------
    >>> integer_member({"done": np.array(7)}, "done", (), 5)
    Traceback (most recent call last):
    ...
    truerank.InputValueError: damaged: done: expected int64 of shape (), from 0 to 5, got 7
    """
    array = members[name]
    shape = (array.size,) if shape is None else shape
    got: Any = f"{array.dtype} of shape {array.shape}"
    if array.dtype == np.int64 and array.shape == shape:
        wrong = (array < least) | (array > most)
        if not wrong.any():
            return array
        got = array.reshape(-1)[wrong.argmax()]
    expected = f"int64 of shape {shape}, from {least} to {most}"
    raise InputValueError("damaged", expected=expected, got=got, place=name)


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


def saved_true_scores(raw: npt.NDArray[Any], dtype: str) -> Scores:
    """Check the true scores of a file."""
    if dtype not in DTYPES:
        expected = f"one of {', '.join(DTYPES)}"
        raise InputValueError("damaged", expected=expected, got=repr(dtype), place="dtype")
    carrier = np.dtype(np.uint16 if dtype == "bfloat16" else dtype)
    if raw.dtype != np.uint8 or raw.ndim != 1 or raw.size % carrier.itemsize:
        raise InputValueError("damaged", expected="bytes of scores", place="true_scores")
    return as_scores(raw.copy().view(carrier), dtype, "true_scores")
