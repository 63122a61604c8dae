"""The command line: `truerank evaluate | link-prediction | alignment | ...`.

Standard output has only the result; an error is one line on standard error. The exit code is 0 for
success, 1 for data that cannot be evaluated, 2 for a wrong command line, 130 after Ctrl-C, and 141
after a closed pipe.
"""

from __future__ import annotations

import platform

import click
import numpy as np

from .. import __version__, _core
from .adjust_command import adjust_value
from .alignment_command import align
from .app import BAD_DATA, Commands, emit
from .bench_command import bench
from .compare_command import compare_files
from .compat_command import compare_conventions
from .completion import completion
from .evaluate_command import evaluate
from .link_prediction_command import predict_links
from .output import draw_to_text


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="truerank", message="%(prog)s %(version)s")
@click.pass_context
def commands(context: click.Context) -> None:
    """Count the rank of the true candidate exactly, and compute the metrics that follow from it."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(2)


for command in (
    *(evaluate, compare_files, compare_conventions, adjust_value, bench),
    *(predict_links, align, completion),
):
    commands.add_command(command)


@commands.command()
def demo() -> None:
    """Evaluate a published model again, which is part of the package.

    The exit code is 1 if a measured figure differs from the published one.
    """
    from .demo import run  # other commands do not need it
    from .demo_output import draw_demo

    measured = run()
    emit(draw_to_text(draw_demo, measured))
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
