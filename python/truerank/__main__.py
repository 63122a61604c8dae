"""`truerank` and `python -m truerank`: run the command line, which needs click."""

from __future__ import annotations

import io
import sys

from .naming import import_extra


def main() -> None:
    """Run the command line, and end with one line where anything is wrong.

    The exit code is 0 for success, 2 for a wrong command line or a missing library, 3 where a gate
    finds a model worse, and 1 for anything else.

    Examples
    --------
    >>> main()  # doctest: +SKIP
    """
    try:
        import_extra("click", "the command line", "cli")
    except ImportError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
    from truerank.cli.commands import commands

    if isinstance(sys.stdout, io.TextIOWrapper):  # names may have what its encoding lacks
        sys.stdout.reconfigure(errors="backslashreplace")
    commands(prog_name="truerank")


if __name__ == "__main__":
    main()
