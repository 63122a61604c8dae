"""The values that tasks, and queries with several right answers, have under a key, and its own."""

from __future__ import annotations

import math
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from .. import metrics
from ..errors import InputTypeError, InputValueError, UnknownKeyError
from ..inputs.rules import suggest
from . import keys
from .metric_table import ADJUSTMENTS, DEFAULT_KIND, EXPECTED_KIND, KINDS, MetricRow
from .ties import MOST, Parameter, hit_share, mean_over_positions

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import FloatArray, IntArray
    from ..ranks.container import Ranks
    from .answers import Answers
    from .keys import Grammar, Key


# What units add to a metric, one value each, and their weights; None: all equal.
UnitValues: TypeAlias = "tuple[FloatArray, FloatArray | None]"


class Sample(NamedTuple):
    """The ranks of a side and a kind, with candidates and weights, all of shape (n,)."""

    ranks: FloatArray  # of the kind "expected" the first position of each tie
    candidates: IntArray
    weights: FloatArray | None = None  # finite and >= 0; only their ratios matter
    # Of the kind "expected" the number of positions of each tie; other kinds have single positions.
    tied: IntArray | None = None
    # Of the kind "realistic" that of the tie in whose middle a rank is; None for other kinds.
    tied_around: IntArray | None = None

    def take(self, index: npt.NDArray[Any] | None) -> Sample:
        """Take tasks by positions or a mask; None takes all."""
        if index is None:
            return self
        return Sample(*(None if column is None else column[index] for column in self))  # type: ignore[arg-type]


def values_of_tasks(metric: MetricRow, sample: Sample, parameter: Parameter = 0) -> FloatArray:
    """Return f(r) of every task, or its mean over the task's tie; float64, shape (n,).

    >>> from truerank.metrics import METRICS
    >>> tie = Sample(np.array([1.0]), np.array([9]), tied=np.array([2]))
    >>> values_of_tasks(METRICS["mrr"], tie), values_of_tasks(METRICS["mrr"], tie, 1)
    (array([0.75]), array([0.5]))
    """
    ranks = sample.ranks
    candidates = sample.candidates
    has_cutoff = metric.is_cut and parameter
    if sample.tied_around is not None and metric.of_middle is not None:
        return metric.of_middle(ranks, sample.tied_around, candidates, parameter)
    if sample.tied is None:
        values = metric.of_rank(ranks, candidates, parameter)
        return values * (ranks <= min(parameter, MOST)) if has_cutoff else values
    over_tie = metric.over_tie or partial(mean_over_positions, metric.of_rank)
    if not has_cutoff:
        return over_tie(ranks, sample.tied, candidates, parameter)
    # Beyond the cutoff f is 0: its mean is that over the positions within, times their share.
    shares = hit_share(ranks, sample.tied, parameter)
    number_within = np.rint(shares * sample.tied).astype(np.int64)
    return shares * over_tie(ranks, np.maximum(number_within, 1), candidates, parameter)


def adjusted(key: Key, value: float, mean: float, variance: float) -> float:
    """Adjust a value as a key says, with the mean and variance under chance."""
    result = float(ADJUSTMENTS[key.adjustment](value, mean, variance, key.row.optimum))
    return math.nan if math.isnan(result) else result  # One nan, so that equal dicts are equal.


class Rankings:
    """Rankings of candidates, the units of a report, and what each adds under a key.

    A unit is a task, which has one right answer, or a query with several, as the answers say.
    Values, of groups too, intervals and comparisons are made of `unit_values`. What was drawn may
    hold several units. The ranks have the weights in force; the seed is that of the kind "random".
    `side_counts` has the number of units of each side; "both", which pools all but relations, comes
    first, and is missing where no task may be pooled.

    >>> from truerank import Ranks
    >>> from truerank.metrics.keys import parse
    >>> Rankings(Ranks([0, 3, 4], [1, 1, 1], 10)).value(parse("mrr"))
    0.48333333333333334
    """

    def __init__(
        self,
        ranks: Ranks,
        seed: int = 0,
        answers: Answers | None = None,
        whole: Rankings | None = None,
        places_in_whole: IntArray | None = None,
    ) -> None:
        self.ranks = ranks
        self.seed = seed
        self.answers = answers
        self.side_counts = {keys.ALL_SIDES: answers.counted} if answers else count_sides(ranks)
        if whole is not None:
            absent = whole.side_counts.keys() - self.side_counts
            self.side_counts.update(dict.fromkeys(absent, 0))
        self._whole = whole
        self._places_in_whole = places_in_whole
        self._last_sample: dict[tuple[str, str], Sample] = {}  # by side and kind

    @property
    def grammar(self) -> Grammar:
        """What its keys are made of."""
        return keys.RANK_KEYS if self.answers is None else self.answers.grammar

    @property
    def rules(self) -> dict[str, Any]:
        """How right answers count, which is equal in two models that are compared."""
        if self.answers is None:
            return {}
        return {"gains": self.answers.gains, "queries without answers": self.answers.zeros}

    def with_ranks(self, ranks: Ranks) -> Rankings:
        """Return these tasks in another order, or with other labels or weights."""
        if self.answers is None:
            return Rankings(ranks, self.seed)
        answers = metrics.answers.Answers(ranks)
        return Rankings(answers.ranks, self.seed, answers)

    def part(self, tasks: IntArray, without_answers: IntArray | int = 0) -> Rankings:
        """Return some of the tasks; the sides and the random ranks are those of the whole.

        `without_answers` are the queries without an answer that each task brings.
        """
        ranks = self.ranks[tasks]
        if self.answers is not None:
            numbers = np.zeros(len(ranks), np.int64) + without_answers
            return self.with_ranks(ranks._with({"without_answers": numbers}))
        return Rankings(ranks, self.seed, whole=self, places_in_whole=tasks)

    # -- sides -------------------------------------------------------------------------------------

    @cached_property
    def sides(self) -> tuple[str, ...]:
        """The sides that have tasks; only "both" where there are no tasks."""
        return tuple(side for side, n in self.side_counts.items() if n) or (keys.ALL_SIDES,)

    def check_side(self, side: str, key: str | Key) -> None:
        """Raise a KeyError for an unknown side of a key."""
        if not isinstance(side, str):
            raise UnknownKeyError("side", "", "a str", type(side).__name__)
        if side in self.side_counts:
            return
        if side == keys.ALL_SIDES:
            why = f"all tasks are of the side {keys.UNPOOLED_SIDE!r}, which is read only under its "
            keys.fail(str(key), f"{why}own name, as in '{keys.UNPOOLED_SIDE}.mrr'")
        words = [*self.side_counts, *KINDS, *keys.ADJUSTED]
        why = f"no side {keys.quote(side)} in these ranks; {suggest(side, words)}"
        keys.fail(str(key), f"{why}; a key cannot name a group", [keys.GROUPS])

    def side_mask(self, side: str) -> npt.NDArray[np.bool_] | None:
        """A mask of the tasks of a side; None if all belong to it."""
        labels = self.ranks.side
        if self.answers is not None or labels is None or labels.vocabulary is None:
            return None
        if side != keys.ALL_SIDES:
            return np.equal(labels.codes, labels.vocabulary.index(side))
        if keys.UNPOOLED_SIDE in labels.vocabulary:
            return np.not_equal(labels.codes, labels.vocabulary.index(keys.UNPOOLED_SIDE))
        return None

    # -- values ------------------------------------------------------------------------------------

    def value(self, key: Key, unit_values: UnitValues | None = None) -> float:
        """Return the value of a key that is no macro average, from those of units if known."""
        values, weights = unit_values or self.unit_values(key)
        value = key.row.inverse(key.row.average(values, weights, key.parameter))
        if key.adjustment == keys.NO_ADJUSTMENT:
            return value
        return adjusted(key, value, *self.chance(key))

    def unit_values(self, key: Key) -> UnitValues:
        """Return what each unit of a key adds, and the weights; None: all equal.

        These are the tasks of its side, or the queries that count: `value_labels` tells which.
        """
        if key.side not in self.side_counts:
            self.check_side(key.side, key)
        if self.answers is not None:
            return self.answers.unit_values(key)
        sample = self.sample(key.side, key.kind)
        return values_of_tasks(key.row, sample, key.parameter), sample.weights

    def best_value(self, key: Key) -> float:
        """Return the greatest value of a unit of a mean; inf where less is better."""
        if not key.row.increasing:
            return math.inf
        return key.row.optimum if self.answers is None else self.answers.best_value(key)

    def sample(self, side: str, kind: str) -> Sample:
        """Return the ranks of a side and kind; the last ones are kept, for the keys that follow.

        A realistic rank is the middle of its tie, and an expected value is over the tie: of these
        the sample has the numbers of tied candidates.
        """
        if (side, kind) in self._last_sample:
            return self._last_sample[side, kind]
        ranks = self.ranks
        numbers = self._random_ranks if kind == "random" else KINDS[kind](ranks, self.seed)
        sample = Sample(
            numbers.astype(np.float64, copy=False),
            ranks.candidates,
            ranks.weights,
            tied=ranks.tied if kind == EXPECTED_KIND else None,
            tied_around=ranks.tied if kind == DEFAULT_KIND else None,
        )
        if len(self.side_counts) > 1:
            sample = sample.take(self.side_mask(side))
        self._last_sample = {(side, kind): sample}
        return sample

    @cached_property
    def _random_ranks(self) -> IntArray | FloatArray:
        """The random ranks of all tasks, which are drawn at once."""
        if self._whole is not None:
            return self._whole._random_ranks[self._places_in_whole]
        return KINDS["random"](self.ranks, self.seed)

    def chance(self, key: Key) -> tuple[float, float]:
        """Return mean and variance of a key's metric under chance, computed once for each side."""
        self.check_side(key.side, key)
        sample = self.sample(key.side, key.kind)
        memo = self.ranks._memo  # All reports of ranks with these weights share it.
        memo_key = "chance", key.metric, key.parameter, key.side
        if memo_key not in memo:
            tasks = metrics.chance_model.group_tasks(sample.candidates, sample.weights)
            memo[memo_key] = metrics.chance_model.task_moments(key.row, key.parameter, tasks)
        mean_and_variance: tuple[float, float] = memo[memo_key]
        return mean_and_variance

    # -- groups and units --------------------------------------------------------------------------

    def labels(self, codes: IntArray, argument: str) -> IntArray:
        """Return the label of each unit from those of tasks, which a query's share."""
        return codes if self.answers is None else self.answers.labels(codes, argument)

    def value_labels(self, key: Key, labels: IntArray) -> IntArray:
        """Return the label of each of `unit_values`, from those of all units.

        A query without any answer, which counts as 0, has none: its label is -1.
        """
        if self.answers is not None:
            return self.answers.value_labels(key, labels)
        return self.side_labels(key.side, labels)

    def side_labels(self, side: str, labels: IntArray) -> IntArray:
        """Return the labels of the units of a side that count, from those of all."""
        if self.answers is not None:
            are_all = self.answers.zeros is not None
            return labels if are_all else labels[self.answers.places_with_right]
        mask = self.side_mask(side)
        return labels if mask is None else labels[mask]


def count_sides(ranks: Ranks) -> dict[str, int]:
    """Count the tasks of each side, and those that may be pooled; refuse ids, and words of keys."""
    labels = ranks.side
    if labels is None or (labels.vocabulary is None and not len(ranks)):
        return {keys.ALL_SIDES: len(ranks.above)}
    counts = {str(name): n for name, n in labels.counts().items()}
    if labels.vocabulary is None:
        expected = "names of sides in `side`, such as 'head' and 'tail'"
        raise InputTypeError("ranks", expected=expected, got="integer ids")
    for name in counts:
        if not keys.is_side_name(name):
            problem = f"a key cannot tell the side {name!r} from its other words; rename it with "
            problem += "ranks.with_labels(side=...)"
            raise InputValueError("ranks", problem)
    pooled = len(ranks) - counts.get(keys.UNPOOLED_SIDE, 0)
    if len(ranks) and not pooled:
        return counts
    return {keys.ALL_SIDES: pooled} | counts
