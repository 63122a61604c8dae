"""The pages of bench/, which lies beside docs/: docs/bench is a link to it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx


def entitle(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the name of the file above a page without a heading, as benchmarks write tables."""
    if docname.startswith("bench/") and not source[0].startswith("#"):
        title = PurePosixPath(docname).name.replace("-", " ").replace("_", " ").capitalize()
        source[0] = f"# {title}\n\n{source[0]}"


def relink(app: Sphinx, doctree: nodes.document) -> None:
    """Name pages by their way through the link: myst names them by where it leads."""
    outside = f"{app.srcdir.parent.resolve()}/"
    for node in doctree.findall(pending_xref):
        if node.get("refdomain") == "doc":
            node["reftarget"] = node["reftarget"].removeprefix(outside)


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at every page."""
    app.connect("source-read", entitle)
    app.connect("doctree-read", relink)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
