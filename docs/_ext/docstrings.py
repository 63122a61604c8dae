"""Docstrings: sections as numpydoc has them, and names in single backticks.

Those names are links where the reference has them, and code elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.domains.python import PyXRefRole
from sphinx.environment import BuildEnvironment
from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import NumpyDocstring

# Types stand there in words ("array_like of int, shape (n,)"), which no link fits.
STYLE = Config(
    napoleon_use_param=False,
    napoleon_use_rtype=False,
    napoleon_custom_sections=[("Attributes", "params_style")],
)

BARS = re.compile(r"(`+.*?`+)|\|")  # code, which stays, or a bar


def rewrite(
    app: Sphinx, what: str, name: str, thing: object, options: Any, lines: list[str]
) -> None:
    """Turn sections into fields, of every object alike.

    The extension napoleon itself takes what comes before a colon in a property for its type.
    """
    lines[:] = NumpyDocstring(list(with_bars(lines)), STYLE).lines()


def with_bars(lines: list[str]) -> Iterator[str]:
    """Keep the bars of |x| as they stand: in reStructuredText they would ask for a substitution."""
    example = False
    for line in lines:
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        yield line if example else BARS.sub(lambda found: found[1] or r"\|", line)


def dash(app: Sphinx, doctree: nodes.document) -> None:
    """Set the dashes between names and what is said of them, which come as two hyphens."""
    for text in list(doctree.findall(nodes.Text)):
        if " -- " in text and not isinstance(text.parent, (nodes.literal, nodes.FixedTextElement)):
            text.parent.replace(text, nodes.Text(text.replace(" -- ", " \N{EN DASH} ")))


def skip(
    app: Sphinx, what: str, name: str, thing: object, skipped: bool, options: Any
) -> bool | None:
    """Leave out the fields of named tuples: "Attributes" says what they are."""
    return True if type(thing).__name__ == "_tuplegetter" else None


class Maybe(PyXRefRole):
    """A reference to a Python object that need not be there."""

    def process_link(
        self, env: BuildEnvironment, refnode: nodes.Element, explicit: bool, title: str, target: str
    ) -> tuple[str, str]:
        """Mark the reference, and let nothing but the exact name do."""
        _, target = super().process_link(env, refnode, explicit, title, target)
        refnode["maybe"], refnode["reftype"] = True, "obj"
        refnode.attributes.pop("refspecific", None)
        return title, target  # as it was written, with the dot of `.npy`


def plain(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.TextElement | None:
    """Leave the content of a marked reference that leads nowhere, without a warning."""
    return content if node.get("maybe") else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the role `py:maybe`, and look at every docstring."""
    app.add_role_to_domain("py", "maybe", Maybe())
    app.connect("missing-reference", plain)
    app.connect("autodoc-process-docstring", rewrite)
    app.connect("autodoc-skip-member", skip)
    app.connect("doctree-read", dash)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
