"""Threads, forks and instruction sets: none of them changes a count or stops it."""

from __future__ import annotations

import os
import platform
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.environment import ROOT, Run
from support.outcomes import check
from support.problems import Array, as_dtype, csr
from truerank import _core

pytestmark = pytest.mark.threads

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX processes and signals")


# --- threads of a count

SHAPES = {
    "tall": (120_000, 25, "float32"),
    "square": (2_000, 2_001, "float32"),
    "wide": (3, 1_500_001, "float32"),
    "one row": (1, 4_000_001, "float32"),
    "one row of bytes": (1, 10_000_001, "int8"),
    "wide doubles": (2, 1_500_001, "float64"),
    "square halves": (1_500, 3_003, "float16"),
    "tall brain floats": (60_000, 77, "bfloat16"),
}


def parallel_problem(name: str) -> tuple[Array, Array, Array]:
    """Return enough scores for several threads, with ties, and a target for each row."""
    height, width, dtype = SHAPES[name]
    rng = np.random.default_rng(9)
    scores = rng.integers(-100, 100, (height, width), np.int8)
    if dtype != "int8":
        scores = scores.astype(as_dtype(dtype))
    return scores, rng.integers(0, width, height), rng.integers(0, width, (height, 3))


@pytest.mark.parametrize("name", list(SHAPES))
def test_thread_counts_change_nothing(name: str, sanitized: bool) -> None:
    scores, targets, filters = parallel_problem(name)
    counts = (3, None) if sanitized else (2, 3, 4, None)
    selection = csr(filters)
    each = np.arange(len(scores))
    true_scores = scores[each, targets][:, np.newaxis]
    inside = np.ones(scores.shape, bool)
    for lists in (None, selection):
        if lists is not None:
            np.put_along_axis(inside, filters, False, axis=1)
            inside[each, targets] = True
        first = tr.rank(scores, targets, filter=lists, threads=1, audit=True)
        np.testing.assert_array_equal(first.above, ((scores > true_scores) & inside).sum(1))
        np.testing.assert_array_equal(first.tied, ((scores == true_scores) & inside).sum(1))
        np.testing.assert_array_equal(first.candidates, inside.sum(1))
        for threads in counts:
            assert tr.rank(scores, targets, filter=lists, threads=threads, audit=True) == first
    # the same in Fortran order, with as many threads
    turned = tr.rank(np.asfortranarray(scores), targets, filter=selection, audit=True)
    assert turned == first


@pytest.mark.parametrize("name", ["tall", "square", "wide", "one row"])
def test_the_first_nan_is_named_for_any_thread_count(name: str, sanitized: bool) -> None:
    scores, targets, _ = parallel_problem(name)
    height, width = scores.shape
    row = height // 2
    column = width // 2
    where = [(height - 1, width - 1), (row, width - 1), (row, column), (height - 1, column + 1)]
    for r, c in where:
        scores[r, c] = np.nan
        expected = min(where[: where.index((r, c)) + 1])
        for threads in (4,) if sanitized else (1, 2, 4):
            with pytest.raises(ValueError, match=rf"row {expected[0]}\b.*column {expected[1]}\b"):
                tr.rank(scores, targets, threads=threads)


# --- several Python threads


@pytest.mark.parametrize("threads", [None, 2])
def test_calls_from_several_threads_at_once(threads: int | None) -> None:
    rng = np.random.default_rng(1)
    problems: list[tuple[Array, list[int], dict[str, Any]]] = []
    for height, width, dtype in (
        (50, 3_000, "int8"),
        (3, 1_000_000, "float32"),
        (1_000, 1_000, "float64"),
        (50_000, 12, "float16"),
    ):
        scores = rng.integers(-9, 9, (height, width)).astype(dtype)
        keywords: dict[str, Any] = {"threads": threads, "audit": True}
        keywords["filter"] = rng.integers(0, width, (30, 20)).tolist()
        keywords["rows"] = rng.integers(0, height, 30)
        problems.append((scores, rng.integers(0, width, 30).tolist(), keywords))
        check(*problems[-1][:2], **keywords)
    scores, targets, keywords = problems[1]
    wrong = scores.copy()
    wrong[:, -1] = np.nan
    problems.append((wrong, targets, keywords))

    def outcome(i: int) -> tr.Ranks | str:
        scores, targets, keywords = problems[i]
        try:
            return tr.rank(scores, targets, **keywords)
        except ValueError as error:
            return str(error)

    expected = list(map(outcome, range(len(problems))))
    start = threading.Barrier(4)

    def work(seed: int) -> None:
        start.wait()
        for i in np.random.default_rng(seed).permutation(len(problems) * 2) % len(problems):
            assert outcome(i) == expected[i]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


def test_other_threads_run_during_a_count(run_python: Run) -> None:
    """If a count held the GIL, the ticking thread could not tick."""
    script = """
import threading, time
import numpy as np
import truerank as tr

scores = np.broadcast_to(np.arange(1_000_000, dtype=np.float32), (1000, 1_000_000))
ticks, done = 0, False
def tick():
    global ticks
    while not done:
        time.sleep(0.001)
        ticks += 1
ticker = threading.Thread(target=tick)
ticker.start()
during, end = 0, time.monotonic() + 30
while during < 50 and time.monotonic() < end:
    before = ticks
    tr.rank(scores, 0, threads=1, order="descending")
    during += max(0, ticks - before - 2)  # it may tick before the count, and after it
done = True
ticker.join()
assert during >= 50, during
"""
    run_python(script)


def test_a_reader_of_lists_that_several_threads_ask(run_python: Run) -> None:
    """A thread that waits for the reader holds the GIL: the one that reads must not ask for it."""
    script = """
import sys, threading
from truerank import _core

sys.setswitchinterval(1e-5)
text = "".join(f"q{i % 9} Q0 d{i} {i} {i}.5 tag\\n" for i in range(20_000))
documents, queries, done = _core.Names(), _core.Names(), False
def ask():
    while not done:
        assert len(documents.listed()) in (0, 20_000)
        assert len(queries.listed()) in (0, 9)
threads = [threading.Thread(target=ask) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(50):
    form = _core.RowForm(6, [0, 2], 2, 4)
    fault, codes, scores = _core.read_rows(text, form, [queries, documents])
    assert (fault, scores[-1]) == (None, 19_999.5)
done = True
for thread in threads:
    thread.join()
"""
    run_python(script)


# --- fork

# A script that begins with this asks `fork` whether work in a child of this process is right.
FORKING = """
import os, signal, warnings
warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
def fork(work):
    pid = os.fork()
    if pid == 0:
        code = 1
        signal.alarm(300)  # ends a child that hangs
        try:
            code = 0 if work() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""
COUNTS = """
import sys, threading, time
import numpy as np
import truerank as tr

scores = np.zeros((12, 1_000_000), np.float32)  # 48 MB: threads start
scores[:, 1] = 1
def right(**keywords):
    ranks = tr.rank(scores, 0, **keywords)
    small = tr.rank(scores[:2, :50], 1, **keywords)
    return (
        ranks.above.tolist() == [1] * 12
        and ranks.tied.tolist() == [999_999] * 12
        and (small.above.tolist(), small.tied.tolist()) == ([0, 0], [1, 1])
    )
"""
FORKS = {
    "before the first count": """
assert fork(right)
assert right(threads=2)
assert fork(right)
""",
    "after a parallel count": """
for threads in (None, 2):
    assert right(threads=threads)
    for child in (None, 1, 2):
        assert fork(lambda: right(threads=child)), (threads, child)
    assert right(threads=threads)
# A child of the child; then another child of the parent, which has counted since it forked.
assert fork(lambda: right() and fork(right))
assert fork(right)
""",
    "while another thread counts": """
stop = False
def count():
    while not stop:
        assert right(threads=2)
# Without the GIL, a set of Python's own stays locked in the child if two threads asked for it
# when the parent forked (CPython 3.13, without truerank too: python/cpython#144513 has the same
# cause). One thread waits for no other.
gil = getattr(sys, "_is_gil_enabled", lambda: True)()
threads = [threading.Thread(target=count) for _ in range(2 if gil else 1)]
for thread in threads:
    thread.start()
results = []
for _ in range(8):
    time.sleep(0.02)
    results.append(fork(right))
stop = True
for thread in threads:
    thread.join()
assert all(results), results
""",
}


@posix
@pytest.mark.parametrize("script", FORKS.values(), ids=FORKS)
def test_fork(run_python: Run, script: str) -> None:
    run_python(FORKING + COUNTS + script)


# --- how many threads

# Of the core alone: ten processes import nothing else.
DEFAULT = f"""
from importlib import util
spec = util.spec_from_file_location("_core", {_core.__file__!r})
core = util.module_from_spec(spec)
spec.loader.exec_module(core)
print(core.default_threads())
"""


def test_how_many_threads_the_processors_and_the_environment_ask_for(
    run_python: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OMP_NUM_THREADS has an effect without OpenMP, too; what has no meaning has none."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    everything = int(run_python(DEFAULT))
    assert 1 <= everything <= max(1, os.cpu_count() or 1)
    if hasattr(os, "sched_setaffinity"):
        pin = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        assert int(run_python(pin + DEFAULT)) == 1
    values = {"1": 1, " 2 ": min(2, everything), "2,1": min(2, everything)}
    runtime = "print(any('libomp' in line for line in open('/proc/self/maps')))"
    if not os.path.exists("/proc/self/maps") or "True" not in run_python(DEFAULT + runtime):
        # LLVM's OpenMP ends the process for some of these.
        values |= dict.fromkeys(("", "0", "-1", "1x", "99999999999999999999"), everything)
    for value, threads in values.items():
        assert int(run_python(DEFAULT, env={"OMP_NUM_THREADS": value})) == threads, value


# How many threads the process has beside those that it had before, at most, while it counts. A
# thread is known by its number, since the system lists it a little longer than it lives.
NEW_THREADS = """
import sys, threading, time
import numpy as np
import truerank as tr

height = int(sys.argv[1])
scores = np.broadcast_to(np.arange(1_000_000, dtype=np.float32), (height, 1_000_000))
def new_threads(threads):
    most, done = 0, False
    first = threading.Thread(target=int)  # beside which a sanitizer may start one of its own
    first.start()
    first.join()
    before = {*os.listdir("/proc/self/task")}
    def watch():
        nonlocal most
        known = before | {str(threading.get_native_id())}
        while not done:
            most = max(most, len({*os.listdir("/proc/self/task")} - known))
            time.sleep(0.001)
    watcher = threading.Thread(target=watch)
    watcher.start()
    tr.rank(scores, 0, threads=threads, order="descending")
    done = True
    watcher.join()
    return most
"""
needs_tasks = pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc")


@needs_tasks
@pytest.mark.parametrize(("first", "variable"), [("1", "4"), ("None", "1")])
def test_so_many_threads_are_started(
    run_python: Run, sanitized: bool, first: str, variable: str
) -> None:
    """None for one thread and for small work, or in a child: not even those of its parent."""
    script = f"""
assert new_threads({first}) == 0
large = scores
for scores in (np.zeros((10, 100), np.float32), np.zeros((100, 1000), np.float32)):
    assert new_threads(None) == 0
scores = large
assert new_threads(4) == 3
"""
    # In a child a new thread may get the id of one that its parent has: ThreadSanitizer takes that
    # one for alive there, and ends the child ("dup thread with used id").
    if "tsan" not in os.environ.get("LD_PRELOAD", ""):
        script += "assert fork(lambda: new_threads(4) == 0)"
    environment = {"OMP_NUM_THREADS": variable, "OPENBLAS_NUM_THREADS": "1"}
    # Enough for threads to be seen; a sanitizer takes longer for a quarter.
    run_python(FORKING + NEW_THREADS + script, 200 if sanitized else 800, env=environment)


@needs_tasks
@pytest.mark.skipif(getattr(os, "geteuid", int)() != 0, reason="only root can become a new user")
@pytest.mark.parametrize("allowed", [0, 2])
def test_count_where_few_threads_can_be_started(run_python: Run, allowed: int) -> None:
    """OpenMP would end the process. The limit counts the processes of a user who is not root."""
    script = """
import os, resource, sys
import numpy as np
import truerank as tr

def tasks():
    return len(os.listdir("/proc/self/task"))
def count(threads):
    assert tr.rank(scores, 0, threads=threads).tied.tolist() == [1_000_000] * 40
scores = np.broadcast_to(np.float32(0), (40, 1_000_000))
count(1)
os.setuid(1_000_000 + os.getpid())
most = tasks() + int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
for _ in range(3):
    count(32)
    assert tasks() <= most
resource.setrlimit(resource.RLIMIT_NPROC, (0, most))
count(32)
"""
    run_python(script, allowed)


# --- instruction sets

SMOKE = f"""
import pytest
from truerank import _core

print(_core.isa())
options = ["-q", "-m", "smoke", "-p", "no:cacheprovider", "-p", "no:xdist"]
raise SystemExit(pytest.main([*options, {str(ROOT / "tests/counting/test_ranking.py")!r}]))
"""


def test_every_instruction_set_counts_as_the_definition(run_python: Run) -> None:
    """Of any dtype, layout and selection; `nox -s isa` has more.

    These tests run in this process, too, under its own set.
    """
    for name in {*_core.isas()} - {_core.isa()}:
        output = run_python(SMOKE, env={"TRUERANK_ISA": name}, timeout=300)
        assert output.startswith(f"{name}\n")
        assert " passed" in output


def test_unknown_instruction_set(run_python: Run) -> None:
    of_another_processor = "avx2" if "neon" in _core.isas() else "neon"
    for name in ("sse9", of_another_processor):
        with pytest.raises(AssertionError, match=r"ImportError: .*TRUERANK_ISA") as error:
            run_python("import truerank._core", env={"TRUERANK_ISA": name})
        assert all(word in str(error.value) for word in (name, *_core.isas()))


CPUINFO = Path("/proc/cpuinfo")
AVX2 = {"sse4_2", "popcnt", "avx", "fma", "bmi1", "avx2", "bmi2"}
AVX512 = AVX2 | {f"avx512{part}" for part in ("f", "dq", "cd", "bw", "vl")}


@pytest.mark.python_only
@pytest.mark.skipif(
    platform.machine() != "x86_64" or not CPUINFO.exists(),
    reason="needs /proc/cpuinfo of x86-64",
)
def test_instruction_sets_are_those_of_the_processor() -> None:
    lines = CPUINFO.read_text().splitlines()
    flags = set(next(line for line in lines if line.startswith("flags")).split())
    required = {"baseline": set[str](), "avx2": AVX2, "avx512": AVX512}
    assert _core.isas() == [name for name in required if required[name] <= flags]
    assert _core.isa() in _core.isas()


# --- free-threaded Python


@pytest.mark.skipif(
    not hasattr(sys, "_is_gil_enabled"), reason="needs Python 3.13, free-threaded or not"
)
def test_import_does_not_turn_the_lock_on(run_python: Run) -> None:
    script = """
import sys
before = sys._is_gil_enabled()
import truerank._core
assert sys._is_gil_enabled() == before
"""
    run_python(script)
