"""Options that several commands share, and the checks of their values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

import click

from ..inputs.scores import DTYPES
from ..metrics import parse
from ..ranks.container import Ranks
from ..ranks.grouping import WEIGHTS
from ..ranks.labels import LABEL_ALIASES
from ..reporting.macro import COUNT
from .files import is_file, read_array
from .output import FORMATS

Command = TypeVar("Command", bound=Callable[..., Any])
Option = Callable[[Any], Any]


class _FilePath(click.Path):
    """A path that is not empty: an unset shell variable would name the current folder."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "":
            self.fail("expected the name of a file, got an empty one", param, ctx)
        return super().convert(value, param, ctx)


File = _FilePath(path_type=Path)
QUOTES_HINT = 'the shell splits a pattern of shards unless it is in quotes: "part-*.npy"'


def split_list(_context: click.Context, _option: click.Parameter, text: str | None) -> list[str]:
    """Split a list at its commas."""
    return [key for part in (text or "").split(",") if (key := part.strip())]


def parse_keys(context: click.Context, option: click.Parameter, text: str | None) -> list[str]:
    """Split a list of metric keys and check their form.

    Whether the ranks have the sides and groups that they name is checked later.
    """
    keys = split_list(context, option, text)
    try:
        for key in keys:
            parse(key)
    except KeyError as error:
        raise click.BadParameter(str(error)) from error
    return keys


def parse_dtype(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
    """Check the name of a dtype, which may begin with a byte order."""
    if text is not None and text[text[:1] in ("<", ">") :] not in DTYPES:
        raise click.BadParameter(
            f"expected one of {', '.join(DTYPES)} (big-endian with > before it), got {text!r}"
        )
    return text


def check_not_blank(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> str | None:
    """Check that a text has more than blanks."""
    if text is not None and not text.strip():
        raise click.BadParameter("expected a name, got an empty one")
    return text


def given_options(options: dict[str, Any]) -> dict[str, Any]:
    """Select the options that were given on the command line."""
    return {k: v for k, v in options.items() if not (v is None or v is False or v in ([], (), {}))}


def option_names(*names: str) -> str:
    """Write options by the names of their parameters.

    Examples
    --------
    >>> option_names("queries_tail", "entities")
    '--queries-tail, --entities'
    """
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


# -- labels ----------------------------------------------------------------------------------------


def label_or_file(names: Collection[str]) -> Callable[..., str | None]:
    """Make a check that a text is one of some names, may be another label, or names a file."""

    def check(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
        valid = text is None or text in names or text.isidentifier() or is_file(text)
        if not valid:
            raise click.BadParameter(_expected_names(names, text))
        return text

    return check


def check_label(option: str, given: object, names: Collection[str], ranks: Ranks) -> None:
    """Raise an error if a word is neither one of some names nor another label of the ranks."""
    known = [*names, *ranks.labels]
    if isinstance(given, str) and given not in known:
        raise click.BadParameter(_expected_names(known, given), param_hint=f"'{option}'")


def read_labels(option: str, text: str | None) -> Any:
    """Read labels or weights if they are in a file; a name is returned as it is."""
    return read_array(option, Path(text)) if text is not None and is_file(text) else text


def _expected_names(names: Collection[str], text: str | None) -> str:
    return f"expected {', '.join(names)} or a .npy file, got {text!r}"


# -- options ---------------------------------------------------------------------------------------


def combine_options(*options: Option) -> Option:
    """Combine several options into one decorator, in the order in which the help lists them."""
    return lambda command: functools.reduce(
        lambda decorated, add: add(decorated), options[::-1], command
    )


style_option = click.option(
    "--format",
    "style",
    type=click.Choice(list(FORMATS)),
    default="table",
    show_default=True,
    help="How to write the result; spreadsheet is CSV where no name can be taken for a formula.",
)
seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of all random numbers.",
)
by_option = click.option(
    "--by",
    metavar="LABEL|FILE",
    callback=label_or_file(LABEL_ALIASES),
    help="How to group tasks: a label of the ranks (side, relation, query, target, category, ...), "
    "or a .npy file with a label for each task.",
)
html_option = click.option(
    "--html",
    type=File,
    help="Also write an HTML page: one file with tables, the audit and plots. It needs the extra "
    "plot.",
)
order_option = click.option(
    "--order",
    type=click.Choice(["descending", "ascending"]),
    help="Whether higher scores are better (descending, the default) or lower ones.",
)
nan_option = click.option(
    "--nan",
    type=click.Choice(["raise", "worst", "omit"]),
    help="Treat NaN among the candidates as an error (raise, the default), as the worst score "
    "(worst), or as no candidate (omit).",
)
io_option = click.option(
    "--io",
    type=click.Choice(["map", "read"]),
    help="Map files into memory (the default), or read them block by block, which is safe even if "
    "a file shrinks meanwhile.",
)
threads_option = click.option(
    "--threads",
    type=click.IntRange(min=1),
    help="Number of threads. Default: all that the process may use.",
)


targets_argument = click.argument(
    "targets",
    required=False,
    callback=check_not_blank,
)
SAVE_HELP = "Save the ranks in an .npz file, from which any metric can be computed later"
_weights_option = click.option(
    "--weights",
    metavar="LABEL|FILE",
    callback=label_or_file(WEIGHTS),
    help="Weights of the tasks: query, relation, target or another label of the ranks (each of its "
    "values counts once), or a .npy file with a weight for each task.",
)
_macro_option = click.option(
    "--macro-weights",
    type=click.Choice([COUNT]),
    help="Weight each group of --by in macro averages by its number of tasks. Default: equally.",
)
_metrics_option = click.option(
    "--metrics",
    "--metric",
    "metrics",
    metavar="KEY,...",
    callback=parse_keys,
    help="Report only these metrics, such as mrr,optimistic.hits@10,tail.amri,macro.mrr.",
)
_interval_option = click.option(
    "--interval",
    is_flag=True,
    help="Show 95 % bootstrap intervals of --metrics, over tasks or over the groups of --by.",
)
_audit_option = click.option(
    "--audit", is_flag=True, help="Count NaN and saturated scores, and list what is suspect."
)


def report_options(save_help: str = f"{SAVE_HELP}.", *more: Option) -> Option:
    """Combine the options of a report: `save_help` is the help of --save, `more` come after it."""
    return combine_options(
        *(_metrics_option, by_option, _weights_option, _macro_option, _interval_option),
        *(seed_option, _audit_option, click.option("--save", type=File, help=save_help), *more),
        *(html_option, style_option),
    )


def rule_option(name: str, rows: str, which: str) -> Option:
    """Make an option that says whether to keep, drop or refuse some rows of the test."""
    choices = click.Choice(["keep", "drop", "raise"])
    return click.option(
        f"--{name}", type=choices, help=f"What to do with test {rows} {which}. Default: keep."
    )


def dtype_option(
    help_text: str = "bfloat16, for .npy files that hold raw 2-byte numbers.",
) -> Option:
    """Make an option for the dtype of raw bytes."""
    return click.option(
        "--dtype",
        callback=parse_dtype,
        metavar="NAME",
        help=help_text,
    )


def split_option(help_text: str, **more: Any) -> Option:
    """Make an option for the name of the evaluated split."""
    return click.option(
        "--split",
        metavar="NAME",
        callback=check_not_blank,
        help=help_text,
        **more,
    )
