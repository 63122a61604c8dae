"""The chance model of the least and of the greatest rank: power means of p = -inf and inf."""

from __future__ import annotations

import numpy as np

from .means import Moments, model
from .sums import chunks
from .task_groups import Tasks

_NEGLIGIBLE = 200.0  # exp(-200) of a probability is nothing beside it
_ALMOST = 1 - 2.0**-53  # x / N that is rounded to 1, though x < N


@model
def least(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of the least rank; weights above 0 make no difference.

    P(least > x) is the product of 1 - x / N over the tasks, and moments are sums of it over x.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> mean, variance = least(compress([2, 2]))  # 1 in three cases of four
    >>> round(mean, 12), round(variance, 12)
    (1.25, 0.1875)
    """
    if tasks.sizes[0] == 1:
        return 1.0, 0.0
    n, number = tasks.sizes.astype(np.float64), tasks.multiplicities.astype(np.float64)
    one = two = 0.0
    for _, nodes, weights in chunks(tasks.sizes[:1] - 1):
        x = nodes[0]
        logs = np.full(len(x), -np.inf)
        for i in np.argsort(x):
            logs[i] = np.log1p(-np.minimum(x[i] / n, _ALMOST)) @ number
            if logs[i] < logs.max() - _NEGLIGIBLE:
                break
        above = weights[0] * np.exp(logs)
        one += float(above.sum())
        two += float((above * (2 * x - 1)).sum())
    return 1 + one, two - one**2


@model
def greatest(tasks: Tasks, parameter: float = 0) -> Moments:
    """Mean and variance of the greatest rank; weights above 0 make no difference.

    P(greatest <= x) is the product of x / N over N > x: between two sizes a power of x. Moments
    are sums of it over the distance from the greatest N.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> mean, variance = greatest(compress([2, 2]))
    >>> round(mean, 12), round(variance, 12)
    (1.75, 0.1875)
    """
    tops = tasks.sizes[::-1]
    lengths = -np.diff(tops, append=1)  # x = top - 1, ..., next top
    powers = np.cumsum(tasks.multiplicities[::-1], dtype=np.float64)  # tasks with N > x
    n = tops.astype(np.float64)
    drops = powers * np.log1p(-np.minimum(lengths / n, _ALMOST))
    logs = np.concatenate([[0.0], np.cumsum(drops)[:-1]])  # of P(greatest <= top)
    first = int(np.flatnonzero(lengths)[0])
    limit = powers[first] * np.log1p(-1 / n[first]) - _NEGLIGIBLE
    kept = np.flatnonzero((lengths > 0) & (logs >= limit))
    n, powers, logs = n[kept, None], powers[kept, None], logs[kept, None]
    distances = (tops[0] - tops[kept, None]).astype(np.float64)
    one = two = 0.0
    for part, nodes, weights in chunks(lengths[kept]):
        # P(greatest <= top - j), j = 1, 2, ...
        inside = np.minimum(nodes / n[part], _ALMOST)
        below = weights * np.exp(logs[part] + powers[part] * np.log1p(-inside))
        one += float(below.sum())
        two += float((below * (2 * (nodes + distances[part]) - 1)).sum())
    return float(tops[0]) - one, two - one**2
