"""Frames and Series of pandas and polars as values: their names are compared, and never lost.

Neither library is imported here: a program that has not imported it has no frame of it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputTypeError, InputValueError

if TYPE_CHECKING:
    import numpy.typing as npt

# These are words of messages: what has names, what the names are of, and what puts labels and what
# puts numbers in order.
_WORDS = {
    "index": ("series", "an index", "series.loc[list({})]", "series.sort_index()"),
    "rows": ("frame", "rows", "frame.loc[list({})]", "frame.sort_index()"),
    "columns": ("frame", "columns", "frame[list({})]", "frame.sort_index(axis=1)"),
}


class Axis(NamedTuple):
    """What the rows or the columns of values stand for, in their order.

    `whole` are labels (None: they are numbered 0, 1, 2, ...), and `written` is how a user writes
    them. Of a part, `some` are the places of its rows in the whole.
    """

    whole: tuple[str, ...] | tuple[int, ...] | None = None
    written: str = ""
    some: npt.NDArray[Any] | None = None

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The labels, or the numbers of some; None: all are numbered."""
        if self.some is None:
            return self.whole
        places = self.some.tolist()
        if self.whole is None:
            return tuple(places)
        return tuple(map(self.whole.__getitem__, places))


NUMBERED = Axis()


def kind_of(library: str, name: str) -> Any:
    """Return a class of a library, for isinstance; an empty tuple if nobody has imported it."""
    return getattr(sys.modules.get(library), name, ())


def is_frame(value: object) -> bool:
    """Whether a value is a DataFrame of pandas or polars."""
    if isinstance(value, np.ndarray):  # This is the usual case.
        return False
    kinds = (kind_of("pandas", "DataFrame"), kind_of("polars", "DataFrame"))
    return isinstance(value, kinds)


def without_index(value: Any) -> Any:
    """Return a Series of pandas as an array: in a list of things, an index stands for nothing."""
    if isinstance(value, kind_of("pandas", "Series")):
        return value.to_numpy()
    return value


def by_position(name: str, value: Any, rows: Axis = NUMBERED, columns: Axis = NUMBERED) -> Any:
    """Return a frame or Series as an array, after its names were compared; all else as it is.

    Every door of values goes through this function, since an array has lost the names. What has no
    names passes: a RangeIndex from 0 by 1, or columns of polars that polars has named. So does what
    has another length, whose shape is an error of its own.

    Parameters
    ----------
    name : str
        The argument, for messages.
    value : object
    rows, columns : Axis
        What the index, and the columns of a frame, stand for.

    Raises
    ------
    InputValueError
        For names in another order, with the line that puts them in order, and for other names.
    InputTypeError
        For a frame of several dtypes: a common one would be a conversion, which may change order.

    Examples
    --------
    >>> import pandas
    >>> bias = pandas.Series([0.5, 2.0], ["b", "a"])
    >>> by_position("bias", bias, Axis(("b", "a"), "task.entities"))
    array([0.5, 2. ])
    >>> by_position("bias", bias, Axis(("a", "b"), "task.entities"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    truerank.errors.InputValueError: bias: expected an index in the order of task.entities...
    """
    if isinstance(value, np.ndarray):  # This is the usual case.
        return value
    if isinstance(value, kind_of("pandas", "Series")):
        _check_names(name, "index", value.index, rows)
        return value.to_numpy()
    if not is_frame(value):
        return value
    _check_names(name, "rows", getattr(value, "index", ()), rows)
    _check_names(name, "columns", value.columns, columns)
    first_of: dict[str, Any] = {}  # The first column of each dtype.
    for column, dtype in zip(value.columns, value.dtypes, strict=True):
        first_of.setdefault(str(dtype), column)
    if len(first_of) > 1:
        got = ", ".join(f"{dtype} in {column!r}" for dtype, column in first_of.items())
        raise InputTypeError(name, expected="columns of one dtype", got=got)
    return value.to_numpy()  # If they are in one block, this copies nothing.


def columns_of(name: str, value: Any) -> Axis:
    """Return the names of the columns of a frame, with which those of another one are compared."""
    if not is_frame(value) or _are_no_names(value.columns):
        return NUMBERED
    return Axis(tuple(value.columns), f"{name}.columns")


def _are_no_names(names: Any) -> bool:
    if isinstance(names, list):  # They are those of polars.
        return names == [f"column_{i}" for i in range(len(names))]
    is_range = isinstance(names, kind_of("pandas", "RangeIndex"))
    return is_range and names.start == 0 and names.step == 1


def _check_names(name: str, kind: str, names: Any, axis: Axis) -> None:
    """Refuse names of an index, of rows or of columns that are not those of an axis, in order."""
    if _are_no_names(names):
        return
    names = tuple(names)
    labels = axis.labels or tuple(range(len(names)))
    # Bools and floats are no labels, though True == 1.
    kinds = set(map(type, names)) - {str, int}
    are_labels = all(issubclass(kind, (str, np.integer)) for kind in kinds)
    if len(names) != len(labels) or (are_labels and names == labels):
        return
    noun, words, line_of_labels, line = _WORDS[kind]
    expected = f"{words} numbered 0, 1, 2, ..."
    if axis.labels:
        line = line_of_labels.format(axis.written)
        expected = f"{words} in the order of {axis.written}"
    ways = f"{noun}.to_numpy() if they stand by position"
    i = 0
    if are_labels:
        i = next(i for i, label in enumerate(labels) if names[i] != label)
        if set(names) == set(labels):
            ways = f"{line}, or {ways}"
    got = f"{names[i]!r} at position {i}, where {labels[i]!r} belongs; give {ways}"
    raise InputValueError(name, expected=expected, got=got)
