"""The frame of a page: one HTML document with its style and nothing from elsewhere."""

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
from ..comparison.table_writer import TextGrid, html_table
from ..ranks.archives import replace_file

# No script runs and nothing is fetched, whatever stands on the page.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


# What neither HTML nor XML can hold, and a label may: control characters, halves of characters.
ILLEGAL_CHARACTERS = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Section(NamedTuple):
    """A part of a page below a heading.

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
    """Give a whole page.

    Parameters
    ----------
    title : str
        Plain text.
    head : str
        HTML, below the title.
    sections : iterable of Section
        Those without a body are left out.

    Examples
    --------
    >>> page = document("a < b", "", [Section("Metrics", "<p>none</p>"), Section("Plots", "")])
    >>> "<h1>a &lt; b</h1>" in page, page.count("<h2>")
    (True, 1)
    """
    name = html.escape(title)
    body = "\n".join(
        f"<section>\n<h2>{html.escape(part.heading)}</h2>\n{part.body}\n</section>"
        for part in sections
        if part.body
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
        If `path` is there and is no regular file.
    """
    with replace_file(os.path.realpath(os.fsdecode(path))) as file:
        file.write(page.encode())


def replace_illegal(text: str) -> str:
    """Text with a mark in place of each character that a page cannot hold.

    Examples
    --------
    >>> ascii(replace_illegal("a\\x00b"))
    "'a\\\\ufffdb'"
    """
    return ILLEGAL_CHARACTERS.sub("\ufffd", text)


@cache
def _style() -> str:
    """What a page looks like: in light and in dark, on a narrow screen and on paper.

    The plots are drawn for white paper. In the dark their lightness is turned round, and their hues
    are turned back.
    """
    return (files(__package__) / "page.css").read_text(encoding="utf-8")


# -- parts -----------------------------------------------------------------------------------------


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text.

    Examples
    --------
    >>> paragraph("a < b"), paragraph("seed 0", "faint")
    ('<p>a &lt; b</p>', '<p class="faint">seed 0</p>')
    """
    return f"<p{_class(kind)}>{html.escape(text)}</p>"


def bullet_list(items: Iterable[str], kind: str = "") -> str:
    """A list of plain texts.

    Examples
    --------
    >>> bullet_list(["R&D"])
    '<ul><li>R&amp;D</li></ul>'
    """
    return f"<ul{_class(kind)}>{''.join(f'<li>{html.escape(item)}</li>' for item in items)}</ul>"


def definition_list(rows: Mapping[str, str]) -> str:
    """Names and what is said of each; those of which nothing is said are left out.

    Examples
    --------
    >>> definition_list({"Split": "test", "Similarity": ""})
    '<dl class="facts"><dt>Split</dt><dd>test</dd></dl>'
    """
    told = (f"{_term(name)}{_description(text)}" for name, text in rows.items() if text)
    return f'<dl class="facts">{"".join(told)}</dl>'


def cards(rows: Iterable[Sequence[str]]) -> str:
    """Names with a large value each, and perhaps a line below it.

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


def tables(grids: Iterable[TextGrid]) -> str:
    """Tables beside one another."""
    return side_by_side("".join(map(table, grids)))


def table(grid: TextGrid, caption: str = "") -> str:
    """A table that can be scrolled where it is wider than the page."""
    return f'<div class="scroll">\n{html_table(grid, caption)}\n</div>\n'


def details(summary: str, body: str) -> str:
    """What is shown when it is asked for."""
    return f"<details><summary>{html.escape(summary)}</summary>\n{body}\n</details>"


def preformatted(text: str) -> str:
    """Text of a fixed width, lines as they are."""
    return f"<pre>{html.escape(text)}</pre>"


def download(text: str, name: str, said: str) -> str:
    """A link to JSON that is within the page, to be kept under a name."""
    data = base64.b64encode(text.encode()).decode()
    link = f'<a download="{name}" href="data:application/json;base64,{data}">{said}</a>'
    return f"<p>{link}: every number in all its digits.</p>"


def _term(text: str) -> str:
    return f"<dt>{html.escape(text)}</dt>"


def _description(text: str) -> str:
    return f"<dd>{html.escape(text)}</dd>"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
