"""Inference: find pairs of left and right entities from their similarities."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack

import numpy as np

from ...inputs.arithmetic import default_arithmetic
from ...inputs.arrays import read_only
from ...inputs.checks import choice, is_integer, number, positive_integer
from ...inputs.errors import InputTypeError, InputValueError
from ...inputs.naming import public
from ...inputs.rules import CountOptions, read_rules, with_options
from ..two_graphs import DIRECTIONS
from .inferred_pairs import Alignment
from .similarity_sources import open_source
from .stable_matching import stable_pairs

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...inputs.arrays import IntArray
    from ...inputs.words import Similarity
    from .similarity_sources import SimilaritySource
    from .stable_matching import ScoredPairs


# The most scores for the dense solver: they take 1 GiB in float64, and the solver works in place.
# The 10,500 test pairs of a data set of 15,000 fit; all of 15,000 entities do not.
MAX_DENSE_CELLS = 1 << 27
DEFAULT_CANDIDATES = 32


def optimal_pairs(
    source: SimilaritySource, dense: bool | None, candidates: int | None, k: int
) -> tuple[ScoredPairs, str]:
    """Return the largest matching with the highest total, and the problem that was solved.

    Parameters
    ----------
    source : Source
    dense : bool, optional
        Whether to consider all pairs. Default: yes if there are at most `MAX_DENSE_CELLS` of
        them and no `candidates` are given.
    candidates : int, optional
        The number of most similar entities to consider for each entity of both sides.
    k : int
        As in `stable_pairs`.

    Raises
    ------
    ImportError
        If scipy is not installed.
    ValueError
        If `dense` is true and `candidates` are given, and for infinite scores.
    """
    if dense and candidates is not None:
        raise InputValueError(
            "candidates_per_entity", expected="None where dense=True, which has all"
        )
    if dense is None:
        cells = len(source.left_ids) * len(source.right_ids)
        dense = candidates is None and cells <= MAX_DENSE_CELLS
    if dense:
        return dense_pairs(source), "dense"
    candidates = DEFAULT_CANDIDATES if candidates is None else candidates
    return sparse_pairs(source, candidates, k), f"sparse, {candidates} candidates per entity"


def dense_pairs(source: SimilaritySource) -> ScoredPairs:
    """Return the matching with the highest total over all pairs, by the dense solver.

    Raises
    ------
    ImportError
        If scipy is not installed.
    ValueError
        For scores that are infinite.

    Notes
    -----
    The result has the highest total among the matchings with the most pairs that are no NaN. A NaN
    costs more than the totals of other matchings can differ, so the solver takes it only if nothing
    else is left; then the pair is left out.
    """
    from scipy.optimize import linear_sum_assignment as solve  # few calls need it

    if len(source.left_ids) > len(source.right_ids):  # the solver would copy the other shape
        right, left, scores = dense_pairs(source.swapped())
        return _sort_by_left(left, right, scores)
    rows, columns = source.left_ids, source.right_ids
    costs = np.empty((len(rows), len(columns)))  # float64, the dtype of the solver
    for where, block in source.blocks(rows):
        _check_finite(block, source, rows[where], columns)
        np.negative(block, out=costs[where], dtype=np.float64)
    absent = np.isnan(costs) if source.rules.nan == "omit" else np.zeros((1, 1), bool)
    if absent.all():  # also if no entity takes part
        return rows[:0], columns[:0], np.empty(0, source.dtype)
    if absent.any():
        costs[absent] = _prohibitive_cost(costs, len(rows))
    row, column = solve(costs)
    scores = -costs[row, column]
    if absent.any():
        kept = ~absent[row, column]
        row, column, scores = row[kept], column[kept], scores[kept]
    return rows[row], columns[column], scores.astype(source.dtype)


def sparse_pairs(source: SimilaritySource, candidates: int, k: int) -> ScoredPairs:
    """Return the matching with the highest total over similar pairs, by the sparse solver.

    Raises
    ------
    ImportError
        If scipy is not installed.
    ValueError
        For scores that are infinite.

    Notes
    -----
    The solver considers the pairs of every entity of both sides with its most similar ones, and the
    stable pairs. Stable pairs match the whole smaller side, so there always is a solution, and its
    total is never below theirs. If NaN leave entities without a partner, each entity of the smaller
    side may also have none, which costs more than the totals of other matchings can differ.

    The solver takes a zero for no pair, so a cost is the highest score plus 1 minus the score. This
    shifts all matchings of one size by the same amount.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching as solve

    if len(source.left_ids) > len(source.right_ids):
        right, left, scores = sparse_pairs(source.swapped(), candidates, k)
        return _sort_by_left(left, right, scores)
    rows, columns = source.left_ids, source.right_ids
    row, column, scores, matched = _candidate_pairs(source, candidates, k)
    _check_finite(scores, source, rows[row], columns[column])
    if not len(scores):
        return rows[:0], columns[:0], scores
    wide = scores.astype(np.float64)
    costs = wide.max() - wide + 1
    width = len(columns)
    if matched < len(rows):
        row_numbers = np.arange(len(rows))
        penalties = np.full(len(rows), _prohibitive_cost(costs, len(rows)))
        row, column = (
            np.concatenate([row, row_numbers]),
            np.concatenate([column, width + row_numbers]),
        )
        costs, width = np.concatenate([costs, penalties]), width + len(rows)
    matrix = sparse.coo_array((costs, (row, column)), (len(rows), width)).tocsr()
    row_of, column_of = (np.asarray(found, np.int64) for found in solve(matrix))
    kept = column_of < len(columns)
    row_of, column_of = row_of[kept], column_of[kept]
    keys = row[: len(scores)] * len(columns) + column[: len(scores)]  # ascending
    place = np.searchsorted(keys, row_of * len(columns) + column_of)
    return rows[row_of], columns[column_of], scores[place]


def _candidate_pairs(
    source: SimilaritySource, candidates: int, k: int
) -> tuple[IntArray, IntArray, npt.NDArray[Any], int]:
    """Return positions and scores of similar and stable pairs, and the number of stable ones."""
    rows, columns = source.left_ids, source.right_ids
    left, right, scores = stable_pairs(source, k)
    results = [(left, right, scores)]
    for direction, ids, other in (
        (source, rows, columns),
        (source.swapped(), columns, rows),
    ):
        best = direction.top_k(min(candidates, max(1, len(other))))
        exists = best.ids >= 0
        pair = (np.repeat(ids, exists.sum(axis=1)), best.ids[exists])
        results.append((*(pair if direction is source else pair[::-1]), best.scores[exists]))
    lefts, rights, values = (np.concatenate(part) for part in zip(*results, strict=True))
    keys = np.searchsorted(rows, lefts) * len(columns) + np.searchsorted(columns, rights)
    keys, first = np.unique(keys, return_index=True)
    return keys // max(1, len(columns)), keys % max(1, len(columns)), values[first], len(left)


def _prohibitive_cost(costs: npt.NDArray[Any], pairs: int) -> float:
    """Return a cost above any difference between matchings; some of the costs may be NaN."""
    least, most = (float(f.reduce(costs, axis=None)) for f in (np.fmin, np.fmax))
    return most + (most - least + 1) * (pairs + 1)


def _sort_by_left(left: IntArray, right: IntArray, scores: npt.NDArray[Any]) -> ScoredPairs:
    order = np.argsort(left, kind="stable")
    return left[order], right[order], scores[order]


def _check_finite(
    scores: npt.NDArray[Any], source: SimilaritySource, left: IntArray, right: IntArray
) -> None:
    """Refuse infinite scores, which have no total."""
    infinite = np.isinf(scores)
    if infinite.any():
        place = tuple(np.argwhere(infinite)[0])
        pair = (left[place[0]], right[place[-1]])
        found = dict(zip(source.roles[:2], pair, strict=True))
        raise InputValueError(
            "scores",
            expected="finite ones for an optimal total",
            got=f"{scores[place]} of left {found['left']} and right {found['right']}",
        )


class _Options(NamedTuple):
    direction: str
    k: int
    dense: bool | None
    candidates: int | None


MatchingMethod = Literal["greedy", "mutual", "stable", "optimal"]


@public("truerank.alignment")
@with_options(CountOptions)
@default_arithmetic()
def infer(
    left: Any,
    right: Any,
    *,
    method: MatchingMethod = "greedy",
    similarity: Similarity = "cosine",
    csls: Any = None,
    left_ids: Any = None,
    right_ids: Any = None,
    threshold: float | None = None,
    direction: str = "left_to_right",
    k: int = 32,
    dense: bool | None = None,
    candidates_per_entity: int | None = None,
    **options: Unpack[CountOptions],
) -> Alignment:
    """Align entities: find pairs of left and right entities by their similarities.

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
        Use cross-domain similarity local scaling, 2 s(x, y) - (r(x) + r(y)). A number k makes r the
        mean over the k most similar entities of the other side that take part; or pass the means of
        `truerank.alignment.csls_means`. Both work for a matrix too.
    left_ids, right_ids : array_like of int, optional
        The only entities to take part, as sets. Default: all.
    threshold : float, optional
        Leave out pairs with lower scores after the matching; no entity is matched again.
    direction : {"left_to_right", "right_to_left"}
        For "greedy", the side that chooses; other methods have no direction.
    k : int
        For "stable", and for sparse "optimal": the number of preferences per entity that are in
        memory at a time. It changes memory and the number of passes, but not the result.
    dense : bool, optional
        For "optimal": whether to hold all scores in memory, in float64. Default: yes if they take
        at most 1 GiB and `candidates_per_entity` is not given.
    candidates_per_entity : int, optional
        For "optimal": consider this number of most similar entities for every entity of both sides,
        and the stable pairs. Default if it is not dense: 32.
    nan : {"raise", "omit"}
        The rule for scores that are NaN: an error, or the pair is left out.
    dtype, threads
        As in `rank_embeddings`; for a matrix `dtype` says what raw 16-bit numbers are.
    progress : callable or bool, optional
        True: a bar of tqdm or rich. A callable is called with a `Progress` while scores are made;
        how many passes "stable" and "optimal" make over them is not known before, so that its
        `total` may grow. The solver of "optimal" reports nothing.

    Returns
    -------
    Alignment
        ``pairs`` with their ``scores``, ordered by left id, and ``solved``, the direction or the
        problem that was solved; ``evaluate`` compares the pairs with reference pairs.

    Raises
    ------
    TypeError
        For embeddings and scores that are no numbers, options of another type, and a matrix in
        shards, in chunks or in an open store.
    ValueError
        For shapes that do not fit, ids out of range, an unknown name, a NaN if the rule is "raise"
        (with its entities), infinite scores for "optimal", options of another method, a similarity
        with a matrix, and damaged files.
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

    "stable" and "optimal" match the whole smaller side, except for NaN and the threshold.
    "optimal" guarantees its total up to the rounding of float64 sums in the solver: the highest of
    all matchings if ``solved`` is "dense", or of the matchings of the considered pairs if it is
    "sparse". If several matchings have that total, the choice may change with the version of scipy.
    With NaN omitted, only the matchings with the most pairs are compared.

    Infinite scores are ordinary ones, except for "optimal": a -inf is a pair if there is nothing
    better, and a threshold leaves it out.

    Only "optimal" makes a matrix of scores, and only if it is dense.

    Examples
    --------
    >>> left = np.array([[1, 0], [0.8, 0.6]], np.float32)
    >>> right = np.array([[1, 0.2], [0, 1], [-1, 0]], np.float32)
    >>> infer(left, right).pairs.tolist()
    [[0, 0], [1, 0]]
    >>> infer(left, right, method="mutual").pairs.tolist()
    [[0, 0]]
    >>> found = infer(left, right, method="stable")
    >>> found.pairs.tolist(), found.scores.round(2).tolist()
    ([[0, 0], [1, 1]], [0.9800000190734863, 0.6000000238418579])
    >>> infer([[3, 2], [3, 1]], None, method="optimal").pairs.tolist()  # a matrix; 2 + 3
    [[0, 1], [1, 0]]
    """
    choice("method", method, tuple(_METHODS))
    choice("direction", direction, DIRECTIONS)
    least = _check_threshold(threshold)
    method_options = _Options(
        direction,
        positive_integer("k", k),
        _check_dense(dense),
        None
        if candidates_per_entity is None
        else positive_integer("candidates_per_entity", candidates_per_entity),
    )
    for name, is_given, own_method in (
        ("direction", direction != DIRECTIONS[0], "greedy"),
        ("dense", dense is not None, "optimal"),
        ("candidates_per_entity", candidates_per_entity is not None, "optimal"),
    ):
        if is_given and method != own_method:
            raise InputValueError(
                name, expected=f'with method="{own_method}" alone', got=f'"{method}"'
            )
    rules = read_rules(options, CountOptions)
    passes = _PASSES[method] + is_integer(csls)
    source = open_source(left, right, similarity, rules, passes)
    source = source.restrict(left_ids, right_ids, csls)
    (lefts, rights, scores), solved = _METHODS[method](source, method_options)
    source.progress.finish()
    if least is not None:
        reaches = scores.astype(np.float64) >= least
        lefts, rights, scores = lefts[reaches], rights[reaches], scores[reaches]
    return Alignment(
        pairs=read_only(np.stack([lefts, rights], axis=1)),
        scores=read_only(scores),
        method=method,
        solved=solved,
        threshold=least,
        left_ids=read_only(source.left_ids),
        right_ids=read_only(source.right_ids),
        shape=source.shape,
    )


def _greedy(source: SimilaritySource, options: _Options) -> tuple[ScoredPairs, str]:
    if options.direction == DIRECTIONS[0]:
        return _find_most_similar(source), options.direction
    right, left, scores = _find_most_similar(source.swapped())
    order = np.lexsort((right, left))
    return (left[order], right[order], scores[order]), options.direction


def _find_most_similar(source: SimilaritySource) -> ScoredPairs:
    """Return each left entity that has a candidate, with its most similar one."""
    best = source.top_k(1)
    exists = best.ids[:, 0] >= 0
    return source.left_ids[exists], best.ids[exists, 0], best.scores[exists, 0]


def _mutual(source: SimilaritySource, options: _Options) -> tuple[ScoredPairs, str]:
    left, right, scores = _find_most_similar(source)
    chosen = np.unique(right)  # no other right entity can be in a pair
    partners = source.swapped().top_k(1, chosen).ids[:, 0]
    is_mutual = partners[np.searchsorted(chosen, right)] == left
    return (left[is_mutual], right[is_mutual], scores[is_mutual]), ""


def _stable(source: SimilaritySource, options: _Options) -> tuple[ScoredPairs, str]:
    return stable_pairs(source, options.k), ""


def _optimal(source: SimilaritySource, options: _Options) -> tuple[ScoredPairs, str]:
    return optimal_pairs(source, options.dense, options.candidates, options.k)


_METHODS: dict[MatchingMethod, Callable[[SimilaritySource, _Options], tuple[ScoredPairs, str]]] = {
    "greedy": _greedy,
    "mutual": _mutual,
    "stable": _stable,
    "optimal": _optimal,
}


# So many passes over all scores are expected.
_PASSES: dict[MatchingMethod, int] = {"greedy": 1, "mutual": 2, "stable": 2, "optimal": 2}


def _check_dense(dense: object) -> bool | None:
    if dense is not None and not isinstance(dense, (bool, np.bool_)):
        raise InputTypeError("dense", expected="a bool or None", got=type(dense).__name__)
    return None if dense is None else bool(dense)


def _check_threshold(threshold: Any) -> float | None:
    if threshold is None:
        return None
    found = number("threshold", threshold)
    if np.isnan(found):
        raise InputValueError("threshold", expected="a number", got="nan")
    return found
