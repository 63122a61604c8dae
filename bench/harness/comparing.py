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
        """Time contestants in turn and record their ratios.

        Parameters
        ----------
        case
            Title in the table.
        contestants
            Names and functions to call; pytest-benchmark times the first one.
        pairs
            The ratios to print, or a function that chooses them by the times.
        nbytes
            Bytes that a call reads, or other work in `unit`: one number for all contestants, or
            one for each of some. Those without have no rate.
        rounds
            Runs of each contestant.
        agree
            Whether to assert that all contestants return the same counts.
        show
            Whether to put rows on the table.
        statistics
            The statistics of the runs to print.
        unit
            Unit of the rate, where it is not GB/s.
        **options
            As in `time_in_turn`.
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
