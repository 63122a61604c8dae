"""Every task labels its ranks with the unit: what was drawn when the test set was made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank import alignment, link_prediction, retrieval

pytestmark = pytest.mark.python_only

RNG = np.random.default_rng(5)
TRIPLES = [(0, 0, 1), (2, 1, 3), (0, 0, 1), (3, 0, 2)]
PAIRS = [(0, 1), (2, 2), (0, 1), (1, 0)]
HARD = {"q": [1, 2], "r": [3]}


def units(found: Any) -> dict[str, list[int]]:
    """Return the units of each side of a report, in the order of its tasks."""
    ranks = found.ranks
    assert ranks.unit.vocabulary is None
    if ranks.side is None:
        return {"": ranks.unit.codes.tolist()}
    return {name: ranks[ranks.side == name].unit.codes.tolist() for name in set(ranks.side)}


def any_scores(rows: int, columns: int) -> Any:
    return RNG.random((rows, columns), dtype=np.float32)


def test_triples_by_every_door() -> None:
    sides = ("tail", "head", "relation")
    task = link_prediction.Task(
        TRIPLES,
        {"train": [(3, 0, 2)]},
        entities=4,
        relations=2,
        sides=sides,
        duplicates="drop",
        leaks="drop",
        filters=["query", "none"],
    )
    rows = {side: [0, 1] for side in sides}
    rectangle = any_scores(4, 4)
    scored = task.evaluate_scores(rectangle, head=rectangle, relation=any_scores(4, 2))
    assert units(scored) == rows
    assert units(scored.filters["none"]) == rows
    models = {
        side: lambda queries, n=n: any_scores(len(queries), n)
        for side, n in zip(sides, (4, 4, 2), strict=True)
    }
    assert units(task.evaluate(**models)) == rows
    vectors = any_scores(4, 3)
    found = task.evaluate_embeddings(
        tail=vectors,
        head=vectors,
        entities=any_scores(4, 3),
        relation=vectors,
        relations=any_scores(2, 3),
    )
    assert units(found) == rows


def test_predictions_of_triples(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text(
        "a likes b\nHeads: a\t0.9\nTails: b\t0.5\nb likes a\nHeads:\nTails:\n"
    )
    found = link_prediction.read_predictions(tmp_path / "rules").evaluate(candidates=10)
    assert units(found) == {"tail": [0, 1], "head": [0, 1]}


def test_qualifiers_share_the_unit_of_their_statement() -> None:
    statements = [(0, 0, 1), (1, 0, 2, 1, 3, 1, 0), (0, 1, 2, 1, 3)]
    task = link_prediction.Task(statements, sides=["tail", "qualifier"], statements=True)
    assert task.tail.labels["unit"].codes.tolist() == [0, 1, 2]
    assert task.qualifier.labels["unit"].codes.tolist() == [1, 1, 2]


def test_complex_queries() -> None:
    task = link_prediction.ComplexQueries(
        ["none", "q", "r"], hard=HARD, structures="2p", entities=5
    )
    assert units(task.evaluate_scores(any_scores(3, 5))) == {"answers": [1, 1, 2]}
    assert units(task.evaluate(lambda at: any_scores(len(at), 5))) == {"answers": [1, 1, 2]}


@pytest.mark.parametrize("audit", [False, True])
@pytest.mark.parametrize("csls", [None, 1])
def test_both_directions_of_an_alignment(audit: bool, csls: int | None) -> None:
    task = alignment.Task(PAIRS, left=3, right=3, duplicates="drop")
    rows = {"left_to_right": [0, 1, 3], "right_to_left": [0, 1, 3]}
    rules: dict[str, Any] = {"audit": audit, "csls": csls}
    assert units(task.evaluate_scores(any_scores(3, 3), **rules)) == rows
    left, right = any_scores(3, 2), any_scores(3, 2)
    assert units(task.evaluate_embeddings(left, right, **rules)) == rows
    assert units(alignment.evaluate(left, right, PAIRS, duplicates="drop", **rules)) == rows
    assert units(task.evaluate(*[lambda at: any_scores(len(at), 3)] * 2)) == rows


def test_answers_of_a_query() -> None:
    items = ["a", "b", "c", "d"]
    task = retrieval.Task({"u": ["b", "d"], "v": ["a"]}, entities=items, queries=["v", "u"])
    for found in (
        task.evaluate_scores(any_scores(2, 4)),
        task.evaluate_embeddings(any_scores(2, 3), any_scores(4, 3)),
        task.evaluate(lambda at: any_scores(len(at), 4)),
        task.evaluate_lists({"u": {"a": 0.9, "b": 0.8}}),
    ):
        assert units(found) == {"": [0, 1, 1]}


def test_answers_of_named_lists() -> None:
    lists = tr.NamedLists(
        ("q1",), ("d7", "d3"), np.array([0, 2]), np.array([0, 1]), np.array([2.5, 1.5])
    )
    ranks = lists.rank({"q2": "d3", "q1": ["d3", "d9"]}, candidates=100)
    assert ranks.unit.codes.tolist() == [0, 1, 1]


def test_units_are_joined_sliced_and_saved(tmp_path: Path) -> None:
    task = link_prediction.Task(TRIPLES[1:], entities=4, relations=2)
    ranks = task.evaluate_scores(any_scores(3, 4), head=any_scores(3, 4)).ranks
    head, tail = (ranks[ranks.side == side] for side in ("head", "tail"))
    joined = tr.concatenate([head, tail])
    assert joined.unit.codes.tolist() == [0, 1, 2] * 2
    assert len(tr.report(joined, by="unit").groups) == 3
    joined.save(tmp_path / "ranks")
    assert tr.load(tmp_path / "ranks").unit.same_as(joined.unit)
    assert joined[[4, 0]].unit.codes.tolist() == [1, 0]
    assert joined.to_pandas()["unit"].tolist() == [0, 1, 2] * 2
    bare = tail.with_labels(unit=None)
    with pytest.raises(ValueError, match="unit missing in part 1, but not in all"):
        tr.concatenate([head, bare])
    with pytest.raises(ValueError, match=r"no labels 'unit' .* ranks.with_labels\(unit=...\)"):
        tr.report(bare, by="unit")
