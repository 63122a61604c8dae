"""Raw binary files: scores without a header, of which the caller says how they lie."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.scores import DTYPES
from .headers import Place, matrix_shape, named


def of_raw(
    name: str,
    size: int,
    dtype: object,
    lengths: tuple[int, ...],
    offset: int = 0,
    order: str = "C",
) -> Place:
    """Place the matrix of a raw binary file, which must end where the matrix does.

    Parameters
    ----------
    name : str
        What messages call the file.
    size : int
        Its bytes.
    dtype : str or dtype
        One that scores may have; numpy's marks of a byte order are understood.
    lengths : tuple of int
        (rows, columns) or (columns,); one of them may be -1, which follows from the size.
    offset : int
        Bytes before the scores.
    order : {"C", "F"}
        Whether rows or columns lie together.

    Raises
    ------
    TypeError
        For a dtype that scores cannot have.
    ValueError
        For a file of another size.
    """
    carrier, wanted = _raw_dtype(dtype)
    dtype_name = named(name, carrier, wanted)
    if -1 in lengths:
        lengths = _inferred(name, lengths, size, offset, carrier.itemsize, dtype_name)
    place = Place(
        name,
        "the call says",
        offset,
        matrix_shape(name, lengths),
        dtype_name,
        carrier,
        order == "F",
        len(lengths) == 1,
        exact=True,
    )
    place.check(size)
    return place


def _raw_dtype(dtype: object) -> tuple[np.dtype[Any], object]:
    """The dtype to read raw scores as, and what they are where numpy has no name for it."""
    plain = str(dtype).removeprefix("torch.")
    name = plain.lstrip("<>")
    if name in DTYPES:  # by those names numpy takes no mark
        carrier = np.dtype(np.uint16 if name == "bfloat16" else name)
        swap = plain[0] == (">" if sys.byteorder == "little" else "<")
        return carrier.newbyteorder("S" if swap else "="), name
    try:
        return np.dtype(dtype if isinstance(dtype, (str, type, np.dtype)) else plain), None
    except TypeError:
        raise InputTypeError(
            "dtype", expected="a dtype that scores may have", got=repr(dtype)
        ) from None


def _inferred(
    name: str, lengths: tuple[int, ...], size: int, offset: int, itemsize: int, dtype: str
) -> tuple[int, ...]:
    """Fill in the one length that is -1."""
    known = sum(length for length in lengths if length != -1) if len(lengths) == 2 else 1
    each, left = known * itemsize, size - offset
    if each == 0:
        raise InputValueError("shape", f"{name}: -1 beside 0 can be any length, got {lengths}")
    if left < 0 or left % each:
        raise InputValueError(
            "scores",
            (
                f"{name}: expected a multiple of {each:,} bytes ({known:,} {dtype}) from "
                f"byte {offset:,} on, the file has {size:,}"
            ),
        )
    return tuple(left // each if length == -1 else length for length in lengths)
