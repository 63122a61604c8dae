"""What every report can be turned into: dictionaries, JSON, CSV, Markdown, LaTeX, HTML, pandas."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from ..comparison.table_writer import checked_digits
from ..metrics.keys import ALL_SIDES
from ..metrics.kinds import DEFAULT_KIND, MIXTURE
from .axes import DEFAULT_KINDS, DEFAULT_METRICS, FEW_METRICS, Axes, checked, nested, several
from .paged import Paged

if TYPE_CHECKING:
    from ..comparison.table_writer import TextTables
    from ..ranks.protocol import Protocol
    from .summary import Summary
    from .validity import Finding


class Printed(Paged):
    """Values by key, with the facts that belong beside them, in every form."""

    # -- what the forms are made from --------------------------------------------------------------

    @property
    @abstractmethod
    def seed(self) -> int:
        """The seed of the kind "random"."""

    @property
    @abstractmethod
    def protocol(self) -> Protocol:
        """How the ranks were counted."""

    @property
    @abstractmethod
    def summary(self) -> Summary:
        """How many tasks there are, how many of them tie, and how far that matters."""

    @property
    @abstractmethod
    def weighting(self) -> str:
        """What the tasks count, in words; empty where all of them count once."""

    @property
    @abstractmethod
    def macro_weighting(self) -> str:
        """What the groups count in macro averages, in words."""

    @property
    @abstractmethod
    def sides(self) -> tuple[str, ...]:
        """The sides that have tasks, "both" (all of them pooled) first."""

    @abstractmethod
    def tasks(self, side: str = ALL_SIDES) -> int:
        """How many tasks a side has."""

    @abstractmethod
    def side_counts(self) -> dict[str, int]:
        """How many tasks each side has that a key may name."""

    @property
    @abstractmethod
    def by(self) -> str | None:
        """What the groups are, in a word; None where there are none."""

    @abstractmethod
    def group_tasks(self, side: str = ALL_SIDES) -> dict[Hashable, int]:
        """How many tasks of a side each group has."""

    @abstractmethod
    def group_values(self, key: str) -> dict[Hashable, float]:
        """Give the value of a key for every group at once."""

    @abstractmethod
    def audit(self) -> list[Finding]:
        """List what makes the numbers suspect."""

    @abstractmethod
    def macro_counts(self) -> dict[Hashable, float] | None:
        """What each group counts in macro averages; None where that was not given one by one."""

    def held_summary(self) -> Summary | None:
        """The summary, where there is one: that of a group is not stored as JSON."""
        return self.summary

    def cell(self, key: str) -> float | None:
        """The value that a table shows for a key; None where it is not known."""
        return self[key]

    def group_cells(self, key: str) -> Mapping[Hashable, float | None]:
        """The values that a table shows for a key, by group; None where they are not known."""
        return self.group_values(key)

    def default_axes(self) -> Axes:
        """The sides, kinds and metrics that are shown where nobody says which."""
        return Axes(self.sides, DEFAULT_KINDS, DEFAULT_METRICS)

    # -- the forms ---------------------------------------------------------------------------------

    def to_dict(self, metrics: Iterable[str] | None = None, *, flat: bool = True) -> dict[str, Any]:
        """Give the values by key, flat, as loggers want them.

        Parameters
        ----------
        metrics : iterable of str, optional
            The keys, which stay as they are written; the default keys if not given.
        flat : bool
            False nests them as side -> kind -> [adjustment.]metric, macro averages under "macro".

        Raises
        ------
        KeyError
            For an unknown key.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> measured = report(Ranks([0, 3], [1, 1], 10))
        >>> measured.to_dict(["mrr", "optimistic.hits@1"])
        {'mrr': 0.625, 'optimistic.hits@1': 0.5}
        >>> measured.to_dict(["mrr", "optimistic.hits@1"], flat=False)
        {'both': {'realistic': {'mrr': 0.625}, 'optimistic': {'hits@1': 0.5}}}
        """
        values = {key: self[key] for key in several(self if metrics is None else metrics)}
        if flat:
            return values
        return nested(values)

    def to_json(self, metrics: Iterable[str] | None = None, *, indent: int | None = 2) -> str:
        """Give values, summary, protocol, findings and groups as a JSON object; nan becomes null.

        `Report.from_json` reads it back.

        Parameters
        ----------
        metrics : iterable of str, optional
            The keys; the default keys if not given. Groups get those that are no macro averages,
            by default of realistic ranks alone.
        indent : int, optional
            Spaces for each level; None for one line.

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
        from .stored import json_text

        return json_text(self, metrics, indent)

    def to_csv(
        self,
        metrics: Iterable[str] | None = None,
        *,
        sides: Iterable[str] | None = None,
        kinds: Iterable[str] | None = None,
    ) -> str:
        """Give a table with a header: side, tasks, metric, and one column for each kind of rank.

        With groups, two columns come before: the average ("micro", "macro", or "group") and the
        group's label. Numbers have all their digits. The parameters are those of `to_markdown`;
        without `kinds` there are always the same three.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> print(report(Ranks([0], [1], 10)).to_csv(["mrr"], kinds=["realistic"]), end="")
        side,tasks,metric,realistic
        both,1,mrr,1.0
        """
        from .rendering import records_of

        return records_of(self, self._axes(metrics, sides, kinds)).csv()

    def to_pandas(
        self,
        metrics: Iterable[str] | None = None,
        *,
        sides: Iterable[str] | None = None,
        kinds: Iterable[str] | None = None,
        layout: Literal["long", "wide"] = "long",
    ) -> Any:
        """Give a pandas DataFrame, with the columns side, tasks, metric, kind and value.

        With groups, the columns average ("micro", "macro", or "group") and group come before.

        Parameters
        ----------
        metrics, sides, kinds : iterable of str, optional
            As in `to_csv`.
        layout : {"long", "wide"}
            "wide" has a column for each kind of rank instead of kind and value, as `to_csv`.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ImportError
            If pandas is not installed.
        ValueError
            For another layout, and as `to_markdown` does.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0], [1], 10)).to_pandas(["mrr"], kinds=["realistic"])
           side  tasks metric       kind  value
        0  both      1    mrr  realistic    1.0
        """
        from .rendering import records_of

        return records_of(self, self._axes(metrics, sides, kinds)).frame(layout)

    def to_markdown(
        self,
        metrics: Iterable[str] | None = None,
        *,
        sides: Iterable[str] | None = None,
        kinds: Iterable[str] | None = None,
        digits: int = 6,
    ) -> str:
        """Give a Markdown table for each side, after lines that tell tasks, protocol and ties.

        With groups, a table of the averages and of the largest groups follows.

        Parameters
        ----------
        metrics : iterable of str, optional
            The rows: `[adjustment.]metric[@k][:p]`, without side and kind.
        sides : iterable of str, optional
            The tables; all that have tasks if not given. None at all gives the lines alone.
        kinds : iterable of str, optional
            The columns; optimistic, realistic and pessimistic if not given, and expected where
            tasks tie.
        digits : int
            Significant digits.

        Raises
        ------
        KeyError
            For an unknown metric, side or kind.
        ValueError
            For a metric that names a side or kind of its own, and digits below 1.
        TypeError
            For digits that are no integer.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> print(report(Ranks([0, 3], [1, 2], 10)).to_markdown(["mr", "mrr"]))
        2 tasks, 10 candidates; unfiltered, all candidates, nan raise (fingerprint a641f68e38144777).
        1 of 2 tasks tie (50 %): 2 candidates at most, 2 on average. Optimistic minus pessimistic: mr -0.5, mrr 0.025, hits@1 0, hits@10 0.
        <BLANKLINE>
        | both (2 tasks) | optimistic | realistic | pessimistic | expected |
        | :--- | ---: | ---: | ---: | ---: |
        | mr | 2.5 | 2.75 | 3 | 2.75 |
        | mrr | 0.625 | 0.611111 | 0.6 | 0.6125 |
        <BLANKLINE>
        """  # noqa: E501
        return self._text(metrics, sides, kinds, digits).markdown() + "\n"

    def to_latex(
        self,
        metrics: Iterable[str] | None = None,
        *,
        sides: Iterable[str] | None = None,
        kinds: Iterable[str] | None = None,
        digits: int = 4,
    ) -> str:
        """Give a tabular for each side, with the rules of the LaTeX package booktabs.

        The lines of `to_markdown`, whose parameters these are, come before as comments.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> print(report(Ranks([0], [1], 10)).to_latex(["hits@1"], kinds=["realistic"]), end="")
        % 1 task, 10 candidates; unfiltered, all candidates, nan raise (fingerprint a641f68e38144777).
        % No task ties: all kinds of rank agree.
        \\begin{tabular}{lr}
        \\toprule
        both (1 task) & realistic \\\\
        \\midrule
        hits@1 & 1 \\\\
        \\bottomrule
        \\end{tabular}
        """  # noqa: E501
        return self._text(metrics, sides, kinds, digits).latex() + "\n"

    def _repr_html_(self) -> str:
        """The same as HTML, for notebooks."""
        return self._text(None, None, None, 6).html() + "\n"

    def _text(
        self,
        metrics: Iterable[str] | None,
        sides: Iterable[str] | None,
        kinds: Iterable[str] | None,
        digits: int,
    ) -> TextTables:
        from .rendering import text_of

        shown = checked_digits(digits)
        return text_of(self, *self._printed(metrics, sides, kinds), shown)

    # -- the axes of tables ------------------------------------------------------------------------

    def _axes(
        self,
        metrics: Iterable[str] | None,
        sides: Iterable[str] | None,
        kinds: Iterable[str] | None,
    ) -> Axes:
        """The sides, kinds and metrics of a table, checked."""
        default = self.default_axes()
        rows, columns = checked(
            default.metrics if metrics is None else metrics,
            default.kinds if kinds is None else kinds,
        )
        tables = several(default.sides if sides is None else sides, "sides")
        for side in tables:
            self.tasks(side)  # a KeyError for one that there is not
        return Axes(tables, columns, rows)

    def _printed(
        self,
        metrics: Iterable[str] | None,
        sides: Iterable[str] | None,
        kinds: Iterable[str] | None,
    ) -> tuple[Axes, Axes | None]:
        """The axes of the printed tables, and those of the table of groups."""
        axes = self._axes(metrics, sides, kinds)
        summary = self.held_summary()
        if kinds is None and summary is not None and summary.tied_tasks:
            axes = axes._replace(kinds=[*axes.kinds, *self.tie_kinds()])
        if self.by is None or not axes.sides or not axes.kinds:
            return axes, None
        kind = DEFAULT_KIND if DEFAULT_KIND in axes.kinds else axes.kinds[0]
        few = [m for m in FEW_METRICS if m in axes.metrics] if metrics is None else axes.metrics
        return axes, Axes(axes.sides[:1], [kind], few)

    def tie_kinds(self) -> tuple[str, ...]:
        """The kinds that are printed where tasks tie, beside the default ones."""
        return (MIXTURE,)
