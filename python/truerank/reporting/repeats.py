"""Repeats of one measurement, folds or seeds: the mean over them and how far they spread."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, ValuesView
from typing import TYPE_CHECKING, Any, overload

from ..comparison.table_writer import (
    Records,
    TextGrid,
    TextTables,
    check_digits,
    format_count,
    number,
)
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..ranks.container import Ranks
from .axes import FEW_METRICS, nest, unique_keys
from .report_content import json_value
from .reports import Report

if TYPE_CHECKING:
    from ..ranks.labels import LabelsLike
    from ..ranks.protocol import Protocol
    from .macro import MacroWeights
    from .reports import Weights

JSON_KIND = "truerank.repeats"
JSON_FORMAT = 1


@public("truerank.reporting")
class Repeats(Mapping[str, float]):
    """Several Reports of one thing: `repeats[key]` is the mean over them.

    As a mapping it runs over the keys that all of them have. A value that is nan in one of them
    makes mean and standard deviation nan.

    Parameters
    ----------
    reports : iterable of Report
        At least one.
    allow_unlike : bool
        Whether their protocols and weights may differ; `notes` say how, then.

    Attributes
    ----------
    reports : tuple of Report
    runs : int
        How many there are.
    notes : tuple of str
        What must be said beside the numbers: how protocols and weights differ.

    Raises
    ------
    TypeError
        For anything but Reports.
    ValueError
        For none, and for Reports of unlike protocols or weights (it lists the differences).

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
        """How the ranks of the first one were counted."""
        return self.reports[0].protocol

    def __getitem__(self, key: str) -> float:
        """The mean over the runs; KeyError where one of them does not have the key."""
        return math.fsum(self.values(key)) / self.runs

    def std(self, key: str) -> float:
        """The sample standard deviation over the runs (ddof 1); nan of one run.

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

    @overload
    def values(self) -> ValuesView[float]: ...
    @overload
    def values(self, key: str) -> tuple[float, ...]: ...
    def values(self, key: str | None = None) -> ValuesView[float] | tuple[float, ...]:
        """The values of a key, one for each run; without a key the means, as of any mapping."""
        if key is None:
            return super().values()
        return tuple(report[key] for report in self.reports)

    def __iter__(self) -> Iterator[str]:
        first, *others = self.reports
        held = [set(other) for other in others]
        return (key for key in first if all(key in keys for keys in held))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __eq__(self, other: object) -> bool:
        return self.reports == other.reports if isinstance(other, Repeats) else NotImplemented

    def __repr__(self) -> str:
        held = [name for name in ("mrr", "hits@10", "amri") if name in self]
        shown = [format_mean(self[name], self.std(name), 4) for name in held]
        words = (f"{name} {text}" for name, text in zip(held, shown, strict=True))
        return f"Repeats({', '.join([f'{self.runs:,} runs', *words])})"

    # -- forms -------------------------------------------------------------------------------------

    def to_dict(
        self, metrics: Iterable[str] | None = None, *, flat: bool = True, std: bool = False
    ) -> dict[str, Any]:
        """Give the means by key, flat, as loggers want them.

        Parameters
        ----------
        metrics : iterable of str, optional
            The keys; those that all runs have if not given.
        flat : bool
            False nests them as side -> kind -> [adjustment.]metric, macro averages under "macro".
        std : bool
            Whether the standard deviations stand beside them, under "key std".

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

    def to_json(self, metrics: Iterable[str] | None = None, *, indent: int | None = 2) -> str:
        """Give mean, std and the values of the runs by key as a JSON object; nan becomes null.

        Examples
        --------
        >>> import json
        >>> import truerank as tr
        >>> runs = Repeats([tr.report(tr.Ranks([above], [1], 10)) for above in (0, 2)])
        >>> json.loads(runs.to_json(["mr"]))["metrics"]
        {'mr': {'mean': 2.0, 'std': 1.4142135623730951, 'values': [1.0, 3.0]}}
        """
        import json

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
        return json.dumps(json_value(content), indent=indent, allow_nan=False)

    def to_pandas(self, metrics: Iterable[str] | None = None) -> Any:
        """Give a pandas DataFrame with the columns of `to_csv`.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return self._records(metrics).frame()

    def to_csv(self, metrics: Iterable[str] | None = None) -> str:
        """Give metric, mean, std and the value of each run, in all their digits.

        Examples
        --------
        >>> import truerank as tr
        >>> runs = Repeats([tr.report(tr.Ranks([above], [1], 10)) for above in (0, 2)])
        >>> print(runs.to_csv(["mr"]), end="")
        metric,mean,std,run 1,run 2
        mr,2.0,1.4142135623730951,1.0,3.0
        """
        return self._records(metrics).csv()

    def to_markdown(self, metrics: Iterable[str] | None = None, *, digits: int = 4) -> str:
        """Give a Markdown table of mean and standard deviation, after what was repeated, and how.

        Parameters
        ----------
        metrics : iterable of str, optional
            The keys; a few usual ones if not given.
        digits : int
            Significant digits.

        Examples
        --------
        >>> import truerank as tr
        >>> runs = Repeats([tr.report(tr.Ranks([above], [1], 10)) for above in (0, 2)])
        >>> print(runs.to_markdown(["mr"]))
        2 runs; unfiltered, all candidates, nan raise (fingerprint a641f68e38144777).
        <BLANKLINE>
        | metric | mean | std |
        | :--- | ---: | ---: |
        | mr | 2 | 1.414 |
        <BLANKLINE>
        """
        return self._tables(metrics, digits).markdown() + "\n"

    def to_latex(self, metrics: Iterable[str] | None = None, *, digits: int = 4) -> str:
        """Give the table of `to_markdown` as a LaTeX tabular with the rules of booktabs."""
        return self._tables(metrics, digits).latex() + "\n"

    def _repr_html_(self) -> str:
        """The same as HTML, for notebooks."""
        return self._tables(None, 4).html() + "\n"

    def _records(self, metrics: Iterable[str] | None) -> Records:
        values = ["mean", "std", *(f"run {i + 1}" for i in range(self.runs))]
        keys = unique_keys(self if metrics is None else metrics)
        rows = [(key, self[key], self.std(key), *self.values(key)) for key in keys]
        return Records(["metric", *values], rows, values)

    def _tables(self, metrics: Iterable[str] | None, digits: int) -> TextTables:
        """Mean and standard deviation, after what was repeated, and how."""
        check_digits(digits)
        keys = common_keys(FEW_METRICS, [self]) if metrics is None else unique_keys(metrics)
        rows = [[key, number(self[key], digits), number(self.std(key), digits)] for key in keys]
        runs, protocol = format_count(self.runs, "run"), self.protocol
        told = f"{runs}; {protocol} (fingerprint {protocol.fingerprint})."
        notes = (f"{note[:1].upper()}{note[1:]}." for note in self.notes)
        return TextTables([TextGrid(["metric", "mean", "std"], rows)], [told, *notes])


@overload
def report(
    ranks: Ranks,
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
    ranks: Ranks | Sequence[Report],
    *,
    seed: int = 0,
    by: LabelsLike | None = None,
    weights: Weights | None = None,
    macro_weights: MacroWeights | None = None,
) -> Report | Repeats:
    """Give the metrics of ranks: `report(ranks)["mrr"]`.

    Parameters
    ----------
    ranks : Ranks, or sequence of Reports
        Reports of repeats (folds, seeds) give their means and standard deviations; the other
        parameters are those of each of them then.
    seed : int
        For the kind "random".
    by : str or labels, optional
        The group of each task: the name of a label ("relation", "side", "query", "target", or any
        that `ranks.labels` has), or labels in any form, one for each task. See `Report`.
    weights : array_like of float, shape (n,), or {"query", "relation", "target"}, optional
        Instead of the weights of the ranks. By name: every query, relation or answer of a side
        counts once, or every value of a label that `ranks.labels` has.
    macro_weights : "count", mapping of label to float, or array_like of float, optional
        What each group counts in "macro.X"; once if not given.

    Returns
    -------
    Report or Repeats

    Raises
    ------
    TypeError
        If `ranks` is something else, its sides are ids instead of names, or the seed is no int.
    ValueError
        If a side has a name that a key cannot tell from its other words, the seed is negative, and
        for labels or weights that do not fit the tasks; for Reports of unlike protocols or weights.

    Examples
    --------
    >>> report(Ranks([0, 3], [1, 1], 10))["hits@1"]
    0.5
    >>> report([report(Ranks([0], [1], 10)), report(Ranks([3], [1], 10))])["mr"]
    2.5
    """
    if isinstance(ranks, Ranks):
        return Report(ranks, seed=seed, by=by, weights=weights, macro_weights=macro_weights)
    if not isinstance(ranks, (list, tuple)) or not all(isinstance(r, Report) for r in ranks):
        raise InputTypeError(
            "ranks", expected="Ranks, or a list of Reports", got=type(ranks).__name__
        )
    if seed or any(option is not None for option in (by, weights, macro_weights)):
        raise InputTypeError("ranks", "Reports have their seed, groups and weights already")
    return Repeats(ranks)


def common_keys(keys: Iterable[str], held: Iterable[Mapping[str, float]]) -> list[str]:
    """Those of some keys that all mappings have; where there are none, all that they share.

    Examples
    --------
    >>> common_keys(["mr", "mrr"], [{"mrr": 0.5, "hits@7": 1.0}, {"mrr": 0.25}])
    ['mrr']
    """
    held = list(held)
    shared = [key for key in keys if all(key in values for values in held)]
    return shared or [key for key in held[0] if all(key in values for values in held)]


def format_mean(mean: float, std: float, digits: int) -> str:
    """A mean with its standard deviation, where there is one.

    Examples
    --------
    >>> format_mean(0.43847712, 0.0012345, 4)
    '0.4385 \u00b1 0.0012'
    """
    return number(mean, digits) + ("" if math.isnan(std) else f" \u00b1 {number(std, 2)}")


def describe_weights(report: Report) -> str:
    """What the tasks of a report count, in words.

    Examples
    --------
    >>> import truerank as tr
    >>> describe_weights(tr.report(tr.Ranks([0], [1], 10)))
    'equal weights'
    """
    return report.weighting or "equal weights"


def _run_differences(reports: Sequence[Report]) -> Iterator[str]:
    """How protocols and weights differ from those of the first one."""
    first = reports[0]
    for i, other in enumerate(reports, 1):
        differences = first.protocol.differences(other.protocol)
        if differences:
            yield (f"runs 1 and {i} were counted under unlike protocols: {'; '.join(differences)}")
        if describe_weights(first) != describe_weights(other):
            yield f"runs 1 and {i} have {describe_weights(first)} and {describe_weights(other)}"


def check_reports(reports: Any, whose: str = "") -> tuple[Report, ...]:
    """Check that there are Reports, at least one; `whose` they are is said of others."""
    if isinstance(reports, (str, bytes, Mapping)) or not isinstance(reports, Iterable):
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
