"""Judgements and lists by query: documents with grades, and candidates with scores or in order.

Both are tables with the columns query and document; lists are grouped by their queries.
"""

from __future__ import annotations

import os
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..arrays.input_files import file_state, path_name
from ..arrays.row_keys import distinct, factorize
from ..arrays.saved_files import replace_text
from ..counting.lists import PAD, REPEATS, TopK, as_lists, best_rows
from ..counting.orders import begins_anew, describe_rising_ranks
from ..errors import InputError, InputTypeError, InputValueError, Option, UnknownKeyError
from ..inputs.array_likes import (
    as_array,
    index_array,
    read_only,
    refuse_rounded,
    widen_bfloat16,
    without_index,
)
from ..inputs.checks import choice, distinct_names, instance, is_number, is_sparse
from ..inputs.rules import PLAIN
from ..inputs.selection import lengths_to_indptr
from ..naming import format_count, public
from .columns import (
    JUDGEMENTS,
    LISTS,
    TREC,
    Column,
    check_columns,
    checked_names,
    list_door,
    may_be_run,
)
from .id_tables import NO_TABLE, IdTable, check_left_out_grades, read_table
from .text import column_numbers, is_csv, is_path, text_lines

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import IntArray
    from ..inputs.progress_listeners import Listener, Progress
    from ..inputs.rules import Rules
    from .columns import Form, Name, Names

DUPLICATES = ("raise", "first")
_WHICH_COLUMNS = Option("columns", effect="says which are meant")
_ITERATION, _TAG = 1, 5  # columns of TREC's runs: Q0, and the name of the system
_ROLES = ("query", "document")
_DISTANCES = {"dist", "distance", "distances"}  # columns of which the lower ones are better
_LARGEST_WHOLE = 2.0**53  # From here on not every whole number is a float64.


# -- judgements ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Judgements(IdTable):
    """The grades of documents for queries: a table with "query", "document" and "relevance".

    Without grades, all documents are right answers; those of grades above 0 are otherwise. The rows
    and columns of a matrix are positions, so that ranges say what they number.
    """

    def __repr__(self) -> str:
        queries = len(distinct(self.columns["query"].ids))
        return f"{len(self):,} judgements of {queries:,} queries, from {self.source}"

    @property
    def queries(self) -> Names:
        """The query of each judgement."""
        return self.columns["query"].entries()

    @property
    def documents(self) -> Names:
        """The document of each judgement."""
        return self.columns["document"].entries()

    @property
    def relevance(self) -> npt.NDArray[Any] | None:
        """The grade of each judgement; None: they have none."""
        return self.values.get("relevance")


@public("truerank")
def read_qrels(
    path: str | os.PathLike[str], *, columns: Mapping[str, str | int] | None = None
) -> Judgements:
    """Read the judgements of a test collection, as in TREC lines ``qid iteration docid relevance``.

    Four columns are those of TREC if the second has one value in the file (0 or Q0 in a file of one
    line), or fewer values than the third while no relevance is 1,000 or more. Other files begin
    with a header, which names the columns query (query-id, user), document (corpus-id, item) and,
    perhaps, relevance (score), in any order; or `columns` says which are meant. Without a column of
    relevance all documents are right answers. ``source`` of the judgements says which form it was.

    Parameters
    ----------
    path : str or path-like
        Text in UTF-8, perhaps gzipped, with the separators and the skipped lines of `read_run`.
        Relevance is a finite number: 2, 0.1, -1.
    columns : mapping of str to (str or int), optional
        Which columns are meant, as in `read_run`: those of "query", "document" and, perhaps,
        "relevance"; unless it names a relevance, it may not leave out what looks like grades, as in
        `retrieval.Task`.

    Returns
    -------
    judgements
        As `retrieval.Task` takes them: columns `queries`, `documents` and `relevance`, of text that
        has no type.

    Raises
    ------
    ValueError
        For columns that may be read in two ways, for a line that is not of the form of the first
        one, or begins with a byte order mark although it is not the first, or with # although it
        has the fields of a row, and a document that is judged in two ways for a query; the error
        names the line.
    OSError
        For a file that is missing or damaged.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "qrels.txt")
    ...     _ = file.write_text("q1 0 d3 1\\nq1 0 d9 0\\nq2 0 d3 2\\n")
    ...     read_qrels(file).relevance
    array([1, 0, 2])
    """
    return read_judgements("path", path_name("path", path), columns)


def read_judgements(argument: str, value: Any, columns: Any = None) -> Judgements:
    """Read judgements of any form, as `retrieval.Task` takes them.

    The stored entries of a sparse matrix of scipy are judged, and its values are grades.

    >>> read_judgements("qrels", (["ann"], ["tea"], [2])).relevance
    array([2])
    """
    columns = check_columns(columns, JUDGEMENTS)
    if isinstance(value, Judgements):
        return replace(value, title=argument)
    if is_sparse(value):
        return _read_judgement_matrix(argument, value)
    table = read_table(argument, value, JUDGEMENTS, columns=columns)
    if "relevance" in table.values:
        grades = read_grades(table.title, table.values["relevance"])
        table = replace(table, values={"relevance": grades})
        name = table.form.columns.get("relevance")
        if columns is None and name == "score" and grades.dtype.kind == "f":
            highest = grades.max(initial=0)
            expected = "whole grades in column 'score', as BEIR has, no scores of a run"
            got = f"fractions, up to {highest:g}"
            raise InputValueError(table.title, "", expected, got, remedies=[_WHICH_COLUMNS])
    else:
        check_left_out_grades(table)
    if is_path(value):
        return _read_judgement_file(argument, table)
    return Judgements(**vars(table))


def _read_judgement_matrix(argument: str, matrix: Any) -> Judgements:
    """Return the stored entries of a sparse matrix, whose rows and columns are positions."""
    csr = matrix.tocsr()
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    n_rows, n_columns = csr.shape
    rows = Column(np.arange(n_rows), range(n_rows))
    columns = {
        "query": rows.select(np.repeat(rows.ids, np.diff(csr.indptr))),
        "document": Column(index_array(argument, csr.indices), range(n_columns)),
    }
    values = {"relevance": read_grades(argument, csr.data)}
    return Judgements(columns, values, argument, asked=rows)


def _read_judgement_file(argument: str, table: IdTable) -> Judgements:
    """Return the judgements of a file, each once, with grades of 1 where it has none."""
    grades = table.values.get("relevance", np.ones(len(table), np.int64))
    iterations: Sequence[str] = ()
    if "iteration" in table.columns:  # The file has four columns without names.
        # Each column lists its values once.
        iterations, documents = (table.columns[role].listed for role in ("iteration", "document"))
        has_years = grades.max(initial=0) >= JUDGEMENTS.too_large
        if len(iterations) > 1:
            is_of_trec = len(iterations) < len(documents) and not has_years
        else:
            is_of_trec = len(table) != 1 or iterations[0] in ("0", "Q0")
        if not is_of_trec:
            problem = "four columns are TREC's (query, iteration, document, relevance) if the "
            problem += f"second has one value, or fewer than the third; of {len(table):,} rows it "
            problem += f"has {len(iterations):,} values, the third {len(documents):,}"
            ways = [_WHICH_COLUMNS]
            raise InputValueError(argument, problem, place=table.path, remedies=ways)
    columns = {role: table.columns[role] for role in _ROLES}
    judgements = replace(table, columns=columns, values={"relevance": grades})
    pairs = _pair_keys(judgements)
    has_repeats = not np.diff(np.sort(pairs)).all()  # This test is far faster than np.unique.
    if has_repeats:
        rows, unlike_rows = first_of_equal(pairs, grades)
        if len(unlike_rows):
            second = unlike_rows[0]
            first = (pairs == pairs[second]).argmax()
            query, document = (columns[role].entry(second) for role in _ROLES)
            # The file is read again for the message alone.
            lines = text_lines(table.path, table.path, has_comments=True)
            number, _ = next(islice(lines, second + (table.form.header > 0), None))
            problem = f"line {number}: {document!r} is judged twice for {query!r}, "
            problem += f"as {grades[first]} and as {grades[second]}; expected one grade for each "
            problem += f"pair, and {len(distinct(pairs[unlike_rows])):,} of {len(rows):,} have more"
            if len(iterations) > 1:
                problem += f" (the second column has {len(iterations):,} values, as subtopics do)"
            raise InputValueError(argument, problem, place=table.path)
        judgements = judgements.select_once(rows)
    return Judgements(**vars(replace(judgements, asked=judgements.columns["query"])))


def _pair_keys(table: IdTable) -> IntArray:
    """Return an integer for each row, which is equal where query and document are."""
    queries, documents = (table.columns[role] for role in _ROLES)
    pairs: IntArray = queries.ids * np.int64(len(documents.listed)) + documents.ids
    return pairs


def read_grades(argument: str, values: Any) -> npt.NDArray[Any]:
    """Read the grades of any column, finite numbers of either sign.

    They become int64 where all are whole, and float64 otherwise.

    >>> read_grades("qrels", [2.0, -1]), read_grades("qrels", np.array([1, 0.1]))
    (array([ 2, -1]), array([1. , 0.1]))
    """
    expected = "grades that are finite numbers"
    array = _read_numbers(argument, values, "biuf", expected)
    if array.dtype.kind in "bi":
        return array.astype(np.int64, copy=False)
    grades = array.astype(np.float64)
    is_infinite_or_nan = ~np.isfinite(grades)
    if is_infinite_or_nan.any():
        row = int(is_infinite_or_nan.argmax())
        raise InputValueError(argument, expected=expected, got=f"{array[row]} in row {row}")
    is_whole = (grades == np.floor(grades)) & (np.abs(grades) < _LARGEST_WHOLE)
    return grades.astype(np.int64) if is_whole.all() else grades


def _read_numbers(argument: str, values: Any, kinds: str, expected: str) -> npt.NDArray[Any]:
    """Read a column of numbers of some kinds of dtype."""
    array = _column_to_array(argument, values, expected)
    if not len(array):
        return np.zeros(0, np.int64)
    if array.dtype.kind in kinds and array.ndim == 1:
        return array
    for row, value in enumerate(values):
        if not is_number(value):
            raise InputTypeError(argument, expected=expected, got=f"{value!r} in row {row}")
        if not -(1 << 63) <= value < 1 << 63:  # numpy has no integers as large.
            expected += " of at most 64 bits"
            raise InputValueError(argument, expected=expected, got=f"{value} in row {row}")
    raise InputTypeError(argument, expected=expected, got=f"a column of {array.dtype}")


def _column_to_array(argument: str, values: Any, expected: str) -> npt.NDArray[Any]:
    """Return a column as an array; one of objects holds Python's numbers."""
    array = as_array(without_index(values), argument, expected)
    return as_array(array.tolist(), argument, expected) if array.dtype.kind == "O" else array


def first_of_equal(keys: IntArray, values: npt.NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Return the first row of each key, and the rows with other values than that one, ascending.

    >>> first_of_equal(np.array([7, 8, 7]), np.array([1, 0, 2]))
    (array([0, 1]), array([2]))
    """
    codes = factorize(keys)
    first = codes.first()
    first_of_row = first[codes.codes]
    is_unlike = values != values[first_of_row]
    is_unlike &= ~(np.isnan(values) & np.isnan(values[first_of_row]))
    return np.sort(first), np.flatnonzero(is_unlike)


# -- lists -----------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class Lists(Mapping[Any, dict[Any, Any]]):
    """A table that is grouped by its queries: a mapping of each query to ``{name: score}``.

    List i has the entries ``indptr[i]:indptr[i + 1]`` of ids and scores; a candidate's id is its
    position in the names. Queries and names are all of one type, and each is there once.
    """

    queries: Names
    names: Names
    indptr: IntArray
    ids: npt.NDArray[Any]
    scores: npt.NDArray[Any] | None  # None: the order of each list says all
    path: str  # the file that has them, whose names have no type; "": there is none
    source: str  # the file and its form, or what was left out
    file: tuple[int, ...]  # as that of an IdTable
    form: Form
    contradiction: str = ""  # what ranks, or the name of their column, say against the scores
    pooled: str = ""  # which rows all lists have that may not be of one list
    has_greatest: bool = False  # Whether names that came twice have the greatest of their scores.

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
        return f"Lists({len(self):,} lists, {entries})"

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

    def score_at(self, entry: int) -> str:
        """Say whose score an entry has, for messages."""
        query = self.queries[int(np.searchsorted(self.indptr, entry, side="right")) - 1]
        return f"the score of {self.names[self.ids[entry]]!r} for {query!r}"


@public("truerank")
def read_run(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str | int] | None = None,
    duplicates: str = "raise",
    progress: bool | Callable[[Progress], object] | None = None,
) -> Lists:
    """Read a run, such as TREC's: lines ``qid Q0 docid rank score tag``, one for each document
    listed.

    The scores say how documents are ranked, and equal ones tie; the ranks in the file and the order
    of its lines change nothing, as in trec_eval (which breaks ties by the names of documents), but
    `evaluate_lists` asks for `order` where the scores rise with the ranks. The lines of a query
    need not follow each other. Other files begin with a header, which names the columns query
    (query-id, user), document (corpus-id, item) and, perhaps, score or rank, in any order: a rank
    without a score makes lists without scores, and where neither is there the order of the lines
    does. Or `columns` says which are meant.

    Anything else is refused. ``source`` of the lists, and reports of them, name the form, and the
    columns that are left out.

    Parameters
    ----------
    path : str or path-like
        Text in UTF-8, perhaps gzipped. Blanks and tabs stand between fields; only tabs, where a
        header or `columns` names the fields and the first line has a tab; in .csv commas. Empty
        lines, and those that begin with #, are skipped. A line like ``#nlp Q0 d7 1 2.5 tag``, which
        has the fields of a row and no blank behind the #, is an error.
    columns : mapping of str to (str or int), optional
        Which columns are meant: the name in the header, or the number from 0 on, of "query",
        "document" and, perhaps, "score" or "rank". Others are left out; a score or a rank of that
        name, or at its place in TREC's lines, and fractions may be left out only where `columns`
        names another one. Nor may a column at whose changes the scores or ranks of a query begin
        anew, as those of several lists do; one by which the rows of a query are in order while
        nothing is named that orders them; and columns that are numbered like that of the document.
    duplicates : {"raise", "first"}
        Whether a document that a query has twice, with unlike scores or ranks or without any, is an
        error, or counts once: at its greatest score; without scores where it stands first, by the
        ranks, or else in the order of the lines. Later places move up.
    progress : callable or bool, optional
        As in `rank`: True shows a bar. A callable is
        called with a `Progress`, in bytes of the file, after every block of lines.

    Returns
    -------
    mapping of str to dict
        ``{query: {document: score}}``, as `Task.evaluate_lists` and `write_run` take it; documents
        are text, of no type.

    Raises
    ------
    ValueError
        For columns that may not be left out; for several tags, as lists of several systems are no
        run; for a line that is not of the form of the first one, or begins with a byte order mark
        although it is not the first, or with # although it has the fields of a row; for a document
        that a query has twice with unlike scores or ranks; and for a score that a float64 does not
        hold (see Notes). The error names the line, or the query.
    OSError
        For a file that is missing or damaged.

    Notes
    -----
    A score is the float64 that is nearest to the decimal in the file, as Python's float is. Nearly
    all decimals are rounded so, and that is no error. These scores are errors, since others could
    become equal to them: one that is not 0 and would become 0 or infinite (1e-400, 1e400), and one
    from 2**53 on, in absolute value, whose digits go down to the units, however it is written, and
    would be changed (9007199254740993, 9007199254740993.0, 9.007199254740993e15). The digits of
    1.2345678901234567e+19 end at the thousands, as floats of that size are printed: it is read.

    It takes 32 bytes for each line while it reads, and each name once.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "run.txt")
    ...     _ = file.write_text("q1 Q0 d7 1 2.5 tag\\nq1 Q0 d3 2 1.5 tag\\nq2 Q0 d3 1 0.5 tag\\n")
    ...     run = read_run(file)
    >>> run["q1"]
    {'d7': 2.5, 'd3': 1.5}
    """
    choice("duplicates", duplicates, DUPLICATES)
    return read_lists("path", path_name("path", path), columns, progress, duplicates)


def read_lists(
    argument: str,
    value: Any,
    columns: Any = None,
    progress: bool | Listener | None = None,
    duplicates: str | None = None,
    *,
    rules: Rules = PLAIN,
    roles: Mapping[str, str] = MappingProxyType({"query": "queries", "document": "entities"}),
    answers: IdTable = NO_TABLE,
) -> Lists:
    """Read lists of any form that has names, which stay what they are, str or int.

    They are what `read_run` returned, or reads; ``{query: {id: score}}``, or ``{query: [ids, the
    best first]}``; or a table. Without scores, a column of ranks, or else the order of rows, says
    all. `duplicates` are as in `read_run`; None: they are an error, and the caller has no such
    option, nor `columns`. The `rules` say which scores are the best. `roles` are those of a query,
    whose key is a tuple if there are several, and of what is listed, as `list_door` takes them.
    Lists of the file of `answers`, the table of right answers, are refused.

    >>> read_lists("ids", {"q1": {"d7": 2.5, "d3": 1.5}})["q1"]
    {'d7': 2.5, 'd3': 1.5}
    """
    door = LISTS if "query" in roles else list_door(roles)
    door = replace(door, has_option=duplicates is not None)
    columns = check_columns(columns, door)
    if isinstance(value, Lists) and len(roles) == 2:
        if value.has_greatest and rules.is_ascending:
            raise InputValueError(argument, "read_run kept the greatest scores: hand over the path")
        _refuse_answers(argument, value, answers)
        return value
    try:
        table = read_table(argument, value, door, columns=columns, progress=progress)
    except InputError:  # Lines of right answers may have another form, as those of TREC.
        if is_path(value) and file_state(value) == answers.file:
            _refuse_answers(argument, replace(answers, path=os.fsdecode(value)), answers)
        raise
    _refuse_answers(argument, table, answers)
    _refuse_tags(argument, table)
    # A mapping has its keys as one column.
    *key_roles, listed_role = _ROLES if "query" in table.columns else roles
    keys = [_number_names(table, role) for role in key_roles]
    queries = keys[0]
    if len(keys) > 1:  # The key of a query is a tuple.
        codes = factorize(*[column.ids.astype(np.int64) for column in keys])
        names = [column.select(codes.first()).entries() for column in keys]
        queries = Column(codes.codes, tuple(zip(*names, strict=True)))
    documents = _number_names(table, listed_role)
    if "score" in table.values and isinstance(value, Mapping):
        scores, ranks = _read_mapping_scores(argument, value, table.values["score"]), None
    else:
        scores, ranks = _read_table_orders(argument, table)
    contradiction = ""
    if scores is not None and ranks is not None:  # Scores order the lists.
        contradiction = describe_rising_ranks(queries.ids, scores, ranks)
        ranks = None
    score_name = str(table.form.columns.get("score", ""))
    if not contradiction and score_name.lower().strip("_") in _DISTANCES:
        contradiction = f"scores are of a column {score_name!r}"
    orders = {"score": scores, "rank": ranks}
    values = {role: numbers for role, numbers in orders.items() if numbers is not None}
    table = replace(table, columns={"query": queries, "document": documents}, values=values)
    facts = {"contradiction": contradiction, "pooled": _describe_pooled(table)}
    return _group_by_query(argument, table, duplicates, rules, **facts)


def _refuse_answers(argument: str, lists: IdTable | Lists, answers: IdTable) -> None:
    """Refuse lists of the file of the right answers, unless its rows have a grade and a score."""
    is_same_file = lists.file and lists.file == answers.file
    grade_place = answers.form.places.get(answers.form.number_role)
    score_place = lists.form.places.get(lists.form.number_role)
    has_both = None not in (grade_place, score_place) and grade_place != score_place
    if not is_same_file or has_both:
        return
    problem = "this is the file of the right answers: expected another one"
    ways = []
    if grade_place is not None and answers.form.width > len(answers.form.places):
        problem += ", or one with relevance and score"
        ways = LISTS.ways_to_name(answers.form.width)
    raise InputValueError(argument, problem, place=lists.path, remedies=ways)


def _refuse_tags(argument: str, table: IdTable) -> None:
    """Refuse a run of several systems, whose lists would be merged to one of each query.

    Where the user named some of its columns, it is a run if the second has one value, as Q0.
    """
    iterations = table.others.get(_ITERATION)
    is_run = table.form.places == TREC[LISTS.kind].places
    is_run |= may_be_run(table.form) and iterations is not None and len(iterations.listed) == 1
    if not is_run or _TAG not in table.others or len(table.others[_TAG].listed) < 2:
        return
    tags = table.others[_TAG]
    names = tags.listed
    counts = np.bincount(tags.ids).tolist()
    parts = [f"{name!r} in {n:,}" for name, n in zip(names[:3], counts, strict=False)]
    if len(names) > len(parts):
        parts.append("...")
    expected = "one tag, the name of the system, in the last column"
    got = f"{len(names):,}: {', '.join(parts)} of {len(table):,} lines"
    raise InputValueError(argument, expected=expected, got=got, place=table.path)


def _number_names(table: IdTable, role: str) -> Column:
    """Number the names of a column, str or int, by their first appearance."""
    column = table.columns.get(role, Column(np.zeros(0, np.int64)))  # A file may have no lines.
    if column.labels is not None:
        return Column(column.ids, tuple(column.listed))
    codes = factorize(column.ids)
    first_rows = codes.first()
    order = np.argsort(first_rows)  # of first appearance
    number_of_code = np.empty_like(order)
    number_of_code[order] = np.arange(len(order))
    return Column(number_of_code[codes.codes], tuple(column.ids[first_rows[order]].tolist()))


def _read_mapping_scores(argument: str, value: Mapping[Any, Any], scores: Any) -> Any:
    """Read the scores of a mapping by query, each of which is a number of its own."""
    expected = "numbers as scores"
    if _core.types_of(scores) != {float}:
        for query, scored in value.items():
            numbers = scored.values() if isinstance(scored, Mapping) else scored  # of a Series
            if not all(map(is_number, numbers)):
                got = f"{query!r}: {reprlib.repr(dict(scored))}"
                raise InputTypeError(argument, expected=expected, got=got)
    array = _read_numbers(argument, scores, "iuf", expected)
    refuse_rounded(argument, scores, array)
    return array


def _read_table_orders(argument: str, table: IdTable) -> tuple[Any, Any]:
    """Read columns of scores and of ranks, which are integers where they order lists of no file."""
    scores, ranks = table.values.get("score"), table.values.get("rank")
    if scores is not None:
        scores = _read_numbers(argument, scores, "iuf", "numbers as scores")
        if ranks is not None:
            ranks = _column_to_array(argument, ranks, "ranks")
    elif ranks is not None and table.path:
        ranks = read_grades(argument, ranks)
    elif ranks is not None:
        ranks = _read_numbers(argument, ranks, "iu", "integers as ranks").astype(np.int64)
    return scores, ranks


def _group_by_query(
    argument: str, table: IdTable, duplicates: str | None, rules: Rules, **facts: Any
) -> Lists:
    """Group the rows of a table, in any order, as lists that have each document once.

    Ranks give the order of a list, unless there are scores; without both, the order of rows does.
    Rows that say the same of a document count once; others of a document are as `duplicates` says,
    and a rank that a query has twice is refused. The `facts` are further fields of the lists.
    """
    queries, names = (table.columns[role].listed for role in _ROLES)
    ranks = table.values.get("rank")
    rows_of_queries = table.columns["query"].ids
    entries = table
    if ranks is not None:
        entries = table.select(np.lexsort((ranks, rows_of_queries)))
    elif (rows_of_queries[1:] < rows_of_queries[:-1]).any():
        entries = table.select(np.argsort(rows_of_queries, kind="stable"))
    indptr = lengths_to_indptr(np.bincount(rows_of_queries, minlength=len(queries)))
    has_greatest = False
    if _first_repeated(indptr, entries.columns["document"].ids, len(names)) is not None:
        rows, are_unlike = _rows_once(argument, table, entries, duplicates, rules)
        has_greatest = are_unlike and "score" in entries.values and not rules.is_ascending
        entries = entries.select_once(rows)
        rows_of_queries = entries.columns["query"].ids
        indptr = lengths_to_indptr(np.bincount(rows_of_queries, minlength=len(queries)))
    if ranks is not None:
        _refuse_equal_ranks(argument, table, entries, has_option=duplicates is not None)
    _refuse_left_out_orders(argument, table, has_option=duplicates is not None)
    documents, scores = entries.columns["document"].ids, entries.values.get("score")
    facts |= {"path": table.path, "source": entries.source, "file": table.file, "form": table.form}
    return Lists(queries, names, indptr, documents, scores, has_greatest=has_greatest, **facts)


def _refuse_equal_ranks(
    argument: str, table: IdTable, entries: IdTable, *, has_option: bool
) -> None:
    """Refuse a rank that a list has twice; the entries are in the order of lists and ranks."""
    queries, ranks = entries.columns["query"], entries.values["rank"]
    is_repeat = (np.diff(queries.ids) == 0) & (np.diff(ranks) == 0)
    if not is_repeat.any():
        return
    i = int(is_repeat.argmax())
    n_equal = len(distinct(queries.ids[1:][is_repeat]))
    n_lists = format_count(len(distinct(queries.ids)), "list")
    problem = f"the list of {queries.entry(i)!r} has the rank {ranks[i]} twice; in {n_equal:,} of "
    problem += f"{n_lists} ranks are equal"
    other_lists = _describe_other_lists(table, entries)
    ways = [] if other_lists or not has_option else [_WHICH_COLUMNS]
    raise InputValueError(argument, problem + other_lists, place=entries.path, remedies=ways)


def _rows_once(
    argument: str, table: IdTable, entries: IdTable, duplicates: str | None, rules: Rules
) -> tuple[IntArray, bool]:
    """Return the row at which each entry counts, and whether any two rows of one were unlike.

    The entries are the rows of the table, in the order of their lists.
    """
    pairs = _pair_keys(entries)
    scores = entries.values.get("score")
    row_numbers = np.arange(len(pairs))  # Without scores and ranks all rows are unlike.
    numbers = entries.values.get("rank", row_numbers) if scores is None else scores
    rows, unlike_rows = first_of_equal(pairs, numbers)
    if len(unlike_rows) and duplicates != "first":
        second = unlike_rows[0]
        first = (pairs == pairs[second]).argmax()
        query, name = (entries.columns[role].entry(second) for role in _ROLES)
        problem = f"the list of {query!r} has {name!r} twice"
        for each in entries.values.values():  # Lists have scores, or ranks, or neither.
            problem += f", with {each[first]} and {each[second]}"
        query_ids = entries.columns["query"].ids
        n_repeating = len(distinct(query_ids[unlike_rows]))
        n_lists = format_count(len(distinct(query_ids)), "list")
        problem += f"; {n_repeating:,} of {n_lists} have repeats"
        other_lists = _describe_other_lists(table, entries)
        ways = []
        if name in (PAD, str(PAD), ""):
            problem += "; lists are of unlike lengths, without padding"
        elif duplicates is not None and not other_lists:
            ways = [REPEATS]
        problem += other_lists
        raise InputValueError(argument, problem, place=entries.path, remedies=ways)
    if scores is not None:
        rows = best_rows(pairs, scores, rules)
    return rows, len(unlike_rows) > 0


def _describe_other_lists(table: IdTable, entries: IdTable) -> str:
    """Say what tells lists of one query apart, which are to be one: a column, or where they stand.

    The entries are the rows of the table, in the order of their lists.
    """
    queries = entries.columns["query"]
    document_ids = entries.columns["document"].ids.astype(np.int64)
    for name, column in sorted(entries.others.items(), key=lambda item: len(item[1].listed)):
        lists = factorize(queries.ids.astype(np.int64), column.ids.astype(np.int64))
        n_lists = len(lists.distinct)
        n_values = len(column.listed)
        # Each value has lists of its own, as each epoch of one table has. A column of times, or of
        # places in the list, has another value in every row.
        have_most_queries = n_values > 1 and 2 * n_lists > len(queries.listed) * n_values
        have_two_rows = len(entries) >= 2 * n_lists  # on average
        n_documents = len(factorize(lists.codes, document_ids).distinct)
        if have_most_queries and have_two_rows and n_documents == len(entries):
            return f"; column {name!r} tells them apart: each of {n_values} values has its own list"
    # Two lists of each query, one behind the other, are no list with passages.
    n_blocks = np.count_nonzero(np.diff(table.columns["query"].ids)) + 1
    n_queries = len(distinct(queries.ids))
    if n_blocks > n_queries and n_blocks % n_queries == 0:
        return "; rows of a query stand apart, as of lists that were joined"
    return ""


def _describe_pooled(table: IdTable) -> str:
    """Say which column without a role has as many rows of each value in each list, as epochs have.

    The lists of several runs may be pooled in such a table: the first ten documents of each epoch.
    A value that belongs to the document, as the number of its shard, does not tell runs apart.
    """
    queries, documents = (table.columns[role].ids.astype(np.int64) for role in _ROLES)
    for name, column in table.others.items():
        values = column.ids.astype(np.int64)
        n_values = len(column.listed)
        in_first_list = np.bincount(values[queries == queries[0]], minlength=n_values)
        n_rows = int(in_first_list[0])
        # The first list ends the search of most columns.
        if n_values < 2 or n_rows < 2 or (in_first_list != n_rows).any():
            continue
        counts = factorize(queries, values).counts()
        has_all_values = len(counts) == n_values * len(distinct(queries))
        are_runs = has_all_values and not _belong_to_documents(values, documents)
        if are_runs and (counts == n_rows).all():
            column_name = repr(name) if isinstance(name, str) else f"column {name}"
            return f"each list has {n_rows:,} rows of each of {n_values:,} values of {column_name}"
    return ""


def _belong_to_documents(values: IntArray, documents: IntArray) -> bool:
    """Whether each document has one value wherever it is listed, and some are listed again."""
    n_documents = len(distinct(documents))
    has_one_value_each = len(factorize(documents, values).distinct) == n_documents
    return has_one_value_each and n_documents < len(documents)


def _refuse_left_out_orders(argument: str, table: IdTable, *, has_option: bool) -> None:
    """Refuse a column without a role that tells lists of a query apart, or has their order.

    At its changes the scores or ranks of a query begin anew, as where the lists of several right
    answers were joined; those of pages of results go on. A value that belongs to the document, as
    the number of its shard, tells no lists apart. Without scores and ranks, what rises, or falls,
    from row to row of each query may be these; but that is no number of a page, which half of
    the rows or more share with the row before, while others have the next one.
    """
    queries, documents = (table.columns[role].ids.astype(np.int64) for role in _ROLES)
    order = np.argsort(queries, kind="stable")  # The rows of a query come together.
    is_same_query = np.diff(queries[order]) == 0
    listed_numbers = table.values.get("score", table.values.get("rank"))
    ways = [_WHICH_COLUMNS] if has_option and listed_numbers is None else []
    for name, column in table.others.items():
        values = column.ids.astype(np.int64)
        is_change = is_same_query & (np.diff(values[order]) != 0)
        if listed_numbers is not None:
            may_tell = is_change.any() and not _belong_to_documents(values, documents)
            is_step = is_same_query & ~is_change
            is_found = may_tell and begins_anew(listed_numbers[order], is_step, is_change)
            got = "one that is left out, at whose changes the scores or ranks of a query begin anew"
        else:
            numbers = column_numbers(column)[order]
            is_next = (numbers[1:] == numbers[:-1] + 1) | (numbers[1:] == numbers[:-1] - 1)
            are_pages = is_next[is_change].all() and 2 * is_change.sum() <= is_same_query.sum()
            is_found = not are_pages and begins_anew(numbers, is_same_query, ~is_same_query)
            got = "one that is left out; rows of a query are in order by it, and no score is read"
        if is_found:
            expected = f"a table without column {name!r}"
            raise InputValueError(argument, "", expected, got, table.path, ways)


def _first_repeated(indptr: IntArray, ids: npt.NDArray[Any], size: int) -> int | None:
    """Return the first entry whose id its list has twice; None: there is none."""
    none = np.zeros(0, np.int64)
    fault = _core.find_listed(_core.Selection(indptr, ids), size, none, none, None, 0)[0]
    return None if fault is None else int(fault[0])


# -- runs that are written -------------------------------------------------------------------------


@public("truerank")
def write_run(
    path: str | os.PathLike[str],
    top: Any,
    *,
    queries: Sequence[str] | Sequence[int] | None = None,
    entities: Sequence[str] | Sequence[int] | None = None,
    tag: str = "truerank",
) -> None:
    """Write lists as a TREC run: lines ``qid Q0 docid rank score tag``, in ``.csv`` with commas.

    A score is written with all digits that tell it from others, so that `read_run` gets the same
    numbers; ranks count from 1 in the order of the list. Lists of n without scores get the scores
    n, n - 1, ..., 1.

    Parameters
    ----------
    path : str or path-like
        The file, gzipped if its name ends in .gz. It appears whole or not at all.
    top : TopK, mapping, table, or path
        What `topk_embeddings` returns; or lists by name, as `retrieval.Task.evaluate_lists` takes
        them: ``{query: {entity: score}}``, ``{query: [entities]}`` without scores, a table, what
        `read_run` returned, or a file.
    queries : sequence of str or int, shape (lists,), optional
        The name of each query, for lists without names. Default: their numbers from 0.
    entities : sequence of str or int, optional
        The names of the candidates by their ids, for lists without names. Default: the ids.
    tag : str
        The last field, the name of the system.

    Raises
    ------
    TypeError, ValueError
        For other shapes, for an id that has no name, and for what `read_run` would not read back: a
        query or a document that comes twice; names that are empty, have blanks, begin with a byte
        order mark or have no UTF-8; queries that begin with #; and integer scores that no float64
        holds.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "run.txt")
    ...     write_run(file, TopK([[4, 7]], [[2.5, 0.5]]), queries=["q1"])
    ...     print(file.read_text(), end="")
    q1 Q0 4 1 2.5 truerank
    q1 Q0 7 2 0.5 truerank
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "run.txt")
    ...     write_run(file, {"q1": ["d7", "d3"]})
    ...     print(file.read_text(), end="")
    q1 Q0 d7 1 2 truerank
    q1 Q0 d3 2 1 truerank
    """
    if isinstance(top, TopK):
        lists = as_lists(*top)
    elif queries is not None or entities is not None:
        raise InputTypeError("queries, entities", expected="None, as the lists have names")
    else:
        by_query = read_lists("top", top)
        queries, entities = by_query.queries, by_query.names
        scores_by_query = None if by_query.scores is None else (by_query.indptr, by_query.scores)
        lists = as_lists((by_query.indptr, by_query.ids), scores_by_query)
    if len(lists.ids) and int(lists.ids.min()) < 0:
        expected = f"ids from 0 on, and pads ({PAD}) at the end of a row"
        raise InputValueError("ids", expected=expected, got=int(lists.ids.min()))
    query_names = _run_names("queries", queries, len(lists.indptr) - 1)
    entity_names = _run_names("entities", entities, int(lists.ids.max(initial=-1)) + 1)
    instance("tag", tag, str)
    _run_fields("tag", [tag])
    entry = _first_repeated(lists.indptr, lists.ids, len(entity_names))
    if entry is not None:
        query, name = query_names[lists.place(entry)[0]], entity_names[lists.ids[entry]]
        raise InputValueError("top", f"the list of {str(query)!r} has {name!r} twice")
    scores: Any = None
    if lists.scores is not None:
        scores = lists.scores.array
        if lists.scores.dtype == "bfloat16":
            scores = widen_bfloat16(scores)
        if scores.dtype.kind != "f" and scores.tolist() != scores.astype(np.float64).tolist():
            raise InputValueError("scores", expected="integers that a float64 holds", got="others")
    with replace_text(path) as file:
        for query, first, last in zip(query_names, lists.indptr, lists.indptr[1:], strict=False):
            ids = lists.ids[first:last].tolist()
            numbers = range(len(ids), 0, -1) if scores is None else scores[first:last].tolist()
            lines = [
                f"{query} Q0 {entity_names[entity]} {rank} {number!r} {tag}\n"
                for rank, (entity, number) in enumerate(zip(ids, numbers, strict=True), 1)
            ]
            file.write(_run_text(path, lines).encode())


def _run_text(path: str | os.PathLike[str], lines: Sequence[str]) -> str:
    """Return lines of a run as its file has them: in .csv with commas, and quotes around these."""
    if not is_csv(os.fsdecode(path)):
        return "".join(lines)
    from ..tables.forms import csv_text

    return csv_text(map(str.split, lines))


def _run_names(argument: str, values: Any, number: int) -> Sequence[Any]:
    """Return the names of queries, or of entities, of which there may be more; else numbers."""
    if values is None:
        return range(number)
    names = _run_fields(argument, values)
    if len(names) < number or (argument == "queries" and len(names) > number):
        raise InputValueError(argument, expected=f"{number} names", got=len(names))
    return names


def _run_fields(argument: str, values: Any) -> tuple[str, ...]:
    """Return names as fields of a run: an int as its digits."""
    if isinstance(values, Set):
        raise InputTypeError(argument, expected="names in order", got=type(values).__name__)
    fields = distinct_names(argument, map(str, checked_names(argument, values)))
    for i, field in enumerate(fields):
        is_one_word = field.split() == [field]
        # No printable character is half of a pair, which UTF-8 does not have.
        is_utf8 = field.isprintable() or field.encode(errors="ignore").decode() == field
        if not is_one_word or not is_utf8 or field.startswith("\ufeff"):
            expected = "names without blanks, at least one character each, in UTF-8"
            raise InputValueError(argument, expected=expected, got=f"{field!r} at position {i}")
        if argument == "queries" and field.startswith("#"):
            expected = "names that do not begin with #, as comments do"
            raise InputValueError(argument, expected=expected, got=f"{field!r} at position {i}")
    return fields
