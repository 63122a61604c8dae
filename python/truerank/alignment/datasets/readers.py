"""Readers of data sets: the layouts of DBP15k and OpenEA, and plain tab-separated text.

DBP15k, as JAPE and GCN-Align use it, has ids, which are unique over both graphs; OpenEA has names
instead of ids, and folds of the aligned pairs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...inputs.checks import integer
from ...inputs.errors import InputTypeError, InputValueError
from ...inputs.naming import public
from ...tasks.row_keys import look_up, row_keys
from ...tasks.text import TRIPLE, is_path, line_of
from ...tasks.vocabularies import Column, LabelIndex, encode_columns
from .graphs import SPLITS, AlignmentData, Graph
from .text_tables import (
    PAIR_COLUMNS,
    FileTable,
    IdList,
    check_listed,
    numeric_key,
    optional_file,
    parse_ids,
    read_list,
    read_table,
    required_file,
    sort_labels,
)

if TYPE_CHECKING:
    from ...inputs.arrays import IntArray

FOLDS = "721_5fold"  # OpenEA's folder of the folds

# DBP15k's files of splits, in the order in which the reader looks for them.
_SPLIT_FILES = (
    {"train": "sup_pairs", "test": "ref_pairs"},
    {"train": "sup_ent_ids", "test": "ref_ent_ids"},
)


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
    return _read_dbp15k(os.fsdecode(folder))


def _read_dbp15k(root: str) -> AlignmentData:
    lists = [read_list("folder", required_file(root, f"ent_ids_{k}")) for k in (1, 2)]
    left, right = (
        _read_dbp15k_graph(root, k, listed) for k, listed in zip((1, 2), lists, strict=True)
    )
    files = next((files for files in _SPLIT_FILES if optional_file(root, files["train"])), None)
    if files is None:
        return AlignmentData(
            left, right, distinct_pairs([_read_dbp15k_pairs(root, "ref_ent_ids", lists)])
        )
    splits = {split: _read_dbp15k_pairs(root, name, lists) for split, name in files.items()}
    return AlignmentData(left, right, distinct_pairs(list(splits.values())), splits)


def distinct_pairs(parts: Sequence[IntArray]) -> IntArray:
    """Return the pairs of all splits, each of them once, in the order of first occurrence."""
    pairs = np.concatenate(parts)
    _, first = np.unique(pairs, axis=0, return_index=True)
    return pairs[np.sort(first)]


def _read_dbp15k_graph(root: str, k: int, entities: IdList) -> Graph:
    """Read a graph of DBP15k, whose entities are in a list."""
    found = optional_file(root, f"rel_ids_{k}")
    listed = None if found is None else read_list("folder", found)
    relations = LabelIndex() if listed is None else listed.by_id
    path = required_file(root, f"triples_{k}")
    label_indexes = [entities.by_id, relations, entities.by_id]
    table = read_table("folder", path, TRIPLE, label_indexes)
    check_listed(table, (0, 2), entities.by_id, entities)
    names, places = None, None
    if listed is None:  # relations are numbered by their ids, and have no names
        ids = np.sort(parse_ids(relations, [(table, 1)]))
        _, places = sort_labels(relations, int)
    else:
        check_listed(table, (1,), relations, listed)
        ids, names = listed.ids, listed.names
    triples = table.array(None, places, None)
    return Graph(triples, len(entities.ids), entities.names, names, entities.ids, ids)


def _read_dbp15k_pairs(root: str, name: str, lists: Sequence[IdList]) -> IntArray:
    table = read_table(
        "folder", required_file(root, name), PAIR_COLUMNS, [listed.by_id for listed in lists]
    )
    for j, listed in enumerate(lists):
        check_listed(table, (j,), listed.by_id, listed)
    return table.array(None, None)


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
        integer("fold", fold, expected="an int")
    return _read_openea(os.fsdecode(folder), fold, folds)


def _read_openea(root: str, fold: int | None, folds: str) -> AlignmentData:
    sides = [_GraphFiles(root, k) for k in (1, 2)]
    tables: dict[str, FileTable] = {}
    find_links = required_file if fold is None else optional_file
    links = find_links(root, "ent_links")
    if links is not None:
        tables["ent_links"] = _read_links(links, sides)
    if fold is not None:
        for split in SPLITS:
            name = os.path.join(folds, str(fold), f"{split}_links")
            path = (optional_file if split == "valid" else required_file)(root, name)
            if path is not None:
                tables[split] = _read_links(path, sides, empty=split == "valid")
    if links is not None and fold is not None:
        _check_fold_pairs(tables)
    left, right = sides
    orders = left.entities.places(), right.entities.places()
    pairs = {name: table.array(*orders) for name, table in tables.items()}
    splits = {name: pairs[name] for name in SPLITS if name in pairs and len(pairs[name])}
    all_pairs = distinct_pairs([pairs["ent_links"]] if links is not None else list(splits.values()))
    return AlignmentData(left.graph(), right.graph(), all_pairs, splits)


class _NameSource:
    """The names of entities or relations: those of a list, or all names that occur."""

    def __init__(self, root: str, name: str) -> None:
        path = optional_file(root, name)
        self.listed: IdList | None = None
        self.label_index = LabelIndex()
        if path is not None:
            self.listed = read_list("folder", path, distinct=True)
            self.label_index = self.listed.by_name

    def check(self, table: FileTable, columns: Sequence[int]) -> None:
        if self.listed is not None:
            check_listed(table, columns, self.label_index, self.listed)

    def places(self) -> IntArray | None:
        """Return the id of each label, or None if ids are the numbers of labels."""
        return (
            sort_labels(self.label_index, numeric_key(self.label_index))[1]
            if self.listed is None
            else None
        )

    def names(self) -> tuple[str, ...]:
        if self.listed is not None:
            return self.listed.names
        return tuple(sort_labels(self.label_index, numeric_key(self.label_index))[0])

    def ids(self) -> IntArray | None:
        return None if self.listed is None else self.listed.ids


class _GraphFiles:
    """The triples of one graph, before all names are known."""

    def __init__(self, root: str, k: int) -> None:
        self.entities = _NameSource(root, f"ent_ids_{k}")
        self.relations = _NameSource(root, f"rel_ids_{k}")
        label_indexes = [
            self.entities.label_index,
            self.relations.label_index,
            self.entities.label_index,
        ]
        path = required_file(root, f"rel_triples_{k}")
        self.table = read_table("folder", path, TRIPLE, label_indexes)
        self.entities.check(self.table, (0, 2))
        self.relations.check(self.table, (1,))

    def graph(self) -> Graph:
        """Return the graph; all pairs must have been read before."""
        places, names = self.entities.places(), self.entities.names()
        triples = self.table.array(places, self.relations.places(), places)
        further = self.relations.names(), self.entities.ids(), self.relations.ids()
        return Graph(triples, len(names), names, *further)


def _read_links(path: str, sides: Sequence[_GraphFiles], *, empty: bool = False) -> FileTable:
    table = read_table(
        "folder", path, PAIR_COLUMNS, [side.entities.label_index for side in sides], empty=empty
    )
    for j, side in enumerate(sides):
        side.entities.check(table, (j,))
    return table


def _check_fold_pairs(tables_by_name: dict[str, FileTable]) -> None:
    """Refuse a pair of a fold that is not in ent_links."""
    tables = list(tables_by_name.values())
    columns = [np.concatenate([table.columns[j] for table in tables]) for j in (0, 1)]
    keys = row_keys(columns)
    ends = np.cumsum([len(table) for table in tables])
    known = np.unique(keys[: ends[0]])
    for table, keys_of_split in zip(tables[1:], np.split(keys, ends[:-1])[1:], strict=True):
        found, _ = look_up(known, keys_of_split)
        if len(found) < len(keys_of_split):
            missing = np.setdiff1d(np.arange(len(keys_of_split)), found)
            raise table.error_in_row(int(missing[0]), f"the pair is not in {tables[0].path}")


class _FileColumn(Column):
    """A column of a file: `row_noun` is the path, and messages name the line."""

    def where(self, row: int) -> str:
        return f"line {line_of(self.what, row)}"


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
        raise InputTypeError(
            "pairs", expected="a path or a dict of paths", got=type(pairs).__name__
        )
    is_mapping = isinstance(pairs, Mapping)
    named = {f'pairs["{k}"]': v for k, v in pairs.items()} if is_mapping else {"pairs": pairs}  # type: ignore[union-attr]
    if not named:
        raise InputValueError("pairs", expected="at least one file", got="none")
    files = {name: _check_path(name, path) for name, path in named.items()}
    sides = {"left": (left, left_triples), "right": (right, right_triples)}
    graphs, pairs_of_files = _read_pairs(files, sides)
    if not is_mapping:
        return AlignmentData(graphs[0], graphs[1], pairs_of_files[0])
    splits = dict(zip(pairs, pairs_of_files, strict=True))  # type: ignore[arg-type]
    return AlignmentData(graphs[0], graphs[1], distinct_pairs(pairs_of_files), splits)


def _read_pairs(
    files: Mapping[str, str], sides: Mapping[str, tuple[Any, Any]]
) -> tuple[list[Graph], list[IntArray]]:
    """Read both graphs, and the pairs of each file; a side has its entities and its triples."""
    label_indexes = LabelIndex(), LabelIndex()
    links = [read_table(name, path, PAIR_COLUMNS, label_indexes) for name, path in files.items()]
    ids_of_sides: list[list[IntArray]] = []
    graphs = []
    for j, (side, (names_or_size, triples)) in enumerate(sides.items()):
        relations = LabelIndex()
        columns_of_side = [(table, j) for table in links]
        triple_table = None
        if triples is not None:
            name = f"{side}_triples"
            triple_table = read_table(
                name,
                _check_path(name, triples),
                TRIPLE,
                [label_indexes[j], relations, label_indexes[j]],
            )
            columns_of_side += [(triple_table, 0), (triple_table, 2)]
        columns = [
            _file_column(table, position, label_indexes[j]) for table, position in columns_of_side
        ]
        entities, ids = encode_columns(side, f"{side} entity", names_or_size, columns)
        ids_of_sides.append(ids[: len(links)])
        graphs.append(
            _make_graph(triple_table, ids[len(links) :], entities.size, entities.names, relations)
        )
    return graphs, [np.stack(both, axis=1) for both in zip(*ids_of_sides, strict=True)]


def _make_graph(
    facts: FileTable | None,
    ends: Sequence[IntArray],
    size: int,
    names: tuple[str, ...] | None,
    relations: LabelIndex,
) -> Graph:
    """Make a graph of triples, whose heads and tails are ids."""
    if facts is None:
        return Graph(size=size, names=names)
    labels, places = sort_labels(relations, numeric_key(relations))
    triples = np.stack([ends[0], places[facts.columns[1]], ends[1]], axis=1)
    return Graph(triples, size, names, tuple(labels))


def _file_column(table: FileTable, position: int, label_index: LabelIndex) -> Column:
    return _FileColumn(table.where, position, table.columns[position], label_index, table.path)


def _check_path(name: str, path: object) -> str:
    if not is_path(path):
        raise InputTypeError(name, expected="a path", got=type(path).__name__)
    return os.fsdecode(path)  # type: ignore[arg-type]
