"""Opening scores: the kind of a source is found, its options are checked, its store is made."""

from __future__ import annotations

import errno
import os
from typing import Any, NamedTuple

from ..inputs.arrays import is_on_device
from ..inputs.checks import IO, choice, integer, is_integer
from ..inputs.errors import InputTypeError, InputValueError, spelled
from ..inputs.naming import public
from ..inputs.scores import ANY_DTYPE, DtypeRequest, as_scores
from .chunked import HDF5, is_zarr, open_array_or_group, open_hdf5, open_zarr
from .descriptors import Descriptors, read_at
from .file_layouts import NPY, ZIP, FileLayout, npy_layout, npz_layout, raw_layout
from .file_names import is_glob, matching_files
from .mapped import ArrayStore, FileStore
from .recognition import PATHS, is_chunked, is_group
from .shards import ShardStore
from .store import Store


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

    Only headers and directories are read. Every fault of the files that can be found without
    reading the scores raises an error here, which names the file.

    Parameters
    ----------
    source : path, glob pattern, list of paths, or array
        - A `.npy`; an `.npz`, whose members must be stored without compression (`numpy.savez`);
          a folder of zarr or a file of HDF5 (extras ``truerank[zarr]``, ``truerank[h5py]``); any
          other file is raw binary, and needs `dtype` and `shape`.
        - A pattern with ``*``, ``?``, ``[...]`` or ``**``: its files are shards, in natural order
          (part-2 before part-10). If they are numbered by ones, a missing number is an error.
        - A list or tuple: its members, of any kind, are shards in the given order.
        - A zarr.Array, an h5py.Dataset or anything that has `shape`, `dtype` and `chunks` and can
          be sliced: it is read by whole chunks. A numpy.memmap, whose file is checked for having
          shrunk. A torch tensor or JAX array on a device; the work that computes it may still be
          under way. Any other array.
        - A `Store`, which is returned as it is.
    axis : {0, 1}
        Whether shards follow each other by rows (0) or by columns, the candidates (1).
    dtype : str or dtype, optional
        For raw binary files, the dtype of the scores (also "bfloat16"; ">float32" is big-endian).
        For others as in `rank`: what raw 16-bit scores are, or the dtype that is expected.
    shape : tuple of int, optional
        For raw binary files, the shape of each shard: (rows, columns) or (columns,). One length may
        be -1 and then follows from the size of the file. For others, the shape that is expected.
    offset : int
        For raw binary files, the number of bytes before the scores.
    order : {"C", "F"}
        For raw binary files, whether rows ("C") or columns ("F") lie together.
    member : str, optional
        The array in an `.npz`, a zarr group or an HDF5 file. Default: the only one, or "scores".
    io : {"map", "read"}
        How `rank` reads blocks of files: "map" maps them into memory; "read" reads them into small
        buffers, so that a file that shrinks meanwhile does no harm.

    Returns
    -------
    Store
        A context manager. It closes what it has opened, and nothing that was open before.

    Raises
    ------
    TypeError
        For scores of another dtype, and for shards of different dtypes.
    ValueError
        For a broken header, a file that is shorter than its header says, a raw file whose size does
        not follow from its shape and dtype, a compressed or missing member, and shards whose shapes
        do not fit together.
    OSError
        As the system raises it: for a missing file or shard, a folder, no permission.
    ImportError
        If the library that reads a format is not installed.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
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
    if order not in ("C", "F"):
        raise InputValueError("order", expected='"C" or "F"', got=repr(order))
    choice("io", io, IO)
    options = OpenOptions(
        DtypeRequest(dtype),
        integer("axis", axis, least=0, most=1, expected="0 or 1", range="0 (rows) or 1 (columns)"),
        _checked_shape(shape),
        integer("offset", offset, least=0, range="bytes >= 0"),
        order,
        member,
        io,
    )
    return open_source(source, options)


class OpenOptions(NamedTuple):
    """The options of `open_scores`, checked as far as that is possible without the source."""

    request: DtypeRequest = ANY_DTYPE
    axis: int = 0
    shape: tuple[int, ...] | None = None
    offset: int = 0
    order: str = "C"
    member: str | None = None
    io: str = "map"


def open_source(source: Any, options: OpenOptions) -> Store:
    """Make the store of any source; if that fails, everything opened for it is closed again."""
    if isinstance(source, Store):
        return source
    store = _open_any(source, options)
    store.io = options.io
    return store


def _open_any(source: Any, options: OpenOptions) -> Store:
    if isinstance(source, (list, tuple)):
        return _open_shards(source, options)
    if isinstance(source, PATHS):
        name = os.fsdecode(source)
        return (
            _open_shards(matching_files(name), options)
            if is_glob(name)
            else _open_one(source, options)
        )
    return _open_one(source, options)


def _checked_shape(shape: object) -> tuple[int, ...] | None:
    if shape is None:
        return None
    given = shape if isinstance(shape, (tuple, list)) else (shape,)
    if not all(map(is_integer, given)):
        raise InputTypeError("shape", expected="integers", got=repr(shape))
    lengths = tuple(int(length) for length in given)
    if len(lengths) not in (1, 2) or min(lengths) < -1 or lengths.count(-1) > 1:
        raise InputValueError(
            "shape",
            expected="(rows, columns) or (columns,), one of which may be -1 (as many as the "
            "file has)",
            got=repr(shape),
        )
    return lengths


def _open_shards(sources: list[Any] | tuple[Any, ...], options: OpenOptions) -> Store:
    if not sources:
        raise InputValueError("scores", expected="at least one shard", got="an empty list")
    unlike = [
        type(item).__name__ for item in sources if isinstance(item, (list, tuple, int, float))
    ]
    if unlike:
        raise InputTypeError("scores", expected="paths, arrays or stores in a list", got=unlike[0])
    descriptors = Descriptors()
    shards: list[Store] = []
    opened: list[Store] = []
    try:
        for item in sources:
            shards.append(_open_one(item, options, descriptors))
            if shards[-1] is not item:
                opened.append(shards[-1])
        return ShardStore(shards, options.axis, opened)
    except BaseException:
        descriptors.close()
        for shard in opened:
            shard.close()
        raise


def _open_one(source: Any, options: OpenOptions, descriptors: Descriptors | None = None) -> Store:
    """Make the store of a single source."""
    if isinstance(source, Store):
        return source
    if not isinstance(source, PATHS):
        store = _open_object(source, options)
    else:
        files = Descriptors() if descriptors is None else descriptors
        try:
            store = _open_path(os.fsdecode(source), options, files)
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


def _open_object(value: Any, options: OpenOptions) -> Store:
    if is_chunked(value) or is_group(value):
        return open_array_or_group(value, options.member, options.request)
    if options.member is not None:
        raise InputValueError("member", f"there are no members in {type(value).__name__}")
    if is_on_device(value):
        from .on_device import device_store

        return device_store(value, options.request)
    return ArrayStore(as_scores(value, options.request.dtype, form=options.request.form))


def _open_path(name: str, options: OpenOptions, descriptors: Descriptors) -> Store:
    if not name or "\0" in name:
        raise InputValueError("scores", expected="the path of a file", got=repr(name))
    if os.path.isdir(name):
        if not is_zarr(name):
            raise IsADirectoryError(
                errno.EISDIR, "expected a file, or a folder of zarr, got a folder", name
            )
        return open_zarr(name, options.member, options.request)
    with descriptors.lease(name) as descriptor:
        head = read_at(descriptor, min(8, os.fstat(descriptor).st_size), 0, name)
        suffix = os.path.splitext(name)[1].lower()
        kind = _SUFFIXES.get(suffix) or _file_kind(head, name, options)
        if kind != "hdf5":
            return FileStore(name, _file_layout(kind, descriptor, name, options), descriptors)
    return open_hdf5(name, options.member, options.request, descriptors)


def _file_kind(head: bytes, name: str, options: OpenOptions) -> str:
    """Find out the kind of a file whose name does not tell it."""
    if options.request.dtype is not None and options.shape is not None:
        return "raw"
    for mark, kind in _MAGIC.items():
        if head.startswith(mark):
            return kind
    dtype_and_shape = f"{spelled('dtype=')} and {spelled('shape=')}"
    empty = "" if head else "; this one is empty"
    expected = f"a .npy, .npz, zarr or HDF5, or {dtype_and_shape} of a raw binary file{empty}"
    raise InputValueError("scores", expected=expected, place=name)


_SUFFIXES = {".npy": "npy", ".npz": "npz", ".h5": "hdf5", ".hdf5": "hdf5"}
_MAGIC = {NPY: "npy", ZIP[0]: "npz", ZIP[1]: "npz", HDF5: "hdf5"}
_WITHOUT_MEMBERS = {"npy": "a .npy file", "raw": "a raw binary file"}


def _file_layout(kind: str, descriptor: int, name: str, options: OpenOptions) -> FileLayout:
    """Find out where the matrix of a file lies."""
    if kind == "npz":
        return npz_layout(descriptor, name, options.member, options.request)
    if options.member is not None:
        problem = f"there are no members in {_WITHOUT_MEMBERS[kind]}"
        raise InputValueError("member", problem, place=name)
    if kind == "npy":
        return npy_layout(descriptor, name, options.request)
    size, lengths = os.fstat(descriptor).st_size, options.shape or ()
    return raw_layout(name, size, options.request.dtype, lengths, options.offset, options.order)


def _check_declared(store: Store, options: OpenOptions) -> None:
    """Refuse options that contradict what a source says about itself."""
    if isinstance(store, FileStore) and store.is_raw:
        return
    name = store.files[0] if store.files else repr(store)
    if options.offset:
        raise InputValueError("offset", f"only for raw binary files, not for {name}")
    if options.order == "F" and not (isinstance(store, FileStore) and store.by_columns):
        layout = spelled('"F"')
        problem = f"{layout} is only for raw binary files; {name} states its own layout"
        raise InputValueError("order", problem)
    found = store.shape[1:] if store.single_row else store.shape
    given = options.shape or found
    if len(given) != len(found) or any(a not in (-1, b) for a, b in zip(given, found, strict=True)):
        raise InputValueError("shape", expected=f"{given}", got=found, place=name)
