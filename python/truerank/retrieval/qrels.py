"""Right answers of queries (qrels) in any form, read as columns of ids or labels with gains."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sized
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.candidate_lists import PAD
from ..inputs.checks import is_number, is_sparse
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.npy_files import read_npy
from ..splits.column_ids import IdColumn
from ..splits.column_tables import is_column
from ..splits.elements import without_pads
from ..splits.judgements import Qrels, plain_rows, read_judgements
from ..splits.list_files import qrels_of_file
from ..splits.split_columns import SplitReader
from ..splits.text import RowForm, is_path
from ..splits.vocabularies import Vocabulary

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
        The file and its form, or what was left out; "": nothing, and they are from Python.
    is_table : bool
        Whether they are rows or columns, which do not name queries without a pair.
    rows : int or None
        Of a sparse matrix: how many it has, a row for each query.
    """

    queries: IdColumn
    entities: IdColumn
    gains: FloatArray | None
    asked: IdColumn
    source: str = ""
    is_table: bool = False
    rows: int | None = None


def read_judged(
    title: str, value: Any, reader: SplitReader, columns: Any, order: Any
) -> JudgedPairs:
    """Read qrels.

    Parameters
    ----------
    title : str
        The argument, for messages.
    value : object
        As `read_judgements` takes it; Qrels; or a path: a .npy file of rows, any other is text that
        `read_qrels` reads.
    reader : SplitReader
        Of the form `FORM`; all that belongs to one task is read by one.
    columns : mapping or None
        As `read_judgements` takes it.
    order : object
        The entities, as `Vocabulary.read` takes them: whether -1 is one, and no pad.

    Raises
    ------
    TypeError, ValueError, OSError
        For anything else, and for gains that are NaN or infinite.
    """
    value = plain_rows(value)
    if is_path(value):
        path = os.fsdecode(value)
        if path.endswith(".npy"):
            value = read_npy(title, path)
            title = f"{title}: {path}"
        else:
            value = qrels_of_file(title, path, columns)
    found = read_judgements(title, value, columns)
    kind: dict[str, Any] = {"is_text": found.is_text, "are_positions": found.matrix is not None}
    asked = reader.column(title, 0, found.queries)._replace(**kind)
    entities = reader.column(title, 1, found.documents)._replace(**kind)
    counts = found.counts
    queries = asked
    if counts is not None:
        may_have_pads = found.relevance is None and entities.label_index is None
        has_pads = may_have_pads and bool((entities.values == PAD).any())
        if has_pads and not Vocabulary.read("entities", order).names_pad():
            counts, values = without_pads(title, counts, entities.values)
            entities = entities._replace(values=np.asarray(values))
        queries = asked._replace(values=np.repeat(asked.values, counts))
    gains: FloatArray | None = (
        None if found.relevance is None else found.relevance.astype(np.float64)
    )
    rows = None
    is_table = counts is None and not isinstance(value, Qrels)
    if found.matrix is not None:
        rows, width = found.matrix
        size = Vocabulary.read("entities", order).size
        if width > size:
            expected = f"a matrix with a column for each of the {size} entities"
            raise InputValueError(title, expected=expected, got=f"{width} columns")
    return JudgedPairs(queries, entities, gains, asked, found.source, is_table, rows)


def is_one_split(known: Mapping[Any, Any]) -> bool:
    """Return whether known right answers are those of one split, and not splits by their names.

    Raises
    ------
    InputTypeError
        For a mapping that has both.

    Examples
    --------
    >>> is_one_split({"q1": ["a", "b"]}), is_one_split({"train": {"q1": ["a", "b"]}})
    (True, False)
    """
    kinds = {_are_items(value) for value in known.values() if not _is_empty(value)}
    if len(kinds) > 1:
        expected = 'splits by their names, known={"train": {query: [items]}, ...}, or one split, '
        expected += "known={query: [items], ...}"
        raise InputTypeError("known", expected=expected, got="a mapping that has both")
    if not kinds:  # no pairs at all
        return not all(isinstance(name, str) for name in known)
    return True in kinds


def _is_empty(value: Any) -> bool:
    """Return whether this has no members, so that it could be anything."""
    return isinstance(value, Sized) and not is_sparse(value) and not len(value)


def _are_items(value: Any) -> bool:
    """Return whether this is what one query has, items or their grades, and no split."""
    if isinstance(value, Mapping):
        return is_number(next(iter(value.values())))
    has_fields = getattr(getattr(value, "dtype", None), "names", None)
    if isinstance(value, Iterator) or has_fields or not is_column(value):
        return False
    first = next(iter(value))
    return not isinstance(first, (Mapping, tuple)) and not is_column(first)
