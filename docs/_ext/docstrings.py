"""Read docstrings with numpydoc's sections and with names in single backticks.

Such a name becomes a link if the reference has it, otherwise code.
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

# Docstrings give types in words ("array_like of int, shape (n,)"), which cannot be links.
STYLE = Config(
    napoleon_use_param=False,
    napoleon_use_rtype=False,
    napoleon_custom_sections=[("Attributes", "params_style")],
)

MARKUP = re.compile(r"(`+.*?`+)|([|@])")  # code, which is kept, or a bar or an at sign


def rewrite(
    app: Sphinx, what: str, name: str, thing: object, options: Any, lines: list[str]
) -> None:
    """Turn sections into fields, in the same way for every object.

    The extension napoleon itself would take the text before a colon in a property as its type.
    """
    lines[:] = NumpyDocstring(list(escape_markup(lines)), STYLE).lines()


def show_defaults(
    app: Sphinx, what: str, name: str, thing: object, options: Any, signature: Any, returns: Any
) -> tuple[Any, Any] | None:
    """Write defaults as code has them; autodoc's own way fails where a signature was given."""
    if not isinstance(signature, str):
        return None
    named = re.sub(r"<(?:function|class) '?([^'>]+)'?>", r"\1", signature)
    return named.replace("<lambda>", "...").replace("Ellipsis", "..."), returns


def escape_markup(lines: list[str]) -> Iterator[str]:
    """Escape |x|, a substitution in reStructuredText, and hits@10, which it takes for an e-mail."""
    example = False
    for line in lines:
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        yield line if example else MARKUP.sub(lambda found: found[1] or f"\\{found[2]}", line)


def use_dashes(app: Sphinx, doctree: nodes.document) -> None:
    """Replace the two hyphens between names and their descriptions by a dash."""
    for text in list(doctree.findall(nodes.Text)):
        if " -- " in text and not isinstance(text.parent, (nodes.literal, nodes.FixedTextElement)):
            text.parent.replace(text, nodes.Text(text.replace(" -- ", " \N{EN DASH} ")))


def skip(
    app: Sphinx, what: str, name: str, thing: object, skipped: bool, options: Any
) -> bool | None:
    """Skip the fields of named tuples, which the section "Attributes" describes."""
    return True if type(thing).__name__ == "_tuplegetter" else None


class Maybe(PyXRefRole):
    """A reference to a Python object that may be missing from the reference."""

    def process_link(
        self, env: BuildEnvironment, refnode: nodes.Element, explicit: bool, title: str, target: str
    ) -> tuple[str, str]:
        """Mark the reference, and require the exact name."""
        _, target = super().process_link(env, refnode, explicit, title, target)
        refnode["maybe"], refnode["reftype"] = True, "obj"
        refnode.attributes.pop("refspecific", None)
        return title, target  # as written, including the dot of `.npy`


def unlinked(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.TextElement | None:
    """Return the plain content of a marked reference without a target, and do not warn."""
    return content if node.get("maybe") else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the role `py:maybe`, and register the functions above for every docstring."""
    app.add_role_to_domain("py", "maybe", Maybe())
    app.connect("missing-reference", unlinked)
    app.connect("autodoc-process-docstring", rewrite)
    app.connect("autodoc-process-signature", show_defaults)
    app.connect("autodoc-skip-member", skip)
    app.connect("doctree-read", use_dashes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
