"""Reports as text: JSON, CSV and Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .reporting import Report
    from .summary import Summary

JSON_KIND = "truerank.report"
JSON_FORMAT = 1


def json_text(report: Report, metrics: Iterable[str] | None, indent: int | None) -> str:
    """A JSON object with values, summary and protocol; nan is null."""
    import dataclasses
    import json

    protocol = report.ranks.protocol
    content = {
        "kind": JSON_KIND,
        "format": JSON_FORMAT,
        "metrics": report.to_dict(metrics),
        "summary": report.summary._asdict(),
        "protocol": dataclasses.asdict(protocol),
        "fingerprint": protocol.fingerprint,
        "seed": report.seed,
    }
    return json.dumps(_without_nan(content), indent=indent, allow_nan=False)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def csv_text(report: Report, sides: list[str], kinds: list[str], metrics: list[str]) -> str:
    """Rows of side, tasks, metric and the values by kind, in all their digits."""
    import csv
    import io

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["side", "tasks", "metric", *kinds])
    for side in sides:
        table = _table(report, side, kinds, metrics)
        for metric, values in zip(metrics, table, strict=True):
            writer.writerow([side, report.tasks(side), metric, *map(repr, values)])
    return stream.getvalue()


def markdown_text(
    report: Report, sides: list[str], kinds: list[str], metrics: list[str], digits: int
) -> str:
    """Lines on tasks, protocol and ties, then one table for each side."""
    lines = [_told(report), *_ties_told(report.summary)]
    for side in sides:
        first = f"{_cell(side)} ({_number(report.tasks(side), 'task')})"
        lines += ["", _row([first, *kinds]), _row([":---", *["---:"] * len(kinds)])]
        table = _table(report, side, kinds, metrics)
        for metric, values in zip(metrics, table, strict=True):
            lines.append(_row([metric, *(f"{value:.{digits}g}" for value in values)]))
    return "\n".join([*lines, ""])


def _table(
    report: Report, side: str, kinds: list[str], metrics: list[str]
) -> list[tuple[float, ...]]:
    """A row of values by kind for every metric, computed kind by kind: each is ranked once."""
    columns = [[report[f"{side}.{kind}.{metric}"] for metric in metrics] for kind in kinds]
    return list(zip(*columns, strict=True)) if kinds else [() for _ in metrics]


def _told(report: Report) -> str:
    summary, protocol = report.summary, report.ranks.protocol
    low, high = summary.candidates_min, summary.candidates_max
    sides = " + ".join(f"{_cell(side)} {n:,}" for side, n in summary.sides.items())
    words = [_number(summary.tasks, "task") + (f" ({sides})" if sides else "")]
    if summary.tasks:
        words.append(
            _number(low, "candidate") if low == high else f"{low:,} to {high:,} candidates"
        )
    if report.ranks.weights is not None:
        words.append("weighted")
    return f"{', '.join(words)}; {_cell(str(protocol))} (fingerprint {protocol.fingerprint})."


def _ties_told(summary: Summary) -> list[str]:
    lines = []
    if summary.tied_tasks:
        spread = ", ".join(f"{name} {value:.3g}" for name, value in summary.spread.items())
        lines.append(
            f"{summary.tied_tasks:,} of {_number(summary.tasks, 'task')} tie "
            f"({100 * summary.tied_share:.3g} %): {summary.largest_tie:,} candidates at most, "
            f"{summary.mean_tie:.3g} on average. Optimistic minus pessimistic: {spread}."
        )
    elif summary.tasks:
        lines.append("No task ties: all kinds of rank agree.")
    if summary.audit is not None:
        lines.append(
            f"Among the candidates {summary.audit['nan']:,} NaN, {summary.audit['inf']:,} "
            f"infinite; {summary.audit['at_best']:,} at the best score of a task at most."
        )
    return lines


def _number(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """Text that a Markdown table takes as it is."""
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())
