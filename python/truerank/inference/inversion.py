"""The shifts that a test does not reject: the interval that belongs to a p-value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from .sign_flips import error_rate

TOLERANCE = 1e-7  # of the distance from the estimate
DOUBLINGS = 60
EVALUATIONS = 100


def invert(
    p_value: Callable[[float], float],
    estimate: float,
    null: float,
    *,
    level: float,
    limits: tuple[float, float],
    spread: float,
) -> tuple[float, float]:
    """Return the ends of the shifts that are not rejected; p at the estimate is taken for 1.

    The null lies between the ends exactly if its p-value exceeds 1 - level.

    Parameters
    ----------
    p_value : callable
        The two-sided p-value of a shift. It may have steps.
    estimate, null : float
    level : float
    limits : (float, float)
        The least and the greatest shift that is possible; the ends are within them.
    spread : float
        A standard error, with which the search begins.

    Examples
    --------
    >>> from math import erfc, sqrt
    >>> p = lambda shift: erfc(abs(shift - 1) / sqrt(2))
    >>> low, high = invert(p, 1.0, 0.0, level=0.95, limits=(-9.0, 9.0), spread=1.0)
    >>> round(low, 4), round(high, 4)
    (-0.96, 2.96)
    """
    alpha = error_rate(level)
    p_null = p_value(null)
    first_step = 2 * spread or abs(estimate) or 1.0
    ends = []
    for limit in limits:
        sign = math.copysign(1.0, limit - estimate)
        known = None
        if (null - estimate) * sign > 0:  # the null is on this side
            known = Shift(null, p_null)
        ends.append(_end(p_value, estimate, known, alpha, limit, first_step))
    low, high = ends
    return low, high


class Shift(NamedTuple):
    """A shift between two models, and its p-value."""

    x: float
    p: float


def _end(
    p_value: Callable[[float], float],
    estimate: float,
    null: Shift | None,
    alpha: float,
    limit: float,
    step: float,
) -> float:
    """The last shift towards a limit that is not rejected; the null, if it is on this side."""
    ends_before_null = null is not None and null.p <= alpha
    may_reach_limit = math.isfinite(limit) and not ends_before_null
    if may_reach_limit and (limit == estimate or p_value(limit) > alpha):
        return limit
    kept = Shift(estimate, 1.0)
    rejected: Shift | None = None
    most = limit
    if null is not None:
        if ends_before_null:
            rejected = null
            most = min(limit, null.x, key=lambda x: abs(x - estimate))  # the nearer one
        else:
            kept = null
    kept, tried = _step_outwards(p_value, estimate, kept, alpha, most, step)
    if tried is not None:
        rejected = tried
    if rejected is None:
        if not math.isfinite(limit):
            return limit
        rejected = Shift(limit, p_value(limit))
    end = _crossing(p_value, alpha, estimate, kept, rejected)
    if null is None or rejected.x == null.x:
        return end
    # p may have a step at the null, which is then the end itself
    is_at_null = abs(end - null.x) <= 2 * TOLERANCE * abs(end - estimate)
    if is_at_null and null.p > alpha:
        return null.x
    return end


def _step_outwards(
    p_value: Callable[[float], float],
    estimate: float,
    kept: Shift,
    alpha: float,
    most: float,
    step: float,
) -> tuple[Shift, Shift | None]:
    """Go further and further out, with steps twice as large, until a shift is rejected.

    Return the last shift that is kept, and the one that is rejected; None where `most`, beyond
    which nothing is tried, or the number of steps ends the search.
    """
    sign = math.copysign(1.0, most - estimate)
    for _ in range(DOUBLINGS):
        further = estimate + sign * step
        step *= 2
        if (most - further) * sign <= 0:
            break
        if (further - kept.x) * sign <= 0:  # not beyond the null, which is kept
            continue
        tried = Shift(further, p_value(further))
        if tried.p > alpha:
            kept = tried
        else:
            return kept, tried
    return kept, None


def _crossing(
    p_value: Callable[[float], float],
    alpha: float,
    estimate: float,
    kept: Shift,
    rejected: Shift,
) -> float:
    """Narrow the gap between a shift that is kept and one that is rejected; return the first.

    Steps of interpolation, on the scale on which the tail of a normal law is a line, alternate with
    halves, so that no step of p can make it slower than twice bisection.
    """
    height = _height(alpha)
    for i in range(EVALUATIONS):
        gap = rejected.x - kept.x
        nearest = TOLERANCE * max(abs(rejected.x - estimate), 1e-300)
        if abs(gap) <= nearest:
            break
        middle = kept.x + gap / 2
        height_kept = _height(kept.p)
        height_rejected = _height(rejected.p)
        if i % 3 < 2 and height_rejected > height_kept:
            share = (height - height_kept) / (height_rejected - height_kept)
            # a little beyond the guess, then a little before it, so that both ends close in
            margin = max(0.01 * min(share, 1 - share), nearest / abs(gap))
            if i % 3 == 0:
                share += margin
            else:
                share -= margin
            middle = kept.x + gap * min(max(share, 0.001), 0.999)
        if middle in (kept.x, rejected.x):
            break
        tried = Shift(middle, p_value(middle))
        if tried.p > alpha:
            kept = tried
        else:
            rejected = tried
    return kept.x


def _height(p: float) -> float:
    """A number that grows about linearly with the distance of a shift from the estimate."""
    return math.sqrt(-2 * math.log(min(max(p, 1e-300), 1.0)))
