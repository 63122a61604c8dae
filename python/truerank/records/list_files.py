"""Files of lists and of right answers: TREC runs, qrels, and JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.input_files import path_name
from ..errors import InputTypeError, InputValueError
from ..inputs.checks import is_number
from ..naming import public
from ..tables.cells import format_count
from .column_roles import JUDGEMENTS, LISTS, Door, check_columns
from .json_lines import is_json, parse_json
from .judgements import Qrels, read_grades
from .line_forms import (
    LEAST_TIME,
    NOT_OF_TREC,
    TREC_QRELS_FORM,
    LineForm,
    LineReader,
    data_lines,
    exact_number,
    form_of_file,
    numbers_said,
)
from .named_lists import (
    ListEntries,
    NamedLists,
    first_of_equal,
    lists_of_entries,
    lists_of_rows,
    rising_ranks,
)
from .text import fields_of, read_blocks, text_lines

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.progress_listeners import Listener, Progress


@public("truerank")
def read_run(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str | int] | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
) -> NamedLists:
    """Read a run, as of TREC: lines ``qid Q0 docid rank score tag``, one for each document listed.

    The scores say how documents are ranked, and equal ones tie; the ranks in the file and the order
    of its lines say nothing, as in trec_eval (which breaks ties by the names of documents). The
    lines of a query need not follow each other. Other lines have the columns of a header, or those
    that `columns` says; without either they are read where they leave no choice:

    ========================  ==================================================================
    fields                    a run
    ========================  ==================================================================
    six                       of TREC, pyserini and ir_datasets
    query document n          n are ranks if they read 1, 2, 3, ... (or 0, 1, ...) in the order of
                              the lines of each query, as MS MARCO has them: lists in order alone;
                              they are scores if one is no whole number
    query document n n        a rank, as above, and a score that never rises within a query
                              (ColBERT), or the other way round
    those of a header         names such as query-id, corpus-id, score and rank, in any order
    ========================  ==================================================================

    Anything else is refused. ``source`` of the lists, and reports of them, name the form, and the
    columns that are left out.

    Parameters
    ----------
    path : str or path-like
        Text in UTF-8, gzipped if its name ends in .gz. Blanks and tabs stand between fields, or
        tabs alone where a header or `columns` says what they are and the first line has one; empty
        lines, and those that begin with #, are skipped.
    columns : mapping of str to (str or int), optional
        Which columns are meant: the name in the header, or the number from 0 on, of "query",
        "document" and, perhaps, "score" or "rank". Others are left out.
    progress : callable or bool, optional
        As in `rank`: True shows a bar. A callable is
        called with a `Progress`, in bytes of the file, after every block of lines.

    Returns
    -------
    NamedLists

    Raises
    ------
    ValueError
        For columns that may be read in two ways; for a line that is not of the form of the first
        one, or begins with a byte order mark although it is not the first; for a document that a
        query has twice with unlike scores or ranks; and for a score that a float64 does not hold
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
    return _lists_of_run("path", path_name("path", path), columns, progress)


@public("truerank")
def read_json_lists(
    path: str | os.PathLike[str],
    *,
    part: str | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
) -> NamedLists:
    """Read lists in JSON: ``{"q1": {"d7": 2.5, "d3": 1.5}, "q2": {...}}``.

    The file has one such object, as pytrec_eval and ranx take and save them, or lines that are each
    such an object, with one query or several. Objects ``{"d7": 2.5, "d3": 1.5}`` alone, in lines or
    in an array, are lists of queries that are numbered from "0". In place of such an object, pairs
    ``[["d7", 2.5]]`` and objects ``[{"corpus_id": "d7", "score": 2.5}]`` are lists with scores, and
    names ``["d7", "d3"]`` lists in order alone.

    Predictions that toolkits save are read, too: those of sentence-transformers (lines with
    "query_id" and "results") and of MTEB (an object with "mteb_model_meta"). ``source`` of the
    lists says which these are.

    Parameters
    ----------
    path : str or path-like
        In UTF-8, gzipped if its name ends in .gz. Lines are read one by one; a single object is
        read as a whole, into Python's dicts.
    part : str, optional
        Of MTEB's predictions, which have several: the subset and the split, as "default/test".
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
    name = path_name("path", path)
    if part is not None and not isinstance(part, str):
        raise InputTypeError("part", expected="str", got=type(part).__name__)
    return _lists_of_json("path", name, progress, part)


@public("truerank")
def read_qrels(
    path: str | os.PathLike[str], *, columns: Mapping[str, str | int] | None = None
) -> Qrels:
    """Read the judgements of a test collection, as in TREC lines ``qid iteration docid relevance``.

    Four columns are those of TREC if the second has one value in the file (0 or Q0 in a file of one
    line), or fewer values than the third while no relevance is 1,000 or more. Other lines have the
    columns of a header, in any order, such as query-id, corpus-id and score of BEIR, or user_id and
    item_id of RecBole's .inter, also with types, as ``user_id:token``; or those that `columns`
    says. Without a column of relevance all are right answers. JSON is ``{"q1": {"d3": 1}}``, as
    ranx saves it. ``source`` of the judgements says which form it was.

    Parameters
    ----------
    path : str or path-like
        Text in UTF-8, gzipped if its name ends in .gz, or JSON by its name, as `read_json_lists`
        takes it. Fields stand, and lines are skipped, as in `read_run`. Relevance is a finite
        number: 2, 0.1, -1.
    columns : mapping of str to (str or int), optional
        Which columns are meant, as in `read_run`: those of "query", "document" and, perhaps,
        "relevance".

    Returns
    -------
    Qrels

    Raises
    ------
    ValueError
        For columns that may be read in two ways, for a line that is not of the form of the first
        one, or begins with a byte order mark although it is not the first, and a document that is
        judged in two ways for a query; the error names the line.
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
    return qrels_of_file("path", path_name("path", path), columns)


def qrels_of_file(argument: str, path: str, columns: Any = None) -> Qrels:
    """Read judgements as `read_qrels` does; messages name the argument."""
    said = _check_columns(path, columns, JUDGEMENTS)
    if is_json(path):
        return _qrels_of_json(argument, path)
    form = form_of_file(argument, path, JUDGEMENTS, said)
    reader = LineReader(form)
    queries, documents, relevance = read_blocks(argument, path, None, reader.read, form.header)
    if form is TREC_QRELS_FORM and not _is_of_trec(reader.iterations(), documents, relevance):
        raise InputValueError(argument, NOT_OF_TREC, place=path)
    relevance = read_grades(f"{argument}: {path}", relevance)
    names = reader.documents()
    asked = np.array(reader.queries(), object)[queries]
    judged = np.array(names, object)[documents]
    keys = queries * np.int64(len(names)) + documents
    repeated = 0
    if not np.diff(np.sort(keys)).all():  # This test is far faster than np.unique.
        kept, unlike = first_of_equal(keys, relevance)
        if unlike is not None:
            first, second = unlike
            lines = data_lines(path, path)  # The file is read again for the message alone.
            line = next(islice(lines, second + (form.header > 0), None))[0]
            two = f"as {relevance[first]} and as {relevance[second]}"
            problem = f"{judged[second]!r} is judged twice for {asked[second]!r}, {two}"
            raise InputValueError(argument, f"line {line}: {problem}", place=path)
        repeated = len(keys) - len(kept)
        asked = asked[kept]
        judged = judged[kept]
        relevance = relevance[kept]
    source = source_of(path, form, reader.comments, repeated)
    return Qrels(
        tuple(asked.tolist()), tuple(judged.tolist()), relevance, is_text=True, source=source
    )


def _is_of_trec(
    iterations: Sequence[str], documents: npt.NDArray[Any], relevance: npt.NDArray[Any]
) -> bool:
    """Return whether four columns without names are those of TREC."""
    if len(iterations) <= 1:
        return len(documents) != 1 or set(iterations) <= {"0", "Q0"}
    is_few = len(iterations) < np.count_nonzero(np.bincount(documents))
    return bool(is_few and relevance.max() < LEAST_TIME)


def _qrels_of_json(argument: str, path: str) -> Qrels:
    """Read judgements in JSON; names without relevance are right answers."""
    judged: dict[str, Any] = {}
    for query, each in _json_lists(argument, path, None, lambda value: value):
        is_named = isinstance(each, (dict, list)) and all(isinstance(d, str) for d in each)
        if query is None or query in judged or not is_named:
            expected = "{query: {name: number}}, or {query: [name]}, each query and name once"
            got = f"{query!r}: {each!r}"
            raise InputValueError(argument, expected=expected, got=got, place=path)
        judged[query] = each
    qrels = Qrels.of(judged, f"{argument}: {path}")
    return replace(qrels, is_text=True, source=f"{path} (qrels in JSON)")


def source_of(path: str, form: LineForm, comments: int = 0, repeated: int = 0) -> str:
    """Name a file and its form, and what was left out of it.

    Examples
    --------
    >>> source_of("run.txt", LineForm("TREC run", 6), comments=2, repeated=1)
    'run.txt (TREC run; left out: 2 comments, 1 repeated line)'
    """
    left_out = list(form.left_out)
    if comments:
        left_out.append(format_count(comments, "comment"))
    if repeated:
        left_out.append(format_count(repeated, "repeated line"))
    said = form.name
    if left_out:
        said += f"; left out: {', '.join(left_out)}"
    return f"{path} ({said})"


def lists_of_file(argument: str, path: str, columns: Any = None) -> NamedLists:
    """Read a run or a JSON file, which its name tells; messages name the argument."""
    if is_json(path) and columns is None:
        return _lists_of_json(argument, path)
    return _lists_of_run(argument, path, columns)


def _check_columns(path: str, columns: Any, door: Door) -> dict[str, str | int] | None:
    """Check the option `columns`, which JSON does not have."""
    if is_json(path) and columns is not None:
        expected = f"None, as {path} is JSON, which has no columns"
        raise InputValueError("columns", expected=expected, got=repr(columns))
    return check_columns(columns, door)


def _lists_of_run(
    argument: str, path: str, columns: Any = None, progress: bool | Listener | None = None
) -> NamedLists:
    said = _check_columns(path, columns, LISTS)
    reader = LineReader(form_of_file(argument, path, LISTS, said))
    read = read_blocks(argument, path, progress, reader.read, reader.form.header)
    queries, documents, *numbers = read
    form = numbers_said(argument, path, reader.form, queries, numbers)
    entries = ListEntries(queries, documents)
    if form.role == "rank":
        entries = entries._replace(values=read_grades(argument, numbers[0]), are_ranks=True)
    elif form.numbers:
        entries = entries._replace(values=numbers[reader.form.numbers.index(*form.numbers)])
    lists, repeated = lists_of_entries(
        argument, reader.queries(), reader.documents(), entries, place=path
    )
    lists.source = source_of(path, form, reader.comments, repeated)
    if _have_ranks(path, form):
        lists._contradiction = rising_ranks(entries, np.arange(len(queries)))
    return lists


def _have_ranks(path: str, form: LineForm) -> bool:
    """Return whether ranks beside scores rise with the lines of each query, if the first ones do.

    The lines stand for the ranks then: to read all of these would take long.
    """
    if form.rank is None or form.role != "score":
        return False
    lines = islice(data_lines(path, path), form.header > 0, 1000)
    rows = [fields_of(line, form.between) for _, line in lines]
    ranks = [
        (a[form.rank], b[form.rank]) for a, b in pairwise(rows) if a[form.query] == b[form.query]
    ]
    are_rising = (a.isdecimal() and b.isdecimal() and int(a) < int(b) for a, b in ranks)
    return bool(ranks) and all(are_rising)


def _lists_of_json(
    argument: str,
    path: str,
    progress: bool | Listener | None = None,
    part: str | None = None,
) -> NamedLists:
    forms: dict[str, None] = {}
    rows = _json_lists(argument, path, progress, partial(_known_form, argument, path, part, forms))
    lists = lists_of_rows(argument, rows, path)
    if part is not None and _MTEB not in forms:
        expected = "None, as the file has no subsets and splits"
        raise InputValueError("part", expected=expected, got=repr(part))
    lists.source = f"{path} ({next(iter(forms), _JSON_LISTS)})"
    return lists


_JSON_LISTS = "lists in JSON"
_SENTENCE_TRANSFORMERS = "predictions of sentence-transformers"
_MTEB = "predictions of MTEB"


def _known_form(
    argument: str, path: str, part: str | None, forms: dict[str, None], value: Any
) -> Any:
    """Return the lists by query of what toolkits save, and note the form; else the value itself."""
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("query_id"), str) and isinstance(value.get("results"), list):
        forms[_SENTENCE_TRANSFORMERS] = None
        return {value["query_id"]: value["results"]}
    if "mteb_model_meta" in value:
        forms[_MTEB] = None
        return _mteb_part(argument, path, value, part)
    return value


def _mteb_part(argument: str, path: str, value: dict[str, Any], part: str | None) -> Any:
    """Return the lists of one subset and split of MTEB's predictions."""
    lists_of_parts = {}
    for subset, splits in value.items():
        if subset != "mteb_model_meta" and isinstance(splits, Mapping):
            for split, lists in splits.items():
                lists_of_parts[f"{subset}/{split}"] = lists
    if part is None and len(lists_of_parts) == 1:
        (lists,) = lists_of_parts.values()
        return lists
    if part not in lists_of_parts:
        expected = f"part= one of {', '.join(lists_of_parts)}"
        raise InputValueError(argument, expected=expected, got=repr(part), place=path)
    return lists_of_parts[part]


def _json_lists(
    argument: str,
    path: str,
    progress: bool | Listener | None,
    known_form: Callable[[Any], Any],
) -> Iterator[tuple[str | None, Any]]:
    """Yield the query of each list (None: it has no name), and its scores by candidate."""
    lines = text_lines(argument, path, progress)
    first = next(lines, (1, "{}"))
    texts: Iterable[tuple[int, str]] = chain([first], lines)
    try:
        # In a file of lines the first one is a whole object.
        has_lines = isinstance(json.loads(first[1]), dict)
    except (ValueError, RecursionError):
        has_lines = False
    if not has_lines:  # The whole file is one object, or an array.
        texts = [(1, "\n".join(line for _, line in texts))]
    for number, text in texts:
        value = known_form(parse_json(argument, f"{path}: line {number}", text, exact_number))
        if isinstance(value, dict) and not is_number(next(iter(value.values()), None)):
            yield from value.items()
        elif isinstance(value, list):
            for listed in value:
                if isinstance(listed, tuple):  # The object has this name twice.
                    yield listed
                else:
                    yield None, listed
        else:
            yield None, value
