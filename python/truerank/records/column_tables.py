"""Tables as columns with names: frames, Arrow tables, structured arrays; and tuples of columns.

No library is imported: a table of one is known by its type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputTypeError, InputValueError
from ..inputs.array_likes import as_array, refuse_mask
from ..inputs.checks import is_iterable
from ..inputs.frames import NUMBERED, columns_of, is_frame, kind_of
from .column_roles import Door, find_roles
from .text import MAX_COLUMNS


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
        self, argument: str, door: Door, said: Mapping[str, str | int] | None = None
    ) -> tuple[dict[str, Any], str]:
        """Return the columns by their roles, as `find_roles` finds them, and what was left out.

        The latter is said as the sources of files say it; it is "" where nothing was.

        Examples
        --------
        >>> from truerank.records.column_roles import JUDGEMENTS
        >>> table = ColumnTable([[5, 6], [3, 4], ["a", "b"]], ["document", "query", "text"])
        >>> said = {"query": "query", "document": "document"}
        >>> table.by_role("test", JUDGEMENTS, said)
        ({'query': [3, 4], 'document': [5, 6]}, 'test (left out: columns text)')
        """
        roles = find_roles(argument, self.names, len(self.columns), door, said)
        columns = {role: self.columns[place] for role, place in roles.places.items()}
        source = f"{argument} (left out: columns {', '.join(roles.left_out)})"
        return columns, source if roles.left_out else ""


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
    argument: str, value: Any, forms: str, said: Mapping[str, str | int] | None
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
    said : mapping of str to (str or int), or None
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
    if table.names is None and said is None:
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
