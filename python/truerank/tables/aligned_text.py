"""Columns of text for a terminal or a page of plain text: names at the left, points aligned."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from ..inputs.naming import printable

# A number, and what follows its integer part: decimals, an exponent, marks, a deviation, a remark.
_NUMBER = re.compile(
    r"([-+]?[\d,]+|nan|[-+]?inf)((?:\.\d+)?(?:e[-+]?\d+)?[*\u2020]*(?: [^\d/].*)?)"
)


def aligned_columns(
    columns: Sequence[str], rows: Sequence[Sequence[str]], names: int = 1
) -> list[list[str]]:
    """Pad a heading and rows so that names begin, and the points of numbers stand, at one place.

    Parameters
    ----------
    columns : sequence of str
        The heading.
    rows : sequence of sequences of str
        The cells of each row, one for each column.
    names : int
        How many columns, from the left, hold names rather than numbers.

    Returns
    -------
    list of lists of str
        The heading and the rows. Control characters are escaped, and the cells of a column are
        equally wide on a terminal.

    Examples
    --------
    >>> aligned_columns(["metric", "value"], [["mr", "7.25"], ["hits@10", "0.5"]])
    [['metric ', 'value'], ['mr     ', ' 7.25'], ['hits@10', ' 0.5 ']]
    """
    lines = [list(map(printable, cells)) for cells in (columns, *rows)]
    padded = []
    for j, (heading, *cells) in enumerate(zip(*lines, strict=True)):
        if j >= names:
            cells = _with_aligned_points(cells)
        width = max(map(_width, [heading, *cells]))
        padded.append([_pad(text, width, at_left=j < names) for text in (heading, *cells)])
    return [list(row) for row in zip(*padded, strict=True)]


def aligned_text(columns: Sequence[str], rows: Sequence[Sequence[str]], names: int = 1) -> str:
    """Write a table in columns of text, with two blanks between them.

    Examples
    --------
    >>> print(aligned_text(["model", "mr", "mrr"], [["A", "7.25", "0.5"], ["B", "12", "0.375"]]))
    model     mr    mrr
    A       7.25  0.5
    B      12     0.375
    """
    lines = aligned_columns(columns, rows, names)
    return "\n".join("  ".join(cells).rstrip() for cells in lines)


def _with_aligned_points(cells: list[str]) -> list[str]:
    """Pad numbers at the right so that, set flush right, their points stand below each other."""
    found = [_NUMBER.fullmatch(text) for text in cells]
    widest = max((_width(number[2]) for number in found if number), default=0)
    return [
        text if number is None else text + " " * (widest - _width(number[2]))
        for text, number in zip(cells, found, strict=True)
    ]


def _pad(text: str, width: int, *, at_left: bool) -> str:
    blanks = " " * (width - _width(text))
    return text + blanks if at_left else blanks + text


def _width(text: str) -> int:
    """How many cells of a terminal a text takes: two for a wide character, none for a mark."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))
