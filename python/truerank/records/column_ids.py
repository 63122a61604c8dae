"""Columns of splits, whose entries are integers or labels, turned into ids by a vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import _core
from ..arrays.row_keys import occurrences_of
from ..errors import InputValueError
from .elements import is_id, is_integer_text
from .text import line_of
from .vocabularies import MAX_IDS, LabelIndex, Vocabulary

if TYPE_CHECKING:
    from ..arrays.types import IntArray
    from .elements import Elements

_LEAST_LINES = 10  # Shorter files are not asked whether their first line is a header.
_NO_NUMBER = int(np.iinfo(np.int64).min)  # It stands for a label that no number was given.


class IdColumn(NamedTuple):
    """One column of a split: integers, or numbers of labels.

    Attributes
    ----------
    split : str
        The split, for messages, and its file.
    position : int
    values : ndarray of int64, shape (n,)
    label_index : LabelIndex, or None
        What the numbers stand for; None: the values are integers.
    path : str
        Of a file whose lines are its rows.
    is_text : bool
        Whether its labels are fields of text, which have no type.
    are_positions : bool
        Whether its integers are positions, whatever the labels are.
    has_header : bool
        Whether the first line of the file is none of its rows.
    """

    split: str
    position: int
    values: IntArray
    label_index: LabelIndex | None = None
    path: str = ""
    is_text: bool = False
    are_positions: bool = False
    has_header: bool = False

    def where(self, row: int) -> str:
        """Return the place of an entry, for messages."""
        if self.is_text and not self.path:  # Rows are not lines: comments and repeats went.
            return f"column {self.position}"
        place = f"line {line_of(self.path, row + self.has_header)}" if self.path else f"row {row}"
        return f"column {self.position} of {place}"

    def entry(self, row: int) -> str | int:
        """Return a label or an integer, for messages."""
        number = int(self.values[row])
        if self.label_index is None:
            return number
        return list(self.label_index.codes)[number]


def refuse_unsaid_header(columns: Sequence[IdColumn], others: Sequence[IdColumn]) -> None:
    """Refuse the first line of a file of facts if it looks like a header of unknown names.

    It does if none of its fields occurs below the first line of any file, in a file of ten lines
    and more of which most have a relation that another line has, too.

    Parameters
    ----------
    columns : sequence of IdColumn
        Of the file: head, relation, tail, and further ones.
    others : sequence of IdColumn
        Those of all splits, which number their labels together.
    """
    if len(columns[0].values) < _LEAST_LINES:
        return
    relations = columns[1].values
    if (relations[1:] == relations[0]).any():  # Most files end the search here.
        return
    numbers = occurrences_of(relations)[1]
    if 2 * numbers[numbers > 1].sum() <= len(relations):
        return
    first = [str(column.entry(0)) for column in columns]
    for field, column in zip(first, columns, strict=True):
        for other in others:
            if other.label_index is column.label_index:
                is_it = other.values == column.values[0]
            elif other.label_index is None and is_integer_text(field):
                is_it = other.values == int(field)
            else:
                continue
            # All files of a task may begin with the same header, so the first line proves nothing.
            if other.path:
                is_it = is_it[1:]
            if is_it.any():
                return
    ways = "header=True says that it names the columns, header=False that it is a fact"
    expected = f"a first line with a field that occurs elsewhere, too, or with known names ({ways})"
    raise InputValueError(columns[0].split, expected=expected, got=repr("\t".join(first)))


def encode_columns(
    name: str, order: object, columns: Sequence[IdColumn]
) -> tuple[Vocabulary, list[IntArray]]:
    """Turn columns into ids by the given vocabulary, or by one made of their labels.

    Parameters
    ----------
    name : str
        The argument, "entities" or "relations".
    order : object
        As `Vocabulary.read` takes it; None: the labels in ascending order, or ids from 0 to the
        largest. It is refused if all labels are numbers: in ascending order, "10" would come before
        "2".
    columns : sequence of IdColumn
        All columns with these labels or ids.

    Returns
    -------
    Vocabulary
    list of ndarray of int64
        The ids of each column.

    Raises
    ------
    TypeError, ValueError
        For a vocabulary of another type, ids out of range, and what names nothing, as
        `Vocabulary.find` says.

    Examples
    --------
    >>> label_index = LabelIndex()
    >>> column = IdColumn("test", 0, label_index.encode(["b", "a", "b"]), label_index)
    >>> encode_columns("entities", None, [column])
    (Vocabulary(size=2, names=('a', 'b'), of='entities'), [array([1, 0, 1])])
    """
    labels = distinct_labels(columns)
    if order is None and labels:
        refuse_ids(columns)
        order = sorted(labels)
        if all(map(is_id, order)):
            remedy = f"give {name}=<int>, how many ids there are, or the labels in their order"
            problem = f"all labels of {name} are numbers, as {order[0]!r}; {remedy}"
            raise InputValueError(name, problem)
    has_ids_alone = order is None
    if has_ids_alone:
        order = MAX_IDS
    vocabulary = Vocabulary.read(name, order)
    ids = _ids_of_columns(vocabulary, columns)
    for column, values in zip(columns, ids, strict=True):
        row = _core.first_outside(np.ascontiguousarray(values), vocabulary.size)
        if row >= 0:
            got = f"{column.entry(row)!r} in {column.where(row)}"
            raise InputValueError(column.split, expected=vocabulary.expected, got=got)
    if has_ids_alone:
        largest = max((int(values.max(initial=-1)) for values in ids), default=-1)
        vocabulary = Vocabulary(largest + 1, None, name)
    return vocabulary, ids


def _ids_of_columns(vocabulary: Vocabulary, columns: Sequence[IdColumn]) -> list[IntArray]:
    """Return the position of each entry of some columns, -1 where it names nothing."""
    # Columns may share an index: each of its labels is looked up once.
    positions_of_labels: dict[tuple[LabelIndex, bool], IntArray] = {}
    ids_of_columns = []
    for column in columns:
        index = column.label_index
        ids = column.values
        if len(ids) and not column.are_positions:
            if index is None:
                ids = _find(vocabulary, column, ids)
            else:
                key = index, column.is_text
                if key not in positions_of_labels:
                    labels = list(index.codes)
                    if vocabulary.words is None and not column.is_text:
                        labels = [labels[ids[0]]]  # One label is enough, for the first is refused.
                    positions_of_labels[key] = _find(vocabulary, column, labels)
                ids = positions_of_labels[key][ids]
        ids_of_columns.append(ids)
    return ids_of_columns


def _find(vocabulary: Vocabulary, column: IdColumn, elements: Elements) -> IntArray:
    """Return what elements of a column name, with messages about the column."""

    def where(row: int) -> str:
        return f"in {column.where(row)}"

    return vocabulary.find(column.split, elements, is_text=column.is_text, where=where)


def distinct_labels(columns: Sequence[IdColumn]) -> set[str]:
    """Return the labels of some columns, most of which share an index."""
    indexes = {column.label_index for column in columns if column.label_index is not None}
    return set().union(*(index.codes for index in indexes))


def refuse_ids(columns: Sequence[IdColumn]) -> None:
    """Refuse columns of ids beside those of labels."""
    for column in columns:
        if len(column.values) and column.label_index is None:
            got = f"ids in column {column.position}"
            raise InputValueError(column.split, expected="labels, as other splits have", got=got)


def numbers_of(
    columns: Sequence[IdColumn], numbers: Mapping[str, int], expected: str = ""
) -> list[IntArray]:
    """Return the number of each label of some columns; ids stay as they are.

    Parameters
    ----------
    columns : sequence of IdColumn
    numbers : mapping of str to int
    expected : str, optional
        What the error for a label without a number expects. Left out where all labels have one.

    Examples
    --------
    >>> index = LabelIndex()
    >>> column = IdColumn("test", 3, index.encode(["b", "a", "b"]), index)
    >>> numbers_of([column], {"a": -5, "b": 7})
    [array([ 7, -5,  7])]
    """
    numbers_of_labels: dict[LabelIndex, IntArray] = {}
    numbers_of_columns = []
    for column in columns:
        index = column.label_index
        values = column.values
        if index is not None:
            if index not in numbers_of_labels:
                listed = [numbers.get(label, _NO_NUMBER) for label in index.codes]
                numbers_of_labels[index] = np.array(listed, dtype=np.int64)
            values = numbers_of_labels[index][values]
            is_missing = values == _NO_NUMBER  # Only labels that a row has need a number.
            if expected and is_missing.any():
                row = int(is_missing.argmax())
                got = f"{column.entry(row)!r} in {column.where(row)}"
                raise InputValueError(column.split, expected=expected, got=got)
        numbers_of_columns.append(values)
    return numbers_of_columns


def are_integers_in_text(columns: Sequence[IdColumn]) -> bool:
    """Return whether columns have labels only in text, where all are written as Python writes ints.

    Examples
    --------
    >>> index = LabelIndex()
    >>> column = IdColumn("test", 3, index.encode(["7", "-5"]), index, is_text=True)
    >>> are_integers_in_text([column]), are_integers_in_text([column._replace(is_text=False)])
    (True, False)
    """
    are_text = all(column.is_text for column in columns if column.label_index is not None)
    return are_text and all(map(is_integer_text, distinct_labels(columns)))


def parse_integers(columns: Sequence[IdColumn]) -> list[IntArray]:
    """Read the labels of text, where there are any, as integers."""
    labels = distinct_labels(columns)
    numbers = {label: int(label) for label in labels if is_integer_text(label)}
    return numbers_of(columns, numbers, "integers, as no labels are given")
