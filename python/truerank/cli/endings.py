"""How a run ends: its exit code, and one line on standard error where something went wrong.

Nothing here imports click, numpy or the core, so that a fault in importing them ends in this way,
too.
"""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from typing import IO

from ..inputs.naming import printable
from .interrupts import INTERRUPTED

# The exit codes: 70 is EX_SOFTWARE of sysexits.h, and shells report SIGPIPE by 141.
BAD_DATA, WRONG_COMMAND, FAULT, CLOSED_PIPE = 1, 2, 70, 141
EXIT_CODES = {
    0: "success",
    BAD_DATA: "data that cannot be evaluated, or a result that cannot be written",
    WRONG_COMMAND: "a wrong command line or environment variable, or a library that is missing",
    FAULT: "a fault of truerank",
    INTERRUPTED: "Ctrl-C",
    CLOSED_PIPE: "the reader of a pipe went away",
}
DEBUG = "--debug"


def ending(error: BaseException, debug: bool) -> int:
    """Write one line about an exception that nothing else caught, and return the exit code.

    Parameters
    ----------
    error
        What ended the run.
    debug
        Whether to write the traceback before the line.

    Returns
    -------
    int
    """
    code, message = _code_and_message(error)
    return end_with(error, code, message, debug)


def end_with(error: BaseException, code: int, message: str, debug: bool) -> int:
    """Write an error in one line to standard error, and return the exit code."""
    if debug:
        write_text(printable("".join(traceback.format_exception(error)), keep="\n"))
    if message:
        write_line(f"Error: {message}")
    return code


def _code_and_message(error: BaseException) -> tuple[int, str]:
    """Return the exit code for an exception, and what to say about it."""
    if _was_interrupted(error):
        return INTERRUPTED, ""
    if isinstance(error, BrokenPipeError):
        silence(sys.stdout)
        return CLOSED_PIPE, ""
    if isinstance(error, ImportError):
        return WRONG_COMMAND, str(error)
    if isinstance(error, MemoryError):
        return BAD_DATA, f"not enough memory: {error}".removesuffix(": ")
    if isinstance(error, OSError):
        return BAD_DATA, os_error_text(error)
    what = f"{type(error).__name__}: {error}".removesuffix(": ")
    return FAULT, f"a fault of truerank, of which {DEBUG} shows the place: {what}"


def os_error_text(error: OSError) -> str:
    """Write an error of the system, after the name of the file that it is about."""
    name = f"{printable(str(error.filename))}: " if error.filename else ""
    return f"{name}{error.strerror or error}"


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is among the causes of an exception."""
    seen = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def write_line(message: str) -> None:
    """Write a message in one line to standard error, without control characters."""
    lines = filter(None, map(str.strip, message.split("\n")))  # blanks within paths stay
    write_text(f"{printable(' '.join(lines))}\n")


def write_text(text: str) -> None:
    """Write a text to standard error, as far as that can be written."""
    if sys.stderr is None:  # the process was started without one
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        silence(sys.stderr)


def silence(stream: IO[str] | None) -> None:
    """Let nothing more reach a stream that failed: Python flushes it once more when it ends."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # type: ignore[union-attr]
