"""The law under chance of a sum over tasks of w f(r): what its tail can be computed from.

Each task adds w f(r), with a rank r that is uniform on 1..N. `RankSum` asks for the probability
that the sum X is at least x, and gives the laws of the tasks in two forms: every outcome by itself,
or nodes that stand for runs of ranks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .nodes import rank_nodes, rank_runs

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray

SLACK = 1e-12  # of the observed value, relatively, for the rounding of sums
_MARGIN = 0.25  # how far beyond what matters outcomes are moved, of the distance
_ROWS = 250  # classes of tasks at a time
_KEPT = 1 << 14  # so many classes keep their nodes, in about 80 MB
_STEEP = 4.0  # a power of the rank as steep as that for which nodes of cumulants serve
_CORRECTIONS = 4  # of a tilt that fewer classes gave
_STEEPEST = 1e40  # a tilt at most, by that which moves the mean by about a deviation
_BEYOND = 1e-7  # about the probability beyond a window, under the tilt


class Law(NamedTuple):
    """Values of one task and their shares, which add up to 1."""

    values: FloatArray
    shares: FloatArray

    def tilted(self, t: float) -> tuple[FloatArray, float]:
        """The shares under the weight exp(t v), and the logarithm of E exp(t v)."""
        shares, log = _tilted_shares(self.values, _logs_of_shares(self.shares), t)
        return shares, float(log[0])


class Tilt(NamedTuple):
    """A weight exp(t X) under which X is near x, and how far X is from x then.

    Attributes
    ----------
    t : float
    below, above : float
        Under the weight X is hardly ever less than x - `below`, or more than x + `above`.
    """

    t: float
    below: float
    above: float


class TiltedLaws(NamedTuple):
    """Laws of some classes of tasks under the weight exp(t v), of coarse nodes.

    Attributes
    ----------
    numbers, logs, means : ndarray of float64, shape (d,)
        The numbers of tasks, log E exp(t v), and the means under the weight.
    centred, shares : ndarray of float64, shape (d, m)
        The values less the mean, and their shares.
    """

    numbers: FloatArray
    logs: FloatArray
    means: FloatArray
    centred: FloatArray
    shares: FloatArray


class RankSum:
    """The question whether X, the sum over tasks of w f(r), is at least x.

    Parameters
    ----------
    classes : ndarray of float64, shape (3, d)
        N, w and how many tasks have them. N and numbers may be fractions where a class of tasks
        stands for others.
    f : callable
        From ranks to values, monotone; the same for all tasks.
    cutoff : float or None
        If given, f has one value for ranks up to it, and one for others.
    x : float

    Attributes
    ----------
    sizes, weights, numbers : ndarray of float64, shape (d,)
        The rows of `classes`.
    low, high : ndarray of float64, shape (d,)
        The least and the greatest value of a task.
    least, greatest : float
        The least and the greatest value of the sum.
    lowest, highest : ndarray of float64, shape (d,)
        The range to which the values of a task are cut.

    Notes
    -----
    An outcome that suffices for X >= x whatever the others are may be moved up or down as long as
    it suffices, and one that is too little whatever the others are likewise: neither changes the
    probability. So values are cut to the range where they matter, with a margin.
    """

    def __init__(
        self,
        classes: FloatArray,
        f: Callable[[FloatArray], FloatArray],
        cutoff: float | None,
        x: float,
    ) -> None:
        sizes, weights, numbers = classes
        self.classes = classes
        self.sizes = sizes
        self.weights = weights
        self.numbers = numbers
        self.x = x
        self._f = f
        self._cutoff = cutoff
        # of hits at a cutoff, how many ranks are hits
        self._hits = None if cutoff is None else np.minimum(cutoff, sizes)
        # what was computed already
        self._cumulants: dict[float, FloatArray] = {}
        self._nodes: dict[int, tuple[FloatArray, FloatArray]] = {}
        self._ranks_that_differ: dict[int, tuple[int, int]] = {}
        ends = weights * np.stack([f(np.ones(len(sizes))), f(sizes)])
        self.low = ends.min(axis=0)
        self.high = ends.max(axis=0)
        self.least = float(numbers @ self.low)
        self.greatest = float(numbers @ self.high)
        self.lowest = self.high - (1 + _MARGIN) * (self.greatest - x)
        self.highest = self.low + (1 + _MARGIN) * (x - self.least)

    @property
    def two_valued(self) -> bool:
        """Whether a task has two values, however many candidates it has."""
        return self._cutoff is not None

    def with_classes(self, classes: FloatArray) -> RankSum:
        """The same question of other classes of tasks."""
        return RankSum(classes, self._f, self._cutoff, self.x)

    def cumulants(self, t: float) -> FloatArray:
        """Logarithm of E exp(t v), mean and variance of a task of each class, shape (3, d).

        The means and variances are those under the weight exp(t v).
        """
        if t not in self._cumulants:
            found = []
            for part in self.tilted_parts(t):
                variances = (part.shares * part.centred**2).sum(axis=1)
                found.append(np.stack([part.logs, part.means, variances]))
            self._cumulants[t] = np.hstack(found)
        return self._cumulants[t]

    def tilted_parts(self, t: float) -> Iterator[TiltedLaws]:
        """The laws of all classes under the weight exp(t v), some classes at a time."""
        for first in range(0, len(self.sizes), _ROWS):
            part = slice(first, first + _ROWS)
            unweighted, logs_of_shares = self._coarse_nodes(first)
            values = self.weights[part, None] * unweighted
            values = values.clip(self.lowest[part, None], self.highest[part, None])
            shares, logs = _tilted_shares(values, logs_of_shares, t)
            means = (shares * values).sum(axis=1, keepdims=True)
            yield TiltedLaws(self.numbers[part], logs[:, 0], means[:, 0], values - means, shares)

    def _coarse_nodes(self, first: int) -> tuple[FloatArray, FloatArray]:
        """f at coarse nodes of the classes of a part, and the logarithms of the nodes' shares.

        Of the part that begins with class `first`; a single row where its N are all equal. They do
        not depend on the tilt, and take longer than what does.
        """
        if first in self._nodes:
            return self._nodes[first]
        sizes = self.sizes[first : first + _ROWS]
        if (sizes == sizes[0]).all():
            sizes = sizes[:1]
        if self._hits is None:
            ranks, shares = _nodes_from_both_ends(sizes)
        else:
            hits = self._hits[first : first + len(sizes)]
            ranks = np.stack([np.ones_like(sizes), sizes], axis=1)
            shares = np.stack([hits, sizes - hits], axis=1) / sizes[:, None]
        found = self._f(ranks), _logs_of_shares(shares)
        if len(self.sizes) <= _KEPT:
            self._nodes[first] = found
        return found

    def value(self, i: int, ranks: FloatArray) -> FloatArray:
        """What a task of class i adds at these ranks, cut to the range where it matters."""
        values: FloatArray = self.weights[i] * self._f(ranks)
        return values.clip(self.lowest[i], self.highest[i])

    def outcomes(self, i: int, most: int) -> Law | None:
        """All outcomes of a task of class i; None if there are more than so many.

        The ranks at either end that are cut to one value are one outcome.
        """
        if self._cutoff is not None:
            return self.nodes(i, 1)
        first, last = self.ranks_that_differ(i)
        if last - first >= most:
            return None
        counts = np.ones(last - first + 1)
        counts[0] = first
        counts[-1] += self.sizes[i] - last
        ranks = first + np.arange(float(len(counts)))
        return Law(self.value(i, ranks), counts / counts.sum())

    def ranks_that_differ(self, i: int) -> tuple[int, int]:
        """The last rank with the value of the first one, and the first with that of the last."""
        if i in self._ranks_that_differ:
            return self._ranks_that_differ[i]
        size = int(self.sizes[i])

        def value_at(rank: int) -> float:
            return float(self.value(i, np.array([float(rank)]))[0])

        value_of_first = value_at(1)
        value_of_last = value_at(size)
        if value_of_first == value_of_last:
            found = size, size
        else:
            last_like_first = _first_where(lambda rank: value_at(rank) != value_of_first, size) - 1
            first_like_last = _first_where(lambda rank: value_at(rank) == value_of_last, size)
            found = last_like_first, first_like_last
        self._ranks_that_differ[i] = found
        return found

    def nodes(self, i: int, fine: int) -> Law:
        """Nodes for means over the ranks of a task of class i; the finer, the more there are."""
        size = float(self.sizes[i])
        if self._hits is None:
            ranks, counts = rank_runs(size, fine)
        else:
            hits = float(self._hits[i])
            ranks = np.array([1.0, size])
            counts = np.array([hits, size - hits])
        return Law(self.value(i, ranks), counts / size)

    def log_of_best(self) -> float:
        """Log of P(X = greatest), where tasks of next to no weight need not do their best."""
        first_is_best = self._f(np.ones(1))[0] >= self._f(self.sizes[-1:])[0]
        if self._hits is None:
            best_ranks = self._count_best(bool(first_is_best))
        elif first_is_best:
            best_ranks = self._hits
        else:
            best_ranks = self.sizes - self._hits
        matters = self.high - self.low > 0.1 * SLACK * abs(self.x)
        shares = np.where(matters, best_ranks / self.sizes, 1.0)
        return float(self.numbers @ np.log(shares))

    def _count_best(self, first_is_best: bool) -> FloatArray:
        """How many ranks of each class have its best value: one, unless f is flat at that end."""
        ends = self.sizes
        neighbours = np.maximum(self.sizes - 1, 1.0)
        if first_is_best:
            ends = np.ones(len(self.sizes))
            neighbours = np.minimum(self.sizes, 2.0)
        counts = np.ones(len(self.sizes))
        best = self._f(ends)
        for i in np.flatnonzero((best == self._f(neighbours)) & (self.sizes > 1)).tolist():
            counts[i] = self._count_of_value(int(self.sizes[i]), float(best[i]), first_is_best)
        return counts

    def _count_of_value(self, size: int, value: float, is_first: bool) -> int:
        """How many of the first ranks of 1..N have a value, or of the last ones."""

        def has_value(rank: int) -> bool:
            return float(self._f(np.array([float(rank)]))[0]) == value

        if is_first and has_value(size):
            return size
        if is_first:
            return _first_where(lambda rank: not has_value(rank), size) - 1
        return size - _first_where(has_value, size) + 1


def _logs_of_shares(shares: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):  # a share may be 0
        return np.log(shares)


def _tilted_shares(
    values: FloatArray, logs_of_shares: FloatArray, t: float
) -> tuple[FloatArray, FloatArray]:
    """Shares under the weight exp(t v), along the last axis, and the logarithms of E exp(t v)."""
    exponents = t * values + logs_of_shares
    top = exponents.max(axis=-1, keepdims=True)
    terms = np.exp(exponents - top)
    whole = terms.sum(axis=-1, keepdims=True)
    return terms / whole, np.log(whole) + top


def _first_where(holds: Callable[[int], bool], size: int) -> int:
    """The first rank of 1..N for which this holds, as it does for all that follow.

    N may be 2**63, of which `bisect` takes no range.
    """
    low = 1
    high = size
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _nodes_from_both_ends(sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Nodes and shares of the ranks 1..N, fine at both ends, as `rank_nodes` are at the first."""
    last_half = np.ceil(sizes / 2)
    first_half = np.maximum(sizes - last_half, 1.0)
    near, near_shares = rank_nodes(first_half, _STEEP)
    far, far_shares = rank_nodes(last_half, _STEEP)
    ranks = np.hstack([near, sizes[:, None] + 1 - far])
    part = (sizes - last_half) / sizes  # 0 for a single candidate
    shares = np.hstack([near_shares * part[:, None], far_shares * (1 - part)[:, None]])
    return ranks, shares


def find_tilt(total: RankSum, few: RankSum) -> Tilt:
    """Find the tilt under which the mean of X is x, roughly, and the reach of X about x.

    Parameters
    ----------
    total : RankSum
    few : RankSum
        The same, or fewer classes that stand for its classes roughly.
    """
    _, mean, variance = total.cumulants(0.0) @ total.numbers
    _, mean_of_few, variance_of_few = few.cumulants(0.0) @ few.numbers
    if not variance > 0:
        return Tilt(0.0, total.x - total.least, total.greatest - total.x)
    ratio = math.sqrt(float(variance_of_few / variance))
    aim = mean_of_few + ratio * (total.x - mean)
    t = _tilt_to(few, float(aim), math.sqrt(variance_of_few)) * ratio
    if few is not total:
        for _ in range(_CORRECTIONS):
            _, mean, variance = total.cumulants(t) @ total.numbers
            if abs(total.x - mean) < math.sqrt(variance) / 2:
                break
            t += (total.x - mean) / max(variance, 1e-300)
    level, mean, variance = few.cumulants(t) @ few.numbers
    folds = -math.log(_BEYOND)

    def distance(side: float, most: float) -> float:
        """How far X may be on one side of x, by Chernoff's bound."""
        reach = 6 * math.sqrt(max(variance, 1e-300))
        while reach < most:
            step = side * folds / reach
            if float(few.cumulants(t + step)[0] @ few.numbers) - level - step * mean < 1:
                break
            reach *= 1.2
        return min(reach, most)

    below = distance(-1.0, (1 + _MARGIN) * (total.x - total.least))
    above = distance(1.0, (1 + _MARGIN) * (total.greatest - total.x))
    return Tilt(t, below, above)


def _tilt_to(classes: RankSum, aim: float, deviation: float) -> float:
    """The tilt under which the mean of the sum is `aim`; `deviation` is that of the sum."""
    from scipy.optimize import brentq

    def excess(t: float) -> float:
        return float(classes.cumulants(t)[1] @ classes.numbers - aim)

    start = excess(0.0)
    if abs(start) <= 1e-6 * deviation:
        return 0.0
    first = math.copysign(1 / deviation, -start)
    end = first
    while excess(end) * end < 0 and abs(end) < _STEEPEST * abs(first):
        end *= 2
    if not excess(end) * end >= 0:  # the steepest one does not reach it
        return end
    return float(brentq(excess, 0.0, end, xtol=1e-300, rtol=1e-4))
