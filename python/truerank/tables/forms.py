"""One writer for each form of a table, and the one place where text is escaped for it.

The forms for people take a `TextGrid`, cells of text under a heading; CSV takes values.
"""

from __future__ import annotations

import csv
import html
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from ..inputs.checks import integer
from ..inputs.naming import printable
from .cells import one_line

# A minus rather than a hyphen: before a number, and not within a word or after another sign.
_MINUS = re.compile(r"(?<![\w.}-])-(?=\.?\d|inf\b)")
# An underscore within a word has no effect in Markdown, and an ampersand only where it starts an
# entity.
_MARKDOWN = re.compile(r"[\\|*`~\[]|(?<![^\W_])_|_(?![^\W_])")
_ENTITY = re.compile(r"&(?=#?\w+;)")

# How a formula begins in a spreadsheet, where blanks may stand before it; and a signed number.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_SIGNED = re.compile(r"[+-](\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

# A number, and what follows its integer part: decimals, an exponent, marks, a deviation, a remark.
_NUMBER = re.compile(
    r"([-+]?[\d,]+|nan|[-+]?inf)((?:\.\d+)?(?:e[-+]?\d+)?[*\u2020]*(?: [^\d/].*)?)"
)


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


# -- plain text ------------------------------------------------------------------------------------


def text_table(grid: TextGrid) -> str:
    """Write columns of text with two blanks between them, the points of numbers at one place.

    Examples
    --------
    >>> rows = [["A", "7.25", "0.5"], ["B", "12", "0.375"]]
    >>> print(text_table(TextGrid(["model", "mr", "mrr"], rows, frozenset({(0, 2)}))))
    model     mr    mrr
    A       7.25  0.5*
    B      12     0.375
    """
    return "\n".join("  ".join(cells).rstrip() for cells in aligned_columns(grid))


def aligned_columns(grid: TextGrid) -> list[list[str]]:
    """Pad the heading and the rows, so that the cells of a column are equally wide on a terminal.

    Control characters are escaped, and an asterisk stands behind the best cells.

    Examples
    --------
    >>> aligned_columns(TextGrid(["metric", "value"], [["mr", "7.25"], ["hits@10", "0.5"]]))
    [['metric ', 'value'], ['mr     ', ' 7.25'], ['hits@10', ' 0.5 ']]
    """
    lines = [list(map(printable, grid.columns)), *_marked_rows(grid, printable, "{}*".format, str)]
    padded = []
    for j, (heading, *cells) in enumerate(zip(*lines, strict=True)):
        is_name = j < grid.names
        if not is_name:
            cells = _with_aligned_points(cells)
        width = max(map(_width, [heading, *cells]))
        padded.append([_pad(text, width, at_left=is_name) for text in (heading, *cells)])
    return [list(row) for row in zip(*padded, strict=True)]


def _with_aligned_points(cells: list[str]) -> list[str]:
    """Pad numbers at the right so that, set flush right, their points stand below each other."""
    found = [_NUMBER.fullmatch(text) for text in cells]
    widest = max((_width(number[2]) for number in found if number), default=0)
    return [
        text if number is None else text + " " * (widest - _width(number[2]))
        for text, number in zip(cells, found, strict=True)
    ]


def _pad(text: str, width: int, *, at_left: bool) -> str:
    blanks = " " * (width - _width(text))
    return text + blanks if at_left else blanks + text


def _width(text: str) -> int:
    """How many cells of a terminal a text takes: two for a wide character, none for a mark."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


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


def latex_note(line: str) -> str:
    """Write a line as a footnote below a tabular.

    Examples
    --------
    >>> print(latex_note("few units: 12 queries"))
    \\par{\\footnotesize few units: 12 queries\\par}
    """
    return f"\\par{{\\footnotesize {latex_cell(line)}\\par}}"


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


def html_table(grid: TextGrid) -> str:
    """Write a table with headings that screen readers find; all text is escaped.

    Examples
    --------
    >>> print(html_table(TextGrid(["metric", "value"], [["mr", "4.5"]])))
    <table>
    <thead><tr><th scope="col">metric</th><th scope="col">value</th></tr></thead>
    <tbody>
    <tr><th scope="row">mr</th><td>4.5</td></tr>
    </tbody>
    </table>
    """
    heading = "".join(f'<th scope="col">{html_text(word)}</th>' for word in grid.columns)
    rows = _marked_rows(grid, html_text, "<strong>{}</strong>".format, "<em>{}</em>".format)
    lines = ["<table>", f"<thead><tr>{heading}</tr></thead>", "<tbody>"]
    for name, *cells in rows:
        values = "".join(f"<td>{text}</td>" for text in cells)
        lines.append(f'<tr><th scope="row">{name}</th>{values}</tr>')
    return "\n".join([*lines, "</tbody>", "</table>"])


def html_paragraphs(lines: Iterable[str]) -> str:
    """Write a paragraph for each line, escaped.

    Examples
    --------
    >>> html_paragraphs(["a < b"])
    '<p>a &lt; b</p>\\n'
    """
    return "".join(f"<p>{html_text(line)}</p>\n" for line in lines)


# -- CSV -------------------------------------------------------------------------------------------


def csv_text(rows: Iterable[Iterable[object]], *, spreadsheet: bool = False) -> str:
    """Write rows, the heading first, with numbers in all their digits.

    Parameters
    ----------
    rows
        The cells of each line.
    spreadsheet
        Whether a text that a spreadsheet would compute as a formula gets an apostrophe before it.
        Numbers are unchanged.

    Examples
    --------
    >>> csv_text([["metric", "value"], ["mr", 4.5]])
    'metric,value\\nmr,4.5\\n'
    >>> csv_text([["=1+1", -4.5]], spreadsheet=True)
    "'=1+1,-4.5\\n"
    """
    lines: list[str] = []
    # a text with any character of the line terminator is quoted, as readers need it for both
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n")
    for row in rows:
        cells = [repr(cell) if isinstance(cell, float) else cell for cell in row]
        writer.writerow(map(_no_formula, cells) if spreadsheet else cells)
    return "".join(f"{line[:-2]}\n" for line in lines)


def _no_formula(value: object) -> object:
    """Put an apostrophe before a text that a spreadsheet takes for a formula, but not a number."""
    formula = isinstance(value, str) and value.startswith(_FORMULA) and not _SIGNED.fullmatch(value)
    return f"'{value}" if formula else value


# -- JSON ------------------------------------------------------------------------------------------


def write_json(content: object, indent: int | None) -> str:
    """Write a value as JSON, with so many blanks for each level, or all in one line.

    Examples
    --------
    >>> write_json({"mr": float("nan"), "low": float("-inf")}, None)
    '{"mr": null, "low": "-inf"}'
    """
    blanks = None if indent is None else integer("indent", indent, least=0, most=100)
    return json.dumps(json_value(content), indent=blanks, allow_nan=False)


def json_value(value: Any) -> Any:
    """Convert a value to what JSON can hold: nan is null, infinity is "inf" or "-inf"."""
    if isinstance(value, dict):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
