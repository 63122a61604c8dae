"""Contestants run in turn: the times and the memory of each."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from harness.memory import PeakMemory

__all__ = [
    "CLOCKS",
    "BenchmarkFixture",
    "Contestants",
    "Team",
    "Times",
    "hold_to_one_thread",
    "time_in_turn",
]

# Processor time is that of all threads: libraries count in pools of their own.
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
# Libraries read these as they are loaded.
POOLS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON")

Contestants = Mapping[str, Callable[[], object]]
# So many runs have their memory measured; the smallest growth counts, as the first run loads code.
MEASURED_RUNS = 2


def hold_to_one_thread() -> None:
    """Let contestants have one thread each: the libraries that are loaded, and those to come."""
    from threadpoolctl import threadpool_limits  # What draws tables does without it.

    os.environ.update({f"{pool}_NUM_THREADS": "1" for pool in POOLS})
    threadpool_limits(1)


class BenchmarkFixture(Protocol):
    """The part of pytest-benchmark's fixture that is used here."""

    extra_info: dict[str, Any]

    def pedantic(self, target: Callable[[], object], **options: Any) -> object: ...


class Team(NamedTuple):
    """How many threads a case runs with."""

    argument: int | None  # truerank is given this.
    threads: int  # The baselines run with so many.

    def __str__(self) -> str:
        if self.threads == 1:
            return "1 thread"
        return f"{self.threads} threads"


@dataclass
class Times:
    """Seconds of each run of one contestant, its memory, and what its last run returned."""

    seconds: list[float] = field(default_factory=list)
    result: Any = None
    memory: int | None = None  # Anonymous memory grew by so many bytes at its peak.

    @property
    def best(self) -> float:
        """Seconds of the fastest run: the one that other work on the machine disturbed least."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """Seconds of the median run: what a caller sees on a machine that is not idle."""
        return statistics.median(self.seconds)

    def add_growth(self, nbytes: int | None) -> None:
        """Keep the smallest growth of the runs of which the system says it."""
        if nbytes is None:
            return
        if self.memory is None or nbytes < self.memory:
            self.memory = nbytes


def time_in_turn(
    contestants: Contestants,
    rounds: int,
    *,
    calls: int = 1,
    budget: float = 8.0,
    rest: float = 0.005,
    clock: Callable[[], float] = time.perf_counter,
    before: Callable[[], object] | None = None,
    memory: bool = True,
    benchmark: BenchmarkFixture | None = None,
) -> dict[str, Times]:
    """Time contestants in turn, round by round, so that a disturbance affects all of them alike.

    The first contestant is the subject, which pytest-benchmark times, where its fixture is given;
    the others run in its set-up. A slow contestant is no longer run after `budget` seconds, once it
    has run twice; the subject always runs. A run is `calls` calls, where one is too short for the
    clock, and times are per call. Before a run, `before` is called and `rest` seconds pass,
    untimed, so that threads that still spin go to sleep. `memory` is how far anonymous memory
    grows, which means nothing where a call maps files.
    """
    times = {name: Times() for name in contestants}
    subject = next(iter(contestants))
    others = list(contestants)[1:]
    peaks: dict[str, PeakMemory] = {}

    def prepare(name: str) -> None:
        if before is not None:
            before()
        time.sleep(rest)
        if memory and len(times[name].seconds) < MEASURED_RUNS:
            peaks[name] = PeakMemory()

    def run(name: str) -> None:
        call = contestants[name]
        recorded = times[name]
        start = clock()
        for _ in range(calls):
            result = call()
        recorded.seconds.append((clock() - start) / calls)
        peak = peaks.pop(name, None)
        if peak is not None:
            recorded.add_growth(peak.growth())
        recorded.result = result

    def run_others() -> None:
        for name in others:
            seconds = times[name].seconds
            if len(seconds) < 2 or calls * sum(seconds) < budget:
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
