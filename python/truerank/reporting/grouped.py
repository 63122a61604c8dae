"""The groups of a report: a Report of each, the values of all at once, and macro averages."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING

from ..inputs.errors import spelled
from ..metrics import Key, UnknownKeyError, parse
from ..metrics.keys import ALL_SIDES, MACRO
from .printed import Printed

if TYPE_CHECKING:
    from ..metrics.sides import Sides
    from ..metrics.within_groups import Grouping
    from .macro import Average
    from .reports import Report


class Grouped(Printed):
    """A report of tasks that may have groups."""

    _sides: Sides
    _grouping: Grouping | None
    _average: Average

    def _set_groups(self, grouping: Grouping | None, by: str, average: Average) -> None:
        """Take over the groups, which are called `by`; None: there are none."""
        self._grouping, self._average = grouping, average
        self._by = None if grouping is None else by
        names = [] if grouping is None else grouping.names
        self._groups = _Groups(names, self._of_group)

    def _of_group(self, place: int) -> Report:
        """The Report of the group at a place."""
        raise NotImplementedError

    @property
    def by(self) -> str | None:
        """What the groups are, in a word; None where there are none."""
        return self._by

    @property
    def macro_weighting(self) -> str:
        """What the groups count in macro averages, in words."""
        return str(self._average)

    @property
    def groups(self) -> Mapping[Hashable, Report]:
        """The Report of each group by its label; empty without `by`.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], 10), by=["likes", "knows"]).groups["knows"]["mr"]
        4.0
        """
        return self._groups

    def group_tasks(self, side: str = ALL_SIDES) -> dict[Hashable, int]:
        """How many tasks of a side each group has.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3, 1], [1, 1, 1], 10), by=["a", "b", "a"]).group_tasks()
        {'a': 2, 'b': 1}
        """
        grouping = self._given_groups("group_tasks")
        self._sides.check(side, side)
        return dict(zip(grouping.names, grouping.counts(side).tolist(), strict=True))

    def group_values(self, key: str) -> dict[Hashable, float]:
        """Give the value of a key for every group at once, as `groups[label][key]` does for one.

        Parameters
        ----------
        key : str
            Without "macro.".

        Returns
        -------
        dict of label to float
            nan where a group has no tasks of the side.

        Raises
        ------
        KeyError
            For an unknown key, and without `by`.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3, 1], [1, 1, 1], 10), by=["a", "b", "a"]).group_values("mr")
        {'a': 1.5, 'b': 4.0}
        """
        grouping, parsed = self._given_groups(key), parse(key)
        if parsed.macro:
            raise UnknownKeyError(f"{key!r}: a macro average is not of one group")
        self._sides.check(parsed.side, key)
        return dict(zip(grouping.names, grouping.values(parsed).tolist(), strict=True))

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
        """What each group counts in macro averages; None where that was not given one by one.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> ranks = Ranks([0, 3], [1, 1], 10)
        >>> report(ranks, by=["a", "b"], macro_weights=[1, 2]).macro_counts()
        {'a': 1.0, 'b': 2.0}
        """
        return self._average.by_name([] if self._grouping is None else self._grouping.names)

    def _macro(self, key: Key) -> float:
        grouping = self._given_groups(str(key))
        return self._average.of(grouping.values(key), grouping.counts(key.side))

    def _given_groups(self, key: str) -> Grouping:
        if self._grouping is None:
            raise UnknownKeyError(
                f"{key!r}: this report has no groups; give them with "
                f"{spelled('report(ranks, by=...)')}"
            )
        return self._grouping


class _Groups(Mapping[Hashable, "Report"]):
    """The Reports of groups, made when they are asked for."""

    def __init__(self, names: list[Hashable], make: Callable[[int], Report]) -> None:
        self._places = {name: place for place, name in enumerate(names)}
        self._make = make
        self._made: dict[Hashable, Report] = {}

    def __getitem__(self, label: Hashable) -> Report:
        if label not in self._made:
            self._made[label] = self._make(self._places[label])
        return self._made[label]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"<groups: {', '.join(map(repr, self))}>"
