"""The core's counts of vectors against given scores are those of the matrix of their scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from strategies.embeddings import Vectors, vectors
from support.problems import Array
from support.refusals import refusal
from truerank import _core
from truerank.embeddings.vectors import Embeddings


def opened(drawn: Vectors) -> Embeddings:
    given = (drawn.similarity, drawn.bias, drawn.dtype, drawn.csls)
    return Embeddings(drawn.queries, drawn.entities, *given)


@st.composite
def selections(draw: st.DrawFn, tasks: int, columns: int) -> _core.Selection | None:
    """Draw sorted lists of columns of a larger matrix: for each task, for some, or one for all."""
    how = draw(st.sampled_from(["none", "each", "lists", "shared"]))
    if how == "none":
        return None
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    share = draw(st.sampled_from([0.0, 0.1, 0.6, 1.0]))
    size = {"each": tasks, "lists": 3, "shared": 1}[how]
    mask = rng.random((size, columns)) < share
    indptr = np.append(0, np.cumsum(mask.sum(axis=1)))
    dtype = draw(st.sampled_from([np.int32, np.int64]))
    of_tasks = rng.integers(0, 3, tasks) if how == "lists" else None
    return _core.Selection(indptr, np.nonzero(mask)[1].astype(dtype), of_tasks, how == "shared")


def true_scores_of(rng: np.random.Generator, scores: Array, rows: Array, columns: Array) -> Array:
    """Return scores of the row, in part others next to them, and some that no score is."""
    own = scores[rows, columns]
    with np.errstate(all="ignore"):
        near = np.nextafter(own, rng.choice([-np.inf, np.inf], len(own)).astype(scores.dtype))
    odd = rng.choice(np.array([0, -0.0, -1, 2, np.inf, -np.inf, 1e30], scores.dtype), len(own))
    which = rng.integers(0, 4, len(own))
    return np.choose(which, [own, own, near, odd]).astype(scores.dtype)


@pytest.mark.smoke
@given(vectors(nan=True), st.data())
@settings(max_examples=100)
def test_counts_are_those_of_the_matrix(drawn: Vectors, data: st.DataObject) -> None:
    """With columns numbered as in a larger matrix, whose targets and lists may be outside."""
    pairs = opened(drawn)
    height, width = pairs.shape
    if not height:
        return
    scores = pairs.score(None, None, 1)
    tasks = data.draw(st.integers(0, 30))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    rows = rng.integers(0, height, tasks)
    first, after = data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9))
    targets = rng.integers(-1, first + width + after, tasks)
    if width:
        inside = np.clip(targets - first, 0, width - 1)
        true = true_scores_of(rng, scores, rows, inside)
    else:
        true = np.zeros(tasks, scores.dtype)
    lists = [data.draw(selections(tasks, first + width + after)) for _ in range(2)]
    core_tasks = _core.Tasks(rows, targets, *lists)
    rule = data.draw(st.sampled_from(["raise", "worst", "omit"]))
    rules = _core.Rules(False, rule, data.draw(st.booleans()))
    block, threads = data.draw(st.sampled_from([0, 1, 7])), data.draw(st.sampled_from([1, 2, 3]))
    matrix = _core.Scores(scores, scores.dtype.name, False)
    expected = _core.partial_counts(matrix, core_tasks, true, first, rules, 1)
    got = _core.partial_embedding_counts(
        pairs.core(), core_tasks, true, first, rules, block, threads
    )
    if expected.fault is not None:
        assert got.fault is not None
        event(expected.fault.kind)
        assert got.fault.kind == expected.fault.kind
        if expected.fault.kind == "target":
            assert got.fault.task == expected.fault.task
            return
        assert (got.fault.row, got.fault.column) == (expected.fault.row, expected.fault.column)
        return
    assert got.fault is None
    event("audit" if rules.audit else "counted")
    assert got.arrays.keys() == expected.arrays.keys()
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(got.arrays[name], array, err_msg=name, strict=True)


# --- what memory safety depends on

PAIRS = Embeddings(np.ones((3, 4), np.float32), np.ones((5, 4), np.float32), "dot", None, None)
RULES = _core.Rules(False, "worst", False)
NONE = np.full(3, -1)


def ask(**changed: Any) -> _core.Counts:
    given = {"rows": None, "targets": NONE, "filter": None, "candidates": None, "first": 0}
    given |= {"true": np.zeros(3, np.float32), "rules": RULES, "block": 0} | changed
    tasks = _core.Tasks(*(given[name] for name in ("rows", "targets", "filter", "candidates")))
    options = (given["true"], given["first"], given["rules"], given["block"], 1)
    return _core.partial_embedding_counts(PAIRS.core(), tasks, *options)


def test_asked_as_it_should_be() -> None:
    assert ask().arrays["above"].tolist() == [5, 5, 5]
    assert ask(targets=np.array([7, 2**62, -1]), first=2**62 - 1).arrays["candidates"].tolist() == [
        *(5, 4, 5)
    ]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"true": np.zeros(2, np.float32)}, "true_scores"),
        ({"true": np.zeros(3)}, "true_scores"),
        ({"true": np.zeros((3, 1), np.float32)}, "true_scores"),
        ({"true": np.zeros(6, np.float32)[::2]}, "true_scores"),
        ({"true": np.zeros(3, ">f4")}, "true_scores"),
        ({"true": np.zeros(3, np.int32)}, "true_scores"),
        ({"rows": np.array([0, 1, 3])}, "rows"),
        ({"rows": np.array([0, -1, 2])}, "rows"),
        ({"rows": np.array([0, 1])}, "rows"),
        ({"targets": np.full(4, -1), "true": np.zeros(4, np.float32)}, "rows"),
        ({"targets": np.array([-2, 0, 0])}, "targets"),
        ({"first": -1}, "first_column"),
        ({"first": 2**63 - 5}, "first_column"),
        ({"block": -1}, "block"),
        ({"rules": _core.Rules(True, "worst", False)}, "order"),
        ({"filter": _core.Selection(np.array([0, 0]), np.zeros(0, np.int64))}, "selection"),
        ({"candidates": _core.Selection.of_ranges(np.array([0, 1, 2, 3]))}, "candidates"),
    ],
)
def test_bindings_check_what_they_are_given(changed: dict[str, Any], message: str) -> None:
    refusal(ValueError, message, ask, **changed)


def test_indices_beyond_the_entities_are_not_read() -> None:
    """The Python layer refuses them; the core must not read outside of its arrays."""
    far = _core.Selection(np.array([0, 2, 2, 2]), np.array([3, 2**60]))
    assert ask(filter=far).arrays["candidates"].tolist() == [4, 5, 5]
    assert ask(candidates=far).arrays["candidates"].tolist() == [1, 0, 0]
