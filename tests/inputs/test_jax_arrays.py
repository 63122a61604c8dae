"""JAX arrays: on the CPU they are read as views, sharded ones shard by shard."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal

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
    counter = tr.RankCounter(array[np.arange(9), targets], targets, candidates=40)
    counter.update(array[:, 10:], start=10)
    counter.update(array[:, :10], start=0)
    assert counter.ranks() == ranks


def test_nothing_is_copied() -> None:
    array = jax.numpy.zeros((9, 40), np.float32)
    from truerank.inputs.scores import as_scores

    assert as_scores(array).array.ctypes.data == array.unsafe_buffer_pointer()


def test_within_jit() -> None:
    @jax.jit  # type: ignore[untyped-decorator]
    def ranked(array: Any) -> Any:
        refusal(TypeError, "traced array", tr.rank, array, [0, 1])
        return array

    ranked(jax.numpy.zeros((2, 3)))


SHARDED = """
import os, sys
import numpy as np
import jax
import truerank as tr
from jax.sharding import NamedSharding, PartitionSpec
from truerank.stores import on_device as device

def compare(on_device):
    sizes = (1 << 20,) if on_device else (50, 1 << 20)
    rng = np.random.default_rng(2)
    mesh = jax.make_mesh((2, 2), ("rows", "columns"))
    targets, filter = rng.integers(0, 40, 24), [rng.integers(0, 40, 3) for _ in range(24)]
    specs = [("rows",), (None, "columns"), ("rows", "columns"), (("rows", "columns"),), ()]
    for kind, shardings in (("uint16", specs[:1]), ("bfloat16", specs[2:3]), ("float32", specs)):
        plain = jax.numpy.asarray(rng.integers(0, 30, (24, 40))).astype(kind)
        expected = tr.rank(np.asarray(plain), targets, filter=filter)
        for spec in shardings:
            array = jax.device_put(plain, NamedSharding(mesh, PartitionSpec(*spec)))
            for device.BLOCK_BYTES in sizes:
                ranks = tr.rank(array, targets, filter=filter)
                assert ranks == expected, (kind, spec)
            if on_device:
                assert ranks.protocol.device == "cpu:0 + cpu:1 + cpu:2 + cpu:3, torch"
            counter = tr.RankCounter(plain[np.arange(24), targets], targets, candidates=40)
            counter.update(array)
            assert counter.ranks() == tr.rank(plain, targets)
        if kind != "float32":
            continue
        row = jax.device_put(plain[0], NamedSharding(mesh, PartitionSpec("columns")))
        device.BLOCK_BYTES = 20
        assert tr.rank(row, targets) == tr.rank(np.asarray(plain[0]), targets)
        store = tr.open_scores(array)
        assert not store.in_place and repr(store).startswith("ShardStore(24 x 40")
    by_rows = NamedSharding(mesh, PartitionSpec("rows"))
    vectors = jax.device_put(rng.random((8, 4), np.float32), by_rows)
    assert tr.rank_embeddings(vectors, vectors, range(8)).above.tolist()
    try:
        tr.rank(array.astype(bool), targets)
    except TypeError as error:
        assert str(error).endswith("got dtype bool"), error
    other = jax.device_put(plain, jax.devices()[3])
    assert tr.rank(other, targets, filter=filter) == expected  # one device of the CPU: a view

compare(False)
if "torch" in sys.argv:
    import torch
    os.environ["TRUERANK_DEVICE"] = "torch"
    compare(True)
print("as expected")
"""


def test_sharded_arrays(run_python: Callable[..., str]) -> None:
    """Read on the host, and counted by torch, where it is installed."""
    environment = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    ways = ["torch"] if find_spec("torch") else []
    assert run_python(SHARDED, *ways, timeout=240, env=environment) == "as expected\n"
