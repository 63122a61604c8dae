"""Splits in any form (arrays, lists of tuples, files), read as columns of ids or labels."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.npy_files import is_npy, read_npy
from ..errors import InputTypeError, InputValueError
from ..inputs.checks import flag
from ..inputs.frames import is_frame, kind_of
from ..inputs.words import LISTED
from .column_ids import IdColumn, refuse_unsaid_header
from .column_roles import check_columns, find_roles
from .column_tables import read_named_table, read_table, table_of_rows
from .elements import is_label, read_elements
from .judgements import Judgements
from .text import RowForm, is_path, open_rows, read_rows
from .vocabularies import LabelIndex

if TYPE_CHECKING:
    from ..arrays.types import IntArray

Splits = Mapping[str, tuple[str, Any]]

# These words have a meaning in every protocol, so no split may be named like them.
CANDIDATE_WORDS = ("all", LISTED)


@dataclass(frozen=True)
class ForeignSplit:
    """A split of another program: fields of its text, which have no type, or positions.

    Positions are such under every vocabulary.
    """

    rows: Any
    is_text: bool = False
    are_positions: bool = False


class SplitReader:
    """Reads splits whose rows have one form; columns of one kind number their labels together.

    Parameters
    ----------
    form : RowForm
        The form of the rows.
    columns : mapping of str to (str or int), optional
        The name or number of the column of each role, in every split. Default: columns are found by
        their names, and stand in the order of the form where they have none.
    has_further : bool
        Whether columns that `columns` does not name are read, too, where the form has more.
    header : bool, optional
        Whether the first line of text names the columns, as `open_rows` takes it.

    Attributes
    ----------
    indexes : dict of int to LabelIndex
        The labels that were read so far, by the first column of each kind.
    notes : list of str
        A line about every file whose header was left out.
    left_out : list of str
        A line for each split of which columns were not read, for audits.
    further : list of str
        The names of the columns behind those of the form; empty where no split has names.

    Examples
    --------
    >>> from truerank.records.column_roles import PAIRS
    >>> reader = SplitReader(RowForm(("left", "right"), (0, 1), door=PAIRS))
    >>> left, right = reader.read("test", [("a", 7), ("b", 3), ("a", 2)])
    >>> left.values, right.values
    (array([0, 1, 0]), array([7, 3, 2]))
    >>> left, right = reader.read("train", (["a", "c"], [5, 2]))
    >>> left.values, right.values
    (array([0, 2]), array([5, 2]))
    """

    def __init__(
        self,
        form: RowForm,
        columns: Any = None,
        *,
        has_further: bool = True,
        header: bool | None = None,
    ) -> None:
        if form.door is not None:
            form = form._replace(said=check_columns(columns, form.door))
        self.form = form
        self.has_further = form.more_columns and (form.said is None or has_further)
        self.header = header if header is None else flag("header", header)
        self._without_header: list[list[IdColumn]] = []
        self.indexes: dict[int, LabelIndex] = {}
        self.notes: list[str] = []
        self.left_out: list[str] = []
        self.further: list[str] = []

    def index(self, j: int) -> LabelIndex:
        """Return the label index of a column; heads and tails share one."""
        kind = self.form.vocabularies[j] if j < len(self.form.columns) else j
        return self.indexes.setdefault(kind, LabelIndex())

    def read(self, title: str, split: Any) -> list[IdColumn]:
        """Read the columns of a split in any form; a split without rows has no columns.

        Parameters
        ----------
        title : str
            The split in messages.
        split : object
            An array of int, a table, a list of tuples, a tuple of columns, or a path.

        Raises
        ------
        TypeError, ValueError, OSError
            For anything else.
        """
        if is_path(split):
            path = os.fsdecode(split)
            if not is_npy(path):
                return self.read_lines(title, path)
            split = read_npy(title, path)
            title = f"{title}: {path}"
        if isinstance(split, ForeignSplit):
            kinds: dict[str, Any] = {"is_text": split.is_text, "are_positions": split.are_positions}
            return [column._replace(**kinds) for column in self.read(title, split.rows)]
        values = enumerate(self.columns(title, split))
        return [self.column(title, j, each) for j, each in values]

    def read_lines(self, title: str, path: str) -> list[IdColumn]:
        """Read the columns of a file of text; one without rows has no columns."""
        rows = open_rows(title, path, self.form, self.header)
        if rows is None:
            return []
        order = self.place(rows.title, rows.names, rows.width)
        if rows.note:
            self.notes.append(rows.note)
        column = IdColumn(rows.title, 0, np.zeros(0, np.int64), None, path, is_text=True)
        column = column._replace(has_header=rows.header > 0)
        columns = []
        for j, codes in enumerate(read_rows(rows, order, self._encode)):
            columns.append(column._replace(position=j, values=codes, label_index=self.index(j)))
        if columns and self.header is None and rows.names is None:
            self._without_header.append(columns)
        return columns

    def _encode(self, j: int, labels: Sequence[str]) -> IntArray:
        return self.index(j).encode(labels)

    def place(self, title: str, names: Sequence[Any] | None, width: int) -> list[int]:
        """Return where the columns of the form are, and then all others that are read.

        Parameters
        ----------
        title : str
            The split in messages.
        names : sequence, or None
            The names of all columns; None: they have none.
        width : int
            How many columns there are.
        """
        if self.form.door is None:
            return list(range(width))
        roles = find_roles(
            title, names, width, self.form.door, self.form.said, may_have_further=self.has_further
        )
        if roles.left_out:
            self.left_out.append(f"{title}: {', '.join(roles.left_out)}")
        if names is not None and roles.further:
            further = [str(names[j]) for j in roles.further]
            self.further = self.further or further
            if self.further != further:
                expected = f"further columns {', '.join(self.further)}, as another split has"
                raise InputValueError(title, expected=expected, got=", ".join(further))
        return list(roles.places.values()) + list(roles.further)

    def columns(self, title: str, split: Any) -> list[Any]:
        """Return the columns of whatever has rows or columns, in the order of the form.

        None are returned where there are no rows.
        """
        row = f"({', '.join(self.form.columns)})"
        forms = (
            "a path, a table with named columns (pandas, polars, pyarrow, a structured array), "
            f"rows [{row}, ...] as a list of tuples or an array of ints, or a tuple of columns"
        )
        if is_frame(split):
            table = read_named_table(title, split, forms, self.form.said)
        else:
            table = read_table(title, split) or table_of_rows(title, split, forms)
        if not table.columns or not len(table.columns[0]):
            return []
        width = len(table.columns)
        if table.names is None and not self.form.fits(width):
            expected = f"{self.form.expected}: a tuple is columns, a list of tuples is rows"
            raise InputValueError(title, expected=expected, got=f"{width} columns")
        return [table.columns[j] for j in self.place(title, table.names, width)]

    def read_all(self, splits: Splits) -> dict[str, list[IdColumn]]:
        """Read splits, by name their title and themselves, which have the same number of columns.

        Raises
        ------
        TypeError, ValueError, OSError
            As `read` does, and for splits of different widths.
        """
        read = {name: self.read(title, split) for name, (title, split) in splits.items()}
        widths = [len(columns) for columns in read.values()]
        width = max(widths, default=0)
        width = max(width, len(self.form.columns))
        none = np.zeros(0, dtype=np.int64)
        for name, (title, _) in splits.items():
            if not read[name]:  # A split without rows takes the width of the others.
                read[name] = [self.column(title, j, none) for j in range(width)]
            if len(read[name]) != width:
                expected = f"{width} columns, as in another split"
                raise InputValueError(title, expected=expected, got=len(read[name]))
        everything = list(chain.from_iterable(read.values()))
        for columns in self._without_header:
            refuse_unsaid_header(columns, everything)
        return read

    def column(self, title: str, j: int, values: Any) -> IdColumn:
        """Read the values of a column, which are either labels or integers."""
        roles = self.form.columns
        expected = f"integers or labels in column {j}"
        further = f", or columns= with {', '.join(roles)} alone"  # It may hold weights.
        expected += f" ({roles[j]})" if j < len(roles) else further
        elements = read_elements(title, values, expected, "in row {}".format)
        if isinstance(elements, np.ndarray):
            return IdColumn(title, j, elements)
        codes = self._encode(j, elements)
        empty = self.index(j).codes.get("", -1)
        if empty >= 0 and j < len(roles):
            row = int(np.argmax(codes == empty))
            raise InputValueError(title, expected=expected, got=f"'' in row {row}")
        return IdColumn(title, j, codes, self.index(j))


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

    A list is several splits only where none of its members could be a row.

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
            if not is_label(name):
                raise InputTypeError("known", expected="names of splits", got=repr(name))
        return {name: (f'known["{name}"]', split) for name, split in known.items()}
    if isinstance(known, list) and all(map(_has_rows, known)):
        return {f"known_{i}": (f"known[{i}]", split) for i, split in enumerate(known)}
    if isinstance(known, (list, tuple)) and any(map(_could_be_split, known)):
        expected = 'one split, or several by their names: known={"train": ..., "valid": ...}'
        raise InputTypeError("known", expected=expected, got=f"{type(known).__name__} of splits")
    return {"known_0": ("known", known)}


def _has_rows(value: object) -> bool:
    """Return whether this has rows of its own, and is no row: a path, a table, a 2-d array."""
    if isinstance(value, (Judgements, ForeignSplit)) or is_path(value):
        return True
    has_names = is_frame(value) or isinstance(value, kind_of("pyarrow", "Table"))
    return has_names or getattr(value, "ndim", None) == 2


def _could_be_split(value: object) -> bool:
    """Return whether this has rows of its own, or members that could be rows."""
    if isinstance(value, (list, tuple)):
        return bool(value) and isinstance(value[0], (list, tuple))
    return _has_rows(value)


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
        For an empty name, for one that a known split also has, and for "all" and "listed", which
        are candidates.

    Examples
    --------
    >>> name_splits("test", "test.txt", {"train": "train.txt"})
    {'test': ('test', 'test.txt'), 'train': ('known["train"]', 'train.txt')}
    """
    others = name_known_splits(known)
    if not isinstance(split, str) or not split:
        expected = "the name of the evaluated split, as 'test' or 'valid'"
        raise InputValueError("split", expected=expected, got=repr(split))
    if split in others:
        expected = "a name that no known split has"
        if split == "test":  # The user may not have written it, for it is the default.
            expected += ", as split='valid' where the validation split is evaluated"
        raise InputValueError("split", expected=expected, got=repr(split))
    for argument, names in (("split", [split]), ("known", others)):
        for name in CANDIDATE_WORDS:
            if name in names:
                expected = "another name of a split, as this one is that of a set of candidates"
                raise InputValueError(argument, expected=expected, got=repr(name))
    return {split: (split, rows), **others}
