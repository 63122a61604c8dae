"""Where a matrix lies in a file: what the header of a `.npy` says.

Nothing in a file is executed, and no size that it declares is trusted.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.scores import as_scores
from .descriptors import read_at

NPY = b"\x93NUMPY"
# Longer than any that numpy parses. A header may declare 4 GB of itself.
_HEADER = 1 << 17
_LONGEST = int(np.iinfo(np.int64).max)


class Place(NamedTuple):
    """A matrix in a file: where it begins, and how it lies."""

    name: str
    source: str  # who says so
    offset: int
    shape: tuple[int, int]
    dtype: str
    carrier: np.dtype[Any]
    by_columns: bool = False
    single_row: bool = False
    exact: bool = False  # whether the file ends where the matrix does

    @property
    def nbytes(self) -> int:
        """Bytes of the scores."""
        return self.shape[0] * self.shape[1] * self.carrier.itemsize

    def check(self, size: int) -> None:
        """Hold the size of the file against what the matrix needs."""
        expected = self.offset + self.nbytes
        if size < expected or (self.exact and size != expected):
            raise InputValueError(
                "scores",
                (
                    f"{self.name}: expected {expected:,} bytes ({self.source} {self.shape} "
                    f"{self.dtype}, from byte {self.offset:,}), the file has {size:,}"
                ),
            )


def of_npy(descriptor: int, name: str, dtype: object = None) -> Place:
    """Find the matrix of a `.npy` file.

    Parameters
    ----------
    descriptor : int
        The open file.
    name : str
        What messages call it.
    dtype : str or dtype, optional
        As in `rank`: what raw 16-bit scores are, else the dtype that is expected.

    Raises
    ------
    TypeError
        For a dtype that scores cannot have.
    ValueError
        For a broken header, and a file that is shorter than its header says.
    """
    size = os.fstat(descriptor).st_size
    place = parse(descriptor, 0, size, name, dtype)
    place.check(size)
    return place


def of_array(name: str, array: Any, dtype: object) -> tuple[np.dtype[Any], str, tuple[int, int]]:
    """Give dtype, its name, and shape of what has them, checked as those of a file."""
    carrier = np.dtype(array.dtype)
    lengths = tuple(int(length) for length in array.shape)
    return carrier, named(name, carrier, dtype), matrix_shape(name, lengths)


def parse(descriptor: int, start: int, end: int, name: str, dtype: object) -> Place:
    """Read a header that lies in a stretch of a file."""
    import io

    head = read_at(descriptor, min(_HEADER, end - start), start, name)
    if not head.startswith(NPY):
        raise InputValueError("scores", f"{name}: expected a .npy file, {_looks_like(head)}")
    stream = io.BytesIO(head)
    try:
        version = np.lib.format.read_magic(stream)
        # Version 3 is version 2 with names of fields in UTF-8, which scores have none of.
        read = np.lib.format.read_array_header_1_0
        if version in ((2, 0), (3, 0)):
            read = np.lib.format.read_array_header_2_0
        elif version != (1, 0):
            raise ValueError(f"format version {version[0]}.{version[1]} is not known")
        lengths, by_columns, carrier = read(stream)
    except Exception as error:  # numpy lets out whatever its parser meets
        raise InputValueError(
            "scores", f"{name}: the .npy header is broken: {_why(error)}"
        ) from None
    dtype_name = named(name, carrier, dtype)
    _check_mark(name, head[: stream.tell()], carrier)
    lengths = tuple(map(int, lengths))
    shape = matrix_shape(name, lengths)
    return Place(
        name,
        "the header says",
        start + stream.tell(),
        shape,
        dtype_name,
        carrier,
        by_columns,
        len(lengths) == 1,
    )


def _why(error: Exception) -> str:
    """What numpy's parser says, without the insides of the parser."""
    import re

    return re.sub(r"<ast\.(\w+) object at \w+>", r"\1", str((error.args or ("",))[0]))


def _looks_like(head: bytes) -> str:
    if not head:
        return "this one is empty"
    if head[:1] == b"\x80" and head[1:2] <= b"\x05":
        return "this one is a pickle; save plain arrays with numpy.save"
    return f"this one begins with {head[:8]!r}"


def named(name: str, carrier: np.dtype[Any], dtype: object) -> str:
    """The name of the scores' dtype, by the rules that arrays have."""
    if carrier.subdtype is not None:  # numpy would make further dimensions of it
        raise InputTypeError("scores", f"{name}: expected numbers, got dtype {carrier}")
    try:
        return as_scores(np.empty((0, 0), carrier), dtype).dtype
    except TypeError as error:
        argument, _, message = str(error).partition(": ")
        raise InputTypeError(argument, f"{name}: {message}") from None


def _check_mark(name: str, header: bytes, carrier: np.dtype[Any]) -> None:
    """Refuse a dtype of several bytes in an order that the header does not say."""
    import re

    if carrier.itemsize == 1 or carrier.kind == "V":  # raw bytes have no order of their own
        return
    found = re.search(rb"""['"]descr['"]\s*:\s*['"]([^'"]*)""", header)
    if found and found[1][:1] not in b"<>":
        raise InputValueError(
            "scores",
            (
                f"{name}: the .npy header is broken: expected a byte order, '<' or '>', "
                f"got {found[1].decode('latin1')!r}"
            ),
        )


def matrix_shape(name: str, lengths: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns of a matrix, or of a single row."""
    if len(lengths) not in (1, 2):
        raise InputValueError(
            "scores",
            (
                f"{name}: expected a matrix (rows, columns) or a single row (columns,), "
                f"got shape {lengths}"
            ),
        )
    if min(lengths) < 0 or max(lengths) > _LONGEST:
        raise InputValueError(
            "scores", f"{name}: expected lengths from 0 to 2**63 - 1, got shape {lengths}"
        )
    return (1, lengths[0]) if len(lengths) == 1 else (lengths[0], lengths[1])
