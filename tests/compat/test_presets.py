"""Presets of lists, of retrieval, and all for a constant scorer: loops over tasks, pytrec_eval."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support import constant_scorer
from support.examples import examples
from support.refusals import refusal
from support.toolkit_scores import scores_and_filter
from truerank import compat


def plain(ranks: tr.Ranks, preset: str, k: int) -> dict[str, float]:
    """Average over tasks, one by one."""
    mr = 0.0
    mrr = 0.0
    hits = 0.0
    total = 0.0
    assert ranks.listed is not None
    for i in range(len(ranks)):
        a = int(ranks.above[i])
        t = int(ranks.tied[i])
        n = int(ranks.candidates[i])
        weight = 1.0 if ranks.weights is None else float(ranks.weights[i])
        place: float = a + (t + 1) / 2
        is_hit = bool(ranks.listed[i]) and not (preset == "pyclause" and place > 100)
        rank = place
        reciprocal = 1 / place
        if not is_hit and preset in ("zero", "pyclause"):
            rank = float(n)
            reciprocal = 0.0
            if preset == "pyclause":
                rank = math.nan
        elif not is_hit and preset == "k + 1":
            rank = a + 1
            reciprocal = 1 / (a + 1)
        mr += weight * rank
        mrr += weight * reciprocal
        hits += weight * (reciprocal > 0 and 1 / reciprocal <= k + 1e-9)
        total += weight
    return {"mr": mr / total, "mrr": mrr / total, f"hits@{k}": hits / total}


@given(st.integers(0, 2**32), st.integers(1, 30), st.booleans())
def test_presets_are_loops(seed: int, k: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    n = 400
    lists = 20
    ids = np.stack([rng.permutation(n)[:200] for _ in range(lists)])
    scores = rng.integers(0, 90, ids.shape).astype(float)
    ranks = tr.rank_lists(ids, scores, rng.integers(0, n, lists), candidates=n)
    if weighted:
        ranks = ranks.with_weights(rng.random(lists) + 0.1)
    table = compat.table_lists(ranks, ks=[k])
    assert table["preset"] == list(compat.LIST_PRESETS)
    for row in table:
        expected = plain(ranks, row[0], k)
        assert row[1:] == pytest.approx(tuple(expected.values()), nan_ok=True)


def test_own_presets_and_wrong_ones() -> None:
    ranks = tr.rank_lists([[4, 7]], None, [7], candidates=10)
    own = compat.ListPreset(name="own", toolkits="ours", cut=1)
    assert compat.table_lists(ranks, presets=[own])["mr"] == [10]
    assert math.isnan(compat.report_lists(ranks[:0], preset="zero")["mr"])
    ask = compat.report_lists
    make = compat.ListPreset
    exact = tr.Ranks([0], [1], 5)
    refusal(KeyError, "preset: expected one of zero, pyclause", ask, ranks, preset="other")
    refusal(TypeError, "preset: expected a name or a ListPreset", ask, ranks, preset=3)
    refusal(ValueError, "misses: expected one of zero", make, name="o", toolkits="", misses="none")
    refusal(TypeError, "ranks: expected Ranks from lists", ask, exact, preset="zero")
    refusal(ValueError, "ks: expected an integer >= 1, got 0", ask, ranks, preset="zero", ks=[0])


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
    found = compat.report_against([5.0], [[5.0, 5.0, 9.0]], preset="mteb")
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


# -- a constant scorer ----------------------------------------------------------------------------


def test_tables_of_the_pages() -> None:
    """`python tests/support/constant_scorer.py` writes them again."""
    for page, tables in constant_scorer.tables_by_page().items():
        text = (constant_scorer.DOCS / page).read_text(encoding="utf-8")
        for name, table in tables.items():
            assert f"<!-- table: {name} -->\n\n{table}\n" in text


def test_no_place_is_better_than_the_optimistic_but_for_nan() -> None:
    """With a mean over all columns, only an optimistic rank and NaN beat chance."""
    n = constant_scorer.CANDIDATES
    chance = (1 / np.arange(1, n + 1)).mean()
    found = constant_scorer.table(0.0, constant_scorer.EACH)
    for name, row in found.items():
        beats = row.figures["mrr"].value > chance * (1 + 1e-6)
        assert beats == (row.preset.convention.rank == "optimistic"), name
