"""The conventions compared with torch's own comparisons, sorts and means, and with PyKEEN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from truerank import compat

pytestmark = pytest.mark.python_only

torch = pytest.importorskip("torch", reason="runs the toolkits' own operations")

SPECIAL = [float("nan"), float("inf"), -float("inf"), 0.0, 1.0, 1.00005, 1.0002, -1000, -999.95]


def scores_and_filter(seed: int, tasks: int = 60, columns: int = 40) -> tuple[Any, Any, Any]:
    """Make float32 scores with ties, near ties, NaN and infinities, targets, and filter flags."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 3, (tasks, columns)).round(1).astype(np.float32)
    special = rng.random(scores.shape) < 0.1
    scores[special] = rng.choice(np.array(SPECIAL, np.float32), special.sum())
    filtered = rng.random(scores.shape) < 0.2
    targets = rng.integers(0, columns, tasks)
    filtered[np.arange(tasks), targets] = True  # toolkits list the true candidate, too
    return scores, targets, filtered


def lists(filtered: Any) -> list[Any]:
    return [np.flatnonzero(row) for row in filtered]


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
    found = compat.read_ogb({"y_pred_pos": positive, "y_pred_neg": negative}).report()
    np.testing.assert_array_equal(found.first, rank.numpy())
    assert found["mrr_list"] == pytest.approx((1.0 / rank).mean().item(), rel=1e-6)
    for k in (1, 3, 10):
        mean = (rank <= k).float().mean().item()
        assert found[f"hits@{k}_list"] == pytest.approx(mean, rel=1e-6)

    joint = torch.cat([positive[:, None], negative], dim=1)
    order = torch.argsort(joint, dim=1, descending=True)
    place = (order == 0).nonzero()[:, 1].numpy() + 1
    old = compat.read_joint(joint).report("ogb-1.3.3")
    assert ((old.first <= place) & (place <= old.last)).all()

    shared = torch.from_numpy(np.random.default_rng(seed).normal(0, 3, 500).astype(np.float32))
    hits = compat.read_ogb({"y_pred_pos": positive, "y_pred_neg": shared}).report("ogb-hits")
    for k in (20, 50, 100):
        bar = torch.topk(shared, k)[0][-1]
        assert hits[f"hits@{k}"] == (positive > bar).sum().item() / len(positive)


def test_dgl_ke_with_the_logsigmoid_of_torch() -> None:
    """Its last bits differ from ours, but scores that differ a little more rank alike."""
    rng = np.random.default_rng(2)
    scores = rng.integers(-150, 150, (80, 30)).astype(np.float32)
    filtered = rng.random(scores.shape) < 0.2
    filtered[:, 0] = True
    squashed = torch.nn.functional.logsigmoid(torch.from_numpy(scores))
    biased = squashed - torch.from_numpy(filtered).float()
    rank = (biased >= squashed[:, :1]).sum(1) + 1
    found = compat.report(scores, np.zeros(80, int), preset="dgl-ke", filter=lists(filtered))
    np.testing.assert_array_equal(found.first, rank.numpy())


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
