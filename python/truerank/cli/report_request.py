"""The report that a command is asked for: its metrics, groups, format and files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .. import Ranks, Report, report
from ..html import save
from ..inputs.errors import InputValueError
from ..inputs.naming import import_extra
from ..metrics import parse
from ..ranks.grouping import WEIGHTS
from ..ranks.labels import LABEL_ALIASES
from .app import command_line, emit, error_text, user_errors, write_line
from .files import errors_naming, is_file
from .options import check_label, read_labels
from .output import CSV_FORMATS, FORMATS, LINE_FORMATS, metrics_sheet

if TYPE_CHECKING:
    from ..inference.intervals import Interval


class ReportRequest(NamedTuple):
    """The options of a report, which `report_options` adds to a command.

    Attributes
    ----------
    metrics : list of str
    by, weights : str, array or None
        A file is given by its name until `with_files_read` reads it.
    macro_weights : str or None
    interval, audit : bool
    seed : int
    save, html : Path or None
    style : str
    """

    metrics: list[str]
    by: Any
    weights: Any
    macro_weights: str | None
    interval: bool
    audit: bool
    seed: int
    save: Path | None
    html: Path | None
    style: str

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> ReportRequest:
        """Take these options out of all; an impossible combination is a wrong command line."""
        request = cls(**{name: options.pop(name) for name in cls._fields})
        if request.interval and not request.metrics:
            raise click.UsageError("--interval needs --metrics, whose intervals it gives")
        if request.macro_weights is None:
            return request
        if request.by is None:
            raise click.UsageError("--macro-weights needs --by, whose groups it weighs")
        macro = [key for key in request.metrics if parse(key).macro]
        if request.interval and macro:
            raise click.UsageError(
                f"--interval and --macro-weights: expected one of them, as {macro[0]} has an "
                "interval where every group counts once"
            )
        return request

    def with_files_read(self, files: Sequence[str | Path], *, saved: bool = True) -> ReportRequest:
        """Read labels and weights, after a check that no input file would be written over."""
        named = [given for given in (self.by, self.weights) if given is not None and is_file(given)]
        if saved and self.save is not None:
            check_writable(self.save, [*files, *named])
        self.check_page([*files, *named])
        by, weights = read_labels("--by", self.by), read_labels("--weights", self.weights)
        return self._replace(by=by, weights=weights)

    def check_page(self, files: Sequence[str | Path]) -> None:
        """Raise an error if the page cannot be drawn or written, or would replace another file."""
        if self.html is None:
            return
        check_page_path(self.html, files)
        if self.save is not None and os.path.realpath(self.save) == os.path.realpath(self.html):
            raise InputValueError("--html", f"{self.html} is the file of --save, too")

    def label_names(self) -> set[str]:
        """Return the labels of tasks that groups and weights refer to."""
        words = {word for word in (self.by, self.weights) if isinstance(word, str)}
        return {LABEL_ALIASES[word] for word in words & LABEL_ALIASES.keys()}

    def make_report(self, ranks: Ranks) -> Report:
        """Make the report; a key that it does not have is a wrong command line."""
        check_label("--by", self.by, LABEL_ALIASES, ranks)
        check_label("--weights", self.weights, WEIGHTS, ranks)
        groups = {"by": self.by, "weights": self.weights, "macro_weights": self.macro_weights}
        with user_errors():
            measured = report(ranks, seed=self.seed, **groups)
        try:
            measured.to_dict(self.metrics)
        except KeyError as error:
            raise click.BadParameter(error_text(error), param_hint="'--metrics'") from error
        return measured


def check_writable(path: Path, files: Sequence[str | Path], option: str = "--save") -> None:
    """Raise an error if a path cannot be written, or is one of the input files or inside one."""
    with suppress(FileNotFoundError), errors_naming(option):
        path.stat()  # a link that leads to itself raises an OSError
    with errors_naming(option):  # the working folder may be gone
        resolved = Path(os.path.realpath(path))
    for folder in (path.parent, resolved.parent):  # the path may be a link
        if not folder.is_dir():
            raise FileNotFoundError(f"{option}: no folder {folder}")
        if not os.access(folder, os.W_OK):
            raise PermissionError(f"{option}: no permission to write into {folder}")
    if path.exists() and not path.is_file():
        raise InputValueError(option, expected="the name of a file", got=path)
    for file in map(Path, files):
        same = path.exists() and path.samefile(file)
        if same or (file.is_dir() and resolved.is_relative_to(os.path.realpath(file))):
            raise InputValueError(option, f"{path} is one of the files to be read")


def check_page_path(html: Path | None, files: Sequence[str | Path]) -> None:
    """Raise an error if a page cannot be drawn, or cannot be written to its path."""
    if html is not None:
        import_extra("matplotlib", "an HTML page", "plot")
        check_writable(html, files, "--html")


# -- what is printed -------------------------------------------------------------------------------


class TaskDescription(NamedTuple):
    """What is printed about a task beside its report.

    Attributes
    ----------
    title : str
        The title of the page.
    heading : list of str
        Lines that say what was ranked.
    facts : dict
        The same as data, for JSON.
    audit : str
        The findings about the task itself, after a first line that the heading repeats.
    """

    title: str
    heading: list[str]
    facts: dict[str, Any]
    audit: str


def print_report(
    measured: Report, request: ReportRequest, description: TaskDescription | None = None
) -> None:
    """Print a report, or the requested keys of it, and write its page."""
    with user_errors():
        bounds: dict[str, Interval] = {
            key: measured.interval(key, seed=request.seed)
            for key in request.metrics * request.interval
        }
    found = metrics_sheet(measured, request.metrics, bounds) if request.metrics else measured
    text = FORMATS[request.style](found)
    if description is not None:
        text = _with_heading(text, description, request.style)
    lines = [] if description is None else description.audit.split("\n")[1:]
    page: dict[str, Any] = {"metrics": request.metrics or None, "notes": lines}
    if description is not None:
        page |= {"title": description.title, "notes": [*description.heading, *lines]}
    lines = [*lines, *_finding_lines(measured)] if request.audit else []
    with writing_page(request.html, lambda: measured, **page):
        emit(_with_findings(text, lines, request.style) if request.audit else text)


def _finding_lines(measured: Report) -> list[str]:
    """Return a line for each finding, or one line that says that there are none."""
    nothing = "Nothing was found that makes these numbers suspect."
    return list(map(str, measured.audit())) or [nothing]


def _with_findings(text: str, lines: Sequence[str], style: str) -> str:
    """Append findings to a text. JSON has them already; beside a CSV they go to standard error."""
    if style in LINE_FORMATS:
        return f"{text.rstrip()}\n\n{LINE_FORMATS[style](lines)}"
    if style in CSV_FORMATS:
        for line in lines:
            write_line(line)
    return text


def _with_heading(text: str, description: TaskDescription, style: str) -> str:
    """Put the heading before a text; JSON gets the facts instead, and CSV has no place for them."""
    if style == "json":
        return json.dumps(
            {**json.loads(text), "task": description.facts}, indent=2, allow_nan=False
        )
    if style not in LINE_FORMATS:
        return text
    gap = "\n" if style == "table" else "\n\n"
    return f"{LINE_FORMATS[style](description.heading).rstrip()}{gap}{text}"


@contextmanager
def writing_page(html: Path | None, reports: Callable[[], Any], **options: Any) -> Iterator[None]:
    """Write the page, if one is requested, after the block has printed, even if that failed."""
    try:
        yield
    finally:
        if html is not None:
            with user_errors():
                save(html, reports(), command=command_line(), **options)
