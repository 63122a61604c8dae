"""The summary of ranks: numbers of tasks, candidates and ties, and how much the ties matter."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..inputs.naming import public
from ..metrics.keys import ALL_SIDES
from .axes import compose_key

if TYPE_CHECKING:
    from ..metrics.keys import Sides
    from ..ranks.container import Ranks

SPREAD_METRICS = ("mr", "mrr", "hits@1", "hits@10")
RARE_COUNTS = ("differing", "mismatched")  # counts of an audit that are shown only if not 0


@public("truerank.reporting")
class Summary(NamedTuple):
    """Numbers of tasks, candidates and ties that belong beside the metrics of a report.

    Weights matter only for the spread.

    Attributes
    ----------
    tasks : int
        The number of tasks.
    sides : dict of str to int
        The number of tasks of each side; empty without labels of sides.
    candidates_min, candidates_max : int
        The range of the number of candidates; 0 without tasks.
    tied_tasks : int
        The number of tasks whose true candidate ties with another one.
    tied_share : float
        tied_tasks / tasks; nan without tasks.
    largest_tie, mean_tie : int, float
        The number of candidates in a tie, the true one included: the largest, and the mean over
        the tied tasks; 1 and nan where no task ties.
    spread : dict of str to float
        For each metric, the optimistic value minus the pessimistic one, over all sides.
    audit : dict of str to int, or None
        The results of a count with `audit=True`: the numbers of candidates that are `nan` and
        `inf` over all tasks, and the largest number of candidates with the best score of a task,
        `at_best`. If there are any, also the number of true candidates with another score in their
        block, `differing`, and of tasks whose row differs from the first row of their query,
        `mismatched`.

    Examples
    --------
    >>> import truerank as tr
    >>> tr.report(tr.Ranks([0, 3], [1, 2], 10)).summary.tied_share
    0.5
    """

    tasks: int
    sides: dict[str, int]
    candidates_min: int
    candidates_max: int
    tied_tasks: int
    tied_share: float
    largest_tie: int
    mean_tie: float
    spread: dict[str, float]
    audit: dict[str, int] | None


def summarise(ranks: Ranks, sides: Sides, values: Mapping[str, float]) -> Summary:
    """Make the summary of ranks from their sides and the values of their metrics by key.

    Examples
    --------
    >>> import truerank as tr
    >>> from truerank.metrics.keys import sides_of
    >>> ranks = tr.Ranks([0, 3], [1, 2], 10)
    >>> summarise(ranks, sides_of(ranks), tr.report(ranks)).tied_tasks
    1
    """
    n, whole = len(ranks), sides.present[0]
    ties = ranks.tied[ranks.tied > 1]
    audit = None
    if ranks.audit is not None:
        audit = {
            "nan": int(ranks.audit.nan.sum()),
            "inf": int(ranks.audit.inf.sum()),
            "at_best": int(ranks.audit.at_best.max(initial=0)),
        }
        # these are left out if 0, which may also mean that they were not counted
        rare = {name: int(getattr(ranks.audit, name).sum()) for name in RARE_COUNTS}
        audit |= {name: total for name, total in rare.items() if total}
    return Summary(
        tasks=n,
        sides={side: sides.counts[side] for side in sides.present if side != ALL_SIDES},
        candidates_min=int(ranks.candidates.min()) if n else 0,
        candidates_max=int(ranks.candidates.max()) if n else 0,
        tied_tasks=len(ties),
        tied_share=len(ties) / n if n else math.nan,
        largest_tie=int(ties.max(initial=1)),
        mean_tie=float(ties.mean()) if len(ties) else math.nan,
        spread={
            name: values[compose_key(whole, "optimistic", name)]
            - values[compose_key(whole, "pessimistic", name)]
            for name in SPREAD_METRICS
        },
        audit=audit,
    )
