"""Scores, sampled negatives and lists, evaluated as toolkits do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from ..counting.job import prepare_job
from ..counting.sampled import rank_against
from ..errors import InputTypeError
from ..inputs.checks import positive_integer, several
from ..inputs.rules import read_rules, with_options
from ..inputs.scores import as_scores
from ..naming import public
from ..ranks.container import Ranks
from ..reporting import report as exact_report
from ..stores import in_one_array, read_scores
from ..tables import Column, Table
from .interpreter import counts_by_convention, full_blocks, sampled_blocks
from .presets import EXACT, LIST_PRESETS, PRESETS, ListPreset, Preset, find_presets
from .reports import CompatReport, CompatTable, column_of

if TYPE_CHECKING:
    from ..inputs.words import ScoreOrder
    from ..ranks.labels import LabelsLike


class SampledOptions(TypedDict, total=False):
    """Options of all reports here: what scores mean, and the sides of the tasks."""

    order: ScoreOrder
    dtype: Any
    side: LabelsLike | None


class FullOptions(SampledOptions, total=False):
    """Those, and the options of scores with a column for every candidate."""

    rows: Any
    filter: Any
    candidates: Any


# -- scores in columns, and bare ones --------------------------------------------------------------


@public("truerank.compat")
@with_options(FullOptions)
def report(
    scores: Any, targets: Any, *, preset: str | Preset, **options: Unpack[FullOptions]
) -> CompatReport:
    """Evaluate scores as a toolkit does, and show how its numbers depart from the exact ones.

    Exact counts come from `rank`. If a toolkit's convention changes the counts themselves (a
    tolerance, a transform, another score for filtered candidates), they are counted again in plain
    NumPy, block by block. The scores must be in memory or in a memory map.

    Parameters
    ----------
    scores : array_like, shape (rows, columns) or (columns,)
        A column for each candidate, as in `rank`. Integers of 64 bits are not accepted.
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
    (row,) = find_presets([preset], PRESETS, Preset, "preset")
    return _evaluate_full(scores, targets, [row], options)[row.name]


@public("truerank.compat")
@with_options(FullOptions)
def table(
    scores: Any,
    targets: Any,
    *,
    presets: Iterable[str | Preset] | None = None,
    **options: Unpack[FullOptions],
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
    rows = find_presets(presets, PRESETS, Preset)
    return _evaluate_full(scores, targets, rows, options)


def _evaluate_full(
    scores: Any, targets: Any, presets: list[Preset], options: FullOptions
) -> CompatTable:
    rules = replace(read_rules(options, FullOptions), nan="worst", audit=True)
    matrix = in_one_array(read_scores(scores, rules.dtype))
    job = prepare_job(
        matrix.array.shape,
        targets,
        options.get("rows"),
        options.get("filter"),
        options.get("candidates"),
        rules,
    )
    exact = job.ranks(job.counts_of(matrix), matrix.dtype)
    blocks = partial(full_blocks, matrix, job, rules.order)
    return _evaluate(exact, blocks, presets, options.get("side"))


@public("truerank.compat")
@with_options(SampledOptions)
def report_against(
    true_scores: Any, others: Any, *, preset: str | Preset, **options: Unpack[SampledOptions]
) -> CompatReport:
    """Evaluate true scores among sampled negatives as a toolkit does.

    Parameters
    ----------
    true_scores : array_like, shape (tasks,)
        The score of each task's true candidate.
    others : array_like, shape (tasks, k) or (k,), or (indptr, values)
        The scores of each task's negatives, or of one list for all, as in `rank_against`.
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
    (row,) = find_presets([preset], PRESETS, Preset, "preset")
    return _evaluate_sampled(true_scores, others, [row], options)[row.name]


@public("truerank.compat")
@with_options(SampledOptions)
def table_against(
    true_scores: Any,
    others: Any,
    *,
    presets: Iterable[str | Preset] | None = None,
    **options: Unpack[SampledOptions],
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
    >>> table_against([0.5], [[0.5, 0.1]], presets=["ogb"])["ogb"].bounds("mrr_list")
    (0.6666666865348816, 0.6666666865348816)
    """
    rows = find_presets(presets, PRESETS, Preset)
    return _evaluate_sampled(true_scores, others, rows, options)


def _evaluate_sampled(
    true_scores: Any, others: Any, presets: list[Preset], options: SampledOptions
) -> CompatTable:
    rules = read_rules(options, SampledOptions)
    order = rules.order
    dtype = rules.dtype
    exact = rank_against(true_scores, others, order=order, dtype=dtype, nan="worst", audit=True)
    true = as_scores(true_scores, dtype, "true_scores")
    true = true.with_array(true.array.reshape(-1))
    values = others
    if isinstance(others, tuple):
        _, values = others
    negatives = as_scores(values, dtype, "others")
    flat = negatives.with_array(negatives.array.reshape(-1))
    blocks = partial(sampled_blocks, true, flat, exact.candidates - 1, order)
    return _evaluate(exact, blocks, presets, options.get("side"))


def _evaluate(
    ranks: Ranks,
    blocks: Callable[[], Any],
    presets: list[Preset],
    side: LabelsLike | None,
) -> CompatTable:
    """Evaluate exact ranks, and what toolkits make of the scores in blocks."""
    labelled = ranks if side is None else ranks.with_labels(side=side)
    exact = exact_report(labelled)
    conventions = [EXACT]
    for preset in presets:
        conventions += [reached for _, reached in preset.convention.steps()]
    counts = counts_by_convention(ranks, blocks, conventions)
    return CompatTable(exact, [CompatReport(preset, exact, counts) for preset in presets])


# -- lists -----------------------------------------------------------------------------------------


@public("truerank.compat")
def report_lists(
    ranks: Ranks, *, preset: str | ListPreset, ks: Sequence[int] = (1, 3, 10)
) -> dict[str, float]:
    """Average ranks from lists as others do, with one number for every miss.

    The exact bounds are the optimistic and pessimistic values of `report`. A tie among the listed
    has its middle, because the toolkits leave its order open; lists in order alone have none.

    Parameters
    ----------
    ranks : Ranks
        From lists, as `rank_lists` makes them.
    preset : str or ListPreset
        A row of `LIST_PRESETS`, or one of your own.
    ks : sequence of int
        The k of each hits@k.

    Returns
    -------
    dict of str to float
        "mr" (NaN where there is none), "mrr" and "hits@k"; NaN without tasks.

    Raises
    ------
    KeyError
        For an unknown preset.
    TypeError, ValueError
        For ranks that are not from lists, and a k below 1.

    Examples
    --------
    >>> import truerank as tr
    >>> ranks = tr.rank_lists([[4, 7], [4, 7]], None, [7, 2], candidates=10)
    >>> report_lists(ranks, preset="zero", ks=[3])
    {'mr': 6.0, 'mrr': 0.25, 'hits@3': 0.5}
    >>> report_lists(ranks, preset="k + 1", ks=[3])["mrr"]
    0.41666666666666663
    """
    (row,) = find_presets([preset], LIST_PRESETS, ListPreset, "preset")
    return _average_lists(ranks, row, ks)


def _average_lists(ranks: Ranks, preset: ListPreset, ks: Sequence[int]) -> dict[str, float]:
    cutoffs = [positive_integer("ks", k) for k in several("ks", ks, "integers")]
    listed = getattr(ranks, "listed", None)
    if listed is None:
        raise InputTypeError("ranks", expected="Ranks from lists", got=repr(ranks))
    middle = ranks.realistic
    is_hit = listed if preset.cut is None else listed & (middle <= preset.cut)
    # A miss adds its place to mrr and hits@k, and its rank to mr.
    place_of_miss: Any = np.inf
    rank_of_miss: Any = np.nan
    if preset.misses == "middle":
        place_of_miss = middle
        rank_of_miss = middle
    elif preset.misses == "next":
        place_of_miss = ranks.optimistic
        rank_of_miss = ranks.optimistic
    elif preset.misses == "zero":
        rank_of_miss = ranks.candidates
    places = np.where(is_hit, middle, place_of_miss)
    values = {"mr": np.where(is_hit, middle, rank_of_miss), "mrr": 1 / places}
    values |= {f"hits@{k}": places <= k for k in cutoffs}
    if not len(ranks):
        return dict.fromkeys(values, float("nan"))
    return {key: float(np.average(value, weights=ranks.weights)) for key, value in values.items()}


@public("truerank.compat")
def table_lists(
    ranks: Ranks,
    *,
    presets: Iterable[str | ListPreset] | None = None,
    ks: Sequence[int] = (1, 3, 10),
) -> Table:
    """Show the numbers of several presets for the same ranks from lists.

    Parameters
    ----------
    ranks, ks
        As in `report_lists`.
    presets : iterable of str or ListPreset, optional
        Default: all of `LIST_PRESETS`.

    Returns
    -------
    Table
        A row for each preset, a column for each number of `report_lists`.

    Examples
    --------
    >>> import truerank as tr
    >>> ranks = tr.rank_lists([[4, 7], [4, 7]], None, [7, 2], candidates=10)
    >>> print(table_lists(ranks, presets=["zero", "k + 1"], ks=[3]).to_markdown())
    | preset | MR ↓ | MRR ↑ | Hits@3 ↑ |
    | :--- | ---: | ---: | ---: |
    | zero | 6.0 | 0.250 | 0.500 |
    | k + 1 | 2.5 | 0.417 | 1.000 |
    """
    rows = find_presets(presets, LIST_PRESETS, ListPreset)
    columns: list[Column | str] = ["preset"]
    cells = []
    numbers: dict[str, float] = {}
    for row in rows:
        numbers = _average_lists(ranks, row, ks)
        cells.append([row.name, *numbers.values()])
    columns += map(column_of, numbers)
    return Table(columns, cells)
