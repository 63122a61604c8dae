"""Scores that are counted on a simulated device by torch operations; `test_devices.py` runs these.

What nobody waited for is wrong there, and every wait is noted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from strategies.count_problems import Problem, problems
from strategies.thresholds import thresholds
from support.outcomes import outcome
from support.problems import DTYPES, csr, matrix
from support.simulated_device import (  # noqa: F401  # a fixture
    RNG,
    Event,
    Stream,
    blocks_of_streams,
    host_tensor,
    module,
    on_device,
    pending_scores,
    pending_tensor,
    small_blocks,
)
from truerank.counting.score_thresholds import ThresholdCounts
from truerank.devices import score_sources, task_counts, ways
from truerank.link_prediction import Task
from truerank.stores import on_device as device

THERE = "standin:0, torch"


@pytest.fixture(autouse=True)
def counted_there(monkeypatch: pytest.MonkeyPatch, small_blocks: None) -> None:  # noqa: F811
    choose(monkeypatch)


def choose(patch: pytest.MonkeyPatch) -> None:
    """Choose torch operations, with small limits, so that every call takes several blocks."""
    patch.setenv("TRUERANK_DEVICE", "torch")
    patch.setattr(score_sources, "TILE_BYTES", 700)
    patch.setattr(task_counts, "MOST_ENTRIES", 20)
    patch.setattr(device, "BLOCK_BYTES", 1 << 20)  # so that the host names the first NaN
    patch.setattr(task_counts, "MOST_TASKS", 9)
    module.forget()


def test_the_best_way_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a choice a device counts by itself what it counts right in a trial."""
    monkeypatch.delenv("TRUERANK_DEVICE")
    array, targets = RNG.random((30, 50)), RNG.integers(0, 50, 30)
    ways.counts_right.cache_clear()
    ranks = tr.rank(pending_scores(array), targets)
    assert ranks == tr.rank(array, targets)
    assert ranks.protocol.device == THERE
    assert str(ranks.protocol).endswith(", float64, on standin:0, torch")
    monkeypatch.setattr(ways, "DeviceCounts", lambda *args: 1 / 0)  # a device that cannot
    ways.counts_right.cache_clear()
    ranks = tr.rank(pending_scores(array), targets)
    assert ranks == tr.rank(array, targets)
    assert ranks.protocol.device == "standin:0, host"
    ways.counts_right.cache_clear()


def test_an_unknown_way_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUERANK_DEVICE", "gpu")
    expected = r"^TRUERANK_DEVICE: expected one of triton, torch, host, got 'gpu'"
    with pytest.raises(ValueError, match=expected):
        tr.rank(on_device(np.eye(3)), [0, 1, 2])


@pytest.mark.parametrize("kind", DTYPES)
def test_every_dtype_without_a_wait(kind: str) -> None:
    array, targets = matrix(kind, (23, 67)), RNG.integers(0, 67, 23)
    lists = [RNG.integers(0, 67, 30).tolist() for _ in range(23)]
    scores = pending_scores(array)
    module.forget()
    ranks = tr.rank(scores, targets, filter=lists)
    assert module.synchronisations == 0
    assert module.copies == [False] * len(module.copies)  # none of which was waited for by itself
    assert ranks == tr.rank(host_tensor(array), targets, filter=lists)
    assert ranks.protocol.device == THERE
    assert tr.rank(pending_scores(array)[3], 7) == tr.rank(host_tensor(array)[3], 7)


@given(problems(nan=True, errors=True))
def test_the_counts_and_errors_of_the_host(problem: Problem) -> None:
    tensor = host_tensor(problem.scores)
    problem = Problem(problem.scores, problem.targets, {**problem.keywords, "dtype": None})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRUERANK_DEVICE", "host")
        expected = outcome(tensor, problem)
        choose(patch)
        got = outcome(pending_tensor(lambda: tensor), problem)
    if isinstance(expected, Exception):
        assert (type(got), str(got)) == (type(expected), str(expected))
    else:
        assert got == expected


@given(problems(nan=True, errors=False), st.data())
def test_thresholds(problem: Problem, data: st.DataObject) -> None:
    """Counts for thresholds, and the errors of a NaN, are those of the host."""
    names = ("rows", "filter", "candidates", "order", "nan")
    keywords = {name: problem.keywords[name] for name in names if name in problem.keywords}
    tensor, single = host_tensor(problem.scores), problem.scores.ndim == 1
    each = 1 if isinstance(problem.targets, int) else len(problem.targets)
    if "rows" in keywords or single:
        keywords["rows"] = np.array(keywords.get("rows", [0] * each), np.int64)
    tasks = len(keywords["rows"]) if "rows" in keywords else len(problem.scores)
    asked = data.draw(thresholds(problem.scores, problem.keywords["dtype"], tasks)).given

    def counted(scores: Any) -> ThresholdCounts | str:
        try:
            return tr.count_above(scores, asked, **keywords)
        except ValueError as error:
            return str(error)

    expected = counted(tensor)
    with pytest.MonkeyPatch.context() as patch:
        choose(patch)
        got = counted(pending_tensor(lambda: tensor))
    if isinstance(expected, str):
        assert got == expected
        return
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


def test_thresholds_without_a_wait() -> None:
    """Only counts are copied, and waited for once."""
    array = RNG.integers(0, 9, (30, 500)).astype(np.float32)
    module.forget()
    counts = tr.count_above(pending_scores(array), [[2, 2.5, 7]] * 30)
    assert module.synchronisations <= 1
    for one, other in zip(counts, tr.count_above(array, [[2, 2.5, 7]] * 30), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


def test_within_modes_of_torch() -> None:
    array, targets = RNG.random((30, 50)).astype(np.float32), RNG.integers(0, 50, 30)
    expected = tr.rank(array, targets)
    with torch.inference_mode(), torch.autocast("cpu"):
        assert tr.rank(pending_scores(array), targets) == expected
    with_gradient = on_device(array).requires_grad_()
    assert tr.rank(with_gradient, targets) == expected
    assert with_gradient.grad is None
    with torch.inference_mode():
        made = pending_scores(array)
    assert tr.rank(made, targets) == expected


# --- blocks of candidates


def test_a_counter_goes_on_while_a_device_counts() -> None:
    array, targets = RNG.random((23, 300)), RNG.integers(0, 300, 23)
    lists = [RNG.integers(0, 300, 20).tolist() for _ in range(23)]
    counter = tr.RankCounter(array[np.arange(23), targets], targets, candidates=300, filter=lists)
    module.forget()
    done = module.default._done
    counter.update(pending_scores(array[:, :100]), start=0)
    assert module.default._done == done  # nothing was waited for
    assert repr(counter) == "RankCounter(23 tasks, float64, 100 of 300 columns)"
    with pytest.raises(ValueError, match=r"^block: column 99 has been counted before"):
        counter.update(pending_scores(array[:, 99:200]), start=99)
    mixed = 100 + RNG.permutation(200)
    counter.update(pending_scores(array[:, mixed]), columns=on_device(mixed))
    assert module.synchronisations == 0
    assert counter.ranks() == tr.rank(array, targets, filter=lists)


def test_the_error_of_a_block_comes_with_the_next_call() -> None:
    array, targets = RNG.random((23, 300)), RNG.integers(0, 100, 23)
    wrong = array.copy()
    wrong[5, 170] = np.nan
    counter = tr.RankCounter(array[np.arange(23), targets], targets, candidates=300)
    counter.update(pending_scores(array[:, :100]), start=0)
    counter.update(pending_scores(wrong[:, 100:200]), start=100)
    message = r"^block: the score at row 5, column 70 \(column 170\) is NaN"
    with pytest.raises(ValueError, match=message):
        counter.update(pending_scores(array[:, 200:]), start=200)
    counter.update(pending_scores(array[:, 200:]), start=200)
    with pytest.raises(ValueError, match="column 100 has not been counted"):
        counter.ranks()
    counter.update(pending_scores(array[:, 100:200]), start=100)
    assert counter.ranks() == tr.rank(array, targets)


def test_a_counter_that_is_merged_and_saved(tmp_path: Any) -> None:
    array, targets = RNG.random((23, 300)), RNG.integers(0, 300, 23)
    true_scores = pending_scores(array[np.arange(23), targets])
    one, other = (tr.RankCounter(true_scores, targets, candidates=300) for _ in range(2))
    one.update(pending_scores(array[:, :100]), start=0)
    other.update(pending_scores(array[:, 100:]), start=100)
    other.save(tmp_path / "other.npz")
    assert one.merge(tr.RankCounter.load(tmp_path / "other.npz")).ranks() == tr.rank(array, targets)


def test_sampled_negatives() -> None:
    true_scores, others = RNG.random(40), RNG.random((40, 60))
    expected = tr.rank_against(true_scores, others)
    assert tr.rank_against(true_scores, pending_scores(others)) == expected
    indptr = np.arange(41) * 60
    ragged = (pending_scores(others.reshape(-1)), indptr)
    assert tr.rank_against(pending_scores(true_scores), ragged) == expected
    with_nan = others.copy()
    with_nan[7, 3] = np.nan
    with pytest.raises(ValueError, match=r"^others: the score at row 7, column 3 is NaN"):
        tr.rank_against(true_scores, pending_scores(with_nan))


# --- blocks of rows


@pytest.mark.parametrize("width", [50, 300])
def test_blocks_of_a_stream_beside(width: int) -> None:
    array, targets = RNG.random((60, width)), RNG.integers(0, width, 60)

    ranks = tr.rank_blocks(blocks_of_streams(array, targets))
    assert ranks == tr.rank(array, targets)
    assert ranks.protocol.device == THERE


def test_a_count_that_is_not_waited_for_is_seen() -> None:
    array, targets = RNG.random((40, 50)), RNG.integers(0, 50, 40)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Event, "synchronize", lambda self: None)
        wrong = tr.rank(pending_scores(array), targets, nan="worst")
    assert wrong != tr.rank(array, targets)


def test_tasks_of_a_protocol() -> None:
    test = np.stack([RNG.integers(0, 30, 40), np.zeros(40, np.int64), RNG.integers(0, 30, 40)], 1)
    train = np.stack([*test.T[:2], (test[:, 2] + 1) % 30], axis=1)
    task = Task(
        test, entities=30, relations=1, known={"train": train}, duplicates="drop", leaks="drop"
    )
    model = RNG.random((30, 30)).astype(np.float32)
    report = task.evaluate(
        tail=lambda q: pending_scores(model[q[:, 0]]),
        head=lambda q: pending_scores(model.T[q[:, 1]]),
        batch_size=7,
    )
    expected = task.evaluate(tail=lambda q: model[q[:, 0]], head=lambda q: model.T[q[:, 1]])
    assert report.ranks == expected.ranks
    assert report.protocol.device == THERE


def test_everything_is_on_the_device() -> None:
    array, targets = RNG.random((23, 300)), RNG.integers(0, 300, 60)
    rows = RNG.integers(0, 23, 60).astype(np.int32)
    lists = [RNG.integers(0, 300, 20).tolist() for _ in range(60)]
    shared = np.unique(np.concatenate([targets, RNG.integers(0, 300, 100)]))
    expected = tr.rank(array, targets, rows=rows, filter=lists, candidates=shared)
    selected = {"filter": tuple(map(on_device, csr(lists))), "candidates": on_device(shared)}
    ranks = tr.evaluate(
        pending_scores(array), on_device(targets), rows=on_device(rows), **selected
    ).ranks
    assert ranks == expected


@pytest.mark.parametrize("axis", [0, 1])
def test_shards_on_devices(axis: int) -> None:
    array, targets = RNG.random((40, 90)), RNG.integers(0, 90, 40)
    shards = np.split(array, [15, 15, 30], axis=axis)
    lists = [RNG.integers(0, 90, 20).tolist() for _ in range(40)]
    store = tr.open_scores([pending_scores(shard) for shard in shards], axis=axis)
    assert store.on_device
    ranks = tr.rank(store, targets, filter=lists)
    assert ranks == tr.rank(array, targets, filter=lists)
    assert ranks.protocol.device == THERE
    array[38, 70] = array[38, 80] = np.nan
    store = tr.open_scores([pending_scores(x) for x in np.split(array, 2, axis=axis)], axis=axis)
    with pytest.raises(ValueError, match=r"^scores: a score at row 38, column 70 is NaN"):
        tr.rank(store, np.zeros(40, np.int64))
    half_there = tr.open_scores([pending_scores(array[:30]), array[30:]])
    assert not half_there.on_device


def test_progress_and_checkpoint(tmp_path: Any) -> None:
    array, targets = RNG.random((40, 50)), RNG.integers(0, 50, 40)
    seen: list[int] = []
    ranks = tr.rank(pending_scores(array), targets, progress=lambda p: seen.append(p.done))
    assert seen == [0, array.nbytes]
    kept = tr.rank(pending_scores(array), targets, checkpoint=tmp_path / "kept")
    assert ranks == kept == tr.rank(array, targets)
    assert kept.protocol.device == "standin:0, host"  # a checkpoint is of what the host has read
