"""Statements with qualifiers against Python's sets: queries, filters, candidates, files, errors."""

from __future__ import annotations

import copy
import gzip
import json
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import link_prediction as oracle
from strategies.score_matrices import Array
from strategies.triples import lists_of
from support.refusals import refusal
from truerank.link_prediction import Negatives, Task, read_statements

# of duplicates and leaks
pytestmark = pytest.mark.filterwarnings("ignore:test. :UserWarning")

ENTITIES = 4
RELATIONS = 2
SIDES = ("head", "tail", "relation", "qualifier")
statement_task = partial(Task, statements=True)
Row = tuple[int, ...]
Fact = tuple[int, int, int, frozenset[tuple[int, int]]]


@st.composite
def statements(draw: st.DrawFn) -> Row:
    entity = st.integers(0, ENTITIES - 1)
    relation = st.integers(0, RELATIONS - 1)
    triple = (draw(st.integers(0, 1)), draw(relation), draw(entity))
    pairs = draw(st.lists(st.tuples(relation, entity), max_size=3))
    return triple + tuple(member for pair in pairs for member in pair)


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[Row], dict[str, list[Row]]]:
    test: list[Row] = [(0, 0, 1, 0, 2)]  # one has a qualifier
    test += draw(st.lists(statements(), min_size=1, max_size=5))
    return test, {name: draw(st.lists(statements(), max_size=8)) for name in ("train", "valid")}


@st.composite
def scores_of(draw: st.DrawFn, side: str, test: list[Row]) -> Array:
    """Draw scores of a side with ties, a row for each query that is given."""
    height = len(test)
    if side == "qualifier":
        height = sum(map(values_of, test))
    columns = RELATIONS if side == "relation" else ENTITIES
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return rng.integers(0, 3, (height, columns)).astype(np.float32)


def as_fact(row: Row) -> Fact:
    return (row[0], row[1], row[2], frozenset(zip(row[3::2], row[4::2], strict=True)))


def tasks_of(side: str, fact: Fact, given: Row) -> list[tuple[tuple[Any, ...], int, Any]]:
    """Return the tasks of a statement: what every query has, the answer, and the qualifiers."""
    head, relation, tail, pairs = fact
    if side != "qualifier":
        known = {"head": (relation, tail), "tail": (head, relation), "relation": (head, tail)}
        return [(known[side], {"head": head, "tail": tail, "relation": relation}[side], pairs)]
    order = list(dict.fromkeys(zip(given[3::2], given[4::2], strict=True)))
    return [((head, relation, tail, r), value, pairs - {(r, value)}) for r, value in order]


def answers(side: str, facts: list[Row], query: tuple[Any, ...], pairs: Any) -> set[int]:
    """Return the answers of known statements: of those with these qualifiers, or of all."""
    return {
        answer
        for row in facts
        for known, answer, others in tasks_of(side, as_fact(row), row)
        if known == query and (pairs is None or others == pairs)
    }


def query_of(task: Task, side: Any, i: int, has_set: bool) -> Any:
    """Return the query of a task with the pairs of its set, not the set's number."""
    query = tuple(side.queries[side.rows[i]].tolist())
    if not has_set:
        return query, None
    return query[:-1], frozenset(map(tuple, task.sets[query[-1]].tolist()))


def values_of(row: Row) -> int:
    """Return how many pairs of a qualifier and its value a statement is given with."""
    return (len(row) - 3) // 2


def check_labels_of_values(side: Any, tail: Any, triples: set[Row], kept: list[int]) -> None:
    """The degree of a value is that of an entity; other labels are those of its statement."""
    places = [kept.index(i) for i in side.labels["unit"].values]
    for name in ("category", "head_degree", "tail_degree"):
        assert side.labels[name].values.tolist() == tail.labels[name].values[places].tolist()
    degrees = [sum(value in (h, t) for h, _, t in triples) for value in side.targets.tolist()]
    assert side.labels["degree"].values.tolist() == list(map(oracle.bucket, degrees))


@given(problems(), st.booleans(), st.sampled_from(["keep", "drop"]), st.data())
def test_tasks_and_filters_by_their_definition(
    problem: tuple[list[Row], dict[str, list[Row]]], has_set: bool, duplicates: str, data: Any
) -> None:
    test, known = problem
    everything = test + known["train"] + known["valid"]
    filters = data.draw(st.permutations(["fact", "triple", "none"]))
    rules: dict[str, Any] = {"sides": SIDES, "filters": filters, "duplicates": duplicates}
    rules |= {"entities": ENTITIES, "relations": RELATIONS}
    same: list[Any] = [as_fact(row) for row in test]
    if not has_set:
        rules["keys"] = ()
        same = [fact[:3] for fact in same]
    task = statement_task(test, known, **rules)
    kept = [i for i in range(len(test)) if duplicates == "keep" or same[i] not in same[:i]]
    assert task.audit.kept == len(kept)
    scores = {side: data.draw(scores_of(side, test)) for side in SIDES}
    report = task.evaluate_scores(**scores)
    assert list(report.filters) == filters
    expected: dict[str, list[list[int]]] = {name: [] for name in filters}
    for side in SIDES:
        made = task.sides[side]
        i = 0
        for number in kept:
            row = test[number]
            pairs = list(zip(row[3::2], row[4::2], strict=True))
            for query, target, others in tasks_of(side, as_fact(row), row):
                place = number
                group = row[1]
                if side == "qualifier":
                    group = query[-1]
                    place = sum(map(values_of, test[:number])) + pairs.index((group, target))
                found_query, found_set = query_of(task, made, i, has_set)
                assert found_query == query
                assert found_set == (others if has_set else None)
                assert made.targets[i] == target
                assert made.test_rows[i] == place
                assert made.labels["unit"].values[i] == number
                assert made.labels["qualifiers"].values[i] == len(as_fact(row)[3])
                assert made.labels["relation"].values[i] == group
                columns = scores[side].shape[1]
                left_out = {
                    "fact": answers(side, everything, query, others),
                    "triple": answers(side, everything, query, None),
                    "none": set(),
                }
                for name in filters:
                    counts = oracle.rank(
                        scores[side][place].tolist(), target, set(range(columns)), left_out[name]
                    )
                    expected[name].append(counts)
                i += 1
        assert i == len(made)
    triples = {row[:3] for rows in known.values() for row in rows}
    check_labels_of_values(task.qualifier, task.tail, triples, kept)
    for name, found in report.filters.items():
        ranks = found.ranks
        counts = np.stack([ranks.above, ranks.tied, ranks.candidates], axis=1)
        assert counts.tolist() == expected[name], name
        assert ranks.protocol.filter_rule == (None if name == "none" else name)


# -- candidates ------------------------------------------------------------------------------------

TEST = [("a", "won", "x", "in", "2001", "for", "p"), ("b", "won", "x")]
TRAIN = [("a", "won", "y", "in", "2002"), ("b", "knows", "a", "in", "2001", "for", "p")]


def test_candidates() -> None:
    sides = ("tail", "qualifier")
    typed = statement_task(TEST, {"train": TRAIN}, sides=sides, candidates="typed")
    assert typed.entities == ("2001", "2002", "a", "b", "p", "x", "y")
    assert lists_of(typed.qualifier.candidates) == [[0, 1], [4]]
    assert lists_of(typed.tail.candidates) == [[5, 6], [5, 6]]
    train = statement_task(TEST, {"train": TRAIN}, sides=["qualifier"], candidates="train")
    assert train.entities is not None
    names = [train.entities[j] for j in train.qualifier.candidates]
    assert names == ["2001", "2002", "a", "b", "p", "y"]


def test_all_ways_to_evaluate_are_one() -> None:
    task = statement_task(TEST, {"train": TRAIN}, sides=SIDES, filters=["fact", "triple"])
    assert None not in (task.entities, task.relations)  # the order of the columns
    rng = np.random.default_rng(0)
    scores = {
        side: rng.integers(0, 3, (len(made.queries), made.columns)).astype(np.float32)
        for side, made in task.sides.items()
    }
    found = task.evaluate_scores(**scores, unique=True)
    called = task.evaluate(
        **{side: lambda _, rows=rows: rows for side, rows in scores.items()}, batch_size=9
    )
    units = {"entities": np.eye(7, dtype=np.float32), "relations": np.eye(4, dtype=np.float32)}
    by_vectors = task.evaluate_embeddings(**scores, **units, unique=True)
    for other in (called, by_vectors):
        for name, report in found.filters.items():
            assert other.filters[name].ranks.with_protocol(similarity=None) == report.ranks


# -- forms -----------------------------------------------------------------------------------------


def check(task: Task) -> None:
    assert task.entities == ("2001", "2002", "a", "b", "p", "x", "y")
    assert task.relations == ("for", "in", "knows", "won")
    assert task.test[:, :3].tolist() == [[2, 3, 5], [3, 3, 5]]
    assert task.sets.padded(task.test[:, 3]).tolist() == [[[0, 4], [1, 0]], [[-1, -1], [-1, -1]]]
    assert task.qualifier.targets.tolist() == [0, 4]
    assert task.qualifier.height == 2


def test_forms(tmp_path: Path) -> None:
    def made(test: Any, train: Any) -> Task:
        return statement_task(test, {"train": train}, sides=SIDES)

    check(made(TEST, TRAIN))
    check(made(list(map(list, TEST)), TRAIN))
    flipped = [("a", "won", "x", "for", "p", "in", "2001", "for", "p"), TEST[1]]
    assert made(flipped, TRAIN).qualifier.test_rows.tolist() == [0, 1]
    for name, joint in (("a.txt", ","), ("b.tsv", "\t"), ("c.txt.gz", ",")):
        paths = []
        for split, rows in (("test", TEST), ("train", TRAIN)):
            text = "\n".join(map(joint.join, rows)) + "\n\n"
            data = text.replace("\n", "\r\n").encode()
            path = tmp_path / f"{split}{name}"
            if name.endswith(".gz"):
                data = gzip.compress(data)
            path.write_bytes(data)
            paths.append(path)
        check(made(*paths))
    (tmp_path / "test.json").write_text("\n".join(map(json.dumps, TEST)))
    objects = [
        {"won_h": "a", "won_t": "y", "N": 3, "in": ["2002"]},
        {"knows_h": "b", "knows_t": "a", "N": 4, "in": "2001", "for": ["p"]},
    ]
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, objects)))
    check(made(tmp_path / "test.json", str(tmp_path / "train.jsonl")))


def test_forms_with_ids(tmp_path: Path) -> None:
    read = read_statements([(0, 0, 1, 1, 3, 1, 2), np.array([2, 0, 1])])
    assert read.triples.tolist() == [[0, 0, 1], [2, 0, 1]]
    assert read.indptr.tolist() == [0, 2, 2]
    assert read.qualifiers.tolist() == [[1, 3], [1, 2]]
    assert (read.entities, read.relations) == (None, None)
    (tmp_path / "ids.txt").write_text("0,0,1,1,3,1,2\n2,0,1\n")
    from_text = read_statements(tmp_path / "ids.txt", entities=4)
    assert from_text.qualifiers.tolist() == read.qualifiers.tolist()
    plain = statement_task(read.triples, entities=4, relations=2)
    assert plain.test.tolist() == [[0, 0, 1, 0], [2, 0, 1, 0]]
    assert len(plain.sets) == 1


def test_the_audit_shows_qualifiers() -> None:
    with pytest.warns(UserWarning, match="a won x for p; in 2001"):
        task = statement_task([TEST[0], TEST[0]], {"train": TRAIN}, sides=SIDES)
    assert task.audit.duplicates.count == 1
    assert (len(task.qualifier), len(task.qualifier.queries)) == (4, 2)
    again = pickle.loads(pickle.dumps(task))
    assert again.sets[1].tolist() == copy.deepcopy(task).sets[1].tolist() == task.sets[1].tolist()


# -- errors ----------------------------------------------------------------------------------------

WRONG: list[tuple[Any, type[Exception], str]] = [
    (5, TypeError, "test: expected a path, or a list of tuples .* got int"),
    ([("a", "r")], ValueError, r"test: expected head, .* got \('a', 'r'\) in statement 0"),
    ([("a", "r", "b"), ("a", "r", "b", "q")], ValueError, "in statement 1"),
    ([("a", "r", "b", "q", 1)], ValueError, "test: .* got ids in column 4"),
    ([("a", "r", 2.5)], TypeError, r"test: .* got 2\.5 in row 0"),
    ([("a", "r", "b", "", "c")], ValueError, "expected .* got '' in row 0"),
    ([(0, 0, 1, 0, -1)], ValueError, "test: .* got -1 in column 4 of row 0"),
]


@pytest.mark.parametrize(("test", "kind", "message"), WRONG)
def test_wrong_statements(test: Any, kind: type[Exception], message: str) -> None:
    refusal(kind, message, statement_task, test)


LINES = [
    ("a,b", r"test: .*test\.txt: expected head, .* for each qualifier, got \['a', 'b'\] in line 2"),
    ("a,r,", "test: .*: expected integers or labels in column 2 .tail., got '' in row 1"),
    ("a\tr\tb", "in line 2"),
    ("{}", "test: .* expected head, relation and tail, .* got {} in line 2"),
    ('{"r_h": "a", "s_t": "b"}', "in line 2"),
    ('"abc"', "got abc in line 2"),
    ("[1, 2]", "in line 2"),
    ("[", "line 2: no JSON"),
    ('["a", "r", {}]', r"test: .* got \{\} in row 1"),
]


@pytest.mark.parametrize(("line", "message"), LINES)
def test_wrong_lines(line: str, message: str, tmp_path: Path) -> None:
    if line[0] == "a":
        path = tmp_path / "test.txt"
        path.write_text(f"a,r,b\n{line}\n")
    else:
        path = tmp_path / "test.jsonl"
        path.write_text(f'["a", "r", "b"]\n{line}\n')
    refusal((ValueError, TypeError), message, statement_task, path)


def test_wrong_options(tmp_path: Path) -> None:
    values = ["qualifier"]
    plain = [("a", "r", "b")]
    for test, options, words in (
        (plain, {"sides": values}, "sides: the test has no qualifiers to predict"),
        (plain, {"sides": values, "statements": False}, "sides: expected one .* got"),
        (plain, {"sides": ["value"]}, "sides: expected one of head, tail, relation, qualifier"),
        (TEST, {"time": 3}, "time: expected None for statements, got 3"),
        (TEST, {"sides": values, "candidates": Negatives()}, "expected Negatives of .* got none"),
        (TEST, {"sides": values, "candidates": ["a"]}, "2 answers of the side qualifier are not"),
    ):
        refusal(ValueError, words, Task, test, **{"statements": True, **options})
    task = statement_task(TEST, {"train": TRAIN}, sides=["qualifier"])
    refusal(TypeError, "qualifier: expected scores for the side", task.evaluate_scores)
    words = "tail: expected None, as the sides"
    refusal(TypeError, words, task.evaluate_scores, [[0.0] * 7] * 2, qualifier=[[0.0] * 7] * 2)
    refusal(TypeError, "qualifier: expected a callable", task.evaluate)
    refusal(TypeError, "numbers: expected integers", task.sets.padded, [0.5])
    assert task.entities is not None  # the order of the columns
    refusal(OSError, "No such file", statement_task, tmp_path / "none.txt")
