"""Evaluates scores under the conventions of toolkits: one report, or a table of several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..counting.ranking import rank
from ..counting.sampled import rank_against
from ..inputs.arrays import index_array
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.scores import as_scores
from ..inputs.selection import as_selection
from ..reporting import report as exact_report
from ..stores import in_one_array, read_scores
from .convention_counts import (
    ConventionCounts,
    TaskBlock,
    as_floats,
    count_block,
    counts_of_ranks,
    needs_scores,
    selection_mask,
    task_slices,
)
from .conventions import EXACT, PLACES, Convention, steps_to
from .presets import PRESETS, Preset, preset
from .results import CompatReport, CompatTable

if TYPE_CHECKING:
    from ..inputs.words import ScoreOrder
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike


class ScoredTasks(NamedTuple):
    """Tasks with exact counts, whose scores can be counted under other conventions.

    Attributes
    ----------
    exact : Ranks
        The exact ranks, with ``nan="worst"`` and an audit.
    filtered : bool
        Whether there is a filter.
    blocks : callable
        Yields the scores, block by block, in the order of the tasks.
    """

    exact: Ranks
    filtered: bool
    blocks: Callable[[], Iterator[TaskBlock]]

    def counts(self, conventions: Sequence[Convention]) -> list[ConventionCounts]:
        """Count under several conventions, in one pass over the scores if the scores are needed.

        Parameters
        ----------
        conventions : sequence of Convention
        """
        audit = self.exact.audit
        nonfinite = 0 if audit is None else int(audit.nan.sum() + audit.inf.sum())
        exact = counts_of_ranks(self.exact)
        tied = bool((self.exact.tied > 1).any())
        counting_conventions = [_for_counting(c) for c in conventions]
        counted: dict[Convention, list[ConventionCounts]] = {
            c: [] for c in counting_conventions if needs_scores(c, nonfinite, tied)
        }
        if counted:
            for block in self.blocks():
                for convention, found in counted.items():
                    found.append(count_block(block, convention))
        return [_concatenate(counted[c]) if counted.get(c) else exact for c in counting_conventions]


def _full_tasks(
    scores: Any,
    targets: Any,
    rows: Any,
    filter: Any,
    candidates: Any,
    order: ScoreOrder,
    dtype: Any,
) -> ScoredTasks:
    """Tasks with a score for every candidate, in memory, as `rank` takes them."""
    found = in_one_array(read_scores(scores, dtype))
    selections: dict[str, Any] = {"filter": filter, "candidates": candidates}
    exact = rank(found, targets, rows=rows, **selections, order=order, nan="worst", audit=True)
    tasks, array = len(exact), np.atleast_2d(found.array)
    columns = array.shape[1]
    targets = np.broadcast_to(index_array("targets", targets), tasks)
    if rows is not None:
        rows = index_array("rows", rows)
    else:
        rows = np.arange(tasks) if len(array) > 1 else np.zeros(tasks, int)
    left_out = as_selection("filter", filter, tasks, columns, 0)
    let_in = as_selection("candidates", candidates, tasks, columns, 0)

    def blocks() -> Iterator[TaskBlock]:
        for where in task_slices(tasks, columns):
            values = as_floats(found.with_array(array[rows[where]]), order)
            place = np.arange(len(values)), targets[where]
            is_true = np.zeros(values.shape, bool)
            is_true[place] = True
            others = selection_mask(let_in, where, columns, True) & ~is_true
            filtered = selection_mask(left_out, where, columns, False) & ~is_true
            true_scores = values[place][:, None]
            yield TaskBlock(values, true_scores, others, filtered, is_true, filter is not None)

    return ScoredTasks(exact, filter is not None, blocks)


def _sampled_tasks(true_scores: Any, others: Any, order: ScoreOrder, dtype: Any) -> ScoredTasks:
    """Tasks with scores of sampled negatives, as `rank_against` takes them."""
    exact = rank_against(true_scores, others, order=order, dtype=dtype, nan="worst", audit=True)
    true_column = as_floats(as_scores(true_scores, dtype, "true_scores"), order)[:, None]
    is_ragged = isinstance(others, tuple)
    negatives = as_scores(others[0] if is_ragged else others, dtype, "others")
    if is_ragged:
        indptr = index_array("others: indptr", others[1])
    else:
        indptr = np.arange(len(exact) + 1) * negatives.array.shape[1]
    lengths = np.diff(indptr)
    widest = int(lengths.max(initial=0))

    def blocks() -> Iterator[TaskBlock]:  # short rows are padded
        for where in task_slices(len(exact), widest):
            is_listed = np.arange(widest) < lengths[where, None]
            part = slice(indptr[where.start], indptr[where.stop]) if is_ragged else where
            values = as_floats(negatives.with_array(negatives.array[part]), order)
            if is_ragged:
                padded = np.zeros(is_listed.shape, true_column.dtype)
                padded[is_listed] = values
                values = padded
            none = np.zeros(is_listed.shape, bool)
            yield TaskBlock(values, true_column[where], is_listed, none, none, False)

    return ScoredTasks(exact, False, blocks)


def _for_counting(convention: Convention) -> Convention:
    """Drop what does not affect the counts: the arithmetic, and a place in a tie but by column."""
    by_column = PLACES[convention.rank].before is not None
    return replace(convention, rank=convention.rank if by_column else EXACT.rank, mean=EXACT.mean)


def _concatenate(blocks: list[ConventionCounts]) -> ConventionCounts:
    return ConventionCounts(*(np.concatenate(column) for column in zip(*blocks, strict=True)))


_preset = preset


@public("truerank.compat")
def report(
    scores: Any,
    targets: Any,
    *,
    preset: str | Preset,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    order: ScoreOrder = "descending",
    dtype: Any = None,
    side: LabelsLike | None = None,
) -> CompatReport:
    """Evaluate scores as a toolkit does, and show how its numbers depart from the exact ones.

    Exact counts come from `rank`. If a toolkit's convention changes the counts themselves (a
    tolerance, a transform, another score for filtered candidates), they are counted again in plain
    NumPy, block by block. The scores must be in memory or in a memory map.

    Parameters
    ----------
    scores : array_like, shape (rows, columns) or (columns,)
        A column for each candidate, as in `rank`. Paths are not accepted: open a ``.npy`` file with
        ``np.load(path, mmap_mode="r")``. Integers of 64 bits are not accepted either.
    targets, rows, filter, candidates, dtype
        As in `rank`. The filter holds what the toolkit filters; without it, the result has the
        toolkit's unfiltered numbers.
    preset : str or Preset
        A row of `PRESETS`, or a preset of your own.
    order : {"descending", "ascending"}
        "descending" if higher scores are better. It describes `scores`, not the toolkit.
    side : labels, shape (tasks,), optional
        "head" or "tail" for each task. OpenKE averages the numbers of both sides.

    Returns
    -------
    CompatReport

    Raises
    ------
    KeyError
        For an unknown preset.
    TypeError, ValueError
        As `rank` does, but NaN is not an error here.

    Examples
    --------
    >>> found = report([[-1000, -999.95, -999.93, -999.92]], [0], preset="libkge")
    >>> found["mean_rank"], found.corrected("mean_rank")  # all four tie within its tolerance
    (3.0, 4.0)
    """
    row = _preset(preset)
    tasks = _full_tasks(scores, targets, rows, filter, candidates, order, dtype)
    return evaluate_presets(tasks, [row], side)[row.name]


@public("truerank.compat")
def report_against(
    true_scores: Any,
    others: Any,
    *,
    preset: str | Preset,
    order: ScoreOrder = "descending",
    dtype: Any = None,
    side: LabelsLike | None = None,
) -> CompatReport:
    """Evaluate true scores among sampled negatives as a toolkit does.

    Parameters
    ----------
    true_scores : array_like, shape (tasks,)
        The score of each task's true candidate.
    others : array_like, shape (tasks, k), or (values, indptr)
        The scores of each task's negatives, as in `rank_against`.
    preset, order, dtype, side
        As in `report`.

    Returns
    -------
    CompatReport

    Examples
    --------
    >>> report_against([0.5, 0.2], [[0.1, 0.5], [0.2, 0.3]], preset="ogb")["hits@3_list"]
    1.0
    """
    row = _preset(preset)
    tasks = _sampled_tasks(true_scores, others, order, dtype)
    return evaluate_presets(tasks, [row], side)[row.name]


@public("truerank.compat")
def table(
    scores: Any,
    targets: Any,
    *,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    order: ScoreOrder = "descending",
    dtype: Any = None,
    side: LabelsLike | None = None,
    presets: Iterable[str | Preset] | None = None,
) -> CompatTable:
    """Compare the numbers of several toolkits for the same scores with the exact numbers.

    Parameters
    ----------
    scores, targets, rows, filter, candidates, order, dtype, side
        As in `report`.
    presets : iterable of str or Preset, optional
        Default: all of `PRESETS`.

    Returns
    -------
    CompatTable

    Examples
    --------
    >>> found = table([[0.5, 0.5, 0.1]], [0])
    >>> found["pytorch-biggraph"]["mrr"], found["openke"]["MRR"], found.exact["mr"]
    (0.5, 1.0, 1.5)
    """
    tasks = _full_tasks(scores, targets, rows, filter, candidates, order, dtype)
    return evaluate_presets(tasks, look_up_presets(presets), side)


@public("truerank.compat")
def table_against(
    true_scores: Any,
    others: Any,
    *,
    order: ScoreOrder = "descending",
    dtype: Any = None,
    side: LabelsLike | None = None,
    presets: Iterable[str | Preset] | None = None,
) -> CompatTable:
    """Do the same as `table` for true scores among sampled negatives.

    Parameters
    ----------
    true_scores, others, order, dtype, side
        As in `report_against`.
    presets : iterable of str or Preset, optional
        Default: all of `PRESETS`.

    Returns
    -------
    CompatTable

    Examples
    --------
    >>> table_against([0.5], [[0.5, 0.1]], presets=["ogb"]).to_dict()["ogb"]["mr"]
    1.5
    """
    tasks = _sampled_tasks(true_scores, others, order, dtype)
    return evaluate_presets(tasks, look_up_presets(presets), side)


def look_up_presets(presets: Iterable[str | Preset] | None) -> list[Preset]:
    """Look up several presets; None means all of them.

    Examples
    --------
    >>> [row.name for row in look_up_presets(["ogb", "rotate"])]
    ['ogb', 'rotate']
    """
    if isinstance(presets, (str, Preset)) or not isinstance(presets, (Iterable, type(None))):
        raise InputTypeError("presets", expected="several names or Presets", got=repr(presets))
    return [_preset(name) for name in (PRESETS if presets is None else presets)]


def evaluate_presets(
    tasks: ScoredTasks, rows: list[Preset], side: LabelsLike | None
) -> CompatTable:
    """Evaluate under several conventions, in one pass over the scores.

    Parameters
    ----------
    tasks : ScoredTasks
    rows : list of Preset
    side : labels, optional
    """
    names = [row.name for row in rows]
    if len(set(names)) < len(names):
        raise InputValueError("presets", expected="each name once", got=", ".join(names))
    ranks = tasks.exact if side is None else tasks.exact.with_labels(side=side)
    exact = exact_report(ranks)
    steps = {row.name: [convention for _, convention in steps_to(row.convention)] for row in rows}
    conventions = list(dict.fromkeys(convention for each in steps.values() for convention in each))
    counted = dict(zip(conventions, tasks.counts(conventions), strict=True))
    found = {
        row.name: CompatReport(
            row, exact, [counted[convention] for convention in steps[row.name]], tasks.filtered
        )
        for row in rows
    }
    return CompatTable(exact, found)
