"""Tests of means over units: t, of one model or two and of their runs, and exact sign flips.

All take what each unit adds to the two sums whose ratio is the mean: tops and bases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .influences import ROUNDING, influences_of_sums, standard_error

if TYPE_CHECKING:
    from ..arrays.types import FloatArray

FLIPS = "exact sign flips"
T = "t"
MOST_FLIPPED = 30  # Each half of so many differences has 2^15 sums.
SLACK = 1e-9  # Sums that differ by less, relative to the total, are equal.
TOLERANCE = 1e-9  # It is relative to the distance of a bound from the mean.


def error_rate(level: float) -> float:
    """Return 1 - level, without the rounding of a difference.

    Examples
    --------
    >>> error_rate(0.95)
    0.05
    """
    return round(1 - level, 12)


def t_test(
    models: Sequence[FloatArray], bases: FloatArray, level: float
) -> tuple[float, float, float, float]:
    """Return the mean over runs of one model, or the difference of two; its p-value and interval.

    The squared error is the sum of s^2 / k for each model of several runs (Welch), with the
    variance s^2 of the values of its k runs, and of u / (u - 1) sum of d^2 over the influences d
    of the units on the mean over runs. The degrees of freedom are those of Satterthwaite: of one
    run of each model u - 1, so that it is the paired t test.

    Parameters
    ----------
    models : sequence of ndarray of float64, shape (runs, units)
        The tops of one model, or of two.
    bases : ndarray of float64, shape (units,)
    level : float

    Returns
    -------
    estimate, p_value, low, high : float
        Bounds are nan where nothing varies; then the p-value is 1 for a difference of 0, else nan.

    Notes
    -----
    F. E. Satterthwaite: An Approximate Distribution of Estimates of Variance Components.
    Biometrics Bulletin 2 (1946).

    Examples
    --------
    >>> differences_of_folds = np.array([[0.01, 0.03, 0.02]])
    >>> [round(x, 4) for x in t_test([differences_of_folds], np.ones(3), 0.95)]
    [0.02, 0.0742, -0.0048, 0.0448]
    """
    from scipy.special import stdtr, stdtrit

    tops = models[0].mean(axis=0)
    if len(models) > 1:
        tops = differences(tops, models[1].mean(axis=0))
    estimate, moved = influences_of_sums(tops, bases)
    parts = [(standard_error(moved) ** 2, len(moved) - 1)]
    for runs in models:
        if len(runs) > 1:
            values = runs.sum(axis=1) / bases.sum()
            values -= values[0]  # Equal values have no variance, not even a rounded one.
            parts.append((float(values.var(ddof=1)) / len(runs), len(runs) - 1))
    variance = sum(part for part, _ in parts)
    if not variance > 0:
        return estimate, math.nan if estimate else 1.0, math.nan, math.nan
    degrees = variance**2 / sum(part**2 / of_part for part, of_part in parts)
    error = math.sqrt(variance)
    p_value = 2 * float(stdtr(degrees, -abs(estimate) / error))
    reach = float(stdtrit(degrees, 1 - error_rate(level) / 2)) * error
    return estimate, p_value, estimate - reach, estimate + reach


def differences(one: FloatArray, two: FloatArray) -> FloatArray:
    """What units add to one model and not to the other; 0 where only rounding differs.

    Examples
    --------
    >>> differences(np.array([1.0, 0.1 + 0.2]), np.array([0.5, 0.3]))
    array([0.5, 0. ])
    """
    apart = one - two
    return np.where(np.abs(apart) <= ROUNDING * (np.abs(one) + np.abs(two)), 0.0, apart)


def are_alike(apart: FloatArray, bases: FloatArray) -> bool:
    """Whether all units that differ do so by the same, for their weights.

    Examples
    --------
    >>> are_alike(np.array([0.5, 0.0, 1.0]), np.array([1.0, 1.0, 2.0]))
    True
    """
    differ = apart != 0
    values = apart[differ] / bases[differ]
    spread = np.ptp(values) if len(values) else 0.0
    return bool(spread <= ROUNDING * np.abs(values).max(initial=0.0))


def p_of_difference(apart: FloatArray, bases: FloatArray) -> tuple[float, str]:
    """Return the two-sided p-value of the differences of units, and the test.

    Up to 30 that are not 0 have their signs flipped; of more, or with one size of all, there is the
    paired t test, which equals `scipy.stats.ttest_rel` where the units weigh alike.

    Examples
    --------
    >>> p_of_difference(np.array([1.0, 1.0, 0.0, 1.0]), np.ones(4))
    (0.25, 'exact sign flips')
    """
    nonzero = apart[apart != 0]
    if len(nonzero) <= MOST_FLIPPED:
        return flip_probability(*halves_of(nonzero)), FLIPS
    if len(nonzero) == len(apart) and are_alike(apart, bases):
        return math.ldexp(1.0, 1 - len(apart)), FLIPS
    return t_test([apart[None]], bases, 0.95)[1], T


def bounds_of_difference(apart: FloatArray, bases: FloatArray, level: float) -> tuple[float, float]:
    """Return the differences of the mean that `p_of_difference` does not reject.

    They are infinite where so few units differ that nothing is rejected, and nan where none does,
    or all of them by the same.

    Examples
    --------
    >>> low, high = bounds_of_difference(np.arange(0.0, 8.0), np.ones(8), 0.95)
    >>> round(low, 2), round(high, 2)
    (1.75, 5.25)
    """
    differ = apart != 0
    if int(differ.sum()) > MOST_FLIPPED:
        _, _, low, high = t_test([apart[None]], bases, level)
        return low, high
    if are_alike(apart, bases):
        return math.nan, math.nan
    low, high = flip_bounds(apart[differ], bases[differ], level)
    share = float(bases[differ].sum() / bases.sum())
    return low * share, high * share


def flip_bounds(apart: FloatArray, bases: FloatArray, level: float) -> tuple[float, float]:
    """Return the outermost shifts x that sign flips of apart - x bases do not reject, by bisection.

    Examples
    --------
    >>> flip_bounds(np.array([1.0, 2.0, 4.0]), np.ones(3), 0.95)
    (-inf, inf)
    """
    alpha = error_rate(level)
    if math.ldexp(1.0, 1 - len(apart)) > alpha:
        return -math.inf, math.inf
    values = apart / bases
    middle = float(apart.sum() / bases.sum())
    sums_of_apart = halves_of(apart)
    sums_of_bases = halves_of(bases)

    def is_kept(shift: float) -> bool:
        first, second = (
            of_apart - shift * of_bases
            for of_apart, of_bases in zip(sums_of_apart, sums_of_bases, strict=True)
        )
        return flip_probability(first, second) > alpha

    ends = []
    # Beyond the outermost values all differences have one sign, which is rejected.
    for end in (float(values.min()), float(values.max())):
        kept = middle
        rejected = end + (end - middle)
        # The p-value falls with the distance, since no unit has a negative share of a shift.
        while abs(rejected - kept) > TOLERANCE * abs(rejected - middle):
            between = (kept + rejected) / 2
            if is_kept(between):
                kept = between
            else:
                rejected = between
        ends.append(kept)
    return ends[0], ends[1]


def halves_of(numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the sums of either half of the numbers with each choice of signs."""
    half = len(numbers) // 2
    return signed_sums(numbers[:half]), signed_sums(numbers[half:])


def signed_sums(numbers: FloatArray) -> FloatArray:
    """Return the sums of numbers with each choice of their signs, the numbers' own first.

    Examples
    --------
    >>> signed_sums(np.array([1.0, 3.0]))
    array([ 4.,  2., -2., -4.])
    """
    sums = np.zeros(1)
    for number in numbers:
        sums = np.concatenate([sums + number, sums - number])
    return sums


def flip_probability(first: FloatArray, second: FloatArray) -> float:
    """Return the share of all signs whose sum is as far from 0 as that of the numbers.

    Parameters
    ----------
    first, second : ndarray of float64
        The signed sums of both halves. Each of the one is met with the sorted ones of the other.

    Examples
    --------
    >>> flip_probability(*halves_of(np.array([1.0, 1.0, 1.0])))
    0.25
    """
    total = abs(float(first[0] + second[0]))
    # The largest sum is that of the sizes.
    slack = SLACK * float(first.max() + second.max())
    if total <= slack:
        return 1.0
    least = np.sort(total - slack - second)
    smaller = int(np.searchsorted(np.sort(first), least).sum())
    return 2 * (1 - smaller / (len(first) * len(second)))
