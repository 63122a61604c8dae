"""From a source to its store: which kind it is, and what its options say about it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..inputs.devices import is_elsewhere
from ..inputs.errors import InputTypeError, InputValueError, spelled
from .arrays import ArrayStore
from .base import Store
from .descriptors import Descriptors, read_at
from .headers import NPY, Place, of_npy
from .libraries import HDF5, is_zarr, of_group, open_hdf5, open_zarr
from .mapped import FileStore
from .members import ZIP, of_npz
from .names import is_glob, matches
from .raw import of_raw
from .shards import ShardStore

PATHS = (str, bytes, os.PathLike)


class Options(NamedTuple):
    """What `open_scores` was told, checked as far as it can be without the source."""

    axis: int = 0
    dtype: object = None
    shape: tuple[int, ...] | None = None
    offset: int = 0
    order: str = "C"
    member: str | None = None


def opened(source: Any, options: Options) -> Store:
    """Make the store of any source; what was opened for one that fails is closed again."""
    if isinstance(source, Store):
        return source
    if isinstance(source, (list, tuple)):
        return _sharded(source, options)
    if isinstance(source, PATHS):
        name = os.fsdecode(source)
        return _sharded(matches(name), options) if is_glob(name) else _one(source, options)
    return _one(source, options)


def is_group(value: Any) -> bool:
    """Whether a value is a group of zarr or h5py, or a file of it, that holds arrays."""
    return _package(value) in ("h5py", "zarr") and not hasattr(value, "shape")


def is_chunked(value: Any) -> bool:
    """Whether a value is an array in chunks; nothing else may be mistaken for one."""
    if not all(hasattr(value, name) for name in ("shape", "dtype", "chunks", "__getitem__")):
        return False
    if value.chunks is None:
        return _package(value) == "h5py"
    # dask has a tuple of lengths for each axis
    return isinstance(value.chunks, tuple) and all(
        isinstance(length, (int, np.integer)) for length in value.chunks
    )


def _sharded(sources: list[Any] | tuple[Any, ...], options: Options) -> Store:
    if not sources:
        raise InputValueError("scores", expected="at least one shard", got="an empty list")
    wrong = [type(item).__name__ for item in sources if isinstance(item, (list, tuple, int, float))]
    if wrong:
        raise InputTypeError("scores", expected="paths, arrays or stores in a list", got=wrong[0])
    descriptors = Descriptors()
    parts: list[Store] = []
    mine: list[Store] = []
    try:
        for item in sources:
            parts.append(_one(item, options, descriptors))
            if parts[-1] is not item:
                mine.append(parts[-1])
        return ShardStore(parts, options.axis, mine)
    except BaseException:
        descriptors.close()
        for part in mine:
            part.close()
        raise


def _one(source: Any, options: Options, descriptors: Descriptors | None = None) -> Store:
    """Make the store of a single source."""
    if isinstance(source, Store):
        return source
    if not isinstance(source, PATHS):
        store = _of_object(source, options)
    else:
        files = Descriptors() if descriptors is None else descriptors
        try:
            store = _of_path(os.fsdecode(source), options, files)
        except BaseException:
            if descriptors is None:
                files.close()
            raise
    try:
        _check_declared(store, options)
    except BaseException:
        store.close()
        raise
    return store


def _of_object(value: Any, options: Options) -> Store:
    if is_chunked(value) or is_group(value):
        return of_group(value, options.member, options.dtype)
    if options.member is not None:
        raise InputValueError("member", f"there are none in {type(value).__name__}")
    if is_elsewhere(value):
        from .device import of_device

        return of_device(value, options.dtype)
    return ArrayStore(value, options.dtype)


def _package(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def _of_path(name: str, options: Options, descriptors: Descriptors) -> Store:
    if not name or "\0" in name:
        raise InputValueError("scores", expected="the path of a file", got=repr(name))
    if os.path.isdir(name):
        if not is_zarr(name):
            raise IsADirectoryError(
                errno.EISDIR, "expected a file, or a folder of zarr, got a folder", name
            )
        return open_zarr(name, options.member, options.dtype)
    with descriptors.lease(name) as descriptor:
        head = read_at(descriptor, min(8, os.fstat(descriptor).st_size), 0, name)
        suffix = os.path.splitext(name)[1].lower()
        kind = _SUFFIXES.get(suffix) or _kind_of(head, name, options)
        if kind != "hdf5":
            place = _PLACES[kind](descriptor, name, options)
            return FileStore(name, place, descriptors)
    return open_hdf5(name, options.member, options.dtype, descriptors)


def _kind_of(head: bytes, name: str, options: Options) -> str:
    """What a file is whose name does not say it."""
    if options.dtype is not None and options.shape is not None:
        return "raw"
    for start, kind in _MAGIC.items():
        if head.startswith(start):
            return kind
    raise InputValueError(
        "scores",
        (
            f"{name}: expected a .npy, .npz, zarr or HDF5, or {spelled('dtype=')} and "
            f"{spelled('shape=')} of a raw binary file{('' if head else '; this one is empty')}"
        ),
    )


def _npy(descriptor: int, name: str, options: Options) -> Place:
    if options.member is not None:
        raise InputValueError("member", f"{name}: there are none in a .npy file")
    return of_npy(descriptor, name, options.dtype)


def _npz(descriptor: int, name: str, options: Options) -> Place:
    return of_npz(descriptor, name, options.member, options.dtype)


def _raw(descriptor: int, name: str, options: Options) -> Place:
    if options.member is not None:
        raise InputValueError("member", f"{name}: there are none in a raw binary file")
    size = os.fstat(descriptor).st_size
    return of_raw(name, size, options.dtype, options.shape or (), options.offset, options.order)


_SUFFIXES = {".npy": "npy", ".npz": "npz", ".h5": "hdf5", ".hdf5": "hdf5"}
_MAGIC = {NPY: "npy", ZIP[0]: "npz", ZIP[1]: "npz", HDF5: "hdf5"}
_PLACES: dict[str, Callable[[int, str, Options], Place]] = {"npy": _npy, "npz": _npz, "raw": _raw}


def _check_declared(store: Store, options: Options) -> None:
    """Refuse options that contradict what a source says of itself."""
    if isinstance(store, FileStore) and store.is_raw:
        return
    name = store.files[0] if store.files else repr(store)
    if options.offset:
        raise InputValueError("offset", f"only of raw binary files, not of {name}")
    if options.order == "F" and not (isinstance(store, FileStore) and store.by_columns):
        layout = spelled('"F"')
        raise InputValueError(
            "order", f"{layout} is of raw binary files, {name} says itself how it lies"
        )
    found = store.shape[1:] if store.single_row else store.shape
    given = options.shape or found
    if len(given) != len(found) or any(a not in (-1, b) for a, b in zip(given, found, strict=True)):
        raise InputValueError("shape", f"{name}: expected {given}, got {found}")
