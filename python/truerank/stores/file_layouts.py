"""Where a matrix lies in a file: in a `.npy`, in a member of an `.npz`, or in raw binary.

Nothing in a file is executed, and no size that it declares is trusted.
"""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

import numpy as np

from ..inputs.errors import InputTypeError, InputValueError, spelled
from ..inputs.input_files import report_damage
from ..inputs.npy_files import MAX_HEADER_BYTES, parse_npy_header
from ..inputs.scores import ANY_DTYPE, DTYPES, SCORES, DtypeRequest, Form
from .descriptors import read_at

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_LOCAL_HEADER_BYTES = 30  # bytes of a member's local header before its name
_MAX_LENGTH = int(np.iinfo(np.int64).max)


class FileLayout(NamedTuple):
    """Where a matrix begins in a file, and how it is laid out."""

    name: str
    source: str  # what the layout comes from, in messages
    offset: int
    shape: tuple[int, int]
    dtype: str
    carrier: np.dtype[Any]
    by_columns: bool = False
    single_row: bool = False
    is_raw: bool = False  # whether the file ends where the matrix does

    @property
    def nbytes(self) -> int:
        """Bytes of the scores."""
        return self.shape[0] * self.shape[1] * self.carrier.itemsize

    def check(self, size: int) -> None:
        """Check that the file has the size that the matrix needs."""
        expected = self.offset + self.nbytes
        if size < expected or (self.is_raw and size != expected):
            described = f"{self.source} {self.shape} {self.dtype}, from byte {self.offset:,}"
            problem = f"expected {expected:,} bytes ({described}), the file has {size:,}"
            raise InputValueError("scores", problem, place=self.name)


def npy_layout(descriptor: int, name: str, request: DtypeRequest = ANY_DTYPE) -> FileLayout:
    """Find the matrix of a `.npy` file.

    Parameters
    ----------
    descriptor : int
        The open file.
    name : str
        What messages call it.
    request : DtypeRequest
        What the caller says about the dtype.

    Raises
    ------
    TypeError
        For a dtype that scores cannot have.
    ValueError
        For a broken header, and a file that is shorter than its header says.
    """
    size = os.fstat(descriptor).st_size
    layout = _parse_npy(descriptor, 0, size, name, request)
    layout.check(size)
    return layout


def checked_dtype_and_shape(
    name: str, array: Any, request: DtypeRequest
) -> tuple[np.dtype[Any], str, tuple[int, int]]:
    """Return the dtype of an array, its name, and the shape, checked like those of a file."""
    carrier = np.dtype(array.dtype)
    lengths = tuple(int(length) for length in array.shape)
    return (
        carrier,
        _checked_dtype_name(name, carrier, request),
        _matrix_shape(name, lengths, request.form),
    )


def _parse_npy(
    descriptor: int, start: int, end: int, name: str, request: DtypeRequest
) -> FileLayout:
    """Read the header of a `.npy` that lies between two offsets of a file."""
    head = read_at(descriptor, min(MAX_HEADER_BYTES, end - start), start, name)
    with report_damage("scores", place=name):
        header = parse_npy_header(head)
    return FileLayout(
        name,
        "the header says",
        start + header.start,
        _matrix_shape(name, header.shape, request.form),
        _checked_dtype_name(name, header.dtype, request),
        header.dtype,
        header.by_columns,
        len(header.shape) == 1,
    )


def _checked_dtype_name(name: str, carrier: np.dtype[Any], request: DtypeRequest) -> str:
    """Return the name of the scores' dtype, by the same rules as for arrays."""
    if carrier.subdtype is not None:  # numpy would turn it into further dimensions
        raise InputTypeError("scores", expected="numbers", got=f"dtype {carrier}", place=name)
    return request.name_of(carrier, place=name)


def _matrix_shape(name: str, lengths: tuple[int, ...], form: Form = SCORES) -> tuple[int, int]:
    """Return the rows and columns of a matrix or of a single row."""
    if len(lengths) not in (1, 2):
        raise InputValueError("scores", expected=form.shape, got=f"shape {lengths}", place=name)
    if min(lengths) < 0 or max(lengths) > _MAX_LENGTH:
        expected, got = "lengths from 0 to 2**63 - 1", f"shape {lengths}"
        raise InputValueError("scores", expected=expected, got=got, place=name)
    return (1, lengths[0]) if len(lengths) == 1 else (lengths[0], lengths[1])


def npz_layout(descriptor: int, name: str, member: str | None, request: DtypeRequest) -> FileLayout:
    """Find the matrix of a member of an `.npz` that is stored without compression.

    Parameters
    ----------
    descriptor, name, request
        As in `npy_layout`.
    member : str, optional
        Its name, with or without ".npy". Default: the only member, or else "scores".

    Raises
    ------
    TypeError
        For a dtype that scores cannot have.
    ValueError
        For a damaged archive, and for a member that does not exist, is compressed or encrypted, or
        has a broken header.
    """
    import zipfile

    with open(descriptor, "rb", closefd=False) as file:
        with report_damage("scores", lambda error: f"the archive is damaged: {error}", place=name):
            archive = zipfile.ZipFile(file)
        names = [info.filename.removesuffix(".npy") for info in archive.infolist()]
        wanted = None if member is None else member.removesuffix(".npy")
        info = archive.infolist()[pick_member(name, names, wanted)]
        place = f"{name}: {info.filename}"
        if info.compress_type != zipfile.ZIP_STORED:
            raise InputValueError(
                "scores",
                "is compressed, and cannot be read in place; numpy.savez stores arrays as they "
                "are, numpy.savez_compressed does not",
                place=place,
            )
        words = "cannot be read in place: {}".format
        with report_damage("scores", words, place=place), archive.open(info):
            pass  # its local header is checked
    local_header = read_at(descriptor, _LOCAL_HEADER_BYTES, info.header_offset, name)
    # here the name and the extra field may have other lengths than in the directory
    lengths = (int.from_bytes(local_header[at : at + 2], "little") for at in (26, 28))
    start = info.header_offset + _LOCAL_HEADER_BYTES + sum(lengths)
    end = min(start + info.file_size, os.fstat(descriptor).st_size)
    layout = _parse_npy(descriptor, min(start, end), end, place, request)
    layout.check(end)
    return layout


def pick_member(name: str, names: list[str], member: str | None) -> int:
    """Return the position of a member: the named one, else the only one, else "scores".

    Raises
    ------
    ValueError
        If there is no such member, or more than one; it lists the members.
    """
    chosen = "scores" if member is None and len(names) != 1 else member
    matching = [i for i, candidate in enumerate(names) if chosen is None or candidate == chosen]
    if len(matching) == 1:
        return matching[0]
    listed = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
    if not names:
        raise InputValueError("scores", "there are no arrays in it", place=name)
    if matching:
        raise InputValueError("member", f"there are {len(matching)} of name {chosen!r}", place=name)
    expected = f"member {chosen!r}" if member is not None else f"{spelled('member=')} to say which"
    raise InputValueError("member", f"expected {expected}, there are {listed}", place=name)


def raw_layout(
    name: str,
    size: int,
    dtype: object,
    lengths: tuple[int, ...],
    offset: int = 0,
    memory_layout: str = "C",
) -> FileLayout:
    """Lay out the matrix of a raw binary file, which must end where the matrix does.

    Parameters
    ----------
    name : str
        What messages call the file.
    size : int
        Its size in bytes.
    dtype : str or dtype
        One that scores may have; "<" and ">" before it state a byte order, as in numpy.
    lengths : tuple of int
        (rows, columns) or (columns,); one of them may be -1 and follows from the size.
    offset : int
        Bytes before the scores.
    memory_layout : {"C", "F"}
        Whether rows or columns lie together.

    Raises
    ------
    TypeError
        For a dtype that scores cannot have.
    ValueError
        For a file of another size.
    """
    if offset > size:
        expected = f"at most {size:,}, the bytes of the file"
        raise InputValueError("offset", expected=expected, got=f"{offset:,}", place=name)
    carrier, declared = _raw_dtype(dtype)
    dtype_name = _checked_dtype_name(name, carrier, DtypeRequest(declared))
    if -1 in lengths:
        lengths = _infer_length(name, lengths, size, offset, carrier.itemsize, dtype_name)
    layout = FileLayout(
        name,
        "the call says",
        offset,
        _matrix_shape(name, lengths),
        dtype_name,
        carrier,
        memory_layout == "F",
        len(lengths) == 1,
        is_raw=True,
    )
    layout.check(size)
    return layout


def _raw_dtype(dtype: object) -> tuple[np.dtype[Any], object]:
    """Return the dtype to read raw scores as, and the name of theirs if it may differ from it."""
    text = str(dtype).removeprefix("torch.")
    name = text.lstrip("<>")
    if name in DTYPES:  # with these names numpy takes no mark of a byte order
        carrier = np.dtype(np.uint16 if name == "bfloat16" else name)
        swap = text[0] == (">" if sys.byteorder == "little" else "<")
        return carrier.newbyteorder("S" if swap else "="), name
    try:
        return np.dtype(dtype if isinstance(dtype, (str, type, np.dtype)) else text), None
    except TypeError:
        raise InputTypeError(
            "dtype", expected="a dtype that scores may have", got=repr(dtype)
        ) from None


def _infer_length(
    name: str, lengths: tuple[int, ...], size: int, offset: int, itemsize: int, dtype: str
) -> tuple[int, ...]:
    """Fill in the one length that is -1, from the size of the file."""
    known_scores = sum(length for length in lengths if length != -1) if len(lengths) == 2 else 1
    row_bytes, scores_bytes = known_scores * itemsize, size - offset
    if row_bytes == 0:
        raise InputValueError("shape", f"-1 beside 0 can be any length, got {lengths}", place=name)
    if scores_bytes % row_bytes:
        multiple = (
            f"a multiple of {row_bytes:,} bytes ({known_scores:,} {dtype}) from byte {offset:,} on"
        )
        problem = f"expected {multiple}, the file has {size:,}"
        raise InputValueError("scores", problem, place=name)
    return tuple(scores_bytes // row_bytes if length == -1 else length for length in lengths)
