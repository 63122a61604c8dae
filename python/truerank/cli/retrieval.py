"""`truerank retrieval`: the metrics of queries with several right answers."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import click

from truerank import InputValueError

from ..records import text
from ..retrieval import Task
from . import options
from .evaluate import match_models, show_models
from .options import Values, called, command, option, take
from .output import count_candidates, list_candidates, open_model, show_task, take_method

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


MISSES = ("zero", "bounds", "expected")
ANSWERLESS = ("omit", "zero")


def read_groups(argument: str, word: str) -> str | dict[str, str]:
    """Return a word as it is, or read lines of a name and its group from a file of text."""
    if not (options.is_pipe(word) or os.path.exists(word)):
        return word
    groups: dict[str, str] = {}
    expected = "a name and its group, with a tab between them"
    for number, fields in text.read_fields(argument, options.note_file(word), "tabs"):
        place = f"{word}: line {number}"
        if len(fields) != 2 or not all(fields):
            got = repr("\t".join(fields))
            raise InputValueError(argument, expected=expected, got=got, place=place)
        name, group = fields
        if groups.setdefault(name, group) != group:
            got = f"{groups[name]!r} and {group!r} for {name!r}"
            raise InputValueError(argument, expected="one group", got=got, place=place)
    if not groups:
        expected = f"lines of {expected}"
        raise InputValueError(argument, expected=expected, got="an empty file", place=word)
    return groups


@command(
    "retrieval",
    options.OF_TASKS,
    "list_columns duplicates bias relevance_level gain exclude",
    options.REPORTED,
)
@click.argument("files", type=options.TEXT_FILE, nargs=-1, metavar="[QRELS RUN ...]")
@option(
    "--qrels",
    options.TEXT_FILE,
    "The right answers, perhaps gzipped: lines qid 0 docid relevance, or a header of names.",
)
@option(
    "--lists", options.TEXT_FILE, "Lists of the top candidates: a TREC run, or a header of names."
)
@option(
    "--misses",
    MISSES,
    "How right answers count that --lists miss: 0, or the mean over all places after their list, "
    "with bounds or without. Default: zero.",
)
@option(
    "--candidates",
    options.CANDIDATES,
    "How many candidates there are in all, or their names in the order of columns and vectors: a "
    "file with a name in each line, or .npy. Of --lists also the word listed: those of each list. "
    "Lists need it only for metrics that depend on it, as auc.",
)
@option("--scores", options.SCORES, "Scores of all candidates, with a row for each query.")
@option(
    "--queries",
    options.VECTORS,
    "A vector for each query: .npy, or what `truerank topk` takes. For maxsim a list of vectors "
    "for each: .npz with vectors, those of all lists one after the other, and indptr, where each "
    "list begins, and the last one ends.",
)
@option("--entities", options.VECTORS, "A vector, or a list, for each candidate, as for --queries.")
@option(
    "--labels",
    options.Value(options.read_names, "queries=file", ("queries",)),
    "Names of the queries, a line for each row of --scores or --queries, whose queries are not "
    "known without these names.",
)
@option(
    "--answerless",
    ANSWERLESS,
    "Leave out queries without a right answer (omit, the default), or count them as 0.",
)
@option(
    "--by",
    options.Value(read_groups, "label|file"),
    "Groups of the queries: a file with lines of a query and its group, with a tab between them, "
    "perhaps gzipped, which --save stores as the label group; or another label of the answers.",
)
def retrieve(values: Values) -> None:
    """Evaluate retrieval: rank all right answers of each query among all candidates.

    Give a model's lists, its scores, or its vectors of queries and of candidates, which
    --similarity compares. QRELS RUN, in the order of trec_eval, are --qrels and --lists; several
    runs are models, each a row of one table, as of `truerank evaluate`. Answers in --known splits,
    in the form of --qrels, are left out of the candidates of their query.
    --candidates names these in the order of columns and vectors; where --qrels has ids, their
    number is enough. `truerank evaluate` and `compare` read what --save stores. One file with a
    header of query, document, relevance and score, as a log of impressions, is --qrels and --lists.
    Its candidates are those of --candidates listed, which auc and gauc need.

    \b
    truerank retrieval qrels.txt run.txt.gz --save bm25.npz
    truerank retrieval qrels.txt bm25.run dense.run --interval
    truerank retrieval --qrels qrels.txt --lists run.txt --misses bounds \\
        --candidates 8841823
    truerank retrieval --qrels u.data --columns query=0,document=1,relevance=2 \\
        --scores S.npy --labels queries=users.txt --candidates items.txt
    truerank retrieval --qrels qrels.txt --queries Q.npy --entities E.npy \\
        --candidates names.txt --labels queries=queries.txt
    truerank retrieval --qrels qrels.txt --queries Q.npz --entities E.npz \\
        --candidates names.txt --labels queries=queries.txt --similarity maxsim
    truerank retrieval --qrels log.csv --lists log.csv --candidates listed \\
        --metrics auc,gauc
    """
    runs = name_files(values)
    facts = take(values, "qrels known columns split leaks gain relevance_level exclude")
    facts |= values.pop("labels", {})
    by = values.get("by")
    if isinstance(by, dict):
        facts["groups"] = by
        values["by"] = "group"
    candidates = values.pop("candidates", None)
    if "lists" in values:
        kind = "lists"
        model = {"ids": values.pop("lists"), "columns": values.pop("list_columns", None)}
    else:
        kind, model = open_model(values, ("queries", "entities"))
        if candidates is None:
            candidates = count_candidates(kind, model, {"scores": "entities"})["entities"]
        if isinstance(candidates, int):
            candidates = range(candidates)
    names = {"entities": "--candidates", "queries": "--labels queries", "ids": "--lists"}
    names["groups"] = "--by"
    with called(**names):
        try:
            task = Task(**facts, **list_candidates(candidates))
        except InputValueError as error:
            has_option = any(option.value is None for option in error.remedies)
            is_of_qrels = error.argument.startswith("qrels") and not has_option
            if not isinstance(candidates, range) or not is_of_qrels:
                raise
            raise click.UsageError(
                f"{options.say(error)}; scores and vectors need --candidates FILE, a name in each "
                "line in the order of their columns, and --labels queries=FILE, those of their "
                "rows, where --qrels has names; a number is enough beside --lists"
            ) from error
    if kind != "lists" and "queries" not in facts and len(task.queries or ()) > 1:
        raise click.UsageError(
            "rows of scores and vectors do not name their queries; --labels queries=FILE has a "
            "name in each line, in their order"
        )
    labels = ["unit", *task.answers.labels]
    if isinstance(by, str) and {"query": "queries", "target": "targets"}.get(by, by) not in labels:
        raise InputValueError("by", expected=f"a file, or one of {', '.join(labels)}", got=repr(by))
    # Vectors are options of these names.
    with called(columns="--list-columns", **({} if kind == "vectors" else names)):
        if len(runs) > 1:
            show_runs(task, match_models(runs), model, values)
        else:
            show_task(task, kind, model, values, "Retrieval", unit="query")


def name_files(values: Values) -> tuple[str, ...]:
    """Give files that stand without options, in trec_eval's order, the names of theirs.

    Returned are the runs, of which --lists is the first.
    """
    qrels, *runs = values.pop("files", ()) or ("",)
    if qrels:
        if not runs or "qrels" in values or "lists" in values:
            got = " ".join([qrels, *runs])
            raise click.UsageError(
                f"expected QRELS RUN ... alone, or --qrels and --lists, got {got}"
            )
        values["qrels"], values["lists"] = qrels, runs[0]
    if "qrels" not in values:
        raise click.UsageError("Missing option '--qrels', or QRELS RUN")
    return tuple(runs)


def show_runs(
    task: Task, runs: Mapping[str, Sequence[str]], reading: Values, values: Values
) -> None:
    """Rank the right answers in the runs of each model, and print the table of the models."""
    shown = take(values, f"by interval kinds {options.MEASURED}")
    protocol = take(values, "answerless")
    evaluate = partial(take_method(task, "lists", values), **reading)
    options.refuse(values, "several models")
    models = {}
    for name, paths in runs.items():
        with called(ids=name):
            ranks = [evaluate(ids=path).ranks for path in paths]
        models[name] = [each.with_protocol(**protocol) for each in ranks]
    show_models(models, shown)
