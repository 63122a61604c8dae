"""Inference: pairs of left and right entities by their similarities, of vectors or in a matrix."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isqrt
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

import numpy as np

from .._core import Scores
from ..arrays.row_keys import codes_of, distinct, search_sorted
from ..embeddings.scoring import TopK, topk_open_embeddings
from ..embeddings.vectors import CSLS, Embeddings
from ..errors import InputValueError, argument_names
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
from ..inputs.scores import default_arithmetic, widen_bfloat16
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
PREFERENCES = 32  # So many of each entity are in memory at a time, while pairs become stable.
BATCH_SHARE = 4  # If a pass does not match one in 4 free entities, batches propose.
NOBODY = -1  # It holds free entities. No query is below it, so that a score of -inf is no offer.
_BLOCK_CELLS = 1 << 22  # So many scores are in memory at a time.
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
    least = None
    if threshold is not None:
        least = number("threshold", threshold)
        if np.isnan(least):
            raise InputValueError("threshold", expected="a number", got="nan")
    rules = read_rules(options, SimilarityOptions, infer)
    source = open_similarities(left, right, similarity, csls, rules, 1 + (method != "greedy"))
    # One-to-one matchings are made from the smaller side.
    is_turned = method in ("stable", "optimal") and source.shape[0] > source.shape[1]
    left_ids, right_ids, scores = _find_pairs(source.turned() if is_turned else source, method)
    source.progress.finish()
    if is_turned:
        left_ids, right_ids = right_ids, left_ids
    order = np.argsort(left_ids)  # No left entity is in two pairs.
    pairs = np.stack([left_ids[order], right_ids[order]], axis=1)
    scores = scores[order]
    if least is not None:
        reaches = scores.astype(np.float64) >= least
        pairs = pairs[reaches]
        scores = scores[reaches]
    return pairs, scores


def _find_pairs(source: Similarities, method: MatchingMethod) -> ScoredPairs:
    """Return pairs in any order, as the queries find them."""
    if 0 in source.shape:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, source.dtype)
    if method == "stable":
        return StableMatching(source).match()
    if method == "optimal":
        return optimal_pairs(source)
    best = source.top_k(1)
    queries = np.flatnonzero(best.scores[:, 0] > -np.inf)
    entities = best.ids[queries, 0]
    scores = best.scores[queries, 0]
    if method == "greedy":
        return queries, entities, scores
    chosen = distinct(entities)  # No other entity can be in a pair.
    partners = source.turned().top_k(1, chosen).ids[:, 0]
    is_mutual = partners[search_sorted(chosen, entities)] == queries
    return queries[is_mutual], entities[is_mutual], scores[is_mutual]


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


class Similarities:
    """The scores of the queries of one graph and the entities of the other, in either direction.

    By the rule, a NaN is an error or no candidate.

    Parameters
    ----------
    scores : Embeddings or Scores
        Embeddings, whose scores are computed when they are needed, or a matrix.
    rules : Rules
    progress : PassProgress
    is_turned : bool
        Whether queries are right entities.
    """

    def __init__(
        self,
        scores: Embeddings | Scores,
        rules: Rules,
        progress: PassProgress,
        is_turned: bool = False,
    ) -> None:
        self.scores = scores
        self.rules = rules
        self.progress = progress
        self.is_turned = is_turned
        if isinstance(scores, Embeddings):
            self.shape = scores.shape
            self.dtype = np.dtype(scores.dtype)
        else:
            height, width = scores.array.shape
            self.shape = height, width
            self.dtype = _wide_dtype(scores.dtype)

    def turned(self) -> Similarities:
        """Return the other direction, in which the entities are the queries."""
        turned: Embeddings | Scores
        if isinstance(self.scores, Embeddings):
            turned = self.scores.turned()
        else:
            turned = self.scores.with_array(self.scores.array.T)
        return Similarities(turned, self.rules, self.progress, not self.is_turned)

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
        height = max(1, _BLOCK_CELLS // max(1, width))
        for start in range(0, len(rows), height):
            some = rows[start : start + height]
            block = self.block(some)
            if self.rules.nan == "raise" and np.isnan(block).any():
                i, j = np.argwhere(np.isnan(block))[0]
                raise forbidden_nan("scores", f"a score at {self.place(some[i], j)}", "raise")
            yield slice(start, start + len(some)), block
            self.progress.add(len(some) * width * self.dtype.itemsize)

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
        self, k: int, rows: IntArray | None = None, current: tuple[Array, IntArray] | None = None
    ) -> TopK:
        """Return the k best entities of some queries (default: all).

        With the current matches of all entities, only those that prefer the query to theirs: of
        equal scores, the lower id.
        """
        if rows is None:
            rows = np.arange(self.shape[0])
        if isinstance(self.scores, Embeddings):
            with self.progress.watching(len(rows) * self.shape[1] * self.dtype.itemsize) as watch:
                return topk_open_embeddings(
                    self.scores, k, self.rules, rows=rows, current_matches=current, watch=watch
                )
        best = _empty_top_k(len(rows), k, self.dtype)
        for where, block in self.blocks(rows):
            if current is not None:
                scores, queries = current
                is_lower = rows[where, None] < queries
                accepts = (block > scores) | ((block == scores) & is_lower)
                block[~accepts] = np.nan
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
        self._listener = as_listener(progress)
        self._start = time.monotonic()
        self._size_of_pass = max(1, size)
        self._done = 0
        self._total = passes * size
        self.add(0)

    def add(self, size: int) -> None:
        """Report so many bytes more."""
        self._done += size
        self._tell(self._done)

    @contextmanager
    def watching(self, size: int) -> Iterator[Watch]:
        """Give a watch for a block of code that makes so many bytes."""
        yield lambda done, total: self._tell(self._done + size * done // total)
        self.add(size)

    def finish(self) -> None:
        """Report that no more scores are needed."""
        self._tell_listener(self._done, self._done)

    def _tell(self, done: int) -> None:
        while done > self._total:
            self._total += self._size_of_pass
        if done < self._total:  # `finish` alone tells what may be the end.
            self._tell_listener(done, self._total)

    def _tell_listener(self, done: int, total: int) -> None:
        if self._listener is not None:
            self._listener(Progress(done, total, time.monotonic() - self._start))


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
    kept = place_in_row < k
    best_of_row = order[kept]
    best.ids[row[kept], place_in_row[kept]] = column[best_of_row]
    best.scores[row[kept], place_in_row[kept]] = value[best_of_row]
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
        vectors = vectors.on_host()
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


class StableMatching:
    """The stable matching of left and right entities, without the matrix of their scores.

    Both sides prefer higher scores, and of equal ones the lower id of the other side. Every entity
    prefers no partner to a score of NaN or -inf. There are at least as many right entities as left
    ones, which propose; their preferences are ranges of one pool.

    Parameters
    ----------
    source : Similarities

    Notes
    -----
    The method is deferred acceptance (Gale and Shapley, College admissions and the stability of
    marriage, 1962): every free entity proposes to the best one that it has not asked yet, and every
    entity keeps its best proposal. The result does not depend on the order of proposals, so all
    free entities propose at once.

    Here it does not depend on the proposing side either. Both sides use the same scores: ordered by
    score, then left id, then right id, all pairs form one sequence that agrees with the preferences
    of every entity. There is one stable matching, which takes pairs along that sequence whenever
    both entities are free. So the smaller side proposes, as it is refused less often.

    An entity only changes its partner for a better one, so whoever is refused once is refused for
    ever. When a list is used up, its continuation therefore has only entities that would still
    accept. Usually fewer and fewer entities need one, so continuations grow: memory stays the same,
    and there are few passes.

    If preferences agree (all scores are equal, or all entities have one order), a pass matches at
    most as many entities as a list is long. So after a pass that leaves more than three quarters of
    them free, one batch at a time proposes, with lists as long as the batch is large, which suffice
    even if the whole batch has the same preferences. After batches for a quarter of the free
    entities, all get new lists again. For equal or agreeing scores, all pairs are considered about
    five times at most. Batches begin with the highest scores of last proposals, equal ones with the
    lowest ids: if preferences agree, these are the entities that nothing displaces later.

    Examples
    --------
    >>> StableMatching(open_similarities([[0.9, 0.8], [0.9, 0.1]], None)).match()
    (array([0, 1]), array([0, 1]), array([0.9, 0.1]))
    """

    def __init__(self, source: Similarities) -> None:
        left, right = source.shape
        self.source = source
        self.pool_size = left * PREFERENCES
        # The score and the holder of each right entity's match.
        self.current = np.full(right, -np.inf, source.dtype), np.full(right, NOBODY)
        # The rest of each left entity's list is from its next entry to the list's end.
        self.next_entries, self.list_ends = np.zeros((2, left), np.int64)
        # If a list is complete, no entity that it lacks would accept.
        self.complete = np.zeros(left, bool)
        # These are the scores of the last proposals.
        self.last_scores = np.full(left, -np.inf, source.dtype)
        self.owners, self.ids = np.zeros((2, 0), np.int64)
        self.scores = np.empty(0, source.dtype)

    def match(self) -> ScoredPairs:
        """Propose until no free entity has anyone left to ask."""
        free_before_pass = 0
        free = np.arange(self.source.shape[0])
        while len(free):
            if free_before_pass and (free_before_pass - len(free)) * BATCH_SHARE < free_before_pass:
                free = self.propose_in_batches(free)
            free_before_pass = len(free)
            free = self.propose(free)
        held_scores, holders = self.current
        matched = np.flatnonzero(holders != NOBODY)
        return holders[matched], matched, held_scores[matched]

    def propose(self, rows: IntArray) -> IntArray:
        """Get new lists for some free entities, let them propose, and return those still free."""
        if not len(rows):
            return rows
        width = min(self.source.shape[1], max(PREFERENCES, self.pool_size // len(rows)))
        self.compact()
        self.add_lists(rows, self.source.top_k(width, rows, self.current))
        return self.propose_in_rounds(rows)

    def propose_in_batches(self, free: IntArray) -> IntArray:
        """Let a quarter of the free entities propose, in batches, and return those still free."""
        # Lists of this length fit into the pool, and suffice for a batch of this size.
        size = max(isqrt(self.pool_size), self.pool_size // self.source.shape[1])
        quota = -(-len(free) // BATCH_SHARE)
        while quota > 0 and len(free) > size:
            order = np.lexsort((free, -self.last_scores[free]))
            batch = np.sort(free[order[:size]])
            others = free[order[size:]]
            free = distinct(np.append(others, self.propose(batch)))
            quota -= size
        return free

    def add_lists(self, rows: IntArray, best: TopK) -> None:
        """Add new lists to the pool."""
        is_entry = best.ids >= 0
        counts = is_entry.sum(axis=1)
        width = is_entry.shape[1]
        self.complete[rows] = (counts < width) | (width >= self.source.shape[1])
        self.list_ends[rows] = len(self.ids) + np.cumsum(counts)
        self.next_entries[rows] = self.list_ends[rows] - counts
        self.owners = np.concatenate([self.owners, np.repeat(rows, counts)])
        self.ids = np.concatenate([self.ids, best.ids[is_entry]])
        self.scores = np.concatenate([self.scores, best.scores[is_entry]])

    def compact(self) -> None:
        """Drop from the pool entries that were used or would be refused; cut long lists."""
        lists = int(np.count_nonzero(self.next_entries < self.list_ends))
        unused = np.arange(len(self.ids)) >= self.next_entries[self.owners]
        self.keep(unused & self.accepts(self.owners, self.ids, self.scores))
        if len(self.ids) > self.pool_size:
            each = max(1, self.pool_size // lists)
            self.complete &= self.list_ends - self.next_entries <= each
            self.keep(np.arange(len(self.ids)) < self.next_entries[self.owners] + each)

    def keep(self, kept: npt.NDArray[np.bool_]) -> None:
        """Keep some entries of the pool, in the order of their owners."""
        order = np.flatnonzero(kept)
        order = order[np.argsort(self.owners[order], kind="stable")]
        self.owners = self.owners[order]
        self.ids = self.ids[order]
        self.scores = self.scores[order]
        counts = np.bincount(self.owners, minlength=len(self.next_entries))
        self.list_ends = np.cumsum(counts)
        self.next_entries = self.list_ends - counts

    def accepts(self, left: IntArray, right: IntArray, scores: Array) -> npt.NDArray[np.bool_]:
        """Return whether right entities prefer left ones to their current partners."""
        held_scores, holders = self.current
        current_scores = held_scores[right]
        result: npt.NDArray[np.bool_] = scores > current_scores
        result |= (scores == current_scores) & (left < holders[right])
        return result

    def propose_in_rounds(self, free: IntArray) -> IntArray:
        """Let all propose at once until their lists are used up, and return those still free."""
        current_scores, holders = self.current
        waiting = [free[:0]]
        while len(free):
            more = self.next_entries[free] < self.list_ends[free]
            waiting.append(free[~more & ~self.complete[free]])
            left = free[more]
            place = self.next_entries[left]
            self.next_entries[left] += 1
            right = self.ids[place]
            scores = self.scores[place]
            self.last_scores[left] = scores
            accepted = self.accepts(left, right, scores)
            refused = left[~accepted]
            left = left[accepted]
            right = right[accepted]
            scores = scores[accepted]
            # The best proposal to each right entity comes first.
            order = np.lexsort((left, -scores, right))
            left = left[order]
            proposed_to = codes_of(right[order])
            won = proposed_to.distinct
            first = proposed_to.first()
            displaced = holders[won]
            current_scores[won] = scores[order][first]
            holders[won] = left[first]
            displaced = displaced[displaced != NOBODY]
            free = np.concatenate([refused, np.delete(left, first), displaced])
        return np.sort(np.concatenate(waiting))
