"""Which pair of entities each task is about, in whichever direction it was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...inputs.errors import InputTypeError, InputValueError
from ...ranks.container import Ranks
from ...ranks.labels import Labels, join_labels
from ...reporting.reports import Report
from ..ids import DIRECTIONS

if TYPE_CHECKING:
    import numpy.typing as npt


def ranks_of(name: str, value: object) -> Ranks:
    """Give the ranks of a Report, or Ranks themselves.

    Raises
    ------
    TypeError
        For anything else, and for a report that was read from JSON and has none.

    Examples
    --------
    >>> ranks_of("ranks", Ranks([0], [1], 10)).above
    array([0])
    """
    ranks = getattr(value, "ranks", None) if isinstance(value, Report) else value
    if not isinstance(ranks, Ranks):
        got = "a Report without" if isinstance(value, Report) else type(value).__name__
        raise InputTypeError(name, expected="a Report with ranks, or Ranks", got=got)
    return ranks


def forward_tasks(ranks: Ranks) -> npt.NDArray[np.bool_]:
    """Tell the tasks in which a left entity asks: bool, shape (n,).

    Raises
    ------
    ValueError
        For ranks whose sides are not those of an alignment.

    Examples
    --------
    >>> forward_tasks(Ranks([0, 1], [1, 1], 10, side=["right_to_left", "left_to_right"]))
    array([False,  True])
    """
    side = Labels([]) if ranks.side is None else ranks.side
    had = [name for name, tasks in side.counts().items() if tasks]
    if len(side) != len(ranks) or not set(had) <= set(DIRECTIONS):
        got = ", ".join(map(str, had)) or "none"
        raise InputValueError("ranks", expected=f"the sides {' and '.join(DIRECTIONS)}", got=got)
    return np.asarray(side.values == "left_to_right", dtype=bool)


def asked_pairs(ranks: Ranks) -> tuple[Labels, Labels]:
    """Give the left and the right entity of each task's pair, by the labels of the tasks.

    Parameters
    ----------
    ranks : Ranks
        With labels for side, queries and targets, as an alignment's `Task` makes them.

    Returns
    -------
    left, right : Labels
        Names, or ids where there are no names.

    Raises
    ------
    ValueError
        For ranks without these labels.

    Examples
    --------
    >>> side = ["left_to_right", "right_to_left"]
    >>> ranks = Ranks([0, 1], [1, 1], 10, side=side, queries=[3, 5], targets=[5, 3])
    >>> left, right = asked_pairs(ranks)
    >>> left.codes, right.codes
    (array([3, 3]), array([5, 5]))
    """
    forward = forward_tasks(ranks)
    if ranks.queries is None or ranks.targets is None:
        missing = "queries" if ranks.queries is None else "targets"
        raise InputValueError(
            "ranks",
            expected="labels that name both entities of a task",
            got=f"none for {missing}; give them with ranks.with_labels({missing}=...)",
        )
    joined = join_labels("ranks: queries and targets", [ranks.queries, ranks.targets])
    asking, answer = joined.codes.reshape(2, -1)
    made: list[Any] = [
        Labels._trusted(np.where(forward, first, second), joined.vocabulary)
        for first, second in ((asking, answer), (answer, asking))
    ]
    return made[0], made[1]
