"""The command line: `truerank evaluate | link-prediction | alignment | ...`.

Standard output has only the result; an error is one line on standard error.
"""

from __future__ import annotations

import platform
import warnings
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click
import numpy as np

from truerank import InputError

from .. import __version__, _core, devices
from ..inputs.checks import called_here
from ..inputs.rules import suggest
from ..metrics import METRICS
from ..naming import printable
from . import options
from .options import PRINTING, Values, command, say, typed_name
from .output import lay_out, show

_ALIKE = 0.7  # by difflib: --io and --caption are not
# Options of other tools, and what they are called here.
OF_OTHER_TOOLS = {"--run": ["--lists"], "--runs": ["--lists"], "-k": ["--top"], "--k": ["--top"]}
# The function of a command, whose module is loaded when the command is called, and what it does.
COMMANDS = {
    "evaluate": ("evaluate.evaluate", "Report the metrics of scores in files, or of saved ranks."),
    "link-prediction": (
        "link_prediction.predict_links",
        "Evaluate link prediction, from triples to the table.",
    ),
    "alignment": ("alignment.align", "Evaluate entity alignment, in both directions."),
    "retrieval": ("retrieval.retrieve", "Evaluate retrieval and recommendation."),
    "topk": ("indexes.find_top", "Find the most similar entities: the truth for an index."),
    "recall": ("indexes.measure_recall", "Measure the recall of an index, without a truth."),
    "compare": ("evaluate.compare_files", "Compare models: difference, interval, p-value."),
    "merge": ("evaluate.merge", "Join the counts of several jobs."),
    "adjust": ("demo.adjust_value", "Adjust a published number for chance."),
    "compat": ("demo.compare_conventions", "Show what other toolkits make of the same scores."),
    "demo": ("demo.demo", "Evaluate a published model, which ships with truerank."),
    "info": ("commands.info", "Show versions, instruction sets, bounds and threads."),
}


def show_warning(message: Any, *_: object, **__: object) -> None:
    """Write a warning as a line of standard error."""
    click.echo(printable(f"Warning: {say(message)}"), err=True)


def describe(error: click.UsageError, words: list[str]) -> str:
    """Say what is wrong with a line, and how what was meant is written here."""
    text = error.format_message().rstrip(".")
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        near = get_close_matches(error.option_name, error.possibilities or (), cutoff=_ALIKE)
        alike = click.NoSuchOption(error.option_name, possibilities=near)
        text = alike.format_message().rstrip(".")
        flags = {flag for parameter in error.ctx.command.params for flag in parameter.opts}
        same_here = flags.intersection(OF_OTHER_TOOLS.get(error.option_name, ()))
        if same_here:
            return f"{error.message.rstrip('.')}; {same_here.pop()} is its name here"
    if words and not words[0].startswith("-") and words[0] not in COMMANDS:
        return f"{text}; {suggest(words[0], COMMANDS)}"
    for i, flag in enumerate(words[:-1]):
        value, next_word = words[i + 1], "".join(words[i + 2 : i + 3])
        same_option = called_here(flag.lstrip("-"), value, options.SIMILARITIES)
        if same_option:
            return f"{text}; {same_option[0].value} is its name here"
        if flag == "--metrics" and ("@" in next_word or next_word in METRICS):
            return f"{text}; metrics have a comma between them: --metrics {value},{next_word}"
    return text


class Commands(click.Group):
    """Loads a command when it is called, and says in one line what is wrong."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in COMMANDS:
            return None
        place, does = COMMANDS[cmd_name]
        module, _, function = place.partition(".")
        command: click.Command = getattr(import_module(f".{module}", __package__), function)
        command.short_help = does
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, does) for name, (_, does) in COMMANDS.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Store the arguments as they were typed in the object of the context."""
        ctx.obj = list(args)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find a command, and refuse an option that is given twice, of which the last would win."""
        name, command, words = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:
            context = click.Context(command, ctx, name)
            _, _, given = command.make_parser(context).parse_args(list(words))  # the parameters
            singles = [parameter for parameter in given if not parameter.multiple]
            twice = [typed_name(parameter) for parameter in singles if singles.count(parameter) > 1]
            if twice:
                raise click.UsageError(f"{twice[0]} is given twice, but counts once", context)
        return name, command, words

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; bad input ends with code 1, a wrong line or a missing library with 2."""
        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)  # One of the same words is enough.
            warnings.showwarning = show_warning
            try:
                return super().invoke(ctx)
            except click.UsageError as error:
                text = describe(error, ctx.obj)
                if error.ctx is not None:
                    text += f" (see {error.ctx.command_path} --help)"
                raise click.UsageError(printable(text.strip())) from error
            except BrokenPipeError:  # click itself ends quietly then.
                raise
            except InputError as error:
                raise click.ClickException(say(error)) from error
            except ImportError as error:
                raise click.UsageError(printable(str(error))) from error
            except MemoryError as error:
                raise click.ClickException(f"not enough memory: {error}") from error
            except OSError as error:
                text = str(error.strerror or error)
                if error.filename:
                    text = f"{error.filename}: {text}"
                raise click.ClickException(printable(text)) from error


# Help is as wide as the terminal, up to lines that are still read easily.
HELP: Values = {"help_option_names": ["-h", "--help"], "max_content_width": 120}


@click.group(cls=Commands, context_settings=HELP)
@click.version_option(__version__, prog_name="truerank", message="%(prog)s %(version)s")
def commands() -> None:
    """Count the rank of the true candidate exactly, and compute the metrics that follow from it.

    \b
    Facts and a model in files    link-prediction, alignment, retrieval
    Scores alone                  evaluate
    What --save of these wrote    evaluate, compare, merge
    Vectors, and an index         topk, recall
    Numbers of a paper            adjust

    Each command has examples: truerank evaluate --help. Which option says what data are, with small
    inputs: docs/how-to/which-option.md.
    """


@command("info", PRINTING)
def info(values: Values) -> None:
    """Show versions, instruction sets, bounds, threads and devices.

    \b
    truerank info --json
    """
    backends = devices.task_counts.device_backends().items()
    named_devices = ", ".join(f"{name} ({backend})" for name, backend in backends)
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
        "devices": named_devices or "none that torch knows",
        "compiler": _core.compiler,
    }
    show(lay_out(["fact", "value"], facts.items(), names=2), values, facts)
