"""The command line: `truerank evaluate | link-prediction | alignment | ...`.

Standard output has only the result; an error is one line on standard error.
"""

from __future__ import annotations

import platform

import click
import numpy as np

from .. import __version__, _core
from .adjust_command import adjust_value
from .alignment_command import align
from .app import BAD_DATA, EXIT_CODES, WRONG_COMMAND, Commands, emit, write_text
from .compare_command import compare_files
from .compat_command import compare_conventions
from .evaluate_command import evaluate
from .link_prediction_command import predict_links

_EPILOG = ["\b", "Exit codes:", *(f"{code:5}  {what}" for code, what in EXIT_CODES.items())]


def show_version(context: click.Context, _option: click.Parameter, given: bool) -> None:
    """Write the version, and exit."""
    if given and not context.resilient_parsing:
        emit(f"truerank {__version__}")
        context.exit()


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\n".join(_EPILOG),
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=show_version,
    help="Show the version and exit.",
)
@click.pass_context
def commands(context: click.Context) -> None:
    """Count the rank of the true candidate exactly, and compute the metrics that follow from it."""
    if context.invoked_subcommand is None:
        write_text(f"{context.get_help()}\n")
        context.exit(WRONG_COMMAND)


for command in (
    *(evaluate, compare_files, compare_conventions, adjust_value),
    *(predict_links, align),
):
    commands.add_command(command)


@commands.command(short_help="Evaluate a published model, which ships with truerank.")
def demo() -> None:
    """Evaluate a published model again, which is part of the package.

    The exit code is 1 if a measured figure differs from the published one.
    """
    from .demo import run  # other commands do not need it

    measured = run()
    emit(measured.to_text())
    if measured.disagreements:
        raise click.exceptions.Exit(BAD_DATA)


@commands.command(short_help="Show versions, instruction sets, bounds and threads.")
def info() -> None:
    """Show versions, instruction sets, bounds, threads and devices."""
    from ..devices.ways import ways_of_devices  # other commands do not need torch

    devices = [f"{name} ({way})" for name, way in ways_of_devices().items()]
    facts = {
        "truerank": __version__,
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": np.__version__,
        "platform": f"{platform.system()} {platform.machine()}",
        "instruction set": f"{_core.isa()} (usable: {', '.join(_core.isas())})",
        "bounds": f"{_core.bounds()} (usable: {', '.join(_core.bounds_choices())})",
        "OpenMP": "yes" if _core.openmp() else "no",
        "threads": str(_core.default_threads()),
        "devices": ", ".join(devices) or "none that torch knows",
        "compiler": _core.compiler,
    }
    width = max(map(len, facts)) + 2
    emit("\n".join(f"{name:{width}}{value}" for name, value in facts.items()))
