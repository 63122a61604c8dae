"""How many of the ranks are <= x, as x grows: where the median lies, and the tails of its law."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING

import numpy as np

from ...inputs.errors import InputValueError
from .pieces import stand_ins
from .poisson_binomial import invert
from .task_groups import Tasks

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from ...inputs.arrays import FloatArray, IntArray
    from .poisson_binomial import Kind

_GROUP = 32  # sizes that begin or end within one batch of x
_CELLS = 1 << 16  # x times sizes at once
_MOST = 2**53  # tasks
_MERGED = 256  # sizes at most
_GRID = 24  # less wide groups are left, as ranks being integers would show


class Order:
    """B(x) = the number of ranks <= x, a sum of independent events of probability min(x / N, 1).

    Attributes
    ----------
    tasks : Tasks
    centre : float
        Half the number of tasks: the median is <= x where B(x) is above it, and half the time where
        B(x) is equal to it (for one of the two middle ranks, taken at random).
    pivot : int
        The first x at which the mean of B(x) reaches the centre.
    top : int
        The last x at which the median may still be above x; 0 where it is always 1.

    Raises
    ------
    ValueError
        For 2**53 tasks and more, whose numbers are no exact floats.
    """

    def __init__(self, tasks: Tasks) -> None:
        if tasks.count >= _MOST:
            raise InputValueError(
                "multiplicities",
                expected="fewer than 2**53 tasks in all for the chance model of a median",
                got=tasks.count,
            )
        self.tasks = tasks
        self.centre = tasks.count / 2
        self._settle(tasks.sizes.astype(np.float64), tasks.multiplicities.astype(np.float64))

    def _settle(self, size: FloatArray, count: FloatArray) -> None:
        self.sizes, self.counts = size, count
        self._sure = np.concatenate([[0.0], np.cumsum(count)])
        self._inverse = np.concatenate([np.cumsum((count / size)[::-1])[::-1], [0.0]])
        self._square = np.concatenate([np.cumsum((count / size**2)[::-1])[::-1], [0.0]])
        # the first size at which more than half of the ranks are certain to be <= x
        self.top = int(self.tasks.sizes[np.argmax(self._sure[1:] > self.centre)]) - 1
        self.pivot = self._bisect(1, self.top + 1, lambda x: self.moments(x)[0] >= self.centre)

    def certain(self, x: IntArray | FloatArray) -> FloatArray:
        """How many ranks are <= x for certain."""
        found: FloatArray = self._sure[np.searchsorted(self.tasks.sizes, x, side="right")]
        return found

    def moments(self, x: IntArray | FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of B(x)."""
        i = np.searchsorted(self.tasks.sizes, x, side="right")
        at = np.asarray(x, dtype=np.float64)
        open_ = at * self._inverse[i]
        return self._sure[i] + open_, np.maximum(open_ - at**2 * self._square[i], 0.0)

    def thinned(self, mass: float) -> Order:
        """Merge sizes that are close together; few tasks move by little.

        Each group of sizes becomes two with the same number of tasks, and the same sums of 1/N and
        of 1/N^2. A group goes from N to N' where its tasks of (N, N'] have ranks > N that are no
        more than `mass` in the mean.
        """
        sizes, counts = self.sizes, self.counts
        made: list[tuple[float, float]] = []
        first = 0
        while first < len(sizes):
            last = first + _MERGED
            beyond = np.cumsum(counts[first:last] * (1 - sizes[first] / sizes[first:last]))
            end = first + max(1, int(np.searchsorted(beyond, mass, side="right")))
            number = counts[first:end]
            total = float(number.sum())
            if end - first < 3 or sizes[end - 1] - sizes[first] < _GRID:
                made += zip(sizes[first:end].tolist(), number.tolist(), strict=True)
            else:
                u = sizes[first] / sizes[first:end]
                centre = float(number @ u) / total
                spread = math.sqrt(float(number @ (u - centre) ** 2) / total)
                small = float(total // 2)
                ratio = math.sqrt(small / (total - small))
                made.append((sizes[first] / (centre + spread / ratio), small))
                made.append((sizes[first] / (centre - spread * ratio), total - small))
            first = end
        size, count = (np.array(part) for part in zip(*made, strict=True))
        whole = np.minimum(np.ceil(size), 2.0**63 - 1024).astype(np.int64)
        thin = copy.copy(self)
        thin.tasks = self.tasks._replace(sizes=whole)
        thin._settle(size, count)
        return thin

    def exponent(self, x: IntArray) -> FloatArray:
        """A lower bound of -log of the smaller tail of B(x) at the centre, 0 at the middle.

        The larger of Hoeffding's (1956: no law of this mean spreads wider than the binomial) and of
        Bennett's (1962), which knows the variance.
        """
        sure = self.certain(x)
        mean, variance = self.moments(x)
        n = self.tasks.count - sure
        c = np.clip((self.centre - sure) / n, 0.0, 1.0)
        p = np.clip((mean - sure) / n, 1e-300, 1 - 1e-16)
        with np.errstate(divide="ignore", invalid="ignore"):
            hoeffding = n * (
                np.where(c > 0, c * np.log(c / p), 0.0)
                + np.where(c < 1, (1 - c) * np.log((1 - c) / (1 - p)), 0.0)
            )
        spread = np.maximum(variance, 1e-300)
        u = np.abs(self.centre - mean) / spread
        bennett = spread * ((1 + u) * np.log1p(u) - u)
        bound: FloatArray = np.maximum(np.maximum(hoeffding, bennett), 0.0)
        return bound

    def first(self, exponent: float) -> int:
        """The first x whose lower tail may exceed exp(-exponent)."""
        return self._bisect(1, self.pivot, lambda x: self.exponent(x) < exponent)

    def last(self, exponent: float) -> int:
        """The last x whose upper tail may exceed exp(-exponent); below the pivot if none may."""
        return self._bisect(self.pivot, self.top + 1, lambda x: ~(self.exponent(x) < exponent)) - 1

    def _bisect(
        self, low: int, high: int, holds: Callable[[IntArray], npt.NDArray[np.bool_]]
    ) -> int:
        """The first integer of low..high at which a monotone condition holds (high if at none)."""
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(np.array([middle]))[0] else (middle + 1, high)
        return low

    def tails(self, x: FloatArray) -> FloatArray:
        """P(M <= x) for x below the pivot, P(M > x) from it on.

        M is the median, or one of the two middle ranks at random; x ascending, not necessarily
        integers, but no size between a node and the integers that it stands for.
        """
        found = [np.zeros(0)]
        kind: Kind = "half" if self.tasks.count % 2 == 0 else "above"
        ends = np.searchsorted(self.tasks.sizes, x[-1:], side="right")[0]
        beyond = stand_ins(self.sizes[ends:], self.counts[ends:])
        first = 0
        while first < len(x):
            start = int(np.searchsorted(self.tasks.sizes, x[first], side="right"))
            stop = min(start + _GROUP, int(ends))
            end = len(x) if stop == ends else int(np.searchsorted(x, self.sizes[stop]))
            later = stand_ins(self.sizes[stop:ends], self.counts[stop:ends])
            size = np.concatenate([self.sizes[start:stop], later[0], beyond[0]])
            count = np.concatenate([self.counts[start:stop], later[1], beyond[1]])
            end = min(max(end, first + 1), first + max(1, _CELLS // len(size)))
            at = x[first:end, None]
            law = invert(
                np.minimum(at / size, 1.0),
                np.maximum(size - at, 0.0) / size,
                count,
                np.full(end - first, self.centre - self._sure[start]),
                kind,
                sure=self.certain(x[first:end]) - self._sure[start],
            )
            tail = np.exp(law.exponent) * law.factor
            found.append(np.where(law.upper == (at[:, 0] < self.pivot), tail, 1 - tail))
            first = end
        return np.concatenate(found)


def smooth_edges(order: Order, low: int, high: int, *, octaves: bool) -> IntArray:
    """Edges from low to high + 1 between which the tails change by little, sizes left aside.

    Steps of one standard deviation, by the bound of the exponent; with octaves also where x has
    doubled, for functions like 1 / x.
    """
    steps = np.arange(1.0, math.sqrt(2 * 1e4))
    edges = {low, high + 1}
    if low < order.pivot <= high:
        edges.add(order.pivot)
    for k in steps.tolist():
        left, right = order.first(k * k / 2), order.last(k * k / 2) + 1
        edges |= {e for e in (left, right) if low < e <= high}
        if left <= low and right > high:
            break
    if octaves:
        edges |= {2**k for k in range(3, 63) if low < 2**k <= high}
    return np.array(sorted(edges), dtype=np.int64)
