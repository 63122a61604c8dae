"""The values of keys, adjusted for chance, of a sample, and of the tasks that it is taken from."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import metrics
from ..errors import InputTypeError, InputValueError, UnknownKeyError
from ..inputs.rules import suggest
from .averages import KINDS, Sample, sample_of, take, values_per_task, weighted_mean
from .keys import (
    ADJUSTED,
    ALL_SIDES,
    NO_ADJUSTMENT,
    UNPOOLED_SIDE,
    Key,
    fail,
    is_side_name,
    quote,
)
from .metric_table import ADJUSTMENTS, METRICS

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from ..ranks.container import Ranks
    from ..ranks.labels import Labels
    from .chance_model import Tasks


def moments(key: Key, candidates: Any, weights: Any = None) -> tuple[float, float]:
    """Return the mean and variance under chance of a key's metric; nan without a weight above 0."""
    return moments_of_tasks(key, metrics.chance_model.compress(candidates, weights))


def moments_of_tasks(key: Key, tasks: Tasks) -> tuple[float, float]:
    """Return what `moments` returns, of tasks that are counted already."""
    row = key.row
    if row.single is not None:
        single = row.single(tasks.sizes, key.parameter)
        return metrics.chance_model.sum_over_tasks(tasks, *single)
    return metrics.chance_model.product_over_tasks(tasks, row.exponent)


def compute(key: Key, sample: Sample, memo: dict[Any, Any] | None = None) -> float:
    """Compute the value of a key from the ranks of its side and kind; nan without tasks.

    Parameters
    ----------
    key : Key
        Its side and kind have been applied already: the sample holds those ranks.
    sample : Sample
    memo : dict, optional
        Where the mean and variance under chance are kept for other kinds and adjustments of the
        same tasks.

    Examples
    --------
    >>> import numpy as np
    >>> from truerank.metrics.keys import parse
    >>> from truerank.metrics.averages import Sample
    >>> compute(parse("hits@3"), Sample(np.array([1.0, 4.0]), np.array([9, 9])))
    0.5
    """
    metric = METRICS[key.metric]
    if metric.mean is None:
        values = values_per_task(metric.transform, sample, key.parameter)
        mean = weighted_mean(values, sample.weights)
    else:
        mean = metric.mean(sample, key.parameter)
    measured = metric.inverse(mean)
    if key.adjustment == NO_ADJUSTMENT:
        return measured
    if memo is None:
        memo = {}
    return adjusted(key, measured, *kept_moments(memo, key, sample))


def adjusted(key: Key, measured: float, mean: float, variance: float) -> float:
    """Adjust a value as a key says, with the mean and variance under chance.

    Examples
    --------
    >>> from truerank.metrics.keys import parse
    >>> adjusted(parse("amri"), 1.5, 2.0, 1 / 3)
    0.5
    """
    if math.isnan(measured):
        return math.nan
    optimum = key.row.optimum
    return float(ADJUSTMENTS[key.adjustment](measured, mean, variance, optimum))


def kept_moments(memo: dict[Any, Any], key: Key, sample: Sample) -> tuple[float, float]:
    """Return mean and variance under chance of a key's metric, computed once for each side.

    Parameters
    ----------
    memo : dict
        Where results are kept: the memo of the Ranks that the sample is taken from, with the
        weights in force.
    key : Key
        Its kind and adjustment do not matter.
    sample : Sample
        The tasks of its side.
    """
    place = "chance", key.of_tasks
    if place not in memo:
        memo[place] = moments(key, sample.candidates, sample.weights)
    mean_and_variance: tuple[float, float] = memo[place]
    return mean_and_variance


# -- tasks and their sides -------------------------------------------------------------------------


@dataclass(frozen=True)
class Sides:
    """The sides of a report; "both", which pools all but relations, comes first.

    Attributes
    ----------
    counts : dict of str to int
        The number of tasks of each side; without "both" where no task may be pooled.
    labels : Labels, optional
        The side of each task.
    """

    counts: dict[str, int]
    labels: Labels | None = None

    @property
    def present(self) -> tuple[str, ...]:
        """The sides that have tasks; only "both" where there are no tasks."""
        return tuple(side for side, n in self.counts.items() if n) or (ALL_SIDES,)

    @property
    def total(self) -> int:
        """The number of all tasks, pooled or not."""
        by_side = sum(n for side, n in self.counts.items() if side != ALL_SIDES)
        return by_side or self.counts.get(ALL_SIDES, 0)

    def check(self, side: str, key: str | Key) -> None:
        """Raise a KeyError for an unknown side of a key."""
        if not isinstance(side, str):
            raise UnknownKeyError("side", "", "a str", type(side).__name__)
        if side in self.counts:
            return
        if side == ALL_SIDES:
            only = next(iter(self.counts))
            names = " and ".join(map(repr, self.counts))
            fail(
                str(key),
                f"all tasks are of the side {names}, which is read only under its own name, as in "
                f"'{only}.mrr'",
            )
        words = [*self.counts, *KINDS, *ADJUSTED]
        fail(str(key), f"no side {quote(side)} in these ranks; {suggest(side, words)}")

    def mask(self, side: str) -> npt.NDArray[np.bool_] | None:
        """A mask of the tasks of a side; None if all belong to it."""
        if self.labels is None or self.labels.vocabulary is None:
            return None
        names = self.labels.vocabulary
        codes = self.labels.codes
        if side != ALL_SIDES:
            return np.equal(codes, names.index(side))
        if UNPOOLED_SIDE in names:
            return np.not_equal(codes, names.index(UNPOOLED_SIDE))
        return None


def sides_of(ranks: Ranks) -> Sides:
    """Read the sides of ranks.

    Raises
    ------
    TypeError
        If the sides are integer ids instead of names.
    ValueError
        If the name of a side cannot be told from the other words of a key.

    Examples
    --------
    >>> from truerank import Ranks
    >>> sides_of(Ranks([0, 3], [1, 1], 10, side=["head", "tail"])).counts
    {'both': 2, 'head': 1, 'tail': 1}
    """
    labels = ranks.side
    if labels is None or (labels.vocabulary is None and not len(ranks)):
        return Sides({ALL_SIDES: len(ranks.above)})
    counts = {str(name): n for name, n in labels.counts().items()}
    if labels.vocabulary is None:
        expected = "names of sides, as 'head' and 'tail', in `side`"
        raise InputTypeError("ranks", expected=expected, got="integer ids")
    for name in itertools.filterfalse(is_side_name, counts):
        raise InputValueError(
            "ranks",
            f"a key cannot tell the side {name!r} from its other words; name it otherwise with "
            f"ranks.with_labels(side=...)",
        )
    pooled = len(ranks) - counts.get(UNPOOLED_SIDE, 0)
    if len(ranks) and not pooled:
        return Sides(counts, labels)
    return Sides({ALL_SIDES: pooled} | counts, labels)


# Tasks, and queries with several right answers, are a class each, with the same members, of which
# reports, intervals and comparisons are made:
# - `ranks`, with the weights in force, by whose labels tasks are paired and are units; `sides`;
# - `unit`, "task" or "query", as keys have it;
# - `value(key)`; `contributions` has the sums of their units, and the values of groups;
# - `with_ranks(ranks)`, the same tasks in another order, or labelled anew, and `part(tasks)`;
# - `paired_rules`, what else is equal in two that are compared: of retrieval gains and misses.
class RankedTasks:
    """Ranks of which each task counts on its own, and what their metrics are.

    Parameters
    ----------
    ranks : Ranks
        With the weights in force.
    seed : int
        The seed of the kind "random".

    Attributes
    ----------
    unit : str
    sides : Sides
    paired_rules : mapping

    Examples
    --------
    >>> from truerank import Ranks
    >>> from truerank.metrics.keys import parse
    >>> RankedTasks(Ranks([0, 3, 4], [1, 1, 1], 10)).value(parse("mrr"))
    0.48333333333333334
    """

    unit: ClassVar[str] = "task"
    paired_rules: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, ranks: Ranks, seed: int = 0) -> None:
        self.ranks = ranks
        self.seed = seed
        self.sides = sides_of(ranks)
        self._whole: tuple[RankedTasks, IntArray] | None = None  # and the positions of these in it
        self._last: tuple[str, str, Sample] | None = None  # the sample of the last side and kind

    def with_ranks(self, ranks: Ranks) -> RankedTasks:
        """Return these tasks in another order, or with other labels or weights."""
        return RankedTasks(ranks, self.seed)

    def part(self, tasks: IntArray) -> RankedTasks:
        """Return some of the tasks, which are drawn as in the whole, and have its sides."""
        part = RankedTasks(self.ranks[tasks], self.seed)
        part._whole = self, tasks
        absent = self.sides.counts.keys() - part.sides.counts
        part.sides.counts.update(dict.fromkeys(absent, 0))
        return part

    # -- values ------------------------------------------------------------------------------------

    def sample(self, side: str, kind: str) -> Sample:
        """Return the ranks of a side and kind; the last are kept, as keys come in this order."""
        if self._last is None or self._last[:2] != (side, kind):
            if kind == "random":
                sample = self._random_sample
            else:
                sample = sample_of(self.ranks, kind, self.seed)
            if self.sides.labels is not None:
                sample = take(sample, self.sides.mask(side))
            self._last = side, kind, sample
        return self._last[2]

    @cached_property
    def _random_sample(self) -> Sample:
        """The random ranks of all tasks, which are drawn at once."""
        if self._whole is not None:
            whole, tasks = self._whole
            return take(whole._random_sample, tasks)
        return sample_of(self.ranks, "random", self.seed)

    def value(self, key: Key) -> float:
        """Return the value of a key that is no macro average."""
        if key.side not in self.sides.counts:
            self.sides.check(key.side, key)
        return compute(key, self.sample(key.side, key.kind), self.ranks._memo)

    def sizes_within(self, side: str, codes: IntArray, groups: int) -> IntArray:
        """Return the number of tasks of a side in each group, by the group of each task."""
        self.sides.check(side, side)
        mask = self.sides.mask(side)
        return np.bincount(codes if mask is None else codes[mask], minlength=groups)

    def chance(self, key: Key) -> tuple[float, float]:
        """Return the mean and the variance of a key's metric under chance."""
        self.sides.check(key.side, key)
        return kept_moments(self.ranks._memo, key, self.sample(key.side, key.kind))

    def codes_of_units(self, codes: IntArray, argument: str) -> IntArray:
        """Return the label of each unit, which here is a task."""
        return codes
