"""PyTorch Geometric, TorchKGE, TorchDrug and the code of papers, run on given scores.

As in `toolkits_graphs`.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable
from functools import partial, reduce
from types import SimpleNamespace
from typing import Any

import numpy as np
from toolkit_code import KS, Case, Code, Outcome, Toolkit, task_by_task, tensors

MEANS = ("mr", "mrr", *(f"hits@{k}" for k in KS))


# -- PyTorch Geometric -----------------------------------------------------------------------------


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


# -- TorchKGE --------------------------------------------------------------------------------------


def known_by_row(case: Case) -> Any:
    """Return the dictionary of true entities that TorchKGE keeps, with the row for the entity."""
    pairs = enumerate(zip(case.lists(), case.targets.tolist(), strict=True))
    return {(row, 0): {*known, target} for row, (known, target) in pairs}


def torchkge(code: Code, case: Case) -> Outcome:
    """Its evaluator, with both halves as the tails and the heads of the same facts."""
    torch = code.package("torch")
    evaluation = code.package("torchkge", "torchkge.evaluation")
    tails, heads = case.halves()
    rows = torch.arange(len(tails.targets))
    graph = SimpleNamespace(
        n_facts=len(rows),
        head_idx=torch.from_numpy(heads.targets),
        tail_idx=torch.from_numpy(tails.targets),
        relations=rows,
        dict_of_tails=defaultdict(set),
        dict_of_heads=defaultdict(set),
    )
    for i, (tail_list, head_list) in enumerate(zip(tails.lists(), heads.lists(), strict=True)):
        if tail_list:
            graph.dict_of_tails[int(heads.targets[i]), i] = set(tail_list)
            graph.dict_of_heads[int(tails.targets[i]), i] = set(head_list)

    class Given:
        def parameters(self) -> Any:
            return iter([torch.zeros(1)])

        def inference_prepare_candidates(self, h: Any, t: Any, r: Any, entities: bool) -> Any:
            return "head", "tail", r, "candidates"

        def inference_scoring_function(self, h: Any, t: Any, r: Any) -> Any:
            return torch.from_numpy((tails if h == "head" else heads).scores[r.numpy()])

    found = evaluation.LinkPredictionEvaluator(Given(), graph)
    found.evaluate(b_size=7, verbose=False)
    is_filtered = case.known is not None
    prefix = "Filt. " if is_filtered else ""
    numbers = {f"{prefix}Hit@{k}": found.hit_at_k(k)[is_filtered] for k in KS}
    numbers[f"{prefix}Mean Rank"] = found.mean_rank()[is_filtered]
    numbers[f"{prefix}MRR"] = found.mrr()[is_filtered]
    sides = (
        (found.filt_rank_true_tails, found.filt_rank_true_heads)
        if is_filtered
        else (found.rank_true_tails, found.rank_true_heads)
    )
    return Outcome(torch.cat(sides), numbers)


def torchkge_of_2020(code: Code, case: Case) -> Outcome:
    """The functions by which its models ranked."""
    torch, scores, targets = tensors(code, case)
    clone, commit = "torchkge", "a81b9ff"
    names: dict[str, Any] = {"tensor": torch.tensor}
    names |= code.functions(clone, commit, "torchkge/utils/operations.py", "get_rank", names)
    names |= code.functions(clone, commit, "torchkge/utils/modeling.py", "get_true_targets", names)
    names = code.functions(
        clone, commit, "torchkge/models/interfaces.py", "Model.lp_compute_ranks", names
    )
    model = SimpleNamespace(lp_scoring_function=lambda *_: scores)
    rows = torch.arange(len(targets))
    both = names["lp_compute_ranks"](
        model, None, None, None, rows, torch.zeros_like(rows), targets, known_by_row(case)
    )
    return Outcome(both[case.known is not None], {})


# -- TorchDrug and NBFNet --------------------------------------------------------------------------


def torchdrug_like(path: str, name: str, clone: str, commit: str) -> Callable[..., Outcome]:
    """Make a function that calls `evaluate` of a task of TorchDrug."""

    def run(code: Code, case: Case) -> Outcome:
        torch, scores, targets = tensors(code, case)
        tasks = code.functions(
            "torchdrug",
            "6066fbd",
            "torchdrug/tasks/__init__.py",
            "_metric_name _get_metric_name",
            {},
        )
        names = {"torch": torch, "tasks": SimpleNamespace(**tasks)}
        evaluate = code.functions(clone, commit, path, f"{name}.evaluate", names)["evaluate"]
        mask = ~torch.from_numpy(case.known) if case.known is not None else scores.isfinite()
        task = SimpleNamespace(filtered_ranking=case.known is not None, metric=MEANS)
        extra = (torch.zeros(1),) if clone == "NBFNet" else ()  # the relations, for categories

        def means(rows: slice) -> dict[str, float]:
            given = mask[rows, None], targets[rows, None], *extra
            return {k: float(v) for k, v in evaluate(task, scores[rows, None], given).items()}

        ranks = [means(slice(i, i + 1))["mr"] for i in range(len(targets))]
        return Outcome(ranks, means(slice(None)))

    return run


class Log(list[str]):
    """A logger that keeps its lines."""

    def warning(self, line: str) -> None:
        self.append(line)


def nbfnet_pyg(code: Code, case: Case) -> Outcome:
    """Its test function, with a model that gives the scores of both halves."""
    torch = code.package("torch")
    tails, heads = case.halves()
    n = len(tails.targets)
    known = zip(tails.lists(), heads.lists(), strict=True)
    edges = [
        edge
        for i, (tail_list, head_list) in enumerate(known)
        for edge in (
            *((int(heads.targets[i]), t, i) for t in tail_list),
            *((h, int(tails.targets[i]), i) for h in head_list),
        )
    ]
    head, tail, relation = torch.tensor(edges).t()
    graph = SimpleNamespace(
        edge_index=torch.stack([head, tail]), edge_type=relation, num_nodes=case.scores.shape[1]
    )
    graph.target_edge_index = torch.from_numpy(np.stack([heads.targets, tails.targets]))
    graph.target_edge_type = torch.arange(n)
    clone, commit = "NBFNet-PyG", "0c2d262"
    functions = "edge_match all_negative strict_negative_mask compute_ranking"
    tasks = code.functions(
        clone, commit, "nbfnet/tasks.py", functions, {"torch": torch, "reduce": reduce}
    )
    ranks: list[Any] = []

    def compute_ranking(*given: Any) -> Any:
        ranks.append(tasks["compute_ranking"](*given))
        return ranks[-1]

    class Given:
        def eval(self) -> None:
            pass

        def __call__(self, data: Any, batch: Any) -> Any:
            is_tail = bool((batch[0, 0, 0] == batch[0, -1, 0]).item())
            return torch.from_numpy((tails if is_tail else heads).scores[batch[:, 0, 2].numpy()])

    log = Log()
    data = SimpleNamespace(
        DistributedSampler=lambda triplets, *_: None,
        DataLoader=lambda triplets, size, sampler: [triplets],
    )
    names = {
        "torch": torch,
        "torch_data": data,
        "tasks": SimpleNamespace(**(tasks | {"compute_ranking": compute_ranking})),
        "util": SimpleNamespace(get_world_size=lambda: 1, get_rank=lambda: 0),
        "device": "cpu",
        "logger": log,
    }
    test = code.functions(clone, commit, "script/run.py", "test", names)["test"]
    config = SimpleNamespace(
        train=SimpleNamespace(batch_size=n), task=SimpleNamespace(metric=MEANS)
    )
    mrr = float(test(config, Given(), graph, filtered_data=graph))
    printed = [line.split(": ") for line in log]
    numbers = {name: float(value) for name, value in printed if name.startswith("hits")}
    return Outcome(torch.cat(ranks), numbers | {"mrr": mrr})


# -- CompGCN, SimKGC -------------------------------------------------------------------------------


def compgcn(code: Code, case: Case) -> Outcome:
    """Its predict, on batches of both halves, and the function that combines them."""
    torch = code.package("torch")
    clone, commit = "CompGCN", "3b06f5f"
    predict = code.functions(clone, commit, "run.py", "Runner.predict", {"torch": torch})["predict"]
    combine = code.functions(clone, commit, "helper.py", "get_combined_results", {})
    combine_both = combine["get_combined_results"]

    def results(part: Case) -> Any:
        scores, known = torch.from_numpy(part.scores.copy()), part.known
        labels = torch.zeros_like(scores) if known is None else torch.from_numpy(known).float()
        rows = torch.arange(len(scores))
        batch = rows, rows, torch.from_numpy(part.targets), labels
        runner = SimpleNamespace(
            model=SimpleNamespace(eval=lambda: None, forward=lambda sub, rel: scores),
            data_iter={"test_tail": [batch]},
            read_batch=lambda given, split: given,
            device="cpu",
            p=SimpleNamespace(name=""),
            logger=logging.getLogger("quiet"),
        )
        return predict(runner, split="test", mode="tail_batch")

    both = [results(part) for part in case.halves()]
    rounded = combine_both(*both)
    numbers = {
        name: (both[0][name] + both[1][name]) / (2 * both[0]["count"])
        for name in rounded
        if not name.startswith(("left", "right"))
    }
    assert all(round(value, 5) == rounded[name] for name, value in numbers.items())
    return Outcome(task_by_task(case, lambda one: results(one)["mr"]), numbers)


class GivenTorch:
    """Torch, but the product of a query and all entities is its row of scores."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torch, name)

    def mm(self, rows: Any, entities: Any) -> Any:
        return rows.clone()


def simkgc(code: Code, case: Case, neighbor_weight: float = 0.0) -> Outcome:
    """Its compute_metrics, which may re-rank: every third entity is near the head of a query."""
    torch, scores, targets = tensors(code, case)
    clone, commit = "SimKGC", "97cc43e"
    lists, columns = case.lists(), scores.shape[1]

    class Entities:
        def __len__(self) -> int:
            return columns

        def entity_to_idx(self, entity: int) -> int:
            return entity

    names = {
        "torch": GivenTorch(torch),
        "tqdm": SimpleNamespace(tqdm=lambda given: given),
        "entity_dict": Entities(),
        "all_triplet_dict": SimpleNamespace(get_neighbors=lambda row, _: lists[row]),
        "logger": logging.getLogger("quiet"),
        "args": SimpleNamespace(task="WN18RR", neighbor_weight=neighbor_weight, rerank_n_hop=2),
        "get_link_graph": lambda: SimpleNamespace(
            get_n_hop_entity_indices=lambda row, **_: set(range(row % 3, columns, 3))
        ),
    }
    names |= code.functions(clone, commit, "rerank.py", "rerank_by_graph", names)
    compute = code.functions(clone, commit, "evaluate.py", "compute_metrics", names)
    examples = [
        SimpleNamespace(head_id=i, relation="", tail_id=t) for i, t in enumerate(targets.tolist())
    ]
    *_, metrics, ranks = compute["compute_metrics"](
        scores, torch.eye(columns), targets.tolist(), examples, batch_size=16
    )
    exact = {"mean_rank": np.mean(ranks), "mrr": np.mean(1 / np.array(ranks))}
    exact |= {f"hit@{k}": np.mean(np.array(ranks) <= k) for k in KS}
    assert all(round(float(exact[name]), 4) == value for name, value in metrics.items())
    names["rerank_by_graph"](scores, examples, entity_dict=names["entity_dict"])  # in place
    return Outcome(ranks, exact, scores.numpy())


TOOLKITS = (
    Toolkit("PyTorch Geometric", "pytorch-geometric", pytorch_geometric, filters="never"),
    Toolkit("TorchKGE", "torchkge", torchkge),
    Toolkit("TorchKGE of 2020", "torchkge-0.16.16", torchkge_of_2020),
    Toolkit(
        "TorchDrug",
        "torchdrug",
        torchdrug_like(
            "torchdrug/tasks/reasoning.py", "KnowledgeGraphCompletion", "torchdrug", "6066fbd"
        ),
    ),
    Toolkit(
        "NBFNet, on TorchDrug",
        "nbfnet",
        torchdrug_like("nbfnet/task.py", "KnowledgeGraphCompletionExt", "NBFNet", "eb49ff2"),
    ),
    Toolkit("NBFNet, on PyTorch Geometric", "nbfnet", nbfnet_pyg, filters="always"),
    Toolkit("CompGCN", "compgcn", compgcn),
    Toolkit("SimKGC", "simkgc", simkgc),
    Toolkit("SimKGC, re-ranked", "simkgc", partial(simkgc, neighbor_weight=0.05)),
)
