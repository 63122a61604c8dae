"""The directive `public-names`: tables of the public names of all modules, with summaries."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

# With the purpose of each; adapters are not imported where their libraries are missing.
MODULES = {
    "truerank": "counting, ranks, reports, chance",
    "truerank.link_prediction": "link prediction",
    "truerank.alignment": "entity alignment",
    "truerank.retrieval": "several right answers per query",
    "truerank.metrics": "the table of metrics",
    "truerank.reporting": "what reports are made of",
    "truerank.inference": "intervals and tests",
    "truerank.compat": "what other toolkits do",
    "truerank.plot": "pictures",
}


class PublicNames(SphinxDirective):
    """Document all public names, each on a line of its own."""

    def run(self) -> list[nodes.Node]:
        """Make the tables."""
        return self.parse_text_to_nodes("\n".join(table_lines()))


def table_lines() -> Iterator[str]:
    """Yield the tables in reStructuredText."""
    listed: set[int] = set()  # some names of the package are those of a module, too
    for name, purpose in MODULES.items():
        module = import_module(name)
        yield from ("", f"``{name}``: {purpose}", "", ".. list-table::", "   :widths: 30 70", "")
        for public in sorted(module.__all__, key=str.lower):
            thing = getattr(module, public)
            if public.startswith("_") or inspect.ismodule(thing) or id(thing) in listed:
                continue
            listed.add(id(thing))
            link = f":py:obj:`{public} <{name}.{public}>`"
            yield f"   * - {link if callable(thing) else f'``{public}``'}"
            yield f"     - {summary_of(thing)}"


def summary_of(thing: object) -> str:
    """Return the first line of a docstring; of a value without one, its type."""
    if not callable(thing):
        return f"A ``{type(thing).__name__}``."
    text = inspect.getdoc(thing) or ""
    line = re.sub("`+", "``", text.partition("\n")[0])
    return line.replace("*", r"\*").replace("|", r"\|")


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("public-names", PublicNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
