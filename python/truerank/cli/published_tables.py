"""Tables of published numbers: models as rows of a CSV file, each number adjusted for chance."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from ..inputs.errors import InputError, InputValueError, UnknownKeyError
from ..inputs.naming import printable
from ..metrics.chance_model import compress
from ..metrics.keys import parse_alone
from ..metrics.published import (
    SIDES,
    SPLITS,
    Adjusted,
    adjust_number,
    data_set,
    known_candidates,
)
from ..metrics.published_checks import Printed, contradictions, read_printed
from ..reporting.columns import metric_column
from ..splits.text import text_blocks
from ..tables import Column, Table
from ..tables.cells import format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .options import Given

NO_NUMBER = ("", "-", "--", "\N{EN DASH}", "\N{EM DASH}")
YES_OR_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
FACTS = ("dataset", "split", "side", "filtered", "candidates", "tasks")
ADJUSTMENTS = ("ratio", "index", "z")


class PublishedRow(NamedTuple):
    """A row of a table: its place, what it names, what was ranked, and its numbers by metric."""

    place: str
    names: dict[str, str]
    facts: dict[str, Any]
    numbers: dict[str, Printed]

    def most_candidates(self) -> int | None:
        """Return the most candidates that a task has."""
        sizes, _ = counts_of(self.facts)
        return int(max(sizes, default=0)) or None


def counts_of(facts: Given) -> tuple[list[int], int | None]:
    """Return the numbers of candidates that tasks have, and how many tasks there are."""
    if "dataset" in facts:
        asked = {name: facts[name] for name in ("split", "side", "filtered") if name in facts}
        known = known_candidates(facts["dataset"], **asked)
        return known.values.tolist(), int(known.multiplicities.sum())
    candidates = facts.get("candidates")
    if candidates is None:
        return [], facts.get("tasks")
    if np.ndim(candidates):
        return compress(candidates).sizes.tolist(), len(candidates)
    return [candidates], facts.get("tasks")


def facts_in_words(facts: Given) -> str:
    """Say on what a number was published: data set, split, side, filter, tasks, candidates.

    Examples
    --------
    >>> facts_in_words({"dataset": "wn18rr", "filtered": True})
    'WN18RR, test, both sides, filtered: 6,268 tasks among 40,434 to 40,943 candidates'
    >>> facts_in_words({"candidates": 40943, "tasks": 6268})
    '6,268 tasks among 40,943 candidates'
    """
    sizes, tasks = counts_of(facts)
    words = []
    if "dataset" in facts:
        words.append(data_set(facts["dataset"])["name"])
        words.append(facts.get("split", "test"))
        side = facts.get("side", "both")
        words.append({"both": "both sides"}.get(side, f"side {side}"))
        filter_word = "unfiltered"
        if facts.get("filtered", False):
            filter_word = "filtered"
        words.append(filter_word)
    among = format_count(tasks or 0, "task")
    if sizes:
        low = min(sizes)
        high = max(sizes)
        among += f" among {low:,}"
        if high > low:
            among += f" to {high:,}"
        among += " candidates"
    if not words:
        return among
    return f"{', '.join(words)}: {among}"


def read_table(argument: str, path: str, given: Given) -> list[PublishedRow]:
    """Read a table of published numbers from a CSV file.

    Its first line has names of columns: metrics (MR, MRR, Hits@10, H@10, perhaps with "(%)"), what
    differs from row to row (dataset, split, side, filtered, candidates, tasks), and any others,
    which name the row. A cell without a number, or a dash, is left out.

    Parameters
    ----------
    argument, path : str
    given : dict
        What holds for all rows that say nothing else.
    """
    lines = "".join(text_blocks(argument, path)).splitlines()
    delimiter = ","
    if lines and "\t" in lines[0]:
        delimiter = "\t"
    elif lines and ";" in lines[0]:
        delimiter = ";"
    rows = list(csv.reader(lines, delimiter=delimiter))
    if len(rows) < 2:
        raise InputValueError(argument, expected="a line of names, and rows of numbers", place=path)
    columns = [_read_heading(cell) for cell in rows[0]]
    if not any(column.metric for column in columns):
        expected = "a column of a metric, as MRR or Hits@10"
        raise InputValueError(argument, expected=expected, got=", ".join(rows[0]), place=path)
    read = []
    for number, cells in enumerate(rows[1:], 2):
        place = f"{path}: line {number}"
        if not cells:
            continue
        if len(cells) != len(columns):
            expected = f"{len(columns)} columns, as the first line has"
            raise InputValueError(argument, expected=expected, got=len(cells), place=place)
        read.append(_read_row(argument, place, columns, cells, given))
    return read


class _Heading(NamedTuple):
    """A column: that of a metric, perhaps of percentages, of a fact, or of a name."""

    title: str
    metric: str = ""
    percent: bool = False
    fact: str = ""


def _read_heading(cell: str) -> _Heading:
    """Read what a column has.

    Examples
    --------
    >>> _read_heading("H@10 (%)"), _read_heading("Model").metric, _read_heading("Data set").fact
    (_Heading(title='H@10 (%)', metric='hits@10', percent=True, fact=''), '', 'dataset')
    """
    title = cell.strip()
    word = re.sub(r"[\s_-]", "", title.lower())
    bare = word.removesuffix("%").removesuffix("(%)").removesuffix("[%]")
    if bare in FACTS:
        return _Heading(title, fact=bare)
    names = {"meanrank": "mr", "meanreciprocalrank": "mrr"}
    key = names.get(bare, re.sub(r"^(h|hit|hr|hits)@", "hits@", bare))
    try:
        metric = str(parse_alone(key))
    except UnknownKeyError:
        return _Heading(title)
    return _Heading(title, metric, percent=bare != word)


def _read_row(
    argument: str, place: str, columns: Sequence[_Heading], cells: Sequence[str], given: Given
) -> PublishedRow:
    names = {}
    facts: dict[str, Any] = {}
    numbers = {}
    for column, cell in zip(columns, cells, strict=True):
        text = cell.strip()
        if column.metric:
            if text not in NO_NUMBER:
                name = f"{argument}: {place}: {column.title}"
                numbers[column.metric] = read_printed(name, text, percent=column.percent)
        elif column.fact:
            if text:
                facts[column.fact] = _read_fact(argument, place, column, text)
        else:
            names[column.title] = text
    rest = dict(given)
    if "dataset" in facts:  # which has its own
        rest.pop("candidates", None)
        rest.pop("tasks", None)
    if "candidates" in facts:
        for name in ("dataset", "split", "side", "filtered"):
            rest.pop(name, None)
    return PublishedRow(place, names, rest | facts, numbers)


def _read_fact(argument: str, place: str, column: _Heading, text: str) -> Any:
    """Read what a row says of the data that were ranked."""
    words: dict[str, Sequence[str]] = {"split": SPLITS, "side": SIDES, "filtered": list(YES_OR_NO)}
    if column.fact in ("candidates", "tasks"):
        if re.fullmatch("[0-9]{1,18}", text):
            return int(text)
        raise InputValueError(argument, expected="a number", got=repr(text), place=place)
    if column.fact == "dataset":
        return text
    if text.lower() not in words[column.fact]:
        expected = f"{column.fact} as one of {', '.join(words[column.fact])}"
        raise InputValueError(argument, expected=expected, got=repr(text), place=place)
    if column.fact == "filtered":
        return YES_OR_NO[text.lower()]
    return text.lower()


def adjusted_cell(row: PublishedRow, metric: str) -> Adjusted:
    """Adjust a number of a row; an error says where it is."""
    number = row.numbers[metric]
    try:
        return adjust_number(metric, number.value, **row.facts, tested=False)
    except InputError as error:
        place = f"{row.place}: {metric} {number.text}"
        raise click.ClickException(printable(f"{place}: {error}")) from error


class AdjustedTable:
    """The numbers of a table adjusted, and what of it cannot all be right.

    Parameters
    ----------
    rows : sequence of PublishedRow
    """

    def __init__(self, rows: Sequence[PublishedRow]) -> None:
        self.rows = rows
        self.adjusted: list[dict[str, Adjusted]] = []
        self.contradictions: list[list[str]] = []
        for row in rows:
            of_row = {metric: adjusted_cell(row, metric) for metric in row.numbers}
            self.adjusted.append(of_row)
            _, tasks = counts_of(row.facts)
            self.contradictions.append(contradictions(row.numbers, row.most_candidates(), tasks))

    def table(self) -> Table:
        """Return a row for each number: as published, by chance, and adjusted."""
        names = list(self.rows[0].names)
        settings = [facts_in_words(row.facts) for row in self.rows]
        is_alike = len(set(settings)) == 1
        columns: list[str | Column] = [*names]
        if not is_alike:
            columns.append("data")
        columns += ["metric", "published", "chance"]
        decimals = {"ratio": None, "index": 4, "z": 1}
        for name in ADJUSTMENTS:
            columns.append(Column(name, decimals=decimals[name]))
        rows = []
        notes = []
        for row, setting, of_row, wrong in zip(
            self.rows, settings, self.adjusted, self.contradictions, strict=True
        ):
            first = list(row.names.values())
            notes += [f"{' '.join([*first, text])}." for text in wrong]
            if not is_alike:
                first.append(setting)
            for metric, adjusted in of_row.items():
                title = metric_column(metric).heading
                published = row.numbers[metric].text
                numbers = [getattr(adjusted, name) for name in ADJUSTMENTS]
                rows.append([*first, title, published, adjusted.expectation, *numbers])
                notes += [f"{' '.join([*row.names.values(), title])}: {x}." for x in adjusted.notes]
        before = [f"{settings[0]}."]
        if not is_alike:
            before = []
        return Table(columns, rows, names=len(columns) - 4, before=before, notes=notes)

    def content(self) -> list[dict[str, Any]]:
        """Return the JSON of each row."""
        content = []
        for row, of_row, wrong in zip(self.rows, self.adjusted, self.contradictions, strict=True):
            facts = {name: fact for name, fact in row.facts.items() if np.ndim(fact) == 0}
            content.append(
                {
                    "names": row.names,
                    **facts,
                    "metrics": {metric: adjusted.to_dict() for metric, adjusted in of_row.items()},
                    "contradictions": wrong,
                }
            )
        return content
