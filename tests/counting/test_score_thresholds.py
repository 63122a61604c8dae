"""Counts for thresholds on score matrices are those of the definition, wherever the scores are."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles.counting import exact
from oracles.thresholds import count_above
from strategies.count_problems import Problem, problems
from strategies.stored import Stored, open_stored, stored
from strategies.thresholds import ODD, compare, thresholds
from support.examples import examples
from support.outcomes import OURS
from support.problems import DTYPES, Array, as_dtype, assert_refused
from support.refusals import refusal
from truerank.counting import sources
from truerank.counting.score_thresholds import ThresholdCounts

SCORES = np.array([[0.1, 0.9, 0.5], [0.7, 0.2, 0.2]], np.float32)


def check(scores: Any, problem: Problem, data: st.DataObject, *, place: bool = True) -> None:
    """Compare with the definition; `place`: whether an error names the first row and column."""
    tasks = problem.tasks
    single = problem.scores.ndim == 1 or (
        len(problem.scores) == 1 and "rows" not in problem.keywords
    )
    asked = data.draw(thresholds(problem.scores, problem.keywords["dtype"], tasks))
    given = dict(problem.keywords)
    if single:
        given["rows"] = [0] * tasks
    del given["audit"]
    plain = {name: value for name, value in given.items() if name not in OURS}
    _, call = Problem(problem.scores, problem.targets, given).call()
    check_error = assert_refused if place else None
    compare(
        lambda: tr.count_above(scores, asked.given, **call),
        lambda: count_above(problem.scores, asked.plain, **plain),
        np.shape(asked.given) or (tasks,),
        check_error,
    )


@pytest.mark.smoke
@given(problems(nan=True, errors=False), st.data())
@examples(100)
def test_counts_are_those_of_the_definition(problem: Problem, data: st.DataObject) -> None:
    check(problem.scores, problem, data)


@given(problems(nan=True, errors=False), st.data(), stored())
@examples(40)
def test_tile_by_tile(problem: Problem, data: st.DataObject, way: Stored) -> None:
    """However scores are stored, in tiles of whole rows and in tiles that cut rows."""
    dtype = problem.keywords["dtype"]
    if dtype is None and problem.scores.dtype.kind == "V":
        dtype = "bfloat16"
    with (
        pytest.MonkeyPatch.context() as patch,
        TemporaryDirectory() as folder,
        ExitStack() as stack,
    ):
        patch.setattr(sources, "TILE_BYTES", data.draw(st.sampled_from([1, 64, 1 << 20])))
        store = open_stored(way, Path(folder), np.array(problem.scores), dtype, stack)
        check(store, problem, data, place=False)


# --- what thresholds stand for


def assert_counts_of_python(scores: Array, asked: list[Any]) -> None:
    """Compare the counts of a row with those of Python, which compares all numbers exactly."""
    (values,) = exact(scores)
    values = sorted(x for x in values if x == x)
    got = tr.count_above(scores, asked, nan="omit")
    for number, above, tied in zip(asked, got.above, got.tied, strict=True):
        not_above = bisect_right(values, number)
        assert above == len(values) - not_above, number
        assert tied == not_above - bisect_left(values, number), number


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "uint8", "int16", "uint16"])
def test_all_numbers_of_narrow_types(dtype: str) -> None:
    """Every value of the type, both neighbours of each, what is halfway, and what is far away."""
    bits = np.arange(1 << 8 * as_dtype(dtype).itemsize, dtype=f"u{as_dtype(dtype).itemsize}")
    scores = bits.view(as_dtype(dtype))
    values = np.array(sorted({float(x) for x in exact(scores)[0] if x == x}))
    some = np.random.default_rng(1).choice(len(values) - 1, min(300, len(values) - 1), False)
    at = np.concatenate([[0, 1, len(values) // 2, len(values) - 2], some])
    with np.errstate(all="ignore"):
        asked = [values[at], np.nextafter(values[at], np.inf), np.nextafter(values[at], -np.inf)]
        asked.append((values[at] + values[at + 1]) / 2)
    numbers = [x for x in np.concatenate(asked).tolist() if x == x]
    numbers.append(float(values[-1]))
    numbers.extend(ODD)
    assert_counts_of_python(scores, numbers)


@given(
    st.sampled_from([d for d in DTYPES if d not in ("float16", "bfloat16")]),
    st.lists(
        st.one_of(
            st.sampled_from(ODD),
            st.floats(allow_nan=False),
            st.floats(allow_nan=False, width=32),
            st.integers(-(2**70), 2**70),
        ),
        min_size=1,
    ),
)
@examples(100)
def test_scores_next_to_thresholds(dtype: str, numbers: list[Any]) -> None:
    if dtype.startswith("float"):
        inside = [float(min(max(x, -1e308), 1e308)) for x in numbers]
        with np.errstate(over="ignore"):
            near = np.array(inside).astype(dtype)
            below = np.nextafter(near, np.array(-np.inf, dtype))
            above = np.nextafter(near, np.array(np.inf, dtype))
    else:
        least = int(np.iinfo(dtype).min)
        most = int(np.iinfo(dtype).max)
        near = np.array([int(min(max(x, least), most)) for x in numbers], dtype)
        below = near - (near > least)
        above = near + (near < most)
    assert_counts_of_python(np.concatenate([near, below, above]), numbers)


# --- errors


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        (float("nan"), r"thresholds: expected numbers, got NaN at \[\]"),
        (np.array([[0, 1], [2, np.nan]]), r"thresholds: expected numbers, got NaN at \[1, 1\]"),
        ([0.5, 1, 2], r"thresholds: .* of scores, or a matrix of 2 rows of them, got shape \(3,\)"),
        (np.zeros((2, 1, 1)), r"thresholds: expected a number, one .* m\), got shape \(2, 1, 1\)"),
        ([[1, 2], [3]], "thresholds: expected real numbers, got list"),
        (True, "thresholds: expected real numbers, got bool"),
        ([0.5, "1"], "thresholds: expected real numbers, got str"),
        (np.array([True, False]), "thresholds: expected one of float16, .* got dtype bool"),
        (np.array([1j, 2]), "thresholds: expected one of float16, .* got dtype complex128"),
        (np.zeros(2, "V2"), "thresholds: expected one of .* says that they are bfloat16"),
        (np.ma.masked_array([1.0, 2.0], [0, 1]), "thresholds: expected plain numbers, .*"),
    ],
)
def test_what_is_no_thresholds(thresholds: Any, message: str) -> None:
    kind: type[Exception] = tr.InputValueError
    if any(words in message for words in ("real numbers", "one of", "plain")):
        kind = tr.InputTypeError
    with pytest.raises(kind, match=f"^{message}$"):
        tr.count_above(SCORES, thresholds)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"rows": [0, 2]}, r"rows: expected integers from 0 to 1 \(2 rows of scores\), got 2 .*"),
        ({"rows": [[0]]}, "rows: expected a 1-D array, .*"),
        ({"filter": [[0]]}, "filter: .*"),
        ({"candidates": [3]}, "candidates: .*"),
        ({"similarity": "l1"}, "similarity: expected none for scores, which are made already"),
        ({"block": 4}, "block: expected none for scores, which are made already"),
    ],
)
def test_other_arguments(keywords: dict[str, Any], message: str) -> None:
    refusal(tr.InputValueError, f"^{message}$", tr.count_above, SCORES, [0.5, 0.5], **keywords)


def test_scores_without_entities() -> None:
    expected = tr.count_above(SCORES, [0.5, 0.5], order="ascending")
    found = tr.count_above(SCORES, None, [0.5, 0.5], order="ascending")
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_raw_thresholds() -> None:
    raw = np.array([0.5, 2], ml_dtypes.bfloat16)
    scores = np.array([[0.5, 1, 2]] * 2, ml_dtypes.bfloat16).view(np.uint16)
    expected = [[2, 0], [1, 1]]
    for asked in (raw, raw.view("V2"), [0.5, 2]):
        counts = tr.count_above(scores, asked, dtype="bfloat16")
        assert [counts.above.tolist(), counts.tied.tolist()] == expected


def test_counts_of_no_tasks_and_of_no_columns() -> None:
    counts = tr.count_above(np.zeros((0, 3)), 0.5)
    assert isinstance(counts, ThresholdCounts)
    assert [x.shape for x in counts] == [(0,)] * 3
    assert tr.count_above(np.zeros((2, 0)), 0.5).candidates.tolist() == [0, 0]
