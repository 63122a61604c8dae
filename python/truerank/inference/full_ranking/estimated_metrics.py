"""Metrics that were estimated from sampled negatives; they are never a Report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from ...inputs.naming import printable, public
from ...metrics.keys import parse, table_name
from ...metrics.kinds import UnknownKeyError
from ...tables.table_writer import Records, TextGrid, TextTables, format_count, number
from ...tables.tabular import Tabular
from ..paired_models.pairing import RanksMissingError

if TYPE_CHECKING:
    from ...ranks.protocol import Protocol

ANY, DECREASING = "any", "decreasing"
RANKS_MISSING = (
    "metrics that are estimated from sampled negatives have no ranks of the full ranking, and are "
    "not compared with measured ones; compare the sampled Ranks of the models with each other"
)


@public("truerank.inference")
class EstimatedMetric(NamedTuple):
    """A metric of the full ranking, as far as sampled negatives tell it.

    Attributes
    ----------
    key : str
    value : float
        nan where the sample does not tell it: then the bounds are all that is known.
    error : float
        Of the mean rank, its inverse and its adjustments: the cluster-robust standard error. Of
        others half the distance of the bounds, divided by the quantile of Student's t.
    low, high : float
        The confidence bounds over other tasks of the same population, and other negatives.
    level : float
    told : bool
        Whether the bounds are near enough to give a value.
    units : int
    by : str
        What a unit is, as in `Interval`.
    largest : int
        The number of tasks in the largest unit.
    notes : tuple of str

    Examples
    --------
    >>> print(EstimatedMetric("mrr", 0.3, 0.01, 0.28, 0.32, 0.95, True, 400))
    mrr 0.3 [0.28, 0.32]
    >>> print(EstimatedMetric("mrr", math.nan, 0.11, 0.1, 0.5, 0.95, False, 400))
    mrr between 0.1 and 0.5
    """

    key: str
    value: float
    error: float
    low: float
    high: float
    level: float
    told: bool
    units: int
    by: str = "task"
    largest: int = 1
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.told:
            shown = f"{self.key} {self.value:.6g} [{self.low:.6g}, {self.high:.6g}]"
        else:
            shown = f"{self.key} between {self.low:.6g} and {self.high:.6g}"
        return "\n".join(map(printable, [shown, *self.notes]))


@public("truerank.inference")
class FullRankingEstimate(Mapping[str, EstimatedMetric], Tabular):
    """Metrics of the full ranking that were estimated from sampled negatives.

    A mapping of keys to `EstimatedMetric`. It is no Report: `report`, `table` and `compare` refuse
    it, so that estimated numbers are not mixed with measured ones.

    Attributes
    ----------
    protocol : Protocol
        That of the sampled ranks.
    tasks : int
    negatives, candidates : (int, int)
        The least and the largest number of sampled negatives and of candidates of the full ranking.
    shape : str
        What was taken for granted of the law of ranks: "any" (nothing) or "decreasing".
    level : float
    notes : tuple of str

    Examples
    --------
    >>> from truerank import Protocol, Ranks
    >>> from truerank.inference import estimate_full_ranking
    >>> ranks = Ranks([0, 2, 0, 1], [1] * 4, 11, protocol=Protocol(sampled=True))
    >>> print(estimate_full_ranking(ranks, 101, ["mr"]))
    metric  estimate     95 % bounds
    MR ↓         8.5  1.301 to 73.66
    <BLANKLINE>
    Estimated from 10 sampled negatives of 101 candidates, 4 tasks.
    few units: 4 tasks
    """

    _INDEX = "key"

    def __init__(
        self,
        metrics: Mapping[str, EstimatedMetric],
        protocol: Protocol,
        tasks: int,
        negatives: tuple[int, int],
        candidates: tuple[int, int],
        shape: str,
        level: float,
    ) -> None:
        self._metrics = dict(metrics)
        self._protocol = protocol
        self.tasks, self.negatives, self.candidates = tasks, negatives, candidates
        self.shape, self.level = shape, level

    def __getitem__(self, key: str) -> EstimatedMetric:
        if key in self._metrics:
            return self._metrics[key]
        name = str(parse(key))
        if name not in self._metrics:
            raise UnknownKeyError(f"{key!r}: not estimated; these are: {', '.join(self)}")
        return self._metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    @property
    def protocol(self) -> Protocol:
        """The protocol of the sampled ranks."""
        return self._protocol

    @property
    def ranks(self) -> NoReturn:
        """Raise an error: the ranks of the full ranking are not known."""
        raise RanksMissingError(RANKS_MISSING)

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """The notes of all metrics, each once, with the keys to which it belongs."""
        by_note: dict[str, list[str]] = {}
        for metric in self._metrics.values():
            for note in metric.notes:
                by_note.setdefault(note, []).append(metric.key)
        return tuple(
            note if len(keys) == len(self) else f"{', '.join(keys)}: {note}"
            for note, keys in by_note.items()
        )

    @property
    def origin(self) -> str:
        """What the numbers are, in a line.

        Examples
        --------
        >>> from truerank import Protocol, Ranks
        >>> from truerank.inference import estimate_full_ranking
        >>> ranks = Ranks([0, 2], [1, 1], 11, protocol=Protocol(sampled=True))
        >>> estimate_full_ranking(ranks, 101, ["mr"]).origin
        'estimated from 10 sampled negatives of 101 candidates'
        """
        drawn, of_all = (_span(pair) for pair in (self.negatives, self.candidates))
        law = "" if self.shape == ANY else f", for a {self.shape} law of ranks"
        return f"estimated from {drawn} sampled negatives of {of_all} candidates{law}"

    def __repr__(self) -> str:
        return f"FullRankingEstimate({', '.join(self)}; {self.origin})"

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name; a value that the sample does not tell is None.

        Examples
        --------
        >>> from truerank import Protocol, Ranks
        >>> from truerank.inference import estimate_full_ranking
        >>> ranks = Ranks([0, 2], [1, 1], 11, protocol=Protocol(sampled=True))
        >>> estimate_full_ranking(ranks, 101, ["mr"]).to_dict()["metrics"]["mr"]["value"]
        11.0
        """
        metrics = {}
        for key, metric in self._metrics.items():
            fields = {
                name: None if isinstance(value, float) and not math.isfinite(value) else value
                for name, value in metric._asdict().items()
            }
            metrics[key] = {**fields, "notes": list(metric.notes)}
        return {
            "origin": self.origin,
            "estimated": True,
            "tasks": self.tasks,
            "negatives": list(self.negatives),
            "candidates": list(self.candidates),
            "shape": self.shape,
            "level": self.level,
            "protocol": str(self._protocol),
            "metrics": metrics,
        }

    def records(self) -> Records:
        """Return a row for each metric, with all fields but the notes."""
        columns = [name for name in EstimatedMetric._fields if name != "notes"]
        rows = [metric[: len(columns)] for metric in self._metrics.values()]
        return Records(columns, rows, ["value", "error", "low", "high", "level"])

    def text_tables(self, digits: int = 4) -> TextTables:
        """Return a row for each metric, with its origin and its notes below."""
        header = ["metric", "estimate", f"{100 * self.level:g} % bounds"]
        rows = [
            [
                table_name(metric.key),
                number(metric.value, digits) if metric.told else "not told",
                f"{number(metric.low, digits)} to {number(metric.high, digits)}",
            ]
            for metric in self._metrics.values()
        ]
        origin = f"{self.origin[0].upper()}{self.origin[1:]}, {format_count(self.tasks, 'task')}."
        return TextTables([TextGrid(header, rows)], notes=[origin, *self.notes])


def _span(pair: tuple[int, int]) -> str:
    low, high = pair
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
