"""The definition of the counts, implemented twice, as plainly as possible.

`count` is the definition: Python sets of columns, Python numbers, one comparison at a time.
`count_large` does the same with NumPy masks and sorted rows, for problems that would take the first
minutes; a test compares the two. Neither shares a line with the package.

Both take selections as one list of columns for each task.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

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


def is_bfloat16(scores: npt.NDArray[Any], dtype: str | None) -> bool:
    return dtype == "bfloat16" or scores.dtype.name == "bfloat16"


def bfloat16_bits(scores: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
    """Return the 16 bits of every score that is bfloat16, or raw bits of it."""
    if scores.dtype.kind in "iu":
        scores = scores.astype(scores.dtype.newbyteorder("="))
    return scores.view(np.uint16)


def exact(scores: npt.NDArray[Any], dtype: str | None = None) -> list[list[Number]]:
    """Return every score as a Python number: an int of any size, or a float, which is a double."""
    table = scores[np.newaxis] if scores.ndim == 1 else scores
    if is_bfloat16(table, dtype):
        # A bfloat16 is the upper half of the float32 of the same value.
        bits = bfloat16_bits(table).tolist()
        return [[struct.unpack("<f", struct.pack("<I", b << 16))[0] for b in row] for row in bits]
    return table.tolist()


def tasks_of(
    scores: npt.NDArray[Any], targets: int | Sequence[int], rows: Sequence[int] | None
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


def count(
    scores: npt.NDArray[Any],
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
    table = exact(scores, dtype)
    columns = scores.shape[-1]
    targets, rows = tasks_of(scores, targets, rows)
    tasks = range(len(targets))

    check_range("targets", targets, columns)
    check_range("rows", rows, len(table))
    for name, lists in (("filter", filter), ("candidates", candidates)):
        for entries in lists or ():
            check_range(name, entries, columns)

    unfiltered: list[set[int]] = []
    members: list[set[int]] = []  # Each task has its own S.
    for i in tasks:
        chosen = chosen_columns(candidates, i, columns)
        if targets[i] not in chosen:
            raise Refused(["targets", "candidates"])
        unfiltered.append(chosen)
        members.append((chosen - filtered_columns(filter, i)) | {targets[i]})

    refused = set()
    for i in tasks:
        checked = {"raise": members[i], "omit": {targets[i]}, "worst": set()}[nan]
        score = table[rows[i]]
        refused |= {(rows[i], column) for column in checked if score[column] != score[column]}
    if refused:
        raise Refused(["scores"], nan=min(refused))

    better = {"descending": operator.gt, "ascending": operator.lt}[order]
    best_of = {"descending": max, "ascending": min}[order]
    result: list[tuple[int, int, int, int, int, int]] = []
    for i in tasks:
        score = table[rows[i]]
        true_score = score[targets[i]]
        s = [score[column] for column in members[i]]
        numbers = [b for b in s if b == b]
        size = len(s)
        if nan == "omit":
            size = len(numbers)
        if true_score != true_score:  # This is only so under "worst".
            above = size - 1
            tied = 1
        else:
            above = sum(1 for b in numbers if better(b, true_score))
            tied = sum(1 for b in numbers if b == true_score)
        infinite = sum(1 for b in numbers if b in (float("inf"), float("-inf")))
        whole = [score[column] for column in unfiltered[i] if score[column] == score[column]]
        best = best_of(whole, default=None)
        at_best = sum(1 for b in numbers if b == best)
        result.append((above, tied, size, len(s) - len(numbers), infinite, at_best))
    return Counts(*np.array(result, np.int64).reshape(-1, 6).T)


def widen(row: npt.NDArray[Any], dtype: str | None = None) -> npt.NDArray[Any]:
    """Return a row in a type that NumPy compares exactly: floats as float64, integers unchanged."""
    if is_bfloat16(row, dtype):
        row = (bfloat16_bits(row).astype(np.uint32) << 16).view(np.float32)
    if row.dtype.kind in "iu":
        return row.astype(row.dtype.newbyteorder("="))
    with np.errstate(invalid="ignore"):  # One of the NaN may be a signalling one.
        return row.astype(np.float64)


def describe(
    chosen: npt.NDArray[np.bool_],
    bad: npt.NDArray[np.bool_],
    infinite: npt.NDArray[np.bool_],
    unfiltered: npt.NDArray[Any],
    s: npt.NDArray[Any],
    order: str,
) -> tuple[int, int, int, int, int]:
    """Return the size of S, its first NaN, its numbers of NaN, infinities and best scores."""
    nans = chosen & bad
    at_best = 0
    if len(unfiltered):
        best = {"ascending": np.min, "descending": np.max}[order](unfiltered)
        at_best = int((s == best).sum())
    infinities = int((chosen & infinite).sum())
    return int(chosen.sum()), int(nans.argmax()), int(nans.sum()), infinities, at_best


def count_beside(s: npt.NDArray[Any], true_score: Any, order: str) -> tuple[int, int]:
    """Return how many numbers are above the true one, and how many are tied with it."""
    is_better = {"ascending": np.less, "descending": np.greater}[order]
    return int(is_better(s, true_score).sum()), int((s == true_score).sum())


def count_in_sorted(ranked: npt.NDArray[Any], true_score: Any, order: str) -> tuple[int, int]:
    """Return the same of numbers that ascend."""
    left = int(np.searchsorted(ranked, true_score, "left"))
    right = int(np.searchsorted(ranked, true_score, "right"))
    above = {"ascending": left, "descending": len(ranked) - right}[order]
    return above, right - left


def count_large(
    scores: npt.NDArray[Any],
    targets: int | Sequence[int],
    *,
    rows: Sequence[int] | None = None,
    filter: Lists | None = None,
    candidates: Lists | None = None,
    order: str = "descending",
    nan: str = "raise",
    dtype: str | None = None,
) -> Counts:
    """Count larger problems, whose indices are in range; NaN is treated as in the definition."""
    table = np.atleast_2d(scores)
    columns = table.shape[1]
    targets, rows = tasks_of(scores, targets, rows)
    result = np.zeros((6, len(targets)), np.int64)
    refused: list[tuple[int, int]] = []
    by_row: dict[int, list[int]] = {}
    for i, r in enumerate(rows):
        by_row.setdefault(int(r), []).append(i)

    for r, members in by_row.items():
        row = widen(table[r], dtype)
        everyone = np.ones(columns, bool)
        bad = np.isnan(row)
        infinite = np.isinf(row)
        ranked = np.sort(row[~bad])
        # Tasks without selections share the members of S that are NaN, infinite, or at the best.
        shared = describe(everyone, bad, infinite, ranked, ranked, order)
        for i in members:
            true_score = row[targets[i]]
            chosen = everyone
            s = ranked
            described = shared
            if filter is not None or candidates is not None:
                if candidates is not None:
                    chosen = ~everyone
                    chosen[np.asarray(candidates[i], np.int64)] = True
                unfiltered = row[chosen & ~bad]
                if filter is not None:
                    chosen = chosen.copy()
                    chosen[np.asarray(filter[i], np.int64)] = False
                    chosen[targets[i]] = True
                s = row[chosen & ~bad]
                described = describe(chosen, bad, infinite, unfiltered, s, order)
            members_of_s, first_nan, nans, infs, at_best = described
            left_out = nans if nan == "omit" else 0
            size = members_of_s - left_out
            if nan == "raise" and nans:
                refused.append((r, first_nan))
            if nan == "omit" and true_score != true_score:
                refused.append((r, int(targets[i])))
            if true_score != true_score:
                above = size - 1
                tied = 1
            elif s is ranked:
                above, tied = count_in_sorted(s, true_score, order)
            else:
                above, tied = count_beside(s, true_score, order)
            result[:, i] = above, tied, size, nans, infs, at_best
    if refused:
        raise Refused(["scores"], nan=min(refused))
    return Counts(*result)
