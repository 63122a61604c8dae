"""Numbers among the first k and their names, and pytrec_eval itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.toolkit_scores import scores_and_filter
from truerank import compat

pytestmark = pytest.mark.python_only


def finite_scores(seed: int) -> tuple[Any, Any, Any]:
    """Make scores with ties, near ties and infinities, but no NaN."""
    scores, targets, filtered = scores_and_filter(seed)
    return np.where(np.isnan(scores), np.float32(0.3), scores), targets, filtered


def ids_of(columns: int) -> list[str]:
    """Names of documents in their own order as strings: d0, d1, d10, d11, ..."""
    return sorted(f"d{i}" for i in range(columns))


@pytest.mark.parametrize(("seed", "wide"), [(0, False), (1, True)])
def test_pytrec_eval_itself(seed: int, wide: bool) -> None:
    """Ranks are exact by the order of the names, and scores are rounded to float32."""
    peer = pytest.importorskip("pytrec_eval", reason="the peer to compare with")
    scores, targets, _ = finite_scores(seed)
    if wide:
        rng = np.random.default_rng(seed)
        scores = scores.astype(np.float64) * (1 + rng.normal(0, 1e-9, scores.shape))
    ids = ids_of(scores.shape[1])
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
    found = compat.report_against([5.0], [[5.0, 5.0, 9.0]], preset="mteb")
    assert (found.first[0], found.last[0]) == (2, 4)
    assert found["mrr_at_10"] == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 3)
    assert found.bounds("mrr_at_3") == (0, 0.5)
    assert found["mrr_at_3"] == pytest.approx((1 / 2 + 1 / 3) / 3)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_values_among_the_first_k(data: st.DataObject) -> None:
    """The mean over the orders of a tie, from the definition, position by position."""
    columns = data.draw(st.integers(1, 12))
    row = data.draw(st.lists(st.integers(0, 2), min_size=columns, max_size=columns))
    k = data.draw(st.integers(1, 14))
    added = {"mrr": lambda r: 1 / r, "ndcg": lambda r: 1 / math.log2(r + 1), "hits": lambda r: 1}
    metrics = tuple(compat.Metric(name, f"{name}@{k}") for name in added)
    preset = compat.Preset(
        name="mine", toolkit="mine", version="1", source=(), metrics=metrics, splits="none",
        candidates="all", convention=compat.Convention(rank="any"),
    )  # fmt: skip
    found = compat.report(np.array([row], np.float32), [0], preset=preset)
    above, tied = sum(s > row[0] for s in row), row.count(row[0])
    for name, value in added.items():
        values = [value(r) if r <= k else 0 for r in range(above + 1, above + tied + 1)]
        assert found[name] == pytest.approx(sum(values) / tied)
        assert found.bounds(name) == pytest.approx((min(values), max(values)))
        middle = above + (tied + 1) / 2
        assert found.corrected(name) == pytest.approx(value(middle) if middle <= k else 0)
