"""`truerank evaluate`: the metrics of scores in files, or of ranks that were saved."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import click

from ..grouping import WEIGHTS
from ..metrics import parse
from ..scores import DTYPES
from .display import draw_report
from .files import AXES, holds_ranks, read_labels
from .frame import (
    QUOTED,
    File,
    by_option,
    drawn,
    emit,
    in_style,
    named_or_file,
    not_blank,
    read_by,
    reading_data,
    seed_option,
    style_option,
)
from .runs import Kept, Wanted, count, reopen
from .sheets import TOLD, WHOLE, chosen_sheet, found_lines

Keys = list[str]


def split_keys(_context: click.Context, _option: click.Parameter, text: str | None) -> Keys:
    """Words between commas."""
    return [key for part in (text or "").split(",") if (key := part.strip())]


def known_keys(context: click.Context, option: click.Parameter, text: str | None) -> Keys:
    """Metric keys between commas; whether there are such sides and groups is known later."""
    keys = split_keys(context, option, text)
    try:
        for key in keys:
            parse(key)
    except KeyError as error:
        raise click.BadParameter(str(error.args[0])) from error
    return keys


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


def dtype_of(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
    """The dtype of scores, perhaps with a mark of their byte order."""
    if text is not None and text[text[:1] in ("<", ">") :] not in DTYPES:
        raise click.BadParameter(
            f"expected one of {', '.join(DTYPES)} (big-endian with > before it), got {text!r}"
        )
    return text


# Words too many are mostly the files of a pattern: the command itself sees to them.
@click.command(context_settings={"allow_extra_args": True})
@click.argument("scores", type=File)
@click.argument("targets", required=False, callback=not_blank)
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
@click.option(
    "--order",
    type=click.Choice(["descending", "ascending"]),
    help="Whether higher scores are better (descending, the default) or lower ones.",
)
@click.option(
    "--nan",
    type=click.Choice(["raise", "worst", "omit"]),
    help="A NaN among the candidates is an error (raise, the default), the worst score, or none.",
)
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
@click.option(
    "--dtype",
    callback=dtype_of,
    metavar="NAME",
    help='Of a raw file: float32, int8, ..., or in quotes ">float32", which is big-endian; of raw '
    "2-byte scores in .npy: bfloat16.",
)
@click.option(
    "--layout",
    type=click.Choice(["C", "F"]),
    help="Of a raw file: whether rows lie together (C, the default) or columns (F, Fortran).",
)
@click.option(
    "--offset", type=click.IntRange(min=0), metavar="BYTES", help="Where a raw file's scores begin."
)
@click.option(
    "--io",
    type=click.Choice(["map", "read"]),
    help="Files are mapped (the default), or read in pieces, which bears that they shrink.",
)
@click.option(
    "--side",
    metavar="WORD|FILE",
    callback=not_blank,
    help="What each task predicts, kept by --save: head or tail for all, or .npy of a word for "
    "each; so for saved ranks, too.",
)
@click.option("--relation", type=File, help="The relation of each task, kept likewise: .npy.")
@click.option("--queries", type=File, help="The query of each task, kept likewise: .npy.")
@click.option(
    "--split", metavar="NAME", callback=not_blank, help="The split evaluated, kept likewise."
)
@click.option(
    "--filtered-by",
    metavar="NAME,...",
    callback=split_keys,
    help="The splits whose answers --filter leaves out, kept likewise: train,valid,test.",
)
@click.option("--threads", type=click.IntRange(min=1), help="By default all that are allowed.")
@click.option(
    "--metrics",
    metavar="KEY,...",
    callback=known_keys,
    help="Report only these, such as mrr,optimistic.hits@10,tail.amri,macro.mrr.",
)
@by_option
@click.option(
    "--weights",
    metavar="LABEL|FILE",
    callback=named_or_file(tuple(WEIGHTS)),
    help="What each task counts: query, relation or target (each counts once), or .npy.",
)
@click.option(
    "--interval",
    is_flag=True,
    help="95 % bootstrap intervals of --metrics, over tasks, or over the groups of --by.",
)
@seed_option
@click.option("--audit", is_flag=True, help="Count NaN and saturated scores; say what is suspect.")
@click.option(
    "--save",
    type=File,
    help="Keep the ranks in an .npz file, for any later metric; and beside it, in FILE.partial, "
    "what is done while they are counted.",
)
@click.option(
    "--resume", is_flag=True, help="Go on from what a stopped run left beside --save, if it did."
)
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
    interval: bool,
    seed: int,
    audit: bool,
    save: Path | None,
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
    given = {k: v for k, v in options.items() if not (v is None or v is False or v == [])}
    if interval and not metrics:
        raise click.UsageError("--interval needs --metrics, whose intervals it gives")
    if "resume" in given and save is None:
        raise click.UsageError("--resume needs --save, beside which a stopped run left its work")
    with reading_data():
        saved = holds_ranks(scores)
        kept = None if save is None else Kept(save, "resume" in given)
        if kept is not None:
            kept.check([])
        groups = read_by(by)
        masses = None if weights is None else read_labels("--weights", weights, WEIGHTS)
    wanted = Wanted(metrics, seed, groups, masses)
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
        measured = wanted.of(count(scores, targets, {**given, "audit": audit}, kept, wanted))
    if metrics:
        with reading_data():
            keys = metrics if interval else []
            bounds = {key: measured.interval(key, by=groups, seed=seed) for key in keys}
        text = in_style(chosen_sheet(measured, metrics, bounds), style)
    else:
        text = drawn(draw_report, measured) if style == "table" else WHOLE[style](measured)
    if audit:
        lines = found_lines(measured.audit())
        if style in TOLD:
            text = f"{text.rstrip()}\n\n{TOLD[style](lines)}"
        elif style == "csv" and sys.stderr is not None:
            sys.stderr.write("".join(f"{line}\n" for line in lines))
    emit(text)
