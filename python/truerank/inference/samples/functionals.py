"""A metric as a function of how often each unit (a task, a group of tasks) occurs.

Resampling needs the metric of thousands of resamples at once, the metric of all units but one, and
how much each unit moves it. Means of f(r) are computed from sums of columns, medians from order
statistics of the distinct ranks, and all other metrics one resample after another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..distributions import normal_quantile

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...inputs.arrays import FloatArray, IntArray

    Numbers = npt.NDArray[Any]
    Outer = Callable[[float], float]

# The step of derivatives along the imaginary axis. Nothing cancels there, however small it is.
COMPLEX_STEP = 1e-30
# A variance that is smaller than this share of its terms is rounding.
ROUNDING_SHARE = 1e-12


class Functional(Protocol):
    """A metric of units with multiplicities; it is nan, without a warning, where undefined."""

    units: int

    def of_counts(self, counts: Numbers) -> FloatArray:
        """The values for the rows of counts of shape (m, units); float64, shape (m,)."""

    def leave_one_out(self) -> FloatArray | None:
        """The values without each unit in turn, shape (units,); None if there is no fast way."""

    def normal_bounds(self, level: float) -> tuple[float, float] | None:
        """The bounds by the delta method; None where it does not apply."""


class BoundedFunctional(Protocol):
    """A metric that is monotone in the ranks, which have ends: rank 1, and the last rank.

    Its bounds are computed on a scale of its own, before an outer function of one number.
    """

    units: int

    def middle(self) -> float:
        """The value of all units on the inner scale."""

    def span(self) -> tuple[float, float] | None:
        """The least and the greatest value on the inner scale; None where they are not known."""

    def at_ends(self, weights: FloatArray, extra: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The values, on the inner scale, of units with weights and one more unit at either end.

        Parameters
        ----------
        weights : ndarray of float64, shape (m, units)
        extra : ndarray of float64, shape (m,)
            The weight of one more unit, of mean size, whose ranks are all at an end.

        Returns
        -------
        (low, high)
            Where this unit has the least value, and where it has the greatest; each of shape (m,).
        """

    def outwards(self, low: float, high: float) -> tuple[float, float]:
        """Apply the outer function to bounds on the inner scale, within the span."""


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
    ends : pair of sequences of ndarray, optional
        The columns if all ranks were 1, and if all were the last; for a metric that is monotone.
    limits : (float, float), optional
        The least and the greatest value before `outer`, where there are no ends.
    """

    def __init__(
        self,
        columns: Sequence[FloatArray],
        unit: IntArray,
        units: int,
        inner: Callable[..., Numbers],
        outer: Outer | None = None,
        ends: tuple[Sequence[FloatArray], Sequence[FloatArray]] | None = None,
        limits: tuple[float, float] = (-math.inf, math.inf),
    ) -> None:
        self.units = units
        self._limits = limits
        self._inner, self._outer = inner, outer
        self._ends = None if ends is None else np.array([[x.sum() for x in end] for end in ends])
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
        slope = self.inner_influence()
        return slope * _derivative(self._outer, self.middle()) if slope.any() else slope

    def inner_influence(self) -> FloatArray:
        """The derivative of the value before `outer` by each unit's multiplicity."""
        total = self._columns.sum(axis=0)
        with np.errstate(all="ignore"):
            moved = self._inner(*(total + 1j * COMPLEX_STEP * self._columns).T)
            slope: FloatArray = np.broadcast_to(np.imag(moved) / COMPLEX_STEP, self.units)
        return slope

    def middle(self) -> float:
        """The value of all units before `outer`."""
        with np.errstate(all="ignore"):
            return float(np.real(self._inner(*self._columns.sum(axis=0))))

    def span(self) -> tuple[float, float] | None:
        """The least and the greatest value before `outer`; None where they are not known."""
        if self._ends is None:
            return None
        with np.errstate(all="ignore"):
            low, high = sorted(float(x) for x in self._inner(*self._ends.T))
        return low, high

    def at_ends(self, weights: FloatArray, extra: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `BoundedFunctional`."""
        sums = weights @ self._columns
        assert self._ends is not None
        with np.errstate(all="ignore"):
            reached = self._inner(*self._ends.T)
            first, last = (
                np.asarray(self._inner(*(sums + np.outer(extra, end / self.units)).T))
                for end in self._ends
            )
        return (first, last) if reached[0] < reached[1] else (last, first)

    def outwards(self, low: float, high: float) -> tuple[float, float]:
        """See `BoundedFunctional`."""
        least, greatest = self.span() or self._limits
        ends = np.array([max(low, least), min(high, greatest)])
        low, high = sorted(apply_outer(self._outer, ends).tolist())
        return low, high

    def pivots(self, chunks: Iterable[Numbers]) -> FloatArray:
        """The distance of each resample from the value before `outer`, in its own standard errors.

        The error is that of the influence of the units of the resample, with u / (u - 1). A
        resample that does not vary has a pivot of 0 where it has the value, else -inf or inf.
        """
        sums, products = _resampled_sums(self._columns, chunks)
        values, slopes = self._inner_and_slopes(sums)
        errors = _linear_errors(self._columns, sums, products, slopes)
        with np.errstate(all="ignore"):
            away = values - self.middle()
            away[np.abs(away) <= ROUNDING_SHARE * np.abs(values)] = 0.0
            pivots: FloatArray = away / errors
        pivots[(away == 0) & (errors == 0)] = 0.0
        return pivots

    def values_and_slopes(self, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The value for each row of sums of the columns, and its derivatives by these sums."""
        middle, slopes = self._inner_and_slopes(sums)
        if self._outer is not None:
            with np.errstate(all="ignore"):
                slopes *= np.array([_derivative(self._outer, x) for x in middle.tolist()])[:, None]
        return apply_outer(self._outer, middle), slopes

    def _inner_and_slopes(self, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same before `outer`."""
        slopes = np.empty(sums.shape)
        with np.errstate(all="ignore"):
            middle = np.asarray(self._inner(*sums.T), dtype=np.float64)
            for k in range(sums.shape[1]):
                moved = sums.astype(np.complex128)
                moved[:, k] += 1j * COMPLEX_STEP
                slopes[:, k] = np.imag(self._inner(*moved.T)) / COMPLEX_STEP
        return middle, slopes

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
    first: SumFunctional, second: SumFunctional, chunks: Iterable[Numbers]
) -> tuple[FloatArray, FloatArray]:
    """The difference of two metrics for each row of counts, and its standard error.

    The error is that of the linearised difference, as `standard_error` computes it: a quadratic
    form of the sums of products of columns, so that it costs a product of matrices, too.
    """
    columns, split = np.hstack([first._columns, second._columns]), first._columns.shape[1]
    sums, products = _resampled_sums(columns, chunks)
    one, two = first.values_and_slopes(sums[:, :split]), second.values_and_slopes(sums[:, split:])
    errors = _linear_errors(columns, sums, products, np.hstack([one[1], -two[1]]))
    return one[0] - two[0], errors


def _resampled_sums(
    columns: FloatArray, chunks: Iterable[Numbers]
) -> tuple[FloatArray, FloatArray]:
    """For each row of counts the sums of the columns, and those of their products.

    The products are of the differences from the columns' means, so that little cancels; a product
    of two unlike columns counts twice. They stand in the order of `numpy.triu_indices`.
    """
    n = columns.shape[1]
    rows, others = np.triu_indices(n)
    away = columns - columns.mean(axis=0)
    twice = np.where(rows == others, 1.0, 2.0)
    moments = np.hstack([columns, away[:, rows] * away[:, others] * twice])
    (some,) = np.nonzero(moments.any(axis=0))  # with equal weights most products are 0
    moments = np.ascontiguousarray(moments[:, some])
    drawn = np.concatenate([counts.astype(np.float64) @ moments for counts in chunks])
    found: FloatArray = np.zeros((len(drawn), n + len(rows)))
    found[:, some] = drawn
    return found[:, :n], found[:, n:]


def _linear_errors(
    columns: FloatArray, sums: FloatArray, products: FloatArray, slopes: FloatArray
) -> FloatArray:
    """The standard error of each row of counts, of a function with these slopes.

    It is 0 where it is no more than rounding, and nan for fewer than 2 units.
    """
    units, (rows, others) = len(columns), np.triu_indices(columns.shape[1])
    if units < 2:
        return np.full(len(sums), math.nan)
    with np.errstate(all="ignore"):
        terms = slopes[:, rows] * slopes[:, others] * products
        linear = (slopes * (sums - columns.sum(axis=0))).sum(axis=1)
        squares = terms.sum(axis=1) - linear * linear / units
        squares[squares <= ROUNDING_SHARE * np.abs(terms).sum(axis=1)] = 0.0
        errors: FloatArray = np.sqrt(squares * units / (units - 1))
    return errors


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


def carriers(influence: FloatArray) -> float:
    """How many units carry the variance: (sum d^2)^2 / sum d^4 of their influences d; 0 for none.

    It is the number of units divided by their kurtosis: for few hits about the number of hits, for
    a heavy tail the number of units in the tail.

    Examples
    --------
    >>> carriers(np.array([1.0, -1.0, 0.0]))
    2.0
    """
    largest = float(np.abs(influence).max(initial=0.0))
    if not largest:
        return 0.0
    squares = np.square(influence / largest)
    return float(squares.sum() ** 2 / np.square(squares).sum())


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
