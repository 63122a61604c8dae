"""Intervals in tables: the columns of their bounds, and what is to be said below the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..inference.units import describe_units
from ..inputs.errors import InputValueError
from ..tables import Column
from ..tables.cells import format_count
from .columns import sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..inference.intervals import Interval
    from ..ranks.labels import LabelsLike

NAMED = 3  # so many groups are named in a note
NO_RANKS = "reports with ranks; one that was read from JSON has none, and so no intervals"


class IntervalRules(NamedTuple):
    """The level of intervals, the units that were drawn, and whether all groups have theirs."""

    level: float
    by: LabelsLike | None
    all_groups: bool = True


class Brackets:
    """The intervals of a table, which stand in brackets behind the values.

    Parameters
    ----------
    rules : IntervalRules

    Examples
    --------
    >>> import truerank as tr
    >>> brackets = Brackets(IntervalRules(0.95, "unit"))
    >>> report = tr.report(tr.Ranks([0, 3], [1, 1], 10))
    >>> row = {}
    >>> brackets.put(row, "mrr", report.interval("mrr"))
    >>> list(row), list(brackets.lines())
    (['mrr low', 'mrr high'], ['Brackets hold 95 % intervals over 2 tasks.', \
'Not enough to say: 2 tasks.'])
    """

    def __init__(self, rules: IntervalRules) -> None:
        self.rules = rules
        self._units = ""
        self._notes: dict[str, None] = {}
        self._groups: dict[str, list[str]] = {}  # the first words of a note, and its groups

    def columns(self, column: Column) -> list[Column]:
        """Return a column whose cells show bounds, and the columns of these."""
        low = f"{column.name} low"
        high = f"{column.name} high"
        bounds = [Column(name, "", column.decimals, column.unit) for name in (low, high)]
        return [column._replace(bounds=(low, high)), *bounds]

    def put(self, row: dict[str, Any], name: str, found: Interval, group: str = "") -> None:
        """Put the bounds of a value into a row, which may be that of a group."""
        row[f"{name} low"] = found.low
        row[f"{name} high"] = found.high
        if not self._units and found.method != "none":
            self._units = describe_units(found.units, found.by)
        for note in found.notes:
            if not group:
                self._notes[note] = None
                continue
            groups = self._groups.setdefault(note.partition(":")[0], [])
            if group not in groups:
                groups.append(group)

    def lines(self) -> Iterator[str]:
        """Say what stands in brackets, and where units are few: of groups, in which of them."""
        if self._units:
            yield f"Brackets hold {100 * self.rules.level:g} % intervals over {self._units}."
        yield from map(sentence, self._notes)
        for words, groups in self._groups.items():
            named = ", ".join(groups[:NAMED])
            if len(groups) > NAMED:
                named += f" and {len(groups) - NAMED:,} more"
            yield sentence(f"{words}: {format_count(len(groups), 'group')} ({named})")


def check_ranks(has_ranks: bool) -> None:
    """Refuse intervals of what has no ranks."""
    if not has_ranks:
        raise InputValueError("interval", expected=NO_RANKS, got="one without")
