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
from ..arrays.row_keys import (
    RowKeys,
    are_among,
    blocks_of,
    codes_of,
    distinct_in_place,
    first_equals,
    hash_rows,
)
from ..counting.driver import count_scores
from ..counting.job import Job
from ..counting.ranking import rank
from ..errors import InputValueError, Option, argument_names, warn_user
from ..inputs.checks import choice, integer, several
from ..inputs.selection import indptr_of, join_ranges
from ..naming import import_extra, public
from ..ranks.joining import join_ranks
from ..ranks.protocol import Origin, fingerprint_of
from ..stores import read_scores, shape_of
from ..stores.on_device import copy_to_device

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray
    from ..embeddings.vectors import Embeddings
    from ..inputs.rules import BatchOptions, Rules
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
_FIELDS = ("filter", "filter_rule", "candidates", "sampled", "split", "gain")


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
        ``torch.from_numpy`` takes it.
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
        >>> side = make_side(
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
        queries = codes_of(self.rows[tasks])
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
        )


def warn_of_unlike_rows(
    argument: str, store: Store, rows: IntArray, side: Side, tasks: IntArray
) -> None:
    """Warn if rows of one query have other scores, by more than rounding makes.

    Rows may differ in what their tasks leave out, as where known answers are masked: a few are
    compared, in a few columns where both are finite, and that are candidates of both tasks. Their
    mean differences are held against the size of all, and against the spread of each row. `rows`
    has that of each task, and `tasks` those that read another row than the first task of their
    query.
    """
    if not len(tasks) or not store.in_place or store.carrier.kind != "f":
        return
    tasks = tasks[:PAIRS_COMPARED]
    firsts = first_equals(side.rows)[tasks]
    columns = _some_candidates(side, firsts)
    shape = columns.shape
    scores, first_scores = (
        store.take(np.repeat(rows[each], shape[1]), columns.ravel()).reshape(shape)
        for each in (tasks, firsts)
    )
    is_compared = np.isfinite(scores) & np.isfinite(first_scores)
    are_equal = ~(is_compared & (scores != first_scores)).any(axis=1)
    is_compared[are_equal] = False
    for i in np.flatnonzero(~are_equal).tolist():
        for task in (tasks[i], firsts[i]):
            is_compared[i] &= _are_candidates(side, int(task), columns[i])

    pairs = np.flatnonzero(is_compared.any(axis=1))
    is_compared = is_compared[pairs]
    scores = np.where(is_compared, scores[pairs], np.float64(0))
    first_scores = np.where(is_compared, first_scores[pairs], 0)
    differences = np.abs(scores - first_scores).mean(axis=1, where=is_compared)
    sizes = np.abs(scores).mean(axis=1, where=is_compared)
    spreads = scores.std(axis=1, where=is_compared)
    are_far = differences.sum() > _OF_SIZE * sizes.sum()
    is_constant = spreads <= _LEAST_SPREAD * sizes
    is_far = ~is_constant & (differences > _OF_SPREAD * spreads)
    if are_far or np.count_nonzero(is_far) > _OF_ROWS * len(pairs):
        share = f"{len(pairs):,} of {len(tasks):,} rows that were compared"
        text = f"in {share} a query has scores that differ from its first row"
        way = Option("", effect="gives the query of each row", call="row_queries=")
        warn_user(argument, f"{text}; row i belongs to test[i]", [way])


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


def _are_candidates(side: Side, task: int, columns: IntArray) -> npt.NDArray[np.bool_]:
    """Return whether columns are candidates of a task; its target is one though it is filtered."""
    candidates = _list_of(side.candidates, task)
    filtered = _list_of(side.filter, task)
    is_candidate = np.full(len(columns), True)
    if candidates is not None:
        is_candidate &= are_among(columns, candidates)
    if filtered is not None:
        is_candidate &= ~are_among(columns, filtered) | (columns == side.targets[task])
    return is_candidate


def core_selection(selection: TaskLists | IntArray | None) -> Selection | None:
    """Return a filter or candidates as the core takes them, so that nothing reads them again."""
    if selection is None:
        return None
    if isinstance(selection, tuple):
        return Selection(*selection)
    return Selection(np.array([0, len(selection)]), selection, None, True)


def job_of_side(side: Side, rows: IntArray, rules: Rules) -> Job:
    """Return the job of the tasks of a side, each of which reads a row; all was checked before."""
    selections = core_selection(side.filter), core_selection(side.candidates)
    return Job(rows, side.targets, *selections, rules=rules)


def _list_of(selection: Any, task: int) -> Any:
    """Return the columns that a selection has for a task."""
    if not isinstance(selection, tuple):
        return selection
    indptr, indices, lists = selection
    i = lists[task]
    return indices[indptr[i] : indptr[i + 1]]


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
    used, new_lists = codes_of(lists[tasks])
    lengths = np.diff(indptr)[used]
    return indptr_of(lengths), indices[join_ranges(indptr[used], lengths)], new_lists


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
    has_filter: bool = True,
    is_asked: npt.NDArray[np.bool_] | None = None,
) -> Side:
    """Make the tasks of one side: each ranked fact asks for its answer, given its query.

    `facts` has the columns of known facts by role, those of the test first, and `ranked` the rows
    that become tasks, and their units. `query` and `answer` are roles. The filter has all known
    answers of each query, the targets among them; the facts of these queries are marked in
    `is_asked`, of shape (facts,), if the filter is made.
    """
    keys_of: Callable[[Any], IntArray] = RowKeys([facts[role] for role in query]).of
    if len(query) == 1:
        keys_of = facts[query[0]].__getitem__
    queries = codes_of(keys_of(ranked))
    lists_of_known = None
    if has_filter:
        answers = facts[answer]
        codes = _codes_of_answers(queries.distinct, keys_of, answers, n_candidates, is_asked)
        del keys_of
        codes = distinct_in_place(codes)
        starts = np.arange(len(queries.distinct) + 1) * n_candidates
        indptr = np.searchsorted(codes, starts).astype(np.int64)
        first_codes = np.repeat(starts[:-1], np.diff(indptr))
        indices = np.subtract(codes, first_codes, out=first_codes)
        lists_of_known = indptr, indices, queries.codes
    owners = ranked[queries.first()]
    return Side(
        name,
        n_candidates,
        query_ids=np.stack([facts[role][owners] for role in query], axis=1),
        rows=queries.codes,
        targets=facts[answer][ranked],
        units=ranked,
        filter=lists_of_known,
    )


def _codes_of_answers(
    asked: IntArray,
    queries: Callable[[Any], IntArray],
    answers: IntArray,
    width: int,
    is_asked: npt.NDArray[np.bool_] | None = None,
) -> IntArray:
    """Return an integer for the answer of each fact whose query is asked; others are left out.

    `queries` returns those of some of the facts, and `width` is more than the largest answer;
    `MAX_IDS` leaves room for the answers of all queries. The facts of these queries are marked in
    `is_asked`.

    Examples
    --------
    >>> queries = np.array([7, 5, 3]).__getitem__
    >>> _codes_of_answers(np.array([3, 7]), queries, np.array([2, 1, 9]), 10)
    array([12,  9])
    """
    # Facts of other queries are ruled out before they take memory: what is not written takes none.
    codes = np.empty(len(answers), dtype=np.int64)
    places = IntegerTable(asked, len(codes))
    end = 0
    for block in blocks_of(len(answers)):
        where, block_codes = places.look_up(queries(block))
        block_codes *= width
        block_codes += answers[block][where]
        codes[end : end + len(block_codes)] = block_codes
        end += len(block_codes)
        if is_asked is not None:
            is_asked[block][where] = True
    return codes[:end]


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
    for name in _FIELDS:
        fields[name] = getattr(protocol, name)
    if protocol.relevance_level is not None:
        fields["relevance_level"] = protocol.relevance_level
    parts: list[Ranks] = []
    last_counted = None
    for side, ranks in zip(sides, ranks_of_sides, strict=True):
        arrays: dict[str, Any] = {}
        if side.without_answers is not None:
            arrays["without_answers"] = side.without_answers
        if side.gains is not None:
            arrays["gains"] = side.gains
        if last_counted is not None and vars(ranks.protocol) == vars(last_counted):
            whole = parts[-1].protocol  # It was checked, and one object is joined quickly.
        else:  # Files of the task come before those of its scores.
            fields["files"] = protocol.files + ranks.protocol.files
            if ranks.protocol.lists is None:  # Scores are of all, if nothing else was said.
                fields["candidates"] = protocol.candidates or ranks.protocol.candidates
            whole = replace(ranks.protocol, **fields)
        last_counted = ranks.protocol
        parts.append(ranks._with(arrays, labels=side.labels, protocol=whole, origins=origins))
    return join_ranks(parts)


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
    height, columns = len(side.query_ids), side.n_candidates
    others = dict(options)
    size = others.pop("batch_size", None)
    if size is None:
        size = max(1, min(height, BATCH_BYTES // (4 * max(1, columns))))
    size = integer("batch_size", size, least=1)
    as_input = _as_input_on(others.pop("device", None))
    rules: Any = others | {"progress": None}
    report_progress(0)
    if not height:
        rules["dtype"] = None
        return rank(np.zeros((0, columns), np.float32), np.zeros(0, np.int64), **rules)
    order = np.argsort(side.rows, kind="stable")  # So the tasks of a batch are neighbours.
    ordered_rows = side.rows[order]
    ranks_of_batches: list[Ranks] = []
    for start in range(0, height, size):
        stop = min(start + size, height)
        queries = side.query_ids[start:stop].copy()
        scores = read_scores(scorer(as_input(queries)), rules.get("dtype"))
        check_score_shape(shape_of(scores), (stop - start, columns), "query")
        first, last = np.searchsorted(ordered_rows, [start, stop])
        tasks = order[first:last]
        batch = f"scores: query {start}"
        if stop - start > 1:
            batch = f"scores: queries {start} to {stop - 1}"
        with argument_names(scores=batch):
            ranks = rank(
                scores,
                side.targets[tasks],
                rows=side.rows[tasks] - start,
                filter=lists_of_tasks(side.filter, tasks),
                candidates=lists_of_tasks(side.candidates, tasks),
                **rules,
            )
        del scores  # They need no memory while the next ones are made.
        ranks_of_batches.append(ranks)
        report_progress(stop)
    ranks = join_ranks(ranks_of_batches)
    return ranks[np.argsort(order, kind="stable")]


def rank_vectors_of_side(
    argument: str, vectors: Embeddings, rows: IntArray, side: Side, rules: Rules, watch: Any
) -> Ranks:
    """Rank the tasks of a side, each by the scores of the vector in its row."""
    first_rows = rows[first_equals(side.rows)]
    is_unlike = vectors.mismatched_rows(rows, first_rows)
    warn_of_unlike_rows(argument, vectors, rows, side, np.flatnonzero(is_unlike))
    # Equal rows are read once.
    job = job_of_side(side, np.where(is_unlike, rows, first_rows), rules)
    counts = vectors.counts(job, watch=watch)
    if rules.audit:
        counts.arrays["mismatched"] = is_unlike.astype(np.int64)
    return counts.ranks(job, vectors)


def rank_scores_of_side(
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
    job = job_of_side(side, rows, rules)
    counts = count_scores(store, job, io, report_progress=watch)
    first_rows = rows[first_equals(side.rows)]
    if rules.audit and counts.fault is None:
        is_unlike = store.mismatched_rows(rows, first_rows, io)
        counts.arrays["mismatched"] = is_unlike.astype(np.int64)
    ranks = counts.ranks(job, store)
    warn_of_unlike_rows(argument, store, rows, side, np.flatnonzero(rows != first_rows))
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


def find_origins(told: dict[str, tuple[Any, ...]]) -> tuple[Origin, ...]:
    """Return what tells a task from others, made of its parts once and when it is asked for."""
    if "origins" not in told:
        rows, facts, queries, entities, known = told["parts"]
        fingerprint = fingerprint_of(rows.tobytes() + number_facts(facts).tobytes())
        sizes = 1 + int(rows.max(initial=-1)), len(rows), queries
        told["origins"] = (Origin(fingerprint, *sizes, (digest_of_names(entities), known)),)
    return told["origins"]


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
            codes = codes_of(ids)
            digest = b"".join([digest_of(names[i]) for i in codes.distinct.tolist()])
            digests.append(np.frombuffer(digest, np.int64)[codes.codes])
    return hash_rows(digests).view(np.int64)


def digest_of_names(vocabularies: Iterable[Vocabulary]) -> str:
    """Return how many entities there are, if somebody said it, and a digest of names in order.

    Examples
    --------
    >>> from truerank.records.vocabularies import Vocabulary
    >>> digest_of_names([Vocabulary(3, None), Vocabulary(2, None, "relations")])
    '3 entities'
    """
    numbers = []
    named = []
    for each in vocabularies:
        if each.names and each.has_order:
            named.append(each.names)
        if each.of in ("entities", "left", "right") and each.has_size:
            numbers.append(f"{each.size:,} {each.of}")
    text = ", ".join(numbers)
    return f"{text} by name ({fingerprint_of(repr(named).encode())})" if named else text
