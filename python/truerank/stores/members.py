"""Members: which array of several is meant, and where one of an `.npz` lies."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..inputs.errors import InputValueError, spelled
from .descriptors import read_at
from .headers import Place, parse

if TYPE_CHECKING:
    from zipfile import ZipInfo

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_LOCAL = 30  # bytes of a member's local header before its name
_WRAPPED = 0x01 | 0x20 | 0x40  # flags: encrypted, patched data, strongly encrypted
_UTF8 = 0x800  # flag: names are UTF-8, else of code page 437


def of_npz(descriptor: int, name: str, member: str | None, dtype: object = None) -> Place:
    """Find the matrix of a member of an `.npz` that is stored as it is.

    Parameters
    ----------
    descriptor, name, dtype
        As in `of_npy`.
    member : str, optional
        With or without ".npy". Default: the only one, or else "scores".

    Raises
    ------
    TypeError
        For a dtype that scores cannot have.
    ValueError
        For a damaged archive, and a member that is not there, is compressed or encrypted, or has
        a broken header.
    """
    info = _member(descriptor, name, member)
    inside = f"{name}: {info.filename}"
    if info.flag_bits & _WRAPPED:
        raise InputValueError(
            "scores", f"{inside}: is encrypted or patched, and cannot be read in place"
        )
    if info.compress_type != 0:
        raise InputValueError(
            "scores",
            (
                f"{inside}: is compressed, and cannot be read in place; numpy.savez stores "
                "arrays as they are, numpy.savez_compressed does not"
            ),
        )
    size = os.fstat(descriptor).st_size
    if not 0 <= info.header_offset <= size - _LOCAL - info.file_size:
        raise InputValueError("scores", f"{inside}: the archive is damaged or cut short")
    local = read_at(descriptor, _LOCAL, info.header_offset, name)
    # Its name and extra field may be of other lengths than the directory's.
    length = int.from_bytes(local[26:28], "little")
    start = info.header_offset + _LOCAL + length + int.from_bytes(local[28:30], "little")
    end = start + info.file_size
    if local[:4] != ZIP[0] or end > size:
        raise InputValueError("scores", f"{inside}: the archive is damaged or cut short")
    named = read_at(descriptor, length, info.header_offset + _LOCAL, name)
    if named != info.orig_filename.encode("utf-8" if info.flag_bits & _UTF8 else "cp437"):
        raise InputValueError("scores", f"{inside}: the archive is damaged: its names differ")
    place = parse(descriptor, start, end, inside, dtype)
    place.check(end)
    return place


def _member(descriptor: int, name: str, member: str | None) -> ZipInfo:
    """The directory's entry of a member, or of the one that is meant."""
    import zipfile

    try:
        with open(descriptor, "rb", closefd=False) as file, zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
    except Exception as error:  # zipfile lets out whatever its parser meets
        if isinstance(error, OSError) and error.errno not in (None, 22):
            raise  # the disk's fault; a wild offset is EINVAL
        raise InputValueError("scores", f"{name}: the archive is damaged: {error}") from None
    names = [entry.filename.removesuffix(".npy") for entry in entries]
    return entries[pick(name, names, None if member is None else member.removesuffix(".npy"))]


def pick(name: str, names: list[str], member: str | None) -> int:
    """The position of a member: the one asked for, the only one, or "scores".

    Raises
    ------
    ValueError
        If there is none, or more than one; it lists them.
    """
    wanted = "scores" if member is None and len(names) != 1 else member
    found = [i for i, each in enumerate(names) if wanted is None or each == wanted]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
    if not names:
        raise InputValueError("scores", f"{name}: there are no arrays in it")
    if found:
        raise InputValueError("member", f"{name}: there are {len(found)} of name {wanted!r}")
    ask = f"member {wanted!r}" if member is not None else f"{spelled('member=')} to say which"
    raise InputValueError("member", f"{name}: expected {ask}, there are {listed}")
