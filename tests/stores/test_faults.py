"""Every fault of a file raises a clear error that names it, before anything is counted."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import T, V, refusal
from support.store_files import npy, scores, touch
from truerank.stores import open_scores, read_scores

GOOD = scores(6, 5, "f4")


def zipped(names: tuple[str, ...], compression: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name in names:
            archive.writestr(name, npy(GOOD))
    return stream.getvalue()


ARCHIVE = zipped(("a.npy",))

# A file, its content, options, the error, and words of it that help. The corpus has damaged ones.
FAULTS: list[tuple[str, bytes, dict[str, Any], type[Exception], str]] = [
    ("x.npy", npy(GOOD)[:-1], {}, V, "expected 248 bytes"),
    ("x.csv", b"0.5,0.25\n", {}, V, "x.csv: expected a .npy or .npz file"),
    ("x.h5", b"\x89HDF", {}, V, "x.h5: expected a .npy or .npz file"),
    ("x.npy", npy(GOOD > 0), {}, T, "x.np"),
    ("x.npy", npy(scores(2, 2, "V2")), {}, T, "dtype= says which numbers"),
    ("x.npy", npy(GOOD), {"dtype": "float64"}, T, "x.np"),
    ("x.npz", zipped(("s.npy",), zipfile.ZIP_DEFLATED), {}, V, "it is compressed"),
    (
        "x.npz",
        zipped(("a.npy", "b.npy")),
        {},
        V,
        "got ['a', 'b']; open_scores(path, member=name) says which",
    ),
    ("x.npz", ARCHIVE, {"member": "c"}, V, "got ['a']"),
]


@pytest.mark.parametrize(("name", "data", "options", "kind", "words"), FAULTS)
def test_files(
    tmp_path: Path,
    name: str,
    data: bytes,
    options: dict[str, Any],
    kind: type[Exception],
    words: str,
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert str(path) in refusal(kind, re.escape(words), open_scores, path, **options)


# -- what the system says --------------------------------------------------------------------------


def test_the_checksum_of_a_member_is_not_tested(tmp_path: Path) -> None:
    """A count reads what is there, as `open_scores` says; zipfile tells, as the page says."""
    path = tmp_path / "scores.npz"
    array = np.arange(12.0).reshape(3, 4)
    np.savez(path, scores=array)
    content = bytearray(path.read_bytes())
    place = content.index(array.tobytes())
    array[0, 1] = 99
    content[place : place + array.nbytes] = array.tobytes()
    assert zipfile.ZipFile(path).testzip() is None
    path.write_bytes(content)
    assert zipfile.ZipFile(path).testzip() == "scores.npy"
    with pytest.raises(zipfile.BadZipFile, match="CRC-32"):
        np.load(path)["scores"]
    assert tr.rank(path, [3, 0, 1]) == tr.rank(array, [3, 0, 1])


def test_what_is_no_file(tmp_path: Path) -> None:
    np.save(tmp_path / "there.npy", GOOD)
    for source in (tmp_path / "part.npy", [tmp_path / "there.npy", tmp_path / "part.npy"]):
        for open_ in (open_scores, read_scores):
            refusal(FileNotFoundError, r"part\.npy", open_, source)
    refusal(FileNotFoundError, r"no .* matches.*part-\*\.npy", open_scores, tmp_path / "part-*.npy")
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "f.npy").mkdir()
    for source in (tmp_path / "f" / "f.npy", str(tmp_path / "f" / "*")):
        refusal(IsADirectoryError, re.escape(str(tmp_path)), open_scores, source)
    (tmp_path / "s.zarr").mkdir()
    for source in (tmp_path / "s.zarr", [tmp_path / "s.zarr"]):
        refusal(ValueError, r"s\.zarr: expected a \.npy or", open_scores, source)


@pytest.mark.parametrize("open_", [open_scores, read_scores])
def test_arrays_in_chunks(open_: Callable[[Any], Any]) -> None:
    """Those of zarr and HDF5 have these; what numpy would read of them is all."""

    class Chunks:
        shape = (4, 5)
        dtype = np.dtype("f4")
        chunks = (2, 5)

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise AssertionError("it is read")

    words = r"\(a RankCounter takes blocks\), got Chunks in chunks$"
    refusal(TypeError, words, open_, Chunks())


def test_a_file_that_goes_away_while_it_is_closed(tmp_path: Path) -> None:
    np.save(tmp_path / "gone.npy", GOOD)
    with open_scores(tmp_path / "gone.npy") as store:
        touch(store)
        (tmp_path / "gone.npy").unlink()
        refusal(FileNotFoundError, r"gone\.npy", touch, store)


# -- shards that do not add up ---------------------------------------------------------------------

SHARDS: list[tuple[Any, Any, dict[str, Any], type[Exception]]] = [
    (GOOD, scores(6, 4, "f4"), {}, V),
    (GOOD, scores(5, 5, "f4"), {"axis": 1}, V),
    (GOOD, GOOD[0], {"axis": 1}, V),
    (GOOD, scores(6, 5, "f8"), {}, T),
    (scores(2, 5, "V2"), scores(2, 5, "<u2"), {"dtype": "bfloat16"}, T),
]


@pytest.mark.parametrize(("first", "second", "options", "kind"), SHARDS)
def test_shards(
    tmp_path: Path, first: Any, second: Any, options: dict[str, Any], kind: type[Exception]
) -> None:
    np.save(tmp_path / "part-0.npy", first)
    np.save(tmp_path / "part-1.npy", second)
    words = re.escape(f"scores: {tmp_path / 'part-1.npy'}: ")
    refusal(kind, words, open_scores, tmp_path / "part-*.npy", **options)


def test_the_other_axis_is_the_way_out_where_it_joins_the_shards() -> None:
    shards = [GOOD, scores(6, 4, "f4")]
    words = r"the first shard has, got shape \(6, 4\); open_scores\(shards, axis=1\) joins shards "
    refusal(ValueError, words, open_scores, shards)
    assert open_scores(shards, axis=1).shape == (6, 9)
    with pytest.raises(tr.InputValueError, match=r"got shape \(6, 4\)$"):  # It joins not all.
        open_scores([*shards, GOOD[:2]])
    message = refusal(ValueError, "as the first shard has", open_scores, [GOOD, scores(7, 4, "f4")])
    assert "axis" not in message


# Names of files of 6 rows each, in their order, and the error: of what is missing, or of names.
MISSING = (FileNotFoundError, r"missing between .*{0}\.npy and .*{1}\.npy, whose numbers go ")
LACKING = (FileNotFoundError, "expected 4 shards, as the names say")
UNLIKE = (ValueError, "expected files whose names differ in one number, .* got .* beside ")
NAMES_OF_SHARDS: dict[str, tuple[str, Any]] = {
    "plain": ("part-0 part-1 part-3", MISSING),
    "padded": ("part-008 part-009 part-011", MISSING),
    "first rows without the first": ("part-6 part-12", MISSING),
    "of how many": ("1-of-4 2-of-4 4-of-4", LACKING),
    "other names": ("part-0 part-1 part-2 rest", UNLIKE),
    "one number twice": ("c-01 c-1 c-2", UNLIKE),
    "two numbers": ("r0-c0 r0-c1 r2-c0", UNLIKE),
    "of unlike numbers": ("0-of-2 1-of-3", UNLIKE),
    "by ones": ("part-9 part-10 part-11", None),
    "by ones, one padded": ("p-1 p-02", None),
    "first rows": ("part-0 part-6 part-12", None),
    "all of how many from 1": ("y-1-of-2 y-2-of-2", None),
    "in one folder of several": ("fold-1-of-5/part-0 fold-1-of-5/part-1", None),
    "alone": ("scores-7", None),
}


@pytest.mark.parametrize(("names", "error"), NAMES_OF_SHARDS.values(), ids=NAMES_OF_SHARDS)
def test_names_of_shards(tmp_path: Path, names: str, error: Any) -> None:
    paths = [tmp_path / f"{name}.npy" for name in names.split()]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(npy(GOOD))
    pattern = tmp_path / "**" / "*.npy"
    if error is None:
        with open_scores(pattern) as store:
            assert store.files == tuple(map(str, paths))
    else:
        kind, words = error
        refusal(kind, words.format(*names.split()[-2:]), open_scores, pattern)
    with open_scores(paths) as store:  # A list is taken as it is given.
        assert store.shape == (6 * len(paths), 5)


def test_numbers_that_are_first_columns(tmp_path: Path) -> None:
    for start, columns in ((0, 3), (3, 4), (7, 2)):
        np.save(tmp_path / f"columns_{start:02}.npy", scores(6, columns, "f4"))
    with open_scores(tmp_path / "*.npy", axis=1) as store:
        assert store.shape == (6, 9)
    (tmp_path / "columns_03.npy").unlink()
    words = r"neither by ones nor by their first columns, \[0, 3\]"
    refusal(FileNotFoundError, words, open_scores, tmp_path / "*.npy", axis=1)
