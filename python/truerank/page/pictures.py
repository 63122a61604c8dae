"""Plots as SVG within a page, in the page's colours."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any

from ..naming import import_extra
from ..plot.drawing import COLOURS
from ..tables.forms import html_text

# The same settings for everybody give the same bytes for the same report. Words stay words: a
# reader can select them. Figures fit half a page, and their words can be read on a phone, too.
SETTINGS: dict[str, Any] = {"svg.fonttype": "none", "font.size": 11, "figure.figsize": (5, 3.6)}
# The style sheet has what changes between light and dark: the ink and the colours of the data.
THEME = {"#000000": "currentColor"}
THEME |= {colour: f"var(--data-{i}, {colour})" for i, colour in enumerate(COLOURS)}

_TAG = re.compile("<[^>]*>")  # Text between tags has no "<" of its own.
_COLOUR = re.compile("#[0-9a-f]{6}")
_LEFT_OUT = re.compile(r"(?s)<(metadata|style)\b.*?</\1>|<!--.*?-->")


def picture(name: str, caption: str, draw: Callable[[], Any]) -> str:
    """Draw a plot and return a figure of HTML.

    Parameters
    ----------
    name : str
        A word that no other picture of the page has, from which ids are made.
    caption : str
    draw : callable
        Called without arguments; returns matplotlib's Axes, of a figure of their own.
    """
    style = import_extra("matplotlib.style", "an HTML page", "plot")
    settings = SETTINGS | {"svg.hashsalt": name}
    text = io.StringIO()
    with style.context(["default", settings]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph .* missing from", UserWarning)
        figure = draw().figure
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    svg = text.getvalue()
    svg = _TAG.sub(_for_page, _LEFT_OUT.sub("", svg[svg.index("<svg") :]))
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{html_text(caption)}"', 1).strip()
    return f"<figure>\n<figcaption>{html_text(caption)}</figcaption>\n{svg}\n</figure>\n"


def _for_page(tag: re.Match[str]) -> str:
    """Return a tag without the id of a group, which other pictures have too, and in colours."""
    bare = re.sub('^<g id="[^"]*"', "<g", tag[0])
    return _COLOUR.sub(lambda colour: THEME.get(colour[0], colour[0]), bare)
