"""Files of those who build indexes: vectors, and lists of the entities that an index returned.

Numbers are little-endian, without a checksum. A file of vectors is mapped, never copied, and must
be as large as it says. What a file holds is told by the ending of its name, behind which a crop of
the first rows has its own, as `base.1B.u8bin.crop_nb_10000000`.

- `.fvecs`, `.bvecs`, `.ivecs` (of SIFT1M): before the numbers of each row stands their count, in 4
  bytes. A file that is cut may still be of whole rows, of which some are torn: the counts of the
  first, the last and a sample of the others are compared. All would mean to read every page.
- `.fbin`, `.f16bin`, `.u8bin`, `.i8bin` (of big-ann and cuVS): the number of rows and that of their
  columns, 4 bytes each, then all numbers. `.bin` (of DiskANN): the same, with numbers of 4, 2 or 1
  bytes, which the size tells; only the caller knows whether one byte has a sign, and whether those
  of two bytes are float16 or bfloat16, in `.f16bin`, too.
- `.ibin`, `.bin` of lists: the same, with ids and perhaps distances behind all ids. Names in `.gt`
  and `.gt100` (of truths of big-ann), or without an ending, have this form, too.
- `FILE.hdf5:NAME`, `.h5` (of ann-benchmarks): a dataset. What lies in one piece of the file is
  mapped, what lies in chunks or is compressed is read by h5py.
- `FILE.parquet:NAME`, `.arrow`, `.feather` (of VectorDBBench): a column of lists of ids, which is
  read by pyarrow. It needs no name if it is the only one.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from .._core import Scores
from ..arrays.input_files import NpyHeader, open_input, read_npy, report_damage
from ..arrays.saved_files import checked_fields, open_archive, read_npz, replace_file, write_archive
from ..errors import InputTypeError, InputValueError, Option, argument_names
from ..inputs.array_likes import NARROW, check_shape, dtype_name, named_dtype, pad_lists, signed_ids
from ..naming import import_extra
from .store import ArrayStore, FileStore, Store, Tile, read_single_scores

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

# The dtypes of the numbers, where a count stands before each row, and where both stand first.
OF_ROWS = {".fvecs": "<f4", ".bvecs": "u1", ".ivecs": "<i4"}
OF_WHOLE = {".fbin": "<f4", ".f16bin": "<f2", ".u8bin": "u1", ".i8bin": "i1", ".ibin": "<i4"}
ID = np.dtype("<i4")  # Distances may stand behind all ids.
VECTORS = (".fvecs", ".bvecs", ".fbin", ".f16bin", ".u8bin", ".i8bin", ".bin")
DATASET = re.compile(r"(.+\.(?:hdf5|h5))(?::([^:\\]+))?", re.IGNORECASE | re.DOTALL)
TABLE = re.compile(r"(.+\.(?:parquet|arrow|feather))(?::([^:\\]+))?", re.IGNORECASE | re.DOTALL)
FORMS = f"a name that ends in .npy, .npz, {', '.join(VECTORS)}, .hdf5:NAME"  # of vectors
LISTS = (".npz", ".ivecs", ".ibin", ".bin")
_TRUTH = re.compile(r"\.gt[0-9]*")  # an ending
KIND = "truerank.topk"  # of lists that are saved with the numbers of their queries
DIGESTS = ("queries", "entities", "candidates")  # of what was searched
MOST_IDS = 2**31 - 1  # Ids of these files have 4 bytes.
_COUNT = np.dtype("<i4")
_HEADER_BYTES = 8
_SAMPLE = 64  # rows whose counts are compared


def file_ending(path: str) -> str:
    """Return the ending of a name that says what the file holds.

    >>> file_ending("base.1B.u8bin.crop_nb_10000000"), file_ending("SIFT/base.FVECS")
    ('.u8bin', '.fvecs')
    """
    return os.path.splitext(re.sub(r"\.crop_nb_[0-9]+$", "", path.lower()))[1]


def has_vectors(path: str) -> bool:
    """Return whether a file has vectors, by its name."""
    return file_ending(path) in VECTORS or DATASET.fullmatch(path) is not None


def file_of(path: str) -> str:
    """Return the file of a path, which may have the name of a dataset behind it.

    >>> file_of("C:/glove.hdf5:train"), file_of("base.fbin")
    ('C:/glove.hdf5', 'base.fbin')
    """
    dataset = DATASET.fullmatch(path)
    return dataset[1] if dataset else path


def map_matrix(argument: str, path: str, io: str = "map", of_bin: np.dtype[Any] = ID) -> Array:
    """Map the numbers of a file, in the order of its rows, as long as they last; or read them."""
    with argument_names(scores=argument):
        store = open_matrix(path, of_bin)
        with store.block(Tile(0, 0, *store.shape), io) as array:
            return array


def bin_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of vectors in `.bin`, given what the caller says of vectors."""
    with suppress(InputTypeError):  # It is refused where all vectors are checked.
        name, carrier = named_dtype(dtype)
        if name in ("int8", "uint8", *NARROW):
            return carrier.newbyteorder("<")
    return np.dtype("<f4")


def open_matrix(
    path: str, of_bin: np.dtype[Any], dtype: Any = None, dtypes: tuple[str, ...] = ()
) -> Store:
    """Open the numbers of a file, which are read where they are in pieces of HDF5.

    With `dtypes` they are vectors, as `dtype_name` takes them.
    """
    with open_input("scores", file_of(path)) as file:
        found = find_layout(file, path, of_bin)
        name = dtype_name(found.dtype, dtype, dtypes, path) if dtypes else found.dtype.name
        if isinstance(found, NpyHeader):
            return FileStore(file, path, found, name)
        return ArrayStore(Scores(found, name, not found.dtype.isnative), (file.name,))


def _find_dataset(file: IO[bytes], name: str, place: str) -> NpyHeader | Array:
    """Return where the numbers of a dataset lie in an HDF5 file; read them if they are in pieces.

    What is read takes at most a thousand times the bytes that are stored.
    """
    h5py = import_extra("h5py", place, "hdf5")
    with report_damage("scores", place), h5py.File(file.name, "r") as hdf5:
        dataset = hdf5.get(name) if name else None
        if not isinstance(dataset, h5py.Dataset):
            names: list[str] = []
            hdf5.visit(names.append)
            expected = f"the name of a dataset: {', '.join(names[:_SAMPLE]) or 'there is none'}"
            raise InputValueError("scores", expected=expected, got=repr(name), place=place)
        shape, dtype = dataset.shape or (), dataset.dtype
        if len(shape) != 2 or not dataset.size or dtype.kind not in "biufc":
            expected = "a matrix of numbers, of a row or more"
            got = f"{dtype} of shape {shape}"
            raise InputValueError("scores", expected=expected, got=got, place=place)
        if dataset.file != hdf5 or dataset.is_virtual or dataset.external:
            raise InputValueError("scores", "its numbers are in another file", place=place)
        start, stored = dataset.id.get_offset(), dataset.id.get_storage_size()
        # What was never written has no place, and numpy has not the bytes of some types of HDF5.
        is_whole = start is not None and stored == dataset.nbytes
        if is_whole and dataset.id.get_type() == h5py.h5t.py_create(dtype, logical=True):
            return NpyHeader(shape, False, dtype, start)
        stored = min(stored, os.fstat(file.fileno()).st_size)
        if dataset.nbytes > 1000 * stored:
            problem = f"{dataset.nbytes:,} bytes are declared, {stored:,} are stored"
            raise InputValueError("scores", problem, place=place)
        return np.asarray(dataset[()])


def find_layout(file: IO[bytes], path: str, of_bin: np.dtype[Any]) -> NpyHeader | Array:
    """Return where the numbers of a file lie, by its name; in `.bin` they are of this dtype.

    A size that does not fit, no rows, and rows of unlike lengths are a ValueError.
    """
    if dataset := DATASET.fullmatch(path):
        return _find_dataset(file, dataset[2] or "", path)
    ending = file_ending(path)
    size = os.fstat(file.fileno()).st_size
    if ending in OF_ROWS:
        return _row_layout(file, size, np.dtype(OF_ROWS[ending]))
    rows, columns = _read_header(file, size)
    numbers = rows * columns
    dtype = _number_dtype(ending, of_bin, (size - _HEADER_BYTES) / numbers)
    may_be_narrower = ending == ".bin" and dtype == "<f4"
    bytes_of_numbers = numbers * dtype.itemsize
    fitting_sizes = [_HEADER_BYTES + bytes_of_numbers]
    if dtype == ID:  # As many distances may follow the ids.
        fitting_sizes.append(_HEADER_BYTES + 2 * bytes_of_numbers)
    if size not in fitting_sizes:
        expected = " or ".join(map("{:,}".format, fitting_sizes))
        expected += f" bytes for {rows:,} rows of {columns:,} {dtype.name}"
        ways = []
        if may_be_narrower:
            of_two_bytes, of_one = (_HEADER_BYTES + width * numbers for width in (2, 1))
            expected += f", or by dtype {of_two_bytes:,} for float16 or bfloat16"
            expected += f", {of_one:,} for int8 or uint8"
            if size in (of_two_bytes, of_one):
                ways = [Option("dtype", effect="says which numbers these are")]
        got = f"{size:,}"
        whole_rows, rest = divmod(size - _HEADER_BYTES, columns * dtype.itemsize)
        if whole_rows and not rest:
            got += f", those of {whole_rows:,} rows"
        raise InputValueError("scores", expected=expected, got=got, place=file.name, remedies=ways)
    if may_be_narrower:
        row = np.frombuffer(file.read(columns * dtype.itemsize), ID)
        # Floats whose bits are those of ids are next to 0.
        if row.any() and (row >= -1).all() and (row < 1 << 23).all():
            got = f"ids, as {row[:3].tolist()}"
            raise InputValueError("scores", expected="vectors", got=got, place=file.name)
    return NpyHeader((rows, columns), False, dtype, _HEADER_BYTES)


def _number_dtype(ending: str, of_bin: np.dtype[Any], itemsize: float) -> np.dtype[Any]:
    """Return the dtype of numbers; `of_bin` says what those of two bytes are, in `.f16bin`, too."""
    dtype = np.dtype(OF_WHOLE.get(ending, of_bin))
    if dtype.itemsize == of_bin.itemsize == 2:
        return np.dtype("<f4") if ending == ".bin" and itemsize == 4 else of_bin
    return dtype


def _read_header(file: IO[bytes], size: int) -> tuple[int, int]:
    """Return the rows and the columns that stand first in a file."""
    if size < _HEADER_BYTES:
        expected = f"{_HEADER_BYTES} bytes or more, the numbers of rows and columns first"
        raise InputValueError("scores", expected=expected, got=f"{size}", place=file.name)
    rows, columns = map(int, np.frombuffer(file.read(_HEADER_BYTES), "<u4"))
    if not rows or not columns:
        expected = "a row or more, of a number or more"
        got = f"{rows:,} rows of {columns:,}"
        raise InputValueError("scores", expected=expected, got=got, place=file.name)
    return rows, columns


def _row_layout(file: IO[bytes], size: int, dtype: np.dtype[Any]) -> NpyHeader:
    """Return the layout of rows each of which begins with the count of its numbers."""
    columns = 0
    if size >= _COUNT.itemsize:
        columns = int(np.frombuffer(file.read(_COUNT.itemsize), _COUNT)[0])
    if columns < 1:
        expected = "rows that begin with the count of their numbers, in 4 bytes"
        got = f"a count of {columns}" if size >= _COUNT.itemsize else f"{size} bytes"
        raise InputValueError("scores", expected=expected, got=got, place=file.name)
    row_bytes = _COUNT.itemsize + columns * dtype.itemsize
    rows, rest = divmod(size, row_bytes)
    if rest:
        expected = f"rows of {columns:,} {dtype.name}, as the first, of {row_bytes:,} bytes each"
        got = f"{size:,} bytes, {rest:,} behind {rows:,} rows"
        raise InputValueError("scores", expected=expected, got=got, place=file.name)
    sample = np.unique(np.linspace(0, rows - 1, _SAMPLE).astype(np.int64))
    counts = read_single_scores(file, sample * row_bytes, _COUNT)
    is_unlike = counts != columns
    if is_unlike.any():
        i = int(is_unlike.argmax())
        place = f"{file.name}: row {sample[i]}"
        expected = f"{columns:,} numbers, as in the first"
        raise InputValueError("scores", expected=expected, got=f"{counts[i]:,}", place=place)
    return NpyHeader((rows, columns), False, dtype, _COUNT.itemsize, _COUNT.itemsize)


# -- lists -----------------------------------------------------------------------------------------


def begins_as_npy(argument: str, path: str) -> bool:
    """Return whether there is a file that has an array of numpy, whatever its name is."""
    if not os.path.isfile(path):
        return False
    with open_input(argument, path) as file:
        return file.read(6) == np.lib.format.MAGIC_PREFIX


def read_ids(
    argument: str, path: str, entities: int | None = None, ways: Sequence[Option] = ()
) -> Array:
    """Read the ids that an index lists for each query, a row for each, in any dtype of integers.

    What -1 becomes in an unsigned dtype is -1, as `signed_ids` has it; the entities are so many. A
    `.npy` file has an array of integers, an `.npz` file one that is called ids. Where nobody says
    how many entities there are, they are keys, which may be text. The ways are for vectors, which
    may be bytes: they are refused then.
    """
    ending = file_ending(path)
    if ending == ".npy":
        ids = read_npy(argument, path, mapped=True)
    elif ending == ".npz":
        members, arrays = read_npz(argument, path, ("ids",))
        if not arrays:
            got = ", ".join(members) or "nothing"
            raise InputValueError(argument, expected="a member ids", got=got, place=path)
        ids = arrays["ids"]
    elif table := TABLE.fullmatch(path):
        ids = _read_column(argument, table[1], table[2], path)
    elif ending in LISTS or DATASET.fullmatch(path) or _is_truth(path):
        ids = map_matrix(argument, path)
    elif begins_as_npy(argument, path):  # as what a shell wrote under a name of its own
        ids = read_npy(argument, path, mapped=True)
    else:
        expected = f"a name that ends in .npy, {', '.join(LISTS)}, .hdf5:NAME, .parquet:NAME"
        raise InputValueError(argument, expected=expected, got=path, remedies=ways)
    is_narrow = ids.dtype.itemsize == 1 and bool(ways)
    if is_narrow or ids.dtype.kind not in ("iuU" if entities is None else "iu"):
        expected = "integers, the numbers of entities"
        if ways:
            expected = "ids, integers of 2 bytes or more, or text"
        raise InputTypeError(argument, "", expected, f"dtype {ids.dtype}", path, ways)
    with report_damage(argument, path):
        check_shape(argument, ids.shape, 2, "a list of ids in each row")
    return np.asarray(signed_ids(ids, entities))


def _is_truth(path: str) -> bool:
    """Return whether a file is a truth of big-ann, by its ending, or its size if it has none."""
    ending = file_ending(path)
    with suppress(InputValueError):
        return bool(_TRUTH.fullmatch(ending) if ending else map_matrix("scores", path).size)
    return False


def _read_column(argument: str, path: str, name: str | None, place: str) -> Array:
    """Read a column of lists of ids, which needs no name if it is the only one, as `pad_lists`."""
    types = import_extra("pyarrow.types", place, "tables")
    form = "parquet" if path.lower().endswith(".parquet") else "feather"
    with open_input(argument, path), report_damage(argument, place):
        source = import_extra("pyarrow.dataset", place, "tables").dataset(path, format=form)
        names = []
        for field in source.schema:
            item = getattr(field.type, "value_type", None)
            if item is not None and (types.is_integer(item) or types.is_string(item)):
                names.append(field.name)
        if name not in names and (name or len(names) != 1):
            expected = (
                f"the name of a column of lists of ids: {', '.join(names) or 'there is none'}"
            )
            raise InputValueError(argument, expected=expected, got=name or "no name", place=place)
        column = source.to_table(columns=[name or names[0]])[0]
        return pad_lists(argument, column.to_numpy().tolist())


def read_distances(argument: str, path: str) -> Array | None:
    """Read what a file of ids has as distances: behind all ids, or as the dataset beside them.

    In HDF5 `distances` stands beside `neighbors`. None: there are none.
    """
    if DATASET.fullmatch(path):
        beside = re.sub(r"([:/])neighbors$", r"\1distances", path)
        with suppress(InputValueError):
            return map_matrix(argument, beside) if beside != path else None
        return None
    if file_ending(path) not in (".ibin", ".bin") and not _is_truth(path):
        return None
    with open_input(argument, path) as file:
        shape = find_layout(file, path, ID).shape
        file.seek(_HEADER_BYTES + ID.itemsize * math.prod(shape))
        distances = np.frombuffer(file.read(), "<f4")
    return distances.reshape(shape) if len(distances) else None


def write_lists(path: str | os.PathLike[str], ids: Array, distances: Array) -> None:
    """Write lists in the form that the ending of a name says, whole or not at all.

    `.npy`, `.ivecs` and `.ibin` have the ids alone, `.fbin` the distances, `.bin` both.
    """
    ending = file_ending(os.fspath(path))
    if ending == ".npy":
        with replace_file(path) as file:
            np.save(file, ids)
        return
    shape = np.array(ids.shape, "<u4")
    table = ids.astype("<i4")
    if ending == ".ivecs":
        parts = [np.insert(table, 0, ids.shape[1], axis=1)]
    elif ending == ".ibin":
        parts = [shape, table]
    elif ending == ".fbin":
        parts = [shape, distances.astype("<f4")]
    else:
        parts = [shape, table, distances.astype("<f4")]
    with replace_file(path) as file:
        for part in parts:
            file.write(part.tobytes())


def save_top(path: str | os.PathLike[str], facts: Mapping[str, Any], **members: Array) -> None:
    """Save lists of some queries: the members ids, scores and rows, which are their numbers."""
    write_archive(path, KIND, facts, members)


def load_top(argument: str, path: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Load what `save_top` wrote: the facts, and the members."""
    names = ("ids", "scores", "rows")
    with open_archive(argument, path, KIND, names) as (facts, members):
        words = ["similarity", "precision", *map("digest of {}".format, DIGESTS)]
        numbers = ["queries", "entities", "k", "ties"]
        types = {name: (str if name in words else int,) for name in words + numbers}
        checked_fields("header", facts, types)
        arrays = {name: np.asarray(members[name]) for name in names}
        shape = arrays["ids"].shape
        lengths = {"ids": shape, "scores": shape, "rows": shape[:1]}
        for name, kind in (("ids", "i"), ("scores", "f"), ("rows", "i")):
            if arrays[name].dtype.kind != kind or arrays[name].shape != lengths[name]:
                raise ValueError(f"damaged: {name}: {arrays[name].dtype}, {arrays[name].shape}")
        if len(shape) != 2 or not shape[1]:
            raise ValueError(f"damaged: ids: shape {shape}")
        return facts, arrays
