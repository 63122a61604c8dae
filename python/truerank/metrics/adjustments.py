"""Metrics adjusted for chance: each rank uniform on 1..N, tasks independent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.checks import is_integer
from ..inputs.errors import InputValueError
from ..inputs.naming import public
from .chance_model import compress
from .keys import NO_ADJUSTMENT, Key, parse_alone
from .kinds import UnknownKeyError
from .metric_table import ADJUSTMENTS, METRICS, metric_value

if TYPE_CHECKING:
    import numpy.typing as npt

    from .kinds import Sample
    from .metric_table import ChanceModel


@public("truerank")
def chance(
    metric: str,
    candidates: int | npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike],
    weights: npt.ArrayLike | None = None,
) -> tuple[float, float]:
    """Return the mean and variance of a metric where each rank is uniform on 1..N, independently.

    They are exact up to rounding, without simulation. With the normalised weights w of the tasks:

    - mr: sum w (N + 1) / 2 and sum w^2 (N^2 - 1) / 12;
    - mrr: sum w H_N / N and sum w^2 (H_N^(2) / N - (H_N / N)^2), harmonic numbers of order 1, 2;
    - hits@k: sum w p and sum w^2 p (1 - p), with p = min(k / N, 1);
    - gmr, igmr: products over the tasks of the moments of r^w and r^-w;
    - imr, hmr, power_mean:p (-4 <= p <= 10 with |p| >= 0.05; p = 0, inf and -inf have formulas of
      their own): an integral of the Laplace transform, since E(1 / X) is not 1 / E(X);
    - median, imedian: from the order statistics.

    Adjust with these values: the literature prints the variance of the mean rank with 1/n for
    1/n^2, and a continuous approximation of H_N / N.

    Parameters
    ----------
    metric : str
        A key without side, kind and adjustment: "mrr", "hits@10", "power_mean:2".
    candidates : array_like of int, shape (n,), a pair (values, multiplicities), or int
        The number of candidates of every task, the true one included, each >= 1; or the distinct
        numbers and how many tasks have each. A tuple of two sequences is such a pair. An int is the
        number of candidates of one task.
    weights : array_like of float, shape of candidates or values, optional
        The weights of the tasks: finite, >= 0, not all 0. Only their ratios matter.

    Returns
    -------
    mean, variance : float
        (nan, nan) without tasks. Exactly (1, 0) where every N is 1, and for hits@k with k >= N.

    Raises
    ------
    KeyError
        For an unknown metric, one that has no chance model (std, variance, mad, count; the median
        with unequal weights), and for a key with side, kind or adjustment.
    TypeError, ValueError
        For invalid candidates or weights.

    Notes
    -----
    The cost grows with the number of distinct N, not with the number of tasks. Ties do not matter:
    the model has none.

    Examples
    --------
    >>> chance("mr", [3, 3])
    (2.0, 0.3333333333333333)
    >>> round(chance("mrr", 40943)[0], 9)
    0.000273482
    >>> mean, variance = chance("hits@1", ([10, 20], [100, 100]))
    >>> round(mean, 12), round(variance, 12)
    (0.075, 0.00034375)
    """
    key = parse_alone(metric)
    tasks = compress(np.array([candidates]) if is_integer(candidates) else candidates, weights)
    if weights is not None and not tasks.count and np.size(weights):
        raise InputValueError(
            "weights", expected="at least one task with a weight above 0", got="none"
        )
    return _chance_model(key)(tasks, key.parameter)


@public("truerank.metrics")
def moments(key: Key, candidates: Any, weights: Any = None) -> tuple[float, float]:
    """Return the mean and variance under chance of a key's metric; nan without a weight above 0."""
    return _chance_model(key)(compress(candidates, weights), key.parameter)


def _chance_model(key: Key) -> ChanceModel:
    model = METRICS[key.metric].chance
    if model is None:
        raise UnknownKeyError(f"{str(key)!r}: {key.metric} has no chance model")
    return model


@public("truerank.metrics")
def compute(key: Key, sample: Sample, memo: dict[Any, Any] | None = None) -> float:
    """Compute the value of a key from the ranks of its side and kind; nan without tasks.

    Parameters
    ----------
    key : Key
        Its side and kind have been applied already: the sample holds those ranks.
    sample : Sample
    memo : dict, optional
        Where the mean and variance under chance are kept for other kinds and adjustments of the
        same tasks.

    Examples
    --------
    >>> import numpy as np
    >>> from truerank.metrics import Sample, parse
    >>> compute(parse("hits@3"), Sample(np.array([1.0, 4.0]), np.array([9, 9])))
    0.5
    """
    measured = metric_value(METRICS[key.metric], sample, key.parameter)
    if key.adjustment == NO_ADJUSTMENT:
        return measured
    return adjusted(key, measured, *kept_moments({} if memo is None else memo, key, sample))


@public("truerank.metrics")
def adjusted(key: Key, measured: float, mean: float, variance: float) -> float:
    """Adjust a value as a key says, with the mean and variance under chance.

    Examples
    --------
    >>> from truerank.metrics import parse
    >>> adjusted(parse("amri"), 1.5, 2.0, 1 / 3)
    0.5
    """
    if math.isnan(measured):
        return math.nan
    return ADJUSTMENTS[key.adjustment](measured, mean, variance, METRICS[key.metric].optimum)


def kept_moments(memo: dict[Any, Any], key: Key, sample: Sample) -> tuple[float, float]:
    """Return mean and variance under chance of a key's metric, computed once for each side.

    Parameters
    ----------
    memo : dict
        Where results are kept: the memo of the Ranks that the sample is taken from, with the
        weights in force.
    key : Key
        Its kind and adjustment do not matter.
    sample : Sample
        The tasks of its side.
    """
    place = "chance", key.of_tasks
    if place not in memo:
        memo.setdefault(place, moments(key, sample.candidates, sample.weights))
    found: tuple[float, float] = memo[place]
    return found
