"""Vocabularies: labels of entities and relations, the ids that stand for them, and the rule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress, count
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from .. import _core
from ..inputs.arrays import as_array
from ..inputs.candidate_lists import PAD
from ..inputs.checks import distinct_names, integer, is_integer, is_iterable
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.row_keys import distinct
from ..inputs.selection import indptr_of, refuse_mask_of_integers
from ..ranks.labels import Labels
from .elements import (
    at_position,
    first_like_an_integer,
    is_id,
    is_integer_text,
    read_elements,
    without_blanks,
)

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from .elements import Elements

    # labels in the order of their positions
    Names: TypeAlias = tuple[str, ...] | tuple[int, ...] | None

MAX_IDS = 1 << 36  # ids of a vocabulary: keys of two entities and a relation stay possible

_NO_NUMBER = int(np.iinfo(np.int64).min)  # of a label
_ORDERS = "an int, a sequence of labels, or a mapping of labels to the ids 0, 1, 2, ..."


class LabelIndex:
    """The distinct labels that were read, numbered in the order in which they first occur."""

    __slots__ = ("codes",)

    def __init__(self) -> None:
        # the first look-up of a label numbers it: one look-up per field, and no Python code
        self.codes: defaultdict[str, int] = defaultdict(count().__next__)

    def encode(self, labels: Sequence[str]) -> IntArray:
        """Return the number of each label; new labels are added."""
        return np.fromiter(map(self.codes.__getitem__, labels), dtype=np.int64, count=len(labels))

    def find(self, labels: Sequence[str]) -> IntArray:
        """Return the number of each label, -1 for labels that are new; none is added."""
        numbers = (self.codes.get(label, -1) for label in labels)
        return np.fromiter(numbers, dtype=np.int64, count=len(labels))


class Column(NamedTuple):
    """One column of a split: integers, or numbers of labels.

    Attributes
    ----------
    split : str
        The split, for messages.
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
    """

    split: str
    position: int
    values: IntArray
    label_index: LabelIndex | None = None
    path: str = ""
    is_text: bool = False
    are_positions: bool = False

    def where(self, row: int) -> str:
        """Return the place of an entry, for messages."""
        return f"column {self.position} of row {row}"

    def entry(self, row: int) -> str | int:
        """Return a label or an integer, for messages."""
        number = int(self.values[row])
        return number if self.label_index is None else list(self.label_index.codes)[number]


@dataclass(frozen=True)
class Vocabulary:
    """How many things there are, and their labels: it decides what an element of Python names.

    ===================  ==========================  =====================  =======================
    Vocabulary           a `str` of Python           an int of Python       a field of text
    ===================  ==========================  =====================  =======================
    labels that are str  is a label                  is a position, unless  is a label, whatever
                                                     a label is written     blanks are at its ends
                                                     like an integer
    labels that are int  is refused                  is a label             is an int if it is
                                                                            written as Python does
    a number of ids      is refused                  is a position          likewise
    ===================  ==========================  =====================  =======================

    Parameters
    ----------
    size : int
    names : tuple of str, tuple of int, or None
        The labels, in the order of their positions; None: there are none.
    of : str
        Whose they are, which is the argument that gives them.
    """

    size: int
    names: Names
    of: str = "entities"

    @classmethod
    def read(cls, name: str, order: object) -> Vocabulary:
        """Read a vocabulary.

        Parameters
        ----------
        name : str
            The argument, "entities" or "relations".
        order : int, sequence of labels, or mapping of labels to int
            The number of ids, labels in the order of their ids, or a mapping to ids. Labels are all
            str or all int, in a list, a tuple, an array, or a Series or Index of pandas.

        Raises
        ------
        TypeError, ValueError
            For anything else, labels that occur twice or differ only in blanks at their ends, and
            ids that are not 0, 1, 2, ...

        Examples
        --------
        >>> Vocabulary.read("entities", {"b": 1, "a": 0})
        Vocabulary(size=2, names=('a', 'b'), of='entities')
        >>> Vocabulary.read("entities", [20, 10])
        Vocabulary(size=2, names=(20, 10), of='entities')
        """
        if is_integer(order):
            size = integer(name, order, least=1, most=MAX_IDS)
            return cls(size, None, name)
        if isinstance(order, Mapping):
            order = _in_order(name, order)
        if isinstance(order, (str, bytes, Set)) or not is_iterable(order):
            raise InputTypeError(name, expected=_ORDERS, got=type(order).__name__)
        labels = read_elements(name, order, "labels")
        if not len(labels):
            raise InputValueError(name, expected="at least one label", got="none")
        if not isinstance(labels, np.ndarray):
            names = distinct_names(name, labels)
            vocabulary = cls(len(names), names, name)
            _refuse_blanks(name, vocabulary)
            return vocabulary
        ints, numbers = np.unique(labels, return_counts=True)
        if len(ints) < len(labels):
            repeated = ints[numbers > 1][0]
            raise InputValueError(name, f"{repeated} occurs twice")
        return cls(len(labels), tuple(labels.tolist()), name)

    @cached_property
    def holds_ints(self) -> bool:
        """Whether the labels are int."""
        return self.names is not None and any(isinstance(each, int) for each in self.names[:1])

    @property
    def words(self) -> tuple[str, ...] | None:
        """The labels if they are str; otherwise None."""
        return None if self.holds_ints else cast("tuple[str, ...] | None", self.names)

    @cached_property
    def _like_an_integer(self) -> str | None:
        """The first label that an int could be confused with."""
        return None if self.words is None else first_like_an_integer(self.words)

    @cached_property
    def _bare_words(self) -> tuple[str, ...]:
        """The labels as text has them, without blanks at their ends."""
        return tuple(map(without_blanks, self.words or ()))

    @cached_property
    def _sorted_ints(self) -> tuple[IntArray, IntArray]:
        """The labels that are int in ascending order, and the position of each."""
        ints = np.array(self.names, dtype=np.int64)
        order = np.argsort(ints)
        return ints[order], order

    @property
    def expected(self) -> str:
        """What messages expect.

        Examples
        --------
        >>> Vocabulary(2, ("a", "b")).expected, Vocabulary(2, None, "relations").expected
        ("labels of entities, as 'a', or ids from 0 to 1", 'ids of relations from 0 to 1')
        >>> Vocabulary(2, ("8", "9")).expected, Vocabulary(2, (8, 9)).expected
        ("labels of entities, as '8'", 'labels of entities, as 8')
        """
        ids = f"from 0 to {self.size - 1}"
        if not self.names:
            return f"ids of {self.of} {ids}"
        labels = f"labels of {self.of}, as {self.names[0]!r}"
        takes_positions = not self.holds_ints and self._like_an_integer is None
        return f"{labels}, or ids {ids}" if takes_positions else labels

    @property
    def _elements(self) -> str:
        """What messages expect of the type of elements."""
        if self.names is None:
            return f"integers, the ids of {self.of}"
        return (
            f"labels of {self.of}, each an int"
            if self.holds_ints
            else f"labels or ids of {self.of}"
        )

    def label_of(self, code: int) -> str | int:
        """Return the label of an id, or the id if there are no labels."""
        return code if self.names is None else self.names[code]

    def labels(self, codes: IntArray) -> Labels:
        """Return ids as labels of tasks: names, integers that are labels, or ids.

        Labels that are int stay integers, as they came: `compare`, groups and files of ranks have
        them as such, and two models are compared by them wherever they have their columns.

        Examples
        --------
        >>> Vocabulary(2, ("a", "b")).labels([1]).values, Vocabulary(2, (8, 9)).labels([1]).values
        (array(['b'], dtype='<U1'), array([9]))
        """
        if self.holds_ints:
            return Labels(np.array(self.names, dtype=np.int64)[codes])
        return Labels(codes, self.words)

    def find(
        self,
        name: str,
        elements: Elements,
        *,
        is_text: bool = False,
        where: Callable[[int], str] = at_position,
    ) -> IntArray:
        """Return the position of what each element names, -1 where it names nothing: the rule.

        Every door that reads names goes through this function, and no other one decides what an
        element of Python or a field of text names.

        Parameters
        ----------
        name : str
            The argument.
        elements : ndarray of int64, or sequence of str
            As `read_elements` returns them.
        is_text : bool
            Whether they are fields of text, which have no type.
        where : callable, optional
            The place of an element, for messages.

        Raises
        ------
        InputTypeError
            For elements of a type that names nothing here.

        Examples
        --------
        >>> Vocabulary(2, ("a", "b")).find("candidates", ["b", "c"])
        array([ 1, -1])
        >>> Vocabulary(2, (8, 9)).find("candidates", np.array([9, 0]))
        array([ 1, -1])
        >>> Vocabulary(2, (8, 9)).find("test", ["9", "09"], is_text=True)
        array([ 1, -1])
        >>> Vocabulary(2, ("1", "2")).find("ids", np.array([1]))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        truerank.inputs.errors.InputTypeError: ids: expected labels of entities, as '1' (an int ...
        """
        if not isinstance(elements, np.ndarray):
            if self.words is not None:
                words = self._bare_words if is_text else self.words
                return _core.codes_among(elements, words)
            if not is_text:
                return self._refuse_str(name, elements, where)
            is_int = np.fromiter(map(is_integer_text, elements), dtype=bool, count=len(elements))
            ints = list(map(int, compress(elements, is_int)))
            positions = np.full(len(elements), -1)
            positions[is_int] = self._find_ints(np.array(ints, dtype=np.int64))
            return positions
        if len(elements) and self._like_an_integer is not None:
            ways = f"give str(...) for labels, or {self.of}={self.size} for positions"
            reason = "an int could be a position, or the label that is written like it"
            expected = f"labels of {self.of}, as {self._like_an_integer!r} ({reason}: {ways})"
            raise InputTypeError(name, expected=expected, got=f"{elements[0]} {where(0)}")
        return self._find_ints(elements)

    def _find_ints(self, ints: IntArray) -> IntArray:
        """Return the positions of integers, which are labels or are positions themselves."""
        if not self.holds_ints:
            if _core.first_outside(np.ascontiguousarray(ints), self.size) < 0:
                return ints
            return np.where((ints >= 0) & (ints < self.size), ints, -1)
        ordered, positions = self._sorted_ints
        places = np.minimum(np.searchsorted(ordered, ints), self.size - 1)
        return np.where(ordered[places] == ints, positions[places], -1)

    def _refuse_str(
        self, name: str, elements: Sequence[str], where: Callable[[int], str]
    ) -> IntArray:
        if not len(elements):
            return np.zeros(0, dtype=np.int64)
        reason = "" if self.holds_ints else f", as {self.of}={self.size} gives no labels"
        expected = f"{self.expected}, each an int{reason}"
        raise InputTypeError(name, expected=expected, got=f"{elements[0]!r} {where(0)}")

    def codes_of(self, names: Sequence[str]) -> IntArray:
        """Return the ids of labels that are str, -1 for those that this does not have.

        Examples
        --------
        >>> Vocabulary(2, ("a", "b")).codes_of(["b", "c"])
        array([ 1, -1])
        """
        return self.find(self.of, names)

    def ids_of(
        self,
        name: str,
        values: Any,
        where: Callable[[int], str] = at_position,
        *,
        is_text: bool = False,
    ) -> IntArray:
        """Return the ids of labels or ids, as `find` does, and refuse those that name nothing.

        Parameters
        ----------
        name : str
            The argument.
        values : object, shape (n,)
            As `read_elements` takes them.
        where : callable, optional
            The place of an entry, for messages.
        is_text : bool
            Whether they are fields of text.

        Raises
        ------
        TypeError, ValueError
            For anything else, ids out of range, and unknown labels.

        Examples
        --------
        >>> Vocabulary(3, ("a", "b", "c")).ids_of("candidates", ["b", "a", "b"])
        array([1, 0, 1])
        """
        elements = read_elements(name, values, self._elements, where)
        ids = self.find(name, elements, is_text=is_text, where=where)
        row = _core.first_outside(ids, self.size)
        if row >= 0:
            element = elements[row]
            shown = repr(element) if isinstance(element, str) else str(element)
            raise InputValueError(name, expected=self.expected, got=f"{shown} {where(row)}")
        return ids

    def set_of(self, name: str, values: Any) -> IntArray:
        """Return the distinct ids of labels or ids, ascending; a mask of integers is refused.

        Examples
        --------
        >>> Vocabulary(3, ("a", "b", "c")).set_of("candidates", ["b", "a", "b"])
        array([0, 1])
        """
        elements = read_elements(name, values, self._elements)
        ids = self.ids_of(name, elements)
        if isinstance(elements, np.ndarray):
            refuse_mask_of_integers(name, elements, self.size)
        return distinct(ids)

    def lists_of(self, name: str, lists: Any) -> Any:
        """Return lists of labels or ids as lists of ids, in a form that `rank_lists` takes.

        Rows of a list or of a matrix, which may end in pads of -1, name things as `find` says. What
        is no such thing stays as it is: a pair (indptr, ids) has positions.

        Examples
        --------
        >>> Vocabulary(3, ("a", "b", "c")).lists_of("tail", [["b", "a"], ["c"]])
        (array([0, 2, 3]), array([1, 0, 2]))
        >>> Vocabulary(2, (8, 9)).lists_of("tail", np.array([[9, 8], [9, -1]]))
        array([[ 1,  0],
               [ 1, -1]])
        """
        if isinstance(lists, list) and all(map(_is_row, lists)):
            indptr = indptr_of(list(map(len, lists)))

            def where(i: int) -> str:
                row = int(np.searchsorted(indptr, i, side="right")) - 1
                return f"in list {row}"

            rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in lists]
            return indptr, self.ids_of(name, list(chain.from_iterable(rows)), where)
        if self.names is None or isinstance(lists, (tuple, list)):
            return lists
        matrix = as_array(lists, name)
        if matrix.ndim != 2 or matrix.dtype.kind not in "iuOUT":
            return lists
        is_id = np.full(matrix.shape, True)
        if matrix.dtype.kind in "iu" and not (self.holds_ints and PAD in (self.names or ())):
            is_id = matrix != PAD
        ids = np.full(matrix.shape, PAD)
        row_of = np.repeat(np.arange(len(matrix)), is_id.sum(axis=1))
        ids[is_id] = self.ids_of(name, matrix[is_id], lambda i: f"in list {row_of[i]}")
        return ids


def _is_row(value: Any) -> bool:
    """Return whether this is a list of candidates."""
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim == 1)


def _in_order(name: str, places: Mapping[Any, Any]) -> list[Any]:
    """Return labels in the order of their ids, which are to be 0, 1, 2, ..."""
    for label, place in places.items():
        if not is_integer(place):
            raise InputTypeError(name, expected=_ORDERS, got=f"{place!r} for {label!r}")
    labels = sorted(places, key=places.__getitem__)
    for i, label in enumerate(labels):
        if places[label] != i:
            got = f"{places[label]!r} for {label!r}"
            raise InputValueError(name, expected=_ORDERS, got=got)
    return labels


def _refuse_blanks(name: str, vocabulary: Vocabulary) -> None:
    """Refuse labels that differ from one another only in blanks at their ends."""
    if vocabulary._bare_words == vocabulary.words:
        return
    first: dict[str, str] = {}
    for label, bare in zip(vocabulary.words or (), vocabulary._bare_words, strict=True):
        other = first.setdefault(bare, label)
        if other != label:
            problem = f"{other!r} and {label!r} differ only in blanks at their ends"
            raise InputValueError(name, problem)


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
        "2".
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
        For a vocabulary of another type, ids out of range, and what names nothing, as
        `Vocabulary.find` says.

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
    ids = _ids_of_columns(vocabulary, columns)
    for column, values in zip(columns, ids, strict=True):
        row = _core.first_outside(np.ascontiguousarray(values), vocabulary.size)
        if row >= 0:
            got = f"{column.entry(row)!r} in {column.where(row)}"
            raise InputValueError(column.split, expected=vocabulary.expected, got=got)
    if order is None:
        largest = max([-1, *(int(values.max(initial=-1)) for values in ids)])
        vocabulary = Vocabulary(largest + 1, None, name)
    return vocabulary, ids


def _ids_of_columns(vocabulary: Vocabulary, columns: Sequence[Column]) -> list[IntArray]:
    """Return the position of each entry of some columns, -1 where it names nothing."""
    tables: dict[tuple[LabelIndex, bool], IntArray] = {}
    of_columns = []
    for column in columns:
        index, values, split = column.label_index, column.values, column.split

        def where(row: int, column: Column = column) -> str:
            return f"in {column.where(row)}"

        if not len(values) or column.are_positions:
            of_columns.append(values)
            continue
        if index is None:
            of_columns.append(vocabulary.find(split, values, where=where))
            continue
        key = index, column.is_text
        if key not in tables:
            labels = list(index.codes)
            if vocabulary.words is None and not column.is_text:
                labels = [labels[values[0]]]  # which is refused
            tables[key] = vocabulary.find(split, labels, is_text=column.is_text, where=where)
        of_columns.append(tables[key][values])
    return of_columns


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
                got = f"{column.entry(row)!r} in {column.where(row)}"
                raise InputValueError(column.split, expected=expected, got=got)
        of_columns.append(values)
    return of_columns


def are_integers_in_text(columns: Sequence[Column]) -> bool:
    """Return whether columns have labels only in text, where all are written as Python writes ints.

    Examples
    --------
    >>> index = LabelIndex()
    >>> column = Column("test", 3, index.encode(["7", "-5"]), index, is_text=True)
    >>> are_integers_in_text([column]), are_integers_in_text([column._replace(is_text=False)])
    (True, False)
    """
    return are_text(columns) and all(map(is_integer_text, distinct_labels(columns)))


def are_text(columns: Sequence[Column]) -> bool:
    """Return whether columns have labels only in text."""
    return all(column.is_text for column in columns if column.label_index is not None)


def parse_integers(columns: Sequence[Column]) -> list[IntArray]:
    """Read the labels of text, where there are any, as integers."""
    labels = distinct_labels(columns)
    numbers = {label: int(label) for label in labels if is_integer_text(label)}
    return numbers_of(columns, numbers, "integers, as no labels are given")


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
