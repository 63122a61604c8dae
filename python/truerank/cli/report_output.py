"""Evaluates, saves the ranks, prints their report and writes its page: one way for all protocols.

Ranks say themselves what they are of: a report of retrieval labels its ranks with how many right
answers their query has, and such ranks are reported by query, whichever command saved them.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from .. import Report, report
from ..arrays.row_keys import codes_of
from ..errors import InputValueError
from ..inference.intervals import why_no_interval
from ..metrics.keys import ALL_SIDES
from ..naming import import_extra, printable
from ..page import save as save_page
from ..ranks.labels import LABEL_WORDS
from ..reporting.report_table import ALL_ROWS, table_of_keys
from ..retrieval.report import RetrievalReport
from ..retrieval.report import report as retrieval_report
from ..tables import Column, Table
from .files import files_read
from .options import MEASURED, Given, refuse, take
from .output import check_printing, command_line, show, write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from .. import Ranks
    from ..ranks.labels import Labels
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
    if ranks.answers is not None:
        return RetrievalReport
    return Report


def rules_of(kind: type[BaseReport], given: Given) -> Given:
    """Take the rules that reports of this kind have: of retrieval what a right answer is."""
    return take(given, "relevance_level") if kind is RetrievalReport else {}


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
    found = retrieval_report(ranks, **take(dict(grouping), "by answerless relevance_level"))
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
    kind: type[BaseReport]
    saved: Path | None
    page: Path | None
    has_audit: bool
    has_intervals: bool
    by_query: bool

    @classmethod
    def take(cls, given: Given, kind: type[BaseReport]) -> Asked:
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
        if asked.by_query:
            beside = [name for name in ("by", "interval", "percent") if name in options]
            if beside:
                problem = f"-q gives values of queries, and cannot stand beside --{beside[0]}"
                raise click.UsageError(problem)
        if "kinds" in printing:
            is_json = check_printing(printing) == "json"
            if is_json or asked.by_query or asked.are_no_columns:
                raise click.UsageError(
                    "--kinds chooses rows of the report; beside JSON, -q and keys of a kind name "
                    "kinds in --metrics, as optimistic.mrr"
                )
        return asked

    @property
    def are_no_columns(self) -> bool:
        """Whether a column of a report cannot show some key, which names a row."""
        keys = list(map(self.kind.read_key, self.keys))  # It refuses unknown keys at once.
        return any(key != self.kind.form.column_of(key) for key in keys)


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
    asked = Asked.take(given, kind)
    grouping = take(given, "by weights seed")
    refuse(given, what)
    if asked.page is not None:
        import_extra("matplotlib", "an HTML page", "plot")
    style = check_printing(asked.printing, save=asked.saved, html=asked.page)

    made = evaluated(evaluate, asked, grouping, what)
    findings: list[str] = [] if split_audit is None else str(split_audit).splitlines()
    lines = []
    if made.protocol.similarity is not None and style == "text":
        lines.append(f"Similarity of vectors: {made.protocol.similarity}.")
    lines += told
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
    content = None
    if style == "json":
        content = content_of(made, asked)
        if asked.has_audit and split_audit is not None:
            content["split_audit"] = split_audit.to_dict()
    printing = dict(asked.printing)
    result: AsTable = made
    if asked.are_no_columns:
        of_keys = {"percent": printing.pop("percent", False), "interval": asked.has_intervals}
        result = table_of_keys(made, printing.pop("metrics"), **of_keys)
    elif asked.has_intervals:
        printing["interval"] = True
    show(result, printing, content, lines)


def content_of(made: BaseReport, asked: Asked) -> dict[str, Any]:
    """Return the JSON object of a report, with the keys that were asked for or all it lists.

    The intervals are those of the keys, or of the metrics that tables show, without macro averages
    and z, which have none; and of groups the same.
    """
    content: dict[str, Any] = json.loads(made.to_json(asked.keys or None))
    if asked.has_intervals:
        keys = asked.keys or list(made.few)
        keys = [key for key in keys if not why_no_interval(made.read_key(key))]
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


def evaluated(evaluate: Callable[[], Any], asked: Asked, grouping: Given, what: str) -> BaseReport:
    """Evaluate a task, save its ranks, and return their report with the groups and weights."""
    made: BaseReport = evaluate()
    ranks = made.ranks if what == SAVED else made.ranks.with_protocol(files=files_read())
    if asked.saved is not None:  # Ranks are saved before anything else can fail.
        ranks.save(asked.saved)
    if "by" not in grouping and made.by is not None:
        grouping["by"] = made.by  # The ranks of retrieval have its groups as a label.
    return report_of(ranks, grouping, made)


def show_queries(made: BaseReport, asked: Asked, grouping: Given, lines: Sequence[str]) -> None:
    """Print the values of each query, as text with tabs or as a table."""
    rules = take(dict(grouping), "weights seed")
    are_all = asked.printing.get("metrics") == "all"
    keys = list(made.usual) if are_all else asked.keys or list(made.few)
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


def values_by_query(
    made: BaseReport, keys: Sequence[str], grouping: Given
) -> list[tuple[str, str, float]]:
    """Return the query, the metric and its value: of each query, and at last of all together.

    The queries of ranks are what their labels of sides, relations and queries tell apart; without
    labels of queries each task is one, and is called by its number, from 0. A query has no values
    of a side that has none of its tasks.

    Parameters
    ----------
    made : BaseReport
    keys : sequence of str
        Without macro averages.
    grouping : dict
        The weights and the seed of the report.
    """
    if isinstance(made, RetrievalReport):
        names = [str(query) for query in made.queries]
        columns = {key: made.per_query(key).tolist() for key in keys}
    else:
        codes, names = _queries_of(made.ranks)
        of_queries = report(made.ranks, by=codes, **grouping)
        columns = {key: list(of_queries.group_values(key).values()) for key in keys}
    lines = []
    for place, name in enumerate(names):
        for key, values in columns.items():
            if made.read_key(key).side == ALL_SIDES or not math.isnan(values[place]):
                lines.append((name, key, values[place]))
    lines += [(ALL_ROWS, key, made[key]) for key in keys]
    return lines


def _queries_of(ranks: Ranks) -> tuple[Any, list[str]]:
    """Return the query of each task, as a position among queries, and their names."""
    labels: Mapping[str, Labels | None] = {
        "side": ranks.side,
        "relation": ranks.relation,
        "queries": ranks.queries,
    }
    if ranks.queries is None:
        return np.arange(len(ranks)), list(map(str, range(len(ranks))))
    present = {name: of_tasks for name, of_tasks in labels.items() if of_tasks is not None}
    of_rows = codes_of(*(of_tasks.codes for of_tasks in present.values()))
    codes = of_rows.codes
    first = of_rows.first()
    order = np.argsort(first, kind="stable")  # Queries keep the order in which they come.
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    of_queries = {name: of_tasks[first[order]].values for name, of_tasks in present.items()}
    if len(present) == 1:
        return place[codes], list(map(str, of_queries["queries"].tolist()))
    words = []
    for name, values in of_queries.items():
        words.append([f"{LABEL_WORDS[name]} {value}" for value in values.tolist()])
    return place[codes], list(map(", ".join, zip(*words, strict=True)))


def tab_separated(lines: Sequence[tuple[str, str, float]], digits: int | None) -> str:
    """Write lines of a query, a metric and its value, in all its digits unless some are asked for.

    Examples
    --------
    >>> tab_separated([("q1", "mrr", 0.5)], None)
    'q1\\tmrr\\t0.5\\n'
    """
    text = ""
    for name, key, value in lines:
        number = repr(value) if digits is None else f"{value:.{digits}f}"
        text += f"{printable(name)}\t{printable(key)}\t{number}\n"
    return text
