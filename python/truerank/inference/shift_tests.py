"""The test of two models over the same units, by every shift between them, and its interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..metrics import METRICS
from .comparisons import DIFFERENCE, RATIO
from .influences import LOGARITHM, slope
from .intervals import unseen_share
from .inversion import invert
from .sign_flips import PowerSums, SignFlips, error_rate
from .units import hangs_on_large_ranks

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray
    from ..metrics import Key
    from .influences import Influences

FLIPS = "sign flips"
T_BEYOND = "t beside sign flips"
UNBOUNDED = (
    "no bounds: each unit has the same {}, and an unseen one may be any number of ranks away"
)


def no_bounds() -> tuple[float, float]:
    """Return the bounds of a difference of which nothing is known."""
    return math.nan, math.nan


class Tested(NamedTuple):
    """What a test says of two models, on the scale of the effect; nan where it says nothing.

    To look for the bounds of an interval takes many times as long as the p-value, so that `bounds`
    is called by those who print them.
    """

    effect: str
    estimate: float = math.nan
    bounds: Callable[[], tuple[float, float]] = no_bounds
    p_value: float = math.nan
    method: str = FLIPS
    accuracy: float = math.nan
    notes: tuple[str, ...] = ()


class ShiftT:
    """A t test of every shift between two means, with degrees of freedom from the influences.

    Parameters
    ----------
    flips : SignFlips
        Whose differences have the same sums.
    moved, moves : ndarray of float64, shape (units,)
        The influences on the difference at the null, and on what a shift of 1 takes from it.
    """

    def __init__(self, flips: SignFlips, moved: FloatArray, moves: FloatArray) -> None:
        self._flips = flips
        self._sums = PowerSums(moved, moves)
        self._units = len(moved)

    def p_value(self, shift: float) -> float:
        """The two-sided p-value of a shift; 0 where nothing varies, and for a single unit."""
        from scipy.special import stdtr

        x = shift - self._flips.null
        squares = self._sums.squares(x)
        fourths = self._sums.fourths(x)
        if self._units < 2 or not squares > 0 or not fourths > 0:
            return 0.0
        carriers = squares * squares / fourths
        degrees = min(max(carriers - 1, 1.0), self._units - 1.0)  # as `degrees_of_freedom`
        error = math.sqrt(squares * self._units / (self._units - 1))
        return 2 * float(stdtr(degrees, -abs(self._flips.difference(x)) / error))


class ShiftTest:
    """The p-value of every shift between two models: of sign flips, and of t where that is larger.

    Parameters
    ----------
    flips : SignFlips
    t : ShiftT or None
        For metrics that hang on few far ranks: the interval is the union of both.
    level : float
    """

    def __init__(self, flips: SignFlips, t: ShiftT | None, level: float) -> None:
        self._flips = flips
        self._t = t
        self._level = level

    def of_null(self, effect: str, estimate: float) -> Tested:
        """The p-value of no difference; its accuracy is unknown where it is that of t."""
        flips = self._flips
        p = flips.p_value(flips.null)
        if self._t is not None:
            p_of_t = self._t.p_value(flips.null)
            if p_of_t > p:
                return Tested(effect, estimate, p_value=p_of_t, method=T_BEYOND)
        return Tested(effect, estimate, p_value=p, method=flips.method, accuracy=flips.accuracy)

    def p_value(self, shift: float) -> float:
        """The p-value of a shift, which need not be accurate far below 1 - level."""
        p = self._flips.p_value(shift, error_rate(self._level))
        if self._t is None:
            return p
        return max(p, self._t.p_value(shift))

    def has_no_bounds(self) -> bool:
        """Whether nothing varies; with so few units that no p-value refuses a shift it has some."""
        least = math.ldexp(1.0, 1 - self._flips.units)
        return self._flips.all_equal() and least <= error_rate(self._level)

    def bounds(self, limits: tuple[float, float]) -> tuple[float, float]:
        """The ends of the shifts that are not rejected."""
        flips = self._flips
        return invert(
            self.p_value,
            flips.estimate,
            flips.null,
            level=self._level,
            limits=limits,
            spread=flips.spread,
        )


def tested_difference(first: Influences, second: Influences, key: Key, level: float) -> Tested:
    """Test two models by the difference of a metric.

    Examples
    --------
    >>> from truerank.inference.influences import influences_of_sums
    >>> from truerank.metrics import parse
    >>> ones = np.ones(6)
    >>> first, second = (influences_of_sums(x * ones / 8, ones, ends=(0, 1)) for x in (5, 3))
    >>> found = tested_difference(first, second, parse("mrr"), 0.95)
    >>> found.estimate, found.p_value, found.method
    (0.25, 0.03125, 'exact sign flips')
    """
    flips = SignFlips(first.tops - second.tops, second.shares)
    t = None
    if hangs_on_large_ranks(key):
        # the shift is a fixed number, so that it adds nothing to the error
        moved = first.moved - second.moved
        t = ShiftT(flips, moved, np.zeros(len(moved)))
    test = ShiftTest(flips, t, level)
    estimate = first.value - second.value
    found = test.of_null(DIFFERENCE, estimate)
    has_no_bounds = test.has_no_bounds()
    if has_no_bounds and not _is_bounded(key):
        return found._replace(notes=(UNBOUNDED.format("difference"),))
    least, most = first.ends
    limits = (least - most, most - least)

    def bounds() -> tuple[float, float]:
        if has_no_bounds:
            low, high = _unvaried(flips, first, level, limits, found.p_value)
        else:
            low, high = test.bounds(limits)
        scale = slope(second.outward, second.inner)
        return min(low * scale, estimate), max(high * scale, estimate)

    return found._replace(bounds=bounds)


def tested_ratio(first: Influences, second: Influences, key: Key, level: float) -> Tested:
    """Test two models by the ratio of a metric: a shift of logarithms, or a factor of means.

    Examples
    --------
    >>> from truerank.inference.influences import influences_of_sums
    >>> from truerank.metrics import parse
    >>> first, second = (influences_of_sums(x * np.ones(6), np.ones(6)) for x in (4, 2))
    >>> found = tested_ratio(first, second, parse("hmr"), 0.95)
    >>> found.estimate, found.p_value
    (2.0, 0.03125)
    """
    is_shift = first.form == LOGARITHM
    least, most = first.ends
    if is_shift:
        flips = SignFlips(first.tops - second.tops, second.shares)
        limits = (least - most, most - least)
    else:
        flips = SignFlips(first.tops, second.tops, null=1.0)
        limits = (least / most, most / least) if least > 0 else (0.0, math.inf)
    t = None
    if hangs_on_large_ranks(key):
        # Fieller's: of the difference of one mean and the shift times the other
        t = ShiftT(flips, first.moved - second.moved, second.moved)
    test = ShiftTest(flips, t, level)
    estimate = first.value / second.value if second.value else math.nan
    found = test.of_null(RATIO, estimate)
    if not is_shift and not second.inner:
        return found
    if test.has_no_bounds():
        return found._replace(notes=(UNBOUNDED.format("ratio"),))

    def bounds() -> tuple[float, float]:
        ratios = [estimate]
        for shift in test.bounds(limits):
            if is_shift:
                inner = second.inner + shift
            else:
                inner = second.inner * shift
            ratios.append(second.at(inner) / second.value)
        return min(ratios), max(ratios)

    return found._replace(bounds=bounds)


def _is_bounded(key: Key) -> bool:
    """Whether a difference of a metric has a narrow range, unlike that of mean ranks."""
    metric = METRICS.get(key.metric)
    if metric is None:  # of retrieval: all have
        return True
    return key.adjustment == "index" or (metric.single is not None and metric.name != "mr")


def _unvaried(
    flips: SignFlips,
    first: Influences,
    level: float,
    limits: tuple[float, float],
    p: float,
) -> tuple[float, float]:
    """The bounds of a difference that is the same in all units: what unseen units may hold."""
    shift = flips.estimate
    unseen = unseen_share(first.shares, level)
    least, most = limits
    low = shift + unseen * (least - shift)
    high = shift + unseen * (most - shift)
    if p <= error_rate(level):  # what unseen units may hold does not bring the null back
        if shift > 0:
            low = max(low, math.nextafter(0.0, shift))
        else:
            high = min(high, math.nextafter(0.0, shift))
    return low, high
