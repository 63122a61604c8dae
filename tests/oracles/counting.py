"""The definition of the counts, as plainly as possible: a mask of columns for each task.

It shares no line with the package. Selections are one list of columns for each task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Number = int | float
Lists = Sequence[Sequence[int]]


class Counts(NamedTuple):
    """One int64 entry for each task in every field."""

    above: npt.NDArray[np.int64]
    tied: npt.NDArray[np.int64]
    candidates: npt.NDArray[np.int64]
    nan: npt.NDArray[np.int64]
    inf: npt.NDArray[np.int64]
    at_best: npt.NDArray[np.int64]


class Refused(ValueError):
    """Input that must be refused; the error contains one of `names`, and the place of a NaN."""

    def __init__(self, names: Sequence[str], *, nan: tuple[int, int] | None = None) -> None:
        super().__init__(f"{names} {nan}")
        self.names = tuple(names)
        self.nan = nan


def widen(scores: Array, dtype: str | None = None) -> Array:
    """Return scores in a type that NumPy compares exactly: floats as float64, integers as are.

    A bfloat16, which may be raw bits, is the upper half of the float32 of the same value.
    """
    if scores.dtype.kind in "iu":
        scores = scores.astype(scores.dtype.newbyteorder("="))
    if dtype == "bfloat16" or scores.dtype.name == "bfloat16":
        scores = (scores.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if scores.dtype.kind in "iu":
        return scores
    with np.errstate(invalid="ignore"):  # One of the NaN may be a signalling one.
        return scores.astype(np.float64)


def tasks_of(
    scores: Array, targets: int | Sequence[int], rows: Sequence[int] | None
) -> tuple[list[int], list[int]]:
    """Return the target and the row of every task: a single row is that of all."""
    is_single = scores.ndim == 1 or len(scores) == 1
    if isinstance(targets, int):
        tasks = len(scores)
        if rows is not None:
            tasks = len(rows)
        elif is_single:
            tasks = 1
        targets = [targets] * tasks
    if rows is not None:
        return list(targets), list(rows)
    if is_single:
        return list(targets), [0] * len(targets)
    return list(targets), list(range(len(targets)))


def check_range(name: str, values: Sequence[int], end: int) -> None:
    if any(value < 0 or value >= end for value in values):
        raise Refused([name])


def chosen_columns(candidates: Lists | None, task: int, columns: int) -> set[int]:
    """Return the candidates of a task, before the filter."""
    if candidates is None:
        return set(range(columns))
    return set(candidates[task])


def filtered_columns(filter: Lists | None, task: int) -> set[int]:
    """Return what the filter lists for a task."""
    if filter is None:
        return set()
    return set(filter[task])


def listed(lists: Lists | None, task: int, columns: int, *, otherwise: bool) -> Array:
    """Return which columns a selection lists for a task: all or none without a selection."""
    if lists is None:
        return np.full(columns, otherwise)
    mask = np.zeros(columns, bool)
    mask[np.asarray(lists[task], np.int64)] = True
    return mask


def count(
    scores: Array,
    targets: int | Sequence[int],
    *,
    rows: Sequence[int] | None = None,
    filter: Lists | None = None,
    candidates: Lists | None = None,
    order: str = "descending",
    nan: str = "raise",
    dtype: str | None = None,
) -> Counts:
    """Count by the definition."""
    table = np.atleast_2d(scores)
    columns = table.shape[1]
    targets, rows = tasks_of(scores, targets, rows)
    check_range("targets", targets, columns)
    check_range("rows", rows, len(table))
    for name, lists in (("filter", filter), ("candidates", candidates)):
        for entries in lists or ():
            check_range(name, entries, columns)
    is_better = {"ascending": np.less, "descending": np.greater}[order]
    known: dict[int, tuple[Array, Array]] = {}  # the scores of a row, and which are NaN
    shared: dict[int, tuple[Array, Array, Array, int, int]] = {}  # what no selection changes
    refused: set[tuple[int, int]] = set()
    result = np.zeros((len(targets), 6), np.int64)
    for i, (row, target) in enumerate(zip(rows, targets, strict=True)):
        if row not in known:
            wide = widen(table[row], dtype)
            known[row] = wide, np.isnan(wide)
        score, is_nan = known[row]
        chosen = listed(candidates, i, columns, otherwise=True)
        if not chosen[target]:
            raise Refused(["targets", "candidates"])
        if filter is not None or candidates is not None or row not in shared:
            members = chosen & ~listed(filter, i, columns, otherwise=False)
            members[target] = True
            at_best = 0
            numbers = score[chosen & ~is_nan]
            if len(numbers):
                best = numbers.min() if order == "ascending" else numbers.max()
                at_best = int((score[members] == best).sum())
            infinite = int(np.isinf(score[members]).sum())
            shared[row] = members, members & is_nan, score[members], infinite, at_best
        members, bad, s, infinite, at_best = shared[row]
        if nan == "raise" and bad.any():
            refused.add((row, int(bad.argmax())))
        if nan == "omit" and bad[target]:
            refused.add((row, target))
        size = int(members.sum())
        nans = int(bad.sum())
        if nan == "omit":
            size -= nans
        above = int(is_better(s, score[target]).sum())
        tied = int((s == score[target]).sum())
        if is_nan[target]:  # under "worst"
            above = size - 1
            tied = 1
        result[i] = above, tied, size, nans, infinite, at_best
    if refused:
        raise Refused(["scores"], nan=min(refused))
    return Counts(*result.T)
