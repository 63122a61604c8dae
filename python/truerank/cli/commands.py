"""The command line: `truerank evaluate | link-prediction | alignment | ...`.

Standard output has only the result; an error is one line on standard error.
"""

from __future__ import annotations

import math
import platform
import warnings
from typing import Any

import click
import numpy as np

from .. import __version__, _core
from ..compat.presets import PRESETS
from ..errors import InputError, UnknownKeyError
from ..metrics.published import adjust
from ..naming import printable
from ..tables import Table
from ..tables.cells import format_count
from .alignment import align
from .compare import compare_files
from .evaluate import evaluate
from .link_prediction import predict_links
from .merge import merge
from .options import (
    ARRAY,
    COLUMNS,
    MEASURED,
    POSITIVE,
    PRINTING,
    WORD,
    Given,
    command,
    option,
    take,
)
from .output import show
from .retrieval import retrieve

# Arguments of tasks that are options of another name, since those of their own name are vectors.
_OTHER_NAMES = {
    "link-prediction": {"entities": "--entity-labels", "relations": "--relation-labels"},
    "retrieval": {"entities": "--candidates", "queries": "--query-labels", "ids": "--lists"},
    "compare": {"entities": "--candidates"},
}


class Commands(click.Group):
    """A group whose commands say what is wrong in one line, without a traceback."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Store the arguments as they were typed in the object of the context."""
        ctx.obj = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; bad input ends with code 1, a wrong line or a missing library with 2."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *_, **__: _warn(str(message))
            try:
                return super().invoke(ctx)
            except click.UsageError as error:
                text = error.format_message().rstrip(".")
                if error.ctx is not None:
                    text += f" (see {error.ctx.command_path} --help)"
                raise click.UsageError(printable(text.strip())) from error
            except BrokenPipeError:  # click itself ends quietly then.
                raise
            except InputError as error:
                name = str(ctx.invoked_subcommand)
                raise click.ClickException(with_option(self.commands[name], error)) from error
            except ImportError as error:
                raise click.UsageError(printable(str(error))) from error
            except MemoryError as error:
                raise click.ClickException(f"not enough memory: {error}") from error
            except OSError as error:
                text = str(error.strerror or error)
                if error.filename:
                    text = f"{error.filename}: {text}"
                raise click.ClickException(printable(text)) from error


def with_option(command: click.Command, error: InputError) -> str:
    """Return the message of an error, with the option that its argument is in front."""
    name, colon, part = error.argument.partition(": ")
    options = {str(p.name): p.opts[-1] for p in command.params if p.opts[-1].startswith("--")}
    options |= {f'known["{split}"]': option for split, option in options.items()}
    options |= _OTHER_NAMES.get(str(command.name), {})
    if name not in options or isinstance(error, UnknownKeyError):
        return str(error)
    return str(error.of(f"{options[name]}{colon}{part}"))


def _warn(text: str) -> None:
    click.echo(printable(f"Warning: {text}"), err=True)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="truerank", message="%(prog)s %(version)s")
def commands() -> None:
    """Count the rank of the true candidate exactly, and compute the metrics that follow from it.

    \b
    Facts and a model in files    link-prediction, alignment, retrieval
    Scores alone                  evaluate
    What --save of these wrote    evaluate, compare, merge
    Numbers of a paper            adjust

    Each command has examples: truerank evaluate --help.
    """


@command("adjust", PRINTING, short_help="Adjust a published number for chance.")
@click.argument("metric", type=WORD)
@click.argument("value", type=float)
@option(
    "--candidates",
    COLUMNS,
    "Number of candidates of every task, or a .npy file with a number for each task.",
    required=True,
)
@option("--tasks", POSITIVE, "Number of tasks. The head and the tail of a triple are two tasks.")
def adjust_value(given: Given) -> None:
    """Adjust a published number for chance, without its model.

    METRIC is mr, mrr, hits@10 or another metric. VALUE is the published number, such as 0.46, not
    as a percentage.

    \b
    truerank adjust mr 7000 --candidates 40943 --tasks 6268
    """
    printing = take(given, PRINTING)
    adjusted = adjust(given.pop("metric"), given.pop("value"), **given)
    numbers = {
        "published": adjusted.value,
        "expected by chance": adjusted.expectation,
        "standard deviation": math.sqrt(adjusted.variance),
        "ratio (1 is chance)": adjusted.ratio,
        "index (0 is chance, 1 perfect)": adjusted.index,
        "z (in standard deviations)": adjusted.z,
    }
    rows = [[name, f"{number:.6g}"] for name, number in numbers.items()]
    heading = [adjusted.metric, format_count(adjusted.tasks, "task")]
    show(Table(heading, rows), printing, adjusted._asdict())


@command(
    "compat",
    f"filter rows candidates order dtype metrics {PRINTING}",
    short_help="Show what other toolkits make of the same scores.",
)
@click.argument("scores", type=ARRAY)
@click.argument("targets", type=COLUMNS)
@option("--preset", click.Choice(list(PRESETS)), "Show one toolkit, step by step.")
@option("--side", ARRAY, "Side of each task, head or tail: .npy. OpenKE averages both sides.")
def compare_conventions(given: Given) -> None:
    """Show the numbers that other toolkits get from the same scores, beside the exact ones.

    SCORES is a .npy file with one row for each task, and TARGETS has the column of each true
    candidate, as for evaluate. NaN is not an error here, because each toolkit has a rule for it.

    \b
    truerank compat scores.npy targets.npy --filter filter.npz
    truerank compat scores.npy targets.npy --filter filter.npz --preset libkge
    """
    from ..compat import report, table  # Other commands do not need them.

    printing = take(given, f"metrics {PRINTING}")
    if "preset" in given:
        show(report(**given), printing)
    else:
        show(table(**given), printing)


@command("demo", MEASURED, short_help="Evaluate a published model, which ships with truerank.")
def demo(given: Given) -> None:
    """Evaluate a published model again, which is part of the package.

    The exit code is 1 if a measured figure differs from the published one.
    """
    from .demo import run  # Other commands do not need it.

    table, wrong = run(percent=given.pop("percent", False))
    show(table, given)
    if wrong:
        raise click.exceptions.Exit(1)


@command("info", PRINTING, short_help="Show versions, instruction sets, bounds and threads.")
def info(given: Given) -> None:
    """Show versions, instruction sets, bounds, threads and devices."""
    from ..devices.backends import backends_of_devices  # Others do not need torch.

    devices = [f"{name} ({backend})" for name, backend in backends_of_devices().items()]
    openmp = "yes" if _core.openmp() else "no"
    facts = {
        "truerank": __version__,
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": np.__version__,
        "platform": f"{platform.system()} {platform.machine()}",
        "instruction set": f"{_core.isa()} (usable: {', '.join(_core.isas())})",
        "bounds": f"{_core.bounds()} (usable: {', '.join(_core.bounds_choices())})",
        "OpenMP": openmp,
        "threads": str(_core.default_threads()),
        "devices": ", ".join(devices) or "none that torch knows",
        "compiler": _core.compiler,
    }
    show(Table(["fact", "value"], facts.items(), names=2), given, facts)


for subcommand in (evaluate, predict_links, align, retrieve, merge, compare_files):
    commands.add_command(subcommand)
for subcommand in (compare_conventions, adjust_value, demo, info):
    commands.add_command(subcommand)
