"""Triples of several splits drawn by hypothesis, and what a task of them is by its definition."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from hypothesis import strategies as st

from oracles import link_prediction as oracle
from strategies.count_problems import no_mask
from truerank.link_prediction import Sampled

ENTITIES, RELATIONS = 6, 3
NAMES = [f"entity {i}" for i in range(ENTITIES)]
WORDS = [f"relation {i}" for i in range(RELATIONS)]
COLUMNS = {"head": ENTITIES, "tail": ENTITIES, "relation": RELATIONS}
Rows = list[tuple[Any, ...]]


def lists_of(selection: Any) -> list[list[int]]:
    """Return the lists of a selection: of each task, or of each query."""
    indptr, indices = selection[:2]
    of_tasks = selection[2:]  # the list of each task, where tasks share lists
    parts = [part.tolist() for part in np.split(indices, indptr[1:-1])]
    if not of_tasks:
        return parts
    return [parts[i] for i in of_tasks[0].tolist()]


@dataclass
class Given:
    """The arguments of a task, and what it is by the definition."""

    test: Rows
    known: dict[str, Rows] | None
    keys: tuple[int, ...] | None
    sides: tuple[str, ...]
    rules: dict[str, str]
    candidates: Any
    filter: str | None
    labelled: bool

    @property
    def key_columns(self) -> tuple[int, ...]:
        if self.keys is None:
            return tuple(range(3, len(self.test[0])))
        return self.keys

    @property
    def found(self) -> oracle.Found:
        columns = self.key_columns
        if self.filter == "fact":  # All further columns are part of a fact.
            columns = tuple(range(3, len(self.test[0])))
        return oracle.audit(self.test, self.known or {}, columns)

    @property
    def chosen(self) -> list[int]:
        """Return the positions of the test triples that are ranked."""
        return oracle.chosen_positions(self.found, **self.rules, given=len(self.test))

    def side(self, name: str, keys: tuple[int, ...] | None = None) -> oracle.Side:
        if keys is None:
            keys = self.key_columns
        return oracle.side(name, self.test, self.known or {}, self.chosen, keys)

    @property
    def rule(self) -> str:
        """Return the filter that the task has: that which is said, or that of all known splits."""
        return self.filter or "query"

    def left_out(self, side: str) -> list[set[int]]:
        """Return what the filter leaves out of the candidates of each task."""
        filter = self.rule
        if filter == "none":
            return [set() for _ in self.chosen]
        columns = {"query": None, "triple": (), "fact": tuple(range(3, len(self.test[0])))}
        return self.side(side, columns[filter]).answers

    def columns(self, side: str) -> int:
        return COLUMNS[side]

    def form(self, rows: Rows) -> Any:
        """Return triples as an array of ids, or as tuples of labels and further integers."""
        if not self.labelled:
            array = np.array(rows, np.int64).reshape(-1, len(self.test[0]))
            array.flags.writeable = False
            return array
        return [(NAMES[row[0]], WORDS[row[1]], NAMES[row[2]], *row[3:]) for row in rows]

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
            "filter": self.filter,
            **self.rules,
        }

    def pool(self, side: str) -> list[set[int]]:
        """Return what the candidates of each task are, or are drawn from, before the filter."""
        made = self.side(side)
        among = self.candidates
        if isinstance(among, dict):
            among = among.get(side, among)
        if isinstance(among, dict):
            return [set(among.get(self.test[i][1], ())) for i in self.chosen]
        if isinstance(among, Sampled):
            if among.typed:
                return made.typed
            among = among.among
        elif isinstance(among, tuple):
            lists = lists_of(among)
            return [set(lists[i]) for i in self.chosen]
        if among == "typed":
            return made.typed
        every = set(range(COLUMNS[side]))
        if isinstance(among, list):
            every = set(among)
        elif among in (self.known or {}):
            rows = (self.known or {})[among]
            places = places_of((side,))
            every = {row[place] for row in rows for place in places}
        return [every] * len(made.targets)

    @property
    def is_refused(self) -> bool:
        """Whether a rule says so, no triple is left, or an answer is not among its candidates."""
        found = self.found
        faults = {"duplicates": found.duplicates, "unseen": found.unseen}
        faults["leaks"] = [i for positions in found.leaks.values() for i in positions]
        if any(self.rules[name] == "raise" and positions for name, positions in faults.items()):
            return True
        pools = [zip(self.side(s).targets, self.pool(s), strict=True) for s in self.sides]
        missing = any(target not in among for pairs in pools for target, among in pairs)
        return not self.chosen or missing


def places_of(sides: tuple[str, ...]) -> tuple[int, ...]:
    """Return where triples have the candidates of these sides."""
    if sides == ("relation",):
        return (1,)
    return (0, 2)


SIDES: tuple[tuple[str, ...], ...] = (
    ("head", "tail"), ("tail",), ("tail", "head"), ("relation",), ("tail", "relation", "head")
)  # fmt: skip


@st.composite
def given_tasks(draw: st.DrawFn, rules: tuple[str, ...] = ("keep", "drop", "raise")) -> Given:
    """Draw the arguments of a task; small ids make duplicates, leaks and loops likely."""
    qualifiers = draw(st.integers(0, 2))
    far = draw(st.sampled_from([0, 0, 2**62]))  # qualifiers are any integers
    further = [-far, 0, 3, far]
    few = draw(st.sampled_from([4, 1]))  # so that facts of a query have several times
    columns = [st.integers(0, few), st.integers(0, few // 2), st.integers(0, 4)]
    columns.extend([st.sampled_from(further)] * qualifiers)
    row = st.tuples(*columns)
    splits = draw(st.lists(st.lists(row, max_size=12), max_size=3))
    test = draw(st.lists(row, min_size=1, max_size=10))
    if qualifiers:  # a fact at a second time
        test.append((*test[0][:-1], draw(row)[-1]))
    last = draw(st.sampled_from(["train", "split 2"]))  # others may stand before it
    names = draw(st.permutations(["split 0", "split 1", last]))
    known = dict(zip(names, splits, strict=False))
    if not splits and draw(st.booleans()):
        known = None
    every = tuple(range(3, 3 + qualifiers))
    choices: list[tuple[int, ...] | None] = [(), every, every[-1:]]
    if not every:  # a further column is read only where `keys` says so
        choices.append(None)
    keys = draw(st.sampled_from(choices))
    sides = draw(st.sampled_from(SIDES))
    chosen = {name: draw(st.sampled_from(rules)) for name in ("duplicates", "leaks", "unseen")}
    if not known:
        chosen["unseen"] = "keep"
    filter = None
    if known is not None:
        filter = draw(st.sampled_from([None, "query", "triple", "fact", "none"]))
    candidates = draw(candidate_sets(test, sides, list(known or {})))
    options = keys, sides, chosen, candidates, filter, draw(st.booleans())
    return Given(test, known, *options)


@st.composite
def candidate_sets(draw: st.DrawFn, test: Rows, sides: tuple[str, ...], splits: list[str]) -> Any:
    """Draw `candidates`: all, a name, a list, a sample, lists of triples or relations; by side."""
    last = {side: COLUMNS[side] - 1 for side in sides}
    names = list(splits)
    forms = ["name", "sampled", "lists"]
    if "relation" not in sides:
        names.insert(0, "typed")
        forms += ["relations", "sides"]
    if "relation" not in sides or len(sides) == 1:  # a list is of entities, or of relations
        forms.append("list")
    form = draw(st.sampled_from(forms))
    if form == "name":
        return draw(st.sampled_from([None, "all", *names]))
    if form == "sampled":
        among = draw(st.sampled_from([None, *names]))
        options = {"among": among}
        if among == "typed":
            options = {"typed": True}
        return Sampled(draw(st.integers(1, ENTITIES + 1)), seed=3, **options)
    if form == "lists":
        by_side = {}
        for side, most in last.items():
            lists = [draw(st.lists(st.integers(0, most), max_size=4)) for _ in test]
            if draw(st.integers(0, 3)):  # each has the answer
                place = oracle.TARGET_COLUMN[side]
                lists = [[*each, row[place]] for each, row in zip(lists, test, strict=True)]
            indptr = np.cumsum([0, *map(len, lists)])
            by_side[side] = indptr, np.array(list(chain.from_iterable(lists)), np.int64)
        return by_side
    if form == "relations":
        return draw(lists_of_relations(test))
    if form == "sides":
        of_sides = {}
        for side in sides:
            of_sides[side] = draw(st.just("typed") | lists_of_relations(test))
        return of_sides
    candidates = draw(st.lists(st.integers(0, min(last.values())), min_size=1))
    if draw(st.integers(0, 3)):  # all answers are among them
        candidates += [row[place] for row in test for place in places_of(sides)]
    return no_mask(candidates, min(last.values()) + 1)


@st.composite
def lists_of_relations(draw: st.DrawFn, test: Rows) -> dict[int, list[int]]:
    """Draw candidates of some relations, which mostly have all answers of the test."""
    answers: list[int] = []
    relations = {draw(st.integers(0, RELATIONS - 1))}
    if draw(st.integers(0, 3)):
        answers = [row[place] for row in test for place in places_of(("tail",))]
        relations |= {row[1] for row in test}
    entities = st.lists(st.integers(0, ENTITIES - 1), min_size=1)
    return {relation: no_mask(draw(entities) + answers, ENTITIES) for relation in sorted(relations)}
