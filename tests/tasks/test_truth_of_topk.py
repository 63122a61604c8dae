"""How `evaluate_topk` looks at a truth: right ones are taken in any order, others refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import truerank as tr
from oracles.index_recall import check_recalls, recall_of_query
from support.examples import examples
from truerank import InputValueError, recall
from truerank.recall import truth as truths

pytestmark = pytest.mark.python_only
Array = NDArray[Any]
DISTANCES = ("l1", "l2", "sql2", "inverse_l1", "inverse_l2")
SIMILARITIES = ("dot", "cosine", *DISTANCES, "complex_l1", "poincare", "maxsim")
DTYPES = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "bool", "complex64")
SETS = examples(80).max_examples  # of each kind and similarity
Q, N, D, TOKENS = 40, 240, 6, 3


def similarities_of(queries: Array, entities: Array, similarity: str, dtype: str) -> Array:
    """Return all similarities by plain sums in a dtype; squares by |q|^2 + |e|^2 - 2 q e.

    By "maxsim" vectors have a second dimension, of tokens.
    """
    parts = np.result_type(dtype, queries.dtype if queries.dtype.kind == "c" else dtype)
    queries, entities = queries.astype(parts), entities.astype(parts)
    if similarity == "maxsim":
        of_tokens = np.einsum("qid,ejd->qeij", queries, entities)
        return of_tokens.max(axis=3).sum(axis=2)  # type: ignore[no-any-return]
    if similarity in ("l1", "inverse_l1", "complex_l1"):
        sums = np.abs(queries[:, None] - entities).sum(axis=2)
        return 1 / (1 + sums) if similarity == "inverse_l1" else -sums
    dots = queries @ entities.T
    squares = [(vectors**2).sum(axis=1) for vectors in (queries, entities)]
    if similarity in ("dot", "cosine"):
        lengths = np.sqrt(squares[0])[:, None] * np.sqrt(squares[1])
        return dots if similarity == "dot" else dots / lengths
    sums = np.maximum(squares[0][:, None] + squares[1] - 2 * dots, 0)
    if similarity == "poincare":
        sums = 2 * sums / ((1 - squares[0])[:, None] * (1 - squares[1]))
        return -(np.arccosh(1 + sums) ** 2)
    by_distance = {
        "sql2": -sums,
        "l2": -np.sqrt(sums),
        "inverse_l2": 1 / (1 + np.sqrt(sums)),
    }
    return by_distance[similarity]


def nearest(similarities: Array, k: int) -> Array:
    return np.argsort(-similarities, axis=1, kind="stable")[:, :k]


class Drawn:
    """Vectors whose second half of entities may be near copies of the first."""

    def __init__(self, seed: int, similarity: str, *, near: bool = False) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.similarity = similarity
        width = 2 * D if similarity == "complex_l1" else D
        middle = (TOKENS,) if similarity == "maxsim" else ()
        vectors = rng.standard_normal((N, *middle, width))
        vectors *= rng.uniform(0.3, 1, (N, *(1 for _ in (*middle, 0))))  # of unlike lengths
        if near:
            copies = vectors[: N // 2] * (1 + 1e-6 * rng.standard_normal(vectors[N // 2 :].shape))
            vectors[N // 2 :] = copies
        if similarity == "poincare":
            vectors *= 0.9 / np.linalg.norm(vectors, axis=-1).max()
        queries = vectors[:Q] + 0.3 * vectors[:Q].std() * rng.standard_normal(vectors[:Q].shape)
        if similarity == "poincare":
            queries *= 0.9 / np.linalg.norm(queries, axis=-1).max()
        self.queries, self.entities = queries.astype(np.float32), vectors.astype(np.float32)

    def scores(self, dtype: str = "float64", similarity: str = "", **of: Array) -> Array:
        similarity = similarity or self.similarity
        pair = [of.get("queries", self.queries), of.get("entities", self.entities)]
        if similarity == "complex_l1":
            pair = [vectors.view(np.complex64) for vectors in pair]
        return similarities_of(*pair, similarity, dtype)

    def pair(self, queries: Array) -> list[Any]:
        """Return queries and entities as functions take them."""
        pair = [queries, self.entities]
        if self.similarity == "complex_l1":
            return [vectors.view(np.complex64) for vectors in pair]
        if self.similarity == "maxsim":
            return [(x.reshape(-1, D), TOKENS * np.arange(len(x) + 1)) for x in pair]
        return pair

    def evaluate(self, ids: Array, truth: Array, **options: Any) -> tr.Report:
        options["similarity"] = self.similarity
        pair = self.pair(options.pop("queries", self.queries))
        return tr.evaluate_topk(*pair, ids, truth, **options)


# -- right truths are taken ------------------------------------------------------------------------


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_right_truths_are_taken(similarity: str) -> None:
    """In single precision, shuffled, of near copies, wider than the lists, without the query."""
    for seed in range(SETS):
        drawn = Drawn(seed, similarity)
        exact = nearest(drawn.scores(), 20)
        shuffled = drawn.rng.permuted(exact[:, :10], axis=1)
        assert drawn.evaluate(exact[:, :10], shuffled)["recall@10"] == 1
        assert drawn.evaluate(exact[:, :10], drawn.rng.permuted(exact, axis=1))["recall@10"] == 1
        assert drawn.evaluate(exact[:, :10], exact)["recall@10"] == 1
        own = drawn.entities[:Q]
        scores = drawn.scores(queries=own)
        scores[np.arange(Q), np.arange(Q)] = -np.inf
        exact = nearest(scores, 10)
        itself = np.arange(Q)[:, None].tolist()
        assert drawn.evaluate(exact, exact, queries=own, filter=itself)["recall@10"] == 1
        near = Drawn(seed, similarity, near=True)
        of_float32 = nearest(near.scores("float32"), 20)
        report = near.evaluate(of_float32[:, :10], of_float32)
        assert report["recall@10"] == 1
        assert near.evaluate(nearest(near.scores(), 10), of_float32[:, :10])["recall@10"] > 0.7
        assert [str(each) for each in report.audit()] == []


# -- wrong truths are refused ----------------------------------------------------------------------

OTHERS = {
    "dot": "cosine",
    "cosine": "dot",
    "l1": "sql2",
    "inverse_l1": "sql2",
    "complex_l1": "l1",
    "poincare": "sql2",
}


def wrong_truths(drawn: Drawn) -> Iterator[tuple[str, Array, dict[str, Any]]]:
    """Yield truths of the ten nearest by something else, and who the queries are."""
    entities, own = drawn.entities, {"queries": drawn.entities[:Q]}
    if drawn.similarity == "maxsim":
        lengths = np.linalg.norm(entities, axis=2, keepdims=True)
        yield "similarity", nearest(drawn.scores(entities=entities / lengths), 10), {}
    else:
        other = OTHERS.get(drawn.similarity, "dot")
        yield "similarity", nearest(drawn.scores(similarity=other), 10), {}
    others = np.where(drawn.rng.random(N) < 0.3, drawn.rng.permutation(N), np.arange(N))
    yield "vectors", nearest(drawn.scores(entities=entities[others]), 10), {}
    scores = np.where(drawn.rng.random(N) < 0.2, -np.inf, drawn.scores())
    yield "candidates", nearest(scores, 10), {}
    scores = drawn.scores(**own)
    scores[np.arange(Q), np.arange(Q)] = -np.inf
    yield "itself", nearest(scores, 10), own


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_wrong_truths_are_refused(similarity: str) -> None:
    """Whatever the lists are: they are those of the truth, so that the recall was 1."""
    numbers: dict[str, int] = {}
    seed = 0
    while min(numbers.values(), default=0) < SETS:
        drawn = Drawn(seed, similarity)
        seed += 1
        for kind, truth, own in wrong_truths(drawn):
            exact = nearest(drawn.scores(**own), 10)
            is_other = (np.sort(exact) != np.sort(truth)).any(axis=1)
            if is_other.mean() < 0.5 or numbers.get(kind, 0) == SETS:
                numbers.setdefault(kind, 0)
                continue
            numbers[kind] = numbers.get(kind, 0) + 1
            words = "the truth has another similarity, other vectors or other candidates"
            with pytest.raises(InputValueError, match=words) as error:
                drawn.evaluate(truth, truth, **own)
            is_of_itself = kind == "itself" and similarity not in ("dot", "maxsim")
            if is_of_itself:
                assert [str(way) for way in error.value.remedies] == ["filter=[[0], [1], ...]"]


# -- each wrong number of before, and its right one ------------------------------------------------


@pytest.mark.parametrize("similarity", [*DISTANCES, "complex_l1", "poincare", "maxsim"])
def test_listed_ids_that_a_truth_lacks_are_looked_at_by_any_similarity(similarity: Any) -> None:
    """The list was right beside a truth of the last two, but by dot, cosine, l2 and sql2."""
    options: dict[str, Any] = {"similarity": similarity}
    queries, entities = np.array([[0.1, 0]]), np.array([[0.0, 0], [1, 0], [2, 0], [3, 0]])
    truth = [[2, 3]]
    vectors: list[Any] = [queries, entities]
    if similarity == "poincare":
        vectors = [queries / 4, entities / 4]
    elif similarity == "complex_l1":
        options["layout"] = "halves"
    elif similarity == "maxsim":
        vectors = [(1 + queries, [0, 1]), (1 + entities, np.arange(5))]
        truth = [[0, 1]]
    right = [[3, 2]] if similarity == "maxsim" else [[0, 1]]
    with pytest.raises(InputValueError, match=r"query 0: entity [03] is missing, but more similar"):
        tr.evaluate_topk(*vectors, right, truth, **options)
    assert tr.evaluate_topk(*vectors, right, right, **options)["recall@2"] == 1


def test_lists_and_truth_by_another_similarity(tmp_path: Any) -> None:
    """An index that was built as L2 by mistake: its truth, too, is another; the recall was 1."""
    drawn = Drawn(0, "cosine")
    top = tr.topk_embeddings(drawn.queries, drawn.entities, 10, similarity="sql2")
    np.savez(tmp_path / "truth.npz", ids=top.ids)
    for truth in (top, top.ids, tmp_path / "truth.npz"):
        with pytest.raises(InputValueError, match="the truth has another similarity, other vect"):
            tr.evaluate_topk(drawn.queries, drawn.entities, top, truth, similarity="cosine")


def test_the_order_of_a_truth_does_not_matter() -> None:
    """Sorted by id, or the farthest first; of codes of 16 bits, whose distances tie."""
    line = np.array([[1.0], [2], [-2]])
    report = tr.evaluate_topk([[0.0]], line, [[0, 2]], [[1, 0]], similarity="sql2")
    assert report["recall@2"] == 1
    rng = np.random.default_rng(0)
    queries, entities = rng.random((60, 16)) < 0.5, rng.random((800, 16)) < 0.5
    truth = tr.topk_embeddings(queries, entities, 10, similarity="l1").ids
    found = 799 - tr.topk_embeddings(queries, entities[::-1], 10, similarity="l1").ids
    assert (np.sort(truth) != np.sort(found)).any(axis=1).mean() > 0.5
    for order in (truth, truth[:, ::-1], np.sort(truth)):
        report = tr.evaluate_topk(queries, entities, found, order, similarity="l1")
        assert report["recall@10"] == 1
    drawn = Drawn(1, "l2")
    found, truth = nearest(drawn.scores()[:, : N - 40], 10), nearest(drawn.scores(), 10)
    reports = [drawn.evaluate(found, x, tolerance=0.1) for x in (truth, np.sort(truth))]
    assert reports[0].per_query("recall@10").tolist() == reports[1].per_query("recall@10").tolist()
    assert 0.5 < reports[0]["recall@10"] < 1
    line = np.array([[1.0], [1 + 1e-9], [1 + 2e-9], [9]])  # Which of these is last is rounding.
    report = tr.evaluate_topk([[0.0]], line, [[1, 0]], [[2, 0]], similarity="l1")
    assert report["recall@2"] == 1


@pytest.mark.parametrize("nan", ["worst", "omit"])
def test_a_truth_with_nan_before_numbers(nan: Any) -> None:
    entities = np.array([[0.0], [np.nan], [1], [3]])
    with pytest.raises(
        InputValueError, match=r"entity 2 is missing, but more|score at row 0, column 1"
    ):
        tr.evaluate_topk([[0.0]], entities, [[0, 1]], [[1, 0]], similarity="l1", nan=nan)
    with pytest.raises(
        InputValueError, match=r"row 0: expected an id|entity 2 is missing, but more"
    ):
        tr.evaluate_topk([[0.0]], entities, [[0, 3]], [[0, -1]], similarity="l1", nan=nan)


def findings_of(report: tr.Report) -> dict[str, int]:
    return {each.name: each.count for each in report.audit()}


def test_what_is_taken_on_trust_is_said(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large base in a file is not read for it; at the edge of the ball no rounding is known."""
    drawn = Drawn(0, "l2")
    top = tr.topk_embeddings(drawn.queries, drawn.entities, 3, similarity="dot")
    np.save(tmp_path / "base.npy", drawn.entities)
    monkeypatch.setattr(truths, "_MOST_BYTES", drawn.entities.nbytes - 1)
    report = tr.evaluate_topk(drawn.queries, tmp_path / "base.npy", top, top, similarity="l2")
    assert (report["recall@3"], findings_of(report)) == (1, {"taken on trust": Q})
    with pytest.raises(InputValueError, match="the truth has another similarity"):
        tr.evaluate_topk(drawn.queries, drawn.entities, top, top, similarity="l2")
    angles = np.linspace(0, 3, 50)
    edge = 0.9999999 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    truth = tr.topk_embeddings(edge[:20] / 2, edge, 3, similarity="poincare")
    report = tr.evaluate_topk(edge[:20] / 2, edge, truth, truth, similarity="poincare")
    assert findings_of(report) == {"taken on trust": 16}
    truth = tr.topk_embeddings(edge[:20] / 2, edge / 2, 3, similarity="poincare")
    report = tr.evaluate_topk(edge[:20] / 2, edge / 2, truth, truth, similarity="poincare")
    assert findings_of(report) == {}


def test_the_query_itself_is_named_where_it_is_missing() -> None:
    vectors = np.random.default_rng(0).standard_normal((40, 4))
    itself = np.arange(40)[:, None].tolist()
    truth = tr.topk_embeddings(vectors, vectors, 3, similarity="l2", filter=itself)
    cases: list[tuple[Array, Any]] = [
        (vectors, None),  # advice
        (vectors, [[] for _ in vectors]),  # It has a filter already.
        (vectors + 1e-3, None),  # Entities of the same numbers are others.
    ]
    remedies = []
    for queries, some in cases:
        with pytest.raises(InputValueError, match="the truth has another similarity") as error:
            tr.evaluate_topk(queries, vectors, truth, truth, similarity="l2", filter=some)
        remedies.append([str(way) for way in error.value.remedies])
    assert remedies == [["filter=[[0], [1], ...]"], [], []]
    report = tr.evaluate_topk(vectors, vectors, truth, truth, similarity="l2", filter=itself)
    assert report["recall@3"] == 1


def test_a_truth_with_holes_is_put_in_order() -> None:
    drawn = Drawn(0, "maxsim")
    some: Any = [[3, 5]] * Q
    exact = nearest(drawn.scores()[:, [3, 5]], 2)
    lists = np.insert(np.array([3, 5])[exact], 0, -1, axis=1)
    for ids in (lists, lists[:, ::-1], np.roll(lists, 1, axis=1)):
        assert drawn.evaluate(ids, lists, candidates=some)["recall@3"] == 1
        assert drawn.evaluate(lists, ids, candidates=some)["recall@3"] == 1


def test_either_of_two_scores_may_be_rounded() -> None:
    """The second is -1, a difference of large numbers: in single precision it may be 0 as well."""
    entities = np.array([[0.0, 0], [1e8, -1e8 - 1], [0, -9]])
    report = tr.evaluate_topk([[1.0, 1]], entities, [[0]], [[1]], similarity="dot")
    assert report["recall@1"] == 1
    with pytest.raises(InputValueError, match="query 0: entity 0 is missing"):
        tr.evaluate_topk([[1.0, 1]], entities, [[0]], [[2]], similarity="dot")


def test_a_bias_is_rounded_too() -> None:
    bias, entities = np.array([1e8, 1e8 + 1, 0]), np.array([[1.0], [1], [1]])
    vectors: Any = [[1.0]], entities
    report = tr.evaluate_topk(*vectors, [[1]], [[0]], similarity="l2", bias=bias)
    assert report["recall@1"] == 1
    with pytest.raises(InputValueError, match="query 0: entity 1 is missing"):
        tr.evaluate_topk(*vectors, [[0]], [[2]], similarity="l2", bias=bias)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_single_precision_rounds_by_no_more(similarity: str) -> None:
    """Of near copies, far from the origin, large ones, and near the edge of the ball."""
    for seed in range(3):
        drawn = Drawn(seed, similarity, near=True)
        for vectors in (drawn.queries, drawn.entities):
            if similarity == "poincare":
                vectors *= [0.999, 0.9999, 0.3][seed] / np.linalg.norm(vectors, axis=1).max()
            else:
                vectors += [0, 100, 0][seed]
                vectors *= [1, 1, 1e4][seed]
        errors = np.abs(drawn.scores("float32").astype(np.float64) - drawn.scores())
        rows, ids = np.repeat(np.arange(Q), N), np.tile(np.arange(N), Q)
        embeddings, _ = recall.open_search(*drawn.pair(drawn.queries), similarity)
        pairs = tr.TopK(ids, drawn.scores().ravel())
        roundings = truths.float_rounding(embeddings, rows, pairs)
        assert (errors.ravel() <= roundings).all()
        assert np.isfinite(roundings).all()


@pytest.mark.parametrize("nan", ["raise", "omit"])
def test_queries_without_candidates_are_not_searched(nan: Any) -> None:
    none: Any = [[] for _ in range(Q)]
    drawn = Drawn(0, "l2")
    lists = np.full((Q, 2), -1)
    report = drawn.evaluate(lists, lists, candidates=none, nan=nan)
    assert findings_of(report) == {"without candidates": Q}


# -- beside the definition -------------------------------------------------------------------------


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """Draw vectors of few values in any dtype, lists, a truth in any order, who is a candidate."""
    similarity = draw(st.sampled_from(SIMILARITIES[:-1]))
    dtype = draw(st.sampled_from(DTYPES if similarity == "complex_l1" else DTYPES[:-1]))
    count, size = draw(st.integers(1, 4)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    vectors = [rng.integers(0, 4, (n, 4)).astype(np.float32) for n in (count, size)]
    if similarity == "poincare":
        vectors = [each / 8 for each in vectors]
    options: dict[str, Any] = {
        "similarity": similarity,
        "nan": draw(st.sampled_from(["worst", "omit"])),
    }
    if dtype == "bfloat16":
        options["dtype"] = dtype
        vectors = [(each.view(np.uint32) >> 16).astype(np.uint16) for each in vectors]
    elif dtype == "bool":
        vectors = [each > 1 / 8 for each in vectors]
    else:
        vectors = [each.astype(dtype) for each in vectors]
    if similarity == "complex_l1" and dtype != "complex64":
        options["layout"] = draw(st.sampled_from(["interleaved", "halves"]))
    allowed = np.ones((count, size), bool)
    selections: dict[str, Any] = {}
    if draw(st.booleans()):
        allowed &= rng.random((count, size)) < draw(st.sampled_from([0.2, 0.6]))
        selections["candidates"] = [np.flatnonzero(row) for row in allowed]
    if draw(st.booleans()):
        filtered = rng.random((count, size)) < 0.3
        selections["filter"] = [np.flatnonzero(row) for row in filtered]
        allowed &= ~filtered
    return {
        "vectors": vectors,
        "options": options,
        "selections": selections,
        "allowed": allowed,
        "ids": rng.integers(-1, size, (count, draw(st.integers(1, 12)))),
        "wider": draw(st.integers(0, 4)),
        "order": draw(st.sampled_from(["", "shuffled", "by id", "reverse"])),
        # Sums whose order differs may differ in their last digit.
        "tolerance": draw(st.sampled_from([1e-9, 0.01, 1.0, 3.0])),
        "rng": rng,
    }


@examples(200)
@given(problems())
def test_recall_is_that_of_the_definition(problem: dict[str, Any]) -> None:
    options, tolerance, ids = problem["options"], problem["tolerance"], problem["ids"]
    k = ids.shape[1]
    # In single precision these scores are rounded: those of `evaluate_topk` are not.
    plain = {name: value for name, value in options.items() if name != "nan"}
    queries, entities = problem["vectors"]
    if "dtype" in plain:
        queries, entities = (
            (x.astype(np.uint32) << 16).view(np.float32) for x in (queries, entities)
        )
        del plain["dtype"]
    if queries.dtype.kind in "fc":
        queries, entities = (x.astype(np.result_type(x, np.float64)) for x in (queries, entities))
    scores = tr.score_embeddings(queries, entities, **plain).tolist()
    candidates = [np.flatnonzero(row).tolist() for row in problem["allowed"]]
    truth = []
    for row, some in zip(scores, candidates, strict=True):
        some = [each for each in some if options["nan"] == "worst" or row[each] == row[each]]
        some.sort(key=lambda entity: (row[entity] != row[entity], -row[entity]))
        truth.append(some[: k + problem["wider"]] + [-1] * (k + problem["wider"] - len(some)))
    exact = np.array(truth)
    if problem["order"] == "shuffled":
        exact = problem["rng"].permuted(exact, axis=1)
    elif problem["order"]:
        exact = np.sort(exact, axis=1) if problem["order"] == "by id" else exact[:, ::-1]
    report = tr.evaluate_topk(
        *problem["vectors"],
        ids,
        exact,
        tolerance=tolerance,
        duplicates="first",
        **options,
        **problem["selections"],
    )
    expected = [
        recall_of_query(*row, k, tolerance, options["nan"])
        for row in zip(scores, candidates, ids.tolist(), strict=True)
    ]
    check_recalls(report, expected, f"recall@{k}")
