"""Lists of candidates by query, in the order of the queries of a task."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays.row_keys import are_among
from ..counting.lists import as_lists
from ..errors import InputValueError, argument_names, warn_user
from ..inputs.selection import indptr_of, join_ranges
from ..naming import format_count
from ..records.elements import first_names, read_elements
from ..reporting.audit import Finding

if TYPE_CHECKING:
    from ..arrays.types import IntArray
    from ..counting.lists import CandidateLists
    from ..records.elements import Name, Names
    from ..records.lists import NamedLists
    from ..records.vocabularies import Vocabulary


class ListUse(NamedTuple):
    """Which lists belong to the queries that have right answers.

    Attributes
    ----------
    asked : int
        The number of queries with right answers.
    missing : tuple of str or int
        The queries without a list.
    unused : tuple of str or int
        The queries of lists that belong to none.
    """

    asked: int
    missing: Names
    unused: Names

    def warn(self, argument: str) -> None:
        """Warn of queries without a list, and of unused lists whose names look like theirs."""
        if not self.missing:
            return
        text = (
            f"{len(self.missing):,} of {self.asked:,} queries with right answers have no list "
            f"({first_names(self.missing)}), and count as if theirs were empty"
        )
        alike = _pairs_alike(self.missing, self.unused)
        if alike:
            pairs = ", ".join(f"{other!r} for {name!r}" for name, other in alike[:3])
            text += f"; there are lists of names that differ only in blanks or case: {pairs}"
        warn_user(f"{argument}: {text}")

    def findings(self) -> list[Finding]:
        """Find queries without a list, and lists that were not used."""
        found = []
        if self.missing:
            number = len(self.missing)
            queries = format_count(number, "query", "queries")
            words = f"{queries} with right answers without a list, as {first_names(self.missing)}"
            found.append(Finding("missing lists", number, words))
        if self.unused:
            number = len(self.unused)
            lists = format_count(number, "list")
            words = f"{lists} of queries without right answers, as {first_names(self.unused)}"
            found.append(Finding("unused lists", number, words))
        return found


def lists_in_order(
    lists: NamedLists,
    queries: Vocabulary,
    *,
    order: IntArray,
    asked: IntArray,
    all_known: bool,
    ids_of_names: Callable[[Names, bool], IntArray],
    asked_in_other_parts: IntArray,
    dtype: Any = None,
) -> tuple[CandidateLists, ListUse]:
    """Return the ids of named lists, one for each of some queries, and which lists are used.

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
    dtype : str or dtype, optional
        What raw 16-bit scores are.

    Raises
    ------
    ValueError
        For unknown entities, and for lists of other queries alone.

    Examples
    --------
    >>> from truerank.records.lists import read_named_lists
    >>> from truerank.records.vocabularies import Vocabulary
    >>> queries, entities = Vocabulary(2, ("u", "v")), Vocabulary(3, ("a", "b", "c"))
    >>> lists = read_named_lists("ids", {"v": {"c": 0.5, "a": 0.25}})
    >>> lists_in_order(
    ...     lists, queries, order=np.array([0, 1]), asked=np.array([1]), all_known=True,
    ...     ids_of_names=lambda names, _: entities.ids_of("ids", names),
    ...     asked_in_other_parts=np.array([], int),
    ... )[0].ids
    array([2, 0])
    """
    title = lists.title
    is_text = bool(lists.path)
    if all_known:
        found = queries.ids_of(title, lists.queries, is_text=is_text)
    else:
        elements = read_elements(title, lists.queries, "queries")
        found = queries.find(title, elements, is_text=is_text)
    is_known = found >= 0
    if len(lists) and len(asked) and not is_known.any():
        first_asked = ", ".join(repr(queries.label_of(code)) for code in asked[:3].tolist())
        problem = f"no query in common: right answers are of {first_asked}, "
        first_listed = ", ".join(map(repr, lists.queries[:3]))
        raise InputValueError(title, f"{problem}..., lists of {first_listed}, ...")
    is_asked = np.zeros(queries.size, np.bool_)
    is_asked[asked] = True
    is_used = is_known & is_asked[found]
    # An empty list, behind all others, stands for missing ones.
    list_of_query = np.full(queries.size, len(lists))
    list_of_query[found[is_used]] = np.flatnonzero(is_used)
    missing = asked[list_of_query[asked] == len(lists)]
    unused = np.flatnonzero(~is_used & ~are_among(found, asked_in_other_parts))
    use = ListUse(
        asked=len(asked),
        missing=tuple(map(queries.label_of, missing.tolist())),
        unused=tuple(map(lists.queries.__getitem__, unused.tolist())),
    )
    rows = list_of_query[order]
    lengths = np.diff(lists.indptr, append=lists.indptr[-1])[rows]
    entries = join_ranges(lists.indptr[rows], lengths)
    ids = indptr_of(lengths), _ids_in_use(lists, entries, ids_of_names)
    scores = None if lists.scores is None else (ids[0], lists.scores[entries])
    with argument_names(ids=title):
        in_order = as_lists(ids, scores, dtype)
    return in_order._replace(score_at=lambda i: lists.score_at(entries[i])), use


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
    id_of_number[used] = ids_of_names(names, bool(lists.path))
    ids: IntArray = id_of_number[numbers]
    return ids


def _pairs_alike(missing: Names, unused: Names) -> list[tuple[Name, Name]]:
    """Return names without a list, each with one of an unused list that looks like it."""
    unused_of_bare = {str(name).strip().casefold(): name for name in unused}
    pairs = []
    for name in missing:
        other = unused_of_bare.get(str(name).strip().casefold())
        if other is not None:
            pairs.append((name, other))
    return pairs
