"""Files of lists and of right answers: runs and qrels of TREC, and tables with a header.

Other text is read by `columns=` alone, which says what its fields are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from math import isinf, isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..arrays.input_files import is_npy, path_name
from ..errors import InputTypeError, InputValueError
from ..naming import format_count, public
from .columns import JUDGEMENTS, LISTS, Door, check_columns, find_roles, name_of_column
from .id_tables import IdTable
from .lists import (
    LIST_FORMS,
    QREL_FORMS,
    Judgements,
    NamedLists,
    first_of_equal,
    lists_of_entries,
    read_grades,
    read_named_lists,
    rising_ranks,
)
from .text import LineForm, fields_of, is_path, read_blocks, shown, text_lines

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.progress_listeners import Listener, Progress
    from .text import Fault

_FORMS = {
    LISTS.kind: "lines of TREC (query, Q0, document, rank, a number as the score, tag), or a "
    "header of names as query, document and score",
    JUDGEMENTS.kind: "lines of TREC (query, iteration, document, a number as the relevance), or a "
    "header of names as query, document and relevance",
}
_SAYS = (
    'or columns={"query": 0, "document": ...}, which says what they are; tabs or blanks stand '
    "between fields"
)
_JSON = "this is JSON, which json.load reads: hand over the mapping"
_JSON_BEGINS = ('{"', '["', "[{", "[[")
_COMMENT = re.compile(r"^[ \t]*#.*", re.MULTILINE)
_WIDTH = "expected another number of fields"  # The core says it in the same words.
_NO_NUMBER = "expected a number as the score"
NOT_OF_TREC = (
    "four columns are those of TREC (query, iteration, document, relevance) where the second has"
    " one value, or fewer than the third: columns="
    '{"query": 0, "document": 2, "relevance": 3} or columns='
    '{"query": 0, "document": 1, "relevance": 2}'
    " says what these are"
)
LEAST_TIME = 1000  # No grade of a test collection is as large, and any year or time is.
_EXACT = 1 << 53  # Every integer below it is a float64.


TREC_RUN_FORM = LineForm(
    6, name="TREC run", places={"query": 0, "document": 2, "score": 4, "rank": 3}
)
TREC_QRELS_FORM = LineForm(4, name="TREC qrels", places={"query": 0, "document": 2, "relevance": 3})


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
    lines of a query need not follow each other. Other files begin with a header, which names the
    columns query (query-id, user), document (corpus-id, item) and, perhaps, score or rank, in any
    order: a rank without a score makes lists in order alone, and so does the order of the lines
    where neither is there. Or `columns` says which are meant.

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
    mapping of str to dict
        ``{query: {document: score}}``, as `Task.evaluate_lists` and `write_run` take it; documents
        are read as text, of no type.

    Raises
    ------
    ValueError
        For a line that is not of the form of the first one, or begins with a byte order mark
        although it is not the first; for a document that a query has twice with unlike scores or
        ranks; and for a score that a float64 does not hold (see Notes). The error names the line,
        or the query.
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
    >>> run["q1"]
    {'d7': 2.5, 'd3': 1.5}
    """
    return lists_of_file("path", path_name("path", path), columns, progress)


@public("truerank")
def read_qrels(
    path: str | os.PathLike[str], *, columns: Mapping[str, str | int] | None = None
) -> Judgements:
    """Read the judgements of a test collection, as in TREC lines ``qid iteration docid relevance``.

    Four columns are those of TREC if the second has one value in the file (0 or Q0 in a file of one
    line), or fewer values than the third while no relevance is 1,000 or more. Other files begin
    with a header, which names the columns query (query-id, user), document (corpus-id, item) and,
    perhaps, relevance (score), in any order; or `columns` says which are meant. Without a column of
    relevance all are right answers. ``source`` of the judgements says which form it was.

    Parameters
    ----------
    path : str or path-like
        Text in UTF-8, gzipped if its name ends in .gz. Fields stand, and lines are skipped, as in
        `read_run`. Relevance is a finite number: 2, 0.1, -1.
    columns : mapping of str to (str or int), optional
        Which columns are meant, as in `read_run`: those of "query", "document" and, perhaps,
        "relevance".

    Returns
    -------
    judgements
        As `retrieval.Task` takes them: columns `queries`, `documents` and `relevance`, of text that
        has no type.

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
    ...     read_qrels(file).relevance
    array([1, 0, 2])
    """
    return qrels_of_file("path", path_name("path", path), columns)


def qrels_of_file(argument: str, path: str, columns: Any = None) -> Judgements:
    """Read judgements as `read_qrels` does; messages name the argument."""
    form = find_list_form(argument, path, JUDGEMENTS, columns)
    names, columns, comments = _read_lines(argument, path, form)
    queries, documents = columns[:2]
    relevance = columns[-1] if form.role else np.ones(len(queries))
    if form is TREC_QRELS_FORM and not _is_of_trec(names[2].listed(), documents, relevance):
        raise InputValueError(argument, NOT_OF_TREC, place=path)
    title = f"{argument}: {path}"
    judged = Judgements(
        {"query": queries, "document": documents},
        {"relevance": read_grades(title, relevance)},
        title,
        names={"query": names[0], "document": names[1]},
        kind="text",
    )
    keys = queries * np.int64(len(names[1])) + documents
    repeated = 0
    if not np.diff(np.sort(keys)).all():  # This test is far faster than np.unique.
        first_rows, unlike = first_of_equal(keys, judged.values["relevance"])
        if unlike is not None:
            raise _judged_twice(argument, path, judged, unlike, form)
        repeated = len(keys) - len(first_rows)
        judged = judged.select(first_rows)
    source = source_of(path, form, comments, repeated)
    asked = IdTable({"query": judged.ids["query"]}, title=title, names=judged.names, kind="text")
    return replace(judged, source=source, asked=asked)


def _judged_twice(
    argument: str, path: str, judged: Judgements, rows: tuple[int, int], form: LineForm
) -> InputValueError:
    """Return the error for two grades of a document; the file is read again for it alone."""
    first, second = rows
    lines = data_lines(path, path)
    number, _ = next(islice(lines, second + (form.header > 0), None))
    grades = judged.values["relevance"]
    document = judged.entry("document", second)
    query = judged.entry("query", second)
    two = f"as {grades[first]} and as {grades[second]}"
    problem = f"line {number}: {document!r} is judged twice for {query!r}, {two}"
    return InputValueError(argument, problem, place=path)


def _is_of_trec(
    iterations: Sequence[str], documents: npt.NDArray[Any], relevance: npt.NDArray[Any]
) -> bool:
    """Return whether four columns without names are those of TREC."""
    if len(iterations) <= 1:
        return len(documents) != 1 or set(iterations) <= {"0", "Q0"}
    is_few = len(iterations) < np.count_nonzero(np.bincount(documents))
    return bool(is_few and relevance.max() < LEAST_TIME)


def source_of(path: str, form: LineForm, comments: int = 0, repeated: int = 0) -> str:
    """Name a file and its form, and what was left out of it.

    Examples
    --------
    >>> source_of("run.txt", LineForm(6, name="TREC run"), comments=2, repeated=1)
    'run.txt (TREC run; left out: 2 comments, 1 repeated line)'
    """
    left_out = list(form.left_out)
    if comments:
        left_out.append(format_count(comments, "comment"))
    if repeated:
        left_out.append(format_count(repeated, "repeated line"))
    description = form.name
    if left_out:
        description += f"; left out: {', '.join(left_out)}"
    return f"{path} ({description})"


def read_lists(argument: str, value: Any, columns: Any = None) -> NamedLists:
    """Read lists of any form that has names, in a file or in Python."""
    if is_path(value):
        return lists_of_file(argument, os.fsdecode(value), columns)
    return read_named_lists(argument, value, columns)


def lists_of_file(
    argument: str, path: str, columns: Any = None, progress: bool | Listener | None = None
) -> NamedLists:
    """Read a run as `read_run` does; messages name the argument."""
    form = find_list_form(argument, path, LISTS, columns)
    names, columns, comments = _read_lines(argument, path, form, progress)
    queries, documents, numbers = columns
    entries = IdTable({"query": queries, "document": documents})
    if form.role == "rank":
        entries.values["rank"] = read_grades(argument, numbers)
    elif form.role:
        entries.values["score"] = numbers
    lists, repeated = lists_of_entries(
        argument, names[0].listed(), names[1].listed(), entries, place=path
    )
    lists.source = source_of(path, form, comments, repeated)
    if _have_ranks(path, form):
        lists.contradiction = rising_ranks(entries, np.arange(len(queries)))
    return lists


def _have_ranks(path: str, form: LineForm) -> bool:
    """Return whether ranks beside scores rise with the lines of each query, if the first ones do.

    The lines stand for the ranks then: to read all of these would take long.
    """
    rank = form.places.get("rank")
    if rank is None or form.role != "score":
        return False
    query = form.places["query"]
    lines = islice(data_lines(path, path), form.header > 0, 1000)
    rows = [fields_of(line, form.between) for _, line in lines]
    ranks = [(a[rank], b[rank]) for a, b in pairwise(rows) if a[query] == b[query]]
    # Python makes no int of thousands of digits.
    are_integers = all(rank.isdecimal() and len(rank) < 20 for pair in ranks for rank in pair)
    return bool(ranks) and are_integers and all(int(a) < int(b) for a, b in ranks)


def is_comment(line: str) -> bool:
    """Return whether a line is a comment."""
    return line.lstrip(" \t").startswith("#")


def data_lines(argument: str, path: str) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a file that are neither blank nor a comment."""
    for number, line in text_lines(argument, path):
        if not is_comment(line):
            yield number, line


def find_list_form(argument: str, path: str, door: Door, columns: Any = None) -> LineForm:
    """Return the form of a file, by its first line that is no comment.

    Parameters
    ----------
    argument, path : str
    door : Door
        `JUDGEMENTS` or `LISTS`.
    columns : mapping of str to (str or int), optional
        As `check_columns` takes it.

    Raises
    ------
    InputTypeError
        For the file of an array.
    InputValueError
        For a line of any other form; it says which line, and what would be right.
    """
    columns = check_columns(columns, door)
    of_trec = TREC_QRELS_FORM
    forms = QREL_FORMS
    if door is LISTS:
        of_trec = TREC_RUN_FORM
        forms = LIST_FORMS
    if is_npy(path):
        raise InputTypeError(argument, expected=forms, got=f"the array in {path}")
    number, line = next(data_lines(argument, path), (0, ""))
    if not number:
        return of_trec  # The file has no lines.
    place = f"{path}: line {number}"
    form = _form_of_columns(f"{argument}: {place}", number, line, door, columns)
    if form is not None:
        return form
    fields = fields_of(line, "blanks")
    if len(fields) == of_trec.width and _is_number(fields[of_trec.places[of_trec.role]]):
        return of_trec
    if line.lstrip().startswith(_JSON_BEGINS):
        raise InputValueError(argument, f"{_JSON}; it reads {shown(line)}", place=place)
    expected = f"{_FORMS[door.kind]}, {_SAYS}"
    raise InputValueError(argument, expected=expected, got=shown(line), place=place)


def _form_of_columns(
    title: str, number: int, line: str, door: Door, columns: Mapping[str, str | int] | None
) -> LineForm | None:
    """Return the form that a header or the user says; None: neither does."""
    between = "tabs" if "\t" in line else "blanks"
    fields = fields_of(line, between)
    known = set(map(door.role_of, fields))
    has_names = known.issuperset(door.needed_roles) and not any(map(_is_number, fields))
    has_names |= any(isinstance(column, str) for column in (columns or {}).values())
    if not has_names and columns is None:
        return None
    names = fields if has_names else None
    places, others = find_roles(title, names, len(fields), door, columns)
    form = LineForm(
        len(fields),
        between,
        header=number if has_names else 0,
        names=names,
        places=places,
        left_out=tuple(name_of_column(names, j) for j in others),
    )
    used = [places[role] for role in ("query", "document", form.role) if role]
    if names is None:
        name = f"columns {', '.join(map(str, used))}"
    else:
        name = f"a header: {', '.join(names[place] for place in used)}"
    kind = {LISTS.kind: "run", JUDGEMENTS.kind: "qrels"}[door.kind]
    return replace(form, name=f"{kind} with {name}")


def exact_number(text: str) -> float | str:
    """Return a number in text as a float; the text, if a float64 does not hold it.

    A float64 rounds nearly every decimal, such as 0.1, and that is no error. It does not hold a
    number that it makes infinite, nor one from 2**53 on that it changes, if its digits go down to
    the units. The last digit of 1.2345678901234567e+19 stands for a thousand: floats of that size
    are written so, and it is rounded as 0.1 is.

    Examples
    --------
    >>> exact_number("0.1"), exact_number("-inf"), exact_number("9007199254740992")
    (0.1, -inf, 9007199254740992.0)
    >>> exact_number("1e400"), exact_number("9007199254740993.0")
    ('1e400', '9007199254740993.0')
    """
    value = float(text)
    if abs(value) < _EXACT or isnan(value):  # Nearly all values end here.
        return value
    if isinf(value):
        is_held = "inf" in text.lower()
    else:
        from decimal import Decimal

        number = Decimal(text)
        reaches_units = int(number.as_tuple().exponent) <= 0
        is_held = number == value or not reaches_units
    return value if is_held else text


def first_rounded(
    text: str, column: int, numbers: npt.NDArray[np.float64], between: str = "blanks"
) -> tuple[int, str] | None:
    """Return the first line whose number `exact_number` refuses, and what is wrong; or None.

    Parameters
    ----------
    text : str
        Lines of fields between blanks and tabs, some lines perhaps without any.
    column : int
        The field that is a number.
    numbers : ndarray of float64
        These fields, as they were read.
    between : {"blanks", "tabs"}
        What separates fields, as `fields_of` takes it.

    Examples
    --------
    >>> first_rounded("a 1 x\\nb 9007199254740993 x", 1, np.array([1, 9007199254740992.0]))
    (1, 'expected a score that a float64 holds, got 9007199254740993')
    """
    is_large = np.abs(numbers) >= _EXACT
    if not is_large.any():
        return None
    lines = text.split("\n")
    filled = [i for i, line in enumerate(lines) if line.strip(" \t")]
    for i in np.array(filled)[is_large].tolist():
        number = exact_number(fields_of(lines[i], between)[column])
        if isinstance(number, str):
            return i, f"expected a score that a float64 holds, got {number}"
    return None


def _read_lines(
    argument: str, path: str, form: LineForm, progress: bool | Listener | None = None
) -> tuple[list[_core.Names], list[npt.NDArray[Any]], int]:
    """Read the lines of a file.

    Returns
    -------
    list of Names
        Of queries and of documents, and what stands in the second field of judgements of TREC.
    list of ndarray
        The number of each line's name in each of these; and the numbers of lines, if they have any.
    int
        How many lines were comments.
    """
    fields = [form.places["query"], form.places["document"]]
    number = form.places.get(form.role)
    if form is TREC_QRELS_FORM:
        fields.append(1)
    names = [_core.Names() for _ in fields]
    tabs = form.between == "tabs"
    rows = _core.RowForm(form.width, fields, len(fields), number, tabs=tabs)
    comments = 0

    def read_lines(text: str) -> tuple[Fault | None, list[npt.NDArray[Any]]]:
        nonlocal comments
        if "#" in text:  # This test is far faster than a regular expression.
            text, count = _COMMENT.subn("", text)
            comments += count
        fault, codes, numbers = _core.read_rows(text, rows, names)
        if fault is not None:
            line, problem = fault
            fault = line, f"{_in_words(form).get(problem, problem)} ({form.name})"
        elif number is not None:
            fault = first_rounded(text, number, numbers, form.between)
        return fault, [*codes, numbers]

    return names, read_blocks(argument, path, progress, read_lines, form.header), comments


def _in_words(form: LineForm) -> dict[str, str]:
    """Return what the core says of a wrong line in the words of a form."""
    return {
        _WIDTH: f"expected {form.width} fields, with a query and a document",
        _NO_NUMBER: f"expected a number as the {form.role}",
    }


def _is_number(text: str) -> bool:
    """Return whether a text is a number, as the core reads them."""
    if "_" in text or not text.isascii():
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True
