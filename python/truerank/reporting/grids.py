"""Tables of text, whatever they are about, as Markdown, LaTeX and HTML."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

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
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    best: frozenset[tuple[int, int]] = frozenset()


def number(value: float, digits: int) -> str:
    """Write a number with so many significant digits, and a large one with all before the point.

    Examples
    --------
    >>> number(0.43847712, 4), number(12345.6, 4), number(float("nan"), 4)
    ('0.4385', '12346', 'nan')
    """
    whole = math.isfinite(value) and 10**digits <= abs(value) < BEYOND
    return f"{value:.0f}" if whole else f"{value:.{digits}g}"


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
    """Text that a Markdown table takes as it is.

    Examples
    --------
    >>> print(markdown_cell("a|b"))
    a\\|b
    """
    return one_line(text.replace("\\", "\\\\").replace("|", "\\|"))


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
    lines += _cells(grid, markdown_cell, "**{}**".format)
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
    """Text as LaTeX sets it: special characters escaped, a number's minus as a minus.

    Examples
    --------
    >>> print(latex_cell("R&D_1"), latex_cell("-0.5"))
    R\\&D\\_1 $-$0.5
    """
    escaped = one_line(text).translate(_LATEX)
    return f"$-${escaped[1:]}" if escaped[:1] == "-" and escaped[1:2].isdigit() else escaped


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
        *map(_latex_row, _cells(grid, latex_cell, "\\textbf{{{}}}".format)),
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
    for name, *cells in _cells(grid, html.escape, "<strong>{}</strong>".format):
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


def _cells(grid: Grid, escape: Callable[[str], str], bold: Callable[[str], str]) -> list[list[str]]:
    """The rows, escaped, the best cells bold."""
    return [
        [bold(escape(cell)) if (i, j) in grid.best else escape(cell) for j, cell in enumerate(row)]
        for i, row in enumerate(grid.rows)
    ]
