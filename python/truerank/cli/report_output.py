"""Evaluates, saves the ranks, prints their report and writes its page: one way for all protocols.

Ranks say themselves what they are of: a report of retrieval labels its ranks with how many right
answers their query has, and such ranks are reported by query, whichever command saved them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .. import Report, report
from ..inputs.errors import InputValueError
from ..inputs.naming import import_extra, printable
from ..page import save as save_page
from ..retrieval.report import RetrievalReport
from ..retrieval.report import report as retrieval_report
from ..tables import Column, Table
from .files import files_read
from .key_tables import KeyTable, tab_separated, values_by_query
from .options import MEASURED, Given, refuse, take
from .output import check_printing, command_line, show, write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from .. import Ranks
    from ..reporting.keyed_values import KeyedValues
    from ..splits.split_audit import SplitAudit
    from ..tables import AsTable

SAVED = "saved ranks"


def kind_of_report(ranks: Ranks) -> type[KeyedValues]:
    """Return which reports ranks have: that of queries with several right answers, or of ranks.

    Examples
    --------
    >>> import truerank as tr
    >>> kind_of_report(tr.Ranks([0], [1], 10))
    <class 'truerank.reporting.reports.Report'>
    """
    if ranks.answers is not None:
        return RetrievalReport
    return Report


def report_of(ranks: Ranks, grouping: Given, made: KeyedValues | None = None) -> KeyedValues:
    """Return the report of ranks, by what they are of.

    Parameters
    ----------
    ranks : Ranks
    grouping : dict
        The groups, weights and seed.
    made : KeyedValues, optional
        An earlier report of the same ranks, which knows which lists were used.
    """
    if kind_of_report(ranks) is Report:
        return report(ranks, **grouping)
    if "weights" in grouping:
        raise InputValueError("--weights", "every query of retrieval counts once")
    found = retrieval_report(ranks, by=grouping.get("by"))
    if isinstance(made, RetrievalReport):
        found._tell_lists(made.list_use, made._answered.longest_list)
    return found


class Asked(NamedTuple):
    """What is to be shown of a report, and where.

    Attributes
    ----------
    keys : list of str
        Those that --metrics names; empty for the usual ones and for all.
    printing : dict
        How results are printed.
    """

    keys: list[str]
    printing: Given
    kind: type[KeyedValues]
    saved: Path | None
    page: Path | None
    has_audit: bool
    has_intervals: bool
    by_query: bool

    @classmethod
    def take(cls, given: Given, kind: type[KeyedValues]) -> Asked:
        """Take what was asked for; keys are checked, as a count may take long."""
        options = set(given)
        printing = take(given, f"{MEASURED} kinds")
        keys: list[str] = [] if printing.get("metrics", "all") == "all" else printing["metrics"]
        asked = cls(
            keys=keys,
            printing=printing,
            kind=kind,
            saved=given.pop("save", None),
            page=given.pop("html", None),
            has_audit=given.pop("audit", False),
            has_intervals=given.pop("interval", False),
            by_query=given.pop("per_query", False),
        )
        if asked.has_intervals and not keys:
            raise click.UsageError("--interval needs --metrics, whose intervals it gives")
        if asked.by_query:
            beside = [name for name in ("by", "interval", "percent") if name in options]
            if beside:
                problem = f"-q gives values of queries, and cannot stand beside --{beside[0]}"
                raise click.UsageError(problem)
        if "kinds" in printing and (asked.by_query or asked.needs_key_values):
            raise click.UsageError(
                "--kinds chooses rows of the report; beside -q, --interval and keys of a kind name "
                "kinds in --metrics, as optimistic.mrr"
            )
        return asked

    @property
    def needs_key_values(self) -> bool:
        """Whether a column of a report cannot show the keys: intervals, and keys of a row."""
        form = self.kind.form
        keys = list(map(self.kind.read_key, self.keys))  # an unknown one is an error now
        return self.has_intervals or any(key != form.column_of(key) for key in keys)


def show_report(
    evaluate: Callable[[], Any],
    given: Given,
    what: str,
    *,
    kind: type[KeyedValues] = Report,
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
    asked = Asked.take(given, kind)
    grouping = take(given, "by weights seed")
    refuse(given, what)
    if asked.page is not None:
        import_extra("matplotlib", "an HTML page", "plot")
    style = check_printing(asked.printing, save=asked.saved, html=asked.page)

    made = evaluated(evaluate, asked, grouping, what)
    findings: list[str] = [] if split_audit is None else str(split_audit).splitlines()
    lines = list(told)
    if asked.has_audit:
        found = findings + list(map(str, made.audit()))
        lines += found or ["Nothing was found that makes these numbers suspect."]
    if asked.page is not None:
        save_page(
            asked.page,
            made,
            command=command_line(),
            title=title,
            metrics=asked.keys or None,
            notes=findings,
        )
    if asked.by_query:
        show_queries(made, asked, grouping, lines)
        return
    printing = dict(asked.printing)
    values = None
    result: AsTable = made
    if asked.needs_key_values:
        values = KeyTable(made, asked.keys, has_intervals=asked.has_intervals)
        result = values.table(percent="percent" in printing)
        take(printing, "metrics percent")
    content = None
    if style == "json":
        content = content_of(made, asked, values)
        if asked.has_audit and split_audit is not None:
            content["split_audit"] = split_audit.to_dict()
    show(result, printing, content, lines)


def content_of(made: KeyedValues, asked: Asked, values: KeyTable | None) -> dict[str, Any]:
    """Return the JSON object of a report, with the keys that were asked for or all it lists."""
    if values is not None:
        return values.content()
    content: dict[str, Any] = json.loads(made.to_json(asked.keys or None))
    return content


def evaluated(evaluate: Callable[[], Any], asked: Asked, grouping: Given, what: str) -> KeyedValues:
    """Evaluate a task, save its ranks, and return their report with the groups and weights."""
    made: KeyedValues = evaluate()
    ranks = made.ranks
    if what != SAVED:
        ranks = ranks.with_protocol(files=files_read())
    if asked.saved is not None:  # before anything else can fail
        ranks.save(asked.saved)
    if made.filters and not grouping:
        return made
    if "by" not in grouping and made.by is not None:
        grouping["by"] = made.by  # of a task of retrieval, whose ranks have them as a label
    return report_of(ranks, grouping, made)


def show_queries(made: KeyedValues, asked: Asked, grouping: Given, lines: Sequence[str]) -> None:
    """Print the values of each query, as text with tabs or as a table."""
    rules = take(dict(grouping), "weights seed")
    keys = asked.keys or list(made.few)
    if asked.printing.get("metrics") == "all":
        keys = list(made.usual)
    values = values_by_query(made, keys, rules)
    style = check_printing(asked.printing)
    if style == "text":
        for line in lines:
            click.echo(printable(line), err=True)
        write_text(tab_separated(values, asked.printing.get("digits")), style, asked.printing)
        return
    columns: list[str | Column] = ["query", "metric", Column("value", decimals=3)]
    rest = dict(asked.printing)
    rest.pop("metrics", None)
    show(Table(columns, values, names=2), rest, lines=lines)
