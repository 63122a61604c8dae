"""Files that options name: only regular ones are opened."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from support.alignment_folders import OPENEA, fill_folder
from support.cli_files import Run
from support.interruptions import refusing_to_wait


@pytest.fixture(autouse=True)
def good_files() -> Iterator[None]:
    """Write good files, and fail a test that waits for somebody to write to a pipe."""
    np.save("scores.npy", np.eye(3, dtype=np.float32))
    np.save("targets.npy", np.arange(3))
    tr.rank(np.eye(3), [0, 1, 2], filter=[[]] * 3).save("ranks.npz")
    Path("qrels.txt").write_text("q 0 d 1\n")
    Path("run.txt").write_text("q Q0 d 1 0.5 t\n")
    fill_folder(Path("oea"), OPENEA)
    Path("test.tsv").write_text("a\tr\tb\nb\tr\tc\nc\tr\ta\n")
    with refusing_to_wait():
        yield


LABELS = "link-prediction --test test.tsv --scores tail=scores.npy --labels entities=X.txt"
DOORS = [
    f"evaluate scores.npy targets.npy --{x}" for x in ("filter X.npz", "rows X.npy", "save X.npz")
]
DOORS += ["evaluate X.npy targets.npy", "compare ranks.npz X.npz", "merge ranks.npz X.npz", LABELS]
GROUPS = "retrieval --qrels qrels.txt --lists run.txt --candidates 3 --by X.txt"
DOORS += [GROUPS, "alignment --scores scores.npy --data oea --known train=X.txt"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
@pytest.mark.parametrize("line", DOORS)
def test_files_that_are_none(run: Run, line: str) -> None:
    name = next(word for word in line.split() if "X." in word).rpartition("=")[2]
    if "X.npy" in line:  # a door of either kind
        os.mkfifo(name)
    else:
        Path(name).symlink_to("/dev/zero")
    outcome = run(*line.split())
    outcome.refuses(1, "expected a regular file")
    assert name in outcome.err or "--save" in line
