"""Readers of triples: text, arrays, tuples and columns give the same ids; errors name the place."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refusal, refused
from truerank.link_prediction import Task, read_triples
from truerank.records import text
from truerank.records.columns import FACTS

ROWS = [("b", "likes", "ü"), ("a", "knows", "b"), ("b", "likes", "a b")]
IDS = [[2, 1, 3], [0, 0, 2], [2, 1, 1]]
ENTITIES = ("a", "a b", "b", "ü")


def written(folder: Path, content: str | bytes, name: str = "triples.txt") -> Path:
    path = folder / name
    if isinstance(content, str):
        content = content.encode()
    path.write_bytes(content)
    return path


def test_an_array_that_declares_more_rows_than_memory_holds_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^triples: expected at most 2\*\*40 entries"):
        read_triples(np.broadcast_to(np.int64(0), (1 << 50, 3)))


def test_ids_of_any_dtype(tmp_path: Path) -> None:
    for dtype in ("int8", ">i4", "uint64"):
        array = np.array(IDS, dtype)
        np.save(tmp_path / "ids.npy", array)
        wide = np.repeat(array, 2, axis=1)[:, ::2]
        for form in (wide, list(map(tuple, array)), str(tmp_path / "ids.npy")):
            triples = read_triples(form)
            assert triples.ids.tolist() == IDS
            assert triples.entities is triples.relations is None


@pytest.mark.parametrize("is_text", [True, False])
def test_numbers_are_labels_only_where_that_is_said(is_text: bool, tmp_path: Path) -> None:
    """In ascending order "10" comes before "2", so rows of vectors would not match."""
    triples: Any = [("0", "0", "1"), ("17", "2", "10")]
    if is_text:  # a field of text has no type
        triples = written(tmp_path, "0\t0\t1\n17\t2\t10\n")
        assert read_triples(triples, entities=18).ids.tolist() == [[0, 0, 1], [17, 2, 10]]
    else:
        refused(TypeError, "triples", read_triples, triples, entities=18)
    words = "^entities: expected labels in the order of their ids, as those in the facts are all nu"
    refusal(ValueError, words, read_triples, triples, relations=3)
    names = ["0", "1", "10", "17"]
    refusal(ValueError, "^relations: expected labels in", Task, triples, entities=names)
    named = read_triples(triples, entities=names, relations=["2", "0"])
    assert named.ids.tolist() == [[0, 1, 1], [3, 0, 2]]
    refusal(
        ValueError, "^entities: expected labels in", Task, triples, [("5", "a", "6")]
    )  # of all splits
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
    text = written(tmp_path, b"a\tr\tb\n", "x.npy")
    refusal(ValueError, r"^triples: .*x.npy: expected a .npy file", read_triples, text)
    floats = tmp_path / "floats.npy"
    np.save(floats, np.zeros((2, 3)))
    refusal(TypeError, r"^triples: .*floats.npy: .* got ndarray of float64", read_triples, floats)
    refusal(ValueError, r"^test: expected at least one triple", Task, written(tmp_path, "\n\n"))
    assert Task(ROWS, {"train": written(tmp_path, b"")}).audit[0].message.endswith("known: train 0")


BAD_ROWS: list[tuple[type[Exception], Any]] = [
    (TypeError, [(0, 0, 1), (0, 0, 1.5)]),
    (ValueError, [(0, 0, 1), (0, 0, 1, 2)]),
    (ValueError, [(0, 1)]),
    (ValueError, [("a", "r", "")]),
    (TypeError, np.zeros((1, 1, 3), int)),
]


@pytest.mark.parametrize(("kind", "rows"), BAD_ROWS)
def test_bad_rows(kind: type[Exception], rows: Any) -> None:
    refused(kind, "triples", read_triples, rows)


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
    entities = tuple(sorted({e for h, _, t in rows for e in (h, t)}))
    relations = tuple(sorted({r for _, r, _ in rows}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BLOCK_BYTES", piece)
        for kind, labels in (("entities", entities), ("relations", relations)):
            if all(label.isdecimal() and label == str(int(label)) for label in labels):
                words = f"^{kind}: expected labels in the"
                refusal(ValueError, words, read_triples, path, header=False)
                return
        triples = read_triples(path, header=False)
    assert (triples.entities, triples.relations) == (entities, relations)
    assert [(entities[h], relations[r], entities[t]) for h, r, t in triples.ids] == rows
    assert (triples.ids.dtype, triples.qualifiers) == (np.int64, ())
    assert triples.ids.flags.c_contiguous


# -- files of toolkits -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2\n0 1 0\n", r"expected 2 rows, as the first line counts, got 1"),
        ("1\n0 1\n", r"line 2: expected 3 columns .* below a line that counts rows, .* got '0 1'"),
        ("1\na\tr\tb\n", "expected ids of entities from 0 to 9, got 'a'"),
        ("1\n0 1 007\n", "expected integers, .* got '007' in column . of line 2"),
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
    assert finding.count == 2
    assert "OpenKE" in finding.message


# -- columns ---------------------------------------------------------------------------------------

Columns = Sequence[Sequence[Any]]


def frame_of(names: Sequence[str], columns: Columns) -> Any:
    return pd.DataFrame(dict(zip(names, columns, strict=True)))


def rows_of(names: Sequence[str], columns: Columns) -> Any:
    return list(zip(*columns, strict=True))


LETTERS = ["a", "b", "c", "d", "e"]
TEST = [["a", "b", "d", "a"], ["in", "by", "in", "by"], ["b", "c", "a", "e"]]
TRAIN = [["a", "c", "b"], ["in", "in", "by"], ["c", "b", "a"]]
ROLES = list(FACTS.roles)
FIRST_THREE = {role: place for place, role in enumerate(ROLES)}
SCORES = np.random.default_rng(5).random((2, 4, 5), dtype=np.float32)


def ranks_of(test: Any, train: Any, **options: Any) -> Any:
    task = Task(test, {"train": train}, entities=LETTERS, relations=["by", "in"], **options)
    return task.evaluate_scores(SCORES[0], head=SCORES[1]).ranks


RANKS = ranks_of(rows_of(ROLES, TEST), rows_of(ROLES, TRAIN))


def in_order(order: list[int], columns: list[Any]) -> list[Any]:
    return [columns[j] for j in order]


def left_out(task: Task) -> list[str]:
    """Return the columns of each split that are not read."""
    lines = map(str, task.audit)
    return [line.removeprefix("left out of ") for line in lines if line.startswith("left out of ")]


@pytest.mark.parametrize("make", [frame_of, rows_of])
def test_columns_are_found_as_columns_says(make: Callable[..., Any]) -> None:
    """The fourth column, a weight, is left out of both splits, and the audit says so."""
    order = [3, 2, 0, 1]
    tables = []
    for columns in (TEST, TRAIN):
        weights = np.linspace(0, 1, len(columns[0])).tolist()
        names = in_order(order, ["u", "v", "w", "weight"])
        tables.append(make(names, in_order(order, [*columns, weights])))
    columns: dict[str, Any] = {role: order.index(j) for role, j in FIRST_THREE.items()}
    left_out_column = "column 0"
    if make is frame_of:
        left_out_column = "weight"
        assert ranks_of(*tables, columns={"head": "u", "relation": "v", "tail": "w"}) == RANKS
    assert ranks_of(*tables, columns=columns) == RANKS
    task = Task(tables[0], {"train": tables[1]}, columns=columns)
    assert left_out(task) == [f"test: {left_out_column}", f'known["train"]: {left_out_column}']


def test_columns_of_frames_without_names_need_numbers() -> None:
    tables = [frame_of(ROLES, columns).set_axis([0, 1, 2], axis=1) for columns in (TEST, TRAIN)]
    words = "^test: expected columns with names, got .*; columns={'head': '...', 'relation': '..."
    refusal(ValueError, words, ranks_of, *tables)
    assert ranks_of(*tables, columns=FIRST_THREE) == RANKS
    train = frame_of(["relation", "tail", "head"], in_order([1, 2, 0], TRAIN))
    assert ranks_of(tuple(tables[0][j] for j in range(3)), train) == RANKS


@pytest.mark.parametrize("further", [[1, -1, 1, -1], ["1990", "1991", "1990", "1990"]])
def test_a_further_column_is_read_only_where_that_is_said(
    further: list[Any], tmp_path: Path
) -> None:
    """As WN11's labels of true and false, or as years; a weight is neither."""
    rows = list(zip(*TEST, further, strict=True))
    path = tmp_path / "test.txt"
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    frame = frame_of(["h", "r", "t", "more"], [*TEST, further])
    for test in (rows, frame, path, (*TEST, further)):
        words = r"^test: .*with 2 values in 4 rows, as .*; columns= says which .*; keys= says "
        refusal(ValueError, words, Task, test, entities=LETTERS)
        assert Task(test, entities=LETTERS, keys=[3]).tail.queries.shape[1] == 3
        assert Task(test, entities=LETTERS, columns=FIRST_THREE).test.shape == (4, 3)
    weighed = list(zip(*TEST, [0.5, 0.25, 0.5, 1.0], strict=True))
    refusal(TypeError, r"got 0.5 in row 0; columns={.*} says which are meant", Task, weighed)


def test_a_column_of_one_value_is_left_out_of_all_splits() -> None:
    """ICEWS18's quadruples have a fifth column of zeros."""
    test = list(zip(*TEST, [0] * 4, strict=True))
    train = list(zip(*TRAIN, [0] * 3, strict=True))
    task = Task(test, {"train": train})
    assert left_out(task) == ["all splits: column 3, which has one value"]
    assert task.test.shape == (4, 3)
    days = list(zip(*TEST, [0] * 4, [24, 24, 48, 72], strict=True))
    of_days = list(zip(*TRAIN, [0] * 3, [0, 24, 24], strict=True))
    refusal(
        ValueError,
        r"^test: .* got column 4, with 4 values in 7 rows, as 24",
        Task,
        days,
        {"train": of_days},
    )


def test_further_columns_of_all_splits_have_one_order() -> None:
    years, places = [1, 2, 3, 4], [5, 6, 7, 8]
    test = frame_of([*ROLES, "year", "place"], [*TEST, years, places])
    train = frame_of([*ROLES, "place", "year"], [*TEST, places, years])
    refusal(ValueError, r'^known\["train"\]: ', Task, test, {"train": train}, keys=[3, 4])
    assert Task(test, {"train": test[:0]}, keys=[3]).test.shape == (4, 5)


def test_a_row_has_members_that_are_scalars() -> None:
    columns = (np.array([0, 1]), np.array([0, 0]), np.array([1, 2]))
    for wrong in (
        [columns],
        dict(zip(ROLES, columns, strict=True)),
        np.array(rows_of(ROLES, TEST), "S"),
    ):
        refusal(TypeError, r"^test: .*, rows \[\(head, relation, tail\), ", Task, wrong)
    assert Task(columns).test.tolist() == [[0, 0, 1], [1, 0, 2]]
    words = "a tuple is columns, a list of tuples is rows, got 2"
    refusal(ValueError, words, Task, ((0, 1, 5), (2, 3, 6)))
    words = "got 2 tuples of 2, which may be rows or columns"
    refusal(ValueError, words, Task, ((0, 1), (2, 3)))
    refusal(TypeError, "a tuple is columns, a list is rows, got 0 among them", Task, (0, 1, 2))


def test_known_triples_that_share_no_query_are_in_the_audit() -> None:
    """Splits of inductive facts are disjoint by design."""
    known = {"train": [("x", "in", "y"), ("a", "in", "z"), ("b", "by", "e")], "valid": []}
    audit = Task(rows_of(ROLES, TEST), known | {"graph": [("x", "in", "y")]}).audit
    findings = [finding for finding in audit if "share a query" in finding.message]
    assert [finding.count for finding in findings] == [2, 0]
    assert str(findings[0]) == "train: 2 of 3 triples share a query with test"
