"""Grades of judgements: finite numbers of any kind and sign, whatever has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.arrays import as_array
from ..inputs.checks import is_number
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.frames import without_index
from .elements import is_integer_text

if TYPE_CHECKING:
    import numpy.typing as npt

_LARGEST_WHOLE = 2.0**53  # from here on not every whole number is a float64


def read_grades(argument: str, values: Any) -> npt.NDArray[Any]:
    """Return grades, which are finite numbers of any kind and sign, whatever has them.

    Parameters
    ----------
    argument : str
        For messages.
    values : sequence of numbers, shape (n,)
        Digits in quotes are the int that they write.

    Returns
    -------
    ndarray, shape (n,)
        Of int64 where all are whole, of float64 otherwise.

    Raises
    ------
    InputTypeError, InputValueError
        For what is no number, and for NaN and infinite ones.

    Examples
    --------
    >>> read_grades("qrels", [2.0, -1]), read_grades("qrels", np.array([1, 0.1]))
    (array([ 2, -1]), array([1. , 0.1]))
    """
    expected = "grades that are finite numbers"
    array = as_array(without_index(values), argument, expected)
    if array.dtype.kind in "OUT":  # a column of Python's numbers, or of text
        array = as_array(list(map(_number_of_digits, values)), argument, expected)
    if not len(array):
        return np.zeros(0, np.int64)
    if array.dtype.kind not in "biuf" or array.ndim != 1:
        odd = [(value, row) for row, value in enumerate(values) if not _is_grade(value)]
        value, row = odd[0]
        raise InputTypeError(argument, expected=expected, got=f"{value!r} in row {row}")
    if array.dtype.kind in "bi":
        return array.astype(np.int64, copy=False)
    grades = array.astype(np.float64)
    is_odd = ~np.isfinite(grades)
    if is_odd.any():
        row = int(is_odd.argmax())
        raise InputValueError(argument, expected=expected, got=f"{array[row]} in row {row}")
    is_whole = (grades == np.floor(grades)) & (np.abs(grades) < _LARGEST_WHOLE)
    if is_whole.all():
        return grades.astype(np.int64)
    return grades


def _number_of_digits(value: Any) -> Any:
    """Return the int that digits in quotes write; anything else as it is."""
    if isinstance(value, str) and is_integer_text(value):
        return int(value)
    return value


def _is_grade(value: Any) -> bool:
    return is_number(_number_of_digits(value))
