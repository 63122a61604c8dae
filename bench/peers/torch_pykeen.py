"""torch on the CPU: the numpy idiom in torch, PyKEEN's ranks, OGB's formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from peers import Counts, Peer, Problem
from peers.numpy_scipy import ogb_counts
from truerank.metrics.keys import PYKEEN_NAMES

__all__ = ["COUNTING", "METRIC_NAMES", "NEGATIVES", "tensors"]

BATCH = 64  # rows whose masks fit into the cache: seven times as fast as the whole matrix at once
PYKEEN_BATCH = 256  # PyKEEN's default batch for evaluation on a CPU
Expression = Callable[[Any, Any], Counts]  # of some rows and their true_scores scores

HITS = (1, 3, 5, 10)
# PyKEEN's names of truerank's metrics; its z has the opposite sign where less is better. Adjusted
# hits it computes for every k, and keeps only the last, under a name without k.
METRIC_NAMES: dict[str, str] = {}
for _name, (_adjustment, _metric) in PYKEEN_NAMES.items():
    _key = f"{_adjustment}.{_metric}".removeprefix("none.")
    if _name == "hits_at_k":
        METRIC_NAMES |= {f"{_key}@{k}": f"hits_at_{k}" for k in HITS}
    elif _metric == "hits":
        METRIC_NAMES |= {f"{_key}@{k}": _name for k in HITS}
    else:
        METRIC_NAMES[_key] = _name


def tensors(problem: Problem) -> tuple[Any, Any]:
    """Return scores and targets as tensors, without a copy; set the number of torch's threads."""
    import torch

    torch.set_num_threads(problem.threads)
    return torch.from_numpy(problem.scores), torch.from_numpy(problem.targets)[:, None]


def _compare(rows: Any, true_scores: Any) -> Counts:
    """Sums in 32 bits take two thirds of the time of torch's default."""
    import torch

    above, tied = rows > true_scores, rows == true_scores
    return tuple(mask.sum(dim=1, dtype=torch.int32).numpy() for mask in (above, tied))


def _count_by_pykeen(rows: Any, true_scores: Any) -> Counts:
    """Return the counts of PyKEEN's own `Ranks.from_scores`."""
    from pykeen.evaluation.ranks import Ranks

    ranks = Ranks.from_scores(true_scores, rows)
    optimistic = ranks.optimistic
    return (optimistic - 1).numpy(), (ranks.pessimistic - optimistic + 1).numpy()


def _whole(problem: Problem) -> Callable[[], Counts]:
    matrix, columns = tensors(problem)
    return lambda: _compare(matrix, matrix.gather(1, columns))


def _batched(expression: Expression, batch: int) -> Callable[[Problem], Callable[[], Counts]]:
    """Count some rows at once, which suits the caches.

    Counts go into one array at once: small tensors that stay would fragment the heap.
    """

    def prepare(problem: Problem) -> Callable[[], Counts]:
        matrix, columns = tensors(problem)

        def counts() -> Counts:
            true_scores = matrix.gather(1, columns)
            above, tied = np.empty((2, len(matrix)), np.int64)
            for start in range(0, len(matrix), batch):
                rows = slice(start, start + batch)
                above[rows], tied[rows] = expression(matrix[rows], true_scores[rows])
            return above, tied

        return counts

    return prepare


def _ogb(problem: Problem) -> Callable[[], Counts]:
    import torch

    assert problem.true_scores is not None
    torch.set_num_threads(problem.threads)
    pair = torch.from_numpy(problem.true_scores)[:, None], torch.from_numpy(problem.scores)

    def counts() -> Counts:
        above, tied = ogb_counts(*pair)
        return above.numpy(), tied.numpy()

    return counts


COUNTING = {
    "torch, > and ==": Peer(("torch",), _whole),
    f"torch, {BATCH} rows at once": Peer(("torch",), _batched(_compare, BATCH)),
    f"PyKEEN, {PYKEEN_BATCH} rows at once": Peer(
        ("torch", "pykeen"), _batched(_count_by_pykeen, PYKEEN_BATCH)
    ),
}
NEGATIVES = {"OGB's formula, torch": Peer(("torch",), _ogb)}
