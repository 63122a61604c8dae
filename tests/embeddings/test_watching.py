"""Calls on embeddings report how far they have come; no count depends on who listens."""

from __future__ import annotations

import os
import platform
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.environment import Run
from truerank.inputs import progress_listeners

RNG = np.random.default_rng(11)
VECTORS = RNG.standard_normal((6000, 16)).astype(np.float32)
QUERIES = VECTORS[:500] + RNG.standard_normal((500, 16)).astype(np.float32) / 4
TARGETS = np.arange(500)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let calls report whenever they look for Ctrl-C, not only ten times a second."""
    monkeypatch.setattr(progress_listeners, "SECONDS_BETWEEN_REPORTS", 0.0)


def test_a_call_in_a_moment_reports_little() -> None:
    """Between reports are a tenth of a second, whatever the work."""
    seen: list[tr.Progress] = []
    tr.rank_embeddings(QUERIES[:2], VECTORS[:50], [3, 4], progress=seen.append)
    assert 1 <= len(seen) <= 2


@pytest.mark.threads
@pytest.mark.usefixtures("at_once")
def test_a_listener_may_count_itself() -> None:
    expected = tr.rank_embeddings(QUERIES[:9], VECTORS, TARGETS[:9])
    inner = []

    def count(progress: tr.Progress) -> None:
        inner.append(tr.rank_embeddings(QUERIES[:9], VECTORS, TARGETS[:9], threads=2))

    outer = tr.rank_embeddings(QUERIES, VECTORS, TARGETS, threads=2, progress=count)
    assert outer[:9] == expected
    assert inner
    assert all(ranks == expected for ranks in inner)


@pytest.mark.threads
@pytest.mark.usefixtures("at_once")
def test_each_thread_hears_of_its_own_call() -> None:
    expected = [tr.rank_embeddings(QUERIES[i:], VECTORS, TARGETS[i:]) for i in range(4)]

    def work(i: int) -> None:
        heard: list[tuple[int, int]] = []

        def hear(progress: tr.Progress) -> None:
            heard.append((progress.total, threading.get_ident()))

        options: dict[str, Any] = {"threads": 2, "progress": hear}
        assert tr.rank_embeddings(QUERIES[i:], VECTORS, TARGETS[i:], **options) == expected[i]
        assert set(heard) == {((500 - i) * 6000 * 4, threading.get_ident())}

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


# --- in processes of their own

SCRIPT = """
import ctypes, os, signal, sys, threading, time, warnings
import numpy as np
import truerank as tr
from truerank.inputs import progress_listeners
warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
rng = np.random.default_rng(0)
entities = rng.standard_normal((20_000, 16)).astype(np.float32)
queries = entities[:1000].copy()
def rank(progress, n=1000, **options):
    return tr.rank_embeddings(queries[:n], entities, np.arange(n), progress=progress, **options)
"""

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX processes and signals")


@posix
@pytest.mark.threads
@pytest.mark.parametrize("threads", [1, 2])
def test_interrupted_while_somebody_listens(run_python: Run, threads: int) -> None:
    """The exception is that of the signal's handler."""
    script = f"""
progress_listeners.SECONDS_BETWEEN_REPORTS = 0.0
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs the tests may ignore it
def interrupt(progress):
    if progress.done:
        os.kill(os.getpid(), signal.SIGINT)
try:
    rank(interrupt, threads={threads})
except KeyboardInterrupt:
    pass
else:
    raise SystemExit("not interrupted")
ranks = rank(None, 50, threads={threads})
assert rank(lambda progress: None, 50, threads={threads}) == ranks
"""
    run_python(SCRIPT + script, timeout=120)


@pytest.mark.threads
@pytest.mark.parametrize("heard", ["nobody", "(started.set(), time.sleep(0.001))", "late"])
def test_a_daemon_thread_that_reports_while_python_ends(run_python: Run, heard: str) -> None:
    """The process ends, also where the listener is left waiting."""
    late = heard == "late" and hasattr(os, "fork") and platform.libc_ver()[0] == "glibc"
    listener = "None"
    if heard != "nobody":
        listener = f"lambda progress: {heard.replace('late', 'started.set()')}"
    script = f"""
progress_listeners.SECONDS_BETWEEN_REPORTS = {0.3 * late}
entities = np.resize(entities, (10**6 if {late} else 20_000, 16))
started = threading.Event()
def work():
    while True: rank({listener}, similarity="l1")
for _ in range(4): threading.Thread(target=work, daemon=True).start()
started.wait(0.3)
if {late}:  # when Python has dropped its threads, the process waits for a child
    os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "2")
    c = ctypes.CDLL(None)
    c.on_exit(c.wait, None)
"""
    run_python(SCRIPT + script, timeout=120)
