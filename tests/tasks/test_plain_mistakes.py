"""Mistakes that are plain are said: orders that nobody gave, rows of others, unused known facts."""

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


@pytest.mark.parametrize("way", ["scores", "callables", "vectors"])
def test_an_order_that_nobody_gave_is_said(way: str) -> None:
    read = Task(LIKES, {"train": TRAIN}, sides=["tail"])
    message = r"^entities: columns .* ascending order of the labels, since no list gives"
    with pytest.warns(UserWarning, match=message) as caught:
        evaluate(way, read)
    assert [Path(each.filename) for each in caught] == [Path(__file__)]
    read = Task(LIKES, {"train": TRAIN}, sides=["tail"])
    assert read.entities == ("a", "b", "c")  # who reads the order knows it
    evaluate(way, read)
    evaluate(way, Task(LIKES, {"train": TRAIN}, sides=["tail"], entities=["c", "b", "a"]))
    evaluate(way, Task([(0, 0, 2), (2, 0, 0)], {"train": [(0, 0, 1)]}, sides=["tail"]))
    of_relations = Task(LIKES, {"train": TRAIN}, sides=["relation"])
    with pytest.warns(UserWarning, match="^relations: columns are taken in ascending order"):
        of_relations.evaluate_scores(relation=SCORES[:, :2])


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
        number = f"{len(test)} rows" if by_vectors else "100 rows that were compared"
        assert all(f" of {number} a query has" in text for _, _, text in words)
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


def timed_task(known: Any, filter: Any = None) -> Any:
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
    (pair_task, {"train": OTHERS}, {"candidates": "test"}, True),
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
    words = "no fact of train has a query of the test: nothing is filtered by it; leave it out of "
    assert [words in str(each.message) for each in caught] == [True] * is_stranger
    if is_stranger:
        known = {name: split for name, split in known.items() if name != "train"}
        make(known, **options)  # This is the way out, and warnings are errors.
