"""Files that are written whole or not at all.

Whatever truerank writes for a user goes through `replace_file`: ranks, counters, checkpoints,
lists, tables, pages. A file is written under a temporary name in the folder of its target, synced,
and moved to its place. A link is followed, so what it points to is replaced. Another hard link to
the old file keeps the old content.

A new file gets the permissions that the umask leaves. A file that replaces another gets its mode,
and nobody else can read it in between; its owner and group are those of who writes, and an access
list is not copied. A file that may not be written is not replaced either, although its folder would
allow it.

A process that is killed leaves its temporary file, `.NAME.RANDOM.tmp`, which can be removed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import IO, cast

from ..errors import InputValueError
from .input_files import path_name

_LONGEST_NAME = 40  # 160 bytes in UTF-8; no file system allows less than 255 with what is added


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
    place, replaced = writable_place(path)
    folder, name = os.path.split(place)
    temporary = os.path.join(folder, f".{name[:_LONGEST_NAME]}.{os.urandom(8).hex()}.tmp")
    # The umask takes its part of the mode of a new file.
    mode = 0o666 if replaced is None else 0o600
    try:
        with open(temporary, "x+b", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if replaced is not None:
            with contextlib.suppress(OSError):  # some file systems have no modes
                os.chmod(temporary, replaced.st_mode & 0o777)
        os.replace(temporary, place)
    except OSError as error:
        _remove(temporary)
        if error.errno is None or error.filename not in (None, temporary):
            raise
        # The system names the temporary file, or none.
        raise OSError(error.errno, error.strerror, place) from error
    except BaseException:
        _remove(temporary)
        raise


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

    Raises
    ------
    OSError
        If links lead in a circle, a name is too long, or the file may not be written.
    TypeError
        If it is no path.
    ValueError
        If the path is empty or that of a folder, or leads to anything but a regular file.
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
