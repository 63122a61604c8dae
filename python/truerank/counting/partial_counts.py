"""Partial counts: for each task, some of the candidates compared with the true score.

They are arrays of int64 by name. "above" counts the scores that are greater than the true score,
whether higher or lower scores are better; "tied" those that are equal to it; "candidates" all, also
those that are NaN, which "nan" counts; "differing" is 1 where the target's own score is another
one. The true candidate is in none of them: it is counted once, at the end. Partial counts can be
added in any order, with the same integers as result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import Scores
from ..errors import InputValueError, argument_names
from ..inputs.array_likes import as_scores, check_shape
from ..inputs.checks import check_size, forbidden_nan

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from ..arrays import IntArray
    from ..arrays.saved_files import Members
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


def may_be_infinite(scores: Scores) -> bool:
    """Whether any score may be infinite; of floats that numpy has, whether one is."""
    if scores.dtype == "bfloat16":
        return True
    return scores.array.dtype.kind == "f" and bool(np.isinf(scores.array).any())


def first_forbidden_nan(true_scores: Scores, rule: str) -> int:
    """Return the task of the first true score that is NaN; -1 without one, or if it is allowed."""
    if rule == "worst":
        return -1
    is_nan = are_nan(true_scores)
    return int(is_nan.argmax()) if is_nan.any() else -1


def read_true_scores(value: Any, dtype: Any, rule: str) -> Scores:
    """Check and copy true scores: one for each task, and none that is NaN unless the rule allows.

    They are of shape (tasks,), or a column of shape (tasks, 1).
    """
    with argument_names(scores="true_scores"):
        scores = as_scores(value, dtype)
    array = scores.array[:, 0] if scores.array.shape[1:] == (1,) else scores.array
    check_shape("true_scores", array.shape, 1, "one score for each task")
    check_size("true_scores", array.size)
    true_scores = native_scores(np.array(array, order="C"), scores.dtype)
    task = first_forbidden_nan(true_scores, rule)
    if task >= 0:
        raise forbidden_nan("true_scores", f"the true score of task {task}", rule, helps=["worst"])
    return true_scores


def zero_counts(tasks: int, rules: Rules) -> dict[str, IntArray]:
    """Return the counts of no candidates."""
    names = FIELDS + ODD_FIELDS if rules.audit else FIELDS
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
    names_of_sums = set(counts)
    if "best" in counts:  # The better key stays, with the number of scores that have it.
        names_of_sums -= {"best", "at_best"}
        old_best = total["best"][tasks]
        new_best = counts["best"]
        better_of = np.minimum if rules.is_ascending else np.maximum
        best = better_of(old_best, new_best)
        old_at_best = np.where(old_best == best, total["at_best"][tasks], 0)
        new_at_best = np.where(new_best == best, counts["at_best"], 0)
        total["at_best"][tasks] = old_at_best + new_at_best
        total["best"][tasks] = best
    for name in names_of_sums:
        total[name][tasks] += counts[name]


def final_counts(
    counts: Mapping[str, IntArray], true_scores: Scores, rules: Rules
) -> dict[str, IntArray]:
    """Add the true candidates; return new counts of all tasks, with those of an audit.

    "masked" is there if any true score is the worst number: -inf, or inf if lower ones are better.
    A true score that is NaN has the last rank; only the rule "worst" allows it.
    """
    # They lie in one array, as those of the core do, for which the system is asked more rarely.
    above, tied, candidates = np.empty((3, len(true_scores.array)), np.int64)
    np.add(counts["candidates"], 1, out=candidates)
    np.add(counts["tied"], 1, out=tied)
    n_numbers = candidates if rules.nan == "raise" else candidates - counts["nan"]  # not NaN
    if rules.is_ascending:  # The scores that are greater than the true one are the worse ones.
        np.subtract(n_numbers, counts["above"] + tied, out=above)
    else:
        above[:] = counts["above"]
    if rules.nan == "worst":  # Else no true score is NaN.
        is_nan = are_nan(true_scores)
        above[is_nan] = candidates[is_nan] - 1
        tied[is_nan] = 1
    if rules.nan == "omit":
        candidates = n_numbers
    final: dict[str, Any] = {"above": above, "tied": tied, "candidates": candidates}
    if may_be_infinite(true_scores):
        keys, lowest, highest, are_floats = true_scores.keys()
        worst = highest if rules.is_ascending else lowest
        is_masked = are_floats & (keys == worst)
        if is_masked.any():
            final["masked"] = is_masked
    if rules.audit:
        keys, lowest, highest, are_floats = true_scores.keys()
        audit = {name: counts[name].copy() for name in ("differing", "nan", *ODD_FIELDS)}
        is_nan = are_nan(true_scores)
        is_infinite = are_floats & ((keys == lowest) | (keys == highest))
        audit_of_true = {
            "nan": is_nan.astype(np.int64),
            "inf": is_infinite.astype(np.int64),
            "at_best": 1 - is_nan,
            "best": np.where(is_nan, counts["best"], keys),
        }
        add_counts(audit, audit_of_true, rules)
        final |= audit
    return final


def count_members(counts: Mapping[str, IntArray]) -> Members:
    """Return counts as the members `count.NAME` of a file."""
    return {f"count.{name}": array for name, array in counts.items()}


def saved_counts(
    members: Members,
    no_counts: Mapping[str, IntArray],
    most_candidates: int | IntArray,
    least_tied: int | IntArray = 0,
) -> dict[str, IntArray]:
    """Return the members `count.NAME` of a file in new arrays; they must be possible counts.

    Their names and shapes are those of `no_counts`. There are `most_candidates` at most, 2**60 or
    fewer, so that no sum overflows; `least_tied` or more are tied.
    """
    shape = no_counts["above"].shape
    table = np.stack([members[f"count.{name}"] for name in no_counts])
    counts: dict[str, IntArray] = dict(zip(no_counts, table, strict=True))
    has_other_form = table.dtype != np.int64 or table.shape[1:] != shape
    if has_other_form or not _are_possible(counts, most_candidates, least_tied):
        expected = f"int64 of shape {shape}, no more scores than candidates"
        raise InputValueError("damaged", expected=expected, place="count")
    return counts


def _are_possible(
    counts: Mapping[str, IntArray], most_candidates: int | IntArray, least_tied: int | IntArray
) -> bool:
    """Whether counts, partial or final ones, may be those of so many candidates."""
    compared = counts["above"] + counts["tied"]
    are_partial = "differing" in counts
    if are_partial:  # Final ones may have NaN among those above.
        compared += counts["nan"]
    is_possible = (compared <= counts["candidates"]) & (counts["tied"] >= least_tied)
    for name, numbers in counts.items():
        if name != "best":  # That is a key.
            is_possible &= (numbers >= 0) & (numbers <= most_candidates)
    return bool(is_possible.all())
