"""One comparison: time contestants, check that they agree, put their ratios on the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from harness.table import Pair, Results, make_rows
from harness.timing import BenchmarkFixture, Contestants, Times, time_in_turn

__all__ = ["Compare"]


@dataclass(frozen=True)
class Compare:
    """What the fixture `compare` is: a call of it is one comparison of a case."""

    benchmark: BenchmarkFixture
    results: Results
    # This and the next two are the defaults of a call.
    rounds: int
    budget: float
    clock: Callable[[], float]

    def __call__(
        self,
        case: str,
        contestants: Contestants,
        pairs: Sequence[Pair] | Callable[[Mapping[str, Times]], Sequence[Pair]],
        *,
        nbytes: int | Mapping[str, int] = 0,
        rounds: int | None = None,
        agree: bool = True,
        show: bool = True,
        statistics: Sequence[Literal["best", "median"]] = ("best",),
        unit: str = "",
        **options: Any,
    ) -> dict[str, Times]:
        """Time contestants in turn and record their ratios on the table, unless `show` is False.

        `pairs` are the ratios to print, or a function that chooses them by the times. `nbytes` are
        the bytes that a call reads, or other work in `unit`: one number for all contestants, or one
        for each of some; those without have no rate. All must return the same counts, unless
        `agree` is False. Options are those of `time_in_turn`.
        """
        defaults = {"budget": self.budget, "benchmark": self.benchmark, "clock": self.clock}
        times = time_in_turn(contestants, rounds or self.rounds, **(defaults | options))
        if agree:
            assert_same_counts(times)
        if isinstance(nbytes, int):
            nbytes = dict.fromkeys(contestants, nbytes) if nbytes else {}
        chosen = pairs(times) if callable(pairs) else pairs
        if not show:
            return times
        for statistic in statistics:
            title = case
            if len(statistics) > 1:
                title += f", {statistic}"
            rows = make_rows(title, times, chosen, nbytes, statistic, unit)
            self.results.rows += rows
            for row in rows:
                if row.ratio is not None:
                    key = f"{row.contestant} / {row.baseline} ({row.kind}, {statistic})"
                    self.benchmark.extra_info[key] = row.ratio
        return times


def assert_same_counts(times: Mapping[str, Times]) -> None:
    """Assert that all contestants that returned counts have the same `above` and `tied`."""
    counts = {name: counts_of(t.result) for name, t in times.items() if t.result is not None}
    reference = next(iter(counts))
    for name in counts:
        for expected, actual in zip(counts[reference], counts[name], strict=True):
            np.testing.assert_array_equal(expected, actual, err_msg=f"{reference}, {name} differ")


def counts_of(result: Any) -> tuple[Any, Any]:
    """Return `above` and `tied` of Ranks, or of a baseline's tuple."""
    if isinstance(result, tuple):
        return result
    return result.above, result.tied
