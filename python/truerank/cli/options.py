"""The options of commands: what they are called, what they read, and what the help says.

A command is a function of one dict: the values of the options that were given, by keyword. It takes
from it what the functions of truerank need; what nobody takes cannot apply, and is refused.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from click.shell_completion import CompletionItem

from truerank import InputError, InputValueError

from .. import errors
from ..arrays.input_files import read_npy
from ..arrays.saved_files import read_npz
from ..inputs.array_likes import index_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

Values = dict[str, Any]
Decorator = Callable[[Any], Any]
# The context of a command has the files that it reads, and the names of its options, under these.
_FILES = "truerank.files"
_NAMES = "truerank.names"
# What files hold, and the commands that take it, by the kind of an archive or of a row of text.
FILES = {
    "truerank.ranks": ("saved ranks", "`truerank evaluate`, `compare` and `merge` take"),
    "truerank.counter": ("saved counters", "`truerank merge` takes"),
    "truerank.topk": ("saved lists", "`truerank merge` and `recall` take"),
    "array": ("an array", "`truerank evaluate SCORES TARGETS` takes"),
    "ranks": ("ranks in a file of text", "`truerank evaluate` and `compare` take"),
    "lists": ("a run", "`truerank retrieval QRELS RUN` takes, and `compare` with --qrels"),
    "judgements": ("right answers", "`truerank retrieval QRELS RUN` takes"),
    "facts": ("facts", "`truerank link-prediction --test FACTS` takes"),
    "pairs": ("pairs", "`truerank alignment LEFT RIGHT PAIRS` takes"),
}
SAVED, TEXT = FILES["truerank.ranks"][0], FILES["ranks"][0]
PAGE = "docs/how-to/which-option.md"  # of options that messages name without a value
_ENDINGS = {b"\x93NUM": ".npy", b"PK\3\4": ".npz"}  # by what a file begins with
_SELECTION = ("indptr", "indices", "lists")
_DIGITS = 20  # Any number of so many digits is beyond the largest that an array holds.


# -- what words become -----------------------------------------------------------------------------


def wrong_word(option: str, expected: str, text: str) -> click.UsageError:
    """Return the error of a word that an option cannot have, whatever files have."""
    return click.UsageError(str(InputValueError(option, expected=expected, got=repr(text))))


def note_file(path: object) -> str:
    """Remember a file that a command reads, and return the name by which it is opened.

    A pipe, and standard input (-), can be read once: so a copy is opened, which is there until the
    command ends.
    """
    name = str(path)
    context = click.get_current_context(silent=True)
    if context is None:
        return name
    opened_files: dict[str, str] = context.meta.setdefault(_FILES, {})
    if name in opened_files:
        return opened_files[name]
    if name in opened_files.values():  # It is the copy of a pipe.
        return name
    path = name
    if is_pipe(name):
        folder = context.find_root().with_resource(TemporaryDirectory(prefix="truerank-"))
        path = os.path.join(folder, os.path.basename(name).replace("-", "stdin"))
        with click.open_file(name, "rb") as pipe, open(path, "wb") as copy:
            shutil.copyfileobj(pipe, copy)
        with open(path, "rb") as copy:  # Files that have a name of their own are known by it.
            ending = _ENDINGS.get(copy.read(4), "")
        os.replace(path, path + ending)
        path += ending
    opened_files[name] = path
    return path


def is_pipe(name: str) -> bool:
    """Return whether this is a pipe that has a name, or standard input."""
    return name == "-" or Path(name).is_fifo()


def given_name(path: str) -> str:
    """Return how the line names a file: a copy of a pipe has another path."""
    context = click.get_current_context(silent=True)
    files: dict[str, str] = {} if context is None else context.meta.get(_FILES, {})
    return next((name for name, copy in files.items() if copy == path), path)


def files_read() -> list[str]:
    """Return the files that the command reads, each once."""
    return list(click.get_current_context().meta.get(_FILES, ()))


def read_array(argument: str, path: str) -> NDArray[Any]:
    """Open a .npy file as a read-only memory map; pickled objects are refused."""
    return read_npy(argument, note_file(path), mapped=True)


def read_members(
    argument: str, path: str, needed: Sequence[str], others: Sequence[str] = ()
) -> dict[str, NDArray[Any]]:
    """Read arrays of an .npz file: those that it must have, and others that it may have."""
    members, arrays = read_npz(argument, note_file(path), (*needed, *others))
    if "format" in arrays:  # scipy.sparse saved this matrix.
        layout = arrays["format"].tobytes().replace(b"\0", b"")
        if layout != b"csr":
            expected = "a scipy.sparse matrix in csr format"
            raise InputValueError(argument, expected=expected, got=layout[:20].decode("latin1"))
        needed = (*needed, "shape")
    if not arrays.keys() >= set(needed):
        expected = f"members {' and '.join(needed)}"
        if "truerank" in members:
            raise wrong_file(argument, path, expected)
        raise InputValueError(argument, expected=expected, got=", ".join(members) or "nothing")
    return arrays


def archive_kind(argument: str, path: str) -> str:
    """Return what a file of truerank holds, as "truerank.ranks"; empty for any other file."""
    with open(path, "rb") as file:
        if file.read(4) != b"PK\3\4":
            return ""
    header = read_npz(argument, path, ("truerank",))[1].get("truerank")
    if header is None:
        return ""
    try:
        return str(json.loads(header.tobytes())["kind"])
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise InputValueError(argument, f"damaged header: {error}", place=path) from error


def find_kind(argument: str, path: str) -> str:
    """Return what a file holds, as a key of `FILES`; "": it is text of another form."""
    kind = archive_kind(argument, path)
    if kind or path.lower().endswith((".npy", ".npz")):
        return kind or "array"
    from ..records import text  # Scores alone do not need it.

    return text.find_kind(argument, path)


def wrong_file(argument: str, path: str, expected: str) -> InputValueError:
    """Return the error of a file that other commands take, which it names."""
    kind = find_kind(argument, path)
    got = ", which ".join(FILES.get(kind, [repr(kind[:80]) if kind else "text of another form"]))
    return InputValueError(argument, expected=expected, got=got, place=path)


def open_text(argument: str, path: str) -> str:
    """Return the name of a file of text as `note_file` does; what truerank saved is none."""
    name = note_file(path)
    if os.path.isfile(name) and archive_kind(argument, name):
        raise wrong_file(argument, name, "text")
    return name


def read_vectors(argument: str, path: str) -> Any:
    """Open vectors in a file, as --io says, or read lists of them, (vectors, indptr), of .npz."""
    from ..stores import index_files  # Scores alone do not need it.

    given = click.get_current_context().params
    io = given.get("io") or "map"
    if path.lower().endswith(".npz"):
        arrays = read_members(argument, path, ("vectors", "indptr"))
        return arrays["vectors"], arrays["indptr"]
    file = index_files.file_of(path)
    data_set = path.removeprefix(file)  # As :train of FILE.hdf5:train.
    name = f"{note_file(file)}{data_set}"
    if index_files.has_vectors(name):
        bin_dtype = index_files.bin_dtype(given.get("dtype"))
        with called(dtype="--dtype"):
            return index_files.map_matrix(argument, name, io, bin_dtype)
    expected = "a .npy file" if is_npy(name) else index_files.FORMS
    return read_npy(argument, name, mapped=io == "map", expected=expected)


def read_selection(argument: str, path: str) -> Any:
    """Read a selection: (indptr, indices) or (indptr, indices, lists), or a CSR matrix."""
    arrays = read_members(argument, path, _SELECTION[:2], ("lists", "format", "shape"))
    if "format" not in arrays:
        return tuple(arrays[name] for name in _SELECTION if name in arrays)
    from scipy.sparse import csr_array

    indptr, indices, shape = (
        index_array(f"{argument}: {name}", arrays[name]) for name in ("indptr", "indices", "shape")
    )
    try:
        return csr_array((np.broadcast_to(True, indices.shape), indices, indptr), shape.tolist())
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise InputValueError(argument, str(error), place=path) from error


def is_of_columns(text: str) -> bool:
    """Return whether a word is a number, or the name of a .npy file of numbers."""
    return is_npy(text) or (text.isascii() and text.isdecimal())


def is_npy(path: str) -> bool:
    """Return whether a file has an array, by its name; a pipe has it by what it begins with."""
    name = note_file(path) if is_pipe(path) else path
    return name.lower().endswith(".npy")


def read_columns(argument: str, text: str) -> int | NDArray[Any]:
    """Return a number as it is, or read the numbers in a .npy file."""
    if not (text.isascii() and text.isdecimal()):
        return read_array(argument, text)
    number = int(text.lstrip("0")[:_DIGITS] or "0")
    if number >> 63:
        raise wrong_word(argument, "a number below 2**63", text)
    return number


def parse_candidates(argument: str, text: str) -> Any:
    """Return a number of candidates or "listed", or read a selection, columns, or names."""
    if text == "listed":
        return text
    if text.lower().endswith(".npz"):
        return read_selection(argument, text)
    if is_of_columns(text):
        return read_columns(argument, text)
    return read_names(argument, text)


def read_label(argument: str, text: str) -> str | NDArray[Any]:
    """Return a word as it is, or read what a .npy file has for each task."""
    return read_array(argument, text) if is_npy(text) else text


def read_vocabulary(argument: str, path: str) -> Any:
    """Read labels in the order of their ids."""
    from ..records.vocabularies import Vocabulary, read_labels  # Scores alone do not need them.

    return Vocabulary.read(f"{argument}: {path}", read_labels(argument, note_file(path)))


def read_names(argument: str, path: str) -> Sequence[str] | Sequence[int]:
    """Read labels as they are, in the order of their ids."""
    return read_vocabulary(argument, path).names or ()


def read_words(option: str, text: str) -> list[str]:
    """Return the words between commas."""
    words = [word.strip() for word in text.split(",")]
    return [word for word in words if word]


def read_roles(option: str, text: str) -> dict[str, str | int]:
    """Return the columns of roles, by name or number."""
    columns: dict[str, str | int] = {}
    for part in text.split(","):
        role, _, column = (word.strip() for word in part.partition("="))
        if not role or not column or role in columns:
            expected = "ROLE=COLUMN,..., each role once, as head=0,relation=2,tail=1"
            raise wrong_word(option, expected, text)
        columns[role] = column
        if re.fullmatch("0|[1-9][0-9]*", column):
            columns[role] = int(column[:_DIGITS])
    return columns


def read_part(option: str, text: str) -> slice:
    """Read a slice as Python writes it, such as 2::8 or :500."""
    numbers = re.fullmatch("([0-9]{0,18}):([0-9]{0,18})(?::([1-9][0-9]{0,17}))?", text.strip())
    if numbers is None:
        expected = "a slice, START:STOP or START:STOP:STEP, as 2::8 or 500:1000"
        raise wrong_word(option, expected, text)
    return slice(*(int(number) if number else None for number in numbers.groups()))


def values_by_name(
    context: click.Context, parameter: click.Parameter, pairs: Sequence[tuple[str, Any]]
) -> Values:
    """Return the values of an option by the names before them, each of which stands there once."""
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        problem = f"{typed_name(parameter)}: expected each name once, got {', '.join(keys)}"
        raise click.UsageError(problem, context)
    return dict(pairs)


def joined_words(
    context: click.Context, parameter: click.Parameter, lists: Sequence[list[str]]
) -> str | list[str] | None:
    """Return the words of an option that stands there several times; perhaps "all"."""
    if not lists:
        return None
    words = [word for each in lists for word in each]
    return "all" if parameter.name in ("metrics", "kinds") and words == ["all"] else words


# -- what options are -----------------------------------------------------------------------------


@dataclass(eq=False)
class Value(click.ParamType):  # type: ignore[type-arg]  # No generic class before 8.4.
    """What a function makes of a word, given the name of the option: mostly the content of a file.

    `read` is called as f(name of the option, word), and `name` is how the help calls the word. With
    `keys` one of these names (of no keys any) stands before it, as in NAME=FILE; then the option
    may be given once for each name, and its value is a dict.
    """

    read: Callable[[str, str], Any]
    name: str = "file"
    keys: tuple[str, ...] | None = None

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of a word; where names stand before words, the name and the value."""
        if not isinstance(value, str) or param is None:
            return value
        if not value.strip():
            self.fail("expected a word, got an empty one", param, ctx)
        option = typed_name(param)
        if self.keys is None:
            return self.read(option, value)
        key, _, word = value.partition("=")
        is_known = not self.keys or key in self.keys
        if not key or not word.strip() or not is_known:
            names = f", a name of {', '.join(self.keys)}" if self.keys else ""
            self.fail(f"expected {self.name.upper()}{names}, got {value!r}", param, ctx)
        return key, self.read(f"{option} {key}", word)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Let the shell complete the names before words, and those of files."""
        if self.keys and "=" not in incomplete:
            return [CompletionItem(f"{key}=") for key in self.keys if key.startswith(incomplete)]
        return [CompletionItem(incomplete, type="file")]


WORD = Value(lambda _, text: text, "name")
WORDS = Value(read_words, "name,...")
SCORES = Value(lambda _, path: note_file(path) if is_pipe(path) else path)  # Perhaps a pattern.
INPUT = Value(lambda _, path: note_file(path))
TEXT_FILE = Value(open_text)
OUTPUT = Value(lambda _, path: Path(path))
ARRAY = Value(read_array)
VECTORS = Value(read_vectors)
CANDIDATES = Value(parse_candidates, "number|file")
COLUMNS = Value(read_columns, "number|file")
LABEL = Value(read_label, "label|file")
POSITIVE = click.IntRange(min=1)
AXES = {"rows": 0, "columns": 1}
# How messages write what only the user has.
FORMS = {"--candidates": "N", "--by": "LABEL", "--member": "NAME", "parts": "NAME=FILE"}
SUSPECT_ROWS = ("keep", "drop", "raise")
SIMILARITIES: tuple[str, ...] = ("dot", "cosine", "l1", "l2", "sql2", "complex_l1", "poincare")
SIMILARITIES += ("inverse_l1", "inverse_l2", "maxsim")

# How a result may be written, and the ending of a file that chooses it.
STYLES = {
    "text": ".txt",
    "json": ".json",
    "markdown": ".md",
    "csv": ".csv",
    "spreadsheet": ".csv",
    "latex": ".tex",
    "html": ".html",
}

# What options are, by their names, of which the last is the keyword of the value: a type (a tuple
# has all words that may stand there; None: no word; a str: no word, but this value), and the text
# of the help.
OPTIONS: dict[str, tuple[Any, str]] = {
    # How scores are read and compared.
    "--order": (
        ("descending", "ascending"),
        "Whether higher scores are better (descending, default) or lower ones.",
    ),
    "--nan": (
        ("raise", "worst", "omit"),
        "A NaN is an error (raise, default), the worst score, or left out (omit).",
    ),
    "--dtype": (WORD, "Dtype of raw 2-byte numbers (bfloat16), or of bytes in .bin (int8, uint8)."),
    "--io": (("map", "read"), "Map files (default), or read them, which is safe if they shrink."),
    "--shards axis": (
        tuple(AXES),
        "What files of a pattern of scores hold: rows (default) or columns.",
    ),
    "--threads": (POSITIVE, "Number of threads. Default: all that the process may use."),
    "--similarity": (
        SIMILARITIES,
        "Similarity of two vectors; maxsim: of two lists of vectors. Default: dot; cosine in "
        "alignment, which takes no lists; none of topk and recall.",
    ),
    "--complex-layout layout": (
        ("interleaved", "halves"),
        "Order of parts of complex numbers: in turn (interleaved), or real ones first (halves).",
    ),
    "--bias": (ARRAY, "A number for each entity, added to its scores: .npy."),
    # What the tasks are.
    "--filter": (
        Value(read_selection),
        "Candidates to leave out for each task: .npz with indptr, indices and perhaps lists (the "
        "list that each task uses), or a CSR matrix of tasks and candidates saved by scipy.sparse.",
    ),
    "--rows": (ARRAY, "Score row of each task: .npy."),
    "--candidates": (
        CANDIDATES,
        "Candidates to rank among: .npy of columns for all tasks, or .npz as for --filter.",
    ),
    "--relevance-level -l relevance_level": (
        float,
        "In retrieval the least grade of right answers. Default: above 0, or as saved ranks say.",
    ),
    "--gain": (("linear", "exponential", "binary"), "How gains count in nDCG. Default: linear."),
    "--exclude-self exclude": ("self", "Leave out the query itself from its candidates."),
    "--known": (
        Value(lambda _, path: note_file(path), "split=file", ()),
        "Known answers of another split, such as train, which are left out. Once for each split.",
    ),
    "--columns": (
        Value(read_roles, "role=column,..."),
        "The columns of the test and the known splits, by number from 0 on or by name, as "
        "head=0,relation=2,tail=1 or query=0,document=1. Others are left out. Default: by names, "
        "or in this order.",
    ),
    "--list-columns list_columns": (
        Value(read_roles, "role=column,..."),
        "The columns of lists, likewise: query=0,document=1,score=2.",
    ),
    "--header/--no-header header": (None, "Whether the first line of text names its columns."),
    "--split": (WORD, "Name of the evaluated split. Default: test; no name in `evaluate`."),
    "--part": (
        Value(read_part, "start:stop:step"),
        "Rank a part of the test: the triples, pairs or queries in a slice of Python, as 2::8 or "
        "500:1000. Scores, and vectors of queries, have the rows of the part, or of the whole "
        "test. `truerank merge` joins the saved parts.",
    ),
    "--duplicates": (
        (*SUSPECT_ROWS, "first"),
        "What to do with repeated test rows (keep, the default, drop, raise), or with a candidate "
        "that a list has twice: raise (default), or first, which counts it once, at its best score "
        "or first place.",
    ),
    "--leaks": (SUSPECT_ROWS, "What to do with test rows of a known split. Default: keep."),
    # How values are reported.
    "--by": (
        LABEL,
        "How to group tasks: a label of the ranks (side, relation, query, category, ...), or a "
        ".npy file with a label for each task.",
    ),
    "--weights": (
        LABEL,
        "Weights of the tasks: a label of the ranks, such as query or relation, so that each of "
        "its values counts once, or a .npy file with a weight for each task.",
    ),
    "--seed": (click.IntRange(min=0), "Seed of all random numbers. Default: 0."),
    "--interval": (None, "Show 95 % intervals of the values, with --by also of each group."),
    "--kinds": (
        WORDS,
        "The kinds of rank that are printed: realistic, optimistic, pessimistic, expected, random. "
        "Default: those that differ, for groups one; all: each except random. In retrieval "
        "expected, optimistic, pessimistic.",
    ),
    "--audit": (None, "Count NaN and infinite scores, and list suspect facts."),
    "--save": (
        OUTPUT,
        "Save the ranks in an .npz file, from which `evaluate` computes any metric.",
    ),
    "--html": (
        OUTPUT,
        "Also write a page of tables, the audit and plots. It needs the extra plot.",
    ),
    # What is printed.
    "--metrics --metric metrics": (
        WORDS,
        "Print these metrics, such as mrr,hits@10, or all. A key such as tail.optimistic.hits@10 "
        "or macro.mrr gets a value of its own.",
    ),
    "--format style": (
        tuple(STYLES),
        "How to write the result; spreadsheet is CSV without names that look like formulas.",
    ),
    "--json": (None, "The same as --format json."),
    "--output": (OUTPUT, "Write the result to a file: .txt, .md, .tex, .csv, .json or .html."),
    "--digits": (click.IntRange(0, 15), "Decimals of shares (3); mean ranks have two fewer."),
    "--percent": (None, "Print hits@k and the like as percentages."),
    "--force": (None, "Replace existing files. Without this option nothing is overwritten."),
    "--notes/--no-notes notes": (None, "Whether to print the lines around the table."),
}
PRINTING = "style json output force digits notes"
MEASURED = f"metrics percent {PRINTING}"
COUNTING = "order nan dtype threads"
OF_TASKS = f"known columns split part leaks similarity layout {COUNTING} io axis"
REPORTED = f"interval audit save html kinds {MEASURED}"
REPORTING = f"by weights seed {REPORTED}"

_FIRST = ("--dtype", "--io")  # Files of vectors are opened where they are named.
_MOST_LETTERS = 60  # Choices of more letters stand in the text of the help, where lines break.
_SHARED = {flags.split()[-1].lstrip("-"): flags for flags in OPTIONS}


def option(flags: str, kind: Any, help_text: str, *, required: bool = False) -> Decorator:
    """Declare an option, as the table of options has it."""
    facts: dict[str, Any] = {"help": help_text, "required": required, "is_eager": flags in _FIRST}
    if kind is None or isinstance(kind, str):
        facts |= {"is_flag": True, "default": None, "flag_value": kind or True}
    else:
        facts["type"] = click.Choice(kind) if isinstance(kind, tuple) else kind
        if isinstance(kind, tuple) and len("|".join(kind)) > _MOST_LETTERS:
            facts |= {"metavar": "NAME", "help": f"{help_text} One of {', '.join(kind)}."}
    if kind is WORDS:
        facts |= {"multiple": True, "callback": joined_words}
    elif isinstance(kind, Value) and kind.keys is not None:
        facts |= {"multiple": True, "callback": values_by_name}
    return click.option(*flags.split(), **facts)


def command(name: str, *keywords: str) -> Decorator:
    """Make a command of a function of the values that were given.

    Where an error names an argument of truerank, the option of this name stands in its place.
    `keywords` are those of its options in the table, which come after those that it declares.
    """

    def decorate(function: Callable[[Values], None]) -> click.Command:
        @functools.wraps(function)
        def run(**every_value: Any) -> None:
            values = {key: value for key, value in every_value.items() if is_given(value)}
            with called(**names_in_messages(values)):
                function(values)

        made: click.Command = click.command(name)(run)
        for keyword in " ".join(keywords).split():
            flags = _SHARED[keyword]
            option(flags, *OPTIONS[flags])(made)
        return made

    return decorate


def is_given(value: Any) -> bool:
    """Return whether the line has an option; one that may be given several times is else empty."""
    return value is not None and not (isinstance(value, (tuple, dict)) and not value)


def names_in_messages(values: Values) -> dict[str, str]:
    """Return what messages call each argument of truerank: by its option, or its option and key.

    With --lists tail=FILE these are, among others, lists: "--lists", and tail: "--lists tail".
    """
    parameters = click.get_current_context().command.params
    options = [each for each in parameters if isinstance(each, click.Option)]
    names = {str(each.name): typed_name(each) for each in options}
    for keyword, value in values.items():
        for key in value if isinstance(value, dict) else ():
            names[f'{keyword}["{key}"]'] = f"{names[keyword]} {key}"
            names.setdefault(key, f"{names[keyword]} {key}")
    names.setdefault("ids", names.get("lists", "ranks"))
    return names


@contextmanager
def called(**names: str) -> Iterator[None]:
    """Call arguments of truerank by these names in messages of the block.

    Names of a block count before those of the blocks around it. An error of input within it ends
    the command.
    """
    meta = click.get_current_context().meta
    names_before = meta.get(_NAMES, {})
    meta[_NAMES] = {**names_before, **names}
    try:
        yield
    except InputError as error:
        raise click.ClickException(say(error)) from error
    finally:
        meta[_NAMES] = names_before


def say(message: Exception) -> str:
    """Write an error or a warning with the names of this command, its options and files."""
    if not isinstance(message, (InputError, errors.InputWarning)):
        return str(message)
    context = click.get_current_context(silent=True)
    meta = {} if context is None else context.meta
    parameters = [] if context is None else context.command.params
    names: dict[str, str] = meta.get(_NAMES, {})
    # A message advises only options of the command; other names may be of its arguments.
    known = {str(each.name) for each in parameters} | {"entities"}  # Some options say these.
    flags = {name: names[name] for name in known & names.keys()}
    is_of_key = isinstance(message, errors.UnknownKeyError)  # A key is called as users wrote it.
    text = errors.message_text(
        message,
        write=functools.partial(write_option, flags),
        name_argument=lambda name: name if is_of_key else names.get(name, name),
        name_place=given_name,
    )
    are_alone = any(x.value is None and write_option(flags, x) for x in message.remedies)
    return f"{text} (see {PAGE})" if are_alone and isinstance(message, InputError) else text


def write_option(names: Mapping[str, str], option: errors.Option) -> str:
    """Write an option for a message as users type it, and nothing if the command has it not.

    Examples
    --------
    >>> names = {"columns": "--columns", "allow_unlike": "--allow-unlike"}
    >>> from truerank.errors import Option
    >>> write_option(names, Option("columns", {"query": 0, "document": 2}))
    '--columns query=0,document=2'
    >>> write_option(names, Option("columns")), write_option(names, Option("unit"))
    ('--columns', '')
    >>> write_option(names, Option("allow_unlike", True))
    '--allow-unlike'
    """
    flag = names.get(option.name, "")
    value: Any = option.value
    if flag.startswith("--labels "):  # Names are behind a key.
        return f"{flag}={'FILE' if value is ... else value}"
    is_argument = not flag.startswith("--") or " " in flag  # or an option with a key
    # On a line, an option without a value is left out; an argument may have a form.
    if is_argument or value == {} or (value is ... and flag not in FORMS):
        return FORMS.get(flag, "") if value is ... else ""
    if value is ...:
        value = FORMS[flag]
    if value is None or value is True:
        return flag
    if value is False:
        return flag.replace("--", "--no-", 1)
    if option.name == "axis":
        return f"{flag} {list(AXES)[value]}"
    if isinstance(value, dict):
        value = [f"{key}={word}" for key, word in value.items()]
    return f"{flag} {','.join(map(str, value)) if isinstance(value, list) else value}"


def typed_name(parameter: click.Parameter) -> str:
    """Return how users call an option or an argument."""
    if isinstance(parameter, click.Option):
        return parameter.opts[0]
    return parameter.human_readable_name


def take(values: Values, keywords: str) -> Values:
    """Take the values of some keywords, as far as they were given, out of those of a command."""
    return {name: values.pop(name) for name in keywords.split() if name in values}


def refuse(values: Values, what: str) -> None:
    """Refuse values that nobody has taken."""
    parameters = click.get_current_context().command.params
    names = [typed_name(parameter) for parameter in parameters if parameter.name in values]
    if names:
        raise click.UsageError(f"{', '.join(names)} cannot apply to {what}")
