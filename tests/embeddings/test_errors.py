"""Wrong vectors, tasks and options raise a clear error that names the argument."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from strategies.embeddings import vectors_of
from support.refusals import refusal


def refuse(kind: type[Exception], message: str, **changed: Any) -> None:
    """All three functions raise an error of exactly the type: an IndexError would be a bug."""
    plain = vectors_of("float32")
    arguments = {"queries": plain.queries, "entities": plain.entities, **changed}
    calls: list[Callable[..., Any]] = [
        lambda **given: tr.rank_embeddings(**given, targets=[0] * 7),
        lambda **given: tr.score_embeddings(**given),
        lambda **given: tr.topk_embeddings(**given, k=2),
    ]
    for call in calls:
        refusal(kind, message, call, **arguments)


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "empty.npy").write_bytes(b"")
    (tmp_path / "text.npy").write_bytes(b"0.5 0.25\n")
    np.save(tmp_path / "ints.npy", np.ones((3, 10), np.int8))
    np.save(tmp_path / "cube.npy", np.ones((3, 10, 2), np.float32))
    np.save(tmp_path / "line.npy", np.ones(10, np.float32))
    np.save(tmp_path / "short.npy", np.ones((3, 9), np.float32))
    for name in ("queries", "entities"):
        refuse(ValueError, rf"^{name}: .*empty\.npy: expected", **{name: tmp_path / "empty.npy"})
        refuse(ValueError, rf"^{name}: .*text\.npy: expected", **{name: tmp_path / "text.npy"})
        refuse(TypeError, rf"^{name}: .* got dtype int8$", **{name: tmp_path / "ints.npy"})
        message = rf"^{name}: .*cube\.npy: expected a matrix \({name}, d\).* got shape \(3, 10, 2\)"
        refuse(ValueError, message, **{name: tmp_path / "cube.npy"})
        refuse(FileNotFoundError, r"none\.npy", **{name: tmp_path / "none.npy"})
    refuse(IsADirectoryError, "directory", entities=tmp_path)
    refuse(ValueError, r"entities: .*expected a matrix", entities=tmp_path / "line.npy")
    refuse(ValueError, "entities: expected vectors of length 10", entities=tmp_path / "short.npy")


# --- errors


def test_shapes() -> None:
    f4 = np.float32
    one = np.ones((4, 10), f4)
    refuse(ValueError, r"^queries: expected a matrix .* got shape \(\)", queries=1.0)
    refuse(ValueError, r"^queries: expected a matrix \(queries, d\)", queries=one[None])
    refuse(ValueError, r"^entities: expected a matrix \(entities, d\), got shape", entities=one[0])
    refuse(ValueError, r"^entities: .* got shape \(\)", entities=f4(1))
    refuse(ValueError, r"length 10, as in queries, got shape \(4, 9\)", entities=one[:, 1:])
    refuse(ValueError, r"length 9, as in queries, got shape", queries=one[:, 1:])
    refuse(ValueError, r"length 9, as in queries, got shape", queries=one[0, 1:])
    empty = np.ones((3, 0), f4)
    message = r"^queries: expected vectors of length 1 or more, .* got shape \(3, 0\)"
    refuse(ValueError, message, queries=empty, entities=empty)
    refuse(
        ValueError,
        "^queries: expected a matrix of numbers, got lists of unlike lengths",
        queries=[[1.0, 2.0], [3.0]],
    )
    odd = np.ones((3, 5), f4)
    message = r"^queries: expected vectors of .* an even length for complex_l1, got shape \(3, 5\)"
    refuse(ValueError, message, queries=odd, entities=odd, similarity="complex_l1")


WRONG: dict[str, Any] = {
    "int64": np.ones((3, 10), np.int64),
    "int8": np.ones((3, 10), np.int8),
    "int16": np.ones((3, 10), np.int16),
    "bool": np.ones((3, 10), bool),
    "object": np.ones((3, 10), object),
    "str": np.full((3, 10), "a"),
    "longdouble": np.ones((3, 10), np.longdouble),
    "struct": np.zeros((3, 10), [("a", "f4")]),
    "None": None,
    "void": np.zeros((3, 10), "V2"),
}


@pytest.mark.parametrize("name", ["queries", "entities"])
@pytest.mark.parametrize("wrong", WRONG)
def test_no_floats(name: str, wrong: str) -> None:
    if wrong == "longdouble" and np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("it is a float64 here")
    message = f"^{name}: expected one of float16, bfloat16, float32, float64, got dtype "
    refuse(TypeError, message, **{name: WRONG[wrong]})


@pytest.mark.parametrize("name", ["queries", "entities"])
def test_other_objects(name: str) -> None:
    scipy_sparse = pytest.importorskip("scipy.sparse")
    ones = np.ones((3, 10), np.float32)
    refuse(TypeError, f"^{name}: expected a dense array", **{name: scipy_sparse.csr_array(ones)})
    masked: Any = np.ma.masked_array(ones, ones > 2)
    refuse(TypeError, f"^{name}: expected plain numbers, got a masked", **{name: masked})
    refuse(TypeError, f"^{name}: .* got dtype complex64; array.view", **{name: ones + 1j * ones})
    refuse(FileNotFoundError, "no-such-file", **{name: "no-such-file.npy"})


def test_raw_vectors_need_a_dtype() -> None:
    raw = vectors_of("bfloat16 in V2").entities
    refuse(TypeError, '^entities: .* got dtype .*dtype="bfloat16" says', entities=raw)
    refuse(
        TypeError,
        "^dtype: entities of dtype .* cannot be taken as float32",
        entities=raw,
        dtype="float32",
    )
    refuse(
        TypeError, "^dtype: queries of dtype float32 cannot be taken as float64", dtype="float64"
    )
    refuse(TypeError, "^dtype: expected one of float16, bfloat16, .*, got 'float8'", dtype="float8")


def test_biases_that_do_not_fit() -> None:
    refuse(
        ValueError,
        r"^bias: expected 19 numbers, one for each entity, got shape \(18,\)",
        bias=np.ones(18),
    )
    refuse(
        ValueError,
        r"^bias: expected one number for each entity, got shape \(1, 19\)",
        bias=np.ones((1, 19)),
    )
    refuse(ValueError, r"^bias: expected one number for each entity, got shape \(\)", bias=1.0)
    refuse(
        TypeError, "^bias: expected one of float16, .* got dtype int64", bias=np.ones(19, np.int64)
    )
    refuse(TypeError, "^bias: expected one of float16, .* got dtype object", bias=[None] * 19)


def test_options() -> None:
    refuse(ValueError, "^similarity: expected one of dot, cosine, .*, got 'L1'", similarity="L1")
    refuse(TypeError, "^similarity: expected a str, got NoneType", similarity=None)
    refuse(ValueError, "^threads: expected an integer >= 1, got 0", threads=0)
    refuse(TypeError, "^threads: expected an integer >= 1, got str", threads="2")
    vectors = vectors_of("float32")
    pair = vectors.queries, vectors.entities
    for function in (tr.rank_embeddings, tr.topk_embeddings):
        for block, kind, message in (
            (0, ValueError, "block: expected an integer >= 1, got 0"),
            (2.0, TypeError, "block: expected an integer >= 1, got float"),
            (False, TypeError, "block: expected an integer >= 1, got bool"),
        ):
            refusal(kind, message, function, *pair, 1, block=block)
        refusal(ValueError, "nan: .* of raise, worst, omit, got 'no'", function, *pair, 1, nan="no")
        assert function(*pair, 1, block=2**70) is not None


def test_indices() -> None:
    vectors = vectors_of("float32")
    pair = vectors.queries, vectors.entities
    for function in (tr.rank_embeddings, tr.score_embeddings):
        for targets, message in (
            ([0] * 6, r"targets: expected 7 integers, one for each query, .*, got shape \(6,\)"),
            ([19] + [0] * 6, r"targets: expected integers from 0 to 18 \(19 entities\), got 19"),
            ([0] * 6 + [-1], "got -1 for task 6"),
            (19, r"\(19 entities\), got 19 for task 0"),
            ([[0]], r"targets: expected 7 integers, .* got shape \(1, 1\)"),
        ):
            refusal(ValueError, message, function, *pair, targets)
        refusal(TypeError, "targets: expected integers, got .* float64", function, *pair, [0.0] * 7)
        refusal(ValueError, "targets: .* for each entry of rows", function, *pair, [0, 1], rows=[0])
    none = np.zeros((0, 10), np.float32)
    refusal(ValueError, "targets: .* .0 entities", tr.rank_embeddings, vectors.queries, none, 0)
    calls: list[Callable[[Any], Any]] = [
        lambda rows: tr.rank_embeddings(*pair, [0, 0], rows=rows),
        lambda rows: tr.score_embeddings(*pair, [0, 0], rows=rows),
        lambda rows: tr.score_embeddings(*pair, rows=rows),
        lambda rows: tr.topk_embeddings(*pair, 2, rows=rows),
    ]
    for call in calls:
        refusal(ValueError, r"rows: expected integers from 0 to 6 \(7 queries\)", call, [0, 7])
        refusal(ValueError, "got -1 for task 0", call, [-1, 0])
        refusal(ValueError, "rows: expected a 1-D array, got shape", call, [[0, 1]])
        refusal(TypeError, "rows: expected integers, got dtype float64", call, [0.0, 1.0])


def test_selections() -> None:
    vectors = vectors_of("float32")
    pair = vectors.queries, vectors.entities
    calls: list[Callable[..., Any]] = [
        lambda **keywords: tr.rank_embeddings(*pair, 0, **keywords),
        lambda **keywords: tr.topk_embeddings(*pair, 2, **keywords),
    ]
    for call in calls:
        refusal(ValueError, "filter: expected indices from 0 .* 19", call, filter=[[19]] + [[]] * 6)
        refusal(ValueError, "candidates: .* indices from 0 to 18, got -1", call, candidates=[0, -1])
        refusal(ValueError, "filter: expected 7 .* lists, one for each task", call, filter=[[]] * 6)
        refusal(TypeError, "filter: expected", call, filter=np.zeros((7, 19)))
    with pytest.raises(ValueError, match="candidates: the target 0 of task 1 is not among its"):
        tr.rank_embeddings(*pair, 0, candidates=[[0], [1], *[[0]] * 5])


def test_nan_in_words() -> None:
    entities = np.zeros((5, 2), np.float32)
    entities[3, 1] = np.nan
    queries = np.ones((3, 2), np.float32)
    for rule, words in (("raise", "the score of"), ("omit", "the true score, of")):
        with pytest.raises(ValueError, match=rf"^scores: {words} query 1 and entity 3,? is NaN"):
            tr.rank_embeddings(*(queries, entities, [0, 3, 3]), filter=[[3], [], []], nan=rule)
    ranks = tr.rank_embeddings(queries, entities, [0, 3, 3], nan="worst")
    assert ranks.above.tolist() == [0, 4, 4]


def test_modules_are_not_their_weights() -> None:
    torch = pytest.importorskip("torch", reason="a module of torch")
    message = "expected an array or a tensor, got Embedding; give its weight$"
    for name in ("queries", "entities"):
        refuse(TypeError, f"^{name}: {message}", **{name: torch.nn.Embedding(19, 10)})
