"""Vocabularies: labels of entities and relations, and the ids that stand for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..inputs.arrays import index_array
from ..inputs.checks import distinct_names, integer, is_integer
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.words import near_words
from .row_keys import distinct

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray

MAX_IDS = 1 << 36  # ids of a vocabulary: keys of two entities and a relation stay possible

_COMPARED = 20_000  # labels at most with which an unknown one is compared
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
    label_index: LabelIndex | None
    what: str = "triple"  # one of its rows

    def where(self, row: int) -> str:
        """Return the place of an entry, for messages."""
        return f"column {self.position} of {self.what} {row}"


class Vocabulary(NamedTuple):
    """The number of ids, and their labels if there are any."""

    size: int
    names: tuple[str, ...] | None

    def label_of(self, code: int) -> str | int:
        """Return the label of an id, or the id if there are no labels."""
        return code if self.names is None else self.names[code]

    def codes_of(self, names: Sequence[str]) -> IntArray:
        """Return the ids of names, -1 for those without one; where ids have no labels, of digits.

        Examples
        --------
        >>> Vocabulary(2, ("a", "b")).codes_of(["b", "c"]), Vocabulary(2, None).codes_of(["1", "2"])
        (array([ 1, -1]), array([ 1, -1]))
        """
        if self.names is not None:
            place = {name: code for code, name in enumerate(self.names)}
            return np.array([place.get(name, -1) for name in names], dtype=np.int64)
        ids = [int(name) if is_number(name) else -1 for name in names]
        return np.array([code if 0 <= code < self.size else -1 for code in ids], dtype=np.int64)


def encode_columns(
    name: str, what: str, order: object, columns: Sequence[Column]
) -> tuple[Vocabulary, list[IntArray]]:
    """Turn columns into ids by the given vocabulary, or by one made of their labels.

    Parameters
    ----------
    name : str
        The argument, "entities" or "relations".
    what : str
        The noun for one of them, for messages.
    given : None, int, sequence of str, or mapping of str to int
        None: the labels in ascending order, or ids from 0 to the largest. An int: the number of
        ids; text then holds ids too. Labels in the order of their ids, or a mapping to ids. None is
        refused if all labels are numbers: in ascending order, "10" would come before "2".
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
    >>> encode_columns("entities", "entity", None, [column])
    (Vocabulary(size=2, names=('a', 'b')), [array([1, 0, 1])])
    """
    labels, names = distinct_labels(columns), None
    if is_integer(order):
        size = integer(name, order, least=1, most=MAX_IDS)
        ids = parse_integers(name, what, columns)
    elif order is None and not labels:
        ids = [column.values for column in columns]
        size = 1 + max([-1, *(int(part.max(initial=-1)) for part in ids)])
    else:
        names = _listed_labels(name, order) if order is not None else _sorted_labels(name, columns)
        size = len(names)

        def unknown(column: Column, label: str, where: str) -> InputValueError:
            none_of = f"it is none of the {size} labels of {name}"
            return InputValueError(column.split, f"unknown {what} {label!r} in {where}; {none_of}")

        ids = numbers_of(columns, dict(zip(names, range(size), strict=True)), unknown)
    bound = min(size, MAX_IDS)
    for column, values in zip(columns, ids, strict=True):
        row = _core.first_outside(np.ascontiguousarray(values), bound)
        if row >= 0:
            upto = f" to {bound - 1}" if int(values[row]) >= 0 else " on"
            got = f"{values[row]} in {column.where(row)}"
            raise InputValueError(column.split, expected=f"{what} ids from 0{upto}", got=got)
    return Vocabulary(size, names), ids


def _sorted_labels(name: str, columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the labels of all columns in ascending order, which ids must not be mixed with."""
    filled = [column for column in columns if len(column.values)]
    with_ids = next((column.split for column in filled if column.label_index is None), None)
    if with_ids is not None:
        split = next(column.split for column in filled if column.label_index is not None)
        way = f"{with_ids} holds ids; give the labels of {name}"
        raise InputValueError(split, f"holds labels of {name}, but {way}")
    labels = sorted(distinct_labels(columns))
    if all(map(is_id, labels)):
        some = ", ".join(labels[:3]) + ", ..." * (len(labels) > 3)
        raise InputValueError(
            name,
            f"all labels of {name} are numbers ({some}), which is not told apart from ids; "
            f"give {name}=<int>, how many ids there are, or the labels in their order",
        )
    return tuple(labels)


def _listed_labels(name: str, order: object) -> tuple[str, ...]:
    """Check labels in the order of their ids, or by a mapping to the ids 0, 1, 2, ..."""
    if isinstance(order, Mapping):
        for label, code in order.items():
            integer(name, code, expected=f"a mapping to integers, also for {label!r}")
        order, id_of = sorted(order, key=order.__getitem__), order
        for i, label in enumerate(order):
            if id_of[label] != i:
                expected = f"a mapping to the ids from 0 to {len(order) - 1}, each once"
                raise InputValueError(
                    name, expected=expected, got=f"{id_of[label]!r} for {label!r}"
                )
    expected = "an int, a sequence of labels or a mapping of labels to ids"
    labels = distinct_names(name, order, expected)
    if not labels:
        raise InputValueError(name, expected="at least one label", got="none")
    return labels


def distinct_labels(columns: Sequence[Column]) -> set[str]:
    """Return the labels of some columns, most of which share an index."""
    return set().union(*(index.codes for index in _label_indexes(columns)))


def _label_indexes(columns: Sequence[Column]) -> set[LabelIndex]:
    return {column.label_index for column in columns if column.label_index is not None}


def numbers_of(
    columns: Sequence[Column],
    numbers: Mapping[str, int],
    error: Callable[[Column, str, str], InputValueError] | None = None,
) -> list[IntArray]:
    """Return the number of each label of some columns; ids stay as they are.

    Parameters
    ----------
    columns : sequence of Column
    numbers : mapping of str to int
    error : callable, optional
        Makes the error for a label without a number: f(column, label, its place). Left out where
        all labels have one.

    Examples
    --------
    >>> index = LabelIndex()
    >>> column = Column("test", 3, index.encode(["b", "a", "b"]), index)
    >>> numbers_of([column], {"a": -5, "b": 7})
    [array([ 7, -5,  7])]
    """
    tables = {
        index: np.array([numbers.get(label, _NO_NUMBER) for label in index.codes], dtype=np.int64)
        for index in _label_indexes(columns)
    }
    of_columns = []
    for column in columns:
        index, values = column.label_index, column.values
        if index is not None:
            values = tables[index][values]
            missing = values == _NO_NUMBER  # labels that no row has may be without a number
            if error is not None and missing.any():
                row = int(missing.argmax())
                raise error(column, list(index.codes)[column.values[row]], column.where(row))
        of_columns.append(values)
    return of_columns


def parse_integers(name: str, what: str, columns: Sequence[Column]) -> list[IntArray]:
    """Read the labels of columns, where there are any, as integers."""

    def no_number(column: Column, label: str, where: str) -> InputValueError:
        expected = f"{what} ids, as no labels of {name} are given"
        return InputValueError(column.split, expected=expected, got=f"{label!r} in {where}")

    labels = distinct_labels(columns)
    return numbers_of(columns, {each: int(each) for each in labels if is_number(each)}, no_number)


def is_id(label: str) -> bool:
    """Return whether this is written like an id: digits without a sign or leading zeros."""
    return label.isascii() and label.isdecimal() and (label[0] != "0" or label == "0")


def is_number(text: str) -> bool:
    """Return whether this is an integer of at most 18 digits, perhaps negative."""
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19


def read_ids(name: str, value: Any, vocabulary: Vocabulary, unnamed: str) -> IntArray:
    """Read ids or labels, and return distinct ids in ascending order.

    Parameters
    ----------
    name : str
        The argument.
    value : array_like of int or str, shape (n,)
    vocabulary : Vocabulary
        The number of ids, and their labels.
    unnamed : str
        The reason why there are no labels, for messages.

    Raises
    ------
    TypeError, ValueError
        For anything else, ids out of range, and unknown labels.

    Examples
    --------
    >>> read_ids("candidates", ["b", "a", "b"], Vocabulary(3, ("a", "b", "c")), "")
    array([0, 1])
    """
    array = np.asarray(value)
    if array.ndim != 1:
        raise InputValueError(name, expected="a 1-D array", got=f"shape {array.shape}")
    if array.dtype.kind in "UOT" and len(array):
        if vocabulary.names is None:
            raise InputTypeError(name, expected=f"ids, as {unnamed}", got="str")
        array = _ids_of(name, array.tolist(), vocabulary)
    ids = index_array(name, value if not len(array) else array)
    wrong = _core.first_outside(ids, vocabulary.size)
    if wrong >= 0:
        got = f"{ids[wrong]} at position {wrong}"
        raise InputValueError(name, expected=f"ids from 0 to {vocabulary.size - 1}", got=got)
    return distinct(ids)


def _ids_of(name: str, labels: list[Any], vocabulary: Vocabulary) -> IntArray:
    """Return the ids of labels, or name the first that is unknown and what was probably meant."""
    for i, label in enumerate(labels):
        if not isinstance(label, str):
            got = f"{type(label).__name__} at position {i}"
            raise InputTypeError(name, expected="names or integers", got=got)
    codes = vocabulary.codes_of(labels)
    for i in np.flatnonzero(codes < 0)[:1].tolist():
        label = labels[i]
        # those of one first letter alone: a comparison with a million would take a minute
        like = [known for known in vocabulary.names or () if known[:1] == label[:1]]
        near = near_words(label, like[:_COMPARED])
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "none is similar"
        raise InputValueError(name, f"unknown name {label!r} at position {i}; {hint}")
    return codes


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
