"""Archives: files of named arrays, written whole or not at all.

A file is what `numpy.savez` writes: a zip archive of uncompressed `.npy` members, each with its
CRC-32, without pickles; text is UTF-8 JSON in uint8. Every archive has the members `kind` (str) and
`format` (int64).
"""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.arrays import read_only
from ..inputs.errors import InputValueError
from ..inputs.input_files import report_damage
from ..inputs.npy_files import decode_npy, npz_entries
from ..tables.writing import replace_file

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray

    Members = dict[str, npt.NDArray[Any]]


class ArchiveKind(NamedTuple):
    """What an archive holds, and the newest format of it that this version knows."""

    name: str
    format: int


def write_archive(path: str | os.PathLike[str], kind: ArchiveKind, members: Members) -> None:
    """Write members to a file, exactly at `path`: whole or not at all.

    Equal members give equal bytes. Raises as `replace_file` does.
    """
    header = {"kind": np.array(kind.name), "format": np.array(kind.format, np.int64)}
    every = dict(sorted((header | members).items()))
    with replace_file(path) as file:
        np.savez(file, **every)  # type: ignore[arg-type]


def read_archive(file: IO[bytes], kind: ArchiveKind) -> Members:
    """Read all members but kind and format; these and all sizes are checked.

    Raises
    ------
    ValueError
        If the file is truncated, damaged, of another kind, or of a newer format.
    """
    members = _read_zip(file, kind)
    del members["kind"], members["format"]
    return members


def json_array(value: object) -> npt.NDArray[np.uint8]:
    """Return a value as text for a member: JSON in UTF-8."""
    import json

    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def from_json_array(array: npt.NDArray[Any]) -> Any:
    """Read what `json_array` made."""
    import json

    if array.dtype != np.uint8 or array.ndim != 1:
        raise ValueError("damaged: expected text in uint8")
    try:
        return json.loads(array.tobytes().decode())
    except RecursionError:
        raise ValueError("damaged: text nested too deep") from None
    except ValueError as error:
        raise ValueError(f"damaged: expected JSON in UTF-8: {error}") from None


def integer_member(
    members: Members, name: str, shape: tuple[int, ...] | None, most: int, least: int = 0
) -> IntArray:
    """Return a member that must be int64, of a shape (None: of any length), within a range.

    Examples
    --------
    >>> integer_member({"done": np.array(7)}, "done", (), 5)
    Traceback (most recent call last):
    ...
    truerank.InputValueError: damaged: done: expected int64 of shape (), from 0 to 5, got 7
    """
    array = members.get(name)
    if array is None:
        raise InputValueError("damaged", f"no member {name}")
    shape = (array.size,) if shape is None else shape
    expected = f"int64 of shape {shape}, from {least} to {most}"
    if array.dtype != np.int64 or array.shape != shape:
        got = f"{array.dtype} of shape {array.shape}"
        raise InputValueError("damaged", expected=expected, got=got, place=name)
    wrong = (array < least) | (array > most)
    if wrong.any():
        got = array.reshape(-1)[wrong.argmax()]
        raise InputValueError("damaged", expected=expected, got=got, place=name)
    return array


def _read_zip(file: IO[bytes], expected_kind: ArchiveKind) -> dict[str, npt.NDArray[Any]]:
    """Read all members; kind, format and sizes are checked."""
    import zipfile

    if file.read(1) == b"{":
        raise ValueError("not a file of ranks, but perhaps JSON, which Report.from_json reads")
    with report_damage("not a file of truerank, or a damaged one"):
        archive = zipfile.ZipFile(file)
        entries = npz_entries(archive)

    def array(name: str) -> npt.NDArray[Any]:
        with report_damage(f"damaged, or not a file of truerank: {name}"):
            if entries[name].compress_type != zipfile.ZIP_STORED:
                raise ValueError("compressed")
            return _decode_npy(archive.read(entries[name]))

    if "kind" not in entries or "format" not in entries:
        raise ValueError("not a file of truerank: it has no kind and format")
    kind = _scalar(array("kind"))
    if kind != expected_kind.name:
        raise ValueError(f"expected a file of kind {expected_kind.name!r}, got {str(kind)[:80]!r}")
    version = _scalar(array("format"))
    if not isinstance(version, int) or version < 1:
        raise ValueError(f"damaged: expected a format >= 1, got {version!r}")
    if version > expected_kind.format:
        raise ValueError(
            f"written by a newer truerank, format {version}; this version reads format "
            f"{expected_kind.format}"
        )
    return {name: array(name) for name in sorted(entries)}


def _decode_npy(content: bytes) -> npt.NDArray[Any]:
    """Return the array of a `.npy` file that is in memory, as a read-only view."""
    array = decode_npy(content)
    if array.dtype.kind not in "biufU" or not array.flags.c_contiguous:
        raise ValueError(f"expected plain numbers or text in C order, got dtype {array.dtype}")
    return read_only(array)


def _scalar(array: npt.NDArray[Any]) -> Any:
    with report_damage("damaged"):  # bytes that are not text
        return array.item() if array.ndim == 0 else None
