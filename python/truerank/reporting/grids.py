"""Tables of text, whatever they are about, as Markdown, LaTeX and HTML."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ..inputs.errors import InputTypeError, InputValueError

# a minus, and no hyphen: before a number, and not within a word or after another sign
_MINUS = re.compile(r"(?<![\w.}-])-(?=\.?\d|inf\b)")
# an underscore within a word emphasises nothing, an ampersand matters where an entity begins
_MARKDOWN = re.compile(r"[\\|*`~\[]|(?<![^\W_])_|_(?![^\W_])")
_ENTITY = re.compile(r"&(?=#?\w+;)")

BEYOND = 1e15  # from here on a number is written with an exponent


class Grid(NamedTuple):
    """A table: its first column names the rows, the others hold numbers.

    Attributes
    ----------
    columns : sequence of str
        The heading, one word for each column.
    rows : sequence of sequences of str
        As many cells as columns, each.
    best : set of (row, column)
        The cells that are set in bold.
    averages : set of int
        The rows that are averages of others: their names are set in italics, since another row may
        have such a name, too.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    best: frozenset[tuple[int, int]] = frozenset()
    averages: frozenset[int] = frozenset()


def number(value: float, digits: int) -> str:
    """Write a number with so many significant digits, and a large one with all before the point.

    Examples
    --------
    >>> number(0.43847712, 4), number(12345.6, 4), number(float("nan"), 4)
    ('0.4385', '12346', 'nan')
    """
    whole = math.isfinite(value) and 10**digits <= abs(value) < BEYOND
    return f"{value:.0f}" if whole else f"{value:.{digits}g}"


def percent(share: float) -> str:
    """Write a share as a percentage.

    Examples
    --------
    >>> percent(1.0), percent(0.0125), percent(12.5)
    ('100 %', '1.25 %', '1250 %')
    """
    return f"{number(100 * share, 3)} %"


def checked_digits(digits: int) -> int:
    """Check a number of significant digits.

    Raises
    ------
    TypeError
        For anything but an integer.
    ValueError
        For one below 1.

    Examples
    --------
    >>> checked_digits(4)
    4
    """
    if isinstance(digits, bool) or not hasattr(digits, "__index__"):
        raise InputTypeError("digits", expected="an integer >= 1", got=type(digits).__name__)
    if digits < 1:
        raise InputValueError("digits", expected="an integer >= 1", got=digits)
    return int(digits)


def one_line(text: str) -> str:
    """Text without line breaks and control characters.

    Examples
    --------
    >>> one_line("two\\nlines")
    'two lines'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


# -- Markdown --------------------------------------------------------------------------------------


def markdown_cell(text: str) -> str:
    """Text that Markdown shows as it is: no markup, HTML, links or cells of its own.

    Examples
    --------
    >>> print(markdown_cell("a|b"), markdown_cell("<b>_x_1*"))
    a\\|b &lt;b>\\_x_1\\*
    """
    plain = _ENTITY.sub("&amp;", one_line(text)).replace("<", "&lt;")
    return _MARKDOWN.sub(r"\\\g<0>", plain)


def markdown(grid: Grid) -> str:
    """A pipe table.

    Examples
    --------
    >>> print(markdown(Grid(["metric", "value"], [["mr", "4.5"]])))
    | metric | value |
    | :--- | ---: |
    | mr | 4.5 |
    """
    heading = [markdown_cell(word) for word in grid.columns]
    lines = [heading, [":---", *["---:"] * (len(heading) - 1)]]
    lines += _cells(grid, markdown_cell, "**{}**".format, "*{}*".format)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


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
    }
)


def latex_cell(text: str) -> str:
    """Text as LaTeX sets it: special characters escaped, the minus of every number as a minus.

    Examples
    --------
    >>> print(latex_cell("R&D_1"), latex_cell("-0.5 to -0.25"), latex_cell("1e-05"))
    R\\&D\\_1 $-$0.5 to $-$0.25 1e-05
    """
    return _MINUS.sub("$-$", one_line(text).translate(_LATEX))


def latex(grid: Grid) -> str:
    """A tabular with the rules of the package booktabs.

    Examples
    --------
    >>> print(latex(Grid(["metric", "value"], [["hits@1", "0.5"]], frozenset({(0, 1)}))))
    \\begin{tabular}{lr}
    \\toprule
    metric & value \\\\
    \\midrule
    hits@1 & \\textbf{0.5} \\\\
    \\bottomrule
    \\end{tabular}
    """
    lines = [
        f"\\begin{{tabular}}{{l{'r' * (len(grid.columns) - 1)}}}",
        "\\toprule",
        _latex_row(map(latex_cell, grid.columns)),
        "\\midrule",
        *map(_latex_row, _cells(grid, latex_cell, "\\textbf{{{}}}".format, "\\emph{{{}}}".format)),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines)


def latex_comment(lines: Iterable[str]) -> str:
    """Lines that LaTeX leaves out.

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


def html_table(grid: Grid, caption: str = "") -> str:
    """A table whose headings a screen reader finds; everything escaped.

    Examples
    --------
    >>> print(html_table(Grid(["metric", "value"], [["mr", "4.5"]]), "1 < 2"))
    <table>
    <caption>1 &lt; 2</caption>
    <thead><tr><th scope="col">metric</th><th scope="col">value</th></tr></thead>
    <tbody>
    <tr><th scope="row">mr</th><td>4.5</td></tr>
    </tbody>
    </table>
    """
    heading = "".join(f'<th scope="col">{html.escape(word)}</th>' for word in grid.columns)
    rows = []
    for name, *cells in _cells(
        grid, html.escape, "<strong>{}</strong>".format, "<em>{}</em>".format
    ):
        values = "".join(f"<td>{cell}</td>" for cell in cells)
        rows.append(f'<tr><th scope="row">{name}</th>{values}</tr>')
    return "\n".join(
        [
            "<table>",
            *([f"<caption>{html.escape(caption)}</caption>"] if caption else []),
            f"<thead><tr>{heading}</tr></thead>",
            "<tbody>",
            *rows,
            "</tbody>",
            "</table>",
        ]
    )


def html_paragraphs(lines: Iterable[str]) -> str:
    """One paragraph for each line, escaped.

    Examples
    --------
    >>> html_paragraphs(["a < b"])
    '<p>a &lt; b</p>\\n'
    """
    return "".join(f"<p>{html.escape(line)}</p>\n" for line in lines)


def _cells(
    grid: Grid,
    escape: Callable[[str], str],
    bold: Callable[[str], str],
    italic: Callable[[str], str],
) -> list[list[str]]:
    """The rows, escaped, the best cells bold, the names of averages in italics."""
    rows = [[escape(cell) for cell in row] for row in grid.rows]
    for i, j in grid.best:
        rows[i][j] = bold(rows[i][j])
    for i in grid.averages:
        rows[i][0] = italic(rows[i][0])
    return rows
