"""What all reports share: values by key; and a report as a table of its sides, kinds and groups."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

from ..inputs.checks import flag, unique_keys
from ..inputs.errors import InputValueError, UnknownKeyError
from ..inputs.words import suggest
from ..metrics import KINDS, Key, parse
from ..metrics.keys import ADJUSTED, ALL_SIDES, MACRO, NO_ADJUSTMENT, RELATION_SIDE, table_name
from ..metrics.kinds import DEFAULT_KIND, EXPECTED_KIND
from ..tables import AsTable, Column, Table
from ..tables.cells import format_count

DEFAULT_METRICS = (
    *("mr", "mrr", "hits@1", "hits@3", "hits@5", "hits@10"),
    *("hmr", "gmr", "median", "amr", "amri", "amrr", "ah@10", "zmrr"),
)
DEFAULT_KINDS = ("optimistic", "realistic", "pessimistic")

SHORT_METRICS = ("mrr", "hits@10", "amri")  # what a repr shows
FEW_METRICS = ("mr", "mrr", "hits@1", "hits@3", "hits@10", "amri")  # what tables show by default
ALL_METRICS = "all"

Names = str | Iterable[str] | None
R = TypeVar("R")

Report = Any  # the class stands in a module that imports this one
GROUPS_SHOWN = 20  # of a printed table; programs read all groups
SHARES = ("hits", "success", "recall", "precision")  # what papers print as percentages, too

Pairs = Sequence[tuple[str, str]]  # of a side and a kind of rank
Row = dict[str, Any]  # labels, the number of tasks, and values: None where one is not known
DOUBTS = ("misses", "worse than chance", "test candidates", "ties")  # which stand below every table


def compose_key(side: str, kind: str, metric: str) -> str:
    """Join side, kind and metric to a key, without defaults.

    Examples
    --------
    >>> compose_key("tail", "realistic", "amri")
    'tail.amri'
    """
    words = [word for word in (side, kind) if word not in (ALL_SIDES, DEFAULT_KIND)]
    return ".".join([*words, metric])


def metric_of(key: str) -> str:
    """Return the [adjustment.]metric[@k][:p] of a key, as it is written there.

    Examples
    --------
    >>> metric_of("tail.expected.index.power_mean:0.5")
    'index.power_mean:0.5'
    """
    before, colon, power = key.partition(":")
    words = before.split(".")
    adjusted = len(words) > 1 and words[-2] in ADJUSTED
    return ".".join(words[-2:] if adjusted else words[-1:]) + colon + power


def choose_metrics(metrics: Names, few: Iterable[str], every: Sequence[str]) -> list[str]:
    """List the metrics of a table: those that were asked for, "all", or a few if they are there.

    Examples
    --------
    >>> choose_metrics(None, ["mr"], ["mr", "mrr"]), choose_metrics("mrr", ["mr"], ["mr", "mrr"])
    (['mr'], ['mrr'])
    """
    if metrics is None:
        return list(few if set(few) <= set(every) else every)
    is_all = isinstance(metrics, str) and metrics == ALL_METRICS
    return list(every) if is_all else unique_keys(metrics)


class KeyedValues(Mapping[str, float], AsTable):
    """A mapping from keys to numbers that takes a list of keys as well, and prints as a table.

    Attributes
    ----------
    few, usual : sequence of str
        The metrics of tables by default, and those that are listed.
    read_key : callable
        What reads a key of this kind of report; an unknown one is a KeyError.
    """

    few: Sequence[str] = FEW_METRICS
    usual: Sequence[str] = DEFAULT_METRICS
    read_key: Callable[[str], Key] = staticmethod(parse)

    @overload
    def __getitem__(self, key: str, /) -> float: ...

    @overload
    def __getitem__(self, key: list[str] | tuple[str, ...], /) -> dict[str, float]: ...

    def __getitem__(self, key: str | list[str] | tuple[str, ...], /) -> float | dict[str, float]:
        """Return the value of a key, or of several as a dictionary; an unknown one is a KeyError.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], 10))[["mrr", "hits@1"]]
        {'mrr': 0.625, 'hits@1': 0.5}
        """
        if isinstance(key, (list, tuple)):
            return {name: self._value(name) for name in unique_keys(key, "key")}
        return self._value(key)

    @abstractmethod
    def _value(self, key: str) -> float:
        """Return the value of a key; an unknown one is a KeyError with the most similar names."""

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _ipython_key_completions_(self) -> list[str]:
        """List the keys that IPython and notebooks complete within brackets."""
        return list(self)

    def to_dict(self, metrics: Names = None) -> dict[str, float]:
        """Return the values by key, as loggers need them.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The keys, which are returned as they are written here; by default those that the report
            lists.

        Raises
        ------
        KeyError
            For an unknown key.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], 10)).to_dict(["mrr", "optimistic.hits@1"])
        {'mrr': 0.625, 'optimistic.hits@1': 0.5}
        """
        return {key: self[key] for key in unique_keys(self if metrics is None else metrics)}


class Groups(Mapping[Hashable, R]):
    """The reports of groups by label, each made by its place when it is first read."""

    def __init__(self, labels: Iterable[Hashable], make: Callable[[int], R]) -> None:
        self._places = {label: place for place, label in enumerate(labels)}
        self._make, self._reports = make, dict[Hashable, R]()

    def __getitem__(self, label: Hashable) -> R:
        if label not in self._reports:
            self._reports[label] = self._make(self._places[label])
        return self._reports[label]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"<groups: {', '.join(map(repr, self))}>"


# -- tables ----------------------------------------------------------------------------------------


def report_table(
    report: Report, metrics: Names, sides: Names, kinds: Names, percent: bool
) -> Table:
    """Return a report as one table.

    The rows are of all sides and kinds; then those of the other filters, the macro average and the
    groups, the largest first, of the first side and of realistic ranks, unless sides or kinds are
    given. Labels that are alike in all rows are for programs alone, and values that were not stored
    are empty cells.
    """
    listed = {key: parse(key) for key in report}
    of_all, of_groups = _choose_rows(report, listed.values(), sides, kinds)
    every = list(dict.fromkeys(map(metric_of, listed)))
    keys = {name: parse(name) for name in choose_metrics(metrics, FEW_METRICS, every)}
    for name, key in keys.items():
        if key != column_of(key):
            expected = "[adjustment.]metric[@k] as a column of a table"
            raise InputValueError("metrics", expected=expected, got=repr(name))
        if not hasattr(report, "ranks") and key not in map(column_of, listed.values()):
            report[name]  # a KeyError
    own, *others = report.filters or [""]
    rows = [*_rows(report, keys, of_all, "micro", own)]
    for name in others:
        rows += _rows(report.filters[name], keys, of_groups, "micro", name)
    labels, most = [*["filter"] * bool(others), "side", "kind"], None
    notes = [sentence(finding.message) for finding in report.audit(*DOUBTS)]
    if report.by is not None:
        rows += _rows(report, keys, of_groups, MACRO, own)
        most = len(rows) + GROUPS_SHOWN
        rows += _group_rows(report, keys, of_groups, own)
        labels = ["average", "group", *labels]
        notes += _macro_lines(report, keys, of_groups)
    columns = [_label_column(name, report.by, {row[name] for row in rows}) for name in labels]
    columns += [Column("tasks"), *(metric_column(name, percent=percent) for name in keys)]
    cells = [[row[column.name] for column in columns] for row in rows]
    before = [_first_line(report)]
    return Table(columns, cells, names=len(labels), before=before, notes=notes, most=most)


def _choose_rows(
    report: Report, listed: Collection[Key], sides: Names, kinds: Names
) -> tuple[Pairs, Pairs]:
    """Check the sides and kinds of a table, or choose them: of the whole, and of groups."""
    found_sides = {key.side for key in listed}  # a group may have no tasks of a side
    found_kinds = {key.kind for key in listed if not key.macro}
    if len(found_kinds) > 1 and hasattr(report, "ranks"):
        found_kinds.add(EXPECTED_KIND)
    every_side = [side for side in report.sides if side in found_sides]
    named = [side for side in every_side if side not in (ALL_SIDES, RELATION_SIDE)]
    if len(named) == 1 and report.tasks(named[0]) == report.tasks(every_side[0]):
        every_side.remove(ALL_SIDES)
    every_kind = [kind for kind in KINDS if kind in found_kinds]
    chosen_sides = unique_keys(every_side if sides is None else sides, "sides")
    chosen_kinds = unique_keys(every_kind if kinds is None else kinds, "kinds")
    for side in chosen_sides:
        report.tasks(side)  # a KeyError for an unknown one
    for kind in chosen_kinds:
        if kind not in KINDS:
            raise UnknownKeyError(repr(kind), f"no such kind of rank; {suggest(kind, KINDS)}")
    few_sides = chosen_sides[:1] if sides is None else chosen_sides
    few_kinds = chosen_kinds
    if kinds is None and DEFAULT_KIND in chosen_kinds:
        few_kinds = [DEFAULT_KIND]
    of_all = list(itertools.product(chosen_sides, chosen_kinds))
    return of_all, list(itertools.product(few_sides, few_kinds))


def column_of(key: Key) -> Key:
    """Return the key of the column that a key is in: without its side, kind and average.

    Examples
    --------
    >>> str(column_of(parse("macro.tail.expected.amri")))
    'index.mr'
    """
    return key._replace(side=ALL_SIDES, kind=DEFAULT_KIND, macro=False)


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
    if flag("percent", percent) and is_share:
        return Column(name, table_name(parsed), 1, "%", **of)
    return Column(name, table_name(parsed), parsed.decimals, **of)


def _label_column(name: str, groups: str | None, labels: set[str]) -> Column:
    alike = len(labels) < 2 and (name != "kind" or labels <= {DEFAULT_KIND})
    heading = groups or "" if name == "group" else ""
    return Column(name, heading, only="data" if alike or name == "average" else None)


# -- rows ------------------------------------------------------------------------------------------


def _rows(
    report: Report, keys: Mapping[str, Key], pairs: Pairs, average: str, own: str
) -> Iterator[Row]:
    """Yield a row for each side and kind, of all tasks or of macro averages, under a filter."""
    macro = average == MACRO
    for side, kind in pairs:
        row: Row = {"average": average, "group": average, "filter": own, "side": side, "kind": kind}
        for name, key in keys.items():
            of_row = key._replace(side=side, kind=kind, macro=macro)
            row[name] = None if macro and key.adjustment == "z" else report._source.value(of_row)
        yield {**row, "tasks": report.tasks(side)}


def _group_rows(report: Report, keys: Mapping[str, Key], pairs: Pairs, own: str) -> Iterator[Row]:
    """Yield the rows of groups that have tasks, the largest group first."""
    for side, kind in pairs:
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


def _macro_lines(report: Report, keys: Mapping[str, Key], pairs: Pairs) -> Iterator[str]:
    """Say which values macro averages leave out."""
    for (side, kind), (name, key) in itertools.product(pairs[:1], keys.items()):
        column = report._source.column(key._replace(side=side, kind=kind)) or []
        left_out = sum(map(math.isnan, column))
        if left_out and key.adjustment != "z":
            of_key = f"{MACRO}.{compose_key(side, kind, name)}"
            yield f"{of_key} leaves out {format_count(left_out, 'group')} without a value."
