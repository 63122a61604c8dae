"""The report of ranks, and of several runs of one model: by seed or fold, their means."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from .. import inference, reporting
from ..errors import InputTypeError, InputValueError
from ..inputs.checks import several
from ..inputs.rules import with_options
from ..metrics.contributions import UNIT
from ..naming import public
from ..ranks.container import Ranks
from ..tables.cells import format_count
from .base_report import BaseReport
from .columns import Names
from .named_numbers import Numbers
from .reports import Report

if TYPE_CHECKING:
    from ..inference.intervals import Interval
    from ..ranks.labels import LabelsLike
    from ..tables import Table
    from .summaries import Weights


@public("truerank.reporting")
class Repeats(Numbers):
    """Several Reports of one model, by seed or fold: `repeats[key]` is the mean over them.

    `report` makes it of a list of Reports. As a mapping it iterates over the keys that all of them
    have. A value that is nan in one of them makes mean and standard deviation nan. It prints as its
    row of `truerank.table`.

    Attributes
    ----------
    reports : tuple of Report
    runs : int
        The number of Reports.
    protocol : Protocol
        That of the first Report.

    Examples
    --------
    >>> import truerank as tr
    >>> repeats = tr.report([tr.report(tr.Ranks([above], [1], 10)) for above in (0, 1, 3)])
    >>> repeats["mr"], repeats.std("mr"), repeats.values("mr")
    (2.3333333333333335, 1.5275252316519468, (1.0, 2.0, 4.0))
    >>> print(repeats.to_text(["mr", "mrr"]))
    model        MR ↓          MRR ↑
    3 runs  2.3 ± 1.5  0.583 ± 0.382
    """

    def __init__(self, reports: Iterable[BaseReport]) -> None:
        self.reports = tuple(reports)
        first = self.reports[0]
        self.protocol = first.protocol
        self.read_key = first.read_key
        self.few = first.few
        self.usual = first.usual

    @property
    def runs(self) -> int:
        """How many Reports there are."""
        return len(self.reports)

    @property
    def alone(self) -> BaseReport | Repeats:
        """The Report of a single run, which has intervals of its own; else these runs."""
        return self.reports[0] if self.runs == 1 else self

    def of_group(self, label: Hashable) -> Repeats:
        """Return the reports of a group that all of them have.

        Examples
        --------
        >>> import truerank as tr
        >>> runs = [tr.report(tr.Ranks([above, 5], [1, 1], 10), by=["a", "b"]) for above in (0, 2)]
        >>> tr.report(runs).of_group("a")["mr"]
        2.0
        """
        return Repeats([report.groups[label] for report in self.reports])

    def _value(self, key: str) -> float:
        """Return the mean over the runs; a KeyError if one of them does not have the key."""
        return math.fsum(self.values(key)) / self.runs

    def std(self, key: str) -> float:
        """Return the sample standard deviation over the runs (ddof 1); nan for a single run.

        Examples
        --------
        >>> import truerank as tr
        >>> tr.report([tr.report(tr.Ranks([above], [1], 10)) for above in (0, 2)]).std("mr")
        1.4142135623730951
        """
        values = self.values(key)
        mean = self[key]
        if self.runs < 2:
            return math.nan
        return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (self.runs - 1))

    def interval(
        self,
        metric: str = "mrr",
        *,
        unit: LabelsLike | None = UNIT,
        level: float = 0.95,
    ) -> Interval:
        """Return the interval of the mean over runs: what other runs over other tasks would give.

        Parameters
        ----------
        metric : str
            Any key of a report.
        unit : str, labels or None
            The units, as in `Report.interval`.
        level : float

        Returns
        -------
        Interval
            The mean and the bounds of a t interval, whose squared error is that of runs and of
            units. Runs of unlike tasks are folds, whose values have the t interval.

        Raises
        ------
        ValueError
            For a single run, and for metrics that are no function of a mean (median, mad,
            power_mean:inf), macro averages and z.
        KeyError
            For an unknown key.

        Examples
        --------
        >>> import truerank as tr
        >>> rows = ([0, 3, 1], [0, 2, 2], [0, 5, 2], [1, 3, 1], [0, 4, 2])
        >>> runs = tr.report([tr.report(tr.Ranks(above, [1] * 3, 10)) for above in rows])
        >>> found = runs.interval("mrr", level=0.5)
        >>> round(found.low, 3), round(found.value, 3), round(found.high, 3)
        (0.351, 0.513, 0.676)
        """
        if self.runs < 2:
            raise InputValueError("runs", expected="at least two", got=self.runs)
        return inference.interval(self.reports, metric, unit=unit, level=level)

    def values(self, key: str | None = None) -> Any:
        """Return the values of a key, one for each run; without a key, the means of all keys."""
        if key is None:
            return super().values()
        return tuple(report[key] for report in self.reports)

    def __iter__(self) -> Iterator[str]:
        return iter(shared_keys(self.reports[0], self.reports))

    def __repr__(self) -> str:
        words = [format_count(self.runs, "run")]
        words += [f"{key} {self[key]:.4g}" for key in ("mrr", "hits@10", "amri") if key in self]
        return f"Repeats({', '.join(words)})"

    def table(self, metrics: Names = None, **options: Any) -> Table:
        """Return the row of `truerank.table`, which takes the same options."""
        return reporting.table(self, metrics, **options)

    def _takes_options(self) -> Callable[..., Table]:
        return reporting.table


class ReportOptions(TypedDict, total=False):
    """Options of the report of one model."""

    seed: int
    by: LabelsLike | None
    weights: Weights | None


@overload
def report(ranks: Ranks | Report, **options: Unpack[ReportOptions]) -> Report: ...
@overload
def report(ranks: Sequence[BaseReport]) -> Repeats: ...
@public("truerank")
@with_options(ReportOptions, seed=0)
def report(
    ranks: Ranks | Report | Sequence[BaseReport], **options: Unpack[ReportOptions]
) -> Report | Repeats:
    """Return the metrics of ranks: `report(ranks)["mrr"]`.

    Parameters
    ----------
    ranks : Ranks, Report, or sequence of Reports
        A Report stands for its ranks, with the weights of the report. Several Reports, of repeats
        (folds, seeds), also of retrieval, give their means and standard deviations; the other
        parameters are not allowed then, since each Report has its own.
    seed : int
        The seed of the kind "random".
    by : str or labels, optional
        The group of each task: the name of a label ("relation", "side", "query", "target", or any
        that `ranks.labels` has), or labels in any form, one for each task. See `Report`.
    weights : array_like of float, shape (n,), or {"query", "relation", "target"}, optional
        Used instead of the weights of the ranks. By name: every query, relation or answer of a side
        counts once, or every value of a label that `ranks.labels` has.

    Returns
    -------
    Report or Repeats

    Raises
    ------
    TypeError
        If `ranks` is something else, its sides are ids instead of names, or the seed is not an int.
    ValueError
        If the name of a side cannot be told from the other words of a key, if the seed is negative,
        if labels or weights do not fit the tasks, if Reports differ in protocols or weights, and
        for ranks of a report of retrieval of which several belong to a query.

    Examples
    --------
    >>> report(Ranks([0, 3], [1, 1], 10))["hits@1"]
    0.5
    >>> report([report(Ranks([0], [1], 10)), report(Ranks([3], [1], 10))])["mr"]
    2.5
    """
    if isinstance(ranks, (Ranks, Report)):
        return Report(ranks, **options)
    if not isinstance(ranks, (list, tuple)):
        expected = "Ranks, a Report, or a list of Reports"
        raise InputTypeError("ranks", expected=expected, got=type(ranks).__name__)
    if options:
        raise InputTypeError("ranks", "Reports have their seed, groups and weights already")
    return read_runs("ranks", ranks)


def read_runs(argument: str, value: Any, allow_unlike: bool = False) -> Repeats:
    """Check the runs of one model: a Report, Repeats, or several Reports."""
    runs: Sequence[Any]
    if isinstance(value, Repeats):
        runs = value.reports
    elif isinstance(value, BaseReport):
        runs = [value]
    else:
        runs = several(argument, value, "Reports, or a Report (truerank.report(ranks) makes one)")
    for i, run in enumerate(runs):
        if not isinstance(run, BaseReport):
            got = f"{type(run).__name__} at position {i}"
            raise InputTypeError(argument, expected="Reports", got=got)
    if not runs:
        raise InputValueError(argument, expected="at least one", got="none")
    read = Repeats(runs)
    if not allow_unlike:
        for difference in run_differences(read):
            raise InputValueError(argument, difference)
    return read


def run_differences(runs: Repeats) -> Iterator[str]:
    """Say how protocols and weights differ from those of the first run."""
    first = runs.reports[0]
    for i, other in enumerate(runs.reports[1:], 2):
        differences = first.protocol.differences(other.protocol)
        if differences:
            yield f"runs 1 and {i} were counted under unlike protocols: {'; '.join(differences)}"
        if first.weighting != other.weighting:
            weights = (report.weighting or "equal weights" for report in (first, other))
            yield f"runs 1 and {i} have {' and '.join(weights)}"


def shared_keys(keys: Iterable[str], results: Iterable[Mapping[str, float]]) -> list[str]:
    """Return those of the keys that all results have."""
    # A set finds keys without computing their values.
    listed = [(frozenset(values), values) for values in results]
    shared = []
    for key in keys:
        if all(key in known or key in values for known, values in listed):
            shared.append(key)
    return shared
