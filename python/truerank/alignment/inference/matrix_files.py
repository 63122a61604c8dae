"""A matrix of scores as it comes: in memory, or in one .npy file that is mapped."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core import Scores
from ...inputs.errors import InputTypeError, InputValueError, renamed
from ...inputs.scores import as_scores
from ...stores import Store, may_be_stored

if TYPE_CHECKING:
    import numpy.typing as npt

_PATHS = (str, bytes, os.PathLike)
_WHOLE = 1 << 80  # what is mapped is never cut into tiles


def read_matrix(name: str, value: Any, dtype: Any) -> Scores:
    """View scores in memory as they are, and map those of one .npy file.

    Nothing is copied. The map goes when the last array goes that looks at it.

    Parameters
    ----------
    name : str
        The argument's name, for messages.
    value : array_like or path
        A matrix; whether it has two dimensions is not checked.
    dtype : str or dtype, optional
        As in `rank`: what raw 16-bit scores are, else the dtype that is expected.

    Raises
    ------
    TypeError
        For scores that are no numbers, and for a matrix in shards or chunks, or in a store.
    ValueError
        For a file that is no .npy, that is damaged, or too short by now for its map.
    OSError
        For a file that is missing or cannot be read.

    Examples
    --------
    >>> read_matrix("left", [[1.0, 0.5]], None).array
    array([[1. , 0.5]])
    >>> read_matrix("left", ["a.npy", "b.npy"], None)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    truerank.InputTypeError: left: expected a matrix in memory or the path of one .npy file, ...
    """
    if may_be_stored(value):
        with renamed(scores=name):
            _check_single(value)
            if isinstance(value, _PATHS):
                value = _mapped(name, os.fsdecode(value), dtype)
            elif isinstance(value, np.ndarray):
                from ...stores.arrays import ArrayStore

                ArrayStore(value, dtype)  # it holds the map against the size of its file
    return as_scores(value, dtype, name)


def _check_single(value: Any) -> None:
    """Refuse what is neither in memory nor a single file."""
    from ...stores.libraries import is_zarr
    from ...stores.names import is_glob
    from ...stores.opening import is_chunked, is_group

    got = ""
    if isinstance(value, _PATHS):
        path = os.fsdecode(value)
        if is_glob(path):
            got = f"the pattern {path!r}"
        elif os.path.isdir(path) and is_zarr(path):
            got = f"a folder of zarr, {path!r}"
    elif isinstance(value, (list, tuple)):
        got = "a list of paths"
    elif isinstance(value, Store):
        got = repr(value)
    elif not isinstance(value, np.ndarray) and (is_chunked(value) or is_group(value)):
        got = f"{type(value).__module__.partition('.')[0]}'s {type(value).__name__}"
    if got:
        raise InputTypeError(
            "scores", expected="a matrix in memory or the path of one .npy file", got=got
        )


def _mapped(name: str, path: str, dtype: Any) -> npt.NDArray[Any]:
    """Map the matrix of a .npy file, or the single row."""
    from ...stores.descriptors import Descriptors
    from ...stores.headers import of_npy
    from ...stores.mapped import FileStore

    if not path or "\0" in path:
        raise InputValueError("scores", expected="the path of a file", got=repr(path))
    files = Descriptors()
    try:
        with files.lease(path) as descriptor:
            place = of_npy(descriptor, path, dtype)
            with FileStore(path, place, files) as store:
                tiles = store.tiles(_WHOLE)
                # Nothing is to be mapped of a matrix without rows or without columns.
                whole = (
                    store.block(tiles[0], "map")
                    if tiles
                    else nullcontext(np.empty(place.shape, place.carrier))
                )
                with whole as array:
                    mapped: Any = array  # which keeps the map, though the block ends
        found: npt.NDArray[Any] = mapped[0] if place.single_row else mapped
        return found
    except OSError as error:
        told = f"{name}: {error.strerror}"
        raise type(error)(error.errno, told, error.filename) from None
    finally:
        files.close()
