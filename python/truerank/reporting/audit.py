"""The audit of a report: how its ranks were counted, and what makes its numbers suspect."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.naming import printable, public
from ..metrics.keys import RELATION_SIDE, parse
from ..metrics.kinds import DEFAULT_KIND
from ..ranks.protocol import PROVENANCE
from ..tables import AsTable, Column, Table
from ..tables.cells import format_count, percent
from .axes import compose_key
from .counted import Counted, Summary

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..ranks.protocol import Protocol

TIE_METRICS = ("mr", "mrr", "hits@1", "hits@10")
TIE_KINDS = ("optimistic", DEFAULT_KIND, "pessimistic", "expected")
TEST_ONLY = "test"  # the name of such candidates in a protocol
DOUBTS = ("misses", "worse than chance", "test candidates", "ties")  # which stand below every table
STANDARD_ERRORS = 6.0  # above the mean rank of chance: a probability of 1.6e-8 at most
SATURATED = 0.01  # so large a share of the candidates at the best score, and more than two of them
CUTOFF = 10  # the k of hits@k that must be able to miss

# What a model with too high ranks may have, by the order in which its scores were compared.
OTHER_ORDERS = {
    "descending": 'are lower scores better? order="ascending"',
    "ascending": 'are higher scores better? order="descending"',
}

Measured = tuple[float, str]  # a value that may exceed its threshold, and what to say then
NOTHING: Measured = 0.0, ""

# What to say of the counts of `rank(..., audit=True)`, by their names.
COUNTED = {
    "nan": "{total:,} candidates of {tasks:,} tasks have the score NaN",
    "inf": "{total:,} candidates of {tasks:,} tasks have infinite scores",
    "differing": "{tasks:,} true candidates have another score in their block than the given one",
    "mismatched": "{tasks:,} tasks have rows that differ from the first row of their query",
}


# -- results ---------------------------------------------------------------------------------------


@public("truerank.reporting")
class Finding(NamedTuple):
    """Something that makes a number suspect.

    Attributes
    ----------
    name : str
        The check: "misses", "worse than chance", "ties", "constant", "nan", "inf", "rescored",
        "queries", "saturated", "few candidates", "unfiltered", "sampled", "test candidates",
        "unaudited".
    value : float
        The measured value.
    threshold : float
        The limit that the value exceeds.
    message : str
        One sentence.

    Notes
    -----
    Shares are of the tasks with a weight above 0.
    """

    name: str
    value: float
    threshold: float
    message: str

    def __str__(self) -> str:
        return printable(f"{self.name}: {self.message}")


@public("truerank.reporting")
class Findings(list[Finding], AsTable):
    """What makes the numbers of a report suspect, printed below how its ranks were counted.

    A list of `Finding`, which is empty if nothing was found.

    Parameters
    ----------
    findings : iterable of Finding
    protocol : Protocol
    summary : Summary, optional

    Examples
    --------
    >>> import truerank as tr
    >>> protocol = tr.Protocol(sampled=True, split="test", dtype="float32")
    >>> ranks = tr.Ranks([3], [1], 100, audit=([0], [0], [1]), protocol=protocol)
    >>> print(tr.report(ranks).audit())
    split test, unfiltered, sampled candidates, nan raise, float32 (fingerprint 4c2a31d7066f0f78).
    Recorded: order descending, dtype float32.
    No task ties: all kinds of rank agree.
    Counts of scores: nan 0, inf 0, at_best 1, differing 0, mismatched 0.
    <BLANKLINE>
    finding  value  threshold  message
    sampled  1      0          the candidates are a sample: ranks are better than among all, and only compare over the same sample
    """  # noqa: E501

    def __init__(
        self, findings: Iterable[Finding], protocol: Protocol, summary: Summary | None
    ) -> None:
        super().__init__(findings)
        self.protocol, self.summary = protocol, summary

    def table(self, metrics: str | Iterable[str] | None = None, **options: Any) -> Table:
        """Return a row for each finding, below the protocol, ties, and counts of scores."""
        protocol, summary = self.protocol, self.summary
        recorded = {name: getattr(protocol, name) for name in PROVENANCE if getattr(protocol, name)}
        recorded |= {"files": ", ".join(protocol.files)} if protocol.files else {}
        before = [
            f"{protocol} (fingerprint {protocol.fingerprint}).",
            f"Recorded: {', '.join(f'{name} {value}' for name, value in recorded.items())}.",
        ]
        if summary is not None:
            before += _tie_lines(summary)
        if not self:
            before.append("Nothing was found that makes the numbers suspect.")
        columns = [Column("name", "finding"), *map(Column, Finding._fields[1:])] if self else []
        return Table(columns, self, names=len(columns), before=before).table(metrics, **options)


def _tie_lines(summary: Summary) -> list[str]:
    lines = ["No task ties: all kinds of rank agree."] if summary.tasks else []
    if summary.tied_tasks:
        lines = [
            f"{summary.tied_tasks:,} of {format_count(summary.tasks, 'task')} tie "
            f"({percent(summary.tied_tasks / summary.tasks)}): {summary.largest_tie:,} candidates "
            f"at most, {summary.mean_tie:.3g} on average."
        ]
    if summary.audit is not None:
        counts = ", ".join(f"{name} {n:,}" for name, n in summary.audit.items())
        lines.append(f"Counts of scores: {counts}.")
    return lines


def findings(counted: Counted, names: Collection[str] = ()) -> Findings:
    """List what makes the numbers of a report suspect; with names, only by these checks.

    Examples
    --------
    >>> import truerank as tr
    >>> counted = Counted(tr.Ranks([3], [1], 100, protocol=tr.Protocol(sampled=True)), seed=0)
    >>> [finding.name for finding in findings(counted)]
    ['sampled', 'unaudited']
    >>> [finding.name for finding in findings(counted, ["sampled"])]
    ['sampled']
    """
    measured = [
        (name, threshold, measure(counted))
        for name, threshold, measure in CHECKS
        if not names or name in names
    ]
    suspect = [
        Finding(name, float(value), threshold, message)
        for name, threshold, (value, message) in measured
        if value > threshold
    ]
    return Findings(suspect, counted.ranks.protocol, counted.summary)


# -- checks ----------------------------------------------------------------------------------------


def _share_of(counted: Counted, mask: npt.NDArray[np.bool_]) -> Measured:
    """Return the share of the tasks with weight that a mask has, and it in words."""
    has_weight = (
        np.ones(len(mask), np.bool_) if counted.tasks.weights is None else counted.tasks.weights > 0
    )
    n, total = int(np.count_nonzero(mask & has_weight)), int(np.count_nonzero(has_weight))
    share = n / max(total, 1)
    return share, f"{n:,} of {total:,} tasks ({percent(share)})"


def _value(counted: Counted, *words: str) -> float:
    return counted.value(parse(compose_key(*words)))


def _misses(counted: Counted) -> Measured:
    if counted.ranks.listed is None:
        return NOTHING
    share, tasks = _share_of(counted, ~counted.ranks.listed)
    bounds = "optimistic and pessimistic ranks are its bounds"
    return share, f"{tasks} are misses, whose target is not in its list: {bounds}"


def _worse_than_chance(counted: Counted) -> Measured:
    """The first side whose mean rank is far above that of random scores, in standard errors.

    Under chance a rank r is uniform on 1..N, and log E exp(t(r - E r)) <= t**2 (N**2 - 1) / 24 for
    every t (each factor of sinh(Nt/2) / (N sinh(t/2)), written as an infinite product, is). A mean
    rank of independent tasks that is z standard errors above its expectation has therefore a
    probability of at most exp(-z**2 / 2), whatever their numbers of candidates and their weights;
    ties only make it smaller. Tasks of one target may depend on each other in any way: the standard
    deviations of these are added (Hölder's inequality), not the variances.
    """
    protocol = counted.ranks.protocol
    question = OTHER_ORDERS.get(protocol.order, "are the scores in one order?")
    if protocol.similarity is not None:
        question = f"is the similarity {protocol.similarity} right?"
    for side in counted.sides.present:
        value = _value(counted, side, DEFAULT_KIND, "amri")
        z = _standard_errors_above(counted, side) if value < 0 else 0.0
        if z > STANDARD_ERRORS:
            key = compose_key(side, DEFAULT_KIND, "amri")
            figures = f"{key} {value:.3g}, p below 1e-{math.floor(z**2 / 2 / math.log(10))}"
            return z, f"ranks are worse than random ones ({figures}): {question}"
    return NOTHING


def _standard_errors_above(counted: Counted, side: str) -> float:
    """How many standard errors the mean rank of a side is above that of chance."""
    ranks, mask = counted.ranks, counted.sides.mask(side)
    chosen = slice(None) if mask is None else mask
    candidates = ranks.candidates[chosen].astype(np.float64)
    weights = (
        np.ones(len(candidates)) if counted.tasks.weights is None else counted.tasks.weights[chosen]
    )
    weights = weights / (weights.max() or 1.0)
    deviations = weights * np.sqrt((candidates - 1) * (candidates + 1) / 12)
    if ranks.targets is not None:
        codes = np.unique(ranks.targets.codes[chosen], return_inverse=True)[1]
        deviations = np.bincount(codes, weights=deviations).astype(np.float64)
    spread = math.sqrt(float(np.square(deviations).sum()))
    excess = float((weights * (ranks.realistic[chosen] - (candidates + 1) / 2)).sum())
    return excess / spread if spread else 0.0


def _ties(counted: Counted) -> Measured:
    """The metric that ties move most from its realistic value, relative to this one."""
    worst = NOTHING
    if not counted.summary.tied_tasks:
        return worst
    first, *others = counted.sides.present
    # relations are not pooled with the others
    for side in (first, *(side for side in others if side == RELATION_SIDE)):
        for metric in TIE_METRICS:
            values = {kind: _value(counted, side, kind, metric) for kind in TIE_KINDS}
            value = values[DEFAULT_KIND]
            gap = max(abs(other - value) for other in values.values())
            moved = gap / abs(value) if value else math.inf
            if gap and moved > worst[0]:
                # a gap relative to 0 has no percentage
                size = percent(moved) if value else f"{gap:.4g}"
                kinds = ", ".join(f"{kind} {other:.4g}" for kind, other in values.items())
                name = compose_key(side, DEFAULT_KIND, metric)
                worst = moved, f"ties move {name} by {size}: {kinds}; say which is reported"
    return worst


def _constant(counted: Counted) -> Measured:
    ranks = counted.ranks
    mask = (ranks.tied == ranks.candidates) & (ranks.candidates > 1)
    share, tasks = _share_of(counted, mask if ranks.listed is None else mask & ranks.listed)
    return share, f"all candidates have one score in {tasks}"


def _scores(name: str, counted: Counted) -> Measured:
    if counted.ranks.audit is None:
        return NOTHING
    counts = getattr(counted.ranks.audit, name)
    total = int(counts.sum())
    return total, COUNTED[name].format(total=total, tasks=np.count_nonzero(counts))


def _saturated(counted: Counted) -> Measured:
    ranks = counted.ranks
    if ranks.audit is None:
        return NOTHING
    best = ranks.audit.at_best  # two with one score are a tie
    share, tasks = _share_of(counted, (best > 2) & (best > SATURATED * ranks.candidates))
    return share, f"more than {percent(SATURATED)} of the candidates have the best score in {tasks}"


def _few_candidates(counted: Counted) -> Measured:
    share, tasks = _share_of(counted, counted.ranks.candidates <= CUTOFF)
    return share, f"{tasks} have at most {CUTOFF} candidates, which are hits whatever their scores"


def _unfiltered(counted: Counted) -> Measured:
    """Link prediction without a filter; a sample never has known answers."""
    is_bare = not counted.ranks.protocol.filter and not counted.ranks.protocol.sampled
    message = "known answers count as wrong ones; known= of a task names the splits that hold them"
    return float(is_bare and not {"head", "tail"}.isdisjoint(counted.sides.present)), message


def _sampled(counted: Counted) -> Measured:
    message = "the candidates are a sample: ranks are better than among all, and only compare"
    return float(counted.ranks.protocol.sampled), f"{message} over the same sample"


def _test_candidates(counted: Counted) -> Measured:
    """Candidates that are the entities of the test alone: a smaller test is an easier task.

    Metrics can then be compared only between tests of one size, except for the adjusted mean rank
    index (Berrendorf, Faerman, Vermue, Tresp: On the ambiguity of rank-based evaluation of entity
    alignment or link prediction methods, 2020, section 3.2). The indices of mrr and of hits@k do
    not help: they rise as much as the metrics that they adjust.
    """
    message = "the candidates are the entities of the test alone: numbers do not compare across"
    is_alone = counted.ranks.protocol.candidates == TEST_ONLY and len(counted.ranks) > 0
    return float(is_alone), f"{message} test sizes, but for amri, which hardly moves"


def _unaudited(counted: Counted) -> Measured:
    """Scores that were not looked at; lists give no scores of most candidates."""
    ranks = counted.ranks
    message = "NaN, infinite and saturated scores were not counted; rank(..., audit=True) does"
    return float(ranks.audit is None and ranks.listed is None and len(ranks) > 0), message


# The name of each check, its threshold, and what measures the value that may exceed it.
CHECKS: tuple[tuple[str, float, Callable[[Counted], Measured]], ...] = (
    ("misses", 0.0, _misses),
    ("worse than chance", STANDARD_ERRORS, _worse_than_chance),
    ("ties", 0.01, _ties),
    ("constant", 0.0, _constant),
    ("nan", 0.0, partial(_scores, "nan")),
    ("inf", 0.0, partial(_scores, "inf")),
    ("rescored", 0.0, partial(_scores, "differing")),
    ("queries", 0.0, partial(_scores, "mismatched")),
    ("saturated", 0.0, _saturated),
    ("few candidates", 0.01, _few_candidates),
    ("unfiltered", 0.0, _unfiltered),
    ("sampled", 0.0, _sampled),
    ("test candidates", 0.0, _test_candidates),
    ("unaudited", 0.0, _unaudited),
)
