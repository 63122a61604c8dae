"""Vocabularies: labels of entities and relations, the ids that stand for them, and the rule."""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from .. import _core
from ..arrays.input_files import is_npy, read_npy
from ..arrays.row_keys import count_values, distinct, look_up, sorted_with_order
from ..errors import InputTypeError, InputValueError, Option
from ..inputs import checks
from ..inputs.array_likes import refuse_index
from ..inputs.selection import refuse_mask_of_integers
from ..ranks.labels import Labels, labels_of_codes
from . import text
from .columns import Column, at_position, read_column

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import IntArray
    from .columns import Where

    # Labels are in the order of their positions.
    Names: TypeAlias = tuple[str, ...] | tuple[int, ...] | None

# More ids would leave no room for keys of two entities and a relation.
MAX_IDS = 1 << 36
NO_NUMBER = int(np.iinfo(np.int64).min)  # It stands for text that is no integer.
_WITH_IDS = ("entities", "relations")  # Files of these may hold ids.

_ORDERS = "an int, a sequence of labels, a mapping of labels to the ids 0, 1, 2, ..., or a path"
_LINES = "a label in each line, or a label and its id with a tab (in .csv a comma) between them"
_IDS = "ids 0, 1, 2, ..., each once, in one of the two columns, and labels in the other one"
_HEADER = ["id", "label"]  # PyKEEN's files begin with it.


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
    ids, with labels     is a label                  is a position          is a position if it is
                                                                            written as Python does
    ===================  ==========================  =====================  =======================

    Parameters
    ----------
    size : int
    names : tuple of str, tuple of int, or None
        The labels, in the order of their positions; None: there are none.
    of : str
        Whose they are, which is the argument that gives them.
    has_order : bool
        Whether somebody gave the order, so that an int is a position.
    has_ids : bool
        Whether an int is a position, and so is one in text, whatever the labels are.
    is_of_facts : bool
        Whether the labels are those that occur in the test and the known facts.
    has_size : bool
        Whether somebody said how many there are; else the size is `MAX_IDS`.
    """

    size: int
    names: Names
    of: str = "entities"
    has_order: bool = field(default=True, repr=False)
    has_ids: bool = field(default=False, repr=False)
    is_of_facts: bool = field(default=False, repr=False, compare=False)
    has_size: bool = field(default=True, repr=False)

    @classmethod
    def read(cls, name: str, order: object) -> Vocabulary:
        """Read a vocabulary.

        Parameters
        ----------
        name : str
            The argument, as "entities", or the name of a further column.
        order : int, sequence of labels, mapping of labels to int, or path
            The number of ids, labels in the order of their ids, or a mapping to ids. Labels are all
            str or all int, in a list, a tuple, an array, or a Series or Index of pandas. Or the
            path of a file, as `read_labels` takes it.

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
        labels: Any = order
        if text.is_path(order):
            labels = read_labels(name, os.fsdecode(order))
        elif isinstance(order, Mapping):
            labels = _labels_in_order(name, order)
        elif checks.is_integer(order):
            size = checks.integer(name, order, least=1, most=MAX_IDS)
            return cls(size, None, name)
        if isinstance(labels, (bytes, Set)) or not checks.is_iterable(labels):
            raise InputTypeError(name, expected=_ORDERS, got=type(labels).__name__)
        refuse_index(name, labels)
        column = read_column(name, labels, "labels")
        if not len(column):
            raise InputValueError(name, expected="at least one label", got="none")
        if column.has_labels:
            names = checks.plain_names(cast("Sequence[str]", column.labels))
            vocabulary = cls(len(names), names, name)
            may_repeat = not checks.are_unlike(names, bare=True)
            if may_repeat:
                checks.refuse_repeated(name, names)
                vocabulary._refuse_alike(vocabulary._bare_words)
            return vocabulary
        ints, numbers = count_values(column.ids)
        if len(ints) < len(column):
            repeated = ints[numbers > 1][0]
            raise InputValueError(name, f"{repeated} occurs twice")
        return cls(len(column), tuple(column.ids.tolist()), name)

    @classmethod
    def infer(cls, name: str, labels: Sequence[str]) -> Vocabulary:
        """Return distinct labels that nobody gave; none is another in another Unicode form."""
        vocabulary = cls(len(labels), tuple(labels), name)
        if not are_plain(vocabulary.words or ()):
            vocabulary._refuse_alike(spell_alike(vocabulary.words or ()))
        return vocabulary

    @classmethod
    def unbounded(cls, name: str) -> Vocabulary:
        """Return the vocabulary of which any integer is an id, whatever its size."""
        return cls(0, None, name)

    def _refuse_alike(self, plain: Sequence[str]) -> None:
        """Refuse labels of which several have one plain writing."""
        label_of: dict[str, str] = {}
        for label, writing in zip(self.words or (), plain, strict=True):
            other = label_of.setdefault(writing, label)
            if other != label:
                expected = "no labels that differ only in blanks at their ends or Unicode form"
                raise InputValueError(self.of, expected=expected, got=f"{other!a} and {label!a}")

    def find_other_spellings(
        self, argument: str, names: Sequence[Any], *, is_text: bool
    ) -> list[tuple[str, int, str]]:
        """Return a finding if names are labels but for blanks at the ends or Unicode form."""
        words = self.words or ()
        if not words or not names or not isinstance(names[0], str):
            return []
        if are_plain(names) and are_plain(words):
            return []
        word_by_plain = dict(zip(spell_alike(words), words, strict=True))
        positions = self.find_labels(names, is_text)
        pairs = {}
        for name, plain, position in zip(names, spell_alike(names), positions, strict=True):
            if position < 0 and plain in word_by_plain:
                pairs[name] = f"{name!a} for {word_by_plain[plain]!a}"
        first_pairs = ", ".join(list(pairs.values())[:3])
        message = f"{len(pairs):,} names of {argument} differ from {self.of} only in blanks at "
        message += f"their ends or in Unicode form: {first_pairs}"
        return [("spellings", len(pairs), message)] if pairs else []

    def find_keys(self, argument: str, keys: npt.NDArray[Any], size: int) -> IntArray:
        """Return for each key the position of the entity that has it as label; -1: none has.

        An integer is a label that is written as Python writes it, and never a position. Keys have
        any shape. If none of them is the label of one of so many entities, they are refused, unless
        all are -1 or empty, which pads lists.

        >>> Vocabulary.read("entities", ["7", "8", "a"]).find_keys("ids", np.array([[8, 1]]), 3)
        array([[ 1, -1]])
        """
        if self.size != size:
            expected = f"a label for each of {size:,} entities"
            raise InputValueError(self.of, expected=expected, got=f"{self.size:,}")
        flat = keys.ravel()
        texts = flat.astype("U")
        if flat.dtype.kind == "U" or self.words is not None:
            positions = self.find_labels(texts.tolist(), is_text=True)
        else:
            positions = self.find_ints(flat.astype(np.int64))
        strangers = flat[(texts != "") & (texts != "-1")]
        if (positions < 0).all() and len(strangers):
            expected = f"labels of {self.of}, as {self.label_of(0)!r:.80}"
            raise InputValueError(argument, expected=expected, got=strangers[0])
        return positions.reshape(keys.shape)

    @cached_property
    def holds_ints(self) -> bool:
        """Whether the labels are int."""
        return bool(self.names) and self.words is None

    @property
    def may_lack_names(self) -> bool:
        """Whether facts may have names that are no labels, and no ids either."""
        return bool(self.names) and not self.has_ids

    @property
    def is_unbounded(self) -> bool:
        """Whether any integer is an id, and nothing is a label."""
        return self.size == 0

    @property
    def has_numbers(self) -> bool:
        """Whether ints are the positions 0, 1, 2, ..., and nothing is a label."""
        return self.names is None and not self.is_unbounded

    @cached_property
    def words(self) -> tuple[str, ...] | None:
        """The labels if they are str; otherwise None."""
        if self.names and isinstance(self.names[0], int):
            return None
        return cast("tuple[str, ...] | None", self.names)

    @cached_property
    def _bare_words(self) -> tuple[str, ...]:
        """The labels as text has them, without blanks at their ends."""
        words = self.words or ()
        if not _core.have_blank_ends(words):
            return words
        return tuple(map(text.without_blanks, words))

    @cached_property
    def _sorted_ints(self) -> tuple[IntArray, IntArray]:
        """The labels that are int in ascending order, and the position of each."""
        return sorted_with_order(np.array(self.names, dtype=np.int64))

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
        if self.is_unbounded:
            return f"integers, as no labels of {self.of} are given"
        ids = f"from 0 to {self.size - 1}"
        if not (self.has_size or self.words):
            return f"integers, the ids of {self.of}"
        if self.has_ids:
            return f"ids of {self.of} {ids}, as text has ids here"
        if not self.names:
            return f"ids of {self.of} {ids}"
        labels = f"labels of {self.of}, as {self.names[0]!r:.80}"
        if self.is_of_facts:
            labels += f", of the test and the known facts, as no list names all {self.of}"
        are_ints_refused = self.holds_ints or bool(self.expected_for_int)
        takes_positions = not are_ints_refused
        return f"{labels}, or ids {ids}" if takes_positions else labels

    @cached_property
    def expected_for_int(self) -> str:
        """What messages expect in place of an int that is refused; "": it is taken."""
        if not self.words or self.has_ids:
            return ""
        if not self.has_order:
            return f"labels of {self.of}, as {self.words[0]!r}, whose order is not given"
        label = text.first_like_an_integer(self.words)
        if label is None:
            return ""
        reason = "an int could be a position, or the label with its digits"
        return f"labels of {self.of}, as {label!r} ({reason})"

    def expected_for(self, column: Column) -> str:
        """Return what messages expect in place of elements of a type; "": they are taken."""
        if not column.has_labels:
            are_positions = isinstance(column.labels, range) and self.has_order
            return "" if are_positions else self.expected_for_int
        if column.is_text or self.words is not None:
            return ""
        expected = self.expected
        if not self.is_unbounded and not self.holds_ints:
            given = f"{self.of}={self.size} gives no labels" if self.has_size else "in qrels"
            expected += f", each an int, as {given}"
        return expected

    def refuse_strangers(
        self, argument: str, column: Column, ids: IntArray, where: Where, ways: Any = None
    ) -> None:
        """Refuse the first element that stands for nothing; facts alone, as ids, have ways out."""
        if self.is_unbounded:
            row = int(np.append(np.flatnonzero(ids == NO_NUMBER), -1)[0])
        else:
            row = _core.first_outside(np.ascontiguousarray(ids), self.size)
        if row < 0:
            return
        expected = self.expected
        entry = column.entry(row)
        if entry in (-1, "-1"):
            n_pads = sum(x in (-1, "-1") for x in column.entries())
            expected += f"; lists are of unlike lengths, without padding, and {n_pads:,} of "
            expected += f"{len(column):,} are {entry}"
        remedies = list(ways or ())
        may_have_ids = ways is not None and column.is_text and self.of in _WITH_IDS
        if may_have_ids and self._may_be_ids(column.listed):
            remedies.append(Option("ids", True, "says that text has ids"))
        got = f"{entry!r} {where(row)}"
        got += describe_joined(entry, lambda x: (self.find_labels(x, column.is_text) >= 0).all())
        raise InputValueError(argument, expected=expected, got=got, remedies=remedies)

    def _may_be_ids(self, fields: Sequence[str]) -> bool:
        """Return whether fields of text may be ids: all are, and not all labels look like ids."""
        if not self.words or self.has_ids or all(map(text.is_id, self.words)):
            return False
        return all(text.is_id(x) and len(x) < 19 and int(x) < self.size for x in fields)

    @property
    def kind_of_elements(self) -> str:
        """What messages expect of the type of elements."""
        if self.names is None:
            return f"integers, the ids of {self.of}"
        if self.holds_ints:
            return f"labels of {self.of}, each an int"
        return f"labels or ids of {self.of}"

    def label_of(self, code: int) -> str | int:
        """Return the label of an id, or the id if there are no labels."""
        return code if self.names is None or code >= len(self.names) else self.names[code]

    def list_labels(self, codes: IntArray) -> list[Any]:
        """Return the labels of some ids, or the ids if there are no labels."""
        ids: list[Any] = codes.tolist()
        names = self.names
        if names is None:
            return ids
        n_names = len(names)
        return [names[i] if i < n_names else i for i in ids]

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
            return labels_of_codes(np.array(self.names, dtype=np.int64)[codes])
        return labels_of_codes(codes, self.words)

    def find_ints(self, ints: IntArray) -> IntArray:
        """Return the positions of integers, which are labels or are positions themselves."""
        if self.is_unbounded:
            return ints
        if self.holds_ints and not self.has_ids:
            labels, label_positions = self._sorted_ints
            places_of_labels, places_among_labels = look_up(labels, ints)
            positions = np.full(len(ints), -1)
            positions[places_of_labels] = label_positions[places_among_labels]
            return positions
        if _core.first_outside(np.ascontiguousarray(ints), self.size) < 0:
            return ints
        return np.where((ints >= 0) & (ints < self.size), ints, -1)

    def find_labels(self, labels: Sequence[str], is_text: bool) -> IntArray:
        """Return the positions of labels of Python, or of fields of text, which have no type."""
        if self.words is not None and not (is_text and self.has_ids):
            words = self._bare_words if is_text else self.words
            return _core.codes_among(labels, words)
        is_int = np.fromiter(map(text.is_integer_text, labels), bool, len(labels))
        ints = list(map(int, compress(labels, is_int)))
        positions = np.full(len(labels), NO_NUMBER if self.is_unbounded else -1)
        positions[is_int] = self.find_ints(np.array(ints, dtype=np.int64))
        return positions


def align(
    argument: str,
    values: Any,
    vocabulary: Vocabulary,
    where: Where = at_position,
    *,
    is_text: bool = False,
    needs_all: bool = True,
    looked_up: dict[tuple[Any, bool], IntArray] | None = None,
) -> IntArray:
    """Return the position of what each element of a column names, by the one rule.

    The vocabulary decides what an element of Python, or a field of text, names, as its table says.
    Every door goes through this function.

    Parameters
    ----------
    argument : str
        For messages.
    values : Column, or elements as `read_column` takes them
    vocabulary : Vocabulary
        Where it has no size, integers are what they are.
    where : callable, optional
        The place of an element, for messages.
    is_text : bool
        Whether elements that are no Column are fields of text.
    needs_all : bool
        Whether an element that names nothing is refused. Otherwise it gets -1, or without a size
        `NO_NUMBER`.
    looked_up : dict, optional
        The positions of labels that columns share: each is looked up once, and added.

    Raises
    ------
    InputTypeError
        For elements of a type that names nothing here.
    InputValueError
        For the first that names nothing.

    Examples
    --------
    >>> align("candidates", ["b", "a", "b"], Vocabulary(3, ("a", "b", "c")))
    array([1, 0, 1])
    >>> align("candidates", ["b", "d"], Vocabulary(3, ("a", "b", "c")), needs_all=False)
    array([ 1, -1])
    >>> align("candidates", [9, 8], Vocabulary(2, (8, 9)))
    array([1, 0])
    >>> text = Column(np.arange(2), ("9", "09"), is_text=True)
    >>> align("test", text, Vocabulary(2, (8, 9)), needs_all=False)
    array([ 1, -1])
    >>> align("ids", [1], Vocabulary(2, ("1", "2")))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    truerank.errors.InputTypeError: ids: expected labels of entities, as '1' (an int ...
    """
    column = values
    if not isinstance(column, Column):
        column = read_column(argument, values, vocabulary.kind_of_elements, where, is_text=is_text)
    if not len(column):
        return np.zeros(0, dtype=np.int64)
    expected = vocabulary.expected_for(column)
    if expected:
        got = f"{column.entry(0)!r} {where(0)}"
        ways = []
        if vocabulary.words and not vocabulary.has_order:
            got += f" (all {len(column):,} are int)"
            call = f"Task(..., {vocabulary.of}=names)"
            if text.first_like_an_integer(vocabulary.words) is None:  # Else ints stay refused.
                effect = "gives the order, of which ints are places"
                ways = [Option(vocabulary.of, ..., effect, call)]
        raise InputTypeError(argument, expected=expected, got=got, remedies=ways)
    ids = column.ids
    if column.has_labels:
        looked_up = {} if looked_up is None else looked_up
        key = id(column.labels), column.is_text
        if key not in looked_up:
            looked_up[key] = vocabulary.find_labels(column.listed, column.is_text)
        ids = looked_up[key][ids]
    # Positions stay as they are; where all are needed, strangers among them are refused below.
    elif column.labels is None and (vocabulary.holds_ints or not needs_all):
        ids = vocabulary.find_ints(ids)
    if needs_all:
        vocabulary.refuse_strangers(argument, column, ids, where)
    return ids


def describe_joined(label: Any, are_known: Callable[[list[str]], bool | np.bool_]) -> str:
    """Say of how many known labels, joined by ; or ,, a label is made; "": it is no such one.

    >>> describe_joined("a,b", {"a", "b"}.issuperset)
    ' (2 that are known, joined: a row has one)'
    """
    parts = re.split(" *[;,] *", label) if isinstance(label, str) else []
    if len(parts) < 2 or not are_known(parts):
        return ""
    return f" ({len(parts)} that are known, joined: a row has one)"


def are_plain(labels: Sequence[str]) -> bool:
    """Return whether labels are ASCII without blanks at their ends: `spell_alike` keeps them."""
    return "".join(labels).isascii() and not _core.have_blank_ends(labels)


def spell_alike(labels: Sequence[str]) -> Sequence[str]:
    """Return labels without blanks at their ends and in Unicode's form NFC.

    >>> spell_alike(["e\\u0301 "]), spell_alike(["a", "b"])
    (['é'], ['a', 'b'])
    """
    if are_plain(labels):
        return labels
    return [unicodedata.normalize("NFC", text.without_blanks(label)) for label in labels]


def align_set(argument: str, values: Any, vocabulary: Vocabulary, others: str = "") -> IntArray:
    """Return the distinct ids of labels or ids, ascending; a mask of integers is refused.

    What messages expect ends with other forms that the door takes.
    """
    expected = vocabulary.kind_of_elements + others
    if getattr(values, "ndim", 1) > 1:
        raise InputValueError(argument, expected=expected, got=f"shape {tuple(values.shape)}")
    column = read_column(argument, values, expected)
    ids = align(argument, column, vocabulary)
    if column.labels is None:
        refuse_mask_of_integers(argument, column.ids, vocabulary.size)
    return distinct(ids)


def _labels_in_order(name: str, places: Mapping[Any, Any]) -> list[Any]:
    """Return labels in the order of their ids, which are to be 0, 1, 2, ..."""
    for label, place in places.items():
        if not checks.is_integer(place):
            raise InputTypeError(name, expected=_ORDERS, got=f"{place!r} for {label!r}")
    labels = sorted(places, key=places.__getitem__)
    for i, label in enumerate(labels):
        if places[label] != i:
            got = f"{places[label]!r} for {label!r}"
            raise InputValueError(name, expected=_ORDERS, got=got)
    return labels


# -- files of labels -------------------------------------------------------------------------------


def read_labels(argument: str, path: str) -> Sequence[str] | Sequence[int]:
    """Read labels in the order of their ids, from text or from words or integers in a .npy file.

    A line has a label, or a label and its id, in either order and with a tab (in .csv a comma)
    between them. Above may be a line that counts them, or that names the columns "id" and "label":
    ``entities.dict``, ``entity_ids.del``, ``entity2id.txt``, ``entity_to_id.tsv.gz``. Of two
    columns just one has the ids 0, 1, ..., n - 1, in any order.
    """
    if is_npy(path):
        names = read_npy(argument, path)
        if names.ndim != 1 or names.dtype.kind not in "Uiu":
            got = f"{names.dtype} of shape {names.shape}"
            expected = "words or integers in one dimension"
            raise InputValueError(argument, expected=expected, got=got, place=path)
        labels: list[str] | list[int] = names.tolist()
        return labels
    title = f"{argument}: {path}"
    between = text.find_separator(path, "\t")
    lines = dict(text.text_lines(argument, path, blanks=""))  # An empty one is missing.
    numbers = range(1, max(lines, default=0) + 1)
    rows = [text.split_fields(lines.get(number, ""), between, title, number) for number in numbers]
    first_row = rows[0] if rows else []
    if rows and ".json" in path.lower():
        text.refuse_json(argument, path, 1, first_row[0])
    has_count = len(rows) > 1 and len(first_row) < len(rows[1]) and text.is_id(first_row[0])
    n_headings = int(has_count or sorted(first_row) == _HEADER)
    label_rows = rows[n_headings:] or [[""]]  # No row at all is refused as an empty one is.
    [(width, _)] = Counter(map(len, label_rows)).most_common(1)
    for number, fields in enumerate(label_rows, n_headings + 1):
        if len(fields) != width or width > 2 or not all(fields):
            place = f"{path}: line {number}"
            got = repr("\t".join(fields))
            raise InputValueError(argument, expected=_LINES, got=got, place=place)
    if has_count and first_row[0] != str(len(label_rows)):
        expected = f"{first_row[0]} rows, as the first line counts"
        raise InputValueError(argument, expected=expected, got=len(label_rows), place=path)
    columns = list(zip(*label_rows, strict=True))
    return columns[0] if width == 1 else _labels_by_id(argument, path, columns)


def _labels_by_id(argument: str, path: str, columns: Sequence[Sequence[str]]) -> list[str]:
    """Return labels in the order of their ids; either of two columns has the ids."""
    numbers = set(map(str, range(len(columns[0]))))
    first, second = columns
    first_has_ids, second_has_ids = set(first) == numbers, set(second) == numbers
    if first_has_ids == second_has_ids:
        got = f"{first_has_ids + second_has_ids} such columns, as in "
        got += f"{first[-1]!r} and {second[-1]!r}"
        all_digits = [column for column in columns if all(map(text.is_id, column))]
        if len(all_digits) == 1:
            got = f"no line with the id {min(numbers.difference(all_digits[0]), key=int)}"
        raise InputValueError(argument, expected=_IDS, got=got, place=path)
    ids, labels = (first, second) if first_has_ids else (second, first)
    label_of_id = dict(zip(map(int, ids), labels, strict=True))
    return [label_of_id[i] for i in range(len(labels))]
