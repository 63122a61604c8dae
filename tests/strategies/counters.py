"""Blocks of candidates drawn by hypothesis, for counters that are compared with the definition."""

from __future__ import annotations

import pickle
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

import truerank as tr
from oracles.counting import tasks_of
from strategies.count_problems import Problem, problems
from support.outcomes import assert_outcome, defined
from support.problems import LAYOUTS, Array

# Layouts that keep all scores.
FAITHFUL = [name for name in LAYOUTS if not name.endswith("for all")]
# What may be done to a counter after a block.
AFTER_A_BLOCK = ("nothing", "pickled", "saved")
# Keywords for a counter, and for the definition.
FOR_A_COUNTER = ("order", "nan", "dtype", "filter", "threads", "audit")
FOR_THE_DEFINITION = ("order", "nan", "dtype", "filter", "rows")


@dataclass
class Block:
    """Some columns, how they are handed over, to which counter, and what happens next."""

    columns: list[int]
    layout: str
    by_start: bool
    counter: int
    then: str


@dataclass
class Counted:
    """A problem, and blocks that have each of its columns once."""

    problem: Problem
    blocks: list[Block]
    counters: int
    merge_order: list[int]


@st.composite
def counted(draw: st.DrawFn, *, most_counters: int = 3) -> Counted:
    """Draw a problem and cut its columns into blocks, adjacent or scattered, in any order."""
    problem = draw(problems(nan=True, errors=False))
    columns = problem.scores.shape[-1]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    order = rng.permutation(columns) if draw(st.booleans()) else np.arange(columns)
    cuts = sorted(draw(st.lists(st.integers(0, columns), max_size=4)))
    counters = draw(st.integers(1, most_counters))
    after = st.sampled_from(AFTER_A_BLOCK)
    blocks = [
        Block(
            part.tolist(),
            draw(st.sampled_from(FAITHFUL)),
            draw(st.booleans()),
            draw(st.integers(0, counters - 1)),
            draw(after),
        )
        for part in np.split(order, cuts)
    ]
    return Counted(
        problem, draw(st.permutations(blocks)), counters, draw(st.permutations(range(counters)))
    )


def counters_of(drawn: Counted) -> list[tr.RankCounter]:
    scores = drawn.problem.scores
    keywords = drawn.problem.call()[1]
    targets, rows = tasks_of(scores, drawn.problem.targets, keywords.get("rows"))
    options = {name: keywords[name] for name in FOR_A_COUNTER if name in keywords}
    own_rows = keywords.get("rows")
    if scores.shape[:-1] == (1,):  # whose row all tasks read; a counter is told so
        own_rows = rows
    if scores.ndim == 1:
        own_rows = None
    true_scores = np.atleast_2d(scores)[rows, targets]
    return [
        tr.RankCounter(true_scores, targets, candidates=scores.shape[-1], rows=own_rows, **options)
        for _ in range(drawn.counters)
    ]


def feed(counter: tr.RankCounter, scores: Array, block: Block) -> None:
    """Hand over a block with the number of its first column, where that will do, or of each."""
    columns = np.array(block.columns, np.int64)
    straight = columns.size > 0 and (np.diff(columns) == 1).all()
    if scores.ndim == 1:
        part = LAYOUTS[block.layout](scores[columns][None])[0]
    else:
        part = LAYOUTS[block.layout](scores[:, columns])
    if straight and block.by_start:
        counter.update(part, start=int(columns[0]))
    else:
        counter.update(part, columns=columns)


def round_trip(counter: tr.RankCounter, kind: str) -> tr.RankCounter:
    if kind == "pickled":
        return pickle.loads(pickle.dumps(counter))  # type: ignore[no-any-return]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "counter.npz")
        counter.save(path)
        return tr.RankCounter.load(path)


def ranks_of(drawn: Counted) -> tr.Ranks | Exception:
    """Give the blocks to their counters, merge these, and return the ranks, or a NaN's error."""
    scores = drawn.problem.scores
    try:
        counters = counters_of(drawn)
    except ValueError as error:
        return error
    for block in drawn.blocks:
        counter = counters[block.counter]
        before = pickle.dumps(counter)
        try:
            feed(counter, scores, block)
        except ValueError as error:
            assert pickle.dumps(counter) == before, "a refused block changes the counter"
            return error
        if block.then != "nothing":
            counters[block.counter] = round_trip(counter, block.then)
    first = counters[drawn.merge_order[0]]
    others = [counters[i] for i in drawn.merge_order[1:]]
    before = [pickle.dumps(other) for other in others]
    summed = None
    if not drawn.problem.keywords["audit"]:
        summed = first.ranks(sum(counter.counts() for counter in counters))
    for other in others:
        first.merge(other)
    assert before == [pickle.dumps(other) for other in others], "a merge changes the other counter"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranks = first.ranks()
    assert summed is None or summed == ranks
    return ranks


def check(drawn: Counted) -> None:
    """Check that counters of blocks give what the definition gives for the whole matrix."""
    keywords = drawn.problem.keywords
    plain = {name: keywords[name] for name in FOR_THE_DEFINITION if name in keywords}
    expected = defined(Problem(drawn.problem.scores, drawn.problem.targets, plain))
    got = ranks_of(drawn)
    assert_outcome(got, expected, audit=keywords["audit"])
