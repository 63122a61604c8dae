"""The results of comparing models: one comparison, or those of several pairs or metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, overload

from ..inputs.naming import printable, public
from ..metrics.keys import parse, table_name
from ..tables import AsTable, Column, Table
from ..tables.cells import format_count
from ..tables.forms import write_json
from .units import describe_units

DIFFERENCE, RATIO = "difference", "ratio"


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
        sign = "+" if self.effect == DIFFERENCE else ""
        numbers = (f"{x:{sign}.6g}" for x in (self.estimate, self.low, self.high))
        shown = "{} {} [{}, {}]".format(self.effect, *numbers)
        p = f"p {self.p_value:.3g}"
        if self.p_holm is not None:
            p += f" (Holm {self.p_holm:.3g})"
        lines = [
            f"{self.metric}: {self.name_a} {self.value_a:.6g}, {self.name_b} {self.value_b:.6g}; "
            f"{shown} ({100 * self.level:g} %), {p} ({self.method}, {self.describe_units()}); "
            f"{format_count(self.wins, 'win')}, "
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

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return the comparisons by names such as "a against b", or "mrr: a against b"."""
        several = len(self.metrics) > 1
        return {
            f"{pair.metric}: " * several + f"{pair.name_a} against {pair.name_b}": pair.to_dict()
            for pair in self._pairs
        }

    @property
    def metrics(self) -> list[str]:
        """The keys of the metrics, each once."""
        return list(dict.fromkeys(pair.metric for pair in self._pairs))

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of all pairs, each once."""
        return tuple(format_notes(self._pairs))

    def table(self, metrics: str | Iterable[str] | None = None, **options: Any) -> Table:
        """Return a row for each pair, how the pairs were compared, and the notes."""
        first, several = self._pairs[0], len(self.metrics) > 1
        effects = " or ".join(dict.fromkeys(pair.effect for pair in self._pairs))
        of_a = "of a" if several else f"{parse(first.metric).title} of a"
        headings = ["metric"] * several + ["a", "b", of_a, "of b", effects]
        headings += [f"{100 * first.level:g} % interval", "p", "p (Holm)", "wins / ties / losses"]
        fields = [name for name in Comparison._fields if name != "notes"]
        shown = [Column(f"shown {name}", name, only="print") for name in headings]
        rows = [
            [
                *([table_name(pair.metric)] * several),
                *(pair.name_a, pair.name_b, pair.value_a, pair.value_b, pair.estimate),
                *((pair.low, pair.high), f"{pair.p_value:.3g}", f"{pair.p_holm or 0.0:.3g}"),
                f"{pair.wins:,} / {pair.ties:,} / {pair.losses:,}",
                *(getattr(pair, name) for name in fields),
            ]
            for pair in self._pairs
        ]
        how = f"{first.method}, {first.describe_units()}."
        columns = shown + [Column(name, only="data") for name in fields]
        return Table(columns, rows, names=2 + several, notes=[how, *self.notes]).table(
            metrics, **options
        )

    def to_json(self, metrics: Any = None, *, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON; nan becomes null."""
        return write_json(self.to_dict(), indent)


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


def count_notes(found: Sequence[Sequence[str]], thing: str) -> list[str]:
    """Say how many of many results have which kind of note, which stands before its colon.

    Examples
    --------
    >>> count_notes([("few units: 5 queries",), ("few units: 9 queries",)], "group")
    ['few units in 2 of 2 groups']
    """
    kinds = Counter(kind for notes in found for kind in {x.partition(":")[0] for x in notes})
    of_all = f"of {format_count(len(found), thing)}"
    return [f"{kind} in {number:,} {of_all}" for kind, number in sorted(kinds.items())]
