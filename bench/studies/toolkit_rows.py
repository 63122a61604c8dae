"""Toolkits, run on given scores: each is a row of `TOOLKITS`.

Models are replaced by the scores of a case: what remains is how a toolkit filters, ranks and
averages. Where a toolkit returns means alone, it is run on one task at a time for the ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from toolkit_code import Case, Code, Outcome, Toolkit, task_by_task, tensors


def pykeen(code: Code, case: Case) -> Outcome:
    """Its evaluator on masked scores; as it masks with NaN, a true NaN is given with the others."""
    torch, scores, targets = tensors(code, case)
    evaluation = code.package("pykeen", "pykeen.evaluation")
    masked = scores.clone()
    if case.known is not None:
        masked[torch.from_numpy(case.known)] = torch.nan
        masked[torch.arange(len(targets)), targets] = scores[torch.arange(len(targets)), targets]
    true_scores = scores.gather(1, targets[:, None])
    evaluator = evaluation.RankBasedEvaluator()
    triples = torch.zeros((len(targets), 3), dtype=torch.long)
    for side in ("head", "tail"):
        evaluator.process_scores_(triples, side, masked, true_scores)
    found = evaluator.finalize().to_flat_dict()
    names = ["arithmetic_mean_rank", "inverse_harmonic_mean_rank", "hits_at_1", "hits_at_10"]
    names.append("adjusted_arithmetic_mean_rank_index")
    ranks = evaluation.ranks.Ranks.from_scores(true_scores, masked)
    return Outcome(ranks.realistic, {n: found[f"both.realistic.{n}"] for n in names})


def libkge(code: Code, case: Case) -> Outcome:
    """Its filter, ranks, histogram and metrics, with its default tolerances."""
    torch = code.package("torch")
    job_name = "EntityRankingJob"
    methods = ["_filter_and_rank", "_get_ranks_and_num_ties", "_get_ranks", "_compute_metrics"]
    chosen = " ".join(f"{job_name}.{name}" for name in methods)
    names = code.functions(
        "kge",
        "04d0fba",
        "kge/job/eval_entity_ranking.py",
        f"{chosen} __initialize_hist hist_all",
        {"torch": torch},
    )
    columns = case.scores.shape[1]
    job = SimpleNamespace(
        tie_rtol=1e-4,
        tie_atol=1e-5,
        tie_handling="rounded_mean_rank",
        hits_at_k_s=[1, 3, 10],
        head_and_tail=False,
        device="cpu",
        config=SimpleNamespace(get=lambda name: "cpu"),
        dataset=SimpleNamespace(num_entities=lambda: columns),
    )
    for name in methods:
        setattr(job, name, partial(names[name], job))
    tails, heads = case.halves()
    blocks = [torch.from_numpy(part.scores.copy()) for part in (tails, heads)]
    true_scores = [
        block.gather(1, torch.from_numpy(part.targets)[:, None])[:, 0]
        for block, part in zip(blocks, (tails, heads), strict=True)
    ]
    labels = None
    if case.known is not None:
        both = []
        for part in (tails, heads):
            infinite = np.where(part.known, np.float32(np.inf), np.float32(0))
            infinite[np.arange(len(part.targets)), part.targets] = 0
            both.append(torch.from_numpy(infinite))
        labels = torch.cat(both, dim=1)
    s, s_ties, o, o_ties = job._filter_and_rank(*blocks, labels, *true_scores)[:4]
    s_ranks = job._get_ranks(s, s_ties)
    o_ranks = job._get_ranks(o, o_ties)
    histograms: dict[str, Any] = {}
    names["hist_all"](histograms, None, None, None, s_ranks, o_ranks, job)
    suffix = "_filtered" if case.known is not None else ""
    numbers = job._compute_metrics(histograms["all"], suffix)
    return Outcome(torch.cat([o_ranks, s_ranks]) + 1, numbers)


def ogb(commit: str, form: str) -> Callable[..., Outcome]:
    """Make a function that calls the evaluator of a commit on all other candidates."""

    def run(code: Code, case: Case) -> Outcome:
        torch, scores, targets = tensors(code, case)
        names = {"torch": torch, "np": np}
        path = "ogb/linkproppred/evaluate.py"
        evaluate = code.functions("ogb", commit, path, "Evaluator._eval_mrr", names)["_eval_mrr"]
        is_true = torch.nn.functional.one_hot(targets, scores.shape[1]).bool()
        pair = scores[is_true], scores[~is_true].view(len(scores), -1)
        if form == "numpy":
            pair = pair[0].numpy(), pair[1].numpy()
        lists = {k: np.asarray(v) for k, v in evaluate(None, *pair, form).items()}
        ranks = np.round(2 / lists["mrr_list"].astype(np.float64)) / 2
        return Outcome(ranks, {name: values.mean() for name, values in lists.items()})

    return run


def ogb_hits(code: Code, case: Case) -> Outcome:
    """The evaluator of shared negatives: a hit at k for each k gives the rank."""
    torch, scores, targets = tensors(code, case)
    names = {"torch": torch, "np": np}
    path = "ogb/linkproppred/evaluate.py"
    evaluate = code.functions("ogb", "1b89f1b", path, "Evaluator._eval_hits", names)["_eval_hits"]
    ranks = []
    for row, target in zip(scores, targets.tolist(), strict=True):
        others = torch.cat([row[:target], row[target + 1 :]])
        hits = [
            evaluate(SimpleNamespace(K=k), row[target : target + 1], others, "torch")[f"hits@{k}"]
            for k in range(1, len(others) + 1)
        ]
        hits.append(1.0)  # where no k is enough, the rank is the last
        ranks.append(hits.index(1.0) + 1)
    return Outcome(ranks, {})


def pytorch_geometric(code: Code, case: Case) -> Outcome:
    """A model whose score of (head, relation, tail) is that of a row and a column."""
    torch, scores, targets = tensors(code, case)
    base = code.package("torch_geometric", "torch_geometric.nn.kge").KGEModel

    class Given(base):  # type: ignore[misc, valid-type]
        def forward(self, head_index: Any, rel_type: Any, tail_index: Any) -> Any:
            return scores[head_index, tail_index]

    model = Given(scores.shape[1], 1, 1)
    rows = torch.arange(len(targets))
    zeros = torch.zeros_like(rows)
    mean_rank, mrr, hits = model.test(rows, zeros, targets, batch_size=7, log=False)
    ranks = [
        model.test(rows[i : i + 1], zeros[:1], targets[i : i + 1], batch_size=9, log=False)[0] + 1
        for i in rows.tolist()
    ]
    return Outcome(ranks, {"mean_rank": mean_rank, "mrr": mrr, "hits_at_k": hits})


def openea(code: Code, case: Case) -> Outcome:
    """Its calculate_rank, exact."""
    path = "src/openea/modules/finding/alignment.py"
    names = code.functions("OpenEA", "ad11dc3", path, "calculate_rank", {"np": np})
    ks = [1, 5, 10, 50]
    total = len(case.targets)

    def means(part: Case) -> Any:
        return names["calculate_rank"](part.targets, part.scores, ks, True, len(part.targets))

    mr, mrr, hits, _ = means(case)
    numbers = {f"hits@{k}": 100 * n / total for k, n in zip(ks, hits, strict=True)}
    ranks = task_by_task(case, lambda one: means(one)[0])
    return Outcome(ranks, numbers | {"mr": mr, "mrr": mrr})


def qrels_and_run(case: Case) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Return what is right and what was found; names have the order of columns, as strings, too."""
    tasks, columns = case.scores.shape
    ids, queries = (
        [f"{x}{i:05}" for i in range(size)] for x, size in (("d", columns), ("q", tasks))
    )
    qrels = {q: {ids[j]: 1} for q, j in zip(queries, case.targets.tolist(), strict=True)}
    rows = zip(queries, case.scores.tolist(), strict=True)
    return qrels, {q: dict(zip(ids, row, strict=True)) for q, row in rows}


def pytrec_eval(code: Code, case: Case) -> Outcome:
    """The package: trec_eval in Python."""
    peer = code.package("pytrec_eval")
    qrels, run = qrels_and_run(case)
    names = {"recip_rank", "map", "success.1,5,10", "recall.5,10", "P.5,10", "ndcg_cut.5,10"}
    found = list(peer.RelevanceEvaluator(qrels, names).evaluate(run).values())
    numbers = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
    return Outcome([1 / one["recip_rank"] for one in found], numbers)


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


TOOLKITS = (
    Toolkit("LibKGE", "libkge", libkge),
    Toolkit("PyKEEN", "pykeen", pykeen),
    Toolkit("OGB, tensors", "ogb", ogb("1b89f1b", "torch"), "never"),
    Toolkit("OGB 1.3.3, tensors", "ogb-1.3.3", ogb("ac253eb", "torch"), "never"),
    Toolkit("OGB 1.3.3, arrays", "ogb-1.3.3-numpy", ogb("ac253eb", "numpy"), "never"),
    Toolkit("OGB, shared negatives", "ogb-hits", ogb_hits, "never"),
    Toolkit("PyTorch Geometric", "pytorch-geometric", pytorch_geometric, "never"),
    Toolkit("pytrec_eval", "pytrec_eval", pytrec_eval, "never"),
    Toolkit("MTEB", "mteb", mteb, "never"),
    Toolkit("OpenEA", "openea", openea, "never"),
)
