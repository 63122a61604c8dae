"""The test that flips the signs of paired differences, in closed form, and its inversion."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from .influences import ROUNDING, without_rounding

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray

EXACT = 12  # so many of the largest differences take all signs; the others are nearly normal
DOUBLINGS = 100
HALVINGS = 40  # of the distance between two shifts, one of which is rejected


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
    any signs with equal probability. The p-value is the probability of a sum as large as theirs:
    all signs of the 12 largest are tried, and the sum of the rest is taken for normal. With at most
    12 differences it is exact.

    Parameters
    ----------
    gained, shares : ndarray of float64, shape (units,)
        What each unit adds to the difference, and to a shift of 1.
    null : float
        The shift of models that do not differ: 0, or 1 for a ratio.
    is_share : bool
        Whether the metric is a share, whose differences are few equal steps: outcomes as large as
        the measured one count half (the mid-p value).

    Examples
    --------
    >>> found = SignFlips(np.array([0.25, 0.25, 0.0, 0.25]), np.full(4, 0.25))
    >>> found.estimate, found.p_value(0.0)
    (0.75, 0.25)
    """

    def __init__(
        self, gained: FloatArray, shares: FloatArray, null: float = 0.0, is_share: bool = False
    ) -> None:
        apart = without_rounding(gained - null * shares, np.abs(gained) + np.abs(shares * null))
        self.null, self.is_share = null, is_share
        self.differs = bool(apart.any())
        self._total, self._whole = float(apart.sum()), float(shares.sum())
        # where the second model varies in nothing, there is no ratio, but a p-value
        self.estimate = null + self._total / self._whole if self._whole else math.nan
        step = float(np.abs(apart[apart != 0]).min(initial=math.inf))
        self._smooth = (step / 2) ** 2 if is_share and self.differs else 0.0
        first = min(EXACT, len(apart))
        order = np.argpartition(-np.abs(apart), first - 1) if first else np.arange(0)
        self._large = apart[order[:first]], shares[order[:first]]
        rest, others = apart[order[first:]], shares[order[first:]]
        self._squares = float(rest @ rest), float(rest @ others), float(others @ others)
        signs = np.array([*itertools.product((1.0, -1.0), repeat=max(first - 1, 0))])
        self._signs = np.hstack([np.ones((len(signs), min(first, 1))), signs])  # the rest mirrors

    def p_value(self, shift: float) -> float:
        """The two-sided p-value of a shift."""
        from scipy.special import ndtr

        x = shift - self.null
        apart = abs(self._total - x * self._whole)
        gained, shares = self._large
        sums = np.abs(self._signs @ (gained - x * shares))
        slack = 1e-10 * float(sums.max(initial=0.0))
        if apart <= slack:
            return 1.0
        own, mixed, common = self._squares
        variance = own - 2 * x * mixed + x * x * common
        if variance <= ROUNDING * ROUNDING * apart * apart:
            ties = (np.abs(sums - apart) <= slack).mean()
            return float((sums >= apart - slack).mean() - ties * (0.5 if self.is_share else 0))
        spread = math.sqrt(variance + self._smooth)
        tails = ndtr((sums - apart) / spread) + ndtr((-sums - apart) / spread)
        return min(1.0, float(tails.mean()))

    def bounds(self, level: float, limits: tuple[float, float]) -> tuple[float, float]:
        """The shifts that are not rejected: `null` is between the bounds exactly if it is not.

        Parameters
        ----------
        level : float
        limits : (float, float)
            The least and the greatest shift that is possible.
        """
        low, high = (self._bound(error_rate(level), limit) for limit in limits)
        return low, high

    def _bound(self, alpha: float, limit: float) -> float:
        """The last shift towards a limit that is not rejected."""

        def excess(shift: float) -> float:
            return self.p_value(shift) - alpha

        inside, outside = self.estimate, math.nan
        sign = math.copysign(1.0, limit - inside)
        if (self.null - inside) * sign > 0:  # the null is on this side
            if excess(self.null) > 0:
                inside = self.null
            else:
                outside = self.null
        own = self._squares[0] + float(self._large[0] @ self._large[0])
        step = 2 * math.sqrt(own) / self._whole or ROUNDING
        for _ in range(DOUBLINGS):
            if not math.isnan(outside):
                break
            further = self.estimate + sign * step
            step *= 2
            if (limit - further) * sign <= 0:
                return limit
            if (further - inside) * sign <= 0:
                continue
            if excess(further) > 0:
                inside = further
            else:
                outside = further
        else:
            return limit
        for _ in range(HALVINGS):  # p has steps where it is exact, so nothing converges faster
            middle = (inside + outside) / 2
            if middle in (inside, outside):
                break
            inside, outside = (middle, outside) if excess(middle) > 0 else (inside, middle)
        return inside
