"""Toolkits' own ways beside truerank's: time, memory and values of the same job.

    python bench/studies/sockets.py [--only REGEX]

Each contestant runs in a process of its own. Prints a Markdown table: seconds, those of processors,
as others may keep them busy, too, and how much the process grows by at its peak, once the data are
drawn and the libraries are imported. What is not installed is left out.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the harness

import numpy as np
from pages import arguments, markdown_table

import truerank as tr
from harness.memory import PeakMemory

PROBES = 100_000
GALLERY = 10_000
USERS = 20_000
ITEMS = 50_000
QUERIES = 100_000
DOCUMENTS = 1_000_000
PROBES_AT_ONCE = 2_000  # whose scores numpy holds
USERS_AT_ONCE = 500  # whose scores numpy holds
Run = Callable[[], Iterable[float]]


# -- toolkits that bring torch ---------------------------------------------------------------------


def encoded() -> Any:
    """Return 20,000 documents and 1,000 queries of 128 numbers, as a model that encodes nothing."""
    import torch
    from mteb.models.model_meta import ScoringFunction
    from mteb.similarity_functions import cos_sim

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


def evaluated(evaluator: str) -> Run:
    """Prepare metrics of 1,000 queries with two relevant documents each."""
    model = encoded()
    metrics = ("ndcg@10", "mrr@10", "recall@10", "map@100")
    queries, documents = ({name: "" for name in model.names[key]} for key in "qd")
    right = {f"q{i}": {f"d{i}", f"d{19_999 - i}"} for i in range(1000)}
    evaluate = resolve_name(evaluator)(queries, documents, right)
    return lambda: map(evaluate(model).get, (f"cosine_{metric}" for metric in metrics))


def searched(wrapper: str, index: str = "") -> Run:
    """Prepare MTEB's search for the best 100 documents, and how often the right one is there."""
    from datasets import Dataset
    from mteb.models import search_wrappers

    search_wrappers.create_dataloader = lambda *_, **__: None  # there are no texts
    model = encoded()
    queries, documents = (Dataset.from_dict({"id": model.names[key]}) for key in "qd")
    made = resolve_name(wrapper)
    if index:
        made = made(model, 0, resolve_name(index)(model))
    else:
        made = made(model)
    options = dict.fromkeys(("task_metadata", "hf_split", "hf_subset"))
    options["encode_kwargs"] = {"show_progress_bar": False}

    def run() -> Iterable[float]:
        made.index(documents, **options)
        found = made.search(queries, top_k=100, **options)
        yield np.mean([f"d{name[1:]}" in listed for name, listed in found.items()])
        yield np.mean([max(listed.values()) for listed in found.values()])

    return run


# -- all items, the gallery, lists -----------------------------------------------------------------


def identified(contestant: str) -> Run:
    """Prepare success@1 and map of probes in a gallery, of two images a person, 512 numbers."""
    rng = np.random.default_rng(0)
    persons = rng.integers(0, GALLERY // 2, PROBES)
    centres = rng.standard_normal((GALLERY // 2, 512), np.float32)
    images = centres.repeat(2, 0) + 2 * rng.standard_normal((GALLERY, 512), np.float32)
    probes = centres[persons] + 2 * rng.standard_normal((PROBES, 512), np.float32)

    def count() -> Iterable[float]:
        rows = np.arange(PROBES).repeat(2)
        columns = (2 * persons[:, None] + [0, 1]).ravel()
        task = tr.retrieval.Task((rows, columns), entities=GALLERY)
        report = task.evaluate_embeddings(probes, images, similarity="dot")
        return report["success@1"], report["map"]

    def sort() -> Iterable[float]:
        places = []
        for start in range(0, PROBES, PROBES_AT_ONCE):
            block = slice(start, start + PROBES_AT_ONCE)
            order = np.argsort(-(probes[block] @ images.T), axis=1)
            places.append(np.nonzero(order // 2 == persons[block, None])[1].reshape(-1, 2))
        found = np.concatenate(places)
        return (found[:, 0] == 0).mean(), (np.arange(1, 3) / (found + 1)).mean()

    def first() -> Iterable[float]:
        import faiss

        index = faiss.IndexFlatIP(512)
        index.add(images)
        yield (index.search(probes, 1)[1][:, 0] // 2 == persons).mean()

    return {"truerank": count, "numpy, argsort": sort, "faiss, the first alone": first}[contestant]


def recommended(model: str, contestant: str) -> Run:
    """Prepare recall and nDCG at 20 and AUC of users and items of 64 numbers.

    A quarter of the users is known to the model that knows some, the other knows a little of all.
    """
    rng = np.random.default_rng(0)
    users, items = (rng.standard_normal((size, 64), np.float32) for size in (USERS, ITEMS))
    likes = np.empty((USERS, 12), np.int64)
    for start in range(0, USERS, USERS_AT_ONCE):
        scores = users[start : start + USERS_AT_ONCE] @ items.T
        tastes = scores + 2 * rng.standard_normal(scores.shape, np.float32)
        best = np.argpartition(-tastes, 12, axis=1)[:, :12]
        likes[start : start + USERS_AT_ONCE] = rng.permuted(best, axis=1)
    train = likes[:, :6]
    test = likes[:, 6:]
    rows = np.arange(USERS).repeat(6)
    noise = rng.standard_normal(users.shape, np.float32)
    known = np.arange(USERS)[:, None] % 4 == 0
    vectors = users + 2 * noise
    if model == "knows some":
        vectors = np.where(known, users, noise)

    def count(candidates: Any) -> Iterable[float]:
        filtered = {"train": (rows, train.ravel())}
        task = tr.retrieval.Task(
            (rows, test.ravel()), entities=ITEMS, known=filtered, candidates=candidates
        )
        report = task.evaluate_embeddings(vectors, items, similarity="dot")
        return report[["recall@20", "ndcg@20", "auc"]].values()

    def sort() -> Iterable[float]:
        hits = []
        for start in range(0, USERS, USERS_AT_ONCE):
            block = slice(start, start + USERS_AT_ONCE)
            scores = vectors[block] @ items.T
            np.put_along_axis(scores, train[block], -np.inf, axis=1)
            best = np.argpartition(-scores, 20, axis=1)[:, :20]
            hits.append((best[:, :, None] == test[block, None, :]).any(axis=1).mean(axis=1))
        yield np.concatenate(hits).mean()

    drawn = partial(count, tr.retrieval.Sampled(99, seed=0))
    calls = {"all": partial(count, "all"), "99 drawn": drawn, "numpy, argpartition": sort}
    return calls[contestant]


METRICS = {  # ours, trec_eval's, ranx's
    "truerank": "map ndcg mrr r_precision recall@10 precision@10 success@10 ndcg@10",
    "pytrec_eval": "map ndcg recip_rank Rprec recall_10 P_10 success_10 ndcg_cut_10",
    "ranx": "map ndcg mrr r-precision recall@10 precision@10 hit_rate@10 ndcg@10",
}


def listed(contestant: str) -> Run:
    """Prepare metrics of lists of 100 documents, six of the ten right ones among them; no ties."""
    rng = np.random.default_rng(0)
    library = contestant.split(",")[0]
    names = METRICS[library].split()
    steps = rng.integers(1, DOCUMENTS // 200, (QUERIES, 100))
    ids = (rng.integers(0, DOCUMENTS, (QUERIES, 1)) + np.cumsum(steps, axis=1)) % DOCUMENTS
    scores = np.cumsum(0.5 + rng.random((QUERIES, 100), np.float32), axis=1)[:, ::-1].copy()
    places = rng.random((QUERIES, 100), np.float32).argpartition(6, axis=1)[:, :6]
    beyond = (ids[:, -1:] + 1 + np.arange(4) * 7) % DOCUMENTS  # half of all are not in the list
    right = np.concatenate([np.take_along_axis(ids, places, 1), beyond], axis=1)

    def count() -> Iterable[float]:
        pairs = np.arange(QUERIES).repeat(10), right.ravel()
        task = tr.retrieval.Task(pairs, entities=DOCUMENTS)
        return task.evaluate_lists(tr.TopK(ids, scores))[names].values()

    if library == "truerank":
        return count
    peer = resolve_name(library)
    if contestant == "ranx, arrays":  # of pairs (id, score), whose lists must be sorted already
        qrels = np.stack([right, np.ones_like(right)], axis=2).astype(np.float64)
        run = np.stack([ids, scores], axis=2).astype(np.float64)
        peer.evaluate(qrels[:2], run[:2], names)  # numba compiles
        return lambda: peer.evaluate(qrels, run, names).values()
    found = {}
    judged = {}
    for i, (row, of_row, rights) in enumerate(zip(ids, scores.tolist(), right, strict=True)):
        found[str(i)] = dict(zip(map(str, row), of_row, strict=True))
        judged[str(i)] = dict.fromkeys(map(str, rights), 1)
    if library == "ranx":
        few = ({"0": table["0"]} for table in (judged, found))
        peer.evaluate(
            *(kind(x) for kind, x in zip((peer.Qrels, peer.Run), few, strict=True)), names
        )
        return lambda: peer.evaluate(peer.Qrels(judged), peer.Run(found), names).values()
    evaluator = peer.RelevanceEvaluator(judged, {name.replace("_10", ".10") for name in names})

    def means() -> Iterable[float]:
        values = evaluator.evaluate(found).values()
        return [np.mean([one[name] for one in values]) for name in names]

    return means


WRAPPER = "mteb.models.search_wrappers:SearchEncoderWrapper"
OURS = "truerank.adapters"
CONTESTANTS: dict[str, Callable[[], Run]] = {
    "InformationRetrievalEvaluator": partial(
        evaluated,
        "sentence_transformers.sentence_transformer.evaluation:InformationRetrievalEvaluator",
    ),
    "RankEvaluator": partial(evaluated, f"{OURS}.sentence_transformers:RankEvaluator"),
    "SearchEncoderWrapper": partial(searched, WRAPPER),
    "SearchEncoderWrapper, FaissSearchIndex": partial(
        searched, WRAPPER, "mteb.models.search_encoder_index:FaissSearchIndex"
    ),
    "SearchEncoderWrapper, ExactSearchIndex": partial(
        searched, WRAPPER, f"{OURS}.mteb:ExactSearchIndex"
    ),
    "ExactSearchEncoder": partial(searched, f"{OURS}.mteb:ExactSearchEncoder"),
    **{
        f"identification: {contestant}": partial(identified, contestant)
        for contestant in ("truerank", "numpy, argsort", "faiss, the first alone")
    },
    **{
        f"recommender that {model}: {contestant}": partial(recommended, model, contestant)
        for model in ("knows some", "knows a little")
        for contestant in ("all", "99 drawn", "numpy, argpartition")
    },
    **{
        f"lists: {contestant}": partial(listed, contestant)
        for contestant in ("truerank", "pytrec_eval", "ranx", "ranx, arrays")
    },
}


def measure(name: str) -> list[object] | str:
    """Run a contestant; return its line, or the library that is missing."""
    try:
        run = CONTESTANTS[name]()
    except ImportError as error:
        return str(error)
    memory = PeakMemory()
    start = time.perf_counter()
    busy = time.process_time()
    values = ", ".join(f"{value:.7g}" for value in run())
    seconds = f"{time.perf_counter() - start:.2f}"
    busy_seconds = f"{time.process_time() - busy:.2f}"
    return [name, seconds, busy_seconds, round((memory.growth() or 0) / 1e6), values]


if __name__ == "__main__":
    only = arguments(__doc__, only="")["only"]
    rows = []
    for contestant in (name for name in CONTESTANTS if re.search(only, name)):
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            line = pool.submit(measure, contestant).result()
        if isinstance(line, str):
            print(f"{contestant}: {line}", file=sys.stderr)
        else:
            rows.append(line)
    print(markdown_table("contestant | seconds | of processors | MB | values", rows))
