"""Lists of scored candidates by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..inputs.arrays import as_array, read_only
from ..inputs.candidate_lists import PAD
from ..inputs.checks import instance, is_number, refuse_repeated
from ..inputs.errors import InputTypeError, InputValueError, UnknownKeyError
from ..inputs.frames import is_frame, without_index
from ..inputs.naming import public
from ..inputs.scores import refuse_rounded
from ..inputs.selection import indptr_of
from .column_roles import LISTS, check_columns
from .column_tables import ColumnsByRole, is_column, read_table
from .elements import checked_names, is_integer_type
from .judgements import plain_rows
from .list_entries import (
    ListEntries,
    ScoredNames,
    distinct_entries,
    read_pairs,
    refuse_repeats,
)
from .vocabularies import LabelIndex, code_names

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray, IntArray
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

    def __post_init__(self) -> None:
        if not self.is_text:
            self.queries = checked_names("queries", self.queries)
            self.names = checked_names("names", self.names)
            refuse_repeated("names", self.names)
        self._take_over()
        if len(self._rows) < len(self):
            refuse_repeated("queries", self.queries)

    def _take_over(self) -> None:
        """Note where the list of each query is; nobody may write to the arrays."""
        self.indptr = read_only(self.indptr)
        self.ids = read_only(self.ids)
        if self.scores is not None:
            self.scores = read_only(self.scores)
        self._rows = dict(zip(self.queries, range(len(self)), strict=True))

    @classmethod
    def _trusted(
        cls, queries: Names, names: Names, indptr: IntArray, ids: IntArray, scores: FloatArray
    ) -> NamedLists:
        """Take over what was checked before."""
        lists = cls.__new__(cls)
        lists.queries = queries
        lists.names = names
        lists.indptr = indptr
        lists.ids = ids
        lists.scores = scores
        lists._take_over()
        return lists

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
        """Read lists in any form that Python has; `read_run` and `read_json_lists` read files.

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
    def entries(self) -> tuple[Any, Any]:
        """The ids and the scores of all lists, as `rank_lists` takes them."""
        ids = (self.indptr, self.ids)
        if self.scores is None:
            return ids, None
        return ids, (self.indptr, self.scores)


def lists_of_entries(
    argument: str, queries: Names, names: Names, entries: ListEntries, place: str = ""
) -> tuple[NamedLists, int]:
    """Make lists of entries as `distinct_entries` takes them; and say how many were repeats.

    Examples
    --------
    >>> rows = ListEntries(np.array([0, 0, 0]), np.array([1, 0, 1]), np.array([0.5, 0.25, 0.5]))
    >>> lists, repeated = lists_of_entries("ids", ("q1",), ("d3", "d7"), rows)
    >>> lists["q1"], repeated
    ({'d7': 0.5, 'd3': 0.25}, 1)
    """
    found = distinct_entries(argument, queries, names, entries, place)
    entries = found.entries
    is_text = bool(place)
    lists = NamedLists(
        queries, names, found.indptr, entries.documents, entries.scores, is_text=is_text
    )
    return lists, found.repeated


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
    return _lists_of_columns(argument, table.by_role(argument, LISTS, said))


def _lists_of_columns(argument: str, found: ColumnsByRole) -> NamedLists:
    """Make lists of columns: of queries, documents, and scores or ranks."""
    scores = None
    ranks = None
    columns = found.columns
    if "score" in columns:
        scores = _numbers(argument, columns["score"], "iuf", "numbers as scores")
    elif "rank" in columns:
        ranks = _numbers(argument, columns["rank"], "iu", "integers as ranks").astype(np.int64)
    queries, query_names = code_names(checked_names(argument, columns["query"]))
    documents, names = code_names(checked_names(argument, columns["document"]))
    entries = ListEntries(queries, documents, scores, ranks)
    lists, _ = lists_of_entries(argument, query_names, names, entries)
    lists.source = found.source(argument)
    return lists


def _numbers(argument: str, values: Any, kinds: str, expected: str) -> npt.NDArray[Any]:
    """Return a column of numbers of some kinds of dtype."""
    array = as_array(without_index(values), argument, expected)
    if array.dtype.kind == "O":  # a column of Python's numbers
        array = as_array(array.tolist(), argument, expected)
    if not len(array):
        return np.zeros(0, np.int64)
    if array.dtype.kind not in kinds or array.ndim != 1:
        raise InputTypeError(argument, expected=expected, got=f"a column of {array.dtype}")
    return array


def lists_of_rows(
    argument: str,
    rows: Iterable[tuple[Any, Any]],
    place: str = "",
    *,
    has_pads: bool = False,
) -> NamedLists:
    """Join the lists of queries, all with scores or all in order alone.

    Parameters
    ----------
    argument : str
        The argument, for messages.
    rows : iterable of (query, mapping or sequence)
        For each list its query (None: its number), and ``{name: score}``, pairs (name, score),
        records as ``{"corpus_id": name, "score": score}``, or names in their order.
    place : str, optional
        The file that has them.
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
    may_be_int = not place  # in a file names are text
    for query, listed in rows:
        key = str(len(ids)) if query is None else query
        read = None
        if key not in queries and _are_names([key], may_be_int):
            read = _read_list(listed, may_be_int)
        # all lists have scores, or none has
        if read is None or (ids and (read.scores is not None) != is_scored):
            expected = "{query: {name: number}}, or {query: [name]} for all queries, each of them "
            got = f"{key!r}: {listed!r}"  # the query first, for a long list is cut
            raise InputValueError(argument, expected=f"{expected}once", got=got, place=place)
        while has_pads and read.names and read.names[-1] == PAD:
            read.names.pop()
        queries[key] = None
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
    query_names: Names = tuple(queries)
    names: Names = tuple(index.codes)
    if not place:
        query_names = checked_names(argument, query_names)
        names = checked_names(argument, names)
    is_text = bool(place)
    lists = NamedLists(query_names, names, indptr, joined_ids, joined_scores, is_text)
    refuse_repeats(argument, lists.queries.__getitem__, lists.names, indptr, joined_ids, place)
    return lists


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
    return NamedLists._trusted(tuple(queries), distinct, indptr, ids, np.array(scores))


def _read_list(listed: Any, may_be_int: bool) -> ScoredNames | None:
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
    if read is None or not _are_names(read.names, may_be_int):
        return None
    if read.scores is not None and not _are_numbers(read.scores):
        return None
    return read


def _are_names(values: Sequence[Any], may_be_int: bool) -> bool:
    """Return whether all values are str, or perhaps int."""
    for kind in set(map(type, values)):
        if not issubclass(kind, str) and not (may_be_int and is_integer_type(kind)):
            return False
    return True


def _are_numbers(values: list[Any]) -> bool:
    """Return whether all values are real numbers of Python or numpy, and none is a bool."""
    kinds = _core.types_of(values)
    if kinds == {float}:
        return True
    return all(map(is_number, values))
