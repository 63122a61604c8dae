"""Ctrl-C while the command line is imported; imported before all else, this needs nothing heavy."""

from __future__ import annotations

import os
import signal
import sys

INTERRUPTED = 130  # the exit code by which shells report SIGINT


class EndsAtOnce:
    """Within its block, Ctrl-C ends the process with the exit code 130, quietly.

    Only imports run in it: there is nothing to clean up, and numpy and others would make another
    error of the exception. It does nothing unless the program is the command line, nor where the
    signal is ignored or handled by something else.

    Examples
    --------
    >>> with EndsAtOnce():
    ...     import json
    """

    def __init__(self) -> None:
        self._former: object = None

    def __enter__(self) -> None:
        if not is_command_line():
            return
        try:
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
                self._former = signal.default_int_handler
        except ValueError:  # not the main thread, which alone is interrupted
            pass

    def __exit__(self, *_: object) -> None:
        if self._former is not None:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def is_command_line() -> bool:
    """Whether this process runs `truerank` or `python -m truerank`.

    Examples
    --------
    >>> is_command_line()
    False
    """
    argv: list[str] = getattr(sys, "argv", None) or [""]  # an embedded Python may have none
    first, *words = argv
    if first == "-m":  # while Python looks for the module, whose name stands before the words
        module = sys.orig_argv[-len(words) - 1]
        return module == "truerank" or (module[:1] == "-" and module.endswith("mtruerank"))
    if os.path.basename(first) == "__main__.py":  # once it runs the module
        return os.path.basename(os.path.dirname(first)) == "truerank"
    return os.path.basename(first) in ("truerank", "truerank.exe")
