"""Late interaction: sums of maxima over token scores, counted, and what takes lists of vectors."""

from __future__ import annotations

import inspect
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from doors.asking import Call
from doors.good_calls import good_calls
from oracles.counting import count
from oracles.embeddings import same_bits, sums_of_maxima
from strategies.embeddings import (
    CALLS_OF_VECTORS,
    TokenLists,
    check,
    check_pairs,
    check_top_k,
    tasks,
    token_lists,
)
from support.examples import examples
from support.outcomes import Problem
from support.problems import Array, assert_same, csr, host_tensor
from support.refusals import T, V, refusal, refused
from truerank import link_prediction, retrieval
from truerank.embeddings.vectors import Embeddings
from truerank.inputs.rules import VectorSimilarity

pytestmark = pytest.mark.usefixtures("reports_at_once")
LATE: dict[str, Any] = {"similarity": "maxsim"}
Lists = tuple[Array, Array]


# What has been held against the oracle of products, so that long lists can be drawn.
any_lists = st.one_of(
    token_lists(nan=False),
    token_lists(nan=True),
    token_lists(nan=False, oracle=tr.score_embeddings),
    token_lists(nan=True, oracle=tr.score_embeddings),
)


@pytest.mark.smoke
@given(any_lists, st.data(), st.booleans(), st.sampled_from([False, False, True]))
@examples(200)
def test_counts_and_refusals_are_those_of_the_oracle(
    drawn: TokenLists, data: st.DataObject, audit: bool, errors: bool
) -> None:
    if drawn.width:
        check(drawn, data.draw(tasks(drawn, errors=errors)), audit=audit)


@given(any_lists, st.data())
def test_pairs_are_entries_of_the_matrix(drawn: TokenLists, data: st.DataObject) -> None:
    rows: list[int] = []
    targets: list[int] = []
    if drawn.height:
        rows = data.draw(st.lists(st.integers(0, drawn.height - 1), max_size=20))
    if drawn.width:
        targets = [data.draw(st.integers(0, drawn.width - 1)) for _ in rows]
    check_pairs(drawn, rows, targets, data.draw(st.sampled_from([None, 1, 2, 3])))


@given(any_lists, st.data())
@examples(100)
def test_best_is_what_sorting_gives(drawn: TokenLists, data: st.DataObject) -> None:
    columns = drawn.width
    k = data.draw(st.sampled_from([1, 2, 3, columns, columns + 1, 50]).filter(bool))
    if not columns or data.draw(st.integers(0, 3)) == 0:  # a task for each query
        check_top_k(drawn, k, Problem(np.zeros((1, 1)), 0, {"nan": "worst"}))
        return
    check_top_k(drawn, k, data.draw(tasks(drawn)))


# --- what the meaning says


def normal_lists(seed: int, lists: int, longest: int, d: int = 8, dtype: Any = "f4") -> Lists:
    rng = np.random.default_rng(seed)
    indptr = np.cumsum([0, *rng.integers(1, longest + 1, lists)])
    return rng.standard_normal((indptr[-1], d)).astype(dtype), indptr


QUERIES = normal_lists(1, 7, 5)
DOCUMENTS = normal_lists(2, 40, 30)
DOCUMENTS_OF_3 = normal_lists(2, 4, 3, 3)
SCORES = tr.score_embeddings(QUERIES, DOCUMENTS, similarity="maxsim")
TARGETS = [0, 39, 5, 11, 38, 2, 7]


@given(any_lists, st.integers(0, 2**32))
def test_order_and_repeats_of_a_documents_tokens_change_nothing(
    drawn: TokenLists, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    vectors, indptr = drawn.entities
    rows = []
    for start, stop in pairwise(indptr.tolist()):
        some = rng.integers(start, stop, rng.integers(0, 9))
        rows.append(rng.permutation(np.concatenate([np.arange(start, stop), some])))
    others = vectors[np.concatenate([np.zeros(0, int), *rows])]
    pair: Any = (others, np.cumsum([0, *map(len, rows)]))
    got = tr.score_embeddings(drawn.queries, pair, **drawn.keywords)
    assert same_bits(got, drawn.scores())


@given(any_lists)
def test_single_tokens_are_scored_by_their_products(drawn: TokenLists) -> None:
    """But for the sign of zero: a sum of zeros begins at 0."""
    queries, entities = drawn.queries[0], drawn.entities[0]
    ones: Any = [(x, np.arange(len(x) + 1)) for x in (queries, entities)]
    got = tr.score_embeddings(*ones, **drawn.keywords)
    products = tr.score_embeddings(queries, entities, dtype=drawn.dtype)
    assert same_bits(got, products + np.zeros((), products.dtype))


@given(any_lists, st.integers(0, 2**32))
def test_single_tokens_are_what_they_are_beside_a_list_of_two(drawn: TokenLists, seed: int) -> None:
    """Lists of one token each are vectors to the core; with a list of two they are lists again."""
    queries, entities = drawn.queries[0], drawn.entities[0]
    height, width = len(queries), len(entities)
    if not height or not width:
        return
    ones: Any = [(x, np.arange(len(x) + 1)) for x in (queries, entities)]
    two = np.concatenate([entities, entities[[0, 0]]])
    more: Any = (ones[0], (two, np.append(ones[1][1], width + 2)))
    options: Any = drawn.keywords | {"similarity": "maxsim"}
    assert same_bits(
        tr.score_embeddings(*ones, **options), tr.score_embeddings(*more, **options)[:, :width]
    )
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, width, height)
    pairs = [tr.score_embeddings(*x, targets=targets, **options) for x in (ones, more)]
    assert same_bits(*pairs)
    filter = csr([rng.integers(0, width, 2).tolist() for _ in range(height)])
    options |= {"filter": filter, "candidates": np.union1d(targets, rng.integers(0, width, 3))}
    for nan in ("worst", "omit"):
        lists = [tr.topk_embeddings(*x, k=3, nan=nan, **options) for x in (ones, more)]
        assert lists[0].ids.tolist() == lists[1].ids.tolist()
        assert same_bits(lists[0].scores, lists[1].scores)
        if not np.isnan(pairs[0]).any():
            ranks = [
                tr.rank_embeddings(*x, targets=targets, audit=True, nan=nan, **options)
                for x in (ones, more)
            ]
            assert ranks[0] == ranks[1]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_product_that_vanishes_is_no_negative_zero(dtype: str) -> None:
    tiny = np.finfo(dtype).tiny
    ones: Any = [(np.array([[x]], dtype), [0, 1]) for x in (tiny, -tiny)]
    (score,) = tr.score_embeddings(*ones, **LATE)[0]
    top = tr.topk_embeddings(*ones, k=1, **LATE).scores[0, 0]
    pair = tr.score_embeddings(*ones, targets=[0], **LATE)[0]
    assert [float(x) for x in (score, top, pair)] == [0, 0, 0]
    assert not np.signbit([score, top, pair]).any()


def test_a_sum_is_rounded_once() -> None:
    """In float32 the small products would vanish, one by one, beside the first one."""
    queries = np.array([[2.0**24], [1], [1], [1]], np.float32)
    got = tr.score_embeddings((queries, [0, 4]), (np.ones((1, 1), np.float32), [0, 1]), **LATE)
    assert got.tolist() == [[2.0**24 + 4]]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool"])
def test_quantised_tokens(dtype: str) -> None:
    lists = [normal_lists(i, n, 20, 300) for i, n in ((3, 9), (4, 50))]
    least = 0 if dtype == "uint8" else -128
    made: Any = [((x * 40).clip(least, 127).astype(dtype), indptr) for x, indptr in lists]

    def products(queries: Array, entities: Array, **_: Any) -> Array:
        return (queries.astype(np.int64) @ entities.astype(np.int64).T).astype(np.float64)

    scores = tr.score_embeddings(*made, **LATE)
    assert same_bits(scores, sums_of_maxima(*made, products))
    ranks = tr.rank_embeddings(*made, np.arange(9), **LATE)
    assert_same(ranks, count(scores, list(range(9))))


@pytest.mark.threads
def test_threads_change_nothing(sanitized: bool) -> None:
    n = 200 if sanitized else 700  # As many threads score both.
    queries = normal_lists(5, 90, 40, 16)
    documents = normal_lists(6, n, 60, 16, "f2")
    rng = np.random.default_rng(7)
    targets = rng.integers(0, n, 90)
    filter = csr([rng.integers(0, n, 20).tolist() for _ in range(90)])
    scores = tr.score_embeddings(queries, documents, threads=1, **LATE)
    expected = tr.rank(scores, targets, filter=filter, audit=True)
    # One thread, which scored them, races with none.
    for threads in (3, None) if sanitized else (1, 2, 3, None):
        options = LATE | {"threads": threads}
        assert same_bits(tr.score_embeddings(queries, documents, **options), scores)
        ranks = tr.rank_embeddings(
            queries, documents, targets, filter=filter, audit=True, **options
        )
        assert ranks == expected


@pytest.mark.parametrize("most", [1, 20, 1 << 20])
def test_queries_are_compared_by_all_their_tokens(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """By their number and all bits, a few bytes at a time."""
    monkeypatch.setattr("truerank.embeddings.vectors.COMPARED_BYTES", most)
    lists = [
        [1, 2],
        [1, 2],
        [1, 3],
        [3, 2],
        [1],
        [1, 2, 1],
        [0.0],
        [-0.0],
        [np.nan, 0],
        [np.nan, 0],
    ]
    vectors = np.repeat(np.concatenate(lists), 3).reshape(-1, 3).astype(np.float32)
    pairs = Embeddings((vectors, np.cumsum([0, *map(len, lists)])), DOCUMENTS_OF_3, "maxsim")
    bits = [np.array(x, np.float32).tobytes() for x in lists]
    rows, others = np.indices((10, 10)).reshape(2, -1)
    expected = [bits[i] != bits[j] for i, j in zip(rows, others, strict=True)]
    assert pairs.mismatched_rows(rows, others).tolist() == expected


# --- forms


def test_forms(tmp_path: Path) -> None:
    (queries, query_starts), (documents, starts_of_documents) = QUERIES, DOCUMENTS
    np.save(tmp_path / "v.npy", np.asfortranarray(documents))
    np.save(tmp_path / "i.npy", starts_of_documents.astype(">u4"))
    paths = tmp_path / "v.npy", str(tmp_path / "i.npy")
    maps = tuple(np.load(path, mmap_mode="r") for path in paths)
    forms: list[Any] = [
        (documents, starts_of_documents.astype(np.uint64)),
        paths,
        maps,
    ]
    for form in forms:
        got = tr.score_embeddings((queries, query_starts), form, **LATE)
        assert same_bits(got, SCORES)
    plain = [(x.tolist(), indptr.tolist()) for x, indptr in (QUERIES, DOCUMENTS)]
    wide = tr.score_embeddings(*plain, **LATE)  # lists of numbers are float64
    np.testing.assert_allclose(wide, SCORES, rtol=1e-5)
    ranks = tr.rank_embeddings(QUERIES, paths, TARGETS, **LATE)  # type: ignore[arg-type]
    assert_same(ranks, count(SCORES, TARGETS))
    assert ranks.protocol.files == (str(paths[0]), paths[1])
    assert (ranks.protocol.similarity, ranks.protocol.dtype) == ("maxsim", "float32")
    del maps, forms


def test_tensors_and_bfloat16() -> None:
    pytest.importorskip("torch")
    narrow = [(x.astype(ml_dtypes.bfloat16), indptr) for x, indptr in (QUERIES, DOCUMENTS)]
    expected = tr.score_embeddings(*narrow, **LATE)
    raw = [(x.view("u2"), indptr) for x, indptr in narrow]
    assert same_bits(tr.score_embeddings(*raw, dtype="bfloat16", **LATE), expected)
    tensors = [(host_tensor(x).requires_grad_(), host_tensor(indptr)) for x, indptr in narrow]
    assert same_bits(tr.score_embeddings(*tensors, **LATE), expected)


def test_frames_of_tokens() -> None:
    """Their rows are tokens, which have no names; columns are compared with the others'."""
    pandas = pytest.importorskip("pandas")
    vectors, indptr = DOCUMENTS
    frame = pandas.DataFrame(vectors)
    got = tr.score_embeddings(QUERIES, (frame, pandas.Series(indptr)), **LATE)
    assert same_bits(got, SCORES)
    named = frame.set_axis([f"d{i}" for i in range(len(frame))])
    refusal(
        ValueError,
        "^entities: expected rows numbered",
        tr.score_embeddings,
        QUERIES,
        (named, indptr),
        **LATE,
    )
    task = retrieval.Task({0: ["d1"]}, entities=["d0", "d1"])  # which are no names of tokens
    some = named[:3].set_axis(["d0", "d1", "d1"]), [0, 1, 3]
    words = "^entities: expected rows numbered"
    refusal(V, words, task.evaluate_embeddings, (VECTORS[:2], [0, 2]), some, **LATE)
    columns = list("abcdefgh")
    queries = pandas.DataFrame(QUERIES[0], columns=columns), QUERIES[1]
    others = pandas.DataFrame(vectors, columns=columns[::-1]), indptr
    refused(ValueError, "queries", tr.score_embeddings, queries, others, **LATE)


def test_a_single_query_is_that_of_all_tasks() -> None:
    one = QUERIES[0][:3], [0, 3]
    scores = tr.score_embeddings(one, DOCUMENTS, **LATE)
    ranks = tr.rank_embeddings(one, DOCUMENTS, [4, 2, 4], **LATE)
    assert ranks == tr.rank(scores, [4, 2, 4])


@pytest.mark.parametrize(("q", "n"), [(0, 5), (3, 0), (0, 0)])
def test_nothing_to_do(q: int, n: int) -> None:
    lists = [(np.ones((k, 4), np.float16), np.arange(k + 1)) for k in (q, n)]
    assert tr.score_embeddings(*lists, **LATE).shape == (q, n)
    assert tr.score_embeddings(*lists, [], rows=[], **LATE).shape == (0,)
    assert len(tr.rank_embeddings(*lists, [], rows=[], audit=True, **LATE)) == 0
    assert tr.topk_embeddings(*lists, 2, **LATE).ids.tolist() == [[-1, -1]] * q if not n else True


# --- checkpoints


def test_a_checkpoint_goes_on_by_documents(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("truerank.counting.driver.TILE_BYTES", 60)
    filter = csr([[1, 2, 3 + i] for i in range(7)])
    expected = tr.rank(SCORES, TARGETS, filter=filter, audit=True)
    done: list[int] = []

    def stop(progress: tr.Progress) -> None:
        done.append(progress.done)
        if len(done) == 5:
            raise KeyboardInterrupt

    call = partial(
        tr.rank_embeddings,
        QUERIES,
        DOCUMENTS,
        TARGETS,
        filter=filter,
        audit=True,
        checkpoint=tmp_path / "kept",
        **LATE,
    )
    with pytest.raises(KeyboardInterrupt):
        call(progress=stop)
    assert 0 < done[-1] < SCORES.nbytes
    resumed: list[int] = []
    assert call(progress=lambda progress: resumed.append(progress.resumed)) == expected
    assert resumed[-1] > 0


def test_a_checkpoint_of_other_lists_is_another_call() -> None:
    vectors, indptr = DOCUMENTS
    other = indptr.copy()
    other[1:-1] -= np.diff(indptr)[:-1] > 1
    states = [Embeddings(QUERIES, (vectors, x), "maxsim").state() for x in (indptr, other)]
    assert states[0] != states[1]


# --- tasks


def test_retrieval() -> None:
    """Filters, candidates, parts and audits are by document; scores give the same."""
    qrels = {"a": {"d3": 2, "d9": 1}, "b": {"d1": 1}, "c": {"d39": 1, "d0": 3}}
    names = [f"d{i}" for i in range(40)]
    for options in (
        {},
        {"known": {"train": {"a": ["d4"], "c": ["d5", "d7"]}}},
        {"candidates": {"a": names[:20], "b": names[:9], "c": names}},
    ):
        task = retrieval.Task(qrels, entities=names, queries=["c", "a", "b"], **options)
        queries = QUERIES[0][: QUERIES[1][3]], QUERIES[1][:4]
        scores = SCORES[:3]
        report = task.evaluate_embeddings(queries, DOCUMENTS, audit=True, **LATE)
        expected = task.evaluate_scores(scores, audit=True)
        assert report.ranks == expected.ranks
        assert report["ndcg@10"] == expected["ndcg@10"]
        assert report.ranks.protocol.similarity == "maxsim"
        parts = [task[i::2].evaluate_embeddings(queries, DOCUMENTS, **LATE) for i in range(2)]
        joined = tr.concatenate([part.ranks for part in parts])
        assert tr.report(joined)["ndcg@10"] == expected["ndcg@10"]
        other = task.evaluate_embeddings(queries, (-DOCUMENTS[0], DOCUMENTS[1]), **LATE)
        comparison = tr.compare(report, other, metric="mrr")
        assert (comparison.value_a, comparison.value_b) == (report["mrr"], other["mrr"])


def test_sides_share_their_entities() -> None:
    """Rows of one query are equal lists, or the warning says that they are not."""
    triples = np.array([(0, 0, 5), (1, 0, 6), (0, 0, 7)])
    task = link_prediction.Task(triples, entities=40)
    rows = [0, 1, 0]
    lists = [QUERIES[0][QUERIES[1][i] : QUERIES[1][i + 1]] for i in range(7)]

    def of(numbers: list[int]) -> Lists:
        some = [lists[i] for i in numbers]
        return np.concatenate(some), np.cumsum([0, *map(len, some)])

    vectors = {"tail": of(rows), "head": of([2, 3, 4]), "entities": DOCUMENTS}
    report = task.evaluate_embeddings(**vectors, audit=True, **LATE)
    scores = {"tail": SCORES[rows], "head": SCORES[[2, 3, 4]]}
    assert report.ranks == task.evaluate_scores(**scores, audit=True).ranks
    vectors["tail"] = of([0, 1, 5])
    with pytest.warns(UserWarning, match="^tail: in 1 of 1 rows that were compared a query has"):
        task.evaluate_embeddings(**vectors, **LATE)


# --- what is refused

VECTORS, INDPTR = QUERIES
WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "a matrix": (VECTORS, T, r"vectors \(tokens, d\) .* got shape \(\d+, 8\)$"),
    "a path": ("x.npy", T, "and indptr, .* got str$"),
    "a list": ([VECTORS], T, "and indptr, the first token of each list, .* got list$"),
    "three arrays": ((VECTORS,) * 3, T, "got tuple$"),
    "no indptr": ((VECTORS, None), T, "got tuple$"),
    "two arrays": ((VECTORS, VECTORS), T, "indptr: expected integers"),
    "padded": (VECTORS[None], T, r"and indptr, .* got shape \(1, "),
    "a padded pair": ((VECTORS[None], INDPTR), T, r"got shape \(1, "),
    "one vector": ((VECTORS[0], INDPTR), V, r"expected vectors of shape \(tokens, d\)"),
    "falls": ((VECTORS, INDPTR[[0, 2, 1, 7]]), V, "expected an indptr that never falls, from 0 to"),
    "begins late": ((VECTORS, INDPTR[1:]), V, "expected an indptr that never falls, from 0 to"),
    "ends early": ((VECTORS, INDPTR[:-1]), V, f"from 0 to {len(VECTORS)}, the number of vectors"),
    "ends late": ((VECTORS[:-1], INDPTR), V, "expected an indptr that never falls, from 0 to"),
    "floats": ((VECTORS, INDPTR.astype(float)), T, "indptr: expected integers"),
    "bools": ((VECTORS, INDPTR > 0), T, "indptr: expected integers"),
    "two dimensions": ((VECTORS, INDPTR[None]), V, r"indptr: expected a 1-D array"),
    "a number": ((VECTORS, 3), V, r"indptr: expected a 1-D array"),
    "empty": ((VECTORS, INDPTR[[0, 1, 2, 2, 7]]), V, "list 2: expected a vector or more, got none"),
    "complex": ((VECTORS + 0j, INDPTR), T, "got dtype complex64$"),
    "integers": ((VECTORS.astype(int), INDPTR), T, "expected one of float16"),
}


@pytest.mark.parametrize("name", ["queries", "entities"])
@pytest.mark.parametrize("form", WRONG)
def test_forms_that_are_refused(form: str, name: str) -> None:
    value, kind, words = WRONG[form]
    pair: dict[str, Any] = {"queries": QUERIES, "entities": DOCUMENTS, name: value}
    for call in CALLS_OF_VECTORS:
        assert refusal(kind, words, call, **pair, **LATE).startswith(f"{name}: ")


PADDED = np.array([[[0.5, 0.5], [0, 0]], [[1, 0], [0, 0.4]], [[0.5, -1], [-0.0, 0]]])
ASKED = (np.array([[1.0, 0], [0, 2]]), [0, 2])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_tokens_of_zeros_are_padding(dtype: str) -> None:
    """The third document, the last one, would have 0 for the query's second token, not -2."""
    call = partial(tr.score_embeddings, ASKED, **LATE)
    lists = list(PADDED.astype(dtype))
    joined = np.concatenate(lists), np.cumsum([0, *map(len, lists)])
    words = r"^entities: list 0: .* got zeros at token 1$"
    refusal(V, words, call, joined)
    mask = PADDED.any(axis=2)
    assert call((PADDED[mask].astype(dtype), np.cumsum([0, *mask.sum(1)]))).argmin() == 2
    negative = np.array([[1.0, 0], [0, 1], [-0.0, 0]], dtype), [0, 1, 2, 3]
    refusal(V, "^entities: list 2: .* got zeros at token 0", call, negative)


def test_zeros_of_a_query_change_nothing() -> None:
    documents = np.array([[0.5, 0.5], [1, 0], [0, 0.4], [0.5, -1]]), [0, 1, 3, 4]
    with_zeros = np.array([[1.0, 0], [0, 2], [0, 0]]), [0, 3]
    scores = tr.score_embeddings(ASKED, documents, **LATE)
    assert scores.tolist() == [[1.5, 1.8, -1.5]]
    assert same_bits(tr.score_embeddings(with_zeros, documents, **LATE), scores)


def test_a_document_without_tokens_is_named() -> None:
    vectors, indptr = np.array([[0.5, 0.5], [1, 0], [0, 0.4]]), np.array([0, 1, 1, 3])
    call = retrieval.Task({0: ["c"]}, entities=["a", "b", "c"]).evaluate_embeddings
    words = r"^entities: list 1 \('b'\): expected a vector or more, got none$"
    refusal(V, words, call, ASKED, (vectors, indptr), **LATE)
    zeros = np.array([[0.5, 0.5], [1, 0], [0, 0.0]]), [0, 1, 2, 3]
    refusal(V, r"^entities: list 2 \('c'\): .* zeros at token 0", call, ASKED, zeros, **LATE)


def test_what_lists_do_not_go_with() -> None:
    pair: dict[str, Any] = {"queries": QUERIES, "entities": DOCUMENTS, **LATE}
    csls = tr.alignment.CSLS(np.zeros(7), np.zeros(40), 3)
    given: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"bias": np.zeros(40)}, V, "bias"),
        ({"csls": csls}, V, "csls"),
        ({"layout": "halves"}, V, "layout"),
        ({"entities": (DOCUMENTS[0][:, 1:], DOCUMENTS[1])}, V, "entities"),
        ({"entities": (DOCUMENTS[0].astype(np.int8), DOCUMENTS[1])}, T, "entities"),
        ({"queries": (VECTORS[:, :0], INDPTR), "entities": (VECTORS[:, :0], INDPTR)}, V, "queries"),
        ({"rows": [7] * 7}, V, "rows"),
        ({"dtype": "float64"}, T, "queries"),
    ]
    for wrong, kind, argument in given:
        for call in CALLS_OF_VECTORS:
            refused(kind, argument, call, **pair | wrong)
    rank = partial(tr.rank_embeddings, **pair)
    refusal(V, r"^targets: .* from 0 to 39 \(40 candidates\)", rank, targets=[40] * 7)
    refused(V, "filter", rank, targets=TARGETS, filter=[[40]] * 7)
    refused(V, "candidates", rank, targets=TARGETS, candidates=[0, 1])
    task = retrieval.Task({0: [1]}, entities=30)
    one = VECTORS[:2], [0, 2]
    words = r"^entities: expected lists of vectors of shape \(30, d\), one for each candidate"
    refusal(V, words, task.evaluate_embeddings, one, DOCUMENTS, **LATE)
    words = r"^queries: expected lists of vectors of shape \(1, d\), one for each query"
    refusal(V, words, task.evaluate_embeddings, QUERIES, DOCUMENTS, **LATE)


def late_form(name: str, vectors: list[list[float]]) -> Lists:
    """Return lists of vectors whose sums of maxima are the products of vectors.

    The tokens of a query are its halves; those of an entity are copies.
    """
    array = np.array(vectors)
    if name in ("entities", "right"):
        copies = np.arange(len(array)) + 1
        return np.repeat(array, copies, axis=0), np.cumsum([0, *copies])
    return np.repeat(array / 2, 2, axis=0), 2 * np.arange(len(array) + 1)


OF_VECTORS = ("queries", "entities", "tail", "head", "left", "right")
DOORS = [
    name
    for name, call in good_calls().items()
    if "similarity" in inspect.signature(call.function).parameters and name != "Protocol"
]
TAKEN = ("rank_embeddings", "score_embeddings", "topk_embeddings", "evaluate_topk")
TAKEN += ("link_prediction", "retrieval")


def test_all_doors_are_known() -> None:
    assert len(DOORS) == 10


@pytest.mark.parametrize("name", DOORS)
def test_a_door_takes_lists_of_vectors_or_refuses_them(name: str) -> None:
    """No door takes a token for a query or an entity."""
    call: Call = good_calls()[name]
    plain = {key: value for key, value in call.arguments.items() if key != "similarity"}
    late = dict(plain)
    for argument in OF_VECTORS:
        if argument in late:
            late[argument] = late_form(argument, late[argument])
    for similarity in get_args(VectorSimilarity):
        options = {"similarity": similarity}
        if similarity == "complex_l1":
            options["layout"] = "halves"
        refusal(
            T,
            r"got vectors and an indptr; similarity= says how lists",
            call.function,
            **late,
            **options,
        )
    for other in (np.ones(2), np.arange(2)):  # a bias, ids
        pairs = {key: (np.ones((2, 3)), other) for key in OF_VECTORS if key in late}
        words = "got vectors and another array$"
        refusal(T, words, call.function, **late | pairs | {"similarity": "dot"})
    padded = {argument: np.zeros((2, 3, 2)) for argument in OF_VECTORS if argument in late}
    refusal(
        T,
        r"only vectors with dot, got shape \(2, 3, 2\)$",
        call.function,
        **late | padded | {"similarity": "dot"},
    )
    refusal((T, V), "maxsim", call.function, **plain, **LATE)
    if not name.startswith(TAKEN):
        refusal(V, "^similarity: .* got 'maxsim'$", call.function, **late, **LATE)
        return
    got: Any = call.function(**late, **LATE)
    expected: Any = call.function(**plain, similarity="dot")
    if isinstance(got, tr.Report):
        got, expected = got.ranks, expected.ranks
    if isinstance(got, tr.Ranks):
        same = {"similarity": "dot", "candidates": expected.protocol.candidates}
        assert got.with_protocol(**same) == expected
    elif isinstance(got, tr.TopK):
        np.testing.assert_array_equal(got.ids, expected.ids)
    else:
        np.testing.assert_array_equal(got, expected)
