"""Which known facts are filtered: rules by which a fact matches a task, each named by a word.

A triple matches a task of the same query. Facts with further columns (a time, qualifiers) may match
by all of them, by some, or by none: protocols differ in that alone, and a task can be counted under
several rules in one pass over the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays.row_keys import codes_of, distinct, distinct_rows, look_up, row_keys, search_sorted
from ..errors import InputValueError
from ..inputs.checks import choice, several
from ..inputs.selection import indptr_of, join_ranges
from ..tasks.sampling import batches_of
from ..tasks.side_tasks import make_queries

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from ..tasks.side_tasks import SideQueries
    from .times import Times


QUERY = "query"
TRIPLE = "triple"
FACT = "fact"
OVERLAP = "overlap"
NONE = "none"
FILTERS = (QUERY, TRIPLE, FACT, OVERLAP, NONE)
_PAIRS_AT_ONCE = 1 << 21  # So many pairs of a list and a fact are compared at a time.


def overlapping_answers(
    queries: IntArray, answers: IntArray, starts: IntArray, ends: IntArray, ranked: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """List the answers of facts whose query is that of a task, and whose interval overlaps its own.

    Intervals are closed: [s, e] and [s', e'] overlap if s' <= e and s <= e'. Tasks of one query and
    interval share a list.

    Parameters
    ----------
    queries : ndarray of int64, shape (n,)
        A number for the query of each fact, whatever its time.
    answers : ndarray of int64, shape (n,)
        The answer of each fact.
    starts, ends : ndarray of int64, shape (n,)
        The interval of each fact.
    ranked : ndarray of int64
        The facts that are tasks.

    Returns
    -------
    indptr, indices : ndarray of int64
        The lists, ascending and distinct; each has the answers of its own tasks.
    lists : ndarray of int64
        The list of each task.

    Notes
    -----
    Facts are sorted by their query and start. Those that overlap an interval are in a run, from the
    first fact after which one ends late enough; in a table of points, with no others.

    Examples
    --------
    >>> queries, answers = np.array([0, 0, 0]), np.array([5, 6, 7])
    >>> starts, ends = np.array([1980, 1984, 1990]), np.array([1985, 1984, 1995])
    >>> overlapping_answers(queries, answers, starts, ends, np.array([0, 2]))
    (array([0, 2, 3]), array([5, 6, 7]), array([0, 1]))
    """
    # Positions among all instants are small numbers, even for unknown starts and ends.
    instants = np.concatenate([starts, ends])
    starts, ends = codes_of(instants).codes.reshape(2, -1)
    # Tasks of one query and interval share a list, which the first of them stands for.
    shared = codes_of(queries[ranked], starts[ranked], ends[ranked])
    owners = ranked[shared.first()]
    asked = distinct(queries[owners])
    known, query = look_up(asked, queries)
    query, starts_of_facts, ends_of_facts, answers = distinct_rows(
        [query, starts[known], ends[known], answers[known]]
    )
    # The times of later queries are above those of earlier ones.
    size = int(ends.max(initial=0)) + 1
    base_of_fact = query * size
    base_of_list = search_sorted(asked, queries[owners]) * size
    indptr, indices = _list_overlapping(
        fact_starts=base_of_fact + starts_of_facts,
        fact_ends=base_of_fact + ends_of_facts,
        answers=answers,
        list_starts=base_of_list + starts[owners],
        list_ends=base_of_list + ends[owners],
    )
    return indptr, indices, shared.codes


def _list_overlapping(
    fact_starts: IntArray,
    fact_ends: IntArray,
    answers: IntArray,
    list_starts: IntArray,
    list_ends: IntArray,
) -> tuple[IntArray, IntArray]:
    """List for each of some intervals the answers of the facts whose interval overlaps it.

    Facts are ascending by their start. Lists are ascending and distinct.
    """
    low = np.searchsorted(np.maximum.accumulate(fact_ends), list_starts)
    counts = np.maximum(np.searchsorted(fact_starts, list_ends, side="right") - low, 0)
    lengths = []
    indices = []
    for batch in batches_of(counts + 1, _PAIRS_AT_ONCE):
        facts = join_ranges(low[batch], counts[batch])
        list_of_fact = np.repeat(np.arange(batch.start, batch.stop), counts[batch])
        overlaps = fact_ends[facts] >= list_starts[list_of_fact]
        listed = distinct_rows([list_of_fact[overlaps], answers[facts[overlaps]]])
        lengths.append(np.bincount(listed[0] - batch.start, minlength=batch.stop - batch.start))
        indices.append(listed[1])
    return indptr_of(np.concatenate(lengths)), np.concatenate(indices)


class SideFacts(NamedTuple):
    """The facts of all splits, as one side of a task sees them.

    Attributes
    ----------
    facts : ndarray of int64, shape (n, 3+)
        The evaluated split, then the known ones.
    ranked : ndarray of int64
        The rows of `facts` that are tasks.
    query_columns : tuple of int
        The columns that every query has.
    answer_column : int
        The column that is predicted.
    keys : tuple of int
        The further columns that are part of a query.
    times : Times, or None
        When each fact holds, if some further columns are times.
    """

    facts: IntArray
    ranked: IntArray
    query_columns: tuple[int, ...]
    answer_column: int
    keys: tuple[int, ...] = ()
    times: Times | None = None

    def queries(
        self, columns: Sequence[int], is_asked: npt.NDArray[np.bool_] | None = None
    ) -> SideQueries:
        """Return the queries that some columns make, with their known answers."""
        return make_queries(self.facts, self.ranked, columns, self.answer_column, is_asked)

    def filter(self, name: str, queries: SideQueries) -> Any:
        """Make the filter that a word of `FILTERS` stands for, as `SideTasks` takes it.

        Parameters
        ----------
        name : str
        queries : SideQueries
            Those of the side, with its keys.
        """
        if name == NONE:
            return None
        if name == QUERY:
            return queries.answers
        if name == OVERLAP:
            times = self.times
            assert times is not None  # check_filters has made sure of it.
            columns = [j for j in self.query_columns + self.keys if j not in times.columns]
            query = row_keys([self.facts[:, j] for j in columns])
            answers = self.facts[:, self.answer_column]
            return overlapping_answers(query, answers, times.starts, times.ends, self.ranked)
        agreeing: Sequence[int] = self.query_columns
        if name == FACT:
            agreeing = [j for j in range(self.facts.shape[1]) if j != self.answer_column]
        known = self.queries(agreeing)
        indptr, indices = known.answers
        return indptr, indices, known.rows


def protocol_rule(
    name: str, keys: Sequence[int], width: int, times: Sequence[int] = ()
) -> str | None:
    """Return the rule as a protocol says it: equal if and only if the same facts are filtered.

    Parameters
    ----------
    name : str
        A word of `FILTERS`.
    keys : sequence of int
        The further columns that are part of a query.
    width : int
        The number of columns of a fact.
    times : sequence of int
        The further columns that are times.

    Examples
    --------
    >>> protocol_rule("query", (), 3), protocol_rule("query", (3,), 4), protocol_rule("none", (), 4)
    (None, 'fact', None)
    >>> protocol_rule("query", (4,), 5), protocol_rule("query", (), 5)
    ('columns 4', 'triple')
    >>> protocol_rule("overlap", (3,), 5, (3,))
    'overlap without columns 4'
    """
    if width == 3 or name == NONE:
        return None
    if name == OVERLAP:
        missing = [str(j) for j in range(3, width) if j not in keys and j not in times]
        rule = OVERLAP
        if missing:
            rule += f" without columns {', '.join(missing)}"
        return rule
    if name != QUERY:
        return name
    if not keys:
        return TRIPLE
    if len(keys) == width - 3:
        return FACT
    return f"columns {', '.join(map(str, keys))}"


def check_words(name: str, words: Any, choices: tuple[str, ...]) -> list[str]:
    """Check some of the choices, none of them twice."""
    listed = ", ".join(choices)
    checked = [choice(name, word, choices) for word in several(name, words, f"of {listed}")]
    if not checked or len(set(checked)) < len(checked):
        expected = f"at least one of {listed}, none twice"
        raise InputValueError(name, expected=expected, got=repr(checked))
    return checked


def check_filters(
    filters: Any, known: bool, keys: Sequence[int], width: int, times: Sequence[int] = ()
) -> dict[str, str | None]:
    """Check the argument `filters`, and return the rule in the protocol of each by name.

    Raises
    ------
    TypeError, ValueError
        For anything but words of the table, each once, for a filter without known splits, and for
        "overlap" without times.
    """
    if filters is None:
        filters = [QUERY] if known else [NONE]
    names = check_words("filters", filters, FILTERS)
    if not known and names != [NONE]:
        expected = '("none",) without known splits (known=None)'
        raise InputValueError("filters", expected=expected, got=repr(names))
    if OVERLAP in names and not times:
        raise InputValueError("filters", f'"{OVERLAP}" needs the column of times: time=')
    return {name: protocol_rule(name, keys, width, times) for name in names}
