"""Counts of several RankCounters as integers: their sum gives the ranks of all columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.problems import Array
from support.refusals import refusal

pytestmark = pytest.mark.python_only

RNG = np.random.default_rng(5)
SCORES = RNG.integers(0, 9, (12, 90)).astype(np.float32)
TARGETS = RNG.integers(0, 90, 12)
FILTER = [RNG.integers(0, 90, 7) for _ in range(12)]
TRUE = SCORES[np.arange(12), TARGETS]


def counter(*columns: Array, **keywords: Any) -> tr.RankCounter:
    made = tr.RankCounter(TRUE, TARGETS, **{"candidates": 90, "filter": FILTER, **keywords})
    for some in columns:
        made.update(SCORES[:, some], columns=some)
    return made


def test_what_is_summed() -> None:
    counts = counter(np.arange(90), filter=None).counts()
    assert counts.shape == (7, 12)
    assert counts.dtype == np.int64
    np.testing.assert_array_equal(counts[0], np.greater(SCORES, TRUE[:, None]).sum(1))
    np.testing.assert_array_equal(counts[1], np.equal(SCORES, TRUE[:, None]).sum(1) - 1)
    assert (counts[2] == 89).all()
    assert (counts[3:5] == 0).all()
    assert (counts[5] == 90).all()


def test_the_array_is_the_callers() -> None:
    whole = counter(np.arange(90))
    counts = whole.counts()
    counts[:] = 0
    assert whole.ranks() == whole.ranks(whole.counts())
    given = whole.counts()
    before = given.copy()
    whole.ranks(given)
    np.testing.assert_array_equal(given, before)


def test_sampled_negatives() -> None:
    parts = [tr.RankCounter(TRUE) for _ in range(2)]
    parts[0].update(SCORES[:, :20])
    parts[1].update(SCORES[:, 20:30])
    total = parts[0].counts() + parts[1].counts()
    assert parts[0].ranks(total) == tr.rank_against(TRUE, SCORES[:, :30])


def test_scores_of_a_target_that_differ() -> None:
    scores = SCORES.copy()
    scores[3, TARGETS[3]] += 1
    parts = counter(), counter()
    parts[0].update(scores, start=0)
    with pytest.warns(UserWarning, match="true_scores: 1 of 12 .* first that of task 3"):
        parts[1].ranks(parts[0].counts() + parts[1].counts())


def test_tensors() -> None:
    torch = pytest.importorskip("torch", reason="tensors of torch")
    whole = counter(np.arange(90))
    assert whole.ranks(torch.from_numpy(whole.counts())) == whole.ranks()


HALF, REST = np.arange(40), np.arange(40, 90)
T, V = tr.InputTypeError, tr.InputValueError
REFUSED: list[tuple[type[Exception], str, Any]] = [
    (V, r"expected .* got shape \(7, 3\)", lambda: counter(HALF).counts()[:, :3]),
    (T, "expected integers, got dtype float64", lambda: counter(HALF).counts() * 1.0),
    (V, "each of 90 columns counted by one of them", lambda: counter(HALF).counts()),
    (V, "each of 90 columns", lambda: sum(counter(c).counts() for c in (HALF, REST - 1))),
    (V, "the same .* filter", lambda: counter(HALF).counts() + counter(REST, filter=None).counts()),
    (V, "the same .* rules", lambda: counter(HALF).counts() + counter(REST, nan="omit").counts()),
]


@pytest.mark.parametrize(("kind", "words", "counts"), REFUSED)
def test_refusals(kind: type[Exception], words: str, counts: Any) -> None:
    refusal(kind, f"^counts: .*{words}", counter().ranks, counts())


def test_an_audit_is_no_sum() -> None:
    words = "^audit: expected False for counts that are summed"
    refusal(ValueError, words, counter(audit=True).counts)


def test_the_size_of_a_number_changes_nothing() -> None:
    """Indices of a filter may be of 32 bits in one process and of 64 in another."""
    lists = tuple(np.asarray(part) for part in (np.arange(13) * 7, np.concatenate(FILTER)))
    parts = [
        counter(some, filter=(lists[0], lists[1].astype(dtype)))
        for some, dtype in ((HALF, np.int32), (REST, np.int64))
    ]
    assert parts[0].ranks(parts[0].counts() + parts[1].counts()) == counter(np.arange(90)).ranks()
