"""Candidates of every kind by their names, what refuses them, and those of retrieval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles.link_prediction import rank
from strategies.triples import lists_of
from support.outcomes import quietly
from support.refusals import refusal
from truerank import alignment, link_prediction, retrieval
from truerank.link_prediction import Sampled

ENTITIES = 6
NAMES = tuple(f"entity {i}" for i in range(ENTITIES))
WORDS = ("relation 0", "relation 1")
TEST = [(NAMES[0], WORDS[0], NAMES[1]), (NAMES[2], WORDS[1], NAMES[0])]
LABELLED: dict[str, Any] = {"entities": NAMES, "relations": WORDS}


def test_labels_and_ids_name_the_same_candidates() -> None:
    """The same sets have the same name in every form."""
    by_name = {WORDS[1]: [NAMES[3], NAMES[0]] * 2, WORDS[0]: [NAMES[1], NAMES[0]]}
    by_id = {0: {0, 1}, 1: {0, 3}}
    by_side = {"tail": {i: np.array(sorted(each)) for i, each in by_id.items()}}
    tasks = [
        link_prediction.Task(TEST, {}, candidates=candidates, sides=["tail"], **LABELLED)
        for candidates in (by_name, by_id, by_side)
    ]
    for task in tasks:
        assert task.protocol == tasks[0].protocol
        assert not task.protocol.sampled
        assert "selection of" in task.protocol.candidates
        assert list(map(list, task.tail.candidates)) == [[0, 2, 4], [0, 1, 0, 3], [0, 1]]


REFUSED: list[tuple[type[Exception], Any]] = [
    (ValueError, {WORDS[0]: [0, 1]}),
    (ValueError, {"r": [0, 1]}),
    (ValueError, {0: [NAMES[0]], 1: [NAMES[1], "x"]}),
    (TypeError, {0: [0, 1], 1: "abc"}),
    (ValueError, {0: [0, 1], 1: [0]}),
    (ValueError, {"tail": [0]}),
    (TypeError, {"tail": [0], "head": Sampled(3)}),
    (ValueError, "listed"),
]


@pytest.mark.parametrize(("kind", "candidates"), REFUSED)
def test_wrong_candidates(kind: type[Exception], candidates: Any) -> None:
    refusal(
        kind, "^candidates: ", link_prediction.Task, TEST, {}, candidates=candidates, **LABELLED
    )


def test_sides_and_relations_of_one_name() -> None:
    options: Any = {"entities": 2, "relations": ["head", "tail"], "sides": ["tail"]}
    test = [(0, "tail", 1)]
    words = "'tail' may be sides or relations"
    refusal(ValueError, words, link_prediction.Task, test, {}, candidates={"tail": [1]}, **options)
    task = link_prediction.Task(test, {}, candidates={"tail": {"tail": [1]}}, **options)
    assert task.tail.candidates.tolist() == [1]


@pytest.mark.parametrize("word", ["all", "listed"])
def test_no_split_has_the_name_of_candidates(word: str) -> None:
    for kind, options in (
        (link_prediction.Task, {"test": [(0, 0, 1)], "known": {word: [(0, 0, 0)]}}),
        (retrieval.Task, {"qrels": {0: [1]}, "entities": 3, "known": {word: {0: [2]}}}),
        (retrieval.Task, {"qrels": {0: [1]}, "entities": 3, "split": word}),
        (alignment.Task, {"pairs": [(0, 0)], "left": 2, "right": 2, "known": {word: [(1, 1)]}}),
    ):
        refusal(ValueError, f"another name of a split.* got '{word}'", kind, **options)


# -- retrieval -------------------------------------------------------------------------------------

entities = st.integers(0, ENTITIES - 1)
qrels_of_queries = st.dictionaries(
    st.integers(0, 3), st.sets(entities, min_size=1, max_size=3), min_size=1
)


def by_name(sets: dict[int, Any]) -> dict[str, Any]:
    """Return what queries have, by names of both."""
    named: dict[str, Any] = {}
    for query, ids in sets.items():
        named[f"q{query}"] = [NAMES[i] for i in ids]
        if isinstance(ids, dict):
            named[f"q{query}"] = {NAMES[i]: score for i, score in ids.items()}
    return named


@given(qrels_of_queries, st.data())
def test_lists_of_retrieval(qrels: dict[int, set[int]], data: st.DataObject) -> None:
    """Candidates by query, or what is listed; by ids and by names: as a loop counts them."""
    sets = st.sets(entities, min_size=3)
    known = {query: data.draw(st.sets(entities)) - right for query, right in qrels.items()}
    among = {query: data.draw(sets) | right for query, right in qrels.items()}
    runs = {}
    for query in qrels:
        allowed = sorted(among[query] | known[query])
        listed = data.draw(st.lists(st.sampled_from(allowed), unique=True))
        runs[query] = {each: data.draw(st.integers(0, 2)) for each in listed}
    train = {query: list(each) for query, each in known.items() if each}
    of_ids = {query: list(right) for query, right in sorted(qrels.items())}
    of_every_form: list[Any] = [(among, among, ENTITIES), (among, by_name(among), NAMES)]
    of_every_form.append((runs, "listed", ENTITIES))
    for pools, candidates, order in of_every_form:
        named: Any = by_name if order is NAMES else dict
        splits = {"train": named(train)}
        options = {"entities": order, "known": splits, "candidates": candidates}
        task = quietly(retrieval.Task, named(of_ids), **options)
        ranks = quietly(task.evaluate_lists, named(runs), order="descending").ranks
        expected = []
        for query in sorted(qrels):
            row = [runs[query].get(i, -np.inf) for i in range(ENTITIES)]
            for target in sorted(qrels[query]):
                expected.append(rank(row, target, set(pools[query]), known[query]))
        assert np.stack([ranks.above, ranks.tied, ranks.candidates], axis=1).tolist() == expected


def test_listed_candidates_and_what_they_miss() -> None:
    run = {"u": {1: 0.9, 2: 0.8, 3: 0.7, 5: 0.1}}
    keys = ("auc", "chance.mrr", "index.mrr")
    for candidates in ({"u": [1, 2, 3, 5]}, "listed"):
        report = retrieval.Task({"u": [5]}, entities=1000, candidates=candidates).evaluate_lists(
            run
        )
        mean = np.mean([1, 1 / 2, 1 / 3, 1 / 4])
        assert [report[key] for key in keys] == pytest.approx([0, mean, (0.25 - mean) / (1 - mean)])
        assert len(report.audit()) == 0
    missed = retrieval.Task({"u": [7, 8, 1]}, entities=1000, candidates="listed")
    report = missed.evaluate_lists(run)
    assert report.candidates.tolist() == [6]  # the list, and what it misses
    assert (report["recall@10"], report["map"]) == pytest.approx((1 / 3, 1 / 3))
    alone = retrieval.Task({"u": [7]}, entities=1000, candidates="listed").evaluate_lists(run)
    assert (alone["success@10"], alone["mrr"], alone["auc"]) == (0, 0, 0)
    words = "^ranks: .* 1 that their lists miss"
    refusal(ValueError, words, tr.report, alone.ranks, unit="task")
    assert tr.report(alone.ranks) == alone
    refusal(ValueError, "^a: .* 1 that their lists miss", tr.compare, alone.ranks, alone.ranks)
    for misses in ("bounds", "expected"):
        refusal(ValueError, "^misses: expected .zero.", missed.evaluate_lists, run, misses=misses)
        other = report.ranks.with_protocol(misses=misses)
        refusal(ValueError, "^misses: ", tr.report, other)
    scores = np.zeros((1, 1000))
    for evaluate, arguments in (
        (missed.evaluate_scores, [scores]),
        (missed.evaluate_embeddings, [scores, scores]),
        (missed.evaluate, [lambda queries: scores]),
    ):
        refusal(ValueError, "only lists can be evaluated", evaluate, *arguments)


@given(qrels_of_queries, st.integers(1, 2), st.integers(0, 3))
def test_samples_of_answers(qrels: dict[int, set[int]], negatives: int, seed: int) -> None:
    """A query has all its right answers, and for each of them as many negatives, perhaps alike."""
    rows = {query: list(right) for query, right in qrels.items()}
    tasks = {
        per: retrieval.Task(rows, entities=40, candidates=Sampled(negatives, seed=seed, per=per))
        for per in ("answer", "query", None)
    }
    assert tasks["answer"].protocol.candidates == f"uniform-{negatives} per answer seed {seed}"
    assert tasks["query"].protocol == tasks[None].protocol
    for per, task in tasks.items():
        indptr, indices, lists = task.answers.candidates
        for i, (row, target) in enumerate(
            zip(task.answers.rows, task.answers.targets, strict=True)
        ):
            right = qrels[int(task.answers.queries[row, 0])]
            drawn = set(indices[indptr[lists[i]] : indptr[lists[i] + 1]].tolist())
            assert int(target) in right <= drawn
            most = negatives
            if per == "answer":
                most *= len(right)
            assert negatives <= len(drawn - right) <= most


def test_samples_of_answers_are_all_used() -> None:
    """Of many entities, draws of two answers are nearly always unlike."""
    task = retrieval.Task({0: [1, 2, 3]}, entities=10**6, candidates=Sampled(100, per="answer"))
    assert len(task.answers.candidates[1]) == 303
    task = retrieval.Task({0: [1, 2], 1: [3]}, entities=9, candidates=Sampled(20))
    assert lists_of(task.answers.candidates)[0] == list(range(9))
    in_link_prediction = link_prediction.Task(
        [(0, 0, 1)], {}, entities=9, candidates=Sampled(3, per="answer")
    )
    plain = link_prediction.Task([(0, 0, 1)], {}, entities=9, candidates=Sampled(3))
    assert in_link_prediction.protocol == plain.protocol
    words = "candidates: expected per"
    refusal(
        ValueError, words, retrieval.Task, {0: [1]}, entities=9, candidates=Sampled(3, per="user")
    )
    for_query = Sampled(3, per="query")
    refusal(ValueError, "candidates: ", link_prediction.Task, [(0, 0, 1)], candidates=for_query)
