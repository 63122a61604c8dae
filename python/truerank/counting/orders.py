"""The doubt about orders: scores that look as if the best came last, unless `order` is named.

=============================================  ===================================================
what is seen                                   what it may be, and what is to be written
=============================================  ===================================================
rows without fractions, or lists, each of      ids or ranks: give the scores; or name the order
which has 0 to n - 1, or 1 to n, once
lists whose scores rise at nearly all steps;   distances (ascending), or lists with the best last
ranks that rise with the scores                (descending)
=============================================  ===================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import Scores
from ..errors import InputValueError, Option
from ..inputs.array_likes import as_floats
from ..inputs.selection import lengths_to_indptr
from ..naming import format_count
from ..stores.store import ArrayStore, cut_tiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from ..arrays import IntArray
    from ..stores import Store
    from .partial_counts import Flags

ORDER = Option("order", effect="says whether higher or lower scores are better")
# What is seen may be ids, ranks, or points, as Borda's.
PLACES = (
    ORDER,
    Option("lists", ..., "takes ids, the best first", call="task.evaluate_lists(TopK(ids))"),
)
_OF_PLACES = ", as ids (argsort) or ranks are, and not scores"

_GLANCE = 64
_LEAST_COLUMNS = 10  # Fewer integers may be an order of the columns by chance.
_LOOK_BYTES = 4 << 20
# The least of lists that have an order, each and together; the first entries are looked at first.
_LEAST_LENGTH = 3
_LEAST_ENTRIES = 12
_FIRST_ENTRIES = 1 << 12
_NEARLY_ALL = 0.95


def refuse_permutations(scores: Scores | Store, remedies: Sequence[Option] | None = None) -> None:
    """Refuse scores of which each row has 0 to n - 1, or 1 to n: ids or ranks of n columns.

    They may be floats, without fractions. Scores of which one row is no permutation are allowed.
    `remedies` are those of the error; by default they name the order.
    """
    store = ArrayStore(scores) if isinstance(scores, Scores) else scores
    rows, columns = store.shape
    if columns < _LEAST_COLUMNS or not rows:
        return
    most = max(_LOOK_BYTES, columns * store.itemsize)
    tiles = store.tiles(most)
    io = store.io
    if any(tile.width < columns for tile in tiles):  # Columns lie together, or are shards.
        first_columns = np.arange(min(columns, _GLANCE))
        beginning = store.take(np.zeros_like(first_columns), first_columns)
        if _has_fraction_or_repeat(Scores(beginning, store.dtype, False)):
            return
        tiles = cut_tiles(store.shape, store.itemsize, most)
        io = "map"  # Reading would copy most of a file for each tile.
    starts: set[int] = set()
    for tile in tiles:
        with store.block(tile, io) as block:
            view = Scores(block, store.dtype, store.swapped)
            for row in block:
                starts_of_row = _row_starts(view.with_array(row))
                if not starts_of_row:
                    return
                starts |= starts_of_row
    ranges = " or ".join(f"{start} to {start + columns - 1}" for start in sorted(starts))
    problem = f"{format_count(rows, 'row')}, each a permutation of {ranges}"
    remedies = PLACES if remedies is None else remedies
    raise InputValueError("scores", problem + _OF_PLACES, remedies=remedies)


def _row_starts(row: Scores) -> set[int]:
    """Return `permutation_starts` of a row; a look at its beginning rules most scores out."""
    # Most scores have fractions or repeat, or some are large, which is soon seen.
    if _has_fraction_or_repeat(row.with_array(row.array[:_GLANCE])):
        return set()
    numbers = as_floats(row)
    if numbers.max() > len(numbers):
        return set()
    return permutation_starts(numbers, np.array([len(numbers)]))


def _has_fraction_or_repeat(scores: Scores) -> bool:
    """Whether a score is no whole number, or is there twice."""
    numbers = as_floats(scores)
    with np.errstate(invalid="ignore"):  # One of the NaN may be a signalling one.
        has_fractions = (np.floor(numbers) != numbers).any()
    return bool(has_fractions) or len(set(numbers.tolist())) < len(numbers)


def refuse_doubtful_lists(
    argument: str, indptr: IntArray, scores: Scores, contradiction: str = ""
) -> None:
    """Refuse scores of lists, in one dimension, that nearly always rise, or that are places.

    List i has the scores ``indptr[i]:indptr[i + 1]``. `contradiction` is what ranks beside the
    scores say against them, as `describe_rising_ranks` says it, or the name of their column.
    """
    if contradiction:
        raise InputValueError(argument, contradiction, remedies=[ORDER])
    lengths = np.diff(indptr)
    is_long = lengths >= _LEAST_LENGTH
    entries = int(lengths[is_long].sum())
    if entries < _LEAST_ENTRIES:
        return
    problem = _describe_rising_scores(indptr, scores, is_long)
    if problem:
        raise InputValueError(argument, problem, remedies=[ORDER])
    first_places = _first_places_of_lists(indptr, scores, is_long)
    if not first_places:
        return
    rises, _ = _steps(indptr, scores, len(scores.array))
    if rises.any():  # Permutations that rise nowhere are points, with the best first.
        last_places = {0: "its length - 1", 1: "its length"}
        ranges = " or ".join(f"{first} to {last_places[first]}" for first in sorted(first_places))
        lists = format_count(int(is_long.sum()), "list")
        problem = f"scores of {lists}, each a permutation of {ranges}"
        raise InputValueError(argument, problem + _OF_PLACES, remedies=[ORDER])


def _describe_rising_scores(indptr: IntArray, scores: Scores, is_long: Flags) -> str:
    """Say in how many long lists scores rise, if in nearly all and at nearly all steps; else "".

    Steps between equal scores say nothing. That short lists fall counts, that they rise does not.
    """
    n_entries = len(scores.array)
    # Most scores fall, which the first of them show.
    _, falls = _steps(indptr, scores, max(_FIRST_ENTRIES, n_entries // 16))
    if np.count_nonzero(falls) > (1 - _NEARLY_ALL) * n_entries:
        return ""
    rises, falls = _steps(indptr, scores, n_entries)
    n_rises_before = lengths_to_indptr(rises)
    n_rises = n_rises_before[indptr[1:][is_long] - 1] - n_rises_before[indptr[:-1][is_long]]
    n_rising = int(np.count_nonzero(n_rises))
    n_falls = np.count_nonzero(falls)
    n_steps = n_rises.sum() + n_falls
    if n_rising < _NEARLY_ALL * len(n_rises) or n_falls > (1 - _NEARLY_ALL) * n_steps:
        return ""
    lists = f"{n_rising:,} of {format_count(len(is_long), 'list')}"
    entries = f"{np.diff(indptr)[is_long].sum():,} entries"
    return f"scores rise in {lists}, {entries}, and fall at {n_falls:,} of {n_steps:,} steps"


def _first_places_of_lists(indptr: IntArray, scores: Scores, is_long: Flags) -> set[int]:
    """Return `permutation_starts` of long lists; a look at the first one rules most scores out."""
    lengths = np.diff(indptr)

    def starts_of_first(n_lists: int) -> set[int]:
        sizes = lengths[:n_lists][is_long[:n_lists]]
        is_in_long = np.repeat(is_long[:n_lists], lengths[:n_lists])
        return permutation_starts(scores.array[: indptr[n_lists]][is_in_long], sizes)

    first_long = int(is_long.argmax())
    is_whole = scores.array.item(indptr[first_long]) % 1 == 0  # Most scores are no whole numbers.
    if not is_whole or not starts_of_first(first_long + 1):
        return set()
    return starts_of_first(len(lengths))


def describe_rising_ranks(
    query_codes: IntArray, scores: npt.NDArray[Any], ranks: npt.NDArray[Any]
) -> str:
    """Say in how many queries ranks rise with the scores, if in nearly all; else "".

    Ranks that are no numbers say nothing, nor do those of fewer than 12 entries: a reranker's score
    beside the rank of a first stage may be the other way round. Queries with one score, or one
    rank, are left out.
    """
    if ranks.dtype.kind not in "iuf" or len(ranks) < _LEAST_ENTRIES:
        return ""
    order = np.lexsort((ranks, query_codes))
    ranks = ranks[order]
    codes = query_codes[order]
    scores = scores[order]
    has_later_rank = (codes[1:] == codes[:-1]) & (ranks[1:] > ranks[:-1])
    n_rises = np.bincount(codes[1:], has_later_rank & (scores[1:] > scores[:-1]))
    n_falls = np.bincount(codes[1:], has_later_rank & (scores[1:] < scores[:-1]))
    only_rises = (n_rises > 0) & (n_falls == 0)
    n_rising = np.count_nonzero(only_rises)
    n_queries = np.count_nonzero(n_rises + n_falls)
    n_entries = np.count_nonzero(only_rises[codes])
    if n_rising < _NEARLY_ALL * n_queries or n_entries < _LEAST_ENTRIES:
        return ""
    return f"ranks rise with the scores in {n_rising:,} of {n_queries:,} queries"


def begins_anew(numbers: npt.NDArray[Any], is_step: Flags, is_change: Flags) -> bool:
    """Whether numbers rise, or fall, at nearly all steps, and turn back at half of the changes.

    Both say of each number but the first what lies between it and the one before. If 95 % of steps
    rise, there are by 90 % more of these than fall.

    >>> numbers = np.arange(26) % 13
    >>> is_change = numbers[1:] == 0
    >>> begins_anew(numbers, ~is_change, is_change), begins_anew(numbers, ~is_change, ~is_change)
    (True, False)
    """
    steps = (numbers[1:] > numbers[:-1]).astype(np.int8) - (numbers[1:] < numbers[:-1])
    balance = int(steps[is_step].sum())
    n_unlike = np.count_nonzero(steps[is_step])
    n_turns = np.count_nonzero(steps[is_change] == -np.sign(balance))
    is_in_order = abs(balance) >= max(_LEAST_ENTRIES, (2 * _NEARLY_ALL - 1) * n_unlike)
    return bool(is_in_order and 2 * n_turns >= np.count_nonzero(is_change))


def permutation_starts(values: npt.NDArray[Any], sizes: IntArray) -> set[int]:
    """Return with which of 0 and 1 lists start, if each is a permutation; else the empty set.

    A list of n has 0 to n - 1, or 1 to n, once. The lists follow each other in `values`, each with
    one value or more, as `sizes` says.

    >>> permutation_starts(np.array([3, 1, 2, 1, 2]), np.array([3, 2]))
    {1}
    """
    begins = lengths_to_indptr(sizes)[:-1]
    starts = (np.minimum.reduceat(values, begins) > 0).astype(np.int8)
    from_zero = values - np.repeat(starts, sizes)
    if not ((from_zero >= 0) & (from_zero < np.repeat(sizes, sizes))).all():
        return set()
    offsets = from_zero.astype(np.int64)
    if (offsets != from_zero).any():
        return set()
    n_of_each_offset = np.bincount(offsets + np.repeat(begins, sizes))
    if n_of_each_offset.max() > 1:
        return set()
    return set(starts.tolist())


def _steps(indptr: IntArray, scores: Scores, end: int) -> tuple[Flags, Flags]:
    """Say which of the first entries score more, and less, than the one before in their list."""
    keys, *_ = scores.with_array(scores.array[:end]).keys()
    is_same = np.ones(len(keys) - 1, np.bool_)
    is_same[indptr[(indptr > 0) & (indptr < len(keys))] - 1] = False
    return is_same & (keys[1:] > keys[:-1]), is_same & (keys[1:] < keys[:-1])
