"""The attributes of every report, made from ranks or read from JSON: values and their context."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

from ..metrics.keys import ALL_SIDES, MACRO
from ..metrics.kinds import EXPECTED_KIND
from .axes import DEFAULT_KINDS, DEFAULT_METRICS, Axes
from .keyed_tables import KeyedValues

if TYPE_CHECKING:
    from ..metrics.keys import Sides
    from ..ranks.protocol import Protocol
    from .audit import Findings, Summary


class ReportBase(KeyedValues):
    """Values by key, with protocol, sides, groups, summary and audit.

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
        """The protocol by which the ranks were counted."""
        return self._protocol

    @property
    def seed(self) -> int:
        """The seed of the kind "random"."""
        return self._seed

    @property
    def weighting(self) -> str:
        """How the tasks are weighted, in words; empty where each counts once."""
        return self._weighting

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides that have tasks; "both", which pools all but the relations, is first.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0], [1], 10, side="tail")).sides
        ('both', 'tail')
        """
        return self._sides.present

    def tasks(self, side: str = ALL_SIDES) -> int:
        """Return the number of tasks of a side.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], 10, side=["head", "tail"])).tasks("tail")
        1
        """
        self._sides.check(side, side)
        return self._sides.counts[side]

    def side_counts(self) -> dict[str, int]:
        """Return the number of tasks of each side that a key may name, also of empty ones.

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
        """The numbers of tasks and ties, and how much the ties matter."""

    def held_summary(self) -> Summary | None:
        """Return the summary, or None for a group that was read from JSON, which has none."""
        return self.summary

    @abstractmethod
    def audit(self, *names: str) -> Findings:
        """List what makes the numbers suspect."""

    @property
    @abstractmethod
    def filters(self) -> Mapping[str, ReportBase]:
        """The report under each filter by name, this one first; empty if there was only one."""

    # -- groups ------------------------------------------------------------------------------------

    @property
    def by(self) -> str | None:
        """The name of the groups, such as "relation"; None without groups."""
        return self._by

    @property
    @abstractmethod
    def macro_weighting(self) -> str:
        """How the groups count in macro averages, in words."""

    @abstractmethod
    def group_tasks(self, side: str = ALL_SIDES) -> dict[Hashable, int]:
        """Return the number of tasks of a side in each group."""

    @abstractmethod
    def group_values(self, key: str) -> dict[Hashable, float]:
        """Return the value of a key for every group at once."""

    def macro_left_out(self, key: str) -> int:
        """Return how many groups a macro average leaves out: those without a value.

        A group has none where it has no tasks of the side, or where the value is nan.

        Parameters
        ----------
        key : str
            The key, with or without "macro.".

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], [1, 10]), by=["a", "b"]).macro_left_out("macro.amri")
        1
        """
        return sum(map(math.isnan, self.group_values(key.removeprefix(f"{MACRO}.")).values()))

    def macro_counts(self) -> dict[Hashable, float] | None:
        """Return the weight of each group in macro averages; None where it is not known."""
        return None

    # -- what tables show --------------------------------------------------------------------------

    def holds(self, key: str) -> bool:
        """Whether the report has the value of a key; one from JSON has only what was stored."""
        return True

    def cell(self, key: str) -> float | None:
        """Return the value that a table shows for a key; None where it is not known."""
        return self[key] if self.holds(key) else None

    def group_cells(self, key: str) -> Mapping[Hashable, float | None]:
        """Return the values that a table shows for a key, by group; None if not known."""
        return self.group_values(key)

    def default_axes(self) -> Axes:
        """Return the sides, kinds and metrics that tables show by default."""
        return Axes(self.sides, DEFAULT_KINDS, DEFAULT_METRICS)

    def tie_kinds(self) -> tuple[str, ...]:
        """Return the kinds that are printed beside the default ones where tasks tie."""
        return (EXPECTED_KIND,)
