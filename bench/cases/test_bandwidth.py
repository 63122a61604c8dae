"""Counting against reading: how near truerank comes to the speed of memory, by shape."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from baselines.compiled import ReadPass
from harness import Compare, Pair, Team
from harness.synthetic import Pool, Sizes, draw_targets
from peers.numpy_scipy import check_sample

SHAPES = ("many", "medium", "narrow", "few", "tall", "square", "wide", "wider", "row")
GOALS = {"many": 0.95, "medium": 0.92, "narrow": 0.85, "few": 0.95}


def test_every_variant_reads_every_word(read_pass: ReadPass) -> None:
    """The read pass is honest: each variant reads each word, wherever the block starts or ends."""
    words = np.zeros(40_000, np.uint64)
    rng = np.random.default_rng(3)
    for threads in read_pass.speeds:
        for variant in read_pass.variants(threads):
            start, stop = sorted(rng.choice(len(words), 2, replace=False))
            for at in (start, stop, int(rng.integers(start, stop))):
                bit = np.uint64(1) << np.uint64(rng.integers(64))
                words[at] = bit
                block = words[start : stop + 1]
                assert read_pass.read(block, threads, variant) == int(bit), variant
                words[at] = 0


@pytest.mark.parametrize("name", SHAPES)
def test_counting_against_reading(
    name: str, team: Team, compare: Compare, pool: Pool, sizes: Sizes, read_pass: ReadPass
) -> None:
    """Count float32 scores in memory; both have the same number of threads."""
    shape = getattr(sizes, name)
    scores = pool.matrix(shape)
    targets = draw_targets(shape)
    times = compare(
        f"{shape[0]:,} x {shape[1]:,}, {team}",
        {
            "truerank": lambda: tr.rank(scores, targets, threads=team.argument),
            "read pass": read_pass.contestant(scores, team.threads),
        },
        [Pair("truerank", "read pass", goal=GOALS.get(name))],
        nbytes=scores.nbytes,
    )
    check_sample(times["truerank"].result, scores, targets, 3)


def test_a_single_task(
    team: Team, compare: Compare, pool: Pool, sizes: Sizes, read_pass: ReadPass
) -> None:
    """Rank one-dimensional scores with one target."""
    scores = pool.matrix(sizes.row)[0]
    target = scores.size // 3

    def by_numpy() -> tuple[list[int], list[int]]:
        above = scores > scores[target]
        tied = scores == scores[target]
        return [int(np.count_nonzero(above))], [int(np.count_nonzero(tied))]

    compare(
        f"1-D, {scores.size:,}, {team}",
        {
            "truerank": lambda: tr.rank(scores, target, threads=team.argument),
            "read pass": read_pass.contestant(scores, team.threads),
            "numpy, 1 thread": by_numpy,
        },
        [Pair("truerank", "read pass"), Pair("truerank", "numpy, 1 thread")],
        nbytes=scores.nbytes,
    )
