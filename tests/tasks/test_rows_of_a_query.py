"""Rows of one query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from truerank.link_prediction import Task

Array = npt.NDArray[Any]
pytestmark = [pytest.mark.python_only, pytest.mark.filterwarnings("error")]
N = 60
RNG = np.random.default_rng(0)
FACTS = np.unique(RNG.integers(0, (12, 2, 12), (150, 3)), axis=0)
MODEL = RNG.normal(size=(N, 2, N))

SWAPPED = (
    "(head|tail): in .* a query has scores that differ from its first row; row i belongs to test"
)


@pytest.fixture(scope="module")
def task() -> Task:
    return Task(FACTS, {}, entities=N, relations=2)


def rows_of_sides(model: Array) -> tuple[Array, Array]:
    head, relation, tail = FACTS.T
    return model[head, relation].copy(), model.transpose(2, 1, 0)[tail, relation].copy()


@pytest.mark.parametrize(("size", "spread"), [(0, 1), (-48, 0.1), (-48, 1), (-100, 1), (1e6, 50)])
def test_swapped_sides_are_seen_at_any_size_of_scores(
    task: Task, tmp_path: Path, size: float, spread: float
) -> None:
    tails, heads = rows_of_sides(np.float32(MODEL * spread + size))
    right = task.evaluate_scores(tail=tails, head=heads)
    np.save(tmp_path / "tails.npy", tails)
    np.save(tmp_path / "heads.npy", heads)
    with pytest.warns(UserWarning, match=SWAPPED):
        swapped = task.evaluate_scores(tail=heads, head=tails)
    with pytest.warns(UserWarning, match=SWAPPED):
        task.evaluate_scores(tail=tmp_path / "heads.npy", head=tmp_path / "tails.npy")
    assert swapped["mrr"] != right["mrr"]


def test_swapped_vectors_are_seen_beside_a_large_bias(task: Task) -> None:
    head, relation, tail = FACTS.T
    of_tails, of_heads = RNG.normal(size=(2, N, 2, 8))
    vectors = {"tail": of_tails[head, relation], "head": of_heads[tail, relation]}
    options = {"entities": RNG.normal(size=(N, 8)), "bias": np.full(N, -480.0)}
    task.evaluate_embeddings(**vectors, **options)
    task.evaluate_embeddings(vectors["tail"] + 1e-9, head=vectors["head"] - 1e-9, **options)
    with pytest.warns(UserWarning, match=SWAPPED):
        task.evaluate_embeddings(vectors["head"], head=vectors["tail"], **options)


def steps(scores: Array, bits: int) -> Array:
    """Move some scores to a neighbour among numbers that have fewer bits."""
    ulps = np.spacing(np.abs(scores)) * 2.0**bits
    return np.asarray(scores + ulps * RNG.integers(-1, 2, scores.shape), scores.dtype)


def test_rows_that_differ_by_rounding_or_by_masks_are_no_others(task: Task) -> None:
    for size, spread in ((0, 1), (-48, 1), (-12, 0.3)):
        tails, heads = rows_of_sides(np.float32(MODEL * spread + size))
        ways = [(steps(tails, 0), steps(heads, 0))]
        both = []
        masked = []
        for rows, targets in ((tails, FACTS[:, 2]), (heads, FACTS[:, 0])):
            both.append(steps((rows.view(np.uint32) >> 16 << 16).view(np.float32), 16))
            is_masked = RNG.random(rows.shape) < 0.3
            is_masked[np.arange(len(rows)), targets] = False
            masked.append(np.where(is_masked, -np.inf, rows))
        for tail, head in (*ways, both, masked):
            assert not np.array_equal(tail, tails)
            task.evaluate_scores(tail=tail, head=head)
    tails, heads = rows_of_sides(np.float16(MODEL * 0.1 - 48))
    task.evaluate_scores(tail=steps(tails, 0), head=steps(heads, 0))
    flat = steps(np.full((len(FACTS), N), np.float32(-48)), 0)
    task.evaluate_scores(tail=flat, head=flat.copy())
    # Of few candidates, scores are as near as rounding is in one of some rows.
    pairs = np.stack([np.arange(200) // 2, np.zeros(200, int), np.arange(200) % 2], axis=1)
    model = np.repeat(np.float32(RNG.normal(size=(100, 100))), 2, axis=0)
    model[:4, 1] = model[:4, 0]
    bfloat16 = (model.view(np.uint32) >> 16 << 16).view(np.float32)
    of_few = Task(pairs, {}, entities=100, relations=1, sides=["tail"], candidates=[0, 1])
    for _ in range(5):
        of_few.evaluate_scores(steps(bfloat16, 16))


def test_other_scores_around_0_are_seen_by_their_size(task: Task) -> None:
    tails, heads = rows_of_sides(MODEL)
    with pytest.warns(UserWarning, match=SWAPPED):
        task.evaluate_scores(tail=tails, head=heads + RNG.normal(size=heads.shape) * 0.1)


def test_one_array_for_both_sides_is_a_finding(task: Task, tmp_path: Path) -> None:
    popular = np.tile(RNG.normal(size=N), (len(FACTS), 1))
    np.save(tmp_path / "scores.npy", popular)
    words = "the sides head and tail were given one array"
    for one, other in ((popular, popular), [tmp_path / "scores.npy" for _ in range(2)]):
        report = task.evaluate_scores(tail=one, head=other)
        assert [f.message for f in report.audit() if f.name == "one array"] == [words]
    vectors = np.ones((len(FACTS), 4))
    report = task.evaluate_embeddings(vectors, head=vectors, entities=RNG.normal(size=(N, 4)))
    assert "one array" in [finding.name for finding in report.audit()]
    report = task.evaluate_scores(tail=popular, head=popular.copy())
    assert "one array" not in [finding.name for finding in report.audit()]
