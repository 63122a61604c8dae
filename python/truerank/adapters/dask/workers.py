"""What runs in the workers: true scores of a chunk, what it holds above them, and sums of that.

Nothing here needs Dask. All functions are pure, so that what a lost worker held can be made again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ... import _core
from ..._core import Scores
from ...counting.partial_counts import PartialCounts, checked_true_scores
from ...embeddings.vectors import OpenEmbeddings, open_embeddings
from ...inputs.scores import as_scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy.typing as npt

    from ...inputs.arrays import IntArray
    from .stripes import Ask, ChunkNeeds, Lists

# Scores of vectors are made and counted in tiles of about this size: each costs fresh memory, and
# prepares all queries anew.
TILE_BYTES = 16 << 20
LEAST_WIDTH = 256


class How(NamedTuple):
    """How chunks are read and counted."""

    dtype: str  # of the scores
    raw: Any  # what the caller says that raw bytes are, or None
    rules: _core.Rules
    threads: int
    similarity: str = ""


class Known(NamedTuple):
    """What all chunks of a stripe need: its tasks, and their true scores."""

    top: int  # the first row of the stripe
    rows: IntArray
    targets: IntArray
    truths: npt.NDArray[Any]
    filter: Lists | None
    candidates: Lists | None


class Found(NamedTuple):
    """What chunks have shown of the tasks of a stripe, and the first NaN that is forbidden."""

    counts: dict[str, IntArray]
    fault: tuple[int, int] | None  # row and column of the whole


def take(block: Any, ask: Ask, *, how: How) -> npt.NDArray[Any]:
    """Give the true scores in a chunk of scores, in native byte order."""
    scores = _checked(block, ask.shape, how)
    return checked_true_scores(scores.array[ask.rows, ask.columns], how.raw).array


def take_pairs(queries: Any, entities: Any, bias: Any, ask: Ask, *, how: How) -> npt.NDArray[Any]:
    """Score the pairs of queries and true entities that are in two chunks of vectors."""
    pairs = open_embeddings(queries, entities, how.similarity, bias, how.raw)
    _check(pairs.dtype, pairs.shape, ask.shape, how)
    return _core.score_embeddings(pairs.core_embeddings, ask.rows, ask.columns, how.threads)


def count(block: Any, known: Known, part: ChunkNeeds, *, how: How) -> Found:
    """Count a chunk of scores."""
    found = _counted([(_checked(block, part.shape, how), 0)], known.rows, known, part, how)
    return _in_whole(found, known.top)


def count_pairs(
    queries: Any, entities: Any, bias: Any, known: Known, part: ChunkNeeds, *, how: How
) -> Found:
    """Count the scores of a chunk of queries and one of entities, tile by tile."""
    asked, rows = np.unique(known.rows, return_inverse=True)
    pairs = open_embeddings(queries, entities, how.similarity, bias, how.raw)
    _check(pairs.dtype, pairs.shape, part.shape, how)
    found = _counted(_tiles(pairs, asked, how), rows, known, part, how)
    return _in_whole(found, known.top, asked)


def merged(founds: Sequence[Found], *, how: How) -> Found:
    """Add up what several chunks of a stripe have shown.

    Examples
    --------
    >>> how = How("float32", None, _core.Rules(False, "raise", False), 1)
    >>> counts = {name: np.array([1, 2]) for name in PartialCounts(2, how.rules).arrays}
    >>> sums = merged([Found(counts, None), Found(counts, (3, 8)), Found(counts, (3, 5))], how=how)
    >>> sums.counts["above"], sums.fault
    (array([3, 6]), (3, 5))
    """
    tallies = PartialCounts(len(founds[0].counts["above"]), how.rules)
    for found in founds:
        tallies.add(found.counts)
    return Found(tallies.arrays, min((f.fault for f in founds if f.fault), default=None))


def _counted(
    blocks: Iterable[tuple[Scores, int]], rows: IntArray, known: Known, part: ChunkNeeds, how: How
) -> Found:
    """Count blocks of a chunk, each with its first column; `rows` are those of the blocks."""
    without = known.filter and known.filter.selection(part.filter)
    among = known.candidates and known.candidates.selection(part.candidates)
    tasks = _core.Tasks(rows, known.targets, without, among)
    tallies = PartialCounts(len(known.targets), how.rules)
    faults = []
    for scores, start in blocks:
        left = part.left + start
        found = _core.partial_counts(scores, tasks, known.truths, left, how.rules, how.threads)
        del scores  # before the next ones are made
        tallies.add(found.arrays)
        if fault := found.fault:
            faults.append((fault.row, fault.column + left))
    return Found(tallies.arrays, min(faults, default=None))


def _in_whole(found: Found, top: int, rows: IntArray | None = None) -> Found:
    """Number the row of a fault as the whole does; `rows` are those that were counted."""
    if found.fault is None:
        return found
    row, column = found.fault
    return found._replace(fault=(top + (row if rows is None else int(rows[row])), column))


def _checked(block: Any, shape: tuple[int, int], how: How) -> Scores:
    scores = as_scores(block, how.raw)
    _check(scores.dtype, scores.array.shape, shape, how)
    return scores


def _check(dtype: str, got: tuple[int, ...], shape: tuple[int, int], how: How) -> None:
    """Check that chunks are what the array says that they are."""
    for expected, given in ((how.dtype, dtype), (shape, got)):
        if given != expected:
            raise (TypeError if given is dtype else ValueError)(
                f"scores: expected a chunk of {expected}, as the dask array says, got {given}"
            )


def _tiles(pairs: OpenEmbeddings, asked: IntArray, how: How) -> Iterator[tuple[Scores, int]]:
    """Score the queries that are asked with all entities, some entities at a time."""
    entities = pairs.entities
    width = max(LEAST_WIDTH, TILE_BYTES // (len(asked) * np.dtype(pairs.dtype).itemsize))
    for start in range(0, len(entities.array), width):
        here = slice(start, start + width)
        bias = None if pairs.bias is None else pairs.bias[here]
        part = entities.with_array(entities.array[here])
        tile = pairs._replace(entities=part, bias=bias)
        scored = _core.score_embeddings(tile.core_embeddings, asked, None, how.threads)
        yield Scores(scored, pairs.dtype, False), start
        del scored
