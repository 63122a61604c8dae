"""Sampled negatives: ranks of true scores among other scores that have no columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .. import _core
from ..inputs.arrays import index_array
from ..inputs.checks import check_shape, forbidden_nan
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.progress_listeners import reporter
from ..inputs.rules import RuleOptions, read_rules, with_options
from ..inputs.selection import check_indptr
from ..stores import Store, read_scores, shape_of
from .job import prepare_job
from .partial_counts import PartialCounts, read_true_scores
from .tiles import begin_count

if TYPE_CHECKING:
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
    true = read_true_scores(true_scores, rules.dtype, rules.nan)
    tasks = len(true.scores)
    report = reporter(rules.progress, tasks, "tasks")
    report(0)
    if isinstance(others, tuple) and len(others) != 2:
        raise InputValueError("others", expected="(values, indptr)", got=f"{len(others)} members")
    values, indptr = others if isinstance(others, tuple) else (others, None)
    read = read_scores(values, rules.dtype, "others")
    if read.dtype != true.dtype:
        raise InputTypeError("others", expected=f"{true.dtype}, as true_scores are", got=read.dtype)
    shape = shape_of(read)
    job = job_of_blocks = prepare_job((tasks, 0), ..., None, None, None, rules)
    if indptr is None:
        check_shape("others", shape, 2, "a matrix (tasks, k), or (values, indptr)")
        check_shape("others", shape, (tasks, shape[1]), f"{tasks} rows, one for each task")
    else:
        indptr = index_array("others: indptr", indptr)
        check_shape("others", shape, 1, "1-D values")
        check_indptr("others", indptr, tasks, shape[0], "values")
        lists = _core.Selection.of_ranges(indptr)
        if isinstance(read, Store):  # which is counted in tiles, and ranges are not cut
            lists = _core.Selection(indptr, np.arange(indptr[-1]))
        job_of_blocks = job._replace(rows=np.zeros(tasks, np.int64), candidates=lists)
    counts, fault = begin_count(read, job_of_blocks, true.scores)[0]()
    if fault:
        place = f"the score at row {fault.row}, column {fault.column}"
        if indptr is not None:
            task = int(np.searchsorted(indptr, fault.column, side="right")) - 1
            place = f"the score at position {fault.column}, of task {task},"
        raise forbidden_nan("others", place, rules.nan)
    report(tasks)
    counts = PartialCounts(counts, job.rules).final_counts(true)
    return job.ranks(counts, true.dtype, sampled=True)
