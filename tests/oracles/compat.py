"""What each toolkit does with one query, in plain Python, candidate by candidate.

Each function takes the float32 scores of all candidates, the place of the true one and the places
that are filtered (None: no filter), and returns the best and the worst rank of the true one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Set

import numpy as np

Single = np.float32
Places = tuple[float, float]
Filter = Set[int] | None


def _others(scores: np.ndarray, target: int, filtered: Filter) -> list[np.float32]:
    left_out = (filtered or set()) - {target}
    return [s for j, s in enumerate(scores) if j != target and j not in left_out]


def libkge(scores: np.ndarray, target: int, filtered: Filter) -> Places:
    inf = Single(np.inf)
    above = ties = 0
    true_score = -inf if np.isnan(scores[target]) else scores[target]
    for j, score in enumerate(scores):
        if j != target and j in (filtered or ()):
            score = -inf
        if np.isnan(score):
            score = -inf
        close = score == true_score
        if not close and np.isfinite(score) and np.isfinite(true_score):
            allowed = Single(1e-5) + abs(Single(1e-4) * true_score)
            close = abs(Single(score - true_score)) <= allowed
        if close:
            ties += 1
        elif score > true_score:
            above += 1
    rank = 1 + above + ties // 2  # counted from 0, and rounded up
    return rank, rank


def openke(scores: np.ndarray, target: int, filtered: Filter) -> Places:
    rank = 1 + sum(bool(s > scores[target]) for s in _others(scores, target, filtered))
    return rank, rank


def ogb(scores: np.ndarray, target: int, filtered: Filter) -> Places:
    others = _others(scores, target, filtered)
    better = sum(bool(s > scores[target]) for s in others)
    no_worse = sum(bool(s >= scores[target]) for s in others)
    rank = 0.5 * (better + no_worse) + 1
    return rank, rank


def ogb_hits(scores: np.ndarray, target: int, filtered: Filter) -> Places:
    """Return the first k for which the true one is above the k-th best negative; NaN is best."""
    others = _others(scores, target, filtered)
    ordered = sorted(others, key=lambda s: (not np.isnan(s), -s if not np.isnan(s) else 0))
    for k, bar in enumerate(ordered, 1):
        if scores[target] > bar:
            return k, k
    return len(ordered) + 1, len(ordered) + 1


def _sorted_places(scores: list[np.float32], target: int, nan_first: bool) -> Places:
    def key(score: np.float32) -> tuple[int, float]:
        if np.isnan(score):
            return (-1 if nan_first else 1, 0.0)
        return (0, -float(score))

    keys = [key(score) for score in scores]
    return 1 + sum(k < keys[target] for k in keys), sum(k <= keys[target] for k in keys)


def ogb_argsort(scores: np.ndarray, target: int, filtered: Filter) -> Places:
    return _sorted_places([scores[target], *_others(scores, target, filtered)], 0, True)


def rotate(scores: np.ndarray, target: int, filtered: Filter) -> Places:
    """Replace filtered candidates by the true one, with a bias of -1."""
    replaced = [
        Single(scores[target] + Single(-1)) if j != target and j in (filtered or ()) else s
        for j, s in enumerate(scores)
    ]
    return _sorted_places(replaced, target, True)


def openea(scores: np.ndarray, target: int, filtered: Filter) -> Places:
    return _sorted_places([scores[target], *_others(scores, target, filtered)], 0, False)


def dgl_ke(scores: np.ndarray, target: int, filtered: Filter) -> Places:
    squashed = np.minimum(scores, Single(0)) - np.log1p(np.exp(-np.abs(scores)))
    biased = squashed.copy()
    if filtered is not None:
        for j in {*filtered, target}:
            biased[j] = Single(squashed[j] + Single(-1))
    rank = 1 + sum(bool(s >= squashed[target]) for s in biased)
    return rank, rank


def pytorch_biggraph(scores: np.ndarray, target: int, filtered: Filter) -> Places:
    masked = scores.copy()
    for j in {*(filtered or ()), target}:
        masked[j] = Single(-1e9)
    rank = 1 + sum(bool(s >= scores[target]) for s in masked)
    return rank, rank


def pykeen(scores: np.ndarray, target: int, filtered: Filter) -> Places:
    masked = scores.copy()
    for j in (filtered or set()) - {target}:
        masked[j] = np.nan
    optimistic = 1 + sum(bool(s > scores[target]) for s in masked)
    pessimistic = sum(bool(s >= scores[target]) for s in masked)
    rank = 0.5 * (optimistic + pessimistic)
    return rank, rank


ORACLES: dict[str, Callable[[np.ndarray, int, Filter], Places]] = {
    "libkge": libkge,
    "openke": openke,
    "ogb": ogb,
    "ogb-1.3.3": ogb_argsort,
    "ogb-hits": ogb_hits,
    "rotate": rotate,
    "dgl-ke": dgl_ke,
    "pytorch-biggraph": pytorch_biggraph,
    "openea": openea,
    "gcn-align": openea,
    "pykeen": pykeen,
}


def exact(scores: np.ndarray, target: int, filtered: Filter) -> float:
    """Return the realistic rank by its definition; NaN is worst."""
    others, true_score = _others(scores, target, filtered), scores[target]
    if math.isnan(true_score):
        return len(others) + 1.0
    ties = sum(bool(s == true_score) for s in others)
    return 1 + sum(bool(s > true_score) for s in others) + ties / 2
