"""Test the numbers that plots draw against slow counts, reports and their intervals."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truerank as tr
from support.example_ranks import any_ranks
from truerank.reporting.keyed_values import compose_key

pytest.importorskip("matplotlib", reason="plots need matplotlib")

from truerank import plot

KINDS = ("optimistic", "realistic", "pessimistic", "expected", "random")
A = tr.Ranks([0, 3, 1, 8, 0, 2], [1, 2, 1, 1, 3, 1], 12, queries=range(6), targets=range(6))
B = tr.Ranks([2, 3, 1, 9, 4, 2], [1, 1, 1, 1, 1, 5], 12, queries=range(6), targets=range(6))
GROUPS = ["x", "y", "x", "z", "x", "y"]


def drawn(line: Any) -> tuple[list[int], list[float]]:
    return line.get_xdata().tolist(), line.get_ydata().tolist()


def near(values: Any) -> Any:
    return pytest.approx(values, rel=1e-9, abs=1e-12, nan_ok=True)


def band(ax: Any) -> dict[int, tuple[float, float]]:
    """The lowest and the highest edge of a band just to the right of each position."""
    (filled,) = ax.collections
    vertices = filled.get_paths()[0].vertices
    level = [(one, two) for one, two in itertools.pairwise(vertices) if one[1] == two[1]]
    found: dict[int, tuple[float, float]] = {}
    for start, end in itertools.pairwise(np.unique(vertices[:, 0]).tolist()):
        middle = (start + end) / 2
        edges = [float(one[1]) for one, two in level if (one[0] < middle) != (two[0] < middle)]
        found[int(start)] = min(edges), max(edges)
    return found


# -- hits@k ----------------------------------------------------------------------------------------


@settings(max_examples=8)
@given(any_ranks(), st.sampled_from(KINDS))
def test_hits_curve(ranks: tr.Ranks, kind: str) -> None:
    """Each point is the report's hits@k, and chance is its expectation in the report."""
    report = tr.report(ranks)
    side = report.sides[0]
    ax = plot.hits_curve(report, kind=kind)
    line, chance = ax.get_lines()
    cutoffs, values = drawn(line)
    keys = [compose_key(side, kind, f"hits@{k}") for k in cutoffs[::7]]
    assert values[::7] == near([report[key] for key in keys])
    assert drawn(chance)[1][::7] == near([report.chance(key)[0] for key in keys])
    most = int(report._ranked.sample(side, kind).candidates.max(initial=2))
    assert cutoffs[0] == 1
    assert cutoffs[-1] == max(most, 2)
    assert set(range(1, min(most, 20) + 1)) <= set(cutoffs)
    for k, ends in [*(band(ax) if ax.collections else {}).items()][::7]:
        kinds = ("pessimistic", "optimistic")
        assert list(ends) == near([report[compose_key(side, end, f"hits@{k}")] for end in kinds])


def test_band_of_hits() -> None:
    assert list(band(plot.hits_curve(tr.report(A)))) == list(range(1, 12))
    assert not plot.hits_curve(tr.report(A), band=False).collections
    assert not plot.hits_curve(tr.report(A[2:4])).collections  # nothing ties


def test_chance_once_or_for_each() -> None:
    other = tr.report(tr.Ranks([0, 3], [1, 1], 4))
    alike = plot.hits_curve({"A": tr.report(A), "B": tr.report(B)})
    apart = plot.hits_curve({"A": tr.report(A), "B": other})
    assert [len(ax.get_lines()) for ax in (alike, apart)] == [3, 4]
    assert len(plot.hits_curve({"A": tr.report(A), "B": other}, chance=False).get_lines()) == 2
    assert legend(alike) == ["A", "B", "from optimistic to pessimistic", "chance"]
    assert legend(apart)[-1] == "chance, in the colour of each"
    assert legend(apart)[:2] == ["A (6 tasks)", "B (2 tasks)"]
    assert alike.get_legend().get_title().get_text() == "6 tasks, 12 candidates"


def legend(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


# -- the distribution ------------------------------------------------------------------------------


def slow_shares(report: tr.Report, kind: str, edges: list[int]) -> tuple[list[float], ...]:
    """Share, least, greatest and chance of each interval, task by task."""
    kinds = (kind, "optimistic", "pessimistic")
    drawn_, best, worst = (report._ranked.sample(report.sides[0], kind) for kind in kinds)
    weights = np.ones(len(best.ranks)) if best.weights is None else best.weights
    total = math.fsum(weights)
    columns: tuple[list[float], ...] = ([], [], [], [])
    for start, end in itertools.pairwise(edges):
        sums: list[list[float]] = [[], [], [], []]
        for i, weight in enumerate(weights.tolist()):
            size = int(drawn_.candidates[i])
            low, high = int(best.ranks[i]), int(worst.ranks[i])
            if kind == "expected":
                inside = max(0, min(high, end - 1) - max(low, start) + 1) / (high - low + 1)
            else:
                inside = start <= math.ceil(drawn_.ranks[i]) < end
            sums[0].append(weight * inside)
            sums[1].append(weight * (start <= low and high < end))
            sums[2].append(weight * (low < end and high >= start))
            sums[3].append(weight * max(0, min(size, end - 1) - start + 1) / size)
        for column, terms in zip(columns, sums, strict=True):
            column.append(math.fsum(terms) / total if total else math.nan)
    return columns


@settings(max_examples=15)
@given(any_ranks(), st.sampled_from(KINDS))
def test_rank_distribution(ranks: tr.Ranks, kind: str) -> None:
    report = tr.report(ranks)
    ax = plot.rank_distribution(report, kind=kind)
    line, chance = ax.get_lines()
    edges, values = drawn(line)
    share, least, greatest, expected = slow_shares(report, kind, edges)
    assert values[:-1] == near(share)
    assert drawn(chance)[1][:-1] == near(expected)
    assert edges[:-1] == [2**i for i in range(len(edges) - 1)]
    if ax.collections:
        ends = band(ax)
        for i, start in enumerate(edges[:-1]):
            assert ends[start] == (near(least[i]), near(greatest[i]))
    for low, value, high in zip(least, share, greatest, strict=True):
        assert math.isnan(value) or low - 1e-12 <= value <= high + 1e-12


# -- groups ----------------------------------------------------------------------------------------


def names(ax: Any) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def whiskers(lines: Any) -> list[tuple[float, float]]:
    """The ends of all whiskers, from the top down."""
    return [(float(line[0, 0]), float(line[1, 0])) for line in lines.get_segments()]


def ends_of(found: Any) -> tuple[float, float]:
    return found.low, found.high


def test_bars_are_the_values_of_the_groups() -> None:
    report = tr.report(A, by=GROUPS)
    ax = plot.groups(report, "mr", level=0.9)
    assert names(ax) == ["x", "y", "z"]
    assert [bar.get_width() for bar in ax.patches] == list(report.group_values("mr").values())
    assert [text.get_text() for text in ax.texts] == ["3", "2", "1", "tasks"]
    found = [report.groups[name].interval("mr", level=0.9) for name in "xy"]
    assert whiskers(*ax.collections) == list(map(ends_of, found))  # a single task has none
    assert [line.get_xdata()[0] for line in ax.get_lines()] == [report["mr"], report["macro.mr"]]
    assert ax.get_xlabel() == "MR"
    assert ax.get_legend().get_title().get_text() == "3 groups by label"


def test_best_groups_first() -> None:
    report = tr.report(A, by=GROUPS)
    for metric, sign in (("mr", 1), ("mrr", -1), ("hits@4", -1)):
        values = report.group_values(metric)
        best = sorted(values, key=lambda name: sign * values[name])
        assert names(plot.groups(report, metric, order="value")) == best
    ax = plot.groups(report, "mrr", order="value", most=1, interval=False)
    assert (names(ax), len(ax.collections)) == (["x"], 0)
    assert ax.get_legend().get_title().get_text() == "1 of 3 groups by label"
    # those without a value come last
    report = tr.report(tr.Ranks([0, 4, 2], [1, 1, 1], [1, 5, 5]), by=["none", "worst", "middle"])
    ax = plot.groups(report, "amri", order="value")
    assert names(ax) == ["middle", "worst", "none"]
    assert " no value" in [text.get_text() for text in ax.texts]
    # those without tasks of the side are left out; z has no macro average
    report = tr.report(A.with_labels(side=["head"] * 3 + ["tail"] * 3), by=GROUPS)
    assert names(plot.groups(report, "head.mr")) == ["x", "y"]
    assert len(plot.groups(report, "zmrr", interval=False).get_lines()) == 1


# -- models ----------------------------------------------------------------------------------------


def test_values_and_their_intervals() -> None:
    models = {"A": tr.report(A), "B": tr.report(B)}
    keys = ["mrr", "hits@3"]
    ax = plot.values(models, keys, level=0.9)
    for line, lines, report in zip(ax.get_lines(), ax.collections, models.values(), strict=True):
        assert line.get_xdata().tolist() == [report[key] for key in keys]
        found = [report.interval(key, level=0.9) for key in keys]
        assert whiskers(lines) == list(map(ends_of, found))
        x = found[0]
        cell = f"{x.value:.3f}  [{x.low:.3f}, {x.high:.3f}]"
        assert cell in [text.get_text() for text in ax.texts]
    assert names(ax) == ["MRR", "Hits@3"]
    assert legend(ax) == ["A", "B"]
    by = plot.values(models["A"], "mr", by=GROUPS)
    assert whiskers(*by.collections) == [ends_of(models["A"].interval("mr", by=GROUPS))]
    assert by.get_legend() is None


def test_differences_of_models() -> None:
    models = {"A": tr.report(A), "B": tr.report(B), "C": B}
    ax = plot.comparison(models, metric="mr", against="A", level=0.9)
    found = [tr.compare(models[name], models["A"], metric="mr", level=0.9) for name in "BC"]
    zero, dots = ax.get_lines()
    assert zero.get_xdata() == [0, 0]
    assert dots.get_xdata().tolist() == [one.difference for one in found]
    assert whiskers(*ax.collections) == list(map(ends_of, found))
    assert names(ax) == ["B", "C"]
    p = min(1, 2 * found[0].p_value)  # Holm's correction of two
    cells = [text.get_text() for text in ax.texts]
    assert cells[0] == f"{found[0].difference:+.1f}, p {p:.2g}"
    assert cells[-1] == "difference, p (Holm)"
    assert ax.get_xlabel() == "difference of MR from A, 90 % interval"


def test_pairs_of_models() -> None:
    models = {"A": A, "B": B, "C": B}
    ax = plot.comparison(models)
    found = tr.compare(models)
    assert ax.get_lines()[1].get_xdata().tolist() == [pair.estimate for pair in found]
    assert names(ax) == ["A \u2212 B", "A \u2212 C", "B \u2212 C"]
    two = plot.comparison(A, B, metric="gmr")
    ratio = tr.compare(A, B, metric="gmr")
    assert two.get_lines()[0].get_xdata() == [1, 1]
    assert two.get_lines()[1].get_xdata().tolist() == [ratio.estimate]
    assert names(two) == ["a / b"]
    runs = tr.compare([A, B], [B, A])
    assert whiskers(*plot.comparison([A, B], [B, A]).collections) == [ends_of(runs)]
    assert two.get_xlabel() == "ratio of GMR, 95 % interval"


# -- a metric against its index --------------------------------------------------------------------


def points(ax: Any) -> list[list[float]]:
    return [point for found in ax.collections for point in found.get_offsets().tolist()]


@pytest.mark.parametrize("metric", ["mrr", "hits@3", "mr", "pessimistic.median"])
def test_a_point_for_each_report(metric: str) -> None:
    models = {"A": tr.report(A), "few": tr.report(tr.Ranks([0, 3], [1, 1], 4))}
    ax = plot.metric_against_index(models, metric)
    head, _, last = metric.rpartition(".")
    index = f"{head}.index.{last}".lstrip(".")
    assert points(ax) == [[report[index], report[metric]] for report in models.values()]
    names = [text for text in legend(ax) if "candidates)" in text]
    assert names == ["A (12 candidates)", "few (4 candidates)"]
    for line, report in zip(ax.get_lines(), models.values(), strict=False):
        x, y = drawn(line)
        chance = report.chance(metric)[0]
        assert y == near([chance + at * (1 - chance) for at in x])  # what chance leaves open
        assert x[-1] == y[-1] == near(1)


def test_points_of_groups() -> None:
    ranks = tr.Ranks([0, 3, 1, 8, 0, 0], [1] * 6, [4, 12, 4, 300, 4, 1])
    report = tr.report(ranks, by=["a", "b", "a", "c", "a", "alone"])
    ax = plot.metric_against_index(report)
    values = report.group_values("mrr")
    index = report.group_values("index.mrr")
    assert points(ax) == [[index[name], values[name]] for name in "abc"]
    assert legend(ax) == ["1 to 9", "10 to 99", "100 to 999", "with countless candidates"]


def test_names_that_are_equal_when_shortened() -> None:
    models = {f"{'a' * 60}{i}{'b' * 60}": tr.report(ranks) for i, ranks in enumerate((A, B))}
    assert len(points(plot.metric_against_index(models))) == 2
    assert len(plot.hits_curve(models).get_lines()) == 3
    assert len(plot.values(models).get_lines()) == 2
