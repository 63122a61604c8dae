"""Presets: one row for each toolkit, with the places in its code that define it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ..inputs.errors import InputTypeError
from ..inputs.naming import public
from .alignment_presets import ALIGNMENT_PRESETS
from .graph_presets import GRAPH_PRESETS
from .query_presets import QUERY_PRESETS
from .retrieval_presets import RETRIEVAL_PRESETS
from .sampled_presets import SAMPLED_PRESETS
from .toolkit_rows import Preset

_ROWS = (
    *GRAPH_PRESETS,
    *QUERY_PRESETS,
    *SAMPLED_PRESETS,
    *ALIGNMENT_PRESETS,
    *RETRIEVAL_PRESETS,
)

PRESETS: Mapping[str, Preset] = MappingProxyType({row.name: row for row in _ROWS})


@public("truerank.compat")
def preset(name: str | Preset) -> Preset:
    """Return a row of `PRESETS` by its name; a `Preset` is returned as it is.

    Parameters
    ----------
    name : str or Preset
        A name of `PRESETS`; `describe` lists them all with what they do.

    Raises
    ------
    KeyError
        For an unknown name.
    TypeError
        For anything but a str or a Preset.

    Examples
    --------
    >>> preset("libkge").convention.says("tolerance")
    'scores within 1e-05 + 0.0001 * |true score| tie'
    >>> from dataclasses import replace  # the same toolkit with another setting
    >>> row = preset("libkge")
    >>> old = replace(row, name="old", convention=replace(row.convention, rtol=0.0, atol=0.0))
    >>> preset(old).convention.tolerant
    False
    """
    if isinstance(name, Preset):
        return name
    if not isinstance(name, str):
        raise InputTypeError("preset", expected="a name or a Preset", got=type(name).__name__)
    if name not in PRESETS:
        raise KeyError(f"preset: expected one of {', '.join(PRESETS)}, got {name!r}")
    return PRESETS[name]


@public("truerank.compat")
def describe() -> str:
    """Write the table of presets as Markdown, with a row for each.

    Examples
    --------
    >>> print(describe().splitlines()[0])
    | preset | toolkit | place in a tie | what else differs | splits filtered | candidates |
    """
    from ..tables.forms import markdown_cell

    heading = "preset", "toolkit", "place in a tie", "what else differs"
    rows = [[*heading, "splits filtered", "candidates"], [":---"] * (len(heading) + 2)]
    for row in PRESETS.values():
        others = "; ".join(says for step, says in row.departures().items() if step != "rank")
        cells = [row.toolkit, row.convention.says("rank"), others, row.splits, row.candidates]
        rows.append([f"`{row.name}`", *map(markdown_cell, cells)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows) + "\n"
