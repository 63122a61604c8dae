"""Results as rows of values by metric, and the table that people and programs read of them.

All results that have metrics are made as `Row`s, whatever their tables look like: `pivot` lays them
out, with a column for each label and for each metric.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from .table import Column, Table


class Around(NamedTuple):
    """What stands around a value; None where nothing is known.

    Attributes
    ----------
    low, high : float or None
        The bounds of its interval.
    std : float or None
        Its deviation over runs.
    is_significant : bool
        Whether it differs from what it is compared with.
    """

    low: float | None = None
    high: float | None = None
    std: float | None = None
    is_significant: bool = False


NOTHING = Around()


class Row(NamedTuple):
    """Some values, and what they are of: a model, a group, a filter, a side, a kind of rank.

    Attributes
    ----------
    labels : dict of str to Any
        By the name of their column.
    number : int
        How many tasks or runs there are.
    values : sequence of float or None
        In the order of the columns of metrics; None where there is none.
    around : sequence of Around
        What stands around each of them; empty where nothing does.
    """

    labels: dict[str, Any]
    number: int
    values: Sequence[float | None]
    around: Sequence[Around] = ()


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
        The columns of labels, by the names that they have in the rows, and those of metrics.
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
    >>> rows = [Row({"model": name}, 5, [0.5], [Around(0.25, 0.75)]) for name in "AB"]
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
    names = [label.name for label in labels]
    cells = []
    significant = []
    for i, row in enumerate(rows):
        line = [row.labels[name] for name in names]
        if number is not None:
            line.append(row.number)
        if parts:
            line += _cells_with_parts(row, parts)
        else:
            line += row.values
        cells.append(line)
        if row.around:
            pairs = zip(columns, row.around, strict=False)
            significant += [(i, column.name) for column, around in pairs if around.is_significant]
    table = Table(heading, cells, names=len(labels), significant=significant, **options)
    table._variants = {} if plain_kind is None else _variants_of(rows, plain_kind)
    table._blocks = [(row.labels.get("group"), row.labels.get("kind")) for row in rows]
    return table


def _cells_with_parts(row: Row, parts: Collection[str]) -> Iterator[float | None]:
    """Yield the values of a row, behind each what stands around it."""
    all_around = row.around or itertools.repeat(NOTHING)
    for value, around in zip(row.values, all_around, strict=False):
        yield value
        if "interval" in parts:
            yield around.low
            yield around.high
        if "std" in parts:
            yield around.std


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
