"""`truerank merge`: joins counts of several jobs, of parts of the tasks or of the candidates."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import click
import numpy as np

from .. import RankCounter, concatenate, load
from ..arrays.row_keys import distinct
from ..counting import counter as counters
from ..counting.block_columns import first_of
from ..errors import InputError, InputValueError
from ..inference.units import UNIT, describe_units, unit_codes
from ..ranks import storage
from ..ranks.joining import REPEAT_RULES
from ..tables import Table
from ..tables.cells import format_count
from .files import archive_kind
from .options import INPUT, PRINTING, REPORTING, Given, command, flag, option, refuse, take
from .output import check_printing, show
from .report_output import SAVED, kind_of_report, report_of, rules_of, show_report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .. import Ranks

_NUMBERED = re.compile(r"(?:^parts: number|\bpart) (\d+)")
KINDS = {storage.KIND: "saved ranks", counters.KIND: "saved counters"}


@command("merge", f"relevance_level {REPORTING}", short_help="Join the counts of several jobs.")
@click.argument("parts", type=INPUT, nargs=-1, metavar="A.npz B.npz [C.npz ...]")
@option(
    "--repeats",
    click.Choice(REPEAT_RULES),
    "What to do with tasks that several files of ranks have: refuse them (the default), drop all "
    "but the first, if the counts agree, or keep them.",
)
@flag(
    "--incomplete",
    "Join what is there, although candidates or tasks of the whole are missing. --save stores "
    "it, to be merged with the rest.",
)
def merge(given: Given) -> None:
    """Join the counts of several jobs, and report the metrics of the whole.

    The files are ranks over parts of the tasks, which --save of any command or `Ranks.save` wrote,
    and which are joined in the order of the whole where each is a --part of one task. Units, which
    intervals draw (test triples, aligned pairs, queries), are those of the whole then; files of
    tasks of their own keep theirs apart, whatever their names. Or they are counters over parts of
    the candidates, which `RankCounter.save` wrote. All are of one kind. The joined counts are those
    of one job that counts all, and --save stores them for `truerank evaluate`, which adds labels to
    them, and for `compare`.

    \b
    truerank merge part-0.npz part-1.npz part-2.npz --save ranks.npz
    truerank merge columns-*.npz --save ranks.npz --metrics mrr,hits@10 --interval
    """
    paths = given.pop("parts", ())
    if len(set(paths)) < max(2, len(paths)):
        raise click.UsageError("expected the saved counts of at least two jobs, each once")
    is_incomplete = given.pop("incomplete", False)
    if kind_of_parts(paths) == storage.KIND:
        ranks = joined_ranks(paths, given.pop("repeats", "refuse"), is_incomplete)
    else:
        refuse(take(given, "repeats"), "counters")
        counter = merged_counters(paths)
        if is_incomplete:
            save_counter(counter, paths, given)
            return
        check_columns(counter)
        ranks = counter.ranks()
    kind = kind_of_report(ranks)
    rules = rules_of(kind, given)
    show_report(partial(report_of, ranks, rules), given, SAVED, kind=kind)


def kind_of_parts(paths: Sequence[str]) -> str:
    """Return which kind of archive all files are."""
    kinds = {path: archive_kind("parts", path) for path in paths}
    first = paths[0]
    for path, kind in kinds.items():
        if kind not in KINDS:
            raise InputValueError(
                "parts", expected="saved ranks or counters", got=repr(kind[:80]), place=path
            )
        if kind != kinds[first]:
            expected = f"{KINDS[kinds[first]]}, as {first}"
            raise InputValueError("parts", expected=expected, got=KINDS[kind], place=path)
    return kinds[first]


def joined_ranks(paths: Sequence[str], repeats: str, is_incomplete: bool) -> Ranks:
    """Join ranks over tasks; those of parts of a task must be all, unless some may be missing."""
    try:
        ranks = concatenate(map(load, paths), repeats=repeats)  # type: ignore[arg-type]
    except InputError as error:  # It numbers the parts, whose files have names.
        texts = [_NUMBERED.sub(lambda part: paths[int(part[1])], text) for text in error.args]
        raise type(error)(*texts) from error
    units = sum(origin.units for origin in ranks.origins)
    there = units if ranks.unit is None else len(distinct(ranks.unit.codes))
    if there < units and not is_incomplete:
        counted = describe_units(units, unit_codes(ranks, UNIT).name)
        expected = f"all {counted} of the whole, or --incomplete"
        got = f"{there:,} of them{missing_rows(ranks)}"
        raise InputValueError("parts", expected=expected, got=got)
    return ranks


def missing_rows(ranks: Ranks) -> str:
    """Say which rows of one whole are missing, where each is a unit of it."""
    (origin, *others) = ranks.origins
    if others or ranks.unit is None or origin.rows != origin.units:
        return ""
    is_missing = np.ones(origin.rows, np.bool_)
    is_missing[ranks.unit.codes] = False
    missing = np.flatnonzero(is_missing)
    first = ", ".join(map(str, missing[:4].tolist()))
    return f"; missing rows: {first}, ..." if len(missing) > 4 else f"; missing rows: {first}"


def merged_counters(paths: Sequence[str]) -> RankCounter:
    """Merge counters over candidates; what one of them cannot add is said of its file."""
    counter = RankCounter.load(paths[0])
    for path in paths[1:]:
        try:
            counter.merge(RankCounter.load(path))
        except InputError as error:
            raise error.of(path) from error
    return counter


def check_columns(counter: RankCounter) -> None:
    """Refuse a counter that lacks columns of its candidates."""
    seen = counter._begun()
    counted = seen.bit_count()
    columns = counter._columns
    if columns is not None and counted < columns:
        expected = f"all {format_count(columns, 'column')} of candidates, or --incomplete"
        got = f"{counted:,} of them; missing: column {first_of(~seen)}"
        got += " and others" if columns > counted + 1 else ""
        raise InputValueError("parts", expected=expected, got=got)


def save_counter(counter: RankCounter, paths: Sequence[str], given: Given) -> None:
    """Save a counter that lacks candidates, and say what it and its parts hold."""
    printing = take(given, PRINTING)
    saved = given.pop("save", None)
    refuse(given, "a counter that lacks candidates")
    if saved is None:
        raise click.UsageError("--incomplete of counters needs --save")
    check_printing(printing, save=saved)
    counter.save(saved)
    rows = [[path, repr(RankCounter.load(path))] for path in paths]
    rows.append([str(saved), repr(counter)])
    show(Table(["file", "holds"], rows, names=2), printing)
