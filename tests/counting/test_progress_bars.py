"""Wherever `progress=` is taken, reports rise to the total, and `True` draws a bar of tqdm."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal
from truerank import alignment, link_prediction, retrieval
from truerank.counting import driver
from truerank.inputs import progress_listeners
from truerank.inputs.progress_listeners import as_listener

pytestmark = pytest.mark.python_only

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
    monkeypatch.setattr(progress_listeners, "SECONDS_BETWEEN_REPORTS", 0.0)


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


@pytest.mark.parametrize("name", CALLS)
def test_what_a_listener_raises_ends_the_call(name: str) -> None:
    error = LookupError("enough")
    heard: list[tr.Progress] = []

    def refuse(progress: tr.Progress) -> None:
        heard.append(progress)
        raise error

    with pytest.raises(LookupError) as caught:
        CALLS[name](progress=refuse)
    assert caught.value is error
    assert len(heard) == 1


@pytest.mark.parametrize("name", CALLS)
def test_true_draws_a_bar_that_ends(name: str, drawn: Callable[[], str]) -> None:
    plain = CALLS[name](progress=False)
    assert drawn() == ""
    np.testing.assert_equal(content(CALLS[name](progress=True)), content(plain))
    shown = drawn()
    assert "truerank" in shown
    assert "100%" in shown


def content(found: Any) -> Any:
    """Return what can be compared of a result."""
    found = getattr(found, "ranks", found)
    if isinstance(found, (tr.Ranks, tuple, dict)):
        return found
    return vars(found)


def test_without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match=r"progress=True needs tqdm: pip install 'truerank\[pro"):
        tr.rank(SCORES, TARGETS, progress=True)


def test_a_bar_goes_on_from_a_checkpoint(drawn: Callable[[], str]) -> None:
    bar = as_listener(True)
    assert bar is not None
    for done in (3_000_000, 6_000_000, 9_000_000):
        bar(tr.Progress(done, 9_000_000, 1.0, resumed=3_000_000))
    assert "9.0" in drawn()


def test_progress_is_written_for_people() -> None:
    assert str(tr.Progress(0, 9_000_000, 0.0)) == "0 bytes of 9 MB"
    moving = tr.Progress(3_000_000, 9_000_000, 2.0, resumed=1_000_000)
    assert f"{moving}" == "3 MB of 9 MB, 1 MB/s, 0:00:06 left"
    assert repr(moving).startswith("Progress(done=3000000, total=9000000")


def test_a_fault_in_a_later_part_names_its_task() -> None:
    """The tasks are scored in parts while somebody watches; the message is that of one call."""
    wrong = QUERIES.copy()
    wrong[433, 0] = np.nan
    words = {
        refusal(ValueError, "NaN", tr.topk_embeddings, wrong, VECTORS, 2, progress=progress)
        for progress in (None, lambda report: None)
    }
    assert len(words) == 1
