"""Blocks of candidates, as models make them, and shards, against the whole."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import truerank as tr
from harness import Compare, Pair, Team
from harness.synthetic import Pool, Sizes, draw_targets

SHARDS = (5, 25)
SHARDS_GOAL = 0.8


# Times the time of one call for the whole matrix: of blocks in arrays of their own, and of slices.
BLOCK_GOALS = {100: (2.0, 5.0), 1_000: (1.15, 2.2), 10_000: (1.05, 1.5)}


@pytest.mark.parametrize("width", BLOCK_GOALS)
def test_blocks_of_candidates(
    width: int,
    team: Team,
    compare: Compare,
    pool: Pool,
    sizes: Sizes,
    require_memory: Callable[[float], None],
) -> None:
    """`RankCounter.update` with blocks of columns: arrays of their own, and slices of the matrix.

    The rows of a slice are far apart in memory.
    """
    rows, columns = sizes.many
    scores = pool.matrix(sizes.many)
    targets = draw_targets(sizes.many)
    require_memory(scores.nbytes * 1.2)
    true_scores = scores[np.arange(rows), targets]
    slices = [(start, scores[:, start : start + width]) for start in range(0, columns, width)]
    copies = [(start, np.ascontiguousarray(block)) for start, block in slices]

    def count_blocks(blocks: list[tuple[int, NDArray[np.float32]]]) -> tr.Ranks:
        counter = tr.RankCounter(true_scores, targets, candidates=columns, threads=team.argument)
        for start, block in blocks:
            counter.update(block, start=start)
        return counter.ranks()

    names = f"blocks of {width:,}", f"slices of {width:,}"
    compare(
        f"{rows:,} x {columns:,} in blocks of {width:,} columns, {team}",
        {
            names[0]: lambda: count_blocks(copies),
            names[1]: lambda: count_blocks(slices),
            "whole": lambda: tr.rank(scores, targets, threads=team.argument),
        },
        [
            Pair(name, "whole", "cost", goal=goal)
            for name, goal in zip(names, BLOCK_GOALS[width], strict=True)
        ],
        nbytes=scores.nbytes,
    )


# Times the time of one call for a matrix that has the positives, too.
NEGATIVES_GOAL = 2.0


def test_sampled_negatives(compare: Compare, pool: Pool, sizes: Sizes, team: Team) -> None:
    """`RankCounter` with a positive and 99 negatives of each task, against a matrix of all."""
    scores = pool.matrix(sizes.tall)
    positives = scores[:, 0].copy()
    negatives = np.ascontiguousarray(scores[:, 1:])

    def count_negatives() -> tr.Ranks:
        counter = tr.RankCounter(positives, threads=team.argument)
        counter.update(negatives)
        return counter.ranks()

    compare(
        f"1 + {negatives.shape[1]} candidates of {len(scores):,} tasks, {team}",
        {
            "RankCounter": count_negatives,
            "one matrix": lambda: tr.rank(scores, 0, threads=team.argument),
        },
        [Pair("RankCounter", "one matrix", "cost", goal=NEGATIVES_GOAL)],
        nbytes=scores.nbytes,
    )


@pytest.mark.parametrize("count", SHARDS)
def test_shards(
    count: int,
    team: Team,
    compare: Compare,
    pool: Pool,
    sizes: Sizes,
    tmp_path: Path,
    require_memory: Callable[[float], None],
) -> None:
    """Warm files that hold columns of the matrix, against files that hold rows of it."""
    scores = pool.matrix(sizes.file)
    targets = draw_targets(sizes.file)
    require_memory(scores.nbytes * 2.5)
    stores = {}
    for axis, name in enumerate(("shards of rows", "shards of columns")):
        for number, shard in enumerate(np.array_split(scores, count, axis=axis)):
            # A slice is written score by score, and its file is read in small pages for that alone.
            np.save(tmp_path / f"{axis}-{number:02}.npy", np.ascontiguousarray(shard))
        stores[name] = tr.open_scores(tmp_path / f"{axis}-*.npy", axis=axis)
    compare(
        f"{count} warm shards, {team}",
        {
            name: partial(tr.rank, store, targets, threads=team.argument)
            for name, store in reversed(stores.items())
        },
        [Pair("shards of columns", "shards of rows", goal=SHARDS_GOAL)],
        nbytes=scores.nbytes,
        memory=False,
    )
