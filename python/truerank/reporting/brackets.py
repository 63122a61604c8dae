"""Intervals in tables: they stand in brackets behind the values, and notes say what they are of."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..inference.intervals import why_no_interval
from ..inputs.checks import confidence, flag
from ..metrics.contributions import describe_units
from ..tables.cells import format_count
from .columns import sentence

if TYPE_CHECKING:
    from ..inference import Interval
    from ..metrics.keys import Key
    from ..ranks.labels import LabelsLike

GROUPS_NAMED = 3


class Brackets:
    """Finds the intervals of the values of a table, if they are asked for.

    Parameters
    ----------
    interval : bool
        Whether values have intervals.
    level, unit
        As a report takes them.
    most_groups : int, optional
        How many of the groups have intervals: the largest. Default: all.

    Examples
    --------
    >>> import truerank as tr
    >>> report = tr.report(tr.Ranks([0, 3], [1, 1], 10))
    >>> brackets = Brackets(True, 0.95, "unit")
    >>> brackets.bounds(report, {"mrr": report.read_key("mrr")}, {"mrr": 0.625})["mrr high"]
    1.0
    >>> list(brackets.notes())
    ['Brackets hold 95 % intervals over 2 tasks.', 'Few units: 2 tasks.']
    """

    def __init__(
        self,
        interval: bool,
        level: float,
        unit: LabelsLike | None,
        most_groups: int | None = None,
    ) -> None:
        self.are_asked = flag("interval", interval)
        self.level = confidence(level) if self.are_asked else level
        self.unit = unit
        self.most_groups = most_groups
        self._units = ""
        self._notes: dict[str, str] = {}
        self._groups_of_note: dict[str, dict[str, None]] = {}

    def bounds(
        self,
        model: Any,
        keys: Mapping[str, Key | None],
        values: Mapping[str, float | None],
        group: str = "",
        unit: LabelsLike | None = None,
    ) -> dict[str, float | None]:
        """Return the bounds of the values of a line, by the names of their columns, if asked for.

        Parameters
        ----------
        model : report
            What has the interval of the keys: a report, or several runs.
        keys : mapping of str to Key or None
        values : mapping of str to float or None
            By the names of the columns. Where there is no value, and where there is no interval of
            it, its bounds are None.
        group : str
            The name of the group that they are of.
        unit : labels, optional
            The units of the group, where they are not told as those of all tasks are.
        """
        found: dict[str, float | None] = {}
        if not self.are_asked:
            return found
        unit = self.unit if unit is None else unit
        for name, value in values.items():
            low = high = None
            key = keys[name]
            if value is None or math.isnan(value) or key is None:
                pass
            elif not why_no_interval(key, runs=getattr(model, "runs", 1)):
                interval = model.interval(str(key), unit=unit, level=self.level)
                low = interval.low
                high = interval.high
                self._note(interval, group)
            found |= {f"{name} low": low, f"{name} high": high}
        return found

    def _note(self, interval: Interval, group: str) -> None:
        """Keep what an interval says of its units and of what limits the trust in it."""
        if interval.method != "none":
            self._units = self._units or describe_units(interval.units, interval.unit)
        for note in interval.notes:
            kind = note.partition(":")[0]
            if group:
                self._groups_of_note.setdefault(kind, {})[group] = None
            else:
                self._notes.setdefault(kind, note)

    def notes(self) -> Iterator[str]:
        """Say what stands in brackets, and once that units are few; of groups, in which of them."""
        if self._units:
            yield f"Brackets hold {100 * self.level:g} % intervals over {self._units}."
        yield from map(sentence, self._notes.values())
        for words, groups in self._groups_of_note.items():
            named = ", ".join(list(groups)[:GROUPS_NAMED])
            if len(groups) > GROUPS_NAMED:
                named += f" and {len(groups) - GROUPS_NAMED:,} more"
            yield sentence(f"{words}: {format_count(len(groups), 'group')} ({named})")
