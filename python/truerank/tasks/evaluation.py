"""What a model gives for a task, ranked by side and joined: callables, vectors, scores, lists."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..arrays.row_keys import (
    are_among,
    codes_of,
    distinct,
    distinct_rows,
    first_equals,
    row_keys,
    search_sorted,
)
from ..counting.driver import count_source
from ..counting.job import prepare_job
from ..counting.lists import CandidateLists, as_lists, rank_open_lists
from ..counting.sources import StoreSource
from ..embeddings.scoring import TopK, rank_open_embeddings
from ..embeddings.vectors import Embeddings
from ..errors import InputTypeError, InputValueError, argument_names, warn_user
from ..inputs.checks import NUMBERED, Axis, by_position, flag
from ..inputs.progress_listeners import as_listener, reporter, watch_of_part, watching
from ..inputs.rules import (
    LISTED,
    BatchOptions,
    EmbeddingOptions,
    ListOptions,
    RuleOptions,
    read_rules,
)
from ..inputs.selection import indptr_of, join_ranges
from ..ranks.joining import join_ranks
from ..stores import Store, read_scores, shape_of
from .batches import check_score_shape, rank_batches
from .side import TaskLists, core_selection

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from ..inputs.rules import IoMode, Rules, Similarity
    from ..ranks.container import Ranks
    from ..records.vocabularies import Vocabulary
    from .side import Side
    from .task import Task

    BySide = Mapping[str, Any]
    Flags = npt.NDArray[np.bool_]

# Rows of so many bytes are compared at a time, because they stay in a cache.
_CHUNK_BYTES = 4 << 20
_TILE_BYTES = 64 << 20
# Scores of rows that differ by rounding alone are nearer than this share of their size, in bfloat16
# too.
_ROUNDING = 0.01
# So many pairs of rows of a store are looked at: each takes a page of a file, or two.
LOOKED_AT = 100
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
    block: int | None


_OPTIONS: dict[str, type[Any]] = {
    "a callable": BatchOptions,
    "vectors": VectorOptions,
    "scores": ScoreOptions,
    "lists": ListOptions,
}


def evaluate(
    task: Task,
    what: str,
    values: BySide,
    options: Mapping[str, Any],
    *,
    title: str = "",
    candidates: BySide = MappingProxyType({}),
    unique: bool = False,
    **fields: Any,
) -> Ranks:
    """Rank what a model gives for each side of a task, and join the ranks.

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
    unique : bool
        Whether rows belong to the distinct queries.
    **fields
        Of the protocol.
    """
    rules = read_rules(options, _OPTIONS[what])
    check_sides(task, values, what, title)
    arguments = {name: title or name for name in task.sides}
    if what == "a callable":
        ranks = _rank_callables(task, values, arguments, rules, options)
    elif what == "vectors":
        ranks = _rank_vectors(task, values, candidates, arguments, rules, options, unique=unique)
    elif what == "scores":
        ranks = _rank_scores(task, values, arguments, unique, rules, options.get("io"))
    else:
        ranks = _rank_lists(task, values, arguments, unique, rules)
    return join_sides(task, ranks, **fields)


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
    tellers = split_progress(reporter(rules.progress, sum(sizes), "queries"), sizes)
    ranks_of_sides = []
    for (name, side), tell in zip(task.sides.items(), tellers, strict=True):
        with argument_names(scores=arguments[name]):
            ranks_of_sides.append(rank_batches(scorers[name], side, tell, **options))
    return ranks_of_sides


def _rank_vectors(
    task: Task,
    queries: BySide,
    candidates: BySide,
    arguments: Mapping[str, str],
    rules: Rules,
    options: Mapping[str, Any],
    *,
    unique: bool,
) -> list[Ranks]:
    """Rank by vectors of queries and of candidates."""
    kinds = {name: task._vocabulary(name).of for name in task.sides}
    check_sides(task, candidates, "vectors", arguments=kinds)
    biases = _bias_by_side(task, options.get("bias"))
    opened = []  # All arguments are checked before a side is ranked.
    for name, side in task.sides.items():
        rows, height, noun, axis = _rows_to_hand_over(task, side, unique)
        argument = arguments[name]
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
                    filter=core_selection(side.filter),
                    candidates=core_selection(side.candidates),
                    block=options.get("block"),
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
    unique: bool,
    rules: Rules,
    io: str | None,
) -> list[Ranks]:
    """Rank by score matrices, in memory or in files."""
    listener = as_listener(rules.progress)
    opened = []
    # All sides are opened first, so that a missing one is reported before the others are counted.
    for name, side in task.sides.items():
        rows, height, noun, axis = _rows_to_hand_over(task, side, unique)
        argument = arguments[name]
        with argument_names(scores=argument):
            table = by_position("scores", scores[name], axis, _column_axis(task, name))
            store = cast("Store", read_scores(table, rules.dtype, tiled=True))
            check_score_shape(shape_of(store), (height, side.n_candidates), noun)
        opened.append((argument, side, rows, store))
    sizes = [store.nbytes for *_, store in opened]
    tellers = split_progress(reporter(listener, sum(sizes)), sizes)
    ranks_of_sides = []
    for (argument, side, rows, store), tell in zip(opened, tellers, strict=True):
        selections = core_selection(side.filter), core_selection(side.candidates)
        with argument_names(scores=argument):
            job = prepare_job(store.shape, side.targets, rows, *selections, rules)
            source = StoreSource(store, io)
            counted = count_source(source, job, report_progress=tell).checked(job)
        ranks = job.ranks(counted.arrays, store.dtype, store.files, counted.place)
        first_rows = rows[first_equals(side.rows)]
        look_at_stored_rows(argument, store, rows, first_rows, side.targets)
        if rules.audit:
            mismatched = mismatched_stored_rows(store, rows, first_rows, io or store.io)
            ranks = with_mismatched(ranks, mismatched)
        ranks_of_sides.append(ranks)
    return ranks_of_sides


def _rank_lists(
    task: Task,
    lists: BySide,
    arguments: Mapping[str, str],
    unique: bool,
    rules: Rules,
) -> list[Ranks]:
    """Rank by lists of the top candidates."""
    ranks_of_sides = []
    for name, side in task.sides.items():
        value = lists[name]
        argument = arguments[name]
        if isinstance(value, TopK):  # The ids of a TopK are positions.
            with argument_names(ids=argument):
                value = as_lists(value.ids, value.scores, rules.dtype)
        elif not isinstance(value, CandidateLists):
            value = task._vocabulary(name).lists_of(argument, value)
        rows, height, noun, _ = _rows_to_hand_over(task, side, unique)
        number = len(value.indptr) - 1
        if number != height:
            expected = f"{height} lists, one for each {noun}"
            raise InputValueError(argument, expected=expected, got=number)
        tasks: dict[str, Any] = {"rows": rows, "filter": core_selection(side.filter)}
        with argument_names(ids=argument):
            if task.protocol.candidates == LISTED:
                tasks["sizes"] = LISTED
            elif side.candidates is not None:
                vocabulary = task._vocabulary(name)
                selections = candidates_of_lists(value, rows, side, vocabulary)
                tasks["filter"], tasks["sizes"] = selections
            ranks = rank_open_lists(value, side.targets, side.n_candidates, rules, **tasks)
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
    step = max(1, _CHUNK_BYTES // max(1, array.shape[1] * array.dtype.itemsize))
    for start in range(0, len(pairs), step):
        chunk = pairs[start : start + step]
        row = np.ascontiguousarray(array[rows[chunk]]).view(bits)
        other = np.ascontiguousarray(array[others[chunk]]).view(bits)
        mismatched[chunk] = (row != other).any(axis=1)
    return mismatched


def mismatched_vectors(
    name: str, embeddings: Embeddings, rows: IntArray, others: IntArray, targets: IntArray
) -> Flags:
    """Return the same for vectors of queries, and warn if rounding cannot be why they differ.

    Then they may be those of another side, or in another order than the test.

    Parameters
    ----------
    name : str
        The argument of the queries, for the warning.
    embeddings : Embeddings
    rows, others : ndarray of int64, shape (n,)
        The rows of each pair.
    targets : ndarray of int64, shape (n,)
        The entity that both are scored with.
    """
    mismatched = mismatched_rows(embeddings.query_array, rows, others)
    if mismatched.any():
        columns = targets[mismatched]
        one = embeddings.score(rows[mismatched], columns, 1)
        other = embeddings.score(others[mismatched], columns, 1)
        number = f"{len(distinct(rows[mismatched])):,} of {embeddings.shape[0]:,} rows"
        warn_of_other_scores(name, number, one, other)
    return mismatched


def warn_of_other_scores(
    name: str, number: str, one: npt.NDArray[Any], other: npt.NDArray[Any]
) -> None:
    """Warn if scores of rows, and of the first row of their query, differ by more than rounding."""
    with np.errstate(all="ignore"):
        are_odd = np.abs(one - other).sum() > _ROUNDING * np.abs(one).sum()
    if are_odd:
        text = f"in {number} a query has other scores than in its first row: are they rows of "
        warn_user(f"{name}: {text}this side, in the order of the test?")


def look_at_stored_rows(
    name: str, store: Store, rows: IntArray, others: IntArray, targets: IntArray
) -> None:
    """Warn as `mismatched_vectors` does, by few scores of a store that is read in place."""
    pairs = np.flatnonzero(rows != others)[:LOOKED_AT]
    if len(pairs) and store.in_place and store.carrier.kind == "f":
        one = store.take(rows[pairs], targets[pairs])
        other = store.take(others[pairs], targets[pairs])
        number = f"{np.count_nonzero(one != other):,} of {len(pairs):,} rows that were compared"
        warn_of_other_scores(name, number, one, other)


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
    for tile in store.tiles(_TILE_BYTES):
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


def candidates_of_lists(
    lists: CandidateLists, rows: IntArray, side: Side, vocabulary: Vocabulary
) -> tuple[TaskLists, IntArray]:
    """Split what is listed into candidates and others, without a loop over queries.

    Parameters
    ----------
    lists : CandidateLists
    rows : ndarray of int64, shape (n,)
        The list of each task.
    side : Side
        The tasks, with candidates of their own: ascending and distinct, as a `Task` makes them.
    vocabulary : Vocabulary
        Of the candidates, for messages.

    Returns
    -------
    TaskLists
        What is left out of the lists: the filter, and what is listed and no candidate.
    ndarray of int64, shape (n,)
        The number of candidates of each task that the filter leaves, its target included.

    Raises
    ------
    InputValueError
        For an entity that is no candidate of its query, unless it is filtered or a right answer.

    Examples
    --------
    >>> from truerank.counting.lists import as_lists
    >>> from truerank.records.vocabularies import Vocabulary
    >>> from truerank.tasks.side import Side
    >>> one = np.zeros(1, np.int64)
    >>> side = Side("tail", 9, one[:, None], one, one + 2, one, candidates=np.array([2, 5, 7]))
    >>> candidates_of_lists(as_lists([[7, 2]], None), one, side, Vocabulary(9, None))[1]
    array([3])
    """
    size = side.n_candidates
    filters = _as_task_lists(side.filter, len(side))
    candidates = _as_task_lists(side.candidates, len(side))
    filter_keys = _keys(filters, size)
    candidate_keys = _keys(candidates, size)
    # Tasks often share their combination of a list, candidates, a filter and a query.
    combinations = codes_of(rows, candidates.lists, filters.lists, side.rows)
    first = combinations.first()
    of_candidates = candidates.lists[first] * size
    of_filter = filters.lists[first] * size

    # The entries of each combination's list; ids out of range are refused where they are ranked.
    number, places = _places(lists.indptr, rows[first])
    ids = lists.ids[places].astype(np.int64)
    is_within = (ids >= 0) & (ids < size)
    number, places, ids = number[is_within], places[is_within], ids[is_within]
    is_candidate = are_among(of_candidates[number] + ids, candidate_keys)
    is_filtered = are_among(of_filter[number] + ids, filter_keys)
    is_right = are_among(side.rows[first][number] * size + ids, side.rows * size + side.targets)
    is_wrong = ~(is_candidate | is_filtered | is_right)
    if is_wrong.any():
        _refuse_others(lists, places, is_wrong, vocabulary)

    # What is filtered, and what is listed and no candidate, are left out of the lists.
    filter_number, filter_places = _places(filters.indptr, filters.lists[first])
    filtered = distinct_rows([filter_number, filters.indices[filter_places].astype(np.int64)])
    filter_number, filter_ids = filtered
    is_other = ~is_candidate & ~is_filtered
    all_numbers = np.append(filter_number, number[is_other])
    all_ids = np.append(filter_ids, ids[is_other])
    order = np.argsort(row_keys([all_numbers, all_ids]), kind="stable")
    indptr = indptr_of(np.bincount(all_numbers, minlength=len(first)))
    left_out = TaskLists(indptr, all_ids[order], combinations.codes)

    # A filtered target is a candidate all the same.
    are_both = are_among(of_candidates[filter_number] + filter_ids, candidate_keys)
    both = np.bincount(filter_number[are_both], minlength=len(first))
    sizes = np.diff(candidates.indptr)[candidates.lists[first]] - both
    is_target_filtered = are_among(filters.lists * size + side.targets, filter_keys)
    return left_out, sizes[combinations.codes] + is_target_filtered


def _as_task_lists(selection: Any, tasks: int) -> TaskLists:
    """Return a selection as lists, also if it is one list for all tasks, or none."""
    if isinstance(selection, TaskLists):
        return selection
    indices = np.zeros(0, dtype=np.int64) if selection is None else selection
    return TaskLists(np.array([0, len(indices)]), indices, np.zeros(tasks, dtype=np.int64))


def _keys(task_lists: TaskLists, size: int) -> IntArray:
    """Return a key for each entry, ascending: the number of its list times a size, plus its column.

    Examples
    --------
    >>> _keys(TaskLists(np.array([0, 1, 3]), np.array([5, 2, 5]), np.array([0, 1])), 10)
    array([ 5, 12, 15])
    """
    numbers = np.repeat(np.arange(len(task_lists.indptr) - 1), np.diff(task_lists.indptr))
    keys: IntArray = numbers * size + task_lists.indices
    if (keys[1:] < keys[:-1]).any():
        keys.sort()
    return keys


def _places(indptr: IntArray, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Return the entries of chosen lists: the number of each one's choice, and its place."""
    starts = indptr[chosen]
    lengths = indptr[chosen + 1] - starts
    return np.repeat(np.arange(len(chosen)), lengths), join_ranges(starts, lengths)


def _refuse_others(
    lists: CandidateLists, places: IntArray, is_wrong: Any, vocabulary: Vocabulary
) -> None:
    """Refuse what is no candidate of any task that reads its list."""
    read_times = np.bincount(places, minlength=len(lists.ids))
    wrong_times = np.bincount(places[is_wrong], minlength=len(lists.ids))
    others = np.flatnonzero((read_times > 0) & (wrong_times == read_times))
    if not len(others):
        return
    row, position = lists.place(int(others[0]))
    label = vocabulary.label_of(int(lists.ids[others[0]]))
    expected = "candidates of the query of each list"
    got = f"{label!r} in list {row}, at position {position}"
    raise InputValueError("ids", expected=expected, got=got)
