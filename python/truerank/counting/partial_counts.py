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
from ..errors import InputValueError, argument_names
from ..inputs.array_likes import as_scores
from ..inputs.checks import check_shape, check_size, forbidden_nan

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.saved_files import Members
    from ..arrays.types import IntArray
    from ..inputs.rules import Rules

    Flags = npt.NDArray[np.bool_]

FIELDS = ("above", "tied", "candidates", "nan", "differing")
# An audit also counts infinite scores and those equal to the best one, and keeps that one's key.
ODD_FIELDS = ("inf", "at_best", "best")


class TrueScores:
    """The true scores of all tasks, and which of them are NaN.

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
        if dtype == "bfloat16":
            self.nan: Flags = (scores.view(np.uint16) & 0x7FFF) > 0x7F80
        else:
            self.nan = np.not_equal(scores, scores)

    def keys(self) -> tuple[IntArray, int, int, bool]:
        """Return integers in the order of the scores, and what `Scores.keys` says of them."""
        return Scores(self.scores, self.dtype, False).keys()

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
    with argument_names(scores="true_scores"):
        scores = as_scores(value, dtype)
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

    def void_tasks(self, true_scores: TrueScores) -> IntArray:
        """Return the tasks with a NaN that the rule forbids, among scores or as the true one."""
        if self.rules.nan == "worst":
            return np.zeros(0, np.int64)
        is_void = true_scores.nan
        if self.rules.nan == "raise":
            is_void = is_void | (self.arrays["nan"] > 0)
        return np.flatnonzero(is_void)

    def final_counts(self, true_scores: TrueScores) -> dict[str, IntArray]:
        """Add the true candidates; return new counts of all tasks, with those of an audit.

        A true score that is NaN is the last of all; only the rule "worst" allows it.
        """
        rules = self.rules
        is_nan = true_scores.nan
        candidates = self.arrays["candidates"] + 1
        tied = self.arrays["tied"] + 1
        numbers = candidates if rules.nan == "raise" else candidates - self.arrays["nan"]
        if rules.is_ascending:
            above = numbers - self.arrays["above"] - tied
        else:
            above = self.arrays["above"].copy()
        if rules.nan == "worst":  # Else no true score is NaN.
            above[is_nan] = candidates[is_nan] - 1
            tied[is_nan] = 1
        if rules.nan == "omit":
            candidates = numbers
        final = {"above": above, "tied": tied, "candidates": candidates}
        if not rules.audit:
            return final
        keys, bottom, top, floating = true_scores.keys()
        is_infinite = floating & ((keys == bottom) | (keys == top))
        true = {
            "nan": is_nan.astype(np.int64),
            "inf": is_infinite.astype(np.int64),
            "at_best": 1 - is_nan,
            "best": np.where(is_nan, self.arrays["best"], keys),
        }
        copies = {name: self.arrays[name].copy() for name in ("differing", *true)}
        return PartialCounts(copies, rules).add(true).arrays | final


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
