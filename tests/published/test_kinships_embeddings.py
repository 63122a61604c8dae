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
    Array,
    score_sides,
)
from truerank import score_embeddings
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
    assert set(cell) == {*NAMES.values(), *STAND_IN.values()}
    for ours, theirs in NAMES.items():
        # The realistic ranks were float32; all figures made from them agree to 1e-6.
        single = kind == "realistic" or ours in SINGLE
        expected = pytest.approx(cell[theirs], rel=1e-6 if single else 1e-13)
        assert report[f"{side}.{kind}.{ours}"] == expected, ours
    # The published index of the MRR replaces the expectation by an approximation.
    ranks = chosen(report.ranks, side)
    mean = ranks.candidates.mean()
    stand_in = np.log(mean) / (mean - 1)
    index = (report[f"{side}.{kind}.mrr"] - stand_in) / (1 - stand_in)
    assert index == pytest.approx(cell[STAND_IN["amrr"]], abs=1e-6)


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
    """numpy adds in another order, which changes the rank of no target."""
    name = request.node.callspec.params["model"]
    parts = [
        tr.rank(side.scores, side.targets, filter=side.selection())
        for side in score_sides(data / "kinships", name).values()
    ]
    ours, theirs = model.report.ranks, tr.concatenate(parts)
    assert np.flatnonzero(ours.above != theirs.above).tolist() == []
    assert np.array_equal(ours.tied, theirs.tied)
    assert np.array_equal(ours.candidates, theirs.candidates)


def test_the_protocol_is_told(model: Model) -> None:
    protocol = model.report.ranks.protocol
    assert protocol.filter == SPLITS
    assert (protocol.split, protocol.candidates, protocol.sampled) == ("test", "all", False)
    assert (protocol.similarity, protocol.dtype) == (str(model.vectors["similarity"]), "float32")


def test_rows_of_a_query_have_the_same_bits_and_one_is_enough(model: Model, task: Task) -> None:
    audit = model.report.ranks.audit
    assert audit is not None
    assert not audit.mismatched.any()
    short = dict(model.vectors)
    for name, side in task.sides.items():
        first = np.unique(side.rows, return_index=True)[1]
        short[f"queries_{name}"] = short[f"queries_{name}"][side.test_rows[first]]
    assert evaluate(task, short, unique=True, audit=True).ranks == model.report.ranks


def test_callables_and_scores_give_the_same(model: Model, task: Task) -> None:
    similarity, entities = str(model.vectors["similarity"]), model.vectors["entities"]
    scores: dict[str, Array] = {
        side: score_embeddings(model.vectors[f"queries_{side}"], entities, similarity=similarity)
        for side in task.sides
    }

    def scorer(name: str) -> Any:
        side = task.sides[name]
        row = {tuple(side.queries[j]): i for i, j in zip(side.test_rows, side.rows, strict=True)}
        return lambda queries: scores[name][[row[tuple(query)] for query in queries]]

    expected = model.report.ranks.with_protocol(similarity=None)
    assert task.evaluate_scores(scores["tail"], scores["head"], audit=True).ranks == expected
    made = task.evaluate(scorer("tail"), scorer("head"), batch_size=100, audit=True)
    assert made.ranks == expected


def chosen(ranks: tr.Ranks, side: str) -> tr.Ranks:
    assert ranks.side is not None
    return ranks if side == "both" else ranks[ranks.side.values == side]
