"""Scores as they come: any array-like becomes a view that the core can read, without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .._core import Scores
from .devices import as_array, is_tensor, tensor_array
from .errors import InputTypeError, InputValueError, spelled

if TYPE_CHECKING:
    import numpy.typing as npt

DTYPES = (
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
)
# 16-bit floats also travel as the integers that have their bits.
_CARRIERS = {"bfloat16": ("int16", "uint16"), "float16": ("int16", "uint16")}


def as_scores(value: object, dtype: object = None, name: str = "scores") -> Scores:
    """View scores as a matrix that the core can read.

    Parameters
    ----------
    value : array_like, shape (rows, columns) or (columns,)
        An array, or anything with `__array__`, the buffer protocol or DLPack; torch tensors and JAX
        arrays, of which a whole copy is made where they are not in the host's memory.
    dtype : str or dtype, optional
        What raw 16-bit scores are, "bfloat16" or "float16"; else the dtype that is expected.
    name : str
        The argument's name, for the messages.

    Raises
    ------
    TypeError
        For scores that are no numbers of a supported dtype, and where `dtype` names another.
    ValueError
        For scores that are neither a matrix nor a single row.
    """
    array, known = _as_array(value, name)
    found = known or _name_of(array.dtype)
    if dtype is not None:
        wanted = _wanted(dtype)
        raw = found.startswith("void") and array.dtype.itemsize == _itemsize(wanted)
        if raw or found in _CARRIERS.get(wanted, ()):
            found = wanted
        elif found != wanted:
            raise InputTypeError(
                "dtype", f"{name} of dtype {array.dtype} cannot be taken as {wanted}"
            )
    if found not in DTYPES:
        said = f"; {spelled('dtype', 'bfloat16')} says that they are bfloat16"
        hint = said if found == "void16" else ""
        raise InputTypeError(
            name, expected=f"one of {', '.join(DTYPES)}", got=f"dtype {array.dtype}{hint}"
        )
    if array.ndim not in (1, 2):
        refuse_shape(array.shape, name)
    return Scores(array, found, not array.dtype.isnative)


def refuse_shape(shape: tuple[int, ...], name: str) -> NoReturn:
    """Say that scores of a shape are neither a matrix nor a single row."""
    raise InputValueError(
        name,
        expected="a matrix (rows, columns) or a single row (columns,)",
        got=f"shape {tuple(shape)}",
    )


def widened(bits: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Give bfloat16 numbers, two raw bytes each, as float32: they are its upper halves.

    Examples
    --------
    >>> widened(np.array([0x3F80, 0xC000], np.uint16))
    array([ 1., -2.], dtype=float32)
    """
    numbers = bits.view(np.dtype(np.uint16).newbyteorder(bits.dtype.byteorder))
    return (numbers.astype(np.uint32) << 16).view(np.float32)


def _as_array(value: object, name: str) -> tuple[npt.NDArray[Any], str | None]:
    """An array over the same memory, and the name of its dtype where numpy has none for it."""
    if type(value) is np.ndarray:
        return value, None
    if isinstance(value, np.ma.MaskedArray):
        raise InputTypeError(
            name, expected="plain scores", got="a masked array; give a filter instead"
        )
    if is_tensor(value):
        return tensor_array(value, name)
    if hasattr(value, "tocsr"):
        raise InputTypeError(name, expected="dense scores", got=type(value).__name__)
    foreign = ("__array__", "__array_interface__", "__array_struct__", "__buffer__")
    if hasattr(value, "__dlpack__") and not any(hasattr(value, way) for way in foreign):
        return _from_dlpack(value, name), None
    try:
        return as_array(value, name), None
    except ValueError as error:
        raise InputValueError(name, expected="a matrix of numbers", got=error) from None


def _from_dlpack(value: Any, name: str) -> npt.NDArray[Any]:
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError) as error:
        raise InputTypeError(
            name,
            expected="an array in the host's memory",
            got=f"{type(value).__name__} ({error}); torch.from_dlpack of it may be anywhere",
        ) from None


def _name_of(dtype: np.dtype[Any]) -> str:
    # A structured dtype is called "void" with its size, too.
    return dtype.name if dtype.names is None and dtype.subdtype is None else "struct"


def _wanted(dtype: object) -> str:
    if isinstance(dtype, str):
        name = dtype
    else:
        try:
            name = np.dtype(dtype).name  # type: ignore[call-overload]
        except TypeError:
            name = str(dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise InputTypeError("dtype", expected=f"one of {', '.join(DTYPES)}", got=repr(dtype))
    return name


def _itemsize(name: str) -> int:
    return int(name.lstrip("abcdefghijklmnopqrstuvwxyz")) // 8
