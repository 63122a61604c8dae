"""Kinds of scores that users hand over: in the host's memory, in files, or on a device.

Nothing is imported to recognize an array in memory: an import in the course of a usual call could
hang a child that another thread forks meanwhile.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.arrays import counts_as_on_device, is_tensor
from .store import Store

if TYPE_CHECKING:
    import mmap

    import numpy.typing as npt

PATHS = (str, bytes, os.PathLike)


def is_stored(value: Any) -> bool:
    """Whether scores are anything but an array in the host's memory.

    That is a path, a list of paths, a memory map of a file, an array in chunks, a group of such
    arrays, an array on a device, or a `Store`.

    Examples
    --------
    >>> is_stored("scores.npy"), is_stored(np.zeros((2, 3))), is_stored([[0.1, 0.2]])
    (True, False, False)
    """
    if isinstance(value, np.ndarray):
        return value.base is not None and file_map_of(value) is not None
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and all(isinstance(item, PATHS) for item in value)
    if is_tensor(value):
        return counts_as_on_device(value)
    return any(
        holds(value) for holds in (_is_path_or_store, counts_as_on_device, is_chunked, is_group)
    )


def _is_path_or_store(value: Any) -> bool:
    return isinstance(value, (Store, *PATHS))


def is_group(value: Any) -> bool:
    """Whether a value is a group of zarr or h5py, or an HDF5 file."""
    return package_of(value) in ("h5py", "zarr") and not hasattr(value, "shape")


def is_chunked(value: Any) -> bool:
    """Whether a value is an array in chunks, such as one of zarr; a dask array is not."""
    if is_tensor(value):  # a nested one has no shape, which is an error and not an absence
        return False
    if not all(hasattr(value, name) for name in ("shape", "dtype", "chunks", "__getitem__")):
        return False
    if value.chunks is None:
        return package_of(value) == "h5py"
    # the chunks of a dask array are a tuple of lengths for each axis
    return isinstance(value.chunks, tuple) and all(
        isinstance(length, (int, np.integer)) for length in value.chunks
    )


def package_of(value: object) -> str:
    """Return the name of the package that defines the type of a value."""
    return type(value).__module__.partition(".")[0]


class FileMap(NamedTuple):
    """The memory map of a file that an array is a view of."""

    memory: mmap.mmap
    address: int  # of its first byte
    offset: int  # in the file
    name: str  # of the file, if known

    def size(self) -> int:
        """Return the size of the file as it is now, also if the file was renamed or removed."""
        return int(self.memory.size())

    def start_of(self, array: npt.NDArray[Any]) -> int:
        """Return where in the file an array begins."""
        return int(array.__array_interface__["data"][0]) - self.address + self.offset

    def bytes_needed(self, array: npt.NDArray[Any]) -> int:
        """Return how many bytes the file must have to contain the whole array."""
        steps = zip(array.shape, array.strides, strict=True)
        furthest = sum((length - 1) * step for length, step in steps if step > 0)
        return self.start_of(array) + int(furthest) + array.itemsize


def file_map_of(array: npt.NDArray[Any]) -> FileMap | None:
    """Find the map of a file that an array is a view of; None for plain memory.

    Examples
    --------
    >>> file_map_of(np.zeros((2, 3))) is None
    True
    """
    owner: Any = array
    first: Any = array  # the memmap whose view this is, which knows the file
    while isinstance(owner, (np.ndarray, memoryview)):
        if isinstance(owner, np.memmap):
            first = owner
        owner = owner.obj if isinstance(owner, memoryview) else owner.base
    if type(owner).__name__ != "mmap":
        return None
    import mmap

    if not isinstance(owner, mmap.mmap):
        return None
    try:
        owner.size()
    except (OSError, ValueError):  # memory without a file, or a map whose file is closed
        return None
    offset, name = 0, ""
    if isinstance(first, np.memmap):
        offset = int(first.offset) // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
        name = os.fsdecode(first.filename) if first.filename else ""
    address = int(np.frombuffer(owner, np.uint8).__array_interface__["data"][0])
    return FileMap(owner, address, offset, name)
