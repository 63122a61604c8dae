"""The layout of OpenEA: names in place of ids, and folds of the aligned pairs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...inputs.errors import InputTypeError
from ...tasks.row_keys import look_up, row_keys
from ...tasks.text import TRIPLE
from ...tasks.vocabularies import Words
from .data import SPLITS, AlignmentData
from .dbp15k import each_once
from .graphs import Graph
from .tables import (
    PAIR,
    Listed,
    Table,
    by_number,
    check_listed,
    file_in,
    in_order,
    optional_file,
    read_list,
    read_table,
)

if TYPE_CHECKING:
    from ...inputs.arrays import IntArray

FOLDS = "721_5fold"


def read_openea(
    folder: str | os.PathLike[str], fold: int | None = None, *, folds: str = FOLDS
) -> AlignmentData:
    """Read a data set in the layout of OpenEA.

    ===========================  ===============================================================
    file                         lines
    ===========================  ===============================================================
    rel_triples_1, ..._2         names of head, relation and tail
    ent_links                    the aligned pairs: a name of graph 1, a name of graph 2
    721_5fold/1/train_links      those of fold 1 for training; valid_links and test_links likewise
    ent_ids_1, ent_ids_2         optional: id and name of an entity
    rel_ids_1, rel_ids_2         optional: id and name of a relation
    ===========================  ===============================================================

    OpenEA has no list of entities: they are all names in triples and pairs, and get the ids 0, 1,
    ... in ascending order of names (by code point; as numbers, where all are some), as do
    relations. Rows of vectors stand in that order, or in that of the lines of ent_ids_1 and
    ent_ids_2, where they are there (`write_openea` writes them at need; OpenEA does not mind);
    names are then only those listed. Any file may be gzipped, with .gz after its name. Attributes
    are not read.

    An entity of a pair that stands in no triple is kept, with degree 0. (OpenEA's own code leaves
    such pairs out without a word, `uris_pair_2ids`, and with them their tasks.)

    Parameters
    ----------
    folder : str or path-like
    fold : int, optional
        The fold whose splits are read, from 1; None: none are.
    folds : str
        The folder of the folds.

    Returns
    -------
    AlignmentData
        ``splits`` has "train", "valid" (unless there are no such pairs) and "test" of the fold.
        ``pairs`` are those of ent_links, each once; where there is no such file, those of the fold.

    Raises
    ------
    TypeError
        For a fold that is no int.
    OSError
        For a file that is missing or damaged.
    ValueError
        For a line with another number of columns, a pair of a fold that ent_links have not, a name
        that ent_ids or rel_ids have not, an id or a name that these list twice, text that is not in
        UTF-8, and a file without lines (except valid_links); it names file and line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> files = {"rel_triples_1": "b\\tr\\ta", "rel_triples_2": "B\\tr\\tA\\nC\\ts\\tB"}
    >>> files |= {"ent_links": "a\\tA\\nb\\tB", "721_5fold/1/train_links": "b\\tB"}
    >>> files |= {"721_5fold/1/valid_links": "", "721_5fold/1/test_links": "a\\tA"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pathlib.Path(folder, "721_5fold/1").mkdir(parents=True)
    ...     for name, text in files.items():
    ...         _ = pathlib.Path(folder, name).write_text(text)
    ...     data = read_openea(folder, 1)
    >>> data
    AlignmentData(2 and 3 entities, 1 and 2 triples, 2 pairs; train 1, test 1)
    >>> data.left.names, data.left.triples, data.splits["test"]
    (('a', 'b'), array([[1, 0, 0]]), array([[0, 0]]))
    """
    root = os.fsdecode(folder)
    if fold is not None and (isinstance(fold, bool) or not isinstance(fold, (int, np.integer))):
        raise InputTypeError("fold", expected="an int", got=type(fold).__name__)
    sides = [_Side(root, k) for k in (1, 2)]
    read: dict[str, Table] = {}
    find = file_in if fold is None else optional_file
    links = find(root, "ent_links")
    if links is not None:
        read["ent_links"] = _links(links, sides)
    if fold is not None:
        for split in SPLITS:
            name = os.path.join(folds, str(fold), f"{split}_links")
            path = (optional_file if split == "valid" else file_in)(root, name)
            if path is not None:
                read[split] = _links(path, sides, empty=split == "valid")
    if links is not None and fold is not None:
        _check_within(read)
    left, right = sides
    orders = left.entities.places(), right.entities.places()
    pairs = {name: table.array(*orders) for name, table in read.items()}
    splits = {name: pairs[name] for name in SPLITS if name in pairs and len(pairs[name])}
    whole = each_once([pairs["ent_links"]] if links is not None else list(splits.values()))
    return AlignmentData(left.graph(), right.graph(), whole, splits)


class _Names:
    """The names of entities or relations: a list of them, or all that are met."""

    def __init__(self, root: str, name: str) -> None:
        path = optional_file(root, name)
        self.listed: Listed | None = None
        self.words = Words()
        if path is not None:
            self.listed = read_list("folder", path, distinct=True)
            self.words = self.listed.by_name

    def check(self, table: Table, columns: Sequence[int]) -> None:
        if self.listed is not None:
            check_listed(table, columns, self.words, self.listed)

    def places(self) -> IntArray | None:
        """The id of each word; None: its number."""
        return in_order(self.words, by_number(self.words))[1] if self.listed is None else None

    def names(self) -> tuple[str, ...]:
        if self.listed is not None:
            return self.listed.names
        return tuple(in_order(self.words, by_number(self.words))[0])

    def ids(self) -> IntArray | None:
        return None if self.listed is None else self.listed.ids


class _Side:
    """The triples of one graph, before all names are known."""

    def __init__(self, root: str, k: int) -> None:
        self.entities = _Names(root, f"ent_ids_{k}")
        self.relations = _Names(root, f"rel_ids_{k}")
        words = [self.entities.words, self.relations.words, self.entities.words]
        path = file_in(root, f"rel_triples_{k}")
        self.table = read_table("folder", path, TRIPLE, words)
        self.entities.check(self.table, (0, 2))
        self.relations.check(self.table, (1,))

    def graph(self) -> Graph:
        """The graph, once all pairs have been read."""
        places, names = self.entities.places(), self.entities.names()
        triples = self.table.array(places, self.relations.places(), places)
        further = self.relations.names(), self.entities.ids(), self.relations.ids()
        return Graph(triples, len(names), names, *further)


def _links(path: str, sides: Sequence[_Side], *, empty: bool = False) -> Table:
    table = read_table("folder", path, PAIR, [side.entities.words for side in sides], empty=empty)
    for j, side in enumerate(sides):
        side.entities.check(table, (j,))
    return table


def _check_within(read: dict[str, Table]) -> None:
    """Refuse a pair of a fold that is not in ent_links."""
    tables = list(read.values())
    columns = [np.concatenate([table.columns[j] for table in tables]) for j in (0, 1)]
    keys = row_keys(columns)
    ends = np.cumsum([len(table) for table in tables])
    known = np.unique(keys[: ends[0]])
    for table, own in zip(tables[1:], np.split(keys, ends[:-1])[1:], strict=True):
        there, _ = look_up(known, own)
        if len(there) < len(own):
            lost = np.setdiff1d(np.arange(len(own)), there)
            raise table.wrong(int(lost[0]), f"the pair is not in {tables[0].path}")
