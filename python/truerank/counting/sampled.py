"""Sampled negatives: ranks of true scores among other scores that have no columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .. import _core
from .._core import Scores
from ..devices.task_counts import PartOfTasks
from ..devices.ways import count_stored
from ..inputs.arrays import index_array
from ..inputs.checks import check_shape, forbidden_nan
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.progress_listeners import reporter
from ..inputs.rules import RuleOptions, Rules, read_rules, with_options
from ..inputs.selection import check_indptr
from ..stores import Store, in_one_array, read_scores, shape_of
from .block_columns import NO_COLUMN
from .counter import RankCounter, ranks_of_counts
from .job import Job
from .partial_counts import PartialCounts, TrueScores, checked_true_scores, refuse_nan_true_score

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from ..ranks.container import Ranks


@public("truerank")
@with_options(RuleOptions)
def rank_against(
    true_scores: Any,
    others: Any,
    **options: Unpack[RuleOptions],
) -> Ranks:
    """Count, for every task, the other scores above its true score, and those equal to it.

    This is the form of sampled negatives that OGB's evaluators take (`y_pred_pos`, `y_pred_neg`).
    All scores are counted as given, also repeats, and the true score is counted once in addition.

    Parameters
    ----------
    true_scores : array_like, shape (tasks,)
        The score of each task's true candidate.
    others : array_like, shape (tasks, k), or (values, indptr)
        The scores of each task's other candidates, of the same dtype. If their number differs from
        task to task, ``values`` of shape (entries,) has those of task i in
        ``values[indptr[i]:indptr[i + 1]]``.
    order, nan, dtype, threads, audit
        As in `rank`.
    progress : callable or bool, optional
        Called with a `Progress` at the start and at the end, in tasks. True: a bar of tqdm.

    Returns
    -------
    Ranks
        With a protocol that says "sampled".

    Raises
    ------
    TypeError
        For scores of different dtypes (both are named), or of a dtype that `rank` does not take.
    ValueError
        For shapes that do not fit, and for a NaN that the rule forbids.

    Examples
    --------
    >>> import numpy as np
    >>> import truerank as tr
    >>> tr.rank_against([0.5, 0.2], [[0.1, 0.9], [0.2, 0.3]]).pessimistic
    array([2, 3])
    >>> tr.rank_against([0.5, 0.2], (np.array([0.1, 0.9, 0.3]), [0, 2, 3])).candidates
    array([3, 2])
    """
    rules = read_rules(options)
    true_values = checked_true_scores(true_scores, rules.dtype)
    report = reporter(rules.progress, len(true_values.array), "tasks")
    report(0)
    if not isinstance(others, tuple):
        of_counter: RuleOptions = {**options, "progress": None}
        counter = RankCounter(true_scores, **of_counter)
        scores = read_scores(others, rules.dtype, "others")
        check_shape("others", shape_of(scores), 2, "a matrix (tasks, k), or (values, indptr)")
        counter._count_block(scores, "others")
        ranks = counter.ranks()
    elif len(others) == 2:
        ranks = _rank_ragged(true_values, *others, rules)
    else:
        raise InputValueError("others", expected="(values, indptr)", got=f"{len(others)} members")
    report(len(ranks))
    return ranks


def _rank_ragged(true_values: Scores, values: Any, indptr: Any, options: Rules) -> Ranks:
    """Rank true scores among lists of others of unlike lengths."""
    rules, num_threads = options.core, options.num_threads
    given = read_scores(values, options.dtype, "others")
    indptr = index_array("others: indptr", indptr)
    _check_ragged(true_values, given, indptr)
    tasks = len(true_values.array)
    true = TrueScores(true_values.array, true_values.dtype)
    refuse_nan_true_score(true, rules.nan)
    no_columns = np.full(tasks, NO_COLUMN, np.int64)
    partial_counts = PartialCounts(tasks, rules)
    job = Job(None, no_columns, None, None, rules, num_threads)
    if isinstance(given, Store):
        counts = _counts_of_device(given, indptr, true_values, rules)
        if counts is not None:
            partial_counts.add(counts)
            counts = partial_counts.final_counts(true)
            return ranks_of_counts(job, counts, true_values.dtype, sampled=True)
    lists = _core.Selection.of_ranges(indptr)
    task_ranges = _core.Tasks(np.zeros(tasks, np.int64), no_columns, None, lists)
    counted = _core.partial_counts(
        in_one_array(given), task_ranges, true_values.array, 0, rules, num_threads
    )
    if fault := counted.fault:
        position = fault.column
        task = int(np.searchsorted(indptr, position, side="right")) - 1
        raise forbidden_nan(
            "others", f"the score at position {position}, of task {task},", rules.nan
        )
    partial_counts.add(counted.arrays)
    return ranks_of_counts(job, partial_counts.final_counts(true), true_values.dtype, sampled=True)


def _counts_of_device(
    values: Store, indptr: IntArray, true_values: Scores, rules: _core.Rules
) -> dict[str, IntArray] | None:
    """Count lists of scores on a device; None if the host has to count them, or to find a NaN."""
    tasks = len(indptr) - 1
    lists = _core.Selection(indptr, np.arange(indptr[-1]))
    no_columns = np.full(tasks, NO_COLUMN, np.int64)
    columns = PartOfTasks(np.zeros(tasks, np.int64), no_columns, candidates=lists)
    counting = count_stored(values, columns, true_values.array, rules)
    counts = None if counting is None else counting.arrays()
    is_void = counts is None or (rules.nan == "raise" and counts["nan"].any())
    return None if is_void else counts


def _check_ragged(true_values: Scores, values: Scores | Store, indptr: IntArray) -> None:
    if values.dtype != true_values.dtype:
        raise InputTypeError(
            "others", expected=f"{true_values.dtype}, as true_scores are", got=values.dtype
        )
    shape = shape_of(values)
    check_shape("others", shape, 1, "1-D values")
    check_indptr("others", indptr, len(true_values.array), shape[0], "values")
