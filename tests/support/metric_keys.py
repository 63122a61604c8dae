"""Keys of the metrics in the table, so that the tests of all metrics also run for a new row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from truerank.metrics import METRICS
from truerank.metrics.metric_table import MetricRow


def keys_where(condition: Callable[[MetricRow], object]) -> tuple[str, ...]:
    """The keys of the metrics that meet a condition: with every parameter of their examples."""
    return tuple(
        name + parameter
        for name, metric in METRICS.items()
        if condition(metric)
        for parameter in metric.examples
    )


@st.composite
def keys_of(draw: st.DrawFn, names: Sequence[str]) -> str:
    """A key of one of some metrics, with a parameter of its examples, or with any other."""
    row = METRICS[draw(st.sampled_from(names))]
    cutoffs = (st.integers(1, 20) | st.integers(1, 200) | st.integers(1, 6000)).map("@{}".format)
    drawn: dict[str, st.SearchStrategy[str]] = {
        "": st.nothing(),
        "@k": cutoffs,
        "[@k]": cutoffs,
        ":p": st.integers(-32, 32).map(lambda eighths: f":{eighths / 8}"),
        "@k:n": st.builds("@{}:{}".format, st.integers(1, 20), st.integers(1, 60)),
    }
    return row.name + draw(st.sampled_from(row.examples) | drawn[row.parameter])
