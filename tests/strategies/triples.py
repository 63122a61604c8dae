"""Triples of several splits drawn by hypothesis, in every form that a task takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from oracles import link_prediction as oracle

ENTITIES, RELATIONS = 6, 3
NAMES = [f"entity {i}" for i in range(ENTITIES)]
WORDS = [f"relation {i}" for i in range(RELATIONS)]
Rows = list[tuple[int, ...]]


@st.composite
def splits(draw: st.DrawFn) -> tuple[Rows, dict[str, Rows], tuple[int, ...] | None]:
    """Draw the test, known splits and keys; small ids make duplicates, leaks and loops likely."""
    qualifiers = draw(st.integers(0, 2))
    far = draw(st.sampled_from([0, 0, 2**62]))  # qualifiers are any integers
    row = st.tuples(
        *(st.integers(0, 4), st.integers(0, 2), st.integers(0, 4)),
        *(st.sampled_from([-far, 0, 3, far]) for _ in range(qualifiers)),
    )
    known = draw(st.lists(st.lists(row, max_size=12), max_size=3))
    test = draw(st.lists(row, min_size=1, max_size=10))
    last = draw(st.sampled_from(["train", "split 2"]))  # others may stand before it
    names = draw(st.permutations(["split 0", "split 1", last]))
    keys = draw(st.sampled_from([None, (), tuple(range(3, 3 + qualifiers)), (2 + qualifiers,)]))
    return test, dict(zip(names, known, strict=False)), None if keys == (2,) else keys


@dataclass
class Given:
    """The arguments of a task, and what it is by the definition."""

    test: Rows
    known: dict[str, Rows] | None
    keys: tuple[int, ...] | None
    sides: tuple[str, ...]
    rules: dict[str, str]
    candidates: Any
    labelled: bool

    @property
    def key_columns(self) -> tuple[int, ...]:
        return tuple(range(3, len(self.test[0]))) if self.keys is None else self.keys

    @property
    def found(self) -> oracle.Found:
        return oracle.audit(self.test, self.known or {}, self.key_columns)

    @property
    def chosen(self) -> list[int]:
        """Return the positions of the test triples that are ranked."""
        return oracle.chosen_positions(self.found, **self.rules, given=len(self.test))

    def side(self, name: str) -> oracle.Side:
        return oracle.side(name, self.test, self.known or {}, self.chosen, self.key_columns)

    def columns(self, side: str) -> int:
        return RELATIONS if side == "relation" else ENTITIES

    def form(self, rows: Rows) -> Any:
        """Return triples as an array of ids, or as tuples of labels."""
        if not self.labelled:
            return np.array(rows, np.int64).reshape(-1, len(self.test[0]))
        return [(NAMES[h], WORDS[r], NAMES[t], *map(str, more)) for h, r, t, *more in rows]

    @property
    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `Task`."""
        known = self.known
        return {
            "test": self.form(self.test),
            "known": known and {name: self.form(rows) for name, rows in known.items()},
            "entities": NAMES if self.labelled else ENTITIES,
            "relations": WORDS if self.labelled else RELATIONS,
            "sides": self.sides,
            "candidates": self.candidates,
            "keys": self.keys,
            **self.rules,
        }

    def members(self, side: str) -> list[set[int]]:
        """Return the candidates of each task, before the filter; samples are not of them."""
        made = self.side(side)
        every = set(range(self.columns(side)))
        if isinstance(self.candidates, list):
            return [set(self.candidates)] * len(made.targets)
        if self.candidates == "typed":
            return made.typed
        if self.candidates == "train":
            rows = (self.known or {})["train"]
            every = (
                {r[1] for r in rows} if side == "relation" else {r[c] for r in rows for c in (0, 2)}
            )
        return [every] * len(made.targets)

    @property
    def missing(self) -> bool:
        """Whether an answer is not among its candidates."""
        return any(
            target not in among
            for side in self.sides
            for target, among in zip(self.side(side).targets, self.members(side), strict=True)
        )


SIDES: Sequence[tuple[str, ...]] = (
    ("head", "tail"), ("tail",), ("tail", "head"), ("relation",), ("tail", "relation", "head")
)  # fmt: skip


@st.composite
def given_tasks(draw: st.DrawFn) -> Given:
    """Draw the arguments of a task; "raise" rules and candidates may refuse it."""
    test, known, keys = draw(splits())
    sides = draw(st.sampled_from(SIDES))
    rules = {
        name: draw(st.sampled_from(["keep", "keep", "drop", "raise"]))
        for name in ("duplicates", "leaks", "unseen")
    }
    if not known:
        rules["unseen"] = "keep"
    names: list[Any] = [None, "all"]
    names += ["train"] * ("train" in known) + ["typed"] * ("relation" not in sides)
    of_both = "relation" in sides and len(sides) > 1  # which no list can be for
    candidates = draw(st.sampled_from([*names, *[[]] * (not of_both)]))
    if candidates == []:
        last = RELATIONS if sides == ("relation",) else ENTITIES
        candidates = draw(st.lists(st.integers(0, last - 1), min_size=1))
        if draw(st.booleans()):  # all answers are among them
            places = (1,) if sides == ("relation",) else (0, 2)
            candidates += [row[place] for row in test for place in places]
    nothing = None if not known and draw(st.booleans()) else known
    return Given(test, nothing, keys, sides, rules, candidates, draw(st.booleans()))
