"""Candidates of tasks: those that a user names, those that are drawn, and those in lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays.row_keys import are_among, distinct, distinct_rows, look_up, without
from ..errors import InputValueError
from ..inputs.checks import flag, integer
from ..inputs.selection import lengths_to_indptr, refuse_mask_of_integers
from ..naming import format_count, public
from ..records.columns import first_names, joined_rows
from ..records.vocabularies import Vocabulary, align, align_set
from .side import lists_of_tasks, widen_to_tasks

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import IntArray
    from .side import Side, TaskLists


NUMBERS_AT_ONCE = 1 << 17  # So many numbers are drawn at a time, because they stay in the cache.
ARGUMENT = "candidates"
NO_IDS = np.zeros(0, np.int64)
ALL = "all"
TYPED = "typed"  # They occur in that position of that relation.
PER = ("answer", "query")  # Candidates are drawn for each of these.


@public("truerank.link_prediction")
class Sampled(NamedTuple):
    """Sampled candidates: right answers, and some entities that are not known answers of the query.

    Attributes
    ----------
    negatives : int
        The number of distinct negatives in each draw (see `per`); all of them if fewer are allowed.
    typed : bool
        Whether to draw only from the entities that occur in that position of that relation (in any
        split); only in link prediction.
    seed : int
        With one version of truerank and of NumPy, a seed gives the same sample on every platform.
    among : str, optional
        The known split from whose entities to draw, such as the graph on which an inductive model
        infers. Default: all entities.
    per : {"answer", "query"}, optional
        "answer": one draw for each right answer. A query of retrieval then ranks all its right
        answers among what was drawn for any of them, as RecBole's "uni100" does. "query", only in
        retrieval: one draw for each query. Default: "query" in retrieval, "answer" in link
        prediction.

    Notes
    -----
    Metrics of sampled candidates are too good and cannot be compared with those of all candidates;
    the protocol of the ranks names the sample. The known answers of all splits, the test included,
    are never drawn, even if nothing is filtered (``filter="none"``).

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
        expected = "a sample that is typed, or among a known split, by name"
        raise InputValueError("candidates", expected=expected, got=repr(sampled))
    if sampled.per is not None and sampled.per not in PER:
        expected = f"per, one of {', '.join(PER)}, or None"
        raise InputValueError("candidates", expected=expected, got=repr(sampled.per))
    if sampled.per == default:
        return sampled._replace(per=None)
    return sampled


def cut_batches(work: IntArray, most: int) -> Iterator[slice]:
    """Cut items into batches of about the same work; an item of more is a batch of its own.

    Examples
    --------
    >>> list(cut_batches(np.array([2, 2, 9, 1]), 5))
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
    side: Side,
    pool: TaskLists | IntArray | None,
    rows: IntArray,
    right: tuple[IntArray, IntArray],
    negatives: int,
    rng: np.random.Generator,
) -> tuple[IntArray, npt.NDArray[Any]]:
    """Draw candidates for every task, uniformly and without replacement, and add right answers.

    Parameters
    ----------
    side : Side
        Its filter has all known answers of each query, which are never drawn.
    pool : (indptr, indices, lists), ndarray of int64, or None
        The columns to draw from, ascending and distinct: lists, and that of each task, which is one
        for all tasks of a query; one list for all tasks; or all columns.
    rows : ndarray of int64, shape (n,)
        The query of each task.
    right : (tasks, columns)
        The right answers, which are among the known ones, by the tasks that get them.
    negatives : int
        The number per task; all that are allowed if there are fewer.

    Returns
    -------
    indptr, indices : ndarray of int64, and of int32, or of int64 for many columns
        The candidates of each task, ascending.
    """
    assert side.filter is not None
    pools = widen_to_tasks(np.arange(side.n_candidates) if pool is None else pool, len(rows))
    pool_indptr, columns, pool_of_task = pools
    width = 1 + max(int(part.max(initial=0)) for part in (columns, side.filter[1], right[1]))
    skip_indptr, skip_keys = _skip_keys(side.filter[:2], rows, pools, width)
    allowed = np.diff(pool_indptr)[pool_of_task] - np.diff(skip_indptr)[rows]
    negatives = min(negatives, int(allowed.max(initial=0)))
    lengths = np.minimum(allowed, negatives)
    indptr = lengths_to_indptr(lengths + np.bincount(right[0], minlength=len(rows)))
    indices = np.empty(indptr[-1], np.int32) if width < 1 << 31 else np.empty(indptr[-1], np.int64)
    for batch in cut_batches(np.full(len(rows), negatives), NUMBERS_AT_ONCE):
        numbers = _draw(allowed[batch], negatives, rng)
        counts = lengths[batch]
        queries = rows[batch]
        # Number r is at place r of its pool plus the count of places that are skipped up to there.
        skipped = _count_at_most(skip_keys, numbers + np.repeat(queries * width, counts))
        skipped -= np.repeat(skip_indptr[queries], counts)
        places = numbers + skipped
        drawn = columns[places + np.repeat(pool_indptr[pool_of_task[batch]], counts)]
        shifts = np.arange(len(counts)) * width
        with_answers = _insert_answers(drawn, counts, shifts, right, batch.start)
        indices[indptr[batch.start] : indptr[batch.stop]] = with_answers
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
    """Insert right answers among the columns that were drawn for a batch of tasks, ascending.

    The batch begins with task `start`; its tasks have `counts` of columns, set apart by `shifts`.
    """
    tasks, columns = right
    first, last = np.searchsorted(tasks, [start, start + len(counts)])
    answers = columns[first:last]
    answer_shifts = shifts[tasks[first:last] - start]
    places = np.searchsorted(drawn + np.repeat(shifts, counts), answers + answer_shifts)
    return np.insert(drawn, places, answers)


def _skip_keys(
    known: tuple[IntArray, IntArray],
    rows: IntArray,
    pools: tuple[IntArray, IntArray, IntArray],
    width: int,
) -> tuple[IntArray, IntArray]:
    """Return keys of the places in its pool that each query skips: indptr, and keys, ascending.

    `rows` has the query of each task, and a place is a position in a pool. A query skips the places
    p_0 < p_1 < ... of its known columns. Of those that are left, counted from 0, number r is at
    place r + c, where c is the count of all j with p_j - j <= r. So p_j has the key p_j - j, plus
    `width` times the query. Here query 0 skips places 1 and 3, and query 1 place 2:

    >>> known = np.array([0, 2, 3]), np.array([11, 13, 12])
    >>> pools = np.array([0, 5]), np.arange(10, 15), np.array([0, 0])
    >>> _skip_keys(known, np.array([0, 1]), pools, 100)
    (array([0, 2, 3]), array([  1,   2, 102]))
    """
    known_indptr, known_columns = known
    pool_indptr, pool_columns, pool_of_task = pools
    n_queries = len(known_indptr) - 1
    pool_of_query = np.zeros(n_queries, dtype=np.int64)
    pool_of_query[rows] = pool_of_task

    # The known columns that the pool of their query has, and their positions in all pools.
    query_of_known = np.repeat(np.arange(n_queries), np.diff(known_indptr))
    pool_of_column = np.repeat(np.arange(len(pool_indptr) - 1), np.diff(pool_indptr))
    in_pool, positions = look_up(
        pool_of_column * width + pool_columns, pool_of_query[query_of_known] * width + known_columns
    )
    queries = query_of_known[in_pool]
    indptr = lengths_to_indptr(np.bincount(queries, minlength=n_queries))

    places = positions - pool_indptr[pool_of_query[queries]]
    skipped_before = np.arange(len(queries)) - indptr[queries]
    return indptr, places - skipped_before + queries * width


def _draw(allowed: IntArray, negatives: int, rng: np.random.Generator) -> IntArray:
    """Draw distinct numbers below `allowed` for each task, ascending; all if there are too few."""
    drawn = rng.integers(0, np.maximum(allowed, 1)[:, None], (len(allowed), negatives))
    has_few = allowed < 2 * negatives  # There are hardly more numbers than are drawn.

    # Numbers that a task has drawn before are drawn again, until all are distinct: the distinct
    # ones among numbers that are drawn one after the other are a uniform sample.
    tasks = np.flatnonzero(~has_few)
    while len(tasks):
        numbers = np.sort(drawn[tasks], axis=1)
        row, place = np.nonzero(numbers[:, 1:] == numbers[:, :-1])
        numbers[row, place] = rng.integers(0, allowed[tasks[row]])
        drawn[tasks] = numbers
        tasks = tasks[distinct(row)]
    if not has_few.any():
        return drawn.reshape(-1)

    # Of few numbers, those with the least of random keys are drawn; numbers beyond are none.
    few = allowed[has_few]
    keys = rng.random((len(few), int(few.max(initial=negatives))))
    is_beyond = np.arange(keys.shape[1]) >= few[:, None]
    keys[is_beyond] = 2  # above all others
    drawn[has_few] = np.sort(np.argsort(keys, axis=1)[:, :negatives], axis=1)
    return drawn[drawn < allowed[:, None]]


@dataclass(frozen=True, eq=False)
class CandidateSet:
    """Candidates as they were named, before they are those of tasks."""

    # Ascending and distinct; of lists for keys, one list after another; none if a word says them.
    ids: IntArray
    # The relations, queries or test triples that have lists, by their ids, ascending and distinct.
    keys: IntArray | None = None
    indptr: IntArray | None = None  # where each list begins and ends
    key_names: Vocabulary | None = None
    word: str | None = None  # as "all", or the name of a known split
    repeated: int = 0  # how many candidates were named again
    sampled: Sampled | None = None  # how they are drawn from what the word says

    @cached_property
    def name(self) -> str:
        """What the protocol calls them."""
        if self.sampled is not None:
            return self.sampled.name
        if self.word is not None:
            return self.word
        return name_sets([self])

    @cached_property
    def one_set(self) -> IntArray | None:
        """All candidates if there is one list, or if all lists hold the same; else None.

        Examples
        --------
        >>> CandidateSet(np.array([5, 5]), np.array([3, 8]), np.array([0, 1, 2])).one_set
        array([5])
        """
        if self.indptr is None:
            return self.ids
        lengths = np.diff(self.indptr)
        if not len(lengths) or (lengths != lengths[0]).any():
            return None
        lists: IntArray = self.ids.reshape(len(lengths), -1)
        return lists[0] if (lists == lists[0]).all() else None

    def of_tasks(
        self, keys: IntArray, answers: IntArray, members: Vocabulary, noun: str
    ) -> TaskLists | IntArray:
        """Return the candidates of tasks as a `Side` has them: one list for all, or one for each.

        `keys` and `answers` have an element for each task. A key without a list, and an answer that
        is not among its candidates, are refused.
        """
        if self.keys is None or self.indptr is None or self.key_names is None:
            missing = without(answers, self.ids)
            if len(missing):
                first = members.label_of(int(missing[0]))
                problem = f"{len(missing):,} {noun} are not among the candidates, first {first!r}"
                raise InputValueError(ARGUMENT, problem)
            return self.ids
        without_list = distinct(without(keys, self.keys))
        if len(without_list):
            names = first_names(self.key_names.list_labels(without_list[:4]))
            problem = f"{len(without_list):,} {self.key_names.of} of the test have no list"
            raise InputValueError(ARGUMENT, f"{problem} ({names})")
        list_of_task = np.searchsorted(self.keys, keys)
        list_of_candidate = np.repeat(np.arange(len(self.keys)), np.diff(self.indptr))
        # Pairs ascend, as keys and their lists do.
        pairs = list_of_candidate * members.size + self.ids
        missing = np.flatnonzero(~are_among(list_of_task * members.size + answers, pairs))
        if len(missing):
            answer = members.label_of(int(answers[missing[0]]))
            key = self.key_names.label_of(int(keys[missing[0]]))
            problem = f"{len(missing):,} right answers are not among their candidates"
            problem += f", first {answer!r} for {key!r} of the {self.key_names.of}"
            raise InputValueError(ARGUMENT, problem)
        if self.one_set is not None:
            return self.one_set
        tasks = np.arange(len(keys))
        lists: TaskLists = lists_of_tasks((self.indptr, self.ids, list_of_task), tasks)
        return lists


def read_candidate_set(
    value: Any, per: str, words: Sequence[str], keys: Vocabulary, members: Vocabulary, forms: str
) -> CandidateSet:
    """Read candidates whose answers are of one kind: a word, a sample, lists by key, or one set.

    None is all. `per` is what is drawn for, if a sample does not say it. `words`, and known splits
    among them, may be named. `keys` names the relations or queries that have lists, and `forms`
    further forms, for messages.
    """
    if isinstance(value, Mapping):
        return read_keyed_lists(value, keys, members)
    sampled = check_sample(value, per) if isinstance(value, Sampled) else None
    if value is None:
        word = ALL
    elif isinstance(value, str):
        word = value
    elif sampled is None:
        return CandidateSet(align_set(ARGUMENT, value, members, forms))
    elif sampled.among is not None:
        word = sampled.among
    else:
        word = TYPED if sampled.typed else ALL
    if word not in words:
        expected = f"one of {', '.join(words)} (a known split by its name is one), "
        expected += f"{members.kind_of_elements}{forms}, or Sampled"
        raise InputValueError(ARGUMENT, expected=expected, got=repr(word))
    return CandidateSet(NO_IDS, word=word, sampled=sampled)


def read_keyed_lists(
    value: Mapping[Any, Any], keys: Vocabulary, members: Vocabulary
) -> CandidateSet:
    """Read a mapping of relations or queries to lists of candidates, by labels or ids."""
    names = list(value)

    def key_place(i: int) -> str:
        hint = " (in qrels also queries without a right answer)" if keys.of == "queries" else ""
        return f"among the {keys.of} of its lists{hint}"

    ids = align(ARGUMENT, names, keys, key_place)
    lengths, elements = joined_rows(
        ARGUMENT, value.values(), "labels or ids", lambda i: f"in the list of {names[i]!r}"
    )
    if elements.labels is None and len(lengths):
        refuse_mask_of_integers(ARGUMENT, elements.ids[: lengths[0]], members.size)
    ends = np.cumsum(lengths)

    def candidate_place(i: int) -> str:
        return f"in the list of {names[int(np.searchsorted(ends, i, side='right'))]!r}"

    candidates = align(ARGUMENT, elements, members, candidate_place)
    order = np.argsort(ids, kind="stable")  # Lists are sorted by the ids of their keys.
    number_of_list = np.empty(len(ids), dtype=np.int64)
    number_of_list[order] = np.arange(len(ids))
    lists, distinct_ids = distinct_rows([np.repeat(number_of_list, lengths), candidates])
    indptr = lengths_to_indptr(np.bincount(lists, minlength=len(ids)))
    repeated = len(candidates) - len(distinct_ids)
    return CandidateSet(distinct_ids, ids[order], indptr, key_names=keys, repeated=repeated)


def name_sets(sets: Sequence[CandidateSet]) -> str:
    """Return what a protocol calls chosen candidates, one set for each side, or one for all.

    Lists that are all the same are one set.

    Examples
    --------
    >>> name_sets([CandidateSet(np.array([0, 1])), CandidateSet(np.array([2]))])
    'selection of 2 x 1 (fa1e0462)'
    """
    from hashlib import blake2b

    sizes = []
    arrays: list[Any] = []
    for each in sets:
        if each.one_set is not None:
            arrays.append(each.one_set)
            sizes.append(str(len(each.one_set)))
        elif each.keys is not None:
            arrays.extend([each.keys, each.indptr, each.ids])
            sizes.append(f"{format_count(len(each.keys), 'list')}, {len(each.ids)} in all")
    joined = b"".join(ids.astype("<i8").tobytes() for ids in arrays)
    digest = blake2b(joined, digest_size=4).hexdigest()
    return f"selection of {' x '.join(sizes)} ({digest})"
