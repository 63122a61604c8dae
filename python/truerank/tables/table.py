"""One class for every result that is printed or saved: rows, columns, marks and notes."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ..inputs.checks import choice, flag, integer
from ..inputs.errors import InputTypeError, InputValueError, UnknownKeyError
from ..inputs.naming import import_extra, printable, public, terminal_text
from . import forms
from .cells import cell, check_digits, format_count
from .forms import TextGrid
from .writing import replace_file, writable_place

BEST = "* the best of its column"
DAGGER = "\u2020"

# Endings of files, and the methods that write what they hold.
FORMS = {
    ".txt": "to_text",
    ".md": "to_markdown",
    ".tex": "to_latex",
    ".csv": "to_csv",
    ".json": "to_json",
    ".html": "_page",
}

Position = tuple[int, str]  # a row, from 0, and the name of a column


@public("truerank.tables")
class Column(NamedTuple):
    """A column of a `Table`: its name, and how its numbers are printed.

    Attributes
    ----------
    name : str
        Its name for programs, in CSV, JSON and DataFrames.
    heading : str
        Its name for people. Default: `name`.
    decimals : int or None
        The number of digits behind the point. Default: as many significant digits as the table has.
    unit : str
        Stands behind the heading in brackets. With "%" shares are printed as percentages;
        programs read the shares.
    better : {"higher", "lower"} or None
        Which numbers are better; those printed like the best one are set in bold.
    spread : str or None
        The name of another column, whose numbers are printed here behind a plus-minus sign.
    only : {"print", "data"} or None
        Whether only people see it, or only programs.
    """

    name: str
    heading: str = ""
    decimals: int | None = None
    unit: str = ""
    better: Literal["higher", "lower"] | None = None
    spread: str | None = None
    only: Literal["print", "data"] | None = None


@public("truerank.tables")
class AsTable(ABC):
    """Base class of results that are printed and saved as the Table that `table` makes of them."""

    @abstractmethod
    def table(self) -> Table:
        """Return the result as a Table, with its notes."""

    def to_text(self, *, digits: int | None = None, notes: bool = True) -> str:
        """Return columns of plain text; see `Table.to_text`."""
        return self.table().to_text(digits=digits, notes=notes)

    def to_markdown(self, *, digits: int | None = None, notes: bool = True) -> str:
        """Return Markdown; see `Table.to_markdown`."""
        return self.table().to_markdown(digits=digits, notes=notes)

    def to_latex(self, *, digits: int | None = None, notes: bool = False) -> str:
        """Return LaTeX; see `Table.to_latex`."""
        return self.table().to_latex(digits=digits, notes=notes)

    def to_html(self, *, digits: int | None = None, notes: bool = True) -> str:
        """Return HTML; see `Table.to_html`."""
        return self.table().to_html(digits=digits, notes=notes)

    def to_csv(self, *, spreadsheet: bool = False) -> str:
        """Return CSV; see `Table.to_csv`."""
        return self.table().to_csv(spreadsheet=spreadsheet)

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return JSON; see `Table.to_json`."""
        return self.table().to_json(indent=indent)

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame; see `Table.to_pandas`."""
        return self.table().to_pandas()

    def __str__(self) -> str:
        return terminal_text(self.to_text())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to a file, in the form that the ending of its name asks for.

        The ending, in any case, is that of a method with its default options: .txt (`to_text`), .md
        (`to_markdown`), .tex (`to_latex`), .csv (`to_csv`), .json (`to_json`), or .html (a page).
        The file appears whole or not at all, exactly at `path`, and one that is there is replaced
        (see `truerank.tables.writing`). Text is UTF-8.

        Raises
        ------
        ValueError
            For another ending, and if `path` exists and is not a regular file.
        OSError
            If the file cannot be written; it names the file.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import truerank as tr
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "report.json")
        ...     tr.report(tr.Ranks([0, 3], [1, 1], 10)).save(path)
        ...     tr.Report.from_json(path.read_text())["mrr"]
        0.625
        """
        writable_place(path)
        name = os.fsdecode(path)
        ending = os.path.splitext(name)[1].lower()
        if ending not in FORMS:
            got = repr(name)
            if ending == ".npz" and hasattr(self, "ranks"):
                got += "; to keep the ranks, call ranks.save of the report"
            raise InputValueError(
                "path", expected=f"a name that ends in one of {', '.join(FORMS)}", got=got
            )
        text: str = getattr(self, FORMS[ending])()
        with replace_file(path) as file:
            file.write(f"{text.removesuffix(chr(10))}\n".encode(errors="backslashreplace"))

    def _page(self) -> str:
        head = '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n'
        return f"{head}<title>{type(self).__name__}</title>\n{self.to_html()}"

    def _repr_html_(self) -> str:
        """Return the result as HTML, for notebooks."""
        return self.to_html() + "\n"


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
    averages : iterable of int
        The rows that are averages of others; their names are set in italics.
    before, notes : iterable of str
        Lines above the table; and what limits the trust in the numbers, below it.
    below : iterable of Table
        Tables that people read below this one; their lines and notes are left out.
    digits : int
        The number of significant digits in columns without `decimals`.

    Attributes
    ----------
    columns : tuple of Column
    rows : tuple of tuples
    before, notes : tuple of str
    below : tuple of Table

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

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        columns: Mapping[str, Iterable[Any]] | Sequence[str | Column],
        rows: Iterable[Sequence[Any]] | None = None,
        *,
        names: int = 1,
        best: Iterable[Position] = (),
        significant: Iterable[Position] = (),
        averages: Iterable[int] = (),
        before: Iterable[str] = (),
        notes: Iterable[str] = (),
        below: Iterable[Table] = (),
        digits: int = 4,
    ) -> None:
        if isinstance(columns, Mapping):
            if rows is not None:
                raise InputTypeError("rows", "a mapping of columns has their cells already")
            rows = _transposed(columns)
        self.columns = _checked_columns(columns)
        self.rows = tuple(tuple(map(_plain, row)) for row in rows or ())
        for i, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                wanted = format_count(len(self.columns), "cell")
                raise InputValueError(
                    "rows", expected=f"{wanted} in every row", got=f"{len(row)} in row {i}"
                )
        self.before, self.notes, self.below = tuple(before), tuple(notes), tuple(below)
        self._names = integer("names", names, least=0, most=max(1, len(self.columns)))
        self._best, self._significant = frozenset(best), frozenset(significant)
        known = [column.name for column in self.columns]
        for i, name in self._best | self._significant:
            if i not in range(len(self)) or name not in known:
                expected = "a row, from 0, and the name of a column"
                raise InputValueError("best, significant", expected=expected, got=(i, name))
        self._averages = frozenset(averages)
        self._digits = check_digits(digits)

    def __getitem__(self, name: str) -> list[Any]:
        """Return the cells of a column by its name."""
        names = [column.name for column in self.columns]
        if name not in names:
            raise UnknownKeyError("name", "", f"one of {', '.join(names)}", repr(name))
        return [row[names.index(name)] for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __repr__(self) -> str:
        names = ", ".join(column.name for column in self.columns)
        return printable(f"Table({format_count(len(self), 'row')}: {names})")

    def table(self) -> Table:
        """Return the table itself, as results return the one that they are printed as."""
        return self

    # -- for people --------------------------------------------------------------------------------

    def to_text(self, *, digits: int | None = None, notes: bool = True) -> str:
        """Return columns of plain text, as `print` shows them; an asterisk marks the best cells.

        Parameters
        ----------
        digits, notes
            As in `to_markdown`.
        """
        grids = self.grids(digits)
        tables = [forms.text_table(grid) for grid in grids]
        if not flag("notes", notes):
            return "\n\n".join(tables)
        legend = [BEST] * any(grid.best for grid in grids)
        above = "\n".join(map(printable, self.before))
        below = "\n".join(map(printable, (*legend, *self.notes)))
        return "\n\n".join(filter(None, [above, *tables, below]))

    def to_markdown(self, *, digits: int | None = None, notes: bool = True) -> str:
        """Return Markdown.

        Parameters
        ----------
        digits : int, optional
            The number of significant digits of every float, in place of those of the columns.
        notes : bool
            Whether the lines above and below, and the notes, are written as well.
        """
        tables = map(forms.markdown_table, self.grids(digits))
        if not flag("notes", notes):
            return "\n\n".join(tables)
        above = "\n".join(map(forms.markdown_cell, self.before))
        below = forms.markdown_list(self.notes)
        return "\n\n".join(filter(None, [above, *tables, below]))

    def to_latex(self, *, digits: int | None = None, notes: bool = False) -> str:
        """Return LaTeX with the rules of the package booktabs.

        Parameters
        ----------
        digits
            As in `to_markdown`.
        notes
            Whether the lines above and below are written as comments before the tabular, and the
            notes as footnotes behind it.
        """
        tables = "\n\n".join(map(forms.latex_table, self.grids(digits)))
        if not flag("notes", notes):
            return tables
        comments = forms.latex_comment(self.before).removesuffix("\n")
        below = map(forms.latex_note, self.notes)
        return "\n".join(filter(None, [comments, tables, *below]))

    def to_html(self, *, digits: int | None = None, notes: bool = True) -> str:
        """Return HTML, as a notebook shows it; the parameters are those of `to_markdown`."""
        tables = "".join(f"{forms.html_table(grid)}\n" for grid in self.grids(digits))
        if flag("notes", notes):
            below = forms.html_paragraphs(self.notes)
            tables = forms.html_paragraphs(self.before) + tables + below
        return tables.removesuffix("\n")

    def grids(self, digits: int | None = None) -> list[TextGrid]:
        """Return what people read as text: of this table, if it has columns, and of those below."""
        if digits is not None:
            check_digits(digits)
        own = [self._grid(digits)] if self.columns else []
        return [*own, *(grid for table in self.below for grid in table.grids(digits))]

    def _grid(self, digits: int | None) -> TextGrid:
        spreads = {column.spread for column in self.columns}
        shown = [c for c in self.columns if c.only != "data" and c.name not in spreads]
        columns = [self._column(column, digits) for column in shown]
        return TextGrid(
            [f"{c.heading or c.name} ({c.unit})" if c.unit else c.heading or c.name for c in shown],
            [[texts[i] for texts, _ in columns] for i in range(len(self))],
            frozenset((i, j) for j, (_, best) in enumerate(columns) for i in best),
            self._averages,
            names=sum(column in shown for column in self.columns[: self._names]),
        )

    def _column(self, column: Column, digits: int | None) -> tuple[list[str], set[int]]:
        """Return the cells of a column as text, and the rows that are set in bold."""
        fallback = self._digits if digits is None else digits
        decimals = column.decimals if digits is None else None

        def write(value: Any, digits: int = fallback) -> str:
            if column.unit == "%" and isinstance(value, float):
                value = 100 * value
            return cell(value, digits, decimals)

        values = self[column.name]
        texts = list(map(write, values))
        best = {i for i, name in self._best if name == column.name}
        known = [x for x in values if isinstance(x, (int, float)) and not math.isnan(x)]
        if column.better is not None and known and len(values) > 1:
            top = write(max(known) if column.better == "higher" else min(known))
            best |= {i for i, text in enumerate(texts) if text == top}
        for i, spread in enumerate(() if column.spread is None else self[column.spread]):
            if spread is not None and not math.isnan(spread):
                texts[i] += f" \u00b1 {write(spread, 2)}"
        for i, name in self._significant:
            texts[i] += DAGGER * (name == column.name)
        return texts, best

    # -- for programs ------------------------------------------------------------------------------

    def _data(self) -> tuple[list[str], list[list[Any]]]:
        """Return the names of the columns that programs read, and the rows."""
        kept = [j for j, column in enumerate(self.columns) if column.only != "print"]
        rows = [[row[j] for j in kept] for row in self.rows]
        return [self.columns[j].name for j in kept], rows

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the cells of each column by its name.

        Examples
        --------
        >>> Table(["model", "MRR"], [["TransE", 0.294]]).to_dict()
        {'model': ['TransE'], 'MRR': [0.294]}
        """
        names, rows = self._data()
        return {name: [row[j] for row in rows] for j, name in enumerate(names)}

    def to_csv(self, *, spreadsheet: bool = False, notes: bool = False) -> str:
        """Return CSV, with numbers in all their digits.

        Parameters
        ----------
        spreadsheet : bool
            Whether a text that a spreadsheet would compute as a formula gets an apostrophe before
            it. Default: texts are written as they are, for programs.
        notes : bool
            Whether all lines and notes follow, each in a line that begins with #.
        """
        names, rows = self._data()
        text = forms.csv_text([names, *rows], spreadsheet=flag("spreadsheet", spreadsheet))
        lines = (*self.before, *self.notes) if flag("notes", notes) else ()
        return text + "".join(f"# {printable(line)}\n" for line in lines)

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return rows, lines and notes as JSON, the rows as objects; nan is null.

        Parameters
        ----------
        indent : int or None
            The blanks of each level; None writes one line.
        """
        names, rows = self._data()
        content = {
            "kind": "truerank.table",
            "format": 1,
            "columns": names,
            "rows": [dict(zip(names, row, strict=True)) for row in rows],
            "before": self.before,
            "notes": self.notes,
        }
        return forms.write_json(content, indent)

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame, with an empty cell as nan in a column of numbers.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        cells = self.to_dict()
        floats = [name for name, values in cells.items() if _are_floats(values)]
        frame = import_extra("pandas", "to_pandas").DataFrame(cells)
        return frame.astype(dict.fromkeys(floats, float))


# -- checks ----------------------------------------------------------------------------------------


def _checked_columns(given: Iterable[str | Column]) -> tuple[Column, ...]:
    found = [Column(name) if isinstance(name, str) else name for name in given]
    for column in found:
        choice("better", column.better or "higher", ("higher", "lower"))
        choice("only", column.only or "print", ("print", "data"))
    names = [column.name for column in found]
    if len(set(names)) < len(names):
        raise InputValueError("columns", expected="names that differ", got=names)
    for column in found:
        choice("spread", names[0] if column.spread is None else column.spread, tuple(names))
    return tuple(found)


def _transposed(columns: Mapping[str, Iterable[Any]]) -> list[tuple[Any, ...]]:
    """Return the rows of columns that are equally long."""
    cells = {name: list(values) for name, values in columns.items()}
    lengths = {name: len(values) for name, values in cells.items()}
    if len(set(lengths.values())) > 1:
        raise InputValueError("columns", expected="equally many cells in each", got=lengths)
    return list(zip(*cells.values(), strict=True))


def _plain(value: Any) -> Any:
    """Convert a number of NumPy to one of Python."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return value.item() if isinstance(value, np.generic) else value


def _are_floats(cells: Sequence[object]) -> bool:
    """Whether there are floats, and nothing else but empty cells."""
    return any(isinstance(value, float) for value in cells) and all(
        value is None or isinstance(value, float) for value in cells
    )
