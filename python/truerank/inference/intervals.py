"""Confidence intervals of a metric, in closed form but for metrics that no mean tells."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.checks import confidence, integer
from ..metrics.kinds import take
from ..metrics.values import compute
from ..naming import printable, public
from ..tables import AsTable, Column, Table
from .influences import (
    ROUNDING,
    SHARE,
    VARIANCE,
    Influences,
    degrees_of_freedom,
    influences_of,
    notes_on_carriers,
)
from .units import (
    COUNT,
    GROUP,
    TASK,
    UNIT,
    Units,
    describe_units,
    notes_on_sizes,
    notes_on_units,
    units_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from ..arrays.types import FloatArray
    from ..metrics.keys import Key
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike
    from .units import HasRanks, HasUnits

UNSEEN = "unseen"
# With fewer effective hits, or misses, bounds are those of the binomial law.
FEW_HITS = 10
RESAMPLES = 1000
MOST_UNITS_DRAWN = 2000
NOT_ENOUGH = "not enough to say"
# The interval of a share leaves this part of its range open over 5 even units, but not over 6.
NEARLY_ALL = 0.8


def error_rate(level: float) -> float:
    """Return 1 - level, without the rounding of a difference.

    Examples
    --------
    >>> error_rate(0.95)
    0.05
    """
    return round(1 - level, 12)


class IntervalBounds(NamedTuple):
    """The ends of an interval, and the method."""

    low: float
    high: float
    method: str


@public("truerank.inference")
class Interval(NamedTuple):
    """A value and the bounds of its confidence interval.

    Attributes
    ----------
    metric : str
        The key.
    value, low, high : float
        The bounds are nan where the value is, and for fewer than 2 units.
    level : float
        The share of such intervals that should contain the value of the population.
    method : str
        "t", "wilson", "clopper-pearson", "order" (of a median), "bootstrap", "two-level t" (several
        runs), "unseen" (nothing varies), "t, unseen" (unseen units may move the value further than
        t says), or "none" where there are no bounds.
    units : int
        The number of units.
    by : str
        What a unit is: "triple", "pair", "query" or "task"; "relation" or another label; "unit" for
        units of your own, and "group" for labels without a name.
    notes : tuple of str
        What limits the trust in it: units that are not enough to say anything, few units, a large
        one, sides without units, or mean ranks that few units carry. Mostly none.
    decimals : int
        How many are printed, or more where the bounds are close.

    Examples
    --------
    >>> print(Interval("mrr", 0.438, 0.426, 0.451, 0.95, "t", 1074, "triple"))
    mrr 0.438 [0.426, 0.451] (95 %, t, 1,074 triples)
    """

    metric: str
    value: float
    low: float
    high: float
    level: float
    method: str
    units: int
    by: str = TASK
    notes: tuple[str, ...] = ()
    decimals: int = 3

    def __str__(self) -> str:
        decimals = decimals_within(self.decimals, self.low, self.high)
        lines = [
            f"{self.metric} {self.value:.{decimals}f} "
            f"[{self.low:.{decimals}f}, {self.high:.{decimals}f}] ({100 * self.level:g} %, "
            f"{self.method}, {describe_units(self.units, self.by)})"
        ]
        lines += self.notes
        return "\n".join(map(printable, lines))

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name.

        Examples
        --------
        >>> Interval("mrr", 0.3, 0.25, 0.35, 0.95, "t", 40).to_dict()["notes"]
        []
        """
        return self._asdict() | {"notes": list(self.notes)}


def decimals_within(least: int, low: float, high: float) -> int:
    """Return how many decimals tell apart the bounds of a metric: two digits of half their gap.

    Examples
    --------
    >>> decimals_within(3, 0.42, 0.45), decimals_within(3, 0.4381, 0.4387)
    (3, 5)
    """
    half = (high - low) / 2
    if not 0 < half < math.inf:
        return least
    return min(15, max(least, 1 - math.floor(math.log10(half))))


@public("truerank.inference")
class Intervals(dict[str, Interval], AsTable):
    """Intervals by key, which print as a table.

    Examples
    --------
    >>> from truerank import Ranks, report
    >>> ranks = Ranks([0, 3, 1, 0, 2] * 40, [1] * 200, 9)
    >>> print(report(ranks).interval(["mrr", "mr"]))
    metric  value  95 % from     to  units    by  method
    mrr     0.617      0.571  0.662    200  task       t
    mr      2.20       2.04   2.36     200  task       t
    """

    def table(self, metrics: str | Iterable[str] | None = None, **options: Any) -> Table:
        """Return a row for each key; `metrics` chooses among the columns of numbers."""
        level = next((f"{100 * found.level:g} % " for found in self.values()), "")
        decimals = [decimals_within(x.decimals, x.low, x.high) for x in self.values()]
        columns = [
            Column("metric"),
            Column("value", decimals=decimals),
            Column("low", f"{level}from", decimals),
            Column("high", "to", decimals),
            Column("units"),
            Column("by"),
            Column("method"),
        ]
        rows = []
        for found in self.values():
            fields = found._asdict()
            rows.append([fields[column.name] for column in columns])
        notes = dict.fromkeys(note for found in self.values() for note in found.notes)
        return Table(columns, rows, notes=notes).table(metrics, **options)


@public("truerank.inference")
def interval(
    ranks: Ranks | HasRanks | HasUnits,
    metric: str | Key = "mrr",
    *,
    by: LabelsLike | None = UNIT,
    level: float = 0.95,
    groups: LabelsLike | None = None,
    weights: str | npt.ArrayLike | None = None,
    seed: int = 0,
    draw_seed: int = 0,
) -> Interval:
    """Compute the confidence interval of a metric over other units of the same population.

    Means have a t interval, on the scale where tasks add up; shares that of Wilson, or of Clopper
    and Pearson where hits or misses are few; medians that of order statistics. What is no function
    of a mean (mad, extreme power means) is resampled. A metric with a range, which mean ranks do
    not have, has an interval at least as wide as units of a kind that was not drawn could make it.

    Parameters
    ----------
    ranks : Ranks or Report
        A Report stands for its ranks, with the weights of the report.
    metric : str or Key
        Any key of a report.
    by : str, labels or None
        What was drawn when the test set was made. "unit": the label "unit", which every Task
        writes (a test triple, an aligned pair, a query of retrieval), or tasks where the ranks have
        none. "task" or None: tasks. "query", "relation", another label, or labels of the tasks.
    level : float
        Between 0 and 1.
    groups : str or labels, optional
        The groups of a macro average, which are fixed unless they are those of `by`, too. If not
        given, the groups of a Report, else those of `by`.
    weights : array_like of float, shape (n,), or str, optional
        Used instead of the weights of the ranks; "query", "relation", ... as in a report.
    seed : int
        The seed of the resamples, for metrics that need them.
    draw_seed : int
        The seed of the kind "random".

    Returns
    -------
    Interval

    Raises
    ------
    KeyError
        For an unknown key, and `macro.X` without groups.
    TypeError, ValueError
        For arguments that are no ranks, no level, or no labels of these ranks.

    Examples
    --------
    >>> from truerank import Ranks
    >>> ranks = Ranks([0, 0, 1, 3, 7, 2, 0, 1], [1] * 8, 100)
    >>> print(interval(ranks, "hits@1"))
    hits@1 0.375 [0.085, 0.755] (95 %, clopper-pearson, 8 tasks)
    >>> print(interval(ranks, "mr"))
    mr 2.8 [1.0, 13.4] (95 %, t, 8 tasks)
    mr hangs on few tasks: 2 of 8 carry it
    """
    level = confidence(level)
    seed = integer("seed", seed, least=0)
    units = units_of(
        ranks,
        metric,
        by=by,
        groups=groups,
        weights=weights,
        draw_seed=integer("draw_seed", draw_seed, least=0),
    )
    key = units.key
    number = units.number
    bounds = IntervalBounds(math.nan, math.nan, "none")
    found = influences_of(units, level)
    if found is not None:
        value = found.value
        number = len(found.shares)
        if number > 1:
            bounds = bounds_of(found, level)
    elif key.macro or units.ends is not None:  # Without influences such a metric has no value.
        value = math.nan
    else:
        value = compute(key, units.sample)
        if number > 1 and not math.isnan(value) and key.metric != COUNT:
            bounds = _bootstrap(units, value, level, seed)
    are_groups = number != units.number
    by = GROUP if are_groups else units.by
    notes: tuple[str, ...] = ()
    if not math.isnan(value) and key.metric != COUNT:
        if are_groups:
            shares = np.full(number, 1 / number)
        else:
            shares = units.sums(units.weights) / units.weights.sum()
        notes = notes_on_interval(units, shares, by, level)
        if found is not None and not notes:
            notes = notes_on_carriers(key, found.moved, by)
    return Interval(
        metric=str(key),
        value=value,
        low=bounds.low,
        high=bounds.high,
        level=level,
        method=bounds.method,
        units=number,
        by=by,
        notes=notes,
        decimals=key.decimals,
    )


def notes_on_interval(units: Units, shares: FloatArray, by: str, level: float) -> tuple[str, ...]:
    """Say in one clause, if at all, that there are too few units for an interval.

    Examples
    --------
    >>> from truerank import Ranks
    >>> few = units_of(Ranks([0, 3, 4], [1, 1, 1], 1000), "mrr")
    >>> notes_on_interval(few, np.full(3, 1 / 3), "task", 0.95)
    ('not enough to say: 3 tasks',)
    """
    if not leaves_nearly_all_open(shares, level):
        return notes_on_units(units)
    notes = notes_on_sizes(units)
    # A note on the units names a large one, too, where the shares are those of units.
    are_noted = notes and len(shares) == units.number
    counted = notes[0].partition(": ")[2] if are_noted else describe_units(len(shares), by)
    return (f"{NOT_ENOUGH}: {counted}",)


def leaves_nearly_all_open(shares: FloatArray, level: float) -> bool:
    """Whether units with these shares of the weight leave nearly the whole range of a metric open.

    The interval of a share is looked at, of as many effective units, half of which are hits: so the
    design decides, and never what was ranked how.

    Examples
    --------
    >>> [leaves_nearly_all_open(np.full(n, 1 / n), 0.95) for n in (1, 5, 6, 100)]
    [True, True, False, False]
    >>> leaves_nearly_all_open(np.array([0.9] + [0.001] * 100), 0.95)
    True
    """
    from scipy.special import betaincinv

    if not len(shares):
        return False
    half = 0.5 / float(np.square(shares).sum())
    low = float(betaincinv(half, half + 1, (1 - level) / 2))
    return 1 - 2 * low >= NEARLY_ALL


def bounds_of(found: Influences, level: float) -> IntervalBounds:
    """Return the bounds of a metric, and the method.

    Examples
    --------
    >>> from truerank.inference.influences import influences_of_sums
    >>> low, high, method = bounds_of(influences_of_sums(np.arange(9.0), np.ones(9)), 0.95)
    >>> round(low, 3), round(high, 3), method
    (1.486, 6.514, 't')
    """
    if found.bounds is not None:
        return IntervalBounds(min(found.bounds), max(found.bounds), "order")
    inner = _inner_bounds(found, level)
    one = found.at(inner.low)
    other = found.at(inner.high)
    return IntervalBounds(min(one, other), max(one, other), inner.method)


def _inner_bounds(found: Influences, level: float) -> IntervalBounds:
    """The bounds on the scale of the mean."""
    inner = found.inner
    least, most = found.ends
    extent = most - least
    at_end = found.form == SHARE and min(inner - least, most - inner) <= ROUNDING * extent
    unseen = unseen_share(found.shares, level)
    reach_low = inner + unseen * (least - inner)
    reach_high = inner + unseen * (most - inner)
    if at_end or not found.moved.any():
        return IntervalBounds(reach_low, reach_high, UNSEEN)
    bounds = _bounds_of_seen(found, level)
    if not found.has_range or (bounds.low <= reach_low and reach_high <= bounds.high):
        return bounds
    method = f"{bounds.method}, {UNSEEN}"
    return IntervalBounds(min(bounds.low, reach_low), max(bounds.high, reach_high), method)


def _bounds_of_seen(found: Influences, level: float) -> IntervalBounds:
    """The bounds that the variation of the units gives, on the scale of the mean."""
    from scipy.special import stdtrit

    inner = found.inner
    least, most = found.ends
    extent = most - least
    quantile = float(stdtrit(degrees_of_freedom(found.moved), (1 + level) / 2))
    if found.form == SHARE:
        share = (inner - least) / extent
        units = len(found.moved)
        # The variance of u equal trials is p (1 - p) / u, and the squared error has a factor
        # u / (u - 1) beside it.
        variance = (found.error / extent) ** 2 * (units - 1) / units
        trials = share * (1 - share) / variance
        bounds = share_bounds(share, trials, quantile, level)
        return IntervalBounds(
            least + bounds.low * extent, least + bounds.high * extent, bounds.method
        )
    if found.form == VARIANCE:  # Its bounds are even on the scale of its logarithm.
        factor = math.exp(min(quantile * found.error / inner, 700.0))
        return IntervalBounds(inner / factor, inner * factor, "t")
    reach = quantile * found.error
    return IntervalBounds(max(inner - reach, least), min(inner + reach, most), "t")


def share_bounds(share: float, trials: float, quantile: float, level: float) -> IntervalBounds:
    """Return Wilson's bounds of a share, or those of Clopper and Pearson where hits are few.

    Parameters
    ----------
    share, trials : float
        The share of hits, and the number of independent trials that would vary as much.
    quantile : float
        That of t, for Wilson's bounds.
    level : float

    Examples
    --------
    >>> low, high, method = share_bounds(0.5, 100, 1.96, 0.95)
    >>> round(low, 4), round(high, 4), method
    (0.4038, 0.5962, 'wilson')
    """
    from scipy.special import betaincinv

    hits = trials * share
    misses = trials * (1 - share)
    tail = (1 - level) / 2
    if min(hits, misses) < FEW_HITS - 1e-9:  # Rounding must not make 10 hits fewer.
        low = float(betaincinv(hits, misses + 1, tail))
        high = float(betaincinv(hits + 1, misses, 1 - tail))
        return IntervalBounds(low, high, "clopper-pearson")
    square = quantile * quantile / trials
    middle = (share + square / 2) / (1 + square)
    reach = math.sqrt(share * (1 - share) * square + square * square / 4) / (1 + square)
    return IntervalBounds(middle - reach, middle + reach, "wilson")


def unseen_share(shares: FloatArray, level: float) -> float:
    """Return the largest share of a population that so many units may have left unseen.

    Examples
    --------
    >>> round(unseen_share(np.full(10, 0.1), 0.95), 4)  # as Clopper and Pearson have it
    0.3085
    """
    effective = 1 / float(np.square(shares).sum())
    return float(1 - ((1 - level) / 2) ** (1 / effective))


def _bootstrap(units: Units, value: float, level: float, seed: int) -> IntervalBounds:
    """The percentiles of the metric of resampled units.

    Of very many units fewer are drawn, which vary more, by the root of the numbers.
    """
    random = np.random.default_rng(seed)
    drawn = min(units.number, MOST_UNITS_DRAWN)
    order = np.argsort(units.unit, kind="stable")
    sizes = np.bincount(units.unit)
    starts = np.cumsum(sizes) - sizes
    values = np.empty(RESAMPLES)
    for i in range(RESAMPLES):
        chosen = random.integers(units.number, size=drawn)
        ends = np.cumsum(sizes[chosen])
        skipped = np.repeat(starts[chosen] - ends + sizes[chosen], sizes[chosen])
        tasks = order[skipped + np.arange(ends[-1])]
        values[i] = compute(units.key, take(units.sample, tasks))
    away = (values[~np.isnan(values)] - value) * math.sqrt(drawn / units.number)
    low, high = np.quantile(away, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return IntervalBounds(value + low, value + high, "bootstrap")
