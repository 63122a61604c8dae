"""The core's counts of vectors against given scores are those of the matrix of their scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from strategies.embeddings import Vectors, vectors
from support.examples import examples
from support.problems import Array
from truerank import _core
from truerank.embeddings.vectors import Embeddings


def opened(drawn: Vectors) -> Embeddings:
    return Embeddings(drawn.queries, drawn.entities, **drawn.keywords)


@st.composite
def selections(draw: st.DrawFn, tasks: int, columns: int) -> _core.Selection | None:
    """Draw sorted lists of columns of a larger matrix: for each task, for some, or one for all."""
    kind = draw(st.sampled_from(["none", "each", "lists", "shared"]))
    if kind == "none":
        return None
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    share = draw(st.sampled_from([0.0, 0.1, 0.6, 1.0]))
    size = {"each": tasks, "lists": 3, "shared": 1}[kind]
    mask = rng.random((size, columns)) < share
    indptr = np.append(0, np.cumsum(mask.sum(axis=1)))
    dtype = draw(st.sampled_from([np.int32, np.int64]))
    of_tasks = None
    if kind == "lists":
        of_tasks = rng.integers(0, 3, tasks)
    return _core.Selection(indptr, np.nonzero(mask)[1].astype(dtype), of_tasks, kind == "shared")


def true_scores_of(rng: np.random.Generator, scores: Array, rows: Array, columns: Array) -> Array:
    """Return scores of the row, in part others next to them, and some that no score is."""
    exact = scores[rows, columns]
    with np.errstate(all="ignore"):
        near = np.nextafter(exact, rng.choice([-np.inf, np.inf], len(exact)).astype(scores.dtype))
    odd = rng.choice(np.array([0, -0.0, -1, 2, np.inf, -np.inf, 1e30], scores.dtype), len(exact))
    which = rng.integers(0, 4, len(exact))
    return np.choose(which, [exact, exact, near, odd]).astype(scores.dtype)


@pytest.mark.smoke
@given(vectors(nan=True), st.data())
@examples(100)
def test_counts_are_those_of_the_matrix(drawn: Vectors, data: st.DataObject) -> None:
    """With columns numbered as in a larger matrix, whose targets and lists may be outside."""
    pairs = opened(drawn)
    height, width = pairs.shape
    if not height:
        return
    scores = pairs.score(None, None, 1)
    tasks = data.draw(st.integers(0, 30) | st.just(200))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    rows = rng.integers(0, height, tasks)
    first = data.draw(st.integers(0, 9))
    after = data.draw(st.integers(0, 9))
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
    block = data.draw(st.sampled_from([0, 1, 7]))
    threads = data.draw(st.sampled_from([1, 2, 3]))
    matrix = _core.Scores(scores, scores.dtype.name, False)
    expected = _core.partial_counts(matrix, core_tasks, true, first, rules, 1)
    got = _core.partial_embedding_counts(
        pairs.core(), core_tasks, true, first, rules, block, threads
    )
    if expected.fault is not None:
        event(expected.fault.kind)
        assert got.fault is not None
        place = ["task"] if expected.fault.kind == "target" else ["row", "column"]
        assert got.fault.kind == expected.fault.kind
        for name in place:
            assert getattr(got.fault, name) == getattr(expected.fault, name)
        return
    assert got.fault is None
    event(f"audit {rules.audit}")
    assert got.arrays.keys() == expected.arrays.keys()
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(got.arrays[name], array, err_msg=name, strict=True)


@pytest.mark.parametrize("listed", [[], [4], [0, 3, 4]])
def test_the_best_of_a_row_is_a_target_with_another_score(listed: list[int]) -> None:
    """A target does not count, so that the best of the others is looked for once more."""
    entities = np.concatenate([2 * np.eye(3, 4), np.ones((2, 4))]).astype(np.float32)
    pairs = Embeddings(np.eye(3, 4, dtype=np.float32), entities, "dot", None, None)
    filter = _core.Selection(np.array([0, len(listed)]), np.array(listed, int), None, True)
    tasks = _core.Tasks(np.arange(3), np.arange(3), filter, None)
    true = np.full(3, 1.5, np.float32)
    rules = _core.Rules(False, "worst", True)
    matrix = _core.Scores(pairs.score(None, None, 1), "float32", False)
    expected = _core.partial_counts(matrix, tasks, true, 0, rules, 1).arrays
    got = _core.partial_embedding_counts(pairs.core(), tasks, true, 0, rules, 0, 1).arrays
    for name, array in expected.items():
        np.testing.assert_array_equal(got[name], array, err_msg=name, strict=True)


# --- columns beyond the entities


def test_indices_beyond_the_entities_are_not_read() -> None:
    """The Python layer refuses them; the core must not read outside of its arrays."""
    vectors = Embeddings(np.ones((3, 4), "f4"), np.ones((5, 4), "f4"), "dot", None, None).core()
    far = _core.Selection(np.array([0, 2, 2, 2]), np.array([3, 2**60]))
    rules = _core.Rules(False, "worst", False)
    none = np.full(3, -1)
    for targets, filter, candidates, first, counted in (
        (none, None, None, 0, [5, 5, 5]),
        (np.array([7, 2**62, -1]), None, None, 2**62 - 1, [5, 4, 5]),
        (none, far, None, 0, [4, 5, 5]),
        (none, None, far, 0, [1, 0, 0]),
    ):
        tasks = _core.Tasks(None, targets, filter, candidates)
        asked = vectors, tasks, np.zeros(3, np.float32), first, rules, 0, 1
        assert _core.partial_embedding_counts(*asked).arrays["candidates"].tolist() == counted
