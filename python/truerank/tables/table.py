"""One class for every result that is printed or saved: columns of cells, marks and notes."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from ..errors import InputTypeError, InputValueError, UnknownKeyError
from ..inputs.checks import choice, flag, instance, integer, several, unique_keys
from ..naming import printable, public
from . import forms
from .as_table import AsTable, Names
from .cells import DIGITS, cell, format_count, plain_cells
from .forms import Grid

MOST_DIGITS = 15

Position = tuple[int, str]  # It is a row, from 0, and the name of a column.
TextOfRow = dict[int, str]


@public("truerank.tables")
class Column(NamedTuple):
    """A column of a `Table`: its name, and how its numbers are printed.

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
    only : {"print", "data"} or None
        Whether only people see it, or only programs.
    around : tuple of str
        The names of other columns, whose numbers are printed here behind these: of one, which holds
        deviations, behind a plus-minus sign; of two, the ends of an interval, in brackets.
    """

    name: str
    heading: str = ""
    decimals: int | Sequence[int | None] | None = None
    unit: str = ""
    better: Literal["higher", "lower"] | None = None
    only: Literal["print", "data"] | None = None
    around: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What people read above the column."""
        unit = f" ({self.unit})" if self.unit else ""
        return printable((self.heading or self.name) + unit)


@public("truerank")
class Table(AsTable):
    """Rows and columns with notes: text, Markdown, LaTeX, HTML, CSV, JSON or a DataFrame.

    Programs read numbers in all their digits and names as they are; people read rounded numbers,
    whose points stand below each other, the best in bold.

    Parameters
    ----------
    columns : mapping of str or Column to cells, or sequence of str or Column
        The columns; a mapping has their cells as well. Names differ.
    rows : sequence of sequences, optional
        A cell for each column: a str, a number, None for an empty cell, or two numbers, the ends of
        a range.
    names : int
        How many columns, from the left, hold names rather than numbers.
    notes : iterable of str
        What limits the trust in the numbers, below the table.
    digits : int
        How precise numbers are; see `Column`.

    Attributes
    ----------
    columns : tuple of Column
    rows : tuple of tuples
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
        names: int = 1,
        notes: Iterable[str] = (),
        digits: int = DIGITS,
    ) -> None:
        self.columns = _checked_columns(columns)
        if isinstance(columns, Mapping):
            if rows is not None:
                raise InputTypeError("rows", "a mapping of columns has their cells already")
            cells = _equally_long(self.columns, columns.values())
        else:
            cells = _transposed(self.columns, () if rows is None else rows)
        self._cells = dict(zip((column.name for column in self.columns), cells, strict=True))
        self.before: tuple[str, ...] = ()
        self.notes = tuple(
            instance("notes", line, str) for line in several("notes", notes, "lines")
        )
        self._names = integer("names", names, least=0, most=max(1, len(self.columns)))
        self._digits = integer("digits", digits, least=0, most=MOST_DIGITS)
        self._notes_shown: bool | None = None
        # `pivot` sets these: how many rows people read, the cells that have a dagger, the row that
        # each row is a variant of, and the block of each row, within which the best of a column is
        # sought.
        self._shown = len(self)
        self._significant: Iterable[Position] = ()
        self._variants: Mapping[int, int] = {}
        self._blocks: Sequence[Hashable] = ()

    @property
    def rows(self) -> tuple[tuple[Any, ...], ...]:
        """The cells of each row."""
        return tuple(zip(*(self._cells[column.name] for column in self.columns), strict=True))

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
            table._digits = integer("digits", digits, least=0, most=MOST_DIGITS)
        if notes is not None:
            table._notes_shown = flag("notes", notes)
        if metrics is None:
            return table
        chosen = list(self.columns[: self._names])
        chosen += [self._column("metrics", name) for name in unique_keys(metrics)]
        around = [name for column in chosen for name in column.around]
        chosen += [self._column("metrics", name) for name in around]
        table.columns = tuple({column.name: column for column in chosen}.values())
        return table

    def _column(self, argument: str, name: str) -> Column:
        """Return a column by its name."""
        columns = {column.name: column for column in self.columns}
        if name not in columns:
            raise UnknownKeyError(argument, "", f"one of {', '.join(columns)}", repr(name))
        return columns[name]

    # -- for people --------------------------------------------------------------------------------

    def grid(self, *, notes: bool) -> Grid:
        """Return the texts that people read; `notes` says whether the form has lines by default."""
        around = {name for column in self.columns for name in column.around}
        columns = [c for c in self.columns if c.only != "data" and c.name not in around]
        numbers = {column.name: self._texts(column, range(self._shown)) for column in columns}
        texts = {column.name: self._full_texts(column, numbers[column.name]) for column in columns}
        names = [column for column in columns if column in self.columns[: self._names]]
        rows = list(range(self._shown))
        if self._variants:
            of_metrics = [texts[column.name] for column in columns[len(names) :]]
            rows = self._rows_that_differ(of_metrics)
            # A name goes if it differs only in rows that were left out.
            for column in list(names):
                cells = texts[column.name]
                if len({cells[i] for i in rows}) < 2 <= len(set(cells.values())):
                    names.remove(column)
                    columns.remove(column)
        best: set[tuple[int, int]] = set()
        significant: set[tuple[int, int]] = set()
        for j, column in enumerate(columns):
            marked = {i for i, name in self._significant if name == column.name}
            significant.update((place, j) for place, i in enumerate(rows) if i in marked)
            if column.better is not None:
                best_rows = self._best_rows(column, numbers[column.name])
                best.update((place, j) for place, i in enumerate(rows) if i in best_rows)
        grid = Grid(
            [column.title for column in columns],
            [[texts[column.name][i] for column in columns] for i in rows],
            best,
            significant,
            names=len(names),
            more=len(self) - self._shown,
        )
        if self._has_notes(notes):
            legend = forms.BEST_OF_BLOCK if len(set(self._blocks)) > 1 else forms.BEST
            before = list(map(printable, self.before))
            notes_below = list(map(printable, self.notes))
            grid = grid._replace(before=before, notes=notes_below, legend=legend)
        return grid

    def _has_notes(self, by_default: bool) -> bool:
        """Whether lines and notes are written, in a form that has them or not by default."""
        shown = self._notes_shown
        return flag("notes", by_default) if shown is None else shown

    def _rows_that_differ(self, texts: Sequence[TextOfRow]) -> list[int]:
        """Leave out the variants of other rows that print like these."""
        found = []
        for i in range(self._shown):
            other = self._variants.get(i)
            if other is None or any(cells[i] != cells[other] for cells in texts):
                found.append(i)
        return found

    def _full_texts(self, column: Column, numbers: TextOfRow) -> TextOfRow:
        """Return the cells of a column with the numbers that are printed behind them."""
        if not column.around:
            return numbers
        others = [self._texts(self._column("around", name), numbers) for name in column.around]
        cells = dict(numbers)
        for i in numbers:
            behind = [texts[i] for texts in others]
            if not {"", "nan"}.intersection(behind):
                sign = " [{}, {}]" if len(behind) == 2 else " \u00b1 {}"
                cells[i] += sign.format(*behind)
        return cells

    def _texts(self, column: Column, rows: Iterable[int]) -> TextOfRow:
        """Return the cells of a column as text, by row."""
        factor = 100 if column.unit == "%" else 1
        cells = self._cells[column.name]
        texts = {}
        for i in rows:
            decimals = column.decimals
            if decimals is not None and not isinstance(decimals, int):
                decimals = decimals[i]
            if decimals is not None:
                decimals = max(0, decimals + self._digits - DIGITS)
            value = cells[i]
            if isinstance(value, float):
                value = factor * value
            texts[i] = cell(value, self._digits + 1, decimals)
        return texts

    def _best_rows(self, column: Column, texts: TextOfRow) -> set[int]:
        """Return the rows that are set in bold: those printed like the best number of a block."""
        best: set[int] = set()
        choose: Any = max if column.better == "higher" else min
        cells = self._cells[column.name]
        blocks: dict[Hashable, list[int]] = {}
        for i, block in enumerate(self._blocks or [0] * len(self)):
            blocks.setdefault(block, []).append(i)
        for rows in blocks.values():
            numbers = {}
            for i in rows:
                value = cells[i]
                if isinstance(value, (int, float)) and value == value:  # nan is never the best.
                    numbers[i] = value
            if numbers and len(rows) > 1:
                top = choose(numbers, key=numbers.__getitem__)
                of_top = self._texts(column, [top])[top]
                best |= {i for i in numbers if texts.get(i) == of_top}
        return best

    # -- for programs ------------------------------------------------------------------------------

    def data(self) -> Table:
        """Return the columns that programs read."""
        table = copy.copy(self)
        table.columns = tuple(column for column in self.columns if column.only != "print")
        return table

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the cells of each column by its name.

        Examples
        --------
        >>> Table(["model", "MRR"], [["TransE", 0.294]]).to_dict()
        {'model': ['TransE'], 'MRR': [0.294]}
        """
        return {column.name: list(self._cells[column.name]) for column in self.data().columns}


# -- checks ----------------------------------------------------------------------------------------


def _checked_columns(given: Iterable[str | Column]) -> tuple[Column, ...]:
    columns = []
    for column in several("columns", given, "names"):
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
        if column.only is not None:
            choice("only", column.only, ("print", "data"))
        for name in column.around:
            choice("around", name, tuple(names))
    return tuple(columns)


def _transposed(columns: Sequence[Column], given: Iterable[Any]) -> list[list[Any]]:
    """Return the cells of columns from those of rows."""
    rows = several("rows", given, "rows")
    for i, row in enumerate(rows):
        if not isinstance(row, (list, tuple)):
            rows[i] = several("rows", row, "cells")
        if len(rows[i]) != len(columns):
            expected = f"{format_count(len(columns), 'cell')} in every row"
            raise InputValueError("rows", expected=expected, got=f"{len(rows[i])} in row {i}")
    if not rows:
        return [[] for _ in columns]
    return list(map(plain_cells, zip(*rows, strict=True)))


def _equally_long(columns: Sequence[Column], given: Iterable[Any]) -> list[list[Any]]:
    """Return the cells of columns, which are equally many."""
    cells = []
    for column in given:
        if not isinstance(column, (list, tuple)):
            column = several("columns", column, "cells")
        cells.append(plain_cells(column))
    lengths = {column.name: len(of_it) for column, of_it in zip(columns, cells, strict=True)}
    if len(set(lengths.values())) > 1:
        raise InputValueError("columns", expected="equally many cells in each", got=lengths)
    return cells
