"""Recall of an index: the lists that it returned, beside exact ones, in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .. import _core
from ..arrays.row_keys import cut_blocks
from ..counting.job import sha256_hex
from ..counting.lists import PAD, TopK
from ..embeddings.vectors import Embeddings, watching
from ..errors import InputValueError
from ..inputs.checks import number
from ..inputs.rules import SimilarityOptions, read_rules, with_options
from ..inputs.selection import join_ranges
from ..naming import public
from ..ranks.container import Ranks
from ..ranks.protocol import HITS, Protocol
from ..reporting import Finding
from ..reporting.reports import report_task
from ..tasks.side import are_candidates
from .files import count_ids, read_exact, read_lists, read_with_truth
from .truth import (
    are_in_lists,
    count_candidates,
    find_last,
    read_truth,
    refuse_truth_that_lacks,
    score_pairs,
    take,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import FloatArray, IntArray
    from ..counting.job import Job
    from ..inputs.rules import Similarity
    from ..reporting import Report

# What a report of an index finds in its lists.
FINDINGS = {
    "missing ids": "ids that are missing, or come again: {:,}",
    "no candidates": "ids that are not candidates of their query: {:,}",
    "tied lists": "lists with right ids that only tie with the last of the exact ones: {:,}",
    "without candidates": "queries without candidates or exact ids, which are left out: {:,}",
    "taken on trust": "queries whose truth is taken on trust: {:,}",
    "ids from 1": "ids less 1 would have recall {:.2g} in the first 100 queries",
    "unseen ties": "queries with ids that may tie, as the truth has no distances: {:,} of {}",
    "lower bound": "queries whose recall is a lower bound, as the truth ends within the tie at its "
    "k-th id: {:,} of {}",
}
# What a place of a list has: no id, one that is no candidate, a wrong one, a right one that the
# truth lacks, one that it has. From NEAR on it is right.
MISSING, STRANGER, WRONG, NEAR, KNOWN = range(5)
# If the recall is so low, it is measured in the first queries with ids less 1; a finding says so if
# it is so much higher.
_LOW_RECALL, _GAIN = 0.5, 0.1
_FIRST = slice(100)


@public("truerank")
@with_options(SimilarityOptions)
def evaluate_topk(
    queries: Any,
    entities: Any,
    ids: Any,
    truth: Any,
    *,
    similarity: Similarity,
    tolerance: float = 0.0,
    bias: Any = None,
    filter: Any = None,
    candidates: Any = None,
    duplicates: str = "raise",
    **options: Unpack[SimilarityOptions],
) -> Report:
    """Measure the recall of an index by the lists that it returned, beside the exact ones.

    Let k be the length of the lists, m the least of k and the number of a query's candidates, and t
    the least similarity of the first m ids of the truth. An id is right if these have it, or if it
    is a candidate whose similarity is at least t - `tolerance`: whatever ties is right.
    The recall of a query is (right ids among its k, each once, at most m) / m, and the recall is
    the mean over queries, as ann-benchmarks and DiskANN have it; queries without candidates are
    left out.

    Similarities are in double precision, whatever vectors hold: narrower floats give other last
    digits, by which near copies are told apart. The truth is scored, and ids that it lacks.

    Parameters
    ----------
    queries, entities, similarity, bias, dtype, layout, threads
        As in `rank_embeddings`; the similarity is that of the index.
    ids : array_like of int, shape (q, k), TopK, or path
        The ids that an index lists for each query, the best first; -1, or the largest unsigned
        integer, where it has none. They may be a column of lists of one length. A file is one of
        `.npy`, `.npz` (ids), `.ivecs`, `.ibin` and `.bin`. For a smaller k hand over
        ``ids[:, :k]``.
    truth : TopK, array_like of int, shape (q, m or more), or path
        The exact lists of these vectors, as `topk_embeddings` or another tool found them. Files
        give their ids, not their distances. Lists that are out of order, by more than single
        precision rounds, are put in order. For double precision throughout, give `topk_embeddings`
        `queries` of float64. Sixteen queries are searched to look at the truth, but for a file of
        the command `topk`, whose digests must be those of this search, and where a file of entities
        is larger than 16 GB.
    tolerance : float
        How much less similar than the m-th a right id may be: 1e-3 with "l2" is ann-benchmarks'
        rule.
    filter, candidates
        As in `topk_embeddings`: what is left out of the lists of each query, and let in. An id that
        is no candidate is a miss.
    duplicates : {"raise", "first"}
        An id that a list has twice is refused, or counts once.
    nan : {"raise", "worst", "omit"}
        The rule for similarities that are NaN, as in `topk_embeddings`.
    progress : callable or bool, optional
        Called with a `Progress` when all is scored. True: a bar of tqdm.

    Returns
    -------
    Report
        A report of queries with one key, ``recall@k``, which has `per_query`, intervals, groups and
        comparisons: two indexes are compared query by query. Other keys are refused, since the
        order of right answers says nothing. The protocol holds k, similarity, precision and
        tolerance: recalls that differ in one of them are not compared. ``report.audit()`` says how
        many ids are missing, are no candidates, or are right by their similarity, and in how many
        queries the truth is taken on trust.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` does. For ids that are no integers or out of range, repeated ones, a
        tolerance below 0, and a truth that is not of these vectors and candidates: it has fewer ids
        than there are candidates, or ids that are no candidates, or it lacks an id, of the lists or
        of a search, that is more similar than its last by more than single precision rounds.

    Examples
    --------
    >>> import truerank as tr
    >>> entities = np.array([[0.0], [1], [2], [3]])
    >>> queries = np.array([[0.1], [2.9]])
    >>> truth = tr.topk_embeddings(queries, entities, 2, similarity="sql2")
    >>> report = evaluate_topk(queries, entities, [[0, 3], [3, 2]], truth, similarity="sql2")
    >>> report["recall@2"], report.per_query("recall@2").tolist()
    (0.75, [0.5, 1.0])
    """
    search: dict[str, Any] = {"bias": bias, "filter": filter, "candidates": candidates}
    embeddings, job = open_search(queries, entities, similarity, **search, **options)
    shape = len(job.targets), embeddings.shape[-1]
    lists = read_lists("ids", ids, shape, duplicates=duplicates)
    with watching(job.rules.progress, lists.nbytes):
        exact, on_trust = read_truth(embeddings, job, truth, lists.shape[1])
        return report_lists(embeddings, job, lists, exact, tolerance, on_trust)


@public("truerank")
def evaluate_ids(
    ids: Any, truth: Any, *, tolerance: float = 0.0, duplicates: str = "raise"
) -> Report:
    """Measure the recall of an index by its lists and the exact ones alone, without vectors.

    Let k be the width of `ids`, and m the least of k and the number of ids that the truth has for a
    query. The first m ids of the truth are right, and if it has distances, so are those whose
    distance ties with the m-th. The recall of a query is (right ids among its k, each once, at most
    m) / m, and the recall is the mean over queries, as DiskANN has it; queries for which the truth
    has no ids are left out.

    Parameters
    ----------
    ids : array_like of int or str, shape (q, k), lists, TopK, or path
        The ids that an index lists for each query. Where it has fewer than k, -1 stands behind
        them, or the largest unsigned integer of 4 or 8 bytes, or an empty text; lists in Python or
        Arrow may end earlier, if one has k. A file is one of `.npy`, `.npz` (ids), `.ivecs`,
        `.ibin`, `.bin`, ``FILE.hdf5:NAME`` and ``FILE.parquet:NAME`` or `.arrow` (a column of
        lists). For a smaller k hand over ``ids[:, :k]``.
    truth : TopK, array_like of int or str, shape (q, k or more), lists, or path
        The exact lists in their order, with ids as those of `ids`. Files may have distances: behind
        the ids in `.bin` and `.ibin`, and as ``distances`` beside ``FILE.hdf5:neighbors``. So may a
        second file: ``TopK("truth.ibin", "distances.fbin")``. They may rise or fall, but in all
        rows alike. Scores of arrays fall, as more is better: those of faiss are ``TopK(I, -D)``.
    tolerance : float
        How much farther than the m-th a right id may be, in the unit of the distances: those of
        DiskANN are squared.
    duplicates : {"raise", "first"}
        An id that a list has twice is refused, or counts once.

    Returns
    -------
    Report
        As of `evaluate_topk`. Recalls of unlike truths are not compared. ``report.audit()`` says
        that ties are not seen where the truth has no distances, and in how many queries the recall
        is a lower bound, as the truth ends within a tie.

    Raises
    ------
    TypeError, ValueError, OSError
        For ids that are neither integers nor text, or on one side only, ids below -1 and behind a
        -1, repeated ones, lists of another number of queries, and a truth that is narrower than k;
        for distances that are NaN, or do not rise or fall throughout; for a tolerance below 0, or
        without distances.

    Examples
    --------
    >>> evaluate_ids([[0, 3], [3, 2]], [[0, 1, 2], [3, 2, 1]]).per_query("recall@2").tolist()
    [0.5, 1.0]
    >>> truth = TopK(np.array([[0, 1, 3]]), np.array([[-0.5, -1, -1]]))
    >>> evaluate_ids([[0, 3]], truth)["recall@2"]
    1.0
    """
    exact = read_exact("truth", truth)
    return report_ids("ids", ids, *exact, tolerance=tolerance, duplicates=duplicates)


def open_search(
    queries: Any,
    entities: Any,
    similarity: Similarity,
    *,
    bias: Any = None,
    filter: Any = None,
    candidates: Any = None,
    **options: Any,
) -> tuple[Embeddings, Job]:
    """Open vectors, whose scores are in double precision, and a task for each query."""
    rules = read_rules(options, SimilarityOptions, evaluate_topk)
    embeddings = Embeddings(
        queries, entities, similarity, bias, rules.dtype, layout=rules.layout, in_double=True
    )
    return embeddings, embeddings.job(..., None, filter, candidates, rules)


def check_first_entities(queries: Any, entities: Any) -> None:
    """Refuse queries if one of them is not the entity of its number, which would be left out."""
    argument = "exclude"
    if isinstance(queries, tuple) or np.ndim(queries) != 2 or len(queries) > len(entities):
        raise InputValueError(argument, expected="entities that begin with the queries")
    for block in cut_blocks(len(queries)):
        is_unlike = (queries[block] != entities[block]).any(axis=1)
        if is_unlike.any():
            row = block.start + is_unlike.argmax()
            raise InputValueError(argument, f"query {row} is not the entity of this number")


# -- what is right ---------------------------------------------------------------------------------


def mark_answers(
    embeddings: Embeddings, job: Job, lists: IntArray, truth: TopK, tolerance: float
) -> npt.NDArray[np.int8]:
    """Mark what each place of the lists of the first queries has, from MISSING to KNOWN.

    `truth` has the first ids of the exact lists; a query without any has no candidates.
    """
    has_id = lists != PAD
    are_known = has_id & are_in_lists(lists, truth.ids)
    answers = np.where(are_known, np.int8(KNOWN), np.int8(MISSING))
    rows, places = np.nonzero(has_id & ~are_known)
    is_candidate = are_candidates(job, rows, lists[rows, places])
    answers[rows, places] = np.where(is_candidate, WRONG, STRANGER)
    is_scored = is_candidate & (count_ids(truth.ids)[rows] > 0)
    rows, places = rows[is_scored], places[is_scored]
    ids = lists[rows, places]
    # With "omit", an id whose similarity is NaN is no candidate.
    pairs = TopK(ids, score_pairs(embeddings, job, rows, ids, ("worst", "omit")))
    last = take(find_last(truth), rows)
    refuse_truth_that_lacks(embeddings, job, rows, pairs, last)
    # NaN is the worst score.
    is_near = (pairs.scores >= last.scores - tolerance) | np.isnan(last.scores)
    answers[rows[is_near], places[is_near]] = NEAR
    return answers


# -- the report ------------------------------------------------------------------------------------


def report_lists(
    embeddings: Embeddings,
    job: Job,
    lists: IntArray,
    exact: TopK,
    tolerance: float = 0.0,
    on_trust: int = 0,
    *,
    k: int = 0,
) -> Report:
    """Report the recall of the first k ids (0: all) of lists beside exact ones.

    These may be longer, and so many are taken on trust.
    """
    tolerance = check_tolerance(tolerance)
    lists = lists[:, : k or None]
    k, size = lists.shape[1], embeddings.shape[-1]
    exact = take(exact, np.s_[:, :k])

    def mark(ids: IntArray) -> npt.NDArray[np.int8]:
        return mark_answers(embeddings, job, ids, take(exact, slice(len(ids))), tolerance)

    name = f"top {min(k, size)} by {embeddings.measure} in {embeddings.dtype}"
    name += describe_tolerance(tolerance)
    if job.candidates is not None:
        name += f", of a selection ({sha256_hex(job.candidates)[:8]})"
    protocol = Protocol(
        filter=() if job.filter is None else ("unnamed",),
        candidates=name,
        nan=job.rules.nan,
        dtype=embeddings.dtype,
        similarity=embeddings.measure,
        files=embeddings.files,
    )
    sizes = count_candidates(job, size)
    return report_answers(lists, mark, count_ids(exact.ids), sizes, protocol, trusted=on_trust)


def report_ids(
    argument: str,
    value: Any,
    truth: npt.NDArray[Any],
    scores: FloatArray | None,
    *,
    k: int = 0,
    tolerance: float = 0.0,
    duplicates: str = "raise",
) -> Report:
    """Report the recall of the first k ids (0: all) of lists beside exact ones, as they are read.

    Scores fall along the exact lists; None: nobody knows what ties.
    """
    tolerance = check_tolerance(tolerance)
    if tolerance and scores is None:
        expected = "0, as the truth has no distances"
        raise InputValueError("tolerance", expected=expected, got=tolerance)
    lists, exact = read_with_truth(argument, value, truth, k, duplicates)
    k = lists.shape[1]
    n_right = np.minimum(count_ids(exact), k)
    has_id = exact != PAD
    are_first = has_id & (np.arange(exact.shape[1]) < k)
    are_right = are_first
    if scores is not None:
        last = np.take_along_axis(scores, n_right[:, None] - 1, axis=1)
        are_right = are_first | (has_id & (scores >= last - tolerance))

    def mark(ids: IntArray) -> npt.NDArray[np.int8]:
        answers = np.where(ids == PAD, np.int8(MISSING), np.int8(WRONG))
        for answer, places in ((NEAR, are_right), (KNOWN, are_first)):
            known = np.where(places, exact, PAD)[: len(ids)]
            answers[(ids != PAD) & are_in_lists(ids, known)] = answer
        return answers

    name = f"top {k}{describe_tolerance(tolerance)}, of a truth ({sha256_hex(truth, scores)[:8]})"
    doubts = {"unseen ties": True} if scores is None else {"lower bound": are_right[:, -1]}
    facts: dict[str, Any] = {"are_numbers": truth.dtype.kind == "i", "doubts": doubts}
    sizes = np.zeros_like(n_right)
    return report_answers(lists, mark, n_right, sizes, Protocol(candidates=name), **facts)


def check_tolerance(tolerance: float) -> float:
    """Check how much less similar, or farther, than the last exact id a right one may be."""
    tolerance = number("tolerance", tolerance)
    if not 0 <= tolerance < math.inf:
        raise InputValueError("tolerance", expected="a number from 0 on", got=tolerance)
    return tolerance


def describe_tolerance(tolerance: float) -> str:
    """Return what the name of the candidates says of a tolerance."""
    return f", tolerance {tolerance!r}" if tolerance else ""


def report_answers(
    lists: IntArray,
    mark: Callable[[IntArray], npt.NDArray[np.int8]],
    n_right: IntArray,
    sizes: IntArray,
    protocol: Protocol,
    *,
    trusted: int = 0,
    are_numbers: bool = True,
    doubts: Mapping[str, Any] | None = None,
) -> Report:
    """Report lists by what `mark` says of each place of them, or of lists of the first queries.

    Each query has so many right answers, and candidates: 0 if nobody knows. So many truths are
    trusted; `doubts` say for which queries wrong ids may be right.
    """
    answers = mark(lists)
    hits = np.minimum(np.count_nonzero(answers >= NEAR, axis=1), n_right)
    may_rise = (answers == WRONG).any(axis=1) & (hits < n_right)
    found: dict[str, Any] = {
        "missing ids": np.maximum(n_right - count_ids(lists), 0).sum(),
        "no candidates": np.count_nonzero(answers == STRANGER),
        "tied lists": np.count_nonzero((answers == NEAR).any(axis=1)),
        "without candidates": np.count_nonzero(n_right == 0),
    }
    if are_numbers and mean_recall(hits, n_right) < _LOW_RECALL:
        answers_of_less = mark(np.where(lists > 0, lists - 1, PAD)[_FIRST])
        hits_of_less = np.count_nonzero(answers_of_less >= NEAR, axis=1)
        recall_of_less = mean_recall(hits_of_less, n_right[_FIRST])
        if recall_of_less - mean_recall(hits[_FIRST], n_right[_FIRST]) > _GAIN:
            found["ids from 1"] = recall_of_less
    found["taken on trust"] = trusted
    found |= {name: np.count_nonzero(may_rise & at) for name, at in (doubts or {}).items()}
    findings = [
        Finding(name, math.ceil(number), FINDINGS[name].format(number, f"{len(lists):,}"))
        for name, number in found.items()
        if number
    ]
    # The right answers of each query are ranked: those that were found, and then the others, which
    # tie. A query that finds nothing has a list all the same.
    rows = np.repeat(np.arange(len(n_right)), n_right)
    places = join_ranges(np.zeros_like(n_right), n_right)  # 0, 1, ... in each query
    are_listed = places < hits[rows]
    # The first rank stands for all queries that have no right answers.
    n_queries_without = np.zeros(len(rows), np.int64)
    n_queries_without[:1] = np.count_nonzero(n_right == 0)
    counts = {
        "above": np.where(are_listed, places, hits[rows]),
        "tied": np.where(are_listed, 1, np.maximum(sizes - hits, 0)[rows]),
        "candidates": sizes[rows],
        "listed": are_listed,
        "lengths": np.full(len(rows), lists.shape[1]),
        "without_answers": n_queries_without,
    }
    fields: Any = {"lists": HITS, "depth": lists.shape[1], "version": _core.__version__}
    ranks = Ranks._of(counts, {}, replace(protocol, **fields))
    ranks = ranks.with_labels(queries=rows, targets=places)
    return report_task(ranks, findings, unit="query")


def mean_recall(hits: IntArray, n_right: IntArray) -> float:
    """Return the mean recall of the queries that have right answers."""
    n_queries = max(1, np.count_nonzero(n_right))
    return float((hits / np.maximum(n_right, 1)).sum() / n_queries)
