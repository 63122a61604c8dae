"""Bad input raises the right exception, with a message that names the argument."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import truerank as tr
from support.problems import csr, refuse
from support.refusals import refusal
from truerank import _core

SCORES = np.arange(20, dtype=np.float32).reshape(4, 5)
FOUR = [0, 1, 2, 3]


# --- scores


@pytest.mark.parametrize(
    ("scores", "word"),
    [
        (SCORES > 3, "bool"),
        (SCORES.astype(complex), "complex128"),
        (SCORES.astype(np.complex64), "complex64"),
        (SCORES.astype(object), "object"),
        (SCORES.astype(str), "str|<U"),
        (SCORES.astype(bytes), "bytes|S"),
        (SCORES.astype("timedelta64[s]"), "timedelta64"),
        (SCORES.astype("datetime64[s]"), "datetime64"),
        (np.zeros((4, 5), [("a", "f4"), ("b", "f4")]), "'a'|void"),
        (np.zeros((4, 5), "V4"), "V4|void"),
        (np.zeros((4, 5), "V1"), "V1|void"),
        (SCORES.astype(ml_dtypes.float8_e4m3fn), "float8_e4m3fn"),
        (SCORES.astype(ml_dtypes.float8_e5m2), "float8_e5m2"),
        ([[True, False]], "bool"),
        ([["a", "b"]], "str|<U"),
        ([[None, 1.0]], "object"),
        ([[2**70, 1]], "object"),
    ],
)
def test_scores_of_no_accepted_dtype(scores: Any, word: str) -> None:
    message = refuse(TypeError, word, scores, 0)
    assert "scores" in message


@pytest.mark.skipif(
    np.dtype(np.longdouble).itemsize == 8, reason="long double is double on this platform"
)
def test_long_double() -> None:
    message = refuse(TypeError, np.dtype(np.longdouble).name, SCORES.astype(np.longdouble), 0)
    assert "scores" in message


def test_raw_bytes_need_a_name() -> None:
    raw = SCORES.astype(ml_dtypes.bfloat16).view("V2")
    message = refuse(TypeError, "bfloat16", raw, 0)
    assert "scores" in message
    assert "dtype" in message


@pytest.mark.parametrize("scores", [1.0, np.float32(3), None, object(), {}, 5])
def test_scores_that_are_not_a_matrix(scores: Any) -> None:
    refusal((TypeError, ValueError), "scores", tr.rank, scores, 0)


@pytest.mark.parametrize("shape", [(), (2, 3, 4), (1, 1, 1, 1)])
def test_scores_of_other_dimensions(shape: tuple[int, ...]) -> None:
    message = refuse(ValueError, "scores", np.zeros(shape), 0)
    assert str(shape) in message


def test_ragged_scores() -> None:
    refusal((TypeError, ValueError), "scores", tr.rank, [[1.0, 2.0], [3.0]], 0)


def test_an_error_inside_the_object_is_not_hidden() -> None:
    class Broken:
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            raise OSError("the disk is gone")

    with pytest.raises((OSError, TypeError)) as error:
        tr.rank(Broken(), 0)
    assert isinstance(error.value, OSError) or isinstance(error.value.__cause__, OSError)


@pytest.mark.parametrize("shape", [(4, 0), (1, 0)])
def test_no_columns_but_tasks(shape: tuple[int, int]) -> None:
    refuse(ValueError, "targets|scores", np.zeros(shape), 0)
    refuse(ValueError, "targets|scores", np.zeros(shape), [0] * shape[0])
    refuse(ValueError, "targets|scores", np.zeros(0), 0)


# --- dtype


@pytest.mark.parametrize("dtype", ["bfloat17", "", "float128x", 7, "object", "bool", "complex64"])
def test_unknown_dtype(dtype: Any) -> None:
    refusal((TypeError, ValueError), "dtype", tr.rank, SCORES, 0, dtype=dtype)


@pytest.mark.parametrize("held", ["float16", "float32", "float64", "int32", "uint8", "V4"])
def test_bfloat16_of_other_dtypes(held: str) -> None:
    with pytest.raises((TypeError, ValueError), match="bfloat16") as error:
        tr.rank(np.zeros((4, 5), held), 0, dtype="bfloat16")
    assert held in str(error.value) or "void" in str(error.value)


def test_dtype_does_not_convert() -> None:
    for dtype in ("float16", "float64", "int32"):
        with pytest.raises((TypeError, ValueError), match="dtype") as error:
            tr.rank(SCORES, 0, dtype=dtype)
        assert "float32" in str(error.value)


# --- targets


@pytest.mark.parametrize(
    "targets",
    [
        [0.0, 1, 2, 3],
        np.zeros(4),
        np.zeros(4, np.float16),
        np.zeros(4, bool),
        [True, False, True, False],
        0.0,
        np.float64(1),
        True,
        np.True_,
        "0",
        None,
        ["0", "1", "2", "3"],
        np.zeros(4, object),
        np.zeros(4, "timedelta64[s]"),
        1j,
    ],
)
def test_targets_of_no_accepted_type(targets: Any) -> None:
    refuse(TypeError, "targets", SCORES, targets)
    refusal(TypeError, "targets", tr.rank, SCORES[0], targets)


@pytest.mark.parametrize("bad", [-1, 5, 6, -5, 2**31, 2**32, 2**32 + 1, -(2**63), 2**63 - 1])
def test_targets_out_of_range(bad: int) -> None:
    # These are out of range, though a narrower type would turn them into valid ones.
    for targets in (bad, np.int64(bad), [bad] * 4, [0, 1, 2, bad], [bad, 0, 0, 0]):
        refuse(ValueError, "targets", SCORES, targets)
    refuse(ValueError, "targets", SCORES[0], bad)
    refuse(ValueError, "targets", SCORES, [0, bad, 1], rows=[1, 0, 1])


@pytest.mark.parametrize("bad", [2**63, 2**64 - 1, 2**64 - 5])
def test_unsigned_targets_out_of_range(bad: int) -> None:
    refuse(ValueError, "targets", SCORES, np.uint64(bad))
    refuse(ValueError, "targets", SCORES, np.array([0, 1, 2, bad], np.uint64))


@pytest.mark.parametrize("bad", [2**64, 2**70, -(2**70)])
def test_integers_of_no_dtype(bad: int) -> None:
    refusal((TypeError, ValueError), "targets", tr.rank, SCORES, bad)
    refusal((TypeError, ValueError), "rows", tr.rank, SCORES, 0, rows=[bad])
    refusal((TypeError, ValueError), "filter", tr.rank, SCORES, 0, filter=[[bad], [], [], []])
    refusal((TypeError, ValueError), "candidates", tr.rank, SCORES, 0, candidates=[0, bad])
    refusal((TypeError, ValueError), "candidates", tr.rank, SCORES, 0, candidates=[[0, bad]] * 4)


def test_number_of_targets() -> None:
    message = refuse(ValueError, "targets", SCORES, [0, 1, 2])
    assert "4" in message
    assert "3" in message
    refuse(ValueError, "targets", SCORES, [0] * 5)
    refuse(ValueError, "targets", SCORES, [0])
    refuse(ValueError, "targets", SCORES, [])
    refuse(ValueError, "targets|rows", SCORES, [0, 1, 2], rows=[0, 1])
    refuse(ValueError, "targets|rows", SCORES, [0, 1, 2, 3], rows=[0, 1])


def test_targets_of_other_dimensions() -> None:
    message = refuse(ValueError, "targets", SCORES, np.zeros((4, 1), int))
    assert "(4, 1)" in message
    refuse(ValueError, "targets", SCORES, np.zeros((2, 2), int))
    refuse(ValueError, "targets", SCORES[0], np.zeros((1, 1), int))


# --- rows


@pytest.mark.parametrize("rows", [np.zeros(4), [0.0, 1.0, 2.0, 3.0], np.zeros(4, bool), "0123"])
def test_rows_of_no_accepted_type(rows: Any) -> None:
    refuse(TypeError, "rows", SCORES, FOUR, rows=rows)


@pytest.mark.parametrize("bad", [-1, 4, 5, 2**31, 2**32, -(2**63), 2**63 - 1])
def test_rows_out_of_range(bad: int) -> None:
    refuse(ValueError, "rows", SCORES, FOUR, rows=[0, 1, bad, 2])
    refuse(ValueError, "rows", SCORES, 0, rows=[bad])
    refuse(ValueError, "rows", SCORES[0], [0, 1], rows=[0, bad])
    refuse(ValueError, "rows", SCORES, 0, rows=np.array([2**64 - 1], np.uint64))


def test_rows_of_other_dimensions() -> None:
    message = refuse(ValueError, "rows", SCORES, FOUR, rows=np.zeros((2, 2), int))
    assert "(2, 2)" in message
    refusal((TypeError, ValueError), "rows", tr.rank, SCORES, 0, rows=1)


def test_one_dimension_has_one_row() -> None:
    refuse(ValueError, "rows", SCORES[0], [0, 1], rows=[0, 1])


# --- options


@pytest.mark.parametrize("threads", [1, 2, 7, 1000, np.int64(2), np.uint8(3), 2**40, 2**70])
def test_threads_beyond_the_machine(threads: Any) -> None:
    assert tr.rank(SCORES, 0, threads=threads).above.tolist() == [4] * 4


def test_options_are_keywords() -> None:
    with pytest.raises(TypeError):
        tr.rank(SCORES, 0, None)


@pytest.mark.parametrize("name", ["scores", "targets", "rows", "candidates"])
def test_lists_of_unequal_lengths(name: str) -> None:
    given = {"scores": SCORES, "targets": 0, name: ([0, 1], [2])}
    if name == "candidates":
        refuse(TypeError, "candidates: expected arrays as", **given)
    else:
        refuse(ValueError, f"{name}: expected a.* of unlike len", **given)


@pytest.mark.parametrize(
    "value", [[[1, 2], [3, 4], [5]], [1, [2, 3]], [np.zeros(2), np.array(3.0)]]
)
def test_lists_of_unlike_lengths(value: object) -> None:
    calls: dict[str, Callable[[], object]] = {
        "scores: expected a matrix of numbers": lambda: tr.rank(value, [0]),
        "above: expected a 1-D array of integers": lambda: tr.Ranks(value, [1, 1], 5),
        "candidates: expected a 1-D array of integers": lambda: tr.chance("mr", value),
        "queries: expected a matrix of numbers": lambda: tr.rank_embeddings(value, SCORES, [0]),
    }
    for start, call in calls.items():
        refusal(ValueError, f"^{start}, got lists of unlike lengths$", call)


def test_progress_and_checkpoints_of_other_types() -> None:
    refuse(TypeError, "progress: expected a callable or a bool, got int", SCORES, 0, progress=1)
    words = "checkpoint: expected the path of a file, got bool"
    refuse(TypeError, words, SCORES, 0, checkpoint=True)
    refuse(TypeError, "io: expected a str", SCORES, 0, io=SCORES, progress=print)
    refuse(ValueError, "io: expected one of", SCORES, 0, io="", progress=print)


# --- order of checks


def test_arguments_are_checked_in_their_order() -> None:
    floats = (np.zeros(5), np.zeros(0, int))
    refuse(TypeError, "filter", SCORES, 0, filter=floats, candidates=[9])
    refuse(ValueError, "targets", SCORES, [9, 0, 0, 0], filter=floats)


def test_ranges_come_before_nan() -> None:
    scores = SCORES.copy()
    scores[0, 0] = np.nan
    refuse(ValueError, "targets", scores, [9, 0, 0, 0], filter=csr([[9], [], [], []]))
    refuse(ValueError, "filter", scores, 0, filter=csr([[], [], [], [9]]))
    refuse(ValueError, "candidates", scores, 0, candidates=[0, 9])
    refuse(ValueError, "candidates", scores, 0, candidates=[1])
    message = refuse(ValueError, "scores|NaN", scores, 0)
    assert re.search(r"row 0\b.*column 0\b", message)


def test_the_nan_message_names_scores_and_the_rule() -> None:
    scores = SCORES.astype(np.float16)
    scores[2, 3] = np.nan
    message = refuse(ValueError, "NaN", scores, 0)
    assert re.search(r"row 2\b.*column 3\b", message)
    assert "scores" in message
    message = refuse(ValueError, "NaN", scores, 3, nan="omit")
    assert re.search(r"row 2\b.*column 3\b", message)


def test_after_an_error_the_next_count_is_right() -> None:
    scores = np.zeros((4, 3_000_000), np.float32)
    scores[3, -1] = np.nan
    for _ in range(3):
        refuse(ValueError, "row 3", scores, 0, threads=2)
        ranks = tr.rank(scores[:3], 0, threads=2)
        assert ranks.tied.tolist() == [3_000_000] * 3


@pytest.mark.python_only
@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 100])
@pytest.mark.parametrize("wrong", [-1, 9, np.iinfo(np.int64).min, np.iinfo(np.int64).max])
def test_the_first_index_that_is_outside(size: int, wrong: int) -> None:
    values = np.arange(size) % 9
    assert _core.first_outside(values, 9) == -1
    for place in range(size):
        values[place:] = wrong
        assert _core.first_outside(values, 9) == place
        values[place:] = np.arange(place, size) % 9


def test_warnings_stand_at_the_line_of_the_caller_and_escape_control_characters() -> None:
    with pytest.warns(UserWarning, match="red") as caught:
        tr.link_prediction.Task([("red \x1b[31m", "r", "b")] * 2)
    (warning,) = caught
    assert "red \\x1b[31m" in str(warning.message)
    assert warning.filename == __file__
