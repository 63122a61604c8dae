"""Plain tab-separated text: pairs, and triples, in any files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...inputs.errors import InputTypeError, InputValueError
from ...tasks.text import TRIPLE, is_path, line_of
from ...tasks.vocabularies import Column, Words, settle
from .data import AlignmentData
from .dbp15k import each_once
from .graphs import Graph
from .tables import PAIR, Table, by_number, in_order, read_table

if TYPE_CHECKING:
    from ...inputs.arrays import IntArray


class _FileColumn(Column):
    """A column of a file, whose path it has for `what`, so that messages name the line."""

    def where(self, row: int) -> str:
        return f"line {line_of(self.what, row)}"


def read_pairs(
    pairs: str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]],
    *,
    left: Any = None,
    right: Any = None,
    left_triples: str | os.PathLike[str] | None = None,
    right_triples: str | os.PathLike[str] | None = None,
) -> AlignmentData:
    """Read tab-separated pairs, and triples, if there are any.

    Parameters
    ----------
    pairs : path, or dict of str to path
        Lines of a left and a right entity with a tab between them, in UTF-8; gzipped where the
        name ends in .gz. A dict names splits, as ``{"train": "train.tsv", "test": "test.tsv"}``.
    left, right : None, int, sequence of str, or mapping of str to int
        The entities of a graph. None: text holds names, which get the ids 0, 1, ... in ascending
        order (by code point); an error where all of them are numbers. An int: text holds ids, of
        which there are so many. Names in the order of their ids, or a mapping to ids.
    left_triples, right_triples : path, optional
        Lines of head, relation and tail. Relations are numbered in ascending order of their names
        (as numbers, where all are some).

    Returns
    -------
    AlignmentData
        ``splits`` are those of the dict, ``pairs`` all of them, each once.

    Raises
    ------
    TypeError
        For anything else.
    OSError
        For a file that is missing or damaged.
    ValueError
        For a line with another number of columns, an entity that is unknown or out of range, text
        that is not in UTF-8, and a file without lines; it names file and line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pairs.tsv")
    ...     _ = path.write_text("Wien\\tVienna\\nGraz\\tGraz\\n")
    ...     data = read_pairs(path, right=["Vienna", "Graz", "Linz"])
    >>> data.left.names, data.pairs
    (('Graz', 'Wien'), array([[1, 0],
           [0, 1]]))
    """
    if not is_path(pairs) and not isinstance(pairs, Mapping):
        raise InputTypeError(
            "pairs", expected="a path or a dict of paths", got=type(pairs).__name__
        )
    several = isinstance(pairs, Mapping)
    named = {f'pairs["{k}"]': v for k, v in pairs.items()} if several else {"pairs": pairs}  # type: ignore[union-attr]
    if not named:
        raise InputValueError("pairs", expected="at least one file", got="none")
    words = Words(), Words()
    links = [read_table(name, _path(name, path), PAIR, words) for name, path in named.items()]
    found: list[list[IntArray]] = []
    graphs = []
    triples = {"left": left_triples, "right": right_triples}
    for j, (side, given) in enumerate({"left": left, "right": right}.items()):
        path, relations = triples[side], Words()
        wanted = [(table, j) for table in links]
        facts = None
        if path is not None:
            name = f"{side}_triples"
            facts = read_table(name, _path(name, path), TRIPLE, [words[j], relations, words[j]])
            wanted += [(facts, 0), (facts, 2)]
        columns = [_column(table, position, words[j]) for table, position in wanted]
        entities, ids = settle(side, f"{side} entity", given, columns)
        found.append(ids[: len(links)])
        graphs.append(_graph(facts, ids[len(links) :], entities.size, entities.names, relations))
    parts = [np.stack(both, axis=1) for both in zip(*found, strict=True)]
    if not several:
        return AlignmentData(graphs[0], graphs[1], parts[0])
    splits = dict(zip(pairs, parts, strict=True))  # type: ignore[arg-type]
    return AlignmentData(graphs[0], graphs[1], each_once(parts), splits)


def _graph(
    facts: Table | None,
    ends: Sequence[IntArray],
    size: int,
    names: tuple[str, ...] | None,
    relations: Words,
) -> Graph:
    """Make the graph of some triples, whose heads and tails are ids."""
    if facts is None:
        return Graph(size=size, names=names)
    labels, places = in_order(relations, by_number(relations))
    triples = np.stack([ends[0], places[facts.columns[1]], ends[1]], axis=1)
    return Graph(triples, size, names, tuple(labels))


def _column(table: Table, position: int, words: Words) -> Column:
    return _FileColumn(table.where, position, table.columns[position], words, table.path)


def _path(name: str, path: object) -> str:
    if not is_path(path):
        raise InputTypeError(name, expected="a path", got=type(path).__name__)
    return os.fsdecode(path)  # type: ignore[arg-type]
