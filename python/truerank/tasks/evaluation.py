"""What a model gives for a task, ranked by side: callables, vectors, scores or lists.

Each function takes it by side: what a side of the task needs is required, and what belongs to
another side is refused. Messages have the side's name, or `title`, where an argument is not named
after its side. It returns the ranks of each side, which the task labels and joins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from ..arrays.row_keys import first_equals
from ..counting.driver import count_source
from ..counting.job import prepare_job
from ..counting.lists import rank_open_lists
from ..counting.sources import StoreSource
from ..embeddings.scoring import TopK, rank_open_embeddings
from ..embeddings.vectors import Embeddings
from ..embeddings.watching import watch_of_part, watching
from ..errors import InputTypeError, InputValueError, argument_names
from ..inputs.candidate_lists import CandidateLists, as_lists
from ..inputs.checks import flag
from ..inputs.frames import NUMBERED, Axis, by_position
from ..inputs.progress_listeners import as_listener, reporter
from ..inputs.rules import BatchOptions, EmbeddingOptions, ListOptions, RuleOptions, read_rules
from ..inputs.words import LISTED
from ..stores import Store, read_scores, shape_of
from .batches import check_score_shape, rank_batches
from .listed_candidates import candidates_of_lists
from .query_rows import (
    look_at_stored_rows,
    mismatched_stored_rows,
    mismatched_vectors,
    with_mismatched,
)

if TYPE_CHECKING:
    from ..arrays.types import IntArray
    from ..inputs.words import IoMode, Similarity
    from ..ranks.container import Ranks
    from .side import Side
    from .task import Task

    BySide = Mapping[str, Any]


class ScoreOptions(RuleOptions, total=False):
    """Options of evaluating scores: those, and how files are read.

    Parameters
    ----------
    order, nan, dtype, threads, audit, io, progress : optional
        As in `truerank.rank`; `progress` counts the bytes of all scores.
    """

    io: IoMode | None


class VectorOptions(EmbeddingOptions, total=False):
    """Options of evaluating vectors: those, and how vectors make scores."""

    similarity: Similarity
    bias: Any
    block: int | None


def rank_callables(
    task: Task, scorers: BySide, title: str = "", **options: Unpack[BatchOptions]
) -> list[Ranks]:
    """Rank by callables f(queries (b, c)) -> scores (b, columns).

    `progress` counts the queries of all sides.
    """
    progress = read_rules(options, BatchOptions).progress
    check_sides(task, scorers, "a callable", title)
    for name in task.sides:
        if not callable(scorers[name]):
            got = type(scorers[name]).__name__
            raise InputTypeError(title or name, expected="a callable", got=got)
    sizes = [len(side.query_ids) for side in task.sides.values()]
    tellers = split_progress(reporter(progress, sum(sizes), "queries"), sizes)
    ranks_of_sides = []
    for (name, side), tell in zip(task.sides.items(), tellers, strict=True):
        with argument_names(scores=title or name):
            ranks_of_sides.append(rank_batches(scorers[name], side, tell, **options))
    return ranks_of_sides


def rank_vectors(
    task: Task,
    queries: BySide,
    candidates: BySide,
    title: str = "",
    unique: bool = False,
    **options: Unpack[VectorOptions],
) -> list[Ranks]:
    """Rank by vectors of queries and of candidates; these are called "entities" or "relations".

    `bias` is one array for all sides, or a mapping of sides to arrays (those left out have none).
    `progress` counts the bytes of all sides.
    """
    rules = read_rules(options, VectorOptions)
    check_sides(task, queries, "vectors", title)
    kinds = {name: task._vocabulary(name).of for name in task.sides}
    check_sides(task, candidates, "vectors", arguments=kinds)
    biases = _bias_by_side(task, options.get("bias"))
    opened = []  # All arguments are checked before a side is ranked.
    for name, side in task.sides.items():
        rows, height, noun, axis = _rows_to_hand_over(task, side, unique)
        argument = title or name
        with argument_names(queries=argument, entities=kinds[name]):
            embeddings = Embeddings(
                queries[name],
                candidates[kinds[name]],
                options.get("similarity", "dot"),
                biases.get(name),
                rules.dtype,
                query_rows=axis,
                entity_rows=_column_axis(task, name),
                layout=rules.layout,
            )
            embeddings.check_shape((height, side.n_candidates), (noun, "candidate"))
        opened.append((argument, side, rows, embeddings))
    sizes = [embeddings.nbytes for *_, embeddings in opened]
    ranks_of_sides = []
    with watching(rules.progress, sum(sizes)) as watch:
        for i, (argument, side, rows, embeddings) in enumerate(opened):
            first_rows = rows[first_equals(side.rows)]
            mismatched = mismatched_vectors(argument, embeddings, rows, first_rows, side.targets)
            with argument_names(scores=argument):
                ranks = rank_open_embeddings(
                    embeddings,
                    side.targets,
                    rules,
                    rows=np.where(mismatched, rows, first_rows),  # Equal rows are read once.
                    filter=side.filter,
                    candidates=side.candidates,
                    block=options.get("block"),
                    watch=watch_of_part(watch, sizes, i),
                )
            if rules.audit:
                ranks = with_mismatched(ranks, mismatched)
            ranks_of_sides.append(ranks)
    return ranks_of_sides


def rank_scores(
    task: Task,
    scores: BySide,
    title: str = "",
    unique: bool = False,
    **options: Unpack[ScoreOptions],
) -> list[Ranks]:
    """Rank by score matrices, in memory or in files; `progress` counts the bytes of all."""
    rules = read_rules(options, ScoreOptions)
    listener = as_listener(rules.progress)
    check_sides(task, scores, "scores", title)
    opened = []
    # All sides are opened first, so that a missing one is reported before the others are counted.
    for name, side in task.sides.items():
        rows, height, noun, axis = _rows_to_hand_over(task, side, unique)
        argument = title or name
        with argument_names(scores=argument):
            table = by_position("scores", scores[name], axis, _column_axis(task, name))
            store = cast("Store", read_scores(table, rules.dtype, tiled=True))
            check_score_shape(shape_of(store), (height, side.n_candidates), noun)
        opened.append((argument, side, rows, store))
    sizes = [store.nbytes for *_, store in opened]
    tellers = split_progress(reporter(listener, sum(sizes)), sizes)
    ranks_of_sides = []
    for (argument, side, rows, store), tell in zip(opened, tellers, strict=True):
        io = options.get("io")
        selections = (side.filter, side.candidates)
        with argument_names(scores=argument):
            job = prepare_job(store.shape, side.targets, rows, *selections, rules)
            counts, device = count_source(StoreSource(store, io), job, report_progress=tell)
        ranks = job.ranks(counts, store.dtype, store.files, device)
        first_rows = rows[first_equals(side.rows)]
        look_at_stored_rows(argument, store, rows, first_rows, side.targets)
        if rules.audit:
            mismatched = mismatched_stored_rows(store, rows, first_rows, io or store.io)
            ranks = with_mismatched(ranks, mismatched)
        ranks_of_sides.append(ranks)
    return ranks_of_sides


def rank_lists(
    task: Task,
    lists: BySide,
    title: str = "",
    unique: bool = False,
    **options: Unpack[ListOptions],
) -> list[Ranks]:
    """Rank by lists of the top candidates."""
    rules = read_rules(options, ListOptions)
    check_sides(task, lists, "lists", title)
    ranks_of_sides = []
    for name, side in task.sides.items():
        value = lists[name]
        argument = title or name
        if isinstance(value, TopK):  # The ids of a TopK are positions.
            value = as_lists(value.ids, value.scores, rules.dtype, argument)
        elif not isinstance(value, CandidateLists):
            value = task._vocabulary(name).lists_of(argument, value)
        rows, height, noun, _ = _rows_to_hand_over(task, side, unique)
        number = len(value.indptr) - 1
        if number != height:
            expected = f"{height} lists, one for each {noun}"
            raise InputValueError(argument, expected=expected, got=number)
        left_out: Any = side.filter
        sizes: Any = None
        if task.protocol.candidates == LISTED:
            sizes = LISTED
        elif side.candidates is not None:
            vocabulary = task._vocabulary(name)
            left_out, sizes = candidates_of_lists(value, rows, side, vocabulary)
        ranks = rank_open_lists(
            value, side.targets, side.n_candidates, rules, rows=rows, filter=left_out, sizes=sizes
        )
        ranks_of_sides.append(ranks)
    return ranks_of_sides


def check_sides(
    task: Task,
    values: BySide,
    what: str,
    title: str = "",
    arguments: Mapping[str, str] | None = None,
) -> None:
    """Check what was handed over by side: all sides are required, no others allowed.

    `arguments` says by side under which name it was handed over. Default: that of the side.
    """
    if arguments is None:
        arguments = {name: name for name in task.sides}
    for name, argument in arguments.items():
        if values.get(argument) is None:
            expected = f"{what} for the side {name!r}"
            raise InputTypeError(title or argument, expected=expected, got="None")
    for argument, value in values.items():
        if argument not in arguments.values() and value is not None:
            expected = f"None, as the sides of the task are {', '.join(task.sides)}"
            raise InputTypeError(argument, expected=expected)


def _bias_by_side(task: Task, bias: Any) -> BySide:
    """Return the bias of each side that has one: the same for all, or one by side."""
    if not isinstance(bias, Mapping):
        return dict.fromkeys(task.sides, bias)
    for name in bias:
        if name not in task.sides:
            expected = f"sides of the task ({', '.join(task.sides)})"
            raise InputValueError("bias", expected=expected, got=repr(name))
    return bias


def _rows_to_hand_over(task: Task, side: Side, unique: bool) -> tuple[IntArray, int, str, Axis]:
    """Return the row of each task, the number of rows, what a row is for, and their labels."""
    if flag("unique", unique):
        return side.rows, len(side.query_ids), "distinct query", NUMBERED
    return task._rows_of(side), task.height, task._row_noun, task._row_axis


def _column_axis(task: Task, name: str) -> Axis:
    """Return the labels of the columns of a side, and the attribute of a task that has them."""
    vocabulary = task._vocabulary(name)
    return Axis(vocabulary.names, f"task.{vocabulary.of}")


def split_progress(
    report_progress: Callable[..., None], sizes: Sequence[int]
) -> list[Callable[[int], None]]:
    """Make what each of several counts of some sizes calls with how much of it is done.

    Examples
    --------
    >>> first, second = split_progress(print, [100, 300])
    >>> second(60)
    160
    """
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [lambda done, *_, start=start: report_progress(start + done) for start in starts]
