"""The command line: `truerank evaluate | compare | adjust | demo | info`.

Standard output carries the result alone; an error is one line on standard error. Exit codes:
0 fine, 1 data that cannot be evaluated, 2 a wrong command line, 130 Ctrl-C, 141 a closed pipe.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from .. import Ranks, Report, __version__, _core, load, rank, report
from ..grouping import NAMED, WEIGHTS
from ..metrics import parse
from .adjusting import adjust_value
from .comparing import compare_files
from .display import draw_demo, draw_report
from .files import (
    COUNTED,
    LABELS,
    READERS,
    is_archive,
    is_file,
    read_array,
    read_facts,
    read_labels,
    read_targets,
    tasks_of,
)
from .frame import (
    BAD_DATA,
    Commands,
    File,
    by_option,
    drawn,
    emit,
    in_style,
    named_or_file,
    not_blank,
    read_by,
    reading_data,
    seed_option,
    style_option,
)
from .sheets import TOLD, WHOLE, chosen_sheet, found_lines, in_options

Keys = list[str]


def split_keys(_context: click.Context, _option: click.Parameter, text: str | None) -> Keys:
    """Words between commas."""
    return [key for part in (text or "").split(",") if (key := part.strip())]


def known_keys(context: click.Context, option: click.Parameter, text: str | None) -> Keys:
    """Metric keys between commas; whether there are such sides and groups is known later."""
    keys = split_keys(context, option, text)
    try:
        for key in keys:
            parse(key)
    except KeyError as error:
        raise click.BadParameter(str(error.args[0])) from error
    return keys


class Wanted(NamedTuple):
    """What is to be measured of ranks."""

    keys: Keys
    seed: int
    by: Any
    weights: Any

    def of(self, ranks: Ranks) -> Report:
        """The report; a key that it does not know is a wrong command line."""
        with reading_data():
            measured = report(ranks, seed=self.seed, by=self.by, weights=self.weights)
        try:
            measured.to_dict(self.keys)
        except KeyError as error:
            told = in_options(str(error.args[0]))
            raise click.BadParameter(told, param_hint="'--metrics'") from error
        return measured

    def labels(self) -> set[str]:
        """The labels of tasks that it goes by."""
        named = {name for name in (self.by, self.weights) if isinstance(name, str)}
        return {NAMED[name] for name in named}


def count(
    scores: Path, targets: str, options: dict[str, Any], save: Path | None, wanted: Wanted
) -> Ranks:
    """Count the ranks of a file of scores, once everything else is known to fit them."""
    files = [scores, *([] if targets.isdecimal() else [Path(targets)])]
    files += [options[name] for name in READERS if name in options]
    files += [Path(options[name]) for name in LABELS if is_file(options.get(name))]
    with reading_data():
        if save is not None and save.exists() and any(save.samefile(file) for file in files):
            raise ValueError(f"--save: {save} is one of the files to be read")
        matrix, truth = read_array("SCORES", scores), read_targets("TARGETS", targets)
        counted = {name: options[name] for name in COUNTED if name in options}
        for name, reader in READERS.items():
            if name in options:
                counted[name] = reader(f"--{name}", options[name])
        facts, n = read_facts(options), tasks_of(matrix, truth, counted.get("rows"))
        if "targets" in wanted.labels() and n is not None:
            facts.labels["targets"] = truth if np.ndim(truth) else np.full(n, truth)
        if n is not None:  # a count may take long: what cannot fit it is refused before
            bare = Ranks(np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64), 2)
            filtered = {"filter": ("unnamed",)} if "filter" in counted else {}
            stand_in = facts.told_of(bare.with_protocol(**filtered))
    if n is not None:
        wanted.of(stand_in)
    with reading_data():
        ranks = facts.told_of(rank(matrix, truth, **counted))
        ranks = ranks.with_protocol(files=[str(file) for file in files])
        if save is not None:  # before anything else can fail
            ranks.save(save)
    return ranks


def reopen(scores: Path, targets: str | None, options: dict[str, Any]) -> Ranks:
    """Ranks that an earlier run saved: there is nothing left to count."""
    given = ["TARGETS"] * (targets is not None)
    given += [f"--{name}" for name in COUNTED if name in options and name != "audit"]
    if given:
        raise click.UsageError(
            f"{scores} is an archive, so it should hold ranks that were counted before: "
            f"{', '.join(given)} cannot apply to them"
        )
    with reading_data():
        return read_facts(options).told_of(load(scores))


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
@click.option(
    "--side",
    metavar="WORD|FILE",
    callback=not_blank,
    help="What each task predicts, kept by --save: head or tail for all, or .npy of a word for "
    "each; so for saved ranks, too.",
)
@click.option("--relation", type=File, help="The relation of each task, kept likewise: .npy.")
@click.option("--queries", type=File, help="The query of each task, kept likewise: .npy.")
@click.option(
    "--split", metavar="NAME", callback=not_blank, help="The split evaluated, kept likewise."
)
@click.option(
    "--filtered-by",
    metavar="NAME,...",
    callback=split_keys,
    help="The splits whose answers --filter leaves out, kept likewise: train,valid,test.",
)
@click.option("--dtype", type=click.Choice(["bfloat16"]), help="What raw 2-byte scores are.")
@click.option("--threads", type=click.IntRange(min=1), help="By default all that are allowed.")
@click.option(
    "--metrics",
    metavar="KEY,...",
    callback=known_keys,
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
    truerank evaluate scores.npy targets.npy --filter filter.npz --filtered-by train,valid
        --side tail --relation relations.npy --queries heads.npy --split test --save ranks.npz
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
    given = {name: value for name, value in options.items() if value not in (None, [])}
    wanted = Wanted(metrics, seed, groups, masses)
    if saved:
        measured = wanted.of(reopen(scores, targets, given))
        if save is not None:
            with reading_data():
                measured.ranks.save(save)
    elif targets is None:
        raise click.UsageError("Missing argument 'TARGETS'.")
    elif "filtered_by" in given and "filter" not in given:
        raise click.UsageError("--filtered-by names the splits of --filter, which is not given")
    else:
        measured = wanted.of(count(scores, targets, {**given, "audit": audit}, save, wanted))
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
        elif style == "csv" and sys.stderr is not None:
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
