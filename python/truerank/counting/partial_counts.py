"""Partial counts: for each task, some of the candidates compared with the true score.

The true candidate is in none of them: it is counted once, at the end. Partial counts can be added
in any order, with the same integers as result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import Scores
from ..errors import InputValueError
from ..inputs.checks import check_shape, check_size, forbidden_nan
from ..inputs.scores import as_scores

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from ..inputs.rules import Rules
    from ..ranks.storage import Members

    Flags = npt.NDArray[np.bool_]

FIELDS = ("above", "tied", "candidates", "nan", "differing")
# An audit also counts infinite scores and those equal to the best one, and keeps that one's key.
ODD_FIELDS = ("inf", "at_best", "best")


class TrueScores:
    """The true scores of all tasks, also as keys: integers in the order of the scores.

    Parameters
    ----------
    scores : ndarray, shape (tasks,)
        Contiguous; they are kept in native byte order.
    dtype : str
        The name of their dtype.
    """

    def __init__(self, scores: npt.NDArray[Any], dtype: str) -> None:
        if not scores.dtype.isnative:
            scores = scores.astype(scores.dtype.newbyteorder())
        self.scores = scores
        self.dtype = dtype
        self.keys, bottom, top, floating = Scores(scores, dtype, False).keys()
        self.nan: Flags = self.keys < bottom
        self.inf: Flags = floating & ((self.keys == bottom) | (self.keys == top))

    def first_nan(self, rule: str) -> int:
        """Return the task of the first NaN; -1 if there is none or if the rule allows NaN."""
        if rule == "worst" or not self.nan.any():
            return -1
        return int(self.nan.argmax())


def read_true_scores(value: Any, dtype: Any, rule: str) -> TrueScores:
    """Check and copy true scores: one for each task, and none that is NaN unless the rule allows.

    They are of shape (tasks,), or a column of shape (tasks, 1).

    Examples
    --------
    >>> read_true_scores([0.5, float("nan")], None, "worst").nan
    array([False,  True])
    """
    scores = as_scores(value, dtype, "true_scores")
    array = scores.array[:, 0] if scores.array.shape[1:] == (1,) else scores.array
    check_shape("true_scores", array.shape, 1, "one score for each task")
    check_size("true_scores", array.size)
    true_scores = TrueScores(np.array(array, order="C"), scores.dtype)
    task = true_scores.first_nan(rule)
    if task >= 0:
        raise forbidden_nan("true_scores", f"the true score of task {task}", rule)
    return true_scores


@dataclass
class PartialCounts:
    """The counts so far: int64 arrays with one count for each task.

    `above` counts the scores that are greater than the true score, whether higher or lower scores
    are better; `tied` counts those that are equal to it. `candidates` includes the scores that are
    NaN, which `nan` counts.

    Attributes
    ----------
    arrays : dict of str to ndarray of int64, shape (tasks,)
    rules : Rules
    """

    arrays: dict[str, IntArray]
    rules: Rules

    @classmethod
    def zeros(cls, tasks: int, rules: Rules) -> PartialCounts:
        """Return the counts of no candidates."""
        names: tuple[str, ...] = FIELDS
        if rules.audit:
            names += ODD_FIELDS
        arrays: dict[str, IntArray] = {name: np.zeros(tasks, np.int64) for name in names}
        if rules.audit:  # Every key is better than the best one of no candidates.
            limits = np.iinfo(np.int64)
            if rules.is_ascending:
                arrays["best"][:] = limits.max
            else:
                arrays["best"][:] = limits.min
        return cls(arrays, rules)

    def add(
        self, counts: Mapping[str, IntArray], tasks: slice | IntArray = slice(None)
    ) -> PartialCounts:
        """Add counts of other candidates of some tasks, each of which is named once."""
        sums = dict(counts)
        if "best" in counts:
            # Best keys are not added: only the scores at the better one of two stay counted.
            before = self.arrays["best"][tasks]
            added = sums.pop("best")
            if self.rules.is_ascending:
                best = np.minimum(before, added)
            else:
                best = np.maximum(before, added)
            self.arrays["at_best"][tasks] *= before == best
            sums["at_best"] = counts["at_best"] * (added == best)
            self.arrays["best"][tasks] = best
        for name, array in sums.items():
            self.arrays[name][tasks] += array
        return self

    def is_void(self, true_scores: TrueScores) -> Flags:
        """Whether each task has a NaN that the rule forbids, among scores or as the true one."""
        if self.rules.nan == "worst":
            return np.zeros_like(true_scores.nan)
        return true_scores.nan | ((self.arrays["nan"] > 0) & (self.rules.nan == "raise"))

    def final_counts(self, true_scores: TrueScores) -> dict[str, IntArray]:
        """Add the true candidates; return the counts of all tasks, with those of an audit.

        A true score that is NaN is the last of all; only the rule "worst" allows it.
        """
        is_nan = true_scores.nan.astype(np.int64)
        is_number = 1 - is_nan
        true = {"tied": is_number, "candidates": np.ones_like(is_nan), "nan": is_nan}
        if self.rules.audit:
            true["inf"] = true_scores.inf.astype(np.int64)
            true["at_best"] = is_number
            true["best"] = np.where(true_scores.nan, self.arrays["best"], true_scores.keys)
        copies = {name: array.copy() for name, array in self.arrays.items()}
        total = PartialCounts(copies, self.rules).add(true)
        above = total.arrays["above"]
        tied = total.arrays["tied"]
        candidates = total.arrays["candidates"]
        numbers = candidates - total.arrays["nan"]
        if self.rules.is_ascending:
            above = numbers - above - tied
        final = {
            "above": np.where(true_scores.nan, candidates - 1, above),
            "tied": np.where(true_scores.nan, 1, tied),
            "candidates": candidates,
        }
        if self.rules.nan == "omit":
            final["candidates"] = numbers
        return total.arrays | final


def saved_counts(
    members: Members,
    like: Mapping[str, IntArray],
    most: int | IntArray,
    least_tied: int | IntArray = 0,
) -> dict[str, IntArray]:
    """Return the members `count.NAME` of a file in new arrays; they must be possible counts.

    Parameters
    ----------
    members : dict of str to ndarray
    like : mapping of str to ndarray of int64
        The names of the counts, with arrays of their shapes.
    most : int or ndarray of int64, shape (tasks,)
        The number of candidates, at most 2**60, so that no sum overflows. No count is greater.
    least_tied : int or ndarray of int64, shape (tasks,)
        How many are tied at least.

    Raises
    ------
    ValueError
        If a member is missing or has another dtype or shape, and for an impossible count.
    """
    table = np.stack([members[f"count.{name}"] for name in like])
    counts: dict[str, IntArray] = dict(zip(like, table, strict=True))
    numbers = table[[name != "best" for name in like]]  # "best" is a key.
    if table.dtype == np.int64 and table.shape[1:] == like["above"].shape:
        compared = counts["above"] + counts["tied"]
        # These are partial counts; final ones may have NaN among those above.
        if "differing" in counts:
            compared += counts["nan"]
        is_possible = (numbers >= 0) & (numbers <= most) & (compared <= counts["candidates"])
        if is_possible.all() and (counts["tied"] >= least_tied).all():
            return counts
    expected = f"int64 of shape {like['above'].shape}, no more scores than candidates"
    raise InputValueError("damaged", expected=expected, place="count")
