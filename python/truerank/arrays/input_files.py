"""Files that are read: only regular ones, of which nothing declared is believed.

Wherever a path is taken, by a function or on the command line, it must be that of a regular file: a
pipe or a socket may never answer and can be read only once, and a device may never end. Write what
a program prints into a file first. (Data sets of alignment are folders.)

A `.npy` file must be as large as its header says, and nothing in it is executed. No size that a
file declares is believed: memory is taken only for what is there. A `.gz` file and the arrays of a
compressed `.npz` are unpacked, to at most about a thousand times their size. Text is read in
blocks: a line may have 16 MiB (2**24 bytes), and a row 1,000 columns.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from ..errors import InputError, InputTypeError, InputValueError


def path_name(argument: str, path: object, expected: str = "a path") -> str:
    """Return a path as a str.

    Raises
    ------
    InputTypeError
        For what is no path.

    Examples
    --------
    >>> path_name("path", 3)
    Traceback (most recent call last):
    ...
    truerank.errors.InputTypeError: path: expected a path, got int
    """
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise InputTypeError(argument, expected=expected, got=type(path).__name__)
    return os.fsdecode(path)


@contextmanager
def open_input(
    argument: str, path: str | bytes | os.PathLike[str], buffering: int = -1
) -> Iterator[IO[bytes]]:
    """Open a regular file for reading bytes; the block's end closes it.

    Parameters
    ----------
    argument : str
        The argument that names the file, for messages.
    path : path-like
        The file.
    buffering : int, optional
        As in `open`.

    Raises
    ------
    ValueError
        If it is not a regular file.
    OSError
        As the system raises it, with the name that was given; also for a folder.

    Examples
    --------
    >>> with open_input("path", os.devnull) as file:
    ...     file.read()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    truerank.errors.InputValueError: path: /dev/null: expected a regular file, ...
    """
    name = path_name(argument, path)
    # This is asked before the file is opened, which may wait for somebody to write into a pipe. No
    # file has a name with a NUL.
    mode = 0 if "\0" in name else os.stat(name).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        expected = "a regular file, no pipe, socket or device"
        raise InputValueError(argument, expected=expected, place=name)
    with open(name, "rb", buffering) as file:
        yield file


@contextmanager
def report_damage(argument: str, place: str = "", problem: str = "") -> Iterator[None]:
    """Turn whatever libraries raise on damaged bytes into one kind of error.

    Parameters
    ----------
    argument : str
        What is damaged, for the message.
    place : str, optional
        The file, if `argument` does not name it.
    problem : str, optional
        What the message says before the library's words.
    """
    try:
        yield
    except (MemoryError, InputError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise  # The disk is at fault; a damaged offset gives EINVAL.
        raise InputValueError(argument, f"{problem}{error}", place=place) from error
