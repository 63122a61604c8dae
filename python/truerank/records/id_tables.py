"""Tables of facts, pairs, judgements and lists in any form, and what their entries name.

A table is read once, as a `Column` for each role. A vocabulary, which is given or made of all
labels, then says what they stand for.
"""

from __future__ import annotations

import os
import reprlib
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, product
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import _core
from ..arrays.input_files import is_npy, read_npy
from ..errors import InputTypeError, InputValueError
from ..inputs.array_likes import index_array
from ..inputs.checks import check_size
from ..naming import format_count
from .columns import (
    NO_FORM,
    NUMBERS,
    Column,
    Door,
    Form,
    checked_names,
    find_columns,
    is_column,
    joined_rows,
    read_column,
    read_columns,
    refuse_left_out_numbers,
    refuse_rows_of_labels,
)
from .text import find_form, is_id, is_integer_text, is_path, line_of, read_rows
from .vocabularies import MAX_IDS, Vocabulary, align

if TYPE_CHECKING:
    from ..arrays.types import IntArray
    from ..inputs.progress_listeners import Listener


@dataclass(frozen=True, eq=False)
class IdTable:
    """Columns of elements by role, and columns of numbers; all of one length.

    Attributes
    ----------
    columns : dict of str to Column
        By role, as "head" or "query"; further columns have their numbers as roles.
    values : dict of str to ndarray, shapes (n,)
        Numbers by role: "relevance", "score", "rank".
    title : str
        What messages call it: the argument, and its file.
    path : str
        The file of text that has it; "": there is none.
    form : Form
        Where its columns are, and which were left out.
    asked : Column, or None
        The queries, also those without a row, where these are known.
    """

    columns: dict[str, Column]
    values: dict[str, Any] = field(default_factory=dict)
    title: str = ""
    path: str = ""
    form: Form = NO_FORM
    asked: Column | None = None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @property
    def source(self) -> str:
        """What reports say of the file, of its form and of what was left out; "": nothing."""
        left_out = ", ".join(self.form.left_out)
        if self.path:
            description = self.form.description
            if left_out:
                description += f"; left out: {left_out}"
            return f"{self.path} ({description})"
        if left_out:
            return f"{self.title} (left out: columns {left_out})"
        return ""

    def where(self, role: str, row: int) -> str:
        """Return the place of an entry, for messages."""
        column = f"in column {list(self.columns).index(role)}"
        if not self.path:
            return f"{column} of row {row}"
        if self.form.has_comments:  # Comments and repeated rows are left out: a row is no line.
            return column
        has_header = self.form.header > 0
        return f"{column} of line {line_of(self.path, row + has_header)}"

    def select(self, rows: Any) -> Self:
        """Return some of the rows."""
        columns = {role: column.select(rows) for role, column in self.columns.items()}
        values = {role: numbers[rows] for role, numbers in self.values.items()}
        return replace(self, columns=columns, values=values)

    def select_once(self, rows: IntArray) -> Self:
        """Return the rows that repeat no other; of a file, how many did is left out of its form."""
        table = self.select(rows)
        if not self.path:
            return table
        repeats = format_count(len(self) - len(rows), "repeated line")
        return replace(table, form=replace(self.form, left_out=(*self.form.left_out, repeats)))


def read_table(
    argument: str,
    value: Any,
    door: Door,
    *,
    columns: Mapping[str, str | int] | None = None,
    header: bool | None = None,
    has_further: bool = False,
    names: dict[str, _core.Names] | None = None,
    progress: bool | Listener | None = None,
) -> IdTable:
    """Read a file, columns, or a mapping by query: the one door of tables.

    Parameters
    ----------
    argument : str
        For messages.
    value : object
        A path; what `read_columns` takes; for judgements and lists {query: {document: number}}, or
        {query: [documents]}. One of facts or pairs without rows has no columns.
    door : Door
    columns : mapping of str to (str or int), optional
        As `check_columns` returns it.
    header, has_further : optional
        As `find_form` takes them.
    names : dict of str to Names, optional
        The names of each vocabulary, which tables share; those of this one are added.
    progress : callable or bool, optional

    Returns
    -------
    IdTable
        Its numbers are as they came, if they are not from text.

    Raises
    ------
    TypeError, ValueError, OSError
        For anything else.

    Examples
    --------
    >>> from truerank.records.columns import PAIRS
    >>> table = read_table("test", [("a", 7), ("b", 3)], PAIRS)
    >>> table.columns["left"].ids, table.columns["left"].listed, table.columns["right"].ids
    (array([0, 1], dtype=int32), ('a', 'b'), array([7, 3]))
    """
    names = {} if names is None else names
    _refuse_columns_by_role(argument, value, door)
    if door.mappings and isinstance(value, Mapping):
        return _read_mapping(argument, value, door)
    title = argument
    if is_path(value):
        path = os.fsdecode(value)
        title = f"{argument}: {path}"
        if not is_npy(path):
            form = find_form(
                argument, path, door, header=header, columns=columns, has_further=has_further
            )
            if form is None:
                return IdTable({}, title=title)
            return _read_text(argument, path, door, form, names, progress)
        if door.mappings:
            raise InputTypeError(argument, expected=door.forms, got=f"the array in {path}")
        value = read_npy(argument, path)
    parts, names_of_columns = read_columns(title, value, door, columns)
    if not door.mappings and not (len(parts) and len(parts[0])):
        return IdTable({}, title=title)
    form = find_columns(title, names_of_columns, len(parts), door, columns, has_further=has_further)
    refuse_left_out_numbers(title, door, form, enumerate(parts))
    table = IdTable({}, title=title, form=form)
    if isinstance(parts, np.ndarray):  # They are integers, which are looked at and copied at once.
        check_size(title, parts.shape[1])
        ids = index_array(title, parts[list(form.places.values())], copy=False)
        table.columns.update(zip(form.places, map(Column, ids), strict=True))
        return table
    for role, place in form.places.items():
        if role in NUMBERS:
            table.values[role] = parts[place]
        else:
            table.columns[role] = _column_of_role(title, role, parts[place], door, names)
    return table


def _read_text(
    argument: str,
    path: str,
    door: Door,
    form: Form,
    names: dict[str, _core.Names],
    progress: bool | Listener | None,
) -> IdTable:
    """Read a file of text of a form."""
    roles = [role for role in form.places if role not in NUMBERS]
    role_names = {role: names_of_role(door, role, names) for role in roles}
    ids, numbers, comments, left_out = read_rows(argument, path, door, form, role_names, progress)
    refuse_left_out_numbers(f"{argument}: {path}", door, form, left_out.items())
    if comments:
        form = replace(form, left_out=(*form.left_out, format_count(comments, "comment")))
    columns = {
        role: Column(numbers_of_labels, role_names[role], is_text=True)
        for role, numbers_of_labels in zip(roles, ids, strict=False)
    }
    table = IdTable(columns, title=f"{argument}: {path}", path=path, form=form)
    if form.number_role:
        table.values[form.number_role] = numbers
    return table


def _refuse_columns_by_role(argument: str, value: Any, door: Door) -> None:
    """Refuse a mapping of roles to columns, whose keys would be read as queries."""
    if not isinstance(value, Mapping) or not door.needed <= len(value) <= len(door.roles):
        return
    roles = set(map(door.role_of, value))
    has_each_role = None not in roles and roles.issuperset(door.needed_roles)
    columns = list(value.values())
    if has_each_role and all(map(is_column, columns)) and len(set(map(len, columns))) == 1:
        got = f"columns by name ({', '.join(value)}), of which pd.DataFrame(...) makes a table"
        raise InputTypeError(argument, expected=door.forms, got=got)


def _read_mapping(argument: str, value: Mapping[Any, Any], door: Door) -> IdTable:
    """Read {query: {document: number}}, or {query: [documents]}."""
    lists = list(value.values())
    are_scored = {isinstance(each, Mapping) for each in lists}
    for query, each in value.items():
        is_odd = not isinstance(each, Mapping) and (
            not is_column(each) or (door.is_of_lists and isinstance(each, Set))
        )
        if len(are_scored) > 1 or is_odd:
            got = f"{query!r}: {reprlib.repr(each)}"
            raise InputTypeError(argument, expected=f"{door.mappings} for all queries", got=got)
    if door.needed > 2:
        for key in value:
            if not isinstance(key, tuple) or len(key) != door.needed - 1:
                raise InputTypeError(argument, expected=door.mappings, got=f"the key {key!r}")
    if door.is_of_lists:
        keys = tuple(value) if door.needed > 2 else checked_names(argument, list(value))
        asked = Column(np.arange(len(keys)), keys)
    else:
        asked = _column_of_role(argument, "query", list(value), door, {})
    values: dict[str, Any] = {}
    if True in are_scored:
        counts = np.array(list(map(len, lists)), np.int64)
        values["score" if door.is_of_lists else "relevance"] = list(
            chain.from_iterable(each.values() for each in lists)
        )
        documents: Any = list(chain.from_iterable(lists))
    elif door.is_of_lists:
        expected = "a list of ids, or {id: score} as of dict(zip(ids, scores))"
        counts, documents = joined_rows(argument, lists, expected, lambda i: f"for {keys[i]!r}")
    else:
        counts, documents = joined_rows(argument, lists, "documents of each query")
        refuse_rows_of_labels(argument, counts, documents)
    columns = {
        "query": asked.select(np.repeat(np.arange(len(asked)), counts)),
        "document": _column_of_role(argument, "document", documents, door, {}),
    }
    return IdTable(columns, values, argument, asked=asked)


def _column_of_role(
    title: str, role: str, values: Any, door: Door, names: dict[str, _core.Names]
) -> Column:
    """Return a column of labels, which are numbered, or of integers as they came."""
    roles = door.needed_roles
    expected = f"integers or labels in column {role}"
    if role in roles:
        expected = f"integers or labels in column {roles.index(role)} ({role})"
    else:  # It may hold weights.
        expected += f", or columns= with {', '.join(roles)} alone"
    column: Column = values
    if not isinstance(values, Column):
        column = read_column(title, values, expected, "in row {}".format)
    elements: Any = column.labels
    if elements is None:
        return column
    if role in roles and not door.is_of_lists and "" in elements:
        row = list(elements).index("")
        raise InputValueError(title, expected=expected, got=f"'' in row {row}")
    labels = names_of_role(door, role, names)
    return Column(labels.add(elements), labels)


def names_of_role(door: Door, role: str, names: dict[str, _core.Names]) -> _core.Names:
    """Return the names of a role; heads and tails share theirs."""
    return names.setdefault(door.vocabularies.get(role, role), _core.Names())


# -- what entries name -----------------------------------------------------------------------------


def make_vocabulary(
    argument: str,
    tables: Sequence[IdTable],
    roles: Sequence[str],
    *,
    text_has_ids: bool,
    is_further: bool = False,
) -> Vocabulary:
    """Make the vocabulary that nobody gave: the labels in ascending order, or ids.

    Parameters
    ----------
    argument : str
        The argument that would give it, or the number of a further column.
    tables : sequence of IdTable
    roles : sequence of str
        Those of the columns that it is for, in each table.
    text_has_ids : bool
        Whether integers in text are ids; in a further column only if all of its text is integers.
    is_further : bool
        Whether it is for a further column, whose integers are what they are.

    Raises
    ------
    InputValueError
        For ids beside labels, and for labels that are all numbers: in ascending order, "10" would
        come before "2".

    Examples
    --------
    >>> names = _core.Names()
    >>> table = IdTable({"head": Column(names.add(["b", "a", "b"]), names)})
    >>> make_vocabulary("entities", [table], ["head"], text_has_ids=False)
    Vocabulary(size=2, names=('a', 'b'), of='entities')
    """
    columns = [table.columns[role] for table in tables for role in roles]
    with_labels = {id(column.labels): column for column in columns if column.has_labels}
    labels = tuple(sorted(set().union(*(column.listed for column in with_labels.values()))))
    if is_further:
        are_text = all(column.is_text for column in columns if column.has_labels)
        text_has_ids = text_has_ids and are_text and all(map(is_integer_text, labels))
    has_text = any(column.is_text and len(column) for column in columns)
    if not labels or (text_has_ids and (has_text or is_further)):
        ids_as_they_came = Vocabulary(0, None, argument)
        if is_further or not any(map(len, columns)):
            return ids_as_they_came
        ids = chain.from_iterable(align_columns(tables, roles, ids_as_they_came).values())
        largest = max(int(column.max(initial=0)) for column in ids)
        return Vocabulary(min(1 + largest, MAX_IDS), None, argument)
    for table, role in product(tables, roles):
        if len(table) and not table.columns[role].has_labels:
            got = f"ids {table.where(role, 0)}"
            raise InputValueError(table.title, expected="labels, as other splits have", got=got)
    if not is_further and all(map(is_id, labels)):
        remedy = "say how many ids there are, or give the labels in their order"
        problem = f"all labels of {argument} are numbers, as {labels[0]!r}; {remedy}"
        raise InputValueError(argument, problem)
    return replace(Vocabulary.read(argument, labels), is_of_facts=not is_further)


def align_columns(
    tables: Sequence[IdTable], roles: Sequence[str], vocabulary: Vocabulary
) -> dict[str, list[IntArray]]:
    """Return by role the ids of each table; labels that columns share are looked up once.

    Examples
    --------
    >>> names = _core.Names()
    >>> table = IdTable({"time": Column(names.add(["7", "-5", "7"]), names, is_text=True)})
    >>> align_columns([table], ["time"], Vocabulary(0, None))
    {'time': [array([ 7, -5,  7])]}
    """
    looked_up: dict[tuple[int, bool], IntArray] = {}  # `align` keeps here what labels stand for.
    ids: dict[str, list[IntArray]] = {}
    for table, role in product(tables, roles):
        where = partial(table.where, role)
        aligned = align(table.title, table.columns[role], vocabulary, where, known=looked_up)
        ids.setdefault(role, []).append(aligned)
    return ids
