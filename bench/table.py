"""The table of one run: rows of ratios, facts of the machine, remarks, and curves to draw."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from harness import Pair, Times
from laws import Law

__all__ = ["Board", "Chart", "Row", "law_row", "rows_of"]


@dataclass(frozen=True)
class Row:
    """One line of the table: a contestant's time and, in a pair, its ratio to a baseline."""

    case: str
    contestant: str
    seconds: float | None = None
    rate: float | None = None  # GB/s, or 10^9 of the unit
    memory: float | None = None  # bytes
    kind: str = ""
    baseline: str = ""
    ratio: float | None = None
    goal: str = ""
    met: bool | None = None
    unit: str = ""  # of the rate, where it is not GB/s


@dataclass
class Chart:
    """Points of a plot, by line; the first line is the roofline."""

    x: str
    y: str
    lines: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def add(self, line: str, x: float, y: float) -> None:
        """One more point of a line."""
        self.lines.setdefault(line, []).append((x, y))


def rows_of(
    case: str,
    times: Mapping[str, Times],
    pairs: Sequence[Pair],
    nbytes: Mapping[str, int],
    statistic: Literal["best", "median"] = "best",
    unit: str = "",
) -> list[Row]:
    """Rows of one case: every pair, then the contestants that are no pair's subject.

    `nbytes` may be other work than bytes; `unit` then says what a second of it is called.
    """
    seconds = {name: float(getattr(taken, statistic)) for name, taken in times.items()}
    rates = {name: nbytes[name] / seconds[name] / 1e9 for name in times if name in nbytes}

    def measured(name: str) -> tuple[str, str, float, float | None, float | None]:
        return case, name, seconds[name], rates.get(name), times[name].memory

    rows = []
    for pair in pairs:
        one, other = pair.subject, pair.baseline
        slower = seconds[one] / seconds[other]
        by_rate = one in rates and other in rates
        faster = rates[one] / rates[other] if by_rate else 1 / slower
        value = faster if pair.kind == "speed" else slower
        rows.append(Row(*measured(one), pair.kind, other, value, pair.text, pair.met(value), unit))
    subjects = {pair.subject for pair in pairs}
    rows += [Row(*measured(name), unit=unit) for name in times if name not in subjects]
    return rows


def law_row(case: str, contestant: str, law: Law, goal: tuple[float, float] | None = None) -> Row:
    """A fitted exponent as a row; its goal is a range, from zero where only growth matters."""
    said, met = "", None
    if goal is not None:
        least, most = goal
        said = f"{least:g} to {most:g}" if least else f"<= {most:g}"
        met = least <= law.exponent <= most
    return Row(
        case,
        contestant,
        kind="exponent",
        baseline=f"{law.of}, standard error {law.error:.2g}",
        ratio=law.exponent,
        goal=said,
        met=met,
    )


HEADER = ("case", "contestant", "time", "GB/s", "MB", "ratio", "of / times", "goal", "")
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
MARKS = {True: "met", False: "missed", None: ""}
JOINTS = {
    "speed": "of the rate of",
    "cost": "times the time of",
    "exponent": "is the exponent of",
    "": "",
}


def time_text(seconds: float | None) -> str:
    """Seconds in the unit that leaves one to three digits before the point."""
    if seconds is None:
        return ""
    size, unit = next((u for u in UNITS if seconds >= u[0]), UNITS[-1])
    return f"{seconds / size:.3g} {unit}" if seconds < 1000 else f"{seconds:.0f} s"


def memory_text(nbytes: float | None) -> str:
    """Megabytes; the kernel counts no finer than half a one."""
    if nbytes is None:
        return ""
    return f"{nbytes / 1e6:.0f}" if nbytes >= 1e6 else "< 1"


def cells(row: Row) -> tuple[str, ...]:
    """The printed cells of a row."""
    return (
        row.case,
        row.contestant,
        time_text(row.seconds),
        "" if row.rate is None else f"{row.rate:.2f} {row.unit}".strip(),
        memory_text(row.memory),
        "" if row.ratio is None else f"{row.ratio:.3g}",
        f"{JOINTS[row.kind]} {row.baseline}".strip(),
        row.goal,
        MARKS[row.met],
    )


class Board:
    """Everything that one run found."""

    def __init__(self) -> None:
        self.facts: dict[str, str] = {}
        self.rows: list[Row] = []
        self.remarks: list[str] = []
        self.charts: dict[str, Chart] = {}

    def remark(self, text: str) -> None:
        """A remark, once however often it is made."""
        if text not in self.remarks:
            self.remarks.append(text)

    def chart(self, title: str, x: str, y: str) -> Chart:
        """The chart of this title, new where there is none."""
        return self.charts.setdefault(title, Chart(x, y))

    def lines(self) -> list[str]:
        """The table as aligned text."""
        table: list[tuple[str, ...]] = [HEADER]
        before = ""
        for row in self.rows:
            first, *rest = cells(row)
            table.append((first if first != before else "", *rest))
            before = first
        widths = [max(len(line[k]) for line in table) for k in range(len(HEADER))]
        text = [f"{name}: {value}" for name, value in self.facts.items()]
        text += ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in table]
        return [line.rstrip() for line in text + self.remarks]

    def markdown(self) -> str:
        """The table as Markdown."""
        text = [f"- {name}: {value}" for name, value in self.facts.items()]
        text += ["", "| " + " | ".join(HEADER) + " |", "|" + " --- |" * len(HEADER)]
        text += ["| " + " | ".join(cells(row)) + " |" for row in self.rows]
        text += ["", *(f"- {remark}" for remark in self.remarks)]
        return "\n".join(text) + "\n"

    def write(self, directory: Path) -> list[Path]:
        """Write `bench-results.md` and `bench-results.json`."""
        directory.mkdir(parents=True, exist_ok=True)
        found = {
            "facts": self.facts,
            "rows": [asdict(row) for row in self.rows],
            "remarks": self.remarks,
            "charts": {title: asdict(chart) for title, chart in self.charts.items()},
        }
        texts = {
            "bench-results.md": self.markdown(),
            "bench-results.json": json.dumps(found, indent=1) + "\n",
        }
        for name, text in texts.items():
            (directory / name).write_text(text, encoding="utf-8")
        return [directory / name for name in texts]
