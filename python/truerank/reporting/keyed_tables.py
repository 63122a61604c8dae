"""Values by key, and reports that are one table of chosen keys, in every form."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

from ..tables import AsTable
from .axes import unique_keys

if TYPE_CHECKING:
    from ..tables import Table

    Names = str | Iterable[str] | None


class KeyedValues(Mapping[str, float]):
    """A mapping from keys to numbers, which takes a list of keys as well."""

    @overload
    def __getitem__(self, key: str, /) -> float: ...

    @overload
    def __getitem__(self, key: list[str] | tuple[str, ...], /) -> dict[str, float]: ...

    def __getitem__(self, key: str | list[str] | tuple[str, ...], /) -> float | dict[str, float]:
        """Return the value of a key, or of several as a dictionary; an unknown one is a KeyError.

        Examples
        --------
        >>> from truerank import Ranks, report
        >>> report(Ranks([0, 3], [1, 1], 10))[["mrr", "hits@1"]]
        {'mrr': 0.625, 'hits@1': 0.5}
        """
        if isinstance(key, (list, tuple)):
            return {name: self._value(name) for name in unique_keys(key, "key")}
        return self._value(key)

    @abstractmethod
    def _value(self, key: str) -> float:
        """Return the value of a key; an unknown one is a KeyError with the most similar names."""

    def _ipython_key_completions_(self) -> list[str]:
        """List the keys that IPython and notebooks complete within brackets."""
        return list(self)


class KeyedTables(KeyedValues, AsTable):
    """Values by key, with a method for each format, which takes the keys of its rows."""

    @abstractmethod
    def table(self, metrics: Names = None) -> Table:
        """Return what people read, a row for each key, below lines on what was evaluated."""

    def records(self, metrics: Names = None) -> Table:
        """Return what programs read."""
        return self.table(metrics)

    def to_text(
        self, metrics: Names = None, *, digits: int | None = None, notes: bool = True
    ) -> str:
        """Return the table of `to_markdown` in columns of plain text; `print` shows it.

        Examples
        --------
        >>> import truerank as tr
        >>> runs = tr.report([tr.report(tr.Ranks([above], [1], 10)) for above in (0, 2)])
        >>> print(runs.to_text(["mr"]))
        2 runs; unfiltered, all candidates, nan raise (fingerprint a641f68e38144777).
        <BLANKLINE>
        metric  mean    std
        MR ↓       2  1.414
        """
        return self.table(metrics).to_text(digits=digits, notes=notes)

    def to_markdown(
        self, metrics: Names = None, *, digits: int | None = None, notes: bool = True
    ) -> str:
        """Return the table in Markdown, below lines on what was evaluated.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The keys of the rows; a few usual ones if not given.
        digits : int, optional
            The number of significant digits; 4 if not given.
        notes : bool
            Whether the lines stand above the table.

        Raises
        ------
        KeyError
            For an unknown key.

        Examples
        --------
        >>> import truerank as tr
        >>> runs = tr.report([tr.report(tr.Ranks([above], [1], 10)) for above in (0, 2)])
        >>> print(runs.to_markdown(["mr"], notes=False))
        | metric | mean | std |
        | :--- | ---: | ---: |
        | MR ↓ | 2 | 1.414 |
        """
        return self.table(metrics).to_markdown(digits=digits, notes=notes)

    def to_latex(
        self, metrics: Names = None, *, digits: int | None = None, notes: bool = False
    ) -> str:
        """Return the table of `to_markdown` as a LaTeX tabular with the rules of booktabs."""
        return self.table(metrics).to_latex(digits=digits, notes=notes)

    def to_csv(self, metrics: Names = None, *, spreadsheet: bool = False) -> str:
        """Return the table as CSV, with keys for names and numbers in all their digits.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The keys of the rows.
        spreadsheet : bool
            Whether a name that a spreadsheet would compute as a formula gets an apostrophe before
            it. Default: names are written as they are, for programs.

        Examples
        --------
        >>> import truerank as tr
        >>> runs = tr.report([tr.report(tr.Ranks([above], [1], 10)) for above in (0, 2)])
        >>> print(runs.to_csv(["mr"]), end="")
        metric,mean,std,run 1,run 2
        mr,2.0,1.4142135623730951,1.0,3.0
        """
        return self.records(metrics).to_csv(spreadsheet=spreadsheet)

    def to_pandas(self, metrics: Names = None) -> Any:
        """Return a pandas DataFrame with the columns of `to_csv`.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return self.records(metrics).to_pandas()
