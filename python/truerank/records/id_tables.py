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
from ..arrays.input_files import file_state, is_npy, read_npy
from ..arrays.row_keys import distinct, factorize
from ..errors import InputTypeError, InputValueError, Option, argument_names, warn_user
from ..inputs import checks
from ..inputs.array_likes import (
    NUMBERED,
    as_array,
    class_if_imported,
    index_array,
    is_frame,
    named_columns,
    refuse_index,
)
from ..naming import format_count
from ..ranks import Ranks
from . import text
from .columns import (
    FACTS,
    JUDGEMENTS,
    MAX_COLUMNS,
    MOST_GRADES,
    NO_FORM,
    NUMBER_TYPES,
    NUMBERS,
    PAIRS,
    RANK_COLUMNS,
    RANK_NUMBERS,
    Column,
    Door,
    Form,
    checked_names,
    find_columns,
    first_names,
    have_few_values,
    is_integer_type,
    joined_rows,
    may_be_grades,
    read_column,
    refuse_left_out_numbers,
    refuse_matrix_of_grades,
)
from .vocabularies import MAX_IDS, Vocabulary, align

if TYPE_CHECKING:
    from ..arrays import IntArray
    from ..inputs.progress_listeners import Listener
    from .columns import ColumnsOption

    ProgressOption = bool | Listener | None
    NameTables = dict[str, _core.Names]  # by vocabulary; tables share them, and add theirs


_GRADE_NAMES = {"relevance", "rel", "grade", "label", "score", "rating", "gain"}


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
    # Of judgements and lists, by name or number, the columns without a role that are looked at.
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
        return f"{column} of line {text.find_line_number(self.path, row + has_header)}"

    def where_and_how_often(self, number: int, role: str, row: int) -> str:
        """Return the place of an entry that names nothing, and how many rows have such ones."""
        return f"{self.where(role, row)}; {number:,} of {len(self):,} rows have others"

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
    columns: ColumnsOption = None,
    header: bool | None = None,
    has_further: bool = False,
    shared_names: NameTables | None = None,
    progress: ProgressOption = None,
) -> IdTable:
    """Read a file, columns, or a mapping by query: the one door of tables.

    The value is a path; what `read_columns` takes; for judgements and lists {query: {document:
    number}}, or {query: [documents]}. One of facts or pairs without rows has no columns. Numbers
    stay as they came, if they are not from text. `shared_names` are those of each vocabulary, which
    tables share; those of this one are added.

    >>> from truerank.records.columns import PAIRS
    >>> table = read_table("test", [("a", 7), ("b", 3)], PAIRS)
    >>> table.columns["left"].ids, table.columns["left"].listed, table.columns["right"].ids
    (array([0, 1], dtype=int32), ('a', 'b'), array([7, 3]))
    """
    names = {} if shared_names is None else shared_names
    _refuse_columns_by_role(argument, value, door)
    if door.mappings and isinstance(value, Mapping):
        return _read_mapping(argument, value, door)
    if not text.is_path(value):
        return _read_values(argument, value, door, columns, names, has_further)
    path = os.fsdecode(value)
    title = f"{argument}: {path}"
    if is_npy(path):
        if door.mappings:
            raise InputTypeError(argument, expected=door.forms, got=f"the array in {path}")
        array = read_npy(argument, path)
        return _read_values(title, array, door, columns, names, has_further)
    form = text.find_form(
        argument, path, door, header=header, columns=columns, has_further=has_further
    )
    if form is None:
        return IdTable({}, title=title)
    file = file_state(path)
    id_places = {role: place for role, place in form.places.items() if role not in NUMBERS}
    names_by_place = {place: role_names(door, role, names) for role, place in id_places.items()}
    by_place, numbers, n_comments = text.read_rows(
        argument, path, door, form, names_by_place, progress
    )
    labels = {role: by_place[place] for role, place in id_places.items()}
    left_out = {place: by_place[place] for place in by_place if place not in names_by_place}
    ranks = left_out.pop(form.places.get("rank", -1), None)
    if ranks is not None:  # They stand beside scores.
        numbers["rank"] = text.column_numbers(ranks)
    values = [(place, list(map(text.parse_number, x.listed))) for place, x in left_out.items()]
    refuse_left_out_numbers(title, door, form, values)
    if n_comments:
        form = replace(form, left_out=(*form.left_out, format_count(n_comments, "comment")))
    titles = form.names or range(form.width)
    others = {titles[place]: x for place, x in left_out.items() if titles[place] not in NUMBERS}
    return IdTable(labels, numbers, title, path, file, form, others=others)


def _read_values(
    title: str, value: Any, door: Door, columns: ColumnsOption, names: NameTables, has_further: bool
) -> IdTable:
    """Read a table that is no file of text and no mapping by query."""
    elements, column_names = read_columns(title, value, door, columns)
    has_rows = len(elements) > 0 and len(elements[0]) > 0
    if not door.mappings and not has_rows:
        return IdTable({}, title=title)
    form = find_columns(title, column_names, len(elements), door, columns, has_further=has_further)
    refuse_left_out_numbers(title, door, form, enumerate(elements))
    if isinstance(elements, np.ndarray):  # Integers are looked at and copied at once.
        checks.check_size(title, elements.shape[1])
        ids = index_array(title, elements[list(form.places.values())], copy=False)
        ids_by_role = dict(zip(form.places, map(Column, ids), strict=True))
        return IdTable(ids_by_role, title=title, form=form)
    numbers = {role: elements[place] for role, place in form.places.items() if role in NUMBERS}
    labels = {
        role: _find_column(title, role, elements[place], door, names)
        for role, place in form.places.items()
        if role not in NUMBERS
    }
    lacks_grades = door.mappings and not form.number_role
    others = _code_other_columns(form, elements, door) if door.is_of_lists or lacks_grades else {}
    return IdTable(labels, numbers, title, form=form, others=others)


def _code_other_columns(form: Form, columns: Sequence[Any], door: Door) -> dict[Any, Column]:
    """Return by name the columns without a role that are looked at, with codes.

    They have few values. If no role has numbers, they are also those of lists that have numbers,
    and those of judgements that may be grades.
    """
    coded = {}
    for place, name in enumerate(form.names or range(form.width)):
        if place in form.places.values() or name in NUMBERS:
            continue
        values = columns[place]
        if hasattr(values, "iloc"):  # of pandas, whose missing values are unlike each other
            values = values.to_numpy(object, na_value=None)
        elements = values.tolist() if hasattr(values, "tolist") else list(values)
        with suppress(TypeError):  # Elements that are lists, as of genres, have no numbers.
            is_looked_at = have_few_values(elements)
            if not door.is_of_lists:
                is_looked_at = is_looked_at or may_be_grades(elements)
            elif not form.number_role:
                is_looked_at = is_looked_at or any(map(checks.is_number, elements[:1]))
            if is_looked_at:
                code_by_value: dict[Any, int] = {}
                codes = [code_by_value.setdefault(x, len(code_by_value)) for x in elements]
                coded[name] = Column(np.array(codes), tuple(code_by_value))
    return coded


def check_left_out_grades(table: IdTable) -> None:
    """Refuse numbers under a name of grades that judgements leave out, and warn of others.

    They have few values, of which a query has several. Others may be words; what each document has
    for itself, as a title, is none of them.
    """
    queries, documents = (table.columns[role].ids for role in ("query", "document"))
    for name, column in table.others.items():
        values = [x for x in column.listed if x == x and x not in (None, "")]
        if not 1 < len(values) <= MOST_GRADES:
            continue
        numbers = [text.parse_number(x) if isinstance(x, str) else x for x in values]
        are_numbers = all(isinstance(x, NUMBER_TYPES) for x in numbers)
        are_grades = are_numbers and str(name).lower() in _GRADE_NAMES
        has_several = _count_pairs(queries, column.ids) > len(distinct(queries))
        if not (has_several or (are_grades and 0 in numbers)):
            continue
        got = f"left out, with the values {first_names(values, 8)}"
        if are_grades:
            raise InputValueError(table.title, "", f"a table without column {name!r}", f"one {got}")
        n_documents = len(distinct(documents))
        # Few documents that several queries have may have one grade by chance.
        tells_enough = len(values) == n_documents or 2 * n_documents <= len(table)
        is_of_documents = tells_enough and _count_pairs(documents, column.ids) == n_documents
        if not (is_of_documents or len(values) == len(table)):
            problem = f"column {name!r} is {got}: every judged document counts as right"
            warn_user(table.title, problem)


def _count_pairs(first: IntArray, second: IntArray) -> int:
    return len(factorize(first.astype(np.int64), second.astype(np.int64)).distinct)


def _refuse_columns_by_role(argument: str, value: Any, door: Door) -> None:
    """Refuse a mapping of roles to columns, whose keys would be read as queries."""
    if not isinstance(value, Mapping) or not door.needed <= len(value) <= len(door.roles):
        return
    roles = set(map(door.role_of, value))
    has_each_role = None not in roles and roles.issuperset(door.needed_roles)
    columns = list(value.values())
    if has_each_role and all(map(is_column, columns)) and len(set(map(len, columns))) == 1:
        got = f"columns by name ({', '.join(value)}), which a table has; keys are queries"
        raise InputTypeError(argument, expected=door.forms, got=got)


def _read_mapping(argument: str, value: Mapping[Any, Any], door: Door) -> IdTable:
    """Read {query: {document: number}}, or {query: [documents]}."""
    lists, are_mappings = _read_lists_of_mapping(argument, value, door)
    keys: Any = list(value)
    key_length = door.needed - 1
    if key_length > 1:
        for key in keys:
            if not isinstance(key, tuple) or len(key) != key_length:
                raise InputTypeError(argument, expected=door.mappings, got=f"the key {key!r}")
    elif door.is_of_lists:
        keys = checked_names(argument, keys)
    if door.is_of_lists:
        queries = Column(np.arange(len(keys)), keys)
    else:
        queries = _find_column(argument, "query", keys, door, {})
    numbers: dict[str, Any] = {}
    documents: Any
    if are_mappings:
        role_of_numbers = "score" if door.is_of_lists else "relevance"
        numbers[role_of_numbers] = list(chain.from_iterable(scored.values() for scored in lists))
        documents = list(chain.from_iterable(lists))
        lengths = np.array(list(map(len, lists)), np.int64)
    elif door.is_of_lists:
        expected = "a list of ids, or {id: score}"
        lengths, documents = joined_rows(argument, lists, expected, lambda i: f"for {keys[i]!r}")
    else:
        lengths, documents = joined_rows(argument, lists, "documents of each query")
        refuse_matrix_of_grades(argument, lengths, documents)
    columns = {
        "query": queries.select(np.repeat(np.arange(len(queries)), lengths)),
        "document": _find_column(argument, "document", documents, door, {}),
    }
    return IdTable(columns, numbers, argument, asked=queries)


def _read_lists_of_mapping(
    argument: str, value: Mapping[Any, Any], door: Door
) -> tuple[list[Any], bool]:
    """Return the values of a mapping, of one kind, and whether they are mappings, too."""
    lists = list(value.values())
    kinds = _core.types_of(lists)
    if kinds in ({dict}, {list}):  # This is the usual case.
        return lists, kinds == {dict}
    lists = [_name_by_index(argument, query, listed, door) for query, listed in value.items()]
    are_mappings = bool(lists) and isinstance(lists[0], Mapping)
    for query, listed in zip(value, lists, strict=True):
        is_list = is_column(listed) and not (door.is_of_lists and isinstance(listed, Set))
        if isinstance(listed, Mapping) != are_mappings or not (are_mappings or is_list):
            got = f"{query!r}: {reprlib.repr(listed)}"
            raise InputTypeError(argument, expected=f"{door.mappings} for all queries", got=got)
    return lists, are_mappings


def _name_by_index(argument: str, query: Any, listed: Any, door: Door) -> Any:
    """Return a Series of pandas as a mapping by its index, as names are heeded; others as they are.

    An index without a name that is 0, 1, 2, ..., or of integers where the Series has a name, may be
    of rows, and is refused. So is what has keys and is no mapping of Python.
    """
    if isinstance(listed, (list, Mapping)) or not hasattr(listed, "keys"):
        return listed
    got = f"{query!r}: {type(listed).__name__}"
    if isinstance(listed, class_if_imported("pandas", "Series")):
        names = listed.index.tolist()
        are_rows = names == list(range(len(names)))
        if listed.name not in (None, query):
            are_rows = listed.index.inferred_type == "integer"
        has_names = listed.index.name is not None or not are_rows or not names
        if has_names and listed.index.is_unique:
            return dict(zip(names, listed.tolist(), strict=True))
        got += f" {listed.name!r} with index {first_names(names)}"
    expected = f"{door.mappings}, or a Series whose index has the names, each once, of its numbers"
    raise InputTypeError(argument, expected=expected, got=got)


def _find_column(
    title: str, role: str, values: Any, door: Door, shared_names: NameTables
) -> Column:
    """Return a column of labels, which are numbered, or of integers as they came."""
    roles = door.needed_roles
    name = f"{roles.index(role)} ({role})" if role in roles else role
    expected = f"integers or labels in column {name}"
    column = values
    if not isinstance(column, Column):
        # Another column may hold weights.
        ways = [] if role in roles else door.ways_to_name(door.needed)
        column = read_column(title, values, expected, "in row {}".format, remedies=ways)
    labels: Any = column.labels
    if labels is None:
        return column
    if role in roles and not door.is_of_lists and "" in labels:
        row = list(labels).index("")
        raise InputValueError(title, expected=expected, got=f"'' in row {row}")
    names = role_names(door, role, shared_names)
    return Column(names.add(labels), names)


def role_names(door: Door, role: str, names: NameTables) -> _core.Names:
    """Return the names of a role; heads and tails share theirs."""
    return names.setdefault(door.vocabularies.get(role, role), _core.Names())


# -- tables ----------------------------------------------------------------------------------------


def read_columns(
    argument: str, value: Any, door: Door, columns: ColumnsOption = None
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
    table = _without_stream(value)
    if isinstance(table, np.ndarray) and table.ndim == 1 and table.dtype.names:
        return [table[name] for name in table.dtype.names], list(table.dtype.names)
    if isinstance(table, class_if_imported("pyarrow", "Table")):
        elements = []
        for column in table.columns:
            has_ints = column.null_count == 0 and "int" in str(column.type)
            elements.append(np.asarray(column) if has_ints else column.to_pylist())
        return elements, list(table.column_names)
    if is_frame(table):
        elements = _split_frame(table)
        names = list(table.columns)
        has_names = named_columns(argument, table) is not NUMBERED
        if has_names and names != list(range(len(names))):
            return elements, names
        if columns is None:
            ways = door.ways_to_name(len(elements))
            got = "a frame whose columns are numbered"
            raise InputValueError(argument, expected="columns with names", got=got, remedies=ways)
    elif isinstance(table, tuple) and not hasattr(table, "_fields") and not door.is_of_lists:
        elements = _split_tuple(argument, table)
    elif door.mappings:
        raise wrong_form(argument, table, door)
    else:
        elements = _split_rows(argument, table, door)
    is_filled = len(elements) > 0 and len(elements[0]) > 0
    if is_filled and not door.mappings and not door.fits(len(elements), columns is not None):
        expected = f"{door.expected}: a tuple is columns, a list of tuples is rows"
        raise InputValueError(argument, expected=expected, got=f"{len(elements)} columns")
    return elements, None


def _without_stream(value: Any) -> Any:
    """Return a stream of Arrow, such as a relation of DuckDB, as a table; others as they are."""
    is_arrow_column = isinstance(value, class_if_imported("pyarrow", "ChunkedArray"))
    is_series = hasattr(value, "dtype") or is_arrow_column
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
    known_names = FACTS.roles | PAIRS.roles | JUDGEMENTS.roles
    names_by_role = {role: known_names.get(role, frozenset({role})) for role in roles}
    rows = f"rows [({', '.join(roles)}), ...] as a list of tuples or an array of ints or labels"
    forms = f"{rows}, or a table"
    if len(roles) == 1:
        forms = f"labels or ids of each {roles[0]}"
    table = (keys,) if len(roles) == 1 and is_column(keys) else keys
    values = table if isinstance(table, tuple) else [table]
    for value in values:
        refuse_index(argument, value)
    door = Door("keys", names_by_role, len(roles), forms=forms, has_option=False)
    columns, column_names = read_columns(argument, table, door)
    if not len(columns[0]):  # Of no keys nothing says how many columns they have.
        return [columns[0]] * len(roles)
    form = find_columns(argument, column_names, len(columns), door)
    return [columns[form.places[role]] for role in roles]


def wrong_form(argument: str, value: Any, door: Door) -> InputTypeError:
    """Return the error for a value of a form that a door does not take."""
    got = f"a {type(value).__name__}"
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        got = f"{type(value).__name__} of shape {shape}"
    elif isinstance(value, list) and value and isinstance(value[0], (Mapping, tuple)):
        got += f" of {type(value[0]).__name__}s; a table has a row for each"
    return InputTypeError(argument, expected=door.forms, got=got)


def _split_tuple(argument: str, value: tuple[Any, ...]) -> list[Any]:
    """Return columns without names; what is no column is refused.

    So are n tuples of n elements each, which could be rows or columns.
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
    are_tuples = all(isinstance(column, tuple) for column in value)
    if are_tuples and len(value) == lengths[0]:
        expected = "rows as a list of tuples, columns as a tuple of lists, or a table"
        got = f"{len(value)} tuples of {lengths[0]}, which may be rows or columns"
        raise InputValueError(argument, expected=expected, got=got)
    return list(value)


def _split_array(argument: str, value: Any, door: Door) -> Any:
    """Return the columns of rows that are an array of ints or of labels, perhaps as objects."""
    has_mask = isinstance(value, np.ma.MaskedArray)  # The rows would lose it.
    if has_mask or not hasattr(value, "shape") or hasattr(value, "to_pandas"):
        raise wrong_form(argument, value, door)
    array = as_array(value, argument, door.forms)
    if array.ndim != 2 or not 1 <= array.shape[1] <= MAX_COLUMNS:
        raise wrong_form(argument, value, door)
    if not len(array):
        return [[]]
    if array.dtype.kind in "iu":
        return array.T
    kinds: set[type] = {array.dtype.type}
    if array.dtype.kind == "O":
        kinds = _core.types_of(array.ravel().tolist())
    are_labels = all(issubclass(kind, str) for kind in kinds)
    if not are_labels and not all(map(is_integer_type, kinds)):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        got = f"{type(value).__name__} of {names}"
        raise InputTypeError(argument, expected=door.forms, got=got)
    return list(array.T)


def _split_rows(argument: str, value: Any, door: Door) -> Any:
    """Return the columns of rows; without rows it is a single one, which is empty."""
    if not isinstance(value, list):
        return _split_array(argument, value, door)
    first_row = value[0] if value else ()
    if isinstance(first_row, Mapping):
        raise wrong_form(argument, value, door)
    has_columns = isinstance(first_row, tuple) and any(map(is_column, first_row))
    for i, row in enumerate(value):
        is_plain_tuple = isinstance(row, tuple) and row and not hasattr(row, "_fields")
        if has_columns or not is_plain_tuple:
            raise InputTypeError(argument, expected=door.forms, got=f"{row!r} in row {i}")
        if len(row) != len(first_row):
            expected = f"{door.forms}, all of one length"
            raise InputValueError(argument, expected=expected, got=f"{row!r} in row {i}")
    return list(zip(*value, strict=True)) or [[]]


def is_column(value: Any) -> bool:
    """Return whether this is one-dimensional: a list, an array, a Series, a tensor, a range."""
    if isinstance(value, (list, tuple)):
        return True
    if isinstance(value, (str, bytes, Mapping)) or is_frame(value) or not checks.is_iterable(value):
        return False
    return len(getattr(value, "shape", (0,))) == 1


def _split_frame(frame: Any) -> list[Any]:
    """Return the columns of a frame of pandas or polars, each of its own type."""
    if hasattr(frame, "iloc"):
        return [frame.iloc[:, j] for j in range(frame.shape[1])]
    return list(frame.get_columns())


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

    `text_has_ids` says that integers in text are ids. Ids beside labels are refused, and so are
    labels that are all numbers: in ascending order, "10" would come before "2". Those of a further
    column, as of times, have the order of these numbers, or each integer stays what it is.
    """
    columns = [table.columns[role] for table in tables for role in roles]
    # Labels that several columns share are read once.
    listed = {id(column.labels): column.listed for column in columns if column.has_labels}
    labels = sorted(set().union(*listed.values()))
    are_all_integers = is_further and all(map(text.is_integer_text, labels))
    if are_all_integers:
        are_text = all(column.is_text for column in columns if column.has_labels)
        if not labels or (text_has_ids and are_text):
            return Vocabulary.unbounded(argument)
        labels.sort(key=int)
    has_text = any(column.is_text and len(column) for column in columns)
    if not is_further and (not labels or (text_has_ids and has_text)):
        integers = Vocabulary.unbounded(argument)
        ids = list(chain.from_iterable(align_columns(tables, roles, integers).values()))
        if not any(map(len, ids)):
            return integers
        largest = max(int(column.max(initial=0)) for column in ids)
        return Vocabulary(min(1 + largest, MAX_IDS), None, argument)
    for table, role in product(tables, roles):
        if len(table) and not table.columns[role].has_labels:
            got = f"ids {table.where(role, 0)}"
            raise InputValueError(table.title, expected="labels, as other splits have", got=got)
    if not is_further and all(map(text.is_id, labels)):
        expected = "labels in the order of their ids, as those in the facts are all numbers, such "
        expected += f"as {labels[0]!r}"
        ways = [Option(argument, ..., "gives their order", call=f"Task(..., {argument}=names)")]
        columns = [x for table in tables for role, x in table.columns.items() if not role.isdigit()]
        if has_text and all(text.is_id(label) for column in columns for label in column.listed):
            ways.append(Option("ids", True, "says that text has ids", call="Task(..., {})"))
        raise InputValueError(argument, expected=expected, got="none", remedies=ways)
    return replace(Vocabulary.infer(argument, tuple(labels)), is_of_facts=not is_further)


def align_columns(
    tables: Sequence[IdTable], roles: Sequence[str], vocabulary: Vocabulary, **options: Any
) -> dict[str, list[IntArray]]:
    """Return by role the ids of each table; labels that columns share are looked up once."""
    # `align` keeps here what labels stand for.
    options["looked_up"] = {}
    ids: dict[str, list[IntArray]] = {}
    for table, role in product(tables, roles):
        where = partial(table.where, role)
        aligned = align(table.title, table.columns[role], vocabulary, where, **options)
        ids.setdefault(role, []).append(aligned)
    return ids


# -- ranks of another tool -------------------------------------------------------------------------


def read_ranks(argument: str, path: str, candidates: int | None = None) -> Ranks:
    """Read the ranks of another tool from text, whose first line names the columns.

    They are those of `Ranks.from_ranks`; labels are str. `candidates` is the number of each task
    where no column has it.
    """
    title = f"{argument}: {path}"
    lines = dict(text.read_fields(argument, path))
    names = lines.pop(next(iter(lines), 0), [])
    _check_rank_names(title, names)
    for number, fields in lines.items():
        if len(fields) != len(names) or not all(fields):
            expected, got = f"{len(names)} fields, none empty", ", ".join(map(repr, fields))
            raise InputValueError(title, expected=expected, got=got, place=f"line {number}")
    numbers = list(lines)
    columns: dict[str, Any] = {name: [] for name in names}
    for number, fields in lines.items():
        for name, word in zip(names, fields, strict=True):
            if name in RANK_NUMBERS and not text.is_integer_text(word):
                expected = f"an integer as the {name} (columns optimistic and pessimistic have "
                expected += "both ends of a tie)"
                raise InputValueError(title, "", expected, word, place=f"line {number}")
            columns[name].append(int(word) if name in RANK_NUMBERS else word)
    if "candidates" in columns and candidates is not None:
        raise InputValueError("candidates", f"a column candidates of {path} has it, too")
    columns.setdefault("candidates", candidates)
    if columns["candidates"] is None:
        expected = f"the number for each task, as no column of {path} has it"
        raise InputTypeError("candidates", expected=expected, got="none")
    columns["ranks"] = columns.pop("rank" if "rank" in columns else "optimistic")
    with argument_names(lambda row: f"line {numbers[row]}", **dict.fromkeys(columns, title)):
        return Ranks.from_ranks(**columns)


def _check_rank_names(title: str, names: Sequence[str]) -> None:
    """Refuse names that are not those of columns of ranks."""
    known = ", ".join(RANK_COLUMNS)
    rank_names = {"rank", "optimistic", "pessimistic"}.intersection(names)
    expected = ""
    if not set(RANK_COLUMNS) & set(names):
        expected = f"a first line that names columns ({known}), with tabs between them (in .csv "
        expected += "commas) and without quotes"
    elif not set(RANK_COLUMNS) >= set(names) or len(set(names)) < len(names):
        expected = f"columns of {known}, each once"
    elif rank_names not in ({"rank"}, {"optimistic", "pessimistic"}):
        expected = "a column rank, or the two columns optimistic and pessimistic"
    if expected:
        raise InputValueError(title, expected=expected, got=", ".join(names))
