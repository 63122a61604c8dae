"""Options, shared matrices and the final table of the benchmark."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import truerank as tr
from harness import Compare, Contestants, Pair, Team, Times, ratio
from peak import PeakFMA
from plots import draw
from read_pass import ReadPass
from synthetic import FULL, QUICK, Pool, Sizes, memory_left
from table import Board, rows_of
from truerank import _core

BOARD = pytest.StashKey[Board]()
CLOCKS = {"wall": time.perf_counter, "cpu": time.thread_time}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --quick, --rounds, --clock and --bench-out."""
    group = parser.getgroup("truerank benchmark")
    group.addoption("--quick", action="store_true", help="small matrices and few rounds")
    group.addoption("--rounds", type=int, metavar="N", help="runs of each contestant")
    group.addoption(
        "--clock",
        choices=sorted(CLOCKS),
        default="wall",
        help="cpu: processor time of the calling thread; with -k one, on a busy machine",
    )
    group.addoption("--bench-out", type=Path, metavar="DIR", help="write table and plots there")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Prepare the table; it replaces pytest-benchmark's own unless -v asks for both."""
    config.stash[BOARD] = Board()
    if config.getoption("verbose") < 1:
        config.option.benchmark_quiet = True


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the table; write it, and draw, where --bench-out says."""
    board = config.stash[BOARD]
    if not board.rows:
        return
    board.facts["load average at the end"] = _load()
    directory: Path | None = config.getoption("--bench-out")
    plots = [] if directory is None else draw(board, directory)  # it may have a remark to add
    terminalreporter.section("ratios, measured in this run")
    for line in board.lines():
        terminalreporter.write_line(line)
    if directory is not None:
        for path in board.write(directory) + plots:
            terminalreporter.write_line(f"wrote {path}")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _load() -> str:
    loads = os.getloadavg() if hasattr(os, "getloadavg") else ()
    return ", ".join(f"{load:.1f}" for load in loads) or "unknown"


@pytest.fixture(scope="session")
def threads() -> int:
    """All threads: what truerank uses when `threads` is not given."""
    return int(_core.default_threads())


@pytest.fixture(params=["one", "all"])
def team(request: pytest.FixtureRequest, threads: int) -> Team:
    """One thread, then all: a case that asks for it runs with either."""
    return Team(1, 1) if request.param == "one" else Team(None, threads)


@pytest.fixture(scope="session")
def sizes(request: pytest.FixtureRequest) -> Sizes:
    """The shapes of this run."""
    quick = request.config.getoption("--quick")
    rounds: int | None = request.config.getoption("--rounds")
    chosen = QUICK if quick else FULL
    return chosen if rounds is None else replace(chosen, rounds=rounds)


@pytest.fixture(scope="session")
def board(pytestconfig: pytest.Config, threads: int, sizes: Sizes) -> Board:
    """The table of this run, headed by what it was measured on."""
    board = pytestconfig.stash[BOARD]
    size = "quick" if sizes.quick else "full"
    board.facts |= {
        "machine": f"{_processor()}, {os.cpu_count()} processors, {threads} threads",
        "mode": f"{size}, {sizes.rounds} rounds, {pytestconfig.getoption('--clock')} clock",
        "truerank": f"{tr.__version__}, {_core.isa()}, OpenMP {'yes' if _core.openmp() else 'no'}",
        "python": f"{platform.python_version()}, numpy {np.__version__}, {sys.platform}",
        "load average at the start": _load(),
    }
    return board


@pytest.fixture(scope="session")
def pool(sizes: Sizes, threads: int) -> Pool:
    """The scores that every case cuts its matrices from."""
    left = memory_left()
    if left is not None and left < 4 * sizes.pool * 1.2:
        pytest.skip(f"{4 * sizes.pool / 1e9:.1f} GB of scores do not fit: {left / 1e9:.1f} GB left")
    return Pool(sizes.pool, threads)


@pytest.fixture
def room() -> Callable[[float], None]:
    """Skip the case where less than this many bytes of memory are left."""

    def need(nbytes: float) -> None:
        left = memory_left()
        if left is not None and left < nbytes:
            pytest.skip(f"needs {nbytes / 1e9:.1f} GB of memory, {left / 1e9:.1f} GB left")

    return need


@pytest.fixture(scope="session")
def read_pass(board: Board, pool: Pool, sizes: Sizes, threads: int) -> ReadPass:
    """The read-only pass, built and tuned on this machine for one thread and for all."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            built = ReadPass(Path(directory))
        except OSError as error:
            pytest.skip(str(error))
    if not built.openmp:
        board.remarks.append(
            "the read pass was built without OpenMP: one thread reads in every case"
        )
    scores = pool.matrix(sizes.many)
    for count in sorted({1, threads}):
        speeds = built.tune(scores, count, max(3, sizes.rounds // 3))
        best, rate = next(iter(speeds.items()))
        said = f"{best}: {rate:.1f} GB/s; slowest of {len(speeds)} ways {min(speeds.values()):.1f}"
        board.facts[f"read pass, {Team(count, count)}"] = said
    return built


@pytest.fixture(scope="session")
def peak(board: Board) -> PeakFMA | None:
    """The multiply-adds that wait for nothing, built on this machine; None where that fails."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            return PeakFMA(Path(directory), _core.isa())
        except OSError as error:
            board.remark(str(error))
            return None


@pytest.fixture
def compare(benchmark: Any, board: Board, sizes: Sizes, pytestconfig: pytest.Config) -> Compare:
    """Run contestants in turn, check that they agree, and put their ratios on the table."""
    clock = CLOCKS[pytestconfig.getoption("--clock")]

    def run(
        case: str,
        contestants: Contestants,
        pairs: Sequence[Pair] | Callable[[Mapping[str, Times]], Sequence[Pair]],
        *,
        nbytes: int | Mapping[str, int] = 0,
        rounds: int | None = None,
        agree: bool = True,
        show: bool = True,
        statistics: Sequence[Literal["best", "median"]] = ("best",),
        unit: str = "",
        **options: Any,
    ) -> dict[str, Times]:
        options = {"budget": sizes.budget, "benchmark": benchmark, "clock": clock} | options
        times = ratio(contestants, rounds or sizes.rounds, **options)
        if agree:
            assert_agree(times)
        if isinstance(nbytes, int):
            nbytes = dict.fromkeys(contestants, nbytes) if nbytes else {}
        shown = pairs(times) if callable(pairs) else pairs
        for statistic in statistics if show else ():
            title = case if len(statistics) == 1 else f"{case}, {statistic}"
            rows = rows_of(title, times, shown, nbytes, statistic, unit)
            board.rows += rows
            for row in rows:
                if row.ratio is not None:
                    found = f"{row.contestant} / {row.baseline} ({row.kind}, {statistic})"
                    benchmark.extra_info[found] = row.ratio
        return times

    return run


def assert_agree(times: Mapping[str, Times]) -> None:
    """Every contestant that counted has the same `above` and `tied`."""
    counted = {name: counts(t.result) for name, t in times.items() if t.result is not None}
    reference, *others = counted
    for name in others:
        for mine, yours in zip(counted[reference], counted[name], strict=True):
            np.testing.assert_array_equal(mine, yours, err_msg=f"{reference} and {name} differ")


def counts(result: Any) -> tuple[Any, Any]:
    """`above` and `tied` of Ranks or of a baseline."""
    return result if isinstance(result, tuple) else (result.above, result.tied)
