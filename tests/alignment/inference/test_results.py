"""What results say about themselves, and that their arrays stay read-only."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest

from strategies.score_matrices import METHODS, Array
from truerank.alignment import dangling, infer

pytestmark = pytest.mark.python_only


def test_what_was_done() -> None:
    scores = np.eye(3)
    told = {method: infer(scores, None, method=method).solved for method in METHODS}
    assert told == {"greedy": "left_to_right", "mutual": "", "stable": "", "optimal": "dense"}
    assert infer(scores, None, direction="right_to_left").solved == "right_to_left"
    found = infer(scores, None, left_ids=[0, 2], threshold=0.5)
    assert found.unmatched_left.tolist() == []
    assert found.unmatched_right.tolist() == [1]
    assert (len(found), found.total, found.threshold) == (2, 2.0, 0.5)
    assert "left_ids" not in repr(found)


def arrays_of(found: Any) -> list[Array]:
    values = list(vars(found).values())
    values += [each for value in values if isinstance(value, dict) for each in value.values()]
    return [value for value in values if isinstance(value, np.ndarray)]


@pytest.mark.parametrize(
    ("found", "count"), [(infer(np.eye(3), None), 4), (dangling(np.eye(3), None, [0]), 8)]
)
def test_arrays_are_read_only_and_results_can_be_pickled(found: Any, count: int) -> None:
    for other in (found, pickle.loads(pickle.dumps(found)), copy.deepcopy(found), copy.copy(found)):
        assert type(other) is type(found)
        arrays = arrays_of(other)
        assert len(arrays) == count
        for array, ours in zip(arrays, arrays_of(found), strict=True):
            assert other is not found or not array.flags.writeable
            np.testing.assert_array_equal(array, ours)


def test_numbers_for_loggers() -> None:
    scores = np.array([[0.5, 0.25], [0.75, 1.0], [0.5, 0.0]], np.float32)
    found = infer(scores, None, method="stable", threshold=0.5).to_dict()
    assert found == {
        "method": "stable", "solved": "", "threshold": 0.5, "pairs": 2, "total": 1.5,
        "unmatched_left": 1, "unmatched_right": 0,
    }  # fmt: skip
    assert json.loads(json.dumps(found)) == found
    assert infer(scores, None).to_dict()["solved"] == "left_to_right"
