"""The page of compared models: each pair, every model's metrics, and plots of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..comparison.table_writer import Grid
from ..reporting.axes import FEW_METRICS, several
from ..reporting.tables import table as table_of
from . import pictures, protocols
from .documents import (
    Section,
    document,
    download,
    facts,
    listing,
    paragraph,
    side_by_side,
    table,
    tables,
)

if TYPE_CHECKING:
    from ..reporting.reports import Report

DIGITS = 4


class Compared(NamedTuple):
    """What a page tells of several models.

    Attributes
    ----------
    title : str
    metric : str
        The key that was compared.
    models : mapping of str to Report
        Their ranks are at hand.
    told : sequence of str
        How they were compared, a line each.
    differences : sequence of Grid
    json : str
        The same for programs.
    options : dict
        Of `truerank.plot.comparison`: level, by, resamples, seed, allow_unlike.
    command : str
        What was typed; empty if nothing was.
    """

    title: str
    metric: str
    models: Mapping[str, Report]
    told: Sequence[str]
    differences: Sequence[Grid]
    json: str
    options: dict[str, Any]
    command: str = ""


def comparison_page(found: Compared) -> str:
    """Give the page of compared models; the same comparison gives the same text.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    sections = [
        Section("Differences", "\n".join([*map(paragraph, found.told), tables(found.differences)])),
        Section("Metrics of each model", _metrics(found)),
        Section("Plots", _plots(found)),
        Section("What was evaluated", _evaluated(found)),
        Section("Reproduce", _reproduce(found)),
    ]
    return document(found.title, "", sections)


def _metrics(found: Compared) -> str:
    keys = several([found.metric, *FEW_METRICS])
    made = table_of(found.models, keys, allow_unlike=found.options["allow_unlike"])
    return "\n".join([*map(table, made.text_tables(DIGITS).grids), *map(paragraph, made.notes)])


def _plots(found: Compared) -> str:
    from ..plot import comparison, hits_curve, rank_distribution

    drawn = {
        "values": (
            partial(comparison, found.models, found.metric, **found.options),
            f"{found.metric} of each model; over the same tasks, the differences say which is "
            "better, even where intervals overlap",
        ),
        "hits": (partial(hits_curve, found.models), "The share of tasks whose rank is at most k"),
        "ranks": (partial(rank_distribution, found.models), "How many tasks have which rank"),
    }
    made = (pictures.picture(draw, name, said) for name, (draw, said) in drawn.items())
    return side_by_side("".join(made))


def _evaluated(found: Compared) -> str:
    """How the ranks of the models were counted: once, where it is the same of all."""
    told = {name: facts(protocols.told(report)) for name, report in found.models.items()}
    if len(set(told.values())) == 1:
        return next(iter(told.values()))
    return "\n".join(f"{paragraph(name)}\n{body}" for name, body in told.items())


def _reproduce(found: Compared) -> str:
    parts = []
    if found.command:
        parts = [paragraph("This page was made by:"), listing(found.command)]
    parts.append(download(found.json, "comparison.json", "The comparison as JSON"))
    return "\n".join(parts)
