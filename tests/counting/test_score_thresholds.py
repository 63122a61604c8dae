"""Counts for thresholds on score matrices are those of the definition, wherever the scores are."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import truerank as tr
from oracles.counting import Refused, exact
from oracles.thresholds import count_above
from strategies.count_problems import Problem, problems
from strategies.thresholds import FORMS as THRESHOLD_FORMS
from strategies.thresholds import ODD, thresholds
from support.problems import DTYPES, FORMS, SHARED_FORMS, Array, as_dtype, assert_refused
from truerank.counting import tiles
from truerank.counting.score_thresholds import ThresholdCounts, read_thresholds, representable

SCORES = np.array([[0.1, 0.9, 0.5], [0.7, 0.2, 0.2]], np.float32)
KEYS = ("rows", "order", "nan", "dtype", "filter", "candidates")


def asked(problem: Problem, data: st.DataObject) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """Return thresholds, plain and as given, and the keywords for the oracle and for the call."""
    keywords, scores = dict(problem.keywords), problem.scores
    each = 1 if isinstance(problem.targets, int) else len(problem.targets)
    tasks = len(keywords["rows"]) if "rows" in keywords else len(scores)
    if scores.ndim == 1 and "rows" not in keywords:
        tasks, keywords["rows"] = each, [0] * each
    found = data.draw(thresholds(scores, keywords["dtype"], tasks))
    plain = {name: keywords[name] for name in KEYS if name in keywords}
    call = plain | {"threads": keywords["threads"]}
    for name in ("filter", "candidates"):
        form, lists = keywords.get(f"{name}_form"), plain.get(name)
        if form in SHARED_FORMS:
            call[name] = SHARED_FORMS[form](lists[0])
        elif form is not None:
            call[name] = FORMS[form](lists, scores.shape[-1])
    if "rows" in call:
        call["rows"] = np.asarray(call["rows"], np.int64)
    return found.given, found.plain, call, plain


def check(scores: Any, problem: Problem, data: st.DataObject, *, place: bool = True) -> None:
    """Compare with the definition; `place`: whether an error names the first row and column."""
    given_thresholds, plain_thresholds, call, plain = asked(problem, data)
    expected: Any
    try:
        expected = count_above(problem.scores, plain_thresholds, **plain)
    except Refused as refused:
        expected = refused
    got: Any
    try:
        got = tr.count_above(scores, given_thresholds, **call)
    except ValueError as error:
        got = error
    if isinstance(got, Exception) or isinstance(expected, Refused):
        assert isinstance(got, Exception), f"should have refused: {expected}"
        assert isinstance(expected, Refused), f"refused without need: {got!r}"
        event("refused")
        if place:
            assert_refused(got, expected)
        return
    shape = np.shape(given_thresholds) or (
        len(call["rows"]) if "rows" in call else len(problem.scores),
    )
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, other.reshape(shape), strict=True)


@pytest.mark.smoke
@given(problems(nan=True, errors=False), st.data())
@settings(max_examples=300)
def test_counts_are_those_of_the_definition(problem: Problem, data: st.DataObject) -> None:
    check(problem.scores, problem, data)


@given(problems(nan=True, errors=False), st.data())
@settings(max_examples=100)
def test_tile_by_tile(problem: Problem, data: st.DataObject) -> None:
    """Tiles of whole rows, and tiles that cut rows."""
    matrix = np.array(problem.scores)
    if matrix.ndim == 1 or not len(matrix) or matrix.dtype.name == "bfloat16":
        return
    parts = np.array_split(matrix, data.draw(st.integers(1, 4)), axis=data.draw(st.integers(0, 1)))
    axis = 0 if all(part.shape[1] == matrix.shape[1] for part in parts) else 1
    parts = [part for part in parts if part.size]
    if data.draw(st.booleans()):
        parts = [np.asfortranarray(part) for part in parts]
    dtype = problem.keywords["dtype"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "TILE_BYTES", data.draw(st.sampled_from([1, 64, 1 << 20])))
        with tr.open_scores(parts, axis=axis, dtype=dtype) as store:
            check(store, problem, data, place=False)


# --- what thresholds stand for


def floor_of(number: Any, values: list[Any]) -> Any:
    """Return the greatest of some sorted numbers that is no greater; Python compares exactly."""
    at = bisect_right(values, number)
    return values[at - 1] if at else None


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "uint8", "int16", "uint16"])
def test_all_numbers_of_narrow_types(dtype: str) -> None:
    """Every value of the type, both neighbours of each, what is halfway, and what is far away."""
    bits = np.arange(1 << 8 * as_dtype(dtype).itemsize, dtype=f"u{as_dtype(dtype).itemsize}")
    values = sorted({x for x in exact(bits.view(as_dtype(dtype)))[0] if x == x})
    rng = np.random.default_rng(1)
    some = rng.choice(len(values), min(300, len(values)), replace=False)
    asked: list[Any] = [x for x in ODD if x == x]
    for i in (0, 1, len(values) // 2, len(values) - 2, len(values) - 1, *some.tolist()):
        x = float(values[i])
        asked += [x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)]
        if i > 0 and np.isfinite([x, float(values[i - 1])]).all():
            asked.append((x + float(values[i - 1])) / 2)
    asked = [x if type(x) is int else float(x) for x in asked]
    found = representable(read_thresholds(asked), dtype)
    kind = as_dtype(dtype)
    scores = exact(found.scores.view(kind))[0]
    for number, score, equal, lowest in zip(asked, scores, *found[1:], strict=True):
        floor = floor_of(number, values)
        assert lowest == (floor is None), number
        assert score == (values[0] if lowest else floor), number
        assert equal == (score == number), number


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
@settings(max_examples=300)
def test_no_number_lies_between(dtype: str, numbers: list[Any]) -> None:
    """The number is no greater than the threshold, and the next one above it is greater."""
    found = representable(read_thresholds(numbers), dtype)
    assert found.scores.dtype == dtype
    floats = dtype.startswith("float")
    for number, score, equal, lowest in zip(numbers, found.scores, *found[1:], strict=True):
        value = float(score) if floats else int(score)
        assert equal == (value == number)
        assert lowest == (value > number)
        if lowest:
            assert value == np.iinfo(dtype).min
        elif not equal and floats:
            with np.errstate(over="ignore"):
                assert float(np.nextafter(score, np.array(np.inf, dtype))) > number
        elif not equal:
            assert value + 1 > number or value == np.iinfo(dtype).max


def test_a_threshold_that_no_score_equals() -> None:
    """As float32, 0.1 is greater than 0.1, and 0.9 less than 0.9."""
    assert tr.count_above(SCORES, 0.1).above.tolist() == [3, 3]
    counts = tr.count_above(SCORES, np.float32(0.1))
    assert (counts.above.tolist(), counts.tied.tolist()) == ([2, 3], [1, 0])
    assert tr.count_above(SCORES, 0.9, order="ascending").above.tolist() == [3, 3]
    large = np.array([[2**53, 2**53 + 1, 2**53 + 2]])
    assert tr.count_above(large, 2.0**53).above.tolist() == [2]
    assert tr.count_above(large.astype(float), 2**53 + 1).above.tolist() == [1]


@pytest.mark.parametrize("order", ["descending", "ascending"])
def test_true_scores_as_thresholds(order: str) -> None:
    """Counts for the scores of targets are those of rank."""
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 9, (40, 300)).astype(np.float16)
    targets, filter = rng.integers(0, 300, 40), [[0, 5, 7]] * 40
    true_scores = scores[np.arange(40), targets]
    ranks = tr.rank(scores, targets, order=order)
    counts = tr.count_above(scores, true_scores, order=order)
    for name in ("above", "tied", "candidates"):
        np.testing.assert_array_equal(getattr(counts, name), getattr(ranks, name))
    filtered = tr.count_above(scores, true_scores, order=order, filter=filter)
    np.testing.assert_array_equal(filtered.candidates, np.full(40, 297))


# --- where scores may be


def test_files_and_tensors(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 20, (7, 400)).astype(np.float32)
    asked = np.sort(rng.random((7, 5)) * 20, axis=1)
    asked[:, 0] = 7
    expected = tr.count_above(scores, asked)
    for i, part in enumerate(np.array_split(scores, 3)):
        np.save(tmp_path / f"part-{i}.npy", part)
    np.save(tmp_path / "whole.npy", np.asfortranarray(scores))
    memmap = np.load(tmp_path / "whole.npy", mmap_mode="r")
    sources = [str(tmp_path / "part-*.npy"), tmp_path / "whole.npy", memmap]
    for source in sources:
        for io in ("map", "read"):
            scores_there = source if source is memmap else tr.open_scores(source, io=io)
            for one, other in zip(tr.count_above(scores_there, asked), expected, strict=True):
                np.testing.assert_array_equal(one, other, strict=True)


# --- errors


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        (float("nan"), "thresholds: expected numbers, got NaN"),
        ([0.5, float("nan")], "thresholds: expected numbers, got NaN for task 1"),
        (
            np.array([[0, 1], [2, np.nan]]),
            "thresholds: expected numbers, got NaN for task 1, position 1",
        ),
        (
            [0.5, 1, 2],
            "thresholds: expected 2 thresholds, one for each row of scores, or a matrix of 2 rows"
            r" of them, got shape \(3,\)",
        ),
        (
            np.zeros((2, 1, 1)),
            r"thresholds: expected a number, one for each task, or a matrix \(tasks, m\), got "
            r"shape \(2, 1, 1\)",
        ),
        ([[1, 2], [3]], "thresholds: expected a number, .* got lists of unlike lengths or depths"),
    ],
)
def test_values_that_are_no_thresholds(thresholds: Any, message: str) -> None:
    with pytest.raises(tr.InputValueError, match=f"^{message}$"):
        tr.count_above(SCORES, thresholds)


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        (True, "thresholds: expected real numbers, got bool"),
        ([0.5, "1"], "thresholds: expected real numbers, got str"),
        ([0.5, None], "thresholds: expected real numbers, got NoneType"),
        (np.array([True, False]), "thresholds: expected one of float16, .* got dtype bool"),
        (np.array([1j, 2]), "thresholds: expected one of float16, .* got dtype complex128"),
        (np.zeros(2, "V2"), "thresholds: expected one of .* says that they are bfloat16"),
        (np.ma.masked_array([1.0, 2.0], [0, 1]), "thresholds: expected plain numbers, .*"),
    ],
)
def test_types_that_are_no_thresholds(thresholds: Any, message: str) -> None:
    with pytest.raises(tr.InputTypeError, match=f"^{message}$"):
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
    with pytest.raises(tr.InputValueError, match=f"^{message}$"):
        tr.count_above(SCORES, [0.5, 0.5], **keywords)


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


def test_counts_are_a_named_tuple() -> None:
    counts = tr.count_above(np.zeros((0, 3)), 0.5)
    assert [x.shape for x in counts] == [(0,)] * 3
    assert tr.count_above(np.zeros((2, 0)), 0.5).candidates.tolist() == [0, 0]
    assert tr.count_above(SCORES[0], [0.1, 0.5, 0.9, 2]).above.tolist() == [3, 1, 0, 0]
    assert isinstance(counts, ThresholdCounts)


def test_forms_hold_the_numbers_they_are_given() -> None:
    for name, form in THRESHOLD_FORMS.items():
        assert np.asarray(form([1, 2]), float).tolist() == [1, 2], name


def test_nothing_is_written_to() -> None:
    scores: Array = SCORES.copy()
    asked = np.array([0.5, 0.2])
    for array in (scores, asked):
        array.flags.writeable = False
    tr.count_above(scores, asked, filter=[[0], [1]], nan="omit")
    assert (scores == SCORES).all()
