"""The task of link prediction against its definition: queries, filter, audit, labels."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import link_prediction as oracle
from strategies.triples import splits
from support.refusals import refusal
from truerank.link_prediction import Sampled, Task

pytestmark = pytest.mark.python_only

SIDES = ("head", "tail", "relation")
TEST = [("a", "likes", "c"), ("a", "likes", "d"), ("b", "knows", "a")]
TRAIN = [("a", "likes", "b"), ("b", "likes", "c"), ("c", "knows", "a"), ("d", "knows", "a")]


def quiet(*args: Any, **keywords: Any) -> Task:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return Task(*args, **keywords)


def lists(tasks: Any, selection: Any) -> list[list[int]]:
    """Return the lists of an (indptr, indices) pair, one per query or per task."""
    indptr, indices = selection
    return [
        indices[start:stop].tolist()
        for start, stop in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)
    ]


def values(labels: Any) -> list[Any]:
    found: list[Any] = labels.values.tolist()
    return found


def check_side(tasks: Any, expected: oracle.Side, chosen: list[int], height: int) -> None:
    """Check queries, filter and labels against the definition, and their documented layout."""
    assert tasks.queries.dtype == tasks.rows.dtype == tasks.targets.dtype == np.int64
    queries = list(map(tuple, tasks.queries.tolist()))
    assert queries == sorted(set(expected.queries))
    assert [queries[row] for row in tasks.rows.tolist()] == expected.queries
    assert tasks.targets.tolist() == expected.targets
    assert tasks.test_rows.tolist() == chosen
    assert tasks.height == height
    assert tasks.filter is not None
    of_query = lists(tasks, tasks.filter)
    assert len(of_query) == len(queries)
    assert [of_query[row] for row in tasks.rows] == [sorted(s) for s in expected.answers]
    for name in ("category", "head_degree", "tail_degree", "degree"):
        assert values(tasks.labels[name]) == getattr(expected, name), name
    assert values(tasks.labels["queries"]) == tasks.rows.tolist()
    assert values(tasks.labels["targets"]) == expected.targets


def shown(test: list[Any], where: list[int], keys: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the first three distinct test triples."""
    first: dict[Any, Any] = {}
    for i in where:
        first.setdefault(oracle.identity(test[i], keys), test[i])
    return tuple(first.values())[:3]


RULES = st.sampled_from(["keep", "drop"])


@given(splits(), RULES, RULES, RULES)
def test_the_definition(problem: Any, duplicates: str, leaks: str, unseen: str) -> None:
    test, known, keys = problem
    width = len(test[0])
    columns = tuple(range(3, width)) if keys is None else keys
    if not known:
        unseen = "keep"
    rules = {"duplicates": duplicates, "leaks": leaks, "unseen": unseen}
    arrays = {name: np.array(rows, np.int64).reshape(-1, width) for name, rows in known.items()}
    found = oracle.audit(test, known, columns)
    chosen = oracle.chosen_positions(found, **rules, given=len(test))
    how: dict[str, Any] = {"entities": 6, "relations": 3, "keys": keys, **rules}
    if not chosen:
        with pytest.raises(ValueError, match=r"^test: nothing is left"):
            quiet(np.array(test), arrays, sides=SIDES, **how)
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        task = Task(np.array(test), arrays, sides=SIDES, **how)
    noted = [
        found.duplicates and duplicates == "keep",
        any(found.leaks.values()) and leaks == "keep",
    ]
    assert len(caught) == sum(map(bool, noted))
    assert task.test.tolist() == [list(test[i]) for i in chosen]
    for name in SIDES:
        expected = oracle.side(name, test, known, chosen, columns)
        tasks = task.sides[name]
        check_side(tasks, expected, chosen, len(test))
        assert tasks.columns == (3 if name == "relation" else 6)
        assert values(tasks.labels["relation"]) == [test[i][1] for i in chosen]
    audit = task.audit
    assert (audit.given, audit.kept) == (len(test), len(chosen))
    assert audit.duplicates.count == len(found.duplicates)
    assert audit.duplicates.examples == shown(test, found.duplicates, columns)
    assert {name: leak.count for name, leak in audit.leaks.items()} == {
        name: len(where) for name, where in found.leaks.items()
    }
    assert audit.leaked == len({i for where in found.leaks.values() for i in where})
    if not known:
        assert audit.unseen is None
        return
    assert audit.unseen is not None
    assert audit.unseen_entities is not None
    assert audit.unseen_relations is not None
    assert audit.unseen.count == len(found.unseen)
    assert audit.unseen.examples == shown(test, found.unseen, columns)
    assert ("unseen in train: " in str(audit)) == ("train" in known)
    assert audit.unseen_entities.examples == tuple(sorted(found.unseen_entities)[:3])
    assert audit.unseen_relations.count == len(found.unseen_relations)


@given(splits(), st.integers(0, 2**32))
def test_ranks_follow_the_definition(problem: Any, seed: int) -> None:
    test, known, keys = problem
    width = len(test[0])
    arrays = {name: np.array(rows, np.int64).reshape(-1, width) for name, rows in known.items()}
    task = quiet(np.array(test), arrays, entities=5, relations=3, sides=SIDES, keys=keys)
    columns = tuple(range(3, width)) if keys is None else keys
    rng = np.random.default_rng(seed)
    scores = {name: rng.integers(0, 3, (len(test), t.columns)) for name, t in task.sides.items()}
    given_scores = {name: array.astype(np.float32) for name, array in scores.items()}
    ranks = task.evaluate_scores(**given_scores).ranks
    assert ranks is not None
    got = np.stack([ranks.above, ranks.tied, ranks.candidates], axis=1).tolist()
    expected = []
    for name in SIDES:
        made = oracle.side(name, test, known, range(len(test)), columns)
        everything = set(range(task.sides[name].columns))
        for row, target, answers in zip(scores[name], made.targets, made.answers, strict=True):
            expected.append(oracle.rank(row.tolist(), target, everything, answers - {target}))
    assert got == expected


def test_wn18rr(data: Path) -> None:
    """A real data set, by labels, against the slow twin."""
    folder = data / "wn18rr"
    files = {name: folder / f"{name}.txt" for name in ("train", "valid", "test")}
    rows = {
        name: [tuple(line.split("\t")) for line in path.read_text().splitlines()]
        for name, path in files.items()
    }
    known = {name: rows[name] for name in ("train", "valid")}
    task = Task(files["test"], {name: files[name] for name in known})
    labels = {e for triples in rows.values() for h, _, t in triples for e in (h, t)}
    assert task.entities == tuple(sorted(labels))
    assert len(task.entities) == 40_943
    assert task.relations is not None
    assert len(task.relations) == 11
    assert str(task.protocol) == (
        "split test, filtered by train + valid + test, all candidates, nan raise"
    )
    entities, relations = np.array(task.entities), np.array(task.relations)
    test = rows["test"]
    assert [
        tuple(t)
        for t in np.stack(
            [entities[task.test[:, 0]], relations[task.test[:, 1]], entities[task.test[:, 2]]], 1
        ).tolist()
    ] == test
    ids = {label: i for i, label in enumerate(task.entities)}
    numbers = {label: i for i, label in enumerate(task.relations)}
    coded = {
        name: [(ids[h], numbers[r], ids[t]) for h, r, t in triples]
        for name, triples in rows.items()
    }
    known = {name: coded[name] for name in known}
    for name in ("head", "tail"):
        expected = oracle.side(name, coded["test"], known, range(len(test)))
        check_side(task.sides[name], expected, list(range(len(test))), len(test))
        assert values(task.sides[name].labels["relation"]) == [r for _, r, _ in test]
    found = oracle.audit(coded["test"], known)
    assert task.audit.unseen is not None
    assert task.audit.unseen_entities is not None
    assert task.audit.unseen.count == len(found.unseen)
    assert task.audit.unseen_entities.count == len(found.unseen_entities)
    assert (task.audit.duplicates.count, task.audit.leaked) == (0, 0)


def test_labels_and_names() -> None:
    task = Task(TEST, {"train": TRAIN}, sides=SIDES)
    assert (task.entities, task.relations) == (("a", "b", "c", "d"), ("knows", "likes"))
    assert task.tail.names == task.head.names == task.entities
    assert task.relation.names == task.relations
    assert values(task.head.labels["relation"]) == ["likes", "likes", "knows"]
    assert values(task.tail.labels["category"]) == ["1-n", "1-n", "n-1"]
    assert values(task.tail.labels["degree"]) == ["2-3", "1", "2-3"]
    assert values(task.relation.labels["degree"]) == ["2-3"] * 3
    assert list(task.sides) == ["head", "tail", "relation"]
    assert repr(task) == (
        "Task(head 3 of 3 queries, tail 3 of 2 queries, relation 3 of 3 queries; "
        "split test, filtered by train + test, all candidates, nan raise)"
    )
    with pytest.raises(AttributeError, match="no attribute 'relation'"):
        _ = Task(TEST).relation


def test_without_known_splits() -> None:
    task = Task(TEST)
    assert task.tail.filter is None
    assert task.protocol.filter == ()
    assert task.audit.unseen is None
    assert task.audit.known == {}
    filtered = Task(TEST, {})
    assert filtered.protocol.filter == ("test",)
    assert filtered.tail.filter is not None
    assert lists(filtered.tail, filtered.tail.filter) == [[2, 3], [0]]


KNOWN_FORMS = {
    "mapping": ({"train": TRAIN}, ["train"]),
    "a list of splits": ([TRAIN, TRAIN[:1]], ["known_0", "known_1"]),
    "one split": (TRAIN, ["known_0"]),
    "lists as rows": ([list(row) for row in TRAIN], ["known_0"]),
    "an array": (np.array(TRAIN), ["known_0"]),
    "arrays": ([np.array(TRAIN), np.array(TRAIN)], ["known_0", "known_1"]),
    "an empty split": ([TRAIN, []], ["known_0", "known_1"]),
    "none": ([], []),
}


@pytest.mark.parametrize(("known", "names"), KNOWN_FORMS.values(), ids=KNOWN_FORMS)
def test_known_forms(known: Any, names: list[str]) -> None:
    task = Task(TEST, known, split="final")
    assert list(task.audit.known) == names
    assert task.protocol.filter == (*names, "final")
    assert task.protocol.split == "final"


def test_warnings_name_what_they_found() -> None:
    with pytest.warns(UserWarning, match=r"^test: 1 \(a likes c\) triples repeat") as caught:
        Task([*TEST, TEST[0]], {"train": TRAIN})
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=r"^test: 1 \(a likes b\) triples are in a known split"):
        Task([*TEST, TRAIN[0]], {"train": TRAIN})
    refusal(ValueError, r"^test: 1 \(a .* earlier one$", Task, [*TEST, TEST[0]], duplicates="raise")
    refusal(ValueError, "^test: .* a known split", Task, [*TEST, TRAIN[0]], [TRAIN], leaks="raise")
    with pytest.raises(ValueError, match=r"^test: 1 \(e likes b\) triples have an entity or a"):
        Task([*TEST, ("e", "likes", "b")], [TRAIN], unseen="raise")


def test_audit_in_words() -> None:
    test = [*TEST, TEST[0], TRAIN[0], ("e", "hates", "a")]
    task = quiet(test, {"train": TRAIN, "valid": TRAIN[:2]}, duplicates="drop")
    assert str(task.audit).splitlines() == [
        "test: 6 triples, 5 ranked; known: train 4, valid 2",
        "duplicates: 1 (a likes c), dropped",
        "leaks: in train 1 (a likes b); in valid 1 (a likes b), kept",
        "unseen in train: 1 (e hates a), kept",
        "unseen entities: 1 (e)",
        "unseen relations: 1 (hates)",
    ]
    assert task.head.test_rows.tolist() == [0, 1, 2, 4, 5]
    plain = task.audit.to_dict()
    assert plain["leaks"]["train"] == {"count": 1, "examples": [["a", "likes", "b"]]}
    assert plain["unseen_entities"] == {"count": 1, "examples": ["e"]}
    assert plain["rules"] == {"duplicates": "drop", "leaks": "keep", "unseen": "keep"}
    clean = str(Task(TEST, {"train": TRAIN}).audit).splitlines()
    assert clean[1:4] == ["duplicates: none", "leaks: none", "unseen in train: none"]
    assert "unseen: none" in str(Task(TEST, TRAIN).audit)


def test_what_train_has_not_is_unseen_whatever_other_splits_have() -> None:
    test, valid = [*TEST, ("a", "likes", "e")], [("e", "likes", "d")]
    for known in ({"valid": valid, "train": TRAIN}, {"train": TRAIN, "valid": valid}):
        task = quiet(test, known)
        assert task.audit.unseen is not None
        assert task.audit.unseen.examples == (("a", "likes", "e"),)
        dropped = Task(test, known, unseen="drop", candidates="train")
        assert dropped.test.tolist() == task.test.tolist()[:3]
        assert dropped.tail.candidates.tolist() == [0, 1, 2, 3]
        refusal(ValueError, r"^test: 1 \(a .* or a .* has not$", Task, test, known, unseen="raise")
    elsewhere = quiet(test, [TRAIN, valid]).audit.unseen
    assert elsewhere is not None
    assert elsewhere.count == 0


def test_qualifiers() -> None:
    test = [("a", "r", "b", "2014"), ("a", "r", "c", "2015")]
    train = [("a", "r", "d", "2014"), ("a", "r", "b", "2015")]
    task = Task(test, {"train": train})
    assert task.qualifiers == (("2014", "2015"),)
    assert task.tail.queries.tolist() == [[0, 0, 0], [0, 0, 1]]
    assert task.tail.filter is not None
    assert lists(task.tail, task.tail.filter) == [[1, 3], [1, 2]]
    plain = quiet(test, {"train": train}, keys=())
    assert plain.tail.queries.tolist() == [[0, 0]]
    assert plain.tail.filter is not None
    assert lists(plain.tail, plain.tail.filter) == [[1, 2, 3]]
    assert plain.test.shape == (2, 4)
    assert plain.audit.leaked == 1


INTS = np.array([[0, 0, 1]])
ERRORS: list[tuple[type[Exception], str, Any, dict[str, Any]]] = [
    (ValueError, "^test: expected at least one triple, got none", [], {}),
    (TypeError, r'^known\["train"\]: expected int', INTS, {"known": {"train": INTS * 1.0}}),
    (TypeError, r'^known\["a"\]: expected an array', INTS, {"known": {"a": None}}),
    (ValueError, r"^test: .* got ndarray of shape \(1, 2\)", INTS[:, :2], {}),
    (ValueError, "^test: .* got 3", INTS, {"known": {"train": np.zeros((1, 4), int)}}),
    (
        ValueError,
        r"^known\[1\]: .* got 2 in column 2 of row 1",
        INTS,
        {"known": [INTS, np.array([[0, 0, 1], [0, 0, 2]])], "entities": 2},
    ),
    (ValueError, "^test: .* got -1 in column 2 of row 0", -INTS, {}),
    (ValueError, "^test: .* got 3 in column 1 of row 0", [[0, 3, 1]], {"relations": 1}),
    (ValueError, "^test: .* got 'd' in column 2 of row 1", TEST, {"entities": ["a", "b", "c"]}),
    (ValueError, "^test: .* got 'knows' in column 1 of row 2", TEST, {"relations": ["likes"]}),
    (ValueError, "^known: .* got ids in column 0", TEST, {"known": INTS}),
    (ValueError, "^test: .* got 'a' in column 0 of row 0", TEST, {"entities": 4}),
    (TypeError, "^entities: expected an int, a sequence", INTS, {"entities": 2.0}),
    (ValueError, "^entities: expected an integer .* to 68719476736, got 0", INTS, {"entities": 0}),
    (ValueError, "^entities: expected at least one label", INTS, {"entities": []}),
    (ValueError, "^entities: 'a' occurs twice", INTS, {"entities": ["a", "b", "a"]}),
    (ValueError, "^entities: .* got 2 for 'b'", INTS, {"entities": {"a": 0, "b": 2}}),
    (ValueError, "^sides: expected one of head, tail, relation", INTS, {"sides": ["left"]}),
    (ValueError, "^sides: expected at least one", INTS, {"sides": []}),
    (ValueError, "^sides: .* none twice", INTS, {"sides": ["head", "head"]}),
    (TypeError, "^sides: expected several", INTS, {"sides": "head"}),
    (ValueError, "^split: .* got 'test'", INTS, {"known": {"test": INTS}}),
    (TypeError, "^known: .* got 1", INTS, {"known": {1: INTS}}),
    (ValueError, "^leaks: expected one of keep, drop, raise", INTS, {"leaks": "warn"}),
    (ValueError, '^unseen: expected "keep" without known', INTS, {"unseen": "drop"}),
    (ValueError, "^keys: expected distinct .*, of 3 in all, got 3", INTS, {"keys": [3]}),
    (TypeError, "^keys: expected several columns, got int", INTS, {"keys": 3}),
    (ValueError, "^keys: .*of 4 in all, got 4", [[0, 0, 1, 7]], {"keys": [4]}),
    (ValueError, "^keys: .* got 3, 3", [[0, 0, 1, 7]], {"keys": [3, 3]}),
    (ValueError, "^candidates: expected negatives >= 1", INTS, {"candidates": Sampled(0)}),
]


@pytest.mark.parametrize(("kind", "words", "test", "how"), ERRORS)
def test_errors(kind: type[Exception], words: str, test: Any, how: dict[str, Any]) -> None:
    refusal(kind, words, Task, test, **how)


def test_inputs_are_left_alone() -> None:
    test, train = np.array([[0, 0, 1]], np.int32), np.array([[0, 0, 2], [2, 0, 1]])
    test.flags.writeable = train.flags.writeable = False
    task = Task(test, {"train": train})
    assert not task.test.flags.writeable
    assert test.tolist() == [[0, 0, 1]]
    assert train.tolist() == [[0, 0, 2], [2, 0, 1]]


def test_a_mapping_gives_the_ids() -> None:
    task = Task([("a", "r", "b")], entities={"b": 0, "a": 1})
    assert task.entities == ("b", "a")
    assert task.test.tolist() == [[1, 0, 0]]


def test_labels_may_stand_beside_ids() -> None:
    task = Task(
        [("a", "r", "b")], {"train": [[2, 0, 1]]}, entities=["a", "b", "c"], relations=["r"]
    )
    assert task.head.filter is not None
    assert lists(task.head, task.head.filter) == [[0, 2]]


def test_arrays_are_read_only_and_tasks_can_be_pickled() -> None:
    task = Task(TEST, {"train": TRAIN}, candidates="typed", entities=["a", "b", "c", "d"])
    for each in (task, pickle.loads(pickle.dumps(task)), copy.deepcopy(task)):
        side = each.tail
        arrays = [each.test, side.queries, side.rows, side.targets, side.test_rows]
        arrays += [*side.filter, *side.candidates]
        assert each is not task or not any(array.flags.writeable for array in arrays)
        assert side.labels["relation"].same_as(task.tail.labels["relation"])
        assert len(each.evaluate_scores(np.eye(4)[:3], np.eye(4)[:3]).ranks) == 6
    chosen = np.array([0, 1, 2, 3])
    Task(TEST, {"train": TRAIN}, candidates=chosen, entities=["a", "b", "c", "d"])
    assert chosen.flags.writeable  # the caller's own


def test_loading_is_lazy(run_python: Callable[..., str]) -> None:
    run_python(
        "import sys, truerank\nassert not any('link_prediction' in name for name in sys.modules)\n"
    )


def test_memory_does_not_grow_with_ids() -> None:
    """One large id among a few triples; an array over all ids would take half a terabyte."""
    large = (1 << 36) - 1
    known = [[0, large, 1], [large, 0, 1], [0, 0, 1]]
    test = [[0, large, 0], [large, large, 0]]
    task = Task(test, known=known, sides=["tail", "relation"])
    assert task.tail.columns == task.relation.columns == large + 1
    assert task.tail.labels["head_degree"].values.tolist() == [2, 1]
    assert task.relation.labels["degree"].values.tolist() == ["1", "1"]
