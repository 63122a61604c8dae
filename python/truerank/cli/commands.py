"""The command line: `truerank evaluate | compare | adjust | demo | info`.

Standard output carries the result alone; an error is one line on standard error. Exit codes:
0 fine, 1 data that cannot be evaluated, 2 a wrong command line, 130 Ctrl-C, 141 a closed pipe.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np

from .. import Ranks, Report, __version__, _core, load, rank, report
from ..grouping import WEIGHTS
from .adjusting import adjust_value
from .comparing import compare_files
from .display import draw_demo, draw_report
from .files import READERS, is_archive, read_array, read_labels, read_targets
from .frame import (
    BAD_DATA,
    Commands,
    File,
    by_option,
    drawn,
    emit,
    in_style,
    named_or_file,
    read_by,
    reading_data,
    seed_option,
    style_option,
)
from .sheets import TOLD, WHOLE, chosen_sheet, found_lines

Keys = list[str]


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
    help="Report only these, such as mrr,optimistic.hits@10,tail.amri,macro.mrr.",
)
@by_option
@click.option(
    "--weights",
    metavar="LABEL|FILE",
    callback=named_or_file(tuple(WEIGHTS)),
    help="What each task counts: query, relation or target (each counts once), or .npy.",
)
@click.option(
    "--interval",
    is_flag=True,
    help="95 % bootstrap intervals of --metrics, over tasks, or over the groups of --by.",
)
@seed_option
@click.option("--audit", is_flag=True, help="Count NaN and saturated scores; say what is suspect.")
@click.option("--save", type=File, help="Keep the ranks in an .npz file, for any later metric.")
@style_option
def evaluate(
    scores: Path,
    targets: str | None,
    metrics: Keys,
    by: str | None,
    weights: str | None,
    interval: bool,
    seed: int,
    audit: bool,
    save: Path | None,
    style: str,
    **options: Any,
) -> None:
    """Rank the true candidate of each task and report the metrics.

    SCORES is a .npy file with one row for each task (see --rows), opened as a memory map, or the
    .npz of ranks that --save wrote, which takes no TARGETS. TARGETS is a .npy file with the column
    of each true candidate, or a number: one column for all.

    \b
    truerank evaluate scores.npy targets.npy --filter filter.npz --save ranks.npz
    truerank evaluate ranks.npz --metrics mrr,amri,macro.mrr --by relation --interval
    """
    if interval and not metrics:
        raise click.UsageError("--interval needs --metrics, whose intervals it gives")
    with reading_data():
        saved = is_archive(scores)
        if save is not None and not save.parent.is_dir():  # a count may take long
            raise FileNotFoundError(f"--save: no folder {save.parent}")
        groups = read_by(by)
        masses = None if weights is None else read_labels("--weights", weights, WEIGHTS)
    if not saved:
        check_keys(report(Ranks([0], [1], [2]), by=None if by is None else [0]), metrics)
    given = {name: value for name, value in options.items() if value is not None}
    if saved:
        ranks = reopen(scores, targets, given)
    elif targets is None:
        raise click.UsageError("Missing argument 'TARGETS'.")
    else:
        ranks = count(scores, targets, {**given, "audit": audit}, save)
    with reading_data():
        measured = report(ranks, seed=seed, by=groups, weights=masses)
    check_keys(measured, metrics)
    if save is not None:
        with reading_data():
            ranks.save(save)
    if metrics:
        with reading_data():
            keys = metrics if interval else []
            bounds = {key: measured.interval(key, by=groups, seed=seed) for key in keys}
        text = in_style(chosen_sheet(measured, metrics, bounds), style)
    else:
        text = drawn(draw_report, measured) if style == "table" else WHOLE[style](measured)
    if audit:
        lines = found_lines(measured.audit())
        if style in TOLD:
            text = f"{text.rstrip()}\n\n{TOLD[style](lines)}"
        elif style == "csv":
            sys.stderr.write("".join(f"{line}\n" for line in lines))
    emit(text)


commands.add_command(compare_files)
commands.add_command(adjust_value)


@commands.command()
def demo() -> None:
    """Evaluate a published model again, which the package holds.

    Exits with 1 if a measured figure is not the published one.
    """
    from ..demo import run

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
