"""Accepted ways to hand over vectors give the bits of plain arrays; others are refused."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import truerank as tr
from oracles.counting import count
from oracles.embeddings import SIMILARITIES, same_bits, scored_by
from strategies.embeddings import CALLS_OF_VECTORS, tenths, vectors_of
from support.problems import FLOATS, Array, assert_same, host_tensor, unaligned
from support.refusals import T, V, refusal, refused
from truerank import alignment, link_prediction, retrieval
from truerank.embeddings.vectors import Embeddings
from truerank.stores import open_scores

TARGETS = [0, 18, 5, 11, 18, 2, 7]

# hypothesis draws biases of other dtypes and steps
BIASES: dict[str, Callable[[Array], Any]] = {
    "swapped halves": lambda b: b.astype(">f2"),
    "bfloat16": lambda b: b.astype(ml_dtypes.bfloat16),
    "unaligned": lambda b: unaligned(b.astype("f4")[None])[0],
    "one for all": lambda b: np.broadcast_to(b[:1], b.shape),
    "list": lambda b: b.tolist(),
}


@pytest.mark.parametrize("form", BIASES)
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_biases(kind: str, form: str) -> None:
    bias = BIASES[form](np.random.default_rng(3).standard_normal(19))
    vectors = vectors_of(kind)
    alone = tr.score_embeddings(vectors.queries, vectors.entities)
    expected = alone + np.asarray(bias).astype(kind)
    got = tr.score_embeddings(vectors.queries, vectors.entities, bias=bias)
    assert same_bits(got, expected)


def test_raw_bias_is_what_dtype_says() -> None:
    bias = tenths("bfloat16", 19, d=1)[:, 0]
    vectors = vectors_of("float32")
    expected = tr.score_embeddings(vectors.queries, vectors.entities, bias=bias)
    swapped = bias.view("u2").astype(">u2")
    for raw in (bias.view("i2"), bias.view("V2"), swapped):
        got = tr.score_embeddings(vectors.queries, vectors.entities, bias=raw, dtype="bfloat16")
        assert same_bits(got, expected)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_nothing_to_do(dtype: str, tmp_path: Path) -> None:
    np.save(tmp_path / "none.npy", np.zeros((0, 4), dtype))
    entities = {0: tmp_path / "none.npy", 1: np.zeros((1, 4), dtype), 5: np.zeros((5, 4), dtype)}
    for (q, n), similarity in product(((0, 5), (0, 0), (3, 0), (0, 1)), SIMILARITIES):
        vectors = np.zeros((q, 4), dtype), entities[n]
        options = scored_by(similarity)
        scores = tr.score_embeddings(*vectors, **options)
        assert scores.shape == (q, n)
        assert scores.dtype == ("float64" if dtype == "float64" else "float32")
        assert tr.score_embeddings(*vectors, [], rows=[], **options).shape == (0,)
        ranks = tr.rank_embeddings(*vectors, [], rows=[], audit=True, **options)
        assert (len(ranks), ranks.audit is None) == (0, False)


@pytest.mark.parametrize("name", ["bfloat16", "float32"])
def test_torch_tensors(name: str) -> None:
    pytest.importorskip("torch")
    vectors = vectors_of(name, similarity="l2")
    leaf = host_tensor(vectors.queries).requires_grad_()
    strided = host_tensor(vectors.entities.T).T
    bias = vectors.entities[:, 0]
    expected = vectors.scores()
    got = tr.score_embeddings(leaf, strided, similarity="l2", bias=host_tensor(bias))
    assert same_bits(got, expected + bias.astype(expected.dtype))


# --- files


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_files(tmp_path: Path, kind: str, order: Any) -> None:
    vectors = vectors_of(kind, similarity="l1", bias=np.arange(19.0))
    paths = {name: tmp_path / f"{name}.npy" for name in ("queries", "entities", "bias")}
    for name, path in paths.items():
        np.save(path, np.asarray(getattr(vectors, name), order=order))
    expected = vectors.scores()
    options: dict[str, Any] = {"similarity": "l1", "bias": paths["bias"]}
    options["dtype"] = "bfloat16" if kind == "bfloat16" else None
    for one in (vectors.queries, str(paths["queries"])):
        for other in (paths["entities"], os.fsencode(paths["entities"])):
            assert same_bits(tr.score_embeddings(one, other, **options), expected)
    for mode in ("r", "c", "r+"):
        mapped = np.load(paths["entities"], mmap_mode=mode)
        assert same_bits(tr.score_embeddings(vectors.queries, mapped, **options), expected)
        del mapped
    ranks = tr.rank_embeddings(vectors.queries, paths["entities"], TARGETS, **options)
    assert_same(ranks, count(expected, TARGETS))
    assert str(paths["entities"]) in ranks.protocol.files
    np.save(tmp_path / "one.npy", vectors.queries[3])
    single = tr.score_embeddings(tmp_path / "one.npy", vectors.entities, **options)
    assert same_bits(single, expected[3:4])


def test_an_archive_and_a_store_that_is_open(tmp_path: Path) -> None:
    vectors = vectors_of("float32")
    np.savez(tmp_path / "x.npz", a=vectors.entities)
    assert same_bits(tr.score_embeddings(vectors.queries, tmp_path / "x.npz"), vectors.scores())
    with open_scores(tmp_path / "x.npz") as store:
        for _ in range(2):  # it stays open
            assert same_bits(tr.score_embeddings(vectors.queries, store), vectors.scores())


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
    for form in (arguments[name], path):
        arguments[name] = form
        words = rf"^{name}: .* (the file has|there are) 130$"
        refusal(ValueError, words, tr.rank_embeddings, **arguments, targets=0)
        refusal(ValueError, words, tr.score_embeddings, **arguments)
        refusal(ValueError, words, tr.topk_embeddings, **arguments, k=1)


# --- layouts of complex numbers

RNG = np.random.default_rng(3)
QUERIES, ENTITIES = (RNG.integers(-9, 9, (n, 6, 2)) @ [0.125, 0.25j] for n in (9, 40))
MODULI: dict[str, Any] = {"similarity": "complex_l1"}


def interleaved(numbers: Array) -> Array:
    return np.ascontiguousarray(numbers).view(numbers.real.dtype)


def halves(numbers: Array) -> Array:
    return np.concatenate([numbers.real, numbers.imag], axis=-1)


# Of queries and of entities, which are exact in the dtypes named last.
COMPLEX_FORMS: dict[str, tuple[Any, Any, str | None, str]] = {
    "complex": (np.asarray, lambda x: np.repeat(x, 2, axis=1)[:, ::2], None, "dd"),
    "halves": (halves, lambda x: np.asfortranarray(halves(x)), "halves", "dd"),
    "complex queries, halves": (lambda x: x.tolist(), halves, "halves", "dd"),
    "halves, complex entities": (halves, lambda x: x.conj().conj(), "halves", "dd"),
    "single precision": (lambda x: x.astype("F"), lambda x: x.astype(">c8"), None, "ff"),
    "16 bits": (lambda x: halves(x).astype("e"), lambda x: x.astype("F"), "halves", "ef"),
}


@pytest.mark.parametrize("form", COMPLEX_FORMS)
def test_forms_of_complex_numbers_have_the_same_bits_at_every_door(form: str) -> None:
    of_queries, of_entities, layout, kinds = COMPLEX_FORMS[form]
    vectors = of_queries(QUERIES), of_entities(ENTITIES)
    options: dict[str, Any] = {**MODULI, "layout": layout}
    plain = interleaved(QUERIES).astype(kinds[0]), interleaved(ENTITIES).astype(kinds[1])
    usual: dict[str, Any] = {**MODULI, "layout": "interleaved"}
    scores = tr.score_embeddings(*vectors, **options)
    assert same_bits(scores, tr.score_embeddings(*plain, **usual))
    np.testing.assert_allclose(scores, -np.abs(QUERIES[:, None] - ENTITIES).sum(-1), rtol=1e-5)
    targets = np.arange(9)
    ranks = tr.rank_embeddings(*vectors, targets, **options)
    assert ranks == tr.rank_embeddings(*plain, targets, **usual)
    top, usual_top = (
        tr.topk_embeddings(*x, 3, **y) for x, y in ((vectors, options), (plain, usual))
    )
    np.testing.assert_array_equal(top.ids, usual_top.ids)
    means = alignment.csls_means(*vectors, 3, **options)
    usual_means = alignment.csls_means(*plain, 3, **usual)
    np.testing.assert_array_equal(means.entities, usual_means.entities)
    pairs, _ = alignment.infer(*vectors, method="stable", csls=means, **options)
    usual_pairs, _ = alignment.infer(*plain, method="stable", csls=means, **usual)
    np.testing.assert_array_equal(pairs, usual_pairs)
    task = alignment.Task([(i, i + 2) for i in range(9)], left=9, right=40)
    report = task.evaluate_embeddings(*vectors, csls=2, audit=True, **options)
    assert report.ranks == task.evaluate_embeddings(*plain, csls=2, audit=True, **usual).ranks


def test_tasks_take_a_layout() -> None:
    triples = np.array([(0, 0, 5), (1, 0, 6), (0, 0, 7)])
    task = link_prediction.Task(triples, entities=40)
    tails = ENTITIES[triples[:, 0]] * 1j
    vectors = {"tail": tails, "head": ENTITIES[triples[:, 2]] * -1j, "entities": ENTITIES}
    expected = task.evaluate_embeddings(**vectors, **MODULI)
    options: dict[str, Any] = {"layout": "halves", **MODULI}
    in_halves = {name: halves(x) for name, x in vectors.items()}
    assert task.evaluate_embeddings(**in_halves, **options).ranks == expected.ranks
    in_halves["tail"] = halves(np.where(np.arange(3)[:, None] == 2, tails + 1, tails))
    with pytest.warns(UserWarning, match="^tail: in 1 of 1 rows that were compared a query has"):
        task.evaluate_embeddings(**in_halves, **options)
    documents = retrieval.Task({0: [3], 1: [4, 5]}, entities=40)
    expected = documents.evaluate_embeddings(QUERIES[:2], ENTITIES, **MODULI)
    pair = halves(QUERIES[:2]), halves(ENTITIES)
    assert documents.evaluate_embeddings(*pair, **options).ranks == expected.ranks


def test_a_checkpoint_of_another_layout_is_another_call() -> None:
    same = interleaved(QUERIES), interleaved(ENTITIES)
    one, other = (
        Embeddings(*same, "complex_l1", layout=layout).state()  # type: ignore[arg-type]
        for layout in ("interleaved", "halves")
    )
    assert one != other


# --- what is refused

GOOD = vectors_of("float32")
VECTORS: dict[str, Any] = {"queries": GOOD.queries, "entities": GOOD.entities}
ONE = np.ones((4, 10), np.float32)
EMPTY = ONE[:, :0]
RAW = vectors_of("bfloat16 in V2").entities
COMPLEX = {name: vectors + 0j for name, vectors in VECTORS.items()}
INTEGERS = {name: vectors.astype(np.int8) for name, vectors in VECTORS.items()}
HALVES = MODULI | {"layout": "halves"}

# Of any call on vectors: what is given in place of good arguments, the error, what it names.
WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"entities": ONE[:, 1:]}, V, "entities"),
    ({"queries": ONE[0, 1:]}, V, "entities"),
    ({"queries": EMPTY, "entities": EMPTY}, V, "queries"),
    ({"queries": ONE[:, :5], "entities": ONE[:, :5], **HALVES}, V, "queries"),
    *[({name: ONE.astype(kind)}, T, name) for name in COMPLEX for kind in ("i8", "O")],
    ({"queries": ONE + 0j}, T, "queries"),
    ({"entities": ONE + 0j, "similarity": "l2"}, T, "entities"),
    ({"entities": RAW}, T, "entities"),
    ({"entities": RAW, "dtype": "float32"}, T, "entities"),
    ({"dtype": "float64"}, T, "queries"),
    ({**COMPLEX, **MODULI, "dtype": "float64"}, T, "queries"),
    ({"entities": INTEGERS["entities"]}, T, "entities"),
    ({"queries": INTEGERS["queries"]}, T, "entities"),
    ({**INTEGERS, "entities": INTEGERS["entities"].view(np.uint8)}, T, "entities"),
    ({**INTEGERS, "dtype": "float32"}, T, "queries"),
    ({"bias": np.ones(18)}, V, "bias"),
    ({"bias": np.ones((1, 19))}, V, "bias"),
    ({"bias": np.ones(19, np.int64)}, T, "bias"),
    ({**COMPLEX, **MODULI, "bias": GOOD.entities[:, 0] + 0j}, T, "bias"),
    ({"threads": 0}, V, "threads"),
    (MODULI, V, "layout"),
    ({"queries": COMPLEX["queries"], **MODULI}, V, "layout"),
    ({**COMPLEX, **HALVES}, V, "layout"),
    ({"similarity": "l1", "layout": "halves"}, V, "layout"),
    (MODULI | {"layout": "C"}, V, "layout"),
    ({"queries": COMPLEX["queries"], "entities": GOOD.entities[:, 2:], **HALVES}, V, "entities"),
    ({"queries": GOOD.queries[:, 2:], "entities": COMPLEX["entities"], **HALVES}, V, "entities"),
    ({"rows": [7] * 7}, V, "rows"),
    ({"rows": [0.0] * 7}, T, "rows"),
]


@pytest.mark.parametrize(("given", "kind", "argument"), WRONG)
def test_what_is_wrong_in_any_call(
    given: dict[str, Any], kind: type[Exception], argument: str
) -> None:
    for call in CALLS_OF_VECTORS:
        refused(kind, argument, call, **{**VECTORS, **given})


SCORED = (tr.rank_embeddings, tr.score_embeddings)
# Of some functions: these, the targets or k, options, and what the error names.
OF_SOME: list[tuple[Any, Any, dict[str, Any], str]] = [
    ((tr.topk_embeddings,), 2, {"filter": [[19]] + [[]] * 6}, "filter"),
    ((tr.topk_embeddings,), 2, {"candidates": [2, -1]}, "candidates"),
    (SCORED, [0] * 6, {}, "targets"),
    (SCORED, [19] + [0] * 6, {}, "targets"),
    (SCORED, [0, 1], {"rows": [0]}, "targets"),
]


@pytest.mark.parametrize(("functions", "second", "options", "argument"), OF_SOME)
def test_what_is_wrong_in_some_calls(
    functions: Any, second: Any, options: dict[str, Any], argument: str
) -> None:
    for function in functions:
        refused(V, argument, function, GOOD.queries, GOOD.entities, second, **options)


def test_sizes_of_both_ends() -> None:
    refused(V, "targets", tr.rank_embeddings, GOOD.queries, GOOD.entities[:0], 0)
    for length, words in ((2**39, "vectors: too long"), (2**60, "queries: ")):  # beyond all memory
        endless = np.broadcast_to(np.float16(0), (1, length))
        for call in SCORED:
            refusal(V, words, call, endless, endless, [0])


def test_scores_have_no_layout() -> None:
    scores = np.ones((2, 3))
    refused(T, "layout", tr.rank, scores, [0, 0], layout="halves")
    refused(V, "layout", alignment.infer, scores, None, layout="halves")
    refused(T, "scores", tr.rank, scores + 0j, [0, 0])


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "text.npy").write_bytes(b"0.5 0.25\n")
    np.save(tmp_path / "cube.npy", np.ones((3, 10, 2), np.float32))
    for name in COMPLEX:
        for file in ("text.npy", "cube.npy", ""):
            given = {**VECTORS, name: tmp_path / file}
            for call in CALLS_OF_VECTORS:
                assert file in refusal(ValueError, f"^{name}: ", call, **given)
    refusal(FileNotFoundError, "absent", tr.score_embeddings, GOOD.queries, tmp_path / "absent.npy")


def test_a_module_is_no_tensor_but_its_weight_is() -> None:
    torch = pytest.importorskip("torch", reason="a module of torch")
    words = "expected an array or a tensor, as its weight is, got Embedding$"
    refusal(TypeError, words, tr.score_embeddings, torch.nn.Embedding(19, 10), GOOD.entities)
