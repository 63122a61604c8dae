"""Runs of `truerank evaluate`: scores are counted, or ranks that were saved opened again."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from .. import Ranks, Report, load, rank, report
from ..html.pictures import check_library
from ..inputs.errors import InputValueError
from ..ranks.grouping import WEIGHTS
from ..ranks.labels import NAMED
from .files import (
    COUNTED,
    LABELS,
    READERS,
    STORED,
    is_file,
    open_store,
    read_facts,
    read_targets,
    tasks_of,
)
from .frame import reading_data, told
from .options import QUOTED, check_named
from .progress import Bar, Follower

if TYPE_CHECKING:
    from .. import Progress
    from ..stores import Store

PARTIAL = ".partial"  # what the name of a checkpoint ends in


class Wanted(NamedTuple):
    """What is to be measured of ranks."""

    keys: list[str]
    seed: int
    by: Any
    weights: Any
    macro_weights: str | None = None

    def of(self, ranks: Ranks) -> Report:
        """The report; a key that it does not know is a wrong command line."""
        check_named("--by", self.by, NAMED, ranks)
        check_named("--weights", self.weights, WEIGHTS, ranks)
        with reading_data():
            measured = report(
                ranks,
                seed=self.seed,
                by=self.by,
                weights=self.weights,
                macro_weights=self.macro_weights,
            )
        try:
            measured.to_dict(self.keys)
        except KeyError as error:
            raise click.BadParameter(told(error), param_hint="'--metrics'") from error
        return measured

    def labels(self) -> set[str]:
        """The labels of tasks that it goes by."""
        named = {name for name in (self.by, self.weights) if isinstance(name, str)}
        return {NAMED[name] for name in named if name in NAMED}


def followed(
    store: Store, targets: Any, begun: Callable[[], object] = lambda: None, **keywords: Any
) -> Ranks:
    """Count, draw how far it is, and say whenever a part of it is done, none at first."""
    with Bar() as bar:
        follower = Follower(bar)

        def report_progress(progress: Progress) -> None:
            begun()
            follower(progress)

        return rank(store, targets, progress=report_progress, **keywords)


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


def check_page(html: Path | None, save: Path | None, files: Sequence[str | Path]) -> None:
    """Refuse a page that cannot be drawn or written, or would be written over something else."""
    if html is None:
        return
    check_library()
    check_place(html, files, "--html")
    if save is not None and save.resolve() == html.resolve():
        raise InputValueError("--html", f"{html} is the file of --save, too")


class Kept(NamedTuple):
    """Where ranks are kept, and beside it what is done of them while they are counted."""

    path: Path
    resume: bool

    @property
    def partial(self) -> Path:
        """The checkpoint."""
        return Path(f"{self.path}{PARTIAL}")

    def check(self, files: Sequence[str | Path]) -> None:
        """Refuse a name that cannot be written, and to write over or into what is read."""
        for path in (self.path, self.partial):
            check_place(path, files)

    def ranked(self, store: Store, targets: Any, **keywords: Any) -> Ranks:
        """Count beside a checkpoint: an old one goes unless it is wanted, a new one is told of."""
        old = Path(f"{self.partial}.old")  # until counting begins: what is refused costs nothing
        if not self.resume and self.partial.exists():
            self.partial.replace(old)
        ours = not self.partial.exists()

        def begun() -> None:
            old.unlink(missing_ok=True)

        try:
            return followed(store, targets, begun, checkpoint=self.partial, **keywords)
        except (TypeError, ValueError):  # the same would come again
            if ours:
                self.partial.unlink(missing_ok=True)
            raise
        except KeyboardInterrupt:
            if sys.stderr is not None:
                found = self.partial.exists()
                told = f"; --resume goes on from {self.partial}" if found else " before the count"
                sys.stderr.write(f"Stopped{told}\n")
            raise click.Abort from None
        finally:
            if old.exists():
                old.replace(self.partial)

    def keep(self, ranks: Ranks) -> None:
        """Save the ranks; the checkpoint has done its work."""
        ranks.save(self.path)
        self.partial.unlink(missing_ok=True)


def count(
    scores: Path,
    targets: str,
    options: dict[str, Any],
    kept: Kept | None,
    wanted: Wanted,
    html: Path | None = None,
) -> Ranks:
    """Count the ranks of scores in files, once everything else is known to fit them."""
    with reading_data():
        store = open_store(scores, options)
    with store:
        files = [*store.files, *([] if targets.isdecimal() else [targets])]
        files += [str(options[name]) for name in READERS if name in options]
        files += [str(options[name]) for name in LABELS if is_file(options.get(name))]
        with reading_data():
            if kept is not None:
                kept.check(files)
            check_page(html, kept and kept.path, files)
            truth = read_targets("TARGETS", targets)
            if np.ndim(truth) == 2:
                raise InputValueError(
                    "TARGETS", f"{targets}: expected columns, got a matrix; {QUOTED}"
                )
            counted = {name: options[name] for name in COUNTED if name in options}
            for name, reader in READERS.items():
                if name in options:
                    counted[name] = reader(f"--{name}", options[name])
            facts, n = read_facts(options), tasks_of(store, truth, counted.get("rows"))
            if "targets" in wanted.labels() and n is not None:
                facts.labels["targets"] = truth if np.ndim(truth) else np.full(n, truth)
            if n is not None:  # a count may take long: what cannot fit it is refused before
                bare = Ranks(np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64), 2)
                filtered = {"filter": ("unnamed",)} if "filter" in counted else {}
                stand_in = facts.told_of(bare.with_protocol(**filtered))
        if n is not None:
            wanted.of(stand_in)
        counting = followed if kept is None else kept.ranked
        with reading_data():
            ranks = counting(store, truth, **counted)
            ranks = facts.told_of(ranks).with_protocol(files=files)
            if kept is not None:  # before anything else can fail
                kept.keep(ranks)
    return ranks


def reopen(scores: Path, targets: str | None, options: dict[str, Any]) -> Ranks:
    """Ranks that an earlier run saved: there is nothing left to count."""
    given = ["TARGETS"] * (targets is not None)
    names = dict.fromkeys((*COUNTED, *STORED, "resume"))
    given += [f"--{name}" for name in names if name in options and name != "audit"]
    if given:
        raise click.UsageError(
            f"{scores} is an archive of ranks that were counted before: "
            f"{', '.join(given)} cannot apply to them"
        )
    with reading_data():
        return read_facts(options).told_of(load(scores))
