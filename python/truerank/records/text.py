"""Text, plain or gzipped, read block by block; the form of its lines; and rows of facts."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, islice
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from .. import _core
from ..arrays.input_files import open_input
from ..errors import InputValueError
from ..inputs.progress_listeners import Progress, as_listener
from ..naming import printable
from .columns import MAX_COLUMNS, Door, is_header
from .elements import is_integer_text, without_blanks

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.progress_listeners import Listener

    # The place of a line in its block, from 0, and what is wrong with it.
    Fault = tuple[int, str]

# At this size the fields of a block, which are Python strings, stay in the cache.
_BLOCK_BYTES = 1 << 17
# No name is as long. What else a file may hold is not read on.
MAX_LINE_BYTES = 1 << 24
_BLANKS = re.compile("[ \t]+")
_NUMBERS = ("score", "rank", "relevance")  # The first of these roles that a file has is read.


@dataclass(frozen=True)
class LineForm:
    """The form of the lines of a file.

    Attributes
    ----------
    width : int
        The number of fields of a line.
    between : {"blanks", "tabs", "commas"}
        What separates fields: blanks and tabs; tabs alone; or commas, with csv's quoting.
    name : str
        What reports say of it; "": nothing.
    header : int
        The number of the line that is none of the rows; 0: all are.
    names : list of str, or None
        The names of the columns, which this line gives.
    count : int, optional
        How many rows it says that there are.
    places : dict of str to int
        The column of each role, where the form says it.
    left_out : tuple of str
        The columns that are not read.
    """

    width: int
    between: str = "blanks"
    name: str = ""
    header: int = 0
    names: list[str] | None = None
    count: int | None = None
    places: dict[str, int] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @property
    def role(self) -> str:
        """The role of the numbers that are read; "": there are none."""
        return next((role for role in _NUMBERS if role in self.places), "")


def find_form(
    name: str,
    path: str,
    door: Door,
    header: bool | None = None,
    columns: Mapping[str, str | int] | None = None,
) -> LineForm | None:
    """Find the form of a file of facts or pairs by its first line; None: it has no lines.

    Fields are separated by tabs, or in files that end in .csv by commas, with csv's quoting.

    Parameters
    ----------
    name : str
        The argument, for messages.
    path : str
        A file in UTF-8, gzipped if its name ends in .gz.
    door : Door
    header : bool, optional
        Whether the first line names the columns. None: it does not, and is refused if it has names
        of the door's roles.
    columns : mapping of str to (str or int), optional
        The column of each role, as `check_columns` returns it.

    Raises
    ------
    ValueError
        For a line of another number of fields than the door has, and as `text_blocks` does.
    OSError
        For a file that is missing or damaged.
    """
    title = f"{name}: {path}"
    number, line = next(text_lines(name, path, blanks=" "), (0, ""))
    if not number:
        return None
    if is_csv(path):
        between = "commas"
        first = csv_fields(title, number, line)
    else:
        between = "tabs"
        first = fields_of(line, between)
    if door.counted and len(first) == 1 and is_integer_text(first[0]):
        names = list(door.counted)
        description = f"the first line is a count, as OpenKE has: of {', '.join(names)}"
        return LineForm(len(names), "blanks", description, number, names, int(first[0]))
    form = LineForm(len(first), between)
    if header is None:
        are_names = any(isinstance(column, str) for column in (columns or {}).values())
        if are_names or is_header(first, door):
            expected = (
                "header=True, which says that the first line names the columns, or header=False"
            )
            got = f"a first line that reads {line!r}"
            raise InputValueError(title, expected=expected, got=got)
    if header:
        description = f'the first line reads "{" ".join(first)}", a header: left out'
        form = replace(form, name=description, header=number, names=first)
    are_placed = form.names is not None or columns is not None
    if not door.fits(form.width, are_placed=are_placed):
        raise _wrong_row(title, door, form, number, line)
    return form


def read_rows(
    name: str,
    path: str,
    door: Door,
    form: LineForm,
    order: Sequence[int],
    tables: Sequence[_core.Names],
) -> list[npt.NDArray[np.int32]]:
    """Read the columns of a file as numbers of names.

    Lines end in LF or CRLF; empty lines are skipped, and a byte order mark is dropped. Between tabs
    there is no quoting. Blanks at the ends of a field belong to no label, and are left out; those
    within it are kept.

    Parameters
    ----------
    name : str
        The argument, for messages.
    path : str
    door : Door
    form : LineForm
    order : sequence of int
        The places of the door's columns, which may not have empty fields, and then of further ones.
    tables : sequence of Names
        The names of each of these columns, to which those of the file are added.

    Returns
    -------
    list of ndarray of int32
        The columns in this order.

    Raises
    ------
    ValueError
        For a line with another number of columns than the first line, an empty field among those of
        the door, and as `text_blocks` does; the message names the line.
    OSError
        For a file that is missing or damaged.
    """
    title = f"{name}: {path}"
    are_tabs = form.between == "tabs"
    rows = _core.RowForm(form.width, order, door.needed, tabs=are_tabs, tab_lines=True)
    blocks = []
    for first, text in text_blocks(name, path, header=form.header):
        if form.between == "commas":
            fields = _columns_of_csv(title, door, form, first, text, order)
            codes = [table.add(column) for table, column in zip(tables, fields, strict=True)]
        else:
            fault, codes, _ = _core.read_rows(text, rows, tables)
            if fault is not None:
                line, _ = fault
                raise _wrong_row(title, door, form, first + line, text.split("\n")[line])
        blocks.append(codes)
    columns = [np.concatenate(parts) for parts in zip(*blocks, strict=True)]
    count = len(columns[0]) if columns else 0
    if form.count not in (None, count):
        expected = f"{form.count} rows, as the first line counts"
        raise InputValueError(title, expected=expected, got=count)
    return columns


def _columns_of_csv(
    title: str, door: Door, form: LineForm, first: int, text: str, order: Sequence[int]
) -> list[list[str]]:
    """Return the fields of some columns of lines of csv, of which the first has this number."""
    columns: list[list[str]] = [[] for _ in order]
    for number, line in enumerate(text.removesuffix("\n").split("\n"), first):
        if not line.strip(" "):
            continue
        fields = csv_fields(title, number, line)
        needed = order[: door.needed]
        if len(fields) != form.width or not all(fields[place] for place in needed):
            raise _wrong_row(title, door, form, number, line)
        for column, place in zip(columns, order, strict=True):
            column.append(fields[place])
    return columns


def fields_of(line: str, between: str) -> list[str]:
    """Return the fields of a line, with "tabs" alone or "blanks" (and tabs) between them.

    Blanks at the ends of a field are left out, and only tabs alone may have empty ones between.

    Examples
    --------
    >>> fields_of(" q1 0\\td3  1", "blanks"), fields_of("new york \\t\\td3", "tabs")
    (['q1', '0', 'd3', '1'], ['new york', '', 'd3'])
    """
    if between == "blanks":
        return [field for field in _BLANKS.split(line) if field]
    return list(map(without_blanks, line.split("\t", MAX_COLUMNS)))


def csv_fields(title: str, number: int, line: str) -> list[str]:
    """Return the fields of a line of csv, without blanks at their ends.

    Raises
    ------
    InputValueError
        For quotes that are not closed, or that end before their field does.

    Examples
    --------
    >>> csv_fields("test: facts.csv", 3, '"a, the first", r, "b ""so called"" c"')
    ['a, the first', 'r', 'b "so called" c']
    """
    import csv

    try:
        fields = next(csv.reader([line], strict=True, skipinitialspace=True))
    except csv.Error as error:
        expected = "csv, whose quotes are closed in their line, and doubled within"
        got = f"{line!r} ({error})"
        raise InputValueError(title, expected=expected, got=got, place=f"line {number}") from None
    return list(map(without_blanks, fields[: MAX_COLUMNS + 1]))


def is_csv(path: str) -> bool:
    """Return whether a file has commas between its fields, as its name says."""
    return path.lower().removesuffix(".gz").endswith(".csv")


def _wrong_row(title: str, door: Door, form: LineForm, number: int, line: str) -> InputValueError:
    """Return the error for a line with empty fields, or with another number of them."""
    columns = f"{door.expected}, as many in all lines"
    expected = f"{columns}, with {form.between} between them and none empty"
    return InputValueError(title, expected=expected, got=repr(line), place=f"line {number}")


def line_of(path: str, row: int) -> int:
    """Return the number of the line, from 1, of a row of a file's columns.

    It reads the file again: only messages need it, and readers do not count lines.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/pairs.tsv", "w") as file:
    ...         _ = file.write("a\\tb\\n\\nc\\td\\n")
    ...     line_of(f"{folder}/pairs.tsv", 1)
    3
    """
    return next(islice(text_lines(path, path), row, None))[0]


def text_lines(name: str, path: str, *, blanks: str = " \t") -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that have more than blanks, numbered, as `text_blocks` reads."""
    for first, text in text_blocks(name, path):
        rows = text.removesuffix("\n").split("\n")
        # This way an empty line costs next to nothing.
        for row in compress(enumerate(rows, first), rows):
            if row[1].strip(blanks):
                yield row


def shown(line: str) -> str:
    """Return a line as messages show it.

    Examples
    --------
    >>> shown("q1\\td3")
    "'q1\\\\td3'"
    """
    return repr(f"{line[:200]}..." if len(line) > 200 else line)


def read_blocks(
    argument: str,
    path: str,
    progress: bool | Listener | None,
    read_lines: Callable[[str], tuple[Fault | None, Sequence[npt.NDArray[Any]]]],
    header: int = 0,
) -> list[npt.NDArray[Any]]:
    """Read a file block by block with the core, and join the columns of all blocks.

    `read_lines` returns the fault of a block, if it has one, and its columns. The line that is the
    header is left out.

    A byte order mark at the beginning of another line than the first, where files were joined,
    would make another name of the first field: it is refused.
    """
    blocks = [read_lines("")[1]]  # So a file without lines has columns, too.
    for first, text in text_blocks(argument, path, progress, header=header):
        fault, columns = read_lines(text)
        blocks.append(columns)
        mark = f"\n{text}".find("\n\ufeff")
        if mark >= 0:
            fault = text.count("\n", 0, mark), "it begins with a byte order mark: leave it out"
        if fault is not None:
            line, problem = fault
            wrong = text.split("\n")[line]
            problem = f"line {first + line}: {problem}; it reads {shown(wrong)}"
            raise InputValueError(argument, problem, place=path)
    return [np.concatenate(column) for column in zip(*blocks, strict=True)]


def text_blocks(
    name: str, path: str, progress: bool | Listener | None = None, *, header: int = 0
) -> Iterator[tuple[int, str]]:
    """Yield blocks of whole lines of a file, each with the number of its first line.

    Lines end in LF, and a byte order mark at the beginning of the file is left out.

    Parameters
    ----------
    name : str
        The argument, for messages.
    path : str
        A regular file in UTF-8, gzipped if its name ends in .gz. Lines end in LF or CRLF.
    progress : callable or bool, optional
        Called with a `Progress`, in bytes of the file, after every block; True shows a bar.
    header : int
        The number of a line that is yielded as an empty one; 0: there is none.

    Raises
    ------
    ValueError
        For a file that is not a regular one, a CR within a line, text that is not UTF-8, and a line
        of more than `MAX_LINE_BYTES`; the message names the line.
    OSError
        For a file that is missing or damaged.
    """
    import gzip
    import zlib

    listener = as_listener(progress)
    start = time.monotonic()
    title = f"{name}: {path}"
    line = 1
    with open_input(name, path) as plain_file:
        size = os.fstat(plain_file.fileno()).st_size
        is_packed = path.lower().endswith(".gz")
        if is_packed and not size:  # gzip would take it for a file without text.
            raise OSError(printable(f"{title}: damaged gzip file (it is empty)"))
        file: Any = gzip.GzipFile(fileobj=plain_file) if is_packed else plain_file
        while True:
            try:
                block = file.read(_BLOCK_BYTES)
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


def _decode(title: str, block: bytes, first: int) -> str:
    """Return the text of whole lines, of which the first has this number, with LF at their ends."""
    whole = block.removesuffix(b"\n")
    # Only the last line can be too long: a block is short but for its end.
    if len(whole) - whole.rfind(b"\n") > MAX_LINE_BYTES + 1:
        number = first + whole.count(b"\n")
        problem = f"line {number} has more than {MAX_LINE_BYTES:,} bytes"
        raise InputValueError(title, problem)
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        number = first + block.count(b"\n", 0, error.start)
        raise InputValueError(title, f"line {number} is not in UTF-8 ({error})") from None
    if "\r" in text:
        text = text.replace("\r\n", "\n").removesuffix("\r")
        if "\r" in text:
            number = first + text.partition("\r")[0].count("\n")
            raise InputValueError(title, f"line {number} has a carriage return in a field")
    return text


def is_path(value: object) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether this is the path of a file."""
    return isinstance(value, (str, os.PathLike))
