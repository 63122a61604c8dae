"""Small hostile files, kept from fuzzing: each is refused with a promised error, or read."""

from __future__ import annotations

import pytest

from support.parsers import CORPUS, PARSERS, corpus_files, parse, samples

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="no corpus beside these tests")


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


@pytest.mark.parametrize("name", PARSERS)
def test_valid_files(name: str) -> None:
    """What the fuzzers begin with is read; if not, they would search in vain."""
    found = [parse(name, data) for data in samples(name)]
    assert [error for error in found if isinstance(error, Exception)] == []


@pytest.mark.parametrize("name", [name for name in PARSERS if PARSERS[name].has_checksum])
def test_a_changed_byte_is_noticed(name: str) -> None:
    """Each byte of a file with a checksum: the file is refused, or read as it was."""
    data = min(samples(name), key=len)
    expected = parse(name, data)
    for place in range(0, len(data), max(1, len(data) // 50)):
        found = parse(name, data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert isinstance(found, Exception) or found == expected, place


def test_files_of_the_corpus_are_small_and_belong_to_a_parser() -> None:
    files = [path for path in CORPUS.rglob("*") if path.is_file()]
    assert {path.parent.name for path in files} == {*PARSERS}
    assert [path for path in files if path.stat().st_size >= 2048] == []
