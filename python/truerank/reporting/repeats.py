"""Repeated measurements, such as folds or seeds: their means and standard deviations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, ValuesView
from typing import TYPE_CHECKING, Any, overload

from ..inference.pairing import weighted_ranks
from ..inference.runs import interval_over_runs
from ..inference.units import UNIT
from ..inputs.checks import is_iterable
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..metrics.keys import parse, table_name
from ..ranks.container import Ranks
from ..tables import Column, Table
from ..tables.cells import format_count, number
from ..tables.forms import write_json
from .axes import DEFAULT_METRICS, FEW_METRICS, KeyedValues, choose_metrics, nest, unique_keys
from .reports import Report

if TYPE_CHECKING:
    from ..inference.intervals import Interval
    from ..ranks.labels import LabelsLike
    from ..ranks.protocol import Protocol
    from .counted import MacroWeights, Weights

JSON_KIND = "truerank.repeats"
JSON_FORMAT = 1


@public("truerank.reporting")
class Repeats(KeyedValues):
    """Several Reports of one model: `repeats[key]` is the mean over them.

    As a mapping it iterates over the keys that all of them have. A value that is nan in one of them
    makes mean and standard deviation nan.

    Parameters
    ----------
    reports : iterable of Report
        At least one.
    allow_unlike : bool
        Whether their protocols and weights may differ; `notes` then say how.

    Attributes
    ----------
    reports : tuple of Report
    runs : int
        The number of Reports.
    notes : tuple of str
        How protocols and weights differ.

    Raises
    ------
    TypeError
        For anything but Reports.
    ValueError
        If there are no Reports, and if protocols or weights differ; the message lists how.

    Examples
    --------
    >>> import truerank as tr
    >>> folds = [tr.report(tr.Ranks([above], [1], 10)) for above in (0, 1, 3)]
    >>> repeats = Repeats(folds)
    >>> repeats["mr"], repeats.std("mr"), repeats.values("mr")
    (2.3333333333333335, 1.5275252316519468, (1.0, 2.0, 4.0))
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, reports: Iterable[Report], *, allow_unlike: bool = False) -> None:
        self.reports = check_reports(reports)
        self.notes = tuple(_run_differences(self.reports))
        if self.notes and not allow_unlike:
            raise InputValueError("reports", self.notes[0])

    @property
    def runs(self) -> int:
        """How many Reports there are."""
        return len(self.reports)

    @property
    def protocol(self) -> Protocol:
        """The protocol of the first Report."""
        return self.reports[0].protocol

    def _value(self, key: str) -> float:
        """Return the mean over the runs; a KeyError if one of them does not have the key."""
        return math.fsum(self.values(key)) / self.runs

    def std(self, key: str) -> float:
        """Return the sample standard deviation over the runs (ddof 1); nan for a single run.

        Examples
        --------
        >>> import truerank as tr
        >>> Repeats([tr.report(tr.Ranks([above], [1], 10)) for above in (0, 2)]).std("mr")
        1.4142135623730951
        """
        values, mean = self.values(key), self[key]
        if self.runs < 2:
            return math.nan
        return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (self.runs - 1))

    def interval(
        self,
        metric: str = "mrr",
        *,
        by: LabelsLike | None = UNIT,
        level: float = 0.95,
    ) -> Interval:
        """Return the interval of the mean over runs: what other runs over other tasks would give.

        Parameters
        ----------
        metric : str
            Any key of a report.
        by : str, labels or None
            The units, as in `Report.interval`.
        level : float

        Returns
        -------
        Interval
            The mean and the bounds of a t interval, whose squared error is that of runs and of
            units. Runs of unlike tasks are taken for folds. Notes say that there are few runs
            (fewer than 5), and that folds share what the interval does not know of.

        Raises
        ------
        ValueError
            For a single run, for Reports without ranks, and for metrics that tell no units apart
            (mad, power_mean:inf).
        KeyError
            For an unknown key.

        Examples
        --------
        >>> import truerank as tr
        >>> rows = ([0, 3, 1], [0, 2, 2], [0, 5, 2], [1, 3, 1], [0, 4, 2])
        >>> runs = Repeats([tr.report(tr.Ranks(above, [1] * 3, 10)) for above in rows])
        >>> found = runs.interval("mrr", level=0.5)
        >>> round(found.low, 3), round(found.value, 3), round(found.high, 3)
        (0.315, 0.513, 0.712)
        """
        ranks = [weighted_ranks(f"reports[{i}]", run) for i, run in enumerate(self.reports)]
        return interval_over_runs(
            ranks,
            metric,
            level=level,
            by=by,
            groups=self.reports[0].group_labels if parse(metric).macro else None,
            draw_seeds=[run.seed for run in self.reports],
        )

    @overload
    def values(self) -> ValuesView[float]: ...
    @overload
    def values(self, key: str) -> tuple[float, ...]: ...
    def values(self, key: str | None = None) -> ValuesView[float] | tuple[float, ...]:
        """Return the values of a key, one for each run; without a key, the means of all keys."""
        if key is None:
            return super().values()
        return tuple(report[key] for report in self.reports)

    def __iter__(self) -> Iterator[str]:
        first, *others = self.reports
        known = [set(other) for other in others]
        return (key for key in first if all(key in keys for keys in known))

    def __eq__(self, other: object) -> bool:
        return self.reports == other.reports if isinstance(other, Repeats) else NotImplemented

    def __repr__(self) -> str:
        keys = [key for key in ("mrr", "hits@10", "amri") if key in self]
        words = (f"{key} {format_mean(self[key], self.std(key), 4)}" for key in keys)
        return f"Repeats({', '.join([f'{self.runs:,} runs', *words])})"

    # -- forms -------------------------------------------------------------------------------------

    def to_dict(
        self, metrics: str | Iterable[str] | None = None, *, flat: bool = True, std: bool = False
    ) -> dict[str, Any]:
        """Return the means by key, flat, as loggers need them.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The keys; those that all runs have if not given.
        flat : bool
            False nests them as side -> kind -> [adjustment.]metric, macro averages under "macro".
        std : bool
            Whether to include the standard deviations, under "key std".

        Examples
        --------
        >>> import truerank as tr
        >>> runs = Repeats([tr.report(tr.Ranks([above], [1], 10)) for above in (0, 2)])
        >>> runs.to_dict(["mr"]), runs.to_dict(["mr"], flat=False, std=True)
        ({'mr': 2.0}, {'both': {'realistic': {'mr': 2.0, 'mr std': 1.4142135623730951}}})
        """
        values: dict[str, float] = {}
        for key in unique_keys(self if metrics is None else metrics):
            values[key] = self[key]
            if std:
                values[f"{key} std"] = self.std(key)
        return values if flat else nest(values)

    def to_json(self, metrics: str | Iterable[str] | None = None, *, indent: int | None = 2) -> str:
        """Return mean, std and the values of the runs by key as a JSON object; nan becomes null.

        Examples
        --------
        >>> import json
        >>> import truerank as tr
        >>> runs = Repeats([tr.report(tr.Ranks([above], [1], 10)) for above in (0, 2)])
        >>> json.loads(runs.to_json(["mr"]))["metrics"]
        {'mr': {'mean': 2.0, 'std': 1.4142135623730951, 'values': [1.0, 3.0]}}
        """
        content = {
            "kind": JSON_KIND,
            "format": JSON_FORMAT,
            "runs": self.runs,
            "metrics": {
                key: {"mean": self[key], "std": self.std(key), "values": self.values(key)}
                for key in unique_keys(self if metrics is None else metrics)
            },
            "fingerprints": [report.protocol.fingerprint for report in self.reports],
            "notes": self.notes,
        }
        return write_json(content, indent)

    def table(self, metrics: str | Iterable[str] | None = None, **options: Any) -> Table:
        """Return means and standard deviations, below the number of runs and the protocol."""
        keys = choose_metrics(metrics, FEW_METRICS, common_keys(DEFAULT_METRICS, [self]))
        runs, protocol = format_count(self.runs, "run"), self.protocol
        heading = f"{runs}; {protocol} (fingerprint {protocol.fingerprint})."
        notes = (f"{note[:1].upper()}{note[1:]}." for note in self.notes)
        return Table(
            [
                Column("metric", only="data"),
                Column("name", "metric", only="print"),
                *("mean", "std"),
                *(Column(f"run {i + 1}", only="data") for i in range(self.runs)),
            ],
            [(key, table_name(key), self[key], self.std(key), *self.values(key)) for key in keys],
            names=2,
            before=[heading, *notes],
        ).table(**options)


@overload
def report(
    ranks: Ranks | Report,
    *,
    seed: int = ...,
    by: LabelsLike | None = ...,
    weights: Weights | None = ...,
    macro_weights: MacroWeights | None = ...,
) -> Report: ...
@overload
def report(ranks: Sequence[Report]) -> Repeats: ...
@public("truerank")
def report(
    ranks: Ranks | Report | Sequence[Report],
    *,
    seed: int = 0,
    by: LabelsLike | None = None,
    weights: Weights | None = None,
    macro_weights: MacroWeights | None = None,
) -> Report | Repeats:
    """Return the metrics of ranks: `report(ranks)["mrr"]`.

    Parameters
    ----------
    ranks : Ranks, Report, or sequence of Reports
        A Report stands for its ranks, with the weights that are in force in it. Several Reports, of
        repeats (folds, seeds), give their means and standard deviations; the other parameters are
        not allowed then, since each Report has its own.
    seed : int
        The seed of the kind "random".
    by : str or labels, optional
        The group of each task: the name of a label ("relation", "side", "query", "target", or any
        that `ranks.labels` has), or labels in any form, one for each task. See `Report`.
    weights : array_like of float, shape (n,), or {"query", "relation", "target"}, optional
        Used instead of the weights of the ranks. By name: every query, relation or answer of a side
        counts once, or every value of a label that `ranks.labels` has.
    macro_weights : "count", mapping of label to float, or array_like of float, optional
        The weight of each group in "macro.X"; each counts once if not given.

    Returns
    -------
    Report or Repeats

    Raises
    ------
    TypeError
        If `ranks` is something else, its sides are ids instead of names, or the seed is not an int.
    ValueError
        If the name of a side cannot be told from the other words of a key, if the seed is negative,
        if labels or weights do not fit the tasks, and if Reports differ in protocols or weights.

    Examples
    --------
    >>> report(Ranks([0, 3], [1, 1], 10))["hits@1"]
    0.5
    >>> report([report(Ranks([0], [1], 10)), report(Ranks([3], [1], 10))])["mr"]
    2.5
    """
    if isinstance(ranks, (Ranks, Report)):
        ranks = weighted_ranks("ranks", ranks)
        return Report(ranks, seed=seed, by=by, weights=weights, macro_weights=macro_weights)
    if not isinstance(ranks, (list, tuple)) or not all(isinstance(r, Report) for r in ranks):
        got = type(ranks).__name__
        if isinstance(ranks, (list, tuple)) and any(isinstance(part, Ranks) for part in ranks):
            got += " of Ranks; concatenate joins those of parts, and a Report of each makes runs"
        elif hasattr(ranks, "dtype"):
            ties = "numpy.ones_like(places)"
            got += f"; of places without ties, make Ranks(places - 1, {ties}, candidates)"
        raise InputTypeError("ranks", expected="Ranks, a Report, or a list of Reports", got=got)
    if seed or any(option is not None for option in (by, weights, macro_weights)):
        raise InputTypeError("ranks", "Reports have their seed, groups and weights already")
    return Repeats(ranks)


def common_keys(keys: Iterable[str], results: Iterable[Mapping[str, float]]) -> list[str]:
    """Return those of the keys that all results have; if there are none, all that they share.

    Examples
    --------
    >>> common_keys(["mr", "mrr"], [{"mrr": 0.5, "hits@7": 1.0}, {"mrr": 0.25}])
    ['mrr']
    """
    results = list(results)
    shared = [key for key in keys if all(key in values for values in results)]
    return shared or [key for key in results[0] if all(key in values for values in results)]


def format_mean(mean: float, std: float, digits: int) -> str:
    """Write a mean with its standard deviation, if there is one.

    Examples
    --------
    >>> format_mean(0.43847712, 0.0012345, 4)
    '0.4385 \u00b1 0.0012'
    """
    return number(mean, digits) + ("" if math.isnan(std) else f" \u00b1 {number(std, 2)}")


def describe_weights(report: Report) -> str:
    """Say how the tasks of a report are weighted.

    Examples
    --------
    >>> import truerank as tr
    >>> describe_weights(tr.report(tr.Ranks([0], [1], 10)))
    'equal weights'
    """
    return report.weighting or "equal weights"


def _run_differences(reports: Sequence[Report]) -> Iterator[str]:
    """Say how protocols and weights differ from those of the first run."""
    first = reports[0]
    for i, other in enumerate(reports, 1):
        differences = first.protocol.differences(other.protocol)
        if differences:
            yield (f"runs 1 and {i} were counted under unlike protocols: {'; '.join(differences)}")
        if describe_weights(first) != describe_weights(other):
            yield f"runs 1 and {i} have {describe_weights(first)} and {describe_weights(other)}"


def check_reports(reports: Any, whose: str = "") -> tuple[Report, ...]:
    """Check that there is at least one Report; `whose` is appended to messages."""
    if isinstance(reports, (str, bytes, Mapping)) or not is_iterable(reports):
        got = f"{type(reports).__name__}{whose}"
        raise InputTypeError("reports", expected="several Reports", got=got)
    found = tuple(reports)
    for i, report in enumerate(found):
        if not isinstance(report, Report):
            got = f"{type(report).__name__} at position {i}{whose}"
            raise InputTypeError("reports", expected="Reports", got=got)
    if not found:
        raise InputValueError("reports", expected="at least one", got=f"none{whose}")
    return found
