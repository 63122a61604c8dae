"""One class for every result that is printed or saved: columns of cells, and notes."""

from __future__ import annotations

import copy
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ..errors import InputTypeError, InputValueError, UnknownKeyError
from ..inputs.array_likes import several, unique_keys
from ..inputs.checks import choice, flag, instance, integer
from ..naming import format_count, number, printable, public
from .as_table import AsTable, Names

DIGITS = 3  # Shares have so many decimals unless a table is asked for others.
_OF_PYTHON = {str, int, float, bool, type(None)}  # Most cells hold these.
_PARTS = ("low", "high", "std")  # The column "mrr low" goes with "mrr".


def cell(value: object, digits: int, decimals: int | None = None) -> str:
    """Write a float with so many significant digits or decimals, and other cells in full.

    >>> cell(0.4384, 3), cell(0.46, 4, 3), cell(2000, 4), cell(None, 4), cell((0.25, 1.0), 4)
    ('0.438', '0.460', '2,000', '', '0.25 to 1')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        if decimals is None:
            return number(value, digits)
        return f"{value:z.{decimals}f}"
    if isinstance(value, tuple):
        return " to ".join(dict.fromkeys(cell(end, digits, decimals) for end in value))
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return printable(str(value))


@public("truerank.tables")
@dataclass(frozen=True, eq=False)
class Column:
    """A column of a `Table`: its name, and how people read it.

    Attributes
    ----------
    name : str
        Its name for programs, in CSV, JSON and DataFrames.
    heading : str
        Its name for people. Default: `name`.
    decimals : int, sequence of int, or None
        The number of digits behind the point (of each row) in a table of 3 digits; one more for
        each digit more. None: numbers have one significant digit more than the table has digits.
    unit : str
        Stands behind the heading in brackets. With "%" shares are printed as percentages;
        programs read the shares.
    better : {"higher", "lower"} or None
        Which numbers are better; those printed like the best one are set in bold.
    hidden : bool
        Whether programs alone read it.
    shown : sequence, optional
        The cells that people read in place of those that programs read.
    behind : sequence of tuples of float, optional
        The numbers that people read behind each cell: the deviation behind a plus-minus sign, or
        the two ends of an interval in brackets.
    """

    name: str
    heading: str = ""
    decimals: int | Sequence[int | None] | None = None
    unit: str = ""
    better: Literal["higher", "lower"] | None = None
    hidden: bool = False
    shown: Sequence[Any] | None = None
    behind: Sequence[tuple[Any, ...]] | None = None

    @property
    def title(self) -> str:
        """What people read above the column, where control characters are escaped."""
        unit = f" ({self.unit})" if self.unit else ""
        return (self.heading or self.name) + unit

    def text(self, value: Any, row: int, digits: int) -> str:
        """Write a value of a row as people read it."""
        usual = self.decimals  # of a table of 3 digits
        if usual is not None and not isinstance(usual, int):
            usual = usual[row]
        decimals = None if usual is None else max(0, usual + digits - DIGITS)
        if self.unit == "%" and isinstance(value, float):
            value *= 100
        return cell(value, digits + 1, decimals)

    def texts(self, cells: Sequence[Any], rows: Iterable[int], digits: int) -> list[str]:
        """Write the cells of some rows, and what stands behind them."""
        texts = []
        for i in rows:
            value = cells[i] if self.shown is None else self.shown[i]
            text = self.text(value, i, digits)
            numbers = () if self.behind is None else self.behind[i]
            is_known = all(each is not None and each == each for each in numbers)  # It is not nan.
            if numbers and is_known:
                form = " [{}, {}]" if len(numbers) == 2 else " \u00b1 {}"
                text += form.format(*(self.text(each, i, digits) for each in numbers))
            texts.append(text)
        return texts


@dataclass(frozen=True)
class Layout:
    """What people read of a Table beside its cells; `make` makes the Table."""

    names: int = 1  # columns, from the left, that hold names rather than numbers
    before: tuple[str, ...] = ()  # the lines above
    rows: Sequence[int] | None = None  # that people read, in this order; all by default
    most: int | None = None  # rows that a terminal and a notebook show
    more: int = 0  # rows that are left out at the end
    differing: Collection[tuple[int, str]] = ()  # the cells with a dagger, by row and column
    comparable: Sequence[Hashable] = ()  # of each row a label that rows to compare it with share

    def make(self, *columns_and_rows: Any, **options: Any) -> Table:
        """Return a Table of this layout; the arguments are those of Table."""
        table = Table(*columns_and_rows, **options)
        table.names = self.names
        table.before = self.before
        table._layout = self
        return table


@public("truerank")
class Table(AsTable):
    """Rows and columns with notes: text, Markdown, LaTeX, HTML, CSV, JSON or a DataFrame.

    Programs read numbers in all their digits and names as they are; people read rounded numbers,
    whose points stand below each other, the best in bold.

    Parameters
    ----------
    columns : mapping of str or Column to cells, or sequence of str or Column
        The columns, whose names differ; a mapping has their cells, too.
    rows : sequence of sequences, optional
        A cell for each column: a str, a number, None for an empty cell, or two numbers, the ends of
        a range.
    notes : iterable of str
        What limits the trust in the numbers, below the table.
    digits : int
        How precise numbers are; see `Column`.

    Attributes
    ----------
    columns : tuple of Column
    rows : tuple of tuples
    names : int
        How many columns, from the left, hold names rather than numbers: 1, unless it is set.
    before, notes : tuple of str
        Lines above the table, and below it.

    Examples
    --------
    >>> from truerank import Table
    >>> from truerank.tables import Column
    >>> columns = ["model", Column("MRR", decimals=3, better="higher"), Column("MR", decimals=1)]
    >>> table = Table(columns, [["TransE", 0.294, 357.0], ["RotatE", 0.338, 177.25]])
    >>> print(table)
    model      MRR     MR
    TransE  0.294   357.0
    RotatE  0.338*  177.2
    <BLANKLINE>
    * the best of its column
    >>> print(Table({"model": ["TransE", "RotatE"], "MRR": [0.294, 0.338]}).to_markdown())
    | model | MRR |
    | :--- | ---: |
    | TransE | 0.294 |
    | RotatE | 0.338 |
    """

    def __init__(
        self,
        columns: Mapping[Any, Iterable[Any]] | Sequence[str | Column],
        rows: Iterable[Sequence[Any]] | None = None,
        *,
        notes: Iterable[str] = (),
        digits: int = DIGITS,
    ) -> None:
        self.columns = _read_columns(columns)
        if isinstance(columns, Mapping):
            if rows is not None:
                raise InputTypeError("rows", "a mapping of columns has their cells already")
            cells = _cells_from_columns(self.columns, columns.values())
        else:
            cells = _cells_from_rows(self.columns, () if rows is None else rows)
        self._cells = dict(zip((column.name for column in self.columns), cells, strict=True))
        self._layout = Layout()
        self.names = self._layout.names
        self.before = self._layout.before
        self.notes = tuple(
            instance("notes", line, str) for line in several("notes", notes, "lines")
        )
        self._digits = check_digits(digits)
        self._notes_shown: bool | None = None

    @property
    def rows(self) -> tuple[tuple[Any, ...], ...]:
        """The cells of each row, as programs read them."""
        return tuple(zip(*self.to_dict().values(), strict=True))

    def __getitem__(self, name: str) -> list[Any]:
        """Return the cells of a column by its name."""
        return list(self._cells[self._column("name", name).name])

    def __len__(self) -> int:
        return max(map(len, self._cells.values()), default=0)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __repr__(self) -> str:
        names = ", ".join(column.name for column in self.columns)
        return printable(f"Table({format_count(len(self), 'row')}: {names})")

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the cells of each column by its name.

        Examples
        --------
        >>> Table(["model", "MRR"], [["TransE", 0.294]]).to_dict()
        {'model': ['TransE'], 'MRR': [0.294]}
        """
        return {column.name: list(self._cells[column.name]) for column in self.columns}

    def table(
        self, metrics: Names = None, *, digits: int | None = None, notes: bool | None = None
    ) -> Table:
        """Return the same table with fewer columns, other digits, or with or without notes.

        Examples
        --------
        >>> table = Table(["model", "MRR", "MR"], [["TransE", 0.294, 357.0]])
        >>> print(table.table("MRR", digits=2))
        model     MRR
        TransE  0.294
        """
        table = copy.copy(self)
        if digits is not None:
            table._digits = check_digits(digits)
        if notes is not None:
            table._notes_shown = flag("notes", notes)
        if metrics is not None:
            wanted = {column.name: column for column in self.columns[: self.names]}
            for name in unique_keys(metrics):
                wanted[name] = self._column("metrics", name)
            for column in self.columns:
                metric, _, part = column.name.rpartition(" ")
                if metric in wanted and part in _PARTS:
                    wanted[column.name] = column
            table.columns = tuple(wanted.values())
        return table

    def _cut(self) -> Table:
        """Return the table as a terminal and a notebook show it, without its last rows."""
        most = self._layout.most
        if most is None:
            return self
        rows = [i for i in self.shown_rows if i < most]
        table = copy.copy(self)
        table._layout = replace(self._layout, rows=rows, more=len(self.shown_rows) - len(rows))
        return table

    def _column(self, argument: str, name: str) -> Column:
        """Return a column by its name."""
        columns = {column.name: column for column in self.columns}
        if name not in columns:
            raise UnknownKeyError(argument, "", f"one of {', '.join(columns)}", repr(name))
        return columns[name]

    # -- for people: what the forms write ----------------------------------------------------------

    @property
    def shown_columns(self) -> list[Column]:
        """The columns that people read."""
        return [column for column in self.columns if not column.hidden]

    @property
    def shown_names(self) -> int:
        """How many of them hold names."""
        return sum(not column.hidden for column in self.columns[: self.names])

    @property
    def shown_rows(self) -> Sequence[int]:
        """The rows that people read, by their places."""
        rows = self._layout.rows
        return range(len(self)) if rows is None else rows

    def texts(self) -> list[list[str]]:
        """Return the cells of the rows that people read."""
        columns = []
        for column in self.shown_columns:
            columns.append(column.texts(self._cells[column.name], self.shown_rows, self._digits))
        return [[texts[place] for texts in columns] for place in range(len(self.shown_rows))]

    def marks(self) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
        """Return which of these cells are in bold, and which have a dagger, by row and column."""
        best = set()
        differing = set()
        for j, column in enumerate(self.shown_columns):
            best_rows = self._best_rows(column) if column.better else ()
            for place, i in enumerate(self.shown_rows):
                if i in best_rows:
                    best.add((place, j))
                if (i, column.name) in self._layout.differing:
                    differing.add((place, j))
        return best, differing

    def _best_rows(self, column: Column) -> set[int]:
        """Return the rows that are printed like the best number of those they compare with."""
        best: set[int] = set()
        choose: Any = max if column.better == "higher" else min
        cells = self._cells[column.name]
        rows_by_label: dict[Hashable, list[int]] = {}
        for i, label in enumerate(self._layout.comparable or [0] * len(self)):
            rows_by_label.setdefault(label, []).append(i)
        for rows in rows_by_label.values():
            numbers = {}
            for i in rows:
                if isinstance(cells[i], (int, float)) and cells[i] == cells[i]:  # It is not nan.
                    numbers[i] = cells[i]
            if numbers and len(rows) > 1:  # A row alone is not the best of any.
                top = choose(numbers, key=numbers.__getitem__)
                text = column.text(cells[top], top, self._digits)
                best |= {i for i in numbers if column.text(cells[i], i, self._digits) == text}
        return best

    def _lines(
        self, first: Iterable[str] = (), *, shown_by_default: bool
    ) -> tuple[list[str], list[str]]:
        """Return the lines above and below, some notes first; none where they are not shown."""
        are_shown = shown_by_default if self._notes_shown is None else self._notes_shown
        if not are_shown:
            return [], []
        return list(map(printable, self.before)), list(map(printable, [*first, *self.notes]))


# -- checks ----------------------------------------------------------------------------------------


def check_digits(digits: int) -> int:
    """Check how precise numbers are to be printed."""
    return integer("digits", digits, least=0, most=15)


def _read_columns(value: Iterable[str | Column]) -> tuple[Column, ...]:
    columns = []
    for column in several("columns", value, "names"):
        if isinstance(column, str):
            columns.append(Column(column))
        else:
            columns.append(instance("columns", column, Column, "names of columns"))
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        raise InputValueError("columns", expected="names that differ", got=names)
    for column in columns:
        if column.better is not None:
            choice("better", column.better, ("higher", "lower"))
    return tuple(columns)


def _cells_from_rows(columns: Sequence[Column], value: Iterable[Any]) -> list[list[Any]]:
    """Return the cells of columns from those of rows, which are as many as the columns."""
    rows = []
    for i, row in enumerate(several("rows", value, "rows")):
        cells = row if isinstance(row, (list, tuple)) else several("rows", row, "cells")
        if len(cells) != len(columns):
            expected = f"{format_count(len(columns), 'cell')} in every row"
            raise InputValueError("rows", expected=expected, got=f"{len(cells)} in row {i}")
        rows.append(cells)
    if not rows:
        return [[] for _ in columns]
    return list(map(_plain_cells, zip(*rows, strict=True)))


def _cells_from_columns(columns: Sequence[Column], value: Iterable[Any]) -> list[list[Any]]:
    """Return the cells of columns, which are equally many."""
    lengths = {}
    every_cell = []
    for column, cells in zip(columns, value, strict=True):
        if not isinstance(cells, (list, tuple)):
            cells = several("columns", cells, "cells")
        every_cell.append(_plain_cells(cells))
        lengths[column.name] = len(every_cell[-1])
    if len(set(lengths.values())) > 1:
        raise InputValueError("columns", expected="equally many cells in each", got=lengths)
    return every_cell


def _plain_cells(cells: Sequence[Any]) -> list[Any]:
    """Return the cells of a column with numbers of Python in place of those of NumPy."""
    if set(map(type, cells)) <= _OF_PYTHON:
        return list(cells)
    return list(map(_plain, cells))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, np.generic):
        return value.item()
    return value
