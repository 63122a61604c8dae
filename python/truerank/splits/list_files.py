"""Files of lists and of right answers: TREC runs, qrels, and JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..inputs.checks import is_number
from ..inputs.errors import InputValueError
from ..inputs.input_files import path_name
from ..inputs.naming import public
from ..inputs.scores import exact_number, first_rounded
from .judgements import Qrels
from .named_lists import NamedLists, lists_of_rows, refuse_repeats
from .text import line_of, text_blocks, text_lines

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.progress_listeners import Listener, Progress

_MARK = "\ufeff"  # the byte order mark


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
        For a line that is not of this form, or begins with a byte order mark although it is not the
        first; for a document that a query has twice; and for a score that a float64 does not hold
        (see Notes). The error names the line, or the query.
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
    return _lists_of_run("path", path_name("path", path), progress)


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
        For anything but such objects, for a query or a candidate that occurs twice, and for scores
        that `read_run` refuses; the error names the line of what is no JSON, or the query.
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
    return _lists_of_json("path", path_name("path", path), progress)


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
        For a line that is not of this form, or begins with a byte order mark although it is not the
        first, and a document that is judged twice for a query; the error names the line.
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
    return qrels_of_file("path", path_name("path", path))


def qrels_of_file(argument: str, path: str) -> Qrels:
    """Read judgements as `read_qrels` does; messages name the argument."""
    reader = _core.ListReader()
    queries, documents, relevance = read_blocks(argument, path, None, reader.judged_rows)
    names = reader.names()
    asked = np.array(reader.groups(), object)[queries]
    judged = np.array(names, object)[documents]
    keys = queries * np.int64(len(names)) + documents
    if not np.diff(np.sort(keys)).all():  # np.unique is far slower
        first_rows = np.unique(keys, return_index=True)[1]
        row = np.setdiff1d(np.arange(len(keys)), first_rows)[0]
        problem = f"line {line_of(path, row)}: {judged[row]!r} is judged twice for {asked[row]!r}"
        raise InputValueError(argument, problem, place=path)
    return Qrels(tuple(asked.tolist()), tuple(judged.tolist()), relevance, is_text=True)


def lists_of_file(argument: str, path: str) -> NamedLists:
    """Read a run or a JSON file, which its name tells; messages name the argument."""
    if is_json(path):
        return _lists_of_json(argument, path)
    return _lists_of_run(argument, path)


def is_json(path: str) -> bool:
    """Return whether a file has JSON, by its name."""
    return path.endswith((".json", ".jsonl", ".json.gz", ".jsonl.gz"))


def _lists_of_run(argument: str, path: str, progress: bool | Listener | None = None) -> NamedLists:
    reader = _core.ListReader()

    def read_rows(text: str) -> tuple[Any, ...]:
        fault, queries, documents, scores = reader.run_rows(text)
        if fault is None:
            fault = first_rounded(text, 4, scores)
        return fault, queries, documents, scores

    queries, documents, scores = read_blocks(argument, path, progress, read_rows)
    if (queries[1:] < queries[:-1]).any():  # the lines of a query need not follow each other
        order = np.argsort(queries, kind="stable")
        queries = queries[order]
        documents = documents[order]
        scores = scores[order]
    groups = reader.groups()
    names = reader.names()
    indptr = np.searchsorted(queries, np.arange(len(groups) + 1)).astype(np.int64)
    refuse_repeats(argument, groups.__getitem__, names, indptr, documents, path)
    return NamedLists(groups, names, indptr, documents, scores, is_text=True)


def read_blocks(
    argument: str,
    path: str,
    progress: bool | Listener | None,
    read_rows: Callable[[str], tuple[Any, ...]],
) -> list[npt.NDArray[Any]]:
    """Read a file block by block with the core, and join the columns of all blocks.

    `read_rows` returns the fault of a block (one of its lines, and what is wrong; or None), and
    then its columns.

    A byte order mark at the beginning of the file belongs to no name, and `text_blocks` drops it.
    At the beginning of another line, where files were joined, it would make another name of the
    first field, so it is refused there.
    """
    blocks = [read_rows("")[1:]]  # a file without lines has columns, too
    for number, text in enumerate(text_blocks(argument, path, progress)):
        fault = _fault_of_marks(text)
        if fault is None:
            fault, *columns = read_rows(text)
            blocks.append(tuple(columns))
        if fault is not None:  # lines are counted for messages alone
            earlier = islice(text_blocks(argument, path), number)
            line = 1 + sum(block.count("\n") for block in earlier) + fault[0]
            raise InputValueError(argument, f"line {line}: {fault[1]}", place=path)
    return [np.concatenate(column) for column in zip(*blocks, strict=True)]


def _fault_of_marks(text: str) -> tuple[int, str] | None:
    """Return the first line that begins with a byte order mark, and what is wrong; or None."""
    if _MARK not in text:
        return None
    earlier, mark, _ = f"\n{text}".partition(f"\n{_MARK}")
    if not mark:
        return None
    problem = "it begins with a byte order mark, as where files were joined: leave the mark out"
    return earlier.count("\n"), problem


def json_lines(argument: str, path: str) -> Iterator[tuple[int, Any]]:
    """Yield the number of each line of a file that is not empty, and its JSON."""
    for number, line in text_lines(argument, path):
        yield number, _parse_json(argument, f"{path}: line {number}", line)


def _lists_of_json(argument: str, path: str, progress: bool | Listener | None = None) -> NamedLists:
    return lists_of_rows(argument, _json_lists(argument, path, progress), path, np.float64)


def _json_lists(
    argument: str, path: str, progress: bool | Listener | None
) -> Iterator[tuple[str | None, Any]]:
    """Yield the query of each list (None: it has no name), and its scores by candidate."""
    lines = text_lines(argument, path, progress)
    first = next(lines, (1, "{}"))
    texts: Iterable[tuple[int, str]] = chain([first], lines)
    try:
        has_lines = isinstance(json.loads(first[1]), dict)  # one object, with which others follow
    except (ValueError, RecursionError):
        has_lines = False
    if not has_lines:  # a file that is one object, or an array
        texts = [(1, "\n".join(line for _, line in texts))]
    for number, text in texts:
        value = _parse_json(argument, f"{path}: line {number}", text, exact_number)
        if isinstance(value, dict) and not is_number(next(iter(value.values()), None)):
            yield from value.items()
        elif isinstance(value, list):
            for listed in value:
                if isinstance(listed, tuple):  # of an object that has a name twice
                    yield listed
                else:
                    yield None, listed
        else:
            yield None, value


def _distinct(pairs: list[tuple[str, Any]]) -> Any:
    """Return an object, or the pairs of one that has a name twice, which nobody takes."""
    value = dict(pairs)
    if len(value) < len(pairs):
        return pairs
    return value


def _parse_json(argument: str, place: str, text: str, read: Any = None) -> Any:
    """Read JSON, its numbers by a function of their text; an error names the place."""
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_int=read, parse_float=read)
    except (ValueError, RecursionError) as error:
        raise InputValueError(argument, f"no JSON ({error})", place=place) from None
