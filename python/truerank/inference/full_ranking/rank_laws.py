"""The unknown law of full ranks, in cells, and what it says of the counts among sampled negatives.

Of the N - 1 negatives of a task, K = R - 1 have better scores than the target of rank R. Among m of
them that are drawn without replacement, a are better: hypergeometric, or binomial where they are
drawn with replacement. A law of R thus mixes known laws of a.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray, IntArray
    from ...metrics.metric_table import Metric

FIRST_RANKS = 25  # up to here each rank is a cell of its own
CELL_GROWTH = 1.06  # beyond, each cell ends at a rank that is larger by this factor
POINTS = 6  # ranks of a cell at which the law of a is computed
FIRST_COUNTS = 40  # up to here each count a is a bin of its own
BIN_GROWTH = 1.04
SUMMED_BIN = 64  # wider bins take their probability from the normal law with its skewness
LEAST_DEVIATION = 0.29  # of a number that is rounded to an integer
SIZE_STEP = 0.01  # numbers of candidates that differ by less, relatively, are taken as their mean
TABLE = 256  # factorials below are looked up


class Cells(NamedTuple):
    """Cells of ranks: cell g holds the ranks ``edges[g] + 1`` to ``edges[g + 1]``.

    Within a cell all ranks are taken as equally likely.

    Attributes
    ----------
    edges : ndarray of int64, shape (cells + 1,)
    """

    edges: IntArray

    @property
    def sizes(self) -> IntArray:
        """The number of ranks in each cell."""
        return np.diff(self.edges)

    def means(self, metric: Metric, parameter: float, candidates: int) -> FloatArray:
        """The mean of a metric's f(r) over the ranks of each cell."""
        first = (self.edges[:-1] + 1).astype(np.float64)
        sizes = np.full(len(first), candidates, dtype=np.int64)
        return metric.transform.over_tie(first, self.sizes, sizes, parameter)  # type: ignore[misc]

    def reciprocal_law(self) -> FloatArray:
        """The shares of the law that is proportional to 1 / R."""
        shares: FloatArray = np.log((self.edges[1:] + 0.5) / (self.edges[:-1] + 0.5))
        shares /= shares.sum()
        return shares

    def points(self) -> tuple[FloatArray, IntArray]:
        """Evenly spread ranks of each cell, at most `POINTS`, and the cell of each."""
        counts = np.minimum(self.sizes, POINTS)
        cell = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(len(cell)) - np.repeat(np.cumsum(counts) - counts, counts)
        inside = np.floor((place + 0.5) / counts[cell] * self.sizes[cell])
        return self.edges[cell] + 1 + inside, cell

    def decreasing(self) -> tuple[FloatArray, FloatArray]:
        """Uniform laws on the ranks 1 to the end of each cell, of which decreasing laws are mixed.

        Returns
        -------
        ndarray of float64, shape (cells, cells)
            Column g has the shares of the cells in the uniform law that ends with cell g.
        ndarray of float64, shape (cells,)
            The shares of these laws in the law that is proportional to 1 / R.
        """
        ends = self.edges[1:].astype(np.float64)
        laws = np.triu(np.tile(self.sizes[:, None], (1, len(ends)))) / ends
        after = np.append(ends[1:], max(ends[-1] * CELL_GROWTH, ends[-1] + 1))
        start = 1 - ends / after
        return laws, start / start.sum()


def rank_cells(candidates: int) -> Cells:
    """Return the cells of the ranks 1 to `candidates`.

    Examples
    --------
    >>> rank_cells(30).edges[-4:].tolist()
    [25, 26, 28, 30]
    """
    return Cells(_growing_edges(candidates, FIRST_RANKS, CELL_GROWTH))


class CountBins(NamedTuple):
    """How often the counts a fell into bins: the sufficient statistic of the fit.

    Attributes
    ----------
    likelihood : ndarray of float64, shape (bins, cells)
        The probability of each bin, where the full rank is in a cell.
    shares : ndarray of float64, shape (bins,)
        The share of the tasks' weight in each bin, above 0.
    row : ndarray of int64, shape (entries,)
        The bin of each entry: a count that a task may have, several for a tie.
    entries : ndarray of float64, shape (entries,)
        The weight of the entry; those of all entries add up to the number of tasks.
    """

    likelihood: FloatArray
    shares: FloatArray
    row: IntArray
    entries: FloatArray


def bin_counts(
    cells: Cells,
    counts: tuple[IntArray, IntArray, FloatArray],
    negatives: IntArray,
    candidates: IntArray,
    replacement: bool,
) -> CountBins:
    """Sort counts into bins, and compute the probability of each bin.

    Parameters
    ----------
    cells : Cells
    counts : (task, count, weight) of shape (entries,)
    negatives, candidates : ndarray of int64, shape (n,)
        m and N of each task.
    replacement : bool
        Whether the negatives were drawn with replacement.
    """
    task, count, weight = counts
    sizes = _alike_sizes(candidates)
    kinds, kind = np.unique(np.stack([negatives, sizes]), axis=1, return_inverse=True)
    kind = kind.reshape(-1)
    totals = np.bincount(kind, weights=candidates) / np.bincount(kind)
    row = np.zeros(len(task), dtype=np.int64)
    blocks: list[FloatArray] = []
    begin = 0
    points, cell = cells.points()
    points_of = np.bincount(cell)
    for i, drawn in enumerate(kinds[0].tolist()):
        (mine,) = np.nonzero(kind[task] == i)
        edges = np.append(_growing_edges(drawn, FIRST_COUNTS, BIN_GROWTH), drawn + 1)
        bins, place = np.unique(
            np.searchsorted(edges, count[mine], side="right") - 1, return_inverse=True
        )
        row[mine] = begin + place.reshape(-1)
        others = max(float(round(totals[i])) - 1, 1.0 if replacement else float(drawn))
        better = np.minimum(points - 1, others)
        found = _bin_probabilities(edges[bins], edges[bins + 1], better, others, drawn, replacement)
        by_cell = np.add.reduceat(found, np.cumsum(points_of) - points_of, axis=1)
        blocks.append(by_cell / points_of)
        begin += len(bins)
    shares = np.bincount(row, weights=weight, minlength=begin)
    return CountBins(np.concatenate(blocks), shares / shares.sum(), row, weight)


def log_factorial(n: FloatArray) -> FloatArray:
    """log n! of integers >= 0, by a table of small ones and Stirling's series.

    Examples
    --------
    >>> np.exp(log_factorial(np.array([5.0]))).round(9)
    array([120.])
    """
    x = np.maximum(n, TABLE) + 1.0
    z = 1 / (x * x)
    series = (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z / 1680))) / x
    found: FloatArray = (x - 0.5) * np.log(x) - x + (0.5 * math.log(2 * math.pi) + series)
    small = n < TABLE
    return np.where(small, _FACTORIALS[np.where(small, n, 0).astype(np.int64)], found)


_FACTORIALS = np.array([math.lgamma(k + 1) for k in range(TABLE)])


def _growing_edges(last: int, first: int, growth: float) -> IntArray:
    """0, 1, ..., `first`, and then numbers that grow by a factor, up to `last`."""
    edges = list(range(min(first, last) + 1))
    while edges[-1] < last:
        edges.append(min(max(round(edges[-1] * growth), edges[-1] + 1), last))
    return np.array(edges, dtype=np.int64)


def _alike_sizes(candidates: IntArray) -> IntArray:
    """A number for each task; those of tasks with nearly equal N are equal."""
    size: IntArray = np.round(np.log(candidates) / SIZE_STEP).astype(np.int64)
    exact = candidates < 1 / SIZE_STEP
    return np.where(exact, -candidates, size)


def _bin_probabilities(
    low: IntArray,
    high: IntArray,
    better: FloatArray,
    others: float,
    drawn: int,
    replacement: bool,
) -> FloatArray:
    """P(low <= a < high) for each bin and each number K of better negatives, shape (bins, K)."""
    found = np.empty((len(low), len(better)))
    wide = high - low > SUMMED_BIN
    if (~wide).any():
        sizes = (high - low)[~wide]
        begin = np.cumsum(sizes) - sizes
        counts = np.arange(int(sizes.sum())) + np.repeat(low[~wide] - begin, sizes)
        each = _probabilities(counts[:, None].astype(float), better, others, drawn, replacement)
        found[~wide] = np.add.reduceat(each, begin, axis=0)
    if wide.any():
        ends = np.stack([low[wide], high[wide]]).astype(np.float64)
        below = _smooth_cdf(ends[..., None] - 0.5, better, others, drawn, replacement)
        found[wide] = np.maximum(below[1] - below[0], 0.0)
    return found


def _probabilities(
    count: FloatArray, better: FloatArray, others: float, drawn: int, replacement: bool
) -> FloatArray:
    """P(a | K), hypergeometric or binomial."""
    rest = drawn - count
    if replacement:
        ways = log_factorial(np.array(float(drawn))) - log_factorial(count) - log_factorial(rest)
        with np.errstate(divide="ignore"):
            share = better / others
            logs = count * np.where(count > 0, np.log(share), 0.0)
            logs = logs + rest * np.where(rest > 0, np.log1p(-share), 0.0)
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(np.exp(ways + logs), nan=0.0)
    worse = others - better
    possible = (count <= better) & (rest <= worse)
    logs = (
        log_factorial(better)
        - log_factorial(np.where(possible, better - count, 0.0))
        + log_factorial(worse)
        - log_factorial(np.where(possible, worse - rest, 0.0))
        - log_factorial(count)
        - log_factorial(rest)
    )
    every = log_factorial(np.array([others, float(drawn), others - drawn])) @ [1, -1, -1]
    return np.exp(np.where(possible, logs - every, -np.inf))


def _smooth_cdf(
    count: FloatArray, better: FloatArray, others: float, drawn: int, replacement: bool
) -> FloatArray:
    """P(a <= count | K) by the normal law with a correction for skewness (Edgeworth)."""
    share = better / others
    mean = drawn * share
    left = 1.0 if replacement else (others - drawn) / max(others - 1, 1.0)
    deviation = np.sqrt(mean * (1 - share) * left)
    skewness = np.zeros(len(better))
    regular = deviation > 1
    skewness[regular] = (1 - 2 * share[regular]) / deviation[regular]
    if not replacement:
        skewness *= (others - 2 * drawn) / max(others - 2, 1.0)
    z = (count - mean) / np.maximum(deviation, LEAST_DEVIATION)
    normal = 0.5 * (1 + _erf(z / math.sqrt(2)))
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    found: FloatArray = np.clip(normal - skewness / 6 * (z * z - 1) * density, 0.0, 1.0)
    return found


def _erf(x: FloatArray) -> FloatArray:
    found: FloatArray = np.vectorize(math.erf, otypes=[np.float64])(np.clip(x, -30, 30))
    return found
