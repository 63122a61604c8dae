"""Both directions of an alignment, counted from the same scores: of embeddings or of a matrix.

The rows of a matrix are the queries from left to right, its columns those from right to left. Every
tile of a store is counted as it is and transposed before the next tile is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..counting.driver import TileCount, host_place, open_in_turn
from ..counting.job import prepare_job
from ..counting.sources import StoreSource
from ..embeddings.scoring import rank_open_embeddings
from ..embeddings.vectors import Embeddings
from ..embeddings.watching import listener_of, watch_of_part
from ..inputs.checks import positive_integer
from ..inputs.rules import PLAIN, Rules
from ..stores.store import Store, Tile
from .aligned_pairs import DIRECTIONS, as_ids

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from ..counting.job import Job
    from ..embeddings.watching import Watch
    from ..ranks.container import Ranks
    from ..tasks.side import Side


# Up to this many pairs of one entity are counted jointly, and up to this many known answers per
# task are taken out again; if there are more, it is faster to count each direction by itself.
_MAX_PAIRS_PER_ENTITY = 8
_MAX_KNOWN_PER_TASK = 32


def rank_both(
    similarities: Store | Embeddings,
    sides: Mapping[str, Side],
    rules: Rules = PLAIN,
    *,
    block: int | None = None,
    io: str | None = None,
    watch: Watch | None = None,
) -> list[Ranks]:
    """Rank left against right and right against left, and make or read each score once.

    Both sides have the same pairs in the same order. The candidates of each side are one array or
    None, and include the queries of the other side. The result equals that of each side by itself,
    bit for bit, as a score is the same in both directions.

    Parameters
    ----------
    similarities : Embeddings or Store, shape (left entities, right entities)
        The open embeddings of both graphs, or a matrix.
    sides : mapping of str to Side
        "left_to_right" and "right_to_left", whose queries are entities.
    rules : Rules
        With `audit`, or on a device, each direction of embeddings is counted by itself.
    block, io
        As in `rank_embeddings`, and as in `rank`.
    watch : callable, optional
        Told what is done, of how much.

    Returns
    -------
    list of Ranks
        The ranks from left to right and from right to left, without labels.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` and `rank` do.
    """
    forward, backward = (sides[direction] for direction in DIRECTIONS)
    if not isinstance(similarities, Embeddings):
        if io is None:
            io = similarities.io
        return _rank_matrix(similarities, (forward, backward), rules, io, watch)
    if (
        not rules.audit
        and not similarities.on_device
        and _joint_count_is_cheaper(forward, backward)
    ):
        return _rank_vectors_jointly(similarities, (forward, backward), rules, block, watch)
    passes = ((similarities, forward), (similarities.turned(), backward))
    sizes = [similarities.nbytes] * len(passes)
    ranks = []
    for i, (vectors, side) in enumerate(passes):
        part = watch_of_part(watch, sizes, i)
        tasks = _tasks_of(side)
        ranks.append(
            rank_open_embeddings(vectors, side.targets, rules, **tasks, block=block, watch=part)
        )
    return ranks


def _rank_vectors_jointly(
    similarities: Embeddings,
    both: Sequence[Side],
    rules: Rules,
    block: int | None,
    watch: Watch | None,
) -> list[Ranks]:
    """Score all candidates of both graphs once, and count each score in both directions."""
    block_size = 0 if block is None else positive_integer("block", block)
    forward, backward = both
    forward_job, backward_job = _prepare_jobs(similarities.shape, both, rules)
    left_ids = as_ids("candidates", backward.candidates, backward.n_candidates)
    right_ids = as_ids("candidates", forward.candidates, forward.n_candidates)
    counts = _core.rank_grid(
        _core.Grid(similarities.core(), left_ids, right_ids),
        # Each pair has its left entity first, and then the right one.
        _core.Tasks(backward_job.targets, forward_job.targets, forward_job.filter),
        backward_job.filter,
        rules.nan,
        block_size,
        rules.num_threads,
        listener_of(watch),
    )
    place = host_place(similarities.device)
    ranks = []
    for job, counted in zip((forward_job, backward_job), counts, strict=True):
        if counted.fault is not None:
            raise job.error_of(counted.fault)
        ranks.append(similarities.ranks(job, counted.arrays, place))
    return ranks


def _joint_count_is_cheaper(forward: Side, backward: Side) -> bool:
    """Whether scoring all candidates of both graphs once is cheaper than each direction."""
    right_candidates = _count_candidates(forward)
    left_candidates = _count_candidates(backward)
    scores_apart = (
        len(forward.query_ids) * right_candidates + len(backward.query_ids) * left_candidates
    )
    if scores_apart < left_candidates * right_candidates:
        return False
    most_pairs = max(np.bincount(side.targets).max(initial=0) for side in (forward, backward))
    if most_pairs > _MAX_PAIRS_PER_ENTITY:
        return False
    if backward.filter is None:
        return True
    known = np.diff(backward.filter.indptr)[backward.filter.lists]
    return int(known.sum()) <= _MAX_KNOWN_PER_TASK * len(backward)


def _count_candidates(side: Side) -> int:
    if side.candidates is None:
        return side.n_candidates
    return len(side.candidates)


def _tasks_of(side: Side) -> dict[str, Any]:
    """Return rows and selections of one direction, with a row for each entity of its queries."""
    rows = side.query_ids[side.rows, 0]
    return {"rows": rows, "filter": side.filter, "candidates": side.candidates}


def _prepare_jobs(shape: tuple[int, int], both: Sequence[Side], rules: Rules) -> list[Job]:
    """Check the tasks of both directions, for scores with a row for each entity of queries."""
    forward, backward = both
    forward_job = prepare_job(shape, forward.targets, **_tasks_of(forward), rules=rules)
    backward_job = prepare_job(shape[::-1], backward.targets, **_tasks_of(backward), rules=rules)
    return [forward_job, replace(backward_job, is_turned=True)]


def _rank_matrix(
    store: Store, both: Sequence[Side], rules: Rules, io: str, watch: Watch | None
) -> list[Ranks]:
    """Count every tile of a matrix as it is, and transposed."""
    jobs = _prepare_jobs(store.shape, both, rules)
    forward = TileCount(StoreSource(store, io), jobs[0])
    backward = TileCount(StoreSource(TransposedStore(store), io), jobs[1])
    done = 0

    def opened(tile: Tile) -> AbstractContextManager[Any]:
        return store.core_block(tile, io)

    for tile, scores in open_in_turn(opened, forward.tiles, one_ahead=not store.in_place):
        _add_tile(forward, tile, scores)
        _add_tile(backward, tile.T, scores.T)
        del scores  # Now the file can be unmapped.
        done += tile.height * tile.width * store.itemsize
        if watch is not None:
            watch(done, store.nbytes)
    return [
        job.ranks(count.final_counts(), store.dtype, store.files)
        for job, count in zip(jobs, (forward, backward), strict=True)
    ]


def _add_tile(count: TileCount, tile: Tile, scores: Any) -> None:
    """Count a tile of one direction; raise the error of a fault."""
    tile_job = count.job_of(tile)
    # A tile without tasks is not looked at.
    counted = tile_job.counted(scores if tile_job.has_tasks else None)
    count.add(counted.checked(count.job))


class TransposedStore(Store):
    """A transposed view of a store, which its owner closes: its rows are the store's columns.

    Examples
    --------
    >>> from truerank.stores import open_scores
    >>> TransposedStore(open_scores(np.zeros((3, 5)))).shape
    (5, 3)
    """

    def __init__(self, store: Store) -> None:
        height, width = store.shape
        super().__init__((width, height), store.dtype, store.carrier, store.files)
        self.source = store
        self.in_place = store.in_place
        self.io = store.io

    def tiles(self, most: int) -> list[Tile]:
        return [tile.T for tile in self.source.tiles(most)]

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[Any]:
        with self.source.block(tile.T, io) as block:
            yield block.T

    @contextmanager
    def core_block(self, tile: Tile, io: str) -> Iterator[Any]:
        with self.source.core_block(tile.T, io) as scores:
            yield scores.T

    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        return self.source.take(columns, rows)
