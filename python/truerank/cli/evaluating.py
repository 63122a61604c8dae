"""`truerank evaluate`: the metrics of scores in files, or of ranks that were saved."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from ..html.report_page import Options, page, title_of
from .files import AXES, LABELS, holds_ranks, is_file
from .frame import emit, reading_data, typed
from .options import (
    QUOTED,
    File,
    Keys,
    audit_option,
    by_option,
    dtype_option,
    given_of,
    html_option,
    interval_option,
    io_option,
    macro_option,
    metrics_option,
    nan_option,
    not_blank,
    order_option,
    read_named,
    seed_option,
    split_keys,
    style_option,
    threads_option,
    weights_option,
)
from .results import audit_lines, bounds_of, check_averages, report_text, with_findings, with_page
from .runs import Kept, Wanted, check_page, count, reopen
from .words import SIDE_WORDS, SPLITS, completing, some_of


def shape_of(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> tuple[int, int] | None:
    """Rows and columns, as 1000x40943; one of them may be left out."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d*)[xX](\d*)", text.strip())
    if found is None or not any(found.groups()):
        raise click.BadParameter(f"expected rows and columns, as 1000x40943, got {text!r}")
    rows, columns = (int(length or -1) for length in found.groups())
    return rows, columns


# Words too many are mostly the files of a pattern: the command itself sees to them.
@click.command(context_settings={"allow_extra_args": True})
@click.argument("scores", type=File)
@click.argument(
    "targets",
    required=False,
    callback=not_blank,
    shell_complete=completing(some_of(), files=True),
)
@click.option(
    "--filter",
    type=File,
    help="What to leave out for each task: .npz with indptr, indices and perhaps lists (which list "
    "each task uses), or a CSR matrix saved by scipy.sparse.",
)
@click.option("--rows", type=File, help="The score row of each task: .npy.")
@click.option(
    "--candidates",
    type=File,
    help="What alone to rank among: .npy of columns for all tasks, or .npz as for --filter.",
)
@order_option
@nan_option
@click.option(
    "--shards",
    type=click.Choice(list(AXES)),
    help="How the files of a pattern join: each holds some of the rows (the default) or columns.",
)
@click.option("--member", metavar="NAME", help="Which array of an .npz, HDF5 file or zarr group.")
@click.option(
    "--shape",
    metavar="ROWSxCOLUMNS",
    callback=shape_of,
    help="Of a raw file, with --dtype: 1000x40943, or x40943 for as many rows as it has.",
)
@dtype_option(
    'Of a raw file: float32, int8, ..., or in quotes ">float32", which is big-endian; of raw '
    "2-byte scores in .npy: bfloat16."
)
@click.option(
    "--layout",
    type=click.Choice(["C", "F"]),
    help="Of a raw file: whether rows lie together (C, the default) or columns (F, Fortran).",
)
@click.option(
    "--offset", type=click.IntRange(min=0), metavar="BYTES", help="Where a raw file's scores begin."
)
@io_option
@click.option(
    "--side",
    metavar="WORD|FILE",
    callback=not_blank,
    shell_complete=completing(SIDE_WORDS, files=True),
    help="What each task predicts, kept by --save: head or tail for all, or .npy of a word for "
    "each; so for saved ranks, too.",
)
@click.option("--relation", type=File, help="The relation of each task, kept likewise: .npy.")
@click.option("--queries", type=File, help="The query of each task, kept likewise: .npy.")
@click.option(
    "--split",
    metavar="NAME",
    callback=not_blank,
    shell_complete=completing(SPLITS),
    help="The split evaluated, kept likewise.",
)
@click.option(
    "--filtered-by",
    metavar="NAME,...",
    callback=split_keys,
    shell_complete=completing(SPLITS, several=True),
    help="The splits whose answers --filter leaves out, kept likewise: train,valid,test.",
)
@threads_option
@metrics_option
@by_option
@weights_option
@macro_option
@interval_option
@seed_option
@audit_option
@click.option(
    "--save",
    type=File,
    help="Keep the ranks in an .npz file, for any later metric; and beside it, in FILE.partial, "
    "what is done while they are counted.",
)
@click.option(
    "--resume", is_flag=True, help="Go on from what a stopped run left beside --save, if it did."
)
@html_option
@style_option
@click.pass_context
def evaluate(
    context: click.Context,
    /,
    scores: Path,
    targets: str | None,
    metrics: Keys,
    by: str | None,
    weights: str | None,
    macro_weights: str | None,
    interval: bool,
    seed: int,
    audit: bool,
    save: Path | None,
    html: Path | None,
    style: str,
    **options: Any,
) -> None:
    """Rank the true candidate of each task and report the metrics.

    SCORES has one row for each task (see --rows): a .npy or .npz file, the files of a pattern in
    quotes ("part-*.npy"), a zarr folder, an HDF5 file, or raw numbers with --shape and --dtype.
    They are read from where they are, however large. Or it is the .npz of ranks that --save wrote,
    which takes no TARGETS. TARGETS is a .npy file with the column of each true candidate, or a
    number: one column for all.

    \b
    truerank evaluate scores.npy targets.npy --filter filter.npz --filtered-by train,valid
        --side tail --relation relations.npy --queries heads.npy --split test --save ranks.npz
    truerank evaluate "part-*.npy" targets.npy --shards columns --save ranks.npz --resume
    truerank evaluate ranks.npz --metrics mrr,amri,macro.mrr --by relation --interval
    """
    if context.args:
        many = " ".join(context.args[:3]) + " ..." * (len(context.args) > 3)
        raise click.UsageError(f"Got unexpected extra arguments ({many}); {QUOTED}")
    given = given_of(options)
    check_averages(metrics, by, macro_weights, interval)
    if "resume" in given and save is None:
        raise click.UsageError("--resume needs --save, beside which a stopped run left its work")
    with reading_data():
        saved = holds_ranks(scores)
        kept = None if save is None else Kept(save, "resume" in given)
        labels = [by, weights, *(given.get(name) for name in LABELS)]
        files = [path for path in labels if path is not None and is_file(path)]
        if kept is not None:
            kept.check(files)
        check_page(html, save, [*files, *([scores] if saved else [])])
        groups, masses = read_named("--by", by), read_named("--weights", weights)
    wanted = Wanted(metrics, seed, groups, masses, macro_weights)
    if saved:
        measured = wanted.of(reopen(scores, targets, given))
        if kept is not None:
            with reading_data():
                measured.ranks.save(kept.path)
    elif targets is None:
        raise click.UsageError("Missing argument 'TARGETS'.")
    elif "filtered_by" in given and "filter" not in given:
        raise click.UsageError("--filtered-by names the splits of --filter, which is not given")
    else:
        measured = wanted.of(count(scores, targets, {**given, "audit": audit}, kept, wanted, html))
    bounds = bounds_of(measured, wanted, interval)
    lines = audit_lines(measured) if audit or html is not None else []
    text = report_text(measured, wanted, style, bounds)
    about = Options(title_of(measured), metrics, bounds, (), typed(), lines)
    with with_page(html, lambda: page(measured, about)):
        emit(with_findings(text, lines, style) if audit else text)
