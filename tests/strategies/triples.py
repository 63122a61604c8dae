"""Triples of several splits drawn by hypothesis, and what a task of them is by its definition."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from math import inf
from typing import Any

import numpy as np
from hypothesis import strategies as st

from oracles import link_prediction as oracle
from strategies.score_matrices import no_mask
from truerank.link_prediction import Negatives, Sampled

ENTITIES, RELATIONS = 6, 3
NAMES = [f"entity {i}" for i in range(ENTITIES)]
WORDS = [f"relation {i}" for i in range(RELATIONS)]
Rows = list[tuple[Any, ...]]

DAYS = "".join(f"{date(1983, 1, 1) + timedelta(days)} " for days in range(8 * 366))
DATES = ["####-##-##", "1984-##-##", "1984-02-##", "1984-12-31", "1985-01-01", "198#-##-##"]
SPANS = {label: oracle.days(label, DAYS) for label in DATES}


def lists_of(selection: Any) -> list[list[int]]:
    """Return the lists of a selection: of each task, or of each query."""
    indptr, indices, *which = selection
    parts = [part.tolist() for part in np.split(indices, indptr[1:-1])]
    return [parts[i] for i in which[0].tolist()] if which else parts


@dataclass
class Given:
    """The arguments of a task, and what it is by the definition.

    Rows have the ids that the task gives to dates: their places among `dates`, if there are any.
    """

    test: Rows
    known: dict[str, Rows] | None
    keys: tuple[int, ...] | None
    sides: tuple[str, ...]
    rules: dict[str, str]
    candidates: Any
    filters: list[str] | None
    labelled: bool
    time: int | tuple[int, int] | None = None
    dates: list[str] | None = None

    @property
    def time_columns(self) -> tuple[int, ...]:
        return self.time if isinstance(self.time, tuple) else (self.time,) * (self.time is not None)

    def span(self, value: int) -> tuple[float, float]:
        return (value, value) if self.dates is None else SPANS[self.dates[value]]

    def interval(self, row: tuple[Any, ...]) -> tuple[float, float]:
        spans = [self.span(row[column]) for column in self.time_columns]
        start, end = spans[0][0], spans[-1][1]
        return start, end if start <= end else inf

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

    def side(self, name: str, keys: tuple[int, ...] | None = None) -> oracle.Side:
        keys = self.key_columns if keys is None else keys
        return oracle.side(name, self.test, self.known or {}, self.chosen, keys)

    def left_out(self, side: str, filter: str) -> list[set[int]]:
        """Return what a filter leaves out of the candidates of each task."""
        if filter == "none":
            return [set() for _ in self.chosen]
        if filter == "overlap":
            others = [key for key in self.key_columns if key not in self.time_columns]
            args = side, self.test, self.known or {}, self.chosen, others, self.interval
            return oracle.overlapping(*args)
        columns = {"query": None, "triple": (), "fact": tuple(range(3, len(self.test[0])))}
        return self.side(side, columns[filter]).answers

    def columns(self, side: str) -> int:
        return RELATIONS if side == "relation" else ENTITIES

    def said(self, column: int, value: int) -> int | str:
        """Return an id as rows have it that are given to the task."""
        return self.dates[value] if self.dates and column in self.time_columns else value

    def form(self, rows: Rows) -> Any:
        """Return triples as an array of ids, or as tuples of labels, further integers and dates."""
        if self.dates is not None:
            rows = [tuple(map(self.said, range(len(row)), row)) for row in rows]
        if not self.labelled and (self.dates is None or not rows):
            array = np.array(rows, np.int64).reshape(-1, len(self.test[0]))
            array.flags.writeable = False
            return array
        if not self.labelled:
            return rows
        return [(NAMES[h], WORDS[r], NAMES[t], *more) for h, r, t, *more in rows]

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
            "filters": self.filters,
            "time": self.time,
            **self.rules,
        }

    def pool(self, side: str) -> list[set[int]]:
        """Return what the candidates of each task are, or are drawn from, before the filter."""
        made, what = self.side(side), self.candidates
        if isinstance(what, Negatives):
            negatives = getattr(what, side)
            pairs = zip(self.chosen, made.targets, strict=True)
            return [{*negatives[i], target} for i, target in pairs]
        if isinstance(what, Sampled):
            what = "typed" if what.typed else what.among
        if what == "typed":
            return made.typed
        every = set(range(self.columns(side)))
        if isinstance(what, list):
            every = set(what)
        elif what in (self.known or {}):
            rows = (self.known or {})[what]
            places = (1,) if side == "relation" else (0, 2)
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


SIDES: tuple[tuple[str, ...], ...] = (
    ("head", "tail"), ("tail",), ("tail", "head"), ("relation",), ("tail", "relation", "head")
)  # fmt: skip


@st.composite
def given_tasks(draw: st.DrawFn, rules: tuple[str, ...] = ("keep", "drop", "raise")) -> Given:
    """Draw the arguments of a task; small ids make duplicates, leaks and loops likely."""
    time = draw(st.sampled_from([None, None, 3, 4, (3, 4), (4, 3), (3, 5)]))
    timed = time if isinstance(time, tuple) else (time,) * (time is not None)
    qualifiers = draw(st.integers(0, 2)) if time is None else max(timed) - 2
    far = draw(st.sampled_from([0, 0, 2**62]))  # qualifiers are any integers
    further, times = [-far, 0, 3, far], draw(st.sampled_from([DATES, [-3, 0, 1, 2, 7]]))
    few = 4 if time is None else 1  # so that facts of a query have several times
    row = st.tuples(
        *(st.integers(0, few), st.integers(0, few // 2), st.integers(0, 4)),
        *(st.sampled_from(times if i in timed else further) for i in range(3, 3 + qualifiers)),
    )
    splits = draw(st.lists(st.lists(row, max_size=12), max_size=3))
    test = draw(st.lists(row, min_size=1, max_size=10))
    if timed:  # a fact at a second time
        test.append(tuple(draw(row)[i] if i == timed[-1] else x for i, x in enumerate(test[0])))
    last = draw(st.sampled_from(["train", "split 2"]))  # others may stand before it
    names = draw(st.permutations(["split 0", "split 1", last]))
    known = None if not splits and draw(st.booleans()) else dict(zip(names, splits, strict=False))
    every = tuple(range(3, 3 + qualifiers))
    keys = draw(st.sampled_from([None, (), every, every[-1:]]))
    sides = draw(st.sampled_from(SIDES))
    chosen = {name: draw(st.sampled_from(rules)) for name in ("duplicates", "leaks", "unseen")}
    if not known:
        chosen["unseen"] = "keep"
    filters = None
    if known is not None and draw(st.booleans()):
        forms = ["query", "triple", "fact", "none", *["overlap"] * (time is not None)]
        filters = draw(st.permutations(forms))[: draw(st.integers(1, 5))]
    candidates = draw(candidate_sets(test, sides, list(known or {})))
    found = {row[i] for rows in (test, *(known or {}).values()) for row in rows for i in timed}
    dates = sorted(found, key=SPANS.__getitem__) if times is DATES and timed else None
    if dates is not None:
        code = {date: i for i, date in enumerate(dates)}

        def coded(rows: Rows) -> Rows:
            return [tuple(code[x] if i in timed else x for i, x in enumerate(row)) for row in rows]

        test = coded(test)
        known = known and {name: coded(rows) for name, rows in known.items()}
    options = keys, sides, chosen, candidates, filters, draw(st.booleans()), time, dates
    return Given(test, known, *options)


@st.composite
def candidate_sets(draw: st.DrawFn, test: Rows, sides: tuple[str, ...], splits: list[str]) -> Any:
    """Draw the argument `candidates`: all, a name, a list, a sample, or lists of negatives."""
    last = {side: (RELATIONS if side == "relation" else ENTITIES) - 1 for side in sides}
    typed = ["typed"] * ("relation" not in sides)
    one_kind = "relation" not in sides or len(sides) == 1  # a list is of entities, or of relations
    how = draw(st.sampled_from(["name", "sampled", "negatives", *["list"] * one_kind]))
    if how == "name":
        return draw(st.sampled_from([None, "all", *typed, *splits]))
    if how == "sampled":
        among = draw(st.sampled_from([None, *typed, *splits]))
        options = {"typed": True} if among == "typed" else {"among": among}
        return Sampled(draw(st.integers(1, ENTITIES + 1)), seed=3, **options)
    if how == "negatives":
        n = len(test)
        lists = {
            side: st.lists(st.lists(st.integers(0, most), max_size=4), min_size=n, max_size=n)
            for side, most in last.items()
        }
        return Negatives(**{side: draw(drawn) for side, drawn in lists.items()})
    candidates = draw(st.lists(st.integers(0, min(last.values())), min_size=1))
    if draw(st.integers(0, 3)):  # all answers are among them
        places = (1,) if sides == ("relation",) else (0, 2)
        candidates += [row[place] for row in test for place in places]
    return no_mask(candidates, min(last.values()) + 1)
