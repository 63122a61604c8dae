"""The exact lists of a search: searched, or read and looked at, in double precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.input_files import path_name
from ..arrays.row_keys import are_among, row_keys
from ..arrays.saved_files import read_npz
from ..counting.lists import PAD, TopK
from ..embeddings.scoring import search_topk
from ..embeddings.vectors import watching, widened
from ..errors import InputValueError, Option
from ..inputs.checks import forbidden_nan
from ..inputs.selection import find_entries, is_in, join_ranges, lengths_to_indptr, list_numbers
from ..stores import PATHS
from ..tasks.side import are_candidates
from .files import count_ids, join_lists, read_lists, refuse_where, search_facts

if TYPE_CHECKING:
    from .._core import Scores
    from ..arrays import FloatArray, IntArray
    from ..counting.job import Job
    from ..embeddings.vectors import Embeddings
    from .files import Flags

_EXAMPLES = 100  # ids that contradict a truth, of which one must do so beyond rounding
_SEARCHED = 16  # queries of a truth that is looked at, and the largest file that is read for it
_MOST_BYTES = 16_000_000_000


def find_nearest(embeddings: Embeddings, job: Job, k: int, rows: IntArray | None = None) -> TopK:
    """Search the most similar candidates of queries, or of some of them."""
    if rows is not None:
        job = job.part(rows, job.all_rows[rows])
    size = len(job.targets) * embeddings.shape[-1] * embeddings.itemsize
    with watching(job.rules.progress, size) as watch:
        return search_topk(embeddings, job, k, watch)


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
    is_lacking = (found.ids != PAD) & ~are_in_lists(found.ids, known.ids)
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


# -- scores of pairs -------------------------------------------------------------------------------


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


# -- lists of pairs --------------------------------------------------------------------------------


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


def are_in_lists(ids: IntArray, lists: IntArray) -> Flags:
    """Return whether each id, however large, is in the list of its row."""
    rows = [np.repeat(np.arange(len(each)), each.shape[1]) for each in (ids, lists)]
    keys = row_keys([np.concatenate(rows), np.concatenate([ids.ravel(), lists.ravel()])])
    return are_among(keys[: ids.size], keys[ids.size :]).reshape(ids.shape)


def find_last(lists: TopK) -> TopK:
    """Return the least similar id of each list; PAD with inf if it has none."""
    scores = np.where(lists.ids == PAD, np.inf, lists.scores)
    places = scores.argmin(axis=1)  # NaN is the least of all.
    return take(TopK(lists.ids, scores), (np.arange(len(scores)), places))


def take(pairs: TopK, places: Any) -> TopK:
    """Return some ids with their scores, in lists or in one row."""
    return TopK(pairs.ids[places], pairs.scores[places])
