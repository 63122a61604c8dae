"""Arithmetic of toolkits that the plain oracles take as given: casts, log-sigmoids; and PyKEEN.

`bench/studies/toolkits.py` runs the code of the toolkits themselves.
"""

from __future__ import annotations

import numpy as np
import pytest

from support.toolkit_scores import lists, scores_and_filter
from truerank import compat
from truerank.compat.interpreter import logsigmoid_bounds

torch = pytest.importorskip("torch", reason="runs the toolkits' own operations")


@pytest.mark.parametrize(("seed", "scale"), [(0, 0.001), (1, 1.0), (2, 1e6)])
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
            assert (found.first[fits] == found.last[fits]).all()
            least, most = found.bounds("mrr_score")
            assert least - 1e-12 <= (1 / rank).mean() <= most + 1e-12


@pytest.mark.parametrize("near", [None, 1.3, 4.0, 60.0, 87.6, 95.0, 102.9, 104.0])
def test_dgl_ke_0_1(near: float | None) -> None:
    """Its ranks by torch's log-sigmoid, whose last bits decide about neighbouring floats alone."""
    rng = np.random.default_rng(3)
    if near is None:
        scores = rng.integers(-150, 100, (80, 30)).astype(np.float32)
        scores[rng.random(scores.shape) < 0.1] = 150  # of 101 to 105 the order is open
    else:
        bits = np.float32(near).view(np.int32) + rng.integers(-30, 30, (300, 40), np.int32)
        scores = bits.view(np.float32)
    share = 0.2 if near is None else 0
    filtered = rng.random(scores.shape) < share
    filtered[:, 0] = True
    squashed = torch.nn.functional.logsigmoid(torch.from_numpy(scores))
    rank = ((squashed - torch.from_numpy(filtered).float() >= squashed[:, :1]).sum(1) + 1).numpy()
    places = np.zeros(len(scores), int)
    out = lists(filtered)
    found = compat.report(scores, places, preset="dgl-ke-0.1", filter=out)
    assert ((found.first <= rank) & (rank <= found.last)).all()
    assert (found.first == found.last).all() or near is not None
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
