"""What a report has beside its values: summary, groups, the lines above its table, and JSON."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..inputs.checks import unique_keys
from ..metrics.averages import DEFAULT_KIND
from ..metrics.keys import ALL_SIDES, MACRO, RANK_KEYS, Grammar
from ..naming import format_count, percent, public
from ..ranks.container import ties_of
from ..tables import forms

if TYPE_CHECKING:
    from ..tables.as_table import Names
    from .reports import Report

SHORT_METRICS = ("mrr", "hits@10", "amri")  # A repr shows these.
JSON_FORMAT = 1
JSON_KINDS = {"task": "truerank.report", "query": "truerank.retrieval"}
# In these words the line above a table says what becomes of right answers that their lists miss.
MISSES = {"zero": "count as 0", "bounds": "have bounds", "expected": "count by their mean"}


@public("truerank.reporting")
class Summary(NamedTuple):
    """Numbers of tasks, candidates and ties, whatever the weights.

    Attributes
    ----------
    tasks : int
    candidates_min, candidates_max : int
        The range of the number of candidates; 0 without tasks.
    tied_tasks : int
        The number of tasks whose true candidate ties with another one. Targets that their lists
        miss are not counted: they are bounded, not tied.
    largest_tie, mean_tie : int, float
        The number of candidates in a tie, the true one included: the largest, and the mean over
        the tied tasks; 1 and nan where no task ties.
    audit : dict of str to int, or None
        The results of a count with `audit=True`: the numbers of candidates that are `nan` and
        `inf` over all tasks, the largest number of candidates with the best score of a task,
        `at_best`, the number of true candidates with another score in their block, `differing`, and
        that of tasks whose row differs from the first row of their query, `mismatched`.

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


def summary_of(report: Report) -> Summary:
    """Sum up the tasks of a report; of queries their right answers. What a list misses is no tie.

    Examples
    --------
    >>> import truerank as tr
    >>> ranks = tr.Ranks([0, 3, 1], [1, 2, 9], 10, listed=[True, True, False])
    >>> summary_of(tr.report(ranks)).mean_tie
    2.0
    """
    ranks = report.ranks
    candidates = ranks.candidates
    if report.unit == "query":
        ranks = ranks[report._answered.is_right]
        candidates = report.candidates  # A list counts here with all that it misses.
    tied = ties_of(ranks.tied, ranks.listed)
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
    if report.unit == "query":
        has_bounds = report.protocol.misses == "bounds" and bool(share_missed(report))
        return report.summary.tied_tasks > 0 or has_bounds
    return bool((report.ranks.tied > 1).any())


def share_missed(report: Report) -> float | None:
    """Return the share of the right answers of queries that lists miss; None without lists."""
    is_right = report._answered.is_right
    if report.ranks.listed is None or not is_right.any():
        return None
    return float(1 - report.ranks.listed[is_right].mean())


def compose_key(side: str, kind: str, metric: str, grammar: Grammar = RANK_KEYS) -> str:
    """Join side, kind and metric to a key, without defaults.

    Examples
    --------
    >>> compose_key("tail", "realistic", "amri")
    'tail.amri'
    """
    words = [word for word in (side, kind) if word not in (ALL_SIDES, grammar.default_kind)]
    words.append(metric)
    return ".".join(words)


def listed_keys(report: Report) -> list[str]:
    """List the keys that a report has as a mapping: where all kinds are alike, those of one alone.

    Examples
    --------
    >>> import truerank as tr
    >>> listed_keys(tr.report(tr.Ranks([0], [1], 10)))[:2]
    ['mr', 'mrr']
    """
    grammar = report.grammar
    kinds = grammar.listed_kinds
    if report.unit == "task" and not kinds_differ(report):
        kinds = (grammar.default_kind,)
    keys = []
    for side, kind, metric in itertools.product(report.sides, kinds, grammar.listed):
        keys.append(compose_key(side, kind, metric, grammar))
    if report.by is not None:
        for side, metric in itertools.product(report.sides, grammar.listed):
            if report.read_key(metric).adjustment != "z":
                key = compose_key(side, grammar.default_kind, metric, grammar)
                keys.append(f"{MACRO}.{key}")
    return keys


# -- words -----------------------------------------------------------------------------------------


def lines_above(report: Report) -> list[str]:
    """Say what was counted, among how many candidates: the lines above a table."""
    if report.unit == "query":
        return _lines_of_queries(report)
    summary = report.summary
    protocol = report.protocol
    sides = [f"{side} {report.tasks(side):,}" for side in report.sides if side != ALL_SIDES]
    number = format_count(summary.tasks, f"{protocol.split or ''} task".strip())
    if sides:
        number += f" ({', '.join(sides)})"
    words = [number]
    if summary.tasks:
        noun = "candidate" if summary.candidates_max == 1 else "candidates"
        if protocol.sampled:
            noun = f"sampled {noun}"
        words.append(f"{_range_of_candidates(summary)} {noun}")
    if protocol.filter:
        words.append(f"filtered by {' + '.join(protocol.filter)}")
    else:
        words.append("unfiltered")
    if summary.tied_tasks == 1:
        words.append("1 task is tied")
    elif summary.tied_tasks:
        words.append(f"{summary.tied_tasks:,} tasks are tied")
    elif summary.tasks:
        words.append("no ties")
    if report.weighting:
        words.append(report.weighting)
    return [f"{', '.join(words)}."]


def _lines_of_queries(report: Report) -> list[str]:
    summary = report.summary
    protocol = report.protocol
    sizes = _sizes_of_queries(report)
    if not summary.tasks:
        return [sizes]
    tied = f"{summary.tied_tasks:,} of them tied"
    lines = [f"{sizes}, {tied}, among {_range_of_candidates(summary)} candidates"]
    missed = share_missed(report)
    if missed is not None:
        share = f"{percent(missed)} of the right answers"
        line = f"{share} are missed by their lists and {MISSES[protocol.misses or 'zero']}"
        if report.ranks.lengths is not None:  # No metric counts further, whatever its cutoff.
            longest = int(report.ranks.lengths.max())
            line += f"; the longest has {format_count(longest, 'candidate')}"
        lines.append(line)
    if report.without_answers:
        number = format_count(report.without_answers, "query", "queries")
        counted = "left out" if protocol.answerless is None else "counted as 0"
        lines.append(f"{number} without a right answer {counted}")
    if protocol.relevance_level:
        lines.append(f"answers are right from a gain of {protocol.relevance_level:g} on")
    return lines


def _sizes_of_queries(report: Report) -> str:
    queries = format_count(report.tasks(), "query", "queries")
    answers = format_count(report.summary.tasks, "right answer")
    return f"{queries} with {answers}"


def _range_of_candidates(summary: Summary) -> str:
    low = summary.candidates_min
    high = summary.candidates_max
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def words_of_repr(report: Report) -> list[str]:
    """List what the repr of a report says: its sizes, and a few of its values."""
    if report.unit == "query":
        words = [_sizes_of_queries(report)]
        keys = list(report.grammar.few)
    else:
        summary = report.summary
        words = [format_count(summary.tasks, "task"), f"{summary.tied_tasks:,} tied"]
        if report.by is not None:
            words.append(format_count(len(report._labels), "group"))
        keys = [compose_key(report.sides[0], DEFAULT_KIND, name) for name in SHORT_METRICS]
    return words + [f"{key} {report[key]:.4g}" for key in keys if key in report]


# -- JSON ------------------------------------------------------------------------------------------


def write_json(report: Report, metrics: Names, indent: int | None) -> str:
    """Write a report as JSON, with some keys or those that it lists."""
    keys = list(report) if metrics is None else unique_keys(metrics)
    columns = keys
    if metrics is None:  # One kind of rank is enough for many groups.
        default = report.grammar.default_kind
        columns = [key for key in keys if report.read_key(key).kind == default]
    return forms.write_json(json_content(report, keys, columns), indent)


def json_content(report: Report, keys: Sequence[str], columns: Iterable[str]) -> dict[str, Any]:
    """Return the JSON object with some keys, of which groups have some columns."""
    protocol = report.protocol
    content: dict[str, Any] = {
        "kind": JSON_KINDS[report.unit],
        "format": JSON_FORMAT,
        "metrics": report.to_dict(keys),
        "summary": report.summary,
        "protocol": protocol,
        "seed": report.seed,
        "weighting": report.weighting,
        "sides": report.model.sides.counts,
        "findings": report.audit(),
        "groups": None,
    }
    if report.by is not None:
        values = {}
        for key in columns:
            parsed = report.read_key(key)
            if not parsed.macro:
                values[key] = report._value_by_group(parsed).tolist()
        content["groups"] = {
            "by": report.by,
            "labels": list(report._labels),
            "tasks": {
                side: report._size_by_group(side).tolist() for side in report.model.sides.counts
            },
            "metrics": values,
        }
    if report.unit == "query":
        missed = share_missed(report)
        longest = None
        if missed is not None and report.ranks.lengths is not None:
            longest = int(report.ranks.lengths.max())
        content |= {
            "queries": report.tasks(),
            "without_answers": report.without_answers,
            "misses": protocol.misses or "zero",
            "answers": report.summary.tasks,
            "missed": missed,
            "longest": longest,
            "relevance_level": protocol.relevance_level or 0.0,
            "answerless": protocol.answerless or "omit",
        }
    content["fingerprint"] = protocol.fingerprint
    return content
