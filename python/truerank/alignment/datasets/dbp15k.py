"""The layout of DBP15k, as JAPE and GCN-Align have it: ids, which are unique over both graphs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...tasks.text import TRIPLE
from ...tasks.vocabularies import Words
from .data import AlignmentData
from .graphs import Graph
from .tables import (
    PAIR,
    Listed,
    as_ids,
    check_listed,
    file_in,
    in_order,
    optional_file,
    read_list,
    read_table,
)

if TYPE_CHECKING:
    from ...inputs.arrays import IntArray

# The files of splits, in the order in which they are looked for.
_DIVIDED = (
    {"train": "sup_pairs", "test": "ref_pairs"},
    {"train": "sup_ent_ids", "test": "ref_ent_ids"},
)


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

    Entities get the ids 0, 1, ... of the lines of ent_ids_1 and of ent_ids_2, each graph from 0.
    Relations get those of the lines of rel_ids_1 and rel_ids_2; without such files, those found, in
    the order of their ids. What the files called them is kept (``data.left.ids``,
    ``data.left.relation_ids``). Any file may be gzipped, with .gz after its name. Attributes are
    not read.

    Parameters
    ----------
    folder : str or path-like

    Returns
    -------
    AlignmentData
        ``splits`` has "train" and "test" where the folder has them, else nothing. ``pairs`` are all
        of both, each once. Ids start at 0 in each graph, in the order of its file: where one matrix
        has the vectors of both graphs by the file's own ids, those of the graphs are
        ``vectors[data.left.ids]`` and ``vectors[data.right.ids]``.

    Raises
    ------
    OSError
        For a file that is missing or damaged.
    ValueError
        For a line with another number of columns, an id that occurs twice or is no number, an
        entity in a triple or a pair that ent_ids have not, text that is not in UTF-8, and a file
        without lines; it names file and line.

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
    lists = [read_list("folder", file_in(root, f"ent_ids_{k}")) for k in (1, 2)]
    left, right = (_graph(root, k, listed) for k, listed in zip((1, 2), lists, strict=True))
    files = next((files for files in _DIVIDED if optional_file(root, files["train"])), None)
    if files is None:
        return AlignmentData(left, right, each_once([_pairs(root, "ref_ent_ids", lists)]))
    splits = {split: _pairs(root, name, lists) for split, name in files.items()}
    return AlignmentData(left, right, each_once(list(splits.values())), splits)


def each_once(parts: Sequence[IntArray]) -> IntArray:
    """Give the pairs of all parts, those that came before left out."""
    pairs = np.concatenate(parts)
    _, first = np.unique(pairs, axis=0, return_index=True)
    return pairs[np.sort(first)]


def _graph(root: str, k: int, entities: Listed) -> Graph:
    """Read the triples of a graph, whose entities are listed."""
    found = optional_file(root, f"rel_ids_{k}")
    listed = None if found is None else read_list("folder", found)
    relations = Words() if listed is None else listed.by_id
    path = file_in(root, f"triples_{k}")
    words = [entities.by_id, relations, entities.by_id]
    table = read_table("folder", path, TRIPLE, words)
    check_listed(table, (0, 2), entities.by_id, entities)
    names, places = None, None
    if listed is None:  # relations are numbered in the order of their ids, and have no names
        ids = np.sort(as_ids(relations, [(table, 1)]))
        _, places = in_order(relations, int)
    else:
        check_listed(table, (1,), relations, listed)
        ids, names = listed.ids, listed.names
    triples = table.array(None, places, None)
    return Graph(triples, len(entities.ids), entities.names, names, entities.ids, ids)


def _pairs(root: str, name: str, lists: Sequence[Listed]) -> IntArray:
    table = read_table("folder", file_in(root, name), PAIR, [listed.by_id for listed in lists])
    for j, listed in enumerate(lists):
        check_listed(table, (j,), listed.by_id, listed)
    return table.array(None, None)
