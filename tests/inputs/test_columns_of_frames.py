"""Missing values, and vectors in a column."""

from __future__ import annotations

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
    lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors.ravel()), 2)
    expected = tr.rank_embeddings(queries, vectors, [1, 0])
    chunks = pyarrow.chunked_array([lists[:1], lists[1:]])
    for column in (lists, chunks, pyarrow.table({"id": range(4), "v": lists})["v"]):
        assert tr.rank_embeddings(queries, column, [1, 0]) == expected
    part = tr.rank_embeddings(queries, lists[1:3], [1, 0])
    assert part == tr.rank_embeddings(queries, vectors[1:3], [1, 0])
    named = pyarrow.table({"id": range(4), "v": lists})
    refusal((TypeError, ValueError), "^entities: ", tr.rank_embeddings, queries, named, [1, 0])
    missing = pyarrow.array([[1.0, 0.0], None], lists.type)
    refusal(TypeError, "^entities: ", tr.rank_embeddings, queries, missing, [1, 0])
    assert tr.rank_embeddings(queries, pyarrow.array([[1.0, 0], [0, 1]], lists.type), [1, 0])


def test_other_columns_of_lists_are_no_vectors() -> None:
    pandas = pytest.importorskip("pandas", reason="frames of pandas")
    pyarrow = pytest.importorskip("pyarrow", reason="columns of Arrow")
    expected = tr.rank_embeddings(VALUES, VALUES, TARGETS)
    for column in (pandas.Series(list(VALUES)), pyarrow.chunked_array([VALUES.tolist()])):
        refusal(TypeError, "dtype object", tr.rank_embeddings, VALUES, column, TARGETS)
        vectors = np.array([list(row) for row in column.to_numpy()])
        assert tr.rank_embeddings(VALUES, vectors, TARGETS) == expected


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
