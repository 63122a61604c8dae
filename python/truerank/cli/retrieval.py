"""`truerank retrieval`: the metrics of queries with several right answers."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from ..retrieval import Task
from ..retrieval.answer_ties import GAINS
from ..retrieval.answered_queries import MISSES
from .files import files_read
from .model_files import known_splits, open_model
from .options import (
    ARRAY,
    COUNTING,
    INPUT,
    MEASURED,
    NAMES,
    WORD,
    Given,
    command,
    option,
    refuse,
    take,
)
from .output import bar, check_printing, show


@command(
    "retrieval",
    "candidates train valid known split leaks similarity complex_layout bias "
    f"{COUNTING} io save {MEASURED}",
    short_help="Evaluate retrieval and recommendation.",
)
@option(
    "--qrels",
    INPUT,
    "The right answers, perhaps gzipped: lines qid 0 docid relevance; or .npy of rows (query, "
    "answer) or (query, answer, gain).",
    required=True,
)
@option(
    "--lists",
    INPUT,
    "Lists of the best candidates, perhaps gzipped: a TREC run, or JSON, which its name says.",
)
@option(
    "--misses",
    click.Choice(tuple(MISSES)),
    "What right answers that --lists miss count for: nothing, or the mean over all places behind "
    "their list, with bounds or without. Default: zero.",
)
@option("--scores", WORD, "Scores of all candidates, with a row for each query.")
@option("--queries", ARRAY, "A vector for each query: .npy.")
@option("--entities", ARRAY, "A vector for each candidate: .npy.")
@option(
    "--query-labels",
    NAMES,
    "Names of the queries, a line for each row. Default: in the order of --qrels.",
)
@option("--gain", click.Choice(GAINS), "What becomes of gains in nDCG. Default: linear.")
def retrieve(given: Given) -> None:
    """Evaluate retrieval: rank all right answers of each query among all candidates.

    A model is given by the lists that it made, by its scores, or by vectors of queries and of
    candidates, which --similarity compares. The answers that --train, --valid and --known hold, in
    the form of --qrels, are left out of the candidates of their query. --candidates names them in
    the order of columns and vectors; where --qrels has ids, their number is enough.

    \b
    truerank retrieval --qrels qrels.txt --lists run.txt.gz --candidates names.txt
    truerank retrieval --qrels qrels.npy --queries Q.npy --entities E.npy --metrics ndcg@10,map
    """
    facts = take(given, "qrels split leaks gain")
    facts["known"] = known_splits(given)
    facts["queries"] = given.pop("query_labels", None)
    candidates = given.pop("candidates", None)
    lists = given.pop("lists", None)
    if lists is None:
        model = open_model(given, "scores", "queries entities")
        what = model.kind
        if candidates is None:
            candidates = model.sizes({"scores": "entities"}).get("entities")
        task = Task(**facts, entities=_in_columns(candidates, facts))
        count = model.counter(task, given)
    else:
        what = "lists"
        if candidates is None:
            raise click.UsageError("--lists needs --candidates, how many there are in all")
        if facts["qrels"].endswith(".npy"):  # which has columns, and not names
            candidates = _in_columns(candidates, facts, lists)
        task = Task(**facts, entities=candidates)
        rules = take(given, f"{COUNTING} misses")
        count = partial(task.evaluate_lists, lists, **rules, progress=bar())
    printing = take(given, MEASURED)
    saved = given.pop("save", None)
    refuse(given, what)
    check_printing(printing, save=saved)
    report = count()
    if saved is not None:
        report.ranks.with_protocol(files=files_read()).save(saved)
    show(report, printing)


def _in_columns(candidates: Any, facts: dict[str, Any], lists: str | None = None) -> Any:
    """Return candidates in the order of columns; where text names them by digits, these as labels.

    A number alone would say that text has names, which are in no order.
    """
    files = [facts["qrels"]]
    files += facts["known"].values()
    if lists is not None:
        files.append(lists)
    has_text = not all(file.endswith(".npy") for file in files)
    if isinstance(candidates, int) and has_text:
        return range(candidates)
    return candidates
