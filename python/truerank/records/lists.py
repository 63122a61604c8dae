"""Lists and judgements by name: candidates with scores, and documents with grades, of each query.

Both are tables with the columns query and document. What has names is read here; `list_files` reads
text.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..arrays.row_keys import codes_of, distinct
from ..errors import InputTypeError, InputValueError, UnknownKeyError
from ..inputs.array_likes import as_array, read_only, refuse_rounded
from ..inputs.checks import is_number, is_sparse, without_index
from ..inputs.selection import indptr_of
from .columns import (
    JUDGEMENTS,
    LISTS,
    check_columns,
    is_column,
    read_named_table,
    table_of_columns,
)
from .elements import checked_names, joined_rows
from .id_tables import IdTable, TableReader
from .vocabularies import code_names

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from .elements import Name, Names

QREL_FORMS = (
    "a path, a table with named columns, {query: {document: grade}}, {query: [documents]}, a tuple "
    "of columns (queries, documents, grades), or a sparse matrix of grades"
)
_LARGEST_WHOLE = 2.0**53  # From here on not every whole number is a float64.
LIST_FORMS = (
    "a path, a table with named columns, {query: {id: score}}, {query: [ids, the best first]}, or "
    "TopK(ids, scores); dict(zip(queries, lists)) makes lists a mapping"
)


# -- judgements ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Judgements(IdTable):
    """The grades of documents for queries: a table with "query", "document" and "relevance".

    Without grades, all documents are right answers; those of grades above 0 are otherwise.

    Attributes
    ----------
    asked : IdTable, or None
        The queries that occur, also those without a document; None: rows do not name these.
    shape : (int, int), or None
        That of a matrix, whose rows are queries and whose columns are documents, as positions.
    """

    asked: IdTable | None = None
    shape: tuple[int, int] | None = None

    def __repr__(self) -> str:
        queries = len(distinct(self.ids["query"]))
        return f"{len(self):,} judgements of {queries:,} queries, from {self.source}"

    @property
    def queries(self) -> Names:
        """The query of each judgement."""
        return self._listed("query")

    @property
    def documents(self) -> Names:
        """The document of each judgement."""
        return self._listed("document")

    @property
    def relevance(self) -> npt.NDArray[Any] | None:
        """The grade of each judgement; None: they have none."""
        return self.values.get("relevance")

    def _listed(self, role: str) -> Names:
        """Return the names of a column, or its ids."""
        ids = self.ids[role].tolist()
        if role not in self.names:
            return tuple(ids)
        return tuple(map(self.names[role].listed().__getitem__, ids))


def read_judgements(argument: str, value: Any, columns: Any = None) -> Judgements:
    """Read judgements in any form that Python has; `read_qrels` reads files.

    Parameters
    ----------
    argument : str
        For messages.
    value : object
        What `read_qrels` returned; ``{query: {document: grade}}``, ``{query: [documents]}``; a
        frame of pandas or polars, a table of pyarrow, a structured array, whose columns are found
        by their names; a tuple of columns; a sparse matrix of scipy.
    columns : mapping of str to (str or int), optional
        As `check_columns` takes it, for what has columns.

    Raises
    ------
    InputTypeError, InputValueError
        For anything else.

    Examples
    --------
    >>> read_judgements("qrels", (["ann"], ["tea"], [2])).relevance
    array([2])
    >>> read_judgements("qrels", [("ann", "tea")])
    Traceback (most recent call last):
    truerank.errors.InputTypeError: qrels: expected a path, a table with named columns, \
{query: {document: grade}}, {query: [documents]}, a tuple of columns (queries, documents, grades), \
or a sparse matrix of grades, got a list
    """
    columns = check_columns(columns, JUDGEMENTS)
    if isinstance(value, Judgements):
        return replace(value, title=argument)
    if isinstance(value, Mapping):
        return _judgements_of_mapping(argument, value)
    if is_sparse(value):
        return _judgements_of_matrix(argument, value)
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        table = table_of_columns(argument, list(value))
    else:
        table = read_named_table(argument, value, QREL_FORMS, columns)
    by_role, source = table.by_role(argument, JUDGEMENTS, columns)
    grades = by_role.get("relevance")
    relevance = None if grades is None else read_grades(argument, grades)
    judgements = _make_judgements(argument, by_role["query"], by_role["document"], relevance)
    return replace(judgements, source=source)


def _make_judgements(
    argument: str,
    queries: Any,
    documents: Any,
    relevance: npt.NDArray[Any] | None,
    counts: IntArray | None = None,
) -> Judgements:
    """Return judgements of a query and a document each; or with counts, of each query so many."""
    reader = TableReader(JUDGEMENTS)
    asked = reader.column(argument, "query", queries)
    judged = reader.column(argument, "document", documents)
    ids = asked.ids["query"] if counts is None else np.repeat(asked.ids["query"], counts)
    return Judgements(
        {"query": ids, **judged.ids},
        {} if relevance is None else {"relevance": relevance},
        argument,
        names={**asked.names, **judged.names},
        asked=None if counts is None else asked,
    )


def _judgements_of_mapping(argument: str, value: Mapping[Any, Any]) -> Judgements:
    """Read {query: {document: grade}}, or {query: [documents]}."""
    judged = list(value.values())
    are_graded = {isinstance(each, Mapping) for each in judged}
    for query, each in value.items():
        if len(are_graded) > 1 or not (isinstance(each, Mapping) or is_column(each)):
            expected = "{query: {document: grade}}, or {query: [documents]} for all queries"
            raise InputTypeError(argument, expected=expected, got=f"{query!r}: {each!r}")
    queries = list(value)
    if True in are_graded:
        counts = np.array(list(map(len, judged)), np.int64)
        grades = list(chain.from_iterable(each.values() for each in judged))
        documents = list(chain.from_iterable(judged))
        return _make_judgements(argument, queries, documents, read_grades(argument, grades), counts)
    counts, listed = joined_rows(argument, judged, "documents of each query")
    return _make_judgements(argument, queries, listed, None, counts)


def _judgements_of_matrix(argument: str, value: Any) -> Judgements:
    """Read a sparse matrix: stored entries are judged, and their values are grades."""
    csr = value.tocsr()
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    queries = np.arange(csr.shape[0])
    grades = read_grades(argument, csr.data)
    judgements = _make_judgements(argument, queries, csr.indices, grades, np.diff(csr.indptr))
    asked = IdTable({"query": queries}, title=argument, kind="positions")
    return replace(judgements, kind="positions", asked=asked, shape=csr.shape)


def read_grades(argument: str, values: Any) -> npt.NDArray[Any]:
    """Return grades, which are finite numbers of any kind and sign, whatever has them.

    Parameters
    ----------
    argument : str
        For messages.
    values : sequence of numbers, shape (n,)

    Returns
    -------
    ndarray, shape (n,)
        Of int64 where all are whole, of float64 otherwise.

    Raises
    ------
    InputTypeError, InputValueError
        For what is no number, and for NaN and infinite ones.

    Examples
    --------
    >>> read_grades("qrels", [2.0, -1]), read_grades("qrels", np.array([1, 0.1]))
    (array([ 2, -1]), array([1. , 0.1]))
    """
    expected = "grades that are finite numbers"
    array = as_array(without_index(values), argument, expected)
    if array.dtype.kind == "O":  # Such a column holds Python's numbers.
        array = as_array(array.tolist(), argument, expected)
    if not len(array):
        return np.zeros(0, np.int64)
    if array.dtype.kind not in "biuf" or array.ndim != 1:
        odd = [(value, row) for row, value in enumerate(values) if not is_number(value)]
        value, row = odd[0]
        raise InputTypeError(argument, expected=expected, got=f"{value!r} in row {row}")
    if array.dtype.kind in "bi":
        return array.astype(np.int64, copy=False)
    grades = array.astype(np.float64)
    is_odd = ~np.isfinite(grades)
    if is_odd.any():
        row = int(is_odd.argmax())
        raise InputValueError(argument, expected=expected, got=f"{array[row]} in row {row}")
    is_whole = (grades == np.floor(grades)) & (np.abs(grades) < _LARGEST_WHOLE)
    if is_whole.all():
        return grades.astype(np.int64)
    return grades


# -- lists -----------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class NamedLists(Mapping[Any, dict[Any, Any]]):
    """Lists of scored candidates by name: a mapping of each query to ``{name: score}``.

    Attributes
    ----------
    queries : tuple of str or int, shape (lists,)
        The name of each list's query, each once and all of one type.
    names : tuple of str or int
        The names of the candidates that occur, all of one type; a candidate's id is its position.
    indptr : ndarray of int64, shape (lists + 1,), read-only
        List i has the entries ``indptr[i]:indptr[i + 1]``.
    ids : ndarray of int, shape (entries,), read-only
        The candidates, as ids.
    scores : ndarray, shape (entries,), read-only, or None
        Their scores; None: the order of each list says all.
    path : str
        The file that has them, whose names have no type; "": they are from Python.
    source : str
        The file and its form, or what was left out.
    contradiction : str
        What ranks beside the scores say against them.
    """

    queries: Names
    names: Names
    indptr: IntArray
    ids: npt.NDArray[Any]
    scores: npt.NDArray[Any] | None
    path: str = ""
    source: str = ""
    contradiction: str = ""

    def __post_init__(self) -> None:
        self.indptr = read_only(self.indptr)
        self.ids = read_only(self.ids)
        if self.scores is not None:
            self.scores = read_only(self.scores)

    @cached_property
    def _rows(self) -> dict[Name, int]:
        """The row of each query."""
        return dict(zip(self.queries, range(len(self)), strict=True))

    def __len__(self) -> int:
        return len(self.queries)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.queries)

    def __repr__(self) -> str:
        entries = f"{len(self.ids):,} entries, {len(self.names):,} names"
        return f"NamedLists({len(self):,} lists, {entries})"

    def __getitem__(self, query: Name) -> dict[Any, Any]:
        """Return the scores of a query's list by name, in the order of the list."""
        i = self._rows.get(query, -1)
        if i < 0:
            raise UnknownKeyError(repr(query), "no list of this query")
        span = slice(int(self.indptr[i]), int(self.indptr[i + 1]))
        names = [self.names[code] for code in self.ids[span].tolist()]
        if self.scores is None:
            return dict.fromkeys(names)
        return dict(zip(names, self.scores[span].tolist(), strict=True))

    @property
    def title(self) -> str:
        """What messages of `evaluate_lists` call the lists."""
        return f"ids: {self.path}" if self.path else "ids"

    def score_at(self, entry: int) -> str:
        """Say whose score an entry has, for messages."""
        query = self.queries[int(np.searchsorted(self.indptr, entry, side="right")) - 1]
        return f"the score of {self.names[self.ids[entry]]!r} for {query!r}"

    @property
    def entries(self) -> tuple[Any, Any]:
        """The ids and the scores of all lists, as `rank_lists` takes them."""
        ids = (self.indptr, self.ids)
        if self.scores is None:
            return ids, None
        return ids, (self.indptr, self.scores)


def lists_of_entries(
    argument: str, queries: Names, names: Names, entries: IdTable, place: str = ""
) -> tuple[NamedLists, int]:
    """Make lists of entries in any order, each once; and say how many were repeats.

    Parameters
    ----------
    argument : str
        For messages.
    queries, names : tuple of str, or of int
        By the codes of queries and documents, each once.
    entries : IdTable
        With "score", or "rank", which says the order alone, or neither: that of the entries says
        it. Those that say the same of a document count once.
    place : str, optional
        The file that has them.

    Raises
    ------
    InputValueError
        For a document that a query has twice with unlike scores or ranks, or without any, and for a
        rank that it has twice.

    Examples
    --------
    >>> ids = {"query": np.array([0, 0, 0]), "document": np.array([1, 0, 1])}
    >>> rows = IdTable(ids, {"score": np.array([0.5, 0.25, 0.5])})
    >>> lists, repeated = lists_of_entries("ids", ("q1",), ("d3", "d7"), rows)
    >>> lists["q1"], repeated
    ({'d7': 0.5, 'd3': 0.25}, 1)
    """
    number = len(entries)
    ranks = entries.values.get("rank")
    if ranks is not None:
        entries = entries.select(np.lexsort((ranks, entries.ids["query"])))
    elif (np.diff(entries.ids["query"]) < 0).any():
        entries = entries.select(np.argsort(entries.ids["query"], kind="stable"))
    indptr = indptr_of(np.bincount(entries.ids["query"], minlength=len(queries)))
    documents = entries.ids["document"]
    if not entries.values:
        refuse_repeats(argument, queries.__getitem__, names, indptr, documents, place)
    elif _first_repeated(indptr, documents, len(names)) is not None:
        (values,) = entries.values.values()
        keys = entries.ids["query"] * np.int64(len(names)) + documents
        first_rows, unlike = first_of_equal(keys, values)
        if unlike is not None:
            first, second = unlike
            query = queries[entries.ids["query"][first]]
            two = f"with {values[first]} and {values[second]}"
            problem = f"the list of {query!r} has {names[documents[first]]!r} twice, {two}"
            raise InputValueError(argument, problem, place=place)
        entries = entries.select(first_rows)
        indptr = indptr_of(np.bincount(entries.ids["query"], minlength=len(queries)))
    if ranks is not None:
        _refuse_equal_ranks(argument, queries, entries, place)
    scores = entries.values.get("score")
    lists = NamedLists(queries, names, indptr, entries.ids["document"], scores, place)
    return lists, number - len(entries)


def _refuse_equal_ranks(argument: str, names: Names, entries: IdTable, place: str) -> None:
    """Refuse two documents at one rank where ranks are all that says the order."""
    ranks = entries.values["rank"]
    queries = entries.ids["query"]
    is_equal = (queries[1:] == queries[:-1]) & (ranks[1:] == ranks[:-1])
    if is_equal.any():
        i = int(is_equal.argmax())
        problem = f"the list of {names[queries[i]]!r} has the rank {ranks[i]} twice"
        raise InputValueError(argument, problem, place=place)


def first_of_equal(
    keys: IntArray, values: npt.NDArray[Any]
) -> tuple[IntArray, tuple[int, int] | None]:
    """Return the first row of each key, ascending, and two rows of one key with unlike values.

    Examples
    --------
    >>> first_of_equal(np.array([7, 8, 7]), np.array([1, 0, 1]))
    (array([0, 1]), None)
    >>> first_of_equal(np.array([7, 8, 7]), np.array([1, 0, 2]))
    (array([0, 1]), (0, 2))
    """
    codes = codes_of(keys)
    first = codes.first()
    first_of_row = first[codes.codes]
    is_unlike = values != values[first_of_row]
    is_unlike &= ~(np.isnan(values) & np.isnan(values[first_of_row]))
    unlike = None
    if is_unlike.any():
        row = int(is_unlike.argmax())
        unlike = int(first_of_row[row]), row
    return np.sort(first), unlike


def read_named_lists(argument: str, value: Any, columns: Any = None) -> NamedLists:
    """Read lists in any form that Python has; `read_run` reads files.

    Names stay what they are, str or int.

    Parameters
    ----------
    argument : str
        For messages.
    value : object
        What `read_run` returned; ``{query: {id: score}}``, or ``{query: [ids, the best first]}``; a
        frame of pandas or polars, a table of pyarrow, a structured array, whose columns are found
        by their names. Without scores, a column of ranks, or else the order of rows, says all.
    columns : mapping of str to (str or int), optional
        As `check_columns` takes it, for what has columns.

    Raises
    ------
    InputTypeError, InputValueError
        For another form, and for a document that a query has twice with unlike scores.

    Examples
    --------
    >>> read_named_lists("ids", {"q1": {"d7": 2.5, "d3": 1.5}})["q1"]
    {'d7': 2.5, 'd3': 1.5}
    """
    columns = check_columns(columns, LISTS)
    if isinstance(value, NamedLists):
        return value
    if isinstance(value, Mapping):
        return _lists_of_mapping(argument, value)
    table = read_named_table(argument, value, LIST_FORMS, columns)
    by_role, source = table.by_role(argument, LISTS, columns)
    values: dict[str, npt.NDArray[Any]] = {}
    if "score" in by_role:
        values["score"] = _numbers(argument, by_role["score"], "iuf", "numbers as scores")
    elif "rank" in by_role:
        ranks = _numbers(argument, by_role["rank"], "iu", "integers as ranks")
        values["rank"] = ranks.astype(np.int64)
    queries, query_names = code_names(checked_names(argument, by_role["query"]))
    documents, names = code_names(checked_names(argument, by_role["document"]))
    entries = IdTable({"query": queries, "document": documents}, values)
    lists, _ = lists_of_entries(argument, query_names, names, entries)
    lists.source = source
    if "rank" in by_role and "score" in by_role:
        ranks = _array_of_column(argument, by_role["rank"], "ranks")
        lists.contradiction = rising_ranks(entries, ranks)
    return lists


def _lists_of_mapping(argument: str, value: Mapping[Any, Any]) -> NamedLists:
    """Read {query: {id: score}}, or {query: [ids, the best first]}."""
    listed = list(value.values())
    are_scored = {isinstance(each, Mapping) for each in listed}
    for query, each in value.items():
        is_odd = not isinstance(each, Mapping) and (isinstance(each, Set) or not is_column(each))
        if len(are_scored) > 1 or is_odd:
            expected = "{query: {id: score}}, or {query: [ids, the best first]} for all queries"
            raise InputTypeError(
                argument, expected=expected, got=f"{query!r}: {reprlib.repr(each)}"
            )
    queries = checked_names(argument, list(value))
    if True not in are_scored:
        expected = "a list of ids, or {id: score}"
        counts, ids = joined_rows(argument, listed, expected, lambda i: f"for {queries[i]!r}")
        codes, names = code_names(checked_names(argument, ids))
        indptr = indptr_of(counts)
        refuse_repeats(argument, queries.__getitem__, names, indptr, codes, "")
        return NamedLists(queries, names, indptr, codes, None)
    codes, names = code_names(checked_names(argument, list(chain.from_iterable(listed))))
    numbers = list(chain.from_iterable(each.values() for each in listed))
    if _core.types_of(numbers) != {float}:
        for query, each in value.items():
            if not all(map(is_number, each.values())):
                got = f"{query!r}: {reprlib.repr(dict(each))}"
                raise InputTypeError(argument, expected="numbers as scores", got=got)
    scores = _numbers(argument, numbers, "iuf", "numbers as scores")
    refuse_rounded(argument, numbers, scores)
    indptr = indptr_of(list(map(len, listed)))
    return NamedLists(queries, names, indptr, codes, scores)


def _numbers(argument: str, values: Any, kinds: str, expected: str) -> npt.NDArray[Any]:
    """Return a column of numbers of some kinds of dtype."""
    array = _array_of_column(argument, values, expected)
    if not len(array):
        return np.zeros(0, np.int64)
    if array.dtype.kind not in kinds or array.ndim != 1:
        raise InputTypeError(argument, expected=expected, got=f"a column of {array.dtype}")
    return array


def _array_of_column(argument: str, values: Any, expected: str) -> npt.NDArray[Any]:
    array = as_array(without_index(values), argument, expected)
    # A column of objects holds Python's numbers.
    return as_array(array.tolist(), argument, expected) if array.dtype.kind == "O" else array


def rising_ranks(entries: IdTable, ranks: npt.NDArray[Any]) -> str:
    """Say in how many queries ranks rise with the scores, if in nearly all; else "".

    Ranks that are no numbers say nothing.

    Examples
    --------
    >>> ids = {"query": np.array([0, 0]), "document": np.array([3, 7])}
    >>> entries = IdTable(ids, {"score": np.array([0.25, 0.5])})
    >>> rising_ranks(entries, np.array([1, 2])), rising_ranks(entries, np.array([2, 1]))
    ('ranks rise with the scores in 1 of 1 queries', '')
    """
    if ranks.dtype.kind not in "iuf":
        return ""
    order = np.lexsort((ranks, entries.ids["query"]))
    ranks = ranks[order]
    queries = entries.ids["query"][order]
    scores = entries.values["score"][order]
    is_later = (queries[1:] == queries[:-1]) & (ranks[1:] > ranks[:-1])
    rises, falls = (
        np.bincount(queries[1:], is_later & is_so) > 0
        for is_so in (scores[1:] > scores[:-1], scores[1:] < scores[:-1])
    )
    unlike = np.count_nonzero(rises | falls)
    rising = np.count_nonzero(rises & ~falls)
    if rising < max(1, 0.95 * unlike):
        return ""
    return f"ranks rise with the scores in {rising:,} of {unlike:,} queries"


def refuse_repeats(
    argument: str,
    query_of: Callable[[int], Name],
    names: Sequence[Name],
    indptr: IntArray,
    ids: npt.NDArray[Any],
    place: str,
) -> None:
    """Refuse lists that have a name twice."""
    entry = _first_repeated(indptr, ids, len(names))
    if entry is not None:
        query = query_of(int(np.searchsorted(indptr, entry, side="right")) - 1)
        problem = f"the list of {query!r} has {names[ids[entry]]!r} twice"
        raise InputValueError(argument, problem, place=place)


def _first_repeated(indptr: IntArray, ids: npt.NDArray[Any], size: int) -> int | None:
    """Return the first entry whose id its list has twice; None: there is none.

    Examples
    --------
    >>> _first_repeated(np.array([0, 1, 3]), np.array([2, 2, 2]), 3)
    2
    """
    none = np.zeros(0, np.int64)
    fault = _core.find_listed(_core.Selection(indptr, ids), size, none, none, None, 0)[0]
    if fault is None:
        return None
    return int(fault[0])
