"""Tables of what a report has by key: values with intervals, of all and of groups; by query."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import report
from ..inference.units import describe_units
from ..inputs.naming import printable
from ..inputs.row_keys import codes_of
from ..metrics.keys import ALL_SIDES
from ..ranks.labels import LABEL_WORDS
from ..reporting.columns import label_text, metric_column
from ..reporting.report_table import GROUPS_SHOWN
from ..retrieval.report import RetrievalReport
from ..tables import Column, Table

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from ..inference.intervals import Interval
    from ..ranks import Ranks
    from ..ranks.labels import Labels
    from ..reporting.keyed_values import KeyedValues
    from .options import Given

ALL = "all"  # the name of the row of all groups or queries
BOUNDS = ("low", "high", "method")  # what of an interval has a row

Intervals = dict[str, "Interval | None"]  # by key; None for a macro average in a group


class KeyTable:
    """The values of some keys of a report, of all and of each group, perhaps with intervals.

    Parameters
    ----------
    made : KeyedValues
    keys : sequence of str
    has_intervals : bool
    """

    def __init__(self, made: KeyedValues, keys: Sequence[str], *, has_intervals: bool) -> None:
        self.made = made
        self.keys = list(keys)
        self.plain_keys = [key for key in keys if not made.read_key(key).macro]
        self.values_of_groups = {}
        if made.by is not None:
            self.values_of_groups = {key: made.group_values(key) for key in self.plain_keys}
        self.intervals: Intervals = {}
        self.intervals_of_groups: dict[Hashable, Intervals] = {}
        if has_intervals:
            self.intervals = {key: made.interval(key) for key in keys}
            for label, group in made.groups.items():
                of_group: Intervals = dict.fromkeys(keys)
                for key in self.plain_keys:
                    if not math.isnan(self.values_of_groups[key][label]):
                        of_group[key] = group.interval(key)
                self.intervals_of_groups[label] = of_group

    def table(self, *, percent: bool) -> Table:
        """Return a table with a column for each key; people read the largest groups."""
        columns: list[Any] = ["number"]
        for key in self.keys:
            columns.append(metric_column(key, self.made.read_key(key), percent=percent))
        blocks = [self._rows([self.made[key] for key in self.keys], self.intervals)]
        names = [ALL]
        numbers = [0]
        if self.made.by is not None:
            sizes = self.made.group_tasks()
            numbers = [sum(sizes.values())]
            columns[:0] = [Column("group", self.made.by), self.made.form.tasks]
            for label in sorted(sizes, key=lambda label: -sizes[label]):
                names.append(label_text(label))
                numbers.append(sizes[label])
                blocks.append(self._rows_of_group(label))
        rows = []
        for name, number, block in zip(names, numbers, blocks, strict=True):
            for row in block:
                if self.made.by is not None:
                    row[:0] = [name, number]
                rows.append(row)
        most = len(blocks[0]) * (GROUPS_SHOWN + 1)
        before = self.made.table().before
        names_of_rows = len(columns) - len(self.keys)
        return Table(
            columns, rows, names=names_of_rows, before=before, notes=self._notes(), most=most
        )

    def _rows_of_group(self, label: Hashable) -> list[list[Any]]:
        values: list[float | None] = []
        for key in self.keys:
            value = None  # of a macro average
            if key in self.plain_keys:
                value = self.values_of_groups[key][label]
            values.append(value)
        return self._rows(values, self.intervals_of_groups.get(label, {}))

    def _rows(self, values: Sequence[float | None], intervals: Intervals) -> list[list[Any]]:
        first: list[Any] = ["value"]
        first += values
        rows = [first]
        if intervals:
            for name in BOUNDS:
                row: list[Any] = [name]
                row += [getattr(intervals[key], name, None) for key in self.keys]
                rows.append(row)
        return rows

    def _notes(self) -> list[str]:
        """Say what the intervals are of, and what limits the trust in them, each once."""
        notes: dict[str, None] = {}
        for interval in self.intervals.values():
            if interval is not None:
                units = describe_units(interval.units, interval.by)
                notes[f"{100 * interval.level:g} % intervals over {units}."] = None
                notes |= dict.fromkeys(interval.notes)
        return list(notes)

    def content(self) -> dict[str, Any]:
        """Return the JSON object of the report, with intervals beside the values."""
        content: dict[str, Any] = json.loads(self.made.to_json(self.keys))
        if self.intervals:
            content["intervals"] = _written(self.intervals)
        if self.intervals_of_groups:
            groups = self.intervals_of_groups.values()  # in the order of the labels there
            content["groups"]["intervals"] = {
                key: [_written(group).get(key) for group in groups] for key in self.plain_keys
            }
        return content


def _written(intervals: Intervals) -> dict[str, Any]:
    """Return intervals as JSON has them."""
    written = {}
    for key, interval in intervals.items():
        if interval is not None:
            written[key] = interval.to_dict()
    return written


# -- by query --------------------------------------------------------------------------------------


def values_by_query(
    made: KeyedValues, keys: Sequence[str], grouping: Given
) -> list[tuple[str, str, float]]:
    """Return the query, the metric and its value: of each query, and at last of all together.

    The queries of ranks are what their labels of sides, relations and queries tell apart; without
    labels of queries each task is one, and is called by its number, from 0. A query has no values
    of a side that has none of its tasks.

    Parameters
    ----------
    made : KeyedValues
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
    lines += [(ALL, key, made[key]) for key in keys]
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
    order = np.argsort(first, kind="stable")  # that in which queries come
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
