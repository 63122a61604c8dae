"""The tasks of a key, and the units in which they were drawn."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from ..arrays.row_keys import codes_of
from ..inputs.array_likes import checked_weights
from ..metrics import METRICS
from ..metrics.averages import arithmetic, rescale_weights, values_per_task
from ..metrics.keys import Key, increasing, parse, sides_of
from ..metrics.kinds import Sample, sample_of, take
from ..ranks.container import Ranks
from ..ranks.grouping import group_codes, task_weights_by, weighted_ranks
from ..ranks.labels import LABEL_WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray
    from ..ranks.labels import LabelsLike

UNIT = "unit"
TASK = "task"
# What a unit of a task is, by the sides that the task ranks.
UNIT_OF_SIDE = dict.fromkeys(("head", "tail", "relation"), "triple")
UNIT_OF_SIDE.update(left_to_right="pair", right_to_left="pair", answers="query")
COUNT = "count"


@dataclass(frozen=True, eq=False)
class Units:
    """The tasks of a key, and the unit of each.

    Attributes
    ----------
    key : Key
    sample : Sample
        The tasks of the side and kind, without those of weight 0.
    weights : ndarray of float64, shape (n,)
        Their sums are safe; 1 where all are equal.
    unit : ndarray of int64, shape (n,)
        The unit of each task, 0 .. number - 1, each of which occurs.
    number : int
    name : str
        What a unit is, in the singular.
    ends : (ndarray, ndarray) or None
        For a report of retrieval, whose tasks are queries: what they add to the metric for the
        worst order of the candidates and for the best. The "ranks" of the sample are what they do
        add, and the metric is the ratio of its sum to that of the weights.
    """

    key: Key
    sample: Sample
    weights: FloatArray
    unit: IntArray
    number: int
    name: str
    ends: tuple[FloatArray, FloatArray] | None = None

    def merits(self) -> FloatArray:
        """What each task adds to a mean, in which more is better: f(r), or else the rank."""
        if self.ends is not None:
            if increasing(self.key):
                return self.sample.ranks
            return -self.sample.ranks
        metric = METRICS[self.key.metric]
        parameter = self.key.parameter
        if metric.mean is not arithmetic:
            metric = METRICS["mr"]
            parameter = 0
        f = values_per_task(metric.transform, self.sample, parameter)
        ends = np.array([1.0, 2.0**63])
        of_first, of_last = metric.transform.of_ranks(ends, np.full(2, 2**63 - 1), parameter)
        if of_first > of_last:
            return f
        return -f

    def sums(self, values: FloatArray) -> FloatArray:
        """Add up the values of the tasks of each unit."""
        if self.number == len(self.unit) and self.name == TASK:
            return values
        added: FloatArray = np.bincount(self.unit, weights=values, minlength=self.number)  # type: ignore[assignment]
        return added


# -- models ----------------------------------------------------------------------------------------


@runtime_checkable
class HasUnits(Protocol):
    """What inference needs of a model: `RankedTasks`, or queries with several right answers."""

    @property
    def tasks(self) -> Ranks:
        """The tasks with their labels and the weights in force; of retrieval the right answers."""

    @property
    def paired_rules(self) -> Mapping[str, Any]:
        """What else is equal in two models that are compared: of retrieval gains and misses."""

    def read_key(self, key: str, /) -> Key:
        """Read a key of such a model; an unknown one is a KeyError."""

    def units(
        self,
        key: Key,
        *,
        unit: LabelsLike | None = UNIT,
        weights: str | npt.ArrayLike | None = None,
    ) -> Units:
        """Return the tasks of a key and their units."""

    def in_order(self, ranks: Ranks, order: IntArray | None = None) -> HasUnits:
        """Return the model with these ranks, which are its own in an order, or labelled anew."""


class HasRanks(Protocol):
    """An object that has ranks, such as a Report, with the weights that are in force in it."""

    @property
    def ranks(self) -> Ranks: ...

    @property
    def weights(self) -> FloatArray | None: ...


@dataclass(frozen=True, eq=False)
class RankedTasks:
    """Ranks as a model: each task has a rank, and counts on its own.

    Attributes
    ----------
    tasks : Ranks
        With the weights in force.
    seed : int
        The seed of the kind "random".
    paired_rules : mapping
        None beside the labels.

    Examples
    --------
    >>> model = RankedTasks(Ranks([0, 3, 4], [1, 1, 1], 10))
    >>> found = model.units(model.read_key("mrr"), unit=["a", "b", "a"])
    >>> found.unit, found.number, found.name
    (array([0, 1, 0]), 2, 'group')
    """

    tasks: Ranks
    seed: int = 0
    paired_rules: Mapping[str, Any] = field(default_factory=dict)

    read_key = staticmethod(parse)

    def in_order(self, ranks: Ranks, order: IntArray | None = None) -> RankedTasks:
        """Return the model of these ranks, which are its own in an order, or labelled anew."""
        return replace(self, tasks=ranks)

    def units(
        self,
        key: Key,
        *,
        unit: LabelsLike | None = UNIT,
        weights: str | npt.ArrayLike | None = None,
    ) -> Units:
        """Return the tasks of a key and their units; see `HasUnits.units`."""
        ranks = self.tasks
        if isinstance(weights, str):
            weights = task_weights_by(ranks, weights)
        if weights is not None:
            ranks = ranks.with_weights(checked_weights(weights, length=len(ranks)))
        sides = sides_of(ranks)
        sides.check(key.side, str(key))
        # All tasks are ranked at once, so that the sides agree with the whole.
        sample = sample_of(ranks, key.kind, self.seed)
        codes, name = unit_codes(ranks, unit)
        chosen = sides.mask(key.side)
        # Tasks of weight 0 are left out of all metrics but count, which counts them.
        if sample.weights is not None and not sample.weights.all() and key.metric != COUNT:
            has_weight = sample.weights > 0
            chosen = has_weight if chosen is None else chosen & has_weight
        number = int(codes.max(initial=-1)) + 1
        if chosen is not None:  # Some units may have no task left.
            (tasks,) = np.nonzero(chosen)
            sample = take(sample, tasks)
            present, codes = codes_of(codes[tasks])
            number = len(present)
        if sample.tied is not None and (sample.tied == 1).all():
            sample = sample._replace(tied=None)
        return Units(key, sample, safe_weights(sample), codes, number, name)


def as_model(name: str, model: Any, seed: int = 0) -> HasUnits:
    """Return what inference reads of a model: itself, or its ranks.

    Parameters
    ----------
    name : str
        What messages call the model.
    model : Ranks or Report
    seed : int
        The seed of the kind "random" of Ranks; a Report has its own.

    Raises
    ------
    TypeError
        For anything but Ranks and Reports.
    ValueError
        As `weighted_ranks`.

    Examples
    --------
    >>> as_model("a", Ranks([0], [1], 10)).tasks
    Ranks(1 tasks, 0 tied, 10 candidates; unfiltered, all candidates, nan raise)
    """
    if isinstance(model, HasUnits):
        return model
    if isinstance(model, Ranks) or not hasattr(type(model), "model"):
        return RankedTasks(weighted_ranks(name, model), seed)
    of_report: HasUnits = model.model
    return of_report


# -- units -----------------------------------------------------------------------------------------


def unit_codes(ranks: Ranks, unit: LabelsLike | None) -> tuple[IntArray, str]:
    """Return the unit of each task as a code, each of which occurs, and the name of a unit.

    "unit" is the label "unit" of the ranks, or single tasks where they have none; "task" and None
    are single tasks; other labels are those of `group_codes`.

    Examples
    --------
    >>> unit_codes(Ranks([0, 3, 4], [1, 1, 1], 10, queries=[7, 7, 9]), "query")
    (array([0, 0, 1]), 'query')
    """
    if unit is None or (isinstance(unit, str) and unit in (UNIT, TASK)):
        if ranks.answers is not None:  # In retrieval, queries are drawn.
            unit = "query"
        elif unit != UNIT or ranks.unit is None:
            return np.arange(len(ranks)), TASK
    codes, _ = group_codes(ranks, unit, "unit")
    name = LABEL_WORDS.get(unit, unit) if isinstance(unit, str) else "group"
    if name == UNIT and ranks.origins and ranks.side is not None and ranks.side.vocabulary:
        name = UNIT_OF_SIDE.get(ranks.side.vocabulary[0], UNIT)
    return codes, name


def safe_weights(sample: Sample) -> FloatArray:
    """Return weights whose sums are safe; 1 where all are equal.

    Examples
    --------
    >>> safe_weights(Sample(np.ones(2), np.array([9, 9]), np.array([1e308, 1e308])))
    array([1., 1.])
    """
    if sample.weights is None or (sample.weights == sample.weights[:1]).all():
        return np.ones(len(sample.ranks))
    return rescale_weights(sample.weights)


def describe_units(number: int, unit: str) -> str:
    """Write a number of units.

    Examples
    --------
    >>> describe_units(22812, "query"), describe_units(1, "task"), describe_units(4, "class")
    ('22,812 queries', '1 task', '4 classes')
    """
    if number == 1:
        return f"1 {unit}"
    if unit[-1:] == "y" and unit[-2:-1] not in tuple("aeiou"):
        return f"{number:,} {unit[:-1]}ies"
    if unit.endswith(("s", "x", "ch", "sh")):
        return f"{number:,} {unit}es"
    return f"{number:,} {unit}s"
