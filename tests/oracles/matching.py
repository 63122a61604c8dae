"""Matchings of two sides by their scores, one pair at a time; NaN and -inf are no pairs."""

from __future__ import annotations

from itertools import permutations
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Scores = list[list[float]]


def preferences(scores: Scores) -> list[list[int]]:
    """Return the preferences of each row; equal scores go by the lower column."""
    return [
        sorted((j for j, score in enumerate(row) if score > -inf), key=lambda j: (-row[j], j))
        for row in scores
    ]


def textbook(scores: Scores, height: int, width: int) -> list[tuple[int, int]]:
    """Gale and Shapley: rows propose, the latest free one first; columns keep the best."""
    lists = preferences(scores)
    places = [
        {i: place for place, i in enumerate(order)}
        for order in preferences([[scores[i][j] for i in range(height)] for j in range(width)])
    ]
    holder: dict[int, int] = {}
    free = list(range(height))
    while free:
        i = free.pop()
        if not lists[i]:
            continue
        j = lists[i].pop(0)
        if j not in holder:
            holder[j] = i
        elif places[j][i] < places[j][holder[j]]:
            free.append(holder[j])
            holder[j] = i
        else:
            free.append(i)
    return sorted((i, j) for j, i in holder.items())


def best(scores: Array) -> tuple[int, float]:
    """Try all matchings; return the most pairs and their highest total."""
    if scores.shape[0] > scores.shape[1]:
        return best(scores.T)
    height, width = scores.shape
    found = []
    for columns in permutations(range(width), height):
        chosen = scores[range(height), columns]
        numbers = chosen[np.isfinite(chosen)]
        found.append((len(numbers), float(numbers.sum(dtype=np.float64))))
    return max(found)


def most_similar(scores: Scores, height: int) -> list[tuple[int, int]]:
    """Return the pair of each row with its highest score; equal scores go by the lower column."""
    return [(i, order[0]) for i, order in enumerate(preferences(scores)[:height]) if order]


def pairs_of(rule: str, scores: Array) -> list[tuple[int, int]]:
    """Return the pairs that a rule finds."""
    height, width = scores.shape
    if rule == "stable":
        return textbook(scores.tolist(), height, width)
    forward = most_similar(scores.tolist(), height)
    backward = sorted((i, j) for j, i in most_similar(scores.T.tolist(), width))
    mutual = [pair for pair in forward if pair in backward]
    return {"greedy": forward, "mutual": mutual}[rule]
