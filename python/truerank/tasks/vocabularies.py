"""Vocabularies: labels of entities and relations, and the ids that stand for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import count, repeat
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
            return np.fromiter(map(place.get, names, repeat(-1)), dtype=np.int64, count=len(names))
        ids = (int(n) if n.isascii() and n.isdecimal() and len(n) < 19 else -1 for n in names)
        codes = np.fromiter(ids, dtype=np.int64, count=len(names))
        return np.where(codes < self.size, codes, -1)


def encode_columns(
    name: str, what: str, given: object, columns: Sequence[Column]
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
    filled = [column for column in columns if len(column.values)]
    named = [column for column in filled if column.label_index is not None]
    if given is None and named:
        if len(named) < len(filled):
            split = next(column.split for column in filled if column.label_index is None)
            way = f"{split} holds ids; give the labels of {name}"
            raise InputValueError(named[0].split, f"holds labels of {name}, but {way}")
        labels = sorted(distinct_labels(named))
        if all(map(is_id, labels)):
            some = ", ".join(labels[:3]) + ", ..." * (len(labels) > 3)
            raise InputValueError(
                name,
                f"all labels of {name} are numbers ({some}), which is not told apart from ids; "
                f"give {name}=<int>, how many ids there are, or the labels in their order",
            )
        return _encode_by_names(name, what, tuple(labels), columns)
    if given is None:
        top = max((int(column.values.max()) for column in filled), default=-1)
        return _check_range(Vocabulary(top + 1, None), what, columns)
    if is_integer(given):
        if not 1 <= given <= MAX_IDS:
            raise InputValueError(name, expected="from 1 to 2**36", got=given)
        read = [column._replace(values=parse_integers(name, what, column)) for column in columns]
        return _check_range(Vocabulary(int(given), None), what, read)
    return _encode_by_names(name, what, _checked_labels(name, given), columns)


def _checked_labels(name: str, given: object) -> tuple[str, ...]:
    """Check labels in the order of their ids, or by a mapping to the ids 0, 1, 2, ..."""
    if isinstance(given, Mapping):
        for label, code in given.items():
            integer(name, code, expected=f"a mapping to integers, also for {label!r}")
        ordered = sorted(given.items(), key=lambda item: item[1])
        for i, (label, code) in enumerate(ordered):
            if code != i:
                expected = f"a mapping to the ids from 0 to {len(ordered) - 1}, each once"
                raise InputValueError(name, expected=expected, got=f"{code!r} for {label!r}")
        given = [label for label, _ in ordered]
    expected = "an int, a sequence of labels or a mapping of labels to ids"
    labels = distinct_names(name, given, expected)
    if not labels:
        raise InputValueError(name, expected="at least one label", got="none")
    return labels


def distinct_labels(columns: Sequence[Column]) -> set[str]:
    """Return the labels of some columns, most of which share an index."""
    indexes = {
        id(column.label_index): column.label_index
        for column in columns
        if column.label_index is not None
    }
    return set().union(*(each.codes for each in indexes.values()))


def _encode_by_names(
    name: str, what: str, names: tuple[str, ...], columns: Sequence[Column]
) -> tuple[Vocabulary, list[IntArray]]:
    """Turn labels into their positions in `names`."""
    place = dict(zip(names, range(len(names)), strict=True))
    tables: dict[int, IntArray] = {}
    ids = []
    for column in columns:
        if column.label_index is None:
            ids.append(column)
            continue
        codes = column.label_index.codes
        if id(column.label_index) not in tables:
            found = map(place.get, codes, repeat(-1))
            tables[id(column.label_index)] = np.fromiter(found, dtype=np.int64, count=len(codes))
        values = tables[id(column.label_index)][column.values]
        if len(values) and int(values.min()) < 0:
            row = int(np.argmax(values < 0))
            label = list(codes)[column.values[row]]
            raise InputValueError(
                column.split,
                f"unknown {what} {label!r} in {column.where(row)}; "
                f"it is none of the {len(names)} labels of {name}",
            )
        ids.append(column._replace(values=values))
    return _check_range(Vocabulary(len(names), names), what, ids)


def encode_qualifier(
    columns: Sequence[Column], as_ids: bool
) -> tuple[tuple[str, ...] | None, list[IntArray]]:
    """Turn a column of qualifiers into codes.

    Labels are numbered in ascending order; if triples hold ids, integers in text stay integers.
    """
    labelled = [column for column in columns if column.label_index is not None]
    if not labelled:
        return None, [column.values for column in columns]
    labels = distinct_labels(labelled)
    if labels == {""}:
        problem = f"column {columns[0].position} is empty in every triple"
        raise InputValueError(labelled[0].split, f"{problem}; expected no tab at the end of lines")
    if as_ids and all(map(_is_number, labels)):
        return None, [parse_integers("qualifiers", "number", column) for column in columns]
    if len(labelled) < sum(len(column.values) > 0 for column in columns):
        split = next(c.split for c in columns if len(c.values) and c.label_index is None)
        place = f"column {columns[0].position}"
        raise InputValueError(split, f"holds integers in {place}, other splits labels")
    vocabulary, codes = _encode_by_names("qualifiers", "qualifier", tuple(sorted(labels)), columns)
    return vocabulary.names, codes


def _check_range(
    vocabulary: Vocabulary, what: str, columns: Sequence[Column]
) -> tuple[Vocabulary, list[IntArray]]:
    for column in columns:
        bound = min(vocabulary.size, MAX_IDS)
        row = _core.first_outside(np.ascontiguousarray(column.values), bound)
        if row >= 0:
            upto = f" to {bound - 1}" if int(column.values[row]) >= 0 else " on"
            got = f"{column.values[row]} in {column.where(row)}"
            raise InputValueError(column.split, expected=f"{what} ids from 0{upto}", got=got)
    return vocabulary, [column.values for column in columns]


def is_id(label: str) -> bool:
    """Return whether this is written like an id: digits without a sign or leading zeros."""
    return label.isascii() and label.isdecimal() and (label[0] != "0" or label == "0")


def _is_number(text: str) -> bool:
    digits = text[1:] if text.startswith("-") else text
    return digits.isascii() and digits.isdigit() and len(digits) < 19


def parse_integers(name: str, what: str, column: Column) -> IntArray:
    """Read the labels of a column as integers, if it has labels."""
    if column.label_index is None:
        return column.values
    labels = list(column.label_index.codes)
    used = np.zeros(len(labels), dtype=bool)
    used[column.values] = True
    table = np.zeros(len(labels), dtype=np.int64)
    for code in np.flatnonzero(used).tolist():
        if not _is_number(labels[code]):
            row = int(np.argmax(column.values == code))
            expected = f"{what} ids, as no labels of {name} are given"
            got = f"{labels[code]!r} in {column.where(row)}"
            raise InputValueError(column.split, expected=expected, got=got)
        table[code] = int(labels[code])
    return table[column.values]


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
        array = _ids_of(name, array.tolist(), vocabulary.names)
    ids = index_array(name, value if not len(array) else array)
    wrong = _core.first_outside(ids, vocabulary.size)
    if wrong >= 0:
        got = f"{ids[wrong]} at position {wrong}"
        raise InputValueError(name, expected=f"ids from 0 to {vocabulary.size - 1}", got=got)
    return distinct(ids)


def _ids_of(name: str, labels: list[Any], names: tuple[str, ...]) -> IntArray:
    """Return the ids of labels, or name the first that is unknown and what was probably meant."""
    place = dict(zip(names, range(len(names)), strict=True))
    for i, label in enumerate(labels):
        if not isinstance(label, str):
            got = f"{type(label).__name__} at position {i}"
            raise InputTypeError(name, expected="names or integers", got=got)
        if label not in place:
            # those of one first letter alone: a comparison with a million would take a minute
            like = [known for known in names if known[:1] == label[:1]]
            near = near_words(label, like[:_COMPARED])
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "none is similar"
            raise InputValueError(name, f"unknown name {label!r} at position {i}; {hint}")
    return np.array([place[label] for label in labels], np.int64)


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
