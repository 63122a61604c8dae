"""`truerank` and `python -m truerank`: run the command line, which needs click and rich."""

from __future__ import annotations

import sys

from .inputs.naming import import_extra


def main() -> None:
    """Run the command line, and end with one line where anything is wrong.

    The exit code is 0 for success, 1 for data that cannot be evaluated or written, 2 for a wrong
    command line or a missing library, 70 for a fault of truerank, and 130 after Ctrl-C.

    Examples
    --------
    >>> main()  # doctest: +SKIP
    """
    try:
        for library in ("click", "rich"):
            import_extra(library, "the command line", "cli")
    except ImportError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
    from truerank.cli.commands import commands

    commands(prog_name="truerank")


if __name__ == "__main__":
    main()
