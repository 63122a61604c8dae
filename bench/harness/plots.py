"""Plots of a run's charts: rate against size, with the read pass as the roofline."""

from __future__ import annotations

import re
from pathlib import Path

from harness.table import Chart, Results

__all__ = ["draw"]

SUFFIXES = ("svg", "png")
COLOURS = ("#1b6ca8", "#d1495b", "#66a182", "#8d6a9f", "#edae49", "#555555")


def draw(results: Results, directory: Path) -> list[Path]:
    """Draw every chart into the directory, in each format; add a remark without matplotlib."""
    if not results.charts:
        return []
    try:
        import matplotlib as mpl
    except ImportError:
        results.add_remark("matplotlib is not installed: no plots")
        return []
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    with mpl.rc_context({"svg.hashsalt": "truerank", "font.size": 9}):
        for title, chart in results.charts.items():
            paths += _draw_chart(title, chart, directory)
    return paths


def _draw_chart(title: str, chart: Chart, directory: Path) -> list[Path]:
    """Draw one chart: the first line, the upper bound of all others, is thick and filled."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    axes = figure.add_subplot()
    names = list(chart.lines)
    roofline = names[0]
    lines = names[1:]
    x, y = zip(*sorted(chart.lines[roofline]), strict=True)
    axes.fill_between(x, y, color="#dddddd", alpha=0.5, linewidth=0)
    axes.plot(x, y, color="black", linewidth=2.2, label=roofline)
    for k, name in enumerate(lines):
        x, y = zip(*sorted(chart.lines[name]), strict=True)
        axes.plot(x, y, "o-", color=COLOURS[k % len(COLOURS)], markersize=3, label=name)
    axes.set(xscale="log", yscale="log", xlabel=chart.x, ylabel=chart.y, title=title)
    axes.grid(True, which="major", linewidth=0.4)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    name = re.sub(r"\W+", "-", title.lower()).strip("-")
    paths = [directory / f"bench-{name}.{suffix}" for suffix in SUFFIXES]
    for path in paths:
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, dpi=150, metadata=metadata)
    return paths
