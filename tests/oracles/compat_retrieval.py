"""What toolkits for queries, retrieval and recommendation do with one query, in plain Python.

The functions are as those of `oracles.compat`. A column of scores stands for a document; documents
are in the order of their ids, or in that of the toolkit's dict.
"""

from __future__ import annotations

import numpy as np

from .compat import Filter, Places, Single, argsort, filled_and_sorted, filled_beside_itself, ogb


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


RETRIEVAL_ORACLES = {
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
