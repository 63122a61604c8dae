"""The toolkits, and what they show for some scores: their numbers, and the steps to these."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from .. import InputTypeError, InputValueError, Report, rank, rank_against
from .. import report as exact_report
from ..counting.job import prepare_job
from ..metrics import UnknownKeyError
from ..naming import public
from ..stores import in_one_array, read_scores
from ..tables import AsTable, Column, Table
from ..tables.forms import markdown_cell
from .interpreter import (
    CONTENT,
    EXACT,
    Convention,
    counts_by_convention,
    full_blocks,
    metric_under,
    places,
    sampled_blocks,
)

if TYPE_CHECKING:
    from .interpreter import FloatArray, IntArray

    Names = str | Iterable[str] | None

COMMON_KEYS = ("mr", "mrr", "hits@1", "hits@10")  # All toolkits have these metrics.


@public("truerank.compat")
class Metric(NamedTuple):
    """A number that a toolkit shows.

    Attributes
    ----------
    name : str
        Its name in the toolkit. "{filtered}" becomes the suffix of the preset if there is a filter.
    key : str
        Its key in a report of truerank: "mr", "mrr", "hits@k" or "amri"; also "mrr@k" and "ndcg@k",
        which are those of one true candidate.
    form : str
        How it is printed: a format of `format`, or "repr" for all digits.
    scale : float
        The factor of the printed number: 100 for percentages.
    """

    name: str
    key: str
    form: str = "repr"
    scale: float = 1.0


@public("truerank.compat")
@dataclass(frozen=True, kw_only=True)
class Preset:
    """The evaluation of one toolkit.

    Attributes
    ----------
    name, toolkit, version : str
        Its name here, the name of the toolkit, and the version or commit that was read.
    source : tuple of str
        Repository, file and functions that define the convention.
    convention : Convention
        How the true candidate is ranked.
    metrics : tuple of Metric
        The numbers that the toolkit shows.
    splits : str
        The splits whose true answers it filters.
    candidates : str
        The candidates that it ranks.
    suffix : str
        The replacement of "{filtered}" in the name of a metric if there is a filter.
    averaged : bool
        Whether a number is the mean of the numbers of both sides.
    notes : tuple of str
        Further facts that help to read its numbers.

    Examples
    --------
    >>> from truerank import compat
    >>> compat.PRESETS["openke"].convention.rank
    'optimistic'
    """

    name: str
    toolkit: str
    version: str
    source: tuple[str, ...]
    convention: Convention
    metrics: tuple[Metric, ...]
    splits: str
    candidates: str
    suffix: str = ""
    averaged: bool = False
    notes: tuple[str, ...] = ()


def _read_presets() -> Iterator[Preset]:
    for name, row in CONTENT["toolkits"].items():
        fields: dict[str, Any] = {}
        for key, value in row.items():
            fields[key] = tuple(value) if isinstance(value, list) else value
        fields["convention"] = Convention(**fields.get("convention", {}))
        fields["metrics"] = tuple(Metric(*metric) for metric in fields["metrics"])
        yield Preset(name=name, **fields)


PRESETS: Mapping[str, Preset] = MappingProxyType({row.name: row for row in _read_presets()})


def find_presets(names: Iterable[Any] | None, argument: str = "presets") -> list[Preset]:
    """Return presets, by their names or as they are, each once; None means all that are known."""
    presets: list[Preset] = []
    for each in one_by_one(argument, PRESETS if names is None else names):
        if isinstance(each, Preset):
            presets.append(each)
        elif isinstance(each, str):
            check_known(argument, each, PRESETS)
            presets.append(PRESETS[each])
        else:
            raise InputTypeError(argument, expected="a name or a Preset", got=type(each).__name__)
    if len({row.name for row in presets}) < len(presets):
        got = ", ".join(row.name for row in presets)
        raise InputValueError(argument, expected="each name once", got=got)
    return presets


@public("truerank.compat")
def describe() -> str:
    """Write the table of presets as Markdown, with a row for each.

    Examples
    --------
    >>> print(describe().splitlines()[0])
    | preset | toolkit | place in a tie | what else differs | splits filtered | candidates |
    """
    heading = ["preset", "toolkit", "place in a tie", "what else differs"]
    heading += ["splits filtered", "candidates"]
    lines = [heading, [":---"] * len(heading)]
    for row in PRESETS.values():
        steps = row.convention.steps()
        others = "; ".join(reached.says(step) for step, reached in steps if step != "rank")
        texts = [row.toolkit, row.convention.says("rank"), others, row.splits, row.candidates]
        cells = [f"`{row.name}`"]
        cells += map(markdown_cell, texts)
        lines.append(cells)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


# -- what toolkits show ----------------------------------------------------------------------------


@public("truerank.compat")
@dataclass(frozen=True)
class Step:
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
class CompatReport(Mapping[str, float], AsTable):
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
        What it does differently, in turn; the last one arrives at its numbers.
    first, last : ndarray of float64, shape (tasks,)
        The first and the last place that the true candidate of each task can take.
    figures : dict of str to float
        Metrics by their keys in truerank, not scaled: "mr", "mrr", "hits@1", "hits@10", and those
        that the toolkit shows.
    ends : dict of str to (float, float)
        The least and the greatest value of each of these.

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
        keys = dict.fromkeys([*(metric.key for metric in preset.metrics), *COMMON_KEYS])
        groups = []
        side = exact.ranks.side
        if preset.averaged and side is not None:
            groups = [side.codes == code for code in np.unique(side.codes)]  # by numpy: few values
        steps: list[Step] = []
        first, last = places(counts[EXACT], EXACT)
        # Each is a value with its least and its greatest; they stay if the preset has no steps.
        values_and_ends = {key: metric_under(key, counts[EXACT], EXACT, groups) for key in keys}
        for name, reached in preset.convention.steps():
            first_before, last_before = first, last
            first, last = places(counts[reached], reached)
            changed = int(np.count_nonzero((first != first_before) | (last != last_before)))
            values_and_ends = {
                key: metric_under(key, counts[reached], reached, groups) for key in keys
            }
            values = {key: value for key, (value, _, _) in values_and_ends.items()}
            steps.append(Step(name, reached.says(name), changed, values))
        self.steps = tuple(steps)
        self.first = first
        self.last = last
        self.figures = {key: value for key, (value, _, _) in values_and_ends.items()}
        self.ends = {key: (least, most) for key, (_, least, most) in values_and_ends.items()}

    @overload
    def __getitem__(self, name: str, /) -> float: ...

    @overload
    def __getitem__(self, name: list[str] | tuple[str, ...], /) -> dict[str, float]: ...

    def __getitem__(self, name: str | list[str] | tuple[str, ...], /) -> float | dict[str, float]:
        """Return the number of a name, or those of several as a dictionary."""
        if isinstance(name, (list, tuple)):
            return {each: self[each] for each in name}
        metric = self._metric(name)
        return self.figures[metric.key] * metric.scale

    def _metric(self, name: str) -> Metric:
        """Return a metric of the toolkit; an unknown name is a KeyError."""
        check_known("name", name, self._metrics)
        return self._metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def _ipython_key_completions_(self) -> list[str]:
        """List the names that IPython and notebooks complete within brackets."""
        return list(self)

    def to_dict(self, metrics: Names = None) -> dict[str, float]:
        """Return the numbers by name, of all metrics or of some."""
        return {name: self[name] for name in choose_names(metrics, self)}

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
        least, most = self.ends[metric.key]
        return least * metric.scale, most * metric.scale

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
        return self.exact[metric.key] * metric.scale

    def table(self, metrics: Names = None, **options: Any) -> Table:
        """Return a row for each number: by realistic ranks, after each step, and the toolkit's.

        It shows people only the steps that change the place of a task. `metrics` are names of the
        toolkit; other options are those of `Table.table`.

        Examples
        --------
        >>> from truerank import compat
        >>> found = compat.report([[0.5, 0.5, 0.1]], [0], preset="gcn-align")
        >>> print(found.to_markdown(["Hits@1", "Hits@10"], notes=False))
        | gcn-align | realistic | rank | printed | key |
        | :--- | ---: | ---: | ---: | ---: |
        | Hits@1 | 0.000 | 50.000 | 0.00 to 100.00 | hits@1 |
        | Hits@10 | 100.000 | 100.000 | 100.00 | hits@10 |
        """
        rows = []
        decimals = []
        for name in choose_names(metrics, self):
            metric = self._metrics[name]
            row: list[Any] = [name, self.corrected(name)]
            row += [step.figures[metric.key] * metric.scale for step in self.steps]
            row.append(self[name])
            row.extend(self.bounds(name))
            row += [self.printed(name), metric.key]
            rows.append(row)
            decimals.append(1 if metric.key == "mr" or metric.scale > 1 else 3)
        columns = [Column("name", self.preset.name), Column("realistic", "", decimals)]
        for step in self.steps:
            columns.append(Column(step.name, "", decimals, hidden=not step.tasks))
        columns += [Column(name, hidden=True) for name in ("value", "least", "most")]
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
    | realistic | 1.5 | 0.667 | 0.000 | 1.000 |
    | expected | 1.5 | 0.750 | 0.500 | 1.000 |
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
        """Return a row for each preset, below those of the realistic and the expected rank.

        Where ties leave a toolkit's number open, both bounds are printed.

        `metrics` are mr, mrr, hits@1 and hits@10; other options are those of `Table.table`.
        """
        kinds = ["realistic", "expected"]
        cells: dict[str | Column, list[Any]] = {"convention": [*kinds, *self]}
        for name in choose_names(metrics, COMMON_KEYS):
            # These two leave nothing open.
            ours = [self.exact[f"{kind}.{name}"] for kind in kinds]
            values = [*ours, *(report.figures[name] for report in self.values())]
            printed = [*ours, *(report.ends[name] for report in self.values())]
            key = self.exact.read_key(name)
            cells[Column(name, key.heading, key.decimals, shown=printed)] = values
        return Table(cells).table(**options)


def choose_names(metrics: Names, known: Collection[str]) -> list[str]:
    """Return the names of some metrics, each once, or of all."""
    if metrics is None or (isinstance(metrics, str) and metrics == "all"):
        return list(known)
    names: dict[str, None] = {}
    for name in one_by_one("metrics", [metrics] if isinstance(metrics, str) else metrics):
        check_known("metrics", name, known)  # A range may be longer than the memory.
        names[name] = None
    return list(names)


def one_by_one(argument: str, names: Any) -> Iterator[Any]:
    """Yield several names, which are no str."""
    got = type(names).__name__
    if isinstance(names, (str, bytes)):
        raise InputTypeError(argument, expected="several names", got=got)
    try:
        yield from names
    except TypeError:  # Of some containers only the first step says that they are none of names.
        raise InputTypeError(argument, expected="several names", got=got) from None


def check_known(argument: str, name: object, known: Collection[str]) -> None:
    """Raise a KeyError for a name that is unknown."""
    if not isinstance(name, str):
        raise InputTypeError(argument, expected="str", got=type(name).__name__)
    if name not in known:
        raise UnknownKeyError(argument, "", f"one of {', '.join(known)}", repr(name))


# -- evaluation ------------------------------------------------------------------------------------


@public("truerank.compat")
def report(
    scores: Any,
    targets: Any = None,
    *,
    preset: str | Preset,
    others: Any = None,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    order: str | None = None,
    dtype: Any = None,
    side: Any = None,
) -> CompatReport:
    """Evaluate scores as a toolkit does, and show how its numbers depart from the exact ones.

    Exact counts come from `rank`, for sampled negatives from `rank_against`. If a toolkit's
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
    others : array_like, shape (tasks, k) or (1, k), or (indptr, values), optional
        The bare scores of each task's sampled negatives, or of one list for all, as in
        `rank_against`. They have no columns: targets, rows, filter and candidates are not given.
    order : {"descending", "ascending"}, optional
        "descending", the default, if higher scores are better. It describes `scores`, not the
        toolkit.
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
    presets = find_presets([preset], "preset")
    tasks = {"others": others, "rows": rows, "filter": filter, "candidates": candidates}
    reports = table(scores, targets, presets=presets, order=order, dtype=dtype, side=side, **tasks)
    return reports[presets[0].name]


@public("truerank.compat")
def table(
    scores: Any,
    targets: Any = None,
    *,
    presets: Iterable[str | Preset] | None = None,
    others: Any = None,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    order: str | None = None,
    dtype: Any = None,
    side: Any = None,
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
    selections = {"rows": rows, "filter": filter, "candidates": candidates}
    rules: dict[str, Any] = {"dtype": dtype, "nan": "worst", "audit": True}
    if order is not None:
        rules["order"] = order
    rows_of_presets = find_presets(presets)
    # `blocks` yields the scores in blocks.
    if others is None:
        if targets is None:
            expected = "the column of each true candidate, or others=, the scores of the others"
            raise InputTypeError("targets", expected=expected, got="None")
        matrix = in_one_array(read_scores(scores, dtype))
        ranks = rank(matrix, targets, **selections, **rules)
        job = prepare_job(matrix.array.shape, targets, **selections)
        blocks = partial(full_blocks, matrix, job, ranks.protocol.order)
    else:
        for name, value in {"targets": targets, **selections}.items():
            if value is not None:
                raise InputTypeError(name, "cannot be given beside others=, which have no columns")
        true = in_one_array(read_scores(scores, dtype))
        if true.array.shape[1:] not in ((), (1,)):
            expected = "one score for each task beside others="
            raise InputValueError("scores", expected=expected, got=f"shape {true.array.shape}")
        ranks = rank_against(scores, others, **rules)
        values = others[1] if isinstance(others, tuple) else others
        negatives = in_one_array(read_scores(values, dtype))
        true, negatives = (x.with_array(x.array.reshape(-1)) for x in (true, negatives))
        lengths = ranks.candidates - 1
        blocks = partial(sampled_blocks, true, negatives, lengths, ranks.protocol.order)
    exact = exact_report(ranks if side is None else ranks.with_labels(side=side))
    conventions = [EXACT]
    for preset in rows_of_presets:
        conventions += [reached for _, reached in preset.convention.steps()]
    counts = counts_by_convention(ranks, blocks, conventions)
    return CompatTable(exact, [CompatReport(preset, exact, counts) for preset in rows_of_presets])
