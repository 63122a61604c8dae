"""Stores: score matrices in files, shards and chunks, which are read a tile at a time."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .._core import Scores
from ..inputs.devices import is_elsewhere, is_tensor
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.scores import as_scores
from .base import FileBlock, Store, Tile

__all__ = ["FileBlock", "Store", "Tile", "open_scores", "scores_or_store", "shape_of", "store_of"]

IO = ("map", "read")
_PATHS = (str, bytes, os.PathLike)


@public("truerank")
def open_scores(
    source: Any,
    *,
    axis: int = 0,
    dtype: Any = None,
    shape: Any = None,
    offset: int = 0,
    order: str = "C",
    member: str | None = None,
    io: str = "map",
) -> Store:
    """Open a score matrix that need not fit in memory, for `rank` to read tile by tile.

    Nothing is read but what says where the scores are. Every fault of the files that can be seen
    without reading the scores is an error here, which names the file.

    Parameters
    ----------
    source : path, glob pattern, list of paths, or array
        - A `.npy`; an `.npz`, whose members must be stored without compression (`numpy.savez`);
          a folder of zarr or a file of HDF5 (extras ``truerank[zarr]``, ``truerank[h5py]``); any
          other file is raw binary, and needs `dtype` and `shape`.
        - A pattern with ``*``, ``?``, ``[...]`` or ``**``: its files are shards, in natural order
          (part-2 before part-10). Where their numbers count by one, a missing one is an error.
        - A list or tuple: its members, of any kind, are shards in the order given.
        - A zarr.Array, h5py.Dataset or whatever has `shape`, `dtype`, `chunks` and slices, read by
          whole chunks; a numpy.memmap, guarded against a file that shrinks; a torch tensor or JAX
          array on an accelerator, of which what has been computed by now is read; any array.
        - A `Store`, which is returned as it is.
    axis : {0, 1}
        Shards follow each other by rows (0) or by columns, the candidates (1).
    dtype : str or dtype, optional
        Of raw binary files: the dtype of the scores ("bfloat16" too; ">float32" is big-endian).
        Else as in `rank`: what raw 16-bit scores are, or the dtype that is expected.
    shape : tuple of int, optional
        Of raw binary files, of each shard: (rows, columns) or (columns,). One length may be -1: as
        many as the file has. Else the shape that is expected.
    offset : int
        Of raw binary files: bytes before the scores.
    order : {"C", "F"}
        Of raw binary files: whether rows ("C") or columns ("F") lie together.
    member : str, optional
        The array in an `.npz`, a zarr group or a file of HDF5. Default: the only one, or "scores".
    io : {"map", "read"}
        How `rank` reads blocks of files: "map" maps them into memory, "read" reads them into small
        buffers, which a file that shrinks meanwhile cannot harm.

    Returns
    -------
    Store
        A context manager; it closes what it has opened, and nothing that was open before.

    Raises
    ------
    TypeError
        For scores of another dtype, and shards of unlike ones.
    ValueError
        For a broken header, a file that is shorter than its header says, a raw file of any other
        size than its shape and dtype make, a compressed or missing member, and shards that do not
        add up.
    OSError
        As the system gives it: a missing file or shard, a folder, no permission.
    ImportError
        If the library that reads a format is not installed.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> for part in range(2):
    ...     np.save(f"{folder.name}/part-{part}.npy", np.zeros((3, 5), np.float32))
    >>> with open_scores(f"{folder.name}/part-*.npy") as store:
    ...     store.shape, store.dtype
    ((6, 5), 'float32')
    >>> with open_scores(f"{folder.name}/part-*.npy", axis=1) as store:
    ...     store.shape
    (3, 10)
    >>> folder.cleanup()
    """
    from .opening import Options, opened

    if order not in ("C", "F"):
        raise InputValueError("order", expected='"C" or "F"', got=repr(order))
    if io not in IO:
        raise InputValueError("io", expected=f"one of {', '.join(IO)}", got=repr(io))
    options = Options(_axis(axis), dtype, _shape(shape), _offset(offset), order, member)
    store = opened(source, options)
    if store is not source:
        store.io = io
    return store


def may_be_stored(value: Any) -> bool:
    """Whether scores could be a store; all else is in memory, and needs nothing to be imported.

    An import on the way of a usual call would hang a process that forks meanwhile in a thread.

    Examples
    --------
    >>> may_be_stored("scores.npy"), may_be_stored(np.zeros((2, 3))), may_be_stored([[0.1, 0.2]])
    (True, False, False)
    """
    if isinstance(value, np.ndarray):
        owner: Any = value
        while isinstance(owner, (np.ndarray, memoryview)):
            owner = owner.obj if isinstance(owner, memoryview) else owner.base
        return type(owner).__name__ == "mmap"
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and all(isinstance(item, _PATHS) for item in value)
    if is_tensor(value):
        return is_elsewhere(value)
    if isinstance(value, (Store, *_PATHS)) or hasattr(value, "chunks") or is_elsewhere(value):
        return True
    return type(value).__module__.partition(".")[0] in ("h5py", "zarr")  # groups and files


def store_of(value: Any, dtype: Any = None, io: str = "map") -> Store | None:
    """Make a store of what `rank` takes as scores, where they are not simply in memory.

    Parameters
    ----------
    value : object
        The scores.
    dtype : str or dtype, optional
        As in `rank`.
    io : {"map", "read"}
        As in `open_scores`.

    Returns
    -------
    Store or None
        None for what is no path, list of paths, memory map, chunked array, group of such, array on
        an accelerator, or `Store`.

    Raises
    ------
    TypeError, ValueError, OSError, ImportError
        As in `open_scores`.

    Examples
    --------
    >>> store_of([[0.1, 0.9]]) is None
    True
    """
    if isinstance(value, Store):
        return value
    if isinstance(value, np.ndarray):
        if value.base is None:  # the usual case, at no cost
            return None
        from .arrays import mapping_of

        wanted = mapping_of(value) is not None
    elif isinstance(value, (list, tuple)):
        wanted = len(value) > 0 and all(isinstance(item, _PATHS) for item in value)
    else:
        from .opening import is_chunked, is_group

        kinds = (is_elsewhere, is_chunked, is_group)
        wanted = isinstance(value, _PATHS) or any(is_such(value) for is_such in kinds)
    return open_scores(value, dtype=dtype, io=io) if wanted else None


def scores_or_store(value: Any, dtype: Any, name: str) -> Scores | Store:
    """View scores that are in the host's memory; make the store of those on an accelerator.

    Parameters
    ----------
    value, dtype, name
        As `as_scores` takes them. There are no paths.

    Examples
    --------
    >>> scores_or_store([[0.1, 0.9]], None, "block").dtype
    'float64'
    """
    if not is_elsewhere(value):
        return as_scores(value, dtype, name)
    from .device import of_device

    return of_device(value, dtype, name)


def shape_of(scores: Scores | Store) -> tuple[int, ...]:
    """Give the shape that scores were given with: (rows, columns) or (columns,).

    Examples
    --------
    >>> shape_of(as_scores([0.1, 0.9]))
    (2,)
    """
    if not isinstance(scores, Store):
        return scores.array.shape
    return scores.shape[1:] if scores.single_row else scores.shape


def _axis(axis: object) -> int:
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise InputTypeError("axis", expected="0 or 1", got=type(axis).__name__)
    if axis not in (0, 1):
        raise InputValueError("axis", expected="0 (rows) or 1 (columns)", got=axis)
    return int(axis)


def _offset(offset: object) -> int:
    if isinstance(offset, bool) or not isinstance(offset, (int, np.integer)):
        raise InputTypeError("offset", expected="an integer", got=type(offset).__name__)
    if offset < 0:
        raise InputValueError("offset", expected="bytes >= 0", got=offset)
    return int(offset)


def _shape(shape: object) -> tuple[int, ...] | None:
    if shape is None:
        return None
    given = shape if isinstance(shape, (tuple, list)) else (shape,)
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in given):
        raise InputTypeError("shape", expected="integers", got=repr(shape))
    lengths = tuple(int(length) for length in given)
    if len(lengths) not in (1, 2) or min(lengths) < -1 or lengths.count(-1) > 1:
        raise InputValueError(
            "shape",
            expected=(
                "(rows, columns) or (columns,), of which one may be -1 (as many as the file has)"
            ),
            got=repr(shape),
        )
    return lengths
