"""A metric as a function of how often each unit (a task, a group of tasks) occurs.

Resampling needs the metric of thousands of resamples at once, the metric of all units but one, and
how much each unit moves it. Means of f(r) are computed from sums of columns, medians from order
statistics of the distinct ranks, and all other metrics one resample after another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..metrics.averages import MAD_SCALE
from .distributions import normal_quantile

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray, IntArray

    Numbers = npt.NDArray[Any]
    Outer = Callable[[float], float]

# The step of derivatives along the imaginary axis. Nothing cancels there, however small it is.
COMPLEX_STEP = 1e-30
ROUNDING = 1e-12  # a sum of squares that is less, relative to its terms, is 0
EXACT_INTEGERS = 2.0**52  # sums of float64 are exact for integers up to here


class Functional(Protocol):
    """A metric of units with multiplicities; it is nan, without a warning, where undefined."""

    units: int

    def of_counts(self, counts: Numbers) -> FloatArray:
        """The values for the rows of counts of shape (m, units); float64, shape (m,)."""

    def leave_one_out(self) -> FloatArray | None:
        """The values without each unit in turn, shape (units,); None if there is no fast way."""

    def normal_bounds(self, level: float) -> tuple[float, float] | None:
        """The bounds by the delta method; None where it does not apply."""


class SumFunctional:
    """outer(inner(sums of columns over tasks)), where outer is a function of one number.

    The derivative of `inner` is computed with a complex step, to all digits, and that of `outer`
    from differences around the value, to about nine digits.

    Parameters
    ----------
    columns : sequence of ndarray, each of shape (n,)
        One number for each task.
    unit : ndarray of int64, shape (n,)
        The unit of each task, 0 .. units - 1.
    units : int
    inner : callable
        Takes one array for each column; its arithmetic works on complex numbers, too.
    outer : callable, optional
    """

    def __init__(
        self,
        columns: Sequence[FloatArray],
        unit: IntArray,
        units: int,
        inner: Callable[..., Numbers],
        outer: Outer | None = None,
    ) -> None:
        self.units = units
        self._inner, self._outer = inner, outer
        self._halves: tuple[FloatArray, FloatArray, FloatArray] | None = None
        self._columns: FloatArray = np.stack(
            [np.bincount(unit, weights=column, minlength=units) for column in columns], axis=1
        )

    def of_counts(self, counts: Numbers) -> FloatArray:
        """The value for each row of counts."""
        return self._of_sums(counts.astype(np.float64) @ self._columns)

    def leave_one_out(self) -> FloatArray:
        """The values without each unit in turn."""
        before: FloatArray = np.zeros(self._columns.shape)
        after: FloatArray = np.zeros(self._columns.shape)
        np.cumsum(self._columns[:-1], axis=0, out=before[1:])
        np.cumsum(self._columns[:0:-1], axis=0, out=after[-2::-1])
        return self._of_sums(before + after)  # nothing is subtracted, so nothing cancels

    def influence(self) -> FloatArray:
        """The derivative of the value by each unit's multiplicity, shape (units,)."""
        total = self._columns.sum(axis=0)
        with np.errstate(all="ignore"):
            middle = float(self._inner(*total))
            moved = self._inner(*(total + 1j * COMPLEX_STEP * self._columns).T)
            slope: FloatArray = np.broadcast_to(np.imag(moved) / COMPLEX_STEP, self.units)
        return slope * _derivative(self._outer, middle) if slope.any() else slope

    def values_and_slopes(self, counts: Numbers) -> tuple[FloatArray, FloatArray]:
        """The value for each row of counts, and its derivatives by the sums of the columns."""
        sums = counts.astype(np.float64) @ self._columns
        slopes = np.empty(sums.shape)
        with np.errstate(all="ignore"):
            middle = np.asarray(self._inner(*sums.T), dtype=np.float64)
            for k in range(sums.shape[1]):
                moved = sums.astype(np.complex128)
                moved[:, k] += 1j * COMPLEX_STEP
                slopes[:, k] = np.imag(self._inner(*moved.T)) / COMPLEX_STEP
            if self._outer is not None:
                slopes *= np.array([_derivative(self._outer, x) for x in middle.tolist()])[:, None]
        return apply_outer(self._outer, middle), slopes

    def normal_bounds(self, level: float) -> tuple[float, float]:
        """The value -+ the normal quantile times the standard error of the influence."""
        middle = float(self.of_counts(np.ones((1, self.units)))[0])
        reach = normal_quantile((1 + level) / 2) * standard_error(self.influence())
        return middle - reach, middle + reach

    def of_swaps(self, swaps: Numbers) -> tuple[FloatArray, FloatArray]:
        """The values of the first and of the second half of the units after swaps between them.

        Parameters
        ----------
        swaps : ndarray of 0 and 1, shape (m, units / 2)
            1 swaps unit i with unit i + units / 2.
        """
        if self._halves is None:  # all chunks of swaps are of the same halves
            first, second = self._columns[: self.units // 2], self._columns[self.units // 2 :]
            apart: FloatArray = np.subtract(second, first)
            self._halves = first.sum(axis=0), second.sum(axis=0), apart
        one, two, apart = self._halves
        moved = swaps.astype(np.float64) @ apart
        return self._of_sums(one + moved), self._of_sums(two - moved)

    def linear_difference(self) -> tuple[FloatArray, FloatArray] | None:
        """What each unit adds to the difference of both halves, and its share of a difference of 1.

        The difference is a sum over units, before and after swaps, where the halves differ in the
        first column alone, `inner` is linear in it, and there is no `outer`. The last column holds
        the weights of the units.

        Returns
        -------
        (ndarray, ndarray) or None
            Each of shape (units / 2,); the second has the sum 1. None for other metrics.
        """
        first, second = self._columns[: self.units // 2], self._columns[self.units // 2 :]
        if self._outer is not None or not (first[:, 1:] == second[:, 1:]).all():
            return None
        weights, sums = first[:, -1], first.sum(axis=0)
        with np.errstate(all="ignore"):
            moved = self._inner(sums[0] + 1j * COMPLEX_STEP, *sums[1:])
            slope = float(np.imag(moved)) / COMPLEX_STEP
        if not (math.isfinite(slope) and weights.sum()):
            return None
        apart: FloatArray = (first[:, 0] - second[:, 0]) * slope
        return apart, weights / weights.sum()

    def _of_sums(self, sums: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            return apply_outer(self._outer, np.asarray(self._inner(*sums.T), dtype=np.float64))


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
        """The quantiles at 1/2 -+ the error of the share of weight up to the median (Woodruff).

        R. S. Woodruff: Confidence Intervals for Medians and Other Position Measures. Journal of
        the American Statistical Association 47 (1952).
        """
        if self._deviation:
            return None
        mass = np.add.reduceat(self._weights, self._starts)
        middle = float(self._medians(self._values, mass[None])[0][0])
        if math.isnan(middle):
            return math.nan, math.nan
        cumulative = np.cumsum(mass) / mass.sum()
        below = np.repeat(self._values, np.diff(self._starts, append=len(self._unit))) <= middle
        share = (below - np.average(below, weights=self._weights)) * self._weights / mass.sum()
        moved: FloatArray = np.bincount(self._unit, weights=share, minlength=self.units)  # type: ignore[assignment]
        error = standard_error(moved)
        reach = normal_quantile((1 + level) / 2) * error
        places = np.searchsorted(cumulative, [0.5 - reach, 0.5 + reach])
        ends = self._values[np.minimum(places, len(self._values) - 1)]
        low, high = sorted(apply_outer(self._outer, ends).tolist())
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


class ResampledFunctional:
    """Any metric, computed one resample after another.

    Parameters
    ----------
    compute : callable
        Returns the value for one row of counts, which say how often each unit occurs.
    units : int
    outer : callable, optional
    """

    def __init__(
        self, compute: Callable[[Numbers], float], units: int, outer: Outer | None = None
    ) -> None:
        self.units, self._compute, self._outer = units, compute, outer

    def of_counts(self, counts: Numbers) -> FloatArray:
        """The value for each row of counts."""
        found = np.array([self._compute(row) for row in counts], dtype=np.float64)
        return apply_outer(self._outer, found)

    def leave_one_out(self) -> None:
        """Return None: there is no fast way."""

    def normal_bounds(self, level: float) -> None:
        """Return None: the delta method does not apply."""


def of_swaps(both: Functional, swaps: Numbers) -> tuple[FloatArray, FloatArray]:
    """The values of both halves of the units after swaps; see `SumFunctional.of_swaps`."""
    if isinstance(both, SumFunctional):
        return both.of_swaps(swaps)
    stays = 1 - swaps
    return both.of_counts(np.hstack([stays, swaps])), both.of_counts(np.hstack([swaps, stays]))


def studentised_difference(
    first: SumFunctional, second: SumFunctional, counts: Numbers
) -> tuple[FloatArray, FloatArray]:
    """The difference of two metrics for each row of counts, and its standard error.

    The error is that of the linearised difference, as `standard_error` computes it: a quadratic
    form of the sums of products of columns, so that it costs a product of matrices, too.
    """
    pairs = [metric.values_and_slopes(counts) for metric in (first, second)]
    slopes = np.hstack([pairs[0][1], -pairs[1][1]])
    columns = np.hstack([first._columns, second._columns])
    one, two = np.triu_indices(columns.shape[1])
    products = counts.astype(np.float64) @ np.hstack([columns, columns[:, one] * columns[:, two]])
    width, units = columns.shape[1], first.units
    factors = slopes[:, one] * slopes[:, two] * np.where(one == two, 1.0, 2.0)
    with np.errstate(all="ignore"):
        terms = products[:, width:] * factors
        squares = terms.sum(axis=1) - (slopes * products[:, :width]).sum(axis=1) ** 2 / units
        squares[squares <= ROUNDING * np.abs(terms).sum(axis=1)] = 0.0
        error = (
            np.sqrt(squares * units / (units - 1)) if units > 1 else np.full(len(counts), np.nan)
        )
    return pairs[0][0] - pairs[1][0], error


def standard_error(influence: FloatArray) -> float:
    """The root of u / (u - 1) times the sum of squares about the mean; nan for fewer than 2 units.

    Examples
    --------
    >>> standard_error(np.array([1.0, -1.0]))
    2.0
    """
    units = len(influence)
    if units < 2:
        return math.nan
    centred = influence - influence.mean()
    return math.sqrt(float((centred * centred).sum()) * units / (units - 1))


def apply_outer(outer: Outer | None, values: FloatArray) -> FloatArray:
    """Apply a function of one number to all finite values; undefined results become nan."""
    finite = np.isfinite(values)
    if outer is None:
        return np.where(finite, values, math.nan)
    result = np.full(len(values), math.nan)
    result[finite] = [_apply_or_nan(outer, x) for x in values[finite].tolist()]
    return result


def _apply_or_nan(outer: Outer, x: float) -> float:
    try:
        y = outer(x)
    except (ArithmeticError, ValueError):  # 1 / 0, log 0, exp of a large number
        return math.nan
    return y if math.isfinite(y) else math.nan


def _derivative(outer: Outer | None, x: float) -> float:
    """The derivative of a smooth function of one number."""
    if outer is None:
        return 1.0
    step = 1e-5 * (abs(x) or 1.0)
    ends = [_apply_or_nan(outer, x + i * step) for i in (-2, -1, 1, 2)]
    return (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * step)


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
