"""Splits in any form (arrays, lists of tuples, files), read as columns of ids or labels."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.arrays import index_array
from ..inputs.checks import is_integer
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.frames import is_frame
from ..inputs.npy_files import read_npy
from .named_lists import Qrels
from .text import RowForm, is_path, read_text
from .vocabularies import Column, LabelIndex

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray

Splits = Mapping[str, tuple[str, Any]]


class SplitReader:
    """Reads splits whose rows have one form; columns of one kind number their labels together.

    Parameters
    ----------
    form : RowForm
        The form of the rows.

    Attributes
    ----------
    indexes : dict of int to LabelIndex
        The labels that were read so far, by the first column of each kind.
    notes : list of str
        A line about every file whose header was left out.

    Examples
    --------
    >>> reader = SplitReader(RowForm("pair", ("left", "right"), (0, 1)))
    >>> left, right = reader.read("test", [("a", 7), ("b", 3), ("a", 2)])
    >>> left.values, right.values
    (array([0, 1, 0]), array([7, 3, 2]))
    """

    def __init__(self, form: RowForm) -> None:
        self.form = form
        self.indexes: dict[int, LabelIndex] = {}
        self.notes: list[str] = []

    def index(self, j: int) -> LabelIndex:
        """Return the label index of a column; heads and tails share one."""
        kind = self.form.vocabularies[j] if j < self.form.width else j
        return self.indexes.setdefault(kind, LabelIndex())

    def read(self, title: str, split: Any) -> list[Column]:
        """Read the columns of a split in any form; a split without rows has no columns.

        Parameters
        ----------
        title : str
            The split in messages.
        split : object
            An array of int or str, a frame, a list of tuples, or a path.

        Raises
        ------
        TypeError, ValueError, OSError
            For anything else.
        """
        if is_path(split):
            path = os.fsdecode(split)
            if not path.endswith(".npy"):
                codes = read_text(title, path, self._encode, self.form, self.notes)
                return [self.column(title, j, each, self.index(j)) for j, each in enumerate(codes)]
            split = read_npy(title, path)
            title = f"{title}: {path}"
        if isinstance(split, (list, tuple)):
            return self._columns_of_rows(title, split)
        if isinstance(split, (bytes, Mapping, set, frozenset)) or split is None:
            expected = "an array, a path or a list of tuples"
            raise InputTypeError(title, expected=expected, got=type(split).__name__)
        if isinstance(split, np.ma.MaskedArray):
            got = "a masked array; compress it first"
            raise InputTypeError(title, expected="a plain array", got=got)
        if is_frame(split):
            self._check_headings(title, split.columns)
        return self._columns_of_array(title, np.asarray(split))

    def _encode(self, j: int, labels: Sequence[str]) -> IntArray:
        return self.index(j).encode(labels)

    def read_all(self, splits: Splits) -> dict[str, list[Column]]:
        """Read splits, by name their title and themselves, which have the same number of columns.

        Raises
        ------
        TypeError, ValueError, OSError
            As `read` does, and for splits of different widths.
        """
        read = {name: self.read(title, split) for name, (title, split) in splits.items()}
        widths = {title: len(read[name]) for name, (title, _) in splits.items() if read[name]}
        if len(set(widths.values())) > 1:
            got = ", ".join(f"{title} {width}" for title, width in widths.items())
            expected = "as many columns in every split"
            raise InputValueError(f"{self.form.row_noun}s", expected=expected, got=got)
        width = next(iter(widths.values()), self.form.width)
        none = np.zeros(0, dtype=np.int64)  # a split without rows has no width of its own
        return {
            name: read[name] or [self.column(title, j, none) for j in range(width)]
            for name, (title, _) in splits.items()
        }

    def column(
        self, title: str, j: int, values: IntArray, index: LabelIndex | None = None
    ) -> Column:
        """Return a column of ids, or of numbers of labels."""
        return Column(title, j, values, index, self.form.row_noun)

    def column_of_values(self, title: str, j: int, values: Sequence[Any]) -> Column:
        """Read the values of a column, which are either labels or ids."""
        kinds, noun = set(map(type, values)), self.form.row_noun
        if all(issubclass(kind, str) for kind in kinds):
            if j < self.form.width and "" in values:
                got = f"an empty str in column {j} of {noun} {values.index('')}"
                raise InputValueError(title, expected="labels", got=got)
            return self.column(title, j, self._encode(j, values), self.index(j))
        if all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
            return self.column(title, j, index_array(title, list(values)))
        are_labels = [isinstance(value, str) for value in values]
        for row, value in enumerate(values):
            if are_labels[row] != are_labels[0] or not (are_labels[row] or is_integer(value)):
                after = f" after {type(values[0]).__name__}" if row else ""
                got = f"{type(value).__name__} ({noun} {row}){after}"
                raise InputTypeError(title, expected=f"integers or str in column {j}", got=got)
        raise AssertionError("unreachable")

    def _check_headings(self, title: str, columns: Sequence[Any]) -> None:
        """Refuse a frame whose columns have the names of the form's columns at other places.

        Only positions count: another order would swap, say, heads and tails without a word.
        """
        names = [str(name).strip().lower() for name in columns][: self.form.width]
        for j, heading in enumerate(self.form.headings):
            place = next((i for i, name in enumerate(names) if name in heading), j)
            if place != j:
                expected = f"the columns ({', '.join(self.form.columns)}) in this order"
                got = f"{columns[place]!r} at position {place}"
                raise InputValueError(title, expected=expected, got=got)

    def _columns_of_array(self, title: str, array: Any) -> list[Column]:
        has_labels = array.dtype.kind in "OUT" and array.ndim == 2
        if not has_labels and array.dtype.kind not in "iu":
            raise InputTypeError(title, expected="integers or labels", got=f"dtype {array.dtype}")
        # a file of a few bytes can declare any number of empty rows or columns
        if array.ndim != 2 or not self.form.fits(array.shape[1]):
            wider = " or wider" if self.form.more_columns else ""
            names = ", ".join(self.form.columns)
            expected = f"shape (n, {self.form.width}){wider} ({names})"
            raise InputValueError(title, expected=expected, got=f"shape {array.shape}")
        if not len(array):
            return []
        if has_labels:
            return self._columns_of_rows(title, list(map(tuple, array.tolist())))
        ids = index_array(title, array, copy=False)
        return [self.column(title, j, values) for j, values in enumerate(ids.T)]

    def _columns_of_rows(self, title: str, rows: Sequence[Any]) -> list[Column]:
        """Read tuples; each column holds either labels or ids."""
        form = self.form
        width = -1
        for i, row in enumerate(rows):
            if isinstance(row, (str, bytes)) or not isinstance(row, (Sequence, np.ndarray)):
                got = f"{type(row).__name__} at position {i}"
                raise InputTypeError(title, expected=f"tuples ({', '.join(form.columns)})", got=got)
            width = len(row) if width < 0 else width
            if len(row) != width or not form.fits(width):
                as_first = f"{width} members, as in the first"
                expected = as_first if form.fits(width) else f"{form.width_text} members"
                got = f"{len(row)} in {form.row_noun} {i}"
                raise InputValueError(title, expected=expected, got=got)
        columns = zip(*rows, strict=True)
        return [self.column_of_values(title, j, column) for j, column in enumerate(columns)]


def stack_splits(columns: Sequence[Sequence[IntArray]]) -> IntArray:
    """Stack the splits below each other; the result is column by column in memory.

    Examples
    --------
    >>> stack_splits([[np.array([1]), np.array([2, 3])], [np.array([4]), np.array([5, 6])]])
    array([[1, 4],
           [2, 5],
           [3, 6]])
    """
    rows = np.empty((sum(map(len, columns[0])), len(columns)), dtype=np.int64, order="F")
    for column, parts in zip(rows.T, columns, strict=True):
        np.concatenate(parts, out=column)
    return rows


def name_known_splits(known: Any) -> dict[str, tuple[str, Any]]:
    """Give each known split a name, and a title for messages.

    Examples
    --------
    >>> list(name_known_splits(["train.txt", "valid.txt"]))
    ['known_0', 'known_1']
    >>> list(name_known_splits({"train": "train.txt"}))
    ['train']
    """
    if known is None:
        return {}
    if isinstance(known, Mapping):
        if wrong := [name for name in known if not isinstance(name, str)]:
            raise InputTypeError("known", expected="names of splits", got=type(wrong[0]).__name__)
        if "" in known:
            raise InputValueError("known", expected="names of splits", got="an empty str")
        return {name: (f'known["{name}"]', split) for name, split in known.items()}
    if _is_list_of_splits(known):
        return {f"known_{i}": (f"known[{i}]", split) for i, split in enumerate(known)}
    return {"known_0": ("known", known)}


def name_splits(split: object, rows: Any, known: Any) -> dict[str, tuple[str, Any]]:
    """Give the evaluated split and then the known ones a name and a title for messages.

    Parameters
    ----------
    split : str
        The name of the evaluated split.
    rows : object
        The evaluated split.
    known : mapping, list of splits, one split, or None
        The others.

    Raises
    ------
    TypeError, ValueError
        For an empty name, and for one that a known split also has.

    Examples
    --------
    >>> name_splits("test", "test.txt", {"train": "train.txt"})
    {'test': ('test', 'test.txt'), 'train': ('known["train"]', 'train.txt')}
    """
    others = name_known_splits(known)
    if not isinstance(split, str):
        raise InputTypeError("split", expected="a str", got=type(split).__name__)
    if not split or split in others:
        got = "the name of a known split" if split else "an empty str"
        raise InputValueError("split", expected="a name of its own for the test", got=got)
    return {split: (split, rows), **others}


def _is_list_of_splits(known: Any) -> bool:
    """Return whether this is a list of splits, not the rows of one split."""
    if not isinstance(known, (list, tuple)):
        return False
    if not known:
        return True
    first = known[0]
    if is_path(first) or first is None or isinstance(first, (Mapping, Qrels)):
        return True
    if isinstance(first, (list, tuple)):
        return not first or isinstance(first[0], (list, tuple, np.ndarray))
    return is_frame(first) or getattr(first, "ndim", None) == 2
