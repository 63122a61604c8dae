"""Laplace transforms of weighted sums of ranks, and of powers of ranks, under chance.

Each is given by two functions of u, for a sum Y with mean 1: K(u) = log E exp(-u (Y - 1)) >= 0 and
D(u) = u - K(u) = -log E exp(-u Y). K is accurate where it is small, D where K is large.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .sums import BLOCK, POINTS, polynomial, rule
from .task_groups import Tasks

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...inputs.arrays import FloatArray, IntArray

    AnyArray: TypeAlias = npt.NDArray[Any]  # of float64 or complex128
    Transform: TypeAlias = Callable[[AnyArray], tuple[AnyArray, AnyArray]]

# the series of log(sinh(x) / x) in powers of x^2, from the first power on
_SINHC = (1 / 6, -1 / 180, 1 / 2835, -1 / 37800, 1 / 467775, -691 / 3831077250, 2 / 127702575)
_HALVINGS = 3
_NEAR = 1.5
# exp(-z) - 1 + z = z^2 (1/2 - z/6 + ...); log1p(y) - y = -y^2 (1/2 - y/3 + ...)
_EXCESS = tuple((-1) ** k / math.factorial(k + 2) for k in range(15))
_LOG = tuple((-1) ** k / (k + 2) for k in range(15))
_SERIES, _LOG_SERIES = 0.5, 0.05  # the series are used for smaller arguments
_CUTS = (0, 3, 7, 15, 51)  # first nodes of the segments
_RUN, _TASKS = 32, 1024  # the fewest tasks of a block with one weight, the most of any block
_SURE = 1.0  # from this E t r^p on, log E exp(-t r^p) is computed as it is written


def rank_sum(tasks: Tasks, mean: float) -> Transform:
    """Return K and D of Y = sum w r / mean, with r uniform on 1..N.

    With t = u w / (2 mean) a task has K = L(N t) - L(t), where L(x) = log(sinh(x) / x).

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> excess, _ = rank_sum(compress([2, 2]), 1.5)(np.array([3.0]))
    >>> excess.round(12), round(2 * math.log(math.cosh(0.5)), 12)  # each half is 1 +- 1/3
    (array([0.24022901]), 0.240229013917)
    """
    vary, constant = _split_constant(tasks)
    n = tasks.sizes[vary].astype(np.float64)
    scale = tasks.weights[vary] / (2 * mean)
    number = tasks.multiplicities[vary].astype(np.float64)

    def transform(u: AnyArray) -> tuple[AnyArray, AnyArray]:
        excess, decay = np.zeros_like(u), u * (constant / mean)
        step = max(1, BLOCK // len(u))
        for first in range(0, len(n), step):
            part = slice(first, first + step)
            k, d = _uniform(u[:, None] * scale[part], n[part])
            excess += k @ number[part]
            decay += d @ number[part]
        return excess, decay

    return transform


def _split_constant(tasks: Tasks) -> tuple[IntArray, float]:
    """Return the tasks with N > 1, and the total weight of the others, whose ranks are constant."""
    alone = tasks.sizes == 1
    return np.flatnonzero(~alone), float((tasks.weights * tasks.multiplicities)[alone].sum())


def _uniform(t: FloatArray, n: FloatArray) -> tuple[FloatArray, FloatArray]:
    """K and D of each task at each t, by the formula that is accurate there."""
    x, whole = n * t, t * (n + 1)
    near = x < _NEAR
    # the clipped arguments are not used
    small = _log_sinhc(np.minimum(x, _NEAR)) - _log_sinhc(np.minimum(t, _NEAR))
    if near.all():
        return small, whole - small
    large = 2 * t - _log_decline(np.maximum(x, 1e-300)) + _log_decline(np.maximum(t, 1e-300))
    return np.where(near, small, whole - large), np.where(near, whole - small, large)


def _log_sinhc(x: FloatArray) -> FloatArray:
    """log(sinh(x) / x) for 0 <= x <= 1.5, by sinh(x) = 2 sinh(x / 2) cosh(x / 2) and a series."""
    total = np.zeros_like(x)
    for _ in range(_HALVINGS):
        x = x / 2
        total += 0.5 * np.log1p(np.sinh(x) ** 2)
    return total + polynomial(_SINHC, x * x) * (x * x)


def _log_decline(x: FloatArray) -> FloatArray:
    """log((1 - exp(-2 x)) / (2 x)) for x > 0."""
    logs: FloatArray = np.log(-np.expm1(-2 * x) / (2 * x))
    return logs


class PowerSum:
    """K and D of Y, the sum of w r^p divided by its mean, by sums over nodes; r uniform on 1..N.

    Parameters
    ----------
    tasks : Tasks
    p : float
        Not 0.

    Attributes
    ----------
    mean : float
        The mean of the sum, with r^p divided by its greatest value.
    top : float
        The logarithm of the greatest r^p.
    reach : float
        The largest value of one term, divided by the mean of the sum.

    Notes
    -----
    With t = u w / mean and z = t (r^p - c), where c is near the mean of r^p, a task has
    K = (log1p(y) - y) + E[exp(-z) - 1 + z], with y = E exp(-z) - 1 = E[exp(-z) - 1 + z] - E z.
    Where t r^p is large, D = m - log E exp(m - t r^p) with m the least t r^p.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> total = PowerSum(compress([2, 2]), -1.0)  # of 1/2 and 1
    >>> round(total.mean, 12)
    0.75
    >>> excess, _ = total(np.array([3.0]))
    >>> excess.round(12), round(2 * math.log(math.cosh(0.5)), 12)
    (array([0.24022901]), 0.240229013917)
    """

    def __init__(self, tasks: Tasks, p: float) -> None:
        self.top = max(0.0, p * math.log(tasks.sizes[-1]))
        vary, constant = _split_constant(tasks)
        self._constant = constant * math.exp(-self.top)
        self._blocks = [_Block(tasks, p, self.top, part) for part in _parts(tasks, vary)]
        self.mean = self._constant + float(sum((b.shares * b.means).sum() for b in self._blocks))
        self.reach = max(float((b.weights * b.highest).max()) for b in self._blocks) / self.mean

    def __call__(self, u: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Return K and D at each u."""
        excess, decay = np.zeros_like(u), u * (self._constant / self.mean)
        for block in self._blocks:
            step = max(1, BLOCK // block.cost)
            for first in range(0, len(u), step):
                part = slice(first, first + step)
                k, d = block(u[part, None] / self.mean)
                excess[part] += k
                decay[part] += d
        return excess, decay


def _parts(tasks: Tasks, chosen: IntArray) -> Iterator[IntArray]:
    """Yield the chosen tasks in blocks: of one weight if many have it, else of similar size."""
    order = chosen[np.argsort(tasks.weights[chosen], kind="stable")]
    cuts = np.flatnonzero(np.diff(tasks.weights[order])) + 1
    rest = []
    for run in np.split(order, cuts):
        if len(run) < _RUN and len(cuts):
            rest.append(run)
            continue
        yield from np.split(run, range(_TASKS, len(run), _TASKS))
    if rest:
        pooled = np.sort(np.concatenate(rest))  # tasks are ordered by their sizes
        yield from np.split(pooled, range(_TASKS, len(pooled), _TASKS))


class _Segment:
    """Some of the nodes of some tasks, over which r^p does not vary too much.

    Attributes
    ----------
    powers : ndarray of float64, shape (1, m) or (tasks, m)
        r^p at the nodes.
    centre : ndarray of float64, shape (1, 1) or (tasks, 1)
        c, which z subtracts from them.
    weights : ndarray of float64, shape (tasks, m)
        The weights of the nodes in the mean over 1..N. What is said of tasks holds for sums that
        several tasks share.
    """

    def __init__(self, powers: FloatArray, centre: FloatArray, weights: FloatArray) -> None:
        self.powers, self.centre, self.weights = powers, centre, weights
        self._top = float(np.abs(powers - centre).max(initial=1e-300))

    @functools.cached_property
    def _moments(self) -> list[FloatArray]:
        """E (z / (t top))^(k + 2), times the coefficient of z^(k + 2) in exp(-z) - 1 + z."""
        share = (self.powers - self.centre) / self._top
        terms = self.weights * share
        moments = []
        for c in _EXCESS:
            terms *= share
            moments.append(c * terms.sum(axis=1))
        return moments

    def excess(self, t: AnyArray) -> AnyArray:
        """E[exp(-z) - 1 + z] over the segment, z = t (r^p - centre).

        t has shape (c, tasks), or (c, 1) where it is the same for all tasks.
        """
        x = t * self._top
        highest = float(np.abs(x).max())
        if highest < _SERIES:
            moments = self._moments[: _terms(highest)]
            if x.shape[1] == 1:
                series: AnyArray = x ** np.arange(2.0, len(moments) + 2) @ np.stack(moments)
                return series
            total = moments[-1] * x
            for moment in moments[-2::-1]:
                total += moment
                total *= x
            total *= x
            return total
        away = self.powers - self.centre
        if x.shape[1] == len(away) == 1:
            product: AnyArray = _excess(t * away) @ self.weights.T
            return product
        mean: AnyArray = np.einsum("cbs,bs->cb", _excess(t[:, :, None] * away), self.weights)
        return mean

    def decline(self, t: AnyArray, low: FloatArray, tasks: IntArray) -> AnyArray:
        """E exp(t (low - r^p)) over the segment for some tasks; low is the least r^p of each."""
        above = np.maximum(self.powers[tasks] - low[:, None], 0.0)  # nodes beyond N have no weight
        terms = np.exp(-t[:, :, None] * above)
        mean: AnyArray = np.einsum("cbs,bs->cb", terms, self.weights[tasks])
        return mean


class _Block:
    """Some tasks of a PowerSum, with the nodes of their sums."""

    def __init__(self, tasks: Tasks, p: float, top: float, part: IntArray) -> None:
        sizes, self.weights = tasks.sizes[part], tasks.weights[part]
        self.number = tasks.multiplicities[part].astype(np.float64)
        self.shares = self.weights * self.number
        self.single = bool((self.weights == self.weights[0]).all())
        made = rule(sizes, 2.0 ** min(1.0, 2 / abs(p)))
        # tasks of one weight share sums over the same nodes, which are divided by N afterwards
        used, n, most = made.used, sizes[:, None].astype(np.float64), int(made.used.max())
        ends = _powers(np.stack([np.ones(len(sizes)), n[:, 0]]), p, top)
        self.lowest, self.highest = ends.min(axis=0), ends.max(axis=0)
        self._sizes = n[:, 0]
        powers = _powers(made.nodes[None, :most], p, top)
        if self.single:
            used, self._of_task = np.unique(used, return_inverse=True)
        else:
            # nodes beyond N have no weight, and no task's exp(-z) may overflow there
            powers = np.clip(powers, self.lowest[:, None], self.highest[:, None])
        weights = np.where(np.arange(most) < used[:, None], made.weights[:most], 0.0)
        if not self.single:
            weights /= n
        own = _powers(made.own_nodes, p, top)
        own_weights = made.own_weights / n
        shared = self._for_tasks((weights * powers).sum(axis=1))
        self.means = shared + (own_weights * own).sum(axis=1)
        # tasks of one weight share their nodes, and so the centre
        middle = (self.number @ self.means) / self.number.sum()
        self.centres = np.array([middle]) if self.single else self.means
        centre = self.centres[:, None]
        cuts = [*(c for c in _CUTS if c < most), most]
        columns = [slice(*pair) for pair in itertools.pairwise(cuts)]
        self.segments = [_Segment(powers[:, c], centre, weights[:, c]) for c in columns]
        self.own = _Segment(own, centre, own_weights)
        self.used = used
        self.cost = most * (1 if self.single else len(sizes)) + POINTS * len(sizes)

    def _for_tasks(self, sums: AnyArray) -> AnyArray:
        """The means of each task, from the sums over shared nodes."""
        return sums[..., self._of_task] / self._sizes if self.single else sums

    def __call__(self, scale: AnyArray) -> tuple[AnyArray, AnyArray]:
        """K and D, summed over the tasks, where t = scale w; scale has shape (c, 1)."""
        t = scale * self.weights
        modest = np.where(
            np.abs(t) * self.centres > _SURE, 0.0, t
        )  # z may be < 0, but does not overflow
        each = modest[:, :1] if self.single else modest
        first, *others = (segment.excess(each) for segment in self.segments)
        over = self._for_tasks(sum(others, start=first)) + self.own.excess(each)
        sure = np.abs(t) * np.maximum(self.means, self.centres) > _SURE
        y = np.where(sure, 0.0, over - t * (self.means - self.centres))
        excess, decay = _log1p_less(y) + over, t * self.centres - np.log1p(y)
        some = np.flatnonzero(sure.any(axis=0))
        if len(some):
            direct, chosen = self._decay(t[:, some], some), sure[:, some]
            whole = t[:, some] * self.means[some]
            decay[:, some] = np.where(chosen, direct, decay[:, some])
            excess[:, some] = np.where(chosen, whole - direct, excess[:, some])
        return excess @ self.number, decay @ self.number

    def _decay(self, t: AnyArray, tasks: IntArray) -> AnyArray:
        """-log E exp(-z) for some tasks whose z may be large."""
        low = self.lowest[tasks]
        expected = self.own.decline(t, low, tasks)
        if self.single:
            expected += self._shared_decline(t[:, :1], low, tasks)
        else:
            for segment in self.segments:
                expected += segment.decline(t, low, tasks)
        decay: AnyArray = t * low - np.log(expected)
        return decay

    def _shared_decline(self, t: AnyArray, low: FloatArray, tasks: IntArray) -> AnyArray:
        """E exp(t (low - r^p)) over the shared nodes for some tasks; t has shape (c, 1).

        The sums up to some node are those of exp(t (least - r^p)), where least is the least r^p so
        far. So nothing overflows, and what underflows is negligible.
        """
        powers = np.concatenate([segment.powers[0] for segment in self.segments])
        weights = np.concatenate([segment.weights[-1] for segment in self.segments])
        least = np.minimum.accumulate(powers)[self.used - 1]
        sums: AnyArray = np.empty((len(t), len(least)), dtype=t.dtype)
        start = 0
        for i, end in enumerate(self.used.tolist()):
            sums[:, i] = np.exp(-t * (powers[start:end] - least[i])) @ weights[start:end]
            if i:
                sums[:, i] += sums[:, i - 1] * np.exp(-t[:, 0] * (least[i - 1] - least[i]))
            start = end
        of_task = self._of_task[tasks]
        above = np.maximum(least[of_task] - low, 0.0)
        mean: AnyArray = sums[:, of_task] * np.exp(-t * above) / self._sizes[tasks]
        return mean


def _powers(ranks: FloatArray, p: float, top: float) -> FloatArray:
    """r^p, divided by its greatest value."""
    powers: FloatArray = 1 / ranks if p == -1 else np.exp(p * np.log(ranks) - top)
    return powers


def _excess(z: AnyArray) -> AnyArray:
    """exp(-z) - 1 + z."""
    highest = float(np.abs(z).max(initial=0.0))
    if highest < _SERIES:
        return polynomial(_EXCESS[: _terms(highest)], z) * z * z
    excess: AnyArray = np.expm1(-z) + z
    small = np.abs(z) < _SERIES
    near = z[small]
    excess[small] = polynomial(_EXCESS, near) * near * near
    return excess


def _log1p_less(y: AnyArray) -> AnyArray:
    """log1p(y) - y."""
    highest = float(np.abs(y).max(initial=0.0))
    if highest < _LOG_SERIES:
        return polynomial(_LOG[: _terms(highest)], y) * y * -y
    less: AnyArray = np.log1p(y) - y
    small = np.abs(y) < _LOG_SERIES
    near = y[small]
    less[small] = polynomial(_LOG, near) * near * -near
    return less


def _terms(highest: float) -> int:
    """How many terms a series in powers of x <= highest needs."""
    if highest < 1e-16:
        return 1
    return min(len(_EXCESS), 1 + math.ceil(-39 / math.log(highest)))
