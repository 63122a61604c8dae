"""PyKEEN's names of metrics, with the key of a report and the sign for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from pykeen.evaluation.rank_based_evaluator import RankBasedMetricKey
from pykeen.metrics import ranking
from pykeen.typing import RANK_TYPES
from pykeen.utils import camel_to_snake

from ...metrics.keys import NEGATED, NO_ADJUSTMENT, PYKEEN_NAMES, Key
from ...ranks.container import Ranks
from ...reporting import Report, report

OWN_METRICS: Mapping[type[Any], tuple[str, str, str]] = {
    made: (name, *PYKEEN_NAMES[name])
    for made in vars(ranking).values()
    if isinstance(made, type) and (name := camel_to_snake(made.__name__)) in PYKEEN_NAMES
}


def key_of(metric: Any) -> tuple[str, float] | None:
    """Return the key of a metric of PyKEEN and its sign there, or None for a foreign metric.

    PyKEEN negates z if less is better, so that more is always better.

    Examples
    --------
    >>> key_of(ranking.HitsAtK(k=3)), key_of(ranking.ZArithmeticMeanRank())
    (('hits@3', 1.0), ('z.mr', -1.0))
    """
    if type(metric) not in OWN_METRICS:
        return None
    name, adjustment, word = OWN_METRICS[type(metric)]
    of_ranks = metric if adjustment == NO_ADJUSTMENT else metric.base
    parameter = getattr(of_ranks, "k", 0)
    return str(Key(word, parameter, adjustment)), -1.0 if name in NEGATED else 1.0


def values_of(measured: Report, metrics: Iterable[Any]) -> dict[Any, float]:
    """Return the values of metrics under PyKEEN's keys, in its order.

    Parameters
    ----------
    given : Report
        The report of heads, tails, both, or relations.
    metrics : iterable of pykeen.metrics.RankBasedMetric
        Metrics that are not PyKEEN's own are called with the ranks.

    Returns
    -------
    dict of RankBasedMetricKey to float
        If PyKEEN has one name for several metrics (adjusted_hits_at_k for every k), the last one
        counts.
    """
    last = {metric.key: metric for metric in metrics}
    reports = {side: measured for side in measured.sides if side != "both"} | {
        "both": _pooled(measured)
    }
    values = {}
    for name, metric in last.items():
        known = key_of(metric)
        for kind in RANK_TYPES:
            for side, of_side in reports.items():
                if known is None:
                    value = _call_metric(metric, of_side, kind, side)
                else:
                    value = known[1] * of_side[f"{side}.{kind}.{known[0]}"]
                values[RankBasedMetricKey(side=side, rank_type=kind, metric=name)] = value
    return values


def _pooled(measured: Report) -> Report:
    """Return a report whose "both" has all tasks, as in PyKEEN; ours leaves out relations."""
    ranks = measured.ranks
    if "relation" not in measured.sides:
        return measured
    return report(Ranks(ranks.above, ranks.tied, ranks.candidates))


def by_side(ranks: Ranks) -> dict[str, Ranks]:
    """Split ranks by their side.

    Examples
    --------
    >>> from truerank import Ranks
    >>> by_side(Ranks([0, 3], [1, 1], 10, side=["tail", "tail"]))["tail"].optimistic
    array([1, 4])
    """
    sides = np.asarray([] if ranks.side is None else ranks.side.values)
    return {str(side): ranks[sides == side] for side in np.unique(sides)}


def _call_metric(metric: Any, measured: Report, kind: str, side: str) -> float:
    """Compute a metric that is not PyKEEN's own from the ranks."""
    ranks = measured.ranks if side == "both" else by_side(measured.ranks)[side]
    value = metric(ranks=getattr(ranks, kind), num_candidates=ranks.candidates, weights=None)
    return float(value)
