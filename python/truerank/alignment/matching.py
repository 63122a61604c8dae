"""Inference: pairs of left and right entities by their similarities, of vectors or in a matrix."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import isqrt
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

import numpy as np

from .._core import Scores
from ..arrays.row_keys import distinct, search_sorted, without
from ..counting.lists import TopK
from ..embeddings.scoring import topk_open_embeddings
from ..embeddings.vectors import CSLS, Embeddings
from ..errors import InputValueError, argument_names
from ..inputs.array_likes import default_arithmetic, widen_bfloat16
from ..inputs.checks import (
    check_shape,
    choice,
    forbidden_nan,
    is_integer,
    number,
    positive_integer,
)
from ..inputs.progress_listeners import Progress, as_listener
from ..inputs.rules import PLAIN, Rules, SimilarityOptions, read_rules, with_options
from ..inputs.selection import join_ranges
from ..naming import public
from ..stores import in_one_array, read_scores
from .local_scaling import with_means

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from ..inputs.progress_listeners import Watch
    from ..inputs.rules import Similarity

    Array = npt.NDArray[Any]
    # The ids of queries and of entities come before the scores of their pairs.
    ScoredPairs = tuple[IntArray, IntArray, Array]

MatchingMethod = Literal["greedy", "mutual", "stable", "optimal"]
METHODS: tuple[MatchingMethod, ...] = get_args(MatchingMethod)
DEFAULT_SIMILARITY = "cosine"
PREFERENCES = 32  # So many of each entity stay in memory, while pairs become stable.
BATCH_SHARE = 4  # If a pass does not match one in 4 free entities, batches propose.
NOBODY = -1  # The match of free entities. No query is below it: a score of -inf is no offer.
BLOCK_CELLS = 1 << 22  # So many scores are in memory at a time.
_MAX_EXACT_INTEGER = 1 << 53  # Integers up to here are exact in float64.
_SCALE_BEFORE = (
    "none beside a matrix s (pass 2 * s - r[:, None] - c, where r and c are the means of the k "
    "highest scores of its rows and columns)"
)


@public("truerank.alignment")
@with_options(SimilarityOptions)
@default_arithmetic()
def infer(
    left: Any,
    right: Any,
    *,
    method: MatchingMethod = "greedy",
    similarity: Similarity = "cosine",
    csls: int | CSLS | None = None,
    threshold: float | None = None,
    **options: Unpack[SimilarityOptions],
) -> tuple[IntArray, Array]:
    """Find pairs of left and right entities by their similarities.

    Parameters
    ----------
    left : array_like, shape (n1, d), or path
        The embeddings of the left entities, as `rank_embeddings` takes them. Or, if `right` is
        None, a matrix (n1, n2) of scores, in memory or as the path of one .npy file, which is
        mapped: floats, bfloat16, or integers up to 2**53. Scores are similarities, and higher ones
        are better; pass the negative of distances.
    right : array_like, shape (n2, d), path, or None
        The embeddings of the right entities.
    method : {"greedy", "mutual", "stable", "optimal"}
        The method; see Notes.
    similarity : str
        As in `rank_embeddings`; only for embeddings.
    csls : int or CSLS, optional
        Use cross-domain similarity local scaling, as `truerank.alignment.Task.evaluate_embeddings`
        does: a number of neighbours among all entities, or means from `csls_means`. Only for
        embeddings.
    threshold : float, optional
        Leave out pairs with lower scores after the matching; no entity is matched again.
    nan : {"raise", "omit"}
        The rule for scores that are NaN: an error, or the pair is left out.
    dtype, layout, threads
        As in `rank_embeddings`; for a matrix `dtype` says what raw 16-bit numbers are.
    progress : callable or bool, optional
        True: a bar of tqdm. A callable is called with a `Progress` while scores are made; how many
        passes "stable" makes over them is not known before, so that its `total` may grow. The
        solver of "optimal" reports nothing.

    Returns
    -------
    pairs : ndarray of int64, shape (n, 2)
        Left and right ids, ordered by left id.
    scores : ndarray of float32 or float64, shape (n,)
        Their scores.

    Raises
    ------
    TypeError
        For embeddings and scores that are no numbers, options of another type, and a matrix in
        shards of columns.
    ValueError
        For shapes that do not fit, an unknown name, a NaN if the rule is "raise" (with its
        entities), +inf for "optimal", what belongs to embeddings beside a matrix, and damaged
        files.
    OSError
        For files that are missing or cannot be read.

    Notes
    -----
    ========  ======================================================================================
    greedy    each left entity with its most similar right one, which several may share; equal
              scores go by the lower id. "Greedy search is used by all current approaches" (Sun et
              al.: A benchmarking study of embedding-based entity alignment, 2020)
    mutual    the pairs in which each entity is the most similar one of the other, by the same rule
    stable    a matching in which no two entities both prefer each other to their partners (or to
              having none); equal scores go by the lower id on both sides. There is exactly one,
              whichever side proposes
    optimal   a matching with the highest sum of scores
    ========  ======================================================================================

    A score of -inf makes no pair, with any method. But for it, NaN and the threshold "stable" and
    "optimal" match the whole smaller side.

    "optimal" makes a matrix of all scores in float64, 1.8 GB for 15,000 entities a side, and has
    the highest sum of all matchings with the most pairs (`scipy.optimize.linear_sum_assignment`),
    up to the rounding of its sums. If several have that sum, the choice may change with the version
    of scipy. Other methods never hold all scores.

    Examples
    --------
    >>> import numpy as np
    >>> left = np.array([[1, 0], [0.8, 0.6]], np.float32)
    >>> right = np.array([[1, 0.2], [0, 1], [-1, 0]], np.float32)
    >>> pairs, scores = infer(left, right)
    >>> pairs.tolist(), scores.round(2).tolist()
    ([[0, 0], [1, 0]], [0.9800000190734863, 0.8999999761581421])
    >>> infer(left, right, method="mutual")[0].tolist()
    [[0, 0]]
    >>> infer(left, right, method="stable")[0].tolist()
    [[0, 0], [1, 1]]
    >>> infer([[3, 2], [3, 1]], None, method="optimal")[0].tolist()  # a matrix; 2 + 3
    [[0, 1], [1, 0]]
    """
    choice("method", method, METHODS)
    least = -np.inf
    if threshold is not None:
        least = number("threshold", threshold)
        if np.isnan(least):
            raise InputValueError("threshold", expected="a number", got="nan")
    rules = read_rules(options, SimilarityOptions, infer)
    source = open_similarities(left, right, similarity, csls, rules, 1 + (method != "greedy"))
    # One-to-one matchings are made from the smaller side.
    if method in ("stable", "optimal") and source.shape[0] > source.shape[1]:
        source = source.turned()
    if 0 in source.shape:
        queries = entities = np.zeros(0, np.int64)
        scores = np.zeros(0, source.dtype)
    elif method == "greedy":
        queries, entities, scores = greedy_pairs(source)
    elif method == "mutual":
        queries, entities, scores = mutual_pairs(source)
    elif method == "stable":
        queries, entities, scores = stable_pairs(source)
    else:
        queries, entities, scores = optimal_pairs(source)
    source.progress.finish()
    if source.is_turned:
        queries, entities = entities, queries
    order = np.argsort(queries)  # No left entity is in two pairs.
    order = order[scores[order].astype(np.float64) >= least]
    return np.stack([queries[order], entities[order]], axis=1), scores[order]


def greedy_pairs(source: Similarities) -> ScoredPairs:
    """Return each query with its most similar entity."""
    best = source.top_k(1)
    queries = np.flatnonzero(best.scores[:, 0] > -np.inf)
    return queries, best.ids[queries, 0], best.scores[queries, 0]


def mutual_pairs(source: Similarities) -> ScoredPairs:
    """Return the pairs in which each is the most similar one of the other."""
    queries, entities, scores = greedy_pairs(source)
    rows = distinct(entities)  # No other entity can be in a pair.
    partners = source.turned().top_k(1, rows).ids[:, 0]
    is_mutual = partners[search_sorted(rows, entities)] == queries
    return queries[is_mutual], entities[is_mutual], scores[is_mutual]


def stable_pairs(source: Similarities) -> ScoredPairs:
    """Return the stable matching, without the matrix of scores.

    Both sides prefer higher scores, and of equal ones the lower id of the other side. Everybody
    prefers no partner to a score of NaN or -inf. There are at least as many entities as queries,
    which propose.

    Notes
    -----
    The method is deferred acceptance (Gale and Shapley, College admissions and the stability of
    marriage, 1962): every free query proposes to the best entity that it has not asked yet, and
    every entity keeps its best proposal. The result does not depend on the order of proposals, so
    all free queries propose at once.

    Here it does not depend on the proposing side either. Both sides use the same scores: ordered by
    score, then left id, then right id, all pairs form one sequence that agrees with the preferences
    of everybody. There is one stable matching, which takes pairs along that sequence whenever both
    are free. So the smaller side proposes, as it is refused less often.

    An entity only changes its partner for a better one, so whoever is refused once is refused for
    ever, and a new list has only entities that would still accept. In a pass, free queries get
    lists, the longer the fewer they are, and propose until these are used up. Of what is left of
    each list so much is kept as all lists of the first pass have; so memory stays the same, and
    there are few passes.

    If preferences agree (all scores are equal, or everybody has one order), a pass matches at most
    as many queries as a list is long. So after a pass that leaves more than three quarters of them
    free, one batch at a time proposes, with lists as long as the batch is large, which suffice even
    if the whole batch has the same preferences. After batches for a quarter of the free queries,
    all get new lists again. For equal or agreeing scores, all pairs are considered about five times
    at most. Batches begin with the highest scores of last proposals, equal ones with the lowest
    ids: if preferences agree, these are the queries that nothing displaces later.

    Examples
    --------
    >>> stable_pairs(open_similarities([[0.9, 0.8], [0.9, 0.1]], None))
    (array([0, 1]), array([0, 1]), array([0.9, 0.1]))
    """
    n_queries, n_entities = source.shape
    lists = ProposalLists(n_queries, source.dtype)
    most_entries = n_queries * PREFERENCES  # of the new lists of a pass
    batch_size = max(isqrt(most_entries), most_entries // n_entities)
    left_for_batches = 0
    matches = np.full(n_entities, -np.inf, source.dtype), np.full(n_entities, NOBODY)
    free = np.arange(n_queries)
    while len(free):
        rows = free
        is_batch = left_for_batches > 0 and len(free) > batch_size
        if is_batch:
            order = np.lexsort((free, -lists.last_scores[free]))
            rows = np.sort(free[order[:batch_size]])
            left_for_batches -= batch_size
        width = min(n_entities, max(PREFERENCES, most_entries // len(rows)))
        proposing = lists.add(rows, source.top_k(width, rows, matches))
        still_free = np.append(without(free, rows), propose(proposing, lists, matches))
        if not is_batch:
            left_for_batches = 0
            if (len(free) - len(still_free)) * BATCH_SHARE < len(free):
                left_for_batches = -(-len(still_free) // BATCH_SHARE)
        free = np.sort(still_free)
    scores, queries = matches
    entities = np.flatnonzero(queries != NOBODY)
    return queries[entities], entities, scores[entities]


class ProposalLists:
    """The entities to which each query proposes next, best first, and the score of its last one."""

    def __init__(self, n_queries: int, dtype: np.dtype[Any]) -> None:
        # The list of a query lies from its begin to its end in those of all.
        self.ids = np.zeros(0, np.int64)
        self.scores = np.zeros(0, dtype)
        self.begins: IntArray = np.zeros(n_queries, np.int64)
        self.ends: IntArray = np.zeros(n_queries, np.int64)
        self.last_scores = np.full(n_queries, -np.inf, dtype)

    def add(self, rows: IntArray, best: TopK) -> IntArray:
        """Add lists of queries that have none, cut those of others, and return who got one.

        Whoever gets an empty list has nobody left to ask.
        """
        lengths = np.minimum(self.ends - self.begins, PREFERENCES)
        entries = join_ranges(self.begins, lengths)
        is_entry = best.ids >= 0
        new_lengths: IntArray = is_entry.sum(axis=1)
        self.ids = np.concatenate([self.ids[entries], best.ids[is_entry]])
        self.scores = np.concatenate([self.scores[entries], best.scores[is_entry]])
        self.begins = np.cumsum(lengths) - lengths
        self.begins[rows] = len(entries) + np.cumsum(new_lengths) - new_lengths
        lengths[rows] = new_lengths
        self.ends = self.begins + lengths
        return rows[new_lengths > 0]

    def take(self, queries: IntArray) -> tuple[IntArray, Array]:
        """Take the next entity of each list, and return them with their scores."""
        entries = self.begins[queries]
        self.begins[queries] += 1
        self.last_scores[queries] = self.scores[entries]
        return self.ids[entries], self.scores[entries]


def propose(queries: IntArray, lists: ProposalLists, matches: tuple[Array, IntArray]) -> IntArray:
    """Let queries propose, all at once, until lists are used up; return those without a match.

    `matches` are the score and the query of each entity's match, which are changed.
    """
    scores_of_matches, queries_of_matches = matches
    waiting = [queries[:0]]
    while len(queries):
        has_more = lists.begins[queries] < lists.ends[queries]
        waiting.append(queries[~has_more])
        queries = queries[has_more]
        entities, scores = lists.take(queries)
        # The best proposal to each entity comes first.
        order = np.lexsort((queries, -scores, entities))
        queries = queries[order]
        entities = entities[order]
        scores = scores[order]
        wins = are_preferred(
            scores, queries, scores_of_matches[entities], queries_of_matches[entities]
        )
        wins[1:] &= entities[1:] != entities[:-1]
        refused = queries[~wins]
        entities = entities[wins]
        displaced = queries_of_matches[entities]
        scores_of_matches[entities] = scores[wins]
        queries_of_matches[entities] = queries[wins]
        queries = np.concatenate([refused, displaced[displaced != NOBODY]])
    return np.concatenate(waiting)


def are_preferred(
    scores: Array, queries: IntArray, scores_of_matches: Array, queries_of_matches: IntArray
) -> npt.NDArray[np.bool_]:
    """Return whether entities prefer some queries to their matches: of equal scores, the lower."""
    is_preferred: npt.NDArray[np.bool_] = scores > scores_of_matches
    is_preferred |= (scores == scores_of_matches) & (queries < queries_of_matches)
    return is_preferred


def optimal_pairs(source: Similarities) -> ScoredPairs:
    """Return the matching with the highest sum of all that have the most pairs.

    There are at least as many entities as queries: the solver would copy the other shape.

    Raises
    ------
    ValueError
        For scores of +inf, which have no sum.

    Notes
    -----
    What makes no pair, NaN and -inf, costs more than the sums of other matchings can differ, so the
    solver takes it only if nothing else is left; then the pair is left out.
    """
    from scipy.optimize import linear_sum_assignment

    queries = np.arange(source.shape[0])
    costs = np.empty(source.shape)  # This is float64, the solver's dtype.
    for where, block in source.blocks(queries):
        infinite = np.argwhere(block == np.inf)
        if len(infinite):
            i, j = infinite[0]
            got = f"inf at {source.place(queries[where][i], j)}"
            raise InputValueError("scores", expected="none of +inf for a sum", got=got)
        np.negative(block, out=costs[where], dtype=np.float64)
    absent = ~np.isfinite(costs)
    if absent.any():
        costs[absent] = np.nan
        least = float(np.fmin.reduce(costs, axis=None))
        most = float(np.fmax.reduce(costs, axis=None))
        costs[absent] = np.nan_to_num(most + (most - least + 1) * (len(queries) + 1))
    row, column = linear_sum_assignment(costs)
    is_pair = ~absent[row, column]
    row = row[is_pair]
    column = column[is_pair]
    return row, column, (-costs[row, column]).astype(source.dtype)


@dataclass(frozen=True)
class Similarities:
    """The scores of the queries of one graph and the entities of the other, in either direction.

    By the rule, a NaN is an error or no candidate.

    Attributes
    ----------
    scores : Embeddings or Scores
        Embeddings, whose scores are computed when they are needed, or a matrix.
    rules : Rules
    progress : PassProgress
    is_turned : bool
        Whether queries are right entities.
    """

    scores: Embeddings | Scores
    rules: Rules
    progress: PassProgress
    is_turned: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of queries and of entities."""
        if isinstance(self.scores, Embeddings):
            return self.scores.shape
        return self.scores.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of all scores: float32 or float64."""
        if isinstance(self.scores, Embeddings):
            return np.dtype(self.scores.dtype)
        return _wide_dtype(self.scores.dtype)

    def turned(self) -> Similarities:
        """Return the other direction, in which the entities are the queries."""
        scores: Embeddings | Scores
        if isinstance(self.scores, Embeddings):
            scores = self.scores.turned()
        else:
            scores = self.scores.with_array(self.scores.array.T)
        return replace(self, scores=scores, is_turned=not self.is_turned)

    def place(self, query: int, entity: int) -> str:
        """Write where a score is: left entities are rows."""
        if self.is_turned:
            return f"row {entity}, column {query}"
        return f"row {query}, column {entity}"

    def blocks(self, rows: IntArray) -> Iterator[tuple[slice, Array]]:
        """Yield the scores of some queries in blocks, each with its place in `rows`.

        Raises
        ------
        ValueError
            For a NaN if the rule is "raise".
        """
        width = self.shape[1]
        height = max(1, BLOCK_CELLS // max(1, width))
        for start in range(0, len(rows), height):
            some = rows[start : start + height]
            with self.progress.watching(len(some) * width * self.dtype.itemsize):
                block = self.block(some)
            if self.rules.nan == "raise" and np.isnan(block).any():
                i, j = np.argwhere(np.isnan(block))[0]
                raise forbidden_nan("scores", f"a score at {self.place(some[i], j)}", "raise")
            yield slice(start, start + len(some)), block

    def block(self, rows: IntArray) -> Array:
        """Return the scores of some queries and all entities as a new array."""
        if isinstance(self.scores, Embeddings):
            return self.scores.score(rows, None, self.rules.num_threads)
        array = self.scores.array[rows]
        if self.scores.dtype == "bfloat16":
            array = widen_bfloat16(array)
        elif self.scores.dtype == "float16":  # They may be raw bits.
            array = array.view(np.dtype(np.float16).newbyteorder(array.dtype.byteorder))
        with np.errstate(invalid="ignore"):  # One of the NaN may be a signalling one.
            return array.astype(self.dtype)

    def top_k(
        self, k: int, rows: IntArray | None = None, matches: tuple[Array, IntArray] | None = None
    ) -> TopK:
        """Return the k best entities of some queries (default: all).

        With the scores and the queries of all entities' matches, only entities that prefer the
        query to theirs: of equal scores, the lower id.
        """
        if rows is None:
            rows = np.arange(self.shape[0])
        if isinstance(self.scores, Embeddings):
            with self.progress.watching(len(rows) * self.shape[1] * self.dtype.itemsize) as watch:
                return topk_open_embeddings(
                    self.scores, k, self.rules, rows=rows, current_matches=matches, watch=watch
                )
        best = _empty_top_k(len(rows), k, self.dtype)
        for where, block in self.blocks(rows):
            if matches is not None:
                block[~are_preferred(block, rows[where, None], *matches)] = np.nan
            top = top_k_of_rows(block, k)
            best.ids[where] = top.ids
            best.scores[where] = top.scores
        return best


class PassProgress:
    """Tells a listener how many bytes of scores have been made or read, over some passes.

    There may be more passes than were expected; then the total grows.
    """

    def __init__(
        self, progress: bool | Callable[[Progress], object] | None, size: int, passes: int
    ) -> None:
        self.listener = as_listener(progress)
        self.start = time.monotonic()
        self.size_of_pass = max(1, size)
        self.done = 0
        self.total = passes * size
        self.tell(0)

    @contextmanager
    def watching(self, size: int) -> Iterator[Watch]:
        """Give a watch for a block of code that makes so many bytes."""
        yield lambda done, total: self.tell(self.done + size * done // total)
        self.done += size
        self.tell(self.done)

    def tell(self, done: int) -> None:
        """Report what is done, but for what may be the end."""
        while done > self.total:
            self.total += self.size_of_pass
        if self.listener is not None and done < self.total:
            self.listener(Progress(done, self.total, time.monotonic() - self.start))

    def finish(self) -> None:
        """Report that no more scores are needed."""
        if self.listener is not None:
            self.listener(Progress(self.done, self.done, time.monotonic() - self.start))


def top_k_of_rows(scores: Array, k: int) -> TopK:
    """Return the k best of every row, best first; ties go by the lower id; NaN are left out.

    Parameters
    ----------
    scores : ndarray of float32 or float64, shape (rows, n)
    k : int

    Returns
    -------
    TopK
        With -1 and NaN where there are fewer.

    Examples
    --------
    >>> top_k_of_rows(np.array([[0.5, 0.9, 0.5, np.nan]]), 2).ids
    array([[1, 0]])
    """
    height, width = scores.shape
    best = _empty_top_k(height, k, scores.dtype)
    good = ~np.isnan(scores)
    if k < width:  # Only what is as good as the k-th best is sorted.
        kth = -np.partition(-scores, k - 1, axis=1)[:, k - 1 : k]
        good &= (scores >= kth) | np.isnan(kth)
    row, column = np.nonzero(good)
    value = scores[row, column]
    # The sort is stable, so that ties stay in the order of columns.
    order = np.lexsort((-value, row))
    row = row[order]
    place_in_row = np.arange(len(row)) - np.searchsorted(row, np.arange(height))[row]
    is_best = place_in_row < k
    places = row[is_best], place_in_row[is_best]
    best.ids[places] = column[order[is_best]]
    best.scores[places] = value[order[is_best]]
    return best


def _empty_top_k(height: int, k: int, dtype: Any) -> TopK:
    return TopK(np.full((height, k), -1, np.int64), np.full((height, k), np.nan, dtype))


def _wide_dtype(dtype: str) -> np.dtype[Any]:
    """Return the dtype of what is computed from scores of another one: float32, or float64."""
    if dtype == "bfloat16":  # numpy does not know it.
        return np.dtype(np.float32)
    return np.result_type(np.float32, dtype)


def open_similarities(
    left: Any,
    right: Any,
    similarity: str = DEFAULT_SIMILARITY,
    csls: int | CSLS | None = None,
    rules: Rules = PLAIN,
    passes: int = 1,
) -> Similarities:
    """Check embeddings, or a matrix if `right` is None; files are mapped while it is in use.

    Progress is told of so many passes over all scores, and one more for a number of neighbours.

    Raises
    ------
    TypeError, ValueError, OSError
        As `truerank.alignment.infer` does.

    Examples
    --------
    >>> open_similarities([[0.5, 0.7], [0.2, 0.9]], None).top_k(1).ids
    array([[1],
           [1]])
    """
    choice("nan", rules.nan, ("raise", "omit"))
    if right is not None:
        with argument_names(queries="left", entities="right"):
            vectors = Embeddings(left, right, similarity, None, rules.dtype, layout=rules.layout)
        if vectors.single_row:
            raise InputValueError("left", expected="a matrix (entities, d)", got="a single vector")
        progress = PassProgress(rules.progress, vectors.nbytes, passes + is_integer(csls))
        if is_integer(csls):
            csls = positive_integer("csls", csls)
        if not (is_integer(csls) and 0 in vectors.shape):  # Of nobody there is no mean.
            with progress.watching(vectors.nbytes * is_integer(csls)) as watch:
                vectors = with_means(vectors, csls, None, rules, watch=watch)
        return Similarities(vectors, rules, progress)
    if similarity != DEFAULT_SIMILARITY:
        raise InputValueError("similarity", expected="none beside a matrix", got=repr(similarity))
    if rules.layout is not None:
        raise InputValueError("layout", expected="none beside a matrix", got=repr(rules.layout))
    if csls is not None:
        raise InputValueError("csls", expected=_SCALE_BEFORE, got=repr(csls))
    with argument_names(scores="left"):
        matrix = in_one_array(read_scores(left, rules.dtype))
    check_shape("left", matrix.array.shape, 2, "a matrix (left, right)")
    if matrix.dtype in ("int64", "uint64") and matrix.array.size:
        least = int(matrix.array.min())
        most = int(matrix.array.max())
        if max(-least, most) > _MAX_EXACT_INTEGER:
            raise InputValueError("left", expected="integers up to 2**53", got=f"{least} to {most}")
    size = matrix.array.size * _wide_dtype(matrix.dtype).itemsize
    return Similarities(matrix, rules, PassProgress(rules.progress, size, passes))
