"""ExactSearchIndex and ExactSearchEncoder beside MTEB's own search, on a made task."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

mteb = pytest.importorskip("mteb", reason="an index of MTEB")
datasets = pytest.importorskip("datasets", reason="an index of MTEB")

from mteb.abstasks import AbsTaskRetrieval  # noqa: E402
from mteb.models import (  # noqa: E402
    MultiVectorWrapper,
    SearchEncoderWrapper,
    SentenceTransformerEncoderWrapper,
)
from sentence_transformers import SentenceTransformer, util  # noqa: E402
from sentence_transformers.sentence_transformer.modules import BoW  # noqa: E402

from support.refusals import refusal, refused  # noqa: E402
from support.token_model import token_model  # noqa: E402
from truerank.adapters.mteb import ExactSearchEncoder, ExactSearchIndex  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

WORDS = [f"w{i}" for i in range(60)]
FIELDS = {"category": "t2t", "modalities": ["text"], "eval_langs": ["eng-Latn"], "reference": None}
FIELDS |= {"eval_splits": ["test"], "dataset": {"path": "made/made", "revision": "1"}}
FIELDS |= {"name": "Made", "description": "made", "main_score": "ndcg_at_10"}
FIELDS |= dict.fromkeys(("date", "domains", "task_subtypes", "license", "dialect"))
FIELDS |= {"annotations_creators": None, "sample_creation": None, "bibtex_citation": ""}


def made_task(kind: str = "Retrieval") -> Any:
    """Documents of twelve words and queries of three of them, two right answers for each."""
    rng = np.random.default_rng(0)
    documents = [rng.choice(WORDS, 12) for _ in range(150)]
    texts = {f"d{i}": " ".join(words) for i, words in enumerate(documents)}
    queries = {f"q{i}": " ".join(documents[i][:3]) for i in range(40)}
    right = {f"q{i}": {f"d{i}": 1, f"d{149 - i}": 1} for i in range(40)}
    rerank = {f"q{i}": [f"d{j}" for j in range(i, 150, 7)] + [f"d{149 - i}"] for i in range(40)}

    class Made(AbsTaskRetrieval):  # type: ignore[misc]
        metadata = mteb.TaskMetadata(**FIELDS, type=kind)

        def load_data(self, **_: Any) -> None:
            corpus, asked = (
                datasets.Dataset.from_dict({"id": list(rows), "text": list(rows.values())})
                for rows in (texts, queries)
            )
            found = {"corpus": corpus, "queries": asked, "relevant_docs": right}
            found["top_ranked"] = rerank if kind == "Reranking" else None
            self.dataset = {"default": {"test": found}}
            self.data_loaded = True

    return Made()


def encoder(similarity: str) -> Any:
    """A bag of words, each of a random weight, so that few documents tie."""
    weights = np.random.default_rng(1).uniform(0.5, 2, len(WORDS)).tolist()
    bag = BoW(WORDS, dict(zip(WORDS, weights, strict=True)))
    model = SentenceTransformer(modules=[bag], similarity_fn_name=similarity)
    return SentenceTransformerEncoderWrapper(model)


def scores(model: Any, task: Any) -> dict[str, Any]:
    found = mteb.evaluate(model, task, cache=None, encode_kwargs={"show_progress_bar": False})
    values = found.task_results[0].scores["test"][0]
    return {name: value for name, value in values.items() if isinstance(value, float)}


@pytest.mark.parametrize(
    ("similarity", "kind"),
    [("cosine", "Retrieval"), ("dot", "Reranking"), ("euclidean", "Retrieval")],
)
def test_scores_are_those_of_mteb(similarity: str, kind: str) -> None:
    model = encoder(similarity)
    task = made_task(kind)
    ours = ExactSearchEncoder(model, threads=1)
    expected = scores(model, task)
    values = scores(ours, task)
    assert len(values) > 60
    assert 0.2 < values["main_score"] < 0.9
    assert values == pytest.approx(expected, abs=1e-9, nan_ok=True)
    assert len(ours.index_backend.tied) == 40
    wrapped = SearchEncoderWrapper(model, index_backend=ExactSearchIndex(model))
    assert scores(wrapped, task) == pytest.approx(expected, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("kind", ["Retrieval", "Reranking"])
def test_scores_of_token_vectors_are_those_of_mteb(kind: str) -> None:
    vectors = np.random.default_rng(3).normal(size=(len(WORDS), 16)).astype(np.float32)
    model = MultiVectorWrapper(token_model(WORDS, vectors, share=0.5))
    task = made_task(kind)
    ours = ExactSearchEncoder(model, threads=1)
    assert ours.index_backend.options["similarity"] == "maxsim"
    expected = scores(model, task)
    values = scores(ours, task)
    assert len(values) > 60
    assert 0.2 < values["main_score"] < 0.9
    assert values == pytest.approx(expected, abs=1e-9, nan_ok=True)
    assert not ours.index_backend.tied.any()


def test_lists_of_token_vectors_are_those_of_all_scores() -> None:
    rng = np.random.default_rng(4)
    queries = [rng.normal(size=(size, 8)).astype(np.float32) for size in (3, 1, 7)]
    documents = [rng.normal(size=(size, 8)).astype(np.float32) for size in rng.integers(1, 40, 30)]
    documents[20] = documents[4][::-1].copy()  # The order of tokens means nothing.
    matrix = util.maxsim(queries, documents).numpy()
    matrix[:, 20] = matrix[:, 4]  # torch sums them in its own order
    index = index_of("MaxSim", documents)
    found, ids = index.search(queries, 30)
    assert ids == np.argsort(-matrix, axis=1, kind="stable").tolist()
    assert found == pytest.approx(np.sort(-matrix) * -1, rel=1e-5)
    assert index.tied.all()
    index.clear()
    index.add_documents(documents[:2], ["a", "b"])
    assert index.search(queries, 1)[1] == matrix[:, :2].argmax(1, keepdims=True).tolist()


def test_documents_without_tokens_come_last() -> None:
    rng = np.random.default_rng(5)
    documents = [rng.normal(size=(size, 4)).astype(np.float32) for size in (2, 0, 3, 0, 1)]
    queries = [rng.normal(size=(3, 4)).astype(np.float32) for _ in range(6)]
    matrix = util.maxsim(queries, documents).numpy()
    index = index_of("MaxSim", documents[:1])
    index.clear()
    words = "^corpus: 2 of 5 documents, first 'b', have no tokens, and score -inf$"
    with pytest.warns(UserWarning, match=words):
        index.add_documents(documents, list("abcde"))
    order = np.argsort(-matrix, axis=1, kind="stable").tolist()
    for k in range(1, 6):
        found, ids = index.search(queries, k)
        assert ids == [row[:k] for row in order]
        assert index.tied.tolist() == [k > 3] * 6
    assert np.isneginf(found).sum(axis=1).tolist() == [2] * 6
    names = {f"q{i}": list("eb") if i else list("dba") for i in range(6)}
    numbers = {i: f"q{i}" for i in range(6)}
    found, ids = index.search(queries, 5, top_ranked=names, query_idx_to_id=numbers)
    assert ids == [[2, 0, 1], *[[0, 1]] * 5]
    assert index.tied.tolist() == [True, *[False] * 5]


def test_models_that_hide_their_vectors_are_refused() -> None:
    meta = SimpleNamespace(similarity_fn_name="MaxSim")
    refused(TypeError, "model", ExactSearchEncoder, SimpleNamespace(mteb_model_meta=meta))
    padded = np.zeros((12, 3, 4))
    message = refusal(TypeError, "MultiVectorWrapper", index_of, "MaxSim", padded)
    assert "ndarray of shape (9, 3, 4)" in message
    index = index_of("MaxSim", [np.ones((2, 4), np.float32)] * 12)
    refused(TypeError, "embeddings", index.search, padded, 3)


def index_of(similarity: str, documents: Any, **options: Any) -> ExactSearchIndex:
    meta = SimpleNamespace(similarity_fn_name=similarity)
    index = ExactSearchIndex(SimpleNamespace(mteb_model_meta=meta), **options)
    for some, names in ((documents[:9], range(9)), (documents[9:], range(9, len(documents)))):
        if names:
            index.add_documents(some, [f"d{i}" for i in names])
    return index


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean", "manhattan"])
def test_lists_are_those_of_all_scores(similarity: str) -> None:
    rng = np.random.default_rng(2)
    queries = rng.normal(size=(5, 8))
    documents = rng.normal(size=(30, 8))
    function = util.SimilarityFunction.to_similarity_fn(similarity)
    matrix = function(queries, documents).numpy()
    index = index_of(similarity, documents)
    found, ids = index.search(queries, 10, function)
    assert ids == np.argsort(-matrix)[:, :10].tolist()
    assert found == pytest.approx(np.sort(-matrix)[:, :10] * -1, rel=1e-6)
    assert not index.tied.any()
    names = {i: f"q{i}" for i in range(5)}
    listed = {f"q{i}": [f"d{j}" for j in rng.permutation(30)[: 4 * i]] for i in range(5)}
    found, ids = index.search(queries, 10, function, listed, names)
    for i, places in enumerate(ids):
        columns = [int(name[1:]) for name in listed[f"q{i}"]]
        assert places == np.argsort(-matrix[i, columns])[:10].tolist()
        assert found[i] == pytest.approx(np.sort(-matrix[i, columns])[:10] * -1, rel=1e-6)


def test_ties_within_a_list_and_at_its_end_are_told() -> None:
    documents = np.repeat(np.arange(12.0, 2, -1), [1, 1, 1, 2, 1, 1, 1, 1, 1, 1])[:, None]
    index = index_of("dot", documents)
    told = [index.search([[1.0]], k) and index.tied.tolist() for k in (3, 4, 5, 99)]
    assert told == [[False], [True], [True], [True]]
    found, ids = index.search(np.array([[1.0]]), 99)
    assert (len(found[0]), ids[0]) == (11, list(range(11)))


def test_nan_is_an_error_or_the_worst() -> None:
    first_is_nan = np.ones((10, 1))
    first_is_nan[0] = np.nan
    plain = index_of("dot", first_is_nan)
    refusal(ValueError, "row 0, column 0 is NaN", plain.search, [[1.0]], 2)
    worst = index_of("dot", first_is_nan, nan="worst")
    assert worst.search([[1.0]], 10)[1] == [[1, 2, 3, 4, 5, 6, 7, 8, 9, 0]]
    worst.clear()
    refusal(ValueError, "documents, added before", worst.search, [[1.0]], 2)
    refused(ValueError, "model", index_of, "jaccard", first_is_nan)
