"""Triples: splits in any form, read as ids of one vocabulary for all splits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputValueError
from ..naming import public
from ..records.columns import FACTS
from ..records.splits import SplitTables, read_tables

if TYPE_CHECKING:
    from ..arrays.types import IntArray
    from ..records.vocabularies import Names


# The columns of a triple that make the queries of a side, and that of the answers. Tasks come in
# this order of sides.
SIDES: dict[str, tuple[tuple[int, ...], int]] = {
    "head": ((1, 2), 0),
    "tail": ((0, 1), 2),
    "relation": ((0, 2), 1),
}


@public("truerank.link_prediction")
class Triples(NamedTuple):
    """Triples as ids, and the labels of the ids.

    Attributes
    ----------
    ids : ndarray of int64, shape (n, 3 + qualifiers)
        Head, relation and tail, then further columns.
    entities, relations : tuple of str, tuple of int, or None
        The labels in the order of the ids; None if the triples held ids.
    qualifiers : tuple
        The labels of each further column, or None.
    """

    ids: IntArray
    entities: Names
    relations: Names
    qualifiers: tuple[tuple[str, ...] | None, ...] = ()


@public("truerank.link_prediction")
def read_triples(
    triples: Any,
    *,
    entities: Any = None,
    relations: Any = None,
    columns: Mapping[str, str | int] | None = None,
    header: bool | None = None,
) -> Triples:
    """Read triples of any form into ids.

    Parameters
    ----------
    triples : path, table, rows, or tuple of columns
        Head, relation, tail, then any further columns, in a form that `Task` takes; or a file of
        OpenKE (``train2id.txt``), whose first line counts the others, of head, tail and relation in
        this order. What an element names is said by `entities` and `relations`, as in `Task`. Text
        holds labels, unless `entities` is an int or has labels that are int: then it holds
        integers, and integers of relations too unless `relations` names them.
    entities, relations : None, int, sequence of str or of int, mapping of these to int, or path
        None: the labels that occur, in ascending order (by code point), or ids from 0 to the
        largest; an error if all labels are numbers written like ids. An int: the number of ids.
        Labels in the order of their ids, a mapping to ids, or a file of them, as in `Task`.
    columns : dict of str to (str or int), optional
        The name or the number of the column of "head", "relation" and "tail"; no others are read.
    header : bool, optional
        Whether the first line of a file names its columns, as in `Task`.

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
        range, unknown labels, and labels that are all numbers if neither their number nor their
        order is given.
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
    orders = {"entities": entities, "relations": relations}
    tables = read_tables(
        {"triples": ("triples", triples)}, FACTS, orders, columns=columns, header=header
    )
    entities, relations, _, *further = tables.vocabularies.values()
    qualifiers = tuple(vocabulary.words for vocabulary in further)
    ids = np.ascontiguousarray(tables.rows)
    return Triples(ids, entities.names, relations.names, qualifiers)


def read_splits(
    splits: Mapping[str, tuple[str, Any]],
    entities: Any,
    relations: Any,
    *,
    keys: Any = None,
    columns: Any = None,
    header: bool | None = None,
) -> SplitTables:
    """Read splits over one vocabulary.

    Parameters
    ----------
    splits : dict of str to (str, object)
        By name: the title of the split in messages, and the split as `read_triples` takes it.
    entities, relations, columns, header : optional
        As `read_triples` takes them.
    keys : optional
        As `Task` takes them. Without them a further column is refused, or left out where it has one
        value in all splits.
    """
    tables = read_tables(
        splits,
        FACTS,
        {"entities": entities, "relations": relations},
        columns=columns,
        header=header,
        has_further=keys is not None,
        refuses_further=keys is None,
    )
    tested = next(iter(splits))
    if not tables.tested:
        raise InputValueError(tested, expected="at least one triple", got="none")
    return tables
