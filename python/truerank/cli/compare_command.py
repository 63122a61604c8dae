"""`truerank compare`: compares the saved ranks of several models, pair by pair."""

from __future__ import annotations

import os
from pathlib import Path

import click

from .. import Report, load, report
from ..inference.comparing import compare
from ..inference.units import COUNT, COUNT_MESSAGE, TASK, UNIT
from ..metrics import parse
from ..ranks.labels import LABEL_ALIASES
from .app import Subcommand, emit, error_text, user_errors
from .files import is_file
from .options import (
    File,
    by_option,
    check_label,
    html_option,
    read_labels,
    seed_option,
    style_option,
)
from .output import FORMATS, comparison_sheet
from .report_request import check_page_path, writing_page


@click.command(
    "compare", cls=Subcommand, short_help="Compare models: difference, interval, p-value."
)
@click.argument("ranks", type=File, nargs=-1, metavar="A.npz B.npz [C.npz ...]")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    default=("mrr",),
    show_default="mrr",
    help="Compared metric, such as tail.hits@10; may be given several times.",
)
@by_option
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence level of the interval of the difference.",
)
@seed_option
@click.option("--allow-unlike", is_flag=True, help="Compare even if protocols or ids differ.")
@html_option
@style_option
def compare_files(
    ranks: tuple[Path, ...],
    metrics: tuple[str, ...],
    by: str | None,
    level: float,
    seed: int,
    allow_unlike: bool,
    html: Path | None,
    style: str,
) -> None:
    """Compare models over the same tasks: difference, interval, p-value, wins and losses.

    Each file holds the ranks of one model, which `truerank evaluate --save` wrote. Of more than two
    models all pairs are compared. p-values of several pairs or metrics are also corrected by Holm's
    method, all of them together.

    \b
    truerank compare transe.npz rotate.npz --metric mrr --metric hits@10
    truerank compare a.npz b.npz c.npz --metric hits@10 --by relation --format markdown

    The results are swapped unit by unit: the label "unit" of the ranks (test triples, aligned
    pairs, queries), or tasks where they have none; --by names another label.
    """
    if len(ranks) < 2:
        raise click.UsageError("expected the saved ranks of at least two models")
    try:
        chosen_keys = list(dict.fromkeys(map(parse, metrics)))
    except KeyError as error:
        raise click.BadParameter(error_text(error), param_hint="'--metric'") from error
    if any(key.metric == COUNT for key in chosen_keys):
        raise click.BadParameter(COUNT_MESSAGE, param_hint="'--metric'")
    names = model_names(ranks)
    with user_errors():
        models = {name: load(path) for name, path in zip(names, ranks, strict=True)}
        groups = read_labels("--by", by)
        check_page_path(html, [*ranks, *([Path(by)] if by is not None and is_file(by) else [])])
    check_label("--by", groups, [*LABEL_ALIASES, UNIT, TASK], next(iter(models.values())))
    units = UNIT if groups is None else groups
    with user_errors():
        try:
            pairs = compare(
                models,
                metric=chosen_keys,
                by=units,
                level=level,
                draw_seed=seed,
                allow_unlike=allow_unlike,
            )
        except KeyError as error:  # a side that the ranks lack, or no groups
            raise click.BadParameter(error_text(error), param_hint="'--metric'") from error
    sheet = comparison_sheet(pairs)

    def reports() -> dict[str, Report]:
        shown = None if isinstance(groups, str) and groups == TASK else groups
        return {name: report(found, by=shown) for name, found in models.items()}

    options = {"by": units, "level": level, "allow_unlike": allow_unlike}
    with writing_page(html, reports, metrics=metrics, **options):
        emit(FORMATS[style](sheet))


def model_names(paths: tuple[Path, ...]) -> list[str]:
    """Name models by their files without the suffix, or by whole paths if two would be equal."""
    stems = [path.stem for path in paths]
    names = stems if len(set(stems)) == len(stems) else [str(path) for path in paths]
    if len(set(map(os.path.realpath, paths))) < len(paths):
        raise click.UsageError("expected different files, got one of them twice")
    return names
