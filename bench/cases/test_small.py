"""Small calls: the cost of a call, and of threads beside a process that occupies a core."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from baselines.compiled import CountRows
from harness import Compare, Pair, Results, Team
from harness.synthetic import Pool, Shape, Sizes, draw_targets
from peers import Problem, prepare_peers
from peers.numpy_scipy import COUNTING, numpy_idiom

SHAPES: dict[str, Shape] = {
    "10 x 100": (10, 100),
    "1 MB": (100, 2_500),
    "4 MB": (100, 10_000),
    "8 MB": (100, 20_000),
    "16 MB": (400, 10_000),
    "64 MB": (1_600, 10_000),
}
QUICK_SHAPES = ("10 x 100", "4 MB", "16 MB")


def test_call_overhead(compare: Compare, pool: Pool) -> None:
    """10 x 100 scores: nearly all of the time is the call itself."""
    scores = pool.matrix((10, 100)).copy()
    targets = draw_targets((10, 100))
    row = scores[0]
    empty = np.empty(0, np.float32)
    single = int(targets[0])
    times = compare(
        "10 x 100, one call",
        {
            "truerank": lambda: tr.rank(scores, targets),
            "truerank, 1-D": lambda: tr.rank(row, single),
            "numpy, > and ==": lambda: numpy_idiom(scores, targets),
            "numpy, sum of nothing": lambda: empty.sum(),
        },
        [
            Pair("truerank", "numpy, > and ==", "cost", goal=1.0),
            Pair("truerank", "numpy, sum of nothing", "cost"),
            Pair("truerank, 1-D", "numpy, sum of nothing", "cost"),
        ],
        calls=2000,
        rounds=15,
        agree=False,
    )
    above, tied = times["numpy, > and =="].result
    ranks = times["truerank"].result
    np.testing.assert_array_equal(ranks.above, above)
    np.testing.assert_array_equal(ranks.tied, tied)


BESIDE_NUMBA = {100: 1.2}  # by columns, how many times numba's time is the goal


@pytest.mark.parametrize("columns", [10, 30, 100, 300])
def test_short_rows(columns: int, compare: Compare, results: Results, pool: Pool) -> None:
    """One positive and some negatives for each user, as recommenders are tested."""
    shape = (6_040, columns)  # MovieLens has so many users.
    scores = pool.matrix(shape)
    targets = np.zeros(shape[0], np.int64)
    name = "numba, one loop"
    peers = prepare_peers({name: COUNTING[name]}, Problem(scores, targets, 1), results)
    compare(
        f"6,040 x {columns}, the first is true",
        {
            "truerank": lambda: tr.rank(scores, targets, threads=1),
            "numpy, > and ==": lambda: numpy_idiom(scores, targets),
            **peers,
        },
        [
            Pair("truerank", "numpy, > and ==", "speed", goal=3.0),
            *(Pair("truerank", peer, "cost", goal=BESIDE_NUMBA.get(columns)) for peer in peers),
        ],
    )


# Columns, and how many times the time of the compiled loop is the goal.
LOOPS = {10: 2.0, 30: 1.0, 100: 1.2, 300: 1.0, 1_000: 0.9}
LOOP_SCORES = 4_000_000  # 16 MB


@pytest.mark.parametrize("columns", LOOPS)
def test_rows_against_loops(
    columns: int, compare: Compare, results: Results, pool: Pool, team: Team, tmp_path: Path
) -> None:
    """Loops that a user would compile, whose counts go into arrays that were made before."""
    shape = (LOOP_SCORES // columns, columns)
    scores = pool.matrix(shape)
    targets = draw_targets(shape)
    problem = Problem(scores, targets, team.threads)
    contestants: dict[str, Callable[[], Any]] = {
        "truerank": lambda: tr.rank(scores, targets, threads=team.argument)
    }
    name = "numba, one loop"
    contestants |= prepare_peers({name: COUNTING[name]}, problem, results)
    try:
        contestants["C, one loop"] = CountRows(tmp_path).contestant(scores, targets, team.threads)
    except OSError as error:
        results.add_remark(str(error))
    compare(
        f"{shape[0]:,} rows of {columns:,}, {team}",
        contestants,
        [
            Pair("truerank", name, "cost", goal=LOOPS[columns])
            for name in contestants
            if name != "truerank"
        ],
        nbytes=scores.nbytes,
    )


@contextmanager
def beside_busy_core() -> Iterator[None]:
    """Run another process that occupies a core; it ends by itself if this one is killed."""
    code = "import time\nend = time.time() + 300\nwhile time.time() < end: pass"
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        try:
            yield
        finally:
            process.kill()


@pytest.mark.parametrize("context", [nullcontext, beside_busy_core], ids=["quiet", "busy"])
@pytest.mark.parametrize("name", SHAPES)
def test_threads_for_small_work(
    name: str,
    context: Callable[[], AbstractContextManager[None]],
    compare: Compare,
    pool: Pool,
    sizes: Sizes,
    threads: int,
) -> None:
    """The default number of threads against one and all: it should never be much the slowest."""
    if sizes.quick and name not in QUICK_SHAPES:
        pytest.skip("only in full mode")
    shape = SHAPES[name]
    scores = pool.matrix(shape)
    targets = draw_targets(shape)
    beside = "alone" if context is nullcontext else "beside a busy core"
    rounds = 50 if sizes.quick else 200
    with context():
        compare(
            f"{name}, {beside}",
            {
                "threads=None": lambda: tr.rank(scores, targets),
                "threads=1": lambda: tr.rank(scores, targets, threads=1),
                f"threads={threads}": lambda: tr.rank(scores, targets, threads=threads),
            },
            [Pair("threads=None", "threads=1", "cost")],
            nbytes=scores.nbytes,
            rounds=rounds,
            statistics=("best", "median"),
            rest=0.001,
        )
