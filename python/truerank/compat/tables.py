"""What the same scores give under each convention, beside the exact numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..comparison.table_writer import Grid, Records, Tabulated, TextTables, number
from .results import COMMON, CompatReport

if TYPE_CHECKING:
    from ..reporting.reports import Report
    from .figures import Figure

ROW = "exact"


class CompatTable(Mapping[str, CompatReport], Tabulated):
    """Reports of the same tasks by preset: `table["openke"]`.

    In print an open number has both its bounds, in records it is the mean over all orders.

    Attributes
    ----------
    exact : Report
        The exact counts of these tasks.

    Examples
    --------
    >>> from truerank import compat
    >>> found = compat.table([[0.5, 0.5, 0.1]], [0], presets=["openke", "dgl-ke", "rotate"])
    >>> print(found.to_markdown(digits=3))
    | convention | mr | mrr | hits@1 | hits@10 |
    | :--- | ---: | ---: | ---: | ---: |
    | exact | 1.5 | 0.667 | 0 | 1 |
    | openke | 1 | 1 | 1 | 1 |
    | dgl-ke | 3 | 0.333 | 0 | 1 |
    | rotate | 1 to 2 | 0.5 to 1 | 0 to 1 | 1 |
    <BLANKLINE>
    """

    __hash__ = None  # type: ignore[assignment]
    _ROWS = "convention"

    def __init__(self, exact: Report, rows: Mapping[str, CompatReport]) -> None:
        self.exact = exact
        self._rows = dict(rows)

    def __getitem__(self, name: str) -> CompatReport:
        """The report of a preset."""
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"CompatTable({len(self.exact.ranks):,} tasks; {', '.join(self)})"

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Give the values by preset and key, with those of "exact" first.

        Where a toolkit leaves the order of ties open, the value is the mean over all orders.

        Examples
        --------
        >>> from truerank import compat
        >>> compat.table([[0.5, 0.1]], [0], presets=["ogb"]).to_dict()["ogb"]["mrr"]
        1.0
        """
        exact = {key: self.exact[key] for key in COMMON}
        return {
            ROW: exact,
            **{
                name: {key: row.figure(key).value for key in COMMON}
                for name, row in self._rows.items()
            },
        }

    def records(self) -> Records:
        """Give a row for each preset and a column for each key, those of "exact" first."""
        rows = [(name, *row.values()) for name, row in self.to_dict().items()]
        return Records(["convention", *COMMON], rows, COMMON)

    def text_tables(self, digits: int = 4) -> TextTables:
        rows = [[ROW, *(number(self.exact[key], digits) for key in COMMON)]]
        for name, row in self._rows.items():
            rows.append([name, *(_shown(row.figure(key), digits) for key in COMMON)])
        return TextTables([Grid(["convention", *COMMON], rows)])


def _shown(figure: Figure, digits: int) -> str:
    ends = (number(figure.least, digits), number(figure.most, digits))
    return " to ".join(dict.fromkeys(ends))
