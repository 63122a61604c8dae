"""Missing values, and vectors in a column."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal

pytestmark = [pytest.mark.python_only, pytest.mark.filterwarnings("error")]
TARGETS = [1, 0]
VALUES = np.array([[0.1, 0.9, 0.5], [0.7, 0.2, 0.3]])
FLOATS = ("Float64", "Float32", "double[pyarrow]", "float32[pyarrow]")
INTEGERS = ("Int64", "UInt8", "int32[pyarrow]")
BOOLS = ("boolean", "bool[pyarrow]")


def pandas_with(dtype: str) -> Any:
    """Return pandas, if it has a dtype, or skip the test."""
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow", reason="dtypes of Arrow")
    return pytest.importorskip("pandas", reason="frames of pandas")


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_frames_that_may_have_missing_numbers_are_read(dtype: str) -> None:
    pandas = pandas_with(dtype)
    whole = (VALUES * 10).round()
    frame = pandas.DataFrame(whole).astype(dtype)
    plain = frame.astype(dtype.replace("[pyarrow]", "").lower()).to_numpy()
    assert tr.rank(frame, TARGETS) == tr.rank(plain, TARGETS)
    assert tr.rank(frame.loc[0], 1) == tr.rank(plain[0], 1)
    missing = frame.copy()
    missing.iloc[0, 0] = pandas.NA
    with_nan = np.where(np.arange(6).reshape(2, 3) == 0, np.nan, whole)
    refusal(ValueError, "row 0, column 0 is NaN", tr.rank, missing, TARGETS)
    got = tr.rank(missing, TARGETS, nan="worst")
    assert dtype in INTEGERS or got.protocol.dtype == plain.dtype
    expected = tr.rank(with_nan.astype(got.protocol.dtype), TARGETS, nan="worst")
    assert got == expected
    if dtype in INTEGERS:
        ids = pandas.Series([1, None], dtype=dtype)
        refusal(TypeError, "missing values", tr.rank, VALUES, ids)
        assert tr.rank(VALUES, pandas.Series(TARGETS, dtype=dtype)) == tr.rank(VALUES, TARGETS)


@pytest.mark.parametrize("dtype", BOOLS)
def test_masks_have_no_missing_values(dtype: str) -> None:
    pandas = pandas_with(dtype)
    mask = VALUES == 0.3
    frame = pandas.DataFrame(mask).astype(dtype)
    expected = tr.rank(VALUES, TARGETS, filter=mask)
    assert tr.rank(VALUES, TARGETS, filter=frame) == expected
    for_all = pandas.Series([True, True, False], dtype=dtype)
    expected = tr.rank(VALUES, TARGETS, candidates=np.array([True, True, False]))
    assert tr.rank(VALUES, TARGETS, candidates=for_all) == expected
    frame.iloc[0, 0] = pandas.NA
    for_all[1] = pandas.NA
    refusal(ValueError, "^filter: .* missing", tr.rank, VALUES, TARGETS, filter=frame)
    refusal(ValueError, "^candidates: .* missing", tr.rank, VALUES, TARGETS, candidates=for_all)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_lists_of_one_length_are_vectors(dtype: str) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="columns of Arrow")
    vectors = np.array([[1, 0], [0, 1], [0.5, 0.5], [2, 1]], dtype)
    queries = np.array([[0.25, 0.75], [0.5, 0.25]], dtype)
    numbers = pyarrow.array(vectors.ravel())
    lists = pyarrow.FixedSizeListArray.from_arrays(numbers, 2)
    expected = tr.score_embeddings(queries, vectors)
    forms = [lists]
    for of_any_length in (pyarrow.ListArray, pyarrow.LargeListArray):
        forms.append(of_any_length.from_arrays([0, 2, 4, 6, 8], numbers))
    for form in forms:
        chunks = pyarrow.chunked_array([form[:1], form[1:]])
        for column in (form, chunks, pyarrow.table({"id": range(4), "v": form})["v"]):
            assert tr.rank_embeddings(queries, column, [1, 0]) == tr.rank(expected, [1, 0])
            assert tr.score_embeddings(queries, column).tolist() == expected.tolist()
        part = tr.score_embeddings(queries, form[1:3])
        assert part.tolist() == expected[:, 1:3].tolist()
    named = pyarrow.table({"id": range(4), "v": lists})
    refusal((TypeError, ValueError), "^entities: ", tr.rank_embeddings, queries, named, [1, 0])
    missing = pyarrow.array([[1.0, 0.0], None], lists.type)
    words = "^entities: expected lists of one length, got 1 of 2 unlike the first"
    refusal(ValueError, words, tr.rank_embeddings, queries, missing, [1, 0])
    assert tr.rank_embeddings(queries, pyarrow.array([[1.0, 0], [0, 1]], lists.type), [1, 0])


def series_of_lists(rows: Any) -> list[Any]:
    """Return the forms that a column of lists of one length has in memory."""
    pandas = pytest.importorskip("pandas", reason="frames of pandas")
    polars = pytest.importorskip("polars", reason="frames of polars")
    pyarrow = pytest.importorskip("pyarrow", reason="columns of Arrow")
    of_arrow = pyarrow.array(rows.tolist())
    series = pandas.Series(list(rows))
    return [
        series,
        series.to_numpy(),
        pandas.Series(rows.tolist()),
        pandas.Series(of_arrow, dtype=pandas.ArrowDtype(of_arrow.type)),
        polars.Series(rows.tolist()),
        pyarrow.chunked_array([of_arrow[:1], of_arrow[1:]]),
    ]


def test_a_series_of_lists_is_a_matrix() -> None:
    """Of vectors, of scores, and of the ids that an index listed, as VectorDBBench has them."""
    vectors = np.random.default_rng(0).normal(size=(5, 3))
    scores = tr.score_embeddings(vectors, vectors)
    top = tr.topk_embeddings(vectors, vectors, 2)
    listed = top.ids.copy()
    listed[:2, 1] = 4 - listed[:2].sum(axis=1) % 2  # Some of them are wrong.
    how: Any = {"similarity": "dot", "duplicates": "first"}
    recall = tr.evaluate_topk(vectors, vectors, listed, top, **how)
    assert 0 < recall["recall@2"] < 1
    for column, rows, ids in zip(*map(series_of_lists, (vectors, scores, listed)), strict=True):
        assert tr.score_embeddings(column, column).tolist() == scores.tolist()
        assert tr.rank(rows, 2) == tr.rank(scores, 2)
        for truth in series_of_lists(top.ids):
            report = tr.evaluate_topk(column, vectors, ids, truth, **how)
            assert report["recall@2"] == recall["recall@2"]


def test_lists_of_unlike_lengths_are_no_matrix() -> None:
    """A list that is missing is another one; an index of a Series is that of the rows."""
    pandas = pytest.importorskip("pandas", reason="frames of pandas")
    pyarrow = pytest.importorskip("pyarrow", reason="columns of Arrow")
    words = "expected lists of one length, got 2 of 3 unlike the first"
    for rows in ([[1.0, 2], [3.0], []], [[1.0, 2], None, [3.0, 4, 5]]):
        for column in (pandas.Series(rows), pyarrow.array(rows)):
            refusal(ValueError, f"^entities: {words}", tr.rank_embeddings, VALUES, column, TARGETS)
    vectors = np.eye(3)
    for argument in ("ids", "truth"):
        given: Any = {name: [[0, 1], [1, 2], [2, 0]] for name in ("ids", "truth")}
        given[argument] = pandas.Series([[0, 1], [2], [1, 2, 0]])
        call = partial(tr.evaluate_topk, vectors, vectors, **given, similarity="dot")
        refusal(ValueError, f"^{argument}: {words}", call)
    named = pandas.Series(list(VALUES), index=["a", "b"])
    refusal(ValueError, "^queries: expected an index", tr.topk_embeddings, named, VALUES, 1)
    names = pandas.Series(["a", "b"])
    refusal(TypeError, "dtype", tr.topk_embeddings, names, VALUES, 1)


def test_a_filter_may_be_a_column_of_lists_of_one_length() -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="columns of Arrow")
    lists = pyarrow.array([[0, 2], [1, 2]], pyarrow.list_(pyarrow.int64(), 2))
    expected = tr.rank(VALUES, TARGETS, filter=[[0, 2], [1, 2]])
    assert tr.rank(VALUES, TARGETS, filter=lists) == expected


def test_sparse_scores_are_refused() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    scores = sparse.csr_array(np.array([[0.0, 2.0, 1.0]]))
    words = r"^scores: expected a dense matrix, with a score of each candidate, got csr_array$"
    refusal(TypeError, words, tr.rank, scores, [2])
    refusal(TypeError, words, tr.evaluate, scores, [2])
