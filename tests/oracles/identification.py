"""Rules of identification and verification by their definitions, without arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np


def market_1501(
    scores: np.ndarray, good: set[int], junk: set[int]
) -> tuple[list[int], float, list[int]]:
    """Return the CMC, the area below precision and recall, and the places of good images.

    As Market-1501 walks down the list of one probe: junk takes no place.
    """
    cmc = []
    area, place, n_found = 0.0, 0, 0
    old_recall, old_precision = 0.0, 1.0
    places = []
    for image in np.argsort(-scores).tolist():
        if image in junk:
            continue
        place += 1
        if image in good:
            n_found += 1
            places.append(place)
        recall, precision = n_found / len(good), n_found / place
        area += (recall - old_recall) * (old_precision + precision) / 2
        old_recall, old_precision = recall, precision
        cmc.append(int(n_found > 0))
    return cmc, area, places


def revisitop(order: Sequence[int], ok: set[int], junk: set[int]) -> float:
    """Return the average precision of a query by the places, from 0, of what is right.

    As revisitop has it: each place less the junk before it, then trapezoids of equal width.
    """
    positions = [place for place, image in enumerate(order) if image in ok]
    positions = [p - sum(image in junk for image in order[:p]) for p in positions]
    total = 0.0
    for i, position in enumerate(positions):
        before = 1.0
        if position > 0:
            before = i / position
        total += (before + (i + 1) / (position + 1)) / 2
    return total / len(ok)


def average_precision(places: Sequence[int], most: int) -> float:
    """Return the sum of the precisions at places of right answers, from 1, divided by `most`."""
    return sum(i / place for i, place in enumerate(places, 1)) / max(most, 1)


def false_positives(scores: np.ndarray, threshold: float) -> float:
    """Return the FPIR: the share of searches by strangers that return anybody."""
    return float(np.mean([any(score >= threshold for score in row) for row in scores]))


def false_negatives(scores: np.ndarray, mates: Sequence[Sequence[int]], threshold: float) -> float:
    """Return the FNIR: the share of searches with a mate in the gallery that return none."""
    missed = []
    for row, images in zip(scores, mates, strict=True):
        if len(images):
            missed.append(not any(row[image] >= threshold for image in images))
    return float(np.mean(missed))


def area_of_pairs(genuine: np.ndarray, impostors: np.ndarray) -> float:
    """Return how likely a genuine score is above an impostor's; half a tie counts."""
    wins = [float(g > i) + float(g == i) / 2 for g in genuine for i in impostors]
    return float(np.mean(wins))


def curve(genuine: np.ndarray, impostors: np.ndarray) -> list[tuple[float, float]]:
    """Return (FAR, TAR) of every threshold, the highest first: scores at or above it pass."""
    thresholds = [np.inf, *sorted({*genuine.tolist(), *impostors.tolist()}, reverse=True)]
    return [(float((impostors >= t).mean()), float((genuine >= t).mean())) for t in thresholds]


def equal_error_rate(points: Sequence[tuple[float, float]]) -> float:
    """Return where straight lines between the points of a curve meet FAR = 1 - TAR."""
    for (far, tar), (next_far, next_tar) in pairwise(points):
        was, now = far + tar - 1, next_far + next_tar - 1
        if now >= 0:
            return far + (next_far - far) * was / (was - now)
    raise AssertionError("the last point is (1, 1)")
