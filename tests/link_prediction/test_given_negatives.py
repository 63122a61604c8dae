"""Negatives that are given for each test triple, against sets."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import link_prediction as oracle
from support.refusals import refusal
from truerank.link_prediction import Negatives, Task

pytestmark = pytest.mark.python_only

ENTITIES, RELATIONS = 7, 2
ROW = st.tuples(st.integers(0, 6), st.integers(0, 1), st.integers(0, 6))


def forms(lists: list[list[int]], width: int) -> dict[str, Any]:
    """Return lists in every form that is taken."""
    indptr = np.cumsum([0, *map(len, lists)])
    values = np.array([entry for each in lists for entry in each], np.int64)
    return {
        "padded": np.array([each + [-1] * (width - len(each)) for each in lists]),
        "joined": (values, indptr),
        "lists": [np.array(each, np.int64) for each in lists],
    }


@given(st.lists(ROW, min_size=1, max_size=6), st.lists(ROW, max_size=8), st.data())
def test_candidates_are_the_negatives_and_the_answer(
    test: list[Any], train: list[Any], data: st.DataObject
) -> None:
    sides = {"tail": ENTITIES, "head": ENTITIES, "relation": RELATIONS}
    drawn = {
        side: data.draw(st.lists(st.lists(st.integers(0, n - 1), max_size=4), min_size=len(test)))
        for side, n in sides.items()
    }
    drawn = {side: lists[: len(test)] for side, lists in drawn.items()}
    drop = data.draw(st.sampled_from(["keep", "drop"]))
    chosen = oracle.chosen_positions(
        oracle.audit(test, {"train": train}),
        duplicates=drop,
        leaks="keep",
        unseen="keep",
        given=len(test),
    )
    names = set()
    for form in ("padded", "joined", "lists"):
        arrays = {side: forms(lists, 4)[form] for side, lists in drawn.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            task = Task(
                np.array(test),
                np.array(train, np.int64).reshape(-1, 3),
                entities=ENTITIES,
                relations=RELATIONS,
                sides=tuple(sides),
                candidates=Negatives(**arrays),
                duplicates=drop,
                filters=("query", "none"),
            )
        assert task.protocol.sampled
        names.add(task.protocol.candidates)
        rng = np.random.default_rng(len(test))
        scores = {side: rng.integers(0, 3, (len(test), n)) for side, n in sides.items()}
        report = task.evaluate_scores(scores["tail"], scores["head"], relation=scores["relation"])
        for name, under in report.filters.items():
            expected = [
                oracle.rank(
                    scores[side][i].tolist(),
                    target,
                    {*drawn[side][i], target},
                    answers if name == "query" else set(),
                )
                for side in task.sides
                for tasks in [oracle.side(side, test, {"train": train}, chosen)]
                for i, target, answers in zip(chosen, tasks.targets, tasks.answers, strict=True)
            ]
            ranks = under.ranks
            found = zip(ranks.above, ranks.tied, ranks.candidates, strict=True)
            assert list(map(list, found)) == expected
    assert len(names) == 1


def test_names_of_negatives() -> None:
    test = [[0, 0, 1], [1, 0, 2]]
    names = [
        Task(
            test, entities=5, sides=("tail",), candidates=Negatives(tail=lists)
        ).protocol.candidates
        for lists in ([[3, 4], [0, 4]], [[3, 4], [0, 3]], [[3], [0, 3]])
    ]
    assert len({name.split("(")[1] for name in names}) == 3
    assert [name.split(" (")[0] for name in names] == [
        "given 2 negatives",
        "given 2 negatives",
        "given 1 to 2 negatives",
    ]


@pytest.mark.parametrize(
    ("negatives", "kind", "words"),
    [
        (Negatives(), ValueError, "candidates: expected Negatives of tail, .* got none"),
        (Negatives(tail=[[1]], head=[[1]]), ValueError, "candidates: .* got tail, head"),
        (Negatives(tail=[[1], [2]]), ValueError, "tail: expected 1 lists, .* for each test triple"),
        (Negatives(tail=[[5]]), ValueError, "candidates: tail: expected ids from 0 to 3, got 5"),
        (Negatives(tail=[[0.5]]), TypeError, "candidates: tail: expected integers, .* dtype float"),
        (Negatives(tail=3), ValueError, "candidates: tail"),
    ],
)
def test_bad_negatives(negatives: Negatives, kind: type, words: str) -> None:
    refusal(kind, words, Task, [[0, 0, 1]], entities=4, sides=("tail",), candidates=negatives)
