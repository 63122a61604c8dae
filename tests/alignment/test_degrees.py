"""Results by degree: against a report of each bucket's tasks, and by hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.refusals import refusal
from truerank.alignment import by_degree

pytestmark = pytest.mark.python_only

LEFT = [0, 1, 2, 3]  # with RIGHT, pairs
RIGHT = [2, 1, 0, 3]
SIDES = ["left_to_right"] * 4 + ["right_to_left"] * 4
LEFT_DEGREES = [1, 4, 20, 0]
RIGHT_DEGREES = [2, 0, 3, 0]


def ranks_of(above: list[int] | None = None, **labels: Any) -> tr.Ranks:
    labels = {"side": SIDES, "queries": LEFT + RIGHT, "targets": RIGHT + LEFT, **labels}
    return tr.Ranks(above or [0, 3, 0, 9, 1, 5, 0, 0], [1] * 8, 10, **labels)


def bucket(degree: int, edges: list[int]) -> str:
    """Return the bucket of a degree, by trying each."""
    if degree == 0:
        return "0"
    starts = sorted({1} | set(edges))
    if degree >= starts[-1]:
        return f"{starts[-1]}+"
    for start, end in pairwise(starts):
        if start <= degree < end:
            return str(start) if end == start + 1 else f"{start}-{end - 1}"
    raise AssertionError(degree)


@given(st.data())
def test_groups_are_the_tasks_of_each_bucket(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 8))
    lefts, rights = (data.draw(st.permutations(range(n))) for _ in range(2))
    some = st.lists(st.integers(0, 25), min_size=n, max_size=n)
    degrees = {"left_degrees": data.draw(some), "right_degrees": data.draw(some)}
    names = list(degrees)
    counted = data.draw(st.sampled_from([names, names[:1], names[1:]]))
    edges = sorted(data.draw(st.sets(st.integers(1, 30), min_size=1, max_size=5)))
    forward = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    above = data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    pairs = list(zip(lefts, rights, strict=True))
    sides = []
    queries = []
    targets = []
    for (x, y), is_forward in zip(pairs, forward, strict=True):
        if is_forward:
            sides.append("left_to_right")
            queries.append(x)
            targets.append(y)
        else:
            sides.append("right_to_left")
            queries.append(y)
            targets.append(x)
    ranks = tr.Ranks(above, [1] * n, 10, side=sides, queries=queries, targets=targets)
    report = by_degree(ranks, **{side: degrees[side] for side in counted}, edges=edges)
    left, right = (np.array(degrees[side]) * (side in counted) for side in degrees)
    names = [bucket(int(left[x] + right[y]), edges) for x, y in pairs]
    assert report.ranks.labels["degree"].values.tolist() == names
    starts = {name: int(name.rstrip("+").split("-")[0]) for name in names}
    assert list(report.groups) == sorted(starts, key=lambda name: starts[name])
    for name in set(names):
        tasks = ranks[np.array(names) == name]
        assert report.groups[name]["mrr"] == pytest.approx(tr.report(tasks)["mrr"])
    assert report["mrr"] == pytest.approx(tr.report(ranks)["mrr"])


def test_buckets_are_openeas() -> None:
    """Of half of the sum: [1, 6), [6, 11), ..., as in the script with OpenEA's code."""

    def labels(sums: list[int], edges: tuple[int, ...]) -> list[str]:
        n = len(sums)
        ranks = tr.Ranks(
            [0] * n, [1] * n, 9, side="left_to_right", queries=range(n), targets=range(n)
        )
        return by_degree(ranks, sums, edges=edges).ranks.labels["degree"].values.tolist()

    expected = ["0", "1-5", "1-5", "6-10", "6-10", "11-15", "11-15", "16+", "16+"]
    assert labels([0, 1, 5, 6, 10, 11, 15, 16, 1000], (1, 6, 11, 16)) == expected
    found = labels([0, 1, 11, 12, 31, 32], (12, 22, 32))
    assert found == ["0", "1-11", "1-11", "12-21", "22-31", "32+"]


def test_names_of_entities() -> None:
    ranks = ranks_of(queries=list("abcdcbad"), targets=list("cbadabcd"))
    degrees_left = dict(zip("abcd", LEFT_DEGREES, strict=True))
    degrees_right = dict(zip("abcd", RIGHT_DEGREES, strict=True))
    report = by_degree(ranks, degrees_left, degrees_right)
    assert report.group_values("hits@1") == {"0": 0.5, "1-5": 0.25, "16+": 1.0}
    del degrees_right["b"]
    refusal(ValueError, "^right_degrees: .* for 'b'", by_degree, ranks, degrees_left, degrees_right)
    assert by_degree(ranks, degrees_left).by == "degree"
    refusal(TypeError, "^left_degrees: expected a .* to degrees", by_degree, ranks, LEFT_DEGREES)
    refusal(TypeError, "^left_degrees: .* degree for each id", by_degree, ranks_of(), degrees_left)


def test_a_report_keeps_its_seed_and_weights() -> None:
    whole = tr.report(ranks_of(), seed=3, weights=[1, 2, 3, 4, 5, 6, 7, 8])
    report = by_degree(whole, LEFT_DEGREES)
    assert report.seed == 3
    assert report["mrr"] == whole["mrr"]
    np.testing.assert_array_equal(report.weights, whole.weights)
    weighed = ranks_of(weights=[1, 2, 3, 4, 5, 6, 7, 8])
    assert by_degree(weighed, LEFT_DEGREES)["mrr"] == whole["mrr"]


@pytest.mark.parametrize(
    ("given", "keywords", "kind", "message"),
    [
        ([], {}, TypeError, "left_degrees: expected degrees of a graph, got None"),
        ([[1, 2, 3]], {}, ValueError, "left_degrees: .* got 3 and none for entity 3"),
        ([[1, -2, 3, 4]], {}, ValueError, "left_degrees: expected degrees from 0 on, got -2"),
        ([[1.0, 2, 3, 4]], {}, TypeError, "left_degrees: expected integers"),
        ([[LEFT_DEGREES]], {}, ValueError, "left_degrees: expected a 1-D array"),
        ([LEFT_DEGREES], {"edges": []}, ValueError, "edges: expected ascending integers"),
        ([LEFT_DEGREES], {"edges": [5, 5]}, ValueError, "edges: expected ascending integers"),
        ([LEFT_DEGREES], {"edges": 5}, ValueError, "edges: expected ascending integers"),
        ([LEFT_DEGREES], {"edges": [1.5]}, TypeError, "edges: expected integers"),
    ],
)
def test_errors(given: Any, keywords: Any, kind: type[Exception], message: str) -> None:
    refusal(kind, f"^{message}", by_degree, ranks_of(), *given, **keywords)


def test_errors_of_ranks() -> None:
    stored = tr.Report.from_json(tr.report(ranks_of()).to_json())
    for ranks, kind, words in (
        (ranks_of().with_labels(side=None), ValueError, "expected the sides .*, got none"),
        (ranks_of(side="tail"), ValueError, "expected .* tail"),
        (ranks_of().with_labels(queries=None), ValueError, "expected labels .* none for queries"),
        (1, TypeError, "expected a .* ranks, or Ranks, got int"),
        (stored, TypeError, ".* got a Report without"),
    ):
        refusal(kind, f"^ranks: {words}", by_degree, ranks, LEFT_DEGREES)
