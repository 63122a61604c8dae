"""The results of comparing models: one comparison, or those of all pairs of several models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, overload

from ...inputs.naming import printable, public
from ...metrics.keys import parse, table_name
from ...tables.table_writer import Records, TextGrid, TextTables, format_count, format_p
from ...tables.tabular import Tabular
from ..samples.cautions import gather
from ..samples.units import describe_units


@public("truerank.inference")
class Comparison(NamedTuple):
    """The difference of a metric between two models, a minus b.

    Attributes
    ----------
    metric : str
        The key.
    value_a, value_b, difference : float
    low, high : float
        The interval of the difference.
    level : float
    p_value : float
        The two-sided p-value.
    p_floor : float
        The smallest p-value that so many resamples can give; 0 where p is exact. A p-value that has
        reached it is written "p <= ...".
    wins, ties, losses : int
        The numbers of tasks in which a is better than b, as good, and worse: by f(r) (1 / r for
        mrr), or by the rank for metrics that are not a mean over tasks (medians, std, variance,
        mad, power means).
    method : str
        How the p-value was computed.
    basis : str
        How the interval was computed: "swaps" (of the permutation test, inverted), "studentised
        bootstrap" or "percentile bootstrap"; "" where there is none.
    units : int
        The number of tasks or groups that were swapped or resampled.
    by : str
        The name of a unit: "task", "query", "unit", "relation", another label, or "group".
    largest : int
        The number of tasks in the largest unit.
    resamples, seed : int
    pairing : str
        How the tasks were matched: "query and target ids", "query ids", "target ids" or
        "position".
    notes : tuple of str
        What limits the comparison.
    name_a, name_b : str
    runs_a, runs_b : int
        The number of runs of each model; values are the means over them.
    p_holm : float or None
        The p-value corrected for several comparisons by Holm's step-down rule.
    """

    metric: str
    value_a: float
    value_b: float
    difference: float
    low: float
    high: float
    level: float
    p_value: float
    p_floor: float
    wins: int
    ties: int
    losses: int
    method: str
    basis: str
    units: int
    by: str
    largest: int
    resamples: int
    seed: int
    pairing: str
    notes: tuple[str, ...] = ()
    name_a: str = "a"
    name_b: str = "b"
    runs_a: int = 1
    runs_b: int = 1
    p_holm: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name.

        Examples
        --------
        >>> from truerank import Ranks, compare
        >>> ranks = Ranks([0, 3], [1, 1], 10)
        >>> compare(ranks, ranks).to_dict()["difference"]
        0.0
        """
        return {**self._asdict(), "notes": list(self.notes)}

    def __str__(self) -> str:
        shown = f"{self.difference:+.6g} [{self.low:+.6g}, {self.high:+.6g}]"
        p = f"p {format_p(self.p_value, self.p_floor)}"
        if self.p_holm is not None:
            p += f" (Holm {self.format_holm()})"
        how = f"{self.method}, {self.describe_units()}"
        lines = [
            f"{self.metric}: {self.name_a} {self.value_a:.6g}, {self.name_b} {self.value_b:.6g}; "
            f"difference {shown} ({100 * self.level:g} %), {p} ({how}); "
            f"{format_count(self.wins, 'win')}, "
            f"{format_count(self.ties, 'tie')}, {format_count(self.losses, 'loss', 'losses')}",
            *self.notes,
        ]
        return "\n".join(map(printable, lines))

    def describe_units(self) -> str:
        """Write the runs, where there are several, the number of units, and the largest unit."""
        runs = f"{self.runs_a} runs of {self.name_a} and {self.runs_b} of {self.name_b}, "
        several = runs if self.runs_a > 1 or self.runs_b > 1 else ""
        return several + describe_units(self.units, self.by, self.largest)

    def format_holm(self) -> str:
        """Write the corrected p-value, "<=" before it where the p-value has reached its floor."""
        corrected = math.nan if self.p_holm is None else self.p_holm
        return format_p(corrected, corrected if self.p_value <= self.p_floor else 0.0)


@public("truerank.inference")
class Comparisons(Sequence[Comparison], Tabular):
    """Comparisons of pairs of models, or by several metrics; Holm's rule corrects the p-values.

    `print` shows the table; `to_markdown`, `to_latex`, `to_csv` and `to_pandas` give it in other
    formats.

    Examples
    --------
    >>> from truerank import Ranks, compare
    >>> a, b = Ranks([0, 1, 0], [1, 1, 1], 10), Ranks([3, 1, 2], [1, 1, 1], 10)
    >>> [pair.p_value for pair in compare({"a": a, "b": b})]
    [0.5]
    """

    def __init__(self, pairs: Sequence[Comparison]) -> None:
        self._pairs = tuple(pairs)

    @overload
    def __getitem__(self, index: int) -> Comparison: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Comparison]: ...

    def __getitem__(self, index: int | slice) -> Comparison | Sequence[Comparison]:
        return self._pairs[index]

    def __len__(self) -> int:
        return len(self._pairs)

    def __repr__(self) -> str:
        return f"Comparisons({len(self)} pairs of {', '.join(self.metrics)})"

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return the comparisons by names such as "a against b", or "mrr: a against b" of several.

        The metric is named where there are several.
        """
        several = len(self.metrics) > 1
        return {
            f"{pair.metric}: " * several + f"{pair.name_a} against {pair.name_b}": pair.to_dict()
            for pair in self._pairs
        }

    @property
    def metrics(self) -> list[str]:
        """The keys of the metrics, each once.

        Examples
        --------
        >>> from truerank import Ranks, compare
        >>> a, b = Ranks([0, 1, 0], [1, 1, 1], 10), Ranks([3, 1, 2], [1, 1, 1], 10)
        >>> compare(a, b, metric=["mrr", "mr"]).metrics
        ['mrr', 'mr']
        """
        return list(dict.fromkeys(pair.metric for pair in self._pairs))

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """The notes of all pairs, each once."""
        return tuple(format_notes(self._pairs))

    def records(self) -> Records:
        """Return a row for each pair, with all fields but the notes."""
        rows = [pair._asdict() for pair in self._pairs]
        columns = [name for name in Comparison._fields if name != "notes"]
        return Records(columns, [[row[name] for name in columns] for row in rows])

    def text_tables(self, digits: int = 4) -> TextTables:
        """Return a table with a row for each pair, how the pairs were compared, and the notes."""
        first, several = self._pairs[0], len(self.metrics) > 1
        bounds = f"{100 * first.level:g} % interval"
        title = parse(first.metric).title
        header = ["metric", "a", "b", "of a"] if several else ["a", "b", f"{title} of a"]
        header += ["of b", "difference", bounds]
        header += ["p", "p (Holm)", "wins / ties / losses"]
        rows = [
            [
                *([table_name(pair.metric)] * several),
                *(pair.name_a, pair.name_b),
                *(f"{x:.{digits}g}" for x in (pair.value_a, pair.value_b, pair.difference)),
                f"{pair.low:.{digits}g} to {pair.high:.{digits}g}",
                *(format_p(pair.p_value, pair.p_floor), pair.format_holm()),
                f"{pair.wins:,} / {pair.ties:,} / {pair.losses:,}",
            ]
            for pair in self._pairs
        ]
        resamples = format_count(first.resamples, "resample")
        how = f"{first.method}, {first.describe_units()}; {resamples}."
        return TextTables(
            [TextGrid(header, rows, names=2 + several)], after=[how], notes=self.notes
        )


def format_notes(pairs: Sequence[Comparison]) -> list[str]:
    """List each note once; a note on some of the pairs names them.

    Examples
    --------
    >>> from truerank import Ranks, compare
    >>> pairs = compare({"a": Ranks([0] * 30, [1] * 30, 10), "b": Ranks([3] * 30, [1] * 30, 10)})
    >>> format_notes(pairs)[0]
    'paired by position only'
    """
    several = len({pair.metric for pair in pairs}) > 1
    names = [f"{pair.metric}, " * several + f"{pair.name_a} - {pair.name_b}" for pair in pairs]
    return gather(dict(zip(names, (pair.notes for pair in pairs), strict=True)))
