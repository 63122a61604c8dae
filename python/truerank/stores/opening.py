"""The door of scores: what users hand over as scores, opened and checked once.

It becomes `Scores` in memory or a `Store`. The door takes both of these as they are, so that
nothing is opened or checked twice. Nothing is imported to recognize an array in memory: an import
in the course of a usual call could hang a child that another thread forks meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import IO as Stream
from typing import Any

import numpy as np

from .._core import Scores
from ..arrays.input_files import open_input, report_damage
from ..arrays.npy_files import MAX_HEADER_BYTES, npz_entries, parse_npy_header
from ..errors import InputTypeError, InputValueError
from ..inputs.checks import IO, choice, integer, is_integer
from ..inputs.scores import SCORES, Form, as_scores, dtype_name
from ..inputs.words import IoMode
from ..naming import public
from .mapped import ArrayStore, FileStore, map_of, most_kept_bytes
from .on_device import counts_as_on_device, device_store
from .shards import ShardStore, is_glob, matching_files
from .store import OpenOptions, Store, Tile

PATHS = (str, bytes, os.PathLike)
# Each map has a descriptor; this is far below the usual limit of 1024 open files.
_MAX_MAPS = 64
_BLOCKS = "count blocks of columns, RankCounter.update(z[:, a:b], start=a)"


@public("truerank")
def open_scores(
    source: Any,
    *,
    axis: int = 0,
    dtype: Any = None,
    member: str | None = None,
    io: IoMode = "map",
) -> Store:
    """Open a score matrix that need not fit in memory, for `rank` to read tile by tile.

    Only headers and directories are read. Every fault of the files that can be found without
    reading the scores raises an error here, which names the file. A wrong checksum is none: see
    Notes.

    Parameters
    ----------
    source : path, glob pattern, list of paths, or array
        - A `.npy`; an `.npz`, whose members must be stored without compression (`numpy.savez`).
          Of raw binary files give a `numpy.memmap`; blocks of what is in zarr or HDF5 are counted
          by a `RankCounter`.
        - A pattern with ``*``, ``?``, ``[...]`` or ``**``: its files are shards, in natural order
          (part-2 before part-10). If they are numbered by ones, a missing number is an error.
        - A list or tuple: its members, of any kind, are shards in the given order.
        - A numpy.memmap, whose file is checked for having shrunk. A torch tensor on a device; the
          work that computes it may still be under way. Any other array.
        - A `Store`, which is returned as it is.
    axis : {0, 1}
        Whether shards follow each other by rows (0) or by columns, the candidates (1).
    dtype : str or dtype, optional
        As in `rank`: what raw 16-bit scores are, or the dtype that is expected.
    member : str, optional
        The array in an `.npz`. Default: the only one, or "scores".
    io : {"map", "read"}
        How `rank` reads blocks of files: "map" maps them into memory; "read" reads them into small
        buffers, so that a file that shrinks meanwhile does no harm, and no page of it counts as
        resident memory of the process.

    Returns
    -------
    Store
        A context manager. It closes what it has opened, and nothing that was open before. Until
        then it keeps its files mapped if they have up to an eighth of the memory (16 GiB at most),
        so that each count but the first reads them like an array; these pages, which the system can
        take back, count as resident memory.

    Raises
    ------
    TypeError
        For scores of another dtype, and for shards of different dtypes.
    ValueError
        For a broken header, a file that is shorter than its header says, a file of another format,
        a compressed or missing member, and shards whose shapes do not fit together.
    OSError
        As the system raises it: for a missing file or shard, a folder, no permission.

    Notes
    -----
    The checksum of a member of an `.npz` is not tested, neither here nor by `rank`, whereas
    `numpy.load` tests it: a CRC-32 takes three to five times as long as a count, which reads at the
    speed of memory. ``zipfile.ZipFile(path).testzip()`` returns the first damaged member, or None.
    A `.npy` has no checksum.

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
    choice("io", io, IO)
    integer("axis", axis, least=0, most=1, expected="0 (rows) or 1 (columns)")
    if isinstance(source, Store):
        return source
    options = OpenOptions(dtype, "scores", SCORES, member)
    store = _open(source, options, axis)
    store.io = io
    _limit_maps(store)
    return store


def _limit_maps(store: Store) -> None:
    """Have the files of a store that was opened keep their maps, as far as the limits allow."""
    opened: Sequence[Store] = store.own if isinstance(store, ShardStore) else (store,)
    bytes_left = most_kept_bytes()
    # Elsewhere a map that is kept would keep others from shortening the file.
    maps_left = _MAX_MAPS if os.name == "posix" else 0
    for file in opened:
        if isinstance(file, FileStore) and maps_left > 0:
            bytes_left -= file.nbytes
            maps_left -= 1
            file.keeps_map = bytes_left >= 0


def read_scores(
    value: Any,
    dtype: Any = None,
    name: str = "scores",
    *,
    form: Form = SCORES,
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
    tiled : bool
        Whether scores in memory become a store as well, so that they are counted tile by tile.

    Raises
    ------
    TypeError, ValueError, OSError
        As in `open_scores`.

    Examples
    --------
    >>> read_scores([[0.1, 0.9]]).dtype
    'float64'
    """
    # This is the usual case, and costs as little as possible.
    if type(value) is np.ndarray and value.base is None and not tiled:
        return as_scores(value, dtype, name, form)
    if isinstance(value, Store):
        if dtype is not None:
            dtype_name(value.carrier, dtype, name, form)
        return value
    options = OpenOptions(dtype, name, form)
    if counts_as_on_device(value):
        return device_store(value, options)
    if isinstance(value, (list, tuple)) and len(value) > 0:
        is_opened = all(isinstance(item, PATHS) for item in value)
        if isinstance(value, list):  # Matrices are shards, too.
            is_opened |= all(getattr(item, "ndim", 0) == 2 for item in value)
    else:
        is_opened = isinstance(value, PATHS)
    if is_opened:
        return _open(value, options)
    _refuse_chunks(name, value)
    scores = as_scores(value, dtype, name, form)
    if tiled or map_of(scores.array)[0] is not None:
        return ArrayStore(scores, options)
    return scores


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
    if scores.single_row:
        return scores.shape[1:]
    return scores.shape


def in_one_array(scores: Scores | Store) -> Scores:
    """View all scores in one array: a file is mapped as long as it lasts, a device copied from.

    Raises
    ------
    TypeError
        For scores in several pieces, or such that have to be decoded.
    """
    if not isinstance(scores, Store):
        return scores
    array: Any = np.empty(0, scores.carrier)
    if scores.nbytes:  # Without scores there is nothing to map.
        with scores.block(Tile(0, 0, *scores.shape), "map") as array:
            pass
    return Scores(array.reshape(shape_of(scores)), scores.dtype, scores.swapped)


def _open(source: Any, options: OpenOptions, axis: int = 0) -> Store:
    """Make the store of any source."""
    if isinstance(source, PATHS) and is_glob(os.fsdecode(source)):
        source = matching_files(os.fsdecode(source))
    if not isinstance(source, (list, tuple)):
        return _open_one(source, options)
    if not source:
        raise InputValueError(options.name, expected="at least one shard", got="an empty list")
    shards = [_open_one(item, options) for item in source]
    # A store that was given stays open when this one is closed.
    own = [shard for shard, item in zip(shards, source, strict=True) if shard is not item]
    return ShardStore(shards, axis, own)


def _open_one(source: Any, options: OpenOptions) -> Store:
    """Make the store of a single source."""
    if isinstance(source, Store):
        return source
    if isinstance(source, PATHS):
        return _open_file(os.fsdecode(source), options)
    if counts_as_on_device(source):
        return device_store(source, options)
    _refuse_chunks(options.name, source)
    return ArrayStore(source, options)


def _refuse_chunks(name: str, value: Any) -> None:
    """Refuse an array of zarr or HDF5, which numpy would read as a whole."""
    chunks = getattr(value, "chunks", None)
    if isinstance(chunks, tuple) and all(is_integer(length) for length in chunks):
        got = f"{type(value).__name__} in chunks; {_BLOCKS}"
        raise InputTypeError(name, expected="an array in memory or a memory map", got=got)


def _open_file(path: str, options: OpenOptions) -> Store:
    """Open a `.npy`, or a member of an `.npz` that is stored without compression.

    Raises
    ------
    ValueError
        For a file of another format, and for a broken header; it names the file and the member.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in (".npy", ".npz") and os.path.exists(path):
        expected = (
            "a .npy or .npz file; of raw numbers give np.memmap(path, dtype, 'r', offset, shape); "
            f"of zarr and HDF5, {_BLOCKS}"
        )
        raise InputValueError(options.name, expected=expected, place=path)
    with open_input(options.name, path) as file:
        if suffix == ".npz":
            place, start, size = _stored_member(file, path, options)
        else:
            place = path
            start = 0
            size = os.fstat(file.fileno()).st_size
        with report_damage(options.name, place):
            file.seek(start)
            header = parse_npy_header(file.read(min(MAX_HEADER_BYTES, size)), size)
        layout = header._replace(start=start + header.start)
        return FileStore(file, place, layout, options)


def _stored_member(file: Stream[bytes], path: str, options: OpenOptions) -> tuple[str, int, int]:
    """Return the name of a member of an `.npz`, where its bytes begin, and how many it has.

    Raises
    ------
    ValueError
        For a damaged archive, and for a member that does not exist, is compressed or encrypted.
    """
    import zipfile

    member = options.member and options.member.removesuffix(".npy")
    with report_damage(options.name, path, "the archive is damaged: "):
        archive = zipfile.ZipFile(file)
        entries = npz_entries(archive)
    chosen = "scores"
    if member:
        chosen = member
    elif len(entries) == 1:
        chosen = next(iter(entries))
    if chosen not in entries:
        expected = f"the array {chosen!r}"
        if not member:
            expected += ", or open_scores(path, member=...), which says the one that is meant"
        raise InputValueError(options.name, expected=expected, got=list(entries), place=path)
    info = entries[chosen]
    place = f"{path}: {info.filename}"
    with report_damage(options.name, place, "cannot be read in place: "):
        if info.compress_type != zipfile.ZIP_STORED:
            raise ValueError("it is compressed; numpy.savez stores arrays as they are")
        archive.open(info)  # This reads and checks its local header.
        return place, file.tell(), info.file_size
