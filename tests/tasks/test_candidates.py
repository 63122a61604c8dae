"""Candidates of every kind, by every way to evaluate, against their plain definition."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.outcomes import quietly
from support.refusals import refusal
from truerank import alignment, link_prediction, retrieval
from truerank.link_prediction import Sampled

ENTITIES = 6
RELATIONS = 2
NAMES = tuple(f"entity {i}" for i in range(ENTITIES))
WORDS = tuple(f"relation {i}" for i in range(RELATIONS))
SIDES = {"head": 0, "tail": 2}  # and the column of the answer

Triple = tuple[int, int, int]
Counts = tuple[int, int, int]
Sets = dict[str, dict[int, set[int]]]  # by side and relation

entities = st.integers(0, ENTITIES - 1)
triples = st.tuples(entities, st.integers(0, RELATIONS - 1), entities)
sets = st.sets(entities, min_size=3)


def plain_counts(scores: Any, target: int, among: set[int], without: set[int]) -> Counts:
    """Count what is above the target and tied with it by the definition."""
    everyone = (among - without) | {target}
    above = sum(scores[each] > scores[target] for each in everyone)
    tied = sum(scores[each] == scores[target] for each in everyone)
    return int(above), int(tied), len(everyone)


def plain_list_counts(
    scores: dict[int, float], target: int, among: set[int], without: set[int]
) -> Counts:
    """Count the same where only some are scored, and a target may not be."""
    everyone = (among - without) | {target}
    listed = everyone & set(scores)
    if target not in listed:
        return len(listed), len(everyone) - len(listed), len(everyone)
    above = sum(scores[each] > scores[target] for each in listed)
    tied = sum(scores[each] == scores[target] for each in listed)
    return above, tied, len(everyone)


def counts_of(ranks: tr.Ranks) -> list[Counts]:
    columns = ranks.above.tolist(), ranks.tied.tolist(), ranks.candidates.tolist()
    return list(zip(*columns, strict=True))


class Problem:
    """A task of link prediction, with the candidates and the known answers of each of its tasks."""

    def __init__(self, test: list[Triple], train: list[Triple] | None, candidates: Any) -> None:
        self.test = test
        self.known = None
        if train is not None:
            self.known = {"train": np.array(train).reshape(-1, 3)}
        self.facts = test + (train or [])
        options: Any = {"entities": ENTITIES, "relations": RELATIONS, "candidates": candidates}
        self.task = quietly(link_prediction.Task, np.array(test), self.known, **options)

    def answers_of(self, side: str, triple: Triple, facts: list[Triple]) -> set[int]:
        """Return the answers of facts with the same query."""
        column = SIDES[side]
        query = [value for i, value in enumerate(triple) if i != column]
        return {
            fact[column]
            for fact in facts
            if [value for i, value in enumerate(fact) if i != column] == query
        }

    def without(self, side: str, triple: Triple) -> set[int]:
        """Return what is filtered."""
        if self.known is None:
            return set()
        return self.answers_of(side, triple, self.facts)

    def among(self, side: str, i: int) -> set[int]:
        """Return the candidates of a task, as the side has them."""
        selection = self.task.sides[side].candidates
        if selection is None:
            return set(range(ENTITIES))
        if not isinstance(selection, tuple):
            return set(selection.tolist())
        indptr, indices, lists = selection
        return set(indices[indptr[lists[i]] : indptr[lists[i] + 1]].tolist())


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    test = draw(st.lists(triples, min_size=1, max_size=4))
    train = draw(st.none() | st.lists(triples, max_size=4))
    kind = draw(st.sampled_from(["all", "set", "relation", "side", "sampled", "given"]))
    answers = {triple[column] for triple in test for column in SIDES.values()}

    def by_relation() -> dict[int, set[int]]:
        return {i: draw(sets) | answers for i in range(RELATIONS)}

    candidates: Any = None
    if kind == "set":
        candidates = sorted(draw(sets) | answers)
    elif kind == "relation":
        candidates = by_relation()
    elif kind == "side":
        candidates = {"head": list(draw(sets) | answers), "tail": by_relation()}
    elif kind == "sampled":
        candidates = Sampled(draw(st.integers(1, 3)), seed=draw(st.integers(0, 3)))
    elif kind == "given":
        candidates = {}
        for side, column in SIDES.items():
            lists = [[*draw(sets), triple[column]] for triple in test]
            indptr = np.cumsum([0, *map(len, lists)])
            candidates[side] = indptr, np.array(list(chain.from_iterable(lists)), np.int64)
    return Problem(test, train, candidates)


@given(problems(), st.data())
def test_every_way_counts_by_the_definition(problem: Problem, data: st.DataObject) -> None:
    """Through a matrix, a callable, vectors, and a matrix of NaN but for candidates."""
    numbers = st.integers(-2, 2)
    table = {
        side: np.array(
            data.draw(st.lists(numbers, min_size=ENTITIES**2 * 2, max_size=ENTITIES**2 * 2)),
            np.float32,
        ).reshape(ENTITIES, RELATIONS, ENTITIES)
        for side in SIDES
    }
    task = problem.task
    expected = []
    rows: dict[str, Any] = {}
    scored = {side: np.full((len(problem.test), ENTITIES), np.nan) for side in SIDES}
    for side, column in SIDES.items():
        order = (1, 2) if side == "head" else (0, 1)
        rows[side] = []
        for i, triple in enumerate(problem.test):
            one, other = (triple[j] for j in order)
            entity, relation = (other, one) if side == "head" else (one, other)
            scores = table[side][entity, relation]
            rows[side].append(scores)
            among = problem.among(side, i)
            without = problem.without(side, triple)
            expected.append(plain_counts(scores, triple[column], among, without))
            counted = sorted((among - without) | {triple[column]})
            scored[side][i, counted] = scores[counted]

    def scorer_of(side: str) -> Any:
        def scores_of(queries: Any) -> Any:
            one, other = queries.T
            return table[side][(other, one) if side == "head" else (one, other)]

        return scores_of

    ways = [
        task.evaluate_scores(np.array(rows["tail"]), head=np.array(rows["head"])),
        task.evaluate_scores(**scored),
        task.evaluate(scorer_of("tail"), head=scorer_of("head")),
        task.evaluate_embeddings(
            np.array(rows["tail"]),
            head=np.array(rows["head"]),
            entities=np.eye(ENTITIES, dtype=np.float32),
        ),
    ]
    for found in ways:
        assert counts_of(found.ranks) == expected
    forgotten = data.draw(st.integers(0, len(problem.test) - 1))
    scored["tail"][forgotten, problem.test[forgotten][2]] = np.nan
    refusal(ValueError, "^tail: .*NaN", task.evaluate_scores, **scored)


@given(problems(), st.booleans(), st.data())
def test_lists_count_by_the_definition(
    problem: Problem, has_scores: bool, data: st.DataObject
) -> None:
    expected: list[Counts] = []
    lists: dict[str, Any] = {}
    wrong = False
    for side, column in SIDES.items():
        ids = []
        numbers = []
        for i, triple in enumerate(problem.test):
            listed = data.draw(st.lists(entities, unique=True, max_size=4))
            among = problem.among(side, i)
            without = problem.without(side, triple)
            right = problem.answers_of(side, triple, problem.test)
            wrong |= not set(listed) <= among | without | right
            scores: list[float] = [float(-place) for place in range(len(listed))]
            if has_scores:
                scores = data.draw(
                    st.lists(
                        st.integers(0, 2).map(float), min_size=len(listed), max_size=len(listed)
                    )
                )
            ids.append(listed)
            numbers.append(scores)
            by_id = dict(zip(listed, scores, strict=True))
            expected.append(plain_list_counts(by_id, triple[column], among, without))
        width = max(map(len, ids))
        padded = [each + [-1] * (width - len(each)) for each in ids]
        filled = [each + [0.0] * (width - len(each)) for each in numbers]
        shape = len(ids), width
        lists[side] = tr.TopK(
            np.array(padded, np.int64).reshape(shape),
            np.array(filled).reshape(shape) if has_scores else None,
        )
    if wrong:
        refusal(ValueError, "candidates of the query", problem.task.evaluate_lists, **lists)
        return
    found = problem.task.evaluate_lists(**lists, order="descending").ranks
    assert counts_of(found) == expected


@given(st.lists(triples, min_size=1, max_size=4), st.data())
def test_labels_and_ids_name_the_same_candidates(test: list[Triple], data: st.DataObject) -> None:
    """The same sets have the same name in every form; a right answer must be in its list."""
    by_relation = {i: data.draw(sets) for i in range(RELATIONS) if data.draw(st.booleans())}
    names = [(NAMES[h], WORDS[r], NAMES[t]) for h, r, t in test]
    by_name = {
        WORDS[i]: [NAMES[j] for j in sorted(each, reverse=True)] * 2
        for i, each in reversed(by_relation.items())
    }
    by_side = {"tail": {i: np.array(list(each)) for i, each in by_relation.items()}}
    is_right = all(r in by_relation and t in by_relation[r] for _, r, t in test)
    options: Any = {"entities": NAMES, "relations": WORDS, "sides": ["tail"]}
    if not is_right:
        words = "^candidates: .*(have no list|not among)"
        for candidates in (by_relation, by_name, by_side):
            with pytest.raises(ValueError, match=words):
                quietly(link_prediction.Task, names, {}, candidates=candidates, **options)
        return
    tasks = [
        quietly(link_prediction.Task, names, {}, candidates=candidates, **options)
        for candidates in (by_relation, by_name, by_side)
    ]
    for task in tasks:
        assert task.protocol == tasks[0].protocol
        assert not task.protocol.sampled
        assert "selection of" in task.protocol.candidates
        found = task.tail.candidates
        first = tasks[0].tail.candidates
        assert all(map(np.array_equal, found, first))


NO_LIST = {"relation 0": [0, 1]}
IN_NO_LIST = {0: [0, 1], 1: [0]}
REFUSED: list[tuple[type[Exception], str, Any]] = [
    (ValueError, "^candidates: ", NO_LIST),
    (ValueError, "^candidates: ", {"r": [0, 1]}),
    (
        ValueError,
        "'x' in the list of 1 is none of the 6 entities",
        {0: ["entity 0"], 1: ["entity 1", "x"]},
    ),
    (TypeError, "^candidates: ", {0: [0, 1], 1: "abc"}),
    (ValueError, "first 'entity 2' for 'relation 1' of the relations", IN_NO_LIST),
    (ValueError, "expected those of head, tail, the sides of the task, got tail", {"tail": [0]}),
    (TypeError, "got Sampled for 'head'", {"tail": [0], "head": Sampled(3)}),
    (ValueError, "got 'listed'", "listed"),
]


@pytest.mark.parametrize(("kind", "words", "candidates"), REFUSED)
def test_wrong_candidates(kind: type[Exception], words: str, candidates: Any) -> None:
    test = [(NAMES[0], WORDS[0], NAMES[1]), (NAMES[2], WORDS[1], NAMES[0])]
    options = {"entities": NAMES, "relations": WORDS, "candidates": candidates}
    refusal(kind, words, link_prediction.Task, test, {}, **options)


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

qrels_of_queries = st.dictionaries(
    st.integers(0, 3), st.sets(entities, min_size=1, max_size=3), min_size=1
)


@given(qrels_of_queries, st.data())
def test_lists_of_retrieval(qrels: dict[int, set[int]], data: st.DataObject) -> None:
    """Candidates by query, listed ones, by names and by ids: as a loop counts them."""
    known = {query: data.draw(st.sets(entities)) - right for query, right in qrels.items()}
    among = {query: data.draw(sets) | right for query, right in qrels.items()}
    runs = {}
    for query in qrels:
        allowed = sorted(among[query] | known[query])
        listed = data.draw(st.lists(st.sampled_from(allowed), unique=True))
        runs[query] = {each: data.draw(st.integers(0, 2)) for each in listed}
    splits = {"train": {query: list(each) for query, each in known.items() if each}}
    listed_task: dict[str, Any] = {"known": splits, "entities": ENTITIES, "candidates": "listed"}
    for candidates in (among, "listed"):
        options = {**listed_task, "candidates": candidates}
        task = quietly(retrieval.Task, {q: list(right) for q, right in qrels.items()}, **options)
        ranks = quietly(task.evaluate_lists, runs, order="descending").ranks
        expected = []
        for query in sorted(qrels):
            for target in sorted(qrels[query]):
                everyone = set(runs[query]) | {target}
                if candidates is among:
                    everyone = among[query]
                scores = {k: float(v) for k, v in runs[query].items()}
                expected.append(plain_list_counts(scores, target, everyone, known[query]))
        assert counts_of(ranks) == expected
    named = quietly(
        retrieval.Task,
        {f"q{q}": [NAMES[j] for j in right] for q, right in sorted(qrels.items())},
        entities=NAMES,
        known={"train": {f"q{q}": [NAMES[j] for j in each] for q, each in known.items() if each}},
        candidates={f"q{q}": [NAMES[j] for j in each] for q, each in among.items()},
    )
    runs_by_name = {f"q{q}": {NAMES[j]: s for j, s in run.items()} for q, run in runs.items()}
    by_id = quietly(
        retrieval.Task,
        {q: list(right) for q, right in qrels.items()},
        **listed_task | {"candidates": among},
    )
    found = quietly(named.evaluate_lists, runs_by_name, order="descending").ranks
    of_ids = quietly(by_id.evaluate_lists, runs, order="descending").ranks
    assert counts_of(found) == counts_of(of_ids)


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
