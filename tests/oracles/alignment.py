"""Entity alignment by its definition, on a dense matrix of similarities.

A pair is a fact: its right entity is asked as a tail, its left one as a head. CSLS is computed in
NumPy with every sum in the documented order. Ranks are counted by `counting.count`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from oracles import counting, link_prediction
from oracles.embeddings import mean_topk, with_csls
from oracles.link_prediction import Found, Side

Array = npt.NDArray[Any]
Pair = tuple[int, int]
Pairs = Sequence[Pair]
Known = Mapping[str, Pairs]
SIDES = {"left_to_right": "tail", "right_to_left": "head"}


def as_facts(pairs: Pairs) -> list[link_prediction.Triple]:
    return [(left, 0, right) for left, right in pairs]


def audit(test: Pairs, known: Known) -> Found:
    splits = {name: as_facts(pairs) for name, pairs in known.items()}
    return link_prediction.audit(as_facts(test), splits)


def candidates(
    what: Any, test: Pairs, known: Known, sizes: tuple[int, int]
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


def sides(test: Pairs, chosen: Sequence[int], known: Known) -> dict[str, Side]:
    """Return the tasks of the chosen test pairs; all test pairs are known to be true."""
    splits = {name: as_facts(pairs) for name, pairs in known.items()}
    made = {}
    for j, (name, asked) in enumerate(SIDES.items()):
        made[name] = link_prediction.side(asked, as_facts(test), splits, chosen)
        made[name].queries = [test[i][j] for i in chosen]
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
    among_all = wide[np.ix_(left, right)]
    if nan == "raise" and np.isnan(among_all).any():
        x, y = np.argwhere(np.isnan(among_all))[0].tolist()
        raise counting.Refused(["scores"], nan=(left[x], right[y]))
    rows = np.full(len(wide), np.nan, kind)
    columns = np.full(wide.shape[1], np.nan, kind)
    rows[left] = mean_topk(among_all, k)
    columns[right] = mean_topk(among_all.T, k)
    return with_csls(wide, (rows, columns, 0))


def counts(
    scores: Array, made: dict[str, Side], among: tuple[Sequence[int], Sequence[int]], **rules: Any
) -> counting.Counts:
    """Return the counts of both directions, one after the other."""
    parts = []
    for j, side in enumerate(made.values()):
        options = {
            "rows": side.queries,
            "filter": list(map(sorted, side.answers)),
            "candidates": [among[1 - j]] * len(side.targets),
        }
        table = (scores, scores.T)[j]
        try:
            parts.append(counting.count(table, side.targets, **options, **rules))
        except counting.Refused as refused:
            if j and refused.nan is not None:
                raise counting.Refused(refused.names, nan=refused.nan[::-1]) from None
            raise
    return counting.Counts(*map(np.concatenate, zip(*parts, strict=True)))
