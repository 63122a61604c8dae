"""Write any report: as a dictionary, JSON, CSV, a DataFrame, text, Markdown, LaTeX or HTML."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..inputs.checks import flag
from ..tables import AsTable, Table
from .axes import nest, unique_keys
from .rendering import report_table
from .report_base import ReportBase
from .report_content import json_text

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

    def table(self, metrics: Names = None, **options: Any) -> Table:
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
        return report_table(self, metrics, **options)
