"""Times of facts: points and intervals, read from integers and from dates of public files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputValueError
from ..inputs.checks import is_integer
from ..records.column_ids import IdColumn, are_text, distinct_labels, numbers_of, refuse_ids

if TYPE_CHECKING:
    from ..arrays.types import IntArray

_FIRST_DAY_OF_1970 = 719163  # Days are counted from the first day of year 1, which is 1.
UNKNOWN_END = int(np.iinfo(np.int64).max)
# It is above the least integer, so that its negative is an integer, too.
UNKNOWN_START = -UNKNOWN_END
_EXPECTED = 'integers, or dates such as "2014-01-05", "1984", "2003-##-##" and "####-##-##"'
_UNKNOWN = re.compile(r"[#-]*")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
# Its groups are the sign, the year, the month and the day.
_DATE = re.compile(r"([+-]?)([0-9#]{1,9})(?:-([0-9#]{1,9})(?:-([0-9#]{1,9}))?)?(?:T00:00:00Z)?")


class Bounds(NamedTuple):
    """The first and the last instant that a label stands for."""

    first: int
    last: int


class Times(NamedTuple):
    """When facts hold: closed intervals, of which a point is one of a single instant.

    Attributes
    ----------
    columns : tuple of int
        The column of the points, or those of starts and ends.
    starts, ends : ndarray of int64, shape (n,)
        Of the facts of all splits; unknown ones are `UNKNOWN_START` and `UNKNOWN_END`. Integers as
        they were given, or days.
    reversed : ndarray of int64
        The facts whose end lies before their start, and is taken for unknown.
    doubtful : dict of str to str
        Labels that name no day, such as "307-13047-09", and the year by which each is read.
    """

    columns: tuple[int, ...]
    starts: IntArray
    ends: IntArray
    reversed: IntArray
    doubtful: dict[str, str]


def check_times(time: Any, width: int) -> tuple[int, ...]:
    """Check the argument `time`, the column of points or those of starts and ends.

    Examples
    --------
    >>> check_times(3, 4), check_times([3, 4], 5)
    ((3,), (3, 4))
    """
    columns: tuple[Any, ...] = (time,)
    if isinstance(time, Sequence) and not isinstance(time, str) and len(time) == 2:
        columns = tuple(time)
    return check_numbers_of_columns("time", columns, width)


def check_numbers_of_columns(name: str, columns: Sequence[Any], width: int) -> tuple[int, ...]:
    """Check columns of qualifiers: from 3 on, each once."""
    are_right = all(map(is_integer, columns))
    if are_right:
        different = set(columns)
        are_right = len(different) == len(columns) and different <= set(range(3, width))
    if not are_right:
        expected = f"distinct columns from 3 on, of {width} in all"
        raise InputValueError(name, expected=expected, got=", ".join(map(repr, columns)))
    return tuple(map(int, columns))


def encode_times(
    positions: Sequence[int], columns: Sequence[Sequence[IdColumn]], as_ids: bool
) -> tuple[Times, list[list[IntArray]], tuple[str, ...] | None]:
    """Turn the columns of times into intervals, into ids, and into the labels of the ids.

    Integers are their own ids. Other labels are numbered in the order of time, starts and ends
    together; labels of the same time, as "1984" and "1984-##-##", have one id.

    Parameters
    ----------
    positions : sequence of int
        The column of points, or those of starts and ends.
    columns : sequence of sequence of IdColumn
        For each position the columns of all splits.
    as_ids : bool
        Whether triples hold ids, so that integers in text are integers.

    Raises
    ------
    ValueError
        For a label that is no time, and for labels in one split where another holds integers.

    Examples
    --------
    >>> from truerank.records.vocabularies import LabelIndex
    >>> index = LabelIndex()
    >>> column = IdColumn("test", 3, index.encode(["1986-##-##", "####-##-##", "1985"]), index)
    >>> _, ids, names = encode_times((3,), [[column]], False)
    >>> ids, names
    ([[array([2, 0, 1])]], ('####-##-##', '1985', '1986-##-##'))
    """
    all_columns = list(chain.from_iterable(columns))
    bounds, doubtful = _read_labels(sorted(distinct_labels(all_columns)))
    are_integers = are_text(all_columns) and all(map(_INTEGER.fullmatch, bounds))
    if bounds and not are_integers:
        refuse_ids(all_columns)
    has_ids = any(len(column.values) and column.label_index is None for column in all_columns)
    first_of = {label: interval.first for label, interval in bounds.items()}
    last_of = {label: interval.last for label, interval in bounds.items()}
    names = None
    id_of = first_of
    if bounds and not (are_integers and (as_ids or has_ids)):
        in_order = sorted(set(bounds.values()))
        # The least label of a time names it, so it comes last.
        name_of = {bounds[label]: label for label in sorted(bounds, reverse=True)}
        names = tuple(name_of[interval] for interval in in_order)
        id_of_time = {interval: number for number, interval in enumerate(in_order)}
        id_of = {label: id_of_time[interval] for label, interval in bounds.items()}

    ids = [numbers_of(of_splits, id_of, f"times: {_EXPECTED}") for of_splits in columns]
    starts = np.concatenate(numbers_of(columns[0], first_of))
    ends = np.concatenate(numbers_of(columns[-1], last_of))
    reversed_facts = np.flatnonzero(ends < starts)
    ends[reversed_facts] = UNKNOWN_END
    times = Times(tuple(positions), starts, ends, reversed_facts, doubtful)
    return times, ids, names


def _read_labels(labels: Sequence[str]) -> tuple[dict[str, Bounds], dict[str, str]]:
    """Return the bounds of all labels that are times, and the doubtful ones with their years."""
    bounds = dict.fromkeys(labels, Bounds(UNKNOWN_START, UNKNOWN_END))
    doubtful: dict[str, str] = {}
    known = [label for label in labels if not _UNKNOWN.fullmatch(label)]
    if all(map(_INTEGER.fullmatch, known)):
        for label in known:
            bounds[label] = Bounds(int(label), int(label))
        return bounds, doubtful
    for label in known:
        date = _DATE.fullmatch(label)
        if date is None:
            del bounds[label]
            continue
        sign, year, month, day = date.groups()
        days = _days_of_date(sign, year, month, day)
        if days is None:
            doubtful[label] = sign + year
            days = _days_of_year(sign, year)
        bounds[label] = days
    return bounds, doubtful


def _days_of_date(sign: str, year: str, month: str | None, day: str | None) -> Bounds | None:
    """Return the first and the last day of a date, of which parts may be unknown; None: no date.

    Digits that are not known are written #; in Wikidata, an unknown month or day is 00. What stands
    behind an unknown month is not read.

    Examples
    --------
    >>> first, last = _days_of_date("", "2003", "02", "##")
    >>> last - first + 1
    28
    """
    month_number = _number_of(month)
    if _is_unknown(year) or month_number == 0:
        return _days_of_year(sign, year)
    if month_number > 12:
        return None
    first_year, last_year = _possible_years(sign, year)
    first_month = _count_months(first_year, month_number)
    last_month = _count_months(last_year, month_number)
    first = _first_day(first_month)
    last = _first_day(last_month)
    after_first = _first_day(first_month + 1)
    after_last = _first_day(last_month + 1)
    day_number = _number_of(day)
    if day_number == 0:
        return Bounds(first, after_last - 1)
    first += day_number - 1
    last += day_number - 1
    if first >= after_first or last >= after_last:  # The month has fewer days.
        return None
    return Bounds(first, last)


def _days_of_year(sign: str, year: str) -> Bounds:
    """Return the first and the last day of a year, of which digits may be unknown."""
    if _is_unknown(year):
        return Bounds(UNKNOWN_START, UNKNOWN_END)
    first, last = _possible_years(sign, year)
    return Bounds(_first_day(_count_months(first, 1)), _first_day(_count_months(last + 1, 1)) - 1)


def _is_unknown(year: str) -> bool:
    """Whether no digit of a year is known."""
    return not year.strip("#")


def _possible_years(sign: str, year: str) -> list[int]:
    """Return the first and the last year that a year with unknown digits may be."""
    return sorted(int(sign + year.replace("#", digit)) for digit in "09")


def _number_of(part: str | None) -> int:
    """Return the number of a month or of a day, 0 if it is unknown."""
    if part is None or "#" in part:
        return 0
    return int(part)


def _count_months(year: int, month: int) -> int:
    """Return the number of a month, counted from January 1970, as numpy does."""
    return 12 * (year - 1970) + month - 1


def _first_day(month: int) -> int:
    """Return the number of the first day of a month, counted from January 1970, as `date` does.

    Examples
    --------
    >>> _first_day(0), _first_day(-12 * 1970) - _first_day(-12 * 1970 - 1)
    (719163, 31)
    """
    days = np.datetime64(month, "M").astype("datetime64[D]").astype(np.int64)
    return int(days) + _FIRST_DAY_OF_1970
