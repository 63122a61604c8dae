"""Published figures, and whether what is computed here agrees with them: one rule for all.

A figure as printed stands for all numbers within half a unit of its last place. Ours is a number,
or the numbers that other printed figures allow, as these are rounded, too. They agree if they meet.
Sums in another order differ in the last bits, so that nothing is told apart below 1e-12 of a value,
or 1e-6 where the authors computed in single precision.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent

DOUBLE, SINGLE = 1e-12, 1e-6  # relative
STANDARD_ERRORS = 4.0

# what is compared
COMPUTED, FOLLOWS = "computed", "follows"
CHECKS = {
    COMPUTED: "made again from vectors, triples or numbers of candidates",
    FOLLOWS: "follows from other printed figures, up to their rounding",
}
# what came of it
AGREES, SIMULATED, EXPLAINED = "agrees", "simulated", "explained"
IMPOSSIBLE, OPEN, GIVEN = "impossible", "open", "given"
VERDICTS = {
    AGREES: "the two meet",
    SIMULATED: "the authors' simulation is within four of its standard errors of ours",
    EXPLAINED: "not ours, but the named arithmetic of the authors gives it",
    IMPOSSIBLE: "contradicts other figures of the same source, or the data; a misprint",
    OPEN: "does not agree, and we do not know why",
    GIVEN: "nothing here determines it",
}


class Range(NamedTuple):
    """All numbers from one to another."""

    low: float
    high: float

    @classmethod
    def at(cls, value: float) -> Range:
        """Return one number."""
        return cls(value, value)

    def meets(self, other: Range) -> bool:
        """Return whether a number is in both."""
        return self.low <= other.high and other.low <= self.high

    def widened(self, by: float) -> Range:
        """Move both ends outwards."""
        return Range(self.low - by, self.high + by)

    def __str__(self) -> str:
        low = f"{self.low:.7g}"
        high = f"{self.high:.7g}"
        if low == high:
            return low
        return f"{low} to {high}"


class Reason(NamedTuple):
    """Why a figure may differ, and what it is then; without a value it cannot be right.

    `precision` is that of the arithmetic which is named.
    """

    text: str
    value: Range | None = None
    precision: float = DOUBLE


class Figure(NamedTuple):
    """A published figure, and ours.

    `scale` is the size of the numbers whose difference it is; `error` the standard error of a
    simulation that the authors made. `stands_for` is the meaning of a figure that is no plain
    number.
    """

    source: str
    table: str
    row: str
    column: str
    printed: str
    needs: str = "-"
    ours: Range | None = None
    check: str = COMPUTED
    precision: float = DOUBLE
    scale: float = 0.0
    error: float = 0.0
    reasons: tuple[Reason, ...] = ()
    stands_for: Range | None = None

    @property
    def published(self) -> Range:
        """Return the numbers that the figure stands for."""
        if self.stands_for is None:
            return read_printed(self.printed)
        return self.stands_for

    def fits(self, ours: Range, precision: float = 0.0) -> bool:
        """Return whether the figure meets these numbers, to its precision or a lower one."""
        size = max(abs(self.published.low), abs(self.published.high), self.scale)
        slack = max(self.precision, precision) * size if math.isfinite(size) else 0.0
        return self.published.meets(ours.widened(slack))

    def judge(self) -> tuple[str, str]:
        """Return the verdict, and why the figure does not agree."""
        if self.ours is None:
            return GIVEN, ""
        if self.fits(self.ours):
            return AGREES, ""
        if self.error and self.published.meets(self.ours.widened(STANDARD_ERRORS * self.error)):
            return SIMULATED, f"simulated, with a standard error of {self.error:.2g}"
        for reason in self.reasons:
            if reason.value is None:
                return IMPOSSIBLE, reason.text
            if self.fits(reason.value, reason.precision):
                return EXPLAINED, reason.text
        return OPEN, "not known"

    @property
    def difference(self) -> float:
        """Return how far ours is from the figure, as a part of it unless it stands for 0, too."""
        if self.ours is None:
            return 0.0
        gap = max(self.ours.low - self.published.high, self.published.low - self.ours.high, 0.0)
        size = min(abs(self.published.low), abs(self.published.high))
        if self.published.low * self.published.high > 0:
            gap /= size
        if gap <= DOUBLE:
            return 0.0
        return gap


def read_printed(text: str) -> Range:
    """Return the numbers that round to a printed one.

    Examples
    --------
    >>> read_printed("7,000"), read_printed("8.5e-03")
    (Range(low=6999.5, high=7000.5), Range(low=0.00845, high=0.00855))
    """
    number, _, exponent = text.replace(",", "").lower().partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(number.partition(".")[2]))
    value = float(text.replace(",", ""))
    return Range(value - unit / 2, value + unit / 2)


def read_table(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a table of published figures that lies beside the studies."""
    with (HERE / name).open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file, delimiter="\t")
