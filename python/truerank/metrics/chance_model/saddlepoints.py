"""Tails of laws from their cumulants: the normal law far out, saddle points, inversions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from .sums import chunks
from .task_groups import Tasks

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...inputs.arrays import FloatArray
    from .order import ComplexArray

Cumulant: TypeAlias = tuple[float, float, float, float, float]  # K and its first derivatives

_ROOT = math.sqrt(2 * math.pi)
_SURE = -60.0  # with the log of the lower tail below this, the upper tail is 1
# The period of an inversion, in standard deviations and in largest steps of a task.
_PERIOD, _STEPS = 18.0, 16.0
_LEFT = 1e-9  # an inversion ends where its terms are below this share of the sum
_SIZES = 1000  # the most sizes of an inversion
_WORK = 1 << 24  # the most frequencies times nodes of an inversion
_STEEP = 15.0  # the mass is near N if it grows by more e-folds over the upper half of the ranks
_EQUAL = 1e-13  # a sum that differs less from the best possible one, relatively, equals it
_SAFETY = 2.5  # the error that is stated, in terms of the next one
_CENTRE = 1e-3  # within so many standard deviations the formula is replaced by its limit


def scaled_normal_tail(z: float) -> float:
    """P(standard normal >= z) exp(z^2 / 2) for z >= 0.

    Notes
    -----
    From z = 5 on it is the continued fraction 1 / (z + 1 / (z + 2 / (z + ...))) / sqrt(2 pi).

    Examples
    --------
    >>> scaled_normal_tail(0.0), round(scaled_normal_tail(40.0), 12)
    (0.5, 0.009967335188)
    """
    if z < 5:
        return 0.5 * math.erfc(z / math.sqrt(2)) * math.exp(z * z / 2)
    fraction = z
    for k in range(60, 0, -1):
        fraction = z + k / fraction
    return 1 / (_ROOT * fraction)


def log_normal_tail(z: float) -> float:
    """The natural logarithm of P(standard normal >= z) for any z; nan for nan.

    Examples
    --------
    >>> round(log_normal_tail(40.0), 6), log_normal_tail(-40.0)
    (-804.608442, -0.0)
    """
    if math.isinf(z):
        return -z if z > 0 else 0.0
    if z < 0:
        return math.log1p(-0.5 * math.erfc(-z / math.sqrt(2)))
    return math.log(scaled_normal_tail(z)) - z * z / 2


def lugannani_rice(
    exponent: float,
    t: float,
    variance: float,
    third: float,
    fourth: float,
    *,
    lattice: bool = False,
) -> tuple[float, float]:
    """Log of P(X >= x) for x above the mean, from cumulants at the saddle point, and its error.

    Parameters
    ----------
    exponent : float
        K(t) - t x <= 0, where K'(t) = x. For a lattice law with span 1, x is half a step lower.
    t : float
        The saddle point, >= 0.
    variance, third, fourth : float
        The second, third and fourth derivative of K at t.
    lattice : bool

    Returns
    -------
    log : float
    error : float
        2.5 times the size of the formula's next term, relative to the probability. True errors of
        65 to 1,000 tasks are up to 1.9 times the next term.

    Notes
    -----
    The source is Lugannani and Rice, "Saddle point approximation for the distribution of the sum of
    independent random variables" (1980); for lattices and the next term it is Daniels (1987). The
    formula assumes that the law is smooth: it fails for many outcomes of equal value.
    """
    sigma = math.sqrt(variance)
    r = math.sqrt(max(-2 * exponent, 0.0))
    u = (2 * math.sinh(min(t, 1400.0) / 2) if lattice else t) * sigma
    skew, excess = third / sigma**3, fourth / variance**2
    bend = excess / 8 - 5 * skew**2 / 24
    if r < _CENTRE or u < _CENTRE / 2:
        value, following = scaled_normal_tail(r) - skew / (6 * _ROOT), abs(bend) / 4
    else:
        value = scaled_normal_tail(r) + (1 / u - 1 / r) / _ROOT
        following = abs(bend / u - skew / (2 * u**2) - u**-3 + r**-3) / _ROOT if r > 1 else 0.0
    value = min(max(value, 1e-3 / (1 + r)), 1.0)
    error = _SAFETY * max(following / value, 0.1 * (abs(excess) / 8 + 5 * skew**2 / 24))
    return min(exponent + math.log(value), 0.0), error


class Cumulants:
    """The cumulant generating function of a sum over tasks of weight times f(rank).

    Parameters
    ----------
    tasks : Tasks
    f : callable
        f, monotone over the ranks; takes and returns arrays.
    cutoff : float, optional
        If given, f has one value for ranks up to it, and one for others. Otherwise f is smooth.
    """

    def __init__(
        self, tasks: Tasks, f: Callable[[FloatArray], FloatArray], cutoff: float | None = None
    ) -> None:
        self._tasks, self._f, self._cutoff = tasks, f, cutoff
        self._counts = tasks.multiplicities.astype(np.float64)
        ends = np.stack([f(np.ones(len(tasks.sizes))), f(tasks.sizes.astype(np.float64))])
        self._low, self._high = ends.min(0), ends.max(0)
        self._total_weights = tasks.weights * self._counts
        self.least = float(self._total_weights @ self._low)
        self.greatest = float(self._total_weights @ self._high)

    def _nodes(self, t: float) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield the terms w (f - max f) at nodes of the ranks, and weights times N.

        For t <= 0 min f replaces max f.
        """
        top = self._high if t > 0 else self._low
        for part, nodes, shares in self._ranks(t):
            away = self._tasks.weights[part, None] * (self._f(nodes) - top[part, None])
            # nodes beyond N have no weight, and must not overflow
            yield part, np.minimum(away, 0.0) if t > 0 else np.maximum(away, 0.0), shares

    def _ranks(self, t: float) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        if self._cutoff is None:
            for part, nodes, shares in chunks(self._tasks.sizes):
                # blocks of ranks grow from rank 1, or from N if the mass is there
                yield (
                    part,
                    np.where(
                        self._mass_near_end(t)[part, None], self._from_end(nodes, part), nodes
                    ),
                    shares,
                )
            return
        size = self._tasks.sizes.astype(np.float64)
        hits = np.minimum(self._cutoff, size)
        yield (
            slice(0, len(size)),
            np.stack([np.ones(len(size)), size], axis=1),
            np.stack([hits, size - hits], axis=1),
        )

    def _mass_near_end(self, t: float) -> npt.NDArray[np.bool_]:
        """Which tasks have most of the mass exp(t w f) near N."""
        size = self._tasks.sizes.astype(np.float64)
        rise = self._f(size) - self._f(np.maximum(size / 2, 1.0))
        found: npt.NDArray[np.bool_] = t * self._tasks.weights * rise > _STEEP
        return found

    def _from_end(self, nodes: FloatArray, part: slice) -> FloatArray:
        found: FloatArray = np.maximum(self._tasks.sizes[part, None] + 1.0 - nodes, 1.0)
        return found

    def at(self, t: float) -> Cumulant:
        """K(t) and its first four derivatives."""
        weights = self._tasks.weights
        top = self._high if t > 0 else self._low
        m = np.empty((5, len(top)))
        for part, away, shares in self._nodes(t):
            terms = np.exp(t * away) * shares
            for k in range(5):
                m[k, part] = terms.sum(axis=1)
                terms *= away
        m /= self._tasks.sizes
        a, b, c, d = m[1:] / m[0]
        k2 = np.maximum(b - a * a, 0.0)
        k3 = c - 3 * a * b + 2 * a**3
        k4 = d - 4 * a * c - 3 * b * b + 12 * a * a * b - 6 * a**4
        level, mean, variance, third, fourth = (
            float((self._counts * each).sum())
            for each in (np.log(m[0]) + t * weights * top, a + weights * top, k2, k3, k4)
        )
        return level, mean, variance, third, fourth

    def log_tail(self, x: float) -> tuple[float, float]:
        """Log of P(X >= x), and its relative error."""
        _, mean, variance, _, _ = self.at(0.0)
        if x <= self.least:
            return 0.0, 0.0
        slack = _EQUAL * abs(self.greatest)
        if x >= self.greatest - slack:
            sizes = self._tasks.sizes.astype(np.float64)
            best = np.ones(1) if self._cutoff is None else self._best_ranks(sizes)
            # the ranks of tasks that hardly weigh anything make no difference
            best = np.where(self._tasks.weights * (self._high - self._low) <= slack, sizes, best)
            return float((self._counts * np.log(best / sizes)).sum()), 0.0
        t, k = self._saddle(x, mean, variance)
        exponent = min(k[0] - t * x, 0.0)
        if t >= 0:
            log, error = lugannani_rice(exponent, t, *k[2:])
            return log, error + self._step_error(t, k[2], exponent - log)
        log, error = lugannani_rice(exponent, -t, k[2], -k[3], k[4])
        error += self._step_error(t, k[2], exponent - log)
        part = math.exp(log)
        if part == 1:
            return math.nan, math.nan
        return math.log1p(-part), error * part / (1 - part)

    def _best_ranks(self, sizes: FloatArray) -> FloatArray:
        """How many ranks have the greatest value, of a function with a cutoff."""
        hits = np.minimum(float(self._cutoff or 0), sizes)
        falls = self._f(np.ones(1))[0] > self._f(np.array([math.inf]))[0]
        return hits if falls else np.where(hits < sizes, sizes - hits, sizes)

    def _step_error(self, t: float, variance: float, over: float) -> float:
        """The error that the steps of the law may cause, where few values or few tasks decide.

        The formula leaves out all of the inversion except the bump around the saddle point. The
        size of the characteristic function at the frequencies of the largest steps estimates the
        rest.
        """
        weight = float(self._tasks.weights.max())
        top, below, last = self._f(np.array([1.0, 2.0, float(self._tasks.sizes[-1])])).tolist()
        worst = 0.0
        for step in {abs(top - below), abs(top - last)} - {0.0}:
            theta = 2 * math.pi / (weight * step)
            left = self._modulus(t, theta) / math.hypot(t, theta)
            worst = max(worst, left)
        return 2 * worst / math.sqrt(2 * math.pi * variance) * math.exp(min(over, 50.0))

    def _modulus(self, t: float, theta: float) -> float:
        """The size of the tilted characteristic function at a frequency."""
        total = 0.0
        for part, away, shares in self._nodes(t):
            terms = np.exp(t * away) * shares
            turned = np.abs((terms * np.exp(1j * theta * away)).sum(axis=1)) / terms.sum(axis=1)
            total += float((self._counts[part] * np.log(np.maximum(turned, 1e-300))).sum())
        return math.exp(total)

    def invert_tail(self, x: float) -> tuple[float, float] | None:
        """Log of P(X >= x) by inversion, and its relative error; None if it would take too long.

        It uses the midpoint rule on the line through the saddle point, or on one to the right of 0
        if x is below the mean. The sum ends where the characteristic function is negligible, as it
        becomes if ranks have many values.
        """
        if len(self._counts) > _SIZES:
            return None
        _, mean, variance, _, _ = self.at(0.0)
        t = 0.5 / math.sqrt(variance)
        if x > mean:
            t = max(t, self._saddle(x, mean, variance)[0])
        level, _, variance, _, _ = self.at(t)
        exponent = level - t * x
        step = float((self._tasks.weights * (self._high - self._low)).max())
        period = max(_PERIOD * math.sqrt(variance), _STEPS * step, min(41 / t, x - self.least))
        period = min(period, 1.01 * (self.greatest - self.least))
        parts = [(part, away, np.exp(t * away) * mass) for part, away, mass in self._nodes(t)]
        parts = [(part, away, mass / mass.sum(axis=1)[:, None]) for part, away, mass in parts]
        cells = sum(away.size for _, away, _ in parts)
        over = float(self._total_weights @ self._high) - x

        def terms(k: FloatArray) -> ComplexArray:
            theta = (k + 0.5) * (2 * math.pi / period)
            logs = 1j * theta * over
            for part, away, mass in parts:
                turned = np.exp(1j * theta[:, None, None] * away)
                with np.errstate(divide="ignore"):
                    logs += np.log(np.einsum("tcm,cm->tc", turned, mass)) @ self._counts[part]
            found: ComplexArray = np.exp(logs) / (t + 1j * theta)
            return found

        most, chunk = _WORK // cells, max(1, min(64, (1 << 18) // cells))
        probe = np.abs(terms(np.floor(np.linspace(0.7, 1.0, 8) * most))).max() * most
        if probe > 1e-3 * period:
            return None
        total, calm, left = 0.0, 0, math.inf
        for first in range(0, most, chunk):
            found = terms(np.arange(first, first + chunk, dtype=np.float64))
            total += float(found.real.sum())
            left = float(np.abs(found).max()) * (first + chunk) / max(abs(total), 1e-300)
            if left > _LEFT:
                calm = first + chunk
            elif first > 1.5 * calm:
                break
        value = total * 2 / period
        if period >= x - self.least and exponent > _SURE:
            back = math.exp(-min(t * period, 700.0))
            value += math.exp(-exponent) * back / (1 + back)
        if not value > 0:
            return None
        return min(exponent + math.log(value), 0.0), 10 * left + 1e-9

    def _saddle(self, x: float, mean: float, variance: float) -> tuple[float, Cumulant]:
        """Find the t with K'(t) = x by Newton's method in a bracket; also return K at t."""
        sign, most = math.copysign(1.0, x - mean), 3 / math.sqrt(variance)
        low, high = 0.0, math.inf  # of |t|
        size = min(abs(x - mean) / variance, most)
        for _ in range(200):
            k = self.at(sign * size)
            off = sign * (k[1] - x)
            if sign < 0 and k[0] + size * x < _SURE:
                break
            if abs(off) <= 1e-9 * math.sqrt(k[2]):
                break
            low, high = (low, size) if off > 0 else (size, high)
            moved = size - off / k[2] if k[2] > 0 else math.inf
            if high == math.inf:
                moved = min(moved, max(2 * size, most))
            if not low < moved < high:
                moved = (low + high) / 2
                if moved in (low, high):
                    break
            size = moved
        return sign * size, k
