"""Readers of pairs: splits in any form; the layouts of DBP15k and OpenEA, and their data.

DBP15k, as JAPE and GCN-Align use it, has ids, which are unique over both graphs; OpenEA has names
instead of ids, and folds of the aligned pairs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays.input_files import path_name
from ..arrays.row_keys import codes_of, distinct, row_keys
from ..errors import InputTypeError, InputValueError
from ..inputs.checks import integer
from ..naming import printable, public
from ..records.columns import FACTS, PAIRS, Door
from ..records.id_tables import IdTable, distinct_labels, encode_columns, read_table
from ..records.splits import SplitTables, read_tables
from ..records.text import is_id, is_integer_text, text_lines

if TYPE_CHECKING:
    from ..arrays.types import IntArray

    _Column = tuple[IdTable, str]  # A table and a role of it.

GRAPHS = ("left", "right")  # They are also the columns of a pair.
OPENEA_FOLDS = "721_5fold"
_ALL = ""  # This stands for the name of a split where a file has all pairs.
# The reader looks for DBP15k's files of pairs in this order.
_PAIR_FILES = (
    {"train": "sup_pairs", "test": "ref_pairs"},
    {"train": "sup_ent_ids", "test": "ref_ent_ids"},
    {_ALL: "ref_ent_ids"},
)
_PAIR = tuple(f"{graph} entity" for graph in GRAPHS)
_DIGITS = 18  # Numbers of this length fit into int64.


def read_pair_splits(
    splits: Mapping[str, tuple[str, Any]],
    entities: Sequence[Any],
    columns: Any = None,
    header: bool | None = None,
) -> SplitTables:
    """Read splits of an alignment.

    Parameters
    ----------
    splits : dict of str to (str, object)
        By name: the title of the split in messages, and its pairs: an array of ints of
        shape (m, 2), rows, columns, a frame, or the path of a .npy file or of tab-separated text.
    entities : (left, right)
        The number of entities of each graph, or their labels in order or as a mapping to ids.
    columns : dict of str to (str or int), optional
        The name or the number of the column of "left" and "right".
    header : bool, optional
        Whether the first line of a file names its columns.

    Raises
    ------
    TypeError, ValueError, OSError
        For anything but pairs, ids out of range, unknown labels, and entities of another type.
    """
    orders = dict(zip(GRAPHS, entities, strict=True))
    for name, order in orders.items():
        if order is None:
            expected = "the number of entities, or their labels"
            raise InputTypeError(name, expected=expected, got="None")
    return read_tables(splits, PAIRS, orders, columns=columns, header=header)


@public("truerank.alignment")
@dataclass(frozen=True, eq=False, repr=False)
class AlignmentData:
    """Two graphs, the pairs of entities that denote the same thing, and splits of these pairs.

    Ids of entities and of relations start at 0 in each graph. `torch.from_numpy` takes the arrays.

    Attributes
    ----------
    left, right : tuple of str
        The labels of the entities of each graph, in the order of their ids.
    left_ids, right_ids : array of int, or None
        The ids of the entities in the files; None if the files only had names.
    left_relations, right_relations : tuple of str
        The labels of the relations.
    left_triples, right_triples : array of int, shape (n, 3)
        Head, relation, tail.
    pairs : array of int, shape (m, 2)
        All aligned pairs: an entity of the left graph, one of the right.
    splits : dict of str to array of int, shape (k, 2)
        The pairs of each split, "train", "valid" and "test"; may be empty.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    left_ids: IntArray | None
    right_ids: IntArray | None
    left_relations: tuple[str, ...]
    right_relations: tuple[str, ...]
    left_triples: IntArray
    right_triples: IntArray
    pairs: IntArray
    splits: dict[str, IntArray]

    def __repr__(self) -> str:
        text = (
            f"{len(self.left):,} and {len(self.right):,} entities, "
            f"{len(self.left_triples):,} and {len(self.right_triples):,} triples, "
            f"{len(self.pairs):,} pairs"
        )
        if self.splits:
            splits = ", ".join(f"{name} {len(pairs):,}" for name, pairs in self.splits.items())
            text = f"{text}; {splits}"
        return printable(f"AlignmentData({text})")


@public("truerank.alignment")
def read_dbp15k(folder: str | os.PathLike[str]) -> AlignmentData:
    """Read a data set in the layout of DBP15k (JAPE, GCN-Align).

    ======================  ====================================================================
    file                    lines
    ======================  ====================================================================
    ent_ids_1, ent_ids_2    id and name of an entity; ids are usually unique over both graphs
    triples_1, triples_2    ids of head, relation and tail
    ref_ent_ids             the aligned pairs: an id of graph 1, an id of graph 2
    sup_ent_ids             optional: the pairs for training; ref_ent_ids are then those for testing
    sup_pairs, ref_pairs    optional, the same: for training, for testing (as BootEA has them)
    rel_ids_1, rel_ids_2    optional: id and name of a relation
    ======================  ====================================================================

    The lines of ent_ids_1 and of ent_ids_2 number the entities of each graph from 0, and those of
    rel_ids_1 and rel_ids_2 the relations; without such files, relations are numbered in the order
    of their ids. Any file may be gzipped, with .gz after its name. Attributes are not read.

    Parameters
    ----------
    folder : str or path-like

    Returns
    -------
    AlignmentData
        ``splits`` has "train" and "test" if the folder has them, else nothing. ``pairs`` has the
        distinct pairs of both. Ids start at 0 in each graph, in the order of its file. If one
        matrix has the vectors of both graphs by the file's own ids, those of the graphs are
        ``vectors[data.left_ids]`` and ``vectors[data.right_ids]``. Pairs of one's own that have the
        file's ids are read by ``Task(pairs, left=data.left_ids, right=data.right_ids)``.

    Raises
    ------
    OSError
        For a file that is missing or damaged.
    ValueError
        For a line with another number of columns, an id that occurs twice or is no number, an
        entity in a triple or a pair that is not in ent_ids, text that is not UTF-8, a file without
        lines, sup_pairs beside sup_ent_ids with other pairs, and a file beside a .gz of other
        lines; the message names the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> files = {"ent_ids_1": "7\\ta\\n9\\tb", "ent_ids_2": "8\\tA\\n5\\tB\\n6\\tC"}
    >>> files |= {"triples_1": "7\\t3\\t9", "triples_2": "8\\t4\\t5", "ref_ent_ids": "9\\t5"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, text in files.items():
    ...         _ = pathlib.Path(folder, name).write_text(text)
    ...     data = read_dbp15k(folder)
    >>> data
    AlignmentData(2 and 3 entities, 1 and 1 triples, 1 pairs)
    >>> data.pairs, data.right, data.right_ids, data.right_triples
    (array([[1, 1]]), ('A', 'B', 'C'), array([8, 5, 6]), array([[0, 0, 1]]))
    >>> from truerank.alignment import Task
    >>> Task([(9, 6)], left=data.left_ids, right=data.right_ids).left_to_right.targets
    array([2])
    """
    root = path_name("folder", folder)
    first, *others = (
        {split: _path(root, name) for split, name in files.items()}
        for files in _PAIR_FILES
        if _ALL in files or find_file(root, files["train"])
    )
    for split, path in first.items():
        for other in others:
            if os.path.exists(other.get(split, "")):
                _refuse_unlike(path, other[split], set)
    return _read_folder(root, first, by_id=True)


@public("truerank.alignment")
def read_openea(folder: str | os.PathLike[str], fold: int | None = None) -> AlignmentData:
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

    OpenEA has no list of entities: all names in triples and pairs are entities, with the ids 0, 1,
    ... in ascending order of names (by code point, or as numbers if all are numbers); the same
    holds for relations. Rows of vectors follow that order, or that of the lines of ent_ids_1 and
    ent_ids_2 if these files exist (OpenEA ignores them); then only listed names are allowed. Any
    file may be gzipped, with .gz after its name. Attributes are not read.

    An entity of a pair that is in no triple is kept, with degree 0. (OpenEA's own code, in
    `uris_pair_2ids`, silently drops such pairs, and so their tasks.)

    Parameters
    ----------
    folder : str or path-like
    fold : int, optional
        The fold whose splits are read, from 1 on. None: no splits are read.

    Returns
    -------
    AlignmentData
        ``splits`` has "train", "valid" (unless it has no pairs) and "test" of the fold. ``pairs``
        has the distinct pairs of ent_links, if there is such a file, and of the fold.

    Raises
    ------
    TypeError
        For a fold that is no int.
    OSError
        For a file that is missing or damaged.
    ValueError
        For a line with another number of columns, a name that is not in ent_ids or rel_ids or that
        these list twice, text that is not UTF-8, a file without lines (except valid_links), a pair
        whose names occur in triples, but only in those of the other graph, and a file beside a .gz
        of other lines; the message names the file.

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
    >>> data.left, data.left_triples, data.splits["test"]
    (('a', 'b'), array([[1, 0, 0]]), array([[0, 0]]))
    """
    if fold is not None:
        integer("fold", fold)
    root = path_name("folder", folder)
    if fold is None:
        return _read_folder(root, {_ALL: _path(root, "ent_links")}, by_id=False)
    paths = {}
    links = find_file(root, "ent_links")
    if links is not None:
        paths[_ALL] = links
    for split in ("train", "valid", "test"):
        name = os.path.join(OPENEA_FOLDS, str(fold), f"{split}_links")
        if split == "valid" and find_file(root, name) is None:
            continue
        paths[split] = _path(root, name)
    return _read_folder(root, paths, by_id=False)


def find_file(folder: str, name: str) -> str | None:
    """Return the path of a file in a folder, plain or gzipped, or None if there is none.

    If there are both, they must have the same lines.
    """
    path = os.path.join(folder, name)
    paths = [each for each in (path, f"{path}.gz") if os.path.exists(each)]
    if len(paths) == 2:
        _refuse_unlike(path, paths[1], list)
    return next(iter(paths), None)


def _path(folder: str, name: str) -> str:
    """Return the path of a file in a folder, plain or gzipped; the plain one if there is none."""
    return find_file(folder, name) or os.path.join(folder, name)


def _refuse_unlike(path: str, other: str, kind: type[list[str]] | type[set[str]]) -> None:
    """Refuse two files of one thing whose lines differ, as lists or as sets."""
    first, second = (kind(line for _, line in text_lines("folder", each)) for each in (path, other))
    if first != second:
        expected = f"the lines of {path}; remove one of the files"
        raise InputValueError("folder", expected=expected, got="others", place=other)


def _refuse_swapped(title: str, fields: Mapping[str, Any], pairs: IntArray) -> None:
    """Refuse a pair of names that occur in triples, but each in those of the other graph alone."""
    left, right = (
        {fields[graph][i] for i in distinct(fields[f"{graph}_triples"][:, [0, 2]].ravel()).tolist()}
        for graph in GRAPHS
    )
    swapped = (right - left, left - right)
    for i, j in pairs.tolist():
        names = fields["left"][i], fields["right"][j]
        if names[0] in swapped[0] and names[1] in swapped[1]:
            expected = "a name of graph 1, then one of graph 2"
            got = f"{names[0]!r} and {names[1]!r}, which only the other graph's triples have"
            raise InputValueError(title, expected=expected, got=got)


def _read_folder(root: str, pair_paths: Mapping[str, str], by_id: bool) -> AlignmentData:
    """Read a data set with some files of pairs, which calls entities by their ids or by names."""
    lists = []
    for number in (1, 2):
        # Where entities are called by their ids, there must be a list of them.
        path = (_path if by_id else find_file)(root, f"ent_ids_{number}")
        entities = _read_list(path, by_id)
        lists.append((entities, _read_list(find_file(root, f"rel_ids_{number}"), by_id)))
    # Only a fold of OpenEA may lack pairs for validation.
    tables = [
        _read_lines(path, _PAIR, may_be_empty=split == "valid")
        for split, path in pair_paths.items()
    ]
    fields: dict[str, Any] = {}
    ids_of_graphs = []
    for j, graph in enumerate(GRAPHS):
        columns_of_pairs = [(table, _PAIR[j]) for table in tables]
        triples = _path(root, f"triples_{j + 1}" if by_id else f"rel_triples_{j + 1}")
        of_graph, ids = _read_graph(triples, *lists[j], columns_of_pairs, by_id)
        fields[graph] = of_graph.pop("entities")
        fields |= {f"{graph}_{name}": value for name, value in of_graph.items()}
        ids_of_graphs.append(ids)
    splits = {}
    for split, left, right in zip(pair_paths, *ids_of_graphs, strict=True):
        splits[split] = np.stack([left, right], axis=1)
    if not by_id:
        for table, rows in zip(tables, splits.values(), strict=True):
            _refuse_swapped(table.title, fields, rows)
    pairs = np.concatenate(list(splits.values()))
    first = np.sort(codes_of(row_keys(list(pairs.T))).first())
    named = {split: rows for split, rows in splits.items() if split != _ALL and len(rows)}
    return AlignmentData(**fields, pairs=pairs[first], splits=named)


def _read_graph(
    path: str,
    entities: _Labels | None,
    relations: _Labels | None,
    columns_of_pairs: Sequence[_Column],
    by_id: bool,
) -> tuple[dict[str, Any], list[IntArray]]:
    """Read a graph, and return its fields, and the ids of its entities in each file of pairs."""
    facts = _read_lines(path, FACTS.needed_roles)
    if relations is None:
        relations = _list_all([(facts, "relation")], by_id)
    _, (relation_ids,) = encode_columns(relations.title, relations.order, [(facts, "relation")])
    columns = [*columns_of_pairs, (facts, "head"), (facts, "tail")]
    if entities is None:
        entities = _list_all(columns, by_id)
    _, ids = encode_columns(entities.title, entities.order, columns)
    fields = {
        "entities": entities.names,
        "ids": entities.ids,
        "relations": relations.names,
        "triples": np.stack([ids[-2], relation_ids, ids[-1]], axis=1),
    }
    return fields, ids[: len(columns_of_pairs)]


def _read_lines(path: str, fields: Sequence[str], may_be_empty: bool = False) -> IdTable:
    """Read a file with some fields a line."""
    door = Door("lines", dict.fromkeys(fields, frozenset()), len(fields))
    table = read_table("folder", path, door)
    if len(table):
        return table
    if not may_be_empty:
        raise InputValueError(table.title, expected=f"lines of {' and '.join(fields)}", got="none")
    return replace(table, ids={name: np.zeros(0, np.int64) for name in fields})


class _Labels(NamedTuple):
    """The entities of a graph, or its relations, in order."""

    title: str  # Messages say by it where the labels are from.
    order: list[str]  # Other files call them so.
    names: tuple[str, ...]
    ids: IntArray | None = None


def _read_list(path: str | None, by_id: bool) -> _Labels | None:
    """Read a file of ids and names, by which other files call an entity or a relation."""
    if path is None:
        return None
    table = _read_lines(path, ("id", "name"))
    ids, names = (
        list(map(table.names[role].listed().__getitem__, codes.tolist()))
        for role, codes in table.ids.items()
    )
    order = ids if by_id else names
    return _Labels(table.title, order, tuple(names), _parse_ids(table.title, ids))


def _list_all(columns: Sequence[_Column], by_id: bool) -> _Labels:
    """List all labels that occur, in ascending order, as numbers if all of them are numbers."""
    labels = sorted(distinct_labels(columns))
    if by_id:
        _parse_ids(columns[0][0].title, labels)
    if by_id or all(map(is_integer_text, labels)):
        labels.sort(key=int)
    return _Labels("", labels, tuple(labels))


def _parse_ids(name: str, labels: Sequence[str]) -> IntArray:
    """Return labels as integers."""
    for label in labels:
        if not is_id(label) or len(label) > _DIGITS:
            raise InputValueError(name, expected="ids", got=repr(label))
    return np.array(list(map(int, labels)), np.int64)
