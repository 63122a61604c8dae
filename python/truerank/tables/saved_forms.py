"""Results that write themselves to a file, in the form that the ending of its name asks for."""

from __future__ import annotations

import json
import math
import os
from typing import Any

from ..inputs.checks import integer
from ..inputs.errors import InputValueError
from .writing import replace_file, writable_place

# Endings of files, and the methods that write what they hold.
FORMS = {
    ".txt": "to_text",
    ".md": "to_markdown",
    ".tex": "to_latex",
    ".csv": "to_csv",
    ".json": "to_json",
    ".html": "_page",
}


class SavedForms:
    """Base class of results that have the methods above, with `save`."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to a file, in the form that the ending of its name asks for.

        The ending, in any case, is that of a method with its default options: .txt (`to_text`), .md
        (`to_markdown`), .tex (`to_latex`), .csv (`to_csv`), .json (`to_json`), or .html (a page).
        The file appears whole or not at all, exactly at `path`, and one that is there is replaced
        (see `truerank.tables.writing`). Text is UTF-8.

        Raises
        ------
        ValueError
            For another ending, and if `path` exists and is not a regular file.
        OSError
            If the file cannot be written; it names the file.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import truerank as tr
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "report.json")
        ...     tr.report(tr.Ranks([0, 3], [1, 1], 10)).save(path)
        ...     tr.Report.from_json(path.read_text())["mrr"]
        0.625
        """
        writable_place(path)
        name = os.fsdecode(path)
        ending = os.path.splitext(name)[1].lower()
        if ending not in FORMS:
            got = repr(name)
            if ending == ".npz" and hasattr(self, "ranks"):
                got += "; to keep the ranks, call ranks.save of the report"
            raise InputValueError(
                "path", expected=f"a name that ends in one of {', '.join(FORMS)}", got=got
            )
        text: str = getattr(self, FORMS[ending])()
        with replace_file(path) as file:
            file.write(f"{text.removesuffix(chr(10))}\n".encode(errors="backslashreplace"))

    def _page(self) -> str:
        """Write what a notebook shows as a page."""
        head = '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n'
        shown: str = self._repr_html_()  # type: ignore[attr-defined]
        return f"{head}<title>{type(self).__name__}</title>\n{shown}"


def write_json(content: object, indent: int | None) -> str:
    """Write a value as JSON, with so many blanks for each level, or all in one line.

    Examples
    --------
    >>> write_json({"mr": float("nan"), "low": float("-inf")}, None)
    '{"mr": null, "low": "-inf"}'
    """
    blanks = None if indent is None else integer("indent", indent, least=0, most=100)
    return json.dumps(json_value(content), indent=blanks, allow_nan=False)


def json_value(value: Any) -> Any:
    """Convert a value to what JSON can hold: nan is null, infinity is "inf" or "-inf"."""
    if isinstance(value, dict):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
