"""Tab-separated files of a data set, read as columns of labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...inputs.errors import InputValueError
from ...tasks.text import RowForm, line_of, read_text
from ...tasks.vocabularies import LabelIndex

if TYPE_CHECKING:
    from ...inputs.arrays import IntArray


PAIR_COLUMNS = ("left entity", "right entity")
_LIST_COLUMNS = ("id", "name")
_DIGITS = 18  # numbers of this length fit into int64


@dataclass(frozen=True)
class FileTable:
    """The columns of a file, in which each entry is the number of a label.

    Attributes
    ----------
    where : str
        The argument and the file, for messages.
    path : str
    columns : list of ndarray of int64
    """

    where: str
    path: str
    columns: list[IntArray]

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.columns[0])

    def error_in_row(self, row: int, message: str) -> InputValueError:
        """Return an error that names the line of a row."""
        return InputValueError(self.where, f"line {line_of(self.path, row)}: {message}")

    def array(self, *ids: IntArray | None) -> IntArray:
        """Return the rows as integers; `ids` has a table of ids of labels per column, or None."""
        parts = [
            column if of_words is None else of_words[column]
            for column, of_words in zip(self.columns, ids, strict=True)
        ]
        return np.ascontiguousarray(np.stack(parts, axis=1))


def required_file(folder: str, name: str) -> str:
    """Return the path of a file in a folder, plain or gzipped; the file may not exist."""
    return optional_file(folder, name) or os.path.join(folder, name)


def optional_file(folder: str, name: str) -> str | None:
    """Return the path of a file in a folder, plain or gzipped, or None if there is none."""
    path = os.path.join(folder, name)
    return next((found for found in (path, f"{path}.gz") if os.path.exists(found)), None)


def read_table(
    name: str,
    path: str,
    columns: Sequence[str],
    label_indexes: Sequence[LabelIndex],
    *,
    empty: bool = False,
) -> FileTable:
    """Read the columns of a file.

    Parameters
    ----------
    name : str
        The argument, for messages.
    path : str
        Tab-separated text in UTF-8, gzipped if its name ends in .gz.
    columns : sequence of str
        The nouns for the columns; the file must have as many.
    words : sequence of Words
        Where the words of each column are numbered.
    empty : bool
        Whether a file without lines is allowed.

    Raises
    ------
    ValueError
        For another number of columns, an empty field, text that is not UTF-8, and a file without
        lines; the message names file and line.
    OSError
        For a file that is missing or damaged.
    """

    def encode(j: int, fields: Sequence[str]) -> IntArray:
        return label_indexes[j].encode(fields)

    columns_read = read_text(name, path, encode, RowForm("row", tuple(columns), ()))
    if not columns_read and not empty:
        raise InputValueError(name, f"{path}: expected lines of {' and '.join(columns)}, got none")
    no_rows = np.zeros(0, dtype=np.int64)
    return FileTable(f"{name}: {path}", path, columns_read or [no_rows for _ in columns])


class IdList(NamedTuple):
    """The content of a file of ids and names.

    Attributes
    ----------
    ids : ndarray of int64
    names : tuple of str
    by_id, by_name : Words
        Indexes of ids and of names; the number of a label is its place in the list.
    where : str
        The file, for messages.
    """

    ids: IntArray
    names: tuple[str, ...]
    by_id: LabelIndex
    by_name: LabelIndex
    where: str


def read_list(name: str, path: str, *, distinct: bool = False) -> IdList:
    """Read a file of ids and names; ids must be distinct, and names too if `distinct` is true."""
    by_id, by_name = LabelIndex(), LabelIndex()
    table = read_table(name, path, _LIST_COLUMNS, [by_id, by_name])
    order = np.arange(len(table))
    for column, what, needed in zip(table.columns, _LIST_COLUMNS, (True, distinct), strict=True):
        if needed and not np.array_equal(column, order):
            row = int(np.argmax(column != order))
            first = line_of(path, int(column[row]))
            label = list((by_id, by_name)[_LIST_COLUMNS.index(what)].codes)[column[row]]
            raise table.error_in_row(row, f"the {what} {label!r} stands in line {first}, too")
    labels = list(by_name.codes)
    names = tuple(map(labels.__getitem__, table.columns[1].tolist()))
    return IdList(parse_ids(by_id, [(table, 0)]), names, by_id, by_name, path)


def parse_ids(label_index: LabelIndex, columns: Sequence[tuple[FileTable, int]]) -> IntArray:
    """Return the integers of labels, which must be digits without a sign or leading zeros.

    Parameters
    ----------
    words : Words
    columns : sequence of (FileTable, int)
        The columns with these labels, for messages.
    """
    labels = list(label_index.codes)
    for code, label in enumerate(labels):
        plain = label.isascii() and label.isdecimal() and len(label) <= _DIGITS
        if not plain or (label[0] == "0" and label != "0"):
            for table, j in columns:
                rows = np.flatnonzero(table.columns[j] == code)
                if len(rows):
                    raise table.error_in_row(int(rows[0]), f"expected an id, got {label!r}")
    return np.fromiter(map(int, labels), dtype=np.int64, count=len(labels))


def check_listed(
    table: FileTable, columns: Sequence[int], label_index: LabelIndex, listed: IdList
) -> None:
    """Refuse labels that are not in a list."""
    for j in columns:
        row = int(np.argmax(table.columns[j] >= len(listed.ids))) if len(table) else 0
        if len(table) and table.columns[j][row] >= len(listed.ids):
            label = list(label_index.codes)[table.columns[j][row]]
            raise table.error_in_row(row, f"{label!r} is not in {listed.where}")


def sort_labels(
    label_index: LabelIndex, key: Callable[[str], Any] | None = None
) -> tuple[list[str], IntArray]:
    """Return labels in ascending order, and for each number of a label its place in that order.

    Examples
    --------
    >>> label_index = LabelIndex()
    >>> label_index.encode(["c", "a"])
    array([0, 1])
    >>> sort_labels(label_index)
    (['a', 'c'], array([1, 0]))
    """
    labels = sorted(label_index.codes, key=key)
    places = np.empty(len(labels), dtype=np.int64)
    places[[label_index.codes[label] for label in labels]] = np.arange(len(labels))
    return labels, places


def numeric_key(label_index: LabelIndex) -> Callable[[str], Any] | None:
    """Return a key that sorts labels as numbers if all of them are numbers, else None.

    Examples
    --------
    >>> label_index = LabelIndex()
    >>> _ = label_index.encode(["10", "9"])
    >>> sort_labels(label_index, numeric_key(label_index))
    (['9', '10'], array([1, 0]))
    """
    numbers = all(word.isascii() and word.isdecimal() for word in label_index.codes)
    return (lambda word: (int(word), word)) if numbers else None
