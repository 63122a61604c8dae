"""Recall of an index: the lists that it returned, beside exact ones, in double precision.

How exact lists are searched, joined and read is here, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .. import _core
from ..arrays.input_files import path_name
from ..arrays.row_keys import are_among
from ..arrays.saved_files import read_npz
from ..counting.job import sha256_hex
from ..counting.lists import PAD, REPEATS, TopK
from ..embeddings.scoring import search_topk
from ..embeddings.vectors import Embeddings, watching, widened
from ..errors import InputTypeError, InputValueError, Option
from ..inputs.array_likes import as_array, refuse_mask, stack_lists
from ..inputs.checks import choice, forbidden_nan, number, signed_ids
from ..inputs.rules import SimilarityOptions, read_rules, with_options
from ..inputs.selection import find_entries, is_in, join_ranges, lengths_to_indptr, list_numbers
from ..naming import format_count, public
from ..ranks.container import Ranks
from ..ranks.protocol import HITS, Protocol
from ..records.lists import DUPLICATES, write_run
from ..reporting import Finding
from ..reporting.audit import describe_rows
from ..reporting.reports import report_task
from ..stores import PATHS, index_files
from .side import are_candidates

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._core import Scores
    from ..arrays.types import FloatArray, IntArray
    from ..counting.job import Job
    from ..inputs.rules import Similarity
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
    "without truth": "queries for which the truth has no ids, which are left out: {:,}",
    "taken on trust": "queries whose truth is taken on trust: {:,}",
    "ids from 1": "ids less 1 would have recall {:.2g} in the first 100 queries",
    "unseen ties": "queries with ids that may tie unseen, as the truth has no distances: {:,} of "
    "{:,}",
    "lower bound": "queries whose recall is a lower bound, as the truth ends within a tie: {:,} of "
    "{:,}",
}
# What a place of a list has: no id, one that is no candidate, a wrong one, a right one that the
# truth lacks, one that it has. From NEAR on it is right.
MISSING, STRANGER, WRONG, NEAR, KNOWN = range(5)
# If the recall is so low, it is measured in the first queries with ids less 1; a finding says so if
# it is so much higher.
_LOW_RECALL, _GAIN = 0.5, 0.1
_FIRST = slice(100)
_EXAMPLES = 100  # ids that contradict a truth, of which one must do so beyond rounding
_SEARCHED = 16  # queries of a truth that is looked at, and the largest file that is read for it
_MOST_BYTES = 16_000_000_000


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


# -- lists -----------------------------------------------------------------------------------------


def read_lists(
    argument: str,
    value: Any,
    shape: tuple[int, int],
    k: int = 0,
    *,
    duplicates: str = "raise",
    keys: Vocabulary | None = None,
    is_whole: bool = False,
) -> IntArray:
    """Return the first k ids (0: all) of the list of each query, and -1 where there is none.

    The shape is that of the scores; as few ids as entities suffice, and whole lists may have more.
    An id that comes again is refused, or -1 where it counts once. Those of files may be keys of the
    entities.
    """
    n_queries, n_entities = shape
    place = ""  # the file that has the lists
    ids: Any = value
    if isinstance(value, TopK):
        ids = value.ids
    elif isinstance(value, PATHS):
        place = path_name(argument, value)
        if keys is None:
            ids = index_files.read_ids(argument, place, n_entities)
        else:
            names = index_files.read_ids(argument, place)
            ids = keys.find_keys(f"{argument}: {place}", names, n_entities)
    refuse_mask(argument, ids)
    table = stack_lists(argument, as_array(ids, argument, "a list of ids for each query"))
    array = signed_ids(table, n_entities)
    if array.dtype.kind not in "iu":
        raise InputTypeError(argument, expected="integers", got=f"dtype {array.dtype}")
    width = array.shape[1] if array.ndim == 2 else 0
    k = k or width
    least = max(1, min(k, n_entities))
    if width < least or len(array) != n_queries:
        expected = f"a list of {format_count(least, 'id')} or more for each of "
        expected += format_count(n_queries, "query")
        got = f"shape {array.shape}"
        raise InputValueError(argument, expected=expected, got=got, place=place)
    if is_whole:
        k = max(k, width)
    lists = np.full((n_queries, k), PAD)
    lists[:, :width] = array[:, :k]
    expected = f"ids from 0 to {n_entities - 1:,}, or {PAD} for none"
    refuse_where((lists < PAD) | (lists >= n_entities), argument, lists, expected, place)
    if choice("duplicates", duplicates, DUPLICATES) == "raise":
        refuse_repeats(argument, lists, lists, place, [REPEATS])
    lists[find_repeats(lists)] = PAD
    return lists


def find_repeats(ids: IntArray) -> Flags:
    """Return where a list has an id that it has before."""
    in_order = np.sort(ids, axis=1)  # Ids are sorted many times faster than their places.
    are_equal = (in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] != PAD)
    rows = np.flatnonzero(are_equal.any(axis=1))
    places_in_order = np.argsort(ids[rows], axis=1, kind="stable")
    are_repeats = np.zeros(ids.shape, np.bool_)
    are_repeats[rows[:, None], places_in_order[:, 1:]] = are_equal[rows]
    return are_repeats


def refuse_repeats(
    argument: str, numbers: IntArray, ids: Any, place: str = "", ways: Sequence[Option] = ()
) -> None:
    """Refuse lists that have an id twice; they are compared by numbers of their ids."""
    refuse_where(find_repeats(numbers), argument, ids, "each id once", place, ways)


def refuse_where(
    are_wrong: Flags,
    argument: str,
    ids: npt.NDArray[Any],
    expected: str,
    place: str = "",
    ways: Sequence[Option] = (),
) -> None:
    """Refuse lists if an id is wrong; the error names the first one and says how many are so."""
    if are_wrong.any():
        row, column = np.argwhere(are_wrong)[0]
        where = f"{place}: row {row}".removeprefix(": ")
        n_lists = np.count_nonzero(are_wrong.any(axis=1))
        got = f"{ids[row, column].item()} (so in {n_lists:,} of {len(ids):,} lists)"
        raise InputValueError(argument, expected=expected, got=got, place=where, remedies=ways)


def count_ids(lists: IntArray) -> IntArray:
    """Return how many ids each list has."""
    lengths: IntArray = np.count_nonzero(lists != PAD, axis=1).astype(np.int64)
    return lengths


# -- who is a candidate ----------------------------------------------------------------------------


def count_candidates(job: Job, size: int) -> IntArray:
    """Return how many candidates each query has, those with NaN among them."""
    queries = np.arange(len(job.targets))
    sizes = np.full(len(queries), size)
    if job.candidates is not None:
        sizes = np.diff(job.candidates.indptr)[list_numbers(job.candidates, queries)]
    if job.filter is not None:
        lists = list_numbers(job.filter, queries)
        lengths, places = find_entries(job.filter.indptr, lists)
        rows = np.repeat(queries, lengths)
        if job.candidates is not None:  # Others are left out already.
            rows = rows[is_in(job.candidates, rows, job.filter.indices[places])]
        sizes = sizes - np.bincount(rows, minlength=len(queries))
    return sizes


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


def are_in_lists(ids: IntArray, lists: IntArray, size: int) -> Flags:
    """Return whether each id, of so many and PAD, is in the list of its row."""
    first_keys = (size + 1) * np.arange(len(lists))[:, None]
    return are_among((ids + first_keys).ravel(), (lists + first_keys).ravel()).reshape(ids.shape)


def score_pairs(
    embeddings: Embeddings, job: Job, rows: IntArray, ids: IntArray, rules: Sequence[str]
) -> FloatArray:
    """Score pairs of a query and an id; a NaN is refused unless one of the rules is the job's."""
    scores = embeddings.score(rows, ids, job.rules.num_threads)
    are_refused = np.isnan(scores) & (job.rules.nan not in rules)
    if are_refused.any():
        first = int(are_refused.argmax())
        place = f"a score at row {rows[first]}, column {ids[first]}"
        raise forbidden_nan("scores", place, job.rules.nan)
    return scores


def find_last(lists: TopK) -> TopK:
    """Return the least similar id of each list; PAD with inf if it has none."""
    scores = np.where(lists.ids == PAD, np.inf, lists.scores)
    places = scores.argmin(axis=1)  # NaN is the least of all.
    return take(TopK(lists.ids, scores), (np.arange(len(scores)), places))


def take(pairs: TopK, places: Any) -> TopK:
    """Return some ids with their scores, in lists or in one row."""
    return TopK(pairs.ids[places], pairs.scores[places])


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
    tolerance = check_tolerance(tolerance)
    k, size = lists.shape[1], embeddings.shape[-1]
    exact = take(exact, np.s_[:, :k])
    answers = mark_answers(embeddings, job, lists, exact, tolerance)
    n_right = count_ids(exact.ids)

    def count_hits(ids: IntArray) -> IntArray:
        truth = take(exact, slice(len(ids)))
        return count_right(mark_answers(embeddings, job, ids, truth, tolerance) >= NEAR)

    hits = count_right(answers >= NEAR)
    numbers: dict[str, Any] = {
        "missing ids": np.maximum(n_right - count_ids(lists), 0).sum(),
        "no candidates": np.count_nonzero(answers == STRANGER),
        "tied lists": np.count_nonzero((answers == NEAR).any(axis=1)),
        "without candidates": np.count_nonzero(n_right == 0),
        "ids from 1": recall_of_less(lists, hits, n_right, count_hits),
        "taken on trust": on_trust,
    }
    name = f"top {min(k, size)} by {embeddings.measure} in {embeddings.dtype}"
    name += describe_tolerance(tolerance)
    if job.candidates is not None:
        name += f", of a selection ({sha256_hex(job.candidates)[:8]})"
    fields: dict[str, Any] = {"candidates": name, "nan": job.rules.nan, "dtype": embeddings.dtype}
    fields |= {"similarity": embeddings.measure, "files": embeddings.files}
    if job.filter is not None:
        fields["filter"] = "unnamed"
    ranks = rank_hits(hits, n_right, k, count_candidates(job, size), **fields)
    return report_task(ranks, make_findings(numbers, len(lists)), unit="query")


def check_tolerance(tolerance: float) -> float:
    """Check how much less similar, or farther, a right id may be."""
    tolerance = number("tolerance", tolerance)
    if not 0 <= tolerance < math.inf:
        raise InputValueError("tolerance", expected="a number from 0 on", got=tolerance)
    return tolerance


def describe_tolerance(tolerance: float) -> str:
    """Return what the name of the candidates says of a tolerance."""
    return f", tolerance {tolerance!r}" if tolerance else ""


def count_right(are_right: Flags) -> IntArray:
    """Return how many right answers each list has."""
    hits: IntArray = np.count_nonzero(are_right, axis=1).astype(np.int64)
    return hits


def mean_recall(hits: IntArray, n_right: IntArray) -> float:
    """Return the mean recall of the queries that have right answers."""
    n_queries = max(1, np.count_nonzero(n_right))
    return float((hits / np.maximum(n_right, 1)).sum() / n_queries)


def recall_of_less(
    lists: IntArray, hits: IntArray, n_right: IntArray, count_hits: Callable[[IntArray], IntArray]
) -> float:
    """Return the recall of ids less 1 in the first queries; 0 where it is not far higher."""
    if mean_recall(hits, n_right) >= _LOW_RECALL:
        return 0.0
    hits_of_less = count_hits(np.where(lists > 0, lists - 1, PAD)[_FIRST])
    recall = mean_recall(hits_of_less, n_right[_FIRST])
    return recall if recall - mean_recall(hits[_FIRST], n_right[_FIRST]) > _GAIN else 0.0


def make_findings(numbers: Mapping[str, float], n_queries: int) -> list[Finding]:
    """Return what was found, by names of `FINDINGS`, in the lists of so many queries."""
    return [
        Finding(name, math.ceil(number), FINDINGS[name].format(number, n_queries))
        for name, number in numbers.items()
        if number
    ]


def rank_hits(hits: IntArray, n_right: IntArray, k: int, sizes: IntArray, **fields: Any) -> Ranks:
    """Rank the right answers of each query: those that were found, and then the others, which tie.

    A query that finds nothing has a list all the same. The sizes are the numbers of candidates, 0
    where nobody knows them; `fields` are of the protocol.
    """
    rows = np.repeat(np.arange(len(n_right)), n_right)
    places = join_ranges(np.zeros_like(n_right), n_right)  # 0, 1, ... in each query
    are_listed = places < hits[rows]
    without_answers = np.zeros(len(rows), np.int64)
    without_answers[:1] = np.count_nonzero(n_right == 0)
    counts = {
        "above": np.where(are_listed, places, hits[rows]),
        "tied": np.where(are_listed, 1, np.maximum(sizes - hits, 0)[rows]),
        "candidates": sizes[rows],
        "listed": are_listed,
        "lengths": np.full(len(rows), k),
        "without_answers": without_answers,
    }
    protocol = Protocol(lists=HITS, depth=k, version=_core.__version__, **fields)
    return Ranks._of(counts, {}, protocol).with_labels(queries=rows, targets=places)


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
        return search_topk(embeddings, job, k, watch)


def search_facts(embeddings: Embeddings, job: Job) -> dict[str, Any]:
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
        facts[f"digest of {name}"] = sha256_hex(*content[name])[:16]
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
    n_queries = facts["queries"]
    times = np.bincount(rows[(rows >= 0) & (rows < n_queries)], minlength=n_queries)
    if len(rows) != n_queries or (times != 1).any():
        missing = np.flatnonzero(times == 0)
        got = f"{len(rows):,} lists"
        if len(missing):
            got += f"; missing: {describe_rows(missing, n_queries)}"
        raise InputValueError(argument, expected=f"each of {n_queries:,} queries once", got=got)
    order = np.argsort(rows, kind="stable")
    ties = sum(facts_of_part["ties"] for facts_of_part in facts_of_parts)
    return facts | {"ties": ties}, TopK(ids[order], scores[order])


def check_form(argument: str, path: str, entities: int) -> None:
    """Refuse a name of which no form of lists is known, or whose ids have too few bytes."""
    ending = index_files.file_ending(path)
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
    ending = index_files.file_ending(path)
    if ending == ".npz":
        index_files.save_top(path, facts, ids=top.ids, scores=top.scores, rows=rows)
    elif ending == ".run":
        write_run(path, top, queries=rows.tolist())
    else:
        is_distance = facts["similarity"] in DISTANCES
        index_files.write_lists(path, top.ids, -top.scores if is_distance else top.scores)


# -- how a truth is looked at ----------------------------------------------------------------------


def read_truth(embeddings: Embeddings, job: Job, truth: Any, k: int) -> tuple[TopK, int]:
    """Read exact lists and look at them; return their first k, and how many are taken on trust.

    What was saved with digests must be of this search, and is then as if it had been searched now.
    """
    is_of_search = False
    if isinstance(truth, PATHS):
        path = path_name("truth", truth)
        is_npz = path.lower().endswith(".npz")
        is_of_search = is_npz and "truerank" in read_npz("truth", path, ())[0]
    if is_of_search:
        facts, truth = join_lists("truth", [path])
        for name, fact in search_facts(embeddings, job).items():
            got = facts[name]
            if got != fact:
                raise InputValueError("truth", expected=f"{name} {fact}", got=got, place=path)
    shape = len(job.targets), embeddings.shape[-1]
    nearest = read_lists("truth", truth, shape, k, is_whole=True)
    exact = take(put_in_order(embeddings, job, nearest), np.s_[:, :k])
    sizes = count_candidates(job, shape[1])
    # With "omit", an entity whose similarity is NaN is no candidate: any length may be right.
    lengths = count_ids(exact.ids) if job.rules.nan == "omit" else sizes
    are_missing = (exact.ids == PAD) & (np.arange(k) < lengths[:, None])
    refuse_where(are_missing, "truth", exact.ids, "an id, as the query has more candidates")
    return exact, 0 if is_of_search else look_at_truth(embeddings, job, exact, sizes)


def put_in_order(embeddings: Embeddings, job: Job, nearest: IntArray) -> TopK:
    """Score exact lists; if one is out of order beyond rounding, put all in order."""
    rows, places = np.nonzero(nearest != PAD)
    ids = nearest[rows, places]
    are_wrong = np.zeros(nearest.shape, np.bool_)
    are_wrong[rows, places] = ~are_candidates(job, rows, ids)
    refuse_where(are_wrong, "truth", nearest, "only candidates of the query")
    scores = np.full(nearest.shape, -np.inf)
    scores[rows, places] = score_pairs(embeddings, job, rows, ids, ("worst",))
    as_read = TopK(nearest, scores)
    order = np.lexsort((-scores, nearest == PAD))  # NaN comes last of all scores.
    in_order = take(as_read, (np.arange(len(order))[:, None], order))
    moved = np.nonzero(in_order.ids != nearest)
    place = find_beyond_rounding(embeddings, moved[0], take(in_order, moved), take(as_read, moved))
    return in_order if place >= 0 else as_read


def look_at_truth(embeddings: Embeddings, job: Job, truth: TopK, sizes: IntArray) -> int:
    """Refuse a truth that lacks what some queries find; return how many are taken on trust.

    The queries have so many candidates.
    """
    queries = np.flatnonzero(sizes)
    if embeddings.files and embeddings.entities.array.nbytes > _MOST_BYTES:
        return len(queries)
    chosen = np.linspace(0, len(queries) - 1, min(_SEARCHED, len(queries)))
    queries = queries[chosen.astype(np.int64)]
    found = search_topk(embeddings, job.part(queries, queries), truth.ids.shape[1])
    known = take(truth, queries)
    last = find_last(known)
    # With "omit", the truth may have too few ids: then even the worst is better than none.
    last.scores[count_ids(known.ids) < count_ids(found.ids)] = -np.inf
    is_lacking = (found.ids != PAD) & ~are_in_lists(found.ids, known.ids, embeddings.shape[-1])
    rows = np.nonzero(is_lacking)[0]
    refuse_truth_that_lacks(
        embeddings, job, queries[rows], take(found, is_lacking), take(last, rows)
    )
    return int(np.isinf(float_rounding(embeddings, queries, last)).sum())


def refuse_truth_that_lacks(
    embeddings: Embeddings, job: Job, rows: IntArray, pairs: TopK, last: TopK
) -> None:
    """Refuse a truth if a candidate that it lacks is more similar than its last id."""
    place = find_beyond_rounding(embeddings, rows, pairs, last)
    if place < 0:
        return
    query, entity = rows[place], pairs.ids[place]
    problem = f"query {query}: entity {entity} is missing, but more similar than the last id "
    problem += (
        f"({pairs.scores[place]:.6g} against {last.scores[place]:.6g}): the truth has another "
    )
    problem += "similarity, other vectors or other candidates, or less than single precision"
    remedies = []
    if query == entity and job.filter is None and embeddings.tokens is None:
        parts = (embeddings.queries, embeddings.entities)
        vectors = [gather_vectors(part, None, rows[[place]])[0] for part in parts]
        if (vectors[0] == vectors[1]).all():
            way = Option("filter", True, "leaves out each query itself", "filter=[[0], [1], ...]")
            remedies = [way]
    raise InputValueError("truth", problem, remedies=remedies)


def find_beyond_rounding(embeddings: Embeddings, rows: IntArray, pairs: TopK, others: TopK) -> int:
    """Return the place of an id that is more similar than another; -1 if there is none.

    The difference must be more than single precision may round, in any order of additions. The
    largest differences are tested. NaN is the worst score.
    """
    with np.errstate(invalid="ignore"):
        gaps = pairs.scores - others.scores
    gaps[np.isnan(others.scores) & ~np.isnan(pairs.scores)] = np.inf
    above = np.flatnonzero(gaps > 0)
    above = above[np.argsort(-gaps[above], kind="stable")[:_EXAMPLES]]
    roundings = float_rounding(embeddings, rows[above], take(pairs, above))
    roundings += float_rounding(embeddings, rows[above], take(others, above))
    beyond = above[gaps[above] > roundings]
    return int(beyond[0]) if len(beyond) else -1


def float_rounding(embeddings: Embeddings, rows: IntArray, pairs: TopK) -> FloatArray:
    """Return by how much float32 may round the scores of queries and ids; inf: nobody knows.

    A sum of n terms has at most n roundings, what is done before and after it a few more; each is
    a share eps of the sum of magnitudes: of dot at most |q| |e|, of |q|^2 + |e|^2 - 2 q e at most
    (|q| + |e|)^2. Scores that are no finite numbers are not rounded.
    """
    starts = embeddings.tokens or (None, None)
    queries, query_starts = gather_vectors(embeddings.queries, starts[0], rows)
    entities, entity_starts = gather_vectors(embeddings.entities, starts[1], pairs.ids)
    n_terms = queries.shape[1] + len(queries) / max(1, len(rows))
    share = float(np.finfo(np.float32).eps) * (8 + n_terms)
    similarity = embeddings.similarity
    power = 1 if similarity.endswith("l1") else 2
    with np.errstate(all="ignore"):
        norms = [np.linalg.norm(vectors, power, axis=1) for vectors in (queries, entities)]
        if similarity == "cosine":
            roundings = np.full(len(rows), share)
        elif similarity in ("dot", "maxsim"):
            query_norms = np.add.reduceat(norms[0], query_starts)
            roundings = share * query_norms * np.maximum.reduceat(norms[1], entity_starts)
        else:  # The score is a function of a sum of distances, which has these ends.
            sums = (np.abs(queries - entities) ** power).sum(axis=1)
            signs = np.array([[-1.0], [1]])
            ends = np.maximum(sums + signs * share * (norms[0] + norms[1]) ** power, 0)
            if similarity == "poincare":
                rests = [1 - norm**2 - signs * share for norm in norms]
                ends = 1 + 2 * ends / (rests[0] * rests[1])
                ends = np.arccosh(np.maximum(ends * (1 + signs * share), 1)) ** 2
                ends[1, np.minimum(*rests)[1] < share] = np.inf  # at the edge of the ball
            elif similarity in ("l2", "inverse_l2"):
                ends = np.sqrt(ends)
            if similarity.startswith("inverse"):
                ends = (signs * share - 1) / (1 + ends)
            roundings = ends[1] - ends[0]
        roundings += share * np.abs(pairs.scores)  # A bias is at most the score and the rest.
    return np.where(np.isfinite(pairs.scores), roundings, 0)


def gather_vectors(
    vectors: Scores, starts: IntArray | None, places: IntArray
) -> tuple[FloatArray, IntArray]:
    """Return some vectors, or those of some lists, in double precision, and where each begins."""
    counts = np.ones_like(places)
    if starts is not None:
        counts = np.diff(starts)[places]
        places = join_ranges(starts[:-1][places], counts)
    return widened(vectors.with_array(vectors.array[places])).array, lengths_to_indptr(counts)[:-1]
