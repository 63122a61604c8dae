"""Sampled negatives: ranks of true scores among other scores that have no columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .._core import Scores, Selection
from ..errors import InputTypeError, InputValueError, argument_names
from ..inputs.checks import check_shape, forbidden_nan
from ..inputs.progress_listeners import reporter
from ..inputs.rules import RuleOptions, read_rules, with_options
from ..inputs.selection import indptr_of_pair
from ..naming import public
from ..stores import Store, read_scores, shape_of
from .driver import count_source
from .job import prepare_job
from .partial_counts import PartialCounts, read_true_scores
from .sources import source_of

if TYPE_CHECKING:
    from ..arrays.types import IntArray
    from ..inputs.rules import Rules
    from ..ranks.container import Ranks
    from .job import Job
    from .partial_counts import TrueScores

# A list for all tasks that is not in memory is read in tiles of so many bytes.
TILE_BYTES = 64 << 20


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
    true_scores : array_like, shape (tasks,) or (tasks, 1)
        The score of each task's true candidate.
    others : array_like, shape (tasks, k), (k,) or (1, k), or (indptr, values)
        The scores of each task's other candidates, of the same dtype: a matrix with as many rows as
        there are tasks has a list for each, and a single row is one list for all, as OGB has it for
        ogbl-ppa, collab and ddi. (One other score for each task is a matrix (tasks, 1).) If their
        number differs from task to task, ``values`` of shape (entries,) has those of task i in
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

    Notes
    -----
    A list for all tasks is sorted once, and the true scores are looked up in it: n tasks and k
    others take (n + k) log(k) steps, not n k, and some 8-byte integers for each of both.

    Examples
    --------
    >>> import numpy as np
    >>> import truerank as tr
    >>> tr.rank_against([0.5, 0.2], [[0.1, 0.9], [0.2, 0.3]]).pessimistic
    array([2, 3])
    >>> tr.rank_against([0.5, 0.2], ([0, 2, 3], np.array([0.1, 0.9, 0.3]))).candidates
    array([3, 2])
    >>> tr.rank_against([0.5, 0.2], [0.1, 0.9, 0.3]).pessimistic
    array([2, 3])
    """
    rules = read_rules(options, RuleOptions, rank_against)
    true = read_true_scores(true_scores, rules.dtype, rules.nan)
    tasks = len(true.scores)
    report_progress = reporter(rules.progress, tasks, "tasks")
    report_progress(0)
    values = others
    if isinstance(others, tuple):
        if len(others) != 2:
            got = f"{len(others)} members"
            raise InputValueError("others", expected="(indptr, values)", got=got)
        values = others[1]
    with argument_names(scores="others"):
        read = read_scores(values, rules.dtype)
    indptr = None
    if isinstance(others, tuple):
        check_shape("others", shape_of(read), 1, "(indptr, values) with 1-D values")
        indptr = indptr_of_pair("others", others, shape_of(read)[0], tasks)
    if read.dtype != true.dtype:
        raise InputTypeError("others", expected=f"{true.dtype}, as true_scores are", got=read.dtype)
    job = prepare_job((tasks, 0), ..., None, None, None, rules)
    if indptr is not None:
        counts = _counts_of_lists(read, indptr, job, true)
    elif _is_shared(shape_of(read), tasks):
        counts = _counts_of_shared(read, job.rules, true)
    else:
        counted = count_source(source_of(read, "map"), job, true.scores)
        counts = counted.arrays
        fault = counted.fault
        if fault is not None:
            place = f"the score at row {fault.row}, column {fault.column}"
            raise forbidden_nan("others", place, rules.nan)
    report_progress(tasks)
    counts = PartialCounts(counts, job.rules).final_counts(true)
    return job.ranks(counts, true.dtype, sampled=True)


def _is_shared(shape: tuple[int, ...], tasks: int) -> bool:
    """Whether other scores are one list for all tasks; else they are a list for each."""
    if len(shape) == 1 or (len(shape) == 2 and shape[0] == 1 != tasks):
        return True
    forms = f"({tasks}, k), a list for each task; (k,), one for all; or (indptr, values)"
    check_shape("others", shape, 2, forms)
    check_shape("others", shape, (tasks, shape[1]), forms)
    return False


def _counts_of_lists(
    read: Scores | Store, indptr: IntArray, job: Job, true: TrueScores
) -> dict[str, IntArray]:
    """Count lists of unlike lengths: the ranges of one row, or the lists of its columns."""
    if isinstance(read, Store):
        # A store is counted in tiles, and ranges are not cut.
        lists = Selection(indptr, np.arange(indptr[-1]))
    else:
        lists = Selection.of_ranges(indptr)
    in_one_row = replace(job, rows=np.zeros(len(true.scores), np.int64), candidates=lists)
    counted = count_source(source_of(read, "map"), in_one_row, true.scores)
    fault = counted.fault
    if fault is not None:
        task = int(np.searchsorted(indptr, fault.column, side="right")) - 1
        place = f"the score at position {fault.column}, of task {task},"
        raise forbidden_nan("others", place, job.rules.nan)
    return counted.arrays


def _counts_of_shared(read: Scores | Store, rules: Rules, true: TrueScores) -> dict[str, IntArray]:
    """Count one list of other scores for all tasks, which is sorted once."""
    keys, bottom, top, floating = _keys(read)
    is_nan = keys < bottom
    nan = np.count_nonzero(is_nan)
    if nan and rules.nan == "raise":
        raise forbidden_nan("others", f"the score at position {is_nan.argmax()}", rules.nan)
    in_order = np.sort(keys)
    # True scores in order find their places many times faster than in disorder.
    true_keys, *_ = true.keys()
    by_key = np.argsort(true_keys)
    wanted = true_keys[by_key]
    below = np.empty_like(wanted)
    up_to = np.empty_like(wanted)
    below[by_key] = np.searchsorted(in_order, wanted, side="left")
    up_to[by_key] = np.searchsorted(in_order, wanted, side="right")
    is_number = ~true.nan
    zeros = np.zeros_like(wanted)
    counts = {
        "above": np.where(is_number, len(keys) - up_to, 0),
        "tied": np.where(is_number, up_to - below, 0),
        "candidates": zeros + len(keys),
        "nan": zeros + nan,
        "differing": zeros,
    }
    if rules.audit:
        numbers = in_order[nan:]
        if rules.is_ascending:
            best = int(numbers.min(initial=top))  # Without numbers, this is the worst key.
        else:
            best = int(numbers.max(initial=bottom))
        infinite = int(np.count_nonzero((numbers == bottom) | (numbers == top))) if floating else 0
        counts["inf"] = zeros + infinite
        counts["best"] = zeros + best
        counts["at_best"] = zeros + np.count_nonzero(numbers == best)
    return counts


def _keys(read: Scores | Store) -> tuple[IntArray, int, int, bool]:
    """Return the keys of a row of scores, and what `Scores.keys` says of them."""
    if isinstance(read, Scores):
        return read.with_array(read.array.reshape(-1)).keys()
    keys_of_tiles = []
    for tile in read.tiles(TILE_BYTES):
        with read.block(tile, "map") as block:
            array = block.reshape(-1)
            keys, bottom, top, floating = Scores(array, read.dtype, read.swapped).keys()
            keys_of_tiles.append(keys)
    if not keys_of_tiles:
        return Scores(np.empty(0, read.carrier), read.dtype, read.swapped).keys()
    return np.concatenate(keys_of_tiles), bottom, top, floating
