"""Inference: pairs of left and right entities by their similarities, of vectors or in a matrix.

Local scaling (CSLS) comes before: scores minus their means over the most similar entities.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

import numpy as np

from .. import _core
from ..counting.job import fault_error, refuse_places
from ..embeddings.scoring import search_topk
from ..embeddings.vectors import CSLS, VECTOR_SIMILARITIES, Embeddings, listener_of, watching
from ..errors import InputTypeError, InputValueError, argument_names, warn_user
from ..inputs.array_likes import as_floats, check_shape, default_arithmetic
from ..inputs.checks import choice, forbidden_nan, is_integer, number, positive_integer
from ..inputs.progress_listeners import size_text, watch_part
from ..inputs.rules import Rules, SimilarityOptions, read_rules, with_options
from ..naming import public
from ..records.vocabularies import Vocabulary, align_set
from ..stores import in_one_array, read_scores

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import IntArray
    from ..inputs.progress_listeners import Watch
    from ..inputs.rules import VectorSimilarity

    Array = npt.NDArray[Any]
    # The ids of left and of right entities, a pair at each place.
    Pairs = tuple[IntArray, IntArray]

MatchingMethod = Literal["greedy", "mutual", "stable", "optimal"]
METHODS: tuple[MatchingMethod, ...] = get_args(MatchingMethod)
DEFAULT_SIMILARITY = "cosine"
COPIES = (
    "all vectors of one side are vectors of the other, in the same order: every entity is most "
    "similar to itself"
)
NOBODY = -1  # the partner of a column without one
BLOCK_ROWS = 256
# Kept beside each score: its place in the order of its row; a float64 and a flag for the solver.
KEPT_BYTES = {"greedy": 0, "mutual": 0, "stable": 4, "optimal": 9}
_MAX_EXACT_INTEGER = 1 << 53  # Integers up to here are exact in float64.


# -- local scaling ---------------------------------------------------------------------------------


@public("truerank.alignment")
@with_options(SimilarityOptions)
def csls_means(
    left: Any,
    right: Any,
    k: int = 10,
    *,
    similarity: VectorSimilarity = "cosine",
    candidates: Any = None,
    **options: Unpack[SimilarityOptions],
) -> CSLS:
    """Return the mean score of every entity with its k most similar entities of the other side.

    Let r_left(x) be the mean of the k highest s(x, .) over the right entities, and r_right(y) that
    of the k highest s(., y) over the left ones. Cross-domain similarity local scaling (Conneau et
    al. 2018) is 2 s(x, y) - r_left(x) - r_right(y), which lowers the scores of hubs: entities that
    are similar to many others. `rank_embeddings`, `score_embeddings`, `topk_embeddings` and all
    functions of this package that score embeddings take the result as ``csls=``.

    Parameters
    ----------
    left : array_like, shape (n1, d), or path
        The embeddings, as `rank_embeddings` takes queries.
    right : array_like, shape (n2, d), or path
        The embeddings, as `rank_embeddings` takes entities.
    k : int
        The number of highest scores in a mean; all if there are fewer.
    similarity : str
        The similarity s, as in `rank_embeddings`, but for "maxsim".
    candidates : (left ids, right ids), optional
        The entities that take part: means are over these entities of the other side. Default: all.
        Either of the two may be None as well.
    nan : {"raise", "worst", "omit"}
        "raise": a score that is NaN is an error. Else it is left out; the mean of no scores is 0.
    dtype, layout, threads, progress
        As in `rank_embeddings`.

    Returns
    -------
    CSLS
        ``queries`` (n1,) and ``entities`` (n2,), in the dtype of the scores; NaN for entities that
        take no part.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` does, for `k` below 1, and for candidates that are not ids.

    Notes
    -----
    The means are exact. One pass over all pairs gives both sides from the same scores; only the k
    highest of each entity are stored. The scores are added from the highest on in float64, and the
    mean is rounded once, so it is the same for every number of threads and instruction set. Each
    entity takes 4 k bytes (8 k for float64), and as much again during the count.

    A k above the number of candidates is no error: an entity may have fewer than k scores in any
    case, under ``nan="omit"``, and small splits should need no k of their own. Slices of sorted
    scores, which other code takes, do the same.

    OpenEA's code takes the k highest as ``-np.partition(-s, k + 1)[:, :k]``. These are k of the k +
    1 highest scores; the version of numpy and the processor decide which one is missing. Its means
    lie between that of the 1st to k-th score and that of the 2nd to (k + 1)-th; only the same call
    on the whole matrix reproduces them.

    References
    ----------
    - Conneau, Lample, Ranzato, Denoyer, Jegou: Word translation without parallel data. ICLR 2018.

    Examples
    --------
    >>> import numpy as np
    >>> left, right = np.eye(2), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> csls_means(left, right, 1)
    CSLS(queries=array([1., 1.]), entities=array([1., 1., 1.]), k=1)
    >>> csls_means(left, right, 2).queries
    array([1. , 0.5])
    """
    rules = read_rules(options, SimilarityOptions, csls_means)
    choice("similarity", similarity, VECTOR_SIMILARITIES)
    with argument_names(queries="left", entities="right"):
        pairs = Embeddings(left, right, similarity, None, rules.dtype, layout=rules.layout)
    if candidates is None:
        candidates = None, None
    if not isinstance(candidates, (tuple, list)) or len(candidates) != 2:
        got = type(candidates).__name__
        raise InputTypeError("candidates", expected="(left_ids, right_ids)", got=got)
    among = []
    for i, size in enumerate(pairs.shape):
        ids = np.arange(size)
        if candidates[i] is not None:
            ids = align_set(f"candidates[{i}]", candidates[i], Vocabulary(size, None))
        among.append(ids)
    with watching(rules.progress, pairs.nbytes) as watch:
        return vector_means(pairs, positive_integer("k", k), among, rules, watch)


def vector_means(
    pairs: Embeddings, k: int, among: Sequence[IntArray], rules: Rules, watch: Watch | None = None
) -> CSLS:
    """Return the means of open embeddings over some entities of each side, as `csls_means` does."""
    left_ids, right_ids = among
    if not len(left_ids) or not len(right_ids):
        raise InputValueError("candidates", expected="at least one entity on each side", got="none")
    grid = _core.Grid(pairs.core(), left_ids, right_ids)
    block = pairs.entities_at_a_time
    left_means, right_means, fault = _core.mean_topk(
        grid, k, rules.nan, block, rules.num_threads, listener_of(watch)
    )
    if fault is not None:
        raise fault_error(fault, rules.nan, left_ids)
    # Entities that take no part have the mean NaN.
    queries, entities = (np.full(size, np.nan, pairs.dtype) for size in pairs.shape)
    with np.errstate(over="ignore"):
        queries[left_ids] = left_means
        entities[right_ids] = right_means
    return CSLS(queries, entities, k)


def with_means(
    vectors: Embeddings,
    csls: int | CSLS | None,
    among: Sequence[IntArray] | None,
    rules: Rules,
    watch: Watch | None = None,
) -> Embeddings:
    """Scale embeddings by means, or by a number of neighbours among some entities."""
    if csls is None:
        return vectors
    if not isinstance(csls, CSLS):
        if among is None:
            among = [np.arange(size) for size in vectors.shape]
        csls = vector_means(vectors, positive_integer("csls", csls), among, rules, watch)
    return vectors.with_csls(csls)


# -- pairs -----------------------------------------------------------------------------------------


@public("truerank.alignment")
@with_options(SimilarityOptions)
@default_arithmetic()
def infer(
    left: Any,
    right: Any = ...,
    *,
    method: MatchingMethod = "greedy",
    similarity: VectorSimilarity = "cosine",
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
        The embeddings of the right entities; None beside a matrix.
    method : {"greedy", "mutual", "stable", "optimal"}
        The method; see Notes.
    similarity : str
        As in `rank_embeddings`, but for "maxsim"; only for embeddings.
    csls : int or CSLS, optional
        Use cross-domain similarity local scaling, as `truerank.alignment.Task.evaluate_embeddings`
        does: a number of neighbours among all entities, or means from `csls_means`. Only for
        embeddings.
    threshold : float, optional
        Leave out pairs with lower scores after the matching; no entity is matched again. It is one
        of the scores that are returned: with `csls`, of those of CSLS, and not of the similarities.
    nan : {"raise", "omit"}
        The rule for scores that are NaN: an error, or the pair is left out.
    dtype, layout, threads
        As in `rank_embeddings`; for a matrix `dtype` says what raw 16-bit numbers are.
    progress : callable or bool, optional
        True: a bar of tqdm. A callable is called with a `Progress` while means and most similar
        entities are looked for, in bytes of the scores of all passes: `csls` as a number adds one,
        and "mutual" another. All else is reported when it is done.

    Returns
    -------
    pairs : ndarray of int64, shape (n, 2)
        Left and right ids, ordered by left id.
    scores : ndarray of float32 or float64, shape (n,)
        Their scores.

    Raises
    ------
    TypeError
        For embeddings and scores that are not numbers, and options of another type.
    ValueError
        For shapes that do not fit, an unknown name, a NaN if the rule is "raise" (with its
        entities), +inf for "optimal", options of embeddings beside a matrix, a matrix whose rows
        are ids or ranks, and damaged files.
    OSError
        For files that are missing or cannot be read.
    MemoryError
        For "stable" and "optimal" of more scores than the memory at hand can hold, before any is
        read.

    Warns
    -----
    UserWarning
        If all vectors of one side stand in the other, in their order, so that every entity is most
        similar to itself: a control.

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

    A score of -inf makes no pair, with any method. But for such scores, NaN and the threshold,
    "stable" and "optimal" match the whole smaller side.

    "stable" and "optimal" hold all scores, and the order of each row or a copy in float64: 1.4 and
    2.9 GB for 15,000 entities a side. The others hold no matrix but a given one.

    "stable" is deferred acceptance (Gale and Shapley, College admissions and the stability of
    marriage, 1962). Both sides see the same scores: ordered by score, left id and right id, all
    pairs form one sequence that agrees with everybody's preferences, and the matching takes pairs
    along it whenever both are free.

    "optimal" has the highest sum of all matchings with the most pairs
    (`scipy.optimize.linear_sum_assignment`), up to the rounding of its sums. If several have that
    sum, the choice may change with the version of scipy.

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
    if right is ...:
        expected = "the vectors of the right entities, or None if left is a matrix of scores"
        raise InputTypeError("right", expected=expected, got="nothing")
    choice("method", method, METHODS)
    least = -np.inf
    if threshold is not None:
        least = number("threshold", threshold)
        if np.isnan(least):
            raise InputValueError("threshold", expected="a number", got="nan")
    rules = read_rules(options, SimilarityOptions, infer)
    choice("nan", rules.nan, ("raise", "omit"))
    choice("similarity", similarity, VECTOR_SIMILARITIES)
    if right is None:
        matrix = read_matrix(left, similarity, csls, rules)
        with watching(rules.progress, matrix.nbytes):
            pairs, scores = match_matrix(matrix, method, rules.nan)
    else:
        vectors = read_vectors(left, right, similarity, csls, rules)
        pairs, scores = match_vectors(vectors, method, csls, rules)
    left_ids, right_ids = pairs
    order = np.argsort(left_ids)  # No left entity is in two pairs.
    order = order[scores[order].astype(np.float64) >= least]
    return np.stack([left_ids[order], right_ids[order]], axis=1), scores[order]


def read_vectors(
    left: Any, right: Any, similarity: str, csls: int | CSLS | None, rules: Rules
) -> Embeddings:
    """Check embeddings, and subtract means that are given; files are mapped."""
    with argument_names(queries="left", entities="right"):
        vectors = Embeddings(left, right, similarity, None, rules.dtype, layout=rules.layout)
    if vectors.single_row:
        raise InputValueError("left", expected="a matrix (entities, d)", got="a single vector")
    if copy_offset(vectors) is not None:
        warn_user("left, right", COPIES)
    if is_integer(csls):
        positive_integer("csls", csls)
        return vectors
    return with_means(vectors, csls, None, rules)


def copy_offset(vectors: Embeddings) -> int | None:
    """Return the offset at which every vector of the smaller side stands in the other side.

    The vector of left entity i is that of right entity i + offset. None: there is no such offset,
    or dtypes differ. Some thousand rows at most are compared.

    Examples
    --------
    >>> both = np.array([[0.0, 1.0], [1.0, 2.0], [1.0, 1.0]])
    >>> copy_offset(Embeddings(both[1:], both, "dot"))
    1
    """
    few = vectors.queries.array
    many = vectors.entities.array
    if len(few) > len(many):
        offset = copy_offset(vectors.turned())
        return None if offset is None else -offset
    if len(few) < 2 or few.dtype != many.dtype:  # A single equal vector says nothing.
        return None
    possible = np.arange(len(many) - len(few) + 1)
    for row in range(0, len(few), 1 + len(few) // 1000):
        possible = possible[many[possible + row, 0] == few[row, 0]]
        possible = possible[(many[possible + row] == few[row]).all(axis=1)]
        if not len(possible):
            return None
    return int(possible[0])


def read_matrix(left: Any, similarity: str, csls: int | CSLS | None, rules: Rules) -> Array:
    """Check a matrix, beside which nothing of embeddings may stand, and return it as floats."""
    if similarity != DEFAULT_SIMILARITY:
        raise InputValueError("similarity", expected="nothing with a matrix", got=repr(similarity))
    if rules.layout is not None:
        raise InputValueError("layout", expected="nothing with a matrix", got=repr(rules.layout))
    if csls is not None:
        raise InputValueError("csls", expected="nothing with a matrix", got=repr(csls))
    with argument_names(scores="left"):
        matrix = in_one_array(read_scores(left, rules.dtype))
        refuse_places(matrix, rules, remedies=())
    check_shape("left", matrix.array.shape, 2, "a matrix (left, right)")
    if matrix.dtype in ("int64", "uint64") and matrix.array.size:
        least = int(matrix.array.min())
        most = int(matrix.array.max())
        if max(-least, most) > _MAX_EXACT_INTEGER:
            raise InputValueError("left", expected="integers up to 2**53", got=f"{least} to {most}")
    return as_floats(matrix)


def match_vectors(
    vectors: Embeddings, method: str, csls: int | CSLS | None, rules: Rules
) -> tuple[Pairs, Array]:
    """Return pairs of vectors, and their scores."""
    if 0 in vectors.shape:  # They have no means, either.
        return match_matrix(np.zeros(vectors.shape, vectors.dtype), method, rules.nan)
    # A number of neighbours takes a pass of its own, and so does the other direction.
    passes = ["best"]
    if is_integer(csls):
        passes.insert(0, "means")
    if method == "mutual":
        passes.append("back")
    sizes = [vectors.nbytes] * len(passes)
    with watching(rules.progress, sum(sizes)) as watch:
        watches = {name: watch_part(watch, sizes, i) for i, name in enumerate(passes)}
        if is_integer(csls):
            vectors = with_means(vectors, int(csls), None, rules, watch=watches["means"])
        if method in ("stable", "optimal"):
            refuse_without_memory(vectors.shape, vectors.itemsize + KEPT_BYTES[method])
            scores = vectors.score(None, None, rules.num_threads)
            return match_matrix(scores, method, rules.nan)
        job = vectors.job(..., None, None, None, rules)
        best = search_topk(vectors, job, 1, watches["best"])
        left_ids = np.flatnonzero(best.scores[:, 0] > -np.inf)
        right_ids = best.ids[left_ids, 0]
        if method == "mutual":
            turned = vectors.turned()
            job = turned.job(..., right_ids, None, None, rules)
            back = search_topk(turned, job, 1, watches["back"])
            is_mutual = back.ids[:, 0] == left_ids
            left_ids = left_ids[is_mutual]
            right_ids = right_ids[is_mutual]
    return (left_ids, right_ids), best.scores[left_ids, 0]


def match_matrix(scores: Array, method: str, nan: str) -> tuple[Pairs, Array]:
    """Return pairs of rows and columns, and their scores; a NaN is an error, or as -inf."""
    if not scores.size:
        return (np.zeros(0, np.int64), np.zeros(0, np.int64)), scores.reshape(0)
    refuse_without_memory(scores.shape, KEPT_BYTES[method])
    if np.isnan(scores.max()):  # It is NaN if any score is.
        row, column = np.argwhere(np.isnan(scores))[0]
        if nan == "raise":
            place = f"a score at row {row}, column {column}"
            raise forbidden_nan("scores", place, nan, helps=["omit"])
        scores = np.where(np.isnan(scores), -np.inf, scores)
    pairs = MATCHERS[method](scores)
    return pairs, scores[pairs]


def refuse_without_memory(shape: tuple[int, ...], bytes_per_score: int) -> None:
    """Refuse work for which there is no memory: Linux would give it, and end the process later."""
    if not os.path.exists("/proc/meminfo"):
        return
    with open("/proc/meminfo", encoding="ascii") as file:
        sizes = dict(line.split(":") for line in file)
    free = 1024 * int(sizes["MemAvailable"].split()[0])
    size = shape[0] * shape[1] * bytes_per_score
    if size > free:
        problem = f"{shape[0]:,} x {shape[1]:,} scores take {size_text(size)} for this method"
        raise MemoryError(f"{problem}, and {size_text(free)} are at hand")


def greedy_pairs(scores: Array) -> Pairs:
    """Return each row with the column of its highest score, the lower one of equals."""
    columns = np.concatenate([block.argmax(axis=1) for block in row_blocks(scores)])
    rows = np.flatnonzero(scores[np.arange(len(scores)), columns] > -np.inf)
    return rows, columns[rows]


def mutual_pairs(scores: Array) -> Pairs:
    """Return the greedy pairs of rows that have the highest score of their column, too."""
    rows, columns = greedy_pairs(scores)
    width = scores.shape[1]
    highest = np.full(width, -np.inf, scores.dtype)
    best_rows = np.full(width, NOBODY)
    first_row = 0
    for block in row_blocks(scores):
        places = block.argmax(axis=0)
        highest_here = block[places, np.arange(width)]
        is_higher = highest_here > highest
        highest[is_higher] = highest_here[is_higher]
        best_rows[is_higher] = places[is_higher] + first_row
        first_row += len(block)
    is_mutual = best_rows[columns] == rows
    return rows[is_mutual], columns[is_mutual]


def row_blocks(scores: Array) -> list[Array]:
    """Return views of some rows each: numpy may copy that in which it looks for the highest."""
    return np.array_split(scores, -(-len(scores) // BLOCK_ROWS))


def stable_pairs(scores: Array) -> Pairs:
    """Return the stable matching, by deferred acceptance.

    All free rows propose at once, each to the next column of its order, and every column keeps the
    proposal of the highest score, of equal ones that of the lower row. The shorter side proposes:
    fewer of its proposals are refused.

    Examples
    --------
    >>> stable_pairs(np.array([[0.9, 0.8], [0.9, 0.1]]))
    (array([0, 1]), array([0, 1]))
    """
    height, width = scores.shape
    if height > width:
        columns, rows = stable_pairs(scores.T)
        return rows, columns
    choices = np.empty(scores.shape, np.min_scalar_type(width))
    for row in range(height):
        choices[row] = np.argsort(-scores[row], kind="stable")
    n_asked = np.zeros(height, np.int64)
    partners = np.full(width, NOBODY)
    highest = np.full(width, -np.inf, scores.dtype)
    free = np.arange(height)
    while len(free):
        columns = choices[free, n_asked[free]].astype(np.int64)
        offers = scores[free, columns]
        n_asked[free] += 1
        # The best offer to each column comes first. A row that has only -inf left stays alone.
        order = np.lexsort((free, -offers, columns))
        order = order[offers[order] > -np.inf]
        rows = free[order]
        columns = columns[order]
        offers = offers[order]
        is_better = offers > highest[columns]
        is_better |= (offers == highest[columns]) & (rows < partners[columns])
        is_kept = is_better
        is_kept[1:] &= columns[1:] != columns[:-1]  # Only the first offer to a column.
        kept_by = columns[is_kept]
        displaced = partners[kept_by]
        partners[kept_by] = rows[is_kept]
        highest[kept_by] = offers[is_kept]
        free = np.append(rows[~is_kept], displaced[displaced != NOBODY])
        free = free[n_asked[free] < width]
    columns = np.flatnonzero(partners != NOBODY)
    return partners[columns], columns


def optimal_pairs(scores: Array) -> Pairs:
    """Return the matching with the highest sum of all that have the most pairs; +inf has no sum.

    What makes no pair gets a cost beyond what the sums of other matchings can differ by, so that
    the solver takes it only if nothing else is left; then the pair is left out.
    """
    from scipy.optimize import linear_sum_assignment

    if scores.max() == np.inf:
        row, column = np.argwhere(scores == np.inf)[0]
        got = f"inf at row {row}, column {column}"
        raise InputValueError("scores", expected="scores below inf for a sum", got=got)
    if scores.shape[0] > scores.shape[1]:  # The solver would copy them.
        columns, rows = optimal_pairs(scores.T)
        return rows, columns
    costs = np.negative(scores, dtype=np.float64, order="C")
    absent = np.isinf(costs)
    if absent.any():
        costs[absent] = np.nan
        least = float(np.fmin.reduce(costs, axis=None))
        most = float(np.fmax.reduce(costs, axis=None))
        costs[absent] = np.nan_to_num(most + (most - least + 1) * (len(costs) + 1))
    rows, columns = linear_sum_assignment(costs)
    is_pair = ~absent[rows, columns]
    return rows[is_pair], columns[is_pair]


MATCHERS: dict[str, Callable[[Array], Pairs]] = {
    "greedy": greedy_pairs,
    "mutual": mutual_pairs,
    "stable": stable_pairs,
    "optimal": optimal_pairs,
}
