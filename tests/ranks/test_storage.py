"""Saved ranks are read back unchanged or raise a clear error; no file is half written."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given

from support.example_ranks import any_ranks, everything
from support.hostile_members import check_refusal, hostile_files, rewrite
from support.refusals import refusal
from support.store_files import npy
from truerank import Ranks, load

GOLDEN = Path(__file__).parent / "golden" / "ranks_format_2.npz"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Return a file with every optional part."""
    path = tmp_path / "ranks.npz"
    everything().save(path)
    return path


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}


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


def test_numpy_reads_it_too(tmp_path: Path) -> None:
    """Labels of other names are members, too; their order says nothing."""
    more = {"word": ["x", "y\0", "x", "z"], "codes": [3, -1, 2**62, 0], "été": "a"}
    ranks = everything().with_labels(**more)
    paths = tmp_path / "ranks.npz", tmp_path / "again.npz"
    ranks.save(paths[0])
    everything().with_labels(**dict(reversed(more.items()))).save(paths[1])
    assert load(paths[0]) == ranks
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with np.load(paths[0], allow_pickle=False) as archive:
        assert archive["above"].tolist() == [0, 3, 2**40, 1]
        assert archive["labels.side"].tolist() == [0, 1, 1, 0]
        assert {"labels.codes", "labels.été", "labels.word"} <= set(archive)
    header = header_of(paths[0])
    assert (header["kind"], header["format"]) == ("truerank.ranks", 2)
    assert header["labels"]["side"] == ["head", "tail"]
    assert header["labels"]["queries"] is None
    assert header["protocol"]["comparable"]["split"] == "test"


def test_golden_file() -> None:
    ranks = load(GOLDEN)
    assert ranks == everything()
    assert ranks.protocol == everything().protocol
    assert ranks.protocol.highest_grade == 1e300  # It is older than the field.


# -- reading faults: `fuzz/corpus.zip` has more files, and files of other bytes --------------------


def test_what_is_no_file(saved: Path) -> None:
    refusal(FileNotFoundError, "absent", everything().save, saved.parent / "absent" / "ranks.npz")
    refusal(ValueError, "expected a regular file", everything().save, saved.parent)
    assert os.listdir(saved.parent) == [saved.name]
    with mock.patch.object(zipfile.ZipFile, "read", side_effect=OSError(5, "Input/output error")):
        refusal(OSError, "Input/output", load, saved)


NEWER = {"protocol": {"comparable": {"types": "new"}, "provenance": {}}}
# What stands in place of a file, of its members or of fields of its header; and what is refused.
DAMAGED: list[tuple[bytes | dict[str, Any], str]] = [
    (b"", "not a file of truerank"),
    ({"truerank": None}, "not a file of truerank: it has no member 'truerank'"),
    ({"truerank": {"kind": "scores"}}, "got 'scores'"),
    ({"truerank": {"format": 1}}, "npz: written by another truerank, format 1; .* reads format 2"),
    ({"truerank": {"members": ["above", "absent"]}}, "damaged: no member 'absent'"),
    ({"truerank": {"members": None}}, "damaged: header.members: expected list, got NoneType"),
    ({"truerank": {"labels": {"x": None}}}, "damaged: no member 'labels.x'"),
    ({"truerank": {"protocol": {"comparable": {}}}}, "protocol: "),
    ({"truerank": NEWER}, "written by a newer truerank, whose protocol has types"),
    ({"truerank": {"origins": [["a", 9, 9, 0, ["b", "c"]]]}}, "labels.unit: "),
    ({"truerank": {"origins": [["a", 9, 9, 0, "bc"]]}}, "origins.digests: "),
    ({"gains": np.array([1.0, np.nan, 1.0, 1.0])}, "gains: "),
    ({"answers": np.array([1, 2, 0, 1])}, "answers: position 2: .* got 0"),
]


@pytest.mark.parametrize(("change", "match"), DAMAGED)
def test_damaged_files(saved: Path, change: bytes | dict[str, Any], match: str) -> None:
    if isinstance(change, bytes):
        saved.write_bytes(change)
    else:
        rewrite(saved, **change)
    message = refusal(ValueError, match, load, saved)
    assert str(saved) in message
    assert "\n" not in message


def test_a_damaged_member_is_named_once(saved: Path) -> None:
    content = bytearray(saved.read_bytes())
    end = content.index(b"\x93NUMPY", content.index(b"above.npy")) + 128
    content[end] ^= 255  # the first number
    saved.write_bytes(content)
    message = refusal(ValueError, "above.npy: Bad CRC-32", load, saved)
    assert (message.count(str(saved)), message.count("path: ")) == (1, 1)


def test_later_provenance_is_ignored(saved: Path) -> None:
    protocol = header_of(saved)["protocol"]
    protocol["provenance"]["machine"] = "new"
    rewrite(saved, truerank={"protocol": protocol, "more": 1})
    assert load(saved) == everything()


@pytest.mark.parametrize("member", ["above", "truerank", "addition"])
def test_compressed_members_are_refused_before_they_are_read(saved: Path, member: str) -> None:
    """A file of 3 MB would take a thousand times as much memory."""
    contents = members(saved) | {"addition": npy(np.zeros(100, np.int64))}
    with zipfile.ZipFile(saved, "w") as archive:
        for name, data in contents.items():
            packed = zipfile.ZIP_STORED
            if name == member:
                packed = zipfile.ZIP_DEFLATED
            archive.writestr(f"{name}.npy", data, packed)
    with mock.patch.object(zipfile.ZipFile, "read", side_effect=AssertionError("it was read")):
        refusal(ValueError, f"the member '{member}' is compressed", load, saved)


def test_hostile_members(saved: Path) -> None:
    everything().with_labels(word=list("abca"), degree=[1, 2, 3, 4]).save(saved)
    names = set(members(saved))
    refused = set()
    for name in hostile_files(saved):
        try:
            ranks = load(saved)
        except Exception as error:
            check_refusal(error, saved)
            refused.add(name)
        else:
            Ranks(ranks.above, ranks.tied, ranks.candidates)
    assert refused == names
