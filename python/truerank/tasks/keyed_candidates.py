"""Candidates by what is asked: a list for each relation or query, or one set for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.row_keys import are_among, distinct, distinct_rows
from ..errors import InputValueError
from ..inputs.selection import indptr_of
from ..records.elements import first_names, joined_rows
from ..records.vocabularies import Vocabulary
from ..tables.cells import format_count
from .side import TaskLists

if TYPE_CHECKING:
    from ..arrays.types import IntArray

ARGUMENT = "candidates"


@dataclass(frozen=True, eq=False)
class KeyedLists:
    """Candidates of relations or queries, a list for each.

    Attributes
    ----------
    keys : ndarray of int64, shape (k,)
        The ids of the relations or queries, ascending and distinct.
    indptr : ndarray of int64, shape (k + 1,)
    indices : ndarray of int64
        The candidates of each, ascending and distinct.
    """

    keys: IntArray
    indptr: IntArray
    indices: IntArray

    @cached_property
    def one_set(self) -> IntArray | None:
        """What all lists hold if it is the same, else None.

        Examples
        --------
        >>> KeyedLists(np.array([3, 8]), np.array([0, 1, 2]), np.array([5, 5])).one_set
        array([5])
        """
        lengths = np.diff(self.indptr)
        if not len(lengths) or (lengths != lengths[0]).any():
            return None
        table = self.indices.reshape(len(lengths), -1)
        if (table != table[0]).any():
            return None
        first: IntArray = table[0]
        return first

    def lists_of(self, keys: IntArray) -> TaskLists:
        """Return the lists of tasks by their keys, all of which have a list.

        Examples
        --------
        >>> lists = KeyedLists(np.array([3, 8]), np.array([0, 1, 3]), np.array([5, 5, 7]))
        >>> lists.lists_of(np.array([8, 8]))
        TaskLists(indptr=array([0, 2]), indices=array([5, 7]), lists=array([0, 0]))
        """
        lists = TaskLists(self.indptr, self.indices, np.searchsorted(self.keys, keys))
        return lists.of_tasks(np.arange(len(keys)))

    def check(
        self, keys: IntArray, answers: IntArray, of_keys: Vocabulary, of_answers: Vocabulary
    ) -> None:
        """Check that keys have lists, and that their right answers are in them.

        Parameters
        ----------
        keys, answers : ndarray of int64, shape (n,)
            The key of each task, and its right answer.
        of_keys, of_answers : Vocabulary

        Raises
        ------
        InputValueError
            Naming the keys, or the first answer and its key.
        """
        missing = distinct(keys[~are_among(keys, self.keys)])
        if len(missing):
            names = first_names([of_keys.label_of(key) for key in missing[:4].tolist()])
            problem = f"{len(missing):,} {of_keys.of} of the test have no list ({names})"
            raise InputValueError(ARGUMENT, problem)
        size = of_answers.size
        of_entry = np.repeat(self.keys, np.diff(self.indptr))
        listed = of_entry * size + self.indices  # They ascend, as the keys and their lists do.
        wrong = np.flatnonzero(~are_among(keys * size + answers, listed))
        if len(wrong):
            answer = of_answers.label_of(int(answers[wrong[0]]))
            key = of_keys.label_of(int(keys[wrong[0]]))
            problem = f"{len(wrong):,} right answers are not among their candidates"
            problem += f", first {answer!r} for {key!r} of the {of_keys.of}"
            raise InputValueError(ARGUMENT, problem)


def read_keyed_lists(value: Mapping[Any, Any], keys: Vocabulary, members: Vocabulary) -> KeyedLists:
    """Read a mapping of relations or queries to lists of candidates, by labels or ids.

    Parameters
    ----------
    value : mapping of a label or id to labels or ids
    keys, members : Vocabulary
        Of the relations or queries, and of their candidates.

    Raises
    ------
    TypeError, ValueError
        For keys and candidates that name nothing, and for another form; messages name them.

    Examples
    --------
    >>> relations, entities = Vocabulary(2, ("likes", "knows"), "relations"), Vocabulary(9, None)
    >>> read_keyed_lists({"knows": [7, 2, 7], "likes": [3]}, relations, entities)
    KeyedLists(keys=array([0, 1]), indptr=array([0, 1, 3]), indices=array([3, 2, 7]))
    """
    ids = keys.ids_of(ARGUMENT, list(value), lambda i: f"among the {keys.of} of its lists")
    names = list(value)
    lengths, elements = joined_rows(
        ARGUMENT, value.values(), "labels or ids", lambda i: f"in the list of {names[i]!r}"
    )
    ends = np.cumsum(lengths)

    def where(i: int) -> str:
        return f"in the list of {names[int(np.searchsorted(ends, i, side='right'))]!r}"

    found = members.ids_of(ARGUMENT, elements, where)
    in_order = np.argsort(ids, kind="stable")
    # It has the new number of each list in the order of `ids`.
    new_number = np.empty(len(ids), dtype=np.int64)
    new_number[in_order] = np.arange(len(ids))
    list_of_entry, indices = distinct_rows([np.repeat(new_number, lengths), found])
    indptr = indptr_of(np.bincount(list_of_entry, minlength=len(ids)))
    return KeyedLists(ids[in_order], indptr, indices)


def digest_of_ids(*lists: IntArray) -> str:
    """Return 8 hex digits that tell sets of ids apart in a name.

    Examples
    --------
    >>> digest_of_ids(np.array([0, 1])) == digest_of_ids(np.array([0, 2]))
    False
    """
    from hashlib import blake2b

    joined = b"".join(ids.astype("<i8").tobytes() for ids in lists)
    return blake2b(joined, digest_size=4).hexdigest()


def name_of_sets(sets: Sequence[IntArray | KeyedLists]) -> str:
    """Return what a protocol calls chosen candidates: their numbers, and a digest.

    Parameters
    ----------
    sets : sequence of ndarray or KeyedLists
        One for each side, or one for all.

    Examples
    --------
    >>> name_of_sets([np.array([0, 1])])
    'selection of 2 (3ea97a77)'
    >>> name_of_sets([np.array([0, 1]), np.array([2])])
    'selection of 2 x 1 (fa1e0462)'
    >>> name_of_sets([KeyedLists(np.array([3, 8]), np.array([0, 1, 3]), np.array([5, 5, 7]))])
    'selection of 2 lists, 3 in all (9c791ac9)'
    """
    sizes = []
    arrays: list[IntArray] = []
    for each in sets:
        if isinstance(each, KeyedLists):
            lists = format_count(len(each.keys), "list")
            sizes.append(f"{lists}, {len(each.indices)} in all")
            arrays.extend([each.keys, each.indptr, each.indices])
        else:
            sizes.append(str(len(each)))
            arrays.append(each)
    return f"selection of {' x '.join(sizes)} ({digest_of_ids(*arrays)})"
