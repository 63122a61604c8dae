"""Lists of candidates by query, in the order of the queries of a task."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.errors import InputTypeError
from ..inputs.row_keys import are_among
from ..inputs.selection import indptr_of, join_ranges
from ..splits.elements import read_elements
from ..splits.list_entries import ScoredNames, read_pairs
from ..splits.list_files import lists_of_file
from ..splits.list_use import ListUse, lists_in_use
from ..splits.named_lists import NamedLists, named_lists_of
from ..splits.text import is_path

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from ..splits.elements import Names
    from ..splits.vocabularies import Vocabulary


def read_lists(
    argument: str, value: Any, columns: Any = None, *, has_pads: bool = False
) -> NamedLists | None:
    """Return lists by name of a file, or as `NamedLists.of` takes them; else None."""
    if is_path(value):
        return lists_of_file(argument, os.fsdecode(value), columns)
    return named_lists_of(argument, value, columns, has_pads=has_pads)


class OrderedLists(NamedTuple):
    """Lists in the order of the ids of queries, and what was left over of them.

    Attributes
    ----------
    ids, scores : lists, as `truerank.rank_lists` takes them
    use : ListUse
    """

    ids: Any
    scores: Any
    use: ListUse


def lists_in_order(
    lists: NamedLists,
    queries: Vocabulary,
    *,
    order: IntArray,
    asked: IntArray,
    all_known: bool,
    ids_of_names: Callable[[Names, bool], IntArray],
    asked_in_other_parts: IntArray,
) -> OrderedLists:
    """Return ids and scores of named lists, one for each of some queries.

    Parameters
    ----------
    lists : NamedLists
    queries : Vocabulary
    order : ndarray of int64
        The query of each list that is returned.
    asked : ndarray of int64
        The queries with right answers.
    all_known : bool
        Whether a query that the vocabulary lacks is an error; otherwise its list is not used.
    ids_of_names : callable
        f(names, is_text) -> the ids of entities; the names are distinct.
    asked_in_other_parts : ndarray of int64
        Queries with right answers in other parts of the task, whose lists are not left over.

    Raises
    ------
    ValueError
        For unknown entities, and for lists of other queries alone.

    Examples
    --------
    >>> from truerank.splits.vocabularies import Vocabulary
    >>> queries, entities = Vocabulary(2, ("u", "v")), Vocabulary(3, ("a", "b", "c"))
    >>> lists = NamedLists.of({"v": {"c": 0.5, "a": 0.25}})
    >>> lists_in_order(
    ...     lists, queries, order=np.array([0, 1]), asked=np.array([1]), all_known=True,
    ...     ids_of_names=lambda names, _: entities.ids_of("ids", names),
    ...     asked_in_other_parts=np.array([], int),
    ... ).ids
    (array([0, 0, 2]), array([2, 0]))
    """
    if all_known:
        found = queries.ids_of("ids", lists.queries, is_text=lists.is_text)
    else:
        elements = read_elements("ids", lists.queries, "queries")
        found = queries.find("ids", elements, is_text=lists.is_text)
    is_known = found >= 0
    place_of_query = np.full(queries.size, -1)  # among those that are asked
    place_of_query[asked] = np.arange(len(asked))
    places = np.full(len(lists), -1)
    places[is_known] = place_of_query[found[is_known]]
    names: list[Any] = [queries.label_of(code) for code in asked.tolist()]
    use = lists_in_use(
        "ids",
        lists.queries,
        places,
        names,
        are_known=is_known,
        elsewhere=are_among(found, asked_in_other_parts),
    )
    list_of_query = np.full(queries.size, len(lists))  # an empty one, behind all others
    list_of_query[asked] = use.rows
    rows = list_of_query[order]
    lengths = np.diff(lists.indptr, append=lists.indptr[-1])[rows]
    entries = join_ranges(lists.indptr[rows], lengths)
    indptr = indptr_of(lengths)
    ids = _ids_in_use(lists, entries, ids_of_names)
    scores = None if lists.scores is None else (indptr, lists.scores[entries])
    return OrderedLists((indptr, ids), scores, use)


def _ids_in_use(
    lists: NamedLists, entries: IntArray, ids_of_names: Callable[[Names, bool], IntArray]
) -> IntArray:
    """Return the ids of some entries of lists; only the names that these have must be known."""
    numbers = lists.ids[entries]
    used = np.flatnonzero(np.bincount(numbers))
    names = lists.names
    if len(used) < len(names):
        names = tuple(map(lists.names.__getitem__, used.tolist()))
    id_of_number: IntArray = np.zeros(len(lists.names), np.int64)
    id_of_number[used] = ids_of_names(names, lists.is_text)
    ids: IntArray = id_of_number[numbers]
    return ids


def scored_lists(ids: Any, scores: Any) -> ScoredNames:
    """Return lists of pairs with scores as lists of names and of scores; others as they are.

    Examples
    --------
    >>> scored_lists([[("d7", 2.5)], []], None)
    ScoredNames(names=[['d7'], []], scores=[[2.5], []])
    """
    if not isinstance(ids, list):
        return ScoredNames(ids, scores)
    read = [read_pairs(row) for row in ids]
    if all(pairs is None for pairs in read):
        return ScoredNames(ids, scores)
    if scores is not None:
        raise InputTypeError("scores", expected="None, as the lists are pairs with scores")
    scored = ScoredNames([], [])
    for i, pairs in enumerate(read):
        if pairs is not None:
            scored.names.append(pairs.names)
            scored.scores.append(pairs.scores)
        elif len(ids[i]):
            got = f"{ids[i]!r} in list {i}"
            raise InputTypeError("ids", expected="pairs (name, score) in all lists", got=got)
        else:
            scored.names.append([])
            scored.scores.append([])
    return scored
