"""`truerank alignment`: makes a report from pairs and from vectors or similarities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from ..alignment.analyses import bucket_labels
from ..alignment.datasets.graphs import degrees
from ..alignment.datasets.readers import find_file, read_dbp15k, read_openea
from ..alignment.pair_task import Task
from ..embeddings.vectors import SIMILARITIES
from ..inputs.errors import InputValueError, renamed
from ..ranks.labels import Labels
from .app import Subcommand, user_errors
from .files import read_array
from .options import (
    QUOTES_HINT,
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
    from .. import Ranks, Report
    from ..alignment.datasets.graphs import AlignmentData, Graph

CANDIDATES = ("all", "test", "unaligned")
DATA_SET_READERS: dict[str, Callable[[Path, int | None], AlignmentData]] = {
    "dbp15k": lambda folder, fold: read_dbp15k(folder),
    "openea": read_openea,
}
# Options for files of pairs or entities, which a data set replaces, and options of a data set.
PAIR_FILE_OPTIONS = ("train", "valid", "known", "left_labels", "right_labels")
DATA_SET_OPTIONS = ("layout", "fold")
# The option or argument for each name in errors: those of a task, and those of its evaluation.
TASK_NAMES = {"left": "--left-labels", "right": "--right-labels"}
EVALUATION_NAMES = {
    **{"left": "LEFT", "right": "RIGHT", "scores": "--scores", "csls": "--csls"},
    **{"candidates[0]": "--candidates, the first", "candidates[1]": "--candidates, the second"},
}


def parse_candidates(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> tuple[Path, ...] | str | None:
    """Parse the candidates: a name, or a file of ids for each graph."""
    if text is None or text in CANDIDATES:
        return text
    paths = tuple(Path(word) for word in text.split(","))
    if len(paths) == 2 and all(path.suffix == ".npy" for path in paths):
        return paths
    raise click.BadParameter(
        f"expected {', '.join(CANDIDATES)}, or two .npy files as left.npy,right.npy, got {text!r}"
    )


@click.command(
    "alignment", cls=Subcommand, short_help="Evaluate entity alignment, in both directions."
)
@click.argument("files", type=File, nargs=-1, metavar="[LEFT RIGHT] [PAIRS]")
@click.option(
    "--scores",
    type=File,
    help="Similarities in place of vectors, with left entities as rows and right ones as columns.",
)
@known_options("pairs")
@click.option(
    "--left-labels",
    type=File,
    help="Names of the left entities that the pairs use, a line for each row of LEFT. Without it, "
    "pairs in text are row numbers, from 0. Pairs in .npy always are.",
)
@click.option("--right-labels", type=File, help="The same for right entities and RIGHT.")
@click.option(
    "--data", type=File, metavar="FOLDER", help="A data set whose pairs are used in place of PAIRS."
)
@click.option(
    "--layout",
    type=click.Choice(list(DATA_SET_READERS)),
    help="Layout of --data. Default: the one that its files suggest.",
)
@click.option(
    "--fold",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="Fold of --data whose test pairs are ranked; its other pairs are known. Without it, all "
    "pairs of a data set in OpenEA's layout are ranked.",
)
@click.option(
    "--candidates",
    metavar="NAME|FILES",
    callback=parse_candidates,
    help="Candidates: all entities of the other graph (all, the default), those of the test pairs "
    "(test), all but those that known pairs align (unaligned), or left.npy,right.npy with ids.",
)
@click.option(
    "--similarity",
    type=click.Choice(SIMILARITIES),
    help="Similarity of two vectors. Default: cosine.",
)
@click.option(
    "--csls",
    type=click.IntRange(min=1),
    metavar="K",
    help="Use CSLS: subtract the mean similarity of each of both entities to its K most similar "
    "candidates.",
)
@order_option
@io_option
@dtype_option()
@split_option("Name of the ranked split. Default: test.", default="test")
@rule_option("duplicates", "pairs", "that repeat an earlier one")
@rule_option("leaks", "pairs", "that are known")
@nan_option
@threads_option
@report_options()
def align(files: tuple[Path, ...], candidates: Any, split: str, **options: Any) -> None:
    """Evaluate entity alignment: rank pairs in both directions, by vectors or similarities.

    LEFT and RIGHT are .npy files with a vector for each entity of the two graphs, also for entities
    without a counterpart. --similarity compares them, and the scores are never stored. Instead of
    vectors, a model may be given by its --scores. PAIRS is a text file (perhaps gzipped) with a
    left and a right entity in each line, separated by a tab, or a .npy file of row numbers. If
    PAIRS and known pairs give an entity other counterparts, these are left out of its candidates.

    With --data, the pairs and names are those of a data set in the layout of DBP15k or OpenEA. Rows
    of vectors are then in the order of its entities, and --by degree groups the results by the
    number of triples.

    \b
    truerank alignment left.npy right.npy test.tsv --train train.tsv --csls 10
    truerank alignment left.npy right.npy --data D_W_15K_V2 --fold 1 --by degree
    truerank alignment --scores similarities.npy test.npy --candidates test --save ranks.npz
    """
    request = ReportRequest.from_options(options)
    given = given_options(options)
    paths = name_arguments(files, given)
    with ExitStack() as stack:
        with user_errors():
            model, sizes = open_model(paths, given, stack)
            inputs = (
                inputs_from_files(paths["PAIRS"], split, given, sizes)
                if "PAIRS" in paths
                else inputs_from_data_set(split, given)
            )
            read = [*model.files, *inputs.files]
            if isinstance(candidates, tuple):
                read += map(str, candidates)
                candidates = tuple(read_array("--candidates", path) for path in candidates)
            request = request.with_files_read(read)
            rules = pick(given, "duplicates", "leaks")
            with task_messages(inputs.titles, request.audit, **{**EVALUATION_NAMES, **TASK_NAMES}):
                task = make_task(
                    inputs, sizes, split=split, candidates=candidates or "all", **rules
                )

        def count() -> Report:
            # with vectors, an error about scores is not about an argument
            vectors = {} if model.has_scores else {"scores": "scores"}
            with renamed(**{**EVALUATION_NAMES, **vectors}):
                return rank_model(task, model, given, request.audit)

        report = count_and_report(
            task, count, request, read, lambda ranks: with_degrees(ranks, task, inputs.data)
        )
    print_report(report, request, describe_task(task, split))


# -- what is ranked --------------------------------------------------------------------------------


def name_arguments(paths: Sequence[Path], given: Mapping[str, Any]) -> dict[str, Path]:
    """Name the positional arguments; a missing or superfluous one is a wrong command line."""
    scored, packed = "scores" in given, "data" in given
    names = [*(() if scored else ("LEFT", "RIGHT")), *(() if packed else ("PAIRS",))]
    if len(paths) != len(names):
        beside = [f" with {option}" for option in ("--scores", "--data") if option[2:] in given]
        expected = f"{' '.join(names) or 'no file'}{' and'.join(beside)}"
        got = " ".join(map(str, paths[:4])) + " ..." * (len(paths) > 4)
        hint = f"; {QUOTES_HINT}" * (scored and len(paths) > len(names))
        raise click.UsageError(f"expected {expected}, got {got or 'none'}{hint}")
    if misplaced := pick(given, *(PAIR_FILE_OPTIONS if packed else DATA_SET_OPTIONS)):
        what = "--data" if packed else "pairs without --data"
        raise click.UsageError(f"{option_names(*misplaced)} cannot apply to {what}")
    refuse_other_options(scored, given)
    return dict(zip(names, paths, strict=True))


def open_model(
    paths: Mapping[str, Path], given: Mapping[str, Any], stack: ExitStack
) -> tuple[ModelFiles, tuple[int, int]]:
    """Open the files of a model, and return them with the numbers of left and right entities."""
    if "scores" in given:
        store = open_model_scores("--scores", given["scores"], given, stack)
        rows, columns = store.shape
        return ModelFiles(True, {"scores": store}, list(store.files), {}), (rows, columns)
    arrays = {name: read_array(name, paths[name]) for name in ("LEFT", "RIGHT")}
    for name, array in arrays.items():
        if array.ndim != 2:
            got = f"shape {array.shape}"
            raise InputValueError(name, expected="a vector for each entity", got=got)
    left, right = arrays.values()
    files = [str(paths[name]) for name in arrays]
    return ModelFiles(False, {"left": left, "right": right}, files, {}), (len(left), len(right))


class PairInputs(NamedTuple):
    """The pairs and entities that a task is made of.

    Attributes
    ----------
    pairs : str or array
    known : dict of str to (str or array), or None
    entities : (left, right)
        Their number, or their names.
    files : list of str
        All files that are read.
    titles : dict of str to str
        The option or argument that names a split, by the name of the split in errors.
    data : AlignmentData, or None
    """

    pairs: Any
    known: Mapping[str, Any] | None
    entities: tuple[Any, Any]
    files: list[str]
    titles: dict[str, str]
    data: AlignmentData | None = None


def inputs_from_files(
    pairs: Path, split: str, given: Mapping[str, Any], sizes: tuple[int, int]
) -> PairInputs:
    """Take the pairs from files: they hold ids, unless labels name the entities."""
    splits = name_splits(split, pairs, "PAIRS", given, "pairs")
    files = [*map(str, splits.files().values())]
    entities: list[Any] = list(sizes)
    for place, name in enumerate(PAIR_FILE_OPTIONS[-2:]):
        if name in given:
            entities[place] = read_names(option_names(name), given[name])
            files.append(str(given[name]))
    known = {name: str(path) for name, path in splits.known.items()}
    return PairInputs(str(pairs), known or None, (entities[0], entities[1]), files, splits.titles())


def inputs_from_data_set(split: str, given: Mapping[str, Any]) -> PairInputs:
    """Take the pairs of a data set: those of the split, or all pairs if it has no splits."""
    folder = given["data"]
    if not folder.is_dir():
        raise NotADirectoryError(f"--data: no folder {folder}")
    guess = "openea" if find_file(str(folder), "rel_triples_1") else "dbp15k"
    layout = given.get("layout", guess)
    if layout == "dbp15k" and "fold" in given:
        raise click.UsageError("--fold cannot apply to --layout dbp15k, which has no folds")
    with renamed(folder="--data"):
        data = DATA_SET_READERS[layout](folder, given.get("fold"))
    if data.splits and split not in data.splits:
        names = ", ".join(data.splits)
        raise InputValueError("--split", expected=f"one of {names}", got=repr(split))
    pairs = data.splits[split] if data.splits else data.pairs
    known = data.known(split) if data.splits else None
    entities = _entities(data.left), _entities(data.right)
    return PairInputs(pairs, known, entities, [str(folder)], {}, data)


def _entities(graph: Graph) -> Any:
    """Return the names of a graph's entities if they are unique, or else their number."""
    names = graph.names
    return graph.size if names is None or len(set(names)) < graph.size else names


def make_task(inputs: PairInputs, sizes: tuple[int, int], **keywords: Any) -> Task:
    """Make the task, and check that the model has as many entities."""
    left, right = inputs.entities
    task = Task(inputs.pairs, left=left, right=right, known=inputs.known, **keywords)
    found = task.right_to_left.columns, task.left_to_right.columns
    if found != sizes:
        what = "--left-labels, --right-labels" if inputs.data is None else "--data"
        names = f"{found[0]:,} left and {found[1]:,} right entities"
        of_model = f"the files of the model have {sizes[0]:,} and {sizes[1]:,}"
        raise InputValueError(what, f"there are {names}, but {of_model}")
    return task


def with_degrees(ranks: Ranks, task: Task, data: AlignmentData | None) -> Ranks:
    """Label each pair by its degree, the sum over both entities, if a data set has degrees."""
    if data is None:
        return ranks
    sums = np.zeros(len(task.pairs), dtype=np.int64)
    for graph, ids in zip((data.left, data.right), task.pairs.T, strict=True):
        sums += degrees(graph.triples, graph.size)[ids]
    found = bucket_labels(sums)
    both = Labels(np.tile(found.codes, len(task.sides)), found.vocabulary)
    return ranks.with_labels(degree=both)


def describe_task(task: Task, split: str) -> TaskDescription:
    """Describe what is ranked: in two lines, as data for JSON, and with the audit of the pairs."""
    first, *_ = str(task.audit).split("\n")
    if task.candidates is None:
        among = {name: side.columns for name, side in task.sides.items()}
    else:
        left, right = task.candidates
        among = {"left_to_right": len(right), "right_to_left": len(left)}
    facts, queries = {}, []
    for name, side in task.sides.items():
        of_all = f"{among[name]:,} of " * (among[name] < side.columns)
        queries.append(f"{name} {len(side.queries):,} (among {of_all}{side.columns:,} entities)")
        facts[name] = {
            "tasks": len(side),
            "queries": len(side.queries),
            "candidates": among[name],
            "columns": side.columns,
        }
    heading = [first, f"distinct queries: {', '.join(queries)}"]
    stored = {"sides": facts, "audit": task.audit.to_dict()}
    return TaskDescription(f"Entity alignment of {split}", heading, stored, str(task.audit))
