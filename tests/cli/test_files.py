"""Files that options name: only regular ones are opened, and compressed ones have a limit."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import truerank as tr
from support import cli_files
from support.cli_files import Run
from support.interruptions import refusing_to_wait

run = cli_files.run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Write good files, and fail a test that waits for somebody to write to a pipe."""
    monkeypatch.chdir(tmp_path)
    np.save("scores.npy", np.eye(3, dtype=np.float32))
    np.save("targets.npy", np.arange(3))
    np.savez_compressed("filter.npz", indptr=np.arange(4), indices=np.zeros(3, np.int64))
    tr.rank(np.eye(3), [0, 1, 2], filter=[[]] * 3).save("ranks.npz")
    triples = "".join(f"{h}\tr\t{t}\n" for h, t in ("ab", "bc", "ca"))
    Path("test.tsv").write_text(triples)
    Path("pairs.tsv").write_text("0\t1\n1\t2\n")
    np.save("pairs.npy", [[0, 1], [1, 2]])
    Path("test.tsv.gz").write_bytes(gzip.compress(triples.encode()))
    Path("names.gz").write_bytes(gzip.compress(b"a\nb\nc\n"))
    with refusing_to_wait():
        yield tmp_path


EVALUATE = "evaluate scores.npy targets.npy"
LINKS = "link-prediction --test test.tsv --scores-tail scores.npy --scores-head scores.npy"
LINKED = "link-prediction --test test.tsv --similarity dot"
ALIGN = "alignment scores.npy scores.npy pairs.tsv"
VECTORS = "--entities scores.npy --queries-tail scores.npy --queries-head scores.npy"
DOORS = (  # one for each way in which commands read a file, and each place of a task's
    "evaluate X.npy targets.npy",
    "evaluate scores.npy X.npy",
    "evaluate X.npz",
    *(f"{EVALUATE} --{name} X.npy" for name in ("filter", "rows", "candidates", "relation")),
    *(f"{EVALUATE} --{name} X.npz" for name in ("filter", "candidates", "save")),
    "compare ranks.npz X.npz",
    "compat X.npy targets.npy",
    f"{LINKS} --train X.tsv",
    f"{LINKS} --valid X.npy",
    f"{LINKS} --known more=X.gz",
    f"{LINKS} --entity-labels X.txt",
    f"{LINKS} --relation-labels X.npy",
    LINKS.replace("test.tsv", "X.tsv"),
    LINKS.replace("tail scores.npy", "tail X.npy"),
    f"{LINKED} {VECTORS}".replace("entities scores", "entities X"),
    f"{LINKED} {VECTORS}".replace("tail scores", "tail X"),
    f"{LINKED} {VECTORS} --bias X.npy",
    "alignment X.npy scores.npy pairs.tsv",
    "alignment scores.npy scores.npy X.tsv",
    "alignment --scores X.npy pairs.tsv",
    f"{ALIGN} --candidates X.npy,scores.npy",
    "retrieval --qrels X.txt --scores scores.npy",
    "retrieval --qrels pairs.npy --lists X.txt --candidates 3",
)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
@pytest.mark.parametrize("line", DOORS)
def test_files_that_are_none(run: Run, line: str) -> None:
    name = next(word for word in line.replace("=", " ").replace(",", " ").split() if "X." in word)
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
