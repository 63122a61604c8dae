"""A checkpoint is continued or refused: nothing in the file is trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.hostile_members import check_refusal, hostile_files, rewrite
from truerank.counting import checkpoints, tiles
from truerank.ranks.counts import checked_counts

SCORES = np.array([[3, 1, 2, 5], [1, 1, 0, 4], [2, 7, 1, 2]], np.float32)
TARGETS = np.array([0, 3, 1])


class Stopped(Exception):
    """Stands for the exception of a Ctrl-C."""


def stopped_count(folder: Path, order: str, audit: bool) -> tuple[Path, Path]:
    """Stop a count after its first tile; return the files of the scores and of the checkpoint."""
    path, kept = folder / "scores.npy", folder / "kept"
    np.save(path, np.asarray(SCORES, order=order))  # type: ignore[call-overload]

    def stop(progress: tr.Progress) -> None:
        if progress.done:
            raise Stopped

    with pytest.raises(Stopped):
        tr.rank(path, TARGETS, checkpoint=kept, audit=audit, progress=stop)
    return path, kept


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "TILE_BYTES", 16)
    monkeypatch.setattr("os.fsync", lambda _: None)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("audit", [False, True])
def test_a_checkpoint_of_hostile_members_is_refused_or_possible(
    order: str, audit: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, kept = stopped_count(tmp_path, order, audit)
    monkeypatch.setattr(checkpoints.Checkpoint, "save", lambda *_: None)
    refused: set[str] = set()
    names: set[str] = set()
    for member in hostile_files(kept):
        names.add(member)
        try:
            ranks = tr.rank(path, TARGETS, checkpoint=kept, audit=audit)
        except Exception as error:
            if "changed while it was ranked" in str(error):  # what was said to be counted says so
                continue
            check_refusal(error, kept)
            refused.add(member)
        else:
            checked_counts(ranks.above, ranks.tied, ranks.candidates)
            assert ranks.candidates.max() <= 4
    assert refused == names
    assert {"truerank", "done", "count.above", "count.tied", "count.candidates"} <= names


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize(
    ("member", "value", "words"),
    [
        ("count.above", np.full(3, 2**64 - 1, np.uint64), "got uint64 of shape"),
        ("count.above", np.array([5, 0, 0]), "from 0 to 4, got 5"),
        ("count.above", np.array([4, 0, 0]), "no more scores than candidates"),
        ("count.tied", np.array([0, 0, 0]), "the true candidate of each task"),
        ("count.candidates", np.array([4, 0]), r"shape \(3,\), from 0 to 4, got int64 of .*2"),
        ("count.above", np.array(["a", "b", "c"]), "got <U1"),
        ("count.above", np.full(3, np.inf), "got float64"),
        ("done", np.array(4), "from 0 to 3, got 4"),
        ("done", np.array(1.5), r"shape \(\), from 0 to 3, got float64"),
        ("done", np.array("1"), "got <U1"),
        ("truerank", np.array([91, 93], np.uint8), "header: expected an object"),
    ],
)
def test_what_is_impossible_is_named(member: str, value: Any, words: str, tmp_path: Path) -> None:
    path, kept = stopped_count(tmp_path, "C", audit=False)
    rewrite(kept, **{member: value})
    with pytest.raises(tr.InputValueError, match=f"^checkpoint: .*kept: damaged: .*{words}"):
        tr.rank(path, TARGETS, checkpoint=kept)
