"""Results: a toolkit's numbers, the exact numbers, and the steps between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ..inputs.errors import UnknownKeyError
from ..inputs.naming import public
from ..metrics.keys import table_name
from ..retrieval.answer_metrics import read_key
from ..tables import AsTable, Column, Table
from ..tables.forms import write_json
from .convention_counts import ConventionCounts, counts_of_ranks
from .conventions import EXACT, steps_to
from .figures import Figure, exact_value, figure, places, split_key

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray
    from ..reporting import Report
    from .presets import Metric, Preset

Value = TypeVar("Value")
EXACT_ROW = "exact"  # name of the first row of a table, before those of the presets
COMMON_KEYS = ("mr", "mrr", "hits@1", "hits@10")


@public("truerank.compat")
class Step(NamedTuple):
    """One difference between the exact definition and a toolkit.

    Attributes
    ----------
    name : str
        "nan", "candidates", "transform", "tolerance", "filter", "itself", "rank" or "mean".
    words : str
        What the toolkit does.
    tasks : int
        The number of tasks whose place this step changes, after the earlier steps.
    figures : dict of str to float
        The numbers after this step, by truerank's keys.
    """

    name: str
    words: str
    tasks: int
    figures: dict[str, float]


class Numbers(Mapping[str, Value], AsTable):
    """What was computed, by name, with its forms."""

    __hash__ = None  # type: ignore[assignment]
    index = "convention"  # the first column of its table

    def __init__(self, rows: Mapping[str, Value]) -> None:
        self._rows = dict(rows)

    def __getitem__(self, name: str) -> Value:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by their names."""
        return dict(self)

    def to_json(self, metrics: Any = None, *, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON; nan becomes null."""
        return write_json(self.to_dict(), indent)

    def to_pandas(self, metrics: Any = None, **options: Any) -> Any:
        """Return the numbers of the table as a DataFrame, with a row for each name."""
        return super().to_pandas().set_index(self.index)


@public("truerank.compat")
class CompatReport(Numbers[float]):
    """The numbers of a toolkit for some scores: `report[name]` is its number of that name.

    If the toolkit leaves the order of ties open, the number is the mean over all orders, and
    `bounds` gives the least and the greatest number that it may show. If the rounding of a
    transform leaves an order open, the number is the middle of the bounds.

    Attributes
    ----------
    preset : Preset
        The preset of the toolkit.
    exact : Report
        The report of the exact counts of the same tasks (``nan="worst"``), for any key.
    steps : tuple of Step
        What it does otherwise, in turn; the last one arrives at its numbers.
    first, last : ndarray of float64, shape (tasks,)
        The first and the last place that the true candidate of each task can take.

    Examples
    --------
    >>> from truerank import compat
    >>> found = compat.report([[0.5, 0.5, 0.1]], [0], preset="openke")
    >>> found["MRR"], round(found.corrected("MRR"), 6)
    (1.0, 0.666667)
    >>> [(step.name, step.tasks) for step in found.steps]
    [('nan', 0), ('rank', 1), ('mean', 0)]
    """

    index = "name"
    first: FloatArray
    last: FloatArray

    def __init__(
        self,
        preset: Preset,
        exact: Report,
        counts_by_step: Sequence[ConventionCounts],
        filtered: bool,
    ) -> None:
        self.preset = preset
        self.exact = exact
        suffix = preset.suffix if filtered else ""
        self._metrics = {m.name.format(filtered=suffix): m for m in preset.metrics}
        keys = list(dict.fromkeys([*(metric.key for metric in preset.metrics), *COMMON_KEYS]))
        groups = _tasks_by_side(exact) if preset.averaged else []
        convention, counts = EXACT, counts_of_ranks(exact.ranks)
        self._figures = {key: figure(key, counts, convention, groups) for key in keys}
        self.first, self.last = places(counts, convention)
        steps = []
        for (name, convention), counts in zip(
            steps_to(preset.convention), counts_by_step, strict=True
        ):
            first, last = places(counts, convention)
            changed = int(np.count_nonzero((first != self.first) | (last != self.last)))
            self.first, self.last = first, last
            self._figures = {key: figure(key, counts, convention, groups) for key in keys}
            values = {key: found.value for key, found in self._figures.items()}
            steps.append(Step(name, convention.says(name), changed, values))
        self.steps = tuple(steps)
        scaled = {name: self._figures[m.key].value * m.scale for name, m in self._metrics.items()}
        super().__init__(scaled)

    def __getitem__(self, name: str) -> float:
        """Return a number of the toolkit, on its scale."""
        self._metric(name)
        return super().__getitem__(name)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {self.printed(name)}" for name in self)
        return f"CompatReport({self.preset.name}, {len(self.first):,} tasks: {shown})"

    def bounds(self, name: str) -> tuple[float, float]:
        """Return the least and the greatest number that the toolkit may show, on its scale.

        Examples
        --------
        >>> from truerank import compat
        >>> compat.report([[0.5, 0.5, 0.1]], [0], preset="rotate").bounds("MRR")
        (0.5, 1.0)
        """
        metric = self._metric(name)
        found = self._figures[metric.key]
        return found.least * metric.scale, found.most * metric.scale

    def printed(self, name: str) -> str:
        """Write a number with the digits of the toolkit, or both bounds if ties leave it open.

        Examples
        --------
        >>> from truerank import compat
        >>> compat.report([[0.5, 0.5, 0.1]], [0], preset="openke").printed("MRR")
        '1.000000'
        """
        metric = self._metric(name)
        return self._figures[metric.key].printed(metric.form, metric.scale)

    def corrected(self, name: str) -> float:
        """Return the exact number in place of the toolkit's, on its scale, by realistic ranks.

        Examples
        --------
        >>> from truerank import compat
        >>> compat.report([[0.5, 0.5, 0.1]], [0], preset="openea").corrected("hits@5")
        100.0
        """
        metric = self._metric(name)
        return exact_value(metric.key, self.exact) * metric.scale

    def figure(self, key: str) -> Figure:
        """Return a metric under this convention by its key in truerank, not scaled.

        Parameters
        ----------
        key : str
            "mr", "mrr", "hits@1", "hits@10", or the key of a metric that the toolkit shows.

        Examples
        --------
        >>> from truerank import compat
        >>> compat.report([[0.5, 0.5, 0.1]], [0], preset="ogb").figure("mr").value
        1.5
        """
        if key not in self._figures:
            raise UnknownKeyError("key", "", f"one of {', '.join(self._figures)}", repr(key))
        return self._figures[key]

    # -- forms -------------------------------------------------------------------------------------

    def table(self, metrics: Any = None, **options: Any) -> Table:
        """Return its numbers beside the exact ones, with the steps between them below.

        Examples
        --------
        >>> from truerank import compat
        >>> found = compat.report([[0.5, 0.5, 0.1]], [0], preset="gcn-align")
        >>> print(found.to_markdown().partition(chr(10) * 2)[0])
        | gcn-align | printed | exact | key |
        | :--- | ---: | ---: | ---: |
        | Hits@1 | 0.00 to 100.00 | 0 | hits@1 |
        | Hits@10 | 100.00 | 100 | hits@10 |
        | Hits@50 | 100.00 | 100 | hits@50 |
        | Hits@100 | 100.00 | 100 | hits@100 |
        """
        data = [Column(name, only="data") for name in ("value", "least", "most")]
        rows = [
            [
                name,
                self.printed(name),
                self[name],
                *self.bounds(name),
                self.corrected(name),
                row.key,
            ]
            for name, row in self._metrics.items()
        ]
        name = Column("name", self.preset.name)
        table = Table([name, "printed", *data, "exact", "key"], rows, digits=5)
        return table.table(metrics, **options)

    def _metric(self, name: str) -> Metric:
        if name not in self._metrics:
            raise UnknownKeyError("name", "", f"one of {', '.join(self)}", repr(name))
        return self._metrics[name]


@public("truerank.compat")
class CompatTable(Numbers[CompatReport]):
    """Reports of the same tasks by preset: `table["openke"]`.

    If the order of ties is open, text shows both bounds of a number, and records hold its mean over
    all orders.

    Attributes
    ----------
    exact : Report
        The report of the exact counts of these tasks.

    Examples
    --------
    >>> from truerank import compat
    >>> found = compat.table([[0.5, 0.5, 0.1]], [0], presets=["openke", "dgl-ke", "rotate"])
    >>> print(found.to_markdown(digits=2))
    | convention | MR ↓ | MRR ↑ | Hits@1 ↑ | Hits@10 ↑ |
    | :--- | ---: | ---: | ---: | ---: |
    | exact | 1.5 | 0.667 | 0 | 1 |
    | openke | 1 | 1 | 1 | 1 |
    | dgl-ke | 3 | 0.333 | 0 | 1 |
    | rotate | 1 to 2 | 0.5 to 1 | 0 to 1 | 1 |
    """

    def __init__(self, exact: Report, rows: Mapping[str, CompatReport]) -> None:
        self.exact = exact
        super().__init__(rows)

    def __repr__(self) -> str:
        return f"CompatTable({len(self.exact.ranks):,} tasks; {', '.join(self)})"

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return the values by preset and key, with those of "exact" first.

        If a toolkit leaves the order of ties open, the value is the mean over all orders.

        Examples
        --------
        >>> from truerank import compat
        >>> compat.table([[0.5, 0.1]], [0], presets=["ogb"]).to_dict()["ogb"]["mrr"]
        1.0
        """
        exact = {key: self.exact[key] for key in COMMON_KEYS}
        return {
            EXACT_ROW: exact,
            **{
                name: {key: row.figure(key).value for key in COMMON_KEYS}
                for name, row in self._rows.items()
            },
        }

    def table(self, metrics: Any = None, **options: Any) -> Table:
        """Return a row for each preset; people read both bounds of numbers that ties leave open."""
        values = self.to_dict()
        bounds: dict[str, list[Any]] = {
            key: [values[EXACT_ROW][key]] + [row.figure(key)[1:] for row in self._rows.values()]
            for key in COMMON_KEYS
        }
        rows = [
            [name, *values[name].values(), *(bounds[key][i] for key in COMMON_KEYS)]
            for i, name in enumerate(values)
        ]
        data = [Column(key, only="data") for key in COMMON_KEYS]
        shown = [Column(f"{key} bounds", table_name(key), only="print") for key in COMMON_KEYS]
        table = Table(["convention", *data, *shown], rows)
        return table.table(metrics, **options)


def _heading(key: str) -> str:
    """The heading of a metric, of which some have a cutoff that reports on ranks do not have."""
    name, cutoff = split_key(key)
    return table_name(read_key(key) if cutoff and name != "hits" else key)


def _tasks_by_side(exact: Report) -> list[IntArray]:
    """Return the positions of the tasks of each side; an empty list if the sides are not known."""
    side = exact.ranks.side
    if side is None:
        return []
    return [np.flatnonzero(side.codes == code) for code in np.unique(side.codes)]
