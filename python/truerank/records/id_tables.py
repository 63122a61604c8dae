"""Tables of ids: facts, pairs and judgements in any form, and what their entries name.

A table is read once, with numbers for its names. A vocabulary, which is given or made of all names,
then says what they stand for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from .. import _core
from ..arrays.input_files import is_npy, read_npy
from ..arrays.row_keys import occurrences_of
from ..errors import InputTypeError, InputValueError
from ..inputs.checks import flag, is_frame, kind_of
from ..inputs.rules import LISTED
from .columns import (
    Door,
    check_columns,
    find_roles,
    name_of_column,
    read_named_table,
    read_table,
    table_of_rows,
)
from .elements import is_id, is_integer_text, is_label, read_elements
from .text import find_form, is_path, line_of, read_rows
from .vocabularies import MAX_IDS, Vocabulary

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from .elements import Elements

    Ids = npt.NDArray[Any]

# Splits by name: their title in messages, and themselves.
Splits = Mapping[str, tuple[str, Any]]

# These words have a meaning in every protocol, so no split may be named like them.
CANDIDATE_WORDS = ("all", LISTED)
_LEAST_LINES = 10  # Shorter files are not asked whether their first line is a header.
_NO_NUMBER = int(np.iinfo(np.int64).min)  # It stands for a label that no number was given.


@dataclass(frozen=True, eq=False)
class IdTable:
    """Columns of ids by role, and of numbers; all of one length.

    Attributes
    ----------
    ids : dict of str to ndarray of int, shapes (n,)
        By role, as "head" or "query"; further columns have their numbers as roles.
    values : dict of str to ndarray, shapes (n,)
        Numbers by role: "relevance", "score", "rank".
    title : str
        What messages call it: the argument, and its file.
    names : dict of str to Names
        What the ids of a role number. Those of other roles are integers as they came.
    kind : {"python", "text", "positions"}
        What names and integers are: elements of Python; fields of text, which have no type; or
        positions, whatever the labels are.
    path : str
        A file whose lines are the rows.
    has_header : bool
        Whether the first line of the file is none of the rows.
    source : str
        What reports say of the file, of its form and of what was left out; "": nothing.
    """

    ids: dict[str, Ids]
    values: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    title: str = ""
    names: dict[str, _core.Names] = field(default_factory=dict)
    kind: Literal["python", "text", "positions"] = "python"
    path: str = ""
    has_header: bool = False
    source: str = ""

    def __len__(self) -> int:
        return len(next(iter(self.ids.values()), ()))

    def where(self, role: str, row: int) -> str:
        """Return the place of an entry, for messages."""
        column = f"column {list(self.ids).index(role)}"
        if self.path:
            return f"{column} of line {line_of(self.path, row + self.has_header)}"
        if self.kind == "text":  # Rows are not lines: comments and repeats went.
            return column
        return f"{column} of row {row}"

    def select(self, rows: Any) -> Self:
        """Return some of the rows."""
        ids = {role: column[rows] for role, column in self.ids.items()}
        values = {role: column[rows] for role, column in self.values.items()}
        return replace(self, ids=ids, values=values)

    def entry(self, role: str, row: int) -> str | int:
        """Return a label or an integer, for messages."""
        number = int(self.ids[role][row])
        if role not in self.names:
            return number
        return self.names[role].listed()[number]


@dataclass(frozen=True)
class SplitTables:
    """Splits as ids over one vocabulary for each role.

    Attributes
    ----------
    rows : ndarray of int64, shape (n, columns)
        Those of all splits, one after the other; column by column in memory.
    sizes : dict of str to int
        The number of rows of each split; the evaluated one comes first.
    vocabularies : dict of str to Vocabulary
        By role; further columns have their numbers as roles.
    notes : tuple of str
        What the user should know of the files.
    left_out : tuple of str
        The columns of each split that are not read.
    """

    rows: IntArray
    sizes: dict[str, int]
    vocabularies: dict[str, Vocabulary]
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def known(self) -> list[str]:
        """The names of all splits but the evaluated one."""
        return list(self.sizes)[1:]

    @property
    def tested(self) -> int:
        """The number of rows of the evaluated split."""
        return next(iter(self.sizes.values()))

    @property
    def columns(self) -> dict[str, IntArray]:
        """The ids of all splits by role."""
        return dict(zip(self.vocabularies, self.rows.T, strict=True))

    def known_rows(self, name: str) -> IntArray:
        """Return the rows of a known split, or of all of them if none has that name."""
        if name not in self.known:
            return self.rows[self.tested :]
        ends = np.cumsum(list(self.sizes.values()))
        place = list(self.sizes).index(name)
        return self.rows[ends[place - 1] : ends[place]]

    def labels_of(self, row: int) -> tuple[str | int, ...]:
        """Return a row by its labels, or ids if there are no labels."""
        codes = zip(self.vocabularies.values(), self.rows[row].tolist(), strict=True)
        return tuple(vocabulary.label_of(code) for vocabulary, code in codes)


# -- reading ---------------------------------------------------------------------------------------


def read_tables(
    splits: Splits,
    door: Door,
    orders: Mapping[str, Any],
    *,
    columns: Any = None,
    header: bool | None = None,
    has_further: bool = False,
    refuses_further: bool = False,
) -> SplitTables:
    """Read facts or pairs of any form as ids: the one door of splits.

    Parameters
    ----------
    splits : mapping of str to (str, object)
        By name: the title in messages, and an array of int, a table, a list of tuples, a tuple of
        columns, a path, or an `IdTable`.
    door : Door
    orders : mapping of str to object
        The vocabularies by argument, as `Vocabulary.read` takes them. None: the labels in ascending
        order, or ids from 0 to the largest.
    columns : mapping of str to (str or int), optional
        The name or number of the column of each role, in every split. Default: columns are found by
        their names, and stand in the order of the roles where they have none.
    header : bool, optional
        Whether the first line of text names the columns, as `find_form` takes it.
    has_further : bool
        Whether columns that `columns` does not name are read, too, where there may be more.
    refuses_further : bool
        Whether further columns are refused. Those that have one value in all splits are left out.

    Raises
    ------
    TypeError, ValueError, OSError
        For anything else, splits of different widths, and as `encode_columns` does.

    Examples
    --------
    >>> from truerank.records.columns import PAIRS
    >>> splits = {"test": ("test", [("a", 7), ("b", 3)]), "train": ("train", (["c"], [5]))}
    >>> tables = read_tables(splits, PAIRS, {"left": None, "right": 9})
    >>> tables.rows.tolist(), tables.vocabularies["left"].names
    ([[0, 7], [1, 3], [2, 5]], ('a', 'b', 'c'))
    """
    columns = check_columns(columns, door)
    reads_further = door.has_further and (columns is None or has_further)
    reader = TableReader(door, columns, header=header, has_further=reads_further)
    read = {name: reader.read(title, split) for name, (title, split) in splits.items()}
    tables = _of_one_width(read, splits, door)
    for table in tables:
        if table.path and header is None and not table.has_header:
            _refuse_unsaid_header(table, tables)
    roles = list(tables[0].ids)
    left_out = list(reader.left_out)
    if refuses_further:
        for j, role in enumerate(roles[door.needed :]):
            name = repr(reader.further[j]) if reader.further else f"column {role}"
            left_out.append(_leave_out(tables, role, name))
        roles = roles[: door.needed]
    vocabularies, ids = _encode_roles(door, roles, orders, tables)
    rows = _stack([ids[role] for role in roles])
    sizes = dict(zip(splits, map(len, tables), strict=True))
    return SplitTables(rows, sizes, vocabularies, tuple(reader.notes), tuple(left_out))


def _of_one_width(read: Mapping[str, IdTable], splits: Splits, door: Door) -> list[IdTable]:
    """Return tables that have the same number of columns; one without rows takes it from others."""
    width = max(door.needed, *(len(table.ids) for table in read.values()))
    roles = _roles_of_columns(door, width)
    tables = []
    for name, table in read.items():
        title, _ = splits[name]
        if not table.ids:
            none = np.zeros(0, np.int64)
            table = IdTable(dict.fromkeys(roles, none), title=title)
        if len(table.ids) != width:
            expected = f"{width} columns, as in another split"
            raise InputValueError(title, expected=expected, got=len(table.ids))
        tables.append(table)
    return tables


class TableReader:
    """Reads tables of one door; columns with one vocabulary number their names together.

    Parameters
    ----------
    door : Door
    columns : mapping of str to (str or int), optional
        As `check_columns` returns it.
    header : bool, optional
        As `find_form` takes it.
    has_further : bool
        Whether columns without a role are read.

    Attributes
    ----------
    notes : list of str
        A line about every file whose header was left out.
    left_out : list of str
        A line for each table of which columns were not read.
    further : list of str
        The names of the columns behind those of the door; empty where no table has names.
    """

    def __init__(
        self,
        door: Door,
        columns: Mapping[str, str | int] | None = None,
        *,
        header: bool | None = None,
        has_further: bool = False,
    ) -> None:
        self.door = door
        self.header = header if header is None else flag("header", header)
        self._columns = columns
        self._has_further = has_further
        self._indexes: dict[str, _core.Names] = {}
        self.notes: list[str] = []
        self.left_out: list[str] = []
        self.further: list[str] = []

    def index(self, role: str) -> _core.Names:
        """Return the names of a role; heads and tails share theirs."""
        kind = self.door.vocabularies.get(role, role)
        if kind not in self._indexes:
            self._indexes[kind] = _core.Names()
        return self._indexes[kind]

    def read(self, title: str, value: Any) -> IdTable:
        """Read a table of any form; one without rows has no columns.

        Raises
        ------
        TypeError, ValueError, OSError
            For anything but an array of int, a table, a list of tuples, a tuple of columns, a path,
            and an `IdTable`.
        """
        if isinstance(value, IdTable) and list(value.ids) == self.door.needed_roles:
            return replace(value, title=title)
        if is_path(value):
            path = os.fsdecode(value)
            if not is_npy(path):
                return self.read_lines(title, path)
            value = read_npy(title, path)
            title = f"{title}: {path}"
        columns = self._columns_of(title, value)
        table = IdTable({}, title=title)
        for role, column in zip(_roles_of_columns(self.door, len(columns)), columns, strict=True):
            part = self.column(title, role, column)
            table.ids.update(part.ids)
            table.names.update(part.names)
        return table

    def read_lines(self, title: str, path: str) -> IdTable:
        """Read a file of text; one without rows has no columns."""
        form = find_form(title, path, self.door, self.header, self._columns)
        table_title = f"{title}: {path}"
        if form is None:
            return IdTable({}, title=table_title)
        order = self._order(table_title, form.names, form.width)
        if form.name:
            self.notes.append(f"{table_title}: {form.name}")
        roles = _roles_of_columns(self.door, len(order))
        names = {role: self.index(role) for role in roles}
        columns = read_rows(title, path, self.door, form, order, list(names.values()))
        return IdTable(
            dict(zip(roles, columns, strict=False)),
            title=table_title,
            names=names,
            kind="text",
            path=path,
            has_header=form.header > 0,
        )

    def _order(self, title: str, names: Sequence[Any] | None, width: int) -> list[int]:
        """Return where the columns of the roles are, and then all others that are read."""
        places, others = find_roles(
            title, names, width, self.door, self._columns, has_further=self._has_further
        )
        further = [name_of_column(names, j) for j in others]
        if further and not self._has_further:
            self.left_out.append(f"{title}: {', '.join(further)}")
            others = []
        elif further and names is not None:
            self.further = self.further or further
            if self.further != further:
                expected = f"further columns {', '.join(self.further)}, as another split has"
                raise InputValueError(title, expected=expected, got=", ".join(further))
        return [*places.values(), *others]

    def _columns_of(self, title: str, value: Any) -> list[Any]:
        """Return the columns of whatever has rows or columns, in the order of the roles.

        None are returned where there are no rows.
        """
        row = f"({', '.join(self.door.needed_roles)})"
        forms = (
            "a path, a table with named columns (pandas, polars, pyarrow, a structured array), "
            f"rows [{row}, ...] as a list of tuples or an array of ints, or a tuple of columns"
        )
        if is_frame(value):
            table = read_named_table(title, value, forms, self._columns)
        else:
            table = read_table(title, value) or table_of_rows(title, value, forms)
        if not table.columns or not len(table.columns[0]):
            return []
        width = len(table.columns)
        are_placed = self._columns is not None
        if table.names is None and not self.door.fits(width, are_placed=are_placed):
            expected = f"{self.door.expected}: a tuple is columns, a list of tuples is rows"
            raise InputValueError(title, expected=expected, got=f"{width} columns")
        return [table.columns[j] for j in self._order(title, table.names, width)]

    def column(self, title: str, role: str, values: Any) -> IdTable:
        """Read the values of one role, which are either labels or integers."""
        roles = self.door.needed_roles
        expected = f"integers or labels in column {role}"
        if role in roles:
            expected = f"integers or labels in column {roles.index(role)} ({role})"
        else:  # It may hold weights.
            expected += f", or columns= with {', '.join(roles)} alone"
        elements = read_elements(title, values, expected, "in row {}".format)
        if isinstance(elements, np.ndarray):
            return IdTable({role: elements}, title=title)
        index = self.index(role)
        codes = index.add(elements)
        if role in roles and "" in elements:
            row = list(elements).index("")
            raise InputValueError(title, expected=expected, got=f"'' in row {row}")
        return IdTable({role: codes}, title=title, names={role: index})


def _roles_of_columns(door: Door, width: int) -> list[str]:
    """Return the roles of columns, and numbers for those behind them."""
    roles = door.needed_roles
    return roles[:width] + list(map(str, range(len(roles), width)))


def _refuse_unsaid_header(table: IdTable, others: Sequence[IdTable]) -> None:
    """Refuse the first line of a file of facts if it looks like a header of unknown names.

    It does if none of its fields occurs below the first line of any file, in a file of ten lines
    and more of which most have a relation that another line has, too.
    """
    if len(table) < _LEAST_LINES:
        return
    relations = list(table.ids.values())[1]
    if (relations[1:] == relations[0]).any():  # Most files end the search here.
        return
    numbers = occurrences_of(relations)[1]
    if 2 * numbers[numbers > 1].sum() <= len(relations):
        return
    fields = [str(table.entry(role, 0)) for role in table.ids]
    for field_of_line, role in zip(fields, table.ids, strict=True):
        index = table.names[role]
        for other in others:
            for other_role, ids in other.ids.items():
                if other.names.get(other_role) is index:
                    is_it = ids == table.ids[role][0]
                elif other_role not in other.names and is_integer_text(field_of_line):
                    is_it = ids == int(field_of_line)
                else:
                    continue
                # All files may begin with the same header, so the first line proves nothing.
                if is_it[bool(other.path) :].any():
                    return
    ways = "header=True says that it names the columns, header=False that it is a fact"
    expected = f"a first line with a field that occurs elsewhere, too, or with known names ({ways})"
    raise InputValueError(table.title, expected=expected, got=repr("\t".join(fields)))


def _leave_out(tables: Sequence[IdTable], role: str, name: str) -> str:
    """Leave a further column out that has one value; another belongs to no query unsaid."""
    filled = [table for table in tables if len(table)]
    entries = {table.entry(role, 0) for table in filled}
    has_one_value = all((table.ids[role] == table.ids[role][0]).all() for table in filled)
    if len(entries) > 1 or not has_one_value:
        expected = (
            "3 columns (head, relation, tail); keys= says what others "
            'are, and columns={"head": ..., "relation": ..., "tail": ...} leaves them out'
        )
        got = f"{name}, as {filled[0].entry(role, 0)!r} and others"
        raise InputValueError(filled[0].title, expected=expected, got=got)
    return f"all splits: {name}, which has one value"


def _stack(columns: Sequence[Sequence[IntArray]]) -> IntArray:
    """Stack the splits below each other; the result is column by column in memory.

    Examples
    --------
    >>> _stack([[np.array([1]), np.array([2, 3])], [np.array([4]), np.array([5, 6])]])
    array([[1, 4],
           [2, 5],
           [3, 6]])
    """
    rows = np.empty((sum(map(len, columns[0])), len(columns)), dtype=np.int64, order="F")
    for column, parts in zip(rows.T, columns, strict=True):
        np.concatenate(parts, out=column)
    return rows


# -- what entries name -----------------------------------------------------------------------------


def _encode_roles(
    door: Door, roles: Sequence[str], orders: Mapping[str, Any], tables: Sequence[IdTable]
) -> tuple[dict[str, Vocabulary], dict[str, list[IntArray]]]:
    """Return the vocabulary of each role, and the ids of each table by role."""
    vocabularies: dict[str, Vocabulary] = {}
    ids: dict[str, list[IntArray]] = {}
    holds_ids = False  # Whether labels of one kind are integers, and so is the text of others.
    for argument, order in orders.items():
        shared = [role for role in door.needed_roles if door.vocabularies[role] == argument]
        columns = [(table, role) for table in tables for role in shared]
        has_text = any(table.kind == "text" and len(table) for table in tables)
        if order is None and holds_ids and has_text:
            numbers = parse_integers(columns)
            order = 1 + max(int(part.max(initial=0)) for part in numbers)
        vocabulary, ids_of_columns = encode_columns(argument, order, columns)
        holds_ids = holds_ids or (order is not None and vocabulary.words is None)
        for i, role in enumerate(shared):
            vocabularies[role] = vocabulary
            ids[role] = ids_of_columns[i :: len(shared)]
    vocabularies = {role: vocabularies[role] for role in door.needed_roles}
    for role in roles[door.needed :]:
        columns = [(table, role) for table in tables]
        names, ids[role] = _encode_further(columns, holds_ids)
        vocabularies[role] = Vocabulary(len(names or ()), names, role)
    return vocabularies, ids


def _encode_further(
    columns: Sequence[tuple[IdTable, str]], holds_ids: bool
) -> tuple[tuple[str, ...] | None, list[IntArray]]:
    """Number the labels of a further column in ascending order; integers stay.

    If the others hold ids, integers in text stay integers, too.
    """
    labels = distinct_labels(columns)
    are_integers = all(map(is_integer_text, labels))
    are_text = all(table.kind == "text" for table, role in columns if role in table.names)
    if not labels or (holds_ids and are_text and are_integers):
        return None, parse_integers(columns)
    _refuse_ids(columns)
    names = tuple(sorted(labels))
    return names, _numbers_of(columns, {name: i for i, name in enumerate(names)})


def encode_columns(
    argument: str, order: object, columns: Sequence[tuple[IdTable, str]]
) -> tuple[Vocabulary, list[IntArray]]:
    """Turn columns into ids by the given vocabulary, or by one made of their labels.

    Parameters
    ----------
    argument : str
        The argument, "entities" or "relations".
    order : object
        As `Vocabulary.read` takes it; None: the labels in ascending order, or ids from 0 to the
        largest. It is refused if all labels are numbers: in ascending order, "10" would come before
        "2".
    columns : sequence of (IdTable, str)
        All columns with these labels or ids: tables, and the role in each.

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
    >>> index = _core.Names()
    >>> table = IdTable({"head": index.add(["b", "a", "b"])}, names={"head": index})
    >>> encode_columns("entities", None, [(table, "head")])
    (Vocabulary(size=2, names=('a', 'b'), of='entities'), [array([1, 0, 1])])
    """
    labels = distinct_labels(columns)
    if order is None and labels:
        _refuse_ids(columns)
        order = sorted(labels)
        if all(map(is_id, order)):
            remedy = f"give {argument}=<int>, how many ids there are, or the labels in their order"
            problem = f"all labels of {argument} are numbers, as {order[0]!r}; {remedy}"
            raise InputValueError(argument, problem)
    has_ids_alone = order is None
    vocabulary = Vocabulary.read(argument, MAX_IDS if has_ids_alone else order)
    ids = _ids_of_columns(vocabulary, columns)
    for (table, role), values in zip(columns, ids, strict=True):
        row = _core.first_outside(np.ascontiguousarray(values), vocabulary.size)
        if row >= 0:
            got = f"{table.entry(role, row)!r} in {table.where(role, row)}"
            raise InputValueError(table.title, expected=vocabulary.expected, got=got)
    if has_ids_alone:
        largest = max((int(values.max(initial=-1)) for values in ids), default=-1)
        vocabulary = Vocabulary(largest + 1, None, argument)
    return vocabulary, ids


def _ids_of_columns(
    vocabulary: Vocabulary, columns: Sequence[tuple[IdTable, str]]
) -> list[IntArray]:
    """Return the position of each entry of some columns, -1 where it names nothing."""
    # Columns may share names: each is looked up once.
    positions_of_names: dict[tuple[_core.Names, str], IntArray] = {}
    ids_of_columns = []
    for table, role in columns:
        index = table.names.get(role)
        ids = table.ids[role]
        if len(ids) and table.kind != "positions":
            if index is None:
                ids = find_elements(vocabulary, table, role, ids)
            else:
                key = index, table.kind
                if key not in positions_of_names:
                    labels = index.listed()
                    if vocabulary.words is None and table.kind != "text":
                        labels = (labels[ids[0]],)  # One label is enough, for the first is refused.
                    positions_of_names[key] = find_elements(vocabulary, table, role, labels)
                ids = positions_of_names[key][ids]
        ids_of_columns.append(ids)
    return ids_of_columns


def find_elements(
    vocabulary: Vocabulary, table: IdTable, role: str, elements: Elements
) -> IntArray:
    """Return what elements of a column name, with messages about the column."""

    def where(row: int) -> str:
        return f"in {table.where(role, row)}"

    is_text = table.kind == "text"
    return vocabulary.find(table.title, elements, is_text=is_text, where=where)


def distinct_labels(columns: Iterable[tuple[IdTable, str]]) -> set[str]:
    """Return the labels of some columns, most of which share theirs."""
    indexes = {table.names[role] for table, role in columns if role in table.names}
    return set().union(*(index.listed() for index in indexes))


def _refuse_ids(columns: Sequence[tuple[IdTable, str]]) -> None:
    """Refuse columns of ids beside those of labels."""
    for table, role in columns:
        if len(table) and role not in table.names:
            got = f"ids in column {list(table.ids).index(role)}"
            raise InputValueError(table.title, expected="labels, as other splits have", got=got)


def parse_integers(columns: Sequence[tuple[IdTable, str]]) -> list[IntArray]:
    """Read the labels of text, where there are any, as integers."""
    labels = distinct_labels(columns)
    numbers = {label: int(label) for label in labels if is_integer_text(label)}
    return _numbers_of(columns, numbers)


def _numbers_of(
    columns: Sequence[tuple[IdTable, str]], numbers: Mapping[str, int]
) -> list[IntArray]:
    """Return the number of each label of some columns; ids stay as they are.

    Examples
    --------
    >>> index = _core.Names()
    >>> table = IdTable({"time": index.add(["b", "a", "b"])}, names={"time": index})
    >>> _numbers_of([(table, "time")], {"a": -5, "b": 7})
    [array([ 7, -5,  7])]
    """
    numbers_of_labels: dict[_core.Names, IntArray] = {}
    numbers_of_columns = []
    for table, role in columns:
        index = table.names.get(role)
        values = table.ids[role]
        if index is not None:
            if index not in numbers_of_labels:
                listed = [numbers.get(label, _NO_NUMBER) for label in index.listed()]
                numbers_of_labels[index] = np.array(listed, dtype=np.int64)
            values = numbers_of_labels[index][values]
            is_missing = values == _NO_NUMBER  # Only labels that a row has need a number.
            if is_missing.any():
                row = int(is_missing.argmax())
                got = f"{table.entry(role, row)!r} in {table.where(role, row)}"
                expected = "integers, as no labels are given"
                raise InputValueError(table.title, expected=expected, got=got)
        numbers_of_columns.append(values)
    return numbers_of_columns


# -- names of splits -------------------------------------------------------------------------------


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
    if isinstance(value, IdTable) or is_path(value):
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
