"""Ranks from lists with misses: the counts of a matrix in which what is not listed is the worst."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from oracles import counting
from oracles.counting import Lists, Number, Refused


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
    rows = list(range(len(targets)) if rows is None else rows)
    values = {score for one in scores for score in one if not math.isnan(score)}
    heights = {x: i for i, x in enumerate(sorted(values, reverse=order == "ascending"))}
    table = np.full((len(ids), candidates), -1.0)
    for row, one, listed in zip(table, scores, ids, strict=True):
        row[np.array(listed, np.int64)] = [heights.get(score, np.nan) for score in one]
    try:
        counts = counting.count(table, targets, rows=rows, filter=filter, nan=nan)
    except Refused:
        raise Refused(["scores", "NaN"]) from None
    are_listed = [target in ids[row] for target, row in zip(targets, rows, strict=True)]
    columns = (counts.above, counts.tied, counts.candidates)
    return list(map(Counted, *(column.tolist() for column in columns), are_listed))


def _check_ids(ids: Lists, n: int) -> None:
    for i, one in enumerate(ids):
        places: dict[int, int] = {}
        for place, candidate in enumerate(one):
            if not 0 <= candidate < n:
                raise Refused(["ids", f"{candidate} in list {i}, at position {place}"])
            if candidate in places:
                where = f"{candidate} in list {i}, at positions {places[candidate]} and {place}"
                raise Refused(["ids", where])
            places[candidate] = place
