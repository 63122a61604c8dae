"""What all results have that are printed and saved as a table: a method for each form."""

from __future__ import annotations

import functools
import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .. import tables
from ..errors import InputTypeError, InputValueError
from ..inputs.checks import flag
from ..naming import import_extra, public, terminal_text

# The ending of a file's name chooses the method that writes it.
FORMS = {
    ".txt": "to_text",
    ".md": "to_markdown",
    ".tex": "to_latex",
    ".csv": "to_csv",
    ".json": "to_json",
    ".html": "to_html",
}
_PARAMETERS = "Parameters\n----------\n"
_PLACE = "metrics, options\n    As of `table`."  # Help has in its place what these are.

Names = str | Iterable[str] | None


@public("truerank.tables")
class AsTable(ABC):
    """Base class of results, which are printed and saved as the Table that `table` makes of them.

    All forms but JSON take the options of `table` of their class, and refuse others.
    """

    def __init_subclass__(cls) -> None:
        """Show the options of a class's own `table` in the help of its forms."""
        super().__init_subclass__()
        # IPython asks the class itself before it writes a list or a dict in its own way.
        cls._repr_pretty_ = AsTable._repr_pretty_  # type: ignore[method-assign]
        if "table" in vars(cls):
            for form in (*FORMS.values(), "to_pandas", "save"):
                if form != "to_json":
                    setattr(cls, form, _show_options(getattr(cls, form), cls.table))

    @abstractmethod
    def table(self, *metrics: Any, **options: Any) -> tables.Table:
        """Return the result as a Table, with its notes.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The columns of numbers, by their names for programs.
        digits : int
            How precise numbers are: shares have so many decimals, mean ranks and percentages two
            fewer. Default: 3.
        notes : bool, optional
            Whether the lines above the table and the notes below it are written. Default: in text,
            Markdown and HTML, not in LaTeX and CSV.
        """

    def _table_with(self, metrics: Names, options: Mapping[str, Any]) -> tables.Table:
        """Refuse unknown options, or make the table."""
        if options:
            parameters = inspect.signature(self.table).parameters.values()
            own_options = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
            known = dict.fromkeys([*own_options, "digits", "notes"])
            for name in options.keys() - known:
                problem = f"no option of {type(self).__name__}.table; known are {', '.join(known)}"
                raise InputTypeError(name, problem)
        return self.table(metrics, **options)

    def to_text(self, metrics: Names = None, **options: Any) -> str:
        """Return columns of plain text; an asterisk marks the best cells.

        `print` shows the same, but only the largest 20 groups.

        Parameters
        ----------
        metrics, options
            As of `table`.
        """
        return tables.forms.text(self._table_with(metrics, options))

    def to_markdown(self, metrics: Names = None, **options: Any) -> str:
        """Return a table of Markdown, with the notes as a list.

        Parameters
        ----------
        metrics, options
            As of `table`.
        """
        return tables.forms.markdown(self._table_with(metrics, options))

    def to_latex(self, metrics: Names = None, **options: Any) -> str:
        """Return a tabular of LaTeX with the rules of the package booktabs.

        Parameters
        ----------
        metrics, options
            As of `table`.
        """
        return tables.forms.latex(self._table_with(metrics, options))

    def to_html(self, metrics: Names = None, **options: Any) -> str:
        """Return HTML; a notebook shows the same, but only the largest 20 groups.

        Parameters
        ----------
        metrics, options
            As of `table`.
        """
        return tables.forms.html(self._table_with(metrics, options))

    def to_csv(self, metrics: Names = None, *, spreadsheet: bool = False, **options: Any) -> str:
        """Return CSV, with numbers in all their digits; notes, if asked for, follow behind a #.

        Parameters
        ----------
        metrics, options
            As of `table`.
        spreadsheet : bool
            Whether a text that a spreadsheet would compute as a formula gets an apostrophe before
            it. Default: texts are written as they are, for programs.
        """
        table = self._table_with(metrics, options)
        rows = [tuple(column.name for column in table.columns), *table.rows]
        text = tables.forms.csv_text(rows, spreadsheet=flag("spreadsheet", spreadsheet))
        before, notes = table._lines(shown_by_default=False)
        return text + "".join(f"# {line}\n" for line in before + notes)

    def to_json(self, metrics: Names = None, *, indent: int | None = 2) -> str:
        """Return rows, lines and notes as JSON, the rows as objects; nan is null.

        Parameters
        ----------
        metrics
            As of `table`.
        indent : int or None
            The blanks of each level; None writes one line.
        """
        table = self.table(metrics)
        names = [column.name for column in table.columns]
        content = {
            "kind": "truerank.table",
            "format": 1,
            "columns": names,
            "rows": [dict(zip(names, row, strict=True)) for row in table],
            "before": table.before,
            "notes": table.notes,
        }
        return tables.forms.write_json(content, indent)

    def to_pandas(self, metrics: Names = None, **options: Any) -> Any:
        """Return a pandas DataFrame of all columns, with numbers in all their digits.

        Parameters
        ----------
        metrics, options
            As of `table`.
        """
        cells = self._table_with(metrics, options).to_dict()
        floats = []
        for name, values in cells.items():
            if {type(value) for value in values} - {type(None)} == {float}:
                floats.append(name)
        frame = import_extra("pandas", "to_pandas").DataFrame(cells)
        return frame.astype(dict.fromkeys(floats, float))

    def __str__(self) -> str:
        return terminal_text(tables.forms.text(self.table()._cut()))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the result as a table in IPython."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        """Return the result as HTML, for notebooks."""
        return tables.forms.html(self.table()._cut())

    def save(self, path: str | os.PathLike[str], metrics: Names = None, **options: Any) -> None:
        """Write the result to a file, in the form that the ending of its name asks for.

        The ending, in any case, is that of a method: .txt (`to_text`), .md (`to_markdown`), .tex
        (`to_latex`), .csv (`to_csv`), .json (`to_json`), or .html (`to_html`). The file appears
        whole or not at all, exactly at `path`, and one that is there is replaced (see
        `truerank.arrays.saved_files`). Text is UTF-8.

        Parameters
        ----------
        path : str or os.PathLike
        metrics, options
            As of `table`.

        Raises
        ------
        TypeError
            For an option that the form does not have.
        ValueError
            For another ending, and if `path` exists and is not a regular file.
        OSError
            If the file cannot be written; it names the file.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import truerank as tr
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "report.csv")
        ...     tr.report(tr.Ranks([0, 3], [1, 1], 10)).save(path, ["mrr"])
        ...     path.read_text().splitlines()
        ['side,kind,tasks,mrr', 'both,realistic,2,0.625']
        """
        from ..arrays.saved_files import replace_file, writable_place

        writable_place(path)  # Errors of the path come before all others.
        name = os.fsdecode(path)
        ending = os.path.splitext(name)[1].lower()
        if ending not in FORMS:
            expected = f"a name that ends in one of {', '.join(FORMS)}"
            raise InputValueError("path", expected=expected, got=repr(name))
        others = sorted(options.keys() - {"indent"})
        if ending == ".json" and others:
            raise InputTypeError(others[0], expected="none in JSON, which has all digits and rows")
        text: str = getattr(self, FORMS[ending])(metrics, **options)
        if ending == ".html":
            text = tables.forms.html_page(type(self).__name__, text)
        if not text.endswith("\n"):
            text += "\n"
        with replace_file(path) as file:
            file.write(text.encode(errors="backslashreplace"))


def _show_options(form: Callable[..., Any], table: Callable[..., Any]) -> Callable[..., Any]:
    """Return a form with the options of a table in its signature and docstring."""

    @functools.wraps(form)
    def form_with_options(*arguments: Any, **options: Any) -> Any:
        return form(*arguments, **options)

    *own, others = inspect.signature(form).parameters.values()  # The last one is **options.
    parameters = inspect.signature(table).parameters.values()
    own += [each for each in parameters if each.kind is each.KEYWORD_ONLY]
    shown: Any = form_with_options
    shown.__signature__ = inspect.Signature([*own, others])
    doc = inspect.getdoc(table) or ""
    if _PARAMETERS not in doc:
        doc = inspect.getdoc(AsTable.table) or ""
    _, _, section = doc.partition(_PARAMETERS)
    for next_section in ("\n\nRaises\n", "\n\nExamples\n"):
        section, _, _ = section.partition(next_section)
    shown.__doc__ = (inspect.getdoc(form) or "").replace(_PLACE, section)
    return form_with_options
