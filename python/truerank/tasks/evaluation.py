"""What a model gives for a task, ranked by side and joined: callables, vectors, scores, lists."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from .. import embeddings, reporting, tasks
from ..arrays.row_keys import distinct, first_equals, match_rows, search_sorted
from ..counting.driver import count_scores
from ..counting.job import prepare_job
from ..counting.orders import refuse_permutations
from ..counting.ranking import rank
from ..errors import OPTION_TEXT, InputTypeError, InputValueError, argument_names, warn_user
from ..inputs.array_likes import device_of, on_host
from ..inputs.checks import Axis, by_position, integer
from ..inputs.progress_listeners import as_listener, reporter, watch_of_part, watching
from ..inputs.rules import (
    BatchOptions,
    EmbeddingOptions,
    ListOptions,
    RuleOptions,
    read_rules,
)
from ..naming import format_count, import_extra
from ..ranks.joining import join_ranks
from ..records.columns import columns_of_keys
from ..reporting import Report
from ..stores import Store, read_scores, shape_of
from ..stores.on_device import copy_to_device
from .side import selection_of_tasks

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from ..embeddings.vectors import Embeddings
    from ..inputs.rules import IoMode, Rules, Similarity
    from ..ranks.container import Ranks
    from .side import Side
    from .task import Task

    BySide = Mapping[str, Any]
    Flags = npt.NDArray[np.bool_]
    # The row of each task, how many there are, what a row is for, and the labels of rows.
    Rows = tuple[IntArray, int, str, Axis]

# The float32 scores of a batch take so much memory, and one batch is in memory at a time.
BATCH_BYTES = 64 << 20
# Rows of so many bytes are compared at a time, because they stay in a cache.
CHUNK_BYTES = 4 << 20
TILE_BYTES = 64 << 20
# Scores of rows that differ by rounding alone are nearer than this share of their size, in bfloat16
# too.
_ROUNDING = 0.01
# So many pairs of rows of a store are looked at: each takes a page of a file, or two.
LOOKED_AT = 100
LOOKED_AT_COLUMNS = 8
# What the task knows of the protocol of its ranks; counting knows the rest.
_FIELDS = ("filter", "filter_rule", "candidates", "sampled", "split", "gain")


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


# And the methods that take them.
_OPTIONS: dict[str, tuple[type[Any], str]] = {
    "a callable": (BatchOptions, "evaluate"),
    "vectors": (VectorOptions, "evaluate_embeddings"),
    "scores": (ScoreOptions, "evaluate_scores"),
    "lists": (ListOptions, "evaluate_lists"),
}


def evaluate(
    task: Task,
    what: str,
    values: BySide,
    options: Mapping[str, Any],
    *,
    title: str = "",
    candidates: BySide = MappingProxyType({}),
    row_queries: Any = None,
    reading: Mapping[str, Any] = MappingProxyType({}),
    **fields: Any,
) -> Report:
    """Rank what a model gives for each side of a task, and report the ranks of all.

    What a side of the task needs is required, and what belongs to another side is refused.

    Parameters
    ----------
    task : Task
    what : {"a callable", "vectors", "scores", "lists"}
    values : mapping of str to object
        By side: f(queries (b, c)) -> scores (b, columns); vectors of queries; a matrix of scores,
        in memory or in files; lists of the top candidates.
    options : mapping
        `BatchOptions`, `VectorOptions`, `ScoreOptions` or `ListOptions`. `bias` is one array for
        all sides, or a mapping of sides to arrays (those left out have none). `progress` counts the
        queries of callables, and the bytes of vectors and scores, of all sides.
    title : str
        What messages call the values. Default: each by its side.
    candidates : mapping of str to object
        The vectors of candidates, by what these are: "entities" or "relations".
    row_queries : mapping of str to keys, optional
        By side: the query of each row, as `_rows_to_hand_over` reads it.
    reading : mapping of str to object
        How lists are read that are by key: the options of `read_lists`.
    **fields
        Of the protocol.
    """
    kind, method = _OPTIONS[what]
    rules = read_rules(options, kind, getattr(task, method, None))
    check_sides(task, values, what, title)
    arguments = {name: title or name for name in task.sides}
    rows, strangers = _rows_to_hand_over(task, row_queries, title)
    findings = []
    if strangers and not task._is_part:  # A part may have the rows of other parts, too.
        words = f"{format_count(strangers, 'row')} of queries without right answers"
        findings.append(reporting.Finding("unused rows", strangers, words))
    if what == "a callable":
        ranks = _rank_callables(task, values, arguments, rules, options)
    elif what == "vectors":
        ranks = _rank_vectors(
            task, values, candidates, arguments, rules, options, rows_of_sides=rows
        )
    elif what == "scores":
        ranks = _rank_scores(task, values, arguments, rows, rules, options.get("io"))
    else:
        lists = tasks.list_evaluation.read_lists_by_side(
            task, values, arguments, row_queries or (), reading
        )
        ranks = tasks.list_evaluation.rank_lists_by_side(
            task, lists, arguments, rows, rules, findings
        )
    report = Report(join_sides(task, ranks, **fields), **task._report_options)
    report._of_lists = findings
    return report


def join_sides(task: Task, ranks_of_sides: Iterable[Ranks], **fields: Any) -> Ranks:
    """Return the ranks of all sides together, with their labels and the task's protocol.

    `fields` are further ones of the protocol; `files` come behind those that were counted.
    """
    files = fields.pop("files", ())
    fields |= {field: getattr(task.protocol, field) for field in _FIELDS}
    parts: list[Ranks] = []
    counted = None
    for side, ranks in zip(task.sides.values(), ranks_of_sides, strict=True):
        arrays: dict[str, Any] = {}
        if side.without_answers is not None:
            arrays["without_answers"] = side.without_answers
        if side.gains is not None:
            arrays["gains"] = side.gains
        if counted is not None and vars(ranks.protocol) == vars(counted):
            protocol = parts[-1].protocol  # It was checked, and is as quick to join as one.
        else:  # Files of the task come before those of its scores.
            fields["files"] = task.protocol.files + ranks.protocol.files + files
            if ranks.protocol.lists is None:  # Scores are of all, if nothing else was said.
                fields["candidates"] = task.protocol.candidates or ranks.protocol.candidates
            protocol = ranks.with_protocol(**fields).protocol
            level = task.protocol.relevance_level
            if level is not None:  # No gain of a part of a task need reach it.
                protocol = dataclasses.replace(protocol, relevance_level=level)
        counted = ranks.protocol
        origins = (task._origin,)
        parts.append(ranks._with(arrays, labels=side.labels, protocol=protocol, origins=origins))
    return join_ranks(parts)


def _rank_callables(
    task: Task,
    scorers: BySide,
    arguments: Mapping[str, str],
    rules: Rules,
    options: Any,
) -> list[Ranks]:
    """Rank by callables; `arguments` are what messages call those of each side."""
    for name, argument in arguments.items():
        if not callable(scorers[name]):
            got = type(scorers[name]).__name__
            raise InputTypeError(argument, expected="a callable", got=got)
    sizes = [len(side.query_ids) for side in task.sides.values()]
    watch = reporter(rules.progress, sum(sizes), "queries")
    ranks_of_sides = []
    for i, (name, side) in enumerate(task.sides.items()):
        with argument_names(scores=arguments[name]):
            part = watch_of_part(watch, sizes, i)
            ranks_of_sides.append(rank_batches(scorers[name], side, part, **options))
    return ranks_of_sides


def _rank_vectors(
    task: Task,
    queries: BySide,
    candidates: BySide,
    arguments: Mapping[str, str],
    rules: Rules,
    options: Mapping[str, Any],
    *,
    rows_of_sides: Mapping[str, Rows],
) -> list[Ranks]:
    """Rank by vectors of queries and of candidates."""
    kinds = {name: task._vocabulary(name).of for name in task.sides}
    check_sides(task, candidates, "vectors", arguments=kinds)
    biases = _bias_by_side(task, options.get("bias"))
    # Sides share their candidates, which are copied once if they are on a device.
    host_candidates = {kind: on_host(array, kind) for kind, array in candidates.items()}
    opened = []  # All arguments are checked before a side is ranked.
    for name, side in task.sides.items():
        axis = rows_of_sides[name][-1]
        argument = arguments[name]
        kind = kinds[name]
        with argument_names(queries=argument, entities=kind):
            vectors = embeddings.vectors.Embeddings(
                queries[name],
                host_candidates[kind],
                options.get("similarity", "dot"),
                biases.get(name),
                rules.dtype,
                query_rows=axis,
                entity_rows=_column_axis(task, name),
                layout=rules.layout,
            )
            rows, height, noun = choose_rows(rows_of_sides[name], vectors.shape[0])
            vectors.check_shape((height, side.n_candidates), (noun, "candidate"))
            vectors.device = device_of(candidates[kind]) or vectors.device
        opened.append((argument, side, rows, vectors))
    sizes = [vectors.nbytes for *_, vectors in opened]
    ranks_of_sides = []
    with watching(rules.progress, sum(sizes)) as watch:
        for i, (argument, side, rows, vectors) in enumerate(opened):
            first_rows = rows[first_equals(side.rows)]
            mismatched = mismatched_vectors(argument, vectors, rows, first_rows, side.targets)
            with argument_names(scores=argument):
                ranks = embeddings.scoring.rank_open_embeddings(
                    vectors,
                    side.targets,
                    rules,
                    rows=np.where(mismatched, rows, first_rows),  # Equal rows are read once.
                    **side._selections,
                    watch=watch_of_part(watch, sizes, i),
                )
            if rules.audit:
                ranks = with_mismatched(ranks, mismatched)
            ranks_of_sides.append(ranks)
    return ranks_of_sides


def _rank_scores(
    task: Task,
    scores: BySide,
    arguments: Mapping[str, str],
    rows_of_sides: Mapping[str, Rows],
    rules: Rules,
    io: str | None,
) -> list[Ranks]:
    """Rank by score matrices, in memory or in files."""
    listener = as_listener(rules.progress)
    opened = []
    # All sides are opened first, so that a missing one is reported before the others are counted.
    for name, side in task.sides.items():
        axis = rows_of_sides[name][-1]
        argument = arguments[name]
        with argument_names(scores=argument):
            table = by_position("scores", scores[name], axis, _column_axis(task, name))
            store = cast("Store", read_scores(table, rules.dtype, tiled=True))
            rows, height, noun = choose_rows(rows_of_sides[name], store.shape[0])
            check_score_shape(shape_of(store), (height, side.n_candidates), noun)
            if not rules.is_order_named:
                refuse_permutations(store)
        opened.append((argument, side, rows, store))
    sizes = [store.nbytes for *_, store in opened]
    watch = reporter(listener, sum(sizes))
    ranks_of_sides = []
    for i, (argument, side, rows, store) in enumerate(opened):
        with argument_names(scores=argument):
            job = prepare_job(store.shape, side.targets, rows, **side._selections, rules=rules)
            part = watch_of_part(watch, sizes, i)
            counts = count_scores(store, job, io, report_progress=part).checked(job)
        ranks = job.ranks(counts.arrays, store.dtype, store.files, counts.place)
        ranks = job.mark_masked(ranks, store)
        first_rows = rows[first_equals(side.rows)]
        look_at_stored_rows(argument, store, rows, side)
        if rules.audit:
            mismatched = mismatched_stored_rows(store, rows, first_rows, io or store.io)
            ranks = with_mismatched(ranks, mismatched)
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
            others = [side for side, at in arguments.items() if values.get(at) is not None]
            if others and task._chooses_sides:
                expected += f", or a task without it: {OPTION_TEXT.get()('sides', others)}"
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


def _rows_to_hand_over(task: Task, row_queries: Any, title: str) -> tuple[dict[str, Rows], int]:
    """Return whose the rows of each side are: those of the units, or of the queries that keys name.

    Parameters
    ----------
    task : Task
    row_queries : mapping of str to keys, or None
        For each side, or for some: a key for each row, in any order, as rows of facts are handed
        over; those of one column as labels, too. Elements are read by the task's vocabularies.
    title : str
        What messages call the values. Where these have a name, keys are in one argument.

    Returns
    -------
    dict of str to Rows
    int
        How many rows are of queries without right answers.

    Raises
    ------
    InputTypeError, InputValueError
        For another form, a side that the task lacks, and a query without a row or with several.
    """
    keys_of_sides = {} if row_queries is None else row_queries
    if not isinstance(keys_of_sides, Mapping) or not keys_of_sides.keys() <= task.sides.keys():
        example = next(iter(task.sides))
        expected = f'{{"{example}": keys}}, by sides of the task ({", ".join(task.sides)})'
        raise InputTypeError("row_queries", expected=expected, got=f"{row_queries!r:.80}")
    rows = {}
    strangers = 0
    for name, side in task.sides.items():
        keys = keys_of_sides.get(name)
        if keys is None:
            rows[name] = task._rows_by_place(name)
            continue
        argument = "row_queries" if title else f"row_queries: {name}"
        columns = columns_of_keys(argument, keys, task.roles[name][:-1])
        ids = task._ids_of_keys(name, argument, columns)
        if (
            isinstance(keys, np.ndarray)
            and np.array_equal(keys, side.query_ids)
            and (ids != keys).any()
        ):
            problem = f"these are positions, as task.{name}.queries has them, where ints are labels"
            raise InputValueError(argument, f"{problem}; give keys by labels")
        row_of_query, is_used, repeated = match_rows(side.query_ids, ids)
        if repeated is not None:
            got = f"{task._key_of(name, repeated)!r} in several rows"
            raise InputValueError(argument, expected="each query once", got=got)
        missing = np.flatnonzero(row_of_query < 0)
        if len(missing):
            share = f"{len(missing):,} of {len(row_of_query):,} queries"
            first = task._key_of(name, int(missing[0]))
            raise InputValueError(argument, f"{share} of the task have no row, first {first!r}")
        labels = tuple(columns[0]) if len(columns) == 1 else None
        axis = Axis(labels, "row_queries")
        rows[name] = row_of_query[side.rows], len(ids), f"key of {argument}", axis
        strangers += int(np.count_nonzero(~is_used))
    return rows, strangers


def choose_rows(rows_of_side: Rows, height: int) -> tuple[IntArray, int, str]:
    """Return the row of each task, the number of rows, and what one is for, by how many came.

    A part may be given its own rows, or all rows of the whole task.

    Examples
    --------
    >>> rows = np.array([0, 1]), 2, "query", Axis(None, "task.row_labels", np.array([1, 4]), 6)
    >>> choose_rows(rows, 6)[:2]
    (array([1, 4]), 6)
    """
    rows, number, noun, axis = rows_of_side
    if axis.some is None or height == number:
        return rows, number, noun
    if height != axis.height:
        return rows, number, f"{noun} (or all {axis.height:,} of the test)"
    return axis.some[rows], height, noun


def _column_axis(task: Task, name: str) -> Axis:
    """Return the labels of the columns of a side, and the attribute of a task that has them."""
    vocabulary = task._vocabulary(name)
    return Axis(vocabulary.names, f"task.{vocabulary.of}")


def with_mismatched(ranks: Ranks, mismatched: Flags) -> Ranks:
    """Return audited ranks whose audit counts the mismatched rows of tasks."""
    assert ranks.audit is not None
    audit = ranks.audit._replace(mismatched=mismatched.astype(np.int64))
    return ranks._with({"audit": np.array(audit)})


def mismatched_rows(array: npt.NDArray[Any], rows: IntArray, others: IntArray) -> Flags:
    """Return for pairs of rows of a matrix whether they differ in any bit.

    NaNs with the same bits are equal; 0.0 and -0.0 are not. At most a few MB are copied at a time,
    whatever the layout.

    Parameters
    ----------
    array : ndarray, shape (height, width)
        The matrix, of any dtype of 1, 2, 4, 8 or 16 bytes.
    rows, others : ndarray of int64, shape (n,)
        The rows of each pair.

    Returns
    -------
    ndarray of bool, shape (n,)

    Examples
    --------
    >>> rows = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 1.0]])
    >>> mismatched_rows(rows, np.array([0, 1, 2]), np.array([0, 0, 0]))
    array([False,  True, False])
    """
    mismatched = np.zeros(len(rows), dtype=np.bool_)
    pairs = np.flatnonzero(rows != others)
    bits = f"u{min(array.dtype.itemsize, 8)}"
    step = max(1, CHUNK_BYTES // max(1, array.shape[1] * array.dtype.itemsize))
    for start in range(0, len(pairs), step):
        chunk = pairs[start : start + step]
        row = np.ascontiguousarray(array[rows[chunk]]).view(bits)
        other = np.ascontiguousarray(array[others[chunk]]).view(bits)
        mismatched[chunk] = (row != other).any(axis=1)
    return mismatched


def mismatched_vectors(
    name: str, vectors: Embeddings, rows: IntArray, others: IntArray, targets: IntArray
) -> Flags:
    """Return the same for vectors of queries, and warn if rounding cannot be why they differ.

    Parameters
    ----------
    name : str
        The argument of the queries, for the warning.
    vectors : Embeddings
    rows, others : ndarray of int64, shape (n,)
        The rows of each pair.
    targets : ndarray of int64, shape (n,)
        The entity that both are scored with.
    """
    mismatched = mismatched_rows(vectors.queries.array, rows, others)
    if mismatched.any():
        columns = targets[mismatched]
        one = vectors.score(rows[mismatched], columns, 1)
        other = vectors.score(others[mismatched], columns, 1)
        number = f"{len(distinct(rows[mismatched])):,} of {vectors.shape[0]:,} rows"
        warn_of_other_scores(name, number, one, other)
    return mismatched


def warn_of_other_scores(
    name: str, number: str, one: npt.NDArray[Any], other: npt.NDArray[Any]
) -> None:
    """Warn if scores of rows, and of the first row of their query, differ by more than rounding."""
    with np.errstate(all="ignore"):
        are_odd = np.abs(one - other).sum() > _ROUNDING * np.abs(one).sum()
    if are_odd:
        text = f"in {number} a query has other scores than in its first row"
        warn_user(f"{name}: {text}; row i belongs to test[i], or row_queries= says whose it is")


def look_at_stored_rows(name: str, store: Store, rows: IntArray, side: Side) -> None:
    """Warn as `mismatched_vectors` does, by few scores of a store that is read in place.

    Rows of one query may differ in what their tasks leave out, as where known answers are masked:
    they are compared in some columns where both are finite, and that are candidates of both tasks.
    """
    first_tasks = first_equals(side.rows)
    tasks = np.flatnonzero(rows != rows[first_tasks])[:LOOKED_AT]
    if not len(tasks) or not store.in_place or store.carrier.kind != "f":
        return
    firsts = first_tasks[tasks]
    columns = np.array([side.some_candidates(task, LOOKED_AT_COLUMNS) for task in firsts.tolist()])
    one, other = (
        store.take(np.repeat(rows[some], columns.shape[1]), columns.ravel()).reshape(columns.shape)
        for some in (tasks, firsts)
    )
    is_compared = np.isfinite(one) & np.isfinite(other)
    is_compared &= (is_compared & (one != other)).any(axis=1)[:, None]
    for i in np.flatnonzero(is_compared.any(axis=1)).tolist():
        for task in (tasks[i], firsts[i]):
            is_compared[i] &= side.are_candidates(int(task), columns[i])
    number = np.count_nonzero((is_compared & (one != other)).any(axis=1))
    words = f"{number:,} of {len(tasks):,} rows that were compared"
    warn_of_other_scores(name, words, one[is_compared], other[is_compared])


def mismatched_stored_rows(store: Store, rows: IntArray, others: IntArray, io: str) -> Flags:
    """Return the same for pairs of rows of a store, and read each row once.

    Rows are compared by 128 bits of their BLAKE2b hash, so that no row stays in memory.

    Parameters
    ----------
    store : Store
        The matrix.
    rows, others : ndarray of int64, shape (n,)
        The rows of each pair.
    io : {"map", "read"}
        As in `rank`.

    Returns
    -------
    ndarray of bool, shape (n,)

    Examples
    --------
    >>> from truerank.stores import open_scores
    >>> store = open_scores(np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 1.0]]))
    >>> mismatched_stored_rows(store, np.array([0, 1, 2]), np.array([0, 0, 0]), "map")
    array([False,  True, False])
    """
    from hashlib import blake2b

    is_compared = rows != others
    mismatched = np.zeros(len(rows), dtype=np.bool_)
    row_ids = distinct(np.concatenate([rows[is_compared], others[is_compared]]))
    if not len(row_ids):
        return mismatched
    hashes = [blake2b(digest_size=16) for _ in range(len(row_ids))]
    for tile in store.tiles(TILE_BYTES):
        first, last = np.searchsorted(row_ids, [tile.top, tile.top + tile.height])
        if first == last:
            continue
        with store.block(tile, io) as table:
            bits = table.view(f"u{store.itemsize}")
            for i in range(first, last):
                hashes[i].update(bits[row_ids[i] - tile.top].tobytes())
            del table, bits  # Without these names the file can be unmapped.
    joined = b"".join(each.digest() for each in hashes)
    digests = np.frombuffer(joined, dtype=np.uint64).reshape(-1, 2)
    of_rows = digests[search_sorted(row_ids, rows[is_compared])]
    of_others = digests[search_sorted(row_ids, others[is_compared])]
    mismatched[is_compared] = (of_rows != of_others).any(axis=1)
    return mismatched


# -- batches of queries ----------------------------------------------------------------------------


def rank_batches(
    scorer: Callable[[Any], Any],
    side: Side,
    report_progress: Callable[[int], object] = lambda queries: None,
    **options: Unpack[BatchOptions],
) -> Ranks:
    """Rank the tasks of a side by the scores that a callable gives for batches of its queries.

    The callable gets every distinct query once, in order. A batch is counted before the next one is
    scored. Errors name the batch, as in "scores: queries 64 to 127".

    Parameters
    ----------
    scorer : callable
        Takes queries, int64 (b, c), which it may change, and returns scores (b, columns): any array
        that `rank` takes. They are not read once the callable is called again, so that it may fill
        one array for all batches.
    side : Side
        The tasks.
    report_progress : callable
        Called with the number of queries that are done.
    **options
        As in `rank`, but for `progress`. And `batch_size`, the number of queries in a batch: by
        default as many as have 64 MB of float32 scores; `device`, where queries become tensors of
        torch.

    Returns
    -------
    Ranks
        In the order of the tasks.

    Raises
    ------
    TypeError, ValueError
        As `rank` does, and for scores of another shape.

    Examples
    --------
    >>> from truerank.tasks.side import Side
    >>> queries, rows, targets = np.array([[0], [1]]), np.array([1, 0, 1]), np.array([2, 2, 0])
    >>> side = Side("tail", 3, queries, rows, targets, np.arange(3))
    >>> rank_batches(lambda q: q * [0.3, 0.2, 0.1], side, batch_size=1).optimistic
    array([3, 1, 1])
    """
    height, columns = len(side.query_ids), side.n_candidates
    others = dict(options)
    size = others.pop("batch_size", None)
    if size is None:
        size = max(1, min(height, BATCH_BYTES // (4 * max(1, columns))))
    size = integer("batch_size", size, least=1)
    as_input = _as_input_on(others.pop("device", None))
    rules = cast("RuleOptions", others | {"progress": None})
    report_progress(0)
    if not height:
        rules["dtype"] = None
        return rank(np.zeros((0, columns), np.float32), np.zeros(0, np.int64), **rules)
    ordered = np.argsort(side.rows, kind="stable")  # So the tasks of a batch are neighbours.
    row_of_task = side.rows[ordered]
    ranks_of_batches: list[Ranks] = []
    for start in range(0, height, size):
        stop = min(start + size, height)
        queries = side.query_ids[start:stop].copy()
        scores = read_scores(scorer(as_input(queries)), rules.get("dtype"))
        check_score_shape(shape_of(scores), (stop - start, columns), "query")
        first, last = np.searchsorted(row_of_task, [start, stop])
        tasks = ordered[first:last]
        batch = f"scores: query {start}"
        if stop - start > 1:
            batch = f"scores: queries {start} to {stop - 1}"
        with argument_names(scores=batch):
            ranks = rank(
                scores,
                side.targets[tasks],
                rows=side.rows[tasks] - start,
                filter=selection_of_tasks(side.filter, tasks),
                candidates=selection_of_tasks(side.candidates, tasks),
                **rules,
            )
        del scores  # They need no memory while the next ones are made.
        ranks_of_batches.append(ranks)
        report_progress(stop)
    ranks = join_ranks(ranks_of_batches)
    return ranks[np.argsort(ordered, kind="stable")]


def _as_input_on(device: Any) -> Callable[[IntArray], Any]:
    """Return what makes of an array what a callable wants: the array, or a tensor on a device."""
    if device is None:
        return lambda values: values
    torch = import_extra("torch", "device=")
    try:
        device = torch.device(device)
    except (RuntimeError, TypeError, ValueError) as error:
        got = f"{device!r} ({error})"
        raise InputValueError("device", expected="a device of torch", got=got) from None
    return lambda values: copy_to_device(values, device)


def check_score_shape(got: object, shape: tuple[int, int], noun: str) -> None:
    """Check that scores have a row for each query and a column for each candidate."""
    if got != shape:
        each = f"a row for each {noun} and a column for each candidate"
        raise InputValueError("scores", expected=f"scores of shape {shape}, {each}", got=got)
