"""Trained models give the ranks and metrics of PyKEEN, and vectors the scores of their models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pykeen", reason="PyKEEN is not installed")

import torch
from pykeen.models import ERModel
from pykeen.nn.modules import interaction_resolver
from pykeen.nn.representation import Embedding

import truerank as tr
from support.pykeen_models import by_pykeen, data_set, evaluated, ranks_of, trained
from support.refusals import refusal
from truerank.adapters.pykeen import (
    DISTANCES,
    PRODUCTS,
    RankEvaluator,
    Vectors,
    evaluate_model,
    find_key,
    make_vectors,
)
from truerank.link_prediction import Sampled, Task

KINDS = ("optimistic", "realistic", "pessimistic")
TRAINED = ("distmult", "complex", "transe", "rotate", "tucker", "conve", "ermlp")
CASES = [(model, "nations", number % 2 == 0) for number, model in enumerate(TRAINED)]
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
        refusal(ValueError, "NaN", by_truerank, model, sets, fused=fused)
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
        key, sign = find_key(metric)
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


# --- vectors give the scores of every interaction that has a form

MODELS = (
    "autosf", "complex", "conve", "cp", "crosse", "distma", "distmult", "ermlpe", "hole", "mure",
    "pairre", "proje", "quate", "rescal", "rgcn", "rotate", "se", "simple", "transd", "transe",
    "transf", "transh", "transr", "tucker", "um",
)  # fmt: skip
# Arguments of interactions that are not those of a model, or have other settings.
INTERACTIONS: dict[str, list[dict[str, Any]]] = {
    "lineare": [{"p": 1}],
    "multilineartucker": [{"head_dim": 4, "relation_dim": 4, "tail_dim": 4}],
    "transe": [{"p": 1, "power_norm": True}, {"p": 2}, {"p": 2, "power_norm": True}],
    "triplere": [{"p": 2}],
}
FORMS = [(name, None) for name in MODELS]
FORMS += [(name, made) for name, several in INTERACTIONS.items() for made in several]


def made_of(interaction: Any, **options: Any) -> Any:
    form = interaction_resolver.lookup(interaction)
    vectors = {"shape": 4, **options.pop("vectors", {})}
    return ERModel(
        triples_factory=data_set("nations", options.pop("inverse", False)).training,
        interaction=interaction,
        interaction_kwargs=options.pop("made", None),
        entity_representations_kwargs=[vectors] * len(form.entity_shape),
        relation_representations_kwargs=[vectors] * len(form.relation_shape),
        random_seed=0,
        **options,
    ).eval()


def centred(scores: Any) -> Any:
    """Subtract the mean of each query, because vectors leave out what all candidates share."""
    return scores - scores.mean(axis=1, keepdims=True)


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize(("name", "made"), FORMS)
@pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")  # from torch, for R-GCN
def test_models_score_as_they_predict(
    name: str, made: dict[str, Any] | None, inverse: bool
) -> None:
    """The models themselves are the slow oracle; those with inverse relations are of float64."""
    inverse = inverse and name != "rgcn"  # which makes inverse triples of its own
    if made is None:
        model = trained.__wrapped__(name, inverse=inverse, epochs=0)
    else:
        model = made_of(name, made=made, inverse=inverse)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    if inverse:
        model.double()
    data = data_set("nations", inverse)
    task = Task(data.testing.mapped_triples.numpy(), entities=14, relations=55)
    for side, predict in (("tail", model.predict_t), ("head", model.predict_h)):
        with torch.no_grad():
            vectors = make_vectors(model, task.sides[side], None)
            if side == "head" and not inverse and name in ("conve", "crosse", "ermlpe", "proje"):
                assert "is not a dot product, L1 or L2 distance" in str(vectors)
                continue
            assert isinstance(vectors, Vectors), vectors
            queries = task.sides[side].queries
            theirs = predict(torch.from_numpy(queries.copy())).numpy()
            ours = np.empty_like(theirs)
            relations = queries[:, vectors.columns[1]]
            for relation in np.unique(relations):
                some = relations == relation
                candidates, scoring = vectors.candidate_vectors(relation)
                of_queries = vectors.make_queries(queries[some])
                ours[some] = tr.score_embeddings(of_queries, candidates, **scoring)
        width = 1e-11 if inverse else 1e-5
        assert np.abs(centred(ours) - centred(theirs)).max() < width * np.abs(theirs).max()
        if name == "transe" and made is None:  # torch sums L1 norms in the same order
            np.testing.assert_array_equal(ours, theirs)


def test_every_form_is_that_of_a_case() -> None:
    models = [trained(name, epochs=0) for name in MODELS]
    forms = {type(getattr(model.interaction, "base", model.interaction)) for model in models}
    forms |= {interaction_resolver.lookup(name) for name in INTERACTIONS}
    assert forms == set(PRODUCTS) | set(DISTANCES)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (lambda: trained("convkb", epochs=0), "ConvKBInteraction with its settings is not a dot"),
        (lambda: made_of("distmult", predict_with_sigmoid=True), "predict_with_sigmoid"),
        (lambda: made_of("transe", made={"p": 3}), "TransEInteraction with its settings"),
        (lambda: made_of("distmult", vectors={"dtype": torch.bfloat16}), "vectors of torch.bf"),
    ],
)
def test_reasons_not_to_use_vectors(model: Any, reason: str) -> None:
    refusal(ValueError, reason, evaluate_model, model(), data_set("nations").testing, fused=True)


def test_models_of_an_inductive_mode_are_scored_by_themselves() -> None:
    side = Task(data_set("nations").testing.mapped_triples.numpy(), entities=14).tail
    assert "inductive mode 'training'" in str(make_vectors(trained("distmult"), side, "training"))


def of_an_instance(model: Any) -> str:
    predict = model.predict_t
    model.predict_t = lambda *args, **options: -predict(*args, **options)
    return "DistMult is not an ERModel, or has its own predict_t"


def by_a_hook(model: Any) -> str:
    model.interaction.register_forward_hook(lambda module, args, scores: -(scores**3))
    return "its vectors do not give its scores"


@pytest.mark.parametrize("change", [of_an_instance, by_a_hook])
def test_the_own_scores_of_a_changed_model_are_ranked(change: Any) -> None:
    model = trained.__wrapped__("distmult")
    testing = data_set("nations").testing
    sides = ["tail"]
    before = evaluate_model(model, testing, sides=sides, filter="none", fused=True)
    reason = change(model)
    after = evaluate_model(model, testing, sides=sides, filter="none")
    np.testing.assert_array_equal(after.ranks.pessimistic, 15 - before.ranks.optimistic)
    refusal(ValueError, reason, evaluate_model, model, testing, sides=sides, fused=True)


def test_without_known_triples_those_that_are_ranked_filter() -> None:
    """As in a Task: only `filter` says that nothing is left out."""
    model, testing = trained("distmult"), data_set("nations").testing
    alone = evaluate_model(model, testing)
    assert alone.protocol.filter == ("test",)
    assert alone.ranks == evaluate_model(model, testing, known={}).ranks
    raw = evaluate_model(model, testing, filter="none")
    assert raw.protocol.filter == ()
    assert raw["mr"] > alone["mr"]


def test_dropout_and_normalisers_are_part_of_the_vectors() -> None:
    """Dropout is off in evaluation. By default, this normaliser makes all queries -1 or 1."""
    vectors = {"normalizer": "normalize", "dropout": 0.5}
    model = made_of("distmult", vectors=vectors)
    assert isinstance(model.entity_representations[0], Embedding)
    testing = data_set("nations").testing
    model.train()
    fused = evaluate_model(model, testing, fused=True)
    assert not model.training
    by_scores = evaluate_model(model, testing, fused=False)
    np.testing.assert_array_equal(fused.ranks.above, by_scores.ranks.above)
