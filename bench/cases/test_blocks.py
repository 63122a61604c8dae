"""Blocks of candidates and blocks of rows, as models make them, and shards, against the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import truerank as tr
from harness import Compare, Pair, Team
from harness.synthetic import Pool, Sizes, draw_targets
from peers.numpy_scipy import numpy_by_row

SHARDS = (5, 25)
SHARDS_GOAL = 0.8
DIM, BATCH = 64, 256  # dimension of the embeddings; rows that a model scores at once


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
            np.save(tmp_path / f"{axis}-{number:02}.npy", shard)
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
    for store in stores.values():
        store.close()


def test_blocks_of_rows(compare: Compare, pool: Pool, sizes: Sizes) -> None:
    """`rank_blocks` of a model's blocks: a block is counted while the next one is computed."""
    rows, columns = sizes.shared
    targets = draw_targets(sizes.shared)
    queries = pool.matrix((rows, DIM))
    entities = pool.matrix((columns, DIM))
    starts = range(0, rows, BATCH)

    def score(start: int) -> NDArray[np.float32]:
        block: NDArray[np.float32] = queries[start : start + BATCH] @ entities.T
        return block

    def blocks() -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
        return ((score(start), targets[start : start + BATCH]) for start in starts)

    def rank_each() -> tr.Ranks:
        return tr.concatenate([tr.rank(*block) for block in blocks()])

    def score_all() -> None:
        for _ in blocks():
            pass

    times = compare(
        f"{rows:,} x {columns:,} scored {BATCH} rows at once",
        {
            "rank_blocks": lambda: tr.rank_blocks(blocks()),
            "rank, block by block": rank_each,
            "scoring alone": score_all,
        },
        [
            Pair("rank_blocks", "scoring alone", "cost"),
            Pair("rank, block by block", "scoring alone", "cost"),
        ],
        nbytes=4 * rows * columns,
    )
    above, tied = numpy_by_row(queries[:BATCH] @ entities.T, targets[:BATCH])
    np.testing.assert_array_equal(times["rank_blocks"].result.above[:BATCH], above)
    np.testing.assert_array_equal(times["rank_blocks"].result.tied[:BATCH], tied)
