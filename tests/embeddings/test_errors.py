"""Wrong vectors, tasks and options raise a clear error that names the argument."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

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
    (tmp_path / "text.npy").write_bytes(b"0.5 0.25\n")
    np.save(tmp_path / "cube.npy", np.ones((3, 10, 2), np.float32))
    np.save(tmp_path / "short.npy", np.ones((3, 9), np.float32))
    for name in ("queries", "entities"):
        refuse(ValueError, rf"^{name}: .*text\.npy: ", **{name: tmp_path / "text.npy"})
        message = rf"^{name}: .*cube\.npy: .*shape \(3, 10, 2\)"
        refuse(ValueError, message, **{name: tmp_path / "cube.npy"})
    refuse(ValueError, "^entities: ", entities=tmp_path)
    refuse(ValueError, "entities: ", entities=tmp_path / "short.npy")


T = tr.InputTypeError
V = tr.InputValueError
PAIR = vectors_of("float32").queries, vectors_of("float32").entities
ONE = np.ones((4, 10), np.float32)
EMPTY = ONE[:, :0]
ODD = {
    "queries": ONE[:, :5],
    "entities": ONE[:, :5],
    "similarity": "complex_l1",
    "layout": "halves",
}
RAW = vectors_of("bfloat16 in V2").entities
DTYPES = "expected one of float16, bfloat16, float32, .* bool, complex64, complex128, got "
# What is wrong in any call on vectors: the kind and the words of the error, what is given.
WRONG: list[tuple[type[Exception], str, dict[str, Any]]] = [
    (V, r"^queries: .*shape \(\)", {"queries": 1.0}),
    (V, r"^queries: .*shape \(1, 4, 10\)", {"queries": ONE[None]}),
    (V, r"^queries: ", {"queries": [[1.0], [2.0, 3]]}),
    (V, r"^entities: .*shape", {"entities": ONE[0]}),
    (V, r"^entities: .* got shape \(\)", {"entities": np.float32(1)}),
    (V, r"length 10, as in queries, got shape \(4, 9\)", {"entities": ONE[:, 1:]}),
    (V, r"length 9, as in queries, got shape", {"queries": ONE[0, 1:]}),
    (V, r"^queries: .* of length 1 or more, .* \(4, 0\)", {"queries": EMPTY, "entities": EMPTY}),
    (V, r"^queries: .* an even length for complex_l1, got shape \(4, 5\)", ODD),
    (T, '^entities: .* got dtype .*dtype="bfloat16" says', {"entities": RAW}),
    (T, "^entities: ", {"entities": RAW, "dtype": "float32"}),
    (T, "^queries: .*dtype float32", {"dtype": "float64"}),
    (T, "^dtype: .*'float8'", {"dtype": "float8"}),
    (V, r"^bias: ", {"bias": np.ones(18)}),
    (V, r"^bias: ", {"bias": np.ones((1, 19))}),
    (V, "^bias: .*one for all", {"bias": 1.0}),
    (T, "^bias: .*dtype int64", {"bias": np.ones(19, np.int64)}),
    (T, "^bias: .*dtype object", {"bias": [None] * 19}),
    (V, "^similarity: .*'L1'", {"similarity": "L1"}),
    (T, "^similarity: .*NoneType", {"similarity": None}),
    (V, "^threads: .*0", {"threads": 0}),
]
for name in ("queries", "entities"):
    WRONG += [
        (T, f"^{name}: {DTYPES}dtype ", {name: ONE.astype(x)}) for x in ("i8", "i2", "O", "U1")
    ]
    WRONG += [
        (T, f"^{name}: .*NoneType$", {name: None}),
        (T, f"^{name}: {DTYPES}dtype ", {name: np.zeros((3, 10), [("a", "f4")])}),
        (T, f"^{name}: ", {name: scipy.sparse.csr_array(ONE)}),
        (T, f"^{name}: .*, got a masked", {name: np.ma.masked_array(ONE, ONE > 2)}),
        (T, f"^{name}: .*dtype complex64, which only complex_l1", {name: ONE + 1j * ONE}),
        (FileNotFoundError, "no-such-file", {name: "no-such-file.npy"}),
    ]


@pytest.mark.parametrize(("kind", "words", "given"), WRONG)
def test_what_is_wrong_in_any_call(
    kind: type[Exception], words: str, given: dict[str, Any]
) -> None:
    refuse(kind, words, **given)


def test_blocks_and_rules() -> None:
    for function in (tr.rank_embeddings, tr.topk_embeddings):
        for block, kind in ((0, V), (2.0, T), (False, T)):
            refusal(kind, "^block: ", function, *PAIR, 1, block=block)
        refusal(V, "nan: .* of raise, worst, omit, got 'no'", function, *PAIR, 1, nan="no")
        assert function(*PAIR, 1, block=2**70) is not None


# What is wrong with the indices of tasks, for every function that takes them.
INDICES: list[tuple[type[Exception], str, dict[str, Any]]] = [
    (V, r"targets: .*shape \(6,\)", {"targets": [0] * 6}),
    (V, r"targets: .* to 18 \(19 candidates\), got 19", {"targets": [19] + [0] * 6}),
    (V, "targets: .* got -1 for task 6", {"targets": [0] * 6 + [-1]}),
    (V, r"targets: .* \(19 candidates\), got 19 for task 0", {"targets": 19}),
    (V, r"targets: .*shape \(1, 1\)", {"targets": np.array([[0]])}),
    (T, r"targets: .*a list of", {"targets": [[0]]}),
    (T, "targets: .*.* float64", {"targets": [0.0] * 7}),
    (V, "targets: .* for each entry of rows", {"targets": [0, 1], "rows": [0]}),
    (V, r"rows: ", {"rows": [0, 7]}),
    (V, "rows: .* got -1 for task 0", {"rows": [-1, 0]}),
    (V, "rows: .*shape", {"rows": [[0, 1]]}),
    (T, "rows: .*dtype float64", {"rows": [0.0, 1.0]}),
]


@pytest.mark.parametrize(("kind", "words", "given"), INDICES)
def test_indices(kind: type[Exception], words: str, given: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"targets": 0, **given}
    if "rows" in given and "targets" not in given:
        asked["targets"] = [0, 0]
    for function in (tr.rank_embeddings, tr.score_embeddings):
        refusal(kind, words, function, *PAIR, **asked)
    if "targets" not in given:
        refusal(kind, words, tr.score_embeddings, *PAIR, **given)
        refusal(kind, words, tr.topk_embeddings, *PAIR, 2, **given)


def test_selections() -> None:
    none = np.zeros((0, 10), np.float32)
    refusal(V, "targets: .* .0 candidates", tr.rank_embeddings, PAIR[0], none, 0)
    for call in (tr.rank_embeddings, tr.topk_embeddings):
        refusal(V, "filter: ", call, *PAIR, 2, filter=[[19]] + [[]] * 6)
        refusal(V, "candidates: .* from 0 to 18, got -1", call, *PAIR, 2, candidates=[2, -1])
        refusal(V, "filter: ", call, *PAIR, 2, filter=[[]] * 6)
        refusal(T, "filter: ", call, *PAIR, 2, filter=np.zeros((7, 19)))
    chosen = [[0]] * 7
    chosen[1] = [1]
    words = "candidates: the target 0 of task 1 is not among its"
    refusal(V, words, tr.rank_embeddings, *PAIR, 0, candidates=chosen)


def test_the_row_of_a_query_of_many_tasks() -> None:
    """It is scored into a row of its own, but is named by its row among the queries."""
    queries = np.ones((9, 2), np.float32)
    entities = np.ones((40, 2), np.float32)
    queries[[5, 7], 0] = np.inf
    entities[7, 0] = 0  # the product of both is NaN
    rows = np.repeat([8, 1, 7, 3, 5], [1, 1, 30, 30, 30])
    given = {"queries": queries, "entities": entities, "rows": rows}
    words = "score at row 5, column 7 is NaN"
    refusal(V, words, tr.rank_embeddings, **given, targets=np.zeros_like(rows))
    refusal(V, words, tr.rank_embeddings, **given, targets=np.full_like(rows, 7), nan="omit")


def test_modules_are_not_their_weights() -> None:
    torch = pytest.importorskip("torch", reason="a module of torch")
    message = "expected an array or a tensor, got Embedding; give its weight$"
    for name in ("queries", "entities"):
        refuse(TypeError, f"^{name}: {message}", **{name: torch.nn.Embedding(19, 10)})
