"""Tensors on a simulated device; `test_devices.py` runs these tests in their own process.

The device is that of `support.simulated_device`, where results that nobody waited for are wrong.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from strategies.count_problems import Problem, problems
from support.outcomes import outcome
from support.problems import DTYPES, Array, matrix
from support.simulated_device import (  # noqa: F401  # a fixture
    NAME,
    RNG,
    DeviceTensor,
    Event,
    Stream,
    host_tensor,
    module,
    on_device,
    pending_scores,
    pending_tensor,
    small_blocks,
)
from truerank import alignment, stores
from truerank.counting import tiles
from truerank.link_prediction import Task
from truerank.stores import on_device as device


@contextmanager
def no(kind: type, name: str) -> Iterator[None]:
    """Let a method do nothing within the block, as if it were not called."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, name, lambda *args: None)
        yield


# --- the same counts


@pytest.mark.parametrize("kind", DTYPES)
def test_every_dtype(kind: str) -> None:
    array = matrix(kind, (23, 67))
    targets = RNG.integers(0, 67, 23)
    ranks = tr.rank(pending_scores(array), targets)
    assert ranks == tr.rank(host_tensor(array), targets)
    assert ranks.protocol.dtype == kind
    assert module.copies == [False] * len(module.copies)
    assert len(module.copies) > 1
    assert tr.rank(pending_scores(array)[3], 7) == tr.rank(host_tensor(array)[3], 7)  # a single row


VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "turned": lambda tensor: tensor.T,
    "steps": lambda tensor: tensor[1::3, ::2],
    "broadcast": lambda tensor: tensor[:1].expand(9, -1),
    "negative bit": torch._neg_view,
    "gradient": lambda tensor: tensor.clone().requires_grad_(),
    "computed with a gradient": lambda tensor: tensor.clone().requires_grad_() * 1,
    "one row": lambda tensor: tensor[:1],
    "no rows": lambda tensor: tensor[:0],
}


@pytest.mark.parametrize("how", VIEWS)
@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_every_view(how: str, kind: str) -> None:
    on_host = VIEWS[how](host_tensor(matrix(kind, (23, 67))))
    on_the_device = DeviceTensor(on_host.detach())
    if on_host.requires_grad:
        on_the_device = on_the_device.requires_grad_()
    targets = RNG.integers(0, on_host.shape[1], len(on_host))
    assert tr.rank(on_the_device, targets, audit=True) == tr.rank(on_host, targets, audit=True)


@given(problems(nan=True, errors=True), st.sampled_from([1, 40, 1000, 1 << 20]))
def test_the_counts_and_refusals_of_memory(problem: Problem, most: int) -> None:
    tensor = host_tensor(problem.scores)
    problem = Problem(tensor.float().numpy(), problem.targets, {**problem.keywords, "dtype": None})
    expected = outcome(tensor, problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device, "BLOCK_BYTES", most)
        got = outcome(pending_tensor(lambda: tensor), problem)
    if isinstance(expected, Exception):
        assert type(got) is type(expected)
        # If there are several NaN, the error names that of the first block.
        if "is NaN" not in str(expected):
            assert str(got) == str(expected)
        else:
            assert "is NaN" in str(got) or "candidates: the target" in str(got)
        return
    assert got == expected


def test_evaluate_progress_and_checkpoint(tmp_path: Any) -> None:
    array, targets = RNG.random((40, 50)), RNG.integers(0, 50, 40)
    expected = tr.rank(array, targets)
    assert tr.evaluate(pending_scores(array), targets).ranks == expected
    bytes_done: list[int] = []
    keywords: dict[str, Any] = {"checkpoint": tmp_path / "half"}
    keywords["progress"] = lambda progress: bytes_done.append(progress.done)
    assert tr.rank(pending_scores(array), targets, **keywords) == expected
    assert bytes_done[0] == 0
    assert bytes_done[-1] == array.nbytes
    assert len(bytes_done) > 3
    before = len(module.copies)
    assert tr.rank(pending_scores(array), targets, **keywords) == expected
    assert len(module.copies) > before  # this checks whether the scores are the same
    with pytest.raises(ValueError, match="checkpoint"):
        tr.rank(pending_scores(array + 1), targets, **keywords)


def test_several_tensors_are_shards() -> None:
    array, targets = RNG.random((40, 50)), RNG.integers(0, 50, 40)
    store = tr.open_scores(
        [pending_scores(array[:, :20]), array[:, 20:30], pending_scores(array[:, 30:])], axis=1
    )
    assert tr.rank(store, targets) == tr.rank(array, targets)
    assert repr(tr.open_scores(pending_scores(array))) == "DeviceStore(40 x 50 float64)"


# --- nothing is read before it is computed


def test_a_copy_that_is_not_waited_for_is_seen() -> None:
    array, targets = RNG.random((40, 50)), RNG.integers(0, 50, 40)
    with no(Event, "synchronize"):
        assert tr.rank(pending_scores(array), targets) != tr.rank(array, targets)


@pytest.mark.parametrize("width", [50, 5000])
def test_scores_of_a_stream_beside(width: int) -> None:
    """Copies wait for the caller's stream, although they are made on another thread."""
    array, targets = RNG.random((40, width)), RNG.integers(0, width, 40)
    with module.stream(Stream()):
        assert tr.rank(pending_scores(array), targets) == tr.rank(array, targets)


def test_one_block_is_copied_while_another_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block is counted only after the next copy has begun, and all counts are right."""
    array, targets = RNG.random((40, 50)), RNG.integers(0, 50, 40)
    expected, count = tr.rank(array, targets), tiles._core.rank
    blocks = len(tr.open_scores(pending_scores(array)).tiles(1 << 30))
    counted: list[None] = []

    def late(*args: Any) -> Any:
        counted.append(None)
        following = min(len(counted) + 1, blocks)
        with module.copied:
            assert module.copied.wait_for(lambda: len(module.copies) >= following, timeout=30)
        return count(*args)

    monkeypatch.setattr(tiles._core, "rank", late)
    assert tr.rank(pending_scores(array), targets) == expected
    assert len(counted) == blocks == len(module.copies)


def test_a_mode_of_the_thread_changes_nothing() -> None:
    array, targets, rows = RNG.random((4, 5000)), np.arange(400), np.arange(400) % 4
    expected = tr.rank(array, targets, rows=rows)
    with torch.inference_mode():  # true scores are taken here, blocks on another thread
        assert tr.rank(pending_scores(array), targets, rows=rows) == expected
    with torch.no_grad():
        assert tr.rank(pending_scores(array), targets, rows=rows) == expected
    scores = pending_scores(array)
    with torch.device("meta"):
        assert tr.rank(scores, targets, rows=rows) == expected


def test_a_device_without_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    array, targets = RNG.random((4, 5000)), RNG.integers(0, 5000, 4)
    monkeypatch.delattr(type(module), "Stream")
    assert tr.rank(pending_scores(array), targets) == tr.rank(array, targets)
    assert module.copies == [True] * len(module.copies)


def test_threads_share_a_store() -> None:
    array, targets = RNG.random((40, 50)), RNG.integers(0, 50, 40)
    store, expected = tr.open_scores(pending_scores(array)), tr.rank(array, targets)
    found: list[bool] = []
    threads = [
        threading.Thread(target=lambda: found.append(tr.rank(store, targets) == expected))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


# --- counters


def counter_of(array: Array, targets: Any, **keywords: Any) -> tr.RankCounter:
    true_scores = array[np.arange(len(array)), targets]
    return tr.RankCounter(
        pending_scores(true_scores), targets, candidates=array.shape[1], **keywords
    )


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("audit", [False, True])
def test_blocks_of_candidates(kind: str, audit: bool) -> None:
    array, targets = matrix(kind, (23, 300)), RNG.integers(0, 300, 23)
    filter = [RNG.integers(0, 300, 20).tolist() for _ in range(23)]
    expected = tr.rank(array, targets, filter=filter, audit=audit)
    mixed = RNG.permutation(np.arange(200, 300))
    counter = counter_of(array, targets, filter=filter, audit=audit)
    counter.update(pending_scores(array[:, 100:200]), start=100)
    counter.update(pending_scores(array[:, mixed]), columns=mixed)
    counter.update(array[:, :50], start=0)
    counter.update(pending_scores(array[:, 50:100].T).T, start=50)
    found = counter.ranks()
    assert found == expected or audit
    for name in ("above", "tied", "candidates"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    if audit:
        for a, b in zip(found.audit[:3], expected.audit[:3], strict=True):
            np.testing.assert_array_equal(a, b)


def test_blocks_of_no_columns_and_of_one_row() -> None:
    array, targets = RNG.random((1, 300)), [7, 299]
    counter = tr.RankCounter(array[0, targets], targets, candidates=300)
    counter.update(pending_scores(array[0, :0]), start=0)
    counter.update(pending_scores(array[0]))
    assert counter.ranks() == tr.rank(array[0], targets)


def test_a_refused_block_leaves_the_counter_as_it_was() -> None:
    array, targets = RNG.random((5, 300)), [0, 1, 2, 3, 4]
    counter = counter_of(array, targets)
    wrong = array.copy()
    wrong[3, 250] = np.nan
    with pytest.raises(ValueError, match=r"^block: the score at row 3, column 250 is NaN"):
        counter.update(pending_scores(wrong))
    with pytest.raises(ValueError, match=r"^block: .* row 3, column 50 \(column 250\) is NaN"):
        counter.update(pending_scores(wrong[:, 200:]), start=200)
    with pytest.raises(TypeError, match=r"^block: expected float64, .* got float32"):
        counter.update(pending_scores(array.astype(np.float32)))
    with pytest.raises(ValueError, match=r"^block: expected 5 rows, .* got shape \(4, 300\)"):
        counter.update(pending_scores(array[1:]))
    with pytest.raises(ValueError, match=r"^block: expected a matrix .* got shape \(5, 2, 1\)"):
        counter.update(on_device(np.zeros((5, 2, 1))))
    counter.update(pending_scores(array))
    assert counter.ranks() == tr.rank(array, targets)


def test_sampled_negatives() -> None:
    true_scores, others = RNG.random(40), RNG.random((40, 60))
    expected = tr.rank_against(true_scores, others)
    assert tr.rank_against(pending_scores(true_scores), pending_scores(others)) == expected
    indptr = np.arange(0, 2401, 60)
    assert (
        tr.rank_against(pending_scores(true_scores), (pending_scores(others.ravel()), indptr))
        == expected
    )
    assert tr.rank_against(true_scores, pending_scores(others)) == expected


# --- the other ways in


def test_blocks_of_rows() -> None:
    array, targets = RNG.random((60, 50)), RNG.integers(0, 50, 60)
    blocks = ((pending_scores(array[i : i + 20]), targets[i : i + 20]) for i in range(0, 60, 20))
    assert tr.rank_blocks(blocks) == tr.rank(array, targets)


def test_tasks() -> None:
    test = np.stack([RNG.integers(0, 30, 40), RNG.integers(0, 3, 40), RNG.integers(0, 30, 40)], 1)
    task = Task(test, entities=30, relations=3, duplicates="drop")
    model = RNG.random((30, 3, 30))

    def tails(queries: Array) -> Array:
        return model[queries[:, 0], queries[:, 1]]

    def heads(queries: Array) -> Array:
        return model[:, queries[:, 0], queries[:, 1]].T

    expected = task.evaluate(tail=tails, head=heads, batch_size=7)
    got = task.evaluate(
        tail=lambda q: pending_scores(tails(q)),
        head=lambda q: pending_scores(heads(q)),
        batch_size=7,
    )
    assert got.ranks == expected.ranks
    matrices = tails(task.sides["tail"].queries), heads(task.sides["head"].queries)
    got = task.evaluate_scores(*map(pending_scores, matrices), unique=True)
    assert got.ranks == expected.ranks


def test_vectors() -> None:
    queries, entities = RNG.random((9, 8)), RNG.random((30, 8))
    bias, targets = RNG.random(30), RNG.integers(0, 30, 9)
    expected = tr.rank_embeddings(queries, entities, targets, similarity="l1", bias=bias)
    on_the_device = pending_scores(queries), pending_scores(entities)
    options = {"similarity": "l1", "bias": pending_scores(bias)}
    ranks = tr.rank_embeddings(*on_the_device, targets, **options)
    assert ranks == expected
    assert ranks.protocol.device == "standin:0, host"
    best = tr.topk_embeddings(queries, entities, 3)
    np.testing.assert_array_equal(tr.topk_embeddings(*on_the_device, 3).ids, best.ids)


def test_alignments() -> None:
    pairs = np.arange(20)[:, None].repeat(2, axis=1)
    task = alignment.Task(pairs, left=30, right=40)
    scores = RNG.random((30, 40))
    assert task.evaluate_scores(pending_scores(scores)).ranks == task.evaluate_scores(scores).ranks
    scaled = [task.evaluate_scores(some, csls=3).ranks for some in (pending_scores(scores), scores)]
    assert scaled[0] == scaled[1]


# --- what cannot be ranked


def test_refusals() -> None:
    for wrong, words in {
        on_device(np.zeros((2, 3), bool)): "^scores: expected one of float16, .*got dtype bool",
        on_device(np.zeros((2, 3), np.complex64)): "got dtype complex64",
        on_device(torch.zeros(2, 3).to(torch.float8_e5m2)): "got dtype torch.float8_e5m2",
    }.items():
        with pytest.raises(TypeError, match=words):
            tr.rank(wrong, [0, 1])
    with pytest.raises(ValueError, match=r"^scores: expected a matrix .* got shape \(2, 3, 4\)"):
        tr.rank(on_device(np.zeros((2, 3, 4))), [0, 1])
    with pytest.raises(
        TypeError, match="dtype: scores of dtype float32 cannot be taken as float64"
    ):
        tr.rank(on_device(np.zeros((2, 3), np.float32)), [0, 1], dtype="float64")
    bits = torch.tensor([[0x3F80, 0x4000]], dtype=torch.int16)
    assert tr.rank(on_device(bits), [0], dtype="bfloat16").protocol.dtype == "bfloat16"
    array = np.zeros((40, 5))
    array[30, 2] = np.nan
    with pytest.raises(ValueError, match=r"^scores: a score at row 30, column 2 is NaN"):
        tr.rank(pending_scores(array), [0] * 40)


def test_torch_has_the_device() -> None:
    assert pending_scores(np.zeros((2, 3))).device.type == NAME
    assert not isinstance(stores.read_scores(on_device(np.zeros((2, 3)))), stores.mapped.ArrayStore)
