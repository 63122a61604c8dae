"""Test metrics against their definitions, for ranks and for ties, with and without weights."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracles import metrics as oracle
from support.example_ranks import any_ranks
from support.metric_keys import keys_of, keys_where
from support.refusals import refusal
from truerank import Ranks, compare, report, table
from truerank.inference import interval
from truerank.metrics import METRICS
from truerank.metrics.chance_model import moments_of_ranks
from truerank.metrics.keys import parse
from truerank.metrics.metric_table import KINDS, MetricRow
from truerank.metrics.ties import mean_over_positions

POINTS = tuple(kind for kind in KINDS if kind != "expected")
PLAIN = keys_where(lambda metric: metric.name != "count" and metric.parameter != ":p")
MEANS = keys_where(lambda metric: metric.is_mean)
NAMES = [name for name in METRICS if name != "count"]
NO_MEANS = ("gmr", "igmr", "hmr", "imr", "median", "imedian", "power_mean:2", "power_mean:1")
NO_MEANS += ("std", "variance", "mad", "geometric_mean_rank", "index.gmr")
POWERS = (-math.inf, -20.0, -1.5, -1.0, -0.5, 0.0, 1e-6, 0.5, 1.0, 2.0, 3.7, 30.0, math.inf)
ALL = (*PLAIN, *(f"power_mean:{p}" for p in POWERS))
ADJUSTED_TOO = (*ALL, "amr", "amri")


@st.composite
def small_ties(draw: st.DrawFn) -> Ranks:
    """Up to 6 tasks whose ties can be listed, some longer than those added term by term.

    They have up to 6,000 candidates, and places anywhere among them.
    """
    n = draw(st.integers(1, 6))
    candidates = draw(st.lists(st.integers(180, 6000), min_size=n, max_size=n))
    counts = []
    for size in candidates:
        tied = draw(st.integers(1, 4) | st.integers(1, 120))
        counts.append((draw(st.integers(0, 60) | st.integers(0, size - tied)), tied))
    weight = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 2.0, 2.0**53])
    weights = draw(st.none() | st.lists(weight, min_size=n, max_size=n).filter(any))
    above_, tied_ = zip(*counts, strict=True)
    return Ranks(above_, tied_, candidates, weights=weights)


@given(any_ranks() | small_ties(), st.sampled_from(POINTS), st.sampled_from(ALL))
def test_metrics_are_their_definitions(ranks: Ranks, kind: str, name: str) -> None:
    ranks = ranks.with_labels(side=None)
    value = report(ranks)[f"{kind}.{name}"]
    if not len(ranks):
        assert math.isnan(value)
        return
    if kind == "random":
        drawn = Ranks(ranks.random(0) - 1, np.ones_like(ranks.above), ranks.candidates)
        kind = "realistic"
        ranks = drawn.with_weights(ranks.weights)
    expected = oracle.of_kind(kind, name, ranks)
    rel = 1e-11 if "power" in name else 1e-13
    assert value == pytest.approx(float(expected), rel=rel)


@pytest.mark.parametrize("metric", [name for name in NAMES if METRICS[name].parameter])
@given(small_ties(), st.sampled_from(POINTS[:3]), st.data())
def test_a_metric_is_its_definition_for_any_parameter(
    metric: str, ranks: Ranks, kind: str, data: st.DataObject
) -> None:
    key = data.draw(keys_of([metric]))
    expected = float(oracle.of_kind(kind, key, ranks))
    assert report(ranks)[f"{kind}.{key}"] == pytest.approx(expected, rel=1e-11)


@given(small_ties(), keys_of([name for name in NAMES if METRICS[name].is_mean]))
def test_expected_metrics_are_those_of_all_positions(ranks: Ranks, name: str) -> None:
    """Check against all positions of ties, each with its share of the task's weight."""
    measured = report(ranks)
    exact = float(oracle.of_kind("expected", name, ranks))
    assert measured[f"expected.{name}"] == pytest.approx(exact, rel=1e-12)
    assert measured["expected.count"] == len(ranks)


@pytest.mark.parametrize(
    ("weights", "median"),
    [([0.1, 0.3, 0.4], 3), ([0.3, 0.1, 0.2], 2), ([0.1, 0.2, 0.0, 0.1, 0.2], 3)],
)
def test_medians_are_exact_where_sums_of_weights_are_rounded(
    weights: list[float], median: float
) -> None:
    """In binary 0.1 and 0.3 are less than 0.4, and more than 0.3 are 0.1 and 0.2."""
    n = len(weights)
    ranks = Ranks(range(n), [1] * n, 9, weights=weights)
    measured = report(ranks)
    assert measured["median"] == median
    for name in ("median", "imedian", "mad"):
        assert measured[name] == pytest.approx(float(oracle.of_kind("realistic", name, ranks)))


def test_expected_ties_of_any_size() -> None:
    measured = report(Ranks([0, 2**30], [2**51, 2**51 + 1], 2**52))
    assert measured["expected.mr"] == pytest.approx(2**51 / 2 + 2**29 + 0.75, rel=1e-15)
    assert 0 < measured["expected.mrr"] < 1e-13


@pytest.mark.parametrize("name", NO_MEANS)
def test_what_is_no_mean_has_no_expected_value(name: str) -> None:
    measured = report(RANKS, by=[0, 0, 1, 1, 1, 0])
    key = f"expected.{name}"
    words = f"^'{key}': .* is not a mean over tasks, and its mean over all orders of ties is not"
    calls: list[Callable[[], object]] = [
        lambda: measured[key],
        lambda: measured.to_dict(["mrr", key]),
        lambda: measured.to_json([key]),
        lambda: measured.group_values(key),
        lambda: measured.interval(key),
        lambda: measured.contributions(key),
        lambda: measured.table(key),
        lambda: interval(RANKS, key),
        lambda: table({"a": measured}, [key]),
        lambda: compare(RANKS, RANKS, key),
        lambda: compare(measured, measured, ["mrr", key]),
    ]
    for call in calls:
        refusal(KeyError, words, call)
    for key in (f"macro.tail.expected.{name}", f"both.expected.{name.upper()}"):
        refusal(KeyError, f"^'{key}': ", measured.__getitem__, key)
        assert key not in measured


@given(st.lists(st.integers(2, 10**6), min_size=1), st.booleans())
def test_perfect_and_constant_scorers_are_exact(candidates: list[int], weighted: bool) -> None:
    n = len(candidates)
    weights = np.linspace(0.1, 0.7, n) if weighted else None
    perfect = report(Ranks([0] * n, [1] * n, candidates, weights=weights))
    constant = report(Ranks([0] * n, candidates, candidates, weights=weights))
    assert all(perfect[name] == METRICS[parse(name).metric].optimum for name in PLAIN)
    assert perfect["amri"] == 1
    for name, k in {"amri": 1, "amrr": 1, "ah@1": 1, "ah@3": 3}.items():
        values = (1, 0)
        if k >= max(candidates):
            values = (math.nan, math.nan)
        ends = perfect[name], constant[f"expected.{name}"]
        assert ends == pytest.approx(values, rel=0, abs=1e-12, nan_ok=True)
    assert constant["amri"] == pytest.approx(0, abs=1e-15)
    assert constant["expected.ratio.mrr"] == pytest.approx(1, rel=1e-13)
    assert constant["amr"] == pytest.approx(1, rel=1e-15)
    assert constant["optimistic.mr"] == 1
    assert constant["mr"] == pytest.approx((np.average(candidates, weights=weights) + 1) / 2)


def test_no_tasks_and_no_weight_give_nan_without_a_warning() -> None:
    without_weight = Ranks([0, 3], [1, 1], 9, weights=[1, 0])[1:]
    with np.errstate(all="raise"):
        for ranks in (Ranks([], [], []), Ranks([], [], [], weights=[]), without_weight):
            kinds = list(KINDS)
            if len(ranks):
                kinds = ["realistic"]
            for kind in kinds:
                names = MEANS if kind == "expected" else ADJUSTED_TOO
                values = (report(ranks)[f"{kind}.{name}"] for name in names)
                assert all(map(math.isnan, values))


@given(any_ranks({"weights": True}), st.sampled_from([1e-300, 0.3, 1e300]))
def test_only_ratios_of_weights_matter(ranks: Ranks, factor: float) -> None:
    assume(len(ranks))
    scaled = ranks.with_weights(ranks.weights * factor)
    for name in ADJUSTED_TOO:
        assert report(scaled)[name] == pytest.approx(report(ranks)[name], nan_ok=True, rel=1e-9)


@pytest.mark.parametrize("key", ["median", "mad", "imedian", "mr", "std", "power_mean:inf"])
def test_the_most_candidates(key: str) -> None:
    """Positions up to 2**52 are floats, as are the halves between them."""
    most = 2**52
    for above, tied in ((0, most), (most - 1, 1), (most - 5, 5), (most // 2, 7)):
        result = report(Ranks([above, 0], [tied, 1], most))
        for kind in ("realistic", "pessimistic"):
            assert 0 <= result[f"{kind}.{key}"] <= 2.0**52
    last = report(Ranks([most - 1], [1], most))
    assert last[f"hits@{most}"] == last[f"hits@{10**30}"] == 1
    assert last[f"hits@{most - 1}"] == 0


def test_powers_of_ranks_with_hardly_any_weight() -> None:
    """The best rank has weight 2**-1060 beside the others, of which a power underflows."""
    ranks = Ranks([0, 99], [1, 1], 200, weights=[2.0**-1060, 1.0])
    assert report(ranks)["power_mean:-300"] == pytest.approx(2 ** (1060 / 300), rel=1e-12)
    turned = Ranks([99, 0], [1, 1], 200, weights=[5e-324, 1e308])
    weight = math.log(5e-324) - math.log(1e308)
    assert report(turned)["power_mean:300"] == pytest.approx(
        max(100 * math.exp(weight / 300), 1.0), rel=1e-12
    )


def test_every_metric_has_a_plain_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oracle computes none of them from its row, with which it would be compared."""
    monkeypatch.setattr(oracle, "METRICS", {})
    for key in keys_where(lambda metric: True):
        assert oracle.exact(key, [Fraction(1)], [Fraction(2)], [5]) in (0, 1), key


# Half of the power of the rank's share of the candidates, averaged; less is better.
ROW = MetricRow(
    name="rank_share",
    title="Rank-Share",
    description="share of the candidates",
    parameter=":p",
    examples=(":1", ":0.5"),
    of_rank=lambda r, N, p: (r / N) ** p / 2,
    inverse=lambda mean: 2 * mean,
    increasing=False,
    decimals=3,
    source="this test",
)
RANKS = Ranks(
    [0, 3, 5, 2, 7, 1],
    [1, 2, 3, 40, 1, 1],
    [9, 20, 11, 90, 100, 2],
    weights=[1.0, 2.0, 0.5, 1.0, 0.0, 3.0],
    side=["head", "tail"] * 3,
)


@pytest.mark.parametrize("example", ROW.examples)
def test_a_new_row(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, ROW.name, ROW)
    name = f"rank_share{example}"
    measured = report(RANKS, by=[0, 0, 1, 1, 1, 0])
    for kind in POINTS[:3]:
        values = [float(oracle.of_kind(kind, name, RANKS[i])) for i in ([0, 1, 5], [2, 3, 4])]
        assert measured[f"macro.{kind}.{name}"] == pytest.approx(np.mean(values), rel=1e-13)
    tails = float(oracle.of_kind("pessimistic", name, RANKS[1::2]))
    assert measured[f"tail.pessimistic.Rank-Share{example}"] == pytest.approx(tails, rel=1e-13)
    refusal(KeyError, f"{name} is not a mean over tasks", parse, f"expected.{name}")
    assert set(keys_where(lambda metric: metric is ROW)) == {"rank_share:1", "rank_share:0.5"}
    refusal(KeyError, "rank_share is not a mean over tasks", parse, f"index.{name}")
    refusal(KeyError, r"did you mean rank_share:p", parse, "rank_shares")
    text = measured.to_markdown([name, "mrr"])
    assert f"| Rank-Share{example} \u2193 |" in text
    assert f" {measured[name]:.3f} " in text
    interval = measured.interval(name, level=0.5)
    assert interval.low <= interval.value == measured[name] <= interval.high


@pytest.mark.parametrize("key", ["mr", "mrr", "hits@1", "hits@31", "hits@1000"])
def test_what_is_added_up_is_the_closed_form(key: str) -> None:
    parsed = parse(key)
    row = METRICS[parsed.metric]
    added = dataclasses.replace(row, moments=None)
    sizes = np.array([40_943, 1, 2, 16, 17, 1000, 1001, 5000, 10**6, 2])
    lots = [sizes[:0], *sizes[:, None]]
    if key != "mr":  # Distances are from one middle, and those of few small ranks lose digits.
        lots.append(sizes)
    for lot in lots:
        result = moments_of_ranks(added, parsed.parameter, lot)
        exact = moments_of_ranks(row, parsed.parameter, lot)
        assert result[0] == pytest.approx(exact[0], rel=1e-12)
        assert result[1] == pytest.approx(exact[1], rel=1e-11, abs=1e-15)


def test_ties_are_added_in_blocks() -> None:
    first = np.array([1.0, 5.0, 1.0])
    tied = np.array([200_000, 1, 3])
    result = mean_over_positions(
        lambda r, N, _: 1 / (1 + np.log2(r)), first, tied, np.array([200_000, 9, 9]), 0
    )
    plain = []
    for a, m in zip(first, tied, strict=True):
        positions = a + np.arange(m)
        plain.append(math.fsum(1 / (1 + np.log2(positions))) / m)
    assert result == pytest.approx(plain, rel=1e-14)


def test_a_rank_at_the_cutoff_counts() -> None:
    measured = report(Ranks([2, 3], [1, 1], 9))
    assert (measured["mrr@3"], measured["ndcg@3"], measured["hits@3"]) == (1 / 6, 1 / 4, 1 / 2)
    of_tie = report(Ranks([1], [4], 9))  # of its places 2, 3, 4 and 5 two count
    assert of_tie["expected.mrr@3"] == pytest.approx((1 / 2 + 1 / 3) / 4, rel=1e-15)
