"""Every interaction with a form by vectors gets the same scores as in PyKEEN."""

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
from support.pykeen_models import data_set, trained
from support.refusals import refusal
from truerank.adapters.pykeen import DISTANCES, PRODUCTS, Vectors, evaluate_model, vectors_of
from truerank.link_prediction import Task

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
CASES = [(name, None) for name in MODELS]
CASES += [(name, made) for name, several in INTERACTIONS.items() for made in several]


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
@pytest.mark.parametrize(("name", "made"), CASES)
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
            vectors = vectors_of(model, task.sides[side], None)
            if side == "head" and not inverse and name in ("conve", "crosse", "ermlpe", "proje"):
                assert "is no dot product, L1 or L2 distance" in str(vectors)
                continue
            assert isinstance(vectors, Vectors), vectors
            queries = task.sides[side].queries
            theirs = predict(torch.from_numpy(queries.copy())).numpy()
            ours = np.empty_like(theirs)
            relations = queries[:, vectors.columns[1]]
            for relation in np.unique(relations):
                some = relations == relation
                candidates, scoring = vectors.candidate_vectors(relation)
                of_queries = vectors.queries(queries[some])
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
        (lambda: trained("convkb", epochs=0), "ConvKBInteraction with its settings is no dot"),
        (lambda: made_of("distmult", predict_with_sigmoid=True), "predict_with_sigmoid"),
        (lambda: made_of("transe", made={"p": 3}), "TransEInteraction with its settings"),
        (lambda: made_of("distmult", vectors={"dtype": torch.bfloat16}), "vectors of torch.bf"),
    ],
)
def test_reasons_not_to_use_vectors(model: Any, reason: str) -> None:
    refusal(ValueError, reason, evaluate_model, model(), data_set("nations").testing, fused=True)


def test_models_of_an_inductive_mode_are_scored_by_themselves() -> None:
    side = Task(data_set("nations").testing.mapped_triples.numpy(), entities=14).tail
    assert "inductive mode 'training'" in str(vectors_of(trained("distmult"), side, "training"))


def of_an_instance(model: Any) -> str:
    predict = model.predict_t
    model.predict_t = lambda *args, **options: -predict(*args, **options)
    return "DistMult is no ERModel, or has a predict_t of its own"


def by_a_hook(model: Any) -> str:
    model.interaction.register_forward_hook(lambda module, args, scores: -(scores**3))
    return "its vectors do not give its scores"


@pytest.mark.parametrize("change", [of_an_instance, by_a_hook])
def test_the_own_scores_of_a_changed_model_are_ranked(change: Any) -> None:
    model = trained.__wrapped__("distmult")
    testing = data_set("nations").testing
    sides = ["tail"]
    before = evaluate_model(model, testing, sides=sides, fused=True)
    reason = change(model)
    after = evaluate_model(model, testing, sides=sides)
    np.testing.assert_array_equal(after.ranks.pessimistic, 15 - before.ranks.optimistic)
    refusal(ValueError, reason, evaluate_model, model, testing, sides=sides, fused=True)


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
