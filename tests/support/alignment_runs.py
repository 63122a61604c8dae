"""Two small graphs, and what a test of an evaluated alignment compares its results with."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import truerank as tr
from oracles import alignment as oracle
from oracles.alignment import Array
from oracles.counting import Counts, Refused
from strategies.alignments import Alignment
from support.problems import assert_same
from truerank.alignment import Task, both_directions, local_scaling

TILES = [
    (both_directions, "TILE_BYTES"),
    (both_directions, "DECODED_TILE_BYTES"),
    (local_scaling, "TILE_BYTES"),
]


def outcome(counted: Callable[[], Any]) -> Any:
    """Return what a call returns, or the error that refuses it."""
    try:
        return counted()
    except ValueError as error:
        return error


def check_nan(error: ValueError, table: Array, drawn: Alignment) -> None:
    """Check that a refusal names a score that is NaN and is between two candidates."""
    said = r"scores: the (?:score|true score,) of left (\d+) and right (\d+),? is NaN"
    place = re.match(said, str(error))
    assert place is not None, error
    row, column = map(int, place.groups())
    assert np.isnan(table[row, column]), error
    assert row in drawn.among[0], error
    assert column in drawn.among[1], error


def expected_of(drawn: Alignment, scores: Array, k: int | None, **rules: Any) -> Any:
    """Return the counts of the oracle, or its refusal, and the matrix that was counted."""
    table = scores
    try:
        if k is not None:
            table = oracle.scaled(scores, k, drawn.among, rules["nan"])
        return oracle.counts(table, drawn.sides, **rules), table
    except Refused as refused:
        return refused, table


def check(drawn: Alignment, got: Any, scores: Array, k: int | None, **rules: Any) -> None:
    audit = rules.pop("audit")
    expected, table = expected_of(drawn, scores, k, **rules)
    if isinstance(expected, Refused):
        assert isinstance(got, ValueError), f"should have refused: {expected}"
        check_nan(got, table, drawn)
        return
    assert isinstance(got, tr.Report), f"refused without need: {got!r}"
    assert isinstance(expected, Counts)
    assert_same(got.ranks, expected, audit=audit)
    assert got.ranks.unit.codes.tolist() == drawn.chosen * 2


def saved(folder: Path, scores: Array, order: Any) -> Path:
    path = folder / f"scores-{order}.npy"
    np.save(path, np.array(scores, order=order))
    return path


LEFT = np.array([[1, 0], [0, 1], [1, 1], [-1, 2]], np.float32)


RIGHT = np.array([[0, 1], [1, 1], [1, 0], [2, -1], [1, 2]], np.float32)


PAIRS = [(0, 2), (1, 0), (2, 1)]


KNOWN = {"train": [(3, 4), (0, 3)]}


SIMILARITIES = tr.score_embeddings(LEFT, RIGHT, similarity="cosine")


def task_of(**how: Any) -> Task:
    return Task(PAIRS, left=4, right=5, known=KNOWN, **how)


def same(a: tr.Report, b: tr.Report) -> bool:
    mine, other = a.ranks, b.ranks
    return all(
        np.array_equal(getattr(mine, name), getattr(other, name))
        for name in ("above", "tied", "candidates")
    )
