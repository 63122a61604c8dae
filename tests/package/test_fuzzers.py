"""The fuzzers: small hostile files that they found, what they report, and faults to be planted."""

from __future__ import annotations

import importlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from support.environment import ROOT
from support.hostile_members import check_refusal, hostile_files
from support.parsers import CORPUS, PARSERS, corpus_files, parse, samples
from truerank import InputError

pytestmark = pytest.mark.skipif(not CORPUS.is_file(), reason="no sources beside these tests")

# -- hostile files, each of which is refused with a promised error, or read ------------------------


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
def test_members_of_any_other_kind(name: str, file: str, tmp_path: Path) -> None:
    """An archive with such a member is refused, or what is read of it is possible."""
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


# -- what the fuzzers report -----------------------------------------------------------------------


@pytest.fixture
def fuzz(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a module of the fuzzers, which are not installed."""
    monkeypatch.syspath_prepend(ROOT)
    return lambda name: importlib.import_module(f"fuzz.{name}")


def test_every_area_has_checks_and_faults_that_can_be_planted(fuzz: Any) -> None:
    names = fuzz("check").area_names()
    assert len(names) >= 12
    assert set(fuzz("areas").CORE) < set(names) == set(fuzz("faults").FAULTS)
    for name in names:
        assert fuzz("check").checks_of(name), name
        for fault in fuzz("faults").FAULTS[name]:
            source = (ROOT / fault.source).read_text(encoding="utf-8")
            assert source.count(fault.right) == 1, f"{name}: {fault.right}"
            assert fault.wrong != fault.right


@pytest.fixture
def numbers(fuzz: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An area of one check, which fails for integers from 1000 on."""

    def below_a_thousand(number: int) -> None:
        assert number < 1000

    made = fuzz("check").Check(below_a_thousand, {"number": st.integers(0, 10**6)})
    monkeypatch.setattr(fuzz("worker"), "checks_of", lambda _: {"numbers": made})


@pytest.mark.usefixtures("numbers")
def test_a_finding_has_the_smallest_input_and_the_seed(fuzz: Any) -> None:
    output = io.StringIO()
    fuzz("worker").run("area", 7, 60, 2, False, output)
    lines = [json.loads(line) for line in output.getvalue().splitlines()]
    seeds = [line for line in lines if "finding" not in line]
    assert [line["seed"] for line in seeds] == [7, 8, 9]
    assert seeds[0]["inputs"] == 0 < seeds[1]["inputs"] < seeds[2]["inputs"]
    first, _ = (line for line in lines if "finding" in line)
    assert first["finding"].startswith("numbers: AssertionError at test_fuzzers.py:")
    assert "number=1000," in first["text"]
    assert "/hypothesis/" not in first["text"]
    assert first["seed"] == 7


def test_a_round_of_a_real_area_ends_without_findings(fuzz: Any) -> None:
    result = fuzz("__main__").run_area("rank", 1, 60, 1, False)
    assert result.rounds == 1
    assert result.inputs >= 100
    assert not result.findings
