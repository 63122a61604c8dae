"""Wrong vectors, tasks and options raise an error that names the argument."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from strategies.embeddings import vectors_of
from support.refusals import refusal, refused
from truerank import alignment

QUERIES = vectors_of("float32").queries
ENTITIES = vectors_of("float32").entities
ONE = np.ones((4, 10), np.float32)
EMPTY = ONE[:, :0]
RAW = vectors_of("bfloat16 in V2").entities
COMPLEX = {"queries": QUERIES + 0j, "entities": ENTITIES + 0j}
INTEGERS = {"queries": QUERIES.astype(np.int8), "entities": ENTITIES.astype(np.int8)}
MODULI: dict[str, Any] = {"similarity": "complex_l1"}
HALVES = MODULI | {"layout": "halves"}
V = ValueError
T = TypeError


CALLS: list[Callable[..., object]] = [
    lambda **given: tr.rank_embeddings(**given, targets=[0] * 7),
    lambda **given: tr.score_embeddings(**given),
    lambda **given: tr.topk_embeddings(**given, k=2),
]
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
    ({**COMPLEX, **MODULI, "bias": ENTITIES[:, 0] + 0j}, T, "bias"),
    ({"threads": 0}, V, "threads"),
    (MODULI, V, "layout"),
    ({"queries": COMPLEX["queries"], **MODULI}, V, "layout"),
    ({**COMPLEX, **HALVES}, V, "layout"),
    ({"similarity": "l1", "layout": "halves"}, V, "layout"),
    (MODULI | {"layout": "C"}, V, "layout"),
    ({"queries": COMPLEX["queries"], "entities": ENTITIES[:, 2:], **HALVES}, V, "entities"),
    ({"queries": QUERIES[:, 2:], "entities": COMPLEX["entities"], **HALVES}, V, "entities"),
    ({"rows": [7] * 7}, V, "rows"),
    ({"rows": [0.0] * 7}, T, "rows"),
]


@pytest.mark.parametrize(("given", "kind", "argument"), WRONG)
def test_what_is_wrong_in_any_call(
    given: dict[str, Any], kind: type[Exception], argument: str
) -> None:
    for call in CALLS:
        refused(kind, argument, call, **{"queries": QUERIES, "entities": ENTITIES, **given})


SCORED = (tr.rank_embeddings, tr.score_embeddings)
# Of some functions: these, the targets or k, options, and what the error names.
OF_SOME: list[tuple[Any, Any, dict[str, Any], str]] = [
    ((tr.rank_embeddings, tr.topk_embeddings), 1, {"block": 0}, "block"),
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
        refused(V, argument, function, QUERIES, ENTITIES, second, **options)


def test_sizes_of_both_ends() -> None:
    assert tr.topk_embeddings(QUERIES, ENTITIES, 1, block=2**70) is not None
    refused(V, "targets", tr.rank_embeddings, QUERIES, ENTITIES[:0], 0)
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
            given = {"queries": QUERIES, "entities": ENTITIES, name: tmp_path / file}
            for call in CALLS:
                assert file in refusal(ValueError, f"^{name}: ", call, **given)
    refusal(FileNotFoundError, "absent", tr.score_embeddings, QUERIES, tmp_path / "absent.npy")


def test_the_way_out_of_a_module_is_its_weight() -> None:
    torch = pytest.importorskip("torch", reason="a module of torch")
    words = "got Embedding; give its weight$"
    refusal(TypeError, words, tr.score_embeddings, torch.nn.Embedding(19, 10), ENTITIES)
