"""Dask arrays as arguments: what can be told of them without computing anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import numpy as np

from ...inputs.errors import InputTypeError, InputValueError

if TYPE_CHECKING:
    import numpy.typing as npt


def checked_array(name: str, value: Any, instead: str) -> Any:
    """Check that an argument is a Dask array whose chunks are of known sizes.

    Parameters
    ----------
    name : str
        The argument.
    value : object
    instead : str
        The function that takes other arrays.

    Raises
    ------
    TypeError
        For anything but a Dask array.
    ValueError
        For unknown sizes.

    Examples
    --------
    >>> checked_array("scores", [[0.5]], "truerank.rank")
    Traceback (most recent call last):
    truerank.InputTypeError: scores: expected a dask array, got list; truerank.rank takes it
    """
    if not isinstance(value, da.Array):
        raise InputTypeError(
            name, expected="a dask array", got=f"{type(value).__name__}; {instead} takes it"
        )
    if np.isnan(value.shape).any():
        raise InputValueError(
            name,
            expected="chunks of known sizes",
            got=f"shape {value.shape}; compute_chunk_sizes() finds them out",
        )
    return value


def stand_in(array: Any) -> npt.NDArray[Any]:
    """Give an array of the same shape and dtype that takes no memory, for checks.

    Examples
    --------
    >>> stand_in(da.zeros((10**6, 10**6))).shape
    (1000000, 1000000)
    """
    return np.broadcast_to(np.empty((), array.dtype), array.shape)


def computed_once(array: Any) -> Any:
    """Give an array whose chunks are not computed anew by each task that needs them.

    Dask may join the task that makes a chunk to the one that needs it, even where there are many of
    these. It does not so with a graph that is already of single tasks.
    """
    (array,) = dask.optimize(array)
    return da.Array(dict(array.dask), array.name, array.chunks, meta=array._meta)
