"""Test all plots of reports: a new figure, nothing cut off, names of any text, clear errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal

matplotlib = pytest.importorskip("matplotlib", reason="plots need matplotlib")

from matplotlib.figure import Figure  # noqa: E402

from truerank import plot  # noqa: E402

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
        relation=names[rng.integers(0, 5, N)].tolist(),
        queries=np.arange(N),
        targets=np.arange(N),
    )
    return tr.report(ranks, by="relation")


ONE, TIED = model(0), model(1, ties=True)
FOUR = {"_A": ONE, "B $x$": TIED, LONG: model(2), "D": model(3)}
SETS = {"few": model(4, 20), "many": ONE, "many, stored": tr.Report.from_json(ONE.to_json())}
TINY = tr.report(tr.Ranks([2], [1], 5), by=["only"])
EMPTY = tr.report(tr.Ranks([], [], []), by=[])
ALONE = tr.report(tr.Ranks([0, 0], [1, 1], 1), by=["a", "b"])
THOUSANDS = tr.report(
    tr.Ranks(np.arange(6000) % 7, np.ones(6000, dtype=int), 50), by=np.arange(6000) % 3000
)
STORED = tr.Report.from_json(ONE.to_json(["mrr", "amri", "mr", "index.mrr"]))

NAMED = {"one": ONE, "tied": TIED, "four": FOUR, "tiny": TINY, "empty": EMPTY, "alone": ALONE}

Case = tuple[Callable[..., Any], Any, dict[str, Any]]
DRAW: dict[str, Case] = {
    **{f"distribution, {name}": (plot.rank_distribution, what, {}) for name, what in NAMED.items()},
    **{f"hits, {name}": (plot.hits_curve, what, {}) for name, what in NAMED.items()},
    **{f"values, {name}": (plot.values, what, {}) for name, what in NAMED.items()},
    **{f"index, {name}": (plot.metric_against_index, what, {}) for name, what in NAMED.items()},
    **{f"groups, {name}": (plot.groups, NAMED[name], {}) for name in NAMED if name != "four"},
    "hits, unlike candidates": (plot.hits_curve, {"few": SETS["few"], "many": ONE}, {}),
    "groups, thousands": (plot.groups, THOUSANDS, {"most": 30, "order": "value"}),
    "groups, no index": (plot.groups, ALONE, {"metric": "amri"}),
    "groups, stored": (plot.groups, STORED, {"metric": "mr"}),
    "comparison, against": (plot.comparison, FOUR, {"against": "_A"}),
    "comparison, four": (plot.comparison, FOUR, {"metric": "mr"}),
    "values, stored": (plot.values, {"one": ONE, "stored": STORED}, {"metrics": ["mrr", "amri"]}),
    "index, sets": (plot.metric_against_index, SETS, {}),
    "index, mean rank": (plot.metric_against_index, SETS, {"metric": "tail.mr"}),
    "index, thousands": (plot.metric_against_index, THOUSANDS, {"metric": "hits@3"}),
}
EACH = pytest.mark.parametrize("name", DRAW)
FIRST = {function.__name__: name for name, (function, *_) in reversed(DRAW.items())}
ONCE = pytest.mark.parametrize("name", FIRST.values())


def draw(name: str, **options: Any) -> Any:
    function, what, given = DRAW[name]
    return function(what, **given, **options)


@EACH
def test_nothing_is_cut_off(name: str) -> None:
    """Everything lies within a figure of its own once it is laid out; no legend covers data."""
    ax = draw(name)
    figure = ax.figure
    assert figure.axes == [ax]
    assert ax.get_xlabel()
    figure.draw_without_rendering()
    drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert min(drawn.x0, drawn.y0, width - drawn.x1, height - drawn.y1) >= -0.01
    if (legend := ax.get_legend()) is not None:
        assert legend.get_window_extent().y0 >= ax.get_window_extent().y1


@ONCE
def test_a_notebook_shows_a_picture(name: str, tmp_path: Path) -> None:
    ax = draw(name)
    picture = ax._repr_png_()
    assert picture.startswith(b"\x89PNG\r\n")
    width, height = ax.figure.get_size_inches() * ax.figure.dpi
    assert int.from_bytes(picture[16:20]) == int(width)
    assert int.from_bytes(picture[20:24]) == int(height)
    ax.figure.savefig(tmp_path / "picture.svg")


def test_all_plots_are_tested() -> None:
    assert {*FIRST} == {*plot.__all__}


@ONCE
def test_what_is_no_axes_is_refused(name: str) -> None:
    from matplotlib import pyplot

    figure = Figure()
    wrong = {"module": pyplot, "Figure": figure, "ndarray": figure.subplots(1, 2), "str": "left"}
    for kind, ax in wrong.items():
        refusal(TypeError, f"^ax: expected matplotlib's Axes, got {kind}$", draw, name, ax=ax)


def test_a_metric_of_torchmetrics_refuses_them_too() -> None:
    pytest.importorskip("torchmetrics", reason="its metrics are drawn")
    from truerank.adapters.torchmetrics import TrueRankMetric

    metric = TrueRankMetric("mrr")
    refusal(TypeError, "^ax: expected matplotlib's Axes, got str$", metric.plot, 0.5, ax="left")


@EACH
def test_only_the_given_axes_are_drawn_into(name: str) -> None:
    figure = Figure()
    first, second = figure.subplots(1, 2)
    assert draw(name, ax=first) is first
    assert figure.axes == [first, second]
    assert not second.has_data()


@pytest.mark.parametrize(
    "name",
    [f"{kind}, four" for kind in ("distribution", "hits", "values", "comparison", "index")]
    + ["groups, one"],
)
def test_names_are_written_as_they_are(name: str) -> None:
    """Names keep underscores and dollars, are on one line, and are shortened if they are long."""
    texts = draw(name).figure.findobj(matplotlib.text.Text)
    written = "\n".join(text.get_text() for text in texts)
    assert "_private" in written or "_A" in written
    assert r"\$x" in written  # which matplotlib shows as a dollar
    assert "\u2026" in written
    assert LONG not in written


def test_no_state_is_touched(run_python: Callable[..., str]) -> None:
    script = """
import sys
import truerank as tr
from truerank import plot
assert "matplotlib" not in sys.modules
import matplotlib
def settings():  # to look at the backend is to choose one
    return {name: matplotlib.rcParams[name] for name in matplotlib.rcParams if name != "backend"}
before = settings()
measured = tr.report(tr.Ranks([0, 3, 1], [1, 2, 1], 10), by=["a", "b", "b"])
for draw in map(plot.__dict__.get, plot.__all__):
    draw(*([measured.ranks] * 2 if draw is plot.comparison else [measured]))
assert "matplotlib.pyplot" not in sys.modules
assert settings() == before
print("fine")
"""
    assert run_python(script).strip() == "fine"


SEVERAL = [plot.rank_distribution, plot.hits_curve, plot.values, plot.metric_against_index]
UNLIKE = {"A": ONE, "B": tr.report(ONE.ranks.with_protocol(sampled=True))}
JSON = "^B: this report was read from JSON"
WRONG: list[tuple[Callable[..., Any], Any, dict[str, Any], str]] = [
    *((f, ONE.ranks, {}, "^reports: expected Report, or a mapping.*got Ranks") for f in SEVERAL),
    *((f, {}, {}, "^reports: expected at least one Report, got none") for f in SEVERAL),
    *((f, {"A": ONE, "B": STORED}, {}, "^this report was read from JSON") for f in SEVERAL[:2]),
    (plot.hits_curve, ONE, {"kind": "middle"}, "^kind: expected one of .*, got 'middle'"),
    (plot.rank_distribution, ONE, {"side": "left"}, "no side 'left'"),
    (plot.groups, ONE.ranks, {}, "^report: expected a Report, got Ranks"),
    (plot.groups, tr.report(ONE.ranks), {}, "^report: expected one with groups"),
    (plot.groups, ONE, {"most": 0}, "^most: expected an integer >= 1, got 0"),
    (plot.groups, ONE, {"order": "name"}, "^order: expected one of tasks, value"),
    (plot.groups, ONE, {"metric": "macro.mrr"}, "a macro average is not of one group"),
    (plot.groups, STORED, {"metric": "hits@7"}, "not among the"),
    (plot.comparison, FOUR, {"against": "C"}, "^against: expected one of _A, .*got 'C'"),
    (plot.comparison, {"A": ONE}, {"against": "A"}, "^a: expected others than 'A' to compare"),
    (plot.comparison, {"A": ONE, "B": STORED}, {"against": "A"}, JSON),
    (plot.comparison, FOUR, {"level": 0}, "^level: expected a number between 0 and 1"),
    (plot.comparison, UNLIKE, {}, "^B: cannot be compared with A: protocol: sampled"),
    (plot.metric_against_index, ONE, {"metric": "amri"}, "^metric: expected one without adj"),
    (plot.metric_against_index, ONE, {"metric": "macro.mrr"}, "^metric: expected one without adj"),
    (plot.metric_against_index, ONE, {"metric": "mad"}, "mad has no chance model"),
    (plot.metric_against_index, STORED, {"metric": "hits@1"}, "not among the"),
]


@pytest.mark.parametrize(("function", "what", "options", "said"), WRONG)
def test_what_cannot_be_drawn(
    function: Callable[..., Any], what: Any, options: dict[str, Any], said: str
) -> None:
    refusal((ValueError, TypeError, KeyError, AttributeError), said, function, what, **options)


def test_unlike_models_are_compared_where_that_is_allowed() -> None:
    assert plot.comparison(UNLIKE, allow_unlike=True).get_xlabel()
