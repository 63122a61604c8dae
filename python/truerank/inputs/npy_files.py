"""Reads the `.npy` format: alone, in the archives of `numpy.savez`, and where it lies in a file.

Nothing in a file is executed, and no size that it declares is trusted. The header is parsed here
and not by numpy, whose parser lets errors of Python's tokenizer through and warns of headers that
Python 2 wrote.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .input_files import open_input, report_damage, too_much_unpacked, unpacked_limit

if TYPE_CHECKING:
    import zipfile

    import numpy.typing as npt

NPY = b"\x93NUMPY"
# The bytes that a header is looked for in. It may declare that it is 4 GB long.
MAX_HEADER_BYTES = 1 << 14
NUMBERS_IN_TEXT = "; numbers in text are read by numpy.loadtxt, and written by numpy.save"
_MAX_TEXT = 10_000  # longer ones could make Python's parser crash; numpy has the same limit
_MAX_LENGTH = int(np.iinfo(np.int64).max)
_MAX_DIMENSIONS = 32  # of numpy 1
_KEYS = {"descr", "fortran_order", "shape"}


class NpyHeader(NamedTuple):
    """What the header of a `.npy` file says, and where it ends."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]
    start: int  # of the numbers

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers."""
        return math.prod(self.shape) * self.dtype.itemsize

    def check_size(self, size: int) -> None:
        """Check that a file of this size has all numbers."""
        if size < self.start + self.nbytes:
            described = f"the header says {self.shape} {self.dtype}, from byte {self.start:,}"
            expected = f"{self.start + self.nbytes:,} bytes ({described})"
            raise ValueError(f"expected {expected}, there are {size:,}")


def parse_npy_header(head: bytes) -> NpyHeader:
    """Parse the header of a `.npy` file.

    Parameters
    ----------
    head : bytes
        The first `MAX_HEADER_BYTES` of the file, or all if it has fewer.

    Raises
    ------
    ValueError
        For anything else; it says what is wrong.

    Examples
    --------
    >>> text = b"{'descr': '<i8', 'fortran_order': False, 'shape': (3L, 4L), }"  # by Python 2
    >>> parse_npy_header(NPY + b"\\x01\\x00" + bytes([len(text), 0]) + text).shape
    (3, 4)
    """
    if not head.startswith(NPY):
        raise ValueError(f"expected a .npy file, {_describe_start(head)}")
    try:
        return _parse(head)
    except Exception as error:  # Python's parser and numpy's dtypes raise errors of many kinds
        raise ValueError(f"the .npy header is broken: {_parser_message(error)}") from None


def read_npy(
    argument: str, path: str | bytes | os.PathLike[str], *, mapped: bool = False, hint: str = ""
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
    hint : str, optional
        What the message for objects says about another way to read them.

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
        header.check_size(os.fstat(file.fileno()).st_size)
        _refuse_objects(header, hint)
        if header.nbytes and mapped:
            order: Any = "F" if header.by_columns else "C"
            memory_map = np.memmap(file, header.dtype, "r", header.start, header.shape, order)
            _check_text(memory_map)
            return memory_map
        content = np.empty(header.nbytes, np.uint8)
        file.seek(header.start)
        if (size := file.readinto(content.data)) != header.nbytes:  # type: ignore[attr-defined]
            raise ValueError(f"expected {header.nbytes:,} bytes after its header, got {size:,}")
        return _array_of(header, content.data)


def decode_npy(content: bytes, hint: str = "") -> npt.NDArray[Any]:
    """Return the array of a `.npy` file that is in memory, as a read-only view.

    Raises
    ------
    ValueError
        For damaged bytes, more than there should be, and objects; it says what is wrong.
    """
    header = parse_npy_header(content)
    _refuse_objects(header, hint)
    header.check_size(len(content))
    if len(content) > header.start + header.nbytes:
        raise ValueError(f"expected {header.start + header.nbytes:,} bytes, got {len(content):,}")
    return _array_of(header, memoryview(content)[header.start :])


def read_npz(
    argument: str,
    path: str | bytes | os.PathLike[str],
    names: Collection[str] | None = None,
    *,
    hint: str = "",
) -> tuple[list[str], dict[str, npt.NDArray[Any]]]:
    """Read arrays of an `.npz` file, which may be compressed, within `unpacked_limit`.

    Parameters
    ----------
    argument, path, hint
        As in `read_npy`.
    names : collection of str, optional
        The arrays to read, as far as there are such. Default: all.

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
    with open_input(argument, name) as file, report_damage(argument, place=name):
        size = os.fstat(file.fileno()).st_size
        with zipfile.ZipFile(file) as archive:
            entries = npz_entries(archive)
            chosen = {key: entries[key] for key in entries if names is None or key in names}
            _check_sizes(chosen.values(), argument, name, size)
            for key, info in chosen.items():
                place = f"{name}: {info.filename}"
                with report_damage(argument, place=place):
                    arrays[key] = decode_npy(archive.read(info), hint)
    return list(entries), arrays


def npz_entries(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the members of an archive by name, without ".npy".

    Raises
    ------
    ValueError
        If two have one name.
    """
    entries: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if name in entries:
            raise ValueError(f"two members {name!r}")
        entries[name] = info
    return entries


def _check_sizes(entries: Collection[zipfile.ZipInfo], argument: str, name: str, size: int) -> None:
    """Check the sizes that members declare: zipfile takes memory for as much before it reads."""
    if (declared := sum(info.compress_size for info in entries)) > size:
        raise ValueError(f"the members declare {declared:,} bytes, the file has {size:,}")
    if sum(info.file_size for info in entries if info.compress_type) > unpacked_limit():
        raise too_much_unpacked(argument, name, unpacked_limit())


def _refuse_objects(header: NpyHeader, hint: str = "") -> None:
    if header.dtype.hasobject:  # only a pickle brings them back, which may run any code
        got = f"dtype {header.dtype}{hint and f'; {hint}'}"
        raise ValueError(f"expected plain numbers or text, got {got}")


def _array_of(header: NpyHeader, content: memoryview) -> npt.NDArray[Any]:
    """View bytes as the array that the header describes, aligned in memory."""
    shape, dtype = header.shape, header.dtype
    flat = np.frombuffer(content, dtype, math.prod(shape)) if header.nbytes else np.empty(0, dtype)
    array = flat.reshape(shape[::-1]).T if header.by_columns else flat.reshape(shape)
    _check_text(array)
    return np.require(array, requirements="A")


def _check_text(array: npt.NDArray[Any]) -> None:
    """Refuse text that Python cannot make a str of."""
    if array.dtype.kind != "U" or not array.size:
        return
    codes = array.reshape(-1).astype(array.dtype.newbyteorder("=")).view(np.uint32)
    if codes.max() > sys.maxunicode:
        raise ValueError(f"expected text, got a character of code {codes.max():,}")


def _parse(head: bytes) -> NpyHeader:
    if (major := head[6]) not in (1, 2, 3) or head[7]:
        raise ValueError(f"format version {major}.{head[7]} is not known")
    width = 2 if major == 1 else 4
    length = int.from_bytes(head[8 : 8 + width], "little")
    start = 8 + width + length
    if length > _MAX_TEXT or start > len(head):
        least = min(_MAX_TEXT, max(0, len(head) - 8 - width))
        raise ValueError(f"expected at most {least:,} bytes, it declares {length:,}")
    text = head[8 + width : start].decode("utf-8" if major == 3 else "latin1")
    fields = _literal(text)
    if not isinstance(fields, dict) or fields.keys() != _KEYS:
        raise ValueError(f"expected {', '.join(sorted(_KEYS))}, got {text.strip()[:80]!r}")
    shape, by_columns, descr = fields["shape"], fields["fortran_order"], fields["descr"]
    if not isinstance(shape, tuple) or not all(type(length) is int for length in shape):
        raise ValueError(f"expected a tuple of integers as shape, got {str(shape)[:80]}")
    if not isinstance(by_columns, bool):
        raise ValueError(f"expected True or False as fortran_order, got {str(by_columns)[:80]}")
    dtype = np.lib.format.descr_to_dtype(descr)
    _check_byte_order(descr, dtype)
    _check_lengths(shape, dtype)
    return NpyHeader(shape, by_columns, dtype, start)


def _literal(text: str) -> Any:
    """Evaluate the text of a header; Python 2 wrote an L after long integers."""
    import ast
    import re

    try:
        return ast.literal_eval(text)
    except SyntaxError:
        return ast.literal_eval(re.sub(r"(?<=[0-9])L(?=[,)\s])", "", text))


def _check_byte_order(descr: object, dtype: np.dtype[Any]) -> None:
    """Refuse a dtype of several bytes whose byte order the header does not state."""
    if dtype.itemsize == 1 or dtype.kind in "OSV":  # raw bytes have no byte order
        return
    if isinstance(descr, str) and descr[:1] not in ("<", ">"):
        raise ValueError(f"expected a byte order, '<' or '>', got {descr!r}")


def _check_lengths(shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Check lengths that no array of numpy has, also if there are no numbers at all."""
    got = f"shape {str(shape)[:200]}"
    if len(shape) > _MAX_DIMENSIONS:
        raise ValueError(f"expected at most {_MAX_DIMENSIONS} dimensions, got {len(shape)}")
    if min(shape, default=0) < 0 or max(shape, default=0) > _MAX_LENGTH:
        raise ValueError(f"expected lengths from 0 to 2**63 - 1, got {got}")
    if 0 in shape and math.prod(filter(None, shape)) * max(1, dtype.itemsize) > _MAX_LENGTH:
        raise ValueError(f"expected lengths whose product is below 2**63, got {got}")
    if dtype.itemsize == 0 and 0 not in shape:
        raise ValueError(f"expected numbers of at least 1 byte, got dtype {dtype.str}")


def _parser_message(error: Exception) -> str:
    """Return what a parser says, without the names of its objects."""
    import re

    return re.sub(r"<ast\.(\w+) object at \w+>", r"\1", str((error.args or ("",))[0]))


def _describe_start(head: bytes) -> str:
    if not head:
        return "this one is empty"
    if head[:1] == b"\x80" and head[1:2] <= b"\x05":
        return "this one is a pickle; save plain arrays with numpy.save"
    is_text = not head[:8].strip(b"0123456789.,;eE+- \t\r\n")
    return f"this one begins with {head[:8]!r}{NUMBERS_IN_TEXT if is_text else ''}"
