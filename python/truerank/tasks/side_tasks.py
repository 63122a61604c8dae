"""The tasks of one side: its queries, their known answers, and the query of each task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays.row_keys import RowKeys, codes_of, distinct_rows, find_by_block
from ..errors import InputTypeError, InputValueError
from ..inputs.array_likes import index_array
from ..inputs.checks import check_shape, flag, is_iterable
from ..inputs.frames import NUMBERED, Axis
from ..inputs.selection import indptr_of, join_ranges
from ..naming import public
from ..ranks.container import Ranks
from ..ranks.labels import LABELS, Labels, labels_of_codes
from ..records.vocabularies import Vocabulary
from .task_lists import TaskLists

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from ..records.vocabularies import Names


class SideQueries(NamedTuple):
    """The distinct queries of some facts, the query of each fact, and all known answers.

    Attributes
    ----------
    queries : ndarray of int64, shape (m, c)
        In lexicographic order.
    rows : ndarray of int64, shape (n,)
        The query of each fact, as a row of `queries`.
    targets : ndarray of int64, shape (n,)
        The answer of each fact.
    answers : (indptr, indices)
        The known answers of each query, ascending and distinct; the targets are among them.
    """

    queries: IntArray
    rows: IntArray
    targets: IntArray
    answers: tuple[IntArray, IntArray]


def make_queries(
    facts: IntArray,
    ranked: IntArray,
    query_columns: Sequence[int],
    answer_column: int,
    is_asked: npt.NDArray[np.bool_] | None = None,
) -> SideQueries:
    """Make the queries of one side.

    Parameters
    ----------
    facts : ndarray of int64, shape (n, c)
        All known triples or pairs.
    ranked : ndarray of int64
        The rows of `facts` that become tasks.
    query_columns : sequence of int
        The columns that make a query.
    answer_column : int
        The column of the answers.
    is_asked : ndarray of bool, shape (n,), optional
        The facts of these queries are marked in it.

    Returns
    -------
    SideQueries

    Examples
    --------
    >>> triples = np.array([[0, 0, 1], [0, 0, 2], [3, 0, 1]])
    >>> made = make_queries(triples, np.array([1]), (0, 1), 2)
    >>> made.queries, made.answers
    (array([[0, 0]]), (array([0, 2]), array([1, 2])))
    """
    keys = RowKeys([facts[:, column] for column in query_columns])
    asked = codes_of(keys.of(ranked))
    # Only facts of these queries are kept: others are ruled out before they take memory.
    pairs = np.empty((2, len(facts)), dtype=np.int64)  # What is not written takes no memory.
    end = 0
    for block, where, query in find_by_block(asked.distinct, len(facts), keys.of):
        of_block = slice(end, end + len(where))
        pairs[0, of_block] = query
        pairs[1, of_block] = facts[block, answer_column][where]
        if is_asked is not None:
            is_asked[block][where] = True
        end += len(where)
    del keys
    query_of_answer, answers = distinct_rows(list(pairs[:, :end]))
    del pairs
    indptr = indptr_of(np.bincount(query_of_answer, minlength=len(asked.distinct)))
    owners = ranked[asked.first()]
    queries = np.empty((len(owners), len(query_columns)), dtype=np.int64)
    for j, column in enumerate(query_columns):
        queries[:, j] = facts[owners, column]
    return SideQueries(
        queries=queries,
        rows=asked.codes,
        targets=facts[ranked, answer_column],
        answers=(indptr, answers),
    )


@public("truerank.link_prediction")
class Sampled(NamedTuple):
    """Sampled candidates: right answers and some entities that are no known answers of the query.

    Attributes
    ----------
    negatives : int
        The number of distinct ones for each draw, as `per` says; all of them if fewer are allowed.
    typed : bool
        Whether to draw only from the entities that occur in that position of that relation (in any
        split); in link prediction alone.
    seed : int
        With one version of truerank and of NumPy, a seed gives the same sample on every platform.
    among : str, optional
        The known split from whose entities to draw, as the graph on which an inductive model
        infers. Default: all entities.
    per : {"answer", "query"}, optional
        What is drawn for. "answer": each right answer of its own. In retrieval a query is one
        ranking, of all its right answers and what was drawn for any of them, as RecBole's "uni100"
        has it; a task of link prediction is an answer. "query": in retrieval, a query once.
        Default: a query in retrieval, an answer in link prediction.

    Notes
    -----
    Metrics of sampled candidates are too good and cannot be compared with those of all candidates;
    the protocol of the ranks names the sample. The known answers of all splits, the test included,
    are never drawn, even if nothing is filtered (``known=None``).

    Examples
    --------
    >>> Sampled(500).name, Sampled(50, among="inference").name
    ('uniform-500 seed 0', 'uniform-50 of inference seed 0')
    >>> Sampled(100, per="answer").name
    'uniform-100 per answer seed 0'
    """

    negatives: int = 100
    typed: bool = False
    seed: int = 0
    among: str | None = None
    per: str | None = None

    @property
    def name(self) -> str:
        """The name of the sample in the protocol."""
        name = f"typed-{self.negatives}" if self.typed else f"uniform-{self.negatives}"
        if self.among is not None:
            name += f" of {self.among}"
        if self.per is not None:
            name += f" per {self.per}"
        return f"{name} seed {self.seed}"


class GivenRows(NamedTuple):
    """What a user hands over for the queries of a side.

    Attributes
    ----------
    rows : ndarray of int64, shape (n,)
        The row of each task.
    height : int
        The number of rows.
    each : str
        What a row is for.
    axis : Axis
        The names of the rows.
    """

    rows: IntArray
    height: int
    each: str
    axis: Axis


class WritableCopies:
    """An attribute of arrays that is kept as it is set, and read as a copy that may be changed.

    torch warns of read-only arrays, whose tensors could change them. A copy has no such tensors.

    Examples
    --------
    >>> class Kept:
    ...     queries = WritableCopies("queries")
    >>> kept = Kept()
    >>> kept.queries = np.array([3, 1])
    >>> kept.queries[0] = 7
    >>> kept.queries
    array([3, 1])
    """

    def __init__(self, name: str) -> None:
        self._name = f"_{name}"

    def __get__(self, kept: Any, owner: type | None = None) -> Any:
        if kept is None:
            return self
        return np.array(vars(kept)[self._name])

    def __set__(self, kept: Any, value: IntArray) -> None:
        vars(kept)[self._name] = value


@public("truerank.tasks")
@dataclass(frozen=True, eq=False)
class SideTasks:
    """One side of a protocol: a ranking for each of its test triples (or pairs).

    Task i belongs to query ``rows[i]``; its right answer is column ``targets[i]`` of the scores.
    All arrays are read-only but `queries`, which is copied whenever it is asked for, so that
    ``torch.from_numpy`` takes it.

    Attributes
    ----------
    side : str
        The name of the side: "head", "tail", "relation", or that of another protocol.
    queries : ndarray of int64, shape (m, c) or (m,)
        The distinct queries, each a row of ids (the key columns), or a number. A copy.
    rows : ndarray of int64, shape (n,)
        The query of each task.
    targets : ndarray of int64, shape (n,)
        The column of each task's right answer.
    columns : int
        The number of columns of scores: one for each entity (or relation).
    filter : (indptr, indices), (indptr, indices, lists), or None
        The known answers of each of the m queries, sorted and distinct; or lists of answers, and
        the list of each task. None: unfiltered.
    candidates : None, array of int, (indptr, indices), or (indptr, indices, lists)
        The only columns to let in: all (None), one list for all tasks, or a list per task, as in
        `rank`.
    labels : dict of str to Labels
        "relation", "queries", "targets" and perhaps others, n labels each. "unit" is `test_rows`
        where it is not among them.
    arrays : dict of str to ndarray, shapes (n,)
        What ranks of the tasks carry beside labels: "gains" and "without_answers" of retrieval.
    test_rows : ndarray of int64, shape (n,)
        The row of each task's triple (or pair, or query) in the test split as it was given.
    height : int
        The number of test triples that were given. Default: all of them are tasks, in order.
    names : tuple of str, tuple of int, or None
        The labels of the columns.
    candidate_kind : str
        What columns are: "entities" or "relations".
    row_axis : Axis
        The labels of the rows that are given for the test: those of queries, or their numbers.
    """

    side: str
    queries: IntArray
    rows: IntArray
    targets: IntArray
    columns: int
    filter: tuple[IntArray, ...] | None = None
    candidates: Any | None = None
    labels: dict[str, Labels] = field(default_factory=dict)
    arrays: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    test_rows: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    height: int = -1
    names: Names = None
    candidate_kind: str = "entities"
    row_axis: Axis = NUMBERED

    def __post_init__(self) -> None:
        if self.height < 0:
            vars(self).update(height=len(self.targets), test_rows=np.arange(len(self.targets)))
        arrays = ["_queries", "rows", "targets", "test_rows"]
        arrays.extend(["filter", "candidates", "arrays"])
        vars(self).update({name: _read_only(vars(self)[name]) for name in arrays})
        labels = {"unit": Labels._trusted(self.test_rows, None)}
        labels.update(self.labels)
        vars(self).update(labels=labels)

    def __len__(self) -> int:
        """The number of tasks."""
        return len(self.targets)

    def rows_of(self, unique: bool) -> GivenRows:
        """Return what rows a user hands over: of distinct queries, or of the test as given."""
        if flag("unique", unique):
            return GivenRows(self.rows, len(self.queries), "distinct query", NUMBERED)
        says_how_many = self.row_axis.written == "task.queries"
        where = "(queries= says how many there are)" if says_how_many else "of the test as given"
        each = f"query {where}"
        return GivenRows(self.test_rows, self.height, each, self.row_axis)

    @property
    def column_axis(self) -> Axis:
        """The labels of the columns, and the attribute of a task that has them."""
        return Axis(self.names, f"task.{self.candidate_kind}")

    @property
    def vocabulary(self) -> Vocabulary:
        """What elements name in the columns."""
        return Vocabulary(self.columns, self.names, self.candidate_kind)

    def selections(self, tasks: IntArray | None = None) -> tuple[Any, Any]:
        """Return the filter and the candidates of some tasks, or of all, as `rank` takes them.

        Examples
        --------
        >>> known = np.array([0, 1, 3]), np.array([4, 0, 2])
        >>> rows, targets = np.array([0, 1, 1]), np.array([4, 0, 2])
        >>> side = SideTasks("tail", np.array([[7], [8]]), rows, targets, 5, known)
        >>> side.selections(np.array([2]))
        (TaskLists(indptr=array([0, 2]), indices=array([0, 2]), lists=array([0])), None)
        """
        return self.filter_of(tasks), self.candidates_of(tasks)

    def candidates_of(self, tasks: IntArray | None = None) -> Any:
        """Return the candidates of some tasks or of all, as `rank` takes them."""
        candidates = _as_task_lists(self.candidates, np.arange(len(self)))
        if tasks is not None and isinstance(candidates, TaskLists):
            candidates = candidates.of_tasks(tasks)
        return candidates

    def filter_of(self, tasks: IntArray | None = None) -> Any:
        """Return the filter of some tasks or of all, as `rank` takes it."""
        task_lists = _as_task_lists(self.filter, self.rows)
        if tasks is None or task_lists is None:
            return task_lists
        return task_lists.of_tasks(tasks)

    def part(self, units: IntArray) -> SideTasks:
        """Return the tasks of some units of a side, unit after unit.

        Parameters
        ----------
        units : ndarray of int64, shape (k,)
            The units, each once, in the order of the part.

        Returns
        -------
        SideTasks
            With the queries of these tasks only. Rows that a user hands over (`test_rows`) are
            those of the part: one for each row that its units have in the whole, unit after unit.
        """
        unit = self.labels["unit"].codes
        chosen, place = _tasks_of_units(unit, units)
        given = codes_of(place, self.test_rows[chosen])
        asked = codes_of(self.rows[chosen])
        filter_lists, candidates = self.selections(chosen)
        rows_of_whole = self.test_rows[chosen[given.first()]]
        if self.row_axis.some is not None:
            rows_of_whole = self.row_axis.some[rows_of_whole]
        return replace(
            self,
            queries=self.queries[asked.distinct],
            rows=asked.codes,
            targets=self.targets[chosen],
            filter=filter_lists,
            candidates=candidates,
            labels={name: each[chosen] for name, each in self.labels.items()},
            arrays={name: each[chosen] for name, each in self.arrays.items()},
            test_rows=given.codes,
            height=len(given.distinct),
            row_axis=Axis(self.row_axis.whole, f"task.{self.side}.row_axis.labels", rows_of_whole),
        )

    def labelled(self, ranks: Ranks) -> Ranks:
        """Return ranks of all tasks with their labels, and with what they carry beside these."""
        one_side = labels_of_codes(np.zeros(len(self), np.int64), (self.side,))
        labels = {"side": one_side, **self.labels}
        # Attributes of Ranks come first, as everywhere in Ranks.
        names = [name for name in LABELS if name in labels]
        names.extend(name for name in labels if name not in LABELS)
        return ranks._with(self.arrays, labels={name: labels[name] for name in names})


# It is set after the class was made, because it is no default of the field.
type.__setattr__(SideTasks, "queries", WritableCopies("queries"))


def _read_only(value: Any) -> Any:
    """Return a read-only view of an array, or of each array of a tuple or dict."""
    if isinstance(value, tuple):
        return tuple(map(_read_only, value))
    if isinstance(value, dict):
        return {name: _read_only(item) for name, item in value.items()}
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def _as_task_lists(selection: Any, lists: IntArray) -> Any:
    """Return lists as `TaskLists`; where they are a list for each of something, `lists` says whose.

    One list for all tasks, and none, stay as they are.
    """
    if not isinstance(selection, tuple):
        return selection
    if len(selection) == 2:
        return TaskLists(*selection, lists)
    return TaskLists(*selection)


def chosen_positions(number: int, index: Any) -> IntArray:
    """Return the positions of some of the units, in the order of an index, which names none twice.

    Parameters
    ----------
    number : int
        How many units there are.
    index : slice, or array_like of int, shape (k,)

    Raises
    ------
    TypeError
        For an index of another type, a mask of booleans included.
    ValueError
        For a unit that comes twice.
    IndexError
        For a position out of range.

    Examples
    --------
    >>> chosen_positions(4, slice(1, None, 2))
    array([1, 3])
    >>> chosen_positions(4, [2, -4])
    array([2, 0])
    """
    if isinstance(index, slice):
        return np.arange(number)[index]
    expected = "a slice or positions of triples, pairs or queries, as task[0::4] or task[[7, 3]]"
    is_one = isinstance(index, (str, bytes, int, np.integer)) or not is_iterable(index)
    if is_one or isinstance(index, Mapping) or np.asarray(index).dtype.kind == "b":
        raise InputTypeError("index", expected=expected, got=repr(index))
    given = index_array("index", index)
    check_shape("index", given.shape, 1, expected)
    is_wrong = (given < -number) | (given >= number)
    if is_wrong.any():
        first = given[is_wrong][0]
        raise IndexError(f"index: {first} is out of range for a task of length {number:,}")
    positions = np.where(given < 0, given + number, given)
    counts = np.bincount(positions, minlength=number)
    if len(positions) and counts.max() > 1:
        again = int(np.flatnonzero(positions == counts.argmax())[1])
        got = f"{given[again]} again at position {again}"
        raise InputValueError("index", expected="each position at most once", got=got)
    return positions


def _tasks_of_units(unit: IntArray, units: IntArray) -> tuple[IntArray, IntArray]:
    """Return the tasks of some units, unit after unit, and the place of each one's unit."""
    order = np.argsort(unit, kind="stable")
    ordered = unit[order]
    starts = np.searchsorted(ordered, units, side="left")
    counts = np.searchsorted(ordered, units, side="right") - starts
    places = np.repeat(np.arange(len(units)), counts)
    return order[join_ranges(starts, counts)], places
