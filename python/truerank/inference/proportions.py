"""Bounds of proportions (hits@k) and of medians, without resampling."""

from __future__ import annotations

import math

from .distributions import beta_cdf, beta_quantile


def clopper_pearson(successes: int, trials: int, level: float) -> tuple[float, float]:
    """The exact bounds of a proportion; one-sided where it is 0 or 1.

    Parameters
    ----------
    successes, trials : int
    level : float

    Notes
    -----
    C. J. Clopper, E. S. Pearson: The Use of Confidence or Fiducial Limits Illustrated in the Case
    of the Binomial. Biometrika 26 (1934). Coverage is never below the level, and above it by up to
    half of what is left for few successes. For none in n trials the upper bound is about
    -log(1 - level) / n, the rule of three.

    Examples
    --------
    >>> [round(bound, 4) for bound in clopper_pearson(3, 30, 0.95)]
    [0.0211, 0.2653]
    >>> [round(bound, 4) for bound in clopper_pearson(0, 30, 0.95)]
    [0.0, 0.095]
    """
    outside = tail_of(level, 0 < successes < trials)
    low, high = 0.0, 1.0
    if successes:
        low = beta_quantile(outside, successes, trials - successes + 1)
    if successes < trials:
        high = beta_quantile(1 - outside, successes + 1, trials - successes)
    return low, high


def wilson(proportion: float, trials: float, quantile: float) -> tuple[float, float]:
    """The score bounds of a proportion, from 0 to 1.

    They are the proportions p with |proportion - p| <= quantile * sqrt(p (1 - p) / trials).

    Parameters
    ----------
    proportion : float
    trials : float
        For clusters or weights the effective number: proportion * (1 - proportion) / variance.
    quantile : float
        Of the normal distribution; for clusters that of t (Korn and Graubard).

    Notes
    -----
    E. B. Wilson: Probable Inference, the Law of Succession, and Statistical Inference. Journal of
    the American Statistical Association 22 (1927). E. L. Korn, B. I. Graubard: Confidence Intervals
    for Proportions with Small Expected Number of Positive Counts Estimated from Survey Data. Survey
    Methodology 24 (1998).

    Examples
    --------
    >>> [round(bound, 4) for bound in wilson(0.5, 20, 1.959964)]
    [0.2993, 0.7007]
    """
    square = quantile * quantile / trials
    centre = (proportion + square / 2) / (1 + square)
    spread = proportion * (1 - proportion) * square + square * square / 4
    reach = math.sqrt(spread) / (1 + square)
    return max(0.0, centre - reach), min(1.0, centre + reach)


def order_of_bounds(trials: int, level: float) -> int:
    """The number l for which the l-th smallest and the l-th largest number bound the median.

    It is the largest l for which fewer than l of so many numbers lie below the median with a
    probability of at most (1 - level) / 2; 0 where there is none, and the bounds are the ends of
    the range.

    Examples
    --------
    >>> order_of_bounds(20, 0.95), order_of_bounds(5, 0.95)
    (6, 0)
    """
    low, high = 0, (trials + 1) // 2 + 1
    while high - low > 1:
        middle = (low + high) // 2
        # the probability that at most middle - 1 of the numbers lie below their median
        outside = beta_cdf(0.5, trials - middle + 1, middle)
        low, high = (middle, high) if outside <= (1 - level) / 2 else (low, middle)
    return low


def tail_of(level: float, two_sided: bool) -> float:
    """The share that a bound leaves out: all of 1 - level if it is the only one, else half.

    Examples
    --------
    >>> tail_of(0.75, True), tail_of(0.75, False)
    (0.125, 0.25)
    """
    return (1 - level) / 2 if two_sided else 1 - level
