"""Right answers of queries (qrels) in any form, read as columns of ids or labels with gains."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence, Set
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.checks import has_dimensions
from ..inputs.errors import InputTypeError, InputValueError, renamed
from ..inputs.frames import is_frame
from ..inputs.npy_files import read_npy
from ..tasks.list_files import read_qrels
from ..tasks.named_lists import Qrels, without_ranx
from ..tasks.split_columns import SplitReader
from ..tasks.text import RowForm, is_path
from ..tasks.vocabularies import Column

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray

FORM = RowForm("row", ("query", "entity"), (0, 1))
_QUERY, _ENTITY = 0, 1  # the columns
_FORMS = (
    "{query: {entity: gain}}, {query: [entities]}, rows (query, entity[, gain]), columns "
    "(queries, entities[, gains]), or the path of qrels"
)


class JudgedPairs(NamedTuple):
    """Pairs of a query and an entity, with gains; the entity is a right answer if its gain is > 0.

    Attributes
    ----------
    queries, entities : Column
        Of equal lengths.
    gains : ndarray of float64, shape (n,), or None
        Finite; below 0 only in a file of qrels. None: all are 1.
    asked : Column
        The queries that occur, also those without a pair; some of them perhaps several times.
    """

    queries: Column
    entities: Column
    gains: FloatArray | None
    asked: Column


def read_judged(title: str, value: Any, reader: SplitReader) -> JudgedPairs:
    """Read qrels.

    Parameters
    ----------
    title : str
        The argument, for messages.
    value : object
        A mapping of queries to mappings of entities to gains, or to lists of entities; rows, as an
        array of int of shape (n, 2) or (n, 3) or a list of tuples; a tuple of two or three columns;
        Qrels; or a path: a .npy file of rows, any other is text that `read_qrels` reads.
    reader : SplitReader
        Of the form `FORM`; all that belongs to one task is read by one.

    Raises
    ------
    TypeError, ValueError, OSError
        For anything else, and for gains that are NaN, infinite or, except in text, negative.
    """
    value = without_ranx(value)
    if is_path(value):
        path = os.fsdecode(value)
        if not path.endswith(".npy"):
            with renamed(path=title):
                return _of_judgements(title, read_qrels(path), reader)
        title, value = f"{title}: {path}", read_npy(title, path)
    if isinstance(value, Mapping):
        return _read_mapping(title, value, reader)
    if isinstance(value, Qrels):
        return _of_judgements(title, value, reader)
    gains = None
    if isinstance(value, tuple) and _are_columns(value):
        queries, entities, gains = _read_columns(title, value, reader)
    else:
        rows, gains = _split_gains(title, value)
        queries, entities = reader.read_all({"qrels": (title, rows)})["qrels"]
    return JudgedPairs(
        queries, entities, _checked_gains(title, gains, len(queries.values)), queries
    )


def is_one_split(known: object) -> bool:
    """Whether known right answers are those of one split, and not splits by name or in a list.

    Examples
    --------
    >>> is_one_split({"q1": ["a", "b"]}), is_one_split({"train": {"q1": ["a", "b"]}})
    (True, False)
    """
    if not isinstance(known, Mapping):
        return True
    filled = (value for value in known.values() if not hasattr(value, "__len__") or len(value))
    first = next(filled, None)
    if first is None:  # no pairs at all
        return not all(isinstance(name, str) for name in known)
    if isinstance(first, Mapping):
        return not isinstance(next(iter(first.values())), (Sequence, Set, Mapping, np.ndarray))
    if is_path(first) or is_frame(first) or isinstance(first, Qrels):
        return False
    if isinstance(first, tuple) and _are_columns(first):
        return False
    if isinstance(first, (Sequence, Set)):
        return not isinstance(next(iter(first)), (tuple, list))
    return getattr(first, "ndim", 1) == 1


def _are_columns(value: tuple[Any, ...]) -> bool:
    return len(value) in (2, 3) and all(getattr(column, "ndim", 0) == 1 for column in value)


def _read_mapping(title: str, value: Mapping[Any, Any], reader: SplitReader) -> JudgedPairs:
    groups = list(value.values())
    for query, group in value.items():
        if isinstance(group, (str, bytes)) or not isinstance(
            group, (Mapping, Sequence, Set, np.ndarray)
        ):
            expected = "a mapping of entities to gains, or a list of entities, for each query"
            got = f"{type(group).__name__} for {query!r}"
            raise InputTypeError(title, expected=expected, got=got)
    are_graded = [isinstance(group, Mapping) for group in groups]
    if any(are_graded) and not all(are_graded):
        raise InputTypeError(title, expected="gains for all queries, or for none")
    asked = reader.column_of_values(title, _QUERY, list(value))
    entities = list(chain.from_iterable(groups))
    entity_column = reader.column_of_values(title, _ENTITY, entities)
    gains = None
    if any(are_graded):
        gains = list(chain.from_iterable(group.values() for group in groups))
    lengths = np.fromiter(map(len, groups), dtype=np.int64, count=len(groups))
    queries = asked._replace(values=np.repeat(asked.values, lengths))
    return JudgedPairs(queries, entity_column, _checked_gains(title, gains, len(entities)), asked)


def _read_columns(
    title: str, value: tuple[Any, ...], reader: SplitReader
) -> tuple[Column, Column, Any]:
    arrays = [np.asarray(column) for column in value]
    for array in arrays:
        if array.ndim != 1 or len(array) != len(arrays[0]):
            expected = "columns of one length"
            raise InputValueError(title, expected=expected, got=f"shape {array.shape}")
    columns = [
        reader.column(title, j, array.astype(np.int64))
        if array.dtype.kind in "iu"
        else reader.column_of_values(title, j, array.tolist())
        for j, array in enumerate(arrays[:2])
    ]
    return columns[0], columns[1], arrays[2] if len(arrays) == 3 else None


def _split_gains(title: str, value: Any) -> tuple[Any, Any]:
    """Split rows of three into rows of two and gains."""
    if isinstance(value, (list, tuple)):
        if not all(isinstance(row, (tuple, list)) and len(row) == 3 for row in value):
            return value, None
        return [(row[0], row[1]) for row in value], [row[2] for row in value]
    if isinstance(value, (str, bytes, Set)) or value is None or not has_dimensions(value):
        raise InputTypeError(title, expected=_FORMS, got=type(value).__name__)
    array = np.asarray(value)
    if array.ndim == 2 and array.shape[1] == 3:
        return array[:, :2], array[:, 2] if array.dtype.kind != "O" else array[:, 2].tolist()
    return array, None


def _checked_gains(title: str, gains: Any, length: int) -> FloatArray | None:
    """Check gains: finite numbers, not negative; 0 is no right answer."""
    if gains is None:
        return None
    array = np.asarray(gains)
    if not length:
        return np.zeros(0)
    if array.dtype.kind not in "biuf":
        raise InputTypeError(title, expected="gains that are numbers", got=f"dtype {array.dtype}")
    if array.shape != (length,):
        got = f"shape {array.shape}"
        raise InputValueError(title, expected="a gain for each right answer", got=got)
    array = array.astype(np.float64)
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        i = int(wrong.argmax())
        got = f"{array[i]} in row {i}"
        raise InputValueError(title, expected="gains that are finite and not negative", got=got)
    return array


def _of_judgements(title: str, judged: Qrels, reader: SplitReader) -> JudgedPairs:
    """Return judgements; a relevance of 0 or less is none, as in trec_eval."""
    queries, documents = (
        reader.column(title, j, reader.index(j).encode(names), reader.index(j))
        for j, names in ((_QUERY, judged.queries), (_ENTITY, judged.documents))
    )
    return JudgedPairs(queries, documents, judged.relevance.astype(np.float64), queries)
