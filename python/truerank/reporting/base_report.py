"""The one base of all reports: values by key, groups, intervals, JSON, tables and the audit."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack, overload

from .. import inference, reporting, tables
from ..errors import UnknownKeyError
from ..inputs.checks import instance, unique_keys
from ..metrics.keys import ALL_SIDES, MACRO
from .columns import AUTO, Names
from .named_numbers import Groups, Numbers
from .summaries import ReportForm, Source, Summary

JSON_FORMAT = 1

if TYPE_CHECKING:
    from ..arrays.types import FloatArray, IntArray
    from ..inference import Interval, Intervals
    from ..metrics.keys import Key
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike
    from ..ranks.protocol import Protocol
    from ..tables import Table
    from .audit import Graded


class _IntervalOptions(TypedDict, total=False):
    unit: LabelsLike | None
    level: float
    seed: int


class BaseReport(Numbers):
    """A report: of ranks, or of queries. Its numbers come from a `Source`.

    What a kind of report adds is its source, the lines above its table, and its checks.

    Attributes
    ----------
    form : ReportForm
        How reports of this kind are written.
    few, usual : sequence of str
        The metrics of tables by default, and those that are listed.
    read_key : callable
        What reads a key of this kind of report; an unknown one is a KeyError.
    groups : mapping of label to report
        Each made when it is first asked for; empty without groups.
    """

    form: ReportForm
    few: Sequence[str]
    usual: Sequence[str]
    read_key: Callable[[str], Key]

    def _tell(self, source: Source) -> None:
        """Tell what the numbers are computed from."""
        self._source = source
        make: Callable[[int], Self] = partial(_report_of_group, type(self), source)
        self.groups: Mapping[Hashable, Self] = Groups(source.group_names, make)

    @classmethod
    def _of(cls, source: Source) -> Self:
        report = cls.__new__(cls)
        report._tell(source)
        return report

    @abstractmethod
    def _lines(self) -> list[str]:
        """Return the lines above the table."""

    @abstractmethod
    def _find(self, names: Sequence[str]) -> list[Graded]:
        """Return the findings of some checks, or of all, and how bad they are."""

    # -- what was measured -------------------------------------------------------------------------

    @property
    def protocol(self) -> Protocol:
        """How the ranks were counted."""
        return self._source.protocol

    @property
    def seed(self) -> int:
        """The seed of the kind "random"."""
        return self._source.seed

    @property
    def weighting(self) -> str:
        """How tasks are weighted, in words; empty where all count once."""
        return self._source.weighting

    @property
    def by(self) -> str | None:
        """The name of the groups, such as "relation"."""
        return self._source.by

    @property
    def sides(self) -> tuple[str, ...]:
        """ "both" and the named sides that have tasks; only "both" where there are no tasks."""
        return self._source.sides.present

    @property
    def summary(self) -> Summary:
        """The numbers of tasks and ties, and how much the ties matter.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 2], 10)).summary.largest_tie
        2
        """
        return self._source.summary

    def tasks(self, side: str = ALL_SIDES) -> int:
        """Return the number of tasks of a side; of retrieval that of queries.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], 10, side=["head", "tail"])).tasks("tail")
        1
        """
        return self._source.number_of_tasks(side)

    # -- ranks -------------------------------------------------------------------------------------

    @property
    def ranks(self) -> Ranks:
        """The ranks of the report."""
        return self._source.ranks

    @property
    def weights(self) -> FloatArray | None:
        """The weights in force: float64, shape (n,), read-only; None where all tasks count once.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], 10, queries=[7, 7]), weights="query").weights
        array([0.5, 0.5])
        """
        return self._source.tasks.weights

    @property
    def group_labels(self) -> IntArray | None:
        """The group of each task, numbered in the order of `groups`; None without groups."""
        return self._source.group_codes

    @property
    def model(self) -> Any:
        """The tasks or queries, as `truerank.inference` takes them."""
        return self._source.model

    @overload
    def interval(self, metric: str, **options: Unpack[_IntervalOptions]) -> Interval: ...
    @overload
    def interval(
        self, metric: list[str] | tuple[str, ...], **options: Unpack[_IntervalOptions]
    ) -> Intervals: ...
    def interval(
        self,
        metric: str | list[str] | tuple[str, ...],
        *,
        unit: LabelsLike | None = "unit",
        level: float = 0.95,
        seed: int = 0,
    ) -> Interval | Intervals:
        """Compute the confidence interval of the value of a key, or of several.

        Parameters
        ----------
        metric : str, or list of str
            Not macro averages, whose groups have intervals, and not z.
        unit : str, labels or None
            What was drawn when the test set was made, as in `truerank.inference.interval`: the
            label "unit", or tasks where the ranks have none; or "query", "relation", ... Of
            retrieval queries are drawn, or a label that all right answers of a query share.
        level : float
            How often such intervals cover the true value.
        seed : int
            The seed of the resamples, which only medians, mad and extreme power means need.

        Returns
        -------
        Interval, or Intervals for several keys

        Raises
        ------
        KeyError
            For an unknown key.
        ValueError
            For a level outside of (0, 1), labels that do not fit the tasks, a macro average and z.

        Notes
        -----
        An index or a ratio of retrieval is a ratio of two means: its interval takes into account
        that chance and optimum vary with the queries, too.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> found = report(Ranks([0, 3, 1], [1, 1, 1], 10)).interval("mrr")
        >>> found.low <= found.value <= found.high
        True
        >>> list(report(Ranks([0, 3, 1], [1, 1, 1], 10)).interval(["mrr", "hits@1"]))
        ['mrr', 'hits@1']
        """
        names = [metric] if isinstance(metric, str) else unique_keys(metric, "metric")
        options: Any = {"unit": unit, "level": level, "seed": seed}
        model = self.model
        found = {name: inference.interval(model, self.read_key(name), **options) for name in names}
        return found[metric] if isinstance(metric, str) else inference.Intervals(found)

    # -- values ------------------------------------------------------------------------------------

    def _value(self, key: str) -> float:
        """Return the value of a key; an unknown one is a KeyError with the most similar names."""
        return self._source.value(self.read_key(key))

    def __iter__(self) -> Iterator[str]:
        return iter(self._source.keys)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BaseReport) or self.form is not other.form:
            return NotImplemented
        keys = other._source.keys
        try:
            content = self._object(keys, ())
            of_other = other._object(keys, ())
        except UnknownKeyError:
            return False
        # As JSON values, nan equals nan.
        return bool(tables.forms.json_value(content) == tables.forms.json_value(of_other))

    def audit(self, *names: str) -> reporting.Findings:
        """List what makes the numbers suspect; an empty list says that nothing was found.

        The checks of ranks find misses of lists, ranks that are worse than random ones, as if the
        order were forgotten, ties that move a metric, constant rows, NaN and inf, saturated scores,
        rows of a query that differ, tasks with hardly any candidates, no filter, sampled
        candidates, candidates of the test alone, and scores that were not looked at. The audit also
        prints how the ranks were counted.

        A report of retrieval checks ties, constant, NaN, infinite and saturated scores, and sampled
        candidates. Of lists by name it finds queries without a list, lists of queries without right
        answers, and "known in lists": more than a quarter of what lists name is known. "short
        lists": without given candidates, the longest list has at most a tenth of all. Chance, index
        and auc are then those of a full ranking, which is wrong where a model ordered a few that
        were chosen for it: `truerank.retrieval.Task` takes these as `candidates`.

        Parameters
        ----------
        *names : str
            The checks. Default: all.

        Returns
        -------
        Findings
            A list of Finding, of which each has a name, a count and a message.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> for finding in report(Ranks([0], [10], 10)).audit("ties", "constant"):
        ...     print(finding)
        ties: ties move hits@1 by up to 1 from 0: optimistic 1, realistic 0, pessimistic 0, expected 0.1; say which is reported
        constant: all candidates have one score in 1 of 1 tasks (100 %)
        """  # noqa: E501
        findings = [finding for _, finding in self._find(unique_keys(names, "names"))]
        lines = reporting.audit.audit_lines(self.protocol, self.summary)
        if not findings:
            lines.append("Nothing was found that makes the numbers suspect.")
        return reporting.Findings(findings, lines)

    # -- groups ------------------------------------------------------------------------------------

    def group_tasks(self, side: str = ALL_SIDES) -> dict[Hashable, int]:
        """Return the number of tasks of a side in each group; of retrieval that of queries.

        Raises
        ------
        KeyError
            For an unknown side, and without groups.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3, 1], [1, 1, 1], 10), by=["a", "b", "a"]).group_tasks()
        {'a': 2, 'b': 1}
        """
        source = self._source
        source.require_groups("group_tasks")
        source.number_of_tasks(side)  # It raises for an unknown side.
        return dict(zip(source.group_names, source.group_tasks(side), strict=True))

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
            For an unknown key, and without groups.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3, 1], [1, 1, 1], 10), by=["a", "b", "a"]).group_values("mr")
        {'a': 1.5, 'b': 4.0}
        """
        parsed = self.read_key(key)
        if parsed.macro:
            raise UnknownKeyError(repr(key), "a macro average is not of one group")
        column = self._source.column(parsed)
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
        of_groups = instance("key", key, str).removeprefix(f"{MACRO}.")
        return sum(map(math.isnan, self.group_values(of_groups).values()))

    # -- forms -------------------------------------------------------------------------------------

    def to_json(self, metrics: Names = None, *, indent: int | None = 2) -> str:
        """Return values, summary, protocol, findings and groups as JSON; nan becomes null.

        It is for other programs; `ranks.save` keeps what `truerank.load` reads back.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The keys; the default keys if not given. Groups have those that are not macro averages,
            by default for one kind only: realistic ranks, and the expectation over ties.
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
        keys = list(self) if metrics is None else unique_keys(metrics)
        columns = keys
        if metrics is None:  # One kind of rank is enough for many groups.
            columns = [key for key in keys if self.read_key(key).kind == self.form.default_kind]
        content = {"kind": self.form.json_kind, "format": JSON_FORMAT}
        content |= self._object(keys, columns)
        content["fingerprint"] = self.protocol.fingerprint
        return tables.forms.write_json(content, indent)

    def _object(self, keys: Sequence[str], columns: Iterable[str]) -> dict[str, Any]:
        """Return the JSON object with some keys, of which groups have some columns."""
        source = self._source
        content: dict[str, Any] = {
            "metrics": self.to_dict(keys),
            "summary": source.summary,
            "protocol": source.protocol,
            "seed": source.seed,
            "weighting": source.weighting,
            "sides": source.sides.counts,
            "findings": self.audit(),
            "groups": None,
        }
        if source.by is not None:
            found = {}
            for key in columns:
                parsed = self.read_key(key)
                if not parsed.macro:
                    found[key] = source.column(parsed)
            content["groups"] = {
                "by": source.by,
                "labels": source.group_names,
                "tasks": {side: source.group_tasks(side) for side in source.sides.counts},
                "metrics": found,
            }
        content |= source.facts
        return content

    def table(
        self,
        metrics: Names = None,
        *,
        sides: Names = None,
        kinds: Names = AUTO,
        percent: bool = False,
        interval: bool = False,
        level: float = 0.95,
        unit: LabelsLike | None = "unit",
        digits: int = 3,
        notes: bool | None = None,
    ) -> Table:
        """Return the table that the report is printed as.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The columns, `[adjustment.]metric[@k][:p]` each, or "all"; of retrieval `metric[@k]`.
            Default: mr, mrr, hits@1, hits@3, hits@10 and amri; mrr, map, ndcg@10 and recall@10.
        sides : str or iterable of str, optional
            The rows. Default: all sides.
        kinds : {"auto", "all"} or names of kinds
            The rows of each side. "auto": realistic ranks, and other kinds where they print
            otherwise; programs (CSV, pandas, JSON) read all kinds where any task ties. Groups and
            macro averages have realistic ranks alone. "all": optimistic, realistic, pessimistic and
            expected, whatever they print. By name also "random". Of retrieval the default is
            "expected", "all" brings "optimistic" and "pessimistic", and by name there are "chance",
            "optimum", "ratio" and "index".
        digits : int
            The decimals of shares and reciprocal ranks; mean ranks and percentages have two fewer.
            Default: 3.
        percent : bool
            Whether hits@k, and other shares, are printed as percentages.
        interval : bool
            Whether the confidence interval of each value stands behind it, in brackets, and in
            columns of their own for programs: ``mrr low``, ``mrr high``. Groups have those of their
            own tasks; macro averages and z have none.
        level, unit
            The level of the intervals, and the units that were drawn, as in `interval`.
        notes : bool, optional
            Whether the lines above and below are written. Default: not in LaTeX and CSV.

        Raises
        ------
        KeyError
            For an unknown metric, side or kind.
        ValueError
            For a metric that names a side or kind, or is a macro average.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> ranks = Ranks([0, 3, 1, 0, 2] * 40, [1] * 200, 9)
        >>> print(report(ranks).table(["mrr", "hits@1"], interval=True))
        200 tasks, 9 candidates, unfiltered, no ties.
        <BLANKLINE>
        tasks                 MRR ↑              Hits@1 ↑
          200  0.617 [0.571, 0.662]  0.400 [0.335, 0.469]
        <BLANKLINE>
        Brackets hold 95 % intervals over 200 tasks.
        """
        made = reporting.report_table.table_of_report(
            self,
            metrics,
            sides=sides,
            kinds=kinds,
            percent=percent,
            interval=interval,
            level=level,
            unit=unit,
            digits=digits,
        )
        return made.table(notes=notes)


def _report_of_group(kind: type[BaseReport], source: Source, place: int) -> Any:
    return kind._of(source.of_group(place))
