"""Readers of files with lists of scored candidates: TREC runs, their qrels, and JSON."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..inputs.checks import is_number
from ..inputs.errors import InputValueError, renamed
from ..inputs.naming import public
from ..inputs.progress_listeners import Progress, as_listener
from ..inputs.selection import indptr_of
from .named_lists import NamedLists, Qrels, lists_of_mapping, without_ranx
from .text import is_path, line_of, text_blocks
from .vocabularies import LabelIndex

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray, IntArray

    Listener = Callable[[Progress], object]

_ARGUMENT = "path"
_JSON = (".json", ".jsonl", ".json.gz", ".jsonl.gz")


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
    if (repeat := lists.first_repeat()) is not None:
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
    queries: dict[str, None] = {}
    names = LabelIndex()
    ids: list[IntArray] = []
    scores: list[FloatArray] | None = None
    for where, query, listed in _json_lists(name, progress):
        key = str(len(queries)) if query is None else query
        if key in queries:
            raise InputValueError(_ARGUMENT, f"{where} has the query {key!r} again", place=name)
        queries[key] = None
        is_scored = isinstance(listed, dict)
        if ids and is_scored != (scores is not None):
            problem = f"{where}: expected scores for all queries, or for none"
            raise InputValueError(_ARGUMENT, problem, place=name)
        if not all(isinstance(candidate, str) for candidate in listed):
            problem = f"{where}: expected names in the list of {key!r}"
            raise InputValueError(_ARGUMENT, problem, place=name)
        _refuse_repeats(listed, where, name)
        ids.append(names.encode(list(listed)))
        if is_scored:
            scores = scores or []
            scores.append(_float_scores(key, listed.values(), where, name))
    lists = indptr_of(list(map(len, ids))), np.concatenate([*ids, np.zeros(0, np.int64)])
    joined = None if ids and scores is None else np.concatenate([*(scores or []), np.zeros(0)])
    return NamedLists(tuple(queries), tuple(names.codes), *lists, joined)


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
    line = 0
    for text in watched_blocks(name, None):
        for row in text.removesuffix("\n").split("\n"):
            line += 1
            fields = [field for field in row.replace("\t", " ").split(" ") if field]
            if not fields:
                continue
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
        is_json = os.fsdecode(value).endswith(_JSON)
        with renamed(path=argument):
            return read_json_lists(value) if is_json else read_run(value)
    if isinstance(value, Mapping):
        return lists_of_mapping(argument, value)
    return value if isinstance(value, NamedLists) else None


def watched_blocks(name: str, progress: bool | Listener | None) -> Iterator[str]:
    """Yield a file in blocks of whole lines, and report how much of it has been read."""
    listener = as_listener(progress)
    start = time.monotonic()

    def watch(done: int, total: int) -> None:
        if listener is not None:
            listener(Progress(done, total, time.monotonic() - start))

    yield from text_blocks(_ARGUMENT, name, watch)


def read_blocks(
    name: str,
    progress: bool | Listener | None,
    read_rows: Callable[[str], tuple[Any, ...]],
) -> list[npt.NDArray[Any]]:
    """Read a file block by block with the core, and join the columns of all blocks."""
    blocks = [read_rows("")[1:]]  # a file without lines has columns, too
    line = 1
    for text in watched_blocks(name, progress):
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


def _json_lists(
    name: str, progress: bool | Listener | None
) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    """Yield where each list is, its query (None: it has no name), and its scores by candidate."""
    rest: list[str] = []  # of a file that is one object, or an array
    line, is_lines = 0, None
    for text in watched_blocks(name, progress):
        if is_lines is None and text.strip():
            is_lines = _is_whole(text.lstrip().partition("\n")[0])
        if not is_lines:
            rest.append(text)
            continue
        for row in text.removesuffix("\n").split("\n"):
            line += 1
            if row.strip():
                yield from _lists_of(f"line {line}", parse_json(row, f"line {line}", name), name)
    if rest and (text := "".join(rest)).strip():
        yield from _lists_of("the file", parse_json(text, "the file", name), name)


def _is_whole(row: str) -> bool:
    """Whether a first line is an object of its own, with which a file of lines begins."""
    try:
        return isinstance(json.loads(row), dict)
    except (ValueError, RecursionError):
        return False


def _lists_of(where: str, value: Any, name: str) -> Iterator[tuple[str, str | None, Any]]:
    named = isinstance(value, dict) and any(isinstance(x, dict | list) for x in value.values())
    listing = value if isinstance(value, list) or value == {} else [value]
    for query, listed in value.items() if named else ((None, each) for each in listing):
        if not isinstance(listed, dict | list):
            expected = "an object of lists, as {query: {candidate: score}} or {query: [candidates]}"
            got = type(listed).__name__ + f" for {query!r}" * (query is not None)
            raise InputValueError(_ARGUMENT, f"{where}: expected {expected}, got {got}", place=name)
        yield where, query, listed


def parse_json(text: str, where: str, name: str) -> Any:
    """Read JSON in which no object has a name twice; an error names the place."""

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _refuse_repeats([key for key, _ in pairs], where, name)
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=distinct)
    except InputValueError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputValueError(_ARGUMENT, f"{where} is not JSON ({error})", place=name) from None


def _refuse_repeats(names: Collection[str], where: str, name: str) -> None:
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise InputValueError(_ARGUMENT, f"{where} has {twice!r} twice", place=name)


def _float_scores(key: str, values: Iterable[Any], where: str, name: str) -> FloatArray:
    scores = list(values)
    wrong = next((value for value in scores if not is_number(value)), None)
    if wrong is not None:
        problem = f"{where}: expected numbers as the scores of {key!r}, got {wrong!r}"
        raise InputValueError(_ARGUMENT, problem, place=name)
    try:
        return np.array(scores, np.float64)
    except OverflowError:
        problem = f"{where} has an integer that is too large for a score"
        raise InputValueError(_ARGUMENT, problem, place=name) from None
