"""Scores that are counted by Triton's kernels, which give the counts and errors of the host.

Tensors in the host's memory stand in for those on a device, and kernels run in Triton's interpreter
(`test_devices.py`). Limits are so small that every call takes several blocks and programs. Targets
and lists that are on the device of the scores stay there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from strategies.count_problems import Problem, problems
from support.outcomes import attempt, outcome
from support.pending_counts import note_waits, ranks_of_blocks
from support.problems import Array, csr, host_tensor
from support.refusals import refusal, refused
from truerank.counting.row_blocks import begin_rank
from truerank.devices import count_kernels, task_counts, unchecked
from truerank.devices.device_scores import DeviceScores
from truerank.link_prediction import Task
from truerank.stores.on_device import DeviceStream

RNG = np.random.default_rng(11)


def prepare(patch: pytest.MonkeyPatch, most: int = 40) -> None:
    """Choose Triton, with small limits, and fill new memory with numbers that nobody set."""
    patch.setattr(count_kernels, "TILE", 64)
    patch.setattr(count_kernels, "ROWS", 4)
    patch.setattr(count_kernels, "PROGRAMS", 12)
    patch.setenv("TRUERANK_DEVICE", "triton")
    patch.setattr(task_counts, "MOST_KERNEL_TASKS", most // 8 + 1)
    plain = DeviceScores.empty
    patch.setattr(DeviceScores, "empty", lambda *args: plain(*args).fill_(113))


READS = ("__array__", "__bool__", "cpu", "item", "numpy", "to", "tolist")


class Watched(torch.Tensor):
    """A tensor that notes when the host reads it."""

    events: list[str]

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if function.__name__ in READS:
            Watched.events.append("read")
        return super().__torch_function__(function, types, args, kwargs or {})


@pytest.fixture(autouse=True)
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happens in a call: that the host reads a tensor, and that counts are copied to it."""
    prepare(monkeypatch, 1000)
    monkeypatch.setattr(count_kernels, "PLACES", 8)
    monkeypatch.setattr(count_kernels, "SORTED_TOGETHER", 4)
    Watched.events = []
    plain = DeviceStream.copy_to_host

    def noted(self: DeviceStream, tensor: Any) -> Any:
        Watched.events.append("counts")
        return plain(self, tensor)

    monkeypatch.setattr(DeviceStream, "copy_to_host", noted)
    return Watched.events


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda tensor: tensor,
    "columns": lambda tensor: tensor.transpose(0, -1).contiguous().transpose(0, -1),
    "steps": lambda tensor: tensor.repeat_interleave(2, -1)[..., ::2],
}


def test_blocks_of_candidates() -> None:
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


def test_a_buffer_that_is_filled_again() -> None:
    """What a kernel has been given to count may be written again, also if it has a NaN."""
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
    refused(ValueError, "block 1", ranks_of_blocks, blocks(), audit=True)
    halves = [(buffer[:, i : i + 15], 3) for i in (0, 15)]
    assert len(ranks_of_blocks(halves, audit=True)) == 40
    array[25, 7] = np.nan
    words = r"^block 1: scores: a score at row 5, column 7 is"
    refusal(ValueError, words, ranks_of_blocks, blocks())


def test_the_error_of_the_first_block_is_the_first() -> None:
    scores = torch.zeros(3, 4)
    wrong = scores.clone()
    wrong[1, 2] = float("nan")
    words = r"^block 0: scores: a score at row 1, column 2"
    refusal(ValueError, words, ranks_of_blocks, [(wrong, 0), (scores, 9)])
    blocks = [(scores, 0), (scores.clone(), 9), (wrong, 0)]
    refusal(ValueError, r"^block 1: targets: ", ranks_of_blocks, blocks)


def test_the_next_block_is_asked_for_before_one_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events: list[str] = []
    note_waits(monkeypatch, events)
    array = RNG.integers(0, 9, (15, 30)).astype(np.float32)
    targets = RNG.integers(0, 30, 15)

    def blocks() -> Any:
        for some in np.split(np.arange(15), 3):
            events.append("asked")
            yield host_tensor(array[some]), targets[some]

    assert ranks_of_blocks(blocks()) == tr.rank(array, targets)
    assert events == ["asked", "asked", "wait", "asked", "wait", "wait"]


def test_a_filter_is_copied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of all batches of a side; a batch does not wait for the one before."""
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


# --- targets and lists on the device of the scores


def tensors(value: Any) -> Any:
    """Return arrays that torch can have, at any depth of tuples, as tensors; all else as it is."""
    if isinstance(value, tuple):
        return tuple(map(tensors, value))
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu":
        return value
    if not value.dtype.isnative or value.dtype.kind == "u":
        return value
    return torch.from_numpy(value.copy()).as_subclass(Watched)


@given(problem=problems(nan=True, errors=True), data=st.data())
def test_the_counts_and_errors_of_the_host(problem: Problem, data: st.DataObject) -> None:
    tensor = LAYOUTS[data.draw(st.sampled_from(list(LAYOUTS)))](host_tensor(problem.scores))
    problem = Problem(problem.scores, problem.targets, {**problem.keywords, "dtype": None})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRUERANK_DEVICE", "")
        expected = outcome(tensor, problem)
    targets, keywords = problem.call()
    if np.size(targets):  # An empty list would be floats.
        targets = data.draw(st.sampled_from([targets, np.asarray(targets)]))
    stay = st.sampled_from([tensors, tensors, lambda value: value])
    with pytest.MonkeyPatch.context() as patch:
        prepare(patch, data.draw(st.sampled_from([16, 100, 1000])))
        for name in ("filter", "candidates"):
            if name in keywords:
                keywords[name] = data.draw(stay)(keywords[name])
        got = attempt(tr.rank, tensor, data.draw(stay)(targets), **keywords)
    if isinstance(expected, Exception):
        assert type(got) is type(expected)
        assert str(got) == str(expected)
        return
    assert got == expected
    assert isinstance(got, tr.Ranks)
    assert expected.protocol.device is None
    way = "triton" if expected.audit is None else "host"
    assert got.protocol.device == f"cpu, {way}"


SCORES = RNG.integers(0, 5, (6, 20)).astype(np.float32)
TARGETS = RNG.integers(0, 20, 6)
SORTED = [np.unique(RNG.integers(0, 20, 6)) for _ in range(6)]
SORTED[2] = SORTED[5] = SORTED[0][:0]
ALL = np.tile(np.arange(20), 6)
STARTS = np.arange(7) * 20


def with_entry(array: Array, place: int, value: int) -> Array:
    changed = array.copy()
    changed[place] = value
    return changed


def tasks(**others: Any) -> dict[str, Any]:
    """Return the arguments of a call, with some in place of the right ones."""
    indptr, indices = csr([list(some) for some in SORTED])
    usual = {"targets": TARGETS, "filter": (indptr, indices.astype(np.int32))}
    return usual | {"candidates": (STARTS, ALL)} | others


INDPTR, INDICES = tasks()["filter"]
GIVEN: dict[str, dict[str, Any]] = {
    "all": tasks(),
    "targets": tasks(filter=None, candidates=None),
    "int32": tasks(targets=TARGETS.astype(np.int32), filter=(INDPTR.astype(np.int32), INDICES)),
    "lists": tasks(
        filter=(INDPTR, INDICES, RNG.integers(0, 6, 6)),
        candidates=(STARTS[:2], ALL[:20], np.zeros(6, np.int32)),
    ),
    "no entries": tasks(filter=(INDPTR * 0, INDICES[:0])),
    "rows": tasks(rows=RNG.permutation(6)),
}


@pytest.mark.parametrize("name", GIVEN)
def test_nothing_is_read_before_the_counts(name: str, events: list[str]) -> None:
    expected = tr.rank(SCORES, **GIVEN[name])
    rows = GIVEN[name].get("rows")
    given = {each: tensors(value) for each, value in GIVEN[name].items()} | {"rows": rows}
    assert tr.rank(host_tensor(SCORES), **given) == expected
    assert events == ["counts"]
    assert ranks_of_blocks([{"scores": host_tensor(SCORES), **given}]) == expected
    assert events == ["counts"] * 2


FAULTS: dict[str, dict[str, Any]] = {
    "target too large": tasks(targets=with_entry(TARGETS, -1, 20)),
    "entry too large": tasks(filter=(INDPTR, with_entry(INDICES, -1, 20))),
    "unused list": tasks(
        filter=(INDPTR, with_entry(INDICES, -1, 20), np.zeros(6, np.int64)), candidates=None
    ),
    "indptr falls far": tasks(filter=(with_entry(INDPTR, 4, -(1 << 62)), INDICES)),
    "indptr rises far": tasks(filter=(with_entry(INDPTR, 4, 1 << 62), INDICES)),
    "indptr begins late": tasks(filter=(with_entry(INDPTR, 0, 1), INDICES)),
    "indptr ends early": tasks(filter=(with_entry(INDPTR, -1, INDPTR[-1] - 1), INDICES)),
    "indptr ends late": tasks(filter=(INDPTR, INDICES[:-1])),
    "no such list": tasks(filter=(INDPTR, INDICES, with_entry(np.zeros(6, np.int64), 4, 6))),
}
OF_FORM: dict[str, dict[str, Any]] = {
    "length of targets": tasks(targets=TARGETS[1:]),
    "length of indptr": tasks(filter=(INDPTR[1:], INDICES)),
    "no lists": tasks(filter=(INDPTR[:1], INDICES[:0], np.zeros(6, np.int64))),
    "floats": tasks(filter=(INDPTR, INDICES.astype(float))),
    "two dimensions": tasks(targets=TARGETS[:, None]),
}


@pytest.mark.parametrize("name", [*FAULTS, *OF_FORM])
def test_faults_are_those_of_the_host(name: str, events: list[str]) -> None:
    """Those of the values are found on the device, and looked for on the host only then."""
    given = (FAULTS | OF_FORM)[name]
    expected = attempt(tr.rank, SCORES, **given)
    assert isinstance(expected, ValueError | TypeError)
    arguments = {each: tensors(value) for each, value in given.items()}
    got = attempt(tr.rank, host_tensor(SCORES), **arguments)
    assert type(got) is type(expected)
    assert str(got) == str(expected)
    is_of_form = name in OF_FORM
    assert ("counts" in events) != is_of_form
    assert events[0] == ("read" if is_of_form else "counts")


DISORDER: dict[str, Callable[[Array], Array]] = {
    "falling": lambda entries: entries[::-1],
    "repeats": lambda entries: np.repeat(entries, 2),
    "the last two": lambda entries: np.append(entries[:-2], entries[-2:][::-1]),
}


@pytest.mark.parametrize("argument", ["filter", "candidates"])
@pytest.mark.parametrize("kind", DISORDER)
@pytest.mark.parametrize("which", [[0], [5], range(6)])
def test_lists_out_of_order(
    which: Any, kind: str, argument: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count_kernels, "PROGRAMS", 4)
    lists = [np.append(some, TARGETS[i]) for i, some in enumerate(SORTED)]
    lists = [np.unique(np.append(some, (5, 6))) for some in lists]
    expected = tr.rank(SCORES, TARGETS, **{argument: csr([list(some) for some in lists])})
    for i in which:
        lists[i] = DISORDER[kind](lists[i])
    selection = tensors(csr([list(some) for some in lists]))
    got = tr.rank(host_tensor(SCORES), tensors(TARGETS), **{argument: selection})
    assert got == expected
    assert "read" not in Watched.events
    block = {"scores": host_tensor(SCORES), "targets": TARGETS, argument: selection}
    assert ranks_of_blocks([block]) == expected


def test_a_producer_may_change_what_it_handed_over() -> None:
    """Tensors of targets and lists are copied on the device; scores are counted in its order."""
    scores = torch.empty(6, 20)
    targets = tensors(TARGETS)
    filter = tensors((INDPTR, INDICES))

    def blocks(filter: Any = None, buffer: Any = None) -> Iterator[dict[str, Any]]:
        for shift in range(3):
            block = torch.empty(6, 20) if buffer is None else buffer
            block.copy_(host_tensor(np.roll(SCORES, shift, 0)))
            targets.copy_(torch.from_numpy((TARGETS + shift) % 20))
            yield {"scores": block, "targets": targets, "filter": filter}
        targets.fill_(99)

    shifts = range(3)
    expected = [tr.rank(np.roll(SCORES, i, 0), (TARGETS + i) % 20) for i in shifts]
    assert ranks_of_blocks(blocks(buffer=scores)) == tr.concatenate(expected)
    shifted = [(np.roll(SCORES, i, 0), (TARGETS + i) % 20) for i in shifts]
    expected = [tr.rank(*some, filter=(INDPTR, INDICES)) for some in shifted]
    assert ranks_of_blocks(blocks(filter)) == tr.concatenate(expected)
    assert ranks_of_blocks(blocks((INDPTR, INDICES), scores)) == tr.concatenate(expected)
    unsorted = tensors((2 * INDPTR, np.repeat(INDICES, 2)))
    for lists in (filter, unsorted):
        assert ranks_of_blocks(blocks(lists, scores)) == tr.concatenate(expected)
    targets.copy_(torch.from_numpy(TARGETS))
    _, finish = begin_rank(host_tensor(SCORES), targets, filter=filter)
    for tensor in (targets, *filter):
        tensor.fill_(-1)
    assert finish() == tr.rank(SCORES, TARGETS, filter=(INDPTR, INDICES))


def test_a_wrong_target_is_raised_when_it_is_waited_for() -> None:
    targets = tensors(with_entry(TARGETS, 3, 20))
    message = attempt(tr.rank, SCORES, with_entry(TARGETS, 3, 20))
    _, finish = begin_rank(host_tensor(SCORES), targets)
    targets.fill_(0)
    assert str(attempt(finish)) == str(message)
    wrong = tensors((INDPTR, with_entry(INDICES, 2, 20)))
    message = attempt(tr.rank, SCORES, 0, filter=(INDPTR, with_entry(INDICES, 2, 20)))
    _, finish = begin_rank(host_tensor(SCORES), targets, filter=wrong)
    wrong[1].fill_(0)
    assert str(attempt(finish)) == str(message)


def test_what_does_not_stay() -> None:
    """Audits and checkpoints are of the host, and so is what is on another device."""
    given = {name: tensors(value) for name, value in tasks().items()}
    expected = tr.rank(SCORES, **tasks(), audit=True)
    assert tr.rank(host_tensor(SCORES), **given, audit=True) == expected
    got = attempt(tr.rank, host_tensor(SCORES), torch.zeros(6, dtype=torch.int64, device="meta"))
    assert str(got).startswith("targets: expected a dense tensor of numbers")
