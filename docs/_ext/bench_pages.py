"""Prepare the pages of bench/, which docs/bench links to."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx


def add_title(app: Sphinx, docname: str, source: list[str]) -> None:
    """Add the name of the file as the title of a page without one, such as a table of results."""
    if docname.startswith("bench/") and not source[0].startswith("#"):
        title = PurePosixPath(docname).name.replace("-", " ").replace("_", " ").capitalize()
        source[0] = f"# {title}\n\n{source[0]}"


def use_link(app: Sphinx, doctree: nodes.document) -> None:
    """Make references to pages relative to docs/bench: myst resolves the link."""
    outside = f"{app.srcdir.parent.resolve()}/"
    for node in doctree.findall(pending_xref):
        if node.get("refdomain") == "doc":
            node["reftarget"] = node["reftarget"].removeprefix(outside)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register both functions for every page."""
    app.connect("source-read", add_title)
    app.connect("doctree-read", use_link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
