"""Alignments drawn by hypothesis: m:n pairs, known pairs, candidates, matrices with ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from oracles import alignment as oracle
from oracles.alignment import Array, Pair
from oracles.link_prediction import Found, Side, chosen_positions
from strategies.embeddings import VALUES, numbers
from support.outcomes import quietly
from truerank.alignment import Task

NAN_RULES = ("raise", "worst", "omit")
DTYPES = (np.float16, np.float32, np.float64)


@dataclass
class Alignment:
    """The arguments of a task, and what it is by the definition."""

    sizes: tuple[int, int]
    test: list[Pair]
    known: dict[str, list[Pair]] | None
    candidates: Any
    rules: dict[str, str]

    @property
    def chosen(self) -> list[int]:
        """Return the positions of the test pairs that are ranked."""
        return chosen_positions(self.found, given=len(self.test), **self.rules)

    @property
    def found(self) -> Found:
        """Return what the audit must find."""
        return oracle.audit(self.test, self.known or {})

    @property
    def among(self) -> tuple[list[int], list[int]]:
        """Return the candidates of both graphs."""
        ranked = [self.test[i] for i in self.chosen]
        return oracle.candidates(self.candidates, ranked, self.known or {}, self.sizes)

    @property
    def sides(self) -> dict[str, Side]:
        """Return the tasks of both directions."""
        return oracle.sides(self.test, self.chosen, self.known or {})

    @property
    def given(self) -> dict[str, Any]:
        """Return the arguments of `Task` except the pairs."""
        left, right = self.sizes
        candidates = self.candidates
        if isinstance(candidates, tuple):  # The left ones are ranked from right to left.
            candidates = {"right_to_left": candidates[0], "left_to_right": candidates[1]}
        given = {"left": left, "right": right, "known": self.known, "candidates": candidates}
        return given | self.rules

    def task(self) -> Task:
        """Return the task of the package, without warnings."""
        made: Task = quietly(Task, self.test, **self.given)
        return made


@st.composite
def alignments(draw: st.DrawFn, *, most: int = 7) -> Alignment:
    """Draw small graphs, so that duplicates, leaks and several counterparts are frequent."""
    sizes = draw(st.integers(1, most)), draw(st.integers(1, most))
    pair = st.tuples(st.integers(0, sizes[0] - 1), st.integers(0, sizes[1] - 1))
    test = draw(st.lists(pair, min_size=1, max_size=8))
    splits = draw(st.lists(st.lists(pair, max_size=8), max_size=2))
    known = dict(zip(("train", "valid"), splits, strict=False))
    rules = {name: draw(st.sampled_from(["keep", "drop"])) for name in ("duplicates", "leaks")}
    found = oracle.audit(test, known)
    if not chosen_positions(found, given=len(test), **rules):
        rules["leaks"] = "keep"
    names = ["all", "test", "explicit"]
    if known:
        names.append("unaligned")
    candidates: Any = draw(st.sampled_from(names))
    if candidates == "explicit":
        both = []
        for j, size in enumerate(sizes):
            ids = {pair[j] for pair in test} | draw(st.sets(st.integers(0, size - 1)))
            both.append(draw(st.permutations(sorted(ids))))
        candidates = tuple(both)
    return Alignment(sizes, test, draw(st.sampled_from([known, known or None])), candidates, rules)


@st.composite
def matrices(draw: st.DrawFn, sizes: tuple[int, int], kinds: Sequence[Any] = DTYPES) -> Array:
    """Draw few distinct similarities, so that many tie; infinities and NaN are among them."""
    usual = st.sampled_from([-1.0, -0.0, 0.0, 0.1, 0.5, 1.0, 3.0])
    odd = st.sampled_from([-np.inf, np.inf, np.nan, np.nan])
    values = draw(st.lists(st.one_of(usual, usual, odd), min_size=1, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return rng.choice(np.array(values), sizes).astype(draw(st.sampled_from(kinds)))


@st.composite
def any_vectors(draw: st.DrawFn, sizes: tuple[int, int], *, nan: bool) -> tuple[Array, Array]:
    """Draw numbers of one or two dtypes, few or far apart, of which some vectors are equal."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kinds = [draw(st.sampled_from(["float32", "float32", "float16", "float64"])) for _ in sizes]
    choices = VALUES
    if "float64" in kinds:
        choices = VALUES[:3]
    values = draw(st.sampled_from(choices))
    length = 2 * draw(st.integers(1, 3))
    left, right = (
        numbers(rng, values, kind, (size, length), nan=nan)
        for kind, size in zip(kinds, sizes, strict=True)
    )
    if kinds[0] == kinds[1]:
        right[rng.integers(0, len(right), 3)] = left[rng.integers(0, len(left), 3)]
    return left, right
