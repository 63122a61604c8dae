"""Ranks and metrics of trained models compared with PyKEEN's own; differences are counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pykeen", reason="PyKEEN is not installed")

import torch

import truerank as tr
from support.pykeen_models import by_pykeen, data_set, evaluated, ranks_of, trained
from truerank.adapters.pykeen import RankEvaluator, evaluate_model, key_of
from truerank.link_prediction import Sampled

KINDS = ("optimistic", "realistic", "pessimistic")
MODELS = ("distmult", "complex", "transe", "rotate", "tucker", "conve", "ermlp")
CASES = [(model, "nations", number % 2 == 0) for number, model in enumerate(MODELS)]
CASES += [("transe", "kinships", True), ("rotate", "kinships", False), ("convkb", "nations", False)]

# PyKEEN's realistic ranks are float32, and so are their sums. A z adds that error, divided by the
# standard deviation of the metric; an index is a difference, near 0 for models like these.
NEAR = {"rtol": 2e-6, "atol": 1e-6}
NEAR_Z = {"rtol": 2e-5, "atol": 2e-5}


def by_truerank(model: Any, data: Any, **options: Any) -> Any:
    return evaluated(RankEvaluator(**options), model, data)


def assert_metrics_agree(ours: Any, theirs: Any) -> None:
    """Check that all of PyKEEN's metrics agree, with the same names in the same order."""
    mine = ours.to_flat_dict()
    other = theirs.to_flat_dict()
    assert list(mine) == list(other)
    for name, value in other.items():
        near = NEAR_Z if ".z_" in name else NEAR
        np.testing.assert_allclose(mine[name], value, err_msg=name, **near)


@pytest.mark.parametrize("filtered", [True, False])
@pytest.mark.parametrize(("name", "data", "inverse"), CASES)
def test_all_metrics_agree_on_trained_models(
    name: str, data: str, inverse: bool, filtered: bool
) -> None:
    """Both rank the scores of the model; different batches change almost nothing."""
    model = trained(name, data, inverse)
    sets = data_set(data, inverse)
    theirs, evaluator = by_pykeen(model, sets, filtered)
    ours = by_truerank(model, sets, filtered=filtered, fused=False)
    for side in ("head", "tail"):
        ranks = ours.ranks[ours.ranks.side.values == side]
        differences = np.abs(ranks.realistic - ranks_of(evaluator, side, "realistic"))
        # the last bit of a score may depend on the size of the batch
        assert (differences > 0).mean() <= 0.005
        assert differences.max() <= 1
        candidates = np.concatenate(evaluator.num_candidates[side])
        np.testing.assert_array_equal(ranks.candidates, candidates)
    if not differences.any():
        assert_metrics_agree(ours, theirs)


def with_vectors(rows: Any, value: Any) -> Any:
    """Make an untrained model and change its vectors of some entities; None: to the first."""
    made = trained.__wrapped__("distmult", epochs=0)
    with torch.no_grad():
        weight = made.entity_representations[0]._embeddings.weight
        weight[rows] = weight[0] if value is None else value
    return made


def test_nan_is_an_error_or_the_worst() -> None:
    model = with_vectors(3, torch.nan)
    sets = data_set("nations")
    for fused in (True, False):
        with pytest.raises(ValueError, match="NaN"):
            by_truerank(model, sets, fused=fused)
    ranks = by_truerank(model, sets, nan="worst").ranks
    tails = ranks[ranks.side.values == "tail"]
    of_nan = tails[sets.testing.mapped_triples[:, 2].numpy() == 3]
    assert len(of_nan)
    np.testing.assert_array_equal(of_nan.optimistic, of_nan.candidates)


def test_ties_are_counted_alike() -> None:
    """Equal vectors tie in both paths, as in PyKEEN."""
    model = with_vectors(slice(1, 6), None)
    sets = data_set("nations")
    _, evaluator = by_pykeen(model, sets)
    fused = by_truerank(model, sets)
    assert fused.report.summary.tied_tasks > 50
    for ours in (fused, by_truerank(model, sets, fused=False)):
        for side in ("head", "tail"):
            ranks = ours.ranks[ours.ranks.side.values == side]
            for kind in KINDS:
                np.testing.assert_array_equal(getattr(ranks, kind), ranks_of(evaluator, side, kind))


def test_evaluate_model_gives_the_evaluators_report() -> None:
    model = trained("rotate", "kinships", True)
    sets = data_set("kinships", True)
    named = {"train": sets.training, "valid": sets.validation}
    report = evaluate_model(model, sets.testing, known=named)
    result = by_truerank(model, sets)
    np.testing.assert_array_equal(report.ranks.above, result.ranks.above)
    assert report.protocol.filter == ("train", "valid", "test")
    assert report.protocol.similarity == "l2"
    assert report.ranks.relation.vocabulary == tuple(
        sets.testing.relation_id_to_label[i] for i in range(sets.num_relations // 2)
    )
    for metric in RankEvaluator().metrics:
        key, sign = key_of(metric)
        name = f"both.realistic.{metric.key}"
        if not metric.key.endswith("_at_k"):
            assert sign * report[key] == result.to_flat_dict()[name]
    told: list[tr.Progress] = []
    options = {"batch_size": 100, "sides": ["tail"], "progress": told.append, "fused": False}
    known = list(named.values())
    tails = evaluate_model(model, sets.testing.mapped_triples, known=known, **options)
    assert (told[0].done, told[-1].done, told[0].unit) == (0, told[-1].total, "queries")
    assert len(told) >= 9
    assert np.mean(tails.ranks.above != report.ranks[1074:].above) < 0.005
    assert tails.protocol.filter == ("known_0", "known_1", "test")


def test_evaluate_model_with_other_candidates() -> None:
    model = trained("transh")
    sets = data_set("nations")
    named = {"train": sets.training, "valid": sets.validation}
    for candidates in ("typed", Sampled(5, seed=1), list(range(14))):
        by_vectors, by_scores = (
            evaluate_model(model, sets.testing, known=named, candidates=candidates, fused=fused)
            for fused in (True, False)
        )
        np.testing.assert_array_equal(by_vectors.ranks.candidates, by_scores.ranks.candidates)
        assert (by_vectors.ranks.above != by_scores.ranks.above).mean() < 0.01
