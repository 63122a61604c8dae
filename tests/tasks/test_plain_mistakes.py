"""Mistakes that are plain are said: orders that nobody gave, rows of others, unused known facts.

What looks like a mistake in the order of scores, and is none, is taken: warnings are errors.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.link_prediction import Task

LIKES = [("a", "likes", "c"), ("c", "likes", "a")]
TRAIN = [("a", "likes", "b"), ("a", "knows", "b")]
SCORES = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])


def evaluate(way: str, task: Task) -> tr.Report:
    if way == "scores":
        return task.evaluate_scores(SCORES)
    if way == "vectors":
        return task.evaluate_embeddings(SCORES, entities=np.eye(3))
    return task.evaluate(lambda queries: SCORES[: len(queries)])


def tails(*facts: Any, **options: Any) -> Task:
    return Task(*(facts or (LIKES, {"train": TRAIN})), sides=["tail"], **options)


@pytest.mark.parametrize("way", ["scores", "callables", "vectors"])
def test_an_order_that_nobody_gave_is_said(way: str) -> None:
    given = {"relations": ["likes", "knows"]}
    message = r"^entities: columns .* ascending order of the labels, since no list gives"
    with pytest.warns(UserWarning, match=message) as caught:
        evaluate(way, tails(**given))
    assert [Path(each.filename) for each in caught] == [Path(__file__)]
    read = tails(**given)
    assert read.entities == ("a", "b", "c")  # who reads the order knows it
    evaluate(way, read)
    evaluate(way, tails(**given, entities=["c", "b", "a"]))
    evaluate(way, tails([(0, 0, 2), (2, 0, 0)], {"train": [(0, 1, 1)]}))
    of_relations = Task(LIKES, {"train": TRAIN}, sides=["relation"])
    with pytest.warns(UserWarning, match="^relations: columns are taken in ascending order"):
        of_relations.evaluate_scores(relation=SCORES[:, :2])


def test_ids_in_queries_that_nobody_gave_are_said() -> None:
    """A callable is asked by them: of relations, and of further columns, as of entities."""
    given = {"entities": ["a", "b", "c"]}
    message = r"^relations: ids in queries are in ascending order .*; Task\(..., relations=names\) "
    with pytest.warns(UserWarning, match=message) as caught:
        evaluate("callables", tails(**given))
    assert [Path(each.filename) for each in caught] == [Path(__file__)]
    for part in (tails(**given)[::2], tails(**given)[[1]]):
        with pytest.warns(UserWarning, match=message):
            evaluate("callables", part)
    with pytest.warns(
        UserWarning, match="in ascending order"
    ) as caught:  # Columns are said once, and before.
        evaluate("callables", tails())
    assert [str(each.message).split(" are")[0] for each in caught] == [
        "entities: columns",
        "relations: ids in queries",
    ]
    with pytest.warns(UserWarning, match="^entities: ids in queries are in ascending order"):
        Task(LIKES, {}, relations=["likes"], sides=["relation"]).evaluate(
            relation=lambda queries: np.zeros((len(queries), 1))
        )
    # Rows of scores and of vectors are the task's own, and so is one relation, whatever it is.
    for way in ("scores", "vectors"):
        evaluate(way, tails(**given))
    evaluate("callables", tails(LIKES, {}, **given))
    evaluate("callables", tails(**given, relations=["likes", "knows"]))
    evaluate("callables", tails([(0, 1, 2), (2, 0, 0)], {}))
    # Who reads the queries takes the task's numbers, and may not know whose they are.
    for way in ("callables", "scores", "vectors"):
        read = tails(**given)
        assert len(read.tail.queries)
        with pytest.warns(UserWarning, match=message):
            evaluate(way, read[::2])
        knows = tails(**given)
        assert len(knows.tail.queries) == len(knows.relations or ())
        evaluate(way, knows)


def test_a_model_with_an_order_of_its_own_is_right_by_each_way_out() -> None:
    """The demonstration's, whose relations have names that are not in ascending order."""
    pytest.importorskip("click")
    from truerank.cli.demo import load_model, make_task, query_vectors

    model = load_model()
    number = len(model.relations) // 2
    names = [f"relation {i}" for i in range(number)]  # "relation 10" comes before "relation 2".
    people = [f"person {i:03d}" for i in range(len(model.entities))]

    def named(split: str) -> list[tuple[str, str, str]]:
        return [(people[h], names[r], people[t]) for h, r, t in getattr(model, split).tolist()]

    def scores(entities: Any, relations: Any) -> Any:
        vectors = model.entities[entities] + model.relations[relations]
        return tr.score_embeddings(vectors, model.entities, similarity="l1")

    def renamed(**options: Any) -> Task:
        known = {"train": named("train"), "valid": named("valid")}
        return Task(named("test"), known, entities=people, **options)

    def mrr(task: Task, order: Any = slice(None)) -> float:
        of_ours = np.arange(number)[order]
        return task.evaluate(
            tail=lambda q: scores(q[:, 0], of_ours[q[:, 1]]),
            head=lambda q: scores(q[:, 1], of_ours[q[:, 0]] + number),
        )["mrr"]

    task = make_task(model)
    vectors = query_vectors(model, task)
    right = task.evaluate_embeddings(**vectors, entities=model.entities, similarity="l1")["mrr"]
    assert round(right, 4) == 0.4385
    with pytest.warns(UserWarning, match="^relations: ids in queries are in ascending order"):
        assert mrr(renamed()) < 0.11
    assert mrr(renamed(relations=names)) == right
    task = renamed()
    assert task.relations is not None
    assert mrr(task, [names.index(str(name)) for name in task.relations]) == right


# -- rows of other queries -------------------------------------------------------------------------

# How rows of scores are given: by vectors of a similarity, or in memory or files of a dtype.
FORMS = [("dot", "float64"), ("l1", "float16"), ("l2", "float32"), ("array", "float16")]
FORMS += [("array", "float64"), ("file", "float64"), ("shards", "float16")]


@pytest.mark.parametrize(("form", "dtype"), FORMS)
def test_queries_of_the_wrong_side_or_order_are_said(form: str, dtype: str, tmp_path: Path) -> None:
    """A model that rounds each row otherwise is no reason, which the audit alone counts."""
    rng = np.random.default_rng(0)
    test = np.unique(rng.integers(0, (20, 3, 20), (300, 3)), axis=0)
    task = Task(test, {}, entities=20)
    entities, relations = rng.normal(size=(20, 8)), rng.normal(size=(3, 8))
    by_head, by_tail = (entities[test[:, j]] * relations[test[:, 1]] for j in (0, 2))
    by_vectors = form in ("dot", "l1", "l2")

    def made(side: str, rows: Any) -> Any:
        if not by_vectors:
            rows = rows @ entities.T
        rows = rows * (1 + np.finfo(dtype).eps * 4 * rng.normal(size=rows.shape))
        if by_vectors or form == "array":
            return rows.astype(dtype)
        parts = np.array_split(rows.astype(dtype), 1 if form == "file" else 3)
        paths = [tmp_path / f"{side}-{i}.npy" for i in range(len(parts))]
        for path, part in zip(paths, parts, strict=True):
            np.save(path, part)
        return paths

    def warned_sides(tail: Any, head: Any, audit: bool = False) -> list[str]:
        rows = {"tail": made("tail", tail), "head": made("head", head)}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if by_vectors:
                vectors = rows | {"entities": entities.astype(dtype)}
                report = task.evaluate_embeddings(**vectors, similarity=form, audit=audit)
                assert not audit or [each.name for each in report.audit("queries")] == ["queries"]
            else:
                task.evaluate_scores(**rows, audit=audit)
        assert {Path(each.filename) for each in caught} <= {Path(__file__)}
        words = [str(each.message).partition(": in ") for each in caught]
        number = " " if by_vectors else " of 100 "
        assert all(f"{number}rows that were compared a query has" in text for _, _, text in words)
        return [side for side, _, _ in words]

    assert warned_sides(by_head, by_tail, audit=True) == []
    assert warned_sides(by_tail, by_head) == ["head", "tail"]
    assert warned_sides(by_head, by_tail[rng.permutation(len(test))]) == ["head"]


# -- known facts that filter nothing ---------------------------------------------------------------

N = 20
TEST = [(i, 0, 7 * i % N) for i in range(16)]
TIMED = [(*row, 1) for row in TEST]
OTHERS = [(100 + i, 100 + i) for i in range(100)]
MISSPELT = {f"Q{i}": [f"d{i}"] for i in range(100)}


def known_triples(relation: int, *more: Any) -> Any:
    return [(i, relation, (7 * i + j) % N, *more) for i in range(16) for j in range(1, 8)]


def link_task(known: Any, test: Any = TEST, **options: Any) -> Any:
    return Task(test, known, entities=300, relations=2, sides=["tail"], **options)


def timed_task(known: Any, filter: str = "query") -> Any:
    return link_task(known, TIMED, keys=[3], filter=filter)


def pair_task(known: Any, **options: Any) -> Any:
    pairs = [(i, i) for i in range(16)]
    return tr.alignment.Task(pairs, left=300, right=300, known=known, **options)


def query_task(known: Any) -> Any:
    qrels = {f"q{i}": [f"d{i}"] for i in range(16)}
    return tr.retrieval.Task(qrels, entities=300, known=known)


# Whether the split is said to filter nothing: one fact of many that meets is enough, few may well
# have none, and what has the candidates is used.
SPLITS: list[tuple[Any, dict[str, Any], dict[str, Any], bool]] = [
    (link_task, {"valid": known_triples(0)[:20], "train": known_triples(1)}, {}, True),
    (timed_task, {"train": known_triples(1, 0)}, {"filter": "triple"}, True),
    (timed_task, {"train": known_triples(0, 0)}, {}, True),
    (pair_task, {"train": OTHERS}, {"candidates": "test"}, False),
    (query_task, {"train": MISSPELT}, {}, True),
    (link_task, {"train": [*known_triples(1), (15, 0, 3)]}, {}, False),
    (link_task, {"graph": known_triples(1)}, {"candidates": "graph"}, False),
    (link_task, {"train": known_triples(1)}, {"filter": "none"}, False),
    (timed_task, {"train": known_triples(0, 0)}, {"filter": "triple"}, False),
    (pair_task, {"train": [*OTHERS, (3, 250)]}, {}, False),
    (pair_task, {"train": OTHERS[:99]}, {}, False),
    (pair_task, {"train": OTHERS}, {"candidates": "unaligned"}, False),
    (query_task, {"train": MISSPELT | {"q3": ["d7"]}}, {}, False),
]


@pytest.mark.parametrize(("make", "known", "options", "is_stranger"), SPLITS)
def test_a_split_that_filters_nothing_is_said(
    make: Any, known: Any, options: Any, is_stranger: bool
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make(known, **options)
    words = "train: it has no fact with a query of the test, and filters nothing"
    assert [words in str(each.message) for each in caught] == [True] * is_stranger
    if is_stranger:
        known = {name: split for name, split in known.items() if name != "train"}
        make(known, **options)  # Warnings are errors.


def test_without_known_facts_that_filter_nothing_the_test_still_filters() -> None:
    """As in every set for forecasts, whose train has other times."""
    test = [(i, 0, j, 24) for i in range(8) for j in (i, i + 8)]
    train = [(i, 0, (i + j) % 20, 0) for i in range(8) for j in range(14)]
    scores = np.eye(8, 20) * 2 + np.eye(8, 20, 8)

    def evaluate(known: Any, **options: Any) -> tr.Report:
        task = Task(test, known, entities=20, relations=1, sides=["tail"], keys=[3], **options)
        return task.evaluate_scores(scores[task.test[:, 0]])

    with pytest.warns(UserWarning, match="^train: it has no fact with a query of the test"):
        assert evaluate({"train": train})["mrr"] == 1
    assert evaluate(None).ranks == evaluate({}).ranks
    assert (evaluate(None)["mrr"], evaluate(None, filter="none")["mrr"]) == (1, 0.75)


# -- orders that are no mistake -------------------------------------------------------------------

LAST = {q: {q: 0.1, 7: 0.5, 8: 0.9} for q in range(4)}  # Scores that rise: distances, best first.
PLACES = {q: {7: 3, 8: 2, q: 1} if q % 2 else {7: 2, 8: 3, q: 1} for q in range(4)}
TOP = tr.TopK([[7, 8, q] for q in range(4)], [[0.1, 0.5, 0.9]] * 4)

# Lists of queries whose right answer has their number; how they are read; and the mrr.
LISTS: dict[str, tuple[Any, dict[str, str], float]] = {
    "a TopK whose best is last": (TOP, {"order": "descending"}, 1.0),
    "lists of two": ({q: {7: 0.1, q: 0.5} for q in range(4)}, {}, 1.0),
    "three lists": ({q: LAST[q] for q in range(3)}, {}, 0.3333),
    "one of many lists falls": (LAST | {3: {3: 0.9, 7: 0.5, 8: 0.1}}, {}, 0.5),
    "all scores are equal": ({q: {q: 1.0, 7: 1.0, 8: 1.0} for q in range(4)}, {}, 0.6111),
    "points of lists, best first": ({q: {q: 3, 7: 2, 8: 1} for q in range(4)}, {}, 1.0),
    "places of two entries": ({q: {7: 1, q: 2} for q in range(4)}, {}, 1.0),
    "places of three lists": ({q: PLACES[q] for q in range(3)}, {}, 0.3333),
    "one of many lists has no places": (PLACES | {3: {7: 2, 8: 4, 3: 3}}, {}, 0.375),
    "half a place": ({q: {7: 2.5, 8: 1, q: 3} for q in range(4)}, {}, 1.0),
    "JSON's keys beside str": ({"1": ["1"]}, {}, 1.0),
}


@pytest.mark.parametrize("name", LISTS)
def test_orders_of_lists(name: str) -> None:
    lists, options, mrr = LISTS[name]
    right = {q: [q] for q in (lists if isinstance(lists, dict) else range(4))}
    task = tr.retrieval.Task(right, entities=9)
    assert round(task.evaluate_lists(lists, **options)["mrr"], 4) == mrr


RNG = np.random.default_rng(0)
TRUE = np.arange(40)
MODEL = RNG.normal(size=(40, 60))
MODEL[TRUE, TRUE] += 9  # Perfect.
RANKS = np.argsort(np.argsort(-MODEL, 1), 1)
MASKED = np.where(RNG.random(MODEL.shape) < 0.15, MODEL, -np.inf)  # a user's own negatives
MASKED[TRUE, TRUE] = MODEL[TRUE, TRUE]
MATRICES: dict[str, tuple[Any, dict[str, str]]] = {
    "ranks": (RANKS, {"order": "ascending"}),
    "Borda's points": (60 - RANKS, {"order": "descending"}),
    "integers that repeat": ((9 * MODEL).astype(int), {}),
    "ranks as floats": (60.0 - RANKS, {"order": "descending"}),
    "ranks that tie": (60 - np.minimum(RANKS, 58.0), {}),
    "few columns": ([[2, 0, 1], [0, 2, 1]], {}),
    "one's own negatives": (MASKED, {}),
}


@pytest.mark.parametrize("name", MATRICES)
def test_orders_of_matrices(name: str) -> None:
    scores, options = MATRICES[name]
    report = tr.evaluate(scores, TRUE[: len(scores)], **options)
    assert report["mrr"] == 1
    assert not report.audit("worse than chance")
    test = [(i, 0, i) for i in range(len(scores))]
    task = Task(test, {}, entities=len(scores[0]), sides=["tail"], candidates="all")
    assert task.evaluate_scores(np.asarray(scores), **options)["mrr"] == 1


def test_borda_in_shards(tmp_path: Path) -> None:
    for number, shard in enumerate(np.split(60 - RANKS, 3, axis=1)):
        np.save(tmp_path / f"points-{number}.npy", shard)
    with tr.open_scores(tmp_path / "points-*.npy", axis=1) as store:
        assert tr.evaluate(store, TRUE, order="descending")["mrr"] == 1
