"""The table that people and programs read of results by metric, whatever they are of.

Such results are kept as columns in a long form, of which every line has its labels (a model, a
group, a side, a kind of rank), a number of tasks or runs, and of each metric its value,
perhaps with the bounds of its interval, and its deviation over runs: "mrr", "mrr low", "mrr high",
"mrr std".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .table import Column, Position, Table

# What a line is of, but for the kind of rank. "average" tells the groups from all tasks, and lines
# of several models have the number of their "part" of the table, in which they are comparable.
LABELS = ("average", "group", "side", "part", "model")


class Lines(defaultdict[str, list[Any]]):
    """Lines of results, as columns by name.

    Examples
    --------
    >>> lines = Lines()
    >>> lines.add({"model": "A", "mrr": 0.5})
    >>> lines.add_columns({"model": "B"}, {"mrr": [0.25, 0.75]})
    >>> dict(lines)
    {'model': ['A', 'B', 'B'], 'mrr': [0.5, 0.25, 0.75]}
    """

    def __init__(self) -> None:
        super().__init__(list)

    def add(self, cells: Mapping[str, Any]) -> None:
        """Add a line."""
        for name, cell in cells.items():
            self[name].append(cell)

    def add_columns(self, labels: Mapping[str, str], columns: Mapping[str, Sequence[Any]]) -> None:
        """Add the lines of some columns, all with these labels."""
        number = max(map(len, columns.values()))
        for name, label in labels.items():
            self[name] += [label] * number
        for name, cells in columns.items():
            self[name] += cells


def pivot(
    lines: Lines,
    labels: Sequence[Column],
    metrics: Iterable[Column],
    *,
    number: Column | None = None,
    plain_kind: str | None = None,
    significant: Iterable[Position] = (),
    before: Iterable[str] = (),
    most_shown: int | None = None,
    **options: Any,
) -> Table:
    """Return the table of lines: columns of labels, of the number, and of each metric.

    Parameters
    ----------
    lines : Lines
    labels, metrics : sequence of Column
        The columns, by their names in the lines. Behind a value people read its interval or, where
        there is none, its deviation; for programs these are columns of their own.
    number : Column, optional
        That of the numbers of tasks or runs.
    plain_kind : str, optional
        The kind of lines that people always read. Of another kind they read only those where one of
        the values prints otherwise.
    significant : iterable of (int, str)
        The line, from 0, and the metric of values that have a dagger.
    before : iterable of str
        Lines above the table.
    most_shown : int, optional
        How many lines people read. Default: all.
    **options
        As `Table` takes them.

    Examples
    --------
    >>> lines = Lines()
    >>> for name in "AB":
    ...     lines.add({"model": name, "mrr": 0.5, "mrr low": 0.25, "mrr high": 0.75})
    >>> print(pivot(lines, [Column("model")], [Column("mrr", decimals=2)]))
    model                mrr
    A      0.50 [0.25, 0.75]
    B      0.50 [0.25, 0.75]
    """
    columns = list(labels)
    if number is not None:
        columns.append(number)
    for column in metrics:
        columns += _columns_of_metric(column, lines)
    cells = {column: lines[column.name] for column in columns}
    table = Table(cells, names=len(labels), **options)
    table.before = tuple(before)
    table._significant = significant
    if most_shown is not None:
        table._shown = min(most_shown, len(table))
    if "part" in lines:
        table._blocks = list(zip(lines["part"], lines["kind"], strict=True))
    if plain_kind is not None:
        table._variants = _variants(lines, plain_kind)
    return table


def _columns_of_metric(column: Column, lines: Lines) -> list[Column]:
    """Return the column of a metric, and those of its bounds and deviation, if there are any."""
    bounds = (f"{column.name} low", f"{column.name} high")
    deviation = column._replace(name=f"{column.name} std", better=None)
    found = [column]
    if bounds[0] in lines:
        found = [column._replace(around=bounds)]
        found += [Column(name, "", column.decimals, column.unit) for name in bounds]
        deviation = deviation._replace(only="data")
    elif deviation.name in lines:
        found = [column._replace(around=(deviation.name,))]
    if deviation.name in lines:
        found.append(deviation)
    return found


def label_column(lines: Lines, name: str, heading: str = "", plain: str | None = None) -> Column:
    """Return a column of labels, for programs alone where people have nothing to tell apart.

    These are labels that are alike, or all `plain`, where a label goes without saying.
    """
    found = set(lines[name])
    is_alike = len(found) < 2 if plain is None else found <= {plain}
    column = Column(name, heading)
    return column._replace(only="data") if is_alike else column


def _variants(lines: Lines, plain_kind: str) -> dict[int, int]:
    """Return for each line of another kind that of the plain kind which it may repeat."""
    kinds = lines["kind"]
    others = [i for i, kind in enumerate(kinds) if kind != plain_kind]
    if not others:
        return {}
    labels = list(zip(*(lines[name] for name in LABELS if name in lines), strict=True))
    places = {labels[i]: i for i, kind in enumerate(kinds) if kind == plain_kind}
    return {i: places[labels[i]] for i in others if labels[i] in places}
