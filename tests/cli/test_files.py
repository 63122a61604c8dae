"""Files that options name: only regular ones are opened, and compressed ones have a limit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import truerank as tr
from support.cli_files import Run
from support.interruptions import refusing_to_wait


@pytest.fixture(autouse=True)
def good_files() -> Iterator[None]:
    """Write good files, and fail a test that waits for somebody to write to a pipe."""
    np.save("scores.npy", np.eye(3, dtype=np.float32))
    np.save("targets.npy", np.arange(3))
    tr.rank(np.eye(3), [0, 1, 2], filter=[[]] * 3).save("ranks.npz")
    Path("test.tsv").write_text("a\tr\tb\nb\tr\tc\nc\tr\ta\n")
    with refusing_to_wait():
        yield


LABELS = "link-prediction --test test.tsv --scores-tail scores.npy --entity-labels X.txt"
DOORS = [
    f"evaluate scores.npy targets.npy --{x}" for x in ("filter X.npz", "rows X.npy", "save X.npz")
]
DOORS += ["evaluate X.npy targets.npy", "compare ranks.npz X.npz", LABELS]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
@pytest.mark.parametrize("line", DOORS)
def test_files_that_are_none(run: Run, line: str) -> None:
    name = next(word for word in line.split() if "X." in word)
    if "X.npy" in line:  # a door of either kind
        os.mkfifo(name)
    else:
        Path(name).symlink_to("/dev/zero")
    outcome = run(*line.split())
    outcome.refuses(1, "expected a regular file")
    assert name in outcome.err or "--save" in line


def test_selections(run: Run) -> None:
    def code_and_error(**arrays: Any) -> tuple[int, str]:
        if arrays:
            np.savez("x.npz", **arrays)
        code, _, err = run("evaluate", "scores.npy", "targets.npy", "--filter", "x.npz")
        return code, err

    matrix = scipy.sparse.csr_array(np.eye(3))
    for compressed in (True, False):
        scipy.sparse.save_npz("x.npz", matrix, compressed=compressed)
        assert code_and_error() == (0, "")
    parts: dict[str, Any] = {"indptr": np.arange(4), "indices": np.arange(3)}
    assert code_and_error(**parts) == code_and_error(**parts, lists=np.arange(3)) == (0, "")
    for wrong in (b"csc", ["csr", "csr"], np.zeros(3), b"\xff\xfe"):
        code, err = code_and_error(**parts, format=wrong, shape=[3, 3])
        assert code == 1
        assert err.startswith("Error: --filter: expected a scipy.sparse matrix in csr")
    code, err = code_and_error(indptr=[0], indices=np.array([None]))
    assert code == 1
    assert "x.npz: indices.npy: expected plain" in err
