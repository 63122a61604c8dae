"""What all commands share: exit codes, errors in one line that name options, and output."""

from __future__ import annotations

import os
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import click

from ..inputs.errors import InputError
from ..inputs.naming import printable, terminal_text

# The exit codes: 70 is EX_SOFTWARE of sysexits.h, and shells report SIGINT by 130.
BAD_DATA, WRONG_COMMAND, FAULT, INTERRUPTED = 1, 2, 70, 130
EXIT_CODES = {
    0: "success",
    BAD_DATA: "data that cannot be evaluated, or a result that cannot be written",
    WRONG_COMMAND: "a wrong command line, or a library that is missing",
    FAULT: "a fault of truerank",
    INTERRUPTED: "Ctrl-C",
}
DEBUG = "--debug"

# The option for each argument of a Python function that an error may name.
ARGUMENT_OPTIONS = {
    **{name: f"--{name}" for name in ("by", "side", "queries", "weights", "rows", "filter")},
    **{name: f"--{name}" for name in ("candidates", "method", "tasks", "dataset", "size", "order")},
    **{name: f"--{name}" for name in ("member", "shape", "dtype", "layout", "offset")},
    **{name: f"--{name}" for name in ("entities", "relations", "similarity", "bias", "unseen")},
    **{"split": "--split", "relation": "--relation", "folder": "--file", "checkpoint": "--resume"},
}


# Python code that a message mentions, and what the command line has in its place.
SNIPPETS = {
    **{f"{name}=": f"--{name}" for name in ("member", "dtype", "shape")},
    **{"by=...": "--by", "report(ranks, by=...)": "--by", "allow_unlike=True": "--allow-unlike"},
    "rank(..., audit=True)": "evaluate SCORES TARGETS --audit",
    'ranks.with_protocol(split="test")': "--split test",
    "ranks.with_labels(side=...)": "evaluate --side",
    "ranks.with_labels(relation=...)": "evaluate --relation",
    "ranks.with_labels(queries=...)": "evaluate --queries",
    "ranks.with_labels(targets=...)": "evaluate SCORES TARGETS --by target",
    **{"time=": "--time", "known=": "--train or --known", "answers: ": "--qrels: "},
    **{f'known["{split}"]': f"--{split}" for split in ("train", "valid")},
}
_SNIPPET = re.compile(
    r'(?<![\w./])(?:(nan|order|dtype|dataset|duplicates|leaks|unseen)="(\w+)"|'
    rf"{'|'.join(map(re.escape, sorted(SNIPPETS, key=len, reverse=True)))})"
)


class Subcommand(click.Command):
    """A command whose help is written as its result is, and that has the option --debug."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        whole = isinstance(self, click.Group)  # whose help lists the option once for all
        self.params.append(
            click.Option(
                [DEBUG],
                is_flag=True,
                expose_value=False,
                hidden=not whole,
                help="After any command, too: show where in the code an error arose.",
            )
        )

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return the option --help, which writes to standard output by `emit`."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = show_help
        return option


def show_help(context: click.Context, _option: click.Parameter, given: bool) -> None:
    """Write the help of a command, and exit."""
    if given and not context.resilient_parsing:
        emit(context.get_help())
        context.exit()


class Commands(Subcommand, click.Group):
    """A group that ends with our exit codes and reports an error in one line."""

    command_class = Subcommand

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Store the arguments as they were typed in the object of the context."""
        return super().make_context(info_name, args, parent, **{"obj": list(args), **extra})

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Run a command and exit; whatever is wrong is one line on standard error."""
        kwargs["standalone_mode"] = False
        try:
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *_, **__: write_warning(str(message))
                code = super().main(*args, **kwargs)
        except Exception as error:
            code, message = code_and_message(error)
            if DEBUG in (args[0] if args else sys.argv[1:]):
                write_text(printable("".join(traceback.format_exception(error)), keep="\n"))
            if message:
                write_line(f"Error: {message}")
        sys.exit(code if isinstance(code, int) else 0)


def code_and_message(error: Exception) -> tuple[int, str]:
    """Return the exit code for an exception that ended a run, and what to say about it."""
    match error:
        case click.Abort():
            return INTERRUPTED, ""
        case click.UsageError():
            program = error.ctx.command_path if error.ctx else "truerank"
            text = error.format_message().rstrip(".")
            return error.exit_code, f"{text} (see {program} --help)"
        case click.ClickException():
            return error.exit_code, error.format_message()
        case ImportError():
            return WRONG_COMMAND, str(error)
        case MemoryError():
            return BAD_DATA, f"not enough memory: {error}".removesuffix(": ")
        case OSError():
            return BAD_DATA, os_error_text(error)
    what = f"{type(error).__name__}: {error}".removesuffix(": ")
    return FAULT, f"a fault of truerank, of which {DEBUG} shows the place: {what}"


def command_line() -> str:
    """Return the command line that is being run."""
    words: list[str] = click.get_current_context().find_root().obj or []
    return shlex.join(["truerank", *words])


def write_warning(message: str) -> None:
    """Write a warning in one line to standard error."""
    write_line(f"Warning: {message}")


def write_line(message: str) -> None:
    """Write a message in one line to standard error, without control characters."""
    message = _SNIPPET.sub(lambda m: f"--{m[1]} {m[2]}" if m[1] else SNIPPETS[m[0]], message)
    lines = filter(None, map(str.strip, message.split("\n")))  # blanks within paths stay
    write_text(f"{printable(' '.join(lines))}\n")


def write_text(text: str) -> None:
    """Write a text to standard error, as far as that can be written."""
    with suppress(OSError):
        print(text, end="", file=sys.stderr, flush=True)


@contextmanager
def user_errors() -> Iterator[None]:
    """Turn the exceptions that bad data raises into errors in one line.

    Only code that reads or checks data runs within it, so that other bugs keep their traceback.
    """
    try:
        yield
    except OSError as error:
        raise click.ClickException(os_error_text(error)) from error
    except (KeyError, ValueError, TypeError, MemoryError) as error:
        raise click.ClickException(error_text(error)) from error


def error_text(error: Exception) -> str:
    """Return the text of an error, with the option in place of the argument that it names."""
    if isinstance(error, InputError):
        error = error.among(ARGUMENT_OPTIONS)
    return str(error) or type(error).__name__


def os_error_text(error: OSError) -> str:
    """Write an error of the system, after the name of the file that it is about."""
    name = f"{printable(str(error.filename))}: " if error.filename else ""
    return f"{name}{error.strerror or error}"


def emit(text: str) -> None:
    """Write a text to standard output."""
    if sys.stdout is None:  # the process was started without one
        raise click.ClickException("standard output: closed")
    # the name of a side may have characters that the encoding lacks
    encoding = sys.stdout.encoding or "utf-8"
    try:
        shown = terminal_text(text.rstrip("\n"))
        sys.stdout.write(shown.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.write("\n")
        sys.stdout.flush()
    except BrokenPipeError:  # which click ends quietly
        raise
    except OSError as error:
        with suppress(OSError, ValueError):  # Python flushes it once more when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.ClickException(f"standard output: {error.strerror}") from error
