"""Lists of the best candidates for `truerank evaluate --lists`: files that are read and ranked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import click

from .. import Ranks
from ..inputs.errors import renamed
from ..link_prediction import read_predictions
from ..tasks.named_lists import NamedLists, read_json_lists, read_qrels, read_run
from ..tasks.text import text_lines
from .app import user_errors
from .options import File
from .progress import ProgressBar, ProgressListener
from .protocol_runs import read_names

# Options that only lists have, and those of a count that lists have, too.
LIST_OPTIONS = ("qrels", "known", "filtered")
SHARED_OPTIONS = ("candidates", "order", "nan", "threads", "split")
RULES = ("order", "nan", "threads")  # keywords of whatever ranks lists

# How messages about the entities of predictions name the option that says which there are.
_ARGUMENTS = {"candidates": "--candidates", "entities": "--candidates"}
_HEADS_OR_TAILS = ("Heads:", "Tails:")

lists_option = click.option(
    "--lists",
    type=File,
    help="In place of SCORES, lists of the best candidates, perhaps gzipped: a TREC run, JSON "
    "({query: {name: score}}, in order alone {query: [names]}, or such lines) or predictions of "
    "AnyBURL and PyClause. What is not listed counts as tied below the list.",
)
qrels_option = click.option(
    "--qrels", type=File, help="The right answers of runs and JSON: lines qid 0 docid relevance."
)
known_option = click.option(
    "--known",
    type=File,
    multiple=True,
    help="Known answers to leave out of --lists: triples for predictions, else as --qrels. May be "
    "given several times.",
)
filtered_option = click.option(
    "--filtered",
    is_flag=True,
    help="Leave out the other right answers of each query of --lists, too; --known does so for "
    "predictions.",
)


def list_files(lists: Path, given: Mapping[str, Any]) -> list[str]:
    """Return all files that a run with lists reads."""
    files = [str(lists), *(str(path) for path in given.get("known", ()))]
    files += [str(given["qrels"])] if "qrels" in given else []
    candidates = str(given.get("candidates", ""))
    return files + ([candidates] if candidates and not candidates.isdecimal() else [])


def rank_list_file(lists: Path, given: Mapping[str, Any]) -> Ranks:
    """Read lists and what belongs to them, with a progress bar, and rank the right answers."""
    with user_errors(), renamed(path="--lists"):
        kind = _kind_of(lists)
    with user_errors():
        candidates = _candidates_of(given)
    rules = {name: given[name] for name in RULES if name in given}
    rules |= {"split": given.get("split")}
    if kind == "predictions":
        ranks = _rank_predictions(lists, given, candidates, rules)
    else:
        reader = {"run": read_run, "json": read_json_lists}[kind]
        ranks = _rank_named(lists, reader, given, candidates, rules)
    return ranks.with_protocol(files=list_files(lists, given))


def _kind_of(path: Path) -> str:
    """Tell a run, JSON and predictions apart by their first two lines."""
    first = [line for _, line in islice(text_lines("path", str(path)), 2)]
    if first and first[0].lstrip()[0] in "{[":
        return "json"
    if any(line.startswith(_HEADS_OR_TAILS) for line in first[1:]):
        return "predictions"
    return "run"


def _rank_predictions(
    lists: Path, given: Mapping[str, Any], candidates: int | Sequence[str] | None, rules: Any
) -> Ranks:
    if "qrels" in given:
        raise click.UsageError("--qrels: these predictions have their right answers in them")
    with user_errors(), ProgressBar() as bar, renamed(path="--lists"):
        predictions = read_predictions(lists, progress=ProgressListener(bar))
    splits = {_split_name(path): str(path) for path in given.get("known", ())}
    known = splits if splits or given.get("filtered") else None
    size = candidates if isinstance(candidates, int) else None
    names = None if isinstance(candidates, int) else candidates
    options = {**rules, "split": rules["split"] or "test"}
    with user_errors(), renamed(**_ARGUMENTS, **{options["split"]: "--lists"}):
        return predictions.evaluate(known, entities=names, candidates=size, **options).ranks


def _rank_named(
    lists: Path,
    reader: Callable[..., NamedLists],
    given: Mapping[str, Any],
    candidates: int | Sequence[str] | None,
    rules: Any,
) -> Ranks:
    if "qrels" not in given:
        raise click.UsageError("--lists needs --qrels, the right answers of its queries")
    if candidates is None:
        raise click.UsageError(
            "--lists needs --candidates, how many there are in all, or a file with their names"
        )
    with user_errors():
        with renamed(path="--qrels"):
            answers = read_qrels(given["qrels"])
        with renamed(path="--known"):
            known = [read_qrels(path) for path in given.get("known", ())]
        with ProgressBar() as bar, renamed(path="--lists"):
            read = reader(lists, progress=ProgressListener(bar))
        with renamed(candidates="--candidates", answers="--qrels"):
            return read.rank(
                answers,
                candidates=candidates,
                filtered=bool(given.get("filtered")),
                known=known or None,
                **rules,
            )


def _candidates_of(given: Mapping[str, Any]) -> int | list[str] | None:
    """Read the candidates: their number, or the names in a file, one in each line."""
    if "candidates" not in given:
        return None
    text = str(given["candidates"])
    return int(text[:19]) if text.isdecimal() else read_names("--candidates", Path(text))


def _split_name(path: Path) -> str:
    return path.name.partition(".")[0] or path.name
