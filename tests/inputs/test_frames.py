"""Frames and Series as values: their names are compared with what they stand for, at every door."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal, refused
from truerank.inputs.array_likes import Axis, by_position

pandas = pytest.importorskip("pandas", reason="frames of pandas")

NAMES = ["Paris", "Rome", "Oslo", "Bern", "Lima"]
SCORES = np.array([[0.1, 0.9, 0.5, 0.5, 0.2], [0.7, 0.2, 0.2, 0.3, 0.9], [0.4, 0.1, 0.8, 0.6, 0.4]])
IDS = [2, 1, 0]
FILTER = [[1], [], [3, 2, 3]]
SIZE = 4
# Labels that are all positions, too, so that only a name tells them apart.
QUERIES = (7, 5, 8, 6)
ENTITIES = (2, 0, 3, 1)
MATRIX = np.array([[1.0, 7, 3, 5], [2, 2, 9, 4], [6, 1, 0, 8], [3, 5, 4, 2]])


class Door(NamedTuple):
    """A call that takes values, the right ones, and what the names of one of their axes are."""

    call: Callable[[Any], Any]
    values: np.ndarray[Any, Any] = MATRIX
    axis: int = 0
    labels: Any = None

    def named(self, labels: Any, order: Any = slice(None)) -> Any:
        """Return the values as a frame or a Series, whose rows or columns have names."""
        if self.values.ndim == 1:
            return pandas.Series(self.values, labels).iloc[order]
        if self.axis:
            return pandas.DataFrame(self.values, columns=labels).iloc[:, order]
        return pandas.DataFrame(self.values, labels).iloc[order]


def ranks_of(method: Callable[..., Any], **others: Any) -> Callable[[Any], tr.Ranks]:
    (free,) = (name for name, value in others.items() if value is ...)
    return lambda value: method(**others | {free: value}).ranks


VECTORS = MATRIX[:, :3]
OTHERS = MATRIX[::-1, :3].copy()


def doors_of_retrieval() -> Iterator[tuple[str, Door]]:
    qrels = {query: [entity] for query, entity in zip(QUERIES, ENTITIES, strict=True)}

    def search(groups: Any = None) -> tr.retrieval.Task:
        return tr.retrieval.Task(qrels, entities=ENTITIES, queries=QUERIES, groups=groups)

    def grouped(value: Any) -> Any:
        return search(value).evaluate_scores(MATRIX).group_values("mrr")

    task = search()
    of_query: Any = {"labels": QUERIES}
    of_entity: Any = {"labels": ENTITIES}
    scored = ranks_of(task.evaluate_scores, scores=...)
    yield "rows of scores", Door(scored, **of_query)
    yield "columns of scores", Door(scored, axis=1, **of_entity)
    embeddings = task.evaluate_embeddings
    yield "queries", Door(ranks_of(embeddings, queries=..., entities=OTHERS), VECTORS, **of_query)
    yield "entities", Door(ranks_of(embeddings, queries=OTHERS, entities=...), VECTORS, **of_entity)
    biased = ranks_of(embeddings, queries=OTHERS, entities=VECTORS, bias=...)
    yield "a bias", Door(biased, MATRIX[0], **of_entity)
    yield "groups", Door(grouped, np.array(["x", "y", "x", "z"], object), **of_query)
    part = task[[2, 0]]
    of_part: Any = {"labels": (QUERIES[2], QUERIES[0])}
    yield "rows of a part", Door(ranks_of(part.evaluate_scores, scores=...), MATRIX[:2], **of_part)


def doors_of_facts() -> Iterator[tuple[str, Door]]:
    triples = [(ENTITIES[0], 0, ENTITIES[2]), (ENTITIES[1], 0, ENTITIES[3])]
    task = tr.link_prediction.Task(triples, {}, entities=ENTITIES, relations=1, sides=["tail"])
    of_entity: Any = {"labels": ENTITIES}
    scored = ranks_of(task.evaluate_scores, tail=...)
    yield "columns of tails", Door(scored, MATRIX[:2], axis=1, **of_entity)
    yield "rows of tails", Door(scored, MATRIX[:2], labels=(0, 1))
    vectors = ranks_of(task.evaluate_embeddings, tail=OTHERS[:2], entities=...)
    yield "entities of facts", Door(vectors, VECTORS, **of_entity)


def doors_of_graphs() -> Iterator[tuple[str, Door]]:
    pairs = list(zip(QUERIES, ENTITIES, strict=True))
    task = tr.alignment.Task(pairs, left=QUERIES, right=ENTITIES)
    of_left: Any = {"labels": QUERIES}
    of_right: Any = {"labels": ENTITIES}
    scored = ranks_of(task.evaluate_scores, scores=...)
    yield "left rows", Door(scored, **of_left)
    yield "right columns", Door(scored, axis=1, **of_right)
    embeddings = task.evaluate_embeddings
    yield "left vectors", Door(ranks_of(embeddings, left=..., right=OTHERS), VECTORS, **of_left)
    yield "right vectors", Door(ranks_of(embeddings, left=OTHERS, right=...), VECTORS, **of_right)


COUNTS: dict[str, Any] = {"above": [0, 3, 1, 0], "tied": [1, 1, 1, 1], "candidates": 9}
RANKS = tr.Ranks(**COUNTS)
TARGETS = np.array([3, 0, 2, 1])
MASK = np.array([True, False, True, True])
WORDS = np.array(["u", "v", "w", "u"], object)
SHARES = np.array([0.5, 2.0, 0.25, 1.0])
LISTS = np.empty(SIZE, object)
LISTS[:] = [[1], [2, 3], [], [0]]
PLACES = np.array([[1, 0], [2, 3], [2, 1], [3, 0]])
# What is only numbered: tasks, candidates, and dimensions of vectors. Rules ask the other doors.
NUMBERED: dict[str, Door] = {
    "scores": Door(lambda x: tr.rank(x, TARGETS)),
    "columns": Door(lambda x: tr.rank(x, TARGETS), axis=1),
    "one row of scores": Door(lambda x: tr.rank(x, TARGETS), MATRIX[0]),
    "columns of a mask": Door(lambda x: tr.rank(MATRIX, TARGETS, filter=x), MATRIX > 4, axis=1),
    "lists": Door(lambda x: tr.rank(MATRIX, TARGETS, filter=x), LISTS),
    "ids of lists": Door(lambda x: tr.rank_lists(x, None, TARGETS, candidates=SIZE), PLACES),
    "dimensions": Door(lambda x: tr.rank_embeddings(x, MATRIX, TARGETS), MATRIX.T.copy(), axis=1),
    "weights of a report": Door(lambda x: tr.report(RANKS, weights=x)["mr"], SHARES),
    "tasks by a mask": Door(RANKS.__getitem__, MASK),
    "cells": Door(lambda x: tr.Table({"model": WORDS, "mrr": x}).to_csv(), SHARES),
}
DOORS = {name: door._replace(labels=range(SIZE)) for name, door in NUMBERED.items()}
DOORS |= {**dict(doors_of_retrieval()), **dict(doors_of_facts()), **dict(doors_of_graphs())}


@pytest.mark.python_only
@pytest.mark.parametrize("name", DOORS)
def test_every_order_of_names_but_the_right_one_is_refused(name: str) -> None:
    door = DOORS[name]
    right = door.call(door.values)
    places = list(range(door.values.shape[door.axis]))
    for order in map(list, permutations(places)):
        value = door.named(list(door.labels), order)
        if order == places:
            assert door.call(value) == right
            continue
        refusal(tr.InputValueError, "belongs; arrays have no names", door.call, value)


@pytest.mark.python_only
@pytest.mark.parametrize("name", DOORS)
def test_numbers_are_no_names_and_others_are_refused(name: str) -> None:
    door = DOORS[name]
    right = door.call(door.values)
    size = door.values.shape[door.axis]
    unnamed = door.named(None)
    assert door.call(unnamed) == right
    assert door.call(unnamed.to_numpy()) == right
    days = pandas.date_range("2020-01-01", periods=size)
    for labels in (
        list("wxyz")[:size],
        [None] * size,
        [False, True, 2, 3][:size],
        days,
        pandas.MultiIndex.from_arrays([days, days]),
        pandas.Index(range(size), dtype=float),
        pandas.RangeIndex(1, size + 1),
    ):
        value = door.named(labels)
        refusal(tr.InputValueError, "belongs; arrays have no names", door.call, value)
    backwards = door.named(None, slice(None, None, -1))  # a RangeIndex, but one that counts down
    refusal(tr.InputValueError, "belongs; arrays have no names", door.call, backwards)


KINDS_OF_LABELS = [
    ((2, 0, 1), dtype) for dtype in ("int64", "uint8", "Int64", "category", "object")
]
KINDS_OF_LABELS += [(("b", "a", "c"), dtype) for dtype in ("str", "string", "category", "object")]


@pytest.mark.parametrize(("names", "dtype"), KINDS_OF_LABELS)
def test_labels_of_any_dtype(names: tuple[Any, ...], dtype: str) -> None:
    axis = Axis(names, "task.entities")
    for labels in (list(names), list(np.array(names))):
        right = pandas.Series([0.5, 2.0, 1.0], pandas.Index(labels, dtype=dtype))
        assert by_position("bias", right, axis).tolist() == [0.5, 2.0, 1.0]
        refusal(ValueError, r"of task\.entities, ", by_position, "bias", right.iloc[::-1], axis)
    if "a" in names:
        right = pandas.Series([0.5, 2.0, 1.0], pandas.Index(["b", None, "c"], dtype=dtype))
        refusal(ValueError, r"of task\.entities, ", by_position, "bias", right, axis)
    refusal(ValueError, "an index numbered 0, 1, 2", by_position, "bias", right)


def test_numbered_frames_are_arrays() -> None:
    expected = tr.rank(SCORES, IDS, filter=FILTER)
    for columns in (None, [0, 1, 2, 3, 4]):
        frame = pandas.DataFrame(SCORES, columns=columns)
        for targets in (IDS, pandas.Series(IDS), pandas.Series(IDS, dtype="Int64").to_numpy(int)):
            assert tr.rank(frame, targets, filter=pandas.Series(FILTER)) == expected
    counter = tr.RankCounter([0.5], [2], candidates=5)
    counter.update(frame.iloc[:1])
    assert counter.ranks() == tr.rank(SCORES[:1], [2])
    refused(ValueError, "block", counter.update, frame.set_axis(NAMES, axis=1))
    assert np.shares_memory(by_position("scores", frame), frame.to_numpy())


def test_messages_say_what_came() -> None:
    frame = pandas.DataFrame(SCORES, columns=NAMES)
    refused(TypeError, "filter", tr.rank, SCORES, IDS, filter=pandas.Series([[1], None, [2]]))
    mixed = frame.set_axis(range(5), axis=1).astype({1: "float32"})
    refused(TypeError, "scores", tr.rank, mixed.astype(object), IDS)
    named = "columns numbered .* 'Paris' at position 0, where 0 belongs; arrays have no names$"
    for value, words in (
        (frame, named),
        ([frame.loc[1], frame.loc[0]], "an index numbered .* belongs; arrays have no names$"),
        (mixed, "columns of one dtype, got float64 in 0"),
    ):
        refusal((ValueError, TypeError), f"^scores: expected {words}", tr.rank, value, [0, 0, 0])


def test_lists_of_ids_have_no_names() -> None:
    """What a Series of them is an excerpt of, as a group of a frame, says nothing of a list."""
    frame = pandas.DataFrame({"task": [2, 0, 2], "item": [3, 1, 2]}).sort_values("item")
    lists = [frame.item[frame.task == task] for task in range(3)]
    assert tr.rank(SCORES, IDS, filter=lists) == tr.rank(SCORES, IDS, filter=FILTER)
    ranked = tr.rank_lists(lists, None, IDS, candidates=5)
    assert ranked == tr.rank_lists([[1], [], [2, 3]], None, IDS, candidates=5)
    task = tr.retrieval.Task({0: [2]}, entities=5, candidates=lists[2])
    assert task.answers.candidates.tolist() == [2, 3]


def test_frames_of_polars_have_columns_alone() -> None:
    polars = pytest.importorskip("polars", reason="frames of polars")
    unnamed = polars.DataFrame(SCORES)  # column_0, column_1, ...
    lists = polars.Series(FILTER)
    expected = tr.rank(SCORES, IDS, filter=FILTER)
    assert tr.rank(unnamed, polars.Series(IDS), filter=lists) == expected
    refused(ValueError, "scores", tr.rank, unnamed[:, ::-1], IDS)
    task = tr.retrieval.Task({0: ["Oslo"], 1: ["Rome"], 2: ["Lima"]}, entities=NAMES)
    named = polars.DataFrame(SCORES, schema=NAMES)
    turned = named[:, ::-1]
    refusal(ValueError, "^scores: .* arrays have no names$", task.evaluate_scores, turned)
    for frame in (named, turned[list(task.entities)]):
        assert task.evaluate_scores(frame).ranks == task.evaluate_scores(SCORES).ranks


def test_columns_of_vectors_are_compared_with_those_of_the_other_frame() -> None:
    left = pandas.DataFrame(MATRIX, columns=["x", "y", "z", "u"])
    right = pandas.DataFrame(MATRIX[::-1].copy(), columns=left.columns)
    expected = tr.rank_embeddings(MATRIX, MATRIX[::-1].copy(), [*IDS, 3])
    assert tr.rank_embeddings(left, right, [*IDS, 3]) == expected
    moved = right[["y", "x", "z", "u"]]
    words = "^queries: .* in the order of entities.columns, got .x. at position 0, where .y. "
    refusal(ValueError, words, tr.rank_embeddings, left, moved, [*IDS, 3])
    assert tr.rank_embeddings(left[list(moved.columns)], moved, [*IDS, 3]) == expected
    for one, other in ((left, MATRIX), (MATRIX, left)):  # an array does not say its order
        refusal(ValueError, "numbered 0, 1, 2", tr.rank_embeddings, one, other, [*IDS, 3])
