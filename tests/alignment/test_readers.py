"""Readers of alignment data: what they read, and what they refuse."""

from __future__ import annotations

import copy
import pickle
import re
import tempfile
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.alignment_folders import DBP15K, OPENEA, fill_folder, plain, plain_data
from support.refusals import refusal
from truerank.alignment import read_dbp15k, read_openea

pytestmark = pytest.mark.python_only

NAMES = st.text(
    st.characters(exclude_characters="\t\n\r\ufeff", exclude_categories=["Cs"]), min_size=1
).filter(lambda name: name.strip(" ") and not name.isdecimal())


BOTH_NAMES = {"sup_ent_ids": "3\t11\n", "sup_pairs": "3\t11\n", "ref_pairs": "9\t5\n7\t8\n"}
DAMAGE: list[tuple[dict[str, str | bytes | None], str]] = [
    ({"ent_ids_1": "7\tWien\n9\n"}, "ent_ids_1: line 2: .*got '9'"),
    ({"ent_ids_1": "7\ta\n\n9\tb\n7\tc\n"}, "ent_ids_1: '7' occurs twice"),
    ({"ent_ids_1": f"{2**64}\ta\n"}, "ent_ids_1: expected ids, got '18446744073709551616'"),
    ({"triples_1": "7\t30\t9\n\n8\t30\t9\n"}, "expected .* got '8' in column . of line 3"),
    ({"ref_ent_ids": "9\t5\n5\t9\n"}, "expected .* got '5' in column . of line 2"),
    ({"ref_ent_ids": ""}, "ref_ent_ids: expected lines of left entity and right"),
    (BOTH_NAMES | {"sup_pairs": "3\t6\n"}, "sup_ent_ids: expected the lines of .*sup_pairs"),
    ({"ref_ent_ids.gz": "9\t5\n"}, "ref_ent_ids.gz: expected the lines of .*ref_ent_ids;"),
    ({"rel_ids_1": "30\ta\n2\tb\n", "rel_ids_1.gz": "2\tb\n30\ta\n"}, "rel_ids_1.gz: expected the"),
]


@pytest.mark.parametrize("name", DBP15K)
def test_missing_file_of_dbp15k(name: str, tmp_path: Path) -> None:
    refusal(FileNotFoundError, name, read_dbp15k, fill_folder(tmp_path, {**DBP15K, name: None}))


def as_text(rows: Iterable[Sequence[object]]) -> str:
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def check(data: st.DataObject, files: dict[str, str], renamed: dict[str, str], call: Any) -> None:
    """Compare with the slow reader; files may be gzipped, with other ends of lines and blanks."""
    dress = data.draw(st.sampled_from(["plain", "gzipped", "blank lines"]))
    given = {renamed.get(name, name): text for name, text in files.items()}
    if dress == "gzipped":
        given = {f"{name}.gz": text for name, text in given.items()}
    elif dress == "blank lines":
        given = {name: "\n\n" + text.replace("\n", "\r\n\r\n") for name, text in given.items()}
    with tempfile.TemporaryDirectory() as folder:
        read = plain_data(call(fill_folder(Path(folder), given)), by_id="triples_1" in files)
    assert read == plain(files, "721_5fold/3")


@given(st.data())
def test_dbp15k_as_the_slow_reader(data: st.DataObject) -> None:
    """Two files of pairs have names of their own where BootEA's authors wrote them."""
    ids = data.draw(st.lists(st.integers(0, 10**9), min_size=2, max_size=12, unique=True))
    cut = data.draw(st.integers(1, len(ids) - 1))
    files = {}
    some_relations = st.sampled_from([0, 7, 10, 30])
    for k, entities in ((1, ids[:cut]), (2, ids[cut:])):
        names = data.draw(st.lists(NAMES, min_size=len(entities), max_size=len(entities)))
        files[f"ent_ids_{k}"] = as_text(zip(entities, names, strict=True))
        entity = st.sampled_from(entities)
        triple = st.tuples(entity, some_relations, entity)
        files[f"triples_{k}"] = as_text(data.draw(st.lists(triple, min_size=1)))
        if data.draw(st.booleans()):
            files[f"rel_ids_{k}"] = "10\tx\n0\ty\n30\tx\n5\tz\n7\tw\n"
    pair = st.tuples(st.sampled_from(ids[:cut]), st.sampled_from(ids[cut:]))
    splits = data.draw(st.sampled_from([["ref_ent_ids"], ["ref_ent_ids", "sup_ent_ids"]]))
    for name in splits:
        files[name] = as_text(data.draw(st.lists(pair, min_size=1)))
    new_names = {}
    if len(splits) == 2 and data.draw(st.booleans()):  # as BootEA names them
        new_names = {"sup_ent_ids": "sup_pairs", "ref_ent_ids": "ref_pairs"}
    check(data, files, new_names, read_dbp15k)


def test_real_dbp15k(data: Path) -> None:
    """Table 1 of "A Critical Assessment of State-of-the-Art in Entity Alignment"."""
    read = read_dbp15k(data / "dbp15k_zh_en")
    assert repr(read) == (
        "AlignmentData(19,388 and 19,572 entities, 70,414 and 95,142 triples, 15,000 pairs)"
    )
    assert read.left[0] == "http://zh.dbpedia.org/resource/阿卜杜拉·居尔"


def test_what_openea_lacks(tmp_path: Path) -> None:
    fill_folder(tmp_path, {**OPENEA, "ent_links": None})
    refusal(FileNotFoundError, "ent_links", read_openea, tmp_path)
    words = re.escape(str(Path("721_5fold", "6")))
    refusal(FileNotFoundError, words, read_openea, tmp_path, fold=6)
    refusal(TypeError, "^fold: ", read_openea, tmp_path, fold=True)


OPENEA_DAMAGE: list[tuple[dict[str, str | bytes | None], str]] = [
    ({"rel_triples_2": "a\tb\n"}, r"rel_triples_2: line 1: .*got 'a\\tb'"),
    ({"ent_ids_2": "0\tVienna\n1\tLinz\n2\tGraz\n3\tStyria\n"}, "got 'Austria' in .* of line 3"),
    ({"ent_links": ""}, "ent_links: expected lines of left entity and right entity"),
    ({"ent_links": "Vienna\tWien\nLinz\tLinz\n"}, "got 'Vienna' and 'Wien', which only the other"),
    ({"721_5fold/1/test_links": "Graz\tGraz\nStyria\tSteiermark\n"}, "test_links: .* 'Styria'"),
]
OF_BOTH = [(DBP15K, read_dbp15k, *row) for row in DAMAGE]
OF_BOTH += [(OPENEA, partial(read_openea, fold=1), *row) for row in OPENEA_DAMAGE]


@pytest.mark.parametrize(("files", "read", "edits", "said"), OF_BOTH)
def test_damaged_folders(files: Any, read: Any, edits: Any, said: str, tmp_path: Path) -> None:
    refusal(ValueError, f"^folder: .*{said}", read, fill_folder(tmp_path, files | edits))


def test_files_that_agree_are_read(tmp_path: Path) -> None:
    """Pairs in another order, packed copies, names of both graphs, entities without triples."""
    one = DBP15K | {"sup_pairs": "3\t11\n3\t6\n", "ref_pairs": DBP15K["ref_ent_ids"]}
    both = one | {"sup_ent_ids": "3\t6\n3\t11\n"}
    both |= {f"{name}.gz": text.replace("\n", "\r\n") for name, text in one.items()}
    first, second = (
        read_dbp15k(fill_folder(tmp_path / name, files))
        for name, files in (("one", one), ("both", both))
    )
    assert plain_data(first) == plain_data(second)
    assert list(first.splits) == ["train", "test"]
    links = "Linz\tLinz\nGraz\tWien\nnobody\tWien\nStyria\tnobody\n10\tGraz\n9\tGraz\n"
    data = read_openea(fill_folder(tmp_path / "links", OPENEA | {"ent_links": links}))
    assert len(data.pairs) == 6
    numbers = {"rel_triples_1": "10\t1\t9\n", "rel_triples_2": "2\t1\tx\n", "ent_links": "9\t2\n"}
    data = read_openea(fill_folder(tmp_path / "numbers", numbers))
    assert (data.left, data.right) == (("9", "10"), ("2", "x"))  # as numbers; else by code point


@given(st.data())
def test_openea_as_the_slow_reader(data: st.DataObject) -> None:
    """Lists of ids may name more; without all links, the links of a fold stand for them."""
    files = {}
    ends = []
    for k in (1, 2):
        entities = data.draw(st.lists(NAMES, min_size=1, max_size=8, unique=True))
        names = st.sampled_from(entities)
        rows = data.draw(st.lists(st.tuples(names, NAMES, names), min_size=1, max_size=8))
        files[f"rel_triples_{k}"] = as_text(rows)
        if data.draw(st.booleans()):
            relations = sorted({row[1] for row in rows}, reverse=True)
            relations.append("more")
            files[f"ent_ids_{k}"] = as_text((7 - i, name) for i, name in enumerate(entities))
            files[f"rel_ids_{k}"] = as_text(enumerate(relations))
        ends.append(names)
    links = data.draw(st.lists(st.tuples(*ends), min_size=2, max_size=8))
    fold = data.draw(st.sampled_from([None, 3]))
    if fold is None or data.draw(st.booleans()):
        files["ent_links"] = as_text(links)
    splits = () if fold is None else ("train", "valid", "test")
    for split in splits:
        some = data.draw(st.lists(st.sampled_from(links), min_size=split != "valid"))
        if split != "valid" or data.draw(st.booleans()):
            files[f"721_5fold/3/{split}_links"] = as_text(some)
    check(data, files, {}, lambda folder: read_openea(folder, fold))


def test_what_was_read_is_the_callers(tmp_path: Path) -> None:
    data = read_openea(fill_folder(tmp_path, OPENEA), 1)
    arrays = [data.left_triples, data.pairs, data.splits["test"]]
    for array in arrays:
        assert array.dtype == np.int64
        assert array.flags.writeable  # torch.from_numpy takes it
    for other in (pickle.loads(pickle.dumps(data)), copy.deepcopy(data)):
        assert plain_data(other) == plain_data(data)
    words = "AlignmentData(4 and 5 entities, 2 and 3 triples, 4 pairs; train 1, valid 1, test 2)"
    assert repr(data) == words
