"""Stores: score matrices in files and shards, read a tile at a time; and the door of scores.

What users hand over as scores is opened and checked once. It becomes `Scores` in memory or a
`Store`. The door takes both of these as they are, so that nothing is opened or checked twice.
Nothing is imported to recognize an array in memory: an import in the course of a usual call could
hang a child that another thread forks meanwhile.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from .._core import Scores
from ..arrays import input_files
from ..arrays.input_files import NpyHeader as NpyHeader
from ..errors import InputTypeError, InputValueError, Option
from ..inputs.array_likes import DTYPES, as_scores, check_dimensions, dtype_name, is_tensor
from ..inputs.checks import choice, integer, is_integer
from ..inputs.rules import IO, IoMode
from ..naming import public
from .store import ArrayStore, BinaryFile, FileStore, ShardStore
from .store import Store as Store
from .store import Tile as Tile

PATHS = (str, bytes, os.PathLike)
_WILDCARDS = "*?["


@public("truerank")
def open_scores(
    source: Any, *, axis: int = 0, dtype: Any = None, member: str | None = None, io: IoMode = "map"
) -> Store:
    """Open a score matrix that need not fit in memory, for `rank` to read tile by tile.

    Only headers and directories are read. Every fault of the files that can be found without
    reading the scores raises an error here, which names the file. Checksums are not tested (see
    Notes).

    Parameters
    ----------
    source : path, glob pattern, list of paths, or array
        - A `.npy`; an `.npz`, whose members must be stored without compression (`numpy.savez`). For
          raw binary files give a `numpy.memmap`; a `RankCounter` counts blocks of zarr or HDF5.
        - A pattern with ``*``, ``?``, ``[...]`` or ``**``: its files are shards, in the order of
          the one number in which their names differ. It goes by ones, or is the first row (column)
          of each; there must be as many as "-of-4" says.
        - A list or tuple: its members, of any kind, are shards in the given order; paths that
          differ only in numbers must be in their order.
        - A numpy.memmap, whose file is opened by its path if the system says that it still is the
          file of the map; if not, the map is an array. A torch tensor on a device; the work that
          computes it may still be under way. Any other array.
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
        It may be the context of a ``with`` statement. A file is open, and mapped, only while a tile
        of it is read.

    Raises
    ------
    TypeError
        For scores of another dtype, and for shards of different dtypes.
    ValueError
        For a broken header, a file that is shorter than its header says, a file of another format,
        a compressed or missing member, shards whose shapes do not fit together, and a pattern whose
        files have names that differ in more than a number.
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
    name = "" if member is None else member
    store = _open(source, dtype, axis=axis, member=name)
    store.io = io
    return store


def read_scores(
    value: Any, dtype: Any = None, dtypes: tuple[str, ...] = DTYPES, *, tiled: bool = False
) -> Scores | Store:
    """View scores in memory; make the store of all others that `rank` takes.

    A `Store` and `Scores` stay as they are. Other arrays, as vectors, have other `dtypes`. If
    `tiled`, scores in memory become a store as well, so that they are counted tile by tile.
    """
    # An array in memory is the usual case, and costs as little as possible.
    if type(value) is np.ndarray and not tiled:
        return as_scores(value, dtype, dtypes)
    if isinstance(value, Store):
        if dtype is not None:
            dtype_name(value.carrier, dtype, dtypes)
        return value
    are_files = isinstance(value, PATHS)
    are_matrices = False
    if isinstance(value, (list, tuple)) and len(value) > 0:
        are_files = all(isinstance(item, PATHS) for item in value)
        is_list = isinstance(value, list)  # A tuple may be columns.
        are_matrices = is_list and all(getattr(item, "ndim", 0) == 2 for item in value)
    if are_files or are_matrices:
        return _open(value, dtype, dtypes)
    scores = _read_one(value, dtype, dtypes)
    if tiled and isinstance(scores, Scores):
        return ArrayStore(scores)
    return scores


def shape_of(scores: Scores | Store) -> tuple[int, ...]:
    """Return the shape that the user gave scores in: (rows, columns) or (columns,)."""
    if not isinstance(scores, Store):
        return scores.array.shape
    if scores.single_row:
        return scores.shape[1:]
    return scores.shape


def in_one_array(scores: Scores | Store) -> Scores:
    """View all scores in one array: a file is mapped for as long, or read; others are copied."""
    if not isinstance(scores, Store):
        return scores
    array: Any = np.empty(0, scores.carrier)
    if scores.nbytes:  # Without scores there is nothing to map.
        with scores.block(Tile(0, 0, *scores.shape), scores.io) as array:
            pass
    return Scores(array.reshape(shape_of(scores)), scores.dtype, scores.swapped)


def _open(
    source: Any, dtype: Any, dtypes: tuple[str, ...] = DTYPES, *, axis: int = 0, member: str = ""
) -> Store:
    """Make the store of any source: of a file or an array, or of shards."""

    def open_one(part: Any) -> Store:
        scores = _read_one(part, dtype, dtypes, member)
        return ArrayStore(scores) if isinstance(scores, Scores) else scores

    if isinstance(source, (list, tuple)):
        if not source:
            raise InputValueError("scores", expected="at least one shard", got="an empty list")
        if all(isinstance(part, PATHS) for part in source):
            check_order("scores", list(map(os.fsdecode, source)))
        return ShardStore(list(map(open_one, source)), axis)
    if isinstance(source, PATHS):
        pattern = os.fsdecode(source)
        # A pattern may be the name of a file that exists.
        if any(wildcard in pattern for wildcard in _WILDCARDS) and not os.path.lexists(pattern):
            number_of_file = matching_files(pattern)
            store = ShardStore(list(map(open_one, number_of_file)), axis)
            _refuse_missing_shard(pattern, number_of_file, store)
            return store
    return open_one(source)


def _read_one(source: Any, dtype: Any, dtypes: tuple[str, ...], member: str = "") -> Scores | Store:
    """View an array in memory; make the store of any other source but shards."""
    if isinstance(source, Store):
        return source
    if isinstance(source, PATHS):
        return open_file(os.fsdecode(source), dtype, dtypes, member)
    # TRUERANK_DEVICE may have tensors in the host's memory counted as those on a device.
    if is_tensor(source) and (not source.is_cpu or os.environ.get("TRUERANK_DEVICE")):
        from .on_device import device_store

        on_device = device_store(source, dtype, dtypes)
        if on_device is not None:
            return on_device
    path = str(source.filename) if isinstance(source, np.memmap) else ""
    if os.path.isfile(path):
        mapped, size = source.offset + source.nbytes, os.path.getsize(path)
        if size < mapped:  # To read beyond its end would kill the process.
            problem = f"{mapped} bytes of it were mapped, the file has {size}"
            raise InputValueError("scores", problem, place=path)
    # Numpy would read an array of zarr or HDF5 as a whole.
    chunks = getattr(source, "chunks", None)
    if isinstance(chunks, tuple) and all(is_integer(length) for length in chunks):
        expected = "an array in memory or a memory map (a RankCounter takes blocks)"
        got = f"{type(source).__name__} in chunks"
        raise InputTypeError("scores", expected=expected, got=got)
    return as_scores(source, dtype, dtypes)


def open_file(path: str, dtype: Any, dtypes: tuple[str, ...], member: str = "") -> Store:
    """Open a `.npy`, or a member of an `.npz` that is stored without compression.

    With the dtypes of vectors, files of vectors are opened, too.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in (".npy", ".npz"):
        from .index_files import FORMS, bin_dtype, file_of, has_vectors, open_matrix

        are_scores = dtypes == DTYPES
        if not are_scores and has_vectors(path):
            return open_matrix(path, bin_dtype(dtype), dtype, dtypes)
        if os.path.exists(file_of(path)):
            expected = "a .npy or .npz file" if are_scores else FORMS
            raise InputValueError("scores", expected=expected, place=path)
    with input_files.open_input("scores", path) as file:
        if suffix == ".npz":
            place, start, size = _stored_member(file, path, member)
        else:
            place = path
            start = 0
            size = os.fstat(file.fileno()).st_size
        with input_files.report_damage("scores", place):
            file.seek(start)
            header = input_files.parse_npy_header(
                file.read(min(input_files.MAX_HEADER_BYTES, size)), size
            )
        check_dimensions(header.shape, place)
        name = dtype_name(header.dtype, dtype, dtypes, place)
        return FileStore(file, place, header._replace(start=start + header.start), name)


def _stored_member(file: BinaryFile, path: str, member: str) -> tuple[str, int, int]:
    """Return the name of a member of an `.npz`, where its bytes begin, and how many it has."""
    import zipfile

    with input_files.report_damage("scores", path, "the archive is damaged: "):
        archive = zipfile.ZipFile(file)
        entries = input_files.npz_entries(archive)
    name = "scores"
    if member:
        name = member.removesuffix(".npy")
    elif len(entries) == 1:
        name = next(iter(entries))
    if name not in entries:
        ways = []
        got = f"{list(entries)}"
        if "truerank" in entries:
            got = "saved ranks"
        elif entries and not member:
            ways = [Option("member", ..., "says which", call="open_scores(path, member=name)")]
        expected = f"the array {name!r}"
        raise InputValueError("scores", expected=expected, got=got, place=path, remedies=ways)
    info = entries[name]
    place = f"{path}: {info.filename}"
    with input_files.report_damage("scores", place, "cannot be read in place: "):
        if info.compress_type != zipfile.ZIP_STORED:
            raise ValueError("it is compressed; numpy.savez stores arrays as they are")
        archive.open(info)  # This checks its local header, and leaves the file where data begin.
        return place, file.tell(), info.file_size


def matching_files(pattern: str) -> dict[str, int]:
    """Return the number of each file that matches a pattern, in their order.

    If none does, or fewer than the names say, as "-of-4", this is a FileNotFoundError. Names that
    differ in anything but one number, and two of one number, are a ValueError.
    """
    import glob

    names = sorted(glob.glob(pattern, recursive=True))
    if not names:
        raise FileNotFoundError(errno.ENOENT, "no file matches the pattern", pattern)
    texts, numbers_of_names = zip(*map(_split_at_numbers, names), strict=True)
    columns = list(zip(*numbers_of_names, strict=False))
    varying = [place for place, column in enumerate(columns) if len(set(column)) > 1]
    shards = columns[varying[0]] if varying else (0,) * len(names)
    numbers = dict(sorted(zip(names, shards, strict=True), key=itemgetter(1)))
    unlike = [name for name, text in zip(names, texts, strict=True) if text != texts[0]]
    unlike += [after for before, after in pairwise(numbers) if numbers[before] == numbers[after]]
    if unlike or len(varying) > 1:
        expected = "files whose names differ in one number, which each has once, or a list of paths"
        got = f"{(unlike or names[1:])[0]} beside {names[0]}"
        raise InputValueError("scores", expected=expected, got=got, place=pattern)
    # The number of a file that is alone may be any of those after its folder.
    n_of_folder = len(_split_at_numbers(os.path.dirname(names[0]))[1])
    for place in varying or range(n_of_folder, len(columns)):
        is_before_total = texts[0][place + 1].strip("-_.") == "of" and place + 1 < len(columns)
        if is_before_total and not _are_all(columns[place], total=columns[place + 1][0]):
            problem = f"expected {columns[place + 1][0]} shards, as the names say"
            raise FileNotFoundError(errno.ENOENT, problem, pattern)
    return numbers


def _are_all(numbers: Sequence[int], total: int) -> bool:
    """Return whether distinct numbers are 0 to total - 1, or 1 to total."""
    first, last = min(numbers), max(numbers)
    return len(numbers) == total and first <= 1 and last - first < total


def check_order(argument: str, paths: Sequence[str]) -> None:
    """Refuse names that differ in numbers alone, which fall: by the shell, 10 comes before 2.

    Examples
    --------
    >>> check_order("parts", ["q-0.npz", "q-1.npz", "q-10.npz", "q-2.npz"])
    Traceback (most recent call last):
    truerank.errors.InputValueError: parts: q-2.npz: its number is below the previous file's, \
and the order counts; by numbers they are q-0.npz q-1.npz q-2.npz q-10.npz
    """
    splits = [_split_at_numbers(path) for path in paths]
    falls = [i for i in range(1, len(paths)) if splits[i][1] < splits[i - 1][1]]
    if falls and all(texts == splits[0][0] for texts, _ in splits):
        problem = "its number is below the previous file's, and the order counts; by numbers "
        problem += f"they are {' '.join(sorted(paths, key=_split_at_numbers))}"
        raise InputValueError(argument, problem, place=paths[falls[0]])


def _refuse_missing_shard(pattern: str, numbers: dict[str, int], store: ShardStore) -> None:
    """Refuse shards whose numbers are neither consecutive nor their first rows or columns."""
    names = list(numbers)
    steps = [after - before for before, after in pairwise(numbers.values())]
    widest = max(steps, default=1)
    if widest > 1 and list(numbers.values()) != store.starts:
        i = steps.index(widest)
        firsts = f"first {('rows', 'columns')[store.axis]}, {store.starts[i : i + 2]}"
        problem = f"a shard is missing between {names[i]} and {names[i + 1]}, whose numbers go "
        problem += f"neither by ones nor by their {firsts}"
        raise FileNotFoundError(errno.ENOENT, problem, pattern)


def _split_at_numbers(name: str) -> tuple[list[str], list[int]]:
    """Split a name at its runs of digits: "part-10.npy" is ["part-", ".npy"] and [10]."""
    import re

    # No file's name is longer; int() refuses 4,301 digits.
    parts = re.split("([0-9]{1,255})", name)
    return parts[::2], list(map(int, parts[1::2]))
