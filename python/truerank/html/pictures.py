"""Plots as SVG in a page: the same report gives the same text."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from ..inputs.naming import import_extra
from ..tables.forms import html_text
from .documents import replace_illegal

USER, EXTRA = "an HTML page", "plot"
# Text stays text, which is small and can be read aloud and searched.
SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "truerank"}

REFERENCE = re.compile(r"url\(#([^)]+)\)")

Draw = Callable[[], Any]


def check_library() -> None:
    """Check that matplotlib is installed, before anything is computed.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    import_extra("matplotlib", USER, EXTRA)


def picture(draw: Draw, name: str, caption: str) -> str:
    """Draw a plot and return it as an HTML figure with a caption of plain text.

    Parameters
    ----------
    draw : callable
        Returns axes of matplotlib.
    name : str
        A word that is unique among the pictures of the page.
    caption : str
    """
    style = import_extra("matplotlib.style", USER, EXTRA)
    text = io.StringIO()
    with style.context(["default", SETTINGS]), warnings.catch_warnings():
        # the browser has fonts for glyphs that matplotlib misses
        warnings.filterwarnings("ignore", r"Glyph .* missing from", UserWarning)
        figure = draw().figure
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    svg = inline(text.getvalue(), name, caption)
    return f"<figure>\n{svg}\n<figcaption>{html_text(caption)}</figcaption>\n</figure>\n"


def inline(text: str, name: str, label: str) -> str:
    """Turn an SVG file into an element of HTML.

    The header of the file, comments, metadata, and ids that nothing refers to are removed. The
    other ids get the prefix `name`, since ids must be unique in a page.

    Examples
    --------
    >>> inline('<svg xmlns="http://www.w3.org/2000/svg" width="9pt" viewBox="0 0 9 9">'
    ...        '<g id="a"><path id="m1" d="M 0 0"/></g><use href="#m1"/></svg>', "x", "a < b")
    '<svg viewBox="0 0 9 9" role="img" aria-label="a &lt; b"><g><path id="x-m1" d="M 0 0" /></g><use href="#x-m1" /></svg>'
    """  # noqa: E501
    root = ElementTree.fromstring(replace_illegal(text))
    for parent in list(root.iter()):
        for child in list(parent):
            if _local_name(child.tag) in ("metadata", "style"):
                parent.remove(child)
    elements = list(root.iter())
    for element in elements:
        element.tag = _local_name(element.tag)
        element.attrib = {_local_name(key): value for key, value in element.attrib.items()}
    names = {found for element in elements for found in _references(element)}
    for element in elements:
        element.attrib = {
            key: f"{name}-{value}" if key == "id" else _rename_references(key, value, name)
            for key, value in element.attrib.items()
            if key != "id" or value in names
        }
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": label}
    return ElementTree.tostring(root, encoding="unicode").strip()


def _references(element: ElementTree.Element) -> list[str]:
    """The ids that an element refers to."""
    found = [name for value in element.attrib.values() for name in REFERENCE.findall(value)]
    return [*found, element.attrib.get("href", "").removeprefix("#")]


def _rename_references(key: str, value: str, name: str) -> str:
    if key == "href":
        return value.replace("#", f"#{name}-", 1)
    return REFERENCE.sub(rf"url(#{name}-\1)", value)


def _local_name(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition("}")[2]
