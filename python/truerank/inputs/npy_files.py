"""The `.npy` format, alone and in archives of `numpy.savez`: what numpy reads, within the file.

Nothing in a file is executed, and no size that it declares is trusted: numpy would take memory for
as many numbers as a header declares before it looks for them.
"""

from __future__ import annotations

import io
import math
import os
import re
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .input_files import open_input, report_damage

if TYPE_CHECKING:
    import zipfile

    import numpy.typing as npt

NPY = b"\x93NUMPY"
# The bytes that a header is looked for in. It may declare that it is 4 GB long.
MAX_HEADER_BYTES = 1 << 14
NUMBERS_IN_TEXT = "; numbers in text are read by numpy.loadtxt, and written by numpy.save"


class NpyHeader(NamedTuple):
    """What the header of a `.npy` file says, and where it ends."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]
    start: int  # of the numbers

    def check(self, size: int) -> None:
        """Check that a file of this size has all numbers, and that they are plain.

        Only a pickle brings back objects, which may run any code. Arrays in arrays numpy writes as
        one array, and reads in another shape where there are no rows.
        """
        if self.dtype.hasobject or self.dtype.subdtype or not self.dtype.itemsize:
            raise ValueError(f"expected plain numbers or text, got dtype {self.dtype}")
        end = self.start + math.prod(self.shape) * self.dtype.itemsize
        if size < end:
            described = f"the header says {self.shape} {self.dtype}, from byte {self.start:,}"
            raise ValueError(f"expected {end:,} bytes ({described}), there are {size:,}")


def parse_npy_header(head: bytes) -> NpyHeader:
    """Parse the header of a `.npy` file, of any format that numpy writes.

    Parameters
    ----------
    head : bytes
        The first `MAX_HEADER_BYTES` of the file, or all if it has fewer.

    Raises
    ------
    ValueError
        For anything else; it says what is wrong.
    """
    if not head.startswith(NPY):
        raise ValueError(f"expected a .npy file, {_describe_start(head)}")
    stream = io.BytesIO(head[:MAX_HEADER_BYTES])
    try:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            fields = np.lib.format.read_array_header_1_0(stream)
        elif version in ((2, 0), (3, 0)):  # these differ in the encoding of names of fields
            fields = np.lib.format.read_array_header_2_0(stream)
        else:
            raise ValueError(f"expected format 1.0, 2.0 or 3.0, got {version[0]}.{version[1]}")
    except Exception as error:  # Python's parser and numpy's dtypes raise errors of many kinds
        words = re.sub(r" object at \w+", "", str(error))[:200]
        raise ValueError(f"the .npy header is broken: {words}") from None
    header = NpyHeader(*fields, stream.tell())
    if not all(type(length) is int and 0 <= length <= sys.maxsize for length in header.shape):
        raise ValueError(f"expected lengths from 0 on, got shape {str(header.shape)[:200]}")
    return header


def read_npy(
    argument: str, path: str | bytes | os.PathLike[str], *, mapped: bool = False
) -> npt.NDArray[Any]:
    """Read a `.npy` file of numbers or text.

    Parameters
    ----------
    argument : str
        The argument that names the file, for messages.
    path : path-like
        The file.
    mapped : bool
        Whether to map it, read-only; then only its header is read.

    Raises
    ------
    ValueError
        If it is not a regular file, is no `.npy` file, is damaged or has objects.
    OSError
        As the system raises it.
    """
    name = os.fsdecode(path)
    with open_input(argument, name) as file, report_damage(argument, place=name):
        header = parse_npy_header(file.read(MAX_HEADER_BYTES))
        header.check(os.fstat(file.fileno()).st_size)
        if not mapped or 0 in header.shape:  # where there is nothing to map
            file.seek(0)
            return decode_npy(file.read())
        order: Any = "F" if header.by_columns else "C"
        array = np.memmap(file, header.dtype, "r", header.start, header.shape, order)
        _check_text(array)
        return array


def decode_npy(content: bytes) -> npt.NDArray[Any]:
    """Return the array of a `.npy` file that is in memory.

    Raises
    ------
    ValueError
        For damaged bytes and for objects; it says what is wrong.
    """
    header = parse_npy_header(content)
    header.check(len(content))
    order: Any = "F" if header.by_columns else "C"
    view: Any = np.ndarray(header.shape, header.dtype, content, header.start, order=order)
    _check_text(view)
    return np.array(view)  # which is aligned


def read_npz(
    argument: str,
    path: str | bytes | os.PathLike[str],
    names: Collection[str] | None = None,
    *,
    what: str = "an .npz file",
) -> tuple[list[str], dict[str, npt.NDArray[Any]]]:
    """Read arrays of an `.npz` file, which may be compressed.

    Parameters
    ----------
    argument, path
        As in `read_npy`.
    names : collection of str, optional
        The arrays to read, as far as there are such. Default: all.
    what : str, optional
        What is expected, for the message that the file is no archive.

    Returns
    -------
    list of str
        The names of all arrays in the file.
    dict of str to ndarray
        Those that were read.

    Raises
    ------
    ValueError, OSError
        As in `read_npy`.
    """
    import zipfile

    name = os.fsdecode(path)
    arrays = {}
    with (
        open_input(argument, name) as file,
        report_damage(argument, lambda error: f"not {what}, or damaged: {error}", place=name),
        zipfile.ZipFile(file) as archive,
    ):
        entries = npz_entries(archive)
        for key, info in entries.items():
            if names is None or key in names:
                with report_damage(argument, place=f"{name}: {info.filename}"):
                    arrays[key] = decode_npy(archive.read(info))
    return list(entries), arrays


def npz_entries(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the members of an archive by name, without ".npy".

    Raises
    ------
    ValueError
        If two have one name, or if they declare more bytes than the file has: zipfile would take
        memory for these before it reads.
    """
    entries: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if name in entries:
            raise ValueError(f"two members {name!r}")
        entries[name] = info
    size = os.fstat(archive.fp.fileno()).st_size  # type: ignore[union-attr]
    if (declared := sum(info.compress_size for info in entries.values())) > size:
        raise ValueError(f"the members declare {declared:,} bytes, the file has {size:,}")
    return entries


def _check_text(array: npt.NDArray[Any]) -> None:
    """Refuse text that Python cannot make a str of."""
    if array.dtype.kind == "U" and array.size:
        codes = array.reshape(-1).astype(array.dtype.newbyteorder("=")).view(np.uint32)
        if codes.max() > sys.maxunicode:
            raise ValueError(f"expected text, got a character of code {codes.max():,}")


def _describe_start(head: bytes) -> str:
    if not head:
        return "this one is empty"
    if head[:1] == b"\x80" and head[1:2] <= b"\x05":
        return "this one is a pickle; save plain arrays with numpy.save"
    is_text = not head[:8].strip(b"0123456789.,;eE+- \t\r\n")
    return f"this one begins with {head[:8]!r}{NUMBERS_IN_TEXT if is_text else ''}"
