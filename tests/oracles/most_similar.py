"""The most similar entities by sorting all similarities, and calls drawn by hypothesis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from oracles.alignment import scaled
from oracles.counting import Refused
from oracles.embeddings import score
from strategies.score_matrices import lists_of_ids
from support.problems import Array


@dataclass
class Call:
    """The arguments of a call that finds the most similar entities."""

    left: Array
    right: Array | None
    keywords: dict[str, Any]

    def most_similar(self, k: int) -> tuple[list[int], list[int], list[list[tuple[int, float]]]]:
        """Return queries, candidates, and each query's (id, similarity), most similar first."""
        get = self.keywords.get
        matrix = self.left
        if self.right is not None:
            matrix = score(self.left, self.right, get("similarity", "cosine"))
        among = []
        for ids, size in zip(get("candidates") or (None, None), matrix.shape, strict=True):
            if ids is None:
                ids = range(size)
            among.append(sorted(set(ids)))
        nan = get("nan", "raise")
        csls = get("csls")
        if csls is not None:
            matrix = scaled(matrix, csls, (among[0], among[1]), nan)
        direction = get("direction", "left_to_right")
        asking = ("left_to_right", "right_to_left").index(direction)
        table = (matrix, matrix.T)[asking]
        queries = among[asking]
        if get("queries") is not None:
            queries = sorted(set(get("queries")))
        targets = among[1 - asking]
        if csls is not None and not set(queries) <= set(among[asking]):
            raise Refused(["queries"])
        found = []
        for i in queries:
            row = [(j, float(table[i, j])) for j in targets]
            if nan == "raise" and any(s != s for _, s in row):
                raise Refused(["scores"])
            found.append(sorted((x for x in row if x[1] == x[1]), key=lambda x: (-x[1], x[0]))[:k])
        return queries, targets, found


@st.composite
def calls(draw: st.DrawFn) -> Call:
    """Draw a few small vectors that often tie, some with NaN, or a matrix."""
    n1 = draw(st.integers(1, 9))
    n2 = draw(st.integers(1, 9))
    d = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtypes = ["float16", "float32", "float64"]
    left, right = (
        rng.integers(-1, 3, (n, d)).astype(draw(st.sampled_from(dtypes))) for n in (n1, n2)
    )
    for side in (left, right):
        if draw(st.integers(0, 5)) == 0:
            side[rng.integers(len(side))] = np.nan
    keywords: dict[str, Any] = {"direction": draw(st.sampled_from(["left_to_right"] * 2 + [""]))}
    keywords["direction"] = keywords["direction"] or "right_to_left"
    keywords["nan"] = draw(st.sampled_from(["raise", "omit"]))
    keywords["csls"] = draw(st.sampled_from([None, None, 1, 2, 10]))
    if draw(st.booleans()):
        ids = [st.none() | lists_of_ids(st.integers(0, n - 1), n, least=1) for n in (n1, n2)]
        keywords["candidates"] = tuple(draw(side) for side in ids)
    if draw(st.booleans()):
        asking = {"left_to_right": n1, "right_to_left": n2}[keywords["direction"]]
        keywords["queries"] = draw(lists_of_ids(st.integers(0, asking - 1), asking, least=1))
    if draw(st.integers(0, 3)) == 0:
        matrix = score(left, right, "dot").astype(draw(st.sampled_from(dtypes[1:])))
        return Call(matrix, None, keywords)
    keywords["similarity"] = draw(st.sampled_from(["cosine", "dot", "l1", "sql2"]))
    keywords["threads"] = draw(st.sampled_from([1, 2]))
    return Call(left, right, keywords)
