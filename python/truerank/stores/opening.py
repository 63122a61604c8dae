"""Opening scores: the kind of a source is found, its options are checked, its store is made."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from ..inputs.arrays import counts_as_on_device
from ..inputs.checks import IO, choice, integer, is_integer
from ..inputs.errors import InputTypeError, InputValueError, spelled
from ..inputs.naming import public
from ..inputs.npy_files import NPY, NUMBERS_IN_TEXT
from ..inputs.scores import ANY_DTYPE, DtypeRequest, as_scores
from ..inputs.words import IoMode
from .chunked import HDF5, is_zarr, open_array_or_group, open_hdf5, open_zarr
from .descriptors import Descriptors, read_at
from .file_layouts import ZIP, npy_layout, npz_layout, raw_layout
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
    layout: Literal["C", "F"] = "C",
    member: str | None = None,
    io: IoMode = "map",
) -> Store:
    """Open a score matrix that need not fit in memory, for `rank` to read tile by tile.

    Only headers and directories are read. Every fault of the files that can be found without
    reading the scores raises an error here, which names the file.

    Parameters
    ----------
    source : path, glob pattern, list of paths, or array
        - A `.npy`; an `.npz`, whose members must be stored without compression (`numpy.savez`);
          a folder of zarr or a file of HDF5 (extra ``truerank[files]``); any
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
    layout : {"C", "F"}
        For raw binary files, whether rows ("C") or columns ("F") lie together.
    member : str, optional
        The array in an `.npz`, a zarr group or an HDF5 file. Default: the only one, or "scores".
    io : {"map", "read"}
        How `rank` reads blocks of files: "map" maps them into memory; "read" reads them into small
        buffers, so that a file that shrinks meanwhile does no harm.

    Returns
    -------
    Store
        A context manager. It closes what it has opened, and nothing that was open before. Until
        then it keeps up to 16 GiB of its files mapped, so that each count but the first reads them
        like an array; these pages, which the system can take back, count as resident memory.

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
    choice("layout", layout, ("C", "F"))
    choice("io", io, IO)
    options = OpenOptions(
        DtypeRequest(dtype),
        integer("axis", axis, least=0, most=1, expected="0 or 1", range="0 (rows) or 1 (columns)"),
        _checked_shape(shape),
        integer("offset", offset, least=0, range="bytes >= 0"),
        layout,
        member,
        io,
        keeps_maps=True,
    )
    return open_source(source, options)


class OpenOptions(NamedTuple):
    """The options of `open_scores`, checked as far as that is possible without the source."""

    request: DtypeRequest = ANY_DTYPE
    axis: int = 0
    shape: tuple[int, ...] | None = None
    offset: int = 0
    layout: Literal["C", "F"] = "C"
    member: str | None = None
    io: IoMode = "map"
    keeps_maps: bool = False  # worth while for a store that is counted more than once


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
    descriptors = Descriptors(keeps_maps=options.keeps_maps)
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
        files = descriptors or Descriptors(keeps_maps=options.keeps_maps)
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
    if counts_as_on_device(value):
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
        start = read_at(descriptor, min(8, os.fstat(descriptor).st_size), 0, name)
        return _file_format(start, name, options).open(descriptor, name, options, descriptors)


class FileFormat(NamedTuple):
    """A format of files: how it is recognised, and what makes the store of a file.

    Attributes
    ----------
    name : str
        What messages call it.
    suffixes, marks : tuple
        The ends of the names of such files, in lower case; the bytes that they begin with.
    open : callable
        Gives the store, from the descriptor of the open file, its name, the options and what keeps
        files open.
    """

    name: str
    suffixes: tuple[str, ...]
    marks: tuple[bytes, ...]
    open: Callable[[int, str, OpenOptions, Descriptors], Store]


def _file_format(start: bytes, name: str, options: OpenOptions) -> FileFormat:
    """Find out the format of a file from its name, what is said of it, or its first bytes."""
    suffix = os.path.splitext(name)[1].lower()
    for known in FORMATS:
        if suffix in known.suffixes:
            return known
    if options.request.dtype is not None and options.shape is not None:
        return RAW
    for known in FORMATS:
        if start.startswith(known.marks):
            return known
    names = ", ".join(known.name for known in FORMATS)
    dtype_and_shape = f"{spelled('dtype=')} and {spelled('shape=')}"
    empty = "" if start else "; this one is empty"
    if suffix in (".csv", ".tsv", ".txt"):
        empty = NUMBERS_IN_TEXT
    expected = f"a {names} or zarr, or {dtype_and_shape} of {RAW.name}{empty}"
    raise InputValueError("scores", expected=expected, place=name)


def _open_npz(descriptor: int, name: str, options: OpenOptions, descriptors: Descriptors) -> Store:
    layout = npz_layout(descriptor, name, options.member, options.request)
    return FileStore(name, layout, descriptors)


def _open_npy(descriptor: int, name: str, options: OpenOptions, descriptors: Descriptors) -> Store:
    _refuse_member("a .npy file", name, options)
    return FileStore(name, npy_layout(descriptor, name, options.request), descriptors)


def _open_raw(descriptor: int, name: str, options: OpenOptions, descriptors: Descriptors) -> Store:
    _refuse_member(RAW.name, name, options)
    size, dtype, lengths = os.fstat(descriptor).st_size, options.request.dtype, options.shape or ()
    layout = raw_layout(name, size, dtype, lengths, options.offset, options.layout)
    return FileStore(name, layout, descriptors)


def _open_hdf5(descriptor: int, name: str, options: OpenOptions, descriptors: Descriptors) -> Store:
    return open_hdf5(name, options.member, options.request, descriptors)


def _refuse_member(format_name: str, name: str, options: OpenOptions) -> None:
    if options.member is not None:
        raise InputValueError("member", f"there are no members in {format_name}", place=name)


FORMATS = (
    FileFormat(".npy", (".npy",), (NPY,), _open_npy),
    FileFormat(".npz", (".npz",), ZIP, _open_npz),
    FileFormat("HDF5", (".h5", ".hdf5"), (HDF5,), _open_hdf5),
)
RAW = FileFormat("a raw binary file", (), (), _open_raw)


def _check_declared(store: Store, options: OpenOptions) -> None:
    """Refuse options that contradict what a source says about itself."""
    if isinstance(store, FileStore) and store.is_raw:
        return
    name = store.files[0] if store.files else repr(store)
    if options.offset:
        raise InputValueError("offset", f"only for raw binary files, not for {name}")
    if options.layout == "F" and not (isinstance(store, FileStore) and store.by_columns):
        problem = f"F is only for raw binary files; {name} states its own layout"
        raise InputValueError("layout", problem)
    found = store.shape[1:] if store.single_row else store.shape
    given = options.shape or found
    if len(given) != len(found) or any(a not in (-1, b) for a, b in zip(given, found, strict=True)):
        raise InputValueError("shape", expected=f"{given}", got=found, place=name)
