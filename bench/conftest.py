"""Options and fixtures of the benchmark; the table is printed at the end of the run."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # whatever way pytest imports this file
from fair_clock import describe, drop_settings, load

drop_settings()
load("numpy")  # before all that imports it

import truerank as tr
from baselines.compiled import PeakFMA, ReadPass
from harness import Compare, Results, Team
from harness.memory import available_memory
from harness.plots import draw
from harness.synthetic import FULL, QUICK, Pool, Sizes
from harness.timing import CLOCKS, hold_to_one_thread
from truerank import _core

collect_ignore = ["studies/test_size.py"]  # It is no test, but a study of the size of one.
RESULTS = pytest.StashKey[Results]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --quick, --rounds, --clock and --bench-out."""
    group = parser.getgroup("truerank benchmark")
    group.addoption("--quick", action="store_true", help="small matrices and few rounds")
    group.addoption("--rounds", type=int, metavar="N", help="runs of each contestant")
    group.addoption(
        "--clock",
        choices=sorted(CLOCKS),
        default="wall",
        help="cpu: processor time, and one thread for each contestant; for a busy machine",
    )
    group.addoption(
        "--bench-out", type=Path, metavar="DIR", help="directory for the table and the plots"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Prepare the table; pytest-benchmark's own table is printed only with -v."""
    if config.getoption("--clock") == "cpu":
        hold_to_one_thread()
    config.stash[RESULTS] = Results()
    if config.getoption("verbose") < 1:
        config.option.benchmark_quiet = True


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the table; with --bench-out, write it and draw the plots."""
    results = config.stash[RESULTS]
    if not results.rows:
        return
    results.facts["load average at the end"] = _load_average()
    directory: Path | None = config.getoption("--bench-out")
    plots = []
    if directory is not None:
        plots = draw(results, directory)  # first: it may add a remark
    terminalreporter.section("ratios, measured in this run")
    for line in results.lines():
        terminalreporter.write_line(line)
    if directory is not None:
        for path in results.write(directory) + plots:
            terminalreporter.write_line(f"wrote {path}")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    names.append(platform.processor())
    return names[0]


def _load_average() -> str:
    if not hasattr(os, "getloadavg"):
        return "unknown"
    return ", ".join(f"{load:.1f}" for load in os.getloadavg())


@pytest.fixture(scope="session")
def threads() -> int:
    """All threads: what truerank uses when `threads` is not given."""
    return int(_core.default_threads())


@pytest.fixture(params=["one", "all"])
def team(request: pytest.FixtureRequest, threads: int) -> Team:
    """One thread, then all, if they are more: a case with this fixture runs with each."""
    if request.param == "one":
        return Team(1, 1)
    if threads == 1:
        pytest.skip("there is one thread")
    return Team(None, threads)


@pytest.fixture(scope="session")
def sizes(request: pytest.FixtureRequest) -> Sizes:
    """The shapes of this run."""
    quick = request.config.getoption("--quick")
    rounds: int | None = request.config.getoption("--rounds")
    chosen = QUICK if quick else FULL
    if rounds is not None:
        chosen = replace(chosen, rounds=rounds)
    return chosen


@pytest.fixture(scope="session")
def results(pytestconfig: pytest.Config, threads: int, sizes: Sizes) -> Results:
    """The results of this run, headed by facts about the machine."""
    results = pytestconfig.stash[RESULTS]
    size = "quick" if sizes.quick else "full"
    openmp = "yes" if _core.openmp() else "no"
    results.facts |= {
        "machine": f"{_processor()}, {os.cpu_count()} processors, {threads} threads",
        "mode": f"{size}, {sizes.rounds} rounds, {pytestconfig.getoption('--clock')} clock",
        "truerank": f"{tr.__version__}, {_core.isa()}, OpenMP {openmp}",
        "python": f"{platform.python_version()}, {sys.platform}",
        "numpy": describe("numpy"),
        "load average at the start": _load_average(),
    }
    return results


@pytest.fixture(scope="session")
def pool(sizes: Sizes, threads: int) -> Pool:
    """The scores that every case cuts its matrices from."""
    nbytes = 4 * sizes.pool
    available = available_memory()
    if available is not None and available < 1.2 * nbytes:
        pytest.skip(f"{nbytes / 1e9:.1f} GB of scores do not fit: {available / 1e9:.1f} GB left")
    return Pool(sizes.pool, threads)


@pytest.fixture
def require_memory() -> Callable[[float], None]:
    """A function that skips the case where less than that many bytes of memory are left."""

    def require(nbytes: float) -> None:
        available = available_memory()
        if available is not None and available < nbytes:
            pytest.skip(f"needs {nbytes / 1e9:.1f} GB of memory, {available / 1e9:.1f} GB left")

    return require


@pytest.fixture(scope="session")
def read_pass(results: Results, pool: Pool, sizes: Sizes, threads: int) -> ReadPass:
    """The read-only pass, built and tuned on this machine for one thread and for all."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            compiled = ReadPass(Path(directory))
        except OSError as error:
            pytest.skip(str(error))
    if not compiled.openmp:
        results.add_remark("the read pass was built without OpenMP: it has one thread in all cases")
    scores = pool.matrix(sizes.many)
    for count in sorted({1, threads}):
        speeds = compiled.tune(scores, count, max(3, sizes.rounds // 3))
        fastest, rate = next(iter(speeds.items()))
        slowest = min(speeds.values())
        text = f"{fastest}: {rate:.1f} GB/s; slowest of {len(speeds)} variants {slowest:.1f}"
        results.facts[f"read pass, {Team(count, count)}"] = text
    return compiled


@pytest.fixture(scope="session")
def peak(results: Results) -> PeakFMA | None:
    """Multiply-adds alone, built on this machine; None where that fails."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            return PeakFMA(Path(directory), _core.isa())
        except OSError as error:
            results.add_remark(str(error))
            return None


@pytest.fixture
def compare(benchmark: Any, results: Results, sizes: Sizes, pytestconfig: pytest.Config) -> Compare:
    """Run contestants in turn, check that they agree, and put their ratios on the table."""
    clock = CLOCKS[pytestconfig.getoption("--clock")]
    return Compare(benchmark, results, sizes.rounds, sizes.budget, clock)
