"""Counts for thresholds by the definition: Python numbers, which Python compares exactly."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from oracles.counting import (
    Lists,
    Number,
    Refused,
    check_range,
    chosen_columns,
    exact,
    filtered_columns,
)


class Counts(NamedTuple):
    """One entry for each threshold, task by task."""

    above: npt.NDArray[np.int64]
    tied: npt.NDArray[np.int64]
    candidates: npt.NDArray[np.int64]


def count_above(
    scores: npt.NDArray[Any],
    thresholds: Number | Sequence[Number] | Sequence[Sequence[Number]],
    *,
    rows: Sequence[int] | None = None,
    filter: Lists | None = None,
    candidates: Lists | None = None,
    order: str = "descending",
    nan: str = "raise",
    dtype: str | None = None,
) -> Counts:
    table = exact(scores, dtype)
    columns = scores.shape[-1]
    if rows is None:
        rows = range(len(table))
        if scores.ndim == 1 and not isinstance(thresholds, (int, float)):
            rows = [0] * len(thresholds)
    check_range("rows", rows, len(table))
    is_better = {"descending": operator.gt, "ascending": operator.lt}[order]
    found = []
    with_nan = set()
    for i, row in enumerate(rows):
        left_in = chosen_columns(candidates, i, columns) - filtered_columns(filter, i)
        several = thresholds
        if not isinstance(several, (int, float)):
            several = several[i]
        if isinstance(several, (int, float)):
            several = [several]
        s = {column: table[row][column] for column in left_in}
        numbers = [b for b in s.values() if b == b]
        size = len(s)
        if nan == "omit":
            size = len(numbers)
        for a in several:
            above = sum(is_better(b, a) for b in numbers)
            tied = sum(b == a for b in numbers)
            found.append((above, tied, size))
            with_nan |= {(row, column) for column, b in s.items() if b != b}
    if with_nan and nan == "raise":
        raise Refused(["scores"], nan=min(with_nan))
    return Counts(*np.array(found, np.int64).reshape(-1, 3).T)
