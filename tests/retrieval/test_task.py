"""The task of retrieval against its definition: forms of qrels, what is known, ways to evaluate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import truerank as tr
from oracles import retrieval as oracle
from support.example_ranks import query_report as report
from support.examples import examples
from support.outcomes import quietly
from support.refusals import refusal
from truerank.retrieval import Sampled, Task

KEYS = ("map", "ndcg@2", "recall@1", "optimistic.mrr", "pessimistic.success@2", "auc")
ITEMS = ["a", "b", "c", "d", "e"]


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """Draw qrels by query, known pairs, and scores with ties."""
    n = draw(st.integers(1, 3))
    m = draw(st.integers(1, 5))
    grades = st.dictionaries(st.integers(0, m - 1), st.integers(0, 2), max_size=m)
    qrels = draw(st.lists(grades, min_size=n, max_size=n).filter(lambda q: any(map(any_right, q))))
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, m - 1))
    known = draw(st.lists(pair, max_size=4))
    scores = draw(st.lists(st.integers(0, 2), min_size=n * m, max_size=n * m))
    return {"qrels": qrels, "known": known, "scores": np.array(scores, float).reshape(n, m)}


def any_right(grades: dict[int, int]) -> bool:
    return any(gain > 0 for gain in grades.values())


def known_columns(pairs: list[tuple[Any, Any]]) -> Any:
    """Return pairs as columns: lists with repeats could look like rows of labels."""
    return tuple(map(list, zip(*pairs, strict=True))) or {}


def checked_sample(task: Task, place: int, right: set[int], free: set[int], sampled: Any) -> Any:
    """Return the candidates of a query: its right answers, and enough of those that are free."""
    indptr, indices, _ = task.answers.candidates
    drawn = set(indices[indptr[place] : indptr[place + 1]].tolist())
    assert len(drawn) == indptr[place + 1] - indptr[place]
    assert right <= drawn <= right | free
    most = sampled.negatives
    if sampled.per == "answer":
        most *= len(right)
    assert min(sampled.negatives, len(free)) <= len(drawn - right) <= min(most, len(free))
    return drawn


@given(problems(), st.sampled_from(KEYS), st.data())
@examples(100)
def test_filters_and_candidates_by_their_definition(
    problem: dict[str, Any], key: str, data: st.DataObject
) -> None:
    """Entities, those of a split, and drawn ones, which are neither right nor known."""
    qrels = problem["qrels"]
    known = problem["known"]
    scores = problem["scores"]
    n, m = scores.shape
    right = [{j for j, gain in grades.items() if gain} for grades in qrels]
    chosen = sorted(set().union(*right) | data.draw(st.sets(st.integers(0, m - 1))))
    among = data.draw(st.sampled_from([None, "pool"]))
    per = data.draw(st.sampled_from([None, "query", "answer"]))
    options = {"seed": data.draw(st.integers(0, 9)), "among": among, "per": per}
    sampled = Sampled(data.draw(st.integers(1, 3)), **options)
    candidates = data.draw(st.sampled_from([None, chosen, "pool", sampled]))
    given = {"entities": m, "queries": n + 1, "candidates": candidates}
    # "pool" is of a query without a test.
    given["known"] = {"train": known_columns(known), "pool": {n: chosen}}
    task = quietly(Task, dict(enumerate(qrels)), **given)
    is_nan = np.array(data.draw(st.lists(st.booleans(), min_size=n * m, max_size=n * m)))
    if data.draw(st.booleans()):
        scores[is_nan.reshape(n, m)] = np.nan
    table = np.concatenate([scores, np.zeros((1, m))]).astype(np.float32)
    found = task.evaluate_scores(table, nan="worst")
    order, _, metric = key.rpartition(".")
    expected = {}
    for query, grades in enumerate(qrels):
        if not right[query]:
            continue
        pool = set(range(m)) if candidates is None else set(chosen)
        if candidates is sampled:
            free = set(chosen) if among else set(range(m))
            free -= right[query] | {j for other, j in known if other == query}
            pool = checked_sample(task, len(expected), right[query], free, sampled)
        left_in = [j for j in sorted(pool) if j in right[query] or (query, j) not in known]
        gains = [grades.get(j, 0) for j in left_in]
        # wrong candidates with NaN come before right ones with NaN, and these are the last
        last = np.where(np.array(gains) > 0, -2.0, -1.0)
        finite = np.where(np.isnan(scores[query, left_in]), last, scores[query, left_in])
        values = oracle.values_by_order(metric, finite.tolist(), gains)
        expected[query] = values[order or "expected"]
    assert found.queries == list(expected)
    values = pytest.approx(list(expected.values()), rel=1e-12, nan_ok=True)
    assert found.per_query(key).tolist() == values  # auc of a query without pairs is none
    assert found.ranks.unit.codes.tolist() == [i for i, ids in enumerate(right) for _ in ids]
    assert found.without_answers == task.without_answers == n - len(expected)
    assert found.protocol.filter == ("train", "pool")
    assert found.protocol.sampled == (candidates is sampled)
    assert task.leaked == sum((i, j) in known for i, ids in enumerate(right) for j in ids)
    of_batches = task.evaluate(lambda queries: table[queries[:, 0]], batch_size=2, nan="worst")
    assert of_batches.ranks == found.ranks
    if not np.isnan(table).any():
        of_vectors = task.evaluate_embeddings(table, np.eye(m, dtype=np.float32), nan="worst")
        assert of_vectors.ranks == found.ranks


@pytest.mark.python_only
@pytest.mark.parametrize(
    ("known", "split"),
    [
        ({"q": {"a": 1}}, "known_0"),
        ({"q": {"a"}, "r": []}, "known_0"),
        ({"q": {"q": ["b"]}}, "q"),
        ({"train": {}}, "train"),
        ({"train": (["q"], ["a"])}, "train"),
    ],
)
def test_known_splits_are_told_from_one_split(known: Any, split: str) -> None:
    assert Task({"q": ["e"]}, entities=ITEMS, known=known).protocol.filter == (split,)


@pytest.mark.parametrize("grade", [1, 0, -1])
def test_grades_of_known_items_say_nothing(grade: int, tmp_path: Path) -> None:
    """Of Book-Crossing's ratings 62 % are 0: such items were seen like the others."""
    file = tmp_path / "train.txt"
    file.write_text(f"u 0 c {grade}\n")
    for known in ({"u": {"c": grade}}, file):
        task = Task({"u": ["b"]}, entities=ITEMS, known={"train": known})
        assert task.answers.filter[1].tolist() == [2]  # type: ignore[index]
        findings = [finding.message for finding in task.audit]
        assert findings == ["1 of 1 rows have a grade of 0 or less: known, too"] * (grade <= 0)


@pytest.mark.python_only
def test_leaks() -> None:
    options: dict[str, Any] = {"entities": ITEMS, "known": {"train": {"u": ["b", "c"]}}}
    qrels = {"u": {"b": 1, "d": 2}}
    with pytest.warns(UserWarning, match="qrels: 1 of 2 right answers are in a known split, .*'b'"):
        task = Task(qrels, **options)
    assert task.answers.filter[1].tolist() == [2]  # type: ignore[index]
    words = "leaks: 1 of 2 right answers are in a known split, too (the first: 'b' of query 'u'), "
    dropped = Task(qrels, leaks="drop", **options)
    assert [*map(str, task.audit), *map(str, dropped.audit)] == [f"{words}kept", f"{words}dropped"]
    assert (dropped.answers.targets.tolist(), list(dropped.gains)) == ([3], [2])


def test_known_answers_of_other_queries_are_counted() -> None:
    known: dict[str, Any] = {"train": {"u": ["b", "c"], "v": ["b"]}, "more": {"v": ["a"]}}
    for entities in (ITEMS, 9):
        task = Task({"u": ["a"]}, entities=entities, known=known)
        assert tuple(map(str, task.audit)) == (
            "train: 2 of 3 rows have a query of the task",
            "more: 0 of 1 rows have a query of the task",
        )


def test_a_corpus_that_holds_the_queries() -> None:
    for entities, queries in ((["a", "b"], None), (["a", "b"], ["a"]), (9, None)):
        options: dict[str, Any] = {"entities": entities, "queries": queries}
        task = Task({"a": ["b"]}, exclude="self", **options)
        by_hand = Task({"a": ["b"]}, known={"itself": {"a": ["a"]}}, **options)
        assert task.answers.filter[1].tolist() == by_hand.answers.filter[1].tolist()
        assert task.protocol == replace(by_hand.protocol, filter=("self",))
    task = Task({"a": ["b"], "z": ["b"]}, entities=["a", "b"], exclude="self")
    assert tuple(map(str, task.audit)) == ("self: 1 of 2 rows have a query of the task",)
    ints = Task({10: [30]}, entities=[10, 20, 30], queries=[10], exclude="self")
    assert ints.evaluate_scores([[9, 3, 1]])["mrr"] == 0.5
    numbered = Task({0: [1], 2: [0]}, entities=3, queries=3, exclude="self")
    found = numbered.evaluate_scores([[0.9, 0.5, 0.7], [0, 0, 0], [0.5, 0.7, 0.9]])
    assert found.per_query("mrr").tolist() == [0.5, 0.5]
    assert found.candidates.tolist() == [2, 2]


@pytest.mark.parametrize("entities", [3, range(3)])
@pytest.mark.parametrize("queries", [None, 3, range(3), [0, 1, 2]])
def test_labels_that_are_their_positions_are_numbers(entities: Any, queries: Any) -> None:
    qrels = {0: [1, 0], 1: [0], 2: [0]}
    task = Task(qrels, entities=entities, queries=queries, exclude="self")
    numbered = Task(qrels, entities=3, exclude="self")
    assert task.answers.filter[1].tolist() == numbered.answers.filter[1].tolist()
    lists = tr.TopK([[0, 1], [1, 0], [2, 0]], None)
    assert task.evaluate_lists(lists)["mrr"] == 1.0


def test_labels_that_are_other_numbers_are_names() -> None:
    words = "exclude: expected None, or queries and entities that both have names, or are both num"
    for options in ({"entities": 4, "queries": range(1, 4)}, {"entities": [0, 2, 1, 3]}):
        refusal(ValueError, words, Task, {1: [2], 2: [3]}, exclude="self", **options)
    named = Task({1: [2], 2: [3]}, entities=range(4), queries=range(1, 4), exclude="self")
    assert named.answers.filter[1].tolist() == [1, 2]


MATRIX = np.array([[0, 1], [0, 0], [1, 0]])


def test_queries_without_an_answer_are_counted() -> None:
    scores = np.array([[0.0, 1], [0, 1], [1, 0]])
    matrix = sparse.csr_array(MATRIX)
    graded = [0, 1, 2], [1, 0, 0], [1, 0, 1]
    for qrels in (matrix, graded, {0: [1], 1: [], 2: [0]}, {0: {1: 1}, 1: {0: 0}, 2: {0: 1}}):
        task = Task(qrels, entities=2)
        assert task.without_answers == 1
        ranks = task.evaluate_scores(scores).ranks
        assert report(ranks, answerless="zero")["mrr"] == pytest.approx(2 / 3)
    assert Task(np.nonzero(MATRIX), entities=2).without_answers == 0
    assert Task(matrix, entities=["a", "b"], queries=["u", "v", "w"]).without_answers == 1


ONE_OF_THREE: dict[str, Any] = {
    "mapping": {"a": ["x"]},
    "grades": {"a": {"x": 1, "y": 0}},
    "columns": (["a"], ["x"]),
    "frame": pd.DataFrame({"query": ["a"], "document": ["x"]}),
    "file": "query\tdocument\na\tx\n",
    "read": "query\tdocument\na\tx\n",
}


@pytest.mark.parametrize("form", ONE_OF_THREE)
def test_queries_that_have_rows_alone_are_not_of_the_test(form: str, tmp_path: Path) -> None:
    """As in BEIR, whose queries are those of all splits."""
    qrels = ONE_OF_THREE[form]
    if isinstance(qrels, str):
        path = tmp_path / "qrels.tsv"
        path.write_text(qrels)
        qrels = tr.read_qrels(path) if form == "read" else path
    task = Task(qrels, entities=["x", "y"], queries=["a", "b", "c"])
    assert task.without_answers == 0
    words = "queries: 2 of 3 queries are in no judgement: not counted"
    assert [*map(str, task.audit)] == [words]
    found = [task.evaluate_scores(np.eye(3, 2)), task.evaluate_lists({"a": ["x"]})]
    assert [report(each.ranks, answerless="zero")["recall@1"] for each in found] == [1.0, 1.0]
    assert not Task(qrels, entities=["x", "y"], queries=["a"]).audit
    named = {"a": ["x"], "b": [], "c": []}
    more = Task(named, entities=["x", "y"], queries=["a", "b", "c"])
    assert (more.without_answers, len(more.audit)) == (2, 0)


def test_a_matrix_has_positions_and_explicit_zeros() -> None:
    """A zero that is stored is a grade of qrels, and says nothing in known."""
    matrix = sparse.csr_array(MATRIX)
    task = Task(matrix, entities=[7, 0], queries=[9, 0, 1])
    assert task.answers.targets.tolist() == [1, 0]
    assert task.answers.labels["targets"].values.tolist() == [0, 7]
    known = Task({2: [1], 7: [1]}, entities=2, known=matrix)
    assert known.answers.filter[1].tolist() == [0]
    stored = sparse.csr_array((np.array([1, 0, 2.5]), np.array([0, 1, 2]), np.array([0, 3])))
    assert list(Task(stored, entities=3).gains) == [1, 2.5]
    stored.resize(1, 4)
    known = Task({0: [3]}, entities=4, known=stored)
    assert known.answers.filter[1].tolist() == [0, 1, 2]
    assert not known.audit


# Three users and five items: what they chose, and what they had before.
CHOSEN = sparse.csr_array(np.eye(3, 5, 1))
BEFORE = sparse.csr_array(np.eye(3, 5))
OF_USERS = np.array([[5.0, 4, 3, 2, 1], [3, 5, 4, 2, 1], [1, 2, 4, 3, 5]])


def transposed(matrix: Any) -> Any:
    return sparse.csr_array(matrix.T)


@pytest.mark.parametrize("known", ["train", "one"])
@pytest.mark.parametrize("kind", ["csr", "coo", "csc", "lil"])
def test_a_matrix_has_the_rows_and_columns_of_the_task(kind: str, known: str) -> None:
    """The transpose left out other items in silence, and so did what `shape=` was missing from."""

    def evaluate(qrels: Any, before: Any, **options: Any) -> float:
        before = before.asformat(kind)
        splits = {"train": before} if known == "train" else before
        return Task(qrels, known=splits, **{"entities": 5} | options).evaluate_scores(OF_USERS)[
            "mrr"
        ]

    right = tr.report(tr.rank(OF_USERS, [1, 2, 3], filter=BEFORE))["mrr"]
    assert evaluate(CHOSEN, BEFORE) == evaluate({0: [1], 1: [2], 2: [3]}, BEFORE) == right
    columns = "for each of the 5 entities, got 3 columns"
    refusal(ValueError, f"^known.*{columns}", evaluate, CHOSEN, transposed(BEFORE))
    refusal(ValueError, f"^qrels.*{columns}", evaluate, transposed(CHOSEN), BEFORE)
    refusal(ValueError, "each of the 3 queries, got 2 rows", evaluate, CHOSEN, BEFORE[:2])
    refusal(ValueError, "each of the 4 queries", evaluate, CHOSEN, BEFORE, queries=4)
    refusal(ValueError, "each of the 3 entities, got 5", evaluate, CHOSEN, BEFORE, entities=3)
    # No last item was chosen, so that a matrix made of pairs alone is smaller.
    rows, items = CHOSEN.nonzero()
    gains = np.ones(len(rows))
    small = sparse.csr_array((gains, (rows, items)))
    refusal(ValueError, "^qrels: .*got 4 columns$", evaluate, small, BEFORE)
    assert evaluate(sparse.csr_array((gains, (rows, items)), shape=(3, 5)), BEFORE) == right
    # A mapping does not say how many users there are, and of equal numbers nobody can tell.
    more = sparse.vstack([BEFORE, BEFORE[:1]])
    assert evaluate({0: [1], 1: [2], 2: [3]}, more) == right
    square = sparse.csr_array(np.eye(3, k=1))
    Task(square, entities=3, known=transposed(square))


@pytest.mark.python_only
def test_groups() -> None:
    qrels = {"q2": {"b": 1, "d": 3}, "q10": {"a": 2, "e": 0}, "q3": {}}
    for groups in (["x", "y", "x"], {"q2": "x", "q10": "y"}):
        task = Task(qrels, entities=ITEMS, groups=groups, queries=list(qrels))
        found = task.evaluate_scores(np.eye(3, 5))
        assert found.group_tasks() == {"x": 1, "y": 1}
        assert found.without_answers == task.without_answers == 1
        # A mapping may lack the groups of queries without a right answer.
        numbers = [group.without_answers for group in found.groups.values()]
        assert numbers == ([1, 0] if isinstance(groups, list) else [0, 0])


GROUP_OF_QUERY = {"a": "g", "b": "h", "c": "g", "d": "g", "e": "h"}


def grouped(**options: Any) -> Any:
    """Return the report of five queries, of which c and d have no right answer."""
    qrels = {"a": {"x": 1}, "b": {"y": 1}, "c": {"x": 0}, "d": {}, "e": {"x": 1}}
    task = Task(qrels, entities=["x", "y"], **{"groups": GROUP_OF_QUERY} | options)
    return task.evaluate_lists({q: ["x", "y"] for q in "abcde"})


@pytest.mark.python_only
def test_queries_without_an_answer_count_in_their_groups(tmp_path: Path) -> None:
    """Of g one of three is found, of h one of two."""
    ranks = grouped().ranks
    ranks.save(tmp_path / "ranks.npz")
    joined = tr.concatenate([ranks[1:], ranks[:1]])
    for each in (ranks, tr.load(tmp_path / "ranks.npz"), joined):
        found = report(each, answerless="zero", by="group")
        assert found["recall@1"] == 2 / 5
        assert found.group_values("recall@1") == {"g": 1 / 3, "h": 1 / 2}
        assert found["macro.recall@1"] == pytest.approx(5 / 12)
        assert found.group_tasks() == {"g": 3, "h": 2}
        groups = found.groups
        assert [groups[label]["recall@1"] for label in "gh"] == [1 / 3, 1 / 2]
        assert [groups[label].without_answers for label in "gh"] == [2, 0]
        assert groups["g"].interval("recall@1").units == 3
        # The place of the first right answer, and metrics of pairs, leave them out.
        assert found.group_values("mr") == {"g": 1.0, "h": 1.5}
    omitted = report(ranks, by="group")
    assert omitted.group_values("recall@1") == {"g": 1.0, "h": 0.5}
    assert omitted.group_tasks() == {"g": 1, "h": 2}
    both = tr.concatenate({"one": ranks, "two": grouped().ranks})
    found = report(both, answerless="zero", by="group")
    assert found.group_values("recall@1") == {"g": 1 / 3, "h": 1 / 2}
    # The queries of another task, without groups, are given some later.
    mixed = tr.concatenate({"two": grouped(groups=None).ranks.with_labels(group="g"), "one": ranks})
    refusal(ValueError, "by: 4 .* and of 2 no group", report, mixed, answerless="zero", by="group")
    assert report(mixed, by="group").group_tasks() == {"g": 4, "h": 2}


@pytest.mark.python_only
def test_queries_of_no_known_group_are_refused() -> None:
    words = "by: 2 queries without a right answer count as 0, and of {} no group is known"
    without_d = {name: group for name, group in GROUP_OF_QUERY.items() if name != "d"}
    alone = GROUP_OF_QUERY | {"d": "k"}  # No right answer is of this group.
    for found, by, number in (
        (grouped(groups=without_d).ranks, "group", 1),
        (grouped(groups=alone).ranks, "group", 1),
        (grouped().ranks, ["g", "h", "h"], 2),
        (grouped().ranks.with_labels(group=["g", "h", "h"]), "group", 2),
        (grouped(groups=None).ranks.with_labels(group=["g", "h", "h"]), "group", 2),
    ):
        refusal(ValueError, words.format(number), report, found, answerless="zero", by=by)
        report(found, by=by)


@pytest.mark.filterwarnings("ignore:ids. .* of what lists name is known:UserWarning")
@pytest.mark.filterwarnings("ignore:ids. no right answer is in any list:UserWarning")
@pytest.mark.python_only
@given(problems(), st.integers(0, 5), st.data())
@examples(50)
def test_lists_are_the_full_ranking_with_a_tie_at_its_end(
    problem: dict[str, Any], k: int, data: st.DataObject
) -> None:
    """What is not listed has one score, below all that is listed."""
    scores = problem["scores"]
    qrels = problem["qrels"]
    n, m = scores.shape
    k = min(k, m)
    facts = {"entities": m, "queries": n, "known": known_columns(problem["known"])}
    top = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    shown = [data.draw(st.sets(st.integers(0, m - 1), min_size=1)) for _ in range(n)]
    among = {i: sorted({*shown[i], *top[i].tolist(), *qrels[i]}) for i in range(n)}
    candidates: Any = data.draw(st.sampled_from(["all", among]))
    task = quietly(Task, dict(enumerate(qrels)), candidates=candidates, **facts)
    cut = np.full((n, m), -1.0)
    np.put_along_axis(cut, top, np.take_along_axis(scores, top, 1), 1)
    full = task.evaluate_scores(cut)
    listed = np.take_along_axis(scores, top, 1)
    of_mapping: dict[int, dict[int, float]] = {
        i: dict(zip(top[i].tolist(), listed[i].tolist(), strict=True)) for i in range(n)
    }
    if not k and n > 1 and any_right(qrels[1]):
        del of_mapping[0]
    for lists in (tr.TopK(top, listed), of_mapping):
        found = quietly(task.evaluate_lists, lists, misses="bounds")
        assert found.to_dict() == pytest.approx(full.to_dict(), rel=0, abs=0, nan_ok=True)
        assert found.protocol.filter == full.protocol.filter
    bounds, mean, zero = (
        task.evaluate_lists(tr.TopK(top, None), misses=m) for m in ("bounds", "expected", "zero")
    )
    assert bounds.ranks.listed is not None
    assert bounds.ranks.listed.tolist() == found.ranks.listed.tolist()  # type: ignore[union-attr]
    grades = [sorted(grades.values(), reverse=True) for grades in qrels if any_right(grades)]
    best = [oracle.gained(each, m) for each in grades]
    assert zero["ndcg"] == pytest.approx(np.mean(zero.per_query("dcg") / best), rel=1e-12)
    # without a filter, as with a cutoff at the end of the lists
    plain = Task(dict(enumerate(qrels)), entities=m, queries=n)
    zero = plain.evaluate_lists(tr.TopK(top, listed))
    full = plain.evaluate_scores(cut)
    for metric in ("map", "mrr", "dcg"):
        for kind in ("expected.", "optimistic.", "pessimistic."):  # in order alone, nothing ties
            assert mean[kind + metric] == pytest.approx(bounds[metric], rel=1e-12)
            expected = 0
            if k:
                expected = full[f"{kind}{metric}@{k}"]
            assert zero[kind + metric] == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_leaks_of_all_known_splits_count() -> None:
    known = {"train": {"u": ["a"]}, "valid": {"u": ["b", "d"]}}
    task = Task({"u": ["a", "b", "c"]}, entities=list("abcd"), known=known, leaks="drop")
    assert (task.leaked, task.answers.targets.tolist()) == (2, [2])
