"""Write any report: as a dictionary, JSON, CSV, a DataFrame, text, Markdown, LaTeX or HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from ..inputs.checks import choice, flag
from ..tables import AsTable, Table
from .axes import nest, unique_keys
from .rendering import report_records, report_table
from .report_base import ReportBase
from .report_content import json_text

if TYPE_CHECKING:
    import os

    from ..inference.intervals import Interval

Names = str | Iterable[str] | None


class AnyReport(ReportBase, AsTable):
    """Any report, made from ranks or read from JSON, with methods that write it."""

    def _ipython_key_completions_(self) -> list[str]:
        """List the default keys, and those of the kind for ties."""
        of_ties = self.default_axes()._replace(kinds=self.tie_kinds())
        return [*super()._ipython_key_completions_(), *of_ties.names()]

    def to_dict(self, metrics: Names = None, *, flat: bool = True) -> dict[str, Any]:
        """Return the values by key, flat, as loggers need them.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The keys, which are returned as they are written here; the default keys if not given.
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
        values = {key: self[key] for key in unique_keys(self if metrics is None else metrics)}
        if flag("flat", flat):
            return values
        return nest(values)

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
        return json_text(self, metrics, indent)

    def to_csv(
        self,
        metrics: Names = None,
        *,
        sides: Names = None,
        kinds: Names = None,
        spreadsheet: bool = False,
    ) -> str:
        """Return CSV with the columns side, tasks, metric, and one for each kind of rank.

        With groups, two columns come first: the average ("micro", "macro", or "group") and the
        group's label. Numbers have all their digits. The parameters are those of `to_markdown`, but
        the default of `kinds` is always optimistic, realistic and pessimistic. Labels are written
        as they are, for programs; with `spreadsheet`, one that begins as a formula does (with =,
        +, -, @, a tab or a line break) gets an apostrophe before it, unless it is a number.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> print(report(Ranks([0], [1], 10)).to_csv(["mrr"], kinds=["realistic"]), end="")
        side,tasks,metric,realistic
        both,1,mrr,1.0
        """
        return report_records(self, metrics, sides, kinds).to_csv(spreadsheet=spreadsheet)

    def to_pandas(
        self,
        metrics: Names = None,
        *,
        sides: Names = None,
        kinds: Names = None,
        layout: Literal["long", "wide"] = "long",
    ) -> Any:
        """Return a pandas DataFrame with the columns side, tasks, metric, kind and value.

        With groups, the columns average ("micro", "macro", or "group") and group come first.

        Parameters
        ----------
        metrics, sides, kinds : str or iterable of str, optional
            As in `to_csv`.
        layout : {"long", "wide"}
            "wide" has a column for each kind of rank instead of kind and value, as in `to_csv`.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ImportError
            If pandas is not installed.
        ValueError
            For another layout, and where `to_markdown` raises one.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0], [1], 10)).to_pandas(["mrr"], kinds=["realistic"])
           side  tasks metric       kind  value
        0  both      1    mrr  realistic    1.0
        """
        choice("layout", layout, ("long", "wide"))
        found = report_records(self, metrics, sides, kinds)
        names = [column.name for column in found.columns]
        values = names[names.index("metric") + 1 :]
        wide = found.to_pandas().astype(dict.fromkeys(values, float))
        if layout == "wide":
            return wide
        # by row, so that a row's values stay together
        names = names[: -len(values)] if values else names
        long = wide.melt(names, values, "kind", "value", ignore_index=False)
        return long.sort_index(kind="stable").reset_index(drop=True)

    def table(self, metrics: Names = None, *, sides: Names = None, kinds: Names = None) -> Table:
        """Return what `print` shows as a Table; the parameters are those of `to_markdown`."""
        return report_table(self, metrics, sides, kinds)

    def to_text(
        self,
        metrics: Names = None,
        *,
        sides: Names = None,
        kinds: Names = None,
        digits: int | None = None,
        notes: bool = True,
    ) -> str:
        """Return tables in columns of plain text below the lines of `to_markdown`; `print` does.

        The parameters are those of `to_markdown`, and so are the digits; the points of a column
        stand below each other.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> ranks = Ranks([0, 3], [1, 1], 10, side=["head", "tail"])
        >>> print(report(ranks).to_text(["mr", "mrr"]))
        2 tasks (head 1 + tail 1), 10 candidates; unfiltered, all candidates, nan raise (fingerprint a641f68e38144777).
        No task ties: all kinds of rank agree.
        <BLANKLINE>
        metric  both (2 tasks)  head (1 task)  tail (1 task)
        MR ↓             2.5                1           4
        MRR ↑            0.625              1           0.25
        """  # noqa: E501
        return self.table(metrics, sides=sides, kinds=kinds).to_text(digits=digits, notes=notes)

    def to_markdown(
        self,
        metrics: Names = None,
        *,
        sides: Names = None,
        kinds: Names = None,
        digits: int | None = None,
        notes: bool = True,
    ) -> str:
        """Return Markdown tables below lines on tasks, protocol and ties.

        For a single kind of rank there is one table with a column for each side, else a table for
        each side with a column for each kind. With groups, a table of the averages and of the
        largest groups follows. Names are those of the literature, which are keys as well, and an
        arrow says which way is better.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The rows: `[adjustment.]metric[@k][:p]`, without side and kind.
        sides : str or iterable of str, optional
            All that have tasks if not given, but not "both" beside a single other one. An empty
            list gives only the lines.
        kinds : str or iterable of str, optional
            If not given, realistic alone where no task ties, since all kinds agree then; else
            optimistic, realistic, pessimistic and expected.
        digits : int, optional
            The number of significant digits; 6 if not given.
        notes : bool
            Whether the lines on tasks, protocol and ties stand above the tables.

        Raises
        ------
        KeyError
            For an unknown metric, side or kind.
        ValueError
            For a metric that names a side or kind, and for digits below 1 or above 17.
        TypeError
            If digits is not an integer.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> print(report(Ranks([0, 3], [1, 2], 10)).to_markdown(["mr", "mrr"]))
        2 tasks, 10 candidates; unfiltered, all candidates, nan raise (fingerprint a641f68e38144777).
        1 of 2 tasks tie (50 %): 2 candidates at most, 2 on average. Optimistic minus pessimistic: mr -0.5, mrr 0.025, hits@1 0, hits@10 0.
        <BLANKLINE>
        | both (2 tasks) | optimistic | realistic | pessimistic | expected |
        | :--- | ---: | ---: | ---: | ---: |
        | MR ↓ | 2.5 | 2.75 | 3 | 2.75 |
        | MRR ↑ | 0.625 | 0.611111 | 0.6 | 0.6125 |
        """  # noqa: E501
        made = self.table(metrics, sides=sides, kinds=kinds)
        return made.to_markdown(digits=digits, notes=notes)

    def to_latex(
        self,
        metrics: Names = None,
        *,
        sides: Names = None,
        kinds: Names = None,
        digits: int | None = 4,
        notes: bool = False,
    ) -> str:
        """Return the tables of `to_markdown` with the rules of the LaTeX package booktabs.

        The parameters are those of `to_markdown`. With notes, its lines come first, as comments.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> print(report(Ranks([0], [1], 10)).to_latex("hits@1", notes=True))
        % 1 task, 10 candidates; unfiltered, all candidates, nan raise (fingerprint a641f68e38144777).
        % No task ties: all kinds of rank agree.
        \\begin{tabular}{lr}
        \\toprule
        metric & both (1 task) \\\\
        \\midrule
        Hits@1 $\\uparrow$ & 1 \\\\
        \\bottomrule
        \\end{tabular}
        """  # noqa: E501
        return self.table(metrics, sides=sides, kinds=kinds).to_latex(digits=digits, notes=notes)

    def save_html(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        metrics: str | Iterable[str] = (),
        intervals: str | Iterable[str] | Mapping[str, Interval] = (),
        notes: Iterable[str] = (),
    ) -> None:
        """Write the whole report as a page: a single HTML file.

        The page says what was evaluated and how, and has the audit, the metrics of every side and
        kind and their values under chance, plots, the groups, and the report as JSON. It runs no
        script and fetches nothing. The same report gives the same bytes under the same version of
        matplotlib. Plots are binned, so that the file is small however many tasks there are.

        Parameters
        ----------
        path : str or path-like
            The file, written whole or not at all; no suffix is added. An existing file is replaced.
        title : str, optional
            The heading; by default it names the split.
        metrics : str or iterable of str
            The keys whose values are at the head of the page; a few usual ones if none are given.
        intervals : str, iterable of str, or mapping of str to Interval
            Keys whose 95 % intervals are shown there, too, computed by `Report.interval`; or its
            results by key.
        notes : iterable of str
            Lines on what was evaluated, such as the model and the data.

        Raises
        ------
        ImportError
            If matplotlib is not installed, which the extra `plot` brings.
        KeyError
            For an unknown key.
        TypeError
            If the title is not a str, and for a single str in place of the notes.
        AttributeError
            For intervals of a report that was read from JSON. Its page has no plots of ranks.
        OSError
            If the folder is absent or cannot be written, or the disk is full.
        ValueError
            If `path` exists and is not a regular file.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from truerank import Ranks, report
        >>> measured = report(Ranks([0, 3], [1, 1], 10))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = Path(folder, "report.html")
        ...     measured.save_html(page, title="Two tasks", intervals=["mrr"])
        ...     "<h1>Two tasks</h1>" in page.read_text(encoding="utf-8")
        True
        """
        from ..html.report_page import save_report

        save_report(self, path, title, metrics, intervals, notes)

    def _page(self) -> str:
        """Write the page of `save_html`, for `save`."""
        from ..html.report_page import default_page

        return default_page(self)
