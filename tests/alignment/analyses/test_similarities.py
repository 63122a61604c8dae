"""Similarity profiles: against sorting all similarities, and by hand."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import truerank as tr
from oracles.counting import Refused
from oracles.most_similar import Call, calls
from truerank.alignment.analyses.similarities import LEVELS, SimilarityProfile, similarity_profile
from truerank.alignment.local_scaling import csls_means

pytestmark = pytest.mark.python_only

LEFT = np.eye(2)
RIGHT = np.array([[1.0, 0.0], [3.0, 4.0], [6.0, 8.0]])


def quantile(values: list[float], level: float) -> float:
    """Interpolate linearly between two ranks (Hyndman, Fan 1996, definition 7)."""
    if not values:
        return math.nan
    ordered = sorted(values)
    place = level * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def std(values: list[float]) -> float:
    return statistics.pstdev(values) if values else math.nan


def same(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@given(calls(), st.integers(1, 6))
@settings(max_examples=120)
def test_profile_is_what_sorting_gives(call: Call, k: int) -> None:
    try:
        queries, targets, found = call.most_similar(k)
    except Refused as refused:
        event("refused")
        with pytest.raises(ValueError, match=r"^" + "|".join(refused.names)):
            similarity_profile(call.left, call.right, k=k, **call.keywords)
        return
    profile = similarity_profile(call.left, call.right, k=k, **call.keywords)
    width = min(k, len(targets))
    assert (profile.k, profile.tasks) == (width, len(queries))
    assert profile.queries.tolist() == queries
    for i, row in enumerate(found):
        rest = [-1] * (width - len(row))
        assert profile.ids[i].tolist() == [j for j, _ in row] + rest
        assert profile.similarities[i, : len(row)].tolist() == [s for _, s in row]
        assert np.isnan(profile.similarities[i, len(row) :]).all()
    columns = [[row[i][1] for row in found if len(row) > i] for i in range(width)]
    assert profile.counts.tolist() == [len(column) for column in columns]
    same(profile.mean, [mean(column) for column in columns])
    same(profile.std, [std(column) for column in columns])
    levels = [0, 0.1, 0.5, 1]
    expected = [[quantile(column, level) for column in columns] for level in levels]
    same(profile.quantiles(levels), expected)
    gaps = [row[0][1] - row[1][1] if min(len(row), width) > 1 else math.nan for row in found]
    same(profile.gaps, gaps)
    variances = [std([s for _, s in row]) ** 2 if len(row) > 1 else math.nan for row in found]
    same(profile.variances, variances)
    same(profile.variance, mean([v for v in variances if v == v]))
    means = [mean(column) for column in columns if column]
    same(profile.variance_of_means, std(means) ** 2 if len(means) > 1 else math.nan)
    if all(len(row) == width for row in found) and width > 1:
        assert profile.variance_of_means <= profile.variance + 1e-9


def test_by_hand() -> None:
    profile = similarity_profile(LEFT, RIGHT, k=3)
    assert profile.ids.tolist() == [[0, 1, 2], [1, 2, 0]]  # of equal ones the lowest id
    same(profile.similarities, [[1, 0.6, 0.6], [0.8, 0.8, 0]])
    same(profile.mean, [0.9, 0.7, 0.3])
    same(profile.std, [0.1, 0.1, 0.3])
    same(profile.gaps, [0.4, 0])
    same(profile.variances, [0.32 / 9, 1.28 / 9])
    same(profile.variance, 0.8 / 9)
    assert (profile.direction, profile.measure) == ("left_to_right", "cosine")
    back = similarity_profile(LEFT, RIGHT, k=1, direction="right_to_left")
    assert back.ids[:, 0].tolist() == [0, 1, 1]
    assert back.direction == "right_to_left"


def test_five_nearest_are_asked_for_by_default() -> None:
    vectors = np.random.default_rng(0).standard_normal((9, 3))
    assert similarity_profile(vectors, vectors).k == 5
    assert similarity_profile(vectors, vectors[:2]).k == 2


def test_csls_by_number_or_made_before() -> None:
    rng = np.random.default_rng(1)
    left, right = rng.standard_normal((2, 12, 4)).astype(np.float32)
    for direction in ("left_to_right", "right_to_left"):
        made = csls_means(left, right, 3)
        one = similarity_profile(left, right, csls=3, direction=direction)
        two = similarity_profile(left, right, csls=made, direction=direction)
        assert one.measure == two.measure == "cosine, csls 3"
        np.testing.assert_array_equal(one.similarities, two.similarities)
        np.testing.assert_array_equal(one.ids, two.ids)
        assert (one.ids != similarity_profile(left, right, direction=direction).ids).any()


def test_a_matrix_in_place_of_vectors() -> None:
    matrix = tr.score_embeddings(LEFT, RIGHT, similarity="cosine")
    one, two = similarity_profile(LEFT, RIGHT), similarity_profile(matrix, None)
    np.testing.assert_array_equal(one.similarities, two.similarities)
    assert two.measure == "scores"
    assert similarity_profile(matrix, None, csls=2).measure == "scores, csls 2"


def test_files_and_read_only_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "left.npy", LEFT)
    frozen = RIGHT.copy()
    frozen.flags.writeable = False
    found = similarity_profile(tmp_path / "left.npy", frozen, csls=1)
    np.testing.assert_array_equal(found.ids, similarity_profile(LEFT, RIGHT, csls=1).ids)


def test_nan_is_no_neighbour_or_an_error() -> None:
    right = RIGHT.copy()
    right[0] = np.nan
    with pytest.raises(ValueError, match=r"^scores: the score of left 0 and right 0 is NaN"):
        similarity_profile(LEFT, right)
    with pytest.raises(ValueError, match=r"^scores: the score of left 0 and right 0 is NaN"):
        similarity_profile(LEFT, right, direction="right_to_left")
    profile = similarity_profile(LEFT, right, k=3, nan="omit")
    assert profile.counts.tolist() == [2, 2, 0]
    assert np.isnan(profile.mean[2])
    assert np.isnan(profile.quantiles()[:, 2]).all()
    assert ["3", "0", *["nan"] * 7] in [line.split() for line in str(profile).splitlines()]
    with pytest.raises(ValueError, match=r"^nan: expected one of raise, omit, got 'worst'"):
        similarity_profile(LEFT, right, nan="worst")


def test_infinite_similarities_are_numbers() -> None:
    matrix = np.array([[np.inf, np.inf, 1], [2, 1, -np.inf]])
    profile = similarity_profile(matrix, None, k=3)
    assert profile.mean.tolist() == [np.inf, np.inf, -np.inf]
    assert np.isnan(profile.gaps[0])
    assert profile.gaps[1] == 1
    assert str(profile)


def test_one_neighbour_has_no_gap() -> None:
    profile = similarity_profile(LEFT, RIGHT, k=1)
    assert np.isnan(profile.gaps).all()
    assert math.isnan(profile.variance)
    assert math.isnan(profile.variance_of_means)
    assert "gap" not in profile.to_dict()
    assert "gap" not in str(profile)


def test_forms() -> None:
    profile = similarity_profile(LEFT, RIGHT, k=2)
    found = profile.to_dict()
    assert list(found) == [
        *("direction", "similarity", "tasks", "neighbours", "variance", "variance_of_means"),
        "gap",
    ]
    assert [row["tasks"] for row in found["neighbours"]] == [2, 2]
    assert found["gap"]["mean"] == pytest.approx(0.2)
    assert list(found["gap"])[3:] == [f"quantile {level:g}" for level in LEVELS]
    assert profile.to_csv().splitlines()[0] == "neighbour,tasks,mean,std,5%,25%,50%,75%,95%"
    assert profile.to_markdown(digits=2).splitlines()[2].startswith("| 1 | 2 | 0.9 | 0.1 |")
    assert r"gap 1-2" in profile.to_latex()
    assert repr(profile) == (
        "SimilarityProfile(2 tasks, left_to_right, cosine, mean of the nearest 0.9)"
    )
    with pytest.raises(ValueError, match="digits"):
        profile.to_markdown(digits=0)
    with pytest.raises(ValueError, match="read-only"):
        profile.similarities[0, 0] = 1


def test_pandas() -> None:
    pytest.importorskip("pandas")
    frame = similarity_profile(LEFT, RIGHT, k=2).to_pandas()
    assert frame["neighbour"].tolist() == ["1", "2", "gap 1-2"]
    assert frame["tasks"].tolist() == [2, 2, 2]


@pytest.mark.parametrize("levels", [[1.1], [-0.1], [math.nan], [[0.5]]])
def test_levels(levels: Any) -> None:
    profile = similarity_profile(LEFT, RIGHT)
    with pytest.raises(ValueError, match=r"^levels: expected numbers from 0 to 1"):
        profile.quantiles(levels)


@pytest.mark.parametrize(
    ("keywords", "kind", "message"),
    [
        ({"k": 0}, ValueError, "k: expected at least 1, got 0"),
        ({"k": 2.0}, TypeError, "k: expected an integer, got float"),
        ({"direction": "both"}, ValueError, "direction: expected one of left_to_right, right"),
        ({"queries": []}, ValueError, "queries: expected at least one entity that asks, got none"),
        ({"queries": [2]}, ValueError, "queries: expected ids from 0 to 1, got 2"),
        ({"queries": [-1]}, ValueError, "queries: expected ids from 0 to 1, got -1"),
        ({"queries": [0.0]}, TypeError, "queries: expected integers"),
        ({"queries": [[0]]}, ValueError, "queries: expected a 1-D array of ids"),
        ({"candidates": ([0], [])}, ValueError, "candidates: expected at least one right entity"),
        ({"candidates": ([], None)}, ValueError, "candidates: expected at least one left entity"),
        ({"candidates": ([0],)}, ValueError, r"candidates: expected \(left_ids, right_ids\), got"),
        ({"candidates": "test"}, TypeError, r"candidates: expected \(left_ids, right_ids\), got"),
        ({"candidates": (None, [3])}, ValueError, "right_ids: expected ids from 0 to 2, got 3"),
        ({"csls": 0}, ValueError, "csls: expected at least 1 neighbour, got 0"),
        ({"csls": "ten"}, TypeError, "csls: expected a number of neighbours, or a CSLS, got str"),
        (
            {"csls": 1, "candidates": ([0], None), "queries": [0, 1]},
            ValueError,
            "queries: expected entities of candidates, for csls=1 has means of these alone, got 1",
        ),
        ({"similarity": "near"}, ValueError, "similarity: expected one of"),
        ({"dtype": "float32"}, TypeError, "dtype: "),
    ],
)
def test_errors(keywords: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}"):
        similarity_profile(LEFT, RIGHT, **keywords)


def test_errors_of_vectors() -> None:
    with pytest.raises(ValueError, match=r"^right: expected vectors of length 2"):
        similarity_profile(LEFT, np.eye(3))
    with pytest.raises(ValueError, match=r"^right: expected vectors of length 2"):
        similarity_profile(LEFT, np.eye(3), direction="right_to_left")
    with pytest.raises(ValueError, match=r"^left: expected a matrix"):
        similarity_profile(LEFT[0], RIGHT)
    with pytest.raises(ValueError, match=r"^candidates: expected at least one right entity"):
        similarity_profile(LEFT, RIGHT[:0])


def test_a_made_csls_without_a_mean_for_a_query_is_a_nan() -> None:
    made = csls_means(LEFT, RIGHT, 1, candidates=([0], None))
    with pytest.raises(ValueError, match=r"^scores: the score of left 1 and right 0 is NaN"):
        similarity_profile(LEFT, RIGHT, csls=made)
    assert similarity_profile(LEFT, RIGHT, csls=made, queries=[0]).tasks == 1


def test_nothing_of_the_size_of_all_pairs() -> None:
    """Many tasks in little memory: the similarities of all pairs would be 400 MB."""
    import tracemalloc

    vectors = np.random.default_rng(2).standard_normal((10_000, 2)).astype(np.float32)
    tracemalloc.start()
    try:
        profile = similarity_profile(vectors, vectors, k=2, queries=np.arange(0, 10_000, 10))
        assert tracemalloc.get_traced_memory()[1] < 10e6
    finally:
        tracemalloc.stop()
    assert isinstance(profile, SimilarityProfile)
    assert profile.tasks == 1000
