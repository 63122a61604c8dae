"""Text of the pages that the studies of entity alignment write."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 100
KEPT = ("#", "|", "![")  # headings, tables and pictures


def page(text: str) -> str:
    """Break the lines of paragraphs and of lists anew, once numbers are in them."""
    blocks = [
        block if block.startswith(KEPT) else _filled(block) for block in text.strip().split("\n\n")
    ]
    return "\n\n".join(blocks) + "\n"


def points(said: Sequence[str]) -> str:
    """A list."""
    return "\n".join(f"- {text}" for text in said)


def pipes(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is text, and all others are numbers."""
    lines = [heading, ["---", *["---:"] * (len(heading) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _filled(block: str) -> str:
    if not block.startswith("- "):
        return _lines(block, "")
    return "\n".join(f"- {_lines(item, '  ')}" for item in block[2:].split("\n- "))


def _lines(text: str, indent: str) -> str:
    """Fill a paragraph; words with hyphens and addresses stay whole."""
    filled = textwrap.fill(
        " ".join(text.split()),
        WIDTH - len(indent),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return filled.replace("\n", f"\n{indent}")
