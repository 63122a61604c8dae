"""Tests of the difference between two models over the same units, and the intervals that they give.

Each test is of any shift: it says how well the data agree with a difference of that size. The
p-value is that of the shift 0, and the interval holds the shifts whose p-value exceeds 1 - level.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..distributions import beta_cdf, normal_cdf
from ..samples.functionals import SumFunctional, of_swaps, studentised_difference
from ..samples.resampling import (
    MAX_LOST_SHARE,
    draw_resamples,
    draw_swaps,
    is_exhaustible,
    rounding_slack,
)

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray, IntArray
    from ..samples.functionals import Functional

SWAPS, STUDENTISED, PERCENTILES = "swaps", "studentised bootstrap", "percentile bootstrap"
EXACT_SIGNED_RANKS = 300  # up to so many differences that are not 0, all their signs are counted
EXACT_COINS = 1000  # tails of up to so many fair coins are added as integers


def error_rate(level: float) -> float:
    """1 - level, without the rounding that would tell it from a p-value of the same size.

    Examples
    --------
    >>> error_rate(0.9), 1 - 0.9
    (0.1, 0.09999999999999998)
    """
    return round(1 - level, 12)


class DifferenceTest(NamedTuple):
    """A two-sided test of every shift, from shifts at which draws enter and leave the count.

    A draw counts at the shifts from its low to its high end, between which lies the estimate. The
    p-value of a shift is ``sides * (always + draws that count) / (always + draws)``.

    Attributes
    ----------
    estimate : float
    lows, highs : ndarray of float64
        The ends of the draws, each in ascending order.
    sides : int
        1 where a draw counts on both sides of the estimate, 2 where it counts on one of them.
    always : int
        1 for the data themselves, unless they are among the draws.
    basis : str
        How the draws were made: "swaps", "studentised bootstrap" or "percentile bootstrap".
    """

    estimate: float
    lows: FloatArray
    highs: FloatArray
    sides: int
    always: int
    basis: str

    @property
    def floor(self) -> float:
        """The smallest p-value that drawn resamples can give; 0 where all ways were tried."""
        return self.sides / (1 + len(self.lows)) if self.always else 0.0

    def p_value(self, shift: float = 0.0) -> float:
        """The two-sided p-value of the difference `shift`."""
        if not len(self.lows):
            return math.nan
        slack = rounding_slack(shift) if shift else 0.0
        below = int(np.searchsorted(self.lows, shift + slack, side="right"))
        above = len(self.highs) - int(np.searchsorted(self.highs, shift - slack, side="left"))
        return self._share(min(below, above))

    def one_sided(self, shift: float, *, above: bool) -> float:
        """The p-value of a difference of at most `shift` (`above`), or of at least `shift`."""
        half = self.p_value(shift) / 2
        return half if (self.estimate > shift) == above else 1 - half

    def interval(self, level: float) -> tuple[float, float]:
        """The shifts whose p-value exceeds 1 - level, as their two ends; they may be infinite."""
        draws, alpha = len(self.lows), error_rate(level)
        if not draws:
            return math.nan, math.nan
        allowed = alpha * (self.always + draws) / self.sides - self.always
        needed = max(0, math.floor(allowed) - 1)
        while needed < draws and self._share(needed) <= alpha:  # no share exceeds an alpha of 1
            needed += 1
        if not needed:
            return -math.inf, math.inf
        return float(self.lows[needed - 1]), float(self.highs[draws - needed])

    def _share(self, counted: int) -> float:
        return min(1.0, self.sides * (self.always + counted) / (self.always + len(self.lows)))


def swap_test(
    gained: FloatArray, shares: FloatArray, resamples: int, seed: int, slack: float = 0.0
) -> DifferenceTest:
    """Test a difference that is a sum over units by swapping the models in random units.

    The swaps of the shift d reverse the signs of ``gained - d * shares``. With the sums A, a of
    `gained` and `shares` over the swapped units, and B, b over the others, the swapped difference
    is at least as far from d as the measured one where (A - d a)(B - d b) <= 0: between A / a and
    B / b. So one set of swaps serves all shifts, and the interval is that of the test.

    Parameters
    ----------
    gained : ndarray of float64, shape (units,)
        What each unit contributes to the difference, which is their sum.
    shares : ndarray of float64, shape (units,)
        What each unit contributes if the difference is 1; at least 0, their sum is 1.
    resamples, seed : int
        All 2**units swaps are tried where there are no more than `resamples`.
    slack : float
        Sums that differ by less are equal.

    Notes
    -----
    The test is exact where the models are exchangeable in each unit, whatever the sizes of the
    units. Where they are not, but the difference has the expectation d, it holds for many units.

    E. J. G. Pitman: Significance Tests Which May Be Applied to Samples from Any Populations.
    Journal of the Royal Statistical Society, Supplement 4 (1937).

    Examples
    --------
    >>> found = swap_test(np.array([0.5, 0.25, 0.75]) / 3, np.ones(3) / 3, 100, 0)
    >>> found.p_value(), found.p_value(0.5), found.interval(0.7)
    (0.25, 1.0, (0.25, 0.75))
    """
    total = float(gained.sum())
    columns = np.stack([gained, shares], axis=1)
    lows, highs = [], []
    least = len(shares) * float(np.finfo(np.float64).eps)
    for swaps in draw_swaps(len(gained), resamples, seed):
        swapped, share = (swaps.astype(np.float64) @ columns).T
        kept, rest = total - swapped, 1 - share
        for sums in (swapped, kept):
            sums[np.abs(sums) <= slack] = 0.0
        with np.errstate(all="ignore"):
            one, two = swapped / share, kept / rest
        same = (share <= least) | (rest <= least)  # no unit that counts is swapped, or all are
        lows.append(np.where(same, -math.inf, np.minimum(one, two)))
        highs.append(np.where(same, math.inf, np.maximum(one, two)))
    always = 0 if is_exhaustible(len(gained), resamples) else 1
    low, high = (np.sort(np.concatenate(x)) for x in (lows, highs))
    return DifferenceTest(total, low, high, 1, always, SWAPS)


def swap_p_value(both: Functional, resamples: int, seed: int, slack: float) -> float:
    """The share of swaps after which the models differ at least as much as they do.

    It serves any metric; for one that is a sum over units it is the p-value of `swap_test`.

    Parameters
    ----------
    both : Functional
        The metric of the units of the first model, followed by those of the second.
    resamples, seed : int
    slack : float
        Differences that differ by less are equal.
    """
    units = both.units // 2
    first, second = of_swaps(both, np.zeros((1, units), dtype=np.int8))
    apart = abs(float(first[0] - second[0])) - slack
    beyond = ways = 0
    for swaps in draw_swaps(units, resamples, seed):
        first, second = of_swaps(both, swaps)
        beyond += int(np.count_nonzero(~(np.abs(first - second) < apart)))
        ways += len(swaps)
    if is_exhaustible(units, resamples):  # the unswapped models are among these
        return beyond / ways
    return (1 + beyond) / (1 + ways)


def bootstrap_test(
    first: Functional, second: Functional, resamples: int, seed: int, slack: float = 0.0
) -> DifferenceTest:
    """Test a difference by resampling units, which both models share.

    Where both metrics are functions of sums over units, the distance of each resampled difference
    from the measured one is divided by its own standard error (the studentised bootstrap, also
    bootstrap-t, in its symmetric form); else the ends are the resampled differences themselves
    (percentiles).

    Parameters
    ----------
    first, second : Functional
        The metric of both models as a function of how often each unit occurs.
    resamples, seed : int
    slack : float
        Differences up to here are 0.

    Notes
    -----
    For exchangeable models the studentised test rejects 0 to 5 % at the level 5 % for 5 to 200 even
    units, and up to 10 % where few large units hold most tasks. Percentiles reject 20 % at 5 units.

    P. Hall: Theoretical Comparison of Bootstrap Confidence Intervals. Annals of Statistics 16
    (1988).
    """
    chunks = draw_resamples(first.units, resamples, seed)
    once = np.ones((1, first.units), dtype=np.int64)
    if isinstance(first, SumFunctional) and isinstance(second, SumFunctional):
        drawn = studentised_difference(first, second, itertools.chain([once], chunks))
        (estimate, error), (values, errors) = [float(x[0]) for x in drawn], [x[1:] for x in drawn]
        away = np.abs(values - estimate)
        with np.errstate(all="ignore"):
            roots = np.where(away <= slack, 0.0, away / errors)  # infinite where the error is 0
            reach = np.sort(roots[~np.isnan(roots)]) * error
        lost = 1 - len(reach) / len(roots)
        if lost > MAX_LOST_SHARE or math.isnan(error) or np.isnan(reach).any():
            reach = reach[:0]
        low, high = estimate - reach[::-1], estimate + reach
        return DifferenceTest(estimate, low, high, 1, 1, STUDENTISED)
    estimate = float((first.of_counts(once) - second.of_counts(once))[0])
    shifts = np.concatenate([first.of_counts(x) - second.of_counts(x) for x in chunks])
    shifts[np.abs(shifts) <= slack] = 0.0
    known = np.sort(shifts[~np.isnan(shifts)])
    if len(known) < (1 - MAX_LOST_SHARE) * len(shifts):
        known = known[:0]
    return DifferenceTest(estimate, known, known, 2, 1, PERCENTILES)


# -- tests of single differences -------------------------------------------------------------------


def signed_rank(differences: FloatArray, slack: float = 0.0) -> float:
    """The two-sided p-value of Wilcoxon's signed-rank test.

    Differences of 0 are left out, and equal differences share their mean rank. For up to 300
    differences the signs are counted exactly, ties included; beyond, the sum of ranks is taken as
    normal, without a correction for continuity, with the variance
    n (n + 1) (2 n + 1) / 24 - sum (t^3 - t) / 48 over groups of t equal ones. The p-value is 1
    where all differences are 0.

    Parameters
    ----------
    differences : ndarray of float64, shape (n,)
    slack : float
        How much equal differences may differ by rounding.

    Notes
    -----
    F. Wilcoxon: Individual Comparisons by Ranking Methods. Biometrics Bulletin 1 (1945).

    Examples
    --------
    >>> signed_rank(np.array([1.0, 2.0, 3.0, -4.0, 5.0]))
    0.4375
    """
    nonzero = differences[np.abs(differences) > slack]
    n = len(nonzero)
    if not n:
        return 1.0
    nonzero = nonzero[np.argsort(np.abs(nonzero), kind="stable")]
    starts = np.flatnonzero(np.diff(np.abs(nonzero), prepend=-math.inf) > slack)
    sizes = np.diff(starts, append=n)
    doubled = np.repeat(2 * starts + sizes + 1, sizes)  # twice the mean ranks are integers
    away = abs(2 * int(doubled[nonzero > 0].sum()) - n * (n + 1))  # four times that from the mean
    if n <= EXACT_SIGNED_RANKS:
        return _exact_signed_rank(doubled, away)
    t = sizes.astype(np.float64)
    variance = n * (n + 1) * (2 * n + 1) / 24 - float((t**3 - t).sum()) / 48
    return min(1.0, 2 * normal_cdf(-away / 4 / math.sqrt(variance)))


def _exact_signed_rank(doubled: IntArray, away: int) -> float:
    """The share of signs whose sum of ranks is at least as far from its mean."""
    shares = np.zeros(int(doubled.sum()) + 1)
    shares[0] = 1.0
    reached = 0
    for size in doubled.tolist():
        reached += size
        shares[: reached + 1] /= 2
        # the right side is copied before it is added
        shares[size : reached + 1] += shares[: reached + 1 - size].copy()
    total = len(shares) - 1
    (beyond,) = np.nonzero(np.abs(2 * np.arange(total + 1) - total) >= away)
    return min(1.0, float(shares[beyond].sum()))


def mcnemar(wins: int, losses: int) -> float:
    """The two-sided p-value of McNemar's exact test: a fair coin gave the wins and the losses.

    It is twice the smaller tail of the binomial distribution with probability 1/2 (the exact test,
    without mid-p), and 1 where there are neither wins nor losses.

    Parameters
    ----------
    wins, losses : int
        The numbers of tasks in which the models disagree.

    Notes
    -----
    Q. McNemar: Note on the Sampling Error of the Difference between Correlated Proportions or
    Percentages. Psychometrika 12 (1947).

    Examples
    --------
    >>> mcnemar(1, 7)
    0.0703125
    """
    n, fewer = wins + losses, min(wins, losses)
    if wins == losses:
        return 1.0
    if n <= EXACT_COINS:
        tail = sum(math.comb(n, heads) for heads in range(fewer + 1))
        return float(tail / 2 ** (n - 1))
    return min(1.0, 2 * beta_cdf(0.5, n - fewer, fewer + 1))
