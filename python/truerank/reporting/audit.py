"""What makes the values of a report suspect."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .. import metrics
from ..arrays.row_keys import digest_rows, distinct, factorize, without
from ..metrics.keys import NO_ADJUSTMENT, UNPOOLED_SIDE, Key, why_no_value
from ..metrics.metric_table import DEFAULT_KIND
from ..naming import format_count, percent, printable, public
from ..ranks import grouping, joining
from ..ranks.labels import DATASET
from ..ranks.protocol import PROVENANCE
from ..tables import AsTable, Column, Table
from ..tables.table import Layout
from .summary import describe_tied_lists, share_missed

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import IntArray
    from .reports import Report

_OF_SCORES = ("worse than chance", "ties", "nan", "inf")
_OF_AUDITS = ("nan", "inf", "rescored", "queries")
_OF_QUERIES = ("missing answers", "joined queries")
# Queries are checked by these.
_OF_JOINED = ("missing rows", "missing lists", "data sets")
CHECKS_OF_QUERIES = (*_OF_SCORES, "sampled", *_OF_JOINED, *_OF_QUERIES)
TIE_METRICS = ("mr", "mrr", "hits@1", "hits@10")
TEST_CANDIDATES = "test"
# A mean rank so many standard errors above that of chance has a probability of 1.6e-8 at most.
STANDARD_ERRORS = 6.0
ONE_RANK = "One rank of each task is known, not what ties with it."
CUTOFF = 10  # With so few candidates hits@10 cannot miss.

# The last score that there can be, by the order in which scores were compared.
LAST_SCORES = {"descending": "-inf", "ascending": "inf"}
# What counted as better, which is said of ranks that are too high.
ORDERS = {"descending": "higher scores", "ascending": "lower scores"}

# What a check says; "{}" is what it measures, in words. A check that is not here says these alone.
MESSAGES = {
    "misses": "{} are misses, whose target is not in the list: its rank is between the optimistic "
    "and the pessimistic one",
    "worse than chance": "ranks are worse than random ones {}",
    "ties": "ties move {}; say which is reported",
    "nan": "{} have the score NaN",
    "inf": "{} have infinite scores",
    "rescored": "{} have a score in their block that differs from the given one",
    "queries": "{} have rows that differ from the first row of their query",
    "few candidates": f"{{}} have at most {CUTOFF} candidates: hits@{CUTOFF} cannot miss",
    "sampled": "the candidates are a sample: among all, ranks are worse; compare only numbers of "
    "the same sample",
    "test candidates": "the candidates are only the entities of the test: smaller tests have "
    "better numbers, except amri",
    "missing rows": "the ranks are a part, {}",
    "missing sides": "the ranks are a part, {}",
    "joined queries": "joined tasks have queries of the same name, which count in each: {}",
}
# What a check measures: how bad it is (its grade), how many tasks or so it concerns, and words.
Measure: TypeAlias = tuple[float, int, str]
NOTHING: Measure = (0.0, 0, "")
# Larger grades are findings; those of the other checks are if they are above 0.
THRESHOLDS = {"worse than chance": STANDARD_ERRORS, "ties": 0.01, "few candidates": 0.01}


# -- results ---------------------------------------------------------------------------------------


@public("truerank.reporting")
@dataclass(frozen=True)
class Finding:
    """A line of an audit: something that makes a number suspect.

    Attributes
    ----------
    name : str
        The check; tasks have their own, as "leaks". For a report: "misses", "worse than chance",
        "ties", "nan", "inf", "rescored", "queries", "few candidates", "unfiltered", "sampled",
        "test candidates", "missing rows" of a part or of joined ones, and "missing sides" of these,
        "data sets" that are alike, "one array" of two sides; for queries "missing answers", "joined
        queries" of one name, and "self" of those that are candidates of themselves; for lists
        "missing lists", "unused lists", "pooled lists" of several values of a column, "known in
        lists", "names" of right answers that differ only in writing, and "spellings"; for lists of
        an index "missing ids", "no candidates", "tied lists", "without candidates", "taken on
        trust", "ids from 1", "unseen ties" and "lower bound".
    count : int
        How many tasks, candidates, rows or lists it concerns.
    message : str
        One sentence.

    Notes
    -----
    Of misses and of few candidates, the tasks are counted that have a weight above 0.
    """

    name: str
    count: int
    message: str

    def __str__(self) -> str:
        return printable(f"{self.name}: {self.message}")


@public("truerank.reporting")
class Findings(list[Finding], AsTable):
    """The findings of an audit, printed below what was looked at.

    A list of `Finding`, which is empty if nothing was found.

    Parameters
    ----------
    findings : iterable of Finding
    lines : iterable of str
        What is printed above them.

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
    finding  count  message
    sampled  1      the candidates are a sample: among all, ranks are worse; compare only numbers of the same sample
    """  # noqa: E501

    def __init__(self, findings: Iterable[Finding], lines: Iterable[str] = ()) -> None:
        super().__init__(findings)
        self.lines = tuple(lines)

    def table(self, metrics: str | Iterable[str] | None = None, **options: Any) -> Table:
        """Return a row for each finding, below the lines of the audit."""
        columns = []
        if self:
            columns = [Column("name", "finding"), Column("count"), Column("message")]
        rows = [(finding.name, finding.count, finding.message) for finding in self]
        table = Layout(names=len(columns), before=self.lines).make(columns, rows)
        return table.table(metrics, **options)


Graded: TypeAlias = tuple[float, Finding]  # with its grade


def audit_report(report: Report, names: Sequence[str]) -> Findings:
    """Audit a report by some checks, or without names by all."""
    findings = [finding for _, finding in graded_findings(report, names)]
    protocol = report.protocol
    fields = vars(protocol)
    recorded = {name: fields[name] for name in PROVENANCE if fields[name]}
    if protocol.files:
        recorded["files"] = ", ".join(protocol.files)
    lines = [
        f"{protocol} (fingerprint {protocol.fingerprint}).",
        f"Recorded: {', '.join(f'{name} {value}' for name, value in recorded.items())}.",
        *_tie_lines(report),
    ]
    counts = report.summary.audit
    if counts is not None:
        words = ", ".join(f"{name} {number:,}" for name, number in counts.items())
        lines.append(f"Counts of scores: {words}.")
    if not findings:
        lines.append("Nothing was found in these ranks that makes the numbers suspect.")
    return Findings(findings, lines)


def _tie_lines(report: Report) -> list[str]:
    """Say how many tasks or lists are tied, that none is, or that it is not known."""
    summary = report.summary
    if summary.tied_tasks:
        return [
            f"{summary.tied_tasks:,} of {format_count(summary.tasks, 'task')} are tied "
            f"({percent(summary.tied_tasks / summary.tasks)}): {summary.largest_tie:,} candidates "
            f"at most, {summary.mean_tie:.3g} on average."
        ]
    if report.protocol.ties is not None:  # Ranks were made by this rule elsewhere.
        return [ONE_RANK]
    if not summary.tasks:
        return []
    if report.protocol.lists is not None:  # The kinds may differ by misses.
        return [f"{describe_tied_lists(report) or 'No task ties'}."]
    return ["No task ties: all kinds of rank agree."]


def graded_findings(
    report: Report, names: Sequence[str], shown_keys: Collection[Key] = ()
) -> list[Graded]:
    """List what makes the numbers of a report suspect, each with how bad it is.

    The names are those of the checks to make; without any, all are made. Where a table shows some
    keys, what ties move is one of these. What a task found is as bad as it is often.
    """
    graded = []
    for name in CHECKS_OF_TASKS if report.unit == "task" else CHECKS_OF_QUERIES:
        is_asked = not names or name in names
        lacks_audit = name in _OF_AUDITS and report.ranks.audit is None
        if not is_asked or lacks_audit:
            continue
        check = partial(_ties, shown_keys=shown_keys) if name == "ties" else CHECKS[name]
        grade, count, words = check(report)
        if grade > THRESHOLDS.get(name, 0.0):
            message = MESSAGES.get(name, "{}").format(words)
            graded.append((float(grade), Finding(name, count, message)))
    for finding in report.task_findings:
        if not names or finding.name in names:
            graded.append((float(finding.count), finding))
    return graded


# -- checks ----------------------------------------------------------------------------------------


def _misses(report: Report) -> Measure:
    """Count the targets that are not in their lists."""
    listed = report.ranks.listed
    return NOTHING if listed is None else _measure_share(report, ~listed)


def _special_scores(name: str, report: Report) -> Measure:
    """Count the candidates with scores that are nan or inf."""
    counts = getattr(report.ranks.audit, name)
    total = int(counts.sum())
    tasks = format_count(int(np.count_nonzero(counts)), "task")
    return total, total, f"{total:,} candidates of {tasks}"


def _unlike_scores(name: str, noun: str, report: Report) -> Measure:
    """Count the tasks whose scores are others elsewhere."""
    number = int(np.count_nonzero(getattr(report.ranks.audit, name)))
    return number, number, f"{number:,} {noun}"


def _unfiltered(report: Report) -> Measure:
    """Count triples that lack a filter, or that of other Tasks; samples have no known answers."""
    ranks = report.ranks
    protocol = report.protocol
    is_of_triples = "head" in report.sides or "tail" in report.sides
    if not is_of_triples or protocol.sampled:
        return NOTHING
    if set(protocol.filter) <= {"self"}:  # The queries themselves are no known answers.
        words = "no known answers were left out: those that there are count as wrong"
        return 1.0, len(ranks), words
    count = joining.count_unfiltered(ranks)
    words = (
        f"known answers count as wrong in {count:,} tasks, which left out fewer than there are: "
    )
    return float(count), count, f"{words}Tasks that were made apart do not know each other's"


def _test_candidates(report: Report) -> Measure:
    """Whether the entities of the test alone are candidates: a smaller test is easier then.

    Only the adjusted mean rank index compares with other sizes, not those of mrr and hits@k
    (Berrendorf et al.: On the ambiguity of rank-based evaluation of entity alignment or link
    prediction methods, 2020, section 3.2).
    """
    tasks = len(report.ranks)
    return report.protocol.candidates == TEST_CANDIDATES and tasks > 0, tasks, ""


def _missing_answers(report: Report) -> Measure:
    """Count the right answers that queries lack."""
    number, words = report._answered.describe_lack()
    return number, number, words


def _joined_queries(report: Report) -> Measure:
    """Count the names that have a query in several of the tasks that were joined."""
    queries = [query for query in report.queries if isinstance(query, tuple)]
    if DATASET in report.ranks.labels:  # Only those of one data set are suspect.
        queries = [(task, f"{name}: {query}") for name, *tasks, query in queries for task in tasks]
    tasks_of_name = Counter(query for _, query in queries)
    names = [str(name) for name, tasks in tasks_of_name.items() if tasks > 1]
    shown = names[:3] + ["..."] * (len(names) > 3)
    return len(names), len(names), ", ".join(shown)


def _alike_data_sets(report: Report) -> Measure:
    """Find data sets that are equal in all rows, or of retrieval in queries and right answers."""
    ranks = report.ranks
    labels = {name: each.codes for name, each in ranks.labels.items()}
    if DATASET not in labels:
        return NOTHING
    codes, names = grouping.group_codes(ranks, DATASET)
    same = [ranks.above, ranks.tied, *(labels[x] for x in labels if x not in (DATASET, "unit"))]
    looks = [(same, "are equal in all rows: is it one file?")]
    if report.unit == "query" and "targets" in labels and (ranks.origins or "unit" not in labels):
        words = "have the same queries and right answers, and count them apart: "
        words += "ranks.with_labels(unit=ranks.queries) counts them once"
        looks.append(([labels["queries"], labels["targets"]], words))
    for columns, words in looks:
        digests = [digest_rows([x[codes == i] for x in columns]) for i in range(len(names))]
        alike = [i for i, digest in enumerate(digests) if digests.count(digest) > 1]
        if alike:
            number = int(np.isin(codes, alike).sum())
            return number, number, f"{', '.join(str(names[i]) for i in alike)} {words}"
    return NOTHING


def _missing_lists(report: Report) -> Measure:
    """Count the tasks, or queries, without a list, where the task that had them did not do so."""
    lengths = report.ranks.lengths
    if lengths is None or any(each.name == "missing lists" for each in report.task_findings):
        return NOTHING
    places = np.arange(len(lengths))
    if report.model.answers is not None:
        places = report.model.answers.first
    lacking = places[lengths[places] < 0]
    number = len(lacking)
    words = f"{number:,} of {format_count(len(places), report.grammar.unit)} without a list"
    queries = report.ranks.queries
    if number and queries is not None and queries.vocabulary is not None:
        words += f", as {', '.join(map(repr, queries[lacking[:3]]))}"
    return number, number, words


def _missing_rows(report: Report) -> Measure:
    """Count the units that ranks of parts lack: "2 of 3 triples; missing: row 1", if it is known.

    Their units are rows of one task or of several.
    """
    ranks = report.ranks
    if not ranks.origins or not len(ranks):
        return NOTHING
    units_by_task = joining.count_units(ranks)
    lacks: Counter[Any] = Counter()
    for task in ranks.origins:
        names = [name for name, x in units_by_task if x == task.fingerprint]
        for name in names or [None]:
            lacks[name] += max(task.part_of - units_by_task[name, task.fingerprint], 0)
    present = units_by_task.total()
    total = present + lacks.total()
    _, noun = metrics.contributions.unit_codes(ranks, "unit")
    words = f"{present:,} of {format_count(total, noun)}"
    has_unit_a_row = len(ranks.origins) == 1 and ranks.origins[0].rows == total
    if has_unit_a_row and present < total < 1000 * present:  # A file may declare any number.
        missing = without(np.arange(total), distinct(ranks._labels["unit"].codes))
        words += f"; missing: {describe_rows(missing, total)}"
    words += "".join(f"; {name} lacks {n:,}" for name, n in (+lacks).items() if name)
    return total - present, total - present, words


def _missing_sides(report: Report) -> Measure:
    """Count units that lack a side of others: "2 of 5 triples without head: rows 1, 4"."""
    ranks = report.ranks
    if not ranks.origins or not len(ranks) or ranks.side is None:
        return NOTHING
    _, noun = metrics.contributions.unit_codes(ranks, "unit")
    names = [name for name in (DATASET, "unit") if name in ranks.labels]
    # Units of a Task are its rows.
    unit_rows, codes = factorize(*(ranks._labels[name].codes for name in names))
    sides = ranks.side.vocabulary or ()
    has_side = np.zeros((len(unit_rows), len(sides)), np.bool_)
    has_side[codes, ranks.side.codes] = True
    lacks_side = ~has_side & has_side.any(axis=0)
    texts = []
    for i in np.flatnonzero(lacks_side.any(axis=0)).tolist():
        rows = unit_rows[lacks_side[:, i]]
        text = f"{len(rows):,} of {format_count(len(unit_rows), noun)} without {sides[i]}"
        if len(ranks.origins) == 1 and DATASET not in ranks.labels:
            text += f": {describe_rows(rows, ranks.origins[0].rows)}"
        texts.append(text)
    count = int(np.count_nonzero(lacks_side.any(axis=1)))  # It is the grade, too.
    return count, count, "; ".join(texts)


def describe_rows(rows: IntArray, number: int) -> str:
    """Name the first of some rows, and the part that they are, if it is one.

    >>> describe_rows(np.array([2, 5, 8]), 9), describe_rows(np.array([2, 3, 4, 5, 6]), 9)
    ('rows 2, 5, 8 (part 2::3)', 'rows 2, 3, 4, 5, ... (part 2:7)')
    """
    if len(rows) == 1:
        return f"row {rows[0]}"
    text = f"rows {', '.join(map(str, rows[:4].tolist()))}"
    text += ", ..." if len(rows) > 4 else ""
    step = rows[1] - rows[0]
    stop = rows[-1] + 1
    if (np.diff(rows) != step).any():
        return text
    if step == 1:
        return f"{text} (part {rows[0]}:{stop})"
    is_stride = rows[0] < step and rows[-1] + step >= number
    return f"{text} (part {rows[0]}::{step})" if is_stride else text


def _measure_share(report: Report, mask: npt.NDArray[np.bool_]) -> Measure:
    """Return the share of the tasks with weight that a mask has, their number, and it in words."""
    weights = report.weights
    has_weight = np.ones(len(mask), np.bool_) if weights is None else weights > 0
    number = int(np.count_nonzero(mask & has_weight))
    total = int(np.count_nonzero(has_weight))
    share = number / max(total, 1)
    return share, number, f"{number:,} of {format_count(total, 'task')} ({percent(share)})"


def _worse_than_chance(report: Report) -> Measure:
    """Find the first side whose mean rank is many standard errors above that of random scores.

    Where true scores are -inf, as by a mask that hides targets too, the order is named only if the
    other tasks are worse than chance as well.
    """
    ranks = report.ranks
    answers = report.model.answers
    # Of queries the right answers are looked at, where all candidates are ranked.
    is_partial = ranks.listed is not None and not ranks.listed.all()
    if answers is not None and (is_partial or not ranks.candidates.all()):
        return NOTHING
    for side in report.sides:
        mask = report.model.side_mask(side) if answers is None else answers.is_right
        tasks = np.ones(len(ranks), np.bool_) if mask is None else mask
        z = _standard_errors_above(report, tasks)
        if z > STANDARD_ERRORS:
            value = f"mean rank of right answers {ranks.realistic[tasks].mean():.4g}"
            if answers is None:
                key = report.grammar.compose(side, DEFAULT_KIND, "amri")
                value = f"{key} {report[key]:.3g}"
            p = f"p below 1e-{math.floor(z**2 / 2 / math.log(10))}"
            return z, report.tasks(side), f"({value}, {p}): {_explain_high_ranks(report, tasks)}"
    return NOTHING


def _explain_high_ranks(report: Report, tasks: npt.NDArray[np.bool_]) -> str:
    """Say that true scores are masked, what counted as better, or both."""
    protocol = report.protocol
    if protocol.similarity is not None:
        order = f"the similarity is {protocol.similarity}"
    elif protocol.dtype is None:  # There are no scores, but ranks, or lists in order.
        order = "the first counted as the best"
    else:
        order = f"{ORDERS.get(protocol.order, 'scores of several orders')} counted as better"
    masked = report.ranks.masked
    if masked is None or not (tasks & masked).any():
        return order
    number = format_count(int(np.count_nonzero(tasks & masked)), "task")
    reason = f"the true scores of {number} are {LAST_SCORES.get(protocol.order, 'infinite')}"
    if _standard_errors_above(report, tasks & ~masked) > STANDARD_ERRORS:
        reason += f"; {order}"
    return reason


def _standard_errors_above(report: Report, tasks: npt.NDArray[np.bool_]) -> float:
    """How many standard errors the mean rank of some tasks is above that of chance.

    Under chance a rank r is uniform on 1..N, and log E exp(t(r - E r)) <= t**2 (N**2 - 1) / 24 for
    every t, as it is for each factor of sinh(Nt/2) / (N sinh(t/2)), written as an infinite product.
    So z standard errors or more have a probability of at most exp(-z**2 / 2) for independent ranks,
    whatever their candidates and weights; ties, and ranks of one query without repeats, make it
    smaller. Tasks of one target may depend on each other in any way: their standard deviations are
    added (Hölder's inequality), not the variances.
    """
    ranks = report.ranks
    candidates = ranks.candidates[tasks].astype(np.float64)
    weights = np.ones(len(candidates))
    if report.weights is not None:
        weights = report.weights[tasks]
        weights = weights / (weights.max(initial=0.0) or 1.0)  # Squares do not overflow.
    deviations = weights * np.sqrt((candidates - 1) * (candidates + 1) / 12)
    if ranks.targets is not None:
        targets = factorize(ranks.targets.codes[tasks]).codes
        deviations = np.bincount(targets, weights=deviations).astype(np.float64)
    standard_error = math.sqrt(float(np.square(deviations).sum()))
    excess = float((weights * (ranks.realistic[tasks] - (candidates + 1) / 2)).sum())
    return excess / standard_error if standard_error else 0.0


def _ties(report: Report, shown_keys: Collection[Key] = ()) -> Measure:
    """Find the metric that ties move most from its default value, relative to this one.

    Of shown keys it is one without a kind of rank; one that is not adjusted, if there is any.
    """
    tied_tasks = report.summary.tied_tasks
    if not tied_tasks:
        return NOTHING
    without_misses, words_on_misses = _leave_out_misses(report)
    moves = [(0.0, "")]
    for key in _keys_that_ties_move(report, shown_keys):
        # The targets that are listed may have none of this side, and have no groups.
        has_groups = without_misses.by is not None
        if key.side in without_misses.sides and (has_groups or not key.macro):
            moves.append(_moved_by_ties(without_misses, key, words_on_misses))
    grade, words = max(moves, key=itemgetter(0))
    return grade, tied_tasks, words


def _keys_that_ties_move(report: Report, shown_keys: Collection[Key]) -> list[Key]:
    """List those of the shown keys that ties may move; without any, a few that a report has."""
    grammar = report.grammar
    if shown_keys:
        keys = [key for key in shown_keys if key.kind == grammar.default_kind]
        plain_keys = [key for key in keys if key.adjustment == NO_ADJUSTMENT]
        return plain_keys or keys
    sides = [report.sides[0]]
    if UNPOOLED_SIDE in report.sides[1:]:  # It is no part of the first, which pools others.
        sides.append(UNPOOLED_SIDE)
    names = TIE_METRICS if report.model.answers is None else grammar.few
    return [replace(grammar.parse(name), side=side) for side in sides for name in names]


def _leave_out_misses(report: Report) -> tuple[Report, str]:
    """Return a report without what lists miss, which is no tie, and say over what its values are.

    Tasks whose targets are missed are left out; right answers of queries that are count as 0.
    """
    listed = report.ranks.listed
    if report.model.answers is not None:
        if report.protocol.misses == "bounds" and share_missed(report):
            return type(report)(report.ranks.with_protocol(misses=None)), " where misses count as 0"
    elif listed is not None and not listed.all():
        ranks = report.model.ranks[listed]
        return type(report)(ranks, seed=report.seed), " over the targets that are listed"
    return report, ""


def _moved_by_ties(report: Report, key: Key, over: str) -> tuple[float, str]:
    """Return how far ties move a key from its value, relative to it, and say it in words."""
    kinds = {kind: replace(key, kind=kind) for kind in report.grammar.tie_kinds}
    values = {kind: report[str(each)] for kind, each in kinds.items() if not why_no_value(each)}
    value = values[report.grammar.default_kind]
    gap = max(abs(other - value) for other in values.values())
    if not gap > 0:  # It is nan where there is no value.
        return 0.0, ""
    moved = gap / abs(value) if value else math.inf
    # A gap from 0 has no percentage.
    size = f"up to {percent(moved)} of its value" if value else f"up to {gap:.4g} from 0"
    others = ", ".join(f"{kind} {other:.4g}" for kind, other in values.items())
    return moved, f"{key} by {size}{over}: {others}"


CHECKS: dict[str, Callable[[Report], Measure]] = {
    "misses": _misses,
    "worse than chance": _worse_than_chance,
    "ties": _ties,
    "nan": partial(_special_scores, "nan"),
    "inf": partial(_special_scores, "inf"),
    "rescored": partial(_unlike_scores, "differing", "true candidates"),
    "queries": partial(_unlike_scores, "mismatched", "tasks"),
    "few candidates": lambda report: _measure_share(report, report.ranks.candidates <= CUTOFF),
    "unfiltered": _unfiltered,
    "sampled": lambda report: (report.protocol.sampled, len(report.ranks), ""),
    "test candidates": _test_candidates,
    "missing rows": _missing_rows,
    "missing sides": _missing_sides,
    "missing lists": _missing_lists,
    "data sets": _alike_data_sets,
    "missing answers": _missing_answers,
    "joined queries": _joined_queries,
}
CHECKS_OF_TASKS = [name for name in CHECKS if name not in _OF_QUERIES]
