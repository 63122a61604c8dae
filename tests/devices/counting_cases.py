"""Scores that are counted on a device: every way gives the counts and errors of the host.

Tensors in the host's memory stand in for those on a device: by torch operations, and by Triton's
kernels in its interpreter. Limits are so small that every call takes several blocks and programs.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from strategies.count_problems import Problem, problems
from support.outcomes import outcome
from support.problems import DTYPES, Array, matrix

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

from truerank.devices import score_sources, task_counts  # noqa: E402
from truerank.devices.score_sources import StoredScores  # noqa: E402

WAYS = ("torch", "triton")
RNG = np.random.default_rng(11)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The way in which tensors are counted in a test."""
    chosen: str = request.param
    prepare(chosen, monkeypatch)
    return chosen


def prepare(way: str, patch: pytest.MonkeyPatch, most: int = 40) -> None:
    """Choose a way, with small limits, and fill new memory with numbers that nobody set."""
    if way == "triton":
        if find_spec("triton") is None:
            pytest.skip("triton is not installed")
        from truerank.devices import count_kernels

        patch.setattr(count_kernels, "TILE", 64)
        patch.setattr(count_kernels, "ROWS", 4)
        patch.setattr(count_kernels, "PROGRAMS", 12)
    patch.setenv("TRUERANK_DEVICE", way)
    patch.setattr(score_sources, "TILE_BYTES", 8 * most)
    patch.setattr(task_counts, "MOST_ENTRIES", most // 3 + 1)
    patch.setattr(task_counts, "MOST_TASKS", most // 8 + 1)
    plain = StoredScores.empty

    def poisoned(self: StoredScores, shape: tuple[int, ...], dtype: Any) -> Any:
        return plain(self, shape, dtype).fill_(113)

    patch.setattr(StoredScores, "empty", poisoned)


def host_tensor(array: Array) -> Any:
    """Return a copy of scores as a tensor."""
    plain = np.array(array, array.dtype.newbyteorder("="), order="C")
    if array.dtype.name == "bfloat16" or array.dtype.kind == "V":
        return torch.from_numpy(plain.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(plain)


def same(got: tr.Ranks, expected: tr.Ranks, way: str) -> bool:
    assert got.protocol.device == f"cpu, {way}"
    assert expected.protocol.device is None
    return got == expected


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda tensor: tensor,
    "columns": lambda tensor: tensor.transpose(0, -1).contiguous().transpose(0, -1),
    "steps": lambda tensor: tensor.repeat_interleave(2, -1)[..., ::2],
}


@pytest.mark.parametrize("way", WAYS)
@given(data=st.data())
def test_the_counts_and_errors_of_the_host(way: str, data: st.DataObject) -> None:
    problem = data.draw(problems(nan=True, errors=True))
    tensor = LAYOUTS[data.draw(st.sampled_from(list(LAYOUTS)))](host_tensor(problem.scores))
    problem = Problem(problem.scores, problem.targets, {**problem.keywords, "dtype": None})
    expected = outcome(tensor, problem)
    with pytest.MonkeyPatch.context() as patch:
        prepare(way, patch, data.draw(st.sampled_from([16, 100, 1000])))
        got = outcome(tensor, problem)
    if isinstance(expected, Exception):
        assert type(got) is type(expected)
        assert str(got) == str(expected)
        return
    assert not isinstance(got, Exception)
    assert same(got, expected, way if expected.audit is None else "host")
    if expected.audit is not None:
        for name, array in expected.audit._asdict().items():
            assert np.array_equal(array, getattr(got.audit, name)), name


@pytest.mark.parametrize("kind", DTYPES)
def test_every_dtype(kind: str, way: str) -> None:
    tensor, targets = host_tensor(matrix(kind, (23, 67))), RNG.integers(0, 67, 23)
    got = tr.rank(tensor, targets)
    assert got.protocol.dtype == kind
    assert got == tr.rank(tensor.clone().numpy() if kind != "bfloat16" else host(tensor), targets)


def host(tensor: Any) -> Any:
    """Return scores that the core counts."""
    from truerank._core import Scores

    if tensor.dtype == torch.bfloat16:
        return Scores(tensor.view(torch.int16).numpy(), "bfloat16", False)
    return tensor.numpy()


def test_a_negative_view_is_copied(way: str) -> None:
    array, targets = RNG.random((20, 30)), RNG.integers(0, 30, 20)
    ranks = tr.rank(torch._neg_view(host_tensor(-array)), targets)
    assert ranks == tr.rank(array, targets)
    assert ranks.protocol.device == "cpu, host"


def test_blocks_of_candidates(way: str) -> None:
    array, targets = RNG.integers(0, 9, (23, 90)).astype(np.float32), RNG.integers(0, 90, 23)
    lists = [RNG.integers(0, 90, 12).tolist() for _ in range(23)]
    true_scores = host_tensor(array[np.arange(23), targets])
    counter = tr.RankCounter(true_scores, targets, candidates=90, filter=lists, audit=True)
    counter.update(host_tensor(array[:, :40]), start=0)
    mixed = 40 + RNG.permutation(50)
    counter.update(host_tensor(array[:, mixed]), columns=mixed)
    assert counter.ranks() == tr.rank(array, targets, filter=lists, audit=True)
    assert tr.rank_against(true_scores, host_tensor(array)) == tr.rank_against(
        true_scores.numpy(), array
    )


class MemoryInUse(TorchDispatchMode):
    """Adds up the memory of all tensors that operations make, as long as they live."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.most = 0
        self._known: set[int] = set()

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        results = function(*args, **(kwargs or {}))
        given = {x.untyped_storage().data_ptr() for x in tree_leaves(args) if is_tensor(x)}
        for result in filter(is_tensor, tree_leaves(results)):
            storage = result.untyped_storage()
            place, size = storage.data_ptr(), storage.nbytes()
            if place not in self._known | given:
                self._known.add(place)
                self.now += size
                self.most = max(self.most, self.now)
                weakref.finalize(storage, self._free, place, size)
        return results

    def _free(self, place: int, size: int) -> None:
        self._known.discard(place)
        self.now -= size


def is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


@pytest.mark.parametrize(
    ("shape", "kind"), [((3, 1_500_000), "float64"), ((140_000, 20), "bfloat16")]
)
def test_memory_beside_the_scores(
    shape: tuple[int, int], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUERANK_DEVICE", "torch")
    rows, columns = shape
    scores = torch.zeros(shape, dtype=getattr(torch, kind))
    lists = np.arange(rows * 5).reshape(rows, 5) * 7919 % columns
    filter = (np.arange(rows + 1) * 5, np.sort(lists, axis=1).reshape(-1))
    with MemoryInUse() as memory:
        ranks = tr.rank(scores, 3, filter=filter)
    assert ranks.protocol.device == "cpu, torch"
    assert (ranks.tied == ranks.candidates).all()
    selections = 8 * rows * 5
    assert memory.most - selections < 64 << 20
