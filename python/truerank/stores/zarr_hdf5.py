"""Paths that zarr and h5py open: both are extras, imported where a path asks for them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..inputs.errors import InputValueError, spelled
from ..inputs.naming import needed
from ..inputs.scores import Wanted
from .chunked import ChunkStore
from .descriptors import Descriptors
from .kinds import package_of
from .mapped import FileStore
from .places import Place, of_array, pick

if TYPE_CHECKING:
    from .store import Store

HDF5 = b"\x89HDF\r\n\x1a\n"
_ZARR = ("zarr.json", ".zarray", ".zgroup")


def is_zarr(path: str) -> bool:
    """Whether a folder is an array or a group of zarr, of either format."""
    return any(os.path.isfile(os.path.join(path, name)) for name in _ZARR)


def open_zarr(name: str, member: str | None, wanted: Wanted) -> Store:
    """Open a folder of zarr.

    Raises
    ------
    ImportError
        If zarr is not installed.
    TypeError
        For a dtype that scores cannot have.
    ValueError
        For a damaged store, and a member that is not there.
    """
    zarr = needed("zarr", f"scores: {name}")
    try:
        found = zarr.open(name, mode="r")
    except Exception as error:  # whatever its parsers meet
        raise InputValueError("scores", f"zarr cannot open it: {error}", place=name) from error
    return of_group(found, member, wanted, name)


def open_hdf5(
    name: str, member: str | None, wanted: Wanted, descriptors: Descriptors | None = None
) -> Store:
    """Open a file of HDF5; a dataset that lies in it as a whole is read as a raw file is.

    Raises
    ------
    ImportError
        If h5py is not installed.
    TypeError
        For a dtype that scores cannot have.
    ValueError
        For a damaged file, and a member that is not there.
    """
    h5py = needed("h5py", f"scores: {name}")
    try:
        file = h5py.File(name, "r")
    except OSError as error:
        raise InputValueError("scores", f"h5py cannot open it: {error}", place=name) from error
    try:
        store = of_group(file, member, wanted, name, file.close, descriptors)
    except BaseException:
        file.close()
        raise
    if isinstance(store, FileStore):
        file.close()
    return store


def of_group(
    group: Any,
    member: str | None,
    wanted: Wanted,
    name: str = "",
    closing: Callable[[], object] | None = None,
    descriptors: Descriptors | None = None,
) -> Store:
    """Make a store of an array, or of one in a group of arrays."""
    array, inside = group, name
    if not hasattr(group, "shape"):
        if member is None or member not in group:
            member = _named(group, member, name)
        array, inside = group.get(member), f"{name}: {member}" if name else member
        if not _is_array(array):
            raise InputValueError("member", f"expected an array, {member!r} is none", place=name)
    elif member is not None:
        raise InputValueError("member", "there are none, it is one array", place=name)
    place = _place(array, wanted, inside or name)
    if place is None:
        return ChunkStore(array, wanted, name or file_of(array), closing)
    path = os.fsdecode(array.file.filename)
    store = FileStore(path, place, descriptors or Descriptors())
    try:
        store.check()
    except BaseException:
        store.close()
        raise
    return store


def _is_array(found: Any) -> bool:
    """Whether it has a shape: groups, links that lead nowhere and empty datasets have none."""
    return getattr(found, "shape", None) is not None


def _named(group: Any, member: str | None, name: str) -> str:
    """The array that is meant, of those that lie in a group itself."""
    keys = sorted(map(str, group))
    names = [key for key in keys if _is_array(group.get(key))]
    if keys and not names:
        groups = ", ".join(keys[:20])
        problem = f"expected {spelled('member=')} to name an array, there are only groups: {groups}"
        raise InputValueError("member", problem, place=name)
    return names[pick(name, names, member)]


def file_of(array: Any) -> str:
    """The file or folder that an array of zarr or h5py is in, if it is known and there."""
    if hasattr(array, "file"):
        path = os.fsdecode(array.file.filename)
    else:
        store = getattr(array, "store", None)
        root = getattr(store, "root", None) or getattr(store, "path", None)
        path = os.path.join(str(root or ""), str(getattr(array, "path", ""))).rstrip("/")
    return path if os.path.exists(path) else ""


def _place(array: Any, wanted: Wanted, name: str) -> Place | None:
    """Where a dataset of HDF5 lies, if it is in one piece, as it is, and nobody writes to it."""
    if package_of(array) != "h5py" or array.chunks is not None:
        return None
    in_file = array.file.mode == "r" and array.file.driver in ("sec2", "stdio")
    if not in_file or array.external is not None or array.is_virtual:
        return None
    offset = array.id.get_offset()
    if offset is None:
        return None
    carrier, dtype_name, shape = of_array(name, array, wanted)
    single = len(array.shape) == 1
    return Place(name, "the dataset is of", offset, shape, dtype_name, carrier, single_row=single)
