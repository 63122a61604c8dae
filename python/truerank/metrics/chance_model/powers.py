"""The chance model of power means, (sum w r^p)^(1/p)."""

from __future__ import annotations

import math
from typing import NoReturn

from .extremes import greatest, least
from .laplace import growth_moments, power_moments
from .means import Model, Moments, mean_rank, model
from .products import geometric
from .reciprocal import harmonic
from .task_groups import Tasks
from .transforms import PowerSum

# those that have a name or a method of their own
_OWN: dict[float, Model] = {
    1.0: mean_rank,
    -1.0: harmonic,
    0.0: geometric,
    math.inf: greatest,
    -math.inf: least,
}
_NEAR_ZERO = 0.05  # |p| from which on errors are small
_LEAST, _GREATEST = -4.0, 10.0  # beyond, times grow: with p the number of nodes


def power_mean(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of power_mean:p, (sum w r^p)^(1/p).

    p = 0 is the geometric mean, inf the greatest and -inf the least rank.

    Parameters
    ----------
    tasks : Tasks
    parameter : float
        p: 0, inf, -inf, and -4 <= p <= -0.05 or 0.05 <= p <= 10.

    Returns
    -------
    mean, variance : float
        Relative errors below 1e-11 in every check made, mostly near 1e-14; largest towards the
        ends of the range of p.

    Raises
    ------
    UnknownKeyError
        For any other p.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> mean, variance = power_mean(compress([2, 2]), 2)  # of 1, sqrt(2.5), sqrt(2.5), 2
    >>> round(mean, 12), round(variance, 12)
    (1.540569415042, 0.126645877437)
    """
    p = float(parameter)
    if p in _OWN:
        return _OWN[p](tasks)
    if abs(p) < _NEAR_ZERO or not _LEAST <= p <= _GREATEST:
        _refuse(p)
    return _power(tasks, p)


@model
def _power(tasks: Tasks, p: float) -> Moments:
    if tasks.count == 1:
        return mean_rank(tasks)
    total = PowerSum(tasks, p)
    if 0 < p < 1:
        first, second = growth_moments(total, 1 / p)
    else:
        first, second = power_moments(total, -1 / p, total.reach)
    scale = total.mean ** (1 / p) * (float(tasks.sizes[-1]) if p > 0 else 1.0)
    return first * scale, second * scale**2


def _refuse(p: float) -> NoReturn:
    from ..keys import UnknownKeyError

    raise UnknownKeyError(
        f"power_mean:{p:g} has no chance model: expected p = 0, inf or -inf, or "
        f"{_LEAST:g} <= p <= {-_NEAR_ZERO:g} or {_NEAR_ZERO:g} <= p <= {_GREATEST:g}"
    )
