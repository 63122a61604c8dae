"""Every fault of a file raises a clear error that names it, before anything is counted."""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import truerank as tr
from support.refusals import refusal
from support.store_files import assembled, assert_bytes, npy, scores, touch
from truerank.stores import open_scores, read_scores

GOOD = scores(6, 5, "f4")
MAGIC = b"\x93NUMPY\x01\x00"


def zipped(names: tuple[str, ...], compression: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name in names:
            archive.writestr(name, npy(GOOD))
    return stream.getvalue()


def encrypted() -> bytes:
    data = bytearray(zipped(("scores.npy",)))
    data[6] |= 1  # in the local header
    data[data.index(b"PK\x01\x02") + 8] |= 1  # in the directory
    return bytes(data)


ARCHIVE = zipped(("a.npy",))
DEFLATED = zipped(("s.npy",), zipfile.ZIP_DEFLATED)


class Fault(NamedTuple):
    """The contents of a file, the options to open it, and the words of the error."""

    name: str
    data: bytes
    message: str
    options: dict[str, Any] = {}  # noqa: RUF012
    kind: type[Exception] = ValueError


FAULTS = [
    # other formats; damaged headers are refused by tests/arrays/test_npy_files.py
    Fault("x.npy", npy(GOOD)[:-1], "expected 248 bytes (the header says (6, 5) float32, from byte"),
    Fault("x.csv", b"0.5,0.25\n", "x.csv: expected a .npy or .npz file; of raw numbers"),
    Fault("x.bin", GOOD.tobytes(), "np.memmap(path, dtype, 'r', offset, shape)"),
    Fault("x.h5", b"\x89HDF", "RankCounter.update(z[:, a:b], start=a)"),
    Fault("x.npy", ARCHIVE, "expected a .npy file"),
    # dtypes
    Fault("x.npy", npy(np.array([[None]])), "got dtype object"),
    Fault("x.npy", npy(np.zeros((2, 2), "f4,f4")), "got dtype", kind=TypeError),
    Fault("x.npy", npy(GOOD > 0), "got dtype bool", kind=TypeError),
    Fault("x.npy", npy(scores(2, 2, "V2")), 'dtype="bfloat16"', kind=TypeError),
    Fault("x.npy", npy(GOOD), "expected float64, as dtype= says", {"dtype": "float64"}, TypeError),
    Fault("x.npy", npy(GOOD), "expected one of", {"dtype": "float8"}, TypeError),
    # shapes
    Fault("x.npy", npy(GOOD[None]), "got shape (1, 6, 5)"),
    Fault("x.npy", npy(np.float32(1)), "got shape ()"),
    # archives
    Fault("x.npz", DEFLATED, "s.npy: cannot be read in place: it is compressed"),
    Fault("x.npz", encrypted(), "is encrypted"),
    Fault("x.npz", zipped(("a.npy", "b.npy")), ", or open_scores(path, member=...), which says"),
    Fault("x.npz", ARCHIVE, "expected the array 'c', got ['a']", {"member": "c"}),
    Fault("x.npz", zipped(()), "got []"),
    Fault("x.npz", ARCHIVE[:-30], "the archive is damaged"),
    Fault("x.npz", ARCHIVE[100:], "a.npy: cannot be read in"),
    Fault("x.npz", ARCHIVE[:28] + b"\xff\xff" + ARCHIVE[30:], "a.npy: expected"),
    Fault("x.npz", b"PKxx" + ARCHIVE[4:], "a.npy: cannot be read in"),
    Fault("x.npz", ARCHIVE.replace(MAGIC, b"12345678"), "x.npz: a.npy: expected a .npy"),
]
ARGUMENTS = [
    ({"axis": 2}, ValueError, "axis: expected 0 (rows) or 1 (columns), got 2"),
    ({"axis": "rows"}, TypeError, "axis: expected 0 (rows) or 1 (columns), got str"),
    ({"io": "mmap"}, ValueError, "io: expected one of map, read, got 'mmap'"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.name}, {fault.message}")
def test_files(tmp_path: Path, fault: Fault) -> None:
    path = tmp_path / fault.name
    path.write_bytes(fault.data)
    message = refusal(fault.kind, re.escape(fault.message), open_scores, path, **fault.options)
    assert str(path) in message or message.startswith("dtype: expected")


@pytest.mark.parametrize(("options", "kind", "message"), ARGUMENTS)
def test_arguments(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    refusal(kind, re.escape(message), open_scores, "is not even looked for", **options)


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


def test_missing_files(tmp_path: Path) -> None:
    np.save(tmp_path / "there.npy", GOOD)
    for source in (tmp_path / "part.npy", [tmp_path / "there.npy", tmp_path / "part.npy"]):
        for open_ in (open_scores, read_scores):
            refusal(FileNotFoundError, r"part\.npy", open_, source)
    refusal(FileNotFoundError, r"no .* matches.*part-\*\.npy", open_scores, tmp_path / "part-*.npy")


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "f.npy").mkdir()
    for source in (tmp_path / "f.npy", str(tmp_path / "*")):
        refusal(IsADirectoryError, re.escape(str(tmp_path)), open_scores, source)
    (tmp_path / "s.zarr").mkdir()
    for source in (tmp_path / "s.zarr", [tmp_path / "s.zarr"]):
        refusal(ValueError, r"s\.zarr: .* of zarr and HDF5, count blocks", open_scores, source)


@pytest.mark.parametrize("open_", [open_scores, read_scores])
def test_arrays_in_chunks(open_: Callable[[Any], Any]) -> None:
    """Those of zarr and HDF5 have these; what numpy would read of them is all."""

    class Chunks:
        shape = (4, 5)
        dtype = np.dtype("f4")
        chunks = (2, 5)

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise AssertionError("it is read")

    words = r"got Chunks in chunks; count blocks of columns, RankCounter\.update\(z\[:, a:b\]"
    refusal(TypeError, words, open_, Chunks())


@pytest.mark.skipif(
    sys.platform == "win32" or (hasattr(os, "geteuid") and os.geteuid() == 0),
    reason="everything may be read",
)
def test_no_permission(tmp_path: Path) -> None:
    np.save(tmp_path / "secret.npy", GOOD)
    (tmp_path / "secret.npy").chmod(0)
    refusal(PermissionError, r"secret\.npy", open_scores, tmp_path / "secret.npy")


def test_a_file_that_goes_away_while_it_is_closed(tmp_path: Path) -> None:
    np.save(tmp_path / "gone.npy", GOOD)
    with open_scores(tmp_path / "gone.npy") as store:
        touch(store)
        (tmp_path / "gone.npy").unlink()
        refusal(FileNotFoundError, r"gone\.npy", touch, store)


# -- shards that do not add up ---------------------------------------------------------------------

SHARDS: list[tuple[Any, int, type[Exception], str]] = [
    (scores(6, 4, "f4"), 0, ValueError, "expected 5 columns, as the first"),
    (scores(5, 5, "f4"), 1, ValueError, "expected 6 rows, as the first"),
    (GOOD[0], 1, ValueError, "expected 6 rows, as the first"),
    (scores(6, 5, "f8"), 0, TypeError, "expected dtype float32 (<f4), got"),
    (GOOD.astype(">f4"), 0, TypeError, "expected dtype float32 (<f4), got"),
    (np.float32(1), 0, ValueError, "expected a matrix (rows, columns)"),
]


@pytest.mark.parametrize(("second", "axis", "kind", "message"), SHARDS)
def test_shards(
    tmp_path: Path, second: Any, axis: int, kind: type[Exception], message: str
) -> None:
    np.save(tmp_path / "part-0.npy", GOOD)
    np.save(tmp_path / "part-1.npy", second)
    words = re.escape(f"scores: {tmp_path / 'part-1.npy'}: {message}")
    refusal(kind, words, open_scores, tmp_path / "part-*.npy", axis=axis)


def test_bfloat16_in_unlike_carriers(tmp_path: Path) -> None:
    np.save(tmp_path / "part-0.npy", scores(2, 5, "V2"))
    np.save(tmp_path / "part-1.npy", scores(2, 5, "<u2"))
    words = r"part-1\.npy: expected dtype bfloat16 \(\|V2\)"
    pattern = tmp_path / "part-*.npy"
    refusal(TypeError, words, open_scores, pattern, dtype="bfloat16")


def test_no_shards() -> None:
    for source in ([], ()):
        refusal(ValueError, "at least one shard, got an empty list", open_scores, source)


# Names of files of 6 rows each, in their order, and the error: of what is missing, or of names.
MISSING = (
    FileNotFoundError,
    r"missing between .*{0}\.npy and .*{1}\.npy, whose numbers go neither",
)
LACKING = (FileNotFoundError, "expected 4 shards, as the names say")
UNLIKE = (ValueError, "expected files whose names differ in one number, .* got .* beside ")
NAMES_OF_SHARDS: dict[str, tuple[str, Any]] = {
    "plain": ("part-0 part-1 part-3", MISSING),
    "every second": ("c-0 c-2", MISSING),
    "padded": ("part-008 part-009 part-011", MISSING),
    "folders": ("s1/a s2/a s4/a", MISSING),
    "no first rows": ("part-0 part-6 part-18", MISSING),
    "first rows without the first": ("part-6 part-12", MISSING),
    "of how many": ("1-of-4 2-of-4 4-of-4", LACKING),
    "of how many at the end": ("y-0-of-4 y-1-of-4 y-2-of-4", LACKING),
    "of how many at the start": ("2_of_4 3_of_4 4_of_4", LACKING),
    "one of how many": ("y-00-of-04", LACKING),
    "first rows of how many": ("0-of-4 6-of-4 12-of-4 18-of-4", LACKING),
    "other names": ("part-0 part-1 part-2 rest", UNLIKE),
    "an old one": ("c-0 c-0-old c-1", UNLIKE),
    "one number twice": ("c-01 c-1 c-2", UNLIKE),
    "one number twice, alone": ("c-01 c-1", UNLIKE),
    "two numbers": ("r0-c0 r0-c1 r2-c0", UNLIKE),
    "dates": ("2020-01-31 2020-02-01", UNLIKE),
    "letters": ("a b d", UNLIKE),
    "of unlike numbers": ("0-of-2 1-of-3", UNLIKE),
    "by ones": ("part-9 part-10 part-11", None),
    "by ones, padded": ("part-09 part-10 part-11", None),
    "by ones, one padded": ("p-1 p-02", None),
    "by ones, alone": ("9 10 11", None),
    "folders by ones": ("e9/p-1 e10/p-1", None),
    "first rows": ("part-0 part-6 part-12", None),
    "all of how many": ("y-0-of-2 y-1-of-2", None),
    "all of how many from 1": ("y-1-of-2 y-2-of-2", None),
    "all folders of how many": ("1-of-2/a 2-of-2/a", None),
    "in one folder of several": ("fold-1-of-5/part-0 fold-1-of-5/part-1", None),
    "alone in one folder of several": ("fold-1-of-5/part-0", None),
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


# -- damage anywhere -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.mark.filterwarnings("ignore:Reading `.npy`:UserWarning")
@given(
    st.sampled_from(["x.npy", "x.npz"]),
    st.lists(st.tuples(st.integers(0, 250), st.integers(0, 255)), min_size=1, max_size=3),
    st.integers(0, 600),
)
@example("x.npz", [(30, 98)], 600)  # another name than in the directory
@example("x.npy", [(21, 49)], 600)  # a dtype of arrays
def test_damage(folder: Path, name: str, changes: list[tuple[int, int]], end: int) -> None:
    """What can be opened is what numpy reads; anything else is an error that names the file."""
    data = bytearray({"x.npy": npy(GOOD), "x.npz": ARCHIVE}[name])
    for at, value in changes:
        if at < len(data):
            data[at] = value
    (folder / name).write_bytes(data[:end])
    try:
        store = open_scores(folder / name)
    except (ValueError, TypeError) as error:
        assert name in str(error)  # noqa: PT017
        return
    with store:
        # numpy checks the checksum of a member, and must read all of it for that
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(zipfile.ZipExtFile, "_update_crc", lambda *_: None)
            array = np.load(folder / name)
            if name == "x.npz":
                with array as archive:
                    array = archive[archive.files[0]]
        assert_bytes(assembled(store, 50, "map"), array.reshape(store.shape))
