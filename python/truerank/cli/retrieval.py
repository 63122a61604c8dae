"""`truerank retrieval`: the metrics of queries with several right answers."""

from __future__ import annotations

import os
from functools import partial
from itertools import chain
from typing import Any

import click

from ..errors import InputValueError
from ..metrics.answers import ANSWERLESS, GAINS, MISSES
from ..ranks.labels import LABEL_ALIASES
from ..records.elements import is_integer_text
from ..records.list_files import qrels_of_file
from ..records.text import text_blocks
from ..retrieval import Task
from .options import (
    ARRAY,
    CANDIDATES,
    COUNTING,
    INPUT,
    REPORTED,
    WORD,
    Given,
    Value,
    command,
    name_arguments,
    note_file,
    option,
    read_names,
    take,
)
from .output import bar, chosen_part, counter, open_model, show_report


def read_groups(argument: str, text: str) -> str | dict[str, str]:
    """Return a word as it is, or read lines of a name and its group from a file of text."""
    if not os.path.exists(text):
        return text
    groups: dict[str, str] = {}
    blocks = text_blocks(argument, note_file(text))
    lines = chain.from_iterable(block.removesuffix("\n").split("\n") for _, block in blocks)
    for number, line in enumerate(lines, 1):
        fields = [field.strip(" ") for field in line.removesuffix("\r").split("\t")]
        place = f"{text}: line {number}"
        if len(fields) != 2 or not all(fields):
            expected = "a name and its group, with a tab between them"
            raise InputValueError(argument, expected=expected, got=repr(line), place=place)
        name, group = fields
        if groups.setdefault(name, group) != group:
            got = f"{groups[name]!r} and {group!r} for {name!r}"
            raise InputValueError(argument, expected="one group", got=got, place=place)
    return groups


@command(
    "retrieval",
    "columns relevance_level known split part leaks similarity layout bias "
    f"{COUNTING} io {REPORTED}",
    {"entities": "--candidates", "queries": "--labels queries", "ids": "--lists"},
)
@option(
    "--qrels",
    INPUT,
    "The right answers, perhaps gzipped: lines qid 0 docid relevance, or a header of names.",
    required=True,
)
@option(
    "--lists",
    INPUT,
    "Lists of the top candidates, perhaps gzipped: a TREC run, or a header of names.",
)
@option(
    "--misses",
    MISSES,
    "What right answers that --lists miss count for: nothing, or the mean over all places behind "
    "their list, with bounds or without. Default: zero.",
)
@option(
    "--candidates",
    CANDIDATES,
    "How many candidates there are in all, or their names in the order of columns and vectors: a "
    "file with a name in each line, or .npy.",
)
@option("--scores", WORD, "Scores of all candidates, with a row for each query.")
@option("--queries", ARRAY, "A vector for each query: .npy.")
@option("--entities", ARRAY, "A vector for each candidate: .npy.")
@option(
    "--labels",
    Value(read_names, "queries=file", ("queries",)),
    "Names of the queries, a line for each row. Default: in the order of --qrels.",
)
@option("--gain", tuple(GAINS), "What becomes of gains in nDCG. Default: linear.")
@option(
    "--answerless",
    tuple(ANSWERLESS),
    "Leave queries without a right answer out of all means (omit, the default), or count them as "
    "0.",
)
@option(
    "--exclude-self exclude", None, "Leave the query itself out, where queries are candidates, too."
)
@option(
    "--by",
    Value(read_groups, "label|file"),
    "Groups of the queries: a file with lines of a query and its group, with a tab between them, "
    "perhaps gzipped, which --save stores as the label group; or another label of the answers.",
)
def retrieve(given: Given) -> None:
    """Evaluate retrieval: rank all right answers of each query among all candidates.

    A model is given by the lists that it made, by its scores, or by vectors of queries and of
    candidates, which --similarity compares. The answers that --known splits hold, in the form of
    --qrels, are left out of the candidates of their query. --candidates names them in
    the order of columns and vectors; beside --lists, or where --qrels has ids, their number is
    enough. `truerank evaluate` and `compare` read what --save stores.

    \b
    truerank retrieval --qrels qrels.txt --lists run.txt.gz --candidates names.txt
    truerank retrieval --qrels qrels.txt --lists run.txt --candidates 8841823 --save bm25.npz
    truerank retrieval --qrels u.data --columns query=0,document=1,relevance=2 --scores S.npy
    truerank retrieval --qrels qrels.txt --queries Q.npy --entities E.npy --candidates names.txt
    """
    facts = take(given, "qrels columns split leaks gain relevance_level")
    if given.pop("exclude", False):
        facts["exclude"] = "self"
    if isinstance(given.get("by"), dict):
        facts["groups"] = given["by"]
        given["by"] = "group"
    facts["known"] = given.pop("known", {})
    facts |= given.pop("labels", {})
    candidates = given.pop("candidates", None)
    lists = given.pop("lists", None)
    if lists is None:
        what, arrays = open_model(given, "queries entities")
        if candidates is None:
            candidates = count_candidates(what, arrays)
        if isinstance(candidates, int):
            check_digits(facts["qrels"], facts.get("columns"))
            candidates = range(candidates)
        task = chosen_part(Task(**facts, entities=candidates), given)
        name_arguments({name: f"--{name}" for name in arrays})
        count = counter(task, what, arrays, given)
    else:
        what = "lists"
        if candidates is None:
            raise click.UsageError(
                "--lists needs --candidates: the number of documents in the collection, or a file "
                "of their names"
            )
        task = chosen_part(Task(**facts, entities=candidates), given)
        rules = take(given, f"{COUNTING} misses")
        count = partial(task.evaluate_lists, lists, **rules, progress=bar())
    check_label(given.get("by"), task)
    show_report(count, given, what, unit="query", title=f"Retrieval of {task.protocol.split}")


def count_candidates(kind: str, arrays: Given) -> int | None:
    """Return how many candidates a model has."""
    if kind == "scores":
        columns: int = arrays["scores"].shape[-1]
        return columns
    return len(arrays["entities"]) if arrays["entities"].ndim > 0 else None


def check_digits(qrels: str, columns: Any) -> None:
    """Refuse names of documents beside scores or vectors: a number does not say their columns."""
    names = qrels_of_file("--qrels", qrels, columns).documents
    named = [name for name in names if not is_integer_text(str(name))]
    if named:
        raise click.UsageError(
            "scores and vectors need --candidates FILE, a name in each line in the order of their "
            f"columns, and --labels queries=FILE, those of their rows, as --qrels has names "
            f"({named[0]!r}); a number is enough beside --lists"
        )


def check_label(by: str | None, task: Task) -> None:
    """Refuse a name of groups that is neither a file nor a label, before anything is counted."""
    labels = ["unit", *task.answers.labels]
    if by is not None and LABEL_ALIASES.get(by, by) not in labels:
        expected = f"a file, or one of {', '.join(labels)}"
        raise InputValueError("--by", expected=expected, got=repr(by))
