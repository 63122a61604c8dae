"""The counts of one side and kind of rank among sampled negatives, and what follows from them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...inputs.errors import InputValueError
from ...metrics.adjustments import adjusted, moments
from ...metrics.averages import median
from ...metrics.keys import NO_ADJUSTMENT, Key
from ...metrics.kinds import DEFAULT_KIND, EXPECTED_KIND
from ...metrics.metric_table import METRICS
from ...metrics.ties import IDENTITY
from ..distributions import normal_quantile, t_quantile
from ..samples.cautions import clusters, few_units, heavy_tail, zero_width_avoided
from ..samples.functionals import apply_outer, standard_error
from ..samples.units import units_of
from .estimated_metrics import DECREASING, EstimatedMetric
from .law_fitting import Profile, smoothed_fit
from .rank_laws import bin_counts, rank_cells

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...inputs.arrays import FloatArray, IntArray
    from ...ranks.container import Ranks
    from ...ranks.labels import LabelsLike
    from .rank_laws import Cells, CountBins

    Bounded = tuple[float, float, float]  # a value and its bounds

FEW_CARRIERS = 5  # units that carry a variance; with fewer it is not well known
SHARES = ("mrr", "hits")  # metrics whose tolerance is absolute; that of others is relative
RISING = "the sample contradicts a decreasing law: rank 2 is more likely than rank 1"


class Options(NamedTuple):
    """The checked arguments of `estimate_full_ranking`."""

    shape: str
    by: LabelsLike | None
    level: float
    tolerance: float
    replacement: bool
    draw_seed: int


class SampledCounts:
    """The counts of one side and kind of rank.

    Parameters
    ----------
    ranks : Ranks
        All tasks, each ranked among sampled negatives.
    key : Key
        Its side and kind are those of the counts.
    sizes : ndarray of int64, shape (n,)
        The number of candidates in the full ranking of each task.
    options : Options
    """

    def __init__(self, ranks: Ranks, key: Key, sizes: IntArray, options: Options) -> None:
        plain = key._replace(adjustment=NO_ADJUSTMENT)
        self._chosen = units_of(ranks, plain, by=options.by, draw_seed=options.draw_seed)
        self._options = options
        self._sizes = sizes[self._chosen.tasks]
        self._negatives = ranks.candidates[self._chosen.tasks] - 1
        self._above, self._tied = (x[self._chosen.tasks] for x in (ranks.above, ranks.tied))
        n, weights = len(self._sizes), self._chosen.sample.weights
        self._weights = np.ones(n) if weights is None or not n else weights * (n / weights.sum())
        self._quantile = bound_quantile((1 + options.level) / 2, self._chosen.number)
        self._law: FittedLaw | None = None

    def estimate(self, key: Key) -> EstimatedMetric:
        """Estimate the metric of a key of this side and kind."""
        chosen, metric = self._chosen, METRICS[key.metric]
        notes = few_units(chosen.number, chosen.by)
        notes += clusters(chosen.number, chosen.by, chosen.largest, len(self._sizes))
        value = low = high = error = math.nan
        told = True
        if chosen.number and metric.transform is IDENTITY and metric.mean is not median:
            mean, deviation, carriers = self._mean_rank()
            if not deviation:
                notes += zero_width_avoided("no task differs from the others in its sample")
            elif carriers < FEW_CARRIERS < chosen.number:
                notes += heavy_tail(carriers, chosen.number, chosen.by)
            law = self._fitted_law()
            value, low, high = self._finished(key, mean, mean - deviation, mean + deviation)
            error = (high - low) / 2
            value, low, high = self._finished(key, mean, *law.bounds_about(key, mean))
        elif chosen.number:
            self._refuse_realistic_ties()
            law = self._fitted_law()
            if metric.mean is median:
                found, full = law.median(), law.full_median()
            else:
                found, full = law.mean(key), law.full_mean(key)
            value, low, high = self._finished(key, *found)
            error = (high - low) / (2 * self._quantile)
            added = _width(key, low, high) - _width(key, *self._finished(key, *full)[1:])
            told = added <= 2 * self._options.tolerance
            value = min(max(value, low), high)
            notes = (*law.notes, *notes) if told else (self._untold(), *law.notes, *notes)
        return EstimatedMetric(
            key=str(key),
            value=value if told else math.nan,
            error=error,
            low=low,
            high=high,
            level=self._options.level,
            told=told,
            units=chosen.number,
            by=chosen.by,
            largest=chosen.largest,
            notes=notes,
        )

    def _mean_rank(self) -> Bounded:
        """The unbiased mean rank, its cluster-robust standard error and who carries it."""
        sample, units = self._chosen.sample, self._chosen.number
        above = sample.ranks - 1
        if sample.tied is not None:
            above = above + (sample.tied - 1) / 2
        each = 1 + above * (self._sizes - 1) / self._negatives
        shares = self._weights / self._weights.sum()
        mean = float(shares @ each)
        moved: FloatArray = np.zeros(units)
        np.add.at(moved, self._chosen.unit, shares * (each - mean))
        return mean, standard_error(moved), carriers_of(moved)

    def _finished(self, key: Key, mean: float, low: float, high: float) -> Bounded:
        """Apply a metric's inverse and adjustment to a mean and its bounds, and sort the bounds."""
        outer = METRICS[key.metric].inverse
        values = apply_outer(outer, np.array([mean, low, high])).tolist()
        if key.adjustment != NO_ADJUSTMENT:
            chance = moments(key.alone, self._sizes, self._weights)
            values = [adjusted(key, x, *chance) for x in values]
        return values[0], min(values[1:]), max(values[1:])

    def _untold(self) -> str:
        drawn, others = self._negatives, (self._sizes - 1).mean()
        few = f"{drawn.min():,}"
        if drawn.min() < drawn.max():
            few = f"{drawn.mean():,.0f} on average"
        return f"{few} of {others:,.0f} negatives do not tell it; any value within the bounds fits"

    def _fitted_law(self) -> FittedLaw:
        if self._law is None:
            task, count, entries = self._entries()
            cells = rank_cells(int(self._sizes.max()))
            bins = bin_counts(
                cells,
                (task, count, entries),
                self._negatives,
                self._sizes,
                self._options.replacement,
            )
            unit, units = self._chosen.unit[task], self._chosen.number
            self._law = FittedLaw(cells, bins, unit, units, self._options)
        return self._law

    def _refuse_realistic_ties(self) -> None:
        """Raise an error for realistic ranks of tied tasks, which lie between positions."""
        if self._chosen.key.kind == DEFAULT_KIND and (self._tied > 1).any():
            key = self._chosen.key._replace(kind=EXPECTED_KIND)
            problem = (
                "a sample tells only the mean (mr) of realistic ranks of tied tasks; take "
                f"'{key}', or optimistic and pessimistic ranks"
            )
            raise InputValueError("metrics", problem)

    def _entries(self) -> tuple[IntArray, IntArray, FloatArray]:
        """The counts that each task may have: its task, the count and its weight."""
        sample, every = self._chosen.sample, np.arange(len(self._sizes))
        spread = self._chosen.key.kind in (DEFAULT_KIND, EXPECTED_KIND)
        if not spread or (self._tied == 1).all():
            return every, sample.ranks.astype(np.int64) - 1, self._weights
        task = np.repeat(every, self._tied)
        place = np.arange(len(task)) - np.repeat(np.cumsum(self._tied) - self._tied, self._tied)
        return task, self._above[task] + place, (self._weights / self._tied)[task]


class FittedLaw:
    """The law of full ranks, and the laws that fit nearly as well.

    Parameters
    ----------
    cells : Cells
    bins : CountBins
        With an entry for each count that a task may have.
    unit : ndarray of int64, shape (entries,)
        The unit of each entry.
    units : int
    options : Options
    """

    def __init__(
        self,
        cells: Cells,
        bins: CountBins,
        unit: IntArray,
        units: int,
        options: Options,
    ) -> None:
        self._cells, self._bins, self._unit, self._units = cells, bins, unit, units
        self._tasks = float(bins.entries.sum())
        self._tail = (1 + options.level) / 2
        self._quantile = bound_quantile(self._tail, units)
        self._laws, start = np.eye(len(cells.sizes)), cells.reciprocal_law()
        self._likelihood = bins.likelihood
        if options.shape == DECREASING:
            self._laws, start = cells.decreasing()
            self._likelihood = bins.likelihood @ self._laws
        self._shares = self._laws @ smoothed_fit(self._likelihood, bins.shares, start)
        self._profile: Profile | None = None
        self.notes: tuple[str, ...] = ()
        if options.shape == DECREASING and units > 1 and len(cells.sizes) > 1:
            rise: FloatArray = np.zeros(len(cells.sizes))
            rise[:2] = -1 / cells.sizes[0], 1 / cells.sizes[1]
            if self._profile_of(bins.likelihood).bound(rise, -1) > 0:
                self.notes = (RISING,)

    def mean(self, key: Key) -> Bounded:
        """The mean of f(r) under the fitted law, and its bounds."""
        values = self._values(key)
        low, high = (self._bound(values, sign) for sign in (-1, 1))
        return float(values @ self._shares), low, high

    def bounds_about(self, key: Key, mean: float) -> tuple[float, float]:
        """The bounds of a mean whose estimate is known: those of the law, moved to it."""
        values = self._values(key)
        low, high = (self._bound(values, sign) for sign in (-1, 1))
        if self._profile is None:
            return low, high
        moved = mean - float(values @ (self._laws @ self._profile.best))
        extremes = float(values[0]), float(self._cells.edges[-1])
        return max(low + moved, extremes[0]), min(high + moved, extremes[1])

    def full_mean(self, key: Key) -> Bounded:
        """The mean of f(r) under the fitted law, and the bounds of so many full ranks."""
        values = self._values(key)
        mean = float(values @ self._shares)
        variance = float(np.square(values - mean) @ self._shares)
        reach = self._quantile * math.sqrt(variance / self._tasks)
        return mean, mean - reach, mean + reach

    def median(self) -> Bounded:
        """The rank at which the law reaches one half, and the ranks at which it may."""
        if self._units < 2:
            return self._rank_at(0.5), math.nan, math.nan
        edges = self._cells.edges
        low = self._first_cell(lambda cell: self._share_up_to(cell, 1))
        high = self._first_cell(lambda cell: self._share_up_to(cell, -1))
        return self._rank_at(0.5), float(edges[low] + 1), float(edges[high + 1])

    def full_median(self) -> Bounded:
        """The median of the fitted law, and the bounds of so many full ranks."""
        reach = self._quantile * 0.5 / math.sqrt(self._tasks)
        return self._rank_at(0.5), self._rank_at(0.5 - reach), self._rank_at(0.5 + reach)

    def _rank_at(self, share: float) -> float:
        """The rank at which the fitted law reaches a share."""
        share = min(max(share, 0.0), 1.0)
        up_to = np.cumsum(self._shares)
        first, last = np.flatnonzero(self._shares)[[0, -1]].tolist()
        cell = min(max(int(np.searchsorted(up_to, share)), first), last)
        inside = 1 - (float(up_to[cell]) - share) / float(self._shares[cell])
        size = int(self._cells.sizes[cell])
        return float(self._cells.edges[cell] + min(max(math.ceil(inside * size), 1), size))

    def _values(self, key: Key) -> FloatArray:
        candidates = int(self._cells.edges[-1])
        return self._cells.means(METRICS[key.metric], key.parameter, candidates)

    def _share_up_to(self, cell: int, sign: int) -> float:
        values = (np.arange(len(self._shares)) <= cell).astype(np.float64)
        return self._bound(values, sign)

    def _first_cell(self, share: Callable[[int], float]) -> int:
        """The first cell up to which the share is at least one half."""
        low, high = 0, len(self._shares) - 1
        while low < high:
            middle = (low + high) // 2
            if share(middle) >= 0.5:
                high = middle
            else:
                low = middle + 1
        return low

    def _bound(self, values: FloatArray, sign: int) -> float:
        """A bound of the mean of values of the cells."""
        if self._units < 2:
            return math.nan
        if self._profile is None:
            self._profile = self._profile_of(self._likelihood)
        return self._profile.bound(values @ self._laws, sign)

    def _profile_of(self, likelihood: FloatArray) -> Profile:
        shares = self._bins.shares
        return Profile(likelihood, shares, self._tasks, self._quantile**2 / 2, self._inflation)

    def _inflation(self, score: FloatArray) -> float:
        """How much larger clusters make the threshold: by the variance and the quantile.

        The variance of a score over units is divided by that of independent tasks. Where few units
        carry it, the tasks of a unit are taken as equal. The quantile of Student's t has the
        degrees of freedom of unequal variances (Satterthwaite), for the correlation within units
        that the variance implies.
        """
        each = self._bins.entries * score[self._bins.row]
        sums, sizes = np.zeros((2, self._units))
        np.add.at(sums, self._unit, each)
        np.add.at(sizes, self._unit, self._bins.entries)
        alone = float(each @ score[self._bins.row])
        equal = float(sizes @ sizes) / self._tasks  # the inflation where tasks of a unit are equal
        if equal < 1 + 1e-9:
            return 1.0
        inflation = standard_error(sums) ** 2 / alone if alone > 0 else equal
        away = sums - sums.mean()
        away[np.abs(away) < 1e-9 * np.abs(sums).max()] = 0.0  # rounding
        if carriers_of(away) < FEW_CARRIERS:
            inflation = max(inflation, equal)
        correlation = min(max((inflation - 1) / (equal - 1), 0.0), 1.0)
        variances = sizes * (1 + (sizes - 1) * correlation)
        degrees = max(variances.sum() ** 2 / float(variances @ variances) - 1, 1.0)
        wider = t_quantile(self._tail, degrees) / self._quantile
        return max(inflation, 1.0) * max(wider, 1.0) ** 2


def carriers_of(influence: FloatArray) -> float:
    """The number of units that carry a variance, (sum d^2)^2 / sum d^4; 0 without a variance.

    Examples
    --------
    >>> carriers_of(np.array([1.0, -1.0, 0.0, 0.0]))
    2.0
    """
    squares = np.square(influence)
    fourth = float(squares @ squares)
    return float(squares.sum() ** 2 / fourth) if fourth > 0 else 0.0


def bound_quantile(tail: float, units: int) -> float:
    """The quantile of bounds: that of Student's t for more than one unit.

    Examples
    --------
    >>> round(bound_quantile(0.975, 10), 6)
    2.262157
    """
    return t_quantile(tail, units - 1) if units > 1 else normal_quantile(tail)


def _width(key: Key, low: float, high: float) -> float:
    """The distance of bounds, or that of their logarithms for a metric on the scale of ranks."""
    if key.metric in SHARES and key.adjustment in (NO_ADJUSTMENT, "index"):
        return high - low
    return abs(math.log(high / low)) if low * high > 0 else math.inf
