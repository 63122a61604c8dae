"""How likely chance is to do at least as well as an observed value, or at least as badly."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..ties import LOG
from .nodes import rank_nodes, stand_ins
from .order_statistics import at_least, median_at_least, median_at_most
from .tasks import Tasks

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray

_SLACK = 1e-12  # of the observed value, relatively, for the rounding of sums


class Tail(NamedTuple):
    """The natural logarithm of a probability, and how it was found.

    "exact": up to rounding. "convolution": of few unlike tasks on a grid, mostly to 3 digits or
    more. "inversion": the Laplace transform of the sum inverted numerically,
    mostly to six digits or more. "saddlepoint": the approximation of Lugannani and Rice (1980),
    where that would take too long.
    """

    log: float
    method: str


def tail(metric: Any, parameter: float, tasks: Tasks, value: float, *, worse: bool = False) -> Tail:
    """P(a value as good as the observed one or better), or as bad or worse, under chance.

    Parameters
    ----------
    metric : truerank.metrics.Metric
        A row of the table of metrics, with a chance model.
    parameter : float
        Its parameter.
    tasks : Tasks
        At least one.
    value : float
    worse : bool

    Examples
    --------
    >>> from truerank.metrics import METRICS
    >>> from truerank.metrics.chance_model import compress
    >>> found = tail(METRICS["mr"], 0, compress([3, 3]), 1.5, worse=True)
    >>> round(math.exp(found.log), 12), found.method  # 8 of 9
    (0.888888888889, 'exact')
    """
    if tasks.sizes[-1] == 1:
        return Tail(0.0, "exact")
    if metric.name == "hits":
        if tasks.equal:
            return Tail(_hits(tasks, parameter, value, worse), "exact")
        return _sum_tail(_Law(tasks, metric.transform.of_ranks, parameter, worse, parameter), value)
    # the rank that has this value if all tasks have it
    rank = 1 / value if metric.increasing else value
    if metric.name in ("median", "imedian") and tasks.count % 2 == 0:
        found = median_at_least if worse else median_at_most
        slack = -1e-9 if worse else 1e-9
        return Tail(found(tasks, (math.ceil if worse else math.floor)(2 * rank + slack)), "exact")
    least_of = {"median": (tasks.count + 1) // 2, "imedian": (tasks.count + 1) // 2}
    if metric.name == "power_mean" and math.isinf(parameter):
        least_of["power_mean"] = 1 if parameter < 0 else tasks.count
    if metric.name in least_of or tasks.count == 1:
        return Tail(_order_tail(tasks, least_of.get(metric.name, 1), rank, worse), "exact")
    f = LOG.of_ranks if (metric.name, parameter) == ("power_mean", 0) else metric.transform.of_ranks
    law = _Law(tasks, f, parameter, worse)
    observed = value if metric.single else float(f(np.array([rank]), tasks.sizes[:1], parameter)[0])
    return _sum_tail(law, observed)


def _order_tail(tasks: Tasks, k: int, rank: float, worse: bool) -> float:
    """Log of P(k-th least rank <= rank), or >= rank."""
    slack = min(1e-9 + _SLACK * rank, 0.25)
    if worse:  # fewer than k ranks are below
        hit, miss = _shares(tasks, math.ceil(rank - slack) - 1)
        return at_least(miss, hit, tasks.multiplicities, tasks.count - k + 1)
    return at_least(*_shares(tasks, math.floor(rank + slack)), tasks.multiplicities, k)


def _hits(tasks: Tasks, cutoff: float, mean: float, worse: bool) -> float:
    hit, miss = _shares(tasks, cutoff)
    total = mean * tasks.count
    slack = min(1e-9 + 1e-15 * total, 0.25)
    if worse:
        number = tasks.count - math.floor(total + slack)
        return at_least(miss, hit, tasks.multiplicities, number)
    return at_least(hit, miss, tasks.multiplicities, math.ceil(total - slack))


def _shares(tasks: Tasks, cutoff: float) -> tuple[FloatArray, FloatArray]:
    """The probabilities of a rank <= cutoff and of one beyond it."""
    size, k = tasks.sizes.astype(np.float64), float(min(cutoff, 2**63))
    return np.minimum(k / size, 1.0), np.maximum(size - k, 0.0) / size


# -- sums over tasks -------------------------------------------------------------------------------

_OUTCOMES = 1 << 20  # of one task; more are grouped
_LISTED = 1 << 20  # the most outcomes of one half of the tasks
_WORK = 1 << 21  # the most cells times laws of a convolution
_ROWS = 128  # the most distinct laws
_MULTIPLES = 60  # the smallest step between values is so many units at most
_FINE = 0.03  # e-folds per cell, up to which a grid is fine enough
_DIGITS = 30.0  # e-folds between a probability and the error of its inversion
_NODES = 1 << 14  # of an inversion, at most
_FEW = 16
_DOUBLINGS = 60
_LIKELY = 1e-3  # such a probability may be 1 minus another one


class _Row(NamedTuple):
    """Like tasks: w f(r) of the outcomes, the greatest first, their shares, and how many tasks."""

    values: FloatArray
    shares: FloatArray
    number: int


class _Law:
    """The sum X over tasks of w f(r), with the sign that makes an observed value unlikely if large.

    Parameters
    ----------
    tasks : Tasks
    f : callable
        f, of ranks, numbers of candidates and the parameter; monotone over the ranks.
    parameter : float
    worse : bool
        Whether bad values are unlikely.
    cutoff : float, optional
        If given, f has one value for ranks up to it, and one for others.
    """

    def __init__(
        self,
        tasks: Tasks,
        f: Callable[..., FloatArray],
        parameter: float,
        worse: bool,
        cutoff: float | None = None,
    ) -> None:
        self.tasks, self._f, self._parameter = tasks, f, parameter
        self.cutoff = None if cutoff is None else float(min(cutoff, 2**63))
        last = tasks.sizes.astype(np.float64)
        ends = np.stack(
            [f(np.ones(len(last)), tasks.sizes, parameter), f(last, tasks.sizes, parameter)]
        )
        rising = bool((ends[1] > ends[0]).any())
        self.sign = -1.0 if rising != worse else 1.0
        self._from_end = rising == (self.sign > 0)  # whether the last rank is the best
        ends *= self.sign
        self._low, self._high = ends.min(axis=0), ends.max(axis=0)
        self._total = tasks.weights * tasks.multiplicities
        self.least, self.greatest = float(self._total @ self._low), float(self._total @ self._high)

    def mirrored(self) -> _Law:
        """The law of -X."""
        other: _Law = object.__new__(_Law)
        other.__dict__.update(self.__dict__)
        other.sign, other._from_end = -self.sign, not self._from_end
        other._low, other._high = -self._high, -self._low
        other.least, other.greatest = -self.greatest, -self.least
        return other

    def value(self, ranks: FloatArray, sizes: FloatArray) -> FloatArray:
        """Return f(r) with its sign."""
        return self.sign * self._f(ranks, sizes, self._parameter)

    def best(self, slack: float) -> float:
        """Log of the probability that every task that matters has its greatest value."""
        sizes = self.tasks.sizes.astype(np.float64)
        best = np.ones(len(sizes))
        if self.cutoff is not None:
            hits = np.minimum(self.cutoff, sizes)
            best = np.where(hits < sizes, sizes - hits, sizes) if self._from_end else hits
        matters = self.tasks.weights * (self._high - self._low) > slack
        return float(self.tasks.multiplicities @ np.where(matters, np.log(best / sizes), 0.0))

    def rows(self) -> list[_Row]:
        """The outcomes of all tasks."""
        tasks, found = self.tasks, []
        for size, weight, number in zip(
            *(part.tolist() for part in (tasks.sizes, tasks.weights, tasks.multiplicities)),
            strict=True,
        ):
            if self.cutoff is not None:
                hits = min(self.cutoff, size)
                starts = np.unique([1.0, min(hits + 1, size)]) if hits < size else np.ones(1)
                ranks, counts = starts, np.diff(np.append(starts, size + 1.0))
            else:
                starts = (
                    np.arange(1.0, size + 1)
                    if size <= _OUTCOMES
                    else np.unique(np.floor(np.geomspace(1, size, _OUTCOMES)))
                )
                counts = np.diff(np.append(starts, size + 1.0))
                ranks = starts + (counts - 1) / 2
            values = weight * self.value(ranks, np.full(len(ranks), size))
            order = slice(None, None, -1) if self._from_end else slice(None)
            found.append(_Row(values[order], (counts / size)[order], number))
        return found

    def tilted(self) -> Callable[[float], _Tilted]:
        """Return a function of t >= 0 that weights each outcome by exp(t X)."""
        tasks, steep = self.tasks, max(1.0, abs(self._parameter))
        power = steep if math.isfinite(steep) and self.cutoff is None else 1.0
        size, weight, number = stand_ins(
            tasks.sizes, tasks.weights, tasks.multiplicities, min(power, 10.0)
        )
        if self.cutoff is not None:
            hits = np.minimum(self.cutoff, size)
            nodes = np.stack([np.ones(len(size)), size], axis=1)
            shares = np.stack([hits, size - hits], axis=1) / size[:, None]
        else:
            nodes, shares = rank_nodes(size, min(power, 10.0))
        forward = weight[:, None] * self.value(nodes, size[:, None])
        backward = weight[:, None] * self.value(size[:, None] + 1 - nodes, size[:, None])
        ends = np.stack([np.ones(len(size)), size], axis=1)
        top = weight * self.value(ends, size[:, None]).max(axis=1)
        middle = weight * self.value(np.maximum(ends[:, 1] / 2, 1), size)

        def at(t: float) -> _Tilted:
            # blocks of ranks grow from rank 1, or from N if the mass is there
            turned = self._from_end and self.cutoff is None
            near_end = turned & (t * (top - middle) > 5)
            away = np.minimum(np.where(near_end[:, None], backward, forward) - top[:, None], 0.0)
            terms = np.exp(t * away) * shares
            whole = terms.sum(axis=1)
            a, b, c = ((terms * away**k).sum(axis=1) / whole for k in (1, 2, 3))
            parts = np.log(whole) + t * top, a + top, b - a * a, c - 3 * a * b + 2 * a**3
            level, mean, variance, third = (float(number @ part) for part in parts)
            outcomes = away - a[:, None], terms / whole[:, None]
            return _Tilted(level, mean, variance, third, number, *outcomes)

        return at


class _Tilted(NamedTuple):
    """The law of X under the weight exp(t X).

    K(t) = log E exp(t X) is `level`, its derivatives are `mean`, `variance` and `third`. Each task
    has the outcomes `centred` about its mean with the probabilities `shares`.
    """

    level: float
    mean: float
    variance: float
    third: float
    number: FloatArray
    centred: FloatArray
    shares: FloatArray

    def transforms(self, step: float) -> Iterator[complex]:
        """E exp(i u (X - mean)) under the weight, for u = step, 2 step, 3 step, ..."""
        turn = np.exp(1j * step * self.centred)
        terms = self.shares * turn
        while True:
            yield complex(np.exp(np.log(terms.sum(axis=1)) @ self.number))
            terms *= turn


def _sum_tail(law: _Law, observed: float) -> Tail:
    """P(X >= observed), by the first method that applies."""
    x = law.sign * observed
    slack = _SLACK * abs(x)
    if x <= law.least + slack:
        return Tail(0.0, "exact")
    if x >= law.greatest - slack:
        return Tail(law.best(0.1 * slack), "exact")
    rows = law.rows() if len(law.tasks.sizes) <= _ROWS else []
    grouped = law.cutoff is None and law.tasks.sizes[-1] > _OUTCOMES
    if rows and not grouped and (log := _listed(rows, x - slack)) is not None:
        return Tail(log, "exact")
    if rows:
        unit, t = _unit(rows), _saddle(law, x)[0]
        below = _convolved(law.mirrored().rows(), -x, max(-t, 0.0), unit, strict=True)
        rest = -math.expm1(min(below, 0.0)) if below is not None else 0.0
        if below is not None and (rest > _LIKELY or t <= 0):
            return Tail(math.log(max(rest, 1e-300)), "exact" if unit else "convolution")
        if t > 0 and (log := _convolved(rows, x, t, unit)) is not None:
            return Tail(log, "exact" if unit else "convolution")
    elif (log := _inverted(law, x - slack)) is not None:
        return Tail(log, "inversion")
    t, tilted = _saddle(law, x)
    log = _lugannani_rice(abs(t), x if t > 0 else -x, tilted)
    return Tail(log if t > 0 else math.log1p(-min(math.exp(log), 1 - 1e-16)), "saddlepoint")


def _inverted(law: _Law, x: float) -> float | None:
    """Log of P(X >= x) by the inversion of its Laplace transform; None if that takes too long.

    With K the logarithm of the transform, it is the integral of exp(K(s) - s x) / s over the line
    s = t + i u, divided by 2 pi i. The trapezoid rule with the step 2 pi / L adds exp(k t L) P(X >=
    x + k L) for all k other than 0 (Poisson's formula). L is so long that Chernoff's bound has all
    of them below e^-30 of the result.
    """
    at = law.tilted()
    saddle = max(_saddle(law, x)[0], 0.0)
    start = at(saddle)
    least = start.level - saddle * x - _DIGITS
    length = 16 * math.sqrt(max(start.variance, 1e-300))
    for _ in range(_DOUBLINGS):
        t = max(saddle, (_DIGITS + 2) / length)
        larger = (at(t * 2**j).level - t * (2**j * (x + length) - length) for j in range(1, 7))
        smaller = (at(t / 2**j).level - t * ((x - length) / 2**j + length) for j in range(1, 7))
        beyond = x + length > law.greatest or any(bound < least for bound in larger)
        if beyond and (-t * length < least or any(bound < least for bound in smaller)):
            break
        length *= 2
    else:
        return None
    line, step, total = at(t), 2 * math.pi / length, 0.5 / t
    few = 0  # how many terms in turn were negligible
    for k, value in zip(range(1, _NODES), line.transforms(step), strict=False):
        term = value / (t + 1j * k * step)
        total += (cmath.exp(1j * k * step * (line.mean - x)) * term).real
        few = few + 1 if abs(term) * k < 1e-10 * abs(total) else 0
        if few == _FEW:
            found = total * step / math.pi
            return min(line.level - t * x + math.log(found), 0.0) if found > 0 else None
    return None


def _listed(rows: list[_Row], least: float) -> float | None:
    """Log of P(X >= least) from all outcomes; None where there are too many.

    The outcomes of one half of the tasks are sorted. For each outcome of the other half, those that
    suffice are at the end.
    """
    if sum(row.number for row in rows) > 64:
        return None
    each = sorted(
        (row for row in rows for _ in range(row.number)), key=lambda row: -len(row.values)
    )
    halves = [(np.zeros(1), np.zeros(1)), (np.zeros(1), np.zeros(1))]
    for row in each:
        halves.sort(key=lambda half: len(half[0]))
        sums, logs = halves[0]
        if len(sums) * len(row.values) > _LISTED:
            return None
        halves[0] = (
            np.add.outer(sums, row.values).ravel(),
            np.add.outer(logs, np.log(row.shares)).ravel(),
        )
    (one, log_one), (two, log_two) = halves
    order = np.argsort(two)
    from_each = np.append(np.logaddexp.accumulate(log_two[order][::-1])[::-1], -math.inf)
    least = min(least, float(one.max() + two.max()))
    logs = log_one + from_each[np.searchsorted(two[order], least - one)]
    top = float(logs.max())
    return min(top + math.log(float(np.exp(logs - top).sum())), 0.0)


def _unit(rows: list[_Row]) -> float:
    """The step of the lattice on which all values lie; 0 if there is none."""
    steps = np.concatenate([row.values[0] - row.values for row in rows])
    steps = np.unique(steps[steps > 0])
    ratios = steps / steps[0]
    for multiple in range(1, _MULTIPLES + 1):
        if (
            ratios[-1] * multiple < _WORK
            and (np.abs(np.remainder(ratios * multiple + 0.5, 1) - 0.5) < 1e-6).all()
        ):
            return float(steps[0] / multiple)
    return 0.0


def _convolved(
    rows: list[_Row], x: float, t: float, unit: float, *, strict: bool = False
) -> float | None:
    """Log of P(X >= x), or > x, by Fourier transforms under the weight exp(t X); None if too rough.

    The distances of the values from their greatest ones add up to at most those of x. They lie on
    the lattice of the unit, or they are divided between the next two cells of a grid, so that
    their means are kept. The weight keeps the digits of far tails.
    """
    gap = sum(row.number * float(row.values[0]) for row in rows) - x
    products = sum(2 * row.number.bit_length() for row in rows)
    cell = unit or gap / (_WORK // products - 1)
    number = gap / cell
    cells = math.ceil(number - 1e-6) - 1 if strict and unit else math.floor(number + 1e-6)
    if cells < 0:
        return -math.inf
    if cells * products > 4 * _WORK or not (unit or t * cell < _FINE):
        return None
    level, product = t * cells * cell, np.ones(1)
    for row in rows:
        away = row.values[0] - row.values
        tilted = row.shares * np.exp(-t * away)
        whole = float(tilted.sum())
        level += row.number * math.log(whole)
        at = away / cell
        lower = np.floor(at + 1e-6)
        kept = lower <= cells
        upper = (
            np.clip(at - lower, 0.0, 1.0)[kept] * tilted[kept]
            if not unit
            else np.zeros(int(kept.sum()))
        )
        index = lower[kept].astype(np.int64)
        law = np.bincount(index, tilted[kept] - upper, cells + 2)
        law += np.bincount(index + 1, upper, cells + 2)
        product = _product(product, _power(law[: cells + 1] / whole, row.number))
    product = np.append(product, np.zeros(cells + 1 - len(product)))
    if not unit:
        product[-1] /= 2
    total = float(product @ np.exp(t * cell * (np.arange(cells + 1.0) - cells)))
    return level + math.log(total) if total > 0 else None


def _power(law: FloatArray, number: int) -> FloatArray:
    """The law of the sum of `number` independent terms, up to the last cell."""
    result = np.ones(1)
    while True:
        if number & 1:
            result = _product(result, law)
        number >>= 1
        if not number:
            return result
        law = _product(law, law)


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    if len(a) == 1 == a[0]:
        return b
    length = 1 << (2 * len(a) - 1).bit_length()
    product = np.fft.irfft(np.fft.rfft(a, length) * np.fft.rfft(b, length), length)
    return np.maximum(product[: len(a)], 0.0)


def _saddle(law: _Law, x: float) -> tuple[float, _Tilted]:
    """The t with K'(t) = x, and the law weighted by it; with t < 0, that of -X by |t|."""
    from scipy.optimize import brentq

    at, sign = law.tilted(), 1.0
    if x < at(0.0).mean:
        at, x, sign = law.mirrored().tilted(), -x, -1.0
    high = 1 / math.sqrt(max(at(0.0).variance, 1e-300))
    while at(high).mean < x and high < 1e300:
        high *= 2
    t = brentq(lambda t: at(t).mean - x, 0.0, high, xtol=1e-12 * high, rtol=1e-13)
    return sign * t, at(t)


def _lugannani_rice(t: float, x: float, tilted: _Tilted) -> float:
    """Log of P(X >= x) for x above the mean, from K and its derivatives at the saddle point t >= 0.

    Notes
    -----
    Lugannani and Rice, "Saddle point approximation for the distribution of the sum of independent
    random variables" (1980).
    """
    from scipy.special import erfcx

    level, variance, third = tilted.level, tilted.variance, tilted.third
    exponent = min(level - t * x, 0.0)
    r, u = math.sqrt(-2 * exponent), t * math.sqrt(variance)
    bulk = float(erfcx(r / math.sqrt(2))) / 2  # P(normal >= r) exp(r^2 / 2)
    if min(r, u) < 1e-3:  # the limit of 1 / u - 1 / r
        value = bulk - third / (6 * math.sqrt(2 * math.pi) * variance**1.5)
    else:
        value = bulk + (1 / u - 1 / r) / math.sqrt(2 * math.pi)
    return min(exponent + math.log(min(max(value, 1e-3 / (1 + r)), 1.0)), 0.0)


def spelled_p(log10_p: float) -> str:
    """Write a probability, given by its decimal logarithm, so that it is never 0.

    Examples
    --------
    >>> spelled_p(-1.0), spelled_p(-7.921), spelled_p(-8000.3)
    ('p = 0.1', 'p = 1.2e-08', 'log10 p = -8000.3')
    """
    if math.isnan(log10_p):
        return "p = nan"
    if log10_p < -300:
        return f"log10 p = {log10_p:.6g}"
    return f"p = {10**log10_p:.3g}"
