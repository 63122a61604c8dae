"""Times of facts: points and intervals, read from integers and from dates of public files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.checks import is_integer
from ..inputs.errors import InputValueError
from ..splits.vocabularies import Column, are_text, distinct_labels, numbers_of, refuse_ids

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray

    Bounds = tuple[int, int]  # the first and the last instant that a label stands for

_FIRST_DAY_OF_1970 = 719163  # from the first day of year 1, which is 1
UNKNOWN_END = int(np.iinfo(np.int64).max)
UNKNOWN_START = -UNKNOWN_END  # above the least integer
_EXPECTED = 'integers, or dates such as "2014-01-05", "1984", "2003-##-##" and "####-##-##"'
_UNKNOWN = re.compile(r"[#-]*")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_DATE = re.compile(r"([+-]?)([0-9#]{1,9})(?:-([0-9#]{1,9})(?:-([0-9#]{1,9}))?)?(?:T00:00:00Z)?")


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
    is_pair = isinstance(time, Sequence) and not isinstance(time, str) and len(time) == 2
    return check_columns("time", tuple(time) if is_pair else (time,), width)


def check_columns(name: str, columns: Sequence[Any], width: int) -> tuple[int, ...]:
    """Check columns of qualifiers: from 3 on, each once."""
    are_integers = all(map(is_integer, columns))
    if not are_integers or len(set(columns)) < len(columns) or {*columns} - {*range(3, width)}:
        expected = f"distinct columns from 3 on, of {width} in all"
        raise InputValueError(name, expected=expected, got=", ".join(map(repr, columns)))
    return tuple(map(int, columns))


def encode_times(
    positions: Sequence[int], columns: Sequence[Sequence[Column]], as_ids: bool
) -> tuple[Times, list[list[IntArray]], tuple[str, ...] | None]:
    """Turn the columns of times into intervals, into ids, and into the labels of the ids.

    Integers are their own ids. Other labels are numbered in the order of time, starts and ends
    together; labels of the same time, as "1984" and "1984-##-##", have one id.

    Parameters
    ----------
    positions : sequence of int
        The column of points, or those of starts and ends.
    columns : sequence of sequence of Column
        For each position the columns of all splits.
    as_ids : bool
        Whether triples hold ids, so that integers in text are integers.

    Raises
    ------
    ValueError
        For a label that is no time, and for labels in one split where another holds integers.

    Examples
    --------
    >>> from truerank.splits.vocabularies import LabelIndex
    >>> index = LabelIndex()
    >>> column = Column("test", 3, index.encode(["1986-##-##", "####-##-##", "1985"]), index)
    >>> _, ids, names = encode_times((3,), [[column]], False)
    >>> ids, names
    ([[array([2, 0, 1])]], ('####-##-##', '1985', '1986-##-##'))
    """
    every = [column for group in columns for column in group]
    bounds, doubtful = _read_labels(sorted(distinct_labels(every)))
    are_integers = are_text(every) and all(map(_INTEGER.fullmatch, bounds))
    if bounds and not are_integers:
        refuse_ids(every)
    has_ids = any(len(column.values) and column.label_index is None for column in every)
    first, last = ({label: pair[end] for label, pair in bounds.items()} for end in (0, 1))
    names, id_of = None, first
    if bounds and not (are_integers and (as_ids or has_ids)):
        ordered = sorted(set(bounds.values()))
        place = dict(zip(ordered, range(len(ordered)), strict=True))
        name_of = {bounds[label]: label for label in sorted(bounds, reverse=True)}
        names = tuple(name_of[pair] for pair in ordered)
        id_of = {label: place[pair] for label, pair in bounds.items()}

    ids = [numbers_of(group, id_of, f"times: {_EXPECTED}") for group in columns]
    starts = np.concatenate(numbers_of(columns[0], first))
    ends = np.concatenate(numbers_of(columns[-1], last))
    reversed_facts = np.flatnonzero(ends < starts)
    ends[reversed_facts] = UNKNOWN_END
    times = Times(tuple(positions), starts, ends, reversed_facts, doubtful)
    return times, ids, names


def _read_labels(labels: Sequence[str]) -> tuple[dict[str, Bounds], dict[str, str]]:
    """Return the bounds of all labels that are times, and the doubtful ones with their years."""
    bounds = dict.fromkeys(labels, (UNKNOWN_START, UNKNOWN_END))
    doubtful: dict[str, str] = {}
    known = [label for label in labels if not _UNKNOWN.fullmatch(label)]
    if all(map(_INTEGER.fullmatch, known)):
        return bounds | {label: (int(label), int(label)) for label in known}, doubtful
    for label in known:
        date = _DATE.fullmatch(label)
        if date is None:
            del bounds[label]
            continue
        sign, year, month, day = date.groups()
        pair = _days(sign, year, month, day)
        if pair is None:
            doubtful[label] = sign + year
            pair = _days(sign, year, None, None)
        bounds[label] = pair or bounds[label]
    return bounds, doubtful


def _days(sign: str, year: str, month: str | None, day: str | None) -> Bounds | None:
    """Return the first and the last day of a date, of which parts may be unknown; None: no date.

    Digits that are not known are written #; in Wikidata, an unknown month or day is 00. What stands
    behind an unknown month is not read.

    Examples
    --------
    >>> first, last = _days("", "2003", "02", "##")
    >>> last - first + 1
    28
    """
    if not year.strip("#"):
        return UNKNOWN_START, UNKNOWN_END
    # January of the first and of the last year, as numpy counts months
    years = sorted(12 * (int(sign + year.replace("#", digit)) - 1970) for digit in "09")
    if month is None or "#" in month or not int(month):
        return _first_day(years[0]), _first_day(years[1] + 12) - 1
    if int(month) > 12:
        return None
    months = [january + int(month) - 1 for january in years]
    first, last = map(_first_day, months)
    later = [_first_day(number + 1) for number in months]
    if day is None or "#" in day or not int(day):
        return first, later[1] - 1
    bounds = first + int(day) - 1, last + int(day) - 1
    return bounds if bounds[0] < later[0] and bounds[1] < later[1] else None


def _first_day(month: int) -> int:
    """Return the number of the first day of a month, counted from January 1970, as `date` does.

    Examples
    --------
    >>> _first_day(0), _first_day(-12 * 1970) - _first_day(-12 * 1970 - 1)
    (719163, 31)
    """
    days = np.datetime64(month, "M").astype("datetime64[D]").astype(np.int64)
    return int(days) + _FIRST_DAY_OF_1970
