"""Tables of facts, pairs, judgements and lists in any form, and what their entries name.

A table is read once, as a `Column` for each role. A vocabulary, which is given or made of all
labels, then says what they stand for.
"""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from itertools import chain, product
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import _core
from ..arrays.input_files import is_npy, read_npy, state_of_file
from ..errors import InputTypeError, InputValueError, Option
from ..inputs.array_likes import as_array, index_array
from ..inputs.checks import (
    NUMBERED,
    check_size,
    columns_of,
    is_frame,
    is_iterable,
    kind_of,
    refuse_index,
)
from ..naming import format_count
from .columns import (
    FACTS,
    JUDGEMENTS,
    MAX_COLUMNS,
    NO_FORM,
    NUMBERS,
    PAIRS,
    TREC,
    Column,
    Door,
    Form,
    checked_names,
    find_columns,
    have_few_values,
    is_integer_type,
    joined_rows,
    read_column,
    refuse_left_out_numbers,
    refuse_rows_of_labels,
)
from .text import find_form, is_id, is_integer_text, is_path, line_of, number_of, read_rows
from .vocabularies import MAX_IDS, Vocabulary, align

if TYPE_CHECKING:
    from ..arrays.types import IntArray
    from ..inputs.progress_listeners import Listener


@dataclass(frozen=True, eq=False)
class IdTable:
    """Columns of elements by role, and columns of numbers; all of one length."""

    columns: dict[str, Column]  # by role; further columns have their numbers as roles
    values: dict[str, Any] = field(default_factory=dict)  # "relevance", "score", "rank"
    title: str = ""  # what messages call it: the argument, and its file
    path: str = ""  # the file of text that has it; "": there is none
    file: tuple[int, ...] = ()  # what tells that file from others, whatever its path is
    form: Form = NO_FORM
    asked: Column | None = None  # the queries, also those without a row, where these are known
    # Of lists, by name or number, the columns without a role that have few values.
    others: dict[Any, Column] = field(default_factory=dict)

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

    def without_rows(self) -> IdTable:
        """Return what is known of the table as a whole."""
        return IdTable({}, title=self.title, path=self.path, file=self.file, form=self.form)

    def select(self, rows: Any) -> Self:
        """Return some of the rows."""
        columns = {role: column.select(rows) for role, column in self.columns.items()}
        values = {role: numbers[rows] for role, numbers in self.values.items()}
        others = {name: column.select(rows) for name, column in self.others.items()}
        return replace(self, columns=columns, values=values, others=others)

    def select_once(self, rows: IntArray) -> Self:
        """Return the rows that repeat no other; of a file, how many did is left out of its form."""
        table = self.select(rows)
        if not self.path:
            return table
        repeats = format_count(len(self) - len(rows), "repeated line")
        return replace(table, form=replace(self.form, left_out=(*self.form.left_out, repeats)))


NO_TABLE = IdTable({})


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

    The value is a path; what `read_columns` takes; for judgements and lists {query: {document:
    number}}, or {query: [documents]}. One of facts or pairs without rows has no columns. Numbers
    stay as they came, if they are not from text. `names` are those of each vocabulary, which tables
    share; those of this one are added.

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
    others = _number_others(form, parts) if door.is_of_lists else {}
    return replace(table, others=others)


def _number_others(form: Form, parts: Sequence[Any]) -> dict[Any, Column]:
    """Return by name the columns without a role that have few values, as numbers of these."""
    others = {}
    for place, name in enumerate(form.names or ()):
        values = parts[place]
        elements = values.tolist() if hasattr(values, "tolist") else list(values)
        with suppress(TypeError):  # Elements that are lists, as of genres, have no numbers.
            is_read = place in form.places.values() or name in NUMBERS
            if not is_read and have_few_values(elements):
                numbers: dict[Any, int] = {}
                ids = [numbers.setdefault(value, len(numbers)) for value in elements]
                others[name] = Column(np.array(ids), tuple(numbers))
    return others


def _read_text(
    argument: str,
    path: str,
    door: Door,
    form: Form,
    names: dict[str, _core.Names],
    progress: bool | Listener | None,
) -> IdTable:
    """Read a file of text of a form."""
    file = state_of_file(path)
    roles = [role for role in form.places if role not in NUMBERS]
    role_names = {role: names_of_role(door, role, names) for role in roles}
    codes, numbers, comments, left_out = read_rows(argument, path, door, form, role_names, progress)
    codes_of_roles, codes_of_left_out = codes[: len(roles)], codes[len(roles) :]
    title = f"{argument}: {path}"
    values = [(place, list(map(number_of, words.listed()))) for place, words in left_out.items()]
    refuse_left_out_numbers(title, door, form, values)
    if comments:
        form = replace(form, left_out=(*form.left_out, format_count(comments, "comment")))
    columns = {
        role: Column(ids, role_names[role], is_text=True)
        for role, ids in zip(roles, codes_of_roles, strict=True)
    }
    table = IdTable(columns, title=title, path=path, file=file, form=form)
    column_names = form.names or range(form.width)
    for (place, words), ids in zip(left_out.items(), codes_of_left_out, strict=True):
        if column_names[place] not in NUMBERS:
            table.others[column_names[place]] = Column(ids, words)
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
        got = f"columns by name ({', '.join(value)}); pd.DataFrame(...) makes a table"
        raise InputTypeError(argument, expected=door.forms, got=got)


def _read_mapping(argument: str, value: Mapping[Any, Any], door: Door) -> IdTable:
    """Read {query: {document: number}}, or {query: [documents]}."""
    lists = list(value.values())
    n_scored = sum(isinstance(each, Mapping) for each in lists)
    is_mixed = 0 < n_scored < len(lists)
    for query, each in value.items():
        is_list = is_column(each) and not (door.is_of_lists and isinstance(each, Set))
        if is_mixed or not (is_list or isinstance(each, Mapping)):
            got = f"{query!r}: {reprlib.repr(each)}"
            raise InputTypeError(argument, expected=f"{door.mappings} for all queries", got=got)
    key_length = door.needed - 1
    if key_length > 1:
        for key in value:
            if not isinstance(key, tuple) or len(key) != key_length:
                raise InputTypeError(argument, expected=door.mappings, got=f"the key {key!r}")
    if door.is_of_lists:
        keys = tuple(value) if key_length > 1 else checked_names(argument, list(value))
        asked = Column(np.arange(len(keys)), keys)
    else:
        asked = _column_of_role(argument, "query", list(value), door, {})
    values: dict[str, Any] = {}
    if n_scored:
        counts = np.array(list(map(len, lists)), np.int64)
        number = "score" if door.is_of_lists else "relevance"
        values[number] = list(chain.from_iterable(each.values() for each in lists))
        documents: Any = list(chain.from_iterable(lists))
    elif door.is_of_lists:
        expected = "a list of ids, or {id: score}, such as dict(zip(ids, scores))"
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
    name = f"{roles.index(role)} ({role})" if role in roles else role
    expected = f"integers or labels in column {name}"
    # Another column may hold weights.
    ways = [] if role in roles else [door.way_to_name(door.needed)]
    column: Column = values
    if not isinstance(values, Column):
        column = read_column(title, values, expected, "in row {}".format, remedies=ways)
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


# -- tables ----------------------------------------------------------------------------------------


def read_columns(
    argument: str, value: Any, door: Door, columns: Mapping[str, str | int] | None = None
) -> tuple[Any, list[Any] | None]:
    """Return the columns of a value that has some, and their names; None: they have none.

    The value is a frame of pandas or polars, a table of pyarrow, or what else is a stream of Arrow,
    by pyarrow or polars, whichever is there; a structured array; a tuple of columns, which have no
    names, but for lists; rows of facts or pairs: a list of tuples of scalars, or an array of ints
    or labels. (The columns of an array of ints are its transpose.) Anything else is refused, and so
    are columns of unlike lengths, rows of another width than the door has, and a frame whose
    columns are numbered, unless the user says which are which.

    >>> read_columns("test", ([3, 4], [5, 6]), PAIRS)
    ([[3, 4], [5, 6]], None)
    >>> read_columns("test", [(3, "a"), (4, "b")], PAIRS)
    ([(3, 4), ('a', 'b')], None)
    """
    has_rows = not door.mappings
    value = _without_stream(value)
    names: list[Any] | None = None
    table: Any
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.names:
        names = list(value.dtype.names)
        table = [value[name] for name in names]
    elif is_frame(value):
        table, names = _columns_of_frame(argument, value)
        if names is None and columns is None:
            numbers = dict(zip(door.roles, range(len(table)), strict=False))
            way = Option("columns", numbers, "says which are which")
            got = "a frame whose columns are numbered"
            raise InputValueError(argument, expected="columns with names", got=got, remedies=[way])
    elif isinstance(value, tuple) and not hasattr(value, "_fields") and not door.is_of_lists:
        table = _columns_of_tuple(argument, value)
    elif isinstance(value, kind_of("pyarrow", "Table")):
        names = list(value.column_names)
        table = list(map(_plain_column, value.columns))
    elif has_rows:
        table = _columns_of_rows(argument, value, door)
    else:
        raise wrong_form(argument, value, door)
    is_filled = len(table) > 0 and len(table[0]) > 0
    if has_rows and is_filled and names is None and not door.fits(len(table), columns is not None):
        expected = f"{door.expected}: a tuple is columns, a list of tuples is rows"
        raise InputValueError(argument, expected=expected, got=f"{len(table)} columns")
    return table, names


def _without_stream(value: Any) -> Any:
    """Return a stream of Arrow, such as a relation of DuckDB, as a table; others as they are."""
    is_series = hasattr(value, "dtype") or isinstance(value, kind_of("pyarrow", "ChunkedArray"))
    if is_series or is_frame(value) or not hasattr(value, "__arrow_c_stream__"):
        return value
    try:
        return import_module("pyarrow").table(value)
    except ImportError:
        return import_module("polars").DataFrame(value)


def read_keys(argument: str, keys: Any, roles: Sequence[str]) -> list[Any]:
    """Return the elements of keys in the order of the roles, as rows of facts have them.

    >>> read_keys("row_queries", [("a", "r"), ("b", "r")], ["head", "relation"])
    [('a', 'b'), ('r', 'r')]
    """
    names = FACTS.roles | PAIRS.roles | JUDGEMENTS.roles
    roles_of_keys = {role: names.get(role, frozenset({role})) for role in roles}
    rows = f"rows [({', '.join(roles)}), ...] as a list of tuples or an array of ints or labels"
    forms = f"{rows}, or a table"
    if len(roles) == 1:
        forms = f"labels or ids of each {roles[0]}"
    if len(roles) == 1 and is_column(keys):
        keys = (keys,)
    values = keys if isinstance(keys, tuple) else (keys,)
    for value in values:
        refuse_index(argument, value)
    door = Door("keys", roles_of_keys, len(roles), forms=forms)
    parts, names_of_columns = read_columns(argument, keys, door)
    if not len(parts[0]):  # Of no keys nothing says how many columns they have.
        return [parts[0]] * len(roles)
    form = find_columns(argument, names_of_columns, len(parts), door)
    return [parts[form.places[role]] for role in roles]


def wrong_form(argument: str, value: Any, door: Door) -> InputTypeError:
    """Return the error for a value of a form that a door does not take, with the way out."""
    got = f"a {type(value).__name__}"
    shape = getattr(value, "shape", None)
    has_frame = hasattr(value, "to_pandas")  # as a data set of Hugging Face
    if isinstance(shape, tuple) and not has_frame:
        got = f"{type(value).__name__} of shape {shape}"
    if has_frame:
        got += ", whose .to_pandas() is one"
    elif hasattr(value, "mapped_triples"):  # a factory of PyKEEN
        got += ", whose .mapped_triples are ids, or .triples labels"
    elif hasattr(value, "to_dict") and door.kind in TREC:  # of ranx's qrels and runs, of a Series
        has_keys = getattr(getattr(value, "index", None), "nlevels", 1) > 1
        got += f", whose .{'reset_index' if has_keys else 'to_dict'}() is one"
    elif isinstance(value, list) and value and isinstance(value[0], (Mapping, tuple)):
        names = "" if isinstance(value[0], Mapping) else ", columns=[...]"
        got += f" of {type(value[0]).__name__}s; pd.DataFrame(rows{names}) makes a table"
    elif door is JUDGEMENTS and isinstance(shape, tuple) and shape[1:] == (2,):
        got += "; of an index (query, document) tuple(x.T) makes columns"
    return InputTypeError(argument, expected=door.forms, got=got)


def _columns_of_tuple(argument: str, value: tuple[Any, ...]) -> list[Any]:
    """Return columns without names; what is no column, or may be rows, is refused.

    As many tuples as each of them has places may be either.
    """
    expected = "columns in order, one-dimensional and of one length: a tuple is columns, a list is "
    expected += "rows"
    for column in value:
        if not is_column(column) or isinstance(column, (set, frozenset, Iterator)):
            raise InputTypeError(argument, expected=expected, got=f"{column!r} among them")
    lengths = list(map(len, value))
    if len(set(lengths)) != 1:
        got = f"lengths {', '.join(map(str, lengths[:8])) or 'of none'}"
        raise InputValueError(argument, expected=expected, got=got)
    if len(value) == lengths[0] and all(isinstance(column, tuple) for column in value):
        expected = "list(rows), tuple(map(list, columns)) or pd.DataFrame(rows, columns=[...])"
        got = f"{len(value)} tuples of {lengths[0]}, which may be rows or columns"
        raise InputValueError(argument, expected=expected, got=got)
    return list(value)


def _columns_of_array(argument: str, value: Any, door: Door) -> Any:
    """Return the columns of rows that are an array of ints or of labels, perhaps as objects."""
    array = value
    if type(value) is not np.ndarray:
        has_mask = isinstance(value, np.ma.MaskedArray)  # It would be lost.
        if has_mask or not hasattr(value, "shape") or hasattr(value, "to_pandas"):
            raise wrong_form(argument, value, door)
        array = as_array(value, argument, door.forms)
    if array.ndim != 2 or not 1 <= array.shape[1] <= MAX_COLUMNS:
        raise wrong_form(argument, value, door)
    if not len(array):
        return [[], []]
    if array.dtype.kind in "iu":
        return array.T
    kinds: set[type] = {array.dtype.type}
    if array.dtype.kind == "O":
        kinds = _core.types_of(array.ravel().tolist())
    are_labels = all(issubclass(kind, str) for kind in kinds)
    if not are_labels and not all(map(is_integer_type, kinds)):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise InputTypeError(
            argument, expected=door.forms, got=f"{type(value).__name__} of {names}"
        )
    return list(array.T)


def _columns_of_rows(argument: str, value: Any, door: Door) -> Any:
    """Return the columns of rows; where there are none, they have two columns."""
    if not isinstance(value, list):
        return _columns_of_array(argument, value, door)
    if value and isinstance(value[0], Mapping):
        raise wrong_form(argument, value, door)
    for i, row in enumerate(value):
        is_plain = isinstance(row, tuple) and row and not hasattr(row, "_fields")
        if not is_plain or (not i and any(map(is_column, row))):
            raise InputTypeError(argument, expected=door.forms, got=f"{row!r} in row {i}")
        if len(row) != len(value[0]):
            expected = f"{door.forms}, all of one length"
            raise InputValueError(argument, expected=expected, got=f"{row!r} in row {i}")
    if not value:
        return [[], []]
    return list(zip(*value, strict=True))


def is_column(value: Any) -> bool:
    """Return whether this is one-dimensional: a list, an array, a Series, a tensor, a range."""
    if isinstance(value, (list, tuple)):
        return True
    if isinstance(value, (str, bytes, Mapping)) or is_frame(value) or not is_iterable(value):
        return False
    return len(getattr(value, "shape", (0,))) == 1


def _columns_of_frame(argument: str, value: Any) -> tuple[list[Any], list[Any] | None]:
    """Return the columns of a frame, each of its own type; what only counts them is no name."""
    names: list[Any] | None = list(value.columns)
    if columns_of(argument, value) is NUMBERED or names == list(range(value.shape[1])):
        names = None
    if hasattr(value, "iloc"):
        columns = [value.iloc[:, j] for j in range(value.shape[1])]
    else:
        columns = list(value.get_columns())
    return columns, names


def _plain_column(column: Any) -> Any:
    """Return a column of Arrow that numpy, or the reader of names, takes."""
    if column.null_count == 0 and "int" in str(column.type):
        return np.asarray(column)
    return column.to_pylist()


# -- what entries name -----------------------------------------------------------------------------


def make_vocabulary(
    argument: str, tables: Sequence[IdTable], roles: Sequence[str], *, text_has_ids: bool
) -> Vocabulary:
    """Make the vocabulary that nobody gave: the labels in ascending order, or ids.

    `text_has_ids` says that integers in text are ids. Ids beside labels are refused, and so are
    labels that are all numbers: in ascending order, "10" would come before "2".
    """
    columns = [table.columns[role] for table in tables for role in roles]
    labels = sorted(_distinct_labels(columns))
    has_text = any(column.is_text and len(column) for column in columns)
    if not labels or (text_has_ids and has_text):
        ids_as_they_came = Vocabulary(0, None, argument)
        if not any(map(len, columns)):
            return ids_as_they_came
        ids = chain.from_iterable(align_columns(tables, roles, ids_as_they_came).values())
        largest = max(int(column.max(initial=0)) for column in ids)
        return Vocabulary(min(1 + largest, MAX_IDS), None, argument)
    _refuse_ids_beside_labels(tables, roles)
    if all(map(is_id, labels)):
        remedy = "say how many ids there are, or give the labels in their order"
        problem = f"all labels of {argument} are numbers, as {labels[0]!r}; {remedy}"
        raise InputValueError(argument, problem)
    return replace(Vocabulary.infer(argument, tuple(labels)), is_of_facts=True)


def make_further_vocabulary(
    argument: str, tables: Sequence[IdTable], role: str, *, text_has_ids: bool
) -> Vocabulary:
    """Make the vocabulary of a further column, as of times, whose integers are what they are.

    Labels that are all integers have the order of these; in text they are ids if `text_has_ids`.
    """
    columns = [table.columns[role] for table in tables]
    labels = sorted(_distinct_labels(columns))
    if all(map(is_integer_text, labels)):
        labels.sort(key=int)
        are_from_text = all(column.is_text for column in columns if column.has_labels)
        if not labels or (text_has_ids and are_from_text):
            return Vocabulary(0, None, argument)
    _refuse_ids_beside_labels(tables, [role])
    return Vocabulary.infer(argument, tuple(labels))


def _distinct_labels(columns: Sequence[Column]) -> set[str]:
    """Return the labels of all columns; those that several columns share are read once."""
    listed = {id(column.labels): column.listed for column in columns if column.has_labels}
    return set().union(*listed.values())


def _refuse_ids_beside_labels(tables: Sequence[IdTable], roles: Sequence[str]) -> None:
    """Refuse the first column of ids, where others have labels."""
    for table, role in product(tables, roles):
        if len(table) and not table.columns[role].has_labels:
            got = f"ids {table.where(role, 0)}"
            raise InputValueError(table.title, expected="labels, as other splits have", got=got)


def align_columns(
    tables: Sequence[IdTable], roles: Sequence[str], vocabulary: Vocabulary
) -> dict[str, list[IntArray]]:
    """Return by role the ids of each table; labels that columns share are looked up once."""
    looked_up: dict[tuple[int, bool], IntArray] = {}  # `align` keeps here what labels stand for.
    ids: dict[str, list[IntArray]] = {}
    for table, role in product(tables, roles):
        where = partial(table.where, role)
        aligned = align(table.title, table.columns[role], vocabulary, where, known=looked_up)
        ids.setdefault(role, []).append(aligned)
    return ids
