"""The tasks of one side: its queries, their known answers, and the query of each task.

A callable scores the queries of a side in batches, and the ranks of sides are joined here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

import numpy as np

from .._core import IntegerTable, Selection
from ..arrays import row_keys
from ..counting.driver import count_scores
from ..counting.job import Job
from ..counting.ranking import rank_job
from ..errors import InputValueError, argument_names, warn_user
from ..inputs.array_likes import several
from ..inputs.checks import choice, integer
from ..inputs.rules import PLAIN, BatchOptions, read_rules
from ..inputs.selection import find_entries, is_in, join_ranges, lengths_to_indptr
from ..naming import import_extra, public
from ..ranks.joining import join_ranks
from ..ranks.protocol import Origin, short_sha256
from ..stores import read_scores, shape_of
from ..stores.on_device import copy_to_device

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import FloatArray, IntArray
    from ..embeddings.vectors import Embeddings
    from ..inputs.rules import Rules
    from ..ranks.container import Origins, Ranks
    from ..ranks.labels import Labels
    from ..ranks.protocol import Protocol
    from ..records.vocabularies import Vocabulary
    from ..stores import Store

    # As `rank` takes them: list i is indices[indptr[i] : indptr[i + 1]], and each task has a list.
    TaskLists: TypeAlias = tuple[IntArray, IntArray, IntArray]  # indptr, indices, lists

# So many pairs of rows of one query are compared: each takes a page of a file, or two.
PAIRS_COMPARED = 100
COLUMNS_COMPARED = 16
# Rows of one query that differ by rounding alone, as in bfloat16, are nearer than these shares.
_OF_SIZE = 0.01  # of the size of all their scores
_OF_SPREAD = 0.5  # of a row's standard deviation, which far from 0 is small beside the size
_OF_ROWS = 0.05  # In so few rows, few columns have a small deviation by chance.
_LEAST_SPREAD = 1e-5  # A row that deviates by a smaller share of its size is a constant.
# The float32 scores of a batch take so much memory, and one batch is in memory at a time.
BATCH_BYTES = 64 << 20
# What a task knows of the protocol of its ranks; counting knows the rest.
_FIELDS = ("filter", "filter_rule", "candidates", "sampled", "split", "gain", "highest_grade")


@public("truerank.tasks")
@dataclass(frozen=True, eq=False)
class Side:
    """One side of a task: a ranking for each of its test triples, pairs or right answers.

    Task i belongs to query ``rows[i]``; its right answer is column ``targets[i]`` of the scores.
    Arrays are read-only. What `truerank.rank` needs beside scores, a row for each query, is
    ``rank(scores, side.targets, rows=side.rows, filter=side.filter, candidates=side.candidates)``.

    Attributes
    ----------
    name : str
        "head", "tail", "relation", or that of another protocol.
    n_candidates : int
        The number of columns of scores: one for each entity (or relation). In retrieval it is
        2**36, more than there can be, where the number of entities was not given.
    queries : ndarray of int64, shape (m, c)
        The distinct queries, each a row of ids, in lexicographic order. A copy, so that
        ``torch.from_numpy`` takes it. ``row_queries={"tail": task.tail}`` says that rows have it.
    rows : ndarray of int64, shape (n,)
        The query of each task.
    targets : ndarray of int64, shape (n,)
        The column of each task's right answer.
    units : ndarray of int64, shape (n,)
        The row of each task's triple (or pair) in the test split as it was given; in retrieval the
        query of each task.
    filter : (indptr, indices, lists), or None
        Lists of known answers, sorted and distinct, and the list of each task; ``filter[:2]`` has
        those of the queries, unless a task says another filter. None: unfiltered.
    candidates : None, array of int, or (indptr, indices, lists)
        The only columns to let in: all (None), one list for all tasks, or lists, and that of each.
    gains : ndarray of float64, shape (n,), or None
        What each right answer counts for, in retrieval. None: all the same.
    labels : dict of str to Labels
        "queries", "targets", "unit" and perhaps others, n labels each, as Ranks have them.
    without_answers : ndarray of int64, shape (n,), or None
        In retrieval, how many queries without a right answer are counted with a task.
    without_answers_by_group : ndarray of int64, shape (n,), or None
        Likewise, with the first task of their group; None: they are of no groups.
    """

    name: str
    n_candidates: int
    query_ids: IntArray
    rows: IntArray
    targets: IntArray
    units: IntArray
    filter: TaskLists | None = None
    candidates: TaskLists | IntArray | None = None
    gains: FloatArray | None = None
    labels: dict[str, Labels] = field(default_factory=dict)
    without_answers: IntArray | None = None
    without_answers_by_group: IntArray | None = None
    reads: set[str] = field(default_factory=set)  # the attributes that users read, of parts, too

    def __post_init__(self) -> None:
        for value in vars(self).values():
            arrays = value if isinstance(value, tuple) else (value,)
            for array in arrays:
                if isinstance(array, np.ndarray):
                    array.flags.writeable = False

    @property
    def queries(self) -> IntArray:
        """A copy of the distinct queries, which may be changed."""
        self.reads.add("queries")
        return self.query_ids.copy()

    def __len__(self) -> int:
        """The number of tasks."""
        return len(self.targets)

    def part(self, units: IntArray) -> Side:
        """Return the tasks of some units, each given once, unit after unit, and their queries.

        Examples
        --------
        >>> facts = {"left": np.array([4, 3]), "right": np.array([0, 1])}
        >>> side, _ = make_side(
        ...     "right", facts, np.arange(2), query=["left"], answer="right", n_candidates=2
        ... )
        >>> side.part(np.array([1])).queries
        array([[3]])
        """
        order = np.argsort(self.units, kind="stable")
        ordered = self.units[order]
        starts = np.searchsorted(ordered, units, side="left")
        counts = np.searchsorted(ordered, units, side="right") - starts
        tasks = order[join_ranges(starts, counts)]
        queries = row_keys.factorize(self.rows[tasks])
        return replace(
            self,
            query_ids=self.query_ids[queries.distinct],
            rows=queries.codes,
            targets=self.targets[tasks],
            units=self.units[tasks],
            filter=lists_of_tasks(self.filter, tasks),
            candidates=lists_of_tasks(self.candidates, tasks),
            gains=_entries(self.gains, tasks),
            labels={name: labels[tasks] for name, labels in self.labels.items()},
            without_answers=_entries(self.without_answers, tasks),
            without_answers_by_group=_entries(self.without_answers_by_group, tasks),
        )


def warn_about_unlike_rows(
    argument: str, store: Store, rows: IntArray, side: Side, tasks: IntArray
) -> None:
    """Warn if rows of one query have other scores, by more than rounding makes.

    Rows may differ in what their tasks leave out, as where known answers are masked: a few are
    compared, in a few columns where both are finite, and that are candidates of both tasks. `rows`
    has that of each task, and `tasks` those that read another row than the first task of their
    query.
    """
    if not len(tasks) or not store.in_place or store.carrier.kind != "f":
        return
    tasks = tasks[:PAIRS_COMPARED]
    first_tasks = row_keys.first_equals(side.rows)[tasks]
    columns = _some_candidates(side, first_tasks)
    scores, first_scores = (
        store.take(np.repeat(rows[each], columns.shape[1]), columns.ravel()).reshape(columns.shape)
        for each in (tasks, first_tasks)
    )
    are_finite = np.isfinite(scores) & np.isfinite(first_scores)
    is_unlike = (are_finite & (scores != first_scores)).any(axis=1)
    is_compared = are_finite & is_unlike[:, None]
    places = np.broadcast_to(np.arange(len(tasks))[:, None], columns.shape)
    for each in (tasks, first_tasks):
        job = make_job(side, each, PLAIN, each)
        is_target = columns == job.targets[:, None]  # It is a candidate though it is filtered.
        is_compared &= are_candidates(job, places, columns) | is_target
    pairs = np.flatnonzero(is_compared.any(axis=1))
    if _differ_beyond_rounding(scores[pairs], first_scores[pairs], is_compared[pairs]):
        share = f"{len(pairs):,} of {len(tasks):,} rows that were compared"
        text = f"in {share} a query has scores that differ from its first row"
        warn_user(argument, f"{text}; row i belongs to test[i]")


def _differ_beyond_rounding(
    scores: FloatArray, first_scores: FloatArray, is_compared: npt.NDArray[np.bool_]
) -> bool:
    """Return whether pairs of rows differ where they are compared by more than rounding makes.

    Mean differences are held against the size of all scores, and against the spread of each row.
    """
    scores = np.where(is_compared, scores, 0).astype(np.float64)
    first_scores = np.where(is_compared, first_scores, 0)
    differences = np.abs(scores - first_scores).mean(axis=1, where=is_compared)
    sizes = np.abs(scores).mean(axis=1, where=is_compared)
    spreads = scores.std(axis=1, where=is_compared)
    is_constant = spreads <= _LEAST_SPREAD * sizes
    is_far = ~is_constant & (differences > _OF_SPREAD * spreads)
    are_far_in_all = differences.sum() > _OF_SIZE * sizes.sum()
    return bool(are_far_in_all or np.count_nonzero(is_far) > _OF_ROWS * len(scores))


def _some_candidates(side: Side, tasks: IntArray) -> IntArray:
    """Return candidates of each task by even steps, filtered ones and repeats among them."""
    steps = np.linspace(0, 1, COLUMNS_COMPARED)
    if isinstance(side.candidates, tuple):
        indptr, pool, lists = side.candidates
        starts = indptr[lists[tasks]]
        sizes = indptr[lists[tasks] + 1] - starts
        return pool[starts[:, None] + np.rint(steps * (sizes[:, None] - 1)).astype(np.int64)]
    size = side.n_candidates if side.candidates is None else len(side.candidates)
    places: IntArray = np.rint(steps * (size - 1)).astype(np.int64)
    columns = places if side.candidates is None else side.candidates[places]
    return np.tile(columns, (len(tasks), 1))


def core_selection(selection: TaskLists | IntArray | None) -> Selection | None:
    """Return a filter or candidates as the core takes them, so that nothing reads them again."""
    if selection is None:
        return None
    if isinstance(selection, tuple):
        return Selection(*selection)
    return Selection(np.array([0, len(selection)]), selection, None, True)


def make_job(side: Side, rows: IntArray, rules: Rules, tasks: IntArray | None = None) -> Job:
    """Return the job of the tasks of a side, or of some of them; all was checked before.

    Each task reads a row. Of some tasks it has their lists alone, as a device copies all.
    """
    targets = side.targets
    selections: Any = (side.filter, side.candidates)
    if tasks is not None:
        targets = targets[tasks]
        selections = [lists_of_tasks(each, tasks) for each in selections]
    filtered, candidates = map(core_selection, selections)
    return Job(rows, targets, filtered, candidates, rules=rules)


def are_candidates(job: Job, tasks: IntArray, ids: IntArray) -> npt.NDArray[np.bool_]:
    """Return whether each id is a candidate of the task in its place, and not filtered."""
    are = np.ones(ids.shape, np.bool_)
    if job.candidates is not None:
        are &= is_in(job.candidates, tasks, ids)
    if job.filter is not None:
        are &= ~is_in(job.filter, tasks, ids)
    return are


def lists_of_tasks(selection: Any, tasks: IntArray) -> Any:
    """Return the lists of some tasks alone: one list for all tasks, and none, stay as they are.

    Without this, every batch of tasks would search the lists of all other tasks too.

    Examples
    --------
    >>> lists = np.array([0, 1, 3]), np.array([5, 2, 7]), np.array([0, 1, 1])
    >>> lists_of_tasks(lists, np.array([2, 1]))
    (array([0, 2]), array([2, 7]), array([0, 0]))
    """
    if not isinstance(selection, tuple):
        return selection
    indptr, indices, lists = selection
    used, new_lists = row_keys.factorize(lists[tasks])
    lengths, places = find_entries(indptr, used)
    return lengths_to_indptr(lengths), indices[places], new_lists


def widen_to_tasks(selection: TaskLists | IntArray, tasks: int) -> TaskLists:
    """Return lists, and that of each task: one list for all tasks is the list of each."""
    if isinstance(selection, tuple):
        return selection
    return np.array([0, len(selection)]), selection, np.zeros(tasks, dtype=np.int64)


def _entries(values: Any, tasks: IntArray) -> Any:
    """Return the entries of some tasks, where there are any."""
    return None if values is None else values[tasks]


def read_sides(sides: Any, known: Iterable[str]) -> list[str]:
    """Return the sides to predict in the order of the tasks, which is that of the known ones.

    Examples
    --------
    >>> read_sides(["tail", "head"], ["head", "tail", "relation"])
    ['head', 'tail']
    """
    in_order = tuple(known)
    names = ", ".join(in_order)
    checked = [choice("sides", side, in_order) for side in several("sides", sides, f"of {names}")]
    if not checked or len(set(checked)) < len(checked):
        expected = f"at least one of {names}, none twice"
        raise InputValueError("sides", expected=expected, got=repr(checked))
    return sorted(checked, key=in_order.index)


def make_side(
    name: str,
    facts: Mapping[str, IntArray],
    ranked: IntArray,
    *,
    query: Sequence[str],
    answer: str,
    n_candidates: int,
    own: str | None = None,
    has_filter: bool = True,
) -> tuple[Side, npt.NDArray[np.bool_]]:
    """Make the tasks of one side: each ranked fact asks for its answer, given its query.

    `facts` has the columns of known facts by role, those of the test first, and `ranked` the rows
    that become tasks, and their units. `query` and `answer` are roles. The filter has all known
    answers of each query, the targets among them, and what the query has in the role `own`. If it
    is made, the facts of these queries are marked in the mask that is returned, too.
    """
    answers = facts[answer]
    is_asked = np.zeros(len(answers), dtype=bool)
    query_columns = [facts[role] for role in query]
    keys_of: Callable[[Any], IntArray] = query_columns[0].__getitem__
    if len(query) > 1:
        keys_of = row_keys.RowKeys(query_columns).of
    queries = row_keys.factorize(keys_of(ranked))
    known_answers = None
    if has_filter:
        # A fact has the code i * n_candidates + answer if its query is the i-th one. Facts of other
        # queries are ruled out before they take memory: what is not written takes none.
        codes = np.empty(len(answers), dtype=np.int64)
        table = IntegerTable(queries.distinct, len(codes))
        end = 0
        for block in row_keys.cut_blocks(len(answers)):
            positions, block_codes = table.look_up(keys_of(block))
            block_codes *= n_candidates
            block_codes += answers[block][positions]
            codes[end : end + len(block_codes)] = block_codes
            end += len(block_codes)
            is_asked[block.start + positions] = True
        del keys_of, table  # Their memory is needed for the lists.
        codes = codes[:end]
        if own is not None:
            codes = np.append(codes, queries.codes * n_candidates + facts[own][ranked])
        codes = row_keys.distinct_in_place(codes)
        first_codes = np.arange(len(queries.distinct) + 1) * n_candidates  # of each query
        indptr = np.searchsorted(codes, first_codes).astype(np.int64)
        first_of_each = np.repeat(first_codes[:-1], np.diff(indptr))
        indices = np.subtract(codes, first_of_each, out=first_of_each)  # in its memory
        known_answers = indptr, indices, queries.codes
    first_facts = ranked[queries.first()]
    side = Side(
        name,
        n_candidates,
        query_ids=np.stack([column[first_facts] for column in query_columns], axis=1),
        rows=queries.codes,
        targets=answers[ranked],
        units=ranked,
        filter=known_answers,
    )
    return side, is_asked


# -- ranks of sides --------------------------------------------------------------------------------


def join_sides(
    sides: Iterable[Side],
    ranks_of_sides: Iterable[Ranks],
    protocol: Protocol,
    origins: Origins,
    **fields: Any,
) -> Ranks:
    """Return the ranks of the sides of a task together, with their labels and its protocol.

    `fields` are further ones of the protocol.
    """
    parts: list[Ranks] = []
    counted: Protocol | None = None
    completed: Protocol | None = None  # One object for equal ones is joined quickly.
    for side, ranks in zip(sides, ranks_of_sides, strict=True):
        names = ("without_answers", "without_answers_by_group", "gains")
        arrays: dict[str, Any] = {name: getattr(side, name) for name in names}
        if counted is None or vars(ranks.protocol) != vars(counted):
            counted = ranks.protocol
            of_task = {name: getattr(protocol, name) for name in _FIELDS}
            if protocol.relevance_level is not None:
                of_task["relevance_level"] = protocol.relevance_level
            if counted.lists is None:  # Scores are of all, if nothing else was said.
                of_task["candidates"] = protocol.candidates or counted.candidates
            files = protocol.files + counted.files  # Those of the task come first.
            completed = replace(counted, **of_task, **fields, files=files)
        parts.append(ranks._with(arrays, labels=side.labels, protocol=completed))
    return join_ranks(parts)._with(origins=origins)  # Nobody has asked for these yet.


def rank_batches(
    scorer: Callable[[Any], Any],
    side: Side,
    report_progress: Callable[[int], object] = lambda queries: None,
    **options: Unpack[BatchOptions],
) -> Ranks:
    """Rank the tasks of a side by the scores that a callable gives for batches of its queries.

    The callable gets every distinct query once, in order, int64 (b, c), or a tensor of torch on the
    `device` of the options, which it may change. It returns scores (b, columns), any array that
    `rank` takes, which are counted before it is called again, so that it may fill one array for all
    batches. A batch has by default as many queries as have 64 MB of float32 scores. Errors name it,
    as in "scores: queries 64 to 127". `report_progress` is told how many queries are done.
    """
    rules = read_rules(options, BatchOptions)
    n_queries, n_columns = len(side.query_ids), side.n_candidates
    batch_size = options.get("batch_size")
    if batch_size is None:
        batch_size = max(1, min(n_queries, BATCH_BYTES // (4 * max(1, n_columns))))
    batch_size = integer("batch_size", batch_size, least=1)
    as_input = _as_input_on(options.get("device"))
    report_progress(0)
    if not n_queries:
        scores = read_scores(np.zeros((0, n_columns), np.float32))
        return rank_job(scores, make_job(side, side.rows, rules))
    tasks_by_query = np.argsort(side.rows, kind="stable")  # The tasks of a batch are neighbours.
    ordered_rows = side.rows[tasks_by_query]
    ranks_of_batches: list[Ranks] = []
    for start in range(0, n_queries, batch_size):
        stop = min(start + batch_size, n_queries)
        queries = side.query_ids[start:stop].copy()
        scores = read_scores(scorer(as_input(queries)), rules.dtype)
        check_score_shape(shape_of(scores), (stop - start, n_columns), "query")
        first, last = np.searchsorted(ordered_rows, [start, stop])
        tasks = tasks_by_query[first:last]
        job = make_job(side, side.rows[tasks] - start, rules, tasks)
        batch = f"scores: query {start}"
        if stop - start > 1:
            batch = f"scores: queries {start} to {stop - 1}"
        with argument_names(scores=batch):
            ranks_of_batches.append(rank_job(scores, job))
        del scores  # They need no memory while the next ones are made.
        report_progress(stop)
    place_of_task = np.argsort(tasks_by_query, kind="stable")
    return join_ranks(ranks_of_batches)[place_of_task]


def rank_side_vectors(
    argument: str, vectors: Embeddings, rows: IntArray, side: Side, rules: Rules, watch: Any
) -> Ranks:
    """Rank the tasks of a side, each by the scores of the vector in its row."""
    first_rows = rows[row_keys.first_equals(side.rows)]
    is_unlike = vectors.mismatched_rows(rows, first_rows)
    warn_about_unlike_rows(argument, vectors, rows, side, np.flatnonzero(is_unlike))
    # Equal rows are read once.
    job = make_job(side, np.where(is_unlike, rows, first_rows), rules)
    counts = vectors.counts(job, watch=watch)
    if rules.audit:
        counts.arrays["mismatched"] = is_unlike.astype(np.int64)
    return counts.ranks(job, vectors)


def rank_side_scores(
    argument: str,
    store: Any,
    rows: IntArray,
    side: Side,
    rules: Rules,
    watch: Callable[..., object],
    *,
    io: str | None,
) -> Ranks:
    """Rank the tasks of a side, each by its row of an open store."""
    job = make_job(side, rows, rules)
    counts = count_scores(store, job, io, report_progress=watch)
    first_rows = rows[row_keys.first_equals(side.rows)]
    if rules.audit and counts.fault is None:
        is_unlike = store.mismatched_rows(rows, first_rows, io)
        counts.arrays["mismatched"] = is_unlike.astype(np.int64)
    ranks = counts.ranks(job, store)
    warn_about_unlike_rows(argument, store, rows, side, np.flatnonzero(rows != first_rows))
    return ranks


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


# -- what tells a task from others -----------------------------------------------------------------


def find_origins(memory: dict[str, Any]) -> tuple[Origin, ...]:
    """Return what tells a task from others, made of its parts once and when it is asked for."""
    if "origins" not in memory:
        rows = memory["rows"]
        fingerprint = short_sha256(rows.tobytes() + number_facts(memory["facts"]).tobytes())
        n_entities, names, described = digest_names(memory["vocabularies"])
        origin = Origin(
            fingerprint,
            rows=1 + int(rows.max(initial=-1)),
            units=len(rows),
            queries=memory["n_queries"],
            digests=(described, f"known facts {memory['known']}"),
            n_entities=n_entities,
            names=names,
        )
        memory["origins"] = (origin,)
    return tuple(memory["origins"])


def number_facts(columns: Iterable[tuple[IntArray, Any]]) -> IntArray:
    """Return a hash of each fact by the labels of its elements, whatever the order of labels.

    The ids of each column come with the labels of the ids; None: ids are what they are.

    Examples
    --------
    >>> one = number_facts([(np.array([0, 1, 0]), ("a", "b"))])
    >>> (one == number_facts([(np.array([1, 0, 1]), ("b", "a"))])).all()
    np.True_
    """
    from hashlib import blake2b

    @cache  # Most entities are in two columns.
    def digest_of(name: Any) -> bytes:
        return blake2b(repr(name).encode(), digest_size=8).digest()

    digests = []
    for ids, names in columns:
        if names is None:
            digests.append(np.ascontiguousarray(ids))
        else:
            codes = row_keys.factorize(ids)
            digest = b"".join([digest_of(names[i]) for i in codes.distinct.tolist()])
            digests.append(np.frombuffer(digest, np.int64)[codes.codes])
    return row_keys.hash_rows(digests).view(np.int64)


def digest_names(vocabularies: Iterable[Vocabulary]) -> tuple[int, str, str]:
    """Return how many entities there are, a digest of names in order, and both for messages.

    Where nobody said how many, it is 0; where they have no names, the digest is "".

    Examples
    --------
    >>> from truerank.records.vocabularies import Vocabulary
    >>> digest_names([Vocabulary(3, None), Vocabulary(2, None, "relations")])
    (3, '', '3 entities')
    """
    numbers = []
    named = []
    n_entities = 0
    for each in vocabularies:
        if each.names and each.has_order:
            named.append(each.names)
        if each.of in ("entities", "left", "right") and each.has_size:
            numbers.append(f"{each.size:,} {each.of}")
            n_entities += each.size
    names = short_sha256(repr(named).encode()) if named else ""
    described = ", ".join(numbers)
    return n_entities, names, f"{described} by name ({names})" if named else described
