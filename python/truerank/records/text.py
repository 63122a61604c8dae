"""Text, plain or gzipped, read block by block; and tab-separated rows with the form they have."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class TextRows:
    """A file of rows, of which the first line was read.

    Attributes
    ----------
    name, path : str
        The argument, for messages, and the file.
    door : Door
    between : {"tabs", "commas", "blanks"}
        What separates fields; blanks do so below a count.
    width : int
        How many columns there are.
    names : list of str, or None
        The names of the columns, where the first line is none of the rows.
    note : str
        What there is to say of such a line.
    header : int
        The number of such a line; 0: there is none.
    said_count : int, optional
        How many rows it says that there are.
    """

    name: str
    path: str
    door: Door
    between: str
    width: int = 0
    names: list[str] | None = None
    note: str = ""
    header: int = 0
    said_count: int | None = None

    @property
    def title(self) -> str:
        """What messages call the file."""
        return f"{self.name}: {self.path}"


def open_rows(
    name: str,
    path: str,
    door: Door,
    header: bool | None = None,
    columns: Mapping[str, str | int] | None = None,
) -> TextRows | None:
    """Read the first line of a file of rows; None for a file without lines.

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
    between = "commas" if is_csv(path) else "tabs"
    rows = TextRows(name, path, door, between)
    number, line = next(text_lines(name, path, blanks=" "), (0, ""))
    if not number:
        return None
    first = (
        csv_fields(rows.title, number, line) if between == "commas" else fields_of(line, between)
    )
    if door.counted and len(first) == 1 and is_integer_text(first[0]):
        names = list(door.counted)
        note = f"{rows.title}: the first line is a count, as OpenKE has: of {', '.join(names)}"
        rows = replace(rows, between="blanks", width=len(names), names=names, note=note)
        return replace(rows, header=number, said_count=int(first[0]))
    rows = replace(rows, width=len(first))
    if header is None:
        are_names = any(isinstance(column, str) for column in (columns or {}).values())
        if are_names or is_header(first, door):
            expected = (
                "header=True, which says that the first line names the columns, or header=False"
            )
            got = f"a first line that reads {line!r}"
            raise InputValueError(rows.title, expected=expected, got=got)
    if header:
        note = f'{rows.title}: the first line reads "{" ".join(first)}", a header: left out'
        rows = replace(rows, names=first, note=note, header=number)
    are_placed = rows.names is not None or columns is not None
    if not door.fits(rows.width, are_placed=are_placed):
        raise _wrong_row(rows, number, line)
    return rows


def read_rows(
    rows: TextRows, order: Sequence[int], tables: Sequence[_core.Names]
) -> list[npt.NDArray[np.int32]]:
    """Read the columns of a file as numbers of names.

    Lines end in LF or CRLF; empty lines are skipped, and a byte order mark is dropped. Between tabs
    there is no quoting. Blanks at the ends of a field belong to no label, and are left out; those
    within it are kept.

    Parameters
    ----------
    rows : TextRows
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
    needed = rows.door.needed
    are_tabs = rows.between == "tabs"
    form = _core.RowForm(rows.width, order, needed, tabs=are_tabs, tab_lines=True)
    blocks = []
    for first, text in text_blocks(rows.name, rows.path, header=rows.header):
        if rows.between == "commas":
            fields = _columns_of_csv(rows, first, text, order)
            codes = [table.add(column) for table, column in zip(tables, fields, strict=True)]
        else:
            fault, codes, _ = _core.read_rows(text, form, tables)
            if fault is not None:
                line, _ = fault
                raise _wrong_row(rows, first + line, text.split("\n")[line])
        blocks.append(codes)
    columns = [np.concatenate(parts) for parts in zip(*blocks, strict=True)]
    count = len(columns[0]) if columns else 0
    if rows.said_count not in (None, count):
        expected = f"{rows.said_count} rows, as the first line counts"
        raise InputValueError(rows.title, expected=expected, got=count)
    return columns


def _columns_of_csv(rows: TextRows, first: int, text: str, order: Sequence[int]) -> list[list[str]]:
    """Return the fields of some columns of lines of csv, of which the first has this number."""
    columns: list[list[str]] = [[] for _ in order]
    for number, line in enumerate(text.removesuffix("\n").split("\n"), first):
        if not line.strip(" "):
            continue
        fields = csv_fields(rows.title, number, line)
        needed = order[: rows.door.needed]
        if len(fields) != rows.width or not all(fields[place] for place in needed):
            raise _wrong_row(rows, number, line)
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


def _wrong_row(rows: TextRows, number: int, line: str) -> InputValueError:
    """Return the error for a line with empty fields, or with another number of them."""
    columns = f"{rows.door.expected}, as many in all lines"
    expected = f"{columns}, with {rows.between} between them and none empty"
    return InputValueError(rows.title, expected=expected, got=repr(line), place=f"line {number}")


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
