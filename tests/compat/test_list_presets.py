"""What others do with misses, against loops over tasks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from truerank import compat

pytestmark = pytest.mark.python_only


def plain(ranks: tr.Ranks, preset: str, k: int) -> dict[str, float]:
    """Average over tasks, one by one."""
    mr, mrr, hits, total = 0.0, 0.0, 0.0, 0.0
    assert ranks.listed is not None
    for i in range(len(ranks)):
        a, t, n = int(ranks.above[i]), int(ranks.tied[i]), int(ranks.candidates[i])
        weight = 1.0 if ranks.weights is None else float(ranks.weights[i])
        place: float = a + (t + 1) / 2
        is_hit = bool(ranks.listed[i]) and not (preset == "pyclause" and place > 100)
        rank, reciprocal = place, 1 / place
        if not is_hit and preset in ("zero", "pyclause"):
            rank, reciprocal = float(n), 0.0
            rank = math.nan if preset == "pyclause" else rank
        elif not is_hit and preset == "k + 1":
            rank, reciprocal = a + 1, 1 / (a + 1)
        mr += weight * rank
        mrr += weight * reciprocal
        hits += weight * (reciprocal > 0 and 1 / reciprocal <= k + 1e-9)
        total += weight
    return {"mr": mr / total, "mrr": mrr / total, f"hits@{k}": hits / total}


@given(st.integers(0, 2**32), st.integers(1, 30), st.booleans())
def test_presets_are_loops(seed: int, k: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    n, lists = 400, 20
    ids = np.stack([rng.permutation(n)[:200] for _ in range(lists)])
    scores = rng.integers(0, 90, ids.shape).astype(float)
    ranks = tr.rank_lists(ids, scores, rng.integers(0, n, lists), candidates=n)
    if weighted:
        ranks = ranks.with_weights(rng.random(lists) + 0.1)
    table = compat.table_lists(ranks, ks=[k])
    assert table["preset"] == list(compat.LIST_PRESETS)
    for name, *values in table:
        assert values == pytest.approx([*plain(ranks, name, k).values()], nan_ok=True)


def test_the_middle_and_the_next_place_are_kinds_of_rank() -> None:
    ranks = tr.rank_lists([[4, 7], [1, 2]], None, [7, 3], candidates=10)
    report = tr.report(ranks)
    for name, kind in (("middle", "realistic"), ("k + 1", "optimistic")):
        found = compat.report_lists(ranks, preset=name)
        for key, value in found.items():
            assert value == pytest.approx(report[f"{kind}.{key}"])


def test_own_presets_and_wrong_ones() -> None:
    ranks = tr.rank_lists([[4, 7]], None, [7], candidates=10)
    own = compat.ListPreset(name="own", toolkits="ours", cut=1)
    assert compat.table_lists(ranks, presets=[own])["mr"] == [10]
    assert math.isnan(compat.report_lists(ranks[:0], preset="zero")["mr"])
    with pytest.raises(KeyError, match="preset: expected one of zero, pyclause"):
        compat.report_lists(ranks, preset="other")
    with pytest.raises(tr.InputTypeError, match="preset: expected a name or a ListPreset"):
        compat.report_lists(ranks, preset=3)  # type: ignore[arg-type]
    with pytest.raises(tr.InputValueError, match="misses: expected one of zero"):
        compat.ListPreset(name="own", toolkits="", misses="none")
    with pytest.raises(tr.InputTypeError, match="ranks: expected Ranks from lists"):
        compat.report_lists(tr.Ranks([0], [1], 5), preset="zero")
    with pytest.raises(tr.InputValueError, match="ks: expected an integer >= 1, got 0"):
        compat.report_lists(ranks, preset="zero", ks=[0])
