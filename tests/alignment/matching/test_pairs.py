"""Each rule of inference against its definition: which pairs are found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles.embeddings import scored_by
from oracles.matching import pairs_of
from strategies.score_matrices import METHODS, Array, lists_of_ids, matrices
from support.examples import examples
from truerank.alignment import csls_means, infer

pytestmark = pytest.mark.python_only


RULES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "right_to_left": {"direction": "right_to_left"},
    "mutual": {"method": "mutual"},
    "stable": {"method": "stable"},
}
# Numbers whose products are infinite, which is a score, or of 0 times infinity, which is none.
ODD = [1.0, 2.0, 0.0, -1.0, -np.inf, np.inf, np.nan]


def check(found: Any, rule: str, scores: Array, taking_part: Sequence[Array] = ()) -> None:
    """Compare with the definition of a rule; `taking_part`: which ids do so, if not all."""
    ids = taking_part or [np.arange(n) for n in scores.shape]
    places = pairs_of(rule, scores[np.ix_(*ids)])
    pairs = sorted((int(ids[0][i]), int(ids[1][j])) for i, j in places)
    assert found.pairs.tolist() == [list(pair) for pair in pairs]
    assert found.pairs.shape == (len(pairs), 2)
    assert found.pairs.dtype == np.int64
    assert found.scores.dtype == scores.dtype
    np.testing.assert_array_equal(found.scores, [scores[pair] for pair in pairs])
    assert not found.pairs.flags.writeable
    assert not found.scores.flags.writeable


@given(st.sampled_from(list(RULES)), matrices(), st.integers(1, 12))
@examples(200)
def test_of_a_matrix(rule: str, scores: Array, k: int) -> None:
    check(infer(scores, None, nan="omit", k=k, **RULES[rule]), rule, scores)


@given(st.data(), st.sampled_from(list(RULES)), st.integers(0, 2**32), st.booleans(), st.booleans())
@examples(250)
def test_of_vectors(data: st.DataObject, rule: str, seed: int, odd: bool, as_matrix: bool) -> None:
    """If only some entities take part, the means of CSLS are over these."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(["f2", "f4", "f8"], 2)
    most = rng.integers(1, 4)
    sizes = rng.integers(1, 15, 2)
    if odd:
        left, right = (rng.choice(np.array(ODD, np.float32), (n, 1)) for n in sizes)
    else:
        left, right = (
            rng.integers(-most, most + 1, (n, 2)).astype(kind)
            for n, kind in zip(sizes, kinds, strict=True)
        )
    similarity = "dot"
    csls = None
    nan = "omit"
    if not odd:
        nan = "raise"
        names = ["dot", "cosine", "l1", "l2", "inverse_l1", "inverse_l2"]
        similarity = data.draw(st.sampled_from(names))
        csls = data.draw(st.sampled_from([None, 1, 2, 50]))
    ids = [data.draw(st.none() | lists_of_ids(st.integers(0, n - 1), n, 1)) for n in sizes]
    taking_part = [
        np.arange(n) if some is None else np.unique(some)
        for n, some in zip(sizes, ids, strict=True)
    ]
    means = None
    if csls is not None:
        means = csls_means(
            left,
            right,
            csls,
            **scored_by(similarity),
            candidates=tuple(taking_part),
        )
    given: dict[str, Any] = {"left": left, "right": right, "similarity": similarity}
    if as_matrix:
        plain = tr.score_embeddings(left, right, **scored_by(similarity))
        given = {"left": plain, "right": None}
    found = infer(
        **given,
        csls=data.draw(st.sampled_from([csls, means])),
        nan=nan,
        left_ids=ids[0],
        right_ids=ids[1],
        k=data.draw(st.sampled_from([1, 2, 3, 32])),
        **RULES[rule],
    )
    scores = tr.score_embeddings(left, right, **scored_by(similarity), csls=means)
    check(found, rule, scores, taking_part)
    np.testing.assert_array_equal(found.left_ids, taking_part[0])
    np.testing.assert_array_equal(found.right_ids, taking_part[1])
    assert found.shape == scores.shape


@pytest.mark.parametrize("method", METHODS)
def test_the_threshold_leaves_out_what_is_below(method: str) -> None:
    """Pairs at the threshold stay, and no entity is matched again."""
    rng = np.random.default_rng(3)
    scores = rng.standard_normal((12, 15)).astype(np.float32)
    whole = infer(scores, None, method=method)
    thresholds = [-np.inf, np.inf, 0]
    thresholds.extend(whole.scores[:4].tolist())
    for threshold in thresholds:
        found = infer(scores, None, method=method, threshold=threshold)
        kept = whole.scores.astype(float) >= threshold
        np.testing.assert_array_equal(found.pairs, whole.pairs[kept])
        np.testing.assert_array_equal(found.scores, whole.scores[kept])
        assert found.threshold == threshold
    assert whole.threshold is None
    third = infer(np.full((1, 1), 0.1, np.float32), None, method=method, threshold=0.1)
    assert len(third) == 1  # float32's 0.1 is above 0.1
    assert not len(infer(np.full((1, 1), 0.7, np.float32), None, method=method, threshold=0.7))


@pytest.mark.parametrize("method", METHODS)
def test_nobody_on_a_side(method: str) -> None:
    for n, m in ((0, 3), (3, 0), (0, 0)):
        left = np.zeros((n, 2), np.float32)
        right = np.zeros((m, 2), np.float32)
        for found in (
            infer(left, right, method=method),
            infer(left, right, method=method, csls=2),
            infer(np.zeros((n, m)), None, method=method),
            infer(np.zeros((n, m)), None, method=method, csls=2),
            infer(np.ones((3, 2)), np.ones((4, 2)), method=method, left_ids=[]),
            infer(np.ones((3, 4)), None, method=method, right_ids=[], csls=1),
        ):
            assert found.pairs.shape == (0, 2)
            assert found.total == 0
    sparse = infer(np.zeros((0, 3)), None, method="optimal", candidates_per_entity=2)
    assert sparse.pairs.shape == (0, 2)
