"""The table of one run: rows of ratios, facts of the machine, remarks, and charts to draw."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from harness.growth import PowerLaw
from harness.timing import Times

__all__ = ["Chart", "Pair", "Results", "Row", "exponent_row", "make_rows"]


@dataclass(frozen=True)
class Pair:
    """A ratio of two contestants and the goal for it.

    `speed` is the subject's rate over the baseline's (bytes per second where both have known bytes,
    else runs per second): more is better. `cost` is its time over the baseline's: less is better.
    """

    subject: str
    baseline: str
    kind: Literal["speed", "cost"] = "speed"
    goal: float | None = None

    def is_met(self, value: float) -> bool | None:
        """Return whether the goal is met; None without a goal."""
        if self.goal is None:
            return None
        if self.kind == "speed":
            return value >= self.goal
        return value <= self.goal

    def format_goal(self) -> str:
        """Return the goal as printed."""
        if self.goal is None:
            return ""
        if self.kind == "speed":
            return f">= {self.goal:g}"
        return f"<= {self.goal:g}"


@dataclass(frozen=True)
class Row:
    """One line of the table: a contestant's time and, in a pair, its ratio to a baseline."""

    case: str
    contestant: str
    seconds: float | None = None
    # Its unit is GB/s, or 10^9 of `unit` a second; memory is in bytes.
    rate: float | None = None
    memory: float | None = None
    kind: str = ""
    baseline: str = ""
    ratio: float | None = None
    goal: str = ""
    met: bool | None = None
    unit: str = ""


@dataclass
class Chart:
    """Points of a plot, by line; the first line is the roofline."""

    x: str
    y: str
    lines: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def add(self, line: str, x: float, y: float) -> None:
        """Add a point to a line."""
        self.lines.setdefault(line, []).append((x, y))


def make_rows(
    case: str,
    times: Mapping[str, Times],
    pairs: Sequence[Pair],
    nbytes: Mapping[str, int],
    statistic: Literal["best", "median"] = "best",
    unit: str = "",
) -> list[Row]:
    """Return the rows of one case: every pair, then the contestants that are no pair's subject.

    `nbytes` may count other work than bytes; `unit` is then the unit of the rate.
    """
    seconds = {name: float(getattr(t, statistic)) for name, t in times.items()}
    rates = {name: nbytes[name] / seconds[name] / 1e9 for name in times if name in nbytes}

    def measurement(name: str) -> tuple[str, str, float, float | None, float | None]:
        return case, name, seconds[name], rates.get(name), times[name].memory

    rows = []
    for pair in pairs:
        subject = pair.subject
        baseline = pair.baseline
        cost = seconds[subject] / seconds[baseline]
        value = cost
        if pair.kind == "speed" and subject in rates and baseline in rates:
            value = rates[subject] / rates[baseline]
        elif pair.kind == "speed":
            value = 1 / cost
        compared = (pair.kind, baseline, value, pair.format_goal(), pair.is_met(value), unit)
        rows.append(Row(*measurement(subject), *compared))
    subjects = {pair.subject for pair in pairs}
    rows += [Row(*measurement(name), unit=unit) for name in times if name not in subjects]
    return rows


def exponent_row(
    case: str, contestant: str, law: PowerLaw, goal: tuple[float, float] | None = None
) -> Row:
    """Return a fitted exponent as a row; a goal that starts at 0 is an upper bound."""
    text = ""
    met = None
    if goal is not None:
        lower, upper = goal
        text = f"<= {upper:g}"
        if lower:
            text = f"{lower:g} to {upper:g}"
        met = lower <= law.exponent <= upper
    return Row(
        case,
        contestant,
        kind="exponent",
        baseline=f"{law.description}, standard error {law.error:.2g}",
        ratio=law.exponent,
        goal=text,
        met=met,
    )


HEADER = ("case", "contestant", "time", "GB/s", "MB", "ratio", "of / times", "goal", "")
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
GOAL_TEXTS = {True: "met", False: "missed", None: ""}
KIND_TEXTS = {
    "speed": "of the rate of",
    "cost": "times the time of",
    "exponent": "is the exponent of",
    "": "",
}


def format_seconds(seconds: float | None) -> str:
    """Return seconds in the unit that leaves one to three digits before the point."""
    if seconds is None:
        return ""
    if seconds >= 1000:
        return f"{seconds:.0f} s"
    size, unit = next((u for u in UNITS if seconds >= u[0]), UNITS[-1])
    return f"{seconds / size:.3g} {unit}"


def format_memory(nbytes: float | None) -> str:
    """Return megabytes; the kernel counts in steps of half a one."""
    if nbytes is None:
        return ""
    if nbytes < 1e6:
        return "< 1"
    return f"{nbytes / 1e6:.0f}"


def format_row(row: Row) -> tuple[str, ...]:
    """Return the printed cells of a row."""
    rate = ""
    if row.rate is not None:
        rate = f"{row.rate:.2f} {row.unit}".strip()
    ratio = ""
    if row.ratio is not None:
        ratio = f"{row.ratio:.3g}"
    return (
        row.case,
        row.contestant,
        format_seconds(row.seconds),
        rate,
        format_memory(row.memory),
        ratio,
        f"{KIND_TEXTS[row.kind]} {row.baseline}".strip(),
        row.goal,
        GOAL_TEXTS[row.met],
    )


class Results:
    """All results of one run."""

    def __init__(self) -> None:
        self.facts: dict[str, str] = {}
        self.rows: list[Row] = []
        self.remarks: list[str] = []
        self.charts: dict[str, Chart] = {}

    def add_remark(self, text: str) -> None:
        """Add a remark, once however often this is called with it."""
        if text not in self.remarks:
            self.remarks.append(text)

    def chart(self, title: str, x: str, y: str) -> Chart:
        """Return the chart of this title; make one where there is none."""
        return self.charts.setdefault(title, Chart(x, y))

    def lines(self) -> list[str]:
        """Return the table as aligned text."""
        table: list[tuple[str, ...]] = [HEADER]
        previous = ""
        for row in self.rows:
            cells = format_row(row)
            if cells[0] == previous:
                table.append(("", *cells[1:]))
            else:
                table.append(cells)
            previous = cells[0]
        widths = [max(len(line[k]) for line in table) for k in range(len(HEADER))]
        text = [f"{name}: {value}" for name, value in self.facts.items()]
        text += ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in table]
        return [line.rstrip() for line in text + self.remarks]

    def markdown(self) -> str:
        """Return the table as Markdown."""
        text = [f"- {name}: {value}" for name, value in self.facts.items()]
        text += ["", "| " + " | ".join(HEADER) + " |", "|" + " --- |" * len(HEADER)]
        text += ["| " + " | ".join(format_row(row)) + " |" for row in self.rows]
        text.append("")
        text += [f"- {remark}" for remark in self.remarks]
        return "\n".join(text) + "\n"

    def write(self, directory: Path) -> list[Path]:
        """Write `bench-results.md` and `bench-results.json`."""
        directory.mkdir(parents=True, exist_ok=True)
        fields = {
            "facts": self.facts,
            "rows": [asdict(row) for row in self.rows],
            "remarks": self.remarks,
            "charts": {title: asdict(chart) for title, chart in self.charts.items()},
        }
        texts = {
            "bench-results.md": self.markdown(),
            "bench-results.json": json.dumps(fields, indent=1) + "\n",
        }
        for name, text in texts.items():
            (directory / name).write_text(text, encoding="utf-8")
        return [directory / name for name in texts]
