"""Targets and filters on the device, and blocks that the device still computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.problems import csr
from support.simulated_device import (  # noqa: F401  # a fixture
    RNG,
    DeviceTensor,
    Stream,
    blocks_of_streams,
    module,
    on_device,
    pending_scores,
    small_blocks,
)
from truerank.counting import tiles
from truerank.link_prediction import Task


def test_everything_is_on_the_device() -> None:
    array, targets = RNG.random((23, 300)), RNG.integers(0, 300, 60)
    rows = RNG.integers(0, 23, 60).astype(np.int32)
    lists = [RNG.integers(0, 300, 20).tolist() for _ in range(60)]
    expected = tr.rank(array, targets, rows=rows, filter=lists, candidates=np.arange(300))
    on_the_device = {
        "rows": on_device(rows),
        "filter": tuple(map(on_device, csr(lists))),
        "candidates": on_device(np.arange(300)),
    }
    assert tr.rank(pending_scores(array), on_device(targets), **on_the_device) == expected
    lists_there = [on_device(np.array(some)) for some in lists]
    again = tr.rank(
        pending_scores(array), targets, rows=rows, filter=lists_there, candidates=np.arange(300)
    )
    assert again == expected
    assert tr.rank(pending_scores(array), on_device(np.array(7))) == tr.rank(array, 7)
    with pytest.raises(TypeError, match=r"^targets: expected integers, got dtype float64"):
        tr.rank(pending_scores(array), on_device(np.zeros(23)))


def test_columns_of_a_counter() -> None:
    array, targets = RNG.random((23, 300)), RNG.integers(0, 300, 23)
    counter = tr.RankCounter(array[np.arange(23), targets], on_device(targets), candidates=300)
    mixed = RNG.permutation(300)
    counter.update(pending_scores(array[:, mixed]), columns=on_device(mixed))
    assert counter.ranks() == tr.rank(array, targets)


@pytest.mark.parametrize("width", [50, 5000])
def test_blocks_of_a_stream_beside(width: int) -> None:
    """A block is right although another thread counts it, whose stream is not the block's."""
    array, targets = RNG.random((60, width)), RNG.integers(0, width, 60)

    assert tr.rank_blocks(blocks_of_streams(array, targets)) == tr.rank(array, targets)


def test_a_buffer_that_is_filled_again_is_refused() -> None:
    array = RNG.random((60, 50))
    buffer = on_device(np.empty((20, 50)))

    def refilled() -> Iterator[tuple[Any, Any]]:
        for i in range(0, 60, 20):
            buffer.raw.numpy()[:] = array[i : i + 20]
            yield DeviceTensor(buffer.raw), 7

    with pytest.raises(ValueError, match=r"^blocks: block 1: scores: expected memory other"):
        tr.rank_blocks(refilled())
    whole = on_device(array)
    halves = ((whole[:, i : i + 25], 3) for i in (0, 25))
    assert len(tr.rank_blocks(halves)) == 120


def test_errors_name_the_block() -> None:
    blocks = [(pending_scores(np.zeros((2, 3))), 0), (on_device(np.zeros((2, 3), bool)), 0)]
    with pytest.raises(TypeError, match=r"^blocks: block 1: scores: expected one of float16"):
        tr.rank_blocks(blocks)


def copies_of(call: Callable[[], Any]) -> int:
    """Return how many copies a call makes."""
    module.copies.clear()
    call()
    return len(module.copies)


def test_sampled_negatives_come_in_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "COLUMN_TILE_BYTES", 4000)
    true_scores, others = RNG.random(40), RNG.random((40, 60))
    assert copies_of(lambda: tr.rank_against(true_scores, pending_scores(others))) > 3
    assert tr.rank_against(true_scores, pending_scores(others)) == tr.rank_against(
        true_scores, others
    )
    with pytest.raises(ValueError, match=r"^others: expected a matrix .* got shape \(60,\)"):
        tr.rank_against(true_scores, pending_scores(others[0]))
    with pytest.raises(TypeError, match=r"^others: expected float64, .* got float32"):
        tr.rank_against(true_scores, pending_scores(others.astype(np.float32)))


def test_a_batch_is_copied_once() -> None:
    test = np.stack([RNG.integers(0, 30, 40), np.zeros(40, np.int64), RNG.integers(0, 30, 40)], 1)
    task = Task(test, entities=30, relations=1, sides=("tail",), duplicates="drop")
    model = RNG.random((30, 30)).astype(np.float32)
    queries = len(task.sides["tail"].queries)

    def scored(queries: Any) -> Any:
        return pending_scores(model[queries[:, 0]])

    assert copies_of(lambda: task.evaluate(tail=scored, batch_size=1)) == queries
    with pytest.raises(ValueError, match=r"^tail: .* got \(1, 29\)"):
        task.evaluate(tail=lambda q: pending_scores(model[q[:, 0], 1:]), batch_size=1)
