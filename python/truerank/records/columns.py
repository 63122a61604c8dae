"""Columns of tables, by their names: frames, Arrow tables, structured arrays; tuples of columns.

A column with a name is read by it, wherever it stands. What has no names is read in the order of
the roles. Nothing is guessed: a role that is missing or there twice is refused, and so is a column
that has no role, since it may change what the others mean. No library is imported: a table of one
is known by its type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputTypeError, InputValueError
from ..inputs.array_likes import as_array, refuse_mask
from ..inputs.checks import NUMBERED, columns_of, is_frame, is_integer, is_iterable, kind_of

MAX_COLUMNS = 1000  # No table of facts has as many columns.

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
    """

    kind: str
    roles: dict[str, frozenset[str]]
    needed: int
    vocabularies: dict[str, str] = field(default_factory=dict)
    has_further: bool = False
    counted: tuple[str, ...] = ()

    @property
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

    def role_of(self, name: Any) -> str | None:
        """Return the role that a name stands for; None: it stands for none.

        Examples
        --------
        >>> FACTS.role_of("h"), JUDGEMENTS.role_of("query-id"), FACTS.role_of("weight")
        ('head', 'query', None)
        """
        return next((role for role, names in self.roles.items() if name in names), None)

    def fits(self, width: int, *, are_placed: bool = False) -> bool:
        """Return whether rows may have this number of columns, if names or numbers place them."""
        if are_placed or self.has_further:
            return self.needed <= width <= MAX_COLUMNS
        return width == self.needed


# The names of BEIR and of recommenders are the short ones.
_QUERIES = frozenset({"query", "query-id", "user"})
_DOCUMENTS = frozenset({"document", "corpus-id", "item"})

FACTS = Door(
    "facts",
    {
        "head": frozenset({"head", "h"}),
        "relation": frozenset({"relation", "r"}),
        "tail": frozenset({"tail", "t"}),
    },
    needed=3,
    vocabularies={"head": "entities", "relation": "relations", "tail": "entities"},
    has_further=True,
    counted=("head", "tail", "relation"),  # OpenKE's files have them in this order.
)
PAIRS = Door(
    "pairs",
    {
        "left": frozenset({"left"}),
        "right": frozenset({"right"}),
    },
    needed=2,
    vocabularies={"left": "left", "right": "right"},
)
JUDGEMENTS = Door(
    "judgements",
    {
        "query": _QUERIES,
        "document": _DOCUMENTS,
        "relevance": frozenset({"relevance", "score"}),
    },
    needed=2,
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
            raise InputTypeError("columns", expected=expected, got=f"{role!r}: {column!r}")
        if not isinstance(column, str):
            column = int(column)
        checked[role] = column
    missing = [role for role in door.needed_roles if role not in checked]
    is_twice = len(set(checked.values())) < len(checked)
    if missing or is_twice:
        raise InputValueError("columns", expected=f"{expected}, none twice", got=repr(checked))
    return checked


def find_roles(
    argument: str,
    names: Sequence[Any] | None,
    width: int,
    door: Door,
    columns: Mapping[str, str | int] | None = None,
    *,
    has_further: bool = False,
) -> tuple[dict[str, int], list[int]]:
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
        Whether columns without a role are read, too: the further ones of facts.

    Returns
    -------
    places : dict of str to int
        The position of each role that the table has, in the order of the roles.
    others : list of int
        The positions of columns without a role: the further ones, or those that are left out, as
        the user named columns without them.

    Raises
    ------
    InputValueError
        For a role that is missing or there twice, and for a column that has no role.

    Examples
    --------
    >>> find_roles("test", ["tail", "head", "relation"], 3, FACTS)
    ({'head': 1, 'relation': 2, 'tail': 0}, [])
    >>> find_roles("qrels", None, 2, JUDGEMENTS)
    ({'query': 0, 'document': 1}, [])
    >>> find_roles("qrels", ["user", "item", "stars"], 3, JUDGEMENTS)  # doctest: +ELLIPSIS
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
        raise InputValueError(argument, expected=_expected(door, columns), got=got)
    return places, others


def is_header(fields: Sequence[str], door: Door) -> bool:
    """Return whether the first line of a file has each role of a door once, as names.

    Examples
    --------
    >>> is_header(["t", "h", "r"], FACTS), is_header(["oslo", "in", "norway"], FACTS)
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
    roles = list(door.roles)
    if columns is not None:
        roles = [role for role in roles if role in columns]
    places: dict[str, int] = {}
    for role in roles:
        key: Any = role if columns is None else columns[role]
        keys: Sequence[Any] = range(width)
        if columns is None and names is None:
            keys = roles[:width]
        elif columns is None:
            keys = list(map(door.role_of, names or ()))
        elif isinstance(key, str):
            keys = names or ()
        positions = [j for j, each in enumerate(keys) if each == key]
        if len(positions) == 1:
            places[role] = positions[0]
        elif positions or columns is not None or role in door.needed_roles:
            return None
    if len(set(places.values())) < len(places):
        return None
    return places


def _expected(door: Door, columns: Mapping[str, str | int] | None) -> str:
    """Return what messages expect of the columns of a door, and the way out."""
    if columns is not None:
        placed = ", ".join(f"{column!r} ({role})" for role, column in columns.items())
        return f"columns {placed}, each once, as columns= says"
    roles = ", ".join(door.roles)
    if door.needed < len(door.roles):
        roles += f" (the first {door.needed} at least)"
    example = ", ".join(f'"{role}": ...' for role in door.needed_roles)
    return f"columns {roles}, each once and no others; columns={{{example}}} says which are meant"


def name_of_column(names: Sequence[Any] | None, place: int) -> str:
    """Return the name of a column, or its number, for messages."""
    return f"column {place}" if names is None else str(names[place])


# -- tables ----------------------------------------------------------------------------------------


class ColumnTable(NamedTuple):
    """Columns of one length.

    Attributes
    ----------
    columns : list
        One-dimensional things: lists, arrays, Series.
    names : list, or None
        The name of each; None: they have no names.
    """

    columns: list[Any]
    names: list[Any] | None = None

    def by_role(
        self, argument: str, door: Door, columns: Mapping[str, str | int] | None = None
    ) -> tuple[dict[str, Any], str]:
        """Return the columns by their roles, as `find_roles` finds them, and what was left out.

        The latter is written as in the sources of files; it is "" where nothing was.

        Examples
        --------
        >>> table = ColumnTable([[5, 6], [3, 4], ["a", "b"]], ["document", "query", "text"])
        >>> columns = {"query": "query", "document": "document"}
        >>> table.by_role("test", JUDGEMENTS, columns)
        ({'query': [3, 4], 'document': [5, 6]}, 'test (left out: columns text)')
        """
        places, others = find_roles(argument, self.names, len(self.columns), door, columns)
        by_role = {role: self.columns[place] for role, place in places.items()}
        source = ""
        if others:
            source = f"{argument} (left out: columns {', '.join(map(self.name, others))})"
        return by_role, source

    def name(self, place: int) -> str:
        """Return the name of a column, or its number."""
        return name_of_column(self.names, place)


def read_table(argument: str, value: Any) -> ColumnTable | None:
    """Return the columns of a table or of a tuple; None for anything else.

    Parameters
    ----------
    argument : str
        For messages.
    value : object
        A frame of pandas or polars, a table of pyarrow, a structured array, or a tuple of columns,
        which have no names.

    Raises
    ------
    InputTypeError, InputValueError
        For a tuple of anything but columns of one length.

    Examples
    --------
    >>> read_table("test", ([3, 4], [5, 6]))
    ColumnTable(columns=[[3, 4], [5, 6]], names=None)
    >>> read_table("test", [(3, 5), (4, 6)])
    """
    if isinstance(value, tuple):
        return None if hasattr(value, "_fields") else table_of_columns(argument, list(value))
    if is_frame(value):
        return _of_frame(argument, value)
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.names:
        fields = list(value.dtype.names)
        return ColumnTable([value[name] for name in fields], fields)
    if isinstance(value, kind_of("pyarrow", "Table")):
        return ColumnTable(list(map(_plain_column, value.columns)), list(value.column_names))
    return None


def read_named_table(
    argument: str, value: Any, forms: str, columns: Mapping[str, str | int] | None
) -> ColumnTable:
    """Return the columns of a table with named columns, or with numbers that the user gave.

    Parameters
    ----------
    argument : str
        For messages.
    value : object
        A frame of pandas or polars, a table of pyarrow, or a structured array.
    forms : str
        All forms that the door takes, for messages.
    columns : mapping of str to (str or int), or None
        The columns of the roles, as `check_columns` returns them.

    Raises
    ------
    InputTypeError, InputValueError
        For anything else, and for a frame whose columns are numbered, unless the user says which
        are which.
    """
    table = None if isinstance(value, tuple) else read_table(argument, value)
    if table is None:
        raise wrong_form(argument, value, forms)
    if table.names is None and columns is None:
        expected = "columns with names, or columns= with their numbers"
        raise InputValueError(argument, expected=expected, got="a frame whose columns are numbered")
    return table


def wrong_form(argument: str, value: Any, forms: str) -> InputTypeError:
    """Return the error for a value of a form that a door does not take, with the way out.

    Examples
    --------
    >>> print(wrong_form("qrels", np.zeros((2, 3)), "a path"))
    qrels: expected a path, got ndarray of shape (2, 3)
    """
    got = f"a {type(value).__name__}"
    shape = getattr(value, "shape", None)
    if hasattr(value, "to_pandas"):  # A data set of Hugging Face has it.
        got += ", whose .to_pandas() is one"
    elif isinstance(shape, tuple):
        got = f"{type(value).__name__} of shape {shape}"
    elif hasattr(value, "to_dict"):  # So have the qrels and runs of ranx.
        got += ", whose .to_dict() is one"
    return InputTypeError(argument, expected=forms, got=got)


def table_of_columns(argument: str, columns: list[Any]) -> ColumnTable:
    """Return columns without names; what is no column is refused, and so are unlike lengths.

    Examples
    --------
    >>> len(table_of_columns("test", [np.array([5, 6]), [3, 4]]).columns)
    2
    """
    expected = "columns, one-dimensional and of one length: a tuple is columns, a list is rows"
    for column in columns:
        if not is_column(column):
            raise InputTypeError(argument, expected=expected, got=f"{column!r} among them")
    lengths = list(map(len, columns))
    if len(set(lengths)) != 1:
        got = f"lengths {', '.join(map(str, lengths[:8])) or 'of none'}"
        raise InputValueError(argument, expected=expected, got=got)
    return ColumnTable(columns)


def table_of_rows(argument: str, value: Any, forms: str) -> ColumnTable:
    """Return the columns, without names, of a list of tuples, or of an array of ints.

    Parameters
    ----------
    argument : str
        For messages.
    value : object
        Rows are tuples of scalars. Where there are none, they have two columns.
    forms : str
        All forms that the door takes, for messages.

    Raises
    ------
    InputTypeError, InputValueError
        For anything else, and for rows of unlike lengths.

    Examples
    --------
    >>> table_of_rows("test", [(3, "a"), (4, "b")], "rows (id, name)").columns
    [(3, 4), ('a', 'b')]
    """
    if not isinstance(value, list):
        if not hasattr(value, "shape") or hasattr(value, "to_pandas"):
            raise wrong_form(argument, value, forms)
        refuse_mask(argument, value, forms)
        array = as_array(value, argument, forms)
        if array.ndim != 2 or not 1 <= array.shape[1] <= MAX_COLUMNS:
            raise wrong_form(argument, value, forms)
        if len(array) and array.dtype.kind not in "iu":
            got = f"{type(value).__name__} of {array.dtype}"
            raise InputTypeError(argument, expected=forms, got=got)
        if len(array):
            return ColumnTable(list(array.T))
        value = []
    for i, row in enumerate(value):
        if (
            not isinstance(row, tuple)
            or not row
            or hasattr(row, "_fields")
            or (not i and any(map(is_column, row)))
        ):
            raise InputTypeError(argument, expected=forms, got=f"{row!r} in row {i}")
        if len(row) != len(value[0]):
            expected = f"{forms}, all of one length"
            raise InputValueError(argument, expected=expected, got=f"{row!r} in row {i}")
    if not value:
        return ColumnTable([[], []])
    return ColumnTable(list(zip(*value, strict=True)))


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


def _of_frame(argument: str, value: Any) -> ColumnTable:
    """Return the columns of a frame, each of its own type; what only counts them is no name."""
    names: list[Any] | None = list(value.columns)
    if columns_of(argument, value) is NUMBERED or names == list(range(value.shape[1])):
        names = None
    if hasattr(value, "iloc"):
        columns = [value.iloc[:, j] for j in range(value.shape[1])]
    else:
        columns = list(value.get_columns())
    return ColumnTable(columns, names)


def _plain_column(column: Any) -> Any:
    """Return a column of Arrow that numpy, or the reader of names, takes."""
    if column.null_count == 0 and "int" in str(column.type):
        return np.asarray(column)
    return column.to_pylist()
