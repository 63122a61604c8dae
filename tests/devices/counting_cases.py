"""Scores that are counted by Triton's kernels, which give the counts and errors of the host.

Tensors in the host's memory stand in for those on a device, and kernels run in Triton's interpreter
(`test_devices.py`). Limits are so small that every call takes several blocks and programs. Targets
and lists that are on the device of the scores stay there.
"""

from __future__ import annotations

import json
from collections.abc import Callable
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
from support.problems import Array, csr, host_tensor
from truerank.devices import count_kernels, task_counts
from truerank.devices.device_scores import DeviceScores
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


def test_what_does_not_stay() -> None:
    """Audits and checkpoints are of the host, and so is what is on another device."""
    given = {name: tensors(value) for name, value in tasks().items()}
    expected = tr.rank(SCORES, **tasks(), audit=True)
    assert tr.rank(host_tensor(SCORES), **given, audit=True) == expected
    got = attempt(tr.rank, host_tensor(SCORES), torch.zeros(6, dtype=torch.int64, device="meta"))
    assert str(got).startswith("targets: expected a dense tensor of numbers")
