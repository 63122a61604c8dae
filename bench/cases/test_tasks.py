"""The cost of a filter, and of several tasks on one row."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import truerank as tr
from harness import Compare, Pair, Team
from harness.synthetic import Pool, Sizes, draw_filter, draw_targets
from peers import Counts
from peers.numpy_scipy import numpy_idiom

# Entries of the filter for each task, and how many times the time without it is the goal.
FILTERS = {50: 1.05, 1_000: 1.7}


@pytest.mark.parametrize("entries", FILTERS)
def test_filter(entries: int, compare: Compare, pool: Pool, sizes: Sizes, team: Team) -> None:
    """Filtered candidates of each task against none."""
    scores = pool.matrix(sizes.many)
    targets = draw_targets(sizes.many)
    int32 = draw_filter(sizes.many, entries, np.int32)
    int64 = draw_filter(sizes.many, entries, np.int64)
    times = compare(
        f"filter of {entries:,} per task, {team}",
        {
            "filter, int32": lambda: tr.rank(scores, targets, filter=int32, threads=team.argument),
            "filter, int64": lambda: tr.rank(scores, targets, filter=int64, threads=team.argument),
            "no filter": lambda: tr.rank(scores, targets, threads=team.argument),
        },
        [
            Pair("filter, int32", "no filter", "cost", FILTERS[entries]),
            Pair("filter, int64", "no filter", "cost", FILTERS[entries]),
        ],
        nbytes=scores.nbytes,
        agree=False,
    )
    full = times["no filter"].result
    columns = int64[1].reshape(-1, entries)
    filtered = np.take_along_axis(scores, columns, axis=1)
    true_scores = np.take_along_axis(scores, targets[:, None], axis=1)
    filtered_above = (filtered > true_scores).sum(1)
    filtered_tied = ((filtered == true_scores) & (columns != targets[:, None])).sum(1)
    for name in ("filter, int32", "filter, int64"):
        ranks = times[name].result
        np.testing.assert_array_equal(ranks.above, full.above - filtered_above)
        np.testing.assert_array_equal(ranks.tied, full.tied - filtered_tied)


# Times the time of all columns. Fewer than some 250 of 15,000 are sought one by one.
SHARED_GOALS = {500: 1.3, 5_000: 1.3, 12_000: 1.3}


@pytest.mark.parametrize("count", SHARED_GOALS)
def test_shared_candidates(
    count: int, compare: Compare, pool: Pool, sizes: Sizes, team: Team
) -> None:
    """Candidates that all tasks share, drawn from the columns, against all columns."""
    scores = pool.matrix(sizes.many)
    rng = np.random.default_rng(2)
    columns = sizes.many[1]
    candidates = np.sort(rng.choice(columns, min(count, columns), replace=False))
    targets = rng.choice(candidates, len(scores))
    times = compare(
        f"{count:,} shared candidates of {columns:,}, {team}",
        {
            "shared candidates": lambda: tr.rank(
                scores, targets, candidates=candidates, threads=team.argument
            ),
            "all columns": lambda: tr.rank(scores, targets, threads=team.argument),
        },
        [Pair("shared candidates", "all columns", "cost", SHARED_GOALS[count])],
        nbytes=scores.nbytes,
        agree=False,
    )
    whole = tr.rank(scores[:10][:, candidates], np.searchsorted(candidates, targets[:10]))
    np.testing.assert_array_equal(times["shared candidates"].result.above[:10], whole.above)


def counts_by_sorting(scores: NDArray[Any], targets: NDArray[np.int64]) -> Counts:
    """Return above and tied of each target in one row of scores."""
    ascending = np.sort(scores)
    below = np.searchsorted(ascending, scores[targets], "left")
    not_above = np.searchsorted(ascending, scores[targets], "right")
    return len(scores) - not_above, not_above - below


def test_tasks_per_row(compare: Compare, pool: Pool, sizes: Sizes, team: Team) -> None:
    """1, 2, 5, 10, 100 and 1,000 tasks on each row of one matrix."""
    shape = sizes.shared
    scores = pool.matrix(shape)
    targets = draw_targets(shape, shape[0] * 1000).reshape(shape[0], 1000)

    def make_tasks(per_row: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return np.repeat(np.arange(shape[0]), per_row), targets[:, :per_row].ravel()

    one = make_tasks(1)
    ten = make_tasks(10)
    thousand = make_tasks(1000)
    others = {f"{per_row} tasks": make_tasks(per_row) for per_row in (2, 5, 100)}
    order = np.random.default_rng(5).permutation(ten[0].size)
    mixed = ten[0][order], ten[1][order]
    times = compare(
        f"tasks per row, {team}",
        {
            "10 tasks": lambda: tr.rank(scores, ten[1], rows=ten[0], threads=team.argument),
            "10 tasks, in any order": lambda: tr.rank(
                scores, mixed[1], rows=mixed[0], threads=team.argument
            ),
            "1,000 tasks": lambda: tr.rank(
                scores, thousand[1], rows=thousand[0], threads=team.argument
            ),
            **{
                name: partial(tr.rank, scores, tasks[1], rows=tasks[0], threads=team.argument)
                for name, tasks in others.items()
            },
            "1 task": lambda: tr.rank(scores, one[1], rows=one[0], threads=team.argument),
            "1 task, no rows": lambda: tr.rank(scores, one[1], threads=team.argument),
        },
        [
            Pair("10 tasks", "1 task", "cost", 3.0),
            Pair("10 tasks, in any order", "1 task", "cost", 3.0),
            Pair("2 tasks", "1 task", "cost", 1.5),
            Pair("5 tasks", "1 task", "cost", 2.0),
            Pair("100 tasks", "1 task", "cost", 13.0),
            Pair("1,000 tasks", "1 task", "cost", 30.0),
        ],
        nbytes=scores.nbytes,
        agree=False,
    )

    def counts_of(name: str) -> Counts:
        return times[name].result.above, times[name].result.tied

    by_row = [counts.reshape(shape[0], 1000) for counts in counts_of("1,000 tasks")]
    plain = numpy_idiom(scores, one[1])
    for k in range(2):
        np.testing.assert_array_equal(counts_of("1 task")[k], plain[k])
        np.testing.assert_array_equal(counts_of("1 task, no rows")[k], plain[k])
        np.testing.assert_array_equal(counts_of("10 tasks")[k], by_row[k][:, :10].ravel())
        np.testing.assert_array_equal(
            counts_of("10 tasks, in any order")[k], by_row[k][:, :10].ravel()[order]
        )
        for name, tasks in others.items():
            per_row = tasks[0].size // shape[0]
            np.testing.assert_array_equal(counts_of(name)[k], by_row[k][:, :per_row].ravel())
    for row in (0, shape[0] - 1):
        above, tied = counts_by_sorting(scores[row], targets[row])
        np.testing.assert_array_equal(by_row[0][row], above)
        np.testing.assert_array_equal(by_row[1][row], tied)
