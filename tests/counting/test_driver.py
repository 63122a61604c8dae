"""The driver: counts that become final in two places are the same, wherever tiles are counted."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import truerank as tr
from strategies.count_problems import Problem, problems
from support.examples import examples
from truerank._core import Scores
from truerank.counting import driver
from truerank.counting.driver import Counts, TileJob, count_in_turn, count_scores
from truerank.counting.job import Job, prepare_job
from truerank.inputs.rules import read_rules
from truerank.stores import Store, Tile, read_scores
from truerank.stores.store import ArrayStore


class CutStore(ArrayStore):
    """An array that is cut into tiles anywhere."""

    def __init__(self, scores: Scores, cuts: tuple[list[int], list[int]]) -> None:
        super().__init__(scores)
        height, width = self.shape
        self.tops = sorted({0, height} | {cut % (height + 1) for cut in cuts[0]})
        self.lefts = sorted({0, width} | {cut % (width + 1) for cut in cuts[1]})

    def tiles(self, max_bytes: int) -> list[Tile]:
        tiles = []
        for top, bottom in pairwise(self.tops):
            for left, right in pairwise(self.lefts):
                tiles.append(Tile(top, left, bottom - top, right - left))
        return tiles


def job_of(problem: Problem) -> tuple[Scores, Job]:
    """Open the scores of a problem that no call refuses, and check its tasks."""
    targets, keywords = problem.call()
    tasks = [keywords.pop(name, None) for name in ("rows", "filter", "candidates")]
    rules = read_rules(keywords)
    scores = read_scores(problem.scores, rules.dtype)
    assert isinstance(scores, Scores)
    return scores, prepare_job(scores.array.shape, targets, *tasks, rules)


def count_tile(store: Store, job: TileJob) -> Counts:
    return next(count_in_turn(store, [job], "map"))


def through_pickles(store: Store, jobs: Sequence[TileJob]) -> Iterator[Counts]:
    """Count tiles as workers do, to whom everything is sent."""
    for job in jobs:
        counting = pickle.loads(pickle.dumps(partial(count_tile, store, job)))
        yield pickle.loads(pickle.dumps(counting()))


@pytest.mark.smoke
@given(problems(nan=True, errors=False), st.data())
@examples(100)
def test_counts_are_final_in_two_places(problem: Problem, data: st.DataObject) -> None:
    """In the core, for whole rows; and in Python, for the parts of rows, here or by workers."""
    scores, job = job_of(problem)
    whole = count_scores(scores, job)
    places = st.lists(st.integers(0, 50), max_size=3)
    cuts = data.draw(st.tuples(places, places))
    store = CutStore(scores, cuts)
    tile_map = None
    if data.draw(st.booleans()):
        tile_map = partial(through_pickles, store)
    # The true scores are read first, also where tiles have whole rows.
    with mock.patch.object(driver, "has_whole_rows", return_value=False):
        if whole.fault is not None:
            event(f"void: {whole.fault.kind}")
            with pytest.raises(tr.InputValueError, match="is NaN"):
                count_scores(store, job, tile_map=tile_map).checked(job)
            return
        event(job.rules.nan)
        counts = count_scores(store, job, tile_map=tile_map).checked(job)
    assert counts.place is None
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(counts.arrays[name], array, err_msg=name, strict=True)


SCORES = np.random.default_rng(4).integers(0, 40, (30, 200)).astype(np.float32)
TARGETS = np.random.default_rng(5).integers(0, 200, 30)


def test_rows_that_no_task_reads_are_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "TILE_BYTES", SCORES.nbytes // 6)
    opened: list[Tile] = []

    class Watched(ArrayStore):
        def core_block(self, tile: Tile, io: str) -> Any:
            opened.append(tile)
            return super().core_block(tile, io)

    scores = read_scores(SCORES)
    assert isinstance(scores, Scores)
    job = prepare_job(SCORES.shape, [7, 8], [29, 3], None, None, read_rules({}))
    counts = count_scores(Watched(scores), job).arrays
    assert [tile.top for tile in opened] == [0, 25]
    expected = tr.rank(SCORES, [7, 8], rows=[29, 3])
    assert counts["above"].tolist() == expected.above.tolist()
