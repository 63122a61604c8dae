"""Which tasks several models get right: against sets, and by hand."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from truerank.alignment.analyses.overlaps import overlap
from truerank.alignment.inference.matching import infer
from truerank.alignment.pair_task import Task

pytestmark = pytest.mark.python_only

SIDES = ["left_to_right"] * 2 + ["right_to_left"] * 2
PAIRS = [[0, 1], [1, 0]]


def ranks_of(above: list[int], tied: list[int] | None = None, **keywords: Any) -> tr.Ranks:
    return tr.Ranks(above, tied or [1] * len(above), 10, **keywords)


def sided(above: list[int], **keywords: Any) -> tr.Ranks:
    labels = {"side": SIDES, "queries": [0, 1, 1, 0], "targets": [1, 0, 0, 1]}
    return ranks_of(above, **{**labels, **keywords})


@given(st.integers(1, 6), st.data())
def test_overlap_is_that_of_sets(models: int, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12))
    names = [f"m{i}" for i in range(models)]
    flags = st.lists(st.booleans(), min_size=n, max_size=n)
    right = {name: data.draw(flags) for name in names}
    found = overlap(right)
    assert found.names == tuple(names)
    assert found.tasks == n
    sets = {name: {i for i in range(n) if right[name][i]} for name in names}
    assert found.found == {name: len(sets[name]) / n for name in names}
    union, common = set.union(*sets.values()), set.intersection(*sets.values())
    assert found.all == len(common) / n
    assert found.none == (n - len(union)) / n
    assert found.some == pytest.approx(len(union - common) / n)
    expected = {}
    for size in range(models + 1):
        for subset in combinations(names, size):
            inside = [sets[name] for name in subset]
            outside = [sets[name] for name in names if name not in subset]
            exact = set(range(n)).intersection(*inside) - set().union(*outside)
            if exact:
                expected[subset] = len(exact)
    ordered = sorted(expected, key=lambda s: -expected[s])  # stable: few models first, in order
    assert list(found.subsets.items()) == [(subset, expected[subset]) for subset in ordered]
    for i, j in np.ndindex(models, models):
        one, two = sets[names[i]], sets[names[j]]
        jaccard = len(one & two) / len(one | two) if one | two else math.nan
        np.testing.assert_equal(found.jaccard[i, j], jaccard)


def test_of_ranks() -> None:
    one, two = ranks_of([0, 0, 3, 9], [1, 2, 1, 1]), ranks_of([0, 0, 0, 9])
    found = overlap({"one": one, "two": tr.report(two)})
    assert found.subsets == {("two",): 2, (): 1, ("one", "two"): 1}
    assert (found.all, found.some, found.none) == (0.25, 0.5, 0.25)


def test_ties_at_the_top() -> None:
    tie = {"tie": ranks_of([0, 0, 1], [2, 1, 2])}
    assert overlap(tie).right[:, 0].tolist() == [False, True, False]  # realistic rank 1.5
    assert overlap(tie, kind="optimistic").right[:, 0].tolist() == [True, True, False]
    assert overlap(tie, kind="pessimistic").right[:, 0].tolist() == [False, True, False]
    assert overlap(tie, k=2).right[:, 0].tolist() == [True, True, False]
    assert overlap(tie, k=3, kind="pessimistic").right[:, 0].tolist() == [True] * 3
    for kind in ("realistic", "optimistic", "pessimistic"):
        for k in (1, 2, 3):
            share = tr.report(tie["tie"])[f"{kind}.hits@{k}"]
            assert overlap(tie, kind=kind, k=k).found["tie"] == pytest.approx(share)


def test_of_one_direction() -> None:
    models = {"A": sided([0, 3, 0, 0]), "B": sided([0, 0, 3, 3])}
    assert overlap(models).tasks == 4
    assert overlap(models, side="left_to_right").subsets == {("B",): 1, ("A", "B"): 1}
    assert overlap(models, side="right_to_left").subsets == {("A",): 2}
    with pytest.raises(ValueError, match=r"^models: expected tasks with sides, .* 'C'"):
        overlap({"C": ranks_of([0])}, side="left_to_right")


def test_of_pairs() -> None:
    found = overlap(
        {"pairs": [[0, 1], [1, 1], [0, 1]], "array": np.array([[1, 0]], np.uint8), "none": []},
        pairs=PAIRS,
    )
    assert found.right.tolist() == [[True, False, False], [False, True, False]]
    twice = overlap({"pairs": [[0, 1]]}, pairs=[*PAIRS, [0, 1]])  # a task for each of them
    assert twice.right[:, 0].tolist() == [True, False, True]


def test_of_an_inferred_alignment() -> None:
    rng = np.random.default_rng(0)
    left = rng.standard_normal((40, 5))
    right = left + 0.6 * rng.standard_normal((40, 5))
    pairs = np.stack([np.arange(40)] * 2, axis=1)
    task = Task(pairs, left=40, right=40)
    report = task.evaluate_embeddings(left, right)
    models = {name: infer(left, right, method=name) for name in ("greedy", "mutual")}
    models = {"ranks": report, **models}
    found = overlap(models, pairs=pairs, side="left_to_right")
    assert found.found["greedy"] == found.found["ranks"] == report["left_to_right.hits@1"]
    assert found.found["mutual"] <= found.found["greedy"]
    assert found.jaccard[0, 1] == 1


def test_ranks_must_be_of_the_same_tasks() -> None:
    queries = {"queries": [4, 5], "targets": [7, 8]}
    one = ranks_of([0, 1], **queries)
    for other, message in (
        (ranks_of([0, 1, 2]), r"tasks: 2 against 3"),
        (ranks_of([0, 1], queries=[4, 6], targets=[7, 8]), r"queries: 1 of 2 tasks differ"),
        (ranks_of([0, 1], queries=[4, 5], targets=[8, 7]), r"targets: 2 of 2 tasks differ"),
        (one.with_protocol(filter=("train",)), r"protocol: .*filter"),
        (tr.Ranks([0, 1], [1, 1], 9, **queries), r"candidates: 2 of 2"),
    ):
        with pytest.raises(ValueError, match=rf"^models: 'one' and 'other': cannot .*{message}"):
            overlap({"one": one, "other": other})
    assert overlap({"a": one, "b": one.with_protocol(filter=("x",))}, allow_unlike=True).tasks == 2
    weighed = {"a": one, "b": one.with_weights([1, 2])}  # weights have no part in it
    assert overlap(weighed).tasks == 2


def test_ranks_beside_pairs_must_be_of_the_reference() -> None:
    ranks = sided([0, 3, 0, 0])
    models = {"ranks": ranks, "pairs": [[0, 1]]}
    assert overlap(models, pairs=PAIRS, side="left_to_right").right.tolist() == [
        [True, True],
        [False, False],
    ]
    with pytest.raises(ValueError, match=r"^models: expected one number of tasks .* and 2 pairs"):
        overlap(models, pairs=PAIRS)
    with pytest.raises(ValueError, match=r"^models: .* of 'ranks' to be pairs, .* \(0, 1\) for"):
        overlap(models, pairs=PAIRS[::-1], side="left_to_right")
    back = overlap(models, pairs=PAIRS, side="right_to_left")  # queries are right entities there
    assert back.right[:, 0].tolist() == [True, True]
    named = ranks_of([0, 0], side="left_to_right", queries=["a", "b"], targets=["b", "a"])
    with pytest.raises(TypeError, match=r"^models: expected tasks with ids, .* names for 'named'"):
        overlap({"named": named}, pairs=PAIRS)
    bare = overlap({"bare": ranks_of([0, 1]), "pairs": [[0, 1]]}, pairs=PAIRS)  # by position
    assert bare.jaccard[0, 1] == 1


def test_flags_are_not_kept() -> None:
    flags = np.array([True, False])
    found = overlap({"A": flags})
    flags[:] = True
    assert found.right[:, 0].tolist() == [True, False]
    with pytest.raises(ValueError, match="read-only"):
        found.right[0, 0] = False


def test_forms() -> None:
    found = overlap({"A": [True, True, False, False], "B": [True, False, False, False]})
    assert found.to_dict() == {
        "tasks": 4,
        "all": 0.25,
        "some": 0.25,
        "none": 0.5,
        "found": {"A": 0.5, "B": 0.25},
        "subsets": [
            {"models": [], "tasks": 2, "share": 0.5},
            {"models": ["A"], "tasks": 1, "share": 0.25},
            {"models": ["A", "B"], "tasks": 1, "share": 0.25},
        ],
        "jaccard": {"A": {"A": 1.0, "B": 0.5}, "B": {"A": 0.5, "B": 1.0}},
    }
    assert found.to_csv().splitlines()[1:] == ["none,2,0.5", "A only,1,0.25", "A & B,1,0.25"]
    assert repr(found) == "Overlap(4 tasks, A, B: all find 0.25, none finds 0.5)"
    assert overlap({"A": [True]}).subset_name(("A",)) == "A"


def test_many_models() -> None:
    rng = np.random.default_rng(1)
    flags = {f"m{i}": rng.random(200) < 0.5 for i in range(70)}
    found = overlap(flags)
    assert len(found.subsets) == 200
    assert sum(found.subsets.values()) == 200


@pytest.mark.parametrize(
    ("models", "keywords", "kind", "message"),
    [
        ([], {}, TypeError, "models: expected a mapping of names, got list"),
        ({}, {}, ValueError, "models: expected at least one, got none"),
        ({1: [True]}, {}, TypeError, "models: expected names that are str, got int"),
        ({"A": [True], "B": [True, False]}, {}, ValueError, "models: expected one number of tasks"),
        ({"A": np.zeros(0, bool)}, {}, ValueError, "models: expected at least one task, got none"),
        ({"A": [0.5]}, {}, TypeError, "models: expected Ranks, a Report, flags .* for 'A'"),
        ({"A": "AB"}, {}, TypeError, "models: expected Ranks, a Report, flags .* for 'A'"),
        ({"A": [[True]]}, {}, TypeError, "models: expected Ranks, a Report, flags .* for 'A'"),
        ({"A": [[0, 1]]}, {}, ValueError, "pairs: expected a reference, for 'A' is pairs of ids"),
        ({"A": [1, 0]}, {}, ValueError, r"models: 'A': expected shape \(n, 2\), .* got \(2,\)"),
        ({"A": [True]}, {"k": 0}, ValueError, "k: expected at least 1, got 0"),
        ({"A": [True]}, {"k": 1.5}, TypeError, "k: expected an integer, got float"),
        ({"A": [True]}, {"kind": "best"}, ValueError, "kind: expected one of realistic, optim"),
        ({"A": [True]}, {"side": "left"}, ValueError, "side: expected one of left_to_right, right"),
        ({"A": [True]}, {"pairs": [0, 1]}, ValueError, r"pairs: expected shape \(n, 2\)"),
        ({"A": [True]}, {"pairs": [[0.5, 1]]}, TypeError, "pairs: expected integers"),
    ],
)
def test_errors(models: Any, keywords: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}"):
        overlap(models, **keywords)


def test_a_stored_report_has_no_ranks() -> None:
    stored = tr.Report.from_json(tr.report(ranks_of([0])).to_json())
    with pytest.raises(TypeError, match=r"^models: 'A': expected a Report with ranks"):
        overlap({"A": stored})
