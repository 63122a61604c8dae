"""Blocks of candidates and blocks of rows, as models make them, against the whole matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

import truerank as tr
from harness import Compare, Pair, Team
from harness.synthetic import Pool, Sizes, draw_targets
from peers.numpy_scipy import numpy_by_row

DIM, BATCH = 64, 256  # dimension of the embeddings; rows that a model scores at once


def test_blocks_of_candidates(
    team: Team, compare: Compare, pool: Pool, sizes: Sizes, require_memory: Callable[[float], None]
) -> None:
    """`RankCounter.update` with contiguous blocks of columns, from narrow ones to the whole."""
    rows, columns = sizes.shared
    scores, targets = pool.matrix(sizes.shared), draw_targets(sizes.shared)
    require_memory(scores.nbytes * (len(sizes.blocks) + 1))
    true_scores = scores[np.arange(rows), targets]
    blocks = {
        width: [
            (start, np.ascontiguousarray(scores[:, start : start + width]))
            for start in range(0, columns, width)
        ]
        for width in sizes.blocks
    }

    def count_blocks(width: int) -> Callable[[], tr.Ranks]:
        def run() -> tr.Ranks:
            counter = tr.RankCounter(
                true_scores, targets, candidates=columns, threads=team.argument
            )
            for start, block in blocks[width]:
                counter.update(block, start=start)
            return counter.ranks()

        return run

    names = {width: f"blocks of {width:,} columns" for width in sizes.blocks}
    compare(
        f"{rows:,} x {columns:,} in blocks, {team}",
        {
            **{name: count_blocks(width) for width, name in names.items()},
            "whole": lambda: tr.rank(scores, targets, threads=team.argument),
        },
        [Pair(name, "whole") for name in names.values()],
        nbytes=scores.nbytes,
    )


def test_blocks_of_rows(compare: Compare, pool: Pool, sizes: Sizes) -> None:
    """`rank_blocks` of a model's blocks: a block is counted while the next one is computed."""
    rows, columns = sizes.shared
    targets = draw_targets(sizes.shared)
    queries, entities = pool.matrix((rows, DIM)), pool.matrix((columns, DIM))
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
