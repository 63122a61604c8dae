"""Readers of data sets: the layouts of DBP15k and OpenEA, and plain tab-separated text.

DBP15k, as JAPE and GCN-Align use it, has ids, which are unique over both graphs; OpenEA has names
instead of ids, and folds of the aligned pairs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...inputs.checks import integer
from ...inputs.errors import InputTypeError, InputValueError
from ...inputs.naming import public
from ...tasks.row_keys import first_rows, row_keys
from ...tasks.text import TRIPLE, RowForm, is_path, line_of, read_text
from ...tasks.vocabularies import Column, LabelIndex, distinct_labels, encode_columns, is_id
from .graphs import SPLITS, AlignmentData, Graph

if TYPE_CHECKING:
    from ...inputs.arrays import IntArray

FOLDS = "721_5fold"  # OpenEA's folder of the folds
_ALL = ""  # stands for the name of a split where a file has all pairs
# DBP15k's files of pairs, in the order in which the reader looks for them.
_PAIR_FILES = (
    {"train": "sup_pairs", "test": "ref_pairs"},
    {"train": "sup_ent_ids", "test": "ref_ent_ids"},
    {_ALL: "ref_ent_ids"},
)
_DIGITS = 18  # numbers of this length fit into int64


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
    of their ids. The ids of the files are kept (``data.left.ids``, ``data.left.relation_ids``). Any
    file may be gzipped, with .gz after its name. Attributes are not read.

    Parameters
    ----------
    folder : str or path-like

    Returns
    -------
    AlignmentData
        ``splits`` has "train" and "test" if the folder has them, else nothing. ``pairs`` has the
        distinct pairs of both. Ids start at 0 in each graph, in the order of its file. If one
        matrix has the vectors of both graphs by the file's own ids, those of the graphs are
        ``vectors[data.left.ids]`` and ``vectors[data.right.ids]``.

    Raises
    ------
    OSError
        For a file that is missing or damaged.
    ValueError
        For a line with another number of columns, an id that occurs twice or is no number, an
        entity in a triple or a pair that is not in ent_ids, text that is not UTF-8, and a file
        without lines; the message names file and line.

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
    >>> data.pairs, data.right.ids, data.right.triples
    (array([[1, 1]]), array([8, 5, 6]), array([[0, 0, 1]]))
    """
    root = os.fsdecode(folder)
    names = next(files for files in _PAIR_FILES if _ALL in files or find_file(root, files["train"]))
    return _read_folder(root, {split: _path(root, name) for split, name in names.items()}, True)


@public("truerank.alignment")
def read_openea(
    folder: str | os.PathLike[str],
    fold: int | None = None,
    *,
    folds: str = FOLDS,
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
    folds : str
        The folder of the folds.

    Returns
    -------
    AlignmentData
        ``splits`` has "train", "valid" (unless it has no pairs) and "test" of the fold. ``pairs``
        has the distinct pairs of ent_links, or of the fold if there is no such file.

    Raises
    ------
    TypeError
        For a fold that is no int.
    OSError
        For a file that is missing or damaged.
    ValueError
        For a line with another number of columns, a pair of a fold that is not in ent_links, a name
        that is not in ent_ids or rel_ids, an id or a name that these list twice, text that is not
        UTF-8, and a file without lines (except valid_links); the message names file and line.

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
    if fold is not None:
        integer("fold", fold)
    root = os.fsdecode(folder)
    links = _path(root, "ent_links") if fold is None else find_file(root, "ent_links")
    files = {} if links is None else {_ALL: links}
    for split in SPLITS if fold is not None else ():
        name = os.path.join(folds, str(fold), f"{split}_links")
        path = find_file(root, name) if split == "valid" else _path(root, name)
        files |= {} if path is None else {split: path}
    return _read_folder(root, files, False)


def find_file(folder: str, name: str) -> str | None:
    """Return the path of a file in a folder, plain or gzipped, or None if there is none."""
    path = os.path.join(folder, name)
    return next((path for path in (path, f"{path}.gz") if os.path.exists(path)), None)


def _path(folder: str, name: str) -> str:
    return find_file(folder, name) or os.path.join(folder, name)


def _read_folder(root: str, files: Mapping[str, str], by_id: bool) -> AlignmentData:
    """Read a data set with some files of pairs, which calls entities by their ids or by names."""
    sides = []
    for k, name in enumerate(("left", "right"), 1):
        triples = _path(root, f"{'' if by_id else 'rel_'}triples_{k}")
        entities = _read_list((_path if by_id else find_file)(root, f"ent_ids_{k}"), by_id)
        relations = _read_list(find_file(root, f"rel_ids_{k}"), by_id)
        sides.append(_Side(name, ("folder", triples), entities, relations))
    links = {split: ("folder", path) for split, path in files.items()}
    graphs, pairs = _read_graphs(links, sides, by_id)
    splits = {name: rows for name, rows in pairs.items() if name != _ALL and len(rows)}
    for name, rows in splits.items() if _ALL in pairs else ():
        keys = row_keys(list(np.concatenate([pairs[_ALL], rows]).T))
        missing = ~np.isin(keys[-len(rows) :], keys[: -len(rows)])
        if missing.any():
            line = line_of(files[name], int(missing.argmax()))
            problem = f"line {line}: the pair is not in {files[_ALL]}"
            raise InputValueError(f"folder: {files[name]}", problem)
    whole = [pairs[_ALL]] if _ALL in pairs else list(splits.values())
    return AlignmentData(graphs[0], graphs[1], _distinct_pairs(whole), splits)


def _distinct_pairs(parts: Sequence[IntArray]) -> IntArray:
    """Return the pairs of all splits, each of them once, in the order of first occurrence."""
    pairs = np.concatenate(parts)
    return pairs[np.sort(first_rows(row_keys(list(pairs.T))))]


@public("truerank.alignment")
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
        Lines of a left and a right entity with a tab between them, in UTF-8, gzipped if the name
        ends in .gz. A dict names splits, as ``{"train": "train.tsv", "test": "test.tsv"}``.
    left, right : None, int, sequence of str, or mapping of str to int
        The entities of a graph. None: text holds names, which get the ids 0, 1, ... in ascending
        order (by code point); an error if all names are numbers. An int: text holds ids, and this
        is the number of entities. Names in the order of their ids, or a mapping to ids.
    left_triples, right_triples : path, optional
        Lines of head, relation and tail. Relations are numbered in ascending order of their names
        (as numbers, if all are numbers).

    Returns
    -------
    AlignmentData
        ``splits`` has the splits of the dict, and ``pairs`` the distinct pairs of all files.

    Raises
    ------
    TypeError
        For anything else.
    OSError
        For a file that is missing or damaged.
    ValueError
        For a line with another number of columns, an entity that is unknown or out of range, text
        that is not UTF-8, and a file without lines; the message names file and line.

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
        expected = "a path or a dict of paths"
        raise InputTypeError("pairs", expected=expected, got=type(pairs).__name__)
    files: Mapping[str, Any] = pairs if isinstance(pairs, Mapping) else {_ALL: pairs}
    if not files:
        raise InputValueError("pairs", expected="at least one file", got="none")
    links = {}
    for split, path in files.items():
        name = "pairs" if files is not pairs else f'pairs["{split}"]'
        links[split] = name, _check_path(name, path)
    sides = []
    for name, order, triples in (("left", left, left_triples), ("right", right, right_triples)):
        title = f"{name}_triples"
        facts = None if triples is None else (title, _check_path(title, triples))
        sides.append(_Side(name, facts, _Labels(name, order)))
    graphs, parts = _read_graphs(links, sides, by_id=False)
    if files is not pairs:
        return AlignmentData(graphs[0], graphs[1], parts[_ALL])
    return AlignmentData(graphs[0], graphs[1], _distinct_pairs(list(parts.values())), parts)


def _check_path(name: str, path: Any) -> str:
    if not is_path(path):
        raise InputTypeError(name, expected="a path", got=type(path).__name__)
    return os.fsdecode(path)


class _Labels(NamedTuple):
    """The entities of a graph, or its relations: their order, and what a `Graph` has of them."""

    title: str  # where they are from, for messages
    order: Any  # what other files call them, as `encode_columns` takes it
    names: tuple[str, ...] | None = None
    ids: Sequence[int] | None = None


class _Side(NamedTuple):
    """What there is of a graph; None stands for no triples, and for all labels that occur."""

    name: str
    triples: tuple[str, str] | None  # the argument and the path
    entities: _Labels | None
    relations: _Labels | None = None


def _read_graphs(
    links: Mapping[str, tuple[str, str]], sides: Sequence[_Side], by_id: bool
) -> tuple[list[Graph], dict[str, IntArray]]:
    """Read both graphs, and the pairs of each file, for which there are argument and path."""
    indexes = [LabelIndex() for _ in sides]
    nouns = [f"{side.name} entity" for side in sides]
    tables = [
        # only a fold of OpenEA may lack pairs for validation
        _read_columns(name, path, nouns, indexes, empty=(name, split) == ("folder", "valid"))
        for split, (name, path) in links.items()
    ]
    graphs, columns_of_pairs = [], []
    for j, side in enumerate(sides):
        columns, between = [table[j] for table in tables], []
        if side.triples is not None:
            of_triples = (indexes[j], LabelIndex(), indexes[j])
            heads, relations, tails = _read_columns(*side.triples, TRIPLE, of_triples)
            columns, between = [*columns, heads, tails], [relations]
        entities = side.entities or _list_all(columns, by_id)
        vocabulary, ids = encode_columns(entities.title, nouns[j], entities.order, columns)
        kinds, triples = _Labels("", ()), np.zeros((0, 3), np.int64)
        if between:
            kinds = side.relations or _list_all(between, by_id)
            _, places = encode_columns(kinds.title, "relation", kinds.order, between)
            triples = np.stack([ids[-2], places[0], ids[-1]], axis=1)
        names = entities.names or vocabulary.names
        graph = Graph(triples, vocabulary.size, names, kinds.names, entities.ids, kinds.ids)
        graphs.append(graph)
        columns_of_pairs.append(ids[: len(tables)])
    pairs = [np.stack(both, axis=1) for both in zip(*columns_of_pairs, strict=True)]
    return graphs, dict(zip(links, pairs, strict=True))


class _FileColumn(Column):
    """A column of a file: `what` is the path, and messages name the line."""

    def where(self, row: int) -> str:
        return f"line {line_of(self.what, row)}"

    def labels(self) -> list[str]:
        """Return the labels, by their numbers."""
        assert self.label_index is not None
        return list(self.label_index.codes)

    def parse_ids(self) -> list[int]:
        """Return the labels as integers; they are digits without a sign or leading zeros."""
        labels = self.labels()
        for code, label in enumerate(labels):
            if not is_id(label) or len(label) > _DIGITS:
                where = self.where(int(np.argmax(self.values == code)))
                raise InputValueError(self.split, f"{where}: expected an id, got {label!r}")
        return list(map(int, labels))


def _read_columns(
    name: str, path: str, nouns: Sequence[str], indexes: Sequence[LabelIndex], empty: bool = False
) -> list[_FileColumn]:
    """Read the columns of a file, each with an index of its labels; it may be `empty`."""

    def encode(j: int, fields: Sequence[str]) -> IntArray:
        return indexes[j].encode(fields)

    columns = read_text(name, path, encode, RowForm("row", tuple(nouns), ()))
    if not columns and not empty:
        raise InputValueError(name, f"{path}: expected lines of {' and '.join(nouns)}, got none")
    columns = columns or [np.zeros(0, np.int64) for _ in nouns]
    where = f"{name}: {path}"
    return [_FileColumn(where, j, columns[j], index, path) for j, index in enumerate(indexes)]


def _read_list(path: str | None, by_id: bool) -> _Labels | None:
    """Read a file of ids and names, by which other files call an entity or a relation."""
    if path is None:
        return None
    nouns = ("id", "name")
    columns = _read_columns("folder", path, nouns, (LabelIndex(), LabelIndex()))
    fields = [list(map(column.labels().__getitem__, column.values)) for column in columns]
    for j, column in enumerate(columns[: 1 if by_id else 2]):
        repeated = np.flatnonzero(column.values != np.arange(len(column.values)))
        if len(repeated):
            row = int(repeated[0])
            first = column.where(int(column.values[row]))
            problem = f"the {nouns[j]} {fields[j][row]!r} stands in {first}, too"
            raise InputValueError(column.split, f"{column.where(row)}: {problem}")
    return _Labels(path, fields[0 if by_id else 1], tuple(fields[1]), columns[0].parse_ids())


def _list_all(columns: Sequence[_FileColumn], by_id: bool) -> _Labels:
    """List all labels that occur, in ascending order, as numbers if all of them are numbers."""
    labels = distinct_labels(columns)
    if by_id:
        ids = sorted(columns[0].parse_ids())
        return _Labels("", list(map(str, ids)), ids=ids)
    numbers = all(label.isascii() and label.isdecimal() for label in labels)
    names = tuple(sorted(labels, key=(lambda label: (int(label), label)) if numbers else None))
    return _Labels("", names, names)
