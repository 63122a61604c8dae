"""RankEvaluator beside InformationRetrievalEvaluator, called and in a trainer."""

from __future__ import annotations

import itertools
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sentence_transformers", reason="an evaluator of sentence-transformers")
torch = pytest.importorskip("torch", reason="an evaluator of sentence-transformers")

from sentence_transformers import SentenceTransformer, util  # noqa: E402
from sentence_transformers.multi_vector_encoder.evaluation import (  # noqa: E402
    MultiVectorInformationRetrievalEvaluator as MaxSimEvaluator,
)
from sentence_transformers.sentence_transformer import evaluation, modules  # noqa: E402
from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: E402

from support.refusals import refusal, refused  # noqa: E402
from support.token_model import token_model  # noqa: E402
from truerank.adapters.sentence_transformers import RankEvaluator  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

rng = np.random.default_rng(0)
WORDS = [f"w{i}" for i in range(300)]
LISTS = [rng.choice(WORDS, size).tolist() for size in rng.integers(3, 25, 200)]
CORPUS = {f"d{i}": " ".join(words) for i, words in enumerate(LISTS)}
QUERIES = {f"q{i}": " ".join(LISTS[i][:3]) for i in range(50)}
QRELS = {f"q{i}": {f"d{i}"} | {f"d{j}" for j in range(150, 150 + i % 7)} for i in range(48)}
DATA = QUERIES, CORPUS, {**QRELS, "q48": set()}
ADDED = ("ndcg@10_low", "ndcg@10_high", "first_rank_mean", "first_rank_median")


def static_model(similarity: str = "cosine") -> SentenceTransformer:
    """Made on the spot: a vector for each word, and their mean for a text."""
    torch.manual_seed(0)
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, WORDS[0]))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    embedding = modules.StaticEmbedding(words, embedding_dim=24)
    return SentenceTransformer(modules=[embedding], similarity_fn_name=similarity, device="cpu")


def first_ranks(scores: Any) -> list[int]:
    """Return the rank of the first right document for each of the queries that have one."""
    right = [[int(name[1:]) for name in names] for names in QRELS.values()]
    return [(row > row[of].max()).sum().item() + 1 for row, of in zip(scores, right, strict=True)]


def beside(model: Any, folder: Path, **options: Any) -> tuple[dict[str, float], RankEvaluator]:
    """Check names, values and files of both evaluators; return the added values and ours."""
    cutoffs = {"mrr_at_k": [3, 10], "ndcg_at_k": [5, 10], "map_at_k": [2, 100]}
    evaluator = evaluation.InformationRetrievalEvaluator
    if not isinstance(model, SentenceTransformer):
        evaluator = MaxSimEvaluator
    theirs = evaluator(*DATA, **cutoffs, **options, write_predictions=True)
    ours = RankEvaluator(*DATA, **cutoffs, threads=1, **options)
    for _ in range(2):  # nothing is left of the first time
        expected = theirs(model, str(folder / "theirs"), epoch=1)
        values = ours(model, str(folder / "ours"), epoch=1)
    added = {name: values.pop(name) for name in list(values) if name.endswith(ADDED)}
    assert list(values) == list(expected)
    assert values == pytest.approx(expected, abs=1e-12)
    assert ours.primary_metric == theirs.primary_metric
    files = [tmp / ours.csv_file for tmp in (folder / "ours", folder / "theirs")]
    assert len({file.read_text().partition("\n")[0] for file in files}) == 1
    rows, written = (np.loadtxt(file, delimiter=",", skiprows=1) for file in files)
    assert rows == pytest.approx(written, abs=1e-12)
    assert theirs.description.endswith(ours.description)
    lists: dict[str, dict[str, float]] = {}
    for line in next((folder / "theirs").glob("*.jsonl")).read_text().splitlines():
        query = json.loads(line)
        lists[query["query_id"]] = {hit["corpus_id"]: hit["score"] for hit in query["results"]}
    if len(ours.reports) == 1:
        report = ours.task.evaluate_lists(lists)
        for key in ("ndcg@10", "map_min@100", "mrr@3"):
            assert ours.report.per_query(key) == pytest.approx(report.per_query(key), abs=1e-12)
    return added, ours


@pytest.mark.parametrize("similarity", ["cosine", "manhattan"])
def test_values_are_those_of_sentence_transformers(similarity: str, tmp_path: Path) -> None:
    model = static_model(similarity)
    added, evaluator = beside(model, tmp_path, name="made")
    report = evaluator.report
    prefix = f"made_{similarity}_"
    assert report.queries == list(QRELS)
    queries = model.encode(list(QUERIES.values())[:48])
    scores = model.similarity(queries, model.encode(list(CORPUS.values())))
    first = first_ranks(scores)
    assert evaluator.first_ranks().tolist() == first
    interval = report.interval("ndcg@10")
    low = interval.low
    high = interval.high
    expected = dict(zip(ADDED, (low, high, np.mean(first), np.median(first)), strict=True))
    assert added == {f"{prefix}{name}": value for name, value in expected.items()}
    assert (report.ranks.protocol.split, low < report["ndcg@10"] < high) == ("made", True)


def test_several_score_functions_and_given_embeddings(tmp_path: Path) -> None:
    functions = {"dot": util.dot_score, "own": lambda a, b: -(torch.cdist(a, b) ** 3)}
    model = static_model()
    added, evaluator = beside(model, tmp_path, score_functions=functions, truncate_dim=8)
    assert list(evaluator.reports) == ["dot", "own"]
    assert len(added) == 8
    best = max(evaluator.reports.values(), key=lambda report: report["ndcg@10"])
    assert evaluator.report is best
    main = RankEvaluator(
        *DATA, score_functions={"cosine": util.cos_sim}, main_score_function="cosine"
    )
    other = static_model("dot").train(False)
    vectors = 2 * model.encode(list(CORPUS.values()), convert_to_tensor=True)
    values = main(model, corpus_embeddings=vectors)
    assert main(model, corpus_model=other) == values
    assert main.report is main.reports["cosine"]


def test_ties_are_the_mean_over_their_orders() -> None:
    corpus = {"a": "red", "b": "red", "c": "red", "d": "blue"}
    model = SentenceTransformer(modules=[modules.BoW(["red", "blue"])], device="cpu")
    evaluator = RankEvaluator({1: "red", 2: "blue"}, corpus, {1: ["b"], 2: ["d"]})
    values = evaluator(model)
    assert values["cosine_mrr@10"] == pytest.approx((11 / 18 + 1) / 2)
    assert evaluator.first_ranks().tolist() == [2, 1]
    assert evaluator.report["optimistic.mrr@10"] == 1
    assert evaluator.report.queries == [1, 2]  # as they came


def test_models_with_a_vector_for_each_token(tmp_path: Path) -> None:
    vectors = rng.normal(size=(300, 16)).astype(np.float32)
    model = token_model(WORDS, vectors, share=0.5)
    added, evaluator = beside(model, tmp_path, name="made")
    assert [*added] == [f"made_maxsim_{name}" for name in ADDED]
    protocol = evaluator.report.ranks.protocol
    assert (protocol.similarity, protocol.split) == ("maxsim", "made")
    queries = model.encode_query(list(QUERIES.values()))
    documents = model.encode_document(list(CORPUS.values()))
    assert len({len(tokens) for tokens in documents}) > 15
    scores = model.similarity(queries[:48], documents).double().numpy()
    assert evaluator.first_ranks() == pytest.approx(first_ranks(scores))
    ranks = evaluator.report.ranks
    for given in (documents, [tokens.numpy() for tokens in documents]):
        evaluator(model, corpus_embeddings=given)
        assert (evaluator.report.ranks.above == ranks.above).all()
    other = token_model(WORDS, vectors, share=0.25)
    evaluator(model, corpus_model=other)
    documents = other.encode_document(list(CORPUS.values()))
    scores = model.similarity(queries[:48], documents).double().numpy()
    assert evaluator.first_ranks() == pytest.approx(first_ranks(scores))


@pytest.mark.parametrize("prompt", [{"query_prompt": "w7 w8 "}, {"corpus_prompt": "w9 "}])
def test_the_mean_of_maxima_and_prompts(prompt: dict[str, str], tmp_path: Path) -> None:
    model = token_model(WORDS, rng.normal(size=(300, 16)).astype(np.float32), share=0.5)
    model.similarity_fn_name = "meanmaxsim"
    added, _ = beside(model, tmp_path, **prompt)
    assert [*added] == [f"meanmaxsim_{name}" for name in ADDED]
    functions = {"maxsim": util.maxsim, "meanmaxsim": util.mean_maxsim}
    _, evaluator = beside(model, tmp_path / "both", score_functions=functions, **prompt)
    reports = evaluator.reports
    assert (reports["maxsim"].ranks.above == reports["meanmaxsim"].ranks.above).all()


def test_ties_of_tokens_are_the_mean_over_the_orders_of_names() -> None:
    texts = ("red blue", "blue red", "red blue blue", "blue", "green")
    model = token_model(["red", "blue", "green"], np.eye(3, dtype=np.float32))
    expected = []
    for names in itertools.permutations("abcde"):
        corpus = dict(sorted(zip(names, texts, strict=True)))
        relevant = {1: {names[1], names[3]}, 2: {names[2]}}
        data = {1: "red blue", 2: "green"}, corpus, relevant
        expected.append(MaxSimEvaluator(*data)(model))
    values = RankEvaluator(*data)(model)
    for name in expected[0]:
        mean = np.mean([value[name] for value in expected])
        assert values[name] == pytest.approx(mean, abs=1e-12)


def test_in_a_trainer(tmp_path: Path) -> None:
    pytest.importorskip("accelerate", reason="trainers of sentence-transformers")
    import datasets
    from sentence_transformers import SentenceTransformerTrainer as Trainer
    from sentence_transformers import SentenceTransformerTrainingArguments as Arguments
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    model = static_model()
    evaluator = RankEvaluator(*DATA, name="dev")
    pairs = {"anchor": list(QUERIES.values()), "positive": list(CORPUS.values())[:50]}
    options = {"report_to": "none", "disable_tqdm": True, "use_cpu": True, "num_train_epochs": 1}
    trainer = Trainer(
        model=model,
        args=Arguments(str(tmp_path), **options),
        train_dataset=datasets.Dataset.from_dict(pairs),
        loss=MultipleNegativesRankingLoss(model),
        evaluator=evaluator,
    )
    trainer.train()
    found = trainer.evaluate()
    report = evaluator.report
    assert found["eval_dev_cosine_ndcg@10"] == report["ndcg@10"]
    assert found["eval_dev_cosine_ndcg@10_low"] == report.interval("ndcg@10").low


def test_errors() -> None:
    refused(ValueError, "write_predictions", RankEvaluator, *DATA, write_predictions=True)
    refused(ValueError, "nan", RankEvaluator, *DATA, nan="first")
    refusal(ValueError, "d999", RankEvaluator, QUERIES, CORPUS, {"q1": {"d999"}})
    call = RankEvaluator(*DATA), static_model()
    refusal(ValueError, "is NaN", *call, corpus_embeddings=torch.full((200, 24), torch.nan))
    model = token_model(WORDS, rng.normal(size=(300, 16)).astype(np.float32))
    refused(ValueError, "truncate_dim", RankEvaluator(*DATA, truncate_dim=8), model)
    for functions in ({"cosine": util.cos_sim}, {"maxsim": util.maxsim, "own": torch.matmul}):
        call = (RankEvaluator(*DATA, score_functions=functions), model)
        refused(ValueError, "score_functions", *call)
    refused(
        TypeError, "entities", RankEvaluator(*DATA), model, corpus_embeddings=torch.ones(2, 3, 4)
    )


@pytest.mark.filterwarnings("default")
def test_documents_without_tokens_score_least_as_theirs_do() -> None:
    model = token_model(WORDS, rng.normal(size=(300, 16)).astype(np.float32), share=0.5)
    corpus = {**CORPUS, "d7": "unknown", "d199": "unknown"}
    expected = MaxSimEvaluator(QUERIES, corpus, QRELS)(model)
    ours = RankEvaluator(QUERIES, corpus, QRELS, threads=1)
    words = "^corpus: 2 of 200 documents, first 'd7', have no tokens, and score -inf$"
    with pytest.warns(UserWarning, match=words):
        values = ours(model)
    assert {name: values[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert ours.first_ranks()[7] == 199.5  # Both are last.
    plain = RankEvaluator(QUERIES, CORPUS, QRELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        plain(model)
