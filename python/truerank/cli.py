"""The command line: `truerank evaluate | demo | info`.

Standard output carries the result alone; an error is one line on standard error. Exit codes:
0 fine, 1 data that cannot be evaluated, 2 a wrong command line, 130 Ctrl-C, 141 a closed pipe.
"""

from __future__ import annotations

import os
import platform
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from . import Ranks, Report, __version__, _core, load, rank, report
from .display import draw_demo, draw_report, draw_values

BAD_DATA, INTERRUPTED, CLOSED_PIPE = 1, 130, 141  # the last two as shells name SIGINT and SIGPIPE
WIDE = 1000  # wrapped cells are unreadable; a terminal that is too narrow wraps whole lines

File = click.Path(path_type=Path)


class Commands(click.Group):
    """A group that ends with our exit codes and says what is wrong in one line."""

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Run a command and exit."""
        kwargs["standalone_mode"] = False
        try:
            code = super().main(*args, **kwargs)
        except click.UsageError as error:
            program = error.ctx.command_path if error.ctx else "truerank"
            message = error.format_message().rstrip(".")
            code = complain(f"{message} (see {program} --help)", error.exit_code)
        except click.ClickException as error:
            code = complain(error.format_message(), error.exit_code)
        except click.Abort:
            code = INTERRUPTED
        sys.exit(code if isinstance(code, int) else 0)


def complain(message: str, code: int) -> int:
    """Write one line to standard error and give back the code to exit with."""
    sys.stderr.write(f"Error: {' '.join(message.split())}\n")
    return code


@contextmanager
def reading_data() -> Iterator[None]:
    """Turn what bad data raises into an error for the user; bugs elsewhere keep their traceback."""
    try:
        yield
    except KeyError as error:  # its str() is a repr
        raise click.ClickException(str(error.args[0] if error.args else error)) from error
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        raise click.ClickException(f"{name}{error.strerror or error}") from error
    except (ValueError, TypeError, MemoryError) as error:
        raise click.ClickException(str(error) or type(error).__name__) from error


def emit(text: str) -> None:
    """Write to standard output, and leave quietly where its reader went away."""
    encoding = sys.stdout.encoding or "utf-8"  # a side may have any name
    try:
        sys.stdout.write(text.rstrip("\n").encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError as error:
        # Python flushes once more as it ends and would complain then
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise click.exceptions.Exit(CLOSED_PIPE) from None
        raise click.ClickException(f"standard output: {error.strerror}") from error


def drawn(draw: Callable[..., None], *values: Any) -> str:
    """What a function draws on a rich console: with style on a terminal, plain elsewhere."""
    console = Console(width=WIDE, highlight=False, emoji=False, markup=False)
    with console.capture() as captured:
        draw(*values, console)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


Keys = list[str]

# How to print the default metrics of a report, and chosen ones.
FORMATS: dict[str, tuple[Callable[[Report], str], Callable[[Report, Keys], str]]] = {
    "table": (
        lambda measured: drawn(draw_report, measured),
        lambda measured, keys: drawn(draw_values, measured.to_dict(keys)),
    ),
    "json": (Report.to_json, Report.to_json),
    "markdown": (
        Report.to_markdown,
        lambda measured, keys: listed(
            "| {} | {} |", [("key", "value"), (":---", "---:"), *measured.to_dict(keys).items()]
        ),
    ),
    "csv": (
        Report.to_csv,
        lambda measured, keys: listed("{},{}", [("key", "value"), *measured.to_dict(keys).items()]),
    ),
}


def listed(line: str, pairs: Iterable[tuple[str, object]]) -> str:
    """One line for each pair."""
    return "\n".join(line.format(*pair) for pair in pairs)


def is_archive(path: Path) -> bool:
    """Whether a file is a zip archive, as every .npz is."""
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04"


def read_array(argument: str, path: Path) -> NDArray[Any]:
    """A .npy file as a read-only memory map; pickles are refused."""
    with path.open("rb") as file:
        if file.read(6) != b"\x93NUMPY":
            raise ValueError(f"{argument}: expected a .npy file, got {path}")
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{argument}: cannot read {path}: {error}") from error
    return array


@dataclass(frozen=True)
class SavedMatrix:
    """What `rank` looks at in a matrix of scipy.sparse."""

    shape: tuple[int, ...]
    indptr: NDArray[Any]
    indices: NDArray[Any]

    def tocsr(self) -> SavedMatrix:
        """It is one."""
        return self


def read_selection(argument: str, path: Path) -> SavedMatrix | tuple[NDArray[Any], ...]:
    """(indptr, indices) or (indptr, indices, lists), or what scipy.sparse.save_npz wrote."""
    if not is_archive(path):
        raise ValueError(f"{argument}: expected an .npz with indptr and indices, got {path}")
    try:
        # opened here: numpy leaves the file open where it is damaged
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            members = archive.files
            wanted = ("indptr", "indices", "lists", "format", "shape")
            arrays = {name: archive[name] for name in wanted if name in members}
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{argument}: cannot read {path}: {error}") from error
    if "format" in arrays and (layout := arrays["format"].astype(str).item()) != "csr":
        raise ValueError(f"{argument}: expected a scipy.sparse matrix in csr format, got {layout}")
    if not {"indptr", "indices"} <= arrays.keys():
        names = ", ".join(members) or "nothing"
        raise ValueError(f"{argument}: expected members indptr and indices, got {names}")
    if {"format", "shape"} <= arrays.keys():
        shape = tuple(arrays["shape"].tolist())
        return SavedMatrix(shape, arrays["indptr"], arrays["indices"])
    return tuple(arrays[name] for name in wanted[:3] if name in arrays)


def read_candidates(
    argument: str, path: Path
) -> NDArray[Any] | SavedMatrix | tuple[NDArray[Any], ...]:
    """One index array for all tasks from a .npy, or a selection from an .npz."""
    return read_selection(argument, path) if is_archive(path) else read_array(argument, path)


def read_targets(argument: str, text: str) -> int | NDArray[Any]:
    """One column for all tasks, written out, or a .npy file of columns."""
    return int(text) if text.isdecimal() else read_array(argument, Path(text))


READERS: dict[str, Callable[[str, Any], Any]] = {
    "filter": read_selection,
    "rows": read_array,
    "candidates": read_candidates,
}


def split_keys(_context: click.Context, _option: click.Parameter, text: str | None) -> Keys:
    """Metric keys between commas."""
    return [key for part in (text or "").split(",") if (key := part.strip())]


def check_keys(measured: Report, keys: Keys) -> None:
    """A key that a report does not know is a wrong command line."""
    try:
        measured.to_dict(keys)
    except KeyError as error:
        raise click.BadParameter(str(error.args[0]), param_hint="'--metrics'") from error


def count(scores: Path, targets: str, options: dict[str, Any], save: Path | None) -> Ranks:
    """Count the ranks of a file of scores."""
    files = [scores, *([] if targets.isdecimal() else [Path(targets)])]
    files += [options[name] for name in READERS if name in options]
    with reading_data():
        if save is not None and save.exists() and any(save.samefile(file) for file in files):
            raise ValueError(f"--save: {save} is one of the files to be read")
        matrix, truth = read_array("SCORES", scores), read_targets("TARGETS", targets)
        for name, read in READERS.items():
            if name in options:
                options[name] = read(f"--{name}", options[name])
        ranks = rank(matrix, truth, **options)
    return ranks.with_protocol(files=[str(file) for file in files])


def reopen(scores: Path, targets: str | None, options: dict[str, Any]) -> Ranks:
    """Ranks that an earlier run saved: there is nothing left to count."""
    given = ["TARGETS"] * (targets is not None) + [f"--{name}" for name in options]
    if given:
        raise click.UsageError(
            f"{scores} is an archive, so it should hold ranks that were counted before: "
            f"{', '.join(given)} cannot apply to them"
        )
    with reading_data():
        return load(scores)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="truerank", message="%(prog)s %(version)s")
@click.pass_context
def commands(context: click.Context) -> None:
    """The rank of the true candidate, counted exactly, and the metrics that follow from it."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(2)


@commands.command()
@click.argument("scores", type=File)
@click.argument("targets", required=False)
@click.option(
    "--filter",
    type=File,
    help="What to leave out for each task: .npz with indptr, indices and perhaps lists (which list "
    "each task uses), or a CSR matrix saved by scipy.sparse.",
)
@click.option("--rows", type=File, help="The score row of each task: .npy.")
@click.option(
    "--candidates",
    type=File,
    help="What alone to rank among: .npy of columns for all tasks, or .npz as for --filter.",
)
@click.option(
    "--order",
    type=click.Choice(["descending", "ascending"]),
    help="Whether higher scores are better (descending, the default) or lower ones.",
)
@click.option(
    "--nan",
    type=click.Choice(["raise", "worst", "omit"]),
    help="A NaN among the candidates is an error (raise, the default), the worst score, or none.",
)
@click.option("--dtype", type=click.Choice(["bfloat16"]), help="What raw 2-byte scores are.")
@click.option("--threads", type=click.IntRange(min=1), help="By default all that are allowed.")
@click.option(
    "--metrics",
    metavar="KEY,...",
    callback=split_keys,
    help="Report only these, such as mrr,optimistic.hits@10,tail.amri.",
)
@click.option("--save", type=File, help="Keep the ranks in an .npz file, for any later metric.")
@click.option(
    "--format", "style", type=click.Choice(list(FORMATS)), default="table", show_default=True
)
def evaluate(
    scores: Path,
    targets: str | None,
    metrics: Keys,
    save: Path | None,
    style: str,
    **options: Any,
) -> None:
    """Rank the true candidate of each task and report the metrics.

    SCORES is a .npy file with one row for each task (see --rows), opened as a memory map, or the
    .npz of ranks that --save wrote, which takes no TARGETS. TARGETS is a .npy file with the column
    of each true candidate, or a number: one column for all.
    """
    with reading_data():
        saved = is_archive(scores)
        if save is not None and not save.parent.is_dir():  # a count may take long
            raise FileNotFoundError(f"--save: no folder {save.parent}")
    if not saved:
        check_keys(report(Ranks([0], [1], [2])), metrics)
    given = {name: value for name, value in options.items() if value is not None}
    if saved:
        ranks = reopen(scores, targets, given)
    elif targets is None:
        raise click.UsageError("Missing argument 'TARGETS'.")
    else:
        ranks = count(scores, targets, given, save)
    with reading_data():
        measured = report(ranks)
    check_keys(measured, metrics)
    if save is not None:
        with reading_data():
            ranks.save(save)
    whole, chosen = FORMATS[style]
    emit(chosen(measured, metrics) if metrics else whole(measured))


@commands.command()
def demo() -> None:
    """Evaluate a published model again, which the package holds.

    Exits with 1 if a measured figure is not the published one.
    """
    from .demo import run

    measured = run()
    emit(drawn(draw_demo, measured))
    if measured.disagreements:
        raise click.exceptions.Exit(BAD_DATA)


@commands.command()
def info() -> None:
    """Show versions, instruction sets and threads."""
    facts = {
        "truerank": __version__,
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": np.__version__,
        "platform": f"{platform.system()} {platform.machine()}",
        "instruction set": f"{_core.isa()} (usable: {', '.join(_core.isas())})",
        "OpenMP": "yes" if _core.openmp() else "no",
        "threads": str(_core.default_threads()),
        "compiler": _core.compiler,
    }
    width = max(map(len, facts)) + 2
    emit("\n".join(f"{name:{width}}{value}" for name, value in facts.items()))
