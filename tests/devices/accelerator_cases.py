"""A real device of CUDA gives the counts and errors of the host.

Each test runs with Triton's kernel, and with copies to the host.
`test_devices.py` runs these cases where torch has such a device.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from counting_cases import LAYOUTS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import truerank as tr
from strategies.count_problems import Problem, problems
from support.outcomes import outcome
from support.problems import DTYPES, host_tensor, matrix
from support.refusals import refusal
from truerank.devices import task_counts
from truerank.devices.task_counts import counts_right

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="a device of CUDA")

RNG = np.random.default_rng(17)
BACKENDS = ("triton", "host")
# A kernel is compiled when it is first asked for, which takes seconds.
EXAMPLES = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What counts in a test."""
    monkeypatch.setenv("TRUERANK_DEVICE", request.param)
    return str(request.param)


def counted_by(ranks: Any) -> str:
    """Return the backend that a protocol names."""
    return str(ranks.protocol.device).rpartition(", ")[2]


@contextmanager
def on_host() -> Iterator[None]:
    """Have the host count within the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRUERANK_DEVICE", "host")
        yield


# --- the device is used at all


@pytest.mark.parametrize("kind", DTYPES)
def test_the_device_counts_every_dtype_by_kernels(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRUERANK_DEVICE", raising=False)
    scores = torch.arange(12).reshape(3, 4).cuda().to(host_tensor(matrix(kind)).dtype)
    assert counts_right(scores.device, scores.dtype)
    assert counted_by(tr.rank(scores, [0, 1, 3])) == "triton"


def test_kernels_read_no_memory_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUERANK_DEVICE", "triton")
    scores = torch.arange(12.0).reshape(3, 4)
    ranks = tr.rank(scores, [0, 1, 3])
    assert ranks.optimistic.tolist() == [4, 3, 1]
    assert counted_by(ranks) == "host"


# --- scores


@given(
    problem=problems(nan=True, errors=True),
    layout=st.sampled_from(list(LAYOUTS)),
    most=st.sampled_from([40, 400, 8 << 20]),
)
@EXAMPLES
def test_the_counts_and_errors_of_the_host(
    problem: Problem, layout: str, most: int, backend: str
) -> None:
    tensor = LAYOUTS[layout](host_tensor(problem.scores))
    problem = Problem(problem.scores, problem.targets, {**problem.keywords, "dtype": None})
    with on_host():
        expected = outcome(tensor, problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task_counts, "MOST_KERNEL_TASKS", most // 8 + 1)
        got = outcome(LAYOUTS[layout](host_tensor(problem.scores).cuda()), problem)
    if isinstance(expected, Exception):
        assert type(got) is type(expected)
        assert str(got) == str(expected)
    else:
        assert got == expected


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize(("rows", "columns"), [(40, 1_000_000), (30_000, 700)])
def test_large_matrices(kind: str, rows: int, columns: int, backend: str) -> None:
    generator = torch.Generator("cuda").manual_seed(rows)
    scores = torch.randn(rows, columns, generator=generator, device="cuda").round(decimals=3)
    scores = scores.to(getattr(torch, kind))
    targets = RNG.integers(0, columns, 3 * rows)
    of_rows = RNG.integers(0, rows, 3 * rows)
    lists = np.sort(RNG.integers(0, columns, (3 * rows, 50)), axis=1)
    filter = (np.arange(3 * rows + 1) * 50, lists.ravel())
    got = tr.rank(scores, targets, rows=of_rows, filter=filter)
    with on_host():
        assert got == tr.rank(scores.cpu(), targets, rows=of_rows, filter=filter)
    assert counted_by(got) == backend


def test_scores_that_a_stream_beside_computes(backend: str) -> None:
    array = RNG.random((2000, 3000), np.float32)
    targets = RNG.integers(0, 3000, 2000)
    expected = tr.rank(array, targets)
    scores = host_tensor(array).cuda()
    torch.cuda.synchronize()

    def late_scores() -> Any:
        """Return scores that are right only when everything before them is done."""
        wrong = torch.full_like(scores, -1)
        slow = torch.ones(4096, 4096, device="cuda")
        for _ in range(5):
            slow = slow @ slow * 0
        wrong.copy_(scores + slow[0, 0])
        return wrong

    with torch.cuda.stream(torch.cuda.Stream()):
        assert tr.rank(late_scores(), targets) == expected
        store = tr.open_scores(late_scores())
    assert tr.rank(store, targets) == expected


def test_arrays_of_jax(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")

    array = RNG.random((40, 3000), np.float32)
    targets = RNG.integers(0, 3000, 40)
    scores = jnp.asarray(array)
    if scores.device.platform != "gpu":
        pytest.skip("JAX has no device")
    for kind in ("float32", "bfloat16", "float16"):
        refusal(TypeError, "torch.from_dlpack reads it", tr.rank, scores.astype(kind), targets)
        ranks = tr.rank(torch.from_dlpack(scores.astype(kind)), targets)
        assert ranks == tr.rank(np.asarray(scores.astype(kind)), targets)
        assert counted_by(ranks) == backend


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_vectors_are_copied(kind: str, backend: str) -> None:
    tensors = [host_tensor(RNG.normal(size=(n, 64))).to(getattr(torch, kind)) for n in (200, 7000)]
    targets = RNG.integers(0, 7000, 200)
    got = tr.rank_embeddings(*(tensor.cuda() for tensor in tensors), targets)
    assert got == tr.rank_embeddings(*tensors, targets)
    assert got.protocol.dtype == ("float64" if kind == "float64" else "float32")
    assert counted_by(got) == "host"


def test_memory_beside_the_scores(backend: str) -> None:
    if backend == "host":
        pytest.skip("tiles are copied to the host")
    scores = torch.zeros(2000, 200_000, device="cuda")  # 1.6 GB
    targets = RNG.integers(0, 200_000, 2000)
    tr.rank(scores[:10], targets[:10])
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    tr.rank(scores, targets)
    assert torch.cuda.max_memory_allocated() - before < 256 << 20
