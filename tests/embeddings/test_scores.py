"""Fused scoring: the last bit of a score, sums of integers, and counts."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import truerank as tr
from oracles.counting import count, tasks_of
from oracles.embeddings import EXACT, SIMILARITIES, same_bits, score, scored_by
from strategies.embeddings import (
    Vectors,
    check,
    check_pairs,
    check_top_k,
    tasks,
    vectors,
)
from support.environment import Run
from support.examples import examples
from support.outcomes import Problem
from support.problems import LAYOUTS, Array, assert_same, csr, in_blocks, unaligned
from truerank import _core
from truerank.alignment import CSLS

pytestmark = pytest.mark.usefixtures("reports_at_once")


def test_every_similarity_has_an_oracle() -> None:
    """A new one gets its formula, and its rounding, in oracles/embeddings.py."""
    assert set(SIMILARITIES) == set(_core.similarities)


WIDE = [0.0, -0.0, 5e-324, -1.5e-323, 1e-310, 3e-200, -1e-170, 1e-154, -2.5e-140, 1e-100, 1.0]
WIDE += [-3e100, 1e150, 1.2e154, -1.4e154, 7e200, 1.1e308, -1.7e308, np.inf, np.nan]


def test_cosines_of_all_magnitudes() -> None:
    """Where the exact cosine is a normal number, the score is within some ulp of it."""
    rng = np.random.default_rng(13)
    vectors = rng.choice(WIDE, (90, 3))
    vectors[0] = (1e200, 1e-100, 0)
    vectors[1] = (0, 1, 0)
    vectors[2] = (5e-324, 5e-324, 0)
    scores = tr.score_embeddings(vectors[:12], vectors, similarity="cosine")
    assert same_bits(scores, score(vectors[:12], vectors, "cosine"))
    finite = np.isfinite(vectors).all(axis=1)
    assert np.isnan(scores[:, ~finite]).all()
    assert (scores[:, ~vectors.any(axis=1)] == 0)[finite[:12]].all()
    checked = 0
    with localcontext(Context(60)):
        for i, j in np.ndindex(scores.shape):
            if finite[i] and finite[j] and vectors[i].any() and vectors[j].any():
                q, e = (list(map(Decimal, vectors[at].tolist())) for at in (i, j))
                lengths = (sum(x * x for x in q) * sum(x * x for x in e)).sqrt()
                terms = [x * y / lengths for x, y in zip(q, e, strict=True)]
                error = abs(Decimal(float(scores[i, j])) - sum(terms))
                assert error <= Decimal("2e-15") * sum(map(abs, terms)) + Decimal("2e-323"), (q, e)
                checked += 1
    assert checked > 200
    assert scores[0, 1] == pytest.approx(1e-300, rel=1e-15)
    assert scores[2, 1] == pytest.approx(0.5**0.5, rel=1e-15)


THREADED = [pytest.param("l2", marks=pytest.mark.threads)]
OTHERS = [name for name in SIMILARITIES if name != "l2"]


@pytest.mark.sweep
@pytest.mark.parametrize("similarity", OTHERS + THREADED)
def test_threads_and_blocks_change_nothing(similarity: str) -> None:
    """With vectors for several threads and tiles, with ties and a filter."""
    rng = np.random.default_rng(8)
    entities = (rng.integers(-8, 9, (1501, 30)) / 64).astype(np.float32)
    queries = (rng.integers(-8, 9, (97, 30)) / 64).astype(np.float32)
    filter = [rng.integers(0, 1501, 20).tolist() for _ in queries]
    targets = rng.integers(0, 1501, 97)
    vectors = queries, entities
    options = scored_by(similarity) | {"threads": 1}
    scores = tr.score_embeddings(*vectors, **options)
    if similarity in EXACT:
        assert same_bits(scores[:5], score(queries[:5], entities, similarity))
    expected = count(scores, targets.tolist(), filter=filter)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :10]
    for threads, block in ((1, None), (2, None), (3, 1), (4, 50), (None, 1000)):
        options = scored_by(similarity) | {"threads": threads}
        assert same_bits(tr.score_embeddings(*vectors, **options), scores)
        options["block"] = block
        rules = {"filter": csr(filter), "audit": True}
        ranks = in_blocks(tr.rank_embeddings)(*vectors, targets, **rules, **options)
        assert_same(ranks, expected, audit=True)
        top = in_blocks(tr.topk_embeddings)(*vectors, 10, **options)
        np.testing.assert_array_equal(top.ids, order)
        assert same_bits(top.scores, np.take_along_axis(scores, order, axis=1))


def test_filters_far_longer_than_the_candidates() -> None:
    rng = np.random.default_rng(4)
    entities, queries = (rng.standard_normal((n, 3)).astype(np.float32) for n in (5000, 20))
    chosen = [sorted(rng.choice(5000, 30, replace=False).tolist()) for _ in queries]
    targets = [row[7] for row in chosen]
    filter = [sorted(rng.choice(5000, 2500, replace=False).tolist())] * len(queries)
    scores = tr.score_embeddings(queries, entities)
    ranks = tr.rank_embeddings(queries, entities, targets, candidates=chosen, filter=filter)
    assert_same(ranks, count(scores, targets, candidates=chosen, filter=filter))


DIGESTS = """
import hashlib, sys
import numpy as np
import truerank as tr
from truerank.alignment import csls_means
from truerank._core import similarities as SIMILARITIES

rng = np.random.default_rng(9)
with np.errstate(all="ignore"):
    for dtype in ("float32", "float64", "float16"):
        entities = (rng.standard_normal((203, 26)) / 9).astype(dtype)
        queries = (rng.standard_normal((19, 26)) / 9).astype(dtype)
        entities[5, 3], entities[6, :], queries[7, 2] = np.inf, np.nan, 1e-7
        entities[8], queries[9], queries[10] = 6e4, -6e4, 0
        entities[11] = queries[3]
        bias = rng.standard_normal(203).astype("float32")
        for similarity in SIMILARITIES:
            whole = hashlib.sha256()
            scored = {"similarity": similarity}
            if similarity == "complex_l1":
                scored["layout"] = "interleaved"
            means = csls_means(queries, entities, 3, **scored, nan="omit")
            for added, csls in ((None, None), (bias, None), (None, means)):
                options = scored | {"bias": added, "csls": csls}
                scores = tr.score_embeddings(queries, entities, **options)
                scores[np.isnan(scores)] = np.nan
                whole.update(scores.tobytes())
                ranks = tr.rank_embeddings(
                    queries, entities, np.arange(19) + 11, nan="worst", audit=True, **options
                )
                best = tr.topk_embeddings(queries, entities, 20, nan="omit", **options)
                counts = (ranks.above, ranks.tied, ranks.candidates, *ranks.audit[:3], best.ids)
                for array in counts:
                    whole.update(array.tobytes())
            print(dtype, similarity, whole.hexdigest())
"""


def test_instruction_sets_change_no_bit(run_python: Run) -> None:
    found = {isa: run_python(DIGESTS, env={"TRUERANK_ISA": isa}) for isa in _core.isas()}
    assert all(text.count("\n") == 3 * len(SIMILARITIES) for text in found.values())
    digests = [text.splitlines() for text in found.values()]
    for other in digests[1:]:
        assert other == digests[0]


LIMITED = """
import resource, sys
import numpy as np
import truerank as tr

queries = np.full((5, 16), 0.125, np.float32)
tr.rank_embeddings(queries, np.ones((9, 16), np.float16), 0, threads=1)  # what is kept for good
with open("/proc/self/status") as status:
    data = next(line for line in status if line.startswith("VmData"))
limit = int(data.split()[1]) * 1024 + (16 << 20)
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
for entities in (sys.argv[1], np.load(sys.argv[1], mmap_mode="r")):
    for similarity in ("dot", "l1", "cosine", "complex_l1"):
        options = {"similarity": similarity, "threads": 1}
        if similarity == "complex_l1":
            options["layout"] = "halves"
        assert tr.rank_embeddings(queries, entities, 7, **options).tied.tolist() == [500_000] * 5
        assert tr.topk_embeddings(queries, entities, 2, **options).ids.tolist() == [[0, 1]] * 5
        assert len(tr.score_embeddings(queries, entities, [499_999] * 5, **options)) == 5
print("done")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a limit of Linux")
def test_mapped_entities_are_not_copied(run_python: Run, tmp_path: Path, sanitized: bool) -> None:
    if sanitized:
        pytest.skip("a sanitizer has memory of its own")
    path = tmp_path / "entities.npy"
    np.save(path, np.zeros((500_000, 16), np.float32))  # 32 MB
    assert run_python(LIMITED, path, env={"OMP_NUM_THREADS": "1"}).strip() == "done"
    os.unlink(path)


@pytest.mark.smoke
@given(
    st.booleans().flatmap(lambda nan: vectors(nan=nan)),
    st.data(),
    st.booleans(),
    st.sampled_from([False, False, True]),
)
@examples(200)
def test_counts_and_refusals_are_those_of_the_oracle(
    drawn: Vectors, data: st.DataObject, audit: bool, errors: bool
) -> None:
    event(drawn.similarity)
    if len(drawn.entities):
        check(drawn, data.draw(tasks(drawn, errors=errors)), audit=audit)


@given(vectors(nan=True), st.data(), st.booleans(), st.sampled_from([2, 8, 40]))
def test_queries_that_have_many_tasks(
    drawn: Vectors, data: st.DataObject, audit: bool, most: int
) -> None:
    """Some tasks come once, and others many times, with the same lists."""
    if not len(drawn.entities):
        return
    problem = data.draw(tasks(drawn))
    scores = problem.scores
    targets, rows = tasks_of(scores, problem.targets, problem.keywords.get("rows"))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    order = rng.permutation(np.repeat(np.arange(len(targets)), rng.integers(1, most, len(targets))))
    keywords = problem.keywords | {"rows": [rows[task] for task in order]}
    for name in ("filter", "candidates"):
        if name in keywords:
            keywords[name] = [keywords[name][task] for task in order]
            keywords[f"{name}_form"] = "lists int64"
    check(drawn, Problem(scores, [targets[task] for task in order], keywords), audit=audit)


@given(vectors(nan=True), st.data())
def test_pairs_are_entries_of_the_matrix(drawn: Vectors, data: st.DataObject) -> None:
    height = drawn.height
    columns = len(drawn.entities)
    rows = []
    if height:
        rows = data.draw(st.lists(st.integers(0, height - 1), max_size=20))
    targets = []
    if columns:
        targets = [data.draw(st.integers(0, columns - 1)) for _ in rows]
    check_pairs(drawn, rows, targets, data.draw(st.sampled_from([None, 1, 2, 3])))


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_long_vectors(similarity: str) -> None:
    rng = np.random.default_rng(3)
    d = 1022
    made = [(rng.standard_normal((n, d)) / (2 * np.sqrt(d))).astype(np.float32) for n in (3, 18)]
    queries = made[0]
    entities = made[1].astype(np.float16)
    expected = count(Vectors(queries, entities, similarity).scores(), [0, 17, 5])
    assert_same(
        tr.rank_embeddings(queries, entities, [0, 17, 5], **scored_by(similarity)),
        expected,
    )
    Vectors(queries[:2], entities[:3].astype(np.float64), similarity).scores()


@pytest.mark.smoke
@given(vectors(nan=True), st.data())
@examples(100)
def test_best_is_what_sorting_gives(drawn: Vectors, data: st.DataObject) -> None:
    event(drawn.similarity)
    columns = len(drawn.entities)
    k = data.draw(st.sampled_from([1, 2, 3, 10, columns, columns + 1, 200]).filter(bool))
    if not columns or data.draw(st.integers(0, 3)) == 0:  # a task for each query
        check_top_k(drawn, k, Problem(np.zeros((1, 1)), 0, {"nan": "worst"}))
        return
    check_top_k(drawn, k, data.draw(tasks(drawn)))


# --- quantised vectors: sums of integers, as NumPy has them in int64; of l2 the square is taken,
# whose order is the same

SUMS: dict[str, Callable[[Array, Array], Array]] = {
    "dot": lambda q, e: (q * e).sum(axis=-1),
    "l1": lambda q, e: -np.abs(q - e).sum(axis=-1),
    "sql2": lambda q, e: -np.square(q - e).sum(axis=-1),
}
SUMS["l2"] = SUMS["sql2"]
RANGES = {"int8": (-128, 127), "uint8": (0, 255), "bool": (0, 1)}


def sums(queries: Array, entities: Array, similarity: str) -> Array:
    """Return what decides the order of all pairs, in int64."""
    matrices = np.atleast_2d(queries).astype(np.int64), entities.astype(np.int64)
    return SUMS[similarity](matrices[0][:, None], matrices[1][None])


def exact_scores(queries: Array, entities: Array, similarity: str, **_: Any) -> Array:
    """Return the scores of all pairs in float64; of l2, the roots."""
    totals = sums(queries, entities, similarity)
    if similarity == "dot":
        return totals.astype(np.float64)
    distances = (-totals).astype(np.float64)
    if similarity == "l2":
        distances = np.sqrt(distances)
    return -distances


def drawn_of(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], *, ends: bool) -> Array:
    """Draw numbers of the whole range, or its ends alone, of which sums are largest."""
    least, most = RANGES[dtype]
    if ends:
        return rng.choice([least, most], shape).astype(dtype)
    return rng.integers(least, most + 1, shape).astype(dtype)


@st.composite
def quantised(draw: st.DrawFn) -> Vectors:
    """Draw vectors of one dtype, of which some repeat; also longer ones than floats can sum."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = draw(st.sampled_from(list(RANGES)))
    q = draw(st.integers(0, 13))
    n = draw(st.one_of(st.sampled_from([1, 16, 17, 65]), st.integers(1, 40)))
    d = draw(st.one_of(st.integers(1, 12), st.sampled_from([259, 1025])))
    ends = draw(st.booleans())
    entities = drawn_of(rng, dtype, (n, d), ends=ends)
    queries = drawn_of(rng, dtype, (q, d), ends=ends)
    if draw(st.booleans()):
        entities = entities[rng.integers(0, n, n)]
        queries[: n // 2] = entities[: min(q, n // 2)]
    names = draw(st.tuples(*[st.sampled_from(list(LAYOUTS))] * 2))
    queries = LAYOUTS[names[0]](queries)
    if q and draw(st.integers(0, 3)) == 0:
        queries = queries[0]
    similarity = draw(st.sampled_from(list(SUMS)))
    return Vectors(queries, LAYOUTS[names[1]](entities), similarity, oracle=exact_scores)


@pytest.mark.smoke
@given(quantised(), st.data(), st.booleans(), st.booleans(), st.sampled_from([1, 3, 200]))
@examples(200)
def test_counts_and_the_top_k_are_those_of_integers(
    drawn: Vectors, data: st.DataObject, errors: bool, audit: bool, k: int
) -> None:
    problem = data.draw(tasks(drawn, errors=errors))
    check(drawn, problem, audit=audit)
    if not errors:
        check_top_k(drawn, k, problem)


@pytest.mark.parametrize("similarity", SUMS)
def test_many_pairs(similarity: str) -> None:
    """Bounds decide most of them; the largest sum is beyond what a float32 holds."""
    rng = np.random.default_rng(4)
    for dtype in RANGES:
        entities = drawn_of(rng, dtype, (700, 300), ends=dtype == "uint8")
        queries = drawn_of(rng, dtype, (30, 300), ends=dtype == "uint8")
        queries[:10] = entities[:10]
        targets = rng.integers(0, 700, 30)
        expected = count(sums(queries, entities, similarity), targets.tolist())
        for threads, block in ((1, None), (2, 7), (5, None)):
            options: dict[str, Any] = {"similarity": similarity, "threads": threads, "block": block}
            ranks = in_blocks(tr.rank_embeddings)(queries, entities, targets, **options)
            assert_same(ranks, expected)


def test_sums_that_a_float32_would_round() -> None:
    """Two entities whose scores differ by 1 at 2^24 and beyond are no tie."""
    queries = np.full((1, 300), 255, np.uint8)
    entities = np.full((3, 300), 255, np.uint8)
    entities[1, 0] = 254
    queries[0, 0] = 1
    assert sums(queries, entities, "dot")[0].tolist() == [19442730, 19442729, 19442730]
    assert tr.rank_embeddings(queries, entities, [0], similarity="dot").tied.tolist() == [2]
    entities[:, 1:] = 0
    queries[0, :2] = (0, 254)  # squared distances of 298 * 255^2 + 254^2 + 0, 1 and 0
    entities[:, 0] = (0, 1, 0)
    roots = np.sqrt(-sums(queries, entities, "l2")[0]).astype(np.float32)
    assert roots[0] == roots[1]
    ranks = tr.rank_embeddings(queries, entities, [1], similarity="l2")
    assert (ranks.above.tolist(), ranks.tied.tolist()) == ([2], [1])


@pytest.mark.parametrize("similarity", SUMS)
@pytest.mark.parametrize("queries", [1, 16, 17])
def test_sums_that_32_bits_would_not_hold(similarity: str, queries: int) -> None:
    """Few queries are summed up in integers, where entities lie, and more by other ways."""
    entities = np.full((3, 40_000), 255, np.uint8)
    entities[1] = 0
    entities[2, 8_190:8_194] = 0
    asked = entities[np.arange(queries) % 2]
    scores = tr.score_embeddings(asked, entities, similarity=similarity)
    np.testing.assert_array_equal(scores, exact_scores(asked, entities, similarity))
    targets = np.full(queries, 2)
    expected = count(sums(asked, entities, similarity), targets.tolist())
    assert_same(tr.rank_embeddings(asked, entities, targets, similarity=similarity), expected)


def vectors_of(dtype: str) -> tuple[Array, Array, Array]:
    """Return queries, entities, and the sums of their products."""
    rng = np.random.default_rng(7)
    queries = drawn_of(rng, dtype, (7, 70), ends=False)
    entities = drawn_of(rng, dtype, (19, 70), ends=False)
    return queries, entities, sums(queries, entities, "dot")


@pytest.mark.parametrize("dtype", RANGES)
def test_files_and_forms(tmp_path: Path, dtype: str) -> None:
    queries, entities, scores = vectors_of(dtype)
    targets = [0, 18, 5, 11, 18, 2, 7]
    np.save(tmp_path / "e.npy", np.asfortranarray(entities))
    for form in (tmp_path / "e.npy", unaligned(entities)):
        kept = tmp_path / f"kept {type(form).__name__}"
        for options in ({}, {"checkpoint": kept}):
            ranks = tr.rank_embeddings(queries, form, targets, **options)
            assert_same(ranks, count(scores, targets))
        np.testing.assert_array_equal(tr.score_embeddings(queries, form), scores)


@pytest.mark.parametrize("backend", ["host", "triton"])
@pytest.mark.parametrize("dtype", RANGES)
def test_tensors(monkeypatch: pytest.MonkeyPatch, dtype: str, backend: str) -> None:
    """On a device they are copied to the host, whatever counts there."""
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("TRUERANK_DEVICE", backend)
    queries, entities, scores = vectors_of(dtype)
    tensors = torch.from_numpy(queries), torch.from_numpy(entities)
    assert_same(tr.rank_embeddings(*tensors, [3] * 7), count(scores, [3] * 7))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_the_top_k_have_the_zeros_that_scores_have(dtype: str) -> None:
    """A squared distance of 0 is one score, whatever sums it up: also its sign."""
    rng = np.random.default_rng(3)
    entities = drawn_of(rng, dtype, (400, 16), ends=False)
    scores = tr.score_embeddings(entities[:64], entities, similarity="sql2")
    top = tr.topk_embeddings(entities[:64], entities, 3, similarity="sql2")
    expected = np.take_along_axis(scores, top.ids, axis=1)
    assert (expected[:, 0] == 0).all()
    np.testing.assert_array_equal(np.signbit(top.scores), np.signbit(expected))


@pytest.mark.parametrize("audit", [False, True])
def test_an_entity_without_a_score_is_no_candidate(audit: bool) -> None:
    entities = np.random.default_rng(4).standard_normal((6, 8))
    entities[3, 2] = np.nan
    ranks = tr.rank_embeddings(entities[:2], entities, [0, 1], nan="omit", audit=audit)
    assert ranks.candidates.tolist() == [5, 5]


def in_lowest_terms(vectors: Array) -> Array:
    """Divide vectors of integers by the greatest common divisors of their components."""
    divisors = np.gcd.reduce(vectors.astype(np.int64), axis=1)
    return vectors / np.maximum(divisors, 1)[:, None].astype(np.float64)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("n_queries", [1, 10, 200])
def test_multiples_of_bytes_have_one_cosine(dtype: str, n_queries: int) -> None:
    """Of 2,000 vectors and their triples; as floats they have other last bits."""
    rng = np.random.default_rng(1)
    for depth in (1, 3, 64, 129):
        least, most = (x // 3 for x in RANGES[dtype])
        vectors = rng.integers(least + 1, most + 1, (2000, depth))
        vectors[::50] = 0
        entities = np.concatenate([vectors, 3 * vectors]).astype(dtype)
        queries = drawn_of(rng, dtype, (n_queries, depth), ends=False)
        scores = tr.score_embeddings(queries, entities, similarity="cosine")
        assert np.count_nonzero(scores[:, :2000] != scores[:, 2000:]) == 0
        terms = in_lowest_terms(queries), in_lowest_terms(entities)
        np.testing.assert_array_equal(scores, tr.score_embeddings(*terms, similarity="cosine"))
        targets = rng.integers(0, 4000, n_queries)
        ranks = tr.rank_embeddings(queries, entities, targets, similarity="cosine")
        assert_same(ranks, count(scores, targets.tolist()))
        assert (ranks.tied >= 2).all()
        top = tr.topk_embeddings(queries, entities, 5, similarity="cosine")
        assert (top.scores == -np.sort(-scores, axis=1)[:, :5]).all()
        others = (top.ids + 2000) % 4000
        given = queries, entities, others[:, :1], top.ids[:, :1]
        assert tr.evaluate_topk(*given, similarity="cosine")["recall@1"] == 1
    if dtype == "int8" and n_queries == 200:
        floats = tr.score_embeddings(queries * 1.0, entities * 1.0, similarity="cosine")
        assert np.count_nonzero(floats[:, :2000] != floats[:, 2000:]) > 100_000
        wide = queries * 1.0, entities * 1.0, others[:, :1], top.ids[:, :1]
        recalls = []
        for tolerance in (0, 1e-12):
            report = tr.evaluate_topk(*wide, similarity="cosine", tolerance=tolerance)
            recalls.append(report["recall@1"])
        assert recalls[0] < 0.95
        assert recalls[1] == 1


@pytest.mark.parametrize("similarity", ["cosine", "inverse_l2", "complex_l1"])
def test_other_similarities_are_those_of_float64(similarity: str) -> None:
    """With a bias and the means of CSLS, too; of cosine, in lowest terms."""
    queries, entities, _ = vectors_of("int8")
    options: dict[str, Any] = scored_by(similarity) | {"bias": np.linspace(0, 1, 19)}
    options["csls"] = CSLS(np.linspace(0, 1, 7), np.linspace(-1, 1, 19), 3)
    wide = queries.astype(np.float64), entities.astype(np.float64)
    if similarity == "cosine":
        wide = in_lowest_terms(queries), in_lowest_terms(entities)
    expected = tr.score_embeddings(*wide, **options)
    np.testing.assert_array_equal(tr.score_embeddings(queries, entities, **options), expected)
