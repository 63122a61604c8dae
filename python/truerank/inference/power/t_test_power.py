"""The power of a two-sided t test of units: from a shift to the power, and back.

The shift is the true difference in standard errors of its estimate. Its estimate divided by an
estimated standard error has a noncentral t distribution.
"""

from __future__ import annotations

import math

from ..distributions import noncentral_t_cdf, t_quantile

MANY_UNITS = 1_000_000  # from here on t quantiles are normal ones to six digits
STEPS = 200  # of a bisection, which ends far earlier


def power_at(shift: float, units: int, alpha: float) -> float:
    """The probability that the test rejects at level alpha.

    Parameters
    ----------
    shift : float
        The true difference divided by the standard error of its estimate.
    units : int
        At least 2; there are units - 1 degrees of freedom.
    alpha : float
        Between 0 and 1.

    Examples
    --------
    >>> round(power_at(0.0, 10, 0.05), 12), round(power_at(3.0, 10, 0.05), 3)
    (0.05, 0.761)
    """
    degrees = _degrees(units)
    critical = t_quantile(1 - alpha / 2, degrees)
    above = noncentral_t_cdf(-critical, degrees, -shift)
    return min(1.0, above + noncentral_t_cdf(-critical, degrees, shift))


def shift_for(power: float, units: int, alpha: float) -> float:
    """The shift at which the test rejects with the given probability, above alpha.

    Examples
    --------
    >>> round(shift_for(0.8, 10, 0.05), 4), round(shift_for(0.8, 10**7, 0.05), 4)
    (3.1496, 2.8016)
    """
    low, high = 0.0, 1.0
    while power_at(high, units, alpha) < power:
        low, high = high, 2 * high
    for _ in range(STEPS):
        middle = (low + high) / 2
        if not low < middle < high or high - low < 1e-13 * high:
            break
        if power_at(middle, units, alpha) < power:
            low = middle
        else:
            high = middle
    return high


def units_for(standardised: float, power: float, alpha: float) -> int:
    """The smallest number of units, at least 2, with which the test has the given power.

    Parameters
    ----------
    standardised : float
        The true difference in standard deviations of one unit, above 0.
    power, alpha : float

    Examples
    --------
    >>> units_for(0.5, 0.8, 0.05), units_for(0.01, 0.8, 0.05)
    (34, 78491)
    """
    shift = shift_for(power, MANY_UNITS + 2, alpha)
    about = (shift / standardised) ** 2  # t quantiles need more
    if about > MANY_UNITS:
        return math.ceil(about)
    low, high = 1, max(2, math.ceil(about))  # power is too low with `low` units
    while power_at(standardised * math.sqrt(high), high, alpha) < power:
        low, high = high, high + max(2, high // 8)
    while high - low > 1:
        middle = (low + high) // 2
        if power_at(standardised * math.sqrt(middle), middle, alpha) < power:
            low = middle
        else:
            high = middle
    return high


def _degrees(units: int) -> float:
    return math.inf if units > MANY_UNITS else float(units - 1)
