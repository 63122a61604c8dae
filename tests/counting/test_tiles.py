"""Scores counted tile by tile: the same integers, with progress, stopped and resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truerank as tr
from strategies.count_problems import Problem, problems
from support.environment import Run
from support.refusals import refusal
from truerank.counting import tiles

ROWS, COLUMNS = 40, 500
RNG = np.random.default_rng(11)
SCORES = RNG.integers(0, 60, (ROWS, COLUMNS)).astype(np.float32)
TARGETS = RNG.integers(0, COLUMNS, ROWS)
FILTER = [RNG.integers(0, COLUMNS, 9).tolist() for _ in range(ROWS)]
WHOLE = tr.rank(SCORES, TARGETS, filter=FILTER, audit=True)


def silent(_: tr.Progress) -> None:
    """Do nothing; as `progress` this makes `rank` count tile by tile, even in memory."""


def assert_equal(got: tr.Ranks, expected: tr.Ranks, *, files: bool = False) -> None:
    for name in ("above", "tied", "candidates"):
        a, b = getattr(got, name), getattr(expected, name)
        np.testing.assert_array_equal(a, b, err_msg=name, strict=True)
    if got.audit is not None or expected.audit is not None:
        for a, b in zip(got.audit or (), expected.audit or (), strict=True):
            np.testing.assert_array_equal(a, b)
    assert files or got.protocol == expected.protocol


def assert_alike(
    scores: Any, problem: Problem, most: int, monkeypatch: pytest.MonkeyPatch, **more: Any
) -> None:
    """Counting tile by tile gives the same integers as at once, or the same refusal."""
    targets, keywords = problem.call()
    expected: tr.Ranks | Exception
    try:
        expected = tr.rank(problem.scores, targets, **keywords)
    except (TypeError, ValueError) as error:
        expected = error
    with monkeypatch.context() as patch:
        patch.setattr(tiles, "TILE_BYTES", most)
        if isinstance(expected, Exception):
            with pytest.raises(type(expected)) as refused:
                tr.rank(scores, targets, progress=silent, **keywords, **more)
            told = str(refused.value)
            # if tiles cut rows, another NaN may be found first
            assert told == str(expected) or ("is NaN" in told and "is NaN" in str(expected))
        else:
            got = tr.rank(scores, targets, progress=silent, **keywords, **more)
            assert_equal(got, expected, files=True)


MOST = st.sampled_from([1, 8, 40, 200, 1000, 1 << 20])


@given(problems(nan=True, errors=True), MOST)
@settings(max_examples=100)
def test_tiles_of_an_array(problem: Problem, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        assert_alike(problem.scores, problem, most, patch)


@given(problems(nan=True, errors=False), MOST, st.sampled_from(["map", "read"]), st.booleans())
@settings(max_examples=100)
def test_tiles_of_a_file(
    tmp_path_factory: pytest.TempPathFactory, problem: Problem, most: int, io: str, fortran: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "drawn.npy"
    if problem.scores.dtype.name == "bfloat16":  # of these, a file shows only the size
        problem.keywords["dtype"] = "bfloat16"
    np.save(path, np.array(problem.scores, order="F" if fortran else "C"))
    with pytest.MonkeyPatch.context() as patch:
        assert_alike(path, problem, most, patch, io=io)


# -- rows that are longer, and columns that are taller, than what is read at a time ----------------


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "shape", [pytest.param((3, 700_001), marks=pytest.mark.threads), (700_001, 3), (1200, 1300)]
)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("audit", [False, True])
def test_read_in_pieces(
    tmp_path: Path, shape: tuple[int, int], order: Any, threads: int, audit: bool
) -> None:
    scores = np.random.default_rng(4).integers(0, 300, shape).astype(np.float32)
    tasks = min(shape[0], 5000)
    rows = np.random.default_rng(5).integers(0, shape[0], tasks)
    targets = np.random.default_rng(6).integers(0, shape[1], tasks)
    indices = np.random.default_rng(7).integers(0, shape[1], 3 * tasks)
    filtered = (np.arange(tasks + 1) * 3, indices)
    np.save(tmp_path / "scores.npy", np.asarray(scores, order=order))
    keywords = {"rows": rows, "filter": filtered, "audit": audit}
    expected = tr.rank(scores, targets, **keywords)
    for io in ("map", "read"):
        got = tr.rank(tmp_path / "scores.npy", targets, io=io, threads=threads, **keywords)
        assert_equal(got, expected, files=True)
        assert got.protocol.files == (str(tmp_path / "scores.npy"),)


def test_the_first_nan_is_told_whatever_the_threads(tmp_path: Path) -> None:
    scores = np.zeros((1, 2_000_000), np.float32)
    scores[0, [300_000, 1_900_000]] = np.nan
    np.save(tmp_path / "scores.npy", scores)
    for _ in range(20):
        with pytest.raises(ValueError, match="row 0, column 300000 is NaN"):
            tr.rank(tmp_path / "scores.npy", [1], io="read", threads=2)


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


def test_what_progress_raises_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(_: tr.Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tr.rank(SCORES, TARGETS, progress=stop)


def save(folder: Path, order: str) -> Path:
    path = folder / "scores.npy"
    np.save(path, np.asarray(SCORES, order=order))  # type: ignore[call-overload]
    return path


# -- what a store is -------------------------------------------------------------------------------


def test_a_store_stays_open(tmp_path: Path) -> None:
    with tr.open_scores(save(tmp_path, "C")) as store:
        for _ in range(2):
            got = tr.rank(store, TARGETS, filter=FILTER, audit=True)
            assert_equal(got, WHOLE, files=True)


def test_a_store_has_the_dtype_that_is_expected(tmp_path: Path) -> None:
    with tr.open_scores(save(tmp_path, "C")) as store:
        assert_equal(tr.rank(store, TARGETS, dtype="float32"), tr.rank(SCORES, TARGETS), files=True)
        refusal(TypeError, "dtype: .* cannot be taken as", tr.rank, store, TARGETS, dtype="float64")


SHRINKING = """
import os, sys
import numpy as np
import truerank as tr
from truerank.counting import tiles
from truerank.stores import open_scores

path, io, when, tile = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
np.save(path, np.zeros((2000, 1000), np.float32))
tiles.TILE_BYTES = tile

def cut(progress=None):
    if progress is None or progress.done:
        os.truncate(path, 4_000_000)

if when == "within":  # after the size was checked
    counted = tiles.Job.counted
    def late(self, *args):
        cut()
        return counted(self, *args)
    tiles.Job.counted = late

try:
    tr.rank(path, 0, io=io, progress=cut if when == "between" else None)
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("io", "when", "tile"),
    [("map", "between", 1_000_000), ("read", "between", 1_000_000), ("read", "within", 1 << 28)],
)
def test_a_file_that_shrinks_is_an_error(
    tmp_path: Path, run_python: Run, io: str, when: str, tile: int
) -> None:
    """Run in a process of its own, because reading a map past the end of its file kills it."""
    told = run_python(SHRINKING, tmp_path / "scores.npy", io, when, tile)
    assert "scores.npy" in told
    assert "the file has 4,000,000" in told or "the file ends at byte 4" in told


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
