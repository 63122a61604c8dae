"""A report that can be written as a page of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import os

    from ..comparison.resampling import Interval
    from .reports import Report


class Paged(Mapping[str, float]):
    """Values by key that `pages` can show."""

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

        save_report(cast("Report", self), path, title, metrics, intervals, notes)
