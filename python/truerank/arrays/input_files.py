"""Files that are read: only regular ones, of which nothing declared is believed.

Wherever a path is taken, it must be that of a regular file: a pipe or a socket may never answer and
can be read only once, and a device may never end. Write what a program prints into a file first, as
the command line does with pipes. (Data sets of alignment are folders.)

A `.npy` file must be as large as its header says, and nothing in it is executed. No size that a
file declares is believed: memory is taken only for what is there. A gzipped file and the arrays of
a compressed `.npz` are unpacked, to at most about a thousand times their size. Text is read in
blocks: a line may have 16 MiB (2**24 bytes), and a row 1,000 columns.
"""

from __future__ import annotations

import errno
import io
import math
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputError, InputTypeError, InputValueError

if TYPE_CHECKING:
    import mmap
    import zipfile

    import numpy.typing as npt

# What files of other forms begin with, and what they are.
_FORMATS = {
    b"\x93NUMPY": "an array of numpy, whose name ends in .npy",
    b"PK\3\4": "a zip archive, as .npz",
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"\x80\4": "a pickle",
    b"\x80\5": "a pickle",
    b"(\xb5/\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\xff\xfe\0\0": "text in UTF-32, not UTF-8",
    b"\0\0\xfe\xff": "text in UTF-32, not UTF-8",
    b"\xff\xfe": "text in UTF-16, not UTF-8",
    b"\xfe\xff": "text in UTF-16, not UTF-8",
}
GZIP = b"\x1f\x8b"  # A gzipped file begins so, whatever its name is.
# A header is looked for in so many bytes. It may declare that it is 4 GB long.
MAX_HEADER_BYTES = 1 << 14
_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
    (3, 0): np.lib.format.read_array_header_2_0,  # Only the encoding of fields' names differs.
}


def path_name(argument: str, path: object, expected: str = "a path") -> str:
    """Return a path as a str; anything else is an InputTypeError."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise InputTypeError(argument, expected=expected, got=type(path).__name__)
    return os.fsdecode(path)


def file_state(path: str | bytes | os.PathLike[str]) -> tuple[int, ...]:
    """Return what tells a file from others, whatever its path is, and from what it held before.

    No file has a name with a NUL, which whoever opens it refuses.
    """
    if "\0" in os.fsdecode(path):
        return ()
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def describe_format(head: bytes) -> str:
    """Say what a file is that begins with these bytes; "": nobody knows.

    >>> describe_format(b"PAR1..."), describe_format(b"a\\tr\\tb")
    ('parquet', '')
    """
    return next((form for magic, form in _FORMATS.items() if head.startswith(magic)), "")


@contextmanager
def open_input(
    argument: str, path: str | bytes | os.PathLike[str], buffering: int = -1
) -> Iterator[IO[bytes]]:
    """Open a regular file for reading bytes; the block's end closes it.

    A pipe, a socket or a device is a ValueError that names the argument; a folder is an OSError, as
    the system raises it, with the name that was given.
    """
    name = path_name(argument, path)
    # This is asked before the file is opened, which may wait for somebody to write into a pipe.
    mode = 0 if "\0" in name else os.stat(name).st_mode  # No file has a name with a NUL.
    is_special = not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
    if is_special:
        expected = "a regular file, no pipe, socket or device"
        raise InputValueError(argument, expected=expected, place=name)
    with open(name, "rb", buffering) as file:
        yield file


@contextmanager
def report_damage(argument: str, place: str = "", problem: str = "") -> Iterator[None]:
    """Turn whatever libraries raise on damaged bytes into an error that begins with `problem`.

    The place is the file, if the argument does not name it.
    """
    try:
        yield
    except (MemoryError, InputError):
        raise
    except Exception as error:
        is_of_disk = isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)
        if is_of_disk:  # A damaged offset gives EINVAL.
            raise
        raise InputValueError(argument, f"{problem}{error}", place=place) from error


class NpyHeader(NamedTuple):
    """What the header of a `.npy` file says, and where it ends; the layout of any matrix in a file.

    The numbers begin at byte `start`. Between two rows are `gap` bytes that are none of theirs.
    """

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]
    start: int
    gap: int = 0


def is_npy(path: str) -> bool:
    """Return whether a file has an array, by its name."""
    return path.lower().endswith(".npy")


def parse_npy_header(head: bytes, size: int, expected: str = "a .npy file") -> NpyHeader:
    """Parse the header of what is expected, of so many bytes, of any format that numpy writes.

    The head is its first `MAX_HEADER_BYTES`. Anything but plain numbers or text that are all within
    the file is a ValueError: only a pickle brings back objects, which may run any code.
    """
    stream = io.BytesIO(head[:MAX_HEADER_BYTES])
    try:
        read = _READERS[np.lib.format.read_magic(stream)]
        header = NpyHeader(*read(stream), stream.tell())
    except Exception as error:  # Python's parser and numpy's dtypes raise many kinds.
        words = re.sub(r" object at \w+", "", str(error))[:200]
        got = f"the header is broken: {words}"
        if not head.startswith(np.lib.format.MAGIC_PREFIX) and describe_format(head):
            got = f"this is {describe_format(head)}"
        raise ValueError(f"expected {expected}, {got}") from None
    shape, _, dtype, start, _ = header
    if not all(type(length) is int and 0 <= length <= sys.maxsize for length in shape):
        raise ValueError(f"expected lengths from 0 on, got shape {str(shape)[:200]}")
    # numpy writes arrays in arrays (`subdtype`) as one, whose shape is another without rows.
    if dtype.hasobject or dtype.subdtype or not dtype.itemsize:
        raise ValueError(f"expected plain numbers or text, got dtype {dtype}")
    end = start + math.prod(shape) * dtype.itemsize
    if size < end:
        described = f"the header says {shape} {dtype}, from byte {start:,}"
        raise ValueError(f"expected {end:,} bytes ({described}), there are {size:,}")
    return header


def read_npy(
    argument: str,
    path: str | bytes | os.PathLike[str],
    *,
    mapped: bool = False,
    expected: str = "a .npy file",
) -> npt.NDArray[Any]:
    """Read a `.npy` file of numbers or text, or map it read-only: then only its header is read."""
    import mmap

    name = os.fsdecode(path)
    with open_input(argument, name) as file, report_damage(argument, name):
        content: bytes | mmap.mmap
        if mapped:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        else:
            content = file.read()
        array = decode_npy(content, expected)
        if mapped and array.size:
            return array
        return np.array(array)  # The copy is aligned.


def decode_npy(content: bytes | mmap.mmap, expected: str = "a .npy file") -> npt.NDArray[Any]:
    """View the array of a `.npy` file that is in memory or mapped.

    Damaged bytes, objects, and text that Python cannot make a str of are a ValueError.
    """
    head = content[:MAX_HEADER_BYTES]
    shape, by_columns, dtype, start, _ = parse_npy_header(head, len(content), expected)
    order: Any = "F" if by_columns else "C"
    array: npt.NDArray[Any] = np.ndarray(shape, dtype, content, start, order=order)
    if dtype.kind == "U" and array.size:
        codes: Any = array.reshape(-1).astype(dtype.newbyteorder("=")).view(np.uint32)
        if codes.max() > sys.maxunicode:
            raise ValueError(f"expected text, got a character of code {codes.max():,}")
    return array


def npz_entries(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the members of an archive by name, without ".npy".

    If they declare more bytes than the file has, this is a ValueError: zipfile would take memory
    for these before it reads. So are two members of one name.
    """
    entries = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    if len(entries) < len(archive.infolist()):
        raise ValueError("two members have one name")
    size = os.fstat(archive.fp.fileno()).st_size  # type: ignore[union-attr]
    declared = sum(info.compress_size for info in entries.values())
    if declared > size:
        raise ValueError(f"the members declare {declared:,} bytes, the file has {size:,}")
    return entries
