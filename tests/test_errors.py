"""Bad input raises the right exception, with a message that names the argument."""

from __future__ import annotations

import pickle
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import truerank as tr
from support.problems import refuse
from support.refusals import refusal
from truerank import _core
from truerank.errors import InputValueError, argument_names

SCORES = np.arange(20, dtype=np.float32).reshape(4, 5)
FOUR = [0, 1, 2, 3]


# --- scores


STRUCTURE = np.zeros((4, 5), [("a", "f4"), ("b", "f4")])
# Scores of no accepted dtype or shape, the kind of the error, and what it names.
SCORES_REFUSED: list[tuple[Any, type[Exception], str]] = [
    (SCORES.astype(bytes), TypeError, "S"),
    (STRUCTURE, TypeError, "'a'|void"),
    (np.zeros((4, 5), "V4"), TypeError, "V4|void"),
    (np.zeros((4, 5), "V2"), TypeError, 'dtype="bfloat16"'),
    (SCORES.astype(ml_dtypes.float8_e4m3fn), TypeError, "float8_e4m3fn"),
    ([["a", "b"]], TypeError, "<U"),
    ([[None, 1.0]], TypeError, "object"),
    ([[2**70, 1]], TypeError, "object"),
    ([[1.0, 2.0], [3.0]], ValueError, "unlike lengths"),
]
for kind in ("bool", "complex64", "object"):
    SCORES_REFUSED.append((SCORES.astype(kind), TypeError, kind))
for kind in ("U", "M8[s]", "m8[s]"):
    SCORES_REFUSED.append((SCORES.astype(kind), TypeError, "<U|time64|delta64"))
for shape in ((), (2, 3, 4), (1, 1, 1, 1)):
    SCORES_REFUSED.append((np.zeros(shape), ValueError, re.escape(str(shape))))
SCORES_OF_NO_KIND = [1.0, np.float32(3), None, object(), {}, 5]


@pytest.mark.parametrize(("scores", "kind", "words"), SCORES_REFUSED)
def test_scores_of_no_accepted_dtype_or_shape(scores: Any, kind: Any, words: str) -> None:
    refusal(kind, f"^scores: .*({words})", tr.rank, scores, 0)


@pytest.mark.parametrize("scores", SCORES_OF_NO_KIND)
def test_scores_that_are_no_array(scores: Any) -> None:
    refusal((TypeError, ValueError), "^scores: ", tr.rank, scores, 0)


def test_an_error_inside_the_object_is_not_hidden() -> None:
    class Broken:
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            raise OSError("the disk is gone")

    with pytest.raises((OSError, TypeError)) as error:
        tr.rank(Broken(), 0)
    assert isinstance(error.value, OSError) or isinstance(error.value.__cause__, OSError)


# --- dtype


NO_DTYPES = ("bfloat17", "", "float128x", 7, "object", "bool", "complex64")
DTYPES_REFUSED: list[tuple[Any, Any, str]] = [(SCORES, x, "dtype") for x in NO_DTYPES]
DTYPES_REFUSED += [
    (SCORES, x, f"{x}, as dtype= .*float32") for x in ("float16", "float64", "int32")
]
DTYPES_REFUSED += [
    (SCORES.astype(x), "bfloat16", f"bfloat16, as dtype= says, got dtype {x}")
    for x in ("float16", "int32", "uint8")
]
DTYPES_REFUSED.append(
    (np.zeros((4, 5), "V4"), "bfloat16", "bfloat16, as dtype= says, got dtype (V4|.V4|void)")
)


@pytest.mark.parametrize(("scores", "dtype", "words"), DTYPES_REFUSED)
def test_what_dtype_cannot_say(scores: Any, dtype: Any, words: str) -> None:
    refusal((TypeError, ValueError), words, tr.rank, scores, 0, dtype=dtype)


# --- targets


NO_TARGETS: list[Any] = [[0.0, 1, 2, 3], [True, False, True, False], ["0", "1", "2", "3"]]
NO_TARGETS += [np.zeros(4, kind) for kind in (float, "f2", bool, object, "m8[s]")]
NO_TARGETS += [0.0, np.float64(1), True, np.True_, "0", None, 1j]


@pytest.mark.parametrize("targets", NO_TARGETS)
def test_targets_of_no_accepted_type(targets: Any) -> None:
    refuse(TypeError, "targets", SCORES, targets)
    refusal(TypeError, "targets", tr.rank, SCORES[0], targets)


@pytest.mark.parametrize("bad", [2**64, 2**70, -(2**70)])
def test_integers_of_no_dtype(bad: int) -> None:
    refusal((TypeError, ValueError), "targets", tr.rank, SCORES, bad)
    refusal((TypeError, ValueError), "rows", tr.rank, SCORES, 0, rows=[bad])
    refusal((TypeError, ValueError), "filter", tr.rank, SCORES, 0, filter=[[bad], [], [], []])
    refusal((TypeError, ValueError), "candidates", tr.rank, SCORES, 0, candidates=[0, bad])
    refusal((TypeError, ValueError), "candidates", tr.rank, SCORES, 0, candidates=[[0, bad]] * 4)


SHAPES: list[tuple[str, dict[str, Any], type[Exception]]] = [
    ("targets: .*4.*3", {"targets": [0, 1, 2]}, ValueError),
    ("targets", {"targets": [0] * 5}, ValueError),
    ("targets", {"targets": [0]}, ValueError),
    ("targets", {"targets": []}, ValueError),
    ("targets|rows", {"targets": [0, 1, 2], "rows": [0, 1]}, ValueError),
    (r"targets: .*\(4, 1\)", {"targets": np.zeros((4, 1), int)}, ValueError),
    ("targets", {"scores": SCORES[0], "targets": np.zeros((1, 1), int)}, ValueError),
    ("targets", {"scores": SCORES[:, :0], "targets": 0}, ValueError),
    ("targets", {"scores": SCORES[0, :0], "targets": 0}, ValueError),
    (r"rows: .*\(2, 2\)", {"rows": np.zeros((2, 2), int)}, ValueError),
    ("rows: .*unlike len", {"rows": ([0, 1], [2])}, ValueError),
    ("rows", {"rows": 1, "targets": 0}, ValueError),
    ("rows", {"scores": SCORES[0], "targets": [0, 1], "rows": [0, 1]}, ValueError),
    ("rows", {"rows": np.zeros(4)}, TypeError),
    ("rows", {"rows": np.zeros(4, bool)}, TypeError),
    ("rows", {"rows": "0123"}, TypeError),
]


@pytest.mark.parametrize(("words", "given", "kind"), SHAPES)
def test_numbers_and_shapes(words: str, given: dict[str, Any], kind: type[Exception]) -> None:
    refusal(kind, f"^({words})", tr.rank, **{"scores": SCORES, "targets": FOUR, **given})


# --- options


@pytest.mark.parametrize("threads", [1, 2, 7, 1000, np.int64(2), np.uint8(3), 2**40, 2**70])
def test_threads_beyond_the_machine(threads: Any) -> None:
    assert tr.rank(SCORES, 0, threads=threads).above.tolist() == [4] * 4


def test_lists_of_unlike_lengths() -> None:
    value: Any = [[1, 2], [3, 4], [5]]
    for words, call, arguments in (
        ("scores: expected a matrix of numbers", tr.rank, (value, [0])),
        ("scores: expected a matrix of numbers", tr.rank, ([np.zeros(2), np.array(3.0)], [0])),
        ("above: expected a 1-D array of integers", tr.Ranks, (value, [1, 1], 5)),
        ("candidates: expected a 1-D array of integers", tr.chance, ("mr", value)),
        ("queries: expected a matrix of numbers", tr.rank_embeddings, (value, SCORES, [0])),
    ):
        refusal(ValueError, f"^{words}, got lists of unlike lengths$", call, *arguments)


def test_checkpoints_and_ways_of_reading_of_other_types() -> None:
    words = "checkpoint: expected the path of a file, got bool"
    refuse(TypeError, words, SCORES, 0, checkpoint=True)
    refuse(TypeError, "io: expected a str", SCORES, 0, io=SCORES, progress=print)
    refuse(ValueError, "io: expected one of", SCORES, 0, io="", progress=print)


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


def test_an_argument_that_is_renamed_has_its_new_name_everywhere() -> None:
    with pytest.raises(InputValueError) as caught, argument_names(scores="tail"):
        raise InputValueError("scores: block 3", expected="5 rows", got=3)
    error = caught.value
    assert error.argument == error.args[0] == "tail: block 3"
    for copy in (error, pickle.loads(pickle.dumps(error))):
        assert str(copy) == "tail: block 3: expected 5 rows, got 3"
        assert repr(copy) == "InputValueError('tail: block 3', '', '5 rows', '3', '')"
