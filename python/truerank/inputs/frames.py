"""Frames of scores, of pandas and polars: a column for each candidate, a row for each query.

Neither library is imported here: a program that has not imported it has no frame of it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .column_names import ColumnNames, ids_of, vocabulary_names
from .errors import InputTypeError, InputValueError

if TYPE_CHECKING:
    import numpy.typing as npt


class ScoreNames(NamedTuple):
    """What a frame, or a vocabulary, says of scores beside the numbers.

    Attributes
    ----------
    columns : ColumnNames or None
        The names of the candidates; None where columns are only numbered.
    index : pandas.Index or None
        That of the rows; None where there is none.
    """

    columns: ColumnNames | None = None
    index: Any = None

    def ids(self, argument: str, value: Any, *, by_row: bool) -> Any:
        """Return ids where a value holds names of columns.

        Parameters
        ----------
        argument : str
            What messages call the value.
        value : object
        by_row : bool
            Whether it has a member for each row of scores, whose index it then shares.

        Raises
        ------
        TypeError, ValueError
            As `ColumnNames.ids` does, and for a column of pandas with another index.
        """
        if by_row:
            self.check_index(argument, value)
        return ids_of(argument, value, self.columns)

    def check_index(self, argument: str, value: Any) -> None:
        """Refuse what goes by rows, but has an index whose labels say another order.

        Raises
        ------
        ValueError
            If both have an index, of the same rows in another order or of other rows. An index
            that only numbers the rows says nothing, unless the other one is a permutation of it.
        """
        if self.index is None or not _is_of(value, "pandas", "Series", "DataFrame"):
            return
        index = value.index
        if len(index) != len(self.index) or self.index.equals(index):
            return  # another length is an error of its own
        if (_is_numbering(index) or _is_numbering(self.index)) and set(index) != set(self.index):
            return
        raise InputValueError(
            argument,
            "its index is not that of scores, so that it may be meant by position or by label; "
            f"give {argument}.to_numpy() or {argument}.reindex(scores.index)",
        )

    def check_selection(self, argument: str, value: Any, *, by_row: bool) -> None:
        """Refuse a column of lists of other rows, and a mask, as a frame, of other columns.

        Raises
        ------
        ValueError
            If both have an index or names of columns, and these differ.
        """
        if by_row:
            self.check_index(argument, value)
        if self.columns is None or not is_frame(value):
            return
        names = _column_labels(value)
        if names is not None and names != self.columns.names:
            expected = f"the columns of {self.columns.source}, in their order"
            raise InputValueError(argument, expected=expected, got="others")


NO_NAMES = ScoreNames()


def is_frame(value: object) -> bool:
    """Whether a value is a DataFrame of pandas or polars.

    Examples
    --------
    >>> is_frame(np.zeros((2, 3)))
    False
    """
    return any(_is_of(value, library, "DataFrame") for library in _ARRAYS)


def named_scores(
    scores: Any, vocabulary: Any = None, name: str = "scores"
) -> tuple[Any, ScoreNames]:
    """Take the names off scores: a frame becomes its array, anything else stays as it is.

    Parameters
    ----------
    scores : object
        What `rank` takes as scores. A row of a frame is one row, whose index names the columns.
    vocabulary : object
        As in `rank`.
    name : str
        What messages call the scores.

    Returns
    -------
    scores : object
        The array of a frame shares its memory where the frame has its scores in one block.
    ScoreNames

    Raises
    ------
    TypeError
        For columns of several dtypes, or of one that has no numbers.
    ValueError
        For values that are missing, and for names from two places.

    Examples
    --------
    >>> scores, names = named_scores(np.zeros((1, 2)), ["Paris", "Rome"])
    >>> names.columns.names
    ('Paris', 'Rome')
    """
    given = vocabulary_names(vocabulary)
    if _is_of(scores, "polars", "LazyFrame"):
        raise InputTypeError(name, expected="a DataFrame", got="a LazyFrame; collect() makes one")
    if _is_of(scores, "pandas", "Series") and not _is_numbering(scores.index):
        array, names = named_scores(scores.to_frame().T, given, name)
        return array[0], ScoreNames(names.columns)
    library = next((one for one in _ARRAYS if _is_of(scores, one, "DataFrame")), None)
    if library is None:
        return scores, NO_NAMES if given is None else ScoreNames(given)
    labels = _column_labels(scores)
    if given is not None and labels is not None:
        problem = f"the columns of {name} have names already; give one of both"
        raise InputValueError(given.source, problem)
    columns = given if labels is None else ColumnNames(labels, name)
    index = scores.index if library == "pandas" else None
    return _ARRAYS[library](scores, name), ScoreNames(columns, index)


def check_columns(name: str, scores: Any, labels: tuple[str, ...] | None) -> None:
    """Refuse a frame whose columns are named in another order than that of the candidates.

    Parameters
    ----------
    name : str
        What messages call the scores.
    scores : object
        Anything but a frame has no names of columns, and passes; so does a frame of another width,
        whose shape is an error of its own, and one that has none of the labels.
    labels : tuple of str, or None
        Those of the candidates, in their order.

    Raises
    ------
    ValueError
        For labels in another order, or where some are unknown.
    """
    if labels is None or not is_frame(scores):
        return
    names = tuple(scores.columns)
    if names == labels or len(names) != len(labels) or set(labels).isdisjoint(names):
        return
    i = next(i for i, label in enumerate(labels) if names[i] != label)
    got = f"{names[i]!r} at position {i}, where {labels[i]!r} belongs"
    if set(names) == set(labels):
        got += "; select the columns by the labels of the task to order them"
    raise InputValueError(name, expected="columns in the order of the task's labels", got=got)


def row_labels(index: Any) -> npt.NDArray[Any] | list[str] | None:
    """Return what an index calls the rows: str or integers; None if it only numbers them."""
    if index is None or _is_numbering(index):
        return None
    labels = index.tolist()
    if all(isinstance(label, str) for label in labels):
        return [str(label) for label in labels]
    array = index.to_numpy()
    return array if array.dtype.kind in "iu" else None


def _is_of(value: object, library: str, *names: str) -> bool:
    module = sys.modules.get(library)
    return any(isinstance(value, getattr(module, name, ())) for name in names)


def _is_numbering(index: Any) -> bool:
    """Whether labels are 0, 1, 2, ...: those that rows or columns have if nobody names them."""
    is_range = getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1
    return is_range or (
        getattr(index.dtype, "kind", "") in ("i", "u")
        and np.array_equal(index.to_numpy(), np.arange(len(index)))
    )


def _column_labels(frame: Any) -> tuple[Any, ...] | None:
    """Return the names of columns; None if they are only numbered."""
    if hasattr(frame.columns, "dtype") and _is_numbering(frame.columns):
        return None
    return tuple(frame.columns)


def _pandas_array(frame: Any, name: str) -> npt.NDArray[Any]:
    dtype = _only_dtype(frame, list(frame.dtypes), name)
    if isinstance(dtype, np.dtype):
        _refuse_others(frame, dtype, dtype.kind, name)
        array: npt.NDArray[Any] = frame.to_numpy()
        return array
    plain = getattr(dtype, "numpy_dtype", None)  # of pandas' own dtypes, which allow missing values
    _refuse_others(frame, dtype, getattr(plain, "kind", ""), name)
    missing = frame.isna().to_numpy()
    if missing.any():
        row, column = divmod(int(missing.argmax()), frame.shape[1])
        _refuse_missing(frame, row, column, name)
    array = frame.to_numpy(dtype=plain)
    return array


def _polars_array(frame: Any, name: str) -> npt.NDArray[Any]:
    dtype = _only_dtype(frame, frame.dtypes, name)
    is_plain = dtype is not None and dtype.is_numeric() and not dtype.is_decimal()
    _refuse_others(frame, dtype, "f" if is_plain or dtype is None else "", name)
    for column, nulls in enumerate(frame.null_count().row(0) if frame.width else ()):
        if nulls:
            _refuse_missing(frame, int(frame.to_series(column).is_null().arg_max()), column, name)
    array: npt.NDArray[Any] = frame.to_numpy()
    return array


# The libraries whose frames are read, and how the scores of one become an array.
_ARRAYS = {"pandas": _pandas_array, "polars": _polars_array}


def _only_dtype(frame: Any, dtypes: list[Any], name: str) -> Any:
    """Return the dtype of all columns: a common one would be a conversion, which may change order.

    Without columns there is none, and numpy's default stands for it.
    """
    if not dtypes:
        return np.dtype(np.float64) if _is_of(frame, "pandas", "DataFrame") else None
    other = next((i for i, dtype in enumerate(dtypes) if dtype != dtypes[0]), None)
    if other is None:
        return dtypes[0]
    first, second = (f"{dtypes[i]} in column {frame.columns[i]!r}" for i in (0, other))
    way, cast = "drop", "cast(polars.Float64)"
    if _is_of(frame, "pandas", "DataFrame"):
        way, cast = "set_index", "astype('float64')"
    hint = f"if one names the queries, .{way}({frame.columns[0]!r}) takes it out"
    got = f"{first}, {second}; {hint}, and .{cast} makes numbers of one dtype"
    raise InputTypeError(name, expected="columns of one dtype", got=got)


def _refuse_others(frame: Any, dtype: Any, kind: str, name: str) -> None:
    if kind not in ("i", "u", "f", "b"):  # the scores' own check says what it thinks of bool
        got = f"dtype {dtype} in column {frame.columns[0]!r}"
        raise InputTypeError(name, expected="columns of numbers", got=got)


def _refuse_missing(frame: Any, row: int, column: int, name: str) -> None:
    got = f"a missing value at row {row}, column {frame.columns[column]!r}"
    raise InputValueError(name, expected="a score for every candidate (NaN is one)", got=got)
