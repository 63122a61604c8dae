"""Blocks as a model makes them, of candidates and of rows, against the whole matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

import truerank as tr
from harness import Compare, Pair, Team
from harness.synthetic import Pool, Sizes, draw_targets
from peers.numpy_scipy import numpy_by_row

WIDTH, BATCH = 64, 256  # of embeddings; rows that a model scores at once


def test_blocks_of_candidates(
    team: Team, compare: Compare, pool: Pool, sizes: Sizes, require_memory: Callable[[float], None]
) -> None:
    """`RankCounter.update` with contiguous blocks of some columns each, narrow to whole."""
    rows, columns = sizes.shared
    scores, targets = pool.matrix(sizes.shared), draw_targets(sizes.shared)
    require_memory(scores.nbytes * (len(sizes.blocks) + 1))
    true = scores[np.arange(rows), targets]
    blocks = {
        width: [
            (start, np.ascontiguousarray(scores[:, start : start + width]))
            for start in range(0, columns, width)
        ]
        for width in sizes.blocks
    }

    def counted(width: int) -> Callable[[], tr.Ranks]:
        def run() -> tr.Ranks:
            counter = tr.RankCounter(true, targets, candidates=columns, threads=team.argument)
            for start, block in blocks[width]:
                counter.update(block, start=start)
            return counter.ranks()

        return run

    names = {width: f"blocks of {width:,} columns" for width in sizes.blocks}
    compare(
        f"{rows:,} x {columns:,} in blocks, {team}",
        {
            **{name: counted(width) for width, name in names.items()},
            "whole": lambda: tr.rank(scores, targets, threads=team.argument),
        },
        [Pair(name, "whole") for name in names.values()],
        nbytes=scores.nbytes,
    )


def test_blocks_of_rows(compare: Compare, pool: Pool, sizes: Sizes) -> None:
    """`rank_blocks` of what a model makes: a block is counted while the next is being made."""
    rows, columns = sizes.shared
    targets = draw_targets(sizes.shared)
    queries, entities = pool.matrix((rows, WIDTH)), pool.matrix((columns, WIDTH))
    starts = range(0, rows, BATCH)

    def make(start: int) -> NDArray[np.float32]:
        made: NDArray[np.float32] = queries[start : start + BATCH] @ entities.T
        return made

    def blocks() -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
        return ((make(start), targets[start : start + BATCH]) for start in starts)

    def one_by_one() -> tr.Ranks:
        return tr.concatenate([tr.rank(*block) for block in blocks()])

    def make_all() -> None:
        for _ in blocks():
            pass

    found = compare(
        f"{rows:,} x {columns:,} made {BATCH} rows at once",
        {
            "rank_blocks": lambda: tr.rank_blocks(blocks()),
            "rank, block by block": one_by_one,
            "making alone": make_all,
        },
        [
            Pair("rank_blocks", "making alone", "cost"),
            Pair("rank, block by block", "making alone", "cost"),
        ],
        nbytes=4 * rows * columns,
    )
    above, tied = numpy_by_row(queries[:BATCH] @ entities.T, targets[:BATCH])
    np.testing.assert_array_equal(found["rank_blocks"].result.above[:BATCH], above)
    np.testing.assert_array_equal(found["rank_blocks"].result.tied[:BATCH], tied)
