"""`truerank compare`: compares the saved ranks of several models, pair by pair."""

from __future__ import annotations

import os
import zipfile
from typing import TYPE_CHECKING, Any

import click

from .. import Report, load
from ..errors import InputValueError
from ..inference import compare
from ..page import save as save_page
from ..retrieval import RetrievalReport, Task
from .files import model_names
from .options import (
    CANDIDATES,
    INPUT,
    LABEL,
    OF_CANDIDATES,
    PRINTING,
    Given,
    command,
    flag,
    option,
    refuse,
    take,
)
from .output import bar, check_printing, command_line, show
from .report_output import kind_of_report, report_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .. import Ranks


@command("compare", f"order nan relevance_level seed html metrics {PRINTING}")
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
@flag("--allow-unlike", "Compare even if protocols or ids differ.")
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
    check_kinds(ranks)
    models: dict[str, Any] = ranks
    rules = take(given, "relevance_level")
    if kind_of_report(next(iter(ranks.values()))) is Report:
        refuse(rules, "ranks of tasks with one right answer each")
    else:
        models = {name: report_of(each, rules) for name, each in ranks.items()}
    grouping = rules | take(given, "by")
    if "by" in grouping and page is None:
        raise click.UsageError("--by has groups on the page of --html; --unit names the units")
    compared = compare(models, metric=metrics, seed=seed, **given)
    if page is not None:
        reports = {name: report_of(each, grouping) for name, each in ranks.items()}
        save_page(page, reports, metrics=metrics, command=command_line(), **given)
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
        raise click.UsageError(f"--qrels needs {OF_CANDIDATES}")
    check_files(named.values(), are_runs=True)
    task = Task(given.pop("qrels"), entities=given.pop("candidates"))
    rules = take(given, "order nan")
    progress = bar()
    return {
        name: task.evaluate_lists(path, **rules, progress=progress).ranks
        for name, path in named.items()
    }


def check_kinds(ranks: Mapping[str, Ranks]) -> None:
    """Refuse ranks of retrieval beside others, which have other metrics."""
    kinds = {name: kind_of_report(each) for name, each in ranks.items()}
    first = next(iter(kinds))
    for name, kind in kinds.items():
        if kind is not kinds[first]:
            words = {RetrievalReport: "of retrieval", Report: "of tasks with one right answer each"}
            expected = f"ranks {words[kinds[first]]}, as {first} has"
            raise InputValueError(name, expected=expected, got=f"ranks {words[kind]}")
