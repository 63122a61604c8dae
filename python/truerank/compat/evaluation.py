"""Reports: a toolkit's numbers for some scores, the exact ones, and the steps between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack

import numpy as np

from ..arrays.row_keys import distinct
from ..counting.job import prepare_job
from ..counting.sampled import rank_against
from ..errors import InputTypeError, UnknownKeyError
from ..inputs.checks import instance, positive_integer, several, unique_keys
from ..inputs.rules import read_rules, with_options
from ..inputs.scores import as_scores
from ..metrics.keys import table_name
from ..naming import public
from ..ranks.container import Ranks
from ..reporting import Report
from ..reporting import report as exact_report
from ..reporting.named_numbers import Numbers
from ..stores import in_one_array, read_scores
from ..tables import AsTable, Column, Table
from .interpreter import (
    Figure,
    counts_by_convention,
    figure,
    full_blocks,
    per_task,
    places,
    sampled_blocks,
    split_key,
)
from .presets import (
    EXACT,
    LIST_PRESETS,
    PRESETS,
    Convention,
    ListPreset,
    Metric,
    Preset,
    find_presets,
)

if TYPE_CHECKING:
    from ..arrays.types import FloatArray, IntArray
    from ..inputs.words import ScoreOrder
    from ..ranks.labels import LabelsLike

Names = str | Iterable[str] | None
COMMON_KEYS = ("mr", "mrr", "hits@1", "hits@10")


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


@public("truerank.compat")
class Step(NamedTuple):
    """One difference between the exact definition and a toolkit.

    Attributes
    ----------
    name : str
        "nan", "candidates", "transform", "tolerance", "filter", "itself", "rank" or "mean".
    words : str
        What the toolkit does.
    tasks : int
        The number of tasks whose place this step changes, after the earlier steps.
    figures : dict of str to float
        The numbers after this step, by truerank's keys.
    """

    name: str
    words: str
    tasks: int
    figures: dict[str, float]


@public("truerank.compat")
class CompatReport(Numbers):
    """The numbers of a toolkit for some scores: `report[name]` is its number of that name.

    If the toolkit leaves the order of ties open, the number is the mean over all orders, and
    `bounds` gives the least and the greatest number that it may show. If the rounding of a
    transform leaves an order open, the number is the middle of the bounds.

    Attributes
    ----------
    preset : Preset
        The preset of the toolkit.
    exact : Report
        The report of the exact counts of the same tasks (``nan="worst"``), for any key.
    steps : tuple of Step
        What it does otherwise, in turn; the last one arrives at its numbers.
    first, last : ndarray of float64, shape (tasks,)
        The first and the last place that the true candidate of each task can take.
    figures : dict of str to Figure
        Metrics by their keys in truerank, not scaled: "mr", "mrr", "hits@1", "hits@10", and those
        that the toolkit shows.

    Examples
    --------
    >>> from truerank import compat
    >>> found = compat.report([[0.5, 0.5, 0.1]], [0], preset="openke")
    >>> found["MRR"], round(found.corrected("MRR"), 6)
    (1.0, 0.666667)
    >>> [(step.name, step.tasks) for step in found.steps]
    [('nan', 0), ('rank', 1), ('mean', 0)]
    """

    first: FloatArray
    last: FloatArray

    def __init__(
        self, preset: Preset, exact: Report, counts: Mapping[Convention, IntArray]
    ) -> None:
        self.preset = preset
        self.exact = exact
        suffix = preset.suffix if exact.ranks.protocol.filter else ""
        self._metrics = {}
        for metric in preset.metrics:
            self._metrics[metric.name.format(filtered=suffix)] = metric
        keys = [metric.key for metric in preset.metrics]
        keys.extend(COMMON_KEYS)
        groups = []
        side = exact.ranks.side
        if preset.averaged and side is not None:
            groups = [side.codes == code for code in distinct(side.codes)]
        self.first, self.last = places(counts[EXACT], EXACT)
        self.figures = _figures(keys, counts[EXACT], EXACT, groups)
        steps = []
        for name, convention in preset.convention.steps():
            first, last = places(counts[convention], convention)
            changed = int(np.count_nonzero((first != self.first) | (last != self.last)))
            self.first = first
            self.last = last
            self.figures = _figures(keys, counts[convention], convention, groups)
            values = {key: shown.value for key, shown in self.figures.items()}
            steps.append(Step(name, convention.says(name), changed, values))
        self.steps = tuple(steps)

    def _value(self, name: str) -> float:
        metric = self._metric(name)
        return self.figures[metric.key].value * metric.scale

    def _metric(self, name: str) -> Metric:
        """Return a metric of the toolkit; an unknown name is a KeyError."""
        if instance("name", name, str) not in self._metrics:
            raise UnknownKeyError("name", "", f"one of {', '.join(self)}", repr(name))
        return self._metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __repr__(self) -> str:
        return repr(dict(self))

    def bounds(self, name: str) -> tuple[float, float]:
        """Return the least and the greatest number that the toolkit may show, on its scale.

        Examples
        --------
        >>> from truerank import compat
        >>> compat.report([[0.5, 0.5, 0.1]], [0], preset="rotate").bounds("MRR")
        (0.5, 1.0)
        """
        metric = self._metric(name)
        shown = self.figures[metric.key]
        return shown.least * metric.scale, shown.most * metric.scale

    def printed(self, name: str) -> str:
        """Write a number with the digits of the toolkit, or both bounds if ties leave it open.

        Examples
        --------
        >>> from truerank import compat
        >>> compat.report([[0.5, 0.5, 0.1]], [0], preset="openke").printed("MRR")
        '1.000000'
        """
        form = self._metric(name).form
        if form == "repr":
            texts = [repr(float(end)) for end in self.bounds(name)]
        else:
            texts = [format(end, form) for end in self.bounds(name)]
        return " to ".join(dict.fromkeys(texts))

    def corrected(self, name: str) -> float:
        """Return the exact number in place of the toolkit's, on its scale, by realistic ranks.

        Examples
        --------
        >>> from truerank import compat
        >>> compat.report([[0.5, 0.5, 0.1]], [0], preset="openea").corrected("hits@5")
        100.0
        """
        metric = self._metric(name)
        return _exact_value(metric.key, self.exact) * metric.scale

    def table(self, metrics: Names = None, **options: Any) -> Table:
        """Return a row for each number: the exact one, those after the steps, and the toolkit's.

        People read the steps that change the place of a task. `metrics` are names of the toolkit;
        other options are those of `Table.table`.

        Examples
        --------
        >>> from truerank import compat
        >>> found = compat.report([[0.5, 0.5, 0.1]], [0], preset="gcn-align")
        >>> print(found.to_markdown(["Hits@1", "Hits@10"], notes=False))
        | gcn-align | exact | rank | printed | key |
        | :--- | ---: | ---: | ---: | ---: |
        | Hits@1 | 0.000 | 50.000 | 0.00 to 100.00 | hits@1 |
        | Hits@10 | 100.000 | 100.000 | 100.00 | hits@10 |
        """
        rows = []
        decimals = []
        for name in _names(metrics, self):
            metric = self._metrics[name]
            row: list[Any] = [name, self.corrected(name)]
            row += [step.figures[metric.key] * metric.scale for step in self.steps]
            row.append(self[name])
            row.extend(self.bounds(name))
            row += [self.printed(name), metric.key]
            rows.append(row)
            if metric.key == "mr" or metric.scale > 1:
                decimals.append(1)
            else:
                decimals.append(3)
        columns = [Column("name", self.preset.name), Column("exact", "", decimals)]
        for step in self.steps:
            column = Column(step.name, "", decimals)
            if not step.tasks:
                column = column._replace(only="data")
            columns.append(column)
        columns += [Column(name, only="data") for name in ("value", "least", "most")]
        columns += [Column("printed"), Column("key")]
        notes = [f"{s.name} (tasks changed: {s.tasks:,}): {s.words}" for s in self.steps]
        return Table(columns, rows, notes=notes, digits=5).table(**options)


@public("truerank.compat")
class CompatTable(dict[str, CompatReport], AsTable):
    """Reports of the same tasks by preset: `table["openke"]`.

    If the order of ties is open, text shows both bounds of a number, and records hold its mean over
    all orders.

    Attributes
    ----------
    exact : Report
        The report of the exact counts of these tasks.

    Examples
    --------
    >>> from truerank import compat
    >>> found = compat.table([[0.5, 0.5, 0.1]], [0], presets=["openke", "dgl-ke", "rotate"])
    >>> print(found.to_markdown())
    | convention | MR ↓ | MRR ↑ | Hits@1 ↑ | Hits@10 ↑ |
    | :--- | ---: | ---: | ---: | ---: |
    | exact | 1.5 | 0.667 | 0.000 | 1.000 |
    | openke | 1.0 | 1.000 | 1.000 | 1.000 |
    | dgl-ke | 3.0 | 0.333 | 0.000 | 1.000 |
    | rotate | 1.0 to 2.0 | 0.500 to 1.000 | 0.000 to 1.000 | 1.000 |
    """

    def __init__(self, exact: Report, rows: Iterable[CompatReport]) -> None:
        self.exact = exact
        super().__init__((row.preset.name, row) for row in rows)

    def __repr__(self) -> str:
        return f"CompatTable({len(self.exact.ranks):,} tasks; {', '.join(self)})"

    def table(self, metrics: Names = None, **options: Any) -> Table:
        """Return a row for each preset; people read both bounds of numbers that ties leave open.

        `metrics` are mr, mrr, hits@1 and hits@10; other options are those of `Table.table`.
        """
        keys = _names(metrics, COMMON_KEYS)
        values = [self.exact[key] for key in keys]
        first: list[Any] = ["exact"]
        first += values
        # The exact definition leaves nothing open, so that its bounds are its values.
        first += values
        rows = [first]
        for name, report in self.items():
            figures = [report.figures[key] for key in keys]
            row: list[Any] = [name]
            row += [shown.value for shown in figures]
            row += [(shown.least, shown.most) for shown in figures]
            rows.append(row)
        columns: list[Column | str] = ["convention"]
        columns += [Column(key, only="data") for key in keys]
        for key in keys:
            columns.append(_column(key)._replace(name=f"{key} bounds", only="print"))
        return Table(columns, rows).table(**options)


def _names(chosen: Names, known: Collection[str]) -> list[str]:
    if chosen is None or (isinstance(chosen, str) and chosen == "all"):
        return list(known)
    names = unique_keys(chosen)
    for name in names:
        if name not in known:
            raise UnknownKeyError("metrics", "", f"one of {', '.join(known)}", repr(name))
    return names


def _figures(
    keys: Iterable[str], counts: IntArray, convention: Convention, groups: Sequence[IntArray]
) -> dict[str, Figure]:
    return {key: figure(key, counts, convention, groups) for key in dict.fromkeys(keys)}


def _column(key: str) -> Column:
    decimals = 1 if key == "mr" else 3
    return Column(key, table_name(key), decimals)


def _exact_value(key: str, exact: Report) -> float:
    """Return the value of realistic ranks, also of keys that no report of ranks has."""
    name, cutoff = split_key(key)
    if not cutoff or name == "hits":
        return exact[key]
    ranks = exact.ranks.realistic
    if not len(ranks):
        return float("nan")
    return float(per_task(key, ranks).mean())


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
    columns += map(_column, numbers)
    return Table(columns, cells)
