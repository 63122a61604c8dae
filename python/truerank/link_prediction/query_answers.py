"""Complex queries with their easy and hard answers, in memory and in files of JSON lines."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Mapping, Sequence, Set
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np

from ..inputs.arrays import index_array
from ..inputs.checks import is_integer, is_iterable
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.selection import check_indptr
from ..tables.writing import replace_text
from ..tasks.list_files import json_lines, line_error

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
    for line, parsed in json_lines("path", name):
        problem = _problem_of(parsed)
        if not problem and rows and ("query" in parsed) != ("query" in rows[0]):
            problem = "expected a query in all lines, or in none"
        if problem:
            raise line_error(name, line, problem)
        rows.append(parsed)
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
    lists = [
        answers_by_query(title, value, asked) for title, value in (("easy", easy), ("hard", hard))
    ]
    for title, answers in zip(("easy", "hard"), lists, strict=True):
        for query, entities in zip(asked, answers, strict=True):
            for entity in entities:
                if not isinstance(entity, str) and not is_integer(entity):
                    got = f"{type(entity).__name__} for query {query!r}"
                    raise InputTypeError(title, expected="entities as str or integers", got=got)
    lines = (
        json.dumps(dict(zip(_FIELDS, (name, *map(_plain, values)), strict=True)))
        for name, *values in zip(names, asked, *lists, strict=True)
    )
    with replace_text(path) as file:
        while block := list(islice(lines, _QUERIES_PER_BLOCK)):
            file.write(("\n".join(block) + "\n").encode())


def _items(
    name: str, value: Any, expected: str, *, unlike: tuple[type, ...], where: str = ""
) -> list[Any]:
    """Return the items of a sequence; a set has its own in an order that is always the same."""
    if isinstance(value, unlike) or not is_iterable(value):
        raise InputTypeError(name, expected=expected, got=type(value).__name__ + where)
    if isinstance(value, Set):
        return sorted(value, key=lambda item: (type(item).__name__, item))
    return value.tolist() if isinstance(value, np.ndarray) else list(value)


def check_queries(queries: Any) -> tuple[Hashable, ...]:
    """Check that queries are hashable and differ.

    Raises
    ------
    TypeError, ValueError
        For anything else.
    """
    asked = tuple(_items("queries", queries, "a sequence", unlike=(str, bytes, Mapping)))
    positions: dict[Hashable, int] = {}
    for i, query in enumerate(asked):
        try:
            first = positions.setdefault(query, i)
        except TypeError:
            expected = "str, ids or tuples of them"
            got = f"{type(query).__name__} at position {i}"
            raise InputTypeError("queries", expected=expected, got=got) from None
        if first < i:
            raise InputValueError("queries", f"{query!r} occurs twice")
    return asked


def check_structures(structures: Any, length: int) -> tuple[str, ...]:
    """Check the structures of some queries; one str stands for all of them.

    Raises
    ------
    TypeError, ValueError
        For anything but names, one for each query.
    """
    if isinstance(structures, str):
        structures = [structures] * length
    expected = "the name of each query's structure"
    names = tuple(_items("structures", structures, expected, unlike=(bytes, Mapping, Set)))
    for i, name in enumerate(names):
        if not isinstance(name, str) or not name:
            error = InputValueError if isinstance(name, str) else InputTypeError
            raise error("structures", expected="names", got=f"{name!r} at position {i}")
    if len(names) != length:
        expected = f"{length}, one for each query"
        raise InputValueError("structures", expected=expected, got=len(names))
    return names


def answers_by_query(title: str, value: Any, queries: Sequence[Hashable]) -> list[list[Any]]:
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

    Examples
    --------
    >>> answers_by_query("hard", {"q": {2, 1}}, ["p", "q"])
    [[], [1, 2]]
    """
    if value is None:
        return [[] for _ in queries]
    parts = value if isinstance(value, tuple) and len(value) == 2 else (None,)
    if all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts):
        indptr = index_array(f"{title}: indptr", value[0])
        check_indptr(title, indptr, len(queries), len(value[1]))
        return [value[1][start:end].tolist() for start, end in pairwise(indptr.tolist())]
    if isinstance(value, Mapping):
        lists = [value.get(query, ()) for query in queries]
    else:
        expected = "the answers of each query, a mapping of queries to them, or (indptr, indices)"
        lists = _items(title, value, expected, unlike=(str, bytes, Set))
    if len(lists) != len(queries):
        expected = f"{len(queries)} lists of answers, one for each query"
        raise InputValueError(title, expected=expected, got=len(lists))
    expected, unlike = "a list or set of entities", (str, bytes, Mapping)
    return [
        _items(title, answers, expected, unlike=unlike, where=f" for query {query!r}")
        for query, answers in zip(queries, lists, strict=True)
    ]


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
        answers = row.get(title, [])
        if not isinstance(answers, list):
            return f"expected a list of {title} answers, got {type(answers).__name__}"
        kinds = set(map(type, answers)) - {str, int}
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
