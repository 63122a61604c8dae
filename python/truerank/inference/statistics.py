"""Intervals and tests of means over units: t, of runs too, Wilson's, and exact sign flips.

All take what each unit adds to the two sums whose ratio is the mean: tops and bases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputValueError
from ..metrics.contributions import ROUNDING, mean_and_influences
from ..naming import format_count

if TYPE_CHECKING:
    from ..arrays.types import FloatArray

FLIPS = "exact sign flips"
T = "t"
MOST_FLIPPED = 30  # Each half of so many differences has 2^15 sums.
SLACK = 1e-9  # Sums that differ by less, relative to the total, are equal.
TOLERANCE = 1e-9  # It is relative to the distance of a bound from the mean.
# Where fewer units carry a result, t intervals of hard laws cover less than 92 %; see
# bench/studies/calibration.md.
FEW_UNITS = 200
FEW_CARRIERS = 30
FEW = "few units"  # So the note begins.


def error_rate(level: float) -> float:
    """Return 1 - level, without the rounding of a difference.

    Examples
    --------
    >>> error_rate(0.95)
    0.05
    """
    return round(1 - level, 12)


def standard_error(influences: FloatArray) -> float:
    """Return the root of u / (u - 1) sum of d^2 for the influences d of u units; nan for one.

    Examples
    --------
    >>> standard_error(np.array([1.0, -1.0]))
    2.0
    """
    units = len(influences)
    if units < 2:
        return math.nan
    return math.sqrt(float(influences @ influences) * units / (units - 1))


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
    estimate, influences = mean_and_influences(tops, bases)
    parts = [(standard_error(influences) ** 2, len(influences) - 1)]
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


def wilson(share: float, influences: FloatArray, level: float) -> tuple[float, float]:
    """Return Wilson's interval of a share, of as many trials as would vary as much as its units do.

    Parameters
    ----------
    share : float
    influences : ndarray of float64, shape (units,)
        The influences of the units. Where they are 0, each unit is a trial.
    level : float

    Examples
    --------
    >>> low, high = wilson(0.5, np.array([0.01] * 50 + [-0.01] * 50) / 2, 0.95)
    >>> round(low, 4), round(high, 4)
    (0.4038, 0.5962)
    """
    from scipy.special import ndtri

    share = round(share, 12)  # All hits are 1, whatever their weights were.
    trials = float(len(influences))
    if influences.any() and 0 < share < 1:
        trials = share * (1 - share) / float(influences @ influences)
    square = float(ndtri((1 + level) / 2)) ** 2 / trials
    middle = (share + square / 2) / (1 + square)
    reach = math.sqrt(share * (1 - share) * square + square * square / 4) / (1 + square)
    return middle - reach, middle + reach


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


def paired_test(
    apart: FloatArray, bases: FloatArray, level: float, *, has_bounds: bool = True
) -> tuple[float, float, float, str]:
    """Test the differences of units: return the p-value, the bounds of their mean, and the test.

    Up to 30 that are not 0 have their signs flipped; of more there is the paired t test, which
    equals `scipy.stats.ttest_rel` where the units weigh alike. Where all units differ by one size
    the p-value is that of sign flips. Bounds hold what the same test does not reject. They are
    infinite where so few units differ that nothing is rejected, and nan where none does, or all of
    them by the same, and where they are not asked for.

    Examples
    --------
    >>> p_value, low, high, method = paired_test(np.arange(0.0, 8.0), np.ones(8), 0.95)
    >>> p_value, round(low, 2), round(high, 2), method
    (0.015625, 1.75, 5.25, 'exact sign flips')
    """
    differ = apart != 0
    number = int(differ.sum())
    if number > MOST_FLIPPED:
        _, p_value, low, high = t_test([apart[None]], bases, level)
        if number == len(apart) and are_alike(apart, bases):
            return math.ldexp(1.0, 1 - number), low, high, FLIPS
        return p_value, low, high, T
    p_value = flip_probability(*signed_sums(apart[differ]))
    low = high = math.nan
    if has_bounds and not are_alike(apart, bases):
        share = float(bases[differ].sum() / bases.sum())
        low, high = flip_bounds(apart[differ], bases[differ], level)
        low *= share
        high *= share
    return p_value, low, high, FLIPS


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
    first, second = signed_sums(apart)
    first_of_bases, second_of_bases = signed_sums(bases)
    ends = []
    # Beyond the outermost values all differences have one sign, which is rejected.
    for end in (float(values.min()), float(values.max())):
        inside = middle
        outside = end + (end - middle)
        # The p-value falls with the distance, since no unit has a negative share of a shift.
        while abs(outside - inside) > TOLERANCE * abs(outside - middle):
            x = (inside + outside) / 2
            if flip_probability(first - x * first_of_bases, second - x * second_of_bases) > alpha:
                inside = x
            else:
                outside = x
        ends.append(inside)
    return ends[0], ends[1]


def signed_sums(numbers: FloatArray) -> list[FloatArray]:
    """Return the sums of either half of some numbers with each choice of signs, their own first.

    Examples
    --------
    >>> signed_sums(np.array([2.0, 1.0, 3.0]))
    [array([ 2., -2.]), array([ 4.,  2., -2., -4.])]
    """
    half = len(numbers) // 2
    halves = []
    for part in (numbers[:half], numbers[half:]):
        sums = np.zeros(1)
        for number in part:
            sums = np.concatenate([sums + number, sums - number])
        halves.append(sums)
    return halves


def flip_probability(first: FloatArray, second: FloatArray) -> float:
    """Return the share of all signs whose sum is as far from 0 as that of the numbers.

    Parameters
    ----------
    first, second : ndarray of float64
        The signed sums of both halves. Each of the one is met with the sorted ones of the other.

    Examples
    --------
    >>> flip_probability(*signed_sums(np.array([1.0, 1.0, 1.0])))
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


def check_bases(bases: Sequence[FloatArray], name: str) -> None:
    """Refuse models whose units weigh unlike, of which the differences of units say nothing.

    Examples
    --------
    >>> check_bases([np.ones(2), np.full(2, 3.0)], "b")
    """
    first, *others = (of_model / (of_model.sum() or 1.0) for of_model in bases)
    for other in others:
        if len(other) != len(first) or not np.allclose(other, first, rtol=1e-9, atol=0):
            expected = "units that weigh as those of the other model"
            raise InputValueError(name, expected=expected, got="unlike weights")


def count_carriers(numbers: FloatArray) -> float:
    """How many units carry a sum: (sum of x)^2 / sum of x^2; 0 where there is nothing.

    Examples
    --------
    >>> count_carriers(np.array([1.0, 1.0, 1.0, 1.0, 0.0]))
    4.0
    """
    largest = float(numbers.max(initial=0.0))
    if not largest:
        return 0.0
    shares = numbers / largest
    return float(shares.sum() ** 2 / np.square(shares).sum())


def note_on(
    metric: str, name: str, influences: FloatArray, bases: FloatArray, *, is_share: bool = False
) -> tuple[str, ...]:
    """Say in one clause, if at all, that few units carry a result, where t covers too little.

    Parameters
    ----------
    metric : str
        The key, as it was asked for.
    name : str
        What a unit is.
    influences, bases : ndarray of float64, shape (units,)
        The influences of the units, and their weights.
    is_share : bool
        Whether the interval is that of a share, which hangs on weights alone.

    Examples
    --------
    >>> note_on("mr", "task", np.array([-6.0, 2, 2, 2]), np.ones(4))
    ('few units: 4 tasks',)
    >>> note_on("mr", "task", np.array([-300.0] + [1.0] * 300), np.ones(301))
    ('few units carry it: mr rests on about 1 of 301 tasks',)
    """
    units = len(influences)
    if units < FEW_UNITS:
        return (f"{FEW}: {format_count(units, name)}",)
    carriers = count_carriers(np.abs(bases))
    if not is_share and influences.any():
        carriers = min(carriers, count_carriers(np.square(influences)))
    if carriers >= FEW_CARRIERS:
        return ()
    counted = f"about {carriers:.0f} of {format_count(units, name)}"
    return (f"{FEW} carry it: {metric} rests on {counted}",)
