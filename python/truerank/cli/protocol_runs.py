"""What `truerank link-prediction` and `alignment` have in common: splits, models, their runs."""

from __future__ import annotations

import gzip
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from .. import Ranks, concatenate
from ..inputs.errors import InputValueError, renamed, spelling
from ..tasks.task import ProtocolTask
from .app import MENTIONED, reading_data, warn
from .files import naming, open_store, opened, read_array
from .options import File, Option, together, written
from .progress import Bar, Follower
from .wanted import Wanted

if TYPE_CHECKING:
    from .. import Report
    from ..stores import Store

# Options of one of the two kinds of models alone, and those that both have.
OF_VECTORS = ("similarity", "bias")
OF_SCORES = ("order", "io")
COMMON = ("csls", "nan", "dtype", "threads", "unique")


def picked(given: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Some options, of those that were given."""
    return {name: given[name] for name in names if name in given}


# -- splits ----------------------------------------------------------------------------------------


def known_files(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> dict[str, Path]:
    """Further splits, as NAME=FILE."""
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
    """Options for the splits that are known."""
    return together(
        click.option("--train", type=File, help=f"Known {rows}, left out as candidates."),
        click.option("--valid", type=File, help="The same."),
        click.option(
            "--known",
            metavar="NAME=FILE",
            multiple=True,
            callback=known_files,
            help="The same, of any name; as often as wanted.",
        ),
    )


class Splits(NamedTuple):
    """The files of the triples or pairs.

    Attributes
    ----------
    name : str
        Of the split that is ranked.
    test : Path
    known : dict of str to Path
    options : dict of str to str
        What named each split on the command line, that of `test` first.
    """

    name: str
    test: Path
    known: dict[str, Path]
    options: dict[str, str]

    def files(self) -> dict[str, Path]:
        """The files by what named them, that of `test` first; a pipe could not be read twice."""
        files = {self.options[k]: v for k, v in {self.name: self.test, **self.known}.items()}
        for option, path in files.items():
            opened(option, path).close()
        return files

    def titles(self) -> dict[str, str]:
        """What named each split, by what errors call it."""
        known = {f'known["{name}"]': self.options[name] for name in self.known}
        return {self.name: self.options[self.name], **known}


def named_splits(
    split: str, test: Path, option: str, given: Mapping[str, Any], rows: str
) -> Splits:
    """The splits by name; names that occur twice are a wrong command line."""
    own, known = picked(given, "train", "valid"), given.get("known", {})
    for name in known:
        if name in own:
            raise click.UsageError(f"--known {name} and --{name}: expected one of them")
    if split in own or split in known:
        raise click.UsageError(f"--split {split}: it is the name of known {rows}, too")
    options = {split: option, **{k: f"--{k}" for k in own}, **{k: f"--known {k}" for k in known}}
    return Splits(split, test, {**own, **known}, options)


def read_names(option: str, path: Path) -> list[str]:
    """Labels in the order of their ids: a line for each, perhaps gzipped, or .npy of words."""
    if path.suffix == ".npy":
        names = read_array(option, path)
        if names.ndim != 1 or names.dtype.kind != "U":
            got = f"{names.dtype} of shape {names.shape}"
            raise InputValueError(f"{option}: {path}", expected="words in one dimension", got=got)
        listed: list[str] = names.tolist()
        return listed
    with opened(option, path) as file:
        data = file.read()
    try:
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InputValueError(option, f"cannot read {path}: {error}") from error
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    for number, line in enumerate(lines, 1):
        if not line or "\t" in line:
            raise InputValueError(
                f"{option}: {path}: line {number}",
                expected=f"one label, that of id {number - 1}",
                got=repr(line),
            )
    return lines


@contextmanager
def making(titles: Mapping[str, str], quietly: bool, **names: str) -> Iterator[None]:
    """Make a task: errors name splits as the command line does, and warnings are a line each.

    Warnings are not told where they will be below, among what an audit found.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        with renamed(**{**names, **titles}), spelling({**MENTIONED, **titles}):
            yield
    for warning in caught:
        if not (quietly and issubclass(warning.category, UserWarning)):
            warn(str(warning.message))


# -- models ----------------------------------------------------------------------------------------


class Model(NamedTuple):
    """The files of a model, opened.

    Attributes
    ----------
    scored : bool
        Whether they hold scores, not vectors.
    arrays : dict of str to (array or Store)
        By the arguments of `evaluate_embeddings`, or of `evaluate_scores`.
    files : list of str
        All that is read.
    """

    scored: bool
    arrays: dict[str, Any]
    files: list[str]


def refuse_others(scored: bool, given: Mapping[str, Any]) -> None:
    """Refuse options of the other kind of models."""
    if lost := picked(given, *(OF_VECTORS if scored else OF_SCORES)):
        raise click.UsageError(
            f"{written(*lost)} cannot apply to {'scores' if scored else 'vectors'}"
        )


def scores_of(option: str, path: Path, given: Mapping[str, Any], stack: ExitStack) -> Store:
    """Open scores for as long as a run takes."""
    with naming(option), renamed(scores=option):
        return stack.enter_context(open_store(path, picked(given, "dtype", "io")))


def evaluated(task: Any, model: Model, given: Mapping[str, Any], audit: bool) -> Report:
    """Rank a model's vectors or scores; a bar shows how far scores are."""
    rules = picked(given, *COMMON, *(OF_SCORES if model.scored else OF_VECTORS))
    if "bias" in rules:
        rules["bias"] = read_array("--bias", rules["bias"])
    report: Report
    if not model.scored:
        report = task.evaluate_embeddings(**model.arrays, **rules, audit=audit)
        return report
    with Bar() as bar:
        report = task.evaluate_scores(**model.arrays, **rules, audit=audit, progress=Follower(bar))
    return report


def measured(
    task: ProtocolTask,
    count: Callable[[], Report],
    wanted: Wanted,
    files: Sequence[str],
    labelled: Callable[[Ranks], Ranks] = lambda ranks: ranks,
) -> Report:
    """Rank a task, once what is wanted is known to fit it, and keep the ranks."""
    wanted.of(labelled(stand_in(task)))
    with reading_data():
        ranks = labelled(count().ranks.with_protocol(files=files))
        if wanted.save is not None:  # before anything else can fail
            ranks.save(wanted.save)
    return wanted.of(ranks)


def stand_in(task: ProtocolTask) -> Ranks:
    """Ranks with the sides and labels of a task, before anything is counted."""
    return concatenate([side.labelled(uncounted(len(side))) for side in task.sides.values()])


def uncounted(n: int) -> Ranks:
    """Ranks of so many tasks, of which nothing else is known."""
    return Ranks(np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64), 2)
