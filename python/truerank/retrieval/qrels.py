"""Right answers of queries (qrels) in any form, read as columns of ids or labels with gains."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence, Set, Sized
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.npy_files import read_npy
from ..splits.column_ids import IdColumn
from ..splits.grades import read_grades
from ..splits.judgements import Qrels, without_ranx
from ..splits.list_files import qrels_of_file
from ..splits.long_rows import as_list, read_long_rows
from ..splits.split_columns import SplitReader, is_split
from ..splits.text import RowForm, is_path

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray

FORM = RowForm(("query", "entity"), (0, 1), more_columns=True)  # of which one may follow, gains


class JudgedPairs(NamedTuple):
    """Pairs of a query and an entity, with gains; the entity is a right answer if its gain is > 0.

    Attributes
    ----------
    queries, entities : IdColumn
        Of equal lengths.
    gains : ndarray of float64, shape (n,), or None
        Finite; one below 0 says that the pair is not judged. None: all are 1.
    asked : IdColumn
        The queries that occur, also those without a pair; some of them perhaps several times.
    source : str
        The file and its form; "": they are from Python.
    """

    queries: IdColumn
    entities: IdColumn
    gains: FloatArray | None
    asked: IdColumn
    source: str = ""


def read_judged(title: str, value: Any, reader: SplitReader) -> JudgedPairs:
    """Read qrels.

    Parameters
    ----------
    title : str
        The argument, for messages.
    value : object
        A mapping of queries to mappings of entities to gains, or to lists of entities; rows, as an
        array of int of shape (n, 2) or (n, 3) or a list of tuples; a tuple of two or three columns;
        a frame, a data set, or rows with named fields, as `Qrels.of` takes them; Qrels; or a path:
        a .npy file of rows, any other is text that `read_qrels` reads.
    reader : SplitReader
        Of the form `FORM`; all that belongs to one task is read by one.

    Raises
    ------
    TypeError, ValueError, OSError
        For anything else, and for gains that are NaN or infinite.
    """
    value = as_list(without_ranx(value))
    if is_path(value):
        path = os.fsdecode(value)
        if path.endswith(".npy"):
            value = read_npy(title, path)
            title = f"{title}: {path}"
        else:
            value = qrels_of_file(title, path)
    if isinstance(value, Mapping):
        return _read_mapping(title, value, reader)
    if isinstance(value, Qrels):
        queries = reader.column(title, 0, value.queries, is_text=value.is_text)
        entities = reader.column(title, 1, value.documents, is_text=value.is_text)
        gains = value.relevance.astype(np.float64)
        return JudgedPairs(queries, entities, gains, queries, value.source)
    rows = read_long_rows(title, value, judged=True)
    if rows is not None:
        columns = [rows.queries, rows.documents]
        if rows.values is not None:
            columns.append(rows.values)
        return _pairs_of_columns(title, columns, reader)
    return _pairs_of_columns(title, reader.columns(title, value), reader)


def is_one_split(known: object) -> bool:
    """Whether known right answers are those of one split, and not splits by name or in a list.

    Examples
    --------
    >>> is_one_split({"q1": ["a", "b"]}), is_one_split({"train": {"q1": ["a", "b"]}})
    (True, False)
    """
    if not isinstance(known, Mapping):
        return True
    filled = (value for value in known.values() if not isinstance(value, Sized) or len(value))
    for first in filled:
        return not is_split(first)
    return not all(isinstance(name, str) for name in known)  # no pairs at all


def _pairs_of_columns(title: str, columns: list[Any], reader: SplitReader) -> JudgedPairs:
    if not columns:
        columns = [np.zeros(0, np.int64), np.zeros(0, np.int64)]
    lengths = list(map(len, columns))
    if len(columns) not in (2, 3) or len(set(lengths)) > 1:
        expected = "columns (queries, entities) or (queries, entities, gains) of one length"
        got = f"columns of {', '.join(map(str, lengths))}"
        raise InputValueError(title, expected=expected, got=got)
    gains = None
    if len(columns) == 3:
        gains = read_grades(title, columns[2]).astype(np.float64)
    queries = reader.column(title, 0, columns[0])
    entities = reader.column(title, 1, columns[1])
    return JudgedPairs(queries, entities, gains, queries)


def _read_mapping(title: str, value: Mapping[Any, Any], reader: SplitReader) -> JudgedPairs:
    lists = list(value.values())
    are_graded = {isinstance(listed, Mapping) for listed in lists}
    for query, listed in value.items():
        is_list = isinstance(listed, (Mapping, Sequence, Set, np.ndarray))
        if not is_list or isinstance(listed, (str, bytes)) or len(are_graded) > 1:
            expected = "{entity: gain} for each query, or [entities] for each"
            got = f"{type(listed).__name__} for {query!r}"
            raise InputTypeError(title, expected=expected, got=got)
    asked = reader.column(title, 0, list(value))
    entities = reader.column(title, 1, list(chain.from_iterable(lists)))
    queries = asked._replace(values=np.repeat(asked.values, list(map(len, lists))))
    gains = None
    if True in are_graded:
        grades = [grade for listed in lists for grade in listed.values()]
        gains = read_grades(title, grades).astype(np.float64)
    return JudgedPairs(queries, entities, gains, asked)
