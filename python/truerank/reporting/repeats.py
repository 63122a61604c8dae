"""Several runs of one model, by seed or fold, and their means."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import inference
from ..errors import InputTypeError, InputValueError
from ..inputs.checks import several
from .reports import Report

if TYPE_CHECKING:
    from ..inference.intervals import Interval
    from ..ranks.labels import LabelsLike


class Repeats:
    """Several Reports of one model, by seed or fold: `repeats[key]` is the mean over them."""

    def __init__(self, reports: Iterable[Report]) -> None:
        self.reports = tuple(reports)

    @property
    def runs(self) -> int:
        """How many Reports there are."""
        return len(self.reports)

    @property
    def alone(self) -> Report | Repeats:
        """The Report of a single run, which has intervals of its own; else these runs."""
        return self.reports[0] if self.runs == 1 else self

    def of_group(self, label: Hashable) -> Repeats:
        """Return the reports of a group that all of them have."""
        return Repeats([report.groups[label] for report in self.reports])

    def __getitem__(self, key: str) -> float:
        """Return the mean over the runs; a KeyError if one of them does not have the key."""
        return math.fsum(report[key] for report in self.reports) / self.runs

    def std(self, key: str) -> float:
        """Return the sample standard deviation over the runs (ddof 1); nan for a single run."""
        values = [report[key] for report in self.reports]
        mean = math.fsum(values) / self.runs
        if self.runs < 2:
            return math.nan
        return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (self.runs - 1))

    def interval(self, metric: str, *, unit: LabelsLike | None, level: float) -> Interval:
        """Return the interval of the mean, over other runs and other tasks."""
        return inference.interval(self.reports, metric, unit=unit, level=level)


def read_runs(argument: str, value: Any, allow_unlike: bool = False) -> Repeats:
    """Check the runs of one model: a Report, Repeats, or several Reports."""
    runs: Sequence[Any]
    if isinstance(value, Repeats):
        runs = value.reports
    elif isinstance(value, Report):
        runs = [value]
    else:
        runs = several(argument, value, "Reports, or a Report (truerank.report(ranks) makes one)")
    for i, run in enumerate(runs):
        if not isinstance(run, Report):
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
