"""The results of comparing models: one comparison, or those of several pairs or metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, overload

from ..naming import printable, public
from ..tables import AsTable, Column, Table
from ..tables.cells import format_count
from .intervals import decimals_within
from .units import describe_units

DIFFERENCE = "difference"
RATIO = "ratio"
# Printed tables have no columns of these fields.
_FOR_PROGRAMS = "level", "effect", "method", "units", "by", "pairing"
MORE_DECIMALS = 4  # Bounds have at most so many decimals more than their metric.


@public("truerank.inference")
class Comparison(NamedTuple):
    """How far two models are apart by a metric.

    Attributes
    ----------
    metric : str
        The key.
    value_a, value_b : float
    estimate : float
        The difference a - b, or the ratio a / b, as `effect` says.
    low, high : float
        Its interval. The models are equal within it exactly if the p-value exceeds 1 - level. nan
        for the ratio, or the difference of mean ranks, of models that differ alike in every unit.
    level : float
    p_value : float
        The two-sided p-value.
    wins, ties, losses : int
        The numbers of tasks in which the rank of a is better than that of b, as good, and worse;
        for hits@k those that a alone hits, and so on.
    method : str
        "exact sign flips", where at most 30 units differ; "exact McNemar", where more differ by one
        size; otherwise "t"; for several runs "two-level t".
    units : int
    by : str
        The name of a unit, as that of an interval: "triple", "pair", "query", "task", ...
    pairing : str
        How the tasks were matched: "query and target ids", "query ids", "target ids" or
        "position".
    effect : str
        "difference", or "ratio" for functions of a mean (gmr, hmr, imr, ...).
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
    estimate: float
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

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name.

        Examples
        --------
        >>> from truerank import Ranks, compare
        >>> ranks = Ranks([0, 3], [1, 1], 10)
        >>> compare(ranks, ranks).to_dict()["estimate"]
        0.0
        """
        return self._asdict() | {"notes": list(self.notes)}

    def __str__(self) -> str:
        decimals = self.printed_decimals()
        p = f"p {self.p_value:.3g}"
        if self.p_holm is not None:
            p += f" (Holm {self.p_holm:.3g})"
        counts = ", ".join(
            [
                format_count(self.wins, "win"),
                format_count(self.ties, "tie"),
                format_count(self.losses, "loss", "losses"),
            ]
        )
        lines = [
            f"{self.metric}: {self.name_a} {self.value_a:.{decimals}f}, "
            f"{self.name_b} {self.value_b:.{decimals}f}; "
            f"{self.effect} {self.estimate:.{decimals}f} "
            f"[{self.low:.{decimals}f}, {self.high:.{decimals}f}] ({100 * self.level:g} %), "
            f"{p} ({self.method}, {self.describe_units()}); {counts}"
        ]
        lines += self.notes
        return "\n".join(map(printable, lines))

    def printed_decimals(self) -> int:
        """How many decimals tell the bounds apart; not many more than the metric has."""
        decimals = decimals_within(self.decimals, self.low, self.high)
        return min(decimals, self.decimals + MORE_DECIMALS)

    def describe_units(self) -> str:
        """Write the runs, where there are several, and the number of units."""
        units = describe_units(self.units, self.by)
        if self.runs_a == 1 and self.runs_b == 1:
            return units
        return f"{self.runs_a} runs of {self.name_a} and {self.runs_b} of {self.name_b}, {units}"


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
        first = self._pairs[0]
        decimals = [pair.printed_decimals() for pair in self._pairs]
        effects = " or ".join(dict.fromkeys(pair.effect for pair in self._pairs))
        columns = [Column("metric", only="data")]
        if len(self.metrics) == 1:  # The heading of the values names it.
            decimals = [max(decimals)] * len(self)
            heading = f"{first.title.partition(' ')[0]} of a"
        else:
            columns.append(Column("title", "metric", only="print"))
            heading = "of a"
        columns.append(Column("name_a", "a"))
        columns.append(Column("name_b", "b"))
        names = len(columns)
        columns += [
            Column("value_a", heading, decimals),
            Column("value_b", "of b", decimals),
            Column("estimate", effects, decimals),
            Column("low", f"{100 * first.level:g} % from", decimals),
            Column("high", "to", decimals),
            Column("p_value", "p"),
            Column("p_holm", "p (Holm)"),
        ]
        columns += [Column(name) for name in ("wins", "ties", "losses")]
        columns += [Column(name, only="data") for name in _FOR_PROGRAMS]
        rows = []
        for pair in self._pairs:
            fields = pair._asdict()
            rows.append([fields[column.name] for column in columns])
        methods = " and ".join(dict.fromkeys(pair.method for pair in self._pairs))
        notes = [f"Tested by {methods}, over {first.describe_units()}."]
        notes += format_notes(self._pairs)
        return Table(columns, rows, names=names, notes=notes).table(metrics, **options)


class HasNotes(Protocol):
    """A comparison, or what a table says of one."""

    @property
    def metric(self) -> str: ...

    @property
    def name_a(self) -> str: ...

    @property
    def name_b(self) -> str: ...

    @property
    def notes(self) -> tuple[str, ...]: ...


def format_notes(pairs: Sequence[HasNotes]) -> list[str]:
    """List each note once; a note on some of the pairs names them.

    Examples
    --------
    >>> from truerank import Ranks, compare
    >>> pairs = compare({"a": Ranks([0] * 30, [1] * 30, 10), "b": Ranks([3] * 30, [1] * 30, 10)})
    >>> format_notes(pairs)
    ['paired by position only']
    """
    metrics = {pair.metric for pair in pairs}
    notes = {}
    for pair in pairs:
        models = f"{pair.name_a} - {pair.name_b}"
        name = f"{pair.metric}, {models}" if len(metrics) > 1 else models
        notes[name] = pair.notes
    return gather_notes(notes)


def gather_notes(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """List each note once; a note that some of the names lack is preceded by those that have it.

    Examples
    --------
    >>> gather_notes({"mrr": ["few units: 9 tasks"], "mr": ["few units: 9 tasks", "long tail"]})
    ['few units: 9 tasks', 'mr: long tail']
    """
    names_by_note: dict[str, list[str]] = {}
    for name, notes_of_name in notes.items():
        for note in notes_of_name:
            names_by_note.setdefault(note, []).append(name)
    gathered = []
    for note, names in names_by_note.items():
        if len(names) < len(notes):
            note = f"{', '.join(names)}: {note}"
        gathered.append(note)
    return gathered
