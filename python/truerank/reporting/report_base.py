"""What can be read of every report, of ranks or out of JSON: values, and the facts beside them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

from ..metrics.keys import ALL_SIDES, MACRO
from ..metrics.kinds import EXPECTED_KIND
from .axes import DEFAULT_KINDS, DEFAULT_METRICS, Axes

if TYPE_CHECKING:
    from ..metrics.sides import Sides
    from ..ranks.protocol import Protocol
    from .summary import Summary
    from .validity import Finding


class ReportBase(Mapping[str, float]):
    """Values by key, with what belongs beside them.

    Parameters
    ----------
    sides : Sides
    protocol : Protocol
    seed : int
    weighting : str
    by : str, optional
    """

    def __init__(
        self, sides: Sides, protocol: Protocol, seed: int, weighting: str, by: str | None
    ) -> None:
        self._sides, self._protocol = sides, protocol
        self._seed, self._weighting, self._by = seed, weighting, by

    def __len__(self) -> int:
        return sum(1 for _ in self)

    # -- how the tasks were ranked, and what they count --------------------------------------------

    @property
    def protocol(self) -> Protocol:
        """How the ranks were counted."""
        return self._protocol

    @property
    def seed(self) -> int:
        """The seed of the kind "random"."""
        return self._seed

    @property
    def weighting(self) -> str:
        """What the tasks count, in words; empty where all of them count once."""
        return self._weighting

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides that have tasks, "both" (all of them pooled) first.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0], [1], 10, side="tail")).sides
        ('both', 'tail')
        """
        return self._sides.present

    def tasks(self, side: str = ALL_SIDES) -> int:
        """How many tasks a side has.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], 10, side=["head", "tail"])).tasks("tail")
        1
        """
        self._sides.check(side, side)
        return self._sides.counts[side]

    def side_counts(self) -> dict[str, int]:
        """How many tasks each side has that a key may name, those without any included.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0], [1], 10, side="tail")).side_counts()
        {'both': 1, 'tail': 1}
        """
        return dict(self._sides.counts)

    @property
    @abstractmethod
    def summary(self) -> Summary:
        """How many tasks there are, how many of them tie, and how far that matters."""

    def held_summary(self) -> Summary | None:
        """The summary, where there is one: that of a group is not stored as JSON."""
        return self.summary

    @abstractmethod
    def audit(self) -> list[Finding]:
        """List what makes the numbers suspect."""

    # -- groups ------------------------------------------------------------------------------------

    @property
    def by(self) -> str | None:
        """What the groups are, in a word; None where there are none."""
        return self._by

    @property
    @abstractmethod
    def macro_weighting(self) -> str:
        """What the groups count in macro averages, in words."""

    @abstractmethod
    def group_tasks(self, side: str = ALL_SIDES) -> dict[Hashable, int]:
        """How many tasks of a side each group has."""

    @abstractmethod
    def group_values(self, key: str) -> dict[Hashable, float]:
        """Give the value of a key for every group at once."""

    def macro_left_out(self, key: str) -> int:
        """How many groups a macro average leaves out: no tasks of the side, or a value of nan.

        Parameters
        ----------
        key : str
            With or without "macro.".

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], [1, 10]), by=["a", "b"]).macro_left_out("macro.amri")
        1
        """
        return sum(map(math.isnan, self.group_values(key.removeprefix(f"{MACRO}.")).values()))

    def macro_counts(self) -> dict[Hashable, float] | None:
        """What each group counts in macro averages; None where that is not known one by one."""
        return None

    # -- what tables show --------------------------------------------------------------------------

    def holds(self, key: str) -> bool:
        """Whether the value of a key is known: of ranks any is, out of JSON what was stored."""
        return True

    def cell(self, key: str) -> float | None:
        """The value that a table shows for a key; None where it is not known."""
        return self[key] if self.holds(key) else None

    def group_cells(self, key: str) -> Mapping[Hashable, float | None]:
        """The values that a table shows for a key, by group; None where they are not known."""
        return self.group_values(key)

    def default_axes(self) -> Axes:
        """The sides, kinds and metrics that are shown where nobody says which."""
        return Axes(self.sides, DEFAULT_KINDS, DEFAULT_METRICS)

    def tie_kinds(self) -> tuple[str, ...]:
        """The kinds that are printed where tasks tie, beside the default ones."""
        return (EXPECTED_KIND,)
