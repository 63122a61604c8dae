"""Entity alignment by its definition: one pair at a time, on a dense matrix of similarities.

Queries, filters and candidates are Python sets; CSLS is computed in NumPy
with every sum in the documented order. Ranks are counted by `counting.count`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from oracles import counting
from oracles.embeddings import mean_topk, with_csls

Array = npt.NDArray[Any]
Pair = tuple[int, int]
Pairs = Sequence[Pair]
SIDES = ("left_to_right", "right_to_left")


@dataclass
class Side:
    """One direction, with one entry of each list per task."""

    queries: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    # These are other right answers, which the filter leaves out.
    others: list[set[int]] = field(default_factory=list)
    candidates: list[int] = field(default_factory=list)  # All tasks have the same.


@dataclass
class Found:
    """What an audit must find: positions in the test."""

    duplicates: list[int]
    leaks: dict[str, list[int]]


def audit(test: Pairs, known: dict[str, Pairs]) -> Found:
    repeats = [i for i, pair in enumerate(test) if pair in test[:i]]
    leaks = {name: [i for i, p in enumerate(test) if p in rows] for name, rows in known.items()}
    return Found(repeats, leaks)


def candidates(
    what: Any, test: Pairs, known: dict[str, Pairs], sizes: tuple[int, int]
) -> tuple[list[int], list[int]]:
    """Return the candidates of both graphs, for the test pairs that are ranked."""
    both = []
    for j in range(2):
        asked = {pair[j] for pair in test}
        aligned = {pair[j] for pairs in known.values() for pair in pairs}
        chosen = {
            "all": set(range(sizes[j])),
            "test": asked,
            "unaligned": (set(range(sizes[j])) - aligned) | asked,
        }
        if isinstance(what, str):
            both.append(sorted(chosen[what]))
        else:
            both.append(sorted(set(what[j])))
    return both[0], both[1]


def sides(
    test: Pairs,
    chosen: Sequence[int],
    known: dict[str, Pairs],
    among: tuple[Sequence[int], Sequence[int]],
) -> dict[str, Side]:
    """Return the tasks of the chosen test pairs; all test pairs are known to be true."""
    every = set(test).union(*known.values())
    made = {name: Side(candidates=list(among[1 - j])) for j, name in enumerate(SIDES)}
    for i in chosen:
        for j, name in enumerate(SIDES):
            query = test[i][j]
            target = test[i][1 - j]
            side = made[name]
            side.queries.append(query)
            side.targets.append(target)
            side.others.append({pair[1 - j] for pair in every if pair[j] == query} - {target})
    return made


def scaled(
    scores: Array, k: int, among: tuple[Sequence[int], Sequence[int]], nan: str = "raise"
) -> Array:
    """Return CSLS of a whole matrix: 2 s(x, y) - (r_left(x) + r_right(y)).

    float16 is widened to float32; a NaN between two candidates raises `counting.Refused`.
    """
    kind = np.result_type(scores.dtype, np.float32)
    wide = scores.astype(kind)
    left, right = among
    if nan == "raise":
        for x in left:
            for y in right:
                if np.isnan(wide[x, y]):
                    raise counting.Refused(["scores"], nan=(x, y))
    rows = np.full(len(wide), np.nan, kind)
    columns = np.full(wide.shape[1], np.nan, kind)
    among_all = wide[np.ix_(left, right)]
    rows[left] = mean_topk(among_all, k)
    columns[right] = mean_topk(among_all.T, k)
    return with_csls(wide, (rows, columns, 0))


def count(scores: Array, side: Side, *, turned: bool, **rules: Any) -> counting.Counts:
    """Return the counts of one direction; `turned` means that columns are the queries."""
    table = scores
    if turned:
        table = np.ascontiguousarray(scores.T)
    try:
        return counting.count(
            table,
            side.targets,
            rows=side.queries,
            filter=[sorted(others) for others in side.others],
            candidates=[side.candidates] * len(side.targets),
            **rules,
        )
    except counting.Refused as refused:
        if turned and refused.nan is not None:
            raise counting.Refused(refused.names, nan=(refused.nan[1], refused.nan[0])) from None
        raise


def counts(scores: Array, made: dict[str, Side], **rules: Any) -> counting.Counts:
    """Return the counts of both directions, one after the other."""
    parts = [count(scores, made[name], turned=bool(j), **rules) for j, name in enumerate(SIDES)]
    return counting.Counts(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
