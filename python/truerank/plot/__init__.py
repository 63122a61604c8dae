"""Plots of reports, drawn by matplotlib: ``pip install 'truerank[plot]'``.

`rank_distribution` and `hits_curve` show where the ranks lie, and `groups` a metric by relation.

Every function draws into the given axes, or into those of a new ``matplotlib.figure.Figure``, and
returns them: ``hits_curve(report).figure.savefig("hits.svg")``. Axes of a new figure that end a
notebook's cell are shown as a picture. No window opens and no state of pyplot changes; for a plot
in a window, pass ``ax=pyplot.subplots()[1]``. Several axes of one figure have one legend, beside
them, where each would repeat it; a figure without a layout gets the constrained one. Several models
are given as a mapping of names to Reports; where their protocols differ the legend says in what.
"""

from __future__ import annotations

from .plots import groups, hits_curve, rank_distribution

__all__ = [
    "groups",
    "hits_curve",
    "rank_distribution",
]
