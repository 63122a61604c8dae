"""Triples: splits in any form, read as ids of one vocabulary for all splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays.row_keys import distinct
from ..errors import InputValueError
from ..naming import public
from ..records.column_ids import (
    IdColumn,
    are_integers_in_text,
    distinct_labels,
    encode_columns,
    numbers_of,
    parse_integers,
    refuse_ids,
)
from ..records.column_roles import FACTS
from ..records.split_columns import SplitReader, stack_splits
from ..records.text import RowForm
from ..records.vocabularies import Vocabulary

if TYPE_CHECKING:
    from ..arrays.types import IntArray
    from ..records.vocabularies import Names


TRIPLE_FORM = RowForm(
    ("head", "relation", "tail"),
    (0, 1, 0),
    more_columns=True,
    door=FACTS,
    counted=("head", "tail", "relation"),
)


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


@dataclass(frozen=True)
class TripleSplits:
    """Some splits as ids over one vocabulary.

    Attributes
    ----------
    triples : ndarray of int64, shape (n, 3 + qualifiers)
        The triples of all splits, one after the other; column by column in memory.
    sizes : dict of str to int
        The number of triples of each split; the evaluated one comes first.
    entities, relations : Vocabulary
    qualifiers : tuple
    notes : tuple of str
        What the user should know of the files.
    left_out : tuple of str
        The columns of each split that are not read.
    """

    triples: IntArray
    sizes: dict[str, int]
    entities: Vocabulary
    relations: Vocabulary
    qualifiers: tuple[tuple[str, ...] | None, ...]
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def known(self) -> list[str]:
        """The names of all splits but the evaluated one."""
        return list(self.sizes)[1:]

    @property
    def tested(self) -> int:
        """The number of triples of the evaluated split."""
        return next(iter(self.sizes.values()))

    def vocabulary_of(self, side: str) -> Vocabulary:
        """Return the vocabulary of the answers of a side."""
        if side == "relation":
            return self.relations
        return self.entities

    def ids_of(self, side: str, name: str) -> IntArray:
        """Return the distinct entities of a known split, or its relations."""
        rows = self.rows_of(name)
        if side == "relation":
            return distinct(self.triples[rows, 1])
        return distinct(np.concatenate([self.triples[rows, 0], self.triples[rows, 2]]))

    def rows_of(self, name: str) -> slice:
        """Return where one known split is, or all of them if none has that name."""
        ends = np.cumsum(list(self.sizes.values())).tolist()
        if name not in self.known:
            return slice(ends[0], ends[-1])
        place = self.known.index(name)  # The evaluated split comes before the known ones.
        return slice(ends[place], ends[place + 1])

    def columns_of(self, triples: IntArray) -> list[tuple[IntArray, Any]]:
        """Return the columns of some triples, with the labels of their ids."""
        names = [self.entities.names, self.relations.names, self.entities.names]
        names.extend(self.qualifiers)
        return list(zip(triples.T, names, strict=True))

    def labels_of(self, row: int) -> tuple[str | int, ...]:
        """Return a triple by its labels, or ids if there are no labels."""
        columns = [self.entities, self.relations, self.entities]
        columns.extend(Vocabulary(0, names) for names in self.qualifiers)
        codes = self.triples[row].tolist()
        return tuple(
            vocabulary.label_of(code) for vocabulary, code in zip(columns, codes, strict=True)
        )


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
    reader = SplitReader(TRIPLE_FORM, columns, has_further=False, header=header)
    columns_of_triples = reader.read_all({"triples": ("triples", triples)})
    further = range(3, len(columns_of_triples["triples"]))
    splits = _encode_splits(reader, columns_of_triples, entities, relations, further)
    return Triples(
        ids=np.ascontiguousarray(splits.triples),
        entities=splits.entities.names,
        relations=splits.relations.names,
        qualifiers=splits.qualifiers,
    )


def read_splits(
    splits: Mapping[str, tuple[str, Any]],
    entities: Any,
    relations: Any,
    *,
    keys: Any = None,
    columns: Any = None,
    header: bool | None = None,
) -> TripleSplits:
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
    reader = SplitReader(TRIPLE_FORM, columns, has_further=keys is not None, header=header)
    columns_by_split = reader.read_all(splits)
    tested = next(iter(splits))
    if not len(columns_by_split[tested][0].values):
        raise InputValueError(tested, expected="at least one triple", got="none")
    further = range(3, len(next(iter(columns_by_split.values()))))
    if keys is None:
        _leave_out(reader, columns_by_split, further)
        further = range(0)
    return _encode_splits(reader, columns_by_split, entities, relations, further)


def _leave_out(
    reader: SplitReader, columns_by_split: Mapping[str, list[IdColumn]], further: Sequence[int]
) -> None:
    """Leave further columns out that have one value; others belong to no query unsaid."""
    for j in further:
        name = repr(reader.further[j - 3]) if reader.further else f"column {j}"
        of_splits = [split[j] for split in columns_by_split.values() if len(split[j].values)]
        entries = {column.entry(0) for column in of_splits}
        if len(entries) > 1 or not all(map(_has_one_value, of_splits)):
            expected = (
                "3 columns (head, relation, tail); keys= says what others "
                'are, and columns={"head": ..., "relation": ..., "tail": ...} leaves them out'
            )
            got = f"{name}, as {of_splits[0].entry(0)!r} and others"
            raise InputValueError(of_splits[0].split, expected=expected, got=got)
        reader.left_out.append(f"all splits: {name}, which has one value")


def _has_one_value(column: IdColumn) -> bool:
    """Return whether all entries of a column are equal."""
    return bool((column.values == column.values[0]).all())


def _encode_splits(
    reader: SplitReader,
    columns_by_split: Mapping[str, list[IdColumn]],
    entities: Any,
    relations: Any,
    further: Sequence[int],
) -> TripleSplits:
    """Turn the columns of splits into ids over one vocabulary."""
    sizes = {name: len(columns[0].values) for name, columns in columns_by_split.items()}
    columns_of_splits = list(columns_by_split.values())
    heads_and_tails: list[IdColumn] = []
    for columns in columns_of_splits:
        heads_and_tails.extend([columns[0], columns[2]])
    columns_of_relations = [columns[1] for columns in columns_of_splits]
    entity, ids = encode_columns("entities", entities, heads_and_tails)
    # Where entities are a number or have labels that are int, text holds integers: relations
    # without a vocabulary are ids, too.
    holds_ids = entities is not None and entity.words is None
    has_text = any(column.is_text and len(column.values) for column in columns_of_relations)
    if relations is None and holds_ids and has_text:
        parts = parse_integers(columns_of_relations)
        relations = 1 + max(int(part.max(initial=0)) for part in parts)
    relation, relation_ids = encode_columns("relations", relations, columns_of_relations)
    to_stack = [ids[0::2], relation_ids, ids[1::2]]
    qualifiers = []
    for j in further:
        of_splits = [columns[j] for columns in columns_of_splits]
        names, ids_of_column = _encode_qualifier(of_splits, holds_ids)
        qualifiers.append(names)
        to_stack.append(ids_of_column)
    return TripleSplits(
        triples=stack_splits(to_stack),
        sizes=sizes,
        entities=entity,
        relations=relation,
        qualifiers=tuple(qualifiers),
        notes=tuple(reader.notes),
        left_out=tuple(reader.left_out),
    )


def _encode_qualifier(
    columns: Sequence[IdColumn], as_ids: bool
) -> tuple[tuple[str, ...] | None, list[IntArray]]:
    """Turn a column of qualifiers into codes.

    Labels are numbered in ascending order; if triples hold ids, integers in text stay integers.
    """
    labels = distinct_labels(columns)
    if not labels or (as_ids and are_integers_in_text(columns)):
        return None, parse_integers(columns)
    refuse_ids(columns)
    names = tuple(sorted(labels))
    id_of = {name: i for i, name in enumerate(names)}
    return names, numbers_of(columns, id_of)
