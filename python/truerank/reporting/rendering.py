"""A report as a table: a row for each side, kind of rank, filter and group; a column per metric."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..metrics import parse
from ..metrics.keys import ALL_SIDES, MACRO, NO_ADJUSTMENT, Sides, table_name
from ..metrics.kinds import DEFAULT_KIND
from ..tables import Column, Table
from ..tables.cells import format_count
from .axes import Axes, compose_key
from .counted import ONCE

if TYPE_CHECKING:
    from ..metrics.keys import Key
    from .report_json import GroupContent, ReportContent

GROUPS_SHOWN = 20  # of a printed table; programs read all groups
SHARES = ("hits", "success", "recall", "precision")  # what papers print as percentages, too
LABELS = ("average", "group", "filter", "side", "kind")  # of a row

Row = dict[str, Any]  # labels, the number of tasks, and values: None where one is not known


def report_table(
    content: ReportContent,
    axes: Axes,
    few: Axes,
    filters: Mapping[str, Mapping[str, float]],
    *,
    percent: bool = False,
) -> Table:
    """Return the content of a report as one table.

    The rows are of all axes; then those of the other filters, the macro average and the groups, the
    largest first, of few axes. Labels that are alike in all rows are for programs alone.

    Parameters
    ----------
    content : ReportContent
        With the values that the table shows; those that are missing are empty cells.
    axes, few : Axes
    filters : mapping of name to mapping of key to float
        The values under each filter by its name, those of the report first; empty without filters.
    """
    groups, (own, *others) = content.groups, filters or [""]
    rows = [*_rows(content.metrics, content.sides, axes, own)]
    for name in others:
        rows += _rows(filters[name], content.sides, few, name)
    kept, most = [*["filter"] * bool(filters), "side", "kind"], None
    if groups is not None:
        rows += _rows(content.metrics, content.sides, few, own, MACRO)
        most = len(rows) + GROUPS_SHOWN
        rows += _group_rows(groups, few, own)
        kept = ["average", "group", *kept]
    headings = {} if groups is None else {"group": groups.by}
    columns = [
        *(
            _label_column(name, headings.get(name, ""), {row[name] for row in rows})
            for name in kept
        ),
        Column("tasks"),
        *(metric_column(metric, percent=percent) for metric in axes.metrics),
    ]
    cells = [[row[column.name] for column in columns] for row in rows]
    messages = [finding.message for finding in content.findings]
    notes = [f"{message[0].upper()}{message[1:]}." for message in messages]
    if groups is not None:
        notes += _macro_lines(groups, few)
    first = [_first_line(content)]
    return Table(columns, cells, names=len(kept), before=first, notes=notes, most=most)


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


def _label_column(name: str, heading: str, labels: set[str]) -> Column:
    alike = len(labels) < 2 and (name != "kind" or labels <= {DEFAULT_KIND})
    return Column(name, heading, only="data" if alike or name == "average" else None)


# -- rows ------------------------------------------------------------------------------------------


def _rows(
    values: Mapping[str, float],
    tasks: Mapping[str, int],
    axes: Axes,
    own: str,
    average: str = "micro",
) -> Iterator[Row]:
    """Yield a row for each side and kind, of all tasks or of macro averages, under a filter."""
    prefix = f"{MACRO}." if average == MACRO else ""
    for side in axes.sides:
        for kind in axes.kinds:
            row = {"average": average, "group": average, "filter": own, "side": side, "kind": kind}
            names = {name: prefix + compose_key(side, kind, name) for name in axes.metrics}
            of_keys = {name: values.get(key) for name, key in names.items()}
            yield {**row, "tasks": tasks.get(side, 0), **of_keys}


def _group_rows(groups: GroupContent, axes: Axes, own: str) -> Iterator[Row]:
    """Yield the rows of groups that have tasks, the largest group first."""
    for side in axes.sides:
        tasks = groups.tasks[side]
        places = sorted((i for i, n in enumerate(tasks) if n), key=lambda i: -tasks[i])
        for kind in axes.kinds:
            names = {name: compose_key(side, kind, name) for name in axes.metrics}
            columns = {name: groups.metrics.get(key) for name, key in names.items()}
            for i in places:
                row = {"average": "group", "group": label_text(groups.labels[i]), "filter": own}
                values = {name: column and column[i] for name, column in columns.items()}
                yield {**row, "side": side, "kind": kind, "tasks": tasks[i], **values}


def label_text(label: Hashable) -> str:
    """Write the label of a group, the parts of a tuple with blanks between them.

    Examples
    --------
    >>> label_text((3, "1-N")), label_text(7)
    ('3 1-N', '7')
    """
    return " ".join(map(str, label)) if isinstance(label, tuple) else str(label)


# -- lines -----------------------------------------------------------------------------------------


def _first_line(content: ReportContent) -> str:
    """Say how many tasks there are, among how many candidates, and what is filtered."""
    summary, protocol = content.summary, content.protocol
    sides = [f"{side} {n:,}" for side, n in content.sides.items() if n and side != ALL_SIDES]
    words = [format_count(Sides(content.sides).total, f"{protocol.split or ''} task".strip())]
    words[0] += f" ({', '.join(sides)})" if sides else ""
    if summary is not None and summary.tasks:
        low, high = summary.candidates_min, summary.candidates_max
        number = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        kind = "sampled " * protocol.sampled + "candidate"
        words.append(f"{number} {kind}{'s' * (high > 1)}")
    words.append(f"filtered by {' + '.join(protocol.filter)}" if protocol.filter else "unfiltered")
    if summary is not None and summary.tasks and not summary.tied_tasks:
        words.append("no ties")
    words += [content.weighting] if content.weighting else []
    return f"{', '.join(words)}."


def _macro_lines(groups: GroupContent, axes: Axes) -> Iterator[str]:
    """Say how groups are weighted, and which values macro averages leave out."""
    if groups.macro != ONCE:
        yield f"In macro averages {groups.macro}."
    for key in axes._replace(sides=axes.sides[:1], kinds=axes.kinds[:1]).macro_names():
        column = groups.metrics.get(key.removeprefix(f"{MACRO}."), [])
        left_out = sum(map(math.isnan, column))
        if left_out:
            yield f"{key} leaves out {format_count(left_out, 'group')} without a value."
