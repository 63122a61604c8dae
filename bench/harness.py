"""Contestants run in turn, the best time of each, and the table of their ratios."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

__all__ = ["Board", "Compare", "Contestants", "Pair", "Row", "Team", "Times", "ratio", "rows_of"]

Contestants = Mapping[str, Callable[[], object]]


class Pedantic(Protocol):
    """What is used of pytest-benchmark's fixture."""

    extra_info: dict[str, Any]

    def pedantic(self, target: Callable[[], object], **options: Any) -> object: ...


@dataclass
class Times:
    """Seconds of each run of one contestant, and what its last run returned."""

    seconds: list[float] = field(default_factory=list)
    result: Any = None

    @property
    def best(self) -> float:
        """Seconds of the fastest run: the one that other work on the machine disturbed least."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """Seconds of the middle run: what a caller meets on a machine that is not idle."""
        return statistics.median(self.seconds)


def ratio(
    contestants: Contestants,
    rounds: int,
    *,
    calls: int = 1,
    budget: float = 8.0,
    rest: float = 0.005,
    clock: Callable[[], float] = time.perf_counter,
    benchmark: Pedantic | None = None,
) -> dict[str, Times]:
    """Time contestants in turn, round by round, so that a disturbance meets all of them alike.

    Parameters
    ----------
    contestants
        Names and what to call; the first one is the subject.
    rounds
        Runs of each.
    calls
        Calls in one run, for calls too short for the clock; times are per call.
    budget
        Seconds after which a slow contestant sits out, once it has run twice; the subject never
        does.
    rest
        Seconds of sleep before each run, so that threads which still spin after the one before
        go to sleep.
    clock
        What tells the seconds.
    benchmark
        The fixture of pytest-benchmark: it times the subject, the others run in its set-up.

    Returns
    -------
    dict of str to Times
    """
    times = {name: Times() for name in contestants}
    subject, *others = contestants

    def run(name: str) -> None:
        call = contestants[name]
        start = clock()
        for _ in range(calls):
            result = call()
        times[name].seconds.append((clock() - start) / calls)
        times[name].result = result

    def run_others() -> None:
        for name in others:
            done = times[name].seconds
            if len(done) < 2 or calls * sum(done) < budget:
                time.sleep(rest)
                run(name)
        time.sleep(rest)

    if benchmark is not None:
        benchmark.pedantic(lambda: run(subject), setup=run_others, rounds=rounds)
    else:
        for _ in range(rounds):
            run_others()
            run(subject)
    return times


class Team(NamedTuple):
    """How many threads a case runs with."""

    asked: int | None  # truerank's argument
    threads: int  # that many, for the baselines

    def __str__(self) -> str:
        return f"{self.threads} thread{'s' * (self.threads > 1)}"


# The fixture `compare`: a case's title, its contestants, the pairs to show, and options.
Compare = Callable[..., dict[str, Times]]


@dataclass(frozen=True)
class Pair:
    """A ratio of two contestants and the goal for it.

    `speed` is the subject's rate over the baseline's (bytes per second where both read known bytes,
    else runs per second), so that more is better; `cost` is its time over the baseline's, so that
    less is better.
    """

    subject: str
    baseline: str
    kind: Literal["speed", "cost"] = "speed"
    goal: float | None = None

    def met(self, value: float) -> bool | None:
        """Whether the goal is met; None without a goal."""
        if self.goal is None:
            return None
        return value >= self.goal if self.kind == "speed" else value <= self.goal

    @property
    def text(self) -> str:
        """The goal as printed."""
        if self.goal is None:
            return ""
        return f"{'>=' if self.kind == 'speed' else '<='} {self.goal:g}"


@dataclass(frozen=True)
class Row:
    """One line of the table: a contestant's time and, in a pair, its ratio to a baseline."""

    case: str
    contestant: str
    seconds: float
    rate: float | None = None
    kind: str = ""
    baseline: str = ""
    ratio: float | None = None
    goal: str = ""
    met: bool | None = None


def rows_of(
    case: str,
    times: Mapping[str, Times],
    pairs: Sequence[Pair],
    nbytes: Mapping[str, int],
    statistic: Literal["best", "median"] = "best",
) -> list[Row]:
    """Rows of one case: every pair, then the contestants that are no pair's subject."""
    seconds = {name: float(getattr(taken, statistic)) for name, taken in times.items()}
    rates = {name: nbytes[name] / seconds[name] / 1e9 for name in times if name in nbytes}
    rows = []
    for pair in pairs:
        one, other = pair.subject, pair.baseline
        slower = seconds[one] / seconds[other]
        by_rate = one in rates and other in rates
        faster = rates[one] / rates[other] if by_rate else 1 / slower
        value = faster if pair.kind == "speed" else slower
        found = (pair.kind, other, value, pair.text, pair.met(value))
        rows.append(Row(case, one, seconds[one], rates.get(one), *found))
    subjects = {pair.subject for pair in pairs}
    rows += [Row(case, n, seconds[n], rates.get(n)) for n in times if n not in subjects]
    return rows


HEADER = ("case", "contestant", "time", "GB/s", "ratio", "of / times", "goal", "")
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
MARKS = {True: "met", False: "missed", None: ""}
JOINTS = {"speed": "of the rate of", "cost": "times the time of", "": ""}


def time_text(seconds: float) -> str:
    """Seconds in the unit that leaves one to three digits before the point."""
    size, unit = next((u for u in UNITS if seconds >= u[0]), UNITS[-1])
    return f"{seconds / size:.3g} {unit}" if seconds < 1000 else f"{seconds:.0f} s"


def cells(row: Row) -> tuple[str, ...]:
    """The printed cells of a row."""
    return (
        row.case,
        row.contestant,
        time_text(row.seconds),
        "" if row.rate is None else f"{row.rate:.2f}",
        "" if row.ratio is None else f"{row.ratio:.3g}",
        f"{JOINTS[row.kind]} {row.baseline}".strip(),
        row.goal,
        MARKS[row.met],
    )


class Board:
    """Everything that one run found: facts of the machine, rows, remarks."""

    def __init__(self) -> None:
        self.facts: dict[str, str] = {}
        self.rows: list[Row] = []
        self.remarks: list[str] = []

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
        found = {"facts": self.facts, "rows": [asdict(r) for r in self.rows]}
        texts = {
            "bench-results.md": self.markdown(),
            "bench-results.json": json.dumps(found | {"remarks": self.remarks}, indent=1) + "\n",
        }
        for name, text in texts.items():
            (directory / name).write_text(text, encoding="utf-8")
        return [directory / name for name in texts]
