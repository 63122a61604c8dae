"""`truerank link-prediction`: a report from triples and from vectors, scores or predictions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from ..arrays.npy_files import is_npy
from ..errors import InputValueError, warn_user
from ..inputs.checks import choice
from ..link_prediction import Sampled, Task, read_predictions
from ..link_prediction.triple_sides import FILTERS
from .files import read_array
from .model_files import Model, chosen_part, known_splits, open_model
from .options import (
    ARRAY,
    COUNTING,
    INPUT,
    NAMES,
    REPORTING,
    WORD,
    Given,
    Value,
    command,
    flag,
    option,
    take,
)
from .output import bar
from .report_output import show_report

if TYPE_CHECKING:
    from .. import Report

FACTS = "columns header sides split candidates keys filter duplicates leaks unseen"
VECTORS = "entities relations queries_tail queries_head queries_relation"
LABELS = {"entities": "entity_labels", "relations": "relation_labels"}
CANDIDATE_KIND = {"head": "entities", "tail": "entities", "relation": "relations"}


def parse_sides(name: str, text: str) -> list[str]:
    """Parse the sides, of which the options have scores or vectors.

    Examples
    --------
    >>> parse_sides("--sides", "tail, head")
    ['tail', 'head']
    """
    return [choice(name, word.strip(), tuple(CANDIDATE_KIND)) for word in text.split(",")]


def parse_columns(name: str, text: str) -> list[int]:
    """Parse a list of columns, or the word none.

    Examples
    --------
    >>> parse_columns("--keys", "3,4"), parse_columns("--keys", "none")
    ([3, 4], [])
    """
    if text.strip() == "none":
        return []
    words = [word.strip() for word in text.split(",")]
    if not all(re.fullmatch("[0-9]{1,18}", word) for word in words):
        raise InputValueError(name, expected="columns from 3 on, as 3,4, or none", got=repr(text))
    return list(map(int, words))


def parse_candidates(name: str, text: str) -> Any:
    """Parse the candidates: a name, a file, or a number of samples, perhaps of a split.

    Examples
    --------
    >>> parse_candidates("--candidates", "sampled:50:train")
    Sampled(negatives=50, typed=False, seed=0, among='train', per=None)
    """
    if is_npy(text):
        return read_array(name, text)
    if re.fullmatch("[0-9]+", text):
        return int(text[:20])
    kind, _, rest = text.partition(":")
    if kind not in ("sampled", "sampled-typed"):
        return text
    number, _, split = rest.partition(":")
    if not re.fullmatch("[0-9]{1,18}", number):
        expected = "sampled:100 or sampled:100:SPLIT, perhaps with sampled-typed"
        raise InputValueError(name, expected=expected, got=repr(text))
    return Sampled(int(number), typed=kind == "sampled-typed", among=split or None)


@command(
    "link-prediction",
    "train valid known columns header split test_part duplicates leaks unseen similarity "
    f"complex_layout bias {COUNTING} io {REPORTING}",
)
@option("--test", INPUT, "Triples to rank.")
@option("--entities", ARRAY, "A vector for each entity, in the order of --entity-labels: .npy.")
@option("--queries-tail", ARRAY, "Vectors to compare with entities as tails: .npy.")
@option("--queries-head", ARRAY, "Vectors to compare with entities as heads: .npy.")
@option("--relations", ARRAY, "A vector for each relation, to predict relations: .npy.")
@option("--queries-relation", ARRAY, "Vectors to compare with relations: .npy.")
@option("--scores-tail", WORD, "Scores of all entities as tails, in place of vectors.")
@option("--scores-head", WORD, "The same for heads. Files are as for evaluate.")
@option("--scores-relation", WORD, "The same for relations.")
@option(
    "--lists",
    INPUT,
    "In place of --test and a model, predictions of AnyBURL and PyClause, perhaps gzipped.",
)
@flag(
    "--unique",
    "Rows belong to the distinct queries, in ascending order of their ids, not to the triples of "
    "--test.",
)
@option(
    "--sides",
    Value(parse_sides, "name,..."),
    "What to predict: head, tail, relation. Default: head,tail.",
)
@option(
    "--entity-labels",
    NAMES,
    "Names of the entities in the triples: a line for each row of --entities, lines of a name and "
    "its row. Default: sorted by name.",
)
@option("--relation-labels", NAMES, "The same for relations.")
@flag("--ids", "Text files hold ids, not names, where no labels are given. .npy always does.")
@option(
    "--keys",
    Value(parse_columns, "column,..."),
    "Further columns of the triples, from 3 on, that belong to each query (such as a time), or "
    "none.",
)
@option(
    "--filter",
    WORD,
    f"Which known answers are left out: {', '.join(FILTERS)}. Default: query.",
)
@option(
    "--candidates",
    Value(parse_candidates, "name|file"),
    "Candidates: all (the default), train (entities of --train) or another known split, typed "
    "(seen there with the relation), sampled:100, sampled-typed:100 or sampled:50:train (that many "
    "negatives, of that split), or .npy of ids. Of --lists: how many entities there are.",
)
def predict_links(given: Given) -> None:
    """Evaluate link prediction: rank the heads and tails of triples by vectors or scores.

    Triples are in text files (perhaps gzipped) with a head, a relation and a tail in each line,
    separated by tabs, or in .npy files of ids. A model is given by vectors of entities and of
    queries, which --similarity compares and whose scores are never stored, or by its scores. Row i
    of queries and of scores belongs to triple i of --test. The answers to a query that --train,
    --valid, --known and --test hold are left out of its candidates, except the true one. Without
    known triples, only the answers in --test are left out, and a warning says so.

    \b
    truerank link-prediction --train train.txt --valid valid.txt --test test.txt
        --entities E.npy --queries-tail T.npy --queries-head H.npy --similarity l1 --by relation
    truerank link-prediction --train train.txt --test test.txt
        --scores-tail tails.npy --scores-head "heads-*.npy" --save ranks.npz
    truerank link-prediction --lists predictions --train train.txt --valid valid.txt
    """
    known = known_splits(given)
    if "lists" in given:
        count = predictions_counter(given.pop("lists"), known, given)
        show_report(count, given, "predictions")
        return
    if "test" not in given:
        raise click.UsageError("Missing option '--test'.")
    scores = "scores_tail scores_head scores_relation"
    model = open_model(given, scores, VECTORS, needs_all=False)
    test = given.pop("test")
    sizes = model.sizes(CANDIDATE_KIND) if given.pop("ids", is_npy(test)) else {}
    vocabularies = {name: given.pop(key, sizes.get(name)) for name, key in LABELS.items()}
    facts = take(given, FACTS)
    candidates = facts.get("candidates")
    if isinstance(candidates, Sampled):
        facts["candidates"] = candidates._replace(seed=given.get("seed", 0))
    try:
        task = Task(test, known, **vocabularies, **facts)
    except InputValueError as error:
        name = error.argument
        if name not in LABELS or vocabularies[name] is not None:
            raise
        ways = f"--ids says that they are ids, --{LABELS[name].replace('_', '-')} their order"
        raise click.UsageError(f"{error.problem}; {ways}") from error
    check_sides(model, task.sides)
    task = chosen_part(task, given)
    if not known and task.protocol.filter:
        warn_user(
            "no --train, --valid or --known: only the answers in --test are left out, so that "
            "other true answers count as wrong ones"
        )
    show_report(
        model.counter(task, given),
        given,
        model.kind,
        split_audit=task.audit,
        title=f"Link prediction of {task.protocol.split}",
    )


def check_sides(model: Model, sides: Iterable[str]) -> None:
    """Refuse a model that lacks a side, or has another one."""
    stem = "--scores" if model.kind == "scores" else "--queries"
    said = ",".join(sides)
    for side in CANDIDATE_KIND:
        if side in model.arrays and side not in sides:
            raise click.UsageError(f"{stem}-{side} cannot apply to --sides {said}")
    for side in sides:
        if side not in model.arrays:
            raise click.UsageError(f"expected {stem}-{side}, too, as --sides is {said}")
        kind = CANDIDATE_KIND[side]
        if model.kind == "vectors" and kind not in model.arrays:
            raise click.UsageError(f"{stem}-{side} needs --{kind}, the vectors of its candidates")


def predictions_counter(path: str, known: Given, given: Given) -> Callable[[], Report]:
    """Return what reads and ranks predictions, which have their test triples in them."""
    facts = take(given, f"sides split candidates {COUNTING}")
    facts |= {name: given.pop(labels) for name, labels in LABELS.items() if labels in given}
    progress = bar()
    return lambda: read_predictions(path, progress=progress).evaluate(known or None, **facts)
