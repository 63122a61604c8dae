"""Vocabularies: labels of entities and relations, and the ids that stand for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..inputs.arrays import index_array
from ..inputs.checks import check_shape, distinct_names, integer, is_integer, is_iterable
from ..inputs.errors import InputTypeError, InputValueError

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray

MAX_IDS = 1 << 36  # ids of a vocabulary: keys of two entities and a relation stay possible

_NO_NUMBER = int(np.iinfo(np.int64).min)  # of a label


class LabelIndex:
    """The distinct labels that were read, numbered in the order in which they first occur."""

    __slots__ = ("codes",)

    def __init__(self) -> None:
        # the first look-up of a label numbers it: one look-up per field, and no Python code
        self.codes: defaultdict[str, int] = defaultdict(count().__next__)

    def encode(self, labels: Sequence[str]) -> IntArray:
        """Return the number of each label; new labels are added."""
        return np.fromiter(map(self.codes.__getitem__, labels), dtype=np.int64, count=len(labels))


class Column(NamedTuple):
    """One column of a split: ids, or numbers of labels."""

    split: str
    position: int
    values: IntArray
    label_index: LabelIndex | None = None
    path: str = ""  # of a file whose lines are its rows

    def where(self, row: int) -> str:
        """Return the place of an entry, for messages."""
        return f"column {self.position} of row {row}"


class Vocabulary(NamedTuple):
    """The number of ids, their labels if there are any, and whose they are, for messages."""

    size: int
    names: tuple[str, ...] | None
    of: str = "entities"

    @classmethod
    def read(cls, name: str, order: object) -> Vocabulary:
        """Read a vocabulary.

        Parameters
        ----------
        name : str
            The argument, "entities" or "relations".
        order : int, sequence of str, or mapping of str to int
            The number of ids, labels in the order of their ids, or a mapping to ids.

        Raises
        ------
        TypeError, ValueError
            For anything else, labels that occur twice, and ids that are not 0, 1, 2, ...

        Examples
        --------
        >>> Vocabulary.read("entities", {"b": 1, "a": 0})
        Vocabulary(size=2, names=('a', 'b'), of='entities')
        """
        if is_integer(order):
            size = integer(name, order, least=1, most=MAX_IDS)
            return cls(size, None, name)
        expected = "an int, a sequence of labels, or a mapping of labels to the ids 0, 1, 2, ..."
        if isinstance(order, Mapping):
            labels = sorted(order, key=order.__getitem__)
            if wrong := [label for i, label in enumerate(labels) if order[label] != i]:
                got = f"{order[wrong[0]]!r} for {wrong[0]!r}"
                raise InputValueError(name, expected=expected, got=got)
            order = labels
        names = distinct_names(name, order, expected)
        if not names:
            raise InputValueError(name, expected="at least one label", got="none")
        return cls(len(names), names, name)

    @property
    def expected(self) -> str:
        """What messages expect.

        Examples
        --------
        >>> Vocabulary(2, ("a", "b")).expected, Vocabulary(2, None, "relations").expected
        ("labels of entities, as 'a', or ids from 0 to 1", 'ids of relations from 0 to 1')
        """
        ids = f"from 0 to {self.size - 1}"
        if not self.names:
            return f"ids of {self.of} {ids}"
        return f"labels of {self.of}, as {self.names[0]!r}, or ids {ids}"

    def label_of(self, code: int) -> str | int:
        """Return the label of an id, or the id if there are no labels."""
        return code if self.names is None else self.names[code]

    def numbers(self, labels: Iterable[str]) -> dict[str, int]:
        """Return the id of each label that has one; where ids have no labels, of digits."""
        if self.names is not None:
            return dict(zip(self.names, range(self.size), strict=True))
        return {label: int(label) for label in labels if is_integer_text(label)}

    def codes_of(self, names: Sequence[str]) -> IntArray:
        """Return the ids of names, -1 for those without one; where ids have no labels, of digits.

        Examples
        --------
        >>> Vocabulary(2, ("a", "b")).codes_of(["b", "c"]), Vocabulary(2, None).codes_of(["1", "2"])
        (array([ 1, -1]), array([ 1, -1]))
        """
        if self.names is not None:
            return _core.codes_among(names, self.names)
        ids = self.numbers(names)
        codes = np.array([ids.get(name, -1) for name in names], dtype=np.int64)
        return np.where(codes < self.size, codes, -1)

    def ids_of(
        self, name: str, values: Any, where: Callable[[int], str] = "at position {}".format
    ) -> IntArray:
        """Return the ids of labels or ids.

        Parameters
        ----------
        name : str
            The argument.
        values : array_like of int or str, shape (n,)
        where : callable, optional
            The place of an entry, for messages.

        Raises
        ------
        TypeError, ValueError
            For anything else, ids out of range, and unknown labels.

        Examples
        --------
        >>> Vocabulary(3, ("a", "b", "c")).ids_of("candidates", ["b", "a", "b"])
        array([1, 0, 1])
        """
        if isinstance(values, str) or not is_iterable(values):
            raise InputTypeError(name, expected=self.expected, got=repr(values))
        listed = values if isinstance(values, (list, tuple)) else np.asarray(values)
        if len(listed) and isinstance(listed[0], str):
            ids = self.codes_of(list(listed))
        else:
            ids = index_array(name, listed)
            check_shape(name, ids.shape, 1, "a 1-D array")
        if (wrong := _core.first_outside(ids, self.size)) >= 0:
            got = f"{np.asarray(listed[wrong]).tolist()!r} {where(wrong)}"
            raise InputValueError(name, expected=self.expected, got=got)
        return ids


def encode_columns(
    name: str, order: object, columns: Sequence[Column]
) -> tuple[Vocabulary, list[IntArray]]:
    """Turn columns into ids by the given vocabulary, or by one made of their labels.

    Parameters
    ----------
    name : str
        The argument, "entities" or "relations".
    order : object
        As `Vocabulary.read` takes it; None: the labels in ascending order, or ids from 0 to the
        largest. It is refused if all labels are numbers: in ascending order, "10" would come before
        "2". Text holds ids if there are no labels.
    columns : sequence of Column
        All columns with these labels or ids.

    Returns
    -------
    Vocabulary
    list of ndarray of int64
        The ids of each column.

    Raises
    ------
    TypeError, ValueError
        For a vocabulary of another type, ids out of range, and labels that are unknown or no ids.

    Examples
    --------
    >>> label_index = LabelIndex()
    >>> column = Column("test", 0, label_index.encode(["b", "a", "b"]), label_index)
    >>> encode_columns("entities", None, [column])
    (Vocabulary(size=2, names=('a', 'b'), of='entities'), [array([1, 0, 1])])
    """
    labels = distinct_labels(columns)
    if order is None and labels:
        refuse_ids(columns)
        order = sorted(labels)
        if all(map(is_id, order)):
            way = f"give {name}=<int>, how many ids there are, or the labels in their order"
            problem = f"all labels of {name} are numbers, as {order[0]!r}; {way}"
            raise InputValueError(name, problem)
    vocabulary = Vocabulary.read(name, MAX_IDS if order is None else order)
    ids = numbers_of(columns, vocabulary.numbers(labels), vocabulary.expected)
    for column, values in zip(columns, ids, strict=True):
        row = _core.first_outside(np.ascontiguousarray(values), vocabulary.size)
        if row >= 0:
            got = f"{values[row]} in {column.where(row)}"
            raise InputValueError(column.split, expected=vocabulary.expected, got=got)
    if order is None:
        largest = max([-1, *(int(values.max(initial=-1)) for values in ids)])
        vocabulary = Vocabulary(largest + 1, None, name)
    return vocabulary, ids


def distinct_labels(columns: Sequence[Column]) -> set[str]:
    """Return the labels of some columns, most of which share an index."""
    indexes = {column.label_index for column in columns if column.label_index is not None}
    return set().union(*(index.codes for index in indexes))


def refuse_ids(columns: Sequence[Column]) -> None:
    """Refuse columns of ids beside those of labels."""
    for column in columns:
        if len(column.values) and column.label_index is None:
            got = f"ids in column {column.position}"
            raise InputValueError(column.split, expected="labels, as other splits have", got=got)


def numbers_of(
    columns: Sequence[Column], numbers: Mapping[str, int], expected: str = ""
) -> list[IntArray]:
    """Return the number of each label of some columns; ids stay as they are.

    Parameters
    ----------
    columns : sequence of Column
    numbers : mapping of str to int
    expected : str, optional
        What the error for a label without a number expects. Left out where all labels have one.

    Examples
    --------
    >>> index = LabelIndex()
    >>> column = Column("test", 3, index.encode(["b", "a", "b"]), index)
    >>> numbers_of([column], {"a": -5, "b": 7})
    [array([ 7, -5,  7])]
    """
    tables: dict[LabelIndex | None, IntArray] = {}
    of_columns = []
    for column in columns:
        index, values = column.label_index, column.values
        if index is not None:
            if index not in tables:
                listed = [numbers.get(label, _NO_NUMBER) for label in index.codes]
                tables[index] = np.array(listed, dtype=np.int64)
            values = tables[index][values]
            missing = values == _NO_NUMBER  # labels that no row has may be without a number
            if expected and missing.any():
                row = int(missing.argmax())
                label = list(index.codes)[column.values[row]]
                got = f"{label!r} in {column.where(row)}"
                raise InputValueError(column.split, expected=expected, got=got)
        of_columns.append(values)
    return of_columns


def parse_integers(columns: Sequence[Column]) -> list[IntArray]:
    """Read the labels of columns, where there are any, as integers."""
    numbers = Vocabulary(0, None).numbers(distinct_labels(columns))
    return numbers_of(columns, numbers, "integers, as no labels are given")


def is_id(label: str) -> bool:
    """Return whether this is written like an id: digits without a sign or leading zeros."""
    return label.isascii() and label.isdecimal() and (label[0] != "0" or label == "0")


def is_label(value: object) -> bool:
    """Return whether this is a str that is not empty."""
    return isinstance(value, str) and value != ""


def is_integer_text(text: str) -> bool:
    """Return whether this is an integer of at most 18 digits, perhaps negative."""
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19


def selection_name(*lists: IntArray) -> str:
    """Return what a protocol calls chosen candidates, given as ids: of one side, or of several.

    Examples
    --------
    >>> selection_name(np.array([0, 1]))
    'selection of 2 (3ea97a77)'
    """
    return f"selection of {' x '.join(str(len(ids)) for ids in lists)} ({digest(*lists)})"


def digest(*lists: IntArray) -> str:
    """Return 8 hex digits that tell sets of ids apart in a name.

    Examples
    --------
    >>> digest(np.array([0, 1])) == digest(np.array([0, 2]))
    False
    """
    from hashlib import blake2b

    joined = b"".join(ids.astype("<i8").tobytes() for ids in lists)
    return blake2b(joined, digest_size=4).hexdigest()
