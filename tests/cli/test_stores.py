"""`truerank evaluate` with files of every kind: the ranks equal those of an array in memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import truerank as tr
from support import cli_files
from support.cli_files import INDICES, INDPTR, SCORES, TARGETS, Files, Run

pytestmark = pytest.mark.python_only

run, folder, files = cli_files.run, cli_files.folder, cli_files.files


@pytest.fixture
def stored(folder: Path) -> Path:
    """Write the scores to files of every kind."""
    for at, (first, last) in enumerate([(0, 1), (1, 1), (1, 4)]):
        np.save(folder / f"part-{9 + at}.npy", SCORES[first:last])  # 9, 10, 11
    for at, (first, last) in enumerate([(0, 2), (2, 5)]):
        np.save(folder / f"side-{at}.npy", SCORES[:, first:last])
    np.savez(folder / "one.npz", SCORES)
    np.savez(folder / "two.npz", tails=SCORES, heads=-SCORES)
    SCORES.tofile(folder / "raw.bin")
    (folder / "fortran.bin").write_bytes(SCORES.tobytes("F"))
    SCORES.astype(">f4").tofile(folder / "big.bin")
    (folder / "offset.bin").write_bytes(b"seven b" + SCORES.tobytes())
    SCORES.astype(np.float16).tofile(folder / "half.bin")
    SCORES.astype(ml_dtypes.bfloat16).tofile(folder / "brain.bin")
    np.save(folder / "fortran.npy", np.asfortranarray(SCORES))
    np.save(folder / "swapped.npy", SCORES.astype(SCORES.dtype.newbyteorder()))
    return folder


def counted(run: Run, stored: Path, line: str, *more: str) -> tr.Ranks:
    """Run a command line and return the saved ranks; every word with a dot names a file."""
    words = [str(stored / w) if "." in w and not w.startswith("-") else w for w in line.split()]
    outcome = run("evaluate", *words, *more, "--save", stored / "ranks.npz")
    assert (outcome.code, outcome.err) == (0, "")
    return tr.load(stored / "ranks.npz")


KINDS = {
    "scores.npy targets.npy": SCORES,
    "fortran.npy targets.npy": SCORES,
    "swapped.npy targets.npy": SCORES,
    "part-*.npy targets.npy": SCORES,
    "part-*.npy targets.npy --shards rows": SCORES,
    "side-*.npy targets.npy --shards columns": SCORES,
    "one.npz targets.npy": SCORES,
    "two.npz targets.npy --member heads": -SCORES,
    "two.npz targets.npy --member tails": SCORES,
    "raw.bin targets.npy --shape 4x5 --dtype float32": SCORES,
    "raw.bin targets.npy --shape x5 --dtype float32": SCORES,
    "raw.bin targets.npy --shape 4X --dtype float32 --offset 0": SCORES,
    "offset.bin targets.npy --shape 4x5 --dtype float32 --offset 7": SCORES,
    "fortran.bin targets.npy --shape 4x5 --dtype float32 --layout F": SCORES,
    "raw.bin targets.npy --shape 4x5 --dtype <float32 --layout C --io map": SCORES,
    "big.bin targets.npy --shape x5 --dtype >float32": SCORES,
    "half.bin targets.npy --shape 4x5 --dtype float16": SCORES.astype(np.float16),
    "brain.bin targets.npy --shape 4x5 --dtype bfloat16": SCORES.astype(ml_dtypes.bfloat16),
    "bfloat16.npy targets.npy --dtype bfloat16": SCORES.astype(ml_dtypes.bfloat16),
}


@pytest.mark.parametrize("io", ["", "read"])
@pytest.mark.parametrize("line", KINDS)
def test_every_kind_of_file(run: Run, stored: Path, line: str, io: str) -> None:
    more = ["--filter", str(stored / "pair.npz"), *(["--io", io] if io else [])]
    ranks = counted(run, stored, line, *more)
    expected = tr.rank(KINDS[line], TARGETS, filter=(INDPTR, INDICES))
    assert ranks.with_protocol(files=()) == expected


def test_rows_and_filters_refer_to_the_whole_matrix(run: Run, stored: Path) -> None:
    rows, targets = np.array([3, 0, 3]), np.array([4, 1, 0])
    np.save(stored / "r.npy", rows)
    np.save(stored / "t.npy", targets)
    lists = np.array([0, 2, 2, 3]), np.array([0, 3, 4])
    np.savez(stored / "f.npz", indptr=lists[0], indices=lists[1])
    expected = tr.rank(SCORES, targets, rows=rows, filter=lists)
    for line in ("part-*.npy t.npy", "side-*.npy t.npy --shards columns"):
        ranks = counted(run, stored, f"{line} --rows r.npy --filter f.npz")
        assert ranks.with_protocol(files=()) == expected


def test_the_protocol_names_every_file(run: Run, stored: Path) -> None:
    ranks = counted(run, stored, "part-*.npy targets.npy")
    names = [f"part-{n}.npy" for n in (9, 10, 11)]  # in the order of their numbers
    assert ranks.protocol.files == tuple(str(stored / n) for n in (*names, "targets.npy"))


def test_a_file_may_have_the_name_of_a_pattern(run: Run, stored: Path) -> None:
    np.save(stored / "part-[9].npy", -SCORES)
    ranks = counted(run, stored, "part-[9].npy targets.npy")
    assert ranks.with_protocol(files=()) == tr.rank(-SCORES, TARGETS)


@pytest.mark.parametrize("dimensions", [1, 2])
def test_a_single_row(run: Run, stored: Path, dimensions: int) -> None:
    np.save(stored / "row.npy", SCORES[0] if dimensions == 1 else SCORES[:1])
    ranks = counted(run, stored, "row.npy 3")
    assert ranks.with_protocol(files=()) == tr.rank(SCORES[:1], 3)
    if dimensions == 1:  # every task reads it
        ranks = counted(run, stored, "row.npy targets.npy")
        assert ranks.with_protocol(files=()) == tr.rank(SCORES[0], TARGETS)


def test_chunks(run: Run, stored: Path) -> None:
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(stored / "s.zarr", shape=(4, 5), chunks=(3, 2), dtype="float32")
    array[:] = SCORES
    ranks = counted(run, stored, "s.zarr targets.npy")
    assert ranks.with_protocol(files=()) == tr.rank(SCORES, TARGETS)
    for inside in ("ranks.npz", "zarr.json"):
        code, _, err = run("evaluate", stored / "s.zarr", 0, "--save", stored / "s.zarr" / inside)
        assert code == 1
        assert "is one of the files to be read" in err


def test_hdf5(run: Run, stored: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(stored / "s.h5", "w") as file:
        file["tails"], file["heads"] = SCORES, -SCORES
    for member, scores in (("tails", SCORES), ("heads", -SCORES)):
        ranks = counted(run, stored, f"s.h5 targets.npy --member {member}")
        assert ranks.with_protocol(files=()) == tr.rank(scores, TARGETS)


def test_formats_and_findings_equal_those_of_one_file(run: Run, files: Files, stored: Path) -> None:
    for more in ((), ("--audit",), ("--metrics", "mrr,hits@2", "--format", "csv")):
        first = run("evaluate", *files("scores.npy targets.npy"), *more)
        assert run("evaluate", *files("part-*.npy targets.npy"), *more) == first


def contents(folder: Path) -> dict[Path, bytes]:
    """Return the contents of the files of a folder."""
    return {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
@pytest.mark.parametrize(
    "line", ["pipe.npy 0", "scores.npy pipe.npy", "scores.npy 0 --filter pipe.npy"]
)
def test_pipes_do_not_block(run: Run, files: Files, folder: Path, line: str) -> None:
    os.mkfifo(folder / "pipe.npy")
    code, out, err = run("evaluate", *files(line))
    assert (code, out) == (1, "")
    assert "pipe.npy: expected a regular file" in err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("absent-*.npy 0", "absent-*.npy"),
        ("two.npz 0", "two.npz"),
        ("two.npz 0 --member sides", "sides"),
        ("raw.bin 0", "raw.bin"),
        ("raw.bin 0 --shape 5x5 --dtype float32", "raw.bin"),
        ("raw.bin 0 --shape 4x5 --dtype float32 --offset 1", "raw.bin"),
        ("side-*.npy 0", "side-1.npy"),
        ("part-*.npy 0 --shards columns", "part-10.npy"),
        ("mixed-*.npy 0", "mixed-2.npy"),
        ("short.npy 0", "short.npy"),
        ("pickle.npy 0", "pickle.npy"),
        ("words.npy 0", "words.npy"),
        ("damaged.npz 0", "damaged.npz"),
        ("part-*.npy 0 --save part-10.npy", "--save: "),
        ("side-*.npy targets.npy --shards columns --save side-0.npy", "--save: "),
        ("part-*.npy 0 --save spoilt.npy", "spoilt.npy.partial is one of the files to be read"),
        ("scores.npy 0 --dtype float64", "float64"),
        ("scores.npy 0 --shape 5x4", "scores.npy"),
        ("raw.bin 0 --shape 4x5", "or --dtype and --shape of a raw"),
        ("two.npz 0", "expected the array 'scores', got ["),
        ("scores.npy 0 --layout F", "only for raw binary files"),
        ("part-9.npy part-10.npy", "part-10.npy: expected columns, got a matrix; the shell splits"),
        ("part-*.npy 0 --save away.npz", "--save: no folder "),
        ("part-*.npy 0 --save held.npz", "held.npz.partial"),
        ("raw.bin 0 --dtype float32 --offset 8", "raw.bin"),
    ],
)
def test_faults_of_files_end_with_one(run: Run, stored: Path, line: str, message: str) -> None:
    np.save(stored / "mixed-1.npy", SCORES)
    np.save(stored / "mixed-2.npy", SCORES.astype(np.float64))
    if "spoilt" in line:
        (stored / "spoilt.npy.partial").symlink_to(stored / "part-9.npy")
    if "away" in line:
        (stored / "away.npz").symlink_to(stored / "nowhere" / "away.npz")
    if "held" in line:
        (stored / "held.npz.partial").mkdir()
    before = contents(stored)
    words = [str(stored / w) if "." in w and not w.startswith("-") else w for w in line.split()]
    code, out, err = run("evaluate", *words)
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert message in err
    assert err.count("\n") == 1
    assert contents(stored) == before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("raw.bin 0 --dtype float32 --shape x", "'--shape': expected rows and columns"),
        ("raw.bin 0 --dtype float32 --shape 20", "'--shape': expected rows and columns"),
        ("raw.bin 0 --dtype float8 --shape 4x5", "'--dtype'"),
        ("raw.bin 0 --dtype float32 --shape 4x5 --offset=-1", "'--offset'"),
        ("raw.bin 0 --dtype <>float32 --shape 4x5", "'--dtype'"),
        ("raw.bin 0 --dtype float32 --shape 4x5 --layout A", "'--layout'"),
        ("part-9.npy part-10.npy part-11.npy targets.npy", 'in quotes: "part-*.npy"'),
        ("scores.npy 0 --io mmap", "'--io'"),
        ("scores.npy 0 --shards both", "'--shards'"),
        ("scores.npy 0 --resume", "--resume needs --save"),
        ("part-*.npy", "Missing argument 'TARGETS'"),
        ("one.npz", "Missing argument 'TARGETS'"),
        ("bare.npz --shards rows", "--shards cannot apply"),
        ("bare.npz --dtype float32 --shape 4x5", "--shape, --dtype cannot apply"),
        ("bare.npz --save again.npz --resume --io read", "--io, --resume cannot apply"),
    ],
)
def test_wrong_command_lines_end_with_two(run: Run, stored: Path, line: str, message: str) -> None:
    tr.rank(SCORES, TARGETS).save(stored / "bare.npz")
    words = [str(stored / w) if "." in w and not w.startswith("-") else w for w in line.split()]
    code, out, err = run("evaluate", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_stores_are_closed(
    run: Run, files: Files, stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from truerank.cli import files as input_files

    opened: list[Any] = []
    open_scores: Callable[..., Any] = input_files.open_scores

    def watched(*args: Any, **keywords: Any) -> Any:
        store = open_scores(*args, **keywords)
        close = store.close
        monkeypatch.setattr(store, "close", lambda: (opened.remove(store), close()))
        opened.append(store)
        return store

    monkeypatch.setattr(input_files, "open_scores", watched)
    for line, code in (
        ("scores.npy targets.npy", 0),
        ("nan.npy 0", 1),
        ("scores.npy 0 --by words.npy --metrics relation.mr", 2),
    ):
        assert run("evaluate", *files(line)).code == code
        assert opened == []
