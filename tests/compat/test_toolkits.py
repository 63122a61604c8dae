"""The conventions compared with torch's own comparisons, sorts and means, and with PyKEEN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.toolkit_scores import lists, scores_and_filter
from truerank import compat
from truerank.compat.interpreter import logsigmoid_bounds

pytestmark = pytest.mark.python_only

torch = pytest.importorskip("torch", reason="runs the toolkits' own operations")


@pytest.mark.parametrize("seed", range(5))
def test_libkge(seed: int) -> None:
    """LibKGE subtracts infinite labels, maps NaN to -inf, and finds ties by `torch.isclose`."""
    scores, targets, filtered = scores_and_filter(seed)
    table, place = torch.from_numpy(scores), torch.from_numpy(targets)
    true_scores = table.gather(1, place[:, None])
    labels = torch.where(torch.from_numpy(filtered), float("inf"), 0.0)
    labels[torch.arange(len(place)), place] = 0
    masked = torch.nan_to_num(table - labels, nan=-float("inf"), posinf=float("inf"))
    masked = torch.where(table - labels == -float("inf"), -float("inf"), masked)
    true_scores = torch.where(true_scores.isnan(), -float("inf"), true_scores)
    close = torch.isclose(masked, true_scores, rtol=1e-4, atol=1e-5)
    rank = ((masked > true_scores) & ~close).sum(1) + close.sum(1) // 2
    histogram = torch.bincount(rank, minlength=scores.shape[1]).float()
    ranks = torch.arange(1, scores.shape[1] + 1).float()

    found = compat.report(scores, targets, preset="libkge", filter=lists(filtered))
    np.testing.assert_array_equal(found.first, rank.numpy() + 1.0)
    mean = (histogram * ranks).sum().item() / len(place)
    assert found["mean_rank_filtered"] == pytest.approx(mean, rel=1e-6)
    reciprocal = (histogram / ranks).sum().item() / len(place)
    assert found["mean_reciprocal_rank_filtered"] == pytest.approx(reciprocal, rel=1e-6)
    hits = histogram[:10].double().sum().item() / len(place)
    assert found["hits_at_10_filtered"] == pytest.approx(hits, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_rotate(seed: int) -> None:
    """If the order of ties is open, places by `torch.argsort` are within the bounds."""
    scores, targets, filtered = scores_and_filter(seed)
    table, place = torch.from_numpy(scores.copy()), torch.from_numpy(targets)
    filtered[np.arange(len(targets)), targets] = False
    true_scores = table.gather(1, place[:, None])
    table = torch.where(torch.from_numpy(filtered), true_scores - 1, table)
    order = torch.argsort(table, dim=1, descending=True)
    rank = (order == place[:, None]).nonzero()[:, 1].numpy() + 1

    found = compat.report(scores, targets, preset="rotate", filter=lists(filtered))
    assert (found.first <= rank).all()
    assert (rank <= found.last).all()
    closed = found.first == found.last
    assert closed.any()
    assert (~closed).any()
    least, most = found.bounds("MRR")
    assert least <= (1 / rank).mean() <= most
    assert least < found["MRR"] < most


@pytest.mark.parametrize("seed", range(3))
def test_ogb(seed: int) -> None:
    """Both evaluators on tensors give the same ranks and float32 means."""
    scores, _, _ = scores_and_filter(seed)
    positive, negative = torch.from_numpy(scores[:, 0]), torch.from_numpy(scores[:, 1:])
    better = (negative > positive[:, None]).sum(1)
    no_worse = (negative >= positive[:, None]).sum(1)
    rank = 0.5 * (better + no_worse) + 1
    found = compat.report_against(positive, negative, preset="ogb")
    np.testing.assert_array_equal(found.first, rank.numpy())
    assert found["mrr_list"] == pytest.approx((1.0 / rank).mean().item(), rel=1e-6)
    for k in (1, 3, 10):
        mean = (rank <= k).float().mean().item()
        assert found[f"hits@{k}_list"] == pytest.approx(mean, rel=1e-6)

    joint = torch.cat([positive[:, None], negative], dim=1)
    order = torch.argsort(joint, dim=1, descending=True)
    place = (order == 0).nonzero()[:, 1].numpy() + 1
    old = compat.report_against(positive, negative, preset="ogb-1.3.3")
    assert ((old.first <= place) & (place <= old.last)).all()

    order = np.argsort(-joint.numpy(), axis=1)
    place_of_numpy = (order == 0).nonzero()[1] + 1
    old_numpy = compat.report_against(positive, negative, preset="ogb-1.3.3-numpy")
    assert ((old_numpy.first <= place_of_numpy) & (place_of_numpy <= old_numpy.last)).all()
    assert not ((old.first <= place_of_numpy) & (place_of_numpy <= old.last)).all()  # NaN

    shared = torch.from_numpy(np.random.default_rng(seed).normal(0, 3, 500).astype(np.float32))
    same = shared.expand(len(positive), -1)
    hits = compat.report_against(positive, same, preset="ogb-hits")
    for k in (20, 50, 100):
        bar = torch.topk(shared, k)[0][-1]
        assert hits[f"hits@{k}"] == (positive > bar).sum().item() / len(positive)


@pytest.mark.parametrize("seed", range(3))
def test_dgl_ke(seed: int) -> None:
    """Since October 2020: a filter masks, and without one the true score ties with itself."""
    scores, targets, filtered = scores_and_filter(seed)
    table, place = torch.from_numpy(scores), torch.from_numpy(targets)
    no_worse = table >= table.gather(1, place[:, None])
    for mask in (torch.from_numpy(~filtered), torch.ones_like(no_worse)):
        rank = (no_worse & mask).sum(1) + 1
        out = lists(filtered) if not mask.all() else None
        found = compat.report(scores, targets, preset="dgl-ke", filter=out)
        np.testing.assert_array_equal(found.first, rank.numpy())
        np.testing.assert_array_equal(found.last, rank.numpy())
        assert found["MR"] == rank.double().mean().item()


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
