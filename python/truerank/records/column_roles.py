"""What columns are, by their names: a table of names for each kind of door.

A column with a name is read by it, wherever it stands. What has no names is read in the order of
the roles. Nothing is guessed: a role that is missing or there twice is refused, and so is a column
that the table does not know, since it may change what the others mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import InputTypeError, InputValueError
from ..inputs.checks import is_integer


class Door(NamedTuple):
    """What the columns of one kind of table may be.

    Attributes
    ----------
    kind : str
        What the rows are, for messages and for the docs.
    roles : dict of str to frozenset of str
        The names of each role. Columns without names have the roles in this order.
    needed : int
        How many roles, from the first on, every table has.
    """

    kind: str
    roles: dict[str, frozenset[str]]
    needed: int

    @property
    def needed_roles(self) -> list[str]:
        """The roles that every table has."""
        return list(self.roles)[: self.needed]

    def role_of(self, name: Any) -> str | None:
        """Return the role that a name stands for; None: it stands for none.

        Examples
        --------
        >>> FACTS.role_of("h"), JUDGEMENTS.role_of("query-id"), FACTS.role_of("weight")
        ('head', 'query', None)
        """
        return next((role for role, names in self.roles.items() if name in names), None)


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
)
PAIRS = Door(
    "pairs",
    {
        "left": frozenset({"left"}),
        "right": frozenset({"right"}),
    },
    needed=2,
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


class ColumnRoles(NamedTuple):
    """Where the columns of a table are.

    Attributes
    ----------
    places : dict of str to int
        The position of each role that the table has, in the order of the roles.
    further : tuple of int
        The positions of columns without a role, where there may be such.
    left_out : tuple of str
        The names of columns that are not read.
    """

    places: dict[str, int]
    further: tuple[int, ...] = ()
    left_out: tuple[str, ...] = ()


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
    may_have_further: bool = False,
) -> ColumnRoles:
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
        What the user says, as `check_columns` returns it. Columns that it does not name are left
        out, unless there may be further ones.
    may_have_further : bool
        Whether columns without a role are read, too: the further ones of facts.

    Raises
    ------
    InputValueError
        For a role that is missing or there twice, and for a column that has no role.

    Examples
    --------
    >>> find_roles("test", ["tail", "head", "relation"], 3, FACTS).places
    {'head': 1, 'relation': 2, 'tail': 0}
    >>> find_roles("qrels", None, 2, JUDGEMENTS).places
    {'query': 0, 'document': 1}
    >>> find_roles("qrels", ["user", "item", "stars"], 3, JUDGEMENTS)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    truerank.errors.InputValueError: qrels: expected columns query, document, relevance ...
    """
    roles = _roles_of(names, width, door, columns, may_have_further)
    if roles is None:
        got = f"{width} columns without names"
        if names is not None:
            got = f"columns {', '.join(map(repr, names[:8]))}"
            if len(names) > 8:
                got += ", ..."
        raise InputValueError(argument, expected=_expected(door, columns), got=got)
    return roles


def is_header(fields: Sequence[str], door: Door, *, may_have_further: bool = False) -> bool:
    """Return whether the first line of a file has each role of a door once, as names.

    Examples
    --------
    >>> is_header(["t", "h", "r"], FACTS), is_header(["oslo", "in", "norway"], FACTS)
    (True, False)
    """
    return _roles_of(fields, len(fields), door, None, may_have_further) is not None


def _roles_of(
    names: Sequence[Any] | None,
    width: int,
    door: Door,
    columns: Mapping[str, str | int] | None,
    may_have_further: bool,
) -> ColumnRoles | None:
    """Return where the roles are; None if one is missing or there twice, or if others are there."""
    found = _positions(names, width, door, columns)
    places = {role: positions[0] for role, positions in found.items() if positions}
    left_out: list[str] = []
    further: list[int] = []
    for j in sorted(set(range(width)).difference(places.values())):
        name = f"column {j}" if names is None else names[j]
        if columns is not None and not may_have_further:
            left_out.append(str(name))
        else:
            further.append(j)
    are_once = len(set(places.values())) == sum(map(len, found.values())) == len(found)
    is_complete = all(role in places for role in door.needed_roles)
    if not are_once or not is_complete or (further and not may_have_further):
        return None
    return ColumnRoles(places, tuple(further), tuple(left_out))


def _positions(
    names: Sequence[Any] | None,
    width: int,
    door: Door,
    columns: Mapping[str, str | int] | None,
) -> dict[str, list[int]]:
    """Return the columns of each role that the user names or numbers, or else that is there."""
    keys: Sequence[Any]
    if columns is not None:
        found = {}
        for role in filter(columns.__contains__, door.roles):
            keys = names or () if isinstance(columns[role], str) else range(width)
            found[role] = [j for j, key in enumerate(keys) if key == columns[role]]
        return found
    keys = list(door.roles)[:width] if names is None else list(map(door.role_of, names))
    return {
        role: [j for j, key in enumerate(keys) if key == role]
        for role in door.roles
        if role in keys
    }


def _expected(door: Door, columns: Mapping[str, str | int] | None) -> str:
    """Return what messages expect of the columns of a door, and the way out."""
    if columns is not None:
        said = ", ".join(f"{column!r} ({role})" for role, column in columns.items())
        return f"columns {said}, each once, as columns= says"
    roles = ", ".join(door.roles)
    if door.needed < len(door.roles):
        roles += f" (the first {door.needed} at least)"
    example = ", ".join(f'"{role}": ...' for role in door.needed_roles)
    return f"columns {roles}, each once and no others; columns={{{example}}} says which are meant"
