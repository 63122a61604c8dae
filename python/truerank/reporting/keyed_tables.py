"""Reports that are one table of chosen keys, in every form."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..inputs.naming import terminal_text
from ..tables.saved_forms import SavedForms
from ..tables.table_writer import check_digits
from .keyed_values import KeyedValues

if TYPE_CHECKING:
    from ..tables.table_writer import Records, TextTables

    Names = str | Iterable[str] | None


class KeyedTables(KeyedValues, SavedForms):
    """Values by key, with a method for each format, which takes the keys of its rows."""

    @abstractmethod
    def records(self, metrics: Names = None) -> Records:
        """Return the heading and a row for each key, for programs."""

    @abstractmethod
    def text_tables(self, metrics: Names = None, digits: int = 4) -> TextTables:
        """Return the lines and the tables, for people."""

    def __str__(self) -> str:
        return terminal_text(self.to_text())

    def to_text(self, metrics: Names = None, *, digits: int = 4, notes: bool = True) -> str:
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
        return self._tables_of(metrics, digits, notes).text()

    def to_markdown(self, metrics: Names = None, *, digits: int = 4, notes: bool = True) -> str:
        """Return the table in Markdown, below lines on what was evaluated.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The keys of the rows; a few usual ones if not given.
        digits : int
            The number of significant digits.
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
        <BLANKLINE>
        """
        return self._tables_of(metrics, digits, notes).markdown() + "\n"

    def to_latex(self, metrics: Names = None, *, digits: int = 4, notes: bool = True) -> str:
        """Return the table of `to_markdown` as a LaTeX tabular with the rules of booktabs."""
        return self._tables_of(metrics, digits, notes).latex() + "\n"

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
        return self.records(metrics).csv(spreadsheet=spreadsheet)

    def to_pandas(self, metrics: Names = None) -> Any:
        """Return a pandas DataFrame with the columns of `to_csv`.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return self.records(metrics).frame()

    def _tables_of(self, metrics: Names, digits: int, notes: bool) -> TextTables:
        return self.text_tables(metrics, check_digits(digits)).with_notes(notes)

    def _repr_html_(self) -> str:
        """Return the table as HTML, for notebooks."""
        return self.text_tables().html() + "\n"
