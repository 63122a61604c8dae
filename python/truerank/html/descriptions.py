"""Describe in words how ranks were counted, and how intervals were computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..inference.units import describe_units
from ..metrics.keys import ALL_SIDES
from ..tables.cells import format_count

if TYPE_CHECKING:
    from ..inference.intervals import Interval
    from ..ranks.protocol import Protocol
    from ..reporting.reports import Report

NAN = {
    "raise": "an error; there was none among the candidates",
    "worst": "a candidate with the worst score",
    "omit": "no candidate",
}
ORDER = {"descending": "higher is better", "ascending": "lower is better", "mixed": "mixed"}


def describe_evaluation(report: Report) -> dict[str, str]:
    """Describe what was evaluated and how: texts by name, which are empty if nothing is known.

    Examples
    --------
    >>> import truerank as tr
    >>> protocol = tr.Protocol(filter=("train", "valid"), split="valid")
    >>> found = describe_evaluation(tr.report(tr.Ranks([0, 3], [1, 1], [9, 10], protocol=protocol)))
    >>> found["Tasks"], found["Candidates"], found["Known answers"]
    ('2', 'all, 9 to 10 in a task', 'those of train and valid are left out (filtered)')
    """
    protocol = report.protocol
    by = "" if report.by is None else f"{report.by}; in macro averages {report.macro_weighting}"
    return {
        "Split": protocol.split or "not named",
        "Tasks": _describe_tasks(report),
        "Candidates": _describe_candidates(report),
        "Known answers": _describe_filter(protocol),
        "NaN": NAN[protocol.nan],
        "Scores": ", ".join(filter(None, (protocol.dtype, ORDER[protocol.order]))),
        "Similarity": protocol.similarity or "",
        "Weights": report.weighting,
        "Groups": by,
        "Files": ", ".join(protocol.files),
        "Counted by": f"truerank {protocol.version}" if protocol.version else "",
        "Fingerprint": f"{protocol.fingerprint}; results compare where theirs agree",
    }


def citation(report: Report, values: str) -> str:
    """Write a sentence to quote with the numbers: kind of rank, tasks, protocol, version.

    Examples
    --------
    >>> import truerank as tr
    >>> print(citation(tr.report(tr.Ranks([0], [1], 10)), "mrr 1"))
    mrr 1 (realistic ranks unless said; 1 task; unfiltered, all candidates, nan raise; fingerprint a641f68e38144777)
    """  # noqa: E501
    protocol = report.protocol
    parts = [
        "realistic ranks unless said",
        format_count(report.tasks(report.sides[0]), "task"),
        report.weighting,
        str(protocol),
        f"truerank {protocol.version}" if protocol.version else "",
        f"fingerprint {protocol.fingerprint}",
    ]
    return f"{values} ({'; '.join(filter(None, parts))})"


def interval_lines(intervals: Mapping[str, Interval]) -> list[str]:
    """Describe how intervals were computed, and why some have no bounds.

    Parameters
    ----------
    intervals : mapping of str to Interval
        The intervals by key.

    Returns
    -------
    list of str
        A sentence for all intervals that were computed in the same way.

    Examples
    --------
    >>> import truerank as tr
    >>> measured = tr.report(tr.Ranks([0, 3, 1], [1, 1, 1], 10))
    >>> interval_lines({"mrr": measured.interval("mrr")})
    ['Intervals of mrr: 95 %, t, 3 tasks.']
    """
    alike: dict[str, list[str]] = {}
    for key, found in intervals.items():
        units = describe_units(found.units, found.by)
        how = f"{100 * found.level:g} %, {found.method}, {units}"
        alike.setdefault(how, []).append(key)
    lines = [f"Intervals of {', '.join(keys)}: {how}." for how, keys in alike.items()]
    missing = [key for key, found in intervals.items() if math.isnan(found.low)]
    lines += [f"No bounds of {', '.join(missing)}: fewer than 2 units, or no value."] * bool(
        missing
    )
    return lines


def _describe_tasks(report: Report) -> str:
    sides = [f"{side} {report.tasks(side):,}" for side in report.sides if side != ALL_SIDES]
    total = report.tasks(report.sides[0])
    return f"{total:,}" + (f" ({', '.join(sides)})" if sides else "")


def _describe_candidates(report: Report) -> str:
    protocol: Protocol = report.protocol
    words = [protocol.candidates]
    words += ["sampled"] if protocol.sampled and "sampled" not in protocol.candidates else []
    summary = report.held_summary()
    if summary is not None and summary.tasks:
        low, high = summary.candidates_min, summary.candidates_max
        words.append(f"{low:,} in a task" if low == high else f"{low:,} to {high:,} in a task")
    return ", ".join(words)


def _describe_filter(protocol: Protocol) -> str:
    if not protocol.filter:
        return "candidates like all others (unfiltered)"
    rule = f", by the rule {protocol.filter_rule!r}" if protocol.filter_rule else ""
    return f"those of {_join_words(protocol.filter)} are left out (filtered{rule})"


def _join_words(words: Sequence[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
