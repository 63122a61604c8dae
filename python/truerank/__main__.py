"""`truerank` and `python -m truerank`: run the command line, which needs click and rich."""

from __future__ import annotations

from .cli.interrupts import EndsAtOnce

with EndsAtOnce():
    import sys

    from .cli.endings import DEBUG, ending
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
        with EndsAtOnce():
            for library in ("click", "rich"):
                import_extra(library, "the command line", "cli")
            from truerank.cli.commands import commands
        commands(prog_name="truerank")
    except (Exception, KeyboardInterrupt) as error:
        sys.exit(ending(error, DEBUG in sys.argv[1:]))


if __name__ == "__main__":
    main()
