"""Which lists belong to the queries that have right answers, and what is left over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..inputs.errors import InputValueError, warn_user
from .elements import first_names

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray
    from .elements import Name, Names


class ListUse(NamedTuple):
    """Which lists belong to the queries that have right answers.

    Attributes
    ----------
    rows : ndarray of int64, shape (q,)
        The list of each query; the number of lists, for an empty one, where it has none.
    missing : tuple of str or int
        The queries without a list.
    unused : tuple of str or int
        The queries of lists that belong to none.
    """

    rows: IntArray
    missing: Names
    unused: Names

    def warn(self, argument: str) -> None:
        """Warn of queries without a list, and of unused lists whose names look like theirs."""
        if not self.missing:
            return
        text = (
            f"{len(self.missing):,} of {len(self.rows):,} queries with right answers have no list "
            f"({first_names(self.missing)}), and count as if theirs were empty"
        )
        alike = _pairs_alike(self.missing, self.unused)
        if alike:
            pairs = ", ".join(f"{other!r} for {name!r}" for name, other in alike[:3])
            text += f"; there are lists of names that differ only in blanks or case: {pairs}"
        warn_user(f"{argument}: {text}")


def lists_in_use(
    argument: str,
    listed: Names,
    places: IntArray,
    asked: Sequence[Name],
    *,
    are_known: npt.NDArray[np.bool_],
    elsewhere: npt.NDArray[np.bool_],
) -> ListUse:
    """Give each query that has right answers its list, and say what is left over.

    Parameters
    ----------
    argument : str
    listed : tuple of str or int, length m
        The queries of the lists.
    places : ndarray of int64, shape (m,)
        Their positions among those with right answers; -1: it has none, or is another query.
    asked : sequence of str or int, length q
        The queries with right answers.
    are_known : ndarray of bool, shape (m,)
        Whether their query belongs to the task, with right answers or without.
    elsewhere : ndarray of bool, shape (m,)
        Which lists another part of a task uses.

    Raises
    ------
    ValueError
        For lists of other queries alone.

    Examples
    --------
    >>> places = np.array([-1, 0])
    >>> elsewhere = np.zeros(2, np.bool_)
    >>> lists_in_use(
    ...     "ids", ("q9", "q2"), places, ["q2"], are_known=places >= 0, elsewhere=elsewhere
    ... )
    ListUse(rows=array([1]), missing=(), unused=('q9',))
    """
    is_used = places >= 0
    rows = np.full(len(asked), len(listed))
    rows[places[is_used]] = np.flatnonzero(is_used)
    missing = tuple(asked[i] for i in np.flatnonzero(rows == len(listed)).tolist())
    unused = tuple(listed[i] for i in np.flatnonzero(~is_used & ~elsewhere).tolist())
    if listed and asked and not are_known.any():
        first_asked = ", ".join(map(repr, asked[:3]))
        first_listed = ", ".join(map(repr, listed[:3]))
        problem = f"no query in common: right answers are of {first_asked}, ..., "
        raise InputValueError(argument, f"{problem}lists of {first_listed}, ...")
    return ListUse(rows, missing, unused)


def _pairs_alike(missing: Names, unused: Names) -> list[tuple[Name, Name]]:
    """Return names without a list, each with one of an unused list that looks like it."""
    unused_of_bare = {str(name).strip().casefold(): name for name in unused}
    pairs = []
    for name in missing:
        other = unused_of_bare.get(str(name).strip().casefold())
        if other is not None:
            pairs.append((name, other))
    return pairs
