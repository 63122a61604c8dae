"""`truerank link-prediction`: makes a report from triples and from vectors or scores."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ..embeddings.vectors import SIMILARITIES
from ..inputs.errors import InputValueError, renamed
from ..link_prediction import Sampled, Task, read_triples
from ..link_prediction.known_answers import FILTERS
from ..link_prediction.triples import TRIPLE_FORM
from ..tables.cells import format_count
from ..tasks.text import read_text
from ..tasks.vocabularies import MAX_IDS, is_id
from .app import Subcommand, user_errors, write_warning
from .files import read_array
from .options import (
    File,
    dtype_option,
    given_options,
    io_option,
    nan_option,
    option_names,
    order_option,
    report_options,
    rule_option,
    split_option,
    threads_option,
)
from .protocol_runs import (
    ModelFiles,
    SplitFiles,
    count_and_report,
    known_options,
    name_splits,
    open_model_scores,
    pick,
    rank_model,
    read_names,
    refuse_other_options,
    task_messages,
)
from .report_request import ReportRequest, TaskDescription, print_report

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray


LABEL_ARGUMENTS = {"entities": "entity_labels", "relations": "relation_labels"}
ID_COLUMNS = {"entities": [0, 2], "relations": [1]}
# What to do if names are numbers.
NUMBER_HINTS = {
    "entities": "the entities are numbers: give --ids if they are rows of --entities or columns of "
    "scores, or --entity-labels if they are names",
    "relations": "the relations are numbers: give --relation-labels if they are names, or --ids "
    "with --entity-labels if they are ids",
}


def make_task(
    splits: SplitFiles,
    files: Mapping[str, Path],
    ids: bool,
    counts: Mapping[str, int],
    given: Mapping[str, Any],
    **keywords: Any,
) -> Task:
    """Make the task; with `ids`, text holds ids, and without, it must not use numbers as names."""
    names: dict[str, Any] = {
        argument: read_names(option_names(option), given[option])
        for argument, option in LABEL_ARGUMENTS.items()
        if option in given
    }
    texts = {option: path for option, path in files.items() if path.suffix != ".npy"}
    if ids or not texts:
        _count_ids(names, files, texts, counts)
    elif texts:
        _refuse_numbers(names, texts)
    known = {name: str(path) for name, path in splits.known.items()}
    with renamed(
        **{argument: option_names(option) for argument, option in LABEL_ARGUMENTS.items()}
    ):
        task = Task(str(splits.test), known, split=splits.name, **names, **keywords)
    labels = task._entities or ()
    if "entities" not in names and labels and counts.get("entities", len(labels)) != len(labels):
        raise InputValueError(
            "--entity-labels",
            f"the triples name {len(labels):,} entities, but there are {counts['entities']:,} in "
            "the files of the model; give all names in their order",
        )
    return task


def _count_ids(
    names: dict[str, Any],
    files: Mapping[str, Path],
    texts: Mapping[str, Path],
    counts: Mapping[str, int],
) -> None:
    """Add the number of entities or of relations to `names` where they have no labels."""
    for what, columns in ID_COLUMNS.items():
        if what in names:
            continue
        if what in counts:
            names[what] = counts[what]
        elif what == "entities" or (texts and isinstance(names["entities"], list)):
            names[what] = 1 + max(
                _largest_id(option, path, columns, names) for option, path in files.items()
            )


def _largest_id(option: str, path: Path, columns: list[int], names: Mapping[str, Any]) -> int:
    """Return the largest id in some columns, for counts that no vectors or scores show."""
    with renamed(triples=option, entities="--entity-labels"):
        vocabularies = {"entities": MAX_IDS, "relations": MAX_IDS, **names}
        return int(read_triples(str(path), **vocabularies).ids[:, columns].max(initial=0))


def _refuse_numbers(names: Mapping[str, Any], texts: Mapping[str, Path]) -> None:
    """Raise an error if names in text are numbers: sorted as words, 10 would come before 2."""
    for what, columns in ID_COLUMNS.items():
        if what in names:
            continue
        try:
            ids = sum(_count_id_rows(option, path, columns) for option, path in texts.items())
        except _NotAnIdError:
            continue
        if ids:
            raise click.UsageError(NUMBER_HINTS[what])


class _NotAnIdError(Exception):
    """A label is not an id."""


def _count_id_rows(option: str, path: Path, columns: Sequence[int]) -> int:
    """Return the number of rows of a file whose columns hold ids; stop at the first other label."""

    def look(place: int, fields: Sequence[str]) -> IntArray:
        if place in columns and not all(map(is_id, fields)):
            raise _NotAnIdError
        return np.zeros(len(fields), dtype=np.int64)

    read = read_text(option, str(path), look, TRIPLE_FORM)
    return len(read[0]) if read else 0


def parse_key_columns(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> tuple[int, ...] | None:
    """Parse a list of columns, or the word none."""
    if text is None or text.strip() == "none":
        return None if text is None else ()
    return _parse_columns(text, "columns from 3 on, as 3,4, or none")


def parse_time_columns(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> tuple[int, ...] | int | None:
    """Parse one column, or two of them."""
    if text is None:
        return None
    columns = _parse_columns(text, "a column from 3 on, or two of them, as 3,4")
    return columns if len(columns) > 1 else columns[0]


def _parse_columns(text: str, expected: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",")]
    if not all(re.fullmatch(r"\d{1,18}", word) and int(word) >= 3 for word in words):
        raise click.BadParameter(f"expected {expected}, got {text!r}")
    return tuple(map(int, words))


def parse_filters(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> tuple[str, ...] | None:
    """Parse a list of names of filters."""
    return None if text is None else tuple(word.strip() for word in text.split(","))


def parse_candidates(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> Sampled | Path | str | None:
    """Parse the candidates: a name, a file, or a number of samples, perhaps of a split."""
    if text is None:
        return text
    if Path(text).suffix == ".npy":
        return Path(text)
    kind, colon, number = text.partition(":")
    if kind not in ("sampled", "sampled-typed") and not colon:
        return text
    number, _, split = number.partition(":")
    if kind in ("sampled", "sampled-typed") and re.fullmatch(r"0*[1-9]\d{0,17}", number):
        return Sampled(int(number), typed=kind == "sampled-typed", among=split or None)
    raise click.BadParameter(
        "expected all, typed, the name of a known split, sampled:100, sampled:100:SPLIT, "
        f"sampled-typed:100 or a .npy file, got {text!r}"
    )


CANDIDATE_KIND = {"head": "entities", "tail": "entities", "relation": "relations"}


def parse_sides(_context: click.Context, _option: click.Parameter, text: str) -> tuple[str, ...]:
    """Parse a list of sides, and return them in their usual order."""
    words = {word.strip() for word in text.split(",")}
    if not words <= CANDIDATE_KIND.keys():
        raise click.BadParameter(f"expected some of {', '.join(CANDIDATE_KIND)}, got {text!r}")
    return tuple(side for side in CANDIDATE_KIND if side in words)


@click.command(
    "link-prediction",
    cls=Subcommand,
    short_help="Evaluate link prediction, from triples to the table.",
)
@click.option("--test", type=File, required=True, help="Triples to rank.")
@known_options("triples")
@click.option("--entities", type=File, help="A vector for each entity: .npy.")
@click.option("--queries-tail", type=File, help="Vectors to compare with entities as tails: .npy.")
@click.option("--queries-head", type=File, help="Vectors to compare with entities as heads: .npy.")
@click.option(
    "--relations", type=File, help="A vector for each relation, to predict relations: .npy."
)
@click.option("--queries-relation", type=File, help="Vectors to compare with relations: .npy.")
@click.option(
    "--similarity",
    type=click.Choice(SIMILARITIES),
    help="Similarity of a query and an entity. Default: dot.",
)
@click.option("--bias", type=File, help="A number for each entity, added to its scores: .npy.")
@click.option(
    "--scores-tail", type=File, help="Scores of all entities as tails, in place of vectors."
)
@click.option("--scores-head", type=File, help="The same for heads. Files are as for evaluate.")
@click.option("--scores-relation", type=File, help="The same for relations.")
@order_option
@io_option
@dtype_option()
@click.option(
    "--unique",
    is_flag=True,
    help="Rows belong to the distinct queries, not to the triples of --test.",
)
@click.option(
    "--sides",
    default="head,tail",
    show_default=True,
    callback=parse_sides,
    metavar="SIDE,...",
    help="What to predict: head, tail, relation.",
)
@click.option(
    "--entity-labels",
    type=File,
    help="Names of the entities in the triples, a line for each row of --entities. Default: sorted "
    "by name.",
)
@click.option("--relation-labels", type=File, help="The same for relations.")
@click.option(
    "--ids",
    is_flag=True,
    help="Text files hold ids, not names, where no labels are given. Files in .npy always do.",
)
@click.option(
    "--keys",
    metavar="COLUMN,...|none",
    callback=parse_key_columns,
    help="Further columns of the triples, from 3 on, that belong to each query (such as a time), "
    "or none. Default: all of them.",
)
@click.option(
    "--time",
    metavar="COLUMN[,COLUMN]",
    callback=parse_time_columns,
    help="The further column that holds a time point, or those of the start and the end of an "
    "interval, as 3,4: integers or dates.",
)
@click.option(
    "--filters",
    metavar="NAME,...",
    callback=parse_filters,
    help=f"Which known answers are left out: {', '.join(FILTERS)}. Default: query. Under "
    "several, the report is that of the first, with the others beside it.",
)
@click.option(
    "--candidates",
    metavar="NAME|FILE",
    callback=parse_candidates,
    help="Candidates: all (the default), train (entities of --train) or another known split, typed "
    "(seen there with the relation), sampled:100, sampled-typed:100 or sampled:50:train (that many "
    "negatives, of that split), or .npy of ids.",
)
@split_option("Name of the split of --test. Default: test.", default="test")
@rule_option("duplicates", "triples", "that repeat an earlier one")
@rule_option("leaks", "triples", "that are known")
@rule_option("unseen", "triples", "with an entity or relation that is not in --train")
@nan_option
@threads_option
@report_options()
def predict_links(
    test: Path,
    sides: tuple[str, ...],
    ids: bool,
    keys: tuple[int, ...] | None,
    time: tuple[int, ...] | None,
    filters: tuple[str, ...] | None,
    candidates: Any,
    split: str,
    **options: Any,
) -> None:
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
    """
    request = ReportRequest.from_options(options)
    given = given_options(options)
    splits = name_splits(split, test, "--test", given, "triples")
    paths = model_files(sides, given)
    if isinstance(candidates, Sampled):
        candidates = candidates._replace(seed=request.seed)
    with ExitStack() as stack:
        with user_errors():
            model = open_model(paths, given, stack)
            triples = splits.files()
            others = pick(given, "bias", "entity_labels", "relation_labels").values()
            files = [*model.files, *map(str, (*triples.values(), *others))]
            if isinstance(candidates, Path):
                files.append(str(candidates))
                candidates = read_array("--candidates", candidates)
            request = request.with_files_read(files)
            rules = pick(given, "duplicates", "leaks", "unseen")
            columns = {"keys": keys, "time": time, "filters": filters}
            keywords = {"sides": sides, "candidates": candidates, **columns, **rules}
            with task_messages(splits.titles(), request.audit, **{k: f"--{k}" for k in columns}):
                task = make_task(splits, triples, ids, vocabulary_sizes(model), given, **keywords)
                notes = [*_missing_known(task), *task._take_notes_on_columns()]
        report = count_and_report(
            task, lambda: rank_model(task, model, given, request.audit), request, files
        )
    for note in notes:  # also where an audit lists the other warnings
        write_warning(note)
    print_report(report, request, describe_task(task, split))


def _missing_known(task: Task) -> list[str]:
    """Say that only the test's own answers are left out, which is no usual protocol."""
    if task.audit.known or not task.protocol.filter:
        return []
    return [
        "no --train, --valid or --known: only the answers in --test are left out, so that other "
        "true answers count as wrong ones"
    ]


def model_files(sides: Sequence[str], given: Mapping[str, Any]) -> dict[str, Path]:
    """Return the files of a model by option, after a check that none is missing or superfluous."""
    scores = [name for side in CANDIDATE_KIND if (name := f"scores_{side}") in given]
    of_vectors = [
        *dict.fromkeys(CANDIDATE_KIND.values()),
        *(f"queries_{side}" for side in CANDIDATE_KIND),
    ]
    vectors = list(pick(given, *of_vectors))
    if scores and vectors:
        raise click.UsageError(
            f"{option_names(scores[0])} and {option_names(vectors[0])}: "
            "expected either scores or vectors"
        )
    by_scores = [f"scores_{side}" for side in sides]
    by_vectors = [
        *dict.fromkeys(CANDIDATE_KIND[k] for k in sides),
        *(f"queries_{k}" for k in sides),
    ]
    needed = by_scores if scores else by_vectors
    missing = [name for name in needed if name not in given]
    if missing and not scores and not vectors:
        raise click.UsageError(
            f"expected the vectors of a model ({option_names(*by_vectors)}) or its scores "
            f"({option_names(*by_scores)})"
        )
    if missing:
        raise click.UsageError(
            f"Missing option {option_names(*missing)}, for --sides {','.join(sides)}"
        )
    if spare := [name for name in (*scores, *vectors) if name not in needed]:
        raise click.UsageError(f"{option_names(*spare)} cannot apply: --sides {','.join(sides)}")
    refuse_other_options(bool(scores), given)
    return pick(given, *needed)


def open_model(paths: Mapping[str, Path], given: Mapping[str, Any], stack: ExitStack) -> ModelFiles:
    """Open the files of a model; arrays are mapped into memory."""
    if all(name.startswith("scores_") for name in paths):
        stores = {
            name: open_model_scores(option_names(name), path, given, stack)
            for name, path in paths.items()
        }
        files = [file for store in stores.values() for file in store.files]
        return _model_files(True, stores, files)
    arrays = {name: read_array(option_names(name), path) for name, path in paths.items()}
    return _model_files(False, arrays, list(map(str, paths.values())))


def _model_files(has_scores: bool, arrays: Mapping[str, Any], files: list[str]) -> ModelFiles:
    """Name the arrays by their sides, as the task does, from the names of their options."""
    sides = {name: name.removeprefix("scores_").removeprefix("queries_") for name in arrays}
    options = {side: option_names(name) for name, side in sides.items()}
    named = {side: arrays[name] for name, side in sides.items()}
    return ModelFiles(has_scores, named, files, options)


def vocabulary_sizes(model: ModelFiles) -> dict[str, int]:
    """Return the numbers of entities and relations, as far as the model shows them."""
    if not model.has_scores:
        arrays = pick(model.arrays, *CANDIDATE_KIND.values())
        return {what: len(array) for what, array in arrays.items() if array.ndim}
    widths: dict[str, set[int]] = {}
    for name, store in model.arrays.items():
        widths.setdefault(CANDIDATE_KIND[name], set()).add(store.shape[1])
    return {what: found.pop() for what, found in widths.items() if len(found) == 1}


def describe_task(task: Task, split: str) -> TaskDescription:
    """Describe what is ranked: in two lines, as data for JSON, and by the audit of the triples."""
    first, *_ = str(task.audit).split("\n")
    sides = ", ".join(
        f"{name} {len(side.queries):,} (among {side.columns:,} {CANDIDATE_KIND[name]})"
        for name, side in task.sides.items()
    )
    relations = format_count(len(np.unique(task.test[:, 1])), "relation")
    heading = [first, f"{relations}; distinct queries: {sides}"]
    facts = {
        name: {"tasks": len(side), "queries": len(side.queries), "columns": side.columns}
        for name, side in task.sides.items()
    }
    stored = {"sides": facts, "audit": task.audit.to_dict()}
    return TaskDescription(f"Link prediction of {split}", heading, stored, str(task.audit))
