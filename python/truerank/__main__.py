"""`truerank` and `python -m truerank`: run the command line, which needs click and rich."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from .cli.endings import DEBUG, INTERRUPTED, ending
from .inputs.naming import import_extra


def main() -> None:
    """Run the command line, and end with one line where anything is wrong.

    The exit code is 0 for success, 1 for data that cannot be evaluated or written, 2 for a wrong
    command line, a wrong environment variable or a missing library, 70 for a fault of truerank, 130
    after Ctrl-C, and 141 if the reader of a pipe went away.

    Examples
    --------
    >>> main()  # doctest: +SKIP
    """
    try:
        with _interrupted_at_once():
            for library in ("click", "rich"):
                import_extra(library, "the command line", "cli")
            from truerank.cli.commands import commands
        commands(prog_name="truerank")
    except (Exception, KeyboardInterrupt) as error:
        sys.exit(ending(error, DEBUG in sys.argv[1:]))


@contextmanager
def _interrupted_at_once() -> Iterator[None]:
    """End the process at Ctrl-C: within an import, numpy and others make other errors of it."""
    try:
        former = signal.getsignal(signal.SIGINT)
        if former is signal.default_int_handler:
            signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    except ValueError:  # not the main thread, which alone is interrupted
        former = None
    yield
    if former is signal.default_int_handler:
        signal.signal(signal.SIGINT, former)


if __name__ == "__main__":
    main()
