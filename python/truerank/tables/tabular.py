"""Base classes of tables of numbers, which have a method for each format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from ..inputs.naming import terminal_text
from .saved_forms import SavedForms, write_json
from .table_writer import Records, TextGrid, TextTables, cell, check_digits

T = TypeVar("T")


class Tabular(SavedForms, ABC):
    """Base class of tables of numbers, with a method for each format."""

    _INDEX: str | None = None  # the column that becomes the index of a DataFrame
    _NAMES: int = 1  # how many columns, from the left, hold names
    _END = "\n"  # the end of every text
    notes: tuple[str, ...] = ()  # stand below the table

    @abstractmethod
    def records(self) -> Records:
        """Return the heading and the rows, with one cell for each column."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the content as plain dicts, lists and numbers."""

    def text_tables(self, digits: int = 4) -> TextTables:
        """Return the table as text for people."""
        columns, rows, _ = self.records()
        cells = [[cell(value, digits) for value in row] for row in rows]
        return TextTables([TextGrid(columns, cells, names=self._NAMES)], notes=self.notes)

    def __str__(self) -> str:
        return terminal_text(self.to_text())

    def to_text(self, *, digits: int = 4, notes: bool = True) -> str:
        """Return the table in columns of plain text, as `print` shows it.

        Parameters
        ----------
        digits : int
            The number of significant digits, as in `to_markdown`.
        notes : bool
            As in `to_markdown`.
        """
        return self._tables_of(digits, notes).text()

    def to_markdown(self, *, digits: int = 4, notes: bool = True) -> str:
        """Return the table in Markdown.

        Parameters
        ----------
        digits : int
            The number of significant digits, at least 1; counts are written in full.
        notes : bool
            Whether notes and other lines stand with the table. They say what limits the trust in
            its numbers: without them the text around it should.
        """
        return self._tables_of(digits, notes).markdown() + self._END

    def to_latex(self, *, digits: int = 4, notes: bool = True) -> str:
        """Return the table in LaTeX; it needs the package booktabs, as tables of reports do."""
        return self._tables_of(digits, notes).latex() + self._END

    def _tables_of(self, digits: int, notes: bool) -> TextTables:
        return self.text_tables(check_digits(digits)).with_notes(notes)

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON; nan becomes null."""
        return write_json(self.to_dict(), indent)

    def to_csv(self, *, spreadsheet: bool = False) -> str:
        """Return the table as CSV, with numbers in all their digits.

        Parameters
        ----------
        spreadsheet : bool
            Whether a name that a spreadsheet would compute as a formula gets an apostrophe before
            it. Default: names are written as they are, for programs.
        """
        return self.records().csv(spreadsheet=spreadsheet)

    def to_pandas(self) -> Any:
        """Return the table as a DataFrame.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return self.records().frame(index=self._INDEX)

    def _repr_html_(self) -> str:
        """Return the table as HTML, for notebooks."""
        return self.text_tables().html() + self._END


class NamedRows(Mapping[str, T], Tabular):
    """A table whose rows are results with names: `table[name]` is the result of a name.

    Parameters
    ----------
    rows : mapping of str to results
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, rows: Mapping[str, T]) -> None:
        self._rows = dict(rows)

    def __getitem__(self, name: str) -> T:
        """The result of a name."""
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class PlainTable(Tabular):
    """A table whose text in any format has no line break at its end."""

    _END = ""
