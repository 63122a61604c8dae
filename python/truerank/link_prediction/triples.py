"""Triples: splits in any of their forms, read into ids with one vocabulary for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.naming import public
from ..tasks.split_columns import read_columns, stack_splits
from ..tasks.text import RowForm
from ..tasks.vocabularies import (
    Column,
    Vocabulary,
    encode_columns,
    encode_qualifier,
    parse_integers,
)

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray


TRIPLE_FORM = RowForm("triple", ("head", "relation", "tail"), (0, 1, 0), more_columns=True)
# side -> (the columns that are given, the one that is asked for); its order is that of the tasks
SIDES = {"head": ((1, 2), 0), "tail": ((0, 1), 2), "relation": ((0, 2), 1)}


@public("truerank.link_prediction")
class Triples(NamedTuple):
    """Triples as ids, and what the ids stand for.

    Attributes
    ----------
    ids : ndarray of int64, shape (n, 3 + qualifiers)
        Head, relation, tail, then the qualifiers.
    entities, relations : tuple of str, or None
        The labels in the order of the ids; None where the triples held ids.
    qualifiers : tuple
        The labels of each further column, or None.
    """

    ids: IntArray
    entities: tuple[str, ...] | None
    relations: tuple[str, ...] | None
    qualifiers: tuple[tuple[str, ...] | None, ...] = ()


class TripleSplits(NamedTuple):
    """Some splits as ids over one vocabulary.

    Attributes
    ----------
    triples : ndarray of int64, shape (n, 3 + qualifiers)
        Of all splits, one after the other; column by column in memory, as they are read.
    sizes : dict of str to int
        How many triples each split has; the evaluated one comes first.
    entities, relations : Vocabulary
    qualifiers : tuple
    """

    triples: IntArray
    sizes: dict[str, int]
    entities: Vocabulary
    relations: Vocabulary
    qualifiers: tuple[tuple[str, ...] | None, ...]

    @property
    def known(self) -> list[str]:
        """The names of all splits but the evaluated one."""
        return list(self.sizes)[1:]

    def labels_of(self, triple: Sequence[int]) -> tuple[str | int, ...]:
        """Give a triple by its labels, where there are any."""
        first = (
            self.entities.label_of(int(triple[0])),
            self.relations.label_of(int(triple[1])),
            self.entities.label_of(int(triple[2])),
        )
        qualifiers = zip(triple[3:], self.qualifiers, strict=True)
        return (*first, *(Vocabulary(0, names).label_of(int(code)) for code, names in qualifiers))


@public("truerank.link_prediction")
def read_triples(triples: Any, *, entities: Any = None, relations: Any = None) -> Triples:
    """Read triples of any form into ids.

    Parameters
    ----------
    triples : array of int or str, shape (n, 3+), list of tuples, or path
        Head, relation, tail, then any qualifiers. An array or tuples of integers hold ids, of str
        labels. A path ending in .npy is an array of ids; any other file is tab-separated text in
        UTF-8, gzipped where the name ends in .gz. Text holds labels, unless `entities` is an int:
        then it holds ids, also of relations, unless `relations` names those.
    entities, relations : None, int, sequence of str, or mapping of str to int
        None: the labels found, in ascending order (by code point), or ids from 0 to the largest;
        an error where all labels are numbers as ids are written. An int: how many ids there are.
        Labels in the order of their ids, or a mapping to ids.

    Returns
    -------
    Triples
        ``ids`` (int64), and the labels of ``entities`` and ``relations``.

    Raises
    ------
    TypeError
        For anything else, and for floats.
    ValueError
        For fewer than three columns, lines of another width (with file and line), ids out of
        range, unknown labels, and labels that are all numbers where neither their number nor
        their order is given.
    OSError
        For a file that is missing or damaged.

    Examples
    --------
    >>> triples = read_triples([("b", "likes", "a"), ("a", "knows", "b")])
    >>> triples.ids
    array([[1, 1, 0],
           [0, 0, 1]])
    >>> triples.entities, triples.relations
    (('a', 'b'), ('knows', 'likes'))
    """
    splits = read_splits({"triples": ("triples", triples)}, entities, relations)
    names = splits.entities.names, splits.relations.names
    return Triples(np.ascontiguousarray(splits.triples), *names, splits.qualifiers)


def read_splits(
    splits: Mapping[str, tuple[str, Any]], entities: Any, relations: Any
) -> TripleSplits:
    """Read splits over one vocabulary.

    Parameters
    ----------
    splits : dict of str to (str, object)
        By name: what to call it in messages, and the split as `read_triples` takes one.
    entities, relations : optional
        As `read_triples` takes them.
    """
    read = read_columns(splits, TRIPLE_FORM)
    width = len(next(iter(read.values())))
    numbered = isinstance(entities, (int, np.integer))
    both = [column for columns in read.values() for column in (columns[0], columns[2])]
    entity, ids = encode_columns("entities", "entity", entities, both)
    if (
        numbered
        and relations is None
        and any(columns[1].label_index is not None for columns in read.values())
    ):
        relations = _count_relations([columns[1] for columns in read.values()])
    relation, middle = encode_columns(
        "relations", "relation", relations, [columns[1] for columns in read.values()]
    )
    columns_of = [ids[0::2], middle, ids[1::2]]
    names = []
    for j in range(3, width):
        found, codes = encode_qualifier([columns[j] for columns in read.values()], numbered)
        columns_of.append(codes)
        names.append(found)
    sizes = {name: len(columns[0].values) for name, columns in read.items()}
    return TripleSplits(stack_splits(columns_of), sizes, entity, relation, tuple(names))


def _count_relations(columns: Sequence[Column]) -> int:
    """How many relations there are where text holds their ids."""
    tops = (
        int(parse_integers("relations", "relation", column).max())
        for column in columns
        if len(column.values)
    )
    return max([0, *tops]) + 1
