"""`truerank` and `python -m truerank`: the command line, where its two libraries are installed."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say in one line how to install it.

    Exits with 0; 1 for data that cannot be evaluated; 2 for a wrong command line, and where click
    or rich is missing; 130 after Ctrl-C; 141 where the reader of a pipe went away.

    Examples
    --------
    >>> main()  # doctest: +SKIP
    """
    try:
        from truerank.cli.commands import commands
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"click", "rich"}:
            raise
        sys.stderr.write(
            f"Error: the command line needs {error.name}: pip install 'truerank[cli]'\n"
        )
        sys.exit(2)
    except KeyboardInterrupt:  # the command line itself sees to later ones
        sys.exit(130)
    commands(prog_name="truerank")


if __name__ == "__main__":
    main()
