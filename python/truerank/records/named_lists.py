"""Lists of scored candidates by name."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..arrays.row_keys import codes_of
from ..errors import InputTypeError, InputValueError, UnknownKeyError
from ..inputs.array_likes import as_array, read_only
from ..inputs.candidate_lists import PAD
from ..inputs.checks import instance, is_number, refuse_repeated
from ..inputs.frames import is_frame, without_index
from ..inputs.scores import refuse_rounded
from ..inputs.selection import indptr_of
from ..naming import public
from .column_roles import LISTS, check_columns
from .column_tables import is_column, read_table
from .elements import checked_names, is_integer_type
from .judgements import plain_rows
from .vocabularies import LabelIndex, code_names

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from .elements import Name, Names


@public("truerank")
@dataclass(eq=False, repr=False)
class NamedLists(Mapping[Any, dict[Any, Any]]):
    """Lists of scored candidates by name: a mapping of each query to ``{name: score}``.

    Parameters
    ----------
    queries : tuple of str or int, shape (lists,)
        The name of each list's query, each once and all of one type.
    names : tuple of str or int
        The names of the candidates that occur, all of one type; a candidate's id is its position.
    indptr : ndarray of int64, shape (lists + 1,)
        List i has the entries ``indptr[i]:indptr[i + 1]``.
    ids : ndarray of int, shape (entries,)
        The candidates, as ids.
    scores : ndarray, shape (entries,), or None
        Their scores; None: the order of each list says all.
    is_text : bool
        Whether the names are from a file, as in `Qrels`.
    source : str
        The file and its form, as in `Qrels`.

    Raises
    ------
    TypeError
        For names that are neither str nor int, or some of them str and others int.
    ValueError
        For a query that has two lists, and a name that occurs twice.

    Examples
    --------
    >>> lists = NamedLists(
    ...     ("q1", "q2"), ("d7", "d3"), np.array([0, 2, 3]), np.array([0, 1, 1]), np.ones(3)
    ... )
    >>> lists["q2"]
    {'d3': 1.0}
    """

    queries: Names
    names: Names
    indptr: IntArray
    ids: npt.NDArray[Any]
    scores: npt.NDArray[Any] | None
    is_text: bool = False
    source: str = ""
    _path: str = field(default="", init=False)  # The file that has them.
    # What ranks beside the scores say against them.
    _contradiction: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self.queries = checked_names("queries", self.queries)
        self.names = checked_names("names", self.names)
        refuse_repeated("names", self.names)
        self._find_rows()

    @classmethod
    def _of_checked(
        cls, queries: Names, names: Names, indptr: IntArray, ids: Any, scores: Any, place: str = ""
    ) -> NamedLists:
        """Make lists of names that were checked as they were read; nothing of a file has a type."""
        lists = cls.__new__(cls)
        lists.queries = queries
        lists.names = names
        lists.indptr = indptr
        lists.ids = ids
        lists.scores = scores
        lists.is_text = bool(place)
        lists._path = place
        lists._find_rows()
        return lists

    def _find_rows(self) -> None:
        """Find the row of each query, which has one list, and make the arrays read-only."""
        self.indptr = read_only(self.indptr)
        self.ids = read_only(self.ids)
        if self.scores is not None:
            self.scores = read_only(self.scores)
        self._rows = dict(zip(self.queries, range(len(self)), strict=True))
        if len(self._rows) < len(self):
            refuse_repeated("queries", self.queries)

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

    @classmethod
    def of(cls, value: Any, argument: str = "lists", *, columns: Any = None) -> NamedLists:
        """Read lists in any form that Python has; `read_run` reads files.

        Names stay what they are, str or int.

        Parameters
        ----------
        value : mapping, frame, data set, rows, or tuple of columns
            ``{query: {name: score}}``, ``{query: [(name, score)]}``, ``{query: [{"corpus_id": name,
            "score": score}]}``, ``{query: [names]}`` in order alone; a `Run` of ranx. Or a row for
            each document of each query: a frame of pandas or polars, a data set of Hugging Face or
            a table of pyarrow, a structured array, rows with named fields (as ir_datasets has them)
            or keys, or a tuple of columns: queries, documents and, perhaps, scores. Without a
            column of scores, one of ranks, or else the order of rows, says all.
        argument : str
            What messages call it.
        columns : mapping of str to (str or int), optional
            The name or number of the column of each role, ``{"query": "who", "document": 2}``, and
            perhaps "score" or "rank". Default: by their names, such as query_id or qid, doc_id,
            docno or corpus-id, score; or in this order where a tuple has none.

        Raises
        ------
        TypeError, ValueError
            For another form; for a role whose column is missing or there twice, and for other
            columns, unless they are known to say nothing (text, title, iteration, ...); and for a
            document that a query has twice with unlike scores.

        Examples
        --------
        >>> NamedLists.of({"q1": [("d7", 2.5), ("d3", 1.5)]})["q1"]
        {'d7': 2.5, 'd3': 1.5}
        >>> rows = [{"user": "ann", "film": "heat", "stars": 5}]
        >>> columns = {"query": "user", "document": "film", "score": "stars"}
        >>> NamedLists.of(rows, columns=columns)["ann"]
        {'heat': 5}
        """
        instance("argument", argument, str)
        lists = named_lists_of(argument, value, columns)
        if lists is None:
            expected = "lists by query, or columns query, document and, perhaps, score"
            raise InputTypeError(argument, expected=expected, got=type(value).__name__)
        return lists

    @property
    def _title(self) -> str:
        """What messages of `evaluate_lists` call the lists."""
        return f"ids: {self._path}" if self._path else "ids"

    def _score_at(self, entry: int) -> str:
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


class ListEntries(NamedTuple):
    """Entries of lists in long form, by codes of names.

    Attributes
    ----------
    queries, documents : ndarray of int, shape (n,)
    values : ndarray, shape (n,), or None
        Scores, or the ranks that say the order of each list; None: that of the entries says it.
    are_ranks : bool
    """

    queries: npt.NDArray[Any]
    documents: npt.NDArray[Any]
    values: npt.NDArray[Any] | None = None
    are_ranks: bool = False

    def of(self, rows: IntArray) -> ListEntries:
        """Return some of the entries."""
        values = None if self.values is None else self.values[rows]
        return ListEntries(self.queries[rows], self.documents[rows], values, self.are_ranks)


def lists_of_entries(
    argument: str, queries: Names, names: Names, entries: ListEntries, place: str = ""
) -> tuple[NamedLists, int]:
    """Make lists of entries in any order, each once; and say how many were repeats.

    Parameters
    ----------
    argument : str
        For messages.
    queries, names : tuple of str, or of int
        By the codes of queries and documents, each once.
    entries : ListEntries
        Those that say the same of a document count once.
    place : str, optional
        The file that has them.

    Raises
    ------
    InputValueError
        For a document that a query has twice with unlike scores or ranks, or without any, and for a
        rank that it has twice.

    Examples
    --------
    >>> rows = ListEntries(np.array([0, 0, 0]), np.array([1, 0, 1]), np.array([0.5, 0.25, 0.5]))
    >>> lists, repeated = lists_of_entries("ids", ("q1",), ("d3", "d7"), rows)
    >>> lists["q1"], repeated
    ({'d7': 0.5, 'd3': 0.25}, 1)
    """
    number = len(entries.queries)
    if entries.are_ranks and entries.values is not None:
        entries = entries.of(np.lexsort((entries.values, entries.queries)))
    elif (entries.queries[1:] < entries.queries[:-1]).any():
        entries = entries.of(np.argsort(entries.queries, kind="stable"))
    indptr = indptr_of(np.bincount(entries.queries, minlength=len(queries)))
    values = entries.values
    if values is None:
        refuse_repeats(argument, queries.__getitem__, names, indptr, entries.documents, place)
    elif _first_repeated(indptr, entries.documents, len(names)) is not None:
        keys = entries.queries * np.int64(len(names)) + entries.documents
        kept, unlike = first_of_equal(keys, values)
        if unlike is not None:
            first, second = unlike
            query = queries[entries.queries[first]]
            name = names[entries.documents[first]]
            two = f"with {values[first]} and {values[second]}"
            problem = f"the list of {query!r} has {name!r} twice, {two}"
            raise InputValueError(argument, problem, place=place)
        entries = entries.of(kept)
        indptr = indptr_of(np.bincount(entries.queries, minlength=len(queries)))
    if entries.are_ranks:
        _refuse_equal_ranks(argument, queries, entries, place)
    scores = None if entries.are_ranks else entries.values
    lists = NamedLists._of_checked(queries, names, indptr, entries.documents, scores, place)
    return lists, number - len(entries.queries)


def _refuse_equal_ranks(argument: str, names: Names, entries: ListEntries, place: str) -> None:
    """Refuse two documents at one rank where ranks are all that says the order."""
    ranks: Any = entries.values
    queries = entries.queries
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


def named_lists_of(
    argument: str, value: Any, columns: Any = None, *, has_pads: bool = False
) -> NamedLists | None:
    """Read lists in Python as `NamedLists.of` does; None for what has no names of queries.

    `has_pads` says whether -1 at the end of what a query has is no name.
    """
    said = check_columns(columns, LISTS)
    value = plain_rows(value)
    if isinstance(value, NamedLists):
        return value
    if isinstance(value, Mapping):
        lists = _lists_of_dicts(value)
        if lists is None:
            lists = lists_of_rows(argument, value.items(), has_pads=has_pads)
        return lists
    table = read_table(argument, value)
    if table is None:
        return None
    if is_frame(value) and table.names is None and said is None:
        expected = "columns with names, .to_numpy() for a list of each query, or columns="
        raise InputValueError(argument, expected=expected, got="a frame whose columns are numbered")
    by_role, source = table.by_role(argument, LISTS, said)
    queries, names, entries = _entries_of_columns(argument, by_role)
    lists, _ = lists_of_entries(argument, queries, names, entries)
    lists.source = source
    if "rank" in by_role and "score" in by_role:
        ranks = _array_of_column(argument, by_role["rank"], "ranks")
        lists._contradiction = rising_ranks(entries, ranks)
    return lists


def _entries_of_columns(
    argument: str, columns: Mapping[str, Any]
) -> tuple[Names, Names, ListEntries]:
    """Return the names of queries and of documents, and the entries, of columns by their roles."""
    values = None
    are_ranks = "rank" in columns and "score" not in columns
    if are_ranks:
        values = _numbers(argument, columns["rank"], "iu", "integers as ranks").astype(np.int64)
    elif "score" in columns:
        values = _numbers(argument, columns["score"], "iuf", "numbers as scores")
    queries, query_names = code_names(checked_names(argument, columns["query"]))
    documents, names = code_names(checked_names(argument, columns["document"]))
    return query_names, names, ListEntries(queries, documents, values, are_ranks)


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


def rising_ranks(entries: ListEntries, ranks: npt.NDArray[Any]) -> str:
    """Say in how many queries ranks rise with the scores, if in nearly all; else "".

    Ranks that are no numbers say nothing.

    Examples
    --------
    >>> entries = ListEntries(np.array([0, 0]), np.array([3, 7]), np.array([0.25, 0.5]))
    >>> rising_ranks(entries, np.array([1, 2])), rising_ranks(entries, np.array([2, 1]))
    ('ranks rise with the scores in 1 of 1 queries', '')
    """
    if ranks.dtype.kind not in "iuf":
        return ""
    order = np.lexsort((ranks, entries.queries))
    ranks = ranks[order]
    ordered: Any = entries.of(order)
    queries, scores = ordered.queries, ordered.values
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


def lists_of_rows(
    argument: str,
    rows: Iterable[tuple[Any, Any]],
    *,
    has_pads: bool = False,
) -> NamedLists:
    """Join the lists of queries, all with scores or all in order alone.

    Parameters
    ----------
    argument : str
        The argument, for messages.
    rows : iterable of (query, mapping or sequence)
        For each list its query, and ``{name: score}``, pairs (name, score),
        records as ``{"corpus_id": name, "score": score}``, or names in their order.
    has_pads : bool
        Whether -1 at the end of names in their order is none of them.

    Examples
    --------
    >>> lists_of_rows("ids", {"q1": ["d7", "d3"]}.items())["q1"]
    {'d7': None, 'd3': None}
    """
    index = LabelIndex()
    ids: list[IntArray] = []
    scores: list[Any] = []
    is_scored = False
    queries: dict[Any, None] = {}
    for query, listed in rows:
        is_new = query not in queries and _are_names([query])
        read = _read_list(listed) if is_new else None
        # All lists have scores, or none has.
        if read is None or (ids and (read.scores is not None) != is_scored):
            expected = "{query: {name: number}}, or {query: [name]} for all queries, each of them "
            got = f"{query!r}: {reprlib.repr(listed)}"
            raise InputValueError(argument, expected=f"{expected}once", got=got)
        while has_pads and read.names and read.names[-1] == PAD:
            read.names.pop()
        queries[query] = None
        ids.append(index.encode(read.names))
        if read.scores is not None:
            is_scored = True
            scores.extend(read.scores)
    joined_ids = np.concatenate(ids) if ids else np.zeros(0, np.int64)
    indptr = indptr_of(list(map(len, ids)))
    joined_scores = None
    if is_scored:
        joined_scores = _numbers(argument, scores, "iuf", "numbers as scores")
        refuse_rounded(argument, scores, joined_scores)
    query_names = checked_names(argument, tuple(queries))
    names = checked_names(argument, tuple(index.codes))
    refuse_repeats(argument, query_names.__getitem__, names, indptr, joined_ids, "")
    return NamedLists._of_checked(query_names, names, indptr, joined_ids, joined_scores)


def _lists_of_dicts(value: Mapping[Any, Any]) -> NamedLists | None:
    """Join lists that are dicts of str to float, by queries that are str; None for any others.

    So nearly all are. They are joined as `lists_of_rows` does, but all at once: there is little to
    check, and nothing to refuse.
    """
    queries = list(value)
    lists = list(value.values())
    if type(value) is not dict or _core.types_of(lists) != {dict}:
        return None
    scores = list(chain.from_iterable(map(dict.values, lists)))
    names = list(chain.from_iterable(lists))
    if not _core.types_of(names) == _core.types_of(queries) == {str}:
        return None
    if _core.types_of(scores) != {float}:
        return None
    indptr = indptr_of(list(map(len, lists)))
    ids, distinct = code_names(names)
    return NamedLists._of_checked(tuple(queries), distinct, indptr, ids, np.array(scores))


class ScoredNames(NamedTuple):
    """The names of a list and their scores, as they came; None: it has no scores."""

    names: list[Any]
    scores: Any


def read_pairs(listed: Any) -> ScoredNames | None:
    """Read a list of pairs (name, score), or of records that have both; None for other lists.

    Examples
    --------
    >>> read_pairs([("d7", 2.5), ("d3", 1.5)])
    ScoredNames(names=['d7', 'd3'], scores=[2.5, 1.5])
    >>> read_pairs([{"corpus_id": "d7", "score": 2.5}])
    ScoredNames(names=['d7'], scores=[2.5])
    >>> read_pairs(["d7", "d3"])
    """
    if not isinstance(listed, (list, tuple)) or not listed:
        return None
    if all(isinstance(entry, Mapping) for entry in listed):
        name = next((key for key in listed[0] if LISTS.role_of(key) == "document"), None)
        if name is None or any(name not in entry or "score" not in entry for entry in listed):
            return None
        return ScoredNames([entry[name] for entry in listed], [entry["score"] for entry in listed])
    if all(isinstance(entry, (list, tuple)) and len(entry) == 2 for entry in listed):
        return ScoredNames([name for name, _ in listed], [score for _, score in listed])
    return None


def _read_list(listed: Any) -> ScoredNames | None:
    """Read names, ``{name: score}``, or pairs as `read_pairs` does; None for what is none of it.

    The scores of names alone are None.
    """
    read = read_pairs(listed)
    if isinstance(listed, Mapping):
        read = ScoredNames(list(listed), list(listed.values()))
    elif read is None and isinstance(listed, (list, tuple)):
        read = ScoredNames(list(listed), None)
    elif read is None and is_column(listed) and not isinstance(listed, Set):
        read = ScoredNames(list(checked_names("lists", listed)), None)
    if read is None or not _are_names(read.names):
        return None
    if read.scores is not None and not _are_numbers(read.scores):
        return None
    return read


def _are_names(values: Sequence[Any]) -> bool:
    """Return whether all values are str or int."""
    return all(issubclass(kind, str) or is_integer_type(kind) for kind in set(map(type, values)))


def _are_numbers(values: list[Any]) -> bool:
    """Return whether all values are real numbers of Python or numpy, and none is a bool."""
    kinds = _core.types_of(values)
    if kinds == {float}:
        return True
    return all(map(is_number, values))


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
