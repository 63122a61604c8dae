"""The driver: tiles and blocks of rows give the same integers, stopped, resumed, anywhere."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.interruptions import interrupted
from support.problems import KINDS, Array, matrix
from support.refusals import refusal, refused
from truerank._core import Scores
from truerank.counting import driver
from truerank.counting.driver import count_scores
from truerank.counting.job import Job, prepare_job
from truerank.embeddings import vectors
from truerank.inputs.rules import read_rules
from truerank.stores import Tile, read_scores
from truerank.stores.store import ArrayStore

ROWS = 40
COLUMNS = 500
RNG = np.random.default_rng(11)
SCORES = RNG.integers(0, 60, (ROWS, COLUMNS)).astype(np.float32)
TARGETS = RNG.integers(0, COLUMNS, ROWS)
FILTER = [RNG.integers(0, COLUMNS, 9).tolist() for _ in range(ROWS)]
QUERIES, ENTITIES = (RNG.integers(-3, 4, (n, 6)).astype(np.float32) for n in (ROWS, COLUMNS))


class Stopped(Exception):
    """Stands for the exception of a Ctrl-C."""


def stop_after(last: int) -> Any:
    seen: list[tr.Progress] = []

    def progress(p: tr.Progress) -> None:
        seen.append(p)
        if len(seen) > last:
            raise Stopped

    return progress


def save(folder: Path, order: str, scores: Array = SCORES) -> Path:
    path = folder / "scores.npy"
    np.save(path, np.asarray(scores, order=order))  # type: ignore[call-overload]
    return path


def count(form: str, folder: Path, **keywords: Any) -> tr.Ranks:
    """Count a file with rows or columns in four tiles, or vectors."""
    if form == "vectors":
        return tr.rank_embeddings(QUERIES, ENTITIES, TARGETS, **keywords)
    path = folder / "scores.npy"
    if not path.exists():
        save(folder, form)
    return tr.rank(path, TARGETS, **keywords)


@pytest.fixture
def quarters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "TILE_BYTES", SCORES.nbytes // 4)
    monkeypatch.setattr(vectors, "SECONDS_BETWEEN_REPORTS", 0.0)
    monkeypatch.setattr("truerank.embeddings.vectors.TIMES_AS_LARGE", 1)


@pytest.mark.usefixtures("quarters")
@pytest.mark.parametrize("form", ["C", "F", "vectors"])
@pytest.mark.parametrize("stops", [[1, 1, 1], [0], [3]])
def test_a_stopped_count_goes_on(tmp_path: Path, form: str, stops: list[int]) -> None:
    keywords: dict[str, Any] = {"filter": FILTER, "audit": len(stops) > 1}
    expected = count(form, tmp_path, **keywords)
    keywords["checkpoint"] = tmp_path / "kept"
    for last in stops:
        with pytest.raises(Stopped):
            count(form, tmp_path, progress=stop_after(last), **keywords)
    seen: list[tr.Progress] = []
    got = count(form, tmp_path, progress=seen.append, **keywords)
    assert seen[0].done == seen[0].resumed == sum(stops) * SCORES.nbytes // 4
    assert got == expected
    again: list[tr.Progress] = []
    assert count(form, tmp_path, progress=again.append, **keywords) == got
    assert [p.done for p in again] == [SCORES.nbytes]  # nothing was left to count


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_what_a_checkpoint_saves_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, order: str
) -> None:
    """Of any dtype, also where true scores are NaN, and stored column by column."""
    scores = matrix(kind, (ROWS, 67), nan=True)
    path = save(tmp_path, order, scores.view("V2") if kind == "bfloat16" else scores)
    dtype = "bfloat16" if "bfloat16" in kind else None
    monkeypatch.setattr(driver, "TILE_BYTES", scores.nbytes // 4)
    for number, direction in enumerate(("descending", "ascending")):
        options: dict[str, Any] = {"nan": "worst", "dtype": dtype, "order": direction}
        options["audit"] = direction == "ascending"
        expected = tr.rank(scores, TARGETS % 67, **options)
        options["checkpoint"] = tmp_path / f"kept {number}"
        for _ in range(3):
            with pytest.raises(Stopped):
                tr.rank(path, TARGETS % 67, progress=stop_after(1), **options)
        assert tr.rank(path, TARGETS % 67, **options) == expected


@pytest.mark.usefixtures("quarters")
def test_a_killed_count_goes_on_from_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed process runs nothing more: it leaves what was in the file at that time."""
    monkeypatch.setattr(driver, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    kept = tmp_path / "kept"

    def copy(progress: tr.Progress) -> None:
        if progress.done == SCORES.nbytes // 2:
            shutil.copy(kept, tmp_path / "left")

    expected = tr.rank(SCORES, TARGETS, checkpoint=kept, progress=copy)
    seen: list[tr.Progress] = []
    left = tmp_path / "left"
    assert tr.rank(SCORES, TARGETS, checkpoint=left, progress=seen.append) == expected
    assert SCORES.nbytes // 4 <= seen[0].resumed <= SCORES.nbytes // 2


def test_a_count_that_is_interrupted_anywhere_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an interrupt at many a line, a tile that was added in part is not added again."""
    scores = SCORES[:6, :40]
    kept = tmp_path / "kept"
    np.save(tmp_path / "scores.npy", np.asfortranarray(scores))
    monkeypatch.setattr(driver, "TILE_BYTES", scores.nbytes // 2)
    expected = tr.rank(tmp_path / "scores.npy", TARGETS[:6] % 40, audit=True)

    def count() -> tr.Ranks:
        path = tmp_path / "scores.npy"
        return tr.rank(path, TARGETS[:6] % 40, audit=True, checkpoint=kept)

    files = ("driver.py", "partial_counts.py")
    for stop in range(1, 1000, 4):
        kept.unlink(missing_ok=True)
        if not interrupted(count, stop, files):
            break
        assert count() == expected
    assert 100 < stop < 900


def test_a_full_disk_does_not_end_a_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("truerank.counting.driver.write_archive", full)
    with pytest.warns(UserWarning, match="kept was not written: .*No space left"):
        got = tr.rank(SCORES, TARGETS, checkpoint=tmp_path / "kept")
    assert got == tr.rank(SCORES, TARGETS)
    with pytest.warns(UserWarning, match="not written"), pytest.raises(Stopped):
        tr.rank(SCORES, TARGETS, checkpoint=tmp_path / "kept", progress=stop_after(1))


OTHERS: dict[str, Any] = {
    "targets": {"targets": TARGETS[::-1]},
    "rows": {"rows": np.arange(ROWS)[::-1]},
    "filter": {"filter": FILTER[::-1]},
    "candidates": {"candidates": np.arange(COLUMNS)},
    "order": {"order": "ascending"},
    "nan": {"nan": "omit"},
    "audit": {"audit": True},
    "with different scores": {"scores": SCORES[::-1]},
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_checkpoint_of_another_count(tmp_path: Path, what: str) -> None:
    arguments: dict[str, Any] = {"scores": SCORES, "targets": TARGETS}
    arguments["checkpoint"] = kept = tmp_path / "kept"
    tr.rank(**arguments)
    before = kept.read_bytes()
    words = rf"^checkpoint: .*kept: .* another count, .*{what}"
    refusal(ValueError, words, tr.rank, **{**arguments, **OTHERS[what]})
    assert kept.read_bytes() == before


def write_in_place(path: Path) -> None:
    """Change the scores, but not the size, the time of modification and the inode."""
    old = path.stat()
    time.sleep(0.02)  # clocks of files tick every few milliseconds
    with open(path, "r+b") as file:
        file.seek(-SCORES.nbytes, os.SEEK_END)
        file.write(SCORES[::-1].tobytes())
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))


CHANGES: list[tuple[Callable[[Path], None], str]] = [
    (write_in_place, "a different time of change, so it was written"),
    (
        lambda path: os.utime(path, (1, 1)),
        "a different time of modification, time of change, so .*; remove the checkpoint to",
    ),
]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no time of change")
@pytest.mark.parametrize("in_shards", [False, True])
@pytest.mark.parametrize(("change", "words"), CHANGES)
def test_a_checkpoint_of_a_file_that_was_replaced(
    tmp_path: Path, change: Any, words: str, in_shards: bool
) -> None:
    path = save(tmp_path, "C")
    kept = tmp_path / "kept"
    scores: Any = [path] if in_shards else path
    expected = tr.rank(scores, TARGETS, checkpoint=kept)
    assert tr.rank(scores, TARGETS, checkpoint=kept) == expected
    change(path)
    words = f"kept: .* with different scores: the file has {words}"
    refusal(ValueError, words, tr.rank, scores, TARGETS, checkpoint=kept)
    kept.unlink()
    is_touched = np.array_equal(np.load(path), SCORES)
    assert (tr.rank(scores, TARGETS, checkpoint=kept) == expected) == is_touched


def test_a_path_that_is_no_checkpoint(tmp_path: Path) -> None:
    refused(ValueError, "checkpoint", tr.rank, SCORES, TARGETS, checkpoint=tmp_path)
    refused(ValueError, "checkpoint", tr.rank, SCORES, TARGETS, checkpoint="")
    absent = tmp_path / "none" / "kept"
    refusal(OSError, "checkpoint: no folder", tr.rank, SCORES, TARGETS, checkpoint=absent)
    kept = tmp_path / "kept"
    for content in (b"", b"nonsense", b"PK\x03\x04 nonsense"):
        kept.write_bytes(content)
        refused(ValueError, "checkpoint", tr.rank, SCORES, TARGETS, checkpoint=kept)
        assert kept.read_bytes() == content


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "shape", [pytest.param((3, 700_001), marks=pytest.mark.threads), (700_001, 3), (1200, 1300)]
)
def test_read_in_pieces(tmp_path: Path, shape: tuple[int, int], order: Any) -> None:
    rng = np.random.default_rng(4)
    scores = rng.integers(0, 300, shape).astype(np.float32)
    tasks = min(shape[0], 5000)
    rows = rng.integers(0, shape[0], tasks)
    targets = rng.integers(0, shape[1], tasks)
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


def test_a_nan_is_named_wherever_a_piece_begins(tmp_path: Path) -> None:
    """Rows are read in pieces of as many columns as a power of two."""
    path = tmp_path / "scores.npy"
    scores = np.lib.format.open_memmap(path, "w+", np.float64, (2, 300_000))
    for column in (1 << 16, 1 << 17, 1 << 18, 299_999):
        scores[1] = 0
        scores[1, column] = np.nan
        scores.flush()
        words = rf"row 1\b.*column {column}\b.*NaN"
        refusal(ValueError, words, tr.rank, path, [0, 1], io="read", threads=1)


def test_scores_beyond_the_first_4_gigabytes(tmp_path: Path) -> None:
    """A row is read from where it lies in a file, nearly all of which is a hole."""
    path = tmp_path / "scores.npy"
    shape = 2**20 + 2, 1024
    scores = np.lib.format.open_memmap(path, "w+", np.float32, shape)
    scores[-1, :6] = [1, 3, 3, 2, 5, 0]
    scores.flush()
    ranks = tr.rank(path, [3], rows=[shape[0] - 1], io="read")
    assert (ranks.above.tolist(), ranks.tied.tolist()) == ([3], [1])


def test_a_file_that_shrinks_within_a_tile_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After its size was checked."""
    path = tmp_path / "scores.npy"
    np.save(path, np.zeros((2000, 1000), np.float32))
    counted = Job.count

    def late(*arguments: Any) -> Any:
        os.truncate(path, 4_000_000)
        return counted(*arguments)

    monkeypatch.setattr(Job, "count", late)
    refusal(ValueError, r"scores\.npy.*the file ends at byte 4", tr.rank, path, 0, io="read")


@pytest.mark.usefixtures("quarters")
@pytest.mark.parametrize("nan", ["raise", "omit"])
def test_a_true_score_that_is_nan_is_named(tmp_path: Path, nan: Any) -> None:
    scores = SCORES.copy()
    scores[7, TARGETS[7]] = np.nan
    path = save(tmp_path, "F", scores)
    words = rf"row 7\b.*column {TARGETS[7]}\b.*NaN"
    refusal(ValueError, words, tr.rank, path, TARGETS, nan=nan)


@pytest.mark.parametrize("io", ["map", "read"])
def test_scores_that_change_while_they_are_ranked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, io: str
) -> None:
    """If tiles cut rows, true scores are read twice and must not change in between."""
    path = save(tmp_path, "F")
    monkeypatch.setattr(driver, "TILE_BYTES", SCORES.nbytes // 4)

    def change(p: tr.Progress) -> None:
        if not p.done:
            np.save(path, np.asfortranarray(SCORES + 1))

    with pytest.raises(ValueError, match=r"true score of task 0 changed|scores\.npy"):
        tr.rank(path, TARGETS, io=io, progress=change)


GOLDEN = Path(__file__).parent / "golden" / "counter_format_2.npz"
FEW = np.array([[3, 1, 2, 5], [1, 1, 0, 4], [2, 7, 1, 2]], np.float32)


def test_golden_file() -> None:
    """Targets 2, 0 and 3, filter 0, none and 2; columns 0, 2 and 3 were counted before."""
    counter = tr.RankCounter.load(GOLDEN)
    counter.update(FEW[:, 1:2], start=1)
    ranks = counter.ranks()
    assert ranks.above.tolist() == [1, 1, 1]
    assert ranks.tied.tolist() == [1, 2, 2]
    assert ranks.candidates.tolist() == [3, 4, 3]
    assert ranks.audit is not None
    assert ranks.audit.at_best.tolist() == [1, 1, 1]


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_first_nan_of_all_tiles_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    monkeypatch.setattr(driver, "TILE_BYTES", SCORES.nbytes // 7)
    scores = SCORES.copy()
    scores[20, 150] = scores[21, 170] = np.nan
    path = save(tmp_path, order, scores)
    refusal(ValueError, "a score at row 20, column 150 is NaN", tr.rank, path, TARGETS)


def test_rows_that_no_task_reads_are_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "TILE_BYTES", SCORES.nbytes // 8)
    opened: list[Tile] = []

    class Watched(ArrayStore):
        def core_block(self, tile: Tile, io: str) -> Any:
            opened.append(tile)
            return super().core_block(tile, io)

    scores = read_scores(SCORES)
    assert isinstance(scores, Scores)
    job = prepare_job(SCORES.shape, [7, 8], read_rules({}), rows=[29, 3])
    counts = count_scores(Watched(scores), job).arrays
    assert [tile.top for tile in opened] == [0, 25]
    expected = tr.rank(SCORES, [7, 8], rows=[29, 3])
    assert counts["above"].tolist() == expected.above.tolist()
