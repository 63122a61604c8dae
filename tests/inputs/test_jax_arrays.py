"""JAX arrays: on the CPU they are read as views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal
from truerank.inputs.array_likes import as_scores

jax = pytest.importorskip("jax", reason="arrays of JAX")

KINDS = ("float16", "bfloat16", "float32", "int8", "int32", "uint16")


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_of_the_cpu(kind: str) -> None:
    rng = np.random.default_rng(1)
    array = jax.numpy.asarray(rng.integers(0, 50, (9, 40)) * 2.5).astype(kind)
    targets = rng.integers(0, 40, 9)
    ranks = tr.rank(array, jax.numpy.asarray(targets))
    assert ranks.protocol.dtype == kind
    exact = np.asarray(array).astype(np.float64)  # wider than all of them
    expected = tr.rank(exact, targets)
    for name in ("above", "tied", "candidates"):
        np.testing.assert_array_equal(getattr(ranks, name), getattr(expected, name))
    assert tr.rank(array.T, 3) == tr.rank(np.asarray(array).T, 3)
    assert as_scores(array).array.ctypes.data == array.unsafe_buffer_pointer()  # nothing is copied
    counter = tr.RankCounter(array[np.arange(9), targets], targets, candidates=40)
    counter.update(array[:, 10:], start=10)
    counter.update(array[:, :10], start=0)
    assert counter.ranks() == ranks


def test_within_jit() -> None:
    @jax.jit  # type: ignore[untyped-decorator]
    def ranked(array: Any) -> Any:
        refusal(TypeError, "traced array", tr.rank, array, [0, 1])
        return array

    ranked(jax.numpy.zeros((2, 3)))


SHARDED = """
import numpy as np
import jax
import truerank as tr
from jax.sharding import NamedSharding, PartitionSpec

rows = NamedSharding(jax.make_mesh((4,), ("rows",)), PartitionSpec("rows"))
scores = jax.device_put(jax.numpy.eye(8), rows)
try:
    tr.rank(scores, range(8))
except TypeError as error:
    print(error)
print(tr.rank(np.asarray(scores), np.arange(8)).optimistic.sum())
print(tr.rank(jax.device_put(jax.numpy.eye(8), jax.devices()[3]), np.arange(8)).optimistic.sum())
"""


def test_an_array_over_several_devices(run_python: Callable[..., str]) -> None:
    """It is refused, as one on a device is; with one device of the processor it is a view."""
    environment = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    refused, whole, other = run_python(SHARDED, timeout=240, env=environment).splitlines()
    words = (
        "scores: expected an array in the host's memory, or a tensor of torch on any device, got "
    )
    assert refused.startswith(f"{words}ArrayImpl (")
    assert (whole, other) == ("8", "8")
