"""Recall of an index by its definition, query by query, from the similarities of all pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from truerank import Report


def exact_list(similarities: Sequence[float], candidates: Sequence[int], k: int) -> list[int]:
    """Return the first k candidates: the most similar first, NaN last, ties by their number."""

    def place(entity: int) -> tuple[bool, float, int]:
        score = similarities[entity]
        return math.isnan(score), 0.0 if math.isnan(score) else -score, entity

    return sorted(candidates, key=place)[:k]


def recall_of_query(
    similarities: Sequence[float],
    candidates: Sequence[int],
    listed: Sequence[int],
    k: int,
    tolerance: float = 0.0,
    nan: str = "raise",
) -> float | None:
    """Return the recall of a list, of which -1 is no id; None for a query without candidates."""
    if nan == "omit":
        candidates = [entity for entity in candidates if not math.isnan(similarities[entity])]
    first = exact_list(similarities, candidates, k)
    if not first:
        return None
    last = similarities[first[-1]]
    right = set()
    for entity in listed[:k]:
        if entity not in candidates:
            continue
        score = similarities[entity]
        is_near = math.isnan(last) or score >= last - tolerance
        if entity in first or is_near:
            right.add(entity)
    return min(len(right), len(first)) / len(first)


def mean_recall(values: Sequence[float | None]) -> float:
    """Return the mean over the queries that have candidates."""
    counted: list[Any] = [value for value in values if value is not None]
    return sum(counted) / len(counted) if counted else math.nan


def check_recalls(report: Report, recalls: Sequence[float | None], key: str) -> None:
    """Check a report of an index by the recall of each query; those that have None are left out."""
    counted = [row for row, recall in enumerate(recalls) if recall is not None]
    assert report.queries == counted
    assert report.per_query(key).tolist() == [recalls[row] for row in counted]
    np.testing.assert_allclose(report[key], mean_recall(recalls), rtol=1e-15)


def recall_of_ann_benchmarks(
    distances: Sequence[float], true_distances: Sequence[float], k: int, epsilon: float = 1e-3
) -> float:
    """Return the share of k places of a list whose distance is at most the k-th and epsilon."""
    limit = true_distances[k - 1] + epsilon
    return sum(distance <= limit for distance in distances[:k]) / k


def recall_of_big_ann(
    listed: Sequence[int], true_ids: Sequence[int], true_distances: Sequence[float], k: int
) -> float:
    """Return the share of k ids as `compute_recall_with_distance_ties` of big-ann-benchmarks does.

    The truth is deeper than k, and its distances are those that were written, in float32.
    """
    set_end = len(true_ids)
    if set_end == k:
        return len({*true_ids[:k]} & {*listed}) / k
    for i in range(k, len(true_ids)):
        if not abs(true_distances[k - 1] - true_distances[i]) < 1e-6:
            set_end = i
            break
    return len({*true_ids[:set_end]} & {*listed}) / k


def recall_of_diskann(
    listed: Sequence[int], true_ids: Sequence[int], true_distances: Sequence[float], k: int
) -> float:
    """Return the same with ties that are equal."""
    end = k
    while end < len(true_ids) and true_distances[end] == true_distances[k - 1]:
        end += 1
    return len({*listed[:k]} & {*true_ids[:end]}) / k


def recall_by_ids(
    listed: Sequence[Any],
    true_ids: Sequence[Any],
    true_distances: Sequence[float] | None,
    k: int,
    tolerance: float = 0.0,
    *,
    falling: bool = False,
) -> float | None:
    """Return the recall of a list by a truth alone; of both, -1 and "" are no ids."""
    exact = [each for each in true_ids if each not in (-1, "")]
    right = {*exact[:k]}
    if not right:
        return None
    most = len(right)
    if true_distances is not None:
        sign = -1 if falling else 1
        limit = sign * true_distances[most - 1] + tolerance
        right |= {each for i, each in enumerate(exact) if sign * true_distances[i] <= limit}
    return min(len(right & {*listed[:k]}), most) / most


def recall_of_vectordbbench(listed: Sequence[int], true_ids: Sequence[int], k: int) -> float:
    """Return the share of k places whose id is among the first k, as its `calc_recall` does."""
    return sum(each in true_ids[:k] for each in listed) / k
