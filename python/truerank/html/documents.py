"""The frame of a page: one HTML document that contains its style and loads nothing."""

from __future__ import annotations

import base64
import html
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from .. import __version__
from ..inputs.naming import printable
from ..tables import Table
from ..tables.forms import html_text
from ..tables.writing import replace_file

# No script runs and nothing is fetched, whatever the page contains.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


# Labels may have characters that neither HTML nor XML allows, such as U+FFFF.
ILLEGAL_CHARACTERS = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Section(NamedTuple):
    """A section of a page, below a heading.

    Attributes
    ----------
    heading : str
        Plain text.
    body : str
        HTML.
    """

    heading: str
    body: str


def document(title: str, head: str, sections: Iterable[Section]) -> str:
    """Write a whole page.

    Parameters
    ----------
    title : str
        Plain text.
    head : str
        HTML below the title.
    sections : iterable of Section
        Sections without a body are left out.

    Examples
    --------
    >>> page = document("a < b", "", [Section("Metrics", "<p>none</p>"), Section("Plots", "")])
    >>> "<h1>a &lt; b</h1>" in page, page.count("<h2>")
    (True, 1)
    """
    name = html_text(title)
    body = "\n".join(
        f"<section>\n<h2>{html_text(section.heading)}</h2>\n{section.body}\n</section>"
        for section in sections
        if section.body
    )
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="generator" content="truerank {__version__}">
<title>{name}</title>
<style>
{_style()}</style>
</head>
<body>
<header>
<h1>{name}</h1>
{head}
</header>
<main>
{body}
</main>
<footer><p>Written by truerank {__version__}.</p></footer>
</body>
</html>
"""
    return replace_illegal(page)


def save(path: str | os.PathLike[str], page: str) -> None:
    """Write a page to a file, exactly at `path`: whole or not at all.

    Raises
    ------
    OSError
        If the folder is absent or cannot be written, or the disk is full.
    ValueError
        If `path` exists and is not a regular file.
    """
    with replace_file(path) as file:
        file.write(page.encode())


def replace_illegal(text: str) -> str:
    """Replace each character that a page cannot contain by a mark.

    Examples
    --------
    >>> ascii(replace_illegal("a\\x00b"))
    "'a\\\\ufffdb'"
    """
    return ILLEGAL_CHARACTERS.sub("\ufffd", text)


@cache
def _style() -> str:
    """The style of a page, in light and in dark mode, on a narrow screen and on paper.

    The plots are drawn for white paper. In dark mode their colours are inverted, and their hues
    turned back.
    """
    return (files(__package__) / "page.css").read_text(encoding="utf-8")


# -- elements --------------------------------------------------------------------------------------


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text.

    Examples
    --------
    >>> paragraph("a < b"), paragraph("seed 0", "faint")
    ('<p>a &lt; b</p>', '<p class="faint">seed 0</p>')
    """
    return f"<p{_class(kind)}>{html_text(text)}</p>"


def bullet_list(items: Iterable[str], kind: str = "") -> str:
    """A list of plain texts.

    Examples
    --------
    >>> bullet_list(["R&D"])
    '<ul><li>R&amp;D</li></ul>'
    """
    return f"<ul{_class(kind)}>{''.join(f'<li>{html_text(item)}</li>' for item in items)}</ul>"


def definition_list(rows: Mapping[str, str]) -> str:
    """A list of names and their descriptions; names with an empty description are left out.

    Examples
    --------
    >>> definition_list({"Split": "test", "Similarity": ""})
    '<dl class="facts"><dt>Split</dt><dd>test</dd></dl>'
    """
    items = (f"{_term(name)}{_description(text)}" for name, text in rows.items() if text)
    return f'<dl class="facts">{"".join(items)}</dl>'


def cards(rows: Iterable[Sequence[str]]) -> str:
    """Names, each with a large value and perhaps a line below it.

    Examples
    --------
    >>> cards([("mrr", "0.5", "0.4 to 0.6")])
    '<dl class="cards"><div><dt>mrr</dt><dd>0.5</dd><dd>0.4 to 0.6</dd></div></dl>'
    """
    made = (f"<div>{_term(name)}{''.join(map(_description, lines))}</div>" for name, *lines in rows)
    return f'<dl class="cards">{"".join(made)}</dl>'


def side_by_side(parts: str) -> str:
    """Figures and tables beside one another, as far as there is room."""
    return f'<div class="beside">\n{parts}</div>'


def tables(found: Iterable[Table]) -> str:
    """Tables beside one another."""
    return side_by_side("".join(map(table, found)))


def table(found: Table) -> str:
    """A table that can be scrolled if it is wider than the page; its lines stand elsewhere."""
    return f'<div class="scroll">\n{found.to_html(notes=False)}\n</div>\n'


def details(summary: str, body: str) -> str:
    """A body that is shown when its summary is clicked."""
    return f"<details><summary>{html_text(summary)}</summary>\n{body}\n</details>"


def preformatted(text: str) -> str:
    """Text in a fixed-width font, with its lines as they are."""
    lines = html.escape(printable(text, keep="\n"))
    return f"<pre>{lines}</pre>"


def download(text: str, name: str, label: str) -> str:
    """A link that saves JSON, which the page contains, under a file name."""
    data = base64.b64encode(text.encode()).decode()
    link = f'<a download="{name}" href="data:application/json;base64,{data}">{label}</a>'
    return f"<p>{link}: every number in all its digits.</p>"


def _term(text: str) -> str:
    return f"<dt>{html_text(text)}</dt>"


def _description(text: str) -> str:
    return f"<dd>{html_text(text)}</dd>"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
