"""What the numbers of a report are computed from: ranks with the weights in force, and groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

import numpy as np

from ..inference.intervals import Interval, Intervals, interval
from ..inference.pairing import RanksMissingError
from ..inference.units import UNIT
from ..inputs.errors import UnknownKeyError
from ..inputs.naming import public
from ..metrics import Key, Sample, compute, parse, sample_of
from ..metrics.averages import weighted_mean
from ..metrics.keys import sides_of
from ..metrics.kinds import take
from ..metrics.values import Grouping, kept_moments
from ..ranks.grouping import group_codes, task_weights_by
from .axes import unique_keys

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike

    Weights = str | Sequence[float] | FloatArray

R = TypeVar("R")  # a report


@public("truerank.reporting")
class Summary(NamedTuple):
    """Numbers of tasks, candidates and ties, whatever the weights.

    Attributes
    ----------
    tasks : int
    candidates_min, candidates_max : int
        The range of the number of candidates; 0 without tasks.
    tied_tasks : int
        The number of tasks whose true candidate ties with another one.
    largest_tie, mean_tie : int, float
        The number of candidates in a tie, the true one included: the largest, and the mean over
        the tied tasks; 1 and nan where no task ties.
    audit : dict of str to int, or None
        The results of a count with `audit=True`: the numbers of candidates that are `nan` and
        `inf` over all tasks, the largest number of candidates with the best score of a task,
        `at_best`, the number of true candidates with another score in their block, `differing`, and
        that of tasks whose row differs from the first row of their query, `mismatched`.

    Examples
    --------
    >>> import truerank as tr
    >>> tr.report(tr.Ranks([0, 3], [1, 2], 10)).summary.tied_tasks
    1
    """

    tasks: int
    candidates_min: int
    candidates_max: int
    tied_tasks: int
    largest_tie: int
    mean_tie: float
    audit: dict[str, int] | None


class Counted:
    """Ranks with the weights in force and their groups; the parameters are those of `Report`.

    Attributes
    ----------
    ranks, tasks : Ranks
        As they were given, and with the weights in force.
    sides : Sides
    grouping : Grouping or None
    draw : callable
        Returns the sample of all tasks for a kind of rank.
    """

    def __init__(
        self,
        ranks: Ranks,
        seed: int,
        by: LabelsLike | None = None,
        weights: Weights | None = None,
    ) -> None:
        self.ranks, self.seed = ranks, seed
        if isinstance(weights, str):
            weights = task_weights_by(ranks, weights)
        self.tasks = ranks if weights is None else ranks.with_weights(weights)
        self.sides = sides_of(ranks)
        self.draw: Callable[[str], Sample] = partial(sample_of, self.tasks, seed=seed)
        self.grouping: Grouping | None = None
        if by is not None:
            self.grouping = Grouping(self.tasks, *group_codes(ranks, by), self.sides, self.draw)
        self._last: tuple[str, str, Sample] | None = None
        self.values: dict[Key, float] = {}

    def value(self, key: Key) -> float:
        """Return the value of a key, which is computed once."""
        if key not in self.values:
            compute_value = self._macro if key.macro else self._micro
            self.values[key] = compute_value(key)
        return self.values[key]

    def _micro(self, key: Key) -> float:
        return compute(key, self.sample(key.side, key.kind), self.tasks._memo)

    def _macro(self, key: Key) -> float:
        values = self.groups(str(key)).values(key)
        return weighted_mean(values[~np.isnan(values)])

    @cached_property
    def summary(self) -> Summary:
        """The numbers of tasks, candidates and ties."""
        ranks, counts = self.ranks, None
        ties = ranks.tied[ranks.tied > 1]
        if ranks.audit is not None:
            counts = {name: int(numbers.sum()) for name, numbers in ranks.audit._asdict().items()}
            counts["at_best"] = int(ranks.audit.at_best.max(initial=0))
        return Summary(
            tasks=len(ranks),
            candidates_min=int(ranks.candidates.min()) if len(ranks) else 0,
            candidates_max=int(ranks.candidates.max(initial=0)),
            tied_tasks=len(ties),
            largest_tie=int(ties.max(initial=1)),
            mean_tie=float(ties.mean()) if len(ties) else math.nan,
            audit=counts,
        )

    def moments(self, key: Key) -> tuple[float, float]:
        """Mean and variance under chance, computed once for all kinds and reports of the ranks."""
        return kept_moments(self.tasks._memo, key, self.sample(key.side, key.kind))

    def sample(self, side: str, kind: str) -> Sample:
        """The ranks of one side and kind; the last ones are kept, since keys come in this order."""
        if self._last is None or self._last[:2] != (side, kind):
            self._last = side, kind, take(self.draw(kind), self.sides.mask(side))
        return self._last[2]

    def groups(self, key: str) -> Grouping:
        """The groups; a KeyError where there are none."""
        if self.grouping is None:
            raise UnknownKeyError(repr(key), "this report has no groups; report(ranks, by=...) has")
        return self.grouping

    def of_group(self, place: int) -> Counted:
        """The tasks of one group, drawn as those of all groups are."""
        grouping = self.groups("groups")
        group = Counted(grouping.ranks(place), self.seed)
        group.draw = partial(grouping.sample, group=place)
        return group


class OfRanks:
    """What a report has only while it has ranks; one from JSON says that they are missing."""

    seed: int
    _counted: Counted | None

    @property
    def _ranked(self) -> Counted:
        if self._counted is None:
            raise RanksMissingError(
                "this report was read from JSON, which holds no ranks; ranks.save(path) keeps them"
            )
        return self._counted

    @property
    def ranks(self) -> Ranks:
        """The ranks of the report."""
        return self._ranked.ranks

    @property
    def weights(self) -> FloatArray | None:
        """The weights in force: float64, shape (n,), read-only; None where all tasks count once.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], 10, queries=[7, 7]), weights="query").weights
        array([0.5, 0.5])
        """
        return self._ranked.tasks.weights

    @property
    def group_labels(self) -> IntArray | None:
        """The group of each task, numbered in the order of `groups`; None without groups."""
        grouping = self._ranked.grouping
        return None if grouping is None else grouping.codes

    def chance(self, metric: str) -> tuple[float, float]:
        """Return mean and variance of a metric under chance, which its adjustments use.

        Parameters
        ----------
        metric : str
            `[side.]metric[@k][:p]`; a kind and an adjustment do not matter.

        Returns
        -------
        mean, variance : float
            The result of `truerank.chance` for the candidates and weights of the side.

        Raises
        ------
        KeyError
            For an unknown key, a macro average, and a metric without a chance model.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 2], [1, 1], 3)).chance("mr")
        (2.0, 0.3333333333333333)
        """
        parsed = parse(metric)
        if parsed.macro:
            raise UnknownKeyError(repr(metric), "a macro average has no chance model of its own")
        self._ranked.sides.check(parsed.side, metric)
        return self._ranked.moments(parsed)

    @overload
    def interval(
        self,
        metric: str,
        *,
        by: LabelsLike | None = ...,
        level: float = ...,
        seed: int = ...,
    ) -> Interval: ...

    @overload
    def interval(
        self,
        metric: list[str] | tuple[str, ...],
        *,
        by: LabelsLike | None = ...,
        level: float = ...,
        seed: int = ...,
    ) -> Intervals: ...

    def interval(
        self,
        metric: str | list[str] | tuple[str, ...],
        *,
        by: LabelsLike | None = UNIT,
        level: float = 0.95,
        seed: int = 0,
    ) -> Interval | Intervals:
        """Compute the confidence interval of the value of a key, or of several.

        Parameters
        ----------
        metric : str, or list of str
            For "macro.X" the groups are those of the report.
        by : str, labels or None
            What was drawn when the test set was made, as in `truerank.inference.interval`: the
            label "unit", or tasks where the ranks have none; or "query", "relation", ...
        level : float
            How often such intervals cover the true value.
        seed : int
            The seed of the resamples, which only mad and extreme power means need.

        Returns
        -------
        Interval, or Intervals for several keys

        Raises
        ------
        KeyError
            For an unknown key.
        ValueError
            For a level outside of (0, 1), labels that do not fit the tasks.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> found = report(Ranks([0, 3, 1], [1, 1, 1], 10)).interval("mrr")
        >>> found.low <= found.value <= found.high
        True
        >>> list(report(Ranks([0, 3, 1], [1, 1, 1], 10)).interval(["mrr", "hits@1"]))
        ['mrr', 'hits@1']
        """
        if not isinstance(metric, (list, tuple)):
            return self._interval(metric, by=by, level=level, seed=seed)
        names = unique_keys(metric, "metric")
        options = {"by": by, "level": level, "seed": seed}
        return Intervals({name: self._interval(name, **options) for name in names})

    def _interval(self, key: str, **options: Any) -> Interval:
        """Compute the interval of one key."""
        parsed = parse(key)
        if parsed.macro:
            self._ranked.groups(key)
        groups = self.group_labels if parsed.macro else None
        return interval(self._ranked.tasks, parsed, groups=groups, draw_seed=self.seed, **options)

    def _sample(self, side: str, kind: str) -> Sample:
        """Return the ranks of a side and kind, as plots need them."""
        return self._ranked.sample(side, kind)


class Groups(Mapping[Hashable, R]):
    """The Reports of groups, each made when it is first read."""

    def __init__(self, labels: Iterable[Hashable], make: Callable[[int], R]) -> None:
        self._places = {label: place for place, label in enumerate(labels)}
        self._make = make
        self._reports: dict[Hashable, R] = {}

    def __getitem__(self, label: Hashable) -> R:
        if label not in self._reports:
            self._reports[label] = self._make(self._places[label])
        return self._reports[label]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"<groups: {', '.join(map(repr, self))}>"
