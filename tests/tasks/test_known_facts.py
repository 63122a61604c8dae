"""Known facts that have no query of the test filter nothing, which is said where they are many."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import truerank as tr

N = 20
TEST = [(i, 0, 7 * i % N) for i in range(16)]
PAIRS = [(i, i) for i in range(16)]
OTHERS = [(100 + i, 100 + i) for i in range(100)]


def known_triples(relation: int, *more: Any) -> Any:
    return [(i, relation, (7 * i + j) % N, *more) for i in range(16) for j in range(1, 8)]


def link_task(known: Any, test: Any = TEST, **options: Any) -> Any:
    return tr.link_prediction.Task(
        test, known, entities=300, relations=2, sides=["tail"], **options
    )


def pair_task(known: Any, **options: Any) -> Any:
    return tr.alignment.Task(PAIRS, left=300, right=300, known=known, **options)


def query_task(known: Any, **options: Any) -> Any:
    qrels = {f"q{i}": [f"d{i}"] for i in range(16)}
    return tr.retrieval.Task(qrels, entities=300, known=known, **options)


MISSPELT = {f"Q{i}": [f"d{i}"] for i in range(100)}
TIMED = [(*row, 1) for row in TEST]
STRANGERS = [
    (link_task, {"train": known_triples(1)}, {}),
    (link_task, {"valid": known_triples(0)[:20], "train": known_triples(1)}, {}),
    (link_task, {"train": known_triples(1, 0)}, {"test": TIMED, "keys": [3], "filter": "triple"}),
    (link_task, {"train": known_triples(0, 0)}, {"test": TIMED, "keys": [3]}),
    (pair_task, {"train": OTHERS}, {}),
    (pair_task, {"train": OTHERS}, {"candidates": "test"}),
    (query_task, {"train": MISSPELT}, {}),
]


# One of many is enough, few may well have none, and what has the candidates is used.
MEETING = [
    (link_task, {"train": [*known_triples(1), (15, 0, 3)]}, {}),
    (link_task, {"graph": known_triples(1)}, {"candidates": "graph"}),
    (link_task, {"train": known_triples(0, 0)}, {"test": TIMED, "keys": [3], "filter": "triple"}),
    (pair_task, {"train": [*OTHERS, (3, 250)]}, {}),
    (pair_task, {"train": OTHERS[:99]}, {}),
    (query_task, {"train": MISSPELT | {"q3": ["d7"]}}, {}),
    (query_task, {"train": {"Q1": ["d1"]}}, {}),
]


@pytest.mark.parametrize(("make", "known", "options"), STRANGERS + MEETING)
def test_a_split_that_filters_nothing_is_said(make: Any, known: Any, options: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make(known, **options)
    words = "no fact of train has a query of the test: nothing is filtered by it; leave it out of "
    is_stranger = (make, known, options) in STRANGERS
    assert [words in str(each.message) for each in caught] == [True] * is_stranger
    if is_stranger:
        known = {name: split for name, split in known.items() if name != "train"}
        make(known, **options)  # This is the way out, and warnings are errors.
