"""Numbers as people read them: the cells of tables, and numbers within sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..naming import printable

DIGITS = 3  # Shares have so many decimals unless a table is asked for others.
EXPONENT_FROM = 1e15  # From here on a number is written with an exponent.
_OF_PYTHON = {str, int, float, bool, type(None)}  # Most cells hold these.


def cell(value: object, digits: int, decimals: int | None = None) -> str:
    """Write a cell: a float with so many significant digits or decimals, an integer in full.

    Two numbers are the ends of a range. Control characters of a text are escaped.

    Examples
    --------
    >>> cell(0.43847712, 4), cell(2000, 4), cell("mr", 4), cell(None, 4), cell((0.25, 1.0), 4)
    ('0.4385', '2,000', 'mr', '', '0.25 to 1')
    >>> cell(0.46, 4, 3), cell(-0.0001, 4, 3)
    ('0.460', '0.000')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        if decimals is None:
            return number(value, digits)
        return f"{value:z.{decimals}f}"
    if isinstance(value, tuple):
        return " to ".join(dict.fromkeys(cell(end, digits, decimals) for end in value))
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return printable(str(value))


def number(value: float, digits: int) -> str:
    """Write a number with so many significant digits; a larger one with all before the point.

    Examples
    --------
    >>> number(0.43847712, 4), number(12345.6, 4), number(float("nan"), 4)
    ('0.4385', '12346', 'nan')
    """
    if math.isfinite(value) and 10**digits <= abs(value) < EXPONENT_FROM:
        return f"{value:.0f}"
    return f"{value:.{digits}g}"


def percent(share: float) -> str:
    """Write a share as a percentage.

    Examples
    --------
    >>> percent(1.0), percent(0.0125), percent(12.5)
    ('100 %', '1.25 %', '1250 %')
    """
    return f"{number(100 * share, 3)} %"


def format_count(n: int, thing: str, things: str = "") -> str:
    """Write a number of things.

    Examples
    --------
    >>> format_count(1, "task"), format_count(2000, "task"), format_count(2, "loss", "losses")
    ('1 task', '2,000 tasks', '2 losses')
    """
    if n == 1:
        return f"1 {thing}"
    return f"{n:,} {things or f'{thing}s'}"


def plain_cells(cells: Sequence[Any]) -> list[Any]:
    """Return the cells of a column with numbers of Python alone.

    Examples
    --------
    >>> plain_cells(["TransE", np.float64(0.5), None])
    ['TransE', 0.5, None]
    """
    if set(map(type, cells)) <= _OF_PYTHON:
        return list(cells)
    return list(map(_plain, cells))


def _plain(value: Any) -> Any:
    """Convert a number of NumPy to one of Python."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, np.generic):
        return value.item()
    return value
