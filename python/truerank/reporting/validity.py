"""The audit of a report: a table of checks for what makes a number suspect."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..inputs.naming import printable, public
from ..metrics import UnknownKeyError
from ..metrics.keys import RELATION_SIDE
from ..metrics.kinds import DEFAULT_KIND
from ..tables.cells import percent
from .axes import compose_key
from .below_chance import (
    BELOW_CHANCE,
    STANDARD_ERRORS,
    AuditedReport,
    ValuesByKey,
    worse_than_chance,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..ranks.container import Ranks
    from ..ranks.counts import Audit

TIE_METRICS = ("mr", "mrr", "hits@1", "hits@10")
MISS_METRICS = ("mrr", "hits@10", "mr")
BOUNDS = ("pessimistic", "optimistic")  # of the ranks of misses
CUTOFFS = (1, 3, 5, 10)
MISSES = "misses"  # the check for targets that are not in their lists
TEST_CANDIDATES = "test candidates"  # the check for candidates that come from the test alone
TEST_ONLY = "test"  # the name of such candidates in a protocol
SIZE_ROBUST_METRIC = "amri"  # the metric that can be compared between tests of different sizes
ORDINARY_TIE = 2  # so many candidates with the best score are a tie, not saturation


@public("truerank.reporting")
class Finding(NamedTuple):
    """Something that makes a number suspect.

    Attributes
    ----------
    name : str
        The check: "misses", "worse than chance", "ties", "kinds", "constant", "nan", "inf",
        "rescored", "queries", "saturated", "filtered", "unfiltered", "sampled", "test candidates",
        "chance hits", "few candidates", "weights", "split", "unaudited".
    value : float
        The measured value.
    threshold : float
        The limit that the value exceeds ("weights": that it falls below).
    message : str
        One sentence.

    Notes
    -----
    Shares are of the tasks with a weight above 0. "filtered" counts tasks with a single candidate:
    the true one is never left out, so that its rank must be 1.
    """

    name: str
    value: float
    threshold: float
    message: str

    def __str__(self) -> str:
        return printable(f"{self.name}: {self.message}")


class Check(NamedTuple):
    """A check of the audit, with its threshold.

    Attributes
    ----------
    name : str
    threshold : float
    find : callable
        Takes a report and the threshold, and yields values and messages of findings.
    """

    name: str
    threshold: float
    find: Callable[[AuditedReport, float], Iterable[tuple[float, str]]]


def findings(report: AuditedReport) -> list[Finding]:
    """List what makes the numbers of a report suspect; empty if nothing was found.

    Examples
    --------
    >>> import truerank as tr
    >>> audit = ([0], [0], [1])
    >>> ranks = tr.Ranks([3], [1], 100, audit=audit, protocol=tr.Protocol(sampled=True, split="test"))
    >>> for finding in findings(tr.report(ranks)):
    ...     print(finding)
    sampled: the candidates were sampled: ranks are better than among all candidates, and unlike samples cannot be compared
    """  # noqa: E501
    return [
        Finding(check.name, float(value), check.threshold, message)
        for check in CHECKS
        for value, message in check.find(report, check.threshold)
    ]


# -- ties ------------------------------------------------------------------------------------------


def _ties_move_metric(report: AuditedReport, threshold: float) -> Iterator[tuple[float, str]]:
    """Find ties that move a metric: its realistic value differs from the expected or optimistic."""
    yield from _largest_gaps(
        report,
        threshold,
        [("realistic", "expected"), ("realistic", "optimistic")],
        "ties move {metric} by {gap}: {a} {first:.4g}, {b} {second:.4g}",
    )


def _kinds_differ(report: AuditedReport, threshold: float) -> Iterator[tuple[float, str]]:
    """Find metrics whose pessimistic and optimistic values differ much."""
    yield from _largest_gaps(
        report,
        threshold,
        [("pessimistic", "optimistic")],
        "{metric} is {first:.4g} with pessimistic ranks and {second:.4g} with optimistic ones "
        "({gap} apart): say which is reported",
    )


def _largest_gaps(
    report: AuditedReport, threshold: float, pairs: list[tuple[str, str]], message: str
) -> Iterator[tuple[float, str]]:
    """Yield the metric and the pair of kinds with the largest gap, relative to the first kind.

    There is one for the tasks that are pooled, and one for those of relations, which are not.
    """
    if not report.summary.tied_tasks:
        return
    for side in _pooled_sides(report):
        worst = 0.0, ""
        for metric in TIE_METRICS:
            for a, b in pairs:
                first, second = (report[compose_key(side, kind, metric)] for kind in (a, b))
                gap = _relative_gap(first, second)
                if gap > max(worst[0], threshold):
                    name = compose_key(side, DEFAULT_KIND, metric)
                    words = {"metric": name, "a": a, "b": b, "first": first, "second": second}
                    # a gap relative to 0 has no percentage
                    size = percent(gap) if first else f"{abs(second - first):.4g}"
                    worst = gap, message.format(gap=size, **words)
        if worst[1]:
            yield worst


def _pooled_sides(report: AuditedReport) -> list[str]:
    """The sides that are checked: the one that pools tasks, and that of the relations."""
    first, *others = report.sides
    return [first, *(side for side in others if side == RELATION_SIDE)]


def _relative_gap(first: float, second: float) -> float:
    if first == second:
        return 0.0
    return abs(second - first) / abs(first) if first else math.inf


# -- tasks -----------------------------------------------------------------------------------------


def _task_share_check(
    mask_of: Callable[[Ranks], npt.NDArray[np.bool_]], message: str
) -> Callable[[AuditedReport, float], Iterator[tuple[float, str]]]:
    """Make a check of tasks: it compares their share of the tasks with weight to the threshold."""

    def find(report: AuditedReport, threshold: float) -> Iterator[tuple[float, str]]:
        weighted = _has_weight(report)
        n, total = int(np.count_nonzero(mask_of(report.ranks) & weighted)), int(weighted.sum())
        if n > threshold * total:
            tasks = f"{n:,} of {total:,} tasks ({percent(n / total)})"
            yield n / total, message.format(tasks=tasks)

    return find


def _has_weight(report: AuditedReport) -> npt.NDArray[np.bool_]:
    """Which tasks have a weight above 0."""
    if report.weights is None:
        return np.ones(len(report.ranks), dtype=np.bool_)
    return np.greater(report.weights, 0)


def _constant_scores(ranks: Ranks) -> npt.NDArray[np.bool_]:
    mask: npt.NDArray[np.bool_] = (ranks.tied == ranks.candidates) & (ranks.candidates > 1)
    return mask if ranks.listed is None else mask & ranks.listed


def _misses(report: AuditedReport, threshold: float) -> Iterator[tuple[float, str]]:
    """Find targets that are not in their lists: their ranks, and so the metrics, are bounded."""
    ranks, weighted = report.ranks, _has_weight(report)
    missed = 0 if ranks.listed is None else int(np.count_nonzero(~ranks.listed & weighted))
    if not missed:
        return
    total = int(weighted.sum())
    side = report.sides[0]
    bounds = []
    for metric in MISS_METRICS:
        name = compose_key(side, DEFAULT_KIND, metric)
        low, high = (report[compose_key(side, kind, metric)] for kind in BOUNDS)
        bounds.append(f"{name} between {low:.4g} and {high:.4g}")
    share = missed / total
    yield (
        share,
        f"{missed:,} of {total:,} tasks ({percent(share)}) are misses, whose target is not in its "
        f"list: with pessimistic and optimistic ranks {', '.join(bounds)}",
    )


def _only_true_candidate(ranks: Ranks) -> npt.NDArray[np.bool_]:
    """Which tasks have only the true candidate: it is never left out, so that their rank is 1."""
    return np.equal(ranks.candidates, 1)


# -- the audit -------------------------------------------------------------------------------------


def _audit_count_check(
    field: str, message: str
) -> Callable[[AuditedReport, float], Iterator[tuple[float, str]]]:
    """Make a check of a field of the audit that a count with audit=True made."""

    def find(report: AuditedReport, threshold: float) -> Iterator[tuple[float, str]]:
        audit: Audit | None = report.ranks.audit
        counts = getattr(audit, field, None)
        if counts is not None and (total := int(counts.sum())) > threshold:
            tasks = int(np.count_nonzero(counts))
            yield total, message.format(total=f"{total:,}", tasks=f"{tasks:,}")

    return find


def _saturated(report: AuditedReport, threshold: float) -> Iterator[tuple[float, str]]:
    ranks = report.ranks
    if ranks.audit is None:
        return
    best = ranks.audit.at_best
    shares = np.where(best > ORDINARY_TIE, best / ranks.candidates, 0.0)
    tasks = int(np.count_nonzero(shares > threshold))
    if tasks:
        worst = float(shares.max())
        yield (
            worst,
            f"scores saturate: in {tasks:,} of {len(ranks):,} tasks more than "
            f"{percent(threshold)} of the candidates have the best score, at most "
            f"{percent(worst)}",
        )


def _unaudited(report: AuditedReport, threshold: float) -> Iterator[tuple[float, str]]:
    # lists give no scores of most candidates, and no audit of them
    if report.ranks.audit is None and report.ranks.listed is None and len(report.ranks):
        yield (
            math.nan,
            "NaN, infinite and saturated scores were not counted; "
            "rank(..., audit=True) counts them in the same pass",
        )


# -- candidates ------------------------------------------------------------------------------------


def _unfiltered(report: AuditedReport, threshold: float) -> Iterator[tuple[float, str]]:
    """Find link prediction without a filter; a sample never has known answers."""
    protocol = report.protocol
    if not protocol.filter and not protocol.sampled and {"head", "tail"} & set(report.sides):
        given = "known="
        yield (
            1.0,
            "known answers are not left out, so that other true answers count as wrong ones above "
            f"the true one; {given} of a task names the splits that hold them",
        )


def _sampled(report: AuditedReport, threshold: float) -> Iterator[tuple[float, str]]:
    if report.protocol.sampled:
        yield (
            1.0,
            "the candidates were sampled: ranks are better than among all candidates, and unlike "
            "samples cannot be compared",
        )


def _test_candidates(report: AuditedReport, threshold: float) -> Iterator[tuple[float, str]]:
    """Find candidates that are the entities of the test alone: a smaller test is an easier task.

    Metrics can then be compared only between tests of one size, except for the adjusted mean rank
    index (Berrendorf, Faerman, Vermue, Tresp: On the ambiguity of rank-based evaluation of entity
    alignment or link prediction methods, 2020, section 3.2). The indices of mrr and of hits@k do
    not help: they rise as much as the metrics that they adjust, as a study beside the benchmarks
    shows.
    """
    if report.protocol.candidates == TEST_ONLY and len(report.ranks):
        beside = format_value(
            report, compose_key(report.sides[0], DEFAULT_KIND, SIZE_ROBUST_METRIC)
        )
        yield (
            1.0,
            "the candidates are the entities of the test alone: the fewer these are, the better "
            "are mr, mrr and hits@k, which do not compare across test sizes"
            + (f"; the adjusted mean rank index hardly moves: {beside}" if beside else ""),
        )


def format_value(values: ValuesByKey, key: str) -> str:
    """Write a key with its value; an empty string where it has none."""
    try:
        value = values[key]
    except UnknownKeyError:  # the report was read from JSON, or has other sides
        return ""
    return "" if math.isnan(value) else f"{key} {value:.4g}"


def _chance_hits(report: AuditedReport, threshold: float) -> Iterator[tuple[float, str]]:
    """Find the smallest k for which chance alone hits too often."""
    for k in CUTOFFS:
        hit, _ = report.chance(compose_key(report.sides[0], DEFAULT_KIND, f"hits@{k}"))
        if hit > threshold:
            yield (
                hit,
                f"hits@{k} is {hit:.2g} by chance alone: with so few candidates read "
                f"ah@{k} instead",
            )
            return


def _few_candidates(report: AuditedReport, threshold: float) -> Iterator[tuple[float, str]]:
    """Find the smallest k that reaches all candidates of too many tasks."""
    candidates = report.ranks.candidates[_has_weight(report)]
    for k in CUTOFFS[1:]:
        n = int(np.count_nonzero((candidates <= k) & (candidates > 1)))
        if n > threshold * len(candidates):
            share = n / len(candidates)
            yield (
                share,
                f"{n:,} of {len(candidates):,} tasks ({percent(share)}) have at most {k} "
                f"candidates, which hits@{k} counts as hits whatever their scores",
            )
            return


# -- the rest --------------------------------------------------------------------------------------


def _weights(report: AuditedReport, threshold: float) -> Iterator[tuple[float, str]]:
    """Find weights with few effective tasks by Kish's number, (sum w)^2 / sum w^2."""
    weights = report.weights
    if weights is None or not weights.any():
        return
    shares = weights / weights.max()
    effective = float(shares.sum() ** 2 / np.square(shares).sum())
    if effective < threshold * len(weights):
        yield (
            effective / len(weights),
            f"the weights leave {effective:,.3g} effective tasks of {len(weights):,}",
        )


def _split(report: AuditedReport, threshold: float) -> Iterator[tuple[float, str]]:
    if report.protocol.split is None:
        naming = 'ranks.with_protocol(split="test")'
        yield (
            math.nan,
            f"the protocol names no evaluated split; {naming} does",
        )


CHECKS = (
    # any task whose target is not in its list
    Check(MISSES, 0.0, _misses),
    # a mean rank that is more than 6 standard errors above that of chance
    Check(BELOW_CHANCE, STANDARD_ERRORS, worse_than_chance),
    # more than 1 % between the realistic value and the expected or the optimistic one
    Check("ties", 0.01, _ties_move_metric),
    # more than 5 % between the pessimistic and the optimistic value
    Check("kinds", 0.05, _kinds_differ),
    # any task whose candidates all have the same score
    Check(
        "constant",
        0.0,
        _task_share_check(_constant_scores, "all candidates have one score in {tasks}"),
    ),
    Check(
        "nan",
        0.0,
        _audit_count_check("nan", "{total} candidates of {tasks} tasks have the score NaN"),
    ),
    Check(
        "inf",
        0.0,
        _audit_count_check("inf", "{total} candidates of {tasks} tasks have infinite scores"),
    ),
    # any task whose true candidate has another score in its block than the given true score
    Check(
        "rescored",
        0.0,
        _audit_count_check(
            "differing",
            "{tasks} true candidates have another score in their block of candidates: the model "
            "scores a pair differently in two batches",
        ),
    ),
    # any task whose row of scores or embeddings differs from the first one of its query
    Check(
        "queries",
        0.0,
        _audit_count_check(
            "mismatched",
            "{tasks} tasks have rows that differ from the first row of their query; they were "
            "ranked as they are",
        ),
    ),
    # any task with more than two candidates, and more than 1 % of them, at its best score
    Check("saturated", 0.01, _saturated),
    # any task with no candidate left but the true one, which is never left out
    Check(
        "filtered",
        0.0,
        _task_share_check(
            _only_true_candidate,
            "all candidates but the true one, which always stays, are left out in {tasks}: rank 1",
        ),
    ),
    Check("unfiltered", 0.0, _unfiltered),
    Check("sampled", 0.0, _sampled),
    Check(TEST_CANDIDATES, 0.0, _test_candidates),
    # hits@k above 0.25 by chance, for k of 1, 3, 5, 10
    Check("chance hits", 0.25, _chance_hits),
    # more than 1 % of the tasks with 2 to k candidates, for k of 3, 5, 10
    Check("few candidates", 0.01, _few_candidates),
    # fewer effective tasks than a tenth of the tasks
    Check("weights", 0.1, _weights),
    Check("split", 0.0, _split),
    Check("unaudited", 0.0, _unaudited),
)
