"""Ranks from lists with misses, by sets and loops over Python numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

from oracles.counting import Lists, Number, Refused, filtered_columns


class Counted(NamedTuple):
    """What is known of a task."""

    above: int
    tied: int
    candidates: int
    listed: bool


def count(
    ids: Lists,
    scores: Sequence[Sequence[Number]] | None,
    targets: Sequence[int],
    *,
    candidates: int,
    rows: Sequence[int] | None = None,
    filter: Lists | None = None,
    order: str = "descending",
    nan: str = "raise",
) -> list[Counted]:
    """Count every task; a list without scores gets those of its positions."""
    _check_ids(ids, candidates)
    if scores is None:
        order = "ascending"
        scores = [range(len(one)) for one in ids]
    if rows is None:
        rows = range(len(targets))
    left_out = [filtered_columns(filter, i) for i in range(len(targets))]
    tasks = [
        Task(dict(zip(ids[row], scores[row], strict=True)), target, out - {target})
        for row, target, out in zip(rows, targets, left_out, strict=True)
    ]
    if any(math.isnan(t.listed.get(t.target, 0)) for t in tasks) and nan != "worst":
        raise Refused(["scores", "NaN"])
    if nan == "raise" and any(math.isnan(b) for t in tasks for b in t.others()):
        raise Refused(["scores", "NaN"])
    return [count_task(task, candidates, order, nan) for task in tasks]


class Task(NamedTuple):
    """What a list has, ids or names with their scores; the target; and what is left out."""

    listed: dict[Any, Number]
    target: Any
    out: set[Any]

    def others(self) -> list[Number]:
        skipped = self.out | {self.target}
        return [score for candidate, score in self.listed.items() if candidate not in skipped]


def count_task(task: Task, n: int, order: str = "descending", nan: str = "raise") -> Counted:
    numbers = [b for b in task.others() if not math.isnan(b)]
    nans = len(task.others()) - len(numbers)
    size = n - len(task.out)
    if nan == "omit":
        size -= nans
    if task.target not in task.listed:
        tied = size - len(numbers)
        if nan == "worst":
            tied -= nans
        return Counted(len(numbers), tied, size, False)
    a = task.listed[task.target]
    if math.isnan(a):
        return Counted(size - 1, 1, size, True)
    is_better = {"ascending": operator.lt, "descending": operator.gt}[order]
    above = sum(is_better(b, a) for b in numbers)
    return Counted(above, 1 + sum(b == a for b in numbers), size, True)


def _check_ids(ids: Lists, n: int) -> None:
    for i, one in enumerate(ids):
        seen: set[int] = set()
        for position, candidate in enumerate(one):
            if not 0 <= candidate < n:
                raise Refused(["ids", f"{candidate} in list {i}, at position {position}"])
            if candidate in seen:
                first = one.index(candidate)
                where = f"{candidate} in list {i}, at positions {first} and {position}"
                raise Refused(["ids", where])
            seen.add(candidate)
