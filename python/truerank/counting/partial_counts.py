"""Partial counts: for each task, some of the candidates compared with the true score.

They are arrays of int64 by name, with one count for each task: "above" counts the scores that are
greater than the true score, whether higher or lower scores are better; "tied" those that are equal
to it; "candidates" all, also those that are NaN, which "nan" counts; "differing" is 1 where the
target's own score is another one. The true candidate is in none of them: it is counted once, at the
end. Partial counts can be added in any order, with the same integers as result.
"""

from __future__ import annotations

from collections.abc import Mapping
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


def native_scores(array: npt.NDArray[Any], dtype: str) -> Scores:
    """View true scores, one for each task and contiguous, in native byte order."""
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder())
    return Scores(array, dtype, False)


def are_nan(scores: Scores) -> Flags:
    """Return which scores, in native byte order, are NaN."""
    array = scores.array
    if scores.dtype == "bfloat16":
        return (array.view(np.uint16) & 0x7FFF) > 0x7F80
    return np.not_equal(array, array)


def first_forbidden_nan(true_scores: Scores, rule: str) -> int:
    """Return the task of the first true score that is NaN; -1 without one, or if it is allowed."""
    if rule == "worst":
        return -1
    is_nan = are_nan(true_scores)
    return int(is_nan.argmax()) if is_nan.any() else -1


def read_true_scores(value: Any, dtype: Any, rule: str) -> Scores:
    """Check and copy true scores: one for each task, and none that is NaN unless the rule allows.

    They are of shape (tasks,), or a column of shape (tasks, 1).

    Examples
    --------
    >>> are_nan(read_true_scores([0.5, float("nan")], None, "worst"))
    array([False,  True])
    """
    with argument_names(scores="true_scores"):
        scores = as_scores(value, dtype)
    array = scores.array[:, 0] if scores.array.shape[1:] == (1,) else scores.array
    check_shape("true_scores", array.shape, 1, "one score for each task")
    check_size("true_scores", array.size)
    true_scores = native_scores(np.array(array, order="C"), scores.dtype)
    task = first_forbidden_nan(true_scores, rule)
    if task >= 0:
        raise forbidden_nan("true_scores", f"the true score of task {task}", rule)
    return true_scores


def zero_counts(tasks: int, rules: Rules) -> dict[str, IntArray]:
    """Return the counts of no candidates."""
    names: tuple[str, ...] = FIELDS
    if rules.audit:
        names += ODD_FIELDS
    counts: dict[str, IntArray] = {name: np.zeros(tasks, np.int64) for name in names}
    if rules.audit:  # Every key is better than the best one of no candidates.
        limits = np.iinfo(np.int64)
        counts["best"][:] = limits.max if rules.is_ascending else limits.min
    return counts


def add_counts(
    total: Mapping[str, IntArray],
    counts: Mapping[str, IntArray],
    rules: Rules,
    tasks: slice | IntArray = slice(None),
) -> None:
    """Add to a total, in place, the counts of other candidates of some tasks, each named once."""
    sums = dict(counts)
    if "best" in counts:
        # Best keys are not added: only the scores at the better one of two stay counted.
        before = total["best"][tasks]
        added = sums.pop("best")
        better_of = np.minimum if rules.is_ascending else np.maximum
        best = better_of(before, added)
        total["at_best"][tasks] *= before == best
        sums["at_best"] = counts["at_best"] * (added == best)
        total["best"][tasks] = best
    for name, array in sums.items():
        total[name][tasks] += array


def final_counts(
    counts: Mapping[str, IntArray], true_scores: Scores, rules: Rules
) -> dict[str, IntArray]:
    """Add the true candidates; return new counts of all tasks, with those of an audit.

    Where true scores are the last that there can be, "masked" says of which tasks.
    A true score that is NaN is the last of all; only the rule "worst" allows it.
    """
    is_nan = are_nan(true_scores)
    candidates = counts["candidates"] + 1
    tied = counts["tied"] + 1
    numbers = candidates if rules.nan == "raise" else candidates - counts["nan"]
    if rules.is_ascending:
        above = numbers - counts["above"] - tied
    else:
        above = counts["above"].copy()
    if rules.nan == "worst":  # Else no true score is NaN.
        above[is_nan] = candidates[is_nan] - 1
        tied[is_nan] = 1
    if rules.nan == "omit":
        candidates = numbers
    final: dict[str, Any] = {"above": above, "tied": tied, "candidates": candidates}
    keys, bottom, top, floating = true_scores.keys()
    is_last = floating & (keys == (top if rules.is_ascending else bottom))
    if is_last.any():
        final["masked"] = is_last
    if not rules.audit:
        return final
    is_infinite = floating & ((keys == bottom) | (keys == top))
    total = {name: counts[name].copy() for name in ("differing", "nan", *ODD_FIELDS)}
    true = {
        "nan": is_nan.astype(np.int64),
        "inf": is_infinite.astype(np.int64),
        "at_best": 1 - is_nan,
        "best": np.where(is_nan, counts["best"], keys),
    }
    add_counts(total, true, rules)
    return total | final


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
