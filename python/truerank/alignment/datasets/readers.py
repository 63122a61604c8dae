"""Readers of data sets: the layouts of DBP15k and OpenEA, and plain tab-separated text.

DBP15k, as JAPE and GCN-Align use it, has ids, which are unique over both graphs; OpenEA has names
instead of ids, and folds of the aligned pairs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...arrays.input_files import path_name
from ...arrays.row_keys import first_rows, row_keys
from ...errors import InputTypeError, InputValueError, warn_user
from ...inputs.checks import instance, integer
from ...naming import public
from ...records.column_ids import IdColumn, distinct_labels, encode_columns
from ...records.column_roles import FACTS, PAIRS, Door
from ...records.elements import is_id, is_integer_text
from ...records.split_columns import SplitReader
from ...records.text import TRIPLE, RowForm, is_path, line_of
from ..aligned_pairs import GRAPHS
from .graphs import SPLITS, AlignmentData, Graph

if TYPE_CHECKING:
    from ...arrays.types import IntArray

OPENEA_FOLDS = "721_5fold"
_ALL = ""  # This stands for the name of a split where a file has all pairs.
# The reader looks for DBP15k's files of pairs in this order.
_PAIR_FILES = (
    {"train": "sup_pairs", "test": "ref_pairs"},
    {"train": "sup_ent_ids", "test": "ref_ent_ids"},
    {_ALL: "ref_ent_ids"},
)
_DIGITS = 18  # Numbers of this length fit into int64.


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
        ``vectors[data.left.ids]`` and ``vectors[data.right.ids]``. Pairs of one's own that have the
        file's ids are read by ``Task(pairs, left=data.left.ids, right=data.right.ids)``.

    Raises
    ------
    OSError
        For a file that is missing or damaged.
    ValueError
        For a line with another number of columns, an id that occurs twice or is no number, an
        entity in a triple or a pair that is not in ent_ids, text that is not UTF-8, and a file
        without lines; the message names the file.

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
    >>> from truerank.alignment import Task
    >>> Task([(9, 6)], left=data.left.ids, right=data.right.ids).left_to_right.targets
    array([2])
    """
    root = path_name("folder", folder)
    names = next(files for files in _PAIR_FILES if _ALL in files or find_file(root, files["train"]))
    paths = {split: _path(root, name) for split, name in names.items()}
    return _read_folder(root, paths, by_id=True)


@public("truerank.alignment")
def read_openea(
    folder: str | os.PathLike[str],
    fold: int | None = None,
    *,
    folds: str = OPENEA_FOLDS,
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
        has the distinct pairs of ent_links, if there is such a file, and of the fold.

    Raises
    ------
    TypeError
        For a fold that is no int.
    OSError
        For a file that is missing or damaged.
    ValueError
        For a line with another number of columns, a name that is not in ent_ids or rel_ids or that
        these list twice, text that is not UTF-8, and a file without lines (except valid_links); the
        message names the file.

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
    >>> data.left.entities, data.left.triples, data.splits["test"]
    (('a', 'b'), array([[1, 0, 0]]), array([[0, 0]]))
    """
    if fold is not None:
        integer("fold", fold)
    instance("folds", folds, str)
    root = path_name("folder", folder)
    if fold is None:
        return _read_folder(root, {_ALL: _path(root, "ent_links")}, by_id=False)
    paths = {}
    links = find_file(root, "ent_links")
    if links is not None:
        paths[_ALL] = links
    for split in SPLITS:
        name = os.path.join(folds, str(fold), f"{split}_links")
        if split == "valid" and find_file(root, name) is None:
            continue
        paths[split] = _path(root, name)
    return _read_folder(root, paths, by_id=False)


def find_file(folder: str, name: str) -> str | None:
    """Return the path of a file in a folder, plain or gzipped, or None if there is none."""
    path = os.path.join(folder, name)
    return next((path for path in (path, f"{path}.gz") if os.path.exists(path)), None)


def _path(folder: str, name: str) -> str:
    """Return the path of a file in a folder, plain or gzipped; the plain one if there is none."""
    return find_file(folder, name) or os.path.join(folder, name)


def _read_folder(root: str, pair_paths: Mapping[str, str], by_id: bool) -> AlignmentData:
    """Read a data set with some files of pairs, which calls entities by their ids or by names."""
    sides = []
    for k in (1, 2):
        triples = _path(root, f"rel_triples_{k}")
        list_of_entities = find_file(root, f"ent_ids_{k}")
        if by_id:
            triples = _path(root, f"triples_{k}")
            list_of_entities = _path(root, f"ent_ids_{k}")  # Here it must exist.
        entities = _read_list(list_of_entities, by_id)
        relations = _read_list(find_file(root, f"rel_ids_{k}"), by_id)
        sides.append(_Side(_File("folder", triples), entities, relations))
    links = {split: _File("folder", path) for split, path in pair_paths.items()}
    return _read_data(links, sides, by_id)


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
    left, right : None, int, sequence of str or of int, or mapping of these to int
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
    >>> data.left.entities, data.pairs
    (('Graz', 'Wien'), array([[1, 0],
           [0, 1]]))
    """
    if isinstance(pairs, Mapping):
        links = {}
        for split, path in pairs.items():
            links[split] = _File(f'pairs["{split}"]', path, PAIRS)
    else:
        links = {_ALL: _File("pairs", pairs, PAIRS)}
    if not links:
        raise InputValueError("pairs", expected="at least one file", got="none")
    sides = [_Side(None, _Labels("left", left)), _Side(None, _Labels("right", right))]
    if left_triples is not None:
        sides[0] = sides[0]._replace(triples=_File("left_triples", left_triples, FACTS))
    if right_triples is not None:
        sides[1] = sides[1]._replace(triples=_File("right_triples", right_triples, FACTS))
    return _read_data(links, sides)


class _File(NamedTuple):
    """A file, the argument that messages name, and the names that its columns may have."""

    argument: str
    path: Any
    door: Door | None = None


class _Labels(NamedTuple):
    """The entities of a graph, or its relations: their order, and what a `Graph` has of them."""

    title: str  # Messages say by it where the labels are from.
    order: Any  # Other files call them so, in the form that `encode_columns` takes.
    names: tuple[str, ...] | None = None
    ids: Sequence[int] | None = None


class _Side(NamedTuple):
    """The sources of a graph; without a list, its entities or relations are those that occur."""

    triples: _File | None
    entities: _Labels | None
    relations: _Labels | None = None


def _read_data(
    links: Mapping[str, _File], sides: Sequence[_Side], by_id: bool = False
) -> AlignmentData:
    """Read the pairs of each file, and both graphs."""
    entities = [f"{name} entity" for name in GRAPHS]
    columns_of_files = []
    for split, file in links.items():
        # Only a fold of OpenEA may lack pairs for validation.
        may_be_empty = file.argument == "folder" and split == "valid"
        columns_of_files.append(_read_columns(file, entities, may_be_empty))
    left_columns = [left for left, _ in columns_of_files]
    right_columns = [right for _, right in columns_of_files]
    left_graph, left_ids = _read_graph(sides[0], left_columns, by_id)
    right_graph, right_ids = _read_graph(sides[1], right_columns, by_id)
    splits = {}
    for split, left, right in zip(links, left_ids, right_ids, strict=True):
        splits[split] = np.stack([left, right], axis=1)
    pairs = np.concatenate(list(splits.values()))
    first = np.sort(first_rows(row_keys(list(pairs.T))))
    named = {split: rows for split, rows in splits.items() if split != _ALL and len(rows)}
    return AlignmentData(left_graph, right_graph, pairs[first], named)


def _read_graph(
    side: _Side, columns_of_pairs: Sequence[_FileColumn], by_id: bool
) -> tuple[Graph, list[IntArray]]:
    """Read a graph, and return the ids of its entities in each file of pairs, too."""
    columns = list(columns_of_pairs)
    relations = side.relations
    if side.triples is not None:
        heads, between, tails = _read_columns(side.triples, TRIPLE)
        columns += [heads, tails]
        if relations is None:
            relations = _list_all([between], by_id)
        _, (relation_ids,) = encode_columns(relations.title, relations.order, [between])
    if relations is None:
        relations = _Labels("", ())
    entities = _list_all(columns, by_id) if side.entities is None else side.entities
    vocabulary, ids = encode_columns(entities.title, entities.order, columns)
    triples = np.zeros((0, 3), np.int64)
    if side.triples is not None:
        triples = np.stack([ids[-2], relation_ids, ids[-1]], axis=1)
    names = entities.names or vocabulary.words
    graph = Graph(triples, vocabulary.size, names, relations.names, entities.ids, relations.ids)
    return graph, ids[: len(columns_of_pairs)]


class _FileColumn(IdColumn):
    """A column of a file: `path` is its, and messages name the line."""

    def where(self, row: int) -> str:
        return f"line {line_of(self.path, row + self.has_header)}"

    def labels(self) -> list[str]:
        """Return the label of each row."""
        assert self.label_index is not None
        labels = list(self.label_index.codes)
        return [labels[code] for code in self.values.tolist()]


def _read_columns(
    file: _File, fields: Sequence[str], may_be_empty: bool = False
) -> list[_FileColumn]:
    """Read a file with some fields a line."""
    if not is_path(file.path):
        raise InputTypeError(file.argument, expected="a path", got=type(file.path).__name__)
    path = os.fsdecode(file.path)
    title = f"{file.argument}: {path}"
    reader = SplitReader(RowForm(tuple(fields), tuple(range(len(fields))), door=file.door))
    columns = reader.read_lines(file.argument, path)
    for note in reader.notes:
        warn_user(note)
    if not columns and not may_be_empty:
        raise InputValueError(title, expected=f"lines of {' and '.join(fields)}", got="none")
    if not columns:
        none = np.zeros(0, np.int64)
        columns = [IdColumn(title, j, none, reader.index(j)) for j in range(len(fields))]
    return [_FileColumn(*column)._replace(split=title) for column in columns]


def _read_list(path: str | None, by_id: bool) -> _Labels | None:
    """Read a file of ids and names, by which other files call an entity or a relation."""
    if path is None:
        return None
    columns = _read_columns(_File("folder", path), ("id", "name"))
    ids, names = (column.labels() for column in columns)
    order = ids if by_id else names
    title = f"folder: {path}"
    return _Labels(title, order, tuple(names), _parse_ids(title, ids))


def _list_all(columns: Sequence[_FileColumn], by_id: bool) -> _Labels:
    """List all labels that occur, in ascending order, as numbers if all of them are numbers."""
    labels = sorted(distinct_labels(columns))
    if by_id:
        ids = sorted(_parse_ids(columns[0].split, labels))
        return _Labels("", list(map(str, ids)), ids=ids)
    if all(map(is_integer_text, labels)):
        labels.sort(key=int)
    names = tuple(labels)
    return _Labels("", names, names)


def _parse_ids(name: str, labels: Sequence[str]) -> list[int]:
    """Return labels as integers."""
    for label in labels:
        if not is_id(label) or len(label) > _DIGITS:
            raise InputValueError(name, expected="ids", got=repr(label))
    return [int(label) for label in labels]
