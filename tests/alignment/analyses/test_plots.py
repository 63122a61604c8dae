"""Plots draw the results with labels and units, and change no state of matplotlib."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.alignment.analyses import plots
from truerank.alignment.analyses.buckets import by_degree
from truerank.alignment.analyses.hubs import compare_hubness, hubness
from truerank.alignment.analyses.overlaps import Overlap, overlap
from truerank.alignment.analyses.similarities import similarity_profile
from truerank.alignment.inference.dangling_entities import dangling

pytestmark = pytest.mark.python_only

matplotlib = pytest.importorskip("matplotlib")

N = 60
RNG = np.random.default_rng(0)
LEFT = 0.3 + RNG.standard_normal((N, 6))
RIGHT = LEFT + RNG.standard_normal((N, 6))
IDS = np.arange(N)
LABELS: dict[str, Any] = {"side": "left_to_right", "queries": IDS, "targets": IDS}


def model(noise: float) -> tr.Ranks:
    made = LEFT + noise * np.random.default_rng(7).standard_normal(LEFT.shape)
    return tr.rank_embeddings(LEFT, made, IDS, similarity="cosine").with_labels(**LABELS)


PROFILE = similarity_profile(LEFT, RIGHT)
HUBS = hubness(LEFT, RIGHT)
REPORT = by_degree(model(1.0), IDS % 20)
OVERLAP = overlap({"A": model(1.0), "B": model(2.0), "C": model(3.0)})
CURVE = dangling(LEFT, RIGHT[20:], np.arange(20))
MARGIN = dangling(RIGHT[20:], LEFT, range(20), by="margin", direction="right_to_left")
DRAW: dict[str, tuple[Callable[..., Any], Any]] = {
    "profile": (plots.plot_similarity_profile, PROFILE),
    "profiles": (plots.plot_similarity_profile, {"A": PROFILE, "B $x": PROFILE}),
    "one neighbour": (plots.plot_similarity_profile, similarity_profile(LEFT, RIGHT, k=1)),
    "hubs": (plots.plot_hubness, HUBS),
    "table of hubs": (plots.plot_hubness, compare_hubness(LEFT, RIGHT)),
    "degree": (plots.plot_by_degree, REPORT),
    "degrees": (plots.plot_by_degree, {"A": REPORT, "B": by_degree(model(2.0), IDS % 20)}),
    "overlap": (plots.plot_overlap, OVERLAP),
    "one model": (plots.plot_overlap, overlap({"A": [True, False]})),
    "dangling": (plots.plot_dangling, CURVE),
    "several dangling": (plots.plot_dangling, {"A": CURVE, "B $x": MARGIN}),
}


def texts(ax: Any) -> str:
    """Return all text in the plot."""
    return "\n".join(text.get_text() for text in ax.figure.findobj(matplotlib.text.Text))


@pytest.mark.parametrize("name", DRAW)
def test_a_figure_of_its_own(name: str, tmp_path: Path) -> None:
    draw, what = DRAW[name]
    ax = draw(what)
    ax.figure.savefig(tmp_path / "picture.png")
    ax.figure.savefig(tmp_path / "picture.svg")
    assert (tmp_path / "picture.png").stat().st_size > 5000
    assert ax.get_xlabel()
    assert ax.get_ylabel() or ax.get_title("left") or ax.get_yticklabels()


@pytest.mark.parametrize("name", DRAW)
def test_nothing_is_cut_off(name: str) -> None:
    """Check that everything is within the figure after its layout."""
    draw, what = DRAW[name]
    figure = draw(what).figure
    figure.draw_without_rendering()
    drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert drawn.x0 >= 0
    assert drawn.y0 >= 0
    assert drawn.x1 <= width
    assert drawn.y1 <= height


@pytest.mark.parametrize("name", DRAW)
def test_into_given_axes_alone(name: str) -> None:
    from matplotlib.figure import Figure

    draw, what = DRAW[name]
    figure = Figure()
    first, second = figure.subplots(1, 2)
    assert draw(what, ax=first) is first
    assert figure.axes == [first, second]
    assert not second.has_data()
    assert first.has_data()


def test_no_state_is_touched(run_python: Callable[..., str]) -> None:
    script = """
import numpy as np, sys
from truerank.alignment.analyses.hubs import hubness
from truerank.alignment.analyses.plots import plot_hubness
assert "matplotlib" not in sys.modules
found = hubness(np.eye(3), np.eye(3))
import matplotlib
def settings():  # to look at the backend is to choose one
    return {name: matplotlib.rcParams[name] for name in matplotlib.rcParams if name != "backend"}
before = settings()
ax = plot_hubness(found)
assert "matplotlib.pyplot" not in sys.modules
assert settings() == before
print("fine")
"""
    assert run_python(script).strip() == "fine"


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for draw, what in DRAW.values():
        with pytest.raises(
            ImportError, match=rf"^{draw.__name__} needs matplotlib: pip install 'truerank\[matpl"
        ):
            draw(what)


def test_profile_lines() -> None:
    ax = plots.plot_similarity_profile({"A": PROFILE, "B": PROFILE})
    lines = [line for line in ax.get_lines() if len(line.get_xdata()) == 5]
    assert len(lines) == 2
    np.testing.assert_array_equal(lines[0].get_ydata(), PROFILE.mean)
    assert ax.get_ylabel() == "similarity (cosine)"
    assert ax.get_title() == "left to right, 60 entities"
    scaled = similarity_profile(LEFT, RIGHT, csls=2, direction="right_to_left", queries=[0])
    ax = plots.plot_similarity_profile({"A": PROFILE, "B": scaled})
    assert ax.get_ylabel() == "similarity"
    assert ax.get_title() == "left to right and right to left"


def test_hubness_bars() -> None:
    ax = plots.plot_hubness(HUBS)
    widths = [patch.get_width() for patch in ax.patches]
    assert widths == pytest.approx([100 * share for share in HUBS.shares.values()])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["left to right, cosine"]
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["0 times", "1 time", "2 to 4 times", "5+ times"]
    assert ax.get_xlabel() == "share of candidates (%)"


def test_degree_bars() -> None:
    ax = plots.plot_by_degree(REPORT, metric="mrr")
    assert [patch.get_height() for patch in ax.patches] == list(REPORT.group_values("mrr").values())
    ticks = [label.get_text() for label in ax.get_xticklabels()]
    assert ticks == [f"{name}\n{tasks}" for name, tasks in REPORT.group_tasks().items()]
    assert ax.get_ylabel() == "mrr"
    other = by_degree(model(1.0), IDS % 9)  # other buckets
    ax = plots.plot_by_degree({"A": other, "B": REPORT})
    ticks = [label.get_text() for label in ax.get_xticklabels()]
    assert ticks == ["0", "1-5", "6-10", "11-15", "16+"]
    assert ax.get_xlabel() == "degree (relation triples)"


def test_degree_of_a_stored_report() -> None:
    stored = tr.Report.from_json(REPORT.to_json())
    assert len(plots.plot_by_degree(stored).patches) == 5


def test_overlap_bars() -> None:
    ax = plots.plot_overlap(OVERLAP, most=3)
    counts = list(OVERLAP.subsets.values())
    heights = [patch.get_height() for patch in ax.patches]
    assert heights == pytest.approx([100 * n / N for n in counts[:3]])
    assert f"{len(counts) - 3} more subsets" in ax.get_xlabel()
    assert "are not shown" not in plots.plot_overlap(OVERLAP).get_xlabel()
    assert ax.get_title("left") == "share of tasks (%)"
    assert f"A ({OVERLAP.found['A']:.1%})" in texts(ax)


def test_dangling_lines() -> None:
    ax = plots.plot_dangling(CURVE)
    precision, recall, f1, best = ax.get_lines()
    for line, values in ((precision, CURVE.precision), (recall, CURVE.recall), (f1, CURVE.f1)):
        np.testing.assert_array_equal(line.get_ydata(), values)
        np.testing.assert_array_equal(line.get_xdata(), CURVE.thresholds)
        assert line.get_drawstyle() == "steps-pre"  # who is below a threshold is told by it
    assert best.get_xdata()[0] == CURVE.best_threshold
    assert best.get_ydata()[0] == CURVE.best_f1
    assert ax.get_xlabel() == "threshold of the similarity"
    assert "left to right" in ax.get_title()


def test_dangling_curves_of_several() -> None:
    other = dangling(LEFT, LEFT[20:], np.arange(20))
    ax = plots.plot_dangling({"A": CURVE, "B": other})
    lines = [line for line in ax.get_lines() if line.get_drawstyle() == "steps-pre"]
    for line, curve in zip(lines, (CURVE, other), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), curve.thresholds)
        np.testing.assert_array_equal(line.get_ydata(), curve.f1)
    assert len({line.get_color() for line in lines}) == 2
    assert len({line.get_linestyle() for line in lines}) == 2
    dots = [line for line in ax.get_lines() if line not in lines]
    best = [(dot.get_xdata()[0], dot.get_ydata()[0]) for dot in dots]
    assert best == [(curve.best_threshold, curve.best_f1) for curve in (CURVE, other)]
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [text.split("\n")[0] for text in legend] == ["A", "B"]
    assert f"{CURVE.best_f1:.3f} below {CURVE.best_threshold:.4g}" in legend[0]
    assert ax.get_xlabel() == "threshold of the similarity"
    assert ax.get_ylabel() == "F1"
    assert ax.get_title() == '"has no counterpart", left to right'
    ax = plots.plot_dangling({"A": CURVE, "B": MARGIN})
    assert ax.get_xlabel() == "threshold"
    assert ax.get_title() == '"has no counterpart", left to right and right to left'


def test_dangling_without_finite_thresholds() -> None:
    odd = np.array([np.inf, np.nan])
    for values in (odd, odd[:0]):
        curve = SimpleNamespace(thresholds=values, precision=values, recall=values, f1=values)
        assert plots.plot_dangling(curve).get_xlabel() == "threshold"


@pytest.mark.parametrize(
    ("draw", "what", "kind", "message"),
    [
        (plots.plot_similarity_profile, {}, ValueError, "profiles: expected at least one Similar"),
        (plots.plot_similarity_profile, {"A": 1}, TypeError, "profiles: .* got int for 'A'"),
        (plots.plot_similarity_profile, 1, TypeError, "profiles: .* got int"),
        (plots.plot_hubness, PROFILE, TypeError, "found: expected Hubness, or a mapping"),
        (plots.plot_by_degree, tr.report(model(1.0)), ValueError, "reports: .* one by None for ''"),
        (plots.plot_by_degree, 1, TypeError, "reports: expected Report"),
        (plots.plot_overlap, 1, TypeError, "found: expected an Overlap, got int"),
        (plots.plot_dangling, 1, TypeError, "curve: .* got int without thresholds, precision"),
        (plots.plot_dangling, {"A": 1}, TypeError, "curve: .* precision, recall, f1 for 'A'"),
        (plots.plot_dangling, {}, ValueError, "curve: expected at least one, got none"),
        (
            plots.plot_dangling,
            SimpleNamespace(thresholds=[0], precision=[0], recall=[0], f1=[0, 1]),
            ValueError,
            "curve: expected 1-D arrays of one length",
        ),
    ],
)
def test_errors(draw: Any, what: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}"):
        draw(what)


def test_errors_of_options() -> None:
    with pytest.raises(TypeError, match=r"^ax: expected matplotlib's Axes, got int"):
        plots.plot_hubness(HUBS, ax=1)
    with pytest.raises(ValueError, match=r"^most: expected at least 1, got 0"):
        plots.plot_overlap(OVERLAP, most=0)
    with pytest.raises(KeyError):
        plots.plot_by_degree(REPORT, metric="hits")


def test_many_models_and_names() -> None:
    flags = np.random.default_rng(2).random((9, 300)) < 0.5
    found = overlap({f"a model with a rather long name {i}": row for i, row in enumerate(flags)})
    assert isinstance(found, Overlap)
    ax = plots.plot_overlap(found)
    assert len(ax.patches) == 16
    ax.figure.draw_without_rendering()
