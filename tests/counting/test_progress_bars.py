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


def files(folder: Path) -> str:
    np.save(folder / "scores.npy", SCORES)
    return str(folder / "scores.npy")


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


# call by name: what `progress=` is given to
CALLS: dict[str, Callable[..., object]] = {
    "rank": lambda folder, **p: tr.rank(SCORES, TARGETS, **p),
    "files": lambda folder, **p: tr.rank(files(folder), TARGETS, **p),
    "evaluate": lambda folder, **p: tr.evaluate(SCORES, TARGETS, **p),
    "vectors": lambda folder, **p: tr.rank_embeddings(VECTORS, VECTORS, np.arange(600), **p),
    "thresholds": lambda folder, **p: tr.count_above(VECTORS, VECTORS, 0.5, **p),
    "thresholds of scores": lambda folder, **p: tr.count_above(SCORES, 0.5, **p),
    "top k": lambda folder, **p: tr.topk_embeddings(VECTORS, VECTORS, 3, **p),
    "top k of some": lambda folder, **p: tr.topk_embeddings(
        *(VECTORS, VECTORS, 3),
        rows=np.arange(599, -1, -1),
        filter=[[i] for i in range(600)],
        candidates=np.arange(500),
        **p,
    ),
    "task of scores": lambda folder, **p: task().evaluate_scores(SCORES[:50], SCORES[:50], **p),
    "task of vectors": lambda folder, **p: task().evaluate_embeddings(
        VECTORS[:50], VECTORS[:50], VECTORS[:50], **p
    ),
    "task of callables": lambda folder, **p: task().evaluate(scorer, scorer, batch_size=20, **p),
    "pairs of callables": lambda folder, **p: alignment.Task(
        PAIRS[:50], left=50, right=50
    ).evaluate(scorer, scorer, **p),
    "retrieval of callables": lambda folder, **p: retrieval.Task(
        {i: [i] for i in range(50)}, entities=50
    ).evaluate(scorer, batch_size=7, **p),
    "alignment": lambda folder, **p: alignment.evaluate(VECTORS, VECTORS[::-1], PAIRS, **p),
    **{
        f"infer {method}": lambda folder, method=method, **p: alignment.infer(
            VECTORS[:, :4], VECTORS[:, 4:], method=method, csls=3, **p
        )
        for method in ("greedy", "mutual", "stable")
    },
    "lists": lambda folder, **p: tr.rank_lists(
        np.argsort(-SCORES)[:, :9], -np.sort(-SCORES)[:, :9], TARGETS, candidates=50, **p
    ),
    "lists in order": lambda folder, **p: tr.rank_lists(
        np.argsort(-SCORES)[:, :9], None, TARGETS, candidates=50, **p
    ),
    "blocks": lambda folder, **p: tr.rank_blocks(blocks(), **p),
    "listed blocks": lambda folder, **p: tr.rank_blocks([*blocks()], **p),
    "counter": lambda folder, **p: counted(**p),
    "dask": lambda folder, **p: dask_ranks(**p),
    **{
        f"most similar of {what}": lambda folder, given=given, **p: alignment.most_similar(
            *given, **p
        )
        for what, given in {
            "vectors": (VECTORS[:, :4], VECTORS[:, 4:]),
            "a matrix": (SCORES, None),
        }.items()
    },
    "most similar by csls": lambda folder, **p: alignment.most_similar(
        VECTORS, VECTORS[::-1], csls=3, **p
    ),
    "dangling": lambda folder, **p: alignment.dangling(VECTORS, VECTORS[::-1], range(9), **p),
    "infer of a matrix": lambda folder, **p: alignment.infer(SCORES, None, method="stable", **p),
}


@pytest.mark.parametrize("name", CALLS)
def test_true_draws_a_bar_that_ends(
    name: str, drawn: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiles, "TILE_BYTES", 4096)
    plain = CALLS[name](tmp_path)
    assert drawn() == ""
    CALLS[name](tmp_path, progress=False)
    assert drawn() == ""
    with_bar = CALLS[name](tmp_path, progress=True)
    shown = drawn()
    assert "truerank" in shown
    assert "100%" in shown
    seen: list[tr.Progress] = []
    heard = CALLS[name](tmp_path, progress=seen.append)
    last = seen[-1]
    assert last.done == last.total > 0
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    assert all(p.done < p.total or not p.total for p in seen[:-1])
    for other in (with_bar, heard):
        assert same(other, plain)


def same(a: Any, b: Any) -> bool:
    """Whether two results are equal."""
    if isinstance(a, alignment.Alignment):
        return bool(np.array_equal(a.pairs, b.pairs) and np.array_equal(a.scores, b.scores))
    if isinstance(a, tr.Ranks):
        return a == b
    if hasattr(a, "ranks"):
        return bool(a.ranks == b.ranks)
    if hasattr(a, "to_dict") and not isinstance(a, tuple):
        return repr(a.to_dict()) == repr(b.to_dict())  # nan is as nan
    if isinstance(a, dict):
        return a == b
    return all(map(np.array_equal, a, b))


def test_without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match=r"progress=True needs tqdm: pip install 'truerank\[pro"):
        tr.rank(SCORES, TARGETS, progress=True)


@pytest.mark.parametrize("value", [1, "yes", [print]])
def test_what_is_no_progress(value: object) -> None:
    refusal(TypeError, "^progress: .* or a bool, got ", tr.rank, SCORES, TARGETS, progress=value)
    refusal(TypeError, "^progress: expected .* ", alignment.infer, VECTORS, VECTORS, progress=value)


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
