"""Files with lists of scored candidates, and their right answers: TREC runs, qrels, and JSON."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..inputs.errors import InputValueError
from ..inputs.naming import public
from .named_lists import NamedLists, Qrels, first_repeat, lists_of_rows
from .text import line_of, text_blocks, text_lines

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.progress_listeners import Listener, Progress

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
    return lists_of_rows(_ARGUMENT, _json_lists(name, progress), name, np.float64)


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
        distinct_pairs = dict(pairs)
        if len(distinct_pairs) < len(pairs):
            twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
            raise InputValueError(argument, f"{where} has {twice!r} twice", place=name)
        return distinct_pairs

    try:
        return json.loads(text, object_pairs_hook=distinct)
    except InputValueError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputValueError(argument, f"{where} is not JSON ({error})", place=name) from None
