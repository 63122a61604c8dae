"""Toolkits that bring torch: their own way beside ours, time and memory.

    python bench/studies/torch_sockets.py

Prints a Markdown table: seconds of processors, as others may keep them busy, too, and how much the
process grows by at its peak, once the data are drawn.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the harness

import numpy as np
import torch
from datasets import Dataset
from mteb.models import search_wrappers
from mteb.models.model_meta import ScoringFunction
from mteb.models.search_encoder_index import FaissSearchIndex
from mteb.similarity_functions import cos_sim
from pages import markdown_table
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
from pytorch_metric_learning.utils.inference import FaissKNN
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
from torch_geometric.metrics import LinkPredMAP, LinkPredMetricCollection, LinkPredRecall
from torch_geometric.nn import MIPSKNNIndex, RotatE

from harness.memory import PeakMemory
from truerank.adapters.mteb import ExactSearchEncoder, ExactSearchIndex
from truerank.adapters.pyg import ExactKNNIndex, evaluate_model
from truerank.adapters.pytorch_metric_learning import ExactKNN
from truerank.adapters.sentence_transformers import RankEvaluator

METRICS = ("precision_at_1", "r_precision", "mean_average_precision_at_r")
Run = Callable[[], Iterable[float]]


def accuracies(function: Any) -> Run:
    """Prepare the accuracies of 20,000 vectors of 128 numbers, of 500 classes."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 500, 20_000)
    vectors = rng.normal(size=(500, 128))[labels] + 2 * rng.normal(size=(20_000, 128))
    calculator = AccuracyCalculator(METRICS, k="max_bin_count", knn_func=function)
    return lambda: calculator.get_accuracy(vectors, labels).values()


def top_20(index: Any) -> Run:
    """Prepare metrics of 10,000 users, 100,000 items of 64 numbers, and 300,000 train links."""
    rng = np.random.default_rng(0)
    items, likes = rng.normal(size=(100_000, 64)), rng.integers(0, 100_000, (10_000, 5))
    users = items[likes].sum(axis=1) + 3 * rng.normal(size=(10_000, 64))
    emb = [torch.from_numpy(x).float() for x in (users, items)]
    rows = np.arange(10_000).repeat(rng.geometric(1 / 30, 10_000))
    train = torch.from_numpy(np.stack([rows, rng.integers(0, 100_000, len(rows))]))
    right = torch.from_numpy(np.stack([np.arange(10_000).repeat(5), likes.ravel()]))
    metrics = LinkPredMetricCollection([LinkPredMAP(20), LinkPredRecall(20)])

    def run() -> Iterable[float]:
        metrics.update(index(emb[1]).search(emb[0], 20, train).index, right)
        return map(float, metrics.compute().values())

    return run


def tails(**options: Any) -> Run:
    """Prepare mean rank (from 0), mrr and hits@10 of 100 tails among 14,541 entities by RotatE."""
    torch.manual_seed(0)
    model = RotatE(14_541, 237, 200)
    columns = [torch.randint(n, (100,)) for n in (14_541, 237, 14_541)]
    if not options:
        return lambda: model.test(*columns, batch_size=14_541, log=False)

    def run() -> Iterable[float]:
        report = evaluate_model(model, torch.stack(columns, 1).numpy(), **options)
        return report["mr"] - 1, report["mrr"], report["hits@10"]

    return run


def encoded() -> Any:
    """Return 20,000 documents and 1,000 queries of 128 numbers, as a model that encodes nothing."""
    rng = np.random.default_rng(0)
    documents = rng.normal(size=(20_000, 128))
    queries = documents[:1000] + 3 * rng.normal(size=(1000, 128))
    arrays = {"q": queries, "d": documents}
    vectors = {name: torch.from_numpy(x).float() for name, x in arrays.items()}
    return SimpleNamespace(
        similarity_fn_name="cosine",
        similarity=cos_sim,
        encode_query=lambda *_, **__: vectors["q"],
        encode_document=lambda *_, **__: vectors["d"],
        encode=lambda *_, prompt_type, **__: vectors[prompt_type.value[0]],
        mteb_model_meta=SimpleNamespace(similarity_fn_name=ScoringFunction.COSINE),
        model_card_data=SimpleNamespace(set_evaluation_metrics=lambda *_: None),
        names={name: [f"{name}{i}" for i in range(len(x))] for name, x in vectors.items()},
    )


def evaluated(kind: Any) -> Run:
    """Prepare metrics of 1,000 queries with two relevant documents each."""
    model, metrics = encoded(), ("ndcg@10", "mrr@10", "recall@10", "map@100")
    queries, documents = ({name: "" for name in model.names[key]} for key in "qd")
    right = {f"q{i}": {f"d{i}", f"d{19_999 - i}"} for i in range(1000)}
    evaluator = kind(queries, documents, right)
    return lambda: map(evaluator(model).get, (f"cosine_{metric}" for metric in metrics))


def searched(wrap: Any) -> Run:
    """Prepare MTEB's search for the best 100 documents, and how often the right one is there."""
    search_wrappers.create_dataloader = lambda *_, **__: None  # there are no texts
    model = encoded()
    queries, documents = (Dataset.from_dict({"id": model.names[key]}) for key in "qd")
    wrapper, options = wrap(model), dict.fromkeys(("task_metadata", "hf_split", "hf_subset"))
    options["encode_kwargs"] = {"show_progress_bar": False}

    def run() -> Iterable[float]:
        wrapper.index(documents, **options)
        found = wrapper.search(queries, top_k=100, **options)
        yield np.mean([f"d{name[1:]}" in listed for name, listed in found.items()])
        yield np.mean([max(listed.values()) for listed in found.values()])

    return run


CONTESTANTS: dict[str, Callable[[], Run]] = {
    "AccuracyCalculator, FaissKNN": lambda: accuracies(FaissKNN()),
    "AccuracyCalculator, ExactKNN": lambda: accuracies(ExactKNN()),
    "LinkPredMetric, MIPSKNNIndex": lambda: top_20(MIPSKNNIndex),
    "LinkPredMetric, ExactKNNIndex": lambda: top_20(ExactKNNIndex),
    "RotatE.test": tails,
    "evaluate_model": lambda: tails(sides=["tail"]),
    "evaluate_model, fused=False": lambda: tails(sides=["tail"], fused=False),
    "InformationRetrievalEvaluator": lambda: evaluated(InformationRetrievalEvaluator),
    "RankEvaluator": lambda: evaluated(RankEvaluator),
    "SearchEncoderWrapper": lambda: searched(search_wrappers.SearchEncoderWrapper),
    "SearchEncoderWrapper, FaissSearchIndex": lambda: searched(
        lambda model: search_wrappers.SearchEncoderWrapper(model, 0, FaissSearchIndex(model))
    ),
    "SearchEncoderWrapper, ExactSearchIndex": lambda: searched(
        lambda model: search_wrappers.SearchEncoderWrapper(model, 0, ExactSearchIndex(model))
    ),
    "ExactSearchEncoder": lambda: searched(ExactSearchEncoder),
}

if __name__ == "__main__":
    rows = []
    for name, prepare in CONTESTANTS.items():
        run, memory, start = prepare(), PeakMemory(), time.process_time()
        values = ", ".join(f"{value:.7g}" for value in run())
        seconds = f"{time.process_time() - start:.2f}"
        rows.append([name, seconds, round((memory.growth() or 0) / 1e6), values])
    print(markdown_table("contestant | processor seconds | MB | values", rows))
