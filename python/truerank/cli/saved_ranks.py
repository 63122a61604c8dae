"""`truerank compare` and `merge`: the saved ranks of several models, or of several jobs."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from .. import RankCounter, concatenate, load, report
from ..arrays.input_files import read_npz, report_damage
from ..arrays.row_keys import distinct
from ..arrays.saved_files import HEADER
from ..counting import counter as counters
from ..counting.counter import first_of
from ..errors import InputError, InputValueError
from ..inference import compare
from ..metrics.contributions import UNIT, describe_units, unit_codes
from ..naming import format_count
from ..page import save as save_page
from ..ranks.container import KIND
from ..ranks.joining import REPEAT_RULES, numbered_apart
from ..retrieval import Task
from .options import (
    CANDIDATES,
    INPUT,
    LABEL,
    PRINTING,
    REPORTING,
    Given,
    command,
    option,
    refuse,
    take,
)
from .output import (
    SAVED,
    bar,
    check_printing,
    command_line,
    show,
    show_report,
    unit_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .. import Ranks
    from ..arrays.types import IntArray

KINDS = {KIND: "saved ranks", counters.KIND: "saved counters"}

# -- several models --------------------------------------------------------------------------------


@command(
    "compare",
    f"order nan relevance_level seed html metrics {PRINTING}",
    {"entities": "--candidates"},
)
@click.argument("ranks", type=INPUT, nargs=-1, metavar="A.npz B.npz [C.npz ...]")
@option(
    "--level",
    click.FloatRange(0, 1, min_open=True, max_open=True),
    "Confidence level of the interval of the difference. Default: 0.95.",
)
@option(
    "--unit",
    LABEL,
    "What was drawn when the test set was made: a label of the ranks (query, relation, ...), or a "
    ".npy file with a label for each task of the first file. Default: the label unit, else tasks.",
)
@option("--by", LABEL, "The groups that have rows on the page of --html: a label of the ranks.")
@option("--qrels", INPUT, "Right answers, of which the files are runs, as those of TREC.")
@option(
    "--candidates",
    CANDIDATES,
    "Of runs: how many candidates there are in all, or a file with a name in each line.",
)
@option("--allow-unlike", None, "Compare even if protocols or ids differ.")
def compare_files(given: Given) -> None:
    """Compare models over the same tasks: difference, interval, p-value, wins and losses.

    Each file holds the ranks of one model, which --save of any command wrote; those of retrieval
    are compared query by query, by their own metrics (ndcg@10, map, ...). With --qrels each file
    is a run itself, which is evaluated as `truerank retrieval` does it. Of more than two models
    all pairs are compared, by each of --metrics (mrr, if none are given). p-values of several
    pairs or metrics are also corrected by Holm's method, all of them together.

    \b
    truerank compare transe.npz rotate.npz --metrics mrr,hits@10
    truerank compare a.npz b.npz c.npz --metrics hits@10 --unit relation --format markdown
    truerank compare bm25.npz dense.npz --metrics ndcg@10,map
    truerank compare bm25.run dense.run --qrels qrels.txt --candidates 8841823 --metrics ndcg@10

    Models are compared unit by unit: by the label "unit" of the ranks (test triples, aligned
    pairs, queries), or task by task where they have none; --unit names another label.
    """
    paths = given.pop("ranks", ())
    if len(set(paths)) < max(2, len(paths)):
        raise click.UsageError("expected the saved ranks of at least two models, each once")
    printing = take(given, PRINTING)
    page = given.pop("html", None)
    metrics = given.pop("metrics", ["mrr"])
    seed = given.pop("seed", 0)
    check_printing(printing, html=page)
    named = dict(zip(model_names(paths), paths, strict=True))
    ranks = ranks_of_runs(named, given) if "qrels" in given else saved_ranks(named, given)
    rules = take(given, "relevance_level")
    if unit_of(next(iter(ranks.values()))) == "task":
        refuse(rules, "ranks of tasks with one right answer each")
    by = given.pop("by", None)
    if by is not None and page is None:
        raise click.UsageError("--by has groups on the page of --html; --unit names the units")
    models = {}
    for name, each in ranks.items():
        models[name] = report(each.with_protocol(**rules), seed=seed, by=by)
    compared = compare(models, metric=metrics, seed=seed, **given)
    if page is not None:
        save_page(page, models, metrics=metrics, command=command_line(), **given)
    show(compared, printing)


def check_files(paths: Iterable[str], *, are_runs: bool) -> None:
    """Refuse runs among saved ranks, and saved ranks among runs."""
    expected = "ranks that --save of a command wrote, or runs alone with --qrels and --candidates"
    got = "another file"
    if are_runs:
        expected = "runs alone beside --qrels; `truerank retrieval --save` makes ranks of a run"
        got = "saved ranks"
    for path in paths:
        if os.path.isfile(path) and zipfile.is_zipfile(path) == are_runs:
            raise InputValueError("ranks", expected=expected, got=got, place=path)


def saved_ranks(named: Mapping[str, str], given: Given) -> dict[str, Ranks]:
    """Load the ranks of each file, which is named as its model."""
    refuse(take(given, "candidates order nan"), "saved ranks")
    check_files(named.values(), are_runs=False)
    return {name: load(path) for name, path in named.items()}


def ranks_of_runs(named: Mapping[str, str], given: Given) -> dict[str, Ranks]:
    """Evaluate the lists of files, and return the ranks of each."""
    if "candidates" not in given:
        raise click.UsageError(
            "--qrels needs --candidates: the number of documents in the collection, or a file of "
            "their names"
        )
    check_files(named.values(), are_runs=True)
    task = Task(given.pop("qrels"), entities=given.pop("candidates"))
    rules = take(given, "order nan")
    progress = bar()
    return {
        name: task.evaluate_lists(path, **rules, progress=progress).ranks
        for name, path in named.items()
    }


def model_names(paths: Sequence[str]) -> list[str]:
    """Name models by their files without the suffix, or by whole paths if two would be equal."""
    stems = [Path(path).stem for path in paths]
    if len(set(stems)) < len(stems):
        return list(paths)
    return stems


# -- several jobs ----------------------------------------------------------------------------------


@command("merge", f"relevance_level {REPORTING}")
@click.argument("parts", type=INPUT, nargs=-1, metavar="A.npz B.npz [C.npz ...]")
@option(
    "--repeats",
    tuple(REPEAT_RULES),
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
    if kind_of_parts(paths) == KIND:
        ranks = joined_ranks(paths, given.pop("repeats", "refuse"))
    else:
        refuse(take(given, "repeats"), "counters")
        counter = merged_counters(paths)
        check_columns(counter)
        ranks = counter.ranks()
    show_report(lambda: ranks, given, SAVED, unit=unit_of(ranks))


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


def archive_kind(argument: str, path: str) -> str:
    """Return what an archive of truerank says it holds, as "truerank.ranks"; empty for others."""
    _, arrays = read_npz(argument, path, (HEADER,), compressed=False)
    if HEADER not in arrays:
        return ""
    with report_damage(argument, path, "damaged header: "):
        kind = json.loads(arrays[HEADER].tobytes())["kind"]
    return str(kind)


def joined_ranks(paths: Sequence[str], repeats: str) -> Ranks:
    """Join ranks over tasks; those of parts of a task must be all."""
    parts = {path: load(path) for path in paths}
    try:
        ranks = concatenate(parts.values(), repeats=repeats)  # type: ignore[arg-type]
    except InputError as error:
        number = error.argument.removeprefix("parts: number ")
        if not number.isdecimal():
            raise
        error.argument = paths[int(number)]
        raise
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
            error.argument = path
            raise
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
