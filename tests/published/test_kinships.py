"""Four published models of Kinships: our counts are the published ones, ties the oracle's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import truerank as tr
from oracles import counting
from support.kinships import (
    MODELS,
    SIDES,
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


def test_no_model_ties(ranks: tr.Ranks) -> None:
    assert ranks.tied.max() == 1
    assert np.array_equal(ranks.optimistic, ranks.pessimistic)
    assert np.array_equal(ranks.optimistic, ranks.realistic)


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
