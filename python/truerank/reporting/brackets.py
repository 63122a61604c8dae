"""Intervals in tables: they stand in brackets behind the values, and notes say what they are of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..errors import InputValueError
from ..inference.units import describe_units
from ..inputs.checks import confidence, flag
from ..tables.cells import format_count
from ..tables.pivot import NOTHING, Around
from .columns import sentence

if TYPE_CHECKING:
    from ..metrics import Key
    from ..ranks.labels import LabelsLike

GROUPS_NAMED = 3
NO_RANKS = "reports with ranks; one that was read from JSON has none, and so no intervals"


class Brackets:
    """Finds the intervals of the values of a table, if they are asked for.

    Parameters
    ----------
    reports : iterable of reports
        Those of the table, of which intervals need the ranks.
    interval : bool
        Whether values have intervals.
    level, by
        As a report takes them.

    Examples
    --------
    >>> import truerank as tr
    >>> report = tr.report(tr.Ranks([0, 3], [1, 1], 10))
    >>> brackets = Brackets([report], True, 0.95, "unit")
    >>> brackets.around(0.625, report, report.read_key("mrr")).high
    1.0
    >>> list(brackets.notes())
    ['Brackets hold 95 % intervals over 2 tasks.', 'Not enough to say: 2 tasks.']
    """

    def __init__(
        self, reports: Iterable[Any], interval: bool, level: float, by: LabelsLike | None
    ) -> None:
        self.are_asked = flag("interval", interval)
        if self.are_asked and not all(report.has_ranks for report in reports):
            raise InputValueError("interval", expected=NO_RANKS, got="one without")
        self.level = confidence(level) if self.are_asked else level
        self.parts = ["interval"] if self.are_asked else []
        self.by = by
        self._units = ""
        self._notes: dict[str, None] = {}
        self._groups_of_note: dict[str, dict[str, None]] = {}

    def around(
        self,
        value: float | None,
        model: Any,
        key: Key | None,
        group: str = "",
        by: LabelsLike | None = None,
    ) -> Around:
        """Return the bounds of a value, where there are any; it may be that of a group.

        Parameters
        ----------
        value : float or None
        model : report
            What has the interval of the key: a report, or several runs.
        key : Key or None
        group : str
        by : labels, optional
            The units of the group, where they are not told as those of all tasks are.
        """
        if not self.are_asked or value is None or math.isnan(value):
            return NOTHING
        found = model.interval(str(key), by=self.by if by is None else by, level=self.level)
        if found.method != "none":
            self._units = self._units or describe_units(found.units, found.by)
        for note in found.notes:
            if group:
                self._groups_of_note.setdefault(note.partition(":")[0], {})[group] = None
            else:
                self._notes[note] = None
        return Around(found.low, found.high)

    def notes(self) -> Iterator[str]:
        """Say what stands in brackets, and where units are few: of groups, in which of them."""
        if self._units:
            yield f"Brackets hold {100 * self.level:g} % intervals over {self._units}."
        yield from map(sentence, self._notes)
        for words, groups in self._groups_of_note.items():
            named = ", ".join(list(groups)[:GROUPS_NAMED])
            if len(groups) > GROUPS_NAMED:
                named += f" and {len(groups) - GROUPS_NAMED:,} more"
            yield sentence(f"{words}: {format_count(len(groups), 'group')} ({named})")
