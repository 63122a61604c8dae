"""Ctrl-C and other signals stop a count soon, whatever it is doing, and break nothing."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

import truerank as tr
from core.test_parallel import FORKING
from support.environment import Run

pytestmark = pytest.mark.threads

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX processes and signals")

INTERRUPT = """
import os, signal, sys, threading, time
import numpy as np
import truerank as tr

signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs the tests may ignore it
sent = []
def fire(delay):
    time.sleep(delay)
    sent.append((time.process_time(), time.perf_counter()))
    os.kill(os.getpid(), signal.SIGINT)
def interrupt(problem, threads, delay=0.4):
    # Returns the seconds from the signal to the exception in which each thread was at work, or a
    # tenth of all that passed if that is more: other programs may keep the processors busy.
    args, keywords = problem()
    thread = threading.Thread(target=fire, args=(delay,))
    try:
        thread.start()
        tr.rank(*args, threads=threads, **keywords)
    except KeyboardInterrupt:
        work, passed = time.process_time() - sent[-1][0], time.perf_counter() - sent[-1][1]
        seconds = max(work / (threads or os.cpu_count()), passed / 10)
    else:
        os._exit(3)  # the count ended by itself
    thread.join()
    return seconds
def small():
    ranks = tr.rank(np.array([[1.0, 3.0, 2.0, 1.0]]), 0)
    assert (ranks.above.tolist(), ranks.tied.tolist()) == ([2], [2])
    big = np.zeros((12, 1_000_000), np.float32)
    assert tr.rank(big, 0).tied.tolist() == [1_000_000] * 12

# Each of these takes seconds to count. None of the score matrices takes much memory: their rows
# overlap, or are the same.
line = np.arange(3_000_000, dtype=np.float32)
row = line[:1_000_000]
tasks = np.arange(4_000_000)
def strided(width, column_stride):
    strides = 4, column_stride
    return np.lib.stride_tricks.as_strided(line, (1_500_000, width), strides, writeable=False)
def equal(height, width, dtype=np.float32):
    return np.broadcast_to(dtype(1), (height, width))
def disordered():
    # What takes long is to sort the filter's list, not to count.
    indices = np.random.default_rng(0).integers(0, 2**30, 30_000_000, np.int32)
    return (equal(1, 2**30), [0]), {"filter": (np.array([0, len(indices)]), indices)}
problems = {
    "rows": lambda: ((strided(1_000_000, 4), 0), {}),
    "audit": lambda: ((strided(1_000_000, 4), 0), {"audit": True}),
    "one row": lambda: ((equal(1, 10**12), [0]), {}),
    "columns": lambda: ((strided(700_000, 8), 0), {}),
    "columns of tasks": lambda: ((strided(700_000, 8), tasks % 999), {"rows": tasks // 4}),
    "many tasks": lambda: ((strided(1_000_000, 4), tasks % 1000), {"rows": tasks // 100}),
    "one row, many tasks": lambda: (
        (equal(1, 10**11, np.int8), tasks[:30_000]), {"rows": 0 * tasks[:30_000]}
    ),
    "filters": lambda: (
        (equal(400_000, 1_000_000), 0),
        {"filter": (np.array([0, 800_000]), np.arange(800_000), np.zeros(400_000, int))},
    ),
    "candidates": lambda: (
        (equal(200_000, 1_000_000), 0), {"candidates": np.arange(0, 1_000_000, 2)}
    ),
    "a disordered list": disordered,
}
rows = problems["rows"]
"""


@posix
@pytest.mark.parametrize("threads", [1, 2])
def test_interrupt(run_python: Run, sanitized: bool, threads: int) -> None:
    """One count after another is interrupted, and a small one between them is right."""
    if sanitized:
        pytest.skip("a sanitizer slows the checks down")
    script = f"""
for name, problem in problems.items():
    seconds = interrupt(problem, {threads}, 0.1)
    assert seconds < 1.5, (name, seconds)  # The goal is 0.5 on a machine with nothing else to do.
    small()
"""
    run_python(INTERRUPT + script, timeout=120)


@posix
@pytest.mark.parametrize("forker", ["main", "other"])
def test_interrupt_of_a_child(run_python: Run, sanitized: bool, forker: str) -> None:
    """The thread that forks becomes the child's main thread, which notices signals."""
    script = """
def in_child():
    print(interrupt(rows, None), flush=True)
    small()
    return True
results = []
forking = threading.Thread(target=lambda: results.append(fork(in_child)))
if sys.argv[1] == "main":
    forking.run()
else:
    forking.start()
    forking.join()
assert results == [True]
# The parent's main thread still notices them.
interrupt(rows, None, 0.1)
small()
"""
    delay = float(run_python(FORKING + INTERRUPT + script, forker))
    assert sanitized or delay < 1.5


HANDLERS = {
    "one that returns does not stop the count": """
calls = []
signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
while len(calls) < 5:
    ranks = tr.rank(np.broadcast_to(row, (height, 1_000_000)), 1, order="descending")
    assert ranks.above.tolist() == [999_998] * height
    assert ranks.tied.tolist() == [1] * height
signal.setitimer(signal.ITIMER_REAL, 0)
""",
    "other threads count on": """
wrong, stop = [], False
def count():
    big = np.zeros((12, 1_000_000), np.float32)
    while not stop:
        if tr.rank(big, 0).tied.tolist() != [1_000_000] * 12:
            wrong.append(1)
other = threading.Thread(target=count)
other.start()
assert interrupt(rows, None) < limit
time.sleep(0.1)
stop = True
other.join()
assert not wrong
small()
""",
}


@posix
@pytest.mark.parametrize("script", HANDLERS.values(), ids=HANDLERS)
def test_handlers_of_signals(run_python: Run, sanitized: bool, script: str) -> None:
    # A sanitizer takes longer for a tenth, in which signals come all the same.
    limits = "limit, height = 1000, 300\n" if sanitized else "limit, height = 1.5, 3000\n"
    run_python(limits + INTERRUPT + script, timeout=60)


def test_the_position_of_a_nan_is_found_soon(sanitized: bool) -> None:
    """Many tasks share a row whose NaN are all filtered but one: the error still comes soon."""
    n = 400_000
    k = 2_000
    scores = np.full((1, n), np.nan, np.float32)
    scores[0, :10] = 1
    filtered = np.arange(10, n - 1)
    lists = np.array([0, len(filtered)]), filtered, np.zeros(k, int)
    tasks = np.arange(k)
    start = time.perf_counter()
    with pytest.raises(ValueError, match=rf"row 0\b.*column {n - 1}\b"):
        tr.rank(scores, tasks % 10, rows=0 * tasks, filter=lists)
    assert sanitized or time.perf_counter() - start < 5


AT_IMPORT = """
import os, signal, sys

class Sends:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs the tests may ignore it
sys.meta_path.insert(0, Sends())
try:
    import truerank
except KeyboardInterrupt:
    import truerank  # as if nothing had happened
    print(truerank.Ranks([0], [1], 3))
"""


@posix
@pytest.mark.python_only
@pytest.mark.parametrize("name", ["numpy", "truerank._core", "truerank.ranks.container"])
def test_ctrl_c_while_it_is_imported_is_a_keyboard_interrupt(run_python: Run, name: str) -> None:
    assert run_python(AT_IMPORT, name, timeout=120).startswith("Ranks(1 task")
