"""Wherever `progress=` is taken, reports rise to the total, and `True` draws a bar of tqdm."""

from __future__ import annotations

import os
import platform
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import truerank as tr
from support.environment import Run
from support.refusals import refusal
from truerank import alignment, link_prediction, retrieval
from truerank.counting import driver
from truerank.embeddings import vectors
from truerank.inputs.progress_listeners import as_listener

python_only = pytest.mark.python_only

RNG = np.random.default_rng(3)
SCORES = RNG.random((300, 50), np.float32)
TARGETS = RNG.integers(0, 50, 300)
VECTORS = RNG.standard_normal((6000, 16)).astype(np.float32)
QUERIES = VECTORS[:500] + RNG.standard_normal((500, 16)).astype(np.float32) / 4
EACH = np.arange(500)
TRIPLES = [(i, 0, (i + 1) % 50) for i in range(50)]


@pytest.fixture
def drawn(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """Return a function that gives what was drawn."""
    pytest.importorskip("tqdm", reason="bars of tqdm")
    return lambda: capsys.readouterr().err


def scorer(queries: Any) -> Any:
    return SCORES[queries[:, 0]].copy()


def counted(**progress: Any) -> tr.Ranks:
    true_scores = SCORES[np.arange(300), TARGETS]
    counter = tr.RankCounter(true_scores, TARGETS, candidates=50, **progress)
    for start in range(0, 50, 10):
        counter.update(SCORES[:, start : start + 10], start=start)
    return counter.ranks()


def dask_ranks(**progress: Any) -> tr.Ranks:
    arrays = pytest.importorskip("dask.array", reason="chunks of Dask")
    from truerank.adapters import dask

    return dask.rank(arrays.from_array(SCORES, chunks=(100, 20)), TARGETS, **progress)


IDS = np.argsort(-SCORES)[:, :9]
PAIRS = alignment.Task(np.stack([EACH] * 2, axis=1), left=500, right=6000)
FEW_PAIRS = alignment.Task(np.stack([EACH[:50]] * 2, axis=1), left=50, right=50)
TASK = link_prediction.Task(TRIPLES, {}, entities=50, relations=1)
LARGE_TASK = link_prediction.Task(np.stack([EACH, EACH % 3, EACH + 1], axis=1), entities=6000)
SEARCH = retrieval.Task({i: [i] for i in range(50)}, entities=50)
# call by name: what `progress=` is given to
CALLS: dict[str, Callable[..., object]] = {
    "rank": lambda **p: tr.rank(SCORES, TARGETS, **p),
    "files": lambda **p: tr.rank("scores.npy", TARGETS, **p),
    "evaluate": lambda **p: tr.evaluate(SCORES, TARGETS, **p),
    "few queries": lambda **p: tr.rank_embeddings(QUERIES[:3], VECTORS, 5, **p),
    "task of scores": lambda **p: TASK.evaluate_scores(SCORES[:50], head=SCORES[:50], **p),
    "task of callables": lambda **p: TASK.evaluate(scorer, head=scorer, batch_size=20, **p),
    "pairs of callables": lambda **p: FEW_PAIRS.evaluate(scorer, scorer, **p),
    "retrieval of callables": lambda **p: SEARCH.evaluate(scorer, batch_size=7, **p),
    "infer mutual": lambda **p: alignment.infer(QUERIES, VECTORS, method="mutual", **p),
    "infer stable": lambda **p: alignment.infer(QUERIES, VECTORS, method="stable", csls=3, **p),
    "infer of a matrix": lambda **p: alignment.infer(SCORES, None, method="stable", **p),
    "lists": lambda **p: tr.rank_lists(IDS, -np.sort(-SCORES)[:, :9], TARGETS, candidates=50, **p),
    "lists in order": lambda **p: tr.rank_lists(IDS, None, TARGETS, candidates=50, **p),
    "counter": lambda **p: counted(**p),
    "dask": lambda **p: dask_ranks(**p),
}
# And calls on all pairs of vectors, with the number of their passes.
PASSES: dict[str, tuple[int, Callable[..., object]]] = {
    "vectors": (1, lambda **p: tr.rank_embeddings(QUERIES, VECTORS, EACH, **p)),
    "an audit": (1, lambda **p: tr.rank_embeddings(QUERIES, VECTORS, EACH, audit=True, **p)),
    "top k": (1, lambda **p: tr.topk_embeddings(QUERIES, VECTORS, 7, **p)),
    "means": (1, lambda **p: alignment.csls_means(QUERIES, VECTORS, 5, **p)),
    "two sides": (
        2,
        lambda **p: LARGE_TASK.evaluate_embeddings(QUERIES, head=QUERIES, entities=VECTORS, **p),
    ),
    "directions": (1, lambda **p: PAIRS.evaluate_embeddings(QUERIES, VECTORS, **p)),
    "directions, scaled": (2, lambda **p: PAIRS.evaluate_embeddings(QUERIES, VECTORS, csls=4, **p)),
    "infer": (2, lambda **p: alignment.infer(QUERIES, VECTORS, csls=3, **p)),
}
CALLS |= {name: call for name, (_, call) in PASSES.items()}


@pytest.fixture(autouse=True)
def at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let calls report whenever they can."""
    monkeypatch.chdir(tmp_path)
    np.save("scores.npy", SCORES)
    monkeypatch.setattr(driver, "TILE_BYTES", 4096)
    monkeypatch.setattr(vectors, "SECONDS_BETWEEN_REPORTS", 0.0)


@python_only
@pytest.mark.parametrize("name", CALLS)
def test_reports_rise_to_the_total(name: str) -> None:
    call = CALLS[name]
    settings: list[dict[str, int]] = [{}]
    if name in PASSES:
        settings = [{"threads": 1}, {"threads": 3}]
    for options in settings:
        seen: list[tr.Progress] = []
        callers: set[int] = set()

        def hear(progress: tr.Progress, seen: Any = seen, callers: Any = callers) -> None:
            seen.append(progress)
            callers.add(threading.get_ident())

        np.testing.assert_equal(content(call(progress=hear, **options)), content(call(**options)))
        assert name == "dask" or callers == {threading.get_ident()}
        assert seen[-1].done == seen[-1].total > 0
        for order in ([p.done for p in seen], [p.seconds for p in seen]):
            assert order == sorted(order)
        assert all(p.done < p.total or not p.total for p in seen[:-1])
        if name in PASSES:
            assert {p.total for p in seen} == {PASSES[name][0] * 500 * 6000 * 4}
        if options == {"threads": 1}:  # of several, others may be done before the caller looks
            between = [p.done / p.total for p in seen if 0 < p.done < p.total]
            assert len(between) >= 3
            assert between[0] < 0.5 < between[-1]


@python_only
@pytest.mark.parametrize("name", CALLS)
def test_what_a_listener_raises_ends_the_call(name: str) -> None:
    listener = Mock(side_effect=LookupError("enough"))
    with pytest.raises(LookupError) as caught:
        CALLS[name](progress=listener)
    assert caught.value is listener.side_effect
    assert listener.call_count == 1


@python_only
@pytest.mark.parametrize("name", CALLS)
def test_true_draws_a_bar_that_ends(name: str, drawn: Callable[[], str]) -> None:
    plain = CALLS[name](progress=False)
    assert drawn() == ""
    np.testing.assert_equal(content(CALLS[name](progress=True)), content(plain))
    assert re.search("truerank.*100%", drawn(), re.DOTALL)


def content(found: Any) -> Any:
    """Return what can be compared of a result."""
    found = getattr(found, "ranks", found)
    if isinstance(found, (tr.Ranks, tuple, dict)):
        return found
    return vars(found)


@python_only
def test_a_bar_goes_on_from_a_checkpoint(drawn: Callable[[], str]) -> None:
    bar = as_listener(True)
    assert bar is not None
    for done in (3_000_000, 6_000_000, 9_000_000):
        bar(tr.Progress(done, 9_000_000, 1.0, resumed=3_000_000))
    assert "9.0" in drawn()


@python_only
def test_progress_is_written_for_people() -> None:
    assert str(tr.Progress(0, 9_000_000, 0.0)) == "0 bytes of 9 MB"
    moving = tr.Progress(3_000_000, 9_000_000, 2.0, resumed=1_000_000)
    assert f"{moving}" == "3 MB of 9 MB, 1 MB/s, 0:00:06 left"


@python_only
def test_a_fault_in_a_later_part_names_its_task() -> None:
    """The tasks are scored in parts while somebody watches; the message is that of one call."""
    wrong = QUERIES.copy()
    wrong[433, 0] = np.nan
    words = {
        refusal(ValueError, "NaN", tr.topk_embeddings, wrong, VECTORS, 2, progress=progress)
        for progress in (None, lambda report: None)
    }
    assert len(words) == 1


# --- several threads, signals and the end of the process


def test_a_call_in_a_moment_reports_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between reports are a tenth of a second, whatever the work."""
    monkeypatch.undo()
    seen: list[tr.Progress] = []
    tr.rank_embeddings(QUERIES[:2], VECTORS[:50], [3, 4], progress=seen.append)
    assert 1 <= len(seen) <= 2


@pytest.mark.threads
def test_a_listener_may_count_itself() -> None:
    expected = tr.rank_embeddings(QUERIES[:9], VECTORS, EACH[:9])
    inner = []

    def count(progress: tr.Progress) -> None:
        inner.append(tr.rank_embeddings(QUERIES[:9], VECTORS, EACH[:9], threads=2))

    outer = tr.rank_embeddings(QUERIES, VECTORS, EACH, threads=2, progress=count)
    assert outer[:9] == expected
    assert inner
    assert all(ranks == expected for ranks in inner)


@pytest.mark.threads
def test_each_thread_hears_of_its_own_call() -> None:
    expected = [tr.rank_embeddings(QUERIES[i:], VECTORS, EACH[i:]) for i in range(4)]

    def work(i: int) -> None:
        heard: list[tuple[int, int]] = []

        def hear(progress: tr.Progress) -> None:
            heard.append((progress.total, threading.get_ident()))

        options: dict[str, Any] = {"threads": 2, "progress": hear}
        assert tr.rank_embeddings(QUERIES[i:], VECTORS, EACH[i:], **options) == expected[i]
        assert set(heard) == {((500 - i) * 6000 * 4, threading.get_ident())}

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


# --- in processes of their own

SCRIPT = """
import ctypes, os, signal, sys, threading, time, warnings
import numpy as np
import truerank as tr
from truerank.embeddings import vectors
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
vectors.SECONDS_BETWEEN_REPORTS = 0.0
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
vectors.SECONDS_BETWEEN_REPORTS = {0.3 * late}
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
