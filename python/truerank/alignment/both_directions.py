"""Both directions of an alignment, counted from the same scores: of vectors, or of a matrix.

Rows of a matrix ask from left to right, columns from right to left. Every tile of a store is
counted as it is and turned on its side before the next one is read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..counting.job import SCORES, ScoreNouns, prepare_job
from ..counting.tiles import DECODED_TILE_BYTES, TILE_BYTES, Progress, open_blocks, tile_count
from ..embeddings.scoring import rank_open_embeddings, with_similarity
from ..embeddings.vectors import CSLS, OpenEmbeddings
from ..inputs.checks import IO, choice, positive_integer
from ..stores.store import FileBlock, Store, Tile
from .local_scaling import ScaledStore, StoreView, means_of_store
from .two_graphs import BACKWARD, DIRECTIONS, as_ids

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..counting.job import Job
    from ..inputs.arrays import IntArray
    from ..ranks.container import Ranks
    from ..tasks.side_tasks import SideTasks
    from .local_scaling import Block

    ProgressCallback = Callable[[Progress], object]


# What messages call the places of a matrix that is turned on its side: those of the matrix.
_TRANSPOSED_NOUNS = ScoreNouns(
    score="a score at row {column}, column {row}",
    true_score="the true score at row {column}, column {row}",
)

# So many pairs of one entity are counted beside each other, and so many known answers to a task
# taken out again; where there are more, each direction is better counted by itself.
_MAX_PAIRS_PER_ENTITY, _MAX_KNOWN_PER_TASK = 8, 32

SCALED_TILE_BYTES = 16 << 20  # several arrays of a tile's size are in memory


def rank_both(
    pairs: OpenEmbeddings,
    sides: Mapping[str, SideTasks],
    *,
    nan: str = "raise",
    block: int | None = None,
    threads: int | None = None,
    audit: bool = False,
) -> tuple[Ranks, Ranks]:
    """Rank left against right and right against left, each score being made once.

    Both sides have the same pairs in the same order, and on each the candidates are one array or
    None, among which the other side's queries are. The result is `rank_embeddings` of each side,
    bit for bit: a score is the same in both directions.

    Parameters
    ----------
    pairs : Pairs
        Left and right vectors, open.
    sides : mapping of str to SideTasks
        "left_to_right" and "right_to_left".
    nan, block, threads, audit
        As in `rank_embeddings`. With `audit` each direction is counted by itself.

    Returns
    -------
    tuple of Ranks
        Left to right, and right to left; without labels.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` does.
    """
    forward, backward = (sides[direction] for direction in DIRECTIONS)
    directions = ((pairs, forward), (pairs.swapped(BACKWARD), backward))
    if audit or not _joint_count_is_cheaper(forward, backward):
        rules = {"nan": nan, "block": block, "threads": threads, "audit": audit}
        left_ranks, right_ranks = (
            _rank_direction(vectors, side, **rules) for vectors, side in directions
        )
        return left_ranks, right_ranks
    size = positive_integer("block", block) if block is not None else 0
    jobs = [
        make_job(side, vectors.shape, nan=nan, threads=threads, nouns=vectors.roles.nouns)
        for vectors, side in directions
    ]
    lefts = as_ids("candidates", backward.candidates, pairs.shape[0])
    rights = as_ids("candidates", forward.candidates, pairs.shape[1])
    # the left entity of every pair, and the right one
    tasks = _core.Tasks(jobs[1].targets, jobs[0].targets, jobs[0].filter)
    results_of_core = _core.rank_grid(
        _core.Grid(pairs.core_embeddings, lefts, rights),
        tasks,
        jobs[1].filter,
        nan,
        size,
        jobs[0].threads,
    )
    results = []
    for job, result in zip(jobs, results_of_core, strict=True):
        if fault := result.fault:
            raise job.error_of(fault)
        ranks = job.ranks(result.arrays, pairs.dtype, pairs.files)
        results.append(with_similarity(ranks, pairs.measure))
    return results[0], results[1]


def _joint_count_is_cheaper(forward: SideTasks, backward: SideTasks) -> bool:
    """Whether to score all candidates of both sides once is less than all queries of each."""
    asked = [len(side.queries) for side in (forward, backward)]
    among = [
        side.columns if side.candidates is None else len(side.candidates)
        for side in (forward, backward)
    ]
    if asked[0] * among[0] + asked[1] * among[1] < among[0] * among[1]:
        return False
    if any(
        np.bincount(side.targets).max(initial=0) > _MAX_PAIRS_PER_ENTITY
        for side in (forward, backward)
    ):
        return False
    if backward.filter is None:
        return True
    known = np.diff(backward.filter[0])[backward.rows]
    return int(known.sum()) <= _MAX_KNOWN_PER_TASK * len(backward)


def make_job(
    side: SideTasks,
    shape: tuple[int, ...],
    *,
    order: str = "descending",
    nan: str,
    threads: int | None,
    audit: bool = False,
    nouns: ScoreNouns = SCORES,
) -> Job:
    """Check what is to be counted for one direction, in scores whose rows are all who may ask."""
    without, candidates = side.selections()
    rows = side.queries[side.rows, 0]
    given = (side.targets, rows, without, candidates, order, nan, threads, audit)
    return prepare_job(shape, False, *given, nouns)


def _rank_direction(pairs: OpenEmbeddings, side: SideTasks, **rules: Any) -> Ranks:
    without, candidates = side.selections()
    rows = side.queries[side.rows, 0]
    among = {"filter": without, "candidates": candidates}
    return rank_open_embeddings(pairs, side.targets, rows=rows, **among, **rules)


class CountingRules(NamedTuple):
    """How scores are counted: the arguments of `rank` of these names."""

    order: str
    nan: str
    threads: int | None
    audit: bool


def rank_matrix(
    store: Store,
    sides: Mapping[str, SideTasks],
    rules: CountingRules,
    *,
    csls: int | CSLS | None,
    candidates: tuple[IntArray, IntArray] | None,
    io: str | None,
    progress: ProgressCallback | None,
) -> tuple[list[Ranks], CSLS | None]:
    """Count both directions of an alignment.

    Parameters
    ----------
    store : Store, shape (left entities, right entities)
        The scores.
    sides : mapping of str to SideTasks
        "left_to_right" and "right_to_left", whose queries are entities.
    rules : Rules
    csls : int, CSLS, or None
        How many neighbours the scores are scaled by, or their means.
    candidates : (left ids, right ids), or None
        Among which the neighbours are.
    io, progress
        As in `rank`.

    Returns
    -------
    list of Ranks
        Of both sides, unlabelled.
    CSLS or None
        The means that scaled the scores.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank` does.
    """
    io_mode = choice("io", io or store.io, IO)
    left_to_right = make_job(sides["left_to_right"], store.shape, **rules._asdict())
    turned = {**rules._asdict(), "nouns": _TRANSPOSED_NOUNS}
    right_to_left = make_job(sides["right_to_left"], store.shape[::-1], **turned)
    store.check()
    reporter = _ProgressReporter(progress, store.nbytes * (2 if isinstance(csls, int) else 1))
    most = TILE_BYTES if store.in_place else DECODED_TILE_BYTES
    itemsize = store.itemsize
    if csls is not None:
        if isinstance(csls, int):
            csls = means_of_store(
                store, csls, candidates, nan=rules.nan, io=io_mode, read=reporter.read
            )
        store, most = ScaledStore(store, csls), SCALED_TILE_BYTES
    tiles = store.tiles(most)
    left_counter, right_counter = (
        tile_count(view, view.tiles(most), io_mode, job)
        for view, job in ((store, left_to_right), (TransposedStore(store), right_to_left))
    )
    with open_blocks(store, tiles, io_mode, lambda tile: True) as blocks:
        for tile, context in zip(tiles, blocks, strict=True):
            with context as block:
                if left_counter.is_needed(tile):
                    left_counter.add(tile, nullcontext(block))
                if right_counter.is_needed(transpose_tile(tile)):
                    right_counter.add(transpose_tile(tile), nullcontext(transpose_block(block)))
                del block  # so that a map can go
            reporter.read(tile.height * tile.width * itemsize)
    both = ((left_to_right, left_counter), (right_to_left, right_counter))
    return [job.ranks(count.final_counts(), store.dtype, store.files) for job, count in both], csls


class TransposedStore(StoreView):
    """A matrix turned on its side: its rows are the columns of the other one.

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
        return [transpose_tile(tile) for tile in self.source.tiles(most)]

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[Block]:
        with self.source.block(transpose_tile(tile), io) as block:
            yield transpose_block(block)

    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        return self.source.take(columns, rows)


def transpose_tile(tile: Tile) -> Tile:
    """Give the same rectangle of the matrix turned on its side.

    Examples
    --------
    >>> transpose_tile(Tile(top=0, left=5, height=2, width=9))
    Tile(top=5, left=0, height=9, width=2, shard=0)
    """
    return Tile(tile.left, tile.top, tile.width, tile.height, tile.shard)


def transpose_block(block: Block) -> Block:
    """Give the same scores turned on their side, without a copy."""
    if not isinstance(block, FileBlock):
        return block.T
    return block._replace(
        rows=block.columns,
        columns=block.rows,
        row_stride=block.column_stride,
        column_stride=block.row_stride,
    )


class _ProgressReporter:
    """Tells how far a count has come, over all readings."""

    def __init__(self, progress: ProgressCallback | None, total: int) -> None:
        self._progress = progress
        self._done, self._total, self._start = 0, total, time.monotonic()
        self.read(0)

    def read(self, size: int) -> None:
        """Tell that so many bytes more have been read."""
        self._done += size
        if self._progress is not None:
            self._progress(Progress(self._done, self._total, time.monotonic() - self._start))
