"""Counts for thresholds by the definition: Python numbers, which Python compares exactly."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from oracles.counting import Lists, Number, Refused, check_range, exact


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
    table, columns = exact(scores, dtype), scores.shape[-1]
    if rows is None:
        of_one = 1 if isinstance(thresholds, (int, float)) else len(thresholds)
        rows = [0] * of_one if scores.ndim == 1 else range(len(table))
    check_range("rows", rows, len(table))
    is_better = {"descending": operator.gt, "ascending": operator.lt}[order]
    found, with_nan = [], set()
    for i, row in enumerate(rows):
        chosen = set(range(columns) if candidates is None else candidates[i])
        left_in = chosen - set([] if filter is None else filter[i])
        given = thresholds if isinstance(thresholds, (int, float)) else thresholds[i]
        several = [given] if isinstance(given, (int, float)) else given
        s = {column: table[row][column] for column in left_in}
        numbers = [b for b in s.values() if b == b]
        size = len(numbers) if nan == "omit" else len(s)
        for a in several:
            above, tied = sum(is_better(b, a) for b in numbers), sum(b == a for b in numbers)
            found.append((above, tied, size))
            with_nan |= {(row, column) for column, b in s.items() if b != b}
    if with_nan and nan == "raise":
        raise Refused(["scores"], nan=min(with_nan))
    return Counts(*np.array(found, np.int64).reshape(-1, 3).T)
