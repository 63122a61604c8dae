"""Scores counted tile by tile: the same integers, with progress, stopped and resumed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal
from truerank.counting import tiles

ROWS, COLUMNS = 40, 500
RNG = np.random.default_rng(11)
SCORES = RNG.integers(0, 60, (ROWS, COLUMNS)).astype(np.float32)
TARGETS = RNG.integers(0, COLUMNS, ROWS)


# -- rows that are longer, and columns that are taller, than what is read at a time ----------------


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "shape", [pytest.param((3, 700_001), marks=pytest.mark.threads), (700_001, 3), (1200, 1300)]
)
def test_read_in_pieces(tmp_path: Path, shape: tuple[int, int], order: Any) -> None:
    rng = np.random.default_rng(4)
    scores = rng.integers(0, 300, shape).astype(np.float32)
    tasks = min(shape[0], 5000)
    rows, targets = rng.integers(0, shape[0], tasks), rng.integers(0, shape[1], tasks)
    filtered = (np.arange(tasks + 1) * 3, rng.integers(0, shape[1], 3 * tasks))
    path = tmp_path / "scores.npy"
    np.save(path, np.asarray(scores, order=order))
    for audit, threads in ((False, 1), (True, 3)):
        keywords = {"rows": rows, "filter": filtered, "audit": audit}
        expected = tr.rank(scores, targets, **keywords)
        for io in ("map", "read"):
            got = tr.rank(path, targets, io=io, threads=threads, **keywords)
            assert got == expected
            assert got.protocol.files == (str(path),)


def test_the_first_nan_is_told_whatever_the_threads(tmp_path: Path) -> None:
    scores = np.zeros((1, 2_000_000), np.float32)
    scores[0, [300_000, 1_900_000]] = np.nan
    np.save(tmp_path / "scores.npy", scores)
    words, path = "row 0, column 300000 is NaN", tmp_path / "scores.npy"
    for _ in range(5):
        refusal(ValueError, words, tr.rank, path, [1], io="read", threads=2)


def test_many_nans_of_many_lists_are_told_at_once() -> None:
    """In time that grows with what there is, not with its square."""
    tasks = 40_000
    indptr = np.arange(tasks + 1) * 50
    values = np.full(50 * tasks, np.nan, np.float32)
    with pytest.raises(ValueError, match="position 0, of task 0, is NaN"):
        tr.rank_against(np.zeros(tasks, np.float32), (values, indptr))


# -- progress --------------------------------------------------------------------------------------


def test_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "TILE_BYTES", 10 * COLUMNS * 4)
    seen: list[tr.Progress] = []
    tr.rank(SCORES, TARGETS, progress=seen.append)
    assert [p.done for p in seen] == [0, 20_000, 40_000, 60_000, 80_000]
    assert {(p.total, p.resumed) for p in seen} == {(80_000, 0)}
    assert seen[0].left is None or seen[0].done == 0
    assert all(p.left is not None and p.left >= 0 and p.rate > 0 for p in seen[1:])


def save(folder: Path, order: str) -> Path:
    path = folder / "scores.npy"
    np.save(path, np.asarray(SCORES, order=order))  # type: ignore[call-overload]
    return path


# -- what a store is -------------------------------------------------------------------------------


def test_a_store_has_the_dtype_that_is_expected(tmp_path: Path) -> None:
    with tr.open_scores(save(tmp_path, "C")) as store:
        assert tr.rank(store, TARGETS, dtype="float32") == tr.rank(SCORES, TARGETS)
        refusal(TypeError, "dtype: .* cannot be taken as", tr.rank, store, TARGETS, dtype="float64")


@pytest.mark.parametrize(("io", "within"), [("map", False), ("read", False), ("read", True)])
def test_a_file_that_shrinks_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, io: str, within: bool
) -> None:
    """Between two tiles, or within one, after its size was checked."""
    path = tmp_path / "scores.npy"
    np.save(path, np.zeros((2000, 1000), np.float32))
    counted = tiles.Job.counted

    def late(*arguments: Any) -> Any:
        os.truncate(path, 4_000_000)
        return counted(*arguments)

    def cut(progress: tr.Progress) -> None:
        if progress.done:
            os.truncate(path, 4_000_000)

    if within:
        monkeypatch.setattr(tiles.Job, "counted", late)
    else:
        monkeypatch.setattr(tiles, "TILE_BYTES", 1_000_000)
    words = r"scores\.npy.*(the file has 4,000,000|the file ends at byte 4)"
    refusal(ValueError, words, tr.rank, path, 0, io=io, progress=None if within else cut)


@pytest.mark.parametrize("io", ["map", "read"])
def test_scores_that_change_while_they_are_ranked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, io: str
) -> None:
    """If tiles cut rows, true scores are read twice and must not change in between."""
    path = save(tmp_path, "F")
    monkeypatch.setattr(tiles, "TILE_BYTES", SCORES.nbytes // 4)

    def change(p: tr.Progress) -> None:
        if not p.done:
            np.save(path, np.asfortranarray(SCORES + 1))

    with pytest.raises(ValueError, match=r"true score of task 0 changed|scores\.npy"):
        tr.rank(path, TARGETS, io=io, progress=change)
