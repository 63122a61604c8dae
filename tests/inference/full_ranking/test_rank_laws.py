"""Test cells of ranks and the probabilities of counts against scipy's distributions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import scipy.stats

from truerank.inference.full_ranking.rank_laws import bin_counts, log_factorial, rank_cells
from truerank.metrics import METRICS

pytestmark = pytest.mark.python_only


@pytest.mark.parametrize("candidates", [1, 2, 25, 26, 30, 1000, 40_943, 10**9])
def test_cells_hold_each_rank_once(candidates: int) -> None:
    cells = rank_cells(candidates)
    assert (cells.edges[0], cells.edges[-1]) == (0, candidates)
    assert (cells.sizes >= 1).all()
    assert (cells.edges[: min(26, candidates)] == np.arange(min(26, candidates))).all()
    assert cells.reciprocal_law().sum() == pytest.approx(1)
    points, cell = cells.points()
    assert ((points > cells.edges[cell]) & (points <= cells.edges[cell + 1])).all()
    laws, start = cells.decreasing()
    assert laws.sum(axis=0) == pytest.approx(1)
    assert (np.diff(laws / cells.sizes[:, None], axis=0) <= 1e-15).all()
    assert start.sum() == pytest.approx(1)


def test_means_over_cells_are_those_of_their_ranks() -> None:
    cells = rank_cells(3000)
    ranks = np.arange(1, 3001)
    plain = {"mrr": 1 / ranks, "gmr": np.log(ranks), "hits": (ranks <= 100).astype(float)}
    for name, values in plain.items():
        expected = np.add.reduceat(values, cells.edges[:-1]) / cells.sizes
        assert cells.means(METRICS[name], 100, 3000) == pytest.approx(expected)


def test_log_factorials() -> None:
    n = np.concatenate([np.arange(1000.0), [1e6, 1e12]])
    assert log_factorial(n) == pytest.approx(scipy.special.gammaln(n + 1), rel=1e-14)


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize(("candidates", "negatives"), [(30, 12), (30, 29), (1000, 200)])
def test_probabilities_of_counts_are_hypergeometric_or_binomial(
    candidates: int, negatives: int, replacement: bool
) -> None:
    cells = rank_cells(candidates)
    counts = np.arange(negatives + 1)
    tasks = len(counts)
    found = bin_counts(
        cells,
        (counts, counts, np.ones(tasks)),
        np.full(tasks, negatives),
        np.full(tasks, candidates),
        replacement,
    )
    points, cell = cells.points()
    better = (points - 1)[:, None]
    if replacement:
        exact = scipy.stats.binom.pmf(counts, negatives, better / (candidates - 1))
    else:
        exact = scipy.stats.hypergeom.pmf(counts, candidates - 1, better, negatives)
    rows = np.zeros((len(found.shares), len(points)))
    np.add.at(rows, found.row, exact.T)
    means = np.stack([np.bincount(cell, weights=row) for row in rows]) / np.bincount(cell)
    assert found.likelihood == pytest.approx(means, abs=1e-10)
    assert found.likelihood.sum(axis=0) == pytest.approx(1)
    assert found.shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("replacement", [False, True])
def test_wide_bins_follow_the_exact_law(replacement: bool) -> None:
    cells = rank_cells(20_000)
    counts = np.arange(8001)
    sizes = np.full(len(counts), 20_000)
    entries = (counts, counts, np.ones(len(counts)))
    found = bin_counts(cells, entries, np.full(len(counts), 8000), sizes, replacement)
    points, cell = cells.points()
    chosen = np.flatnonzero(np.isin(cell, (30, 90, 120, len(cells.sizes) - 1)))
    ends = np.flatnonzero(np.diff(found.row, append=found.row[-1] + 1))
    better = points[chosen] - 1
    if replacement:
        exact = scipy.stats.binom.cdf(ends[:, None], 8000, better / 19_999)
    else:
        exact = scipy.stats.hypergeom.cdf(ends[:, None], 19_999, better, 8000)
    each = np.diff(exact, axis=0, prepend=0.0)
    for place in np.unique(cell[chosen]):
        mean = each[:, cell[chosen] == place].mean(axis=1)
        assert found.likelihood[:, place] == pytest.approx(mean, abs=2e-4)


def test_all_counts_are_possible_where_nearly_all_negatives_are_drawn() -> None:
    candidates = 40_943
    for negatives in (candidates - 1, candidates - 2):
        counts = np.unique(np.geomspace(1, negatives, 3000).astype(np.int64)) - 1
        n = len(counts)
        found = bin_counts(
            rank_cells(candidates),
            (np.arange(n), counts, np.ones(n)),
            np.full(n, negatives),
            np.full(n, candidates),
            replacement=False,
        )
        assert (found.likelihood.max(axis=1) > 0.01).all()
        assert np.isfinite(found.likelihood).all()


def test_nearly_equal_numbers_of_candidates_share_their_bins() -> None:
    candidates = np.arange(40_000, 40_100)
    n = len(candidates)
    counts = (np.arange(n), np.zeros(n, np.int64), np.ones(n))
    found = bin_counts(rank_cells(40_100), counts, np.full(n, 10), candidates, replacement=False)
    assert len(found.shares) == 1
    assert found.likelihood[0, 0] == pytest.approx(1)
    second = 1 - 10 / (round(candidates.mean()) - 1)
    assert found.likelihood[0, 1] == pytest.approx(second)
    small = np.arange(20, 30)
    counts = (np.arange(10), np.zeros(10, np.int64), np.ones(10))
    apart = bin_counts(rank_cells(30), counts, np.full(10, 5), small, replacement=False)
    assert apart.likelihood[apart.row, 1] == pytest.approx(1 - 5 / (small - 1))
