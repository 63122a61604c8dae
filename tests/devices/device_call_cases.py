"""What only one way of counting scores on a simulated device does; `test_devices.py` runs these.

Every copy to the host is noted, and every wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.outcomes import attempt
from support.pending_counts import let_counts_be_pending
from support.refusals import refusal
from support.row_blocks import ranks_of_blocks
from support.simulated_device import (
    RNG,
    DeviceTensor,
    choose,
    module,
    on_device,
    pending_scores,
)
from truerank import _core, devices
from truerank.devices import backends
from truerank.link_prediction import Task


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> None:
    choose("host", monkeypatch)


@pytest.fixture
def counted_there(monkeypatch: pytest.MonkeyPatch) -> None:
    choose("torch", monkeypatch)


@pytest.fixture
def example() -> tuple[Any, Any]:
    """Return scores, and a target for each row."""
    return RNG.random((23, 300)), RNG.integers(0, 100, 23)


# --- copied to the host


@pytest.mark.usefixtures("copied")
def test_one_block_is_copied_while_another_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block is counted only after the next copy has begun, and all counts are right."""
    array = RNG.random((40, 50))  # blocks of whole rows
    targets = RNG.integers(0, 50, 40)
    expected = tr.rank(array, targets)
    count = _core.rank
    blocks = len(tr.open_scores(pending_scores(array)).tiles(1 << 30))
    counted: list[None] = []

    def late(*args: Any) -> Any:
        counted.append(None)
        following = min(len(counted) + 1, blocks)
        with module.copied:
            assert module.copied.wait_for(lambda: len(module.copies) >= following, timeout=30)
        return count(*args)

    monkeypatch.setattr(_core, "rank", late)
    assert tr.rank(pending_scores(array), targets) == expected
    assert len(counted) == blocks
    assert blocks <= len(module.copies) <= blocks + 1  # true scores that may be masked are read


@pytest.mark.usefixtures("copied")
def test_a_device_without_streams(
    example: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    array, targets = example
    monkeypatch.delattr(type(module), "Stream")
    assert tr.rank(pending_scores(array), targets) == tr.rank(array, targets)
    assert module.copies == [True] * len(module.copies)


@pytest.mark.usefixtures("copied")
def test_threads_share_a_store(example: tuple[Any, Any]) -> None:
    array, targets = example
    store = tr.open_scores(pending_scores(array))
    with ThreadPoolExecutor(4) as threads:
        counted = list(threads.map(lambda _: tr.rank(store, targets), range(4)))
    assert counted == [tr.rank(array, targets)] * 4


@pytest.mark.usefixtures("copied")
def test_a_buffer_that_is_filled_again_is_refused() -> None:
    array = RNG.random((60, 50))
    buffer = on_device(np.empty((20, 50)))

    def refilled() -> Iterator[tuple[Any, Any]]:
        for i in range(0, 60, 20):
            buffer.raw.numpy()[:] = array[i : i + 20]
            yield DeviceTensor(buffer.raw), 7

    with pytest.raises(ValueError, match=r"^block 1: scores: expected memory other"):
        ranks_of_blocks(refilled())
    whole = on_device(array)
    halves = ((whole[:, i : i + 25], 3) for i in (0, 25))
    assert len(ranks_of_blocks(halves)) == 120


@pytest.mark.usefixtures("copied")
def test_how_often_scores_are_copied() -> None:
    """Sampled negatives come in tiles, and each batch of a task is copied once."""

    def copies_of(call: Callable[[], Any]) -> int:
        module.copies.clear()
        call()
        return len(module.copies)

    true_scores = RNG.random(40)
    others = RNG.random((40, 60))
    assert copies_of(lambda: tr.rank_against(true_scores, pending_scores(others))) > 3
    test = np.stack([RNG.integers(0, 30, 40), np.zeros(40, np.int64), RNG.integers(0, 30, 40)], 1)
    task = Task(test, entities=30, relations=1, sides=("tail",), duplicates="drop")
    model = RNG.random((30, 30)).astype(np.float32)
    queries = len(task.sides["tail"].queries)

    def scored(queries: Any) -> Any:
        return pending_scores(model[queries[:, 0]])

    assert copies_of(lambda: task.evaluate(tail=scored, batch_size=1)) == queries


@pytest.mark.usefixtures("copied")
def test_a_refused_block_leaves_the_counter_as_it_was(example: tuple[Any, Any]) -> None:
    array, targets = example
    counter = tr.RankCounter(array[np.arange(23), targets], targets, candidates=300)
    wrong = array.copy()
    wrong[3, 250] = np.nan
    message = r"^block: the score at row 3, column 50 \(column 250\) is NaN"
    refusal(ValueError, message, counter.update, pending_scores(wrong[:, 200:]), start=200)
    for block in (array.astype(np.float32), array[1:], array[:, None]):
        expected = attempt(tr.RankCounter.update, counter, block)
        got = attempt(counter.update, pending_scores(block))
        assert isinstance(expected, ValueError | TypeError)
        assert (type(got), str(got)) == (type(expected), str(expected))
    counter.update(pending_scores(array[:, :0]), start=0)
    counter.update(pending_scores(array))
    assert counter.ranks() == tr.rank(array, targets)
    single = tr.RankCounter(array[0, targets], targets, candidates=300)
    single.update(pending_scores(array[0]))
    assert single.ranks() == tr.rank(array[0], targets)


# --- counted on the device


def test_operations_of_torch_are_the_default(
    example: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a choice a device counts by itself what it counts right in a trial."""
    array, targets = example
    expected = tr.rank(array, targets)
    backends.counts_right.cache_clear()
    ranks = tr.rank(pending_scores(array), targets)
    assert ranks == expected
    assert str(ranks.protocol).endswith(", float64, on standin:0, torch")
    monkeypatch.setattr(devices, "DeviceCounts", lambda *args: 1 / 0)  # a device that cannot
    backends.counts_right.cache_clear()
    ranks = tr.rank(pending_scores(array), targets)
    assert ranks == expected
    assert ranks.protocol.device == "standin:0, host"
    backends.counts_right.cache_clear()
    monkeypatch.setenv("TRUERANK_DEVICE", "gpu")
    with pytest.raises(ValueError, match=r"^TRUERANK_DEVICE: .* triton, torch, host, got 'gpu'"):
        tr.rank(on_device(np.eye(3)), [0, 1, 2])


@pytest.mark.parametrize(
    ("chosen", "installed", "right", "expected"),
    [
        ("", True, ["triton", "torch"], "triton"),
        ("", True, ["torch"], "torch"),
        ("", True, [], "host"),
        ("", False, ["triton", "torch"], "torch"),
        ("", False, ["triton"], "host"),
        ("triton", True, ["triton"], "triton"),
        ("triton", True, ["torch"], "host"),
        ("torch", True, [], "torch"),  # which is not tried
    ],
)
def test_the_first_backend_that_counts_right_is_used(
    chosen: str,
    installed: bool,
    right: list[str],
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRUERANK_DEVICE", chosen)
    monkeypatch.setattr(backends, "find_spec", lambda name: name if installed else None)
    monkeypatch.setattr(backends, "counts_right", lambda device, dtype, name: name in right)
    assert backends.backend_of(on_device(np.eye(3))) == expected
    assert backends.scores_vectors() == (installed and chosen != "torch")


def test_triton_is_required_where_it_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its kernels are interpreted they are not tried."""
    tensor = on_device(np.eye(3)).raw
    monkeypatch.setenv("TRUERANK_DEVICE", "triton")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(backends, "find_spec", lambda name: name)
    monkeypatch.setattr(backends, "counts_right", lambda *arguments: False)
    assert backends.backend_of(tensor) == "triton"
    monkeypatch.setattr(backends, "find_spec", lambda name: None)
    for ask in (backends.scores_vectors, lambda: backends.backend_of(tensor)):
        refusal(ImportError, "^TRUERANK_DEVICE=triton needs the package triton", ask)


@pytest.mark.usefixtures("counted_there")
def test_a_counter_goes_on_while_a_device_counts(example: tuple[Any, Any]) -> None:
    array, targets = example
    lists = [RNG.integers(0, 300, 20).tolist() for _ in range(23)]
    counter = tr.RankCounter(array[np.arange(23), targets], targets, candidates=300, filter=lists)
    module.forget()
    done = module.default.done
    counter.update(pending_scores(array[:, :100]), start=0)
    assert module.default.done == done  # nothing was waited for
    assert repr(counter) == "RankCounter(23 tasks, float64, 100 of 300 columns)"
    with pytest.raises(ValueError, match=r"^block: column 99 has been counted before"):
        counter.update(pending_scores(array[:, 99:200]), start=99)
    mixed = 100 + RNG.permutation(200)
    counter.update(pending_scores(array[:, mixed]), columns=on_device(mixed))
    assert module.synchronisations == 0
    assert counter.ranks() == tr.rank(array, targets, filter=lists)


@pytest.mark.usefixtures("counted_there")
def test_the_error_of_a_block_comes_with_the_next_call(example: tuple[Any, Any]) -> None:
    array, targets = example
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


@pytest.mark.usefixtures("counted_there")
def test_queries_are_copied_to_a_device_that_still_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    let_counts_be_pending(monkeypatch)
    model = on_device(RNG.random((30, 30)))
    test = np.stack([np.arange(30), np.zeros(30, np.int64), RNG.integers(0, 30, 30)], axis=1)
    task = Task(test, entities=30, relations=1, sides=("tail",))
    left: list[int] = []

    def scored(queries: Any) -> Any:
        left.append(len(module.default.operations) - module.default.done)
        return model[queries[:, 0]]

    report = task.evaluate(tail=scored, batch_size=10, device=model.device)
    assert report.ranks == task.evaluate(tail=lambda q: model.raw[q[:, 0]]).ranks
    assert left[0] < left[1] == left[2]
