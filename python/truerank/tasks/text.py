"""Text, plain or gzipped, read block by block; and tab-separated rows with the form they have."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.input_files import open_input
from ..inputs.naming import printable
from ..inputs.progress_listeners import Progress, as_listener

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from ..inputs.progress_listeners import Listener

TRIPLE = ("head", "relation", "tail")
_BLOCK_BYTES = 1 << 17  # the fields of a block are Python strings, which stay in the cache
# No name is as long, and no row has as many columns: what else a file may hold is not read on.
MAX_LINE_BYTES = 1 << 24
MAX_COLUMNS = 1000


class RowForm(NamedTuple):
    """The columns of a row, and how messages call a row.

    Attributes
    ----------
    row_noun : str
        What a row is: "triple", "pair".
    columns : tuple of str
        The columns that every row has.
    vocabularies : tuple of int
        For each column the first one with the same labels: (0, 1, 0) for head, relation, tail.
    more_columns : bool
        Whether more columns may follow; each of them has its own labels.
    headings : tuple of frozenset of str
        The words, in lower case, by which a header calls each column. A file's first line of such
        words alone is a header.
    """

    row_noun: str
    columns: tuple[str, ...]
    vocabularies: tuple[int, ...]
    more_columns: bool = False
    headings: tuple[frozenset[str], ...] = ()

    @property
    def width(self) -> int:
        """The number of columns that every row has."""
        return len(self.columns)

    @property
    def width_text(self) -> str:
        """The number of columns that rows must have, in words.

        Examples
        --------
        >>> RowForm("pair", ("left", "right"), (0, 1)).width_text
        '2'
        >>> RowForm("triple", ("head", "relation", "tail"), (0, 1, 0), more_columns=True).width_text
        'at least 3'
        """
        return f"at least {self.width}" if self.more_columns else str(self.width)

    def fits(self, width: int) -> bool:
        """Return whether rows may have this number of columns."""
        return width >= self.width if self.more_columns else width == self.width

    def is_header(self, row: str) -> bool:
        """Return whether a line names the columns.

        Examples
        --------
        >>> headings = frozenset({"left"}), frozenset({"right"})
        >>> form = RowForm("pair", ("left", "right"), (0, 1), headings=headings)
        >>> form.is_header("#Left\\t'right'"), form.is_header("left\\tpage")
        (True, False)
        """
        words = [word.strip(" #'\"").lower() for word in row.split("\t")]
        pairs = zip(words, self.headings, strict=False)
        return bool(self.headings) and all(word in names for word, names in pairs)


def read_text(
    name: str,
    path: str,
    coder: Callable[[int, Sequence[str]], IntArray],
    form: RowForm,
    notes: list[str] | None = None,
) -> list[IntArray]:
    """Read the columns of a tab-separated file.

    Lines end in LF or CRLF; empty lines are skipped, and a byte order mark is dropped. Fields are
    read verbatim: there is no quoting, and blanks are kept. A header is left out, with a note.

    Parameters
    ----------
    name : str
        The argument, for messages.
    path : str
        A file in UTF-8, gzipped if its name ends in .gz.
    coder : callable
        Encodes the fields of a column as integers: f(position, fields).
    form : RowForm
        Its columns may not have empty fields; there are at most `MAX_COLUMNS` in all.
    notes : list of str, optional
        Gets a line about a header.

    Returns
    -------
    list of ndarray of int64
        The columns; an empty list for a file without lines.

    Raises
    ------
    ValueError
        For a line with another number of columns than the first line or than expected, an empty
        field among those of the form, and as `text_blocks` does; the message names the line.
    OSError
        For a file that is missing or damaged.
    """
    where = f"{name}: {path}"
    width, line = 0, 1
    blocks: list[list[IntArray]] = []
    for text in text_blocks(name, path):
        lines = text.removesuffix("\n").split("\n")
        rows: Sequence[str] = lines
        if _tab_counts(rows) != {width - 1}:  # the first block, empty lines, or a wrong width
            rows = [row for row in lines if row.strip(" ")]
            width = width or (rows[0].count("\t") + 1 if rows else 0)
            is_allowed = form.fits(width) and width <= MAX_COLUMNS
            if rows and not (is_allowed and _tab_counts(rows) == {width - 1}):
                raise InputValueError(where, _describe_wrong_line(lines, line, width, form))
            if rows and not blocks and form.is_header(rows[0]):
                if notes is not None:
                    words = " ".join(rows[0].split("\t"))
                    notes.append(f'{where}: the first line reads "{words}", a header: left out')
                rows = rows[1:]
        if rows:
            fields = "\t".join(rows).split("\t")
            columns = [fields[column::width] for column in range(width)]
            if any("" in column for column in columns[: form.width]):
                raise InputValueError(where, _describe_wrong_line(lines, line, width, form))
            blocks.append([coder(j, column) for j, column in enumerate(columns)])
        line += len(lines)
    return [np.concatenate(column) for column in zip(*blocks, strict=True)]


def _tab_counts(rows: Sequence[str]) -> set[int]:
    return {row.count("\t") for row in rows}


def _describe_wrong_line(lines: Sequence[str], first: int, width: int, form: RowForm) -> str:
    for number, row in enumerate(lines, first):
        fields = row.split("\t")
        count = len(fields)
        if not row.strip(" "):
            continue
        if count > MAX_COLUMNS:
            return f"line {number} has {count:,} columns, expected at most {MAX_COLUMNS:,}"
        if count != width or not form.fits(width):
            *names, last = form.columns
            tabs = "tabs" if form.width > 2 else "a tab"
            each = f"{form.width_text}: {', '.join(names)} and {last} with {tabs} between them"
            expected = f"{width}, as in the first" if form.fits(width) else each
            return f"line {number} has {count} column{'s' * (count > 1)}, expected {expected}"
        if "" in fields[: form.width]:
            return f"line {number} has an empty {form.columns[fields.index('')]}"
    raise AssertionError("unreachable")


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
    for place, (number, _) in enumerate(text_lines(path, path)):
        if place == row:
            return number
    raise InputValueError(path, "it has changed while it was read")


def text_lines(
    name: str, path: str, progress: bool | Listener | None = None
) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that are not empty, with their numbers, as `text_blocks` reads."""
    first = 1
    for text in text_blocks(name, path, progress):
        lines = text.removesuffix("\n").split("\n")
        yield from ((i, line) for i, line in enumerate(lines, first) if line.strip(" \t"))
        first += len(lines)


def text_blocks(name: str, path: str, progress: bool | Listener | None = None) -> Iterator[str]:
    """Yield a file in blocks of whole lines, which end in LF, without a byte order mark.

    Parameters
    ----------
    name : str
        The argument, for messages.
    path : str
        A regular file in UTF-8, gzipped if its name ends in .gz. Lines end in LF or CRLF.
    progress : callable or bool, optional
        Called with a `Progress`, in bytes of the file, after every block; True shows a bar.

    Raises
    ------
    ValueError
        For a file that is not a regular one, a CR within a line, text that is not UTF-8, and a line
        of more than `MAX_LINE_BYTES`; the message names the line.
    OSError
        For a file that is missing or damaged.
    """
    where, line = f"{name}: {path}", 1
    for block in _byte_blocks(name, path, as_listener(progress)):
        before, end, last = block.removesuffix(b"\n").rpartition(b"\n")
        if len(last) > MAX_LINE_BYTES:
            number = line + before.count(b"\n") + len(end)
            raise InputValueError(where, f"line {number} has more than {MAX_LINE_BYTES:,} bytes")
        try:
            text = block.decode("utf-8")
        except UnicodeDecodeError as error:
            number = line + block.count(b"\n", 0, error.start)
            raise InputValueError(where, f"line {number} is not in UTF-8 ({error})") from None
        if line == 1:
            text = text.removeprefix("\ufeff")
        if "\r" in text:
            text = text.replace("\r\n", "\n").removesuffix("\r")
            if "\r" in text:
                number = line + text.count("\n", 0, text.index("\r"))
                problem = "has a carriage return (CR) in a field; lines end in LF or CRLF"
                raise InputValueError(where, f"line {number} {problem}")
        yield text
        line += text.count("\n")


def _byte_blocks(name: str, path: str, listener: Listener | None) -> Iterator[bytes]:
    """Yield a file in blocks of whole lines; no more is read of a line that is too long."""
    import gzip
    import zlib

    start = time.monotonic()
    with ExitStack() as stack:
        plain_file = stack.enter_context(open_input(name, path))
        size = os.fstat(plain_file.fileno()).st_size
        file: IO[bytes] | gzip.GzipFile = plain_file
        if path.endswith(".gz"):
            if not size:  # gzip would take it for a file without text
                raise OSError(f"{name}: {path}: damaged gzip file (it is empty)")
            file = stack.enter_context(gzip.GzipFile(fileobj=plain_file))
        while True:
            try:
                block = file.read(_BLOCK_BYTES)
                if not block.endswith(b"\n"):
                    block += file.readline(MAX_LINE_BYTES + 1)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                problem = f"{name}: {path}: damaged gzip file ({error})"
                raise OSError(printable(problem)) from None
            if not block:
                return
            if listener is not None:
                listener(Progress(plain_file.tell(), size, time.monotonic() - start))
            yield block


def is_path(value: object) -> bool:
    """Return whether this is the path of a file."""
    return isinstance(value, (str, os.PathLike))
