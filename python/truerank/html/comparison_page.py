"""The page of a comparison of models: each pair, the metrics of every model, and plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..reporting.axes import FEW_METRICS, unique_keys
from ..reporting.tables import table as table_of
from ..tables import Table
from . import descriptions, pictures
from .documents import (
    Section,
    definition_list,
    document,
    download,
    paragraph,
    preformatted,
    side_by_side,
    table,
)

if TYPE_CHECKING:
    from ..reporting.reports import Report


class ComparisonContent(NamedTuple):
    """The content of the page of a comparison.

    Attributes
    ----------
    title : str
    metrics : sequence of str
        The keys that were compared.
    models : mapping of str to Report
        The reports, which have ranks.
    lines : sequence of str
        How the models were compared, as lines of text.
    differences : Table
    json : str
        The comparison as JSON.
    options : dict
        Arguments of `truerank.plot.comparison`: level, by, allow_unlike.
    command : str
        The command that was typed; empty if there was none.
    """

    title: str
    metrics: Sequence[str]
    models: Mapping[str, Report]
    lines: Sequence[str]
    differences: Table
    json: str
    options: dict[str, Any]
    command: str = ""


def comparison_page(content: ComparisonContent) -> str:
    """Write the page of a comparison; the same content gives the same text.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    differences = side_by_side(table(content.differences))
    sections = [
        Section("Differences", "\n".join([*map(paragraph, content.lines), differences])),
        Section("Metrics of each model", _metrics(content)),
        Section("Plots", _plots(content)),
        Section("What was evaluated", _evaluated(content)),
        Section("Reproduce", _reproduce(content)),
    ]
    return document(content.title, "", sections)


def _metrics(content: ComparisonContent) -> str:
    keys = unique_keys([*content.metrics, *FEW_METRICS])
    made = table_of(content.models, keys, allow_unlike=content.options["allow_unlike"])
    return "\n".join([table(made.table()), *map(paragraph, made.notes)])


def _plots(content: ComparisonContent) -> str:
    from ..plot import comparison, hits_curve, rank_distribution

    plots = {
        f"values{i or ''}": (
            partial(comparison, content.models, metric, **content.options),
            f"{metric} of each model; over the same tasks, the differences say which is better, "
            "even where intervals overlap",
        )
        for i, metric in enumerate(content.metrics)
    }
    plots |= {
        "hits": (partial(hits_curve, content.models), "The share of tasks whose rank is at most k"),
        "ranks": (partial(rank_distribution, content.models), "How many tasks have which rank"),
    }
    figures = (pictures.picture(draw, name, caption) for name, (draw, caption) in plots.items())
    return side_by_side("".join(figures))


def _evaluated(content: ComparisonContent) -> str:
    """Describe how the ranks were counted, only once if it is the same for all models."""
    bodies = {
        name: definition_list(descriptions.describe_evaluation(report))
        for name, report in content.models.items()
    }
    if len(set(bodies.values())) == 1:
        return next(iter(bodies.values()))
    return "\n".join(f"{paragraph(name)}\n{body}" for name, body in bodies.items())


def _reproduce(content: ComparisonContent) -> str:
    parts = []
    if content.command:
        parts = [paragraph("This page was made by:"), preformatted(content.command)]
    parts.append(download(content.json, "comparison.json", "The comparison as JSON"))
    return "\n".join(parts)
