"""All accepted ways of handing over scores, targets, rows and selections."""

from __future__ import annotations

import array
import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles.counting import count
from support.outcomes import check
from support.problems import (
    LAYOUTS,
    Array,
    as_dtype,
    assert_same,
    csr,
    matrix,
)
from support.refusals import refusal, refused


def test_a_field_of_a_structure() -> None:
    records = np.zeros((4, 30), [("id", "i2"), ("score", "f4"), ("tag", "i1")])
    records["score"] = matrix("float32", (4, 30))
    records["id"] = -1
    assert records["score"].strides == (210, 7)
    check(records["score"], [0, 29, 3, 4])
    check(records["score"].T[:5], [0, 3, 1, 2, 3])


def test_broadcast_matrix_larger_than_memory() -> None:
    row = matrix("float32", (1, 50))[0]
    scores = np.broadcast_to(row, (2**40, 50))
    ranks = tr.rank(scores, [3, 4], rows=[2**40 - 1, 17])
    assert_same(ranks, count(row, [3, 4]))


def test_dtype_says_what_the_bits_are() -> None:
    floats = np.array([[1.0, -2.0, -1.0, 0.5]], ml_dtypes.bfloat16)
    assert tr.rank(floats.view(np.int16), [2], dtype="bfloat16").protocol.dtype == "bfloat16"
    assert tr.rank(floats.view(np.uint16), [2]).above.tolist() == [1]  # integers
    for dtype in ("bfloat16", "float64", "int8"):
        typed = floats.astype(as_dtype(dtype))
        assert tr.rank(typed, [0], dtype=dtype) == tr.rank(typed, [0])


def offering(values: Array, **members: Any) -> Any:
    """Return an object that offers only some special methods, and keeps its values alive."""
    return type("Offering", (), {"values": values, **members})()


def tensor(values: Array) -> Any:
    return pytest.importorskip("torch").from_numpy(values)


def as_asked(values: Array, dtype: Any) -> Array:
    """Return the numbers in a dtype, or as they are where none is asked for."""
    return values if dtype is None else values.astype(dtype)


# name -> whether strides are kept, and the conversion
OBJECTS: dict[str, tuple[bool, Callable[[Array], Any]]] = {
    "__array__": (
        True,
        lambda a: offering(a, __array__=lambda _, dtype=None, copy=None: as_asked(a, dtype)),
    ),
    "__array_interface__": (True, lambda a: offering(a, __array_interface__=a.__array_interface__)),
    "DLPack": (
        True,
        lambda a: offering(
            a,
            __dlpack__=lambda _, **keywords: a.__dlpack__(**keywords),
            __dlpack_device__=lambda _: a.__dlpack_device__(),
        ),
    ),
    "memoryview": (True, memoryview),
    "tensor": (False, tensor),
    "lists": (False, lambda a: a.tolist()),
    "tuples": (False, lambda a: tuple(map(tuple, a.tolist()))),
    "list of rows": (False, list),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_foreign_objects(name: str) -> None:
    keeps_strides, convert = OBJECTS[name]
    targets = [1, 2, 3, 4, 5]
    lists = [[1], [2], [], [3], [0]]
    for dtype in ("float32", "float64", "int64", "uint8", "float16"):
        scores = matrix(dtype)
        expected = count(scores, targets, filter=lists)
        assert_same(tr.rank(convert(scores), targets, filter=csr(lists)), expected)
    if not keeps_strides:
        return
    for layout in ("Fortran", "steps", "negative rows", "read-only"):
        if name == "DLPack" and layout == "read-only" and np.__version__ < "2.1":
            continue  # this numpy exports no read-only arrays by DLPack
        scores = LAYOUTS[layout](matrix("float32"))
        assert_same(tr.rank(convert(scores), 3), count(scores, 3))
        bits = LAYOUTS[layout](matrix("bfloat16").view(np.uint16))
        assert_same(tr.rank(convert(bits), 3, dtype="bfloat16"), count(bits, 3, dtype="bfloat16"))


@pytest.mark.parametrize("code", "fdbHlQ")
def test_array_array(code: str) -> None:
    row = array.array(code, [3, 1, 4, 1, 5])
    assert tr.rank(row, 0).above.tolist() == [2]
    assert tr.rank(memoryview(row), 3).tied.tolist() == [2]


def test_subclasses_of_arrays() -> None:
    class Mine(np.ndarray):
        def __gt__(self, other: object) -> Any:
            raise AssertionError("the subclass has a say in comparing")

    scores = matrix("float32")
    assert_same(tr.rank(scores.view(Mine), 3), count(scores, 3))


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    scores = matrix("bfloat16")
    tensor = torch.from_numpy(scores.view(np.int16).copy()).view(torch.bfloat16)
    for turn in (lambda x: x, lambda x: x.T, lambda x: x[1:, ::2]):
        assert_same(tr.rank(turn(tensor), 2), count(turn(scores), 2))
    assert tr.rank(tensor, 0).protocol.dtype == "bfloat16"


def test_torch_in_other_arguments() -> None:
    torch = pytest.importorskip("torch")
    scores = matrix("float32")
    filter = [[2, 3], [], [66], [0]]
    ranks = tr.rank(
        torch.from_numpy(scores),
        torch.tensor([1, 2, 3, 66]),
        rows=torch.tensor([4, 0, 0, 1], dtype=torch.int32),
        filter=tuple(map(torch.from_numpy, csr(filter))),
        candidates=torch.arange(67),
    )
    assert_same(ranks, count(scores, [1, 2, 3, 66], rows=[4, 0, 0, 1], filter=filter))
    assert_same(tr.rank(scores[0], torch.tensor(3)), count(scores[0], 3))


BIG = 1 << 53


@pytest.mark.parametrize("row", [[2**63 + 1, 2**63, -1], [BIG + 1, 0.5], (BIG + 1, 0.5)])
def test_lists_that_numpy_rounds_are_refused(row: Any) -> None:
    ids = [list(range(len(row)))]
    words = "expected integers that a float64 holds"
    refusal(ValueError, f"scores: {words}", tr.rank, [row], [0])
    refusal(ValueError, f"scores: {words}", tr.rank_lists, ids, [row], [0], candidates=3)
    refusal(ValueError, f"true_scores: {words}", tr.rank_against, row, [[0.5]] * len(row))


NUMBERS = st.one_of(st.integers(-BIG * 4, BIG * 4), st.integers(0, 1 << 64), st.floats(-1e20, 1e20))


@given(st.lists(NUMBERS, min_size=2, max_size=5))
def test_lists_are_exact_or_refused(row: list[Any]) -> None:
    above = sum(each > row[0] for each in row)
    tied = sum(each == row[0] for each in row)
    with contextlib.suppress(tr.InputError):
        ranks = tr.rank([row], [0])
        assert (ranks.above.tolist(), ranks.tied.tolist()) == ([above], [tied])


MASKED = np.ma.masked_array([0, 1, 2], mask=[False, True, False])
EYE = np.eye(4)
FIRST = [0, 1, 2, 3]
MASK = [0, 1, 1, 1]
JOINED = [[BIG + 1, BIG], [0.5, 0.25]]

REFUSALS: list[tuple[Callable[[], object], type[Exception], str]] = [
    *[(partial(tr.rank, x, [0]), TypeError, "scores") for x in (None, {0: [0.5]}, iter([]), len)],
    # names are no ids
    (partial(tr.rank, EYE, list("abcd")), TypeError, "targets"),
    (partial(tr.rank, EYE, FIRST, filter=[["a"], [], [], []]), TypeError, "filter"),
    (partial(tr.rank, EYE, FIRST, candidates=["a"]), TypeError, "candidates"),
    (partial(tr.rank_lists, [["a"]], None, [0], candidates=5), TypeError, "ids"),
    # lists of unlike types that are joined
    (partial(tr.rank_lists, [[0, 1]] * 2, JOINED, [0, 0], candidates=3), ValueError, "scores"),
    (partial(tr.rank, list(map(np.array, JOINED)), [0, 0]), ValueError, "scores"),
    # masked arrays
    (partial(tr.rank, np.eye(3), MASKED), TypeError, "targets"),
    (partial(tr.rank, EYE, [0, 1, 2], rows=MASKED), TypeError, "rows"),
    (partial(tr.rank, np.eye(3), [0, 1, 2], candidates=MASKED), TypeError, "candidates"),
    (partial(tr.rank, EYE, FIRST, filter=np.ma.masked_array(EYE > 0)), TypeError, "filter"),
    (partial(tr.Ranks, [0] * 3, [1] * 3, 5, weights=MASKED), TypeError, "weights"),
    (partial(tr.Ranks, [0] * 3, [1] * 3, 5, queries=MASKED), TypeError, "queries"),
    (partial(tr.chance, "mr", MASKED), TypeError, "candidates"),
    # a mask of integers is no list of ids
    (partial(tr.rank, EYE, [1] * 4, candidates=MASK), ValueError, "candidates"),
    (partial(tr.rank, EYE, [1] * 4, candidates=np.array(MASK)), ValueError, "candidates"),
]


@pytest.mark.parametrize(("call", "error", "argument"), REFUSALS)
def test_refusals(call: Callable[[], object], error: type[Exception], argument: str) -> None:
    refused(error, argument, call)


@pytest.mark.parametrize("form", [np.array, list])
def test_ids_of_zeros_and_ones_that_are_no_mask(form: Any) -> None:
    """They are not of the columns' length, or each once; a mask of booleans is one."""
    ranks = tr.rank(EYE, [1, 1, 1, 1], candidates=form([0, 1]))
    assert ranks.candidates.tolist() == [2] * 4
    assert tr.rank(np.eye(2), [0, 1], candidates=form([0, 1])).candidates.tolist() == [2, 2]
    booleans = np.array(MASK, dtype=bool)
    assert tr.rank(EYE, [1] * 4, candidates=booleans).candidates.tolist() == [3] * 4
