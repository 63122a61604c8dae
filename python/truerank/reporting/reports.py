"""The Report of ranks: every metric by its key, pooled, by side, by group, and over groups."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast, overload

from ..inference.intervals import Interval, Intervals, interval
from ..inference.units import UNIT
from ..inputs.checks import integer
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import printable, public
from ..metrics import Key, Sample, UnknownKeyError, compute, parse, sample_of
from ..metrics.keys import ALL_SIDES, sides_of
from ..metrics.kinds import DEFAULT_KIND, take
from ..metrics.values import Grouping, kept_moments
from ..ranks.container import Ranks
from ..ranks.grouping import group_codes, task_weights_by
from ..ranks.labels import LABEL_WORDS
from .any_report import AnyReport
from .audit import Findings, Summary, findings, summarise
from .axes import FEW_METRICS, compose_key, rows_by_label, unique_keys
from .json_report import JsonReport, read_json
from .macro import read_macro_weights

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray
    from ..ranks.labels import LabelsLike
    from .macro import MacroWeights

    Weights = str | Sequence[float] | FloatArray

_EQUAL_BY = (
    "_seed",
    "_ranks",
    "_tasks",
    "_grouping",
    "_average",
    "_under_others",
)  # reports are equal if these are
_REPR_METRICS = ("mrr", "hits@10", "amri")


@public("truerank")
class Report(AnyReport):
    """The metrics of ranks, computed when they are read.

    `report[key]` reads any key `[macro.][side.][kind.][adjustment.]metric[@k][:p]`. As a mapping it
    iterates over the default keys: the usual metrics of every side that has tasks and of the three
    kinds that do not depend on a seed; with `by`, also their means over groups.

    Without a side, and for "both", all tasks are pooled except those of the side "relation", which
    rank few candidates: they are read only by the name of their side. Without tasks a metric is
    nan.

    With `by`, `report.groups[label]` is the Report of the tasks of a group, adjusted with their own
    numbers of candidates, and "macro.X" is the mean of X over the groups. Groups without tasks of
    the side, or whose X is nan, are left out of the mean; `macro_left_out` counts them.

    Parameters
    ----------
    ranks : Ranks
    seed : int
        The seed of the kind "random". All tasks are drawn at once, so that sides and groups agree
        with the whole.
    by : str or labels, optional
        The group of each task: the name of a label ("relation", "side", "query", "target", or any
        that `ranks.labels` has), or labels in any form, one for each task.
    weights : array_like of float, shape (n,), or {"query", "relation", "target"}, optional
        Used instead of the weights of the ranks; finite, >= 0, not all 0. Only their ratios matter.
        By name: every query, relation or answer of a side counts once, or every value of a label
        that `ranks.labels` has.
    macro_weights : "count", mapping of label to float, or array_like of float, optional
        The weight of each group in "macro.X": 1 if not given, its number of tasks of the side, or
        the given number (an array is in the order of `groups`).

    Attributes
    ----------
    ranks : Ranks
    seed : int
    sides : tuple of str
        "both" and the named sides that have tasks; only "both" where there are no tasks.
    groups : mapping of label to Report
        Empty without `by`.
    filters : mapping of str to Report
        The report of the same tasks under each filter by name, this one first; empty if they were
        counted under one filter.

    Raises
    ------
    TypeError
        If `ranks` is something else, or its sides are ids instead of names.
    ValueError
        If the name of a side cannot be told from the other words of a key, and if labels or weights
        do not fit the tasks.

    Examples
    --------
    >>> measured = Report(Ranks([0, 3], [1, 2], 10, side=["head", "tail"]), by="side")
    >>> measured["mrr"], measured["tail.optimistic.hits@4"], measured["macro.mrr"]
    (0.6111111111111112, 1.0, 0.6111111111111112)
    >>> measured.groups["tail"]["mr"]
    4.5
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        ranks: Ranks,
        *,
        seed: int = 0,
        by: LabelsLike | None = None,
        weights: Weights | None = None,
        macro_weights: MacroWeights | None = None,
    ) -> None:
        if not isinstance(ranks, Ranks):
            raise InputTypeError("ranks", expected="Ranks", got=type(ranks).__name__)
        seed = integer("seed", seed, least=0)
        tasks = _apply_weights(ranks, weights)
        word = by if by is None or isinstance(by, str) else "label"
        weighting = _describe_weighting(tasks, weights)
        super().__init__(sides_of(ranks), ranks.protocol, seed, weighting, word)
        self._ranks, self._tasks = ranks, tasks
        self._sample_kind: Callable[[str], Sample] = partial(sample_of, tasks, seed=seed)
        self._values: dict[Key, float] = {}
        self._last_sample: tuple[str, str, Sample] | None = None
        self._summary: Summary | None = None
        self._grouping: Grouping | None = None
        if by is not None:
            self._grouping = Grouping(
                tasks, *group_codes(ranks, by), self._sides, self._sample_kind
            )
        names = None if self._grouping is None else self._grouping.names
        self._average = read_macro_weights(macro_weights, names)
        self._groups = _GroupReports(names or [], self._group_report)
        self._filter_name = ""
        self._under_others: dict[str, Report] = {}

    @property
    def ranks(self) -> Ranks:
        """The ranks of the report."""
        return self._ranks

    @property
    def group_labels(self) -> IntArray | None:
        """The group of each task, numbered in the order of `groups`; None without groups."""
        return None if self._grouping is None else self._grouping.codes

    @property
    def weights(self) -> FloatArray | None:
        """The weights in force: float64, shape (n,), read-only; None where all tasks count once.

        Examples
        --------
        >>> Report(Ranks([0, 3], [1, 1], 10, queries=[7, 7]), weights="query").weights
        array([0.5, 0.5])
        """
        return self._tasks.weights

    @property
    def summary(self) -> Summary:
        """The numbers of tasks and ties, and how much the ties matter.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 2], 10)).summary.largest_tie
        2
        """
        if self._summary is None:
            self._summary = summarise(self._ranks)
        return self._summary

    @staticmethod
    def from_json(text: str) -> Report:
        """Read what `to_json` wrote: a Report without `.ranks`, which has only the stored keys.

        Parameters
        ----------
        text : str

        Returns
        -------
        Report
            It equals the one that was written in all that is stored.

        Raises
        ------
        ValueError
            If the text is damaged or something else.

        Examples
        --------
        >>> from truerank import report
        >>> Report.from_json(report(Ranks([0, 3], [1, 1], 10)).to_json())["mrr"]
        0.625
        """
        return cast("Report", read_json(text))  # JsonReport is registered, which types cannot see

    # -- a mapping ---------------------------------------------------------------------------------

    def _value(self, key: str) -> float:
        """Return the value of a key; an unknown one is a KeyError with the most similar names."""
        parsed = parse(key)
        if parsed not in self._values:
            if parsed.macro:
                self._require_grouping(key)
            self._sides.check(parsed.side, key)
            self._values[parsed] = self._macro(parsed) if parsed.macro else self._micro(parsed)
        return self._values[parsed]

    def __iter__(self) -> Iterator[str]:
        axes = self.default_axes()
        yield from axes.names()
        if self._grouping is not None:
            yield from axes._replace(kinds=[DEFAULT_KIND]).macro_names()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, JsonReport) or not isinstance(other, Report):
            return NotImplemented  # a report from JSON compares what was stored
        return all(getattr(self, name) == getattr(other, name) for name in _EQUAL_BY)

    def __repr__(self) -> str:
        side = self.sides[0]
        values = (
            f"{name} {self[compose_key(side, DEFAULT_KIND, name)]:.4g}" for name in _REPR_METRICS
        )
        prefix = "" if side == ALL_SIDES else f"{side}."
        sizes = [f"{len(self._ranks):,} tasks", f"{self.summary.tied_tasks:,} tied"]
        sizes += [] if self._grouping is None else [f"{len(self._groups):,} groups"]
        return printable(f"Report({', '.join(sizes)}, {prefix}{', '.join(values)})")

    # -- filters -----------------------------------------------------------------------------------

    @property
    def filters(self) -> Mapping[str, Report]:
        """The report of the same tasks under each filter; empty if there was only one.

        A task of a protocol makes it, which counts all filters in one pass over the scores; see
        `truerank.link_prediction.Task`. This report is the first one.

        Examples
        --------
        >>> from truerank.link_prediction import Task
        >>> task = Task([[0, 0, 1]], [[[0, 0, 2]]], sides=["tail"], filters=["query", "none"])
        >>> measured = task.evaluate_scores([[0.1, 0.5, 0.9]])
        >>> {name: under["mr"] for name, under in measured.filters.items()}
        {'query': 1.0, 'none': 2.0}
        """
        return {self._filter_name: self, **self._under_others} if self._under_others else {}

    def _beside(self, filters: Mapping[str, Report]) -> Report:
        """Return this report, which is the first of the given ones, with the others beside it."""
        if len(filters) > 1:
            self._filter_name, *others = filters
            self._under_others = {name: filters[name] for name in others}
        return self

    # -- groups ------------------------------------------------------------------------------------

    @property
    def groups(self) -> Mapping[Hashable, Report]:
        """The Report of each group by its label; empty without `by`.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], 10), by=["likes", "knows"]).groups["knows"]["mr"]
        4.0
        """
        return self._groups

    @property
    def macro_weighting(self) -> str:
        """How the groups count in macro averages, in words."""
        return str(self._average)

    def macro_counts(self) -> dict[Hashable, float] | None:
        """Return the weight of each group in macro averages; None where no weights were given.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> ranks = Ranks([0, 3], [1, 1], 10)
        >>> report(ranks, by=["a", "b"], macro_weights=[1, 2]).macro_counts()
        {'a': 1.0, 'b': 2.0}
        """
        return self._average.by_name([] if self._grouping is None else self._grouping.names)

    def group_tasks(self, side: str = ALL_SIDES) -> dict[Hashable, int]:
        """Return the number of tasks of a side in each group.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3, 1], [1, 1, 1], 10), by=["a", "b", "a"]).group_tasks()
        {'a': 2, 'b': 1}
        """
        grouping = self._require_grouping("group_tasks")
        self._sides.check(side, side)
        return dict(zip(grouping.names, grouping.counts(side).tolist(), strict=True))

    def group_values(self, key: str) -> dict[Hashable, float]:
        """Return the value of a key for every group at once, as `groups[label][key]` does for one.

        Parameters
        ----------
        key : str
            A key without "macro.".

        Returns
        -------
        dict of label to float
            nan where a group has no tasks of the side.

        Raises
        ------
        KeyError
            For an unknown key, and without `by`.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3, 1], [1, 1, 1], 10), by=["a", "b", "a"]).group_values("mr")
        {'a': 1.5, 'b': 4.0}
        """
        parsed, grouping = parse(key), self._require_grouping(key)
        if parsed.macro:
            raise UnknownKeyError(repr(key), "a macro average is not of one group")
        self._sides.check(parsed.side, key)
        return dict(zip(grouping.names, grouping.values(parsed).tolist(), strict=True))

    def by_query(
        self, metrics: str | Iterable[str] | None = None
    ) -> dict[Hashable, dict[str, float]]:
        """Return the values of each query by key, over the tasks of the query.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            Keys without "macro."; a few usual ones if not given.

        Returns
        -------
        dict of query to dict of str to float
            In the order of the queries' labels; "side query" pairs where sides share queries.

        Raises
        ------
        ValueError
            If the ranks have no labels `queries`.
        KeyError
            For an unknown key.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3, 1], [1, 1, 1], 10, queries=["a", "b", "a"])).by_query(["mr"])
        {'a': {'mr': 1.5}, 'b': {'mr': 4.0}}
        """
        keys = unique_keys(FEW_METRICS if metrics is None else metrics)
        within = Report(self._tasks, seed=self.seed, by="query")
        return rows_by_label({key: within.group_values(key) for key in keys}, within.groups)

    # -- chance, intervals and the audit -----------------------------------------------------------

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
        self._sides.check(parsed.side, metric)
        return self._moments(parsed)

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
            For a level outside of (0, 1), labels that do not fit the tasks, and a macro average in
            which groups have unequal weights.

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
            self._require_grouping(key)
            if self._average.weighted:
                raise InputValueError(
                    "metric",
                    f"{key!r} is {self.macro_weighting}; an interval is there where every "
                    "group counts once",
                )
        groups = self.group_labels if parsed.macro else None
        return interval(self._tasks, parsed, groups=groups, draw_seed=self.seed, **options)

    def audit(self, *names: str) -> Findings:
        """List what makes the numbers suspect; an empty list says that nothing was found.

        The checks find ranks that are worse than random ones, as if the order were forgotten, ties
        that move a metric, constant rows, NaN and inf, saturated scores, tasks with hardly any
        candidates, sampled candidates, candidates of the test alone, weights that leave few
        effective tasks, and scores that were not counted. It prints how the ranks were counted, too.

        Parameters
        ----------
        *names : str
            The checks. Default: all.

        Returns
        -------
        Findings
            A list of Finding, of which each has a name, a value, a threshold and a message.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> for finding in report(Ranks([0], [10], 10)).audit("ties", "constant"):
        ...     print(finding)
        ties: ties move hits@1 by 1: optimistic 1, realistic 0, pessimistic 0, expected 0.1; say which is reported
        constant: all candidates have one score in 1 of 1 tasks (100 %)
        """  # noqa: E501
        return findings(self, names)

    # -- how values are computed -------------------------------------------------------------------

    def _micro(self, key: Key) -> float:
        return compute(key, self._sample(key.side, key.kind), self._tasks._memo)

    def _macro(self, key: Key) -> float:
        grouping = self._require_grouping(str(key))
        return self._average.of(grouping.values(key), grouping.counts(key.side))

    def _require_grouping(self, key: str) -> Grouping:
        if self._grouping is None:
            way = "report(ranks, by=...)"
            raise UnknownKeyError(repr(key), f"this report has no groups; give them with {way}")
        return self._grouping

    def _group_report(self, place: int) -> Report:
        grouping = self._require_grouping("groups")
        made = Report(grouping.ranks(place), seed=self._seed)
        made._sample_kind = partial(grouping.sample, group=place)  # all groups are drawn at once
        # every group has the same keys, also for sides of which it has no tasks
        counts = {side: int(grouping.counts(side)[place]) for side in self._sides.counts}
        made._sides = made._sides._replace(counts=counts)
        return made

    def _moments(self, key: Key) -> tuple[float, float]:
        """Mean and variance under chance, computed once for all kinds and reports of the ranks."""
        return kept_moments(self._tasks._memo, key, self._sample(key.side, key.kind))

    def _sample(self, side: str, kind: str) -> Sample:
        """The ranks of one side and kind; the last ones are kept, since keys come in this order."""
        last = self._last_sample
        if last is None or last[:2] != (side, kind):
            sample = take(self._sample_kind(kind), self._sides.mask(side))
            last = self._last_sample = side, kind, sample
        return last[2]


# isinstance(report, Report) holds for reports from JSON, too, though they have no ranks
Report.register(JsonReport)


class _GroupReports(Mapping[Hashable, "Report"]):
    """The Reports of groups, each made when it is first read."""

    def __init__(self, names: list[Hashable], make: Callable[[int], Report]) -> None:
        self._positions = {name: place for place, name in enumerate(names)}
        self._make_report = make
        self._reports: dict[Hashable, Report] = {}

    def __getitem__(self, label: Hashable) -> Report:
        if label not in self._reports:
            self._reports[label] = self._make_report(self._positions[label])
        return self._reports[label]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)

    def __repr__(self) -> str:
        return f"<groups: {', '.join(map(repr, self))}>"


def _describe_weighting(tasks: Ranks, weights: Weights | None) -> str:
    """Say how the tasks are weighted."""
    if isinstance(weights, str):
        return f"each {LABEL_WORDS.get(weights, weights)} counts once"
    return "" if tasks.weights is None else "weighted"


def _apply_weights(ranks: Ranks, weights: Weights | None) -> Ranks:
    """Return the ranks with the weights in force; weights by name are computed once."""
    if weights is None:
        return ranks
    if not isinstance(weights, str):
        return ranks.with_weights(weights)
    place = "weighed", weights
    if place not in ranks._memo:
        ranks._memo.setdefault(place, ranks.with_weights(task_weights_by(ranks, weights)))
    found: Ranks = ranks._memo[place]
    return found
