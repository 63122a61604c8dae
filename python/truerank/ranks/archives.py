"""Archives: files of named arrays with a checksum, written whole or not at all.

A file is a zip archive of uncompressed `.npy` members (what `numpy.load` calls an `.npz`), without
pickles; text is UTF-8 JSON in uint8. Every archive has the members `kind` (str), `format` (int64)
and `checksum` (SHA-256, hexadecimal). The checksum runs over all other members in order of their
names: the lengths of name and content as 8 bytes each (little-endian), the name, then the member's
bytes, whose header states dtype and shape. It protects against damage, not against deception:
whoever can change the file can change the checksum.
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
    with replace_file(path) as file:
        _write_zip(file, header | members)


def read_archive(file: IO[bytes], kind: ArchiveKind) -> Members:
    """Read all members but kind, format and checksum; these and all sizes are checked.

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


# -- writing ---------------------------------------------------------------------------------------


def _write_zip(file: IO[bytes], members: dict[str, npt.NDArray[Any]]) -> None:
    import io
    import zipfile

    checksum = _Checksum()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:

        def write_member(name: str, array: npt.NDArray[Any]) -> bytes:
            stream = io.BytesIO()
            little_endian = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
            np.lib.format.write_array(stream, little_endian, (1, 0), allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy")  # dated 1980: the bytes depend on the ranks alone
            info.create_system = 3
            archive.writestr(info, stream.getvalue())
            return stream.getvalue()

        for name in sorted(members):
            checksum.add(name, write_member(name, members[name]))
        write_member("checksum", np.array(checksum.hexdigest()))


class _Checksum:
    def __init__(self) -> None:
        import hashlib

        self._sha = hashlib.sha256()

    def add(self, name: str, content: bytes) -> None:
        encoded = name.encode()
        for part in (len(encoded), len(content)):
            self._sha.update(part.to_bytes(8, "little"))
        self._sha.update(encoded)
        self._sha.update(content)

    def hexdigest(self) -> str:
        return self._sha.hexdigest()


# -- reading ---------------------------------------------------------------------------------------


def _read_zip(file: IO[bytes], expected_kind: ArchiveKind) -> dict[str, npt.NDArray[Any]]:
    """Read all members but the checksum; kind, format, sizes and checksum are checked."""
    import zipfile

    if file.read(1) == b"{":
        raise ValueError("not a file of ranks, but perhaps JSON, which Report.from_json reads")
    with report_damage("not a file of truerank, or a damaged one"):
        archive = zipfile.ZipFile(file)
        entries = npz_entries(archive)
    contents: dict[str, bytes] = {}

    def array(name: str) -> npt.NDArray[Any]:
        with report_damage(f"damaged, or not a file of truerank: {name}"):
            if entries[name].compress_type != zipfile.ZIP_STORED:
                raise ValueError("compressed")
            contents[name] = archive.read(entries[name])
            return _decode_npy(contents[name])

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
    members = {name: array(name) for name in sorted(entries)}
    checksum = _Checksum()
    for name in members:
        if name != "checksum":
            checksum.add(name, contents[name])
    expected = _scalar(members.pop("checksum", np.array(None, dtype=object)))
    if expected != checksum.hexdigest():
        raise ValueError("damaged: the checksum does not match")
    return members


def _decode_npy(content: bytes) -> npt.NDArray[Any]:
    """Return the array of a `.npy` file that is in memory, as a read-only view."""
    array = decode_npy(content)
    if array.dtype.kind not in "biufU" or not array.flags.c_contiguous:
        raise ValueError(f"expected plain numbers or text in C order, got dtype {array.dtype}")
    return read_only(array)


def _scalar(array: npt.NDArray[Any]) -> Any:
    with report_damage("damaged"):  # bytes that are not text
        return array.item() if array.ndim == 0 else None
