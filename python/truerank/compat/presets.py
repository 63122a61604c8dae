"""Presets: one row for each toolkit, with the places in its code that define it.

`presets.toml` has the rows, which are read when the first of them is asked for.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ..inputs.errors import InputTypeError, UnknownKeyError
from ..inputs.naming import public
from ..tables.forms import markdown_cell
from .conventions import Convention, steps_to


@public("truerank.compat")
class Metric(NamedTuple):
    """A number that a toolkit shows.

    Attributes
    ----------
    name : str
        Its name in the toolkit. "{filtered}" becomes the suffix of the preset if there is a filter.
    key : str
        Its key in a report of truerank: "mr", "mrr", "hits@k" or "amri"; also "mrr@k" and "ndcg@k",
        which are those of one true candidate.
    form : str
        How it is printed: a format of `format`, or "repr" for all digits.
    scale : float
        The factor of the printed number: 100 for percentages.
    """

    name: str
    key: str
    form: str = "repr"
    scale: float = 1.0


@public("truerank.compat")
@dataclass(frozen=True, kw_only=True)
class Preset:
    """The evaluation of one toolkit.

    Attributes
    ----------
    name, toolkit, version : str
        Its name here, the name of the toolkit, and the version or commit that was read.
    source : tuple of str
        Repository, file and functions that define the convention.
    convention : Convention
        How the true candidate is ranked.
    metrics : tuple of Metric
        The numbers that the toolkit shows.
    splits : str
        The splits whose true answers it filters.
    candidates : str
        The candidates that it ranks.
    suffix : str
        The replacement of "{filtered}" in the name of a metric if there is a filter.
    averaged : bool
        Whether a number is the mean of the numbers of both sides.
    notes : tuple of str
        Further facts that help to read its numbers.

    Examples
    --------
    >>> from truerank import compat
    >>> compat.PRESETS["openke"].convention.rank
    'optimistic'
    """

    name: str
    toolkit: str
    version: str
    source: tuple[str, ...]
    convention: Convention
    metrics: tuple[Metric, ...]
    splits: str
    candidates: str
    suffix: str = ""
    averaged: bool = False
    notes: tuple[str, ...] = ()

    def departures(self) -> dict[str, str]:
        """Describe the differences from the exact definition in words, by step.

        Examples
        --------
        >>> from truerank import compat
        >>> compat.PRESETS["openke"].departures()["rank"]
        'the best place of the tie'
        """
        return {step: changed.says(step) for step, changed in steps_to(self.convention)}


def read_rows(kind: str) -> dict[str, dict[str, Any]]:
    """Read the rows of `presets.toml` of a kind, "toolkits" or "lists", by their names."""
    text = (Path(__file__).parent / "presets.toml").read_text(encoding="utf-8")
    return {
        name: {field: tuple(v) if isinstance(v, list) else v for field, v in row.items()}
        for name, row in tomllib.loads(text)[kind].items()
    }


def _read_presets() -> Mapping[str, Preset]:
    found = {}
    for name, row in read_rows("toolkits").items():
        convention = Convention(**row.pop("convention", {}))
        metrics = tuple(Metric(*metric) for metric in row.pop("metrics"))
        found[name] = Preset(name=name, convention=convention, metrics=metrics, **row)
    return MappingProxyType(found)


PRESETS = _read_presets()


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
        raise UnknownKeyError("preset", "", f"one of {', '.join(PRESETS)}", repr(name))
    return PRESETS[name]


@public("truerank.compat")
def describe() -> str:
    """Write the table of presets as Markdown, with a row for each.

    Examples
    --------
    >>> print(describe().splitlines()[0])
    | preset | toolkit | place in a tie | what else differs | splits filtered | candidates |
    """
    heading = "preset", "toolkit", "place in a tie", "what else differs"
    rows = [[*heading, "splits filtered", "candidates"], [":---"] * (len(heading) + 2)]
    for row in PRESETS.values():
        others = "; ".join(says for step, says in row.departures().items() if step != "rank")
        cells = [row.toolkit, row.convention.says("rank"), others, row.splits, row.candidates]
        rows.append([f"`{row.name}`", *map(markdown_cell, cells)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows) + "\n"
