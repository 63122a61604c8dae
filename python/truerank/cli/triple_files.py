"""The task of `truerank link-prediction`, made from triples in files and the names of their ids."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ..inputs.errors import InputValueError, renamed
from ..link_prediction import Sampled, Task, read_triples
from ..tasks.text import read_text
from ..tasks.vocabularies import MAX_IDS
from .options import option_names
from .protocol_runs import SplitFiles, read_names

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray

LABEL_ARGUMENTS = {"entities": "entity_labels", "relations": "relation_labels"}
ID_COLUMNS = {"entities": [0, 2], "relations": [1]}
# What to do if names are numbers.
NUMBER_HINTS = {
    "entities": "the entities are numbers: give --ids if they are rows of --entities or columns of "
    "scores, or --entity-labels if they are names",
    "relations": "the relations are numbers: give --relation-labels if they are names, or --ids "
    "with --entity-labels if they are ids",
}


def make_task(
    splits: SplitFiles,
    files: Mapping[str, Path],
    ids: bool,
    counts: Mapping[str, int],
    given: Mapping[str, Any],
    **keywords: Any,
) -> Task:
    """Make the task; with `ids`, text holds ids, and without, it must not use numbers as names."""
    names: dict[str, Any] = {
        argument: read_names(option_names(option), given[option])
        for argument, option in LABEL_ARGUMENTS.items()
        if option in given
    }
    texts = {option: path for option, path in files.items() if path.suffix != ".npy"}
    if ids or not texts:
        _count_ids(names, files, texts, counts)
    elif texts:
        _refuse_numbers(names, texts)
    known = {name: str(path) for name, path in splits.known.items()}
    with renamed(
        **{argument: option_names(option) for argument, option in LABEL_ARGUMENTS.items()}
    ):
        task = Task(str(splits.test), known, split=splits.name, **names, **keywords)
    labels = task._entities or ()
    if "entities" not in names and labels and counts.get("entities", len(labels)) != len(labels):
        raise InputValueError(
            "--entity-labels",
            f"the triples name {len(labels):,} entities, but there are {counts['entities']:,} in "
            "the files of the model; give all names in their order",
        )
    return task


def _count_ids(
    names: dict[str, Any],
    files: Mapping[str, Path],
    texts: Mapping[str, Path],
    counts: Mapping[str, int],
) -> None:
    """Add the number of entities or of relations to `names` where they have no labels."""
    for what, columns in ID_COLUMNS.items():
        if what in names:
            continue
        if what in counts:
            names[what] = counts[what]
        elif what == "entities" or (texts and isinstance(names["entities"], list)):
            names[what] = 1 + max(
                _largest_id(option, path, columns, names) for option, path in files.items()
            )


def _largest_id(option: str, path: Path, columns: list[int], names: Mapping[str, Any]) -> int:
    """Return the largest id in some columns, for counts that no vectors or scores show."""
    with renamed(triples=option, entities="--entity-labels"):
        vocabularies = {"entities": MAX_IDS, "relations": MAX_IDS, **names}
        return int(read_triples(str(path), **vocabularies).ids[:, columns].max(initial=0))


def _refuse_numbers(names: Mapping[str, Any], texts: Mapping[str, Path]) -> None:
    """Raise an error if names in text are numbers: sorted as words, 10 would come before 2."""
    for what, columns in ID_COLUMNS.items():
        if what in names:
            continue
        try:
            ids = sum(_count_id_rows(option, path, columns) for option, path in texts.items())
        except _NotAnIdError:
            continue
        if ids:
            raise click.UsageError(NUMBER_HINTS[what])


class _NotAnIdError(Exception):
    """A label is not an id."""


def _count_id_rows(option: str, path: Path, columns: Sequence[int]) -> int:
    """Return the number of rows of a file whose columns hold ids; stop at the first other label."""

    def look(place: int, fields: Sequence[str]) -> IntArray:
        if place in columns and not all(map(_is_id, fields)):
            raise _NotAnIdError
        return np.zeros(len(fields), dtype=np.int64)

    read = read_text(option, str(path), look)
    return len(read[0]) if read else 0


def _is_id(label: str) -> bool:
    return label.isdecimal() and label.isascii() and (label == "0" or label[0] != "0")


def parse_key_columns(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> tuple[int, ...] | None:
    """Parse a list of columns, or the word none."""
    if text is None or text.strip() == "none":
        return None if text is None else ()
    return _parse_columns(text, "columns from 3 on, as 3,4, or none")


def parse_time_columns(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> tuple[int, ...] | int | None:
    """Parse one column, or two of them."""
    if text is None:
        return None
    columns = _parse_columns(text, "a column from 3 on, or two of them, as 3,4")
    return columns if len(columns) > 1 else columns[0]


def _parse_columns(text: str, expected: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",")]
    if not all(re.fullmatch(r"\d{1,18}", word) and int(word) >= 3 for word in words):
        raise click.BadParameter(f"expected {expected}, got {text!r}")
    return tuple(map(int, words))


def parse_filters(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> tuple[str, ...] | None:
    """Parse a list of names of filters."""
    return None if text is None else tuple(word.strip() for word in text.split(","))


def parse_candidates(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> Sampled | Path | str | None:
    """Parse the candidates: a name, a file, or a number of samples, perhaps of a split."""
    if text is None:
        return text
    if Path(text).suffix == ".npy":
        return Path(text)
    kind, colon, number = text.partition(":")
    if kind not in ("sampled", "sampled-typed") and not colon:
        return text
    number, _, split = number.partition(":")
    if kind in ("sampled", "sampled-typed") and re.fullmatch(r"0*[1-9]\d{0,17}", number):
        return Sampled(int(number), typed=kind == "sampled-typed", among=split or None)
    raise click.BadParameter(
        "expected all, typed, the name of a known split, sampled:100, sampled:100:SPLIT, "
        f"sampled-typed:100 or a .npy file, got {text!r}"
    )
