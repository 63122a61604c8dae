"""The chance model: mean and variance of every metric where all ranks are equally likely.

The rank of a task with N candidates is uniform on 1..N, tasks are independent, and N and the
weight may differ from task to task. Every model takes tasks (made by `compress`) and the metric's
parameter, and returns two floats: (nan, nan) without tasks, and exactly (1, 0) where every task has
a single candidate. Results are float64 and deterministic, without simulation.

Here are the models of means of f(r), derived from f, and the closed forms of the papers;
`transforms` and `order_statistics` have what takes quadrature. docs/chance.md derives all of them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ..arrays.row_keys import occurrences_of
from ..errors import InputValueError, UnknownKeyError
from ..inputs.array_likes import checked_weights, integers
from ..inputs.checks import has_dimensions
from .ties import DISCOUNT, MOST, SAMPLED_HIT, mean_power

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray
    from .ties import Parameter, RankFunction

    AnyArray: TypeAlias = npt.NDArray[Any]  # It is of float64 or complex128.
    CandidatesLike: TypeAlias = npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike]
    SingleModel: TypeAlias = Callable[[IntArray, Parameter], tuple[FloatArray, FloatArray]]

# -- tasks -----------------------------------------------------------------------------------------

Moments: TypeAlias = tuple[float, float]


# Its arguments are the tasks and the metric's parameter.
ChanceModel: TypeAlias = Callable[["Tasks", float], Moments]


def model(moments: ChanceModel) -> ChanceModel:
    """Make a chance model that returns nan without tasks, and (1, 0) for single candidates."""

    @functools.wraps(moments)
    def with_special_cases(tasks: Tasks, parameter: float = 0) -> Moments:
        if not len(tasks.sizes):
            return math.nan, math.nan
        if tasks.sizes[-1] == 1:
            return 1.0, 0.0
        return moments(tasks, parameter)

    return with_special_cases


class Tasks(NamedTuple):
    """Tasks by their distinct pairs of candidates and weight, without tasks of weight 0.

    Attributes
    ----------
    sizes : ndarray of int64, shape (d,)
        The number of candidates N >= 1, ascending; within one size the weights ascend.
    weights : ndarray of float64, shape (d,)
        The weight of one such task, > 0; the weights of all tasks sum to 1.
    multiplicities : ndarray of int64, shape (d,)
        The number of such tasks, >= 1.
    """

    sizes: IntArray
    weights: FloatArray
    multiplicities: IntArray

    @property
    def count(self) -> int:  # type: ignore[override]  # in place of tuple.count
        """The number of tasks."""
        return int(self.multiplicities.sum())


def compress(candidates: CandidatesLike, weights: npt.ArrayLike | None = None) -> Tasks:
    """Count the tasks of each number of candidates and each weight.

    Parameters
    ----------
    candidates : array_like of int, shape (n,), or a tuple of two such arrays
        The number of candidates N >= 1 of every task; or `(values, multiplicities)`, the numbers of
        candidates and how many tasks have each. Values may repeat, multiplicities may be 0.
    weights : array_like of float, shape (n,), optional
        The weight of every task, or that of each task with a value: finite, >= 0. Only ratios
        matter. Tasks with weight 0, or below 1e-307 of the greatest weight, are left out.

    Returns
    -------
    Tasks
        The count is 0 if there are no tasks, or none with a weight above 0.

    Raises
    ------
    TypeError
        If candidates or multiplicities are not integers, or weights not real numbers.
    ValueError
        For another shape or length, N < 1, a negative multiplicity, 2**63 tasks or more, and a
        weight that is negative, infinite or NaN.

    Examples
    --------
    >>> tasks = compress([5, 3, 5])
    >>> tasks.sizes, tasks.multiplicities
    (array([3, 5]), array([1, 2]))
    >>> compress(([3, 5], [1, 2]), weights=[6, 1]).weights
    array([0.75 , 0.125])
    """
    sizes, multiplicities = _read_candidates(candidates)
    if multiplicities is None and weights is None:
        sizes, multiplicities = occurrences_of(sizes)
    elif multiplicities is None:
        multiplicities = np.ones(len(sizes), dtype=np.int64)
    mass = np.ones(len(sizes))
    if weights is not None:
        # Divided by a power of two, so that sums are safe; what is negligible beside the greatest
        # weight becomes 0.
        mass = checked_weights(weights, length=len(sizes))
        _, exponent = np.frexp(mass.max(initial=0.0))
        mass = np.ldexp(mass, -exponent)
        mass = np.where(mass < 2.0**-1021, 0.0, mass)
    present = (multiplicities > 0) & (mass > 0)
    order = np.flatnonzero(present)[np.lexsort((mass[present], sizes[present]))]
    sizes = sizes[order]
    mass = mass[order]
    multiplicities = multiplicities[order]
    if len(sizes):
        is_new = np.ones(len(sizes), dtype=np.bool_)
        is_new[1:] = (sizes[1:] != sizes[:-1]) | (mass[1:] != mass[:-1])
        firsts = np.flatnonzero(is_new)
        sizes = sizes[firsts]
        mass = mass[firsts]
        multiplicities = np.add.reduceat(multiplicities, firsts)
        # A weight is never 0, however many tasks there are.
        mass = np.maximum(mass / (mass * multiplicities).sum(), np.finfo(np.float64).tiny)
    return Tasks(sizes, mass, multiplicities)


def _read_candidates(candidates: Any) -> tuple[IntArray, IntArray | None]:
    """Read candidates and multiplicities in either form."""
    counts = None
    if isinstance(candidates, tuple) and len(candidates) == 2 and has_dimensions(candidates[0]):
        candidates, counts = candidates
    sizes = integers("candidates", candidates)
    _check_least("candidates", sizes, 1)
    if counts is None:
        return sizes, None
    multiplicities = integers("multiplicities", counts)
    if len(multiplicities) != len(sizes):
        expected = f"{len(sizes)} integers, one for each value of candidates"
        shape = f"shape {multiplicities.shape}"
        raise InputValueError("multiplicities", expected=expected, got=shape)
    _check_least("multiplicities", multiplicities, 0)
    if multiplicities.sum(dtype=np.float64) >= 2.0**63:
        raise InputValueError("multiplicities", expected="fewer than 2**63 tasks in all")
    return sizes, multiplicities


def _check_least(name: str, values: IntArray, least: int) -> None:
    if (values < least).any():
        i = int((values < least).argmax())
        got = f"{values[i]} at position {i}"
        raise InputValueError(name, expected=f"integers >= {least}", got=got)


# -- few terms in place of many --------------------------------------------------------------------

# A sum over consecutive integers becomes one over few nodes by a Gauss rule of the discrete uniform
# weight. A sum over tasks of a smooth function of N and of the weight becomes one over the nodes of
# an interpolation.
POINTS = 12  # A Gauss rule with so many nodes is exact for polynomials of degree 23.
_HEAD = 16  # Each rank below it is a node.
_GRID = 20  # An interpolation over one octave of N or of weights has so many nodes.


def gauss(starts: FloatArray, lengths: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights for sums over `length` consecutive integers from `start`.

    Returns
    -------
    nodes, weights : ndarray of float64, shape (b, 12)
        For b runs of integers. The rule is exact for polynomials of degree 23.

    Notes
    -----
    The Jacobi matrix is that of the discrete Chebyshev polynomials (Gautschi, "Orthogonal
    Polynomials", 2004, table 1.2). Beyond the last integer of a short run it decomposes, and the
    other nodes have no weight.

    Examples
    --------
    >>> nodes, weights = gauss(np.array([1.0]), np.array([1000.0]))
    >>> round(float((weights * nodes**2).sum()), 3), sum(r**2 for r in range(1, 1001))
    (333833500.0, 333833500)
    """
    k = np.arange(1, POINTS)
    inside = np.maximum(1 - (k / lengths[:, None]) ** 2, 0.0)
    matrix = np.zeros((len(lengths), POINTS, POINTS))
    matrix[:, k, k - 1] = np.sqrt(inside * k**2 / (4 * (4.0 * k**2 - 1)))
    values, vectors = np.linalg.eigh(matrix)  # It reads the lower triangle alone.
    middle = (starts + (lengths - 1) / 2)[:, None]
    return middle + values * lengths[:, None], vectors[:, 0, :] ** 2 * lengths[:, None]


def rank_nodes(sizes: FloatArray | IntArray, power: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Return nodes and shares for means over the ranks 1..N of functions of r^power.

    Parameters
    ----------
    sizes : ndarray, shape (d,)
    power : float
        The steeper it is, the more nodes there are.

    Returns
    -------
    nodes, shares : ndarray of float64, shape (d, m)
        The mean of f is the sum of shares * f(nodes). A share may be 0.

    Examples
    --------
    >>> nodes, shares = rank_nodes(np.array([2, 4]))
    >>> (shares / nodes).sum(axis=1)
    array([0.75      , 0.52083333])
    """
    most = sizes.max()
    sizes = sizes.astype(np.float64)
    ratio = 2.0 ** min(1.0, 4 / abs(power))
    edges = list(range(1, _HEAD + 1))  # An edge is the first rank of a block.
    following = math.ceil(edges[-1] * ratio)
    while following <= most:
        edges.append(following)
        following = math.ceil(following * ratio)
    first = np.array(edges, dtype=np.float64)
    # All N share the nodes of whole blocks: single ranks, and 12 of each longer block.
    single = _HEAD - 1
    of_blocks, weights_of_blocks = gauss(first[single:-1], np.diff(first[single:]))
    shared = np.append(np.arange(1.0, _HEAD), of_blocks)
    shared_weights = np.append(np.ones(single), weights_of_blocks)
    longer = np.arange(single, len(first) - 1)
    # It has the block of each of these nodes.
    block = np.append(np.arange(single), np.repeat(longer, POINTS))
    # Each N has the blocks before the one it lies in, and a part of that one.
    last = np.searchsorted(first, sizes, side="right") - 1
    of_part, weights_of_part = gauss(first[last], sizes - first[last] + 1)
    used_weights = np.where(block < last[:, None], shared_weights, 0.0)
    nodes = np.concatenate([np.broadcast_to(shared, used_weights.shape), of_part], axis=1)
    counts = np.concatenate([used_weights, weights_of_part], axis=1)
    n = sizes[:, None]
    return np.clip(nodes, 1.0, n), counts / n  # A node that is not used must not overflow.


def run_nodes(edges: AnyArray, kinks: AnyArray) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights for sums over the integers from edges[0] to edges[-1] - 1.

    Parameters
    ----------
    edges : ndarray
        Ascending. Between neighbours the function is nearly a polynomial of degree 23.
    kinks : ndarray
        Where the function has kinks.

    Examples
    --------
    >>> x, w = run_nodes(np.array([0, 100]), np.array([3, 50]))
    >>> len(x), round(float((w * x**3).sum()), 6), sum(i**3 for i in range(100))
    (27, 24502500.0, 24502500)
    """
    edges = np.union1d(edges, kinks[(kinks > edges[0]) & (kinks < edges[-1])])
    lengths = np.diff(edges).astype(np.float64)
    nodes, weights = gauss(edges[:-1].astype(np.float64), lengths)
    whole = np.rint(nodes)
    nodes = np.where(np.abs(nodes - whole) < 1e-9, whole, nodes)
    has_weight = weights > 1e-12
    return nodes[has_weight], weights[has_weight]


def stand_ins(
    sizes: FloatArray | IntArray,
    weights: FloatArray,
    numbers: FloatArray | IntArray,
    power: float = 1.0,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return fewer tasks that represent many in sums of smooth functions of log N and log w.

    Parameters
    ----------
    sizes, weights, numbers : ndarray, shape (d,)
        The candidates N, the weight w and the number of the tasks.
    power : float
        The functions are those of N^power; the steeper, the narrower the intervals of N.

    Returns
    -------
    sizes, weights, numbers : ndarray of float64
        Sizes are integers; numbers may be fractions, and negative.

    Notes
    -----
    Where an octave of N and of w has more tasks than the interpolation has nodes, those near
    Chebyshev points take their place.
    """
    sizes = sizes.astype(np.float64)
    numbers = numbers.astype(np.float64)
    if len(sizes) <= _GRID:
        return sizes, weights, numbers
    width = max(1.0, abs(power) / 3)
    cells = np.floor(np.log2(sizes) * width) + 1j * np.floor(np.log2(weights / weights.max()))
    order = np.argsort(cells, kind="stable")
    parts = []
    for members in np.split(order, np.flatnonzero(np.diff(cells[order])) + 1):
        size, by_size = _interpolation(sizes[members], whole=True)
        weight, by_weight = _interpolation(weights[members], whole=False)
        if len(size) * len(weight) >= len(members):
            parts.append(np.stack([sizes[members], weights[members], numbers[members]]))
            continue
        grid = (by_size * numbers[members, None]).T @ by_weight
        pairs = [np.repeat(size, len(weight)), np.tile(weight, len(size)), grid.ravel()]
        parts.append(np.stack(pairs))
    size, weight, number = np.hstack(parts)
    return size, weight, number


def _interpolation(values: FloatArray, *, whole: bool) -> tuple[FloatArray, FloatArray]:
    """Nodes, and the matrix that interpolates in the logarithm from them to the values."""
    nodes = np.unique(values)
    if len(nodes) <= _GRID:
        return nodes, (values[:, None] == nodes).astype(np.float64)
    half = math.log(nodes[-1] / nodes[0]) / 2
    degree = 2 if half <= 1e-6 else _GRID - 1  # Values that are so close differ in few digits.
    angles = np.linspace(0, math.pi, degree + 1)
    nodes = nodes[0] * np.exp(half * (1 - np.cos(angles)))
    if whole:
        nodes = np.unique(np.rint(nodes))
    # This is the barycentric formula, on the scale of the logarithm.
    x = np.log(nodes / nodes[0]) / half
    at = np.log(values / nodes[0]) / half
    factors = (x[:, None] - x + np.eye(len(x))).prod(axis=1)
    away = at[:, None] - x
    near = np.abs(away) < 1e-14
    ratio = 1 / (factors * np.where(near, 1.0, away))
    ratio = np.where(near.any(axis=1)[:, None], near, ratio)
    matrix: FloatArray = ratio / ratio.sum(axis=1)[:, None]
    return nodes, matrix


# -- means of f(r) ---------------------------------------------------------------------------------

_LISTED = 1 << 12  # Up to so many candidates every rank is listed.
_LISTED_ROWS = 64  # So many numbers of candidates, whose ranks are listed, are computed at once.
_ROWS = 1024  # So many, whose nodes stand for their ranks, are computed at once.
_COARSEST = 4.0  # A block of ranks is an octave; with twice the power it is half of one.
_FINEST = 2.0**14  # With this power each rank is a node up to some 60,000.
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
    >>> mean_model(rank_moments)(compress([3, 5]), 0)
    (2.5, 0.6666666666666666)
    """

    def moments_of_mean(tasks: Tasks, parameter: float = 0) -> Moments:
        if not len(tasks.sizes):
            return math.nan, math.nan
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
        both = np.empty((2, len(sizes)))
        (few,) = np.nonzero(sizes <= _LISTED)
        (many,) = np.nonzero(sizes > _LISTED)
        for part in _parts(few, _LISTED_ROWS):
            both[:, part] = _sums(f, sizes[part], parameter, *_all_ranks(sizes[part]))
        for part in _parts(many, _ROWS):
            both[:, part] = _sums_over_nodes(f, name, sizes[part], parameter)
        mean, variance = both
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
        within = np.minimum(sizes, min(k, MOST))
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
    fine = _sums(f, sizes, parameter, *_nodes(sizes, 2 * _COARSEST))
    for i in np.flatnonzero(~_are_near(coarse, fine)).tolist():
        alone = slice(i, i + 1)
        before = fine[:, alone]
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
        fine[:, alone] = after
    return fine


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


def sampled_hit_moments(sizes: IntArray, cutoff: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of `drawn_hit_share` for each number of candidates, of a uniform rank.

    Among n drawn negatives the place of the true candidate is uniform, too: the mean is that of
    hits at k among n + 1 candidates.

    Examples
    --------
    >>> sampled_hit_moments(np.array([3, 101]), (10, 50))[0]
    array([1.        , 0.19607843])
    """
    drawn = np.minimum(sizes - 1.0, min(cutoff[1], MOST))
    mean = np.minimum(min(cutoff[0], MOST) / (drawn + 1), 1.0)
    _, variance = _moments_of_sampled_hits(sizes, cutoff)
    return mean, variance
