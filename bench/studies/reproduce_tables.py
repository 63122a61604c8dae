"""Printed tables of toolkits: do their metrics fit together?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from reproduce_figures import BOUNDED, Figure, Range, Reason, read_printed, read_table
from scipy.optimize import linprog

from truerank.metrics.published import data_sets

METRICS = {"mr": "MR", "mrr": "MRR", **{f"hits@{k}": f"Hits@{k}" for k in (1, 3, 5, 10, 50)}}
SOLVER = 1e-6  # relative
LINES = 60  # below the curve 1 / rank: between whole numbers up to this, then ever farther apart


class Bin:
    """Ranks from one number to another, the last of them possibly unknown."""

    def __init__(self, first: int, last: int | None) -> None:
        self.first, self.last = first, last
        end = last or 10**7
        far = np.unique(np.geomspace(LINES, 10**7, 200).astype(int))
        at = np.array([*range(1, LINES), *far])
        self.lines = at[(at >= first) & (at < end)]


def mrr_bounds(
    hits: Mapping[int, Range], mean_rank: Range | None, candidates: int | None
) -> Range | None:
    """Bound MRR, given hits@k, the mean rank and the number of candidates.

    Of whole ranks: in each bin between two k's with p of the tasks, s the sum of their ranks and t
    that of the reciprocal ones, the points (p, s, t) that some ranks have fill a cone, between the
    chord of 1 / r over the bin and its lines through neighbouring ranks. Two linear programs find
    the least and the greatest sum of all t. None: the figures given contradict each other.
    """
    edges = [0, *sorted(hits), candidates]
    bins = [
        Bin(low + 1, high)
        for low, high in itertools.pairwise(edges)
        if low is not None and (high is None or high > low)
    ]
    rows: list[NDArray[np.float64]] = []
    limits: list[float] = []

    def at_most(limit: float, **columns: tuple[int, float]) -> None:
        row = np.zeros(3 * len(bins))
        for column, (index, weight) in columns.items():
            row["pst".index(column) + 3 * index] = weight
        rows.append(row)
        limits.append(limit)

    for i, ranks in enumerate(bins):
        first, last = ranks.first, ranks.last
        at_most(0, p=(i, first), s=(i, -1))
        if last is None:
            at_most(0, p=(i, -1 / first), t=(i, 1))
        else:
            at_most(0, p=(i, -last), s=(i, 1))
            at_most(0, p=(i, -1 / first - 1 / last), s=(i, 1 / (first * last)), t=(i, 1))
        for line in ranks.lines.tolist():
            slope = 1 / (line * (line + 1))
            at_most(0, p=(i, 1 / line + 1 / (line + 1)), s=(i, -slope), t=(i, -1))
        if len(ranks.lines) == 0:  # of one rank
            at_most(0, p=(i, 1 / first), t=(i, -1))
    for k, share in hits.items():
        below = [
            3 * i for i, ranks in enumerate(bins) if ranks.last is not None and ranks.last <= k
        ]
        _limit(rows, limits, below, share, 3 * len(bins))
    if mean_rank is not None:
        _limit(rows, limits, [3 * i + 1 for i in range(len(bins))], mean_rank, 3 * len(bins))
    total = np.zeros((1, 3 * len(bins)))
    total[0, ::3] = 1
    cost = np.zeros(3 * len(bins))
    cost[2::3] = 1
    ends = []
    for sign in (1, -1):
        found = linprog(sign * cost, np.array(rows), limits, total, [1], method="highs")
        if not found.success:
            return None
        ends.append(sign * float(found.fun))
    return Range(*ends)


def _limit(
    rows: list[NDArray[np.float64]],
    limits: list[float],
    columns: list[int],
    values: Range,
    width: int,
) -> None:
    """Keep the sum of some columns within a range."""
    row = np.zeros(width)
    row[columns] = 1
    rows += [row, -row]
    limits += [values.high, -values.low]


def bounded_mrr(
    figure: Figure, row: Mapping[str, str], names: Mapping[str, str], candidates: int | None
) -> Figure:
    """Return the figure of an MRR with the bounds that the rest of its row sets."""
    hits = {
        int(key.partition("@")[2]): read_printed(row[name])
        for key, name in names.items()
        if key.startswith("hits@")
    }
    mean_rank = read_printed(row[names["mr"]]) if "mr" in names else None
    bounds = mrr_bounds(hits, mean_rank, candidates)
    found = figure._replace(
        check=BOUNDED, needs="print", ours=bounds or Range(math.nan, math.nan), precision=SOLVER
    )
    if bounds is not None and found.fits(bounds):
        return found
    without = mrr_bounds(hits, None, candidates)
    if without is None:
        why = "hits@k contradict each other"
    elif bounds is None:
        why = "MR and hits@k contradict each other"
    elif not found.fits(without):
        least = found.published.high < hits[min(hits)].low
        why = "less than hits@1, which no ranks have" if least else "no ranks have these hits@k"
    else:
        why = "no ranks have these hits@k and this MR"
    return found._replace(reasons=(Reason(why),))


def toolkits(_: Path) -> Iterator[Figure]:
    """MRR of every published run, between the bounds of its other metrics."""
    for row in read_table("reproduce_toolkits.tsv"):
        names = {name: name for name in METRICS if row.get(name)}
        entry = data_sets().get(row["dataset"])
        for name in names:
            figure = Figure(row["source"], row["table"], row["model"], METRICS[name], row[name])
            if name == "mrr":
                figure = bounded_mrr(figure, row, names, entry["entities"] if entry else None)
            yield figure
