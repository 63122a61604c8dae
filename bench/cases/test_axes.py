"""The rate against candidates per task, number of threads and share of ties."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

import truerank as tr
from baselines.compiled import ReadPass
from harness import Compare, Pair, Results, Team
from harness.synthetic import Pool, Sizes, draw_targets
from peers.numpy_scipy import check_sample

CANDIDATES = (10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10)
TIED = (0.0, 0.01, 0.5, 1.0)  # share of a row's scores that equal the true score


def test_candidates(
    team: Team, compare: Compare, results: Results, pool: Pool, sizes: Sizes, read_pass: ReadPass
) -> None:
    """Cut the same number of scores into matrices of ten million columns down to ten."""
    shapes = {
        f"{columns:,} candidates": (sizes.sweep // columns, columns)
        for columns in CANDIDATES
        if columns <= sizes.sweep
    }
    matrices = {name: pool.matrix(shape) for name, shape in shapes.items()}
    targets = {name: draw_targets(shape) for name, shape in shapes.items()}
    reading = "read pass"
    nbytes = 4 * sizes.sweep
    times = compare(
        f"{sizes.sweep:,} scores, {team}",
        {
            **{
                name: partial(tr.rank, matrices[name], targets[name], threads=team.argument)
                for name in shapes
            },
            reading: read_pass.contestant(pool.matrix((1, sizes.sweep)), team.threads),
        },
        [Pair(name, reading) for name in shapes],
        nbytes=nbytes,
        agree=False,
        budget=sizes.budget / 2,
    )
    chart = results.chart(f"Rate against candidates, {team}", "candidates of a task", "GB/s")
    for name, (_, columns) in shapes.items():
        chart.add(reading, columns, nbytes / times[reading].best / 1e9)
        chart.add("truerank", columns, nbytes / times[name].best / 1e9)
        check_sample(times[name].result, matrices[name], targets[name], 3)


def test_threads(
    compare: Compare, pool: Pool, sizes: Sizes, threads: int, read_pass: ReadPass
) -> None:
    """From one thread to all, by doubling, each against as many threads that only read."""
    scores = pool.matrix(sizes.many)
    targets = draw_targets(sizes.many)
    counts = sorted({min(1 << k, threads) for k in range(threads.bit_length() + 1)})
    contestants: dict[str, Callable[[], object]] = {}
    pairs = []
    for count in counts:
        if count not in read_pass.speeds:
            read_pass.tune(scores, count, max(3, sizes.rounds // 3))
        ours = f"{Team(count, count)}"
        reading = f"read pass, {Team(count, count)}"
        contestants[ours] = partial(tr.rank, scores, targets, threads=count)
        contestants[reading] = read_pass.contestant(scores, count)
        pairs.append(Pair(ours, reading))
        if count > 1:
            pairs.append(Pair(ours, str(Team(1, 1))))
    compare("threads", contestants, pairs, nbytes=scores.nbytes)


def test_ties(
    team: Team, compare: Compare, pool: Pool, sizes: Sizes, require_memory: Callable[[float], None]
) -> None:
    """From no tied score to all: no branch depends on ties, so that the rate should not either."""
    scores = pool.matrix(sizes.shared)
    targets = draw_targets(sizes.shared)
    require_memory(scores.nbytes * (len(TIED) + 1))
    true_scores = np.take_along_axis(scores, targets[:, None], axis=1)
    # The score in the next column decides whether a score is tied: it is random and independent.
    coins = np.roll(scores, 1, axis=1)
    matrices = {share: np.where(coins < share, true_scores, scores) for share in TIED}
    names = {share: f"{share:.0%} tied" for share in TIED}
    times = compare(
        f"ties, {team}",
        {
            name: partial(tr.rank, matrices[share], targets, threads=team.argument)
            for share, name in names.items()
        },
        [Pair(names[share], names[0.0]) for share in TIED[1:]],
        nbytes=scores.nbytes,
        agree=False,
    )
    for share, name in names.items():
        check_sample(times[name].result, matrices[share], targets)
