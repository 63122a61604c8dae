"""`truerank` and `python -m truerank`: run the command line, which needs click and rich."""

from __future__ import annotations

import sys

from .inputs.naming import import_extra


def main() -> None:
    """Run the command line, or say in one line how to install it.

    The exit code is 0 for success, 1 for data that cannot be evaluated, 2 for a wrong command line
    or a missing library, 130 after Ctrl-C, and 141 if the reader of a pipe went away.

    Examples
    --------
    >>> main()  # doctest: +SKIP
    """
    try:
        _check_libraries()
        from truerank.cli.commands import commands
    except KeyboardInterrupt:  # the command line itself handles later ones
        sys.exit(130)
    commands(prog_name="truerank")


def _check_libraries() -> None:
    try:
        for library in ("click", "rich"):
            import_extra(library, "the command line", "cli")
    except ModuleNotFoundError:  # something within the library is missing
        raise
    except ImportError as error:
        sys.stderr.write(f"Error: {error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
