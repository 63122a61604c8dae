"""Lists of some candidates: top-k lists, checked, which may miss the target; sampled negatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from .. import _core
from ..arrays.row_keys import cut_blocks, distinct, factorize, first_equals, row_keys
from ..errors import InputTypeError, InputValueError, Option, argument_names
from ..inputs.array_likes import (
    array_shape,
    as_array,
    as_scores,
    check_shape,
    native_indices,
    refuse_rounded,
    signed_ids,
    without_index,
)
from ..inputs.checks import forbidden_nan, integer
from ..inputs.progress_listeners import reporter
from ..inputs.rules import PLAIN, ListOptions, RuleOptions, Rules, read_rules, with_options
from ..inputs.selection import lengths_to_indptr, pair_indptr
from ..naming import format_count, public
from ..ranks.container import Ranks
from ..stores import Store, in_one_array, read_scores, shape_of
from .driver import count_scores
from .job import NO_COLUMN, NO_TARGETS, Job, prepare_job, refuse_places
from .orders import refuse_doubtful_lists
from .partial_counts import (
    are_nan,
    final_counts,
    first_forbidden_nan,
    native_scores,
    read_true_scores,
    zero_counts,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import IntArray
    from .partial_counts import Flags

PAD = -1
REPEATS = Option("duplicates", effect="says what a repeat is")
_FORMS = f"a matrix (lists, width) padded with {PAD}, (indptr, values), or a list of lists"
_SHOWN = 5


@public("truerank")
class TopK(NamedTuple):
    """The k most similar candidates of every task, in descending order of their scores.

    Attributes
    ----------
    ids : ndarray of int64, shape (tasks, k)
        Entities; the rest is -1 if a task has fewer than k candidates.
    scores : ndarray of float32 or float64, shape (tasks, k)
        Their scores; NaN where there is no candidate.

    Examples
    --------
    >>> print(TopK(np.array([[2, 0], [1, -1]]), np.array([[0.5, 0.25], [3, np.nan]])))
    top 2 of 2 tasks: entity (score)
    task 0: 2 (0.5), 0 (0.25)
    task 1: 1 (3)
    """

    ids: npt.NDArray[Any]
    scores: npt.NDArray[Any]

    def __str__(self) -> str:
        tasks, k = self.ids.shape
        lines = [f"top {k:,} of {tasks:,} tasks: entity (score)"]
        first = zip(self.ids[:_SHOWN].tolist(), self.scores[:_SHOWN].tolist(), strict=True)
        for task, (ids, scores) in enumerate(first):
            pairs = zip(ids, scores, strict=True)
            cells = [f"{i} ({score:.6g})" for i, score in pairs if i != -1]
            if len(cells) > _SHOWN:
                cells[_SHOWN:] = [f"{len(cells) - _SHOWN:,} more"]
            lines.append(f"task {task}: {', '.join(cells) or 'none'}")
        if tasks > _SHOWN:
            lines.append(f"{tasks - _SHOWN:,} more tasks")
        return "\n".join(lines)


class CandidateLists(NamedTuple):
    """Lists of ids: list i has ``ids[indptr[i]:indptr[i + 1]]``, and the scores of these positions.

    Ids are int32 or int64, contiguous; whether they are within range and distinct is not checked
    here. Scores are one-dimensional and contiguous; None: the order of the ids says all. Of lists
    by name, whose scores are in the same argument, `score_at` says whose score is at a position.
    `contradiction` is what ranks beside the scores say against them, and `remedies` name what the
    caller takes for ids that a list repeats.
    """

    indptr: IntArray
    ids: npt.NDArray[Any]
    scores: _core.Scores | None
    score_at: Callable[[int], str] | None = None
    contradiction: str = ""
    remedies: tuple[Option, ...] = ()

    @property
    def argument(self) -> str:
        """The argument that has the scores."""
        return "ids" if self.score_at else "scores"

    def without_pads(self) -> CandidateLists:
        """Leave out the pads, -1, which stand at the ends of lists alone."""
        is_pad: npt.NDArray[np.bool_] = self.ids == PAD
        is_before_id = is_pad[:-1] & ~is_pad[1:]
        starts = self.indptr[(self.indptr > 0) & (self.indptr < len(self.ids))]
        is_before_id[starts - 1] = False  # That id is of the next list.
        if is_before_id.any():
            got = f"an id after a pad in list {self.place(int(is_before_id.argmax()))[0]}"
            raise InputValueError("ids", expected=f"pads ({PAD}) only at the end", got=got)
        if not is_pad.any():
            return self
        n_pads_before = np.searchsorted(np.flatnonzero(is_pad), self.indptr)
        return self._keep(~is_pad, self.indptr - n_pads_before)

    def once(self, rules: Rules) -> CandidateLists:
        """Keep each id of a list once, as `best_rows` does."""
        rows = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        best = best_rows(row_keys([rows, self.ids]), self.scores, rules)
        lengths = np.bincount(rows[best], minlength=len(self.indptr) - 1)
        return self._keep(best, lengths_to_indptr(lengths))

    def _keep(self, positions: IntArray | Flags, indptr: IntArray) -> CandidateLists:
        """Keep the entries at some positions; lists by name, with a `score_at`, are not cut."""
        scores = self.scores
        if scores is not None:
            scores = scores.with_array(scores.array[positions])
        return CandidateLists(indptr, self.ids[positions], scores)

    def place(self, position: int) -> tuple[int, int]:
        """Return the list that has a position of the ids, and the position within that list."""
        row = int(np.searchsorted(self.indptr, position, side="right")) - 1
        return row, position - int(self.indptr[row])


def best_rows(keys: IntArray, scores: Any, rules: Rules) -> IntArray:
    """Return the row of each key that has its best score, ascending; else its first row.

    Of equal scores the first counts, and NaN is worse than all numbers.
    """
    if scores is None:
        return np.sort(factorize(keys).first())
    score_keys, lowest, *_ = as_scores(scores, rules.dtype).keys()
    is_nan = score_keys < lowest
    best_first = np.lexsort((score_keys if rules.is_ascending else ~score_keys, is_nan))
    return np.sort(best_first[factorize(keys[best_first]).first()])


def as_lists(ids: Any, scores: Any, dtype: Any = None) -> CandidateLists:
    """Check the shapes of lists of ids and of their scores, in any form that `rank_lists` takes.

    A matrix has pads, -1, only at the end of a row, and what is at a pad of the scores is ignored.

    >>> lists = as_lists([[3, 1], [2]], None)
    >>> lists.indptr, lists.ids
    (array([0, 2, 3]), array([3, 1, 2]))
    """
    given_ids, indptr = _values_and_indptr("ids", ids)
    if indptr[-1] == 0:
        given_ids = []  # Without ids, their dtype says nothing.
    dtype_of_ids = getattr(given_ids, "dtype", None)
    is_float_of_torch = getattr(dtype_of_ids, "is_floating_point", False)
    is_float_of_numpy = getattr(dtype_of_ids, "kind", "") == "f"
    if is_float_of_torch or is_float_of_numpy:
        expected = "integers, and the scores behind them"
        raise InputTypeError("ids", expected=expected, got=f"dtype {dtype_of_ids}")
    id_array = native_indices("ids", signed_ids(given_ids))
    flat_scores = None
    if scores is not None:
        given_scores, score_indptr = _values_and_indptr("scores", scores)
        if not np.array_equal(score_indptr, indptr):
            expected = f"lists that end at {indptr[1:]}, as the ids"
            raise InputValueError("scores", expected=expected, got=score_indptr[1:])
        checked_scores = as_scores(given_scores, dtype)
        flat_array = np.ascontiguousarray(checked_scores.array).reshape(-1)
        flat_scores = checked_scores.with_array(flat_array)
    lists = CandidateLists(indptr, id_array.reshape(-1), flat_scores)
    # Pads stand at the ends, so that there are none if the last column has none.
    if id_array.ndim == 2 and (id_array[:, -1] == PAD).any():
        return lists.without_pads()
    return lists


def _values_and_indptr(name: str, value: Any) -> tuple[Any, IntArray]:
    """Return the values of lists in any form, and their indptr; a matrix stays as it is."""
    if isinstance(value, tuple) and len(value) == 2:
        values = value[1]
        check_shape(name, array_shape(name, values), 1, "(indptr, values) with 1-D values")
        return values, pair_indptr(name, value, len(values))
    if isinstance(value, list):
        arrays = [as_array(without_index(item), name, _FORMS) for item in value]
        for array in arrays:
            check_shape(name, array.shape, 1, _FORMS)
        # An empty array has a dtype of its own, which says nothing about the others.
        filled = [array for array in arrays if len(array)] or [np.empty(0)]
        try:
            values = np.concatenate(filled)
        except TypeError:  # Dates beside names are an example.
            raise InputTypeError(name, expected=_FORMS, got="lists of unlike dtypes") from None
        refuse_rounded(name, value, values)
        return values, lengths_to_indptr([len(array) for array in arrays])
    has_shape = isinstance(getattr(value, "shape", None), tuple)
    matrix = value if has_shape else as_array(value, name, _FORMS)
    check_shape(name, tuple(matrix.shape), 2, _FORMS)
    height, width = matrix.shape
    return matrix, lengths_to_indptr(np.full(height, width))


@public("truerank")
@with_options(ListOptions)
def rank_lists(
    ids: Any,
    scores: Any,
    targets: Any,
    *,
    candidates: int,
    rows: Any = None,
    filter: Any = None,
    **options: Unpack[ListOptions],
) -> Ranks:
    """Count, for every task, what is above its target and tied with it, from a top-k list.

    A list has some of a query's n candidates, such as the best hundred that rules, a language model
    or a reranker give. Candidates that are not listed count as below all that are. Let S be the
    candidates of a task: those of n that the filter does not leave out, and the target.

    - A target that is listed counts as usual among the listed scores: ``above`` = #{b listed in S :
      b > a}, ``tied`` = #{b listed in S : b == a}.
    - A target that is not listed is a miss, and tied with all that are neither listed nor filtered:
      ``above`` = #{listed in S}, ``tied`` = #S - above, itself included. So its optimistic and
      pessimistic ranks are the bounds of its rank in the full ranking.

    ``candidates`` is #S in both cases. With lists of all n candidates, the counts are those of
    `rank`.

    Parameters
    ----------
    ids : array_like of int, shape (lists, width), or (indptr, values), or list of lists
        The candidates of each list, from 0 to `candidates` - 1, each at most once in a list. Short
        rows of a matrix end with pads, -1. In ``(indptr, values)``, list i has
        ``values[indptr[i]:indptr[i + 1]]``.
    scores : array_like, (indptr, values), list of lists, or None
        Their scores, of the same form and shape and of a dtype that `rank` takes, in any order: the
        scores decide, not the positions. Scores that nearly always rise are refused unless `order`
        is given (see Raises). None: the positions decide, the best first, and no two that are
        listed are tied.
    targets : array_like of int, shape (tasks,), or int
        The true candidate of each task.
    candidates : int
        The number of candidates in all, n: of entities, documents or items.
    rows : array_like of int, shape (tasks,), optional
        The list that each task reads, in any order and with repeats. Default: task i reads list i.
    filter : selection, optional
        Candidates to leave out, per task, listed or not, as in `rank`. The target is never left
        out.
    progress : callable or bool, optional
        Called with a `Progress` at the start, when ids are checked and when all is counted, in
        bytes of ids and scores. True: a bar of tqdm.
    order, nan, dtype, threads
        As in `rank`. Under "worst", a NaN that is listed is a candidate, never above and never
        tied, also where the target is a miss; under "omit" it is no candidate. Without scores,
        `order` has no effect.

    Returns
    -------
    Ranks
        ``ranks.listed`` says which tasks have their target in their list; the protocol says that
        the counts are from lists.

    Raises
    ------
    TypeError
        For ids, targets or rows that are not integers, and for scores of another dtype.
    ValueError
        For an id that a list has twice or that is out of range, a list that is longer than
        `candidates`, a pad that is not at the end, unlike shapes of ids and scores, and a NaN that
        the rule forbids; the error names the list and the position. Also as `rank` does. Without
        `order`, for scores that rise in 95 % of the lists of three entries and more, 12 entries in
        all, and there at 95 % of the steps between unlike scores (a list of two that falls counts):
        say "ascending" for distances, "descending" where the best is last; and
        for places or points: scores that are 1 to n, or 0 to n - 1, in each list of n, and rise
        somewhere.

    Notes
    -----
    Beside its input, this takes some integers per task, and 8 bytes for every id that is listed and
    filtered; tasks that share both lists share these bytes. A matrix with pads is copied without
    them.

    Examples
    --------
    The list has three of ten candidates; the second task's target is not among them:

    >>> import truerank as tr
    >>> ranks = tr.rank_lists([[4, 7, 1]], [[0.9, 0.5, 0.5]], [7, 2], candidates=10, rows=[0, 0])
    >>> ranks.optimistic, ranks.pessimistic
    (array([2, 4]), array([ 3, 10]))
    >>> ranks.listed
    array([ True, False])

    Without scores, and with a filter that leaves out the best of the list and an unlisted one:

    >>> tr.rank_lists([[4, 7, 1]], None, [2], candidates=10, filter=[[4, 9]]).pessimistic
    array([8])

    """
    rules = read_rules(options, ListOptions, rank_lists)
    n = integer("candidates", candidates, least=0, most=int(np.iinfo(np.int64).max))
    lists = as_lists(ids, scores, rules.dtype)
    shape = len(lists.indptr) - 1, n
    job = prepare_job(shape, targets, rules, rows=rows, filter=filter, may_share_row=False)
    return rank_checked_lists(lists, job, n)


def rank_checked_lists(
    lists: CandidateLists,
    job: Job,
    n: int,
    *,
    sizes: IntArray | None = None,
    are_listed_alone: bool = False,
    files: tuple[str, ...] = (),
) -> Ranks:
    """Rank the tasks of a job by lists of ids below n, also where candidates are some of all n.

    The candidates of a task are all that its filter leaves; or so many of these as `sizes`, int64
    of shape (tasks,), says, with the target; or those that its list has, and the target. The filter
    has what is listed and is no candidate. `files` have the lists, for the protocol.
    """
    rules = job.rules
    rows = job.all_rows
    tasks_by_list = np.argsort(rows, kind="stable")  # The core takes tasks in this order.
    rows = rows[tasks_by_list]
    job = job.part(tasks_by_list, rows)
    score_bytes = 0 if lists.scores is None else lists.scores.array.nbytes
    total_bytes = lists.ids.nbytes + score_bytes
    report_progress = reporter(rules.progress, total_bytes)
    report_progress(0)
    # "target" is the position of the target among all ids, or -1. Of "n_filtered" ids that the
    # filter leaves out, "n_filtered_listed" are in the list, "n_filtered_before" before the target,
    # or at all if that is not listed.
    fault, positions = _core.find_listed(
        _core.Selection(lists.indptr, lists.ids),
        n,
        rows,
        job.targets,
        job.filter,
        rules.num_threads,
    )
    if fault is not None:
        raise _id_error(lists, n, *fault)
    are_in_order = _look_at_order(lists, rules)
    if score_bytes:
        report_progress(lists.ids.nbytes)
    are_listed = positions["target"] >= 0
    ids_in_list = np.diff(lists.indptr)[rows]
    lengths = np.where(ids_in_list, ids_in_list - positions["n_filtered_listed"], -1)  # -1: no ids
    if are_listed_alone:  # A target that is not listed is one more.
        candidates = lengths.clip(0) + ~are_listed
    elif sizes is not None:
        candidates = sizes[tasks_by_list]
    else:
        candidates = n - positions["n_filtered"]
    if lists.scores is None:
        dtype = None
        source = "order alone"
        rules = PLAIN  # Without scores, `order` has no effect.
        true_scores = _core.Scores(np.zeros(len(are_listed), np.int64), "int64", False)
        counts = _counts_by_order(lists, job, positions)
    else:
        dtype = lists.scores.dtype
        source = "scores"
        true_scores, counts = _counts_by_score(
            lists, lists.scores, job, positions, are_in_order=are_in_order
        )
    counts = _with_unlisted(counts, are_listed, candidates, rules)
    arrays = final_counts(counts, true_scores, rules) | {"listed": are_listed, "lengths": lengths}
    if total_bytes:
        report_progress(total_bytes)
    arrays = {name: array[np.argsort(tasks_by_list)] for name, array in arrays.items()}
    depth = int(ids_in_list.max(initial=0)) or None
    return job.ranks(arrays, dtype, files, lists=source, depth=depth)


def _id_error(lists: CandidateLists, n: int, place: int, earlier: int) -> InputValueError:
    """Return the error for an id that its list has `earlier`, too, or else is out of range."""
    i, position = lists.place(place)
    wrong = f"{lists.ids[place]} in list {i}"
    if earlier >= 0:
        _, first_position = lists.place(earlier)
        expected = "every id at most once in a list"
        n_lists = len(lists.indptr) - 1
        rows = np.repeat(np.arange(n_lists), np.diff(lists.indptr))
        is_repeat = first_equals(row_keys([rows, lists.ids])) != np.arange(len(rows))
        n_repeating = len(distinct(rows[is_repeat]))
        got = f"{wrong}, at positions {first_position} and {position}"
        got += f"; {n_repeating:,} of {format_count(n_lists, 'list')} have repeats"
        return InputValueError("ids", "", expected, got, remedies=lists.remedies)
    expected = f"ids from 0 to {n - 1} ({n} candidates)"
    if lists.ids[place] == PAD:
        expected += f" and pads ({PAD}) only at the end of a row of an array"
    return InputValueError("ids", expected=expected, got=f"{wrong}, at position {position}")


def _look_at_order(lists: CandidateLists, rules: Rules) -> bool:
    """Return whether lists have the best score first; refuse doubtful ones if no order is named."""
    if lists.scores is None or not lists.scores.array.nbytes:
        return False
    are_in_order = _are_in_order(lists.indptr, lists.scores, rules)
    # Lists with the best first rise nowhere.
    if not rules.is_order_named and (lists.contradiction or not are_in_order):
        refuse_doubtful_lists(lists.argument, lists.indptr, lists.scores, lists.contradiction)
    return are_in_order


def _counts_by_order(
    lists: CandidateLists, job: Job, positions: Mapping[str, IntArray]
) -> dict[str, IntArray]:
    """Count what is listed before each target, or all that is listed where it is a miss (-1)."""
    rows = job.all_rows
    begin = lists.indptr[rows]
    end = lists.indptr[rows + 1]
    are_listed = positions["target"] >= 0
    n_before = np.where(are_listed, positions["target"], end) - begin
    return zero_counts(len(rows), PLAIN) | {
        "above": n_before - positions["n_filtered_before"],
        "candidates": end - begin - positions["n_filtered_listed"] - are_listed,
    }


def _counts_by_score(
    lists: CandidateLists,
    scores: _core.Scores,
    job: Job,
    positions: Mapping[str, IntArray],
    *,
    are_in_order: bool,
) -> tuple[_core.Scores, dict[str, IntArray]]:
    """Return the score of each target, and counts of what is listed, compared with it.

    The score of a target that is a miss (-1) is 0, and has no meaning. Where lists have the best
    first, positions tell what is above, but for targets whose neighbours have the same score.
    """
    target_positions = positions["target"]
    are_listed = target_positions >= 0
    values = np.zeros(len(target_positions), scores.array.dtype)
    values[are_listed] = scores.array[target_positions[are_listed]]
    true_scores = native_scores(values, scores.dtype)
    task = first_forbidden_nan(true_scores, job.rules.nan)
    if task >= 0:
        raise _nan_error(lists, int(target_positions[task]), job.rules.nan)
    if not are_in_order:
        every_task = slice(None)
        return true_scores, _count_tasks(lists, scores, job, positions, true_scores, every_task)
    counts = _counts_by_order(lists, job, positions)
    if job.rules.is_ascending:  # "above" counts the greater scores, which come later.
        counts["above"] = counts["candidates"] - counts["above"]
    (listed_tasks,) = np.nonzero(are_listed)
    are_tied = np.zeros(len(listed_tasks), np.bool_)
    for step in (-1, 1):  # Neighbours in another list do no harm: these tasks are counted, too.
        neighbours = target_positions[listed_tasks] + step
        are_tied |= scores.array.take(neighbours, mode="wrap") == values[listed_tasks]
    tied_tasks = listed_tasks[are_tied]
    if len(tied_tasks):
        counts_of_tied = _count_tasks(lists, scores, job, positions, true_scores, tied_tasks)
        for name in ("above", "tied"):
            counts[name][tied_tasks] = counts_of_tied[name]
    return true_scores, counts


def _are_in_order(indptr: IntArray, scores: _core.Scores, rules: Rules) -> bool:
    """Whether each list has the best score first, and no NaN; False of dtypes numpy lacks."""
    array = scores.array
    if array.dtype.name != scores.dtype or not len(array):
        return False
    is_step = np.greater_equal if rules.is_ascending else np.less_equal
    begins = indptr[:-1][np.diff(indptr) > 0]
    starts = begins[1:]  # The step to one of these is from another list.
    with np.errstate(invalid="ignore"):  # One of the NaN may be a signalling one.
        has_numbers = (array[begins] == array[begins]).all()
        n_steps = -int(np.count_nonzero(is_step(array[starts], array[starts - 1])))
        for block in cut_blocks(len(array) - 1):
            n_steps += int(np.count_nonzero(is_step(array[1:][block], array[:-1][block])))
    return bool(has_numbers) and n_steps == len(array) - len(begins)


def _count_tasks(
    lists: CandidateLists,
    scores: _core.Scores,
    job: Job,
    positions: Mapping[str, IntArray],
    true_scores: _core.Scores,
    tasks: slice | IntArray,
) -> dict[str, IntArray]:
    """Count what is listed, compared with the true scores of some tasks.

    All lists become one row of scores, in which the candidates of a task are the range of its list,
    and a position is a column.
    """
    filtered = None
    if positions["n_filtered_listed"].any():
        filtered = _core.Selection(
            positions["filter_indptr"],
            positions["filter_indices"],
            positions["filter_lists"][tasks],
        )
    targets = np.where(positions["target"] >= 0, positions["target"], NO_COLUMN)[tasks]
    in_one_row = replace(
        job,
        rows=np.zeros_like(targets),
        targets=targets,
        filter=filtered,
        candidates=_core.Selection.of_ranges(lists.indptr, job.all_rows[tasks]),
        true_scores=true_scores.array[tasks],
    )
    counts = in_one_row.count(scores)
    if counts.fault is not None:
        raise _nan_error(lists, counts.fault.column, job.rules.nan)
    return counts.arrays


def _with_unlisted(
    counts: dict[str, IntArray], are_listed: Flags, candidates: IntArray, rules: Rules
) -> dict[str, IntArray]:
    """Return the counts of lists with the unlisted candidates, worse than all that are listed.

    All unlisted candidates of a task are tied; so is its target, if it is not listed. `candidates`
    has the number of all candidates of each task, its target included; counts leave the target out.
    """
    others = candidates - 1  # without the target
    unlisted = others - counts["candidates"]
    if rules.is_ascending:  # "above" counts the greater scores, which are the worse ones.
        above_listed_target = counts["above"] + unlisted
        above_missed_target = np.zeros_like(unlisted)
    else:
        above_listed_target = counts["above"]
        above_missed_target = counts["candidates"] - counts["nan"]
    return counts | {
        "above": np.where(are_listed, above_listed_target, above_missed_target),
        "tied": np.where(are_listed, counts["tied"], unlisted),
        "candidates": others,
    }


def _nan_error(lists: CandidateLists, place: int, rule: str) -> InputValueError:
    """Return the error for a score that is NaN, which the rule forbids."""
    if lists.score_at is not None:
        return forbidden_nan("ids", lists.score_at(place), rule)
    i, position = lists.place(place)
    return forbidden_nan("scores", f"the score in list {i}, at position {position},", rule)


# -- sampled negatives, which have no columns ------------------------------------------------------


@public("truerank")
@with_options(RuleOptions)
def rank_against(true_scores: Any, others: Any, **options: Unpack[RuleOptions]) -> Ranks:
    """Count, for every task, the other scores above its true score, and those equal to it.

    This is the form of sampled negatives that OGB's evaluators take (`y_pred_pos`, `y_pred_neg`).
    All scores are counted as given, also repeats, and the true score is counted once in addition.

    Parameters
    ----------
    true_scores : array_like, shape (tasks,) or (tasks, 1)
        The score of each task's true candidate.
    others : array_like, shape (tasks, k) or (1, k), or (indptr, values)
        The scores of each task's other candidates, of the same dtype: a matrix with as many rows as
        there are tasks has a list for each, and a single row is one list for all, as OGB has it for
        ogbl-ppa, collab and ddi (there in one dimension: give ``others[None]``). One dimension is
        the list of a single task. If their number differs from task to task, ``values`` of shape
        (entries,) has those of task i in ``values[indptr[i]:indptr[i + 1]]``.
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
    others take (n + k) log(k) steps, not n k, and some 8-byte integers for each task and score.

    Examples
    --------
    >>> import numpy as np
    >>> import truerank as tr
    >>> tr.rank_against([0.5, 0.2], [[0.1, 0.9], [0.2, 0.3]]).pessimistic
    array([2, 3])
    >>> tr.rank_against([0.5, 0.2], ([0, 2, 3], np.array([0.1, 0.9, 0.3]))).candidates
    array([3, 2])
    >>> tr.rank_against([0.5, 0.2], [[0.1, 0.9, 0.3]]).pessimistic
    array([2, 3])
    """
    rules = read_rules(options, RuleOptions, rank_against)
    checked_true_scores = read_true_scores(true_scores, rules.dtype, rules.nan)
    tasks = len(checked_true_scores.array)
    dtype = checked_true_scores.dtype
    report_progress = reporter(rules.progress, tasks, "tasks")
    report_progress(0)
    scores, indptr = _read_others(others, tasks, rules)
    if scores.dtype != dtype:
        raise InputTypeError("others", expected=f"{dtype}, as true_scores are", got=scores.dtype)
    job = prepare_job((tasks, 0), NO_TARGETS, rules)
    job.true_scores = checked_true_scores.array
    shape = shape_of(scores)
    is_flat = indptr is None and len(shape) == 1 and tasks < 2
    is_single_row = len(shape) == 2 and shape[0] == 1 and tasks != 1
    if is_flat or is_single_row:
        counts = _count_shared_list(scores, rules, checked_true_scores)
    else:
        counts = _count_each_list(scores, indptr, job)
    report_progress(tasks)
    return job.ranks(final_counts(counts, checked_true_scores, rules), dtype, sampled=True)


def _read_others(others: Any, tasks: int, rules: Rules) -> tuple[Any, IntArray | None]:
    """Return the other scores of `rank_against`, and the indptr of a pair (indptr, values)."""
    is_pair = isinstance(others, tuple)
    if is_pair and len(others) != 2:
        raise InputValueError("others", expected="(indptr, values)", got=f"{len(others)} members")
    with argument_names(scores="others"):
        scores = read_scores(others[1] if is_pair else others, rules.dtype)
        refuse_places(scores, rules)
    shape = shape_of(scores)
    if is_pair:
        check_shape("others", shape, 1, "(indptr, values) with 1-D values")
        return scores, pair_indptr("others", others, shape[0], tasks)
    return scores, None


def _count_each_list(
    scores: _core.Scores | Store, indptr: IntArray | None, job: Job
) -> dict[str, IntArray]:
    """Count a list of other scores for each task: a row, or with an indptr a range of one row."""
    tasks = len(job.targets)
    if indptr is None:
        forms = f"({tasks}, k), a list for each task; (1, k), one for all; or (indptr, values)"
        shape = shape_of(scores)
        check_shape("others", shape, 2, forms)
        check_shape("others", shape, (tasks, shape[1]), forms)
        counts = count_scores(scores, job)
    else:
        # Scores of a store are counted in tiles, which cut selections of indices, not of ranges.
        if isinstance(scores, Store):
            lists = _core.Selection(indptr, np.arange(indptr[-1]))
        else:
            lists = _core.Selection.of_ranges(indptr)
        in_one_row = replace(job, rows=np.zeros(tasks, np.int64), candidates=lists)
        counts = count_scores(scores, in_one_row)
    fault = counts.fault
    if fault is None:
        return counts.arrays
    if indptr is None:
        place = f"the score at row {fault.row}, column {fault.column}"
    else:
        task = int(np.searchsorted(indptr, fault.column, side="right")) - 1
        place = f"the score at position {fault.column}, of task {task},"
    raise forbidden_nan("others", place, job.rules.nan)


def _count_shared_list(
    scores: _core.Scores | Store, rules: Rules, true_scores: _core.Scores
) -> dict[str, IntArray]:
    """Count one list of other scores for all tasks, which is sorted once."""
    in_memory = in_one_array(scores)
    flat = in_memory.with_array(in_memory.array.reshape(-1))
    keys, lowest, highest, are_floats = flat.keys()
    is_nan = keys < lowest
    n_nan = np.count_nonzero(is_nan)
    if n_nan and rules.nan == "raise":
        raise forbidden_nan("others", f"the score at position {is_nan.argmax()}", rules.nan)
    sorted_keys = np.sort(keys)
    # True scores in order find their places many times faster than in disorder.
    true_keys, *_ = true_scores.keys()
    order = np.argsort(true_keys)
    ordered_keys = true_keys[order]
    n_below = np.empty_like(true_keys)
    n_below[order] = np.searchsorted(sorted_keys, ordered_keys, side="left")
    n_not_above = np.empty_like(true_keys)
    n_not_above[order] = np.searchsorted(sorted_keys, ordered_keys, side="right")
    is_number = ~are_nan(true_scores)
    counts = {
        "above": np.where(is_number, len(keys) - n_not_above, 0),
        "tied": np.where(is_number, n_not_above - n_below, 0),
        "candidates": np.full_like(true_keys, len(keys)),
        "nan": np.full_like(true_keys, n_nan),
        "differing": np.zeros_like(true_keys),
    }
    if rules.audit:
        numbers = sorted_keys[n_nan:]  # The keys of NaN are below.
        # Without numbers, the best key is the worst one.
        best = numbers.min(initial=highest) if rules.is_ascending else numbers.max(initial=lowest)
        is_infinite = are_floats & ((numbers == lowest) | (numbers == highest))
        counts["best"] = np.full_like(true_keys, best)
        counts["at_best"] = np.full_like(true_keys, np.count_nonzero(numbers == best))
        counts["inf"] = np.full_like(true_keys, np.count_nonzero(is_infinite))
    return counts
