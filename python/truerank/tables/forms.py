"""One writer for each form of a table, and the one place where text is escaped for it.

The forms for people take the texts of a Table, whose control characters are escaped already; CSV
and JSON take values.
"""

from __future__ import annotations

import csv
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable
from html import escape
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..inputs.checks import integer
from ..naming import format_count, printable

if TYPE_CHECKING:
    from .table import Table

DAGGER = "\u2020"
BEST = "* the best of its column"
BEST_OF_COMPARABLE = f"{BEST} among comparable rows"
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


def marked_cells(
    table: Table, escape: Callable[[str], str], bold_form: str, dagger: str = DAGGER
) -> tuple[list[str], list[list[str]], bool]:
    """Return the escaped heading and rows, and whether some cells are the best of their column.

    The best cells are in bold, those that differ have a dagger; left out rows are a row of words.
    """
    rows = [list(map(escape, row)) for row in table.texts()]
    best, differing = table.marks()
    for i, j in best:
        rows[i][j] = bold_form.format(rows[i][j])
    for i, j in differing:
        rows[i][j] += dagger
    heading = [escape(printable(column.title)) for column in table.shown_columns]
    n_left_out = table._layout.more
    if n_left_out:
        line = escape(f"{format_count(n_left_out, 'more row')} in JSON")
        rows.append([line] + [""] * (len(heading) - 1))
    return heading, rows, bool(best)


# -- plain text ------------------------------------------------------------------------------------


def text(table: Table) -> str:
    """Write columns of text, the points of numbers at one place, an asterisk behind the best."""
    heading, rows, has_best = marked_cells(table, str, "{}*")
    names = table.shown_names
    columns = []
    for j, title in enumerate(heading):
        cells = [row[j] for row in rows]
        if j >= names:
            cells = _with_aligned_points(cells)
        cells.insert(0, title)
        widths = list(map(_width, cells))
        widest = max(widths)
        padded = []
        for cell, width in zip(cells, widths, strict=True):
            blanks = " " * (widest - width)
            padded.append(cell + blanks if j < names else blanks + cell)
        columns.append(padded)
    lines = "\n".join("  ".join(cells).rstrip() for cells in zip(*columns, strict=True))
    note_on_best = []
    if has_best:
        has_groups = len(set(table._layout.comparable)) > 1
        note_on_best = [BEST_OF_COMPARABLE if has_groups else BEST]
    before, notes = table._lines(note_on_best, shown_by_default=True)
    above = "\n".join(before)
    below = "\n".join(notes)
    return "\n\n".join(filter(None, [above, lines, below]))


def _with_aligned_points(cells: list[str]) -> list[str]:
    """Pad numbers at the right so that, set flush right, their points stand below each other."""
    widths = []  # Those of what follows the integer parts, of numbers alone.
    for text in cells:
        number = _NUMBER.fullmatch(text)
        widths.append(None if number is None else _width(number[2]))
    widest = max((width for width in widths if width is not None), default=0)
    aligned = []
    for text, width in zip(cells, widths, strict=True):
        aligned.append(text if width is None else text + " " * (widest - width))
    return aligned


def _width(text: str) -> int:
    """How many cells of a terminal a text takes: two for a wide character, none for a mark."""
    if text.isascii():
        return len(text)
    widths = list(map(unicodedata.east_asian_width, text))
    marks = sum(map(bool, map(unicodedata.combining, text)))
    return len(text) + widths.count("W") + widths.count("F") - marks


# -- Markdown --------------------------------------------------------------------------------------


def markdown_cell(text: str) -> str:
    """Escape a text so that Markdown shows it as it is, without markup, HTML, links or cells."""
    plain = _ENTITY.sub("&amp;", " ".join(text.split())).replace("<", "&lt;")
    return _MARKDOWN.sub(r"\\\g<0>", plain)


def markdown(table: Table) -> str:
    """Write a pipe table, the lines above it as a paragraph and the notes as a list."""
    heading, rows, _ = marked_cells(table, markdown_cell, "**{}**")
    alignment = [":---"] * table.shown_names
    alignment += ["---:"] * (len(heading) - table.shown_names)
    lines = [f"| {' | '.join(cells)} |" for cells in (heading, alignment, *rows) if cells]
    before, notes = table._lines(shown_by_default=True)
    above = "\n".join(map(markdown_cell, before))
    below = "\n".join(f"- {markdown_cell(line)}" for line in notes)
    return "\n\n".join(filter(None, [above, "\n".join(lines), below]))


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
    """Escape a text for LaTeX, with a minus sign before negative numbers."""
    return _MINUS.sub("$-$", " ".join(text.split()).translate(_LATEX))


def latex(table: Table) -> str:
    """Write a tabular with the rules of the package booktabs, its lines above as comments."""
    # Daggers take no room, so that the points of numbers stand below each other.
    heading, rows, _ = marked_cells(table, latex_cell, "\\textbf{{{}}}", "\\rlap{$^{\\dagger}$}")
    before, notes = table._lines(shown_by_default=False)
    legend = [note for note in table.notes if note.startswith(DAGGER) and note not in notes]
    lines = [f"% {' '.join(printable(line).split())}" for line in (*before, *legend)]
    alignment = "l" * table.shown_names
    alignment += "r" * (len(heading) - table.shown_names)
    lines += [f"\\begin{{tabular}}{{{alignment}}}", "\\toprule"]
    lines += [_latex_row(heading), "\\midrule"]
    lines += map(_latex_row, rows)
    lines += ["\\bottomrule", "\\end{tabular}"]
    lines += [f"\\par{{\\footnotesize {latex_cell(line)}\\par}}" for line in notes]
    return "\n".join(lines)


def _latex_row(cells: Iterable[str]) -> str:
    line = " & ".join(cells)
    if line.startswith(("[", "*")):  # LaTeX would read it with the line break before it.
        line = f"{{}}{line}"
    return f"{line} \\\\"


# -- HTML ------------------------------------------------------------------------------------------


def html_text(text: str) -> str:
    """Escape a text for HTML, markup and control characters alike."""
    return escape(printable(text))


def html(table: Table) -> str:
    """Write a table with headings that screen readers find, and a paragraph for each line."""
    dagger = f'<sup style="position: absolute">{DAGGER}</sup>'  # It takes no room.
    heading, rows, _ = marked_cells(table, escape, "<strong>{}</strong>", dagger)
    styles = ["text-align: left"] * table.shown_names
    styles += ["text-align: right"] * (len(heading) - table.shown_names)
    titles = "".join(
        f'<th scope="col" style="{style}">{title}</th>'
        for title, style in zip(heading, styles, strict=True)
    )
    before, notes = table._lines(shown_by_default=True)
    lines = [f"<p>{escape(line)}</p>" for line in before]
    lines += ["<table>", f"<thead><tr>{titles}</tr></thead>", "<tbody>"]
    for cells in rows:
        values = "".join(
            f'<td style="{style}">{cell}</td>'
            for cell, style in zip(cells[1:], styles[1:], strict=True)
        )
        lines.append(f'<tr><th scope="row" style="{styles[0]}">{cells[0]}</th>{values}</tr>')
    lines += ["</tbody>", "</table>"]
    lines += [f"<p>{escape(line)}</p>" for line in notes]
    return "\n".join(lines)


def html_page(title: str, body: str) -> str:
    """Write a page that holds one result."""
    head = '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">'
    return f"{head}\n<title>{html_text(title)}</title>\n{body}"


# -- CSV -------------------------------------------------------------------------------------------


def csv_text(rows: Iterable[Iterable[object]], *, spreadsheet: bool = False) -> str:
    """Write rows, the heading first, with numbers in all their digits.

    For a spreadsheet, texts that it would compute as a formula get an apostrophe before them.
    """
    lines: list[str] = []
    # The writer quotes texts with a character of its line terminator; readers need it for both.
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n")
    if spreadsheet:
        rows = (map(_no_formula, row) for row in rows)
    writer.writerows(rows)
    return "".join(f"{line[:-2]}\n" for line in lines)


def _no_formula(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA) and not _SIGNED.fullmatch(value):
        return f"'{value}"
    return value


# -- JSON ------------------------------------------------------------------------------------------


def write_json(content: object, indent: int | None) -> str:
    """Write a value as JSON, with so many blanks for each level, or all in one line."""
    if indent is not None:
        indent = integer("indent", indent, least=0, most=100)
    return json.dumps(json_value(content), indent=indent, allow_nan=False)


def json_value(value: Any) -> Any:
    """Convert a value to what JSON can hold: nan is null, infinity is "inf" or "-inf"."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if hasattr(value, "__dataclass_fields__"):
        value = vars(value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        kinds = set(map(type, value))  # Long lists, as of groups, have one.
        if kinds <= _PLAIN or (kinds == {float} and all(map(math.isfinite, value))):
            return list(value)
        return [json_value(item) for item in value]
    return value
