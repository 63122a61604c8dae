"""Readers of triples: text, arrays and tuples give the same ids; errors name the place."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refusal
from truerank.link_prediction import Task, read_triples
from truerank.records import text

ROWS = [("b", "likes", "ü"), ("a", "knows", "b"), ("b", "likes", "a b")]
IDS = [[2, 1, 3], [0, 0, 2], [2, 1, 1]]
ENTITIES = ("a", "a b", "b", "ü")


def written(folder: Path, content: str | bytes, name: str = "triples.txt") -> Path:
    path = folder / name
    if isinstance(content, str):
        content = content.encode()
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("dtype", ["int8", ">i4", "uint64"])
def test_ids_of_any_dtype(dtype: str, tmp_path: Path) -> None:
    array = np.array(IDS, dtype)
    np.save(tmp_path / "ids.npy", array)
    wide = np.repeat(array, 2, axis=1)[:, ::2]
    for form in (array, wide, list(map(tuple, array)), str(tmp_path / "ids.npy")):
        triples = read_triples(form)
        assert triples.ids.tolist() == IDS
        assert triples.entities is triples.relations is None


def test_text_holds_labels_unless_entities_is_an_int(tmp_path: Path) -> None:
    path = written(tmp_path, "10\tr\t9\n007\tq\t-1\n")
    assert read_triples(path).entities == ("-1", "007", "10", "9")
    path = written(tmp_path, "10\t2\t9\n7\t10\t1\n")
    triples = read_triples(path, entities=11)
    assert triples.ids.tolist() == [[10, 2, 9], [7, 10, 1]]
    assert triples.entities is triples.relations is None
    mixed = read_triples(path, entities=11, relations=["10", "2"])
    assert mixed.ids.tolist() == [[10, 1, 9], [7, 0, 1]]
    path = written(tmp_path, "10\t2\t9\n007\t10\t1\n")
    assert read_triples(path, relations=11).ids.tolist() == [[2, 2, 3], [0, 10, 1]]
    words = "triples.txt: .* got '007' in column 0 of line 2"
    refusal(ValueError, words, read_triples, path, entities=11)


@pytest.mark.parametrize("is_text", [True, False])
def test_numbers_are_labels_only_where_that_is_said(is_text: bool, tmp_path: Path) -> None:
    """In ascending order "10" comes before "2", so rows of vectors would not match."""
    triples: Any = [("0", "0", "1"), ("17", "2", "10")]
    if is_text:
        triples = written(tmp_path, "0\t0\t1\n17\t2\t10\n")
    words = "are numbers, as '0'; give entities=<int>, how many"
    for wrong in ({}, {"relations": 3}):
        refusal(
            ValueError, f"^entities: all labels of entities {words}", read_triples, triples, **wrong
        )
    names = ["0", "1", "10", "17"]
    refusal(ValueError, "^relations: all .* relations are numbers", Task, triples, entities=names)
    if is_text:  # a field of text has no type
        assert read_triples(triples, entities=18).ids.tolist() == [[0, 0, 1], [17, 2, 10]]
    else:
        refusal(
            TypeError, "^triples: .* each an int, .* got '0'", read_triples, triples, entities=18
        )
    named = read_triples(triples, entities=names, relations=["2", "0"])
    assert named.ids.tolist() == [[0, 1, 1], [3, 0, 2]]
    refusal(ValueError, "^entities: all labels", Task, triples, [("5", "a", "6")])  # of all splits
    assert Task(triples, [("5", "a", "x")]).entities == (*names, "5", "x")


def test_qualifiers(tmp_path: Path) -> None:
    path = written(tmp_path, "0\t0\t1\t2014\tx\n1\t0\t0\t-5\t\n")
    ids = read_triples(path, entities=2)
    assert ids.ids.tolist() == [[0, 0, 1, 2014, 1], [1, 0, 0, -5, 0]]
    assert ids.qualifiers == (None, ("", "x"))
    labels = read_triples(path, entities=["0", "1"], relations=["0"])
    assert labels.qualifiers == (("-5", "2014"), ("", "x"))
    words = r"^known: .* got ids in column 3"
    known = [("a", "r", "b", 2014)]
    refusal(ValueError, words, Task, [("a", "r", "b", "2014")], known, keys=[3])


BAD_TEXTS = [
    ("a r b\n", "line 1: .*got 'a r b'"),
    ("a\tr\tb\n\na\tr\t\n", r"line 3: .*got 'a\\tr\\t'"),
    ("\tr\tb\n", r"line 1: .*got '\\tr\\tb'"),
    (b"a\tr\tb\n\n\xff\tr\tb\n", r"line 3 is not in UTF-8"),
    ("a\tr\tb\n\na\rr\tr\tb\r\n", r"line 3 has a carriage return"),
    ("a\tr\tb\n" * 40 + "a\tr\n", r"line 41: .*got 'a\\tr'"),
]


@pytest.mark.parametrize(("content", "words"), BAD_TEXTS)
def test_bad_text(
    content: str | bytes, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"train": written(tmp_path, content)}
    words = rf'^known\["train"\]: .*triples.txt: {words}'
    for piece in (8, 1 << 17):
        monkeypatch.setattr(text, "BLOCK_BYTES", piece)
        refusal(ValueError, words, Task, [("a", "r", "b")], known)


def test_files_that_are_none(tmp_path: Path) -> None:
    for name in ("missing.txt", "missing.npy"):
        refusal(FileNotFoundError, name, read_triples, tmp_path / name)
    packed = written(tmp_path, b"a\tr\tb\n", "x.gz")
    refusal(OSError, r"^triples: .*x.gz: damaged gzip file", read_triples, packed)
    text = written(tmp_path, b"a\tr\tb\n", "x.npy")
    refusal(ValueError, r"^triples: .*x.npy: expected a .npy file", read_triples, text)
    floats = tmp_path / "floats.npy"
    np.save(floats, np.zeros((2, 3)))
    refusal(TypeError, r"^triples: .*floats.npy: .* got ndarray of float64", read_triples, floats)
    refusal(ValueError, r"^test: expected at least one triple", Task, written(tmp_path, "\n\n"))
    assert Task(ROWS, {"train": written(tmp_path, b"")}).audit[0].message.endswith("known: train 0")


BAD_ROWS: list[tuple[type[Exception], Any]] = [
    (TypeError, [(0, 0, 1), (0, 0, 1.5)]),
    (TypeError, [(0, True, 1)]),
    (TypeError, [(0, 0, 1), ("a", 0, 1)]),
    (TypeError, [("a", "r", "b"), (None, "r", "b")]),
    (ValueError, [(0, 0, 1), (0, 0, 1, 2)]),
    (ValueError, [(0, 1)]),
    (TypeError, [3]),
    (ValueError, [("a", "r", "")]),
    (TypeError, np.array([[b"a", b"r", b"b"]])),
    (TypeError, np.zeros((1, 1, 3), int)),
]


@pytest.mark.parametrize(("kind", "rows"), BAD_ROWS)
def test_bad_rows(kind: type[Exception], rows: Any) -> None:
    refusal(kind, "^triples: expected", read_triples, rows)


LABEL = st.text(
    st.characters(exclude_characters="\t\n\r\ufeff", exclude_categories=["Cs"]),
    min_size=1,
    max_size=4,
).filter(lambda label: label.strip(" ") != "")


@given(
    st.lists(st.tuples(LABEL, LABEL, LABEL), min_size=1, max_size=20),
    st.sampled_from(["\n", "\r\n", "\n\n  \n", "\r\n\r\n"]),
    st.sampled_from(["", "\ufeff", "\ufeff\n", "\r\n\n"]),
    st.booleans(),
    st.sampled_from([1, 7, 1 << 17]),
    st.sampled_from(["triples.txt", "triples.tsv.gz"]),
)
def test_text_is_read_as_it_stands(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, ...]],
    end: str,
    start: str,
    is_ended: bool,
    piece: int,
    name: str,
) -> None:
    """Labels may have quotes and line ends of Unicode; lines may be blank.

    Blanks at the ends of a field belong to no label.
    """
    raw = (start + end.join("\t".join(row) for row in rows) + end * is_ended).encode()
    if name.endswith("gz"):
        raw = gzip.compress(raw)
    path = written(tmp_path_factory.mktemp("text"), raw, name)
    rows = [tuple(field.strip(" ") for field in row) for row in rows]
    found = {"entities": {e for h, _, t in rows for e in (h, t)}, "relations": {r[1] for r in rows}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BLOCK_BYTES", piece)
        for kind, labels in found.items():
            if all(label.isdecimal() and label == str(int(label)) for label in labels):
                refusal(ValueError, f"^{kind}: all labels of {kind} are num", read_triples, path)
                return
        triples = read_triples(path)
    entities = triples.entities
    relations = triples.relations
    assert entities is not None
    assert relations is not None
    assert [(entities[h], relations[r], entities[t]) for h, r, t in triples.ids] == rows
    assert entities == tuple(sorted({e for h, _, t in rows for e in (h, t)}))
    assert (triples.ids.dtype, triples.qualifiers) == (np.int64, ())
    assert triples.ids.flags.c_contiguous


# -- files of toolkits -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2\n0 1 0\n", r"expected 2 rows, as the first line counts, got 1"),
        ("1\n0 1\n", r"line 2: expected at least 3 columns .* with blanks .* got '0 1'"),
        ("1\na\tr\tb\n", "expected ids of entities from 0 to 9, got 'a'"),
        ("1\n0 1 007\n", "expected integers, .* got '007'"),
        ("\t\t0", "none empty"),
    ],
)
def test_wrong_files_of_openke(tmp_path: Path, text: str, words: str) -> None:
    path = written(tmp_path, text)
    refusal(ValueError, f"^triples: .*{words}", read_triples, path, entities=10)


def test_a_task_of_files_of_openke(tmp_path: Path) -> None:
    """A count, then heads, tails and relations."""
    test = written(tmp_path, "1\n0\t2\t1\n", "test2id.txt")
    train = written(tmp_path, "2\n0 1 1\n2 0 0\n", "train2id.txt")
    task = Task(test, {"train": train}, entities=3)
    assert task.tail.queries.tolist() == [[0, 1]]
    assert task.tail.targets.tolist() == [2]
    assert task.tail.filter[1].tolist() == [1, 2]
    (finding,) = (finding for finding in task.audit if finding.name == "header")
    files = 'test: test2id.txt, known["train"]: train2id.txt'
    assert finding.count == 2
    assert finding.message.replace(f"{tmp_path}/", "").startswith(f"{files}: the first line is")
    assert "OpenKE" in finding.message


def test_knowledge_graphs_of_recbole(tmp_path: Path) -> None:
    path = tmp_path / "made.kg"
    roles = ("head", "relation", "tail")
    path.write_text("head_id:token\trelation_id:token\ttail_id:token\nb\tr\ta\n")
    columns = {role: f"{role}_id:token" for role in roles}
    triples = read_triples(path, header=True, columns=columns)
    assert triples.entities == ("a", "b")
    assert triples.ids.tolist() == [[1, 0, 0]]
    (tmp_path / "data.txt").write_text("subject:1\trel:2\tobject:3\n")  # labels, and no header
    assert read_triples(tmp_path / "data.txt").entities == ("object:3", "subject:1")
