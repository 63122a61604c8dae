"""Files that are written whole or not at all, with the permissions of what they replace.

Whatever truerank writes for a user goes through `replace_file`, or through `Replacement` if several
files belong together: ranks, counters, checkpoints, pages, data sets.

A file is written under a temporary name in the folder of its target, synced, and moved to its
place. A link is followed, so what it points to is replaced. Another hard link to the old file keeps
the old content.

**Permissions.** A new file gets those that the umask leaves. A file that replaces another gets its
mode, its group and owner, and its access list; nobody can read it in between. If the system refuses
to keep the group, the new group may do what all others may, so that no permission ever grows. A
file that may not be written is not replaced either, although its folder would allow it.

**Temporary names** are `.NAME.truerank-SYSTEM-PID-RANDOM.tmp`, with the target's name (the start
and a digest of a long one). A process that is killed leaves such a file. The next save of the same
path removes it if its writer is known to be dead: SYSTEM, a digest of the kernel's boot and of the
namespace of process ids, is that of the saving process, and no process has the id PID. What another
host, another container or an earlier boot has left is never removed, because its ids mean nothing
here; nor is anything where the system does not tell its boot (it does on Linux). A file whose id
has since been given to another process stays until that one has ended.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Self, cast

from ..inputs.errors import InputTypeError, InputValueError

_LONGEST_NAME = 40  # 160 bytes in UTF-8; no file system allows less than 255 with what is added
_ACCESS_LIST = "system.posix_acl_access"


@contextlib.contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary file that is moved to `path` if the block ends without an error.

    Raises
    ------
    OSError
        If the folder is absent or cannot be written, or the disk is full. It names `path`.
    ValueError
        If `path` exists and is not a regular file.
    """
    with Replacement() as replacement, replacement.file(path) as file:
        yield file


@contextlib.contextmanager
def replace_text(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file as `replace_file` does; what is written is gzipped if its name ends in .gz."""
    import gzip

    with contextlib.ExitStack() as stack:
        file = stack.enter_context(replace_file(path))
        if os.fsdecode(path).endswith(".gz"):
            # without a date and a name, so that equal text gives equal bytes
            packed = gzip.GzipFile("", "wb", 6, fileobj=file, mtime=0)
            file = cast("IO[bytes]", stack.enter_context(packed))
        yield file


class Replacement:
    """Files that are moved to their places when the block ends, all of them or none.

    If the system moves some files but refuses to replace others, files at new places are removed
    again; the others are each whole, old or new.
    """

    def __init__(self) -> None:
        self._places: dict[str, str] = {}  # by temporary name
        self._new: list[str] = []  # moved to places that were free

    @contextlib.contextmanager
    def file(self, path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
        """Open a temporary file for a path, and sync it when the block ends; raises as above."""
        place, replaced = writable_place(path)
        temporary = _temporary_name(place)
        _remove_stale(temporary)
        self._places[temporary] = place
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
        with _errors_naming(place, temporary):
            descriptor = os.open(temporary, flags, 0o666 if replaced is None else 0o600)
            with open(descriptor, "w+b") as file:
                if replaced is not None and hasattr(os, "fchown"):
                    _copy_permissions(place, replaced, descriptor)
                yield file
                file.flush()
                os.fsync(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                for temporary, place in self._places.items():
                    self._move(temporary, place)
        except BaseException as failure:
            kind = type(failure)
            raise
        finally:
            if kind is not None:
                self._discard()
        for folder in {os.path.dirname(place) for place in self._places.values()}:
            _sync_folder(folder)

    def _move(self, temporary: str, place: str) -> None:
        is_new = not os.path.lexists(place)
        with _errors_naming(place, temporary):
            os.replace(temporary, place)
        if is_new:
            self._new.append(place)

    def _discard(self) -> None:
        for path in (*self._places, *self._new):
            with contextlib.suppress(OSError):
                os.unlink(path)


def writable_place(
    path: str | os.PathLike[str], argument: str = "path"
) -> tuple[str, os.stat_result | None]:
    """Return where a path leads, and what is there to be replaced; None for a new file.

    Raises
    ------
    OSError
        If links lead in a circle, a name is too long, or the file may not be written.
    TypeError
        If it is no path.
    ValueError
        If the path is empty or that of a folder, or leads to anything but a regular file.
    """
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise InputTypeError(argument, expected="the path of a file", got=type(path).__name__)
    name = os.fsdecode(path)
    if not name or "\0" in name or not os.path.basename(name):
        got = repr(name) if name else "an empty one"
        raise InputValueError(argument, expected="the path of a file", got=got)
    place = os.path.realpath(name)
    try:
        found = os.stat(place)
    except FileNotFoundError:
        return place, None
    if not stat.S_ISREG(found.st_mode):
        raise InputValueError(argument, expected="a regular file or a new name", got=place)
    # a move would not check this
    if not os.access(place, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), place)
    return place, found


@contextlib.contextmanager
def _errors_naming(place: str, temporary: str) -> Iterator[None]:
    """Let errors of the system name the file that is written, not its temporary name or none."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename not in (None, temporary):
            raise
        raise OSError(error.errno, error.strerror, place) from error


def _copy_permissions(path: str, replaced: os.stat_result, descriptor: int) -> None:
    """Give an open file the mode, owner, group and access list of the file at `path`."""
    mode, own = stat.S_IMODE(replaced.st_mode) & 0o777, os.fstat(descriptor)
    if own.st_uid != replaced.st_uid:
        with contextlib.suppress(OSError):
            os.fchown(descriptor, replaced.st_uid, -1)
    try:
        if own.st_gid != replaced.st_gid:
            os.fchown(descriptor, -1, replaced.st_gid)
        _copy_access_list(path, descriptor)
    except OSError:
        mode &= 0o707 | (mode & 0o007) << 3
    with contextlib.suppress(OSError):  # some file systems have no modes
        os.fchmod(descriptor, mode)


def _copy_access_list(path: str, descriptor: int) -> None:
    if not hasattr(os, "getxattr"):
        return
    try:
        entries = os.getxattr(path, _ACCESS_LIST)
    except OSError:  # there is none, but the folder may have given one to the new file
        with contextlib.suppress(OSError):
            os.removexattr(descriptor, _ACCESS_LIST)
    else:
        os.setxattr(descriptor, _ACCESS_LIST, entries)


def _temporary_name(place: str) -> str:
    folder, name = os.path.split(place)
    if len(name) > _LONGEST_NAME:
        name = f"{name[: _LONGEST_NAME - 9]}-{_digest(os.fsencode(name), 8)}"
    writer = f"{_system()}-{os.getpid()}-{os.urandom(4).hex()}"
    return os.path.join(folder, f".{name}.truerank-{writer}.tmp")


def _system() -> str:
    """Return a name for what gives processes their ids: a boot of a kernel and a namespace."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read()
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        return "unknown"
    return _digest(f"{boot}{namespace}".encode(), 16)


def _digest(content: bytes, digits: int) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()[:digits]


def _remove_stale(temporary: str) -> None:
    """Remove the files of dead processes that have this temporary name but for pid and RANDOM."""
    folder, name = os.path.split(temporary)
    start = name.rsplit("-", 2)[0] + "-"
    if start.endswith("-unknown-"):
        return
    with contextlib.suppress(OSError):
        for other in os.listdir(folder):
            if other.startswith(start):
                found = re.fullmatch(r"(\d{1,9})-[0-9a-f]{8}\.tmp", other[len(start) :])
                if found is not None and not _is_alive(int(found[1])):
                    with contextlib.suppress(OSError):
                        os.unlink(os.path.join(folder, other))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's
        return True
    return True


def _sync_folder(folder: str) -> None:
    """Make sure that new names survive a crash, if the system can sync folders."""
    if hasattr(os, "O_DIRECTORY"):
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
