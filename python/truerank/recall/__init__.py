"""Recall of an index: the lists that it returned, beside exact ones, in double precision."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ..arrays.row_keys import cut_blocks
from ..counting.job import sha256_hex
from ..counting.lists import PAD, TopK
from ..embeddings.vectors import Embeddings, watching
from ..errors import InputValueError
from ..inputs.checks import number
from ..inputs.rules import SimilarityOptions, read_rules, with_options
from ..inputs.selection import join_ranges
from ..metrics.answers import HITS
from ..naming import public
from ..reporting import Finding
from ..reporting.reports import report_task
from ..tasks.side import are_candidates
from .files import count_ids, read_lists
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

    from ..arrays import IntArray
    from ..counting.job import Job
    from ..inputs.rules import Similarity
    from ..ranks.container import Ranks
    from ..reporting import Report

# What a report of an index finds in its lists.
FINDINGS = {
    "missing ids": "ids that are missing, or come again: {:,}",
    "no candidates": "ids that are not candidates of their query: {:,}",
    "tied lists": "lists with right ids that the truth lacks: {:,}",
    "without candidates": "queries without candidates, which are left out: {:,}",
    "taken on trust": "queries whose truth is taken on trust: {:,}",
    "ids from 1": "ids less 1 would have recall {:.2g} in the first 100 queries",
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
    are_known = has_id & are_in_lists(lists, truth.ids, embeddings.shape[-1])
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
) -> Report:
    """Report the recall of lists beside exact ones, some taken on trust, which may be longer."""
    tolerance = number("tolerance", tolerance)
    if not 0 <= tolerance < math.inf:
        raise InputValueError("tolerance", expected="a number from 0 on", got=tolerance)
    k, size = lists.shape[1], embeddings.shape[-1]
    exact = take(exact, np.s_[:, :k])
    answers = mark_answers(embeddings, job, lists, exact, tolerance)
    n_right = count_ids(exact.ids)
    hits = np.count_nonzero(answers >= NEAR, axis=1)
    numbers: dict[str, Any] = {
        "missing ids": np.maximum(n_right - count_ids(lists), 0).sum(),
        "no candidates": np.count_nonzero(answers == STRANGER),
        "tied lists": np.count_nonzero((answers == NEAR).any(axis=1)),
        "without candidates": np.count_nonzero(n_right == 0),
    }
    if mean_recall(hits, n_right) < _LOW_RECALL:
        less = np.where(lists > 0, lists - 1, PAD)[_FIRST]
        answers_of_less = mark_answers(embeddings, job, less, take(exact, _FIRST), tolerance)
        hits_of_less = np.count_nonzero(answers_of_less >= NEAR, axis=1)
        recall_of_less = mean_recall(hits_of_less, n_right[_FIRST])
        if recall_of_less - mean_recall(hits[_FIRST], n_right[_FIRST]) > _GAIN:
            numbers["ids from 1"] = recall_of_less
    numbers["taken on trust"] = on_trust
    findings = [
        Finding(name, math.ceil(number), FINDINGS[name].format(number))
        for name, number in numbers.items()
        if number
    ]
    name = f"top {min(k, size)} by {embeddings.measure} in {embeddings.dtype}"
    if tolerance:
        name += f", tolerance {tolerance!r}"
    if job.candidates is not None:
        name += f", of a selection ({sha256_hex(job.candidates)[:8]})"
    sizes = count_candidates(job, size)
    ranks = rank_hits(embeddings, job, hits, exact.ids, sizes).with_protocol(candidates=name)
    return report_task(ranks, findings, unit="query")


def mean_recall(hits: IntArray, n_right: IntArray) -> float:
    """Return the mean recall of the queries that have right answers."""
    n_queries = max(1, np.count_nonzero(n_right))
    return float((hits / np.maximum(n_right, 1)).sum() / n_queries)


def rank_hits(
    embeddings: Embeddings, job: Job, hits: IntArray, nearest: IntArray, sizes: IntArray
) -> Ranks:
    """Rank the right answers of each query: those that were found, and then the others, which tie.

    A query that finds nothing has a list all the same.
    """
    n_right = count_ids(nearest)
    rows = np.repeat(np.arange(len(n_right)), n_right)
    places = join_ranges(np.zeros_like(n_right), n_right)  # 0, 1, ... in each query
    are_listed = places < hits[rows]
    k = nearest.shape[1]
    counts = {
        "above": np.where(are_listed, places, hits[rows]),
        "tied": np.where(are_listed, 1, (sizes - hits)[rows]),
        "candidates": sizes[rows],
        "listed": are_listed,
        "lengths": np.full(len(rows), k),
    }
    fields = {"similarity": embeddings.measure, "lists": HITS, "depth": k}
    ranks = job.ranks(counts, embeddings.dtype, embeddings.files, **fields)
    # The first rank stands for all queries that have no right answers.
    n_queries_without = np.zeros(len(rows), np.int64)
    n_queries_without[:1] = np.count_nonzero(n_right == 0)
    ranks = ranks._with({"without_answers": n_queries_without})
    return ranks.with_labels(queries=rows, targets=places)
