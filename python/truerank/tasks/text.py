"""Tab-separated text, plain or gzipped, read block by block; and the form of its rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

from ..inputs.errors import InputValueError, spelled

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray

TRIPLE = ("head", "relation", "tail")
_BLOCK_BYTES = 1 << 17  # the fields of a block are Python strings, which stay in the cache


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
    further : bool
        Whether more columns may follow; each of them has its own labels.
    """

    row_noun: str
    columns: tuple[str, ...]
    vocabularies: tuple[int, ...]
    more_columns: bool = False

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

    def vocabulary(self, column: int) -> int:
        """Return the first column with the same labels as this one."""
        return self.vocabularies[column] if column < self.width else column

    def __str__(self) -> str:
        """The number of columns and their names, as a file has them."""
        *first, last = self.columns
        tabs = "tabs" if self.width > 2 else "a tab"
        return f"{self.width_text}: {', '.join(first)} and {last} with {tabs} between them"


def read_text(
    name: str,
    path: str,
    coder: Callable[[int, Sequence[str]], IntArray],
    *,
    columns: Sequence[str] = TRIPLE,
    more_columns: bool = True,
) -> list[IntArray]:
    """Read the columns of a tab-separated file.

    Lines end in LF or CRLF; empty lines are skipped, and a byte order mark is dropped. Fields are
    read verbatim: there is no quoting, and blanks are kept.

    Parameters
    ----------
    name : str
        The argument, for messages.
    path : str
        A file in UTF-8, gzipped if its name ends in .gz.
    coder : callable
        Encodes the fields of a column as integers: f(position, fields).
    columns : sequence of str
        The names of the first columns, which may not have empty fields.
    further : bool
        Whether more columns may follow.

    Returns
    -------
    list of ndarray of int64
        The columns; an empty list for a file without lines.

    Raises
    ------
    ValueError
        For a line with another number of columns than the first line or than expected, an empty
        field among `columns`, a CR inside, or text that is not UTF-8; the message names the line.
    OSError
        For a file that is missing or damaged.
    """
    where = f"{name}: {path}"
    width, blocks, line = 0, [], 1
    expected = RowForm("row", tuple(columns), (), more_columns)
    with _open_file(path) as file:
        for block in _line_blocks(name, path, file):
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
                        f"line {number} has a carriage return (CR) in a field; lines end "
                        "in LF or CRLF",
                    )
            lines = text.removesuffix("\n").split("\n")
            rows: Sequence[str] = lines
            if _tab_counts(rows) != {width - 1}:  # the first block, empty lines, or a wrong width
                rows = [row for row in lines if row.strip(" ")]
                width = width or (rows[0].count("\t") + 1 if rows else 0)
                if rows and (not expected.fits(width) or _tab_counts(rows) != {width - 1}):
                    raise InputValueError(
                        where, _describe_wrong_width(lines, line, width, expected)
                    )
            if rows:
                fields = "\t".join(rows).split("\t")
                found = [fields[column::width] for column in range(width)]
                if any("" in column for column in found[: len(columns)]):
                    raise InputValueError(where, _describe_empty_field(lines, line, columns))
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
    with _open_file(path) as file:
        for number, line in enumerate(file, 1):
            row -= bool(line.removeprefix(b"\xef\xbb\xbf" * (number == 1)).strip(b" \r\n"))
            if row < 0:
                return number
    raise InputValueError(path, "it has changed while it was read")


def _tab_counts(rows: Sequence[str]) -> set[int]:
    return {row.count("\t") for row in rows}


def _open_file(path: str) -> IO[bytes]:
    if not path.endswith(".gz"):
        return open(path, "rb")
    import gzip

    return gzip.open(path)  # type: ignore[return-value]


def _line_blocks(name: str, path: str, file: IO[bytes]) -> Iterator[bytes]:
    """Yield a file in blocks of whole lines."""
    import gzip
    import zlib

    rest = b""
    while True:
        try:
            block = file.read(_BLOCK_BYTES)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise OSError(f"{spelled(name)}: {path}: damaged gzip file ({error})") from None
        if not block:
            break
        end = block.rfind(b"\n") + 1
        if end:
            yield rest + block[:end]
            rest = block[end:]
        else:
            rest += block
    if rest:
        yield rest


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
