"""What the command line prints: results in every format, and tables on a terminal."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..inference.comparisons import format_notes, gather_notes
from ..inference.pairing import BY_POSITION_ONLY
from ..inference.units import TASK, describe_units
from ..inputs.naming import printable
from ..metrics.chance_model.tails import spelled_p
from ..metrics.keys import table_name
from ..reporting.rendering import label_text
from ..tables import AsTable, Table
from ..tables.cells import format_count, one_line
from ..tables.forms import html_text, markdown_cell, write_json
from .app import write_line

if TYPE_CHECKING:
    from ..inference.comparisons import Comparison
    from ..inference.intervals import Interval
    from ..metrics.published import Adjusted
    from ..reporting.reports import Report


class Sheet(AsTable):
    """A result that people and programs read in different tables.

    Parameters
    ----------
    printed : Table
        What people read, with lines and notes.
    records : Table
        What programs read as CSV.
    content : object
        The content of the JSON; nan becomes null, an infinity becomes a word. It has the notes.
    """

    def __init__(self, printed: Table, records: Table, content: Any) -> None:
        self.printed, self.records, self.content = printed, records, content

    def table(self, metrics: Any = None, **options: Any) -> Table:
        """Return what people read."""
        return self.printed.table(metrics, **options)

    def to_csv(self, metrics: Any = None, *, spreadsheet: bool = False, **options: Any) -> str:
        """Return the records, and write the notes to standard error."""
        for note in self.printed.notes:
            write_line(note)
        return self.records.to_csv(spreadsheet=spreadsheet)

    def to_json(self, metrics: Any = None, *, indent: int | None = 2) -> str:
        """Return the content as JSON."""
        return write_json(self.content, indent)


# -- formats ---------------------------------------------------------------------------------------


def _csv(found: AsTable, spreadsheet: bool = False) -> str:
    """Write CSV; names are as they are, but control characters reach no terminal."""
    text = found.to_csv(spreadsheet=spreadsheet)
    to_terminal = sys.stdout is not None and sys.stdout.isatty()
    return printable(text, keep="\n") if to_terminal else text


FORMATS: dict[str, Callable[[AsTable], str]] = {
    "table": lambda found: found.to_text(),
    "json": lambda found: found.to_json(),
    "markdown": lambda found: found.to_markdown(),
    "csv": _csv,
    "spreadsheet": lambda found: _csv(found, spreadsheet=True),
    "latex": lambda found: found.to_latex(),
    "html": lambda found: found.to_html(),
}
CSV_FORMATS = ("csv", "spreadsheet")
# How lines of text, such as findings, are written. JSON has them as data, CSV has no place for
# them.
LINE_FORMATS: dict[str, Callable[[Iterable[str]], str]] = {
    "table": lambda lines: "\n".join(map(printable, lines)),
    "markdown": lambda lines: "\n".join(f"- {markdown_cell(line)}" for line in lines),
    "latex": lambda lines: "".join(f"% {one_line(line)}\n" for line in lines),
    "html": lambda lines: "".join(f"<p>{html_text(line)}</p>\n" for line in lines),
}


# -- sheets ----------------------------------------------------------------------------------------


def adjusted_sheet(found: Adjusted, about: dict[str, Any]) -> Sheet:
    """Make the sheet of an adjusted published number; `about` describes its data set, if any."""
    lines = [line for name in ("summary", "note") if (line := about.pop(name, None))]
    name, _, p = spelled_p(found.log10_p).partition(" = ")
    rows = {
        "published": found.value,
        "expected by chance": found.expectation,
        "standard deviation": math.sqrt(found.variance),
        "ratio (1 is chance)": found.ratio,
        "index (0 is chance, 1 perfect)": found.index,
        "z (in standard deviations)": found.z,
        f"{name} (as good by chance)": f"{p} ({found.method})",
    }
    heading = [found.metric, format_count(found.tasks, "task")]
    table = Table(heading, rows.items(), before=lines, notes=found.notes, digits=5)
    fields = {**about, **found.to_dict()}
    cells = {name: value for name, value in fields.items() if name not in ("notes", "bounds")}
    if found.bounds is not None:
        for name, (low, high) in fields["bounds"].items():
            cells |= {f"{name}_low": low, f"{name}_high": high}
    return Sheet(table, Table(list(cells), [list(cells.values())]), fields)


def comparison_sheet(pairs: Sequence[Comparison]) -> Sheet:
    """Make the sheet of comparisons, with a row for each metric and pair of models."""
    first, several = pairs[0], len(pairs) > 1
    by_metric: dict[str, list[Comparison]] = {}
    for pair in pairs:
        by_metric.setdefault(pair.metric, []).append(pair)
    metrics_of: dict[str, list[str]] = {}
    for metric, some in by_metric.items():
        metrics_of.setdefault(_compared(some), []).append(metric)
    lines = [f"{', '.join(metrics)}, {text}" for text, metrics in metrics_of.items()]
    notes = [note for note in format_notes(pairs) if not note.endswith(BY_POSITION_ONLY)]

    holm = ["p (Holm)"] if several else []
    names = ["metric", "a - b"] if len(by_metric) > 1 else ["a - b"]
    bounds = f"{100 * first.level:g} % interval"
    rows = [
        [
            *([table_name(pair.metric)] if len(names) > 1 else []),
            f"{pair.name_a} - {pair.name_b}",
            *(pair.value_a, pair.value_b, pair.estimate, (pair.low, pair.high)),
            f"{pair.p_value:.3g}",
            *([f"{pair.p_holm or 0.0:.3g}"] if several else []),
            f"{pair.wins:,} / {pair.ties:,} / {pair.losses:,}",
        ]
        for pair in pairs
    ]
    effects = " or ".join(dict.fromkeys(pair.effect for pair in pairs))
    columns = [*names, "a", "b", effects, bounds, "p", *holm, "wins / ties / losses"]
    table = Table(columns, rows, names=len(names), before=lines, notes=notes, digits=5)
    fields = [pair.to_dict() for pair in pairs]
    records = {name: [row[name] for row in fields] for name in fields[0] if name != "notes"}
    return Sheet(table, Table(records), {"comparisons": fields})


def _compared(pairs: Sequence[Comparison]) -> str:
    """Say how the pairs of one metric were compared."""
    first = pairs[0]
    tasks = first.wins + first.ties + first.losses
    units = f" in {describe_units(first.units, first.by)}"
    units = "" if first.by == TASK else units
    return f"{first.method}: {format_count(tasks, 'task')}{units}, paired by {pairing_text(pairs)}."


def pairing_text(pairs: Sequence[Comparison]) -> str:
    """Say how tasks were matched, for each pair of models if pairs differ in it."""
    pairs_of_pairing: dict[str, list[str]] = {}
    for pair in pairs:
        pairs_of_pairing.setdefault(pair.pairing, []).append(f"{pair.name_a} - {pair.name_b}")
    if len(pairs_of_pairing) == 1:
        return pairs[0].pairing
    return ", by ".join(f"{by} ({', '.join(names)})" for by, names in pairs_of_pairing.items())


def metrics_sheet(measured: Report, keys: Sequence[str], intervals: dict[str, Interval]) -> Sheet:
    """Make the sheet of chosen keys, with their intervals and their values by group, if any."""
    values: dict[str, float] = measured.to_dict(keys)
    bounds = ["low", "high"] if intervals else []

    def line(key: str) -> list[float]:
        interval = intervals.get(key)
        return [values[key], *([] if interval is None else [interval.low, interval.high])]

    within = [key for key in keys if measured.by is not None and not key.startswith("macro.")]
    by_group = {key: measured.group_values(key) for key in within}
    tasks = measured.group_tasks(measured.sides[0]) if within else {}
    labels = sorted(tasks, key=lambda label: -tasks[label])

    table = Table(
        ["key", "value", *bounds],
        [[key, *line(key)] for key in keys],
        before=[*measured.table().before, *interval_lines(intervals)],
        notes=gather_notes({key: found.notes for key, found in intervals.items()}),
        digits=6,
    )
    group = ["group"] if within else []
    blank = [""] * len(bounds)
    records = [[*[""] * len(group), key, *line(key)] for key in keys]
    records += [
        [label_text(label), key, by_group[key][label], *blank] for label in labels for key in within
    ]
    stored = json.loads(measured.to_json(keys))
    if intervals:
        stored["intervals"] = {key: found.to_dict() for key, found in intervals.items()}
    return Sheet(table, Table([*group, "key", "value", *bounds], records), stored)


def interval_lines(intervals: Mapping[str, Interval]) -> list[str]:
    """Say how intervals were made, with a line for those that were made alike."""
    alike: dict[str, list[str]] = {}
    for key, bounds in intervals.items():
        how = f"{100 * bounds.level:g} %, {bounds.method}, "
        alike.setdefault(how + describe_units(bounds.units, bounds.by), []).append(key)
    lines = [f"Intervals of {', '.join(keys)}: {how}." for how, keys in alike.items()]
    missing = [key for key, bounds in intervals.items() if math.isnan(bounds.low)]
    if missing:
        lines.append(f"No bounds of {', '.join(missing)}: fewer than 2 units, or no value.")
    return lines
