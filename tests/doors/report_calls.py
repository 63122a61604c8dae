"""Good calls of reports, tables, metrics, inference, plots and pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import truerank as tr
from doors.calls import Call
from doors.counting_calls import SCORES, TARGETS, some_ranks
from support.query_reports import query_report


def table_calls(
    name: str, result: Any, folder: Path, skipped: tuple[str, ...] = ()
) -> Iterator[Call]:
    """Yield the calls of the methods that every result with a table has."""
    for method in ("to_csv", "to_html", "to_json", "to_latex", "to_markdown", "to_pandas"):
        yield Call(f"{name}.{method}", getattr(result, method), {})
    yield Call(f"{name}.to_text", result.to_text, {})
    yield Call(f"{name}.table", result.table, {})
    yield Call(f"{name}.save", result.save, {"path": folder / "saved.json"})


def report_calls(folder: Path) -> list[Call]:
    """Return the calls of reports of tasks and of queries."""
    report = tr.report(some_ranks(), by="relation")
    lists = query_report(some_ranks().with_weights(None), gains=[1.0, 2.0, 1.0, 1.0])
    return [
        Call("report", tr.report, {"ranks": some_ranks()}),
        Call("Report", tr.Report, {"ranks": some_ranks()}),
        Call("Report.chance", report.chance, {"metric": "mrr"}),
        Call("Report.contributions", report.contributions, {"key": "mrr"}),
        Call("Report.by_query", lists.by_query, {}),
        Call("Report.per_query", lists.per_query, {"key": "mrr"}),
        Call("Report.success_at", lists.success_at, {"cutoffs": [1, 2]}),
        Call("Report.audit", report.audit, {}),
        Call("Report.macro_left_out", report.macro_left_out, {"key": "macro.mrr"}),
        Call("Report.tasks", report.tasks, {}),
        Call("Report.group_tasks", report.group_tasks, {}),
        Call("Report.group_values", report.group_values, {"key": "mrr"}),
        Call("Report.interval", report.interval, {"metric": "mrr"}),
        Call("Report.read_key", report.read_key, {"key": "mrr"}),
        Call("Report.to_dict", report.to_dict, {}),
        *table_calls("Report", report, folder),
    ]


def shown_calls(folder: Path) -> list[Call]:
    """Return the calls of tables, pages and plots."""
    table = tr.Table({"model": ["a", "b"], "mrr": [0.5, 0.25]})
    reports = {"a": tr.report(some_ranks()), "b": tr.report(some_ranks())}
    grouped = tr.report(some_ranks(), by="relation")
    calls = [
        Call("Table", tr.Table, {"columns": ["model", "mrr"], "rows": [["a", 0.5]]}),
        Call("table", tr.table, {"reports": reports}),
        Call("table", tr.table, {"reports": {"a": grouped}, "groups": True, "kinds": "auto"}),
        Call("page.save", tr.page.save, {"path": folder / "page.html", "reports": reports}),
        Call("plot.groups", tr.plot.groups, {"report": grouped}),
        Call("plot.hits_curve", tr.plot.hits_curve, {"reports": reports}),
        Call("plot.rank_distribution", tr.plot.rank_distribution, {"reports": reports}),
    ]
    calls += table_calls("Table", table, folder)
    return calls


def metric_calls(folder: Path) -> list[Call]:
    """Return the calls of metrics and inference."""
    ranks = some_ranks()
    models = {"a": ranks, "b": ranks}
    of_metric = {"metric": "mrr", "candidates": [5, 5, 5]}
    comparisons = tr.compare(models, metric="mrr")
    published = {"metric": "mrr", "value": 0.5, "candidates": 10, "tasks": 5}
    calls = [
        Call("adjust", tr.adjust, published),
        Call("chance", tr.chance, of_metric),
        Call("compare", tr.compare, {"a": ranks, "b": ranks, "metric": "mrr"}),
        Call("inference.interval", tr.inference.interval, {"ranks": ranks, "metric": "mrr"}),
    ]
    calls += table_calls("inference.Comparisons", comparisons, folder)
    return calls


def compat_calls(folder: Path) -> list[Call]:
    """Return the calls of what computes other toolkits' numbers."""
    compat = tr.compat
    scores = {"scores": SCORES, "targets": TARGETS}
    bare = {"scores": [0.5, 0.25], "others": [[0.5, 0.75], [0.25, 0.125]]}
    presets = ["ogb", "pykeen"]
    report = compat.report(**scores, preset="ogb")
    table = compat.table(**scores, presets=presets)
    figure = next(iter(report))
    convention = compat.Convention()
    calls = [
        Call("compat.report", compat.report, scores | {"preset": "ogb"}),
        Call("compat.table", compat.table, bare | {"presets": presets}),
        Call("compat.CompatReport.bounds", report.bounds, {"name": figure}),
        Call("compat.CompatReport.corrected", report.corrected, {"name": figure}),
        Call("compat.CompatReport.printed", report.printed, {"name": figure}),
        Call("compat.Convention", compat.Convention, {}),
        Call("compat.Convention.says", convention.says, {"name": "nan"}),
    ]
    calls += table_calls("compat.CompatReport", report, folder)
    calls += table_calls("compat.CompatTable", table, folder)
    return calls
