"""Contestants run in turn: the times and the memory of each, and what two are compared by."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from footprint import HighWater

__all__ = ["Compare", "Contestants", "Pair", "Pedantic", "Team", "Times", "ratio"]

Contestants = Mapping[str, Callable[[], object]]
WATCHED = 2  # first runs whose memory is watched: the least counts, for the first loads code


class Pedantic(Protocol):
    """What is used of pytest-benchmark's fixture."""

    extra_info: dict[str, Any]

    def pedantic(self, target: Callable[[], object], **options: Any) -> object: ...


@dataclass
class Times:
    """Seconds of each run of one contestant, its memory, and what its last run returned."""

    seconds: list[float] = field(default_factory=list)
    result: Any = None
    memory: int | None = None  # bytes by which anonymous memory grew at most

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
    before: Callable[[], object] | None = None,
    memory: bool = True,
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
    before
        What to do before each run, untimed.
    memory
        Whether to look how far anonymous memory grows; of no use where a call maps files.
    benchmark
        The fixture of pytest-benchmark: it times the subject, the others run in its set-up.

    Returns
    -------
    dict of str to Times
    """
    times = {name: Times() for name in contestants}
    subject, *others = contestants
    marks: dict[str, HighWater] = {}

    def prepare(name: str) -> None:
        if before is not None:
            before()
        time.sleep(rest)
        if memory and len(times[name].seconds) < WATCHED:
            marks[name] = HighWater()

    def run(name: str) -> None:
        call, taken = contestants[name], times[name]
        start = clock()
        for _ in range(calls):
            result = call()
        taken.seconds.append((clock() - start) / calls)
        mark = marks.pop(name, None)
        grown = None if mark is None else mark.grown()
        if grown is not None:
            taken.memory = grown if taken.memory is None else min(grown, taken.memory)
        taken.result = result

    def run_others() -> None:
        for name in others:
            done = times[name].seconds
            if len(done) < 2 or calls * sum(done) < budget:
                prepare(name)
                run(name)
        prepare(subject)

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
