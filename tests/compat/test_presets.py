"""Presets of retrieval, of your own, and all for a constant scorer; and pytrec_eval itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from support.toolkit_scores import scores_and_filter
from truerank import compat


@pytest.mark.parametrize(("seed", "wide"), [(0, False), (1, True)])
def test_pytrec_eval_itself(seed: int, wide: bool) -> None:
    """Ranks are exact by the order of the names, and scores are rounded to float32."""
    peer = pytest.importorskip("pytrec_eval", reason="the peer to compare with")
    scores, targets, _ = scores_and_filter(seed)
    scores = np.where(np.isnan(scores), np.float32(0.3), scores)
    if wide:
        rng = np.random.default_rng(seed)
        scores = scores.astype(np.float64) * (1 + rng.normal(0, 1e-9, scores.shape))
    ids = sorted(f"d{i}" for i in range(scores.shape[1]))  # in their own order as strings
    qrels = {f"q{i}": {ids[target]: 1} for i, target in enumerate(targets)}
    run = {f"q{i}": dict(zip(ids, row.tolist(), strict=True)) for i, row in enumerate(scores)}
    found = compat.report(scores, targets, preset="pytrec_eval")
    np.testing.assert_array_equal(found.first, found.last)
    names = {"recip_rank", "map", "success.5,10", "recall.5,10", "P.5,10", "ndcg_cut.5,10"}
    theirs = peer.RelevanceEvaluator(qrels, names).evaluate(run)
    reciprocals = [theirs[query]["recip_rank"] for query in qrels]
    np.testing.assert_allclose(1 / found.first, reciprocals, rtol=1e-12)
    for name in theirs["q0"]:
        mean = np.mean([values[name] for values in theirs.values()])
        assert found[name] == pytest.approx(mean, rel=1e-12), name
    if wide:  # what float32 makes equal is no tie in float64
        assert (compat.report(scores, targets, preset="trec_eval").first != found.first).any()


VALUES = {"mrr": lambda r: 1 / r, "ndcg": lambda r: 1 / math.log2(r + 1), "hits": lambda r: 1}


@examples(60)
@given(st.integers(0, 12), st.integers(1, 7))
def test_bare_scores_have_no_columns(above: int, tied: int) -> None:
    """Their place is anywhere in the tie, and a number its mean over all orders, by definition."""
    others = [9.0] * above + [5.0] * (tied - 1) + [1.0]
    found = compat.report([5.0], others=[others], preset="mteb")
    assert (found.first[0], found.last[0]) == (above + 1, above + tied)
    for shown, metric in zip(found, found.preset.metrics, strict=True):
        name, _, k = metric.key.partition("@")
        places = range(above + 1, above + tied + 1)
        values = [VALUES[name](r) * metric.scale if r <= int(k) else 0 for r in places]
        assert found[shown] == pytest.approx(sum(values) / tied), shown
        assert found.bounds(shown) == pytest.approx((min(values), max(values)))
