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
from strategies.stored import Chunks
from support.environment import Run
from support.interruptions import interrupted
from support.problems import FORMS, SHARED_FORMS
from truerank.counting import tiles
from truerank.stores import open_scores

ROWS, COLUMNS = 40, 500
RNG = np.random.default_rng(11)
SCORES = RNG.integers(0, 60, (ROWS, COLUMNS)).astype(np.float32)
TARGETS = RNG.integers(0, COLUMNS, ROWS)
FILTER = [RNG.integers(0, COLUMNS, 9).tolist() for _ in range(ROWS)]
WHOLE = tr.rank(SCORES, TARGETS, filter=FILTER, audit=True)


def silent(_: tr.Progress) -> None:
    """Do nothing; as `progress` this makes `rank` count tile by tile, even in memory."""


def arguments(problem: Problem) -> tuple[Any, dict[str, Any]]:
    """Return targets and keywords as `rank` takes them."""
    keywords = dict(problem.keywords)
    columns = problem.scores.shape[-1]
    for name in ("filter", "candidates"):
        form = keywords.pop(f"{name}_form", None)
        if form in SHARED_FORMS:
            keywords[name] = SHARED_FORMS[form](keywords[name][0])
        elif form is not None:
            keywords[name] = FORMS[form](keywords[name], columns)
    as_targets = keywords.pop("as_targets", lambda targets: targets)
    if "rows" in keywords:
        keywords["rows"] = np.asarray(keywords["rows"], np.int64)
    return as_targets(problem.targets), keywords


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
    targets, keywords = arguments(problem)
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
@settings(max_examples=200)
def test_tiles_of_an_array(problem: Problem, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        assert_alike(problem.scores, problem, most, patch)


@given(problems(nan=True, errors=False), MOST, st.sampled_from(["map", "read"]), st.booleans())
@settings(max_examples=200)
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


@pytest.mark.parametrize("orders", ["CF", "FC", "CCFC", "FF"])
@pytest.mark.parametrize("audit", [False, True])
@pytest.mark.parametrize("io", ["map", "read"])
def test_shards_of_unlike_memory_order(tmp_path: Path, orders: Any, audit: bool, io: str) -> None:
    """The layout of the first shard says nothing about the others, which may be in memory."""
    parts = np.array_split(SCORES, len(orders))
    for number, (part, order) in enumerate(zip(parts, orders, strict=True)):
        np.save(tmp_path / f"part-{number}.npy", np.asarray(part, order=order))
    keywords = {"filter": FILTER, "audit": audit, "io": io}
    expected = tr.rank(SCORES, TARGETS, filter=FILTER, audit=audit)
    assert_equal(tr.rank(tmp_path / "part-*.npy", TARGETS, **keywords), expected, files=True)
    with open_scores(
        [parts[0], *(f"{tmp_path}/part-{i}.npy" for i in range(1, len(parts)))]
    ) as all:
        assert_equal(tr.rank(all, TARGETS, **keywords), expected, files=True)


@pytest.mark.parametrize("first", [True, False])
def test_shards_that_are_decoded_beside_those_that_are_read_by_columns(
    tmp_path: Path, first: bool
) -> None:
    above, below = SCORES[:15], SCORES[15:]
    path = tmp_path / "part.npy"
    np.save(path, np.asfortranarray(below if first else above))
    decoded = Chunks(above if first else below, (4, 100))
    shards = [decoded, path] if first else [path, decoded]
    got = tr.rank(open_scores(shards), TARGETS, filter=FILTER, io="read")
    assert_equal(got, tr.rank(SCORES, TARGETS, filter=FILTER), files=True)


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


# -- checkpoints -----------------------------------------------------------------------------------


class Stopped(Exception):
    """Stands for the exception of a Ctrl-C."""


def stop_after(last: int) -> Any:
    seen: list[tr.Progress] = []

    def progress(p: tr.Progress) -> None:
        seen.append(p)
        if len(seen) > last:
            raise Stopped

    return progress


def save(folder: Path, order: str) -> Path:
    path = folder / "scores.npy"
    np.save(path, np.asarray(SCORES, order=order))  # type: ignore[call-overload]
    return path


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("audit", [False, True])
@pytest.mark.parametrize("stops", [[1], [1, 1, 1], [0], [3]])
def test_a_stopped_count_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str, audit: bool, stops: list[int]
) -> None:
    path, kept = save(tmp_path, order), tmp_path / "kept"
    monkeypatch.setattr(tiles, "TILE_BYTES", SCORES.nbytes // 4)
    keywords: dict[str, Any] = {"filter": FILTER, "audit": audit, "checkpoint": kept}
    for last in stops:
        with pytest.raises(Stopped):
            tr.rank(path, TARGETS, progress=stop_after(last), **keywords)
    seen: list[tr.Progress] = []
    got = tr.rank(path, TARGETS, progress=seen.append, **keywords)
    assert seen[0].done == seen[0].resumed == sum(stops) * SCORES.nbytes // 4
    assert_equal(got, tr.rank(SCORES, TARGETS, filter=FILTER, audit=audit), files=True)
    again: list[tr.Progress] = []
    assert tr.rank(path, TARGETS, progress=again.append, **keywords) == got
    assert [p.done for p in again] == [SCORES.nbytes]  # nothing was left to count


def test_a_killed_count_goes_on_from_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed process runs nothing more: the last written checkpoint is used."""
    path, kept = save(tmp_path, "C"), tmp_path / "kept"
    monkeypatch.setattr(tiles, "TILE_BYTES", SCORES.nbytes // 4)
    monkeypatch.setattr(tiles, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr("truerank.counting.checkpoints.MAX_TIME_SHARE", float("inf"))
    copies: list[bytes] = []

    def copy(p: tr.Progress) -> None:
        if p.done:
            copies.append(kept.read_bytes() if kept.exists() else b"")

    expected = tr.rank(path, TARGETS, checkpoint=kept, progress=copy)
    assert copies[0] == b""
    for done, copied in enumerate(copies[1:], start=1):
        kept.write_bytes(copied)
        seen: list[tr.Progress] = []
        assert tr.rank(path, TARGETS, checkpoint=kept, progress=seen.append) == expected
        assert seen[0].resumed == done * SCORES.nbytes // 4


def test_a_count_that_is_interrupted_anywhere_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an interrupt at any line, a tile that was added in part is not added again."""
    scores, kept = SCORES[:6, :40], tmp_path / "kept"
    np.save(tmp_path / "scores.npy", np.asfortranarray(scores))
    monkeypatch.setattr(tiles, "TILE_BYTES", scores.nbytes // 2)
    expected = tr.rank(scores, TARGETS[:6] % 40, audit=True)

    def count() -> tr.Ranks:
        path = tmp_path / "scores.npy"
        return tr.rank(path, TARGETS[:6] % 40, audit=True, checkpoint=kept)

    for stop in range(1, 1000):
        kept.unlink(missing_ok=True)
        if not interrupted(count, stop, ("tiles.py", "partial_counts.py")):
            break
        assert_equal(count(), expected, files=True)
    assert 100 < stop < 900


def test_a_full_disk_does_not_end_a_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("truerank.counting.checkpoints.write_archive", full)
    with pytest.warns(UserWarning, match="kept was not written: .*No space left"):
        got = tr.rank(SCORES, TARGETS, checkpoint=tmp_path / "kept")
    assert_equal(got, tr.rank(SCORES, TARGETS))
    with pytest.warns(UserWarning, match="not written"), pytest.raises(Stopped):
        tr.rank(SCORES, TARGETS, checkpoint=tmp_path / "kept", progress=stop_after(1))


def test_a_checkpoint_that_cannot_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="checkpoint: expected a regular file or a new name"):
        tr.rank(SCORES, TARGETS, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="checkpoint: expected the path of a file"):
        tr.rank(SCORES, TARGETS, checkpoint="")


OTHERS: dict[str, Any] = {
    "targets": {"targets": TARGETS[::-1]},
    "rows": {"rows": np.arange(ROWS)[::-1]},
    "filter": {"filter": FILTER[::-1]},
    "candidates": {"candidates": np.arange(COLUMNS)},
    "order": {"order": "ascending"},
    "nan": {"nan": "omit"},
    "audit": {"audit": True},
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_checkpoint_of_another_count(tmp_path: Path, what: str) -> None:
    path, kept = save(tmp_path, "C"), tmp_path / "kept"
    tr.rank(path, TARGETS, checkpoint=kept)
    before = kept.read_bytes()
    with pytest.raises(ValueError, match=rf"^checkpoint: .*kept: .* another count, .*{what}"):
        tr.rank(path, **{"targets": TARGETS, "checkpoint": kept, **OTHERS[what]})
    assert kept.read_bytes() == before


def test_a_checkpoint_of_scores_that_have_changed(tmp_path: Path) -> None:
    path, kept = save(tmp_path, "C"), tmp_path / "kept"
    tr.rank(path, TARGETS, checkpoint=kept)
    np.save(path, SCORES[::-1])
    with pytest.raises(ValueError, match="another count, with other scores"):
        tr.rank(path, TARGETS, checkpoint=kept)


def test_a_checkpoint_of_an_array_that_has_changed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    tr.rank(SCORES, TARGETS, checkpoint=kept)
    assert_equal(tr.rank(SCORES, TARGETS, checkpoint=kept), tr.rank(SCORES, TARGETS))
    with pytest.raises(ValueError, match="another count, with other scores"):
        tr.rank(SCORES[::-1].copy(), TARGETS, checkpoint=kept)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04 nonsense"])
def test_a_checkpoint_that_is_damaged(tmp_path: Path, content: bytes) -> None:
    kept = tmp_path / "kept"
    kept.write_bytes(content)
    with pytest.raises(ValueError, match=r"checkpoint: .*kept"):
        tr.rank(SCORES, TARGETS, checkpoint=kept)
    assert kept.read_bytes() == content


def test_a_checkpoint_without_a_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="checkpoint: no folder"):
        tr.rank(SCORES, TARGETS, checkpoint=tmp_path / "none" / "kept")


# -- what a store is -------------------------------------------------------------------------------


def test_a_store_stays_open(tmp_path: Path) -> None:
    with tr.open_scores(save(tmp_path, "C")) as store:
        for _ in range(2):
            got = tr.rank(store, TARGETS, filter=FILTER, audit=True)
            assert_equal(got, WHOLE, files=True)


def test_a_store_has_the_dtype_that_is_expected(tmp_path: Path) -> None:
    with tr.open_scores(save(tmp_path, "C")) as store:
        assert_equal(tr.rank(store, TARGETS, dtype="float32"), tr.rank(SCORES, TARGETS), files=True)
        with pytest.raises(TypeError, match="dtype: scores of dtype float32 cannot be taken as"):
            tr.rank(store, TARGETS, dtype="float64")


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
    count = tiles._WholeRowCount.count
    def late(self, *args):
        cut()
        return count(self, *args)
    tiles._WholeRowCount.count = late

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


def test_io_is_a_word() -> None:
    for scores in (SCORES, [[0.1, 0.2]]):
        with pytest.raises(ValueError, match="io: expected one of map, read"):
            tr.rank(scores, 0, io="mmap")


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
