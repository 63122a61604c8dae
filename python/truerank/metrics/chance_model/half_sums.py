"""The tail of a sum from its outcomes: those of one half of the tasks meet those of the other.

While the outcomes are few they are all kept, and the result is exact. Where they become too many,
neighbours are put together: in bins that are narrow where the probability is, so that clusters of
outcomes keep their shape at every scale.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .rank_sums import SLACK, Law

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray
    from .nodes import AnyArray
    from .rank_sums import RankSum, Tilt

LISTED = 1 << 20  # the most outcomes of one half of the tasks
MOST_TASKS = 64  # whose outcomes are listed
_PAIRS = 1 << 21  # of outcomes that are added at a time
_LARGE = math.isqrt(_PAIRS)
_EQUAL = 1e-14  # of the greatest value: what is closer is equal but for rounding
_NEGLIGIBLE = 1e-25  # a probability, under the tilt


def listed_tail(total: RankSum, tilt: Tilt) -> float | None:
    """Log of P(X >= x), or of P(X < x) where t < 0, from all outcomes; None if they are too many.

    Parameters
    ----------
    total : RankSum
        With whole sizes and numbers.
    tilt : Tilt
        Probabilities are kept under the weight exp(t X), so that those that matter are not tiny.
    """
    if total.numbers.sum() > MOST_TASKS:
        return None
    if not total.two_valued:
        # of three tasks with many outcomes, those of two cannot be added
        large = 0
        for i, number in enumerate(total.numbers.tolist()):
            first, last = total.ranks_that_differ(i)
            if last - first >= _LARGE:
                large += int(number)
            if large > 2:
                return None
    laws = []
    for i in range(len(total.sizes)):
        law = total.outcomes(i, LISTED)
        if law is None:
            return None
        laws.append(law)
    halves = _halves(total, laws, tilt.t, most=LISTED, binned=False)
    if halves is None:
        return None
    return _tail_of_halves(halves, total.x, tilt.t)


def binned_tail(total: RankSum, tilt: Tilt, bins: int) -> float:
    """Log of P(X >= x), or of P(X < x) where t < 0, from laws of so many bins each, up to 1,400."""
    laws = [total.nodes(i, bins) for i in range(len(total.sizes))]
    halves = _halves(total, laws, tilt.t, most=bins, binned=True)
    if halves is None:
        return -math.inf
    return _tail_of_halves(halves, total.x, tilt.t)


def number_of_sums(numbers: FloatArray) -> int:
    """How many times two laws are added: by doubling within a class, one by one between them."""
    doublings = [2 * max(int(number) // 2, 1).bit_length() for number in numbers.tolist()]
    return sum(doublings) + 2 * len(numbers)


class _Halves(NamedTuple):
    """The laws of two halves of the tasks under a tilt, and the logarithm that undoes it."""

    one: Law
    two: Law
    log: float


def _halves(
    total: RankSum, laws: list[Law], t: float, *, most: int, binned: bool
) -> _Halves | None:
    """Divide the tasks of each class by two; None if a law has too many outcomes."""
    first: list[Law] = []
    second: list[Law] = []
    with_more = first
    with_fewer = second
    log = 0.0
    for law, count in zip(laws, total.numbers.tolist(), strict=True):
        shares, log_of_law = law.tilted(t)
        log += count * log_of_law
        ascending = np.argsort(law.values)
        start = _condensed(Law(law.values[ascending], shares[ascending]), most, binned)
        if start is None:
            return None
        smaller = int(count) // 2
        larger = int(count) - smaller
        for laws_of_half, number in ((with_more, larger), (with_fewer, smaller)):
            power = _power(start, number, most, binned)
            if power is None:
                return None
            if number:
                laws_of_half.append(power)
        if larger != smaller:  # the other half gets the next task that is left over
            with_more, with_fewer = with_fewer, with_more
    one = _sum_of_all(first, most, binned)
    if one is None:
        return None
    two = _sum_of_all(second, most, binned)
    if two is None:
        return None
    return _Halves(one, two, log)


def _power(law: Law, number: int, most: int, binned: bool) -> Law | None:
    """The law of the sum over so many like tasks."""
    found = Law(np.zeros(1), np.ones(1))
    doubled: Law | None = law
    while number and doubled is not None:
        if number % 2:
            summed = _sum(found, doubled, most, binned)
            if summed is None:
                return None
            found = summed
        number //= 2
        if number:
            doubled = _sum(doubled, doubled, most, binned)
    if doubled is None:
        return None
    return found


def _sum_of_all(laws: list[Law], most: int, binned: bool) -> Law | None:
    """The law of the sum, the smallest laws first."""
    waiting = [Law(np.zeros(1), np.ones(1))]
    waiting += laws
    while len(waiting) > 1:
        waiting.sort(key=lambda law: -len(law.values))
        summed = _sum(waiting.pop(), waiting.pop(), most, binned)
        if summed is None:
            return None
        waiting.append(summed)
    return waiting[0]


def _sum(one: Law, two: Law, most: int, binned: bool) -> Law | None:
    """The law of the sum of two; None if it has too many outcomes and may not be binned."""
    if len(one.values) * len(two.values) > _PAIRS:
        return None
    values = np.add.outer(one.values, two.values).ravel()
    shares = np.multiply.outer(one.shares, two.shares).ravel()
    if binned:
        kept = shares > _NEGLIGIBLE
        values = values[kept]
        shares = shares[kept]
    order = np.argsort(values)
    return _condensed(Law(values[order], shares[order]), most, binned)


def _condensed(law: Law, most: int, binned: bool) -> Law | None:
    """Put equal values together, and neighbours where there are too many; ascending."""
    greatest = max(abs(float(law.values[0])), abs(float(law.values[-1])))
    law = _gathered(law, np.diff(law.values) > _EQUAL * greatest)
    if len(law.values) <= most:
        return law
    if not binned:
        return None
    # Half of the bins have equal shares, the others equal widths; a large share has its own bin.
    values = law.values
    reached = np.cumsum(law.shares)
    by_share = (reached - law.shares / 2) / reached[-1]
    by_width = (values - values[0]) / (values[-1] - values[0])
    bins = np.floor((by_share + by_width) * (most / 2))
    large = law.shares > reached[-1] / (2 * most)
    return _gathered(law, (np.diff(bins) > 0) | large[1:] | large[:-1])


def _gathered(law: Law, is_new: AnyArray) -> Law:
    """Put values together that are not new, at their mean."""
    starts = np.flatnonzero(np.append(True, is_new))
    if len(starts) == len(law.values):
        return law
    counts = np.diff(np.append(starts, len(law.values)))
    first = law.values[starts]
    above_first = law.values - np.repeat(first, counts)
    shares = np.add.reduceat(law.shares, starts)
    moved = np.add.reduceat(law.shares * above_first, starts)
    return Law(first + moved / np.maximum(shares, 1e-300), shares)


def _tail_of_halves(halves: _Halves, x: float, t: float) -> float:
    """Log of P(the sum of both is at least x), or less where t < 0."""
    one = halves.one
    two = halves.two
    # for each value of one the first of two with which the sum is at least x
    first = np.searchsorted(two.values, x - SLACK * abs(x) - one.values)
    with np.errstate(divide="ignore"):
        logs = np.log(two.shares) - t * two.values
        if t >= 0:
            reached = np.append(np.logaddexp.accumulate(logs[::-1])[::-1], -math.inf)
        else:
            reached = np.append(-math.inf, np.logaddexp.accumulate(logs))
        terms = np.log(one.shares) - t * one.values + reached[first]
    top = float(terms.max())
    if top == -math.inf:
        return -math.inf
    return halves.log + top + math.log(float(np.exp(terms - top).sum()))
