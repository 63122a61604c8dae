"""Saved ranks are read back unchanged or raise a clear error; no file is half written."""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from support.example_ranks import any_ranks, everything
from support.hostile_members import check_refusal, hostile_files, rewrite
from support.refusals import refusal
from truerank import Ranks, load
from truerank.ranks import storage

pytestmark = pytest.mark.python_only

GOLDEN = Path(__file__).parent / "golden" / "ranks_format_1.npz"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Return a file with every optional part."""
    path = tmp_path / "ranks.npz"
    everything().save(path)
    return path


def npy(array: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), **options)
    return stream.getvalue()


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}


def write(path: Path, contents: dict[str, bytes], **options: Any) -> Path:
    """Write any members."""
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, data in contents.items():
            archive.writestr(f"{name}.npy", data)
    return path


def header_of(path: Path) -> dict[str, Any]:
    """Return the header of a file, as numpy reads it."""
    with np.load(path, allow_pickle=False) as archive:
        header: dict[str, Any] = json.loads(archive["truerank"].tobytes())
    return header


# -- round trip ------------------------------------------------------------------------------------


@given(any_ranks())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, ranks: Ranks) -> None:
    path = tmp_path_factory.mktemp("ranks") / "r"
    ranks.save(path)
    loaded = load(path)
    assert loaded == ranks
    assert loaded.protocol == ranks.protocol
    assert not loaded.above.flags.writeable
    assert loaded.above.flags.aligned
    first = path.read_bytes()
    loaded.save(path)
    assert path.read_bytes() == first


def test_numpy_reads_it_too(saved: Path) -> None:
    with np.load(saved, allow_pickle=False) as archive:
        assert archive["above"].tolist() == [0, 3, 2**40, 1]
        assert archive["labels.side"].tolist() == [0, 1, 1, 0]
    header = header_of(saved)
    assert (header["kind"], header["format"]) == ("truerank.ranks", 1)
    assert header["labels"]["side"] == ["head", "tail"]
    assert header["labels"]["queries"] is None
    assert header["protocol"]["comparable"]["split"] == "test"


def test_labels_of_other_names_are_members(tmp_path: Path) -> None:
    more = {"word": ["x", "y\0", "x", "z"], "codes": [3, -1, 2**62, 0], "été": "a"}
    ranks = everything().with_labels(**more)
    path = tmp_path / "ranks.npz"
    ranks.save(path)
    assert load(path) == ranks
    contents = members(path)
    assert {"labels.codes", "labels.été", "labels.word", "labels.side"} <= set(contents)
    everything().with_labels(**dict(reversed(more.items()))).save(path)
    assert members(path) == contents


def test_golden_file() -> None:
    ranks = load(GOLDEN)
    assert ranks == everything()
    assert ranks.above.tolist() == [0, 3, 1099511627776, 1]
    assert ranks.weights.tolist() == [1.0, 0.0, 0.25, 3.0]
    assert ranks.relation.values.tolist() == ["likes", "knows", "likes", "likes\0"]
    assert ranks.queries.codes.tolist() == [7, 8, -1, 4611686018427387904]
    assert ranks.protocol == everything().protocol


# -- writing faults --------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_fault_leaves_the_old_file_alone(
    saved: Path, monkeypatch: pytest.MonkeyPatch, call: str, error: BaseException
) -> None:
    def fail(*arguments: object) -> None:
        raise error

    before = saved.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(storage.os, call, fail)
        with pytest.raises(type(error)):
            Ranks([0], [1], 5).save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_a_fault_while_writing_members(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **members: object) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(storage.np, "savez", fail)
        with pytest.raises(OSError, match="disk full"):
            Ranks([0], [1], 5).save(saved.with_name("new.npz"))
    assert os.listdir(saved.parent) == [saved.name]


def test_unwritable_targets(tmp_path: Path) -> None:
    ranks = everything()
    refusal(FileNotFoundError, r"absent.ranks\.npz", ranks.save, tmp_path / "absent" / "ranks.npz")
    refusal(ValueError, "expected a regular file", ranks.save, tmp_path)
    assert os.listdir(tmp_path) == []


def test_devices_are_not_replaced() -> None:
    if not os.path.exists(os.devnull) or os.path.isfile(os.devnull):
        pytest.skip("no device to write to")
    with pytest.raises(ValueError, match="expected a regular file"):
        everything().save(os.devnull)
    assert not stat.S_ISREG(os.stat(os.devnull).st_mode)


# -- reading faults --------------------------------------------------------------------------------


def refused(path: Path, match: str) -> None:
    """Check that reading the file raises a ValueError that names it."""
    with pytest.raises(ValueError, match=match) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent.npz")
    with pytest.raises((IsADirectoryError, PermissionError)):
        load(tmp_path)


def test_truncated_anywhere(saved: Path) -> None:
    whole = saved.read_bytes()
    for length in [*range(0, len(whole), 37), *range(len(whole) - 60, len(whole))]:
        saved.write_bytes(whole[:length])
        refused(saved, "not a file of truerank|damaged")


def flips(path: Path, expected: Ranks, places: set[int]) -> int:
    """Flip bits at each place in turn; return how often the file was read without an error."""
    data = np.frombuffer(path.read_bytes(), np.uint8)
    harmless = 0
    for place in sorted(places):
        damaged = data.copy()
        damaged[place] ^= (0xFF, 0x01, 0x80)[place % 3]
        path.write_bytes(damaged.tobytes())
        try:
            loaded = load(path)
        except ValueError as error:
            harmless -= str(path) not in str(error)
        else:
            harmless += 1 if loaded == expected else 10**6
    return harmless


def test_flipped_bytes_anywhere(saved: Path) -> None:
    size = saved.stat().st_size
    assert 0 <= flips(saved, everything(), set(range(5, size, 23))) < size // 23 // 2


@pytest.mark.parametrize(
    "content",
    [b"", b"ranks", b"\x93NUMPY", os.urandom(999), b"PK\x05\x06" + bytes(18), b"PK\x03\x04" * 9],
)
def test_not_an_archive(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ranks.npz"
    path.write_bytes(content)
    refused(path, "not a file of truerank")


def test_foreign_archives(tmp_path: Path) -> None:
    path = tmp_path / "foreign.npz"
    np.savez(path, scores=np.arange(5))
    refused(path, "not a file of truerank: it has no member 'truerank'")
    np.savez(path, truerank=np.arange(5))
    refused(path, "damaged header: ")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    refused(path, r"readme.txt: expected a .npy file, the header is broken")
    path.write_bytes(npy(np.arange(3)))
    refused(path, "not a file of truerank")


@pytest.mark.parametrize(
    ("header", "match"),
    [
        ({"kind": "scores"}, "expected a file of kind 'truerank.ranks', got 'scores'"),
        ({"format": 2}, "npz: written by another truerank, format 2; this version reads format 1"),
        ({"labels": []}, "damaged: header.labels: expected dict, got list"),
        ({"labels": {"side": ["head"], "x": None}}, "damaged: no member 'labels.x'|side codes"),
        ({"protocol": {"comparable": {}}}, "protocol: expected an object of comparable, proven"),
        ({"protocol": {"comparable": {"nan": "best"}, "provenance": {}}}, "nan: expected .* raise"),
        (
            {"protocol": {"comparable": {"types": "new"}, "provenance": {}}},
            "written by a newer truerank, whose protocol has types",
        ),
    ],
)
def test_impossible_headers(saved: Path, header: dict[str, Any], match: str) -> None:
    rewrite(saved, truerank=header)
    refused(saved, match)


@pytest.mark.parametrize("text", [b"", b"[]", b"\xff\xfe", b"[" * 99_999, b'{"kind": '])
def test_headers_that_are_no_json(saved: Path, text: bytes) -> None:
    rewrite(saved, truerank=np.frombuffer(text, np.uint8))
    refused(saved, "damaged header: |damaged: header: expected an object of kind, format")


def test_later_additions_are_ignored(saved: Path) -> None:
    protocol = header_of(saved)["protocol"]
    protocol["provenance"]["machine"] = "new"
    rewrite(saved, truerank={"protocol": protocol, "more": 1}, addition=np.array([1.0]))
    assert load(saved) == everything()


def test_pickles_are_refused(saved: Path) -> None:
    objects = np.array([print, None], dtype=object)
    for name in ("above", "addition", "truerank"):
        write(saved, members(saved) | {name: npy(objects)})
        refused(saved, rf"{name}\.npy: expected plain numbers or text")
        everything().save(saved)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"above": npy([0, 3, 2**40, -1])}, "above: expected integers >= 0, got -1 at position 3"),
        ({"tied": npy([1])}, r"tied: expected 4 integers, one for each task, got shape \(1,\)"),
        ({"weights": npy([1.0, np.nan, 1, 1])}, "weights: expected finite numbers"),
        ({"audit": npy(np.zeros((2, 4), int))}, "audit: expected an Audit or three arrays"),
        ({"above": npy(np.zeros(4, "<M8[s]"))}, "above: expected integers, got dtype datetime64"),
        ({"above": b"\x93NUMPY\x01\x00\x10\x00{'descr': '<i8'}"}, "above.npy: .* the header is b"),
        (
            {"addition": npy(np.array(2**31 - 1, np.int32)).replace(b"<i4", b"<U1")},
            "addition.npy: expected text, got a character",
        ),
    ],
)
def test_impossible_contents(saved: Path, change: dict[str, bytes], match: str) -> None:
    write(saved, members(saved) | change)
    refused(saved, match)


def test_compressed_members_are_read_too(saved: Path) -> None:
    write(saved, members(saved), compression=zipfile.ZIP_DEFLATED)
    assert load(saved) == everything()


# -- declared sizes --------------------------------------------------------------------------------


def test_disk_errors_stay_disk_errors(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> Callable[[], None]:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(zipfile.ZipFile, "read", fail)
    refusal(OSError, "Input/output", load, saved)


def test_hostile_members(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)
    everything().with_labels(word=list("abca"), degree=[1, 2, 3, 4]).save(saved)
    names, refused = set(members(saved)), set()
    for name in hostile_files(saved):
        try:
            ranks = load(saved)
        except Exception as error:
            check_refusal(error, saved)
            refused.add(name)
        else:
            Ranks(ranks.above, ranks.tied, ranks.candidates)
    assert refused == names
