"""The tasks of one side: its queries, their known answers, and the query of each task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core import IntegerTable, Selection
from ..arrays.row_keys import RowKeys, are_among, blocks_of, codes_of, distinct_in_place
from ..inputs.selection import indptr_of, join_ranges
from ..naming import public

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray
    from ..ranks.labels import Labels


class TaskLists(NamedTuple):
    """Lists of columns, and the list of each task, as `rank` takes a selection.

    Attributes
    ----------
    indptr, indices : ndarray of int
        List i is ``indices[indptr[i] : indptr[i + 1]]``.
    lists : ndarray of int64, shape (tasks,)
        The list of each task.
    """

    indptr: IntArray
    indices: IntArray
    lists: IntArray

    def of_tasks(self, tasks: IntArray) -> TaskLists:
        """Return the lists of some tasks alone.

        Without this, every batch of tasks would search the lists of all other tasks too.

        Examples
        --------
        >>> lists = TaskLists(np.array([0, 1, 3]), np.array([5, 2, 7]), np.array([0, 1, 1]))
        >>> lists.of_tasks(np.array([2, 1]))
        TaskLists(indptr=array([0, 2]), indices=array([2, 7]), lists=array([0, 0]))
        """
        used, lists = codes_of(self.lists[tasks])
        lengths = np.diff(self.indptr)[used]
        indices = self.indices[join_ranges(self.indptr[used], lengths)]
        return TaskLists(indptr_of(lengths), indices, lists)


@public("truerank.tasks")
@dataclass(frozen=True, eq=False)
class Side:
    """One side of a task: a ranking for each of its test triples, pairs or right answers.

    Task i belongs to query ``rows[i]``; its right answer is column ``targets[i]`` of the scores.
    Arrays are read-only. What `truerank.rank` needs beside scores, a row for each query, is
    ``rank(scores, side.targets, rows=side.rows, filter=side.filter, candidates=side.candidates)``.

    Attributes
    ----------
    name : str
        "head", "tail", "relation", or that of another protocol.
    n_candidates : int
        The number of columns of scores: one for each entity (or relation).
    queries : ndarray of int64, shape (m, c)
        The distinct queries, each a row of ids, in lexicographic order. A copy, so that
        ``torch.from_numpy`` takes it.
    rows : ndarray of int64, shape (n,)
        The query of each task.
    targets : ndarray of int64, shape (n,)
        The column of each task's right answer.
    units : ndarray of int64, shape (n,)
        The row of each task's triple (or pair) in the test split as it was given; in retrieval the
        query of each task.
    filter : (indptr, indices, lists), or None
        Lists of known answers, sorted and distinct, and the list of each task; ``filter[:2]`` has
        those of the queries, unless a task says another filter. None: unfiltered.
    candidates : None, array of int, or (indptr, indices, lists)
        The only columns to let in: all (None), one list for all tasks, or lists, and that of each.
    gains : ndarray of float64, shape (n,), or None
        What each right answer counts for, in retrieval. None: all the same.
    labels : dict of str to Labels
        "queries", "targets", "unit" and perhaps others, n labels each, as Ranks have them.
    without_answers : ndarray of int64, shape (n,), or None
        In retrieval, how many queries without a right answer are counted with a task.
    """

    name: str
    n_candidates: int
    query_ids: IntArray
    rows: IntArray
    targets: IntArray
    units: IntArray
    filter: TaskLists | None = None
    candidates: TaskLists | IntArray | None = None
    gains: FloatArray | None = None
    labels: dict[str, Labels] = field(default_factory=dict)
    without_answers: IntArray | None = None

    def __post_init__(self) -> None:
        arrays: list[Any] = [self.query_ids, self.rows, self.targets, self.units]
        arrays.extend([self.gains, self.without_answers])
        for selection in (self.filter, self.candidates):
            arrays.extend(selection if isinstance(selection, TaskLists) else [selection])
        for array in arrays:
            if array is not None:
                array.flags.writeable = False

    @property
    def queries(self) -> IntArray:
        """A copy of the distinct queries, which may be changed."""
        return self.query_ids.copy()

    @cached_property
    def _selections(self) -> dict[str, Any]:
        """The filter and the candidates as the core takes them, so that nothing reads them again.

        Examples
        --------
        >>> one = np.zeros(1, np.int64)
        >>> lists = TaskLists(np.array([0, 1]), np.array([5]), one)
        >>> Side("tail", 9, one[:, None], one, one, one, filter=lists)._selections["filter"].indices
        array([5])
        """
        selections: dict[str, Any] = {"filter": self.filter, "candidates": self.candidates}
        for name, selection in selections.items():
            if isinstance(selection, TaskLists):
                selections[name] = Selection(*selection)
        return selections

    def __len__(self) -> int:
        """The number of tasks."""
        return len(self.targets)

    def some_candidates(self, task: int, number: int) -> IntArray:
        """Return candidates of a task by even steps, filtered ones and repeats among them.

        Examples
        --------
        >>> one = np.zeros(1, np.int64)
        >>> Side("tail", 9, one[:, None], one, one, one).some_candidates(0, 3)
        array([0, 4, 8])
        """
        pool = _list_of(self.candidates, task)
        size = self.n_candidates if pool is None else len(pool)
        places = np.linspace(0, size - 1, number).astype(np.int64)
        return places if pool is None else pool[places]

    def are_candidates(self, task: int, columns: IntArray) -> npt.NDArray[np.bool_]:
        """Return whether columns are candidates of a task.

        Examples
        --------
        >>> one = np.zeros(1, np.int64)
        >>> lists = TaskLists(np.array([0, 2]), np.array([0, 5]), one)
        >>> side = Side("tail", 9, one[:, None], one, one, one, filter=lists)
        >>> side.are_candidates(0, np.array([0, 4, 5]))
        array([ True,  True, False])
        """
        among = _list_of(self.candidates, task)
        filtered = _list_of(self.filter, task)
        is_one = np.full(len(columns), True)
        if among is not None:
            is_one &= are_among(columns, among)
        if filtered is not None:
            is_one &= ~are_among(columns, filtered) | (columns == self.targets[task])
        return is_one

    def part(self, units: IntArray) -> Side:
        """Return the tasks of some units, each given once, unit after unit, and their queries.

        Examples
        --------
        >>> facts = {"left": np.array([4, 3]), "right": np.array([0, 1])}
        >>> side = make_side(
        ...     "right", facts, np.arange(2), query=["left"], answer="right", n_candidates=2
        ... )
        >>> side.part(np.array([1])).queries
        array([[3]])
        """
        order = np.argsort(self.units, kind="stable")
        ordered = self.units[order]
        starts = np.searchsorted(ordered, units, side="left")
        counts = np.searchsorted(ordered, units, side="right") - starts
        tasks = order[join_ranges(starts, counts)]
        queries = codes_of(self.rows[tasks])
        return replace(
            self,
            query_ids=self.query_ids[queries.distinct],
            rows=queries.codes,
            targets=self.targets[tasks],
            units=self.units[tasks],
            filter=selection_of_tasks(self.filter, tasks),
            candidates=selection_of_tasks(self.candidates, tasks),
            gains=_entries(self.gains, tasks),
            labels={name: labels[tasks] for name, labels in self.labels.items()},
            without_answers=_entries(self.without_answers, tasks),
        )


def _list_of(selection: Any, task: int) -> Any:
    """Return the columns that a selection has for a task."""
    if not isinstance(selection, TaskLists):
        return selection
    i = selection.lists[task]
    return selection.indices[selection.indptr[i] : selection.indptr[i + 1]]


def selection_of_tasks(selection: Any, tasks: IntArray) -> Any:
    """Return the selection of some tasks: one list for all tasks, and none, stay as they are."""
    if isinstance(selection, TaskLists):
        return selection.of_tasks(tasks)
    return selection


def _entries(values: Any, tasks: IntArray) -> Any:
    """Return the entries of some tasks, where there are any."""
    return None if values is None else values[tasks]


def make_side(
    name: str,
    facts: Mapping[str, IntArray],
    ranked: IntArray,
    *,
    query: Sequence[str],
    answer: str,
    n_candidates: int,
    known: Sequence[Mapping[str, IntArray]] = (),
    has_filter: bool = True,
    is_asked: npt.NDArray[np.bool_] | None = None,
) -> Side:
    """Make the tasks of one side: each ranked fact asks for its answer, given its query.

    Parameters
    ----------
    name : str
    facts : mapping of str to ndarray of int64, shape (n,)
        The columns of known facts by role, those of the test first.
    ranked : ndarray of int64
        The rows of `facts` that become tasks, and their units.
    query : sequence of str
        The roles of the columns that make a query.
    answer : str
        The role of the answers.
    n_candidates : int
    known : sequence of such mappings
        Further known facts, where a query is one column: joined they would be in memory twice.
    has_filter : bool
        Whether the filter is made: all known answers of each query, the targets among them.
    is_asked : ndarray of bool, shape (n,), optional
        The facts of these queries are marked in it, if the filter is made.

    Returns
    -------
    Side

    Examples
    --------
    >>> facts = {"head": np.array([0, 0, 3]), "tail": np.array([1, 2, 1])}
    >>> side = make_side(
    ...     "tail", facts, np.array([1]), query=["head"], answer="tail", n_candidates=4
    ... )
    >>> side.queries, side.filter.indices
    (array([[0]]), array([1, 2]))
    """
    keys_of: Callable[[Any], IntArray] = RowKeys([facts[role] for role in query]).of
    if len(query) == 1:
        keys_of = facts[query[0]].__getitem__
    queries = codes_of(keys_of(ranked))
    lists_of_known = None
    if has_filter:
        tables = [(keys_of, facts[answer])]
        tables.extend((table[query[0]].__getitem__, table[answer]) for table in known)
        width = 1 + max(int(answers.max(initial=0)) for _, answers in tables)
        codes = codes_of_answers(queries.distinct, tables, width, is_asked)
        del tables, keys_of
        codes = distinct_in_place(codes)
        starts = np.arange(len(queries.distinct) + 1) * width
        indptr = np.searchsorted(codes, starts).astype(np.int64)
        first_codes = np.repeat(starts[:-1], np.diff(indptr))
        indices = np.subtract(codes, first_codes, out=first_codes)
        lists_of_known = TaskLists(indptr, indices, queries.codes)
    owners = ranked[queries.first()]
    return Side(
        name,
        n_candidates,
        query_ids=np.stack([facts[role][owners] for role in query], axis=1),
        rows=queries.codes,
        targets=facts[answer][ranked],
        units=ranked,
        filter=lists_of_known,
    )


def codes_of_answers(
    asked: IntArray,
    tables: Sequence[tuple[Callable[[Any], IntArray], IntArray]],
    width: int,
    is_asked: npt.NDArray[np.bool_] | None = None,
) -> IntArray:
    """Return an integer for the answer of each fact whose query is asked; others are left out.

    Parameters
    ----------
    asked : ndarray of int64
        The distinct queries.
    tables : sequence of (callable, ndarray of int64)
        The answers of facts, and a function that returns the queries of some of them.
    width : int
        More than the largest answer; `MAX_IDS` leaves room for the answers of all queries.
    is_asked : ndarray of bool, optional
        The facts of these queries are marked in it, where they are one table.

    Examples
    --------
    >>> queries = np.array([7, 5, 3])
    >>> tables = [(queries.__getitem__, np.array([2, 1, 9]))]
    >>> codes_of_answers(np.array([3, 7]), tables, 10)
    array([12,  9])
    """
    # Facts of other queries are ruled out before they take memory: what is not written takes none.
    codes = np.empty(sum(len(answers) for _, answers in tables), dtype=np.int64)
    places = IntegerTable(asked, len(codes))
    end = 0
    for queries, answers in tables:
        for block in blocks_of(len(answers)):
            where, row = places.look_up(queries(block))
            row *= width
            row += answers[block][where]
            codes[end : end + len(row)] = row
            end += len(row)
            if is_asked is not None:
                is_asked[block][where] = True
    return codes[:end]
