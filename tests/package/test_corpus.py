"""Small hostile files, kept from fuzzing: each is refused with a promised error, or read."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from support.hostile_members import check_refusal, hostile_files
from support.parsers import CORPUS, PARSERS, corpus_files, parse, samples
from truerank import InputError

pytestmark = pytest.mark.skipif(not CORPUS.is_file(), reason="no corpus beside these tests")


@pytest.mark.sweep
@pytest.mark.parametrize("name", PARSERS)
def test_hostile_files(name: str) -> None:
    files = corpus_files(name)
    assert files
    wrong = []
    for file, data in files:
        found = parse(name, data)
        if isinstance(found, Exception) == file.startswith("read-"):
            wrong.append((file, found))
    assert wrong == []


@pytest.mark.parametrize("name", [name for name in PARSERS if PARSERS[name].has_checksum])
def test_a_changed_byte_is_noticed(name: str) -> None:
    """Each byte of a file with a checksum: the file is refused, or read as it was."""
    data = min(samples(name), key=len)
    expected = parse(name, data)
    for place in range(0, len(data), max(1, len(data) // 50)):
        found = parse(name, data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert isinstance(found, Exception) or found == expected, place


HOSTILE = [("counter", "read-format-2.npz"), ("checkpoint", "read-as-it-is.npz")]
HOSTILE += [("checkpoint", "read-tiles-of-columns.npz")]


@pytest.mark.parametrize(("name", "file"), HOSTILE)
def test_members_of_any_other_kind(
    name: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An archive with such a member is refused, or what is read of it is possible."""
    monkeypatch.setattr("os.fsync", lambda _: None)
    path = tmp_path / "saved.npz"
    path.write_bytes(dict(corpus_files(name))[file])
    names = set()
    refused = set()
    for member in hostile_files(path):
        names.add(member)
        try:
            PARSERS[name].read(path)
        except InputError as error:
            if "changed while it was ranked" not in str(error):  # what was counted says so
                check_refusal(error, path)
                refused.add(member)
    assert refused == names


def test_files_of_the_corpus_are_small_and_belong_to_a_parser() -> None:
    with zipfile.ZipFile(CORPUS) as archive:
        members = archive.infolist()
    assert {member.filename.partition("/")[0] for member in members} == set(PARSERS)
    assert [member.filename for member in members if member.compress_size >= 2048] == []
