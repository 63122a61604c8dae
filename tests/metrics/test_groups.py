"""Test groups of tasks: codes, weights, metrics of all groups at once, and macro averages."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Hashable

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.example_ranks import any_ranks
from support.metric_keys import keys_where
from truerank import Ranks, report
from truerank.metrics.keys import parse
from truerank.metrics.metric_table import KINDS

PLAIN = keys_where(lambda metric: True)
ADJUSTED = ("ratio.mr", "amri", "amrr", "ah@3", "zmr", "zh@1", "index.gmr", "z.igmr")


@st.composite
def grouped_ranks(draw: st.DrawFn) -> tuple[Ranks, list[int]]:
    """Ranks of few candidates with ties, sides and weights, and the labels of up to four groups."""
    n = draw(st.integers(0, 14))
    small = st.lists(st.integers(0, 4), min_size=n, max_size=n)
    above, tied, below = (np.array(draw(small), dtype=np.int64) for _ in range(3))
    side = draw(st.lists(st.sampled_from(["head", "tail", "relation"]), min_size=n, max_size=n))
    ranks = Ranks(above, tied + 1, above + tied + 1 + below, side=side)
    if n and draw(st.booleans()):
        weights = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
        assume(any(weights))
        ranks = ranks.with_weights(weights)
    return ranks, draw(st.lists(st.integers(-2, 1), min_size=n, max_size=n))


@pytest.fixture
def labelled() -> Ranks:
    return Ranks(
        [0, 3, 5, 1, 0],
        [1, 1, 1, 4, 1],
        [9, 9, 9, 12, 12],
        side=["head", "head", "tail", "tail", "tail"],
        relation=["likes", "knows", "likes", "likes", "knows"],
        queries=[7, -3, 7, 7, 8],
        targets=[4, 4, 4, 1, 1],
    ).with_labels(category=["1-n", "n-1", "1-n", "1-1", "1-1"], head_degree=[9, 2, 9, 2, 2])


@pytest.mark.parametrize(
    ("by", "codes", "names"),
    [
        ("side", [0, 0, 1, 1, 1], ["head", "tail"]),
        ("relation", [0, 1, 0, 0, 1], ["likes", "knows"]),
        ("query", [1, 0, 2, 2, 3], [("head", -3), ("head", 7), ("tail", 7), ("tail", 8)]),
        ("queries", [1, 0, 2, 2, 3], [("head", -3), ("head", 7), ("tail", 7), ("tail", 8)]),
        ("targets", [1, 1, 1, 0, 0], [1, 4]),
        ("category", [0, 1, 0, 2, 2], ["1-n", "n-1", "1-1"]),
        ("head_degree", [1, 0, 1, 0, 0], [2, 9]),
        (["b", "a", "b", "c", "a"], [0, 1, 0, 2, 1], ["b", "a", "c"]),
        (np.array([9, 2, 9, 2, 2]), [1, 0, 1, 0, 0], [2, 9]),
        (([2, 0, 2, 2, 0], ("x", "unused", "z\0")), [1, 0, 1, 1, 0], ["x", "z\0"]),
    ],
)
def test_codes(labelled: Ranks, by: object, codes: list[int], names: list[Hashable]) -> None:
    groups = report(labelled, by=by).groups
    assert list(groups) == names
    for code, name in enumerate(names):
        assert groups[name].ranks == labelled[np.array(codes) == code]
        assert groups[name] is groups[name]


def test_codes_of_other_names(labelled: Ranks) -> None:
    measured = report(labelled, by="category")
    assert measured.by == "category"
    assert measured.group_tasks("tail") == {"1-n": 1, "n-1": 0, "1-1": 2}
    assert "3 groups" in repr(measured)
    assert measured.interval("mrr", unit="head_degree").units == 2
    assert report(labelled[:0], weights="queries").weighting == "each query counts once"
    once = report(labelled, weights="category")
    assert once.weighting == "each category counts once"
    assert once.weights.tolist() == [1, 1, 1, 0.5, 0.5]
    unsided = labelled.with_labels(side=None)
    assert list(report(unsided, by="query").groups) == [-3, 7, 8]
    assert report(unsided, weights="target").weights.tolist() == [1 / 3, 1 / 3, 1 / 3, 0.5, 0.5]


@given(any_ranks({"queries": True, "side": True}))
def test_each_query_weighs_one(ranks: Ranks) -> None:
    sums = Counter[tuple[str, int]]()
    queries = zip(ranks.side, ranks.queries, strict=True)
    for query, weight in zip(queries, report(ranks, weights="query").weights, strict=True):
        sums[query] += weight
    assert list(sums.values()) == pytest.approx([1] * len(sums))
    measured = report(ranks, by="query", weights="query")
    if len(ranks) and measured.sides[0] == "both":
        assert measured["mr"] == pytest.approx(measured["macro.mr"], nan_ok=True)


def micro(ranks: Ranks, key: str) -> float:
    """The value of a key for some of the tasks; nan if they do not have its side."""
    try:
        return report(ranks)[key]
    except KeyError:
        return math.nan


@given(grouped_ranks(), st.sampled_from(PLAIN + ADJUSTED), st.sampled_from(list(KINDS)))
def test_values_of_groups_are_those_of_their_tasks(
    drawn: tuple[Ranks, list[int]], metric: str, kind: str
) -> None:
    ranks, labels = drawn
    assume(kind != "expected" or parse(metric).row.has_expectation)
    if kind == "random":  # as drawn for the whole
        ranks = Ranks(
            ranks.random(5) - 1,
            np.ones(len(ranks), dtype=np.int64),
            ranks.candidates,
            weights=ranks.weights,
            side=ranks.side,
        )
    measured = report(drawn[0], by=labels, seed=5)
    for side in ("head", "both"):
        if side not in measured.sides:
            continue
        key = f"{side}.{kind}.{metric}"
        values = measured.group_values(key)
        plain = {}
        for label in sorted(set(labels)):
            part = ranks[np.array(labels) == label]
            if side == "both":
                part = part[part.side.values != "relation"]
            plain[label] = math.nan
            if len(part):
                plain[label] = micro(part, key)
        if metric == "count":  # no group has a value without tasks
            plain = {label: n or math.nan for label, n in plain.items()}
        assert list(values) == list(plain)
        assert list(values.values()) == pytest.approx(
            list(plain.values()), rel=1e-9, abs=1e-12, nan_ok=True
        )
        kept = [v for v in plain.values() if not math.isnan(v)]
        assert measured.macro_left_out(key) == len(plain) - len(kept)
        if not metric.startswith("z"):
            mean = math.nan
            if kept:
                mean = sum(kept) / len(kept)
            assert measured[f"macro.{key}"] == pytest.approx(mean, rel=1e-9, abs=1e-12, nan_ok=True)
        for label, part in measured.groups.items():
            assert part[key] == pytest.approx(values[label], rel=1e-9, abs=1e-12, nan_ok=True) or (
                metric == "count" and part[key] == 0
            )


def test_weights_of_groups_may_differ_by_orders_of_magnitude() -> None:
    ranks = Ranks([0, 3, 5, 7], [1] * 4, 9, weights=[1e-300, 3e-300, 1e300, 1e300])
    measured = report(ranks, by=["a", "a", "b", "b"])
    for name in ("mr", "zmr", "z.gmr", "ratio.igmr"):
        alone = [report(part)[name] for part in (ranks[:2], ranks[2:])]
        assert list(measured.group_values(name).values()) == pytest.approx(alone)


@pytest.mark.parametrize("side", [None, []])
def test_no_tasks_have_no_groups(side: list[str] | None) -> None:
    measured = report(Ranks([], [], [], side=side), by=[])
    assert dict(measured.groups) == measured.group_tasks() == {}
    with np.errstate(all="raise"):
        assert math.isnan(measured["macro.mr"])
        assert math.isnan(measured["macro.index.gmr"])
    assert measured.macro_left_out("macro.mr") == 0
    assert len(measured.table()) == 2  # the averages
    assert json.loads(measured.to_json())["groups"]["labels"] == []
