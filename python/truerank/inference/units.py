"""The tasks of a key, and the units in which they were drawn."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ..arrays.row_keys import codes_of
from ..inputs.array_likes import checked_weights
from ..metrics import METRICS, UnknownKeyError
from ..metrics.averages import arithmetic, rescale_weights, values_per_task
from ..metrics.keys import ALL_SIDES, UNPOOLED_SIDES, Key, increasing, parse, sides_of
from ..metrics.kinds import Sample, sample_of, take
from ..ranks.container import Ranks
from ..ranks.grouping import group_codes, task_weights_by, weighted_ranks
from ..ranks.labels import LABEL_WORDS
from ..tables.cells import percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray
    from ..ranks.labels import LabelsLike

UNIT = "unit"
TASK = "task"
GROUP = "group"
# What a unit of a task is, by the sides that the task ranks.
UNIT_OF_SIDE = dict.fromkeys(("head", "tail", "relation"), "triple")
UNIT_OF_SIDE.update(left_to_right="pair", right_to_left="pair", answers="query")
# A note is due where intervals of 95 % covered less than 93 % on average over 12 populations; see
# "Where a note is due" in bench/studies/calibration.md.
FEW_UNITS = 5
LARGE_SHARE = 0.15
EVEN_SHARES = 1.2  # Few units of nearly equal weight are not large.
MEAN_RANKS = ("mr", "imr", "std", "variance")
COUNT = "count"
COUNT_MESSAGE = (
    "count is the number of tasks, which is the same for two models over the same tasks; take a "
    "metric of their ranks"
)


class Units(NamedTuple):
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
    by : str
        The name of a unit, in the singular.
    groups : ndarray of int64, shape (n,), or None
        The group of each task, 0, 1, ..., for a macro average.
    ends : (ndarray, ndarray) or None
        For a report of retrieval, whose tasks are queries: what they add to the metric for the
        worst order of the candidates and for the best. The "ranks" of the sample are what they do
        add, and the metric is the ratio of its sum to that of the weights.
    doubt : str
        That of the drawn units; of tasks that count apart only where the key pools sides.
    """

    key: Key
    sample: Sample
    weights: FloatArray
    unit: IntArray
    number: int
    by: str
    groups: IntArray | None = None
    ends: tuple[FloatArray, FloatArray] | None = None
    doubt: str = ""

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
        if self.number == len(self.unit) and self.by == TASK:
            return values
        added: FloatArray = np.bincount(self.unit, weights=values, minlength=self.number)  # type: ignore[assignment]
        return added


# -- models ----------------------------------------------------------------------------------------


@runtime_checkable
class HasModel(Protocol):
    """A report, whose `model` is what inference needs of it."""

    @property
    def model(self) -> HasUnits:
        """The tasks and their units."""

    def read_key(self, key: str, /) -> Key:
        """Read a key of the report; an unknown one is a KeyError."""


@runtime_checkable
class HasUnits(Protocol):
    """What inference needs of a model: `RankedTasks`, or queries with several right answers."""

    @property
    def tasks(self) -> Ranks:
        """The tasks with their labels and the weights in force; of retrieval the right answers."""

    @property
    def group_codes(self) -> IntArray | None:
        """The group of each task, if the model has groups."""

    @property
    def paired_rules(self) -> Mapping[str, Any]:
        """What else is equal in two models that are compared: of retrieval gains and misses."""

    def read_key(self, key: str, /) -> Key:
        """Read a key of such a model; an unknown one is a KeyError."""

    def units(
        self,
        key: Key,
        *,
        by: LabelsLike | DrawnUnits | None = UNIT,
        groups: LabelsLike | None = None,
        weights: str | npt.ArrayLike | None = None,
        draw_seed: int | None = None,
    ) -> Units:
        """Return the tasks of a key and their units; the parameters are those of `units_of`.

        Without `groups` they are those of the model, and without `draw_seed` the seed is its own.
        """

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
    group_codes : ndarray of int64, shape (n,), optional
        The group of each task.
    seed : int
        The seed of the kind "random".
    paired_rules : mapping
        None beside the labels.

    Examples
    --------
    >>> model = RankedTasks(Ranks([0, 3], [1, 1], 10), np.array([0, 1]))
    >>> model.units(model.read_key("macro.mrr")).groups
    array([0, 1])
    """

    tasks: Ranks
    group_codes: IntArray | None = None
    seed: int = 0
    paired_rules: Mapping[str, Any] = field(default_factory=dict)

    read_key = staticmethod(parse)

    def in_order(self, ranks: Ranks, order: IntArray | None = None) -> RankedTasks:
        """Return the model of these ranks, which are its own in an order, or labelled anew."""
        groups = self.group_codes
        if groups is not None and order is not None:
            groups = groups[order]
        return replace(self, tasks=ranks, group_codes=groups)

    def units(
        self,
        key: Key,
        *,
        by: LabelsLike | DrawnUnits | None = UNIT,
        groups: LabelsLike | None = None,
        weights: str | npt.ArrayLike | None = None,
        draw_seed: int | None = None,
    ) -> Units:
        """Return the tasks of a key and their units; see `HasUnits.units`."""
        ranks = self.tasks
        if groups is None:
            groups = self.group_codes
        if draw_seed is None:
            draw_seed = self.seed
        if isinstance(weights, str):
            weights = task_weights_by(ranks, weights)
        if weights is not None:
            ranks = ranks.with_weights(checked_weights(weights, length=len(ranks)))
        sides = sides_of(ranks)
        sides.check(key.side, str(key))
        # All tasks are ranked and grouped at once, so that the sides agree with the whole.
        sample = sample_of(ranks, key.kind, draw_seed)
        drawn = unit_codes(ranks, by)
        codes = drawn.codes
        macro = group_of_tasks(ranks, key, by, groups)
        chosen = sides.mask(key.side)
        # Tasks of weight 0 are left out of all metrics but count, which counts them.
        if sample.weights is not None and not sample.weights.all() and key.metric != COUNT:
            has_weight = sample.weights > 0
            chosen = has_weight if chosen is None else chosen & has_weight
        if chosen is not None:
            (tasks,) = np.nonzero(chosen)
            sample = take(sample, tasks)
            codes = codes[tasks]
            if macro is not None:
                macro = macro[tasks]
        if sample.tied is not None and (sample.tied == 1).all():
            sample = sample._replace(tied=None)
        unit = codes
        number = int(codes.max(initial=-1)) + 1
        if chosen is not None:  # Some units may have no task left.
            present, unit = codes_of(codes)
            number = len(present)
        weights = safe_weights(sample)
        doubt = drawn.doubt if drawn.name != TASK or key.side == ALL_SIDES else ""
        return Units(key, sample, weights, unit, number, drawn.name, macro, doubt=doubt)


def as_model(name: str, model: Any) -> HasUnits:
    """Return what inference reads of a model: itself, or its ranks.

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
    if isinstance(model, Ranks) or not isinstance(model, HasModel):
        return RankedTasks(weighted_ranks(name, model))
    report: Any = model
    found: HasUnits = report.model
    return found


# -- units -----------------------------------------------------------------------------------------


def units_of(
    model: Any,
    key: str | Key,
    *,
    by: LabelsLike | None = UNIT,
    groups: LabelsLike | None = None,
    weights: str | npt.ArrayLike | None = None,
    draw_seed: int = 0,
    name: str = "ranks",
) -> Units:
    """Gather the tasks of a key and their units.

    Parameters
    ----------
    model : Ranks or Report
        Or a report of retrieval, whose queries are the tasks.
    key : str or Key
    by : str, labels or None
        "unit": the label "unit" of the ranks, or single tasks where they have none. "task" and
        None: single tasks. Else as `group_codes`.
    groups : str or labels, optional
        The groups of a macro average; if not given, those of a Report, else those of `by`.
    weights : str or array_like of float, optional
        Used instead of the weights of the ranks.
    draw_seed : int
    name : str
        What messages call the model.

    Raises
    ------
    KeyError
        For an unknown key or side, and for `macro.X` without groups.

    Examples
    --------
    >>> found = units_of(Ranks([0, 3, 4], [1, 1, 1], 10), "mrr", by=["a", "b", "a"])
    >>> found.unit, found.number, found.by
    (array([0, 1, 0]), 2, 'group')
    """
    found = as_model(name, model)
    if not isinstance(key, Key):
        key = found.read_key(key)
    return found.units(key, by=by, groups=groups, weights=weights, draw_seed=draw_seed)


class DrawnUnits(NamedTuple):
    """The unit of each task as a code, each of which occurs, and the name of a unit.

    `doubt` is a clause on tasks that seem to be of one unit and count apart, or the reverse.
    """

    codes: IntArray
    name: str
    doubt: str = ""


def unit_codes(ranks: Ranks, by: LabelsLike | DrawnUnits | None) -> DrawnUnits:
    """Return the unit of each task; those of another model of the same tasks are given as they are.

    Examples
    --------
    >>> unit_codes(Ranks([0, 3, 4], [1, 1, 1], 10, queries=[7, 7, 9]), "query")
    DrawnUnits(codes=array([0, 0, 1]), name='query', doubt='')
    """
    if isinstance(by, DrawnUnits):
        return by
    if by is None or (isinstance(by, str) and by in (UNIT, TASK)):
        if ranks.answers is not None:  # In retrieval, queries are drawn.
            by = "query"
        elif by != UNIT or ranks.unit is None:
            doubt = doubt_of_sides(ranks) if by == UNIT else ""
            return DrawnUnits(np.arange(len(ranks)), TASK, doubt)
    codes, _ = group_codes(ranks, by)
    name = LABEL_WORDS.get(by, by) if isinstance(by, str) else GROUP
    if name == UNIT and ranks.origins and ranks.side is not None and ranks.side.vocabulary:
        name = UNIT_OF_SIDE.get(ranks.side.vocabulary[0], UNIT)
    return DrawnUnits(codes, name, doubt_of_rounds(ranks) if name == UNIT else "")


def doubt_of_sides(ranks: Ranks) -> str:
    """Say, if so, that tasks on several sides, which are pooled, count apart without units.

    Examples
    --------
    >>> doubt_of_sides(Ranks([0, 3], [1, 1], 10, side=["tail", "head"]))
    'no units: the sides of a triple count as independent, as no label unit joins them'
    """
    sides = [side for side in sides_of(ranks).present if side not in (ALL_SIDES, *UNPOOLED_SIDES)]
    if len(sides) < 2:
        return ""
    name = UNIT_OF_SIDE.get(sides[0], UNIT)
    return f"no units: the sides of a {name} count as independent, as no label unit joins them"


def doubt_of_rounds(ranks: Ranks) -> str:
    """Say, if so, that units begin with 0 again and again, each time for other triples.

    A unit may well have several tasks of a side, such as all triples of a cluster, but units that
    count 0, 1, ... in rounds are rows of batches. In rounds of the same triples they are right:
    these are several runs.

    Examples
    --------
    >>> labels = {"queries": [5, 6, 7, 8], "targets": [1, 2, 3, 4], "side": "tail"}
    >>> doubt_of_rounds(Ranks([0] * 4, [1] * 4, 10, unit=[0, 1, 0, 1], **labels))
    'repeated units: they begin with 0 again after 2 tasks of tail: is unit the row in the whole test?'
    """  # noqa: E501
    side, unit, queries, targets = ranks.side, ranks.unit, ranks.queries, ranks.targets
    if ranks.origins or side is None or unit is None or queries is None or targets is None:
        return ""
    if unit.vocabulary is not None:
        return ""
    for name in ("head", "tail"):
        (tasks,) = np.nonzero(side == name)
        rows = unit.codes[tasks]
        facts = np.stack([queries.codes[tasks], targets.codes[tasks]])
        size = int(rows.max(initial=-1)) + 1
        is_round = 1 < size < len(rows) and (rows == np.arange(len(rows)) % size).all()
        if is_round and (facts[:, size:] != facts[:, :-size]).any():
            after = f"they begin with 0 again after {size:,} tasks of {name}"
            return f"repeated units: {after}: is unit the row in the whole test?"
    return ""


def group_of_tasks(
    ranks: Ranks, key: Key, by: LabelsLike | DrawnUnits | None, groups: LabelsLike | None
) -> IntArray | None:
    """Return the group of each task for a macro average, None for another key.

    Examples
    --------
    >>> from truerank.metrics.keys import parse
    >>> ranks = Ranks([0, 3, 4], [1, 1, 1], 10, relation=["likes", "knows", "likes"])
    >>> group_of_tasks(ranks, parse("macro.mrr"), "unit", "relation")
    array([0, 1, 0])
    """
    if not key.macro:
        return None
    if groups is None and not isinstance(by, DrawnUnits):
        is_of_design = isinstance(by, str) and by in (UNIT, TASK)
        groups = None if is_of_design else by
    if groups is None:
        problem = "a macro average is over groups; name them with groups=..."
        raise UnknownKeyError(repr(str(key)), problem)
    codes, _ = group_codes(ranks, groups)
    return codes


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


def notes_on_units(units: Units) -> tuple[str, ...]:
    """Say in one clause, if at all, that the design makes intervals cover less than they say.

    The clause is made from the units and their weights, never from ranks, so that no luck decides
    about it. What mean ranks hang on nothing but the ranks shows: see `notes_on_carriers`.

    Examples
    --------
    >>> ranks = Ranks([0] * 40, [1] * 40, 1000, side=["head", "tail"] * 20)
    >>> notes_on_units(units_of(ranks, "mrr"))
    ('no units: the sides of a triple count as independent, as no label unit joins them',)
    """
    return notes_on_sizes(units) or ((units.doubt,) if units.doubt else ())


def notes_on_sizes(units: Units) -> tuple[str, ...]:
    """Say in one clause, if at all, that units are few, or that one is large.

    Examples
    --------
    >>> ranks = Ranks([0, 3, 4], [1, 1, 1], 1000, queries=[7, 7, 9])
    >>> notes_on_sizes(units_of(ranks, "mrr", by="query"))
    ('few units: 2 queries, one with 66.7 % of the weight',)
    """
    if not units.weights.any():
        return ()
    largest = float(units.sums(units.weights).max() / units.weights.sum())
    is_large = largest > max(LARGE_SHARE, EVEN_SHARES / units.number)
    is_few = units.number < FEW_UNITS
    if is_few and is_large:
        counted = describe_units(units.number, units.by)
        return (f"few units: {counted}, one with {percent(largest)} of the weight",)
    if is_few:
        return (f"few units: {describe_units(units.number, units.by)}",)
    if is_large:
        return (f"large unit: one {units.by} has {percent(largest)} of the weight",)
    return ()


def hangs_on_large_ranks(key: Key) -> bool:
    """Whether the few largest ranks decide about a metric: mean ranks, and what is made of them.

    Examples
    --------
    >>> from truerank.metrics.keys import parse
    >>> [hangs_on_large_ranks(parse(key)) for key in ("amri", "power_mean:2", "gmr", "mrr")]
    [True, True, False, False]
    """
    is_power = key.metric == "power_mean" and key.parameter >= 1
    return key.metric in MEAN_RANKS or is_power


def describe_units(number: int, unit: str) -> str:
    """Write a number of units.

    Examples
    --------
    >>> describe_units(22812, "query"), describe_units(1, "task"), describe_units(4, "class")
    ('22,812 queries', '1 task', '4 classes')
    """
    if number == 1:
        return f"1 {unit}"
    return f"{number:,} {plural(unit)}"


def plural(unit: str) -> str:
    """Write the name of a unit in the plural.

    Examples
    --------
    >>> plural("task"), plural("query"), plural("class")
    ('tasks', 'queries', 'classes')
    """
    if unit[-1:] == "y" and unit[-2:-1] not in tuple("aeiou"):
        return unit[:-1] + "ies"
    if unit.endswith(("s", "x", "ch", "sh")):
        return unit + "es"
    return unit + "s"
