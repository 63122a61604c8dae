"""Files that are read: only regular ones, and compressed ones up to a limit.

Wherever a path is taken, by a function or on the command line, it must be that of a regular file: a
pipe or a socket may never answer and can be read only once, and a device may never end. Write what
a program prints into a file first. (Scores may also be in a folder of zarr, and data sets of
alignment are folders.)

A `.npy` file must be as large as its header says, and nothing in it is executed. Text is read in
blocks: a line may have 16 MiB (2**24 bytes), and a row 1,000 columns. A `.gz` file or the
compressed arrays of an `.npz` may unpack to 4 GiB (2**32 bytes). Functions that read such files
have the argument ``max_unpacked``, in bytes, for more or for less, and commands have
``--max-unpacked``.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO

from .checks import integer
from .errors import InputError, InputValueError, spelled

# The bytes that a compressed file may unpack to; one of a thousandth of them can hold as many.
_LIMIT: ContextVar[int] = ContextVar("truerank_max_unpacked", default=1 << 32)
_KINDS = ((stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISCHR, "a device"))


def open_regular(argument: str, name: str, folder: str = "") -> int:
    """Open a regular file for reading, and return its descriptor.

    Parameters
    ----------
    argument : str
        The argument that names the file, for messages.
    name : str
        The file.
    folder : str, optional
        What a relative name is relative to. Default: the current folder.

    Raises
    ------
    ValueError
        If it is not a regular file.
    OSError
        As the system raises it, with the name that was given; also for a folder.
    """
    path = os.path.join(folder, name)
    if "\0" in name:
        raise InputValueError(argument, expected="the path of a file", got=repr(name))
    try:
        _check_regular(argument, name, os.stat(path))
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise OSError(error.errno, error.strerror, name) from None
    try:
        _check_regular(argument, name, os.fstat(descriptor))  # it may have been replaced
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def check_folder(argument: str, name: str) -> None:
    """Check that all that a folder has, and folders in it, are regular files.

    For folders that a library reads, which opens whatever has the right name.

    Raises
    ------
    ValueError, OSError
        As in `open_regular`.
    """
    folders, seen = [name], set()
    while folders:
        folder = folders.pop()
        status = os.stat(folder)
        if (status.st_dev, status.st_ino) in seen:  # a link to a folder above
            continue
        seen.add((status.st_dev, status.st_ino))
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir():
                    folders.append(entry.path)
                elif not entry.is_file() and os.path.exists(entry.path):
                    _check_regular(argument, entry.path, os.stat(entry.path))


def _check_regular(argument: str, name: str, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if not stat.S_ISREG(status.st_mode):
        got = next((words for holds, words in _KINDS if holds(status.st_mode)), "a device")
        raise InputValueError(argument, expected="a regular file", got=got, place=name)


@contextmanager
def open_input(argument: str, path: str | bytes | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a regular file for reading bytes, as `open_regular` does; the block's end closes it.

    Examples
    --------
    >>> with open_input("path", os.devnull) as file:
    ...     file.read()
    Traceback (most recent call last):
    ...
    truerank.InputValueError: path: /dev/null: expected a regular file, got a device
    """
    name = os.fsdecode(path)
    descriptor = open_regular(argument, name)
    with open(name, "rb", opener=lambda *_: descriptor) as file:  # so that it knows its name
        yield file


@contextmanager
def report_damage(
    argument: str, describe: Callable[[Exception], str] = str, *, place: str = ""
) -> Iterator[None]:
    """Turn whatever libraries raise on damaged bytes into one kind of error.

    Parameters
    ----------
    argument : str
        What is damaged, for the message.
    describe : callable
        Returns the words of the message for the library's error.
    place : str, optional
        The file, if `argument` does not name it.
    """
    try:
        yield
    except (MemoryError, InputError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise  # the disk's fault; a damaged offset gives EINVAL
        raise InputValueError(argument, describe(error), place=place) from error


@contextmanager
def limit_unpacked(max_unpacked: object) -> Iterator[None]:
    """Let compressed files that the block reads unpack to at most so many bytes.

    Parameters
    ----------
    max_unpacked : int, optional
        The argument of the function that reads them. Default: what holds outside of the block,
        which is 4 GiB (2**32) unless a limit was set.

    Raises
    ------
    TypeError, ValueError
        For anything but a number of bytes.
    """
    if max_unpacked is None:
        yield
        return
    token = _LIMIT.set(integer("max_unpacked", max_unpacked, least=0, range="bytes >= 0"))
    try:
        yield
    finally:
        _LIMIT.reset(token)


def unpacked_limit() -> int:
    """Return the most bytes that a compressed file may unpack to.

    Examples
    --------
    >>> with limit_unpacked(1000):
    ...     unpacked_limit()
    1000
    """
    return _LIMIT.get()


def too_much_unpacked(argument: str, name: str, limit: int) -> InputValueError:
    """Return the error for a compressed file that unpacks to more bytes than are allowed."""
    more = f"unpack it, or allow more with {spelled('max_unpacked=')}"
    return InputValueError(argument, f"it unpacks to more than {limit:,} bytes; {more}", place=name)
