"""`progress=True` draws a bar of tqdm wherever `progress=` is taken."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal
from truerank import alignment, link_prediction, retrieval
from truerank.counting import tiles
from truerank.inputs.progress_listeners import as_listener

pytestmark = pytest.mark.python_only

RNG = np.random.default_rng(3)
SCORES = RNG.random((300, 50), np.float32)
TARGETS = RNG.integers(0, 50, 300)
VECTORS = RNG.standard_normal((600, 8)).astype(np.float32)
PAIRS = np.stack([np.arange(600)] * 2, axis=1)
TRIPLES = [(i, 0, (i + 1) % 50) for i in range(50)]


@pytest.fixture
def drawn(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """Return a function that gives what was drawn."""
    pytest.importorskip("tqdm", reason="bars of tqdm")
    return lambda: capsys.readouterr().err


def task() -> Any:
    return link_prediction.Task(TRIPLES, {}, entities=50, relations=1)


def scorer(queries: Any) -> Any:
    return SCORES[queries[:, 0]].copy()


def blocks() -> Iterator[tuple[Any, Any]]:
    for start in range(0, 300, 100):
        yield SCORES[start : start + 100], TARGETS[start : start + 100]


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
PAIR_TASK = alignment.Task(PAIRS[:50], left=50, right=50)
QUERIES = retrieval.Task({i: [i] for i in range(50)}, entities=50)
# call by name: what `progress=` is given to
CALLS: dict[str, Callable[..., object]] = {
    "rank": lambda **p: tr.rank(SCORES, TARGETS, **p),
    "files": lambda **p: tr.rank("scores.npy", TARGETS, **p),
    "evaluate": lambda **p: tr.evaluate(SCORES, TARGETS, **p),
    "vectors": lambda **p: tr.rank_embeddings(VECTORS, VECTORS, np.arange(600), **p),
    "thresholds": lambda **p: tr.count_above(VECTORS, VECTORS, 0.5, **p),
    "thresholds of scores": lambda **p: tr.count_above(SCORES, 0.5, **p),
    "top k": lambda **p: tr.topk_embeddings(VECTORS, VECTORS, 3, **p),
    "task of scores": lambda **p: task().evaluate_scores(SCORES[:50], SCORES[:50], **p),
    "task of vectors": lambda **p: task().evaluate_embeddings(*[VECTORS[:50]] * 3, **p),
    "task of callables": lambda **p: task().evaluate(scorer, scorer, batch_size=20, **p),
    "pairs of callables": lambda **p: PAIR_TASK.evaluate(scorer, scorer, **p),
    "retrieval of callables": lambda **p: QUERIES.evaluate(scorer, batch_size=7, **p),
    "alignment": lambda **p: alignment.evaluate(VECTORS, VECTORS[::-1], PAIRS, **p),
    "infer": lambda **p: alignment.infer(VECTORS, VECTORS, csls=3, **p),
    "infer stable": lambda **p: alignment.infer(VECTORS, VECTORS, method="stable", csls=3, **p),
    "infer of a matrix": lambda **p: alignment.infer(SCORES, None, method="stable", **p),
    "lists": lambda **p: tr.rank_lists(IDS, -np.sort(-SCORES)[:, :9], TARGETS, candidates=50, **p),
    "lists in order": lambda **p: tr.rank_lists(IDS, None, TARGETS, candidates=50, **p),
    "blocks": lambda **p: tr.rank_blocks(blocks(), **p),
    "listed blocks": lambda **p: tr.rank_blocks([*blocks()], **p),
    "counter": lambda **p: counted(**p),
    "dask": lambda **p: dask_ranks(**p),
    "most similar": lambda **p: alignment.most_similar(VECTORS, VECTORS[::-1], csls=3, **p),
    "most similar of a matrix": lambda **p: alignment.most_similar(SCORES, None, **p),
    "dangling": lambda **p: alignment.dangling(VECTORS, VECTORS[::-1], range(9), **p),
}


@pytest.mark.parametrize("name", CALLS)
def test_true_draws_a_bar_that_ends(
    name: str, drawn: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("scores.npy", SCORES)
    monkeypatch.setattr(tiles, "TILE_BYTES", 4096)
    call, seen = CALLS[name], list[tr.Progress]()
    plain = call(progress=False)
    assert drawn() == ""
    with_bar = call(progress=True)
    shown = drawn()
    assert "truerank" in shown
    assert "100%" in shown
    heard = call(progress=seen.append)
    assert seen[-1].done == seen[-1].total > 0
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    assert all(p.done < p.total or not p.total for p in seen[:-1])
    for other in (with_bar, heard):
        np.testing.assert_equal(content(other), content(plain))


def content(found: Any) -> Any:
    """Return what can be compared of a result."""
    found = getattr(found, "ranks", found)
    return found if isinstance(found, (tr.Ranks, tuple, dict)) else vars(found)


def test_without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match=r"progress=True needs tqdm: pip install 'truerank\[pro"):
        tr.rank(SCORES, TARGETS, progress=True)


@pytest.mark.parametrize("value", [1, "yes", [print]])
def test_what_is_no_progress(value: object) -> None:
    refusal(TypeError, "^progress: .* or a bool, got ", tr.rank, SCORES, TARGETS, progress=value)


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
    wrong = VECTORS.copy()
    wrong[433, 0] = np.nan
    messages = []
    for progress in (None, lambda report: None):
        with pytest.raises(ValueError, match="NaN") as error:
            tr.topk_embeddings(wrong, VECTORS, 2, progress=progress)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
