"""How likely chance is to do at least as well as an observed value, or at least as badly."""

from __future__ import annotations

import cmath
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..ties import LOG
from .nodes import rank_nodes, stand_ins
from .order_statistics import count_tail, median_tail
from .tasks import Tasks

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray
    from .nodes import AnyArray

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
    count, single = tasks.count, bool(metric.single)
    if tasks.sizes[-1] == 1:
        return Tail(0.0, "exact")
    if metric.name == "hits" and tasks.equal:
        slack = min(1e-9 + 1e-15 * value * count, 0.25)
        hits = math.floor(value * count + slack) + 1 if worse else math.ceil(value * count - slack)
        return Tail(count_tail(tasks, parameter, hits, fewer=worse), "exact")
    if single and count == 1:
        last = _better(metric, parameter, tasks, value, worse)
        return Tail(count_tail(tasks, last, 1, fewer=worse), "exact")
    # of others, the rank that has this value if all tasks have it
    rank = 1 / value if metric.increasing and not single else value
    if metric.name in ("median", "imedian") and count % 2 == 0:
        twice = math.ceil(2 * rank - 1e-9) if worse else math.floor(2 * rank + 1e-9)
        return Tail(median_tail(tasks, twice, worse=worse), "exact")
    extremes = {("power_mean", -math.inf): 1, ("power_mean", math.inf): count}
    k = extremes.get((metric.name, parameter), 0 if count > 1 else 1)
    if k or metric.name in ("median", "imedian"):
        slack = min(1e-9 + _SLACK * rank, 0.25)
        last = math.ceil(rank - slack) - 1 if worse else math.floor(rank + slack)
        return Tail(count_tail(tasks, last, k or (count + 1) // 2, fewer=worse), "exact")
    f = LOG if (metric.name, parameter) == ("power_mean", 0) else metric.transform
    cutoff = float(min(parameter, 2**63)) if metric.name == "hits" else None
    x = value if single else float(f.of_ranks(np.array([rank]), tasks.sizes[:1], parameter)[0])
    return _Sum(tasks, f.of_ranks, parameter, cutoff, worse).tail(x)


def _better(metric: Any, parameter: float, tasks: Tasks, value: float, worse: bool) -> int:
    """Return how many ranks of one task have at least this value, or, if worse, a better one."""
    sign = -1.0 if metric.increasing else 1.0

    def badness(rank: int) -> float:
        ranks = np.array([float(rank)])
        return sign * float(metric.transform.of_ranks(ranks, tasks.sizes, parameter)[0])

    slack = _SLACK * abs(value)
    ranks = range(1, int(tasks.sizes[0]) + 1)
    if worse:
        return bisect_left(ranks, sign * value - slack, key=badness)
    return bisect_right(ranks, sign * value + slack, key=badness)


# -- sums over tasks -------------------------------------------------------------------------------

_OUTCOMES = 1 << 20  # of one task; more are grouped
_LISTED = 1 << 20  # the most outcomes of one half of the tasks
_ROWS = 128  # the most distinct laws that are convolved
_CELLS = 1 << 22  # of a convolution, at most, and of all its laws on a grid
_MULTIPLES = 60  # the smallest step between values is so many units at most
_FINE = 0.03  # e-folds per cell, up to which a grid is fine enough
_PLACES = 2.0**45  # cells from the greatest value, up to which rounding leaves its place in a cell
_FOLDS = 32.0  # e-folds between a probability and the error of its window
_WORK = 1 << 29  # outcomes times frequencies of an inversion, at most
_NODES = 1 << 13  # frequencies of an inversion, at most
_FEW = 16


class _Row(NamedTuple):
    """Like tasks: how far w f(r) of each outcome is below the greatest, shares, how many tasks."""

    away: FloatArray
    shares: FloatArray
    number: int


class _Tilted(NamedTuple):
    """The law of a sum X under the weight exp(t X).

    K(t) = log E exp(t X) is `level`, its derivatives are `mean`, `variance` and `third`. Each task
    has the outcomes `centred` about its mean with the probabilities `shares`.
    """

    level: float
    mean: float
    variance: float
    third: float
    centred: FloatArray
    shares: FloatArray


class _Sum:
    """The sum X over tasks of w f(r), with the sign that makes an observed value unlikely if large.

    Parameters
    ----------
    tasks : Tasks
    f : callable
        f, of ranks, numbers of candidates and the parameter; monotone over the ranks.
    parameter : float
    cutoff : float or None
        If given, f has one value for ranks up to it, and one for others.
    worse : bool
        Whether bad values are unlikely.
    """

    def __init__(
        self,
        tasks: Tasks,
        f: Callable[..., FloatArray],
        parameter: float,
        cutoff: float | None,
        worse: bool,
    ) -> None:
        self.tasks, self._f, self._parameter, self._cutoff = tasks, f, parameter, cutoff
        size = tasks.sizes.astype(np.float64)
        first, last = f(np.ones(len(size)), size, parameter), f(size, size, parameter)
        rising = bool((last > first).any())
        self._sign = -1.0 if rising != worse else 1.0
        ends = self._sign * tasks.weights * np.stack([first, last])
        self._low, self._high = ends.min(axis=0), ends.max(axis=0)
        self.least, self.greatest = (
            float(tasks.multiplicities @ end) for end in (self._low, self._high)
        )
        # few tasks in place of many, and nodes in place of ranks
        power = max(1.0, abs(parameter)) if cutoff is None else 1.0
        size, weight, self._numbers = stand_ins(
            tasks.sizes, tasks.weights, tasks.multiplicities, min(power, 10.0)
        )
        n, w = size[:, None], weight[:, None]
        if cutoff is None:
            nodes, self._shares = rank_nodes(size, min(power, 10.0))
        else:
            hits = np.minimum(cutoff, n)
            nodes = np.concatenate([np.ones_like(n), n], axis=1)
            self._shares = np.concatenate([hits, n - hits], axis=1) / n
        mirrored = np.maximum(n + 1 - nodes, 1)
        self._forward, self._backward = (w * self._value(r, n) for r in (nodes, mirrored))
        middle = w * self._value(np.maximum(n / 2, 1), n)
        self._last_half = (self._backward[:, :1] - middle) if cutoff is None else 0 * n

    def _value(self, ranks: FloatArray, sizes: FloatArray) -> FloatArray:
        return self._sign * self._f(ranks, sizes, self._parameter)

    def tilted(self, t: float) -> _Tilted:
        """The law under the weight exp(t X)."""
        # blocks of ranks grow from rank 1, or from N if the mass is there
        values = np.where(t * self._last_half > 5, self._backward, self._forward)
        exponents = t * values
        top = exponents.max(axis=1, keepdims=True)
        terms = np.exp(exponents - top) * self._shares
        whole = terms.sum(axis=1, keepdims=True)
        shares = terms / whole
        mean = (shares * values).sum(axis=1, keepdims=True)
        centred = values - mean
        parts = ((np.log(whole) + top)[:, 0], mean[:, 0])
        moments = ((shares * centred**k).sum(axis=1) for k in (2, 3))
        level, average, *higher = (float(self._numbers @ part) for part in (*parts, *moments))
        return _Tilted(level, average, higher[0], higher[1], centred, shares)

    def tail(self, observed: float) -> Tail:
        """P(X >= observed), by the first method that applies."""
        x = self._sign * observed
        slack = _SLACK * abs(x)
        if x <= self.least + slack:
            return Tail(0.0, "exact")
        if x >= self.greatest - slack:
            return Tail(self._log_best(0.1 * slack), "exact")
        rows = self._rows() if len(self.tasks.sizes) <= _ROWS else []
        grouped = self._cutoff is None and self.tasks.sizes[-1] > _OUTCOMES
        log = _listed(rows, self.greatest - x + slack) if rows and not grouped else None
        if log is not None:
            return Tail(log, "exact")
        t = self._saddle(x)
        tilted, window = self.tilted(t), self._window(t, x)
        if rows:
            log, method = _convolved(rows, self.greatest - x, t, _unit(rows), window)
        else:
            log, method = self._inverted(t, x, window), "inversion"
        if log is None:
            log, method = _lugannani_rice(t, x, tilted), "saddlepoint"
        log = min(log, 0.0)
        return Tail(log if t >= 0 else math.log1p(-min(math.exp(log), 1 - 1e-16)), method)

    def _log_best(self, slack: float) -> float:
        """Log of the probability that every task that matters has its greatest value."""
        size = self.tasks.sizes.astype(np.float64)
        hits = np.ones(len(size)) if self._cutoff is None else np.minimum(self._cutoff, size)
        best = size - hits if self._cutoff is not None and self._sign < 0 else hits
        matters = self._high - self._low > slack
        logs = np.log(np.where(matters, best / size, 1.0))
        return float(self.tasks.multiplicities @ logs)

    def _rows(self) -> list[_Row]:
        """The outcomes of all tasks; those of more than a million candidates are grouped."""
        columns = (self.tasks.sizes, self.tasks.weights, self.tasks.multiplicities, self._high)
        rows = []
        for size, weight, number, high in zip(*(c.tolist() for c in columns), strict=True):
            if self._cutoff is not None:
                starts = np.unique([1.0, min(self._cutoff + 1, size)])
            elif size <= _OUTCOMES:
                starts = np.arange(1.0, size + 1)
            else:
                starts = np.unique(np.floor(np.geomspace(1, size, _OUTCOMES)))
            counts = np.diff(np.append(starts, size + 1.0))
            ranks = starts + (counts - 1) / 2
            away = high - weight * self._value(ranks, np.full(len(ranks), size))
            rows.append(_Row(np.maximum(away, 0.0), counts / size, number))
        return rows

    def _saddle(self, x: float) -> float:
        """The t with K'(t) = x."""
        from scipy.optimize import brentq

        law = self.tilted(0.0)
        if x == law.mean:
            return 0.0
        end = math.copysign(1 / math.sqrt(max(law.variance, 1e-300)), x - law.mean)
        while (self.tilted(end).mean - x) * end < 0 and abs(end) < 1e300:
            end *= 2
        off = lambda t: self.tilted(t).mean - x  # noqa: E731
        return float(brentq(off, 0.0, end, xtol=1e-12 * abs(end), rtol=1e-13))

    def _window(self, t: float, x: float) -> float:
        """A distance from x beyond which there is next to nothing of the law under exp(t X)."""
        law = self.tilted(t)
        length = 16 * math.sqrt(max(law.variance, 1e-300))
        while length < self.greatest - self.least:
            steps = (_FOLDS / length, -_FOLDS / length)
            # Chernoff's bounds
            if max(self.tilted(t + s).level - law.level - s * x for s in steps) < 2:
                break
            length *= 2
        return length

    def _inverted(self, t: float, x: float, length: float) -> float | None:
        """Log of P(X >= x), or < x where t < 0, by the inversion of its Laplace transform.

        With K the logarithm of the transform, it is the integral of exp(K(s) - s x) / s over the
        line s = t + i u, divided by 2 pi i. The trapezoid rule with the step 2 pi / L adds exp(k t
        L) P(X >= x + k L) for all k other than 0 (Poisson's formula). L is so long that these
        probabilities are 0 or 1. None where that takes too long.
        """
        t = math.copysign(max(abs(t), 1 / length), t)
        line, step = self.tilted(t), 2 * math.pi / length
        most = min(_NODES, _WORK // line.shares.size)

        def transform(terms: AnyArray) -> complex:
            return cmath.exp(complex(np.log(terms.sum(axis=1)) @ self._numbers))

        ends = (line.shares * np.exp(1j * k * step * line.centred) for k in (most, 0.6 * most))
        if min(abs(transform(end)) for end in ends) > 1e-3:  # it does not fall
            return None
        turn = np.exp(1j * step * line.centred)
        terms, total, few = line.shares.astype(np.complex128), 0.5 / t + 0j, 0
        for k in range(1, most):
            terms *= turn
            term = transform(terms) / (t + 1j * k * step)
            total += cmath.exp(1j * k * step * (line.mean - x)) * term
            few = few + 1 if abs(term) * k < 1e-10 * abs(total) else 0
            if few == _FEW:
                exponent, folds = line.level - t * x, abs(t) * length
                # the certain tail at a distance of L; far out it is negligible
                wrapped = math.exp(-exponent) / math.expm1(folds) if folds < 40 else 0.0
                found = abs(total.real) * step / math.pi - wrapped
                return exponent + math.log(found) if found > 0 else None
        return None


def _listed(rows: list[_Row], most: float) -> float | None:
    """Log of P(the sum of `away` is at most so much) from all outcomes; None if they are too many.

    The outcomes of one half of the tasks are sorted. For each outcome of the other half, those that
    suffice are at the beginning.
    """
    if sum(row.number for row in rows) > 64:
        return None
    each = [row for row in rows for _ in range(row.number)]
    halves = [(np.zeros(1), np.zeros(1)), (np.zeros(1), np.zeros(1))]
    for row in sorted(each, key=lambda row: -len(row.away)):
        halves.sort(key=lambda half: len(half[0]))
        sums, logs = halves[0]
        if len(sums) * len(row.away) > _LISTED:
            return None
        halves[0] = (
            np.add.outer(sums, row.away).ravel(),
            np.add.outer(logs, np.log(row.shares)).ravel(),
        )
    (one, log_one), (two, log_two) = halves
    order = np.argsort(two)
    up_to_each = np.append(-math.inf, np.logaddexp.accumulate(log_two[order]))
    logs = log_one + up_to_each[np.searchsorted(two[order], most - one, side="right")]
    top = float(logs.max())
    return min(top + math.log(float(np.exp(logs - top).sum())), 0.0)


def _unit(rows: list[_Row]) -> float:
    """The step of the lattice on which all values lie; 0 if there is none."""
    steps = np.unique(np.concatenate([row.away[row.away > 0] for row in rows]))
    ratios = steps / steps[0]
    for multiple in range(1, _MULTIPLES + 1):
        off = (np.abs(np.remainder(r * multiple + 0.5, 1) - 0.5) for r in (ratios[:99], ratios))
        if ratios[-1] * multiple < _CELLS and all((part < 1e-6).all() for part in off):
            return float(steps[0] / multiple)
    return 0.0


def _convolved(
    rows: list[_Row], gap: float, t: float, unit: float, window: float
) -> tuple[float | None, str]:
    """Log of P(the sum of `away` is at most the gap), or more where t < 0; None if too rough.

    Laws under the weight exp(-t away) are multiplied as Fourier transforms, of the period of the
    window. Their values lie on the lattice of the unit, or they are divided between the next two
    cells of a grid, so that their means are kept. The weight keeps the digits of far tails.
    """
    span = sum(row.number * float(row.away.max()) for row in rows)
    length = 2 * min(window, span)
    if not unit or length / unit > _CELLS:
        unit = 0.0
    cells = 1 << math.ceil(math.log2(length / unit + 4)) if unit else _CELLS // (4 * len(rows))
    cell = unit or gap / math.ceil(gap * cells / (1.01 * length))
    if not unit and (abs(t) * cell > _FINE or gap > cell * _PLACES):
        return None, ""
    at_gap = math.floor(gap / cell + 1e-6)
    level, transform = t * at_gap * cell, np.ones(cells // 2 + 1, dtype=np.complex128)
    for row in rows:
        exponents = -t * row.away
        tilted = row.shares * np.exp(exponents - exponents.max())
        whole = float(tilted.sum())
        level += row.number * (math.log(whole) + float(exponents.max()))
        at = row.away / cell
        lower = np.rint(at) if unit else np.floor(at)
        upper = (at - lower) * (not unit) * tilted / whole
        index = (lower % cells).astype(np.int64)
        law = np.bincount(index, tilted / whole - upper, cells)
        law += np.bincount((index + 1) % cells, upper, cells)
        transform *= np.fft.rfft(law) ** row.number
    product = np.maximum(np.fft.irfft(transform, cells), 0.0)
    away = np.arange(cells // 2)
    weights = np.exp(-abs(t) * cell * away)
    weights[0] = (t >= 0) if unit else 0.5  # the observed value itself
    total = float(product[(at_gap - away if t >= 0 else at_gap + away) % cells] @ weights)
    log = level + math.log(total) if total > 0 else -math.inf
    return log, "exact" if unit else "convolution"


def _lugannani_rice(t: float, x: float, law: _Tilted) -> float:
    """Log of P(X >= x), or < x where t < 0, from K and its derivatives at the saddle point t.

    Notes
    -----
    Lugannani and Rice, "Saddle point approximation for the distribution of the sum of independent
    random variables" (1980).
    """
    from scipy.special import erfcx

    exponent = min(law.level - t * x, 0.0)
    r, u = math.sqrt(-2 * exponent), abs(t) * math.sqrt(law.variance)
    bulk = float(erfcx(r / math.sqrt(2))) / 2  # P(normal >= r) exp(r^2 / 2)
    if min(r, u) < 1e-3:  # the limit of 1 / u - 1 / r
        skew = math.copysign(law.third, t * law.third) / (6 * law.variance**1.5)
        value = bulk - skew / math.sqrt(2 * math.pi)
    else:
        value = bulk + (1 / u - 1 / r) / math.sqrt(2 * math.pi)
    return exponent + math.log(min(max(value, 1e-3 / (1 + r)), 1.0))


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
