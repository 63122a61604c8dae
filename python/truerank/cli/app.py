"""What all commands share: exit codes, errors in one line that name options, and output."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from ..inputs.errors import InputError, spelling

# The exit codes; the last two are those by which shells report SIGINT and SIGPIPE.
BAD_DATA, MISSING_LIBRARY, INTERRUPTED, CLOSED_PIPE = 1, 2, 130, 141

# The option for each argument of a Python function that an error may name.
ARGUMENT_OPTIONS = {
    **{name: f"--{name}" for name in ("by", "side", "queries", "weights", "rows", "filter")},
    **{name: f"--{name}" for name in ("candidates", "method", "tasks", "dataset", "size")},
    **{name: f"--{name}" for name in ("member", "shape", "dtype", "offset", "order", "split")},
    **{name: f"--{name}" for name in ("entities", "relations", "similarity", "bias", "unseen")},
    **{f"queries_{side}": f"--queries-{side}" for side in ("tail", "head", "relation")},
    **{f"{side}_scores": f"--scores-{side}" for side in ("tail", "head", "relation")},
    **{"group": "--relation", "folder": "--file", "checkpoint": "--resume"},
}
# What the command line writes in place of Python code that a message mentions.
SPELLINGS = {
    **{name: f"--{name}" for name in ("nan", "dtype", "dataset", "duplicates", "leaks", "unseen")},
    **{f"{name}=": f"--{name}" for name in ("member", "dtype", "shape")},
    **{"by=...": "--by", "report(ranks, by=...)": "--by", "allow_unlike=True": "--allow-unlike"},
    "rank(..., audit=True)": "evaluate SCORES TARGETS --audit",
    'ranks.with_protocol(split="test")': "--split test",
    "ranks.with_labels(side=...)": "evaluate --side",
    "ranks.with_labels(group=...)": "evaluate --relation",
    "ranks.with_labels(queries=...)": "evaluate --queries",
    "ranks.with_labels(targets=...)": "evaluate SCORES TARGETS --by target",
    **{"entities=": "--entity-labels", "relations=": "--relation-labels"},
    "known=": "--train or --known",
    '"F"': "F",
}
for _what, _option in {
    **{"entities": "--entity-labels", "relations": "--relation-labels"},
    **{"left": "--left-labels", "right": "--right-labels"},
}.items():
    SPELLINGS |= {
        f"{_what} has": f"{_option} has",
        f"{_what} is no list of labels": f"{_option} is not given",
    }


class Commands(click.Group):
    """A group that ends with our exit codes and reports an error in one line."""

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
        """Run a command and exit."""
        kwargs["standalone_mode"] = False
        try:
            with spelling(SPELLINGS):
                code = super().main(*args, **kwargs)
        except click.UsageError as error:
            program = error.ctx.command_path if error.ctx else "truerank"
            message = error.format_message().rstrip(".")
            code = write_error(f"{message} (see {program} --help)", error.exit_code)
        except click.ClickException as error:
            code = write_error(error.format_message(), error.exit_code)
        except click.Abort:
            code = INTERRUPTED
        except ImportError as error:
            if not isinstance(error.__cause__, ModuleNotFoundError):  # import_extra sets this cause
                raise
            code = write_error(str(error), MISSING_LIBRARY)
        sys.exit(code if isinstance(code, int) else 0)


def command_line() -> str:
    """Return the command line that is being run."""
    words: list[str] = click.get_current_context().find_root().obj or []
    return shlex.join(["truerank", *words])


def write_error(message: str, code: int) -> int:
    """Write an error in one line to standard error, and return the exit code."""
    _write_line(f"Error: {message}")
    return code


def write_warning(message: str) -> None:
    """Write a warning in one line to standard error."""
    _write_line(f"Warning: {message}")


def _write_line(message: str) -> None:
    if sys.stderr is not None:  # it is None if the process was started without one
        lines = filter(None, map(str.strip, message.splitlines()))  # blanks within paths stay
        sys.stderr.write(f"{' '.join(lines)}\n")


@contextmanager
def user_errors() -> Iterator[None]:
    """Turn the exceptions that bad data raises into errors in one line.

    Only code that reads or checks data runs within it, so that other bugs keep their traceback.
    """
    try:
        yield
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        raise click.ClickException(f"{name}{error.strerror or error}") from error
    except (KeyError, ValueError, TypeError, MemoryError) as error:
        raise click.ClickException(error_text(error)) from error


def error_text(error: Exception) -> str:
    """Return the text of an error, with the option in place of the argument that it names."""
    if isinstance(error, InputError):
        error = error.among(ARGUMENT_OPTIONS)
    # str of a KeyError would be the repr of its text
    text = error.args[0] if isinstance(error, KeyError) and error.args else error
    return str(text) or type(error).__name__


def emit(text: str) -> None:
    """Write a text to standard output, and exit quietly if its reader went away."""
    if sys.stdout is None:  # the process was started without one
        raise click.ClickException("standard output: closed")
    # the name of a side may have characters that the encoding lacks
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.rstrip("\n").encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError as error:
        # Python flushes once more when it ends, which would fail again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise click.exceptions.Exit(CLOSED_PIPE) from None
        raise click.ClickException(f"standard output: {error.strerror}") from error
