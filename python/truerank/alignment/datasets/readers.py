"""Readers of data sets: the layouts of DBP15k and OpenEA, and plain tab-separated text.

DBP15k, as JAPE and GCN-Align use it, has ids, which are unique over both graphs; OpenEA has names
instead of ids, and folds of the aligned pairs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...inputs.checks import instance, integer
from ...inputs.errors import InputTypeError, InputValueError
from ...inputs.input_files import path_name
from ...inputs.naming import public
from ...inputs.row_keys import first_rows, row_keys
from ...splits.elements import is_id, is_integer_text
from ...splits.text import TRIPLE, RowForm, is_path, line_of, read_text
from ...splits.vocabularies import (
    Column,
    LabelIndex,
    distinct_labels,
    encode_columns,
)
from ..aligned_pairs import GRAPHS
from .graphs import SPLITS, AlignmentData, Graph

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
    """
    root = path_name("folder", folder)
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
    >>> data.left.names, data.left.triples, data.splits["test"]
    (('a', 'b'), array([[1, 0, 0]]), array([[0, 0]]))
    """
    if fold is not None:
        integer("fold", fold)
    instance("folds", folds, str)
    root = path_name("folder", folder)
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
    for k in (1, 2):
        triples = _path(root, f"{'' if by_id else 'rel_'}triples_{k}")
        entities = _read_list((_path if by_id else find_file)(root, f"ent_ids_{k}"), by_id)
        relations = _read_list(find_file(root, f"rel_ids_{k}"), by_id)
        sides.append((("folder", triples), entities, relations))
    return _read_data({split: ("folder", path) for split, path in files.items()}, sides, by_id)


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
    >>> data.left.names, data.pairs
    (('Graz', 'Wien'), array([[1, 0],
           [0, 1]]))
    """
    files: Mapping[str, Any] = pairs if isinstance(pairs, Mapping) else {_ALL: pairs}
    if not files:
        raise InputValueError("pairs", expected="at least one file", got="none")
    links = {
        split: ("pairs" if files is not pairs else f'pairs["{split}"]', path)
        for split, path in files.items()
    }
    sides = [
        (None if triples is None else (f"{name}_triples", triples), _Labels(name, order), None)
        for name, order, triples in (("left", left, left_triples), ("right", right, right_triples))
    ]
    return _read_data(links, sides)


class _Labels(NamedTuple):
    """The entities of a graph, or its relations: their order, and what a `Graph` has of them."""

    title: str  # where they are from, for messages
    order: Any  # what other files call them, as `encode_columns` takes it
    names: tuple[str, ...] | None = None
    ids: Sequence[int] | None = None


File = tuple[str, Any]  # the argument and the path
Side = tuple[File | None, _Labels | None, _Labels | None]  # triples, entities, relations


def _read_data(
    links: Mapping[str, File], sides: Sequence[Side], by_id: bool = False
) -> AlignmentData:
    """Read the pairs of each file, and both graphs; None stands for all labels that occur."""
    nouns = [f"{name} entity" for name in GRAPHS]
    tables = [
        # only a fold of OpenEA may lack pairs for validation
        _read_columns(*file, nouns, empty=(file[0], split) == ("folder", "valid"))
        for split, file in links.items()
    ]
    graphs, columns_of_pairs = [], []
    for j, (triples, entities, relations) in enumerate(sides):
        columns, rows = [table[j] for table in tables], np.zeros((0, 3), np.int64)
        kinds = relations or _Labels("", ())
        if triples is not None:
            heads, between, tails = _read_columns(*triples, TRIPLE)
            columns += [heads, tails]
            kinds = relations or _list_all([between], by_id)
            _, places = encode_columns(kinds.title, kinds.order, [between])
        own = entities or _list_all(columns, by_id)
        vocabulary, ids = encode_columns(own.title, own.order, columns)
        if triples is not None:
            rows = np.stack([ids[-2], places[0], ids[-1]], axis=1)
        names = own.names or vocabulary.words
        graphs.append(Graph(rows, vocabulary.size, names, kinds.names, own.ids, kinds.ids))
        columns_of_pairs.append(ids[: len(tables)])
    parts = [np.stack(both, axis=1) for both in zip(*columns_of_pairs, strict=True)]
    pairs = np.concatenate(parts)
    first = np.sort(first_rows(row_keys(list(pairs.T))))
    splits = {split: part for split, part in zip(links, parts, strict=True) if len(part)}
    splits.pop(_ALL, None)
    return AlignmentData(graphs[0], graphs[1], pairs[first], splits)


class _FileColumn(Column):
    """A column of a file: `path` is its, and messages name the line."""

    def where(self, row: int) -> str:
        return f"line {line_of(self.path, row)}"

    def labels(self) -> list[str]:
        """Return the label of each row."""
        assert self.label_index is not None
        return list(map(list(self.label_index.codes).__getitem__, self.values))


def _read_columns(
    name: str, path: Any, nouns: Sequence[str], empty: bool = False
) -> list[_FileColumn]:
    """Read the columns of a file, which may be `empty`."""
    if not is_path(path):
        raise InputTypeError(name, expected="a path", got=type(path).__name__)
    place, indexes = os.fsdecode(path), [LabelIndex() for _ in nouns]
    form, where = RowForm(tuple(nouns)), f"{name}: {place}"
    columns = read_text(name, place, lambda j, fields: indexes[j].encode(fields), form)
    if not columns and not empty:
        raise InputValueError(where, expected=f"lines of {' and '.join(nouns)}", got="none")
    columns = columns or [np.zeros(0, np.int64) for _ in nouns]
    return [
        _FileColumn(where, j, columns[j], index, place, is_text=True)
        for j, index in enumerate(indexes)
    ]


def _read_list(path: str | None, by_id: bool) -> _Labels | None:
    """Read a file of ids and names, by which other files call an entity or a relation."""
    if path is None:
        return None
    ids, names = (column.labels() for column in _read_columns("folder", path, ("id", "name")))
    title = f"folder: {path}"
    return _Labels(title, ids if by_id else names, tuple(names), _parse_ids(title, ids))


def _list_all(columns: Sequence[_FileColumn], by_id: bool) -> _Labels:
    """List all labels that occur, in ascending order, as numbers if all of them are numbers."""
    labels = sorted(distinct_labels(columns))
    if by_id:
        ids = sorted(_parse_ids(columns[0].split, labels))
        return _Labels("", list(map(str, ids)), ids=ids)
    names = tuple(sorted(labels, key=int) if all(map(is_integer_text, labels)) else labels)
    return _Labels("", names, names)


def _parse_ids(name: str, labels: Sequence[str]) -> list[int]:
    """Return labels as integers."""
    if wrong := [label for label in labels if not is_id(label) or len(label) > _DIGITS]:
        raise InputValueError(name, expected="ids", got=repr(wrong[0]))
    return list(map(int, labels))
