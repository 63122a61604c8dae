"""What every analysis can be turned into: a table as text, Markdown, LaTeX, CSV or pandas."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...reporting.frames import frame
from ...reporting.grids import Grid, checked_digits, latex, markdown, number
from ...reporting.rendering import csv_text


class Records(NamedTuple):
    """A table of numbers, the first column of which names the rows."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


class Tabulated(ABC):
    """An analysis that is a table of numbers, in every form that tables have here."""

    @abstractmethod
    def records(self) -> Records:
        """Give the table: the heading, and a cell for each column in every row."""

    def to_markdown(self, *, digits: int = 4) -> str:
        """Give the table in Markdown.

        Parameters
        ----------
        digits : int
            Significant digits, at least 1; counts have all of theirs.
        """
        return markdown(self._grid(digits))

    def to_latex(self, *, digits: int = 4) -> str:
        """Give the table in LaTeX; it needs the package booktabs, as those of reports do."""
        return latex(self._grid(digits))

    def to_csv(self) -> str:
        """Give the table as CSV, numbers in all their digits."""
        columns, rows = self.records()
        return csv_text(list(columns), iter([tuple(row) for row in rows]))

    def to_pandas(self) -> Any:
        """Give the table as a DataFrame.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        columns, rows = self.records()
        return frame(columns, rows, ())

    def __str__(self) -> str:
        columns, rows, *_ = self._grid(4)
        lines = [columns, *rows]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        drawn = []
        for name, *cells in lines:
            right = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
            drawn.append("  ".join([name.ljust(widths[0]), *right]).rstrip())
        return "\n".join(drawn)

    def _grid(self, digits: int) -> Grid:
        checked_digits(digits)
        columns, rows = self.records()
        return Grid(columns, [[_cell(value, digits) for value in row] for row in rows])


def _cell(value: object, digits: int) -> str:
    if isinstance(value, float):
        return number(value, digits)
    return f"{value:,}" if isinstance(value, int) else str(value)
