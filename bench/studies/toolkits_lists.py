"""Toolkits for queries, sampled negatives, retrieval and recommendation, run on given scores.

As in `toolkits_graphs`: models are replaced by the scores of a case. Documents are the columns,
named so that their order as strings is that of the columns.
"""

from __future__ import annotations

import collections
import copy
import logging
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from toolkit_code import Array, Case, Code, NotFoundError, Outcome, Toolkit

KS = (1, 3, 10)
NOT_FINITE = ("special", "sentinels")  # cases with NaN or infinite scores


class Rows:
    """A stand-in for the embeddings of queries: their product with any others is the scores."""

    def __init__(self, scores: Any) -> None:
        self.scores = scores

    def __matmul__(self, _: object) -> Any:
        return self.scores.clone()


@contextmanager
def on_the_processor(torch: Any) -> Iterator[None]:
    """Make `tensor.cuda()` the tensor itself, for code that asks for a GPU."""
    known = torch.Tensor.cuda
    torch.Tensor.cuda = lambda tensor, *_, **__: tensor
    try:
        yield
    finally:
        torch.Tensor.cuda = known


def documents(columns: int) -> list[str]:
    """Return names in the order of columns, also as strings."""
    return [f"d{j:05}" for j in range(columns)]


def names_of_queries(case: Case) -> list[str]:
    """Return a name for each task."""
    return [f"q{i:05}" for i in range(len(case.targets))]


def qrels_and_run(case: Case) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Return what is right and what was found, as dictionaries of names."""
    ids, queries = documents(case.scores.shape[1]), names_of_queries(case)
    qrels = {q: {ids[j]: 1} for q, j in zip(queries, case.targets.tolist(), strict=True)}
    rows = zip(queries, case.scores.tolist(), strict=True)
    return qrels, {q: dict(zip(ids, row, strict=True)) for q, row in rows}


# -- kbc, tkbc -------------------------------------------------------------------------------------


def kbc_space(torch: Any) -> dict[str, Any]:
    """Return what the modules of kbc and tkbc import."""
    types = dict.fromkeys(("Tuple", "List", "Dict"), dict)
    return {"torch": torch, "nn": torch.nn, "ABC": object, "abstractmethod": staticmethod, **types}


def kbc(code: Code, case: Case) -> Outcome:
    """Its evaluation of both sides: fact i has the i-th task of each half."""
    return both_sides(code, case, ("kbc", "248e931"), "KBCModel", "Dataset.eval")


def tkbc(code: Code, case: Case) -> Outcome:
    """As kbc; the time of fact i is i."""
    where = "tkbc", "8cf1934"
    return both_sides(code, case, where, "TKBCModel", "TemporalDataset.eval", time=True)


def both_sides(
    code: Code, case: Case, where: tuple[str, str], model: str, method: str, *, time: bool = False
) -> Outcome:
    """Run the evaluation of kbc or tkbc, and keep the ranks that it averages."""
    torch = code.package("torch")
    space, folder = kbc_space(torch), where[0]
    base = code.functions(*where, f"{folder}/models.py", model, space)[model]
    evaluate = code.functions(*where, f"{folder}/datasets.py", method, space)["eval"]
    join = code.functions("kbc", "248e931", "kbc/learn.py", "avg_both", space)["avg_both"]
    tails, heads = case.halves()
    facts = len(tails.targets)
    numbers = np.arange(facts)
    columns = [heads.targets, numbers, tails.targets, *([numbers] if time else [])]
    table = torch.from_numpy(np.concatenate([tails.scores, heads.scores]))
    kept = []

    class Given(base):  # type: ignore[misc]
        sizes = (table.shape[1], 2 * facts, table.shape[1])

        def get_rhs(self, chunk_begin: int, chunk_size: int) -> Any:
            return None

        def get_queries(self, queries: Any) -> Any:
            return Rows(table[queries[:, 1]])

        def score(self, x: Any) -> Any:
            return table[x[:, 1]].gather(1, x[:, 2:3])

        def get_ranking(self, *args: Any, **options: Any) -> Any:
            kept.append(super().get_ranking(*args, **options))
            return kept[-1]

    skip: dict[str, Any] = {}
    for side, half, subjects, first in (
        ("rhs", tails, heads.targets, 0),
        ("lhs", heads, tails.targets, facts),
    ):
        keys = np.stack([subjects, numbers + first, *([numbers] if time else [])], axis=1)
        pairs = zip(map(tuple, keys.tolist()), half.lists(), strict=True)
        skip[side] = {key: list(known) for key, known in pairs}
    dataset = SimpleNamespace(
        get_examples=lambda split: np.stack(columns, axis=1),
        n_predicates=2 * facts,
        to_skip=skip,
        events=None,
    )
    with on_the_processor(torch):
        found = join(*evaluate(dataset, Given(), "test"))
    hits = found["hits@[1,3,10]"].tolist()
    shown = {f"hits@{k}": value for k, value in zip(KS, hits, strict=True)}
    return Outcome(torch.cat(kept), {"MRR": found["MRR"], **shown})


def tkbc_intervals(code: Code, case: Case) -> Outcome:
    """Its ranking of facts with intervals, which takes NaN and infinities, too."""
    torch = code.package("torch")
    space, name = kbc_space(torch), "TKBCModel"
    base = code.functions("tkbc", "8cf1934", "tkbc/models.py", name, space)[name]
    table = torch.from_numpy(case.scores)
    targets = torch.from_numpy(case.targets)
    model = SimpleNamespace(
        sizes=(0, 0, table.shape[1]),
        get_queries=lambda queries: Rows(table),
        score=lambda queries: table.gather(1, targets[:, None]),
        get_rhs=lambda begin, size: None,
    )
    rows = torch.arange(len(targets))
    queries = torch.stack([rows, rows, targets, rows], dim=1)
    return Outcome(base.get_time_ranking(model, queries, case.lists()), {})


# -- KGReasoning -----------------------------------------------------------------------------------


def kgreasoning(code: Code, case: Case) -> Outcome:
    """Every query has one hard answer; for the ranks, it also has a structure of its own."""
    torch = code.package("torch")
    namespace = {"torch": torch, "collections": collections, "logging": logging}
    namespace["tqdm"] = lambda batches, disable: batches
    path, name = "models.py", "KGReasoning.test_step"
    step = code.functions("KGReasoning", "ec72849", path, name, namespace)["test_step"]
    tasks, columns = case.scores.shape
    pairs = zip(case.lists(), case.targets.tolist(), strict=True)
    easy = {i: {*known} - {target} for i, (known, target) in enumerate(pairs)}
    hard = {i: {target} for i, target in enumerate(case.targets.tolist())}
    args = SimpleNamespace(cuda=False, test_batch_size=0, print_on_screen=False, test_log_steps=9)

    class Given:
        nentity = columns

        def eval(self) -> None:
            pass

        def __call__(self, *_: Any) -> Any:
            return None, torch.from_numpy(case.scores), None, range(tasks)

    def evaluate(structures: list[Any]) -> Any:
        batch = (torch.zeros(1), [[i] for i in range(tasks)], list(range(tasks)), structures)
        return step.__func__(Given(), easy, hard, args, [batch], {})

    ranks = [1 / found["MRR"] for found in evaluate(list(range(tasks))).values()]
    numbers = dict(evaluate(["one"] * tasks)["one"])
    del numbers["num_queries"]
    return Outcome(np.round(ranks), numbers)


# -- TGB -------------------------------------------------------------------------------------------


def tgb(code: Code, case: Case) -> Outcome:
    """Its evaluator: the answers of a query are not among its negatives."""
    evaluator = code.package("tgb", "tgb.linkproppred.evaluate").Evaluator(name="tkgl-icews")
    columns = np.arange(case.scores.shape[1])
    pairs = zip(case.lists(), case.targets, strict=True)
    return tgb_numbers(evaluator, case, [np.delete(columns, [*known, j]) for known, j in pairs])


def tgb_numbers(evaluator: Any, case: Case, negatives: list[Array]) -> Outcome:
    """Evaluate one edge after the other, as its examples do."""
    found = []
    for row, target, others in zip(case.scores, case.targets, negatives, strict=True):
        one = {"y_pred_pos": row[target : target + 1], "y_pred_neg": row[others][None]}
        found.append(evaluator.eval({**one, "eval_metric": ["mrr", "hits@"]}))
    numbers = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
    return Outcome([np.round(2 / float(one["mrr"])) / 2 for one in found], numbers)


def tgb_negatives(code: Code, case: Case) -> Outcome:
    """The same with the negatives of TGB 2, from a file that it makes of the answers."""
    torch = code.package("torch")
    making = code.package("tgb", "tgb.linkproppred.tkg_negative_generator")
    reading = code.package("tgb", "tgb.linkproppred.tkg_negative_sampler")
    tasks, columns = case.scores.shape
    numbers = np.arange(tasks)  # of tasks, as sources and times; the relation is always 0
    sources, answers = np.nonzero(case.known)
    zeros = torch.zeros(len(sources), dtype=torch.int64)
    names = {"src": sources, "dst": answers, "t": sources}
    edges = SimpleNamespace(**{name: torch.from_numpy(x) for name, x in names.items()})
    edges.edge_type = zeros
    given = "given", 0, columns - 1, "time-filtered"
    with tempfile.TemporaryDirectory() as folder:
        generator = making.TKGNegativeEdgeGenerator(*given, partial_path=folder)
        generator.generate_negative_samples(edges, "test", folder)
        sampler = reading.TKGNegativeEdgeSampler(*given)
        sampler.load_eval_set(f"{folder}/given_test_ns.pkl", "test")
    none = np.zeros(tasks, np.int64)
    negatives = sampler.query_batch(numbers, case.targets, numbers, none, "test")
    evaluator = code.package("tgb", "tgb.linkproppred.evaluate").Evaluator(name="tkgl-icews")
    return tgb_numbers(evaluator, case, negatives)


# -- RecBole ---------------------------------------------------------------------------------------


class OldNumpy:
    """numpy as RecBole knows it: with `np.float`."""

    float = float

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def recbole(code: Code, case: Case) -> Outcome:
    """Its masks, its collector and its metrics; column 0 of its scores is padding."""
    torch = code.package("torch")
    where = "RecBole", "7b02be5"
    types = SimpleNamespace(RANKING=1, VALUE=2)
    space: dict[str, Any] = {"torch": torch, "np": OldNumpy(), "EvaluatorType": types}
    space |= code.functions(
        *where, "recbole/evaluator/base_metric.py", "AbstractMetric TopkMetric", space
    )
    space["Register"] = lambda config: SimpleNamespace(need=lambda name: name == "rec.topk")
    space["copy"] = copy
    names = "DataStruct Collector"
    parts = code.functions(*where, "recbole/evaluator/collector.py", names, space)
    names = "Hit MRR Recall NDCG Precision"
    metrics = code.functions(*where, "recbole/evaluator/metrics.py", names, space)
    path = "recbole/trainer/trainer.py"
    mask = code.functions(*where, path, "Trainer._full_sort_batch_eval", space)
    tasks, columns = case.scores.shape
    rows, targets = torch.arange(tasks), torch.from_numpy(case.targets)
    padded = torch.nn.functional.pad(torch.from_numpy(case.scores), (1, 0))
    history = np.zeros((tasks, columns + 1), bool)
    if case.known is not None:
        history[:, 1:] = case.known
    history[np.arange(tasks), case.targets + 1] = False
    model = SimpleNamespace(full_sort_predict=lambda interaction: padded)
    trainer = SimpleNamespace(model=model, device="cpu", tot_item_num=columns + 1)
    batch = torch.zeros(tasks), tuple(map(torch.from_numpy, np.nonzero(history))), rows, targets
    _, scores, _, _ = mask["_full_sort_batch_eval"](trainer, batch)

    def evaluate(k: int, names: str) -> dict[str, Any]:
        config = {
            "eval_args": {"mode": "full"},
            "topk": [k],
            "device": "cpu",
            "metric_decimal_place": 9,
        }
        collector = parts["Collector"](config)
        collector.eval_batch_collect(scores[:, 1:], None, rows, targets)
        data = collector.get_data_struct()
        found: dict[str, Any] = {}
        for name in names.split():
            metric = metrics[name](config)
            found |= metric.calculate_metric(data)
            if name == "MRR":
                found["ranks"] = 1 / metric.metric_info(metric.used_info(data)[0])[:, -1]
        return found

    numbers = evaluate(10, "Recall MRR NDCG Hit Precision")
    del numbers["ranks"]
    return Outcome(np.round(evaluate(columns, "MRR")["ranks"]), numbers)


# -- trec_eval, pytrec_eval ------------------------------------------------------------------------


def trec_eval(code: Code, case: Case) -> Outcome:
    """The program, built from the clone: FOLDER/trec_eval-build/trec_eval."""
    program = code.folder / "trec_eval-build" / "trec_eval"
    if not program.exists():
        raise NotFoundError(f"{program}: no such program")
    code.source("trec_eval", "f425365", "README")  # notes what the program is built from
    qrels, run = qrels_and_run(case)
    with tempfile.TemporaryDirectory() as name:
        paths = [Path(name) / "qrels", Path(name) / "run"]
        lines = [f"{q} 0 {d} {gain}" for q, row in qrels.items() for d, gain in row.items()]
        paths[0].write_text("\n".join(lines) + "\n")
        lines = [f"{q} Q0 {d} 0 {s!r} run" for q, row in run.items() for d, s in row.items()]
        paths[1].write_text("\n".join(lines) + "\n")
        command = [program, "-q", "-m", "recip_rank", *paths]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = {query: float(value) for _, query, value in map(str.split, output.splitlines())}
    ranks = [round(1 / found[query]) for query in qrels]  # four decimals tell 40 places apart
    return Outcome(ranks, {})


def pytrec_eval(code: Code, case: Case) -> Outcome:
    """The package: trec_eval in Python."""
    peer = code.package("pytrec_eval")
    qrels, run = qrels_and_run(case)
    names = {"recip_rank", "map", "success.1,5,10", "recall.5,10", "P.5,10", "ndcg_cut.5,10"}
    found = list(peer.RelevanceEvaluator(qrels, names).evaluate(run).values())
    numbers = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
    return Outcome([1 / one["recip_rank"] for one in found], numbers)


# -- MTEB, BEIR ------------------------------------------------------------------------------------


def mteb(code: Code, case: Case) -> Outcome:
    """The metrics of a retrieval task, from its dictionaries."""
    metrics = code.package("mteb", "mteb._evaluators.retrieval_metrics")
    qrels, run = qrels_and_run(case)
    ranks = 1 / np.array(metrics.mrr(qrels, run, [case.scores.shape[1]]).popitem()[1])
    ks = (1, 3, 5, 10, 20, 100, 1000)
    metrics.evaluate_abstention = lambda *_: {}  # slow, and no ranking
    metrics.round = lambda value, digits: value
    found = metrics.calculate_retrieval_scores(run, qrels, ks)
    numbers = metrics.make_score_dict(
        ndcg=found.ndcg, _map=found.map, recall=found.recall, precision=found.precision,
        mrr=found.mrr, naucs={}, naucs_mrr={}, hit_rate=found.hit_rate, task_scores={},
    )  # fmt: skip
    del numbers["accuracy"]
    return Outcome(np.round(ranks), numbers)


def mteb_2_18_18(code: Code, case: Case) -> Outcome:
    """Its mrr before ties had the order of the names."""
    space = {"defaultdict": collections.defaultdict}
    path = "mteb/_evaluators/retrieval_metrics.py"
    mrr = code.functions("mteb", "d23207f", path, "mrr", space)["mrr"]
    found = mrr(*qrels_and_run(case), [10, case.scores.shape[1]])
    ranks = 1 / np.array(found[f"MRR@{case.scores.shape[1]}"])
    return Outcome(np.round(ranks), {"mrr_at_10": float(np.mean(found["MRR@10"]))})


def beir(code: Code, case: Case) -> Outcome:
    """BEIR's own mrr, which gives a mean alone."""
    space = {"logging": logging}
    path = "beir/retrieval/custom_metrics.py"
    mrr = code.functions("beir", "ef83d29", path, "mrr", space)["mrr"]
    qrels, run = qrels_and_run(case)
    name = f"MRR@{case.scores.shape[1]}"
    whole = [case.scores.shape[1]]
    ranks = [1 / mrr({q: qrels[q]}, {q: run[q]}, whole)[name] for q in qrels]
    return Outcome(np.round(ranks), {})


# -- sentence-transformers -------------------------------------------------------------------------


class Encoder:
    """A model whose embeddings are the numbers of texts."""

    similarity_fn_name = "given"

    def __init__(self, torch: Any) -> None:
        self.torch = torch

    def encode(self, texts: list[str], **_: Any) -> Any:
        return self.torch.tensor([int(text) for text in texts])

    encode_query = encode_document = encode


def one_by_one(case: Case, evaluate: Callable[[list[int], int], dict[str, float]]) -> Outcome:
    """Evaluate single queries for the ranks, from an mrr of all columns, and all for numbers."""
    columns = case.scores.shape[1]
    ranks = [1 / evaluate([i], columns)["mrr"] for i in range(len(case.targets))]
    return Outcome(np.round(ranks), evaluate(list(range(len(case.targets))), 10))


def information_retrieval(code: Code, case: Case) -> Outcome:
    """Its evaluator, which reads the corpus in chunks of 16."""
    torch = code.package("torch")
    path = "sentence_transformers.sentence_transformer.evaluation"
    evaluation = code.package("sentence_transformers", path)
    return searched(torch, evaluation.InformationRetrievalEvaluator, case)


def searched(torch: Any, evaluator: Any, case: Case) -> Outcome:
    """Run an evaluator of retrieval with the scores of a case as similarities."""
    ids, queries = documents(case.scores.shape[1]), names_of_queries(case)
    table = torch.from_numpy(case.scores)

    def evaluate(tasks: list[int], k: int) -> dict[str, float]:
        found = {}
        for of_map in (100, k):  # its lists are as long as the longest: first all, then k
            found |= evaluator(
                queries={queries[i]: str(i) for i in tasks},
                corpus={name: str(j) for j, name in enumerate(ids)},
                relevant_docs={queries[i]: {ids[case.targets[i]]} for i in tasks},
                corpus_chunk_size=16,
                mrr_at_k=[k],
                map_at_k=[of_map],
                write_csv=False,
                score_functions={"given": lambda a, b: table[a][:, b]},
            ).compute_all_metrics(Encoder(torch))["given"]
            found[f"map of {of_map}"] = found.pop("map@k")
        if k != 10:
            return {"mrr": found["mrr@k"][k]}
        found["map@k"] = found["map of 100"]
        return {
            name.replace("@k", f"@{cut}"): float(value)
            for name, by_k in found.items()
            if "@" in name
            for cut, value in by_k.items()
        }

    return one_by_one(case, evaluate)


def information_retrieval_5(code: Code, case: Case) -> Outcome:
    """The evaluator before ties had the order of the names."""
    import heapq
    import os

    torch = code.package("torch")
    space: dict[str, Any] = {"torch": torch, "np": np, "heapq": heapq, "os": os}
    space |= {"trange": lambda *args, **_: range(*args[:3]), "logger": logging.getLogger("none")}
    space |= {"SentenceEvaluator": object, "Tensor": torch.Tensor}
    path = "sentence_transformers/evaluation/InformationRetrievalEvaluator.py"
    name = "InformationRetrievalEvaluator"
    base = code.functions("sentence-transformers", "v5.1.2", path, name, space)[name]

    class Evaluator(base):  # type: ignore[misc, valid-type]
        def compute_all_metrics(self, model: Any) -> Any:
            return self.compute_metrices(model)

    return searched(torch, Evaluator, case)


def reranking(code: Code, case: Case) -> Outcome:
    """Its evaluator, with the true candidate as the one positive of a sample."""
    torch = code.package("torch")
    path = "sentence_transformers.sentence_transformer.evaluation"
    evaluation = code.package("sentence_transformers", path)
    table = torch.from_numpy(case.scores)
    columns = case.scores.shape[1]

    def evaluate(tasks: list[int], k: int) -> dict[str, float]:
        samples = [
            {
                "query": str(i),
                "positive": [str(case.targets[i])],
                "negative": [str(j) for j in range(columns) if j != case.targets[i]],
            }
            for i in tasks
        ]
        found = evaluation.RerankingEvaluator(
            samples, at_k=k, write_csv=False, similarity_fct=lambda a, b: table[a][..., b]
        ).compute_metrics(Encoder(torch))
        return {"mrr" if k == columns else f"mrr@{k}": float(found["mrr"])}

    return one_by_one(case, evaluate)


def cross_encoder(code: Code, case: Case) -> Outcome:
    """The metrics of its evaluator, with the true candidate first."""
    path = "sentence_transformers.cross_encoder.evaluation"
    module = code.package("sentence_transformers", path)
    columns = case.scores.shape[1]

    def evaluate(tasks: list[int], k: int) -> dict[str, float]:
        evaluator = module.CrossEncoderRerankingEvaluator([], at_k=k, write_csv=False)
        values = []
        for i in tasks:
            row, target = case.scores[i], case.targets[i]
            ordered: Array = np.append(row[target], np.delete(row, target))
            values.append(evaluator.compute_metrics([1] + [0] * (columns - 1), ordered)[0])
        return {"mrr" if k == columns else f"mrr@{k}": float(np.mean(values))}

    return one_by_one(case, evaluate)


TOOLKITS = (
    Toolkit("kbc", "kbc", kbc),
    Toolkit("tkbc", "tkbc", tkbc, skips=NOT_FINITE),
    Toolkit("tkbc, get_time_ranking", "tkbc", tkbc_intervals),
    Toolkit("KGReasoning", "kgreasoning", kgreasoning),
    Toolkit("TGB", "tgb", tgb),
    Toolkit("TGB 2, with its negatives", "tgb", tgb_negatives, filters="always"),
    Toolkit("RecBole", "recbole", recbole),
    Toolkit("trec_eval", "trec_eval", trec_eval, filters="never"),
    Toolkit("pytrec_eval", "pytrec_eval", pytrec_eval, filters="never"),
    Toolkit("MTEB", "mteb", mteb, filters="never"),
    Toolkit("MTEB 2.18.18, mrr", "mteb-2.18.18", mteb_2_18_18, filters="never"),
    Toolkit("BEIR, custom mrr", "mteb-2.18.18", beir, filters="never"),
    Toolkit(
        "sentence-transformers, InformationRetrievalEvaluator",
        "sentence-transformers",
        information_retrieval,
        filters="never",
    ),
    Toolkit(
        "sentence-transformers 5.1.2, InformationRetrievalEvaluator",
        "sentence-transformers-5",
        information_retrieval_5,
        filters="never",
    ),
    Toolkit(
        "sentence-transformers, RerankingEvaluator",
        "sentence-transformers-reranking",
        reranking,
        filters="never",
        skips=NOT_FINITE,
    ),
    Toolkit(
        "sentence-transformers, CrossEncoderRerankingEvaluator",
        "sentence-transformers-cross-encoder",
        cross_encoder,
        filters="never",
        skips=NOT_FINITE,
    ),
)
