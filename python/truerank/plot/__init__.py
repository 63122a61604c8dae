"""Plots of reports, drawn by matplotlib: ``pip install 'truerank[plot]'``.

`rank_distribution` and `hits_curve` show where the ranks lie, `groups` a metric by relation,
`comparison` models with intervals, `metric_against_index` what the number of candidates does.

Every function draws into the axes that it is given, or into those of a new
``matplotlib.figure.Figure``, and returns them: ``hits_curve(report).figure.savefig("hits.svg")``.
No window opens and no state of pyplot is touched; to have one in a window, pass
``ax=pyplot.subplots()[1]``. Several models are a mapping of names to Reports.
"""

from __future__ import annotations

from .curves import hits_curve, rank_distribution
from .groupwise import groups
from .indices import metric_against_index
from .models import comparison

__all__ = ["comparison", "groups", "hits_curve", "metric_against_index", "rank_distribution"]
