"""Sums over ranks by few nodes: over 1..N for many N at once, and over runs of integers with kinks.

A sum over consecutive integers becomes one over few nodes by a Gauss rule of the discrete uniform
weight, whose nodes are the eigenvalues of a small symmetric matrix.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...inputs.arrays import FloatArray, IntArray

POINTS = 12  # nodes of a block: exact for polynomials of degree 23
HEAD = 16  # each rank below it is a node
BLOCK = 1 << 18  # numbers in memory at once, times a few

_EXACT = 64  # harmonic numbers up to here come from a table
# H_N - log N - gamma - 1/(2N) as a series in powers of N^-2, and H_N^(2) alike (Euler-Maclaurin)
_HARMONIC = (-1 / 12, 1 / 120, -1 / 252, 1 / 240)
_SQUARES = (-1 / 6, 1 / 30, -1 / 42, 1 / 30)
_GAMMA = 0.57721566490153286061


def harmonic(sizes: IntArray) -> FloatArray:
    """H_N = sum of 1/r over r = 1..N; float64, of the shape of sizes.

    Examples
    --------
    >>> harmonic(np.array([1, 2, 4]))
    array([1.        , 1.5       , 2.08333333])
    """
    n = sizes.astype(np.float64)
    series = np.log(n) + _GAMMA + 0.5 / n + polynomial(_HARMONIC, n**-2) / n**2
    return np.where(sizes <= _EXACT, _table(1)[np.minimum(sizes, _EXACT)], series)


def harmonic_squares(sizes: IntArray) -> FloatArray:
    """H_N^(2) = sum of 1/r^2 over r = 1..N; float64, of the shape of sizes.

    Examples
    --------
    >>> harmonic_squares(np.array([1, 2]))
    array([1.  , 1.25])
    """
    n = sizes.astype(np.float64)
    series = math.pi**2 / 6 - 1 / n + 0.5 / n**2 + polynomial(_SQUARES, n**-2) / n**3
    return np.where(sizes <= _EXACT, _table(2)[np.minimum(sizes, _EXACT)], series)


@functools.cache
def _table(power: int) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(np.arange(1.0, _EXACT + 1) ** -power)])


def polynomial(coefficients: tuple[float, ...], x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Evaluate a polynomial by Horner's rule; the first coefficient is the constant.

    Examples
    --------
    >>> polynomial((1.0, 0.0, 2.0), np.array([3.0]))
    array([19.])
    """
    total = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        total *= x
        total += c
    return total


def gauss(starts: FloatArray, lengths: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights for sums over `length` consecutive integers from `start`.

    Parameters
    ----------
    starts, lengths : ndarray of float64, shape (b,)
        The first integer of each block, and the number of integers, >= 1.

    Returns
    -------
    nodes, weights : ndarray of float64, shape (b, 12)
        Weights are >= 0 and sum to the length. The rule is exact for polynomials of degree 23; the
        nodes are the integers themselves if there are at most 12.

    Notes
    -----
    The Jacobi matrix of the discrete Chebyshev polynomials (Golub and Welsch 1969; Gautschi,
    "Orthogonal Polynomials", 2004, table 1.2): on points -1..1 times length / 2 its squared
    off-diagonals are k^2 (1 - (k / length)^2) / (4 k^2 - 1). Nodes are symmetric, so that the
    even rows of its square suffice, half as large; their eigenvalues are squares of the nodes.

    Examples
    --------
    >>> nodes, weights = gauss(np.array([1.0]), np.array([1000.0]))
    >>> round(float((weights * nodes**2).sum()), 3), sum(r**2 for r in range(1, 1001))
    (333833500.0, 333833500)
    """
    k = np.arange(1.0, POINTS)
    # 0 beyond the last integer: the matrix decomposes, and the other nodes have no weight
    inside = np.maximum(1 - (k / lengths[:, None]) ** 2, 0.0)
    beta = np.concatenate([np.zeros((len(lengths), 1)), k**2 * inside / (4 * k**2 - 1)], axis=1)
    half = POINTS // 2
    matrix = np.zeros((len(lengths), half, half))
    i = np.arange(half)
    matrix[:, i, i] = beta[:, 0::2] + beta[:, 1::2]
    matrix[:, i[1:], i[:-1]] = np.sqrt(beta[:, 1:-1:2] * beta[:, 2::2])
    squares, vectors = np.linalg.eigh(matrix)  # reads the lower triangle
    away = np.sqrt(np.maximum(squares, 0.0)) * (lengths[:, None] / 2)
    weights = vectors[:, 0, :] ** 2 * (lengths[:, None] / 2)
    middle = (starts + (lengths - 1) / 2)[:, None]
    return np.concatenate([middle - away, middle + away], 1), np.concatenate([weights] * 2, 1)


class Rule(NamedTuple):
    """Nodes for sums over the ranks 1..N of many N: shared blocks, and a last block for each N.

    Attributes
    ----------
    nodes, weights : ndarray of float64, shape (s,)
        The shared nodes, ascending from block to block.
    used : ndarray of int64, shape (d,)
        How many of the shared nodes the sum up to N uses.
    own_nodes, own_weights : ndarray of float64, shape (d, 12)
        The last block of each N, with weight 0 if it is empty.
    """

    nodes: FloatArray
    weights: FloatArray
    used: IntArray
    own_nodes: FloatArray
    own_weights: FloatArray


def rule(sizes: IntArray, ratio: float = 2.0) -> Rule:
    """Make the nodes for sums over the ranks 1..N.

    Parameters
    ----------
    sizes : ndarray of int64, shape (d,)
        N >= 1.
    ratio : float
        A block ends where the rank has grown by this factor. With 2, the error for a function whose
        only singularity is at rank 0 is about 5.8**-24 = 5e-19.

    Returns
    -------
    Rule

    Examples
    --------
    >>> made = rule(np.array([9, 40_943]))
    >>> made.nodes.shape, made.used
    ((147,), array([  9, 147]))
    """
    # the last rank before each block; the first rank of a block may be 2**63
    before = np.array([edge - 1 for edge in _edges(int(sizes.max(initial=1)), ratio)])
    # a block is whole if it ends at or before N
    whole = np.searchsorted(before, sizes, side="right") - 1
    starts, lengths = before + 1.0, sizes - before[whole]
    head = np.arange(1.0, HEAD)
    widths = np.diff(before[HEAD - 1 :])
    nodes, weights = gauss(starts[HEAD - 1 : -1], widths.astype(np.float64))
    blocks = np.maximum(whole - (HEAD - 1), 0)
    left = np.maximum(lengths, 1).astype(np.float64)
    own_nodes, own_weights = gauss(starts[whole], left)
    empty = lengths == 0
    own_nodes[empty] = 1.0
    own_weights[empty] = 0.0
    return Rule(
        np.concatenate([head, nodes.ravel()]),
        np.concatenate([np.ones(HEAD - 1), weights.ravel()]),
        np.where(whole < HEAD - 1, whole, HEAD - 1 + POINTS * blocks),
        own_nodes,
        own_weights,
    )


def _edges(top: int, ratio: float) -> list[int]:
    """The first ranks of the blocks: 1, 2, ..., 16, then growing, up to the last one <= top + 1."""
    edges = list(range(1, HEAD + 1))
    while True:
        following = max(math.ceil(edges[-1] * ratio), edges[-1] + 1)
        if following > top + 1:
            return edges
        edges.append(following)


def chunks(sizes: IntArray) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """Yield the nodes of sums over the ranks 1..N for some N at a time, to limit memory.

    Parameters
    ----------
    sizes : ndarray of int64, shape (d,)

    Yields
    ------
    part : slice
        The positions of the sizes.
    nodes, weights : ndarray of float64, shape (part, m)
        The sum of f over 1..N is that of weights * f(nodes). A weight may be 0.

    Examples
    --------
    >>> [((weights / nodes).sum(axis=1)) for _, nodes, weights in chunks(np.array([2, 4]))]
    [array([1.5       , 2.08333333])]
    """
    widest = HEAD + POINTS * len(_edges(int(sizes.max(initial=1)), 2.0))
    step = max(1, BLOCK // widest)
    for first in range(0, len(sizes), step):
        part = slice(first, first + step)
        made = rule(sizes[part])
        most = int(made.used.max())
        shared = np.broadcast_to(made.nodes[:most], (len(made.used), most))
        inside = np.arange(most) < made.used[:, None]
        weights = np.where(inside, made.weights[:most], 0.0)
        yield (
            part,
            np.concatenate([shared, made.own_nodes], axis=1),
            np.concatenate([weights, made.own_weights], axis=1),
        )


# -- runs of integers, cut where a function has kinks ----------------------------------------------
# These use Gauss rules, too: of the uniform weight on consecutive integers, and of any discrete
# weight, whose few nodes represent many groups of tasks.


class Density(NamedTuple):
    """The number of nodes of a piece, by its share of the smooth interval that it lies in.

    Attributes
    ----------
    gauss, chebyshev : tuple of (float, int)
        The least share and the number of nodes, with descending shares.
    """

    gauss: tuple[tuple[float, int], ...]
    chebyshev: tuple[tuple[float, int], ...]


FULL = Density(
    ((0.5, 12), (0.2, 9), (0.08, 7), (0.02, 6), (0.0, 4)),
    ((0.5, 24), (0.2, 16), (0.08, 12), (0.02, 10), (0.0, 8)),
)
BRIEF = Density(
    ((0.5, 9), (0.2, 7), (0.08, 5), (0.02, 4), (0.0, 3)),
    ((0.5, 14), (0.2, 10), (0.08, 7), (0.02, 5), (0.0, 4)),
)

_STAND_INS = 16  # nodes for all sizes within an octave; exact for polynomials in 1/N of degree 31


class Pieces(NamedTuple):
    """Runs of integers, and their shares of the smooth intervals that they lie in.

    Attributes
    ----------
    starts, lengths : ndarray of int64, shape (p,)
    shares : ndarray of float64, shape (p,)
    """

    starts: IntArray
    lengths: IntArray
    shares: FloatArray


def pieces(smooth: IntArray, kinks: IntArray) -> Pieces:
    """Cut the integers from smooth[0] to smooth[-1] - 1 into pieces.

    Parameters
    ----------
    smooth : ndarray of int64, shape (b,)
        Ascending edges. Between neighbours the function is as smooth as `Density` requires.
    kinks : ndarray of int64
        Ascending positions where the function has a kink.

    Returns
    -------
    Pieces

    Examples
    --------
    >>> pieces(np.array([0, 100]), np.array([80])).lengths
    array([80, 20])
    """
    inside = kinks[slice(*np.searchsorted(kinks, [smooth[0] + 1, smooth[-1]]).tolist())]
    edges = np.union1d(smooth, inside)
    lengths = edges[1:] - edges[:-1]
    interval = (smooth[1:] - smooth[:-1])[np.searchsorted(smooth, edges[:-1], side="right") - 1]
    return Pieces(edges[:-1], lengths, lengths / interval)


def nodes(cut: Pieces, density: Density = FULL) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return nodes and weights for sums over the integers of pieces, and the piece of each node.

    Returns
    -------
    nodes, weights : ndarray of float64, shape (m,)
        Ordered by piece. For a short piece the nodes are its integers, with weight 1; for a longer
        one they are those of a Gauss rule, which are not integers.
    owners : ndarray of int64, shape (m,)

    Examples
    --------
    >>> x, w, owner = nodes(pieces(np.array([0, 100]), np.array([50])))
    >>> len(x), round(float((w * x**3).sum()), 6), sum(i**3 for i in range(100))
    (24, 24502500.0, 24502500)
    """
    starts, lengths, shares = cut
    found = [(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64))]
    above = np.inf
    for least, points in density.gauss:
        mine = (shares >= least) & (shares < above)
        above = least
        short, long = (
            np.flatnonzero(mine & part) for part in (lengths <= points, lengths > points)
        )
        run = lengths[short]
        owner = np.repeat(short, run)
        skip = np.repeat(np.cumsum(run) - run, run)
        at = starts[owner] + np.arange(len(owner)) - skip
        found.append((at.astype(np.float64), np.ones(len(at)), owner))
        if len(long):
            x, w = _rules(starts[long].astype(float), lengths[long].astype(float), points)
            found.append((x.ravel(), w.ravel(), np.repeat(long, points)))
    x, w, owner = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(owner, kind="stable")
    return x[order], w[order], owner[order]


def integer_nodes(cut: Pieces, density: Density = FULL) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights as `nodes` does, but with integer nodes, of which there are more.

    The weights come from interpolation at integers near Chebyshev points.

    Examples
    --------
    >>> x, w = integer_nodes(pieces(np.array([0, 1000]), np.array([500])))
    >>> len(x), round(float((w * x**3).sum()), 3), sum(i**3 for i in range(1000))
    (48, 249500250000.0, 249500250000)
    """
    xs, ws = [np.zeros(0)], [np.zeros(0)]
    for start, length, share in zip(*(part.tolist() for part in cut), strict=True):
        points = next(points for least, points in density.chebyshev if share >= least)
        if length <= points + 2:
            xs.append(start + np.arange(float(length)))
            ws.append(np.ones(length))
            continue
        half = (length - 1) / 2
        at = np.unique(np.rint(half * (1 - np.cos(np.linspace(0, np.pi, points)))))
        legendre = np.polynomial.legendre.legvander(at / half - 1, len(at) - 1)
        x, w = _rules(np.zeros(1), np.array([float(length)]), min(12, length - 1))
        moments = np.polynomial.legendre.legvander(x[0] / half - 1, len(at) - 1).T @ w[0]
        xs.append(start + at)
        ws.append(np.linalg.solve(legendre.T, moments))
    return np.concatenate(xs), np.concatenate(ws)


def _rules(starts: FloatArray, lengths: FloatArray, points: int) -> tuple[FloatArray, FloatArray]:
    """Gauss rules over `length` > points integers from `start`; shape (b, points).

    The Jacobi matrix is that of the discrete Chebyshev polynomials (Gautschi, "Orthogonal
    Polynomials", 2004, table 1.2), here for the unit interval around 0.
    """
    k = np.arange(1.0, points)
    beta = k**2 * (1 - (k / lengths[:, None]) ** 2) / (4 * (4 * k**2 - 1))
    matrix = np.zeros((len(lengths), points, points))
    i = np.arange(1, points)
    matrix[:, i, i - 1] = np.sqrt(beta)
    values, vectors = np.linalg.eigh(matrix)  # reads the lower triangle
    middle = starts + (lengths - 1) / 2
    return middle[:, None] + values * lengths[:, None], vectors[:, 0, :] ** 2 * lengths[:, None]


def stand_ins(
    sizes: FloatArray, multiplicities: FloatArray, octaves: int = 1
) -> tuple[FloatArray, FloatArray]:
    """Return fewer sizes that represent many in sums of smooth functions of 1/N.

    Parameters
    ----------
    sizes, multiplicities : ndarray of float64, shape (d,)
        Sizes ascend.
    octaves : int
        How many octaves one rule represents.

    Returns
    -------
    sizes, multiplicities : ndarray of float64
        For each run of octaves the given sizes, or a Gauss rule of 16 nodes, which are not
        integers. Multiplicities have the same sum.

    Notes
    -----
    The rule comes from the Lanczos process with full orthogonalisation (Golub and Welsch 1969).

    Examples
    --------
    >>> n, m = stand_ins(np.arange(1000.0, 2000.0), np.ones(1000))
    >>> len(n), float((m / n**3).sum()).__round__(12) == sum(r**-3 for r in range(1000, 2000)).__round__(12)
    (16, True)
    """  # noqa: E501
    if len(sizes) <= 2 * _STAND_INS:
        return sizes, multiplicities
    steps = np.floor(np.log2(sizes / sizes[0]) / octaves)
    cuts = np.unique(steps, return_index=True)[1][1:]
    parts = [
        _gauss_rule(n, m)
        for n, m in zip(np.split(sizes, cuts), np.split(multiplicities, cuts), strict=True)
    ]
    return np.concatenate([n for n, _ in parts]), np.concatenate([m for _, m in parts])


def _gauss_rule(sizes: FloatArray, multiplicities: FloatArray) -> tuple[FloatArray, FloatArray]:
    if len(sizes) <= 2 * _STAND_INS:
        return sizes, multiplicities
    u = sizes[0] / sizes
    total = multiplicities.sum()
    basis = np.zeros((_STAND_INS + 1, len(u)))
    basis[0] = np.sqrt(multiplicities / total)
    matrix = np.zeros((_STAND_INS, _STAND_INS))
    for k in range(_STAND_INS):
        following = u * basis[k]
        matrix[k, k] = following @ basis[k]
        for _ in range(2):  # a single pass leaves rounding errors
            following -= basis[: k + 1].T @ (basis[: k + 1] @ following)
        norm = np.sqrt(following @ following)
        if k + 1 < _STAND_INS:
            matrix[k + 1, k] = norm
        basis[k + 1] = following / norm
    values, vectors = np.linalg.eigh(matrix)
    return sizes[0] / values[::-1], total * vectors[0, ::-1] ** 2


def widening(start: int, width: float, reach: int, points: int, growth: float = 1.0) -> IntArray:
    """Edges of ever wider intervals, from start to start + reach + 1.

    Examples
    --------
    >>> widening(0, 10.0, 99, 12)
    array([  0,  12,  34,  78, 100])
    """
    edges, end = [start], start + reach + 1
    while True:
        edge = edges[-1] + max(points, int(growth * (edges[-1] - start) + width))
        if edge >= end:
            return np.array([*edges, end], dtype=np.int64)
        edges.append(edge)
