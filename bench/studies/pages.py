"""What studies share: arguments, pages and tables of Markdown, rows of figures."""

from __future__ import annotations

import argparse
import csv
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, get_type_hints

__all__ = ["arguments", "bullet_list", "format_page", "markdown_table", "read_rows", "write_rows"]

WIDTH = 100
UNFILLED = ("#", "|", "![")  # headings, tables and pictures


def arguments(text: str | None, *paths: str, **options: Any) -> dict[str, Any]:
    """Read the command line: paths, then options, whose defaults say of what type they are.

    `text` is that of the script, whose first line is printed as help. Of an option whose default is
    a list, several are taken; True is given by the name of an option alone.
    """
    parser = argparse.ArgumentParser(description=(text or "").partition("\n")[0])
    for name in paths:
        parser.add_argument(name, type=Path)
    for name, default in options.items():
        kind: dict[str, Any] = {"type": type(default)}
        if default is False:
            kind = {"action": "store_true"}
        elif isinstance(default, list):
            kind = {"type": type(default[0]), "nargs": "+"}
        parser.add_argument(f"--{name.replace('_', '-')}", default=default, **kind)
    return vars(parser.parse_args())


def format_page(text: str) -> str:
    """Fill paragraphs and lists to the width of a page, once the numbers are in them."""
    blocks = text.strip().split("\n\n")
    for i, block in enumerate(blocks):
        if not block.startswith(UNFILLED):
            blocks[i] = _fill_block(block)
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
    names = heading
    if isinstance(names, str):
        names = names.split(" | ")
    lines = [names, ["---"] * text_columns + ["---:"] * (len(names) - text_columns)]
    lines += rows
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def read_rows(path: Path, kind: Any) -> list[Any]:
    """Return named tuples of a kind, of str, int and float, that `write_rows` wrote, if any."""
    if not path.exists():
        return []
    makers = get_type_hints(kind).values()
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))[1:]
    return [kind(*(make(x) for make, x in zip(makers, row, strict=True))) for row in rows]


def write_rows(path: Path, rows: Sequence[Any]) -> None:
    """Write named tuples, separated by tabs; floats have four digits."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(rows[0]._fields)
        writer.writerows(map(with_four_digits, row) for row in rows)


def with_four_digits(value: Any) -> Any:
    """Return a float as text of four digits, and anything else as it is."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return value


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
