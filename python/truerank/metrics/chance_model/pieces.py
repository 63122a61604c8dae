"""Sums over long ranges of integers by few nodes, over many groups of tasks by a few stand-ins.

Both are Gauss rules: of the uniform weight on consecutive integers, and of any discrete weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray, IntArray


class Density(NamedTuple):
    """How many nodes a piece is given, by the share of a smooth stretch that it makes up.

    Attributes
    ----------
    gauss, chebyshev : tuple of (float, int)
        From which share on how many, descending.
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

_STAND_INS = 16  # of all sizes within an octave: exact for polynomials in 1/N of degree 31


class Pieces(NamedTuple):
    """Runs of integers, and the share of its smooth stretch that each makes up.

    Attributes
    ----------
    starts, lengths : ndarray of int64, shape (p,)
    shares : ndarray of float64, shape (p,)
    """

    starts: IntArray
    lengths: IntArray
    shares: FloatArray


def pieces(smooth: IntArray, kinks: IntArray) -> Pieces:
    """Cut the integers from smooth[0] to smooth[-1] - 1.

    Parameters
    ----------
    smooth : ndarray of int64, shape (b,)
        Ascending. Between neighbours the function is as smooth as the nodes of `Density` need it.
    kinks : ndarray of int64
        Ascending; where it changes its form.

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
    stretch = (smooth[1:] - smooth[:-1])[np.searchsorted(smooth, edges[:-1], side="right") - 1]
    return Pieces(edges[:-1], lengths, lengths / stretch)


def nodes(cut: Pieces, density: Density = FULL) -> tuple[FloatArray, FloatArray, IntArray]:
    """Nodes and weights for sums over the integers of pieces, and the piece of each.

    Returns
    -------
    nodes, weights : ndarray of float64, shape (m,)
        By pieces; the integers themselves, with weight 1, where a piece is short. Else a Gauss
        rule, whose nodes are no integers.
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
            x, w = _gauss(starts[long].astype(float), lengths[long].astype(float), points)
            found.append((x.ravel(), w.ravel(), np.repeat(long, points)))
    x, w, owner = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(owner, kind="stable")
    return x[order], w[order], owner[order]


def integer_nodes(cut: Pieces, density: Density = FULL) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights like those of `nodes`, but all nodes are integers: more of them.

    Interpolation at integers near Chebyshev points.

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
        x, w = _gauss(np.zeros(1), np.array([float(length)]), min(12, length - 1))
        moments = np.polynomial.legendre.legvander(x[0] / half - 1, len(at) - 1).T @ w[0]
        xs.append(start + at)
        ws.append(np.linalg.solve(legendre.T, moments))
    return np.concatenate(xs), np.concatenate(ws)


def _gauss(starts: FloatArray, lengths: FloatArray, points: int) -> tuple[FloatArray, FloatArray]:
    """Rules over `length` > points integers from `start`; shape (b, points).

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
    """Fewer sizes that stand for many in sums of smooth functions of 1/N.

    Parameters
    ----------
    sizes, multiplicities : ndarray of float64, shape (d,)
        Sizes ascending.
    octaves : int
        How many at a time.

    Returns
    -------
    sizes, multiplicities : ndarray of float64
        Per octave (or more) those of before, or a Gauss rule of 16: not integers, same sum.

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
        _condensed(n, m)
        for n, m in zip(np.split(sizes, cuts), np.split(multiplicities, cuts), strict=True)
    ]
    return np.concatenate([n for n, _ in parts]), np.concatenate([m for _, m in parts])


def _condensed(sizes: FloatArray, multiplicities: FloatArray) -> tuple[FloatArray, FloatArray]:
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
        for _ in range(2):  # once leaves what rounding makes of it
            following -= basis[: k + 1].T @ (basis[: k + 1] @ following)
        norm = np.sqrt(following @ following)
        if k + 1 < _STAND_INS:
            matrix[k + 1, k] = norm
        basis[k + 1] = following / norm
    values, vectors = np.linalg.eigh(matrix)
    return sizes[0] / values[::-1], total * vectors[0, ::-1] ** 2
