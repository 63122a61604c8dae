"""Files that are read: a path that names no regular file, and a damaged one, are refused at once.

What numpy writes is read, and anything else is a ValueError.
"""

from __future__ import annotations

import io
import os
import re
import socket
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import truerank as tr
from support.interruptions import allocating_at_most, refusing_to_wait
from support.refusals import refusal
from support.store_files import npy
from truerank import alignment, link_prediction
from truerank.arrays.input_files import decode_npy, open_input, read_npy, report_damage
from truerank.arrays.saved_files import read_npz
from truerank.stores.index_files import read_ids

pytestmark = pytest.mark.python_only
posix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")


@pytest.fixture
def in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Go to an empty folder, and fail a test that waits for somebody to write to a pipe."""
    monkeypatch.chdir(tmp_path)
    with refusing_to_wait():
        yield


def make_socket(name: str) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(name)


KINDS: dict[str, Callable[[str], None]] = {
    "folder": os.mkdir,
    "pipe": lambda name: os.mkfifo(name),
    "socket": make_socket,
    "device": lambda name: os.symlink("/dev/zero", name),
}
SCORES = np.zeros((2, 3))


def checkpointed(path: str) -> None:
    """Let the file appear after the check of the path, before a checkpoint is read."""
    task = {"progress": lambda _: None, "checkpoint": path}
    tr.rank(SCORES, [0, 1], **task)


DOORS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "scores": ("x.npy", tr.open_scores),
    "scores of rank": ("x.npz", lambda path: tr.rank(path, [0])),
    "vectors": ("x.fbin", lambda path: tr.topk_embeddings([[0.5]], path, 1)),
    "lists of an index": ("x.ivecs", lambda path: read_ids("found", path)),
    "ranks": ("x.npz", tr.load),
    "a checkpoint": ("x", checkpointed),
    "triples as text": ("x.tsv", link_prediction.read_triples),
    "known triples": ("x", lambda path: link_prediction.Task([(0, 0, 1)], {"train": path})),
    "pairs": ("x.tsv", lambda path: alignment.Task(path, left=2, right=2)),
}


@pytest.mark.usefixtures("in_time")
@pytest.mark.parametrize(
    "kind", ["folder", *(pytest.param(kind, marks=posix) for kind in KINDS if kind != "folder")]
)
@pytest.mark.parametrize(("name", "opened"), DOORS.values(), ids=DOORS)
def test_doors(kind: str, name: str, opened: Callable[[str], Any]) -> None:
    KINDS[kind](name)
    words = "." if kind == "folder" else "expected a regular file"
    assert name in refusal((OSError, ValueError), words, opened, name)


@pytest.mark.usefixtures("in_time")
def test_names_of_files() -> None:
    for name in ("a\0b", b"a\0b"):
        with pytest.raises(ValueError, match="a regular file"), open_input("path", name):
            pass
    with pytest.raises(FileNotFoundError, match="'absent'"), open_input("path", "absent"):
        pass
    Path("file").write_bytes(b"content")
    Path("link").symlink_to("file")
    for name in ("link", b"link", Path("link")):
        with open_input("path", name) as file:
            assert file.read() == b"content"
        assert file.closed


def test_damage_is_one_kind_of_error() -> None:
    with (
        pytest.raises(ValueError, match=r"^path: x: it is odd: 3"),
        report_damage("path", "x", "it is odd: "),
    ):
        raise LookupError(3)
    for passed in (MemoryError(), OSError(5, "the disk"), tr.InputValueError("rows", "other")):
        with pytest.raises(type(passed)) as caught, report_damage("path"):
            raise passed
        assert caught.value is passed


MAGIC = b"\x93NUMPY"
DTYPES = ("<f4", ">f8", "<i8", "|i1", "|b1", ">u2", "<U3", ">U1", "|S2", "<M8[s]", "<c8", "<f2")


def header(shape: str = "(20,)", descr: str = "'<i8'", order: str = "False") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
    data = np.arange(20, dtype=np.int64).tobytes()
    return MAGIC + b"\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + data


def zipped(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def assert_read(found: Any, expected: Any) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()
    assert found.flags.aligned


@given(st.data())
def test_what_numpy_writes_is_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "drawn.npy"
    dtype = data.draw(st.sampled_from(DTYPES))
    shape = data.draw(npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
    array = data.draw(npst.arrays(dtype, shape))
    if data.draw(st.booleans()):
        array = np.asfortranarray(array)
    content = npy(array, data.draw(st.sampled_from([None, (1, 0), (2, 0), (3, 0)])))
    path.write_bytes(content + data.draw(st.sampled_from([b"", b"more"])))
    for found in (read_npy("x", path), read_npy("x", path, mapped=True), decode_npy(content)):
        assert_read(found, np.load(path))


@pytest.mark.filterwarnings("ignore")  # of numpy
def test_any_wrong_byte_is_read_as_numpy_does_or_refused(tmp_path: Path) -> None:
    """Bits of the whole header and of its length, and every way to cut the file short."""
    whole = npy(np.arange(20).reshape(4, 5))
    path = tmp_path / "x.npy"
    damaged = [whole[:end] for end in range(0, len(whole), 3)]
    for place in range(128):
        bits = range(8) if place < 12 else [place % 8]
        for bit in bits:
            damaged.append(bytes(b ^ (1 << bit) * (i == place) for i, b in enumerate(whole)))
    read = 0
    for content in damaged:
        path.write_bytes(content)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = read_npy("targets", path)
        except ValueError as error:
            assert str(error).startswith(f"targets: {path}: ")  # noqa: PT017
        else:
            read += 1
            assert_read(found, np.load(path))
    assert read


# Beside those of `fuzz/corpus.zip`, which other doors read.
FAULTS = [
    header(f"({10**23},)"),
    header(f"({2**62}, 4, 0)"),
    header(f"({'9' * 5000},)"),
    header("(20,)", "'|O'"),
    header(order="1"),
    MAGIC + b"\x01\x00\x02\x00[]",
    header("-" * 15000),
    header()[:-1],
    # Python cannot make a str of it: that would be a SystemError, at some later place
    npy(np.array([65, 0x110000], ">u4").view(">U1")),
]


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("content", FAULTS, ids=range(len(FAULTS)))
def test_damaged_files(tmp_path: Path, content: bytes, mapped: bool) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    words = f"^weights: {re.escape(str(path))}: (expected |.* too big)"
    assert len(refusal(ValueError, words, read_npy, "weights", path, mapped=mapped)) < 500
    (tmp_path / "x.npz").write_bytes(zipped({"a.npy": content}))
    refusal(ValueError, r"^filter: .*x\.npz: a\.npy: ", read_npz, "filter", tmp_path / "x.npz")


def test_archives(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    arrays = {"indptr": np.arange(4), "indices": np.zeros((2, 3), ">f4"), "other": np.ones(3)}
    for save in (np.savez, np.savez_compressed):
        save(path, **arrays)  # type: ignore[arg-type]
        names, members = read_npz("filter", path)
        assert names == list(members) == list(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(members[name], array, strict=True)
        assert read_npz("filter", path, ("other", "absent"))[1].keys() == {"other"}


def declaring(data: bytes, size: int, *places: tuple[bytes, int]) -> bytes:
    """Return an archive that declares a size at some bytes after some marks."""
    changed = bytearray(data)
    for mark, place in places:
        start = data.index(mark) + place
        changed[start : start + 4] = size.to_bytes(4, "little")
    return bytes(changed)


def overlapping() -> bytes:
    """Return an archive of eight members over the same bytes."""
    data = zipped({"a.npy": npy(np.zeros(10_000))}, zipfile.ZIP_STORED)
    start = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    entries = b"".join(data[start:end].replace(b"a.npy", b"%c.npy" % c) for c in b"abcdefgh")
    tail = bytearray(data[end:])
    tail[8:12] = (8).to_bytes(2, "little") * 2
    tail[12:16] = len(entries).to_bytes(4, "little")
    return data[:start] + entries + tail


SIZES = (b"PK\x03\x04", 22), (b"PK\x01\x02", 24)  # of a member that is unpacked
PACKED = (b"PK\x01\x02", 20)
ZEROS = npy(np.zeros(10))
TERABYTE = header(f"({2**37},)")
DECLARING = [
    ("x.npy", TERABYTE, "expected 1,099,511,"),
    ("x.npz", zipped({"a.npy": TERABYTE}), r"a\.npy: expected 1,099,511,"),
    ("x.npz", declaring(zipped({"a.npy": TERABYTE}), 2**32 - 2, *SIZES), r"a\.npy: .*1,099,511"),
    ("x.npz", declaring(zipped({"a.npy": npy(np.zeros(10**6))}), 200, *SIZES), r"a\.npy: "),
    ("x.npz", declaring(zipped({"a.npy": ZEROS}), 1 << 28, PACKED), ".* 268,435,456 bytes"),
    ("x.npz", declaring(zipped({"a.npy": ZEROS}, 0), 1 << 28, PACKED), ".* 268,435,456 bytes"),
    ("x.npz", overlapping(), ".*: .* bytes"),
    ("x.npz", zipped({"a.npy": npy([1]), "a": npy([2])}), "not .* have"),
]


@pytest.mark.parametrize(("name", "data", "message"), DECLARING)
def test_no_size_that_is_declared_is_believed(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    """What a member declares is all that is unpacked of it."""
    (tmp_path / name).write_bytes(data)
    read: Any = read_npy if name == "x.npy" else read_npz
    with allocating_at_most(1 << 25):
        refusal(ValueError, rf"^filter: .*{name}: .*{message}", read, "filter", tmp_path / name)
