"""Presets of retrieval, of your own, and all for a constant scorer; and pytrec_eval itself."""

from __future__ import annotations

import math
from collections.abc import Callable

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


def test_bare_scores_have_no_columns() -> None:
    """Their place is anywhere in the tie, and the number its mean over all orders."""
    found = compat.report([5.0], others=[[5.0, 5.0, 9.0]], preset="mteb")
    assert (found.first[0], found.last[0]) == (2, 4)
    assert found["mrr_at_10"] == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 3)
    assert found.bounds("mrr_at_3") == (0, 0.5)
    assert found["mrr_at_3"] == pytest.approx((1 / 2 + 1 / 3) / 3)


@examples(60)
@given(data=st.data())
def test_values_among_the_first_k(data: st.DataObject) -> None:
    """The mean over the orders of a tie, from the definition, position by position."""
    columns = data.draw(st.integers(1, 12))
    row = data.draw(st.lists(st.integers(0, 2), min_size=columns, max_size=columns))
    k = data.draw(st.integers(1, 14))
    added = {"mrr": lambda r: 1 / r, "ndcg": lambda r: 1 / math.log2(r + 1), "hits": lambda r: 1}

    def first_k(value: Callable[[float], float], place: float) -> float:
        return value(place) if place <= k else 0

    metrics = tuple(compat.Metric(name, f"{name}@{k}") for name in added)
    preset = compat.Preset(
        name="mine", toolkit="mine", version="1", source=(), metrics=metrics, splits="none",
        candidates="all", convention=compat.Convention(rank="any"),
    )  # fmt: skip
    found = compat.report(np.array([row], np.float32), [0], preset=preset)
    above = sum(s > row[0] for s in row)
    tied = row.count(row[0])
    for name, value in added.items():
        values = [first_k(value, r) for r in range(above + 1, above + tied + 1)]
        assert found[name] == pytest.approx(sum(values) / tied)
        assert found.bounds(name) == pytest.approx((min(values), max(values)))
        middle = above + (tied + 1) / 2
        assert found.corrected(name) == pytest.approx(first_k(value, middle))
