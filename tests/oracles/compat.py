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
Oracle = Callable[[np.ndarray, int, Filter], Places]


def _others(scores: np.ndarray, target: int, filtered: Filter) -> list[np.float32]:
    left_out = (filtered or set()) - {target}
    return [s for j, s in enumerate(scores) if j != target and j not in left_out]


def libkge(scores: np.ndarray, target: int, filtered: Filter) -> Places:
    inf = Single(np.inf)
    above = ties = 0
    true_score = scores[target]
    if np.isnan(true_score):
        true_score = -inf
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
    rank = 1 + above + ties // 2  # It is counted from 0, and rounded up.
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
    rank = 1 + sum(not scores[target] > score for score in others)
    return rank, rank


def _sorted_places(scores: list[np.float32], target: int, nan_first: bool) -> Places:
    nan_key = (-1 if nan_first else 1, 0.0)
    keys = [nan_key if np.isnan(score) else (0, -float(score)) for score in scores]
    return 1 + sum(k < keys[target] for k in keys), sum(k <= keys[target] for k in keys)


def argsort(*, nan_first: bool) -> Oracle:
    """Sort as torch.argsort(scores, descending=True), which has NaN first, or numpy, NaN last."""

    def places(scores: np.ndarray, target: int, filtered: Filter) -> Places:
        first = [scores[target]]
        return _sorted_places(first + _others(scores, target, filtered), 0, nan_first)

    return places


def rotate(scores: np.ndarray, target: int, filtered: Filter) -> Places:
    """Replace filtered candidates by the true one, with a bias of -1."""
    replaced = list(scores)
    for j in (filtered or set()) - {target}:
        replaced[j] = Single(scores[target] + Single(-1))
    return _sorted_places(replaced, target, True)


def _masked(target: int, filtered: Filter) -> Set[int]:
    """Return what a filter masks together with the true one; without a filter, nothing."""
    if filtered is None:
        return set()
    return filtered | {target}


def dgl_ke(scores: np.ndarray, target: int, filtered: Filter) -> Places:
    """The true one is among its negatives; the filter masks it and all that it lists."""
    masked = _masked(target, filtered)
    rank = 1 + sum(bool(s >= scores[target]) for j, s in enumerate(scores) if j not in masked)
    return rank, rank


def _log_sigmoids(score: np.float32) -> tuple[np.float32, np.float32]:
    """The least and the greatest float32 within 8 units in the last place of log-sigmoid."""
    if np.isnan(score) or score == -np.inf:
        return score, score
    if score > 105.28:  # Its exponential is less than a seventh of the least float32.
        return Single(0), Single(0)
    rest = math.log1p(math.exp(-abs(float(score))))
    if score < 0 and rest < float(np.spacing(abs(score))) / 4:  # It is lost in any rounding.
        return score, score
    exact = min(float(score), 0.0) - rest
    slack = 8 * float(np.spacing(Single(abs(exact))))
    return Single(exact - slack), Single(min(exact + slack, 0.0))


def dgl_ke_0_1(scores: np.ndarray, target: int, filtered: Filter) -> Places:
    """The filter subtracts 1 from the log-sigmoid of all that it lists and of the true one."""
    low, high = _log_sigmoids(scores[target])
    masked = _masked(target, filtered)
    first = last = 1
    for j, score in enumerate(scores):
        least, greatest = _log_sigmoids(score)
        if j in masked:
            least = Single(least + Single(-1))
            greatest = Single(greatest + Single(-1))
            same = False
        else:
            same = bool(score == scores[target])
        settled = least == greatest == low == high
        first += bool(least > high or settled or same)
        last += bool(greatest >= low)
    return first, last


def pykeen(scores: np.ndarray, target: int, filtered: Filter) -> Places:
    masked = scores.copy()
    for j in (filtered or set()) - {target}:
        masked[j] = np.nan
    optimistic = 1 + sum(bool(s > scores[target]) for s in masked)
    pessimistic = sum(bool(s >= scores[target]) for s in masked)
    rank = 0.5 * (optimistic + pessimistic)
    return rank, rank


def _filled(scores: np.ndarray, filtered: Filter, filler: float) -> list[np.float32]:
    filled = list(scores)
    for j in filtered or ():
        filled[j] = Single(filler)
    return filled


def torchkge(scores: np.ndarray, target: int, filtered: Filter) -> Places:
    """The true one is compared with itself, so that it counts unless it is NaN."""
    others = _filled(scores, (filtered or set()) - {target}, -np.inf)
    rank = sum(bool(s >= scores[target]) for s in others)
    return rank, rank


def filled_beside_itself(filler: float) -> Oracle:
    """What is filtered gets another score, and so does the true one, which starts at rank 1."""

    def places(scores: np.ndarray, target: int, filtered: Filter) -> Places:
        filled = _filled(scores, (filtered or set()) | {target}, filler)
        rank = 1 + sum(bool(s >= scores[target]) for s in filled)
        return rank, rank

    return places


def filled_and_sorted(filler: float) -> Oracle:
    """What is filtered gets another score, and the true one is looked for: NaN is first."""

    def places(scores: np.ndarray, target: int, filtered: Filter) -> Places:
        filled = _filled(scores, (filtered or set()) - {target}, filler)
        return _sorted_places(filled, target, True)

    return places


def _thousandths(score: np.float32) -> tuple[int, int]:
    """The least and the greatest integer that a processor makes of 1000 times the score."""
    with np.errstate(over="ignore"):
        product = float(Single(score * Single(1000)))
    if -(2**31) <= product < 2**31:
        return int(product), int(product)
    if math.isnan(product):
        return -(2**31), 0
    return -(2**31), int(max(min(product, 2**31), -(2**31)))


def ampligraph(scores: np.ndarray, target: int, filtered: Filter) -> Places:
    """The filter takes the true one and all that it lists from those that are no worse."""
    masked = _masked(target, filtered)
    low, high = _thousandths(scores[target])
    first = last = 1
    for j in set(range(len(scores))) - masked:
        least, greatest = _thousandths(scores[j])
        both_nan = np.isnan(scores[j]) and np.isnan(scores[target])
        same = least == greatest == low == high or bool(scores[j] == scores[target]) or both_nan
        first += bool(least > high or same)
        last += bool(greatest >= low)
    return first, last


# -- retrieval: columns are documents, in the order of their ids, or in that of the toolkit's dict


def _listed(scores: np.ndarray, target: int, filtered: Filter) -> list[tuple[float, int]]:
    left_out = (filtered or set()) - {target}
    return [(float(s), j) for j, s in enumerate(scores) if j not in left_out]


def by_id(
    scores: np.ndarray, target: int, filtered: Filter, *, highest_first: bool = True
) -> Places:
    """Sort the documents by score and id; no order is known where one of the scores is NaN."""
    pairs = _listed(scores, target, filtered)
    if any(np.isnan(score) for score, _ in pairs):
        return 1, len(pairs)
    sign = -1 if highest_first else 1
    pairs.sort(key=lambda pair: (-pair[0], sign * pair[1]))
    rank = 1 + [j for _, j in pairs].index(target)
    return rank, rank


def pytrec_eval(scores: np.ndarray, target: int, filtered: Filter) -> Places:
    with np.errstate(over="ignore"):
        return by_id(scores.astype(Single), target, filtered)


def by_position(scores: np.ndarray, target: int, filtered: Filter) -> Places:
    return by_id(scores, target, filtered, highest_first=False)


def by_score(scores: np.ndarray, target: int, filtered: Filter) -> Places:
    """Sort by score alone; no order is known of ties, and of none where a score is NaN."""
    pairs = _listed(scores, target, filtered)
    if any(np.isnan(score) for score, _ in pairs):
        return 1, len(pairs)
    own = float(scores[target])
    return 1 + sum(s > own for s, _ in pairs), sum(s >= own for s, _ in pairs)


ORACLES: dict[str, Oracle] = {
    "libkge": libkge,
    "openke": openke,
    "ogb": ogb,
    "ogb-1.3.3": argsort(nan_first=True),
    "ogb-1.3.3-numpy": argsort(nan_first=False),
    "ogb-hits": ogb_hits,
    "rotate": rotate,
    "dgl-ke": dgl_ke,
    "dgl-ke-0.1": dgl_ke_0_1,
    "pytorch-biggraph": filled_beside_itself(-1e9),
    "openea": argsort(nan_first=False),
    "gcn-align": argsort(nan_first=False),
    "pykeen": pykeen,
    "pytorch-geometric": argsort(nan_first=True),
    "torchkge": torchkge,
    "torchkge-0.16.16": openke,
    "torchdrug": dgl_ke,
    "nbfnet": dgl_ke,
    "compgcn": filled_and_sorted(-1e7),
    "simkgc": filled_and_sorted(-1),
    "stare": filled_and_sorted(-1e6),
    "ampligraph": ampligraph,
    "kbc": filled_beside_itself(-1e6),
    "tkbc": filled_beside_itself(-1e6),
    "kgreasoning": argsort(nan_first=True),
    "tgb": ogb,
    "recbole": filled_and_sorted(-np.inf),
    "trec_eval": by_id,
    "pytrec_eval": pytrec_eval,
    "mteb": by_id,
    "mteb-2.18.18": by_position,
    "sentence-transformers": by_position,
    "sentence-transformers-5": by_score,
    "sentence-transformers-reranking": argsort(nan_first=False),
    "sentence-transformers-cross-encoder": argsort(nan_first=True),
}


def exact(scores: np.ndarray, target: int, filtered: Filter) -> float:
    """Return the realistic rank by its definition; NaN is worst."""
    others = _others(scores, target, filtered)
    true_score = scores[target]
    if math.isnan(true_score):
        return len(others) + 1.0
    ties = sum(bool(s == true_score) for s in others)
    return 1 + sum(bool(s > true_score) for s in others) + ties / 2
