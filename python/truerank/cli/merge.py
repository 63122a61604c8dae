"""`truerank merge`: joins counts of several jobs, of parts of the tasks or of the candidates."""

from __future__ import annotations

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
from ..ranks.origins import numbered_apart
from ..tables.cells import format_count
from .files import archive_kind
from .options import INPUT, REPORTING, Given, command, option, refuse, take
from .report_output import SAVED, kind_of_report, report_of, rules_of, show_report

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .. import Ranks
    from ..arrays.types import IntArray

KINDS = {storage.KIND: "saved ranks", counters.KIND: "saved counters"}


@command("merge", f"relevance_level {REPORTING}")
@click.argument("parts", type=INPUT, nargs=-1, metavar="A.npz B.npz [C.npz ...]")
@option(
    "--repeats",
    click.Choice(REPEAT_RULES),
    "What to do with tasks that several files of ranks have: refuse them (the default), drop all "
    "but the first, if the counts agree, or keep them.",
)
def merge(given: Given) -> None:
    """Join the counts of several jobs, and report the metrics of the whole.

    The files are ranks over parts of the tasks, which --save of any command or `Ranks.save` wrote.
    Where each is a --part of one task, they are joined in the order of the whole, and have its
    units (test triples, aligned pairs, queries); files of tasks of their own keep their units
    apart, whatever their names. Or they are counters over parts of the candidates, which
    `RankCounter.save` wrote. All are of one kind. The joined counts are those of one job that
    counts all, and --save stores them for `truerank evaluate`, which adds labels to them, and for
    `compare`.

    \b
    truerank merge part-0.npz part-1.npz part-2.npz --save ranks.npz
    truerank merge columns-*.npz --save ranks.npz --metrics mrr,hits@10 --interval
    """
    paths = given.pop("parts", ())
    if len(set(paths)) < max(2, len(paths)):
        raise click.UsageError("expected the saved counts of at least two jobs, each once")
    if kind_of_parts(paths) == storage.KIND:
        ranks = joined_ranks(paths, given.pop("repeats", "refuse"))
    else:
        refuse(take(given, "repeats"), "counters")
        counter = merged_counters(paths)
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


def joined_ranks(paths: Sequence[str], repeats: str) -> Ranks:
    """Join ranks over tasks; those of parts of a task must be all."""
    parts = {path: load(path) for path in paths}
    try:
        ranks = concatenate(parts.values(), repeats=repeats)  # type: ignore[arg-type]
    except InputError as error:
        number = error.argument.removeprefix("parts: number ")
        if not number.isdecimal():
            raise
        raise error.of(paths[int(number)]) from error
    if ranks.origins and ranks.unit is not None:
        check_units(ranks, ranks.unit.codes, parts)
        check_sides(ranks, ranks.unit.codes, parts)
    return ranks


def check_units(ranks: Ranks, unit: IntArray, parts: Mapping[str, Ranks]) -> None:
    """Refuse ranks that lack units of a whole, and say which, or which part is of another."""
    units = sum(origin.units for origin in ranks.origins)
    found = distinct(unit)
    if len(found) == units:
        return
    first, *others = parts
    wholes = {path: {origin.fingerprint for origin in parts[path].origins} for path in parts}
    apart = [path for path in others if wholes[path].isdisjoint(wholes[first])]
    got = f"{len(found):,} of them"
    if apart:
        got += f"; {apart[0]} is of another test than {first}"
    elif len(ranks.origins) == 1 and ranks.origins[0].rows == units:  # Each row is a unit.
        is_missing = np.ones(units, np.bool_)
        is_missing[found] = False
        got += f"; missing: {describe_rows(np.flatnonzero(is_missing), units)}"
    counted = describe_units(units, unit_codes(ranks, UNIT)[1])
    expected = f"all {counted} of the whole"
    raise InputValueError("parts", expected=expected, got=got)


def describe_rows(rows: IntArray, number: int) -> str:
    """Name the first of some rows, and the part that they are, if it is one.

    Examples
    --------
    >>> describe_rows(np.array([0]), 9), describe_rows(np.array([2, 5, 8]), 9)
    ('row 0', 'rows 2, 5, 8 (--part 2::3)')
    >>> describe_rows(np.array([2, 3, 4, 5, 6]), 9), describe_rows(np.array([2, 3, 7]), 9)
    ('rows 2, 3, 4, 5, ... (--part 2:7)', 'rows 2, 3, 7')
    """
    if len(rows) == 1:
        return f"row {rows[0]}"
    text = f"rows {', '.join(map(str, rows[:4].tolist()))}"
    text += ", ..." if len(rows) > 4 else ""
    step = rows[1] - rows[0]
    stop = rows[-1] + 1
    if (np.diff(rows) != step).any():
        return text
    if step == 1:
        return f"{text} (--part {rows[0]}:{stop})"
    is_stride = rows[0] < step and rows[-1] + step >= number
    return f"{text} (--part {rows[0]}::{step})" if is_stride else text


def check_sides(ranks: Ranks, unit: IntArray, parts: Mapping[str, Ranks]) -> None:
    """Refuse a part without a side that others have: means over all tasks would mix them."""
    if ranks.side is None:
        return
    sides_of = {path: part.side.values for path, part in parts.items() if part.side is not None}
    name = unit_codes(ranks, UNIT)[1]
    for side in map(str, ranks.side.counts()):
        of_side = unit[ranks.side.values == side]
        if not len(of_side):
            continue
        has_side = np.zeros(sum(origin.rows for origin in ranks.origins), np.bool_)
        has_side[of_side] = True
        for path, part in parts.items():
            if not len(part):
                continue
            # Units of a part have other numbers where parts are of several tests.
            of_part = numbered_apart(part._labels, part.origins, ranks.origins)["unit"].codes
            lacks = ~has_side[of_part]
            if lacks.any():
                has = next(path for path, found in sides_of.items() if side in found)
                alone = " and ".join(dict.fromkeys(sides_of[path][lacks].tolist()))
                number = describe_units(len(distinct(of_part[lacks])), name)
                raise InputValueError(
                    "parts",
                    expected=f"{side} of each {name}, as {has} has",
                    got=f"{alone} alone of {number}",
                    place=path,
                )


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
        expected = f"all {format_count(columns, 'column')} of candidates"
        got = f"{counted:,} of them; missing: column {first_of(~seen)}"
        got += " and others" if columns > counted + 1 else ""
        raise InputValueError("parts", expected=expected, got=got)
