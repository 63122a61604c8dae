"""What a report says of itself: how many tasks, candidates and ties it has, and what it counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..metrics.keys import ALL_SIDES
from ..naming import format_count, percent, public
from ..ranks import container

if TYPE_CHECKING:
    from .reports import Report

SHORT_METRICS = ("mrr", "hits@10", "amri")  # A repr shows these.
# In these words the line above a table says what becomes of right answers that their lists miss.
MISSES = {"zero": "count as 0", "bounds": "have bounds", "expected": "count by their mean"}

# -- summary ---------------------------------------------------------------------------------------


@public("truerank.reporting")
@dataclass(frozen=True)
class Summary:
    """Numbers of tasks, candidates and ties, whatever the weights.

    Attributes
    ----------
    tasks : int
    candidates_min, candidates_max : int
        The range of the number of candidates; 0 without tasks, and where it was not given.
    tied_tasks : int
        The number of tasks whose true candidate ties with another one. Targets that their lists
        miss are not counted: they are bounded, not tied.
    largest_tie, mean_tie : int, float
        The number of candidates in a tie, the true one included: the largest, and the mean over
        the tied tasks; 1 and nan where no task ties.
    audit : dict of str to int, or None
        The results of a count with `audit=True`. `nan`, `inf`: the numbers of such candidates over
        all tasks. `at_best`: the largest number of candidates with the best score of a task.
        `differing`: the number of true candidates with another score in their block. `mismatched`:
        that of tasks whose row differs from the first row of their query.

    Examples
    --------
    >>> import truerank as tr
    >>> tr.report(tr.Ranks([0, 3], [1, 2], 10)).summary.tied_tasks
    1
    """

    tasks: int
    candidates_min: int
    candidates_max: int
    tied_tasks: int
    largest_tie: int
    mean_tie: float
    audit: dict[str, int] | None


def summarize(report: Report) -> Summary:
    """Sum up the tasks of a report, of queries their right answers; what lists miss is no tie."""
    ranks = report.ranks
    candidates = ranks.candidates
    answers = report.model.answers
    if answers is not None:
        ranks = ranks[answers.is_right]
        candidates = answers.candidates  # A list counts here with all that it misses.
    tied = container.tie_sizes(ranks.tied, ranks.listed)
    ties = tied[tied > 1]
    counts = None
    if ranks.audit is not None:
        counts = {name: int(numbers.sum()) for name, numbers in ranks.audit._asdict().items()}
        counts["at_best"] = int(ranks.audit.at_best.max(initial=0))
    return Summary(
        tasks=len(ranks),
        candidates_min=int(candidates.min()) if len(candidates) else 0,
        candidates_max=int(candidates.max(initial=0)),
        tied_tasks=len(ties),
        largest_tie=int(ties.max(initial=1)),
        mean_tie=float(ties.mean()) if len(ties) else math.nan,
        audit=counts,
    )


def kinds_differ(report: Report) -> bool:
    """Whether kinds of rank may differ: where tasks tie, and where misses have bounds."""
    if report.model.answers is not None:
        has_bounds = report.protocol.misses == "bounds" and bool(share_missed(report))
        return report.summary.tied_tasks > 0 or has_bounds
    return bool((report.ranks.tied > 1).any())


def share_missed(report: Report) -> float | None:
    """Return the share of the right answers of queries that lists miss; None without either."""
    answers = report.model.answers
    if answers is None or report.ranks.listed is None or not answers.is_right.any():
        return None
    return float(1 - report.ranks.listed[answers.is_right].mean())


# -- words -----------------------------------------------------------------------------------------


def lines_above(report: Report) -> list[str]:
    """Say what was counted, among how many candidates: the lines above a table."""
    if report.model.answers is not None:
        return _query_lines(report)
    summary = report.summary
    protocol = report.protocol
    tasks = format_count(summary.tasks, f"{protocol.split or ''} task".strip())
    sides = [f"{side} {report.tasks(side):,}" for side in report.sides if side != ALL_SIDES]
    if sides:
        tasks += f" ({', '.join(sides)})"
    words = [tasks]
    if summary.tasks:
        noun = "sampled candidate" if protocol.sampled else "candidate"
        words.append(describe_candidates(summary.candidates_min, summary.candidates_max, noun))
    if protocol.filter == ("unnamed",):  # It was handed over as columns.
        words.append("filtered")
    elif protocol.filter:
        words.append(f"filtered by {' + '.join(protocol.filter)}")
    else:
        words.append("unfiltered")
    if protocol.ties:
        words.append(f"ties {protocol.ties}")
    elif summary.tied_tasks:
        verb = "is" if summary.tied_tasks == 1 else "are"
        words.append(f"{format_count(summary.tied_tasks, 'task')} {verb} tied")
    elif summary.tasks:
        words.append("no ties")
    words.append(report.weighting)
    words.append(f"similarity {protocol.similarity}" if protocol.similarity else "")
    return [f"{', '.join(filter(None, words))}."]


def _query_lines(report: Report) -> list[str]:
    """Say how many queries there are, among how many candidates, and what their lists miss."""
    summary = report.summary
    protocol = report.protocol
    sizes = _query_sizes(report)
    if not summary.tasks:
        return [sizes]
    tied = describe_tied_lists(report) or f"{summary.tied_tasks:,} of them tied"
    if protocol.ties:
        tied = f"ties {protocol.ties}"
    lines = [f"{sizes}, {tied}"]
    if summary.candidates_min:  # It was given.
        candidates = describe_candidates(summary.candidates_min, summary.candidates_max)
        lines[0] += f", among {candidates}"
    if protocol.similarity:
        lines[0] += f", similarity {protocol.similarity}"
    missed = share_missed(report)
    if missed is not None:
        share = f"{percent(missed)} of the right answers"
        line = f"{share} are missed by their lists and {MISSES[protocol.misses or 'zero']}"
        if report.ranks.lengths is not None:  # No metric counts further, whatever its cutoff.
            longest = int(report.ranks.lengths.max(initial=0))
            line += f"; the longest has {format_count(longest, 'candidate')}"
        lines.append(line)
    if report.without_answers:
        number = format_count(report.without_answers, "query")
        counted = "left out" if protocol.answerless is None else "counted as 0"
        lines.append(f"{number} without a right answer {counted}")
    if protocol.relevance_level:
        lines.append(f"answers are right from a gain of {protocol.relevance_level:g} on")
    return lines


def _query_sizes(report: Report) -> str:
    """Write the numbers of queries and of their right answers."""
    answers = format_count(report.summary.tasks, "right answer")
    return f"{format_count(report.tasks(), 'query')} with {answers}"


def describe_candidates(least: int, most: int, noun: str = "candidate") -> str:
    """Write the range of the number of candidates."""
    if least == most:
        return format_count(most, noun)
    return f"{least:,} to {most:,} {noun}s"


def repr_words(report: Report) -> list[str]:
    """List what the repr of a report says: its sizes, and a few of its values."""
    grammar = report.grammar
    if report.model.answers is not None:
        words = [_query_sizes(report)]
        keys = list(grammar.few)
    else:
        ties = report.protocol.ties
        tied = f"ties {ties}" if ties else f"{report.summary.tied_tasks:,} tied"
        words = [format_count(report.summary.tasks, "task"), tied]
        if report.by is not None:
            words.append(format_count(len(report._labels), "group"))
        side = report.sides[0]
        keys = [grammar.compose(side, grammar.default_kind, name) for name in SHORT_METRICS]
    return words + [f"{key} {report[key]:.4g}" for key in keys if key in report]


def describe_tied_lists(report: Report) -> str:
    """Say how many lists of an index are tied, by scores that ranks made of hits do not have."""
    tied = sum(each.count for each in report.task_findings if each.name == "tied lists")
    return f"{tied:,} of {format_count(report.tasks(), 'list')} tied" if tied else ""
