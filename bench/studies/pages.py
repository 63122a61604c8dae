"""Markdown that the studies write: pages, lists and tables."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

__all__ = ["bullet_list", "format_page", "markdown_table"]

WIDTH = 100
UNFILLED = ("#", "|", "![")  # headings, tables and pictures


def format_page(text: str) -> str:
    """Fill paragraphs and lists to the width of a page, once the numbers are in them."""
    blocks = [
        block if block.startswith(UNFILLED) else _fill_block(block)
        for block in text.strip().split("\n\n")
    ]
    return "\n\n".join(blocks) + "\n"


def bullet_list(items: Sequence[str]) -> str:
    """Return items as a list."""
    return "\n".join(f"- {item}" for item in items)


def markdown_table(
    heading: str | Sequence[str], rows: Iterable[Iterable[object]], text_columns: int = 1
) -> str:
    """Return a table: the first columns are text, all others numbers.

    The heading is a sequence of names, or one string with bars between them.
    """
    names = heading.split(" | ") if isinstance(heading, str) else heading
    rule = ["---"] * text_columns + ["---:"] * (len(names) - text_columns)
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in (names, rule, *rows))


def _fill_block(block: str) -> str:
    if not block.startswith("- "):
        return _fill(block, "")
    return "\n".join(f"- {_fill(item, '  ')}" for item in block[2:].split("\n- "))


def _fill(text: str, indent: str) -> str:
    """Fill a paragraph; words with hyphens and addresses are not broken."""
    filled = textwrap.fill(
        " ".join(text.split()), WIDTH - len(indent), break_long_words=False, break_on_hyphens=False
    )
    return filled.replace("\n", f"\n{indent}")
