"""The options that commands share: what each is, and the keyword that its value becomes.

A command is a function of one dict: the values of the options that were given, by keyword. It takes
from it what the functions of truerank need; what nobody takes cannot apply, and is refused.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click
from click.shell_completion import CompletionItem

from ..errors import InputValueError
from ..inputs.checks import LAYOUTS, NAN_RULES, ORDERS
from ..inputs.words import Similarity
from ..naming import printable
from ..records.elements import is_id
from . import files

Given = dict[str, Any]
Decorator = Callable[[Any], Any]


def name_of(parameter: click.Parameter) -> str:
    """Return how users call an option or an argument."""
    if isinstance(parameter, click.Option):
        return parameter.opts[0]
    return parameter.human_readable_name


class Value(click.ParamType[Any]):
    """What a function makes of a word, given the name of the option: mostly the content of a file.

    Parameters
    ----------
    read : callable
        f(name of the option, word) -> value.
    name : str
        How the help calls the word.
    """

    def __init__(self, read: Callable[[str, str], Any], name: str = "file") -> None:
        self.read = read
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of a word."""
        if not isinstance(value, str) or param is None:
            return value
        if not value.strip():
            self.fail("expected a word, got an empty one", param, ctx)
        return self.read(name_of(param), value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Let the shell complete the names of files."""
        return [CompletionItem(incomplete, type="file")]


def _words(_option: str, text: str) -> list[str]:
    words = [part.strip() for part in text.split(",")]
    return [word for word in words if word]


def _metrics(option: str, text: str) -> str | list[str]:
    if text.strip() == "all":
        return "all"
    return _words(option, text)


def _split(option: str, text: str) -> tuple[str, str]:
    name, _, path = text.partition("=")
    if not name or not path:
        raise click.BadParameter(f"expected NAME=FILE, got {text!r}", param_hint=option)
    return name, files.note_file(path)


def _roles(option: str, text: str) -> dict[str, str | int]:
    columns: dict[str, str | int] = {}
    for part in text.split(","):
        role, _, column = (word.strip() for word in part.partition("="))
        if not role or not column or role in columns:
            expected = "ROLE=COLUMN,..., each role once, as head=0,relation=2,tail=1"
            raise click.BadParameter(f"expected {expected}, got {text!r}", param_hint=option)
        columns[role] = int(column[:20]) if is_id(column) else column
    return columns


def read_part(option: str, text: str) -> slice:
    """Read a slice as Python writes it.

    Examples
    --------
    >>> read_part("--part", "2::8"), read_part("--part", ":500")
    (slice(2, None, 8), slice(None, 500, None))
    """
    found = re.fullmatch("([0-9]{0,18}):([0-9]{0,18})(?::([1-9][0-9]{0,17}))?", text.strip())
    if found is None:
        expected = "a slice, START:STOP or START:STOP:STEP, as 2::8 or 500:1000"
        raise InputValueError(option, expected=expected, got=repr(text))
    return slice(*(int(number) if number else None for number in found.groups()))


WORD = Value(lambda _, text: text, "name")
WORDS = Value(_words, "name,...")
INPUT = Value(lambda _, path: files.note_file(path))
OUTPUT = Value(lambda _, path: Path(path))
ARRAY = Value(files.read_array)
SELECTION = Value(files.read_selection)
CANDIDATES = Value(files.read_candidates, "number|file")
# Lists and runs name only some of their candidates.
OF_CANDIDATES = "--candidates: the number of documents in the collection, or a file of their names"
ROLES = Value(_roles, "role=column,...")
COLUMNS = Value(files.read_columns, "number|file")
LABEL = Value(files.read_label, "label|file")
NAMES = Value(files.read_names)
POSITIVE = click.IntRange(min=1)
SUSPECT_ROWS = click.Choice(["keep", "drop", "raise"])


def option(flags: str, kind: Any, help_text: str, **more: Any) -> Decorator:
    """Declare an option; the last word of `flags` is the keyword, unless it is a flag."""
    return click.option(*flags.split(), type=kind, help=help_text, **more)


def flag(flags: str, help_text: str) -> Decorator:
    """Declare an option without a value."""
    return click.option(*flags.split(), is_flag=True, default=None, help=help_text)


OPTIONS: dict[str, Decorator] = {
    # These options say how scores are read and compared.
    "order": option(
        "--order",
        click.Choice(ORDERS),
        "Whether higher scores are better (descending, the default) or lower ones.",
    ),
    "nan": option(
        "--nan",
        click.Choice(NAN_RULES),
        "Treat NaN among the candidates as an error (raise, the default), as the worst score, or "
        "as no candidate (omit).",
    ),
    "dtype": option(
        "--dtype",
        WORD,
        "Dtype of files that hold raw 2-byte numbers: bfloat16.",
    ),
    "io": option(
        "--io",
        click.Choice(["map", "read"]),
        "Map files into memory (the default), or read them block by block, which is safe even if a "
        "file shrinks meanwhile.",
    ),
    "threads": option(
        "--threads", POSITIVE, "Number of threads. Default: all that the process may use."
    ),
    "similarity": option(
        "--similarity",
        click.Choice(get_args(Similarity)),
        "Similarity of two vectors. Default: dot, and cosine in alignment.",
    ),
    "complex_layout": option(
        "--complex-layout",
        click.Choice(LAYOUTS),
        "Where real vectors have the parts of complex numbers, for --similarity complex_l1: in "
        "turn (interleaved), or all real parts before all imaginary parts (halves).",
    ),
    "bias": option("--bias", ARRAY, "A number for each entity, added to its scores: .npy."),
    # These options say what the tasks are.
    "filter": option(
        "--filter",
        SELECTION,
        "Candidates to leave out for each task: .npz with indptr, indices and perhaps lists (the "
        "list that each task uses), or a CSR matrix saved by scipy.sparse.",
    ),
    "rows": option("--rows", ARRAY, "Score row of each task: .npy."),
    "candidates": option(
        "--candidates",
        CANDIDATES,
        "Candidates to rank among: .npy of columns for all tasks, or .npz as for --filter.",
    ),
    "relevance_level": option(
        "-l --relevance-level relevance_level",
        float,
        "Of retrieval: grades from this number on are right answers. Default: all above 0, or what "
        "saved ranks say.",
    ),
    "train": option("--train", INPUT, "Known answers of the training split, which are left out."),
    "valid": option("--valid", INPUT, "The same for the validation split."),
    "known": option(
        "--known",
        Value(_split, "name=file"),
        "The same for a split of any name. It may be given several times.",
        multiple=True,
    ),
    "columns": option(
        "--columns",
        ROLES,
        "The columns of --test and the known splits, by their numbers from 0 on or their names, as "
        "head=0,relation=2,tail=1. Others are left out. Default: by names, or in this order.",
    ),
    "header": flag(
        "--header/--no-header header",
        "Whether the first line of each text file names its columns. Default: it does not.",
    ),
    "split": option(
        "--split",
        WORD,
        "Name of the evaluated split, which --save stores. Default where --test or --qrels is "
        "given: test.",
    ),
    "test_part": option(
        "--part test_part",
        Value(read_part, "start:stop:step"),
        "Rank a part of the test: those of its triples, pairs or queries that a slice of Python "
        "has, as 2::8 or 500:1000. Scores, and vectors of queries, have the rows of the part. "
        "`truerank merge` joins what the parts --save.",
    ),
    "duplicates": option(
        "--duplicates",
        SUSPECT_ROWS,
        "What to do with test rows that repeat an earlier one. Default: keep.",
    ),
    "leaks": option(
        "--leaks",
        SUSPECT_ROWS,
        "What to do with test rows that a known split has, too. Default: keep.",
    ),
    "unseen": option(
        "--unseen",
        SUSPECT_ROWS,
        "What to do with test rows with an entity or relation that is not in --train. Default: "
        "keep.",
    ),
    # These options say how values are reported.
    "by": option(
        "--by",
        LABEL,
        "How to group tasks: a label of the ranks (side, relation, query, category, ...), or a "
        ".npy file with a label for each task.",
    ),
    "weights": option(
        "--weights",
        LABEL,
        "Weights of the tasks: query, relation or another label of the ranks (each of its values "
        "counts once), or a .npy file with a weight for each task.",
    ),
    "seed": option("--seed", click.IntRange(min=0), "Seed of all random numbers. Default: 0."),
    "interval": flag(
        "--interval", "Show 95 % intervals behind the values, and with --by those of each group."
    ),
    "kinds": option(
        "--kinds",
        WORDS,
        "The kinds of rank that are printed: realistic, optimistic, pessimistic, expected, random. "
        "Default: all where they differ, of groups one. Of retrieval expected, optimistic, "
        "pessimistic, and chance, optimum, ratio, index.",
    ),
    "audit": flag("--audit", "Count NaN and saturated scores, and list what is suspect."),
    "save": option(
        "--save",
        OUTPUT,
        "Save the ranks in an .npz file, from which `truerank evaluate` computes any metric later.",
    ),
    "html": option(
        "--html",
        OUTPUT,
        "Also write an HTML page: one file with tables, the audit and plots. It needs the extra "
        "plot.",
    ),
    # These options say what is printed.
    "metrics": option(
        "--metrics --metric metrics",
        Value(_metrics, "name,..."),
        "Print these metrics, such as mrr,hits@10, or all. A key such as tail.optimistic.hits@10 "
        "or macro.mrr gets a value of its own.",
    ),
    "style": option(
        "--format style",
        click.Choice(["text", "json", "markdown", "csv", "spreadsheet", "latex", "html"]),
        "How to write the result; spreadsheet is CSV where no name can be taken for a formula.",
    ),
    "json": flag("--json", "The same as --format json."),
    "output": option(
        "--output",
        OUTPUT,
        "Write the result to a file instead, in the form of its ending: .txt, .md, .tex, .csv, "
        ".json or .html.",
    ),
    "digits": option(
        "--digits",
        click.IntRange(0, 15),
        "Decimals of shares, 3 by default; mean ranks have two fewer.",
    ),
    "percent": flag("--percent", "Print hits@k and the like as percentages."),
    "force": flag(
        "--force", "Replace files that are there already. Without it nothing is overwritten."
    ),
    "notes": flag("--notes/--no-notes notes", "Whether to print the lines around the table."),
}
PRINTING = "style json output force digits notes"
MEASURED = f"metrics percent {PRINTING}"
COUNTING = "order nan dtype threads"
REPORTED = f"interval audit save html kinds {MEASURED}"
REPORTING = f"by weights seed {REPORTED}"


def command(name: str, options: str, **more: Any) -> Callable[[Callable[[Given], None]], Any]:
    """Make a command of a function of the values that were given.

    Parameters
    ----------
    name : str
        The name of the command.
    options : str
        The keywords of its options in the table, which come after those that it declares.
    **more
        As `click.command` takes them.
    """

    def decorate(function: Callable[[Given], None]) -> click.Command:
        @functools.wraps(function)
        def run(**values: Any) -> None:
            given = {keyword: value for keyword, value in values.items() if _is_given(value)}
            function(given)

        make: Decorator = click.command(name, **more)
        made: click.Command = make(run)
        for keyword in options.split():
            OPTIONS[keyword](made)
        return made

    return decorate


def _is_given(value: object) -> bool:
    # An option that may be given several times is an empty tuple if it was not given.
    return value is not None and not (isinstance(value, tuple) and len(value) == 0)


def take(given: Given, keywords: str) -> Given:
    """Take the values of some keywords, as far as they were given.

    Examples
    --------
    >>> given = {"order": "ascending", "nan": "omit"}
    >>> take(given, "order threads"), given
    ({'order': 'ascending'}, {'nan': 'omit'})
    """
    return {name: given.pop(name) for name in keywords.split() if name in given}


def refuse(given: Given, what: str) -> None:
    """Refuse values that nobody has taken."""
    parameters = click.get_current_context().command.params
    names = [name_of(parameter) for parameter in parameters if parameter.name in given]
    if names:
        raise click.UsageError(printable(f"{', '.join(names)} cannot apply to {what}"))
