"""Every interaction with a form by vectors gets the same scores as in PyKEEN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pykeen", reason="PyKEEN is not installed")

import torch
from pykeen.models import ERModel
from pykeen.nn import modules
from pykeen.nn.representation import Embedding

import truerank as tr
from support.examples import examples
from support.pykeen_models import data_set, trained
from truerank.adapters.pykeen import (
    DISTANCES,
    PRODUCTS,
    Vectors,
    evaluate_model,
    similarity_of,
    vectors_of,
)
from truerank.link_prediction import Task

Dims = dict[str, int]
QUERIES = 3
ENTITIES = 7

# The arguments of interactions, made from the drawn dimensions.
MADE: dict[type[Any], Callable[[Dims], dict[str, Any]]] = {
    modules.TuckERInteraction: lambda d: {"embedding_dim": d["d"]},
    modules.MultiLinearTuckerInteraction: lambda d: {
        **{"head_dim": d["d"], "relation_dim": d["e"], "tail_dim": d["f"]}
    },
    modules.ConvEInteraction: lambda d: {
        **{"embedding_dim": 4 * d["d"], "embedding_height": 4, "kernel_width": 1}
    },
    modules.ERMLPEInteraction: lambda d: {"embedding_dim": d["d"], "hidden_dim": d["e"]},
    modules.CrossEInteraction: lambda d: {"embedding_dim": d["d"]},
    modules.ProjEInteraction: lambda d: {"embedding_dim": d["d"]},
    modules.AutoSFInteraction: lambda d: {
        "coefficients": [(0, 0, 1, 1), (1, 2, 0, -1), (1, 1, 2, 1), (2, 0, 1, 1)]
    },
}
FORMS = list(PRODUCTS) + list(DISTANCES)


def random_representations(interaction: Any, shapes: Any, rows: int, dims: Dims, dtype: Any) -> Any:
    """Make random representations of some rows."""
    kind = torch.complex128 if interaction.is_complex else torch.float64
    parts = [torch.randn(rows, *(dims[x] for x in shape), dtype=kind) for shape in shapes]
    if interaction.is_complex:
        dtype = {torch.float32: torch.complex64, torch.float64: torch.complex128}[dtype]
    return [part.to(dtype) for part in parts]


def each(f: Callable[[Any], Any], parts: Any) -> Any:
    """Return what an interaction takes: the part, or all of several."""
    return f(parts[0]) if len(parts) == 1 else list(map(f, parts))


def centred(scores: Any) -> Any:
    """Subtract the mean of each query, because vectors leave out what all candidates share."""
    return scores - scores.mean(axis=1, keepdims=True)


def scores_of(vectors: Vectors, queries: Any, relation: int) -> Any:
    """Compute the scores of the vectors of some queries."""
    candidates, scoring = vectors.candidate_vectors(relation)
    return tr.score_embeddings(queries, candidates, **scoring)


@pytest.mark.parametrize("made", FORMS, ids=lambda made: made.__name__)
@examples(12)
@given(
    seed=st.integers(0, 2**31),
    sizes=st.tuples(*[st.integers(1, 9)] * 3),
    power=st.booleans(),
    p=st.sampled_from([1, 2]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_forms_score_as_their_interaction(
    made: Any, seed: int, sizes: tuple[int, int, int], power: bool, p: int, dtype: Any
) -> None:
    """The slow oracle is the interaction itself, called for every pair by broadcasting."""
    torch.manual_seed(seed)
    dims = {"d": sizes[0], "e": sizes[1], "f": sizes[2], "k": 4}
    options = MADE.get(made, lambda d: {})(dims)
    if made in DISTANCES:
        options = {"p": p, "power_norm": power}
    interaction = made(**options).to(dtype).eval()
    if made is modules.ConvEInteraction:
        dims = {**dims, "d": 4 * dims["d"]}
    for norm in interaction.modules():
        if isinstance(norm, torch.nn.BatchNorm1d | torch.nn.BatchNorm2d):
            torch.nn.init.normal_(norm.running_mean)
            torch.nn.init.uniform_(norm.running_var, 0.5, 2.0)
    for parameter in interaction.parameters():
        torch.nn.init.normal_(parameter)

    shapes = {"h": interaction.head_shape, "t": interaction.tail_shape}
    for asked, other in ("th", "ht"):
        if similarity_of(interaction, asked) is None:
            assert made in PRODUCTS
            continue
        candidates = random_representations(interaction, shapes[asked], ENTITIES, dims, dtype)
        given = random_representations(interaction, shapes[other], QUERIES, dims, dtype)
        shape = interaction.relation_shape
        relation = random_representations(interaction, shape, 1, dims, dtype)
        of_queries = [x.expand(QUERIES, *x.shape[1:]) for x in relation]
        sides = {
            asked: each(lambda x: x[None], candidates),
            other: each(lambda x: x[:, None], given),
        }
        stored = [lambda indices, x=x: x[indices] for x in relation]
        vectors = Vectors(interaction, asked, [0, 1], [], stored, torch.tensor([0]), candidates)
        with torch.no_grad():
            theirs = interaction(r=each(lambda x: x[:, None], of_queries), **sides)
            ours = scores_of(vectors, vectors.query_vectors(given, of_queries), 0)
        width = 1e-4 if dtype == torch.float32 else 1e-11
        theirs = np.broadcast_to(theirs.numpy(), ours.shape)
        scale = max(1.0, float(np.abs(theirs).max()), float(np.abs(ours).max()))
        assert np.abs(centred(ours) - centred(theirs)).max() < width * scale


MODELS = (
    "autosf", "complex", "conve", "cp", "crosse", "distma", "distmult", "ermlpe", "hole", "mure",
    "pairre", "proje", "quate", "rescal", "rgcn", "rotate", "se", "simple", "transd", "transe",
    "transf", "transh", "transr", "tucker", "um",
)  # fmt: skip

# R-GCN makes its own inverse triples, and refuses those of a data set
CASES = [(name, number % 2 == 0 and name != "rgcn") for number, name in enumerate(MODELS)]


@pytest.mark.parametrize(("name", "inverse"), CASES)
@pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")  # from torch, for R-GCN
def test_models_score_as_they_predict(name: str, inverse: bool) -> None:
    model = trained(name, inverse=inverse, epochs=0)
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
                ours[some] = scores_of(vectors, vectors.queries(queries[some]), relation)
        scale = np.abs(theirs).max()
        assert np.abs(centred(ours) - centred(theirs)).max() < 1e-5 * scale
        if name == "transe":  # torch sums L1 norms in the same order
            np.testing.assert_array_equal(ours, theirs)


class Own(ERModel):  # type: ignore[misc]
    """A model that overrides how it scores.

    ---
    name: Own
    citation:
        author: Nobody
        year: 2000
        link: https://example.org
    """

    def score_t(self, *args: Any, **kwargs: Any) -> Any:
        return -super().score_t(*args, **kwargs)


def made_of(interaction: Any, kind: Any = ERModel, **options: Any) -> Any:
    more = {"shape": 4, **options.pop("vectors", {})}
    return kind(
        triples_factory=data_set("nations").training,
        interaction=interaction,
        interaction_kwargs=options.pop("made", None),
        entity_representations_kwargs=more,
        relation_representations_kwargs=more,
        random_seed=0,
        **options,
    ).eval()


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (lambda: trained("convkb", epochs=0), "ConvKBInteraction with its settings is no dot"),
        (lambda: made_of("distmult", predict_with_sigmoid=True), "predict_with_sigmoid"),
        (lambda: made_of("distmult", Own), "or has a score_t of its own"),
        (lambda: made_of("transe", made={"p": 3}), "TransEInteraction with its settings"),
        (
            lambda: made_of("distmult", vectors={"dtype": torch.bfloat16}),
            "vectors of torch.bfloat16",
        ),
        (lambda: trained("distmult", epochs=0), "inductive mode 'training'"),
    ],
)
def test_reasons_not_to_use_vectors(model: Any, reason: str) -> None:
    mode = "training" if "mode" in reason else None
    made = model()
    with torch.no_grad():
        side = Task(data_set("nations").testing.mapped_triples.numpy(), entities=14).tail
        assert reason in str(vectors_of(made, side, mode))
    testing = data_set("nations").testing
    if mode is None:
        with pytest.raises(
            ValueError, match=r"^fused: expected a model whose heads can be .*, but"
        ):
            evaluate_model(made, testing, fused=True)


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
    with pytest.raises(ValueError, match=reason):
        evaluate_model(model, testing, sides=sides, fused=True)


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
