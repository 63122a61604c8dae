"""Found pairs, first neighbours, degrees and sets of models by their definitions, pair by pair."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Pair = tuple[Any, Any]


def ratio(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


def counts(found: Sequence[Pair], right: set[Pair]) -> dict[str, float]:
    """Return the three counts and the three shares of distinct pairs."""
    correct = sum(pair in right for pair in found)
    return {
        "found": len(found),
        "right": len(right),
        "correct": correct,
        "precision": ratio(correct, len(found)),
        "recall": ratio(correct, len(right)),
        "f1": ratio(2 * correct, len(found) + len(right)),
    }


def score_pairs(
    found: Sequence[Pair],
    test: Sequence[Pair],
    scores: Sequence[float] | None = None,
    known: Sequence[Pair] = (),
) -> dict[str, Any]:
    """Return the numbers of found pairs, and with scores those of every threshold."""
    right = set(test) - set(known)
    only_known = [
        {pair[side] for pair in known} - {pair[side] for pair in right} for side in (0, 1)
    ]
    best: dict[Pair, float] = {}
    for i, pair in enumerate(found):
        if pair in set(known) or any(pair[side] in only_known[side] for side in (0, 1)):
            continue
        score = 0.0 if scores is None else float(scores[i])
        best[pair] = max(best.get(pair, score), score)
    result: dict[str, Any] = counts(list(best), right)
    result["threshold"] = result["best_f1"] = result["curve"] = None
    if scores is not None and best:
        curve = {
            t: counts([pair for pair in best if best[pair] >= t], right)
            for t in sorted(set(best.values()), reverse=True)
        }
        result["threshold"] = max(curve, key=lambda t: (curve[t]["f1"], t))
        result["best_f1"] = curve[result["threshold"]]["f1"]
        result["curve"] = [(t, *numbers.values()) for t, numbers in curve.items()]
    return result


def score_exclusive(
    found: Sequence[Pair], test: Sequence[Pair], known: Sequence[Pair], exclusive: set[Any]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return what is said of entities without a counterpart, and then of those with one."""
    right = set(test) - set(known)
    matchable = {left for left, _ in right}
    in_pairs = {left for left, _ in found}
    said = (matchable | exclusive) - in_pairs
    hits = len(said & exclusive)
    correct = len({left for left, other in found if (left, other) in right})
    n_said_matchable = len(matchable | exclusive) - len(said)

    def shares(found_number: int, right_number: int, correct_number: int) -> dict[str, float]:
        return {
            "found": found_number,
            "right": right_number,
            "correct": correct_number,
            "precision": ratio(correct_number, found_number),
            "recall": ratio(correct_number, right_number),
            "f1": ratio(2 * correct_number, found_number + right_number),
        }

    return shares(len(said), len(exclusive), hits), shares(
        n_said_matchable, len(matchable), correct
    )


def first_neighbours(scores: Any, k: int) -> dict[str, Any]:
    """Return what a whole matrix says of the first k of each row, and of each column."""
    descending = -np.sort(-scores, axis=1)[:, :k].astype(np.float64)
    times = [0] * scores.shape[1]
    tied = 0
    for row in scores.tolist():
        times[row.index(max(row))] += 1
        tied += row.count(max(row)) > 1
    shares = {
        "none": sum(n == 0 for n in times) / len(times),
        "one": sum(n == 1 for n in times) / len(times),
        "more": sum(n > 1 for n in times) / len(times),
    }
    return {
        "means": descending.mean(axis=0),
        "deviations": descending.std(axis=0),
        "times": times,
        "shares": shares,
        "tied": tied,
    }


def degree_group(degree: float) -> str:
    """Return the group of a degree of a pair."""
    edges = [0, 1, 6, 11, 16, 21, math.inf]
    place = next(i for i in range(6) if edges[i] <= degree < edges[i + 1])
    return f"[{edges[place]}, {edges[place + 1]})"


def degrees(triples: Sequence[tuple[Any, Any, Any]]) -> Counter[Any]:
    """Return how often each entity is a head or a tail."""
    return Counter(end for head, _, tail in triples for end in (head, tail))


def overlap(hits: Mapping[str, Sequence[bool]]) -> Counter[str]:
    """Return how many tasks each set of models solves, none, and any."""
    number = len(next(iter(hits.values())))
    sets: Counter[str] = Counter()
    for i in range(number):
        names = [name for name, of_model in hits.items() if of_model[i]]
        sets[" + ".join(names) or "none"] += 1
        sets["any"] += bool(names)
    return sets
