"""What `truerank link-prediction` and `alignment` share: splits, models and their runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from .. import Ranks, concatenate
from ..inputs.errors import InputValueError, renamed
from ..tasks.task import Task
from ..tasks.text import text_blocks
from .app import user_errors, write_warning
from .files import errors_naming, open_option_file, open_store, read_array
from .options import File, Option, combine_options, option_names
from .progress import ProgressBar, ProgressListener
from .report_request import ReportRequest

if TYPE_CHECKING:
    from .. import Report
    from ..stores import Store

# Options of models given as vectors, of models given as scores, and of both.
VECTOR_OPTIONS = ("similarity", "bias")
SCORE_OPTIONS = ("order", "io")
COMMON_OPTIONS = ("csls", "nan", "dtype", "threads", "unique")


def pick(given: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Select options by name from those that were given."""
    return {name: given[name] for name in names if name in given}


# -- splits ----------------------------------------------------------------------------------------


def parse_known_files(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> dict[str, Path]:
    """Parse further splits, given as NAME=FILE."""
    splits: dict[str, Path] = {}
    for text in values:
        name, _, path = text.partition("=")
        if not name or not path:
            raise click.BadParameter(f"expected NAME=FILE, got {text!r}")
        if name in splits:
            raise click.BadParameter(f"{name} is given twice")
        splits[name] = Path(path)
    return splits


def known_options(rows: str) -> Option:
    """Make the options for the known splits."""
    return combine_options(
        click.option(
            "--train",
            type=File,
            help=f"Known {rows} of the training split, which are left out of the candidates.",
        ),
        click.option("--valid", type=File, help="The same for the validation split."),
        click.option(
            "--known",
            metavar="NAME=FILE",
            multiple=True,
            callback=parse_known_files,
            help="The same for a split of any name. It may be given several times.",
        ),
    )


class SplitFiles(NamedTuple):
    """The files of the triples or pairs.

    Attributes
    ----------
    name : str
        The name of the split that is ranked.
    test : Path
    known : dict of str to Path
    options : dict of str to str
        The option or argument that names each split, that of `test` first.
    """

    name: str
    test: Path
    known: dict[str, Path]
    options: dict[str, str]

    def files(self) -> dict[str, Path]:
        """Return the files by the option that names them, and check that each is a regular file."""
        files = {self.options[k]: v for k, v in {self.name: self.test, **self.known}.items()}
        for option, path in files.items():
            with open_option_file(option, path):
                pass
        return files

    def titles(self) -> dict[str, str]:
        """Return the option that names each split, by the name of the split in errors."""
        known = {f'known["{name}"]': self.options[name] for name in self.known}
        return {self.name: self.options[self.name], **known}


def name_splits(
    split: str, test: Path, option: str, given: Mapping[str, Any], rows: str
) -> SplitFiles:
    """Collect the splits by name; a name that occurs twice is a wrong command line."""
    own, known = pick(given, "train", "valid"), given.get("known", {})
    for name in known:
        if name in own:
            raise click.UsageError(f"--known {name} and --{name}: expected one of them")
    if split in own or split in known:
        raise click.UsageError(f"--split {split}: it is the name of known {rows}, too")
    options = {split: option, **{k: f"--{k}" for k in own}, **{k: f"--known {k}" for k in known}}
    return SplitFiles(split, test, {**own, **known}, options)


def read_names(option: str, path: Path) -> list[str]:
    """Read labels in the order of their ids, from lines of text, perhaps gzipped, or from .npy."""
    if path.suffix == ".npy":
        names = read_array(option, path)
        if names.ndim != 1 or names.dtype.kind != "U":
            got = f"{names.dtype} of shape {names.shape}"
            raise InputValueError(f"{option}: {path}", expected="words in one dimension", got=got)
        listed: list[str] = names.tolist()
        return listed
    with open_option_file(option, path):  # so that an error of the system names the option
        pass
    blocks = [text.removesuffix("\n").split("\n") for text in text_blocks(option, str(path))]
    lines = list(chain.from_iterable(blocks)) or [""]
    for number, line in enumerate(lines, 1):
        if not line or "\t" in line:
            raise InputValueError(
                f"{option}: {path}: line {number}",
                expected=f"one label, that of id {number - 1}",
                got=repr(line),
            )
    return lines


@contextmanager
def task_messages(titles: Mapping[str, str], quietly: bool, **names: str) -> Iterator[None]:
    """Let errors about a task name options, and write each warning as one line.

    With `quietly`, warnings are dropped, because an audit will list them as findings.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        with renamed(**{**names, **titles}):
            yield
    for warning in caught:
        if not (quietly and issubclass(warning.category, UserWarning)):
            write_warning(str(warning.message))


# -- models ----------------------------------------------------------------------------------------


class ModelFiles(NamedTuple):
    """The opened files of a model.

    Attributes
    ----------
    has_scores : bool
        Whether they hold scores, not vectors.
    arrays : dict of str to (array or Store)
        The arguments of `evaluate_embeddings` or of `evaluate_scores`, by name.
    files : list of str
        The names of all files.
    options : dict of str to str
        The options of arguments whose option has another name.
    """

    has_scores: bool
    arrays: dict[str, Any]
    files: list[str]
    options: dict[str, str]


def refuse_other_options(has_scores: bool, given: Mapping[str, Any]) -> None:
    """Raise an error for options that only the other kind of models has."""
    if misplaced := pick(given, *(VECTOR_OPTIONS if has_scores else SCORE_OPTIONS)):
        raise click.UsageError(
            f"{option_names(*misplaced)} cannot apply to {'scores' if has_scores else 'vectors'}"
        )


def open_model_scores(option: str, path: Path, given: Mapping[str, Any], stack: ExitStack) -> Store:
    """Open scores, which stay open until the stack is closed."""
    with errors_naming(option), renamed(scores=option):
        return stack.enter_context(open_store(path, pick(given, "dtype", "io")))


def rank_model(task: Any, model: ModelFiles, given: Mapping[str, Any], audit: bool) -> Report:
    """Rank the vectors or the scores of a model, with a progress bar."""
    rules = pick(given, *COMMON_OPTIONS, *(SCORE_OPTIONS if model.has_scores else VECTOR_OPTIONS))
    if "bias" in rules:
        rules["bias"] = read_array("--bias", rules["bias"])
    evaluate = task.evaluate_scores if model.has_scores else task.evaluate_embeddings
    with ProgressBar() as bar, renamed(**model.options):
        report: Report = evaluate(
            **model.arrays, **rules, audit=audit, progress=ProgressListener(bar)
        )
    return report


def count_and_report(
    task: Task[Any],
    count: Callable[[], Report],
    request: ReportRequest,
    files: Sequence[str],
    add_labels: Callable[[Ranks], Ranks] = lambda ranks: ranks,
) -> Report:
    """Rank a task and save the ranks, after a check that the requested report fits the task.

    Under several filters the ranks of the first are saved, and the report has all beside it.
    """
    request.make_report(add_labels(placeholder_ranks(task)))
    with user_errors():
        counted = count()
        filters = {name: under.ranks for name, under in counted.filters.items()}
        ranks_of = {
            name: add_labels(ranks.with_protocol(files=files))
            for name, ranks in (filters or {"": counted.ranks}).items()
        }
        if request.save is not None:  # before anything else can fail
            next(iter(ranks_of.values())).save(request.save)
    reports = {name: request.make_report(ranks) for name, ranks in ranks_of.items()}
    return next(iter(reports.values()))._beside(reports)


def placeholder_ranks(task: Task[Any]) -> Ranks:
    """Make ranks with the sides and labels of a task, for checks before anything is counted."""
    return concatenate([side.labelled(blank_ranks(len(side))) for side in task.sides.values()])


def blank_ranks(n: int) -> Ranks:
    """Make ranks of `n` tasks without labels, whose counts mean nothing."""
    return Ranks(np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64), 2)
