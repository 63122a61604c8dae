"""Four published models of Kinships: our counts are the published ones, ties the oracle's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import truerank as tr
from oracles import counting
from support.kinships import (
    HITS,
    KINDS,
    MODELS,
    NAMES,
    SIDES,
    SINGLE,
    STAND_IN,
    Array,
    Side,
    rank_sides,
    score_sides,
)


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def folder(data: Path) -> Path:
    return data / "kinships"


@pytest.fixture(scope="module")
def sides(folder: Path, model: str) -> dict[str, Side]:
    return score_sides(folder, model)


@pytest.fixture(scope="module")
def ranks(sides: dict[str, Side]) -> tr.Ranks:
    return rank_sides(sides)


@pytest.fixture(scope="module")
def published(folder: Path, model: str) -> dict[str, dict[str, float]]:
    cells: dict[str, dict[str, float]] = json.loads((folder / "published.json").read_text())[model]
    return cells


@pytest.mark.parametrize("kind", ["optimistic", "pessimistic"])
@pytest.mark.parametrize("side", ["head", "tail", "both"])
def test_whole_numbers_are_the_published_ones(
    ranks: tr.Ranks, published: dict[str, dict[str, float]], side: str, kind: str
) -> None:
    cell = published[f"{side}.{kind}"]
    assert ranks.side is not None
    chosen = ranks if side == "both" else ranks[ranks.side.values == side]
    of_kind = getattr(chosen, kind)
    tasks = len(of_kind)
    assert tasks == cell["count"]
    # A published mean is the float64 quotient of two whole numbers; ours have to be the same two.
    assert int(of_kind.sum()) / tasks == cell[NAMES["mr"]]
    for k in HITS:
        hits = cell[NAMES[f"hits@{k}"]] * tasks
        assert hits == pytest.approx(round(hits), rel=1e-12)
        assert np.count_nonzero(of_kind <= k) == round(hits)
    assert np.median(of_kind) == cell[NAMES["median"]]


def test_no_model_ties(ranks: tr.Ranks) -> None:
    assert ranks.tied.max() == 1
    assert np.array_equal(ranks.optimistic, ranks.pessimistic)
    assert np.array_equal(ranks.optimistic, ranks.realistic)


def test_every_published_figure_is_looked_at(published: dict[str, dict[str, float]]) -> None:
    assert len(published) == 3 * len(KINDS)
    for cell in published.values():
        assert set(cell) == {*NAMES.values(), *STAND_IN.values()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", ["head", "tail", "both"])
def test_metrics_are_the_published_ones(
    ranks: tr.Ranks, published: dict[str, dict[str, float]], side: str, kind: str
) -> None:
    report = tr.report(ranks)
    cell = published[f"{side}.{kind}"]
    for ours, theirs in NAMES.items():
        # The realistic ranks were float32; all figures made from them agree to 1e-6.
        single = kind == "realistic" or ours in SINGLE
        expected = pytest.approx(cell[theirs], rel=1e-6 if single else 1e-13)
        assert report[f"{side}.{kind}.{ours}"] == expected, ours


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", ["head", "tail", "both"])
def test_the_published_amrr_has_a_stand_in_for_chance(
    ranks: tr.Ranks, published: dict[str, dict[str, float]], side: str, kind: str
) -> None:
    """The published index uses ln N / (N - 1) of the mean N instead of the mean of H_N / N.

    With that in place of the expectation, ours equals theirs to 1e-6; else it is lower by up to
    0.004.
    """
    assert ranks.side is not None
    chosen = ranks if side == "both" else ranks[ranks.side.values == side]
    mean = chosen.candidates.mean()
    stand_in = np.log(mean) / (mean - 1)
    report = tr.report(ranks)
    mrr, amrr = report[f"{side}.{kind}.mrr"], report[f"{side}.{kind}.amrr"]
    theirs = published[f"{side}.{kind}"][STAND_IN["amrr"]]
    assert (mrr - stand_in) / (1 - stand_in) == pytest.approx(theirs, abs=1e-6)
    exact, _ = tr.chance("mrr", chosen.candidates)
    assert amrr == pytest.approx((mrr - exact) / (1 - exact), rel=1e-13)
    assert 0.0005 < theirs - amrr < 0.004
    # the two differ only because their expectations differ
    assert (1 - theirs) / (1 - amrr) == pytest.approx((1 - exact) / (1 - stand_in), rel=1e-6)


def to_int8(scores: Array) -> Array:
    """All scores are rounded to the 255 steps between -127 and 127."""
    steps: Array = np.rint(scores * (127 / np.abs(scores).max()))
    return steps.astype(np.int8)


ROUNDED: dict[str, Callable[[Array], Array]] = {
    "bfloat16": lambda scores: scores.astype(ml_dtypes.bfloat16),
    "float16": lambda scores: scores.astype(np.float16),
    "int8": to_int8,
}


@pytest.mark.parametrize("order", ["descending", "ascending"])
@pytest.mark.parametrize("dtype", ROUNDED)
@pytest.mark.parametrize("side", SIDES)
def test_ties_are_counted_as_the_oracle_counts(
    sides: dict[str, Side], side: str, dtype: str, order: str
) -> None:
    tasks = sides[side]
    scores = ROUNDED[dtype](tasks.scores)
    counted = tr.rank(scores, tasks.targets, filter=tasks.selection(), order=order, audit=True)
    slow = counting.count_large(scores, tasks.targets.tolist(), filter=tasks.lists, order=order)
    for name in ("above", "tied", "candidates"):
        assert np.array_equal(getattr(counted, name), getattr(slow, name)), name
    assert counted.audit is not None
    assert np.array_equal(counted.audit.at_best, slow.at_best)
    if dtype != "float16":  # which is fine enough for some of them
        assert counted.tied.max() > 1
    sample = np.arange(0, len(scores), 40)
    plain = counting.count(
        scores[sample],
        tasks.targets[sample].tolist(),
        filter=[tasks.lists[i] for i in sample],
        order=order,
    )
    assert np.array_equal(counted.tied[sample], plain.tied)
    assert np.array_equal(counted.above[sample], plain.above)
