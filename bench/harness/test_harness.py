"""The benchmark itself: exponents are fitted, memory is measured, wrong results are caught."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from baselines.compiled import PeakFMA
from baselines.files import ColdFile, pread_loop
from harness import Pair, time_in_turn
from harness.growth import fit_exponent, geometric_sizes
from harness.memory import PeakMemory
from harness.synthetic import draw_embeddings, draw_targets
from harness.table import Results, exponent_row, make_rows
from harness.timing import CLOCKS
from peers import CHECKS, Peer, Problem, numpy_scipy, prepare_peers
from peers.embeddings import EXACT, SCORING, SLOW, EmbeddingProblem, check_scores
from peers.ground_truth import count_wrong


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_an_exponent_and_its_error_are_fitted(exponent: float) -> None:
    """The error is that of the textbook's formula, and near zero without noise."""
    sizes = geometric_sizes(1e3, 1e9, 7)
    seconds = 3e-9 * np.array(sizes, float) ** exponent
    exact = fit_exponent("x", sizes, seconds)
    assert exact.exponent == pytest.approx(exponent)
    assert exact.error < 1e-9
    noise = np.random.default_rng(0).normal(0, 0.05, len(sizes))
    found = fit_exponent("x", sizes, seconds * np.exp(noise))
    (slope, _), covariance = np.polyfit(np.log(sizes), np.log(seconds) + noise, 1, cov=True)
    assert found.exponent == pytest.approx(slope)
    assert found.error == pytest.approx(math.sqrt(covariance[0, 0]))
    assert abs(found.exponent - exponent) < 4 * found.error
    assert math.isnan(fit_exponent("x", sizes[:2], seconds[:2]).error)


def test_a_goal_of_an_exponent_is_a_range() -> None:
    """Inside the range it is met, outside missed; a range from zero is an upper bound."""
    law = fit_exponent("time in bytes", [1, 2, 4], [1, 2, 4])
    assert exponent_row("case", "one", law, (0.95, 1.05)).met is True
    assert exponent_row("case", "one", law, (0.5, 0.95)).met is False
    assert exponent_row("case", "one", law, (0.0, 1.05)).goal == "<= 1.05"
    assert exponent_row("case", "one", law).met is None


def test_processor_time_is_that_of_all_threads() -> None:
    """A contestant that works in another thread takes as long as one that works in its own."""
    seconds = 0.05

    def work() -> None:
        start = time.thread_time()
        while time.thread_time() - start < seconds:
            pass

    def work_elsewhere() -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    contestants = {"here": work, "elsewhere": work_elsewhere, "waits": lambda: time.sleep(seconds)}
    times = time_in_turn(contestants, 2, clock=CLOCKS["cpu"])
    for name in ("here", "elsewhere"):
        assert seconds <= times[name].best < 1.5 * seconds, name
    assert times["waits"].best < seconds / 5


POOLS = """
import os, sys
import numpy  # its BLAS is loaded before contestants are held
sys.path[:0] = sys.argv[1:]
from harness.timing import hold_to_one_thread
hold_to_one_thread()
import threadpoolctl
import truerank
from truerank import _core
assert _core.default_threads() == 1, _core.default_threads()
pools = threadpoolctl.threadpool_info()
assert all(pool["num_threads"] == 1 for pool in pools), pools
try:
    import numba
except ImportError:
    pass
else:
    assert numba.get_num_threads() == 1
"""


def test_contestants_have_one_thread_each() -> None:
    """Neither we nor BLAS nor numba counts on more, though nobody asks them for one."""
    bench = str(Path(__file__).parents[1])
    environment = {name: x for name, x in os.environ.items() if not name.endswith("_NUM_THREADS")}
    command = [sys.executable, "-c", POOLS, bench]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_the_command_of_readme_chooses_cases_of_one_thread() -> None:
    """Each of its words has one: those of all threads are skipped where there is one thread."""
    bench = Path(__file__).parents[1]
    (words,) = re.findall(r'pytest bench .*-k "(.+)"', (bench.parent / "README.md").read_text())
    command = [sys.executable, "-m", "pytest", str(bench), "--collect-only", "-q", "-k", words]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    one_thread = [line for line in ended.stdout.splitlines() if "[all" not in line]
    for word in words.split(" or "):
        assert any(word in line for line in one_thread), word


@pytest.mark.skipif(PeakMemory().growth() is None, reason="the system does not tell the peak")
def test_memory_is_the_peak_of_a_call() -> None:
    """Memory that a call allocates and frees counts; memory shared with its input does not."""
    array = np.ones(1 << 22)
    times = time_in_turn(
        {
            "allocates and frees": lambda: (array + 1).sum(),
            "allocates nothing": lambda: array[::2].sum(),
        },
        3,
    )
    allocated, shared = (times[name].memory for name in times)
    assert allocated is not None
    assert shared is not None
    assert array.nbytes * 0.9 < allocated < array.nbytes * 1.2
    assert shared < array.nbytes * 0.2


def test_wrong_results_are_caught() -> None:
    """Counts that are off by one do not pass any of the checks."""
    scores = np.random.default_rng(0).integers(0, 50, (20, 100)).astype(np.float32)
    above, tied = numpy_scipy.numpy_by_row(scores, draw_targets(scores.shape))
    results = {
        "counts": (above, tied),
        "realistic ranks": above + (tied + 1) / 2,
        "positions": above + tied,
    }
    assert results.keys() == CHECKS.keys()
    for name, check in CHECKS.items():
        check(results[name], above, tied)
        with pytest.raises(AssertionError):
            check(results[name], above + tied, tied)


@pytest.fixture
def problem() -> EmbeddingProblem:
    """A problem for the peers of embeddings, with more queries than they score at once."""
    queries, entities = draw_embeddings((300, 40), 10)
    return EmbeddingProblem(queries, entities, draw_targets((300, 40)), 1)


@pytest.mark.parametrize("similarity", EXACT)
def test_peers_compute_the_similarity(similarity: str, problem: EmbeddingProblem) -> None:
    """Scores and distances are near those of float64; a wrong sign or 0.1 % is caught."""
    for name, peer in {**SCORING.get(similarity, {}), **SLOW.get(similarity, {})}.items():
        if not all(map(find_spec, peer.packages)):
            continue
        result = peer.prepare(problem)()
        if peer.returns not in ("scores", "distances"):
            scores = problem.queries @ problem.entities.T
            above, tied = numpy_scipy.numpy_by_row(scores, problem.targets)
            assert np.mean((result[0] == above) & (result[1] == tied)) > 0.9, name
            continue
        check_scores(result, problem, similarity, peer.returns)
        for wrong in (-result, result * 1.001):
            with pytest.raises(AssertionError):
                check_scores(wrong, problem, similarity, peer.returns)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_wrong_neighbours_are_caught(dtype: str) -> None:
    """Those of a tie at the border are right alike; float32 may be wrong by a rounding alone."""
    entities = np.array([[0], [2], [4], [4], [100]], dtype)
    if dtype == "float32":
        entities[3] += 1e-6
    problem = EmbeddingProblem(np.ones((1, 1), dtype), entities, np.zeros(1, np.int64), 1)
    for ids, wrong in (([0, 1, 2], 0), ([3, 1, 0], int(dtype == "float32"))):
        assert count_wrong({"ours": np.array([ids])}, problem) == {"ours": wrong}
    for ids in ([0, 1, 4], [0, 1, 1], [0, 2, 3]):
        with pytest.raises(AssertionError, match="theirs"):
            count_wrong({"theirs": np.array([ids])}, problem)


def test_multiply_adds_are_counted(peak: PeakFMA | None) -> None:
    """The number depends on the rounds, the dtype and the threads."""
    if peak is None:
        pytest.skip("no peak of multiply-adds here")
    one = peak.run("float32", 1, 1)
    assert one % 12_000 == 0
    assert peak.run("float32", 3, 1) == 3 * one
    assert peak.run("float64", 2, 1) == one
    assert peak.run("float32", 1, 2) in (one, 2 * one)  # Without OpenMP there is one thread.


def test_a_missing_peer_is_a_remark() -> None:
    """The peer is left out, and one remark says so."""
    results = Results()
    problem = Problem(np.ones((2, 3), np.float32), np.array([0, 1]), 1)
    peers = {"theirs": Peer(("no_such_package",), lambda _: lambda: None), **numpy_scipy.SORTING}
    for _ in range(2):
        assert prepare_peers(peers, problem, results).keys() == numpy_scipy.SORTING.keys()
    assert results.remarks == ["theirs: skipped, no_such_package not installed"]


@pytest.mark.skipif(not hasattr(os, "preadv"), reason="needs pread")
def test_files_are_read_to_their_end_and_dropped(tmp_path: Path) -> None:
    """Loops end with any number of threads; the content does not depend on the cache."""
    scores = np.random.default_rng(0).random((100, 99), np.float32)
    file = ColdFile(tmp_path / "scores.npy", scores)
    for threads in (1, 2, 3):
        pread_loop(file.path, threads)()
    if file.can_drop():
        file.drop()
    np.testing.assert_array_equal(np.load(file.path), scores)
    targets = draw_targets(scores.shape)
    expected = numpy_scipy.numpy_idiom(scores, targets)
    CHECKS["counts"](expected, *numpy_scipy.numpy_by_row(scores, targets))
    ranks = tr.rank(file.path, targets)
    CHECKS["counts"]((ranks.above, ranks.tied), *expected)


def test_the_table_is_written_as_it_is_printed(tmp_path: Path) -> None:
    """Markdown and JSON have the same rows; JSON has the charts as well."""
    results = Results()
    times = time_in_turn({"ours": lambda: None, "theirs": lambda: None}, 2)
    results.rows += make_rows("case", times, [Pair("ours", "theirs", goal=0.0)], {"ours": 8})
    results.chart("title", "x", "y").add("read pass", 1.0, 2.0)
    markdown, json_file = results.write(tmp_path)
    fields = json.loads(json_file.read_text(encoding="utf-8"))
    assert [row["contestant"] for row in fields["rows"]] == ["ours", "theirs"]
    assert fields["rows"][0]["met"] is True
    assert fields["charts"]["title"]["lines"] == {"read pass": [[1.0, 2.0]]}
    assert markdown.read_text(encoding="utf-8").count("\n| case | ") == 1 + 2
