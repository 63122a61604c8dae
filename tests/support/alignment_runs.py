"""Two small graphs, and what a test of an evaluated alignment compares its results with."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

import truerank as tr
from oracles import alignment as oracle
from oracles.alignment import Array
from oracles.counting import Refused
from strategies.alignments import Alignment
from support.problems import assert_same
from support.refusals import refusal
from truerank.alignment import Task
from truerank.counting import driver

TILES = [(driver, "TILE_BYTES")]


def check(
    drawn: Alignment,
    call: Callable[[], tr.Report],
    scores: Array,
    k: int | None,
    *,
    audit: bool,
    **rules: Any,
) -> tr.Report | None:
    """Compare a report with the oracle, and return it; a refusal names a NaN of candidates."""
    table = scores
    try:
        if k is not None:
            table = oracle.scaled(scores, k, drawn.among, rules["nan"])
        expected = oracle.counts(table, drawn.sides, **rules)
    except Refused:
        said = r"scores: (?:a|the true) score at row (\d+), column (\d+) is NaN"
        place = re.match(said, refusal(ValueError, said, call))
        assert place is not None
        row, column = map(int, place.groups())
        assert np.isnan(table[row, column])
        assert row in drawn.among[0]
        assert column in drawn.among[1]
        return None
    got = call()
    assert_same(got.ranks, expected, audit=audit)
    assert got.ranks.unit.codes.tolist() == drawn.chosen * 2
    return got


LEFT = np.array([[1, 0], [0, 1], [1, 1], [-1, 2]], np.float32)
RIGHT = np.array([[0, 1], [1, 1], [1, 0], [2, -1], [1, 2]], np.float32)
PAIRS = [(0, 2), (1, 0), (2, 1)]
KNOWN = {"train": [(3, 4), (0, 3)]}
SIMILARITIES = tr.score_embeddings(LEFT, RIGHT, similarity="cosine")


def task_of(**options: Any) -> Task:
    return Task(PAIRS, left=4, right=5, known=KNOWN, **options)


def same(a: tr.Report, b: tr.Report) -> bool:
    names = ("above", "tied", "candidates")
    return all(np.array_equal(getattr(a.ranks, x), getattr(b.ranks, x)) for x in names)
