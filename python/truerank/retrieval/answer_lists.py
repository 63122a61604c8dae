"""Lists of candidates by query, with labels or ids, in the order of the queries of a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.errors import InputTypeError, InputValueError

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from ..tasks.vocabularies import Vocabulary

_RUN = "a mapping of entities to scores, or a list of entities, for each query"


def lists_in_order(
    ids: Any, scores: Any, queries: Vocabulary, entities: Vocabulary, all_known: bool
) -> tuple[Any, Any]:
    """Return ids and scores of lists, one for each query in the order of ids, for `rank_lists`.

    Parameters
    ----------
    ids : mapping, or lists as `rank_lists` takes them
        By query: its entities with scores, or in order alone. Or one list for each query, of ids,
        or of labels in a list of lists.
    scores : as `rank_lists` takes them, or None
    queries, entities : Vocabulary
    all_known : bool
        Whether a query that the vocabulary lacks is an error; otherwise its list is not used.

    Raises
    ------
    TypeError, ValueError
        For unknown labels, ids out of range, another number of lists, and scores apart from a
        mapping.

    Examples
    --------
    >>> from truerank.tasks.vocabularies import Vocabulary
    >>> queries, entities = Vocabulary(2, ("u", "v")), Vocabulary(3, ("a", "b", "c"))
    >>> lists_in_order({"v": {"c": 0.5, "a": 0.25}}, None, queries, entities, True)[0]
    (array([2, 0]), array([0, 0, 2]))
    """
    if isinstance(ids, Mapping):
        if scores is not None:
            raise InputTypeError("scores", expected="None, as the lists are a mapping")
        return _lists_of_mapping(ids, queries, entities, all_known)
    if isinstance(ids, (list, tuple)) and _has_labels(ids):
        ids = _encoded(ids, entities)
    height = len(ids[1]) - 1 if isinstance(ids, tuple) and len(ids) == 2 else len(ids)
    if height != queries.size:
        expected = f"{queries.size} lists, one for each query"
        raise InputValueError("ids", expected=expected, got=height)
    return ids, scores


def _has_labels(ids: Sequence[Any]) -> bool:
    filled = (one for one in ids if isinstance(one, (list, tuple)) and len(one))
    return isinstance(next(filled, (0,))[0], str)


def _encoded(lists: Sequence[Any], entities: Vocabulary) -> list[IntArray]:
    flat = _codes("ids", list(chain.from_iterable(lists)), entities)
    return np.split(flat, np.cumsum(list(map(len, lists)))[:-1])


def _lists_of_mapping(
    lists: Mapping[Any, Any], queries: Vocabulary, entities: Vocabulary, all_known: bool
) -> tuple[Any, Any]:
    groups: list[Any] = [()] * queries.size
    place = None if queries.names is None else {name: i for i, name in enumerate(queries.names)}
    has_scores = None
    for query, group in lists.items():
        if isinstance(group, (str, bytes, Set)) or not isinstance(
            group, (Mapping, Sequence, np.ndarray)
        ):
            got = f"{type(group).__name__} for {query!r}"
            raise InputTypeError("ids", expected=_RUN, got=got)
        code = query if place is None else place.get(query, -1)
        if not isinstance(code, (int, np.integer)) or isinstance(code, bool):
            got = f"{type(query).__name__} {query!r}"
            raise InputTypeError("ids", expected="ids of queries", got=got)
        if not 0 <= code < queries.size:
            if all_known or (place is None and code < 0):
                raise InputValueError("ids", f"unknown query {query!r}")
            continue
        if has_scores is None:
            has_scores = isinstance(group, Mapping)
        elif has_scores != isinstance(group, Mapping):
            raise InputTypeError("ids", expected="scores for all queries, or for none")
        groups[code] = group
    indptr = np.zeros(queries.size + 1, dtype=np.int64)
    np.cumsum(list(map(len, groups)), out=indptr[1:])
    codes = _codes("ids", list(chain.from_iterable(groups)), entities)
    if not has_scores:
        return (codes, indptr), None
    values = np.array(list(chain.from_iterable(group.values() for group in groups if len(group))))
    if values.dtype.kind not in "iuf" and len(values):
        raise InputTypeError("ids", expected="scores that are numbers", got=f"dtype {values.dtype}")
    return (codes, indptr), (values.astype(np.float64), indptr)


def _codes(name: str, labels: Sequence[Any], entities: Vocabulary) -> IntArray:
    """Turn the labels of entities into ids, or check that they are ids."""
    if entities.names is None:
        array = np.asarray(labels if len(labels) else np.zeros(0, dtype=np.int64))
        if array.dtype.kind not in "iu":
            got = f"dtype {array.dtype}"
            raise InputTypeError(name, expected="ids, as entities have no labels", got=got)
        return array.astype(np.int64)
    place = {label: code for code, label in enumerate(entities.names)}
    codes = np.fromiter(map(place.get, labels, repeat(-1)), dtype=np.int64, count=len(labels))
    if len(codes) and codes.min() < 0:
        raise InputValueError(name, f"unknown entity {labels[int(codes.argmin())]!r}")
    return codes
