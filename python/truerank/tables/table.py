"""One class for every result that is printed or saved: rows, columns, marks and notes."""

from __future__ import annotations

import copy
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

from ..errors import InputTypeError, InputValueError, UnknownKeyError
from ..inputs.checks import choice, flag, instance, integer, several, unique_keys
from ..naming import printable, public
from . import forms
from .as_table import AsTable, Names
from .cells import DIGITS, cell, format_count, plain_rows
from .forms import Grid

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
    spread : str or None
        The name of another column, whose numbers are printed here behind a plus-minus sign.
    only : {"print", "data"} or None
        Whether only people see it, or only programs.
    bounds : (str, str) or None
        The names of two other columns, whose numbers are printed here in brackets: an interval.
    """

    name: str
    heading: str = ""
    decimals: int | Sequence[int | None] | None = None
    unit: str = ""
    better: Literal["higher", "lower"] | None = None
    spread: str | None = None
    only: Literal["print", "data"] | None = None
    bounds: tuple[str, str] | None = None

    @property
    def printed_here(self) -> tuple[str, ...]:
        """The names of other columns whose numbers are printed in this one."""
        names: tuple[str, ...] = ()
        if self.spread is not None:
            names += (self.spread,)
        if self.bounds is not None:
            names += self.bounds
        return names


@public("truerank")
class Table(AsTable):
    """Rows and columns with notes: text, Markdown, LaTeX, HTML, CSV, JSON or a DataFrame.

    Programs read numbers in all their digits and names as they are; people read rounded numbers,
    whose points stand below each other, the best in bold.

    Parameters
    ----------
    columns : mapping of name to cells, or sequence of str or Column
        The columns; a mapping has their cells as well. Names differ.
    rows : sequence of sequences, optional
        A cell for each column: a str, a number, None for an empty cell, or two numbers, the ends of
        a range.
    names : int
        How many columns, from the left, hold names rather than numbers.
    best, significant : iterable of (int, str)
        The row, from 0, and the column of cells that are set in bold, and that have a dagger.
    before, notes : iterable of str
        Lines above the table; and what limits the trust in the numbers, below it.
    digits : int
        How precise numbers are; see `Column`.
    shown : range, optional
        The rows that people read; programs read all. Default: all.

    Attributes
    ----------
    columns : tuple of Column
    rows : tuple of tuples
    before, notes : tuple of str

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
        columns: Mapping[str, Iterable[Any]] | Sequence[str | Column],
        rows: Iterable[Sequence[Any]] | None = None,
        *,
        names: int = 1,
        best: Iterable[Position] = (),
        significant: Iterable[Position] = (),
        before: Iterable[str] = (),
        notes: Iterable[str] = (),
        digits: int = DIGITS,
        shown: range | None = None,
    ) -> None:
        if isinstance(columns, Mapping):
            if rows is not None:
                raise InputTypeError("rows", "a mapping of columns has their cells already")
            rows = _transposed(columns)
        self.columns = _checked_columns(columns)
        if rows is None:
            rows = ()
        self.rows = plain_rows(several("rows", rows, "rows"))
        for i, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                expected = f"{format_count(len(self.columns), 'cell')} in every row"
                raise InputValueError("rows", expected=expected, got=f"{len(row)} in row {i}")
        self.before = tuple(_checked_lines("before", before))
        self.notes = tuple(_checked_lines("notes", notes))
        self._names = integer("names", names, least=0, most=max(1, len(self.columns)))
        self._best = self._checked_cells("best", best)
        self._significant = self._checked_cells("significant", significant)
        self._digits = check_digits(digits)
        self._shown = range(len(self))
        if shown is not None:
            self._shown = self._shown[instance("shown", shown, range).start : shown.stop]
        # `pivot` sets these: the row of which each row is a variant, and the block of rows within
        # which the best of a column is sought.
        self._variants: Mapping[int, int] = {}
        self._blocks: Sequence[Hashable] = [0] * len(self)
        self._notes_shown: bool | None = None

    def _checked_cells(self, name: str, cells: Iterable[Any]) -> frozenset[Position]:
        """Check that cells are each a row and the name of a column."""
        known = [column.name for column in self.columns]
        listed = several(name, cells, "cells")
        for place in listed:
            is_pair = isinstance(place, tuple) and len(place) == 2
            if not is_pair or place[0] not in range(len(self)) or place[1] not in known:
                expected = "pairs of a row, from 0, and the name of a column"
                raise InputValueError(name, expected=expected, got=place)
        return frozenset(listed)

    def __getitem__(self, name: str) -> list[Any]:
        """Return the cells of a column by its name."""
        place = self._place("name", name)
        return [row[place] for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

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
            table._digits = check_digits(digits)
        if notes is not None:
            table._notes_shown = flag("notes", notes)
        if metrics is None:
            return table
        chosen = unique_keys(metrics)
        places = list(range(self._names))
        places += [self._place("metrics", name) for name in chosen]
        others = [name for place in places for name in self.columns[place].printed_here]
        places += [self._place("metrics", name) for name in others]
        return table._of(places)

    def _of(self, places: Iterable[int]) -> Table:
        """Return a table of the columns at some positions."""
        table = copy.copy(self)
        places = list(dict.fromkeys(places))
        table.columns = tuple(self.columns[place] for place in places)
        table.rows = tuple(tuple(row[place] for place in places) for row in self.rows)
        return table

    def _place(self, argument: str, name: str) -> int:
        """Return the position of a column."""
        names = [column.name for column in self.columns]
        if name not in names:
            raise UnknownKeyError(argument, "", f"one of {', '.join(names)}", repr(name))
        return names.index(name)

    # -- for people --------------------------------------------------------------------------------

    def grid(self, *, notes: bool) -> Grid:
        """Return the texts that people read; `notes` says whether the form has lines by default."""
        shown = self._notes_shown
        if shown is None:
            shown = flag("notes", notes)
        elsewhere = {name for column in self.columns for name in column.printed_here}
        columns = [c for c in self.columns if c.only != "data" and c.name not in elsewhere]
        names = [column.name for column in self.columns[: self._names]]
        written = set(self._shown)  # Other rows need no texts.
        written.update(self._variants.get(i, i) for i in self._shown)
        numbers_only = {column.name: self._texts(column, written) for column in columns}
        texts = {c.name: self._full_texts(c, numbers_only[c.name]) for c in columns}
        rows = self._rows_that_differ(self._shown, texts, names)
        # A name goes if it differs only in rows that were left out.
        for name in names:
            if name not in texts:
                continue
            cells = texts[name]
            if len({cells[i] for i in rows}) < 2 <= len({cells[i] for i in self._shown}):
                columns = [column for column in columns if column.name != name]
        places = {row: place for place, row in enumerate(rows)}
        best: set[tuple[int, int]] = set()
        significant: set[tuple[int, int]] = set()
        for j, column in enumerate(columns):
            of_column = self._best_rows(column, numbers_only[column.name])
            best.update((places[i], j) for i in of_column if i in places)
            marked = {i for i, name in self._significant if name == column.name}
            significant.update((places[i], j) for i in marked if i in places)
        grid = Grid(
            [_heading(column) for column in columns],
            [[texts[column.name][i] for column in columns] for i in rows],
            best,
            significant,
            names=sum(column in columns for column in self.columns[: self._names]),
            skipped=self._shown.start,
            more=len(self) - self._shown.stop,
        )
        if shown:
            grid = grid._replace(before=self.before, notes=self.notes, legend=forms.BEST)
            if len(set(self._blocks)) > 1:
                grid = grid._replace(legend=forms.BEST_OF_BLOCK)
        return grid

    def _rows_that_differ(
        self, rows: Iterable[int], texts: Mapping[str, TextOfRow], names: Collection[str]
    ) -> list[int]:
        """Leave out the variants of other rows that print like these."""
        numbers = [cells for name, cells in texts.items() if name not in names]
        found = []
        for i in rows:
            other = self._variants.get(i)
            if other is None or any(cells[i] != cells[other] for cells in numbers):
                found.append(i)
        return found

    def _full_texts(self, column: Column, numbers: TextOfRow) -> TextOfRow:
        """Return the cells of a column with the deviations and bounds that belong there."""
        cells = dict(numbers)
        if column.spread is not None:
            spreads = self._texts(self.columns[self._place("spread", column.spread)], cells)
            for i, spread in spreads.items():
                if spread not in ("", "nan"):
                    cells[i] += f" \u00b1 {spread}"
        if column.bounds is not None:
            low, high = (
                self._texts(self.columns[self._place("bounds", name)], cells)
                for name in column.bounds
            )
            for i in cells:
                ends = (low[i], high[i])
                if not {"", "nan"}.intersection(ends):
                    cells[i] += f" [{', '.join(ends)}]"
        return cells

    def _texts(self, column: Column, rows: Iterable[int]) -> TextOfRow:
        """Return the cells of a column as text, by row."""
        factor = 100 if column.unit == "%" else 1
        place = self.columns.index(column)
        texts = {}
        for i in rows:
            decimals = column.decimals
            if decimals is not None and not isinstance(decimals, int):
                decimals = decimals[i]
            if decimals is not None:
                decimals = max(0, decimals + self._digits - DIGITS)
            value = self.rows[i][place]
            if isinstance(value, float):
                value = factor * value
            texts[i] = cell(value, self._digits + 1, decimals)
        return texts

    @cached_property
    def _rows_of_blocks(self) -> list[list[int]]:
        """The rows of each block of several, of which the best number is marked."""
        blocks: dict[Hashable, list[int]] = {}
        for i, block in enumerate(self._blocks):
            blocks.setdefault(block, []).append(i)
        return [rows for rows in blocks.values() if len(rows) > 1]

    def _best_rows(self, column: Column, texts: TextOfRow) -> set[int]:
        """Return the rows that are set in bold: those printed like the best number of a block."""
        best = {i for i, name in self._best if name == column.name}
        if column.better is None:
            return best
        place = self.columns.index(column)
        for rows in self._rows_of_blocks:
            numbers = {}
            for i in rows:
                value = self.rows[i][place]
                if isinstance(value, (int, float)) and value == value:  # nan is never the best.
                    numbers[i] = value
            if not numbers:
                continue
            if column.better == "higher":
                top = max(numbers, key=numbers.__getitem__)
            else:
                top = min(numbers, key=numbers.__getitem__)
            of_top = self._texts(column, [top])[top]
            best |= {i for i in numbers if texts.get(i) == of_top}
        return best

    # -- for programs ------------------------------------------------------------------------------

    def data(self) -> Table:
        """Return the columns that programs read."""
        return self._of([j for j, column in enumerate(self.columns) if column.only != "print"])

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the cells of each column by its name.

        Examples
        --------
        >>> Table(["model", "MRR"], [["TransE", 0.294]]).to_dict()
        {'model': ['TransE'], 'MRR': [0.294]}
        """
        return {column.name: self[column.name] for column in self.data().columns}


# -- checks ----------------------------------------------------------------------------------------


def check_digits(digits: int) -> int:
    """Check how precise numbers are to be printed."""
    return integer("digits", digits, least=0, most=15)


def _heading(column: Column) -> str:
    """Return the heading of a column for people, with its unit."""
    heading = column.heading or column.name
    if column.unit:
        heading += f" ({column.unit})"
    return heading


def _checked_lines(name: str, lines: Iterable[str]) -> list[str]:
    return [instance(name, line, str) for line in several(name, lines, "lines")]


def _checked_columns(given: Iterable[str | Column]) -> tuple[Column, ...]:
    columns = []
    for column in several("columns", given, "names"):
        if isinstance(column, str):
            columns.append(Column(column))
        else:
            columns.append(instance("columns", column, Column, "names of columns"))
    for column in columns:
        choice("better", column.better or "higher", ("higher", "lower"))
        choice("only", column.only or "print", ("print", "data"))
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        raise InputValueError("columns", expected="names that differ", got=names)
    for column in columns:
        if column.spread is not None:
            choice("spread", column.spread, tuple(names))
        for name in column.bounds or ():
            choice("bounds", name, tuple(names))
    return tuple(columns)


def _transposed(columns: Mapping[str, Iterable[Any]]) -> list[tuple[Any, ...]]:
    """Return the rows of columns that are equally long."""
    cells = {name: several("columns", values, "cells") for name, values in columns.items()}
    lengths = {name: len(values) for name, values in cells.items()}
    if len(set(lengths.values())) > 1:
        raise InputValueError("columns", expected="equally many cells in each", got=lengths)
    return list(zip(*cells.values(), strict=True))
