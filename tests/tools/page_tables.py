"""Writes the tables of the documentation that are made from the package, into the pages themselves.

`python tests/tools/page_tables.py` writes them anew; a test holds them equal.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from truerank.metrics import METRICS

DOCS = Path(__file__).parents[2] / "docs"
BETTER = {True: "more", False: "less", None: ""}
MODULES = {
    "truerank": "counting, ranks, reports, chance",
    "truerank.link_prediction": "link prediction",
    "truerank.alignment": "entity alignment",
    "truerank.retrieval": "several right answers for a query",
    "truerank.metrics": "the table of metrics",
    "truerank.reporting": "what reports are made of",
    "truerank.inference": "intervals and tests",
    "truerank.compat": "what other toolkits do",
    "truerank.plot": "pictures",
    "truerank.page": "a page of results",
}


def metric_rows() -> Iterator[str]:
    """Yield a row for each metric."""
    yield "| key | name | better | adjusted for chance | source |"
    yield "| --- | --- | --- | --- | --- |"
    for row in METRICS.values():
        adjusted = "yes" if row.chance else "no"
        source = row.source if row.increasing is not None else ""
        key = f"`{row.name}{row.parameter}`"
        yield f"| {key} | {row.description} | {BETTER[row.increasing]} | {adjusted} | {source} |"


def public_names() -> Iterator[str]:
    """Yield a table for each module, whose names link to the page that documents them."""
    pages = {page.name: page.read_text("utf-8") for page in sorted(DOCS.glob("reference/*.md"))}
    seen: set[int] = set()  # some names of the package are those of a module, too
    for module_name, purpose in MODULES.items():
        module = import_module(module_name)
        yield from (f"`{module_name}`: {purpose}", "", "| name | |", "| --- | --- |")
        for name in sorted(module.__all__, key=str.lower):
            thing = getattr(module, name)
            if name.startswith("_") or inspect.ismodule(thing) or id(thing) in seen:
                continue
            seen.add(id(thing))
            directives = (
                f"{module_name}.{name}",
                f"{module_name}\n +:members:",
                f"truerank.{name}",
            )
            found = (
                page
                for directive in directives
                for page, text in pages.items()
                if re.search(rf":: {directive}$", text, re.MULTILINE)
            )
            yield f"| [`{name}`]({next(found)}) | {summary_of(thing)} |"
        yield ""


def summary_of(thing: object) -> str:
    """Return the first line of a docstring; of a value without one, its type."""
    if not callable(thing):
        return f"A `{type(thing).__name__}`."
    summary = (inspect.getdoc(thing) or "").partition("\n")[0]
    return summary.replace("``", "`").replace("|", r"\|")


TABLES = {"metrics.md": metric_rows, "reference/names.md": public_names}


def renewed(page: Path) -> str:
    """Return the text of a page, with its table made anew between two comments."""
    lines = "\n".join(TABLES[page.relative_to(DOCS).as_posix()]()).strip("\n")
    comment = "<!-- made by tests/tools/page_tables.py -->"
    before, _, after = page.read_text("utf-8").split(f"{comment}\n")
    return f"{before}{comment}\n\n{lines}\n\n{comment}\n{after}"


if __name__ == "__main__":
    for name in TABLES:
        page = DOCS / name
        page.write_text(renewed(page), "utf-8")
