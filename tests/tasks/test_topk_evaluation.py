"""`evaluate_topk` beside its definition, query by query, and what it refuses."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse import csr_array

import truerank as tr
from oracles.index_recall import (
    check_recalls,
    exact_list,
    recall_of_ann_benchmarks,
    recall_of_big_ann,
    recall_of_diskann,
    recall_of_query,
)
from truerank import InputTypeError, InputValueError

pytestmark = pytest.mark.python_only
Array = NDArray[Any]
RNG = np.random.default_rng(3)
ENTITIES = RNG.integers(0, 6, (60, 4)).astype(np.float32)  # Many pairs tie.
QUERIES = RNG.integers(0, 6, (12, 4)).astype(np.float32)
SQL2 = {"similarity": "sql2"}


def similarities_of(queries: Array, entities: Array, similarity: str) -> Array:
    """Return all similarities, in double precision: of small integers they are exact."""
    queries, entities = queries.astype(np.float64), entities.astype(np.float64)
    with np.errstate(invalid="ignore"):
        if similarity == "dot":
            return (queries[:, None] * entities).sum(axis=2)  # type: ignore[no-any-return]
        differences = queries[:, None] - entities
        powers = np.abs(differences) if similarity == "l1" else differences**2
        return -powers.sum(axis=2)  # type: ignore[no-any-return]


def truth_of(k: int, queries: Array = QUERIES, **search: Any) -> tr.TopK:
    options = SQL2 | search
    return tr.topk_embeddings(queries.astype(np.float64), ENTITIES, k, **options)


def evaluate(ids: Any, k: int = 0, queries: Array = QUERIES, **search: Any) -> tr.Report:
    k = k or np.shape(ids)[1]
    known = {name: value for name, value in search.items() if name in ("filter", "candidates")}
    truth = search.pop("truth", None)
    if truth is None:
        truth = truth_of(k, queries, **known)
    return tr.evaluate_topk(queries, ENTITIES, ids, truth, **SQL2 | search)


# -- beside the definition -------------------------------------------------------------------------


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """Draw vectors of few values, lists with repeats and misses, and who is a candidate."""
    count, size = draw(st.integers(1, 4)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    queries, entities = (rng.integers(-2, 3, (n, 2)).astype(np.float32) for n in (count, size))
    search: dict[str, Any] = {"similarity": draw(st.sampled_from(["dot", "l1", "sql2"]))}
    search["nan"] = draw(st.sampled_from(["raise", "worst", "omit"]))
    if search["nan"] != "raise":
        odd = rng.random((size, 2)) < draw(st.sampled_from([0.0, 0.3, 1.0]))
        values = rng.choice([np.nan, np.inf, -np.inf], (size, 2)).astype(np.float32)
        entities = np.where(odd, values, entities)
    allowed = np.ones((count, size), bool)
    if draw(st.booleans()):
        allowed &= rng.random((count, size)) < draw(st.sampled_from([0.2, 0.6]))
        search["candidates"] = [np.flatnonzero(row) for row in allowed]
    elif draw(st.booleans()):
        allowed &= rng.random(size) < draw(st.sampled_from([0.2, 0.6]))
        search["candidates"] = np.flatnonzero(allowed[0])
    if draw(st.booleans()):
        filtered = rng.random((count, size)) < 0.3
        search["filter"] = [np.flatnonzero(row) for row in filtered]
        allowed &= ~filtered
    return {
        "vectors": (queries, entities),
        "ids": rng.integers(-1, size, (count, draw(st.integers(1, 12)))),
        "allowed": allowed,
        "search": search,
        "tolerance": draw(st.sampled_from([0.0, 0.5, 1.0, 3.0])),
        "reverse": draw(st.booleans()),
    }


@given(problems())
def test_recall_is_that_of_the_definition(problem: dict[str, Any]) -> None:
    queries, entities = problem["vectors"]
    ids, search, tolerance = problem["ids"], problem["search"], problem["tolerance"]
    k = ids.shape[1]
    scores = similarities_of(queries, entities, search["similarity"]).tolist()
    candidates = [np.flatnonzero(row).tolist() for row in problem["allowed"]]
    wide = queries.astype(np.float64)
    truth = tr.topk_embeddings(wide, entities, k, **search)
    if problem["reverse"]:  # Another tool may have another order of what ties.
        last_first = tr.topk_embeddings(
            wide, entities[::-1], k, **_reversed(search, len(entities))
        ).ids
        truth = tr.TopK(np.where(last_first < 0, -1, len(entities) - 1 - last_first), truth.scores)
    elif search["nan"] != "omit":
        expected_ids = map(exact_list, scores, candidates, [k] * len(queries))
        assert [row[row >= 0].tolist() for row in truth.ids] == list(expected_ids)
    report = tr.evaluate_topk(
        queries, entities, ids, truth, tolerance=tolerance, duplicates="first", **search
    )
    expected = [
        recall_of_query(*row, k, tolerance, search["nan"])
        for row in zip(scores, candidates, ids.tolist(), strict=True)
    ]
    check_recalls(report, expected, f"recall@{k}")
    assert report.without_answers == (expected.count(None) if report.queries else 0)


def _reversed(search: dict[str, Any], size: int) -> dict[str, Any]:
    """Return the selections of entities in the opposite order."""
    changed = dict(search)
    for name in search.keys() & {"filter", "candidates"}:
        value = search[name]
        is_shared = isinstance(value, np.ndarray)
        changed[name] = size - 1 - value if is_shared else [size - 1 - each for each in value]
    return changed


@pytest.mark.parametrize("similarity", ["dot", "cosine", "l1", "l2", "sql2", "inverse_l2"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "bool"])
def test_exact_lists_are_perfect_by_any_similarity(similarity: Any, dtype: str) -> None:
    rng = np.random.default_rng(1)
    vectors = [3 * rng.standard_normal((n, 8)) for n in (9, 50)]
    queries, entities = ((each > 0) if dtype == "bool" else each.astype(dtype) for each in vectors)
    wide = queries.astype(np.float64) if dtype.startswith("float") else queries
    truth = tr.topk_embeddings(wide, entities, 10, similarity=similarity)
    for ids in (truth.ids, truth.ids[:, ::-1], truth):
        report = tr.evaluate_topk(queries, entities, ids, truth, similarity=similarity)
        assert report["recall@10"] == 1
    half = np.where(np.arange(10) % 2, truth.ids, -1)
    assert (
        tr.evaluate_topk(queries, entities, half, truth, similarity=similarity)["recall@10"] == 0.5
    )


def test_late_interaction() -> None:
    rng = np.random.default_rng(2)
    lists = (rng.standard_normal((40, 5)).astype(np.float32), np.arange(0, 41, 4))
    wide = (lists[0].astype(np.float64), lists[1])
    truth = tr.topk_embeddings(wide, lists, 3, similarity="maxsim")
    found = tr.evaluate_topk(lists, lists, truth.ids[:, [2, 0, 1]], truth, similarity="maxsim")
    assert found["recall@3"] == 1
    assert found.protocol.dtype == "float64"


def test_a_single_query() -> None:
    truth = tr.topk_embeddings(QUERIES[0].astype(float), ENTITIES, 3, **SQL2)
    assert tr.evaluate_topk(QUERIES[0], ENTITIES, truth.ids, truth, **SQL2)["recall@3"] == 1


# -- each wrong number of before, and its right one ------------------------------------------------

LINE = np.arange(10, dtype=np.float32)[:, None]  # Ten entities; query 0 has them in their order.


def on_a_line(ids: Any, k: int, entities: Array = LINE, **search: Any) -> float:
    queries = entities[:1]
    known = {name: search[name] for name in ("filter", "candidates") if name in search}
    truth = tr.topk_embeddings(queries.astype(float), entities, k, **SQL2, **known)
    report = tr.evaluate_topk(queries, entities, ids, truth, **SQL2, **search)
    return report[f"recall@{np.shape(ids)[1]}"]


def test_lists_of_few_candidates() -> None:
    assert on_a_line(np.full((1, 10), -1), 10) == 0
    one_of_three = [[4, -1, -1, -1, -1]]
    assert on_a_line(one_of_three, 5, candidates=[2, 4, 6]) == pytest.approx(1 / 3)
    entities = np.arange(800, dtype=np.float32)[:, None]
    farthest = np.full((1, 1000), -1)
    farthest[0, :300] = np.arange(500, 800)
    assert on_a_line(farthest, 1000, entities) == 0.375
    assert on_a_line([[0] * 10], 10, duplicates="first") == 0.1
    assert on_a_line(np.arange(10)[None], 20) == 1  # as few columns as entities


def test_the_mean_is_over_queries() -> None:
    """A has one candidate, which is found; B finds 5 of 10: .75, where pooled ids had .5455."""
    queries = LINE[[0, 0]]
    candidates = [[3], np.arange(10)]
    truth = tr.topk_embeddings(queries.astype(float), LINE, 10, candidates=candidates, **SQL2)
    ids = np.full((2, 10), -1)
    ids[0, 0] = 3
    ids[1, :5] = np.arange(5)
    report = tr.evaluate_topk(queries, LINE, ids, truth, candidates=candidates, **SQL2)
    assert report["recall@10"] == 0.75
    assert report.per_query("recall@10").tolist() == [1, 0.5]
    assert report.candidates.tolist() == [1, 10]


def test_one_right_id_ten_times_is_one() -> None:
    """The ranks of each id, as the page had it, were all right: 1.0."""
    with pytest.raises(
        InputValueError, match=r"ids: row 0: expected each id once, got 0 \(so in 1 of 1 .*; dup"
    ):
        on_a_line([[0] * 10], 10)
    assert on_a_line([[0, 0, 1, -1, -1]], 5, duplicates="first") == 0.4


def test_what_is_deleted_is_a_miss() -> None:
    """And so is what the filter of the query leaves out, and the query itself."""
    ids = [[0, 1, 2, 3]]
    assert on_a_line(ids, 4, candidates=np.arange(1, 10)) == 0.75
    assert on_a_line(ids, 4, filter=[[0, 2]]) == 0.5
    report = evaluate(truth_of(5).ids, filter=[[] for _ in QUERIES])
    assert report["recall@5"] == 1
    assert [str(each) for each in report.audit()] == []


def test_selections_in_any_form_are_one() -> None:
    allowed = RNG.random((12, 60)) < 0.3
    allowed[3] = False
    ids = RNG.integers(-1, 60, (12, 5))
    lists = [np.flatnonzero(row) for row in allowed]
    shuffled = [RNG.permutation(np.append(row, row[:2])) for row in lists]
    csr = csr_array(allowed)
    for row in range(12):  # Columns of scipy's rows may be in any order.
        part = slice(csr.indptr[row], csr.indptr[row + 1])
        csr.indices[part] = csr.indices[part][::-1]
    reports = [
        evaluate(ids, candidates=each, duplicates="first")
        for each in (allowed, lists, shuffled, csr, (csr.indptr, csr.indices))
    ]
    assert len({tuple(each.per_query("recall@5")) for each in reports}) == 1
    assert {each.protocol.fingerprint for each in reports} == {reports[0].protocol.fingerprint}
    assert reports[0].queries == [*range(3), *range(4, 12)]
    assert reports[0].without_answers == 1
    some = np.flatnonzero(allowed[0])
    for each in (some, np.isin(np.arange(60), some), [some] * 12):
        assert evaluate(truth_of(5, candidates=some).ids, candidates=each)["recall@5"] == 1


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64", "int8", "int32"])
def test_minus_one_in_any_dtype(dtype: str) -> None:
    ids = truth_of(4).ids.copy()
    ids[:, 3] = -1
    assert evaluate(ids.astype(dtype))["recall@4"] == 0.75


def test_the_largest_id_of_a_byte_may_be_an_entity() -> None:
    entities = np.arange(256, dtype=np.float32)[::-1, None]
    assert on_a_line(np.array([[0, 255]], np.uint8), 2, entities) == 0.5
    assert (
        on_a_line(np.array([[255]], np.uint8), 1, np.append(entities[255:], entities[:255], 0)) == 0
    )


# -- what is said of lists -------------------------------------------------------------------------


def findings_of(report: tr.Report) -> dict[str, str]:
    return {each.name: each.message for each in report.audit()}


def test_the_audit_counts_what_lists_lack() -> None:
    candidates = [np.arange(60)] * 10 + [[5], []]
    truth = truth_of(4, candidates=candidates)
    ids = truth.ids.copy()
    ids[0, 1:] = [ids[0, 0], ids[0, 0], -1]
    ids[10] = [6, 7, 5, -1]
    ids[11, 0] = 9
    options: dict[str, Any] = {"duplicates": "first", "candidates": candidates}
    report = evaluate(ids, truth=truth, **options)
    assert findings_of(report) == {
        "missing ids": "ids that are missing, or come again: 3",
        "no candidates": "ids that are not candidates of their query: 3",
        "without candidates": "queries without candidates or exact ids, which are left out: 1",
    }
    assert report.without_answers == 1
    assert report["recall@4"] == pytest.approx((9 + 1 / 4 + 1) / 11)


def test_what_stands_above_an_audit_counts_the_tied_lists_of_its_findings() -> None:
    """A query without direction is as similar to all entities, so that all ids are right."""
    rng = np.random.default_rng(0)
    queries = rng.standard_normal((50, 8)).astype(np.float32)
    entities = rng.standard_normal((200, 8)).astype(np.float32)
    ids = np.array([rng.permutation(200)[:10] for _ in queries])
    exact = tr.topk_embeddings(queries, entities, 10, similarity="dot")
    report = tr.evaluate_topk(queries, entities, exact.ids, exact, similarity="dot")
    assert "\nNo task ties.\n" in str(report.audit())
    assert "0 of them tied" in report.to_text()
    queries[:10] = 0
    exact = tr.topk_embeddings(queries, entities, 10, similarity="dot")
    report = tr.evaluate_topk(queries, entities, ids, exact, similarity="dot")
    assert report["recall@10"] == pytest.approx(0.2, abs=0.06)
    assert findings_of(report)["tied lists"].endswith(": 10")
    assert "\n10 of 50 lists tied.\n" in str(report.audit())
    assert "10 of 50 lists tied, among 200 candidates" in report.to_text()


def test_ids_from_1_on_are_said_where_the_recall_is_low() -> None:
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((150, 8))
    truth = tr.topk_embeddings(vectors, vectors, 3, **SQL2)
    found = np.where(truth.ids < 145, truth.ids + 1, -1)
    shifted = tr.evaluate_topk(vectors, vectors, found, truth, **SQL2)
    assert shifted["recall@3"] < 0.1
    recall = (truth.ids[:100] < 145).mean()
    message = f"ids less 1 would have recall {recall:.2g} in the first 100 queries"
    assert findings_of(shifted)["ids from 1"] == message
    right = tr.evaluate_topk(vectors, vectors, np.where(found > 0, found - 1, -1), truth, **SQL2)
    assert right["recall@3"] > 0.9
    assert "ids from 1" not in findings_of(right)
    few = np.where(np.arange(150)[:, None] % 20, -1, found)  # One query in twenty has a list.
    assert 0 < tr.evaluate_topk(vectors, vectors, few - (few > 0), truth, **SQL2)["recall@3"] < 0.1
    assert "ids from 1" not in findings_of(tr.evaluate_topk(vectors, vectors, few, truth, **SQL2))


# -- the report ------------------------------------------------------------------------------------


def test_it_has_one_key_here_and_when_it_was_saved(tmp_path: Any) -> None:
    report = evaluate(truth_of(5).ids[:, ::-1])
    report.ranks.save(tmp_path / "ranks.npz")
    for each in (report, tr.report(tr.load(tmp_path / "ranks.npz"))):
        assert list(each) == ["recall@5"]
        assert each["recall@5"] == 1
        assert "Recall@5" in str(each)
        for key in ("mrr", "recall@3", "map", "optimistic.recall@5", "ndcg@10"):
            with pytest.raises(KeyError, match="lists of an index have only recall@5"):
                each[key]


def test_groups_and_comparisons_hold() -> None:
    """Two indexes are paired by query, also one that finds nothing for some queries."""
    rng = np.random.default_rng(0)
    whole = truth_of(5).ids
    half = np.where(rng.random(whole.shape) < 0.5, whole, -1)
    half[:4] = -1
    reports = [evaluate(ids) for ids in (whole, half)]
    values = reports[1].per_query("recall@5")
    assert values.tolist() == ((half >= 0).sum(axis=1) / 5).tolist()
    compared = tr.compare(*reports, metric="recall@5")
    assert (reports[1].ranks.lengths == 5).all()
    assert compared.estimate == pytest.approx((1 - values).mean())
    assert (compared.units, compared.losses) == (12, 0)
    kind = np.repeat(np.arange(12) % 2, 5)
    by_kind = tr.report(reports[1].ranks.with_labels(kind=kind), by="kind")
    assert by_kind.group_values("recall@5") == {0: values[::2].mean(), 1: values[1::2].mean()}
    interval = reports[1].interval("recall@5")
    assert (interval.method, interval.units, interval.unit) == ("t", 12, "query")
    error = values.std(ddof=1) / np.sqrt(12)
    assert interval.high - interval.value == pytest.approx(stats.t.ppf(0.975, 11) * error)


@pytest.mark.parametrize(
    "other",
    [{"tolerance": 0.5}, {"similarity": "l1"}, {"k": 4}, {"candidates": np.arange(59)}],
    ids=str,
)
def test_unlike_recalls_are_not_compared(other: dict[str, Any]) -> None:
    ids = truth_of(5).ids
    report = evaluate(ids)
    k = other.pop("k", 5)
    search = {name: value for name, value in other.items() if name != "tolerance"}
    unlike = evaluate(ids[:, :k], truth=truth_of(5, **search), **other)
    with pytest.raises(InputValueError, match="protocol: candidates: top 5 by sql2 in float64 ag"):
        tr.compare(report, unlike, metric="recall@5")
    assert tr.compare(report, evaluate(ids[:, ::-1]), metric="recall@5").estimate == 0


# -- double precision ------------------------------------------------------------------------------


def test_floats_are_scored_in_double_precision() -> None:
    """Half of the entities are copies but for 1e-5: by float32 their order is another."""
    rng = np.random.default_rng(1)
    entities = rng.standard_normal((400, 64)).astype(np.float32)
    entities[200:] = entities[:200] * (1 + 1e-5 * rng.standard_normal((200, 64)))
    queries = entities[:50] + 0.3 * rng.standard_normal((50, 64)).astype(np.float32)
    wide = [each.astype(np.float64) for each in (queries, entities)]
    exact = tr.topk_embeddings(*wide, 1, similarity="cosine")
    single = tr.topk_embeddings(queries, entities, 1, similarity="cosine")
    assert (single.ids != exact.ids).any()
    measured = tr.evaluate_topk(queries, entities, exact, exact, similarity="cosine")
    assert (measured["recall@1"], measured.protocol.dtype) == (1, "float64")
    measured = tr.evaluate_topk(queries, entities, single, exact, similarity="cosine")
    assert measured["recall@1"] == (single.ids == exact.ids).mean()
    numbers = np.array([[4096, 1, -4096]], np.float32), np.array([[0, 0.5, 0], [4096, 1, 4096]])
    top = tr.topk_embeddings(numbers[0].astype(float), numbers[1].astype(np.float32), 2)
    assert (top.ids.tolist(), top.scores.tolist()) == ([[1, 0]], [[1, 0.5]])
    large = [np.full((1, 2), 1e20, np.float32), np.array([[1e20, 0], [0, 0]], np.float32)]
    found = tr.topk_embeddings(large[0].astype(float), large[1], 1, **SQL2)
    assert found.ids.tolist() == [[0]]
    assert tr.evaluate_topk(*large, [[1]], found, **SQL2)["recall@1"] == 0


@pytest.mark.parametrize("similarity", ["sql2", "l2", "cosine", "dot"])
@pytest.mark.parametrize("d", [6, 96])
def test_a_truth_in_single_precision_is_one(similarity: Any, d: int) -> None:
    """As faiss has it, by |q|^2 + |e|^2 - 2 q e, of near copies whose order it cannot tell."""
    rng = np.random.default_rng(2)
    entities = rng.standard_normal((300, d)).astype(np.float32)
    entities /= np.linalg.norm(entities, axis=1, keepdims=True)
    entities[100:] = entities[:100].repeat(2, axis=0) + 1e-5 * rng.standard_normal((200, d))
    queries = (entities[:40] + 1e-4 * rng.standard_normal((40, d))).astype(np.float32)
    scores = queries @ entities.T
    if similarity in ("sql2", "l2"):
        scores = 2 * scores - (queries**2).sum(axis=1)[:, None] - (entities**2).sum(axis=1)
    elif similarity == "cosine":
        scores /= np.linalg.norm(entities, axis=1)
    truth = np.argsort(-scores, axis=1, kind="stable")[:, :2]
    exact = tr.topk_embeddings(queries.astype(np.float64), entities, 2, similarity=similarity)
    report = tr.evaluate_topk(queries, entities, exact, truth, similarity=similarity)
    assert report["recall@2"] > 0.8  # Its last id is mostly that of the exact list, or a copy.


# -- what is refused -------------------------------------------------------------------------------


def test_a_truth_of_other_vectors_is_refused() -> None:
    truth = truth_of(5)
    others = QUERIES[::-1]
    with pytest.raises(InputValueError, match=r"truth: query \d+: entity \d+ is missing, but mo"):
        evaluate(truth_of(5, others).ids, truth=truth, queries=others)
    worst = tr.topk_embeddings(-QUERIES.astype(float), ENTITIES, 5, similarity="dot")
    with pytest.raises(InputValueError, match="the truth has another similarity, other vect"):
        evaluate(truth.ids, truth=worst)
    with pytest.raises(
        InputValueError, match="is missing, but more similar"
    ):  # They are exchanged.
        tr.evaluate_topk(QUERIES, ENTITIES, truth, np.roll(truth.ids, 1, axis=0), **SQL2)


def test_a_truth_of_other_candidates_is_refused() -> None:
    itself = [[row] for row in range(12)]
    few = [np.arange(3)] * 12
    whole = truth_of(5)
    cases: list[tuple[dict[str, Any], str]] = [
        (
            {"truth": whole, "filter": [[int(row[0])] for row in whole.ids]},
            "row 0: expected only cand",
        ),
        (
            {"truth": whole, "candidates": few},
            "truth: row 0: expected only candidates of the query",
        ),
        ({"truth": truth_of(5, candidates=few)}, "row 0: expected an id, as the query has more ca"),
        ({"truth": whole.ids[:, :4]}, "truth: expected a list of 5 ids or more for each of 12 q"),
        ({"truth": whole.ids[:11]}, "truth: expected a list of 5 ids or more for each of 12 q"),
        (
            {"truth": np.full((12, 5), 7)},
            r"truth: row 0: expected each id once, got 7 \(so in 12 of 12 lists",
        ),
    ]
    for search, message in cases:
        with pytest.raises(InputValueError, match=message):
            evaluate(whole.ids, **search)
    # A miss of the list shows nothing: the truth lacks what the filter of `itself` leaves out.
    assert evaluate(truth_of(5, filter=itself).ids, filter=itself)["recall@5"] == 1


def test_lists_that_are_none_are_refused() -> None:
    ids = truth_of(5).ids
    wrong: dict[str, Any] = {
        "ids: row 0: expected ids from 0 to 59, or -1 for none, got 60": np.full((12, 5), 60),
        "ids: row 0: expected ids from 0 to 59, or -1 for none, got -2": np.full((12, 5), -2),
        "ids: expected integers, got dtype float64": ids.astype(float),
        "ids: expected a list of 5 ids or more for each of 12 queries": ids[:5],
        "ids: expected a list of 1 id or more for each of 12 queries": ids[:, :0],
        "ids: expected a name that ends in .npy": "lists.txt",
    }
    for message, value in wrong.items():
        with pytest.raises((InputValueError, InputTypeError), match=re.escape(message)):
            tr.evaluate_topk(QUERIES, ENTITIES, value, ids, **SQL2)
    for tolerance in (-1, np.inf, np.nan):
        with pytest.raises(InputValueError, match="tolerance: expected a number from 0 on"):
            evaluate(ids, tolerance=tolerance)
    with pytest.raises(TypeError, match="similarity"):
        tr.evaluate_topk(QUERIES, ENTITIES, ids, ids)  # type: ignore[call-arg]


def test_nan_is_refused_by_its_place() -> None:
    entities = np.array([[0.0], [np.nan], [2], [3]])
    queries = np.array([[0.5]])
    with pytest.raises(InputValueError, match="a score at row 0, column 1 is NaN"):
        tr.evaluate_topk(queries, entities, [[1, 0]], [[0, 2]], **SQL2)
    with pytest.raises(InputValueError, match="a score at row 0, column 1 is NaN"):
        tr.evaluate_topk(queries, entities, [[2, 0]], [[0, 2]], **SQL2)  # The search meets it.
    report = tr.evaluate_topk(queries, entities, [[2, 0]], [[0, 2]], nan="worst", **SQL2)
    assert report["recall@2"] == 1
    odd = np.array([[0.0], [np.nan], [np.nan], [3]])  # Two are equally bad, and one is there.
    worst = tr.evaluate_topk(queries, odd, [[2, 0, 3]], [[0, 3, 1]], nan="worst", **SQL2)
    assert worst["recall@3"] == 1
    omitted = tr.evaluate_topk(queries, entities, [[1, 0]], [[0, 2]], nan="omit", **SQL2)
    assert omitted["recall@2"] == 0.5


# -- beside other tools ----------------------------------------------------------------------------


def lists_of_indexes(similarities: Array, k: int, rng: Any) -> list[Array]:
    """Return ten lists, of indexes that lose more and more entities; none has an id twice."""
    lists = []
    for share in np.linspace(0, 0.9, 10):
        lost = rng.random(similarities.shape) < share
        lists.append(np.argsort(-np.where(lost, -np.inf, similarities), axis=1)[:, :k])
    return lists


@pytest.mark.parametrize("k", [1, 10])
def test_tolerances_are_those_of_other_tools(k: int) -> None:
    """1e-3 of ann-benchmarks with l2; DiskANN has none."""
    rng = np.random.default_rng(4)
    queries = rng.standard_normal((200, 6)).astype(np.float32)
    entities = (rng.standard_normal((500, 6)) / 50).astype(np.float32)  # Many are about as far.
    entities[250:] = entities[:250]
    entities[400:] += rng.choice([2e-8, 1e-4], (100, 1)).astype(np.float32)
    differences = queries[:, None].astype(float) - entities
    squares = (differences**2).sum(axis=2)
    order = np.argsort(squares, axis=1, kind="stable")[:, :100]
    true_squares = np.take_along_axis(squares, order, axis=1)
    rules = [
        (
            "l2",
            1e-3,
            lambda row, ids: recall_of_ann_benchmarks(
                np.sqrt(squares[row, ids]), np.sqrt(true_squares[row]), k
            ),
        ),
        ("sql2", 0.0, lambda row, ids: recall_of_diskann(ids, order[row], true_squares[row], k)),
    ]
    for similarity, tolerance, rule in rules:
        search: dict[str, Any] = {"similarity": similarity}
        truth = tr.topk_embeddings(queries.astype(float), entities, k, **search)
        recalls = []
        for ids in lists_of_indexes(-squares, k, rng):
            report = tr.evaluate_topk(queries, entities, ids, truth, tolerance=tolerance, **search)
            expected = [rule(row, ids[row].tolist()) for row in range(200)]
            assert report.per_query(f"recall@{k}").tolist() == expected
            recalls.append(report[f"recall@{k}"])
        assert recalls[0] == 1 > recalls[-1]


@pytest.mark.parametrize("k", [1, 10])
def test_the_rule_of_big_ann_is_a_line(k: int) -> None:
    """It goes by distances that float32 made equal, which a tolerance of 1e-6 tells apart."""
    rng = np.random.default_rng(4)
    queries = rng.integers(0, 256, (50, 8)).astype(np.float32)
    entities = rng.integers(0, 256, (300, 8)).astype(np.float32)
    entities[100:] = entities[:100].repeat(2, axis=0) + rng.choice([0, 1e-5], (200, 1))
    top = tr.topk_embeddings(queries, entities, 30, **SQL2)
    squares = ((queries[:, None].astype(float) - entities) ** 2).sum(axis=2)
    unlike = 0
    for ids in lists_of_indexes(-squares, k, rng):
        is_right = (np.arange(30) < k) | (np.abs(top.scores - top.scores[:, [k - 1]]) < 1e-6)
        is_found = (ids[:, :, None] == np.where(is_right, top.ids, -2)[:, None]).any(axis=2)
        rows = zip(ids.tolist(), top.ids.tolist(), (-top.scores).tolist(), strict=True)
        recalls = [recall_of_big_ann(*row, k) for row in rows]
        assert is_found.mean(axis=1).tolist() == pytest.approx(recalls, abs=1e-15)
        truth = tr.topk_embeddings(queries.astype(float), entities, k, **SQL2)
        report = tr.evaluate_topk(queries, entities, ids, truth, tolerance=1e-6, **SQL2)
        unlike += np.count_nonzero(report.per_query(f"recall@{k}") != recalls)
    assert unlike
