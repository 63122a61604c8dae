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
    "no candidates": "ids that are no candidates of their query: {:,}",
    "tied lists": "lists with right ids that the truth lacks: {:,}",
    "without candidates": "queries without candidates, which are left out: {:,}",
    "ids from 1": "ids less 1 would have recall {:.2g} in the first 100 queries",
}
# What a place of a list has: no id, one that is no candidate, a wrong one, a right one that the
# truth lacks, one that it has.
MISSING, STRANGER, WRONG, NEAR, KNOWN = range(5)
_FIRST = slice(100)  # These queries are asked whether their ids count from 1,
_LOW, _GAIN = 0.5, 0.1  # if the recall of all is so low, and it is said if theirs gains so much.
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

    Similarities are in double precision, whatever vectors hold: those of floats that are narrower
    differ from it in their last digits, by which near copies are told apart. Only t, and ids that
    the truth lacks, are scored.

    Parameters
    ----------
    queries, entities, similarity, bias, dtype, layout, threads
        As in `rank_embeddings`; the similarity is that of the index.
    ids : array_like of int, shape (q, k), TopK, or path
        The ids that an index lists for each query, the best first; -1, or the largest unsigned
        integer, where it has none. A file is one of `.npy`, `.npz` (ids), `.ivecs`, `.ibin` and
        `.bin`. For a smaller k hand over ``ids[:, :k]``.
    truth : TopK, array_like of int, shape (q, m or more), or path
        The exact lists of these vectors, as `topk_embeddings` or another tool found them. Of files
        the ids are read, not the distances. For double precision throughout, hand over
        `queries` of float64 to `topk_embeddings`. What the command
        `topk` saved must be of the same vectors, candidates and similarity.
    tolerance : float
        So much less similar than the m-th may an id be: 1e-3 with "l2" is ann-benchmarks' rule.
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
        Of queries, with the one key ``recall@k``: `per_query`, intervals, groups and comparisons.
        A query has m right answers, of which those that were found come first, so that two indexes
        are compared query by query; their order says nothing, and other keys are refused. Its
        protocol holds k, similarity, precision and tolerance: recalls that differ in one of them
        are not compared. ``report.audit()`` says how many ids are missing, no candidates, or right
        by their similarity.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` does. For ids that are no integers or out of range, repeated ones, a
        tolerance below 0, and a truth that is none of these vectors and candidates: it has fewer
        ids than there are candidates, or ids that are none, or an id of the lists is more similar
        than its m-th, and it lacks it.

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
    count, size = shape
    place = ""
    if isinstance(value, TopK):
        value = value.ids
    elif isinstance(value, PATHS):
        place = path_name(argument, value)
        value = index_files.read_ids(argument, place, None if keys else size)
        if keys is not None:
            value = keys.rows_of_keys(f"{argument}: {place}", value, size)
    refuse_mask(argument, value)
    array = signed_ids(as_array(value, argument, "a list of ids for each query"), size)
    if array.dtype.kind not in "iu":
        raise InputTypeError(argument, expected="integers", got=f"dtype {array.dtype}")
    width = array.shape[1] if array.ndim == 2 else 0
    k = k or width
    least = max(1, min(k, size))
    if width < least or len(array) != count:
        expected = f"a list of {format_count(least, 'id')} or more for each of "
        expected += format_count(count, "query")
        got = f"shape {array.shape}"
        raise InputValueError(argument, expected=expected, got=got, place=place)
    ids = np.full((count, k), PAD)
    ids[:, :width] = array[:, :k]
    ordered = np.sort(ids, axis=1)  # They are sorted many times faster than their places.
    comes_again = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != PAD)
    rows = np.flatnonzero(comes_again.any(axis=1))
    repeats = np.zeros(ids.shape, np.bool_)
    order = np.argsort(ids[rows], axis=1, kind="stable")
    repeats[rows[:, None], order[:, 1:]] = comes_again[rows]
    expected = f"ids from 0 to {size - 1:,}, or {PAD} for none"
    refuse_first(argument, ids, (ids < PAD) | (ids >= size), expected, place)
    if choice("duplicates", duplicates, DUPLICATES) == "raise":
        ways = [Option("duplicates", "first", "counts it once")]
        refuse_first(argument, ids, repeats, "each id once", place, ways)
    ids[repeats] = PAD
    return ids


def refuse_first(
    argument: str,
    ids: IntArray,
    are_wrong: Flags,
    expected: str,
    place: str = "",
    ways: Sequence[Option] = (),
) -> None:
    """Refuse the first id of which this is true."""
    for row, column in np.argwhere(are_wrong)[:1].tolist():
        got = ids[row, column]
        where = f"{place}: row {row}".removeprefix(": ")
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
    refuse_first("truth", nearest, are_wrong, "candidates of the query alone")
    lengths = sizes
    if job.rules.nan == "omit":  # Those whose similarity is NaN are none.
        lengths = count_ids(nearest)
    are_wrong = (nearest == PAD) & (np.arange(nearest.shape[1]) < lengths[:, None])
    refuse_first("truth", nearest, are_wrong, "an id, as the query has more candidates")


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
    are_known = are_among((lists + first_keys).ravel(), truth_keys).reshape(lists.shape)
    are_known &= lists != PAD
    rows, places = np.nonzero(~are_known & (lists != PAD))
    ids = lists[rows, places]
    marks = np.where(are_candidates(job, rows, ids), WRONG, STRANGER)
    others = np.flatnonzero((marks == WRONG) & (count_ids(nearest)[rows] > 0))
    scores, last_scores = score_others(embeddings, job, nearest, rows[others], ids[others])
    refuse_unlike(embeddings, rows[others], ids[others], scores, last_scores)
    is_near = (scores >= last_scores - tolerance) | np.isnan(last_scores)  # NaN is the worst score
    marks[others[is_near]] = NEAR
    answers = np.where(are_known, np.int8(KNOWN), np.int8(MISSING))
    answers[rows, places] = marks
    return answers


def score_others(
    embeddings: Embeddings, job: Job, nearest: IntArray, rows: IntArray, ids: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Score ids that the truth lacks, and the last id that it has for the same query, in one call.

    A NaN that the rule forbids is refused.
    """
    most = count_ids(nearest)
    queries = np.flatnonzero(most)
    all_rows = np.append(queries, rows)
    all_ids = np.append(nearest[queries, most[queries] - 1], ids)
    scores = embeddings.score(all_rows, all_ids, job.rules.num_threads)
    is_nan = np.isnan(scores)
    if job.rules.nan == "omit":  # Those that the truth lacks are then no candidates.
        is_nan[len(queries) :] = False
    for i in np.flatnonzero(is_nan & (job.rules.nan != "worst"))[:1].tolist():
        place = f"a score at row {all_rows[i]}, column {all_ids[i]}"
        raise forbidden_nan("scores", place, job.rules.nan)
    last = np.zeros(len(most))
    last[queries] = scores[: len(queries)]
    return scores[len(queries) :], last[rows]


def refuse_unlike(
    embeddings: Embeddings, rows: IntArray, ids: IntArray, scores: FloatArray, limits: FloatArray
) -> None:
    """Refuse a truth if a candidate that it lacks is more similar than its last id.

    By more than single precision may round, in any order of additions, also in those of |q|^2 +
    |e|^2 - 2 q e. Only those are looked at that are most above it, of the usual similarities.
    """
    above = np.flatnonzero(scores > limits)
    above = above[np.argsort(limits[above] - scores[above], kind="stable")[:_EXAMPLES]]
    if not len(above) or embeddings.similarity not in ("dot", "cosine", "l2", "sql2"):
        return
    gaps = scores[above] - limits[above]
    if embeddings.similarity == "l2":  # Roots of small numbers differ more: squares are compared.
        gaps *= -scores[above] - limits[above]
    pairs = ((embeddings.queries, rows[above]), (embeddings.entities, ids[above]))
    vectors = [as_floats(each.with_array(each.array[places])) for each, places in pairs]
    with np.errstate(over="ignore"):
        squares = sum(np.linalg.norm(each, axis=1) for each in vectors) ** 2
    if embeddings.similarity == "cosine":
        squares = np.ones(len(above))
    single = np.finfo(np.float32).eps * (8 + vectors[0].shape[1])
    for i in above[gaps > single * (squares + np.abs(limits[above]))][:1].tolist():
        problem = f"query {rows[i]}: entity {ids[i]}, which it lacks, is more similar than its "
        problem += f"last id ({scores[i]:.6g} against {limits[i]:.6g}): it is of other vectors or "
        problem += "candidates, by another similarity or in less than single precision"
        raise InputValueError("truth", problem)


# -- the report ------------------------------------------------------------------------------------


def find_answers(
    embeddings: Embeddings, job: Job, lists: IntArray, nearest: IntArray, tolerance: float
) -> tuple[IntArray, list[Finding]]:
    """Return how many right answers the list of each query has, and what its places have."""
    answers = mark_answers(embeddings, job, lists, nearest, tolerance)
    most = count_ids(nearest)
    hits = np.count_nonzero(answers >= NEAR, axis=1)
    numbers: dict[str, Any] = {
        "missing ids": np.maximum(most - count_ids(lists), 0).sum(),
        "no candidates": np.count_nonzero(answers == STRANGER),
        "tied lists": np.count_nonzero((answers == NEAR).any(axis=1)),
        "without candidates": np.count_nonzero(most == 0),
    }
    shares = hits / np.maximum(most, 1)
    if shares.sum() < _LOW * np.count_nonzero(most):
        less = np.where(lists > 0, lists - 1, PAD)[_FIRST]
        answers = mark_answers(embeddings, job, less, nearest[_FIRST], tolerance)
        of_less = np.count_nonzero(answers >= NEAR, axis=1) / np.maximum(most[_FIRST], 1)
        counted = max(1, np.count_nonzero(most[_FIRST]))
        recall = of_less.sum() / counted
        if recall - shares[_FIRST].sum() / counted > _GAIN:
            numbers["ids from 1"] = recall
    findings = [
        Finding(name, math.ceil(number), FINDINGS[name].format(number))
        for name, number in numbers.items()
        if number
    ]
    return hits, findings


def rank_hits(
    embeddings: Embeddings, job: Job, hits: IntArray, nearest: IntArray, sizes: IntArray
) -> Ranks:
    """Rank the right answers of each query: those that were found, and then the others, which tie.

    A query that finds nothing has a list all the same.
    """
    most = count_ids(nearest)
    rows = np.repeat(np.arange(len(most)), most)
    places = join_ranges(np.zeros_like(most), most)
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
    is_first = np.arange(len(rows)) == 0
    ranks = ranks._with({"without_answers": is_first * np.count_nonzero(most == 0)})
    return ranks.with_labels(queries=rows, targets=places, unit=rows)


# -- the truth -------------------------------------------------------------------------------------


def open_search(
    queries: Any, entities: Any, similarity: Similarity, **search: Any
) -> tuple[Embeddings, Job]:
    """Open vectors, whose scores are in double precision, and a task for each query.

    `search` has what else `evaluate_topk` takes of this.
    """
    bias, filter, candidates = map(search.pop, ("bias", "filter", "candidates"), [None] * 3)
    rules = read_rules(search, SimilarityOptions, evaluate_topk)
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
    tokens = embeddings.tokens or (None, None)
    facts: dict[str, Any] = {"similarity": embeddings.similarity, "precision": embeddings.dtype}
    facts |= {"queries": len(job.targets), "entities": embeddings.shape[-1]}
    entities = embeddings.entities.array, tokens[1], embeddings.bias, embeddings.layout
    queries = embeddings.queries.array, tokens[0]
    candidates = job.candidates, job.filter, job.rules.nan
    for name, parts in zip(index_files.DIGESTS, (queries, entities, candidates), strict=True):
        facts[f"digest of {name}"] = sha256_of(*parts)[:16]
    return facts


def join_lists(argument: str, paths: Sequence[str]) -> tuple[dict[str, Any], TopK]:
    """Join the saved lists of parts of the queries; return what tells the search, and the lists.

    Parts of other searches are refused, and queries that come twice or not at all.
    """
    parts = [index_files.load_top(argument, path) for path in paths]
    facts = parts[0][0]
    for path, (others, _) in zip(paths, parts, strict=True):
        for name, fact in facts.items():
            if others[name] != fact and name != "ties":
                expected = f"{name} {fact}, as {paths[0]}"
                raise InputValueError(argument, expected=expected, got=others[name], place=path)
    rows, ids, scores = (
        np.concatenate([members[name] for _, members in parts])
        for name in ("rows", "ids", "scores")
    )
    order = np.argsort(rows, kind="stable")
    size = facts["queries"]
    numbers = np.bincount(rows[(rows >= 0) & (rows < size)], minlength=size)
    if len(rows) != size or (numbers != 1).any():
        expected = f"each of {size:,} queries once"
        got = f"{len(rows):,} lists"
        missing = np.flatnonzero(numbers == 0)
        if len(missing):
            got += f"; missing: {describe_rows(missing, size)}"
        raise InputValueError(argument, expected=expected, got=got)
    return facts | {"ties": sum(others["ties"] for others, _ in parts)}, TopK(
        ids[order], scores[order]
    )


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
