"""Keys of the metrics in the table, so that the tests of all metrics also run for a new row."""

from __future__ import annotations

from collections.abc import Callable

from truerank.metrics import METRICS
from truerank.metrics.metric_table import Metric


def keys_where(condition: Callable[[Metric], object]) -> tuple[str, ...]:
    """The keys of the metrics that meet a condition: with every parameter of their examples."""
    return tuple(
        name + parameter
        for name, metric in METRICS.items()
        if condition(metric)
        for parameter in metric.examples
    )
