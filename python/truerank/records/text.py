"""Text, plain or gzipped, read block by block; the form of its lines; rows, fields and numbers.

The core splits the rows and numbers their labels, for time and memory: `pandas.read_csv`, which can
keep "NA" as a label (`keep_default_na=False`), takes at least three times as long and twice the
memory.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import compress, islice
from math import isinf, isnan
from operator import methodcaller
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from .. import _core
from ..arrays.input_files import GZIP, describe_format, is_npy, open_input
from ..errors import InputValueError, Option
from ..inputs.progress_listeners import Progress, as_listener
from ..naming import printable
from .columns import (
    FACTS,
    FIRST_ROWS,
    JUDGEMENTS,
    LISTS,
    MAX_COLUMNS,
    NUMBERS,
    PAIRS,
    RANK_NUMBERS,
    TREC,
    Column,
    Door,
    Form,
    find_columns,
    has_each_role,
    have_few_values,
    may_be_grades,
    may_be_run,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.progress_listeners import Listener
    from .columns import ColumnsOption

    # The place of a line in its block, from 0, and what is wrong with it.
    Fault = tuple[int, str]
    ReadLines = Callable[[str, int], tuple[Fault | None, Sequence[npt.NDArray[Any]]]]

# At this size the fields of a block, which are Python strings, stay in the cache.
BLOCK_BYTES = 1 << 17
# No name is as long. What else a file may hold is not read on.
MAX_LINE_BYTES = 1 << 24
BLANKS = " \t\r\n"  # At the ends of a field they belong to no label.
_BETWEEN_FIELDS = re.compile("[ \t]+")
_CANONICAL = re.compile(r"0|-?[1-9][0-9]{0,17}")
_LIKE_AN_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")
_COMMENT = re.compile(r"^[ \t]*#.*", re.MULTILINE)
_EXACT = 1 << 53  # Every integer below it is a float64.

_LINES = {
    LISTS.kind: "query, Q0, document, rank, a number as the score, tag",
    JUDGEMENTS.kind: "query, iteration, document, a number as the relevance",
}
_FILES = {LISTS.kind: "a line of a run", JUDGEMENTS.kind: "a line of judgements"}
_MARKS = {"\t": "tabs", ";": "semicolons", ",": "commas"}
_WIDTH = "expected another number of fields"  # The core says it in the same words.
_HEADERS = (
    Option("header", True, "says that it is one"),
    Option("header", False, "says that it is a row"),
)
_JSON_BEGINS = ('{"', '["', "[{", "[[")

without_blanks: Callable[[str], str] = methodcaller("strip", BLANKS)


# -- the form of lines -----------------------------------------------------------------------------


def find_form(
    argument: str,
    path: str,
    door: Door,
    *,
    header: bool | None = None,
    columns: ColumnsOption = None,
    has_further: bool = False,
) -> Form | None:
    """Find the form of a file by its first line; None: facts or pairs without lines.

    Files that end in .csv have commas between their fields, with csv's quoting; other facts and
    pairs have tabs. Judgements and lists are those of TREC, unless a header or the user says what
    their columns are; then tabs stand between fields if the first line has one, otherwise blanks.
    `header` says whether the first line of facts or pairs names the columns.
    """
    title = f"{argument}: {path}"
    has_comments = door.kind in TREC
    blanks = " \t" if has_comments else " "  # A line of tabs has empty fields of facts.
    lines = text_lines(argument, path, blanks=blanks, has_comments=has_comments)
    first_line = next(lines, None)
    if first_line is None:
        return TREC.get(door.kind)
    number, line = first_line
    between = find_separator(path, line, may_be_blanks=has_comments)
    fields = split_fields(line, between, title, number)
    # It may be JSON, too.
    marks = [mark for mark in "\t;," if mark in fields[0] and not fields[0].startswith(("{", "["))]
    if len(fields) == 1 and marks:
        expected = "tabs between columns, in .csv commas, in judgements and lists also blanks"
        got = f"{_MARKS[marks[0]]} in {shown(fields[0])}"
        raise InputValueError(f"{title}: line {number}", expected=expected, got=got)
    if door.counted and len(fields) == 1 and is_integer_text(fields[0]):
        names = list(door.counted)
        first_row = next(lines, None)
        if first_row and len(split_fields(first_row[1], "blanks")) != len(names):
            raise _wrong_row(title, door, "blanks", *first_row)
        form = find_columns(title, names, len(names), door, columns, has_further=has_further)
        description = f"the first line is a count, as OpenKE has: of {', '.join(names)}"
        return replace(form, description=description, header=number, count=int(fields[0]))

    if door.mappings:
        has_names = any(isinstance(column, str) for column in (columns or {}).values())
        is_header = has_names or _are_names_of_columns(fields, door)
        if has_comments and not is_header and columns is None:
            return _find_trec_form(argument, path, number, line, door)
        title = f"{title}: line {number}"
    else:
        is_header = bool(header)
        if not door.fits(len(fields), is_header or columns is not None):
            refuse_json(argument, path, number, line)
            raise _wrong_row(title, door, between, number, line)
    column_names = fields if is_header else None
    form = find_columns(title, column_names, len(fields), door, columns, has_further=has_further)
    return replace(
        form,
        description=_describe(form, door),
        between=between,
        header=number if is_header else 0,
        has_comments=has_comments,
    )


def _are_names_of_columns(fields: Sequence[str], door: Door) -> bool:
    """Return whether fields of a table by query have the needed roles, and no others are numbers.

    The roles of further columns, which are numbers, are not needed: they may have any names.
    """
    other_fields = [field for field in fields if door.role_of(field) is None]
    has_number = any(parse_number(field) is not None for field in other_fields)
    needed_roles = filter(str.isalpha, door.needed_roles)
    return not has_number and set(map(door.role_of, fields)).issuperset(needed_roles)


def refuse_unsaid_headers(files: Mapping[str, str], door: Door, columns: ColumnsOption) -> None:
    """Refuse files of facts or pairs that begin with names of the columns, as nobody said so.

    `files` are paths by their argument.
    """
    named = {column for column in (columns or {}).values() if isinstance(column, str)}
    headers: dict[str, str] = {}
    others = []
    for argument, path in files.items():
        title = f"{argument}: {path}"
        first_lines = () if is_npy(path) else islice(text_lines(argument, path, blanks=" "), 1)
        for number, line in first_lines:
            between = find_separator(path, line, may_be_blanks=False)
            fields = split_fields(line, between, title, number)
            if named.issubset(fields) if named else has_each_role(fields, door):
                headers[title] = line
            else:
                others.append(title)
    for title, line in headers.items():
        raise unsaid_header(title, line, "it names the columns", others)


def unsaid_header(title: str, line: str, why: str, others: Sequence[str]) -> InputValueError:
    """Return the error for the first line of facts or pairs that may be a header.

    The option is of all files: it helps only if no `others` begin without a header.
    """
    problem = f"the first line may be a header, as {why}; it reads {shown(line)}"
    if others:
        path = others[0].partition(": ")[2]
        problem += f"; all files have a header, or none has, and {path} has none"
        return InputValueError(title, problem)
    return InputValueError(title, problem, remedies=_HEADERS)


def refuse_json(argument: str, path: str, number: int, line: str) -> None:
    """Refuse a line that is of no form if it is JSON."""
    begins = ("{", "[") if ".json" in path.lower() else _JSON_BEGINS
    if line.lstrip().startswith(begins):
        problem = f"this is JSON, which no reader of text takes; it reads {shown(line)}"
        raise InputValueError(argument, problem, place=f"{path}: line {number}")


def _describe(form: Form, door: Door) -> str:
    """Say where the columns of a file are; "" where facts or pairs have no header."""
    if not door.mappings:
        if form.names is None:
            return ""
        return f'the first line reads "{" ".join(form.names)}", a header: left out'
    kind = {LISTS.kind: "run", JUDGEMENTS.kind: "qrels"}.get(door.kind, door.kind)
    roles = [role for role in (*door.needed_roles, form.number_role) if role]
    words = ", ".join(str(form.columns[role]) for role in roles)
    return f"{kind} with {'columns' if form.names is None else 'a header:'} {words}"


def _find_trec_form(argument: str, path: str, number: int, line: str, door: Door) -> Form:
    """Return the form of TREC, or refuse a first line that is of no known form."""
    form = TREC[door.kind]
    if is_csv(path):
        form = replace(form, between="commas")
    fields = split_fields(line, form.between)
    has_width = len(fields) == form.width
    if has_width and parse_number(fields[form.places[form.number_role]]) is not None:
        return form
    place = f"{path}: line {number}"
    refuse_json(argument, path, number, line)
    expected = f"lines of TREC ({_LINES[door.kind]}), one for each document, or a header line with "
    expected += f"query, document, {form.number_role} on top; tabs or blanks stand between fields, "
    expected += "in .csv commas"
    got = shown(line)
    ways = door.ways_to_name(form.width)
    for kind, other in TREC.items():  # Named columns would take an answer's place for its grade.
        if kind != door.kind and len(fields) == other.width and fields[1] in ("0", "Q0"):
            got, ways = f"{_FILES[kind]}: {got}", []
    raise InputValueError(argument, expected=expected, got=got, place=place, remedies=ways)


# -- rows ------------------------------------------------------------------------------------------


def read_rows(
    argument: str,
    path: str,
    door: Door,
    form: Form,
    names: Mapping[int, _core.Names],
    progress: bool | Listener | None = None,
) -> tuple[dict[int, Column], dict[str, npt.NDArray[np.float64]], int]:
    """Read the columns of a file by place, its numbers by role, and how many lines are comments.

    `names` are those of the columns with a role, by place; labels of the file are added. Columns
    without a role are read to be checked.

    Lines end in LF or CRLF; empty lines are skipped, and a byte order mark is dropped. Between tabs
    there is no quoting. Blanks at the ends of a field belong to no label, and are left out; those
    within it are kept. Needed roles may not have empty fields.
    """
    title = f"{argument}: {path}"
    names_by_place = dict(names)
    for place in _find_columns_to_check(title, path, door, form):
        names_by_place[place] = _core.Names()
    number_place = form.places.get(form.number_role)
    row_form = _core.RowForm(
        form.width,
        list(names_by_place),
        door.needed,
        number_place,
        tabs=form.between != "blanks",
        tab_lines=form.between == "commas" or not form.has_comments,
    )
    tables = list(names_by_place.values())
    _, codes, numbers = _core.read_rows("", row_form, tables)
    blocks = [[*codes, numbers]]  # So a file without lines has columns, too.
    n_comments = 0
    for first_line, text in text_blocks(argument, path, progress, header=form.header):
        rows = text
        fault = _find_other_lines(text, form) if form.has_comments else None
        if fault is None:
            if form.has_comments and "#" in text:  # This is far faster than a regular expression.
                rows, count = _COMMENT.subn("", text)
                n_comments += count
            separated = _with_tabs(title, first_line, rows) if form.between == "commas" else rows
            fault, codes, numbers = _core.read_rows(separated, row_form, tables)
            blocks.append([*codes, numbers])
            if fault is not None:
                fault = fault[0], _name_roles(fault[1], door, form)
            elif number_place is not None:
                fault = first_rounded(rows, number_place, numbers, form.between)
        if fault is not None:
            line = text.split("\n")[fault[0]]
            number = first_line + fault[0]
            if not door.mappings:
                raise _wrong_row(title, door, form.between, number, line)
            problem = f"line {number}: {fault[1]}; it reads {shown(line)}"
            raise InputValueError(argument, problem, place=path)
    *codes, numbers = map(np.concatenate, zip(*blocks, strict=True))
    if form.count not in (None, len(codes[0])):
        expected = f"{form.count} rows, as the first line counts"
        raise InputValueError(title, expected=expected, got=len(codes[0]))
    columns = [Column(ids, labels, is_text=True) for ids, labels in zip(codes, tables, strict=True)]
    numbers_by_role = {form.number_role: numbers} if form.number_role else {}
    return dict(zip(names_by_place, columns, strict=True)), numbers_by_role, n_comments


def _name_roles(problem: str, door: Door, form: Form) -> str:
    """Say what is wrong with a row of queries by the roles of its fields, which the core lacks."""
    if problem == _WIDTH:
        needed = " and ".join(f"a {role}" for role in door.needed_roles)
        problem = f"expected {form.width} fields, with {needed}"
    words = problem.replace("the score", f"the {form.number_role}")
    return f"{words} ({form.description})"


def _find_columns_to_check(title: str, path: str, door: Door, form: Form) -> list[int]:
    """Return the columns of queries that are read although they give neither names nor numbers.

    They are the ranks beside scores, and columns without a role: if the form has no numbers, those
    whose first row has a number or a bool, and of judgements those of values that `may_be_grades`;
    of lists also those that `have_few_values`, but for TREC's Q0, which is the same in all runs,
    and TREC's tag.
    """
    places = [form.places["rank"]] if {"score", "rank"} <= form.places.keys() else []
    if not door.mappings or len(form.places) == form.width:
        return places
    lines = text_lines(title, path, has_comments=form.has_comments)
    first_lines = islice(lines, 1 if form.header else 0, FIRST_ROWS)
    rows = [split_fields(line, form.between, title, number) for number, line in first_lines]
    lacks_numbers = form.left_out and not form.number_role
    of_runs: tuple[int, ...] = ()
    if door.kind == LISTS.kind and may_be_run(form):
        # The tag tells systems apart; where some columns were named, that of Q0 tells runs.
        has_all = form.places == TREC[LISTS.kind].places
        of_runs = (form.width - 1,) if has_all else (1, form.width - 1)
    for place, fields in enumerate(zip(*rows, strict=False)):
        if place in form.places.values():
            continue
        may_be_numbers = lacks_numbers and parse_number(fields[0]) is not None
        may_be_words = lacks_numbers and not door.is_of_lists and may_be_grades(fields)
        may_name_lists = door.is_of_lists and fields[0] != "Q0" and have_few_values(fields)
        if may_be_numbers or may_be_words or may_name_lists or place in of_runs:
            places.append(place)
    return places


def _find_other_lines(text: str, form: Form) -> Fault | None:
    """Return the first line that begins with a byte order mark, or is a comment like a row.

    A mark at the beginning of another line than the first, where files were joined, would make
    another name of the first field. A comment may be a row whose first name begins with #, unless a
    blank stands behind the #.
    """
    lines_before, mark, _ = f"\n{text}".partition("\n\ufeff")
    if mark:
        return lines_before.count("\n"), "it begins with a byte order mark: leave it out"
    number_places = [form.places[role] for role in NUMBERS if role in form.places]
    for comment in _COMMENT.finditer(text) if "#" in text else ():
        line = comment[0].lstrip(" \t")
        if line[1:2] in ("", " ", "\t"):
            continue
        # In a comment quotes need not be closed.
        fields = line.split(",") if form.between == "commas" else split_fields(line, form.between)
        has_width = len(fields) == form.width
        if has_width and all(parse_number(fields[place]) is not None for place in number_places):
            problem = "it has the fields of a row, and begins with # like a comment"
            return text.count("\n", 0, comment.start()), problem
    return None


def _with_tabs(title: str, first: int, text: str) -> str:
    """Return lines of csv, of which the first has this number, with tabs between their fields."""
    if '"' not in text and "\t" not in text:
        return text.replace(",", "\t")
    lines = []
    for number, line in enumerate(text.split("\n"), first):
        fields = split_fields(line, "commas", title, number)
        if "\t" in "".join(fields):
            expected = "fields without tabs"
            raise InputValueError(title, expected=expected, got=repr(line), place=f"line {number}")
        lines.append("\t".join(fields))
    return "\n".join(lines)


def _wrong_row(title: str, door: Door, between: str, number: int, line: str) -> InputValueError:
    """Return the error for a line with empty fields, or with another number of them."""
    columns = f"{door.expected}, as many in all lines"
    if between == "blanks":  # Of facts and pairs only what begins with a count has them.
        columns = f"3 columns ({', '.join(door.counted)}) below a line that counts rows"
    where = "tabs (in .csv commas)" if between == "tabs" else between
    expected = f"{columns}, with {where} between them and none empty"
    return InputValueError(title, expected=expected, got=repr(line), place=f"line {number}")


# -- fields ----------------------------------------------------------------------------------------


def split_fields(line: str, between: str, title: str = "", number: int = 0) -> list[str]:
    """Return the fields of a line between "commas", "tabs" alone or "blanks" (and tabs).

    Blanks at the ends of a field are left out, and blanks have no empty ones between. With commas,
    which have csv's quoting, open quotes are refused, with the title and number of the line.

    Examples
    --------
    >>> split_fields(" q1 0\\td3  1", "blanks"), split_fields("new york \\t\\td3", "tabs")
    (['q1', '0', 'd3', '1'], ['new york', '', 'd3'])
    """
    if between == "blanks":
        return [field for field in _BETWEEN_FIELDS.split(line) if field]
    if between == "tabs":
        return list(map(without_blanks, line.split("\t", MAX_COLUMNS)))
    import csv

    try:
        fields = next(csv.reader([line], strict=True, skipinitialspace=True)) or [""]
    except csv.Error as error:
        expected = "csv with quotes that are closed in their line, and doubled inside"
        got = f"{line!r} ({error})"
        raise InputValueError(title, expected=expected, got=got, place=f"line {number}") from None
    return list(map(without_blanks, fields[: MAX_COLUMNS + 1]))


def read_fields(argument: str, path: str, between: str = "") -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each line of text, and its fields; by default tabs are between them.

    In .csv these are commas.
    """
    for number, line in text_lines(argument, path):
        separator = between or find_separator(path, line, may_be_blanks=False)
        yield number, split_fields(line, separator, f"{argument}: {path}", number)


def find_kind(argument: str, path: str) -> str:
    """Return of what kind the rows of a file are, by its first line; "": nobody knows."""
    _, fields = next(read_fields(argument, path), (0, ["0"]))
    if len(fields) == 1 and is_integer_text(fields[0]):  # It may count rows, or be one.
        return ""
    for door in (LISTS, JUDGEMENTS, FACTS, PAIRS):
        if not door.is_of_lists and {field.strip('"') for field in fields} & set(RANK_NUMBERS):
            return "ranks"
        with suppress(InputValueError):
            if find_form(argument, path, door) is not None:
                return door.kind
    return ""


def is_csv(path: str) -> bool:
    """Return whether a file has commas between its fields, as its name says."""
    return path.lower().removesuffix(".gz").endswith(".csv")


def find_separator(path: str, line: str, *, may_be_blanks: bool = True) -> str:
    """Return what stands between the fields of a file, of which this is a line."""
    if is_csv(path):
        return "commas"
    return "blanks" if may_be_blanks and "\t" not in line else "tabs"


def is_id(label: str) -> bool:
    """Return whether this is written like an id: digits without a sign or leading zeros."""
    return label.isascii() and label.isdecimal() and (label[0] != "0" or label == "0")


def is_integer_text(text: str) -> bool:
    """Return whether this is an integer of at most 18 digits, written as Python writes it."""
    return _CANONICAL.fullmatch(text) is not None


def first_like_an_integer(labels: Sequence[str]) -> str | None:
    """Return the first label that is written like an integer, perhaps with zeros in front."""
    return next(filter(_LIKE_AN_INTEGER.fullmatch, labels), None)


def exact_number(text: str) -> float | str:
    """Return a number in text as a float; the text, if a float64 does not hold it.

    A float64 rounds nearly every decimal, such as 0.1, and that is no error. It does not hold a
    number that it makes infinite or 0, nor one from 2**53 on that it changes, if its digits go down
    to the units. The last digit of 1.2345678901234567e+19 stands for a thousand: floats of that
    size are written so, and it is rounded as 0.1 is.

    >>> exact_number("0.1"), exact_number("9007199254740993.0"), exact_number("1e-400")
    (0.1, '9007199254740993.0', '1e-400')
    """
    value = float(text)
    if 0 < abs(value) < _EXACT or isnan(value):  # Nearly all values end here.
        return value
    if value == 0:
        is_held = not text.lower().partition("e")[0].strip("+-.0")
    elif isinf(value):
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

    The field `column` of the lines, some of which may be empty, was read as `numbers`.
    """
    may_be_rounded = np.abs(numbers) >= _EXACT
    # A number that becomes 0 has so small an exponent, or so many zeros.
    if not numbers.all() and any(mark in text for mark in ("e-", "E-", "0" * 300)):
        may_be_rounded |= numbers == 0
    if not may_be_rounded.any():
        return None
    lines = text.split("\n")
    filled = [i for i, line in enumerate(lines) if line.strip(" \t")]
    for i in np.array(filled)[may_be_rounded].tolist():
        number = exact_number(split_fields(lines[i], between)[column])
        if isinstance(number, str):
            return i, f"expected a score that a float64 holds, got {number}"
    return None


def parse_number(text: str) -> float | None:
    """Return a number, as the core reads them, or a bool; None: it is neither."""
    words = {"false": False, "true": True}
    if "_" in text or not text.isascii() or text.lower() in words:
        return words.get(text.lower())
    try:
        return float(text)
    except ValueError:
        return None


def column_numbers(column: Column) -> npt.NDArray[np.float64]:
    """Return the elements of a column as numbers, as `parse_number` reads them; else they are NaN.

    >>> column_numbers(Column(np.array([1, 0, 1]), ("x", "7")))
    array([ 7., nan,  7.])
    """
    labels = [parse_number(str(label)) for label in column.listed]
    return np.array(labels, np.float64).take(column.ids)


# -- lines -----------------------------------------------------------------------------------------


def text_lines(
    argument: str, path: str, *, blanks: str = " \t", has_comments: bool = False
) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a file that have more than blanks, as `text_blocks` reads them.

    Lines that begin with # are left out where a file may have comments.
    """
    for first, text in text_blocks(argument, path):
        rows = text.removesuffix("\n").split("\n")
        # This way an empty line costs next to nothing.
        for number, line in compress(enumerate(rows, first), rows):
            bare = line.strip(blanks)
            if bare and not (has_comments and bare.startswith("#")):
                yield number, line


def find_line_number(path: str, row: int) -> int:
    """Return the number of the line, from 1, of a row of a file's columns.

    It reads the file again: only messages need it, and readers do not count lines.
    """
    return next(islice(text_lines(path, path, blanks=" "), row, None))[0]


def shown(line: str) -> str:
    """Return a line as messages show it."""
    return repr(f"{line[:200]}..." if len(line) > 200 else line)


def text_blocks(
    name: str, path: str, progress: bool | Listener | None = None, *, header: int = 0
) -> Iterator[tuple[int, str]]:
    """Yield blocks of whole lines of a file, each with the number of its first line.

    It is a regular file in UTF-8, perhaps gzipped, as its first bytes say. Lines end in LF or CRLF,
    and in LF alone as they are yielded; a byte order mark at the beginning of the file is left out,
    and the line whose number is `header` is yielded as an empty one. A CR within a line is refused,
    and so is one of more than `MAX_LINE_BYTES`.
    """
    import gzip
    import zlib

    listener = as_listener(progress)
    start = time.monotonic()
    title = f"{name}: {path}"
    line = 1
    with open_input(name, path) as plain_file:
        size = os.fstat(plain_file.fileno()).st_size
        if path.lower().endswith(".gz") and size < len(GZIP):
            raise OSError(printable(f"{title}: damaged gzip file (it has {size} bytes)"))
        file: Any = plain_file
        if file.peek(len(GZIP)).startswith(GZIP):
            file = gzip.GzipFile(fileobj=file)
        while True:
            try:
                block = file.read(BLOCK_BYTES)
                if not block.endswith(b"\n"):  # No more is read of a line that is too long.
                    block += file.readline(MAX_LINE_BYTES + 1)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise OSError(printable(f"{title}: damaged gzip file ({error})")) from None
            if not block:
                return
            if listener is not None:
                listener(Progress(plain_file.tell(), size, time.monotonic() - start))
            text = _decode(title, block, line)
            if line == 1:
                text = text.removeprefix("\ufeff")
            following = line + int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n")))
            if line <= header <= following:
                lines = text.split("\n")
                lines[header - line] = ""
                text = "\n".join(lines)
            yield line, text
            line = following


def _decode(title: str, block: bytes, first_line: int) -> str:
    """Return the text of whole lines with LF at their ends; it is refused if it is no such text.

    The first of the lines has this number.
    """
    whole = block.removesuffix(b"\n")
    # Only the last line can be too long: a block is short but for its end.
    start_of_last_line = whole.rfind(b"\n") + 1
    if len(whole) - start_of_last_line > MAX_LINE_BYTES:
        number = first_line + whole.count(b"\n")
        problem = f"line {number} has more than {MAX_LINE_BYTES:,} bytes"
        raise InputValueError(title, problem)
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        known_format = describe_format(block) if first_line == 1 else ""
        if known_format:
            raise InputValueError(title, expected="text", got=known_format) from None
        number = first_line + block.count(b"\n", 0, error.start)
        raise InputValueError(title, f"line {number} is not in UTF-8 ({error})") from None
    if "\r" in text:
        text = text.replace("\r\n", "\n").removesuffix("\r")
        if "\r" in text:
            number = first_line + text.partition("\r")[0].count("\n")
            raise InputValueError(title, f"line {number} has a carriage return in a field")
    return text


def is_path(value: object) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether this is the path of a file."""
    return isinstance(value, (str, os.PathLike))
