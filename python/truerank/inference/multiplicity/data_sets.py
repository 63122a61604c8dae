"""Many models over many data sets: Friedman's test, and which models Nemenyi's tells apart."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...inputs.checks import ORDERS, choice, confidence, flag, is_number
from ...inputs.errors import InputTypeError, InputValueError, spelled
from ...inputs.naming import public
from ...metrics.keys import Key, increasing, parse
from ...ranks.container import Ranks
from ...tables.table_writer import Records, TextTables, format_count, number
from ...tables.tabular import PlainTable
from ..paired_models.pairing import has_protocol
from ..samples import cautions
from ..samples.units import units_of
from .block_laws import (
    chi_squared_tail,
    f_tail,
    rank_sum_law,
    studentized_range_quantile,
    studentized_range_tail,
)

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray, IntArray
    from ...inputs.words import ScoreOrder

FEW_DATA_SETS = 10  # below, Demšar (2006) does not trust chi-squared
LEVEL = 0.95  # of the critical difference that tables show


@public("truerank.inference")
class Friedman(PlainTable):
    """The ranks of several models over several data sets, and whether they differ; by `friedman`.

    Attributes
    ----------
    metric : str
        The key; empty for values without one.
    models, data_sets : tuple of str
    values, ranks : ndarray of float64, shape (data sets, models)
        The values, and their ranks within each data set: 1 is best, equal values share their mean.
    mean_ranks : dict of str to float
        The mean rank of each model, in the given order.
    chi_squared, p_chi_squared : float
        Friedman's statistic, corrected for ties, and its p-value by chi-squared.
    f, p_f : float
        The statistic of Iman and Davenport, and its p-value by F.
    p_exact : float
        The exact p-value; nan where there are too many orders of the ranks.
    p_value : float
        The exact p-value, or that by F where there is none.
    notes : tuple of str
        What limits the p-values.
    """

    __hash__ = None  # type: ignore[assignment]
    _INDEX = "model"

    def __init__(
        self,
        models: Sequence[str],
        data_sets: Sequence[str],
        values: FloatArray,
        *,
        metric: str = "",
        descending: bool = True,
        exact: bool = True,
    ) -> None:
        self.metric, self.models, self.data_sets = metric, tuple(models), tuple(data_sets)
        self.values = values
        doubled = _doubled_ranks(values if descending else -values)
        self.ranks: FloatArray = doubled / 2
        for kept in (self.values, self.ranks):
            kept.flags.writeable = False
        blocks, k = doubled.shape
        self._sums = doubled.sum(axis=0)
        self.mean_ranks = dict(zip(models, (self._sums / (2 * blocks)).tolist(), strict=True))
        self._law = rank_sum_law(doubled) if exact else None
        square = int((self._sums * self._sums).sum())
        expected = k * (blocks * (k + 1)) ** 2
        spread = int((doubled * doubled).sum()) - blocks * k * (k + 1) ** 2
        self.chi_squared = (k - 1) * (square - expected) / spread if spread else 0.0
        left = blocks * (k - 1) - self.chi_squared
        same = left <= 1e-9 * blocks  # all data sets agree
        self.f = math.inf if same else (blocks - 1) * self.chi_squared / left
        least = _least_p(doubled)
        self.p_chi_squared = max(chi_squared_tail(self.chi_squared, k - 1), least)
        self.p_f = max(f_tail(self.f, k - 1, (k - 1) * (blocks - 1)), least)
        self.p_exact = math.nan if self._law is None else self._law.square_tail(square)
        self.p_value = self.p_f if self._law is None else self.p_exact
        self.notes = self._cautions()

    def critical_difference(self, level: float = LEVEL) -> float:
        """Return the difference of two mean ranks from which on Nemenyi's test tells models apart.

        It is q sqrt(k (k + 1) / (6 n)) for n data sets and k models, where q is the quantile of the
        studentised range divided by the root of 2 (Demšar 2006, equation 6). Where the ranks have
        an exact law, it is the smallest difference that the largest of all reaches with a
        probability of at most 1 - level; inf if there is none.

        Parameters
        ----------
        level : float
            1 minus the risk of telling any models apart where none differ.

        Examples
        --------
        >>> found = friedman({f"set {i}": {"A": 3, "B": 2, "C": 1} for i in range(6)})
        >>> round(found.critical_difference(), 3)
        1.5
        >>> round(friedman(dict(zip("xyz", [{"A": 1, "B": 0}] * 3))).critical_difference(), 3)
        inf
        """
        alpha = 1 - confidence(level)
        blocks, k = self.values.shape
        if self._law is None:
            return studentized_range_quantile(alpha, k) * self._unit()
        reached = self._law.ranges[self._law.range_tails <= alpha * (1 + 1e-12)]
        return float(reached[0]) / (2 * blocks) if len(reached) else math.inf

    def pair_p_value(self, a: str, b: str) -> float:
        """Return the p-value of two models by Nemenyi's test, corrected for all pairs."""
        one, two = (self.models.index(choice("model", name, self.models)) for name in (a, b))
        apart = abs(int(self._sums[one] - self._sums[two]))
        if self._law is not None:
            return self._law.range_tail(apart)
        blocks, k = self.values.shape
        return studentized_range_tail(apart / (2 * blocks) / self._unit(), k)

    def not_told_apart(self, level: float = LEVEL) -> list[tuple[str, ...]]:
        """Return the largest sets of two or more models that Nemenyi's test does not tell apart.

        Models are in the order of their mean ranks, from the best; a model may be in several sets.
        """
        alpha = (1 - confidence(level)) * (1 + 1e-12)
        ordered = self.ordered()
        found: list[tuple[str, ...]] = []
        end = 0
        for start, name in enumerate(ordered):
            last = start
            while last + 1 < len(ordered) and self.pair_p_value(name, ordered[last + 1]) > alpha:
                last += 1
            if last > start and last > end - 1:
                found.append(tuple(ordered[start : last + 1]))
                end = last + 1
        return found

    def ordered(self) -> list[str]:
        """Return the models in the order of their mean ranks, from the best."""
        return sorted(self.models, key=self.mean_ranks.__getitem__)

    def to_dict(self) -> dict[str, Any]:
        """Return the mean ranks, the statistics, the p-values of all pairs, and the notes."""
        attributes = ("chi_squared", "p_chi_squared", "f", "p_f", "p_exact", "p_value")
        pairs = {
            f"{a} against {b}": self.pair_p_value(a, b)
            for a, b in itertools.combinations(self.models, 2)
        }
        return {
            "metric": self.metric,
            "data_sets": list(self.data_sets),
            "mean_ranks": dict(self.mean_ranks),
            **{name: getattr(self, name) for name in attributes},
            "critical_difference": self.critical_difference(),
            "nemenyi": pairs,
            "notes": list(self.notes),
        }

    def records(self) -> Records:
        """Return a row for each model: its mean rank, and Nemenyi's p-value against all others."""
        names = self.ordered()
        rows = [
            [
                a,
                self.mean_ranks[a],
                *(None if a == b else self.pair_p_value(a, b) for b in names),
            ]
            for a in names
        ]
        values = ["mean rank", *(f"p against {name}" for name in names)]
        return Records(["model", *values], rows, values)

    def text_tables(self, digits: int = 4) -> TextTables:
        """Return the table as text for people, with the results of the test."""
        return super().text_tables(digits)._replace(after=[*self._results()])

    def __repr__(self) -> str:
        sizes = f"{len(self.models)} models over {len(self.data_sets)} data sets"
        return f"Friedman({sizes}, p {self.p_value:.3g})"

    def _results(self) -> Iterator[str]:
        blocks, k = self.values.shape
        of = f" of {self.metric}" if self.metric else ""
        over = f"Friedman{of} over {format_count(blocks, 'data set')}"
        chi = f"chi-squared {number(self.chi_squared, 4)} ({k - 1} degrees of freedom)"
        degrees = f"({k - 1} and {(k - 1) * (blocks - 1)})"
        ps = (f"p {number(p, 3)}" for p in (self.p_chi_squared, self.p_f))
        exact = "" if math.isnan(self.p_exact) else f"; exact p {number(self.p_exact, 3)}"
        yield f"{over}: {chi}, {next(ps)}; F {number(self.f, 4)} {degrees}, {next(ps)}{exact}"
        apart = number(self.critical_difference(), 4)
        alike = "; ".join(", ".join(group) for group in self.not_told_apart())
        told = f"not told apart: {alike}" if alike else "all models are told apart"
        yield f"Nemenyi: critical difference {apart} at {100 * LEVEL:g} %; {told}"

    def _unit(self) -> float:
        """The standard deviation of a mean rank, by which the studentised range is divided."""
        blocks, k = self.values.shape
        return math.sqrt(k * (k + 1) / (12 * blocks))

    def _cautions(self) -> tuple[str, ...]:
        law = "p is approximate" if self._law is None else "p is from the exact law"
        blocks, k = self.values.shape
        notes = cautions.few_units(blocks, "data set", law, fewer_than=FEW_DATA_SETS)
        if self._law is None:
            return notes
        least = float(self._law.square_tails[-1])
        ways = f"{format_count(k, 'model')} over {format_count(blocks, 'data set')}"
        return notes + cautions.floor_reached(self.p_exact, least, ways)


@public("truerank.inference")
def friedman(
    results: Mapping[str, Mapping[str, Any]],
    *,
    metric: str | Key | None = None,
    order: ScoreOrder | None = None,
    exact: bool = True,
    allow_unlike: bool = False,
) -> Friedman:
    """Test whether several models differ over several data sets, by their ranks on each.

    Values of unlike data sets are not compared: only the order of the models on each counts. Where
    the test finds a difference, Nemenyi's post-hoc test says which models it tells apart;
    `truerank.plot.critical_difference` draws it.

    Parameters
    ----------
    results : mapping of data set to mapping of model to value
        All models on each data set, at least two of both. Values are numbers, or Ranks and Reports,
        of which `metric` is taken.
    metric : str or Key, optional
        The key, which also says whether more is better.
    order : {"descending", "ascending"}, optional
        Whether higher or lower values are better. By default as the metric says, else descending.
    exact : bool
        Whether to enumerate all orders of the ranks where there are not too many: 3 models on up to
        100 data sets, 4 on up to 20, 5 on up to 8, 6 on up to 4.
    allow_unlike : bool
        Whether the protocols of the models may differ on a data set.

    Returns
    -------
    Friedman

    Raises
    ------
    ValueError
        For fewer than two models or data sets, a model that is missing on one, a value that is nan,
        unlike protocols, and Ranks or Reports without `metric`.
    KeyError
        For an unknown key, and one that a Report does not have.
    TypeError
        For anything but mappings of numbers, Ranks and Reports.

    Notes
    -----
    With the sums of ranks R over n data sets and k models, Friedman's statistic is
    (k - 1) sum (R - n (k + 1) / 2)^2 / (sum of all squared ranks - n k (k + 1)^2 / 4), which is
    the usual form with its correction for ties. Iman and Davenport's is
    F = (n - 1) chi^2 / (n (k - 1) - chi^2), with k - 1 and (k - 1) (n - 1) degrees of freedom.

    Nemenyi's test depends on which other models are ranked, and does not use by how much models
    differ. For two models of interest compare their tasks (`truerank.compare`), and correct the
    p-values of the data sets by `correct_pvalues`.

    M. Friedman: The Use of Ranks to Avoid the Assumption of Normality. Journal of the American
    Statistical Association 32 (1937). R. L. Iman, J. M. Davenport: Approximations of the Critical
    Region of the Friedman Statistic. Communications in Statistics 9 (1980). J. Demšar: Statistical
    Comparisons of Classifiers over Multiple Data Sets. Journal of Machine Learning Research 7
    (2006).

    Examples
    --------
    >>> found = friedman(
    ...     {
    ...         "first": {"A": 0.22, "B": 0.44, "C": 0.48},
    ...         "second": {"A": 0.29, "B": 0.25, "C": 0.34},
    ...         "third": {"A": 0.30, "B": 0.36, "C": 0.50},
    ...         "fourth": {"A": 0.31, "B": 0.82, "C": 0.84},
    ...     }
    ... )
    >>> found.mean_ranks
    {'A': 2.75, 'B': 2.25, 'C': 1.0}
    >>> round(found.chi_squared, 4), round(found.p_value, 4)
    (6.5, 0.0417)
    """
    key = None if metric is None else metric if isinstance(metric, Key) else parse(metric)
    descending = _is_descending(key, order)
    rows = _check_tables(results)
    models = list(next(iter(rows.values())))
    if len(rows) < 2 or len(models) < 2:
        got = f"{format_count(len(models), 'model')} on {format_count(len(rows), 'data set')}"
        expected = "at least two models on at least two data sets"
        raise InputValueError("results", expected=expected, got=got)
    values = np.empty((len(rows), len(models)))
    for i, (data_set, row) in enumerate(rows.items()):
        _check_row(data_set, row, models, allow_unlike)
        for j, model in enumerate(models):
            values[i, j] = _value(row[model], key, f"{data_set} / {model}")
    name = "" if key is None else str(key)
    return Friedman(
        models, list(rows), values, metric=name, descending=descending, exact=flag("exact", exact)
    )


def _is_descending(key: Key | None, order: str | None) -> bool:
    if order is not None:
        return choice("order", order, ORDERS) == "descending"
    if key is None:
        return True
    better = increasing(key)
    if better is None:
        problem = f"{str(key)!r} is neither better nor worse where it is higher; give it with "
        raise InputValueError("order", problem + spelled("order=..."))
    return better


def _check_tables(results: Any) -> dict[str, dict[str, Any]]:
    """The values of each data set by model, with names as text."""
    expected = "a mapping of data sets to mappings of models to values"
    if has_protocol(results) or not isinstance(results, Mapping):
        raise InputTypeError("results", expected=expected, got=type(results).__name__)
    rows = {}
    for data_set, row in results.items():
        if has_protocol(row) or not isinstance(row, Mapping):
            got = f"{type(row).__name__} for {data_set!r}"
            raise InputTypeError("results", expected=expected, got=got)
        rows[str(data_set)] = {str(model): value for model, value in row.items()}
    if not rows:
        raise InputValueError("results", expected=expected, got="none")
    return rows


def _check_row(
    data_set: str, row: Mapping[str, Any], models: Sequence[str], allow_unlike: bool
) -> None:
    """Check that a data set has all models and no other, under one protocol."""
    if missing := sorted({*models} ^ {*row}):
        problem = f"all models on each data set are needed; {missing[0]!r} is not on all"
        raise InputValueError("results", problem, place=data_set)
    measured = {name: value.protocol for name, value in row.items() if has_protocol(value)}
    for one, two in itertools.pairwise(measured):
        differences = measured[one].differences(measured[two])
        if differences and not allow_unlike:
            unlike = f"{one} and {two} were ranked under unlike protocols: {'; '.join(differences)}"
            advice = f"{spelled('allow_unlike=True')} ranks them all the same"
            raise InputValueError("results", f"{unlike}; {advice}", place=data_set)


def _value(value: Any, key: Key | None, place: str) -> float:
    if is_number(value):
        found = float(value)
    elif not has_protocol(value):
        expected, got = "a number, Ranks or a Report", type(value).__name__
        raise InputTypeError("results", expected=expected, got=got, place=place)
    elif key is None:
        raise InputValueError("metric", expected="the key to take of Ranks and Reports", got="none")
    elif isinstance(value, Ranks):
        found = units_of(value, key, by=None).value()
    else:
        found = float(value[str(key)])
    if math.isnan(found):
        raise InputValueError("results", expected="a number", got="nan", place=place)
    return found


def _doubled_ranks(values: FloatArray) -> IntArray:
    """Twice the rank of each value in its row; the highest has rank 1, equal ones their mean."""
    above = (values[:, None, :] > values[:, :, None]).sum(axis=2)
    equal = (values[:, None, :] == values[:, :, None]).sum(axis=2)
    doubled: IntArray = 2 * above + equal + 1
    return doubled


def _least_p(doubled: IntArray) -> float:
    """No p-value can be smaller: 1 / (the numbers of orders of the ranks of all blocks but one)."""
    log = 0.0
    for row in doubled[1:]:
        sizes = np.unique(row, return_counts=True)[1].tolist()
        log += math.lgamma(len(row) + 1) - sum(math.lgamma(size + 1) for size in sizes)
    return math.exp(-log)
