"""A report as a table: a row for each side, kind of rank, filter and group; a column per metric."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..metrics import parse
from ..metrics.keys import ALL_SIDES, MACRO, NO_ADJUSTMENT, table_name
from ..metrics.kinds import DEFAULT_KIND
from ..tables import Column, Table
from ..tables.cells import format_count
from .audit import DOUBTS
from .axes import Axes, compose_key

if TYPE_CHECKING:
    from ..metrics import Key

Report = Any  # the class stands in a module that imports this one
GROUPS_SHOWN = 20  # of a printed table; programs read all groups
SHARES = ("hits", "success", "recall", "precision")  # what papers print as percentages, too

Row = dict[str, Any]  # labels, the number of tasks, and values: None where one is not known


def report_table(report: Report, axes: Axes, few: Axes, *, percent: bool = False) -> Table:
    """Return a report as one table.

    The rows are of all axes; then those of the other filters, the macro average and the groups, the
    largest first, of few axes. Labels that are alike in all rows are for programs alone, and values
    that were not stored are empty cells.
    """
    keys = {name: parse(name) for name in axes.metrics}
    own, *others = report.filters or [""]
    rows = [*_rows(report, keys, axes, "micro", own)]
    for name in others:
        rows += _rows(report.filters[name], keys, few, "micro", name)
    labels, most = [*["filter"] * bool(others), "side", "kind"], None
    notes = [sentence(finding.message) for finding in report.audit(*DOUBTS)]
    if report.by is not None:
        rows += _rows(report, keys, few, MACRO, own)
        most = len(rows) + GROUPS_SHOWN
        rows += _group_rows(report, keys, few, own)
        labels = ["average", "group", *labels]
        notes += _macro_lines(report, keys, few)
    columns = [_label_column(name, report.by, {row[name] for row in rows}) for name in labels]
    columns += [Column("tasks"), *(metric_column(name, percent=percent) for name in keys)]
    cells = [[row[column.name] for column in columns] for row in rows]
    before = [_first_line(report)]
    return Table(columns, cells, names=len(labels), before=before, notes=notes, most=most)


def metric_column(name: str, key: Key | None = None, *, percent: bool = False, **of: Any) -> Column:
    """Return the column of a key: three decimals of a share, one of a mean rank, two of a z.

    Examples
    --------
    >>> metric_column("mr").decimals, metric_column("mrr").decimals, metric_column("zmrr").decimals
    (1, 3, 2)
    >>> metric_column("hits@10", percent=True).unit
    '%'
    """
    parsed = parse(name) if key is None else key
    is_share = parsed.adjustment == NO_ADJUSTMENT and parsed.metric in SHARES
    decimals, unit = (1, "%") if percent and is_share else (parsed.decimals, "")
    return Column(name, table_name(parsed), decimals, unit, **of)


def _label_column(name: str, groups: str | None, labels: set[str]) -> Column:
    alike = len(labels) < 2 and (name != "kind" or labels <= {DEFAULT_KIND})
    heading = groups or "" if name == "group" else ""
    return Column(name, heading, only="data" if alike or name == "average" else None)


# -- rows ------------------------------------------------------------------------------------------


def _rows(
    report: Report, keys: Mapping[str, Key], axes: Axes, average: str, own: str
) -> Iterator[Row]:
    """Yield a row for each side and kind, of all tasks or of macro averages, under a filter."""
    macro = average == MACRO
    for side, kind in itertools.product(axes.sides, axes.kinds):
        row: Row = {"average": average, "group": average, "filter": own, "side": side, "kind": kind}
        for name, key in keys.items():
            of_row = key._replace(side=side, kind=kind, macro=macro)
            row[name] = None if macro and key.adjustment == "z" else report._source.value(of_row)
        yield {**row, "tasks": report.tasks(side)}


def _group_rows(report: Report, keys: Mapping[str, Key], axes: Axes, own: str) -> Iterator[Row]:
    """Yield the rows of groups that have tasks, the largest group first."""
    for side, kind in itertools.product(axes.sides, axes.kinds):
        columns = {
            name: report._source.column(key._replace(side=side, kind=kind))
            for name, key in keys.items()
        }
        tasks = report.group_tasks(side)
        places = {label: i for i, label in enumerate(tasks)}
        for label in sorted(filter(tasks.get, tasks), key=lambda label: -tasks[label]):
            row = {"average": "group", "group": label_text(label), "filter": own}
            values = {name: column and column[places[label]] for name, column in columns.items()}
            yield {**row, "side": side, "kind": kind, "tasks": tasks[label], **values}


def sentence(text: str) -> str:
    """Write a clause as a sentence.

    Examples
    --------
    >>> sentence("ties move mr")
    'Ties move mr.'
    """
    return f"{text[:1].upper()}{text[1:]}."


def label_text(label: Hashable) -> str:
    """Write the label of a group, the parts of a tuple with blanks between them.

    Examples
    --------
    >>> label_text((3, "1-N")), label_text(7)
    ('3 1-N', '7')
    """
    return " ".join(map(str, label)) if isinstance(label, tuple) else str(label)


# -- lines -----------------------------------------------------------------------------------------


def _first_line(report: Report) -> str:
    """Say how many tasks there are, among how many candidates, and what is filtered."""
    summary, protocol = report._source.summary, report.protocol
    sides = [f"{side} {report.tasks(side):,}" for side in report.sides if side != ALL_SIDES]
    words = [format_count(report._sides.total, f"{protocol.split or ''} task".strip())]
    words[0] += f" ({', '.join(sides)})" if sides else ""
    if summary is not None and summary.tasks:
        low, high = summary.candidates_min, summary.candidates_max
        number = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        kind = "sampled " * protocol.sampled + "candidate"
        words.append(f"{number} {kind}{'s' * (high > 1)}")
    words.append(f"filtered by {' + '.join(protocol.filter)}" if protocol.filter else "unfiltered")
    if summary is not None and summary.tasks and not summary.tied_tasks:
        words.append("no ties")
    words += [report.weighting] if report.weighting else []
    return f"{', '.join(words)}."


def _macro_lines(report: Report, keys: Mapping[str, Key], axes: Axes) -> Iterator[str]:
    """Say which values macro averages leave out."""
    first = itertools.product(axes.sides[:1], axes.kinds[:1])
    for (side, kind), (name, key) in itertools.product(first, keys.items()):
        column = report._source.column(key._replace(side=side, kind=kind)) or []
        left_out = sum(map(math.isnan, column))
        if left_out and key.adjustment != "z":
            of_key = f"{MACRO}.{compose_key(side, kind, name)}"
            yield f"{of_key} leaves out {format_count(left_out, 'group')} without a value."
