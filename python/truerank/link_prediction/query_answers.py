"""Complex queries with their easy and hard answers, in memory and in files of JSON lines."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.arrays import index_array
from ..inputs.checks import is_integer, is_iterable
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.selection import check_indptr, indptr_of
from ..tables.writing import replace_text
from ..tasks.list_files import json_lines, line_error

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray

_FIELDS = ("structure", "query", "easy", "hard")  # of a line, in this order
_QUERIES_PER_BLOCK = 1 << 10


@public("truerank.link_prediction")
class QueryAnswers(NamedTuple):
    """Complex queries with their structures and answers, as files have them.

    Attributes
    ----------
    queries : tuple
        The queries: str, integers, or nested tuples of them.
    easy, hard : tuple of tuple
        The answers of each query: entities by their labels or ids.
    structures : tuple of str
        The name of the structure of each query, as "2p".
    """

    queries: tuple[Hashable, ...]
    easy: tuple[tuple[Any, ...], ...]
    hard: tuple[tuple[Any, ...], ...]
    structures: tuple[str, ...]


class AnswerLists(NamedTuple):
    """The answers of all queries, one after the other; those of query i begin at ``indptr[i]``."""

    indptr: IntArray
    values: list[Any] | npt.NDArray[Any]

    def query_of(self, position: int) -> int:
        """Return the number of the query that has the answer at some position.

        Examples
        --------
        >>> AnswerLists(np.array([0, 0, 2, 3]), [7, 8, 7]).query_of(1)
        1
        """
        return int(np.searchsorted(self.indptr, position, side="right")) - 1

    def of_query(self, number: int) -> list[Any]:
        """Return the answers of a query."""
        span = slice(int(self.indptr[number]), int(self.indptr[number + 1]))
        found = self.values[span]
        return list(found.tolist() if isinstance(found, np.ndarray) else found)


@public("truerank.link_prediction")
def read_queries(path: str | os.PathLike[str]) -> QueryAnswers:
    """Read complex queries in JSON: a line for each query.

    A line is ``{"structure": "2p", "query": ["oslo", ["in", "in"]], "easy": ["norway"], "hard":
    ["europe"]}``. The query may be any JSON but objects, or be left out in all lines; then queries
    are numbered from 0. Entities are labels or ids. Without "easy" there are no easy answers.

    Parameters
    ----------
    path : str or path-like
        In UTF-8, gzipped if its name ends in .gz. Empty lines are skipped.

    Returns
    -------
    QueryAnswers
        The lists in queries have become tuples.

    Raises
    ------
    ValueError
        For a line of another form; the error names it.
    OSError
        For a file that is missing or damaged.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "test.jsonl")
    ...     write_queries(file, [("a", ("r", "s"))], [["b"]], [["c", "d"]], structures="2p")
    ...     read = read_queries(file)
    >>> read.queries, read.easy, read.hard, read.structures
    ((('a', ('r', 's')),), (('b',),), (('c', 'd'),), ('2p',))
    """
    name = os.fsdecode(path)
    rows: list[dict[str, Any]] = []
    for line, found in json_lines("path", name):
        problem = _problem_of(found)
        if not problem and rows and ("query" in found) != ("query" in rows[0]):
            problem = "expected a query in all lines, or in none"
        if problem:
            raise line_error(name, line, problem)
        rows.append(found)
    return QueryAnswers(
        tuple(_as_tuples(row.get("query", i)) for i, row in enumerate(rows)),
        tuple(tuple(row.get("easy", ())) for row in rows),
        tuple(tuple(row["hard"]) for row in rows),
        tuple(row["structure"] for row in rows),
    )


@public("truerank.link_prediction")
def write_queries(
    path: str | os.PathLike[str], queries: Any, easy: Any, hard: Any, *, structures: Any
) -> None:
    """Write complex queries as JSON lines, which `read_queries` and `ComplexQueries` read.

    Parameters
    ----------
    path : str or path-like
        The file, gzipped if its name ends in .gz. It appears whole or not at all.
    queries : sequence
        The queries: str, integers, or nested tuples of them.
    easy, hard, structures
        As in `ComplexQueries`; sets are written in ascending order.

    Raises
    ------
    TypeError, ValueError
        For queries or entities that are neither str nor integers, and for other lengths.
    OSError
        If the file cannot be written.
    """
    asked = check_queries(queries)
    names = check_structures(structures, len(asked))
    lists = {
        title: flat_answers(title, value, asked)
        for title, value in (("easy", easy), ("hard", hard))
    }
    for title, answers in lists.items():
        _check_kinds(title, answers, asked)
    with replace_text(path) as file:
        for first in range(0, len(asked), _QUERIES_PER_BLOCK):
            rows = []
            for i in range(first, min(first + _QUERIES_PER_BLOCK, len(asked))):
                found = (answers.of_query(i) for answers in lists.values())
                values = names[i], _plain(asked[i]), *map(_plain, found)
                row = dict(zip(_FIELDS, values, strict=True))
                rows.append(json.dumps(row) + "\n")
            file.write("".join(rows).encode())


def check_queries(queries: Any) -> tuple[Hashable, ...]:
    """Check that queries are hashable and differ.

    Raises
    ------
    TypeError, ValueError
        For anything else.
    """
    if isinstance(queries, (str, bytes, Mapping)) or not is_iterable(queries):
        raise InputTypeError("queries", expected="a sequence", got=type(queries).__name__)
    found = tuple(queries.tolist() if isinstance(queries, np.ndarray) else queries)
    seen: set[Hashable] = set()
    for i, query in enumerate(found):
        try:
            is_new = query not in seen
        except TypeError:
            got = f"{type(query).__name__} at position {i}"
            raise InputTypeError(
                "queries", expected="str, ids or tuples of them", got=got
            ) from None
        if not is_new:
            raise InputValueError("queries", f"{query!r} occurs twice")
        seen.add(query)
    return found


def check_structures(structures: Any, length: int) -> tuple[str, ...]:
    """Check the structures of some queries; one str stands for all of them.

    Raises
    ------
    TypeError, ValueError
        For anything but names, one for each query.
    """
    found = [structures] * length if isinstance(structures, str) else structures
    if isinstance(found, (bytes, Mapping, Set)) or not is_iterable(found):
        got = type(structures).__name__
        raise InputTypeError("structures", expected="the name of each query's structure", got=got)
    names = tuple(found.tolist() if isinstance(found, np.ndarray) else found)
    for i, name in enumerate(names):
        if not isinstance(name, str):
            got = f"{type(name).__name__} at position {i}"
            raise InputTypeError("structures", expected="str", got=got)
        if not name:
            raise InputValueError(
                "structures", expected="names", got=f"an empty str at position {i}"
            )
    if len(names) != length:
        raise InputValueError(
            "structures", expected=f"{length}, one for each query", got=len(names)
        )
    return names


def flat_answers(title: str, value: Any, queries: Sequence[Hashable]) -> AnswerLists:
    """Read the answers of all queries in any form.

    Parameters
    ----------
    title : {"easy", "hard"}
        The argument.
    value : mapping, sequence, (indptr, indices) or None
        A mapping of queries to their answers (those that it lacks have none), a sequence with the
        answers of each query, or the lists one after the other; None: no answers.
    queries : sequence
        The queries.

    Raises
    ------
    TypeError, ValueError
        For another form or another number of lists.
    """
    count = len(queries)
    if value is None:
        return AnswerLists(np.zeros(count + 1, dtype=np.int64), [])
    if _is_flat(value):
        indptr = index_array(f"{title}: indptr", value[0])
        check_indptr(title, indptr, count, len(value[1]))
        return AnswerLists(indptr, value[1])
    if isinstance(value, Mapping):
        lists: list[Any] = [value.get(query, ()) for query in queries]
    elif isinstance(value, (str, bytes, Set)) or not is_iterable(value):
        expected = "the answers of each query, a mapping of queries to them, or (indptr, indices)"
        raise InputTypeError(title, expected=expected, got=type(value).__name__)
    else:
        lists = list(value)
    if len(lists) != count:
        expected = f"{count} lists of answers, one for each query"
        raise InputValueError(title, expected=expected, got=len(lists))
    for query, found in zip(queries, lists, strict=True):
        if isinstance(found, (str, bytes, Mapping)) or not is_iterable(found):
            got = f"{type(found).__name__} for query {query!r}"
            raise InputTypeError(title, expected="a list or set of entities", got=got)
    lists = [_as_list(found) for found in lists]
    return AnswerLists(indptr_of(list(map(len, lists))), list(chain.from_iterable(lists)))


def _is_flat(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and all(isinstance(part, np.ndarray) and part.ndim == 1 for part in value)
    )


def _as_list(found: Iterable[Any]) -> list[Any]:
    if isinstance(found, np.ndarray):
        return list(found.tolist())
    if isinstance(found, Set):  # in an order that is the same every time, where there is one
        try:
            return sorted(found)
        except TypeError:
            pass
    return list(found)


def _check_kinds(title: str, answers: AnswerLists, queries: Sequence[Hashable]) -> None:
    for i, value in enumerate(answers.values):
        if not isinstance(value, str) and not is_integer(value):
            got = f"{type(value).__name__} for query {queries[answers.query_of(i)]!r}"
            raise InputTypeError(title, expected="entities as str or integers", got=got)


# -- JSON ------------------------------------------------------------------------------------------


def _problem_of(row: Any) -> str:
    """Say what is wrong with a line; nothing if it has the right form."""
    if not isinstance(row, dict):
        return f"expected an object, got {type(row).__name__}"
    unknown = next((name for name in row if name not in _FIELDS), None)
    if unknown is not None:
        return f"expected {', '.join(_FIELDS[:-1])} and {_FIELDS[-1]}, got {unknown!r}"
    if not isinstance(row.get("structure"), str) or not row["structure"]:
        return "expected the name of a structure"
    if "hard" not in row:
        return "expected hard answers, or an empty list of them"
    for title in ("easy", "hard"):
        found = row.get(title, [])
        if not isinstance(found, list):
            return f"expected a list of {title} answers, got {type(found).__name__}"
        kinds = set(map(type, found)) - {str, int}
        if kinds:
            return f"expected labels or ids as {title} answers, got {kinds.pop().__name__}"
    if not _is_nested(row.get("query", 0)):
        return "expected a query of labels, ids and lists of them, not nested too deeply"
    return ""


def _is_nested(query: Any, depth: int = 0) -> bool:
    if isinstance(query, list):
        return depth < 100 and all(_is_nested(part, depth + 1) for part in query)
    return type(query) in (str, int)


def _as_tuples(query: Any) -> Any:
    return tuple(map(_as_tuples, query)) if isinstance(query, list) else query


def _plain(query: Any) -> Any:
    """Return what JSON has for a query or for the answers of one."""
    if isinstance(query, str):
        return str(query)
    if is_integer(query):
        return int(query)
    if isinstance(query, (tuple, list)):
        return list(map(_plain, query))
    expected = "str, integers, or nested tuples of them"
    raise InputTypeError("queries", expected=expected, got=type(query).__name__)
