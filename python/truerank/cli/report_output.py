"""Evaluates, saves the ranks, prints their report and writes its page: one way for all protocols.

Ranks say themselves what they are of: a report of retrieval labels its ranks with how many right
answers their query has, and such ranks are reported by query, whichever command saved them.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import click

from .. import Report, report
from ..errors import InputValueError
from ..inference.intervals import why_no_interval
from ..naming import import_extra
from ..reporting.report_table import table_of_keys
from .files import files_read
from .options import MEASURED, Given, refuse, take
from .output import check_printing, command_line, show

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from .. import Ranks
    from ..records.split_audit import SplitAudit
    from ..reporting.base_report import BaseReport
    from ..tables import AsTable

SAVED = "saved ranks"


def kind_of_report(ranks: Ranks) -> type[BaseReport]:
    """Return which reports ranks have: that of queries with several right answers, or of ranks.

    Examples
    --------
    >>> import truerank as tr
    >>> kind_of_report(tr.Ranks([0], [1], 10))
    <class 'truerank.reporting.reports.Report'>
    """
    if ranks.answers is None:
        return Report
    from ..retrieval import RetrievalReport  # Reports of other ranks do not need it.

    return RetrievalReport


def rules_of(kind: type[BaseReport], given: Given) -> Given:
    """Take the rules that reports of this kind have: of retrieval what a right answer is."""
    return {} if kind is Report else take(given, "relevance_level")


def report_of(ranks: Ranks, grouping: Given, made: BaseReport | None = None) -> BaseReport:
    """Return the report of ranks, by what they are of.

    Parameters
    ----------
    ranks : Ranks
    grouping : dict
        The groups, weights and seed; of retrieval the level of right answers, and what becomes of
        queries without one.
    made : BaseReport, optional
        An earlier report of the same ranks, which knows which lists were used.
    """
    if kind_of_report(ranks) is Report:
        return report(ranks, **grouping)
    if "weights" in grouping:
        raise InputValueError("--weights", "every query of retrieval counts once")
    from ..retrieval import report as retrieval_report  # as above

    found = retrieval_report(ranks, **take(dict(grouping), "by answerless relevance_level"))
    if isinstance(made, type(found)):
        of_lists = made._answered
        known = of_lists.names_in_lists, of_lists.known_in_lists
        found._tell_lists(made.list_use, of_lists.longest_list, *known)
    return found


def show_report(
    evaluate: Callable[[], Any],
    given: Given,
    what: str,
    *,
    kind: type[BaseReport] = Report,
    told: Sequence[str] = (),
    split_audit: SplitAudit | None = None,
    title: str | None = None,
) -> None:
    """Evaluate a task, save its ranks, print their report, and write its page.

    Parameters
    ----------
    evaluate : callable
        Returns the report of all tasks.
    given : dict
        The options of reports, of which none may be left.
    what : str
        What is evaluated, for the error that an option cannot apply to it.
    kind : type
        The class of the report.
    told : sequence of str
        Lines that stand below a report in any case.
    split_audit : SplitAudit, optional
        What --audit shows beside the findings of the report.
    title : str, optional
        The title of the page.
    """
    printing = take(given, f"{MEASURED} kinds")
    asked = take(given, "save html audit interval")
    grouping = take(given, "by weights seed")
    refuse(given, what)
    keys: list[str] = [] if printing.get("metrics", "all") == "all" else printing["metrics"]
    read_keys = list(map(kind.read_key, keys))  # Unknown keys are refused before a long count.
    has_rows = any(key != kind.form.column_of(key) for key in read_keys)
    if "html" in asked:
        import_extra("matplotlib", "an HTML page", "plot")
    style = check_printing(printing, save=asked.get("save"), html=asked.get("html"))
    if "kinds" in printing and (style == "json" or has_rows):
        raise click.UsageError(
            "--kinds chooses rows of the report; beside JSON and keys of a kind name kinds in "
            "--metrics, as optimistic.mrr"
        )

    made = evaluate_and_save(evaluate, asked.get("save"), grouping, what)
    findings: list[str] = [] if split_audit is None else str(split_audit).splitlines()
    lines = []
    if made.protocol.similarity is not None and style == "text":
        lines.append(f"Similarity of vectors: {made.protocol.similarity}.")
    lines += told
    if "audit" in asked:
        every_finding = findings + list(map(str, made.audit()))
        lines += every_finding or ["Nothing was found that makes these numbers suspect."]
    if "html" in asked:
        from ..page import save as save_page  # It needs matplotlib.

        line = command_line()
        metrics = keys or None
        save_page(asked["html"], made, command=line, title=title, metrics=metrics, notes=findings)
    content = None
    if style == "json":
        content = content_of(made, keys, has_intervals="interval" in asked)
        if "audit" in asked and split_audit is not None:
            content["split_audit"] = split_audit.to_dict()
    result: AsTable = made
    if has_rows:
        of_keys = {"percent": printing.pop("percent", False), "interval": "interval" in asked}
        result = table_of_keys(made, printing.pop("metrics"), **of_keys)
    elif "interval" in asked:
        printing["interval"] = True
    show(result, printing, content, lines)


def content_of(made: BaseReport, keys: Sequence[str], *, has_intervals: bool) -> dict[str, Any]:
    """Return the JSON object of a report, with the keys that were asked for or all it lists.

    The intervals are those of the keys, or of the metrics that tables show, without macro averages
    and z, which have none; and of groups the same.
    """
    content: dict[str, Any] = json.loads(made.to_json(keys or None))
    if has_intervals:
        keys = [key for key in keys or made.few if not why_no_interval(made.read_key(key))]
        content["intervals"] = {key: made.interval(key).to_dict() for key in keys}
        if made.by is not None:
            content["groups"]["intervals"] = {
                key: [
                    None if math.isnan(group[key]) else group.interval(key).to_dict()
                    for group in made.groups.values()
                ]
                for key in keys
            }
    return content


def evaluate_and_save(
    evaluate: Callable[[], Any], path: Path | None, grouping: Given, what: str
) -> BaseReport:
    """Evaluate a task, save its ranks, and return their report with the groups and weights."""
    made: BaseReport = evaluate()
    ranks = made.ranks if what == SAVED else made.ranks.with_protocol(files=files_read())
    if path is not None:  # Ranks are saved before anything else can fail.
        ranks.save(path)
    if "by" not in grouping and made.by is not None:
        grouping["by"] = made.by  # The ranks of retrieval have its groups as a label.
    return report_of(ranks, grouping, made)
