"""truerank.adapters.dask where chunks are tensors of torch: they are counted where they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.problems import Array, host_tensor, matrix

dask = pytest.importorskip("dask", reason="Dask is not installed: pip install 'truerank[dask]'")
da = pytest.importorskip("dask.array", reason="Dask is not installed: pip install 'truerank[dask]'")
torch = pytest.importorskip("torch", reason="tensors of torch")

from truerank.adapters import dask as adapter  # noqa: E402

RNG = np.random.default_rng(4)
TARGETS = RNG.integers(0, 90, 20)
FILTER = [RNG.integers(0, 90, 9) for _ in range(20)]
KINDS = ["float16", "bfloat16", "float32", "float64", "int8"]


@pytest.fixture(params=["", "torch", "host"], autouse=True)
def way(request: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Count in the host's memory; as on a device; and as copies from a device."""
    monkeypatch.setenv("TRUERANK_DEVICE", request.param)
    with dask.config.set(scheduler="synchronous"):
        yield request.param


def of_tensors(array: Array, instead: Any = None) -> Any:
    """Return a Dask array of chunks of 8 rows and 40 columns, each made as a tensor, or another."""

    def chunk(block_info: Any = None) -> Any:
        if instead is not None:
            return instead
        return host_tensor(array[tuple(slice(*e) for e in block_info[None]["array-location"])])

    chunks = da.core.normalize_chunks((8, 40), array.shape)
    meta = np.empty((0, 0), array.dtype)
    return da.map_blocks(chunk, chunks=chunks, dtype=array.dtype, meta=meta)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["ascending", "descending"])
def test_every_dtype_and_rule(order: str, kind: str) -> None:
    array = matrix(kind, (20, 90))
    expected = tr.rank(array, TARGETS, filter=FILTER, order=order)
    assert adapter.rank(of_tensors(array), TARGETS, filter=FILTER, order=order) == expected
    array = RNG.integers(0, 9, (20, 90)).astype(np.float32)
    array[RNG.random(array.shape) < 0.2] = np.nan
    nan = "omit" if kind == "float32" else "worst"
    options: dict[str, Any] = {"order": order, "nan": nan, "audit": True}
    options["rows"] = RNG.permutation(20)
    array[options["rows"], TARGETS] = 4
    drawn = [RNG.integers(0, 90, 30) for _ in TARGETS]
    options["candidates"] = [
        np.union1d(ids, target).tolist() for ids, target in zip(drawn, TARGETS, strict=True)
    ]
    expected = tr.rank(array, TARGETS, **options)
    assert adapter.rank(of_tensors(array), TARGETS, **options) == expected


def test_the_first_nan_of_all_is_named() -> None:
    array = RNG.random((20, 90))
    array[[19, 11, 11], [2, 88, 45]] = np.nan
    with pytest.raises(ValueError, match=r"^scores: a score at row 11, column 45 is NaN"):
        adapter.rank(of_tensors(array), np.zeros(20, int))


def test_chunks_that_differ_from_what_the_array_says() -> None:
    array = RNG.random((20, 90))
    for made, kind, words in (
        (torch.zeros(8, 40), TypeError, r"float64 \(\d, 40\), as the dask array says, got float32"),
        (torch.zeros(8, 39).double(), ValueError, r"float64 \(\d, 40\), .* got float64 \(8, 39\)"),
    ):
        wrong = of_tensors(array, made)
        with pytest.raises(kind, match=f"^scores: expected a chunk of {words}"):
            adapter.rank(wrong, np.zeros(20, int))
