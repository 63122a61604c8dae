"""What a report is printed as: one table of its sides, kinds, means and groups, and a line."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import inference
from ..errors import InputValueError, UnknownKeyError
from ..inputs.checks import confidence, flag, unique_keys
from ..inputs.rules import suggest
from ..metrics.averages import DEFAULT_KIND
from ..metrics.contributions import UNIT
from ..metrics.keys import (
    ALL_SIDES,
    MACRO,
    NO_ADJUSTMENT,
    UNPOOLED_SIDE,
    Key,
    increasing,
    parse,
    table_name,
    why_no_value,
)
from ..naming import format_count, percent
from ..ranks.grouping import group_codes
from ..tables import Column, Table
from ..tables.as_table import Names
from ..tables.table import DIGITS, check_digits
from .audit import graded_findings, kinds_differ, share_missed

if TYPE_CHECKING:
    from ..inference import Interval
    from ..ranks.labels import LabelsLike
    from ..ranks.protocol import Protocol
    from .audit import Summary
    from .reports import Report

ALL_METRICS = "all"

AUTO = "auto"  # Kinds have rows where they move a value by more than its last printed digit.
ALL_KINDS = "all"  # It means all kinds but the random one.

# What a line of a table is of, but for the kind of rank. "average" tells the groups from all tasks,
# and lines of several models have the number of their "part", in which they are comparable.
LABELS = ("average", "group", "side", "part", "model")

Lines = Mapping[str, list[Any]]  # The cells of the lines of a table by the name of their column.
# What a report counts, as the heading of its column.
COUNTED = {"task": "tasks", "query": "queries"}
BETTER: dict[bool | None, Any] = {True: "higher", False: "lower", None: None}
# Papers print these metrics as percentages, too.
SHARES = ("hits", "sampled_hits", "success", "recall", "precision")

GROUPS_NAMED = 3  # A note names so many.
GROUPS_SHOWN = 20  # A printed table is cut here; programs read all groups.
# They stand below every table.
DOUBTS = ("misses", "worse than chance", "test candidates", "ties")
MICRO = "micro"
GROUP = "group"

ALL_ROWS = "all"  # It labels all groups, or all queries, together.
NO_VALUE = "-"  # People read it where a metric has no value of a row.

SHORT_METRICS = ("mrr", "hits@10", "amri")  # A repr shows these.
# In these words the line above a table says what becomes of right answers that their lists miss.
MISSES = {"zero": "count as 0", "bounds": "have bounds", "expected": "count by their mean"}

Pairs = Sequence[tuple[str, str]]  # Each is a side and a kind of rank.


def table_of_report(
    report: Report,
    metrics: Names = None,
    *,
    sides: Names = None,
    kinds: Names = AUTO,
    percent: bool = False,
    interval: bool = False,
    level: float = 0.95,
    unit: LabelsLike | None = UNIT,
    digits: int = DIGITS,
    all_intervals: bool = True,
) -> Table:
    """Return a report as one table; `Report.table` says what the parameters are.

    The rows are of all sides and kinds; then those of the macro average and the groups, the largest
    first, of the first side and of the default kind, unless sides or kinds are given. People read
    rows of another kind than the default only where a value moves by more than one in its last
    printed digit, unless kinds are given.
    Labels that are alike in all rows are for programs alone. Without `all_intervals` only the rows
    that people read have them.
    """
    digits = check_digits(digits)
    default_kind = report.grammar.default_kind
    of_all, of_groups = _choose_rows(report, sides, kinds)
    keys = _choose_columns(report, metrics)
    notes = [sentence(finding.message) for _, finding in graded_findings(report, DOUBTS)]
    lines: dict[str, list[Any]] = defaultdict(list)
    _add_means(lines, report, keys, of_all, MICRO)
    most_rows = len(lines["kind"])
    if report.by is not None:
        _add_means(lines, report, keys, of_groups, MACRO)
        most_rows = len(lines["kind"]) + GROUPS_SHOWN
        for side, kind in of_groups:
            keys_of_row = _keys_of_row(report, keys, side, kind)
            sizes = {place: n for place, n in group_sizes(report, side).items() if n}
            _add_groups(lines, report, sizes, keys_of_row, {"side": side, "kind": kind})
        notes += _macro_lines(lines, report, keys, of_groups)
    if flag("interval", interval):
        models = _models_of_lines(lines, report, unit)
        models = itertools.islice(models, None if all_intervals else most_rows)
        notes += add_intervals(lines, keys, models, confidence(level))
    columns = metric_columns(keys, lines, percent=percent)
    rows: Sequence[int] = range(len(lines["kind"]))[:most_rows]
    if is_auto(kinds):
        rows = rows_that_differ(lines, columns, default_kind, digits, most_rows)
    labels = []
    if report.by is not None:
        labels.append(Column("average", hidden=True))
        labels.append(label_column("group", lines["group"], report.by))
    for name, plain in {"side": None, "kind": default_kind}.items():
        if name in report.grammar.rows:
            labels.append(label_column(name, [lines[name][i] for i in rows], plain=plain))
    columns = [*labels, Column(COUNTED[report.unit]), *columns]
    table = Table({c: lines[c.name] for c in columns}, notes=notes, digits=digits)
    table.names = len(labels)
    table.before = tuple(lines_above(report))
    table.shown_rows = rows
    table.more = max(0, len(table) - most_rows)
    return table


def table_of_keys(
    report: Report, keys: Sequence[str], *, percent: bool = False, interval: bool = False
) -> Table:
    """Return a table with a column for each of any keys, and a row of all tasks and of each group.

    Examples
    --------
    >>> import truerank as tr
    >>> report = tr.report(tr.Ranks([0, 3], [1, 1], 10), by=["a", "b"])
    >>> print(table_of_keys(report, ["macro.mrr", "optimistic.mr"]).to_text(notes=False))
    label  tasks  number  macro.MRR ↑  optimistic.MR ↓
    all    2      value         0.625              2.5
    a      1      value             -              1.0
    b      1      value             -              4.0
    """
    keys_of_row = {key: report.read_key(key) for key in keys}
    tasks = COUNTED[report.unit]
    side = report.sides[0]  # Relations alone are not pooled.
    labels = [Column("number")]
    sizes: dict[int, int] = {}
    number = report.tasks(side)
    if report.by is not None:
        labels = [Column("group", report.by), Column(tasks), Column("number")]
        sizes = group_sizes(report, side)
        number = sum(sizes.values())
    lines: dict[str, list[Any]] = defaultdict(list)
    cells: dict[str, Any] = {
        "number": "value",
        "average": MICRO,
        "group": ALL_ROWS,
        tasks: number,
        "place": None,
    }
    cells |= {"keys": keys_of_row, **report.to_dict(keys_of_row)}
    for name, cell in cells.items():
        lines[name].append(cell)
    if report.by is not None:
        _add_groups(lines, report, sizes, keys_of_row, {"number": "value"})
    notes: list[str] = []
    if flag("interval", interval):
        models = _models_of_lines(lines, report, UNIT)
        notes = add_intervals(lines, keys_of_row, models, 0.95)
    columns = [*labels, *metric_columns(keys_of_row, lines, percent=percent)]
    table = Table({c: lines[c.name] for c in columns}, notes=notes)
    table.names = len(labels)
    table.before = tuple(lines_above(report))
    table.shown_rows = range(1 + min(len(sizes), GROUPS_SHOWN))
    table.more = max(0, len(sizes) - GROUPS_SHOWN)
    return table


# -- what is asked for -----------------------------------------------------------------------------


def _choose_rows(report: Report, sides: Names, kinds: Names) -> tuple[Pairs, Pairs]:
    """Check the sides and kinds of a table, or choose them: of the whole, and of groups."""
    default_kind = report.grammar.default_kind
    if sides is None:
        of_all = list(report.sides)
        named = [side for side in of_all if side not in (ALL_SIDES, UNPOOLED_SIDE)]
        if len(named) == 1 and report.tasks(named[0]) == report.tasks(of_all[0]):
            of_all.remove(ALL_SIDES)  # A side that has all tasks stands for the pooled ones.
        of_groups = of_all[:1]
    else:
        of_all = of_groups = unique_keys(sides, "sides")
    kinds_of_all = choose_kinds(report, kinds)
    for side in of_all:
        report.tasks(side)  # It raises for an unknown side.
    few = is_auto(kinds) and default_kind in kinds_of_all
    kinds_of_groups = [default_kind] if few else kinds_of_all
    pairs = itertools.product(of_all, kinds_of_all)
    return list(pairs), list(itertools.product(of_groups, kinds_of_groups))


def choose_kinds(report: Report, kinds: Names) -> list[str]:
    """List the kinds of rank that are named; by default all, or one where all are alike."""
    grammar = report.grammar
    is_word = isinstance(kinds, str) and kinds in (AUTO, ALL_KINDS)
    if kinds is not None and not is_word:
        names = unique_keys(kinds, "kinds")
        for kind in names:
            if kind not in grammar.words["kind"]:
                problem = f"no such kind of rank; {suggest(kind, grammar.words['kind'])}"
                raise UnknownKeyError(repr(kind), problem)
        return names
    if kinds == ALL_KINDS or kinds_differ(report):
        return list(grammar.tie_kinds)
    return [grammar.default_kind]


def _choose_columns(report: Report, metrics: Names) -> dict[str, Key]:
    """Check the metrics of a table, or choose them; they have no word that names a row."""
    grammar = report.grammar
    names = choose_metrics(metrics, grammar.few, grammar.listed)
    keys = {name: parse(name, report.unit) for name in names}
    for name, key in keys.items():
        if key != grammar.column_of(key):
            expected = f"{grammar.column_form} as a column of a table"
            raise InputValueError("metrics", expected=expected, got=repr(name))
    return keys


def choose_metrics(metrics: Names, few: Iterable[str], every: Sequence[str]) -> list[str]:
    """List the metrics of a table: those that were asked for, "all", or a few if they are there.

    Examples
    --------
    >>> choose_metrics(None, ["mr"], ["mr", "mrr"]), choose_metrics("mrr", ["mr"], ["mr", "mrr"])
    (['mr'], ['mrr'])
    """
    if metrics is None and set(few) <= set(every):
        return list(few)
    if metrics is None or (isinstance(metrics, str) and metrics == ALL_METRICS):
        return list(every)
    return unique_keys(metrics)


def is_auto(kinds: Names) -> bool:
    """Whether rows of kinds are to appear where they differ in what is printed.

    Examples
    --------
    >>> is_auto("auto"), is_auto(None), is_auto(["optimistic"])
    (True, True, False)
    """
    return kinds is None or (isinstance(kinds, str) and kinds == AUTO)


# -- lines -----------------------------------------------------------------------------------------


def group_sizes(report: Report, side: str) -> dict[int, int]:
    """Return the number of tasks of each group by its place, the largest group first."""
    tasks = report._size_by_group(side).tolist()
    largest = sorted(range(len(tasks)), key=tasks.__getitem__, reverse=True)
    return {place: tasks[place] for place in largest}


def _keys_of_row(report: Report, keys: Mapping[str, Key], side: str, kind: str) -> dict[str, Key]:
    """Return the keys of the values in a row, by the names of their columns."""
    grammar = report.grammar
    return {name: grammar.key_of_row(key, side, kind) for name, key in keys.items()}


def _add_means(
    lines: dict[str, list[Any]],
    report: Report,
    keys: Mapping[str, Key],
    pairs: Pairs,
    average: str,
) -> None:
    """Add a line for each side and kind, of an average by its name."""
    for side, kind in pairs:
        keys_of_row = _keys_of_row(report, keys, side, kind)
        if average == MACRO:
            keys_of_row = {
                name: dataclasses.replace(key, macro=True) for name, key in keys_of_row.items()
            }
        cells: dict[str, Any] = {"average": average, "group": average, "side": side, "kind": kind}
        cells |= {COUNTED[report.unit]: report.tasks(side), "place": None, "keys": keys_of_row}
        for name, key in keys_of_row.items():
            cells[name] = None if why_no_value(key) else report._value(key)
        for name, cell in cells.items():
            lines[name].append(cell)


def _add_groups(
    lines: dict[str, list[Any]],
    report: Report,
    sizes: Mapping[int, int],
    keys: Mapping[str, Key],
    labels: Mapping[str, str],
) -> None:
    """Add a line for each group, by its place and number of tasks."""
    lines["group"] += [label_text(report._labels[place]) for place in sizes]
    lines[COUNTED[report.unit]] += sizes.values()
    lines["place"] += sizes
    for name, key in keys.items():
        if key.macro or why_no_value(key):  # A macro average is of all groups.
            lines[name] += [None] * len(sizes)
        else:
            values = report._value_by_group(key).tolist()
            lines[name] += [values[place] for place in sizes]
    for name, label in {"average": GROUP, "keys": keys, **labels}.items():
        lines[name] += [label] * len(sizes)


def _macro_lines(
    lines: Mapping[str, list[Any]], report: Report, keys: Mapping[str, Key], pairs: Pairs
) -> Iterator[str]:
    """Say which values macro averages leave out: those of groups without tasks, and nan."""
    for side, kind in pairs[:1]:
        labels = zip(lines["average"], lines["side"], lines["kind"], strict=True)
        rows = [i for i, label in enumerate(labels) if label == (GROUP, side, kind)]
        for name, key in keys.items():
            values = lines[name]
            left_out = len(report._labels) - sum(values[i] == values[i] for i in rows)
            macro_key = dataclasses.replace(key, macro=True, kind=kind)
            if left_out and not why_no_value(macro_key):
                of_key = f"{MACRO}.{report.grammar.compose(side, kind, name)}"
                yield f"{of_key} leaves out {format_count(left_out, 'group')} without a value."


# -- columns ---------------------------------------------------------------------------------------


def metric_columns(
    keys: Mapping[str, Key], lines: Lines, *, percent: bool, is_ranked: bool = False
) -> list[Column]:
    """Return the column of each key, and those of its bounds and deviation, if there are any.

    People read the bounds behind the values or, where there are none, the deviations.
    """
    flag("percent", percent)
    columns = []
    for name, key in keys.items():
        column = metric_column(name, key, percent=percent, is_ranked=is_ranked)
        parts = [f"{name} {part}" for part in ("low", "high", "std") if f"{name} {part}" in lines]
        if None in lines[name]:
            shown = [NO_VALUE if cell is None else cell for cell in lines[name]]
            column = dataclasses.replace(column, shown=shown)
        if parts:
            ends = parts[:2] if len(parts) > 1 else parts
            behind = list(zip(*(lines[end] for end in ends), strict=True))
            column = dataclasses.replace(column, behind=behind)
        columns.append(column)
        columns += [Column(part, hidden=True) for part in parts]
    return columns


def metric_column(
    name: str,
    key: Key | None = None,
    *,
    percent: bool = False,
    is_ranked: bool = False,
) -> Column:
    """Return the column of a key: three decimals of a share, one of a mean rank, two of a z.

    Where models are ranked, the best of its numbers are marked.

    Examples
    --------
    >>> metric_column("mr").decimals, metric_column("mrr").decimals, metric_column("zmrr").decimals
    (1, 3, 2)
    >>> metric_column("hits@10", percent=True).unit, metric_column("mr", is_ranked=True).better
    ('%', 'lower')
    """
    key = parse(name) if key is None else key
    better = BETTER[increasing(key)] if is_ranked else None
    column = Column(name, table_name(key), key.decimals, better=better)
    is_share = key.adjustment == NO_ADJUSTMENT and key.metric in SHARES
    if percent and is_share:
        return dataclasses.replace(column, decimals=1, unit="%")
    return column


def label_column(
    name: str, labels: Iterable[str], heading: str = "", plain: str | None = None
) -> Column:
    """Return a column of labels, for programs alone where people have nothing to tell apart.

    These are labels that are alike, or all `plain`, where a label goes without saying.
    """
    different = set(labels)
    is_hidden = len(different) < 2 if plain is None else different <= {plain}
    return Column(name, heading, hidden=is_hidden)


def rows_that_differ(
    lines: Lines, columns: Iterable[Column], plain_kind: str, digits: int, most: int
) -> list[int]:
    """List those of the first lines that people read: of the plain kind, or far enough from it.

    A line of another kind is left out if none of its values differs from that of the plain kind
    with the same labels by more than one in the last digit that is printed.
    """
    names = [name for name in LABELS if name in lines]
    labels = list(zip(*(lines[name][:most] for name in names), strict=True))
    kinds = lines["kind"][:most]
    plain_lines = {labels[i]: i for i, kind in enumerate(kinds) if kind == plain_kind}
    shown = [column for column in columns if not column.hidden]
    rows = []
    for i, label in enumerate(labels):
        j = plain_lines.get(label, i)
        if i == j or any(_moves(column, lines[column.name], (i, j), digits) for column in shown):
            rows.append(i)
    return rows


def _moves(column: Column, cells: Sequence[Any], rows: tuple[int, int], digits: int) -> bool:
    """Whether the cells of two rows differ by more than one in the last digit that is printed."""
    texts = {column.text(cells[i], i, digits) for i in rows}
    one, other = (cells[i] for i in rows)
    if len(texts) < 2 or None in (one, other):
        return False
    last_digit = 10.0 ** -max(len(text.partition(".")[2]) for text in texts)
    if column.unit == "%":
        last_digit /= 100
    return not abs(one - other) <= last_digit * (1 + 1e-9)


# -- intervals -------------------------------------------------------------------------------------


def _models_of_lines(
    lines: Mapping[str, list[Any]], report: Report, unit: LabelsLike | None
) -> Iterator[tuple[Report, LabelsLike | None]]:
    """Yield for each line the report of its tasks and the units of these."""
    units: Any = unit
    is_of_tasks = unit is not None and not isinstance(unit, str)
    if is_of_tasks:  # The units have a label for every task.
        units = group_codes(report.ranks, units, "unit")[0]
    for place in lines["place"]:
        if place is None:
            yield report, unit
        else:
            of_group = units[report.group_labels == place] if is_of_tasks else unit
            yield report.groups[report._labels[place]], of_group


def add_intervals(
    lines: dict[str, list[Any]],
    columns: Iterable[str],
    models: Iterable[tuple[Any, LabelsLike | None]],
    level: float,
) -> list[str]:
    """Add the intervals of the values of the first lines; say what they are of.

    A line has its keys by the names of their columns, whose bounds are columns of their own. Where
    there is no value, or no interval of it, there are no bounds.

    Parameters
    ----------
    lines : dict of str to list
    columns : iterable of str
        The columns of values.
    models : iterable of (report or list of reports, units)
        What the first lines are of.
    level : float

    Returns
    -------
    list of str
        Notes: what stands in brackets, and what limits the trust in it, each once; of groups, in
        which of them.
    """
    intervals: list[tuple[str, Interval]] = []  # Each with the name of its group, or "".
    ends: dict[str, list[float | None]] = defaultdict(list)
    for i, (model, unit) in enumerate(models):
        runs = len(model) if isinstance(model, list) else 1
        group = lines["group"][i] if lines["average"][i] == GROUP else ""
        for name in columns:
            key = lines["keys"][i][name]
            value = lines[name][i]
            low = high = None
            has_value = key is not None and value is not None and not math.isnan(value)
            if has_value and not inference.intervals.why_no_interval(key, runs=runs):
                # Tables print the title of a key, which is a key, too.
                interval = inference.interval(model, key.title, unit=unit, level=level)
                low = interval.low
                high = interval.high
                intervals.append((group, interval))
            ends[f"{name} low"].append(low)
            ends[f"{name} high"].append(high)
    for name, bounds in ends.items():
        lines[name] = bounds + [None] * (len(lines["keys"]) - len(bounds))
    return _notes_on_intervals(intervals, level)


def _notes_on_intervals(intervals: Iterable[tuple[str, Interval]], level: float) -> list[str]:
    """Say what the intervals of groups, or of all tasks, are of, and what limits the trust in them.

    That units are few is said once; of groups, in which of them.
    """
    units = ""
    notes: dict[str, str] = {}
    groups_of_note: dict[str, dict[str, None]] = {}
    for group, interval in intervals:
        if interval.method != "none" and not units:
            units = format_count(interval.units, interval.unit)
        for note in interval.notes:
            kind = note.partition(":")[0]
            if group:
                groups_of_note.setdefault(kind, {})[group] = None
            else:
                notes.setdefault(kind, note)
    texts = []
    if units:
        texts.append(f"Brackets hold {100 * level:g} % intervals over {units}.")
    texts += map(sentence, notes.values())
    for kind, groups in groups_of_note.items():
        names = ", ".join(list(groups)[:GROUPS_NAMED])
        if len(groups) > GROUPS_NAMED:
            names += f" and {len(groups) - GROUPS_NAMED:,} more"
        texts.append(sentence(f"{kind}: {format_count(len(groups), 'group')} ({names})"))
    return texts


# -- words -----------------------------------------------------------------------------------------


def sentence(text: str) -> str:
    """Write a clause as a sentence.

    Examples
    --------
    >>> sentence("ties move mr"), sentence("is the similarity dot right?")
    ('Ties move mr.', 'Is the similarity dot right?')
    """
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith("?") else ".")


def label_text(label: Hashable) -> str:
    """Write the label of a group, the parts of a tuple with blanks between them.

    Examples
    --------
    >>> label_text((3, "1-N")), label_text(7)
    ('3 1-N', '7')
    """
    if isinstance(label, tuple):
        return " ".join(map(str, label))
    return str(label)


def lines_above(report: Report) -> list[str]:
    """Say what was counted, among how many candidates: the lines above a table."""
    if report.unit == "query":
        return _lines_of_queries(report)
    summary = report.summary
    protocol = report.protocol
    sides = [f"{side} {report.tasks(side):,}" for side in report.sides if side != ALL_SIDES]
    number = format_count(summary.tasks, f"{protocol.split or ''} task".strip())
    if sides:
        number += f" ({', '.join(sides)})"
    words = [number]
    if summary.tasks:
        noun = "candidate" if summary.candidates_max == 1 else "candidates"
        if protocol.sampled:
            noun = f"sampled {noun}"
        words.append(f"{_range_of_candidates(summary)} {noun}")
    if protocol.filter:
        words.append(f"filtered by {' + '.join(protocol.filter)}")
    else:
        words.append("unfiltered")
    if summary.tasks or protocol.ties:
        words.append(_ties_in_words(summary, protocol))
    if report.weighting:
        words.append(report.weighting)
    return [f"{', '.join(words)}."]


def _ties_in_words(summary: Summary, protocol: Protocol) -> str:
    if protocol.ties:
        return f"ties {protocol.ties}"
    if summary.tied_tasks == 1:
        return "1 task is tied"
    return f"{summary.tied_tasks:,} tasks are tied" if summary.tied_tasks else "no ties"


def _lines_of_queries(report: Report) -> list[str]:
    summary = report.summary
    protocol = report.protocol
    sizes = _sizes_of_queries(report)
    if not summary.tasks:
        return [sizes]
    tied = f"{summary.tied_tasks:,} of them tied"
    if protocol.ties:
        tied = f"ties {protocol.ties}"
    lines = [f"{sizes}, {tied}, among {_range_of_candidates(summary)} candidates"]
    missed = share_missed(report)
    if missed is not None:
        share = f"{percent(missed)} of the right answers"
        line = f"{share} are missed by their lists and {MISSES[protocol.misses or 'zero']}"
        if report.ranks.lengths is not None:  # No metric counts further, whatever its cutoff.
            longest = int(report.ranks.lengths.max())
            line += f"; the longest has {format_count(longest, 'candidate')}"
        lines.append(line)
    if report.without_answers:
        number = format_count(report.without_answers, "query")
        counted = "left out" if protocol.answerless is None else "counted as 0"
        lines.append(f"{number} without a right answer {counted}")
    if protocol.relevance_level:
        lines.append(f"answers are right from a gain of {protocol.relevance_level:g} on")
    return lines


def _sizes_of_queries(report: Report) -> str:
    queries = format_count(report.tasks(), "query")
    answers = format_count(report.summary.tasks, "right answer")
    return f"{queries} with {answers}"


def _range_of_candidates(summary: Summary) -> str:
    low = summary.candidates_min
    high = summary.candidates_max
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def words_of_repr(report: Report) -> list[str]:
    """List what the repr of a report says: its sizes, and a few of its values."""
    if report.unit == "query":
        words = [_sizes_of_queries(report)]
        keys = list(report.grammar.few)
    else:
        summary = report.summary
        words = [format_count(summary.tasks, "task"), f"{summary.tied_tasks:,} tied"]
        if report.protocol.ties:
            words[1] = f"ties {report.protocol.ties}"
        if report.by is not None:
            words.append(format_count(len(report._labels), "group"))
        keys = [
            report.grammar.compose(report.sides[0], DEFAULT_KIND, name) for name in SHORT_METRICS
        ]
    return words + [f"{key} {report[key]:.4g}" for key in keys if key in report]
