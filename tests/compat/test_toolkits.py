"""The conventions compared with torch's own comparisons, sorts and means, and with PyKEEN.

`bench/studies/toolkits.py` runs the code of the toolkits themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from support.toolkit_scores import lists, scores_and_filter
from truerank import compat
from truerank.compat.interpreter import logsigmoid_bounds, per_task

pytestmark = pytest.mark.python_only

torch = pytest.importorskip("torch", reason="runs the toolkits' own operations")


# -- ranks by the toolkits' operations -------------------------------------------------------------


def by_sort(table: Any, hit: Any) -> Any:
    """Places in a sort of torch."""
    order = torch.argsort(table, dim=1, descending=True)
    return hit.gather(1, order).nonzero()[:, 1] + 1


def by_numpy(table: Any, known: Any, own: Any, hit: Any) -> Any:
    order = torch.from_numpy(np.argsort(-table.numpy(), axis=1))
    return hit.gather(1, order).nonzero()[:, 1] + 1


def filled(table: Any, known: Any, hit: Any, filler: Any) -> Any:
    return torch.where(known & ~hit, torch.as_tensor(filler, dtype=table.dtype), table)


def by_sort_of(filler: float) -> Callable[..., Any]:
    return lambda table, known, own, hit: by_sort(filled(table, known, hit, filler), hit)


def libkge(table: Any, known: Any, own: Any, hit: Any) -> Any:
    """LibKGE subtracts infinite labels, maps NaN to -inf, and finds ties by `torch.isclose`."""
    labels = torch.where(known & ~hit, float("inf"), 0.0)
    masked = torch.nan_to_num(table - labels, nan=-float("inf"), posinf=float("inf"))
    masked = torch.where(table - labels == -float("inf"), -float("inf"), masked)
    own = torch.where(own.isnan(), -float("inf"), own)
    close = torch.isclose(masked, own, rtol=1e-4, atol=1e-5)
    return ((masked > own) & ~close).sum(1) + close.sum(1) // 2 + 1


def no_worse(table: Any, known: Any, own: Any, hit: Any) -> Any:
    """Without a filter the true one counts itself."""
    return ((own <= table) & ~known).sum(1) + 1


def no_worse_of(filler: float) -> Callable[..., Any]:
    """The true one is filtered, too."""
    return lambda table, known, own, hit: 1 + (table.masked_fill(known | hit, filler) >= own).sum(1)


def kgreasoning(table: Any, known: Any, own: Any, hit: Any) -> Any:
    """Answers sorted before an answer are taken off its rank."""
    order = torch.argsort(table, dim=1, descending=True)
    place = torch.empty_like(order)
    place.scatter_(1, order, torch.arange(table.shape[1]).repeat(len(table), 1))
    first = place[hit][:, None]
    return first[:, 0] + 1 - (known & (place < first)).sum(1)


def ogb(table: Any, known: Any, own: Any, hit: Any) -> Any:
    others = ~hit & ~known
    return 1 + 0.5 * (((table > own) & others).sum(1) + ((table >= own) & others).sum(1))


def rotate(table: Any, known: Any, own: Any, hit: Any) -> Any:
    return by_sort(filled(table, known, hit, own - 1), hit)


def torchkge(table: Any, known: Any, own: Any, hit: Any) -> Any:
    return (filled(table, known, hit, -torch.inf) >= own).sum(1)


def optimistic(table: Any, known: Any, own: Any, hit: Any) -> Any:
    return (filled(table, known, hit, -torch.inf) > own).sum(1) + 1


RANKS: dict[str, Callable[..., Any]] = {
    "libkge": libkge,
    "openke": optimistic,
    "rotate": rotate,
    "dgl-ke": no_worse,
    "pytorch-biggraph": no_worse_of(-1e9),
    "torchkge": torchkge,
    "torchkge-0.16.16": optimistic,
    "torchdrug": no_worse,
    "nbfnet": no_worse,
    "compgcn": by_sort_of(-1e7),
    "stare": by_sort_of(-1e6),
    "simkgc": by_sort_of(-1),
    "kbc": no_worse_of(-1e6),
    "tkbc": no_worse_of(-1e6),
    "kgreasoning": kgreasoning,
    "ogb": ogb,
    "tgb": ogb,
    "recbole": by_sort_of(-torch.inf),
    # of these there are no filters
    "pytorch-geometric": by_sort_of(0),
    "ogb-1.3.3": by_sort_of(0),
    "sentence-transformers-cross-encoder": by_sort_of(0),
    "ogb-1.3.3-numpy": by_numpy,
    "sentence-transformers-reranking": by_numpy,
    "openea": by_numpy,
    "gcn-align": by_numpy,
}
UNFILTERED = list(RANKS)[list(RANKS).index("pytorch-geometric") :]


@pytest.mark.parametrize("scale", [0.1, 1.0, 1e6, 1e7, 1e9])
@pytest.mark.parametrize("name", RANKS)
def test_ranks_and_numbers(name: str, scale: float) -> None:
    """Ranks are those of torch, or within the bounds of an open tie; and so are all numbers."""
    places = []
    for seed, filters in ((0, False), (1, True), (2, True), (3, False)):
        scores, targets, filtered = scores_and_filter(seed)
        if filters and name in UNFILTERED:
            continue
        scores = (scores * np.float32(scale)).astype(np.float32)
        table, known = torch.from_numpy(scores), torch.from_numpy(filtered & filters)
        hit = torch.arange(scores.shape[1]) == torch.from_numpy(targets)[:, None]
        ranks = RANKS[name](table, known, table[hit][:, None], hit).numpy().astype(np.float64)
        out = lists(filtered) if filters else None
        found = compat.report(scores, targets, preset=name, filter=out)
        assert ((found.first <= ranks) & (ranks <= found.last)).all()
        places.append(found)
        names = zip(found, found.preset.metrics, strict=True)
        for shown, metric in names:
            values = per_task(metric.key, ranks) * metric.scale
            from_0 = name == "pytorch-geometric" and metric.key == "mr"
            least, most = found.bounds(shown)
            slack = 1e-6 * abs(values.mean()) if np.isfinite(values).all() else 0
            assert least - slack <= values.mean() - from_0 <= most + slack, shown
    is_open = [(found.first < found.last).any() for found in places]
    assert all(is_open) == any(is_open) == (places[0].preset.convention.rank == "any")


def test_both_sorts_of_ogb_are_apart() -> None:
    """torch sorts NaN first, NumPy last."""
    scores, targets, _ = scores_and_filter(0)
    torchs, numpys = (
        compat.report(scores, targets, preset=name) for name in ("ogb-1.3.3", "ogb-1.3.3-numpy")
    )
    assert ((torchs.last < numpys.first) | (numpys.last < torchs.first)).any()


@pytest.mark.parametrize("seed", range(3))
def test_ogb_hits(seed: int) -> None:
    scores, _, _ = scores_and_filter(seed)
    positive = torch.from_numpy(scores[:, 0])
    shared = torch.from_numpy(np.random.default_rng(seed).normal(0, 3, 500).astype(np.float32))
    hits = compat.report_against(positive, shared.expand(len(positive), -1), preset="ogb-hits")
    for k in (20, 50, 100):
        bar = torch.topk(shared, k)[0][-1]
        assert hits[f"hits@{k}"] == (positive > bar).sum().item() / len(positive)


def test_pytorch_geometric_counts_from_0() -> None:
    """A perfect model has mean rank 0, and a step says so; the corrected number counts from 1."""
    found = compat.report([[3.0, 1.0, 2.0]] * 2, [0, 0], preset="pytorch-geometric")
    assert found["mean_rank"] == 0
    assert found.corrected("mean_rank") == 1
    assert found["mrr"] == found["hits_at_k"] == 1
    assert found.steps[-1].name == "mean"
    assert "counted from 0" in found.steps[-1].words
    assert found.steps[-1].figures["mr"] == 0


def test_torchkge_gives_nan_rank_0() -> None:
    """So the mean reciprocal rank is infinite, without a warning, and hits count it."""
    scores = np.array([[np.nan, 1, 2], [3, 1, 2]], np.float32)
    found = compat.report(scores, [0, 0], preset="torchkge")
    assert found.first.tolist() == [0, 1]
    assert found["MRR"] == np.inf
    assert found["Hit@1"] == 1
    assert found.corrected("MRR") == pytest.approx((1 / 3 + 1) / 2)
    assert "inf" in found.to_markdown()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scale", [0.001, 1.0, 1e6])
def test_ampligraph(seed: int, scale: float) -> None:
    """Casts to int32, on this processor, and clipped as XLA does: both are within the bounds."""
    scores, place, known = scores_and_filter(seed)
    scores = (scores * np.float32(scale)).astype(np.float32)
    product = scores * np.float32(1000)
    with np.errstate(invalid="ignore"):
        here = product.astype(np.int32)
    clipped = np.clip(np.nan_to_num(product, nan=0).astype(np.float64), -(2**31), 2**31 - 1)
    fits = (np.abs(product.astype(np.float64)) < 2**31).all(axis=1)
    assert fits.any() == (scale < 1e6)
    for integers in (here, clipped.astype(np.int64)):
        true = integers[np.arange(len(place)), place][:, None]
        for mask in (known, np.zeros_like(known)):
            rank = 1 + ((true <= integers) & ~mask).sum(1)
            out = lists(known) if mask.any() else None
            found = compat.report(scores, place, preset="ampligraph", filter=out)
            assert ((found.first <= rank) & (rank <= found.last)).all()
            np.testing.assert_array_equal(found.first[fits], rank[fits])
            np.testing.assert_array_equal(found.last[fits], rank[fits])
            least, most = found.bounds("mrr_score")
            assert least - 1e-12 <= (1 / rank).mean() <= most + 1e-12


def dgl_ke_0_1(scores: Any, filtered: Any) -> Any:
    """Rank the first column as release 0.1.2 does, with the log-sigmoid of torch."""
    squashed = torch.nn.functional.logsigmoid(torch.from_numpy(scores))
    biased = squashed - torch.from_numpy(filtered).float()
    return ((biased >= squashed[:, :1]).sum(1) + 1).numpy()


def test_dgl_ke_0_1_of_whole_scores() -> None:
    """Scores that differ by 1 rank alike, whatever the last bits of a log-sigmoid."""
    rng = np.random.default_rng(2)
    scores = rng.integers(-150, 100, (80, 30)).astype(np.float32)
    scores[rng.random(scores.shape) < 0.1] = 150  # of 101 to 105 the order is open
    filtered = rng.random(scores.shape) < 0.2
    filtered[:, 0] = True
    out = lists(filtered)
    found = compat.report(scores, np.zeros(80, int), preset="dgl-ke-0.1", filter=out)
    np.testing.assert_array_equal(found.first, found.last)
    np.testing.assert_array_equal(found.first, dgl_ke_0_1(scores, filtered))


@pytest.mark.parametrize("true_score", [1.3, 4.0, 60.0, 87.6, 95.0, 102.9, 104.0])
def test_dgl_ke_0_1_of_neighbours(true_score: float) -> None:
    """Neighbouring floats: torch's last bits decide, and its ranks are within the bounds."""
    rng = np.random.default_rng(3)
    near = np.float32(true_score).view(np.int32) + rng.integers(-30, 30, (300, 40), np.int32)
    scores, filtered = near.view(np.float32), np.zeros((300, 40), bool)
    filtered[:, 0] = True
    out = lists(filtered)
    found = compat.report(scores, np.zeros(300, int), preset="dgl-ke-0.1", filter=out)
    rank = dgl_ke_0_1(scores, filtered)
    assert (found.first <= rank).all()
    assert (rank <= found.last).all()
    least, most = found.bounds("MR")
    assert least <= rank.mean() <= most
    assert found["MR"] == (least + most) / 2


def test_bounds_of_the_logsigmoid_of_torch() -> None:
    """Every 2,000th float32 from -110 to 110, and every 10th of those that nearly saturate."""
    ends = np.array([2.0**-20, 110, 85, 107], np.float32).view(np.int32)
    bits = np.concatenate([np.arange(*ends[:2], 2000), np.arange(*ends[2:], 10)])
    scores = bits.astype(np.int32).view(np.float32)
    scores = np.concatenate([scores, -scores, [0, np.inf, -np.inf]]).astype(np.float32)
    low, high = logsigmoid_bounds(scores)
    found = torch.nn.functional.logsigmoid(torch.from_numpy(scores)).numpy()
    assert (low <= found).all()
    assert (found <= high).all()
    far = (scores < -17) | (scores > 105.3)
    np.testing.assert_array_equal(low[far], high[far])


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_pykeen_itself() -> None:
    """The installed evaluator gives the same for scores whose true scores are not NaN."""
    pytest.importorskip("pykeen", reason="is compared with")
    from pykeen.evaluation import RankBasedEvaluator

    scores, targets, filtered = scores_and_filter(1)
    place = np.arange(len(targets)), targets
    scores[place] = np.nan_to_num(scores[place], posinf=5, neginf=-5)
    masked = torch.from_numpy(np.where(filtered, np.float32(np.nan), scores))
    masked[place] = torch.from_numpy(scores[place])
    evaluator = RankBasedEvaluator()
    triples = torch.zeros((len(targets), 3), dtype=torch.long)
    true = torch.from_numpy(scores[place])[:, None]
    for side in ("head", "tail"):
        evaluator.process_scores_(triples, side, masked, true)
    theirs = evaluator.finalize().to_flat_dict()
    ours = compat.report(scores, targets, preset="pykeen", filter=lists(filtered))
    for name, value in ours.items():
        assert value == pytest.approx(theirs[f"both.realistic.{name}"], rel=2e-6), name
    exact = ours.corrected("adjusted_arithmetic_mean_rank_index")
    assert ours["adjusted_arithmetic_mean_rank_index"] != pytest.approx(exact, rel=1e-3)
