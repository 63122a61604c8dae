"""Write tables of any content as Markdown, LaTeX, HTML, CSV and DataFrames.

`TextTables` are for people: cells of text under a heading, with lines before and after. `Records`
are for programs: numbers in all their digits. `Tabular` is the base of classes that have both.
Nothing here depends on ranks or metrics.
"""

from __future__ import annotations

import csv
import html
import math
import re
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, TypeVar

from ..inputs.checks import choice, flag, integer
from ..inputs.naming import import_extra, printable
from .aligned_text import aligned_text

# A minus rather than a hyphen: before a number, and not within a word or after another sign.
_MINUS = re.compile(r"(?<![\w.}-])-(?=\.?\d|inf\b)")
# An underscore within a word has no effect in Markdown, and an ampersand only where it starts an
# entity.
_MARKDOWN = re.compile(r"[\\|*`~\[]|(?<![^\W_])_|_(?![^\W_])")
_ENTITY = re.compile(r"&(?=#?\w+;)")

# How a formula begins in a spreadsheet, where blanks may stand before it; and a signed number.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_NUMBER = re.compile(r"[+-](\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

BEST = "* the best of its column"
EXPONENT_FROM = 1e15  # from here on a number is written with an exponent

Layout = Literal["long", "wide"]
T = TypeVar("T")


class TextGrid(NamedTuple):
    """A table of text, whose first column names the rows and whose other columns hold numbers.

    Attributes
    ----------
    columns : sequence of str
        The heading, one text for each column.
    rows : sequence of sequences of str
        The cells of each row, one for each column.
    best : set of (row, column)
        The cells that are set in bold; in plain text an asterisk follows them.
    averages : set of int
        The rows that are averages of others. Their names are set in italics, since another row may
        have the same name.
    names : int
        How many columns, from the left, hold names rather than numbers.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    best: frozenset[tuple[int, int]] = frozenset()
    averages: frozenset[int] = frozenset()
    names: int = 1


class TextTables(NamedTuple):
    """Tables to be read by people, with lines before and after them.

    Attributes
    ----------
    grids : sequence of Grid
    before, after : sequence of str
    notes : sequence of str
        What limits the trust in the numbers. They stand below the tables in every format: LaTeX,
        which has the other lines as comments, prints them below the tabular.
    legend : str
        What an asterisk says in plain text, which has no bold letters.
    """

    grids: Sequence[TextGrid]
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    notes: Sequence[str] = ()
    legend: str = BEST

    def with_notes(self, notes: bool) -> TextTables:
        """Return all, or without notes the tables alone, for what says elsewhere what they need.

        Examples
        --------
        >>> TextTables([], ["2 tasks"], notes=["few units"]).with_notes(False)
        TextTables(grids=[], before=(), after=(), notes=(), legend='')
        """
        return self if flag("notes", notes) else TextTables(self.grids, legend="")

    def markdown(self) -> str:
        """Write the lines before, pipe tables, a paragraph for each line after, a list of notes.

        Examples
        --------
        >>> grid = TextGrid(["metric", "value"], [["mr", "4.5"]])
        >>> print(TextTables([grid], ["2 tasks"]).markdown())
        2 tasks
        <BLANKLINE>
        | metric | value |
        | :--- | ---: |
        | mr | 4.5 |
        """
        before = "\n".join(map(markdown_cell, self.before))
        after = map(markdown_cell, self.after)
        parts = [before, *map(markdown_table, self.grids), *after, markdown_list(self.notes)]
        return "\n\n".join(filter(None, parts))

    def text(self) -> str:
        """Write the lines before, tables in columns of plain text, the lines after, and the notes.

        An empty line stands before each table but one at the start, and before the notes of several
        tables.

        Examples
        --------
        >>> print(TextTables([TextGrid(["metric", "value"], [["mr", "4.5"]])], ["2 tasks"]).text())
        2 tasks
        <BLANKLINE>
        metric  value
        mr        4.5
        """
        before = "\n".join(map(printable, self.before))
        tables = [aligned_text(grid.columns, text_rows(grid), grid.names) for grid in self.grids]
        legend = [self.legend] * any(grid.best for grid in self.grids)
        below = "\n".join(filter(None, map(printable, (*legend, *self.after, *self.notes))))
        return "\n\n".join(filter(None, [before, *tables, below]))

    def latex(self) -> str:
        """Write tabulars with the rules of the package booktabs, after all lines as comments.

        Examples
        --------
        >>> print(TextTables([], notes=["few units: 12 queries"]).latex())
        \\par{\\footnotesize few units: 12 queries\\par}
        """
        comments = latex_comment([*self.before, *self.after]).removesuffix("\n")
        footnotes = [f"\\par{{\\footnotesize {latex_cell(note)}\\par}}" for note in self.notes]
        tables = "\n\n".join(map(latex_table, self.grids))
        return "\n".join(filter(None, [comments, tables, *footnotes]))

    def html(self) -> str:
        """Write tables between paragraphs, one paragraph for each line and each note."""
        tables = "".join(f"{html_table(grid)}\n" for grid in self.grids)
        after = html_paragraphs([*self.after, *self.notes])
        whole = html_paragraphs(self.before) + tables + after
        return whole.removesuffix("\n")


class Records(NamedTuple):
    """A table to be read by programs.

    Attributes
    ----------
    columns : sequence of str
        The names of the columns.
    rows : iterable of sequences
        One cell for each column.
    values : sequence of str
        The columns that are float64 in a DataFrame, where None becomes nan.
    """

    columns: Sequence[str]
    rows: Iterable[Sequence[Any]]
    values: Sequence[str] = ()

    def csv(self, *, spreadsheet: bool = False) -> str:
        """Write rows under a heading, with numbers in all their digits.

        Parameters
        ----------
        spreadsheet : bool
            Whether a text that a spreadsheet would compute as a formula gets an apostrophe before
            it. Numbers are unchanged.

        Examples
        --------
        >>> Records(["metric", "value"], [("mr", 4.5)]).csv()
        'metric,value\\nmr,4.5\\n'
        >>> Records(["group", "value"], [("=1+1", -4.5)]).csv(spreadsheet=True)
        "group,value\\n'=1+1,-4.5\\n"
        """
        lines: list[str] = []
        safe = flag("spreadsheet", spreadsheet)
        # a text with any character of the line terminator is quoted, as readers need it for both
        writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n")
        for row in (self.columns, *self.rows):
            cells = [repr(cell) if isinstance(cell, float) else cell for cell in row]
            writer.writerow(map(_no_formula, cells) if safe else cells)
        return "".join(f"{line[:-2]}\n" for line in lines)

    def frame(self, layout: Layout = "wide", *, index: str | None = None) -> Any:
        """Make a DataFrame; only this method imports pandas.

        Parameters
        ----------
        layout : {"long", "wide"}
            "long" puts the values, which are the last columns, into one column, "value", and the
            names of their columns into another, "kind".
        index : str, optional
            The column that becomes the index.

        Raises
        ------
        ImportError
            If pandas is not installed.
        ValueError
            For another layout.

        Examples
        --------
        >>> Records(["metric", "realistic"], [["mr", 4.5]], ["realistic"]).frame("long")
          metric       kind  value
        0     mr  realistic    4.5
        """
        choice("layout", layout, ("long", "wide"))
        pandas = import_extra("pandas", "to_pandas")
        wide = pandas.DataFrame(list(self.rows), columns=list(self.columns))
        wide = wide.astype(dict.fromkeys(self.values, float))
        if layout == "wide":
            return wide if index is None else wide.set_index(index)
        names = list(self.columns[: len(self.columns) - len(self.values)])
        # by row, so that a row's values stay together
        long = wide.melt(names, list(self.values), "kind", "value", ignore_index=False)
        return long.sort_index(kind="stable").reset_index(drop=True)


# -- cells -----------------------------------------------------------------------------------------


def cell(value: object, digits: int) -> str:
    """Write a cell: a float with so many significant digits, an integer in full.

    Examples
    --------
    >>> cell(0.43847712, 4), cell(2000, 4), cell("mr", 4), cell(None, 4)
    ('0.4385', '2,000', 'mr', '')
    """
    if isinstance(value, float):
        return number(value, digits)
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)


def format_p(p: float, floor: float = 0.0) -> str:
    """Write a p-value; "<=" before one that has reached the smallest that resamples can give.

    Examples
    --------
    >>> format_p(0.03125), format_p(1 / 10_001, 1 / 10_001), format_p(0.01, 0.01)
    ('0.0312', '<= 1e-04', '<= 0.01')
    """
    if math.isnan(p) or p > floor:
        return f"{p:.3g}"
    digits, exponent = f"{p:.2e}".split("e")
    small = f"{digits.rstrip('0').rstrip('.')}e{exponent}"
    return f"<= {small if p < 0.001 else format(p, '.3g')}"


def format_count(n: int, thing: str, things: str = "") -> str:
    """Write a number of things.

    Examples
    --------
    >>> format_count(1, "task"), format_count(2000, "task"), format_count(2, "loss", "losses")
    ('1 task', '2,000 tasks', '2 losses')
    """
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"


def number(value: float, digits: int) -> str:
    """Write a number with so many significant digits; a larger one with all before the point.

    Examples
    --------
    >>> number(0.43847712, 4), number(12345.6, 4), number(float("nan"), 4)
    ('0.4385', '12346', 'nan')
    """
    whole = math.isfinite(value) and 10**digits <= abs(value) < EXPONENT_FROM
    return f"{value:.0f}" if whole else f"{value:.{digits}g}"


def percent(share: float) -> str:
    """Write a share as a percentage.

    Examples
    --------
    >>> percent(1.0), percent(0.0125), percent(12.5)
    ('100 %', '1.25 %', '1250 %')
    """
    return f"{number(100 * share, 3)} %"


def check_digits(digits: int) -> int:
    """Check a number of significant digits: 17 tell every float64 from all others.

    Raises
    ------
    TypeError
        For anything but an integer.
    ValueError
        For an integer below 1 or above 17.

    Examples
    --------
    >>> check_digits(4)
    4
    """
    return integer("digits", digits, least=1, most=17, expected="an integer from 1 to 17")


def _no_formula(value: object) -> object:
    """Put an apostrophe before a text that a spreadsheet takes for a formula, but not a number."""
    formula = isinstance(value, str) and value.startswith(_FORMULA) and not _NUMBER.fullmatch(value)
    return f"'{value}" if formula else value


def one_line(text: str) -> str:
    """Escape line breaks and control characters, and write one blank for several.

    Examples
    --------
    >>> print(one_line("two\\nlines,  two blanks"))
    two\\nlines, two blanks
    """
    return " ".join(printable(text).split())


# -- Markdown --------------------------------------------------------------------------------------


def markdown_cell(text: str) -> str:
    """Escape a text so that Markdown shows it as it is, without markup, HTML, links or cells.

    Examples
    --------
    >>> print(markdown_cell("a|b"), markdown_cell("<b>_x_1*"))
    a\\|b &lt;b>\\_x_1\\*
    """
    plain = _ENTITY.sub("&amp;", one_line(text)).replace("<", "&lt;")
    return _MARKDOWN.sub(r"\\\g<0>", plain)


def markdown_table(grid: TextGrid) -> str:
    """Write a pipe table.

    Examples
    --------
    >>> print(markdown_table(TextGrid(["metric", "value"], [["mr", "4.5"]])))
    | metric | value |
    | :--- | ---: |
    | mr | 4.5 |
    """
    heading = [markdown_cell(word) for word in grid.columns]
    numbers = len(heading) - grid.names
    lines = [heading, [*[":---"] * grid.names, *["---:"] * numbers]]
    lines += _marked_rows(grid, markdown_cell, "**{}**".format, "*{}*".format)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def markdown_list(lines: Iterable[str]) -> str:
    """Write a list with an item for each line.

    Examples
    --------
    >>> print(markdown_list(["few units", "1 < 2"]))
    - few units
    - 1 &lt; 2
    """
    return "\n".join(f"- {markdown_cell(line)}" for line in lines)


# -- LaTeX -----------------------------------------------------------------------------------------

_LATEX = str.maketrans(
    {
        **{c: f"\\{c}" for c in "{}$&#%_"},
        "\\": "\\textbackslash{}",
        "~": "\\textasciitilde{}",
        "^": "\\textasciicircum{}",
        "<": "\\textless{}",
        ">": "\\textgreater{}",
        "|": "\\textbar{}",
        "\u00b1": "$\\pm$",
        "\u2191": "$\\uparrow$",
        "\u2193": "$\\downarrow$",
        "\u2020": "$^{\\dagger}$",
    }
)


def latex_cell(text: str) -> str:
    """Escape a text for LaTeX, with a minus sign before negative numbers.

    Examples
    --------
    >>> print(latex_cell("R&D_1"), latex_cell("-0.5 to -0.25"), latex_cell("1e-05"))
    R\\&D\\_1 $-$0.5 to $-$0.25 1e-05
    """
    return _MINUS.sub("$-$", one_line(text).translate(_LATEX))


def latex_table(grid: TextGrid) -> str:
    """Write a tabular with the rules of the package booktabs.

    Examples
    --------
    >>> print(latex_table(TextGrid(["metric", "value"], [["hits@1", "0.5"]], frozenset({(0, 1)}))))
    \\begin{tabular}{lr}
    \\toprule
    metric & value \\\\
    \\midrule
    hits@1 & \\textbf{0.5} \\\\
    \\bottomrule
    \\end{tabular}
    """
    numbers = len(grid.columns) - grid.names
    lines = [
        f"\\begin{{tabular}}{{{'l' * grid.names}{'r' * numbers}}}",
        "\\toprule",
        _latex_row(map(latex_cell, grid.columns)),
        "\\midrule",
        *map(
            _latex_row,
            _marked_rows(grid, latex_cell, "\\textbf{{{}}}".format, "\\emph{{{}}}".format),
        ),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines)


def latex_comment(lines: Iterable[str]) -> str:
    """Write lines as comments of LaTeX.

    Examples
    --------
    >>> print(latex_comment(["2 tasks"]), end="")
    % 2 tasks
    """
    return "".join(f"% {one_line(line)}\n" for line in lines)


def _latex_row(cells: Iterable[str]) -> str:
    line = " & ".join(cells)
    # a row that begins with [ would be read as the option of the line break before it
    return f"{{}}{line} \\\\" if line.startswith(("[", "*")) else f"{line} \\\\"


# -- HTML ------------------------------------------------------------------------------------------


def html_text(text: str) -> str:
    """Escape a text for HTML, markup and control characters alike.

    Examples
    --------
    >>> print(html_text("a < b"), html_text("red \\x1b[31m"))
    a &lt; b red \\x1b[31m
    """
    return html.escape(printable(text))


def html_table(grid: TextGrid, caption: str = "") -> str:
    """Write a table with headings that screen readers find; all text is escaped.

    Examples
    --------
    >>> print(html_table(TextGrid(["metric", "value"], [["mr", "4.5"]]), "1 < 2"))
    <table>
    <caption>1 &lt; 2</caption>
    <thead><tr><th scope="col">metric</th><th scope="col">value</th></tr></thead>
    <tbody>
    <tr><th scope="row">mr</th><td>4.5</td></tr>
    </tbody>
    </table>
    """
    heading = "".join(f'<th scope="col">{html_text(word)}</th>' for word in grid.columns)
    rows = []
    for name, *cells in _marked_rows(
        grid, html_text, "<strong>{}</strong>".format, "<em>{}</em>".format
    ):
        values = "".join(f"<td>{text}</td>" for text in cells)
        rows.append(f'<tr><th scope="row">{name}</th>{values}</tr>')
    return "\n".join(
        [
            "<table>",
            *([f"<caption>{html_text(caption)}</caption>"] if caption else []),
            f"<thead><tr>{heading}</tr></thead>",
            "<tbody>",
            *rows,
            "</tbody>",
            "</table>",
        ]
    )


def html_paragraphs(lines: Iterable[str]) -> str:
    """Write a paragraph for each line, escaped.

    Examples
    --------
    >>> html_paragraphs(["a < b"])
    '<p>a &lt; b</p>\\n'
    """
    return "".join(f"<p>{html_text(line)}</p>\n" for line in lines)


def text_rows(grid: TextGrid) -> list[list[str]]:
    """Return the rows for plain text, with an asterisk behind the best cells.

    Examples
    --------
    >>> text_rows(TextGrid(["model", "mr"], [["a", "1"], ["b", "2"]], frozenset({(0, 1)})))
    [['a', '1*'], ['b', '2']]
    """
    return _marked_rows(grid, str, "{}*".format, str)


def _marked_rows(
    grid: TextGrid,
    escape: Callable[[str], str],
    bold: Callable[[str], str],
    italic: Callable[[str], str],
) -> list[list[str]]:
    """Escape the rows; set the best cells in bold and the names of averages in italics."""
    rows = [[escape(text) for text in row] for row in grid.rows]
    for i, j in grid.best:
        rows[i][j] = bold(rows[i][j])
    for i in grid.averages:
        rows[i][0] = italic(rows[i][0])
    return rows
