"""Files that are read: only regular ones, of which nothing declared is believed.

Wherever a path is taken, by a function or on the command line, it must be that of a regular file: a
pipe or a socket may never answer and can be read only once, and a device may never end. Write what
a program prints into a file first. (Scores may also be in a folder of zarr, and data sets of
alignment are folders.)

A `.npy` file must be as large as its header says, and nothing in it is executed. No size that a
file declares is believed: memory is taken only for what is there. A `.gz` file and the arrays of a
compressed `.npz` are unpacked, to at most about a thousand times their size. Text is read in
blocks: a line may have 16 MiB (2**24 bytes), and a row 1,000 columns.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from .errors import InputError, InputValueError

_KINDS = ((stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISCHR, "a device"))


def open_regular(argument: str, path: str) -> int:
    """Open a regular file for reading, and return its descriptor.

    Parameters
    ----------
    argument : str
        The argument that names the file, for messages.
    path : str
        The file.

    Raises
    ------
    ValueError
        If it is not a regular file.
    OSError
        As the system raises it, with the name that was given; also for a folder.
    """
    if "\0" in path:
        raise InputValueError(argument, expected="the path of a file", got=repr(path))
    _check_regular(argument, path, os.stat(path))
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        _check_regular(argument, path, os.fstat(descriptor))  # it may have been replaced
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def check_folder(argument: str, name: str) -> None:
    """Check that all that a folder has, and folders in it, are regular files.

    For folders that a library reads, which opens whatever has the right name. Links to other
    folders are not followed.

    Raises
    ------
    ValueError, OSError
        As in `open_regular`.
    """
    for folder, _, files in os.walk(name):
        for path in (os.path.join(folder, file) for file in files):
            if os.path.exists(path):
                _check_regular(argument, path, os.stat(path))


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
