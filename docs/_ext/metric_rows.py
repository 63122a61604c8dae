"""The directive `metric-rows`: the table of metrics, from the rows that the package computes by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from truerank.metrics import METRICS

BETTER = {True: "more", False: "less", None: ""}


class MetricRows(SphinxDirective):
    """Write a row for each metric."""

    def run(self) -> list[nodes.Node]:
        """Make the table."""
        return self.parse_text_to_nodes("\n".join(table_lines()))


def table_lines() -> Iterator[str]:
    """Yield the table in Markdown."""
    yield "| key | name | better | adjusted for chance | source |"
    yield "| --- | --- | --- | --- | --- |"
    for row in METRICS.values():
        adjusted = "yes" if row.chance else "no"
        source = row.source if row.increasing is not None else ""
        key = f"`{row.name}{row.parameter}`"
        yield f"| {key} | {row.description} | {BETTER[row.increasing]} | {adjusted} | {source} |"


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("metric-rows", MetricRows)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
