"""Mean and variance under chance of a mean of f(r) over tasks, derived from f.

The rank of a task with N candidates is uniform on 1..N, and tasks are independent. So the moments
of the mean are sums over tasks of those of f(r), and these are sums over the ranks of one task.
Those of mr, mrr and hits@k, the numbers of the papers, are closed forms; docs/chance.md derives
both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...errors import UnknownKeyError
from ..sampled_hits import MOST, SAMPLED_HIT
from ..ties import DISCOUNT, mean_power
from .nodes import rank_nodes
from .tasks import ChanceModel, Moments, Tasks, model

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...arrays.types import FloatArray, IntArray
    from ..ties import Parameter, RankFunction

    SingleModel: TypeAlias = Callable[[IntArray, Parameter], tuple[FloatArray, FloatArray]]

_LISTED = 1 << 12  # Up to so many candidates every rank is listed.
_LISTED_ROWS = 64  # So many numbers of candidates, whose ranks are listed, are computed at once.
_ROWS = 1024  # So many, whose nodes stand for their ranks, are computed at once.
_COARSEST = 4.0  # A block of ranks is an octave; with twice the power it is half of one.
_FINEST = 2.0**14  # With this power each rank is a node up to some 60,000.
_MOST = 2**62  # No number of candidates is much larger, while a cutoff may have any digits.
_NEAR = 1e-13  # Two rules may differ by this share of a mean.
_NEAR_VARIANCE = 1e-11


def mean_model(single: SingleModel) -> ChanceModel:
    """Make the chance model of a mean over tasks from the moments of f for one task.

    Parameters
    ----------
    single : callable
        Returns mean and variance of f(r) for numbers of candidates and a parameter.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress, rank_moments
    >>> mean_model(rank_moments)(compress([3, 5]), 0)
    (2.5, 0.6666666666666666)
    """

    @model
    def moments_of_mean(tasks: Tasks, parameter: float = 0) -> Moments:
        return sum_over_tasks(tasks, *single(tasks.sizes, parameter))

    return moments_of_mean


def sum_over_tasks(tasks: Tasks, mean: FloatArray, variance: FloatArray) -> Moments:
    """Mean and variance of the weighted mean, from those of each task."""
    if not variance.any():  # Chance has one value, as for hits@k where k reaches all candidates.
        return float(mean[0]), 0.0
    shares = tasks.weights * tasks.multiplicities
    return float((shares * mean).sum()), float((shares * (tasks.weights * variance)).sum())


def moments_from(f: RankFunction, name: str) -> SingleModel:
    """Make what returns mean and variance of f(r) for numbers of candidates, from f alone.

    Parameters
    ----------
    f : RankFunction
        A smooth function, asked at ranks that are no integers, too. One with jumps is right up to
        4,096 candidates, where every rank is listed, and beyond where the nodes find the jump.
    name : str
        The metric, for the error.

    Examples
    --------
    >>> from truerank.metrics.ties import RECIPROCAL
    >>> moments_from(RECIPROCAL, "mrr")(np.array([1, 2]), 0)
    (array([1.  , 0.75]), array([0.    , 0.0625]))
    """

    def moments_of_one(sizes: IntArray, parameter: float = 0) -> tuple[FloatArray, FloatArray]:
        found = np.empty((2, len(sizes)))
        (few,) = np.nonzero(sizes <= _LISTED)
        (many,) = np.nonzero(sizes > _LISTED)
        for part in _parts(few, _LISTED_ROWS):
            found[:, part] = _sums(f, sizes[part], parameter, *_all_ranks(sizes[part]))
        for part in _parts(many, _ROWS):
            found[:, part] = _sums_over_nodes(f, name, sizes[part], parameter)
        mean, variance = found
        return mean, variance

    return moments_of_one


def up_to_cutoff(single: SingleModel) -> SingleModel:
    """Make what returns mean and variance of f(r) up to a cutoff k, and 0 beyond, from those of f.

    Of N ranks q = min(k / N, 1) are within the cutoff, where f has the mean m and the variance v of
    as many candidates: the mean is q m, the variance q v + q (1 - q) m^2. Without k they are those
    of f.

    Examples
    --------
    >>> from truerank.metrics.ties import RECIPROCAL
    >>> up_to_cutoff(moments_from(RECIPROCAL, "mrr"))(np.array([2, 4]), 2)
    (array([0.75 , 0.375]), array([0.0625  , 0.171875]))
    """

    def moments_within(sizes: IntArray, k: Parameter = 0) -> tuple[FloatArray, FloatArray]:
        if not k:
            return single(sizes, k)
        within = np.minimum(sizes, min(k, _MOST))
        mean, variance = single(within, k)
        q = within / sizes
        return q * mean, q * variance + q * ((sizes - within) / sizes) * np.square(mean)

    return moments_within


def _parts(places: IntArray, step: int) -> list[IntArray]:
    return [places[first : first + step] for first in range(0, len(places), step)]


def _all_ranks(sizes: IntArray) -> tuple[FloatArray, FloatArray]:
    """Every rank and its share, in the form of `rank_nodes`; a rank beyond N has the share 0."""
    n = sizes[:, None].astype(np.float64)
    ranks = np.arange(1.0, float(sizes.max()) + 1)
    return np.minimum(ranks, n), (ranks <= n) / n


def _sums_over_nodes(f: RankFunction, name: str, sizes: IntArray, parameter: float) -> FloatArray:
    """Mean and variance of f for each number of candidates; shape (2, d).

    Where a rule of shorter blocks of ranks differs, blocks are halved until nothing changes. Then
    the ranks about a jump of f are nodes themselves.
    """
    coarse = _sums(f, sizes, parameter, *_nodes(sizes, _COARSEST))
    found = _sums(f, sizes, parameter, *_nodes(sizes, 2 * _COARSEST))
    for i in np.flatnonzero(~_are_near(coarse, found)).tolist():
        alone = slice(i, i + 1)
        before = found[:, alone]
        power = 4 * _COARSEST
        after = _sums(f, sizes[alone], parameter, *_nodes(sizes[alone], power))
        while not _are_near(before, after).all():
            power *= 2
            if power > _FINEST:
                raise UnknownKeyError(
                    name,
                    f"has no chance model of {sizes[i]:,} candidates: f of its rank is not smooth; "
                    "give the row `moments`, those of f in closed form",
                )
            before = after
            after = _sums(f, sizes[alone], parameter, *_nodes(sizes[alone], power))
        found[:, alone] = after
    return found


def _nodes(sizes: IntArray, power: float) -> tuple[FloatArray, FloatArray]:
    """The nodes for functions as steep as a power of the rank, whole where they are ranks."""
    nodes, shares = rank_nodes(sizes, power)
    # The nodes of a short run are its ranks, but for rounding, which a jump of f would show.
    whole = np.rint(nodes)
    return np.where(np.abs(nodes - whole) < 1e-13 + 1e-15 * nodes, whole, nodes), shares


def _sums(
    f: RankFunction, sizes: IntArray, parameter: float, ranks: FloatArray, shares: FloatArray
) -> FloatArray:
    """Mean and variance of f over ranks with shares, all of shape (d, m); shape (2, d)."""
    candidates = np.broadcast_to(sizes[:, None], ranks.shape)
    values = f.of_ranks(ranks, candidates, parameter)
    mean = (shares * values).sum(axis=1)
    variance = (shares * np.square(values - mean[:, None])).sum(axis=1)
    return np.stack([mean, variance])


def _are_near(one: FloatArray, other: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether two rules give the same moments, up to rounding; bool, shape (d,)."""
    mean, variance = np.abs(other)
    means_differ, variances_differ = np.abs(one - other)
    near: npt.NDArray[np.bool_] = means_differ <= _NEAR * mean
    # Values are rounded, which a small variance shows.
    seen = 10 * _NEAR * mean * np.sqrt(variance) + np.square(_NEAR * mean)
    near &= variances_differ <= _NEAR_VARIANCE * variance + seen
    return near


# -- closed forms ----------------------------------------------------------------------------------


def rank_moments(sizes: IntArray, parameter: float = 0) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of r, (N + 1) / 2 and (N^2 - 1) / 12; float64, shape (d,) both.

    Notes
    -----
    "A Unified Framework for Rank-based Evaluation Metrics" (2022) prints 1 / n for the 1 / n^2 of
    the variance of mr (equation 7).

    Examples
    --------
    >>> rank_moments(np.array([3, 5]))
    (array([2., 3.]), array([0.66666667, 2.        ]))
    """
    n = sizes.astype(np.float64)
    return (n + 1) / 2, (n - 1) * (n + 1) / 12


def reciprocal_moments(sizes: IntArray, parameter: float = 0) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of 1 / r, H / N and H2 / N - (H / N)^2.

    H and H2 are the sums of 1/r and of 1/r^2 over r = 1..N.

    Notes
    -----
    "A Unified Framework" (2022), equations 10 to 13, has the continuous log(N) / (N - 1) for H / N
    and a variance without the square, which is negative.

    Examples
    --------
    >>> reciprocal_moments(np.array([1, 2]))
    (array([1.  , 0.75]), array([0.    , 0.0625]))
    """
    first = np.ones(sizes.shape)
    mean = mean_power(first, sizes, -1.0)
    return mean, mean_power(first, sizes, -2.0) - mean**2


def hit_moments(sizes: IntArray, parameter: float) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of r <= k, q and q (1 - q) with q = min(k / N, 1).

    Notes
    -----
    "A Unified Framework" (2022), equations 16 and 18, prints k (N - k) / N for the variance.

    Examples
    --------
    >>> hit_moments(np.array([10, 3]), 5)
    (array([0.5, 1. ]), array([0.25, 0.  ]))
    """
    n = sizes.astype(np.float64)
    # No rank is beyond 2**63, while a cutoff may have any number of digits.
    k = float(min(parameter, 2**63))
    q = np.minimum(k / n, 1)
    return q, q * np.maximum(n - k, 0) / n


mean_rank = mean_model(rank_moments)
reciprocal_rank = mean_model(reciprocal_moments)
hits = mean_model(hit_moments)


reciprocal_moments_within = up_to_cutoff(reciprocal_moments)
discount_moments_within = up_to_cutoff(moments_from(DISCOUNT, "ndcg"))
_moments_of_sampled_hits = moments_from(SAMPLED_HIT, "sampled_hits")


def sampled_hit_moments(sizes: IntArray, cutoff: Any) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of `hit_share` for each number of candidates, of a uniform rank.

    Among n drawn negatives the place of the true candidate is uniform, too: the mean is that of
    hits at k among n + 1 candidates.

    Examples
    --------
    >>> from truerank.metrics.sampled_hits import DrawnCutoff
    >>> sampled_hit_moments(np.array([3, 101]), DrawnCutoff(10, 50))[0]
    array([1.        , 0.19607843])
    """
    drawn = np.minimum(sizes - 1.0, min(cutoff.negatives, MOST))
    mean = np.minimum(min(cutoff.k, MOST) / (drawn + 1), 1.0)
    _, variance = _moments_of_sampled_hits(sizes, cutoff)
    return mean, variance
