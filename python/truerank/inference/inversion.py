"""The shifts that a test does not reject: the interval that belongs to a p-value."""

from __future__ import annotations

import math
from collections.abc import Callable

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
    low, high = (_end(p_value, estimate, null, alpha, limit, spread) for limit in limits)
    return low, high


def _end(
    p_value: Callable[[float], float],
    estimate: float,
    null: float,
    alpha: float,
    limit: float,
    spread: float,
) -> float:
    """The last shift towards a limit that is not rejected."""
    sign = math.copysign(1.0, limit - estimate)
    is_beyond = (null - estimate) * sign > 0  # the null is on this side
    may_end = not is_beyond or p_value(null) > alpha  # else the interval ends before it
    if may_end and math.isfinite(limit) and (limit == estimate or p_value(limit) > alpha):
        return limit
    inside, p_inside = estimate, 1.0
    outside, p_outside = math.nan, math.nan
    if is_beyond:
        p_null = p_value(null)
        if p_null > alpha:
            inside, p_inside = null, p_null
        else:
            outside, p_outside = null, p_null
    step = 2 * spread or abs(estimate) or 1.0
    for _ in range(DOUBLINGS):
        further = estimate + sign * step
        step *= 2
        if (limit - further) * sign <= 0 or (outside - further) * sign <= 0:
            break
        p = p_value(further)
        if p > alpha and (further - inside) * sign > 0:
            inside, p_inside = further, p
        elif p <= alpha and (further - inside) * sign > 0:
            outside, p_outside = further, p
            break
    if math.isnan(outside):
        if not math.isfinite(limit):
            return limit
        outside, p_outside = limit, p_value(limit)
    end = _crossing(p_value, alpha, estimate, (inside, p_inside), (outside, p_outside))
    if outside != null and abs(end - null) <= 2 * TOLERANCE * abs(end - estimate):
        return null if p_value(null) > alpha else end
    return end


def _crossing(
    p_value: Callable[[float], float],
    alpha: float,
    estimate: float,
    kept: tuple[float, float],
    rejected: tuple[float, float],
) -> float:
    """Narrow the gap between a shift that is kept and one that is rejected; return the first.

    Steps of interpolation, on the scale on which the tail of a normal law is a line, alternate with
    halves, so that no step of p can make it slower than twice bisection.
    """
    (inside, p_inside), (outside, p_outside) = kept, rejected
    target = _height(alpha)
    for i in range(EVALUATIONS):
        gap = outside - inside
        nearest = TOLERANCE * max(abs(outside - estimate), 1e-300)
        if abs(gap) <= nearest:
            break
        middle = inside + gap / 2
        if i % 3 < 2:
            ends = _height(p_inside), _height(p_outside)
            if ends[1] > ends[0]:
                share = (target - ends[0]) / (ends[1] - ends[0])
                # a little beyond the guess, so that both ends close in
                share += (1 - 2 * (i % 3)) * max(0.01 * min(share, 1 - share), nearest / abs(gap))
                middle = inside + gap * min(max(share, 0.001), 0.999)
        if middle in (inside, outside):
            break
        p = p_value(middle)
        if p > alpha:
            inside, p_inside = middle, p
        else:
            outside, p_outside = middle, p
    return inside


def _height(p: float) -> float:
    """A number that grows about linearly with the distance of a shift from the estimate."""
    return math.sqrt(-2 * math.log(min(max(p, 1e-300), 1.0)))
