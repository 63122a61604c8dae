"""Fit a law of ranks to counts by maximum likelihood, and find the laws that fit nearly as well.

The likelihood of shares t of laws is sum_b n h_b log (P t)_b over bins b with the share h_b of the
n tasks. It is concave in t, and so are its profiles along any mean f t.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray

EM_STEPS = 300
GAP = 1e-3  # how far the log-likelihood of a fit may be from its maximum
MAX_STEPS = 100  # of Newton's method; it takes about 15
MAX_TRIALS = 40  # of the multiplier of a bound; it takes about 6
ROUNDING = 1e-9  # all shares of a law are above 0, some by no more than this
NEAR = 0.02  # how near the log-likelihood of a bound comes to the threshold, relatively


def smoothed_fit(likelihood: FloatArray, shares: FloatArray, start: FloatArray) -> FloatArray:
    """Take `EM_STEPS` steps of the EM algorithm from a smooth law.

    Each step raises the likelihood. The maximum itself concentrates on a few ranks and follows the
    noise of the sample; the early end keeps the law smooth where the sample says nothing.

    Parameters
    ----------
    likelihood : ndarray of float64, shape (bins, laws)
    shares : ndarray of float64, shape (bins,)
    start : ndarray of float64, shape (laws,)

    Examples
    --------
    >>> smoothed_fit(np.eye(2), np.array([0.25, 0.75]), np.array([0.5, 0.5]))
    array([0.25, 0.75])
    """
    law = start
    for _ in range(EM_STEPS):
        law = law * ((shares / (likelihood @ law)) @ likelihood)
    return law


def fit(
    likelihood: FloatArray,
    shares: FloatArray,
    tasks: float,
    slope: FloatArray | None = None,
) -> FloatArray:
    """Maximise sum_b h_b log (P t)_b + slope t over shares t, by an interior-point method.

    Parameters
    ----------
    likelihood : ndarray of float64, shape (bins, laws)
        P.
    shares : ndarray of float64, shape (bins,)
        h, above 0, with sum 1.
    tasks : float
        n: the log-likelihood of all tasks is within `GAP` of its maximum.
    slope : ndarray of float64, shape (laws,), optional

    Returns
    -------
    ndarray of float64, shape (laws,)
        Above 0, with sum 1.

    Examples
    --------
    >>> fit(np.eye(2), np.array([0.25, 0.75]), 100).round(4)
    array([0.25, 0.75])
    """
    laws = likelihood.shape[1]
    tilt = np.zeros(laws) if slope is None else slope
    law = np.full(laws, 1 / laws)
    centre = GAP / (max(tasks, 1.0) * laws)  # the products of shares and their duals at the end
    dual = np.full(laws, 1.0)
    level = 0.0
    for _ in range(MAX_STEPS):
        mixed = likelihood @ law
        ratio: FloatArray = shares / mixed
        gradient = -(ratio @ likelihood) - tilt
        aim = max(centre, 0.2 * float(law @ dual) / laws)
        curvature = (likelihood * (ratio / mixed)[:, None]).T @ likelihood
        curvature[np.diag_indices(laws)] += dual / law
        sides = np.stack([aim / law - gradient - level, np.ones(laws)], axis=1)
        moved, unit = np.linalg.solve(curvature, sides).T
        more = float((moved.sum() + law.sum() - 1) / unit.sum())
        step = moved - more * unit
        dual_step = aim / law - dual - dual / law * step
        length, dual_length = _longest(law, step), _longest(dual, dual_step)
        law, level = law + length * step, level + length * more
        dual = dual + dual_length * dual_step
        if aim == centre and min(length, dual_length) > 0.9:
            residual = np.abs(gradient_of(likelihood, shares, law) - tilt - dual + level).max()
            if residual < 1e-6 * (1 + abs(level)) and float(law @ dual) < 2 * centre * laws:
                break
    found: FloatArray = law / law.sum()
    return found


def gradient_of(likelihood: FloatArray, shares: FloatArray, law: FloatArray) -> FloatArray:
    """The derivative of minus the mean log-likelihood by the shares of laws."""
    slope: FloatArray = -((shares / (likelihood @ law)) @ likelihood)
    return slope


def log_likelihood(likelihood: FloatArray, shares: FloatArray, law: FloatArray) -> float:
    """The mean log-likelihood of a task."""
    return float(shares @ np.log(likelihood @ law))


class Profile:
    """The laws whose likelihood is near its maximum, and the range of any mean over them.

    Parameters
    ----------
    likelihood : ndarray of float64, shape (bins, laws)
    shares : ndarray of float64, shape (bins,)
    tasks : float
        The number of tasks.
    threshold : float
        The log-likelihood of all tasks may be lower than its maximum by this number, times
        `inflation`.
    inflation : callable, optional
        Returns by how much clusters inflate the variance of a score, given for each bin; 1 if not
        given.
    """

    def __init__(
        self,
        likelihood: FloatArray,
        shares: FloatArray,
        tasks: float,
        threshold: float,
        inflation: Callable[[FloatArray], float] | None = None,
    ) -> None:
        self._likelihood, self._shares, self._tasks = likelihood, shares, tasks
        self._threshold, self._inflation = threshold, inflation
        self.best = fit(likelihood, shares, tasks)
        self._most = log_likelihood(likelihood, shares, self.best)

    def bound(self, values: FloatArray, sign: int) -> float:
        """The least (sign -1) or the largest (sign 1) mean of values, one for each law."""
        extent = float(np.ptp(values))
        if extent == 0:
            return float(values[0])
        first, law = self._reach(values, sign, self._threshold, None)
        if self._inflation is not None:
            ratio = self._likelihood @ law / (self._likelihood @ self.best)
            inflated = self._threshold * max(self._inflation(ratio - 1), 1.0)
            if inflated > self._threshold * (1 + NEAR):
                first, law = self._reach(values, sign, inflated, first)
        outer = max if sign > 0 else min
        end = outer(float(values @ law), float(values @ self.best))  # the best is so within `GAP`
        extreme = float(outer(values))
        return extreme if abs(end - extreme) < ROUNDING * extent else end

    def _reach(
        self, values: FloatArray, sign: int, threshold: float, first: float | None
    ) -> tuple[float, FloatArray]:
        """The multiplier at which the loss of likelihood is the threshold, and its law."""
        extent = float(np.ptp(values))
        log = math.log(math.sqrt(threshold / self._tasks) / extent) if first is None else first
        low = high = None
        best = self.best
        for _ in range(MAX_TRIALS):
            law = fit(self._likelihood, self._shares, self._tasks, sign * math.exp(log) * values)
            loss = self._tasks * (self._most - log_likelihood(self._likelihood, self._shares, law))
            place = math.log(max(loss, 1e-3 * threshold) / threshold)
            if place <= 0:
                low, best = (log, place), law
            else:
                high = (log, place)
            if abs(place) < NEAR:
                return log, law
            if low and high and high[0] - low[0] < 1e-3:
                break
            if low is None:
                log -= max(place / 2, 0.5)
            elif high is None:
                log += max(-place / 2, 0.5)
                if log > low[0] and math.exp(log) * extent > 1e6:
                    break  # the extreme law is within the threshold
            else:
                share = low[1] / (low[1] - high[1])
                log = low[0] + min(max(share, 0.1), 0.9) * (high[0] - low[0])
        return log, best


def _longest(x: FloatArray, step: FloatArray) -> float:
    """The longest step up to 1 that keeps all x above 0."""
    down = step < 0
    if not down.any():
        return 1.0
    return min(1.0, 0.995 * float((-x[down] / step[down]).min()))
