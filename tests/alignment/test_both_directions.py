"""Both directions from the same scores, and the means of CSLS, against a dense matrix."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles.embeddings import EXACT, mean_topk, same_bits, score
from strategies.alignments import Alignment, alignments, any_vectors
from support.environment import Run
from support.outcomes import quietly
from support.refusals import refusal, refused
from truerank.alignment import csls_means
from truerank.alignment.task import joint_count_is_cheaper


@given(st.data(), st.sampled_from([1, 2, 3, 10, 65, 1000, 2**40]), st.sampled_from(EXACT))
def test_means_are_those_of_the_matrix(data: st.DataObject, k: int, similarity: str) -> None:
    drawn: Alignment = data.draw(alignments(most=data.draw(st.sampled_from([7, 70]))))
    left, right = data.draw(any_vectors(drawn.sizes, nan=True))
    scores = score(left, right, similarity)
    ids = [np.array(among) for among in drawn.among]
    among = scores[np.ix_(*ids)]
    candidates = None if drawn.candidates == "all" else tuple(ids)
    options: dict[str, Any] = {
        "similarity": similarity,
        "candidates": candidates,
        "block": data.draw(st.sampled_from([None, 1, 20, 64])),
        "threads": data.draw(st.sampled_from([1, 2, 3])),
    }
    if similarity == "complex_l1":
        options["layout"] = "interleaved"
    if np.isnan(among).any():
        row, column = np.argwhere(np.isnan(among))[0]
        words = f"row {ids[0][row]}, column {ids[1][column]} is"
        refusal(ValueError, words, csls_means, left, right, k, **options)
        options["nan"] = data.draw(st.sampled_from(["worst", "omit"]))
    found = csls_means(left, right, k, **options)
    for means, chosen, matrix in ((found[0], ids[0], among), (found[1], ids[1], among.T)):
        expected = np.full(len(means), np.nan, scores.dtype)
        expected[chosen] = mean_topk(matrix, k)
        assert same_bits(means, expected)
    assert found.k == k


@pytest.mark.threads
def test_large_and_threads() -> None:
    """The grid has several cells, and each passes its thresholds to the next."""
    rng = np.random.default_rng(3)
    left = (rng.integers(-20, 21, (1203, 9)) / 16).astype(np.float32)
    right = (rng.integers(-20, 21, (911, 9)) / 16).astype(np.float32)
    pairs = np.stack([rng.permutation(1203)[:700], rng.permutation(911)[:700]], axis=1)
    task = tr.alignment.Task(pairs, left=1203, right=911)
    scores = tr.score_embeddings(left, right)
    means = csls_means(left, right, 7, similarity="dot", threads=1)
    assert same_bits(means.queries, mean_topk(scores, 7))
    assert same_bits(means.entities, mean_topk(scores.T, 7))
    for threads, block in ((1, None), (2, None), (3, 128), (2, 64)):
        options: dict[str, Any] = {"similarity": "dot", "threads": threads, "block": block}
        assert all(map(same_bits, csls_means(left, right, 7, **options)[:2], means[:2]))
        for csls in (None, means):
            found = task.evaluate_embeddings(left, right, csls=csls, **options)
            table = tr.score_embeddings(left, right, csls=csls)
            expected = task.evaluate_scores(table).ranks
            for name in ("above", "tied", "candidates"):
                assert (getattr(found.ranks, name) == getattr(expected, name)).all()


def test_few_pairs_many_answers_and_hubs_are_counted_one_direction_at_a_time() -> None:
    """A joint pass over all candidates of both sides would cost more than it saves."""
    ids = np.arange(60)
    one_to_one = np.stack([ids, ids], 1)
    hub = np.stack([ids, np.where(ids < 30, 7, ids)], 1)
    dense = np.stack(np.meshgrid(ids[:40], ids), -1).reshape(-1, 2)
    for pairs, known, at_once in (
        (one_to_one, dense[:0], True),
        (one_to_one[:9], dense[:0], False),
        (hub, dense[:0], False),
        (one_to_one, dense, False),
        (one_to_one, dense[:300], True),
    ):
        task = quietly(tr.alignment.Task, pairs, left=60, right=60, known=known)  # of leaks
        assert joint_count_is_cheaper(task.sides) == at_once


def test_equal_scores_without_end() -> None:
    """Scores that are all equal to a threshold must not pass it for ever."""
    for value in (1.0, -np.inf, np.inf):
        found = csls_means(np.full((300, 1), value), np.ones((400, 1)), 5, similarity="dot")
        assert (found.queries == value).all()
        assert (found.entities == value).all()


def test_many_tasks_of_one_pair_are_counted_once() -> None:
    """A query has more tasks than are counted jointly; all use the columns of the first."""
    task = quietly(tr.alignment.Task, np.zeros((70_000, 2), np.int64), left=3, right=3)
    ranks = quietly(task.evaluate_embeddings, np.eye(3), np.eye(3), similarity="dot").ranks
    for name, count in (("above", 0), ("tied", 1), ("candidates", 3)):
        assert (getattr(ranks, name) == count).all()


EYE = np.eye(4)
MEANS = csls_means(EYE, EYE[:2], 1)


@pytest.mark.parametrize(
    ("kind", "argument", "options"),
    [
        (ValueError, "k", {"k": 0}),
        (TypeError, "candidates", {"candidates": np.arange(2)}),
        (ValueError, "candidates", {"candidates": ([], None)}),
        (ValueError, "candidates[1]", {"candidates": (None, [9])}),
        (TypeError, "csls", {"csls": 10}),
        (ValueError, "csls", {"csls": MEANS._replace(queries=MEANS.entities)}),
        (ValueError, "csls", {"csls": MEANS._replace(entities=[1, 2])}),
    ],
)
def test_bad_arguments_of_means(kind: type[Exception], argument: str, options: Any) -> None:
    call: Any = csls_means
    if "csls" in options:
        call = partial(tr.rank_embeddings, targets=0)
    refused(kind, argument, call, EYE, EYE[:2], **options)


@pytest.mark.python_only
def test_no_matrix_is_made(run_python: Run) -> None:
    """Both passes over 6,000 x 6,000 pairs, whose scores would take 144 MB, need at most 40 MB."""
    code = """
import resource
import numpy as np
from truerank.alignment import Task

left, right = np.random.default_rng(0).standard_normal((2, 6000, 8), dtype=np.float32)
pairs = np.stack([np.arange(6000)] * 2, axis=1)
task = Task(pairs, left=6000, right=6000)
Task(pairs[:9], left=9, right=9).evaluate_embeddings(left[:9], right[:9], csls=3)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
task.evaluate_embeddings(left, right, csls=10)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    assert int(run_python(code)) < 40_000
