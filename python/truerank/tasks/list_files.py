"""Files with lists of scored candidates, and their right answers: TREC runs, qrels, and JSON."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..inputs.candidate_lists import PAD, as_lists
from ..inputs.checks import several
from ..inputs.errors import InputTypeError, InputValueError, renamed
from ..inputs.naming import public
from ..inputs.scores import widen_bfloat16
from ..tables.writing import replace_text
from .named_lists import (
    NamedLists,
    Qrels,
    first_repeat,
    lists_of_mapping,
    lists_of_rows,
    without_ranx,
)
from .text import is_path, line_of, text_blocks, text_lines

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.progress_listeners import Progress

    Listener = Callable[[Progress], object]

_ARGUMENT = "path"
_JSON = (".json", ".jsonl", ".json.gz", ".jsonl.gz")


def is_json(path: str) -> bool:
    """Return whether a file has JSON, by its name."""
    return path.endswith(_JSON)


@public("truerank")
def read_run(
    path: str | os.PathLike[str],
    *,
    progress: bool | Callable[[Progress], object] | None = None,
) -> NamedLists:
    """Read a TREC run: a line for each document of each query, ``qid Q0 docid rank score tag``.

    The scores say how documents are ranked, and equal ones tie; the ranks in the file and the order
    of its lines say nothing, as in trec_eval (which breaks ties by the names of documents). The
    lines of a query need not follow each other.

    Parameters
    ----------
    path : str or path-like
        Text in UTF-8, gzipped if its name ends in .gz. Blanks and tabs stand between fields; empty
        lines are skipped.
    progress : callable or bool, optional
        As in `rank`: True shows a bar. A callable is
        called with a `Progress`, in bytes of the file, after every block of lines.

    Returns
    -------
    NamedLists

    Raises
    ------
    ValueError
        For a line that is not of this form, and a document that a query has twice; the error names
        the line.
    OSError
        For a file that is missing or damaged.

    Notes
    -----
    It takes 16 bytes for each line while it reads, and each name once.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "run.txt")
    ...     _ = file.write_text("q1 Q0 d7 1 2.5 tag\\nq1 Q0 d3 2 1.5 tag\\nq2 Q0 d3 1 0.5 tag\\n")
    ...     run = read_run(file)
    >>> run
    NamedLists(2 lists, 3 entries, 2 names)
    >>> run["q1"]
    {'d7': 2.5, 'd3': 1.5}
    """
    name = os.fsdecode(path)
    reader = _core.ListReader()
    queries, documents, scores = read_blocks(name, progress, reader.run_rows)
    order = None
    if (queries[1:] < queries[:-1]).any():
        order = np.argsort(queries, kind="stable")
        queries, documents, scores = queries[order], documents[order], scores[order]
    groups = tuple(reader.groups())
    indptr = np.searchsorted(queries, np.arange(len(groups) + 1)).astype(np.int64)
    lists = NamedLists(groups, tuple(reader.names()), indptr, documents, scores)
    if (repeat := first_repeat(indptr, documents, len(lists.names))) is not None:
        row = repeat if order is None else int(order[repeat])
        who = f"query {groups[int(queries[repeat])]!r} has {lists.names[documents[repeat]]!r} twice"
        raise line_error(name, line_of(name, row), who)
    return lists


@public("truerank")
def read_json_lists(
    path: str | os.PathLike[str],
    *,
    progress: bool | Callable[[Progress], object] | None = None,
) -> NamedLists:
    """Read lists in JSON: ``{"q1": {"d7": 2.5, "d3": 1.5}, "q2": {...}}``.

    The file has one such object, as pytrec_eval and ranx take them, or lines that are each such an
    object, with one query or several. Objects ``{"d7": 2.5, "d3": 1.5}`` alone, in lines or in an
    array, are lists of queries that are numbered from "0". Arrays of names in place of objects,
    ``{"q1": ["d7", "d3"]}``, are lists in order alone.

    Parameters
    ----------
    path : str or path-like
        In UTF-8, gzipped if its name ends in .gz. Lines are read one by one; a single object is
        read as a whole, into Python's dicts.
    progress : callable or bool, optional
        As in `read_run`.

    Returns
    -------
    NamedLists

    Raises
    ------
    ValueError
        For anything but such objects, and a query or a candidate that occurs twice; the error names
        the line, or the query.
    OSError
        For a file that is missing or damaged.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "lists.jsonl")
    ...     _ = file.write_text('{"q1": {"d7": 2.5, "d3": 1.5}}\\n{"q2": {"d3": 0.5}}\\n')
    ...     read_json_lists(file)["q2"]
    {'d3': 0.5}
    """
    name = os.fsdecode(path)

    def error(where: str, problem: str) -> InputValueError:
        return InputValueError(_ARGUMENT, f"{where}: {problem}", place=name)

    return lists_of_rows(_json_lists(name, progress), error, np.float64)


@public("truerank")
def read_qrels(path: str | os.PathLike[str]) -> Qrels:
    """Read the judgements of a TREC test collection: lines ``qid iteration docid relevance``.

    Parameters
    ----------
    path : str or path-like
        Text in UTF-8, gzipped if its name ends in .gz. Blanks and tabs stand between fields; empty
        lines are skipped.

    Returns
    -------
    Qrels

    Raises
    ------
    ValueError
        For a line that is not of this form, and a document that is judged twice for a query; the
        error names the line.
    OSError
        For a file that is missing or damaged.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "qrels.txt")
    ...     _ = file.write_text("q1 0 d3 1\\nq1 0 d9 0\\nq2 0 d3 2\\n")
    ...     read_qrels(file)
    Qrels(3 judgements of 2 queries, 2 relevant)
    """
    name = os.fsdecode(path)
    judgements: dict[tuple[str, str], int] = {}
    for line, row in text_lines(_ARGUMENT, name):
        fields = [field for field in row.replace("\t", " ").split(" ") if field]
        if len(fields) != 4:
            problem = "expected four fields: query, iteration, document and relevance"
            raise line_error(name, line, problem)
        query, _, document, judged = fields
        if not judged.removeprefix("-").isdecimal() or len(judged) > 9:
            raise line_error(name, line, f"expected an integer as relevance, got {judged!r}")
        if (query, document) in judgements:
            problem = f"query {query!r} has a judgement of {document!r} already"
            raise line_error(name, line, problem)
        judgements[query, document] = int(judged)
    return Qrels.of_pairs(judgements)


def read_lists(argument: str, value: Any) -> NamedLists | None:
    """Return lists by name as they are, or of a mapping, a run of ranx or a file; else None."""
    value = without_ranx(value)
    if is_path(value):
        with renamed(path=argument):
            return read_json_lists(value) if is_json(os.fsdecode(value)) else read_run(value)
    if isinstance(value, Mapping):
        return lists_of_mapping(argument, value)
    return value if isinstance(value, NamedLists) else None


def read_blocks(
    name: str,
    progress: bool | Listener | None,
    read_rows: Callable[[str], tuple[Any, ...]],
) -> list[npt.NDArray[Any]]:
    """Read a file block by block with the core, and join the columns of all blocks."""
    blocks = [read_rows("")[1:]]  # a file without lines has columns, too
    line = 1
    for text in text_blocks(_ARGUMENT, name, progress):
        fault, *columns = read_rows(text)
        if fault is not None:
            raise line_error(name, line + fault[0], fault[1])
        blocks.append(tuple(columns))
        line += text.count("\n")
    return [np.concatenate(column) for column in zip(*blocks, strict=True)]


def line_error(name: str, line: int, problem: str) -> InputValueError:
    """Return the error for a line of a file."""
    return InputValueError(_ARGUMENT, f"line {line}: {problem}", place=name)


@public("truerank")
def write_run(
    path: str | os.PathLike[str],
    top: Any,
    *,
    queries: Sequence[str] | None = None,
    entities: Sequence[str] | None = None,
    tag: str = "truerank",
) -> None:
    """Write lists as a TREC run: lines ``qid Q0 docid rank score tag``.

    A score is written with all digits that tell it from others, so that `read_run` gets the same
    numbers; ranks count from 1 in the order of the list. Lists of n in order alone get the scores
    n, n - 1, ..., 1.

    Parameters
    ----------
    path : str or path-like
        The file, gzipped if its name ends in .gz. It appears whole or not at all.
    top : TopK, (ids, scores), mapping, NamedLists, or path
        What `topk_embeddings` returns, or ids and scores as `rank_lists` takes them; or lists by
        name, as `retrieval.Task.evaluate_lists` takes them: ``{query: {entity: score}}``, ``{query:
        [entities]}`` in order alone, NamedLists, or a file of them.
    queries : sequence of str, shape (lists,), optional
        The name of each query, for lists without names. Default: their numbers from 0.
    entities : sequence of str, optional
        The names of the candidates by their ids, for lists without names. Default: the ids.
    tag : str
        The last field, the name of the system.

    Raises
    ------
    TypeError, ValueError
        For other shapes, for an id that has no name, and for names that are empty or have blanks,
        which would end a field.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "run.txt")
    ...     write_run(file, ([[4, 7]], [[2.5, 0.5]]), queries=["q1"])
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
    named = read_lists("top", top)
    if named is not None:
        if queries is not None or entities is not None:
            raise InputTypeError("queries, entities", expected="None, as the lists have names")
        queries, entities, top = named.queries, named.names, named.entries
    if not isinstance(top, tuple) or len(top) != 2:
        expected = "(ids, scores), TopK, lists by query, or their file"
        raise InputTypeError("top", expected=expected, got=type(top).__name__)
    lists = as_lists(*top)
    height = len(lists.indptr) - 1
    if len(lists.ids) and int(lists.ids.min()) < 0:
        expected = f"ids from 0 on, and pads ({PAD}) at the end of a row"
        raise InputValueError("ids", expected=expected, got=int(lists.ids.min()))
    query_names = list(map(str, range(height))) if queries is None else _fields("queries", queries)
    if len(query_names) != height:
        raise InputValueError("queries", expected=f"{height} names", got=len(query_names))
    labels = None if entities is None else _fields("entities", entities)
    if labels is not None and len(lists.ids) and int(lists.ids.max()) >= len(labels):
        expected = f"a name for every id, up to {int(lists.ids.max())}"
        raise InputValueError("entities", expected=expected, got=f"{len(labels)} names")
    _fields("tag", [tag])
    numbers = None if lists.scores is None else lists.scores.array
    if lists.scores is not None and lists.scores.dtype == "bfloat16":
        numbers = widen_bfloat16(lists.scores.array)
    with replace_text(path) as file:
        for query, first, last in zip(query_names, lists.indptr, lists.indptr[1:], strict=False):
            ids: list[Any] = lists.ids[first:last].tolist()
            shown = ids if labels is None else [labels[code] for code in ids]
            places = range(1, len(ids) + 1)
            scores = places[::-1] if numbers is None else numbers[first:last].tolist()
            rows = zip(shown, places, scores, strict=True)
            lines = (f"{query} Q0 {name} {rank} {score!r} {tag}\n" for name, rank, score in rows)
            file.write("".join(lines).encode())


def _fields(argument: str, values: Sequence[str]) -> list[str]:
    fields = [str(value) for value in several(argument, values, "names")]
    for i, field in enumerate(fields):
        if not field or field.split() != [field]:
            expected = "names without blanks, at least one character each"
            raise InputValueError(argument, expected=expected, got=f"{field!r} at position {i}")
    return fields


# -- JSON ------------------------------------------------------------------------------------------


def json_lines(argument: str, name: str) -> Iterator[tuple[int, Any]]:
    """Yield the number of each line of a file that is not empty, and its JSON."""
    for number, line in text_lines(argument, name):
        yield number, _parse_json(line, f"line {number}", name, argument)


def _json_lists(
    name: str, progress: bool | Listener | None
) -> Iterator[tuple[str, str | None, Any]]:
    """Yield where each list is, its query (None: it has no name), and its scores by candidate."""
    lines = text_lines(_ARGUMENT, name, progress)
    first = next(lines, (0, ""))
    try:
        has_lines = isinstance(json.loads(first[1]), dict)  # one object, with which others follow
    except (ValueError, RecursionError):
        has_lines = False
    if has_lines:
        for number, line in chain([first], lines):
            yield from _lists_of(f"line {number}", line, name)
    elif first[1]:  # a file that is one object, or an array
        text = "\n".join(line for _, line in chain([first], lines))
        yield from _lists_of("the file", text, name)


def _lists_of(where: str, text: str, name: str) -> Iterator[tuple[str, str | None, Any]]:
    value = _parse_json(text, where, name)
    alone = value if isinstance(value, list) else [value]
    lists: list[tuple[str | None, Any]] = [(None, listed) for listed in alone]
    if isinstance(value, dict) and (not value or {*map(type, value.values())} & {dict, list}):
        lists = list(value.items())
    for query, listed in lists:
        if isinstance(listed, list) and not all(isinstance(each, str) for each in listed):
            problem = f"{where}: expected names in the list of {query!r}"
            raise InputValueError(_ARGUMENT, problem, place=name)
        yield where, query, listed


def _parse_json(text: str, where: str, name: str, argument: str = _ARGUMENT) -> Any:
    """Read JSON in which no object has a name twice; an error names the place."""

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
            raise InputValueError(argument, f"{where} has {twice!r} twice", place=name)
        return found

    try:
        return json.loads(text, object_pairs_hook=distinct)
    except InputValueError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputValueError(argument, f"{where} is not JSON ({error})", place=name) from None
