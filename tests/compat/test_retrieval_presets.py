"""Presets for queries and retrieval, compared with the toolkits' operations and pytrec_eval."""

from __future__ import annotations

import heapq
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truerank as tr
from support.toolkit_scores import lists, scores_and_filter
from truerank import compat

pytestmark = pytest.mark.python_only

NAN, INF = float("nan"), float("inf")
SEEDS = pytest.mark.parametrize("seed", range(3))


def finite_scores(seed: int) -> tuple[Any, Any, Any]:
    """Scores with ties, near ties and infinities, but no NaN."""
    scores, targets, filtered = scores_and_filter(seed)
    return np.where(np.isnan(scores), np.float32(0.3), scores), targets, filtered


def assert_within(found: compat.CompatReport, ranks: Any) -> None:
    assert (found.first <= ranks).all()
    assert (ranks <= found.last).all()
    assert (found.first < found.last).any()


# -- all entities of a query -----------------------------------------------------------------------


def test_kbc_averages_its_sides() -> None:
    scores, targets, filtered = finite_scores(0)
    side = ["tail"] * 40 + ["head"] * 20
    found = compat.report(scores, targets, preset="kbc", filter=lists(filtered), side=side)
    halves = [(1 / found.first[part]).mean() for part in (slice(40), slice(40, None))]
    assert found["MRR"] == pytest.approx(sum(halves) / 2, rel=1e-6)


def ids_of(columns: int) -> list[str]:
    """Names of documents in their own order as strings: d0, d1, d10, d11, ..."""
    return sorted(f"d{i}" for i in range(columns))


@SEEDS
@pytest.mark.parametrize("wide", [False, True])
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


@SEEDS
@pytest.mark.parametrize(
    ("preset", "reverse"), [("mteb", True), ("trec_eval", True), ("sentence-transformers", False)]
)
def test_orders_by_id(preset: str, reverse: bool, seed: int) -> None:
    scores, targets, _ = finite_scores(seed)
    ids = ids_of(scores.shape[1])
    found = compat.report(scores, targets, preset=preset)
    for i, (row, target) in enumerate(zip(scores.tolist(), targets, strict=True)):
        pairs = list(zip(row, ids, strict=True))
        if reverse:
            pairs.sort(reverse=True)
        else:
            pairs.sort(key=lambda pair: (-pair[0], pair[1]))
        rank = 1 + [name for _, name in pairs].index(ids[target])
        assert found.first[i] == rank == found.last[i]


@SEEDS
def test_mteb_2_18_18(seed: int) -> None:
    """A stable sort by score alone leaves ties in the order of the dict."""
    scores, targets, _ = finite_scores(seed)
    found = compat.report(scores, targets, preset="mteb-2.18.18")
    ranks = []
    for row, target in zip(scores.tolist(), targets, strict=True):
        ordered = sorted(dict(enumerate(row)).items(), key=lambda item: item[1], reverse=True)
        ranks.append(1 + [column for column, _ in ordered].index(target))
    np.testing.assert_array_equal(found.first, ranks)
    np.testing.assert_array_equal(found.last, ranks)
    values = [1 / rank if rank <= 10 else 0 for rank in ranks]
    assert found["mrr_at_10"] == pytest.approx(np.mean(values), rel=1e-12)
    first = compat.report(np.zeros((5, 9), np.float32), [0] * 5, preset="mteb-2.18.18")
    assert first["mrr_at_10"] == 1  # a constant scorer, the right document first


@SEEDS
def test_sentence_transformers_5(seed: int) -> None:
    """A heap of what torch.topk leaves of each chunk of the corpus."""
    torch = pytest.importorskip("torch", reason="runs the toolkit's own operations")
    scores, targets, _ = finite_scores(seed)
    ids = ids_of(scores.shape[1])
    found = compat.report(scores, targets, preset="sentence-transformers-5")
    ranks = []
    for row, target in zip(torch.from_numpy(scores), targets, strict=True):
        heap: list[tuple[float, str]] = []
        for start in range(0, len(row), 16):
            values, places = torch.topk(row[start : start + 16], len(row[start : start + 16]))
            for value, place in zip(values.tolist(), places.tolist(), strict=True):
                heapq.heappush(heap, (value, ids[start + place]))
        ordered = sorted(heap, key=lambda pair: pair[0], reverse=True)
        ranks.append(1 + [name for _, name in ordered].index(ids[target]))
    assert_within(found, np.array(ranks))


# -- what is new in the tables of conventions ------------------------------------------------------


def test_places_by_column() -> None:
    scores = [[5.0, 5.0, 9.0, 5.0, 5.0, 1.0]]
    first = [compat.report(scores, [j], preset="mteb-2.18.18").first[0] for j in range(6)]
    assert first == [2, 3, 1, 4, 5, 6]
    last = [compat.report(scores, [j], preset="mteb").first[0] for j in range(6)]
    assert last == [5, 4, 1, 3, 2, 6]
    out = compat.report(scores, [4], preset="mteb-2.18.18", filter=[[0, 2]])
    assert out.first[0] == out.last[0] == 3
    among = compat.report(scores, [4], preset="mteb-2.18.18", candidates=[3, 4, 5])
    assert among.first[0] == among.last[0] == 2


def test_bare_scores_have_no_columns() -> None:
    """Their place is anywhere in the tie, and the number its mean over all orders."""
    found = compat.report_against([5.0], [[5.0, 5.0, 9.0]], preset="mteb")
    assert (found.first[0], found.last[0]) == (2, 4)
    assert found["mrr_at_10"] == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 3)
    assert found.bounds("mrr_at_3") == (0, 0.5)
    assert found["mrr_at_3"] == pytest.approx((1 / 2 + 1 / 3) / 3)


def test_a_nan_opens_every_order() -> None:
    scores = [[3.0, 2.0, 1.0, NAN], [3.0, 2.0, 1.0, 0.0]]
    found = compat.report(scores, [0, 0], preset="pytrec_eval")
    assert found.first.tolist() == [1, 1]
    assert found.last.tolist() == [4, 1]
    without = compat.report(scores, [0, 0], preset="pytrec_eval", filter=[[3], []])
    assert without.last.tolist() == [1, 1]
    own = compat.report([[NAN, 2.0, 1.0]], [0], preset="mteb")
    assert (own.first[0], own.last[0]) == (1, 3)


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


def test_names_of_numbers() -> None:
    scores = np.arange(24, dtype=np.float32).reshape(2, 12)
    targets = [9, 1]  # ranks 3 and 11
    found = compat.table(scores, targets)
    assert found["recbole"].printed("precision@10") == "0.0500"
    assert found["recbole"].printed("mrr@10") == "0.1667"
    assert found["trec_eval"].printed("recip_rank") == format((1 / 3 + 1 / 11) / 2, ".4f")
    assert found["mteb"].printed("ndcg_at_3") == "0.25000"
    assert found["sentence-transformers"]["map@100"] == found["trec_eval"]["map"]
    assert found["kgreasoning"].printed("HITS3") == "0.500000"
    assert found["tgb"]["hits@10"] == 0.5
    assert tr.evaluate(scores, targets)["mrr"] == found["pytrec_eval"]["recip_rank"]
