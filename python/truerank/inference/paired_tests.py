"""The tests of two models over the same units, and the intervals that belong to them.

Of the units that differ, up to 30 have all their signs flipped; more that differ by one size are
tossed coins, which is McNemar's test; for others there is a t test. An interval holds the shifts
between the models that are not rejected: a shift x leaves the differences d - x s, where s is what
a shift of 1 adds to a unit.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .comparisons import DIFFERENCE, RATIO
from .influences import DIFFERENCES, LOGARITHM, ROUNDING, degrees_of_freedom, slope, standard_error
from .intervals import error_rate, unseen_share

if TYPE_CHECKING:
    from ..arrays.types import FloatArray
    from ..metrics.keys import Key
    from .influences import Influences

FLIPS = "exact sign flips"
MCNEMAR = "exact McNemar"
T = "t"
MOST_FLIPPED = 30  # Each half of so many differences has 2^15 sums.
SLACK = 1e-9  # Sums that differ by less, relative to the total, are equal.
LAST_DIGITS = 1e-14  # So small a part of what a unit adds to a model is rounding.
TOLERANCE = 1e-9  # It is relative to the distance of a bound from the estimate.
UNBOUNDED = (
    "no bounds: each unit has the same {}, and an unseen one may be any number of ranks away"
)


class PairedTest:
    """The two-sided test of one metric of two models, whose units are the same.

    Parameters
    ----------
    first, second : Influences
    key : Key
    level : float

    Attributes
    ----------
    effect : str
        "difference", or "ratio" where the metric is a logarithm's or a power's mean.
    estimate : float
        The difference or ratio of the values.
    p_value : float
        nan where a value is.
    method : str
        "exact sign flips", "exact McNemar" or "t".
    notes : tuple of str

    Examples
    --------
    >>> from truerank.inference.influences import influences_of_sums
    >>> from truerank.metrics.keys import parse
    >>> ones = np.ones(6)
    >>> first, second = (influences_of_sums(x * ones / 8, ones, ends=(0, 1)) for x in (5, 3))
    >>> found = PairedTest(first, second, parse("mrr"), 0.95)
    >>> found.estimate, found.p_value, found.method
    (0.25, 0.03125, 'exact sign flips')
    """

    def __init__(self, first: Influences, second: Influences, key: Key, level: float) -> None:
        self.first = first
        self.second = second
        self.key = key
        self.alpha = error_rate(level)
        self.level = level
        self.method = FLIPS
        self.notes: tuple[str, ...] = ()
        self.p_value = math.nan
        self.is_ratio = not key.macro and first.form not in DIFFERENCES
        if self.is_ratio:
            self.effect = RATIO
            self.estimate = first.value / second.value if second.value else math.nan
        else:
            self.effect = DIFFERENCE
            self.estimate = first.value - second.value
        # A ratio of means is tested as the factor x in first - x second, and other effects as a
        # shift. Equal models have the factor 1, or no shift.
        self.is_factor = self.is_ratio and first.form != LOGARITHM
        self.apart = differences(first.tops, second.tops)
        self.moves = second.tops if self.is_factor else second.shares
        self.moved = first.moved - second.moved
        self.units = len(self.apart)
        if math.isnan(first.value - second.value):
            return
        self.p_value = self._p_of_null()
        self.has_bounds = bool(self.moves.any())
        if self.has_bounds and self.are_alike:
            is_narrow = first.has_range or key.adjustment == "index"
            self.has_bounds = is_narrow and not self.is_ratio
            if not self.has_bounds:
                self.notes = (UNBOUNDED.format(self.effect),)

    @cached_property
    def shift(self) -> float:
        """The shift from the null at which the differences add up to 0."""
        return float(self.apart.sum() / self.moves.sum())

    @cached_property
    def are_alike(self) -> bool:
        """Whether all units differ alike; not if they are so few that no shift is rejected."""
        if math.ldexp(1.0, 1 - self.units) > self.alpha:
            return False
        rest = np.abs(self.apart - self.shift * self.moves)
        scale = np.abs(self.apart) + np.abs(self.moves)
        return bool(rest.max() <= ROUNDING * scale.max())

    def _p_of_null(self) -> float:
        """Return the p-value of models that do not differ, and note the method."""
        apart = self.apart[self.apart != 0]
        if len(apart) <= MOST_FLIPPED:
            return SignFlips(apart, np.zeros_like(apart)).p_value()
        sizes = np.abs(apart)
        if sizes.max() - sizes.min() <= SLACK * sizes.max():
            from scipy.stats import binomtest

            self.method = MCNEMAR
            return float(binomtest(int((apart > 0).sum()), len(apart)).pvalue)
        from scipy.special import stdtr

        self.method = T
        z = abs(float(apart.sum())) / self.error if self.error else math.inf
        p = 2 * float(stdtr(self.degrees, -z))
        return max(p, math.ldexp(1.0, 1 - len(apart)))

    def _variance(self, moved: FloatArray) -> float:
        """The squared standard error of a sum over the units."""
        shares = None if self.first.is_macro else self.first.shares
        return standard_error(moved, shares) ** 2

    @cached_property
    def error(self) -> float:
        """The standard error of the sum of the differences."""
        return math.sqrt(self._variance(self.moved))

    @cached_property
    def degrees(self) -> float:
        """The degrees of freedom of that error."""
        return degrees_of_freedom(self.moved)

    def bounds(self) -> tuple[float, float]:
        """The interval of the effect, which holds that of equal models exactly if p > 1 - level."""
        if math.isnan(self.p_value) or not self.has_bounds:
            return math.nan, math.nan
        least, most = self.first.ends
        ends = (
            (least / most - 1, most / least - 1) if self.is_factor else (least - most, most - least)
        )
        if self.are_alike:
            unseen = unseen_share(self.first.shares, self.level)
            shifts = [self.shift + unseen * (end - self.shift) for end in ends]
        elif self.units <= MOST_FLIPPED:
            flips = SignFlips(self.apart, self.moves)
            shifts = [self._last_kept(flips, end) for end in ends]
        else:
            shifts = np.clip(self._bounds_of_t(), *ends).tolist()
        effects = [self.estimate] + [self._effect(shift) for shift in shifts]
        return self._agreeing(min(effects), max(effects))

    def _effect(self, shift: float) -> float:
        """The effect that this shift from the null would be."""
        second = self.second
        if not self.is_ratio:
            return shift * slope(second.outward, second.inner)
        inner = second.inner + shift * (second.inner if self.is_factor else 1.0)
        return second.at(inner) / second.value

    def _last_kept(self, flips: SignFlips, end: float) -> float:
        """The last shift towards an end that sign flips do not reject, by bisection."""
        if end == self.shift or flips.p_value(end) > self.alpha:
            return end
        kept = self.shift
        rejected = end
        # The p-value falls with the distance, since no unit has a negative share of a shift.
        while abs(rejected - kept) > TOLERANCE * abs(rejected - self.shift):
            middle = (kept + rejected) / 2
            if flips.p_value(middle) > self.alpha:
                kept = middle
            else:
                rejected = middle
        return kept

    def _bounds_of_t(self) -> tuple[float, float]:
        """Fieller's bounds: the shifts x whose sum of d - x s is within t standard errors of 0.

        A shift of a mean is a fixed number, so that s adds nothing to the error.
        """
        from scipy.special import stdtrit

        square = float(stdtrit(self.degrees, 1 - self.alpha / 2)) ** 2
        top = float(self.apart.sum())
        base = float(self.moves.sum())
        of_top = self.error**2
        of_base = 0.0
        of_both = 0.0
        if self.is_factor:
            moves = self.second.moved
            of_base = self._variance(moves)
            of_both = (self._variance(self.moved + moves) - self._variance(self.moved - moves)) / 4
        leading = base * base - square * of_base
        if leading <= 0:  # The base may be 0, so the ratio may be anything.
            return -math.inf, math.inf
        middle = top * base - square * of_both
        spread = base * base * of_top - 2 * top * base * of_both + top * top * of_base
        spread += square * (of_both * of_both - of_top * of_base)
        reach = math.sqrt(square * max(spread, 0.0))
        return (middle - reach) / leading, (middle + reach) / leading

    def _agreeing(self, low: float, high: float) -> tuple[float, float]:
        """The bounds with the effect of equal models inside, or outside, as the p-value says."""
        null = 1.0 if self.is_ratio else 0.0
        if self.p_value > self.alpha:
            return min(low, null), max(high, null)
        beside = math.nextafter(null, self.estimate)
        if self.estimate > null:
            return max(low, beside), high
        return low, min(high, beside)


def differences(one: FloatArray, two: FloatArray) -> FloatArray:
    """What units add to one model and not to the other; 0 where only rounding differs.

    Examples
    --------
    >>> differences(np.array([1.0, 0.1 + 0.2]), np.array([0.5, 0.3]))
    array([0.5, 0. ])
    """
    apart = one - two
    sizes = np.abs(apart)
    is_rounding = sizes <= ROUNDING * sizes.max(initial=0.0)
    is_rounding |= sizes <= LAST_DIGITS * np.maximum(np.abs(one), np.abs(two))
    return np.where(is_rounding, 0.0, apart)


class SignFlips:
    """The signs of up to 30 differences d - x s, flipped at random, for any shift x.

    The sums of d and of s with each choice of signs are added up once, those of either half of the
    units; the sums of d - x s follow from them.

    Parameters
    ----------
    apart, moves : ndarray of float64, shape (m,)
        The differences without a shift, d, and what a shift of 1 takes from them, s.

    Examples
    --------
    >>> flips = SignFlips(np.array([1.0, 1.0, 0.0, 1.0]), np.ones(4))
    >>> flips.p_value(), flips.p_value(1.0)
    (0.25, 1.0)
    """

    def __init__(self, apart: FloatArray, moves: FloatArray) -> None:
        self.apart = apart
        self.moves = moves
        numbers = np.stack([apart, moves])
        half = len(apart) // 2
        self.sums_of_halves = signed_sums(numbers[:, :half]), signed_sums(numbers[:, half:])

    def p_value(self, shift: float = 0.0) -> float:
        """The share of all signs whose sum is as large as that of the differences.

        Each sum of one half of them is met with the sorted sums of the other.
        """
        apart = self.apart - shift * self.moves
        total = abs(float(apart.sum()))
        slack = SLACK * float(np.abs(apart).sum())
        if total <= slack:
            return 1.0
        first, second = [of_d - shift * of_s for of_d, of_s in self.sums_of_halves]
        first.sort()
        missing = np.sort(total - slack - second)
        smaller = np.searchsorted(first, missing).sum()
        return 2 * float(len(first) - smaller / len(missing)) / len(first)


def signed_sums(numbers: FloatArray) -> FloatArray:
    """The sums of each row of numbers with each choice of signs of the columns.

    Examples
    --------
    >>> signed_sums(np.array([[1.0, 3.0]]))
    array([[ 4.,  2., -2., -4.]])
    """
    sums = np.zeros((len(numbers), 1))
    for column in numbers.T:
        sizes = column[:, None]
        sums = np.concatenate([sums + sizes, sums - sizes], axis=1)
    return sums
