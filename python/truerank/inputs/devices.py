"""Arrays of torch and JAX, in the host's memory and on accelerators.

Neither library is imported: where it has not been, nobody has an array of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import InputTypeError

if TYPE_CHECKING:
    import numpy.typing as npt


def is_tensor(value: object) -> bool:
    """Whether a value is a tensor of torch.

    Examples
    --------
    >>> is_tensor(np.zeros(3))
    False
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, getattr(torch, "Tensor", ()))


def is_elsewhere(value: Any) -> bool:
    """Whether an array of torch or JAX is not in the host's memory, or not in one piece.

    Examples
    --------
    >>> is_elsewhere(np.zeros((2, 3))), is_elsewhere([[0.1, 0.2]])
    (False, False)
    """
    if is_tensor(value):
        return not value.is_cpu
    if type(value).__module__.partition(".")[0] == "jaxlib" and hasattr(value, "sharding"):
        devices = value.sharding.device_set
        return len(devices) > 1 or next(iter(devices)).platform != "cpu"
    return False


def on_host(value: Any, name: str = "array") -> Any:
    """Copy an array from wherever it is, as a whole; what is in the host's memory stays as it is.

    Parameters
    ----------
    value : object
        Anything.
    name : str
        The argument's name, for the messages.

    Raises
    ------
    TypeError
        For a tensor that has no numbers to read, as `dense` does.

    Examples
    --------
    >>> on_host([1, 2])
    [1, 2]
    """
    if not is_elsewhere(value):
        return value
    return dense(value, name).to("cpu") if is_tensor(value) else np.asarray(value)


def dense(tensor: Any, name: str) -> Any:
    """Give a tensor without its gradient, or say why it has no numbers to read.

    Raises
    ------
    TypeError
        For one that is not dense (sparse, nested, quantized, distributed) or has no data.
    """
    for words, is_such in _NOT_DENSE.items():
        if is_such(tensor):
            raise InputTypeError(name, expected="a dense tensor of numbers", got=words)
    return tensor.detach()


_NOT_DENSE: dict[str, Callable[[Any], bool]] = {
    "a fake one, which has no data": lambda tensor: type(tensor).__name__ == "FakeTensor",
    'one on the device "meta", which has no data': lambda tensor: tensor.is_meta,
    "a DTensor; to_local() or full_tensor() of it is dense": lambda tensor: (
        type(tensor).__name__ == "DTensor"
    ),
    "a nested one": lambda tensor: tensor.is_nested,
    "a quantized one; dequantize() of it is dense": lambda tensor: tensor.is_quantized,
    "a sparse one; to_dense() of it is dense": lambda tensor: (
        tensor.layout is not sys.modules["torch"].strided
    ),
}


def tensor_array(tensor: Any, name: str) -> tuple[npt.NDArray[Any], str | None]:
    """View the memory of a tensor on the host, or of a copy of one that is elsewhere.

    Parameters
    ----------
    tensor : torch.Tensor
        With a gradient or without.
    name : str
        The argument's name, for the messages.

    Returns
    -------
    array : ndarray
        Of the bits as int16 where numpy has no such dtype.
    dtype : str or None
        What those are: "bfloat16".

    Raises
    ------
    TypeError
        For a tensor that has no numbers to read, and for a dtype that numpy has not.
    """
    torch = sys.modules["torch"]
    if not tensor.is_cpu:
        tensor = on_host(tensor, name)
    try:
        plain = tensor.detach().resolve_conj().resolve_neg()
        if plain.dtype == torch.bfloat16:
            return plain.view(torch.int16).numpy(), "bfloat16"
        return plain.numpy(), None
    except (RuntimeError, TypeError) as error:
        dense(tensor, name)
        raise InputTypeError(
            name,
            expected="a tensor of numbers in memory",
            got=f"{type(tensor).__name__} of dtype {tensor.dtype}: {error}",
        ) from None


def as_array(value: Any, name: str = "array") -> npt.NDArray[Any]:
    """Make an array of anything, as numpy does; of a tensor on an accelerator, too.

    Raises
    ------
    TypeError
        For what cannot be read: a tensor that is not dense, a list of some on an accelerator, an
        array that has been deleted.

    Examples
    --------
    >>> as_array([1, 2])
    array([1, 2])
    """
    if type(value) is np.ndarray:
        return value
    try:
        return np.asarray(value)
    except (RuntimeError, TypeError) as error:  # it costs nothing where nothing is elsewhere
        here = on_host(value, name)
        if here is not value and not is_elsewhere(here):
            return as_array(here, name)
        raise InputTypeError(
            name, expected="an array in the host's memory", got=f"{type(value).__name__}: {error}"
        ) from error
