"""What `infer` takes, refuses and finds: each rule against its definition, and in bounded work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles.embeddings import scored_by
from oracles.matching import Array, best, pairs_of
from strategies.alignments import matrices
from support.environment import Run
from support.examples import examples
from support.outcomes import quietly
from support.problems import as_dtype
from support.refusals import T, V, refusal
from truerank.alignment import CSLS, csls_means, infer, matching
from truerank.inputs.rules import PLAIN

pytestmark = pytest.mark.python_only

RULES = ("greedy", "mutual", "stable")
METHODS = (*RULES, "optimal")
# Numbers whose products are infinite, which is a score, or of 0 times infinity, which is none.
ODD = [1.0, 2.0, 0.0, -1.0, -np.inf, np.inf, np.nan]


def check(found: tuple[Array, Array], rule: str, scores: Array) -> None:
    """Compare with the definition of a rule."""
    pairs, scores_of_pairs = found
    expected = pairs_of(rule, scores)
    assert pairs.tolist() == list(map(list, expected))
    assert pairs.shape == (len(expected), 2)
    assert pairs.dtype == np.int64
    assert scores_of_pairs.dtype == scores.dtype
    np.testing.assert_array_equal(scores_of_pairs, [scores[pair] for pair in expected])


def of_any_size(most: int) -> st.SearchStrategy[Array]:
    sizes = st.tuples(st.integers(0, most), st.integers(0, most))
    return sizes.flatmap(lambda shape: matrices(shape, kinds=(np.float32, np.float64)))


AGREEING: dict[str, Callable[[int], tuple[Array, Array]]] = {
    "tied": lambda n: (np.zeros(n), np.zeros(n)),
    "rights": lambda n: (np.zeros(n), np.arange(n) * 7919 % n),
    "the last are the best": lambda n: (np.arange(n), np.zeros(n)),
    "the first are the best": lambda n: (-np.arange(n), np.arange(n)),
    "one order of either side": lambda n: (np.arange(n) * 7907 % n, np.arange(n) * 7919 % n),
}


@st.composite
def nearly_agreeing(draw: st.DrawFn) -> Array:
    """Draw sums: entities agree whom they prefer, so that many are refused."""
    n = draw(st.integers(1, 45))
    scores = np.add.outer(*AGREEING[draw(st.sampled_from(sorted(AGREEING)))](n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scores += rng.integers(0, draw(st.integers(1, 4)), scores.shape)
    width = draw(st.integers(1, n))
    scores = scores.astype(np.float32)[:, :width] + np.float32(0.5)  # They are no ranks.
    return scores.T if draw(st.booleans()) else scores


@given(st.sampled_from(RULES), of_any_size(8) | nearly_agreeing(), st.integers(1, 12))
@examples(250)
def test_of_a_matrix(rule: str, scores: Array, height: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "BLOCK_ROWS", height)
        check(infer(scores, None, nan="omit", method=rule), rule, scores)


@given(st.data(), st.sampled_from(RULES), st.integers(0, 2**32), st.booleans())
@examples(250)
def test_of_vectors(data: st.DataObject, rule: str, seed: int, odd: bool) -> None:
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
    means = None
    if csls is not None:
        means = csls_means(left, right, csls, **scored_by(similarity))
    options: dict[str, Any] = {"similarity": similarity, "method": rule, "nan": nan}
    scores = tr.score_embeddings(left, right, **scored_by(similarity), csls=means)
    for given_csls in (csls, means):
        found = quietly(infer, left, right, csls=given_csls, **options)
        check(found, rule, scores)
    check(infer(scores, None, method=rule, nan=nan), rule, scores)


@pytest.mark.parametrize("method", METHODS)
def test_what_has_nothing_but_minus_infinity_is_paired_with_nobody(method: str) -> None:
    scores = np.array([[1, 2, 0], [-np.inf] * 3, [3, 2, 1]])
    for side, matrix in enumerate((scores, scores.T)):
        pairs, scores_of_pairs = infer(matrix, None, method=method)
        assert set(pairs[:, side].tolist()) == {0, 2}
        assert np.isfinite(scores_of_pairs).all()
    pairs, _ = infer(np.array([[1.0], [-np.inf]]), [[1.0], [2]], method=method, similarity="dot")
    assert pairs[:, 0].tolist() == [0]
    for nothing in (np.full((2, 3), -np.inf), np.zeros((0, 3)), np.zeros((3, 0))):
        pairs, scores_of_pairs = infer(nothing, None, method=method)
        assert (pairs.shape, scores_of_pairs.shape) == ((0, 2), (0,))
    pairs, scores_of_pairs = infer(np.zeros((0, 2)), np.zeros((3, 2)), method=method, csls=2)
    assert (pairs.shape, scores_of_pairs.shape) == ((0, 2), (0,))


@pytest.mark.parametrize("method", METHODS)
def test_the_threshold_leaves_out_what_is_below(method: str) -> None:
    """Pairs at the threshold stay, and no entity is matched again."""
    rng = np.random.default_rng(3)
    scores = rng.standard_normal((12, 15)).astype(np.float32)
    pairs, all_scores = infer(scores, None, method=method)
    thresholds = [-np.inf, np.inf, 0]
    thresholds.extend(all_scores[:4].tolist())
    for threshold in thresholds:
        some_pairs, some_scores = infer(scores, None, method=method, threshold=threshold)
        reaches = all_scores.astype(float) >= threshold
        np.testing.assert_array_equal(some_pairs, pairs[reaches])
        np.testing.assert_array_equal(some_scores, all_scores[reaches])
    for score, count in ((0.1, 1), (0.7, 0)):  # float32's 0.1 is above 0.1, and its 0.7 below 0.7
        one = np.full((1, 1), score, np.float32)
        assert len(infer(one, None, method=method, threshold=score)[0]) == count


WIDE = {"f2": "f4", "f4": "f4", ">f4": "f4", "u2": "f4", "u8": "f8", "bfloat16": "f4"}


@pytest.mark.parametrize("kind", WIDE)
def test_inputs(kind: str, tmp_path: Path) -> None:
    """Of any dtype and layout, or in files, which are mapped, and not copied if they are floats."""
    scores = np.random.default_rng(5).integers(0, 90, (7, 9))
    matrix = scores.astype(as_dtype(kind))
    matrix.flags.writeable = False
    forms: list[Any] = [matrix, np.repeat(matrix, 2, axis=1)[:, ::2]]
    if kind != "bfloat16":
        np.save(tmp_path / "S.npy", np.asfortranarray(matrix))
        np.save(tmp_path / "part-0.npy", matrix[:2])
        np.save(tmp_path / "part-1.npy", matrix[2:])
        forms += [str(tmp_path / "S.npy"), [tmp_path / "part-0.npy", tmp_path / "part-1.npy"]]
    if kind == "f4":
        opened = matching.read_matrix(tmp_path / "S.npy", "cosine", None, PLAIN)
        assert not opened.flags.owndata  # It is mapped.
        assert not opened.flags.writeable
    for method in METHODS:
        pairs, scores_of_pairs = infer(scores.astype(float), None, method=method)
        for form in forms:
            of_form = infer(form, None, method=method)
            np.testing.assert_equal(of_form, (pairs, scores_of_pairs))
            assert of_form[1].dtype == WIDE[kind]
    if kind == "f2":
        raw = infer(matrix.view(np.uint16), None, dtype="float16")
        np.testing.assert_equal(raw, infer(matrix, None))


@pytest.mark.parametrize("method", METHODS)
def test_inputs_of_vectors(method: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    left, right = (rng.integers(-9, 9, (n, 3)).astype(np.float32) / 4 for n in (11, 12))
    options: dict[str, Any] = {"method": method, "similarity": "dot"}
    expected = infer(left, right, **options)
    np.save(tmp_path / "left.npy", left)
    brain = [array.astype(as_dtype("bfloat16")) for array in (left, right)]
    raw = [side.view(np.uint16) for side in brain]
    for sides in ((tmp_path / "left.npy", right.tolist()), (left[:, ::-1], right[:, ::-1]), brain):
        np.testing.assert_equal(infer(*sides, **options), expected)
    np.testing.assert_equal(infer(*raw, **options, dtype="bfloat16")[0], expected[0])
    scores = tr.score_embeddings(left, right, similarity="dot")
    np.testing.assert_equal(infer(scores, None, method=method), expected)


def test_nan_is_refused_with_its_entities() -> None:
    left, right = np.ones((4, 2), np.float32), np.ones((5, 2), np.float32)
    right[3, 0] = np.nan
    scores = np.ones((5, 4))
    scores[3, 2] = np.nan
    means = csls_means(left, left, 2)._replace(queries=np.array([1, 1, np.nan, 1], np.float32))
    for method in METHODS:
        for arguments, place in (
            ({"left": left, "right": right}, "row 0, column 3"),
            ({"left": left, "right": right, "csls": 2}, r"row \d, column 3"),
            ({"left": left, "right": 2 * left, "csls": means}, "row 2, column 0"),
            ({"left": scores, "right": None}, "row 3, column 2"),
        ):
            refusal(ValueError, f"^scores: .*{place} is NaN", infer, **arguments, method=method)


ALONE = {"right": None}
TOTAL: dict[str, Any] = {"method": "optimal", **ALONE}
INFINITE = np.array([[0.5, 0.5, np.inf], [0.5, 0.5, np.inf]])


@pytest.mark.parametrize(
    ("kind", "argument", "options"),
    [
        (V, "method", {"method": "best"}),
        (V, "similarity", {"similarity": "dot", **ALONE}),
        (V, "nan", {"nan": "worst"}),
        (V, "threshold", {"threshold": np.nan}),
        (V, "csls", {"csls": 0}),
        (V, "csls", {"csls": CSLS(np.zeros(3), np.zeros(3), 1)}),
        (V, "csls: expected nothing with a matrix, got 2$", {"csls": 2, **ALONE}),
        (V, "right", {"right": np.ones((4, 3))}),
        (V, "left", {"left": np.ones(2), **ALONE}),
        (T, "left", {"left": [[True]], **ALONE}),
        (V, r"scores: .*below inf for a sum.* row 0, column 2", {"left": INFINITE, **TOTAL}),
        (V, r"scores: .*below inf for a sum.* row 2, column 0", {"left": INFINITE.T, **TOTAL}),
        (V, r"left: .* up to 2\*\*53", {"left": [[2**53 + 1]], **ALONE}),
    ],
)
def test_what_is_refused(kind: type[Exception], argument: str, options: dict[str, Any]) -> None:
    good: dict[str, Any] = {"left": np.ones((3, 2)), "right": 2 * np.ones((4, 2))}
    refusal(kind, f"^{argument}", infer, **good | options)


def test_a_matrix_of_both_graphs_is_a_control_of_which_a_warning_says_so() -> None:
    both = np.random.default_rng(0).normal(size=(8, 3))
    both[4:] = both[:4] + 1e-3
    for left, right in ((both[:4], both), (both, both[4:]), (both, both)):
        with pytest.warns(UserWarning, match="^left, right: all vectors of one side") as caught:
            pairs, _ = infer(left, right)
        assert [Path(warning.filename).name for warning in caught] == [Path(__file__).name]
        assert len(pairs) == len(left)
    assert (pairs[:, 0] == pairs[:, 1]).all()
    n = 4
    assert infer(both[:n], both[n:])[0].tolist() == [[i, i] for i in range(n)]
    some = both[n:].copy()
    some[1:] = both[1:n]  # Names may be equal.
    assert infer(both[:n], some)[0].tolist() == [[i, i] for i in range(n)]
    assert infer(both[:1], both)[0].tolist() == [[0, 0]]


# -- optimal pairs ---------------------------------------------------------------------------------


@given(of_any_size(6))
def test_the_total_is_the_highest_of_as_many_pairs_as_can_be(scores: Array) -> None:
    scores[scores == np.inf] = 7
    pairs, scores_of_pairs = infer(scores, None, method="optimal", nan="omit")
    left, right = pairs.T
    assert (np.diff(left) > 0).all()
    assert len(np.unique(right)) == len(right)
    np.testing.assert_array_equal(scores_of_pairs, scores[left, right])
    assert np.isfinite(scores_of_pairs).all()
    total = float(scores_of_pairs.sum(dtype=np.float64))
    assert (len(pairs), pytest.approx(total, rel=1e-9, abs=1e-9)) == best(scores)


def test_scipy_is_imported_by_optimal_alone(run_python: Run) -> None:
    run_python(
        """
import sys
from truerank.alignment import infer
for method in ("greedy", "mutual", "stable"):
    infer([[0.5, 0.7]], None, method=method)
assert not any(name.partition(".")[0] == "scipy" for name in sys.modules)
"""
    )


# -- work and memory -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", AGREEING)
def test_all_agree_whom_they_prefer(name: str) -> None:
    """Every round of proposals then matches one pair, and the first of both orders are paired."""
    n = 500
    sides = [side.astype(np.float32) for side in AGREEING[name](n)]
    pairs, _ = infer(np.add.outer(*sides) + np.float32(0.5), None, method="stable")
    expected = np.stack([np.argsort(-side, kind="stable") for side in sides], axis=1)
    np.testing.assert_array_equal(pairs, expected[np.argsort(expected[:, 0])])


def test_the_most_similar_are_found_without_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Embeddings give their top scores alone."""
    rng = np.random.default_rng(300)
    left = rng.standard_normal((300, 16)).astype(np.float32) + 0.7  # with hubs
    right = left + 1.5 * rng.standard_normal((300, 16)).astype(np.float32)
    matrix = tr.score_embeddings(left, right, similarity="cosine")
    monkeypatch.setattr("truerank.embeddings.vectors.Embeddings.score", None)
    for method in ("greedy", "mutual"):
        found = infer(left, right, method=method)
        np.testing.assert_equal(found, infer(matrix, None, method=method))


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="the system does not say it")
def test_what_memory_cannot_hold_is_refused_before_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scores = np.eye(3, 4, dtype=np.float32)
    monkeypatch.setattr(matching, "KEPT_BYTES", dict.fromkeys(METHODS, 1 << 60))
    monkeypatch.setattr(matching, "MATCHERS", {})
    monkeypatch.setattr("truerank.embeddings.vectors.Embeddings.score", None)
    for sides in ((scores, None), (scores, 2 * scores)):
        for method in ("stable", "optimal"):
            with pytest.raises(MemoryError, match=r"^3 x \d scores take .* are at hand$"):
                infer(*sides, method=method)
