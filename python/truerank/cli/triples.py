"""What `truerank link-prediction` ranks: splits, and the labels of what their ids stand for."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from ..inputs.errors import InputValueError, renamed, spelling
from ..link_prediction import Sampled, Task, read_triples
from ..tasks.text import read_text
from ..tasks.vocabularies import MOST
from .files import opened, read_array
from .frame import MENTIONED
from .models import options

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from .models import Opened

OF_NAMES = {"entities": "entity_labels", "relations": "relation_labels"}
PLACES = {"entities": [0, 2], "relations": [1]}
# What to do with names that are numbers.
NUMBERS = {
    "entities": "the entities are numbers: --ids takes them for rows of --entities or columns of "
    "scores, --entity-labels for names in the order of its lines",
    "relations": "the relations are numbers: --relation-labels takes them for names in the order "
    "of its lines, --ids with --entity-labels for ids",
}


def known_splits(
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


def read_names(option: str, path: Path) -> list[str]:
    """Labels in the order of their ids: a line for each, perhaps gzipped, or .npy of words."""
    if path.suffix == ".npy":
        names = read_array(option, path)
        if names.ndim != 1 or names.dtype.kind != "U":
            raise InputValueError(
                option,
                (
                    f"{path}: expected words in one dimension, got {names.dtype} of shape "
                    f"{names.shape}"
                ),
            )
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
                option,
                f"{path}: line {number}: expected one label, that of id {number - 1}, got {line!r}",
            )
    return lines


class Splits(NamedTuple):
    """The files of the triples.

    Attributes
    ----------
    name : str
        Of the split that is ranked.
    test : Path
    known : dict of str to Path
    options : dict of str to str
        The option that named each split, --test among them.
    """

    name: str
    test: Path
    known: dict[str, Path]
    options: dict[str, str]

    def files(self) -> dict[str, Path]:
        """The files by the option that named them, --test first."""
        return {self.options[k]: v for k, v in {self.name: self.test, **self.known}.items()}

    def titles(self) -> dict[str, str]:
        """The options by what errors call a split."""
        said = {k: f'known["{k}"]' for k in self.known}
        return {said.get(name, name): option for name, option in self.options.items()}


def named_splits(
    split: str, test: Path, train: Path | None, valid: Path | None, known: dict[str, Path]
) -> Splits:
    """The splits by name; names that occur twice are a wrong command line."""
    own = {name: path for name, path in (("train", train), ("valid", valid)) if path is not None}
    twice = [name for name in known if name in own]
    if twice:
        raise click.UsageError(f"--known {twice[0]} and --{twice[0]}: expected one of them")
    if split in own or split in known:
        raise click.UsageError(f"--split {split}: it is the name of known triples, too")
    options = {split: "--test", **{k: f"--{k}" for k in own}, **{k: f"--known {k}" for k in known}}
    return Splits(split, test, {**own, **known}, options)


def make_task(
    splits: Splits, numbered: bool, found: Opened, given: Mapping[str, Any], **keywords: Any
) -> Task:
    """Make the task; ids count the vectors or columns, and numbers are no names unless told so."""
    files = splits.files()
    for option, path in files.items():
        opened(option, path).close()  # a pipe could not be read twice
    names: dict[str, Any] = {
        argument: read_names(options([option]), given[option])
        for argument, option in OF_NAMES.items()
        if option in given
    }
    texts = {option: path for option, path in files.items() if path.suffix != ".npy"}
    if numbered or not texts:
        _count_ids(names, files, texts, found)
    elif texts:
        _refuse_numbers(names, texts)
    renames = {**splits.titles(), "keys": "--keys"}
    renames |= {argument: options([option]) for argument, option in OF_NAMES.items()}
    with renamed(**renames), spelling({**MENTIONED, **splits.titles()}):
        known = {name: str(path) for name, path in splits.known.items()}
        try:
            task = Task(str(splits.test), known, split=splits.name, **names, **keywords)
        except OSError as error:
            if error.errno is not None:
                raise
            raise ValueError(str(error)) from error  # a damaged file
    labels = task.entities or ()
    if (
        "entities" not in names
        and labels
        and found.counts.get("entities", len(labels)) != len(labels)
    ):
        raise ValueError(
            f"the triples name {len(labels):,} entities, but there are "
            f"{found.counts['entities']:,} in the files of the model; give all names in their "
            "order by --entity-labels"
        )
    return task


def _count_ids(
    names: dict[str, Any], files: Mapping[str, Path], texts: Mapping[str, Path], found: Opened
) -> None:
    """Say how many ids there are of what has no labels."""
    for what, columns in PLACES.items():
        if what in names:
            continue
        if what in found.counts:
            names[what] = found.counts[what]
        elif what == "entities" or (texts and isinstance(names["entities"], list)):
            names[what] = 1 + max(
                _largest_id(option, path, columns, names) for option, path in files.items()
            )


def _largest_id(option: str, path: Path, columns: list[int], names: Mapping[str, Any]) -> int:
    """The largest id in some columns, where no vectors or scores tell how many there are."""
    with renamed(triples=option, entities="--entity-labels"):
        vocabularies = {"entities": MOST, "relations": MOST, **names}
        return int(read_triples(str(path), **vocabularies).ids[:, columns].max(initial=0))


def _refuse_numbers(names: Mapping[str, Any], texts: Mapping[str, Path]) -> None:
    """Refuse text that names things by numbers: sorted as words, 10 would come before 2."""
    for what, columns in PLACES.items():
        if what in names:
            continue
        try:
            ids = sum(_ids_of(option, path, columns) for option, path in texts.items())
        except _NamedError:
            continue
        if ids:
            raise click.UsageError(NUMBERS[what])


class _NamedError(Exception):
    """A label is no number."""


def _ids_of(option: str, path: Path, columns: Sequence[int]) -> int:
    """How many ids some columns hold; an error at the first label that is none, read no further."""

    def look(place: int, fields: Sequence[str]) -> IntArray:
        if place in columns and not all(map(_is_id, fields)):
            raise _NamedError
        return np.zeros(len(fields), dtype=np.int64)

    read = read_text(option, str(path), look)
    return len(read[0]) if read else 0


def _is_id(label: str) -> bool:
    return label.isdecimal() and label.isascii() and (label == "0" or label[0] != "0")


def keys_of(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> tuple[int, ...] | None:
    """Columns between commas, or none of them."""
    if text is None or text.strip() == "none":
        return None if text is None else ()
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and int(word) >= 3 for word in words):
        raise click.BadParameter(f"expected columns from 3 on, as 3,4, or none, got {text!r}")
    return tuple(map(int, words))


# How candidates may be named, as a shell completes them.
CANDIDATES = ("all", "train", "typed", "sampled:100", "sampled-typed:100")


def candidates_of(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> Sampled | Path | str | None:
    """The candidates by name, as a file, or how many are sampled."""
    if text is None or text in ("all", "train", "typed"):
        return text
    kind, _, number = text.partition(":")
    if kind in ("sampled", "sampled-typed") and number.isdecimal() and int(number):
        return Sampled(int(number), typed=kind == "sampled-typed")
    if Path(text).suffix == ".npy":
        return Path(text)
    raise click.BadParameter(
        f"expected all, train, typed, sampled:100, sampled-typed:100 or a .npy file, got {text!r}"
    )
