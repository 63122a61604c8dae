"""The sides of ranked tasks: which sides a key may name, and which tasks belong to each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..inputs.errors import InputTypeError, InputValueError, spelled
from ..inputs.words import suggest
from .keys import ADJUSTED, ALL_SIDES, RANK_KEYS, RELATION_SIDE, quote
from .kinds import KINDS, UnknownKeyError

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..ranks.container import Ranks
    from ..ranks.labels import Labels


class Sides(NamedTuple):
    """The sides of a report; "both", which pools all but the relations, comes first.

    Attributes
    ----------
    counts : dict of str to int
        The number of tasks of each side; without "both" where no task may be pooled.
    labels : Labels, optional
        The side of each task.
    """

    counts: dict[str, int]
    labels: Labels | None = None

    @property
    def present(self) -> tuple[str, ...]:
        """The sides that have tasks; only "both" where there are no tasks."""
        return tuple(side for side, n in self.counts.items() if n) or (ALL_SIDES,)

    @property
    def total(self) -> int:
        """The number of all tasks, pooled or not."""
        pooled = self.counts.get(ALL_SIDES, 0)
        return sum(n for side, n in self.counts.items() if side != ALL_SIDES) or pooled

    def check(self, side: str, key: str) -> None:
        """Raise a KeyError for an unknown side."""
        if not isinstance(side, str):
            raise UnknownKeyError(f"side: expected a str, got {type(side).__name__}")
        if side in self.counts:
            return
        if side == ALL_SIDES:
            raise UnknownKeyError(
                f"{quote(key)}: all tasks are of the side {RELATION_SIDE!r}, which is read only "
                f"under its own name, as in '{RELATION_SIDE}.mrr'"
            )
        words = (*self.counts, *KINDS, *ADJUSTED)
        raise UnknownKeyError(
            f"{quote(key)}: no side {quote(side)} in these ranks, which have "
            f"{', '.join(self.counts)}; {suggest(side, words)}"
        )

    def mask(self, side: str) -> npt.NDArray[np.bool_] | None:
        """A mask of the tasks of a side; None if all belong to it."""
        if self.labels is None or self.labels.vocabulary is None:
            return None
        words, codes = self.labels.vocabulary, self.labels.codes
        if side != ALL_SIDES:
            return np.equal(codes, words.index(side))
        return np.not_equal(codes, words.index(RELATION_SIDE)) if RELATION_SIDE in words else None


def is_side_name(name: str) -> bool:
    """Whether a key can tell the name of a side from its other words.

    Examples
    --------
    >>> is_side_name("head"), is_side_name("mrr")
    (True, False)
    """
    plain = bool(name) and not {*".:@"} & {*name}
    return plain and name != ALL_SIDES and not RANK_KEYS.is_taken(name)


def sides_of(ranks: Ranks) -> Sides:
    """Read the sides of ranks.

    Raises
    ------
    TypeError
        If the sides are integer ids instead of names.
    ValueError
        If the name of a side cannot be told from the other words of a key.

    Examples
    --------
    >>> from truerank import Ranks
    >>> sides_of(Ranks([0, 3], [1, 1], 10, side=["head", "tail"])).counts
    {'both': 2, 'head': 1, 'tail': 1}
    """
    labels = ranks.side
    if labels is None or (labels.vocabulary is None and not len(ranks)):
        return Sides({ALL_SIDES: len(ranks)})
    counts = {name: n for name, n in labels.counts().items() if isinstance(name, str)}
    if len(counts) < len(labels.vocabulary or " "):
        raise InputTypeError(
            "ranks", expected="names of sides, as 'head' and 'tail'", got="integer ids"
        )
    for name in counts:
        if not is_side_name(name):
            raise InputValueError(
                "ranks",
                f"a key cannot tell the side {name!r} from its other words; name it otherwise with "
                f"{spelled('ranks.with_labels(side=...)')}",
            )
    pooled = len(ranks) - counts.get(RELATION_SIDE, 0)
    return Sides(counts if len(ranks) and not pooled else {ALL_SIDES: pooled, **counts}, labels)
