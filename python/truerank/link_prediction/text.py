"""Tab-separated text, plain or gzipped, read in pieces."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..arrays import IntArray

_PIECE = 1 << 17  # bytes; the fields of a piece are Python strings, which stay in the cache


def read_text(
    name: str, path: str, coder: Callable[[int, Sequence[str]], IntArray]
) -> list[IntArray]:
    """Read the columns of a tab-separated file.

    Lines end in LF or CRLF; empty ones are skipped, and a byte order mark is dropped. Fields are
    taken as they stand: nothing is quoted, no blanks are cut off.

    Parameters
    ----------
    name : str
        What the file is, for messages.
    path : str
        A file in UTF-8, gzipped where its name ends in .gz.
    coder : callable
        Gives the integers that stand for the fields of a column: f(position, fields).

    Returns
    -------
    list of ndarray of int64
        The columns; none for a file without lines.

    Raises
    ------
    ValueError
        For a line with another number of columns than the first, or fewer than 3, with an empty
        head, relation or tail, a CR that is no line end, or not in UTF-8: with file and line.
    OSError
        For a file that is missing or damaged.
    """
    where = f"{name}: {path}"
    width, parts, line = 0, [], 1
    with _opened(path) as file:
        for piece in _pieces(where, file):
            try:
                text = piece.decode("utf-8")
            except UnicodeDecodeError as error:
                number = line + piece.count(b"\n", 0, error.start)
                raise ValueError(f"{where}: line {number} is not in UTF-8 ({error})") from None
            if line == 1:
                text = text.removeprefix("\ufeff")
            if "\r" in text:
                text = text.replace("\r\n", "\n").removesuffix("\r")
                if "\r" in text:
                    number = line + text.count("\n", 0, text.index("\r"))
                    raise ValueError(
                        f"{where}: line {number} has a carriage return (CR) in a field; lines end "
                        "in LF or CRLF"
                    )
            lines = text.removesuffix("\n").split("\n")
            rows: Sequence[str] = lines
            if _tabs(rows) != {width - 1}:  # the first piece, or empty lines, or something wrong
                rows = [row for row in lines if row.strip(" ")]
                width = width or (rows[0].count("\t") + 1 if rows else 0)
                if rows and (width < 3 or _tabs(rows) != {width - 1}):
                    raise ValueError(_wrong_width(where, lines, line, width))
            if rows:
                fields = "\t".join(rows).split("\t")
                columns = [fields[column::width] for column in range(width)]
                if any("" in column for column in columns[:3]):
                    raise ValueError(_empty_field(where, lines, line))
                parts.append([coder(j, column) for j, column in enumerate(columns)])
            line += len(lines)
    return [np.concatenate(columns) for columns in zip(*parts, strict=True)]


def _tabs(rows: Sequence[str]) -> set[int]:
    return {row.count("\t") for row in rows}


def _opened(path: str) -> IO[bytes]:
    if not path.endswith(".gz"):
        return open(path, "rb")
    import gzip

    return gzip.open(path)  # type: ignore[return-value]


def _pieces(where: str, file: IO[bytes]) -> Iterator[bytes]:
    """Give a file in pieces of whole lines."""
    import gzip
    import zlib

    rest = b""
    while True:
        try:
            block = file.read(_PIECE)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise OSError(f"{where}: damaged gzip file ({error})") from None
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


def _wrong_width(where: str, lines: Sequence[str], first: int, width: int) -> str:
    for number, row in enumerate(lines, first):
        found = row.count("\t") + 1
        if row.strip(" ") and (found != width or width < 3):
            plural = "" if found == 1 else "s"
            expected = (
                f"{width}, as in the first"
                if width >= 3
                else "at least 3: head, relation and tail with tabs between them"
            )
            return f"{where}: line {number} has {found} column{plural}, expected {expected}"
    raise AssertionError("unreachable")


def _empty_field(where: str, lines: Sequence[str], first: int) -> str:
    for number, row in enumerate(lines, first):
        fields = row.split("\t")[:3]
        if row.strip(" ") and "" in fields:
            column = ("head", "relation", "tail")[fields.index("")]
            return f"{where}: line {number} has an empty {column}"
    raise AssertionError("unreachable")


def is_path(value: object) -> bool:
    """Whether this names a file."""
    return isinstance(value, (str, os.PathLike))
