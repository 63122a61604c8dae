"""Scores that are counted by Triton's kernels, which give the counts and errors of the host.

Tensors in the host's memory stand in for those on a device, and kernels run in Triton's interpreter
(`test_devices.py`). Limits are so small that every call takes several blocks and programs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import truerank as tr
from support.pending_counts import note_waits
from support.problems import host_tensor
from support.row_blocks import ranks_of_blocks
from truerank.counting.row_blocks import begin_rank
from truerank.devices import count_kernels, task_counts, unchecked
from truerank.devices.score_sources import StoredScores
from truerank.link_prediction import Task
from truerank.stores.on_device import DeviceStream

RNG = np.random.default_rng(11)


def prepare(patch: pytest.MonkeyPatch, most: int = 40) -> None:
    """Choose Triton, with small limits, and fill new memory with numbers that nobody set."""
    patch.setattr(count_kernels, "TILE", 64)
    patch.setattr(count_kernels, "ROWS", 4)
    patch.setattr(count_kernels, "PROGRAMS", 12)
    patch.setenv("TRUERANK_DEVICE", "triton")
    patch.setattr(task_counts, "MOST_STORED_TASKS", most // 8 + 1)
    plain = StoredScores.empty
    patch.setattr(StoredScores, "empty", lambda *args: plain(*args).fill_(113))


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda tensor: tensor,
    "columns": lambda tensor: tensor.transpose(0, -1).contiguous().transpose(0, -1),
    "steps": lambda tensor: tensor.repeat_interleave(2, -1)[..., ::2],
}


def test_blocks_of_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(monkeypatch)
    array = RNG.integers(0, 9, (23, 90)).astype(np.float32)
    targets = RNG.integers(0, 90, 23)
    lists = [RNG.integers(0, 90, 12).tolist() for _ in range(23)]
    true_scores = host_tensor(array[np.arange(23), targets])
    counter = tr.RankCounter(true_scores, targets, candidates=90, filter=lists, audit=True)
    counter.update(host_tensor(array[:, :40]), start=0)
    mixed = 40 + RNG.permutation(50)
    counter.update(host_tensor(array[:, mixed]), columns=mixed)
    assert counter.ranks() == tr.rank(array, targets, filter=lists, audit=True)
    negative = torch._neg_view(host_tensor(-array))  # which is not as in its memory
    assert tr.rank(negative, targets) == tr.rank(array, targets)
    assert tr.rank_against(true_scores, host_tensor(array)) == tr.rank_against(
        true_scores.numpy(), array
    )


def test_a_buffer_that_is_filled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a kernel has been given to count may be written again, also if it has a NaN."""
    prepare(monkeypatch)
    array = RNG.integers(0, 9, (60, 30)).astype(np.float32)
    targets = RNG.integers(0, 30, 60)
    buffer = torch.empty(20, 30)

    def blocks() -> Any:
        for start in range(0, 60, 20):
            buffer.copy_(host_tensor(array[start : start + 20]))
            yield buffer, targets[start : start + 20]

    ranks = ranks_of_blocks(blocks())
    assert ranks == tr.rank(array, targets)
    assert ranks.protocol.device == "cpu, triton"
    with pytest.raises(ValueError, match=r"^block 1: scores: expected memory other"):
        ranks_of_blocks(blocks(), audit=True)
    array[25, 7] = np.nan
    with pytest.raises(ValueError, match=r"^block 1: scores: a score at row 5, column 7 is"):
        ranks_of_blocks(blocks())


def test_the_error_of_the_first_block_is_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(monkeypatch)
    scores = torch.zeros(3, 4)
    wrong = scores.clone()
    wrong[1, 2] = float("nan")
    with pytest.raises(ValueError, match=r"^block 0: scores: a score at row 1, column 2"):
        ranks_of_blocks([(wrong, 0), (scores, 9)])
    with pytest.raises(ValueError, match=r"^block 1: targets: "):
        ranks_of_blocks([(scores, 0), (scores.clone(), 9), (wrong, 0)])


def test_the_next_batch_is_asked_for_before_one_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of blocks, and of the callable of a task."""
    prepare(monkeypatch)
    events: list[str] = []
    note_waits(monkeypatch, events)
    array = RNG.integers(0, 9, (15, 30)).astype(np.float32)
    targets = RNG.integers(0, 30, 15)

    def scored(rows: Any) -> Any:
        events.append("asked")
        return host_tensor(array[rows])

    in_turn = ["asked", "asked", "wait", "asked", "wait", "wait"]
    batches = np.split(np.arange(15), 3)
    assert ranks_of_blocks((scored(some), targets[some]) for some in batches) == tr.rank(
        array, targets
    )
    assert events == in_turn
    events.clear()
    test = np.stack([np.arange(15), np.zeros(15, np.int64), targets], axis=1)
    task = Task(test, entities=30, relations=1, sides=("tail",))
    report = task.evaluate(tail=lambda queries: scored(queries[:, 0]), batch_size=5)
    assert events == in_turn
    assert report.protocol.device == "cpu, triton"


def test_a_filter_is_copied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of all batches of a side; a batch does not wait for the one before."""
    prepare(monkeypatch, 1000)
    events: list[str] = []
    note_waits(monkeypatch, events)
    plain = unchecked.copy_to_device

    def noted(array: Any, device: Any) -> Any:
        events.append("copied")
        return plain(array, device)

    monkeypatch.setattr(unchecked, "copy_to_device", noted)
    facts = RNG.permutation(np.unique(RNG.integers(0, [9, 2, 30], (90, 3)), axis=0))
    known, test = np.split(facts, [-20])
    model = RNG.integers(0, 4, (9, 2, 30)).astype(np.float32)
    task = Task(test, known=known, entities=30, relations=2, sides=("tail",))

    def score(queries: Any) -> Any:
        events.append("asked")
        return host_tensor(model[queries[:, 0], queries[:, 1]])

    got = task.evaluate(tail=score, batch_size=4)
    assert got.protocol.device == "cpu, triton"
    assert got.ranks == task.evaluate(tail=lambda q: model[q[:, 0], q[:, 1]]).ranks
    batches = events.count("asked")
    assert batches > 2
    assert events.count("copied") == 2
    in_turn = ["asked", *["asked", "wait"] * (batches - 1), "wait"]
    assert [event for event in events if event != "copied"] == in_turn


@pytest.mark.parametrize("limit", ["tasks", "stream"])
def test_a_filter_that_stays_on_the_host(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(monkeypatch, 8 if limit == "tasks" else 1000)
    if limit == "stream":
        monkeypatch.setattr(DeviceStream, "is_same", lambda stream, other: False)
    scores = RNG.integers(0, 4, (6, 20)).astype(np.float32)
    targets = RNG.integers(0, 20, 6)
    indptr, indices, lists = np.array([0, 3, 3, 5]), np.array([9, 2, 9, 5, 7]), np.arange(6) % 3
    kept = unchecked.KeptLists(indptr, indices, lists)
    some = np.array([5, 1, 3])
    _, finish = begin_rank(host_tensor(scores[some]), targets[some], filter=kept.of_tasks(some))
    got = finish()
    assert got == tr.rank(scores, targets, filter=(indptr, indices, lists))[some]


@pytest.mark.parametrize(
    ("shape", "kind"), [((3, 1_500_000), "float64"), ((140_000, 20), "bfloat16")]
)
def test_memory_beside_the_scores(
    shape: tuple[int, int], kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TRUERANK_DEVICE", "torch")
    rows, columns = shape
    scores = torch.zeros(shape, dtype=getattr(torch, kind))
    lists = np.arange(rows * 5).reshape(rows, 5) * 7919 % columns
    filter = (np.arange(rows + 1) * 5, np.sort(lists, axis=1).reshape(-1))
    with torch.profiler.profile(profile_memory=True) as profiler:
        ranks = tr.rank(scores, 3, filter=filter)
    assert ranks.protocol.device == "cpu, torch"
    assert (ranks.tied == ranks.candidates).all()
    profiler.export_chrome_trace(str(tmp_path / "trace"))
    events = json.loads((tmp_path / "trace").read_text())["traceEvents"]
    sizes = [event["args"]["Total Allocated"] for event in events if event["name"] == "[memory]"]
    selections = 8 * rows * 5
    assert max(sizes) - min(sizes) - selections < 256 << 20
