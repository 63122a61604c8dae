"""Results as rows of values by metric, and the table that people and programs read of them.

All results that have metrics are made as `Row`s, whatever their tables look like: `pivot` lays them
out, with a column for each label and for each metric.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .table import Column, Table


class Value(NamedTuple):
    """What is known of one metric of a row; None where nothing is.

    Attributes
    ----------
    value : float or None
    low, high : float or None
        The bounds of its interval.
    std : float or None
        Its deviation over runs.
    is_significant : bool
        Whether it differs from what it is compared with.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    std: float | None = None
    is_significant: bool = False


class Row(NamedTuple):
    """Some values, and what they are of: a model, a group, a filter, a side, a kind of rank.

    Attributes
    ----------
    labels : dict of str to Any
        By the name of their column.
    number : int
        How many tasks or runs there are.
    values : mapping of str to Value
        By metric.
    """

    labels: dict[str, Any]
    number: int
    values: Mapping[str, Value]


def pivot(
    rows: Sequence[Row],
    labels: Sequence[Column],
    columns: Sequence[Column],
    *,
    number: Column | None = None,
    parts: Collection[str] = (),
    plain_kind: str | None = None,
    **options: Any,
) -> Table:
    """Return the table of rows of values.

    Parameters
    ----------
    rows : sequence of Row
    labels, columns : sequence of Column
        The columns of labels and of metrics, by the names that they have in the rows.
    number : Column, optional
        That of the numbers of tasks or runs.
    parts : collection of {"interval", "std"}
        What stands behind the values, and for programs in columns of its own. Beside intervals
        deviations are for programs alone.
    plain_kind : str, optional
        The label "kind" of rows that people always read. Another kind has a row only where one of
        its values prints otherwise.
    **options
        As `Table` takes them.

    Examples
    --------
    >>> rows = [Row({"model": name}, 5, {"mrr": Value(0.5, 0.25, 0.75)}) for name in "AB"]
    >>> print(pivot(rows, [Column("model")], [Column("mrr", decimals=2)], parts=["interval"]))
    model                mrr
    A      0.50 [0.25, 0.75]
    B      0.50 [0.25, 0.75]
    """
    heading = list(labels)
    if number is not None:
        heading.append(number)
    for column in columns:
        heading += _columns_of_metric(column, parts)
    cells = []
    for row in rows:
        line = [row.labels[label.name] for label in labels]
        if number is not None:
            line.append(row.number)
        for column in columns:
            value = row.values[column.name]
            line.append(value.value)
            if "interval" in parts:
                line += (value.low, value.high)
            if "std" in parts:
                line.append(value.std)
        cells.append(line)
    significant = [
        (i, metric)
        for i, row in enumerate(rows)
        for metric, value in row.values.items()
        if value.is_significant
    ]
    table = Table(heading, cells, names=len(labels), significant=significant, **options)
    table._variants = {} if plain_kind is None else _variants_of(rows, plain_kind)
    table._blocks = [(row.labels.get("group"), row.labels.get("kind")) for row in rows]
    return table


def _columns_of_metric(column: Column, parts: Collection[str]) -> Iterable[Column]:
    """Return the column of a metric, and those of its bounds and its deviation."""
    deviation = column._replace(name=f"{column.name} std", better=None)
    if "interval" not in parts:
        if "std" not in parts:
            return [column]
        return [column._replace(spread=deviation.name), deviation]
    names = (f"{column.name} low", f"{column.name} high")
    found = [column._replace(bounds=names)]
    found += [Column(name, "", column.decimals, column.unit) for name in names]
    if "std" in parts:
        found.append(deviation._replace(only="data"))
    return found


def label_column(
    rows: Iterable[Row], name: str, heading: str = "", plain: Hashable = None
) -> Column:
    """Return a column of labels, for programs alone where people have nothing to tell apart.

    These are labels that are alike, or all `plain`, where a label goes without saying.
    """
    found = {row.labels[name] for row in rows}
    is_alike = len(found) < 2 if plain is None else found <= {plain}
    column = Column(name, heading)
    return column._replace(only="data") if is_alike else column


def _variants_of(rows: Sequence[Row], plain_kind: str) -> dict[int, int]:
    """Return for each row of another kind that of the plain kind which it may repeat."""
    others = {i: row for i, row in enumerate(rows) if row.labels["kind"] != plain_kind}
    if not others:
        return {}
    places = {tuple(row.labels.values()): i for i, row in enumerate(rows)}
    variants = {}
    for i, row in others.items():
        plain = tuple((row.labels | {"kind": plain_kind}).values())
        if plain in places:
            variants[i] = places[plain]
    return variants
