"""The report of ranks: every metric by its key, pooled, by side, by group, and over groups."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypedDict, Unpack, overload

from ..inference.intervals import Interval, Intervals, interval
from ..inference.units import UNIT, RanksMissingError, TaskLabels, Units, weighted_ranks
from ..inputs.checks import integer, unique_keys
from ..inputs.naming import printable, public
from ..inputs.words import suggest
from ..metrics import UnknownKeyError, parse
from ..metrics.keys import ALL_SIDES, MACRO
from ..metrics.kinds import DEFAULT_KIND
from ..tables.cells import format_count
from ..tables.forms import json_value, write_json
from .audit import Findings, findings
from .keyed_values import SHORT_METRICS, Groups, KeyedValues, Names, compose_key, report_table
from .sources import JSON_FORMAT, JSON_KIND, Counted, Stored, Summary, read_report

if TYPE_CHECKING:
    from ..inference.units import HasUnits
    from ..inputs.arrays import FloatArray, IntArray
    from ..metrics import Key
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike
    from ..tables import Table
    from .sources import Weights


class _Keywords(TypedDict, total=False):
    by: LabelsLike | None
    level: float
    seed: int


@public("truerank")
class Report(KeyedValues):
    """The metrics of ranks, computed when they are asked for, or read back from JSON.

    `report[key]` reads any key `[macro.][side.][kind.][adjustment.]metric[@k][:p]`. As a mapping it
    iterates over the default keys: the usual metrics of every side that has tasks, of realistic
    ranks and, where tasks tie, of optimistic and pessimistic ones; with `by`, also their means over
    groups.

    What `from_json` reads has the stored keys alone and no ranks: `ranks`, `weights`, `interval`
    and `chance` raise an AttributeError.

    Without a side, and for "both", all tasks are pooled except those of the side "relation", which
    rank few candidates: they are read only by the name of their side. Without tasks a metric is
    nan.

    With `by`, `report.groups[label]` is the Report of the tasks of a group, adjusted with their own
    numbers of candidates, and "macro.X" is the mean of X over the groups. Groups without tasks of
    the side, or whose X is nan, are left out of the mean; `macro_left_out` counts them.

    Parameters
    ----------
    ranks : Ranks or Report
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

    Attributes
    ----------
    ranks : Ranks
    protocol : Protocol
        How the ranks were counted.
    seed : int
    weighting : str
        How tasks are weighted, in words; empty where all count once.
    by : str or None
        The name of the groups, such as "relation".
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
    >>> from truerank import Ranks
    >>> measured = Report(Ranks([0, 3], [1, 2], 10, side=["head", "tail"]), by="side")
    >>> measured["mrr"], measured["tail.optimistic.hits@4"], measured["macro.mrr"]
    (0.6111111111111112, 1.0, 0.6111111111111112)
    >>> measured.groups["tail"]["mr"]
    4.5
    """

    def __init__(
        self,
        ranks: Ranks | Report,
        *,
        seed: int = 0,
        by: LabelsLike | None = None,
        weights: Weights | None = None,
    ) -> None:
        seed = integer("seed", seed, least=0)
        self._tell(Counted(weighted_ranks("ranks", ranks), seed, by, weights))

    def _tell(self, source: Counted | Stored) -> None:
        """Tell what the numbers are computed from, or what they were read from."""
        self._source, self._sides, self.sides = source, source.sides, source.sides.present
        self.protocol, self.seed = source.protocol, source.seed
        self.weighting, self.by = source.weighting, source.by
        make = partial(_report_of_group, source)
        self.groups: Mapping[Hashable, Report] = Groups(source.group_names, make)
        self.filters: Mapping[str, Report] = {}

    @classmethod
    def _of(cls, source: Counted | Stored) -> Report:
        report = cls.__new__(cls)
        report._tell(source)
        return report

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Read what `to_json` wrote: a Report without `.ranks`, which has only the stored keys.

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
        >>> from truerank import Ranks, report
        >>> Report.from_json(report(Ranks([0, 3], [1, 1], 10)).to_json())["mrr"]
        0.625
        """
        stored = read_report(text)
        others = {name: cls._of(other) for name, other in stored.others.items()}
        report = cls._of(stored)
        return report._beside({stored.own: report, **others})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Report):
            return NotImplemented
        stored = other._source if isinstance(self._source, Counted) else self._source
        keys, columns = stored.keys, stored.columns
        try:
            return self._object(keys, columns) == other._object(keys, columns)
        except UnknownKeyError:
            return False

    def __repr__(self) -> str:
        words = [format_count(self._sides.total, "task")]
        summary = self._source.summary
        words += [] if summary is None else [f"{summary.tied_tasks:,} tied"]
        words += [] if self.by is None else [format_count(len(self.groups), "group")]
        words += ["read from JSON"] if isinstance(self._source, Stored) else []
        usual = [compose_key(self.sides[0], DEFAULT_KIND, name) for name in SHORT_METRICS]
        words += [f"{key} {self[key]:.4g}" for key in usual if key in self]
        return printable(f"Report({', '.join(words)})")

    # -- ranks -------------------------------------------------------------------------------------

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

    def labels(self) -> TaskLabels:
        """Return what the tasks are, and their groups."""
        return self._ranked.labels()

    def units(self, key: Key, **options: Any) -> Units:
        """Return the tasks of a key and their units; see `truerank.inference.units.HasUnits`."""
        return self._ranked.units(key, **options)

    def in_order(self, ranks: Ranks, order: IntArray | None = None) -> HasUnits:
        """Return the model with these ranks, which are its own in an order, or labelled anew."""
        return self._ranked.in_order(ranks, order)

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
        names = [metric] if isinstance(metric, str) else unique_keys(metric, "metric")
        for name in names:
            key = parse(name)
            groups = self._ranked.groups(key).codes if key.macro else None
            options: Any = {"by": by, "level": level, "seed": seed, "draw_seed": self.seed}
            found[name] = interval(tasks, key, groups=groups, **options)
        return found[metric] if isinstance(metric, str) else Intervals(found)

    # -- values ------------------------------------------------------------------------------------

    def _value(self, key: str) -> float:
        """Return the value of a key; an unknown one is a KeyError with the most similar names."""
        value: float | None = self._source.value(parse(key))
        return self._refuse(key, self._source.keys) if value is None else value

    def _refuse(self, key: str, stored: Sequence[str]) -> NoReturn:
        """Raise the KeyError of a key that was not stored."""
        why = f"not among the {len(stored)} keys of this report, which was read from JSON"
        raise UnknownKeyError(repr(key), f"{why}; {suggest(key, stored)}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._source.keys)

    def tasks(self, side: str = ALL_SIDES) -> int:
        """Return the number of tasks of a side.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], 10, side=["head", "tail"])).tasks("tail")
        1
        """
        self._sides.check(side, side)
        return self._sides.counts[side]

    @property
    def summary(self) -> Summary:
        """The numbers of tasks and ties, and how much the ties matter.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 2], 10)).summary.largest_tie
        2
        """
        return self._source.summary or self._ranked.summary

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
        if isinstance(self._source, Counted):
            return findings(self._source, names)
        stored = self._source.findings
        some = [finding for finding in stored if not names or finding.name in names]
        return Findings(some, self.protocol, self._source.summary)

    def _beside(self, filters: Mapping[str, Report]) -> Report:
        """Return this report, which is the first of the given ones, with the others beside it."""
        if len(filters) > 1:
            self.filters = filters
        return self

    # -- groups ------------------------------------------------------------------------------------

    def group_tasks(self, side: str = ALL_SIDES) -> dict[Hashable, int]:
        """Return the number of tasks of a side in each group.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3, 1], [1, 1, 1], 10), by=["a", "b", "a"]).group_tasks()
        {'a': 2, 'b': 1}
        """
        if self.by is not None:
            self._sides.check(side, side)
        return dict(zip(self._source.group_names, self._source.group_tasks(side), strict=True))

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
        parsed = parse(key)
        if parsed.macro:
            raise UnknownKeyError(repr(key), "a macro average is not of one group")
        column = self._source.column(parsed)
        if column is None:
            self._refuse(key, self._source.columns)
        return dict(zip(self._source.group_names, column, strict=True))

    def macro_left_out(self, key: str) -> int:
        """Return how many groups a macro average leaves out: those without a value.

        A group has none where it has no tasks of the side, or where the value is nan.

        Parameters
        ----------
        key : str
            The key, with or without "macro.".

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], [1, 10]), by=["a", "b"]).macro_left_out("macro.amri")
        1
        """
        return sum(map(math.isnan, self.group_values(key.removeprefix(f"{MACRO}.")).values()))

    # -- forms -------------------------------------------------------------------------------------

    def to_json(self, metrics: Names = None, *, indent: int | None = 2) -> str:
        """Return values, summary, protocol, findings and groups as JSON; nan becomes null.

        `Report.from_json` reads it back.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The keys; the default keys if not given. Groups have those that are not macro averages,
            by default for realistic ranks only.
        indent : int, optional
            The number of spaces for each level; None writes one line.

        Raises
        ------
        KeyError
            For an unknown key.

        Examples
        --------
        >>> import json
        >>> from truerank import Ranks, report
        >>> json.loads(report(Ranks([0], [1], 10)).to_json(["mrr"]))["metrics"]
        {'mrr': 1.0}
        """
        keys = unique_keys(self if metrics is None else metrics)
        columns: Iterable[str] = keys
        if metrics is None and hasattr(self, "ranks"):  # of many groups one kind is enough
            columns = [key for key in keys if parse(key).kind == DEFAULT_KIND]
        head = {"kind": JSON_KIND, "format": JSON_FORMAT}
        fingerprint = {"fingerprint": self.protocol.fingerprint}
        return write_json({**head, **self._object(keys, columns), **fingerprint}, indent)

    def _object(self, keys: Iterable[str], columns: Iterable[str]) -> dict[str, Any]:
        """Return the JSON object with some keys, of which groups have some columns."""
        source, keys = self._source, [*keys]
        content: dict[str, Any] = {
            "metrics": self.to_dict(keys),
            "summary": source.summary,
            "protocol": self.protocol,
            "seed": self.seed,
            "weighting": self.weighting,
            "sides": self._sides.counts,
            "findings": self.audit(),
            "groups": None,
            "filters": None,
        }
        if self.by is not None:
            found = {key: source.column(parse(key)) for key in columns if not parse(key).macro}
            content["groups"] = {
                "by": self.by,
                "labels": source.group_names,
                "tasks": {side: source.group_tasks(side) for side in self._sides.counts},
                "metrics": {key: column for key, column in found.items() if column is not None},
            }
        if self.filters:
            of_tasks = [key for key in keys if not parse(key).macro]
            own, *others = self.filters
            under = {name: self.filters[name]._object(of_tasks, ()) for name in others}
            content["filters"] = {"own": own, "others": under}
        written: dict[str, Any] = json_value(content)
        return written

    def table(
        self,
        metrics: Names = None,
        *,
        sides: Names = None,
        kinds: Names = None,
        percent: bool = False,
        **options: Any,
    ) -> Table:
        """Return the table that the report is printed as.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The columns, `[adjustment.]metric[@k][:p]` each, or "all". Default: mr, mrr, hits@1,
            hits@3, hits@10 and amri.
        sides, kinds : str or iterable of str, optional
            The rows. Default: all sides; and where tasks tie all kinds of rank, else realistic.
        digits : int
            The decimals of shares and reciprocal ranks; mean ranks and percentages have two fewer.
            Default: 3.
        percent : bool
            Whether hits@k is printed as a percentage.
        notes : bool, optional
            Whether the lines above and below are written. Default: not in LaTeX and CSV.

        Raises
        ------
        KeyError
            For an unknown metric, side or kind, and for one that a report from JSON does not hold.
        ValueError
            For a metric that names a side or kind, or is a macro average.
        """
        return report_table(self, metrics, sides, kinds, percent).table(**options)


def _report_of_group(source: Counted | Stored, place: int) -> Report:
    return Report._of(source.of_group(place))
