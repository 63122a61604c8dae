"""The tasks that ranks come from, by which units are one unit or are kept apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays.row_keys import codes_of
from ..inputs.selection import indptr_of
from ..naming import public
from .labels import Labels

if TYPE_CHECKING:
    from ..arrays.types import IntArray


@public("truerank.ranks")
class Origin(NamedTuple):
    """A task that ranks come from: a unit of theirs is a row of the facts that it ranks.

    Attributes
    ----------
    fingerprint : str
        Of these facts, whatever sides, candidates and filters are.
    rows : int
        The units of its ranks are numbers below it.
    units : int
        How many of these numbers are units of the whole task, of which a part has some.
    queries : int
        The queries of its ranks are numbers below it, which say nothing beside those of another
        task. 0: they are what queries are called.
    """

    fingerprint: str
    rows: int
    units: int
    queries: int = 0

    @classmethod
    def of(
        cls, units: IntArray, facts: Iterable[tuple[IntArray, Any]], numbers: Sequence[IntArray]
    ) -> Origin:
        """Return what ranks say of a task.

        Parameters
        ----------
        units : ndarray of int64, shape (k,)
            Its units, ascending.
        facts : iterable of (ndarray of int64, names)
            The columns of the facts that it ranks, as `fingerprint_of` takes them.
        numbers : sequence of ndarray of int64
            The numbers of queries, where these say nothing beside those of another task.

        Examples
        --------
        >>> Origin.of(np.array([0, 2]), [(np.array([5, 7]), None)], [np.array([0, 3])])[1:]
        (3, 2, 4)
        """
        rows = 1 + int(units.max(initial=-1))
        queries = max((1 + int(each.max(initial=-1)) for each in numbers), default=0)
        return cls(fingerprint_of(chain([(units, None)], facts)), rows, len(units), queries)


def fingerprint_of(columns: Iterable[tuple[IntArray, Any]]) -> str:
    """Return the first 16 hex digits of the SHA-256 of facts, by what their elements are called.

    Parameters
    ----------
    columns : iterable of (ndarray of int64, names)
        The ids of each column of the facts, and the names of the ids; None: ids are what they are.

    Examples
    --------
    >>> one = fingerprint_of([(np.array([0, 1, 0]), ("a", "b"))])
    >>> one == fingerprint_of([(np.array([1, 0, 1]), ("b", "a"))])
    True
    >>> one == fingerprint_of([(np.array([0, 1, 0]), None)])
    False
    """
    import hashlib

    sha = hashlib.sha256()
    for ids, names in columns:
        numbers = ids
        if names is not None:
            found = codes_of(ids)
            first = found.first()
            order = np.argsort(first)  # The names are in the order in which they come.
            place = np.empty_like(order)
            place[order] = np.arange(len(order))
            numbers = place[found.codes]
            kind = {type(name).__name__ for name in names[:1]}
            words = "\n".join(map(str, map(names.__getitem__, ids[first[order]].tolist())))
            sha.update(f"{kind} {words}".encode("utf-8", "surrogatepass"))
        sha.update(f"{len(numbers)}".encode())
        sha.update(np.ascontiguousarray(numbers, np.int64).data)
    return sha.hexdigest()[:16]


def join_origins(parts: Iterable[Sequence[Origin]]) -> tuple[Origin, ...]:
    """Return the tasks of several ranks, each once; of one fingerprint the larger numbers count.

    Examples
    --------
    >>> list(map(tuple, join_origins([[Origin("a", 3, 2, 5)], [Origin("a", 3, 3, 2)]])))
    [('a', 3, 3, 5)]
    """
    joined: dict[str, Origin] = {}
    for origins in parts:
        for origin in origins:
            known = joined.get(origin.fingerprint, origin)
            joined[origin.fingerprint] = Origin._make(map(max, known, origin))
    return tuple(joined.values())


def origin_of(unit: IntArray, origins: Sequence[Origin]) -> IntArray:
    """Return the task of each unit, as a position among those of its ranks.

    Examples
    --------
    >>> origin_of(np.array([0, 2, 3]), [Origin("a", 3, 3), Origin("b", 4, 4)])
    array([0, 0, 1])
    """
    return np.searchsorted(np.cumsum([origin.rows for origin in origins]), unit, side="right")


def numbered_apart(
    labels: Mapping[str, Labels], origins: Sequence[Origin], joined: Sequence[Origin]
) -> dict[str, Labels]:
    """Return labels of ranks of some tasks, with the numbers of units that they have among others.

    Examples
    --------
    >>> one, two = Origin("a", 3, 3), Origin("b", 4, 4)
    >>> numbered_apart({"unit": Labels([0, 2])}, [two], [one, two])["unit"].values
    array([3, 5])
    """
    renumbered = dict(labels)
    if tuple(origins) == tuple(joined):
        return renumbered
    places = [origin.fingerprint for origin in joined]
    among = [places.index(origin.fingerprint) for origin in origins]
    of_task = origin_of(labels["unit"].codes, origins)
    for name, field in (("unit", "rows"), ("queries", "queries")):
        before = _starts([getattr(origin, field) for origin in origins])
        after = _starts([getattr(origin, field) for origin in joined])[among]
        if (before != after).any():
            shifted = labels[name].codes + (after - before)[of_task]
            renumbered[name] = Labels._trusted(shifted, labels[name].vocabulary)
    return renumbered


def _starts(sizes: Sequence[int]) -> IntArray:
    return indptr_of(sizes)[:-1]
