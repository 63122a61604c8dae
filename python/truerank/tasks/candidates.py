"""Candidates of tasks: those that a user names, those that are drawn, and those in lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays.row_keys import are_among, codes_of, distinct, distinct_rows, look_up, row_keys
from ..errors import InputValueError
from ..inputs.checks import flag, integer
from ..inputs.selection import indptr_of, join_ranges
from ..naming import format_count, public
from ..records.columns import first_names, joined_rows
from ..records.vocabularies import Vocabulary
from .side import TaskLists

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from ..counting.lists import CandidateLists
    from .side import Side


NUMBERS_AT_ONCE = 1 << 17  # So many numbers are drawn at a time, because they stay in the cache.
ARGUMENT = "candidates"
ALL = "all"
TYPED = "typed"  # They occur in that position of that relation.
PER = ("answer", "query")  # Candidates are drawn for each of these.


@public("truerank.link_prediction")
class Sampled(NamedTuple):
    """Sampled candidates: right answers and some entities that are no known answers of the query.

    Attributes
    ----------
    negatives : int
        The number of distinct ones for each draw, as `per` says; all of them if fewer are allowed.
    typed : bool
        Whether to draw only from the entities that occur in that position of that relation (in any
        split); in link prediction alone.
    seed : int
        With one version of truerank and of NumPy, a seed gives the same sample on every platform.
    among : str, optional
        The known split from whose entities to draw, as the graph on which an inductive model
        infers. Default: all entities.
    per : {"answer", "query"}, optional
        What is drawn for. "answer": each right answer of its own. In retrieval a query is one
        ranking, of all its right answers and what was drawn for any of them, as RecBole's "uni100"
        has it; a task of link prediction is an answer. "query": in retrieval, a query once.
        Default: a query in retrieval, an answer in link prediction.

    Notes
    -----
    Metrics of sampled candidates are too good and cannot be compared with those of all candidates;
    the protocol of the ranks names the sample. The known answers of all splits, the test included,
    are never drawn, even if nothing is filtered (``known=None``).

    Examples
    --------
    >>> Sampled(500).name, Sampled(50, among="inference").name
    ('uniform-500 seed 0', 'uniform-50 of inference seed 0')
    >>> Sampled(100, per="answer").name
    'uniform-100 per answer seed 0'
    """

    negatives: int = 100
    typed: bool = False
    seed: int = 0
    among: str | None = None
    per: str | None = None

    @property
    def name(self) -> str:
        """The name of the sample in the protocol."""
        name = f"typed-{self.negatives}" if self.typed else f"uniform-{self.negatives}"
        if self.among is not None:
            name += f" of {self.among}"
        if self.per is not None:
            name += f" per {self.per}"
        return f"{name} seed {self.seed}"


def check_sample(sampled: Sampled, default: str) -> Sampled:
    """Check the fields of a sample; return it without a `per` that is the default."""
    for name, least in (("negatives", 1), ("seed", 0)):
        value = getattr(sampled, name)
        integer("candidates", value, least=least, expected=f"{name} >= {least}")
    flag("candidates: typed", sampled.typed)
    if sampled.among is not None and (sampled.typed or not isinstance(sampled.among, str)):
        expected = "a sample that is typed, or among a known split by its name"
        raise InputValueError("candidates", expected=expected, got=repr(sampled))
    if sampled.per is not None and sampled.per not in PER:
        expected = f"per, one of {', '.join(PER)}, or None"
        raise InputValueError("candidates", expected=expected, got=repr(sampled.per))
    if sampled.per == default:
        return sampled._replace(per=None)
    return sampled


def batches_of(work: IntArray, most: int) -> Iterator[slice]:
    """Cut items into batches of about the same work; an item of more is a batch of its own.

    Examples
    --------
    >>> list(batches_of(np.array([2, 2, 9, 1]), 5))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    done = np.cumsum(work)
    start = 0
    done_before = 0
    while start < len(done):
        stop = max(start + 1, int(np.searchsorted(done, done_before + most)))
        yield slice(start, stop)
        start = stop
        done_before = int(done[stop - 1])


def draw_candidates(
    known: tuple[IntArray, IntArray],
    rows: IntArray,
    pools: tuple[IntArray, IntArray, IntArray],
    right: tuple[IntArray, IntArray],
    negatives: int,
    rng: np.random.Generator,
) -> tuple[IntArray, npt.NDArray[Any]]:
    """Draw candidates for every task, uniformly and without replacement, and add right answers.

    Parameters
    ----------
    known : (indptr, indices)
        For each query the columns that are never drawn, ascending and distinct.
    rows : ndarray of int64, shape (n,)
        The query of each task.
    pools : (indptr, indices, lists)
        The columns to draw from, ascending and distinct: task i draws from list ``lists[i]``, and
        tasks of one query from the same.
    right : (tasks, columns)
        The right answers, which are among the known ones, by the tasks that get them.
    negatives : int
        The number per task; all that are allowed if there are fewer.
    rng : numpy.random.Generator
        The source of random numbers, which the tasks use in their order, some at a time.

    Returns
    -------
    indptr : ndarray of int64, shape (n + 1,)
    indices : ndarray of int32, or of int64 for many columns
        The candidates of each task, ascending.

    Examples
    --------
    >>> one, pool = np.zeros(1, np.int64), (np.array([0, 4]), np.arange(4), np.zeros(1, np.int64))
    >>> known, rng = (np.array([0, 2]), np.array([0, 2])), np.random.default_rng(0)
    >>> draw_candidates(known, one, pool, (one, np.array([2])), 2, rng)
    (array([0, 3]), array([1, 2, 3], dtype=int32))
    """
    starts, columns, lists = pools
    width = 1 + max(int(part.max(initial=0)) for part in (columns, known[1], right[1]))
    skip_indptr, skips = _keys_of_skips(known, rows, pools, width)
    allowed = np.diff(starts)[lists] - np.diff(skip_indptr)[rows]
    most = int(allowed.max(initial=0))
    negatives = min(negatives, most)
    lengths = np.minimum(allowed, negatives)
    indptr = indptr_of(lengths + np.bincount(right[0], minlength=len(rows)))
    indices = np.empty(indptr[-1], np.int32) if width < 1 << 31 else np.empty(indptr[-1], np.int64)
    for tasks in batches_of(np.full(len(rows), negatives), NUMBERS_AT_ONCE):
        numbers = _draw(allowed[tasks], negatives, rng)
        counts = lengths[tasks]
        # Number r is at place r plus the count of places that are skipped up to there.
        keys = numbers + np.repeat(rows[tasks] * width, counts)
        skipped = _count_at_most(skips, keys)
        skipped -= np.repeat(skip_indptr[rows[tasks]] - starts[lists[tasks]], counts)
        drawn = columns[numbers + skipped]
        shifts = np.arange(len(counts)) * width  # It sets the columns of tasks apart.
        with_answers = _insert_answers(drawn, counts, shifts, right, tasks.start)
        indices[indptr[tasks.start] : indptr[tasks.stop]] = with_answers
    return indptr, indices


def _count_at_most(ascending: IntArray, values: IntArray) -> IntArray:
    """Return how many of ascending values are at most each of many others.

    Examples
    --------
    >>> _count_at_most(np.array([2, 5, 5]), np.array([9, 5, 2, 1]))
    array([3, 3, 1, 0])
    """
    if not len(ascending):
        return np.zeros(len(values), dtype=np.int64)
    low = int(ascending[0])
    span = int(ascending[-1]) - low + 1
    if span > 2 * (len(ascending) + len(values)):
        return np.searchsorted(ascending, values, side="right")
    totals = np.zeros(span + 1, dtype=np.int64)  # Each total counts a place and those before it.
    np.cumsum(np.bincount(ascending - low, minlength=span), out=totals[1:])
    return totals[np.clip(values - (low - 1), 0, span)]


def _insert_answers(
    drawn: IntArray,
    counts: IntArray,
    shifts: IntArray,
    right: tuple[IntArray, IntArray],
    start: int,
) -> IntArray:
    """Insert right answers among the columns that were drawn for a batch of tasks, ascending."""
    tasks, columns = right
    first, last = np.searchsorted(tasks, [start, start + len(counts)])
    answers = columns[first:last]
    answer_shifts = shifts[tasks[first:last] - start]
    places = np.searchsorted(drawn + np.repeat(shifts, counts), answers + answer_shifts)
    return np.insert(drawn, places, answers)


def _keys_of_skips(
    known: tuple[IntArray, IntArray],
    rows: IntArray,
    pools: tuple[IntArray, IntArray, IntArray],
    width: int,
) -> tuple[IntArray, IntArray]:
    """Return for each query a key for each place in its pool that is skipped, all keys ascending.

    A query skips the places p_0 < p_1 < ... of the columns that are never drawn. Number r, counted
    from 0 among the places that are left, is at place r plus the count of j with p_j - j <= r. A
    key is that p_j - j, and `width` for each query before.
    """
    starts, columns, lists = pools
    pool_of_query = np.zeros(len(known[0]) - 1, dtype=np.int64)
    pool_of_query[rows] = lists
    query_of_entry = np.repeat(np.arange(len(pool_of_query)), np.diff(known[0]))
    entries = pool_of_query[query_of_entry] * width + known[1]
    pool_of_column = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    in_pool, positions = look_up(pool_of_column * width + columns, entries)
    queries = query_of_entry[in_pool]
    indptr = indptr_of(np.bincount(queries, minlength=len(pool_of_query)))
    keys = positions - starts[pool_of_query[queries]] + queries * width
    keys -= np.arange(len(in_pool)) - indptr[queries]
    return indptr, keys


def _draw(allowed: IntArray, negatives: int, rng: np.random.Generator) -> IntArray:
    """Draw distinct numbers below `allowed` for each task, ascending; all if there are too few.

    The distinct ones among numbers that are drawn one after the other are a uniform sample: so
    those that repeat others are drawn again, where there are many to draw from. Where there are
    few, the numbers with the least of random keys are taken.
    """
    drawn = rng.integers(0, np.maximum(allowed, 1)[:, None], (len(allowed), negatives))
    few = allowed < 2 * negatives  # There are hardly more candidates than are drawn.
    rows = np.flatnonzero(~few)
    while len(rows):
        part = np.sort(drawn[rows], axis=1)
        row, place = np.nonzero(part[:, 1:] == part[:, :-1])
        part[row, place] = rng.integers(0, allowed[rows[row]])
        drawn[rows] = part
        rows = rows[distinct(row)]
    if not few.any():
        return drawn.reshape(-1)
    keys = rng.random((np.count_nonzero(few), int(allowed[few].max(initial=negatives))))
    # These keys are above all others, so they are drawn last.
    keys[np.arange(keys.shape[1]) >= allowed[few, None]] = 2
    drawn[few] = np.sort(np.argsort(keys, axis=1)[:, :negatives], axis=1)
    return drawn[drawn < allowed[:, None]]


@dataclass(frozen=True, eq=False)
class KeyedLists:
    """Candidates of relations or queries, a list for each.

    Attributes
    ----------
    keys : ndarray of int64, shape (k,)
        The ids of the relations or queries, ascending and distinct.
    indptr : ndarray of int64, shape (k + 1,)
    indices : ndarray of int64
        The candidates of each, ascending and distinct.
    names : Vocabulary
        What keys name.
    repeated : int
        How many candidates were named again.
    """

    keys: IntArray
    indptr: IntArray
    indices: IntArray
    names: Vocabulary
    repeated: int = 0

    @cached_property
    def one_set(self) -> IntArray | None:
        """What all lists hold if it is the same, else None.

        Examples
        --------
        >>> keys, relations = np.array([3, 8]), Vocabulary(9, None, "relations")
        >>> KeyedLists(keys, np.array([0, 1, 2]), np.array([5, 5]), relations).one_set
        array([5])
        """
        lengths = np.diff(self.indptr)
        if not len(lengths) or (lengths != lengths[0]).any():
            return None
        table = self.indices.reshape(len(lengths), -1)
        if (table != table[0]).any():
            return None
        first: IntArray = table[0]
        return first

    def lists_of(self, keys: IntArray) -> TaskLists:
        """Return the lists of tasks by their keys, all of which have a list.

        Examples
        --------
        >>> keys, relations = np.array([3, 8]), Vocabulary(9, None, "relations")
        >>> lists = KeyedLists(keys, np.array([0, 1, 3]), np.array([5, 5, 7]), relations)
        >>> lists.lists_of(np.array([8, 8]))
        TaskLists(indptr=array([0, 2]), indices=array([5, 7]), lists=array([0, 0]))
        """
        lists = TaskLists(self.indptr, self.indices, np.searchsorted(self.keys, keys))
        return lists.of_tasks(np.arange(len(keys)))

    def check(self, keys: IntArray, answers: IntArray, members: Vocabulary) -> None:
        """Check that keys have lists, and that their right answers are in them.

        Parameters
        ----------
        keys, answers : ndarray of int64, shape (n,)
            The key of each task, and its right answer.
        members : Vocabulary
            Of the candidates.

        Raises
        ------
        InputValueError
            Naming the keys, or the first answer and its key.
        """
        missing = distinct(keys[~are_among(keys, self.keys)])
        if len(missing):
            first = first_names(list(map(self.names.label_of, missing[:4].tolist())))
            problem = f"{len(missing):,} {self.names.of} of the test have no list ({first})"
            raise InputValueError(ARGUMENT, problem)
        of_entry = np.repeat(np.arange(len(self.keys)), np.diff(self.indptr))
        # Pairs of a key and a candidate ascend, as the keys and their lists do.
        pairs = of_entry * members.size + self.indices
        places = np.searchsorted(self.keys, keys)
        wrong = np.flatnonzero(~are_among(places * members.size + answers, pairs))
        if len(wrong):
            answer = members.label_of(int(answers[wrong[0]]))
            key = self.names.label_of(int(keys[wrong[0]]))
            problem = f"{len(wrong):,} right answers are not among their candidates"
            problem += f", first {answer!r} for {key!r} of the {self.names.of}"
            raise InputValueError(ARGUMENT, problem)


@dataclass(frozen=True, eq=False)
class CandidateSet:
    """Candidates as they were named, before they are those of tasks.

    Attributes
    ----------
    name : str
        What the protocol calls them.
    pool : str, ndarray of int64, or KeyedLists
        What they are, or are drawn from: a word, as "all", or the name of a known split; ids; or
        ids for each key.
    sampled : Sampled or None
        How they are drawn.
    """

    name: str
    pool: str | IntArray | KeyedLists
    sampled: Sampled | None = None


def read_candidate_set(
    value: Any, per: str, keys: Vocabulary, members: Vocabulary, forms: str
) -> CandidateSet:
    """Read candidates whose answers are of one kind: a word, a sample, lists by key, or one set.

    Parameters
    ----------
    value : None, str, Sampled, mapping, or sequence
        None: all.
    per : {"answer", "query"}
        What is drawn for, if a sample does not say it.
    keys, members : Vocabulary
        Of the relations or queries that have lists, and of the candidates.
    forms : str
        Further forms, for messages.

    Raises
    ------
    TypeError, ValueError
        For what names nothing, and for a sample that has not the fields of one.

    Examples
    --------
    >>> queries, entities = Vocabulary(2, None, "queries"), Vocabulary(9, None, "entities")
    >>> read_candidate_set([7, 3, 7], "query", queries, entities, "").pool
    array([3, 7])
    >>> read_candidate_set(Sampled(5, among="train"), "query", queries, entities, "").pool
    'train'
    """
    if value is None:
        return CandidateSet(ALL, ALL)
    if isinstance(value, str):
        return CandidateSet(value, value)
    if isinstance(value, Sampled):
        sampled = check_sample(value, per)
        pool: Any = TYPED if sampled.typed else ALL
        if sampled.among is not None:
            pool = sampled.among
        return CandidateSet(sampled.name, pool, sampled)
    if isinstance(value, Mapping):
        pool = read_keyed_lists(value, keys, members)
    else:
        pool = members.set_of(ARGUMENT, value, forms)
    return CandidateSet(name_of_sets([pool]), pool)


def candidates_of_tasks(
    pool: IntArray | KeyedLists, keys: IntArray, answers: IntArray, members: Vocabulary, noun: str
) -> Any:
    """Return the candidates of tasks, one list for all or lists by task, with their answers.

    Parameters
    ----------
    pool : ndarray of int64, or KeyedLists
    keys, answers : ndarray of int64, shape (n,)
        The key of each task, and its right answer.
    members : Vocabulary
        Of the candidates.
    noun : str
        What messages call the answers.

    Raises
    ------
    InputValueError
        If a key has no list, or an answer is not among its candidates.
    """
    if isinstance(pool, KeyedLists):
        pool.check(keys, answers, members)
        return pool.lists_of(keys) if pool.one_set is None else pool.one_set
    missing = answers[~are_among(answers, pool)]
    if len(missing):
        first = members.label_of(int(missing[0]))
        problem = f"{len(missing):,} {noun} are not among the candidates, first {first!r}"
        raise InputValueError(ARGUMENT, problem)
    return pool


def read_keyed_lists(value: Mapping[Any, Any], keys: Vocabulary, members: Vocabulary) -> KeyedLists:
    """Read a mapping of relations or queries to lists of candidates, by labels or ids.

    Parameters
    ----------
    value : mapping of a label or id to labels or ids
    keys, members : Vocabulary
        Of the relations or queries, and of their candidates.

    Raises
    ------
    TypeError, ValueError
        For keys and candidates that name nothing, and for another form; messages name them.

    Examples
    --------
    >>> relations, entities = Vocabulary(2, ("likes", "knows"), "relations"), Vocabulary(9, None)
    >>> lists = read_keyed_lists({"knows": [7, 2, 7], "likes": [3]}, relations, entities)
    >>> lists.keys, lists.indptr, lists.indices
    (array([0, 1]), array([0, 1, 3]), array([3, 2, 7]))
    """
    names = list(value)

    def where_of_key(i: int) -> str:
        if keys.of != "queries":
            return f"among the {keys.of} of its lists"
        without = f"qrels with {{{names[i]!r}: []}}, or queries=, have those without an answer"
        return f"among the queries of its lists ({without})"

    ids = keys.ids_of(ARGUMENT, names, where_of_key)
    lengths, elements = joined_rows(
        ARGUMENT, value.values(), "labels or ids", lambda i: f"in the list of {names[i]!r}"
    )
    ends = np.cumsum(lengths)

    def where(i: int) -> str:
        return f"in the list of {names[int(np.searchsorted(ends, i, side='right'))]!r}"

    candidates = members.ids_of(ARGUMENT, elements, where)
    in_order = np.argsort(ids, kind="stable")
    # It has the new number of each list in the order of `ids`.
    new_number = np.empty(len(ids), dtype=np.int64)
    new_number[in_order] = np.arange(len(ids))
    list_of_entry, indices = distinct_rows([np.repeat(new_number, lengths), candidates])
    indptr = indptr_of(np.bincount(list_of_entry, minlength=len(ids)))
    return KeyedLists(ids[in_order], indptr, indices, keys, len(candidates) - len(indices))


def name_of_sets(sets: Sequence[IntArray | KeyedLists]) -> str:
    """Return what a protocol calls chosen candidates: their numbers, and a digest.

    Parameters
    ----------
    sets : sequence of ndarray or KeyedLists
        One for each side, or one for all. Lists that are all the same are one set.

    Examples
    --------
    >>> name_of_sets([np.array([0, 1])])
    'selection of 2 (3ea97a77)'
    >>> name_of_sets([np.array([0, 1]), np.array([2])])
    'selection of 2 x 1 (fa1e0462)'
    >>> keys, relations = np.array([3, 8]), Vocabulary(9, None, "relations")
    >>> lists = KeyedLists(keys, np.array([0, 1, 3]), np.array([5, 5, 7]), relations)
    >>> name_of_sets([lists])
    'selection of 2 lists, 3 in all (9c791ac9)'
    """
    from hashlib import blake2b

    sizes = []
    arrays: list[IntArray] = []
    for each in sets:
        if not isinstance(each, KeyedLists):
            ids = [each]
            size = str(len(each))
        elif each.one_set is not None:
            ids = [each.one_set]
            size = str(len(each.one_set))
        else:
            ids = [each.keys, each.indptr, each.indices]
            size = f"{format_count(len(each.keys), 'list')}, {len(each.indices)} in all"
        sizes.append(size)
        arrays.extend(ids)
    joined = b"".join(ids.astype("<i8").tobytes() for ids in arrays)
    digest = blake2b(joined, digest_size=4).hexdigest()
    return f"selection of {' x '.join(sizes)} ({digest})"


# -- candidates of lists ---------------------------------------------------------------------------


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
    expected = "candidates of the query of each list"
    number = int(lists.ids[others[0]])
    label = vocabulary.label_of(number)
    name = repr(label)
    if label != number:
        name += f" (position {number})"
    got = f"{name} in list {row}, at position {position}"
    raise InputValueError("ids", expected=expected, got=got)
