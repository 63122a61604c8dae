"""Both directions from the same scores, and the means of CSLS, against a dense matrix."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import truerank as tr
from oracles.counting import Refused, count
from oracles.embeddings import mean_topk, same_bits, score, with_csls
from strategies.embeddings import VALUES, numbers
from support.environment import Run
from support.refusals import refusal
from truerank import _core
from truerank.alignment import both_directions as grid
from truerank.alignment import csls_means
from truerank.alignment.aligned_pairs import FORWARD
from truerank.embeddings.scoring import CurrentMatches, topk_open_embeddings
from truerank.embeddings.vectors import CSLS, Embeddings
from truerank.inputs.rules import Rules
from truerank.tasks.side_tasks import SideTasks

Array = np.ndarray[Any, Any]
SIDES = ("left_to_right", "right_to_left")


def rank_both(
    left: Any,
    right: Any,
    sides: dict[str, SideTasks],
    *,
    similarity: str = "cosine",
    csls: CSLS | None = None,
    block: int | None = None,
    **options: Any,
) -> Any:
    """Rank both directions of embeddings."""
    pairs = Embeddings(left, right, similarity, None, None, csls, FORWARD)
    return grid.rank_both(pairs, sides, Rules(**options), block=block)


@dataclass
class Aligned:
    """Vectors of two graphs, pairs, known pairs, and candidates."""

    left: Array
    right: Array
    pairs: Array
    known: Array
    among: tuple[Array | None, Array | None]
    similarity: str = "cosine"

    def sides(self) -> dict[str, SideTasks]:
        made = {}
        for side, turn in zip(SIDES, (1, -1), strict=True):
            asked, answers = self.pairs[:, ::turn].T
            queries, rows = np.unique(asked, return_inverse=True)
            lists = [
                np.unique(self.known[:, ::turn][self.known[:, ::turn][:, 0] == q, 1])
                for q in queries
            ]
            ends = np.cumsum([0, *map(len, lists)])
            made[side] = SideTasks(
                *(side, queries[:, None], rows.reshape(-1), np.ascontiguousarray(answers)),
                len(self.right if turn == 1 else self.left),
                (ends, np.concatenate([np.zeros(0, np.int64), *lists])),
                self.among[1 if turn == 1 else 0],
            )
        return made

    def expected(self, scores: Array, nan: str) -> list[Any]:
        """Return the counts of the definition on a dense matrix, or its refusal."""
        found: list[Any] = []
        for turn, matrix, among in ((1, scores, self.among[1]), (-1, scores.T, self.among[0])):
            asked, answers = self.pairs[:, ::turn].T.tolist()
            known = self.known[:, ::turn]
            plain: dict[str, Any] = {
                "rows": asked,
                "filter": [known[known[:, 0] == q, 1].tolist() for q in asked],
                "nan": nan,
            }
            if among is not None:
                plain["candidates"] = [among.tolist()] * len(asked)
            try:
                found.append(count(matrix, answers, **plain))
            except Refused as refused:
                return [*found, refused]
        return found


@st.composite
def aligned(draw: st.DrawFn, *, nan: bool) -> Aligned:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n1, n2 = (draw(st.sampled_from([1, 2, 5, 6, 7, 13, 16, 33, 63, 64, 65, 130])) for _ in range(2))
    kinds = [draw(st.sampled_from(["float32", "float32", "float16", "float64"])) for _ in range(2)]
    values = draw(st.sampled_from(VALUES if "float64" not in kinds else VALUES[:3]))
    d = draw(st.integers(1, 5))
    left, right = (
        numbers(rng, values, kind, (n, d), nan=nan) for kind, n in zip(kinds, (n1, n2), strict=True)
    )
    if kinds[0] == kinds[1]:
        right[rng.integers(0, n2, 3)] = left[rng.integers(0, n1, 3)]

    def some(most: int) -> Array:
        size = draw(st.integers(1, most))
        return np.stack([rng.integers(0, n, size) for n in (n1, n2)], axis=1)

    pairs = rng.permutation(np.unique(some(30), axis=0))
    known = some(60)
    if draw(st.booleans()):
        known = np.concatenate([known, pairs])
    among: list[Array | None] = [None, None]
    for i, n in enumerate((n1, n2)):
        if draw(st.booleans()):
            among[i] = np.union1d(pairs[:, i], rng.integers(0, n, draw(st.integers(0, n))))
    similarities = ("dot", "cosine", "l1", "l2", "sql2", "inverse_l1", "inverse_l2")
    return Aligned(
        left, right, pairs, known, (among[0], among[1]), draw(st.sampled_from(similarities))
    )


def check(
    drawn: Aligned, monkeypatch: pytest.MonkeyPatch, csls: CSLS | None, nan: str, **options: Any
) -> None:
    """Joint and separate counts both give the counts of the definition, or its refusal."""
    scores = with_csls(score(drawn.left, drawn.right, drawn.similarity), csls)
    expected = drawn.expected(scores, nan)
    for at_once in (True, False):
        monkeypatch.setattr(grid, "_joint_count_is_cheaper", lambda *sides, says=at_once: says)
        got: Any
        try:
            got = rank_both(
                *(drawn.left, drawn.right, drawn.sides()),
                **{"similarity": drawn.similarity, "csls": csls, "nan": nan, **options},
            )
        except ValueError as error:
            got = error
        if isinstance(got, Exception):
            assert isinstance(expected[-1], Refused), f"refused without need: {got!r}"
            assert expected[-1].nan is not None
            pair = expected[-1].nan[:: 1 if len(expected) == 1 else -1]
            assert re.search(r"left (\d+) and right (\d+),? is NaN", str(got)).groups() == tuple(
                map(str, pair)
            ), (got, pair)
            continue
        for ranks, counts in zip(got, expected, strict=True):
            assert not isinstance(counts, Refused), f"should have refused: {counts}"
            assert ranks.above.tolist() == list(counts.above)
            assert ranks.tied.tolist() == list(counts.tied)
            assert ranks.candidates.tolist() == list(counts.candidates)
            named = drawn.similarity if csls is None else f"{drawn.similarity}, csls {csls.k}"
            assert ranks.protocol.similarity == named


@pytest.mark.smoke
@given(aligned(nan=False), st.data())
def test_both_directions_are_those_of_the_matrix(drawn: Aligned, data: st.DataObject) -> None:
    csls = None
    if data.draw(st.booleans()):
        k = data.draw(st.sampled_from([1, 2, 10, 200]))
        csls = csls_means(
            drawn.left,
            drawn.right,
            k,
            similarity=drawn.similarity,
            candidates=drawn.among,
            nan="omit",
        )
    event(drawn.similarity)
    options = {
        "block": data.draw(st.sampled_from([None, 1, 50, 64, 100])),
        "threads": data.draw(st.sampled_from([1, 2, 3])),
    }
    with pytest.MonkeyPatch.context() as patch:
        check(drawn, patch, csls, "worst", **options)


@given(aligned(nan=True), st.sampled_from(["raise", "worst", "omit"]))
def test_nan_in_both_directions(drawn: Aligned, nan: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        check(drawn, patch, None, nan)


@given(aligned(nan=True), st.sampled_from([1, 2, 3, 10, 65, 1000, 2**40]), st.data())
def test_means_are_those_of_the_matrix(drawn: Aligned, k: int, data: st.DataObject) -> None:
    scores = score(drawn.left, drawn.right, drawn.similarity)
    ids = [
        np.arange(n) if among is None else among
        for among, n in zip(drawn.among, scores.shape, strict=True)
    ]
    among = scores[np.ix_(*ids)]
    options: dict[str, Any] = {
        "similarity": drawn.similarity,
        "candidates": drawn.among,
        "block": data.draw(st.sampled_from([None, 1, 20, 64])),
        "threads": data.draw(st.sampled_from([1, 2, 3])),
    }
    if np.isnan(among).any():
        row, column = np.argwhere(np.isnan(among))[0]
        with pytest.raises(ValueError, match=f"left {ids[0][row]} and right {ids[1][column]} is"):
            csls_means(drawn.left, drawn.right, k, **options)
        options["nan"] = data.draw(st.sampled_from(["worst", "omit"]))
    found = csls_means(drawn.left, drawn.right, k, **options)
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
    drawn = Aligned(left, right, pairs, pairs, (None, None), "dot")
    scores = tr.score_embeddings(left, right)
    means = csls_means(left, right, 7, similarity="dot", threads=1)
    for mean, matrix in ((means.queries, scores), (means.entities, scores.T)):
        best = -np.sort(-matrix, axis=1)[:, :7].astype(np.float64)
        assert same_bits(mean, (np.cumsum(best, axis=1)[:, -1] / 7).astype(np.float32))
    dense = with_csls(scores, means)
    for threads, block in ((1, None), (2, None), (3, 128), (2, 64)):
        again = csls_means(left, right, 7, similarity="dot", threads=threads, block=block)
        assert all(map(same_bits, again[:2], means[:2]))
        for csls, matrix in ((None, scores), (means, dense)):
            found = rank_both(
                left,
                right,
                drawn.sides(),
                similarity="dot",
                csls=csls,
                threads=threads,
                block=block,
            )
            true_scores = matrix[pairs[:, 0], pairs[:, 1]]
            for ranks, rows in zip(
                found, (matrix[pairs[:, 0]], matrix.T[pairs[:, 1]]), strict=True
            ):
                np.testing.assert_array_equal(ranks.above, (rows > true_scores[:, None]).sum(1))
                np.testing.assert_array_equal(ranks.tied, (rows == true_scores[:, None]).sum(1))


def test_equal_scores_without_end() -> None:
    """All scores tie, or all are -inf: scores equal to a threshold must not pass it for ever."""
    for value in (1.0, -np.inf, np.inf):
        left, right = np.full((300, 1), value, np.float32), np.ones((400, 1), np.float32)
        found = csls_means(left, right, 5, similarity="dot")
        assert (found.queries == value).all()
        assert (found.entities == value).all()


def test_few_pairs_many_answers_and_hubs_are_counted_one_direction_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A joint pass over all candidates of both sides would cost more than it saves."""
    rng = np.random.default_rng(4)
    left, right = rng.standard_normal((2, 60, 4))
    taken: list[bool] = []
    counted = _core.rank_grid

    def spy(*arguments: Any) -> Any:
        taken.append(True)
        return counted(*arguments)

    monkeypatch.setattr(_core, "rank_grid", spy)
    ids = np.arange(60)
    one_to_one, few = np.stack([ids, ids], 1), np.stack([ids[:9], ids[:9]], 1)
    hub = np.stack([ids, np.where(ids < 30, 7, ids)], 1)
    dense = np.stack(np.meshgrid(ids[:40], ids), -1).reshape(-1, 2)
    none = np.zeros((0, 2), np.int64)
    for pairs, known, at_once in (
        (one_to_one, none, True),
        (few, none, False),
        (hub, none, False),
        (one_to_one, dense, False),
        (one_to_one, dense[:300], True),
    ):
        taken.clear()
        drawn = Aligned(left, right, pairs, known, (None, None), "dot")
        got = rank_both(left, right, drawn.sides(), similarity="dot")
        for ranks, expected in zip(got, drawn.expected(left @ right.T, "raise"), strict=True):
            assert np.abs(ranks.above - expected.above).max() <= 1  # products round unlike
        assert bool(taken) == at_once


@given(aligned(nan=False), st.sampled_from([1, 2, 5, 300]), st.data())
def test_best_that_would_leave_what_they_hold(drawn: Aligned, k: int, data: st.DataObject) -> None:
    scores = score(drawn.left, drawn.right, drawn.similarity)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    rows = rng.integers(0, len(drawn.left), 7)
    holders = rng.integers(0, len(drawn.left) + 1, len(drawn.right))
    held = scores[rng.integers(0, len(drawn.left), len(drawn.right)), np.arange(len(drawn.right))]
    held = np.where(rng.random(len(held)) < 0.3, -np.inf, held).astype(scores.dtype)
    pairs = Embeddings(drawn.left, drawn.right, drawn.similarity, None, None)
    found = topk_open_embeddings(
        pairs, k, Rules(nan="omit"), rows=rows, current_matches=CurrentMatches(held, holders)
    )
    most = min(k, len(drawn.right))
    for row, ids, best in zip(rows, found.ids, found.scores, strict=True):
        s = scores[row]
        wanted = np.flatnonzero((s > held) | ((s == held) & (row < holders)))
        order = wanted[np.argsort(-s[wanted], kind="stable")][:most]
        assert ids[: len(order)].tolist() == order.tolist()
        assert (ids[len(order) :] == -1).all()
        assert same_bits(best[: len(order)], s[order])


def test_nobody_keeps_more_than_there_are() -> None:
    """k is larger than one side, and only the other side needs memory for it."""
    left, right = np.ones((2, 1), np.float32), np.arange(5000, dtype=np.float32)[:, None]
    found = csls_means(left, right, 4000, similarity="dot")
    assert found.queries.tolist() == [np.float32(np.arange(1000, 5000).mean())] * 2
    assert (found.entities == np.arange(5000)).all()


def test_many_tasks_of_one_pair_are_counted_once() -> None:
    """A query has more tasks than are counted jointly; all use the columns of the first."""
    left, right = np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32)
    zeros = np.zeros(70_000, np.int64)
    with_all = np.arange(3)
    vectors = (_core.Scores(array, "float32", False) for array in (left, right))
    sides = _core.Grid(_core.Embeddings(*vectors, "dot"), with_all, with_all)
    for found in _core.rank_grid(sides, _core.Tasks(zeros, zeros), None, "raise", 0, 1):
        assert found.fault is None
        assert (found.arrays["above"] == 0).all()
        assert (found.arrays["tied"] == 1).all()
        assert (found.arrays["candidates"] == 3).all()


BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "k": ({"k": 0}, ValueError, "k: expected an integer >= 1"),
    "k of floats": ({"k": 2.0}, TypeError, "k: expected an integer"),
    "similarity": ({"similarity": "cos"}, ValueError, "similarity: expected one of dot, cosine"),
    "no pair": ({"candidates": np.arange(2)}, TypeError, r"candidates: .* \(left_ids, right_ids\)"),
    "nobody": ({"candidates": ([], None)}, ValueError, "candidates: expected at least one entity"),
    "far": ({"candidates": (None, [9])}, ValueError, r"candidates\[1\]: expected ids of .* 0 to 4"),
    "floats": ({"candidates": ([0.5], None)}, TypeError, r"candidates\[0\]: expected integers"),
    "depth": ({"candidates": ([[0]], None)}, ValueError, r"candidates\[0\]: expected a 1-D array"),
    "nan": ({"nan": "skip"}, ValueError, "nan: expected one of raise, worst, omit"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_of_means(name: str) -> None:
    options, kind, message = BAD[name]
    refusal(kind, message, csls_means, np.eye(4), np.ones((5, 4)), **options)


def test_means_that_do_not_fit() -> None:
    left, right = np.eye(3), np.ones((2, 3))
    good = csls_means(left, right, 1)
    for csls, kind, message in (
        (10, TypeError, "csls: expected a CSLS, as csls_means gives it, got int"),
        (good._replace(queries=good.entities), ValueError, "csls: .* queries, one float for each"),
        (good._replace(entities=[1, 2]), ValueError, "csls: expected 2 means for entities"),
    ):
        refusal(kind, message, tr.rank_embeddings, left, right, 0, csls=csls)


def test_no_matrix_is_made(run_python: Run) -> None:
    """Both passes over 6,000 x 6,000 pairs, whose scores would take 144 MB, need at most 30 MB."""
    code = """
import resource
import numpy as np
from truerank.alignment import csls_means
from truerank.alignment.both_directions import rank_both
from truerank.embeddings.vectors import Embeddings
from truerank.tasks.side_tasks import SideTasks

rng = np.random.default_rng(0)
left, right = rng.standard_normal((2, 6000, 8), dtype=np.float32)
ids = np.arange(6000)
sides = {
    side: SideTasks(side, ids[:, None], ids, ids, 6000)
    for side in ("left_to_right", "right_to_left")
}
csls_means(left[:9], right[:9], 3)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rank_both(Embeddings(left, right, "cosine", None, None, csls_means(left, right)), sides)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    assert int(run_python(code)) < 30_000
