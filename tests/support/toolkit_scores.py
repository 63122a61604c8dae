"""Scores for toolkits: ties, near ties, NaN and infinities, with targets and a filter."""

from __future__ import annotations

from typing import Any

import numpy as np

SPECIAL = [float("nan"), float("inf"), -float("inf"), 0.0, 1.0, 1.00005, 1.0002, -1000, -999.95]


def scores_and_filter(seed: int, tasks: int = 60, columns: int = 40) -> tuple[Any, Any, Any]:
    """Make float32 scores with ties, near ties, NaN and infinities, targets, and filter flags."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 3, (tasks, columns)).round(1).astype(np.float32)
    special = rng.random(scores.shape) < 0.1
    scores[special] = rng.choice(np.array(SPECIAL, np.float32), special.sum())
    filtered = rng.random(scores.shape) < 0.2
    targets = rng.integers(0, columns, tasks)
    filtered[np.arange(tasks), targets] = True  # Toolkits list the true candidate, too.
    return scores, targets, filtered


def lists(filtered: Any) -> list[Any]:
    return [np.flatnonzero(row) for row in filtered]
