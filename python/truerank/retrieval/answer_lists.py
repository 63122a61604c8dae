"""Lists of candidates by query, with labels or ids, in the order of the queries of a task."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence, Set
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.errors import InputTypeError, InputValueError, renamed
from ..inputs.selection import indptr_of
from ..tasks.list_files import read_json_lists, read_run
from ..tasks.named_lists import NamedLists, without_ranx
from ..tasks.text import is_path

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from ..tasks.vocabularies import Vocabulary

_JSON = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
_RUN = "a mapping of entities to scores, or a list of entities, for each query"


def lists_in_order(
    ids: Any, scores: Any, queries: Vocabulary, entities: Vocabulary, all_known: bool
) -> tuple[Any, Any]:
    """Return ids and scores of lists, one for each query in the order of ids, for `rank_lists`.

    Parameters
    ----------
    ids : mapping, NamedLists, path, or lists as `rank_lists` takes them
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
    ids = without_ranx(ids)
    if is_path(ids):
        is_json = os.fsdecode(ids).endswith(_JSON)
        with renamed(path="ids"):
            ids = read_json_lists(ids) if is_json else read_run(ids)
    if isinstance(ids, (Mapping, NamedLists)) and scores is not None:
        raise InputTypeError("scores", expected="None, as the lists have scores by name")
    if isinstance(ids, NamedLists):
        return _lists_of_names(ids, queries, entities, all_known)
    if isinstance(ids, Mapping):
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
    flat = _codes(list(chain.from_iterable(lists)), entities)
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
    indptr = indptr_of(list(map(len, groups)))
    codes = _codes(list(chain.from_iterable(groups)), entities)
    if not has_scores:
        return (codes, indptr), None
    values = np.array(list(chain.from_iterable(group.values() for group in groups if len(group))))
    if values.dtype.kind not in "iuf" and len(values):
        raise InputTypeError("ids", expected="scores that are numbers", got=f"dtype {values.dtype}")
    return (codes, indptr), (values if len(values) else values.astype(np.float64), indptr)


def _lists_of_names(
    lists: NamedLists, queries: Vocabulary, entities: Vocabulary, all_known: bool
) -> tuple[Any, Any]:
    codes = _codes_of_names(lists.queries, queries)
    if all_known:
        _refuse_unknown("query", codes, lists.queries)
    rows = np.full(queries.size, -1)
    rows[codes[codes >= 0]] = np.flatnonzero(codes >= 0)
    lengths = np.where(rows < 0, 0, np.diff(lists.indptr, append=lists.indptr[-1])[rows])
    indptr = indptr_of(lengths)
    where = np.arange(indptr[-1]) + np.repeat(lists.indptr[rows] - indptr[:-1], lengths)
    used = lists.ids[where]
    ids = _codes_of_names(lists.names, entities)[used]
    if len(ids) and ids.min() < 0:
        raise InputValueError("ids", f"unknown entity {lists.names[used[int(ids.argmin())]]!r}")
    return (ids, indptr), (lists.scores[where], indptr)


def _codes_of_names(names: Sequence[str], vocabulary: Vocabulary) -> IntArray:
    """Return the ids of names, -1 for those that have none; without labels, names are ids."""
    if vocabulary.names is not None:
        place = {name: code for code, name in enumerate(vocabulary.names)}
        return np.fromiter(map(place.get, names, repeat(-1)), dtype=np.int64, count=len(names))
    ids = (int(n) if n.isascii() and n.isdecimal() and len(n) < 19 else -1 for n in names)
    codes = np.fromiter(ids, dtype=np.int64, count=len(names))
    return np.where(codes < vocabulary.size, codes, -1)


def _codes(labels: Sequence[Any], entities: Vocabulary) -> IntArray:
    """Turn the labels of entities into ids, or check that they are ids."""
    if entities.names is None:
        array = np.asarray(labels if len(labels) else np.zeros(0, dtype=np.int64))
        if array.dtype.kind not in "iu":
            got = f"dtype {array.dtype}"
            raise InputTypeError("ids", expected="ids, as entities have no labels", got=got)
        return array.astype(np.int64)
    codes = _codes_of_names(labels, entities)
    _refuse_unknown("entity", codes, labels)
    return codes


def _refuse_unknown(what: str, codes: IntArray, names: Sequence[str]) -> None:
    if len(codes) and codes.min() < 0:
        raise InputValueError("ids", f"unknown {what} {names[int(codes.argmin())]!r}")
