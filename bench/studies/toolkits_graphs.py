"""Toolkits for knowledge graphs, run on given scores: each is a row of `TOOLKITS`.

Models are replaced by the scores of a case: what remains is how a toolkit filters, ranks and
averages. Where a toolkit returns means alone, it is run on one task at a time for the ranks.
"""

from __future__ import annotations

import ctypes
import logging
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from statistics import mean
from types import SimpleNamespace
from typing import Any

import numpy as np
from toolkit_code import (
    KS,
    Array,
    Case,
    Code,
    NotFoundError,
    Outcome,
    Toolkit,
    task_by_task,
    tensors,
)

# -- AmpliGraph ------------------------------------------------------------------------------------


class CompiledCasts:
    """TensorFlow, with casts that XLA compiles."""

    def __init__(self, tf: Any) -> None:
        self._tf = tf
        self.cast = tf.function(tf.cast, jit_compile=True)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tf, name)


def ampligraph(code: Code, case: Case, compiled: bool = False) -> Outcome:
    """Its get_ranks, on the objects alone, with its default strategy."""
    tf = code.package("tensorflow")
    tf = CompiledCasts(tf) if compiled else tf
    clone, commit = "AmpliGraph", "260a732"
    path = "ampligraph/latent_features/layers/scoring/AbstractScoringLayer.py"
    names = "COMPARISION_PRECISION AbstractScoringLayer.get_ranks"
    get_ranks = code.functions(clone, commit, path, names, {"tf": tf})["get_ranks"]
    rows = np.arange(len(case.targets))
    layer = SimpleNamespace(
        _compute_scores=lambda triples: tf.constant(case.scores[rows, case.targets]),
        _get_object_corruption_scores=lambda triples, entities: tf.constant(case.scores),
    )
    filters = np.zeros((0,)) if case.known is None else tf.ragged.constant([case.lists()])
    ranks = get_ranks(
        layer,
        None,
        None,
        0,
        case.scores.shape[1] - 1,
        filters,
        SimpleNamespace(size=lambda: 0),
        corrupt_side="o",
    )
    ranks = ranks.numpy()[0] + 1  # as its model does
    metrics = code.functions(
        clone,
        commit,
        "ampligraph/evaluation/metrics.py",
        "hits_at_n_score mrr_score mr_score",
        {"np": np, "logger": logging.getLogger("quiet")},
    )
    numbers = {f"hits_at_n_score, n={k}": metrics["hits_at_n_score"](ranks, k) for k in KS}
    numbers |= {name: metrics[name](ranks) for name in ("mr_score", "mrr_score")}
    return Outcome(ranks, numbers)


# -- PyKEEN, LibKGE, OGB ---------------------------------------------------------------------------


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
    clone, commit = "kge", "04d0fba"
    path, job_name = "kge/job/eval_entity_ranking.py", "EntityRankingJob"
    methods = ["_filter_and_rank", "_get_ranks_and_num_ties", "_get_ranks", "_compute_metrics"]
    chosen = " ".join(f"{job_name}.{name}" for name in methods)
    names = code.functions(
        clone, commit, path, f"{chosen} __initialize_hist hist_all", {"torch": torch}
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
    s, s_ties, o, o_ties, *_ = job._filter_and_rank(*blocks, labels, *true_scores)
    s_ranks, o_ranks = job._get_ranks(s, s_ties), job._get_ranks(o, o_ties)
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
        ranks.append(hits.index(1.0) + 1 if 1.0 in hits else len(others) + 1)
    return Outcome(ranks, {})


# -- the code of RotatE, PyTorch-BigGraph ----------------------------------------------------------


def rotate(code: Code, case: Case) -> Outcome:
    """Its test_step and its data set, with a model that gives the scores of both halves."""
    torch = code.package("torch")
    clone = "KnowledgeGraphEmbedding"
    module = code.package("torch", "torch.utils.data")
    data_set = code.functions(
        clone, "2e440e0", "codes/dataloader.py", "TestDataset",
        {"torch": torch, "np": np, "Dataset": module.Dataset},
    )["TestDataset"]  # fmt: skip
    names = {
        "torch": torch,
        "np": np,
        "logging": SimpleNamespace(info=lambda line: None),
        "TestDataset": data_set,
        "DataLoader": lambda given, **options: module.DataLoader(
            given, **(options | {"num_workers": 0})
        ),
    }
    step = code.functions(clone, "617062a", "codes/model.py", "KGEModel.test_step", names)
    columns = case.scores.shape[1]
    options = SimpleNamespace(
        countries=False,
        cuda=False,
        nentity=columns,
        nrelation=len(case.targets),
        test_batch_size=8,
        cpu_num=1,
        test_log_steps=1000,
    )

    def means(tails: Case, heads: Case) -> dict[str, float]:
        triples = [
            (int(h), i, int(t))
            for i, (h, t) in enumerate(zip(heads.targets, tails.targets, strict=True))
        ]
        known = set(triples)
        for (h, i, t), ts, hs in zip(triples, tails.lists(), heads.lists(), strict=True):
            known |= {(h, i, other) for other in ts} | {(other, i, t) for other in hs}

        class Given:
            def eval(self) -> None:
                pass

            def __call__(self, samples: Any, mode: str) -> Any:
                positive, negative = samples
                part = tails if mode == "tail-batch" else heads
                scores = torch.from_numpy(part.scores.copy())
                return scores[positive[:, 1]].gather(1, negative)

        found: dict[str, float] = step["test_step"](Given(), triples, known, options)
        return found

    ranks = task_by_task(case, lambda one: means(one, one)["MR"])
    return Outcome(ranks, means(*case.halves()))


def pytorch_biggraph(code: Code, case: Case) -> Outcome:
    """Its evaluator and its filter; its model gives the true one among all negatives -1e9."""
    torch = code.package("torch")
    clone = "PyTorch-BigGraph"
    names: dict[str, Any] = {"torch": torch, "mean": mean, "compute_randomized_auc": lambda *_: 0.0}
    names |= code.functions(clone, "2e7c663", "torchbiggraph/stats.py", "average_of_sums", names)
    names["Stats"] = lambda **fields: fields
    evaluate = code.functions(
        clone, "f4a819b", "torchbiggraph/eval.py", "RankingEvaluator.eval", names
    )["eval"]
    adjust = code.functions(
        clone,
        "03b72c3",
        "torchbiggraph/filtered_eval.py",
        "FilteredRankingEvaluator._adjust_scores",
        names,
    )["_adjust_scores"]

    def means(tails: Case, heads: Case) -> dict[str, float]:
        n = len(tails.targets)
        rows = np.arange(n)
        fields = {}
        for side, part in (("rhs", tails), ("lhs", heads)):
            negatives = torch.from_numpy(part.scores.copy())
            fields[f"{side}_pos"] = negatives[rows, part.targets].clone()
            negatives[rows, part.targets] = -1e9
            fields[f"{side}_neg"] = negatives
        scores = SimpleNamespace(**fields)
        if tails.known is not None:
            ends = {"lhs": heads.targets, "rhs": tails.targets}
            edges = Edges(ends, rows)
            keyed = [
                {(int(end), i): known for i, (end, known) in enumerate(zip(*both, strict=True))}
                for both in ((ends["lhs"], tails.lists()), (ends["rhs"], heads.lists()))
            ]
            adjust(SimpleNamespace(lhs_map=keyed[0], rhs_map=keyed[1]), scores, edges)
        found = evaluate(None, scores, rows)
        sums = {name: found[name] for name in ("pos_rank", "mrr", "r1", "r10", "r50")}
        return {name: float(value) / n for name, value in sums.items()}

    ranks = task_by_task(case, lambda one: means(one, one)["pos_rank"])
    return Outcome(ranks, means(*case.halves()))


class Edges:
    """A batch of edges as PyTorch-BigGraph's filter reads it."""

    def __init__(self, ends: dict[str, Array], relations: Array) -> None:
        self.lhs, self.rhs = (
            SimpleNamespace(to_tensor=partial(lambda end: ends[end], end)) for end in ("lhs", "rhs")
        )
        self.rel = relations

    def __len__(self) -> int:
        return len(self.rel)


# -- DGL-KE, OpenKE --------------------------------------------------------------------------------


def dgl_ke(commit: str) -> Callable[..., Outcome]:
    """Make a function that calls forward_test of a commit; all entities are its negatives."""

    def run(code: Code, case: Case) -> Outcome:
        torch, scores, targets = tensors(code, case)
        names: dict[str, Any] = {
            "F": SimpleNamespace(sum=torch.sum, asnumpy=lambda tensor: tensor.numpy()),
            "th": torch,
            "functional": torch.nn.functional,
            "masked_select": torch.masked_select,
            "cuda": None,
        }
        path = "python/dglke/models/pytorch/tensor_models.py"
        names |= code.functions("dgl-ke", commit, path, "logsigmoid reshape", names)
        path = "python/dglke/models/general_models.py"
        test = code.functions("dgl-ke", commit, path, "KEModel.forward_test", names)
        edges = SimpleNamespace(
            ndata={"id": None}, edata={"id": None}, number_of_edges=lambda: len(scores)
        )
        if case.known is not None:
            edges.edata["bias"] = -torch.from_numpy(case.known).float()
        model = SimpleNamespace(
            entity_emb=lambda *_: None,
            relation_emb=lambda *_: None,
            score_func=SimpleNamespace(prepare=lambda *_: None),
            predict_score=lambda _: scores[torch.arange(len(scores)), targets],
            predict_neg_score=lambda *_, **__: scores,
            args=SimpleNamespace(eval_filter=case.known is not None, neg_deg_sample_eval=False),
        )
        logs: list[dict[str, float]] = []
        test["forward_test"](model, edges, edges, logs)
        means = {name: float(np.mean([log[name] for log in logs])) for name in logs[0]}
        return Outcome([log["MR"] for log in logs], means)

    return run


OPENKE_HEADERS = ["cmath", "cstdio", "cstdlib", "cstring", "string", "algorithm", "pthread.h"]


@cache
def openke_library(code: Code) -> Any:
    """Compile its library, which then prints nothing."""
    folder = Path(tempfile.mkdtemp())
    headers = [f"{name}.h" for name in ("Corrupt", "Random", "Reader", "Setting", "Test", "Triple")]
    for name in ("Base.cpp", *headers):
        (folder / name).write_text(code.source("OpenKE", "3b7f0b1", f"openke/base/{name}"))
    lines = [*(f"#include <{name}>" for name in OPENKE_HEADERS), "#define printf(...) 0"]
    (folder / "quiet.cpp").write_text("\n".join([*lines, '#include "Base.cpp"', ""]))
    command = ["g++", "-w", "-O1", "-shared", "-fPIC", "-pthread", "-o", "openke.so", "quiet.cpp"]
    try:
        subprocess.run(command, cwd=folder, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotFoundError(f"a compiler for OpenKE: {error}") from error
    return ctypes.CDLL(str(folder / "openke.so"))


def openke(code: Code, case: Case) -> Outcome:
    """Its library on the triples of both halves, in files; lower scores are better there."""
    library = openke_library(code)
    tails, heads = case.halves()
    triples = [
        (int(h), int(t), i)
        for i, (h, t) in enumerate(zip(heads.targets, tails.targets, strict=True))
    ]
    known = set()
    for (h, t, i), ts, hs in zip(triples, tails.lists(), heads.lists(), strict=True):
        known |= {(h, other, i) for other in ts} | {(other, t, i) for other in hs}
    with tempfile.TemporaryDirectory() as folder:
        splits = {"test": triples, "train": sorted(known - {*triples}), "valid": triples[:1]}
        for name, rows in splits.items():
            lines = [str(len(rows)), *(" ".join(map(str, row)) for row in rows)]
            Path(folder, f"{name}2id.txt").write_text("\n".join(lines))
        Path(folder, "entity2id.txt").write_text(str(case.scores.shape[1]))
        Path(folder, "relation2id.txt").write_text(str(len(triples)))
        library.setInPath(f"{folder}/".encode())
        library.importTestFiles()
    library.initTest()
    word = "_filter" if case.known is not None else ""

    def total(name: str) -> float:
        return float(ctypes.c_float.in_dll(library, name).value)

    ranks = []
    for side, part in (("r", tails), ("l", heads)):
        function, before = library.testTail if side == "r" else library.testHead, 0.0
        for i, row in enumerate(-part.scores):
            pointer = row.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
            function(pointer, ctypes.c_long(i), ctypes.c_bool(False))
            ranks.append(total(f"{side}{word}_rank") - before)
            before += ranks[-1]
    library.test_link_prediction(ctypes.c_bool(False))
    sums = {"MR": f"{word}_rank", "MRR": f"{word}_reci_rank", "hit@10": f"{word}_tot"}
    sums |= {f"hit@{k}": f"{k}{word}_tot" for k in (1, 3)}
    numbers = {
        name: float(np.float32(total(f"l{rest}") + total(f"r{rest}")) / 2)
        for name, rest in sums.items()
    }
    return Outcome(ranks, numbers)


TOOLKITS = (
    Toolkit("LibKGE", "libkge", libkge),
    Toolkit("the code of RotatE", "rotate", rotate),
    Toolkit("OpenKE", "openke", openke),
    Toolkit("DGL-KE", "dgl-ke", dgl_ke("6dbdbb3")),
    Toolkit("DGL-KE of January 2021", "dgl-ke-0.1", dgl_ke("02923bd")),
    Toolkit("PyTorch-BigGraph", "pytorch-biggraph", pytorch_biggraph),
    Toolkit("AmpliGraph 2", "ampligraph", ampligraph),
    Toolkit("AmpliGraph 2, casts by XLA", "ampligraph", partial(ampligraph, compiled=True)),
    Toolkit("PyKEEN", "pykeen", pykeen),
    Toolkit("OGB, tensors", "ogb", ogb("1b89f1b", "torch"), filters="never"),
    Toolkit("OGB 1.3.3, tensors", "ogb-1.3.3", ogb("ac253eb", "torch"), filters="never"),
    Toolkit("OGB 1.3.3, arrays", "ogb-1.3.3-numpy", ogb("ac253eb", "numpy"), filters="never"),
    Toolkit("OGB, shared negatives", "ogb-hits", ogb_hits, filters="never"),
)
