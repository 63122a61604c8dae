"""Tables of ids: facts, pairs, judgements and lists in any form, and what their entries name.

A table is read once, with numbers for its names. A vocabulary, which is given or made of all names,
then says what they stand for.
"""

from __future__ import annotations

import os
import reprlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, compress, count
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from .. import _core
from ..arrays.input_files import is_npy, read_npy
from ..errors import InputTypeError, InputValueError
from ..naming import format_count
from .columns import (
    NO_FORM,
    NUMBERS,
    Door,
    Form,
    checked_names,
    find_columns,
    is_column,
    joined_rows,
    read_columns,
    read_elements,
)
from .text import find_form, is_id, is_integer_text, is_path, line_of, read_rows
from .vocabularies import MAX_IDS, Vocabulary

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from ..inputs.progress_listeners import Listener
    from .columns import Elements, Names

    Ids = npt.NDArray[Any]
    Mask = npt.NDArray[np.bool_]

_ARGUMENTS_WITH_IDS = ("entities", "relations")  # Files of these may hold ids.
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
    labels : dict of str to tuple
        What they number in lists of Python, of which integers are numbered, too.
    kind : {"python", "text", "positions"}
        What names and integers are: elements of Python; fields of text, which have no type; or
        positions, whatever the labels are.
    path : str
        The file of text that has it; "": there is none.
    form : Form
        Where its columns are, and which were left out.
    asked : IdTable, or None
        The queries, also those without a row, where they are known apart from the rows.
    """

    ids: dict[str, Ids]
    values: dict[str, Any] = field(default_factory=dict)
    title: str = ""
    names: dict[str, _core.Names] = field(default_factory=dict)
    labels: dict[str, Names] = field(default_factory=dict)
    kind: Literal["python", "text", "positions"] = "python"
    path: str = ""
    form: Form = NO_FORM
    asked: IdTable | None = None

    def __len__(self) -> int:
        return len(next(iter(self.ids.values()), ()))

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
        column = f"column {list(self.ids).index(role)}"
        if self.path and not self.form.has_comments:
            return f"{column} of line {line_of(self.path, row + (self.form.header > 0))}"
        if self.kind == "text":  # Rows are not lines: comments and repeats went.
            return column
        return f"{column} of row {row}"

    def select(self, rows: Any) -> Self:
        """Return some of the rows."""
        ids = {role: column[rows] for role, column in self.ids.items()}
        values = {role: column[rows] for role, column in self.values.items()}
        return replace(self, ids=ids, values=values)

    def select_once(self, rows: IntArray) -> Self:
        """Return the rows that repeat no other; of a file, how many did is left out of its form."""
        table = self.select(rows)
        if not self.path:
            return table
        repeats = format_count(len(self) - len(rows), "repeated line")
        return replace(table, form=replace(self.form, left_out=(*self.form.left_out, repeats)))

    def entry(self, role: str, row: int) -> str | int:
        """Return a label or an integer, for messages."""
        number = int(self.ids[role][row])
        if role not in self.names:
            return number
        return self.names[role].listed()[number]


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
    >>> table.ids["left"], table.names["left"].listed(), table.ids["right"]
    (array([0, 1], dtype=int32), ('a', 'b'), array([7, 3]))
    """
    names = {} if names is None else names
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
    if not door.mappings and not (parts and len(parts[0])):
        return IdTable({}, title=title)
    form = find_columns(title, names_of_columns, len(parts), door, columns, has_further=has_further)
    table = IdTable({}, title=title, form=form)
    for role, place in form.places.items():
        if role in NUMBERS:
            table.values[role] = parts[place]
        else:
            add_column(table, role, parts[place], door, names)
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
    names_of_roles = {role: names_of_role(door, role, names) for role in roles}
    ids, numbers, comments = read_rows(argument, path, door, form, names_of_roles, progress)
    if comments:
        form = replace(form, left_out=(*form.left_out, format_count(comments, "comment")))
    table = IdTable(
        dict(zip(roles, ids, strict=True)),
        title=f"{argument}: {path}",
        names=names_of_roles,
        kind="text",
        path=path,
        form=form,
    )
    if form.number_role:
        table.values[form.number_role] = numbers
    return table


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
    asked = IdTable({}, title=argument)
    if door.needed > 2:
        for key in value:
            if not isinstance(key, tuple) or len(key) != door.needed - 1:
                raise InputTypeError(argument, expected=door.mappings, got=f"the key {key!r}")
        asked.ids["query"], asked.labels["query"] = code_names(tuple(value))
    else:
        add_column(asked, "query", list(value), door, {})
    values: dict[str, Any] = {}
    if True in are_scored:
        counts = np.array(list(map(len, lists)), np.int64)
        values["score" if door.is_of_lists else "relevance"] = list(
            chain.from_iterable(each.values() for each in lists)
        )
        documents: Any = list(chain.from_iterable(lists))
    elif door.is_of_lists:
        queries = list(value)
        counts, documents = joined_rows(
            argument, lists, "a list of ids, or {id: score}", lambda i: f"for {queries[i]!r}"
        )
    else:
        counts, documents = joined_rows(argument, lists, "documents of each query")
    table = IdTable(
        {"query": np.repeat(asked.ids["query"], counts)},
        values,
        argument,
        dict(asked.names),
        dict(asked.labels),
        asked=asked,
    )
    add_column(table, "document", documents, door, {})
    return table


def add_column(
    table: IdTable, role: str, values: Any, door: Door, names: dict[str, _core.Names]
) -> None:
    """Add a column of labels or integers to a table."""
    if door.is_of_lists:
        table.ids[role], table.labels[role] = code_names(checked_names(table.title, values))
        return
    roles = door.needed_roles
    expected = f"integers or labels in column {role}"
    if role in roles:
        expected = f"integers or labels in column {roles.index(role)} ({role})"
    else:  # It may hold weights.
        expected += f", or columns= with {', '.join(roles)} alone"
    elements = read_elements(table.title, values, expected, "in row {}".format)
    if isinstance(elements, np.ndarray):
        table.ids[role] = elements
        return
    table.names[role] = names_of_role(door, role, names)
    table.ids[role] = table.names[role].add(elements)
    if role in roles and "" in elements:
        row = list(elements).index("")
        raise InputValueError(table.title, expected=expected, got=f"'' in row {row}")


def code_names(names: Names) -> tuple[Ids, Names]:
    """Return the number of each name, in the order in which they first occur, and all names once.

    Examples
    --------
    >>> code_names(("d7", "d3", "d7"))
    (array([0, 1, 0]), ('d7', 'd3'))
    """
    if names and isinstance(names[0], str):
        return _core.code_names(names)
    # The first look-up of a name numbers it.
    numbers: defaultdict[Any, int] = defaultdict(count().__next__)
    codes = np.fromiter(map(numbers.__getitem__, names), np.int64, len(names))
    return codes, tuple(numbers)


def names_of_role(door: Door, role: str, names: dict[str, _core.Names]) -> _core.Names:
    """Return the names of a role; heads and tails share theirs."""
    return names.setdefault(door.vocabularies.get(role, role), _core.Names())


# -- what entries name -----------------------------------------------------------------------------


def encode_columns(
    argument: str, order: object, columns: Sequence[tuple[IdTable, str]], *, has_ids: bool = False
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
    has_ids : bool
        Whether text has ids, too.

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
    is_of_facts = order is None
    if order is None and labels:
        refuse_ids(columns)
        order = sorted(labels)
        if all(map(is_id, order)):
            remedy = f"give {argument}=<int>, how many ids there are, or the labels in their order"
            problem = f"all labels of {argument} are numbers, as {order[0]!r}; {remedy}"
            raise InputValueError(argument, problem)
    has_ids_alone = order is None
    vocabulary = Vocabulary.read(argument, MAX_IDS if has_ids_alone else order)
    vocabulary = replace(vocabulary, has_ids=has_ids, is_of_facts=is_of_facts)
    ids = _ids_of_columns(vocabulary, columns)
    for (table, role), values in zip(columns, ids, strict=True):
        row = _core.first_outside(np.ascontiguousarray(values), vocabulary.size)
        if row >= 0:
            entry = table.entry(role, row)
            expected = vocabulary.expected
            is_text = table.kind == "text" and vocabulary.words and not has_ids
            if is_text and is_id(str(entry)) and argument in _ARGUMENTS_WITH_IDS:
                expected += "; ids=True says that text has ids"
            got = f"{entry!r} in {table.where(role, row)}"
            raise InputValueError(table.title, expected=expected, got=got)
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


def refuse_ids(columns: Sequence[tuple[IdTable, str]]) -> None:
    """Refuse columns of ids beside those of labels."""
    for table, role in columns:
        if len(table) and role not in table.names:
            got = f"ids in column {list(table.ids).index(role)}"
            raise InputValueError(table.title, expected="labels, as other splits have", got=got)


def parse_integers(columns: Sequence[tuple[IdTable, str]]) -> list[IntArray]:
    """Read the labels of columns, where they have any, as integers; ids stay as they are.

    Examples
    --------
    >>> index = _core.Names()
    >>> table = IdTable({"time": index.add(["7", "-5", "7"])}, names={"time": index})
    >>> parse_integers([(table, "time")])
    [array([ 7, -5,  7])]
    """
    numbers_of_names: dict[_core.Names, IntArray] = {}
    numbers = []
    for table, role in columns:
        index = table.names.get(role)
        values = table.ids[role]
        if index is not None:
            if index not in numbers_of_names:
                labels = index.listed()
                are_integers = list(map(is_integer_text, labels))
                of_names = np.full(len(labels), _NO_NUMBER)
                of_names[are_integers] = list(map(int, compress(labels, are_integers)))
                numbers_of_names[index] = of_names
            values = numbers_of_names[index][values]
            is_missing = values == _NO_NUMBER  # Only labels that a row has need a number.
            if is_missing.any():
                row = int(is_missing.argmax())
                got = f"{table.entry(role, row)!r} in {table.where(role, row)}"
                expected = "integers, as no labels are given"
                raise InputValueError(table.title, expected=expected, got=got)
        numbers.append(values)
    return numbers
