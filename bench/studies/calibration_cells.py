"""What the calibration study counts in a cell, and its verdict."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

GOOD = (0.93, 0.97)  # coverage of intervals of 95 %
GOOD_REJECTION = (0.035, 0.065)  # at 5 %
DOUBTFUL = (0.94, 0.06)  # a lower coverage, or a higher rejection, gets more samples
FEW_UNITS = 20  # below, a conservative result is good
NOTED_SHARE = 0.5
# Notes on what is compared, which do not say how far to trust the result.
OTHER_NOTES = ("unlike", "paired", "ranks of the split", "Wilcoxon", "wilcoxon")
NOT_ABOUT_INTERVALS = ("floor reached",)
NAN = math.nan


@dataclass
class Cell:
    """One metric and method in samples of so many units of a population."""

    part: str  # interval, compare or pvalue
    population: str
    clusters: str
    units: int
    metric: str
    method: str  # "default", or the one asked for by name
    null: bool = False
    truth: float = NAN
    repeats: int = 0
    covered: float = NAN  # share of the intervals that hold the true value
    below: float = NAN  # share of the intervals that lie wholly below it
    above: float = NAN
    width: float = NAN  # median width / (2 * 1.96 * standard deviation of the values)
    undefined: int = 0  # intervals with a nan
    noted: float = 0.0  # share of the results with a note on the interval
    noted_p: float = 0.0  # share of the results with any note
    rejected: float = NAN  # share of the p-values of at most 0.05
    contradicted: float = NAN  # share in which interval and p-value disagree on a difference of 0
    constant: bool = False  # whether all samples have the same value
    notes: str = ""  # how often each kind of note came
    methods: str = ""  # how often each method was used
    distance: float = NAN  # of the p-values from the uniform law, by Kolmogorov and Smirnov
    distance_p: float = NAN  # its p-value

    VERDICTS: ClassVar = ("silent", "noted", "wide", "ok")

    @property
    def few(self) -> bool:
        return self.units < FEW_UNITS

    def verdict(self) -> str:
        """The worst of the verdicts on coverage and on rejection.

        "silent": outside the goal by more than two standard errors, and fewer than half of the
        results carry a note; "noted": more do; "wide": coverage above, or rejection below the goal,
        without notes, from 20 units on; "ok": all others.
        """
        return min(self.verdict_on_coverage(), self.verdict_on_p(), key=self.VERDICTS.index)

    def verdict_on_coverage(self) -> str:
        if math.isnan(self.covered):
            return "ok" if not self.undefined else self._unless_noted(self.noted, "silent")
        side = -outside(self.covered, GOOD, self.repeats - self.undefined)
        return self._judge(side, self.noted)

    def verdict_on_p(self) -> str:
        if not self.null or math.isnan(self.rejected):
            return "ok"
        return self._judge(outside(self.rejected, GOOD_REJECTION, self.repeats), self.noted_p)

    def _judge(self, side: int, noted: float) -> str:
        """The verdict where `side` is 1 for a result that misleads, -1 for a conservative one."""
        if side > 0:
            return self._unless_noted(noted, "silent")
        if side < 0 and not self.few and not self.constant:
            return self._unless_noted(noted, "wide")
        return "ok"

    @staticmethod
    def _unless_noted(noted: float, verdict: str) -> str:
        return "noted" if noted >= NOTED_SHARE else verdict


def outside(share: float, goal: tuple[float, float], repeats: int) -> int:
    """-1 below the goal by more than two standard errors, 1 above it, else 0."""
    low, high = goal
    if share < low - 2 * standard_error(low, repeats):
        return -1
    return int(share > high + 2 * standard_error(high, repeats))


def is_clear(share: float, goal: tuple[float, float], repeats: int) -> bool:
    """Whether a share lies two standard errors from both ends of the goal."""
    return all(abs(share - end) > 2 * standard_error(end, repeats) for end in goal)


def standard_error(share: float, repeats: int) -> float:
    return math.sqrt(share * (1 - share) / max(repeats, 1))


@dataclass
class Tally:
    """Counts of the repeats of one cell."""

    cell: Cell
    ends: list[tuple[float, float, float]] = field(default_factory=list)
    p_values: list[float] = field(default_factory=list)
    noted: int = 0
    noted_p: int = 0
    notes: Counter[str] = field(default_factory=Counter)
    methods: Counter[str] = field(default_factory=Counter)
    refused: bool = False  # the method does not apply to the metric

    def add(self, found: Any) -> None:
        """Count an Interval, a Comparison or a PValue."""
        kinds = kinds_of(getattr(found, "notes", ()))
        self.noted_p += bool(kinds)
        self.notes.update(kinds)
        self.methods[found.method] += 1
        if self.cell.part == "pvalue":
            self.p_values.append(found.p)
            return
        value = found.difference if self.cell.part == "compare" else found.value
        self.ends.append((found.low, value, found.high))
        if self.cell.part == "compare":
            self.p_values.append(found.p_value)
        self.noted += any(kind not in NOT_ABOUT_INTERVALS for kind in kinds)

    def finish(self) -> Cell:
        """The shares in the cell, as far as they are known."""
        cell, truth = self.cell, self.cell.truth
        low, value, high = np.array(self.ends).reshape(-1, 3).T
        slack = 1e-9 * abs(truth) + 1e-12
        known = ~(np.isnan(low) | np.isnan(high))
        cell.repeats, cell.undefined = sum(self.methods.values()), int((~known).sum())
        if known.any():
            cell.below = float((high[known] < truth - slack).mean())
            cell.above = float((low[known] > truth + slack).mean())
            cell.covered = 1 - cell.below - cell.above
            cell.constant = bool(np.ptp(value[known]) <= slack)
            spread = float(np.std(value[known]))
            width = float(np.median(high[known] - low[known]))
            cell.width = width / (2 * 1.96 * spread) if spread > slack else NAN
        cell.noted, cell.noted_p = (x / max(cell.repeats, 1) for x in (self.noted, self.noted_p))
        p = np.array(self.p_values)
        if len(p):
            cell.rejected = float((p <= 0.05 + 1e-12).mean())
        if cell.part == "pvalue":
            cell.distance, cell.distance_p = distance_from_uniform(p)
        elif len(p):
            excluded = (low > slack) | (high < -slack)
            cell.contradicted = float((excluded != (p <= 0.05 + 1e-12))[known].mean())
        cell.notes, cell.methods = (join_counts(x) for x in (self.notes, self.methods))
        return cell

    def is_decided(self, enough: int) -> bool:
        """Whether the verdict is clear, or there are enough samples and no doubt.

        Cells near the edge where a result misleads, and without notes, are in doubt.
        """
        cell = self.finish()
        noted, noted_p = cell.noted >= NOTED_SHARE, cell.noted_p >= NOTED_SHARE
        low = not math.isnan(cell.covered) and cell.covered < DOUBTFUL[0]
        clear = noted or cell.constant or math.isnan(cell.covered)
        clear |= is_clear(cell.covered, GOOD, cell.repeats)
        doubtful = low and not noted
        if cell.null:
            clear &= noted_p or is_clear(cell.rejected, GOOD_REJECTION, cell.repeats)
            doubtful |= cell.rejected > DOUBTFUL[1] and not noted_p
        return clear or (cell.repeats >= enough and not doubtful)


def distance_from_uniform(values: Sequence[float] | NDArray[np.float64]) -> tuple[float, float]:
    """The distance of p-values from the uniform law, and its p-value with Stephens' correction."""
    p = np.sort(values)
    n = len(p)
    steps = np.arange(n + 1) / n
    distance = float(max((steps[1:] - p).max(), (p - steps[:-1]).max()))
    x = (math.sqrt(n) + 0.12 + 0.11 / math.sqrt(n)) * distance
    if x < 0.3:
        return distance, 1.0
    terms = ((-1) ** (j - 1) * math.exp(-2 * j * j * x * x) for j in range(1, 101))
    return distance, min(1.0, 2 * sum(terms))


def kinds_of(notes: Iterable[str]) -> set[str]:
    """The kinds of notes: what stands before the colon."""
    return {note.split(":")[0].strip()[:40] for note in notes if not note.startswith(OTHER_NOTES)}


def join_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counts.most_common())


def write_cells(file: Path, cells: Iterable[Cell]) -> None:
    """Write one line for each cell."""
    names = [column.name for column in fields(Cell)]
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        writer.writerow(names)
        for cell in cells:
            writer.writerow([format_field(x) for x in asdict(cell).values()])


def format_field(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def read_cells(file: Path) -> list[Cell]:
    """Read what `write_cells` wrote."""
    parse = {"str": str, "int": int, "float": float, "bool": "True".__eq__}
    types = {column.name: parse[str(column.type)] for column in fields(Cell)}
    with file.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream, delimiter="\t")
        return [Cell(**{name: types[name](text) for name, text in row.items()}) for row in rows]
