"""torchmetrics and ranx: libraries of retrieval metrics, for the mean reciprocal rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from peers import Peer, Problem
from peers.torch_pykeen import tensors

__all__ = ["MRR"]


def _retrieval_mrr(problem: Problem) -> Callable[[], float]:
    """`RetrievalMRR` of torchmetrics, all queries in one update.

    It takes flat scores with the query of each. A target whose score is not above zero never
    counts in it; all scores of this benchmark are above zero.
    """
    import torch
    from torchmetrics.retrieval import RetrievalMRR

    matrix, columns = tensors(problem)
    relevant = torch.zeros(matrix.shape, dtype=torch.bool).scatter_(1, columns, True)
    queries = torch.arange(len(matrix))[:, None].expand(matrix.shape).contiguous()

    def mrr() -> float:
        metric = RetrievalMRR()
        metric.update(matrix, relevant, queries)
        return float(metric.compute())

    return mrr


def _ranx(problem: Problem) -> Callable[[], float]:
    """ranx's `evaluate` of arrays, which must be sorted: far faster than its dictionaries."""
    import numba
    import ranx

    tasks = len(problem.targets)
    qrels = np.ones((tasks, 1, 2))
    qrels[:, 0, 0] = problem.targets

    def evaluate(run: Any, qrels: Any) -> float:
        numba.set_num_threads(min(problem.threads, numba.config.NUMBA_NUM_THREADS))
        return float(ranx.evaluate(qrels, run, "mrr"))

    def mrr() -> float:
        order = np.argsort(-problem.scores, axis=1)
        return evaluate(
            np.stack([order, np.take_along_axis(problem.scores, order, axis=1)], axis=-1), qrels
        )

    evaluate(np.ones((2, 1, 2)), np.ones((2, 1, 2)))  # so that numba compiles it
    return mrr


MRR = {
    "torchmetrics, RetrievalMRR": Peer(("torch", "torchmetrics"), _retrieval_mrr, "mrr"),
    "ranx, argsort and evaluate": Peer(("ranx",), _ranx, "mrr"),
}
