"""Both directions of an alignment, counted from the same scores: of embeddings or of a matrix.

The rows of a matrix are the queries from left to right, its columns those from right to left. Every
tile of a store is counted as it is and transposed before the next tile is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..counting.job import SCORES, ScoreNouns, prepare_job
from ..counting.tiles import DECODED_TILE_BYTES, TILE_BYTES, TileCount, open_blocks
from ..embeddings.scoring import rank_open_embeddings, with_similarity
from ..embeddings.vectors import CSLS, PairedVectors
from ..embeddings.watching import listener_of, watch_of_part
from ..inputs.checks import IO, choice, positive_integer
from ..inputs.errors import InputTypeError
from ..inputs.rules import PLAIN, Rules
from ..inputs.scores import FLOATS
from ..stores.store import Store, Tile
from .local_scaling import PassProgress, ScaledStore, StoreView, means_of_store
from .two_graphs import BACKWARD, DIRECTIONS, as_ids

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..counting.job import Job
    from ..embeddings.watching import Watch
    from ..inputs.arrays import IntArray
    from ..ranks.container import Ranks
    from ..tasks.side_tasks import SideTasks
    from .local_scaling import Block


# Messages about a transposed matrix name the places of the matrix itself.
_TRANSPOSED_NOUNS = ScoreNouns(
    score="a score at row {column}, column {row}",
    true_score="the true score at row {column}, column {row}",
)

# Up to this many pairs of one entity are counted jointly, and up to this many known answers per
# task are taken out again; if there are more, it is faster to count each direction by itself.
_MAX_PAIRS_PER_ENTITY, _MAX_KNOWN_PER_TASK = 8, 32

SCALED_TILE_BYTES = 16 << 20  # several arrays of a tile's size are in memory


def rank_both(
    pairs: PairedVectors,
    sides: Mapping[str, SideTasks],
    rules: Rules = PLAIN,
    *,
    block: int | None = None,
    watch: Watch | None = None,
) -> tuple[Ranks, Ranks]:
    """Rank left against right and right against left, and compute each score once.

    Both sides have the same pairs in the same order. The candidates of each side are one array or
    None, and include the queries of the other side. The result equals `rank_embeddings` of each
    side, bit for bit, as a score is the same in both directions.

    Parameters
    ----------
    pairs : PairedVectors
        The open embeddings of both graphs.
    sides : mapping of str to SideTasks
        "left_to_right" and "right_to_left".
    rules : Rules
        With `audit`, or on a device, each direction is counted by itself.
    block
        As in `rank_embeddings`.
    watch : callable, optional
        Told what is done, of how much.

    Returns
    -------
    tuple of Ranks
        The ranks from left to right and from right to left, without labels.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` does.
    """
    forward, backward = (sides[direction] for direction in DIRECTIONS)
    directions = ((pairs, forward), (pairs.swapped(BACKWARD), backward))
    if rules.audit or pairs.on_device or not _joint_count_is_cheaper(forward, backward):
        ranks, sizes = [], [pairs.nbytes] * 2
        for i, (vectors, side) in enumerate(directions):
            tasks = _tasks_of(side) | {"block": block, "watch": watch_of_part(watch, sizes, i)}
            ranks.append(rank_open_embeddings(vectors, side.targets, rules, **tasks))
        return ranks[0], ranks[1]
    size = positive_integer("block", block) if block is not None else 0
    jobs = [make_job(side, both.shape, rules, both.roles.nouns) for both, side in directions]
    lefts = as_ids("candidates", backward.candidates, pairs.shape[0])
    rights = as_ids("candidates", forward.candidates, pairs.shape[1])
    grid = _core.Grid(pairs.on_host().core_embeddings, lefts, rights)
    # the left entity of every pair, and the right one
    pair_tasks = _core.Tasks(jobs[1].targets, jobs[0].targets, jobs[0].filter)
    options = (rules.nan, size, jobs[0].threads, listener_of(watch))
    results = []
    counts = _core.rank_grid(grid, pair_tasks, jobs[1].filter, *options)
    for job, counted in zip(jobs, counts, strict=True):
        if fault := counted.fault:
            raise job.error_of(fault)
        of_side = job.ranks(counted.arrays, pairs.dtype, pairs.files, pairs.way)
        results.append(with_similarity(of_side, pairs.measure))
    return results[0], results[1]


def _joint_count_is_cheaper(forward: SideTasks, backward: SideTasks) -> bool:
    """Return whether scoring all candidates of both graphs once is cheaper than each direction."""
    sides = (forward, backward)
    candidates = [s.columns if s.candidates is None else len(s.candidates) for s in sides]
    apart = sum(len(s.queries) * count for s, count in zip(sides, candidates, strict=True))
    most_pairs = max(np.bincount(side.targets).max(initial=0) for side in sides)
    if apart < candidates[0] * candidates[1] or most_pairs > _MAX_PAIRS_PER_ENTITY:
        return False
    if backward.filter is None:
        return True
    known = np.diff(backward.filter[0])[backward.rows]
    return int(known.sum()) <= _MAX_KNOWN_PER_TASK * len(backward)


def _tasks_of(side: SideTasks) -> dict[str, Any]:
    """Return rows and selections of one direction, with a row for each entity of its queries."""
    without, candidates = side.selections()
    return {"rows": side.queries[side.rows, 0], "filter": without, "candidates": candidates}


def make_job(
    side: SideTasks, shape: tuple[int, ...], rules: Rules, nouns: ScoreNouns = SCORES
) -> Job:
    """Check the tasks of one direction, for scores with a row for each entity of its queries."""
    tasks = _tasks_of(side)
    return prepare_job(shape, side.targets, **tasks, rules=rules, nouns=nouns)


def rank_matrix(
    store: Store,
    sides: Mapping[str, SideTasks],
    rules: Rules,
    *,
    csls: int | CSLS | None,
    candidates: tuple[IntArray, IntArray] | None,
    io: str | None,
) -> tuple[list[Ranks], CSLS | None]:
    """Rank both directions of an alignment by a matrix of scores.

    Parameters
    ----------
    store : Store, shape (left entities, right entities)
        The scores.
    sides : mapping of str to SideTasks
        "left_to_right" and "right_to_left", whose queries are entities.
    rules : Rules
    csls : int, CSLS, or None
        The number of neighbours for CSLS, or means of scores; None: no scaling.
    candidates : (left ids, right ids), or None
        The entities among which neighbours are found.
    io
        As in `rank`.

    Returns
    -------
    list of Ranks
        The ranks of both sides, without labels.
    CSLS or None
        The means that scaled the scores.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank` does.
    """
    io_mode = choice("io", store.io if io is None else io, IO)
    left_to_right = make_job(sides["left_to_right"], store.shape, rules)
    transposed = store.shape[::-1]
    right_to_left = make_job(sides["right_to_left"], transposed, rules, _TRANSPOSED_NOUNS)
    progress = PassProgress(rules.progress, store.nbytes, 1 + isinstance(csls, int))
    tile_bytes = TILE_BYTES if store.in_place else DECODED_TILE_BYTES
    itemsize = store.itemsize
    if csls is not None:
        if store.dtype not in FLOATS:
            got = f"dtype {store.dtype}"
            raise InputTypeError("scores", expected="floats with csls", got=got)
        if isinstance(csls, int):
            csls = means_of_store(
                store, csls, candidates, nan=rules.nan, io=io_mode, on_read=progress.add
            )
        store, tile_bytes = ScaledStore(store, csls), SCALED_TILE_BYTES
    tiles = store.tiles(tile_bytes)
    left_counter, right_counter = (
        TileCount(view, view.tiles(tile_bytes), io_mode, job)
        for view, job in ((store, left_to_right), (TransposedStore(store), right_to_left))
    )
    with open_blocks(store, tiles, io_mode, lambda tile: True) as blocks:
        for tile, context in zip(tiles, blocks, strict=True):
            with context as block:
                if left_counter.is_needed(tile):
                    left_counter.add(tile, nullcontext(block))
                if right_counter.is_needed(tile.T):
                    right_counter.add(tile.T, nullcontext(block.T))
                del block  # so that the file can be unmapped
            progress.add(tile.height * tile.width * itemsize)
    progress.finish()
    jobs = ((left_to_right, left_counter), (right_to_left, right_counter))
    return [job.ranks(count.final_counts(), store.dtype, store.files) for job, count in jobs], csls


class TransposedStore(StoreView):
    """A transposed view of a store: its rows are the columns of the store.

    Examples
    --------
    >>> from truerank.stores import open_scores
    >>> TransposedStore(open_scores(np.zeros((3, 5)))).shape
    (5, 3)
    """

    def __init__(self, store: Store) -> None:
        height, width = store.shape
        super().__init__(store, (width, height), store.dtype, store.carrier)

    def tiles(self, most: int) -> list[Tile]:
        return [tile.T for tile in self.source.tiles(most)]

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[Block]:
        with self.source.block(tile.T, io) as block:
            yield block.T

    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        return self.source.take(columns, rows)
