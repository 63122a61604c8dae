"""Every task labels its ranks with the unit: what was drawn when the test set was made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from truerank import link_prediction

pytestmark = pytest.mark.python_only

TRIPLES = [(0, 0, 1), (2, 1, 3), (0, 0, 1), (3, 0, 2)]


def test_answers_of_named_lists() -> None:
    lists = tr.NamedLists(
        ("q1",), ("d7", "d3"), np.array([0, 2]), np.array([0, 1]), np.array([2.5, 1.5])
    )
    ranks = lists.rank({"q2": "d3", "q1": ["d3", "d9"]}, candidates=100)
    assert ranks.unit.codes.tolist() == [0, 1, 1]


def test_units_are_joined_sliced_and_saved(tmp_path: Path) -> None:
    task = link_prediction.Task(TRIPLES[1:], entities=4, relations=2)
    scores = np.random.default_rng(5).random((3, 4), np.float32)
    ranks = task.evaluate_scores(scores, head=scores).ranks
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
