"""The test that flips the signs of paired differences, at every shift between two models."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .flip_sums import (
    GRID,
    HALVES,
    SLACK,
    Classes,
    Share,
    classes_of,
    share_by_normals,
    share_by_steps,
    share_exactly,
    step_of,
    subset_sums,
)
from .influences import without_rounding

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray

EXACT = "exact sign flips"
SADDLE_POINT = "saddle-point sign flips"
LARGEST = 12  # so many of the largest differences have all signs at other shifts than the null
KINDS = 16  # so few kinds of units are told apart at every shift, as those of hits@k are
GRID_OF_SHIFTS = GRID // 2
SAMPLE = 1000  # units, of which more than so many kinds are not the few that are looked for
NORMAL_ABOVE = 1e-3  # two-sided; below, signs are tilted
NORMAL_ERROR = 0.01


def error_rate(level: float) -> float:
    """Return 1 - level, without the rounding of a difference.

    Examples
    --------
    >>> error_rate(0.95)
    0.05
    """
    return round(1 - level, 12)


class SignFlips:
    """The two-sided p-value of every shift between two models.

    If the models differ by the shift x alone, the differences d = gained - x shares of units have
    any signs with equal probability. The p-value is the probability of a sum as large as theirs,
    equal sums included. It is exact for up to 30 differences, for a few kinds of units, and, at the
    null, for whole multiples of a step (see `flip_sums`). Others are saddle-point approximations,
    multiplied by the bound of their error, and at least 2^(1 - m) for m differences other than 0.

    Parameters
    ----------
    gained, shares : ndarray of float64, shape (units,)
        What each unit adds to the difference, and to a shift of 1.
    null : float
        The shift of models that do not differ: 0, or 1 for a ratio.

    Attributes
    ----------
    estimate : float
        The shift at which the differences add up to 0; nan where shares do.
    spread : float
        The standard deviation of the sums of flipped differences, as a shift.
    method : str
        "exact sign flips" or "saddle-point sign flips": how the p-value of the null was found.
    accuracy : float
        The bound of its relative error: 0.0 where it is exact, nan where it is unknown; the p-value
        is not too small then.

    Examples
    --------
    >>> found = SignFlips(np.array([0.25, 0.25, 0.0, 0.25]), np.full(4, 0.25))
    >>> found.estimate, found.p_value(0.0), found.method
    (0.75, 0.25, 'exact sign flips')
    """

    def __init__(self, gained: FloatArray, shares: FloatArray, null: float = 0.0) -> None:
        apart = without_rounding(gained - null * shares, np.abs(gained) + np.abs(shares * null))
        self.null = null
        self._apart = apart
        self._shares = shares
        self._total = float(apart.sum())
        self._whole = float(shares.sum())
        # where the second model varies in nothing, there is no ratio, but a p-value
        self.estimate = null + self._total / self._whole if self._whole else math.nan
        self.spread = math.sqrt(float(apart @ apart)) / (self._whole or 1.0)
        self._mixture: NormalMixture | None = None
        found = self._share(apart, None, at_null=True)
        self._p_of_null = found.value
        self.accuracy = found.error
        self.method = SADDLE_POINT if found.error else EXACT

    @property
    def units(self) -> int:
        """The number of units."""
        return len(self._apart)

    @cached_property
    def _kinds(self) -> Kinds | None:
        """The few kinds of units, which are looked for when a shift is asked."""
        return _kinds_of(self._apart, self._shares)

    def all_equal(self) -> bool:
        """Whether every unit has the same difference, so that nothing varies."""
        rest = self._apart - (self.estimate - self.null) * self._shares
        return not without_rounding(rest, np.abs(self._apart) + np.abs(self._shares)).any()

    def difference(self, x: float) -> float:
        """The sum of the differences at a shift of x from the null."""
        return self._total - x * self._whole

    def p_value(self, shift: float, least: float = 0.0) -> float:
        """The two-sided p-value of a shift; one far below `least` may be rough."""
        x = shift - self.null
        if x == 0:
            return self._p_of_null
        if self._kinds is not None:
            kinds = self._kinds
            return self._share(kinds.gained - x * kinds.shares, kinds.counts).value
        if self.units <= HALVES:
            return self._share(self._apart - x * self._shares, None).value
        if self._mixture is None:
            self._mixture = NormalMixture(self._apart, self._shares)
        found = self._mixture.p_value(x)
        if least / 10 < found < NORMAL_ABOVE:
            return self._share(self._apart - x * self._shares, None).value
        return found

    def _share(self, apart: FloatArray, counts: IntArray | None, at_null: bool = False) -> Share:
        """The two-sided p-value of differences, each of which so many units have."""
        sizes = np.abs(apart)
        numbers: FloatArray | IntArray = np.ones(len(apart)) if counts is None else counts
        classes = classes_of(sizes, counts)
        total = float(numbers @ apart)
        if abs(total) <= SLACK * classes.total:
            return Share(1.0)
        if total > 0:
            against = apart < 0
        else:
            against = apart > 0
        found = _one_sided(classes, float(numbers[against] @ sizes[against]), at_null)
        least = math.ldexp(1.0, 1 - classes.number)
        p = 2 * found.value
        if found.error > 0:  # not nan
            p *= 1 + found.error
        return Share(min(1.0, max(p, least)), found.error)


def _one_sided(classes: Classes, budget: float, at_null: bool) -> Share:
    """The share of flips within a budget, by the first method that can tell."""
    if not at_null:  # where there is hardly ever a step
        found = share_exactly(classes, budget, GRID_OF_SHIFTS)
        return found or share_by_normals(classes, budget)
    found = share_exactly(classes, budget, GRID)
    if found is not None:
        return found
    step = step_of(classes.sizes)
    if step:
        found = share_by_steps(classes, budget, step)
    return found or share_by_normals(classes, budget, step)


class Kinds(NamedTuple):
    """Kinds of units that have the same numbers, and how many there are of each."""

    gained: FloatArray
    shares: FloatArray
    counts: IntArray


def _kinds_of(gained: FloatArray, shares: FloatArray) -> Kinds | None:
    """The few kinds of units; None if there are more than 16, or at most two of each on average."""
    if len(gained) > SAMPLE and _kinds_of(gained[:SAMPLE], shares[:SAMPLE]) is None:
        return None
    scale = 1e-12 * (np.abs(gained).max(initial=0.0) + np.abs(shares).max(initial=0.0))
    kinds: list[int] = []
    counts: list[int] = []
    left = np.arange(len(gained))
    while len(left):
        if len(kinds) == KINDS:
            return None
        first = int(left[0])
        same = np.abs(gained[left] - gained[first]) <= scale
        same &= np.abs(shares[left] - shares[first]) <= scale
        kinds.append(first)
        counts.append(int(same.sum()))
        left = left[~same]
    if len(gained) <= 2 * len(kinds):
        return None
    return Kinds(gained[kinds], shares[kinds], np.array(counts, np.int64))


class NormalMixture:
    """A p-value of every shift whose cost does not depend on the number of units.

    All signs of the 12 largest differences are tried, and the sum of the rest is normal but for its
    fourth cumulant. It serves for the bounds of intervals: above 10^-3 it is within 1 %, by which
    it is multiplied.

    Parameters
    ----------
    apart, shares : ndarray of float64, shape (units,)
        The differences at a shift of 0, and what a shift of 1 takes from them.
    """

    def __init__(self, apart: FloatArray, shares: FloatArray) -> None:
        order = np.argpartition(-np.abs(apart), LARGEST)
        large = order[:LARGEST]
        rest = order[LARGEST:]
        self._total = float(apart.sum())
        self._whole = float(shares.sum())
        # the sum of one model with signs is that of all less twice those that are flipped
        self._gained = apart[large].sum() - 2 * subset_sums(apart[large])
        self._shares = shares[large].sum() - 2 * subset_sums(shares[large])
        self._rest = PowerSums(apart[rest], shares[rest])

    def p_value(self, x: float) -> float:
        """The two-sided p-value of a shift of x."""
        from scipy.special import ndtr

        beyond = abs(self._total - x * self._whole)
        variance = self._rest.squares(x)
        sums = self._gained - x * self._shares
        if variance <= 1e-24 * beyond * beyond:
            slack = SLACK * float(np.abs(sums).max())
            return 2 * float((sums >= beyond - slack).mean())
        spread = math.sqrt(variance)
        z = (beyond - sums) / spread
        excess = -2 * self._rest.fourths(x) / variance**2
        density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        tails = ndtr(-z) + excess / 24 * density * z * (z * z - 3)
        return min(1.0, max(2 * (1 + NORMAL_ERROR) * float(tails.mean()), 0.0))


class PowerSums:
    """The sums of the squares and fourth powers of d - x s, as polynomials in x.

    Examples
    --------
    >>> found = PowerSums(np.array([3.0, 1.0]), np.array([1.0, 1.0]))
    >>> found.squares(1.0), found.fourths(1.0)
    (4.0, 16.0)
    """

    def __init__(self, d: FloatArray, s: FloatArray) -> None:
        d2 = d * d
        ds = d * s
        s2 = s * s
        self._d2 = float(d @ d)
        self._ds = float(d @ s)
        self._s2 = float(s @ s)
        self._d4 = float(d2 @ d2)
        self._d3s = float(d2 @ ds)
        self._d2s2 = float(ds @ ds)
        self._ds3 = float(ds @ s2)
        self._s4 = float(s2 @ s2)

    def squares(self, x: float) -> float:
        """The sum of the squares at x."""
        return max(self._d2 - 2 * x * self._ds + x * x * self._s2, 0.0)

    def fourths(self, x: float) -> float:
        """The sum of the fourth powers at x."""
        found = self._d4 - 4 * x * self._d3s + 6 * x**2 * self._d2s2
        found = found - 4 * x**3 * self._ds3 + x**4 * self._s4
        return max(found, 0.0)
