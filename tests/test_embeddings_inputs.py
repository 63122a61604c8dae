"""Every way of handing over vectors that is accepted, and a clear error for every other."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import truerank as tr
from drawn_vectors import KINDS, Vectors, numbers
from embeddings_oracle import SIMILARITIES, same_bits, score
from oracle import count
from problems import DISGUISES, FLOATS, LAYOUTS, Array, as_dtype, assert_same, unaligned
from truerank.stores import open_scores

TARGETS = [0, 18, 5, 11, 18, 2, 7]


def made(kind: str, height: int, seed: int = 1, d: int = 10) -> Array:
    return numbers(np.random.default_rng(seed), "tenths", kind, (height, d), nan=False)


def given(*kinds: str, **keywords: Any) -> Vectors:
    """Seven queries and nineteen entities."""
    disguised = any(kind in DISGUISES for kind in kinds)
    arrays = made(kinds[0], 7), made(kinds[-1], 19, 2)
    return Vectors(*arrays, dtype="bfloat16" if disguised else None, **keywords)


def ranked(vectors: Vectors, **keywords: Any) -> tr.Ranks:
    arguments = (vectors.queries, vectors.entities, TARGETS)
    return tr.rank_embeddings(*arguments, **vectors.keywords, **keywords)


def check(vectors: Vectors) -> None:
    scores = vectors.scores()
    assert_same(ranked(vectors), count(scores, TARGETS))
    pairs = (vectors.queries, vectors.entities, TARGETS)
    got = tr.score_embeddings(*pairs, **vectors.keywords)
    assert same_bits(got, scores[np.arange(7), TARGETS])


# --- layouts and dtypes


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_dtypes(first: str, second: str) -> None:
    vectors = given(first, second)
    check(vectors)
    wide = "float64" if "float64" in (first, second) else "float32"
    protocol = ranked(vectors).protocol
    assert protocol is not None
    assert protocol.dtype == wide


@pytest.mark.parametrize("layout", list(LAYOUTS))
@pytest.mark.parametrize("kind", [*FLOATS, "bfloat16 in V2"])
def test_layouts(kind: str, layout: str) -> None:
    vectors = given(kind)
    laid = Vectors(
        LAYOUTS[layout](vectors.queries),
        LAYOUTS[layout](vectors.entities),
        "l1",
        dtype=vectors.dtype,
    )
    check(laid)


@pytest.mark.parametrize("layout", ["Fortran", "byte-swapped", "negative both", "unaligned steps"])
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_layouts_of_every_similarity(similarity: str, layout: str) -> None:
    vectors = given("float32", similarity=similarity)
    plain = tr.score_embeddings(vectors.queries, vectors.entities, **vectors.keywords)
    laid = map(LAYOUTS[layout], (vectors.queries, vectors.entities))
    assert same_bits(tr.score_embeddings(*laid, **vectors.keywords), plain)


BIASES: dict[str, Callable[[Array], Any]] = {
    "float64": lambda b: b,
    "float32": lambda b: b.astype("f4"),
    "float16": lambda b: b.astype("f2"),
    "bfloat16": lambda b: b.astype(ml_dtypes.bfloat16),
    "swapped": lambda b: b.astype(">f4"),
    "swapped halves": lambda b: b.astype(">f2"),
    "steps": lambda b: np.repeat(b, 3)[::3],
    "backwards": lambda b: b[::-1].copy()[::-1],
    "unaligned": lambda b: unaligned(b.astype("f4")[None])[0],
    "read-only": lambda b: np.broadcast_to(b[:1], b.shape),
    "list": lambda b: b.tolist(),
    "tuple": lambda b: tuple(b.tolist()),
}


@pytest.mark.parametrize("how", BIASES)
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_biases(kind: str, how: str) -> None:
    bias = BIASES[how](np.random.default_rng(3).standard_normal(19))
    vectors = given(kind)
    alone = tr.score_embeddings(vectors.queries, vectors.entities)
    expected = alone + np.asarray(bias).astype(kind)
    got = tr.score_embeddings(vectors.queries, vectors.entities, bias=bias)
    assert same_bits(got, expected)


def test_raw_bias_is_what_dtype_says() -> None:
    bias = made("bfloat16", 19, d=1)[:, 0]
    vectors = given("float32")
    expected = tr.score_embeddings(vectors.queries, vectors.entities, bias=bias)
    for disguise in ("u2", "i2", "V2", ">u2"):
        raw = bias.view("u2").astype(">u2") if disguise == ">u2" else bias.view(disguise)
        got = tr.score_embeddings(vectors.queries, vectors.entities, bias=raw, dtype="bfloat16")
        assert same_bits(got, expected)


def test_dtype_is_of_raw_vectors_alone() -> None:
    """Queries fresh from a model, entities from a file of bfloat16, which numpy reads as bytes."""
    expected = given("float32", "bfloat16").scores()
    vectors = given("float32", "bfloat16 in V2")
    for dtype in ("bfloat16", ml_dtypes.bfloat16):
        got = tr.score_embeddings(vectors.queries, vectors.entities, dtype=dtype)
        assert same_bits(got, expected)
    plain = given("float32")
    for dtype in ("float32", np.float32, np.dtype("f4")):
        assert ranked(plain) == tr.rank_embeddings(
            plain.queries, plain.entities, TARGETS, dtype=dtype
        )


def test_one_query() -> None:
    vectors = given("float32")
    scores = vectors.scores()[2:3]
    query = vectors.queries[2]
    assert same_bits(tr.score_embeddings(query, vectors.entities), scores)
    assert same_bits(tr.score_embeddings(query, vectors.entities, [3, 4, 3]), scores[0, [3, 4, 3]])
    ranks = tr.rank_embeddings(query, vectors.entities, [3, 4, 3])
    assert_same(ranks, count(scores[0], [3, 4, 3]))
    assert_same(tr.rank_embeddings(query, vectors.entities, 3), count(scores[0], [3]))
    assert tr.topk_embeddings(query, vectors.entities, 2).ids.shape == (1, 2)
    assert tr.topk_embeddings(query, vectors.entities, 2, rows=[0, 0, 0]).ids.shape == (3, 2)


def test_one_target_for_all() -> None:
    vectors = given("float32")
    ranks = tr.rank_embeddings(vectors.queries, vectors.entities, 4)
    assert_same(ranks, count(vectors.scores(), 4))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nothing_to_do(dtype: str) -> None:
    for q, n in ((0, 5), (0, 0), (3, 0), (0, 1)):
        queries, entities = np.zeros((q, 4), dtype), np.zeros((n, 4), dtype)
        for similarity in SIMILARITIES:
            scores = tr.score_embeddings(queries, entities, similarity=similarity)
            assert scores.shape == (q, n)
            assert scores.dtype == ("float64" if dtype == "float64" else "float32")
            pairs = tr.score_embeddings(queries, entities, [], rows=[], similarity=similarity)
            assert pairs.shape == (0,)
            ranks = tr.rank_embeddings(
                queries, entities, [], rows=[], similarity=similarity, audit=True
            )
            assert len(ranks) == 0
            assert ranks.audit is not None
    one = tr.rank_embeddings(np.zeros((1, 1), dtype), np.zeros((1, 1), dtype), 0)
    assert (one.above.tolist(), one.tied.tolist(), one.candidates.tolist()) == ([0], [1], [1])


# --- objects


class Arrays:
    """Offers `__array__` alone."""

    def __init__(self, values: Array) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.values if dtype is None else self.values.astype(dtype)


OBJECTS: dict[str, Callable[[Array], Any]] = {
    "__array__": Arrays,
    "memoryview": memoryview,
    "lists": lambda a: a.tolist(),
    "list of rows": list,
}


@pytest.mark.parametrize("how", OBJECTS)
def test_foreign_objects(how: str) -> None:
    vectors = given("float64")
    turned = OBJECTS[how](vectors.queries), OBJECTS[how](vectors.entities)
    assert same_bits(tr.score_embeddings(*turned), vectors.scores())


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_torch_tensors(name: str) -> None:
    torch = pytest.importorskip("torch")
    vectors = given(name, similarity="l2")

    def tensor(array: Array) -> Any:
        if name == "bfloat16":
            return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
        return torch.from_numpy(array.copy())

    queries, entities = tensor(vectors.queries), tensor(vectors.entities)
    expected = vectors.scores()
    assert same_bits(tr.score_embeddings(queries, entities, similarity="l2"), expected)
    leaf = queries.requires_grad_()
    strided = tensor(np.ascontiguousarray(vectors.entities.T)).T
    assert same_bits(tr.score_embeddings(leaf, strided, similarity="l2"), expected)
    bias = tensor(vectors.entities[:, 0].copy())
    got = tr.score_embeddings(queries, entities, similarity="l2", bias=bias)
    assert same_bits(got, expected + vectors.entities[:, 0].astype(expected.dtype))


def test_torch_complex_as_rotate_has_it() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(5)
    plain = rng.standard_normal((9, 6)).astype(np.float32)
    tensor = torch.view_as_complex(torch.from_numpy(plain.reshape(9, 3, 2).copy()))
    flat = torch.view_as_real(tensor).flatten(-2)
    got = tr.score_embeddings(flat, flat, similarity="complex_l1")
    assert same_bits(got, score(plain, plain, "complex_l1"))
    assert same_bits(tensor.numpy().view(np.float32), plain)


# --- files


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_files(tmp_path: Path, kind: str, order: Any) -> None:
    vectors = given(kind, similarity="l1")
    dtype = "bfloat16" if kind == "bfloat16" else None
    paths = {}
    for name in ("queries", "entities"):
        paths[name] = tmp_path / f"{name}.npy"
        np.save(paths[name], np.asarray(getattr(vectors, name), order=order))
    expected = vectors.scores()
    options: dict[str, Any] = {"similarity": "l1", "dtype": dtype}
    for one in (vectors.queries, paths["queries"], str(paths["queries"])):
        for other in (paths["entities"], os.fsencode(paths["entities"])):
            assert same_bits(tr.score_embeddings(one, other, **options), expected)
    for mode in ("r", "c", "r+"):
        mapped = np.load(paths["entities"], mmap_mode=mode)
        assert same_bits(tr.score_embeddings(vectors.queries, mapped, **options), expected)
        turned = tr.score_embeddings(vectors.queries, mapped[::-1], **options)
        assert same_bits(turned, expected[:, ::-1])
        del mapped
    ranks = tr.rank_embeddings(vectors.queries, paths["entities"], TARGETS, **options)
    assert_same(ranks, count(expected, TARGETS))
    assert ranks.protocol is not None
    assert ranks.protocol.files == (str(paths["entities"]),)


def test_queries_and_bias_in_files(tmp_path: Path) -> None:
    vectors = given("float32")
    np.save(tmp_path / "one.npy", vectors.queries[3])
    np.save(tmp_path / "bias.npy", vectors.entities[:, 1].astype(np.float64))
    got = tr.score_embeddings(tmp_path / "one.npy", vectors.entities, bias=tmp_path / "bias.npy")
    assert same_bits(got, (vectors.scores()[3] + vectors.entities[:, 1])[None])


def test_other_files_that_lie_as_an_array_does(tmp_path: Path) -> None:
    vectors = given("float32")
    np.savez(tmp_path / "x.npz", a=vectors.entities)
    assert same_bits(tr.score_embeddings(vectors.queries, tmp_path / "x.npz"), vectors.scores())
    vectors.entities.tofile(tmp_path / "x.bin")
    with open_scores(tmp_path / "x.bin", dtype="float32", shape=(-1, 10)) as store:
        for _ in range(2):  # it stays open
            assert same_bits(tr.score_embeddings(vectors.queries, store), vectors.scores())


def test_files_without_vectors(tmp_path: Path) -> None:
    np.save(tmp_path / "none.npy", np.zeros((0, 10), np.float32))
    queries = given("float32").queries
    assert tr.score_embeddings(queries, tmp_path / "none.npy").shape == (7, 0)
    assert tr.score_embeddings(tmp_path / "none.npy", queries).shape == (0, 7)


@pytest.mark.skipif(sys.platform == "win32", reason="a mapped file cannot be cut there")
@pytest.mark.parametrize("name", ["queries", "entities", "bias"])
def test_a_map_whose_file_has_shrunk(tmp_path: Path, name: str) -> None:
    arguments: dict[str, Any] = {
        "queries": np.ones((2, 64), np.float32),
        "entities": np.ones((4000, 64), np.float32),
        "bias": np.ones(4000, np.float32),
    }
    path = tmp_path / "x.npy"
    np.save(path, arguments[name])
    arguments[name] = np.load(path, mmap_mode="r")
    assert len(tr.rank_embeddings(**arguments, targets=0)) == 2
    os.truncate(path, 130)
    message = rf"^{name}: {re.escape(str(path))}: expected [0-9,]+ bytes .* the file has 130$"
    calls: list[Callable[[], Any]] = [
        lambda: tr.rank_embeddings(**arguments, targets=0),
        lambda: tr.score_embeddings(**arguments),
        lambda: tr.topk_embeddings(**arguments, k=1),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=message):
            call()
    arguments[name] = path
    for call in calls:
        with pytest.raises(ValueError, match=message):
            call()


def refuse(kind: type[Exception], message: str, **changed: Any) -> None:
    """All three functions refuse, with the type exactly, as IndexError and the like were slips."""
    plain = given("float32")
    arguments = {"queries": plain.queries, "entities": plain.entities, **changed}
    calls: list[Callable[..., Any]] = [
        lambda **given: tr.rank_embeddings(**given, targets=[0] * 7),
        lambda **given: tr.score_embeddings(**given),
        lambda **given: tr.topk_embeddings(**given, k=2),
    ]
    for call in calls:
        with pytest.raises(kind, match=message) as error:
            call(**arguments)
        assert type(error.value) is kind


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
    refuse(IsADirectoryError, "folder", entities=tmp_path)
    refuse(ValueError, r"entities: expected a matrix", entities=tmp_path / "line.npy")
    refuse(ValueError, "entities: expected vectors of length 10", entities=tmp_path / "short.npy")
    refuse(
        TypeError,
        r"^entities: expected an array, or the path of one \.npy file, got ShardStore",
        entities=[tmp_path / "short.npy", tmp_path / "short.npy"],
    )


# --- errors


def test_shapes() -> None:
    f4 = np.float32
    one = np.ones((4, 10), f4)
    refuse(ValueError, r"^queries: expected a matrix .* got shape \(\)", queries=1.0)
    refuse(ValueError, r"^queries: expected a matrix \(queries, d\)", queries=one[None])
    refuse(ValueError, r"^entities: expected a matrix \(entities, d\), got shape", entities=one[0])
    refuse(ValueError, r"^entities: .* got shape \(\)", entities=f4(1))
    refuse(ValueError, r"length 10, as the queries have, got shape \(4, 9\)", entities=one[:, 1:])
    refuse(ValueError, r"length 9, as the queries have, got shape", queries=one[:, 1:])
    refuse(ValueError, r"length 9, as the queries have, got shape", queries=one[0, 1:])
    empty = np.ones((3, 0), f4)
    message = r"^queries: expected vectors of length 1 or more, got shape \(3, 0\)"
    refuse(ValueError, message, queries=empty, entities=empty)
    refuse(ValueError, "^queries: .* inhomogeneous", queries=[[1.0, 2.0], [3.0]])
    odd = np.ones((3, 5), f4)
    message = r"^queries: expected vectors of even length for complex_l1, .* got shape \(3, 5\)"
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
    raw = given("bfloat16 in V2").entities
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
    refuse(ValueError, "^threads: expected at least 1, got 0", threads=0)
    refuse(TypeError, "^threads: expected an integer, got str", threads="2")
    vectors = given("float32")
    pair = vectors.queries, vectors.entities
    functions = (tr.rank_embeddings, tr.topk_embeddings)
    for function in functions:
        for block, kind, message in (
            (0, ValueError, "block: expected at least 1, got 0"),
            (2.0, TypeError, "block: expected an integer, got float"),
            (False, TypeError, "block: expected an integer, got bool"),
        ):
            with pytest.raises(kind, match=message):
                function(*pair, 1, block=block)
        with pytest.raises(ValueError, match="nan: expected one of raise, worst, omit, got 'no'"):
            function(*pair, 1, nan="no")
        assert function(*pair, 1, block=2**70) is not None


def test_indices() -> None:
    vectors = given("float32")
    pair = vectors.queries, vectors.entities
    for function in (tr.rank_embeddings, tr.score_embeddings):
        for targets, message in (
            ([0] * 6, "targets: expected 7 integers, one for each query, got 6"),
            ([19] + [0] * 6, r"targets: expected integers from 0 to 18 \(19 entities\), got 19"),
            ([0] * 6 + [-1], "got -1 for task 6"),
            (19, r"\(19 entities\), got 19 for task 0"),
            ([[0]], r"targets: expected one integer or a 1-D array, got shape \(1, 1\)"),
        ):
            with pytest.raises(ValueError, match=message):
                function(*pair, targets)
        with pytest.raises(TypeError, match="targets: expected integers, got dtype float64"):
            function(*pair, [0.0] * 7)
        with pytest.raises(ValueError, match="rows: expected 2 rows, one for each target, got 1"):
            function(*pair, [0, 1], rows=[0])
    none = np.zeros((0, 10), np.float32)
    with pytest.raises(ValueError, match="targets: expected no task, for there are no entities"):
        tr.rank_embeddings(vectors.queries, none, 0)
    calls: list[Callable[[Any], Any]] = [
        lambda rows: tr.rank_embeddings(*pair, [0, 0], rows=rows),
        lambda rows: tr.score_embeddings(*pair, [0, 0], rows=rows),
        lambda rows: tr.score_embeddings(*pair, rows=rows),
        lambda rows: tr.topk_embeddings(*pair, 2, rows=rows),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"rows: expected integers from 0 to 6 \(7 queries\)"):
            call([0, 7])
        with pytest.raises(ValueError, match="got -1 for task 0"):
            call([-1, 0])
        with pytest.raises(ValueError, match="rows: expected a 1-D array, got shape"):
            call([[0, 1]])
        with pytest.raises(TypeError, match="rows: expected integers, got dtype float64"):
            call([0.0, 1.0])


def test_selections() -> None:
    vectors = given("float32")
    pair = vectors.queries, vectors.entities
    calls: list[Callable[..., Any]] = [
        lambda **keywords: tr.rank_embeddings(*pair, 0, **keywords),
        lambda **keywords: tr.topk_embeddings(*pair, 2, **keywords),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="filter: expected indices from 0 to 18, got 19"):
            call(filter=[[19]] + [[]] * 6)
        with pytest.raises(ValueError, match="candidates: expected indices from 0 to 18, got -1"):
            call(candidates=[0, -1])
        with pytest.raises(ValueError, match="filter: expected 7 index lists, one for each task"):
            call(filter=[[]] * 6)
        with pytest.raises(TypeError, match="filter: expected"):
            call(filter=np.zeros((7, 19)))
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


def test_as_dtype_is_that_of_the_values() -> None:
    """The helpers of these tests make what they say."""
    assert made("bfloat16", 2).dtype == as_dtype("bfloat16")
    assert made("bfloat16 in V2", 2).dtype == np.dtype("V2")
