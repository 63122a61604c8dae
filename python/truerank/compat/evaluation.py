"""Scores in columns and bare ones of sampled negatives, evaluated as toolkits do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from ..counting.job import prepare_job
from ..counting.sampled import rank_against
from ..errors import InputTypeError, InputValueError
from ..inputs.rules import read_rules, with_options
from ..inputs.scores import as_scores
from ..naming import public
from ..reporting import report as exact_report
from ..stores import in_one_array, read_scores
from .interpreter import counts_by_convention, full_blocks, sampled_blocks
from .presets import EXACT, Preset, find_presets
from .reports import CompatReport, CompatTable

if TYPE_CHECKING:
    from ..inputs.rules import Rules
    from ..inputs.words import ScoreOrder
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike


class CompatOptions(TypedDict, total=False):
    """Options of what is evaluated here: what scores mean, and the sides of the tasks."""

    others: Any
    rows: Any
    filter: Any
    candidates: Any
    order: ScoreOrder
    dtype: Any
    side: LabelsLike | None


@public("truerank.compat")
@with_options(CompatOptions)
def report(
    scores: Any, targets: Any = None, *, preset: str | Preset, **options: Unpack[CompatOptions]
) -> CompatReport:
    """Evaluate scores as a toolkit does, and show how its numbers depart from the exact ones.

    Exact counts come from `rank`, or of sampled negatives from `rank_against`. If a toolkit's
    convention changes the counts themselves (a tolerance, a transform, another score for filtered
    candidates), they are counted again in plain NumPy, block by block. The scores must be in memory
    or in a memory map.

    Parameters
    ----------
    scores : array_like, shape (rows, columns) or (columns,)
        A column for each candidate, as in `rank`. Integers of 64 bits are not accepted. With
        `others` the true score of each task, shape (tasks,).
    targets, rows, filter, candidates, dtype
        As in `rank`. The filter holds what the toolkit filters; without it, the result has the
        toolkit's unfiltered numbers.
    preset : str or Preset
        A row of `PRESETS`, or a preset of your own.
    others : array_like, shape (tasks, k) or (k,), or (indptr, values), optional
        The bare scores of each task's sampled negatives, or of one list for all, as in
        `rank_against`. They have no columns, so that there are no targets, rows, filter and
        candidates.
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
    >>> report([0.5, 0.2], others=[[0.1, 0.5], [0.2, 0.3]], preset="ogb")["hits@3_list"]
    1.0
    """
    (row,) = find_presets([preset], "preset")
    return _evaluate(scores, targets, [row], options)[row.name]


@public("truerank.compat")
@with_options(CompatOptions)
def table(
    scores: Any,
    targets: Any = None,
    *,
    presets: Iterable[str | Preset] | None = None,
    **options: Unpack[CompatOptions],
) -> CompatTable:
    """Compare the numbers of several toolkits for the same scores with the exact numbers.

    Parameters
    ----------
    scores, targets, others, rows, filter, candidates, order, dtype, side
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
    >>> table([0.5], others=[[0.5, 0.1]], presets=["ogb"])["ogb"].bounds("mrr_list")
    (0.6666666865348816, 0.6666666865348816)
    """
    return _evaluate(scores, targets, find_presets(presets), options)


def _evaluate(
    scores: Any, targets: Any, presets: list[Preset], options: CompatOptions
) -> CompatTable:
    """Evaluate exact ranks, and what toolkits make of the scores in blocks."""
    rules = replace(read_rules(options, CompatOptions), nan="worst", audit=True)
    if options.get("others") is None:
        ranks, blocks = _count_columns(scores, targets, rules, options)
    else:
        ranks, blocks = _count_sampled(scores, targets, rules, options)
    side = options.get("side")
    exact = exact_report(ranks if side is None else ranks.with_labels(side=side))
    conventions = [EXACT]
    for preset in presets:
        conventions += [reached for _, reached in preset.convention.steps()]
    counts = counts_by_convention(ranks, blocks, conventions)
    return CompatTable(exact, [CompatReport(preset, exact, counts) for preset in presets])


def _count_columns(
    scores: Any, targets: Any, rules: Rules, options: CompatOptions
) -> tuple[Ranks, Callable[[], Any]]:
    """Return the ranks of scores in columns, and what yields the scores in blocks."""
    if targets is None:
        expected = "the column of each true candidate, or others=, the scores of the others"
        raise InputTypeError("targets", expected=expected, got="None")
    matrix = in_one_array(read_scores(scores, rules.dtype))
    job = prepare_job(
        matrix.array.shape,
        targets,
        options.get("rows"),
        options.get("filter"),
        options.get("candidates"),
        rules,
    )
    ranks = job.ranks(job.counts_of(matrix), matrix.dtype)
    return ranks, partial(full_blocks, matrix, job, rules.order)


def _count_sampled(
    true_scores: Any, targets: Any, rules: Rules, options: CompatOptions
) -> tuple[Ranks, Callable[[], Any]]:
    """Return the ranks of true scores among bare ones, and what yields the scores in blocks."""
    columns = {"targets": targets}
    columns |= {name: options.get(name) for name in ("rows", "filter", "candidates")}
    for name, value in columns.items():
        if value is not None:
            raise InputTypeError(name, "cannot be given beside others=, which have no columns")
    others: Any = options.get("others")
    true = as_scores(true_scores, rules.dtype, "scores")
    if true.array.shape[1:] not in ((), (1,)):
        got = f"shape {true.array.shape}"
        raise InputValueError("scores", expected="one score for each task beside others=", got=got)
    true = true.with_array(true.array.reshape(-1))
    of_rules = {"order": rules.order, "dtype": rules.dtype, "nan": rules.nan, "audit": rules.audit}
    ranks = rank_against(true_scores, others, **of_rules)
    values = others
    if isinstance(others, tuple):
        _, values = others
    negatives = as_scores(values, rules.dtype, "others")
    flat = negatives.with_array(negatives.array.reshape(-1))
    return ranks, partial(sampled_blocks, true, flat, ranks.candidates - 1, rules.order)
