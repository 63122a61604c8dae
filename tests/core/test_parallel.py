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
from support.environment import Run
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
def test_thread_counts_change_nothing(name: str) -> None:
    scores, targets, filters = parallel_problem(name)
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
        for threads in (2, 3, 4, None):
            assert tr.rank(scores, targets, filter=lists, threads=threads, audit=True) == first
    # the same in Fortran order, with as many threads
    turned = tr.rank(np.asfortranarray(scores), targets, filter=selection, audit=True)
    assert turned == first


@pytest.mark.parametrize("name", ["tall", "square", "wide", "one row"])
def test_the_first_nan_is_named_for_any_thread_count(name: str) -> None:
    scores, targets, _ = parallel_problem(name)
    height, width = scores.shape
    row = height // 2
    column = width // 2
    where = [(height - 1, width - 1), (row, width - 1), (row, column), (height - 1, column + 1)]
    for r, c in where:
        scores[r, c] = np.nan
        expected = min(where[: where.index((r, c)) + 1])
        for threads in (1, 2, 4):
            with pytest.raises(ValueError, match=rf"row {expected[0]}\b.*column {expected[1]}\b"):
                tr.rank(scores, targets, threads=threads)


# --- several Python threads


@pytest.mark.parametrize("threads", [None, 2])
def test_calls_from_several_threads_at_once(threads: int | None) -> None:
    rng = np.random.default_rng(1)
    problems: list[tuple[Array, dict[str, Any]]] = []
    for shape, dtype in (
        ((3, 40), "float32"),
        ((50, 3_000), "int8"),
        ((3, 1_000_000), "float32"),
        ((1_000, 1_000), "float64"),
        ((50_000, 12), "float16"),
    ):
        scores = rng.integers(-9, 9, shape).astype(dtype)
        rows = rng.integers(0, shape[0], 30)
        filter = [rng.integers(0, shape[1], 20).tolist() for _ in rows]
        targets = rng.integers(0, shape[1], 30).tolist()
        problems.append((scores, {"targets": targets, "rows": rows, "filter": filter}))
    wrong = problems[2][0].copy()
    wrong[:, 999_999] = np.nan
    problems.append((wrong, problems[2][1]))

    def counted(i: int) -> tr.Ranks | str:
        scores, given = problems[i]
        try:
            return tr.rank(scores, **given, threads=threads, audit=True)
        except ValueError as error:
            return str(error)

    for scores, given in problems:
        check(scores, **given, threads=threads, audit=True)
    expected = list(map(counted, range(len(problems))))
    start = threading.Barrier(4)

    def work(seed: int) -> None:
        order = np.random.default_rng(seed).permutation(len(problems) * 2) % len(problems)
        start.wait()
        assert all(counted(i) == expected[i] for i in order)

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
    tr.rank(scores, 0, threads=1)
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

FORK = """
import os, signal, sys, threading, time, warnings
import numpy as np
import truerank as tr

warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
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
def wait(pid, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "hangs"
def fork(work):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if work() else 2
        finally:
            os._exit(code)
    return wait(pid)
"""


FORKS = {
    "before the first count": """
assert fork(right) == 0
assert right(threads=2)
assert fork(right) == 0
""",
    "after a parallel count": """
for threads in (None, 2):
    assert right(threads=threads)
    for child in (None, 1, 2):
        assert fork(lambda: right(threads=child)) == 0, (threads, child)
    assert right(threads=threads)
# A child of the child; then another child of the parent, which has counted since it forked.
assert fork(lambda: right() and fork(right) == 0) == 0
assert fork(right) == 0
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
assert results == [0] * 8, results
""",
}


@posix
@pytest.mark.parametrize("script", FORKS.values(), ids=FORKS)
def test_fork(run_python: Run, script: str) -> None:
    run_python(FORK + script)


# --- how many threads

DEFAULT = "from truerank import _core; print(_core.default_threads())"


def test_how_many_threads_the_processors_and_the_environment_ask_for(
    run_python: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OMP_NUM_THREADS has an effect without OpenMP, too; what has no meaning has none."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    everything = int(run_python(DEFAULT))
    assert 1 <= everything <= max(1, os.cpu_count() or 1)
    if everything > 1:
        for value, threads in (("1", 1), (" 2 ", 2), ("2,1", 2)):
            assert int(run_python(DEFAULT, env={"OMP_NUM_THREADS": value})) == threads
    if hasattr(os, "sched_setaffinity"):
        pin = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        assert int(run_python(pin + DEFAULT)) == 1
    runtime = "print(any('libomp' in line for line in open('/proc/self/maps')))"
    if os.path.exists("/proc/self/maps") and run_python(f"{DEFAULT}; {runtime}").endswith("True\n"):
        pytest.skip("LLVM's OpenMP ends the process for some of the others")
    for value in ("", "0", "-1", "1x", "99999999999999999999"):
        assert int(run_python(DEFAULT, env={"OMP_NUM_THREADS": value})) == everything


# How many threads the process has beside those that it had before, at most, while it counts. A
# thread is known by its number, since the system lists it a little longer than it lives.
NEW_THREADS = """
import os, sys, threading, time, warnings
import numpy as np
import truerank as tr

warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
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
    tr.rank(scores, 0, threads=threads)
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
if hasattr(os, "fork"):
    pid = os.fork()
    if pid == 0:
        code = -1
        try:
            code = new_threads(4)
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""
    environment = {"OMP_NUM_THREADS": variable, "OPENBLAS_NUM_THREADS": "1"}
    # Enough for threads to be seen; a sanitizer takes as long for a tenth.
    run_python(NEW_THREADS + script, 200 if sanitized else 2000, env=environment)


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

DIGEST = """
import hashlib
import ml_dtypes
import numpy as np
import truerank as tr
from truerank import _core

rng = np.random.default_rng(2024)
digest = hashlib.sha256()
def add(*arguments, **options):
    ranks = tr.rank(*arguments, nan="worst", **options)
    for array in (ranks.above, ranks.tied, ranks.candidates, *(ranks.audit or ())):
        digest.update(array.tobytes())
names = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
for dtype in [np.dtype(name) for name in names] + [np.dtype(ml_dtypes.bfloat16)]:
    for height, width in ((1, 1), (3, 17), (9, 31), (5, 64), (4, 257), (2, 17_003), (3, 400_000)):
        for mask in (0xFF, 0xC1):  # any bits, and few distinct scores
            raw = rng.integers(0, 256, (height, width * dtype.itemsize), np.uint8) & mask
            scores = raw.view(dtype)
            for laid in (scores, np.asfortranarray(scores), scores[::-1, ::-1]):
                add(laid, width // 2, audit=True)
                add(laid, width - 1, order="ascending")
            for tasks in (2, 40):
                rows, targets = (rng.integers(0, n, tasks) for n in (height, width))
                filter = [rng.integers(0, width, 5) for _ in rows]
                add(scores, targets, rows=rows, audit=True)
                add(scores, targets, rows=rows, filter=filter, order="ascending", threads=3)
print(_core.isa(), digest.hexdigest())
"""


def test_instruction_sets_change_nothing(run_python: Run) -> None:
    digests = set()
    for name in _core.isas():
        isa, digest = run_python(DIGEST, env={"TRUERANK_ISA": name}, timeout=120).split()
        assert isa == name
        digests.add(digest)
    assert len(digests) == 1


def test_unknown_instruction_set(run_python: Run) -> None:
    script = """
try:
    import truerank._core
except ImportError as error:
    print(error)
else:
    raise SystemExit("imported")
"""
    of_another_processor = "avx2" if "neon" in _core.isas() else "neon"
    for name in ("sse9", "AVX-2000", of_another_processor):
        message = run_python(script, env={"TRUERANK_ISA": name})
        assert "TRUERANK_ISA" in message
        assert name in message
        for isa in _core.isas():
            assert isa in message


CPUINFO = Path("/proc/cpuinfo")
REQUIRED_FLAGS = {
    "baseline": set(),
    "avx2": {"sse4_2", "popcnt", "avx", "fma", "bmi1", "avx2", "bmi2"},
}
REQUIRED_FLAGS["avx512"] = REQUIRED_FLAGS["avx2"] | {
    f"avx512{part}" for part in ("f", "dq", "cd", "bw", "vl")
}


@pytest.mark.python_only
@pytest.mark.skipif(
    platform.machine() != "x86_64" or not CPUINFO.exists(),
    reason="needs /proc/cpuinfo of x86-64",
)
def test_instruction_sets_are_those_of_the_processor() -> None:
    lines = CPUINFO.read_text().splitlines()
    flags = set(next(line for line in lines if line.startswith("flags")).split())
    assert _core.isas() == [name for name, required in REQUIRED_FLAGS.items() if required <= flags]
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
