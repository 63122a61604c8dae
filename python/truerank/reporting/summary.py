"""Facts about ranks that belong beside every metric: how many tasks and ties, what they do."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..inputs.naming import public
from ..metrics.keys import ALL_SIDES
from .axes import compose_key

if TYPE_CHECKING:
    from ..metrics.sides import Sides
    from ..ranks.container import Ranks

SPREAD_METRICS = ("mr", "mrr", "hits@1", "hits@10")
RARE_COUNTS = ("differing", "mismatched")  # told of an audit where they are not 0


@public("truerank.reporting")
class Summary(NamedTuple):
    """Facts about the ranks of a report that belong beside its metrics.

    Weights enter into the spread alone.

    Attributes
    ----------
    tasks : int
        The number of tasks.
    sides : dict of str to int
        The number of tasks by side; empty without labels of sides.
    candidates_min, candidates_max : int
        The range of the number of candidates; 0 without tasks.
    tied_tasks : int
        Tasks whose true candidate ties with another one.
    tied_share : float
        tied_tasks / tasks; nan without tasks.
    largest_tie, mean_tie : int, float
        Candidates in a tie, the true one included, at most and on average over the tied
        tasks; 1 and nan where no task ties.
    spread : dict of str to float
        By metric, the optimistic value minus the pessimistic one, over all sides.
    audit : dict of str to int, or None
        Of a count with `audit=True`: candidates that are `nan` and `inf` over all tasks, and the
        largest number of candidates at a task's best score, `at_best`; where there are any, blocks
        with another score of the true candidate, `differing`, and tasks whose row is not the first
        one of their query, `mismatched`.

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
    """Gather the facts of ranks, with the values of their metrics by key.

    Examples
    --------
    >>> import truerank as tr
    >>> from truerank.metrics.sides import sides_of
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
        # 0 may mean that nobody looked, which is no news
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
