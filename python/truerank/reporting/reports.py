"""The report of ranks: every metric by its key, pooled, by side, by group, and over groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import reporting
from ..errors import UnknownKeyError
from ..inputs.checks import integer
from ..metrics.keys import ALL_SIDES, parse
from ..metrics.kinds import DEFAULT_KIND
from ..naming import printable, public
from ..ranks.grouping import weighted_ranks
from ..tables.cells import format_count
from .base_report import BaseReport
from .columns import SHORT_METRICS, compose_key
from .summaries import RANK_REPORTS, Counted, Summary

if TYPE_CHECKING:
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike
    from .audit import Graded
    from .summaries import Weights


@public("truerank")
class Report(BaseReport):
    """The metrics of ranks, computed when they are asked for.

    `report[key]` reads any key `[macro.][side.][kind.][adjustment.]metric[@k][:p]`. As a mapping it
    iterates over the default keys: the usual metrics of every side that has tasks, of realistic
    ranks and, where tasks tie, of optimistic and pessimistic ones; with `by`, also their means over
    groups.

    Without a side, and for "both", all tasks are pooled except those of the side "relation", which
    ranks few candidates: they are read only by the name of their side. Without tasks a metric is
    nan.

    With `by`, `report.groups[label]` is the Report of the tasks of a group, adjusted with their own
    numbers of candidates, and "macro.X" is the mean of X over the groups. Groups without tasks of
    the side, or whose X is nan, are left out of the mean; `macro_left_out` counts them.

    Parameters
    ----------
    ranks : Ranks or Report
    seed : int
        The seed of the kind "random". All tasks are drawn at once, so that sides and groups agree
        with the whole.
    by : str or labels, optional
        The group of each task: the name of a label ("relation", "side", "query", "target", or any
        that `ranks.labels` has), or labels in any form, one for each task.
    weights : array_like of float, shape (n,), or {"query", "relation", "target"}, optional
        Used instead of the weights of the ranks; finite, >= 0, not all 0. Only their ratios matter.
        By name: every query, relation or answer of a side counts once, or every value of a label
        that `ranks.labels` has.

    Attributes
    ----------
    ranks : Ranks
    protocol : Protocol
        How the ranks were counted.
    seed : int
    weighting : str
        How tasks are weighted, in words; empty where all count once.
    by : str or None
        The name of the groups, such as "relation".
    sides : tuple of str
        "both" and the named sides that have tasks; only "both" where there are no tasks.
    groups : mapping of label to Report
        Empty without `by`.

    Raises
    ------
    TypeError
        If `ranks` is something else, or its sides are ids instead of names.
    ValueError
        If the name of a side cannot be told from the other words of a key, and if labels or weights
        do not fit the tasks.

    Examples
    --------
    >>> from truerank import Ranks
    >>> measured = Report(Ranks([0, 3], [1, 2], 10, side=["head", "tail"]), by="side")
    >>> measured["mrr"], measured["tail.optimistic.hits@4"], measured["macro.mrr"]
    (0.6111111111111112, 1.0, 0.6111111111111112)
    >>> measured.groups["tail"]["mr"]
    4.5
    """

    form = RANK_REPORTS
    few = form.few
    usual = form.usual
    read_key = staticmethod(form.read_key)

    def __init__(
        self,
        ranks: Ranks | Report,
        *,
        seed: int = 0,
        by: LabelsLike | None = None,
        weights: Weights | None = None,
    ) -> None:
        seed = integer("seed", seed, least=0)
        self._tell(Counted(weighted_ranks("ranks", ranks), seed, by, weights))

    # -- what is of ranks alone --------------------------------------------------------------------

    @property
    def _counted(self) -> Counted:
        counted: Any = self._source
        return counted  # type: ignore[no-any-return]

    def chance(self, metric: str) -> tuple[float, float]:
        """Return mean and variance of a metric under chance, which its adjustments use.

        Parameters
        ----------
        metric : str
            `[side.]metric[@k][:p]`; a kind and an adjustment do not matter.

        Returns
        -------
        mean, variance : float
            The result of `truerank.chance` for the candidates and weights of the side.

        Raises
        ------
        KeyError
            For an unknown key, a macro average, and a metric without a chance model.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 2], [1, 1], 3)).chance("mr")
        (2.0, 0.3333333333333333)
        """
        parsed = parse(metric)
        if parsed.macro:
            raise UnknownKeyError(repr(metric), "a macro average has no chance model of its own")
        counted = self._counted
        counted.sides.check(parsed.side, metric)
        return counted.moments(parsed)

    def _find(self, names: Sequence[str]) -> list[Graded]:
        return reporting.audit.graded_findings(self._counted, names)

    def _lines(self) -> list[str]:
        """Say how many tasks there are, among how many candidates, and what is filtered."""
        source = self._source
        summary = source.summary
        protocol = source.protocol
        sides = [f"{side} {self.tasks(side):,}" for side in self.sides if side != ALL_SIDES]
        number = format_count(source.sides.total, f"{protocol.split or ''} task".strip())
        if sides:
            number += f" ({', '.join(sides)})"
        words = [number]
        if summary.tasks:
            words.append(_describe_candidates(summary, protocol.sampled))
        if protocol.filter:
            words.append(f"filtered by {' + '.join(protocol.filter)}")
        else:
            words.append("unfiltered")
        if summary.tasks:
            words.append(_describe_ties(summary.tied_tasks))
        if source.weighting:
            words.append(source.weighting)
        return [f"{', '.join(words)}."]

    def __repr__(self) -> str:
        source = self._source
        words = [format_count(source.sides.total, "task")]
        words.append(f"{source.summary.tied_tasks:,} tied")
        if self.by is not None:
            words.append(format_count(len(self.groups), "group"))
        usual = [compose_key(self.sides[0], DEFAULT_KIND, name) for name in SHORT_METRICS]
        words += [f"{key} {self[key]:.4g}" for key in usual if key in self]
        return printable(f"Report({', '.join(words)})")


def _describe_ties(tied_tasks: int) -> str:
    if not tied_tasks:
        return "no ties"
    if tied_tasks == 1:
        return "1 task is tied"
    return f"{tied_tasks:,} tasks are tied"


def _describe_candidates(summary: Summary, sampled: bool) -> str:
    low = summary.candidates_min
    high = summary.candidates_max
    number = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    noun = "candidate" if high == 1 else "candidates"
    if sampled:
        noun = f"sampled {noun}"
    return f"{number} {noun}"
