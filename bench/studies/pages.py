"""What studies share: arguments, pages and tables of Markdown, rows of figures."""

from __future__ import annotations

import argparse
import csv
import os
import platform
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

WIDTH = 100


def arguments(text: str | None, *paths: str, **options: Any) -> dict[str, Any]:
    """Read the command line: paths, then options, whose defaults say of what type they are.

    `text` is that of the script, whose first line is printed as help. True is given by the name of
    an option alone.
    """
    parser = argparse.ArgumentParser(description=(text or "").partition("\n")[0])
    for name in paths:
        parser.add_argument(name, type=Path)
    for name, default in options.items():
        kind: dict[str, Any] = {"type": type(default)}
        if default is False:
            kind = {"action": "store_true"}
        parser.add_argument(f"--{name.replace('_', '-')}", default=default, **kind)
    return vars(parser.parse_args())


def fill_page(page: Path, output: Path, tables: Sequence[str], facts: str) -> None:
    """Put tables, in their order, and the bold line of facts in place of those of a page.

    The prose is that of the page; the new one, of the same name, goes to a folder.
    """
    blocks = page.read_text(encoding="utf-8").split("\n\n")
    places = [i for i, block in enumerate(blocks) if block.startswith("|")]
    for i, table in zip(places, tables, strict=True):
        blocks[i] = table
    (place,) = (i for i, block in enumerate(blocks) if block.startswith("**"))
    blocks[place] = textwrap.fill(
        f"**{facts}**", WIDTH, break_long_words=False, break_on_hyphens=False
    )
    text = "\n\n".join(blocks)
    (output / page.name).write_text(text.rstrip("\n") + "\n", encoding="utf-8")


def machine() -> str:
    """Return what a page says of the machine that it was measured on."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    name = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "")
    cores = f"{len(os.sched_getaffinity(0))} cores of {name or platform.processor()}"
    return f"Python {platform.python_version()}, numpy {np.__version__}, {cores}"


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
