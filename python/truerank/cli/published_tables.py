"""Tables of published numbers: models as rows of a CSV file, each number adjusted for chance."""

from __future__ import annotations

import csv
import io
import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputError, InputValueError, UnknownKeyError
from ..metrics.chance_model import compress
from ..metrics.keys import ADJUSTED, RANK_KEYS, parse, parse_alone
from ..metrics.published import SIDES, SPLITS, Adjusted, adjust, data_set, known_candidates
from ..metrics.published_checks import Printed, contradictions, read_printed
from ..records.text import text_blocks
from ..reporting.columns import metric_column
from ..tables import Column, Table
from ..tables.cells import format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .options import Given

NO_NUMBER = ("", "-", "--", "\N{EN DASH}", "\N{EM DASH}")
YES_OR_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
FACTS = ("dataset", "split", "side", "filtered", "candidates", "tasks")
SHARE_DECIMALS = 3  # Keys of shares print with so many.
# Words and signs of titles that are no part of a metric's name: arrows, and those of per cent.
_ARROW = re.compile(r"[(\[]?[\u2191\u2193][)\]]?")
_PER_CENT = re.compile(
    r"[(\[]?(?:(?<![a-z])in[\s_]*)?"
    r"(?:%|(?<![a-z])(?:pct|per\s?cent|percentages?)(?![a-z]))[)\]]?"
)
DECIMALS_OF_ADJUSTMENTS = {"ratio": None, "index": 4, "z": 1}


class PublishedRow(NamedTuple):
    """A row of a table.

    Attributes
    ----------
    place : str
        The file and the line.
    names : dict
        What the row names, by the titles of columns.
    facts : dict
        What was ranked.
    numbers : dict of str to Printed
        By metric.
    faults : dict of str to InputError
        What cannot be right, by the title of its column or the name of the fact.
    columns : sequence of _Heading
        Those of the table.
    """

    place: str
    names: dict[str, str]
    facts: dict[str, Any]
    numbers: dict[str, Printed]
    faults: dict[str, InputError]
    columns: Sequence[_Heading]


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
        filter_word = "filtered" if facts.get("filtered", False) else "unfiltered"
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


def read_table(
    argument: str, path: str, given: Given, digits: int | None = None
) -> list[PublishedRow]:
    """Read a table of published numbers from a CSV file.

    Its first line has names of columns: metrics (MR, MRR, Hits@10, H@10, perhaps with an arrow, and
    "(%)" or words for it), what differs from row to row (dataset, split, side, filtered,
    candidates, tasks), and any others, which name the row. A cell without a number, or a dash, is
    left out.

    Parameters
    ----------
    argument, path : str
    given : dict
        What holds for all rows that say nothing else.
    digits : int, optional
        The decimals that all shares have, where some are written with fewer. Default: those that
        are written.
    """
    text = "".join(text for _, text in text_blocks(argument, path))
    first_line, _, _ = text.partition("\n")
    delimiter = next((mark for mark in ("\t", ";") if mark in first_line), ",")
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    rows = []
    columns: list[_Heading] = []
    try:
        for cells in reader:
            place = f"{path}: line {reader.line_num}"
            if not columns:
                columns = _read_headings(argument, path, cells)
            elif cells:
                rows.append(_read_row(argument, place, columns, cells, given, digits))
    except csv.Error as error:
        place = f"{path}: line {reader.line_num}"
        raise InputValueError(argument, str(error), place=place) from error
    if not rows:
        raise InputValueError(argument, expected="a line of names, and rows of numbers", place=path)
    return rows


def _read_headings(argument: str, path: str, cells: Sequence[str]) -> list[_Heading]:
    """Read the first line; there is a metric, and nothing comes twice."""
    columns = [_read_heading(cell) for cell in cells]
    meanings = [column.metric or column.fact or column.title for column in columns]
    for i, meaning in enumerate(meanings):
        if meaning in meanings[:i]:
            got = f"{columns[meanings.index(meaning)].title!r} and {columns[i].title!r}"
            raise InputValueError(argument, expected="columns that differ", got=got, place=path)
    if not any(column.metric for column in columns):
        expected = "a column of a metric, as MRR or Hits@10"
        raise InputValueError(argument, expected=expected, got=", ".join(cells), place=path)
    return columns


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
    bare, signs = _without_signs(title)
    word = re.sub(r"[\s_-]", "", bare)
    if word in FACTS:
        return _Heading(title, fact=word)
    try:
        metric = str(parse_alone(_key(word)))
    except UnknownKeyError:
        return _Heading(title)
    return _Heading(title, metric, percent=signs > 0)


def _without_signs(title: str) -> tuple[str, int]:
    """Return a title in lower case without arrows and words of per cent; how many of these it had.

    Examples
    --------
    >>> _without_signs("Hits@10 (in %)"), _without_signs("MRR \u2191")
    (('hits@10 ', 1), ('mrr ', 0))
    """
    return _PER_CENT.subn("", _ARROW.sub("", title.lower()))


def _key(word: str) -> str:
    """Write a word of a title as a key is written."""
    names = {"meanrank": "mr", "meanreciprocalrank": "mrr"}
    return names.get(word, re.sub(r"^(h|hit|hr|hits)(@|at)?(?=[0-9])", "hits@", word))


def _read_row(
    argument: str,
    place: str,
    columns: Sequence[_Heading],
    cells: Sequence[str],
    given: Given,
    digits: int | None,
) -> PublishedRow:
    if len(cells) != len(columns):
        expected = f"{len(columns)} columns, as the first line has"
        raise InputValueError(argument, expected=expected, got=len(cells), place=place)
    names = {}
    facts: dict[str, Any] = {}
    numbers = {}
    faults: dict[str, InputError] = {}
    for column, cell in zip(columns, cells, strict=True):
        text = cell.strip()
        try:
            if column.metric and text not in NO_NUMBER:
                numbers[column.metric] = _read_number(column, text, digits)
            elif column.fact and text:
                facts[column.fact] = _read_fact(column.fact, text)
            elif not (column.metric or column.fact):
                names[column.title] = text
        except InputError as error:
            faults[error.argument] = error
    rest = dict(given)
    if "dataset" in facts:  # A data set has its own.
        rest.pop("candidates", None)
        rest.pop("tasks", None)
    if "candidates" in facts:
        for name in ("dataset", "split", "side", "filtered"):
            rest.pop(name, None)
    return PublishedRow(place, names, rest | facts, numbers, faults, columns)


def _read_number(column: _Heading, text: str, digits: int | None) -> Printed:
    number = read_printed(column.title, text, percent=column.percent)
    if digits is None or not is_share(column.metric):
        return number
    return number._replace(unit=min(number.unit, float(f"1e-{digits}")))


def _read_fact(fact: str, text: str) -> Any:
    """Read what a row says of the data that were ranked."""
    words: dict[str, Sequence[str]] = {"split": SPLITS, "side": SIDES, "filtered": list(YES_OR_NO)}
    if fact in ("candidates", "tasks"):
        if re.fullmatch("[0-9]{1,18}", text):
            return int(text)
        raise InputValueError(fact, expected="a number", got=repr(text))
    if fact == "dataset":
        data_set(text)
        return text
    if text.lower() not in words[fact]:
        raise InputValueError(fact, expected=f"one of {', '.join(words[fact])}", got=repr(text))
    if fact == "filtered":
        return YES_OR_NO[text.lower()]
    return text.lower()


class AdjustedRow(NamedTuple):
    """A row of a table with its numbers adjusted, and what of it cannot be right.

    Attributes
    ----------
    row : PublishedRow
    data : str
        On what its numbers were published; empty where the row does not say it rightly.
    adjusted : dict of str to Adjusted
        By metric, without those that are impossible.
    contradictions : list of str
        Which numbers of the row cannot all be right.
    faults : dict of str to InputError
        What cannot be right by itself, by the title of its column or the number.
    """

    row: PublishedRow
    data: str
    adjusted: dict[str, Adjusted]
    contradictions: list[str]
    faults: dict[str, InputError]

    @classmethod
    def of(cls, row: PublishedRow) -> AdjustedRow:
        """Adjust the numbers of a row; beside wrong facts they are only shown."""
        faults = dict(row.faults)
        if any(error.argument in FACTS for error in faults.values()):
            return cls(row, "", {}, [], faults)
        adjusted = {}
        for metric, number in row.numbers.items():
            try:
                adjusted[metric] = adjust(metric, number.value, **row.facts)
            except InputError as error:
                name = f"{metric} {number.text}"
                if error.argument in FACTS:  # It is the same for all numbers of the row.
                    name = error.argument
                faults[name] = error
        if not adjusted:
            return cls(row, "", {}, [], faults)
        sizes, tasks = counts_of(row.facts)
        possible = {metric: row.numbers[metric] for metric in adjusted}
        found = contradictions(possible, max(sizes, default=None), tasks)
        return cls(row, facts_in_words(row.facts), adjusted, found, faults)

    @property
    def name(self) -> str:
        """What names the row, in one text."""
        return " ".join(self.row.names.values())

    def fault_texts(self) -> list[str]:
        """Say what cannot be right by itself: the line, the row, the column, and why."""
        texts = []
        for name, error in self.faults.items():
            said = str(error).removeprefix(f"{name}: ").removeprefix("value: ")
            texts.append(f"{name}: {said}")
        return self._placed(texts)

    def findings(self) -> list[str]:
        """Say all that cannot be right, by its line and row."""
        return self._placed(self.contradictions) + self.fault_texts()

    def _placed(self, texts: Sequence[str]) -> list[str]:
        return [f"{self.row.place}: {f'{self.name} {text}'.lstrip()}" for text in texts]

    def cells(self, *, with_data: bool) -> list[list[Any]]:
        """Return for each number its names, as it is published, by chance, and adjusted."""
        rows = []
        for metric, number in self.row.numbers.items():
            cells: list[Any] = list(self.row.names.values())
            if with_data:
                cells.append(self.data)
            cells.append(metric_column(metric).heading)
            cells.append(number.text)
            adjusted = self.adjusted.get(metric)
            for name in ("expectation", *DECIMALS_OF_ADJUSTMENTS):
                cells.append(None if adjusted is None else getattr(adjusted, name))
            rows.append(cells)
        return rows

    def notes(self) -> list[str]:
        """Return what limits the trust in the numbers, with the names of the row."""
        notes = []
        for metric, adjusted in self.adjusted.items():
            title = metric_column(metric).heading
            notes += [f"{self.name} {title}: {text}." for text in adjusted.notes]
        return [note.lstrip() for note in notes]

    def content(self) -> dict[str, Any]:
        """Return the JSON object of the row."""
        content: dict[str, Any] = {"names": self.row.names}
        for name, fact in self.row.facts.items():
            if np.ndim(fact) == 0:
                content[name] = fact
        content["metrics"] = {name: adjusted.to_dict() for name, adjusted in self.adjusted.items()}
        content["contradictions"] = self.contradictions
        content["faults"] = self.fault_texts()
        return content


def table_of_rows(rows: Sequence[AdjustedRow]) -> Table:
    """Return a table of all numbers; on which data they are is said above, or in each row."""
    data = sorted({row.data for row in rows if row.data})
    with_data = len(data) > 1
    columns: list[str | Column] = list(rows[0].row.names)
    before = []
    if with_data:
        columns.append("data")
    else:
        before += [f"{each}." for each in data]
    columns += ["metric", "published", "chance"]
    columns += [Column(name, decimals=number) for name, number in DECIMALS_OF_ADJUSTMENTS.items()]
    cells = []
    notes = []
    for row in rows:
        cells += row.cells(with_data=with_data)
        notes += row.notes()
    published = [row.row for row in rows]
    for find in (likely_metrics, likely_shares, unlike_digits):
        notes += find(published)
    return Table(columns, cells, names=len(columns) - 4, before=before, notes=notes)


def is_share(metric: str) -> bool:
    """Whether a metric is between 0 and 1, as mrr and hits@10, and no mean of ranks."""
    return parse_alone(metric).decimals == SHARE_DECIMALS


def likely_metrics(rows: Sequence[PublishedRow]) -> list[str]:
    """Say which columns of numbers name the row, though their titles begin as metrics do."""
    notes = []
    for title in rows[0].names:
        hint = _hint_of_metric(title)
        cells = {row.names[title] for row in rows}.difference(NO_NUMBER)
        if hint and cells and all(map(_is_number, cells)):
            notes.append(f"column {title!r} is taken as a name of the row; {hint}.")
    return notes


def _hint_of_metric(title: str) -> str:
    """Say what to do with a column whose title begins with a metric; empty where none does.

    Examples
    --------
    >>> _hint_of_metric("MRR filtered"), _hint_of_metric("AMRI"), _hint_of_metric("Model")
    ("write 'MRR' if it is a metric", 'it is adjusted already', '')
    """
    bare, signs = _without_signs(title)
    words = re.split(r"[\s_()\[\],;/-]+", bare)
    for end in range(len(words), 0, -1):
        key = _key("".join(words[:end]))
        name, mark, _ = key.partition("@")
        if name in RANK_KEYS.refused and (mark or len(name) > 1):
            return RANK_KEYS.refused[name]
        try:
            found = parse(key)
        except UnknownKeyError:
            continue
        if found.adjustment in ADJUSTED:
            return "it is adjusted already"
        return f"write '{found.alone.title}{' (%)' if signs else ''}' if it is a metric"
    return ""


def _is_number(text: str) -> bool:
    try:
        read_printed("value", text)
    except InputError:
        return False
    return True


def likely_shares(rows: Sequence[PublishedRow]) -> list[str]:
    """Ask of which columns of percentages the numbers are shares."""
    notes = []
    for column in rows[0].columns:
        if column.percent:
            numbers = [row.numbers.get(column.metric) for row in rows]
            largest = max((number.value for number in numbers if number), default=0)
            if 0 < largest <= 0.01:
                notes.append(f"all values of {column.title!r} are at most 1: are they shares?")
    return notes


def unlike_digits(rows: Sequence[PublishedRow]) -> list[str]:
    """Say which columns of shares are written with unlike numbers of decimals."""
    notes = []
    metrics = dict.fromkeys(metric for row in rows for metric in row.numbers)
    for metric in metrics:
        if is_share(metric):
            numbers = [row.numbers[metric] for row in rows if metric in row.numbers]
            decimals = sorted({round(-math.log10(number.unit)) for number in numbers})
            shares = " as shares" if any(number.is_percentage for number in numbers) else ""
            if len(decimals) > 1:
                notes.append(
                    f"{metric_column(metric).heading} has from {decimals[0]} to {decimals[-1]} "
                    f"decimals{shares}, and each number is taken as it is written; --digits "
                    f"{decimals[-1]} says that all have so many."
                )
    return notes
