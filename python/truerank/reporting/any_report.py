"""The forms of every report: dictionaries, JSON, CSV, DataFrames, Markdown, LaTeX and HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .axes import nest, unique_keys
from .rendering import report_records, report_tables
from .report_base import ReportBase
from .report_content import json_text

if TYPE_CHECKING:
    import os

    from ..comparison.resampling import Interval
    from ..comparison.table_writer import Layout


class AnyReport(ReportBase):
    """What every report can do, of ranks or read back from JSON: be read, and be written."""

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
        values = {key: self[key] for key in unique_keys(self if metrics is None else metrics)}
        if flat:
            return values
        return nest(values)

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
        return report_records(self, metrics, sides, kinds).csv()

    def to_pandas(
        self,
        metrics: Iterable[str] | None = None,
        *,
        sides: Iterable[str] | None = None,
        kinds: Iterable[str] | None = None,
        layout: Layout = "long",
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
        return report_records(self, metrics, sides, kinds).frame(layout)

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
        return report_tables(self, metrics, sides, kinds, digits).markdown() + "\n"

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
        return report_tables(self, metrics, sides, kinds, digits).latex() + "\n"

    def _repr_html_(self) -> str:
        """The same as HTML, for notebooks."""
        return report_tables(self).html() + "\n"

    def save_html(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        metrics: Iterable[str] = (),
        intervals: Iterable[str] | Mapping[str, Interval] = (),
        notes: Iterable[str] = (),
    ) -> None:
        """Write the whole report as a page: one HTML file that needs nothing else.

        What was evaluated and how, the audit, the metrics of every side and kind and by chance,
        plots, the groups, and the report as JSON. No script runs in it and nothing is fetched. The
        same report gives the same bytes under the same version of matplotlib. Plots are binned, so
        that the file is small however many tasks there are.

        Parameters
        ----------
        path : str or path-like
            The file, written whole or not at all; no suffix is added. What is there is replaced.
        title : str, optional
            The heading; one with the split if not given.
        metrics : iterable of str
            The keys whose values stand at the head of the page; if none are given, the usual ones.
        intervals : iterable of str, or mapping of str to Interval
            Keys whose 95 % intervals stand there, too, as `Report.interval` gives them, or what it
            gave by key.
        notes : iterable of str
            Lines on what was evaluated: the model, the data.

        Raises
        ------
        ImportError
            If matplotlib is not installed, which the extra `plot` brings.
        KeyError
            For an unknown key.
        TypeError
            For a title that is no str, and for a lone str in place of several.
        AttributeError
            For intervals of a report that was read from JSON. Its page has no plots of ranks.
        OSError
            If the folder is absent or cannot be written, or the disk is full.
        ValueError
            If `path` is there and is no regular file.

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
