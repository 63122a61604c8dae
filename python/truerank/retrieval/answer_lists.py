"""Lists of candidates by query, with labels or ids, in the order of the queries of a task."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ..embeddings.scoring import TopK
from ..inputs.checks import has_dimensions
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.selection import indptr_of
from ..tasks.named_lists import NamedLists, check_listed

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from ..tasks.vocabularies import Vocabulary

_FORMS = "lists by query, their file, or lists of ids or labels"


def lists_in_order(
    lists: NamedLists, queries: Vocabulary, entities: Vocabulary, asked: IntArray, all_known: bool
) -> tuple[Any, Any]:
    """Return ids and scores of named lists, one for each query in the order of ids.

    Parameters
    ----------
    lists : NamedLists
    queries, entities : Vocabulary
    asked : ndarray of int64
        The queries with right answers.
    all_known : bool
        Whether a query that the vocabulary lacks is an error; otherwise its list is not used.

    Raises
    ------
    ValueError
        For unknown entities, and for lists of other queries alone.

    Examples
    --------
    >>> from truerank.tasks.named_lists import lists_of_mapping
    >>> from truerank.tasks.vocabularies import Vocabulary
    >>> queries, entities = Vocabulary(2, ("u", "v")), Vocabulary(3, ("a", "b", "c"))
    >>> lists = lists_of_mapping("ids", {"v": {"c": 0.5, "a": 0.25}})
    >>> lists_in_order(lists, queries, entities, np.array([1]), True)[0]
    (array([2, 0]), array([0, 0, 2]))
    """
    codes = queries.codes_of(lists.queries)
    if all_known:
        _refuse_unknown("query", codes, lists.queries)
    rows = np.full(queries.size, -1)
    rows[codes[codes >= 0]] = np.flatnonzero(codes >= 0)
    asked_names = [queries.label_of(code) for code in asked.tolist()]
    check_listed("ids", lists.queries, asked_names, int((rows[asked] >= 0).sum()))
    lengths = np.where(rows < 0, 0, np.diff(lists.indptr, append=lists.indptr[-1])[rows])
    indptr = indptr_of(lengths)
    where = np.arange(indptr[-1]) + np.repeat(lists.indptr[rows] - indptr[:-1], lengths)
    used = lists.ids[where]
    ids = entities.codes_of(lists.names)[used]
    if len(ids) and ids.min() < 0:
        raise InputValueError("ids", f"unknown entity {lists.names[used[int(ids.argmin())]]!r}")
    return (ids, indptr), None if lists.scores is None else (lists.scores[where], indptr)


def lists_of_rows(ids: Any, scores: Any, entities: Vocabulary) -> tuple[Any, Any]:
    """Return ids and scores of lists without queries, one for each row.

    Parameters
    ----------
    ids : TopK, list of lists of labels, or lists as `rank_lists` takes them
    scores : as `rank_lists` takes them, or None
    entities : Vocabulary

    Raises
    ------
    TypeError, ValueError
        For unknown labels, and for what is no list.
    """
    if isinstance(ids, TopK):
        ids, scores = ids if scores is None else (ids.ids, scores)
    if not has_dimensions(ids):
        raise InputTypeError("ids", expected=_FORMS, got=type(ids).__name__)
    rows = ids if isinstance(ids, list | tuple) else ()
    filled = (one for one in rows if isinstance(one, list | tuple) and len(one))
    if isinstance(next(filled, (0,))[0], str):
        labels = list(chain.from_iterable(ids))
        codes = entities.codes_of(labels)
        _refuse_unknown("entity", codes, labels)
        ids = np.split(codes, np.cumsum(list(map(len, ids)))[:-1])
    return ids, scores


def _refuse_unknown(what: str, codes: IntArray, names: Sequence[str]) -> None:
    if len(codes) and codes.min() < 0:
        raise InputValueError("ids", f"unknown {what} {names[int(codes.argmin())]!r}")
