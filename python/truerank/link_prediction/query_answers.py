"""Complex queries with their easy and hard answers, in memory and in files of JSON lines."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence, Set
from typing import Any, NamedTuple

from ..arrays.input_files import path_name
from ..arrays.writing import replace_text
from ..errors import InputTypeError, InputValueError
from ..inputs.array_likes import as_array
from ..inputs.checks import check_length, is_integer, is_iterable
from ..inputs.frames import without_index
from ..naming import public
from ..records.elements import is_label
from ..records.json_lines import json_lines

_FIELDS = frozenset({"structure", "query", "easy", "hard"})  # A line has these fields.
_LINE = (
    '{"structure": name, "query": labels, ids or lists of them, "easy": [entities], "hard": '
    "[entities]}, with entities as labels or ids"
)


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
    ["europe"]}``. The query may be labels, ids and lists of them; left out, it is the number of the
    line, from 0. Entities are labels or ids. Without "easy" there are no easy answers.

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
        For a line of another form; the error names it. For pickles, as KGReasoning has them.
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
    name = path_name("path", path)
    if name.lower().endswith((".pkl", ".pickle")):
        problem = "a pickle can run any code when it is loaded, and is not read; of one that you "
        problem += "trust, five lines on the page about facts make JSON, by write_queries"
        raise InputValueError("path", problem, place=name)
    rows: list[dict[str, Any]] = []
    for line, row in json_lines("path", name):
        if not _is_line(row):
            place = f"{name}: line {line}"
            raise InputValueError("path", expected=_LINE, got=repr(row), place=place)
        rows.append(row)
    return QueryAnswers(
        queries=tuple(_as_tuples(row.get("query", i)) for i, row in enumerate(rows)),
        easy=tuple(tuple(row.get("easy", ())) for row in rows),
        hard=tuple(tuple(row["hard"]) for row in rows),
        structures=tuple(row["structure"] for row in rows),
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
    easy_answers = answers_by_query("easy", easy, asked)
    hard_answers = answers_by_query("hard", hard, asked)
    with replace_text(path) as file:
        for i, query in enumerate(asked):
            row = {
                "structure": _plain(names[i]),
                "query": _plain(query),
                "easy": _plain(easy_answers[i]),
                "hard": _plain(hard_answers[i]),
            }
            if not _is_line(row):
                raise InputTypeError("queries", expected=_LINE, got=repr(row))
            file.write((json.dumps(row) + "\n").encode())


def _items(
    name: str, value: Any, expected: str, *, refused: tuple[type, ...], where: str = ""
) -> list[Any]:
    """Return the items of a sequence, or of a set in an order that is always the same.

    Refused are values of some types, and what is no sequence; `where` is the place for the message.
    """
    if isinstance(value, refused) or not is_iterable(value):
        raise InputTypeError(name, expected=expected, got=type(value).__name__ + where)
    if isinstance(value, Set):
        return sorted(value, key=lambda item: (type(item).__name__, item))
    check_length(name, value)
    if hasattr(value, "__array__"):  # Columns of pandas, polars and pyarrow have it, too.
        return as_array(value, name).tolist()  # type: ignore[no-any-return]
    return list(value)


def check_queries(queries: Any) -> tuple[Hashable, ...]:
    """Check that queries are hashable and differ.

    Raises
    ------
    TypeError, ValueError
        For anything else.
    """
    asked = tuple(_items("queries", queries, "a sequence", refused=(str, bytes, Mapping)))
    expected = "str, ids or tuples of them, each once"
    try:
        twice = [query for query, count in Counter(asked).items() if count > 1]
    except TypeError as error:
        raise InputTypeError("queries", expected=expected, got=str(error)) from None
    if twice:
        raise InputValueError("queries", expected=expected, got=f"{twice[0]!r} twice")
    return asked


def check_structures(structures: Any, length: int) -> tuple[str, ...]:
    """Check the structures of some queries; one str stands for all of them.

    Raises
    ------
    TypeError, ValueError
        For anything but names, one for each query.
    """
    expected = f"the name of each query's structure, {length} in all"
    if isinstance(structures, str):
        structures = [structures] * length
    names = tuple(_items("structures", structures, expected, refused=(bytes, Mapping, Set)))
    wrong = [name for name in names if not is_label(name)]
    if wrong:
        raise InputValueError("structures", expected=expected, got=repr(wrong[0]))
    if len(names) != length:
        raise InputValueError("structures", expected=expected, got=len(names))
    return names


def answers_by_query(title: str, value: Any, queries: Sequence[Hashable]) -> list[list[Any]]:
    """Read the answers of all queries in any form.

    Parameters
    ----------
    title : {"easy", "hard"}
        The argument.
    value : mapping, sequence or None
        A mapping of queries to their answers (those that it lacks have none), or a sequence with
        the answers of each query; None: no answers.
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
    expected = f"the answers of each of {len(queries)} queries, as lists or sets of entities"
    if isinstance(value, Mapping):
        value = [value.get(query, ()) for query in queries]
    lists = _items(title, value, expected, refused=(str, bytes, Set))
    if len(lists) != len(queries):
        raise InputValueError(title, expected=expected, got=f"{len(lists)} lists")
    listed = []
    for query, answers in zip(queries, lists, strict=True):
        items = without_index(answers)
        where = f" for {query!r}"
        listed.append(_items(title, items, expected, refused=(str, bytes, Mapping), where=where))
    return listed


# -- JSON ------------------------------------------------------------------------------------------


def _is_line(row: Any) -> bool:
    """Return whether a line has the form of `_LINE`."""
    if not isinstance(row, dict):
        return False
    if "structure" not in row or "hard" not in row or not row.keys() <= _FIELDS:
        return False
    for answers in (row["hard"], row.get("easy", [])):
        if not isinstance(answers, list) or not set(map(type, answers)) <= {str, int}:
            return False
    return is_label(row["structure"]) and _is_query(row.get("query", 0))


def _is_query(value: Any, depth: int = 0) -> bool:
    """Return whether a value is a label, an id, or a list of these, or of such lists."""
    if isinstance(value, list):
        return depth < 100 and all(_is_query(part, depth + 1) for part in value)
    return type(value) in (str, int)


def _as_tuples(query: Any) -> Any:
    """Return a query with tuples in place of lists, so that it is hashable."""
    if not isinstance(query, list):
        return query
    return tuple(map(_as_tuples, query))


def _plain(value: Any) -> Any:
    """Return what JSON has for a query or for the answers of one."""
    if isinstance(value, (tuple, list)):
        return list(map(_plain, value))
    if isinstance(value, str):
        return str(value)
    if is_integer(value):
        return int(value)
    return value
