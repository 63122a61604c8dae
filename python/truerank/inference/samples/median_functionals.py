"""Medians, and median absolute deviations, as functions of how often each unit occurs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...metrics.averages import MAD_SCALE
from ..distributions import normal_quantile
from .functionals import apply_outer, standard_error

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...inputs.arrays import FloatArray, IntArray
    from .functionals import Outer

    Numbers = npt.NDArray[Any]

EXACT_INTEGERS = 2.0**52  # sums of float64 are exact for integers up to here


class MedianFunctional:
    """Medians of weighted values, or of their distances from the median.

    The median is the smallest value at which the cumulative weight reaches half of the total; where
    that weight is exactly half, it is the mean of this value and the next.

    Parameters
    ----------
    values : ndarray of float64, shape (a,)
    weights : ndarray of float64, shape (a,)
        Above 0. Integers are added exactly; with other weights, the rows of counts in which
        rounding could decide are computed by `exact_median`.
    unit : ndarray of int64, shape (a,)
    units : int
    exact_median : callable
        Returns the value before `outer` for one row of counts.
    outer : callable, optional
    deviation : bool
        Whether to compute the median absolute deviation (times 1.4826) instead of the median.
    ends : (float, float), optional
        The least and the greatest possible value.
    """

    def __init__(
        self,
        values: FloatArray,
        weights: FloatArray,
        unit: IntArray,
        units: int,
        exact_median: Callable[[Numbers], float],
        outer: Outer | None = None,
        deviation: bool = False,
        ends: tuple[float, float] | None = None,
    ) -> None:
        self.units = units
        order = np.argsort(values, kind="stable")
        self._values, starts = np.unique(values[order], return_index=True)
        self._starts, self._unit, self._weights = starts, unit[order], weights[order]
        self._unit_weights = bool((weights == 1).all())
        self._one_each = len(unit) == units and bool((self._unit == np.arange(units)).all())
        self._integer_weights = (
            bool((weights == np.floor(weights)).all()) and weights.sum() < EXACT_INTEGERS / 1024
        )
        self._exact_median, self._outer, self._deviation = exact_median, outer, deviation
        self._ends = ends
        self._orders: dict[float, tuple[IntArray, FloatArray]] = {}

    def of_counts(self, counts: Numbers) -> FloatArray:
        """The value for each row of counts."""
        mass = counts if self._one_each else counts.take(self._unit, axis=1)
        kind = np.int64 if self._unit_weights else np.float64
        mass = mass if self._unit_weights else mass * self._weights
        mass = np.add.reduceat(mass, self._starts, axis=1, dtype=kind).astype(np.float64)
        found, doubtful = self._medians(self._values, mass)
        if self._deviation:
            middles, found = found, np.full(len(found), math.nan)
            for middle in np.unique(middles[~np.isnan(middles)]).tolist():
                (rows,) = np.nonzero(middles == middle)
                order, distances = self._distances_from(middle)
                found[rows], unsure = self._medians(distances, mass[np.ix_(rows, order)])
                doubtful[rows] |= unsure
            found *= MAD_SCALE
        for row in np.flatnonzero(doubtful).tolist():
            found[row] = self._exact_median(counts[row])
        return apply_outer(self._outer, found)

    def leave_one_out(self) -> FloatArray:
        """The values without each unit in turn."""
        code = np.repeat(
            np.arange(len(self._values)), np.diff(self._starts, append=len(self._unit))
        )
        found = _without_each(self._values, code, self._weights, self._unit, self.units)
        if self._deviation:
            middles, found = found, np.full(self.units, math.nan)
            for middle in np.unique(middles[~np.isnan(middles)]).tolist():
                distances, again = np.unique(np.abs(self._values - middle), return_inverse=True)
                without = _without_each(
                    distances, again[code], self._weights, self._unit, self.units
                )
                found[middles == middle] = without[middles == middle]
            found *= MAD_SCALE
        return apply_outer(self._outer, found)

    def normal_bounds(self, level: float) -> tuple[float, float] | None:
        """The bounds of `woodruff` with the quantile of the normal distribution."""
        if self._deviation:
            return None
        return self.outwards(*self.woodruff(normal_quantile((1 + level) / 2)))

    def woodruff(self, quantile: float) -> tuple[float, float]:
        """The quantiles at 1/2 -+ a quantile times the error of the share of weight up to them.

        R. S. Woodruff: Confidence Intervals for Medians and Other Position Measures. Journal of
        the American Statistical Association 47 (1952).
        """
        mass = np.add.reduceat(self._weights, self._starts)
        if math.isnan(self.middle()):
            return math.nan, math.nan
        cumulative = np.cumsum(mass) / mass.sum()
        reach = quantile * standard_error(self.inner_influence())
        places = np.searchsorted(cumulative, [0.5 - reach, 0.5 + reach])
        low, high = self._values[np.minimum(places, len(self._values) - 1)].tolist()
        return low, high

    def shares(self) -> tuple[float, float]:
        """The shares of the weight below the median, and up to it."""
        mass, middle = np.add.reduceat(self._weights, self._starts), self.middle()
        below, up_to = mass[self._values < middle].sum(), mass[self._values <= middle].sum()
        return float(below / mass.sum()), float(up_to / mass.sum())

    def inner_influence(self) -> FloatArray:
        """The influence of each unit on the share of the weight up to the median, or below it.

        Of these two it is the share that is closer to one half.
        """
        values = np.repeat(self._values, np.diff(self._starts, append=len(self._unit)))
        below, up_to = self.shares()
        closer = abs(up_to - 0.5) <= abs(below - 0.5)
        chosen = values <= self.middle() if closer else values < self.middle()
        share = (chosen - np.average(chosen, weights=self._weights)) * self._weights
        share /= self._weights.sum()
        moved: FloatArray = np.bincount(self._unit, weights=share, minlength=self.units)  # type: ignore[assignment]
        return moved

    def middle(self) -> float:
        """The median of all units, or the median of the distances from it, before `outer`."""
        mass = np.add.reduceat(self._weights, self._starts)
        return float(self._medians(self._values, mass[None])[0][0])

    def span(self) -> tuple[float, float] | None:
        """The least and the greatest value; None for deviations."""
        return None if self._deviation else self._ends

    def at_ends(self, weights: FloatArray, extra: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `BoundedFunctional`."""
        assert self._ends is not None
        mass = weights if self._one_each else weights.take(self._unit, axis=1)
        mass = np.add.reduceat(mass * self._weights, self._starts, axis=1)
        more = (extra * (self._weights.sum() / self.units))[:, None]
        least, greatest = self._ends
        low = self._medians(np.r_[least, self._values], np.hstack([more, mass]))[0]
        high = self._medians(np.r_[self._values, greatest], np.hstack([mass, more]))[0]
        return low, high

    def outwards(self, low: float, high: float) -> tuple[float, float]:
        """See `BoundedFunctional`."""
        low, high = sorted(apply_outer(self._outer, np.array([low, high])).tolist())
        return low, high

    def _distances_from(self, middle: float) -> tuple[IntArray, FloatArray]:
        """The order of the values by their distance from a median, and the distances."""
        if middle not in self._orders:
            distances = np.abs(self._values - middle)
            order = np.argsort(distances, kind="stable")
            self._orders[middle] = order, distances[order]
        return self._orders[middle]

    def _medians(
        self, values: FloatArray, mass: FloatArray
    ) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """The median of ascending values for each row of weights, and which rows are doubtful."""
        cumulative = np.cumsum(mass, axis=1)
        half = cumulative[:, -1:] / 2
        first = (cumulative < half).sum(axis=1)
        after = np.minimum((cumulative <= half).sum(axis=1), len(values) - 1)
        found = (values[first] + values[after]) / 2
        found[half[:, 0] == 0] = math.nan
        if self._integer_weights:
            return found, np.zeros(len(mass), dtype=np.bool_)
        slack = 8 * len(self._unit) * np.finfo(np.float64).eps * half
        doubtful: npt.NDArray[np.bool_] = np.any(np.abs(cumulative - half) <= slack, axis=1)
        return found, doubtful


def _without_each(
    values: FloatArray, code: IntArray, weights: FloatArray, unit: IntArray, units: int
) -> FloatArray:
    """The weighted medians of `values[code]` without each unit in turn.

    The values are bisected for all units at once. The weight up to a value without a unit is that
    of all units minus the unit's own, which is looked up among its sorted values. Whether a weight
    is exactly half of the total is decided within rounding.
    """
    d = len(values)
    cumulative = np.cumsum(np.bincount(code, weights=weights, minlength=d))
    keys = unit * d + code
    order = np.argsort(keys, kind="stable")
    keys, own = keys[order], np.concatenate([[0.0], np.cumsum(weights[order])])
    begin = np.searchsorted(keys, np.arange(units) * d)
    every = np.arange(units)

    def up_to(x: IntArray, who: IntArray) -> FloatArray:
        """The weight up to value x without the unit `who`."""
        mine = own[np.searchsorted(keys, who * d + x, side="right")] - own[begin[who]]
        left: FloatArray = cumulative[x] - mine
        return left

    total = up_to(np.full(units, d - 1), every)
    slack = 8 * len(weights) * np.finfo(np.float64).eps * cumulative[-1]

    def first(threshold: FloatArray) -> IntArray:
        """The first value at which the cumulative weight reaches the threshold."""
        low, high = np.zeros(units, dtype=np.int64), np.full(units, d - 1)
        while (low < high).any():
            x = (low + high) // 2
            reached = up_to(x, every) >= threshold
            high = np.where(reached & (low < high), x, high)
            low = np.where(~reached & (low < high), x + 1, low)
        return low

    found: FloatArray = (values[first(total / 2 - slack)] + values[first(total / 2 + slack)]) / 2
    return np.where(total > slack, found, math.nan)
