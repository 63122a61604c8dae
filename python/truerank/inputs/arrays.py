"""Arrays as Ranks keep them: checked, int64 or float64, one-dimensional, read-only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .devices import as_array
from .errors import InputTypeError, InputValueError

if TYPE_CHECKING:
    import numpy.typing as npt

    IntArray = npt.NDArray[np.int64]
    FloatArray = npt.NDArray[np.float64]


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Make an array of our own read-only, and return it."""
    array.flags.writeable = False
    return array


class Locked:
    """A base of results with read-only arrays: numpy's pickles do not keep that they are.

    Examples
    --------
    >>> import copy
    >>> class Found(Locked):
    ...     def __init__(self, ids):
    ...         self.ids = read_only(ids)
    >>> copy.deepcopy(Found(np.arange(3))).ids.flags.writeable
    False
    """

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)  # dataclasses that are frozen let nothing else in
        _lock(state)


def _lock(value: object) -> None:
    """Lock an array, or those in a mapping."""
    if isinstance(value, np.ndarray):
        read_only(value)
    elif isinstance(value, Mapping):
        for each in value.values():
            _lock(each)


def integers(name: str, value: object, *, length: int | None = None, copy: bool = True) -> IntArray:
    """Check a 1-D array of integers and give it as read-only int64.

    Parameters
    ----------
    name : str
        The argument's name, for the messages.
    value : array_like of int, shape (n,)
        Integers of any dtype. An empty list or tuple is fine, an empty array of floats is not.
    length : int, optional
        The length that is expected.
    copy : bool
        False takes over an int64 array that nobody else writes to.

    Returns
    -------
    ndarray of int64, shape (n,)

    Raises
    ------
    TypeError
        For anything but integers; floats with integral values and booleans too.
    ValueError
        For another shape or length, and for integers outside int64.

    Examples
    --------
    >>> integers("above", [0, 2])
    array([0, 2])
    """
    array = _as_array(name, value, "integers")
    if array.size == 0 and isinstance(value, (list, tuple)):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise InputTypeError(name, expected="integers", got=_type_of(value, array))
    _check_shape(name, array, "integers", length)
    if array.dtype.kind == "u" and array.dtype.itemsize == 8 and array.size:
        top = int(array.max())
        if top > np.iinfo(np.int64).max:
            raise InputValueError(name, expected="integers below 2**63", got=top)
    return read_only(array.astype(np.int64, order="C", copy=copy))


def weights(value: object, *, length: int, copy: bool = True) -> FloatArray:
    """Check weights, one for each task, and give them as read-only float64.

    Parameters
    ----------
    value : array_like of float or int, shape (length,)
        Finite and not negative. Whether all are 0 is the caller's business.
    length : int
        The number of tasks.
    copy : bool
        False takes over a float64 array that nobody else writes to.

    Returns
    -------
    ndarray of float64, shape (length,)

    Raises
    ------
    TypeError
        For anything but real numbers.
    ValueError
        For another shape or length, and for a weight that is negative, infinite or NaN.

    Examples
    --------
    >>> weights([1, 3], length=2)
    array([1., 3.])
    """
    array = _as_array("weights", value, "numbers")
    if array.dtype.kind not in "iuf":
        raise InputTypeError("weights", expected="real numbers", got=_type_of(value, array))
    _check_shape("weights", array, "numbers", length)
    array = array.astype(np.float64, order="C", copy=copy)
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        i = int(wrong.argmax())
        raise InputValueError(
            "weights", expected="finite numbers >= 0", got=f"{array[i]} at position {i}"
        )
    return read_only(array)


def _as_array(name: str, value: object, what: str) -> npt.NDArray[Any]:
    try:
        return as_array(value, name)
    except ValueError as error:  # a ragged list
        raise InputValueError(name, expected=f"a 1-D array of {what}", got=error) from None


def _type_of(value: object, array: npt.NDArray[Any]) -> str:
    if isinstance(value, (str, bytes)) or value is None:
        return type(value).__name__
    return f"dtype {array.dtype}"


def _check_shape(name: str, array: npt.NDArray[Any], what: str, length: int | None) -> None:
    if array.ndim != 1:
        raise InputValueError(name, expected=f"a 1-D array of {what}", got=f"shape {array.shape}")
    if length is not None and len(array) != length:
        raise InputValueError(
            name, expected=f"{length} {what}, one for each task", got=f"shape {array.shape}"
        )
