"""Splits in any form (arrays, lists of tuples, files), read as columns of ids or labels."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.arrays import index_array
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.frames import is_frame
from ..inputs.npy_files import read_npy
from .named_lists import Qrels
from .text import RowForm, is_path, read_text
from .vocabularies import Column, LabelIndex

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray

Splits = Mapping[str, tuple[str, Any]]


def read_columns(
    splits: Splits, form: RowForm, notes: list[str] | None = None
) -> dict[str, list[Column]]:
    """Read each split as its columns; columns of one kind number their labels together.

    Parameters
    ----------
    splits : dict of str to (str, object)
        By name: the title of the split in messages, and the split itself: an array of int or str, a
        list of tuples, or a path.
    form : RowForm
        The form of the rows.
    notes : list of str, optional
        Gets a line about every file whose header was left out.

    Returns
    -------
    dict of str to list of Column
        The same number of columns for every split.

    Raises
    ------
    TypeError, ValueError, OSError
        For anything but splits of that form, and for splits of different widths.
    """
    label_indexes: dict[int, LabelIndex] = {}
    columns_of = {
        name: _read_split(title, split, label_indexes, form, notes)
        for name, (title, split) in splits.items()
    }
    widths = {
        title: len(columns_of[name]) for name, (title, _) in splits.items() if columns_of[name]
    }
    if len(set(widths.values())) > 1:
        got = ", ".join(f"{title} {width}" for title, width in widths.items())
        raise InputValueError(
            f"{form.row_noun}s", expected="as many columns in every split", got=got
        )
    width = next(iter(widths.values()), form.width)
    for name, (title, _) in splits.items():  # a split without lines has no width of its own
        columns_of[name] = columns_of[name] or [
            Column(title, j, np.zeros(0, dtype=np.int64), None, form.row_noun) for j in range(width)
        ]
    return columns_of


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


def _read_split(
    title: str,
    split: Any,
    label_indexes: dict[int, LabelIndex],
    form: RowForm,
    notes: list[str] | None,
) -> list[Column]:
    """Read the columns of a split in any form; a split without rows has no columns."""
    if is_path(split):
        path = os.fsdecode(split)
        if not path.endswith(".npy"):

            def number(j: int, fields: Sequence[str]) -> IntArray:
                return _label_index_of(j, label_indexes, form).encode(fields)

            return [
                Column(title, j, codes, _label_index_of(j, label_indexes, form), form.row_noun)
                for j, codes in enumerate(read_text(title, path, number, form, notes))
            ]
        split = read_npy(title, path)
        title = f"{title}: {path}"
    if isinstance(split, (list, tuple)):
        return _columns_of_rows(title, split, label_indexes, form)
    if isinstance(split, (bytes, Mapping, set, frozenset)) or split is None:
        expected = "an array, a path or a list of tuples"
        raise InputTypeError(title, expected=expected, got=type(split).__name__)
    if isinstance(split, np.ma.MaskedArray):
        got = "a masked array; compress it first"
        raise InputTypeError(title, expected="a plain array", got=got)
    _check_headings(title, split, form)
    array = np.asarray(split)
    if array.dtype.kind in "OUT" and array.ndim == 2:
        if not array.shape[1]:  # a file of a few bytes can declare any number of empty rows
            raise _wrong_shape(title, array, form)
        return _columns_of_rows(title, list(map(tuple, array.tolist())), label_indexes, form)
    return _columns_of_array(title, array, form)


def _check_headings(title: str, split: Any, form: RowForm) -> None:
    """Refuse a frame whose columns have the names of the form's columns at other places.

    Only positions count: another order would swap, say, heads and tails without a word.
    """
    if not is_frame(split):
        return
    names = [str(name).strip().lower() for name in split.columns][: form.width]
    for j, heading in enumerate(form.headings):
        place = next((i for i, name in enumerate(names) if name in heading), j)
        if place != j:
            expected = f"the columns {form.column_list} in this order"
            got = f"{split.columns[place]!r} at position {place}"
            raise InputValueError(title, expected=expected, got=got)


def _columns_of_array(title: str, array: Any, form: RowForm) -> list[Column]:
    if array.dtype.kind not in "iu":
        raise InputTypeError(title, expected="integers or labels", got=f"dtype {array.dtype}")
    if array.ndim != 2 or not form.fits(array.shape[1]):
        raise _wrong_shape(title, array, form)
    ids = index_array(title, array, copy=False)
    if not len(ids):  # a file of a few bytes can declare any number of empty columns
        return []
    return [Column(title, j, ids[:, j], None, form.row_noun) for j in range(array.shape[1])]


def _wrong_shape(title: str, array: Any, form: RowForm) -> InputValueError:
    wider = " or wider" if form.more_columns else ""
    expected = f"shape (n, {form.width}){wider} {form.column_list}"
    return InputValueError(title, expected=expected, got=f"shape {array.shape}")


def _columns_of_rows(
    title: str, rows: Sequence[Any], label_indexes: dict[int, LabelIndex], form: RowForm
) -> list[Column]:
    """Read tuples; each column holds either labels or ids."""
    if not len(rows):
        return []
    for i, row in enumerate(rows):
        if isinstance(row, (str, bytes)) or not isinstance(row, (Sequence, np.ndarray)):
            got = f"{type(row).__name__} at position {i}"
            raise InputTypeError(title, expected=f"tuples {form.column_list}", got=got)
    width = len(rows[0])
    for i, row in enumerate(rows):
        if len(row) != width or not form.fits(width):
            fits = form.fits(width)
            expected = f"{width} members, as in the first" if fits else f"{form.width_text} members"
            got = f"{len(row)} in {form.row_noun} {i}"
            raise InputValueError(title, expected=expected, got=got)
    columns = zip(*rows, strict=True)
    return [
        column_of_values(title, j, column, label_indexes, form) for j, column in enumerate(columns)
    ]


def column_of_values(
    title: str, j: int, values: Sequence[Any], label_indexes: dict[int, LabelIndex], form: RowForm
) -> Column:
    """Read the values of a column, which are either labels or ids."""
    kinds = set(map(type, values))
    if all(issubclass(kind, str) for kind in kinds):
        if j < form.width and "" in values:
            got = f"an empty str in column {j} of {form.row_noun} {values.index('')}"
            raise InputValueError(title, expected="labels", got=got)
        label_index = _label_index_of(j, label_indexes, form)
        return Column(title, j, label_index.encode(values), label_index, form.row_noun)
    if all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        return Column(title, j, index_array(title, list(values)), None, form.row_noun)
    wrong = {kind for kind in kinds if not issubclass(kind, (str, int, np.integer)) or kind is bool}
    row = next((i for i, value in enumerate(values) if type(value) in wrong), -1)
    got = f"{type(values[row]).__name__} ({form.row_noun} {row})"
    if row < 0:
        named = isinstance(values[0], str)
        row = next(i for i, value in enumerate(values) if isinstance(value, str) != named)
        got = (
            f"both ({form.row_noun} {row} has {type(values[row]).__name__}, those before "
            f"{'str' if named else 'integers'})"
        )
    raise InputTypeError(title, expected=f"integers or str in column {j}", got=got)


def _label_index_of(j: int, label_indexes: dict[int, LabelIndex], form: RowForm) -> LabelIndex:
    """Return the label index of a column; heads and tails share one."""
    return label_indexes.setdefault(form.vocabulary(j), LabelIndex())


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
        for name in known:
            if not isinstance(name, str):
                raise InputTypeError("known", expected="names of splits", got=type(name).__name__)
            if not name:
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
