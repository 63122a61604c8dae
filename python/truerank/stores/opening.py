"""The door of scores: what users hand over as scores, opened and checked once.

It becomes `Scores` in memory or a `Store`. The door takes both of these as they are, so that
nothing is opened or checked twice. Nothing is imported to recognize an array in memory: an import
in the course of a usual call could hang a child that another thread forks meanwhile.
"""

from __future__ import annotations

import errno
import math
import os
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import IO as Stream
from typing import Any, Literal

import numpy as np

from .._core import Scores
from ..inputs.arrays import counts_as_on_device
from ..inputs.checks import IO, choice, integer
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.input_files import open_input, report_damage
from ..inputs.naming import public
from ..inputs.npy_files import (
    MAX_HEADER_BYTES,
    NPY,
    NUMBERS_IN_TEXT,
    npz_entries,
    parse_npy_header,
)
from ..inputs.scores import DTYPES, SCORES, Form, as_scores, dtype_name
from ..inputs.words import IoMode
from .chunked import is_chunked, is_zarr, open_chunked, open_library_file, pick_member
from .mapped import ArrayStore, FileLayout, FileStore, source_of
from .shards import ShardStore, is_glob, matching_files
from .store import KeptMaps, OpenOptions, Store, Tile

PATHS = (str, bytes, os.PathLike)
# Formats of files by the end of the name, and otherwise by the first bytes.
_SUFFIXES = {".npy": ".npy", ".npz": ".npz", ".h5": "HDF5", ".hdf5": "HDF5"}
_MARKS = {NPY: ".npy", b"PK\x03\x04": ".npz", b"PK\x05\x06": ".npz", b"\x89HDF\r\n\x1a\n": "HDF5"}


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
    integer("axis", axis, least=0, most=1, expected="0 (rows) or 1 (columns)")
    integer("offset", offset, least=0)
    of_raw = _checked_shape(shape), offset, layout
    maps = KeptMaps.for_many_counts()
    return _open(source, OpenOptions(dtype, SCORES, "scores", axis, *of_raw, member, io, maps))


def _checked_shape(shape: object) -> tuple[int, ...] | None:
    if shape is None:
        return None
    forms = "(rows, columns) or (columns,), one of which may be -1 (as many as the file has)"
    given = shape if isinstance(shape, (tuple, list)) else (shape,)
    lengths = tuple(integer("shape", n, least=-1, most=sys.maxsize, expected=forms) for n in given)
    is_open = -1 in lengths and (0 in lengths or lengths.count(-1) > 1)
    if len(lengths) not in (1, 2) or is_open:
        raise InputValueError("shape", expected=forms, got=repr(shape))
    return lengths


def read_scores(
    value: Any,
    dtype: Any = None,
    name: str = "scores",
    *,
    form: Form = SCORES,
    io: IoMode | None = None,
    tiled: bool = False,
) -> Scores | Store:
    """View scores in memory; make the store of all others that `rank` takes.

    Parameters
    ----------
    value : object
        The scores. A `Store` and `Scores` stay as they are.
    dtype : str or dtype, optional
        As in `rank`.
    name : str
        What messages call them.
    form : Form
        What the array must be, if it is not scores.
    io : {"map", "read"}, optional
        As in `open_scores`.
    tiled : bool
        Whether scores in memory become a store as well, so that they are counted tile by tile.

    Raises
    ------
    TypeError, ValueError, OSError, ImportError
        As in `open_scores`.

    Examples
    --------
    >>> read_scores([[0.1, 0.9]]).dtype
    'float64'
    """
    if io is not None:
        choice("io", io, IO)
    if type(value) is np.ndarray and value.base is None and not tiled:  # usual, at the least cost
        return as_scores(value, dtype, name, form)
    if isinstance(value, Store):
        if dtype is not None:
            dtype_name(value.carrier, dtype, name, form)
        return value
    items = value if isinstance(value, (list, tuple)) and len(value) > 0 else (value,)
    is_file = all(isinstance(item, PATHS) for item in items)
    if is_file or is_chunked(value) or counts_as_on_device(value):
        return _open(value, OpenOptions(dtype, form, name, io=io or "map"))
    scores = as_scores(value, dtype, name, form)
    return ArrayStore(scores, name) if tiled or source_of(scores.array) else scores


def owned(scores: Scores | Store, source: object) -> AbstractContextManager[Scores | Store]:
    """Return the scores as a context, whose end closes a store that the door has opened."""
    if isinstance(scores, Store) and scores is not source:
        return scores
    return nullcontext(scores)


def shape_of(scores: Scores | Store) -> tuple[int, ...]:
    """Return the shape that the user gave scores in: (rows, columns) or (columns,).

    Examples
    --------
    >>> shape_of(read_scores([0.1, 0.9]))
    (2,)
    """
    if not isinstance(scores, Store):
        return scores.array.shape
    return scores.shape[1:] if scores.single_row else scores.shape


def in_one_array(scores: Scores | Store) -> Scores:
    """View all scores in one array: a file is mapped as long as it lasts, a device copied from.

    Raises
    ------
    TypeError
        For scores in several pieces, or such that have to be decoded.
    """
    if not isinstance(scores, Store):
        return scores
    if not isinstance(scores, (ArrayStore, FileStore)) and not scores.on_device:
        expected = "an array, or the path of one .npy file"
        raise InputTypeError(scores.name, expected=expected, got=repr(scores))
    if 0 in scores.shape:  # there is nothing to map
        return Scores(np.empty(shape_of(scores), scores.carrier), scores.dtype, scores.swapped)
    with scores.block(Tile(0, 0, *scores.shape), "map") as block:
        array = np.array(block) if scores.on_device else np.asarray(block)
        return Scores(array.reshape(shape_of(scores)), scores.dtype, scores.swapped)


def _open(source: Any, options: OpenOptions) -> Store:
    """Make the store of any source."""
    if isinstance(source, Store):
        return source
    if isinstance(source, PATHS) and is_glob(os.fsdecode(source)):
        source = matching_files(os.fsdecode(source))
    is_list = isinstance(source, (list, tuple))
    store = _open_shards(source, options) if is_list else _open_one(source, options)
    store.io = options.io
    return store


def _open_shards(sources: Any, options: OpenOptions) -> Store:
    if not sources:
        raise InputValueError(options.name, expected="at least one shard", got="an empty list")
    for item in sources:
        if isinstance(item, (list, tuple, int, float)):
            expected = "paths, arrays or stores in a list"
            raise InputTypeError(options.name, expected=expected, got=type(item).__name__)
    shards = [_open_one(item, options) for item in sources]
    own = [shard for shard, item in zip(shards, sources, strict=True) if shard is not item]
    return ShardStore(shards, options.axis, own)


def _open_one(source: Any, options: OpenOptions) -> Store:
    """Make the store of a single source, and check that no option contradicts it."""
    if isinstance(source, Store):
        return source
    store = (_open_path if isinstance(source, PATHS) else _open_object)(source, options)
    if isinstance(store, FileStore) and store.layout.is_raw:
        return store
    place = store.files[0] if store.files else repr(store)
    for option, default in (("offset", 0), ("layout", "C")):
        if getattr(options, option) != default:
            raise InputValueError(option, f"only for raw binary files, not for {place}")
    found = shape_of(store)
    shape = options.shape or found
    if len(shape) != len(found) or any(a not in (b, -1) for a, b in zip(shape, found, strict=True)):
        raise InputValueError("shape", expected=f"{shape}", got=found, place=place)
    return store


def _open_object(value: Any, options: OpenOptions) -> Store:
    if is_chunked(value):
        return open_chunked(value, options)
    if options.member is not None:
        raise InputValueError("member", f"there are no members in {type(value).__name__}")
    if counts_as_on_device(value):
        from .on_device import device_store

        return device_store(value, options)
    return ArrayStore(as_scores(value, options.dtype, options.name, options.form), options.name)


def _open_path(source: Any, options: OpenOptions) -> Store:
    path = os.fsdecode(source)
    if not path or "\0" in path:
        raise InputValueError(options.name, expected="the path of a file", got=repr(path))
    if os.path.isdir(path):
        if is_zarr(path):
            return open_library_file("zarr", path, options)
        problem = "expected a file, or a folder of zarr, got a folder"
        raise IsADirectoryError(errno.EISDIR, problem, path)
    with open_input(options.name, path) as file:
        status = os.fstat(file.fileno())
        size, form = status.st_size, _format_of(path, file.read(8), options)
        if form == "HDF5":
            return open_library_file("h5py", path, options)
        if form == ".npz":
            layout = _npz_layout(file, path, size, options)
        elif options.member is not None:
            raise InputValueError("member", f"there are no members in a {form} file", place=path)
        elif form == ".npy":
            layout = _npy_layout(file, path, 0, size, options.name)
        else:
            layout, dtype = _raw_layout(path, size, options)
            options = options._replace(dtype=dtype)
    return FileStore(path, layout, status, options)


def _format_of(path: str, start: bytes, options: OpenOptions) -> str:
    """Find out the format of a file from its name, what is said of it, or its first bytes."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    if options.dtype is not None and options.shape is not None:
        return "raw binary"
    for mark, form in _MARKS.items():
        if start.startswith(mark):
            return form
    hint = "" if start else "; this one is empty"
    hint = NUMBERS_IN_TEXT if suffix in (".csv", ".tsv", ".txt") else hint
    raw = "dtype= and shape= of a raw binary file"
    expected = f"a .npy, .npz, HDF5 or zarr, or {raw}{hint}"
    raise InputValueError(options.name, expected=expected, place=path)


def _npy_layout(file: Stream[bytes], place: str, start: int, end: int, name: str) -> FileLayout:
    """Find the matrix of a `.npy` that lies between two offsets of a file.

    Raises
    ------
    ValueError
        For a broken header; it names the file.
    """
    file.seek(start)
    head = file.read(min(MAX_HEADER_BYTES, end - start))
    with report_damage(name, place=place):
        header = parse_npy_header(head)
    where = place, "the header says", start + header.start, end
    return FileLayout(*where, header.shape, header.dtype, header.by_columns)


def _npz_layout(file: Stream[bytes], path: str, size: int, options: OpenOptions) -> FileLayout:
    """Find the matrix of a member of an `.npz` that is stored without compression.

    Raises
    ------
    ValueError
        For a damaged archive, and for a member that does not exist, is compressed or encrypted, or
        has a broken header.
    """
    import zipfile

    name, member = options.name, options.member
    with report_damage(name, "the archive is damaged: {}".format, place=path):
        archive = zipfile.ZipFile(file)
        entries = npz_entries(archive)
    info = entries[pick_member(path, list(entries), member and member.removesuffix(".npy"))]
    place = f"{path}: {info.filename}"
    if info.compress_type != zipfile.ZIP_STORED:
        problem = (
            "is compressed, and cannot be read in place; numpy.savez stores arrays as they are, "
            "numpy.savez_compressed does not"
        )
        raise InputValueError(name, problem, place=place)
    with report_damage(name, "cannot be read in place: {}".format, place=place):
        archive.open(info)  # which reads and checks its local header
        start = min(file.tell(), size)
    return _npy_layout(file, place, start, min(start + info.file_size, size), name)


def _raw_layout(path: str, size: int, options: OpenOptions) -> tuple[FileLayout, str | None]:
    """Lay out the matrix of a raw binary file; return what the call says of the dtype as well.

    The dtype may have "<" or ">" before it for a byte order, as in numpy. One length of the shape
    may be -1 and follows from the size.

    Raises
    ------
    TypeError
        For what is no dtype.
    ValueError
        For a file of another size.
    """
    dtype, offset, lengths = options.dtype, options.offset, options.shape or ()
    text = str(dtype).removeprefix("torch.")
    declared: Any = text.lstrip("<>")
    try:
        if declared in DTYPES:  # with these names numpy takes no mark of a byte order
            carrier = np.dtype("uint16" if declared == "bfloat16" else declared)
            if text != declared:
                carrier = np.dtype(text[0] + carrier.str[1:])
        else:
            declared, carrier = None, np.dtype(dtype)  # type: ignore[call-overload]
    except TypeError:
        expected = "a dtype that scores may have"
        raise InputTypeError("dtype", expected=expected, got=repr(dtype)) from None
    if -1 in lengths:
        step = max(1, math.prod(map(abs, lengths)) * carrier.itemsize)
        length, rest = divmod(size - offset, step)
        if length < 0 or rest:
            problem = (
                f"expected a multiple of {step:,} bytes (shape {lengths}, {declared or carrier}) "
                f"from byte {offset:,} on, the file has {size:,}"
            )
            raise InputValueError(options.name, problem, place=path)
        lengths = tuple(length if asked == -1 else asked for asked in lengths)
    where = path, "the call says", offset, size
    by_columns = options.layout == "F"
    return FileLayout(*where, lengths, carrier, by_columns, is_raw=True), declared
