"""All accepted ways of handing over vectors, and a clear error for any other."""

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
from oracles.counting import count
from oracles.embeddings import SIMILARITIES, same_bits, scored_by
from strategies.embeddings import tenths, vectors_of
from support.problems import FLOATS, Array, assert_same, unaligned
from support.refusals import refusal
from truerank.stores import open_scores

TARGETS = [0, 18, 5, 11, 18, 2, 7]


# --- layouts and dtypes


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
    for raw in (bias.view("u2"), bias.view("i2"), bias.view("V2"), swapped):
        got = tr.score_embeddings(vectors.queries, vectors.entities, bias=raw, dtype="bfloat16")
        assert same_bits(got, expected)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_nothing_to_do(dtype: str) -> None:
    for q, n in ((0, 5), (0, 0), (3, 0), (0, 1)):
        vectors = np.zeros((q, 4), dtype), np.zeros((n, 4), dtype)
        for similarity in SIMILARITIES:
            options = scored_by(similarity)
            scores = tr.score_embeddings(*vectors, **options)
            assert scores.shape == (q, n)
            assert scores.dtype == ("float64" if dtype == "float64" else "float32")
            assert tr.score_embeddings(*vectors, [], rows=[], **options).shape == (0,)
            ranks = tr.rank_embeddings(*vectors, [], rows=[], audit=True, **options)
            assert len(ranks) == 0
            assert ranks.audit is not None


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_torch_tensors(name: str) -> None:
    torch = pytest.importorskip("torch")
    vectors = vectors_of(name, similarity="l2")

    def tensor(array: Array) -> Any:
        if name == "bfloat16":
            return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
        return torch.from_numpy(array.copy())

    queries = tensor(vectors.queries)
    entities = tensor(vectors.entities)
    expected = vectors.scores()
    assert same_bits(tr.score_embeddings(queries, entities, similarity="l2"), expected)
    leaf = queries.requires_grad_()
    strided = tensor(np.ascontiguousarray(vectors.entities.T)).T
    assert same_bits(tr.score_embeddings(leaf, strided, similarity="l2"), expected)
    bias = tensor(vectors.entities[:, 0].copy())
    got = tr.score_embeddings(queries, entities, similarity="l2", bias=bias)
    assert same_bits(got, expected + vectors.entities[:, 0].astype(expected.dtype))


# --- files


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_files(tmp_path: Path, kind: str, order: Any) -> None:
    vectors = vectors_of(kind, similarity="l1", bias=np.arange(19.0))
    paths = {name: tmp_path / f"{name}.npy" for name in ("queries", "entities", "bias")}
    for name, path in paths.items():
        np.save(path, np.asarray(getattr(vectors, name), order=order))
    queries = vectors.queries
    entities = vectors.entities
    expected = vectors.scores()
    options: dict[str, Any] = {"similarity": "l1", "bias": paths["bias"]}
    options["dtype"] = "bfloat16" if kind == "bfloat16" else None
    for one in (queries, paths["queries"], str(paths["queries"])):
        for other in (paths["entities"], os.fsencode(paths["entities"])):
            assert same_bits(tr.score_embeddings(one, other, **options), expected)
    for mode in ("r", "c", "r+"):
        mapped = np.load(paths["entities"], mmap_mode=mode)
        assert same_bits(tr.score_embeddings(queries, mapped, **options), expected)
        del mapped
    ranks = tr.rank_embeddings(queries, paths["entities"], TARGETS, **options)
    assert_same(ranks, count(expected, TARGETS))
    assert str(paths["entities"]) in ranks.protocol.files
    np.save(tmp_path / "one.npy", queries[3])
    single = tr.score_embeddings(tmp_path / "one.npy", entities, **options)
    assert same_bits(single, expected[3:4])


def test_an_archive_and_a_store_that_is_open(tmp_path: Path) -> None:
    vectors = vectors_of("float32")
    np.savez(tmp_path / "x.npz", a=vectors.entities)
    assert same_bits(tr.score_embeddings(vectors.queries, tmp_path / "x.npz"), vectors.scores())
    with open_scores(tmp_path / "x.npz") as store:
        for _ in range(2):  # it stays open
            assert same_bits(tr.score_embeddings(vectors.queries, store), vectors.scores())


def test_files_without_vectors(tmp_path: Path) -> None:
    np.save(tmp_path / "none.npy", np.zeros((0, 10), np.float32))
    queries = vectors_of("float32").queries
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
    message = (
        rf"^{name}: {re.escape(str(path))}: expected [0-9,]+ bytes .* (the file has|there are) 130$"
    )
    calls: list[Callable[[], Any]] = [
        lambda: tr.rank_embeddings(**arguments, targets=0),
        lambda: tr.score_embeddings(**arguments),
        lambda: tr.topk_embeddings(**arguments, k=1),
    ]
    for call in calls:
        refusal(ValueError, message, call)
    arguments[name] = path
    for call in calls:
        refusal(ValueError, message, call)
