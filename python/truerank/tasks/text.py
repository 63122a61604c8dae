"""Tab-separated text, plain or gzipped, read block by block; and the form of its rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.input_files import open_input
from ..inputs.naming import printable

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray

    Watch = Callable[[int, int], object]

TRIPLE = ("head", "relation", "tail")
_BLOCK_BYTES = 1 << 17  # the fields of a block are Python strings, which stay in the cache
# No name is as long, and no row has as many columns: what else a file may hold is not read on.
MAX_LINE_BYTES = 1 << 24
MAX_COLUMNS = 1000


class RowForm(NamedTuple):
    """The columns of a row, and how messages call a row.

    Attributes
    ----------
    what : str
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
    def column_list(self) -> str:
        """The names of the columns in parentheses, as tuples are written."""
        return f"({', '.join(self.columns)})"

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

    def vocabulary(self, column: int) -> int:
        """Return the first column with the same labels as this one."""
        return self.vocabularies[column] if column < self.width else column

    def __str__(self) -> str:
        """The number of columns and their names, as a file has them."""
        *first, last = self.columns
        tabs = "tabs" if self.width > 2 else "a tab"
        return f"{self.width_text}: {', '.join(first)} and {last} with {tabs} between them"


TRIPLES = RowForm("triple", TRIPLE, (0, 1, 0), more_columns=True)


def read_text(
    name: str,
    path: str,
    coder: Callable[[int, Sequence[str]], IntArray],
    form: RowForm = TRIPLES,
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
        field among those of the form, a CR inside, text that is not UTF-8, or more than
        `MAX_LINE_BYTES`; the message names the line. For a file that is not a regular one.
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
            if width > MAX_COLUMNS:
                number = line + lines.index(rows[0])
                problem = f"line {number} has {width:,} columns, expected at most {MAX_COLUMNS:,}"
                raise InputValueError(where, problem)
            if rows and (not form.fits(width) or _tab_counts(rows) != {width - 1}):
                raise InputValueError(where, _describe_wrong_width(lines, line, width, form))
            if rows and not blocks and form.is_header(rows[0]):
                if notes is not None:
                    words = " ".join(rows[0].split("\t"))
                    file = f"{name}: {path}"
                    notes.append(f'{file}: the first line reads "{words}", a header: left out')
                rows = rows[1:]
        if rows:
            fields = "\t".join(rows).split("\t")
            found = [fields[column::width] for column in range(width)]
            if any("" in column for column in found[: form.width]):
                raise InputValueError(where, _describe_empty_field(lines, line, form.columns))
            blocks.append([coder(j, column) for j, column in enumerate(found)])
        line += len(lines)
    return [np.concatenate(column) for column in zip(*blocks, strict=True)]


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
    first = 1
    for block in line_blocks(path, path):
        lines = block.removeprefix(b"\xef\xbb\xbf" * (first == 1)).split(b"\n")
        for number, line in enumerate(lines, first):
            row -= bool(line.strip(b" \r"))
            if row < 0:
                return number
        first += len(lines) - 1
    raise InputValueError(path, "it has changed while it was read")


def _tab_counts(rows: Sequence[str]) -> set[int]:
    return {row.count("\t") for row in rows}


def text_blocks(name: str, path: str, watch: Watch | None = None) -> Iterator[str]:
    """Yield a file in blocks of whole lines, which end in LF, without a byte order mark."""
    where, line = f"{name}: {path}", 1
    for block in line_blocks(name, path, watch):
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
                raise InputValueError(
                    where,
                    f"line {number} has a carriage return (CR) in a field; lines end in LF or CRLF",
                )
        yield text
        line += text.count("\n")


def line_blocks(name: str, path: str, watch: Watch | None = None) -> Iterator[bytes]:
    """Yield a file in blocks of whole lines, as they are in the file.

    Parameters
    ----------
    name : str
        The argument, for messages.
    path : str
        A regular file, gzipped if its name ends in .gz.
    watch : callable, optional
        Called after every block with the bytes of the file that have been read, and all.

    Raises
    ------
    ValueError
        If it is not a regular file or has a line of more than `MAX_LINE_BYTES`.
    OSError
        For a file that is missing or damaged.
    """
    import gzip
    import zlib

    line = 0
    with ExitStack() as stack:
        plain_file = stack.enter_context(open_input(name, path))
        file: IO[bytes] | gzip.GzipFile = plain_file
        if path.endswith(".gz"):
            if not os.fstat(file.fileno()).st_size:  # gzip would take it for a file without text
                raise OSError(f"{name}: {path}: damaged gzip file (it is empty)")
            file = stack.enter_context(gzip.GzipFile(fileobj=file))
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
            line += block.count(b"\n")
            is_ended = block.endswith(b"\n")
            if len(block) - is_ended - block.rfind(b"\n", 0, -1) - 1 > MAX_LINE_BYTES:
                number = line + (not is_ended)
                problem = f"line {number} has more than {MAX_LINE_BYTES:,} bytes"
                raise InputValueError(f"{name}: {path}", problem)
            if watch is not None:
                watch(plain_file.tell(), os.fstat(plain_file.fileno()).st_size)
            yield block


def _describe_wrong_width(lines: Sequence[str], first: int, width: int, expected: RowForm) -> str:
    for number, row in enumerate(lines, first):
        found = row.count("\t") + 1
        if row.strip(" ") and (found != width or not expected.fits(width)):
            plural = "" if found == 1 else "s"
            needed = f"{width}, as in the first" if expected.fits(width) else expected
            return f"line {number} has {found} column{plural}, expected {needed}"
    raise AssertionError("unreachable")


def _describe_empty_field(lines: Sequence[str], first: int, columns: Sequence[str]) -> str:
    for number, row in enumerate(lines, first):
        fields = row.split("\t")[: len(columns)]
        if row.strip(" ") and "" in fields:
            return f"line {number} has an empty {columns[fields.index('')]}"
    raise AssertionError("unreachable")


def is_path(value: object) -> bool:
    """Return whether this is the path of a file."""
    return isinstance(value, (str, os.PathLike))
