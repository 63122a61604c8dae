"""Recall of an index: the lists that it returned, beside exact ones, in double precision.

How exact lists are searched, joined and read is here, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ..arrays.input_files import path_name
from ..arrays.row_keys import are_among
from ..arrays.saved_files import read_npz
from ..counting.job import sha256_of
from ..counting.lists import PAD, TopK
from ..embeddings.scoring import topk_of_job
from ..embeddings.vectors import Embeddings, watching
from ..errors import InputTypeError, InputValueError, Option
from ..inputs.array_likes import as_array, as_floats, refuse_mask
from ..inputs.checks import choice, forbidden_nan, number, signed_ids
from ..inputs.rules import SimilarityOptions, read_rules, with_options
from ..inputs.selection import join_ranges, list_numbers
from ..metrics.answers import HITS
from ..naming import format_count, public
from ..records.lists import DUPLICATES, write_run
from ..reporting import Finding
from ..reporting.audit import describe_rows
from ..reporting.reports import report_task
from ..stores import PATHS, index_files
from .list_evaluation import selection_keys

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray
    from ..counting.job import Job
    from ..inputs.rules import Similarity
    from ..ranks.container import Ranks
    from ..records.vocabularies import Vocabulary
    from ..reporting import Report

    Flags = npt.NDArray[np.bool_]

FORMS = (*index_files.LISTS, ".fbin", ".run")  # in which lists are written
# Their scores are distances below 0, which files of indexes have above 0.
DISTANCES = ("l1", "l2", "sql2", "complex_l1", "poincare")
# What a report of an index finds in its lists.
FINDINGS = {
    "missing ids": "ids that are missing, or come again: {:,}",
    "no candidates": "ids that are not candidates of their query: {:,}",
    "tied lists": "lists with right ids that the truth lacks: {:,}",
    "without candidates": "queries without candidates, which are left out: {:,}",
    "ids from 1": "ids less 1 would have recall {:.2g} in the first 100 queries",
}
# What a place of a list has: no id, one that is no candidate, a wrong one, a right one that the
# truth lacks, one that it has. From NEAR on it is right.
MISSING, STRANGER, WRONG, NEAR, KNOWN = range(5)
# If the recall is so low, it is measured in the first queries with ids less 1; a finding says so if
# it is so much higher.
_LOW_RECALL, _GAIN = 0.5, 0.1
_FIRST = slice(100)
_EXAMPLES = 100  # ids that contradict a truth, of which one must do so beyond rounding


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
    the similarity of the m-th id of the truth. An id is right if the first m of the truth have it,
    or if it is a candidate whose similarity is at least t - `tolerance`: whatever ties is right.
    The recall of a query is (right ids among its k, each once, at most m) / m, and the recall is
    the mean over queries, as ann-benchmarks and DiskANN have it; queries without candidates are
    left out.

    Similarities are in double precision, whatever vectors hold: narrower floats give other last
    digits, by which near copies are told apart. Only t, and ids that the truth lacks, are scored.

    Parameters
    ----------
    queries, entities, similarity, bias, dtype, layout, threads
        As in `rank_embeddings`; the similarity is that of the index.
    ids : array_like of int, shape (q, k), TopK, or path
        The ids that an index lists for each query, the best first; -1, or the largest unsigned
        integer, where it has none. A file is one of `.npy`, `.npz` (ids), `.ivecs`, `.ibin` and
        `.bin`. For a smaller k hand over ``ids[:, :k]``.
    truth : TopK, array_like of int, shape (q, m or more), or path
        The exact lists of these vectors, as `topk_embeddings` or another tool found them. Files
        give their ids, not their distances. For double precision throughout, give `topk_embeddings`
        `queries` of float64. A file of the command `topk` must be of the same vectors, candidates
        and similarity.
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
        many ids are missing, are no candidates, or are right by their similarity.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` does. For ids that are no integers or out of range, repeated ones, a
        tolerance below 0, and a truth that is not of these vectors and candidates: it has fewer ids
        than there are candidates, or ids that are no candidates, or it lacks an id of the lists
        that is more similar than its m-th.

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
    tolerance = number("tolerance", tolerance)
    if not 0 <= tolerance < math.inf:
        raise InputValueError("tolerance", expected="a number from 0 on", got=tolerance)
    search: dict[str, Any] = {"bias": bias, "filter": filter, "candidates": candidates}
    embeddings, job = open_search(queries, entities, similarity, **search, **options)
    count, size = len(job.targets), embeddings.shape[-1]
    lists = read_lists("ids", ids, (count, size), duplicates=duplicates)
    k = lists.shape[1]
    if isinstance(truth, PATHS):
        truth = read_truth(path_name("truth", truth), embeddings, job)
    nearest = read_lists("truth", truth, (count, size), k)
    sizes = count_candidates(job, size)
    check_truth(nearest, sizes, job)
    with watching(job.rules.progress, lists.nbytes):
        hits, findings = find_answers(embeddings, job, lists, nearest, tolerance)
    name = f"top {min(k, size)} by {embeddings.measure} in {embeddings.dtype}"
    if tolerance:
        name += f", tolerance {tolerance!r}"
    if job.candidates is not None:
        name += f", of a selection ({sha256_of(job.candidates)[:8]})"
    ranks = rank_hits(embeddings, job, hits, nearest, sizes).with_protocol(candidates=name)
    return report_task(ranks, findings, unit="query")


# -- lists -----------------------------------------------------------------------------------------


def read_lists(
    argument: str,
    value: Any,
    shape: tuple[int, int],
    k: int = 0,
    duplicates: str = "raise",
    keys: Vocabulary | None = None,
) -> IntArray:
    """Return the first k ids (0: all) of the list of each query, and -1 where there is none.

    The shape is that of the scores; as few ids as entities suffice. An id that comes again is
    refused, or -1 where it counts once. Those of files may be keys of the entities.
    """
    n_queries, n_entities = shape
    array, place = _read_ids(argument, value, n_entities, keys)
    width = array.shape[1] if array.ndim == 2 else 0
    k = k or width
    least = max(1, min(k, n_entities))
    if width < least or len(array) != n_queries:
        expected = f"a list of {format_count(least, 'id')} or more for each of "
        expected += format_count(n_queries, "query")
        got = f"shape {array.shape}"
        raise InputValueError(argument, expected=expected, got=got, place=place)
    ids = np.full((n_queries, k), PAD)
    ids[:, :width] = array[:, :k]
    expected = f"ids from 0 to {n_entities - 1:,}, or {PAD} for none"
    refuse_where((ids < PAD) | (ids >= n_entities), argument, ids, expected, place)
    are_repeats = _find_repeats(ids)
    if choice("duplicates", duplicates, DUPLICATES) == "raise":
        ways = [Option("duplicates", "first", "counts it once")]
        refuse_where(are_repeats, argument, ids, "each id once", place, ways)
    ids[are_repeats] = PAD
    return ids


def _read_ids(
    argument: str, value: Any, n_entities: int, keys: Vocabulary | None
) -> tuple[IntArray, str]:
    """Return the ids of lists as integers, and the file that has them, if any."""
    place = ""
    if isinstance(value, TopK):
        value = value.ids
    elif isinstance(value, PATHS):
        place = path_name(argument, value)
        if keys is None:
            value = index_files.read_ids(argument, place, n_entities)
        else:
            value = index_files.read_ids(argument, place)
            value = keys.find_keys(f"{argument}: {place}", value, n_entities)
    refuse_mask(argument, value)
    array = signed_ids(as_array(value, argument, "a list of ids for each query"), n_entities)
    if array.dtype.kind not in "iu":
        raise InputTypeError(argument, expected="integers", got=f"dtype {array.dtype}")
    return array, place


def _find_repeats(ids: IntArray) -> Flags:
    """Return where a list has an id that it has before."""
    in_order = np.sort(ids, axis=1)  # Ids are sorted many times faster than their places.
    are_equal = (in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] != PAD)
    rows = np.flatnonzero(are_equal.any(axis=1))
    places_in_order = np.argsort(ids[rows], axis=1, kind="stable")
    are_repeats = np.zeros(ids.shape, np.bool_)
    are_repeats[rows[:, None], places_in_order[:, 1:]] = are_equal[rows]
    return are_repeats


def refuse_where(
    are_wrong: Flags,
    argument: str,
    ids: IntArray,
    expected: str,
    place: str = "",
    ways: Sequence[Option] = (),
) -> None:
    """Refuse lists if an id is wrong; the error names the first one."""
    if are_wrong.any():
        row, column = np.argwhere(are_wrong)[0]
        where = f"{place}: row {row}".removeprefix(": ")
        got = int(ids[row, column])
        raise InputValueError(argument, expected=expected, got=got, place=where, remedies=ways)


def count_ids(lists: IntArray) -> IntArray:
    """Return how many ids each list has."""
    lengths: IntArray = np.count_nonzero(lists != PAD, axis=1).astype(np.int64)
    return lengths


def check_truth(nearest: IntArray, sizes: IntArray, job: Job) -> None:
    """Refuse lists that are not of the first candidates of queries that have so many of them."""
    rows, places = np.nonzero(nearest != PAD)
    are_wrong = np.zeros(nearest.shape, np.bool_)
    are_wrong[rows, places] = ~are_candidates(job, rows, nearest[rows, places])
    refuse_where(are_wrong, "truth", nearest, "only candidates of the query")
    # With "omit", an entity whose similarity is NaN is no candidate: any length may be right.
    lengths = count_ids(nearest) if job.rules.nan == "omit" else sizes
    are_missing = (nearest == PAD) & (np.arange(nearest.shape[1]) < lengths[:, None])
    refuse_where(are_missing, "truth", nearest, "an id, as the query has more candidates")


# -- who is a candidate ----------------------------------------------------------------------------


def is_in(selection: Any, rows: IntArray, ids: npt.NDArray[Any]) -> Flags:
    """Return whether each id is in the list that a selection has for its query."""
    size = 1 + max(int(ids.max(initial=0)), int(selection.indices.max(initial=0)))
    return are_among(list_numbers(selection, rows) * size + ids, selection_keys(selection, size))


def are_candidates(job: Job, rows: IntArray, ids: IntArray) -> Flags:
    """Return whether each id is a candidate of its query."""
    are = np.ones(len(ids), np.bool_)
    if job.candidates is not None:
        are &= is_in(job.candidates, rows, ids)
    if job.filter is not None:
        are &= ~is_in(job.filter, rows, ids)
    return are


def count_candidates(job: Job, size: int) -> IntArray:
    """Return how many candidates each query has, those with NaN among them."""
    queries = np.arange(len(job.targets))
    sizes = np.full(len(queries), size)
    if job.candidates is not None:
        sizes = np.diff(job.candidates.indptr)[list_numbers(job.candidates, queries)]
    if job.filter is not None:
        lists = list_numbers(job.filter, queries)
        lengths = np.diff(job.filter.indptr)[lists]
        rows = np.repeat(queries, lengths)
        if job.candidates is not None:  # Others are left out already.
            ids = job.filter.indices[join_ranges(job.filter.indptr[lists], lengths)]
            rows = rows[is_in(job.candidates, rows, ids)]
        sizes = sizes - np.bincount(rows, minlength=len(queries))
    return sizes


# -- what is right ---------------------------------------------------------------------------------


def mark_answers(
    embeddings: Embeddings, job: Job, lists: IntArray, nearest: IntArray, tolerance: float
) -> npt.NDArray[np.int8]:
    """Mark what each place of the lists of the first queries has, from MISSING to KNOWN.

    `nearest` has the first ids of the truth; a query without any has no candidates.
    """
    first_keys = embeddings.shape[-1] * np.arange(len(lists))[:, None]
    truth_keys = (nearest + first_keys)[nearest != PAD]
    has_id = lists != PAD
    are_known = has_id & are_among((lists + first_keys).ravel(), truth_keys).reshape(lists.shape)
    answers = np.where(are_known, np.int8(KNOWN), np.int8(MISSING))
    rows, places = np.nonzero(has_id & ~are_known)
    is_candidate = are_candidates(job, rows, lists[rows, places])
    answers[rows, places] = np.where(is_candidate, WRONG, STRANGER)
    is_scored = is_candidate & (count_ids(nearest)[rows] > 0)
    rows, places = rows[is_scored], places[is_scored]
    ids = lists[rows, places]
    scores, last_scores = score_beside_last(embeddings, job, nearest, rows, ids)
    refuse_truth_that_lacks(embeddings, rows, ids, scores, last_scores)
    is_near = (scores >= last_scores - tolerance) | np.isnan(last_scores)  # NaN is the worst score
    answers[rows[is_near], places[is_near]] = NEAR
    return answers


def score_beside_last(
    embeddings: Embeddings, job: Job, nearest: IntArray, rows: IntArray, ids: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Score ids that the truth lacks, and for each the last id that it has for the same query.

    A NaN that the rule forbids is refused.
    """
    lengths = count_ids(nearest)
    queries = np.flatnonzero(lengths)
    all_rows = np.append(rows, queries)
    all_ids = np.append(ids, nearest[queries, lengths[queries] - 1])
    scores = embeddings.score(all_rows, all_ids, job.rules.num_threads)
    are_refused = np.isnan(scores) & (job.rules.nan != "worst")
    if job.rules.nan == "omit":  # Those that the truth lacks are then no candidates.
        are_refused[: len(rows)] = False
    if are_refused.any():
        first = int(are_refused.argmax())
        place = f"a score at row {all_rows[first]}, column {all_ids[first]}"
        raise forbidden_nan("scores", place, job.rules.nan)
    last_scores = np.zeros(len(lengths))
    last_scores[queries] = scores[len(rows) :]
    return scores[: len(rows)], last_scores[rows]


def refuse_truth_that_lacks(
    embeddings: Embeddings,
    rows: IntArray,
    ids: IntArray,
    scores: FloatArray,
    last_scores: FloatArray,
) -> None:
    """Refuse a truth if a candidate that it lacks is more similar than its last id.

    The difference must be more than single precision may round, in any order of additions, also in
    those of |q|^2 + |e|^2 - 2 q e. Of the usual similarities, the largest differences are tested.
    """
    above = np.flatnonzero(scores > last_scores)
    above = above[np.argsort(last_scores[above] - scores[above], kind="stable")[:_EXAMPLES]]
    if not len(above) or embeddings.similarity not in ("dot", "cosine", "l2", "sql2"):
        return
    gaps = scores[above] - last_scores[above]
    if embeddings.similarity == "l2":  # Roots of small numbers differ more: squares are compared.
        sums_of_distances = -scores[above] - last_scores[above]
        gaps *= sums_of_distances
    roundings = rounding_of_floats(embeddings, rows[above], ids[above], last_scores[above])
    are_beyond = gaps > roundings
    if are_beyond.any():
        i = above[are_beyond.argmax()]
        problem = f"query {rows[i]}: entity {ids[i]} is missing, but more similar than the "
        problem += (
            f"last id ({scores[i]:.6g} against {last_scores[i]:.6g}): the truth has other vectors, "
        )
        problem += "candidates or similarity, or less than single precision"
        raise InputValueError("truth", problem)


def rounding_of_floats(
    embeddings: Embeddings, rows: IntArray, ids: IntArray, last_scores: FloatArray
) -> FloatArray:
    """Return by how much float32 may round the scores of some pairs; by l2, their squares.

    A sum of d products has at most d roundings, |q|^2 + |e|^2 - 2 q e a few more; each is a share
    eps of what is added, at most (|q| + |e|)^2.
    """
    vectors = [
        as_floats(part.with_array(part.array[places]))
        for part, places in ((embeddings.queries, rows), (embeddings.entities, ids))
    ]
    with np.errstate(over="ignore"):
        largest_sums: FloatArray = sum(np.linalg.norm(each, axis=1) for each in vectors) ** 2
    if embeddings.similarity == "cosine":
        largest_sums = np.ones(len(rows))
    n_roundings = 8 + vectors[0].shape[1]
    roundings: FloatArray = (
        np.finfo(np.float32).eps * n_roundings * (largest_sums + np.abs(last_scores))
    )
    return roundings


# -- the report ------------------------------------------------------------------------------------


def find_answers(
    embeddings: Embeddings, job: Job, lists: IntArray, nearest: IntArray, tolerance: float
) -> tuple[IntArray, list[Finding]]:
    """Return how many right answers the list of each query has, and what its places have."""
    answers = mark_answers(embeddings, job, lists, nearest, tolerance)
    n_right = count_ids(nearest)
    hits = np.count_nonzero(answers >= NEAR, axis=1)
    numbers: dict[str, Any] = {
        "missing ids": np.maximum(n_right - count_ids(lists), 0).sum(),
        "no candidates": np.count_nonzero(answers == STRANGER),
        "tied lists": np.count_nonzero((answers == NEAR).any(axis=1)),
        "without candidates": np.count_nonzero(n_right == 0),
    }
    if mean_recall(hits, n_right) < _LOW_RECALL:
        less = np.where(lists > 0, lists - 1, PAD)[_FIRST]
        answers = mark_answers(embeddings, job, less, nearest[_FIRST], tolerance)
        hits_of_less = np.count_nonzero(answers >= NEAR, axis=1)
        recall_of_less = mean_recall(hits_of_less, n_right[_FIRST])
        if recall_of_less - mean_recall(hits[_FIRST], n_right[_FIRST]) > _GAIN:
            numbers["ids from 1"] = recall_of_less
    findings = [
        Finding(name, math.ceil(number), FINDINGS[name].format(number))
        for name, number in numbers.items()
        if number
    ]
    return hits, findings


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
    without_answers = np.zeros(len(rows), np.int64)
    without_answers[:1] = np.count_nonzero(n_right == 0)
    ranks = ranks._with({"without_answers": without_answers})
    return ranks.with_labels(queries=rows, targets=places)


# -- the truth -------------------------------------------------------------------------------------


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


def find_nearest(embeddings: Embeddings, job: Job, k: int, rows: IntArray | None = None) -> TopK:
    """Search the most similar candidates of queries, or of some of them."""
    if rows is not None:
        job = job.part(rows, job.all_rows[rows])
    size = len(job.targets) * embeddings.shape[-1] * embeddings.itemsize
    with watching(job.rules.progress, size) as watch:
        return topk_of_job(embeddings, job, k, watch)


def facts_of_search(embeddings: Embeddings, job: Job) -> dict[str, Any]:
    """Return what tells a search from others, by names for messages: numbers, words and digests."""
    tokens_of_queries, tokens_of_entities = embeddings.tokens or (None, None)
    facts: dict[str, Any] = {"similarity": embeddings.similarity, "precision": embeddings.dtype}
    facts |= {"queries": len(job.targets), "entities": embeddings.shape[-1]}
    addends_and_layout = (embeddings.bias, embeddings.layout)
    content = {
        "queries": (embeddings.queries.array, tokens_of_queries),
        "entities": (embeddings.entities.array, tokens_of_entities, *addends_and_layout),
        "candidates": (job.candidates, job.filter, job.rules.nan),
    }
    for name in index_files.DIGESTS:
        facts[f"digest of {name}"] = sha256_of(*content[name])[:16]
    return facts


def join_lists(argument: str, paths: Sequence[str]) -> tuple[dict[str, Any], TopK]:
    """Join the saved lists of parts of the queries; return what tells the search, and the lists.

    Parts of other searches are refused, and queries that come twice or not at all.
    """
    facts_of_parts, members_of_parts = zip(
        *(index_files.load_top(argument, path) for path in paths), strict=True
    )
    facts = facts_of_parts[0]
    for path, facts_of_part in zip(paths, facts_of_parts, strict=True):
        for name, fact in facts.items():
            got = facts_of_part[name]
            if got != fact and name != "ties":
                expected = f"{name} {fact}, as {paths[0]}"
                raise InputValueError(argument, expected=expected, got=got, place=path)
    rows, ids, scores = (
        np.concatenate([members[name] for members in members_of_parts])
        for name in ("rows", "ids", "scores")
    )
    _check_each_row_once(argument, rows, facts["queries"])
    order = np.argsort(rows, kind="stable")
    ties = sum(facts_of_part["ties"] for facts_of_part in facts_of_parts)
    return facts | {"ties": ties}, TopK(ids[order], scores[order])


def _check_each_row_once(argument: str, rows: IntArray, n_queries: int) -> None:
    """Refuse rows unless each query has one."""
    times = np.bincount(rows[(rows >= 0) & (rows < n_queries)], minlength=n_queries)
    if len(rows) == n_queries and (times == 1).all():
        return
    missing = np.flatnonzero(times == 0)
    got = f"{len(rows):,} lists"
    if len(missing):
        got += f"; missing: {describe_rows(missing, n_queries)}"
    raise InputValueError(argument, expected=f"each of {n_queries:,} queries once", got=got)


def check_form(argument: str, path: str, entities: int) -> None:
    """Refuse a name of which no form of lists is known, or whose ids have too few bytes."""
    ending = index_files.ending_of(path)
    if ending not in FORMS:
        expected = f"a name that ends in one of {', '.join(FORMS)}"
        raise InputValueError(argument, expected=expected, got=path)
    if ending in (".ivecs", ".ibin", ".bin") and entities > index_files.MOST_IDS:
        expected = (
            f"at most {index_files.MOST_IDS:,} entities in {ending}, whose ids have 4 bytes; "
        )
        raise InputValueError(argument, expected=f"{expected}.npz has 8", got=f"{entities:,}")


def save_lists(path: str, top: TopK, rows: IntArray, facts: Mapping[str, Any]) -> None:
    """Write the lists of some queries in the form that the ending of a name says."""
    ending = index_files.ending_of(path)
    if ending == ".npz":
        index_files.save_top(path, facts, ids=top.ids, scores=top.scores, rows=rows)
    elif ending == ".run":
        write_run(path, top, queries=rows.tolist())
    else:
        is_distance = facts["similarity"] in DISTANCES
        index_files.write_lists(path, top.ids, -top.scores if is_distance else top.scores)


def read_truth(path: str, embeddings: Embeddings, job: Job) -> IntArray:
    """Read the ids of exact lists; what was saved with digests must be of this search."""
    is_saved = path.lower().endswith(".npz") and "truerank" in read_npz("truth", path, ())[0]
    if not is_saved:
        return index_files.read_ids("truth", path)
    facts, top = join_lists("truth", [path])
    for name, fact in facts_of_search(embeddings, job).items():
        if facts[name] != fact:
            got = facts[name]
            raise InputValueError("truth", expected=f"{name} {fact}", got=got, place=path)
    return top.ids
