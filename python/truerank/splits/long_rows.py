"""Judgements and lists in long form, a row for each document: frames, data sets, named fields.

No library is imported: a frame is known by its type, and a data set by its names of columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.arrays import as_array
from ..inputs.checks import several
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.frames import is_frame, without_index
from .named_columns import RowColumns, are_in_place, find_columns, says_nothing

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray


class LongRows(NamedTuple):
    """Columns of judgements, or of the entries of lists, all of one length.

    Attributes
    ----------
    queries, documents : columns of names
    values : column, or None
        Relevance, or scores.
    ranks : column, or None
        Of lists without scores.
    """

    queries: Any
    documents: Any
    values: Any = None
    ranks: Any = None


class _Columns(NamedTuple):
    """The columns of a table by name, what messages call it, and whether places say more."""

    by_name: dict[Any, Any]
    kind: str
    has_places: bool = False


def read_long_rows(
    argument: str, value: Any, *, judged: bool, columns: Any = None
) -> LongRows | None:
    """Read judgements or lists in long form; None for any other form.

    Parameters
    ----------
    argument : str
        For messages.
    value : object
        A frame of pandas or polars, a data set of Hugging Face or a table of pyarrow, rows with
        named fields (of ir_datasets) or keys, or a tuple of columns.
    judged : bool
        Whether they are judgements.
    columns : sequence of str, optional
        The names of the columns of queries, documents and, perhaps, values. Default: as
        `find_columns` finds them.

    Raises
    ------
    InputTypeError, InputValueError
        For names that a table does not have, or that say nothing; for columns of unlike lengths.

    Examples
    --------
    >>> rows = [{"query_id": "q1", "corpus_id": "d3", "score": 1}]
    >>> read_long_rows("qrels", rows, judged=True)
    LongRows(queries=['q1'], documents=['d3'], values=[1], ranks=None)
    """
    if columns is not None:
        columns = _given_columns(columns)
    if isinstance(value, tuple) and _are_columns(value, judged):
        return _of_one_length(argument, LongRows(*map(_plain_column, value)))
    table = _as_columns(argument, value, columns)
    if table is None:
        return None
    found = _columns_meant(argument, table, judged, columns)
    if found is None:
        return None
    chosen: list[Any] = []
    for name in found:
        column = None
        if name is not None:
            column = _plain_column(table.by_name[name])
        chosen.append(column)
    return _of_one_length(argument, LongRows(*chosen))


def _columns_meant(
    argument: str, table: _Columns, judged: bool, given: RowColumns | None
) -> RowColumns | None:
    """Return the columns that are given or found; None for a table that is read by position."""
    names = list(table.by_name)
    if given is not None:
        for name in given.used:
            if name not in table.by_name:
                expected = f"names among {', '.join(map(repr, names))}"
                raise InputValueError("columns", expected=expected, got=repr(name))
        return given
    found = find_columns(argument, names, judged)
    if found is not None:
        others = [name for name in names if name not in found.used and not says_nothing(name)]
        if found.value is None and found.rank is None and others:
            raise _unknown_columns(argument, names, table.kind, judged)
        return found
    # numbered columns are no names, and the first two or three of judgements may have any
    are_named = all(isinstance(name, str) for name in names)
    may_be_places = judged and table.has_places and len(names) <= 3
    if may_be_places and are_named:
        may_be_places = are_in_place(names)
    if are_named and not may_be_places:
        raise _unknown_columns(argument, names, table.kind, judged)
    return None


def as_list(value: Any) -> Any:
    """Return the rows of an iterator as a list; anything else stays as it is.

    Examples
    --------
    >>> as_list(iter([("q1", "d3")]))
    [('q1', 'd3')]
    """
    if isinstance(value, Iterator):
        return list(value)
    return value


def is_column(value: object) -> bool:
    """Whether this is an array of one dimension, a Series, or a column of a data set.

    Examples
    --------
    >>> is_column(np.zeros(3)), is_column([0.0])
    (True, False)
    """
    if isinstance(value, (list, tuple, str, bytes, range)) or is_frame(value):
        return False
    if hasattr(value, "__array__"):
        return len(getattr(value, "shape", (0,))) == 1
    return isinstance(value, Sequence)


def scores_of(argument: str, values: Any) -> npt.NDArray[Any]:
    """Return scores, of the dtype that they have.

    Examples
    --------
    >>> scores_of("ids", np.array([0.5, 0.25], np.float32)).dtype
    dtype('float32')
    """
    return _numbers(argument, values, "iuf", "numbers as scores")


def ranks_of(argument: str, values: Any) -> IntArray:
    """Return ranks, which are integers.

    Examples
    --------
    >>> ranks_of("ids", [1, 2])
    array([1, 2])
    """
    return _numbers(argument, values, "iu", "integers as ranks").astype(np.int64)


def _numbers(argument: str, values: Any, kinds: str, expected: str) -> npt.NDArray[Any]:
    """Return a column of numbers of some kinds of dtype."""
    array = as_array(without_index(values), argument, expected)
    if array.dtype.kind == "O":  # a column of Python's numbers
        array = as_array(array.tolist(), argument, expected)
    if len(array) and (array.dtype.kind not in kinds or array.ndim != 1):
        raise InputTypeError(argument, expected=expected, got=f"a column of {array.dtype}")
    if not len(array):
        return np.zeros(0, np.int64)
    return array


def _given_columns(columns: Any) -> RowColumns:
    """Check the names of columns that a user gives."""
    names = several("columns", columns, "names of columns")
    if not 2 <= len(names) <= 3 or not all(isinstance(name, str) for name in names):
        expected = "two or three names of columns: queries, documents, and relevance or scores"
        raise InputTypeError("columns", expected=expected, got=repr(names))
    return RowColumns(*names)


def _are_columns(value: tuple[Any, ...], judged: bool) -> bool:
    """Whether a tuple has columns; two of lists would be (indptr, values)."""
    fits = len(value) == 3 or (judged and len(value) == 2)
    return fits and not hasattr(value, "_fields") and all(map(is_column, value))


def _as_columns(argument: str, value: Any, given: RowColumns | None) -> _Columns | None:
    """Return the columns of a table by name; None for anything else."""
    if is_frame(value):
        names = list(value.columns)
        return _Columns({name: value[name] for name in names}, type(value).__name__, True)
    column_names = getattr(value, "column_names", None)
    if isinstance(column_names, (list, tuple)):
        return _Columns({name: value[name] for name in column_names}, type(value).__name__)
    is_row = hasattr(value, "_fields")  # one alone
    if not isinstance(value, (list, tuple)) or not value or is_row:
        return None
    first = value[0]
    if hasattr(first, "_fields"):
        return _columns_of_named_rows(argument, value)
    # other mappings are lists of some query, as {name: score}
    is_record = isinstance(first, Mapping)
    if is_record and (given is not None or find_columns(argument, list(first), judged=False)):
        return _columns_of_records(argument, value)
    return None


def _columns_of_named_rows(argument: str, rows: Sequence[Any]) -> _Columns:
    """Return the columns of named tuples with the same fields."""
    fields = rows[0]._fields
    for i, row in enumerate(rows):
        if getattr(row, "_fields", None) != fields:
            expected = f"rows with the fields {', '.join(fields)}"
            raise InputTypeError(argument, expected=expected, got=f"{row!r} in row {i}")
    return _Columns(dict(zip(fields, zip(*rows, strict=True), strict=True)), "rows", True)


def _columns_of_records(argument: str, rows: Sequence[Any]) -> _Columns:
    """Return the columns of rows that are mappings with the same keys."""
    first = rows[0]
    columns: dict[Any, list[Any]] = {name: [] for name in first}
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping) or row.keys() != first.keys():
            expected = f"rows with the keys {', '.join(map(repr, first))}"
            raise InputTypeError(argument, expected=expected, got=f"{row!r} in row {i}")
        for name, column in columns.items():
            column.append(row[name])
    return _Columns(columns, "rows")


def _unknown_columns(
    argument: str, names: Sequence[Any], kind: str, judged: bool
) -> InputValueError:
    """Return the error for a table whose names do not say enough."""
    usual = "query_id, doc_id and score"
    maker = "NamedLists.of(..., columns=(query, document, score))"
    if judged:
        usual = "query_id, doc_id and relevance"
        maker = "Qrels.of(..., columns=(query, document, relevance))"
    expected = f"columns such as {usual} alone, or {maker} with the two or three that are meant"
    got = f"{kind} of {', '.join(map(repr, names[:6]))}"
    return InputValueError(argument, expected=expected, got=got)


def _plain_column(column: Any) -> Any:
    """Return a column that numpy, or the reader of names, takes; pyarrow's as a list."""
    if hasattr(column, "to_pylist"):
        return column.to_pylist()
    if is_column(column) and not hasattr(column, "__array__"):
        return list(column)
    return column


def _of_one_length(argument: str, rows: LongRows) -> LongRows:
    """Refuse columns of unlike lengths."""
    lengths = [len(column) for column in rows if column is not None]
    if len(set(lengths)) > 1:
        got = f"columns of {', '.join(map(str, lengths))}"
        raise InputValueError(argument, expected="columns of one length", got=got)
    return rows
