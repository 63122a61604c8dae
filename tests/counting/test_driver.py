"""The driver: tiles and blocks of rows are counted in any process, and while others are made."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal
from support.row_blocks import ranks_of_blocks
from truerank._core import Scores
from truerank.counting import driver
from truerank.counting.driver import Counts, TileJob, count_in_turn, count_scores
from truerank.counting.job import prepare_job
from truerank.inputs.rules import read_rules
from truerank.stores import Store, Tile, read_scores
from truerank.stores.store import ArrayStore


def count_tile(store: Store, job: TileJob) -> Counts:
    return next(count_in_turn(store, [job], "map"))


def through_pickles(store: Store, jobs: Sequence[TileJob]) -> Iterator[Counts]:
    """Count tiles as workers do, to whom everything is sent."""
    for job in jobs:
        counting = pickle.loads(pickle.dumps(partial(count_tile, store, job)))
        yield pickle.loads(pickle.dumps(counting()))


SCORES = np.random.default_rng(4).integers(0, 40, (30, 200)).astype(np.float32)
TARGETS = np.random.default_rng(5).integers(0, 200, 30)
FILTER = np.random.default_rng(6).integers(0, 200, (30, 5)).tolist()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("nan", [False, True])
def test_tiles_may_be_counted_by_other_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: Any, nan: bool
) -> None:
    """What is counted of a tile, and where, can be sent; the first NaN ends the count."""
    monkeypatch.setattr(driver, "TILE_BYTES", SCORES.nbytes // 7)
    scores = SCORES.copy(order=order)
    if nan:
        scores[20, 150] = scores[21, 170] = np.nan
    np.save(tmp_path / "scores.npy", scores)
    with tr.open_scores(tmp_path / "scores.npy") as store:
        job = prepare_job(store.shape, TARGETS, None, FILTER, None, read_rules({}))
        counts = count_scores(store, job, tile_map=partial(through_pickles, store))
    if nan:
        assert counts.fault is not None
        assert (counts.fault.row, counts.fault.column) == (20, 150)
        return
    assert job.ranks(counts.arrays, "float32") == tr.rank(SCORES, TARGETS, filter=FILTER)


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


# --- blocks of rows, as batches of a task hand them over


@pytest.mark.threads
def test_scores_may_not_be_filled_again() -> None:
    buffer = np.empty((15, 200), np.float32)

    def blocks() -> Iterator[tuple[Any, Any]]:
        for start in (0, 15):
            buffer[:] = SCORES[start : start + 15]
            yield buffer, TARGETS[start : start + 15]

    refusal(ValueError, "block 1: scores: ", ranks_of_blocks, blocks())


@pytest.mark.threads
def test_the_next_block_is_made_while_one_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count ends even if it waits until the next block is asked for."""
    asked = threading.Event()
    rank = tr.rank

    def waiting(*args: Any, **keywords: Any) -> tr.Ranks:
        assert asked.wait(30)
        return rank(*args, **keywords)

    def blocks() -> Iterator[tuple[Any, Any]]:
        yield SCORES[:15], TARGETS[:15]
        asked.set()
        yield SCORES[15:], TARGETS[15:]

    monkeypatch.setattr("truerank.counting.row_blocks.rank", waiting)
    assert ranks_of_blocks(blocks()) == rank(SCORES, TARGETS)


@pytest.mark.threads
def test_errors_name_the_block_or_come_as_they_are() -> None:
    one = (SCORES, TARGETS)
    wrong: list[tuple[str, Any]] = [
        ("block 1: targets", (SCORES.copy(), TARGETS + 200)),
        ("protocol: filter", (SCORES.copy(), TARGETS, FILTER)),
    ]
    for words, other in wrong:
        refusal(tr.InputValueError, words, ranks_of_blocks, [one, other])

    def blocks() -> Iterator[tuple[Any, Any]]:
        yield one
        raise LookupError("no more")

    refusal(LookupError, "no more", ranks_of_blocks, blocks())
