"""Test all plots of reports: a new figure, nothing cut off, names of any text, clear errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.example_ranks import any_ranks
from support.examples import examples
from support.refusals import refused
from truerank.metrics.keys import RANK_KEYS

matplotlib = pytest.importorskip("matplotlib", reason="plots need matplotlib")

from matplotlib.figure import Figure  # noqa: E402

from truerank import plot  # noqa: E402
from truerank.plot.drawing import COLOURS  # noqa: E402

N = 300
LONG = "/people/person/nationality./location/country/first_level_divisions of $everything$"


def model(seed: int, candidates: int = 500, ties: bool = False) -> tr.Report:
    """A report by relation, with names that have dollars and underscores or are long."""
    rng = np.random.default_rng(seed)
    above = np.minimum(rng.geometric(0.05, N), candidates) - 1
    tied = rng.integers(1, candidates - above + 1) if ties else np.ones(N, dtype=np.int64)
    names = np.array(["_private", "a $x_1$ b", LONG, "d", "line\nbreak"])
    ranks = tr.Ranks(
        *(above, tied, candidates),
        side=np.where(np.arange(N) % 3, "tail", "head"),
        relation=names[np.random.default_rng(9).integers(0, 5, N)].tolist(),  # of all models
        queries=np.arange(N),
        targets=np.arange(N),
    )
    return tr.report(ranks, by="relation")


ONE = model(0)
TIED = model(1, ties=True)
FOUR = {"_A": ONE, "B $x$": TIED, LONG: model(2), "D": model(3)}
TINY = tr.report(tr.Ranks([2], [1], 5), by=["only"])
EMPTY = tr.report(tr.Ranks([], [], []), by=[])
ALONE = tr.report(tr.Ranks([0, 0], [1, 1], 1), by=["a", "b"])
THOUSANDS = tr.report(
    tr.Ranks(np.arange(6000) % 7, np.ones(6000, dtype=int), 50), by=np.arange(6000) % 3000
)

NAMED = {"one": ONE, "tied": TIED, "four": FOUR, "tiny": TINY, "empty": EMPTY, "alone": ALONE}
# All but that of neighbours, which draws no reports.
PLOTS = [getattr(plot, name) for name in plot.__all__ if name != "neighbours"]
Case = tuple[Callable[..., Any], Any, dict[str, Any]]
DRAW: dict[str, Case] = {
    **{f"distribution, {name}": (plot.rank_distribution, what, {}) for name, what in NAMED.items()},
    **{f"hits, {name}": (plot.hits_curve, what, {}) for name, what in NAMED.items()},
    **{f"groups, {name}": (plot.groups, NAMED[name], {}) for name in NAMED if name != "four"},
    "hits, unlike candidates": (plot.hits_curve, {"few": model(4, 20), "many": ONE}, {}),
    "groups, thousands": (plot.groups, THOUSANDS, {"most": 30, "order": "value"}),
}


def draw(name: str, **options: Any) -> Any:
    function, what, given = DRAW[name]
    return function(what, **given, **options)


def assert_nothing_is_cut_off(figure: Any) -> None:
    figure.draw_without_rendering()
    drawn = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert min(drawn.x0, drawn.y0, width - drawn.x1, height - drawn.y1) >= -0.01


@pytest.mark.sweep
@pytest.mark.parametrize("name", DRAW)
def test_nothing_is_cut_off(name: str) -> None:
    """Everything lies within a figure of its own once it is laid out; no legend covers data."""
    ax = draw(name)
    assert ax.figure.axes == [ax]
    assert ax.get_xlabel()
    assert_nothing_is_cut_off(ax.figure)
    legend = ax.get_legend()
    if legend is not None:
        assert legend.get_window_extent().y0 >= ax.get_window_extent().y1


@pytest.mark.parametrize("function", PLOTS)
def test_only_the_given_axes_are_drawn_into(function: Any) -> None:
    figure = Figure()
    first, second = figure.subplots(1, 2)
    assert function(ONE, ax=first) is first
    assert figure.axes == [first, second]
    assert not second.has_data()


def test_a_notebook_shows_a_picture() -> None:
    ax = plot.hits_curve(FOUR)
    picture = ax._repr_png_()
    assert picture.startswith(b"\x89PNG\r\n")
    size = [int.from_bytes(picture[at : at + 4]) for at in (16, 20)]
    assert size == (ax.figure.get_size_inches() * ax.figure.dpi).astype(int).tolist()


@pytest.mark.parametrize("shape", [(1, 2), (2, 1)])
def test_one_legend_stands_beside_two_axes(shape: tuple[int, int]) -> None:
    """It covers no data, and nothing is cut off, though the figure came without a layout."""
    figure = Figure(figsize=(10, 6))
    first, second = figure.subplots(*shape)
    named = {"A": ONE, "B $x$": TIED}
    plot.rank_distribution(named, ax=first)
    plot.hits_curve(named, ax=second)
    assert_nothing_is_cut_off(figure)
    assert first.get_legend() is None
    box = second.get_legend().get_window_extent()
    assert box.x0 >= max(ax.get_window_extent().x1 for ax in (first, second))


def test_unlike_legends_stand_above_their_axes() -> None:
    """So do those of rows, whose cells are on the right."""
    first, second = Figure(figsize=(12, 8), layout="constrained").subplots(1, 2)
    plot.groups(ONE, ax=first)
    plot.hits_curve(FOUR, ax=second)
    first.figure.draw_without_rendering()
    for ax in (first, second):
        assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1


@pytest.mark.parametrize("name", ["distribution, four", "groups, one"])
def test_names_are_written_as_they_are(name: str) -> None:
    """Names keep underscores and dollars, are on one line, and are shortened if they are long."""
    texts = draw(name).figure.findobj(matplotlib.text.Text)
    written = "\n".join(text.get_text() for text in texts)
    assert "_private" in written or "_A" in written
    assert r"\$x" in written  # which matplotlib shows as a dollar
    assert "\u2026" in written
    assert LONG not in written


def test_no_state_is_touched(run_python: Callable[..., str]) -> None:
    run_python("""
import sys
import truerank as tr
from truerank import plot
assert "matplotlib" not in sys.modules
import matplotlib
def settings():  # to look at the backend is to choose one
    return {name: matplotlib.rcParams[name] for name in matplotlib.rcParams if name != "backend"}
before = settings()
measured = tr.report(tr.Ranks([0, 3, 1], [1, 2, 1], 10), by=["a", "b", "b"])
for draw in (plot.groups, plot.hits_curve, plot.rank_distribution):
    draw(measured)
assert "matplotlib.pyplot" not in sys.modules
assert settings() == before
""")


REFUSALS: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: plot.hits_curve(ONE, kind="middle"), ValueError, "kind"),
    (lambda: plot.hits_curve(ONE.ranks), TypeError, "reports"),
    (lambda: plot.rank_distribution(ONE, side="left"), KeyError, "'left'"),
    (lambda: plot.groups(tr.report(ONE.ranks)), ValueError, "report"),
    (lambda: plot.groups(ONE, most=0), ValueError, "most"),
    (lambda: plot.groups(ONE, order="name"), ValueError, "order"),
]
REFUSALS += [(partial(function, ONE, ax=Figure()), TypeError, "ax") for function in PLOTS]


@pytest.mark.parametrize(("call", "error", "argument"), REFUSALS)
def test_refusals(call: Callable[[], object], error: type[Exception], argument: str) -> None:
    refused(error, argument, call)


# -- the numbers, against slow counts, reports and their intervals ---------------------------------

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
    result: dict[int, tuple[float, float]] = {}
    for start, end in itertools.pairwise(np.unique(vertices[:, 0]).tolist()):
        middle = (start + end) / 2
        edges = [float(one[1]) for one, two in level if (one[0] < middle) != (two[0] < middle)]
        result[int(start)] = min(edges), max(edges)
    return result


# -- hits@k ----------------------------------------------------------------------------------------


@examples(8)
@given(any_ranks(), st.sampled_from(KINDS))
def test_hits_curve(ranks: tr.Ranks, kind: str) -> None:
    """Each point is the report's hits@k, and chance is its expectation in the report."""
    report = tr.report(ranks)
    side = report.sides[0]
    ax = plot.hits_curve(report, kind=kind)
    line, chance = ax.get_lines()
    cutoffs, values = drawn(line)
    keys = [RANK_KEYS.compose(side, kind, f"hits@{k}") for k in cutoffs[::7]]
    assert values[::7] == near([report[key] for key in keys])
    assert drawn(chance)[1][::7] == near([report.chance(key)[0] for key in keys])
    most = int(report.model.sample(side, kind).candidates.max(initial=2))
    assert cutoffs[0] == 1
    assert cutoffs[-1] == max(most, 2)
    assert set(range(1, min(most, 20) + 1)) <= set(cutoffs)
    ends_by_k = band(ax) if ax.collections else {}
    for k, ends in list(ends_by_k.items())[::7]:
        kinds = ("pessimistic", "optimistic")
        assert list(ends) == near(
            [report[RANK_KEYS.compose(side, end, f"hits@{k}")] for end in kinds]
        )


def test_lines_and_legends_of_several_models() -> None:
    assert list(band(plot.hits_curve(tr.report(A)))) == list(range(1, 12))
    assert not plot.hits_curve(tr.report(A), band=False).collections
    assert not plot.hits_curve(tr.report(A[2:4])).collections  # Nothing ties.
    other = tr.report(tr.Ranks([0, 3], [1, 1], 4))
    alike = plot.hits_curve({"A": tr.report(A), "B": tr.report(B)})
    apart = plot.hits_curve({"A": tr.report(A), "B": other})
    assert [len(ax.get_lines()) for ax in (alike, apart)] == [3, 4]
    assert len(plot.hits_curve({"A": tr.report(A), "B": other}, chance=False).get_lines()) == 2
    assert legend(alike) == ["A", "B", "from optimistic to pessimistic", "chance"]
    assert legend(apart)[-1] == "chance, in the colour of each"
    assert legend(apart)[:2] == ["A (6 tasks)", "B (2 tasks)"]
    assert alike.get_legend().get_title().get_text() == "6 tasks, 12 candidates"
    unlike = tr.report(A.with_protocol(filter=("train",), nan="omit"))
    title = plot.hits_curve({"A": tr.report(A), "B": unlike}).get_legend().get_title().get_text()
    assert title.endswith("unlike protocols: filter, nan")
    # Names that are equal when they are shortened are two models.
    models = {f"{'a' * 60}{i}{'b' * 60}": tr.report(ranks) for i, ranks in enumerate((A, B))}
    assert len(plot.rank_distribution(models).get_lines()) == 3
    outlines = plot.rank_distribution(FOUR).get_lines()
    assert len({line.get_marker() for line in outlines[:4]}) == 4
    assert plot.rank_distribution(ONE).get_lines()[0].get_marker() == "None"


@pytest.mark.parametrize("function", [plot.hits_curve, plot.rank_distribution])
def test_of_many_models_the_first_have_colours(function: Callable[..., Any]) -> None:
    """The others are grey, and share a line of the legend, as nobody can tell them apart."""
    models = {f"model {i}": model(i) for i in range(12)}
    ax = function(models)
    *lines, _ = ax.get_lines()
    colours = [line.get_color() for line in lines]
    grey = COLOURS[-1]
    assert colours == [*COLOURS[:-1], *[grey] * 6]
    assert len(set(colours)) <= 8
    assert legend(ax) == [*list(models)[:6], "6 others", "chance"]
    handles = ax.get_legend().legend_handles
    assert [handle.get_color() for handle in handles] == [*COLOURS, "black"]
    looks = {(line.get_linestyle(), line.get_marker()) for line in lines[6:]}
    assert looks == {("-", "None")}
    assert_nothing_is_cut_off(ax.figure)
    one_more = dict(list(models.items())[:7])
    assert legend(function(one_more)) == [*one_more, "chance"]


def test_the_last_interval_is_as_wide_as_its_step() -> None:
    report = tr.report(tr.Ranks([0, 6, 7, 7], [1] * 4, 8))  # ranks 1, 7, 8 and 8 of 8
    for line in plot.rank_distribution(report).get_lines():
        assert line.get_xdata().tolist() == [1, 2, 4, 8, 9]
        assert line.get_ydata()[-1] == line.get_ydata()[-2]
    assert plot.rank_distribution(report).get_lines()[0].get_ydata().tolist()[-2:] == [0.5, 0.5]


def legend(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_lists_without_candidates_have_no_chance() -> None:
    lists = {0: [2, 1], 1: [2, 5]}
    for candidates in (None, "all"):
        task = tr.retrieval.Task({0: [1], 1: [2]}, entities=9, candidates=candidates)
        words = legend(plot.hits_curve(task.evaluate_lists(lists)))
        assert ("chance" in words) == (candidates == "all")


# -- the distribution ------------------------------------------------------------------------------


def slow_shares(report: tr.Report, kind: str, start: int, end: int) -> list[float]:
    """Share, least, greatest and chance of the ranks from start to end, task by task."""
    kinds = (kind, "optimistic", "pessimistic")
    drawn_, best, worst = (report.model.sample(report.sides[0], kind) for kind in kinds)
    weights = np.ones(len(best.ranks)) if best.weights is None else best.weights
    terms: list[list[float]] = [[], [], [], []]
    for i, weight in enumerate(weights.tolist()):
        size = int(drawn_.candidates[i])
        low = int(best.ranks[i])
        high = int(worst.ranks[i])
        if kind == "expected":
            inside = max(0, min(high, end - 1) - max(low, start) + 1) / (high - low + 1)
        else:
            inside = start <= math.ceil(drawn_.ranks[i]) < end
        terms[0].append(weight * inside)
        terms[1].append(weight * (start <= low and high < end))
        terms[2].append(weight * (low < end and high >= start))
        terms[3].append(weight * max(0, min(size, end - 1) - start + 1) / size)
    total = math.fsum(weights)
    return [math.fsum(each) / total if total else math.nan for each in terms]


@examples(15)
@given(any_ranks(), st.sampled_from(KINDS))
def test_rank_distribution(ranks: tr.Ranks, kind: str) -> None:
    report = tr.report(ranks)
    ax = plot.rank_distribution(report, kind=kind)
    line, chance = ax.get_lines()
    edges, values = drawn(line)
    shares = [slow_shares(report, kind, *ends) for ends in itertools.pairwise(edges)]
    share, least, greatest, expected = map(list, zip(*shares, strict=True))
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


def test_bars_are_the_values_of_the_groups() -> None:
    report = tr.report(A, by=GROUPS)
    ax = plot.groups(report, "mr", level=0.9)
    assert names(ax) == ["x", "y", "z"]
    assert [bar.get_width() for bar in ax.patches] == list(report.group_values("mr").values())
    assert [text.get_text() for text in ax.texts] == ["3", "2", "1", "tasks"]
    intervals = [report.groups[name].interval("mr", level=0.9) for name in "xy"]
    ends = [(interval.low, interval.high) for interval in intervals]
    assert whiskers(*ax.collections) == ends  # a single task has none
    assert [line.get_xdata()[0] for line in ax.get_lines()] == [report["mr"], report["macro.mr"]]
    assert ax.get_xlabel() == "MR"
    assert ax.get_legend().get_title().get_text() == "3 groups by label"
    report = tr.report(A, by=[f"{name} {LONG}" for name in GROUPS])
    with matplotlib.rc_context({"figure.figsize": (5, 3), "font.size": 11}):
        ax = plot.groups(report, "mrr")
        ax.figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().x1 <= ax.figure.bbox.x1


def test_best_groups_first() -> None:
    report = tr.report(A, by=GROUPS)
    for metric, sign in (("mr", 1), ("hits@4", -1)):
        values = report.group_values(metric)
        best = sorted(values, key=lambda name: sign * values[name])
        assert names(plot.groups(report, metric, order="value")) == best
    ax = plot.groups(report, "mrr", order="value", most=1, interval=False)
    assert (names(ax), len(ax.collections)) == (["x"], 0)
    assert ax.get_legend().get_title().get_text() == "1 of 3 groups by label"


def test_groups_without_a_value_come_last_and_those_without_tasks_go() -> None:
    report = tr.report(tr.Ranks([0, 4, 2], [1, 1, 1], [1, 5, 5]), by=["none", "worst", "middle"])
    ax = plot.groups(report, "amri", order="value")
    assert names(ax) == ["middle", "worst", "none"]
    assert " no value" in [text.get_text() for text in ax.texts]
    report = tr.report(A.with_labels(side=["head"] * 3 + ["tail"] * 3), by=GROUPS)
    assert names(plot.groups(report, "head.mr")) == ["x", "y"]
    assert len(plot.groups(report, "zmrr", interval=False).get_lines()) == 1  # no macro average


def test_several_runs_of_a_model_are_their_mean() -> None:
    runs = [model(seed, ties=True) for seed in range(3)]
    for draw in (plot.hits_curve, plot.rank_distribution):
        lines = [draw({"A": each}).get_lines()[0].get_ydata() for each in (*runs, runs)]
        assert lines[-1] == pytest.approx(np.mean(lines[:-1], axis=0))
        labels = [text.get_text() for text in draw({"A": runs, "B": runs[0]}).get_legend().texts]
        assert labels[0] == "A (300 tasks in each of 3 runs)"
        refused(ValueError, "reports", draw, {"A": []})
        refused(TypeError, "reports", draw, {"A": [runs[0], 3]})


def test_labels_of_many_ranks_do_not_overlap() -> None:
    """In two panels, as the page has them, 16,384 stood over 32,768."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    ranks = tr.Ranks(np.arange(400) * 100, np.ones(400, int), 40_943)
    figure, panels = pyplot.subplots(1, 2, figsize=(10, 4))
    plot.rank_distribution(tr.report(ranks), ax=panels[0])
    plot.hits_curve(tr.report(ranks), ax=panels[1])
    figure.canvas.draw()
    for panel in panels:
        boxes = [label.get_window_extent() for label in panel.get_xticklabels()]
        assert len(boxes) > 3
        assert all(one.x1 < two.x0 for one, two in itertools.pairwise(boxes))
    pyplot.close(figure)


def test_neighbours_are_three_shares_of_each_model() -> None:
    rng = np.random.default_rng(0)
    models = {
        name: tr.alignment.neighbours(rng.normal(size=(9, 2)), rng.normal(size=(8, 2)), k=1)
        for name in ("A", LONG)
    }
    for side, entities in (("left_to_right", 8), ("right_to_left", 9)):
        ax = plot.neighbours(models, side)
        widths = [float(bar.get_width()) for bar in ax.patches]
        cells = itertools.product(("none", "one", "more"), models.values())
        shares = [model.shares[side][times] for times, model in cells]
        np.testing.assert_allclose(widths, shares)
        ends = [bar.get_x() + bar.get_width() for bar in ax.patches[-2:]]
        np.testing.assert_allclose(ends, 1)
        assert all((share * entities).is_integer() for share in shares)
    refused(TypeError, "models", plot.neighbours, {"A": ONE})
    refused(TypeError, "models", plot.neighbours, {})
    refused(ValueError, "side", plot.neighbours, models, "left")


@pytest.mark.parametrize("function", [plot.hits_curve, plot.rank_distribution])
def test_hits_of_an_index_have_no_places(function: Any, tmp_path: Any) -> None:
    """They were drawn as a flat line to the number of entities; the page has no picture of them."""
    vectors = np.arange(40.0)[:, None]
    top = tr.topk_embeddings(vectors[:9], vectors, 5, similarity="l2")
    recall = tr.evaluate_topk(vectors[:9], vectors, top, top, similarity="l2")
    for reports in (recall, {"a": recall}):
        refused(ValueError, "reports", function, reports)
    tr.page.save(tmp_path / "page.html", recall)
    assert "<svg" not in (tmp_path / "page.html").read_text(encoding="utf-8")
