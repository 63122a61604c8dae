"""Arrays that users hand over, of torch too: checked, read-only, in the host's memory.

torch is not imported here: a program that has not imported it has no tensor of it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, InputTypeError, InputValueError
from .checks import by_position, check_length, check_shape, check_size, kind_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray


def is_tensor(value: object) -> bool:
    """Whether a value is a tensor of torch.

    Examples
    --------
    >>> is_tensor(np.zeros(3))
    False
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, getattr(torch, "Tensor", ()))


def device_of(value: Any) -> str:
    """Return the name of the device that a tensor is on; empty for all others.

    Examples
    --------
    >>> device_of(np.zeros((2, 3))), device_of([[0.1, 0.2]])
    ('', '')
    """
    if not is_tensor(value) or value.is_cpu:
        return ""
    return str(value.device)


def on_host(value: Any, name: str = "array") -> Any:
    """Copy a tensor on a device to the host's memory; return anything else as it is.

    Parameters
    ----------
    value : object
        Anything.
    name : str
        The argument's name, for the messages.

    Raises
    ------
    TypeError
        For a tensor that has no numbers to read, as `dense_tensor` does.

    Examples
    --------
    >>> on_host([1, 2])
    [1, 2]
    """
    if not device_of(value):
        return value
    return dense_tensor(value, name).to("cpu")


def dense_tensor(tensor: Any, name: str) -> Any:
    """Return a tensor without its gradient.

    Raises
    ------
    TypeError
        For a tensor that is not dense (sparse, nested, quantized, distributed) or has no data.
    """
    torch = sys.modules["torch"]
    kind = type(tensor).__name__
    has_no_numbers = (
        kind in ("FakeTensor", "DTensor")
        or torch._C._functorch.is_functorch_wrapped_tensor(tensor)
        or tensor.is_meta
        or tensor.is_nested
        or tensor.is_quantized
        or tensor.layout is not torch.strided
    )
    if has_no_numbers:
        words = "not sparse, nested, quantized, distributed, on meta, fake or within torch.vmap"
        raise InputTypeError(name, expected=f"a dense tensor of numbers ({words})", got=kind)
    return tensor.detach()


def tensor_array(tensor: Any, name: str) -> tuple[npt.NDArray[Any], str | None]:
    """View a tensor as a numpy array; a tensor on a device is copied to the host first.

    Parameters
    ----------
    tensor : torch.Tensor
        With a gradient or without.
    name : str
        The argument's name, for the messages.

    Returns
    -------
    array : ndarray
        int16 with the same bits where numpy does not have the dtype.
    dtype : str or None
        The dtype of those bits, "bfloat16"; None for a dtype that numpy has.

    Raises
    ------
    TypeError
        For a tensor that has no numbers to read, and for a dtype that numpy does not have.
    """
    torch = sys.modules["torch"]
    host_tensor = dense_tensor(tensor, name).to("cpu")
    plain = host_tensor.resolve_conj().resolve_neg()
    if plain.dtype == torch.bfloat16:
        return plain.view(torch.int16).numpy(), "bfloat16"
    try:
        return plain.numpy(), None
    except TypeError:
        expected = "a tensor of a dtype that numpy has, or bfloat16"
        raise InputTypeError(name, expected=expected, got=f"dtype {tensor.dtype}") from None


def as_array(value: Any, name: str = "array", what: str = "an array") -> npt.NDArray[Any]:
    """Make an array of anything that numpy takes, and of a tensor on a device.

    An array has no names: those of a frame or Series are refused, as `by_position` says it.

    Parameters
    ----------
    value : object
    name, what : str
        The argument's name, and what the message says was expected.

    Raises
    ------
    TypeError
        For what cannot be read: a tensor that is not dense, a list of tensors on a device, an array
        that has been deleted.
    ValueError
        For lists of unlike lengths, and for names.

    Examples
    --------
    >>> as_array([1, 2])
    array([1, 2])
    >>> as_array([[1, 2], [3]], "rows")
    Traceback (most recent call last):
    ...
    truerank.errors.InputValueError: rows: expected an array, got lists of unlike lengths
    """
    if type(value) is np.ndarray:
        return value
    is_listed = isinstance(value, (list, tuple))
    if isinstance(value, range):
        check_length(name, value)
    if not is_listed:
        value = by_position(name, value)
    try:
        array = np.asarray(on_host(value, name))
    except InputError:  # It says what is wrong.
        raise
    except MemoryError:
        got = f"{type(value).__name__} of more than the memory holds"
        raise InputValueError(name, expected=what, got=got) from None
    except (RuntimeError, TypeError, ValueError) as error:
        got = f"{type(value).__name__}: {error}"
        if "inhomogeneous" in str(error):
            got = "lists of unlike lengths"
        kind = InputValueError if isinstance(error, ValueError) else InputTypeError
        raise kind(name, expected=what, got=got) from error
    if is_listed and array.ndim > 1 and kind_of("pandas", "Series") in map(type, value):
        for row in value:
            by_position(name, row)
    return array


def array_shape(name: str, value: Any) -> tuple[int, ...]:
    """Return the shape of an array, or of what would be made of lists.

    Examples
    --------
    >>> array_shape("filter", [[1, 2, 3], [4, 5, 6]])
    (2, 3)
    """
    shape = getattr(value, "shape", None)
    if not isinstance(shape, tuple):
        shape = as_array(value, name).shape
    return shape


def refuse_mask(
    name: str, value: object, expected: str = "plain numbers", *, hint: str = ""
) -> None:
    """Refuse a masked array, whose mask would be lost; a hint says what to do instead.

    Examples
    --------
    >>> refuse_mask("targets", np.ma.masked_array([3, 1], mask=[True, False]))
    Traceback (most recent call last):
    ...
    truerank.errors.InputTypeError: targets: expected plain numbers, got a masked array
    """
    if isinstance(value, np.ndarray) and isinstance(value, np.ma.MaskedArray):
        got = "a masked array"
        if hint:
            got += f"; {hint}"
        raise InputTypeError(name, expected=expected, got=got)


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Make an array of our own read-only, and return it."""
    array.flags.writeable = False
    return array


_INT64 = np.dtype(np.int64)  # numpy has a single object of it.


def index_array(name: str, value: object, *, copy: bool = True, what: str = "an array") -> IntArray:
    """Check integers that will be used as indices, of any shape, and return them as int64.

    Parameters
    ----------
    name : str
        The argument's name, for the messages.
    value : array_like of int
        Integers of any dtype. An empty list or tuple is fine, an empty array of floats is not.
    copy : bool
        False takes over an int64 array that nobody else writes to.
    what : str
        What the message says was expected.

    Raises
    ------
    TypeError
        For anything but integers; floats with integral values and booleans too.
    ValueError
        For integers outside int64.

    Examples
    --------
    >>> index_array("rows", [[0, 2]])
    array([[0, 2]])
    """
    # This is the usual case, and costs as little as possible.
    if type(value) is np.ndarray and value.dtype is _INT64:
        # A broadcast array may have more entries than memory holds.
        if not value.flags.c_contiguous:
            check_size(name, value.size)
            return value.copy()
        if copy:
            return value.copy()
        return value
    refuse_mask(name, value)
    array = as_array(value, name, what)
    check_size(name, array.size)
    if array.size == 0 and isinstance(value, (list, tuple)):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise InputTypeError(name, expected="integers", got=_type_of(array, value))
    if array.dtype == np.uint64 and array.size:
        largest = int(array.max())
        if largest >= 1 << 63:
            raise InputValueError(name, expected="integers below 2**63", got=largest)
    return array.astype(np.int64, order="C", copy=copy)


def native_indices(name: str, value: object) -> npt.NDArray[Any]:
    """Return native, contiguous int32 or int64, without a copy if they are that already."""
    array = as_array(value, name)
    if array is not value:
        refuse_mask(name, value)
    if not array.flags.c_contiguous:
        check_size(name, array.size)
    if array.dtype in (np.dtype(np.int32), np.dtype(np.int64)):
        if not array.size:
            array = array.copy()  # An empty one may be aligned for numpy alone.
        return np.require(array, requirements=["C", "A"])
    return index_array(name, value)


def integers(name: str, value: object, *, length: int | None = None) -> IntArray:
    """Check a 1-D array of integers and return it as read-only int64.

    Parameters
    ----------
    name, value
        As in `index_array`.
    length : int, optional
        The length that is expected.

    Returns
    -------
    ndarray of int64, shape (n,)

    Raises
    ------
    TypeError, ValueError
        As in `index_array`, and for another shape or length.

    Examples
    --------
    >>> integers("above", [0, 2])
    array([0, 2])
    """
    array = index_array(name, value, what="a 1-D array of integers")
    if length is None:
        check_shape(name, array.shape, 1, "a 1-D array of integers")
    else:
        check_shape(name, array.shape, (length,), f"{length} integers, one for each task")
    return read_only(array)


def checked_weights(
    value: object, *, length: int, name: str = "weights", each: str = "task"
) -> FloatArray:
    """Check weights, one for each task, and return them as read-only float64.

    Parameters
    ----------
    value : array_like of float or int, shape (length,)
        Finite and not negative. The caller checks that not all of them are 0.
    length : int
        The number of tasks.
    name, each : str
        The name of the argument, and what has a weight.

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
    >>> checked_weights([1, 3], length=2)
    array([1., 3.])
    """
    refuse_mask(name, value)
    array = as_array(value, name, "a 1-D array of numbers")
    if array.dtype.kind not in "iuf":
        raise InputTypeError(name, expected="real numbers", got=_type_of(array, value))
    check_shape(name, array.shape, (length,), f"{length} numbers, one for each {each}")
    array = array.astype(np.float64, order="C")
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        got = f"{array[wrong][0]} at position {wrong.argmax()}"
        raise InputValueError(name, expected="finite numbers >= 0", got=got)
    return read_only(array)


def _type_of(array: npt.NDArray[Any], value: object) -> str:
    if array.ndim == 0:
        return type(value).__name__
    return f"dtype {array.dtype}"
