"""Columns of tables, by their names, and their elements, which are labels or integers.

A column with a name is read by it, wherever it stands. What has no names is read in the order of
the roles. Nothing is guessed: a role that is missing or there twice is refused, and so is a column
that has no role, since it may change what the others mean. A table of a library is known by its
type: none is imported, but for streams of Arrow. Each element is looked at, and none is converted:
what is no `str` and no integer names nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..errors import OPTION_TEXT, InputTypeError, InputValueError, has_option
from ..inputs.array_likes import as_array, device_of, index_array, refuse_mask
from ..inputs.checks import (
    NUMBERED,
    check_length,
    check_shape,
    columns_of,
    is_frame,
    is_integer,
    is_iterable,
    is_number,
    kind_of,
    plain_names,
    refuse_index,
    without_index,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray

    Name = Any  # It is a str or an int.
    Names = tuple[Any, ...]  # They are all str, or all int.

MAX_COLUMNS = 1000  # No table of facts has as many columns.
NUMBERS = ("score", "rank", "relevance")  # The roles of numbers: the first that text has is read.
_KINDS_OF_NUMBERS = (int, float, np.integer, np.floating, np.bool_)
_NONES = ("NoneType", "NAType", "NaTType")  # types of missing values

at_position: Callable[[int], str] = "at position {}".format  # Messages name an element so.

# -- roles -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Door:
    """What the columns of one kind of table may be.

    Attributes
    ----------
    kind : str
        What the rows are, for messages and for the docs.
    roles : dict of str to frozenset of str
        The names of each role. Columns without names have the roles in this order.
    needed : int
        How many roles, from the first on, every table has.
    vocabularies : dict of str to str
        The argument that has the labels of each role; roles may share one.
    has_further : bool
        Whether more columns may follow; each of them has its own labels.
    counted : tuple of str
        The roles in files that begin with a line that counts the others, in their order there.
    forms : str
        What a table may be, for messages.
    mappings : str
        What a mapping by query may be, for messages; "": rows belong to no queries.
    unnamed : str
        The role that a single column of any other name has; "": there is none.
    """

    kind: str
    roles: dict[str, frozenset[str]]
    needed: int
    vocabularies: dict[str, str] = field(default_factory=dict)
    has_further: bool = False
    counted: tuple[str, ...] = ()
    forms: str = ""
    mappings: str = ""
    unnamed: str = ""

    @cached_property
    def needed_roles(self) -> list[str]:
        """The roles that every table has."""
        return list(self.roles)[: self.needed]

    @property
    def expected(self) -> str:
        """The columns that rows must have, for messages.

        Examples
        --------
        >>> PAIRS.expected, FACTS.expected
        ('2 columns (left, right)', 'at least 3 columns (head, relation, tail)')
        """
        columns = f"{self.needed} columns ({', '.join(self.needed_roles)})"
        if self.has_further:
            return f"at least {columns}"
        return columns

    @cached_property
    def is_of_lists(self) -> bool:
        """Whether rows belong to lists, which have an order."""
        return "rank" in self.roles

    def role_of(self, name: Any) -> str | None:
        """Return the role that a name stands for; None: it stands for none.

        The number of a further column may be an int, as in frames.

        Examples
        --------
        >>> FACTS.role_of("h"), JUDGEMENTS.role_of("query-id"), FACTS.role_of("weight")
        ('head', 'query', None)
        """
        if is_integer(name):
            name = str(name)
        return next((role for role, names in self.roles.items() if name in names), None)

    def way_to_name(self, columns: Mapping[Any, Any]) -> str:
        """Write the option that names columns, which the command line has not for lists."""
        if self.is_of_lists and has_option("columns"):
            return f"a header line with {', '.join(columns)} on top"
        return OPTION_TEXT.get()("columns", columns)

    def fits(self, width: int, are_placed: bool) -> bool:
        """Return whether rows may have this number of columns, if names or numbers place them."""
        if are_placed or self.has_further:
            return self.needed <= width <= MAX_COLUMNS
        return width == self.needed


# The names of BEIR and of recommenders are the short ones.
_QUERIES = frozenset({"query", "query-id", "user"})
_DOCUMENTS = frozenset({"document", "corpus-id", "item"})
_ROWS = (
    "a path, a table with named columns (pandas, polars, pyarrow, a structured array), "
    "rows [{}, ...] as a list of tuples or an array of ints or labels, or a tuple of columns"
)

FACTS = Door(
    "facts",
    {
        "head": frozenset({"head", "h"}),
        "relation": frozenset({"relation", "rel", "r"}),
        "tail": frozenset({"tail", "t"}),
    },
    needed=3,
    vocabularies={"head": "entities", "relation": "relations", "tail": "entities"},
    has_further=True,
    counted=("head", "tail", "relation"),  # OpenKE's files have them in this order.
    forms=_ROWS.format("(head, relation, tail)"),
)
PAIRS = Door(
    "pairs",
    {
        "left": frozenset({"left"}),
        "right": frozenset({"right"}),
    },
    needed=2,
    vocabularies={"left": "left", "right": "right"},
    forms=_ROWS.format("(left, right)"),
)
JUDGEMENTS = Door(
    "judgements",
    {
        "query": _QUERIES,
        "document": _DOCUMENTS,
        "relevance": frozenset({"relevance", "score"}),
    },
    needed=2,
    forms="a path, a table with named columns, {query: {document: grade}}, {query: [documents]}, a "
    "tuple of columns (queries, documents, grades), or a sparse matrix of grades; "
    "dict(zip(queries, documents)) makes lists a mapping",
    mappings="{query: {document: grade}}, or {query: [documents]}",
)
LISTS = Door(
    "lists",
    {
        "query": _QUERIES,
        "document": _DOCUMENTS,
        "score": frozenset({"score"}),
        "rank": frozenset({"rank"}),
    },
    needed=2,
    forms="a path, a table with named columns, {query: {id: score}}, {query: [ids, the best "
    "first]}, or TopK(ids, scores); dict(zip(queries, lists)) makes lists a mapping",
    mappings="{query: {id: score}}, or {query: [ids, the best first]}",
)


def door_of_lists(roles: Mapping[str, str]) -> Door:
    """Return the door of lists by key: `roles` are those of a key, and then that of what is listed.

    Each has the name of its vocabulary, which for further columns is that of the facts' column; or
    else their number, and then one such column of lists may have any name.

    Examples
    --------
    >>> door = door_of_lists({"relation": "relations", "tail": "entities", "head": "entities"})
    >>> door.mappings
    '{(relation, tail): {head: score}}, or {(relation, tail): [head, ...], the best first}'
    >>> list(door.roles)
    ['head', 'relation', 'tail', 'score', 'rank']
    >>> door_of_lists({"head": "", "relation": "", "3": "time", "tail": ""}).role_of("time")
    '3'
    """
    *of_key, listed = roles
    numbers = {role: LISTS.roles[role] for role in ("score", "rank")}
    names = FACTS.roles | PAIRS.roles | numbers
    further = {role: frozenset({role, roles[role]} - names.keys()) for role in roles}
    in_order = sorted(roles, key=[*names, *roles].index)
    unnamed = [role for role in roles if further[role] == {role}]
    key = of_key[0] if len(of_key) == 1 else f"({', '.join(of_key)})"
    mappings = f"{{{key}: {{{listed}: score}}}}, or {{{key}: [{listed}, ...], the best first}}"
    return Door(
        "lists by key",
        {role: names.get(role, further[role]) for role in in_order} | numbers,
        needed=len(roles),
        forms=f"{mappings}, a table or a path with the columns {', '.join(in_order)} and score, or "
        "TopK(ids, scores)",
        mappings=mappings,
        unnamed=unnamed[0] if unnamed else "",
    )


DOORS = (FACTS, PAIRS, JUDGEMENTS, LISTS)


def check_columns(columns: Any, door: Door) -> dict[str, str | int] | None:
    """Check the option `columns`, which says where the roles are.

    Parameters
    ----------
    columns : mapping of str to (str or int), or None
        The name or the number, from 0 on, of the column of each role.
    door : Door

    Raises
    ------
    InputTypeError, InputValueError
        For another form, an unknown role, one that is missing, and a column of two roles.

    Examples
    --------
    >>> check_columns({"left": "source page", "right": 2}, PAIRS)
    {'left': 'source page', 'right': 2}
    """
    if columns is None:
        return None
    expected = f"a name or a number for each role: {', '.join(door.roles)}"
    if not isinstance(columns, Mapping):
        raise InputTypeError("columns", expected=expected, got=repr(columns))
    checked: dict[str, str | int] = {}
    for role, column in columns.items():
        if role not in door.roles or not (isinstance(column, str) or is_integer(column)):
            got = OPTION_TEXT.get()("columns", {role: column})
            raise InputTypeError("columns", expected=expected, got=got)
        if not isinstance(column, str):
            column = int(column)
        checked[role] = column
    missing = [role for role in door.needed_roles if role not in checked]
    is_twice = len(set(checked.values())) < len(checked)
    if missing or is_twice:
        got = OPTION_TEXT.get()("columns", checked)
        raise InputValueError("columns", expected=f"{expected}, none twice", got=got)
    return checked


@dataclass(frozen=True)
class Form:
    """Where the columns of a table are, and how a file of text has them.

    Attributes
    ----------
    width : int
        The number of columns.
    names : sequence, or None
        The names of the columns; None: they have none.
    places : dict of str to int
        The column of each role; further columns that are read have their numbers as roles.
    left_out : tuple of str
        The columns that are not read, and what else was left out.
    further : tuple of str
        The names of the further columns that are read; empty where columns have no names.
    description : str
        What reports say of the form of a file; "": nothing.
    between : {"blanks", "tabs", "commas"}
        What separates fields: blanks and tabs; tabs alone; or commas, with csv's quoting.
    header : int
        The number of the line that is none of the rows; 0: all are.
    count : int, optional
        How many rows the header says that there are.
    has_comments : bool
        Whether lines that begin with #, and those of blanks and tabs alone, are none of the rows.
    """

    width: int
    names: Sequence[Any] | None = None
    places: dict[str, int] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    description: str = ""
    between: str = "blanks"
    header: int = 0
    count: int | None = None
    has_comments: bool = False

    @property
    def number_role(self) -> str:
        """The role of the numbers that are read from text; "": there are none."""
        return next((role for role in NUMBERS if role in self.places), "")


NO_FORM = Form(0)
TREC = {
    LISTS.kind: Form(
        6,
        places={"query": 0, "document": 2, "score": 4, "rank": 3},
        description="TREC run",
        has_comments=True,
    ),
    JUDGEMENTS.kind: Form(
        4,
        places={"query": 0, "document": 2, "iteration": 1, "relevance": 3},
        description="TREC qrels",
        has_comments=True,
    ),
}


def find_columns(
    argument: str,
    names: Sequence[Any] | None,
    width: int,
    door: Door,
    columns: Mapping[str, str | int] | None = None,
    *,
    has_further: bool = False,
) -> Form:
    """Find the column of each role, by names or by positions.

    Parameters
    ----------
    argument : str
        For messages.
    names : sequence, or None
        The names of all columns; None: they have none, and stand in the order of the roles.
    width : int
        How many columns there are.
    door : Door
    columns : mapping of str to (str or int), optional
        What the user says, as `check_columns` returns it.
    has_further : bool
        Whether columns without a role are read, too: the further ones of facts. Otherwise they are
        left out where the user named columns without them, and refused where nobody did.

    Raises
    ------
    InputValueError
        For a role that is missing or there twice, and for a column that has no role.

    Examples
    --------
    >>> find_columns("test", ["tail", "head", "relation"], 3, FACTS).places
    {'head': 1, 'relation': 2, 'tail': 0}
    >>> find_columns("qrels", None, 2, JUDGEMENTS).places
    {'query': 0, 'document': 1}
    >>> find_columns("qrels", ["user", "item", "stars"], 3, JUDGEMENTS)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    truerank.errors.InputValueError: qrels: expected columns query, document, relevance ...
    """
    places = _places(names, width, door, columns)
    others = sorted(set(range(width)).difference((places or {}).values()))
    if places is None or (others and columns is None and not has_further):
        got = f"{width} columns without names"
        if names is not None:
            got = f"columns {', '.join(map(repr, names[:8]))}"
            if len(names) > 8:
                got += ", ..."
        raise InputValueError(argument, expected=_expected_columns(door, width, columns), got=got)
    if {"score", "rank"} <= places.keys():  # Scores decide.
        others.append(places["rank"])
    words = [] if names is None else [str(names[place]) for place in others]
    if has_further:
        places.update(zip(map(str, range(door.needed, width)), others, strict=False))
        return Form(width, names, places, further=tuple(words))
    left_out = words or list(map("column {}".format, others))
    return Form(width, names, places, left_out=tuple(left_out))


def refuse_left_out_numbers(
    argument: str, door: Door, form: Form, values: Iterable[tuple[int, Any]]
) -> None:
    """Refuse numbers of queries that are left out where the user named columns without any.

    They stand in the table under the exact name of their role, or at the place that TREC has for
    it; or their values say so: those of judgements are bools or integers from 0 to 5, some of them
    0 and some others; those of lists have fractions.

    Parameters
    ----------
    argument : str
        For messages.
    door, form
        Of the table.
    values : iterable of (int, sequence)
        Columns by their places; those that have a role are passed over.
    """
    if not door.mappings or not form.left_out or form.number_role:
        return
    trec = TREC.get(door.kind, NO_FORM)
    names: Sequence[Any] = form.names or range(form.width)
    roles: dict[Any, str | None] = {name: door.role_of(name) for name in NUMBERS if name in names}
    if not form.names and form.width == trec.width and form.places.items() <= trec.places.items():
        roles[trec.places[trec.number_role]] = trec.number_role
    bools = ""
    for place, elements in values:
        if place not in form.places.values() and _are_numbers_of_queries(elements, door):
            roles.setdefault(names[place], "score" if door.is_of_lists else "relevance")
            if any(isinstance(element, bool | np.bool_) for element in elements):
                bools = " (in text with 0 and 1 for bools)"
    if not roles:
        return
    number = min(roles, key=lambda name: name not in door.roles)  # Roles of the door come first.
    expected = f"a table without column {number!r}"
    if roles[number] is not None:  # The door has it.
        columns = {role: names[place] for role, place in form.places.items()}
        way = door.way_to_name({**columns, roles[number]: number})
        expected = f"{way}{bools}, or {expected}"
    raise InputValueError(argument, expected=expected, got="one that is left out")


def _are_numbers_of_queries(elements: Any, door: Door) -> bool:
    """Return whether values are like grades of judgements, or like scores of lists."""
    if not isinstance(elements, list):
        elements = np.asarray(elements).tolist()
    if not all(issubclass(kind, _KINDS_OF_NUMBERS) for kind in _core.types_of(elements)):
        return False
    numbers = {number for number in set(elements) if number == number}
    if door.is_of_lists:
        return any(number % 1 for number in numbers)
    return 0 in numbers and len(numbers) > 1 and numbers <= set(range(6))


def has_each_role(fields: Sequence[str], door: Door) -> bool:
    """Return whether the first line of a file has each role of a door once, as names.

    Examples
    --------
    >>> has_each_role(["t", "h", "r"], FACTS), has_each_role(["oslo", "in", "norway"], FACTS)
    (True, False)
    """
    places = _places(fields, len(fields), door, None)
    return places is not None and (door.has_further or len(places) == len(fields))


def _places(
    names: Sequence[Any] | None,
    width: int,
    door: Door,
    columns: Mapping[str, str | int] | None,
) -> dict[str, int] | None:
    """Return the column of each role; None if one is missing, or there twice."""
    if columns is None and names is None:
        return dict(zip(door.roles, range(width), strict=False)) if width >= door.needed else None
    needed: Sequence[str] = door.needed_roles
    pairs: list[tuple[str | None, int]] = []
    if columns is not None:
        needed = list(columns)
        for role, column in columns.items():
            for place in range(width):
                # Names that are ints beside others may be numbers of other columns.
                if column == place or (names is not None and names[place] == column):
                    pairs.append((role, place))
    else:
        pairs.extend((door.role_of(name), place) for place, name in enumerate(names or ()))
        others = [place for role, place in pairs if role is None]
        if len(others) == 1 and door.unnamed not in dict(pairs):
            pairs.append((door.unnamed or None, others[0]))
    pairs = [(role, place) for role, place in pairs if role is not None]
    place_of_role = dict(pairs)
    are_distinct = len(pairs) == len(place_of_role) == len(set(place_of_role.values()))
    if not are_distinct or not place_of_role.keys() >= set(needed):
        return None
    return {role: place_of_role[role] for role in door.roles if role in place_of_role}


def _expected_columns(door: Door, width: int, columns: Mapping[str, Any] | None) -> str:
    """Return what an error message says of the columns that a door expects, with advice."""
    if columns is not None:
        way = OPTION_TEXT.get()("columns", dict(columns))
        return f"each column once that {way} names"
    roles = ", ".join(door.roles)
    example = list(door.needed_roles)
    if door.needed < len(door.roles):
        roles += f" (the first {door.needed} at least)"
    if door.needed < width:
        example += [role for role in NUMBERS if role in door.roles][:1]
    ways = f"{door.way_to_name(dict.fromkeys(example, '...'))} says which are meant"
    if width < door.needed:  # as in AnyBURL's predictions
        ways = "a row, or a line, for each entry"
    return f"columns {roles}, each once and no others; {ways}"


# -- tables ----------------------------------------------------------------------------------------


def read_columns(
    argument: str, value: Any, door: Door, columns: Mapping[str, str | int] | None = None
) -> tuple[Any, list[Any] | None]:
    """Return the columns of a value that has some, and their names; None: they have none.

    Those of an array of ints are its transpose.

    Parameters
    ----------
    argument : str
        For messages.
    value : object
        A frame of pandas or polars, a table of pyarrow, or what else is a stream of Arrow, by
        pyarrow or polars, whichever is there; a structured array; a tuple of columns,
        which have no names, but for lists; rows of facts or pairs: a list of tuples of scalars, or
        an array of ints or labels.
    door : Door
    columns : mapping of str to (str or int), or None
        The columns of the roles, as `check_columns` returns them.

    Raises
    ------
    InputTypeError, InputValueError
        For anything else; for columns of unlike lengths; for a frame whose columns are numbered,
        unless the user says which are which; and for rows of another width than the door has.

    Examples
    --------
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
    elif has_rows and isinstance(value, (list, np.ndarray)):
        table = _columns_of_rows(argument, value, door.forms)
    elif is_frame(value):
        table, names = _columns_of_frame(argument, value)
        if names is None and columns is None:
            expected = "columns with names, or columns= with their numbers"
            got = "a frame whose columns are numbered"
            raise InputValueError(argument, expected=expected, got=got)
    elif isinstance(value, tuple) and not hasattr(value, "_fields") and not door.is_of_lists:
        table = _columns_of_tuple(argument, value)
    elif isinstance(value, kind_of("pyarrow", "Table")):
        names = list(value.column_names)
        table = list(map(_plain_column, value.columns))
    elif has_rows:
        table = _columns_of_rows(argument, value, door.forms)
    else:
        raise wrong_form(argument, value, door.forms)
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

    Examples
    --------
    >>> read_keys("row_queries", [("a", "r"), ("b", "r")], ["head", "relation"])
    [('a', 'b'), ('r', 'r')]
    >>> read_keys("row_queries", ["q1", "q2"], ["query"])
    [['q1', 'q2']]
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


def wrong_form(argument: str, value: Any, forms: str) -> InputTypeError:
    """Return the error for a value of a form that a door does not take, with the way out.

    Examples
    --------
    >>> print(wrong_form("qrels", np.zeros((2, 3)), "a path"))
    qrels: expected a path, got ndarray of shape (2, 3)
    """
    got = f"a {type(value).__name__}"
    shape = getattr(value, "shape", None)
    has_frame = hasattr(value, "to_pandas")  # as a data set of Hugging Face
    if isinstance(shape, tuple) and not has_frame:
        got = f"{type(value).__name__} of shape {shape}"
    if has_frame:
        got += ", whose .to_pandas() is one"
    elif hasattr(value, "mapped_triples"):  # a factory of PyKEEN
        got += ", whose .mapped_triples are ids, or .triples labels"
    elif hasattr(value, "to_dict") and "{query" in forms:  # of ranx's qrels and runs, of a Series
        has_keys = getattr(getattr(value, "index", None), "nlevels", 1) > 1
        got += f", whose .{'reset_index' if has_keys else 'to_dict'}() is one"
    elif isinstance(value, list) and value and isinstance(value[0], (Mapping, tuple)):
        names = "" if isinstance(value[0], Mapping) else ", columns=[...]"
        got += f" of {type(value[0]).__name__}s, of which pd.DataFrame(rows{names}) makes a table"
    elif "sparse" in forms and isinstance(shape, tuple) and shape[1:] == (2,):
        got += "; of an index (query, document) tuple(x.T) makes columns"
    return InputTypeError(argument, expected=forms, got=got)


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


def _columns_of_array(argument: str, value: Any, forms: str) -> Any:
    """Return the columns of rows that are an array of ints or of labels, perhaps as objects."""
    array = value
    if type(value) is not np.ndarray:
        has_mask = isinstance(value, np.ma.MaskedArray)  # It would be lost.
        if has_mask or not hasattr(value, "shape") or hasattr(value, "to_pandas"):
            raise wrong_form(argument, value, forms)
        array = as_array(value, argument, forms)
    if array.ndim != 2 or not 1 <= array.shape[1] <= MAX_COLUMNS:
        raise wrong_form(argument, value, forms)
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
        raise InputTypeError(argument, expected=forms, got=f"{type(value).__name__} of {names}")
    return list(array.T)


def _columns_of_rows(argument: str, value: Any, forms: str) -> Any:
    """Return the columns of rows; where there are none, they have two columns."""
    if not isinstance(value, list):
        return _columns_of_array(argument, value, forms)
    if value and isinstance(value[0], Mapping):
        raise wrong_form(argument, value, forms)
    for i, row in enumerate(value):
        is_plain = isinstance(row, tuple) and row and not hasattr(row, "_fields")
        if not is_plain or (not i and any(map(is_column, row))):
            raise InputTypeError(argument, expected=forms, got=f"{row!r} in row {i}")
        if len(row) != len(value[0]):
            expected = f"{forms}, all of one length"
            raise InputValueError(argument, expected=expected, got=f"{row!r} in row {i}")
    if not value:
        return [[], []]
    return list(zip(*value, strict=True))


def is_column(value: Any) -> bool:
    """Return whether this is one-dimensional: a list, an array, a Series, a tensor, a range.

    Examples
    --------
    >>> is_column([3, 4]), is_column(np.zeros((2, 2))), is_column(3), is_column("ab")
    (True, False, False, False)
    """
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


# -- elements --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Column:
    """Elements of a column as integers, and what these stand for.

    Attributes
    ----------
    ids : ndarray of int, shape (n,)
    labels : Names of the core, which columns may share; sequence of str; range; or None
        What the ids number. A range: they are positions, whatever the labels are. None: they are
        integers as they came.
    is_text : bool
        Whether the labels are fields of text, which have no type.
    """

    ids: npt.NDArray[Any]
    labels: _core.Names | Sequence[Any] | range | None = None
    is_text: bool = False

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def has_labels(self) -> bool:
        """Whether the ids number labels, and are no integers or positions."""
        return self.labels is not None and not isinstance(self.labels, range)

    @property
    def listed(self) -> tuple[Any, ...]:
        """The labels in their order; none where there are none."""
        if isinstance(self.labels, _core.Names):
            return self.labels.listed()
        return tuple(self.labels or ()) if self.has_labels else ()

    def select(self, rows: Any) -> Column:
        """Return some of the elements."""
        return replace(self, ids=self.ids[rows])

    def entries(self) -> tuple[Any, ...]:
        """Return all elements as they came."""
        ids = self.ids.tolist()
        labels = self.listed
        return tuple(map(labels.__getitem__, ids)) if labels else tuple(ids)

    def entry(self, row: int) -> Any:
        """Return an element as it came: a label, or an integer.

        Examples
        --------
        >>> Column(np.array([1, 0, 1]), ("a", "b")).entry(0), Column(np.array([7])).entry(0)
        ('b', 7)
        """
        number = int(self.ids[row])
        labels = self.listed
        return labels[number] if labels else number


def read_column(
    name: str,
    values: Any,
    expected: str,
    where: Callable[[int], str] = at_position,
    *,
    is_text: bool = False,
) -> Column:
    """Read elements that are all labels or all integers; each is a label of its own.

    Parameters
    ----------
    name : str
        The argument, for messages.
    values : object, shape (n,)
        A list, tuple, set, range, the keys of a dict, or an array of integers, of str or of
        objects; a Series or an Index of pandas (a categorical by its categories), and whatever else
        numpy reads.
    expected : str
        What messages expect.
    where : callable, optional
        The place of an element, for messages.

    is_text : bool
        Whether labels are fields of text.

    Raises
    ------
    InputTypeError
        For one name, a mapping, an array with a mask, and for elements that are neither str nor
        integers: bool, bytes, floats (pandas makes floats of missing values), None; for labels
        beside integers.
    InputValueError
        For another shape, and integers beyond 64 bits.

    Examples
    --------
    >>> read_column("candidates", ["b", "a"], "labels").labels
    ['b', 'a']
    >>> read_column("rows", range(2), "ids")
    Column(ids=array([0, 1]), labels=None, is_text=False)
    >>> read_column("candidates", ["b", 1], "labels")
    Traceback (most recent call last):
    truerank.errors.InputTypeError: candidates: expected labels, all of one type, got 1 at \
position 1 (str(...) of each makes labels of all)
    """
    elements = values
    if not isinstance(values, (list, tuple)):
        elements = _as_list(name, values, expected)
    if isinstance(elements, np.ndarray) or not elements:
        return Column(index_array(name, elements))
    kinds = _core.types_of(elements)
    kinds_of_labels = [kind for kind in kinds if issubclass(kind, str)]
    if len(kinds_of_labels) == len(kinds):
        return Column(np.arange(len(elements)), elements, is_text)
    if all(map(is_integer_type, kinds)):
        return Column(index_array(name, elements))
    first_is_label = isinstance(elements[0], str)
    for i, value in enumerate(elements):
        is_label = isinstance(value, str)
        is_other = is_label != first_is_label
        if is_other or not (is_label or is_integer_type(type(value))):
            all_of_them = f"{expected}, all of one type" if is_other else expected
            got = f"{value!r} {where(i)}{_way_out(value)}"
            raise InputTypeError(name, expected=all_of_them, got=got)
    raise AssertionError  # One of them was refused above.


def _way_out(value: Any) -> str:
    """Say, in brackets, what to write where an element names nothing, or not what others do.

    Examples
    --------
    >>> _way_out(("a", "b")), _way_out(b"a")
    (' (str(...) makes a label of it)', '')
    """
    words = "str(...) makes a label of it"
    is_float = isinstance(value, (float, np.floating))
    is_nan = (is_float or isinstance(value, np.datetime64)) and value != value
    if isinstance(value, (bool, np.bool_, bytes)):
        return ""
    if isinstance(value, str) or is_integer(value):
        words = "str(...) of each makes labels of all"
    elif isinstance(value, Mapping):  # a hit of a search
        name = next((key for key in value if key != "score"), "id")
        words = f"{{x[{name!r}]: x['score'] for x in ...}} makes a mapping of such dicts"
    elif isinstance(value, (list, tuple)) and len(value) == 2 and is_number(value[1]):
        words = "dict(...) makes a mapping of such pairs"
    elif isinstance(value, (list, np.ndarray)):
        words = "df.explode(...) makes a row of each"
    elif type(value).__name__ in _NONES or is_nan:
        words = "a missing value: df.dropna() leaves its row out; '' is none in a further column"
    elif is_float and not float(value).is_integer():
        return ""
    elif is_float:
        words = "pandas makes floats of ints where values are missing: df.dropna().astype(int)"
    return f" ({words})"


def _as_list(name: str, values: Any, expected: str) -> Any:
    """Return elements as a list, or as an array of integers."""
    if type(values) is np.ndarray and values.ndim == 1 and values.dtype.kind in "iu":
        return values  # This is the usual case, and costs as little as possible.
    refuse_mask(name, values, expected)
    if isinstance(values, (str, bytes, Mapping)) or not is_iterable(values):
        raise InputTypeError(name, expected=expected, got=repr(values))
    check_length(name, values)
    if not hasattr(values, "__array__") and not device_of(values):
        return list(values)
    array = as_array(without_index(values), name, expected)
    check_shape(name, array.shape, 1, "a 1-D array")
    if array.dtype.kind in "iu":
        return array
    if array.dtype.kind in "mMV":  # `tolist` would make integers of dates.
        return list(array)
    return array.tolist()


def is_integer_type(kind: type) -> bool:
    """Return whether this is a type of integers that may be ids; bool is none."""
    return issubclass(kind, (int, np.integer)) and not issubclass(kind, bool)


def checked_names(argument: str, values: Any) -> Names:
    """Return names, which are all str or all int, as they came.

    Examples
    --------
    >>> checked_names("queries", np.array([3, 1])), checked_names("queries", ["3", "1"])
    ((3, 1), ('3', '1'))
    """
    refuse_index(argument, values)
    column = read_column(argument, values, "names that are str or int")
    return plain_names(column.listed) if column.has_labels else column.entries()


def joined_rows(
    name: str,
    rows: Iterable[Any],
    expected: str,
    row_name: Callable[[int], str] = "in list {}".format,
) -> tuple[IntArray, Column]:
    """Return how many elements each row has, and those of all rows, one row after another.

    Parameters
    ----------
    name, expected : str
        For messages.
    rows : iterable
        Of what `read_column` takes.
    row_name : callable, optional
        The place of a row, for messages.

    Examples
    --------
    >>> lengths, column = joined_rows("known", [["b", "a"], ("c",)], "labels")
    >>> lengths, column.entries()
    (array([2, 1]), ('b', 'a', 'c'))
    """
    lists: list[Any] = []
    for i, row in enumerate(rows):
        if isinstance(row, (list, tuple)):
            lists.append(row)
        else:
            column = read_column(name, row, f"{expected} {row_name(i)}")
            lists.append(column.labels if column.has_labels else column.ids)
    lengths = np.array(list(map(len, lists)), dtype=np.int64)
    # An empty array says nothing of what the others hold.
    filled = [row for row in lists if len(row)]
    if filled and all(isinstance(row, np.ndarray) for row in filled):
        return lengths, Column(np.concatenate(filled))
    joined = list(chain.from_iterable(filled))
    ends = np.cumsum(lengths)

    def where(i: int) -> str:
        return row_name(int(np.searchsorted(ends, i, side="right")))

    return lengths, read_column(name, joined, expected, where)


def refuse_rows_of_labels(argument: str, lengths: IntArray, column: Column) -> None:
    """Refuse rows of labels, 0 and 1 or grades, that would be read as lists of ids.

    They are lists of one length whose integers are below it, and of which some has one twice.

    Parameters
    ----------
    argument : str
        For messages.
    lengths, column
        As `joined_rows` returns them.

    Examples
    --------
    >>> refuse_rows_of_labels("qrels", *joined_rows("qrels", [[0, 1, 1], [0, 3]], "ids"))
    >>> refuse_rows_of_labels("qrels", *joined_rows("qrels", [[0, 1, 1], [1, 0, 2]], "ids"))
    Traceback (most recent call last):
    truerank.errors.InputValueError: qrels: expected a list of ids for each key, got lists of 3 \
integers below 3, some twice, as rows of labels are; \
{key: np.nonzero(row)[0] for key, row in rows.items()} makes lists of ids
    """
    ids = column.ids
    if column.labels is not None or not len(ids) or (lengths != lengths[0]).any():
        return
    width = int(lengths[0])
    are_below = ids.min() >= 0 and ids.max() < width
    if are_below and not np.diff(np.sort(ids.reshape(-1, width))).all():
        got = f"lists of {width} integers below {width}, some twice, as rows of labels are; "
        got += "{key: np.nonzero(row)[0] for key, row in rows.items()} makes lists of ids"
        raise InputValueError(argument, expected="a list of ids for each key", got=got)


def first_names(names: Sequence[Name]) -> str:
    """Return the first three names, for messages.

    Examples
    --------
    >>> first_names(["q1", "q2", "q3", "q4"]), first_names([7])
    ("'q1', 'q2', 'q3', ...", '7')
    """
    words = list(map(repr, names[:3]))
    if len(names) > len(words):
        words.append("...")
    return ", ".join(words)
