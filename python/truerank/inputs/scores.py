"""Scores that users hand over: any array-like becomes a view for the core, without a copy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._core import Scores
from ..errors import InputTypeError, InputValueError
from .array_likes import as_array, is_tensor, refuse_mask, tensor_array
from .checks import MOST_ENTRIES, by_position, check_size, is_integer, is_sparse

if TYPE_CHECKING:
    import numpy.typing as npt

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = FLOATS + INTEGERS
# Only vectors may be complex numbers; each has the dtype of its parts here.
PARTS = {"complex64": "float32", "complex128": "float64"}
# 16-bit floats may also come as raw bytes, or as integers with the same bits.
_NARROW = ("bfloat16", "float16")
_RAW_BITS = ("int16", "uint16", "void16")
_EXACT = 1 << 53  # Integers below it are floats of 64 bits.
# numpy reads an array by one of these, where there is DLPack as well.
_HOST = 1  # DLPack's number of the processor's memory
_PROTOCOLS = ("__array__", "__array_interface__", "__array_struct__", "__buffer__")
# Most dtypes are in the machine's own byte order, and are recognized by one look-up.
_NATIVE_NAMES = {np.dtype(name): name for name in DTYPES if name != "bfloat16"}


def refuse_rounded(name: str, values: Any, array: npt.NDArray[Any]) -> None:
    """Refuse lists whose integers numpy has rounded, to hold them beside floats or other integers.

    Parameters
    ----------
    name : str
        The argument, for the message.
    values : list or tuple
        Numbers, also in lists within it.
    array : ndarray
        What numpy has made of them.

    Examples
    --------
    >>> rounded = [2**53 + 1, 0.5]
    >>> refuse_rounded("scores", rounded, np.array(rounded))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    truerank.errors.InputValueError: scores: expected integers that a float64 holds, ...
    """
    if array.dtype != np.float64 or not (np.abs(array) >= _EXACT).any():
        return
    for value in _numbers_in(values):
        if is_integer(value) and int(value) != float(value):
            expected = "integers that a float64 holds, as they are beside others"
            raise InputValueError(name, expected=expected, got=value)


def _numbers_in(values: Any) -> Iterator[Any]:
    """Yield the numbers in lists, tuples and arrays, however deep."""
    if not isinstance(values, (list, tuple, np.ndarray)):
        yield values
        return
    for value in values:
        yield from _numbers_in(value)


def dtype_name(
    dtype: np.dtype[Any],
    asked: object = None,
    dtypes: tuple[str, ...] = DTYPES,
    place: str = "",
    known: str | None = None,
) -> str:
    """Return the name of the dtype that scores have.

    Parameters
    ----------
    dtype : dtype
        The dtype of the array.
    asked : str or dtype, optional
        What the caller says that it is.
    dtypes : tuple of str
        Those that are allowed, where the array is not scores.
    place : str
        The file, for the messages.
    known : str, optional
        The name of the dtype, if numpy has none for it.

    Raises
    ------
    TypeError
        For a dtype that scores cannot have, and if the caller says that they have another.
    """
    name = known or dtype.name
    if asked is not None:
        stated = named_dtype(asked)[0]
        is_as_stated = PARTS.get(name, name) == stated
        if stated in _NARROW and name in _RAW_BITS:
            name = stated
        elif not is_as_stated and (dtypes is DTYPES or stated not in _NARROW):
            # If they are no scores, "bfloat16" and "float16" say only what raw bits are.
            expected = f"{stated}, as dtype= says"
            raise InputTypeError("scores", expected=expected, got=f"dtype {dtype}", place=place)
    if name not in dtypes:
        got = f"dtype {dtype}"
        if name == "void16":
            got += '; dtype="bfloat16" says that they are bfloat16'
        expected = f"one of {', '.join(dtypes)}"
        raise InputTypeError("scores", expected=expected, got=got, place=place)
    return name


def named_dtype(dtype: Any) -> tuple[str, np.dtype[Any]]:
    """Return the name of a dtype of scores that the caller names, and numpy's dtype for it.

    Names are those of numpy and torch, also with "<" or ">" for a byte order before them.

    Raises
    ------
    TypeError
        For what is no dtype of scores.

    Examples
    --------
    >>> named_dtype(">bfloat16"), named_dtype(float)
    (('bfloat16', dtype('>u2')), ('float64', dtype('float64')))
    """
    with suppress(TypeError, ValueError):  # Some objects cannot even be written as text.
        text = str(dtype).removeprefix("torch.")
        name = text.lstrip("<>")  # numpy takes no byte order before these names.
        if name in DTYPES:
            order: Any = text.removesuffix(name) or "="
            carrier = "uint16" if name == "bfloat16" else name
            return name, np.dtype(carrier).newbyteorder(order)
        plain = np.dtype(dtype)
        if plain.name in DTYPES:
            return plain.name, plain
    raise InputTypeError("dtype", expected=f"one of {', '.join(DTYPES)}", got=repr(dtype))


def as_scores(value: object, dtype: object = None, dtypes: tuple[str, ...] = DTYPES) -> Scores:
    """View scores as a matrix that the core can read.

    Parameters
    ----------
    value : array_like, shape (rows, columns) or (columns,)
        An array, or anything with `__array__`, the buffer protocol or DLPack, in the host's memory;
        torch tensors, which are copied as a whole if they are on a device. `Scores`, which have
        been checked before, stay as they are.
    dtype : str or dtype, optional
        What raw 16-bit scores are, "bfloat16" or "float16"; for others, the dtype that is expected.
    dtypes : tuple of str
        The dtypes that are allowed, where the array is not scores.

    Raises
    ------
    TypeError
        For scores that are not numbers of a supported dtype, and if `dtype` names another.
    ValueError
        For scores that are neither a matrix nor a single row.
    """
    if type(value) is Scores:
        return value
    are_scores = dtypes is DTYPES
    array, known = _as_array(value, are_scores=are_scores)
    is_usual = dtype is None and known is None and are_scores
    name = _NATIVE_NAMES.get(array.dtype) if is_usual else None
    if name is None:
        name = dtype_name(array.dtype, dtype, dtypes, known=known)
    check_dimensions(array.shape)
    # One row or column has this limit; files may have more in all.
    if array.size > MOST_ENTRIES:
        check_size("scores", max(array.shape))
    return Scores(array, name, not array.dtype.isnative)


def check_dimensions(shape: tuple[int, ...], place: str = "") -> None:
    """Check that scores are a matrix or a single row."""
    if len(shape) not in (1, 2):
        expected = "a matrix (rows, columns) or a single row (columns,)"
        got = f"shape {tuple(shape)}"
        raise InputValueError("scores", expected=expected, got=got, place=place)


def widen_bfloat16(bits: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Return bfloat16 numbers, given as two raw bytes each, as float32, whose upper half they are.

    Examples
    --------
    >>> widen_bfloat16(np.array([0x3F80, 0xC000], np.uint16))
    array([ 1., -2.], dtype=float32)
    """
    numbers = bits.view(np.dtype(np.uint16).newbyteorder(bits.dtype.byteorder))
    return (numbers.astype(np.uint32) << 16).view(np.float32)


@contextmanager
def default_arithmetic() -> Iterator[None]:
    """Compute as IEEE 754 has it by default: round to nearest, and keep subnormal numbers.

    Other libraries change a thread's arithmetic for speed: after `torch.set_flush_denormal(True)`
    subnormal numbers count as 0. The core sets that aside by itself; this is for what NumPy
    computes from scores.

    It is a context and a decorator. No generator may yield in it: the caller would compute so, too.

    Examples
    --------
    >>> with default_arithmetic():
    ...     5e-324 > 0
    True
    """
    before = _core.use_default_arithmetic()
    try:
        yield
    finally:
        _core.restore_arithmetic(before)


def _as_array(value: object, *, are_scores: bool) -> tuple[npt.NDArray[Any], str | None]:
    """Return an array over the same memory, and the name of its dtype if numpy has none for it."""
    if type(value) is np.ndarray:
        return value, None
    value = by_position("scores", value)
    refuse_mask("scores", value, hint="give a filter instead" if are_scores else "")
    if is_tensor(value):
        return tensor_array(value, "scores")
    if is_sparse(value):
        raise InputTypeError("scores", expected="a dense array", got=type(value).__name__)
    is_foreign = hasattr(value, "__dlpack_device__") and not isinstance(value, np.ndarray)
    if is_foreign and (_is_on_device(value) or not any(hasattr(value, x) for x in _PROTOCOLS)):
        return _from_dlpack(value), None
    array = as_array(value, "scores", "a matrix of numbers")
    if array.ndim == 0 and array.dtype.kind == "O":  # A mapping, a generator, a function, None.
        expected = "an array, tensor or memory map, a path, or lists of numbers"
        raise InputTypeError("scores", expected=expected, got=type(value).__name__)
    if isinstance(value, (list, tuple)):
        refuse_rounded("scores", value, array)
    return array, None


def _is_on_device(value: Any) -> bool:
    """Whether an array is on a device, or on several, by what its DLPack says."""
    try:
        return bool(value.__dlpack_device__()[0] != _HOST)
    except BufferError:  # JAX raises it for an array over several devices.
        return True


def _from_dlpack(value: Any) -> npt.NDArray[Any]:
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError) as error:
        got = f"{type(value).__name__} ({error}); torch.from_dlpack reads it on any device"
        raise InputTypeError("scores", expected="an array in the host's memory", got=got) from None
