"""Options that several commands have, and what they accept."""

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
from .completion import SPLIT_NAMES, completer, fixed_words, keys, labels
from .files import is_file, read_array
from .output import SHEET_FORMATS

Command = TypeVar("Command", bound=Callable[..., Any])
Option = Callable[[Any], Any]


class _FilePath(click.Path):
    """A path; an empty one, of a variable that is not set, would be the folder."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "":
            self.fail("expected the name of a file, got an empty one", param, ctx)
        return super().convert(value, param, ctx)


File = _FilePath(path_type=Path)
QUOTES_HINT = 'the shell splits a pattern of shards unless it is in quotes: "part-*.npy"'


def split_list(_context: click.Context, _option: click.Parameter, text: str | None) -> list[str]:
    """Words between commas."""
    return [key for part in (text or "").split(",") if (key := part.strip())]


def parse_keys(context: click.Context, option: click.Parameter, text: str | None) -> list[str]:
    """Metric keys between commas; whether there are such sides and groups is known later."""
    keys = split_list(context, option, text)
    try:
        for key in keys:
            parse(key)
    except KeyError as error:
        raise click.BadParameter(str(error.args[0])) from error
    return keys


def parse_dtype(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
    """The dtype of scores, perhaps with a mark of their byte order."""
    if text is not None and text[text[:1] in ("<", ">") :] not in DTYPES:
        raise click.BadParameter(
            f"expected one of {', '.join(DTYPES)} (big-endian with > before it), got {text!r}"
        )
    return text


def check_not_blank(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> str | None:
    """A check that a text is more than blanks."""
    if text is not None and not text.strip():
        raise click.BadParameter("expected a name, got an empty one")
    return text


def given_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given."""
    return {k: v for k, v in options.items() if not (v is None or v is False or v in ([], (), {}))}


def option_names(*names: str) -> str:
    """Options by the names of their parameters.

    Examples
    --------
    >>> option_names("queries_tail", "entities")
    '--queries-tail, --entities'
    """
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


# -- labels ----------------------------------------------------------------------------------------


def label_or_file(names: Collection[str]) -> Callable[..., str | None]:
    """A check that a text is one of some names, or may be a label that ranks have, or a file."""

    def check(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
        may_be = text is None or text in names or text.isidentifier() or is_file(text)
        if not may_be:
            raise click.BadParameter(_expected_names(names, text))
        return text

    return check


def check_label(option: str, given: object, names: Collection[str], ranks: Ranks) -> None:
    """Refuse a word that is neither one of some names nor of the ranks' other labels."""
    known = [*names, *ranks.labels]
    if isinstance(given, str) and given not in known:
        raise click.BadParameter(_expected_names(known, given), param_hint=f"'{option}'")


def read_labels(option: str, text: str | None) -> Any:
    """Labels or weights as `report` and `compare` take them."""
    return read_array(option, Path(text)) if text is not None and is_file(text) else text


def _expected_names(names: Collection[str], text: str | None) -> str:
    return f"expected {', '.join(names)} or a .npy file, got {text!r}"


# -- options ---------------------------------------------------------------------------------------


def combine_options(*options: Option) -> Option:
    """Several options as one decorator, in the order in which the help has them."""
    return lambda command: functools.reduce(lambda made, add: add(made), options[::-1], command)


STYLES = ("table", *SHEET_FORMATS)
style_option = click.option(
    "--format", "style", type=click.Choice(STYLES), default="table", show_default=True
)
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all that is drawn."
)
by_option = click.option(
    "--by",
    metavar="LABEL|FILE",
    callback=label_or_file(LABEL_ALIASES),
    shell_complete=completer(labels, files=True),
    help="Groups of tasks: a label that the ranks carry (side, relation, query, target, category, "
    "...), or .npy of a label for each task.",
)
html_option = click.option(
    "--html",
    type=File,
    help="Write it all as a page, too: one HTML file with tables, the audit and plots; it needs "
    "the extra plot.",
)
order_option = click.option(
    "--order",
    type=click.Choice(["descending", "ascending"]),
    help="Whether higher scores are better (descending, the default) or lower ones.",
)
nan_option = click.option(
    "--nan",
    type=click.Choice(["raise", "worst", "omit"]),
    help="A NaN among the candidates is an error (raise, the default), the worst score, or none.",
)
io_option = click.option(
    "--io",
    type=click.Choice(["map", "read"]),
    help="Files are mapped (the default), or read in pieces, which bears that they shrink.",
)
threads_option = click.option(
    "--threads", type=click.IntRange(min=1), help="By default all that are allowed."
)
targets_argument = click.argument(
    "targets",
    required=False,
    callback=check_not_blank,
    shell_complete=completer(fixed_words(), files=True),
)
SAVE_HELP = "Keep the ranks in an .npz file, for any later metric"
_weights_option = click.option(
    "--weights",
    metavar="LABEL|FILE",
    callback=label_or_file(WEIGHTS),
    shell_complete=completer(labels, files=True),
    help="What each task counts: query, relation, target or another label of the ranks (each "
    "counts once), or .npy.",
)
_macro_option = click.option(
    "--macro-weights",
    type=click.Choice([COUNT]),
    help="What a group of --by counts in macro averages: its number of tasks; once, if not given.",
)
_metrics_option = click.option(
    "--metrics",
    metavar="KEY,...",
    callback=parse_keys,
    shell_complete=completer(keys, several=True),
    help="Report only these, such as mrr,optimistic.hits@10,tail.amri,macro.mrr.",
)
_interval_option = click.option(
    "--interval",
    is_flag=True,
    help="95 % bootstrap intervals of --metrics, over tasks, or over the groups of --by.",
)
_audit_option = click.option(
    "--audit", is_flag=True, help="Count NaN and saturated scores; say what is suspect."
)


def report_options(save_help: str = f"{SAVE_HELP}.", *more: Option) -> Option:
    """What a command is told of the report that it makes, with help and options of --save."""
    return combine_options(
        *(_metrics_option, by_option, _weights_option, _macro_option, _interval_option),
        *(seed_option, _audit_option, click.option("--save", type=File, help=save_help), *more),
        *(html_option, style_option),
    )


def rule_option(name: str, rows: str, which: str) -> Option:
    """An option for what to do with some of the rows of a test: to keep, drop or refuse them."""
    choices = click.Choice(["keep", "drop", "raise"])
    return click.option(f"--{name}", type=choices, help=f"Test {rows} {which} (keep by default).")


def dtype_option(help_text: str = "Of raw 2-byte numbers in .npy: bfloat16.") -> Option:
    """An option for what raw bytes are."""
    return click.option(
        "--dtype",
        callback=parse_dtype,
        shell_complete=completer(fixed_words(*DTYPES)),
        metavar="NAME",
        help=help_text,
    )


def split_option(help_text: str, **more: Any) -> Option:
    """An option for the name of the split that is evaluated."""
    return click.option(
        "--split",
        metavar="NAME",
        callback=check_not_blank,
        shell_complete=completer(SPLIT_NAMES),
        help=help_text,
        **more,
    )
