"""`truerank link-prediction`: a report from triples and from vectors, scores or lists."""

from __future__ import annotations

import re
from typing import Any

import click

from ..link_prediction import Sampled, Task
from . import options
from .options import Values, called, command, is_npy, option, take
from .output import count_candidates, open_model, show_task

# The candidates of each side.
CANDIDATE_KIND = {"head": "entities", "tail": "entities", "relation": "relations"}
SIDES = tuple(CANDIDATE_KIND)
FILTERS = ("query", "triple", "fact", "none")
NO_KNOWN = (
    "Warning: --known is not given: only the answers in --test are left out, and other true "
    "answers count as wrong"
)


def parse_sides(option: str, text: str) -> list[str]:
    """Parse the sides, of which the options have scores or vectors."""
    sides = [word.strip() for word in text.split(",")]
    for side in sides:
        if side not in SIDES:
            raise options.wrong_word(option, f"one of {', '.join(SIDES)}", side)
    return sides


def parse_columns(option: str, text: str) -> list[int]:
    """Parse a list of columns, or the word none."""
    if text.strip() == "none":
        return []
    words = [word.strip() for word in text.split(",")]
    if not all(re.fullmatch("[0-9]{1,18}", word) for word in words):
        raise options.wrong_word(option, "columns from 3 on, as 3,4, or none", text)
    return list(map(int, words))


def parse_candidates(option: str, text: str) -> Any:
    """Parse the candidates: a name, a file, or a number of samples, perhaps of a split."""
    if options.is_of_columns(text):
        return options.read_columns(option, text)
    kind, _, rest = text.partition(":")
    if kind not in ("sampled", "sampled-typed"):
        return text
    number, _, split = rest.partition(":")
    if not re.fullmatch("[0-9]{1,18}", number):
        expected = "sampled:100 or sampled:100:SPLIT, perhaps with sampled-typed"
        raise options.wrong_word(option, expected, text)
    return Sampled(int(number), typed=kind == "sampled-typed", among=split or None)


@command(
    "link-prediction",
    options.OF_TASKS,
    "list_columns header duplicates bias exclude",
    options.REPORTING,
)
@option("--test", options.TEXT_FILE, "Triples to rank.")
@option(
    "--entities",
    options.VECTORS,
    "A vector for each entity, in the order of its labels: .npy, or what `truerank topk` takes. "
    "For maxsim a list of vectors for each: .npz with vectors, those of all lists one after the "
    "other, and indptr, where each list begins and the last one ends.",
)
@option(
    "--relations",
    options.VECTORS,
    "A vector, or a list, for each relation, to predict relations, as for --entities.",
)
@option(
    "--queries",
    options.Value(options.read_vectors, "side=file", SIDES),
    "Vectors, or lists, to compare with tails, heads or relations: tail=T.npy. Once for each side.",
)
@option(
    "--scores",
    options.Value(options.SCORES.read, "side=file", SIDES),
    "Scores of all entities as tails, or as heads, or of all relations, in place of vectors: "
    "tail=S.npy. Files are as for evaluate.",
)
@option(
    "--lists",
    options.Value(lambda _, path: options.note_file(path), "side=file", SIDES),
    "Lists of the top candidates, in place of vectors: tail=tails.tsv, with the columns head, "
    "relation, tail and score, by a header or in this order.",
)
@option(
    "--labels",
    options.Value(options.read_names, "kind=file", ("entities", "relations")),
    "Names of the entities, or of the relations, in the triples: a line for each row of "
    "--entities, or lines of a name and its row. Default: sorted by name.",
)
@option("--sides", options.Value(parse_sides, "name,..."), "Sides to predict. Default: head,tail.")
@option("--ids", None, "Text holds ids, not names: those of --labels, or rows of the model.")
@option(
    "--keys",
    options.Value(parse_columns, "column,..."),
    "Further columns of the triples, from 3 on, that belong to queries (as a time), or none.",
)
@option("--filter", options.WORD, f"Known answers to leave out: {', '.join(FILTERS)}.")
@option(
    "--candidates",
    options.Value(parse_candidates, "name|file"),
    "Candidates: all (the default), those of train or another known split, typed (seen there with "
    "the relation), sampled:100, sampled-typed:100 or sampled:50:train (that many negatives, of "
    "that split), or .npy of ids.",
)
@option(
    "--unseen",
    options.SUSPECT_ROWS,
    "What to do with test rows of an entity or relation that train lacks. Default: keep; drop also "
    "leaves out rows, but of train, of names that --labels lacks.",
)
def predict_links(values: Values) -> None:
    """Evaluate link prediction: rank the heads and tails of triples by vectors or scores.

    Triples are in text files (perhaps gzipped) with a head, a relation and a tail in each line,
    separated by tabs, or in .npy files of ids. Give a model's scores, or its vectors of entities
    and of queries: --similarity compares them, and their scores are never stored. Row i of queries
    and of scores belongs to triple i of --test. The candidates of a query are without its answers
    in --known splits and --test, except the true one. Without known triples, only the answers in
    --test are left out, and a warning says so.

    \b
    truerank link-prediction --known train=train.txt --known valid=valid.txt \\
        --test test.txt --entities E.npy --queries tail=T.npy \\
        --queries head=H.npy --similarity l1 --by relation
    truerank link-prediction --known train=train.txt --test test.txt \\
        --scores tail=tails.npy --scores "head=heads-*.npy" --save ranks.npz
    truerank link-prediction --known train=train.txt --test test.txt \\
        --lists tail=tails.tsv --sides tail
    """
    known = values.pop("known", {})
    labels = values.pop("labels", {})
    of_labels = {"entities": "--labels entities", "relations": "--labels relations"}
    if "test" not in values:
        raise click.UsageError("Missing option '--test'.")
    if "lists" in values:
        kind = "lists"
        model = {**values.pop("lists"), "columns": values.pop("list_columns", None)}
    else:
        kind, model = open_model(values, ("entities", "queries", "relations"), needs_all=False)
    facts = take(
        values,
        "test columns header sides split candidates keys filter exclude duplicates leaks "
        "unseen ids",
    )
    if kind == "lists" and facts.get("duplicates") == "first":  # It is of the lists.
        values["duplicates"] = facts.pop("duplicates")
    are_ids = facts.get("ids", is_npy(facts["test"]))
    sizes = count_candidates(kind, model, CANDIDATE_KIND) if are_ids else {}
    candidates = facts.get("candidates")
    kind_or_split = getattr(candidates, "among", candidates)
    names_of_candidates = ["all", "typed", *known]
    if isinstance(kind_or_split, str) and kind_or_split not in names_of_candidates:
        expected = f"{', '.join(names_of_candidates)}, sampled:100 or a .npy file"
        raise options.wrong_word("--candidates", expected, kind_or_split)
    if isinstance(candidates, Sampled):
        facts["candidates"] = candidates._replace(seed=values.get("seed", 0))
    with called(**of_labels):
        task = Task(known=known, **(sizes | labels), **facts)
    if not known and task.protocol.filter:
        click.echo(NO_KNOWN, err=True)
    option_of_sides = "--queries" if kind == "vectors" else f"--{kind}"
    names = {side: f"{option_of_sides} {side}" for side in SIDES} | {"columns": "--list-columns"}
    if kind != "vectors":  # Vectors are options of these names.
        names |= of_labels
    with called(**names):
        show_task(task, kind, model, values, "Link prediction", split_audit=task.audit)
