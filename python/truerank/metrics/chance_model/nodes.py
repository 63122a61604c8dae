"""Few terms in place of many: in sums over ranks, over runs of integers, and over like tasks.

A sum over consecutive integers becomes one over few nodes by a Gauss rule of the discrete uniform
weight. A sum over tasks of a smooth function of N and of the weight becomes one over the nodes of
an interpolation.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...arrays.types import FloatArray, IntArray

    AnyArray: TypeAlias = npt.NDArray[Any]  # It is of float64 or complex128.

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
    kept = weights > 1e-12
    return nodes[kept], weights[kept]


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
    found = []
    for members in np.split(order, np.flatnonzero(np.diff(cells[order])) + 1):
        size, by_size = _interpolation(sizes[members], whole=True)
        weight, by_weight = _interpolation(weights[members], whole=False)
        if len(size) * len(weight) >= len(members):
            found.append(np.stack([sizes[members], weights[members], numbers[members]]))
            continue
        grid = (by_size * numbers[members, None]).T @ by_weight
        pairs = [np.repeat(size, len(weight)), np.tile(weight, len(size)), grid.ravel()]
        found.append(np.stack(pairs))
    size, weight, number = np.hstack(found)
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
