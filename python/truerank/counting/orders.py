"""The doubt about orders: scores that look as if the best came last, unless `order` is named.

=============================================  ===================================================
what is seen                                   what it may be, and what is to be written
=============================================  ===================================================
rows without fractions, or lists, each of      ids or ranks: give the scores; or name the order
which has 0 to n - 1, or 1 to n, once
lists whose scores rise in all, and fall in    distances (ascending), or lists with the best last
none; ranks that rise with the scores          (descending)
=============================================  ===================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import Scores
from ..errors import InputValueError, Option
from ..inputs.array_likes import as_floats
from ..inputs.selection import indptr_of
from ..naming import format_count
from ..stores.store import ArrayStore

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from ..stores import Store
    from .driver import Flags

# What is seen may be this; both orders say which it is.
PLACES = (
    Option("order", "ascending", "says that they are ranks, the lowest the best"),
    Option("order", "descending", "that they are points, as Borda's, the highest the best"),
)
RISE = (
    Option("order", "ascending", "says that lower scores are better, as with distances"),
    Option("order", "descending", "that the best is last, as in np.argsort(s)[-k:]"),
)
_OF_PLACES = ", like ids (argsort) or ranks: give the scores themselves"

_GLANCE = 64
_LEAST_COLUMNS = 10  # Fewer integers may be an order of the columns by chance.
_LOOK_BYTES = 4 << 20
# The least of lists that have an order, each and together; the first entries are looked at first.
_LEAST_LENGTH = 3
_LEAST_ENTRIES = 12
_FIRST_ENTRIES = 1 << 12
_NEARLY_ALL = 0.95


def refuse_permutations(scores: Scores | Store, *ways: Option) -> None:
    """Refuse scores of which each row has 0 to n - 1, or 1 to n: ids or ranks of n columns.

    They may be floats, without fractions. A single row that is no permutation makes them scores.
    Rows that no tile has whole are not looked at. `ways` lead out, where `order` does not.
    """
    store = ArrayStore(scores) if isinstance(scores, Scores) else scores
    first = 0
    rows, columns = store.shape
    if columns < _LEAST_COLUMNS or not rows:
        return
    for tile in store.tiles(max(_LOOK_BYTES, columns * store.itemsize)):
        if tile.width < columns:
            return
        with store.block(tile, store.io) as block:
            view = Scores(block, store.dtype, store.swapped)
            for row in block:
                # Most scores have fractions or repeat, or some are large, which is soon seen.
                beginning = as_floats(view.with_array(row[:_GLANCE]))
                with np.errstate(invalid="ignore"):  # One of the NaN may be a signalling one.
                    has_fractions = (np.floor(beginning) != beginning).any()
                if has_fractions or len(set(beginning.tolist())) < len(beginning):
                    return
                numbers = as_floats(view.with_array(row))
                if numbers.max() > columns:
                    return
                start = permutation_start(numbers, np.array([columns]))
                if start is None:
                    return
                first = start
    seen = f"{format_count(rows, 'row')}, each a permutation of {first} to {first + columns - 1}"
    raise InputValueError("scores", seen + _OF_PLACES, remedies=ways or PLACES)


def refuse_doubtful_lists(
    argument: str, indptr: IntArray, scores: Scores, contradiction: str = ""
) -> None:
    """Refuse scores of lists, in one dimension, that rise in all of them, or that are places.

    List i has the scores ``indptr[i]:indptr[i + 1]``. `contradiction` is what ranks beside the
    scores say against them, as `rising_ranks` says it.
    """
    if contradiction:
        raise InputValueError(argument, contradiction, remedies=RISE)
    lengths = np.diff(indptr)
    is_long = lengths >= _LEAST_LENGTH
    entries = int(lengths[is_long].sum())
    if entries < _LEAST_ENTRIES:
        return
    lists = format_count(int(is_long.sum()), "list")
    if _do_rise_alone(indptr, scores, is_long):
        seen = f"scores rise in {lists}, {entries:,} entries, and fall in none"
        raise InputValueError(argument, seen, remedies=RISE)
    start = _start_of_places(indptr, scores, is_long)
    if start is None:
        return
    rises, _ = _steps(indptr, scores, len(scores.array))
    if rises.any():  # Else they are points: the best stands first, as they say.
        numbers = "1 to its length" if start else "0 to its length - 1"
        seen = f"scores of {lists}, each a permutation of {numbers}"
        raise InputValueError(argument, seen + _OF_PLACES, remedies=PLACES)


def _do_rise_alone(indptr: IntArray, scores: Scores, is_long: Flags) -> bool:
    """Whether scores rise in each long list, and fall in none."""
    _, falls = _steps(indptr, scores, _FIRST_ENTRIES)
    if falls.any():
        return False
    rises, falls = _steps(indptr, scores, len(scores.array))
    rises_before = indptr_of(rises)
    first = indptr[:-1][is_long]
    last = indptr[1:][is_long] - 1
    return bool((rises_before[last] > rises_before[first]).all()) and not falls.any()


def _start_of_places(indptr: IntArray, scores: Scores, is_long: Flags) -> int | None:
    """Return 0 or 1 if the scores of each long list are its places, from 0 or 1 on; else None."""
    first_long = int(is_long.argmax())
    begin = indptr[first_long]
    if scores.array[begin : begin + 1].tolist()[0] % 1:  # Most scores are no whole numbers.
        return None
    lengths = np.diff(indptr)
    start = None
    for end in (first_long + 1, len(lengths)):  # One list is looked at first.
        sizes = lengths[:end][is_long[:end]]
        is_in_long = np.repeat(is_long[:end], lengths[:end])
        start = permutation_start(scores.array[: indptr[end]][is_in_long], sizes)
        if start is None:
            return None
    return start


def rising_ranks(queries: IntArray, scores: npt.NDArray[Any], ranks: npt.NDArray[Any]) -> str:
    """Say in how many queries ranks rise with the scores, if in nearly all; else "".

    Ranks that are no numbers say nothing, nor do those of fewer than 12 entries: a reranker's score
    beside the rank of a first stage may be the other way round. Queries with one score, or one
    rank, are not among all.
    """
    if ranks.dtype.kind not in "iuf" or len(ranks) < _LEAST_ENTRIES:
        return ""
    order = np.lexsort((ranks, queries))
    ranks = ranks[order]
    queries = queries[order]
    scores = scores[order]
    is_later = (queries[1:] == queries[:-1]) & (ranks[1:] > ranks[:-1])
    rises = np.bincount(queries[1:], is_later & (scores[1:] > scores[:-1])) > 0
    falls = np.bincount(queries[1:], is_later & (scores[1:] < scores[:-1])) > 0
    n_queries = np.count_nonzero(rises | falls)
    rises_alone = rises & ~falls
    n_rising = np.count_nonzero(rises_alone)
    entries = np.count_nonzero(rises_alone[queries])
    if n_rising < _NEARLY_ALL * n_queries or entries < _LEAST_ENTRIES:
        return ""
    return f"ranks rise with the scores in {n_rising:,} of {n_queries:,} queries"


def permutation_start(values: npt.NDArray[Any], sizes: IntArray) -> int | None:
    """Return 0 or 1, with which the first list starts, if each is a permutation; else None.

    A list of n has 0 to n - 1, or 1 to n, once. The lists follow each other in `values`, each with
    one value or more, as `sizes` says.

    >>> permutation_start(np.array([3, 1, 2, 1, 0]), np.array([3, 2]))
    1
    """
    begins = indptr_of(sizes)[:-1]
    starts = (np.minimum.reduceat(values, begins) > 0).astype(np.int8)
    from_zero = values - np.repeat(starts, sizes)
    if not ((from_zero >= 0) & (from_zero < np.repeat(sizes, sizes))).all():
        return None
    places = from_zero.astype(np.int64)
    if (places != from_zero).any() or np.bincount(places + np.repeat(begins, sizes)).max() > 1:
        return None
    return int(starts[0])


def _steps(indptr: IntArray, scores: Scores, end: int) -> tuple[Flags, Flags]:
    """Say which of the first entries score more, and less, than the one before in their list."""
    keys, *_ = scores.with_array(scores.array[:end]).keys()
    is_same = np.ones(len(keys) - 1, np.bool_)
    is_same[indptr[(indptr > 0) & (indptr < len(keys))] - 1] = False
    return is_same & (keys[1:] > keys[:-1]), is_same & (keys[1:] < keys[:-1])
