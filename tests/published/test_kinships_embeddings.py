"""Four published models of Kinships, from triples and vectors: every published figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import truerank as tr
from support.kinships import (
    HITS,
    KINDS,
    MODELS,
    NAMES,
    SINGLE,
    SPLITS,
    STAND_IN,
    score_sides,
)
from truerank.link_prediction import Task

SIDES = ("head", "tail", "both")
Cells = dict[str, dict[str, float]]


class Model(NamedTuple):
    """A model's vectors, its published figures, and our results."""

    vectors: dict[str, Any]
    published: Cells
    report: tr.Report


@pytest.fixture(scope="module")
def task(data: Path) -> Task:
    with np.load(data / "kinships" / "triples.npz") as triples:
        splits = {split: triples[split] for split in SPLITS}
        names = {name: triples[name] for name in ("entities", "relations")}
    return Task(splits.pop("test"), splits, **names)


def evaluate(task: Task, vectors: dict[str, Any], **keywords: Any) -> tr.Report:
    similarity = str(vectors["similarity"])
    queries = (vectors[f"queries_{side}"] for side in ("tail", "head"))
    return task.evaluate_embeddings(
        *queries, vectors["entities"], similarity=similarity, **keywords
    )


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest, data: Path, task: Task) -> Model:
    with np.load(data / "kinships" / f"{request.param}.npz") as arrays:
        vectors = dict(arrays)
    published: dict[str, Cells] = json.loads((data / "kinships" / "published.json").read_text())
    return Model(vectors, published[request.param], evaluate(task, vectors, audit=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", SIDES)
def test_every_figure_is_the_published_one(model: Model, side: str, kind: str) -> None:
    report, cell = model.report, model.published[f"{side}.{kind}"]
    assert len(model.published) == len(SIDES) * len(KINDS)
    assert set(cell) == {*NAMES.values(), *STAND_IN.values()}
    for ours, theirs in NAMES.items():
        # The realistic ranks were float32; all figures made from them agree to 1e-6.
        single = kind == "realistic" or ours in SINGLE
        expected = pytest.approx(cell[theirs], rel=1e-6 if single else 1e-13)
        assert report[f"{side}.{kind}.{ours}"] == expected, ours
    # The published index of the MRR takes ln N / (N - 1) of the mean N for the mean of H_N / N.
    candidates = chosen(report.ranks, side).candidates
    stand_in = np.log(candidates.mean()) / (candidates.mean() - 1)
    mrr, theirs = report[f"{side}.{kind}.mrr"], cell[STAND_IN["amrr"]]
    assert (mrr - stand_in) / (1 - stand_in) == pytest.approx(theirs, abs=1e-6)
    exact, _ = tr.chance("mrr", candidates)
    amrr = report[f"{side}.{kind}.amrr"]
    assert amrr == pytest.approx((mrr - exact) / (1 - exact), rel=1e-13)
    assert 0.0005 < theirs - amrr < 0.004


@pytest.mark.parametrize("kind", ["optimistic", "pessimistic"])
@pytest.mark.parametrize("side", SIDES)
def test_whole_numbers_are_the_published_ones(model: Model, side: str, kind: str) -> None:
    ranks, cell = getattr(chosen(model.report.ranks, side), kind), model.published[f"{side}.{kind}"]
    assert len(ranks) == cell["count"]
    assert int(ranks.sum()) / len(ranks) == cell[NAMES["mr"]]
    for k in HITS:
        hits = cell[NAMES[f"hits@{k}"]] * len(ranks)
        assert hits == pytest.approx(round(hits), rel=1e-12)
        assert np.count_nonzero(ranks <= k) == round(hits)
    assert np.median(ranks) == cell[NAMES["median"]]


def test_every_task_is_ranked_as_its_scores_by_numpy(
    model: Model, data: Path, request: pytest.FixtureRequest
) -> None:
    """numpy adds in another order, which changes the rank of no target; nothing ties."""
    name = request.node.callspec.params["model"]
    parts = [
        tr.rank(side.scores, side.targets, filter=side.selection())
        for side in score_sides(data / "kinships", name).values()
    ]
    ours, theirs = model.report.ranks, tr.concatenate(parts)
    assert np.flatnonzero(ours.above != theirs.above).tolist() == []
    assert np.array_equal(ours.tied, theirs.tied)
    assert ours.tied.max() == 1
    assert np.array_equal(ours.candidates, theirs.candidates)


def chosen(ranks: tr.Ranks, side: str) -> tr.Ranks:
    assert ranks.side is not None
    return ranks if side == "both" else ranks[ranks.side.values == side]
