"""One writer for each form of a table, and the one place where text is escaped for it.

The forms for people take a `Grid`, cells of text under a heading, whose control characters are
escaped already; CSV takes values.
"""

from __future__ import annotations

import csv
import json
import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from html import escape
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ..inputs.checks import integer
from ..naming import printable

DAGGER = "\u2020"
BEST = "* the best of its column"
BEST_OF_BLOCK = f"{BEST} among comparable rows"
# A hyphen is a minus before a number, but not within a word or after another sign.
_MINUS = re.compile(r"(?<![\w.}-])-(?=\.?\d|inf\b)")
# An underscore within a word has no effect in Markdown, and an ampersand only where it starts an
# entity.
_MARKDOWN = re.compile(r"[\\|*`~\[]|(?<![^\W_])_|_(?![^\W_])")
_ENTITY = re.compile(r"&(?=#?\w+;)")

# A formula in a spreadsheet begins with one of these, perhaps after blanks. A signed number does,
# too, and is none.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_SIGNED = re.compile(r"[+-](\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

# The second group is what follows the integer part: decimals, an exponent, marks, a deviation or a
# remark. Cells are aligned where it begins.
_NUMBER = re.compile(
    r"([-+]?[\d,]+|nan|[-+]?inf)((?:\.\d+)?(?:e[-+]?\d+)?[*\u2020]*(?: [^\d/].*)?)"
)

_PLAIN = {str, int, bool, type(None)}  # JSON holds these as they are.


class Grid(NamedTuple):
    """What people read of a table, as text.

    Attributes
    ----------
    columns : sequence of str
        The heading, one text for each column.
    rows : sequence of sequences of str
        The cells of each row, one for each column.
    best, significant : set of (row, column)
        The cells that are set in bold (in plain text an asterisk follows them), and those that have
        a dagger.
    names : int
        How many columns, from the left, hold names rather than numbers.
    before, notes : sequence of str
        Lines above and below.
    more : int
        The number of rows that are left out at the end.
    legend : str
        What text says of the meaning of an asterisk; empty where it says nothing.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    best: Collection[tuple[int, int]] = frozenset()
    significant: Collection[tuple[int, int]] = frozenset()
    names: int = 1
    before: Sequence[str] = ()
    notes: Sequence[str] = ()
    more: int = 0
    legend: str = ""

    def cells(
        self, write: Callable[[str], str], bold: str, dagger: str = DAGGER
    ) -> list[list[str]]:
        """Escape the cells, and mark those that are the best or significant."""
        rows = [[write(text) for text in row] for row in self.rows]
        for i, j in self.best:
            rows[i][j] = bold.format(rows[i][j])
        for i, j in self.significant:
            rows[i][j] += dagger
        if self.more:
            rows.append(self._remark(write(f"{self.more:,} more in CSV")))
        return rows

    def _remark(self, text: str) -> list[str]:
        """Return a row with a text in its first cell alone."""
        return [text] + [""] * (len(self.columns) - 1)


# -- plain text ------------------------------------------------------------------------------------


def text(grid: Grid) -> str:
    """Write columns of text with two blanks between them, the points of numbers at one place.

    An asterisk stands behind the best cells.

    Examples
    --------
    >>> rows = [["A", "7.25", "0.5"], ["B", "12", "0.375"]]
    >>> print(text(Grid(["model", "mr", "mrr"], rows, {(0, 2)})))
    model     mr    mrr
    A       7.25  0.5*
    B      12     0.375
    """
    rows = grid.cells(str, "{}*")
    columns = []
    for j, heading in enumerate(grid.columns):
        is_name = j < grid.names
        cells = [row[j] for row in rows]
        if not is_name:
            cells = _with_aligned_points(cells)
        cells.insert(0, heading)
        width = max(map(_width, cells))
        padded = []
        for text in cells:
            blanks = " " * (width - _width(text))
            if is_name:
                padded.append(text + blanks)
            else:
                padded.append(blanks + text)
        columns.append(padded)
    table = "\n".join("  ".join(cells).rstrip() for cells in zip(*columns, strict=True))
    notes = list(grid.notes)
    if grid.legend and grid.best:
        notes.insert(0, grid.legend)
    above = "\n".join(grid.before)
    below = "\n".join(notes)
    return "\n\n".join(filter(None, [above, table, below]))


def _with_aligned_points(cells: list[str]) -> list[str]:
    """Pad numbers at the right so that, set flush right, their points stand below each other."""
    numbers = [_NUMBER.fullmatch(text) for text in cells]
    widest = max((_width(number[2]) for number in numbers if number), default=0)
    aligned = []
    for text, number in zip(cells, numbers, strict=True):
        blanks = 0 if number is None else widest - _width(number[2])
        aligned.append(text + " " * blanks)
    return aligned


def _width(text: str) -> int:
    """How many cells of a terminal a text takes: two for a wide character, none for a mark."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    marks = sum(unicodedata.combining(letter) != 0 for letter in text)
    return len(text) + wide - marks


# -- Markdown --------------------------------------------------------------------------------------


def markdown_cell(text: str) -> str:
    """Escape a text so that Markdown shows it as it is, without markup, HTML, links or cells.

    Examples
    --------
    >>> print(markdown_cell("a|b"), markdown_cell("<b>_x_1*"))
    a\\|b &lt;b>\\_x_1\\*
    """
    plain = _ENTITY.sub("&amp;", " ".join(text.split())).replace("<", "&lt;")
    return _MARKDOWN.sub(r"\\\g<0>", plain)


def markdown(grid: Grid) -> str:
    """Write a pipe table, the lines above it as a paragraph and the notes as a list.

    Examples
    --------
    >>> print(markdown(Grid(["metric", "value"], [["mr", "4.5"]], notes=["few units"])))
    | metric | value |
    | :--- | ---: |
    | mr | 4.5 |
    <BLANKLINE>
    - few units
    """
    heading = [markdown_cell(word) for word in grid.columns]
    alignment = [":---"] * grid.names
    alignment += ["---:"] * (len(heading) - grid.names)
    lines = [heading, alignment]
    lines += grid.cells(markdown_cell, "**{}**")
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines if cells)
    above = "\n".join(map(markdown_cell, grid.before))
    below = "\n".join(f"- {markdown_cell(line)}" for line in grid.notes)
    return "\n\n".join(filter(None, [above, table, below]))


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
        DAGGER: "$^{\\dagger}$",
    }
)


def latex_cell(text: str) -> str:
    """Escape a text for LaTeX, with a minus sign before negative numbers.

    Examples
    --------
    >>> print(latex_cell("R&D_1"), latex_cell("-0.5 to -0.25"), latex_cell("1e-05"))
    R\\&D\\_1 $-$0.5 to $-$0.25 1e-05
    """
    return _MINUS.sub("$-$", " ".join(text.split()).translate(_LATEX))


def latex(grid: Grid) -> str:
    """Write a tabular with the rules of the package booktabs, lines above as comments, and notes.

    Daggers take no room, so that the points of numbers stand below each other.

    Examples
    --------
    >>> rows = [["R&D", "0.5"], ["B", "0.4"]]
    >>> print(latex(Grid(["model", "MRR"], rows, {(0, 1)}, {(1, 1)}, before=["2 tasks"])))
    % 2 tasks
    \\begin{tabular}{lr}
    \\toprule
    model & MRR \\\\
    \\midrule
    R\\&D & \\textbf{0.5} \\\\
    B & 0.4\\rlap{$^{\\dagger}$} \\\\
    \\bottomrule
    \\end{tabular}
    """
    numbers = len(grid.columns) - grid.names
    rows = grid.cells(latex_cell, "\\textbf{{{}}}", "\\rlap{$^{\\dagger}$}")
    lines = [f"% {' '.join(line.split())}" for line in grid.before]
    lines += [f"\\begin{{tabular}}{{{'l' * grid.names}{'r' * numbers}}}", "\\toprule"]
    lines += [_latex_row(map(latex_cell, grid.columns)), "\\midrule"]
    lines += map(_latex_row, rows)
    lines += ["\\bottomrule", "\\end{tabular}"]
    lines += [f"\\par{{\\footnotesize {latex_cell(line)}\\par}}" for line in grid.notes]
    return "\n".join(lines)


def _latex_row(cells: Iterable[str]) -> str:
    line = " & ".join(cells)
    if line.startswith(("[", "*")):  # LaTeX would read it with the line break before it.
        line = f"{{}}{line}"
    return f"{line} \\\\"


# -- HTML ------------------------------------------------------------------------------------------


def html_text(text: str) -> str:
    """Escape a text for HTML, markup and control characters alike.

    Examples
    --------
    >>> print(html_text("a < b"), html_text("red \\x1b[31m"))
    a &lt; b red \\x1b[31m
    """
    return escape(printable(text))


def html_table(grid: Grid) -> str:
    """Write a table with headings that screen readers find; all text is escaped.

    Examples
    --------
    >>> print(html_table(Grid(["metric", "value"], [["mr", "4.5"]])))
    <table>
    <thead><tr><th scope="col" style="text-align: left">metric</th><th scope="col" \
style="text-align: right">value</th></tr></thead>
    <tbody>
    <tr><th scope="row" style="text-align: left">mr</th>\
<td style="text-align: right">4.5</td></tr>
    </tbody>
    </table>
    """
    styles = ["text-align: left"] * grid.names
    styles += ["text-align: right"] * (len(grid.columns) - grid.names)
    heading = "".join(
        f'<th scope="col" style="{style}">{escape(word)}</th>'
        for word, style in zip(grid.columns, styles, strict=True)
    )
    lines = ["<table>", f"<thead><tr>{heading}</tr></thead>", "<tbody>"]
    dagger = f'<sup style="position: absolute">{DAGGER}</sup>'  # It takes no room.
    for cells in grid.cells(escape, "<strong>{}</strong>", dagger):
        values = "".join(
            f'<td style="{style}">{cell}</td>'
            for cell, style in zip(cells[1:], styles[1:], strict=True)
        )
        lines.append(f'<tr><th scope="row" style="{styles[0]}">{cells[0]}</th>{values}</tr>')
    lines += ["</tbody>", "</table>"]
    return "\n".join(lines)


def html(grid: Grid) -> str:
    """Write a table with a paragraph for each line above and below it.

    Examples
    --------
    >>> print(html(Grid(["metric"], [], notes=["a < b"])))
    <table>
    <thead><tr><th scope="col" style="text-align: left">metric</th></tr></thead>
    <tbody>
    </tbody>
    </table>
    <p>a &lt; b</p>
    """
    lines = [f"<p>{escape(line)}</p>" for line in grid.before]
    lines.append(html_table(grid))
    lines += [f"<p>{escape(line)}</p>" for line in grid.notes]
    return "\n".join(lines)


def html_page(title: str, body: str) -> str:
    """Write a page that holds one result."""
    head = '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">'
    return f"{head}\n<title>{html_text(title)}</title>\n{body}"


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
    # The writer quotes texts with a character of its line terminator; readers need it for both.
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n")
    if spreadsheet:
        rows = (map(_no_formula, row) for row in rows)
    writer.writerows(rows)
    return "".join(f"{line[:-2]}\n" for line in lines)


def _no_formula(value: object) -> object:
    """Put an apostrophe before a text that a spreadsheet takes for a formula, but not a number."""
    if isinstance(value, str) and value.startswith(_FORMULA) and not _SIGNED.fullmatch(value):
        return f"'{value}"
    return value


# -- JSON ------------------------------------------------------------------------------------------


def write_json(content: object, indent: int | None) -> str:
    """Write a value as JSON, with so many blanks for each level, or all in one line.

    Examples
    --------
    >>> write_json({"mr": float("nan"), "low": float("-inf")}, None)
    '{"mr": null, "low": "-inf"}'
    """
    if indent is not None:
        indent = integer("indent", indent, least=0, most=100)
    return json.dumps(json_value(content), indent=indent, allow_nan=False)


def json_value(value: Any) -> Any:
    """Convert a value to what JSON can hold: nan is null, infinity is "inf" or "-inf"."""
    if hasattr(value, "__dataclass_fields__"):
        value = vars(value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return _json_list(value)
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, float) and math.isinf(value):
        return str(value)
    return value


def _json_list(values: Sequence[Any]) -> list[Any]:
    """Convert a list; of many numbers alone, only those that JSON cannot hold are replaced."""
    kinds = set(map(type, values))
    if kinds <= _PLAIN:
        return list(values)
    if kinds != {float}:
        return [json_value(value) for value in values]
    numbers = np.array(values)
    converted = list(values)
    for i in np.flatnonzero(np.isnan(numbers)).tolist():
        converted[i] = None
    for i in np.flatnonzero(np.isinf(numbers)).tolist():
        converted[i] = str(converted[i])
    return converted
