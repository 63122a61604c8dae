"""Elements that name things: labels and integers, read from Python in any container, or from text.

Each element is looked at, and none is converted: what is no `str` and no integer names nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..errors import InputTypeError
from ..inputs.array_likes import as_array, device_of, index_array, refuse_mask
from ..inputs.checks import check_length, check_shape, is_iterable, plain_names, without_index

if TYPE_CHECKING:
    from ..arrays.types import IntArray

    Elements = IntArray | Sequence[str]
    Name = Any  # It is a str or an int.
    Names = tuple[Any, ...]  # They are all str, or all int.

BLANKS = " \t\r\n"  # At the ends of a field they belong to no label.
_CANONICAL = re.compile(r"0|-?[1-9][0-9]{0,17}")
_LIKE_AN_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")
_MISSING = "pandas makes floats of ints where values are missing"

without_blanks: Callable[[str], str] = methodcaller("strip", BLANKS)
at_position: Callable[[int], str] = "at position {}".format  # Messages name an element so.


def read_elements(
    name: str, values: Any, expected: str, where: Callable[[int], str] = at_position
) -> Elements:
    """Read elements that are all labels or all integers.

    Parameters
    ----------
    name : str
        The argument, for messages.
    values : object, shape (n,)
        A list, tuple, set, range, the keys of a dict, or an array of integers, of str or of
        objects; a Series or an Index of pandas (a categorical by its categories), and whatever else
        numpy reads.
    expected : str
        What messages expect.
    where : callable, optional
        The place of an element, for messages.

    Returns
    -------
    ndarray of int64, or sequence of str
        No elements at all are an array.

    Raises
    ------
    InputTypeError
        For one name, a mapping, an array with a mask, and for elements that are neither str nor
        integers: bool, bytes, floats (pandas makes floats of missing values), None; for labels
        beside integers.
    InputValueError
        For another shape, and integers beyond 64 bits.

    Examples
    --------
    >>> read_elements("candidates", ["b", "a"], "labels"), read_elements("rows", range(2), "ids")
    (['b', 'a'], array([0, 1]))
    >>> read_elements("candidates", ["b", 1], "labels")
    Traceback (most recent call last):
    truerank.errors.InputTypeError: candidates: expected labels, all of one type, got 1 at \
position 1
    """
    listed = _listed(name, values, expected)
    if isinstance(listed, np.ndarray) or not listed:
        return index_array(name, listed)
    kinds = _core.types_of(listed)
    if all(issubclass(kind, str) for kind in kinds):
        labels: Sequence[str] = listed
        return labels
    if all(map(is_integer_type, kinds)):
        return index_array(name, listed)
    first_is_label = isinstance(listed[0], str)
    for i, value in enumerate(listed):
        is_label = isinstance(value, str)
        if is_label != first_is_label:
            got = f"{value!r} {where(i)}"
            raise InputTypeError(name, expected=f"{expected}, all of one type", got=got)
        if not is_label and not is_integer_type(type(value)):
            got = f"{value!r} {where(i)}"
            if isinstance(value, (float, np.floating)):
                got += f" ({_MISSING})"
            raise InputTypeError(name, expected=expected, got=got)
    raise AssertionError  # One of them was refused above.


def _listed(name: str, values: Any, expected: str) -> Any:
    """Return elements as a list or a tuple, or as an array of integers."""
    if isinstance(values, (list, tuple)):
        return values
    refuse_mask(name, values, expected)
    if isinstance(values, (str, bytes, Mapping)) or not is_iterable(values):
        raise InputTypeError(name, expected=expected, got=repr(values))
    check_length(name, values)
    if not hasattr(values, "__array__") and not device_of(values):
        return list(values)
    array = as_array(without_index(values), name, expected)
    check_shape(name, array.shape, 1, "a 1-D array")
    if array.dtype.kind in "iu":
        return array
    if array.dtype.kind in "mMV":  # `tolist` would make integers of dates.
        return list(array)
    return array.tolist()


def is_integer_type(kind: type) -> bool:
    """Return whether this is a type of integers that may be ids; bool is none."""
    return issubclass(kind, (int, np.integer)) and not issubclass(kind, bool)


def is_id(label: str) -> bool:
    """Return whether this is written like an id: digits without a sign or leading zeros."""
    return label.isascii() and label.isdecimal() and (label[0] != "0" or label == "0")


def is_integer_text(text: str) -> bool:
    """Return whether this is an integer of at most 18 digits, written as Python writes it.

    Examples
    --------
    >>> is_integer_text("-7"), is_integer_text("007"), is_integer_text("+7")
    (True, False, False)
    """
    return _CANONICAL.fullmatch(text) is not None


def first_like_an_integer(labels: Sequence[str]) -> str | None:
    """Return the first label that is written like an integer, perhaps with zeros in front.

    Examples
    --------
    >>> first_like_an_integer(["oslo", "007", "8"]), first_like_an_integer(["oslo", "1.5"])
    ('007', None)
    """
    return next(filter(_LIKE_AN_INTEGER.fullmatch, labels), None)


def is_label(value: object) -> bool:
    """Return whether this is a str that is not empty."""
    return isinstance(value, str) and value != ""


def checked_names(argument: str, values: Any) -> Names:
    """Return names, which are all str or all int, as they came.

    Examples
    --------
    >>> checked_names("queries", np.array([3, 1])), checked_names("queries", ["3", "1"])
    ((3, 1), ('3', '1'))
    """
    elements = read_elements(argument, values, "names that are str or int")
    if isinstance(elements, np.ndarray):
        return tuple(elements.tolist())
    return plain_names(elements)


def joined_rows(
    name: str,
    rows: Iterable[Any],
    expected: str,
    row_name: Callable[[int], str] = "in list {}".format,
) -> tuple[IntArray, Elements]:
    """Return how many elements each row has, and those of all rows, one row after another.

    Parameters
    ----------
    name, expected : str
        For messages.
    rows : iterable
        Of what `read_elements` takes.
    row_name : callable, optional
        The place of a row, for messages.

    Examples
    --------
    >>> joined_rows("known", [["b", "a"], ("c",)], "labels")
    (array([2, 1]), ['b', 'a', 'c'])
    """
    read: list[Any] = []
    for i, row in enumerate(rows):
        if isinstance(row, (list, tuple)):
            read.append(row)
        else:
            read.append(read_elements(name, row, f"{expected} {row_name(i)}"))
    lengths = np.array(list(map(len, read)), dtype=np.int64)
    # An empty array says nothing of what the others hold.
    filled = [row for row in read if len(row)]
    if filled and all(isinstance(row, np.ndarray) for row in filled):
        return lengths, np.concatenate(filled)
    joined = list(chain.from_iterable(filled))
    ends = np.cumsum(lengths)

    def where(i: int) -> str:
        return row_name(int(np.searchsorted(ends, i, side="right")))

    return lengths, read_elements(name, joined, expected, where)


def first_names(names: Sequence[Name]) -> str:
    """Return the first three names, for messages.

    Examples
    --------
    >>> first_names(["q1", "q2", "q3", "q4"]), first_names([7])
    ("'q1', 'q2', 'q3', ...", '7')
    """
    shown = list(map(repr, names[:3]))
    if len(names) > len(shown):
        shown.append("...")
    return ", ".join(shown)
