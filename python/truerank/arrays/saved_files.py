"""Files that are written whole or not at all.

Whatever truerank writes for a user goes through `replace_file`: ranks, counters, checkpoints,
lists, tables, pages. A file is written in the folder of its target, without a name or under a
temporary one, synced, and moved to its place. A link is followed, so what it points to is replaced.
Another hard link to the old file keeps the old content.

A name that was free before is taken by a link, which fails if another process has taken it
meanwhile. (Where there are no links, an empty file takes it first.)

A new file gets the permissions that the umask leaves. A file that replaces another gets its mode,
and nobody else can read it in between; its owner and group are those of who writes, and an access
list is not copied. A file that may not be written is not replaced either, although its folder would
allow it.

A process that is killed leaves nothing where files without a name exist: on Linux, on most of its
file systems. Elsewhere it leaves its temporary file, `.NAME.RANDOM.tmp`, which can be removed.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np

from ..errors import InputValueError
from .input_files import decode_npy, npz_entries, open_input, path_name, report_damage

if TYPE_CHECKING:
    import numpy.typing as npt

    Members = dict[str, npt.NDArray[Any]]

HEADER = "truerank"  # Every archive of truerank has this member.
_FORMAT = 2  # This version knows one format of each kind.
_READABLE = "a file of truerank, as `save` writes it"
_LONGEST_NAME = 40  # 160 bytes in UTF-8; no file system allows less than 255 with what is added


@contextlib.contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary file that is moved to `path` if the block ends without an error.

    An OSError names `path`, also if another process has written a file meanwhile where none was.
    """
    place, replaced = writable_place(path)
    folder, name = os.path.split(place)
    temporary = os.path.join(folder, f".{name[:_LONGEST_NAME]}.{os.urandom(8).hex()}.tmp")
    # The umask takes its part of the mode of a new file.
    mode = 0o666 if replaced is None else 0o600
    try:
        with _open_temporary(folder, temporary, mode) as file:
            yield file
            _keep_file(file, temporary)
        if replaced is None:
            _move_to_free_place(temporary, place)
        else:
            with contextlib.suppress(OSError):  # some file systems have no modes
                os.chmod(temporary, replaced.st_mode & 0o777)
            os.replace(temporary, place)
    except OSError as error:
        _remove(temporary)
        paths = (error.filename, error.filename2)  # the second one of a link
        is_of_this_file = temporary in paths or not error.filename
        if error.errno is None or not is_of_this_file:
            raise
        raise OSError(error.errno, error.strerror, place) from error
    except BaseException:
        _remove(temporary)
        raise


def _open_temporary(folder: str, temporary: str, mode: int) -> IO[bytes]:
    """Open a file without a name, or where the system has none, one with a temporary name."""
    try:
        if os.path.isdir("/proc/self/fd"):  # By which it will get a name.
            return open(os.open(folder, os.O_TMPFILE | os.O_RDWR, mode), "w+b")
    except (AttributeError, OSError):
        pass  # An error of the folder will be that of the other file, too.
    return open(temporary, "x+b", opener=lambda name, flags: os.open(name, flags, mode))


def _keep_file(file: IO[bytes], temporary: str) -> None:
    """Write what is buffered to the disk, and give the file its temporary name if it has none."""
    file.flush()
    os.fsync(file.fileno())
    if file.name != temporary:
        # Python follows a link only if `src_dir_fd` is given; a whole path ignores it.
        source = f"/proc/self/fd/{file.fileno()}"
        os.link(source, temporary, src_dir_fd=file.fileno())


def _move_to_free_place(temporary: str, place: str) -> None:
    """Move a file to a name that none has, or raise FileExistsError."""
    try:
        os.link(temporary, place)
    except FileExistsError:
        raise
    except (OSError, AttributeError):  # Not all systems have links, nor all file systems.
        os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        try:
            os.replace(temporary, place)
        except BaseException:
            _remove(place)
            raise
    _remove(temporary)


def _remove(temporary: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(temporary)


@contextlib.contextmanager
def replace_text(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file as `replace_file` does; what is written is gzipped if its name ends in .gz."""
    import gzip

    with contextlib.ExitStack() as stack:
        file = stack.enter_context(replace_file(path))
        if os.fsdecode(path).lower().endswith(".gz"):
            # without a date and a name, so that equal text gives equal bytes
            packed = gzip.GzipFile("", "wb", 6, fileobj=file, mtime=0)
            file = cast("IO[bytes]", stack.enter_context(packed))
        yield file


def writable_place(
    path: str | os.PathLike[str], argument: str = "path"
) -> tuple[str, os.stat_result | None]:
    """Return where a path leads, and what is there to be replaced; None for a new file.

    What may not be written is an OSError, a folder or a device a ValueError.
    """
    name = path_name(argument, path, "the path of a file")
    if not name:
        raise InputValueError(argument, expected="the path of a file", got="an empty one")
    if "\0" in name or not os.path.basename(name):
        raise InputValueError(argument, expected="the path of a file", got=repr(name))
    place = os.path.realpath(name)
    try:
        status = os.stat(place)
    except FileNotFoundError:
        return place, None
    if not stat.S_ISREG(status.st_mode):
        raise InputValueError(argument, expected="a regular file or a new name", got=place)
    # a move would not check this
    if not os.access(place, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), place)
    return place, status


def write_archive(
    path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], members: Members
) -> None:
    """Write a header and members to a file, exactly at `path`: whole or not at all.

    Equal content gives equal bytes. Raises as `replace_file` does.
    """
    whole_header = dict(header, kind=kind, format=_FORMAT, members=sorted(members))
    text = json.dumps(whole_header, sort_keys=True)
    all_members = {HEADER: np.frombuffer(text.encode(), np.uint8)}
    all_members |= {name: members[name] for name in sorted(members)}
    with replace_file(path) as file:
        np.savez(file, **all_members)  # type: ignore[arg-type]


@contextlib.contextmanager
def open_archive(
    argument: str, path: str | os.PathLike[str], kind: str, known: Collection[str]
) -> Iterator[tuple[dict[str, Any], Members]]:
    """Read the header and the members of a file; errors of the block name the file.

    `known` are the names of members that a file of its kind may have, or what stands before the dot
    in these. Nothing but the header is read of a file that has others. A ValueError, a TypeError or
    a missing member (KeyError) in the block is damage, too.
    """
    name = path_name(argument, path)
    names, members = read_npz(argument, name, (HEADER,), what=_READABLE, compressed=False)
    try:
        header = _read_header(members, kind)
        names.remove(HEADER)
        unknown = [member for member in names if member.partition(".")[0] not in known]
        if unknown:
            raise ValueError(f"expected no member {unknown[0][:80]!r}")
        # The directory of an archive has no checksum: damaged, it may end before its last members.
        missing = [member for member in header["members"] if member not in names]
        if missing:
            raise ValueError(f"damaged: no member {missing[0]!r}"[:100])
        yield header, read_npz(argument, name, names, what=_READABLE, compressed=False)[1]
    except KeyError as error:
        raise InputValueError(argument, f"damaged: no member {error}", place=name) from error
    except (ValueError, TypeError) as error:
        if getattr(error, "argument", "") == argument:  # It names the file.
            raise
        raise InputValueError(argument, str(error), place=name) from error


def _read_header(members: Members, kind: str) -> dict[str, Any]:
    """Return the header of a file of a kind, in this version's format; any other is refused."""
    if HEADER not in members:
        raise ValueError(f"not a file of truerank: it has no member {HEADER!r}")
    with report_damage("damaged header"):
        header: dict[str, Any] = json.loads(members[HEADER].tobytes())
    checked_fields("header", header, {"kind": (str,), "format": (int,), "members": (list,)})
    if header["kind"] != kind:
        raise ValueError(f"expected a file of kind {kind!r}, got {header['kind'][:80]!r}")
    if header["format"] != _FORMAT:
        problem = f"written by another truerank, format {header['format']}"
        raise ValueError(f"{problem}; this version reads format {_FORMAT}")
    return header


def checked_fields(place: str, value: Any, types: Mapping[str, tuple[type, ...]]) -> Any:
    """Check that a value of JSON is an object with fields of these types; it may have others."""
    if not isinstance(value, dict) or not types.keys() <= value.keys():
        expected = f"an object of {', '.join(types)}"
        raise InputValueError("damaged", expected=expected, place=place)
    for name, allowed in types.items():
        if type(value[name]) not in allowed:
            expected = " or ".join(kind.__name__ for kind in allowed)
            got = type(value[name]).__name__
            raise InputValueError("damaged", expected=expected, got=got, place=f"{place}.{name}")
    return value


def read_npz(
    argument: str,
    path: str | bytes | os.PathLike[str],
    names: Collection[str] | None = None,
    *,
    what: str = "an .npz file",
    compressed: bool = True,
) -> tuple[list[str], dict[str, npt.NDArray[Any]]]:
    """Return the names of all arrays of an `.npz` file, and the named arrays (default: all).

    The message says `what` was expected if the file is not an archive. If arrays may not be
    compressed, none takes more memory than its file has bytes.
    """
    import zipfile

    name = os.fsdecode(path)
    arrays = {}
    with (
        open_input(argument, name) as file,
        report_damage(argument, name, f"not {what}, or damaged: "),
        zipfile.ZipFile(file) as archive,
    ):
        entries = npz_entries(archive)
        for key, info in entries.items():
            is_plain = info.compress_type == zipfile.ZIP_STORED
            if not compressed and not (is_plain and info.file_size == info.compress_size):
                problem = "is compressed, as numpy.savez writes none"
                raise ValueError(f"the member {key[:80]!r} {problem}")
        for key, info in entries.items():
            if names is None or key in names:
                with report_damage(argument, f"{name}: {info.filename}"):
                    arrays[key] = np.array(decode_npy(archive.read(info)))
    return list(entries), arrays
