"""Presets of toolkits for knowledge graphs compared with torch's own sorts, comparisons and means.

`bench/studies/toolkits.py` runs the code of the toolkits themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.toolkit_scores import lists, scores_and_filter
from truerank import compat

pytestmark = pytest.mark.python_only

torch = pytest.importorskip("torch", reason="runs the toolkits' own operations")

SEEDS = range(4)


def tensors(seed: int) -> tuple[Any, Any, Any]:
    """Return scores and targets, and flags of all true entities, as tensors."""
    scores, targets, filtered = scores_and_filter(seed)
    return torch.from_numpy(scores), torch.from_numpy(targets), torch.from_numpy(filtered)


def report(preset: str, table: Any, place: Any, known: Any = None, **options: Any) -> Any:
    out = None if known is None else lists(known.numpy())
    return compat.report(table.numpy(), place.numpy(), preset=preset, filter=out, **options)


def assert_within(found: Any, rank: Any, name: str) -> None:
    """Ranks are within the bounds of their tasks, their mean reciprocal within those of `name`."""
    rank = rank.numpy().astype(np.float64)
    assert ((found.first <= rank) & (rank <= found.last)).all()
    closed = found.first == found.last
    assert closed.any()
    assert not closed.all()
    least, most = found.bounds(name)
    assert least * (1 - 1e-6) <= (1 / rank).mean() <= most * (1 + 1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_pytorch_geometric(seed: int) -> None:
    """Positions in an argsort of one query: their mean counts from 0, all else from 1."""
    table, place, _ = tensors(seed)
    position = torch.stack(
        [
            (row.argsort(descending=True) == target).nonzero()[0, 0]
            for row, target in zip(table, place, strict=True)
        ]
    )
    found = report("pytorch-geometric", table, place)
    assert_within(found, position + 1, "mrr")
    least, most = found.bounds("mean_rank")
    assert least * (1 - 1e-6) <= position.float().mean().item() <= most * (1 + 1e-6)
    assert found["mean_rank"] == pytest.approx((least + most) / 2)
    least, most = found.bounds("hits_at_k")
    assert least - 1e-6 <= (position < 10).double().mean().item() <= most + 1e-6


def test_pytorch_geometric_counts_from_0() -> None:
    """A perfect model has mean rank 0, and a step says so; the corrected number counts from 1."""
    found = compat.report([[3.0, 1.0, 2.0]] * 2, [0, 0], preset="pytorch-geometric")
    assert found["mean_rank"] == 0
    assert found.corrected("mean_rank") == 1
    assert found["mrr"] == found["hits_at_k"] == 1
    assert found.steps[-1].name == "mean"
    assert "counted from 0" in found.steps[-1].words
    assert found.steps[-1].figures["mr"] == 0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("filters", [False, True])
def test_torchkge(seed: int, filters: bool) -> None:
    """Not below, true one included; before November 2020 above, plus 1. Means of both sides."""
    table, place, known = tensors(seed)
    true_scores = table.gather(1, place[:, None])
    masked = table.clone()
    if filters:
        masked[known] = -torch.inf
        masked.scatter_(1, place[:, None], true_scores)
    side = np.where(np.arange(len(place)) % 3 == 0, "head", "tail")
    prefix = "Filt. " if filters else ""
    for preset, rank in (
        ("torchkge", (masked >= true_scores).sum(1)),
        ("torchkge-0.16.16", (masked > true_scores).sum(1) + 1),
    ):
        found = report(preset, table, place, known if filters else None, side=side)
        np.testing.assert_array_equal(found.first, rank.numpy())
        np.testing.assert_array_equal(found.last, rank.numpy())
        parts = [rank[torch.from_numpy(side == name)].float() for name in ("head", "tail")]
        for name, values in (
            ("Mean Rank", parts),
            ("MRR", [part ** (-1) for part in parts]),
            ("Hit@3", [(part <= 3).float() for part in parts]),
        ):
            mean = sum(part.mean().item() for part in values) / 2
            assert found[prefix + name] == pytest.approx(mean, rel=1e-6)


def test_torchkge_gives_nan_rank_0() -> None:
    """So the mean reciprocal rank is infinite, without a warning, and hits count it."""
    scores = np.array([[np.nan, 1, 2], [3, 1, 2]], np.float32)
    found = compat.report(scores, [0, 0], preset="torchkge")
    assert found.first.tolist() == [0, 1]
    assert found["MRR"] == np.inf
    assert found["Hit@1"] == 1
    assert found.corrected("MRR") == pytest.approx((1 / 3 + 1) / 2)
    assert "inf" in found.to_markdown()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("preset", ["torchdrug", "nbfnet"])
def test_torchdrug_and_nbfnet(seed: int, preset: str) -> None:
    """Not below and not masked, plus 1; without a mask the true one counts itself."""
    table, place, known = tensors(seed)
    no_worse = table.gather(1, place[:, None]) <= table
    for mask in (known, None):
        rank = ((no_worse if mask is None else no_worse & ~mask).sum(1) + 1).float()
        found = report(preset, table, place, mask)
        np.testing.assert_array_equal(found.first, rank.numpy())
        np.testing.assert_array_equal(found.last, rank.numpy())
        assert found["mr"] == pytest.approx(rank.mean().item(), rel=1e-6)
        assert found["mrr"] == pytest.approx((1 / rank).mean().item(), rel=1e-6)
        assert found["hits@10"] == pytest.approx((rank <= 10).float().mean().item(), rel=1e-6)
        if mask is None:
            assert rank[~table[torch.arange(len(place)), place].isnan()].min() >= 2


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("preset", "filler", "scale"),
    [("compgcn", -1e7, 1e7), ("simkgc", -1.0, 1.0), ("simkgc", -1.0, 0.1), ("stare", -1e6, 1e6)],
)
def test_fillers_and_sorts(seed: int, preset: str, filler: float, scale: float) -> None:
    """Filtered candidates get one score; CompGCN sorts twice, which inverts the permutation."""
    table, place, known = tensors(seed)
    table = (table * scale).float()
    rows = torch.arange(len(place))
    masked = table.clone()
    masked[known] = filler
    masked[rows, place] = table[rows, place]
    order = masked.argsort(dim=1, descending=True)
    rank = order.argsort(dim=1)[rows, place] + 1
    assert ((order == place[:, None]).nonzero()[:, 1] + 1 == rank).all()
    assert_within(report(preset, table, place, known), rank, "mrr")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scale", [0.001, 1.0, 1e6])
def test_ampligraph(seed: int, scale: float) -> None:
    """Casts to int32, on this processor, and clipped as XLA does: both are within the bounds."""
    table, place, known = tensors(seed)
    table = (table * scale).float()
    product = table.numpy() * np.float32(1000)
    with np.errstate(invalid="ignore"):
        here = product.astype(np.int32)
    clipped = np.clip(np.nan_to_num(product, nan=0).astype(np.float64), -(2**31), 2**31 - 1)
    fits = (np.abs(product.astype(np.float64)) < 2**31).all(axis=1)
    assert fits.any() == (scale < 1e6)
    for integers in (here, clipped.astype(np.int64)):
        true = integers[np.arange(len(place)), place.numpy()][:, None]
        for mask in (known.numpy(), np.zeros_like(known.numpy())):
            rank = 1 + ((true <= integers) & ~mask).sum(1)
            found = report("ampligraph", table, place, known if mask.any() else None)
            assert ((found.first <= rank) & (rank <= found.last)).all()
            np.testing.assert_array_equal(found.first[fits], rank[fits])
            np.testing.assert_array_equal(found.last[fits], rank[fits])
            least, most = found.bounds("mrr_score")
            assert least - 1e-12 <= (1 / rank).mean() <= most + 1e-12
