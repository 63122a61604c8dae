"""What is wanted of ranks: which metrics of which groups, told in which format, kept where."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .. import Ranks, Report, report
from ..html.documents import save
from ..html.pictures import check_library
from ..html.report_page import PageOptions, page, title_of
from ..inputs.errors import InputValueError
from ..metrics import parse
from ..ranks.grouping import WEIGHTS
from ..ranks.labels import LABEL_ALIASES
from .app import emit, reading_data, told, typed
from .files import is_file
from .options import check_named, read_named
from .output import TOLD, chosen_sheet, in_style, report_in_style

if TYPE_CHECKING:
    from ..comparison.resampling import Interval


class Wanted(NamedTuple):
    """The options of a report, as `report_options` adds them to a command.

    Attributes
    ----------
    metrics : list of str
    by, weights : str, array or None
        Names of files are there until `opened` reads them.
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
    def taken(cls, options: dict[str, Any]) -> Wanted:
        """Take these options out of all; what cannot be is a wrong command line."""
        made = cls(**{name: options.pop(name) for name in cls._fields})
        if made.interval and not made.metrics:
            raise click.UsageError("--interval needs --metrics, whose intervals it gives")
        if made.macro_weights is None:
            return made
        if made.by is None:
            raise click.UsageError("--macro-weights needs --by, whose groups it weighs")
        macro = [key for key in made.metrics if parse(key).macro]
        if made.interval and macro:
            raise click.UsageError(
                f"--interval and --macro-weights: expected one of them, as {macro[0]} has an "
                "interval where every group counts once"
            )
        return made

    def opened(self, files: Sequence[str | Path], *, saved: bool = True) -> Wanted:
        """Read labels and weights, once nothing that is read can be written over."""
        named = [given for given in (self.by, self.weights) if given is not None and is_file(given)]
        if saved and self.save is not None:
            check_place(self.save, [*files, *named])
        self.check_page([*files, *named])
        by, weights = read_named("--by", self.by), read_named("--weights", self.weights)
        return self._replace(by=by, weights=weights)

    def check_page(self, files: Sequence[str | Path]) -> None:
        """Refuse a page that cannot be drawn or written, or would be written over something."""
        if self.html is None:
            return
        check_page(self.html, files)
        if self.save is not None and self.save.resolve() == self.html.resolve():
            raise InputValueError("--html", f"{self.html} is the file of --save, too")

    def labels(self) -> set[str]:
        """The labels of tasks that it goes by."""
        named = {name for name in (self.by, self.weights) if isinstance(name, str)}
        return {LABEL_ALIASES[name] for name in named if name in LABEL_ALIASES}

    def of(self, ranks: Ranks) -> Report:
        """The report; a key that it does not know is a wrong command line."""
        check_named("--by", self.by, LABEL_ALIASES, ranks)
        check_named("--weights", self.weights, WEIGHTS, ranks)
        groups = {"by": self.by, "weights": self.weights, "macro_weights": self.macro_weights}
        with reading_data():
            measured = report(ranks, seed=self.seed, **groups)
        try:
            measured.to_dict(self.metrics)
        except KeyError as error:
            raise click.BadParameter(told(error), param_hint="'--metrics'") from error
        return measured


def check_place(path: Path, files: Sequence[str | Path], option: str = "--save") -> None:
    """Refuse to save at a name that cannot be written, and over or into what is read."""
    for folder in (path.parent, path.resolve().parent):  # it may be a link
        if not folder.is_dir():
            raise FileNotFoundError(f"{option}: no folder {folder}")
        if not os.access(folder, os.W_OK):
            raise PermissionError(f"{option}: no permission to write into {folder}")
    if path.exists() and not path.is_file():
        raise InputValueError(option, expected="the name of a file", got=path)
    for file in map(Path, files):
        same = path.exists() and path.samefile(file)
        if same or (file.is_dir() and path.resolve().is_relative_to(file.resolve())):
            raise InputValueError(option, f"{path} is one of the files to be read")


def check_page(html: Path | None, files: Sequence[str | Path]) -> None:
    """Refuse a page that cannot be drawn, or be written there."""
    if html is not None:
        check_library()
        check_place(html, files, "--html")


# -- what is printed -------------------------------------------------------------------------------


class About(NamedTuple):
    """What is said of a task beside its report.

    Attributes
    ----------
    title : str
        Of the page.
    heading : list of str
        What was ranked, a line each.
    facts : dict
        The same for JSON.
    audit : str
        What was found in the task itself, below a first line that the heading has.
    """

    title: str
    heading: list[str]
    facts: dict[str, Any]
    audit: str


def tell(measured: Report, wanted: Wanted, about: About | None = None) -> None:
    """Print a report, or the keys of it that are wanted, and write its page."""
    with reading_data():
        bounds: dict[str, Interval] = {
            key: measured.interval(key, by=wanted.by, seed=wanted.seed)
            for key in wanted.metrics * wanted.interval
        }
    if wanted.metrics:
        text = in_style(chosen_sheet(measured, wanted.metrics, bounds), wanted.style)
    else:
        text = report_in_style(measured, wanted.style)
    if about is not None:
        text = _with_heading(text, about, wanted.style)
    lines = [] if about is None else about.audit.split("\n")[1:]
    lines += _found(measured) if wanted.audit or wanted.html is not None else []
    title, heading = (title_of(measured), ()) if about is None else about[:2]
    shown = PageOptions(title, wanted.metrics, bounds, heading, typed(), lines)
    with with_page(wanted.html, lambda: page(measured, shown)):
        emit(_with_findings(text, lines, wanted.style) if wanted.audit else text)


def _found(measured: Report) -> list[str]:
    """The findings, one to a line, or that there are none."""
    nothing = "Nothing was found that makes these numbers suspect."
    return list(map(str, measured.audit())) or [nothing]


def _with_findings(text: str, lines: Sequence[str], style: str) -> str:
    """A text and what was found below it; JSON has it anyway, of a CSV it is told beside."""
    if style in TOLD:
        return f"{text.rstrip()}\n\n{TOLD[style](lines)}"
    if style == "csv" and sys.stderr is not None:
        sys.stderr.write("".join(f"{line}\n" for line in lines))
    return text


def _with_heading(text: str, about: About, style: str) -> str:
    """A text below some lines; JSON has the facts themselves, a CSV has no place for them."""
    if style == "json":
        return json.dumps({**json.loads(text), "task": about.facts}, indent=2, allow_nan=False)
    if style not in TOLD:
        return text
    gap = "\n" if style == "table" else "\n\n"
    return f"{TOLD[style](about.heading).rstrip()}{gap}{text}"


@contextmanager
def with_page(html: Path | None, page: Callable[[], str]) -> Iterator[None]:
    """Write a page, if it is wanted, after a text is printed, and where nobody reads that."""
    try:
        yield
    finally:
        if html is not None:
            with reading_data():
                save(html, page())
