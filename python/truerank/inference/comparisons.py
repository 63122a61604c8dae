"""The results of comparing models: one comparison, or those of several pairs or metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, overload

from ..inputs.naming import printable, public
from ..tables import AsTable, Column, Table
from ..tables.cells import format_count
from .intervals import decimals_within
from .units import describe_units

DIFFERENCE, RATIO = "difference", "ratio"
# Fields that are no columns of a printed table.
_FOR_PROGRAMS = "difference", "level", "effect", "method", "units", "by", "pairing"


@public("truerank.inference")
class Comparison(NamedTuple):
    """How far two models are apart by a metric.

    Attributes
    ----------
    metric : str
        The key.
    value_a, value_b, difference : float
        The difference is a minus b.
    low, high : float
        The interval of the difference, or of the ratio a / b, as `effect` says. The models are
        equal within it exactly if the p-value exceeds 1 - level.
    level : float
    p_value : float
        The two-sided p-value.
    wins, ties, losses : int
        The numbers of tasks in which the rank of a is better than that of b, as good, and worse;
        for hits@k those that a alone hits, and so on.
    method : str
        "sign flips", or "two-level t" for several runs.
    units : int
    by : str
        The name of a unit: "unit", "task", "query", "relation", another label, or "group".
    pairing : str
        How the tasks were matched: "query and target ids", "query ids", "target ids" or
        "position".
    effect : str
        "difference", or "ratio" for metrics that are no mean over tasks (gmr, medians, std, ...).
    notes : tuple of str
        What limits the comparison.
    name_a, name_b : str
    runs_a, runs_b : int
        The number of runs of each model; values are the means over them.
    p_holm : float or None
        The p-value corrected for several comparisons by Holm's rule.
    title : str
        The metric as tables print it.
    decimals : int
        How many are printed, or more where the bounds are close.
    """

    metric: str
    value_a: float
    value_b: float
    difference: float
    low: float
    high: float
    level: float
    p_value: float
    wins: int
    ties: int
    losses: int
    method: str
    units: int
    by: str
    pairing: str
    effect: str = DIFFERENCE
    notes: tuple[str, ...] = ()
    name_a: str = "a"
    name_b: str = "b"
    runs_a: int = 1
    runs_b: int = 1
    p_holm: float | None = None
    title: str = ""
    decimals: int = 3

    @property
    def estimate(self) -> float:
        """What low and high are the bounds of: the difference a - b, or the ratio a / b."""
        if self.effect == DIFFERENCE:
            return self.difference
        return self.value_a / self.value_b if self.value_b else float("nan")

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
        decimals = decimals_within(self.decimals, self.low, self.high)
        a, b, effect, low, high = (
            f"{x:.{decimals}f}"
            for x in (self.value_a, self.value_b, self.estimate, self.low, self.high)
        )
        p = f"p {self.p_value:.3g}"
        if self.p_holm is not None:
            p += f" (Holm {self.p_holm:.3g})"
        lines = [
            f"{self.metric}: {self.name_a} {a}, {self.name_b} {b}; {self.effect} {effect} "
            f"[{low}, {high}] ({100 * self.level:g} %), {p} ({self.method}, "
            f"{self.describe_units()}); {format_count(self.wins, 'win')}, "
            f"{format_count(self.ties, 'tie')}, {format_count(self.losses, 'loss', 'losses')}",
            *self.notes,
        ]
        return "\n".join(map(printable, lines))

    def describe_units(self) -> str:
        """Write the runs, where there are several, and the number of units."""
        runs = f"{self.runs_a} runs of {self.name_a} and {self.runs_b} of {self.name_b}, "
        several = runs if self.runs_a > 1 or self.runs_b > 1 else ""
        return several + describe_units(self.units, self.by)


@public("truerank.inference")
class Comparisons(Sequence[Comparison], AsTable):
    """Comparisons of pairs of models, or by several metrics; Holm's rule corrects the p-values.

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

    @property
    def metrics(self) -> list[str]:
        """The keys of the metrics, each once."""
        return list(dict.fromkeys(pair.metric for pair in self._pairs))

    def table(self, metrics: str | Iterable[str] | None = None, **options: Any) -> Table:
        """Return a row for each pair, how the pairs were compared, and the notes."""
        first, several = self._pairs[0], len(self.metrics) > 1
        decimals = [decimals_within(pair.decimals, pair.low, pair.high) for pair in self._pairs]
        if not several:
            decimals = [max(decimals)] * len(self)
        effects = " or ".join(dict.fromkeys(pair.effect for pair in self._pairs))
        of_a = "of a" if several else f"{first.title.partition(' ')[0]} of a"
        level = f"{100 * first.level:g} % "
        columns = [
            Column("metric", only="data"),
            *[Column("title", "metric", only="print")] * several,
            *(Column("name_a", "a"), Column("name_b", "b")),
            *(Column("value_a", of_a, decimals), Column("value_b", "of b", decimals)),
            Column("estimate", effects, decimals),
            *(Column("low", f"{level}from", decimals), Column("high", "to", decimals)),
            *(Column("p_value", "p"), Column("p_holm", "p (Holm)")),
            *(Column(name) for name in ("wins", "ties", "losses")),
            *(Column(name, only="data") for name in _FOR_PROGRAMS),
        ]
        rows = ([getattr(pair, column.name) for column in columns] for pair in self._pairs)
        how = f"{first.method.capitalize()}, {first.describe_units()}."
        notes = [how, *format_notes(self._pairs)]
        return Table(columns, rows, names=3 + several, notes=notes).table(metrics, **options)


def format_notes(pairs: Sequence[Comparison]) -> list[str]:
    """List each note once; a note on some of the pairs names them.

    Examples
    --------
    >>> from truerank import Ranks, compare
    >>> pairs = compare({"a": Ranks([0] * 30, [1] * 30, 10), "b": Ranks([3] * 30, [1] * 30, 10)})
    >>> format_notes(pairs)
    ['paired by position only']
    """
    several = len({pair.metric for pair in pairs}) > 1
    names = [f"{pair.metric}, " * several + f"{pair.name_a} - {pair.name_b}" for pair in pairs]
    return gather_notes(dict(zip(names, (pair.notes for pair in pairs), strict=True)))


def gather_notes(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """List each note once; a note that some of the names lack is preceded by those that have it.

    Examples
    --------
    >>> gather_notes({"mrr": ["few units: 9 tasks"], "mr": ["few units: 9 tasks", "long tail"]})
    ['few units: 9 tasks', 'mr: long tail']
    """
    who: dict[str, list[str]] = {}
    for name, found in notes.items():
        for note in found:
            who.setdefault(note, []).append(name)
    return [
        note if len(names) == len(notes) else f"{', '.join(names)}: {note}"
        for note, names in who.items()
    ]
