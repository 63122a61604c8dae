"""What the numbers of a report are computed from: ranks with the weights in force, and groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack, overload

import numpy as np

from ..inference.intervals import Interval, Intervals, interval
from ..inference.pairing import RanksMissingError
from ..inference.units import UNIT
from ..inputs.errors import UnknownKeyError
from ..inputs.naming import public
from ..metrics import Key, Sample, compute, parse, sample_of
from ..metrics.averages import weighted_mean
from ..metrics.keys import MACRO, sides_of
from ..metrics.kinds import DEFAULT_KIND, take
from ..metrics.values import Grouping, kept_moments
from ..ranks.grouping import group_codes, task_weights_by
from ..ranks.labels import LABEL_WORDS
from .axes import DEFAULT_KINDS, DEFAULT_METRICS, compose_key, unique_keys

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike

    Weights = str | Sequence[float] | FloatArray

NO_GROUPS = "this report has no groups; report(ranks, by=...) has"


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
    protocol, seed, weighting, by, sides
        What `Report` tells of them.
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
        self.ranks, self.protocol, self.seed, self.weighting = ranks, ranks.protocol, seed, ""
        if isinstance(weights, str):
            self.weighting = f"each {LABEL_WORDS.get(weights, weights)} counts once"
            weights = task_weights_by(ranks, weights)
        self.tasks = ranks if weights is None else ranks.with_weights(weights)
        if self.tasks.weights is not None:
            self.weighting = self.weighting or "weighted"
        self.sides = sides_of(ranks)
        self.draw: Callable[[str], Sample] = partial(sample_of, self.tasks, seed=seed)
        self.by: str | None = None
        self.grouping: Grouping | None = None
        if by is not None:
            self.by = by if isinstance(by, str) else "label"
            self.grouping = Grouping(self.tasks, *group_codes(ranks, by), self.sides, self.draw)
        self._last: tuple[str, str, Sample] | None = None
        self._values: dict[Key, float] = {}

    columns: Sequence[str] = ()  # none is stored

    @property
    def labels(self) -> list[Hashable]:
        """The labels of the groups."""
        return [] if self.grouping is None else self.grouping.names

    def value(self, key: Key) -> float:
        """Return the value of a key, which is computed once; a KeyError for an unknown side."""
        if key not in self._values:
            if key.side not in self.sides.counts:
                self.sides.check(key.side, str(key))
            if key.macro:
                values = self.groups(key).values(key)
                self._values[key] = weighted_mean(values[~np.isnan(values)])
            else:
                sample = self.sample(key.side, key.kind)
                self._values[key] = compute(key, sample, self.tasks._memo)
        return self._values[key]

    def column(self, key: Key) -> list[float]:
        """Return the value of a key in each group."""
        self.sides.check(key.side, str(key))
        values: list[float] = self.groups(key).values(key).tolist()
        return values

    @property
    def keys(self) -> list[str]:
        """The usual keys: where nothing ties, those of one kind of rank alone."""
        kinds = DEFAULT_KINDS if self.summary.tied_tasks else (DEFAULT_KIND,)
        sides, names = self.sides.present, DEFAULT_METRICS
        found = [compose_key(s, kind, name) for s in sides for kind in kinds for name in names]
        if self.grouping is not None:
            means = [name for name in names if parse(name).adjustment != "z"]
            keys = (compose_key(side, DEFAULT_KIND, name) for side in sides for name in means)
            found += [f"{MACRO}.{key}" for key in keys]
        return found

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

    def groups(self, key: object) -> Grouping:
        """The groups; a KeyError where there are none."""
        if self.grouping is None:
            raise UnknownKeyError(repr(str(key)), NO_GROUPS)
        return self.grouping

    def group_tasks(self, side: str) -> list[int]:
        """Return the number of tasks of a side in each group."""
        return [*map(int, self.groups("group_tasks").counts(side))]

    def of_group(self, place: int) -> Counted:
        """The tasks of one group, drawn as those of all groups are."""
        grouping = self.groups("groups")
        group = Counted(grouping.ranks(place), self.seed)
        group.draw, group.weighting = partial(grouping.sample, group=place), self.weighting
        group.sides.counts.update(dict.fromkeys(self.sides.counts.keys() - group.sides.counts, 0))
        return group


class _Keywords(TypedDict, total=False):
    by: LabelsLike | None
    level: float
    seed: int


class OfRanks:
    """What a report has only while it has ranks; one from JSON says that they are missing."""

    seed: int
    _source: Any  # a Counted, or what was read from JSON

    @property
    def _ranked(self) -> Counted:
        if not isinstance(self._source, Counted):
            raise RanksMissingError(
                "this report was read from JSON, which holds no ranks; ranks.save(path) keeps them"
            )
        counted: Counted = self._source
        return counted

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
    def interval(self, metric: str, **options: Unpack[_Keywords]) -> Interval: ...
    @overload
    def interval(
        self, metric: list[str] | tuple[str, ...], **options: Unpack[_Keywords]
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
        tasks, found = self._ranked.tasks, {}
        single = not isinstance(metric, (list, tuple))
        for name in [metric] if isinstance(metric, str) else unique_keys(metric, "metric"):
            key = parse(name)
            groups = self._ranked.groups(key).codes if key.macro else None
            options: Any = {"by": by, "level": level, "seed": seed, "draw_seed": self.seed}
            found[name] = interval(tasks, key, groups=groups, **options)
        return found[name] if single else Intervals(found)

    def _sample(self, side: str, kind: str) -> Sample:
        """Return the ranks of a side and kind, as plots need them."""
        return self._ranked.sample(side, kind)
